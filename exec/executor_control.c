/* What net says of a program that runs. */
#include <errno.h>
#include <signal.h>

#include "exec/executor.h"
#include "exec/executor_backend.h"

void
executor_lease_end(struct executor *x, struct lease *l)
{
	/* A worker elsewhere ends with the way to it. */
	if (l->job != NULL && !l->worker)
		executor_backend_end(x, l);
	else
		lease_kill(l);
}

struct lease *
executor_lease(const struct executor *x, const struct peer *p, uint32_t session,
    uint32_t id, int *r)
{
	struct lease *l;

	*r = id == 0 || id > x->last_lease ? -EPROTO : 0;
	LIST_FOREACH (l, &x->leases, link)
		if (l->id.v == id)
			break;
	if (l == NULL)
		return NULL;
	if (l->generation.v != p->generation.v || l->session.v != session ||
	    l->state != LEASE_RUNNING || l->command_of != NULL) {
		*r = -EPROTO;
		return NULL;
	}
	return l;
}

int
executor_on_process_signal(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_process_signal *m = &msg->u.process_signal;
	struct lease *l;
	int r;

	if (m->signum != SIGINT)
		return err_set(e, EPROTO, "signal %u", m->signum);
	l = executor_lease(x, p, m->session, m->lease, &r);
	if (r < 0)
		return err_set(e, EPROTO, "signal to lease %u", m->lease);
	if (l != NULL && l->job != NULL)
		executor_backend_interrupt(x, l);
	else if (l != NULL)
		lease_tell(l, CONTROL_INTERRUPT, 0, 0);
	return 0;
}

int
executor_on_process_terminate(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_process_terminate *m = &msg->u.process_terminate;
	int r;
	struct lease *l = executor_lease(x, p, m->session, m->lease, &r);

	if (r < 0)
		return err_set(e, EPROTO, "terminate lease %u", m->lease);
	if (l != NULL)
		executor_lease_end(x, l);
	return 0;
}

int
executor_on_process_resize(struct executor *x, struct peer *p,
    const struct msg *msg, struct err *e)
{
	const struct msg_process_resize *m = &msg->u.process_resize;
	struct lease *l;
	int r;

	if (m->rows > TTY_SIZE_MAX || m->cols > TTY_SIZE_MAX)
		return err_set(e, EPROTO, "size %u x %u", m->rows, m->cols);
	l = executor_lease(x, p, m->session, m->lease, &r);
	if (r < 0)
		return err_set(e, EPROTO, "resize lease %u", m->lease);
	if (l != NULL && l->tty)
		lease_tell(l, CONTROL_RESIZE, m->rows, m->cols);
	return 0;
}
