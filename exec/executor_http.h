/* sallyport-http, one a session: started from the executable that the
 * supervisor opened, watched until it ends. */
#ifndef EXEC_EXECUTOR_HTTP_H
#define EXEC_EXECUTOR_HTTP_H

#include <sys/queue.h>
#include <sys/types.h>

#include "base/ids.h"
#include "exec/source.h"
#include "privsep/channel.h"

/* One process. */
struct http {
	LIST_ENTRY(http) link;
	struct generation generation;
	struct session_id session;
	uint32_t number;	 /* of HTTP_OPEN; 0 once it was answered */
	struct source pidfd;	 /* owner is this */
	struct source ready;	 /* its channel, until it has reported */
	struct channel *channel; /* owned, until then */
	uid_t uid;		 /* as its session's policy has them */
	gid_t gid;
	int net_end; /* owned, until net gets it; the same socket */
};

LIST_HEAD(http_list, http);

/* Whether h, which says m of itself, has given up what it had: it is not root,
 * it is who its session's policy says, if root started it, and its filter
 * holds. Only then it is handed over. */
bool http_is_locked_down(const struct http *h, const struct msg_http_ready *m);

#endif
