#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/oci.h"

#define JSON_MAX   (1024u * 1024u) /* bytes of a runtime's profile */
#define EXIT_ERROR 2

static int
fail(const char *text)
{
	(void)fprintf(stderr, "sallyport: %s\n", text);
	return EXIT_ERROR;
}

static int
read_stdin(struct buf *out)
{
	ssize_t n;

	do {
		if (buf_reserve(out, 4096) < 0)
			return -EFBIG;
		n = read(STDIN_FILENO, out->data + out->len, 4096);
		if (n < 0)
			return -errno;
		out->len += (size_t)n;
	} while (n > 0);
	return 0;
}

int
command_policy_export(int argc, char **argv)
{
	struct syscall_policy *p = syscall_policy_new();
	json_t *root = NULL;
	struct err e = {0};
	scoped_buf text;
	int r;

	(void)argc;
	(void)argv;
	buf_init(&text, SYSCALL_TEXT_MAX + 4096);
	if (p == NULL || read_stdin(&text) < 0) {
		syscall_policy_free(p);
		return fail("the policy cannot be read");
	}
	r = syscall_text_parse((struct bytes){.data = text.data,
				   .len = text.len},
	    p, &e);
	if (r == 0)
		r = oci_export(p, &root, &e);
	if (r == 0)
		r = json_dumpf(root, stdout, JSON_INDENT(1)) < 0 ||
			    puts("") == EOF
			? err_set(&e, EIO, "standard output cannot be written")
			: 0;
	json_decref(root);
	syscall_policy_free(p);
	return r < 0 ? fail(e.text) : 0;
}

int
command_policy_import(int argc, char **argv)
{
	scoped_buf text, out;
	json_error_t why;
	struct err e = {0};
	json_t *root;
	int r;

	(void)argc;
	(void)argv;
	buf_init(&text, JSON_MAX + 4096);
	buf_init(&out, SYSCALL_TEXT_MAX);
	if (read_stdin(&text) < 0)
		return fail("the file cannot be read, or is too large");
	root = json_loadb((const char *)text.data, text.len,
	    JSON_REJECT_DUPLICATES, &why);
	if (root == NULL) {
		(void)fprintf(stderr, "sallyport: %d:%d: %s\n", why.line,
		    why.column, why.text);
		return EXIT_ERROR;
	}
	r = oci_import(root, &out, &e);
	json_decref(root);
	if (r < 0)
		return fail(e.text);
	return fwrite(out.data, 1, out.len, stdout) == out.len &&
		       fflush(stdout) == 0
		   ? 0
		   : fail("standard output cannot be written");
}
