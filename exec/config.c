#include "exec/config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/path.h"
#include "policy/argv_template.h"
#include "policy/ceiling.h"
#include "privsep/pack.h"

/* Copies the strings of a list. Each must be an absolute path. */
static int
take_paths(struct bytes list, char **out, size_t max, size_t *count,
    struct err *e)
{
	struct reader r;
	struct bytes s;

	if (!strings_check(list, max, PATH_LEN_MAX - 1, count))
		return err_set(e, EPROTO, "config: bad list of paths");
	reader_init(&r, list.data, list.len);
	for (size_t i = 0; strings_next(&r, &s); i++) {
		if (s.len == 0 || s.data[0] != '/' || bytes_has_nul(s))
			return err_set(e, EPROTO, "config: not a path");
		out[i] = bytes_dup(s);
		if (out[i] == NULL)
			return err_set(e, ENOMEM, "config");
	}
	return 0;
}

static int
take_workspaces(struct exec_config *c, struct msg *m, struct err *e)
{
	char *paths[WORKSPACES_MAX] = {0};
	size_t count = 0;
	int r = take_paths(m->u.exec_config.workspaces, paths, WORKSPACES_MAX,
	    &count, e);

	for (size_t i = 0; i < WORKSPACES_MAX; i++)
		c->workspaces[i].path = paths[i];
	if (r < 0)
		return r;
	if (count != m->fd_count || count == 0)
		return err_set(e, EPROTO, "config: %zu workspaces, %zu fds",
		    count, m->fd_count);
	for (size_t i = 0; i < count; i++) {
		struct workspace *w = &c->workspaces[i];
		struct stat st;

		w->fd = msg_take_fd(m, i);
		c->workspace_count = i + 1;
		if (fstat(w->fd, &st) < 0 || !S_ISDIR(st.st_mode))
			return err_set(e, EINVAL,
			    "workspace %s is not a directory", w->path);
		w->uid = st.st_uid;
		w->gid = st.st_gid;
	}
	return 0;
}

static int
take_scratch(struct exec_config *c, struct bytes path, struct err *e)
{
	if (path.len == 0)
		return 0;
	if (!path_is_canonical(path))
		return err_set(e, EPROTO, "config: not a path");
	c->scratch = bytes_dup(path);
	return c->scratch == NULL ? err_set(e, ENOMEM, "config") : 0;
}

static int
take_env(struct exec_config *c, struct bytes packed, struct err *e)
{
	struct bytes name, value, home = bytes_of(SESSION_HOME);
	struct reader r;
	int rc;

	c->env_packed = malloc(packed.len + 1);
	if (c->env_packed == NULL)
		return err_set(e, ENOMEM, "config");
	if (packed.len > 0)
		memcpy(c->env_packed, packed.data, packed.len);
	packed.data = c->env_packed;
	rc = env_config_unpack(packed, &c->env, e);
	if (rc < 0)
		return rc;
	reader_init(&r, c->env.base.data, c->env.base.len);
	while (strings_next(&r, &name) && strings_next(&r, &value))
		if (bytes_is(name, "HOME"))
			home = value;
	c->home = bytes_dup(home);
	return c->home == NULL ? err_set(e, ENOMEM, "config") : 0;
}

_Static_assert((int)DECIDE_PRESET_WORKSPACE == (int)PRESET_WORKSPACE &&
		   (int)DECIDE_PRESET_OPEN == (int)PRESET_OPEN &&
		   (int)DECIDE_PRESET_STRICT == (int)PRESET_STRICT,
    "the preset travels as a number");

static void
fill_ceiling(struct exec_config *c)
{
	const char *workspaces[WORKSPACES_MAX], *read_only[PROTECTED_MAX];
	const struct decide_places places = {.workspaces = workspaces,
	    .workspace_count = c->workspace_count,
	    .read_only = read_only,
	    .read_only_count = c->protected_count};

	for (size_t i = 0; i < c->workspace_count; i++)
		workspaces[i] = c->workspaces[i].path;
	for (size_t i = 0; i < c->protected_count; i++)
		read_only[i] = c->protected_paths[i];
	decide_ceiling_of((enum decide_preset)c->preset,
	    c->network == NETWORK_ENABLED, &places, c->paths, &c->ceiling);
}

_Static_assert(3 + WORKSPACES_MAX + PROTECTED_MAX <= PLAN_PATHS_MAX,
    "the ceiling fits its table");

static int
take_words(struct exec_config *c, const struct msg_exec_config *m,
    struct err *e)
{
	if (m->preset > PRESET_STRICT || m->network > NETWORK_ENABLED ||
	    m->umask > 0777 || m->log_level > LOG_DEBUG)
		return err_set(e, EPROTO, "config: value out of range");
	if (!limits_unpack(m->limits, &c->limits))
		return err_set(e, EPROTO, "config: bad limits");
	c->root = geteuid() == 0;
	c->preset = (enum preset)m->preset;
	c->network = (enum network)m->network;
	c->flags = m->flags;
	c->log_level = m->log_level;
	c->uid_base = m->uid_base;
	c->umask = m->umask;
	if (c->preset == PRESET_OPEN)
		c->network = NETWORK_ENABLED;
	if (c->preset == PRESET_OPEN && c->root &&
	    (c->flags & EXEC_FLAG_ALLOW_ROOT) == 0)
		return err_set(e, EINVAL,
		    "preset open as root needs sandbox.allow_root");
	/* Session ids must stay clear of root and of (uid_t)-1. */
	if (c->root &&
	    (c->uid_base == 0 ||
		c->uid_base >
		    UINT32_MAX - 2 - EXECUTOR_SLOTS(c->limits.sessions_max)))
		return err_set(e, EINVAL, "sandbox.uid_base is out of range");
	return 0;
}

int
config_take(struct exec_config *c, struct msg *m, struct err *e)
{
	const struct msg_exec_config *b = &m->u.exec_config;
	int r;

	r = take_words(c, b, e);
	if (r == 0)
		r = take_workspaces(c, m, e);
	if (r == 0)
		r = take_paths(b->protected_paths, c->protected_paths,
		    PROTECTED_MAX, &c->protected_count, e);
	if (r == 0)
		r = take_scratch(c, b->scratch, e);
	if (r == 0)
		r = take_env(c, b->env, e);
	if (r == 0)
		fill_ceiling(c);
	return r;
}

static int
take_ceiling(struct exec_config *c, struct bytes packed, struct err *e)
{
	bool network_enabled = c->ceiling.network_enabled;
	int r;

	if (packed.len == 0)
		return 0;
	if (c->preset == PRESET_OPEN)
		return err_set(e, EPROTO, "config: open has no ceiling");
	r = ceiling_unpack(packed, c->paths, &c->ceiling, e);
	if (r == 0)
		c->ceiling.network_enabled = network_enabled;
	return r;
}

/* The kernel checks the instructions when they are loaded. */
static int
take_filter(struct exec_config *c, struct bytes code, struct err *e)
{
	size_t count = code.len / sizeof(struct sock_filter);

	if (code.len == 0)
		return 0;
	if (code.len % sizeof(struct sock_filter) != 0 || count > BPF_MAXINSNS)
		return err_set(e, EPROTO, "config: bad filter");
	c->child_filter.filter = malloc(code.len);
	if (c->child_filter.filter == NULL)
		return err_set(e, ENOMEM, "config");
	memcpy(c->child_filter.filter, code.data, code.len);
	c->child_filter.len = (unsigned short)count;
	return 0;
}

int
config_take_policy(struct exec_config *c, const struct msg_exec_policy *m,
    struct err *e)
{
	int r = take_ceiling(c, m->ceiling, e);

	return r < 0 ? r : take_filter(c, m->filter, e);
}

static int
share_nothing(const struct exec_config *c, struct plan_path *p)
{
	char *copy;

	if (strcmp(p->path, "/tmp") != 0 || c->scratch == NULL) {
		if (strcmp(p->path, "/tmp") == 0 ||
		    strcmp(p->path, "/dev/shm") == 0)
			p->access = PLAN_READ;
		return 0;
	}
	if (!c->ceiling.custom) {
		p->path = c->scratch;
		return 0;
	}
	copy = strdup(c->scratch);
	if (copy == NULL)
		return -ENOMEM;
	free((void *)(uintptr_t)p->path);
	p->path = copy;
	return 0;
}

int
config_share_nothing(struct exec_config *c, struct err *e)
{
	int r = 0;

	/* Under the preset open they are the host's anyway. */
	if (c->preset == PRESET_OPEN)
		return 0;
	for (size_t i = 0; i < c->ceiling.path_count && r == 0; i++)
		r = share_nothing(c, &c->paths[i]);
	return r < 0 ? err_set(e, ENOMEM, "config") : 0;
}

static int
take_bind(struct backend_config *b, const struct msg_exec_backend *m,
    struct err *e)
{
	if (b->files != BACKEND_FILES_BIND)
		return 0;
	if (!path_is_canonical(m->bind) || !path_is_canonical(m->bind_as))
		return err_set(e, EPROTO, "config: bad backend bind");
	b->bind = bytes_dup(m->bind);
	b->bind_as = bytes_dup(m->bind_as);
	return b->bind == NULL || b->bind_as == NULL
		   ? err_set(e, ENOMEM, "config")
		   : 0;
}

/* What file workers elsewhere are: a path there, or a program to be sent. */
static int
take_worker(struct backend_config *b, struct msg *msg, struct err *e)
{
	const struct msg_exec_backend *m = &msg->u.exec_backend;
	struct stat st;

	if (m->files > BACKEND_FILES_MAX)
		return err_set(e, EPROTO, "config: bad backend");
	b->files = (enum backend_files)m->files;
	if (b->files == BACKEND_FILES_WORKER) {
		if (!path_is_canonical(m->worker))
			return err_set(e, EPROTO, "config: bad backend worker");
		b->worker = bytes_dup(m->worker);
		return b->worker == NULL ? err_set(e, ENOMEM, "config") : 0;
	}
	if (b->files != BACKEND_FILES_SEND)
		return 0;
	b->program_fd = msg_take_fd(msg, 0);
	if (b->program_fd < 0 || fstat(b->program_fd, &st) < 0 ||
	    !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > (off_t)WORKER_PROGRAM_MAX)
		return err_set(e, EPROTO, "config: bad backend program");
	b->program_len = (uint64_t)st.st_size;
	return 0;
}

int
config_take_backend(struct exec_config *c, struct msg *msg, struct err *e)
{
	const struct msg_exec_backend *m = &msg->u.exec_backend;
	struct backend_config *b = &c->backend;
	const struct {
		char **out;
		struct bytes text;
		uint32_t allowed;
	} rows[] = {
	    {&b->start, m->start, BACKEND_START_NAMES},
	    {&b->signal, m->signal, BACKEND_SIGNAL_NAMES},
	    {&b->terminate, m->terminate, BACKEND_TERMINATE_NAMES},
	    {&b->finalize, m->finalize, BACKEND_FINALIZE_NAMES},
	    {&b->prepare, m->prepare, BACKEND_PREPARE_NAMES},
	    {&b->inspect, m->inspect, BACKEND_INSPECT_NAMES},
	};
	uint32_t used;
	int r;

	b->target = bytes_dup(m->target);
	if (b->target == NULL || m->start.len == 0 || m->lost_status > 256 ||
	    bytes_has_nul(m->target))
		return err_set(e, EPROTO, "config: bad backend");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (bytes_has_nul(rows[i].text) ||
		    (rows[i].text.len > 0 &&
			argv_template_check(rows[i].text, rows[i].allowed,
			    &used, e) < 0))
			return err_set(e, EPROTO, "config: bad backend");
		*rows[i].out = bytes_dup(rows[i].text);
		if (*rows[i].out == NULL)
			return err_set(e, ENOMEM, "config");
	}
	if (take_paths(m->sockets, b->sockets, BACKEND_SOCKETS_MAX,
		&b->socket_count, e) < 0)
		return -EPROTO;
	r = take_worker(b, msg, e);
	if (r == 0)
		r = take_bind(b, m, e);
	if (r < 0)
		return r;
	b->isolated = m->isolated != 0;
	b->uid = m->uid;
	b->gid = m->gid;
	b->lost_status = m->lost_status;
	b->on = true;
	return 0;
}

static void
backend_done(struct backend_config *b)
{
	free(b->target);
	free(b->start);
	free(b->signal);
	free(b->terminate);
	free(b->finalize);
	free(b->prepare);
	free(b->inspect);
	free(b->worker);
	free(b->bind);
	free(b->bind_as);
	fd_close(&b->program_fd);
	for (size_t i = 0; i < BACKEND_SOCKETS_MAX; i++)
		free(b->sockets[i]);
}

struct exec_config *
config_new(void)
{
	struct exec_config *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->users = 1;
	c->http.binary_fd = -1;
	c->backend.program_fd = -1;
	for (size_t i = 0; i < WORKSPACES_MAX; i++)
		c->workspaces[i].fd = -1;
	return c;
}

struct exec_config *
config_hold(struct exec_config *c)
{
	c->users++;
	return c;
}

int
config_take_http(struct exec_config *c, struct msg *msg, struct err *e)
{
	const struct msg_exec_http *m = &msg->u.exec_http;
	struct http_plan *p = &c->http;

	if (p->binary_fd >= 0)
		return err_set(e, EPROTO, "http again");
	p->policy = malloc(m->policy.len + 1);
	if (p->policy == NULL)
		return err_set(e, ENOMEM, "http");
	memcpy(p->policy, m->policy.data, m->policy.len);
	p->policy_len = m->policy.len;
	p->uid = m->uid;
	p->gid = m->gid;
	p->binary_fd = msg_take_fd(msg, 0);
	return 0;
}

static bool
has_same_places(const struct exec_config *a, const struct exec_config *b)
{
	if (a->workspace_count != b->workspace_count ||
	    a->uid_base != b->uid_base ||
	    a->limits.sessions_max != b->limits.sessions_max)
		return false;
	for (size_t i = 0; i < a->workspace_count; i++)
		if (strcmp(a->workspaces[i].path, b->workspaces[i].path) != 0)
			return false;
	return true;
}

int
config_follow(struct exec_config *c, const struct exec_config *now,
    struct err *e)
{
	if (!has_same_places(c, now))
		return err_set(e, EINVAL, "config: needs a new start");
	c->bare = now->bare;
	c->no_netns = now->no_netns;
	for (size_t i = 0; i < c->workspace_count; i++) {
		struct workspace *w = &c->workspaces[i];
		int fd = fcntl(now->workspaces[i].fd, F_DUPFD_CLOEXEC, 3);

		if (fd < 0)
			return err_errno(e, errno, "config");
		fd_close(&w->fd);
		w->fd = fd;
		w->uid = now->workspaces[i].uid;
		w->gid = now->workspaces[i].gid;
	}
	return 0;
}

void
config_drop(struct exec_config *c)
{
	if (c == NULL || --c->users > 0)
		return;
	fd_close(&c->http.binary_fd);
	free(c->http.policy);
	backend_done(&c->backend);
	if (c->ceiling.custom)
		ceiling_free(&c->ceiling);
	free(c->child_filter.filter);
	for (size_t i = 0; i < c->workspace_count; i++)
		fd_close(&c->workspaces[i].fd);
	for (size_t i = 0; i < WORKSPACES_MAX; i++)
		free(c->workspaces[i].path);
	for (size_t i = 0; i < PROTECTED_MAX; i++)
		free(c->protected_paths[i]);
	free(c->scratch);
	free(c->env_packed);
	free(c->home);
	free(c);
}
