#include "cli/attach_target.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/un.h>

/* 127.1 is no literal here, and 127.example.test a name. */
static bool
is_loopback(const char *host)
{
	struct in_addr in;
	struct in6_addr in6;

	if (inet_pton(AF_INET, host, &in) == 1)
		return ntohl(in.s_addr) >> 24 == IN_LOOPBACKNET;
	if (inet_pton(AF_INET6, host, &in6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&in6);
	return strcasecmp(host, "localhost") == 0;
}

static int
parse_ws(const char *text, struct url *u, struct err *e)
{
	int r = url_parse(text, u, e);

	if (r < 0)
		return r;
	if (!is_loopback(u->host))
		return err_set(e, EACCES,
		    "the app-server is not on this host: of names and "
		    "addresses only localhost, ::1 and 127.x are");
	if (strcasecmp(u->host, "localhost") == 0)
		memcpy(u->host, "127.0.0.1", sizeof "127.0.0.1");
	return 0;
}

/* Nothing is encrypted on loopback; and where it could be meant, say which of
 * the two is wrong. */
static int
refuse_tls(const char *text, struct err *e)
{
	char plain[URL_MAX];
	struct url u;
	int r;

	(void)snprintf(plain, sizeof plain, "ws://%s", text + strlen("wss://"));
	r = parse_ws(plain, &u, e);
	if (r < 0)
		return r;
	return err_set(e, EINVAL, "--app-server: on this host it is ws://");
}

static int
parse_unix(const char *path, struct url *u, struct err *e)
{
	scoped_free char *real = realpath(path, NULL);
	struct stat st;

	if (real == NULL || stat(real, &st) < 0)
		return err_errno(e, errno, "--app-server: the socket");
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, EINVAL, "--app-server: not a socket");
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(e, EACCES,
		    "the app-server's socket belongs to another user, %u",
		    st.st_uid);
	if (strlen(real) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
		return err_set(e, EINVAL,
		    "--app-server: the socket's path is too long");
	/* The plus sign tells the WebSocket library that it is a path. */
	*u = (struct url){.authority = "localhost", .path = "/"};
	(void)snprintf(u->host, sizeof u->host, "+%s", real);
	return 0;
}

int
attach_target_parse(const char *text, struct attach_target *t, struct err *e)
{
	struct attach_target got = {.kind = ATTACH_WS};
	int r = 0;

	if (strcmp(text, "stdio") == 0 || strcmp(text, "stdio://") == 0) {
		got.kind = ATTACH_STDIO;
	} else if (strncmp(text, "unix:", 5) == 0) {
		got.kind = ATTACH_UNIX;
		r = parse_unix(text + 5, &got.url, e);
	} else if (strncasecmp(text, "wss://", 6) == 0) {
		r = refuse_tls(text, e);
	} else if (strncasecmp(text, "ws://", 5) == 0) {
		r = parse_ws(text, &got.url, e);
	} else {
		r = err_set(e, EINVAL,
		    "--app-server: ws://HOST:PORT, unix:PATH or stdio");
	}
	if (r == 0)
		*t = got;
	return r;
}
