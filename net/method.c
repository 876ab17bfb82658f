#include "net/method.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"

enum need { REQUIRED, STRICT, OPTIONAL, NOT_NULL };
enum origin { STANDARD, CODEX_ONLY };

/* The methods' families, in the words that lifecycle errors use. A method
 * without one looks after the lifecycle itself. */
enum family {
	FAMILY_NONE,
	FAMILY_EXEC,
	FAMILY_FILESYSTEM,
	FAMILY_INFO,
	FAMILY_STATUS,
	FAMILY_CONFIG,
	FAMILY_HTTP,
};
static const char *const family_words[] = {
    [FAMILY_NONE] = "",
    [FAMILY_EXEC] = "exec",
    [FAMILY_FILESYSTEM] = "filesystem",
    [FAMILY_INFO] = "environment info",
    [FAMILY_STATUS] = "environment status",
    [FAMILY_CONFIG] = "environment config",
    [FAMILY_HTTP] = "http",
};

static const char *
type_words(const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "boolean";
	case JSON_NULL:
		return "null";
	}
	return "value";
}

static int
wrong_type(const json_t *v, const char *want, const char *wire, struct err *e)
{
	return err_set(e, EINVAL, "invalid type: %s, expected %s for `%s`",
	    type_words(v), want, wire);
}

/* The member, or NULL when it is absent and may be. */
static int
member(const json_t *object, const char *wire, enum need need, bool strict,
    const json_t **out, struct err *e)
{
	const json_t *v = json_object_get(object, wire);

	*out = NULL;
	if (v != NULL &&
	    (need == REQUIRED || need == NOT_NULL || !json_is_null(v))) {
		*out = v;
		return 0;
	}
	if (need == REQUIRED || (need == STRICT && strict))
		return err_set(e, EINVAL, "missing field `%s`", wire);
	return 0;
}

static struct bytes
string_of(const json_t *v)
{
	return (struct bytes){.data = (const uint8_t *)json_string_value(v),
	    .len = json_string_length(v)};
}

static int
decode_string(const json_t *v, const char *wire, uint64_t bound,
    struct bytes *out, struct err *e)
{
	if (!json_is_string(v))
		return wrong_type(v, "a string", wire, e);
	if (json_string_length(v) > bound)
		return err_set(e, EINVAL,
		    "`%s` is %zu bytes long, at most %llu are accepted", wire,
		    json_string_length(v), (unsigned long long)bound);
	*out = string_of(v);
	return 0;
}

/* The words of the reference's base64 library. */
static void
blob_why(struct param_blob *b, uint8_t byte, uint64_t at)
{
	if (byte != 0)
		(void)snprintf(b->why, sizeof b->why,
		    "Invalid symbol %d, offset %llu.", byte,
		    (unsigned long long)at);
	else
		(void)snprintf(b->why, sizeof b->why,
		    "Invalid input length: %llu", (unsigned long long)at);
}

static int
decode_bool(const json_t *v, const char *wire, bool *out, struct err *e)
{
	if (!json_is_boolean(v))
		return wrong_type(v, "a boolean", wire, e);
	*out = json_is_true(v);
	return 0;
}

static int
decode_uint(const json_t *v, const char *wire, uint64_t bound,
    struct param_uint *out, struct err *e)
{
	if (!json_is_number(v))
		return wrong_type(v, "a number", wire, e);
	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return err_set(e, EINVAL,
		    "invalid number: `%s` is not an integer from 0", wire);
	if ((uint64_t)json_integer_value(v) > bound)
		return err_set(e, EINVAL,
		    "invalid number: `%s` is %lld, at most %llu is accepted",
		    wire, (long long)json_integer_value(v),
		    (unsigned long long)bound);
	*out = (struct param_uint){.present = true,
	    .v = (uint64_t)json_integer_value(v)};
	return 0;
}

static int
decode_base64(const json_t *v, const char *wire, struct splitter *splitter,
    struct param_blob *out, struct err *e)
{
	struct bytes text = string_of(v);
	struct blob *cut;
	size_t len, at = 0;

	if (!json_is_string(v))
		return wrong_type(v, "a string", wire, e);
	cut = splitter_find(splitter, text);
	if (cut != NULL) {
		out->fd = fd_take(&cut->fd);
		out->len = cut->len;
		out->bad = cut->bad;
		blob_why(out, cut->bad_byte, cut->bad_at);
		return 0;
	}
	out->data = malloc(base64_decoded_max(text.len) + 1);
	if (out->data == NULL)
		return err_set(e, EINVAL, "out of memory for `%s`", wire);
	if (base64_decode(out->data, (const char *)text.data, text.len, &len,
		&at) < 0) {
		out->bad = true;
		blob_why(out, at < text.len ? text.data[at] : 0, at);
		return 0;
	}
	out->len = len;
	return 0;
}

static void
blob_done(struct param_blob *b)
{
	free(b->data);
	b->data = NULL;
	fd_close(&b->fd);
}

static int
put_item(struct param_list *out, struct bytes s, const char *wire,
    struct err *e)
{
	if (bytes_has_nul(s))
		out->has_nul = true;
	switch (buf_put_string(&out->packed, s.data, s.len)) {
	case 0:
		return 0;
	case -EMSGSIZE:
		return err_set(e, EINVAL,
		    "`%s` is too large: at most %u bytes in all", wire,
		    PROCESS_SPEC_MAX);
	default:
		return err_set(e, EINVAL, "out of memory for `%s`", wire);
	}
}

static int
list_start(const json_t *v, const char *wire, size_t count, uint64_t bound,
    struct param_list *out, struct err *e)
{
	(void)v;
	if (count > bound)
		return err_set(e, EINVAL,
		    "`%s` has %zu items, at most %llu are accepted", wire,
		    count, (unsigned long long)bound);
	buf_init(&out->packed, PROCESS_SPEC_MAX);
	out->count = count;
	out->present = true;
	return 0;
}

static int
decode_list(const json_t *v, const char *wire, uint64_t bound,
    struct param_list *out, struct err *e)
{
	int r;

	if (!json_is_array(v))
		return wrong_type(v, "an array", wire, e);
	r = list_start(v, wire, json_array_size(v), bound, out, e);
	for (size_t i = 0; r == 0 && i < json_array_size(v); i++) {
		const json_t *item = json_array_get(v, i);

		if (!json_is_string(item))
			return wrong_type(item, "a string", wire, e);
		r = put_item(out, string_of(item), wire, e);
	}
	return r;
}

static int
decode_map(json_t *v, const char *wire, uint64_t bound, struct param_list *out,
    struct err *e)
{
	const char *key;
	json_t *item;
	int r;

	if (!json_is_object(v))
		return wrong_type(v, "an object", wire, e);
	r = list_start(v, wire, json_object_size(v), bound, out, e);
	if (r < 0)
		return r;
	json_object_foreach(v, key, item)
	{
		if (!json_is_string(item))
			return wrong_type(item, "a string", wire, e);
		r = put_item(out, bytes_of(key), wire, e);
		if (r == 0)
			r = put_item(out, string_of(item), wire, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static int
decode_object(json_t *v, const char *wire, json_t **out, struct err *e)
{
	if (!json_is_object(v))
		return wrong_type(v, "an object", wire, e);
	*out = v;
	return 0;
}

static int
decode_array(json_t *v, const char *wire, json_t **out, struct err *e)
{
	if (!json_is_array(v))
		return wrong_type(v, "an array", wire, e);
	*out = v;
	return 0;
}

/* The rows as statements: each decodes one member into p. */
#define FIELD(wire, need, decode)                                              \
	if (r == 0)                                                            \
		r = member(object, wire, need, d->strict, &v, e);              \
	if (r == 0 && v != NULL)                                               \
		r = decode;
#define STRING(n, wire, need, bound, help)                                     \
	FIELD(wire, need, decode_string(v, wire, bound, &p->n, e))
#define BOOL(n, wire, need, bound, help)                                       \
	FIELD(wire, need, decode_bool(v, wire, &p->n, e))
#define TRUE_BOOL(n, wire, need, bound, help)                                  \
	p->n = true;                                                           \
	FIELD(wire, need, decode_bool(v, wire, &p->n, e))
#define BASE64(n, wire, need, bound, help)                                     \
	p->n.fd = -1;                                                          \
	FIELD(wire, need, decode_base64(v, wire, d->splitter, &p->n, e))
#define ARRAY(n, wire, need, bound, help)                                      \
	FIELD(wire, need,                                                      \
	    decode_array(json_object_get(object, wire), wire, &p->n, e))
#define UINT(n, wire, need, bound, help)                                       \
	FIELD(wire, need, decode_uint(v, wire, bound, &p->n, e))
#define LIST(n, wire, need, bound, help)                                       \
	FIELD(wire, need, decode_list(v, wire, bound, &p->n, e))
/* jansson iterates over objects only through pointers to non-const. */
#define MAP(n, wire, need, bound, help)                                        \
	FIELD(wire, need,                                                      \
	    decode_map(json_object_get(object, wire), wire, bound, &p->n, e))
#define OBJECT(n, wire, need, bound, help)                                     \
	FIELD(wire, need,                                                      \
	    decode_object(json_object_get(object, wire), wire, &p->n, e))
#define STRUCT(name, params)                                                   \
	int params_##name##_decode(const json_t *object,                       \
	    const struct decoding *d, struct params_##name *p, struct err *e)  \
	{                                                                      \
		const json_t *v;                                               \
		int r = 0;                                                     \
                                                                               \
		(void)object, (void)d, (void)v, (void)e;                       \
		memset(p, 0, sizeof *p);                                       \
		p->given = object != NULL;                                     \
		params;                                                        \
		return r;                                                      \
	}
#define METHOD(name, wire, family, extension, params) STRUCT(name, params)
#include "net/methods.def"

/* The rows as statements that release what decoding made. */
#define STRING(n, wire, need, bound, help)
#define BOOL(n, wire, need, bound, help)
#define TRUE_BOOL(n, wire, need, bound, help)
#define BASE64(n, wire, need, bound, help) blob_done(&p->n);
#define ARRAY(n, wire, need, bound, help)
#define UINT(n, wire, need, bound, help)
#define LIST(n, wire, need, bound, help) buf_done(&p->n.packed);
#define MAP(n, wire, need, bound, help)	 buf_done(&p->n.packed);
#define OBJECT(n, wire, need, bound, help)
#define STRUCT(name, params)                                                   \
	void params_##name##_done(struct params_##name *p)                     \
	{                                                                      \
		(void)p;                                                       \
		params                                                         \
	}
#define METHOD(name, wire, family, extension, params) STRUCT(name, params)
#include "net/methods.def"

/* Whether the lifecycle allows methods of family now; else the error is sent.
 */
static bool
lifecycle_allows(struct connection *c, const struct rpc_id *id,
    enum family family)
{
	bool strict = c->net->config.compat->initialized_required;

	if (family == FAMILY_NONE)
		return true;
	if (c->lifecycle < LIFECYCLE_INITIALIZED) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "client must call initialize before using %s methods",
		    family_words[family]);
		return false;
	}
	if (strict && c->lifecycle < LIFECYCLE_READY) {
		rpc_error(c, id, RPC_INVALID_REQUEST,
		    "client must send initialized before using %s methods",
		    family_words[family]);
		return false;
	}
	return true;
}

/* Params are decoded first: a wrong one is told in every state. */
#define STRUCT(name, params)
#define METHOD(name, wire, family, extension, params)                          \
	static void call_##name(struct connection *c, const struct rpc_id *id, \
	    const json_t *object)                                              \
	{                                                                      \
		const struct decoding d = {                                    \
		    .strict = c->net->config.compat->strict_params,            \
		    .splitter = &c->splitter};                                 \
		struct params_##name p;                                        \
		struct err e = {0};                                            \
                                                                               \
		if (params_##name##_decode(object, &d, &p, &e) < 0)            \
			rpc_error(c, id, RPC_INVALID_PARAMS, "%s", e.text);    \
		else if (lifecycle_allows(c, id, FAMILY_##family))             \
			on_##name(c, id, &p);                                  \
		params_##name##_done(&p);                                      \
	}
#include "net/methods.def"

static const struct {
	const char *wire;
	enum origin origin;
	enum family family;
	void (*call)(struct connection *c, const struct rpc_id *id,
	    const json_t *object);
} methods[] = {
#define STRUCT(name, params)
#define METHOD(name, wire, family, extension, params)                          \
	{wire, extension, FAMILY_##family, call_##name},
#include "net/methods.def"
};

/* environment/status and its like ignore their params whatever they are. */
static bool
takes_no_params(enum family family)
{
	return family == FAMILY_INFO || family == FAMILY_STATUS;
}

static void
unknown_method(struct connection *c, const struct rpc_id *id, struct bytes name)
{
	const char *const *text = c->net->config.compat->unknown_method;
	int cut = name.len > RPC_METHOD_MAX ? RPC_METHOD_MAX : (int)name.len;

	rpc_error(c, id, RPC_UNKNOWN_METHOD, "%s%.*s%s", text[0], cut,
	    (const char *)name.data, text[1]);
}

/* Whether the wire form has row i at all, with such params. */
static bool
is_offered(const struct compat_row *compat, size_t i, const json_t *params)
{
	const char *picky = compat->unknown_without_path;

	if (methods[i].origin == CODEX_ONLY && !compat->codex_only_methods)
		return false;
	return picky == NULL || strcmp(methods[i].wire, picky) != 0 ||
	       json_object_get(params, "path") != NULL;
}

void
method_call(struct connection *c, const struct rpc_id *id, struct bytes name,
    json_t *params)
{
	size_t count = sizeof methods / sizeof methods[0], i = 0;

	while (i < count && !bytes_is(name, methods[i].wire))
		i++;
	if (i == count || !is_offered(c->net->config.compat, i, params)) {
		unknown_method(c, id, name);
		return;
	}
	if (takes_no_params(methods[i].family)) {
		params = NULL;
	} else if (!json_is_object(params)) {
		rpc_error(c, id, RPC_INVALID_PARAMS,
		    "invalid type: %s, expected an object for `params`",
		    params == NULL ? "null" : type_words(params));
		return;
	}
	methods[i].call(c, id, params);
}
