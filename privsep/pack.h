/*
 * What travels inside a message's STRING or BLOB: lists of strings, the
 * limits, and the request to start a process.
 *
 * A packed list is strings one after the other (buf_put_string), no count.
 */
#ifndef PRIVSEP_PACK_H
#define PRIVSEP_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"

/*
 * Check a packed list: whole, at most items_max strings of at most len_max
 * bytes. Returns true and the number of strings in *count.
 */
must_use bool strings_check(struct bytes list, size_t items_max, size_t len_max,
    size_t *count);
/*
 * The next string of a list that was checked: r is a reader over it. False
 * at its end.
 */
must_use bool strings_next(struct reader *r, struct bytes *out);

/* struct limits as u64s in table order. -EMSGSIZE, -ENOMEM. */
must_use int limits_pack(const struct limits *l, struct buf *out);
/* Refuses, with false, a value outside its row's bounds. */
must_use bool limits_unpack(struct bytes packed, struct limits *l);

/* envPolicy.inherit of the protocol. */
enum env_inherit { ENV_INHERIT_NONE, ENV_INHERIT_CORE, ENV_INHERIT_ALL };

/* One process/start, all views borrowed. */
struct spec {
	struct bytes cwd;  /* a canonical path: base/path.h */
	struct bytes argv; /* list, at least one string */
	struct bytes arg0; /* valid if has_arg0 */
	struct bytes env;  /* list: name, value, name, value, ... */
	/* envPolicy; the rest counts only if has_policy */
	struct bytes exclude, set, include_only; /* set: name, value, ... */
	uint32_t inherit;			 /* enum env_inherit */
	bool has_policy;
	bool ignore_default_excludes;
	bool has_arg0;
	bool tty;
	bool pipe_stdin;
	bool managed_network; /* enforceManagedNetwork or managedNetwork */
	bool network_proxy;   /* networkProxy is present */
	struct bytes sandbox; /* packed: sandbox_spec.h */
};

/* Append s to out. -EMSGSIZE, -ENOMEM. */
must_use int spec_pack(const struct spec *s, struct buf *out);
/*
 * Decode and check every bound: lists whole, argv not empty, cwd canonical, no
 * NUL byte in any string, pairs even, enumerations in range, and the sandbox
 * object as sandbox_spec_unpack does. Returns 0 or -EPROTO with e. The views in
 * s point into packed.
 */
must_use int spec_unpack(struct bytes packed, struct spec *s, struct err *e);

#endif
