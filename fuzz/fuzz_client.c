/*
 * Reaches client.c, relay.c and outlet.c: what sallyport-tool makes of a
 * hostile server. The input is a line of letters, then the server's messages, a
 * line each; a line that begins with "\x01" is only the beginning of a message,
 * one with "\x02" the text of a close frame. Others are events at our own end:
 *
 *   \x03  a signal: i INT, t TERM, w WINCH, c CONT
 *   \x04  what follows is typed
 *   \x05  eleven seconds pass
 *   \x06  nobody reads our output any more
 *   \x07  no more is typed
 *
 * The letters: i, the end of input can be told; p, input and output are pipes;
 * r, the process runs on a terminal, whose size can be told; and what fails: n
 * the library, v its watch, c the name, e the connection, h with an HTTP
 * status, q no answer to it, x it is given up, w writing.
 *
 * libwebsockets is replaced, as it is the far side; when the messages have
 * ended the connection is lost. The clock is the input's.
 *
 * Asserts that the tool ends, with a status or with words for its user, that
 * what it sends is JSON with the ids in order, and that no descriptor is left
 * open.
 */
#include <errno.h>
#include <fcntl.h>
#include <libwebsockets.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/relay.h"
#include "fuzz/fuzz.h"

/* The connection. Nothing of the library looks into it. */
static struct {
	void *client;
	struct lws **wsi;
	lws_callback_function *callback;
	struct reader input;
	struct bytes letters;
	bool open, lost, final;
	bool writable, watched;
	int64_t last_id;
	int turns;
	int watch_fd, socket; /* -1: none */
	int typed, printed;   /* the other ends of our pipes; -1: gone */
	int64_t now_ms;
	lws_sorted_usec_list_t *timer;
	sul_cb_t timer_due;
} far;

static bool
has_letter(char letter)
{
	return far.letters.len > 0 &&
	       memchr(far.letters.data, letter, far.letters.len) != NULL;
}

static int socket_of_far, context_of_far, vhost_of_far;
#define FAR_WSI	    ((struct lws *)(void *)&socket_of_far)
#define FAR_CONTEXT ((struct lws_context *)(void *)&context_of_far)
#define FAR_VHOST   ((struct lws_vhost *)(void *)&vhost_of_far)

struct lws_context *
lws_create_context(const struct lws_context_creation_info *info)
{
	if (has_letter('N'))
		return NULL;
	far.client = info->user;
	far.callback = info->protocols[0].callback;
	return FAR_CONTEXT;
}

void *
lws_context_user(struct lws_context *context)
{
	(void)context;
	return far.client;
}

struct lws_context *
lws_get_context(const struct lws *wsi)
{
	(void)wsi;
	return FAR_CONTEXT;
}

struct lws_vhost *
lws_get_vhost_by_name(struct lws_context *context, const char *name)
{
	(void)context, (void)name;
	return FAR_VHOST;
}

struct lws *
lws_adopt_descriptor_vhost(struct lws_vhost *vhost, lws_adoption_type type,
    lws_sock_file_fd_type fd, const char *protocol, struct lws *parent)
{
	(void)vhost, (void)type, (void)protocol, (void)parent;
	far.watch_fd = fd.filefd;
	return has_letter('V') ? NULL : FAR_WSI;
}

struct lws *
lws_client_connect_via_info(const struct lws_client_connect_info *info)
{
	if (has_letter('C'))
		return NULL;
	far.wsi = info->pwsi;
	*far.wsi = FAR_WSI;
	return FAR_WSI;
}

int
lws_get_socket_fd(struct lws *wsi)
{
	(void)wsi;
	return far.socket;
}

int
lws_callback_on_writable(struct lws *wsi)
{
	(void)wsi;
	far.writable = true;
	return 1;
}

int
lws_rx_flow_control(struct lws *wsi, int enable)
{
	(void)wsi, (void)enable;
	return 0;
}

int
lws_is_final_fragment(struct lws *wsi)
{
	(void)wsi;
	return far.final;
}

size_t
lws_remaining_packet_payload(struct lws *wsi)
{
	(void)wsi;
	return 0;
}

unsigned int
lws_http_client_http_response(struct lws *wsi)
{
	(void)wsi;
	return has_letter('H') ? 404 : 0;
}

void
lws_close_reason(struct lws *wsi, enum lws_close_status status,
    unsigned char *buf, size_t len)
{
	(void)wsi, (void)status, (void)buf, (void)len;
}

void
lws_set_log_level(int level, void (*emit)(int level, const char *line))
{
	(void)level, (void)emit;
}

void
lws_context_destroy(struct lws_context *context)
{
	(void)context;
	if (far.watch_fd >= 0)
		(void)close(far.watch_fd);
	far.watch_fd = -1;
}

void
lws_sul_schedule(struct lws_context *context, int tsi,
    lws_sorted_usec_list_t *sul, sul_cb_t cb, lws_usec_t us)
{
	(void)context, (void)tsi, (void)us;
	far.timer = sul;
	far.timer_due = cb;
}

void
lws_sul_cancel(lws_sorted_usec_list_t *sul)
{
	assert(far.timer == NULL || far.timer == sul);
	far.timer = NULL;
}

void
lws_cancel_service(struct lws_context *context)
{
	(void)context;
}

int
lws_write(struct lws *wsi, unsigned char *buf, size_t len,
    enum lws_write_protocol protocol)
{
	const json_t *id;
	json_error_t why;
	json_t *message;

	(void)wsi;
	if (has_letter('W'))
		return -1;
	if (protocol != LWS_WRITE_TEXT)
		return (int)len;
	message = json_loadb((const char *)buf, len, 0, &why);
	assert(json_is_object(message));
	id = json_object_get(message, "id");
	assert(id == NULL || json_integer_value(id) == ++far.last_id);
	assert(json_is_string(json_object_get(message, "method")));
	json_decref(message);
	return (int)len;
}

static void
lose(void)
{
	far.lost = true;
	far.open = false;
	(void)far.callback(FAR_WSI, LWS_CALLBACK_CLIENT_CLOSED, NULL, NULL, 0);
}

static void
send_signal(uint8_t letter)
{
	int sig = letter == 'i'	  ? SIGINT
		  : letter == 't' ? SIGTERM
		  : letter == 'w' ? SIGWINCH
				  : SIGCONT;
	sigset_t blocked;

	/* Only to a relay, which has blocked it and reads it. */
	assert(sigprocmask(SIG_BLOCK, NULL, &blocked) == 0);
	if (sigismember(&blocked, sig) == 1)
		assert(raise(sig) == 0);
}

static void
let_time_pass(int64_t ms)
{
	far.now_ms += ms;
	if (far.timer != NULL)
		far.timer_due(far.timer);
}

/* False if the line is the server's. */
static bool
own_event(struct bytes line)
{
	switch (line.data[0]) {
	case 3:
		send_signal(line.len > 1 ? line.data[1] : 0);
		return true;
	case 4:
		if (far.typed >= 0)
			(void)!write(far.typed, line.data + 1, line.len - 1);
		return true;
	case 5:
		let_time_pass(11000);
		return true;
	case 6:
		fd_close(&far.printed);
		return true;
	case 7:
		fd_close(&far.typed);
		return true;
	default:
		return false;
	}
}

static int
next_line(void)
{
	struct bytes line = fuzz_until(&far.input, '\n');
	scoped_free uint8_t *copy = malloc(line.len + 1);

	assert(copy != NULL);
	if (line.len > 0 && own_event(line))
		return 0;
	if (line.len > 0)
		memcpy(copy, line.data, line.len);
	far.final = line.len == 0 || copy[0] != 1;
	if (line.len > 0 && copy[0] == 2)
		return far.callback(FAR_WSI,
		    LWS_CALLBACK_WS_PEER_INITIATED_CLOSE, NULL, copy + 1,
		    line.len - 1);
	return far.callback(FAR_WSI, LWS_CALLBACK_CLIENT_RECEIVE, NULL,
	    copy + !far.final, line.len - !far.final);
}

static int
connect_event(void)
{
	static char text[] = "no route";

	if (has_letter('Q')) {
		let_time_pass(600);
		return 0;
	}
	far.open = true;
	if (!has_letter('E'))
		return far.callback(FAR_WSI, LWS_CALLBACK_CLIENT_ESTABLISHED,
		    NULL, NULL, 0);
	far.lost = true;
	(void)far.callback(FAR_WSI, LWS_CALLBACK_CLIENT_CONNECTION_ERROR, NULL,
	    text, sizeof text - 1);
	return 0;
}

/* What our user watches comes first, but not twice. */
static bool
is_watched_ready(void)
{
	struct pollfd p = {.fd = far.watch_fd, .events = POLLIN};

	far.watched = !far.watched && poll(&p, 1, 0) == 1;
	return far.watched;
}

/* One event a turn, as the library may have it. */
int
lws_service(struct lws_context *context, int timeout_ms)
{
	int r = 0;

	(void)context, (void)timeout_ms;
	/* Nothing waits for ever, once the server has gone. */
	assert(far.turns++ < 100000);
	if (far.lost)
		return -1;
	if (is_watched_ready()) {
		r = far.callback(FAR_WSI, LWS_CALLBACK_RAW_RX_FILE, NULL, NULL,
		    0);
	} else if (!far.open) {
		r = connect_event();
	} else if (far.writable) {
		far.writable = false;
		r = far.callback(FAR_WSI, LWS_CALLBACK_CLIENT_WRITEABLE, NULL,
		    NULL, 0);
	} else if (far.input.left > 0) {
		r = next_line();
	} else {
		r = -1;
	}
	if (r != 0)
		lose();
	return 0;
}

/* The linker gives it its name. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int
__wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	(void)clock;
	*out = (struct timespec){.tv_sec = far.now_ms / 1000,
	    .tv_nsec = far.now_ms % 1000 * 1000000};
	return 0;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

/* --- the tool ----------------------------------------------------------------
 */

/* Its own descriptors lead nowhere, or to us; the engine writes to descriptor
 * 2. */
static void
open_own(void)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};

	if (has_letter('P')) {
		assert(pipe2(in, O_CLOEXEC | O_NONBLOCK) == 0);
		assert(pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0);
	} else {
		in[0] = open("/dev/null", O_RDWR | O_CLOEXEC);
		out[1] = fcntl(in[0], F_DUPFD_CLOEXEC, 0);
	}
	assert(dup2(in[0], STDIN_FILENO) == STDIN_FILENO);
	assert(dup2(out[1], STDOUT_FILENO) == STDOUT_FILENO);
	(void)close(in[0]);
	(void)close(out[1]);
	far.typed = in[1];
	far.printed = out[0];
}

static void
close_own(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert(fd >= 0);
	assert(dup2(fd, STDIN_FILENO) == STDIN_FILENO &&
	       dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
	fd_close(&far.typed);
	fd_close(&far.printed);
}

/* A relay leaves its signals blocked; none may stay for the next input. */
static void
forget_signals(void)
{
	const struct timespec none = {0};
	sigset_t set, before;

	assert(sigprocmask(SIG_BLOCK, NULL, &before) == 0);
	(void)sigemptyset(&set);
	for (int sig = 1; sig < SIGSYS; sig++)
		if (sigismember(&before, sig) == 1)
			(void)sigaddset(&set, sig);
	while (sigtimedwait(&set, NULL, &none) > 0)
		;
	assert(sigprocmask(SIG_UNBLOCK, &set, NULL) == 0);
}

static void
use(struct client *c, int epoll_fd)
{
	struct terminal terminal = TERMINAL_NONE;
	const struct relay_opts o = {.client = c,
	    .epoll_fd = epoll_fd,
	    .process_id = "p",
	    .tty = has_letter('R'),
	    .can_resize = has_letter('R'),
	    .can_close_stdin = has_letter('i'),
	    .terminal = &terminal};
	json_t *result = NULL, *error = NULL;
	struct err e = {0};
	int status = -1, r;
	uid_t uid;

	r = client_peer(c, &uid);
	assert(r == -ENOTCONN || (r == 0 && uid == geteuid()));
	r = client_call(c, "initialize", json_object(), &result, &error, &e);
	json_decref(result);
	json_decref(error);
	assert((r == 0) == (result != NULL));
	if (r == 0)
		r = client_notify(c, "initialized", json_object(), &e);
	if (r == 0)
		r = relay_run(&o, &status, &e);
	assert(r == 0 || e.text[0] != '\0');
}

static void
connect_and_use(int epoll_fd)
{
	const struct url url = {.host = "a", .authority = "a:1", .path = "/"};
	struct client *c = NULL;
	struct err e = {0};
	int asked = -1, r;

	if (has_letter('X')) {
		struct epoll_event ev = {.events = EPOLLIN};

		asked = eventfd(1, EFD_CLOEXEC);
		assert(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, asked, &ev) == 0);
	}
	r = client_open(&(struct client_opts){.url = &url,
			    .watch_fd = epoll_fd,
			    .watch_ends = has_letter('X'),
			    .timeout_ms = 1000},
	    &c, &e);
	assert((r == 0) == (c != NULL));
	if (asked >= 0)
		(void)close(asked);
	if (r == 0)
		use(c, epoll_fd);
	else
		assert(e.code == -r && e.text[0] != '\0');
	client_free(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before, epoll_fd, ends[2];

	if (size > FUZZ_LEN_MAX)
		return 0;
	(void)signal(SIGPIPE, SIG_IGN);
	memset(&far, 0, sizeof far);
	far.typed = far.printed = far.watch_fd = -1;
	close_own();
	json_object_seed(1);
	before = fuzz_fds_open();
	far.now_ms = 1000;
	reader_init(&far.input, data, size);
	far.letters = fuzz_until(&far.input, '\n');
	open_own();
	assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	far.socket = ends[0];
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert(epoll_fd >= 0);
	connect_and_use(epoll_fd);
	(void)close(epoll_fd);
	(void)close(ends[0]);
	(void)close(ends[1]);
	close_own();
	forget_signals();
	assert(fuzz_fds_open() == before);
	return 0;
}
