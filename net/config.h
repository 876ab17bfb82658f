/* What the supervisor told net at start. */
#ifndef NET_CONFIG_H
#define NET_CONFIG_H

#include "base/err.h"
#include "net/compat.h"
#include "privsep/msg.h"

struct config {
	const struct compat_row *compat;
	struct limits limits;
	bool atomic_writes; /* fs.atomic_writes */
	uid_t uid;	    /* to become; 0: stay, in a user namespace */
	gid_t gid;
	char *path; /* of the URL, "/..." */
	char *host; /* address and port we listen on */
	char *cwd, *home, *tmp;
	char *shell; /* absolute path */
	const char *shell_name;
	bool isolated;	/* no process has the host's network */
	bool http_env;	/* headers may name variables */
	uint32_t lacks; /* ROLE_NS_* that the host does not give */
	char provider_id[sizeof "sha256:" + 64];
};

/*
 * Take the configuration out of a NET_CONFIG message. Heap strings belong to
 * c; config_done frees them, also after a failure. Returns 0; -EPROTO if the
 * message is unusable; -ENOMEM.
 */
must_use int config_take(struct config *c, const struct msg_net_config *m,
    struct err *e);
void config_done(struct config *c);

#endif
