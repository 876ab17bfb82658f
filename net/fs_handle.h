/* What of a connection lives in a file worker: open files and watches. */
#ifndef NET_FS_HANDLE_H
#define NET_FS_HANDLE_H

#include "net/connection.h"
#include "net/rpc.h"

struct fs_worker;

struct fs_handle {
	TAILQ_ENTRY(fs_handle) link;
	struct connection *connection;
	struct bytes id;	  /* the client's key; heap, owned */
	uint32_t number;	  /* towards the worker */
	struct fs_worker *worker; /* NULL until it is open */
	bool replace;
	/* Of one that was opened for writing, for the audit log: */
	char *path;	  /* owned */
	uint64_t written; /* bytes of the blocks that were answered */
};

struct fs_watch {
	TAILQ_ENTRY(fs_watch) link;
	struct connection *connection;
	uint64_t id;	 /* the client's */
	uint32_t number; /* towards the worker */
	struct fs_worker *worker;
};

/* The open handle with that id, or NULL. */
struct fs_handle *fs_handle_find(struct connection *c, struct bytes id);
/* That with this number towards its worker, or NULL. */
struct fs_handle *fs_handle_by_number(struct connection *c, uint32_t number);

/*
 * Reserve id for a file that is being opened. Returns NULL with the error
 * already sent if it is taken, too long, or there are too many.
 */
struct fs_handle *fs_handle_reserve(struct connection *c,
    const struct rpc_id *id, struct bytes handle_id, bool replace);
/* It is open in w: the handle with that number, or NULL if its connection has
 * gone, in which case w is told to close the file. */
struct fs_handle *fs_handle_opened(struct connection *c, struct fs_worker *w,
    uint32_t number);
/* It could not be opened. */
void fs_handle_abandon(struct connection *c, uint32_t number);
/* Close it, in the worker as well. */
void fs_handle_close(struct fs_handle *h);

/* Remember a watch that w keeps for c. False when out of memory. */
bool fs_watch_add(struct connection *c, struct fs_worker *w, uint64_t id,
    uint32_t number);
/* w says that it has fired. */
void fs_handle_on_changed(struct fs_worker *w, uint32_t number);

/* The connection ends: close all of it. */
void fs_handle_connection_gone(struct connection *c);
/* The worker has ended: its handles are unknown from now on, its watches
 * fire, since what they watched may change unseen. */
void fs_handle_worker_gone(struct net *n, struct fs_worker *w);

#endif
