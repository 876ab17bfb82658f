/* The text of a policy; translating it to JSON is sallyport-tool's, as there
 * is no JSON in a process with rights. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

int
policy_import(int argc, char **argv)
{
	static char tool_command[] = "policy-import";

	if (argc != 3 || strcmp(argv[1], "--oci") != 0) {
		options_complain("want policy import --oci FILE");
		return POLICY_ERROR;
	}
	if (strcmp(argv[2], "-") != 0 &&
	    freopen(argv[2], "re", stdin) == NULL) {
		perror(argv[2]);
		return POLICY_ERROR;
	}
	return run_tool(tool_command);
}
