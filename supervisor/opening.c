#include "supervisor/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/profile.h"
#include "privsep/layer.h"
#include "supervisor/confine.h"
#include "supervisor/handover.h"
#include "supervisor/listener.h"
#include "supervisor/own_files.h"
#include "supervisor/own_home.h"

#define SECRET_SIZE 16 /* bytes: 128 random bits */

static int
check_rights(const struct config *c, struct err *e)
{
	scoped_buf host;

	buf_init(&host, 64);
	if (c->preset == PRESET_OPEN && geteuid() == 0 && !c->allow_root)
		return err_set(e, EPERM,
		    "the preset open would run every command as root; if that "
		    "is meant, add --set sandbox.allow_root=true");
	if (listen_url_is_loopback(&c->listen))
		return 0;
	if (listen_url_put_host(&c->listen, &host) < 0)
		buf_clear(&host);
	return err_set(e, EPERM,
	    "server.listen: %.*s can be reached from other machines, which "
	    "needs authentication other than the URL's path",
	    (int)host.len, (char *)host.data);
}

static int
protect(struct opening *o, const char *config_file, const char *url_file,
    struct err *e)
{
	const struct config *c = o->server.config;
	const char *const binaries[] = {o->net.path, o->exec.path,
	    c->http.enabled ? o->http.path : NULL, NULL};
	const struct list *own = &o->workspaces.read_only;
	int r = own_files_protect(&o->workspaces, c, config_file, url_file,
	    binaries, e);

	for (size_t i = 0; i < own->count && r == 0; i++)
		log_info("read_only path=%s reason=\"sallyport's own files\"",
		    own->items[i]);
	return r;
}

/* Where no session can have a /tmp of its own, the server's programs have a
 * directory of theirs in the host's. */
static int
use_scratch(struct opening *o, struct config *c, struct err *e)
{
	struct stat owner;
	int r;

	if ((o->server.lacks & ROLE_NS_MNT) == 0 || c->preset == PRESET_OPEN)
		return 0;
	if (fstat(o->workspaces.fds[0], &owner) < 0)
		return err_errno(e, errno, "workspace");
	r = scratch_make(&o->scratch, owner.st_uid, owner.st_gid, e);
	return r < 0 ? r : own_home_scratch(c, o->scratch.path, e);
}

/* What is bound is shown as far as sessions have it, so it is to be theirs. */
static int
check_bind(const struct config *c, struct err *e)
{
	struct bytes host, guest;

	config_backend_bind(&c->backend, &host, &guest);
	if (host.len == 0)
		return 0;
	for (size_t i = 0; i < c->workspaces.count; i++)
		if (profile_is_in(host, bytes_of(c->workspaces.items[i])))
			return 0;
	return err_set(e, EINVAL,
	    "backend.bind: %.*s is no workspace and lies in none, by the "
	    "names without symbolic links",
	    (int)host.len, host.data);
}

static int
open_workspaces(struct opening *o, struct config *c, struct err *e)
{
	int r = workspaces_open(&o->workspaces, &c->workspaces,
	    c->preset == PRESET_OPEN, e);

	if (r < 0)
		return r;
	list_clear(&c->workspaces);
	for (size_t i = 0; i < o->workspaces.paths.count && r == 0; i++)
		r = list_add(&c->workspaces, o->workspaces.paths.items[i],
		    WORKSPACES_MAX);
	return r < 0 ? err_errno(e, -r, "workspaces") : check_bind(c, e);
}

/*
 * Made anew with O_EXCL, so that nobody else has it open or may read it. The
 * URL is written when the server serves, in one piece; until then the file is
 * empty (renaming it into place would need rights that are gone by then).
 */
static int
open_url_file(struct opening *o, const char *path, struct err *e)
{
	int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;

	if (path == NULL)
		return 0;
	if (lstat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return err_set(e, EEXIST,
			    "%.100s: exists and is no regular file", path);
		if (unlink(path) < 0)
			return err_errno(e, errno, "%.100s", path);
	}
	o->url_fd = open(path, flags, 0600);
	if (o->url_fd < 0 || fchmod(o->url_fd, 0600) < 0)
		return err_errno(e, errno, "%.100s", path);
	return 0;
}

static int
make_path(struct opening *o, struct err *e)
{
	uint8_t secret[SECRET_SIZE];

	if (getrandom(secret, sizeof secret, 0) != sizeof secret)
		return err_errno(e, errno, "random bytes");
	o->path[0] = '/';
	for (size_t i = 0; i < sizeof secret; i++)
		(void)snprintf(o->path + 1 + 2 * i, 3, "%02x",
		    (unsigned int)secret[i]);
	explicit_bzero(secret, sizeof secret);
	return 0;
}

static int
open_listener(struct opening *o, struct err *e)
{
	int r;

	o->listener_fd = listener_open(&o->address, e);
	if (o->listener_fd < 0)
		return o->listener_fd;
	r = listen_url_put_host(&o->address, &o->host);
	if (r == 0)
		r = buf_put_u8(&o->host, 0);
	return r < 0 ? err_errno(e, -r, "listen") : make_path(o, e);
}

/* The program of file workers that is sent elsewhere. */
static int
open_worker(struct opening *o, const struct config_backend *b, struct err *e)
{
	struct binary installed = {.fd = -1};
	const char *path = b->worker;
	struct stat st;
	int r = 0;

	if (path == NULL) {
		r = binary_open(&installed, "exec", "sallyport-worker", e);
		path = installed.path;
	}
	binary_close(&installed);
	if (r < 0)
		return r;
	o->worker_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (o->worker_fd < 0 || fstat(o->worker_fd, &st) < 0)
		return err_errno(e, errno, "backend.worker: %.120s", path);
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > (off_t)WORKER_PROGRAM_MAX)
		return err_set(e, EINVAL,
		    "backend.worker: %.80s is no file of 1 to %u bytes", path,
		    WORKER_PROGRAM_MAX);
	return 0;
}

static int
open_binaries(struct opening *o, struct err *e)
{
	const struct config *c = o->server.config;
	int r = binary_open(&o->net, "net", "sallyport-net", e);

	if (r == 0)
		r = binary_open(&o->exec, "exec", "sallyport-exec", e);
	if (r == 0 && c->http.enabled)
		r = binary_open(&o->http, "http", "sallyport-http", e);
	if (r == 0 && c->backend.type != BACKEND_NATIVE &&
	    c->backend.files == BACKEND_FILES_SEND)
		r = open_worker(o, &c->backend, e);
	if (r < 0)
		return r;
	o->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return o->null_fd < 0 ? err_errno(e, errno, "/dev/null") : 0;
}

/* What the configuration puts in the place of a preset's. */
static int
open_policy(struct opening *o, const struct config *c, struct err *e)
{
	const struct config_profile *p = config_profile_of(c);
	struct server *s = &o->server;
	int r = 0;

	if (p != NULL)
		r = config_ceiling_init(&o->ceiling, p, &o->workspaces.paths,
		    &o->workspaces.read_only, e);
	if (r == 0 && c->child_policy != NULL)
		r = child_policy_compile(c->child_policy, &o->child, e);
	if (r < 0)
		return r;
	s->ceiling = p != NULL ? &o->ceiling.ceiling : NULL;
	if (o->child != NULL)
		s->child_filter =
		    (struct sock_fprog){.len = (unsigned short)o->child->len,
			.filter = o->child->code};
	return 0;
}

static uint32_t
get_umask(void)
{
	mode_t mask = umask(077);

	(void)umask(mask);
	return mask;
}

static void
fill_server(struct opening *o)
{
	struct server *s = &o->server;

	s->workspaces = &o->workspaces;
	s->net = &o->net;
	s->exec = &o->exec;
	s->http = &o->http;
	s->worker_fd = o->worker_fd;
	s->audit = &o->audit;
	s->listener_fd = o->listener_fd;
	s->null_fd = o->null_fd;
	s->url_fd = o->url_fd >= 0 ? o->url_fd : STDOUT_FILENO;
	s->host = (const char *)o->host.data;
	s->path = o->path;
	s->shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
	s->umask = get_umask();
	s->landlock_abi = confine_landlock_abi();
	s->userns = layer_try_userns() == 0;
	o->isolation = isolation_of(&s->config->backend);
	s->isolation = &o->isolation;
	s->scratch = o->scratch.path;
}

enum exit_code
opening_init(struct opening *o, struct config *c, const char *config_file,
    const char *url_file, struct err *e)
{
	*o = (struct opening){.server = {.config = c},
	    .net = {.fd = -1},
	    .exec = {.fd = -1},
	    .http = {.fd = -1},
	    .audit = {.sink = {.fd = -1, .dir_fd = -1}},
	    .address = c->listen,
	    .listener_fd = -1,
	    .null_fd = -1,
	    .worker_fd = -1,
	    .url_fd = -1};
	buf_init(&o->host, 64);
	scratch_init(&o->scratch);
	if (c->degraded || c->preset == PRESET_OPEN)
		o->server.lacks = layer_missing_namespaces();
	if (check_rights(c, e) < 0 || own_home_use(c, e) < 0 ||
	    open_workspaces(o, c, e) < 0 || use_scratch(o, c, e) < 0)
		return EXIT_USAGE;
	if (open_binaries(o, e) < 0)
		return EXIT_RUNTIME;
	if (protect(o, config_file, url_file, e) < 0 ||
	    open_policy(o, c, e) < 0 || audit_open(&o->audit, &c->audit, e) < 0)
		return EXIT_USAGE;
	if (open_listener(o, e) < 0)
		return EXIT_RUNTIME;
	if (open_url_file(o, url_file, e) < 0)
		return EXIT_USAGE;
	fill_server(o);
	return handover_check(&o->server, e) < 0 ? EXIT_USAGE : EXIT_OK;
}

/* A URL of a server that is gone is of use to nobody. */
void
opening_done(struct opening *o)
{
	if (o->url_fd >= 0 && ftruncate(o->url_fd, 0) < 0)
		log_warn("url_file error=%s", strerrorname_np(errno));
	fd_close(&o->url_fd);
	scratch_done(&o->scratch);
	fd_close(&o->listener_fd);
	fd_close(&o->null_fd);
	fd_close(&o->worker_fd);
	audit_close(&o->audit);
	binary_close(&o->net);
	binary_close(&o->exec);
	binary_close(&o->http);
	workspaces_done(&o->workspaces);
	config_ceiling_done(&o->ceiling);
	free(o->child);
	buf_done(&o->host);
	explicit_bzero(o->path, sizeof o->path);
}
