/*
 * Print a fuzzer's dictionary from one of our tables: "rpc" has the names of
 * methods and of their parameters as JSON strings, "msg" the numbers of the
 * messages as they stand at the start of a record, "config" the sections, keys
 * and words of the configuration.
 */
#include <stdio.h>
#include <string.h>

#include "privsep/msg.h"
#include "supervisor/config_row.h"

static void
put_word(const char *s)
{
	(void)printf("\"\\\"%s\\\"\"\n", s);
}

#define STRING(n, wire, need, bound, help)    put_word(wire);
#define BOOL(n, wire, need, bound, help)      put_word(wire);
#define TRUE_BOOL(n, wire, need, bound, help) put_word(wire);
#define UINT(n, wire, need, bound, help)      put_word(wire);
#define BASE64(n, wire, need, bound, help)    put_word(wire);
#define ARRAY(n, wire, need, bound, help)     put_word(wire);
#define LIST(n, wire, need, bound, help)      put_word(wire);
#define MAP(n, wire, need, bound, help)	      put_word(wire);
#define OBJECT(n, wire, need, bound, help)    put_word(wire);
#define STRUCT(name, params)		      params
#define METHOD(name, wire, family, extension, params)                          \
	put_word(wire);                                                        \
	params
static void
put_methods(void)
{
	put_word("jsonrpc");
	put_word("2.0");
	put_word("id");
	put_word("method");
	put_word("params");
#include "net/methods.def"
}

/* A record begins with its type, a little-endian u32. */
static void
put_messages(void)
{
	for (uint32_t type = MSG_NONE + 1; msg_row(type) != NULL; type++)
		(void)printf("%s=\"\\x%02x\\x%02x\\x00\\x00\"\n",
		    msg_row(type)->name, type & 0xff, type >> 8);
}

static void
put_key(const char *key)
{
	(void)printf("\"%s = \"\n", key);
}

/* What profiles have, what stands for values, and what parts the input of
 * fuzz_config.c. */
static void
put_configuration_of_profiles(void)
{
	static const char *const keys[] = {"extends", "read", "write", "deny",
	    "network", "unix_sockets"};
	static const char *const others[] = {"[profile \\\"p\\\"]\\x0a",
	    "[limits]\\x0a", "{workspace}", "{tmp}", "10s", "1MiB",
	    "ws://127.0.0.1:1/", "{argv}", "{cwd}", "{id}", "{target}", "/h:/g",
	    "\\x1c", "\\x1d"};

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		put_key(keys[i]);
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		(void)printf("\"%s\"\n", others[i]);
}

static void
put_configuration(void)
{
	const char *section = "";

	for (size_t key = 0; key < CONFIG_KEYS; key++) {
		const struct config_row *row = &config_rows[key];

		if (strcmp(row->section, section) != 0)
			(void)printf("\"[%s]\\x0a\"\n", row->section);
		section = row->section;
		put_key(row->key);
		for (size_t i = 0; row->words != NULL && row->words[i] != NULL;
		     i++)
			(void)printf("\"%s\"\n", row->words[i]);
	}
#define LIMIT(key, def, min, max, unit, reason) put_key(#key);
#include "base/limits.def"
	put_configuration_of_profiles();
}

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "rpc") == 0)
		put_methods();
	else if (argc == 2 && strcmp(argv[1], "msg") == 0)
		put_messages();
	else if (argc == 2 && strcmp(argv[1], "config") == 0)
		put_configuration();
	else
		return 2;
	return 0;
}
