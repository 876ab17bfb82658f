#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "exec/mount.h"
#include "exec/view.h"

#define PASSWD_MAX (1u * MIB)

/* Whether /etc/passwd has an entry for uid. A file that cannot be read, or is
 * beyond all measure, has none. */
static bool
has_entry(uid_t uid)
{
	char line[1024], number[16];
	FILE *f = fopen("/etc/passwd", "re");
	bool found = false;

	if (f == NULL)
		return false;
	(void)snprintf(number, sizeof number, "%u", uid);
	for (size_t read = 0;
	     !found && read < PASSWD_MAX && fgets(line, sizeof line, f) != NULL;
	     read += strlen(line)) {
		char *rest = line;

		(void)strsep(&rest, ":"); /* name */
		(void)strsep(&rest, ":"); /* password */
		found = rest != NULL && strcmp(strsep(&rest, ":"), number) == 0;
	}
	(void)fclose(f);
	return found;
}

/*
 * Put text read-only over the file at path. It is made as made in /run, which
 * is still writable, and stays there: a file that has no name any more cannot
 * be mounted again, in the view of a child of its own.
 */
static int
cover(const char *path, const char *made, const struct buf *text, struct err *e)
{
	scoped_fd file = -1, tree = -1;
	int r;

	if (access(path, F_OK) < 0)
		return 0; /* nothing there to cover */
	file = open(made, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (file < 0 ||
	    write(file, text->data, text->len) != (ssize_t)text->len)
		return err_errno(e, errno, "generate %s", path);
	fd_close(&file);
	tree = mount_clone(AT_FDCWD, made, e);
	if (tree < 0)
		return tree;
	r = mount_attr(tree, MOUNT_ATTR_RDONLY, 0, false, e);
	return r < 0 ? r : mount_attach(tree, path, e);
}

int
view_build_passwd(const struct view *v, struct err *e)
{
	const struct identity *id = &v->id;
	scoped_buf text = {.max = 16384};
	int r;

	if (has_entry(id->inside_uid))
		return 0;
	r = buf_printf(&text,
	    "root:x:0:0:root:/root:/bin/sh\n"
	    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
	    "agent:x:%u:%u:agent:%s:/bin/bash\n",
	    id->inside_uid, id->inside_gid, v->config->home);
	if (r < 0)
		return err_errno(e, -r, "generate /etc/passwd");
	r = cover("/etc/passwd", "/run/passwd", &text, e);
	if (r < 0)
		return r;
	buf_clear(&text);
	r = buf_printf(&text, "root:x:0:\nnogroup:x:65534:\nagent:x:%u:\n",
	    id->inside_gid);
	if (r < 0)
		return err_errno(e, -r, "generate /etc/group");
	return cover("/etc/group", "/run/group", &text, e);
}
