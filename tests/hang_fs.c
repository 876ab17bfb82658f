/*
 * A filesystem for tests whose files can be opened but whose content never
 * comes: hang-fs DIRECTORY mounts it there, prints "ready", and takes it away
 * again at the end of its standard input. Each name in it is a file of 4 KiB.
 * Needs root and /dev/fuse.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ROOT	     1u /* FUSE_ROOT_ID */
#define FILE_NODE    2u
#define REQUEST_SIZE (256u * 1024u)

struct request {
	struct fuse_in_header head;
	uint8_t body[REQUEST_SIZE];
};

/* Returns whether the kernel took it; a caller that has gone is fine. */
static bool
answer(int fd, const struct request *q, int error, const void *data, size_t len)
{
	uint8_t out[sizeof(struct fuse_out_header) + 256] = {0};
	const struct fuse_out_header head = {.len =
						 (uint32_t)(sizeof head + len),
	    .error = -error,
	    .unique = q->head.unique};

	memcpy(out, &head, sizeof head);
	if (len > 0)
		memcpy(out + sizeof head, data, len);
	return write(fd, out, sizeof head + len) >= 0 || errno == ENOENT;
}

static struct fuse_attr
attributes(uint64_t node)
{
	if (node == ROOT)
		return (struct fuse_attr){.ino = node,
		    .mode = S_IFDIR | 0755,
		    .nlink = 2};
	return (struct fuse_attr){.ino = node,
	    .size = 4096,
	    .blocks = 8,
	    .mode = S_IFREG | 0644,
	    .nlink = 1};
}

static bool
answer_init(int fd, const struct request *q)
{
	const struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
	    .minor = 31,
	    .max_readahead = 65536,
	    .max_background = 64,
	    .congestion_threshold = 48,
	    .max_write = 65536};

	return answer(fd, q, 0, &out, sizeof out);
}

static bool
answer_lookup(int fd, const struct request *q)
{
	const struct fuse_entry_out out = {.nodeid = FILE_NODE,
	    .attr_valid = 60,
	    .entry_valid = 60,
	    .attr = attributes(FILE_NODE)};

	return answer(fd, q, 0, &out, sizeof out);
}

static bool
answer_getattr(int fd, const struct request *q)
{
	const struct fuse_attr_out out = {.attr_valid = 60,
	    .attr = attributes(q->head.nodeid)};

	return answer(fd, q, 0, &out, sizeof out);
}

static bool
serve(int fd, const struct request *q)
{
	const struct fuse_open_out opened = {.fh = 1};
	const struct fuse_statfs_out space = {
	    .st = {.bsize = 4096, .namelen = 255}};

	switch (q->head.opcode) {
	case FUSE_INIT:
		return answer_init(fd, q);
	case FUSE_LOOKUP:
		return answer_lookup(fd, q);
	case FUSE_GETATTR:
		return answer_getattr(fd, q);
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		return answer(fd, q, 0, &opened, sizeof opened);
	case FUSE_STATFS:
		return answer(fd, q, 0, &space, sizeof space);
	case FUSE_READDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		return answer(fd, q, 0, NULL, 0);
	case FUSE_READ: /* this is what it is for */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return true;
	default:
		return answer(fd, q, ENOSYS, NULL, 0);
	}
}

static int
serve_until_eof(int fd)
{
	static struct request q;
	struct pollfd p[2] = {
	    {.fd = fd, .events = POLLIN},
	    {.fd = STDIN_FILENO, .events = POLLIN},
	};

	while (poll(p, 2, -1) >= 0 || errno == EINTR) {
		if (p[1].revents != 0)
			return 0;
		if (p[0].revents == 0)
			continue;
		if (read(fd, &q, sizeof q) < (ssize_t)sizeof q.head) {
			if (errno == EINTR || errno == EAGAIN ||
			    errno == ENOENT)
				continue;
			return 1;
		}
		if (!serve(fd, &q))
			return 1;
	}
	return 1;
}

int
main(int argc, char **argv)
{
	scoped_fd fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];
	int r;

	if (argc != 2 || fd < 0) {
		perror("hang-fs");
		return 77;
	}
	(void)snprintf(options, sizeof options,
	    "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
	if (mount("hang", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
		perror("hang-fs: mount");
		return 77;
	}
	(void)puts("ready");
	(void)fflush(stdout);
	r = serve_until_eof(fd);
	(void)umount2(argv[1], MNT_DETACH);
	return r;
}
