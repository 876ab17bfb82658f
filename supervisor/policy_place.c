#include "supervisor/policy_place.h"

#include <string.h>

static const char own_proc[] =
    "the command's own /proc: its processes and no others; of it only what is "
    "theirs can be written";
static const char own_dev[] =
    "the sandbox's own /dev: null, zero, full, random, urandom, tty, its "
    "terminals and shared memory";
static const char own_sys[] =
    "the sandbox's own /sys: /sys/devices/system and nothing else";
static const char own_root[] =
    "a directory of the root that the preset strict has: nothing is in it but "
    "workspaces";
static const char own_run[] =
    "the sandbox's own /run: nothing but the file that /etc/resolv.conf "
    "leads to";

/* Trees before what lies in them: the last that holds a path counts. */
static const struct policy_place places[] = {
    {"/proc", true, PLAN_READ, PLACE_ALWAYS, own_proc},
    {"/dev", true, PLAN_NONE, PLACE_ALWAYS, own_dev},
    {"/dev", false, PLAN_READ, PLACE_ALWAYS, own_dev},
    {"/dev/null", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/zero", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/full", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/random", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/urandom", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/tty", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/pts", true, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/ptmx", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/fd", true, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/stdin", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/stdout", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/dev/stderr", false, PLAN_WRITE, PLACE_ALWAYS, own_dev},
    {"/sys", true, PLAN_NONE, PLACE_OF_SESSION, own_sys},
    {"/sys", false, PLAN_READ, PLACE_OF_SESSION, own_sys},
    {"/sys/devices", false, PLAN_READ, PLACE_OF_SESSION, own_sys},
    {"/sys/devices/system", true, PLAN_READ, PLACE_OF_SESSION, own_sys},
    {"/run", true, PLAN_NONE, PLACE_OF_SESSION, own_run},
    {"/run", false, PLAN_READ, PLACE_OF_SESSION, own_run},
    {"/root", false, PLAN_READ, PLACE_OF_STRICT, own_root},
    {"/home", false, PLAN_READ, PLACE_OF_STRICT, own_root},
    {"/var", false, PLAN_READ, PLACE_OF_STRICT, own_root},
    {"/var/tmp", false, PLAN_READ, PLACE_OF_STRICT, own_root},
};

const struct policy_place *
policy_place_find(const char *path)
{
	const struct policy_place *found = NULL;

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		const struct policy_place *p = &places[i];

		if (strcmp(p->path, path) == 0 ||
		    (p->tree &&
			profile_is_in(bytes_of(path), bytes_of(p->path))))
			found = p;
	}
	return found;
}
