/*
 * A file worker for another place, where nothing of sallyport is but this
 * program: it serves on its standard input and output, and ends with them.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "exec/bridge.h"
#include "exec/worker_fs.h"
#include "privsep/privdrop.h"

/* The process that touches files. It is killed when the way to whom it serves
 * is cut, whatever it is waiting for. */
static _Noreturn void
work(int channel_fd, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(1);
	/* The streams end with the other process alone. */
	for (int i = 0; i < 2; i++)
		if (null < 0 ? close(i) < 0 : dup2(null, i) < 0)
			_exit(1);
	_exit(worker_fs_run(channel_fd));
}

/* 0, or a negative errno. */
static int
say_hello(void)
{
	char hello[BRIDGE_HELLO_LEN];
	size_t done = 0;
	int r = bridge_hello(hello);

	while (r == 0 && done < sizeof hello) {
		ssize_t n = write(1, hello + done, sizeof hello - done);

		if (n < 0 && errno != EINTR)
			r = -errno;
		else if (n > 0)
			done += (size_t)n;
	}
	return r;
}

static int
make_ready(void)
{
	for (int i = 0; i < 2; i++) {
		int flags = fcntl(i, F_GETFL);

		if (flags < 0 || fcntl(i, F_SETFL, flags | O_NONBLOCK) < 0)
			return -errno;
	}
	return 0;
}

static int
serve(int channel_fd)
{
	struct bridge b;
	enum bridge_result result;
	struct err e = {0};
	int r = bridge_init(&b, &(struct bridge_ends){.channel_fd = channel_fd,
				    .self = ROLE_NET,
				    .in = 0,
				    .out = 1,
				    .note = -1});

	if (r == 0)
		r = make_ready();
	for (result = BRIDGE_GOES_ON; r == 0 && result == BRIDGE_GOES_ON;)
		result = bridge_turn(&b, -1, &e);
	bridge_done(&b);
	if (result != BRIDGE_STREAM_ENDED)
		(void)fprintf(stderr, "sallyport-worker: %s\n",
		    r < 0		? strerror(-r)
		    : e.text[0] != '\0' ? e.text
					: "the worker has ended");
	return result != BRIDGE_STREAM_ENDED;
}

static int
run(void)
{
	pid_t self = getpid(), pid;
	int ends[2], r = say_hello();

	if (r == 0)
		r = channel_pair(ends);
	if (r < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		work(ends[0], self);
	}
	(void)close(ends[0]);
	if (pid < 0) {
		(void)close(ends[1]);
		return 1;
	}
	r = serve(ends[1]);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return r;
}

int
main(int argc, char **argv)
{
	(void)argv;
	if (argc != 1) {
		(void)fputs(
		    "sallyport-worker serves the files of this place on its "
		    "standard input and output; sallyport starts it "
		    "(backend.files).\n",
		    stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	/* Not least the file that it was sent in. Before Linux 5.9 they stay.
	 */
	(void)!privdrop_close_from(3);
	return run();
}
