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
stage_words(unsigned int stage)
{
	return stage < STAGE_COUNT ? words[stage] : "?";
}
