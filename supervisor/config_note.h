/* Where values of the configuration came from, for those who ask later. */
#ifndef SUPERVISOR_CONFIG_NOTE_H
#define SUPERVISOR_CONFIG_NOTE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* A line of a file; line 0 with file NULL: the command line. */
struct config_place {
	const char *file; /* borrowed from the configuration's list of files */
	unsigned int line;
};

struct config_note {
	int key;
	uint8_t level;
	char *value; /* owned */
	struct config_place at;
};

/* One for each setting that was taken, in order. */
struct config_notes {
	struct config_note *items; /* owned */
	size_t count, room;
};

/* Returns 0 or -ENOMEM. value is copied. */
must_use int config_notes_add(struct config_notes *n, int key, uint8_t level,
    const char *value, struct config_place at);
void config_notes_clear(struct config_notes *n);

/* The last note of key, of that very value unless it is NULL; NULL if there
 * is none: the value is built in. */
const struct config_note *config_notes_find(const struct config_notes *n,
    int key, const char *value);

/* Append "FILE:LINE", or "--set" for the command line. -EMSGSIZE, -ENOMEM. */
must_use int config_place_put(struct config_place at, struct buf *out);

#endif
