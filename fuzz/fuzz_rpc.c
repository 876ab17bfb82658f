/*
 * Reaches rpc_handle, method_call and the decoder of every method, in both
 * wire forms, on a connection that has not been initialized; further the
 * decoders of the objects inside parameters, and sandbox_decode. The input is
 * the text of one message; after "\x7f" and three bytes of a call that fails
 * (fuzz/faults.h) it is the rest of an object. libwebsockets is replaced, as it
 * is the far side.
 *
 * Asserts that a message has exactly one answer or closes the connection, that
 * the answer is JSON and bears the request's id or -1, that accepted
 * parameters are within the bounds of their rows, that what the strict form
 * accepts the lenient one accepts too, and that a packed sandbox object is one
 * that exec accepts.
 */
#include <errno.h>
#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/base64.h"
#include "base/log.h"
#include "fuzz/faults.h"
#include "fuzz/fuzz.h"
#include "fuzz/mutate_json.h"
#include "net/method.h"
#include "net/sandbox.h"
#include "privsep/pack.h"

/* A call may fail. */
static bool faulty;

static bool
is_refusal(int r, const struct err *e)
{
	return (r == -EINVAL && e->text[0] != '\0') || (r == -ENOMEM && faulty);
}

/* The library: nothing is sent and no time passes. */
int
lws_callback_on_writable(struct lws *wsi)
{
	return wsi != NULL;
}

void
lws_sul_schedule(struct lws_context *context, int tsi,
    lws_sorted_usec_list_t *sul, sul_cb_t cb, lws_usec_t us)
{
	(void)context, (void)tsi, (void)sul, (void)cb, (void)us;
}

/* --- what decoders accept is within their rows ---------------------------- */

static void
check_list(const struct param_list *l, uint64_t bound, size_t strings)
{
	size_t count;

	if (!l->present)
		return;
	assert(l->count <= bound);
	assert(strings_check(fuzz_view(&l->packed), PROCESS_ITEMS_MAX * strings,
	    PROCESS_SPEC_MAX, &count));
	assert(count == l->count * strings);
}

#define STRING(n, wire, need, bound, help) assert(p->n.len <= (bound));
#define BOOL(n, wire, need, bound, help)
#define TRUE_BOOL(n, wire, need, bound, help)
#define UINT(n, wire, need, bound, help)                                       \
	assert(p->n.v <= (uint64_t)(bound));                                   \
	assert(p->n.present || p->n.v == 0);
#define BASE64(n, wire, need, bound, help)                                     \
	assert(p->n.len <= base64_decoded_max(bound));
#define ARRAY(n, wire, need, bound, help)                                      \
	assert(p->n == NULL || json_is_array(p->n));
#define LIST(n, wire, need, bound, help) check_list(&p->n, bound, 1);
#define MAP(n, wire, need, bound, help)	 check_list(&p->n, bound, 2);
#define OBJECT(n, wire, need, bound, help)                                     \
	assert(p->n == NULL || json_is_object(p->n));
#define STRUCT(name, params)                                                   \
	static void check_##name(const struct params_##name *p)                \
	{                                                                      \
		(void)p;                                                       \
		params                                                         \
	}                                                                      \
	static bool decode_##name(const json_t *object, bool strict)           \
	{                                                                      \
		struct splitter splitter = {0};                                \
		const struct decoding d = {.strict = strict,                   \
		    .splitter = &splitter};                                    \
		struct params_##name p;                                        \
		struct err e = {0};                                            \
		int r;                                                         \
                                                                               \
		fault_begin();                                                 \
		r = params_##name##_decode(object, &d, &p, &e);                \
		fault_end();                                                   \
		assert(r == 0 || is_refusal(r, &e));                           \
		if (r == 0)                                                    \
			check_##name(&p);                                      \
		params_##name##_done(&p);                                      \
		return r == 0;                                                 \
	}
#define METHOD(name, wire, family, origin, params) STRUCT(name, params)
#include "net/methods.def"

/* Decode object by the rows called name. */
static bool
decode_as(const char *name, const json_t *object, bool strict)
{
#define STRUCT(n, params)                                                      \
	if (strcmp(name, #n) == 0)                                             \
		return decode_##n(object, strict);
#define METHOD(n, wire, family, origin, params)                                \
	if (strcmp(name, wire) == 0)                                           \
		return decode_##n(object, strict);
#include "net/methods.def"
	return false;
}

static void
decode_both(const char *name, const json_t *object)
{
	if (!json_is_object(object))
		return;
	if (decode_as(name, object, true))
		assert(decode_as(name, object, false) || faulty);
}

/* --- a sandbox object ------------------------------------------------------
 */

static void
sandbox(const json_t *object, bool strict)
{
	struct sandbox_spec spec;
	struct sandbox s;
	struct err e = {0};
	scoped_buf again = {.max = SANDBOX_SPEC_MAX};
	int r;

	fault_begin();
	r = sandbox_decode(object, strict, &s, &e);
	fault_end();
	assert(r == 0 || is_refusal(r, &e));
	if (r == 0) {
		assert(
		    sandbox_spec_unpack(fuzz_view(&s.packed), &spec, &e) == 0);
		assert(spec.kind == s.kind);
		assert(sandbox_spec_pack(&spec, &again) == 0);
		assert(bytes_equal(fuzz_view(&s.packed), fuzz_view(&again)));
	}
	sandbox_done(&s);
}

static void
parts(const json_t *message)
{
	const char *method =
	    json_string_value(json_object_get(message, "method"));
	const json_t *params = json_object_get(message, "params");
	const json_t *object = json_object_get(params, "sandbox"), *header;
	size_t i;

	if (method == NULL || params == NULL)
		return;
	decode_both(method, params);
	decode_both("env_policy", json_object_get(params, "envPolicy"));
	decode_both("walk_options", json_object_get(params, "options"));
	json_array_foreach(json_object_get(params, "headers"), i, header)
	    decode_both("http_header", header);
	sandbox(json_is_object(object) ? object : NULL, true);
	sandbox(json_is_object(object) ? object : NULL, false);
}

/* --- the whole message -----------------------------------------------------
 */

/* The supervisor, who hears of connections. */
static int supervisor = -1;

static void
drain_supervisor(void)
{
	char record[1024];

	while (recv(supervisor, record, sizeof record, MSG_DONTWAIT) > 0)
		;
}

static struct net *
network(void)
{
	static struct net *n;
	int ends[2];

	if (n != NULL)
		return n;
	n = calloc(1, sizeof *n);
	assert(n != NULL && channel_pair(ends) == 0);
	supervisor = ends[0];
	n->supervisor = channel_new(ends[1], ROLE_NET, ROLE_SUPERVISOR);
	n->poller = poller_new();
	assert(n->supervisor != NULL && n->poller != NULL);
	log_set_level(LOG_ERROR);
	json_object_seed(1);
	limits_init(&n->config.limits);
	/* No session: initialize is refused when all is well with it. */
	n->config.limits.sessions_max = 0;
	TAILQ_INIT(&n->connections);
	TAILQ_INIT(&n->sessions);
	TAILQ_INIT(&n->finished);
	return n;
}

static void
check_answer(const struct outgoing *o, const json_t *message, bool jsonrpc)
{
	const json_t *id, *want = json_object_get(message, "id");
	json_error_t why;
	json_t *answer = json_loadb((const char *)o->text.data + LWS_PRE,
	    o->text.len - LWS_PRE, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
	    &why);

	assert(answer != NULL && o->fd < 0);
	id = json_object_get(answer, "id");
	assert(json_equal(id, want) || json_integer_value(id) == -1);
	assert((json_object_get(answer, "result") != NULL) !=
	       (json_object_get(answer, "error") != NULL));
	assert((json_object_get(answer, "jsonrpc") != NULL) == jsonrpc);
	json_decref(answer);
}

static void
whole(struct bytes text, const json_t *message, enum compat compat)
{
	struct net *n = network();
	struct connection *c;
	int r;

	n->config.compat = compat_row(compat);
	fault_begin();
	c = connection_new(n, "127.0.0.1:1");
	r = -ENOMEM;
	if (c != NULL) {
		c->lifecycle = LIFECYCLE_OPEN;
		r = connection_append(c, text.data, text.len, 0, true);
	}
	fault_end();
	assert(r == 0 || (r == -ENOMEM && faulty));
	if (c == NULL)
		return;
	assert((c->close_code != 0) != (c->out_count == 1) || faulty);
	if (c->out_count == 1)
		check_answer(TAILQ_FIRST(&c->out), message,
		    n->config.compat->jsonrpc_member);
	connection_free(c);
	drain_supervisor();
	assert(!n->stop && n->connection_count == 0 && n->message_bytes == 0);
}

static void
check(struct bytes text, const json_t *message)
{
	whole(text, message, COMPAT_CODEX);
	whole(text, message, COMPAT_OPENCLAW);
	parts(message);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_buf text = {.max = FUZZ_LEN_MAX};
	json_error_t why;
	struct reader r;
	json_t *message;

	if (size > FUZZ_LEN_MAX)
		return 0;
	(void)network();
	reader_init(&r, data, size);
	faulty = size > 4 && data[0] == 0x7f;
	if (faulty) {
		(void)fuzz_u8(&r);
		fault_read(&r);
		assert(buf_put_u8(&text, '{') == 0);
	}
	assert(buf_put(&text, r.at, r.left) == 0);
	message = json_loadb((const char *)text.data, text.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	check(fuzz_view(&text), message);
	json_decref(message);
	return 0;
}
/* --- mutation ---------------------------------------------------------------
 */

/* A value of each kind of row, or of one that does not fit. */
#define STRING(n, wire, need, bound, help)    {wire, MUTATE_STRING},
#define BOOL(n, wire, need, bound, help)      {wire, MUTATE_BOOL},
#define TRUE_BOOL(n, wire, need, bound, help) {wire, MUTATE_BOOL},
#define UINT(n, wire, need, bound, help)      {wire, MUTATE_NUMBER},
#define BASE64(n, wire, need, bound, help)    {wire, MUTATE_STRING},
#define ARRAY(n, wire, need, bound, help)     {wire, MUTATE_ARRAY},
#define LIST(n, wire, need, bound, help)      {wire, MUTATE_ARRAY},
#define MAP(n, wire, need, bound, help)	      {wire, MUTATE_OBJECT},
#define OBJECT(n, wire, need, bound, help)    {wire, MUTATE_OBJECT},
#define STRUCT(name, params)
#define METHOD(name, wire, family, origin, params)                             \
	{wire, (const struct mutate_member[]){params{NULL, MUTATE_STRING}}},
static const struct {
	const char *wire;
	const struct mutate_member *members;
} methods[] = {
#include "net/methods.def"
};

/* A request of a method in the table, with all its members. */
static json_t *
any_request(uint64_t *random)
{
	size_t i = fuzz_random(random) % (sizeof methods / sizeof methods[0]);

	return json_pack("{s:i,s:s,s:o}", "id", 1, "method", methods[i].wire,
	    "params", mutate_json_members(methods[i].members, random));
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
    unsigned int seed)
{
	return mutate_json(data, size, max_size, seed, any_request);
}
