/*
 * The processes that exchange messages, the descriptors that a role is born
 * with, and the words of their configuration messages.
 */
#ifndef PRIVSEP_ROLE_H
#define PRIVSEP_ROLE_H

enum role {
	ROLE_SUPERVISOR,
	ROLE_NET,
	ROLE_EXEC,
	ROLE_WORKER,
	ROLE_HTTP,
	ROLE_ANY, /* in a message's row only */
};

/* "supervisor", "net", ...; never NULL. */
const char *role_name(enum role role);

/*
 * Descriptors after execveat. Filters name them by these numbers, so they
 * are fixed. 0 and 1 are /dev/null, 2 is the log pipe.
 */
enum role_fd {
	ROLE_FD_LOG = 2,
	ROLE_FD_SUPERVISOR = 3, /* channel to the supervisor */
	ROLE_FD_EXEC = 4,	/* net: channel to exec */
	ROLE_FD_LISTENER = 5,	/* net: the listening socket */
	ROLE_FD_FIRST_FREE = 6,
};

/* Which reference the wire follows; protocol differences are net's alone. */
enum compat { COMPAT_CODEX, COMPAT_OPENCLAW };

/* NET_CONFIG.features */
enum net_feature {
	NET_FEATURE_SHELL_BASH = 1 << 0,    /* shell is bash, else sh */
	NET_FEATURE_ATOMIC_WRITES = 1 << 2, /* fs.atomic_writes */
	NET_FEATURE_ISOLATED = 1 << 1, /* no process has the host's network */
	NET_FEATURE_HTTP_ENV = 1 << 3, /* http.env names variables */
	NET_FEATURE_BACKEND = 1 << 6,  /* programs run elsewhere */
	NET_FEATURE_NO_FILES = 1 << 7, /* and their files are there too */
	NET_FEATURE_NO_HTTP = 1 << 8,  /* and requests would go out from here */
	NET_FEATURE_FAR_FILES = 1 << 9, /* fs methods reach them */
	NET_FEATURE_NO_JAIL = 1 << 4,	/* the host gives no namespaces */
	NET_FEATURE_NO_NETNS = 1
			       << 5, /* the host gives no network of its own */
};

/* The shipped sets of rights; EXEC_CONFIG.preset. */
enum preset { PRESET_WORKSPACE, PRESET_OPEN, PRESET_STRICT };

/* EXEC_CONFIG.network: the ceiling for children. */
enum network { NETWORK_RESTRICTED, NETWORK_ENABLED };

/* EXEC_CONFIG.flags */
enum exec_flag {
	EXEC_FLAG_ALLOW_ROOT = 1 << 0, /* sandbox.allow_root, open only */
	EXEC_FLAG_DEGRADED = 1 << 1,   /* sandbox.degraded = allow */
	EXEC_FLAG_OPENCLAW = 1 << 2,   /* adds CODEX_SANDBOX_EXEC_ID */
	EXEC_FLAG_POLICY = 1 << 4,     /* EXEC_POLICY follows EXEC_CONFIG */
	EXEC_FLAG_BACKEND = 1 << 7,    /* EXEC_BACKEND follows those */
	EXEC_FLAG_PROBE = 1 << 3, /* report what the host gives, then end */
	EXEC_FLAG_AUDIT_ARGV = 1 << 5, /* audit.argv = full */
	EXEC_FLAG_AUDIT_HASH = 1 << 6, /* audit.argv = hash */
};

/* ROLE_READY.namespaces: those that are not the supervisor's. */
enum role_ns {
	ROLE_NS_USER = 1 << 0,
	ROLE_NS_MNT = 1 << 1,
	ROLE_NS_NET = 1 << 2,
	ROLE_NS_PID = 1 << 3,
	ROLE_NS_IPC = 1 << 4,
	ROLE_NS_UTS = 1 << 5,
};

/* EXEC_BACKEND.files: who serves fs methods. */
enum backend_files {
	BACKEND_FILES_REFUSE, /* nobody */
	BACKEND_FILES_BIND,   /* workers on this host, of a directory that has
				 another name there */
	BACKEND_FILES_LOCAL,  /* workers on this host */
	BACKEND_FILES_WORKER, /* a program that is there */
	BACKEND_FILES_SEND,   /* a program of ours that is sent there */
	BACKEND_FILES_MAX = BACKEND_FILES_SEND,
};

/* PROCESS_REFUSED.reason */
enum refuse_reason {
	REFUSE_INVALID,	      /* the request cannot be carried out: -32600 */
	REFUSE_BUSY,	      /* a limit is reached; try again later */
	REFUSE_POLICY,	      /* the policy forbids it */
	REFUSE_UNENFORCEABLE, /* asked for what this host cannot enforce */
	REFUSE_SESSION,	      /* the session has no usable sandbox */
	REFUSE_BACKEND,	      /* what comes before a backend's start failed */
	REFUSE_MAX = REFUSE_BACKEND,
};

/* PROCESS_EXITED.reason: who ended a program that was killed. */
enum end_reason {
	END_ITSELF,    /* or a person, or another program */
	END_MEMORY,    /* the kernel, for want of memory */
	END_CPU_TIME,  /* limits.child_cpu_time is used up */
	END_CPU_TOTAL, /* limits.child_cpu_time_total is used up */
	END_WALL_TIME, /* limits.child_wall_time is over */
	END_PROCESSES, /* itself, after a total of processes kept it from one */
	END_BACKEND,   /* the backend's command has not come to it */
	END_REASONS,
};

/* "out of memory", ...; NULL for END_ITSELF and what is no reason. */
const char *end_reason_words(unsigned int reason);

/* FS_WALK.flags */
enum fs_walk_flag {
	FS_WALK_FOLLOW = 1 << 0, /* followDirectorySymlinks */
	FS_WALK_PRUNE_HIDDEN = 1 << 1,
};

/* FS_REMOVE.flags */
enum fs_remove_flag {
	FS_REMOVE_RECURSIVE = 1 << 0,
	FS_REMOVE_FORCE = 1 << 1, /* a missing path is success */
};

/* FS_METADATA.flags: the kind is the target's, SYMLINK the path's own. */
enum fs_metadata_flag {
	FS_IS_DIRECTORY = 1 << 0,
	FS_IS_FILE = 1 << 1,
	FS_IS_SYMLINK = 1 << 2,
};

/* The first byte of an entry of FS_LISTING.entries. */
enum fs_entry_kind {
	FS_ENTRY_OTHER,
	FS_ENTRY_FILE,
	FS_ENTRY_DIRECTORY,
	FS_ENTRY_ERROR,
};

/* FS_FAILED.failure */
enum fs_failure {
	FS_FAILURE_ERRNO,	    /* just errnum */
	FS_FAILURE_NOT_A_FILE,	    /* no regular file */
	FS_FAILURE_TOO_LARGE,	    /* past FS_READ_MAX */
	FS_FAILURE_HAS_SYMLINK,	    /* followSymlinks false, and one is there */
	FS_FAILURE_NEEDS_RECURSIVE, /* copy of a directory */
	FS_FAILURE_INTO_ITSELF,	    /* copy of a directory into itself */
	FS_FAILURE_SPECIAL_SOURCE,  /* copy of a device, pipe or socket */
	FS_FAILURE_UNKNOWN_HANDLE,
	FS_FAILURE_LISTING_TOO_LARGE, /* past FS_LISTING_MAX */
	FS_FAILURE_OLD_KEPT, /* an atomic write failed, the file is as before */
	FS_FAILURE_MAX = FS_FAILURE_OLD_KEPT,
};

/* FS_LOST.reason */
enum fs_lost_reason {
	FS_LOST_NO_START,    /* the command ended before it was a worker */
	FS_LOST_NO_WORKER,   /* it started something else */
	FS_LOST_OTHER_BUILD, /* a worker with another table of messages */
	FS_LOST_ENDED,	     /* the worker, or the way to it */
	FS_LOST_BROKEN,	     /* it broke the contract */
	FS_LOST_MAX = FS_LOST_BROKEN,
};

/* HTTP_REQUEST.flags */
enum http_flag {
	HTTP_FLAG_FOLLOW = 1 << 0, /* redirects */
	HTTP_FLAG_STREAM = 1 << 1,
};

/* HTTP_FAILED.failure: who erred. */
enum http_failure {
	HTTP_FAILURE_INVALID, /* the request: -32602 */
	HTTP_FAILURE_BUSY,    /* a limit is reached; try again later */
	HTTP_FAILURE_BLOCKED, /* the policy forbids it */
	HTTP_FAILURE_SEND,    /* before the response */
	HTTP_FAILURE_BODY,    /* in the middle of it */
	HTTP_FAILURE_MAX = HTTP_FAILURE_BODY,
};

/*
 * Numbered steps of setting up a child, in the order in which they happen;
 * PROCESS_FAILED.stage and the status pipe carry them. STAGE(NAME, "words").
 */
#define STAGES(STAGE)                                                          \
	STAGE(CLONE, "clone")                                                  \
	STAGE(CGROUP, "control group")                                         \
	STAGE(JOIN, "join namespaces")                                         \
	STAGE(SOCKETS, "cover sockets of the host")                            \
	STAGE(MOUNT, "mount")                                                  \
	STAGE(MOUNT_PROC, "mount proc")                                        \
	STAGE(MOUNT_DEV, "mount dev")                                          \
	STAGE(VIEW, "restrict files")                                          \
	STAGE(GLOBS, "look for denied patterns")                               \
	STAGE(PTY, "pty")                                                      \
	STAGE(FORK, "fork")                                                    \
	STAGE(ID_MAP, "id map")                                                \
	STAGE(INIT_LOCKDOWN, "init lock-down")                                 \
	STAGE(USER_NAMESPACE, "user namespace")                                \
	STAGE(SETSID, "setsid")                                                \
	STAGE(TTY, "tty")                                                      \
	STAGE(STDIO, "stdio")                                                  \
	STAGE(RLIMITS, "rlimits")                                              \
	STAGE(IDS, "ids")                                                      \
	STAGE(CAPABILITIES, "capabilities")                                    \
	STAGE(NO_NEW_PRIVS, "no_new_privs")                                    \
	STAGE(LANDLOCK, "landlock")                                            \
	STAGE(SECCOMP, "seccomp")                                              \
	STAGE(CWD, "cwd")                                                      \
	STAGE(EXEC, "execve")

enum stage {
#define STAGE(name, words) STAGE_##name,
	STAGES(STAGE)
#undef STAGE
	    STAGE_COUNT
};

/* The words of a stage; "?" for a number that is none. */
const char *stage_words(unsigned int stage);

#define STAGE_HINT_MAX 160 /* bytes, the final NUL included */

/* The bound that a stage refused to pass, or what else helps, as "; ..."; "" if
 * there is nothing to add to the errno. */
void stage_hint(unsigned int stage, unsigned int errnum,
    char out[STAGE_HINT_MAX]);

#endif
