#include "exec/caps.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/capability.h>

#include "privsep/privdrop.h"

/* When a row counts. */
enum condition {
	ALWAYS,
	AS_ROOT,	/* children get host ids that are not exec's */
	FOREIGN_OWNER,	/* as root, and a workspace does not belong to root */
	WITHOUT_USERNS, /* as root of a host that has no user namespaces */
};

/* None of those that pass over file permissions: what a path means is found
 * out with a child's ids. */
static const struct {
	unsigned int cap;
	enum condition condition;
	const char *reason;
} rows[] = {
#define EXEC_CAP(name, when, reason) {CAP_##name, when, reason},
#include "privsep/exec_caps.def"
};

static bool
has_foreign_owner(const struct exec_config *c)
{
	for (size_t i = 0; i < c->workspace_count; i++)
		if (c->workspaces[i].uid != 0)
			return true;
	return false;
}

/* Without namespaces becoming another user is all there is to do. */
static bool
applies_bare(unsigned int cap, enum condition condition)
{
	return condition == AS_ROOT || cap == CAP_SETPCAP;
}

static bool
applies(enum condition condition, const struct exec_config *c, bool userns)
{
	switch (condition) {
	case ALWAYS:
		return true;
	case AS_ROOT:
		return c->root;
	case FOREIGN_OWNER:
		return c->root && has_foreign_owner(c);
	case WITHOUT_USERNS:
		return c->root && !userns;
	}
	return false;
}

int
caps_keep(const struct exec_config *c, const struct probe *p, struct err *e)
{
	const capng_type_t both = CAPNG_EFFECTIVE | CAPNG_PERMITTED;
	bool userns = p->errnum[LAYER_USERNS] == 0;
	uint64_t keep = 0;
	int r;

	capng_clear(CAPNG_SELECT_ALL);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (p->bare ? !applies_bare(rows[i].cap, rows[i].condition)
			    : !applies(rows[i].condition, c, userns))
			continue;
		keep |= CAP_BIT(rows[i].cap);
		if (capng_update(CAPNG_ADD, both | CAPNG_BOUNDING_SET,
			rows[i].cap) < 0)
			return err_set(e, EINVAL, "capability %u: %s",
			    rows[i].cap, rows[i].reason);
	}
	if (capng_apply(CAPNG_SELECT_ALL) < 0)
		return err_set(e, EPERM, "capabilities could not be set");
	/* Reads everything back. */
	r = privdrop_caps(keep, true);
	return r < 0 ? err_errno(e, -r, "capabilities") : 0;
}
