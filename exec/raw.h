/*
 * System calls in the forms that exec needs, all of them safe after clone:
 * nothing here allocates, prints or takes a lock.
 */
#ifndef EXEC_RAW_H
#define EXEC_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "privsep/role.h"

/* Descriptors in one message of raw_send. */
#define RAW_FDS_MAX 8

/*
 * fork with the namespace flags of clone(2), and the new process's pidfd
 * (close-on-exec) in *pidfd unless pidfd is NULL. Returns 0 in the new
 * process, its pid in the caller, or a negative errno.
 */
must_use pid_t raw_clone(uint64_t flags, int *pidfd);

/* The same, born in the control group of version 2 that cgroup is a directory
 * of. -ENOSYS where the host has no clone3. */
must_use pid_t raw_clone_into(uint64_t flags, int *pidfd, int cgroup);

/*
 * privdrop_end_with_parent for the first process of a pid namespace, which is
 * not told who its parent is: of the socket's other end the parent alone has a
 * descriptor.
 */
must_use int raw_end_with_peer(int socket);

/* pidfd_send_signal(2). Returns 0 or a negative errno. */
int raw_pidfd_signal(int pidfd, int signum);

/*
 * Close every descriptor from 3 on that is not among keep[0..count), which
 * may hold -1 and is sorted by this. count is at most 32.
 */
must_use int raw_close_except(int *keep, size_t count);

/* Write the whole of text to an existing file. Returns 0 or a negative errno.
 */
must_use int raw_write_file(const char *path, const char *text);
/* The same, with a path relative to dir. */
must_use int raw_write_file_at(int dir, const char *path, const char *text);

/*
 * Put prefix, n in decimal and suffix into out[0..size), NUL included. Returns
 * 0, or -ENAMETOOLONG.
 */
must_use int raw_number_path(char *out, size_t size, const char *prefix,
    unsigned int n, const char *suffix);

/* Send data with count descriptors as one record. 0 or a negative errno. */
must_use int raw_send(int socket, const void *data, size_t len, const int *fds,
    size_t count);

/*
 * Receive a record of exactly len bytes without waiting, and its descriptors,
 * close-on-exec, into fds[0..*count); *count is the room before. Returns 1;
 * 0 at the end; -EAGAIN; -EPROTO if it is another length or was cut (nothing
 * is left open then); another negative errno.
 */
must_use int raw_recv(int socket, void *data, size_t len, int *fds,
    size_t *count);

/* What a new process says on its status pipe. */
struct status_record {
	uint32_t stage;	 /* enum stage */
	uint32_t errnum; /* 0 with STAGE_EXEC: execve comes next */
};

/* Tell stage and errnum. */
void raw_status(int status_fd, enum stage stage, int errnum);

/* Tell them and end this process. */
_Noreturn void raw_fail(int status_fd, enum stage stage, int errnum);

#endif
