/*
 * Reaches auth_head, auth_upgrade and auth_path_is. The input is lines: path,
 * origin, host, version; one that is "-" is absent.
 *
 * Asserts that whoever sends an Origin, another path or a host that is a name
 * is refused in both wire forms, as far as the form says so, and that a refusal
 * is a status of HTTP.
 */
#include <arpa/inet.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "net/auth.h"

static struct bytes
field(struct reader *r)
{
	struct bytes s = fuzz_until(r, '\n');

	return bytes_is(s, "-") ? (struct bytes){0} : s;
}

static bool
has_letter(struct bytes host)
{
	for (size_t i = 0; i < host.len && host.data[i] != ':'; i++)
		if ((host.data[i] | 0x20) >= 'a' &&
		    (host.data[i] | 0x20) <= 'z')
			return true;
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char path[] = "/secret";
	struct auth_request q;
	struct reader r;

	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	q.path = field(&r);
	q.origin = field(&r);
	q.host = field(&r);
	q.version = field(&r);
	for (int compat = COMPAT_CODEX; compat <= COMPAT_OPENCLAW; compat++) {
		const struct config config = {.path = path,
		    .compat = compat_row((enum compat)compat)};
		int status = auth_upgrade(&q, &config);

		assert(status == 0 || status == 400 || status == 403 ||
		       status == 404);
		assert(auth_path_is(q.path, &config) == bytes_is(q.path, path));
		if (status != 0)
			continue;
		assert(q.origin.data == NULL && bytes_is(q.version, "13"));
		assert(bytes_is(q.path, path) ||
		       config.compat->wrong_path_upgrades);
		assert(q.host.len > 0 &&
		       (q.host.data[0] == '[' || !has_letter(q.host) ||
			   (q.host.len >= 9 &&
			       strncasecmp((const char *)q.host.data,
				   "localhost", 9) == 0)));
	}
	return 0;
}
