/*
 * What the tools of the build have in common that write files as C source:
 * TOOL OUT {@NAME FILE...}...
 */
#ifndef BASE_EMBED_H
#define BASE_EMBED_H

#include <stddef.h>
#include <stdio.h>

struct embed {
	const char *tool; /* its name */
	const char *head; /* what the source begins with, and ends with */
	const char *tail;
	void (*begin)(FILE *out, const char *name);
	/* *len is free for use, and 0 at the first file of a name. Returns 0,
	 * or -1 with errno. */
	int (*file)(FILE *out, const char *path, size_t *len);
	void (*end)(FILE *out, const char *name, size_t len);
};

/* The tool's main. Returns the exit status: 0, 1 with a line on standard error,
 * or 2 for a wrong command line. */
int embed_main(const struct embed *e, char **argv);

#endif
