#include "cli/attach_server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* From the request to stop to the one that does not wait for clients, and to
 * the kill: a server is gone within a second of its last lease. */
#define STOP_AGAIN_MS 500
#define STOP_KILL_MS  200

void
attach_server_init(struct attach_server *s)
{
	*s = (struct attach_server){.pid_fd = -1, .url_fd = -1, .log_fd = -1};
}

/* In the child, between fork and execve: system calls only. */
static _Noreturn void
become(char *const *argv, pid_t parent, int out, int err)
{
	static const char failed[] = "sallyport attach: the server cannot be "
				     "executed\n";
	sigset_t none;
	int in = open("/dev/null", O_RDONLY);

	(void)sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent ||
	    in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
	    close_range(3, ~0U, 0) < 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0 ||
	    signal(SIGPIPE, SIG_DFL) == SIG_ERR)
		_exit(126);
	(void)execv(argv[0], argv);
	(void)!write(2, failed, sizeof failed - 1);
	_exit(127);
}

int
attach_server_start(struct attach_server *s, char *const *argv, struct err *e)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	pid_t parent = getpid();

	attach_server_init(s);
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0) {
		(void)err_errno(e, errno, "pipe");
		goto fail;
	}
	s->pid = fork();
	if (s->pid == 0)
		become(argv, parent, out[1], err[1]);
	if (s->pid < 0) {
		s->pid = 0;
		(void)err_errno(e, errno, "fork");
		goto fail;
	}
	s->pid_fd = pidfd_open(s->pid, 0);
	if (s->pid_fd < 0) {
		(void)err_errno(e, errno, "pidfd");
		(void)kill(s->pid, SIGKILL);
		(void)waitpid(s->pid, NULL, 0);
		s->pid = 0;
		goto fail;
	}
	s->url_fd = fd_take(&out[0]);
	s->log_fd = fd_take(&err[0]);
	(void)fcntl(s->url_fd, F_SETFL, O_NONBLOCK);
	(void)fcntl(s->log_fd, F_SETFL, O_NONBLOCK);
	fd_close(&out[1]);
	fd_close(&err[1]);
	return 0;
fail:
	for (int i = 0; i < 2; i++) {
		fd_close(&out[i]);
		fd_close(&err[i]);
	}
	return -e->code;
}

void
attach_server_read_url(struct attach_server *s)
{
	char *end;
	ssize_t n = read(s->url_fd, s->url + s->url_len,
	    sizeof s->url - 1 - s->url_len);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		fd_close(&s->url_fd);
		return;
	}
	s->url_len += (size_t)n;
	s->url[s->url_len] = '\0';
	end = strchr(s->url, '\n');
	if (end == NULL)
		return;
	*end = '\0';
	s->serving = true;
	fd_close(&s->url_fd);
}

bool
attach_server_read_log(struct attach_server *s,
    void (*put)(void *user, const char *line, size_t len), void *user)
{
	ssize_t n =
	    read(s->log_fd, s->log + s->log_len, sizeof s->log - s->log_len);
	size_t begin = 0;

	if (n <= 0) {
		if (n == 0 || errno != EAGAIN)
			fd_close(&s->log_fd);
		return false;
	}
	s->log_len += (size_t)n;
	for (size_t i = 0; i < s->log_len; i++) {
		if (s->log[i] != '\n')
			continue;
		put(user, s->log + begin, i + 1 - begin);
		begin = i + 1;
	}
	s->log_len -= begin;
	memmove(s->log, s->log + begin, s->log_len);
	if (s->log_len == sizeof s->log) {
		put(user, s->log, s->log_len);
		s->log_len = 0;
	}
	return true;
}

static void
press(struct attach_server *s, int64_t now_ms, int signal, int64_t next_ms)
{
	(void)pidfd_send_signal(s->pid_fd, signal, NULL, 0);
	s->signals++;
	s->signal_at_ms = now_ms + next_ms;
}

void
attach_server_stop(struct attach_server *s, int64_t now_ms)
{
	if (s->pid == 0 || s->stopping)
		return;
	s->stopping = true;
	press(s, now_ms, SIGTERM, STOP_AGAIN_MS);
}

void
attach_server_on_time(struct attach_server *s, int64_t now_ms)
{
	if (!s->stopping || now_ms < s->signal_at_ms)
		return;
	press(s, now_ms, s->signals == 1 ? SIGTERM : SIGKILL, STOP_KILL_MS);
}

bool
attach_server_reap(struct attach_server *s, struct err *how)
{
	int status;

	if (s->pid == 0 || waitpid(s->pid, &status, WNOHANG) != s->pid)
		return false;
	if (WIFSIGNALED(status))
		(void)err_set(how, EPIPE, "signal %d ended the server",
		    WTERMSIG(status));
	else
		(void)err_set(how, EPIPE, "the server ended with status %d",
		    WEXITSTATUS(status));
	fd_close(&s->pid_fd);
	fd_close(&s->url_fd);
	fd_close(&s->log_fd);
	explicit_bzero(s->url, sizeof s->url);
	attach_server_init(s);
	return true;
}
