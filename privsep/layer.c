#include "privsep/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "privsep/role.h"

static const struct layer_row rows[LAYER_COUNT] = {[LAYER_NONE] = {"", "", "",
						       ""},
#define LAYER(name, key, words, needed_by, remedy)                             \
	[LAYER_##name] = {key, words, needed_by, remedy},
    LAYERS(LAYER)
#undef LAYER
};

static const struct {
	enum stage stage;
	enum layer layer;
} stages[] = {
    {STAGE_CLONE, LAYER_NAMESPACES},
    {STAGE_CGROUP, LAYER_CGROUP},
    {STAGE_JOIN, LAYER_NAMESPACES},
    {STAGE_MOUNT, LAYER_NAMESPACES},
    {STAGE_MOUNT_DEV, LAYER_NAMESPACES},
    {STAGE_MOUNT_PROC, LAYER_PROC},
    {STAGE_FORK, LAYER_USERNS},
    {STAGE_ID_MAP, LAYER_USERNS},
    {STAGE_USER_NAMESPACE, LAYER_USERNS},
    {STAGE_LANDLOCK, LAYER_LANDLOCK},
    {STAGE_INIT_LOCKDOWN, LAYER_SECCOMP},
    {STAGE_SECCOMP, LAYER_SECCOMP},
};

const struct layer_row *
layer_row(uint32_t layer)
{
	return &rows[layer < LAYER_COUNT ? layer : (uint32_t)LAYER_NONE];
}

enum layer
layer_of_stage(uint32_t stage)
{
	for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
		if (stages[i].stage == stage)
			return stages[i].layer;
	return LAYER_NONE;
}

/* In a process that ends at once. 0, or the positive errno. */
static int
try_unshare(int flags)
{
	const bool mounts = (flags & CLONE_NEWNS) != 0;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (unshare(flags) < 0)
			_exit(errno);
		/* Some security modules let namespaces be made, but nothing be
		 * done in them. */
		_exit(mounts && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE,
				    NULL) < 0
			  ? errno
			  : 0);
	}
	if (pid < 0)
		return errno;
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return ECHILD;
	return WEXITSTATUS(status);
}

int
layer_try_userns(void)
{
	/* To a plain user it is of use for what can be done in it. */
	return geteuid() == 0 ? try_unshare(CLONE_NEWUSER) : layer_try_mounts();
}

int
layer_try_mounts(void)
{
	return try_unshare(CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER));
}

uint32_t
layer_missing_namespaces(void)
{
	const int user = geteuid() == 0 ? 0 : CLONE_NEWUSER;

	if (layer_try_mounts() != 0)
		return ROLE_NS_USER | ROLE_NS_MNT | ROLE_NS_NET | ROLE_NS_IPC |
		       ROLE_NS_UTS;
	return try_unshare(user | CLONE_NEWNET) != 0 ? ROLE_NS_NET : 0;
}

/* The first byte of a file, or '?'. */
static char
first_of(const char *path)
{
	scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	char first;

	return fd >= 0 && read(fd, &first, 1) == 1 ? first : '?';
}

void
layer_userns_why(char out[LAYER_USERNS_WHY_MAX])
{
	static const struct {
		const char *path;
		char bad;
		const char *words;
	} switches[] = {
	    {"/proc/sys/user/max_user_namespaces", '0',
		"set the sysctl user.max_user_namespaces above 0"},
	    {"/proc/sys/kernel/unprivileged_userns_clone", '0',
		"set the sysctl kernel.unprivileged_userns_clone to 1"},
	    {"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
		"set the sysctl kernel.apparmor_restrict_unprivileged_userns "
		"to 0, or load an AppArmor profile with userns"},
	};

	for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
		if (first_of(switches[i].path) != switches[i].bad)
			continue;
		(void)snprintf(out, LAYER_USERNS_WHY_MAX, "%s",
		    switches[i].words);
		return;
	}
	(void)snprintf(out, LAYER_USERNS_WHY_MAX, "%s",
	    "allow CLONE_NEWUSER (container's filter, security module, sysctl "
	    "user.max_user_namespaces)");
}
