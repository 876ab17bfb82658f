/* The host's network and its sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

#define RUN(name)                                                              \
	static void name(const struct attempt *a __attribute__((unused)),      \
	    const struct world *w __attribute__((unused)), struct result *r)

#define ANSWER_MS 300

static bool
is_address(struct result *r, const char *address)
{
	if (address[0] != '\0')
		return true;
	attempt_say(r, CANNOT_TELL, "the host has loopback alone");
	return false;
}

static void
tcp(struct result *r, const char *address, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	    .sin_port = htons((unsigned short)port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, address, &to.sin_addr);
	(void)attempt_tried(r,
	    fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to),
	    address);
}

/* The host's end answers what reaches it. */
static void
udp(struct result *r, const char *address, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	    .sin_port = htons((unsigned short)port)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;

	(void)inet_pton(AF_INET, address, &to.sin_addr);
	if (sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof to) < 0)
		(void)attempt_tried(r, -1, address);
	else if (poll(&p, 1, ANSWER_MS) == 1 && read(fd, &byte, 1) == 1)
		attempt_say(r, ESCAPED, "%s answers", address);
	else
		attempt_say(r, CONTAINED, "%s does not answer", address);
}

RUN(tcp_loopback)
{
	tcp(r, "127.0.0.1", w->tcp);
}

RUN(tcp_other_loopback)
{
	tcp(r, "127.0.0.2", w->tcp);
}

RUN(tcp_address)
{
	if (is_address(r, w->address))
		tcp(r, w->address, w->tcp);
}

RUN(udp_loopback)
{
	udp(r, "127.0.0.1", w->udp);
}

RUN(udp_address)
{
	if (is_address(r, w->address))
		udp(r, w->address, w->udp);
}

/* As a resolver would: a name server on the host's own address. */
RUN(dns)
{
	static const char query[] = "\x12\x34\x01\0\0\x01\0\0\0\0\0\0"
				    "\x07"
				    "example"
				    "\x07"
				    "invalid\0\0\x01\0\x01";
	struct sockaddr_in to = {.sin_family = AF_INET,
	    .sin_port = htons((unsigned short)w->udp)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	(void)inet_pton(AF_INET,
	    w->address[0] != '\0' ? w->address : "127.0.0.1", &to.sin_addr);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 ||
	    send(fd, query, sizeof query - 1, 0) < 0)
		(void)attempt_tried(r, -1, "query");
	else if (poll(&p, 1, ANSWER_MS) == 1 &&
		 (p.revents & (POLLIN | POLLERR)) == POLLIN)
		attempt_say(r, ESCAPED, "the query is answered");
	else
		attempt_say(r, CONTAINED, "no answer");
}

/* Whether there is a way out. Nothing is sent. */
RUN(route)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int got;

	(void)inet_pton(AF_INET, "198.51.100.1", &to.sin_addr);
	got = connect(fd, (struct sockaddr *)&to, sizeof to);
	if (got < 0 && w->outside)
		attempt_say(r, CANNOT_TELL, "the host has none either");
	else
		(void)attempt_tried(r, got, "a route to 198.51.100.1");
}

RUN(interfaces)
{
	struct if_nameindex *list = if_nameindex();

	attempt_say(r, CONTAINED, "loopback alone");
	for (struct if_nameindex *i = list; i != NULL && i->if_index != 0; i++)
		if (strcmp(i->if_name, "lo") != 0)
			attempt_say(r, ESCAPED, "%s", i->if_name);
	if (w->outside && r->verdict == CONTAINED)
		attempt_say(r, CANNOT_TELL, "the host has loopback alone");
	if_freenameindex(list);
}

static void
local(struct result *r, int type, const char *path, bool abstract)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	size_t len = strlen(path);

	if (len == 0 || len + 1 >= sizeof to.sun_path) {
		attempt_say(r, CANNOT_TELL, "no such socket was made");
		return;
	}
	(void)memcpy(to.sun_path + (abstract ? 1 : 0), path, len);
	len += offsetof(struct sockaddr_un, sun_path) + 1;
	(void)attempt_tried(r,
	    fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, (socklen_t)len),
	    fd < 0 ? "socket" : path);
}

RUN(unix_abstract)
{
	local(r, SOCK_STREAM, w->abstract, true);
}

RUN(unix_path)
{
	local(r, SOCK_STREAM, attempt_path(w->host, "sock"), false);
}

RUN(unix_run)
{
	local(r, SOCK_STREAM, w->run, false);
}

RUN(unix_later)
{
	local(r, SOCK_STREAM, w->later, false);
}

/* Through a directory that a running process of ours keeps open. */
RUN(unix_by_fd)
{
	char path[512];

	(void)snprintf(path, sizeof path, "/proc/self/root%s/sock", w->host);
	if (strlen(path) > 100)
		attempt_say(r, CANNOT_TELL, "the path is too long");
	else
		local(r, SOCK_STREAM, path, false);
}

const struct attempt attempts_network[] = {
    {"tcp-loopback", "network namespace", IN_ALL, .run = tcp_loopback},
    {"tcp-other-loopback", "network namespace", IN_ALL,
	.run = tcp_other_loopback},
    {"tcp-address", "network namespace", IN_ALL, .run = tcp_address},
    {"udp-loopback", "network namespace", IN_ALL, .run = udp_loopback},
    {"udp-address", "network namespace", IN_ALL, .run = udp_address},
    {"dns", "network namespace", IN_ALL, .run = dns},
    {"route", "network namespace", IN_ALL, .run = route},
    {"interfaces", "network namespace", IN_ALL, .run = interfaces},
    {"unix-abstract", "network namespace, Landlock", IN_ALL,
	.run = unix_abstract},
    {"unix-path", "view: sockets", IN_ALL, .run = unix_path},
    {"unix-path-by-root", "view: sockets", IN_ALL, .run = unix_by_fd},
    {"unix-run", "view: /run", IN_ALL, .run = unix_run},
    {"unix-made-later", "view: /tmp", IN_ALL, .run = unix_later},
    {0},
};
