#include "tests/unit/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "exec/worker_fs.h"
#include "exec/worker_remove.h"
#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"

/* From now on openat with O_TMPFILE says what a filesystem without it says. */
static int
refuse_nameless(void)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, args[2])),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0,
		1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {.len = COUNT(code), .filter = code};

	return lockdown(&program);
}

void
rig_start(struct rig *rig)
{
	int fds[2];

	assert_int_equal(channel_pair(fds), 0);
	rig->pid = fork();
	assert_true(rig->pid >= 0);
	if (rig->pid == 0) {
		(void)close(fds[0]);
		if (privdrop_no_new_privs() < 0 ||
		    (rig->without_nameless && refuse_nameless() < 0) ||
		    lockdown(&filter_worker) < 0)
			_exit(99);
		_exit(worker_fs_run(fds[1]));
	}
	(void)close(fds[1]);
	rig->net = channel_new(fds[0], ROLE_NET, ROLE_WORKER);
	assert_non_null(rig->net);
}

int
rig_stop(struct rig *rig)
{
	int status;

	channel_free(rig->net);
	rig->net = NULL;
	assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
	rig->pid = 0;
	return status;
}

int
rig_setup(void **state)
{
	struct rig *rig = calloc(1, sizeof *rig);

	(void)alarm(250);
	(void)umask(022);
	if (rig == NULL)
		return -1;
	(void)stpcpy(rig->dir, "/tmp/sallyport-worker-XXXXXX");
	if (mkdtemp(rig->dir) == NULL || chdir(rig->dir) < 0)
		return -1;
	rig_start(rig);
	*state = rig;
	return 0;
}

int
rig_teardown(void **state)
{
	struct rig *rig = *state;
	int status = rig->pid > 0 ? rig_stop(rig) : 0;

	if (chdir("/") < 0)
		return -1;
	remove_all(rig->dir);
	free(rig);
	return status;
}

bool
rig_is_readable(const struct rig *rig, int ms)
{
	struct pollfd p = {.fd = channel_fd(rig->net), .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

void
rig_receive(struct rig *rig, struct msg *m)
{
	struct err e = {0};
	int r;

	assert_true(rig_is_readable(rig, WORKER_DEADLINE_MS));
	r = channel_recv(rig->net, m, &e);
	if (r != 1)
		fail_msg("worker: %d %s", r, e.text);
}

struct bytes
at(const struct rig *rig, const char *name)
{
	static char paths[8][PATH_LEN_MAX];
	static unsigned int next;
	char *path = paths[next++ % 8];

	if (name[0] == '/')
		(void)snprintf(path, PATH_LEN_MAX, "%s", name);
	else
		(void)snprintf(path, PATH_LEN_MAX, "%s%s%s", rig->dir,
		    name[0] == '\0' ? "" : "/", name);
	return bytes_of(path);
}

static uint32_t
failed_number(const struct msg *m)
{
	assert_int_equal(m->type, MSG_FS_FAILED);
	return m->u.fs_failed.number;
}

void
rig_done(struct rig *rig)
{
	struct msg m;

	rig_receive(rig, &m);
	if (m.type == MSG_FS_FAILED)
		fail_msg("failed: %u, %s", m.u.fs_failed.failure,
		    strerror((int)m.u.fs_failed.errnum));
	assert_int_equal(m.type, MSG_FS_DONE);
	assert_int_equal(m.u.fs_done.number, rig->number);
	msg_done(&m);
}

void
rig_failed(struct rig *rig, enum fs_failure failure, int errnum)
{
	struct msg m;

	rig_receive(rig, &m);
	assert_int_equal(failed_number(&m), rig->number);
	assert_int_equal(m.u.fs_failed.failure, failure);
	assert_string_equal(strerror((int)m.u.fs_failed.errnum),
	    strerror(errnum));
	msg_done(&m);
}

void
rig_answer(struct rig *rig, enum msg_type type, struct msg *m)
{
	rig_receive(rig, m);
	if (m->type == MSG_FS_FAILED)
		fail_msg("failed: %u, %s", m->u.fs_failed.failure,
		    strerror((int)m->u.fs_failed.errnum));
	assert_int_equal(m->type, type);
}

void
rig_read_file(struct rig *rig, const char *name)
{
	const struct msg_fs_read_file m = {.number = ++rig->number,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_read_file(rig->net, &m, NULL, 0), 0);
}

void
rig_write_file(struct rig *rig, const char *name, const char *text, bool atomic)
{
	const struct msg_fs_write_file m = {.number = ++rig->number,
	    .atomic = atomic,
	    .path = at(rig, name),
	    .data = bytes_of(text)};

	assert_int_equal(channel_send_fs_write_file(rig->net, &m, NULL, 0), 0);
}

void
rig_remove(struct rig *rig, const char *name, uint32_t flags)
{
	const struct msg_fs_remove m = {.number = ++rig->number,
	    .flags = flags,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_remove(rig->net, &m, NULL, 0), 0);
}

void
rig_copy(struct rig *rig, const char *from, const char *to, bool recursive)
{
	const struct msg_fs_copy m = {.number = ++rig->number,
	    .recursive = recursive,
	    .source = at(rig, from),
	    .destination = at(rig, to)};

	assert_int_equal(channel_send_fs_copy(rig->net, &m, NULL, 0), 0);
}

void
rig_mkdir(struct rig *rig, const char *name, bool recursive)
{
	const struct msg_fs_create_directory m = {.number = ++rig->number,
	    .recursive = recursive,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_create_directory(rig->net, &m, NULL,
			     0),
	    0);
}

void
rig_open(struct rig *rig, uint32_t handle, const char *name, bool replace)
{
	const struct msg_fs_open m = {.number = ++rig->number,
	    .handle = handle,
	    .replace = replace,
	    .path = at(rig, name)};

	assert_int_equal(channel_send_fs_open(rig->net, &m, NULL, 0), 0);
}

void
file_put(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t len = strlen(text);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	(void)close(fd);
}

const char *
file_get(const char *name)
{
	static char text[4096];
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, text, sizeof text - 1);
	assert_true(n >= 0);
	text[n] = '\0';
	(void)close(fd);
	return text;
}

unsigned int
entries_in(const char *dir)
{
	unsigned int count = 0;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while (readdir(d) != NULL)
		count++;
	(void)closedir(d);
	return count - 2;
}

void
remove_all(const char *dir)
{
	char path[PATH_LEN_MAX];

	/* Not nftw, which gives up on paths that are too long. */
	if (realpath(dir, path) != NULL)
		assert_int_equal(worker_remove(path, true, true), 0);
}
