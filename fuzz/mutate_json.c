#include "fuzz/mutate_json.h"

#include <string.h>

#define STRING_MAX 256

/* Words that mean something somewhere in the protocol. */
static const char *const words[] = {"", "a", "file:///tmp/a", "file:///", "/",
    "QUJD", "QUJDRA==", "none", "core", "all", "interrupt", "read", "replace",
    "follow", "stop", "disabled", "restricted", "enabled", "managed",
    "external", "unrestricted", "special", "path", "glob_pattern", "write",
    "deny", "root", "minimal", "project_roots", "tmpdir", "slash_tmp",
    "http://a/", "GET", "**/*.env", "\xc3\xa9"};

static const json_int_t numbers[] = {0, 1, -1, 24, 65535, 65536, 1048576,
    2147483647, 4294967296, INT64_MAX, INT64_MIN};

static json_t *
any_value(enum mutate_kind kind, uint64_t *random)
{
	uint32_t pick = fuzz_random(random);

	switch (kind) {
	case MUTATE_STRING:
		return json_string(
		    words[pick % (sizeof words / sizeof words[0])]);
	case MUTATE_NUMBER:
		return json_integer(
		    numbers[pick % (sizeof numbers / sizeof numbers[0])]);
	case MUTATE_BOOL:
		return json_boolean(pick & 1);
	case MUTATE_ARRAY:
		return json_pack("[s]",
		    words[pick % (sizeof words / sizeof words[0])]);
	case MUTATE_OBJECT:
		return json_pack("{s:s}", "type",
		    words[pick % (sizeof words / sizeof words[0])]);
	case MUTATE_KINDS:
		break;
	}
	return json_null();
}

json_t *
mutate_json_members(const struct mutate_member *members, uint64_t *random)
{
	json_t *object = json_object();

	for (; members->name != NULL; members++)
		(void)json_object_set_new(object, members->name,
		    any_value(members->kind, random));
	return object;
}

/* Change the bytes of a string as the engine likes. */
static void
change_string(json_t *v)
{
	char s[STRING_MAX];
	size_t len = json_string_length(v);

	if (len > sizeof s)
		len = sizeof s;
	memcpy(s, json_string_value(v), len);
	len = fuzz_mutate((uint8_t *)s, len, sizeof s);
	/* No change if that is no UTF-8. */
	(void)json_string_setn(v, s, len);
}

/* A key of an object, by chance; NULL of an empty one. */
static const char *
any_key(json_t *object, uint64_t *random)
{
	size_t skip = json_object_size(object);
	void *at = json_object_iter(object);

	if (skip == 0)
		return NULL;
	for (skip = fuzz_random(random) % skip; skip > 0; skip--)
		at = json_object_iter_next(object, at);
	return json_object_iter_key(at);
}

static json_t *change(json_t *v, uint64_t *random);

static void
change_object(json_t *v, uint64_t *random)
{
	const char *key = any_key(v, random);
	json_t *item = key == NULL ? NULL : json_object_get(v, key);

	switch (fuzz_random(random) % 8) {
	case 0:
		if (key != NULL)
			(void)json_object_del(v, key);
		break;
	case 1:
		(void)json_object_set_new(v,
		    words[fuzz_random(random) %
			  (sizeof words / sizeof words[0])],
		    any_value(MUTATE_STRING, random));
		break;
	default:
		if (key != NULL)
			(void)json_object_set_new(v, key,
			    change(json_incref(item), random));
		break;
	}
}

static void
change_array(json_t *v, uint64_t *random)
{
	size_t n = json_array_size(v), i = n == 0 ? 0 : fuzz_random(random) % n;

	switch (fuzz_random(random) % 6) {
	case 0:
		(void)json_array_remove(v, i);
		break;
	case 1:
		(void)json_array_append_new(v,
		    n > 0 ? json_deep_copy(json_array_get(v, i))
			  : any_value(fuzz_random(random) % MUTATE_KINDS,
				random));
		break;
	default:
		if (n > 0)
			(void)json_array_set_new(v, i,
			    change(json_incref(json_array_get(v, i)), random));
		break;
	}
}

/* Takes a reference of v and returns one of what stands in its place. */
static json_t *
change(json_t *v, uint64_t *random)
{
	if (fuzz_random(random) % 8 == 0) {
		json_decref(v);
		return any_value(fuzz_random(random) % (MUTATE_KINDS + 1),
		    random);
	}
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		change_object(v, random);
		return v;
	case JSON_ARRAY:
		change_array(v, random);
		return v;
	case JSON_STRING:
		change_string(v);
		return v;
	case JSON_INTEGER:
	case JSON_REAL:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	json_decref(v);
	return any_value(fuzz_random(random) % MUTATE_KINDS, random);
}

size_t
mutate_json(uint8_t *data, size_t size, size_t max_size, unsigned int seed,
    json_t *(*fresh)(uint64_t *random))
{
	uint64_t random = seed;
	json_error_t why;
	json_t *root;
	size_t len;

	if (fuzz_random(&random) % 8 == 0)
		return fuzz_mutate(data, size, max_size);
	root = json_loadb((const char *)data, size,
	    JSON_ALLOW_NUL | JSON_DECODE_ANY, &why);
	if (root == NULL || fuzz_random(&random) % 32 == 0) {
		json_decref(root);
		root = fresh(&random);
	} else {
		root = change(root, &random);
	}
	len = json_dumpb(root, (char *)data, max_size,
	    JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(root);
	/* Too long to be written: cut mere bytes instead. */
	return len <= max_size ? len : fuzz_mutate(data, max_size, max_size);
}
