#include <errno.h>

#include "base/log.h"
#include "exec/host.h"
#include "exec/start.h"

int
main(void)
{
	struct exec_config *config = config_new();
	struct channel *supervisor;
	struct err e = {0};
	int r = host_settle(&e);

	supervisor =
	    channel_new(ROLE_FD_SUPERVISOR, ROLE_EXEC, ROLE_SUPERVISOR);
	if (r == 0 && (supervisor == NULL || config == NULL))
		r = -ENOMEM;
	if (r == 0)
		r = start_serve(supervisor, config, &e);
	if (r < 0)
		log_error("exec_failed errno=%d %s", -r, e.text);
	config_drop(config);
	return r < 0;
}
