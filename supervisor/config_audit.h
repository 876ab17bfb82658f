/* [audit] of the configuration. */
#ifndef SUPERVISOR_CONFIG_AUDIT_H
#define SUPERVISOR_CONFIG_AUDIT_H

#include <stdint.h>

#include "base/err.h"

enum audit_on_error { AUDIT_CONTINUE, AUDIT_STOP };

/* How much of a program's arguments is told. */
enum audit_argv { AUDIT_ARGV_NONE, AUDIT_ARGV_HASH, AUDIT_ARGV_FULL };

struct config_audit {
	char *file;	    /* heap; NULL: none */
	char *socket;	    /* heap; NULL: none */
	uint32_t to_stderr; /* 0 or 1 */
	uint32_t on_error;  /* enum audit_on_error */
	uint32_t rate;	    /* lines a second of a session; 0: no limit */
	uint32_t burst;	    /* lines */
	uint32_t argv;	    /* enum audit_argv */
	uint32_t chain;	    /* 0 or 1 */
	char *key_file;	    /* heap; NULL: a chain without a key */
};

/* One output at most; a chain has a file, a key a chain. Returns 0 or -EINVAL
 * with e. */
int config_audit_check(const struct config_audit *c, struct err *e);
void config_audit_done(struct config_audit *c);

#endif
