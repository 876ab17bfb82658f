/*
 * A test's stand-in for supervisor and net: starts the real sallyport-exec
 * (path in SALLYPORT_EXEC) on socketpairs and speaks both channels. Whatever
 * takes longer than DRIVER_DEADLINE_MS fails the test.
 */
#ifndef TESTS_SANDBOX_EXEC_DRIVER_H
#define TESTS_SANDBOX_EXEC_DRIVER_H

#include <stdbool.h>
#include <sys/types.h>

#include "privsep/channel.h"
#include "privsep/pack.h"
#include "privsep/sandbox_spec.h"
#include "tests/sandbox/exec_hang.h"

#define DRIVER_DEADLINE_MS 60000
#define DRIVER_USER	   1234 /* the plain user of tests */

struct driver_opts {
	uid_t uid; /* who exec runs as */
	enum preset preset;
	enum network network;
	uint32_t flags;
	bool no_landlock;	   /* exec's kernel shall know no Landlock */
	const struct hang *hang;   /* what hangs in exec and below; or NULL */
	volatile int *refuse;	   /* it does not, but: hang_answer; or NULL */
	const char *workspaces[4]; /* absolute, until NULL */
	const char *protected_paths[4]; /* until NULL */
	struct limits limits;		/* limits_init'ed by driver_opts_init */
};

struct driver {
	pid_t pid;
	struct channel *supervisor, *net;
	int hung; /* listener of what hangs: hang_wait; -1: nothing can */
	pid_t answering; /* 0: nobody */
	struct msg_role_ready ready;
	char probe[256];
	char audit[65536]; /* every audit line so far: "event a=b c=d\n" */
	uint32_t number;   /* the last request's */
};

/* What one process was and said. */
struct driver_process {
	uint32_t lease;
	int fds[3]; /* stdin, stdout, stderr; a pty: 0 and 1; else -1 */
	bool refused, failed, exited, gone;
	uint32_t reason, stage, errnum, status;
	char text[512];
	char out[4096], err[2048];
	size_t out_len, err_len;
};

/* An entry of a restricting sandbox object. */
struct driver_entry {
	enum sandbox_path path;
	enum sandbox_access access;
	const char *text; /* NULL: none */
	bool skip_missing;
};

struct driver_start {
	const char *argv[16];
	const char *env[16]; /* name, value, ... until NULL; PATH is added */
	const char *cwd;     /* default "/" */
	const char *arg0;
	bool tty, pipe_stdin, no_path;
	enum sandbox_kind sandbox;
	bool sandbox_network_enabled, managed_network, network_proxy;
	const struct driver_entry *entries;
	size_t entry_count;
};

void driver_opts_init(struct driver_opts *o, const char *workspace);
/* Start exec, wait for ROLE_READY and attach a net as generation 1. */
void driver_open(struct driver *d, const struct driver_opts *o);
/* Start exec, which is to end instead of serving: its wait status. */
int driver_refused(struct driver *d, const struct driver_opts *o);
/* Kill it if it still runs, and wait for it. */
void driver_close(struct driver *d);
/* EXEC_STOP; returns exec's exit status. */
int driver_stop(struct driver *d);
/* Attach another net. */
void driver_attach(struct driver *d, uint32_t generation);

void driver_session(struct driver *d, uint32_t session);
void driver_session_close(struct driver *d, uint32_t session);

/* Ask for a start; the answer, and what follows, is in p. */
void driver_send_start(struct driver *d, uint32_t session,
    const struct driver_start *s, struct driver_process *p);
/* Until it is started, failed or refused. */
void driver_wait_answer(struct driver *d, struct driver_process *p);
/* Until it has exited and its streams are at their end. */
void driver_wait_exit(struct driver *d, struct driver_process *p);
/* Until its tree is gone. */
void driver_wait_gone(struct driver *d, struct driver_process *p);
/* Until its output holds text. */
void driver_wait_output(struct driver *d, struct driver_process *p,
    const char *text);
/* One round of waiting a little and taking what there is. */
void driver_round(struct driver *d, struct driver_process *p);
void driver_process_init(struct driver_process *p);
void driver_process_done(struct driver_process *p);

/* All of it: sh -c script, until it is gone. */
void driver_sh(struct driver *d, uint32_t session, const char *script,
    struct driver_process *p);
/* The same, and that it exits with 0 and prints just out. */
void driver_expect(struct driver *d, uint32_t session, const char *script,
    const char *out);

#endif
