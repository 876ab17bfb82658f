#include "privsep/role_drop.h"

#include <errno.h>

bool
role_drop_bounds(uid_t uid, bool bare)
{
	return uid != 0 || !bare;
}

static int
drop_ids_and_caps(const struct role_drop *d, struct err *e)
{
	int r = role_drop_bounds(d->uid, d->bare) ? privdrop_bounding(0) : 0;

	if (r < 0)
		return err_errno(e, -r, "bounding set");
	if (d->uid != 0)
		r = privdrop_ids(d->uid, d->gid, true);
	if (r < 0)
		return err_errno(e, -r, "ids");
	r = privdrop_caps(0, false);
	return r < 0 ? err_errno(e, -r, "capabilities") : 0;
}

static int
set_rlimit(const struct role_rlimit *l, struct err *e)
{
	int r = privdrop_rlimit(l->resource, l->value);

	return r < 0 ? err_errno(e, -r, "rlimit %d", l->resource) : 0;
}

static int
set_rlimits(const struct role_drop *d, struct err *e)
{
	static const struct role_rlimit always[] = {
	    {RLIMIT_CORE, 0},
	    {RLIMIT_NPROC, 0},
	};
	int r = 0;

	for (size_t i = 0; i < sizeof always / sizeof always[0] && r == 0; i++)
		r = set_rlimit(&always[i], e);
	for (size_t i = 0; i < d->rlimit_count && r == 0; i++)
		r = set_rlimit(&d->rlimits[i], e);
	return r;
}

int
role_drop(const struct role_drop *d, struct err *e)
{
	int r = drop_ids_and_caps(d, e);

	if (r == 0)
		r = set_rlimits(d, e);
	if (r < 0)
		return r;
	r = privdrop_end_with_parent(d->parent);
	if (r < 0)
		return err_errno(e, -r, "death with the parent");
	r = privdrop_undumpable();
	if (r == 0)
		r = privdrop_no_new_privs();
	if (r < 0)
		return err_errno(e, -r, "dumpable, no_new_privs");
	r = d->connect ? privdrop_landlock_network()
		       : privdrop_landlock_nothing();
	return r < 0 ? err_errno(e, -r, "landlock") : r;
}
