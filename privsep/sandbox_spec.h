/*
 * The sandbox object of a request, as net read it: names resolved to numbers,
 * URIs to paths, nothing decided. Its packed form travels in the request to
 * start a process and in the one for a file worker. The same object always
 * packs to the same bytes.
 */
#ifndef PRIVSEP_SANDBOX_SPEC_H
#define PRIVSEP_SANDBOX_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum sandbox_kind {
	SANDBOX_NULL,	  /* null or absent: the policy's ceiling */
	SANDBOX_DISABLED, /* {"type":"disabled"} */
	SANDBOX_EXTERNAL,
	SANDBOX_UNRESTRICTED, /* managed, file_system unrestricted */
	SANDBOX_RESTRICTED,   /* managed, file_system restricted */
	SANDBOX_KIND_MAX = SANDBOX_RESTRICTED,
};

/* What an entry's path is; text is what the comment says, else empty. */
enum sandbox_path {
	SANDBOX_PATH, /* an absolute path */
	SANDBOX_GLOB, /* a pattern, absolute or relative to cwd */
	SANDBOX_ROOT,
	SANDBOX_MINIMAL,
	SANDBOX_CWD,
	SANDBOX_PROJECT_ROOTS, /* a path relative to each root, may be empty */
	SANDBOX_TMPDIR,
	SANDBOX_SLASH_TMP,
	SANDBOX_UNKNOWN, /* a name that a later client may know */
	SANDBOX_PATH_MAX = SANDBOX_UNKNOWN,
};

enum sandbox_access {
	SANDBOX_READ,
	SANDBOX_WRITE,
	SANDBOX_DENY,
	SANDBOX_ACCESS_MAX = SANDBOX_DENY,
};

struct sandbox_entry {
	uint32_t path;	   /* enum sandbox_path */
	uint32_t access;   /* enum sandbox_access */
	bool skip_missing; /* missing_path_behavior is skip */
	struct bytes text;
};

/*
 * All views borrowed. What a kind has no use for is zero: network_enabled of
 * SANDBOX_NULL; entries and glob_scan_max_depth of all but SANDBOX_RESTRICTED.
 */
struct sandbox_spec {
	uint32_t kind; /* enum sandbox_kind */
	bool network_enabled;
	bool has_roots;		      /* workspaceRoots was there */
	uint32_t glob_scan_max_depth; /* 0: not given */
	struct bytes cwd;	      /* absolute path; empty when absent */
	struct bytes roots;	      /* packed list of absolute paths */
	struct bytes entries;	      /* made by sandbox_entry_put */
};

/* Append an entry to those of a spec. -EMSGSIZE, -ENOMEM. */
must_use int sandbox_entry_put(struct buf *entries,
    const struct sandbox_entry *entry);
/* The next entry of a spec that was unpacked: r is a reader over its entries.
 * False at their end. */
must_use bool sandbox_entry_next(struct reader *r, struct sandbox_entry *out);

/*
 * Append s to out; nothing at all for SANDBOX_NULL. Returns 0; -EMSGSIZE,
 * -ENOMEM, and out is then unchanged.
 */
must_use int sandbox_spec_pack(const struct sandbox_spec *s, struct buf *out);

/*
 * Decode and check everything: at most SANDBOX_SPEC_MAX bytes,
 * SANDBOX_ENTRIES_MAX entries, SANDBOX_ROOTS_MAX roots; enumerations in range;
 * paths of at most PATH_LEN_MAX - 1 bytes, without NUL, canonical as text (no
 * empty component, no "." or ".."); no text where none belongs. No bytes are
 * SANDBOX_NULL. Returns 0 or -EPROTO with e; views in *s point into packed.
 */
must_use int sandbox_spec_unpack(struct bytes packed, struct sandbox_spec *s,
    struct err *e);

#endif
