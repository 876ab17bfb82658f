/* The host's network: HOST_TCP and HOST_UDP are ports on 127.0.0.1, HOST_NAME
 * is an abstract socket, HOST_SOCKET a path socket, all of the test's. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/sandbox/escape/attempt.h"

static struct sockaddr_in
host_port(const char *name)
{
	unsigned long port = strtoul(attempt_told(name), NULL, 10);

	return (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)port),
	    .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static enum outcome
tcp_to_host(void)
{
	struct sockaddr_in to = host_port("HOST_TCP");
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return escaped_if(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
}

/* A connected socket learns that nobody listens. */
static enum outcome
udp_to_host(void)
{
	struct sockaddr_in to = host_port("HOST_UDP");
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
		return CONTAINED;
	(void)send(fd, "x", 1, MSG_NOSIGNAL);
	(void)usleep(20000);
	return escaped_if(send(fd, "x", 1, MSG_NOSIGNAL) == 1);
}

static enum outcome
unix_to(const char *name, bool abstract)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = strlen(name);

	if (len == 0 || len >= sizeof to.sun_path)
		return NOTHING_TO_TRY;
	memcpy(to.sun_path + abstract, name, len);
	return escaped_if(
	    connect(fd, (struct sockaddr *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
			    1)) == 0);
}

static enum outcome
abstract_socket_of_host(void)
{
	return unix_to(attempt_told("HOST_NAME"), true);
}

static enum outcome
path_socket_of_host(void)
{
	return unix_to(attempt_told("HOST_SOCKET"), false);
}

static enum outcome
foreign_address(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(53)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
	/* Finds a route, and sends nothing. */
	return escaped_if(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
}

static enum outcome
other_interface(void)
{
	struct ifaddrs *all, *i;
	bool found = false;

	if (getifaddrs(&all) < 0)
		return CONTAINED;
	for (i = all; i != NULL; i = i->ifa_next)
		found |= strcmp(i->ifa_name, "lo") != 0;
	freeifaddrs(all);
	return escaped_if(found);
}

const struct attempt attempts_network[] = {
    {"TCP to the host", tcp_to_host},
    {"UDP to the host", udp_to_host},
    {"an abstract socket of the host", abstract_socket_of_host},
    {"a path socket of the host", path_socket_of_host},
    {"a foreign address", foreign_address},
    {"an interface of the host", other_interface},
    {NULL, NULL},
};
