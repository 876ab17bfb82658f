#include "base/embed.h"

#include <errno.h>
#include <string.h>

static int
complain(const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
	return -1;
}

static int
put_all(const struct embed *e, FILE *out, char **args)
{
	const char *name = NULL;
	size_t len = 0;

	(void)fputs(e->head, out);
	for (; *args != NULL; args++) {
		if (**args == '@') {
			if (name != NULL)
				e->end(out, name, len);
			name = *args + 1;
			len = 0;
			e->begin(out, name);
		} else if (e->file(out, *args, &len) < 0) {
			return complain(*args);
		}
	}
	e->end(out, name, len);
	(void)fputs(e->tail, out);
	return ferror(out) ? -1 : 0;
}

int
embed_main(const struct embed *e, char **argv)
{
	FILE *out;
	int r;

	if (argv[0] == NULL || argv[1] == NULL || argv[2] == NULL ||
	    argv[2][0] != '@') {
		(void)fprintf(stderr, "usage: %s OUT {@NAME FILE...}...\n",
		    e->tool);
		return 2;
	}
	out = fopen(argv[1], "we");
	if (out == NULL)
		return -complain(argv[1]);
	r = put_all(e, out, argv + 2);
	return fclose(out) != 0 || r < 0;
}
