#include "supervisor/command.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/confine.h"
#include "supervisor/opening.h"
#include "supervisor/options.h"

static const char usage[] =
    "usage: sallyport serve [OPTION]...\n"
    "\n"
    "  --listen ws://IP:PORT  where to listen (default ws://127.0.0.1:0)\n"
    "  --workspace DIR        a directory that commands may change; may be\n"
    "                         repeated (default: the current directory)\n"
    "  --preset NAME          workspace (default), strict or open\n"
    "  --allow-network        same as --set profile.network=enabled\n"
    "  --compat NAME          codex (default) or openclaw\n"
    "  --config FILE          settings in INI form; there is no default file\n"
    "  --set SECTION.KEY=VALUE  one setting; wins over the file\n"
    "  --url-file FILE        write the URL there (mode 0600) and not to\n"
    "                         standard output; FILE is made anew, empty until\n"
    "                         the server serves and again when it has ended\n"
    "  --verbose              same as --set log.level=debug\n"
    "  --help, --help-settings  this text; every setting with its default\n"
    "\n"
    "The only line on standard output is the URL. Whoever knows it may start\n"
    "commands. SIGTERM, SIGINT and the end of its terminal stop the server in\n"
    "order; a second signal at once. SIGHUP opens the audit file anew and "
    "reads\n"
    "the configuration again, for the sessions to come.\n"
    "\n"
    "exit codes: 0 stopped by a signal; 1 the system refused something, or\n"
    "the audit log could not be written; 2 wrong command line, configuration\n"
    "or workspace; 3 a process did not start or reach its lock-down;\n"
    "4 processes crashed too often\n";

/* A file that a command made setuid root would be root's for the host's users
 * as well; the filters forbid it, this is for whoever turns them off. */
static void
warn_of_root_owner(const struct workspaces *w)
{
	struct stat st;

	for (size_t i = 0; i < w->paths.count; i++)
		if (fstat(w->fds[i], &st) == 0 && st.st_uid == 0)
			log_warn("workspace_of_root path=%s "
				 "hint=\"give it to an ordinary user\"",
			    w->paths.items[i]);
}

/* A crash of a command would then start a program on the host, as root. */
static void
warn_of_core_pattern(void)
{
	scoped_fd fd =
	    open("/proc/sys/kernel/core_pattern", O_RDONLY | O_CLOEXEC);
	char first;

	if (fd >= 0 && read(fd, &first, 1) == 1 && first == '|')
		log_warn("core_pattern hint=\"kernel.core_pattern names a "
			 "program, which a crash of a command starts as "
			 "root\"");
}

static void
warn(const struct config *c, const struct workspaces *w)
{
	if (c->preset == PRESET_OPEN)
		log_warn("preset_open NO FILE OR NETWORK CEILING: commands "
			 "have all rights of uid %u",
		    geteuid());
	if (geteuid() == 0 && c->preset != PRESET_OPEN)
		warn_of_root_owner(w);
	warn_of_core_pattern();
}

static enum exit_code
serve(struct config *c, const struct options *a)
{
	scoped_free struct opening *o = malloc(sizeof *o);
	struct err e = {0};
	enum exit_code code;

	if (o == NULL) {
		options_complain("out of memory");
		return EXIT_RUNTIME;
	}
	log_set_level((enum log_level)c->log_level);
	code = opening_init(o, c, a->config_file, a->url_file, &e);
	if (code == EXIT_OK) {
		o->server.options = a;
		warn(c, &o->workspaces);
		if (confine_self(o->server.userns, &e) < 0)
			code = EXIT_LOCKDOWN;
	}
	if (code == EXIT_OK)
		code = supervisor_run(&o->server);
	else
		options_complain(e.text);
	opening_done(o);
	return code;
}

static enum exit_code
print_settings(void)
{
	scoped_buf text;

	buf_init(&text, 64 * 1024);
	if (config_put_help(&text) < 0)
		return EXIT_RUNTIME;
	(void)fwrite(text.data, 1, text.len, stdout);
	return EXIT_OK;
}

int
command_serve(int argc, char **argv)
{
	struct options a = {0};
	struct config c = {0};
	enum exit_code code = EXIT_USAGE;

	if (options_parse(&a, argc, argv, false) < 0) {
		options_complain("sallyport serve --help tells what there is");
	} else if (a.help) {
		(void)fputs(usage, stdout);
		code = EXIT_OK;
	} else if (a.help_settings) {
		code = print_settings();
	} else if (options_load(&a, &c) == 0) {
		code = serve(&c, &a);
	}
	config_done(&c);
	options_done(&a);
	return (int)code;
}
