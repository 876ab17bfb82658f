/*
 * A system call that never returns, for a process and its descendants: as on a
 * file system that does not answer. By a filter that asks a supervisor, which
 * does not answer either.
 */
#ifndef TESTS_SANDBOX_EXEC_HANG_H
#define TESTS_SANDBOX_EXEC_HANG_H

#include <stdint.h>
#include <sys/types.h>

/* The call with that number, and with that value in the argument. */
struct hang {
	long number;
	unsigned int argument; /* 0 to 5 */
	uint32_t value;
};

/* In the removing and the making of a placeholder, and in the making of a
 * session's home directory: each with the ids of the child. */
extern const struct hang hang_rmdir, hang_make, hang_home;

/* The making of a user namespace alone, as for a mount with mapped ids. */
extern const struct hang hang_userns;

/* In the process: install it and send its listener over socket. */
void hang_install(const struct hang *h, int socket);
/* At the other end: the listener, owned by the caller. */
int hang_take(int socket);
/*
 * Let calls pass, but answer as many as *refuse says with EPERM, and count that
 * down, in a process of its own; its pid, to be killed and reaped.
 */
pid_t hang_answer(int listener, volatile int *refuse);
/* Until a process hangs: a pidfd of it, owned by the caller. */
int hang_wait(int listener);

#endif
