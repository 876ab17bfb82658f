/* The command line of serve, and of what tells what serve would do. */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include "supervisor/config.h"

struct options {
	struct list settings;		    /* "section.key=value", in order */
	const char *config_file, *url_file; /* NULL: none */
	bool help, help_settings;
	int first; /* of argv: the first operand */
};

/*
 * Parse the options of argv; what follows them is refused unless operands may
 * come. Returns 0, or a negative errno after a complaint on standard error. a
 * is to be released with options_done in both cases.
 */
must_use int options_parse(struct options *a, int argc, char **argv,
    bool operands);
void options_done(struct options *a);

/*
 * Fill c, which is to be released with config_done in any case, with all that
 * a says. Every mistake of files and command line is told on standard error in
 * one run. Returns 0, -EINVAL or -ENOMEM.
 */
must_use int options_load(const struct options *a, struct config *c);

/*
 * The same without config_finish, and with a line for each mistake in errors;
 * what it has no room for is not told.
 */
must_use int options_read(const struct options *a, struct config *c,
    struct buf *errors);

/* "sallyport: TEXT" on standard error. */
void options_complain(const char *text);

#endif
