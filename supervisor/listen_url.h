/* The address to listen on, as ws://IP:PORT. */
#ifndef SUPERVISOR_LISTEN_URL_H
#define SUPERVISOR_LISTEN_URL_H

#include <stdbool.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"

struct listen_url {
	struct sockaddr_storage addr; /* AF_INET or AF_INET6 */
	socklen_t len;
};

/*
 * Parse "ws://127.0.0.1:0" or "ws://[::1]:8080": a numeric address and a
 * decimal port, nothing after it. No name is looked up. Returns 0 or -EINVAL
 * with e; out is written only on success.
 */
must_use int listen_url_parse(const char *text, struct listen_url *out,
    struct err *e);

/* Whether only this machine can reach the address. */
bool listen_url_is_loopback(const struct listen_url *u);

/* Append "IP:PORT", an IPv6 address in brackets. -EMSGSIZE, -ENOMEM. */
must_use int listen_url_put_host(const struct listen_url *u, struct buf *out);

/* Write to fd the one line that says where the server is; path, which begins
 * with a slash, is a secret. 0 or -EIO. */
must_use int listen_url_tell(int fd, const char *host, const char *path);

#endif
