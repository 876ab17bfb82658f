#include "net/output.h"

#include <string.h>

#include "base/limits.h"

static const char *const names[] = {
    [STREAM_STDOUT] = "stdout",
    [STREAM_STDERR] = "stderr",
    [STREAM_PTY] = "pty",
};

const char *
stream_kind_name(enum stream_kind kind)
{
	return names[kind];
}

void
output_init(struct output *o)
{
	TAILQ_INIT(&o->chunks);
	o->kept = 0;
	o->count = 0;
	o->next_seq = 1;
}

static void
drop_oldest(struct output *o)
{
	struct chunk *c = TAILQ_FIRST(&o->chunks);

	TAILQ_REMOVE(&o->chunks, c, link);
	o->kept -= c->len;
	o->count--;
	free(c);
}

void
output_done(struct output *o)
{
	while (!TAILQ_EMPTY(&o->chunks))
		drop_oldest(o);
}

uint64_t
output_event(struct output *o)
{
	return o->next_seq++;
}

uint64_t
output_append(struct output *o, enum stream_kind kind, struct bytes data)
{
	struct chunk *c = malloc(sizeof *c + data.len);
	uint64_t seq = output_event(o);

	o->bytes += data.len;
	if (c == NULL)
		return seq;
	c->seq = seq;
	c->kind = kind;
	c->len = data.len;
	memcpy(c->data, data.data, data.len);
	TAILQ_INSERT_TAIL(&o->chunks, c, link);
	o->kept += c->len;
	o->count++;
	while (o->kept > PROCESS_OUTPUT_MAX || o->count > PROCESS_CHUNKS_MAX)
		drop_oldest(o);
	return seq;
}

const struct chunk *
output_after(const struct output *o, uint64_t seq)
{
	const struct chunk *c, *found = NULL;

	/* A reader is usually near the end. */
	TAILQ_FOREACH_REVERSE(c, &o->chunks, chunk_list, link)
	{
		if (c->seq <= seq)
			break;
		found = c;
	}
	return found;
}
