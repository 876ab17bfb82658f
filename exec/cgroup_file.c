#include "exec/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "exec/raw.h"

/* The largest page of any kernel that we run on. */
#define PAGE_MAX 65536

int
cgroup_file_read_fd(int fd, char out[CGROUP_FILE_MAX])
{
	ssize_t n = pread(fd, out, CGROUP_FILE_MAX, 0);

	if (n < 0)
		return -errno;
	if (n == CGROUP_FILE_MAX)
		return -EMSGSIZE;
	out[n] = '\0';
	return 0;
}

int
cgroup_file_read(int dir, const char *name, char out[CGROUP_FILE_MAX])
{
	scoped_fd fd = openat(dir, name, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : cgroup_file_read_fd(fd, out);
}

/* A number up to the end of its line. */
static bool
parse(const char *at, uint64_t *value)
{
	size_t len = strcspn(at, "\n");
	char digits[24];

	if (len >= sizeof digits)
		return false;
	memcpy(digits, at, len);
	digits[len] = '\0';
	return num_parse_u64(digits, 0, UINT64_MAX, value) == 0;
}

bool
cgroup_file_find(const char *text, const char *key, uint64_t *value)
{
	size_t len = strlen(key);

	for (const char *at = text; at != NULL;) {
		if (strncmp(at, key, len) == 0 && at[len] == ' ')
			return parse(at + len + 1, value);
		at = strchr(at, '\n');
		at = at == NULL ? NULL : at + 1;
	}
	return false;
}

bool
cgroup_file_has(const char *text, const char *word)
{
	size_t want = strlen(word);

	for (const char *at = text; *at != '\0';) {
		size_t len = strcspn(at, " \n");

		if (len == want && memcmp(at, word, len) == 0)
			return true;
		at += len;
		at += strspn(at, " \n");
	}
	return false;
}

int
cgroup_file_limit(int dir, const char *name, uint64_t value)
{
	char text[CGROUP_FILE_MAX];
	uint64_t got;
	int r;

	(void)snprintf(text, sizeof text, "%" PRIu64, value);
	r = raw_write_file_at(dir, name, text);
	if (r == 0)
		r = cgroup_file_read(dir, name, text);
	if (r < 0)
		return r;
	if (!parse(text, &got) || got > value || value - got >= PAGE_MAX)
		return -ERANGE;
	return 0;
}

int
cgroup_file_limit_if(int dir, const char *name, uint64_t value)
{
	int r = cgroup_file_limit(dir, name, value);

	return r == -ENOENT ? 0 : r;
}
