#include "cli/attach_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#include "base/buf.h"

/* Bytes read at a time. */
#define READ_SIZE (64u * 1024u)
/* For the child to end by itself, then after a SIGTERM. */
#define END_MS	  2000
#define TERM_MS	  500

struct attach_pipe {
	pid_t pid;
	int pid_fd;
	int in_fd;  /* its standard input */
	int out_fd; /* its standard output; -1: no more comes */
	int watch_fd;
	struct buf line;   /* what came and was not taken */
	size_t searched;   /* bytes of it that are no end of a line */
	struct err reason; /* why no more comes */
};

static int
spawn_child(struct attach_pipe *p, char *const *argv, int in, int out)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, ignored;
	int r = posix_spawn_file_actions_init(&files);

	if (r != 0)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r != 0) {
		(void)posix_spawn_file_actions_destroy(&files);
		return -r;
	}
	(void)sigemptyset(&none);
	(void)sigemptyset(&ignored);
	(void)sigaddset(&ignored, SIGPIPE);
	r = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&files, out,
		    STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(&attr, &ignored);
	if (r == 0)
		r = posix_spawnattr_setsigmask(&attr, &none);
	if (r == 0)
		r = posix_spawnattr_setflags(&attr,
		    POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	if (r == 0)
		r = posix_spawnp(&p->pid, argv[0], &files, &attr, argv,
		    environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attr);
	return -r;
}

static int
start(struct attach_pipe *p, char *const *argv, struct err *e)
{
	int in[2], out[2], r;

	if (pipe2(in, O_CLOEXEC) < 0)
		return err_errno(e, errno, "pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		r = err_errno(e, errno, "pipe");
		(void)close(in[0]);
		(void)close(in[1]);
		return r;
	}
	p->in_fd = in[1];
	p->out_fd = out[0];
	(void)fcntl(p->in_fd, F_SETFL, O_NONBLOCK);
	(void)fcntl(p->out_fd, F_SETFL, O_NONBLOCK);
	r = spawn_child(p, argv, in[0], out[1]);
	(void)close(in[0]);
	(void)close(out[1]);
	if (r < 0)
		return err_errno(e, -r, "%.100s", argv[0]);
	p->pid_fd = pidfd_open(p->pid, 0);
	return 0;
}

int
attach_pipe_open(char *const *argv, int watch_fd, struct attach_pipe **out,
    struct err *e)
{
	struct attach_pipe *p = calloc(1, sizeof *p);
	int r;

	if (p == NULL)
		return err_set(e, ENOMEM, "out of memory");
	p->pid_fd = p->in_fd = p->out_fd = -1;
	p->watch_fd = watch_fd;
	buf_init(&p->line, CLIENT_MESSAGE_MAX);
	r = start(p, argv, e);
	if (r < 0)
		attach_pipe_free(p);
	else
		*out = p;
	return r;
}

static bool
ended_within(const struct attach_pipe *p, int timeout_ms)
{
	struct pollfd slot = {p->pid_fd, POLLIN, 0};

	return poll(&slot, 1, timeout_ms) == 1;
}

static void
end_child(struct attach_pipe *p)
{
	if (!ended_within(p, END_MS))
		(void)kill(p->pid, SIGTERM);
	if (!ended_within(p, TERM_MS))
		(void)kill(p->pid, SIGKILL);
	(void)waitpid(p->pid, NULL, 0);
}

void
attach_pipe_free(struct attach_pipe *p)
{
	if (p == NULL)
		return;
	fd_close(&p->in_fd);
	fd_close(&p->out_fd);
	if (p->pid > 0)
		end_child(p);
	fd_close(&p->pid_fd);
	buf_done(&p->line);
	free(p);
}

/* All that we say fits into an empty pipe; a child that does not read it is
 * noticed by the answers that do not come. */
int
attach_pipe_send(struct attach_pipe *p, json_t *message, struct err *e)
{
	scoped_free char *text = json_dumps(message, JSON_COMPACT);
	scoped_buf line;
	ssize_t n;
	int r;

	json_decref(message);
	buf_init(&line, CLIENT_MESSAGE_MAX);
	if (text == NULL)
		return err_set(e, ENOMEM, "out of memory");
	r = buf_printf(&line, "%s\n", text);
	if (r < 0)
		return err_errno(e, -r, "message");
	n = write(p->in_fd, line.data, line.len);
	if (n < 0)
		return err_errno(e, errno, "the app-server's input");
	if ((size_t)n < line.len)
		return err_set(e, EAGAIN, "the app-server does not read");
	return 0;
}

static void
lose(struct attach_pipe *p, int code, const char *reason)
{
	if (p->reason.code == 0)
		(void)err_set(&p->reason, code, "%s", reason);
	fd_close(&p->out_fd);
	buf_clear(&p->line);
	p->searched = 0;
}

static void
read_some(struct attach_pipe *p)
{
	int r = buf_reserve(&p->line, READ_SIZE);
	ssize_t n;

	if (r < 0) {
		lose(p, EMSGSIZE, "a message of the app-server is too large");
		return;
	}
	n = read(p->out_fd, p->line.data + p->line.len, READ_SIZE);
	if (n > 0)
		p->line.len += (size_t)n;
	else if (n == 0 || errno != EAGAIN)
		lose(p, ECONNRESET, "the app-server ended");
}

void
attach_pipe_wait(struct attach_pipe *p, int timeout_ms)
{
	struct pollfd slots[] = {
	    {p->out_fd, POLLIN, 0},
	    {p->watch_fd, POLLIN, 0},
	};

	if (poll(slots, 2, timeout_ms) > 0 && slots[0].revents != 0)
		read_some(p);
}

bool
attach_pipe_next(struct attach_pipe *p, struct message *m)
{
	const uint8_t *at = p->line.data + p->searched;
	const uint8_t *end = NULL;
	json_t *root;

	if (p->line.len > p->searched)
		end = memchr(at, '\n', p->line.len - p->searched);
	if (end == NULL) {
		p->searched = p->line.len;
		return false;
	}
	root =
	    json_loadb((const char *)p->line.data, (size_t)(end - p->line.data),
		JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	if (!json_is_object(root)) {
		json_decref(root);
		lose(p, EPROTO, "the app-server sent no JSON-RPC");
		return false;
	}
	buf_consume(&p->line, (size_t)(end + 1 - p->line.data));
	p->searched = 0;
	message_of(root, m);
	return true;
}

int
attach_pipe_check(const struct attach_pipe *p, struct err *e)
{
	if (p->out_fd >= 0)
		return 0;
	return err_set(e, p->reason.code, "%s", p->reason.text);
}
