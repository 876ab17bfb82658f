/* What the supervisor's EXEC_CONFIG says, checked and kept. */
#ifndef EXEC_CONFIG_H
#define EXEC_CONFIG_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "policy/decide.h"
#include "policy/env.h"
#include "privsep/msg.h"

struct workspace {
	char *path; /* absolute and canonical, owned */
	int fd;	    /* O_PATH directory, owned */
	uid_t uid;  /* its owner */
	gid_t gid;
};

/* Programs are started by a command of the administrator's, for example in a
 * container. The texts are templates, policy/argv_template.h, owned; empty
 * where there is no such command. */
struct backend_config {
	bool on;
	bool isolated; /* programs have no network there */
	uid_t uid;     /* 0: the session's */
	gid_t gid;
	/* A start that ends so has not come to the program; 256: none. */
	unsigned int lost_status;
	char *target, *start, *signal, *terminate, *finalize, *prepare;
	char *inspect; /* asked once, before the first net */
	enum backend_files files;
	char *worker;	/* with BACKEND_FILES_WORKER: its path there, owned */
	char *bind;	/* with BACKEND_FILES_BIND: a directory of this host, */
	char *bind_as;	/* and its path there; owned */
	int program_fd; /* with BACKEND_FILES_SEND, owned; else -1 */
	uint64_t program_len;
	/* Unix sockets of the host that the commands may use, owned. */
	char *sockets[BACKEND_SOCKETS_MAX];
	size_t socket_count;
};

/* What EXEC_HTTP said. */
struct http_plan {
	int binary_fd; /* owned; -1: the policy has no http */
	uid_t uid;     /* 0: not started as root */
	gid_t gid;
	uint8_t *policy; /* owned; packed */
	size_t policy_len;
};

/* Whether file workers are where a backend's programs are. */
static inline bool
backend_has_files(const struct backend_config *b)
{
	return b->on && b->files >= BACKEND_FILES_WORKER;
}

/* Sessions keep the one that they began with. */
struct exec_config {
	unsigned int users; /* config_drop frees it at 0 */
	bool root;	    /* exec was started as uid 0 */
	enum preset preset;
	enum network network; /* open: always enabled */
	uint32_t flags;	      /* EXEC_FLAG_* */
	/* Found out by probing: there are no namespaces, or sessions have no
	 * network of their own. */
	bool bare, no_netns;
	uint32_t log_level;
	uid_t uid_base;
	mode_t umask;
	struct limits limits;
	struct workspace workspaces[WORKSPACES_MAX];
	size_t workspace_count;
	char *protected_paths[PROTECTED_MAX]; /* owned */
	size_t protected_count;
	char *scratch;	     /* stands in for /tmp, owned; NULL: nothing does */
	uint8_t *env_packed; /* owned; env borrows from it */
	struct env_config env;
	char *home; /* HOME of env's base, or where sessions have theirs */
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling ceiling; /* custom: its paths are owned */
	/* In the place of the programs' built-in filter; len 0: none. */
	struct sock_fprog child_filter; /* owned */
	struct http_plan http;
	struct backend_config backend;
};

/* How many host ids from uid_base on are used for sessions: see executor.h. */
#define EXECUTOR_SLOTS(sessions_max) (2 * (unsigned int)(sessions_max))

/* Where a session's home directory is. */
#define SESSION_HOME "/tmp/home"

/* An empty one with one user; NULL when out of memory. */
struct exec_config *config_new(void);
struct exec_config *config_hold(struct exec_config *c);
/* One user less; NULL is fine. */
void config_drop(struct exec_config *c);

/*
 * Decode m into *c, which takes its descriptors, and check it. Returns 0, or
 * -EPROTO, -EINVAL or -ENOMEM with e. */
must_use int config_take(struct exec_config *c, struct msg *m, struct err *e);

/* The same for EXEC_POLICY, which takes the place of a part of *c, and for
 * EXEC_BACKEND, whose descriptor *c takes. */
must_use int config_take_policy(struct exec_config *c,
    const struct msg_exec_policy *m, struct err *e);
/* For a host where no session can have directories of its own: the ceiling
 * gives no more to /tmp and /dev/shm, which are the host's then, than to what
 * is around them; what it gave to /tmp it gives to scratch. 0 or -ENOMEM. */
must_use int config_share_nothing(struct exec_config *c, struct err *e);
/* EXEC_HTTP, whose descriptor *c takes. The same errors. */
must_use int config_take_http(struct exec_config *c, struct msg *m,
    struct err *e);
must_use int config_take_backend(struct exec_config *c, struct msg *m,
    struct err *e);
/*
 * Let c, for the sessions to come, have the workspaces of now as exec has
 * opened them. Returns 0; -EINVAL with e if c has others, or another number of
 * ids; or a negative errno with e.
 */
must_use int config_follow(struct exec_config *c, const struct exec_config *now,
    struct err *e);

#endif
