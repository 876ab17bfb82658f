#include "base/path.h"

#include "base/limits.h"

bool
path_is_subpath(struct bytes name)
{
	size_t start = 0;

	if (name.len == 0)
		return true;
	if (name.len >= PATH_LEN_MAX || bytes_has_nul(name))
		return false;
	for (size_t i = 0; i <= name.len; i++) {
		struct bytes part = {.data = name.data + start,
		    .len = i - start};

		if (i < name.len && name.data[i] != '/')
			continue;
		if (part.len == 0 || bytes_is(part, ".") ||
		    bytes_is(part, ".."))
			return false;
		start = i + 1;
	}
	return true;
}

bool
path_is_canonical(struct bytes path)
{
	if (path.len == 0 || path.len >= PATH_LEN_MAX || path.data[0] != '/')
		return false;
	return path_is_subpath(
	    (struct bytes){.data = path.data + 1, .len = path.len - 1});
}
