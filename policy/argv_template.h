/*
 * A command as an administrator writes it into the configuration, and the
 * argument vector that it becomes. Pure: text and values in, a list out.
 *
 * Words are split at blanks; "..." keeps blanks in a word, and \" and \\ in it
 * are the character itself. In a word {NAME} is replaced:
 *
 *   {cwd} {id} {tag} {target} {signal} {status} {exit_code} {timed_out}
 *              the value, wherever in a word
 *   {command}  the program with its directory and environment as one line for
 *              sh(1), wherever in a word
 *   {argv}     a whole word: the program and its arguments, a word each
 *   {env}      a whole word: NAME=VALUE words; {env:-e} sets -e before each
 *   {tty:-t}   a whole word: -t if the program has a terminal, else nothing
 *   {stdin:-i} a whole word: -i if something can be written to it
 *   {{         a brace
 */
#ifndef POLICY_ARGV_TEMPLATE_H
#define POLICY_ARGV_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Words that a template may have before anything is replaced. */
#define ARGV_TEMPLATE_WORDS_MAX 256
/* Bytes of one. */
#define ARGV_TEMPLATE_MAX	4096

enum argv_template_name {
	ARGV_TEMPLATE_CWD,
	ARGV_TEMPLATE_ID,
	ARGV_TEMPLATE_TAG,
	ARGV_TEMPLATE_TARGET,
	ARGV_TEMPLATE_SIGNAL,
	ARGV_TEMPLATE_STATUS,
	ARGV_TEMPLATE_EXIT_CODE,
	ARGV_TEMPLATE_TIMED_OUT,
	ARGV_TEMPLATE_SCALARS,
	ARGV_TEMPLATE_COMMAND = ARGV_TEMPLATE_SCALARS,
	ARGV_TEMPLATE_ARGV,
	ARGV_TEMPLATE_ENV,
	ARGV_TEMPLATE_TTY,
	ARGV_TEMPLATE_STDIN,
	ARGV_TEMPLATE_NAMES,
};

/* The set of one name, to be joined with |. */
#define ARGV_TEMPLATE_BIT(name) (1u << (name))

/* What the commands of a backend may have. */
#define BACKEND_ALWAYS                                                         \
	(ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_ID) |                                 \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_TAG) |                             \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_TARGET))
#define BACKEND_START_NAMES                                                    \
	(BACKEND_ALWAYS | ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_CWD) |               \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_COMMAND) |                         \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_ARGV) |                            \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_ENV) |                             \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_TTY) |                             \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_STDIN))
#define BACKEND_SIGNAL_NAMES                                                   \
	(BACKEND_ALWAYS | ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_SIGNAL))
#define BACKEND_TERMINATE_NAMES BACKEND_ALWAYS
#define BACKEND_PREPARE_NAMES	BACKEND_ALWAYS
#define BACKEND_INSPECT_NAMES	ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_TARGET)
#define BACKEND_FINALIZE_NAMES                                                 \
	(BACKEND_ALWAYS | ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_STATUS) |            \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_EXIT_CODE) |                       \
	    ARGV_TEMPLATE_BIT(ARGV_TEMPLATE_TIMED_OUT))

/* All borrowed; no NUL byte in any. */
struct argv_template_values {
	struct bytes scalar[ARGV_TEMPLATE_SCALARS];
	struct bytes argv; /* list, at least one string if it is asked for */
	struct bytes env;  /* list of NAME=VALUE */
	bool tty, stdin_open;
};

/*
 * Check text: quotes closed, names known, whole words where they must be, only
 * names of the set allowed, at least one word, the first of which holds no
 * name. *used is the set of the names in it. Returns 0 or -EINVAL with e.
 */
must_use int argv_template_check(struct bytes text, uint32_t allowed,
    uint32_t *used, struct err *e);

/*
 * Append to out the list that text, which was checked, becomes. Returns 0;
 * -EINVAL with e if the program or a variable begins with '-', which sh(1),
 * env(1) and most wrappers would take for an option of theirs; -EMSGSIZE if out
 * would pass its maximum; -ENOMEM. out is unspecified on failure.
 */
must_use int argv_template_expand(struct bytes text,
    const struct argv_template_values *v, struct buf *out, struct err *e);

#endif
