#include "privsep/role.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/limits.h"

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
	    [END_CPU_TOTAL] = "out of CPU time: "
			      "limits.child_cpu_time_total is used up",
	    [END_WALL_TIME] = "out of time: limits.child_wall_time is over",
	    [END_PROCESSES] = "out of processes: "
			      "limits.child_processes_total or "
			      "limits.session_processes_total was reached",
	    [END_BACKEND] = "the backend's command failed before it came to "
			    "the program",
	};

	return reason < END_REASONS ? reasons[reason] : NULL;
}

void
stage_hint(unsigned int stage, unsigned int errnum, char out[STAGE_HINT_MAX])
{
	bool bound = errnum == E2BIG || errnum == ETIMEDOUT;

	out[0] = '\0';
	if (stage == STAGE_VIEW && errnum == E2BIG)
		(void)snprintf(out, STAGE_HINT_MAX,
		    "; a sandbox takes at most %d mounts", VIEW_SOURCES_MAX);
	else if (stage == STAGE_GLOBS && bound)
		(void)snprintf(out, STAGE_HINT_MAX,
		    "; for denied patterns at most %d files are looked "
		    "through, %d levels deep, in %d ms, and %d mounts made",
		    GLOB_ENTRIES_MAX, GLOB_DEPTH_MAX, GLOB_TIME_MAX_MS,
		    GLOB_MOUNTS_MAX);
	else if (stage == STAGE_GLOBS && errnum == ESTALE)
		(void)snprintf(out, STAGE_HINT_MAX,
		    "; a directory with matches was moved: try again");
}

const char *
stage_words(unsigned int stage)
{
	return stage < STAGE_COUNT ? words[stage] : "?";
}
