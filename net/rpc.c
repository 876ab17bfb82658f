#include "net/rpc.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "net/connection_audit.h"
#include "net/method.h"
#include "net/session.h"

/* An id that no request has: for answers to what was no request. */
static const struct rpc_id id_none = {.number = -1};

static void
write_id(struct jsonw *w, const struct rpc_id *id)
{
	jsonw_key(w, "id");
	if (id->text.data != NULL)
		jsonw_string(w, id->text);
	else
		jsonw_int(w, id->number);
}

/* The start of every message that we send. */
static void
begin(struct connection *c, struct jsonw *w, struct buf *text)
{
	jsonw_init(w, text);
	if (connection_message(text) < 0)
		w->failed = true;
	jsonw_open(w, '{');
	if (c->net->config.compat->jsonrpc_member) {
		jsonw_key(w, "jsonrpc");
		jsonw_text(w, "2.0");
	}
}

void
rpc_result_begin(struct connection *c, const struct rpc_id *id, struct jsonw *w,
    struct buf *text)
{
	begin(c, w, text);
	write_id(w, id);
	jsonw_key(w, "result");
}

void
rpc_notify_begin(struct connection *c, const char *method, struct jsonw *w,
    struct buf *text)
{
	begin(c, w, text);
	jsonw_key(w, "method");
	jsonw_text(w, method);
	jsonw_key(w, "params");
}

void
rpc_result_send(struct connection *c, struct jsonw *w)
{
	jsonw_close(w, '}');
	if (jsonw_ok(w)) {
		connection_queue(c, w->b);
		return;
	}
	/* A lost answer would hang its request. */
	buf_done(w->b);
	connection_close(c, 1011, "out of memory");
}

void
rpc_result_empty(struct connection *c, const struct rpc_id *id)
{
	struct jsonw w;
	struct buf text;

	rpc_result_begin(c, id, &w, &text);
	jsonw_open(&w, '{');
	jsonw_close(&w, '}');
	rpc_result_send(c, &w);
}

void
rpc_error_data(struct connection *c, const struct rpc_id *id, int code,
    const char *message, void (*fill)(struct jsonw *w, const void *arg),
    const void *arg)
{
	struct jsonw w;
	struct buf text;

	begin(c, &w, &text);
	jsonw_key(&w, "error");
	jsonw_open(&w, '{');
	jsonw_key(&w, "code");
	jsonw_int(&w, code);
	if (fill != NULL) {
		jsonw_key(&w, "data");
		fill(&w, arg);
	}
	jsonw_key(&w, "message");
	jsonw_text(&w, message);
	jsonw_close(&w, '}');
	write_id(&w, id);
	rpc_result_send(c, &w);
}

void
rpc_error(struct connection *c, const struct rpc_id *id, int code,
    const char *format, ...)
{
	char message[1536];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(message, sizeof message, format, ap);
	va_end(ap);
	rpc_error_data(c, id, code, message, NULL, NULL);
}

static void
malformed(struct connection *c, const char *why)
{
	rpc_error(c, &id_none, RPC_INVALID_REQUEST,
	    "failed to parse websocket JSON-RPC message from exec-server "
	    "websocket %s: %s",
	    c->peer, why);
}

/*
 * Why a text is not even given to the parser, or NULL: brackets that nest so
 * deep that it would recurse far, or so many values that the tree of them would
 * take many times the memory of the text.
 */
static const char *
too_complex(struct bytes text)
{
	size_t depth = 0, values = 0;
	bool in_string = false;

	for (size_t i = 0; i < text.len; i++) {
		uint8_t ch = text.data[i];

		if (in_string) {
			if (ch == '\\')
				i++;
			else if (ch == '"')
				in_string = false;
		} else if (ch == '"') {
			in_string = true;
		} else if (ch == '[' || ch == '{') {
			values++;
			if (++depth > RPC_DEPTH_MAX)
				return "nested deeper than 64 levels";
		} else if (ch == ']' || ch == '}') {
			depth -= depth > 0;
		} else if (ch == ',' && ++values > RPC_VALUES_MAX) {
			return "more than 524288 values";
		}
	}
	return values > RPC_VALUES_MAX ? "more than 524288 values" : NULL;
}

static bool
read_id(const json_t *value, struct rpc_id *id)
{
	if (json_is_integer(value)) {
		*id = (struct rpc_id){.number = json_integer_value(value)};
		return true;
	}
	if (!json_is_string(value) || json_string_length(value) > RPC_ID_MAX)
		return false;
	id->text =
	    (struct bytes){.data = (const uint8_t *)json_string_value(value),
		.len = json_string_length(value)};
	return true;
}

static void
notification(struct connection *c, const char *method)
{
	if (strcmp(method, "initialized") != 0) {
		connection_close(c, 1002, "unknown notification");
		return;
	}
	if (c->lifecycle < LIFECYCLE_INITIALIZED) {
		connection_close(c, 1002, "initialized before initialize");
		return;
	}
	c->lifecycle = LIFECYCLE_READY;
}

/* An object with a method: a request if it has an id, else a notification. */
static void
request(struct connection *c, json_t *message, const json_t *method)
{
	const json_t *id_value = json_object_get(message, "id");
	const json_t *trace = json_object_get(message, "trace");
	struct rpc_id id = {0};
	struct bytes name;

	if (!json_is_string(method)) {
		malformed(c, "method is not a string");
		return;
	}
	name =
	    (struct bytes){.data = (const uint8_t *)json_string_value(method),
		.len = json_string_length(method)};
	if (id_value == NULL) {
		notification(c, json_string_value(method));
		return;
	}
	if (!read_id(id_value, &id)) {
		malformed(c, "id is neither a string of up to 1024 bytes nor "
			     "a 64-bit integer");
		return;
	}
	if (trace != NULL && !json_is_object(trace) && !json_is_null(trace)) {
		malformed(c, "trace is not an object");
		return;
	}
	method_call(c, &id, name, json_object_get(message, "params"));
}

void
rpc_handle(struct connection *c, struct bytes text)
{
	json_error_t why;
	json_t *message, *method;
	const char *complex;

	complex = too_complex(text);
	if (complex != NULL) {
		malformed(c, complex);
		return;
	}
	message = json_loadb((const char *)text.data, text.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
	if (message == NULL) {
		malformed(c, text.len == 0 ? "empty message" : why.text);
		return;
	}
	method = json_object_get(message, "method");
	if (method != NULL)
		request(c, message, method);
	else if (json_object_get(message, "id") != NULL &&
		 (json_object_get(message, "result") != NULL ||
		     json_object_get(message, "error") != NULL))
		connection_close(c, 1002, "unexpected response");
	else
		malformed(c, "not a request, notification or response");
	json_decref(message);
}

int
rpc_later_init(struct rpc_later *l, struct connection *c,
    const struct rpc_id *id)
{
	*l = (struct rpc_later){0};
	if (c->pending >= c->net->config.limits.pending_requests_max) {
		if (!c->pending_told)
			connection_audit_own_limit(c, "pending_requests_max");
		c->pending_told = true;
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "busy: %llu requests of this connection wait for an "
		    "answer; try again later",
		    (unsigned long long)c->pending);
		return -EBUSY;
	}
	l->id.number = id->number;
	if (id->text.data != NULL) {
		char *copy = bytes_dup(id->text);

		if (copy == NULL) {
			connection_close(c, 1011, "out of memory");
			return -ENOMEM;
		}
		l->id.text = (struct bytes){.data = (uint8_t *)copy,
		    .len = id->text.len};
	}
	l->connection = c->serial;
	c->pending++;
	return 0;
}

struct connection *
rpc_later_connection(struct net *n, struct rpc_later *l)
{
	return l->connection == 0 ? NULL : connection_find(n, l->connection);
}

void
rpc_later_done(struct net *n, struct rpc_later *l)
{
	struct connection *c = rpc_later_connection(n, l);
	union {
		const uint8_t *data;
		void *heap;
	} text = {.data = l->id.text.data};

	if (c != NULL && --c->pending == 0)
		c->pending_told = false;
	free(text.heap);
	*l = (struct rpc_later){0};
}
