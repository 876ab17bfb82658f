#include "exec/worker_dents.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

void
worker_dents_reset(struct worker_dents *d)
{
	d->at = 0;
	d->len = 0;
}

static int
refill(struct worker_dents *d, int fd)
{
	ssize_t n = getdents64(fd, d->data, sizeof d->data);

	worker_dents_reset(d);
	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	d->len = (size_t)n;
	return n > 0;
}

int
worker_dents_next(struct worker_dents *d, int fd, struct worker_dent *out)
{
	for (;;) {
		const struct dirent64 *e;
		int r = d->at < d->len ? 1 : refill(d, fd);

		if (r <= 0)
			return r;
		e = (const void *)(d->data + d->at);
		d->at += e->d_reclen;
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		*out = (struct worker_dent){.name = e->d_name,
		    .type = e->d_type,
		    .next = e->d_off};
		return 1;
	}
}
