/* The table of keys, for those who set, print and compare them all. */
#ifndef SUPERVISOR_CONFIG_ROW_H
#define SUPERVISOR_CONFIG_ROW_H

#include "supervisor/config.h"

/*
 * Ids of processes: below are the host's own users, and above the range that
 * id-mapping tools and the kernel's overflow values use.
 */
#define UID_MIN 1000
#define UID_MAX 0xfffeffff

enum config_kind {
	KIND_LISTEN, /* struct listen_url */
	KIND_WORD,   /* uint32_t, one of words */
	KIND_NUMBER, /* uint32_t */
	KIND_SIZE,   /* uint32_t, bytes */
	KIND_PATH,   /* char *, an absolute path */
	KIND_NAME,   /* char *, of a profile; empty: none */
	KIND_TEXT,   /* char *, passes check; empty: none */
	KIND_PATHS,  /* struct list; a higher level replaces it */
	KIND_ENV,    /* struct list; the same name is replaced */
	KIND_ALLOW,  /* struct list; a higher level adds to it */
	KIND_SCRUB,  /* struct list; a higher level replaces it */
	KIND_LIST,   /* struct list, each passes check; a higher level adds */
};

struct config_row {
	const char *section, *key;
	enum config_kind kind;
	size_t offset;
	const char *const *words; /* KIND_WORD */
	uint64_t min, max;	  /* KIND_NUMBER, KIND_SIZE */
	int (*check)(const char *value, struct err *e);
	const char *def; /* as text; NULL: described in help */
	const char *help;
};

extern const struct config_row config_rows[CONFIG_KEYS];

bool config_is_list(int key);
/* The member of c that a row is about. */
const void *config_member(const struct config *c, const struct config_row *row);

#endif
