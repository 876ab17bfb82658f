/*
 * Reaches uri_to_path and uri_from_path with any text.
 *
 * Asserts that an accepted URI gives an absolute path without NUL that is
 * short enough, that the URI of that path is accepted and gives it again, and
 * that a refusal has words for the client.
 */
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "net/uri.h"

static void
comes_back(struct bytes path)
{
	scoped_buf uri, again;
	struct err e = {0};
	int r;

	buf_init(&uri, URI_MAX);
	buf_init(&again, PATH_LEN_MAX - 1);
	assert(uri_from_path(path, &uri) == 0);
	for (size_t i = 0; i < uri.len; i++)
		assert(uri.data[i] > ' ' && uri.data[i] < 0x7f);
	r = uri_to_path(fuzz_view(&uri), &again, &e);
	/* Segments that were "." or ".." behind an encoded slash, and doubled
	 * slashes, are resolved now; nothing else changes. */
	assert(r == 0 || r == -EADDRNOTAVAIL);
	if (memmem(path.data, path.len, "/.", 2) == NULL &&
	    memmem(path.data, path.len, "//", 2) == NULL)
		assert(r == 0 && bytes_equal(fuzz_view(&again), path));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes uri = {.data = data, .len = size};
	struct err e = {0};
	scoped_buf path;
	int r;

	buf_init(&path, PATH_LEN_MAX - 1);
	if (size > FUZZ_LEN_MAX)
		return 0;
	r = uri_to_path(uri, &path, &e);
	if (r < 0) {
		assert(
		    r == -EINVAL || r == -EADDRNOTAVAIL || r == -ENAMETOOLONG);
		assert(e.code == -r && e.text[0] != '\0');
		return 0;
	}
	assert(path.len > 0 && path.len < PATH_LEN_MAX);
	assert(path.data[0] == '/');
	assert(path.len == 1 || path.data[path.len - 1] != '/');
	assert(!bytes_has_nul(fuzz_view(&path)));
	comes_back(fuzz_view(&path));
	return 0;
}
