#include "supervisor/command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "privsep/layer.h"
#include "supervisor/confine.h"
#include "supervisor/handover.h"
#include "supervisor/host_report.h"
#include "supervisor/role.h"

#define REPORT_MS  20000 /* exec's report takes some tens */
#define REPORT_MAX (32u * 1024u)

struct doctor {
	bool json, help;
	struct config config;
	struct workspaces workspaces;
	struct binary exec;
	int null_fd;
	char probe[4096 + 1];
};

static const char usage[] =
    "usage: sallyport doctor [--json] [--workspace DIR]... [--set "
    "SECTION.KEY=VALUE]...\n"
    "\n"
    "Try what the sandbox takes, in the process that would do it, and print\n"
    "what works, what is missing and what to change. Nothing is left behind.\n"
    "\n"
    "exit codes: 0 everything works; 1 something is missing; 2 the default\n"
    "preset cannot be served, or the question could not be asked\n";

static void
complain(const char *text)
{
	(void)fprintf(stderr, "sallyport: %s\n", text);
}

static int
parse(struct doctor *d, int argc, char **argv)
{
	static const struct option options[] = {
	    {"json", no_argument, NULL, 'j'},
	    {"workspace", required_argument, NULL, 'w'},
	    {"set", required_argument, NULL, 's'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0},
	};
	struct err e = {0};
	int option, r = 0;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option == 'j')
			d->json = true;
		else if (option == 'h')
			d->help = true;
		else if (option == 'w')
			r = config_set(&d->config, CONFIG_FLAG, "server",
			    "workspace", optarg, &e);
		else if (option == 's')
			r = config_set_text(&d->config, CONFIG_FLAG, optarg,
			    &e);
		else
			return -EINVAL; /* getopt has said why */
		if (r < 0) {
			complain(e.text);
			return r;
		}
	}
	if (optind == argc)
		return 0;
	(void)fprintf(stderr, "sallyport: %s: not an option\n", argv[optind]);
	return -EINVAL;
}

static int
open_all(struct doctor *d, struct err *e)
{
	int r = config_finish(&d->config, e);

	if (r == 0)
		r = workspaces_open(&d->workspaces, &d->config.workspaces, true,
		    e);
	if (r == 0)
		r = binary_open(&d->exec, "exec", "sallyport-exec", e);
	if (r < 0)
		return r;
	d->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return d->null_fd < 0 ? err_errno(e, errno, "/dev/null") : 0;
}

/* Wait for ROLE_READY, the only message of exec. */
static int
receive(struct doctor *d, struct role_process *p, struct err *e)
{
	struct pollfd slot = {.fd = channel_fd(p->channel), .events = POLLIN};
	struct msg m;
	int r;

	do
		r = poll(&slot, 1, REPORT_MS);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		return err_set(e, ETIMEDOUT, "exec did not report");
	r = channel_recv(p->channel, &m, e);
	if (r <= 0)
		return err_set(e, EPIPE, "exec ended without a report");
	if (m.type == MSG_ROLE_READY)
		(void)snprintf(d->probe, sizeof d->probe, "%.*s",
		    (int)m.u.role_ready.probe.len,
		    (const char *)m.u.role_ready.probe.data);
	r = m.type == MSG_ROLE_READY ? 0 : err_set(e, EPROTO, "not a report");
	msg_done(&m);
	return r;
}

/* Confined as the supervisor is: exec has no more rights here than there. */
static int
ask(struct doctor *d, struct err *e)
{
	const struct server server = {.config = &d->config,
	    .workspaces = &d->workspaces,
	    .exec = &d->exec,
	    .null_fd = d->null_fd,
	    .probe = true};
	const struct role_start how = {.binary_fd = d->exec.fd,
	    .null_fd = d->null_fd};
	struct role_process p;
	int status, r = confine_self(layer_try_userns() == 0, e);

	if (r < 0)
		return r;
	role_init(&p, ROLE_EXEC);
	r = role_start(&p, &how, e);
	if (r < 0)
		return r;
	r = handover_exec(&server, p.channel);
	r = r < 0 ? err_errno(e, -r, "exec_config") : receive(d, &p, e);
	role_kill(&p);
	(void)waitpid(p.pid, &status, WNOWAIT);
	(void)role_reap(&p, &status);
	return r;
}

static int
print(const struct doctor *d)
{
	struct utsname name = {0};
	struct host h = {.probe = bytes_of(d->probe),
	    .root = geteuid() == 0,
	    .kernel = name.release};
	scoped_buf out;
	int r;

	(void)uname(&name);
	buf_init(&out, REPORT_MAX);
	r = d->json ? host_put_json(&h, &out) : host_put_text(&h, &out);
	/* Not by stdio, which would ask more of the kernel than the lock-down
	 * allows. */
	if (r < 0 ||
	    write(STDOUT_FILENO, out.data, out.len) != (ssize_t)out.len)
		return HOST_CANNOT_SERVE;
	return (int)host_judge(&h);
}

static int
examine(struct doctor *d)
{
	struct err e = {0};
	int r = open_all(d, &e);

	if (r == 0)
		r = ask(d, &e);
	if (r < 0) {
		complain(e.text);
		return HOST_CANNOT_SERVE;
	}
	return print(d);
}

int
command_doctor(int argc, char **argv)
{
	struct doctor d = {.exec = {.fd = -1}, .null_fd = -1};
	int code = HOST_CANNOT_SERVE;

	if (config_init(&d.config) < 0)
		complain("out of memory");
	else if (parse(&d, argc, argv) < 0)
		complain("sallyport doctor --help tells what there is");
	else if (d.help)
		code =
		    fputs(usage, stdout) < 0 ? HOST_CANNOT_SERVE : HOST_WHOLE;
	else
		code = examine(&d);
	fd_close(&d.null_fd);
	binary_close(&d.exec);
	workspaces_done(&d.workspaces);
	config_done(&d.config);
	return code;
}
