#include "exec/view.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "exec/mount.h"
#include "exec/sockets.h"

const char *const view_devices[VIEW_DEVICES] = {"/dev/null", "/dev/zero",
    "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"};

void
view_init(struct view *v, enum view_kind kind, const struct exec_config *config,
    const struct identity *id, pid_t parent)
{
	*v = (struct view){.config = config,
	    .kind = kind,
	    .parent = parent,
	    .id = *id,
	    .root = -1,
	    .proc = -1,
	    .cpus = -1,
	    .resolv = -1,
	    .shm = -1};
	buf_init(&v->sockets, SOCKETS_TEXT_MAX + 1);
	for (size_t i = 0; i < VIEW_DEVICES; i++)
		v->devices[i] = -1;
	for (size_t i = 0; i < WORKSPACES_MAX; i++)
		v->workspaces[i] = -1;
	for (size_t i = 0; i < BACKEND_SOCKETS_MAX; i++)
		v->backend[i] = -1;
}

void
view_done(struct view *v)
{
	fd_close(&v->root);
	fd_close(&v->proc);
	fd_close(&v->cpus);
	fd_close(&v->resolv);
	fd_close(&v->shm);
	free(v->resolv_path);
	buf_done(&v->sockets);
	for (size_t i = 0; i < VIEW_DEVICES; i++)
		fd_close(&v->devices[i]);
	for (size_t i = 0; i < WORKSPACES_MAX; i++)
		fd_close(&v->workspaces[i]);
	for (size_t i = 0; i < BACKEND_SOCKETS_MAX; i++)
		fd_close(&v->backend[i]);
}

static int
clone_into(int *out, const char *path, struct err *e)
{
	*out = mount_clone(AT_FDCWD, path, e);
	return *out < 0 ? *out : 0;
}

/* With the host's network its resolver's file is wanted too; it often lies
 * in /run, of which nothing else is seen. */
static int
open_resolv(struct view *v, struct err *e)
{
	if (v->config->network != NETWORK_ENABLED)
		return 0;
	v->resolv_path = realpath("/etc/resolv.conf", NULL);
	if (v->resolv_path == NULL || strncmp(v->resolv_path, "/run/", 5) != 0)
		return 0;
	return clone_into(&v->resolv, v->resolv_path, e);
}

int
view_open(struct view *v, struct err *e)
{
	int r = 0;

	if (view_is_open(v))
		return 0;
	for (size_t i = 0; i < VIEW_DEVICES && r == 0; i++)
		r = clone_into(&v->devices[i], view_devices[i], e);
	if (r == 0 && v->config->preset != PRESET_STRICT)
		r = clone_into(&v->root, "/", e);
	/* Like /tmp it is everybody's there. */
	if (r == 0 && v->kind == VIEW_OPEN_NARROW)
		r = clone_into(&v->shm, "/dev/shm", e);
	if (r == 0)
		r = clone_into(&v->proc, "/proc", e);
	/* The number of processors is read from there; a host may lack it. */
	if (r == 0)
		(void)clone_into(&v->cpus, "/sys/devices/system", NULL);
	if (r == 0)
		r = open_resolv(v, e);
	if (r == 0)
		r = view_open_workspaces(v, e);
	if (r == 0)
		r = view_open_backend(v, e);
	if (r == 0)
		r = view_open_sockets(v, e);
	return r;
}

int
view_build(struct view *v, struct err *e)
{
	int r = 0;

	if (!view_is_open(v)) {
		r = view_build_root(v, e);
		if (r == 0)
			r = view_build_overlays(v, e);
		if (r == 0)
			r = view_build_passwd(v, e);
		if (r == 0)
			r = view_build_workspaces(v, e);
		if (r == 0)
			r = view_build_backend(v, e);
		if (r == 0 && (v->kind == VIEW_OPEN_NARROW ||
				  v->config->network == NETWORK_RESTRICTED))
			r = view_build_sockets(v, e);
		if (r == 0)
			r = view_seal(v, e);
	}
	if (r == 0)
		r = view_build_protected(v, e);
	return r;
}

int
view_narrow(struct view *v, struct err *e)
{
	int r = mount_writable("/run", e);

	if (r == 0)
		r = view_build_sockets(v, e);
	return r < 0 ? r : mount_read_only("/run", e);
}
