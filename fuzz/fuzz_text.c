/*
 * Reaches num_parse_u64, path_is_canonical, path_is_subpath, utf8_valid,
 * utf8_sequence and base64_decode and base64_encode with any bytes.
 *
 * Asserts that each says what a plain model of it says, and that base64 has
 * one text for each value.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/limits.h"
#include "base/num.h"
#include "base/path.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"

/* Compare digits without leading zeros: the longer number is larger. */
static bool
model_at_most(const char *digits, const char *max)
{
	digits += strspn(digits, "0");
	if (strlen(digits) != strlen(max))
		return strlen(digits) < strlen(max);
	return strcmp(digits, max) <= 0;
}

static void
number(const char *s)
{
	uint64_t max = UINT64_C(18446744073709551000), out = 7;
	int r = num_parse_u64(s, 3, max, &out);
	size_t n = strlen(s);

	if (n == 0 || strspn(s, "0123456789") != n) {
		/* What is too large already is not read further. */
		assert(r == -EINVAL || r == -ERANGE);
		assert(out == 7);
	} else if (model_at_most(s, "2") ||
		   !model_at_most(s, "18446744073709551000")) {
		assert(r == -ERANGE && out == 7);
	} else {
		char text[32];

		assert(r == 0 && out >= 3 && out <= max);
		assert(snprintf(text, sizeof text, "%llu",
			   (unsigned long long)out) > 0);
		assert(strcmp(text, s + strspn(s, "0")) == 0);
	}
}

/* By what must not be found in it with a slash put at both ends. */
static bool
model_subpath(const char *s, size_t len)
{
	scoped_free char *t = NULL;
	bool wrong;

	if (len == 0)
		return true;
	if (len >= PATH_LEN_MAX || memchr(s, '\0', len) != NULL)
		return false;
	assert(asprintf(&t, "/%.*s/", (int)len, s) > 0);
	wrong = strstr(t, "//") != NULL || strstr(t, "/./") != NULL ||
		strstr(t, "/../") != NULL;
	return !wrong;
}

static void
path(const char *s, size_t len)
{
	struct bytes b = {.data = (const uint8_t *)s, .len = len};

	assert(path_is_subpath(b) == model_subpath(s, len));
	assert(path_is_canonical(b) ==
	       (len > 0 && len < PATH_LEN_MAX && s[0] == '/' &&
		   model_subpath(s + 1, len - 1)));
}

/* The length of the character at s by decoding it and looking at the value. */
static size_t
model_character(const uint8_t *s, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80	     ? 1
		   : s[0] >> 5 == 6  ? 2
		   : s[0] >> 4 == 14 ? 3
		   : s[0] >> 3 == 30 ? 4
				     : 0;
	uint32_t v = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));

	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		v = v << 6 | (s[i] & 63);
	}
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	return n;
}

static void
utf8(const uint8_t *s, size_t len)
{
	bool valid = true;
	size_t n = 0;

	for (size_t at = 0; at < len; at += n == 0 ? 1 : n) {
		n = model_character(s + at, len - at);
		assert(utf8_sequence(s + at, len - at) == n);
		valid = valid && n > 0;
	}
	assert(utf8_valid(s, len) == valid);
}

static void
base64(const char *s, size_t len)
{
	scoped_free uint8_t *bytes = malloc(base64_decoded_max(len) + 1);
	scoped_free char *text = malloc(len + 4);
	size_t made = 99, bad = 99;

	assert(bytes != NULL && text != NULL);
	if (base64_decode(bytes, s, len, &made, &bad) < 0) {
		assert(made == 99 && bad <= len);
		return;
	}
	assert(made <= base64_decoded_max(len) && bad == 99);
	assert(base64_encoded_len(made) == len);
	assert(base64_encode(text, bytes, made) == len);
	assert(memcmp(text, s, len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_free char *s = NULL;

	if (size > FUZZ_LEN_MAX)
		return 0;
	s = malloc(size + 1);
	assert(s != NULL);
	memcpy(s, data, size);
	s[size] = '\0';
	number(s);
	path(s, size);
	utf8(data, size);
	base64(s, size);
	return 0;
}
