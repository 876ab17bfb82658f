#include "exec/oom.h"

#include <fcntl.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "exec/cgroup_file.h"
#include "exec/cgroup_place.h"

static const char *
count_file(bool v2)
{
	return v2 ? "memory.events" : "memory.oom_control";
}

static bool
read_count(int fd, uint64_t *count)
{
	char text[CGROUP_FILE_MAX];

	return fd >= 0 && cgroup_file_read_fd(fd, text) == 0 &&
	       cgroup_file_find(text, "oom_kill", count);
}

void
oom_open_in(struct oom *o, int dir, bool v2)
{
	*o = (struct oom){
	    .fd = openat(dir, count_file(v2), O_RDONLY | O_CLOEXEC)};
	if (!read_count(o->fd, &o->seen))
		fd_close(&o->fd);
}

/* On a hybrid host the controller is in the first version. */
static const enum cgroup_hierarchy hierarchies[] = {CGROUP_V1_MEMORY,
    CGROUP_V2};

void
oom_open(struct oom *o)
{
	struct cgroup_places p;
	int r = cgroup_places_read(&p);

	*o = (struct oom){.fd = -1};
	for (size_t i = 0; i < 2 && r == 0 && o->fd < 0; i++) {
		enum cgroup_hierarchy h = hierarchies[i];
		scoped_fd dir = p.path[h] == NULL
				    ? -1
				    : open(p.path[h], O_PATH | O_CLOEXEC);

		if (dir >= 0)
			oom_open_in(o, dir, h == CGROUP_V2);
	}
	cgroup_places_done(&p);
}

void
oom_close(struct oom *o)
{
	fd_close(&o->fd);
}

bool
oom_account(struct oom *o)
{
	uint64_t count;

	if (!read_count(o->fd, &count) || count <= o->seen)
		return false;
	o->seen++;
	return true;
}
