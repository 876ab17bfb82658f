/* The capabilities that exec keeps, each for a reason. */
#ifndef EXEC_CAPS_H
#define EXEC_CAPS_H

#include "base/err.h"
#include "exec/probe.h"

/*
 * Give up every capability, of the bounding set too, but those that this
 * configuration needs on this host, whose namespaces have been tried. 0, or a
 * negative errno with e.
 */
must_use int caps_keep(const struct exec_config *c, const struct probe *p,
    struct err *e);

#endif
