#include "exec/init_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>

#include "exec/control.h"
#include "exec/raw.h"

#define TTY_ROWS 24
#define TTY_COLS 80

/* Of a pair the child's end blocks, as programs expect, and the far end, which
 * net will hold, does not. */
static int
make_pipe(int *child, int *far, bool child_reads)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*child = ends[child_reads ? 0 : 1];
	*far = ends[child_reads ? 1 : 0];
	return fcntl(*far, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int
make_pipes(struct streams *s, const struct order *o, int *far, size_t *count)
{
	for (int i = o->pipe_stdin ? 0 : 1; i < 3; i++) {
		int r = make_pipe(&s->child[i], &far[*count], i == 0);

		if (r < 0)
			return r;
		(*count)++;
	}
	return 0;
}

static int
make_pty(struct streams *s, const struct order *o)
{
	struct winsize size = {.ws_row = TTY_ROWS, .ws_col = TTY_COLS};
	const char *path = o->devpts != NULL ? "/dev/pts/ptmx" : "/dev/ptmx";
	int unlock = 0;

	s->master = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (s->master < 0 || ioctl(s->master, TIOCSPTLCK, &unlock) < 0 ||
	    ioctl(s->master, TIOCGPTN, &s->pty) < 0 ||
	    ioctl(s->master, TIOCSWINSZ, &size) < 0)
		return -errno;
	return 0;
}

int
streams_make(struct streams *s, const struct order *o)
{
	const struct control c = {.type = CONTROL_STREAMS};
	int far[CONTROL_STREAMS_MAX], r = 0;
	size_t count = 0;

	*s = (struct streams){.child = {-1, -1, -1}, .master = -1};
	if (o->worker_fd >= 0)
		return 0; /* it has a channel instead */
	/* Only the ids that new files get: what init may do stays. */
	if (o->become) {
		(void)setfsgid(o->id.gid);
		(void)setfsuid(o->id.uid);
	}
	if (!o->quiet)
		r = o->tty ? make_pty(s, o) : make_pipes(s, o, far, &count);
	if (o->become) {
		(void)setfsuid(0);
		(void)setfsgid(0);
	}
	/* Twice: net waits for room to write and for output separately. */
	if (r == 0 && o->tty) {
		far[count++] = s->master;
		far[count++] = s->master;
	}
	if (r == 0)
		r = raw_send(o->control_fd, &c, sizeof c, far, count);
	for (size_t i = 0; !o->tty && i < count; i++)
		(void)close(far[i]);
	return r;
}

void
streams_close(struct streams *s)
{
	for (int i = 0; i < 3; i++)
		fd_close(&s->child[i]);
	fd_close(&s->master);
}
