/*
 * report-embed: a tool of the build. It writes files as C source:
 * report-embed OUT {@NAME FILE...}... makes of the files behind each name, one
 * after the other, a struct bytes NAME.
 */
#include <stdio.h>

#include "base/embed.h"

#define A_LINE 12 /* bytes in a line of C */

static int
put_file(FILE *out, const char *path, size_t *len)
{
	FILE *in = fopen(path, "re");
	int c, failed;

	if (in == NULL)
		return -1;
	while ((c = fgetc(in)) != EOF)
		(void)fprintf(out, "%s0x%02x,",
		    (*len)++ % A_LINE == 0 ? "\n\t" : " ", (unsigned int)c);
	failed = ferror(in);
	(void)fclose(in);
	return failed ? -1 : 0;
}

static void
begin(FILE *out, const char *name)
{
	(void)fprintf(out, "\nstatic const uint8_t %s_data[] = {", name);
}

static void
end(FILE *out, const char *name, size_t len)
{
	(void)fprintf(out, "\n};\n\nconst struct bytes %s = {%s_data, %zu};\n",
	    name, name, len);
}

int
main(int argc, char **argv)
{
	const struct embed e = {.tool = "report-embed",
	    .head = "/* Made by report-embed. */\n"
		    "#include \"supervisor/report.h\"\n",
	    .tail = "",
	    .begin = begin,
	    .file = put_file,
	    .end = end};

	(void)argc;
	return embed_main(&e, argv);
}
