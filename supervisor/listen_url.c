#include "supervisor/listen_url.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#define SCHEME "ws://"

/* Copy the address part of "IP:PORT" or "[IP]:PORT" to host and return where
 * the port begins, or NULL if text has neither form. */
static const char *
split(const char *text, char host[INET6_ADDRSTRLEN], bool *v6)
{
	const char *end;
	size_t len;

	*v6 = text[0] == '[';
	text += *v6;
	end = strchr(text, *v6 ? ']' : ':');
	if (end == NULL)
		return NULL;
	len = (size_t)(end - text);
	if (len >= INET6_ADDRSTRLEN)
		return NULL;
	memcpy(host, text, len);
	host[len] = '\0';
	end += *v6;
	return *end == ':' ? end + 1 : NULL;
}

static bool
parse_address(const char *host, in_port_t port, bool v6, struct listen_url *u)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&u->addr;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&u->addr;

	if (v6) {
		u->len = sizeof *in6;
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		return inet_pton(AF_INET6, host, &in6->sin6_addr) == 1;
	}
	u->len = sizeof *in;
	in->sin_family = AF_INET;
	in->sin_port = port;
	return inet_pton(AF_INET, host, &in->sin_addr) == 1;
}

int
listen_url_parse(const char *text, struct listen_url *out, struct err *e)
{
	const char *want = "is not ws://IP:PORT with a numeric address";
	struct listen_url u = {0};
	char host[INET6_ADDRSTRLEN];
	const char *port_text;
	uint64_t port;
	bool v6;

	if (strncmp(text, SCHEME, strlen(SCHEME)) != 0)
		return err_set(e, EINVAL, "\"%.64s\" %s", text, want);
	port_text = split(text + strlen(SCHEME), host, &v6);
	if (port_text == NULL)
		return err_set(e, EINVAL, "\"%.64s\" %s", text, want);
	if (num_parse_u64(port_text, 0, UINT16_MAX, &port) < 0)
		return err_set(e, EINVAL, "\"%.64s\": no port of 0..65535",
		    text);
	if (!parse_address(host, htons((uint16_t)port), v6, &u))
		return err_set(e, EINVAL, "\"%.64s\" %s", text, want);
	*out = u;
	return 0;
}

bool
listen_url_is_loopback(const struct listen_url *u)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&u->addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&u->addr;

	if (u->addr.ss_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	return ntohl(in->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

int
listen_url_put_host(const struct listen_url *u, struct buf *out)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)&u->addr;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&u->addr;
	char ip[INET6_ADDRSTRLEN];

	if (u->addr.ss_family == AF_INET6) {
		(void)inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof ip);
		return buf_printf(out, "[%s]:%u", ip,
		    (unsigned int)ntohs(in6->sin6_port));
	}
	(void)inet_ntop(AF_INET, &in->sin_addr, ip, sizeof ip);
	return buf_printf(out, "%s:%u", ip, (unsigned int)ntohs(in->sin_port));
}

int
listen_url_tell(int fd, const char *host, const char *path)
{
	char line[512];
	int n = snprintf(line, sizeof line, "ws://%s%s\n", host, path);
	ssize_t done = write(fd, line, (size_t)n);

	explicit_bzero(line, sizeof line);
	return done == n ? 0 : -EIO;
}
