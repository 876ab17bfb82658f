#include "exec/worker_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "base/log.h"
#include "exec/worker_copy.h"
#include "exec/worker_data.h"
#include "exec/worker_dir.h"
#include "exec/worker_handle.h"
#include "exec/worker_open.h"
#include "exec/worker_path.h"
#include "exec/worker_remove.h"
#include "exec/worker_stat.h"
#include "exec/worker_stream.h"
#include "exec/worker_walk.h"
#include "exec/worker_watch.h"
#include "exec/worker_write.h"
#include "privsep/channel.h"

struct worker {
	struct channel *channel;
	struct worker_handles handles;
	struct worker_watches watches;
};

/*
 * A handler answers its request and returns 0; or a negative errno that ends
 * the worker: -EPROTO if the request breaks the contract, or an error of the
 * channel.
 */
typedef int handler(struct worker *w, struct msg *m);

static int
answer_failed(struct worker *w, uint32_t number, int r, enum fs_failure why)
{
	const struct msg_fs_failed m = {.number = number,
	    .failure = (uint32_t)why,
	    .errnum = (uint32_t)-r};

	return channel_send_fs_failed(w->channel, &m, NULL, 0);
}

/* The answer of an operation that returned r and has no result. */
static int
answer_done(struct worker *w, uint32_t number, int r, enum fs_failure why)
{
	const struct msg_fs_done m = {.number = number};

	if (r < 0)
		return answer_failed(w, number, r, why);
	return channel_send_fs_done(w->channel, &m, NULL, 0);
}

/* The answer whose sending returned r: one that could not be packed, for want
 * of memory or descriptors, becomes a failure. */
static int
answer_sent(struct worker *w, uint32_t number, int r)
{
	if (r == 0 || r == -EPIPE || r == -ENOBUFS)
		return r;
	return answer_failed(w, number, r, FS_FAILURE_ERRNO);
}

static int
worker_on_fs_read_file(struct worker *w, struct msg *msg)
{
	const struct msg_fs_read_file *m = &msg->u.fs_read_file;
	enum fs_failure why = FS_FAILURE_ERRNO;
	struct msg_fs_file file = {.number = m->number};
	char path[WORKER_PATH_SIZE];
	scoped_fd fd = -1;
	struct stat st;
	int r = worker_path_copy(m->path, path);

	if (r < 0)
		return r;
	fd = worker_open_read(AT_FDCWD, path, 0, &st, &why);
	if (fd < 0)
		return answer_failed(w, m->number, fd, why);
	if (st.st_size > (off_t)FS_READ_MAX)
		return answer_failed(w, m->number, -EFBIG,
		    FS_FAILURE_TOO_LARGE);
	file.size = (uint64_t)st.st_size;
	r = worker_open_is_local(fd);
	if (r < 0)
		return answer_failed(w, m->number, r, why);
	if (r == 0)
		return worker_stream(w->channel, m->number, fd, file.size);
	r = fd_take(&fd);
	r = channel_send_fs_file(w->channel, &file, &r, 1);
	return answer_sent(w, m->number, r);
}

static int
worker_on_fs_write_file(struct worker *w, struct msg *msg)
{
	const struct msg_fs_write_file *m = &msg->u.fs_write_file;
	scoped_fd fd = msg_take_fd(msg, 0);
	enum fs_failure why = FS_FAILURE_ERRNO;
	struct worker_payload payload;
	char path[WORKER_PATH_SIZE];
	int r = worker_path_copy(m->path, path);

	if (r == 0)
		r = worker_payload_init(&payload, m->data, fd);
	if (r < 0 || m->atomic > 1)
		return -EPROTO;
	r = m->atomic ? worker_write_atomic(path, &payload, &why)
		      : worker_write_in_place(path, &payload, &why);
	return answer_done(w, m->number, r, why);
}

static int
worker_on_fs_create_directory(struct worker *w, struct msg *msg)
{
	const struct msg_fs_create_directory *m = &msg->u.fs_create_directory;
	char path[WORKER_PATH_SIZE];

	if (worker_path_copy(m->path, path) < 0 || m->recursive > 1)
		return -EPROTO;
	return answer_done(w, m->number, worker_dir_create(path, m->recursive),
	    FS_FAILURE_ERRNO);
}

static int
worker_on_fs_get_metadata(struct worker *w, struct msg *msg)
{
	const struct msg_fs_get_metadata *m = &msg->u.fs_get_metadata;
	enum fs_failure why = FS_FAILURE_ERRNO;
	char path[WORKER_PATH_SIZE], link[PATH_LEN_MAX];
	struct msg_fs_metadata out;
	int r;

	if (worker_path_copy(m->path, path) < 0 || m->follow > 1)
		return -EPROTO;
	r = worker_stat(path, m->follow, &out, link, &why);
	if (r < 0)
		return answer_failed(w, m->number, r, why);
	out.number = m->number;
	r = channel_send_fs_metadata(w->channel, &out, NULL, 0);
	return answer_sent(w, m->number, r);
}

static int
worker_on_fs_canonicalize(struct worker *w, struct msg *msg)
{
	const struct msg_fs_canonicalize *m = &msg->u.fs_canonicalize;
	char path[WORKER_PATH_SIZE], canonical[PATH_LEN_MAX];
	struct msg_fs_path out = {.number = m->number};
	int r;

	if (worker_path_copy(m->path, path) < 0)
		return -EPROTO;
	r = worker_path_canonical(path, canonical);
	if (r < 0)
		return answer_failed(w, m->number, r, FS_FAILURE_ERRNO);
	out.path = bytes_of(canonical);
	r = channel_send_fs_path(w->channel, &out, NULL, 0);
	return answer_sent(w, m->number, r);
}

static int
answer_listing(struct worker *w, uint32_t number, const struct buf *entries,
    bool truncated)
{
	const struct msg_fs_listing m = {.number = number,
	    .truncated = truncated,
	    .entries = {.data = entries->data, .len = entries->len}};

	return answer_sent(w, number,
	    channel_send_fs_listing(w->channel, &m, NULL, 0));
}

static int
worker_on_fs_read_directory(struct worker *w, struct msg *msg)
{
	const struct msg_fs_read_directory *m = &msg->u.fs_read_directory;
	enum fs_failure why = FS_FAILURE_ERRNO;
	char path[WORKER_PATH_SIZE];
	scoped_buf entries;
	int r;

	buf_init(&entries, FS_LISTING_MAX);
	if (worker_path_copy(m->path, path) < 0)
		return -EPROTO;
	r = worker_dir_list(path, &entries, &why);
	if (r < 0)
		return answer_failed(w, m->number, r, why);
	return answer_listing(w, m->number, &entries, false);
}

static bool
walk_is_valid(const struct msg_fs_walk *m)
{
	return (m->flags &
		   ~(uint32_t)(FS_WALK_FOLLOW | FS_WALK_PRUNE_HIDDEN)) == 0 &&
	       m->max_depth <= FS_WALK_DEPTH_MAX && m->max_directories > 0 &&
	       m->max_directories <= FS_WALK_DIRECTORIES_MAX &&
	       m->max_entries > 0 && m->max_entries <= FS_WALK_ENTRIES_MAX;
}

static int
worker_on_fs_walk(struct worker *w, struct msg *msg)
{
	const struct msg_fs_walk *m = &msg->u.fs_walk;
	const struct worker_walk_options o = {.follow =
						  m->flags & FS_WALK_FOLLOW,
	    .prune_hidden = m->flags & FS_WALK_PRUNE_HIDDEN,
	    .depth_max = m->max_depth,
	    .directories_max = m->max_directories,
	    .entries_max = m->max_entries};
	char path[WORKER_PATH_SIZE];
	bool truncated = false;
	scoped_buf entries;
	int r;

	buf_init(&entries, FS_LISTING_MAX);
	if (worker_path_copy(m->path, path) < 0 || !walk_is_valid(m))
		return -EPROTO;
	r = worker_walk(path, &o, &entries, &truncated);
	if (r < 0)
		return answer_failed(w, m->number, r, FS_FAILURE_ERRNO);
	return answer_listing(w, m->number, &entries, truncated);
}

static int
worker_on_fs_remove(struct worker *w, struct msg *msg)
{
	const struct msg_fs_remove *m = &msg->u.fs_remove;
	char path[WORKER_PATH_SIZE];

	if (worker_path_copy(m->path, path) < 0 ||
	    m->flags > (FS_REMOVE_RECURSIVE | FS_REMOVE_FORCE))
		return -EPROTO;
	return answer_done(w, m->number,
	    worker_remove(path, m->flags & FS_REMOVE_RECURSIVE,
		m->flags & FS_REMOVE_FORCE),
	    FS_FAILURE_ERRNO);
}

static int
worker_on_fs_copy(struct worker *w, struct msg *msg)
{
	const struct msg_fs_copy *m = &msg->u.fs_copy;
	enum fs_failure why = FS_FAILURE_ERRNO;
	char source[WORKER_PATH_SIZE], destination[WORKER_PATH_SIZE];
	int r;

	if (worker_path_copy(m->source, source) < 0 ||
	    worker_path_copy(m->destination, destination) < 0 ||
	    m->recursive > 1)
		return -EPROTO;
	r = worker_copy(source, destination, m->recursive, &why);
	return answer_done(w, m->number, r, why);
}

static int
worker_on_fs_open(struct worker *w, struct msg *msg)
{
	const struct msg_fs_open *m = &msg->u.fs_open;
	enum fs_failure why = FS_FAILURE_ERRNO;
	char path[WORKER_PATH_SIZE];
	int r;

	if (worker_path_copy(m->path, path) < 0 || m->replace > 1)
		return -EPROTO;
	r = worker_handle_open(&w->handles, m->handle, m->replace, path, &why);
	if (r == -EPROTO)
		return r;
	return answer_done(w, m->number, r, why);
}

static int
worker_on_fs_read_block(struct worker *w, struct msg *msg)
{
	const struct msg_fs_read_block *m = &msg->u.fs_read_block;
	enum fs_failure why = FS_FAILURE_ERRNO;
	scoped_free uint8_t *data = NULL;
	struct msg_fs_block out = {.number = m->number};
	int r;

	if (m->len == 0 || m->len > FS_BLOCK_MAX)
		return -EPROTO;
	data = malloc(m->len);
	if (data == NULL)
		return answer_failed(w, m->number, -ENOMEM, why);
	r = worker_handle_read(&w->handles, m->handle, m->offset, data, m->len,
	    &out.data.len, &why);
	if (r < 0)
		return answer_failed(w, m->number, r, why);
	out.data.data = data;
	out.eof = out.data.len < m->len;
	r = channel_send_fs_block(w->channel, &out, NULL, 0);
	return answer_sent(w, m->number, r);
}

static int
worker_on_fs_write_block(struct worker *w, struct msg *msg)
{
	const struct msg_fs_write_block *m = &msg->u.fs_write_block;
	enum fs_failure why = FS_FAILURE_ERRNO;
	int r;

	if (m->data.len == 0)
		return -EPROTO;
	r = worker_handle_write(&w->handles, m->handle, m->offset, m->data,
	    &why);
	return answer_done(w, m->number, r, why);
}

static int
worker_on_fs_close(struct worker *w, struct msg *msg)
{
	const struct msg_fs_close *m = &msg->u.fs_close;

	worker_handle_close(&w->handles, m->handle);
	return answer_done(w, m->number, 0, FS_FAILURE_ERRNO);
}

static int
worker_on_fs_watch(struct worker *w, struct msg *msg)
{
	const struct msg_fs_watch *m = &msg->u.fs_watch;
	struct msg_fs_watching out = {.number = m->number};
	bool watching = false;
	int r = worker_watch_add(&w->watches, m->watch, m->missing, m->present,
	    &watching);

	if (r == -EPROTO)
		return r;
	if (r < 0)
		return answer_failed(w, m->number, r, FS_FAILURE_ERRNO);
	out.watching = watching;
	return channel_send_fs_watching(w->channel, &out, NULL, 0);
}

static int
worker_on_fs_unwatch(struct worker *w, struct msg *msg)
{
	worker_watch_remove(&w->watches, msg->u.fs_unwatch.watch);
	return 0;
}

static handler *const handlers[MSG_TYPES] = {
    [MSG_FS_READ_FILE] = worker_on_fs_read_file,
    [MSG_FS_WRITE_FILE] = worker_on_fs_write_file,
    [MSG_FS_CREATE_DIRECTORY] = worker_on_fs_create_directory,
    [MSG_FS_GET_METADATA] = worker_on_fs_get_metadata,
    [MSG_FS_CANONICALIZE] = worker_on_fs_canonicalize,
    [MSG_FS_READ_DIRECTORY] = worker_on_fs_read_directory,
    [MSG_FS_WALK] = worker_on_fs_walk,
    [MSG_FS_REMOVE] = worker_on_fs_remove,
    [MSG_FS_COPY] = worker_on_fs_copy,
    [MSG_FS_OPEN] = worker_on_fs_open,
    [MSG_FS_READ_BLOCK] = worker_on_fs_read_block,
    [MSG_FS_WRITE_BLOCK] = worker_on_fs_write_block,
    [MSG_FS_CLOSE] = worker_on_fs_close,
    [MSG_FS_WATCH] = worker_on_fs_watch,
    [MSG_FS_UNWATCH] = worker_on_fs_unwatch,
};

/* Returns 1 to go on, 0 at net's end, or a negative errno with e. */
static int
serve_one(struct worker *w, struct err *e)
{
	struct msg m;
	int r = channel_recv(w->channel, &m, e);

	if (r == -EAGAIN)
		return 1;
	if (r <= 0)
		return r;
	/* Nothing else is for a worker to receive. */
	r = handlers[m.type] == NULL ? -EPROTO : handlers[m.type](w, &m);
	if (r < 0)
		(void)err_errno(e, -r, "%s", msg_row((uint32_t)m.type)->name);
	msg_done(&m);
	return r < 0 ? r : 1;
}

static int
tell_changes(struct worker *w)
{
	struct msg_fs_changed m;
	int r = 0;

	worker_watch_read(&w->watches);
	while (r == 0 && worker_watch_fired(&w->watches, &m.watch))
		r = channel_send_fs_changed(w->channel, &m, NULL, 0);
	return r;
}

/*
 * One turn: what is queued goes out before anything new is taken. Returns as
 * serve_one.
 */
static int
turn(struct worker *w, struct err *e)
{
	struct pollfd p[2] = {
	    {.fd = channel_fd(w->channel), .events = POLLIN},
	    {.fd = w->watches.fd, .events = POLLIN},
	};
	int r = worker_stream_settle(w->channel);

	if (r < 0)
		return r == -EPIPE ? 0 : err_errno(e, -r, "channel");
	r = poll(p, 2, worker_watch_timeout(&w->watches));
	if (r < 0 && errno != EINTR)
		return err_errno(e, errno, "poll");
	r = tell_changes(w);
	if (r == 0 && p[0].revents != 0)
		return serve_one(w, e);
	return r < 0 ? err_errno(e, -r, "FS_CHANGED") : 1;
}

void
worker_fs_block_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGPIPE);
	(void)sigaddset(&set, SIGXFSZ);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
}

int
worker_fs_run(int fd)
{
	struct err e = {0};
	struct worker w;
	int r;

	worker_fs_block_signals();
	w.channel = channel_new(fd, ROLE_WORKER, ROLE_NET);
	if (w.channel == NULL) {
		log_error("worker out of memory");
		return 1;
	}
	worker_handle_init(&w.handles);
	worker_watch_init(&w.watches);
	do
		r = turn(&w, &e);
	while (r > 0);
	worker_handle_done(&w.handles);
	worker_watch_done(&w.watches);
	channel_free(w.channel);
	if (r < 0 && r != -EPIPE)
		log_error("worker %s", e.text);
	return r < 0 && r != -EPIPE;
}
