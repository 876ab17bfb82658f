#include "http/url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/num.h"

static void
free_part(char **part)
{
	curl_free(*part);
	*part = NULL;
}

#define scoped_part __attribute__((cleanup(free_part))) char

static int
invalid(struct err *e, const char *what)
{
	return err_set(e, EINVAL, "%s", what);
}

/* The length of the scheme that text begins with; 0: there is none. */
static size_t
scheme_length(const char *text)
{
	size_t len = 0;

	if (!isalpha((unsigned char)text[0]))
		return 0;
	while (isalnum((unsigned char)text[len]) ||
	       (text[len] != '\0' && strchr("+-.", text[len]) != NULL))
		len++;
	return text[len] == ':' ? len : 0;
}

static int
check_scheme(const char *text, bool relative, struct err *e)
{
	size_t len = scheme_length(text);
	char scheme[33] = "";

	if (len == 0)
		return relative ? 0 : invalid(e, "relative URL without a base");
	for (size_t i = 0; i < len && i < sizeof scheme - 1; i++)
		scheme[i] = (char)tolower((unsigned char)text[i]);
	if (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0)
		return 0;
	return err_set(e, EPROTONOSUPPORT, "%s", scheme);
}

static int
complain(CURLUcode code, struct err *e)
{
	switch ((int)code) {
	case CURLUE_OK:
		return 0;
	case CURLUE_OUT_OF_MEMORY:
		return err_set(e, ENOMEM, "out of memory");
	case CURLUE_NO_HOST:
		return invalid(e, "empty host");
	case CURLUE_BAD_PORT_NUMBER:
		return invalid(e, "invalid port number");
	default:
		return invalid(e, curl_url_strerror(code));
	}
}

static int
take_port(CURLU *parts, uint16_t *out, struct err *e)
{
	scoped_part *text = NULL;
	uint64_t v;

	if (curl_url_get(parts, CURLUPART_PORT, &text, CURLU_DEFAULT_PORT) !=
		CURLUE_OK ||
	    num_parse_u64(text, 1, UINT16_MAX, &v) < 0)
		return invalid(e, "invalid port number");
	*out = (uint16_t)v;
	return 0;
}

/* Credentials are kept apart: libcurl gets them only for their origin. */
static int
take_credentials(struct url *u, struct err *e)
{
	static const CURLUPart parts[] = {CURLUPART_USER, CURLUPART_PASSWORD,
	    CURLUPART_OPTIONS, CURLUPART_FRAGMENT};
	CURLUcode code = CURLUE_OK;

	(void)curl_url_get(u->parts, CURLUPART_USER, &u->user, CURLU_URLDECODE);
	(void)curl_url_get(u->parts, CURLUPART_PASSWORD, &u->password,
	    CURLU_URLDECODE);
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (code == CURLUE_OK)
			code = curl_url_set(u->parts, parts[i], NULL, 0);
	return complain(code, e);
}

static int
take_host(struct url *u, struct err *e)
{
	scoped_part *host = NULL, *zone = NULL;
	char text[HTTP_NAME_MAX + 2];
	uint16_t port;
	int r;

	if (curl_url_get(u->parts, CURLUPART_HOST, &host, CURLU_PUNYCODE) !=
	    CURLUE_OK)
		return invalid(e, "invalid international domain name");
	if (curl_url_get(u->parts, CURLUPART_ZONEID, &zone, 0) == CURLUE_OK)
		return invalid(e, "invalid IPv6 address");
	r = take_port(u->parts, &port, e);
	if (r < 0)
		return r;
	if (target_parse(host, port, &u->target) < 0)
		return invalid(e, "invalid host");
	(void)snprintf(text, sizeof text,
	    u->target.literal && u->target.address.len == 16 ? "[%s]" : "%s",
	    u->target.host);
	return complain(curl_url_set(u->parts, CURLUPART_HOST, text, 0), e);
}

static int
take_text(struct url *u, struct err *e)
{
	scoped_part *scheme = NULL;
	CURLUcode code = curl_url_get(u->parts, CURLUPART_SCHEME, &scheme, 0);

	if (code == CURLUE_OK)
		code = curl_url_get(u->parts, CURLUPART_URL, &u->text, 0);
	if (code != CURLUE_OK)
		return complain(code, e);
	u->https = strcmp(scheme, "https") == 0;
	return 0;
}

int
url_parse(const char *text, const struct url *base, struct url *out,
    struct err *e)
{
	struct url *u = out;
	int r;

	*u = (struct url){0};
	r = check_scheme(text, base != NULL, e);
	if (r < 0)
		return r;
	u->parts = base != NULL ? curl_url_dup(base->parts) : curl_url();
	if (u->parts == NULL)
		return err_set(e, ENOMEM, "out of memory");
	r = complain(curl_url_set(u->parts, CURLUPART_URL, text,
			 CURLU_URLENCODE),
	    e);
	if (r == 0)
		r = take_credentials(u, e);
	if (r == 0)
		r = take_host(u, e);
	return r < 0 ? r : take_text(u, e);
}

void
url_done(struct url *u)
{
	curl_url_cleanup(u->parts);
	curl_free(u->text);
	curl_free(u->user);
	if (u->password != NULL)
		explicit_bzero(u->password, strlen(u->password));
	curl_free(u->password);
	*u = (struct url){0};
}

bool
url_same_origin(const struct url *a, const struct url *b)
{
	return a->https == b->https && a->target.port == b->target.port &&
	       strcmp(a->target.host, b->target.host) == 0;
}

void
url_warm_up(void)
{
	/* "bücher" */
	static const char text[] = "http://b\xc3\xbc"
				   "cher.example/";
	struct err e = {0};
	struct url u;

	if (url_parse(text, NULL, &u, &e) < 0)
		log_warn("http_no_international_names reason=\"%s\"", e.text);
	url_done(&u);
}
