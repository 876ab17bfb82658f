/* What the user's own git and agents would run later: .git, .agents, .codex.
 * The first workspace has .git and .codex, the second a .git that is a link
 * to realgit and no others. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define RUN(name)                                                              \
	static void name(const struct attempt *a __attribute__((unused)),      \
	    const struct world *w __attribute__((unused)), struct result *r)

#define EXCHANGE 2u

static void
create(struct result *r, const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);

	(void)attempt_tried(r, fd, path);
}

RUN(hook)
{
	create(r, ".git/hooks/pre-commit");
}

RUN(config)
{
	(void)attempt_tried(r, attempt_append(".git/config"), "append");
}

RUN(move_away)
{
	if (attempt_tried(r, rename(".git", "gone"), "rename"))
		(void)rename("gone", ".git");
}

RUN(exchange)
{
	long got =
	    syscall(SYS_renameat2, AT_FDCWD, ".git", AT_FDCWD, "dir", EXCHANGE);

	if (attempt_tried(r, got, "exchange"))
		(void)syscall(SYS_renameat2, AT_FDCWD, ".git", AT_FDCWD, "dir",
		    EXCHANGE);
}

RUN(exchange_inner)
{
	(void)attempt_tried(r,
	    syscall(SYS_renameat2, AT_FDCWD, ".git/config", AT_FDCWD, "file",
		EXCHANGE),
	    "exchange");
}

RUN(second_name)
{
	if (attempt_tried(r, link(".git/config", "config-by-link"), "link"))
		(void)unlink("config-by-link");
}

RUN(take_out)
{
	(void)attempt_tried(r, rename(".git/config", "config-out"), "rename");
}

RUN(mode)
{
	(void)attempt_tried(r, chmod(".git/config", 0777), "chmod");
}

RUN(codex)
{
	(void)attempt_tried(r, attempt_append(".codex/config.toml"), "append");
}

/* A directory that is not there yet is made, and a file in it. */
static void
plant(struct result *r, const char *dir, const char *name)
{
	char path[600], made[620];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	(void)mkdir(path, 0755);
	(void)snprintf(made, sizeof made, "%s/planted", path);
	create(r, made);
}

RUN(missing_agents)
{
	plant(r, w->second, ".agents");
}

RUN(missing_codex)
{
	plant(r, w->second, ".codex");
}

RUN(missing_replaced)
{
	char from[600];

	(void)snprintf(from, sizeof from, "%s/dir", w->second);
	(void)attempt_tried(r, rename(from, attempt_path(w->second, ".codex")),
	    "rename over it");
}

RUN(missing_linked)
{
	const char *path = attempt_path(w->second, ".codex");

	(void)rmdir(path);
	(void)attempt_tried(r, symlink("dir", path), "symlink");
}

RUN(link_followed)
{
	create(r, attempt_path(w->second, ".git/planted"));
}

RUN(link_replaced)
{
	const char *path = attempt_path(w->second, ".git");

	(void)attempt_tried(r, unlink(path) < 0 ? -1 : mkdir(path, 0755),
	    "unlink and mkdir");
}

RUN(link_moved)
{
	char from[600];

	(void)snprintf(from, sizeof from, "%s/.git", w->second);
	(void)attempt_tried(r,
	    rename(from, attempt_path(w->second, "moved-link")), "rename");
}

#define HERE IN_READ | IN_WRITE

const struct attempt attempts_protected[] = {
    {"git-hook", "view: protected", HERE, .run = hook},
    {"git-config", "view: protected", HERE, .run = config},
    {"git-move-away", "view: protected", HERE, .run = move_away},
    {"git-exchange", "view: protected", HERE, .run = exchange},
    {"git-exchange-inner", "view: protected", HERE, .run = exchange_inner},
    {"git-second-name", "view: protected", HERE, .run = second_name},
    {"git-take-out", "view: protected", HERE, .run = take_out},
    {"git-chmod", "view: protected", HERE, .run = mode},
    {"git-link-followed", "view: protected", HERE, .run = link_followed},
    {"git-link-moved", "view: protected", HERE, .run = link_moved},
    {"git-link-replaced", "view: protected", HERE, .run = link_replaced},
    {"codex-config", "view: protected", HERE, .run = codex},
    {"agents-missing", "view: placeholder", HERE, .run = missing_agents},
    {"codex-missing", "view: placeholder", HERE, .run = missing_codex},
    {"codex-missing-replaced", "view: placeholder", HERE,
	.run = missing_replaced},
    {"codex-missing-linked", "view: placeholder", HERE, .run = missing_linked},
    {0},
};
