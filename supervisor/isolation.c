#include "supervisor/isolation.h"

#include <errno.h>

#include "base/log.h"

enum isolation
isolation_of(const struct config_backend *b)
{
	if (config_backend_text(b, BACKEND_INSPECT)[0] != '\0')
		return ISOLATION_UNKNOWN;
	return b->isolated == BACKEND_ISOLATED_TRUE ? ISOLATION_YES
						    : ISOLATION_NO;
}

int
isolation_take(enum isolation *i, const struct msg_exec_inspected *m,
    struct err *e)
{
	if (*i != ISOLATION_UNKNOWN)
		return err_set(e, EPROTO, "a verdict nobody asked for");
	if (m->failed != 0)
		return err_set(e, EREMOTEIO,
		    "%.*s; backend.isolated = true or false does without it",
		    m->text.len > 120 ? 120 : (int)m->text.len,
		    (const char *)m->text.data);
	*i = m->isolated != 0 ? ISOLATION_YES : ISOLATION_NO;
	log_info("backend_inspected isolated=%s",
	    m->isolated != 0 ? "true" : "false");
	return 0;
}
