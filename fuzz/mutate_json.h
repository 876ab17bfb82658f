/* Mutation of JSON text as a tree, for custom mutators. */
#ifndef FUZZ_MUTATE_JSON_H
#define FUZZ_MUTATE_JSON_H

#include <jansson.h>

#include "fuzz/fuzz.h"

enum mutate_kind {
	MUTATE_STRING,
	MUTATE_NUMBER,
	MUTATE_BOOL,
	MUTATE_ARRAY,
	MUTATE_OBJECT,
	MUTATE_KINDS
};

struct mutate_member {
	const char *name; /* NULL: the end of a list of them */
	enum mutate_kind kind;
};

/* An object with these members, values made up; a new reference. */
json_t *mutate_json_members(const struct mutate_member *members,
    uint64_t *random);

/*
 * Change data, which should be JSON, in one place: a value, a member, an item;
 * now and then as mere bytes. What cannot be parsed is replaced by what fresh
 * makes. As LLVMFuzzerCustomMutator.
 */
size_t mutate_json(uint8_t *data, size_t size, size_t max_size,
    unsigned int seed, json_t *(*fresh)(uint64_t *random));

#endif
