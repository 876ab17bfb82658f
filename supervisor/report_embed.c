/*
 * report-embed: a tool of the build. It writes files as C source:
 * report-embed OUT {NAME FILE}... makes of each a struct bytes NAME.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define A_LINE 12 /* bytes in a line of C */

static int
put_file(FILE *out, const char *name, const char *path)
{
	FILE *in = fopen(path, "re");
	size_t len = 0;
	int c, failed;

	if (in == NULL)
		return -1;
	(void)fprintf(out, "\nstatic const uint8_t %s_data[] = {", name);
	while ((c = fgetc(in)) != EOF)
		(void)fprintf(out, "%s0x%02x,",
		    len++ % A_LINE == 0 ? "\n\t" : " ", (unsigned int)c);
	(void)fprintf(out, "\n};\n\nconst struct bytes %s = {%s_data, %zu};\n",
	    name, name, len);
	failed = ferror(in);
	(void)fclose(in);
	return failed ? -1 : 0;
}

int
main(int argc, char **argv)
{
	FILE *out;
	int r = 0;

	if (argc < 4 || argc % 2 != 0) {
		(void)fputs("usage: report-embed OUT {NAME FILE}...\n", stderr);
		return 2;
	}
	out = fopen(argv[1], "we");
	if (out == NULL) {
		(void)fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	(void)fputs("/* Made by report-embed. */\n"
		    "#include \"supervisor/report.h\"\n",
	    out);
	for (int i = 2; i < argc && r == 0; i += 2)
		r = put_file(out, argv[i], argv[i + 1]);
	if (r < 0)
		(void)fprintf(stderr, "%s: cannot embed all\n", argv[1]);
	return ferror(out) || fclose(out) != 0 || r < 0;
}
