/* From exec's image to sallyport-http's. */
#ifndef EXEC_HTTP_START_H
#define EXEC_HTTP_START_H

#include "base/cleanup.h"

/*
 * Start the executable binary_fd with channel_fd as its descriptor 3, beside
 * /dev/null and the log, nothing else, and an environment of TZ alone. It
 * confines itself, with what exec has of rights. Returns its pidfd, or a
 * negative errno.
 */
must_use int http_start(int binary_fd, int channel_fd);

#endif
