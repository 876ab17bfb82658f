#include "exec/worker_names.h"

#include <errno.h>
#include <string.h>

#define ITEMS_MIN 256

void
worker_names_init(struct worker_names *n, size_t text_max)
{
	*n = (struct worker_names){0};
	buf_init(&n->text, text_max);
}

void
worker_names_done(struct worker_names *n)
{
	buf_done(&n->text);
	free(n->items);
	n->items = NULL;
	n->count = 0;
	n->cap = 0;
}

const char *
worker_names_get(const struct worker_names *n, size_t i)
{
	return (const char *)n->text.data + n->items[i].at;
}

static int
add(struct worker_names *n, const struct worker_dent *e)
{
	size_t at = n->text.len;

	if (n->count == n->cap) {
		size_t cap = n->cap == 0 ? ITEMS_MIN : 2 * n->cap;
		void *items = realloc(n->items, cap * sizeof *n->items);

		if (items == NULL)
			return -ENOMEM;
		n->items = items;
		n->cap = cap;
	}
	int r = buf_put(&n->text, e->name, strlen(e->name) + 1);
	if (r < 0)
		return r;
	n->items[n->count++] = (struct worker_name){.at = at, .type = e->type};
	return 0;
}

static bool
is_before(const struct worker_names *n, size_t a, size_t b)
{
	return strcmp(worker_names_get(n, a), worker_names_get(n, b)) < 0;
}

static void
swap(struct worker_names *n, size_t a, size_t b)
{
	struct worker_name item = n->items[a];

	n->items[a] = n->items[b];
	n->items[b] = item;
}

static void
sift_down(struct worker_names *n, size_t at, size_t count)
{
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= count)
			return;
		if (child + 1 < count && is_before(n, child, child + 1))
			child++;
		if (!is_before(n, at, child))
			return;
		swap(n, at, child);
		at = child;
	}
}

/* By heap: the C library's qsort asks for the machine's memory, a system call
 * that a file worker does not have. */
static void
sort(struct worker_names *n)
{
	for (size_t i = n->count / 2; i-- > 0;)
		sift_down(n, i, n->count);
	for (size_t end = n->count; end-- > 1;) {
		swap(n, 0, end);
		sift_down(n, 0, end);
	}
}

int
worker_names_read(struct worker_names *n, int fd, struct worker_dents *d)
{
	struct worker_dent e;
	int r;

	buf_clear(&n->text);
	n->count = 0;
	worker_dents_reset(d);
	while ((r = worker_dents_next(d, fd, &e)) > 0) {
		r = add(n, &e);
		if (r < 0)
			break;
	}
	if (r < 0 && r != -EMSGSIZE)
		return r;
	sort(n);
	return r == -EMSGSIZE;
}
