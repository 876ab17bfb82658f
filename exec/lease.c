#include "exec/lease.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

struct lease *
lease_new(struct lease_id id, const struct spawned *s)
{
	struct lease *l = calloc(1, sizeof *l);

	if (l == NULL)
		return NULL;
	l->id = id;
	l->worker_end = -1;
	cgroup_init(&l->group);
	l->pidfd = (struct source){.fd = s->pidfd, .owner = l};
	l->status = (struct source){.fd = s->status, .owner = l};
	l->control = (struct source){.fd = s->control, .owner = l};
	return l;
}

void
lease_free(struct lease *l)
{
	if (l == NULL)
		return;
	source_close(&l->pidfd);
	source_close(&l->status);
	source_close(&l->control);
	fd_close(&l->worker_end);
	cgroup_close(&l->group);
	captures_free(l->said);
	free(l);
}

void
lease_kill(struct lease *l)
{
	l->killed = true;
	if (l->bare)
		(void)shutdown(l->control.fd, SHUT_WR);
	else
		(void)raw_pidfd_signal(l->pidfd.fd, SIGKILL);
	cgroup_kill(&l->group);
}

void
lease_tell(struct lease *l, enum control_type type, uint32_t a, uint32_t b)
{
	const struct control c = {.type = type, .a = a, .b = b};
	int r = raw_send(l->control.fd, &c, sizeof c, NULL, 0);

	/* A full socket: init takes its orders late, and another one of the
	 * same kind adds nothing. */
	if (r < 0 && r != -EAGAIN && r != -EPIPE)
		lease_kill(l);
}

int
lease_read_status(struct lease *l)
{
	struct status_record s;

	for (;;) {
		ssize_t n = read(l->status.fd, &s, sizeof s);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return -EAGAIN;
		if (n != (ssize_t)sizeof s)
			return 1;
		l->heard = true;
		l->last = s;
	}
}

int
lease_take_streams(const struct lease *l, int fds[CONTROL_STREAMS_MAX],
    size_t *count)
{
	/* A pty comes twice. */
	size_t want = l->command_of != NULL && l->said == NULL ? 0
		      : l->pipe_stdin			       ? 3
							       : 2;
	struct control c = {.type = CONTROL_MADE};
	int r = 1;

	/* Nothing comes with the news of a placeholder. */
	*count = 0;
	while (r == 1 && c.type == CONTROL_MADE && *count == 0) {
		*count = CONTROL_STREAMS_MAX;
		r = raw_recv(l->control.fd, &c, sizeof c, fds, count);
		if (r == 1)
			placeholder_note(&l->hold, &c);
	}
	if (r == 1 && c.type == CONTROL_STREAMS && *count == want)
		return 0;
	for (size_t i = 0; i < *count; i++)
		(void)close(fds[i]);
	return -EPROTO;
}

void
lease_read_made(const struct lease *l)
{
	int fds[CONTROL_STREAMS_MAX], r = 1;

	while (r == 1) {
		size_t count = CONTROL_STREAMS_MAX;
		struct control c;

		r = raw_recv(l->control.fd, &c, sizeof c, fds, &count);
		for (size_t i = 0; r == 1 && i < count; i++)
			(void)close(fds[i]);
		if (r == 1)
			placeholder_note(&l->hold, &c);
	}
}

bool
lease_read_exit(const struct lease *l, uint32_t *status)
{
	struct control c;
	size_t none = 0;

	if (raw_recv(l->control.fd, &c, sizeof c, NULL, &none) != 1 ||
	    c.type != CONTROL_EXITED)
		return false;
	*status = c.a;
	return true;
}
