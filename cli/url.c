#include "cli/url.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"

static const char scheme[] = "ws://";

/* A blank or control byte would end the request line that it is sent in. */
static bool
is_printable(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

static int
parse_port(const char *text, uint16_t *port, struct err *e)
{
	uint64_t value;

	if (num_parse_u64(text, 1, UINT16_MAX, &value) < 0)
		return err_set(e, EINVAL, "url: the port is not 1..65535");
	*port = (uint16_t)value;
	return 0;
}

/* Split "[v6]:port", "host:port" or "host". text is writable. */
static int
parse_authority(char *text, struct url *u, struct err *e)
{
	bool literal = text[0] == '[';
	char *host = literal ? text + 1 : text;
	char *end = literal ? strchr(host, ']') : strchrnul(host, ':');
	char after;

	if (end == NULL)
		return err_set(e, EINVAL, "url: a bracket is not closed");
	after = literal ? end[1] : *end;
	if (after != '\0' && after != ':')
		return err_set(e, EINVAL, "url: bad text after the host");
	*end = '\0';
	if (*host == '\0' || strlen(host) >= sizeof u->host)
		return err_set(e, EINVAL, "url: the host is empty or too long");
	if (strchr(host, '@') != NULL)
		return err_set(e, EINVAL, "url: a user name is not used");
	u->port = URL_PORT;
	if (after == ':') {
		int r = parse_port(end + (literal ? 2 : 1), &u->port, e);

		if (r < 0)
			return r;
	}
	memcpy(u->host, host, strlen(host) + 1);
	(void)snprintf(u->authority, sizeof u->authority,
	    literal ? "[%s]:%u" : "%s:%u", host, (unsigned int)u->port);
	return 0;
}

int
url_parse(const char *text, struct url *u, struct err *e)
{
	struct url got;
	char authority[sizeof got.authority];
	const char *rest;
	size_t len;
	int r;

	if (strlen(text) >= URL_MAX || !is_printable(text))
		return err_set(e, EINVAL, "url: too long, or blanks in it");
	if (strncasecmp(text, scheme, strlen(scheme)) != 0)
		return err_set(e, EINVAL, "url: must begin with ws://");
	text += strlen(scheme);
	len = strcspn(text, "/?#");
	rest = text + len;
	if (len >= sizeof authority)
		return err_set(e, EINVAL, "url: the host is too long");
	if (strchr(rest, '#') != NULL)
		return err_set(e, EINVAL, "url: a fragment is not used");
	(void)snprintf(authority, sizeof authority, "%.*s", (int)len, text);
	(void)snprintf(got.path, sizeof got.path, "%s%s",
	    *rest == '/' ? "" : "/", rest);
	r = parse_authority(authority, &got, e);
	if (r == 0)
		*u = got;
	return r;
}
