/* The message that tells exec how to start sallyport-http. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "privsep/http_policy.h"
#include "supervisor/handover.h"

struct lists {
	struct buf allow, deny, ports, env;
};

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

static struct bytes
text(const char *s)
{
	return s != NULL ? bytes_of(s) : (struct bytes){0};
}

static int
pack_env(const struct config *c, struct buf *out)
{
	const struct list *names = &c->http.env;
	int r = 0;

	for (size_t i = 0; i < names->count && r == 0; i++) {
		const char *value =
		    config_http_variable(&c->env_set, names->items[i]);

		r = buf_put_cstring(out, names->items[i]);
		if (r == 0)
			r = buf_put_cstring(out, value);
	}
	return r;
}

static int
pack_lists(const struct config *c, struct lists *l)
{
	int r;

	buf_init(&l->allow, HTTP_POLICY_MAX);
	buf_init(&l->deny, HTTP_POLICY_MAX);
	buf_init(&l->ports, HTTP_POLICY_MAX);
	buf_init(&l->env, HTTP_POLICY_MAX);
	r = list_pack(&c->http.allow, &l->allow);
	if (r == 0)
		r = list_pack(&c->http.deny, &l->deny);
	if (r == 0)
		r = list_pack(&c->http.ports, &l->ports);
	return r < 0 ? r : pack_env(c, &l->env);
}

static void
lists_done(struct lists *l)
{
	buf_done(&l->allow);
	buf_done(&l->deny);
	buf_done(&l->ports);
	buf_done(&l->env);
}

int
handover_pack_http(const struct config *c, struct buf *out)
{
	const struct config_http *h = &c->http;
	struct lists l;
	int r = pack_lists(c, &l);
	const struct http_policy p = {.allow_private = h->allow_private != 0,
	    .allow_public = h->allow_public != 0,
	    .allow = view(&l.allow),
	    .deny = view(&l.deny),
	    .ports = view(&l.ports),
	    .env = view(&l.env),
	    .resolver = text(h->resolver),
	    .proxy = text(h->proxy),
	    .ca_file = text(h->ca_file),
	    .max_body = h->max_body,
	    .max_concurrent = h->max_concurrent,
	    .max_redirects = h->max_redirects};

	if (r == 0)
		r = http_policy_pack(&p, out);
	lists_done(&l);
	return r;
}

int
handover_http(const struct server *s, struct channel *channel)
{
	const struct config *c = s->config;
	bool root = geteuid() == 0;
	struct msg_exec_http m = {.uid = root ? c->http_uid : 0,
	    .gid = root ? c->http_uid : 0};
	scoped_buf policy;
	int fd, r;

	buf_init(&policy, HTTP_POLICY_MAX);
	if (!c->http.enabled || !config_backend_http_local(&c->backend))
		return 0;
	r = handover_pack_http(c, &policy);
	if (r < 0)
		return r;
	m.policy = view(&policy);
	fd = fcntl(s->http->fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return -errno;
	return channel_send_exec_http(channel, &m, &fd, 1);
}
