/* The fs methods: from parameters to a call of a file worker. */
#include <errno.h>
#include <string.h>

#include "net/fs_call.h"
#include "net/helper.h"
#include "net/method.h"
#include "net/sandbox.h"
#include "net/uri.h"
#include "privsep/pack.h"

/* Decode a path parameter, or send the error. */
static bool
take_path(struct connection *c, const struct rpc_id *id, struct bytes uri,
    struct buf *path)
{
	struct err e = {0};
	int r = uri_to_path(uri, path, &e);

	if (r == 0)
		return true;
	rpc_error(c, id,
	    r == -EADDRNOTAVAIL ? RPC_INVALID_REQUEST : RPC_INVALID_PARAMS,
	    "%s", e.text);
	return false;
}

/* A new call with its path, or NULL with the error sent. */
static struct fs_call *
call_on(struct connection *c, const struct rpc_id *id, enum msg_type op,
    struct bytes uri)
{
	struct fs_call *call = fs_call_new(c, id, op);

	if (call != NULL && !take_path(c, id, uri, &call->path)) {
		fs_call_free(call);
		return NULL;
	}
	return call;
}

/* Hand a call (NULL: there is none) to the pool of its sandbox. */
static void
submit(struct connection *c, struct fs_call *call, json_t *sandbox)
{
	bool strict = c->net->config.compat->strict_params;
	const struct policy *policy = c->session->policy;
	struct sandbox s = {0};
	struct err e = {0};
	const char *why;

	if (call == NULL)
		return;
	if (sandbox_decode(sandbox, strict, &s, &e) < 0)
		fs_call_fail(call, RPC_INVALID_PARAMS, "%s", e.text);
	else if (policy->far_files &&
		 (why = sandbox_unenforceable(&s, policy->isolated)) != NULL)
		fs_call_fail(call, RPC_INTERNAL, "%s", why);
	else {
		call->restricted = s.kind == SANDBOX_RESTRICTED;
		helper_submit(c->session,
		    (struct bytes){s.packed.data, s.packed.len}, call);
	}
	sandbox_done(&s);
}

void
on_fs_read_file(struct connection *c, const struct rpc_id *id,
    struct params_fs_read_file *p)
{
	submit(c, call_on(c, id, MSG_FS_READ_FILE, p->path), p->sandbox);
}

/* Move a decoded blob into a call, with what it counts for on the message
 * budget: it outlives the message. */
static void
take_blob(struct connection *c, struct fs_call *call, struct param_blob *blob)
{
	call->charged = blob->len < c->in_charged ? blob->len : c->in_charged;
	c->in_charged -= (size_t)call->charged;
	call->blob = *blob;
	*blob = (struct param_blob){.fd = -1};
}

void
on_fs_write_file(struct connection *c, const struct rpc_id *id,
    struct params_fs_write_file *p)
{
	struct fs_call *call = call_on(c, id, MSG_FS_WRITE_FILE, p->path);

	if (call == NULL)
		return;
	if (p->data.bad) {
		fs_call_fail(call, RPC_INVALID_REQUEST,
		    "fs/writeFile requires valid base64 dataBase64: %s",
		    p->data.why);
		return;
	}
	take_blob(c, call, &p->data);
	call->flags = c->session->policy->atomic_writes;
	submit(c, call, p->sandbox);
}

void
on_fs_create_directory(struct connection *c, const struct rpc_id *id,
    struct params_fs_create_directory *p)
{
	struct fs_call *call = call_on(c, id, MSG_FS_CREATE_DIRECTORY, p->path);

	if (call != NULL)
		call->flags = p->recursive;
	submit(c, call, p->sandbox);
}

void
on_fs_get_metadata(struct connection *c, const struct rpc_id *id,
    struct params_fs_get_metadata *p)
{
	struct fs_call *call = call_on(c, id, MSG_FS_GET_METADATA, p->path);

	if (call != NULL)
		call->flags = p->follow;
	submit(c, call, p->sandbox);
}

void
on_fs_canonicalize(struct connection *c, const struct rpc_id *id,
    struct params_fs_canonicalize *p)
{
	submit(c, call_on(c, id, MSG_FS_CANONICALIZE, p->path), p->sandbox);
}

void
on_fs_read_directory(struct connection *c, const struct rpc_id *id,
    struct params_fs_read_directory *p)
{
	submit(c, call_on(c, id, MSG_FS_READ_DIRECTORY, p->path), p->sandbox);
}

/* Read walk options into call, or send the error. */
static bool
take_walk(struct connection *c, const struct rpc_id *id, json_t *options,
    struct fs_call *call)
{
	const struct decoding d = {
	    .strict = c->net->config.compat->strict_params};
	struct params_walk_options o;
	struct err e = {0};
	int r = params_walk_options_decode(options, &d, &o, &e);

	params_walk_options_done(&o);
	if (r < 0) {
		rpc_error(c, id, RPC_INVALID_PARAMS, "%s", e.text);
		return false;
	}
	if (o.max_directories.v == 0 || o.max_entries.v == 0) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "filesystem walk limits must be greater than zero");
		return false;
	}
	if (o.max_depth.v > FS_WALK_DEPTH_MAX ||
	    o.max_directories.v > FS_WALK_DIRECTORIES_MAX ||
	    o.max_entries.v > FS_WALK_ENTRIES_MAX) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "filesystem walk limits exceed maximums: depth=%d, "
		    "directories=%d, entries=%d",
		    FS_WALK_DEPTH_MAX, FS_WALK_DIRECTORIES_MAX,
		    FS_WALK_ENTRIES_MAX);
		return false;
	}
	call->walk[0] = (uint32_t)o.max_depth.v;
	call->walk[1] = (uint32_t)o.max_directories.v;
	call->walk[2] = (uint32_t)o.max_entries.v;
	call->flags = (o.follow ? FS_WALK_FOLLOW : 0u) |
		      (o.prune_hidden ? FS_WALK_PRUNE_HIDDEN : 0u);
	return true;
}

void
on_fs_walk(struct connection *c, const struct rpc_id *id,
    struct params_fs_walk *p)
{
	struct fs_call *call = call_on(c, id, MSG_FS_WALK, p->path);

	if (call == NULL)
		return;
	if (!take_walk(c, id, p->options, call)) {
		fs_call_free(call);
		return;
	}
	submit(c, call, p->sandbox);
}

void
on_fs_remove(struct connection *c, const struct rpc_id *id,
    struct params_fs_remove *p)
{
	struct fs_call *call = call_on(c, id, MSG_FS_REMOVE, p->path);

	if (call != NULL)
		call->flags = (p->recursive ? FS_REMOVE_RECURSIVE : 0u) |
			      (p->force ? FS_REMOVE_FORCE : 0u);
	submit(c, call, p->sandbox);
}

void
on_fs_copy(struct connection *c, const struct rpc_id *id,
    struct params_fs_copy *p)
{
	struct fs_call *call = call_on(c, id, MSG_FS_COPY, p->source);

	if (call == NULL)
		return;
	if (!take_path(c, id, p->destination, &call->path2)) {
		fs_call_free(call);
		return;
	}
	call->flags = p->recursive;
	submit(c, call, p->sandbox);
}

/* Bytes of a handle's id. */
#define HANDLE_ID_MAX 32

/* Whether it may be one, else the error is sent. */
static bool
check_handle_id(struct connection *c, const struct rpc_id *id,
    struct bytes handle_id)
{
	if (handle_id.len <= HANDLE_ID_MAX)
		return true;
	rpc_error(c, id, RPC_INVALID_REQUEST, "%s ID must not exceed %d bytes",
	    c->net->config.compat->handle_noun, HANDLE_ID_MAX);
	return false;
}

void
on_fs_open(struct connection *c, const struct rpc_id *id,
    struct params_fs_open *p)
{
	bool replace = bytes_is(p->mode, "replace");
	struct fs_handle *h;
	struct fs_call *call;
	char *key;

	if (p->mode.data != NULL && !replace && !bytes_is(p->mode, "read")) {
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "unknown variant for `mode`, expected `read` or "
		    "`replace`");
		return;
	}
	call = call_on(c, id, MSG_FS_OPEN, p->path);
	if (call == NULL)
		return;
	if (!check_handle_id(c, id, p->handle_id)) {
		fs_call_free(call);
		return;
	}
	key = bytes_dup(p->handle_id);
	h = key != NULL ? fs_handle_reserve(c, id, p->handle_id, replace)
			: NULL;
	if (h == NULL) {
		free(key);
		fs_call_free(call);
		return;
	}
	call->handle_id =
	    (struct bytes){.data = (uint8_t *)key, .len = p->handle_id.len};
	call->handle = h->number;
	call->flags = replace;
	submit(c, call, p->sandbox);
}

/* The open handle, or NULL with the error sent. */
static struct fs_handle *
handle_of(struct connection *c, const struct rpc_id *id, struct bytes handle_id)
{
	struct fs_handle *h = fs_handle_find(c, handle_id);
	int cut = handle_id.len > 64 ? 64 : (int)handle_id.len;

	if (h == NULL)
		rpc_error(c, id, RPC_NOT_FOUND, "unknown %s `%.*s`",
		    c->net->config.compat->handle_noun, cut,
		    (const char *)handle_id.data);
	return h;
}

/* Blocks of a handle of the other mode, as the system would say it. */
static void
wrong_mode(struct connection *c, const struct rpc_id *id)
{
	rpc_error(c, id, RPC_INTERNAL, "Bad file descriptor (os error %d)",
	    EBADF);
}

void
on_fs_read_block(struct connection *c, const struct rpc_id *id,
    struct params_fs_read_block *p)
{
	struct fs_handle *h;
	struct fs_call *call;

	if (!check_handle_id(c, id, p->handle_id))
		return;
	if (p->len.v == 0 || p->len.v > FS_BLOCK_MAX) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "file read block length must be between 1 and %u",
		    FS_BLOCK_MAX);
		return;
	}
	h = handle_of(c, id, p->handle_id);
	if (h == NULL)
		return;
	if (h->replace) {
		wrong_mode(c, id);
		return;
	}
	call = fs_call_new(c, id, MSG_FS_READ_BLOCK);
	if (call == NULL)
		return;
	call->handle = h->number;
	call->offset = p->offset.v;
	call->len = (uint32_t)p->len.v;
	helper_submit_to(h->worker, call);
}

/* Bring a blob that was cut out of the message back to the heap. */
static bool
load_blob(struct param_blob *b)
{
	uint8_t *data;

	if (b->fd < 0)
		return true;
	data = malloc((size_t)b->len);
	if (data == NULL ||
	    pread(b->fd, data, (size_t)b->len, 0) != (ssize_t)b->len) {
		free(data);
		return false;
	}
	b->data = data;
	fd_close(&b->fd);
	return true;
}

void
on_fs_write_block(struct connection *c, const struct rpc_id *id,
    struct params_fs_write_block *p)
{
	struct fs_handle *h;
	struct fs_call *call;

	if (!check_handle_id(c, id, p->handle_id))
		return;
	if (p->chunk.bad) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "fs/writeBlock requires valid base64 chunk: %s",
		    p->chunk.why);
		return;
	}
	if (p->chunk.len == 0 || p->chunk.len > FS_BLOCK_MAX) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "file write block length must be between 1 and %u",
		    FS_BLOCK_MAX);
		return;
	}
	h = handle_of(c, id, p->handle_id);
	if (h == NULL)
		return;
	if (!h->replace) {
		wrong_mode(c, id);
		return;
	}
	call = fs_call_new(c, id, MSG_FS_WRITE_BLOCK);
	if (call == NULL)
		return;
	if (!load_blob(&p->chunk)) {
		fs_call_fail(call, RPC_INTERNAL, "out of memory");
		return;
	}
	take_blob(c, call, &p->chunk);
	call->handle = h->number;
	call->offset = p->offset.v;
	helper_submit_to(h->worker, call);
}

void
on_fs_close(struct connection *c, const struct rpc_id *id,
    struct params_fs_close *p)
{
	struct fs_handle *h = fs_handle_find(c, p->handle_id);

	if (!check_handle_id(c, id, p->handle_id))
		return;
	if (h != NULL)
		fs_handle_close(h);
	rpc_result_empty(c, id);
}

/* Pack the paths of a list of URIs, or send the error. */
static bool
take_paths(struct connection *c, const struct rpc_id *id,
    const struct param_list *uris, struct buf *out)
{
	struct reader r;
	struct bytes uri;
	scoped_buf path;

	buf_init(&path, PATH_LEN_MAX - 1);
	reader_init(&r, uris->packed.data, uris->packed.len);
	while (strings_next(&r, &uri)) {
		if (!take_path(c, id, uri, &path))
			return false;
		if (buf_put_string(out, path.data, path.len) < 0) {
			rpc_error(c, id, RPC_INVALID_REQUEST,
			    "`missing` is too long: at most %u bytes of "
			    "paths",
			    FS_WATCH_PATHS_MAX);
			return false;
		}
	}
	return true;
}

void
on_fs_watch_missing(struct connection *c, const struct rpc_id *id,
    struct params_fs_watch_missing *p)
{
	struct fs_call *call;

	if (c->watch_count >= FS_WATCHES_MAX) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "at most %d watches may be open per connection",
		    FS_WATCHES_MAX);
		return;
	}
	call = fs_call_new(c, id, MSG_FS_WATCH);
	if (call == NULL)
		return;
	call->path.max = FS_WATCH_PATHS_MAX;
	if (!take_paths(c, id, &p->missing, &call->path) ||
	    (p->present.data != NULL &&
		!take_path(c, id, p->present, &call->path2))) {
		fs_call_free(call);
		return;
	}
	call->watch_id = p->watch_id.v;
	call->handle = ++c->net->last_number;
	submit(c, call, NULL);
}
