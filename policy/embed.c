/*
 * policy-embed: a tool of the build. It writes the texts of system call
 * policies as C source: policy-embed OUT {@ROLE FILE...}...
 */
#include <stdio.h>
#include <string.h>

#include "base/embed.h"

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
put_text(FILE *out, const char *path, size_t *len)
{
	const char *slash = strrchr(path, '/');
	FILE *in = fopen(path, "re");
	char line[4096];
	int failed;

	(void)len;
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

static void
begin(FILE *out, const char *role)
{
	(void)fprintf(out, "    {\"%s\", {\n", role);
}

static void
end(FILE *out, const char *role, size_t len)
{
	(void)role, (void)len;
	(void)fputs("    }},\n", out);
}

int
main(int argc, char **argv)
{
	const struct embed e = {.tool = "policy-embed",
	    .head = "/* Made by policy-embed from policy/syscalls. */\n"
		    "#include \"policy/texts.h\"\n\n"
		    "const struct policy_source policy_sources[] = {\n",
	    .tail = "    {NULL, {{NULL, NULL}}},\n};\n",
	    .begin = begin,
	    .file = put_text,
	    .end = end};

	(void)argc;
	return embed_main(&e, argv);
}
