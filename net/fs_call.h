/* One call to a file worker: what fs.c asks, what fs_answer.c answers. */
#ifndef NET_FS_CALL_H
#define NET_FS_CALL_H

#include "net/fs_handle.h"
#include "net/fs_spool.h"
#include "net/method.h"

struct fs_pool;
struct fs_worker;

struct fs_call {
	TAILQ_ENTRY(fs_call) link; /* while waiting */
	struct net *net;
	struct rpc_later later;	  /* to nobody for clean-up calls */
	struct fs_worker *target; /* the only one that can serve it, or NULL */
	uint32_t number;
	struct timer deadline;	/* once a worker has it */
	enum msg_type op;	/* the FS_* request it becomes */
	bool restricted;	/* its sandbox object restricts files */
	struct buf path, path2; /* or the packed list of a watch */
	struct param_blob blob;
	uint64_t charged; /* of it on the message budget */
	uint32_t flags, handle, len;
	uint64_t offset;
	uint32_t walk[3]; /* depth, directories, entries */
	uint64_t watch_id;
	struct bytes handle_id; /* heap, owned */
	struct fs_spool *spool; /* a file that comes through a pipe */
};

/*
 * A call that will answer request id of c. Returns NULL with the error already
 * sent if files are out of reach, c has too many pending, or memory is short.
 */
struct fs_call *fs_call_new(struct connection *c, const struct rpc_id *id,
    enum msg_type op);
/* A call that answers nobody; NULL when out of memory. */
struct fs_call *fs_call_new_internal(struct net *n, enum msg_type op);
void fs_call_free(struct fs_call *call);

/* Send it to a worker. Returns what channel_send does. */
must_use int fs_call_send(struct fs_call *call, struct channel *channel);

/* Answer with an error and free it. */
void fs_call_fail(struct fs_call *call, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a worker's message was to the call that it works on. */
enum fs_progress {
	FS_ANSWERED,  /* the call was answered and freed */
	FS_CONTINUES, /* more will come */
	FS_BROKEN,    /* no answer to this call: the contract is broken */
};

/* fs_answer.c: take a message of w, which works on call. */
enum fs_progress fs_call_answer(struct fs_call *call, struct fs_worker *w,
    struct msg *m);
/* The spool of call is complete, or failed with a negative errno. */
void fs_call_spooled(struct fs_call *call, int result);

#endif
