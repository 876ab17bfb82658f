/*
 * Reaches glob_resolve, glob_covers and what tells of a pattern. The input is
 * a pattern, a cwd and paths, a line each.
 *
 * Asserts that a resolved pattern is absolute, short enough and resolves to
 * itself, and that what it covers is what a plain model covers that fills in a
 * table of which beginnings match which.
 */
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "policy/glob.h"
#include "policy/profile.h"

#define SIDE_MAX 160 /* bytes of a pattern or path that the model takes */

/* A character of text, and in *len its bytes; a lone byte is its own. */
static uint32_t
character(struct bytes text, size_t at, size_t *len)
{
	const uint8_t *s = text.data + at;
	uint32_t v;

	*len = utf8_sequence(s, text.len - at);
	if (*len <= 1) {
		v = *len == 1 ? *s : 0x200000u + *s;
		*len = 1;
		return v;
	}
	v = s[0] & (0x3fu >> (*len - 1));
	for (size_t i = 1; i < *len; i++)
		v = v << 6 | (s[i] & 0x3fu);
	return v;
}

/* Whether the class that begins at p[at] has c; *end is behind its bracket. */
static bool
class_holds(struct bytes p, size_t at, uint32_t c, size_t *end)
{
	bool not = p.data[at + 1] == '!' || p.data[at + 1] == '^', in = false;
	struct bytes set;
	size_t i = at + 1 + not, close = i + 1, n;

	while (p.data[close] != ']')
		close++;
	*end = close + 1;
	set = (struct bytes){.data = p.data, .len = close};
	while (i < close) {
		uint32_t low = character(set, i, &n), high = low;

		i += n;
		if (close - i >= 2 && p.data[i] == '-') {
			high = character(set, i + 1, &n);
			i += 1 + n;
		}
		in = in || (c >= low && c <= high);
	}
	return c != '/' && in != not ;
}

/* reach[i][j]: the first i bytes of the pattern match the first j of path. */
static bool reach[SIDE_MAX + 1][SIDE_MAX + 1];

/* One star takes characters up to a slash, more take any, and more with a slash
 * behind them whole components. */
static void
spread_stars(struct bytes p, size_t i, size_t stars, struct bytes path,
    size_t j)
{
	bool whole = stars > 1 && i + stars < p.len && p.data[i + stars] == '/';
	size_t next = i + stars + whole, n;

	for (size_t k = j;; k += n) {
		reach[next][k] |= !whole || k == j || path.data[k - 1] == '/';
		if (k == path.len || (stars == 1 && path.data[k] == '/'))
			return;
		(void)character(path, k, &n);
	}
}

/* Where the pattern's token at i can go from j. */
static void
spread(struct bytes p, size_t i, struct bytes path, size_t j)
{
	size_t stars = 0, end = i + 1, n = 0;
	uint32_t c = j < path.len ? character(path, j, &n) : 0;

	while (i + stars < p.len && p.data[i + stars] == '*')
		stars++;
	if (stars == 0 && j == path.len)
		return;
	if (stars == 0 && p.data[i] == '?') {
		reach[i + 1][j + n] |= c != '/';
	} else if (stars == 0 && p.data[i] == '[') {
		bool holds = class_holds(p, i, c, &end);

		reach[end][j + n] |= holds;
	} else if (stars == 0) {
		size_t len;
		bool same = character(p, i, &len) == c;

		reach[i + len][j + n] |= same;
	} else {
		spread_stars(p, i, stars, path, j);
	}
}

static bool
model_covers(struct bytes p, struct bytes path)
{
	if (path.len <= 1)
		return false;
	memset(reach, 0, sizeof reach);
	reach[0][0] = true;
	for (size_t i = 0; i < p.len; i++)
		for (size_t j = 0; j <= path.len; j++)
			if (reach[i][j])
				spread(p, i, path, j);
	for (size_t j = 1; j <= path.len; j++)
		if (reach[p.len][j] && (j == path.len || path.data[j] == '/'))
			return true;
	return false;
}

static void
check_path(struct bytes pattern, struct bytes path)
{
	struct bytes base = {.data = pattern.data, .len = glob_base(pattern)};
	bool covers = glob_covers(pattern, path);
	bool below = profile_is_in(path, base) && path.len > base.len;

	if (pattern.len <= SIDE_MAX && path.len <= SIDE_MAX)
		assert(covers == model_covers(pattern, path));
	if (!glob_is_pattern(pattern)) {
		assert(path.len == 1 || pattern.len == 1 ||
		       covers == profile_is_in(path, pattern));
		return;
	}
	assert(!covers || below);
	if (glob_is_subtree(pattern) || glob_is_children(pattern))
		assert(covers == below);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes text, cwd;
	scoped_buf pattern, again;
	struct err e = {0};
	struct reader r;
	int rc;

	buf_init(&pattern, PATH_LEN_MAX - 1);
	buf_init(&again, PATH_LEN_MAX - 1);
	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	text = fuzz_until(&r, '\n');
	cwd = fuzz_until(&r, '\n');
	if (bytes_has_nul(text) || (cwd.len > 0 && !path_is_canonical(cwd)))
		return 0;
	rc = glob_resolve(text, cwd, &pattern, &e);
	if (rc < 0) {
		assert(rc == -EINVAL || rc == -ENAMETOOLONG);
		assert(e.code == -rc && e.text[0] != '\0');
		return 0;
	}
	assert(path_is_canonical(fuzz_view(&pattern)));
	assert(glob_resolve(fuzz_view(&pattern), cwd, &again, &e) == 0);
	assert(bytes_equal(fuzz_view(&pattern), fuzz_view(&again)));
	while (r.left > 0) {
		struct bytes path = fuzz_until(&r, '\n');

		if (path_is_canonical(path))
			check_path(fuzz_view(&pattern), path);
	}
	return 0;
}
