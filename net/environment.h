/* environment/info and environment/status. */
#ifndef NET_ENVIRONMENT_H
#define NET_ENVIRONMENT_H

#include "net/connection.h"
#include "net/jsonw.h"

/* Write the environment/info object. */
void environment_info_write(struct jsonw *w, const struct connection *c);

#endif
