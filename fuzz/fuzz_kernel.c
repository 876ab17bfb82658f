/*
 * Reaches cgroup_places_parse, cgroup_file_read_fd, cgroup_file_find,
 * cgroup_file_has, cgroup_unified_strip, cgroup_name_is_ours, sockets_refresh
 * and sockets_after: tables of the kernel's that exec reads, some words of
 * which others have chosen, a program the name of its socket and a container's
 * owner the paths of groups. The input is a letter, then
 *
 *   g  /proc/self/cgroup, "\x1c", /proc/self/mountinfo
 *   f  a key or word, "\n", a small file of a control group
 *   s  /proc/net/unix, "\x1c", the same some time later
 *   n  a path
 *
 * Asserts that a place is a mount of the one table and a group of the other,
 * that plain models find the same number, word and name, and that sockets are
 * absolute names of the table that are not a session's own, no more than are
 * looked at, in order, each as old as it was when it was seen first.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/limits.h"
#include "exec/cgroup_file.h"
#include "exec/cgroup_place.h"
#include "exec/cgroup_sweep.h"
#include "exec/cgroup_unified.h"
#include "exec/sockets.h"
#include "fuzz/fuzz.h"

static int
memfd_of(struct bytes b)
{
	int fd = memfd_create("table", MFD_CLOEXEC);

	assert(fd >= 0);
	assert(write(fd, b.data, b.len) == (ssize_t)b.len);
	assert(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

/* --- places ----------------------------------------------------------------
 */

static FILE *
stream_of(struct bytes b)
{
	FILE *f = fdopen(memfd_of(b), "r");

	assert(f != NULL);
	return f;
}

static bool
holds(struct bytes table, const char *s, size_t len)
{
	return len == 0 ||
	       (len <= table.len && memmem(table.data, table.len, s, len));
}

/* Somewhere in it a mount point ends and a group begins. */
static bool
is_made_of(const char *path, struct bytes groups, struct bytes mounts)
{
	size_t len = strlen(path);

	for (size_t at = 0; at <= len; at++)
		if ((path[at] == '/' || path[at] == '\0') &&
		    holds(mounts, path, at) &&
		    holds(groups, path + at, len - at) &&
		    strstr(path + at, "/..") == NULL)
			return true;
	return false;
}

static void
places(struct reader *r)
{
	struct bytes groups = fuzz_until(r, 0x1c), mounts = fuzz_rest(r);
	FILE *a = stream_of(groups), *b = stream_of(mounts);
	struct cgroup_places p;

	assert(cgroup_places_parse(&p, a, b) == 0);
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++) {
		if (p.path[h] == NULL)
			continue;
		assert(strlen(p.path[h]) < PATH_LEN_MAX);
		assert(strchr(p.path[h], '\n') == NULL);
		assert(is_made_of(p.path[h], groups, mounts));
	}
	cgroup_places_done(&p);
	(void)fclose(a);
	(void)fclose(b);
}

/* --- small files -----------------------------------------------------------
 */

/* The number behind key in the first line that begins with it. */
static bool
model_find(const char *text, const char *key, uint64_t *value)
{
	scoped_free char *copy = strdup(text);
	char *rest = copy, *line, *end;

	assert(copy != NULL);
	while ((line = strsep(&rest, "\n")) != NULL) {
		size_t len = strlen(key);

		if (strncmp(line, key, len) != 0 || line[len] != ' ')
			continue;
		line += len + 1;
		errno = 0;
		*value = strtoull(line, &end, 10);
		return *line != '\0' && errno == 0 && strlen(line) < 24 &&
		       line[strspn(line, "0123456789")] == '\0';
	}
	return false;
}

static bool
model_has(const char *text, const char *word)
{
	scoped_free char *copy = strdup(text);
	char *rest = copy, *one;

	assert(copy != NULL);
	while ((one = strsep(&rest, " \n")) != NULL)
		if (*one != '\0' && strcmp(one, word) == 0)
			return true;
	return false;
}

static void
small_file(struct reader *r)
{
	struct bytes first = fuzz_until(r, '\n'), content = fuzz_rest(r);
	scoped_free char *key = bytes_dup(first);
	char text[CGROUP_FILE_MAX];
	uint64_t got = 7, want = 0;
	scoped_fd fd = memfd_of(content);
	int status = cgroup_file_read_fd(fd, text);

	assert(key != NULL);
	assert(status == (content.len < CGROUP_FILE_MAX ? 0 : -EMSGSIZE));
	/* Nobody looks for nothing. */
	if (status < 0 || key[0] == '\0')
		return;
	assert(memcmp(text, content.data, content.len) == 0);
	if (model_find(text, key, &want))
		assert(cgroup_file_find(text, key, &got) && got == want);
	else
		assert(!cgroup_file_find(text, key, &got) && got == 7);
	assert(cgroup_file_has(text, key) == model_has(text, key));
}

static bool
model_is_ours(const char *s)
{
	static const char form[] = "sallyport-################################";
	size_t i = 0;

	for (; s[i] != '\0' && i < sizeof form; i++)
		if (form[i] == '#' ? strchr("0123456789abcdef", s[i]) == NULL
				   : s[i] != form[i])
			return false;
	return i == sizeof form - 1;
}

static void
name(struct reader *r)
{
	static const char last[] = "/" CGROUP_ROLES;
	scoped_free char *path = bytes_dup(fuzz_rest(r)), *copy = NULL;
	size_t len;

	assert(path != NULL && (copy = strdup(path)) != NULL);
	len = strlen(path);
	assert(cgroup_name_is_ours(path) == model_is_ours(path));
	cgroup_unified_strip(path);
	if (len >= sizeof last - 1 &&
	    strcmp(copy + len - (sizeof last - 1), last) == 0)
		len -= sizeof last - 1;
	assert(strlen(path) == len && strncmp(path, copy, len) == 0);
}

/* --- sockets -------------------------------------------------------------- */

static struct bytes table;

/* The kernel has no NUL in its lines: it writes @ for those of a name. */
static void
set_table(struct bytes input)
{
	static uint8_t text[FUZZ_LEN_MAX];

	for (size_t i = 0; i < input.len; i++)
		text[i] = input.data[i] == '\0' ? '@' : input.data[i];
	table = (struct bytes){.data = text, .len = input.len};
}

/* The linker gives these their names. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c) */
int __real_open64(const char *path, int flags, mode_t mode);
int __wrap_open64(const char *path, int flags, mode_t mode);

/* The kernel's lines are whole. */
int
__wrap_open64(const char *path, int flags, mode_t mode)
{
	int fd;

	if (strcmp(path, "/proc/self/net/unix") != 0)
		return __real_open64(path, flags, mode);
	fd = memfd_of(table);
	assert(pwrite(fd, "\n", 1, (off_t)table.len) == 1);
	return fd;
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c) */

/* Of the line that the name at is in. The kernel has none of this length. */
static bool
is_far_too_long(const struct sockets *s, size_t at)
{
	size_t begin = at;

	while (begin > 0 && s->text.data[begin - 1] != '\0')
		begin--;
	return at - begin + strlen((const char *)s->text.data + at) >= 512;
}

static void
check_rows(const struct sockets *s, const struct exec_config *c)
{
	assert(s->count <= SOCKETS_MAX);
	for (size_t i = 0; i < s->count; i++) {
		const char *path = (const char *)s->text.data + s->rows[i].name;

		assert(s->rows[i].name < s->text.len && path[0] == '/');
		assert(holds(table, path, strlen(path)));
		assert(strchr(path, '\n') == NULL);
		assert(is_far_too_long(s, s->rows[i].name) ||
		       !sockets_are_own(c, path));
		assert(
		    s->rows[i].since >= 1 && s->rows[i].since <= s->generation);
		assert(i == 0 || s->rows[i - 1].ino <= s->rows[i].ino);
	}
}

static bool
knows(const struct sockets *s, uint64_t ino)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->rows[i].ino == ino)
			return true;
	return false;
}

static void
check_after(const struct sockets *s)
{
	const char **names;
	size_t want = 0, got = 0;

	for (size_t i = 0; i < s->count; i++)
		want += s->rows[i].since > 1;
	assert(sockets_after(s, 1, &names) == 0);
	assert((names == NULL) == (want == 0));
	while (names != NULL && names[got] != NULL)
		got++;
	assert(got == want);
	free(names);
}

static void
two_lists(struct reader *r)
{
	static char workspace[] = "/srv/work";
	const struct exec_config c = {.preset = PRESET_WORKSPACE,
	    .workspaces = {{.path = workspace}},
	    .workspace_count = 1};
	struct sockets now, then;

	sockets_init(&now);
	sockets_init(&then);
	set_table(fuzz_until(r, 0x1c));
	/* No input is long enough for too many. */
	assert(sockets_refresh(&then, &c, 1) == 0);
	check_rows(&then, &c);
	assert(sockets_refresh(&now, &c, 1) == 0);
	set_table(fuzz_rest(r));
	/* It is as good as new. */
	assert(sockets_refresh(&now, &c, SOCKETS_MAX_AGE_MS) == 0);
	assert(now.count == then.count && now.generation == 1);
	assert(sockets_refresh(&now, &c, 1 + SOCKETS_MAX_AGE_MS) == 0);
	check_rows(&now, &c);
	assert(now.generation == 2);
	for (size_t i = 0; i < now.count; i++)
		assert(
		    (now.rows[i].since == 1) == knows(&then, now.rows[i].ino));
	check_after(&now);
	sockets_done(&now);
	sockets_done(&then);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before = fuzz_fds_open();
	struct reader r;

	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	switch (fuzz_u8(&r)) {
	case 'g':
		places(&r);
		break;
	case 'f':
		small_file(&r);
		break;
	case 's':
		two_lists(&r);
		break;
	case 'n':
		name(&r);
		break;
	default:
		break;
	}
	assert(fuzz_fds_open() == before);
	return 0;
}
