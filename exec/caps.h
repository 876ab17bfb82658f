/* The capabilities that exec keeps, each for a reason. */
#ifndef EXEC_CAPS_H
#define EXEC_CAPS_H

#include "base/err.h"
#include "exec/config.h"

/*
 * Give up every capability, of the bounding set too, but those that this
 * configuration needs; userns is whether the host has user namespaces. 0, or a
 * negative errno with e.
 */
must_use int caps_keep(const struct exec_config *c, bool userns, struct err *e);

#endif
