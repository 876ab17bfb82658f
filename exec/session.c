#include "exec/session.h"

#include <errno.h>
#include <string.h>

/* What may wait for a template: it stands after some milliseconds. */
#define WAITING_COUNT_MAX 256
#define WAITING_BYTES_MAX (16u * MIB)

struct session *
session_new(struct exec_config *config, struct session_id id,
    struct generation generation, unsigned int slot)
{
	struct session *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->config = config_hold(config);
	s->id = id;
	s->generation = generation;
	s->slot = slot;
	s->helper = (struct source){.fd = -1, .owner = s};
	s->helper_socket = -1;
	template_init(&s->template);
	cgroup_init(&s->group);
	STAILQ_INIT(&s->waiting);
	return s;
}

void
session_free(struct session *s)
{
	struct waiting *w;

	if (s == NULL)
		return;
	while ((w = session_next_waiting(s)) != NULL)
		free(w);
	template_done(&s->template);
	source_close(&s->helper);
	fd_close(&s->helper_socket);
	cgroup_close(&s->group);
	config_drop(s->config);
	free(s);
}

int
session_wait(struct session *s, uint32_t number, bool worker, struct bytes spec)
{
	struct waiting *w;

	if (s->waiting_count >= WAITING_COUNT_MAX ||
	    spec.len > WAITING_BYTES_MAX - s->waiting_bytes)
		return -ENOBUFS;
	w = malloc(sizeof *w + spec.len);
	if (w == NULL)
		return -ENOMEM;
	w->number = number;
	w->worker = worker;
	w->len = spec.len;
	if (spec.len > 0)
		memcpy(w->spec, spec.data, spec.len);
	STAILQ_INSERT_TAIL(&s->waiting, w, link);
	s->waiting_count++;
	s->waiting_bytes += spec.len;
	return 0;
}

struct waiting *
session_next_waiting(struct session *s)
{
	struct waiting *w = STAILQ_FIRST(&s->waiting);

	if (w == NULL)
		return NULL;
	STAILQ_REMOVE_HEAD(&s->waiting, link);
	s->waiting_count--;
	s->waiting_bytes -= w->len;
	return w;
}
