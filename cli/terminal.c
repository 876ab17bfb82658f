#include "cli/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>

static int
set_raw(const struct terminal *t)
{
	struct termios raw = t->saved;

	cfmakeraw(&raw);
	return tcsetattr(t->fd, TCSADRAIN, &raw) < 0 ? -errno : 0;
}

int
terminal_raw(struct terminal *t, int fd, struct err *e)
{
	int r;

	if (!isatty(fd))
		return 0;
	if (tcgetattr(fd, &t->saved) < 0)
		return err_errno(e, errno, "terminal: read its settings");
	t->fd = fd;
	r = set_raw(t);
	if (r == 0)
		return 0;
	terminal_restore(t);
	return err_errno(e, -r, "terminal: make it raw");
}

void
terminal_resume(const struct terminal *t)
{
	if (t->fd >= 0)
		(void)set_raw(t);
}

void
terminal_restore(struct terminal *t)
{
	if (t->fd >= 0)
		(void)tcsetattr(t->fd, TCSADRAIN, &t->saved);
	t->fd = -1;
}

bool
terminal_size(int fd, unsigned int *rows, unsigned int *cols)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 ||
	    size.ws_col == 0)
		return false;
	*rows = size.ws_row;
	*cols = size.ws_col;
	return true;
}
