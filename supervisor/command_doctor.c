#include "supervisor/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "supervisor/config.h"
#include "supervisor/host_probe.h"
#include "supervisor/host_report.h"

#define REPORT_MAX (32u * 1024u)

struct doctor {
	bool json, help;
	struct config config;
	char probe[HOST_PROBE_SIZE];
};

static const char usage[] =
    "usage: sallyport doctor [--json] [--workspace DIR]... [--set "
    "SECTION.KEY=VALUE]...\n"
    "\n"
    "Try what the sandbox takes, in the process that would do it, and print\n"
    "what works, what is missing and what to change. Nothing is left behind.\n"
    "\n"
    "exit codes: 0 all works that is asked for; 1 something of that is\n"
    "missing; 2 the default preset cannot be served, or the question could\n"
    "not be asked\n";

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

	if (host_probe(&d->config, d->probe, &e) < 0) {
		complain(e.text);
		return HOST_CANNOT_SERVE;
	}
	return print(d);
}

int
command_doctor(int argc, char **argv)
{
	struct doctor d = {0};
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
	config_done(&d.config);
	return code;
}
