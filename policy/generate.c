/*
 * policy-compile: a tool of the build. It turns system call policies into C
 * source with the filter of one process, and into the page that lists them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/compile.h"
#include "policy/syscall_print.h"

#define PAGE_MAX  (1024u * 1024u) /* bytes of anything written */
#define FILES_MAX 16

struct source {
	const char *path;
	struct buf text;
};

static int
usage(void)
{
	(void)fputs("usage: policy-compile --filter NAME OUT FILE...\n"
		    "       policy-compile --markdown OUT FILE...\n"
		    "       policy-compile --check PAGE FILE...\n"
		    "Rules of an earlier file come first.\n",
	    stderr);
	return 2;
}

static int
fail(const char *path, const char *text)
{
	(void)fprintf(stderr, "%s:%s\n", path, text);
	return 1;
}

static int
fail_errno(const char *path)
{
	(void)fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return 1;
}

static int
read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "re");
	char part[4096];
	size_t n;
	int r = 0;

	if (f == NULL)
		return fail_errno(path);
	buf_init(out, PAGE_MAX);
	while (r == 0 && (n = fread(part, 1, sizeof part, f)) > 0)
		r = buf_put(out, part, n);
	if (r < 0 || ferror(f)) {
		(void)fclose(f);
		return fail(path, " cannot be read");
	}
	(void)fclose(f);
	return 0;
}

static int
write_file(const char *path, const struct buf *b)
{
	FILE *f = fopen(path, "we");

	if (f == NULL)
		return fail_errno(path);
	if (fwrite(b->data, 1, b->len, f) != b->len) {
		(void)fclose(f);
		return fail(path, " cannot be written");
	}
	return fclose(f) != 0 ? fail_errno(path) : 0;
}

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

/* "policy/syscalls/net.policy" -> "net" */
static struct bytes
short_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct bytes name = bytes_of(slash != NULL ? slash + 1 : path);
	const uint8_t *dot = memchr(name.data, '.', name.len);

	if (dot != NULL)
		name.len = (size_t)(dot - name.data);
	return name;
}

/* --- a filter ---------------------------------------------------------- */

static int
print_filter(const char *name, const struct compiled *c, struct buf *out)
{
	int r = buf_printf(out,
	    "/* Made by policy-compile from policy/syscalls. */\n"
	    "#include <stdint.h>\n\n#include \"privsep/filters.h\"\n\n"
	    "static const struct sock_filter code[] = {\n");

	for (size_t i = 0; i < c->len && r == 0; i++)
		r = buf_printf(out, "\t{ 0x%02x, %u, %u, 0x%08x },\n",
		    (unsigned int)c->code[i].code, (unsigned int)c->code[i].jt,
		    (unsigned int)c->code[i].jf, c->code[i].k);
	if (r < 0)
		return r;
	/* The kernel's type lacks the const; it only reads. */
	return buf_printf(out,
	    "};\n\nconst struct sock_fprog filter_%s = {\n"
	    "\t.len = sizeof code / sizeof code[0],\n"
	    "\t.filter = (struct sock_filter *)(uintptr_t)code,\n};\n",
	    name);
}

static int
add_policy(struct source *s, struct syscall_policy *p)
{
	struct err e = {0};
	size_t first = p->rule_count;

	if (read_file(s->path, &s->text) != 0)
		return 1;
	if (syscall_text_parse(view(&s->text), p, &e) < 0 ||
	    compile_check(p, first, SYSCALL_ARCH_X86_64, &e) < 0 ||
	    compile_check(p, first, SYSCALL_ARCH_AARCH64, &e) < 0)
		return fail(s->path, e.text);
	return 0;
}

static int
make_filter(const char *name, const char *path, struct source *sources,
    size_t count)
{
	struct syscall_policy *p = syscall_policy_new();
	struct compiled *c = malloc(sizeof *c);
	struct err e = {0};
	scoped_buf out;
	int r = p == NULL || c == NULL;

	buf_init(&out, PAGE_MAX);
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_policy(&sources[i], p);
	if (r == 0 && compile_policy(p, compile_arch(), c, &e) < 0)
		r = fail(sources[0].path, e.text);
	if (r == 0 && print_filter(name, c, &out) < 0)
		r = fail(path, " too long");
	if (r == 0)
		r = write_file(path, &out);
	free(c);
	syscall_policy_free(p);
	return r;
}

/* --- the page ---------------------------------------------------------- */

static const char page_head[] =
    "# System calls\n\n"
    "<!-- Made by policy-compile from policy/syscalls. Do not edit. -->\n\n"
    "Which system calls each process may make, and who makes them. A call\n"
    "that is not listed gets the default. Rules of one call are tried from\n"
    "top to bottom and the first that fits decides; *argN* is the low half\n"
    "of an argument, *ptrN* all of it. Every filter kills a process that\n"
    "uses another architecture's system calls (x32 and 32 bit on x86_64).\n";

/* '|' would end the cell. */
static int
put_cell(struct buf *out, struct bytes text)
{
	int r = 0;

	for (size_t i = 0; i < text.len && r == 0; i++) {
		if (text.data[i] == '|')
			r = buf_put(out, "\\", 1);
		if (r == 0)
			r = buf_put(out, text.data + i, 1);
	}
	return r;
}

static const char *
arch_note(unsigned int arches)
{
	if (arches == SYSCALL_ARCH_X86_64)
		return " (x86_64)";
	return arches == SYSCALL_ARCH_AARCH64 ? " (aarch64)" : "";
}

static int
put_rule(struct buf *out, const struct syscall_rule *rule)
{
	const char *quote = rule->test.len > 0 ? "`" : "";
	int r = buf_printf(out, "| `%s`%s | %s", rule->name,
	    arch_note(rule->arches), quote);

	if (r == 0)
		r = put_cell(out, rule->test);
	if (r == 0)
		r = buf_printf(out, "%s | ", quote);
	if (r == 0)
		r = syscall_print_action(rule->action, out);
	if (r == 0)
		r = buf_printf(out, " | ");
	if (r == 0)
		r = put_cell(out, rule->caller);
	if (r == 0)
		r = buf_printf(out, " | ");
	if (r == 0)
		r = put_cell(out, rule->reason);
	return r < 0 ? r : buf_printf(out, " |\n");
}

/* The comment at the top of a file introduces its section. */
static int
put_intro(struct buf *out, struct bytes text)
{
	size_t i = 0;
	int r = 0;

	while (i < text.len && text.data[i] == '#' && r == 0) {
		i += i + 1 < text.len && text.data[i + 1] == ' ' ? 2 : 1;
		while (i < text.len && text.data[i] != '\n' && r == 0)
			r = buf_put(out, text.data + i++, 1);
		if (r == 0)
			r = buf_put(out, "\n", 1);
		i++;
	}
	return r;
}

static int
put_defaults(struct buf *out, const struct syscall_policy *p)
{
	int r = 0;

	if (p->has_fallback) {
		r = buf_printf(out, "\nDefault: ");
		if (r == 0)
			r = syscall_print_action(p->fallback, out);
	}
	if (p->has_unknown && r == 0) {
		r = buf_printf(out, "; unknown numbers: ");
		if (r == 0)
			r = syscall_print_action(p->unknown, out);
	}
	return r < 0 ? r
		     : buf_printf(out, "\n\n| call | if | then | who | why |\n"
				       "|---|---|---|---|---|\n");
}

static int
put_section(struct buf *out, struct source *s)
{
	struct syscall_policy *p = syscall_policy_new();
	struct bytes name = short_name(s->path);
	int r;

	if (p == NULL || add_policy(s, p) != 0) {
		syscall_policy_free(p);
		return -EINVAL;
	}
	r = buf_printf(out, "\n## %.*s\n\n", (int)name.len, name.data);
	if (r == 0)
		r = put_intro(out, view(&s->text));
	if (r == 0)
		r = put_defaults(out, p);
	for (size_t i = 0; i < p->rule_count && r == 0; i++)
		r = put_rule(out, &p->rules[i]);
	syscall_policy_free(p);
	return r;
}

static int
make_page(struct source *sources, size_t count, struct buf *out)
{
	int r = buf_put(out, page_head, strlen(page_head));

	for (size_t i = 0; i < count && r == 0; i++)
		r = put_section(out, &sources[i]);
	return r < 0;
}

static int
check_page(const char *path, const struct buf *want)
{
	scoped_buf have = {0};

	if (read_file(path, &have) != 0)
		return 1;
	if (bytes_equal(view(&have), view(want)))
		return 0;
	return fail(path, " is stale; make it again with"
			  "  ninja syscalls-page");
}

static int
run(int argc, char **argv, struct source *sources)
{
	const char *mode = argv[1];
	bool filter = strcmp(mode, "--filter") == 0;
	int first = filter ? 4 : 3;
	size_t count;
	scoped_buf page;
	int r;

	buf_init(&page, PAGE_MAX);
	if (argc <= first || argc - first > FILES_MAX)
		return usage();
	count = (size_t)(argc - first);
	for (size_t i = 0; i < count; i++)
		sources[i].path = argv[(size_t)first + i];
	if (filter)
		return make_filter(argv[2], argv[3], sources, count);
	if (strcmp(mode, "--markdown") != 0 && strcmp(mode, "--check") != 0)
		return usage();
	r = make_page(sources, count, &page);
	if (r != 0)
		return r;
	return strcmp(mode, "--check") == 0 ? check_page(argv[2], &page)
					    : write_file(argv[2], &page);
}

int
main(int argc, char **argv)
{
	struct source sources[FILES_MAX] = {0};
	int r;

	if (argc < 2)
		return usage();
	r = run(argc, argv, sources);
	for (size_t i = 0; i < FILES_MAX; i++)
		buf_done(&sources[i].text);
	return r;
}
