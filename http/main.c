/*
 * sallyport-http: makes the HTTP requests of one session and nothing else.
 * Started by exec with its channel as descriptor 3, on which the configuration
 * lies ready; all that opens files happens before the lock-down, and only
 * after it does the other end become net's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "http/confine.h"
#include "http/service.h"

#define CHANNEL_FD 3

static int
take_config(struct channel *exec, struct config *c, struct err *e)
{
	struct pollfd p = {.fd = channel_fd(exec), .events = POLLIN};
	struct msg m;
	int r;

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	r = channel_recv(exec, &m, e);
	if (r <= 0)
		return r < 0 ? r : err_set(e, EPIPE, "no configuration");
	r = config_take(c, &m.u.http_config, e);
	msg_done(&m);
	return r;
}

/* Returns 0 or a negative errno with e. */
static int
serve(struct service *s, struct channel *exec, struct err *e)
{
	struct channel *net;
	int r = take_config(exec, &s->config, e);

	if (r < 0)
		return r;
	log_set_level((enum log_level)s->config.log_level);
	r = service_init(s, e);
	if (r == 0)
		r = confine(&s->config, exec, e);
	channel_free(exec);
	if (r < 0)
		return r;
	net = channel_new(CHANNEL_FD, ROLE_HTTP, ROLE_NET);
	return net == NULL ? err_set(e, ENOMEM, "channel")
			   : service_run(s, net, e);
}

int
main(void)
{
	static struct service s = {.epfd = -1};
	int fd = fcntl(CHANNEL_FD, F_DUPFD_CLOEXEC, 4);
	struct channel *exec;
	struct err e = {0};

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	if (fd < 0) {
		log_error("http_failed errno=%d no channel", errno);
		return 1;
	}
	exec = channel_new(fd, ROLE_HTTP, ROLE_EXEC);
	if (exec == NULL)
		return 1;
	if (serve(&s, exec, &e) < 0)
		log_error("http_failed %s", e.text);
	/* Exit handlers are passed over, as libcrypto's makes a system call
	 * which the filter forbids. */
	_exit(e.code != 0);
}
