#include "supervisor/config_audit.h"

#include <errno.h>
#include <stdlib.h>

int
config_audit_check(const struct config_audit *c, struct err *e)
{
	int outputs =
	    (c->file != NULL) + (c->socket != NULL) + (c->to_stderr != 0);

	if (outputs > 1)
		return err_set(e, EINVAL,
		    "audit: more than one of file, socket and stderr");
	if (c->chain && c->file == NULL)
		return err_set(e, EINVAL, "audit.chain: needs audit.file");
	if (c->key_file != NULL && !c->chain)
		return err_set(e, EINVAL,
		    "audit.key_file: needs audit.chain = true");
	return 0;
}

void
config_audit_done(struct config_audit *c)
{
	free(c->file);
	free(c->socket);
	free(c->key_file);
	c->file = c->socket = c->key_file = NULL;
}
