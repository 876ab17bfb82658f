/*
 * One call that fails: of an allocation, or of a system call of ours. The
 * linker's --wrap puts these in the place of the C library's, for our own code
 * and not for what it is linked with.
 */
#ifndef FUZZ_FAULTS_H
#define FUZZ_FAULTS_H

#include "fuzz/fuzz.h"

enum fault_call {
	FAULT_ALLOC,
	FAULT_RECVMSG,
	FAULT_SENDMSG,
	FAULT_READ,
	FAULT_WRITE,
	FAULT_PREAD,
	FAULT_MEMFD,
	FAULT_EPOLL,
	FAULT_CALLS,
};

/* Let the nth call of that kind, from 1, fail in the how-th of its ways: with
 * an error that it may have, or with fewer bytes than asked for. Past the last
 * of its ways how counts from the first again. */
void fault_set(enum fault_call call, unsigned int n, uint8_t how);
/* The same from three bytes of an input: kind and way, and the number. */
void fault_read(struct reader *r);
/* How many ways a call has. */
uint8_t fault_ways(enum fault_call call);
/* No more. True if that call was reached. */
bool fault_clear(void);

/* Calls count only between these two. */
void fault_begin(void);
void fault_end(void);

#endif
