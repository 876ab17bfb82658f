/* What each process is, holds and gives up, in words: for those who show it. */
#ifndef SUPERVISOR_PROCESS_TABLE_H
#define SUPERVISOR_PROCESS_TABLE_H

#include "supervisor/config.h"

struct process_row {
	const char *name;    /* as of policy/texts.h: its filter's too */
	const char *title;   /* "file worker" */
	const char *program; /* what runs */
	const char *does;
	const char *cannot;
	const char *runs_as;
	int uid_key; /* enum config_key that says its user id; -1: none */
	const char *capabilities, *namespaces, *files, *descriptors;
	/* What it gives up before it looks at any input; where the host has
	 * the layer, and as the process itself reports it at its start. */
	const char *lockdown;
};

/* In the order in which they start; ends with a NULL name. */
extern const struct process_row process_rows[];

/* NULL if there is no such process. */
const struct process_row *process_row_find(const char *name);

#endif
