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

#define SETTINGS_MAX 256 /* options of a command line that set a key */

struct arguments {
	struct list settings; /* "section.key=value", in order */
	const char *config_file, *url_file;
	bool help, help_settings;
};

enum option_number {
	OPTION_CONFIG = 1,
	OPTION_URL_FILE,
	OPTION_HELP,
	OPTION_HELP_SETTINGS,
	OPTION_SETTING, /* and on: a row of settings */
};

static const struct {
	const char *option;
	int has_arg;
	const char *prefix; /* what the option's argument is appended to */
} settings[] = {
    {"listen", required_argument, "server.listen="},
    {"workspace", required_argument, "server.workspace="},
    {"compat", required_argument, "server.compat="},
    {"preset", required_argument, "sandbox.preset="},
    {"set", required_argument, ""},
    {"allow-network", no_argument, "profile.network=enabled"},
    {"verbose", no_argument, "log.level=debug"},
};

#define SETTINGS (sizeof settings / sizeof settings[0])

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
    "commands. SIGTERM, SIGINT and SIGHUP stop the server in order; a second\n"
    "one at once.\n"
    "\n"
    "exit codes: 0 stopped by a signal; 1 the system refused something;\n"
    "2 wrong command line, configuration or workspace; 3 a process did not\n"
    "start or reach its lock-down; 4 processes crashed too often\n";

static void
complain(const char *text)
{
	(void)fprintf(stderr, "sallyport: %s\n", text);
}

/* Returns 0 or -ENOMEM, -E2BIG. */
static int
add_setting(struct arguments *a, const char *prefix, const char *value)
{
	scoped_free char *text = NULL;

	if (asprintf(&text, "%s%s", prefix, value != NULL ? value : "") < 0)
		return -ENOMEM;
	return list_add(&a->settings, text, SETTINGS_MAX);
}

static int
on_option(struct arguments *a, int option, const char *value)
{
	switch (option) {
	case OPTION_CONFIG:
		a->config_file = value;
		return 0;
	case OPTION_URL_FILE:
		a->url_file = value;
		return 0;
	case OPTION_HELP:
		a->help = true;
		return 0;
	case OPTION_HELP_SETTINGS:
		a->help_settings = true;
		return 0;
	case '?':
		return -EINVAL; /* getopt has said why */
	default:
		return add_setting(a, settings[option - OPTION_SETTING].prefix,
		    value);
	}
}

/* Returns 0, or a negative errno after a complaint. */
static int
parse_arguments(struct arguments *a, int argc, char **argv)
{
	struct option options[SETTINGS + 5] = {
	    {"config", required_argument, NULL, OPTION_CONFIG},
	    {"url-file", required_argument, NULL, OPTION_URL_FILE},
	    {"help", no_argument, NULL, OPTION_HELP},
	    {"help-settings", no_argument, NULL, OPTION_HELP_SETTINGS},
	};
	int option, r;

	for (size_t i = 0; i < SETTINGS; i++)
		options[4 + i] = (struct option){.name = settings[i].option,
		    .has_arg = settings[i].has_arg,
		    .val = OPTION_SETTING + (int)i};
	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		r = on_option(a, option, optarg);
		if (r == -E2BIG || r == -ENOMEM)
			complain("too many options");
		if (r < 0)
			return r;
	}
	if (optind == argc)
		return 0;
	(void)fprintf(stderr, "sallyport: %s: not an option\n", argv[optind]);
	return -EINVAL;
}

/* Every mistake of file and command line is told in one run. */
static int
load_config(struct config *c, const struct arguments *a)
{
	struct err e;
	scoped_buf errors;
	int r = config_init(c);

	if (r < 0)
		complain("out of memory");
	buf_init(&errors, CONFIG_ERRORS_MAX);
	if (r == 0 && a->config_file != NULL)
		r = config_load(c, a->config_file, &errors);
	if (errors.len > 0)
		(void)fwrite(errors.data, 1, errors.len, stderr);
	for (size_t i = 0; i < a->settings.count; i++) {
		if (config_set_text(c, CONFIG_FLAG, a->settings.items[i], &e) ==
		    0)
			continue;
		complain(e.text);
		r = -EINVAL;
	}
	if (r == 0) {
		r = config_finish(c, &e);
		if (r < 0)
			complain(e.text);
	}
	return r;
}

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
serve(struct config *c, const struct arguments *a)
{
	struct err e = {0};
	struct opening o;
	enum exit_code code;

	log_set_level((enum log_level)c->log_level);
	code = opening_init(&o, c, a->config_file, a->url_file, &e);
	if (code == EXIT_OK) {
		warn(c, &o.workspaces);
		if (confine_self(o.server.userns, &e) < 0)
			code = EXIT_LOCKDOWN;
	}
	if (code == EXIT_OK)
		code = supervisor_run(&o.server);
	else
		complain(e.text);
	opening_done(&o);
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
	struct arguments a = {0};
	struct config c = {0};
	enum exit_code code = EXIT_USAGE;

	if (parse_arguments(&a, argc, argv) < 0) {
		complain("sallyport serve --help tells what there is");
	} else if (a.help) {
		(void)fputs(usage, stdout);
		code = EXIT_OK;
	} else if (a.help_settings) {
		code = print_settings();
	} else if (load_config(&c, &a) == 0) {
		code = serve(&c, &a);
	}
	config_done(&c);
	list_clear(&a.settings);
	return (int)code;
}
