#include "supervisor/reload.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "supervisor/handover.h"
#include "supervisor/options.h"
#include "supervisor/own_files.h"
#include "supervisor/own_home.h"

static void
complain(struct buf *errors, const char *text)
{
	/* When it is full the rest is not told. */
	if (buf_printf(errors, "%s\n", text) < 0)
		errors->len = errors->max;
}

/* Workspaces are given as they were typed, and kept as what they are. */
static int
resolve_workspaces(struct config *c, struct err *e)
{
	struct list real = {0};
	const char *const here[] = {"."};
	const char *const *paths = (const char *const *)c->workspaces.items;
	size_t count = c->workspaces.count;
	int r = 0;

	if (count == 0) {
		paths = here;
		count = 1;
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		scoped_free char *path = realpath(paths[i], NULL);

		r = list_add(&real, path != NULL ? path : paths[i],
		    WORKSPACES_MAX);
	}
	list_clear(&c->workspaces);
	c->workspaces = real;
	return r < 0 ? err_set(e, -r, "workspaces") : 0;
}

/*
 * A file that was not there at the start may lie where commands can change it:
 * what is read-only for them was settled then.
 */
static int
check_own_files(const struct reload *r, const struct server *now, struct err *e)
{
	struct workspaces scratch = {.paths = now->workspaces->paths};
	const char *const binaries[] = {NULL};
	int rc = own_files_protect(&scratch, &r->config,
	    now->options->config_file, NULL, binaries, e);

	for (size_t i = 0; i < scratch.read_only.count && rc == 0; i++)
		if (!list_has(&now->workspaces->read_only,
			scratch.read_only.items[i]))
			rc = err_set(e, EPERM,
			    "%.120s: in a workspace, and new: needs a restart",
			    scratch.read_only.items[i]);
	list_clear(&scratch.read_only);
	return rc;
}

static int
make_policy(struct reload *r, struct err *e)
{
	const struct config *c = &r->config;
	const struct config_profile *p = config_profile_of(c);
	struct server *s = &r->server;
	int rc = 0;

	s->ceiling = NULL;
	s->child_filter = (struct sock_fprog){0};
	if (p != NULL)
		rc = config_ceiling_init(&r->ceiling, p, &s->workspaces->paths,
		    &s->workspaces->read_only, e);
	if (rc == 0 && c->child_policy != NULL)
		rc = child_policy_compile(c->child_policy, &r->child, e);
	if (rc < 0)
		return rc;
	s->ceiling = p != NULL ? &r->ceiling.ceiling : NULL;
	if (r->child != NULL)
		s->child_filter =
		    (struct sock_fprog){.len = (unsigned short)r->child->len,
			.filter = r->child->code};
	return 0;
}

/* Before the values are compared; open stays open, and the others not. */
static int
use_home(struct config *c, const struct server *now, struct err *e)
{
	uint32_t asked = c->preset;
	int r;

	c->preset = now->config->preset;
	r = own_home_use(c, e);
	if (r == 0 && now->scratch[0] != '\0')
		r = own_home_scratch(c, now->scratch, e);
	c->preset = asked;
	return r;
}

static int
settle(struct reload *r, const struct server *now, struct err *e)
{
	int rc = resolve_workspaces(&r->config, e);

	if (rc == 0)
		rc = use_home(&r->config, now, e);
	if (rc == 0)
		rc = config_carry(&r->config, now->config, now->http->fd >= 0,
			 &r->changes) < 0
			 ? err_set(e, ENOMEM, "out of memory")
			 : 0;
	if (rc == 0)
		rc = config_finish(&r->config, e);
	if (rc == 0 && r->config.http.enabled && now->http->fd < 0) {
		r->config.http.enabled = 0;
		rc = buf_printf(&r->changes.kept, " http.enabled");
	}
	if (rc == 0)
		rc = check_own_files(r, now, e);
	if (rc == 0)
		rc = make_policy(r, e);
	return rc < 0 ? rc : handover_check(&r->server, e);
}

struct reload *
reload_read(const struct server *now, struct buf *errors)
{
	struct reload *r = calloc(1, sizeof *r);
	struct err e = {0};
	int rc;

	if (r == NULL) {
		complain(errors, "out of memory");
		return NULL;
	}
	config_changes_init(&r->changes);
	r->server = *now;
	r->server.config = &r->config;
	rc = options_read(now->options, &r->config, errors);
	if (rc == 0) {
		rc = settle(r, now, &e);
		if (rc < 0)
			complain(errors, e.text);
	}
	if (rc == 0)
		return r;
	reload_free(r);
	return NULL;
}

void
reload_free(struct reload *r)
{
	if (r == NULL)
		return;
	config_ceiling_done(&r->ceiling);
	free(r->child);
	config_changes_done(&r->changes);
	config_done(&r->config);
	free(r);
}

int
reload_send(const struct reload *r, struct channel *exec, uint32_t number)
{
	const struct msg_exec_apply m = {.number = number};
	int rc = handover_exec(&r->server, exec);

	if (rc == 0)
		rc = handover_http(&r->server, exec);
	return rc < 0 ? rc : channel_send_exec_apply(exec, &m, NULL, 0);
}
