/*
 * Reaches client.c, relay.c and outlet.c: what sallyport-tool makes of a
 * hostile server. The input is a line, "i" if the end of input can be told,
 * then the server's messages, a line each; a line that begins with "\x01" is
 * only the beginning of a message, one with "\x02" the text of a close frame.
 * libwebsockets is replaced, as it is the far side; when the messages have
 * ended the connection is lost.
 *
 * Asserts that the tool ends, with a status or with words for its user, that
 * what it sends is JSON with the ids in order, and that no descriptor is left
 * open. What reaches a terminal is not reached: there is
 * none.
 */
#include <errno.h>
#include <fcntl.h>
#include <libwebsockets.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/limits.h"
#include "cli/relay.h"
#include "fuzz/fuzz.h"

/* The connection. Nothing of the library looks into it. */
static struct {
	void *client;
	struct lws **wsi;
	lws_callback_function *callback;
	struct reader input;
	bool open, lost, final;
	bool writable;
	int64_t last_id;
	int turns;
} far;

static int socket_of_far, context_of_far, vhost_of_far;
#define FAR_WSI	    ((struct lws *)(void *)&socket_of_far)
#define FAR_CONTEXT ((struct lws_context *)(void *)&context_of_far)
#define FAR_VHOST   ((struct lws_vhost *)(void *)&vhost_of_far)

struct lws_context *
lws_create_context(const struct lws_context_creation_info *info)
{
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
	(void)close(fd.filefd);
	return FAR_WSI;
}

struct lws *
lws_client_connect_via_info(const struct lws_client_connect_info *info)
{
	far.wsi = info->pwsi;
	*far.wsi = FAR_WSI;
	return FAR_WSI;
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
	return 0;
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
}

void
lws_sul_schedule(struct lws_context *context, int tsi,
    lws_sorted_usec_list_t *sul, sul_cb_t cb, lws_usec_t us)
{
	(void)context, (void)tsi, (void)sul, (void)cb, (void)us;
}

int
lws_write(struct lws *wsi, unsigned char *buf, size_t len,
    enum lws_write_protocol protocol)
{
	json_error_t why;
	json_t *message;

	(void)wsi;
	if (protocol != LWS_WRITE_TEXT)
		return (int)len;
	message = json_loadb((const char *)buf, len, 0, &why);
	assert(json_is_object(message));
	assert(json_integer_value(json_object_get(message, "id")) ==
	       ++far.last_id);
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

static int
next_line(void)
{
	struct bytes line = fuzz_until(&far.input, '\n');
	scoped_free uint8_t *copy = malloc(line.len + 1);

	assert(copy != NULL);
	memcpy(copy, line.data, line.len);
	far.final = line.len == 0 || copy[0] != 1;
	if (line.len > 0 && copy[0] == 2)
		return far.callback(FAR_WSI,
		    LWS_CALLBACK_WS_PEER_INITIATED_CLOSE, NULL, copy + 1,
		    line.len - 1);
	return far.callback(FAR_WSI, LWS_CALLBACK_CLIENT_RECEIVE, NULL,
	    copy + !far.final, line.len - !far.final);
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
	if (!far.open) {
		far.open = true;
		r = far.callback(FAR_WSI, LWS_CALLBACK_CLIENT_ESTABLISHED, NULL,
		    NULL, 0);
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

/* --- the tool ----------------------------------------------------------------
 */

/* Its own descriptors lead nowhere; the engine writes to descriptor 2. */
static void
close_own(void)
{
	static bool done;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert(fd >= 0);
	if (!done)
		assert(dup2(fd, STDIN_FILENO) == STDIN_FILENO &&
		       dup2(fd, STDOUT_FILENO) == STDOUT_FILENO);
	done = true;
	if (fd > STDERR_FILENO)
		(void)close(fd);
}

static void
use(struct client *c, int epoll_fd, bool input)
{
	struct terminal terminal = TERMINAL_NONE;
	const struct relay_opts o = {.client = c,
	    .epoll_fd = epoll_fd,
	    .process_id = "p",
	    .can_close_stdin = input,
	    .terminal = &terminal};
	json_t *result = NULL;
	struct err e = {0};
	int status = -1, r;

	r = client_call(c, "initialize", json_object(), &result, NULL, &e);
	json_decref(result);
	assert((r == 0) == (result != NULL));
	if (r == 0)
		r = relay_run(&o, &status, &e);
	assert(r == 0 || e.text[0] != '\0');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct url url = {.host = "a", .authority = "a:1", .path = "/"};
	int before, epoll_fd;
	struct client *c = NULL;
	struct err e = {0};
	struct bytes head;

	if (size > FUZZ_LEN_MAX)
		return 0;
	close_own();
	json_object_seed(1);
	before = fuzz_free_fd();
	memset(&far, 0, sizeof far);
	reader_init(&far.input, data, size);
	head = fuzz_until(&far.input, '\n');
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert(epoll_fd >= 0);
	if (client_open(&(struct client_opts){.url = &url,
			    .watch_fd = epoll_fd,
			    .timeout_ms = 1000},
		&c, &e) == 0)
		use(c, epoll_fd, head.len > 0 && head.data[0] == 'i');
	else
		assert(e.text[0] != '\0');
	client_free(c);
	(void)close(epoll_fd);
	assert(fuzz_free_fd() == before);
	return 0;
}
