#include <errno.h>
#include <string.h>

#include "supervisor/binary.h"
#include "supervisor/own_files.h"
#include "supervisor/policy_command.h"

#define BINARIES 3

/* --- our own files -------------------------------------------------------- */

static int
protect(struct policy_ceiling *p, const struct config *c, struct err *e)
{
	static const char *const names[BINARIES][2] = {{"net", "sallyport-net"},
	    {"exec", "sallyport-exec"}, {"http", "sallyport-http"}};
	const char *file = c->files.count > 0 ? c->files.items[0] : NULL;
	const char *paths[BINARIES + 1] = {NULL};
	struct binary found[BINARIES];
	size_t wanted = c->http.enabled ? BINARIES : BINARIES - 1, n = 0;
	int r = 0;

	for (; n < wanted && r == 0; n++) {
		r = binary_open(&found[n], names[n][0], names[n][1], e);
		paths[n] = r == 0 ? found[n].path : NULL;
	}
	if (r == 0)
		r = own_files_protect(&p->workspaces, c, file, NULL, paths, e);
	while (n > 0)
		binary_close(&found[--n]);
	return r;
}

/* Of a configuration for another machine workspaces or files may be missing;
 * the rest can be told all the same. */
static void
find_own_files(struct policy_ceiling *p, const struct config *c)
{
	int r = workspaces_open(&p->workspaces, &c->workspaces,
	    c->preset == PRESET_OPEN, &p->trouble);

	if (r == 0)
		r = protect(p, c, &p->trouble);
	if (r < 0)
		list_clear(&p->workspaces.read_only);
}

/* --- the ceiling ---------------------------------------------------------- */

static void
use_preset(struct policy_ceiling *p, const struct config *c)
{
	const struct list *own = &p->workspaces.read_only;
	const struct decide_places places = {
	    .workspaces = (const char *const *)c->workspaces.items,
	    .workspace_count = c->workspaces.count,
	    .read_only = (const char *const *)own->items,
	    .read_only_count = own->count};

	decide_ceiling_of((enum decide_preset)c->preset,
	    c->network == NETWORK_ENABLED, &places, p->paths, &p->ceiling);
}

int
policy_ceiling_init(struct policy_ceiling *p, const struct config *c,
    struct err *e)
{
	const struct config_profile *profile = config_profile_of(c);
	const struct decide_request anything = {.sandbox = DECIDE_SANDBOX_NULL};
	int r = 0;

	*p = (struct policy_ceiling){.has_profile = profile != NULL};
	find_own_files(p, c);
	if (profile != NULL)
		r = config_ceiling_init(&p->own, profile, &c->workspaces,
		    &p->workspaces.read_only, e);
	else
		use_preset(p, c);
	if (r < 0)
		return r;
	if (profile != NULL)
		p->ceiling = p->own.ceiling;
	p->ceiling.network_enabled = c->network == NETWORK_ENABLED;
	return decide(&anything, &p->ceiling, &p->plan, e);
}

void
policy_ceiling_done(struct policy_ceiling *p)
{
	plan_done(&p->plan);
	if (p->has_profile)
		config_ceiling_done(&p->own);
	workspaces_done(&p->workspaces);
}

const struct config_rule *
policy_ceiling_rule(const struct policy_ceiling *p, const char *path)
{
	for (size_t i = 0; p->has_profile && i < p->own.ceiling.path_count; i++)
		if (strcmp(p->own.paths[i].path, path) == 0)
			return p->own.rules[i];
	return NULL;
}
