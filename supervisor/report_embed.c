/*
 * report-embed: a tool of the build. It writes files as C source:
 * report-embed OUT {@NAME FILE...}... makes of the files behind each name, one
 * after the other, a struct bytes NAME.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

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
	if (name != NULL)
		(void)fprintf(out,
		    "\n};\n\nconst struct bytes %s = {%s_data, %zu};\n", name,
		    name, len);
}

static int
put_all(FILE *out, char **args)
{
	const char *name = NULL;
	size_t len = 0;

	(void)fputs("/* Made by report-embed. */\n"
		    "#include \"supervisor/report.h\"\n",
	    out);
	for (; *args != NULL; args++) {
		if (**args == '@') {
			end(out, name, len);
			name = *args + 1;
			len = 0;
			begin(out, name);
		} else if (name == NULL || put_file(out, *args, &len) < 0) {
			(void)fprintf(stderr, "%s: %s\n", *args,
			    strerror(errno));
			return -1;
		}
	}
	end(out, name, len);
	return ferror(out) ? -1 : 0;
}

int
main(int argc, char **argv)
{
	FILE *out;
	int r;

	if (argc < 4) {
		(void)fputs("usage: report-embed OUT {@NAME FILE...}...\n",
		    stderr);
		return 2;
	}
	out = fopen(argv[1], "we");
	if (out == NULL) {
		(void)fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	r = put_all(out, argv + 2);
	return fclose(out) != 0 || r < 0;
}
