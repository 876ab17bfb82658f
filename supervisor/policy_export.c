/* The text of a policy; translating it to JSON is sallyport-tool's, as there
 * is no JSON in a process with rights. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/syscall_print.h"
#include "policy/texts.h"
#include "supervisor/binary.h"
#include "supervisor/policy_command.h"

#define EXPORT_MAX (512u * 1024u) /* bytes of a policy as text */

/* Become sallyport-tool with what stdin is by now. */
static int
run_tool(char *command)
{
	struct binary tool;
	struct err e = {0};
	char *args[] = {NULL, command, NULL};

	if (binary_open(&tool, "cli", "sallyport-tool", &e) < 0) {
		options_complain(e.text);
		return POLICY_ERROR;
	}
	args[0] = tool.path;
	(void)execv(tool.path, args);
	options_complain(strerror(errno));
	binary_close(&tool);
	return POLICY_ERROR;
}

/* A file without a name takes the place of standard input. */
static int
feed(const struct buf *text)
{
	scoped_fd fd = memfd_create("policy", MFD_CLOEXEC);

	if (fd < 0 || write(fd, text->data, text->len) != (ssize_t)text->len ||
	    lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0)
		return -errno;
	return 0;
}

static int export(const struct policy_source *s, bool oci)
{
	static char tool_command[] = "policy-export";
	struct syscall_policy *p = policy_source_parse(s);
	scoped_buf text;
	int r = p == NULL ? -ENOMEM : 0;

	buf_init(&text, EXPORT_MAX);
	if (r == 0)
		r = syscall_print(p, &text);
	syscall_policy_free(p);
	if (r == 0 && oci)
		r = feed(&text);
	if (r < 0) {
		options_complain(strerror(-r));
		return POLICY_ERROR;
	}
	if (oci)
		return run_tool(tool_command);
	(void)fwrite(text.data, 1, text.len, stdout);
	return POLICY_YES;
}

int
policy_export(int argc, char **argv)
{
	bool oci = argc == 3 && strcmp(argv[1], "--oci") == 0;
	bool text = argc == 3 && strcmp(argv[1], "--text") == 0;
	const struct policy_source *s =
	    oci || text ? policy_source_find(argv[2]) : NULL;

	if (s == NULL) {
		options_complain("want policy export --text or --oci, and "
				 "supervisor, net, exec, worker, http, init or "
				 "child");
		return POLICY_ERROR;
	}
	return export(s, oci);
}

/* --- import --------------------------------------------------------------- */

/* The architectures of ours that have the call; -EINVAL if it is none at all.
 * The name of another architecture's call is one. */
static int
arches_of(const char *name, unsigned int *arches)
{
	static const enum syscall_arch all[] = {SYSCALL_ARCH_X86_64,
	    SYSCALL_ARCH_AARCH64};
	unsigned int nr;

	*arches = 0;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		int r = compile_number(name, all[i], &nr);

		if (r == -EINVAL)
			return r;
		if (r == 0)
			*arches |= all[i];
	}
	return 0;
}

/* Profiles name calls of all architectures; a policy says who has which. */
static int
fit(struct syscall_policy *p, struct err *e)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->rule_count; i++) {
		struct syscall_rule *rule = &p->rules[i];
		unsigned int arches;

		if (arches_of(rule->name, &arches) < 0)
			return err_set(e, ENOTSUP,
			    "no such system call is known: %s", rule->name);
		rule->arches &= arches;
		if (rule->arches == 0)
			(void)fprintf(stderr,
			    "sallyport: %s: not a call of x86_64 or aarch64\n",
			    rule->name);
		else
			p->rules[kept++] = *rule;
	}
	p->rule_count = kept;
	return 0;
}

static int
read_pipe(int fd, struct buf *out)
{
	ssize_t n;

	do {
		if (buf_reserve(out, 4096) < 0)
			return -EFBIG;
		n = read(fd, out->data + out->len, 4096);
		if (n < 0 && errno != EINTR)
			return -errno;
		out->len += n > 0 ? (size_t)n : 0;
	} while (n != 0);
	return 0;
}

/* What sallyport-tool makes of standard input. */
static int
run_import(struct buf *out)
{
	static char tool_command[] = "policy-import";
	int ends[2], status;
	pid_t pid;
	int r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		if (dup2(ends[1], STDOUT_FILENO) < 0)
			_exit(POLICY_ERROR);
		_exit(run_tool(tool_command));
	}
	(void)close(ends[1]);
	r = pid < 0 ? -errno : read_pipe(ends[0], out);
	(void)close(ends[0]);
	if (pid > 0 && (waitpid(pid, &status, 0) < 0 || status != 0))
		return -ECHILD; /* it has said why */
	return r;
}

static int
import(struct buf *text, struct buf *out, struct err *e)
{
	struct syscall_policy *p = syscall_policy_new();
	int r = p == NULL ? -ENOMEM : 0;

	if (r == 0)
		r = syscall_text_parse((struct bytes){.data = text->data,
					   .len = text->len},
		    p, e);
	if (r == 0)
		r = fit(p, e);
	if (r == 0)
		r = syscall_print(p, out);
	syscall_policy_free(p);
	return r;
}

/* Let path take the place of standard input. */
static int
take_stdin(const char *path)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	return fd < 0 || dup2(fd, STDIN_FILENO) < 0 ? -errno : 0;
}

int
policy_import(int argc, char **argv)
{
	scoped_buf text, out;
	struct err e = {0};

	buf_init(&text, SYSCALL_TEXT_MAX + 4096);
	buf_init(&out, EXPORT_MAX);
	if (argc != 3 || strcmp(argv[1], "--oci") != 0) {
		options_complain("want policy import --oci FILE");
		return POLICY_ERROR;
	}
	if (strcmp(argv[2], "-") != 0 && take_stdin(argv[2]) < 0) {
		perror(argv[2]);
		return POLICY_ERROR;
	}
	if (run_import(&text) < 0)
		return POLICY_ERROR;
	if (import(&text, &out, &e) < 0) {
		options_complain(e.text);
		return POLICY_ERROR;
	}
	(void)fwrite(out.data, 1, out.len, stdout);
	return POLICY_YES;
}
