/* The commands that a program has: a table, looked up by name. */
#ifndef BASE_SUBCOMMAND_H
#define BASE_SUBCOMMAND_H

#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"

struct subcommand {
	const char *name;
	/* argv[0] is the command's own name. Returns the exit status. */
	int (*run)(int argc, char **argv);
	const char *help; /* a line; NULL: not listed */
};

/* The row of rows[0..count) with this name, or NULL. */
const struct subcommand *subcommand_find(const struct subcommand *rows,
    size_t count, const char *name);

/* A line for each row that has help. */
void subcommand_list(const struct subcommand *rows, size_t count, FILE *out);

/*
 * Open /dev/null in the place of those of descriptors 0 to 2 that are closed:
 * what is opened next would become one of them, and be written to. Returns 0
 * or a negative errno.
 */
must_use int subcommand_open_standard(void);

#endif
