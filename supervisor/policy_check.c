#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/policy_command.h"

static int
check_text(const char *path, struct buf *errors)
{
	struct policy_file f;
	int r = policy_file_load(&f, path, errors);

	policy_file_done(&f);
	return r;
}

/* What only shows when all values are known. */
static int
check_whole(struct config *c, const char *path, struct buf *errors)
{
	struct err e = {0};
	int r = config_finish(c, &e);

	if (r < 0)
		(void)!buf_printf(errors, "%s: %s\n", path, e.text);
	return r;
}

static int
check_config(const char *path, struct buf *errors)
{
	struct config c;
	int r = config_init(&c);

	if (r == 0)
		r = config_load(&c, CONFIG_FILE, path, errors);
	if (r == 0)
		r = check_whole(&c, path, errors);
	config_done(&c);
	return r;
}

static enum policy_exit
check_file(const char *path)
{
	scoped_buf errors;
	int r;

	buf_init(&errors, CONFIG_ERRORS_MAX);
	if (access(path, R_OK) < 0) {
		perror(path);
		return POLICY_ERROR;
	}
	r = policy_is_text(path) ? check_text(path, &errors)
				 : check_config(path, &errors);
	(void)fwrite(errors.data, 1, errors.len, stderr);
	return r < 0 ? POLICY_NO : POLICY_YES;
}

int
policy_check(int argc, char **argv)
{
	enum policy_exit worst = POLICY_YES;

	if (argc < 2) {
		(void)fputs("usage: sallyport policy check FILE...\n", stderr);
		return POLICY_ERROR;
	}
	for (int i = 1; i < argc; i++) {
		enum policy_exit one = check_file(argv[i]);

		worst = one > worst ? one : worst;
	}
	return (int)worst;
}
