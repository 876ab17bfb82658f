#include "privsep/role.h"

#include <stddef.h>

static const char *const names[] = {
    [ROLE_SUPERVISOR] = "supervisor",
    [ROLE_NET] = "net",
    [ROLE_EXEC] = "exec",
    [ROLE_WORKER] = "worker",
    [ROLE_HTTP] = "http",
    [ROLE_ANY] = "any",
};

static const char *const words[STAGE_COUNT] = {
#define STAGE(name, text) [STAGE_##name] = text,
    STAGES(STAGE)
#undef STAGE
};

const char *
role_name(enum role role)
{
	return names[role];
}

const char *
end_reason_words(unsigned int reason)
{
	static const char *const reasons[END_REASONS] = {
	    [END_MEMORY] = "out of memory: ended by the kernel",
	    [END_CPU_TIME] = "out of CPU time: limits.child_cpu_time is used "
			     "up",
	};

	return reason < END_REASONS ? reasons[reason] : NULL;
}

const char *
stage_words(unsigned int stage)
{
	return stage < STAGE_COUNT ? words[stage] : "?";
}
