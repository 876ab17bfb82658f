#include "supervisor/audit_begun.h"

#include <string.h>

#include "supervisor/audit_text.h"

#define ENDS_MAX 3
#define IDS_MAX	 3

static const struct kind {
	const char *begin;
	/* After those marked as last none of the others comes. */
	struct end {
		const char *event;
		bool last;
	} ends[ENDS_MAX];
	const char *ids[IDS_MAX]; /* members that all of its lines have */
} kinds[] = {
    {"process_start",
	{{"process_exit", false}, {"process_gone", true},
	    {"process_failed", true}},
	{"generation", "session", "lease"}},
    {"session_open", {{"session_close", true}}, {"generation", "session"}},
    {"connection_open", {{"connection_close", true}}, {"connection"}},
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static uint64_t
mix(uint64_t h, struct bytes text)
{
	for (size_t i = 0; i < text.len; i++)
		h = (h ^ text.data[i]) * 1099511628211u; /* FNV-1a */
	return (h ^ 0xff) * 1099511628211u;
}

/* A role's lines meet none but its own: what it makes alike is its loss. */
static uint64_t
key_of(const struct kind *kind, struct bytes pairs)
{
	uint64_t h = mix(14695981039346656037u, bytes_of(kind->begin));

	for (size_t i = 0; i < IDS_MAX && kind->ids[i] != NULL; i++)
		h = mix(h, audit_find(pairs, kind->ids[i]));
	return h;
}

static struct audit_begun_row *
set_of(struct audit_begun *b, enum role role, uint64_t key)
{
	return b->rows[role][key % AUDIT_BEGUN_SETS];
}

/* The newest is the first; what is free, or the oldest, makes room for it. */
static void
remember(struct audit_begun_row *set, uint64_t key)
{
	size_t free = 0;

	while (free < AUDIT_BEGUN_WAYS - 1 && set[free].ends != 0)
		free++;
	memmove(set + 1, set, free * sizeof *set);
	set[0] = (struct audit_begun_row){key, (1u << ENDS_MAX) - 1};
}

void
audit_begun_add(struct audit_begun *b, enum role role, struct bytes event,
    struct bytes pairs)
{
	for (size_t i = 0; i < KINDS; i++) {
		uint64_t key;

		if (!bytes_is(event, kinds[i].begin))
			continue;
		key = key_of(&kinds[i], pairs);
		remember(set_of(b, role, key), key);
	}
}

static bool
take(struct audit_begun_row *set, uint64_t key, unsigned int bit, bool last)
{
	for (size_t i = 0; i < AUDIT_BEGUN_WAYS; i++) {
		if (set[i].key != key || (set[i].ends & bit) == 0)
			continue;
		set[i].ends = last ? 0 : set[i].ends & ~bit;
		return true;
	}
	return false;
}

bool
audit_begun_end(struct audit_begun *b, enum role role, struct bytes event,
    struct bytes pairs)
{
	for (size_t i = 0; i < KINDS * ENDS_MAX; i++) {
		const struct kind *kind = &kinds[i / ENDS_MAX];
		const struct end *end = &kind->ends[i % ENDS_MAX];
		uint64_t key;

		if (end->event == NULL || !bytes_is(event, end->event))
			continue;
		key = key_of(kind, pairs);
		return take(set_of(b, role, key), key, 1u << i % ENDS_MAX,
		    end->last);
	}
	return false;
}
