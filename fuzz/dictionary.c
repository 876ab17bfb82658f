/*
 * Print a fuzzer's dictionary from one of our tables: "rpc" has the names of
 * methods and of their parameters as JSON strings, "msg" the numbers of the
 * messages as they stand at the start of a record.
 */
#include <stdio.h>
#include <string.h>

#include "privsep/msg.h"

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

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "rpc") == 0)
		put_methods();
	else if (argc == 2 && strcmp(argv[1], "msg") == 0)
		put_messages();
	else
		return 2;
	return 0;
}
