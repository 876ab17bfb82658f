#include "supervisor/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS_MAX 256 /* options of a command line that set a key */

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

void
options_complain(const char *text)
{
	(void)fprintf(stderr, "sallyport: %s\n", text);
}

/* Returns 0 or -ENOMEM, -E2BIG. */
static int
add_setting(struct options *a, const char *prefix, const char *value)
{
	scoped_free char *text = NULL;

	if (asprintf(&text, "%s%s", prefix, value != NULL ? value : "") < 0)
		return -ENOMEM;
	return list_add(&a->settings, text, SETTINGS_MAX);
}

static int
on_option(struct options *a, int option, const char *value)
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

int
options_parse(struct options *a, int argc, char **argv, bool operands)
{
	struct option longs[SETTINGS + 5] = {
	    {"config", required_argument, NULL, OPTION_CONFIG},
	    {"url-file", required_argument, NULL, OPTION_URL_FILE},
	    {"help", no_argument, NULL, OPTION_HELP},
	    {"help-settings", no_argument, NULL, OPTION_HELP_SETTINGS},
	};
	int option, r;

	for (size_t i = 0; i < SETTINGS; i++)
		longs[4 + i] = (struct option){.name = settings[i].option,
		    .has_arg = settings[i].has_arg,
		    .val = OPTION_SETTING + (int)i};
	while ((option = getopt_long(argc, argv, "+", longs, NULL)) != -1) {
		r = on_option(a, option, optarg);
		if (r == -E2BIG || r == -ENOMEM)
			options_complain("too many options");
		if (r < 0)
			return r;
	}
	a->first = optind;
	if (optind == argc || operands)
		return 0;
	(void)fprintf(stderr, "sallyport: %s: not an option\n", argv[optind]);
	return -EINVAL;
}

static int
load_files(struct config *c, const char *path, struct buf *errors)
{
	int r = config_load(c, CONFIG_FILE, path, errors);
	int dropins = config_load_dropins(c, path, errors);

	return r < 0 ? r : dropins;
}

int
options_read(const struct options *a, struct config *c, struct buf *errors)
{
	struct err e;
	int r = config_init(c);

	if (r < 0)
		return r;
	if (a->config_file != NULL)
		r = load_files(c, a->config_file, errors);
	for (size_t i = 0; i < a->settings.count; i++) {
		if (config_set_text(c, CONFIG_FLAG, a->settings.items[i], &e) ==
		    0)
			continue;
		r = buf_printf(errors, "sallyport: %s\n", e.text) == -ENOMEM
			? -ENOMEM
			: -EINVAL;
	}
	return r;
}

int
options_load(const struct options *a, struct config *c)
{
	struct err e;
	scoped_buf errors;
	int r;

	buf_init(&errors, CONFIG_ERRORS_MAX);
	r = options_read(a, c, &errors);
	if (errors.len > 0)
		(void)fwrite(errors.data, 1, errors.len, stderr);
	if (r == -ENOMEM)
		options_complain("out of memory");
	if (r == 0) {
		r = config_finish(c, &e);
		if (r < 0)
			options_complain(e.text);
	}
	return r;
}

void
options_done(struct options *a)
{
	list_clear(&a->settings);
}
