/* Methods and header fields of requests: validation, and what of them goes
 * along with a hop. */
#ifndef HTTP_FIELDS_H
#define HTTP_FIELDS_H

#include <curl/curl.h>

#include "http/config.h"

/* Room for the words of a refusal: names are cut to fit. */
#define FIELDS_TEXT_MAX 512

/* A token: RFC 9110 section 5.6.2, not empty. */
bool field_is_token(struct bytes s);
/* Whether s may stand after the colon: no control characters but the tab. */
bool field_is_value(struct bytes s);
/* Whether s is visible ASCII, with blanks and tabs. */
bool field_is_ascii(struct bytes s);

/*
 * Check the packed triples name, value, variable of a request and append
 * name, value to out, the value of the variable, if one is named, behind.
 * Returns 0; -EINVAL with the words for the client in text; -EPROTO if
 * triples is malformed; -EMSGSIZE; -ENOMEM.
 */
must_use int fields_take(const struct config *c, struct bytes triples,
    struct buf *out, char text[FIELDS_TEXT_MAX]);

/* Whether pairs has a field of that name. */
bool fields_have(struct bytes pairs, const char *name);

/* What a hop sends of them. */
struct fields_scope {
	bool crossed; /* the origin is not the client's: only harmless ones */
	bool no_body; /* the body was dropped: nothing that describes it */
};

/*
 * Append the fields (pairs) to *list in libcurl's form. Those that frame the
 * message are libcurl's own. Returns 0 or -ENOMEM.
 */
must_use int fields_list(struct bytes pairs, const struct fields_scope *scope,
    struct curl_slist **list);

#endif
