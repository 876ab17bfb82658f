/* Placeholders of children: removed when nobody relies upon them. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/log.h"
#include "exec/executor.h"

static void start_removal(struct executor *x);

/* It was killed: what it did not come to stays where it is. */
static void
tell_stay(const siginfo_t *info)
{
	if (info->si_code != CLD_EXITED)
		log_warn("placeholders_stay error=\"%s\"",
		    "their file system does not answer");
}

/* Starts that waited for the removal go on in all sessions. */
static void
remover_ready(struct executor *x, struct source *source)
{
	siginfo_t info = {0};
	bool more;

	(void)waitid(P_PIDFD, (id_t)source->fd, &info, WEXITED);
	source_close(source);
	tell_stay(&info);
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
	x->remover_deadline_ms =
	    clock_ms() + (int64_t)x->config->limits.fs_deadline;
	x->remover =
	    (struct source){.fd = pidfd, .ready = remover_ready, .owner = x};
	r = source_watch(x->epfd, &x->remover, EPOLLIN);
	if (r < 0)
		remover_ready(x, &x->remover); /* waits for its end */
}

int64_t
executor_placeholder_deadline(struct executor *x, int64_t now_ms)
{
	if (!x->removing)
		return -1;
	if (x->remover_deadline_ms <= now_ms) {
		/* Its end is what lets those go on that wait for it. */
		(void)raw_pidfd_signal(x->remover.fd, SIGKILL);
		x->remover_deadline_ms =
		    now_ms + (int64_t)x->config->limits.fs_deadline;
	}
	return x->remover_deadline_ms;
}

void
executor_release(struct executor *x, struct lease *l)
{
	lease_read_made(l);
	if (placeholder_release(&l->hold))
		start_removal(x);
}
