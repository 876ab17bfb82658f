#include "supervisor/host_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>

#include "privsep/layer.h"
#include "supervisor/confine.h"
#include "supervisor/handover.h"
#include "supervisor/role.h"

#define REPORT_MS 20000 /* exec's report takes some tens */

struct probing {
	const struct config *config;
	struct workspaces workspaces;
	struct binary exec;
	int null_fd;
	char *probe;
};

static int
open_all(struct probing *p, struct err *e)
{
	int r =
	    workspaces_open(&p->workspaces, &p->config->workspaces, true, e);

	if (r == 0)
		r = binary_open(&p->exec, "exec", "sallyport-exec", e);
	if (r < 0)
		return r;
	p->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return p->null_fd < 0 ? err_errno(e, errno, "/dev/null") : 0;
}

/* Wait for ROLE_READY, the only message of exec. */
static int
receive(struct probing *p, struct role_process *exec, struct err *e)
{
	struct pollfd slot = {.fd = channel_fd(exec->channel),
	    .events = POLLIN};
	struct msg m;
	int r;

	do
		r = poll(&slot, 1, REPORT_MS);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		return err_set(e, ETIMEDOUT, "exec did not report");
	r = channel_recv(exec->channel, &m, e);
	if (r <= 0)
		return err_set(e, EPIPE, "exec ended without a report");
	if (m.type == MSG_ROLE_READY)
		(void)snprintf(p->probe, HOST_PROBE_SIZE, "%.*s",
		    (int)m.u.role_ready.probe.len,
		    (const char *)m.u.role_ready.probe.data);
	r = m.type == MSG_ROLE_READY ? 0 : err_set(e, EPROTO, "not a report");
	msg_done(&m);
	return r;
}

static int
ask(struct probing *p, struct err *e)
{
	/* Nobody asks a backend here. */
	enum isolation isolation = ISOLATION_NO;
	const struct server server = {.config = p->config,
	    .workspaces = &p->workspaces,
	    .isolation = &isolation,
	    .exec = &p->exec,
	    .worker_fd = -1,
	    .null_fd = p->null_fd,
	    .probe = true};
	const struct role_start how = {.binary_fd = p->exec.fd,
	    .null_fd = p->null_fd};
	struct role_process exec;
	int status, r = confine_self(layer_try_userns() == 0, e);

	if (r < 0)
		return r;
	role_init(&exec, ROLE_EXEC);
	r = role_start(&exec, &how, e);
	if (r < 0)
		return r;
	r = handover_exec(&server, exec.channel);
	r = r < 0 ? err_errno(e, -r, "exec_config") : receive(p, &exec, e);
	role_kill(&exec);
	(void)waitpid(exec.pid, &status, WNOWAIT);
	(void)role_reap(&exec, &status);
	return r;
}

int
host_probe(struct config *c, char probe[HOST_PROBE_SIZE], struct err *e)
{
	struct probing p = {.config = c,
	    .exec = {.fd = -1},
	    .null_fd = -1,
	    .probe = probe};
	int r = config_finish(c, e);

	probe[0] = '\0';
	if (r == 0)
		r = open_all(&p, e);
	if (r == 0)
		r = ask(&p, e);
	fd_close(&p.null_fd);
	binary_close(&p.exec);
	workspaces_done(&p.workspaces);
	return r;
}
