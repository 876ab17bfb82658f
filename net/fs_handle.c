#include "net/fs_handle.h"

#include "net/fs_audit.h"

#include "net/helper.h"

struct fs_handle *
fs_handle_find(struct connection *c, struct bytes id)
{
	struct fs_handle *h;

	TAILQ_FOREACH (h, &c->handles, link)
		if (h->worker != NULL && bytes_equal(h->id, id))
			return h;
	return NULL;
}

static bool
is_taken(const struct connection *c, struct bytes id)
{
	const struct fs_handle *h;

	TAILQ_FOREACH (h, &c->handles, link)
		if (bytes_equal(h->id, id))
			return true;
	return false;
}

static void
handle_free(struct fs_handle *h)
{
	union {
		const uint8_t *data;
		void *heap;
	} id = {.data = h->id.data};

	TAILQ_REMOVE(&h->connection->handles, h, link);
	h->connection->handle_count--;
	free(id.heap);
	free(h->path);
	free(h);
}

struct fs_handle *
fs_handle_reserve(struct connection *c, const struct rpc_id *id,
    struct bytes handle_id, bool replace)
{
	const char *noun = c->net->config.compat->handle_noun;
	struct fs_handle *h;
	char *key;

	if (is_taken(c, handle_id)) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "%s `%.*s` already exists", noun, (int)handle_id.len,
		    (const char *)handle_id.data);
		return NULL;
	}
	if (c->handle_count >= FS_HANDLES_MAX) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "at most %d %s may be open per connection", FS_HANDLES_MAX,
		    c->net->config.compat->handles_noun);
		return NULL;
	}
	h = calloc(1, sizeof *h);
	key = bytes_dup(handle_id);
	if (h == NULL || key == NULL) {
		free(h);
		free(key);
		rpc_error(c, id, RPC_INTERNAL, "out of memory");
		return NULL;
	}
	h->connection = c;
	h->id = (struct bytes){.data = (uint8_t *)key, .len = handle_id.len};
	h->number = ++c->net->last_number;
	h->replace = replace;
	TAILQ_INSERT_TAIL(&c->handles, h, link);
	c->handle_count++;
	return h;
}

struct fs_handle *
fs_handle_by_number(struct connection *c, uint32_t number)
{
	struct fs_handle *h;

	TAILQ_FOREACH (h, &c->handles, link)
		if (h->number == number)
			return h;
	return NULL;
}

/* Have w close a file for which nobody waits. Out of memory it stays open
 * until w ends, which its pins no longer prevent. */
static void
close_in_worker(struct net *n, struct fs_worker *w, uint32_t number)
{
	struct fs_call *call = fs_call_new_internal(n, MSG_FS_CLOSE);

	if (call == NULL)
		return;
	call->handle = number;
	helper_submit_to(w, call);
}

struct fs_handle *
fs_handle_opened(struct connection *c, struct fs_worker *w, uint32_t number)
{
	struct fs_handle *h = c != NULL ? fs_handle_by_number(c, number) : NULL;

	if (h == NULL)
		return NULL;
	h->worker = w;
	helper_pin(w);
	return h;
}

void
fs_handle_abandon(struct connection *c, uint32_t number)
{
	struct fs_handle *h = fs_handle_by_number(c, number);

	if (h != NULL)
		handle_free(h);
}

void
fs_handle_close(struct fs_handle *h)
{
	struct net *n = h->connection->net;
	struct fs_worker *w = h->worker;
	uint32_t number = h->number;

	fs_audit_close(h, "done");
	handle_free(h);
	if (w == NULL)
		return;
	helper_unpin(w);
	close_in_worker(n, w, number);
}

bool
fs_watch_add(struct connection *c, struct fs_worker *w, uint64_t id,
    uint32_t number)
{
	struct fs_watch *watch = calloc(1, sizeof *watch);

	if (watch == NULL)
		return false;
	watch->connection = c;
	watch->id = id;
	watch->number = number;
	watch->worker = w;
	TAILQ_INSERT_TAIL(&c->watches, watch, link);
	c->watch_count++;
	helper_pin(w);
	return true;
}

static void
watch_free(struct fs_watch *watch)
{
	TAILQ_REMOVE(&watch->connection->watches, watch, link);
	watch->connection->watch_count--;
	free(watch);
}

static void
fire(struct fs_watch *watch)
{
	struct connection *c = watch->connection;
	struct jsonw w;
	struct buf text;

	rpc_notify_begin(c, "fs/missingChanged", &w, &text);
	jsonw_open(&w, '{');
	jsonw_key(&w, "watchId");
	jsonw_uint(&w, watch->id);
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
	watch_free(watch);
}

void
fs_handle_on_changed(struct fs_worker *w, uint32_t number)
{
	struct connection *c = w->pool->session->connection;
	struct fs_watch *watch;

	if (c == NULL)
		return;
	TAILQ_FOREACH (watch, &c->watches, link)
		if (watch->number == number && watch->worker == w) {
			fire(watch);
			helper_unpin(w);
			return;
		}
}

void
fs_handle_connection_gone(struct connection *c)
{
	while (!TAILQ_EMPTY(&c->handles))
		fs_handle_close(TAILQ_FIRST(&c->handles));
	while (!TAILQ_EMPTY(&c->watches)) {
		struct fs_watch *watch = TAILQ_FIRST(&c->watches);
		struct fs_worker *w = watch->worker;

		helper_notify_unwatch(w, watch->number);
		watch_free(watch);
		helper_unpin(w);
	}
}

static void
drop_of(struct connection *c, const struct fs_worker *w)
{
	struct fs_handle *h = TAILQ_FIRST(&c->handles), *next_handle;
	struct fs_watch *watch = TAILQ_FIRST(&c->watches), *next_watch;

	for (; h != NULL; h = next_handle) {
		next_handle = TAILQ_NEXT(h, link);
		if (h->worker != w)
			continue;
		fs_audit_close(h, "failed");
		handle_free(h);
	}
	for (; watch != NULL; watch = next_watch) {
		next_watch = TAILQ_NEXT(watch, link);
		if (watch->worker == w)
			fire(watch);
	}
}

void
fs_handle_worker_gone(struct net *n, struct fs_worker *w)
{
	struct connection *c;

	TAILQ_FOREACH (c, &n->connections, link)
		drop_of(c, w);
}
