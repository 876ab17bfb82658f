/* The method table of methods.def: look-up, decoding, dispatch. */
#ifndef NET_METHOD_H
#define NET_METHOD_H

#include <jansson.h>

#include "net/rpc.h"

struct param_uint {
	bool present;
	uint64_t v;
};

/* A packed list (privsep/pack.h) and what was seen while making it. */
struct param_list {
	struct buf packed;
	size_t count;
	bool present;
	bool has_nul; /* a string in it holds a NUL byte */
};

#define STRING(n, wire, need, bound, help) struct bytes n;
#define BOOL(n, wire, need, bound, help)   bool n;
#define UINT(n, wire, need, bound, help)   struct param_uint n;
#define LIST(n, wire, need, bound, help)   struct param_list n;
#define MAP(n, wire, need, bound, help)	   struct param_list n;
#define OBJECT(n, wire, need, bound, help) json_t *n;
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
#undef METHOD
#undef STRUCT
#undef OBJECT
#undef MAP
#undef LIST
#undef UINT
#undef BOOL
#undef STRING

/* Decode, check the lifecycle and call the handler, or answer with the error.
 * params may be NULL. */
void method_call(struct connection *c, const struct rpc_id *id,
    struct bytes name, json_t *params);

/*
 * params_<name>_decode: decode an object by its rows. strict as in
 * compat_row.strict_params. Strings and objects are borrowed from object.
 * Returns 0 or -EINVAL with e; params_<name>_done releases the lists and is
 * due in both cases.
 */
#define STRUCT(name, params)                                                   \
	must_use int params_##name##_decode(const json_t *object, bool strict, \
	    struct params_##name *p, struct err *e);                           \
	void params_##name##_done(struct params_##name *p);
#define METHOD(name, wire, family, extension, params) STRUCT(name, params)
#include "net/methods.def"
#undef METHOD
#undef STRUCT

#endif
