/*
 * sallyport-net: reads the network and nothing else. Started by the supervisor
 * with the descriptors of privsep/role.h; locked down before the first byte of
 * a client.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "net/confine.h"
#include "net/ws.h"

/* The configuration is the first message; nothing else comes before it. */
static int
take_config(struct net *n, struct err *e)
{
	struct msg m;
	int r = confine_wait(n->supervisor, &m, e);

	if (r < 0)
		return r;
	r = m.type == MSG_NET_CONFIG
		? config_take(&n->config, &m.u.net_config, e)
		: err_set(e, EPROTO, "the first message is no configuration");
	msg_done(&m);
	return r;
}

/* What libraries would otherwise open after lock-down. */
static int
warm_up(struct net *n, struct err *e)
{
	json_set_alloc_funcs(alloc_or_end, free);
	json_object_seed(0);
	tzset();
	n->poller = poller_new();
	if (n->poller == NULL || ws_init(n) < 0)
		return err_set(e, ENOMEM, "event loop");
	return 0;
}

static int
serve(struct net *n)
{
	struct err e = {0};

	if (take_config(n, &e) == 0 && warm_up(n, &e) == 0 &&
	    confine(n, &e) == 0)
		return net_run(n);
	log_error("start_failed %s", e.text);
	return 1;
}

int
main(void)
{
	static struct net n;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	TAILQ_INIT(&n.connections);
	TAILQ_INIT(&n.sessions);
	TAILQ_INIT(&n.finished);
	n.supervisor =
	    channel_new(ROLE_FD_SUPERVISOR, ROLE_NET, ROLE_SUPERVISOR);
	n.exec = channel_new(ROLE_FD_EXEC, ROLE_NET, ROLE_EXEC);
	if (n.supervisor == NULL || n.exec == NULL)
		return 1;
	/* The end of the process frees all the rest, and exec and the
	 * supervisor see the channels close. Exit handlers are passed over:
	 * that of libcrypto makes a system call which the filter forbids. */
	_exit(serve(&n));
}
