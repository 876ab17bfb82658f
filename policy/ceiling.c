#include "policy/ceiling.h"

#include <errno.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/path.h"

int
ceiling_pack(const struct decide_ceiling *c, struct buf *out)
{
	int r = buf_put_u32(out, c->view);

	if (r == 0)
		r = buf_put_u32(out, c->unix_sockets);
	for (size_t i = 0; i < c->path_count && r == 0; i++) {
		r = buf_put_u32(out, c->paths[i].access);
		if (r == 0)
			r = buf_put_cstring(out, c->paths[i].path);
	}
	return r;
}

static int
take_path(struct reader *r, struct plan_path *p, struct err *e)
{
	struct bytes path;
	uint32_t access;

	if (!buf_get_u32(r, &access) ||
	    !buf_get_string(r, &path, PATH_LEN_MAX - 1) ||
	    access <= PLAN_NONE || access > PLAN_DENY ||
	    !path_is_canonical(path))
		return err_set(e, EPROTO, "ceiling: malformed path");
	*p = (struct plan_path){.path = bytes_dup(path),
	    .access = (enum plan_access)access};
	return p->path == NULL ? err_set(e, ENOMEM, "out of memory") : 0;
}

int
ceiling_unpack(struct bytes packed, struct plan_path paths[PLAN_PATHS_MAX],
    struct decide_ceiling *c, struct err *e)
{
	struct decide_ceiling made = {.paths = paths, .custom = true};
	uint32_t view, sockets;
	struct reader r;
	int rc = 0;

	reader_init(&r, packed.data, packed.len);
	if (!buf_get_u32(&r, &view) || !buf_get_u32(&r, &sockets) ||
	    (view != PLAN_VIEW_HOST && view != PLAN_VIEW_MINIMAL) ||
	    sockets > PLAN_UNIX_HOST)
		return err_set(e, EPROTO, "ceiling: malformed");
	made.view = (enum plan_view)view;
	made.unix_sockets = (enum plan_unix_sockets)sockets;
	while (r.left > 0 && rc == 0) {
		if (made.path_count == PLAN_PATHS_MAX)
			rc = err_set(e, EPROTO, "ceiling: too many paths");
		else
			rc = take_path(&r, &paths[made.path_count], e);
		made.path_count += rc == 0;
	}
	if (rc < 0) {
		ceiling_free(&made);
		return rc;
	}
	*c = made;
	return 0;
}

void
ceiling_free(struct decide_ceiling *c)
{
	for (size_t i = 0; i < c->path_count; i++)
		free((void *)(uintptr_t)c->paths[i].path);
	c->path_count = 0;
}
