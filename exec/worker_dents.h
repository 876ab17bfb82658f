/* The entries of an open directory, by getdents64(2). */
#ifndef EXEC_WORKER_DENTS_H
#define EXEC_WORKER_DENTS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/cleanup.h"

struct worker_dents {
	size_t at, len;
	_Alignas(8) uint8_t data[32 * 1024];
};

struct worker_dent {
	const char *name;   /* borrowed until the next call */
	unsigned char type; /* DT_* of dirent.h, may be DT_UNKNOWN */
	int64_t next;	    /* lseek(2) offset behind it */
};

/* The S_IFMT bits of a type; 0 for DT_UNKNOWN. */
static inline mode_t
worker_dents_mode(unsigned char type)
{
	return (mode_t)type << 12; /* DTTOIF of dirent.h, unsigned */
}

/* Forget what was read ahead; to be called before another descriptor. */
void worker_dents_reset(struct worker_dents *d);

/*
 * The next entry of fd but "." and "..". Returns 1 with *out; 0 at the end; a
 * negative errno of getdents64(2). A directory that was removed is at its end.
 */
must_use int worker_dents_next(struct worker_dents *d, int fd,
    struct worker_dent *out);

#endif
