/*
 * A start, fully resolved: what init and the program carry out after clone,
 * where nothing may be allocated. Everything is borrowed from exec's memory,
 * of which they have a copy.
 */
#ifndef EXEC_ORDER_H
#define EXEC_ORDER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/limits.h"
#include "exec/cgroup_place.h"
#include "exec/config.h"
#include "exec/nsmake.h"
#include "exec/template.h"
#include "policy/plan.h"

struct order_rlimit {
	int resource;
	rlim_t value;
};

#define ORDER_RLIMITS 6
#define ORDER_FILTERS 5

struct order {
	/* The program */
	char *const *argv; /* NULL-terminated; argv[0] as it is shown */
	char *const *envp; /* NULL-terminated */
	const char *file;  /* what is executed: a path, or looked up */
	const char *path;  /* the directories to look it up in */
	const char *cwd;
	bool tty;
	bool pipe_stdin; /* not with tty */
	bool quiet;	 /* all its streams are /dev/null */
	/* A file worker instead: serves this channel and executes nothing; the
	 * members above do not count then. -1 for a program. */
	int worker_fd;
	/* Or what stands in for one at this channel: the program above is
	 * started beside it, with its streams, and leads to the worker. */
	bool bridge;
	/* What is sent to that program first; -1: nothing. */
	int program_fd;
	uint64_t program_len;
	mode_t umask;

	/* Its confinement */
	int ns[TEMPLATE_NS]; /* borrowed descriptors, -1 where absent */
	struct identity id;
	uint64_t bounding; /* exec's bounding set */
	bool bounds;	   /* the bounding set can be emptied */
	bool become;	   /* exec is root: turn to id.uid and id.gid */
	/* No namespaces at all: the tree is a Landlock domain, and init ends
	 * it when exec closes control_fd. */
	bool bare;
	bool userns;	      /* an own user namespace, with the maps below */
	bool dumpable;	      /* needed to write those maps as a plain user */
	bool raise_oom_score; /* exec's oom_score_adj is negative */
	bool own_proc;	      /* else /proc is empty: the host gives no other */
	const char *uid_map, *gid_map;
	const char *devpts; /* mount options; NULL: the host's is used */
	/* Control groups to enter, borrowed descriptors, -1 where none. */
	int cgroups[CGROUP_HIERARCHIES];
	struct order_rlimit rlimits[ORDER_RLIMITS];
	size_t rlimit_count;
	unsigned int landlock_abi; /* 0: no Landlock */
	bool scope_abstract;	   /* it is in the host's network */
	const struct plan *plan;
	const struct exec_config *config;
	/* Names of sockets of the host that are to be covered first, until
	 * NULL; NULL: none. */
	const char *const *sockets;
	const struct workspace *workspaces;
	size_t workspace_count;
	const char *scratch; /* NULL: none */
	/* The program's, in the order in which they are loaded. */
	const struct sock_fprog *filters[ORDER_FILTERS];
	size_t filter_count;

	/* Its ties to exec */
	int status_fd;	/* pipe: struct status_record */
	int control_fd; /* socket: control.h */
};

#endif
