#include "net/fs_call.h"
#include "net/session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

static struct fs_call *
call_new(struct net *n, enum msg_type op)
{
	struct fs_call *call = calloc(1, sizeof *call);

	if (call == NULL)
		return NULL;
	call->net = n;
	call->op = op;
	call->blob.fd = -1;
	buf_init(&call->path, CHANNEL_RECORD_MAX);
	buf_init(&call->path2, PATH_LEN_MAX - 1);
	return call;
}

struct fs_call *
fs_call_new(struct connection *c, const struct rpc_id *id, enum msg_type op)
{
	struct fs_call *call;

	if (c->session->policy->no_files) {
		rpc_error(c, id, RPC_INTERNAL,
		    "the files of this backend cannot be reached through the "
		    "server (backend.files)");
		return NULL;
	}
	call = call_new(c->net, op);
	if (call == NULL) {
		rpc_error(c, id, RPC_INTERNAL, "out of memory");
		return NULL;
	}
	if (rpc_later_init(&call->later, c, id) < 0) {
		free(call);
		return NULL;
	}
	return call;
}

struct fs_call *
fs_call_new_internal(struct net *n, enum msg_type op)
{
	return call_new(n, op);
}

void
fs_call_free(struct fs_call *call)
{
	union {
		const uint8_t *data;
		void *heap;
	} handle_id = {.data = call->handle_id.data};

	timer_clear(&call->deadline);
	fs_spool_free(call->spool);
	rpc_later_done(call->net, &call->later);
	buf_done(&call->path);
	buf_done(&call->path2);
	free(call->blob.data);
	fd_close(&call->blob.fd);
	net_release(call->net, call->charged);
	free(handle_id.heap);
	free(call);
}

void
fs_call_fail(struct fs_call *call, int code, const char *format, ...)
{
	struct connection *c = rpc_later_connection(call->net, &call->later);
	char message[768];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(message, sizeof message, format, ap);
	va_end(ap);
	if (c != NULL) {
		if (call->op == MSG_FS_OPEN)
			fs_handle_abandon(c, call->handle);
		rpc_error(c, &call->later.id, code, "%s", message);
	}
	fs_call_free(call);
}

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

static struct bytes
blob_view(const struct param_blob *b)
{
	return (struct bytes){.data = b->data, .len = (size_t)b->len};
}

/* fs/writeFile: what is too long for a record goes as a sealed memfd. */
static int
send_write_file(struct fs_call *call, struct channel *channel)
{
	struct msg_fs_write_file m = {.number = call->number,
	    .atomic = call->flags,
	    .path = view(&call->path)};
	int fd = fd_take(&call->blob.fd);

	if (fd >= 0)
		return channel_send_fs_write_file(channel, &m, &fd, 1);
	m.data = blob_view(&call->blob);
	if (m.data.len <= CHANNEL_INLINE_MAX)
		return channel_send_fs_write_file(channel, &m, NULL, 0);
	fd = msg_sealed_memfd(m.data);
	if (fd < 0)
		return fd;
	m.data = (struct bytes){0};
	return channel_send_fs_write_file(channel, &m, &fd, 1);
}

#define SEND(name, ...)                                                        \
	channel_send_##name(channel,                                           \
	    &(struct msg_##name){.number = call->number, __VA_ARGS__}, NULL,   \
	    0)

int
fs_call_send(struct fs_call *call, struct channel *channel)
{
	struct bytes path = view(&call->path);

	switch ((int)call->op) {
	case MSG_FS_READ_FILE:
		return SEND(fs_read_file, .path = path);
	case MSG_FS_WRITE_FILE:
		return send_write_file(call, channel);
	case MSG_FS_CREATE_DIRECTORY:
		return SEND(fs_create_directory, .recursive = call->flags,
		    .path = path);
	case MSG_FS_GET_METADATA:
		return SEND(fs_get_metadata, .follow = call->flags,
		    .path = path);
	case MSG_FS_CANONICALIZE:
		return SEND(fs_canonicalize, .path = path);
	case MSG_FS_READ_DIRECTORY:
		return SEND(fs_read_directory, .path = path);
	case MSG_FS_WALK:
		return SEND(fs_walk, .flags = call->flags,
		    .max_depth = call->walk[0],
		    .max_directories = call->walk[1],
		    .max_entries = call->walk[2], .path = path);
	case MSG_FS_REMOVE:
		return SEND(fs_remove, .flags = call->flags, .path = path);
	case MSG_FS_COPY:
		return SEND(fs_copy, .recursive = call->flags, .source = path,
		    .destination = view(&call->path2));
	case MSG_FS_OPEN:
		return SEND(fs_open, .handle = call->handle,
		    .replace = call->flags, .path = path);
	case MSG_FS_READ_BLOCK:
		return SEND(fs_read_block, .handle = call->handle,
		    .offset = call->offset, .len = call->len);
	case MSG_FS_WRITE_BLOCK:
		return SEND(fs_write_block, .handle = call->handle,
		    .offset = call->offset, .data = blob_view(&call->blob));
	case MSG_FS_CLOSE:
		return SEND(fs_close, .handle = call->handle);
	case MSG_FS_WATCH:
		return SEND(fs_watch, .watch = call->handle, .missing = path,
		    .present = view(&call->path2));
	default:
		return -EINVAL;
	}
}
