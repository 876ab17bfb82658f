/* Looking for a process by what /proc says. */
#ifndef SUPERVISOR_POLICY_FIND_H
#define SUPERVISOR_POLICY_FIND_H

#include <sys/types.h>

/* A descendant of ancestor that stands still by a signal; 0: there is none. */
pid_t policy_find_stopped(pid_t ancestor);

#endif
