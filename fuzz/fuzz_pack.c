/*
 * Reaches the decoders of what travels inside messages: spec_unpack,
 * limits_unpack, sandbox_spec_unpack, http_policy_unpack and, by them,
 * strings_check and http_rule_parse. The first byte of the input says which.
 *
 * Asserts that what is accepted packs to the very bytes that it came from, so
 * that nothing has two forms, and that a refusal leaves the output alone.
 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "fuzz/fuzz.h"
#include "privsep/http_policy.h"
#include "privsep/pack.h"
#include "privsep/sandbox_spec.h"

static void
check_strings(struct bytes list)
{
	struct bytes s;
	struct reader r;
	size_t count, seen = 0;

	assert(strings_check(list, SIZE_MAX, SIZE_MAX, &count));
	reader_init(&r, list.data, list.len);
	while (strings_next(&r, &s))
		seen++;
	assert(seen == count && r.left == 0);
}

static int
spec(struct bytes packed, struct buf *again, struct err *e)
{
	struct spec s, untouched;
	int r;

	memset(&s, 0x5a, sizeof s);
	memcpy(&untouched, &s, sizeof s);
	r = spec_unpack(packed, &s, e);
	if (r < 0) {
		assert(memcmp(&s, &untouched, sizeof s) == 0);
		return r;
	}
	assert(path_is_canonical(s.cwd) && s.argv.len > 0);
	check_strings(s.argv);
	check_strings(s.env);
	return spec_pack(&s, again);
}

static int
limits(struct bytes packed, struct buf *again, struct err *e)
{
	struct limits l;

	limits_init(&l);
	if (!limits_unpack(packed, &l))
		return err_set(e, EPROTO, "limits");
	for (unsigned int i = 0; i < LIMIT_ROWS; i++)
		assert(limits_get(&l, i) >= limit_rows[i].min &&
		       limits_get(&l, i) <= limit_rows[i].max);
	return limits_pack(&l, again);
}

static int
sandbox(struct bytes packed, struct buf *again, struct err *e)
{
	struct sandbox_entry entry;
	struct sandbox_spec s;
	struct reader r;
	size_t count = 0;
	int rc = sandbox_spec_unpack(packed, &s, e);

	if (rc < 0)
		return rc;
	reader_init(&r, s.entries.data, s.entries.len);
	while (sandbox_entry_next(&r, &entry)) {
		assert(entry.path <= SANDBOX_PATH_MAX);
		assert(entry.access <= SANDBOX_ACCESS_MAX);
		count++;
	}
	assert(r.left == 0 && count <= SANDBOX_ENTRIES_MAX);
	check_strings(s.roots);
	return sandbox_spec_pack(&s, again);
}

static int
http(struct bytes packed, struct buf *again, struct err *e)
{
	struct http_policy p;
	int r = http_policy_unpack(packed, &p, e);

	if (r < 0)
		return r;
	check_strings(p.allow);
	check_strings(p.deny);
	check_strings(p.env);
	return http_policy_pack(&p, again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int (*const kinds[])(struct bytes packed, struct buf * again,
	    struct err * e) = {spec, limits, sandbox, http};
	struct bytes packed;
	struct err e = {0};
	scoped_buf again;
	int r;

	buf_init(&again, PROCESS_SPEC_MAX);
	if (size < 1 || size > FUZZ_LEN_MAX)
		return 0;
	packed = (struct bytes){.data = data + 1, .len = size - 1};
	r = kinds[data[0] % (sizeof kinds / sizeof kinds[0])](packed, &again,
	    &e);
	if (r == 0)
		assert(bytes_equal(packed, fuzz_view(&again)));
	else
		assert(r == -EPROTO && e.text[0] != '\0');
	return 0;
}
