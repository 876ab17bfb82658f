/*
 * Reaches what net makes of a course of events: session.c, process*.c,
 * stream.c, output.c, fs*.c, helper.c, http*.c, with the real libwebsockets.
 * The input is a byte of flags (1: openclaw; 2: one call fails, of which three
 * bytes tell the kind and the number), then a sequence of what clients do
 * (initialize, resume, each method, any text, reading no more, going away), of
 * what exec tells, of what file workers and sallyport-http say, honest or not,
 * and of time that passes.
 *
 * Asserts, with far.c and peer.c: what exec relies on; that each request has
 * one answer at most; that events of a process are numbered without a gap
 * after its start was answered, its exit once, and nothing after its close;
 * that kept output, queues and counts are within their limits; and, by
 * world_end, that nothing is left when all have gone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/far.h"
#include "fuzz/faults.h"
#include "fuzz/peer.h"
#include "net/helper.h"
#include "net/http.h"
#include "net/process.h"

#define PEERS_MAX 3
#define NAMES	  4 /* of processes */
#define UUIDS_MAX 16
#define OPS_MAX	  96
#define IDS_MAX	  512

/* What one connection has been told of a process. */
struct known {
	uint64_t seq;
	bool started, exited, closed;
	bool resumed; /* there may be a gap before the next event */
};

struct client {
	struct peer peer;
	uint64_t last_id;
	bool asked[IDS_MAX];
	struct known known[NAMES];
};

static struct {
	struct net *net;
	struct client clients[PEERS_MAX];
	char uuids[UUIDS_MAX][SESSION_UUID_LEN + 1];
	size_t uuid_count;
} all;

/* --- what clients are told ------------------------------------------------ */

static struct known *
known_of(struct client *c, json_t *object)
{
	const char *id =
	    json_string_value(json_object_get(object, "processId"));

	assert(id != NULL && id[0] == 'p' && id[1] >= '0' &&
	       id[1] < '0' + NAMES && id[2] == '\0');
	return &c->known[id[1] - '0'];
}

static void
check_event(struct client *c, const char *method, json_t *params)
{
	struct known *k;
	uint64_t seq;

	if (strncmp(method, "process/", 8) != 0)
		return;
	k = known_of(c, params);
	seq = (uint64_t)json_integer_value(json_object_get(params, "seq"));
	assert(k->started && !k->closed);
	assert(seq == k->seq + 1 || (k->resumed && seq > k->seq));
	k->seq = seq;
	k->resumed = false;
	if (strcmp(method, "process/output") == 0)
		return;
	if (strcmp(method, "process/exited") == 0) {
		assert(!k->exited);
		k->exited = true;
		return;
	}
	assert(strcmp(method, "process/closed") == 0);
	k->closed = true;
}

static void
check_result(struct client *c, json_t *result)
{
	const char *uuid =
	    json_string_value(json_object_get(result, "sessionId"));

	if (json_object_get(result, "sandboxType") != NULL)
		*known_of(c, result) = (struct known){.started = true};
	if (uuid == NULL)
		return;
	assert(strlen(uuid) == SESSION_UUID_LEN);
	memcpy(all.uuids[all.uuid_count++ % UUIDS_MAX], uuid,
	    SESSION_UUID_LEN + 1);
	/* It may have processes that were started on another connection. */
	for (size_t i = 0; i < NAMES; i++)
		c->known[i] = (struct known){.started = true, .resumed = true};
}

static void
check_answer(struct client *c, json_t *message, json_t *id)
{
	json_t *result = json_object_get(message, "result");
	json_t *error = json_object_get(message, "error");
	json_int_t n = json_integer_value(id);

	assert(json_is_integer(id));
	assert((result == NULL) != (error == NULL));
	/* A malformed message, or one whose id the input made up. */
	if (n < 0 || n >= IDS_MAX || json_object_size(message) < 2)
		return;
	assert(c->asked[n]);
	c->asked[n] = false;
	if (result != NULL)
		check_result(c, result);
}

static void
hear(struct client *c)
{
	json_t *message;

	if (c->peer.fd < 0 || c->peer.deaf)
		return;
	peer_read(&c->peer);
	while ((message = peer_next(&c->peer)) != NULL) {
		json_t *id = json_object_get(message, "id");
		const char *method =
		    json_string_value(json_object_get(message, "method"));

		if (id != NULL)
			check_answer(c, message, id);
		else
			check_event(c, method,
			    json_object_get(message, "params"));
		json_decref(message);
	}
}

/* --- what net holds -------------------------------------------------------
 */

static void
check_process(const struct process *p)
{
	const struct limits *l = &all.net->config.limits;

	assert(p->output.kept <= PROCESS_OUTPUT_MAX);
	assert(p->output.count <= PROCESS_CHUNKS_MAX);
	assert(p->write_id_count <= WRITE_IDS_MAX);
	assert(!p->input.open || p->input.queue.len <= l->queued_write_max);
	assert(p->state != PROCESS_CLOSED || !p->input.open);
	assert(p->state != PROCESS_STARTING || p->output.next_seq == 1);
}

static void
check_session(const struct session *s, uint64_t *processes)
{
	const struct limits *l = &all.net->config.limits;
	const struct process *p;
	const struct fs_pool *pool;
	uint64_t live = 0;

	TAILQ_FOREACH (p, &s->processes, link) {
		check_process(p);
		live += p->state != PROCESS_CLOSED;
	}
	assert(live == s->process_count && live <= l->session_processes_max);
	*processes += live;
	TAILQ_FOREACH (pool, &s->pools, link)
		assert(pool->worker_count <= l->workers_max);
	assert(s->connection == NULL || s->connection->session == s);
}

/* Besides what was queued when it was too much, one answer of a reader and
 * what streams have read by then. */
#define OUT_OVERSHOOT (3u * MIB)

static void
check_net(void)
{
	const struct limits *l = &all.net->config.limits;
	const struct net *n = all.net;
	const struct connection *c;
	const struct session *s;
	uint64_t processes = 0, sessions = 0, detached = 0;

	TAILQ_FOREACH (s, &n->sessions, link) {
		check_session(s, &processes);
		sessions++;
		detached += s->connection == NULL;
	}
	assert(processes == n->process_count && processes <= l->processes_max);
	assert(sessions == n->session_count && sessions <= l->sessions_max);
	assert(detached == n->detached_count &&
	       detached <= l->detached_sessions_max);
	assert(n->finished_count <= l->finished_max);
	assert(n->message_bytes <= l->message_budget);
	TAILQ_FOREACH (c, &n->connections, link) {
		assert(c->pending <= l->pending_requests_max);
		assert(c->handle_count <= FS_HANDLES_MAX);
		assert(c->watch_count <= FS_WATCHES_MAX);
		assert(c->out_bytes <= 2 * l->queue_max + OUT_OVERSHOOT);
	}
}

/* --- what clients do ------------------------------------------------------ */

static void
request(struct client *c, const char *method, const char *params)
{
	scoped_free char *text = NULL;
	int len;

	if (c->last_id + 1 >= IDS_MAX)
		return;
	len = asprintf(&text,
	    "{\"id\":%" PRIu64 ",\"method\":\"%s\","
	    "\"params\":{%s}}",
	    ++c->last_id, method, params);
	assert(len > 0);
	c->asked[c->last_id] = true;
	peer_send(&c->peer, 1,
	    (struct bytes){.data = (uint8_t *)text, .len = (size_t)len});
}

static void
initialize(struct client *c, struct reader *r)
{
	uint8_t which = fuzz_u8(r);
	char params[128];

	if (which & 1 || all.uuid_count == 0)
		(void)snprintf(params, sizeof params, "\"clientName\":\"a\"");
	else
		(void)snprintf(params, sizeof params,
		    "\"clientName\":\"a\",\"resumeSessionId\":\"%s\"",
		    all.uuids[which / 2 % UUIDS_MAX]);
	request(c, "initialize", params);
	if (which < 200)
		peer_send(&c->peer, 1,
		    bytes_of("{\"method\":\"initialized\"}"));
}

/* base64 of len bytes, a multiple of three. */
static char *
base64_zeros(size_t len)
{
	char *s = malloc(len / 3 * 4 + 1);

	assert(s != NULL);
	memset(s, 'A', len / 3 * 4);
	s[len / 3 * 4] = '\0';
	return s;
}

static const size_t sizes[] = {0, 3, 3000, 49152, 60000, 131073, 200001, 9};

static void
write_to(struct client *c, struct reader *r)
{
	uint8_t which = fuzz_u8(r), id = fuzz_u8(r);
	scoped_free char *chunk = base64_zeros(sizes[which / NAMES % 8]);
	scoped_free char *params = NULL;

	assert(asprintf(&params,
		   "\"processId\":\"p%d\",\"writeId\":\"w%d\",\"chunk\":\"%s\"",
		   which % NAMES, id, chunk) > 0);
	request(c, "process/write", params);
}

static void
start(struct client *c, struct reader *r)
{
	uint8_t which = fuzz_u8(r);
	char params[256];

	(void)snprintf(params, sizeof params,
	    "\"processId\":\"p%d\",\"argv\":[\"a\"],\"cwd\":\"file:///\","
	    "\"env\":{},\"tty\":%s,\"pipeStdin\":%s",
	    which % NAMES, which & 4 ? "true" : "false",
	    which & 8 ? "true" : "false");
	request(c, "process/start", params);
}

/* The others about a process: %d is its name, %u a number. */
static const struct {
	const char *method, *params;
} about_process[] = {
    {"process/read", "\"processId\":\"p%d\",\"afterSeq\":%u"},
    {"process/read", "\"processId\":\"p%d\",\"maxBytes\":%u,\"waitMs\":500"},
    {"process/read", "\"processId\":\"p%d\",\"afterSeq\":%u,\"waitMs\":100000"},
    {"process/signal", "\"processId\":\"p%d\",\"signal\":\"interrupt\""},
    {"process/terminate", "\"processId\":\"p%d\""},
    {"process/closeStdin", "\"processId\":\"p%d\""},
    {"process/resize", "\"processId\":\"p%d\",\"rows\":%u,\"cols\":8"},
};

/* Those about files and of http: %d is a handle or watch, %u a number. */
static const struct {
	const char *method, *params;
} others[] = {
    {"fs/readFile", "\"path\":\"file:///a%d\""},
    {"fs/createDirectory", "\"path\":\"file:///a%d\""},
    {"fs/getMetadata", "\"path\":\"file:///a%d\""},
    {"fs/canonicalize", "\"path\":\"file:///a%d\""},
    {"fs/readDirectory", "\"path\":\"file:///a%d\""},
    {"fs/walk", "\"path\":\"file:///a%d\",\"options\":{\"maxDepth\":%u,"
		"\"maxDirectories\":9,\"maxEntries\":9,"
		"\"followDirectorySymlinks\":false}"},
    {"fs/remove", "\"path\":\"file:///a%d\""},
    {"fs/copy", "\"sourcePath\":\"file:///a%d\",\"destinationPath\":"
		"\"file:///b\",\"recursive\":true"},
    {"fs/open", "\"handleId\":\"h%d\",\"path\":\"file:///a\""},
    {"fs/open", "\"handleId\":\"h%d\",\"path\":\"file:///a\","
		"\"mode\":\"replace\""},
    {"fs/readBlock", "\"handleId\":\"h%d\",\"offset\":%u,\"len\":9"},
    {"fs/writeBlock", "\"handleId\":\"h%d\",\"offset\":%u,\"chunk\":\"QUJD\""},
    {"fs/close", "\"handleId\":\"h%d\""},
    {"fs/watchMissing", "\"watchId\":%d,\"missing\":[\"file:///a/b%u\"]"},
    {"fs/watchMissing", "\"watchId\":%d,\"missing\":[\"file:///a\"],"
			"\"present\":\"file:///c%u\""},
    {"http/request", "\"method\":\"GET\",\"url\":\"http://a/\","
		     "\"requestId\":\"r%d\",\"timeoutMs\":%u"},
    {"http/request", "\"method\":\"POST\",\"url\":\"http://a/\","
		     "\"requestId\":\"r%d\",\"bodyBase64\":\"QUJD\","
		     "\"timeoutMs\":%u,\"streamResponse\":true"},
    {"environment/status", ""},
    {"environment/info", ""},
    {"environmentConfig/read", "\"cwd\":\"file:///\",\"configPaths\":[],"
			       "\"requirementsPaths\":[]"},
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
static void
call(struct client *c, struct reader *r, bool process)
{
	uint8_t which = fuzz_u8(r), name = fuzz_u8(r);
	unsigned int number = fuzz_u8(r);
	size_t i =
	    process ? which % (sizeof about_process / sizeof(about_process[0]))
		    : which % (sizeof others / sizeof others[0]);
	char params[512];

	(void)snprintf(params, sizeof params,
	    process ? about_process[i].params : others[i].params, name % NAMES,
	    number);
	request(c, process ? about_process[i].method : others[i].method,
	    params);
}
#pragma GCC diagnostic pop

static void
write_file(struct client *c, struct reader *r)
{
	uint8_t which = fuzz_u8(r);
	scoped_free char *data = base64_zeros(sizes[which % 8]);
	scoped_free char *params = NULL;

	assert(asprintf(&params, "\"path\":\"file:///a\",\"%s\":\"%s\"%s",
		   which & 8 ? "dataBase64" : "chunk", data,
		   which & 16 ? ",\"sandbox\":null" : "") > 0);
	request(c, "fs/writeFile", params);
}

static void
client_event(struct reader *r)
{
	uint8_t op = fuzz_u8(r);
	struct client *c = &all.clients[op % PEERS_MAX];

	if (c->peer.fd < 0) {
		*c = (struct client){0};
		peer_open(&c->peer);
		hear(c);
		initialize(c, r);
		return;
	}
	switch (op / PEERS_MAX % 10) {
	case 0:
		initialize(c, r);
		return;
	case 1:
		start(c, r);
		return;
	case 2:
		write_to(c, r);
		return;
	case 3:
	case 4:
		call(c, r, true);
		return;
	case 5:
	case 6:
		call(c, r, false);
		return;
	case 7:
		write_file(c, r);
		return;
	case 8:
		c->peer.deaf = !c->peer.deaf;
		return;
	default:
		if (fuzz_u8(r) & 1)
			peer_lose(&c->peer);
		else
			peer_send(&c->peer, 8, (struct bytes){0});
		return;
	}
}

static const uint32_t times[] = {1, 500, 1001, 30001, 60001, 300001};

static void
supervisor_event(struct reader *r)
{
	struct msg_net_drain drain = {.timeout_ms = 1000};
	struct msg_net_policy policy = {.home = bytes_of("/h"),
	    .tmp = bytes_of("/t"),
	    .policy = bytes_of("q"),
	    .features = NET_FEATURE_HTTP_ENV};

	if (fuzz_u8(r) % 8 > 0)
		assert(channel_send_net_policy(world_supervisor(), &policy,
			   NULL, 0) == 0);
	else
		assert(channel_send_net_drain(world_supervisor(), &drain, NULL,
			   0) == 0);
}

static void
event(struct reader *r)
{
	uint8_t op = fuzz_u8(r);

	if (op < 110)
		client_event(r);
	else if (op < 190)
		far_exec_event(r);
	else if (op < 235)
		far_helper_event(r);
	else if (op < 250)
		world_sleep(times[op % (sizeof times / sizeof times[0])]);
	else if (op < 254)
		supervisor_event(r);
	else
		world_close_exec();
	world_settle();
	far_take();
	for (size_t i = 0; i < PEERS_MAX; i++)
		hear(&all.clients[i]);
	check_net();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r;
	uint8_t flags;

	if (size > FUZZ_LEN_MAX)
		return 0;
	memset(&all, 0, sizeof all);
	reader_init(&r, data, size);
	flags = fuzz_u8(&r);
	all.net = world_begin(flags & 1 ? COMPAT_OPENCLAW : COMPAT_CODEX);
	if (flags & 2)
		fault_read(&r);
	far_begin();
	for (size_t i = 0; i < PEERS_MAX; i++)
		all.clients[i].peer.fd = -1;
	for (int i = 0; i < OPS_MAX && r.left > 0 && !all.net->stop; i++)
		event(&r);
	for (size_t i = 0; i < PEERS_MAX; i++)
		peer_lose(&all.clients[i].peer);
	(void)fault_clear();
	far_take();
	far_end();
	world_end();
	return 0;
}
