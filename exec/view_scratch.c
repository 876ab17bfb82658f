#include "exec/view_scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "exec/mount.h"
#include "exec/raw.h"

/* Room for an inode per mount point. */
#define OPTIONS	 "size=4m,nr_inodes=32768,mode=0700"
#define OPEN_DIR (O_RDONLY | O_DIRECTORY | O_CLOEXEC)

void
view_scratch_init(struct view_scratch *s)
{
	*s = (struct view_scratch){.dir = -1, .mask_dir = -1, .mask_file = -1};
}

void
view_scratch_done(struct view_scratch *s)
{
	fd_close(&s->dir);
	fd_close(&s->mask_dir);
	fd_close(&s->mask_file);
}

/* Belongs to us, whom the program's user namespace does not know, and has no
 * mode at all. */
static int
make_masks(struct view_scratch *s)
{
	scoped_fd file = -1;

	if (mkdirat(s->dir, "directory", 0) < 0)
		return -errno;
	file =
	    openat(s->dir, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (file < 0)
		return -errno;
	s->mask_dir = openat(s->dir, "directory", O_PATH | O_CLOEXEC);
	s->mask_file = openat(s->dir, "file", O_PATH | O_CLOEXEC);
	return s->mask_dir < 0 || s->mask_file < 0 ? -errno : 0;
}

int
view_scratch_make(struct view_scratch *s)
{
	struct stat st;
	int r;

	if (s->dir >= 0)
		return 0;
	r = mount_tmpfs("/proc", OPTIONS, NULL);
	if (r < 0)
		return r;
	s->dir = open("/proc", OPEN_DIR);
	if (s->dir < 0 || fstat(s->dir, &st) < 0)
		return -errno;
	s->dev = st.st_dev;
	return make_masks(s);
}

int
view_scratch_root(struct view_scratch *s)
{
	int fd, r;

	if (mkdirat(s->dir, "root", 0755) < 0)
		return -errno;
	/* The umask may have taken away from that. */
	if (fchmodat(s->dir, "root", 0755, 0) < 0)
		return -errno;
	r = mount_pin("/proc/root", false, NULL);
	if (r < 0)
		return r;
	fd = open("/proc/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* --- masks ---------------------------------------------------------------- */

static int
attach_read_only(int mask, int at)
{
	scoped_fd tree = mount_clone(mask, "", NULL);
	int r;

	if (tree < 0)
		return tree;
	r = mount_attr(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, 0, false,
	    NULL);
	return r < 0 ? r : mount_attach_at(tree, at);
}

int
view_scratch_mask(const struct view_scratch *s, int at, bool directory)
{
	return attach_read_only(directory ? s->mask_dir : s->mask_file, at);
}

int
view_scratch_mask_searched(struct view_scratch *s, int at)
{
	char name[32];
	int tree, r;

	if (s->searched == VIEW_SEARCHED_MAX)
		return -E2BIG;
	r = raw_number_path(name, sizeof name, "mask",
	    (unsigned int)s->searched, "");
	if (r < 0)
		return r;
	if (mkdirat(s->dir, name, VIEW_SEARCHED_MODE) < 0 ||
	    fchmodat(s->dir, name, VIEW_SEARCHED_MODE, 0) < 0)
		return -errno;
	tree = mount_clone(s->dir, name, NULL);
	s->mounts[s->searched++] = tree;
	return tree < 0 ? tree : mount_attach_at(tree, at);
}

int
view_scratch_seal(struct view_scratch *s)
{
	int r = 0;

	for (size_t i = 0; i < s->searched && r == 0; i++) {
		r = mount_attr(s->mounts[i], MOUNT_ATTR_RDONLY, 0, false, NULL);
		fd_close(&s->mounts[i]);
	}
	return r;
}
