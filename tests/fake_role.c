/*
 * Stands in for sallyport-net and sallyport-exec in tests of the supervisor:
 * says that it is locked down, does nothing, and misbehaves as the last part
 * of HOME in the configuration tells it ("net-mute": net, mute).
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "policy/env.h"
#include "privsep/channel.h"
#include "privsep/pack.h"

struct fake {
	enum role self;
	struct channel *supervisor;
	char mode[64];
	uint32_t net_uid;
};

/* Whether this role is to misbehave like that. */
static bool
does(const struct fake *f, const char *what)
{
	char mode[96];

	(void)snprintf(mode, sizeof mode, "%s-%s", role_name(f->self), what);
	return strcmp(mode, f->mode) == 0;
}

static void
set_mode(struct fake *f, struct bytes home)
{
	const uint8_t *slash = memrchr(home.data, '/', home.len);
	size_t at = slash == NULL ? 0 : (size_t)(slash - home.data) + 1;

	(void)snprintf(f->mode, sizeof f->mode, "%.*s", (int)(home.len - at),
	    (const char *)home.data + at);
}

/* HOME of the base environment. */
static void
set_mode_from_env(struct fake *f, struct bytes packed)
{
	struct env_config env;
	struct bytes name, value;
	struct reader r;
	struct err e;

	if (env_config_unpack(packed, &env, &e) < 0)
		_exit(70);
	reader_init(&r, env.base.data, env.base.len);
	while (strings_next(&r, &name) && strings_next(&r, &value))
		if (bytes_is(name, "HOME"))
			set_mode(f, value);
}

static int
report(const struct fake *f)
{
	const struct msg_role_ready m = {
	    .uid =
		f->self == ROLE_NET && f->net_uid != 0 ? f->net_uid : geteuid(),
	    .gid =
		f->self == ROLE_NET && f->net_uid != 0 ? f->net_uid : getegid(),
	    .no_new_privs = 1,
	    .seccomp = does(f, "unlocked") ? 0 : 2,
	    .landlock_abi = 1,
	    .namespaces = 0x3f,
	    .probe = bytes_of("fake"),
	};

	if (does(f, "dies"))
		_exit(9);
	return does(f, "mute")
		   ? 0
		   : channel_send_role_ready(f->supervisor, &m, NULL, 0);
}

static int
forge(const struct fake *f)
{
	scoped_buf pairs;

	buf_init(&pairs, 256);
	if (buf_put_cstring(&pairs, "role") < 0 ||
	    buf_put_cstring(&pairs, "supervisor") < 0)
		return -ENOMEM;
	return channel_send_audit(f->supervisor,
	    &(struct msg_audit){.event = bytes_of("forged"),
		.pairs = {.data = pairs.data, .len = pairs.len}},
	    NULL, 0);
}

static int
misbehave(const struct fake *f)
{
	if (does(f, "crashes"))
		_exit(9);
	if (does(f, "breaks"))
		return send(ROLE_FD_SUPERVISOR, "hello", 5, 0) < 0 ? -errno : 0;
	if (does(f, "forges"))
		return forge(f);
	if (does(f, "repeats"))
		return report(f);
	if (does(f, "scribbles"))
		return write(2, "a\x1b[2Jb\nnet: c\0d\nlast", 20) == 20 ? 0
									: -EIO;
	for (int i = 0; does(f, "floods") && i < 100000; i++)
		log_info("flood %d", i);
	return 0;
}

static int
on_message(struct fake *f, struct msg *m)
{
	const struct msg_net_drained drained = {0};
	const struct msg_exec_stopped stopped = {0};

	if (m->type == MSG_EXEC_CONFIG)
		set_mode_from_env(f, m->u.exec_config.env);
	if (m->type == MSG_NET_CONFIG) {
		set_mode(f, m->u.net_config.home);
		f->net_uid = m->u.net_config.uid;
	}
	if (m->type == MSG_EXEC_CONFIG || m->type == MSG_NET_CONFIG)
		return report(f);
	if (m->type == MSG_NET_ATTACH)
		(void)msg_take_fd(m, 0); /* kept open, or a real net exits */
	if (m->type == MSG_NET_ACCEPT || m->type == MSG_NET_ATTACH)
		return misbehave(f);
	if (m->type == MSG_NET_GONE)
		log_info("gone generation=%u", m->u.net_gone.generation);
	if (does(f, "deaf"))
		return 0;
	if (m->type == MSG_NET_DRAIN) {
		(void)!channel_send_net_drained(f->supervisor, &drained, NULL,
		    0);
		_exit(0);
	}
	if (m->type == MSG_EXEC_STOP) {
		(void)!channel_send_exec_stopped(f->supervisor, &stopped, NULL,
		    0);
		_exit(0);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct fake f = {.self = ROLE_EXEC};
	struct pollfd p = {.fd = ROLE_FD_SUPERVISOR, .events = POLLIN};
	struct err e = {0};
	struct msg m;
	int r;

	if (argc > 0 && strcmp(argv[0], "sallyport-net") == 0)
		f.self = ROLE_NET;
	f.supervisor = channel_new(ROLE_FD_SUPERVISOR, f.self, ROLE_SUPERVISOR);
	if (f.supervisor == NULL)
		return 70;
	for (;;) {
		(void)poll(&p, 1, -1);
		r = channel_recv(f.supervisor, &m, &e);
		if (r == -EAGAIN)
			continue;
		if (r != 1)
			return r == 0 ? 0 : 71;
		if (on_message(&f, &m) < 0)
			return 72;
		msg_done(&m);
	}
}
