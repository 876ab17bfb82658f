#ifndef TESTS_SANDBOX_ESCAPE_ATTEMPT_H
#define TESTS_SANDBOX_ESCAPE_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Attempts to get out of a sandbox. Each does no harm where it succeeds: it
 * opens without writing, writes back what was there, or makes a call with
 * arguments that the kernel refuses only after it has let the caller in. */

enum verdict {
	CONTAINED,
	ESCAPED,
	CANNOT_TELL, /* the host lacks what it takes */
};

/* Where an attempt is made. */
#define IN_READ	   0x1u	 /* under a profile that reads everything */
#define IN_WRITE   0x2u	 /* and writes the workspaces and /tmp */
#define IN_PLAIN   0x4u	 /* under the preset alone */
#define IN_LIMITS  0x8u	 /* the same with small limits */
#define IN_SWAP	   0x40u /* while writable paths become links */
#define IN_ALL	   (IN_READ | IN_WRITE | IN_PLAIN)
/* How it is made where nothing should stop it. */
#define OUT_MOUNTS 0x10u /* as root of mounts of its own */
#define OUT_NOBODY 0x20u /* as a user without rights */

/* What escape.test.mjs has set up, by its names in the environment. */
struct world {
	bool outside;
	const char *host;   /* ESCAPE_HOST: a directory outside of all roots */
	const char *tmp;    /* ESCAPE_TMP: /tmp, outside a substitute */
	const char *second; /* ESCAPE_SECOND: one more workspace */
	const char *server; /* ESCAPE_SERVER: where the server's binaries lie */
	const char *word;   /* ESCAPE_WORD: an argument of host processes */
	const char
	    *address; /* ESCAPE_ADDRESS: one of the host's, no loopback */
	const char *abstract; /* ESCAPE_ABSTRACT: a socket of the host */
	const char *run;      /* ESCAPE_RUN: one made in /run */
	const char *later;    /* ESCAPE_LATER: one made after the session */
	pid_t pid;	      /* ESCAPE_PID: a process of the host's root */
	int shm;	      /* ESCAPE_SHM: memory of the host, or -1 */
	int tcp, udp;	      /* ESCAPE_TCP, ESCAPE_UDP: ports of the host */
};

struct result {
	enum verdict verdict;
	char evidence[160];
};

struct attempt {
	const char *name;
	const char *layer; /* what should stop it */
	unsigned int where;
	void (*run)(const struct attempt *a, const struct world *w,
	    struct result *r);
	/* Of attempts that differ only in these. */
	long nr, arg[6];
};

/* Each ends with an entry without a name. */
extern const struct attempt attempts_files[];
extern const struct attempt attempts_modes[];
extern const struct attempt attempts_protected[];
extern const struct attempt attempts_processes[];
extern const struct attempt attempts_calls[];
extern const struct attempt attempts_rights[];
extern const struct attempt attempts_network[];
extern const struct attempt attempts_resources[];

/* Say how it went. */
__attribute__((format(printf, 3, 4))) void attempt_say(struct result *r,
    enum verdict v, const char *format, ...);

/* A call has returned got, errno tells why if that is negative: escaped if it
 * is not. Whether it is. */
bool attempt_tried(struct result *r, long got, const char *what);

/* Path of dir/name, valid until the next call. */
const char *attempt_path(const char *dir, const char *name);

/* Add a byte to an existing file: 0, or -1 and errno. */
int attempt_append(const char *path);

/* Run a program of the system; its exit status, -1 if it could not run. */
int attempt_spawn(const char *const argv[]);

/* Leave a process of this kind behind, see attempt_persist.c. The exit
 * status. */
int attempt_persist(const char *kind, bool stay);

#endif
