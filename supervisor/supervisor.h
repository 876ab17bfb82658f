/*
 * The supervisor's life: start the roles, compare what they report, let net
 * accept, watch, start anew what has died, stop in order.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include <linux/filter.h>

#include "supervisor/audit.h"
#include "supervisor/binary.h"
#include "supervisor/config.h"
#include "supervisor/exit.h"
#include "supervisor/isolation.h"
#include "supervisor/options.h"
#include "supervisor/workspace.h"

/* All borrowed, all open. */
struct server {
	const struct options *options; /* what the configuration came from */
	const struct config *config;
	const struct workspaces *workspaces;
	const struct binary *net, *exec;
	const struct binary *http; /* its descriptor is -1: not enabled */
	struct audit *audit;
	int worker_fd; /* what is sent where files are elsewhere; -1 */
	int listener_fd, null_fd;
	int url_fd;	  /* where the URL's line goes */
	const char *host; /* "127.0.0.1:4711" */
	const char *path; /* "/" and the secret */
	const char *shell;
	/* The profile of the configuration, NULL: the preset's; and a filter
	 * for programs, len 0: the built-in one. */
	const struct decide_ceiling *ceiling;
	struct sock_fprog child_filter;
	uint32_t umask;
	uint32_t landlock_abi;
	bool userns; /* the host has user namespaces */
	/* Namespaces (ROLE_NS_*) that the host does not give, if the policy
	 * does without them. */
	uint32_t lacks;
	enum isolation *isolation; /* of a backend; settled before a net is */
	const char *scratch;	   /* scratch.h; "" if there is none */
	bool probe;		   /* exec is to report and end: doctor */
};

/*
 * Serve until a signal asks to stop. The process is to be confined by now.
 * Signals are blocked here and stay so.
 */
enum exit_code supervisor_run(const struct server *server);

#endif
