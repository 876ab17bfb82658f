#include "exec/worker_stat.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/worker_nolinks.h"

#define MASK (STATX_BASIC_STATS | STATX_BTIME)

/* Milliseconds since 1970; 0 for what was before, like the reference. */
static uint64_t
milliseconds(const struct statx_timestamp *t)
{
	if (t->tv_sec < 0)
		return 0;
	return (uint64_t)t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

static void
fill(const struct statx *st, struct msg_fs_metadata *out)
{
	uint32_t flags = 0;

	flags |= S_ISDIR(st->stx_mode) ? FS_IS_DIRECTORY : 0;
	flags |= S_ISREG(st->stx_mode) ? FS_IS_FILE : 0;
	*out = (struct msg_fs_metadata){.flags = flags,
	    .size = st->stx_size,
	    .modified_ms = milliseconds(&st->stx_mtime),
	    .mode = st->stx_mode,
	    .uid = st->stx_uid,
	    .gid = st->stx_gid};
	if (st->stx_mask & STATX_BTIME)
		out->created_ms = milliseconds(&st->stx_btime);
}

static int
stat_followed(const char *path, struct msg_fs_metadata *out,
    char link[PATH_LEN_MAX])
{
	struct statx st;
	ssize_t n;

	if (statx(AT_FDCWD, path, 0, MASK, &st) < 0)
		return -errno;
	fill(&st, out);
	/* Fails, with EINVAL, for what is no link. */
	n = readlinkat(AT_FDCWD, path, link, PATH_LEN_MAX);
	if (n >= 0) {
		out->flags |= FS_IS_SYMLINK;
		out->link_target =
		    (struct bytes){.data = (uint8_t *)link, .len = (size_t)n};
	}
	return 0;
}

static int
stat_plain(const char *path, struct msg_fs_metadata *out, enum fs_failure *why)
{
	scoped_fd fd = worker_open_nolinks(AT_FDCWD, path, O_PATH | O_CLOEXEC);
	struct statx st;

	if (fd == -ELOOP)
		*why = FS_FAILURE_HAS_SYMLINK;
	if (fd < 0)
		return fd;
	if (statx(fd, "", AT_EMPTY_PATH, MASK, &st) < 0)
		return -errno;
	fill(&st, out);
	return 0;
}

int
worker_stat(const char *path, bool follow, struct msg_fs_metadata *out,
    char link[PATH_LEN_MAX], enum fs_failure *why)
{
	return follow ? stat_followed(path, out, link)
		      : stat_plain(path, out, why);
}
