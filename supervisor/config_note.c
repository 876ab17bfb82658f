#include "supervisor/config_note.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int
config_notes_add(struct config_notes *n, int key, uint8_t level,
    const char *value, struct config_place at)
{
	struct config_note note = {.key = key, .level = level, .at = at};

	if (n->count == n->room) {
		size_t room = n->room == 0 ? 32 : n->room * 2;
		struct config_note *grown =
		    reallocarray(n->items, room, sizeof *grown);

		if (grown == NULL)
			return -ENOMEM;
		n->items = grown;
		n->room = room;
	}
	note.value = strdup(value);
	if (note.value == NULL)
		return -ENOMEM;
	n->items[n->count++] = note;
	return 0;
}

void
config_notes_clear(struct config_notes *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->items[i].value);
	free(n->items);
	*n = (struct config_notes){0};
}

const struct config_note *
config_notes_find(const struct config_notes *n, int key, const char *value)
{
	for (size_t i = n->count; i > 0; i--) {
		const struct config_note *note = &n->items[i - 1];

		if (note->key == key &&
		    (value == NULL || strcmp(note->value, value) == 0))
			return note;
	}
	return NULL;
}

int
config_place_put(struct config_place at, struct buf *out)
{
	if (at.file == NULL)
		return buf_printf(out, "--set");
	return buf_printf(out, "%s:%u", at.file, at.line);
}
