/* A ceiling that a configuration spells out, to travel in a message. */
#ifndef POLICY_CEILING_H
#define POLICY_CEILING_H

#include "policy/decide.h"

/* Append view, unix_sockets and paths of c. -EMSGSIZE, -ENOMEM. */
must_use int ceiling_pack(const struct decide_ceiling *c, struct buf *out);

/*
 * Decode and check: at most PLAN_PATHS_MAX paths, each absolute and canonical.
 * The paths are copies, kept in paths and owned by it: ceiling_free releases
 * them. network_enabled is the caller's to fill in. Returns 0; -EPROTO with e;
 * -ENOMEM. On failure nothing is to be released.
 */
must_use int ceiling_unpack(struct bytes packed,
    struct plan_path paths[PLAN_PATHS_MAX], struct decide_ceiling *c,
    struct err *e);
void ceiling_free(struct decide_ceiling *c);

#endif
