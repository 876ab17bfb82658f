/*
 * Reaches worker_fs_run and what it calls: a file worker without its sandbox,
 * in a thread, asked by a hostile net. The input is a sequence of requests
 * about a small tree with links, some of which lead out of it, to a second one.
 *
 * Asserts that each request has one answer, of the type that msg.def says, and
 * what is in a listing is well-formed; that the worker gives up on nothing but
 * a broken contract; that the second tree is as it was, since requests that
 * are made for changing it, through a link, are not sent; and that no
 * descriptor is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/worker_fs.h"
#include "fuzz/fuzz.h"
#include "privsep/channel.h"

#define REQUESTS_MAX 24
#define DEADLINE_MS  4000

static struct {
	char root[64]; /* of both trees: root/in and root/out */
	struct channel *net;
	uint32_t number;
	bool broke; /* the last request broke the contract */
} all;

/* --- the trees ------------------------------------------------------------ */

/* The absolute path of something in them: valid until the next call. */
static const char *
at(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", all.root, name);
	return path;
}

static void
put(const char *name, const char *text)
{
	FILE *f = fopen(at(name), "we");

	assert(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void
make_trees(void)
{
	assert(mkdir(at("in"), 0755) == 0 && mkdir(at("out"), 0755) == 0);
	put("out/c", "canary");
	assert(mkdir(at("out/k"), 0755) == 0);
	put("out/k/z", "z");
	put("in/f", "hello");
	assert(mkdir(at("in/d"), 0755) == 0);
	put("in/d/x", "x");
	assert(mkdir(at("in/d/y"), 0700) == 0);
	assert(symlink("f", at("in/l")) == 0 && symlink("d", at("in/dl")) == 0);
	assert(symlink("../out", at("in/o")) == 0);
	assert(symlink("../out/c", at("in/oc")) == 0);
	assert(symlink("../../out/k", at("in/d/ok")) == 0);
	assert(symlink("loop", at("in/loop")) == 0);
	assert(mkfifo(at("in/p"), 0600) == 0);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void
remove_trees(void)
{
	assert(nftw(at("in"), remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 ||
	       errno == ENOENT);
	assert(nftw(at("out"), remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0);
}

static void
check_file(const char *name, const char *text)
{
	char got[16] = "";
	struct stat st;
	FILE *f = fopen(at(name), "re");

	assert(f != NULL && fstat(fileno(f), &st) == 0);
	assert(st.st_nlink == 1 && (st.st_mode & 07777) == 0644);
	assert(fread(got, 1, sizeof got - 1, f) == strlen(text));
	assert(strcmp(got, text) == 0 && fclose(f) == 0);
}

/* Two entries in the one, one in the other, and what is in them. */
static void
check_out(void)
{
	check_file("out/c", "canary");
	check_file("out/k/z", "z");
	assert(rmdir(at("out/k")) < 0 && errno == ENOTEMPTY);
	assert(unlink(at("out/k/z")) == 0 && rmdir(at("out/k")) == 0);
	assert(unlink(at("out/c")) == 0 && rmdir(at("out")) == 0);
	assert(mkdir(at("out"), 0755) == 0);
}

static void
end_root(void)
{
	(void)rmdir(all.root);
}

static void
make_root(void)
{
	if (all.root[0] != '\0')
		return;
	(void)stpcpy(all.root, "/tmp/sallyport-fuzz-XXXXXX");
	assert(mkdtemp(all.root) != NULL && atexit(end_root) == 0);
}

/* --- requests ------------------------------------------------------------- */

static size_t
put_component(struct reader *r, char *out)
{
	static const char *const names[] = {"f", "d", "x", "y", "l", "dl", "o",
	    "oc", "ok", "loop", "p", "n", "m", ".", "..", "c"};
	uint8_t which = fuzz_u8(r);
	size_t len;

	if (which < 250)
		return (size_t)(stpcpy(out, names[which % 16]) - out);
	len = which == 255 ? 256 : which - 249u;
	memset(out, 'a' + which % 8, len);
	out[len] = '\0';
	return len;
}

/* An absolute path in the first tree, mostly. */
static struct bytes
any_path(struct reader *r, char *path)
{
	uint8_t how = fuzz_u8(r);
	size_t len;

	if (how >= 250)
		return fuzz_bytes(r, how - 248u);
	len = (size_t)snprintf(path, PATH_LEN_MAX, "%s/in", all.root);
	for (int i = how % 4; i > 0; i--) {
		path[len++] = '/';
		len += put_component(r, path + len);
	}
	path[len] = '\0';
	return (struct bytes){.data = (uint8_t *)path, .len = len};
}

/* Whether path, with or without the link that it may be itself, leads out of
 * the first tree. */
static bool
leads_out(struct bytes path, bool follow)
{
	char copy[PATH_LEN_MAX + 1], real[PATH_MAX], inside[80];
	size_t len = (size_t)snprintf(inside, sizeof inside, "%s/in", all.root);
	char *slash;

	if (path.len == 0 || path.len >= PATH_LEN_MAX)
		return true;
	memcpy(copy, path.data, path.len);
	copy[path.len] = '\0';
	if (strlen(copy) != path.len || copy[0] != '/')
		return copy[0] != '\0' && copy[0] == '/';
	/* The end may be a name of the directory itself. */
	slash = strrchr(copy, '/');
	if (!follow && slash[1] != '.' && slash[1] != '\0')
		*slash = '\0';
	while (realpath(copy, real) == NULL) {
		slash = strrchr(copy, '/');
		if (errno == ELOOP || slash == NULL || slash == copy)
			return errno != ELOOP;
		*slash = '\0';
	}
	return strncmp(real, inside, len) != 0 ||
	       (real[len] != '/' && real[len] != '\0');
}

/* Whether a path that breaks the contract ends the worker. */
static bool
is_bad(struct bytes path)
{
	return path.len == 0 || path.len >= PATH_LEN_MAX ||
	       path.data[0] != '/' || bytes_has_nul(path);
}

static int
any_contents(struct reader *r)
{
	int fds[2];

	switch (fuzz_u8(r) % 4) {
	case 0:
		return open("/", O_PATH | O_CLOEXEC);
	case 1:
		assert(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
		(void)close(fds[1]);
		return fds[0];
	default:
		return msg_sealed_memfd(fuzz_bytes(r, fuzz_u8(r)));
	}
}

#define SEND(name, ...)                                                        \
	channel_send_##name(all.net,                                           \
	    &(struct msg_##name){.number = ++all.number, __VA_ARGS__}, NULL,   \
	    0)

static int
send_write(struct reader *r, struct bytes path)
{
	uint8_t how = fuzz_u8(r);
	struct msg_fs_write_file m = {.number = ++all.number,
	    .atomic = how & 1,
	    .path = path};
	int fd;

	if (how & 2) {
		fd = any_contents(r);
		return channel_send_fs_write_file(all.net, &m, &fd, 1);
	}
	m.data = fuzz_bytes(r, how / 4);
	return channel_send_fs_write_file(all.net, &m, NULL, 0);
}

static int
send_watch(struct reader *r, struct bytes path)
{
	scoped_buf list;
	char other[PATH_LEN_MAX + 600];
	struct bytes missing = any_path(r, other);

	buf_init(&list, FS_WATCH_PATHS_MAX);
	if (fuzz_u8(r) == 255)
		assert(buf_put(&list, missing.data, missing.len) == 0);
	else
		assert(buf_put_string(&list, missing.data, missing.len) == 0);
	return SEND(fs_watch, .watch = fuzz_u8(r) % 4,
	    .missing = fuzz_view(&list), .present = path);
}

/* Ask something. Returns the answer that is due, MSG_NONE if none is. */
static enum msg_type
ask(struct reader *r)
{
	char first[PATH_LEN_MAX + 600], second[PATH_LEN_MAX + 600];
	uint8_t op = fuzz_u8(r), how = fuzz_u8(r);
	struct bytes path = any_path(r, first), to;
	enum msg_type due = MSG_FS_DONE;
	int sent = 0;

	all.broke = false;
	switch (op % 15) {
	case 0:
		due = MSG_FS_FILE;
		sent = SEND(fs_read_file, .path = path);
		break;
	case 1:
		if (leads_out(path, true))
			return MSG_NONE;
		sent = send_write(r, path);
		break;
	case 2:
		if (leads_out(path, true))
			return MSG_NONE;
		sent = SEND(fs_create_directory, .recursive = how & 1,
		    .path = path);
		break;
	case 3:
		due = MSG_FS_METADATA;
		sent = SEND(fs_get_metadata, .follow = how & 1, .path = path);
		break;
	case 4:
		due = MSG_FS_PATH;
		sent = SEND(fs_canonicalize, .path = path);
		break;
	case 5:
		due = MSG_FS_LISTING;
		sent = SEND(fs_read_directory, .path = path);
		break;
	case 6:
		due = MSG_FS_LISTING;
		sent = SEND(fs_walk, .flags = how % 4, .max_depth = how / 4 % 4,
		    .max_directories = how / 16u + 1u, .max_entries = 9,
		    .path = path);
		break;
	case 7:
		if (leads_out(path, false))
			return MSG_NONE;
		sent = SEND(fs_remove, .flags = how % 4, .path = path);
		break;
	case 8:
		to = any_path(r, second);
		if (leads_out(to, true))
			return MSG_NONE;
		sent = SEND(fs_copy, .recursive = how & 1, .source = path,
		    .destination = to);
		break;
	case 9:
		if ((how & 1) && leads_out(path, true))
			return MSG_NONE;
		sent = SEND(fs_open, .handle = how / 2 % 4, .replace = how & 1,
		    .path = path);
		break;
	case 10:
		due = MSG_FS_BLOCK;
		sent = SEND(fs_read_block, .handle = how % 4,
		    .offset = (uint64_t)fuzz_u8(r) << how % 57, .len = how);
		break;
	case 11:
		to = fuzz_bytes(r, fuzz_u8(r));
		/* A file is to be no larger than a disk. */
		sent = SEND(fs_write_block, .handle = how % 4,
		    .offset = how > 250 ? UINT64_MAX - how : how, .data = to);
		break;
	case 12:
		sent = SEND(fs_close, .handle = how % 4);
		break;
	case 13:
		due = MSG_FS_WATCHING;
		sent = send_watch(r, how & 1 ? path : (struct bytes){0});
		break;
	default:
		due = MSG_NONE;
		sent = channel_send_fs_unwatch(all.net,
		    &(struct msg_fs_unwatch){.watch = how % 4}, NULL, 0);
		break;
	}
	assert(sent == 0 || sent == -EPIPE || sent == -EMSGSIZE ||
	       sent == -ECONNRESET);
	all.broke = is_bad(path);
	return sent == 0 ? due : MSG_NONE;
}

/* --- answers -------------------------------------------------------------- */

static void
check_listing(struct bytes entries)
{
	struct bytes name;
	struct reader r;
	uint8_t kind;
	uint32_t code;

	reader_init(&r, entries.data, entries.len);
	while (r.left > 0) {
		assert(buf_get_u8(&r, &kind) && kind <= FS_ENTRY_ERROR);
		assert(buf_get_string(&r, &name, PATH_LEN_MAX));
		assert(name.len > 0 && !bytes_has_nul(name));
		assert(kind != FS_ENTRY_ERROR || buf_get_u32(&r, &code));
	}
}

static void
check_answer(const struct msg *m, enum msg_type due)
{
	/* Each begins with the number. */
	assert(m->u.fs_done.number == all.number);
	if (m->type == MSG_FS_FAILED) {
		assert(m->u.fs_failed.failure <= FS_FAILURE_MAX);
		assert(m->u.fs_failed.errnum < 4096);
		return;
	}
	assert(m->type == due);
	if (due == MSG_FS_LISTING)
		check_listing(m->u.fs_listing.entries);
	if (due == MSG_FS_PATH)
		assert(m->u.fs_path.path.data[0] == '/');
	if (due == MSG_FS_BLOCK)
		assert(m->u.fs_block.data.len <= FS_BLOCK_MAX);
	if (due == MSG_FS_FILE && m->u.fs_file.streamed == 0)
		assert((fcntl(m->fds[0], F_GETFL) & O_ACCMODE) == O_RDONLY);
}

/* Wait for the answer. False if the worker has ended. */
static bool
hear(enum msg_type due)
{
	struct pollfd p = {.fd = channel_fd(all.net), .events = POLLIN};
	struct err e = {0};
	struct msg m;
	bool streamed = false;

	while (due != MSG_NONE || streamed) {
		int r;

		/* The engine's timer may interrupt it. */
		do
			r = poll(&p, 1, DEADLINE_MS);
		while (r < 0 && errno == EINTR);
		assert(r == 1);
		r = channel_recv(all.net, &m, &e);
		if (r == 0 || r == -ECONNRESET)
			return false;
		assert(r == 1);
		if (m.type == MSG_FS_CHANGED) {
			msg_done(&m);
			continue;
		}
		if (m.type == MSG_FS_STREAMED) {
			assert(streamed);
			streamed = false;
		} else {
			check_answer(&m, due);
			streamed =
			    m.type == MSG_FS_FILE && m.u.fs_file.streamed == 1;
			due = MSG_NONE;
		}
		msg_done(&m);
	}
	return true;
}

static void *
work(void *fd)
{
	return (void *)(intptr_t)worker_fs_run((int)(intptr_t)fd);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before, ends[2];
	struct reader r;
	pthread_t thread;
	void *status;
	bool alive = true;

	if (size > FUZZ_LEN_MAX)
		return 0;
	before = fuzz_fds_open();
	make_root();
	(void)umask(022);
	make_trees();
	reader_init(&r, data, size);
	assert(channel_pair(ends) == 0);
	all.net = channel_new(ends[0], ROLE_NET, ROLE_WORKER);
	all.number = 0;
	assert(all.net != NULL && pthread_create(&thread, NULL, work,
				      (void *)(intptr_t)ends[1]) == 0);
	for (int i = 0; i < REQUESTS_MAX && r.left > 0 && alive; i++)
		alive = hear(ask(&r));
	channel_free(all.net);
	assert(pthread_join(thread, &status) == 0);
	check_out();
	remove_trees();
	assert(fuzz_fds_open() == before);
	return 0;
}
