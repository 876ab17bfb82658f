#include "policy/decide.h"

/* Whether the request itself wants no network. */
static bool
wants_restricted(const struct decide_request *r)
{
	switch (r->sandbox) {
	case DECIDE_SANDBOX_NULL:
	case DECIDE_SANDBOX_DISABLED:
		return false;
	case DECIDE_SANDBOX_EXTERNAL:
	case DECIDE_SANDBOX_UNRESTRICTED:
	case DECIDE_SANDBOX_RESTRICTED:
		return !r->network_enabled;
	}
	return true;
}

/* The order of the checks is part of the protocol. */
static const char *
unenforceable(const struct decide_request *r, const struct decide_ceiling *c)
{
	if (r->network_proxy)
		return "Codex sandbox exec-server network proxy launch is not "
		       "supported.";
	if (r->managed_network)
		return "Codex managed network restrictions cannot be enforced "
		       "by the sandbox backend.";
	if (r->sandbox == DECIDE_SANDBOX_RESTRICTED)
		return "Codex process filesystem sandbox restrictions cannot "
		       "be enforced by the backend.";
	if (wants_restricted(r) && c->network_enabled)
		return "Codex network restrictions cannot be enforced by the "
		       "sandbox backend.";
	return NULL;
}

const char *
decide(const struct decide_request *r, const struct decide_ceiling *c,
    struct plan *plan)
{
	const char *why = unenforceable(r, c);

	if (why != NULL)
		return why;
	*plan = (struct plan){
	    .view = c->view,
	    .network_enabled = c->network_enabled,
	    .tell_network_disabled =
		r->sandbox != DECIDE_SANDBOX_NULL && !c->network_enabled,
	    .paths = c->paths,
	    .path_count = c->path_count,
	};
	return NULL;
}
