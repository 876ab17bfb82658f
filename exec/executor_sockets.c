/* Sockets that the host has made since a session began: the next start of the
 * session covers them, for itself and for those after it. What is own is the
 * same for all sessions of a server, whichever configuration they have. */
#include "base/clock.h"
#include "base/log.h"
#include "exec/executor.h"

void
executor_sockets_open(struct executor *x, struct session *s)
{
	int r = sockets_refresh(&x->sockets, s->config, clock_ms());

	/* Then they count as new at the first start, which refuses. */
	if (r < 0)
		log_warn("sockets_unknown session=%u errno=%d", s->id.v, -r);
	for (size_t i = 0; i < TEMPLATE_SETS; i++)
		s->sockets[i] = x->sockets.generation;
}

/* Whether the view of that set has them covered: view.h. */
static bool
is_covered(const struct session *s, enum template_set set)
{
	if (set == TEMPLATE_NARROW)
		return true;
	return s->config->network == NETWORK_RESTRICTED &&
	       s->config->preset != PRESET_OPEN;
}

int
executor_sockets_for(struct executor *x, const struct session *s,
    const struct template_start *from, const char ***out)
{
	enum template_set set = (enum template_set)(from - s->template.sets);
	int r;

	*out = NULL;
	if (!is_covered(s, set) || from->ns[TEMPLATE_MNT] < 0)
		return 0;
	r = sockets_refresh(&x->sockets, s->config, clock_ms());
	return r < 0 ? r : sockets_after(&x->sockets, s->sockets[set], out);
}

void
executor_sockets_asked(const struct executor *x, const struct session *s,
    const struct template_start *from, struct lease *l)
{
	l->set = (enum template_set)(from - s->template.sets);
	l->sockets = x->sockets.generation;
}

void
executor_sockets_done(struct executor *x, const struct lease *l)
{
	struct session *s = x->sessions[l->slot];

	if (s->sockets[l->set] < l->sockets)
		s->sockets[l->set] = l->sockets;
}
