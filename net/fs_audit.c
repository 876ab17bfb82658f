#include "net/fs_audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/helper.h"
#include "net/session.h"

/* The word for what call changes; NULL: nothing. */
static const char *
operation(const struct fs_call *call)
{
	switch ((int)call->op) {
	case MSG_FS_WRITE_FILE:
		return "write";
	case MSG_FS_CREATE_DIRECTORY:
		return "create_directory";
	case MSG_FS_REMOVE:
		return "remove";
	case MSG_FS_COPY:
		return "copy";
	case MSG_FS_OPEN:
		return call->flags != 0 ? "open_for_writing" : NULL;
	default:
		return NULL;
	}
}

/* A path of a call has no NUL in it and none behind it. */
static char *
path_of(const struct buf *b)
{
	return bytes_dup((struct bytes){.data = b->data, .len = b->len});
}

static const char *
outcome(const struct msg *m)
{
	const char *name;

	if (m->type != MSG_FS_FAILED)
		return "done";
	name = strerrorname_np((int)m->u.fs_failed.errnum);
	return name != NULL ? name : "failed";
}

/* What an open file was told is summed up, and told when it is closed. */
static void
note_handle(struct fs_call *call, const struct msg *m)
{
	struct connection *c = rpc_later_connection(call->net, &call->later);
	struct fs_handle *h =
	    c != NULL ? fs_handle_by_number(c, call->handle) : NULL;

	if (h == NULL || m->type == MSG_FS_FAILED)
		return;
	if (call->op == MSG_FS_OPEN && call->flags != 0)
		h->path = path_of(&call->path);
	else if (call->op == MSG_FS_WRITE_BLOCK)
		h->written += call->blob.len;
}

void
fs_audit_close(const struct fs_handle *h, const char *how)
{
	char session[16], bytes[24], lease[16];

	if (h->worker == NULL || h->path == NULL)
		return;
	(void)snprintf(session, sizeof session, "%u",
	    h->worker->pool->session->id.v);
	(void)snprintf(lease, sizeof lease, "%u", h->worker->lease.v);
	(void)snprintf(bytes, sizeof bytes, "%" PRIu64, h->written);
	net_audit(h->connection->net, "file_change",
	    (const char *[]){"session", session, "lease", lease, "operation",
		"close_after_writing", "path", h->path, "outcome", how, "bytes",
		bytes, NULL});
}

void
fs_audit(struct fs_call *call, const struct fs_worker *w, const struct msg *m)
{
	const char *word = operation(call);
	char session[16], bytes[24], lease[16];
	scoped_free char *path = NULL, *to = NULL;
	const char *more[3] = {NULL};

	note_handle(call, m);
	if (word == NULL)
		return;
	path = path_of(&call->path);
	to = path_of(&call->path2);
	(void)snprintf(session, sizeof session, "%u", w->pool->session->id.v);
	(void)snprintf(lease, sizeof lease, "%u", w->lease.v);
	(void)snprintf(bytes, sizeof bytes, "%" PRIu64, call->blob.len);
	if (call->op == MSG_FS_WRITE_FILE) {
		more[0] = "bytes";
		more[1] = bytes;
	} else if (call->op == MSG_FS_COPY) {
		more[0] = "to";
		more[1] = to != NULL ? to : "";
	}
	net_audit(call->net, "file_change",
	    (const char *[]){"session", session, "lease", lease, "operation",
		word, "path", path != NULL ? path : "", "outcome", outcome(m),
		more[0], more[1], NULL});
}
