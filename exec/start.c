#include "exec/start.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#include "base/log.h"
#include "exec/caps.h"
#include "exec/executor.h"
#include "exec/host.h"
#include "privsep/filters.h"
#include "privsep/lockdown.h"
#include "privsep/privdrop.h"
#include "privsep/report.h"

/* The first message is the configuration. */
static int
receive_config(struct channel *supervisor, struct exec_config *c, struct err *e)
{
	struct pollfd p = {.fd = channel_fd(supervisor), .events = POLLIN};
	struct msg m;
	int r;

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	r = channel_recv(supervisor, &m, e);
	if (r <= 0)
		return r < 0 ? r : err_set(e, EPIPE, "no configuration");
	if (m.type == MSG_EXEC_CONFIG)
		r = config_take(c, &m, e);
	else
		r = err_set(e, EPROTO, "message %d first", (int)m.type);
	msg_done(&m);
	return r;
}

static int
lock_down(const struct exec_config *c, struct err *e)
{
	int r = caps_keep(c, e);

	if (r < 0)
		return r;
	r = privdrop_undumpable();
	if (r == 0)
		r = privdrop_no_new_privs();
	if (r == 0)
		r = lockdown(&filter_exec);
	return r < 0 ? err_errno(e, -r, "lock-down") : 0;
}

static int
tell_ready(struct channel *supervisor, struct probe *probe, uint32_t namespaces,
    struct err *e)
{
	struct msg_role_ready m = {.namespaces = namespaces,
	    .landlock_abi = probe->landlock_abi};
	char text[128];
	int r = report_fill(&m);

	probe_text(probe, text, sizeof text);
	m.probe = bytes_of(text);
	probe->bounding = m.caps_bounding;
	if (r == 0)
		r = channel_send_role_ready(supervisor, &m, NULL, 0);
	return r < 0 ? err_errno(e, -r, "report") : 0;
}

int
start_serve(struct channel *supervisor, struct exec_config *c, struct err *e)
{
	struct namespaces before, after;
	struct probe probe;
	int r = receive_config(supervisor, c, e);

	if (r == 0)
		r = namespaces_read(&before);
	if (r == 0)
		r = host_leave(c, e);
	if (r == 0)
		r = namespaces_read(&after);
	if (r < 0)
		return r;
	log_set_level((enum log_level)c->log_level);
	probe_run(&probe);
	r = lock_down(c, e);
	if (r == 0)
		r = tell_ready(supervisor, &probe,
		    namespaces_differ(&before, &after), e);
	return r < 0 ? r : executor_run(c, &probe, supervisor, e);
}
