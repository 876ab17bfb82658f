/* An absolute http or https URL, and what of it is judged. */
#ifndef HTTP_URL_H
#define HTTP_URL_H

#include <curl/curl.h>

#include "base/err.h"
#include "privsep/target.h"

/* All owned. Zero bytes are none. */
struct url {
	CURLU *parts; /* without credentials and fragment */
	char *text;   /* the same, to be shown */
	bool https;
	struct target target;
	char *user, *password; /* decoded; NULL: none */
};

/*
 * Parse text, which may be relative to base (NULL: it may not). The host is
 * put into the one form that target_parse gives it, international names in
 * ASCII. Returns 0; -EPROTONOSUPPORT with the scheme in e; -EINVAL with e;
 * -ENOMEM. Release out with url_done in any case.
 */
must_use int url_parse(const char *text, const struct url *base,
    struct url *out, struct err *e);
void url_done(struct url *u);

/* Whether both have the same scheme, host and port. */
bool url_same_origin(const struct url *a, const struct url *b);

/* Let libcurl load what it needs for international names. */
void url_warm_up(void);

#endif
