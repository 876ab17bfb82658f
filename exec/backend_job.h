/* What the parts of executor_backend.h share: a job and its commands. */
#ifndef EXEC_BACKEND_JOB_H
#define EXEC_BACKEND_JOB_H

#include "exec/capture.h"
#include "exec/executor_backend.h"

enum command {
	COMMAND_PREPARE,
	COMMAND_SIGNAL,
	COMMAND_TERMINATE,
	COMMAND_FINALIZE,
	COMMAND_INSPECT,
	COMMANDS,
};

/* A start that waits for its prepare. */
struct prepared {
	struct backend_start start; /* without its job */
	struct buf packed;	    /* the spec as it came */
	uint32_t number;
	bool cancelled; /* by its client, or with its session */
};

struct job {
	struct session *session;   /* outlives it: its leases hold that */
	struct lease *lease;	   /* of start; NULL: there never was one */
	struct prepared *prepared; /* owned; NULL but while prepare runs */
	unsigned int commands;	   /* running */
	char id[EXECUTOR_ID_MAX];
	char tag[24];	    /* decimal; argv_template.h */
	unsigned int tries; /* of terminate while start is there */
	bool signaling;	    /* that command runs */
	bool ending;	    /* terminate was asked for, or a kill */
	bool gone;	    /* the tree of start is */
	bool swept;	    /* what start left behind was ended */
	bool finalized;	    /* that command was started */
	bool started;	    /* the program ran */
	bool has_status;
	bool lost;
	bool timed_out;
	uint32_t status; /* wait status of the program */
};

/* A job in s without a start; NULL when out of memory. */
struct job *backend_job_new(struct executor *x, struct session *s);
void backend_job_free(struct job *j);
/* Start is gone and no command runs: go on. True if one follows; else j is
 * freed. */
bool backend_job_advance(struct executor *x, struct job *j);

/* backend_command.c: the environment that commands have, appended to out. 0 or
 * a negative errno with e. */
must_use int backend_command_env(const struct session *s, struct buf *out,
    struct err *e);
/* Run a command for j. False if there is none such, or it cannot be started,
 * which is logged. */
must_use bool backend_command_run(struct executor *x, struct job *j,
    enum command which);
/* Its name, "prepare". */
const char *backend_command_name(enum command which);

/* What became of a command that is gone. */
struct command_end {
	uint32_t status; /* a wait status */
	bool unstarted;	 /* it was not found, or could not be started */
	bool late;	 /* it was killed, as its time was over */
	/* Its last words, of what was kept. */
	char words[CAPTURE_TEXT_MAX];
};

/* "ended with status 3", "took longer than ...", in text[0..size). */
void backend_command_describe(const struct command_end *end, char *text,
    size_t size);

/* executor_prepare.c: prepare of j has ended so. */
void backend_prepared(struct executor *x, struct job *j,
    const struct command_end *end);
/* executor_inspect.c: what inspect wrote, and how it ended. */
void backend_inspected(struct executor *x, struct job *j,
    const struct capture *out, const struct command_end *end);

#endif
