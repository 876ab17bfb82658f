/* Placeholders of children: removed when nobody relies upon them. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/log.h"
#include "exec/executor.h"

static void start_removal(struct executor *x);

/* Starts that waited for the removal go on in all sessions. */
static void
remover_ready(struct executor *x, struct source *source)
{
	siginfo_t info;
	bool more;

	(void)waitid(P_PIDFD, (id_t)source->fd, &info, WEXITED);
	source_close(source);
	x->removing = false;
	more = placeholder_removed(&x->placeholders);
	for (size_t i = 0; i < x->slot_count; i++) {
		struct session *s = x->sessions[i];

		if (s != NULL && s->state != SESSION_OPENING)
			executor_process_resume(x, s);
	}
	if (more)
		start_removal(x);
}

static void
start_removal(struct executor *x)
{
	int pidfd, r;

	if (x->removing)
		return; /* its end looks for more */
	r = placeholder_remove(&x->placeholders, x->config, &pidfd);
	if (r < 0) {
		log_warn("placeholders_stay errno=%d", -r);
		return;
	}
	x->removing = true;
	x->remover =
	    (struct source){.fd = pidfd, .ready = remover_ready, .owner = x};
	r = source_watch(x->epfd, &x->remover, EPOLLIN);
	if (r < 0)
		remover_ready(x, &x->remover); /* waits for its end */
}

void
executor_release(struct executor *x, struct lease *l)
{
	lease_read_made(l);
	if (placeholder_release(&l->hold))
		start_removal(x);
}
