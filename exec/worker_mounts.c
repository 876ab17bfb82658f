#include "exec/worker_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Fields of a line before the mount point: id, parent, device, root. */
#define MOUNT_POINT 4

/* How far mountinfo was read: the present line's field, and how its mount
 * point compares to the path. */
struct reading {
	const char *path;
	size_t path_len;
	unsigned int field;
	size_t at;	    /* characters of the mount point so far */
	bool same;	    /* they are the path's, or lie behind it */
	unsigned int octal; /* digits that are left of an escape */
	unsigned char escaped;
};

static void
take_character(struct reading *r, char c)
{
	if (r->at < r->path_len)
		r->same &= c == r->path[r->at];
	else if (r->at == r->path_len)
		r->same &= c == '/';
	r->at++;
}

/* Blanks and backslashes of names are written as three octal digits. */
static void
take_escaped(struct reading *r, char c)
{
	if (r->octal > 0) {
		r->escaped = (unsigned char)(r->escaped * 8 + (c - '0'));
		if (--r->octal == 0)
			take_character(r, (char)r->escaped);
	} else if (c == '\\') {
		r->octal = 3;
		r->escaped = 0;
	} else {
		take_character(r, c);
	}
}

/* Returns whether a mount point just ended that is the path or below. */
static bool
take(struct reading *r, char c)
{
	bool found = false;

	if (c == ' ' || c == '\n') {
		found =
		    r->field == MOUNT_POINT && r->same && r->at >= r->path_len;
		r->field = c == '\n' ? 0 : r->field + 1;
		r->at = 0;
		r->same = true;
	} else if (r->field == MOUNT_POINT) {
		take_escaped(r, c);
	}
	return found;
}

bool
worker_mounts_below(const char *path)
{
	struct reading r = {.path = path,
	    .path_len = strlen(path),
	    .same = true};
	scoped_fd fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char data[8192];
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, data, sizeof data)) > 0)
		for (ssize_t i = 0; i < n; i++)
			if (take(&r, data[i]))
				return true;
	return false;
}
