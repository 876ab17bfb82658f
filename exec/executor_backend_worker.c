/* The command that leads to a file worker where a backend's programs are. */
#include <errno.h>
#include <stdio.h>

#include "exec/executor_backend.h"
#include "exec/executor_env.h"

/* Where it starts; its paths are absolute. */
#define WORKER_CWD "/"

/*
 * Takes a program from the standard input and becomes it: in a file without a
 * name, so that nothing is left whatever happens. The first directory in which
 * a file can be executed serves. What head(1) reads too much is nothing: the
 * other side is silent until the program speaks.
 */
#define RECEIVE                                                                \
	"m=$(umask); umask 077; for d in \"${TMPDIR:-/tmp}\" /tmp /var/tmp "   \
	"/dev/shm "                                                            \
	"\"$HOME\"; do f=$d/.sallyport-$SALLYPORT_EXEC_ID; "                   \
	"(set -C; echo '#!/bin/sh' >\"$f\") 2>/dev/null || continue; "         \
	"if chmod 700 \"$f\" && \"$f\" 2>/dev/null; "                          \
	"then umask $m; exec 3>\"$f\"; rm \"$f\"; head -c %llu >&3; "          \
	"exec 4</proc/self/fd/3 3>&-; exec /proc/self/fd/4; fi; "              \
	"rm -f \"$f\"; done; "                                                 \
	"echo 'there is no directory to execute a file in' >&2; exit 1"

static int
put_argv(const struct backend_config *b, struct buf *out)
{
	char script[1024];
	int n, r;

	if (b->files == BACKEND_FILES_WORKER)
		return buf_put_cstring(out, b->worker);
	n = snprintf(script, sizeof script, RECEIVE,
	    (unsigned long long)b->program_len);
	if (n < 0 || (size_t)n >= sizeof script)
		return -EMSGSIZE;
	r = buf_put_cstring(out, "sh");
	if (r == 0)
		r = buf_put_cstring(out, "-c");
	return r < 0 ? r : buf_put_cstring(out, script);
}

int
executor_backend_worker(struct executor *x, struct session *s,
    const struct plan *plan, struct backend_start *b, struct err *e)
{
	scoped_buf env = {.max = EXECUTOR_ENV_MAX};
	scoped_buf argv = {.max = 2 * PATH_LEN_MAX};
	struct spec spec = {.cwd = bytes_of(WORKER_CWD), .pipe_stdin = true};
	int r = put_argv(&s->config->backend, &argv);

	*b = (struct backend_start){0};
	if (r < 0)
		return err_errno(e, -r, "worker");
	r = executor_env(x, s, &spec, plan, &env, e);
	if (r < 0)
		return r;
	spec.argv = (struct bytes){.data = argv.data, .len = argv.len};
	return executor_backend_start(x, s, &spec,
	    (struct bytes){.data = env.data, .len = env.len}, b, e);
}
