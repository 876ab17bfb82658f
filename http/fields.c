#include "http/fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "privsep/pack.h"

/* How the message is framed, and what would make it another protocol. */
static const char *const framing[] = {"content-length", "transfer-encoding",
    "upgrade", "http2-settings", "te", "trailer", NULL};
/* What another origin may see, as it says nothing of who asks. */
static const char *const harmless[] = {"accept", "accept-language",
    "accept-encoding", "user-agent", "content-type", NULL};
static const char *const of_body[] = {"content-type", "content-encoding",
    "content-language", "content-location", "digest", "expect", NULL};

static bool
is_one_of(struct bytes name, const char *const *names)
{
	for (; *names != NULL; names++)
		if (strlen(*names) == name.len &&
		    strncasecmp(*names, (const char *)name.data, name.len) == 0)
			return true;
	return false;
}

bool
field_is_token(struct bytes s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] >= 0x80 ||
		    (!isalnum(s.data[i]) &&
			(s.data[i] == 0 ||
			    strchr("!#$%&'*+-.^_`|~", s.data[i]) == NULL)))
			return false;
	return s.len > 0;
}

bool
field_is_value(struct bytes s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((s.data[i] < 0x20 && s.data[i] != '\t') ||
		    s.data[i] == 0x7f)
			return false;
	return true;
}

bool
field_is_ascii(struct bytes s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.data[i] >= 0x80)
			return false;
	return field_is_value(s);
}

static int
cut(struct bytes s)
{
	return s.len > 128 ? 128 : (int)s.len;
}

/* One field, its value already with that of the variable. */
static int
check(struct bytes name, struct bytes value, char text[FIELDS_TEXT_MAX])
{
	if (field_is_value(value))
		return 0;
	(void)snprintf(text, FIELDS_TEXT_MAX,
	    "http/request header value is invalid for %.*s: failed to parse "
	    "header value",
	    cut(name), (const char *)name.data);
	return -EINVAL;
}

static int
take(const struct config *c, const struct bytes triple[3], struct buf *out,
    char text[FIELDS_TEXT_MAX])
{
	struct bytes name = triple[0], variable = triple[2], added = {0};
	scoped_buf value = {.max = HTTP_HEADERS_MAX};
	int r;

	if (!field_is_token(name)) {
		(void)snprintf(text, FIELDS_TEXT_MAX,
		    "http/request header name is invalid: invalid HTTP header "
		    "name");
		return -EINVAL;
	}
	if (variable.len > 0)
		added = config_variable(c, variable);
	if (variable.len > 0 && added.data == NULL) {
		(void)snprintf(text, FIELDS_TEXT_MAX,
		    "http/request header %.*s requires executor environment "
		    "variable %.*s",
		    cut(name), (const char *)name.data, cut(variable),
		    (const char *)variable.data);
		return -EINVAL;
	}
	r = buf_put(&value, triple[1].data, triple[1].len);
	if (r == 0)
		r = buf_put(&value, added.data, added.len);
	if (r == 0)
		r = check(name, (struct bytes){value.data, value.len}, text);
	if (r == 0)
		r = buf_put_string(out, name.data, name.len);
	return r < 0 ? r : buf_put_string(out, value.data, value.len);
}

int
fields_take(const struct config *c, struct bytes triples, struct buf *out,
    char text[FIELDS_TEXT_MAX])
{
	struct bytes triple[3];
	struct reader r;
	size_t count;
	int rc = 0;

	if (!strings_check(triples, 3 * HTTP_FIELDS_MAX, HTTP_HEADERS_MAX,
		&count) ||
	    count % 3 != 0)
		return -EPROTO;
	reader_init(&r, triples.data, triples.len);
	while (rc == 0 && strings_next(&r, &triple[0]) &&
	       strings_next(&r, &triple[1]) && strings_next(&r, &triple[2]))
		rc = take(c, triple, out, text);
	return rc;
}

bool
fields_have(struct bytes pairs, const char *name)
{
	const char *const wanted[] = {name, NULL};
	struct bytes key, value;
	struct reader r;

	reader_init(&r, pairs.data, pairs.len);
	while (strings_next(&r, &key) && strings_next(&r, &value))
		if (is_one_of(key, wanted))
			return true;
	return false;
}

/* "Name: value"; libcurl takes "Name:" for one that is not to be sent, and
 * "Name;" for one without a value. */
static int
append(struct curl_slist **list, struct bytes name, struct bytes value)
{
	scoped_buf line = {.max = 2 * HTTP_HEADERS_MAX};
	struct curl_slist *longer;
	int r = buf_put(&line, name.data, name.len);

	if (r == 0)
		r = value.len > 0 ? buf_put(&line, ": ", 2)
				  : buf_put_u8(&line, ';');
	if (r == 0)
		r = buf_put(&line, value.data, value.len);
	if (r == 0)
		r = buf_put_u8(&line, 0);
	if (r < 0)
		return -ENOMEM;
	longer = curl_slist_append(*list, (const char *)line.data);
	if (longer == NULL)
		return -ENOMEM;
	*list = longer;
	return 0;
}

int
fields_list(struct bytes pairs, const struct fields_scope *scope,
    struct curl_slist **list)
{
	struct bytes name, value;
	struct reader reader;
	int r = 0;

	reader_init(&reader, pairs.data, pairs.len);
	while (r == 0 && strings_next(&reader, &name) &&
	       strings_next(&reader, &value)) {
		if (is_one_of(name, framing) ||
		    (scope->crossed && !is_one_of(name, harmless)) ||
		    (scope->no_body && is_one_of(name, of_body)))
			continue;
		r = append(list, name, value);
	}
	return r;
}
