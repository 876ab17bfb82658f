/* From a file worker's answer to the client's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "net/fs_audit.h"
#include "net/fs_call.h"
#include "net/helper.h"

#define KEEP_OLD                                                               \
	"the file is as it was before: the new content could not be written: "

/* The answer to call as far as where the value goes; NULL: nobody waits. */
static struct connection *
result_begin(struct fs_call *call, struct jsonw *w, struct buf *text)
{
	struct connection *c = rpc_later_connection(call->net, &call->later);

	if (c == NULL)
		return NULL;
	rpc_result_begin(c, &call->later.id, w, text);
	jsonw_open(w, '{');
	return c;
}

static enum fs_progress
result_end(struct connection *c, struct jsonw *w, struct fs_call *call)
{
	jsonw_close(w, '}');
	rpc_result_send(c, w);
	fs_call_free(call);
	return FS_ANSWERED;
}

static enum fs_progress
nobody_waits(struct fs_call *call)
{
	fs_call_free(call);
	return FS_ANSWERED;
}

static void
fail_errno(struct fs_call *call, const char *prefix, uint32_t errnum)
{
	const char *words = strerrordesc_np((int)errnum);
	int code = errnum == ENOENT ? RPC_NOT_FOUND : RPC_INTERNAL;
	const char *missing = call->net->config.compat->missing_file;

	/* What an entry of the request denies, the request has denied. */
	if (errnum == EACCES && call->restricted)
		code = RPC_INVALID_REQUEST;
	if (errnum == ENOENT && missing != NULL)
		fs_call_fail(call, code, "%s", missing);
	else
		fs_call_fail(call, code, "%s%s (os error %u)", prefix,
		    words != NULL ? words : "Unknown error", errnum);
}

static enum fs_progress
on_failed(struct fs_call *call, const struct msg_fs_failed *m)
{
	int code = RPC_INVALID_REQUEST;

	switch ((enum fs_failure)m->failure) {
	case FS_FAILURE_ERRNO:
		fail_errno(call, "", m->errnum);
		return FS_ANSWERED;
	case FS_FAILURE_OLD_KEPT:
		fail_errno(call, KEEP_OLD, m->errnum);
		return FS_ANSWERED;
	case FS_FAILURE_NOT_A_FILE:
		fs_call_fail(call, code, "path `%.*s` is not a file",
		    call->path.len > 512 ? 512 : (int)call->path.len,
		    (const char *)call->path.data);
		return FS_ANSWERED;
	case FS_FAILURE_TOO_LARGE:
		fs_call_fail(call, code,
		    "file is too large to read: limit is %u bytes",
		    FS_READ_MAX);
		return FS_ANSWERED;
	case FS_FAILURE_HAS_SYMLINK:
		fs_call_fail(call, code, "path contains a symbolic link");
		return FS_ANSWERED;
	case FS_FAILURE_NEEDS_RECURSIVE:
		fs_call_fail(call, code,
		    "fs/copy requires recursive: true when sourcePath is a "
		    "directory");
		return FS_ANSWERED;
	case FS_FAILURE_INTO_ITSELF:
		fs_call_fail(call, code,
		    "fs/copy cannot copy a directory to itself or one of its "
		    "descendants");
		return FS_ANSWERED;
	case FS_FAILURE_SPECIAL_SOURCE:
		fs_call_fail(call, code,
		    "fs/copy only supports regular files, directories, and "
		    "symlinks");
		return FS_ANSWERED;
	case FS_FAILURE_UNKNOWN_HANDLE:
		fs_call_fail(call, RPC_NOT_FOUND, "unknown file handle");
		return FS_ANSWERED;
	case FS_FAILURE_LISTING_TOO_LARGE:
		fs_call_fail(call, code,
		    "the listing is too large: at most %u bytes of names",
		    FS_LISTING_MAX);
		return FS_ANSWERED;
	}
	return FS_BROKEN;
}

static enum fs_progress
on_done(struct fs_call *call, struct fs_worker *worker)
{
	struct connection *c = rpc_later_connection(call->net, &call->later);
	struct jsonw w;
	struct buf text;

	if (call->op == MSG_FS_OPEN &&
	    fs_handle_opened(c, worker, call->handle) == NULL) {
		/* Its connection has gone: the same worker closes it next. */
		struct fs_call *close_call =
		    fs_call_new_internal(call->net, MSG_FS_CLOSE);

		if (close_call != NULL) {
			close_call->handle = call->handle;
			helper_submit_to(worker, close_call);
		}
		return nobody_waits(call);
	}
	c = result_begin(call, &w, &text);
	if (c == NULL)
		return nobody_waits(call);
	if (call->op == MSG_FS_OPEN) {
		jsonw_key(&w, "handleId");
		jsonw_string(&w, call->handle_id);
	}
	return result_end(c, &w, call);
}

/*
 * Answer with the contents of fd (taken, with the bytes of it that are on the
 * message budget): at once when they fit one read, else as fragments that are
 * read as the socket takes them.
 */
static void
answer_file(struct fs_call *call, int fd, uint64_t charged)
{
	struct net *n = call->net;
	ssize_t len = pread(fd, n->scratch, sizeof n->scratch, 0);
	bool small = len >= 0 && (size_t)len < sizeof n->scratch;
	struct connection *c = rpc_later_connection(n, &call->later);
	struct jsonw w;
	struct buf text;

	if (c != NULL && !small && n->file_answers >= FILE_ANSWERS_MAX) {
		rpc_error(c, &call->later.id, RPC_INVALID_REQUEST,
		    "busy: %u large answers wait to be read; try again later",
		    FILE_ANSWERS_MAX);
		c = NULL;
	}
	if (c == NULL) {
		(void)close(fd);
		net_release(n, charged);
		return;
	}
	c = result_begin(call, &w, &text);
	jsonw_key(&w, "dataBase64");
	if (small) {
		(void)close(fd);
		net_release(n, charged);
		jsonw_base64(&w,
		    (struct bytes){.data = n->scratch, .len = (size_t)len});
		jsonw_close(&w, '}');
		rpc_result_send(c, &w);
		return;
	}
	jsonw_raw(&w, "\"");
	if (!jsonw_ok(&w)) {
		(void)close(fd);
		net_release(n, charged);
		buf_done(&text);
		connection_close(c, 1011, "out of memory");
		return;
	}
	connection_queue_file(c, &text, fd, charged, "\"}}");
}

static void
answer_spool(struct fs_call *call)
{
	uint64_t charged;
	int fd = fs_spool_take(call->spool, &charged);

	answer_file(call, fd, charged);
}

void
fs_call_spooled(struct fs_call *call, int result)
{
	struct fs_worker *worker = call->spool->worker;

	if (result == 0) {
		answer_spool(call);
		fs_call_free(call);
		helper_finished(worker);
		return;
	}
	if (result == -ENOBUFS)
		fs_call_fail(call, RPC_INVALID_REQUEST,
		    "busy: the message budget is used up; try again later");
	else if (result == -EFBIG)
		fs_call_fail(call, RPC_INVALID_REQUEST,
		    "file is too large to read: limit is %u bytes",
		    FS_READ_MAX);
	else
		fs_call_fail(call, RPC_INTERNAL,
		    "the file cannot be kept until it is sent: %s",
		    strerror(-result));
	/* It is still sending what nobody wants any more. */
	helper_discard(worker);
}

static enum fs_progress
on_file(struct fs_call *call, struct fs_worker *worker, struct msg *m)
{
	int fd = msg_take_fd(m, 0), flags = fcntl(fd, F_GETFL);
	bool streamed = m->u.fs_file.streamed != 0;
	struct stat st;

	if (flags < 0 || (flags & O_ACCMODE) != O_RDONLY ||
	    fstat(fd, &st) < 0 ||
	    !(streamed ? S_ISFIFO(st.st_mode) : S_ISREG(st.st_mode)) ||
	    call->spool != NULL) {
		(void)close(fd);
		return FS_BROKEN;
	}
	if (!streamed) {
		answer_file(call, fd, 0);
		return nobody_waits(call);
	}
	call->spool = fs_spool_new(call, worker, fd);
	if (call->spool == NULL) {
		fs_call_fail(call, RPC_INTERNAL, "out of memory");
		return FS_ANSWERED;
	}
	return FS_CONTINUES;
}

static enum fs_progress
on_streamed(struct fs_call *call, const struct msg_fs_streamed *m)
{
	if (call->spool == NULL)
		return FS_BROKEN;
	if (m->errnum != 0) {
		fail_errno(call, "", m->errnum);
		return FS_ANSWERED;
	}
	if (!fs_spool_told(call->spool))
		return FS_CONTINUES;
	answer_spool(call);
	return nobody_waits(call);
}

static enum fs_progress
on_metadata(struct fs_call *call, const struct msg_fs_metadata *m)
{
	struct jsonw w;
	struct buf text;
	struct connection *c = result_begin(call, &w, &text);

	if (c == NULL)
		return nobody_waits(call);
	jsonw_key(&w, "isDirectory");
	jsonw_bool(&w, m->flags & FS_IS_DIRECTORY);
	jsonw_key(&w, "isFile");
	jsonw_bool(&w, m->flags & FS_IS_FILE);
	jsonw_key(&w, "isSymlink");
	jsonw_bool(&w, m->flags & FS_IS_SYMLINK);
	jsonw_key(&w, "size");
	jsonw_uint(&w, m->size);
	jsonw_key(&w, "createdAtMs");
	jsonw_uint(&w, m->created_ms);
	jsonw_key(&w, "modifiedAtMs");
	jsonw_uint(&w, m->modified_ms);
	jsonw_key(&w, "mode");
	jsonw_uint(&w, m->mode);
	jsonw_key(&w, "uid");
	jsonw_uint(&w, m->uid);
	jsonw_key(&w, "gid");
	jsonw_uint(&w, m->gid);
	if (m->link_target.len > 0) {
		jsonw_key(&w, "linkTarget");
		jsonw_string(&w, m->link_target);
	}
	return result_end(c, &w, call);
}

static enum fs_progress
on_path(struct fs_call *call, const struct msg_fs_path *m)
{
	struct jsonw w;
	struct buf text;
	struct connection *c = result_begin(call, &w, &text);

	if (c == NULL)
		return nobody_waits(call);
	jsonw_key(&w, "path");
	jsonw_file_uri(&w, m->path);
	return result_end(c, &w, call);
}

struct entry {
	uint8_t kind;
	struct bytes name;
	uint32_t errnum; /* of FS_ENTRY_ERROR */
};

static bool
next_entry(struct reader *r, struct entry *e)
{
	if (!buf_get_u8(r, &e->kind) || e->kind > FS_ENTRY_ERROR ||
	    !buf_get_string(r, &e->name, FS_LISTING_MAX))
		return false;
	return e->kind != FS_ENTRY_ERROR || buf_get_u32(r, &e->errnum);
}

static bool
listing_is_whole(struct bytes entries)
{
	struct entry e;
	struct reader r;

	reader_init(&r, entries.data, entries.len);
	while (r.left > 0)
		if (!next_entry(&r, &e))
			return false;
	return true;
}

static void
write_directory_entry(struct jsonw *w, const struct entry *e)
{
	jsonw_open(w, '{');
	jsonw_key(w, "fileName");
	jsonw_string(w, e->name);
	jsonw_key(w, "isDirectory");
	jsonw_bool(w, e->kind == FS_ENTRY_DIRECTORY);
	jsonw_key(w, "isFile");
	jsonw_bool(w, e->kind == FS_ENTRY_FILE);
	jsonw_close(w, '}');
}

static void
write_walk_entry(struct jsonw *w, const struct entry *e)
{
	const char *words = strerrordesc_np((int)e->errnum);
	char text[128];

	jsonw_open(w, '{');
	jsonw_key(w, "path");
	jsonw_file_uri(w, e->name);
	if (e->kind == FS_ENTRY_ERROR) {
		(void)snprintf(text, sizeof text, "%s (os error %u)",
		    words != NULL ? words : "Unknown error", e->errnum);
		jsonw_key(w, "message");
		jsonw_text(w, text);
	} else {
		jsonw_key(w, "kind");
		jsonw_text(w,
		    e->kind == FS_ENTRY_DIRECTORY ? "directory" : "file");
	}
	jsonw_close(w, '}');
}

/* Write those entries of a listing that are errors, or those that are none. */
static void
write_entries(struct jsonw *w, struct bytes entries, bool errors,
    void (*write)(struct jsonw *w, const struct entry *e))
{
	struct entry e;
	struct reader r;

	jsonw_open(w, '[');
	reader_init(&r, entries.data, entries.len);
	while (r.left > 0 && next_entry(&r, &e))
		if ((e.kind == FS_ENTRY_ERROR) == errors)
			write(w, &e);
	jsonw_close(w, ']');
}

static enum fs_progress
on_listing(struct fs_call *call, const struct msg_fs_listing *m)
{
	bool walk = call->op == MSG_FS_WALK;
	struct jsonw w;
	struct buf text;
	struct connection *c;

	if (!listing_is_whole(m->entries))
		return FS_BROKEN;
	c = result_begin(call, &w, &text);
	if (c == NULL)
		return nobody_waits(call);
	jsonw_key(&w, "entries");
	write_entries(&w, m->entries, false,
	    walk ? write_walk_entry : write_directory_entry);
	if (walk) {
		jsonw_key(&w, "errors");
		write_entries(&w, m->entries, true, write_walk_entry);
		jsonw_key(&w, "truncated");
		jsonw_bool(&w, m->truncated != 0);
	}
	return result_end(c, &w, call);
}

static enum fs_progress
on_block(struct fs_call *call, const struct msg_fs_block *m)
{
	struct jsonw w;
	struct buf text;
	struct connection *c = result_begin(call, &w, &text);

	if (c == NULL)
		return nobody_waits(call);
	jsonw_key(&w, "chunk");
	jsonw_base64(&w, m->data);
	jsonw_key(&w, "eof");
	jsonw_bool(&w, m->eof != 0);
	return result_end(c, &w, call);
}

static enum fs_progress
on_watching(struct fs_call *call, struct fs_worker *worker,
    const struct msg_fs_watching *m)
{
	struct jsonw w;
	struct buf text;
	struct connection *c = rpc_later_connection(call->net, &call->later);
	bool watching = m->watching != 0;

	/* It may also tell of one that it does not yet know to be gone. */
	worker->changes_due += watching;
	if (watching && (c == NULL || !fs_watch_add(c, worker, call->watch_id,
					  call->handle)))
		helper_notify_unwatch(worker, call->handle);
	c = result_begin(call, &w, &text);
	if (c == NULL)
		return nobody_waits(call);
	jsonw_key(&w, "watching");
	jsonw_bool(&w, watching);
	return result_end(c, &w, call);
}

/* The message that answers each request. */
static enum msg_type
answer_of(enum msg_type op)
{
	switch ((int)op) {
	case MSG_FS_READ_FILE:
		return MSG_FS_FILE;
	case MSG_FS_GET_METADATA:
		return MSG_FS_METADATA;
	case MSG_FS_CANONICALIZE:
		return MSG_FS_PATH;
	case MSG_FS_READ_DIRECTORY:
	case MSG_FS_WALK:
		return MSG_FS_LISTING;
	case MSG_FS_READ_BLOCK:
		return MSG_FS_BLOCK;
	case MSG_FS_WATCH:
		return MSG_FS_WATCHING;
	default:
		return MSG_FS_DONE;
	}
}

/* Every answer begins with the number of its request. */
static bool
is_for(const struct fs_call *call, const struct msg *m)
{
	if (m->u.fs_done.number != call->number)
		return false;
	return m->type == MSG_FS_FAILED || m->type == answer_of(call->op) ||
	       (m->type == MSG_FS_STREAMED && call->op == MSG_FS_READ_FILE);
}

enum fs_progress
fs_call_answer(struct fs_call *call, struct fs_worker *w, struct msg *m)
{
	if (!is_for(call, m))
		return FS_BROKEN;
	fs_audit(call, w, m);
	switch ((int)m->type) {
	case MSG_FS_FAILED:
		return on_failed(call, &m->u.fs_failed);
	case MSG_FS_FILE:
		return on_file(call, w, m);
	case MSG_FS_STREAMED:
		return on_streamed(call, &m->u.fs_streamed);
	case MSG_FS_METADATA:
		return on_metadata(call, &m->u.fs_metadata);
	case MSG_FS_PATH:
		return on_path(call, &m->u.fs_path);
	case MSG_FS_LISTING:
		return on_listing(call, &m->u.fs_listing);
	case MSG_FS_BLOCK:
		return on_block(call, &m->u.fs_block);
	case MSG_FS_WATCHING:
		return on_watching(call, w, &m->u.fs_watching);
	default:
		return on_done(call, w);
	}
}
