/* What the supervisor told net at start. */
#ifndef NET_CONFIG_H
#define NET_CONFIG_H

#include "base/err.h"
#include "net/compat.h"
#include "privsep/msg.h"

/* What may change while net runs. Sessions keep the one that they began with.
 */
struct policy {
	unsigned int users;
	bool atomic_writes; /* fs.atomic_writes */
	bool isolated;	    /* no process has the host's network */
	bool backend;	    /* programs run elsewhere, not confined by us */
	bool no_files;	    /* and their files are there too */
	bool no_http;	    /* and requests would go out from here */
	bool far_files;	    /* where fs methods reach them */
	bool http_env;	    /* headers may name variables */
	char *home, *tmp;   /* owned */
	char provider_id[sizeof "sha256:" + 64];
};

struct config {
	const struct compat_row *compat;
	struct limits limits;
	struct policy *policy; /* of the sessions to come; held */
	uid_t uid;	       /* to become; 0: stay, in a user namespace */
	gid_t gid;
	char *path; /* of the URL, "/..." */
	char *host; /* address and port we listen on */
	char *cwd;
	char *shell; /* absolute path */
	const char *shell_name;
	uint32_t lacks; /* ROLE_NS_* that the host does not give */
};

/*
 * Take the configuration out of a NET_CONFIG message. Heap strings belong to
 * c; config_done frees them, also after a failure. Returns 0; -EPROTO if the
 * message is unusable; -ENOMEM.
 */
must_use int config_take(struct config *c, const struct msg_net_config *m,
    struct err *e);
void config_done(struct config *c);

/* Take NET_POLICY. The same errors; then c is as it was. */
must_use int config_take_policy(struct config *c,
    const struct msg_net_policy *m, struct err *e);

struct policy *policy_hold(struct policy *p);
/* One user less; NULL is fine. */
void policy_drop(struct policy *p);

#endif
