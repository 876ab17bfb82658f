/*
 * Reaches url_parse and url_same_origin of sallyport-http, and by them
 * libcurl's parser of URLs. The input is a URL and, on lines of their own,
 * redirects from it, each relative to the one before.
 *
 * Asserts that an accepted URL is http or https, has a host that target_parse
 * takes and a port, that its text holds neither credentials nor a fragment nor
 * control bytes, and that the text parses to the same origin again.
 */
#include <errno.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "http/url.h"

static void
check(const struct url *u)
{
	struct err e = {0};
	struct url again;
	struct target t;

	assert(strncmp(u->text, u->https ? "https://" : "http://",
		   u->https ? 8 : 7) == 0);
	assert(u->target.port != 0 && u->target.host[0] != '\0');
	assert(target_parse(u->target.host, u->target.port, &t) == 0);
	assert(strcmp(t.host, u->target.host) == 0);
	assert(strchr(u->text, '#') == NULL);
	for (const char *s = u->text; *s != '\0'; s++)
		assert((unsigned char)*s > ' ' && *s != 0x7f);
	assert(url_parse(u->text, NULL, &again, &e) == 0);
	assert(again.user == NULL && again.password == NULL);
	assert(url_same_origin(u, &again));
	url_done(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct url urls[2] = {{.text = NULL}};
	struct err e = {0};
	struct reader r;
	int now = 0, n = -1;

	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	for (int i = 0; r.left > 0 && i < 8; i++) {
		scoped_free char *text = bytes_dup(fuzz_until(&r, '\n'));
		int rc;

		assert(text != NULL);
		rc = url_parse(text, n < 0 ? NULL : &urls[n], &urls[now], &e);
		assert(rc == 0 || rc == -EINVAL || rc == -EPROTONOSUPPORT);
		if (rc < 0) {
			assert(e.text[0] != '\0');
			url_done(&urls[now]);
			continue;
		}
		check(&urls[now]);
		n = now;
		now = !now;
		url_done(&urls[now]);
	}
	url_done(&urls[0]);
	url_done(&urls[1]);
	return 0;
}
