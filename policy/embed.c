/*
 * policy-embed: a tool of the build. It writes the texts of system call
 * policies as C source: policy-embed OUT {@ROLE FILE...}...
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* One line of text as part of a string literal. */
static void
put_line(FILE *out, const char *line)
{
	(void)fputs("\t\"", out);
	for (; *line != '\0' && *line != '\n'; line++) {
		if (*line == '"' || *line == '\\' || *line == '?')
			(void)fputc('\\', out);
		(void)fputc(*line == '\t' ? ' ' : *line, out);
	}
	(void)fputs("\\n\"\n", out);
}

static int
put_text(FILE *out, const char *path)
{
	const char *slash = strrchr(path, '/');
	FILE *in = fopen(path, "re");
	char line[4096];
	int failed;

	if (in == NULL)
		return -1;
	(void)fprintf(out, "\t{\"%s\",\n", slash != NULL ? slash + 1 : path);
	while (fgets(line, sizeof line, in) != NULL)
		put_line(out, line);
	(void)fputs("\t},\n", out);
	failed = ferror(in);
	(void)fclose(in);
	return failed ? -1 : 0;
}

static int
put_all(FILE *out, char **args)
{
	const char *role = NULL;

	(void)fputs("/* Made by policy-embed from policy/syscalls. */\n"
		    "#include \"policy/texts.h\"\n\n"
		    "const struct policy_source policy_sources[] = {\n",
	    out);
	for (; *args != NULL; args++) {
		if (**args == '@') {
			(void)fprintf(out, "%s    {\"%s\", {\n",
			    role != NULL ? "    }},\n" : "", *args + 1);
			role = *args + 1;
		} else if (role == NULL || put_text(out, *args) < 0) {
			(void)fprintf(stderr, "%s: %s\n", *args,
			    strerror(errno));
			return -1;
		}
	}
	(void)fprintf(out, "%s    {NULL, {{NULL, NULL}}},\n};\n",
	    role != NULL ? "    }},\n" : "");
	return ferror(out) ? -1 : 0;
}

int
main(int argc, char **argv)
{
	FILE *out;
	int r;

	if (argc < 3) {
		(void)fputs("usage: policy-embed OUT {@ROLE FILE...}...\n",
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
