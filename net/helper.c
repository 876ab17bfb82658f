#include "net/helper.h"

#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "base/log.h"
#include "net/fs_handle.h"

static void serve(struct fs_pool *pool);

static struct fs_pool *
pool_find(struct session *s, struct bytes sandbox)
{
	struct fs_pool *pool;

	TAILQ_FOREACH (pool, &s->pools, link)
		if (bytes_equal((struct bytes){pool->sandbox.data,
				    pool->sandbox.len},
			sandbox))
			return pool;
	return NULL;
}

static struct fs_pool *
pool_new(struct session *s, struct bytes sandbox)
{
	struct fs_pool *pool = calloc(1, sizeof *pool);

	if (pool == NULL)
		return NULL;
	buf_init(&pool->sandbox, PROCESS_SPEC_MAX);
	if (buf_put(&pool->sandbox, sandbox.data, sandbox.len) < 0) {
		free(pool);
		return NULL;
	}
	pool->session = s;
	TAILQ_INIT(&pool->workers);
	TAILQ_INIT(&pool->waiting);
	TAILQ_INSERT_TAIL(&s->pools, pool, link);
	return pool;
}

/* A pool with neither workers nor calls is forgotten. */
static void
pool_free_if_empty(struct fs_pool *pool)
{
	if (!TAILQ_EMPTY(&pool->workers) || !TAILQ_EMPTY(&pool->waiting))
		return;
	TAILQ_REMOVE(&pool->session->pools, pool, link);
	buf_done(&pool->sandbox);
	free(pool);
}

/* Take a worker out of its pool. What it was doing fails, what lived in it is
 * gone; the pool stays. */
static void
worker_end(struct fs_worker *w, const char *why)
{
	struct fs_pool *pool = w->pool;
	struct net *n = pool->session->net;
	struct fs_call *call, *next;

	TAILQ_REMOVE(&pool->workers, w, link);
	pool->worker_count--;
	timer_clear(&w->idle);
	if (w->channel != NULL) {
		poller_forget(n->poller, &w->watch);
		channel_free(w->channel);
	}
	if (w->call != NULL)
		fs_call_fail(w->call, RPC_INTERNAL, "%s", why);
	for (call = TAILQ_FIRST(&pool->waiting); call != NULL; call = next) {
		next = TAILQ_NEXT(call, link);
		if (call->target != w)
			continue;
		TAILQ_REMOVE(&pool->waiting, call, link);
		fs_call_fail(call, RPC_INTERNAL, "%s", why);
	}
	fs_handle_worker_gone(n, w);
	free(w);
}

/* The same, and have exec kill it: it may hang where it sees no channel. */
static void
worker_kill(struct fs_worker *w, const char *why)
{
	struct session *s = w->pool->session;

	net_order(s->net, worker_kill, .session = s->id.v, .lease = w->lease.v);
	worker_end(w, why);
}

static void
idle_passed(struct timer *t)
{
	struct fs_worker *w = container_of(t, struct fs_worker, idle);
	struct fs_pool *pool = w->pool;

	worker_end(w, "ended");
	pool_free_if_empty(pool);
}

static void
deadline_passed(struct timer *t)
{
	struct fs_call *call = container_of(t, struct fs_call, deadline);
	struct fs_worker *w = call->target;
	struct fs_pool *pool = w->pool;

	log_warn("fs_deadline session=%u lease=%u", pool->session->id.v,
	    w->lease.v);
	worker_kill(w, "the file operation took longer than "
		       "limits.fs_deadline and was ended");
	serve(pool);
	pool_free_if_empty(pool);
}

/* Give call to w, which is idle. */
static void
worker_start(struct fs_worker *w, struct fs_call *call)
{
	struct net *n = w->pool->session->net;
	int r;

	timer_clear(&w->idle);
	w->call = call;
	call->target = w;
	call->number = ++n->last_number;
	timer_set(n->lws, &call->deadline, n->config.limits.fs_deadline,
	    deadline_passed);
	r = fs_call_send(call, w->channel);
	/* An idle worker's channel is empty, so the one way to fail and go on
	 * is a call too large for a record. */
	if (r == -EMSGSIZE) {
		w->call = NULL;
		fs_call_fail(call, RPC_INVALID_REQUEST, "request is too large");
	} else if (r < 0) {
		worker_kill(w, "the file worker has gone");
	}
}

static struct fs_worker *
idle_worker(struct fs_pool *pool)
{
	struct fs_worker *w;

	TAILQ_FOREACH (w, &pool->workers, link)
		if (w->channel != NULL && w->call == NULL)
			return w;
	return NULL;
}

static bool
is_opening(const struct fs_pool *pool)
{
	const struct fs_worker *w;

	TAILQ_FOREACH (w, &pool->workers, link)
		if (w->channel == NULL)
			return true;
	return false;
}

/* Ask exec for one more. Returns 0 or a negative errno. */
static int
worker_open(struct fs_pool *pool)
{
	struct session *s = pool->session;
	struct net *n = s->net;
	struct fs_worker *w = calloc(1, sizeof *w);
	int r;

	if (w == NULL)
		return -ENOMEM;
	w->pool = pool;
	w->number = ++n->last_number;
	r = net_exec(n, worker_open, .number = w->number, .session = s->id.v,
	    .sandbox = {pool->sandbox.data, pool->sandbox.len});
	if (r < 0) {
		free(w);
		return r;
	}
	TAILQ_INSERT_TAIL(&pool->workers, w, link);
	pool->worker_count++;
	return 0;
}

static void
fail_waiting(struct fs_pool *pool, int code, const char *why)
{
	while (!TAILQ_EMPTY(&pool->waiting)) {
		struct fs_call *call = TAILQ_FIRST(&pool->waiting);

		TAILQ_REMOVE(&pool->waiting, call, link);
		fs_call_fail(call, code, "%s", why);
	}
}

/* The first waiting call that can be served now, and by whom. */
static struct fs_call *
next_call(struct fs_pool *pool, struct fs_worker **by)
{
	struct fs_worker *idle = idle_worker(pool);
	struct fs_call *call;

	TAILQ_FOREACH (call, &pool->waiting, link) {
		*by = call->target != NULL ? call->target : idle;
		if (*by != NULL && (*by)->call == NULL)
			return call;
	}
	return NULL;
}

/* Whether some call waits that any worker could serve. */
static bool
needs_worker(const struct fs_pool *pool)
{
	const struct fs_call *call;

	TAILQ_FOREACH (call, &pool->waiting, link)
		if (call->target == NULL)
			return true;
	return false;
}

/* Hand out what waits, and get one more worker if all are busy. */
static void
serve(struct fs_pool *pool)
{
	uint64_t max = pool->session->net->config.limits.workers_max;
	struct fs_worker *w;
	struct fs_call *call;

	while ((call = next_call(pool, &w)) != NULL) {
		TAILQ_REMOVE(&pool->waiting, call, link);
		worker_start(w, call);
	}
	if (!needs_worker(pool) || is_opening(pool) ||
	    pool->worker_count >= max)
		return;
	if (worker_open(pool) < 0 && pool->worker_count == 0)
		fail_waiting(pool, RPC_INVALID_REQUEST,
		    "busy: no file worker can be started now; try again later");
}

void
helper_submit(struct session *s, struct bytes sandbox, struct fs_call *call)
{
	struct fs_pool *pool = pool_find(s, sandbox);

	if (pool == NULL)
		pool = pool_new(s, sandbox);
	if (pool == NULL) {
		fs_call_fail(call, RPC_INTERNAL, "out of memory");
		return;
	}
	TAILQ_INSERT_TAIL(&pool->waiting, call, link);
	serve(pool);
	pool_free_if_empty(pool);
}

void
helper_submit_to(struct fs_worker *w, struct fs_call *call)
{
	struct fs_pool *pool = w->pool;

	call->target = w;
	TAILQ_INSERT_TAIL(&pool->waiting, call, link);
	serve(pool);
	pool_free_if_empty(pool);
}

void
helper_notify_unwatch(struct fs_worker *w, uint32_t watch)
{
	struct msg_fs_unwatch m = {.watch = watch};

	/* If it cannot be told, its channel is broken and it ends anyway. */
	if (channel_send_fs_unwatch(w->channel, &m, NULL, 0) < 0)
		log_debug("unwatch_unsent lease=%u", w->lease.v);
}

static void
settle(struct fs_worker *w)
{
	struct net *n = w->pool->session->net;

	if (w->call == NULL && w->pins == 0)
		timer_set(n->lws, &w->idle, n->config.limits.worker_idle,
		    idle_passed);
	else
		timer_clear(&w->idle);
}

void
helper_pin(struct fs_worker *w)
{
	w->pins++;
	settle(w);
}

void
helper_unpin(struct fs_worker *w)
{
	w->pins--;
	settle(w);
}

/* Why a worker elsewhere is out of reach, for clients. */
static const char *
lost_words(uint32_t reason)
{
	static const char *const words[] = {
	    [FS_LOST_NO_START] =
		"the backend's command has not started the file worker",
	    [FS_LOST_NO_WORKER] =
		"what the backend's command has started is no file worker",
	    [FS_LOST_OTHER_BUILD] =
		"the backend's file worker is of another build of sallyport",
	    [FS_LOST_ENDED] = "the backend's file worker has gone",
	    [FS_LOST_BROKEN] = "the backend's file worker broke the contract",
	};

	return reason <= FS_LOST_MAX ? words[reason]
				     : "the file worker has gone";
}

static void
on_lost(struct fs_worker *w, const struct msg_fs_lost *m)
{
	char said[FS_LOST_TEXT_MAX + 1];

	/* Whatever is there wrote that. */
	log_quotable(m->text.data, m->text.len, said, sizeof said);
	log_warn("worker_lost session=%u lease=%u reason=%u said=\"%s\"",
	    w->pool->session->id.v, w->lease.v, m->reason, said);
	worker_kill(w, lost_words(m->reason));
}

/* False if w tells more than it was ever asked to: nothing that it can do at no
 * cost may cost us something without end. */
static bool
on_changed(struct fs_worker *w, const struct msg_fs_changed *m)
{
	if (w->changes_due == 0) {
		log_warn("worker_changes_unasked session=%u lease=%u watch=%u",
		    w->pool->session->id.v, w->lease.v, m->watch);
		worker_kill(w, "the file worker broke the contract");
		return false;
	}
	w->changes_due--;
	fs_handle_on_changed(w, m->watch);
	return true;
}

/* A message of w. False if w has ended. */
static bool
on_message(struct fs_worker *w, struct msg *m)
{
	struct fs_call *call = w->call;

	if (m->type == MSG_FS_CHANGED)
		return on_changed(w, &m->u.fs_changed);
	if (m->type == MSG_FS_LOST) {
		on_lost(w, &m->u.fs_lost);
		return false;
	}
	if (call == NULL) {
		worker_kill(w, "the file worker broke the contract");
		return false;
	}
	switch (fs_call_answer(call, w, m)) {
	case FS_CONTINUES:
		return true;
	case FS_ANSWERED:
		w->call = NULL;
		settle(w);
		return true;
	case FS_BROKEN:
		break;
	}
	worker_kill(w, "the file worker broke the contract");
	return false;
}

void
helper_finished(struct fs_worker *w)
{
	struct fs_pool *pool = w->pool;

	w->call = NULL;
	settle(w);
	serve(pool);
}

void
helper_discard(struct fs_worker *w)
{
	struct fs_pool *pool = w->pool;

	w->call = NULL;
	worker_kill(w, "the file worker was ended");
	serve(pool);
	pool_free_if_empty(pool);
}

/* Records handled per event, so that one worker does not starve the rest. */
#define RECORDS_PER_EVENT 8

static void
worker_ready(struct watch *watch, uint32_t events)
{
	struct fs_worker *w = container_of(watch, struct fs_worker, watch);
	struct fs_pool *pool = w->pool;
	struct err e = {0};
	struct msg m;
	int r = 1;

	(void)events;
	for (int i = 0; r > 0 && i < RECORDS_PER_EVENT; i++) {
		bool alive;

		r = channel_recv(w->channel, &m, &e);
		if (r <= 0)
			break;
		alive = on_message(w, &m);
		msg_done(&m);
		if (!alive)
			r = -EPIPE;
	}
	if (r == 0 || (r < 0 && r != -EAGAIN && r != -EPIPE)) {
		log_info("worker_gone session=%u lease=%u %s",
		    pool->session->id.v, w->lease.v, e.text);
		worker_kill(w, "the file worker has gone");
	}
	serve(pool);
	pool_free_if_empty(pool);
}

static struct fs_worker *
by_number(struct net *n, uint32_t number)
{
	struct session *s;
	struct fs_pool *pool;
	struct fs_worker *w;

	TAILQ_FOREACH (s, &n->sessions, link)
		TAILQ_FOREACH (pool, &s->pools, link)
			TAILQ_FOREACH (w, &pool->workers, link)
				if (w->number == number && w->channel == NULL)
					return w;
	return NULL;
}

void
helper_on_opened(struct net *n, struct msg *m)
{
	struct fs_worker *w = by_number(n, m->u.worker_opened.number);
	struct fs_pool *pool;

	/* Its session has ended, and with it the worker. */
	if (w == NULL)
		return;
	pool = w->pool;
	w->lease.v = m->u.worker_opened.lease;
	w->channel = channel_new(msg_take_fd(m, 0), ROLE_NET, ROLE_WORKER);
	if (w->channel != NULL) {
		w->watch.fd = channel_fd(w->channel);
		w->watch.fn = worker_ready;
	}
	if (w->channel == NULL ||
	    poller_watch(n->poller, &w->watch, EPOLLIN) < 0)
		worker_kill(w, "out of memory");
	else
		settle(w);
	serve(pool);
	pool_free_if_empty(pool);
}

void
helper_on_refused(struct net *n, const struct msg_worker_refused *m)
{
	struct fs_worker *w = by_number(n, m->number);
	struct fs_pool *pool;
	char hint[STAGE_HINT_MAX], text[640];

	if (w == NULL)
		return;
	pool = w->pool;
	stage_hint(m->stage, m->errnum, hint);
	if (m->text.len > 0)
		(void)snprintf(text, sizeof text, "%.*s", (int)m->text.len,
		    (const char *)m->text.data);
	else
		(void)snprintf(text, sizeof text,
		    "the file sandbox could not be set up: %s: errno %u%s",
		    stage_words(m->stage), m->errnum, hint);
	worker_end(w, text);
	/* Others of the pool go on; with none left nobody will serve these. */
	if (pool->worker_count == 0)
		fail_waiting(pool,
		    m->reason == REFUSE_BUSY || m->reason == REFUSE_INVALID
			? RPC_INVALID_REQUEST
			: RPC_INTERNAL,
		    text);
	pool_free_if_empty(pool);
}

void
helper_end_session(struct session *s)
{
	while (!TAILQ_EMPTY(&s->pools)) {
		struct fs_pool *pool = TAILQ_FIRST(&s->pools);

		while (!TAILQ_EMPTY(&pool->workers))
			worker_end(TAILQ_FIRST(&pool->workers),
			    "the session has ended");
		fail_waiting(pool, RPC_INTERNAL, "the session has ended");
		pool_free_if_empty(pool);
	}
}
