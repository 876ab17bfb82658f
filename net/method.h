/* The method table of methods.def: look-up, decoding, dispatch. */
#ifndef NET_METHOD_H
#define NET_METHOD_H

#include <jansson.h>

#include "net/rpc.h"

struct param_uint {
	bool present;
	uint64_t v;
};

/*
 * A base64 string, decoded: data on the heap, or the sealed memfd fd of a
 * string that was cut out of the message (then data is NULL). Both are owned;
 * take fd out with fd_take.
 */
struct param_blob {
	uint8_t *data;
	int fd;
	uint64_t len; /* bytes */
	/* It is no base64: what is wrong, in words. */
	bool bad;
	char why[64];
};

/* A packed list (privsep/pack.h) and what was seen while making it. */
struct param_list {
	struct buf packed;
	size_t count;
	bool present;
	bool has_nul; /* a string in it holds a NUL byte */
};

#define STRING(n, wire, need, bound, help)    struct bytes n;
#define BOOL(n, wire, need, bound, help)      bool n;
#define TRUE_BOOL(n, wire, need, bound, help) bool n;
#define UINT(n, wire, need, bound, help)      struct param_uint n;
#define BASE64(n, wire, need, bound, help)    struct param_blob n;
#define ARRAY(n, wire, need, bound, help)     json_t *n;
#define LIST(n, wire, need, bound, help)      struct param_list n;
#define MAP(n, wire, need, bound, help)	      struct param_list n;
#define OBJECT(n, wire, need, bound, help)    json_t *n;
#define STRUCT(name, params)                                                   \
	struct params_##name {                                                 \
		bool given; /* an object was there to decode */                \
		params                                                         \
	};
#define METHOD(name, wire, family, extension, params)                          \
	struct params_##name {                                                 \
		bool given; /* an object was there to decode */                \
		params                                                         \
	};                                                                     \
	void on_##name(struct connection *c, const struct rpc_id *id,          \
	    struct params_##name *p);
#include "net/methods.def"

/* Decode, check the lifecycle and call the handler, or answer with the error.
 * params may be NULL. */
void method_call(struct connection *c, const struct rpc_id *id,
    struct bytes name, json_t *params);

/* How to decode. */
struct decoding {
	bool strict;		   /* compat_row.strict_params */
	struct splitter *splitter; /* holds what was cut out of the message */
};

/*
 * params_<name>_decode: decode an object by its rows. Strings and objects are
 * borrowed from object. Returns 0 or -EINVAL with e; params_<name>_done
 * releases lists and blobs and is due in both cases.
 */
#define STRUCT(name, params)                                                   \
	must_use int params_##name##_decode(const json_t *object,              \
	    const struct decoding *d, struct params_##name *p, struct err *e); \
	void params_##name##_done(struct params_##name *p);
#define METHOD(name, wire, family, extension, params) STRUCT(name, params)
#include "net/methods.def"

#endif
