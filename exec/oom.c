#include "exec/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/num.h"

#define COUNT_TEXT_MAX 1024 /* bytes of the file with the count */

/* Where the group of one version is, as the kernel's tables have it. */
struct place {
	char group[PATH_LEN_MAX]; /* of /proc/self/cgroup */
	char root[PATH_LEN_MAX];  /* the group that is mounted */
	char mount[PATH_LEN_MAX];
	bool has_group, has_mount;
};

enum version { V1, V2, VERSIONS };

static const char *const count_files[VERSIONS] = {"memory.oom_control",
    "memory.events"};

static bool
copy(char out[PATH_LEN_MAX], const char *text, size_t len)
{
	if (len >= PATH_LEN_MAX)
		return false;
	memcpy(out, text, len);
	out[len] = '\0';
	return true;
}

/* Whether word is one of those that commas part in list[0..len). */
static bool
has_word(const char *list, size_t len, const char *word)
{
	size_t want = strlen(word);

	for (size_t at = 0; at < len;) {
		const char *comma = memchr(list + at, ',', len - at);
		size_t n =
		    comma == NULL ? len - at : (size_t)(comma - list) - at;

		if (n == want && memcmp(list + at, word, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* A line "8:memory:/group" or "0::/group". */
static void
take_group(struct place places[VERSIONS], const char *line)
{
	const char *first = strchr(line, ':');
	const char *second = first == NULL ? NULL : strchr(first + 1, ':');
	struct place *p;

	if (second == NULL)
		return;
	p = second == first + 1 ? &places[V2] : &places[V1];
	if (p == &places[V1] &&
	    !has_word(first + 1, (size_t)(second - first) - 1, "memory"))
		return;
	p->has_group = copy(p->group, second + 1, strcspn(second + 1, "\n"));
}

/* A line "36 35 98:0 /root /mount options - type source options". */
static void
take_mount(struct place places[VERSIONS], char *line)
{
	char *fields[5], *rest = line, *type, *source, *options;
	struct place *p;

	for (size_t i = 0; i < 5; i++)
		fields[i] = strsep(&rest, " ");
	rest = rest == NULL ? NULL : strstr(rest, " - ");
	if (rest == NULL)
		return;
	rest += 3;
	type = strsep(&rest, " ");
	source = strsep(&rest, " ");
	options = rest;
	if (source == NULL || options == NULL)
		return;
	if (strcmp(type, "cgroup2") == 0)
		p = &places[V2];
	else if (strcmp(type, "cgroup") == 0 &&
		 has_word(options, strcspn(options, "\n"), "memory"))
		p = &places[V1];
	else
		return;
	if (!p->has_mount)
		p->has_mount = copy(p->root, fields[3], strlen(fields[3])) &&
			       copy(p->mount, fields[4], strlen(fields[4]));
}

static void
read_tables(struct place places[VERSIONS])
{
	FILE *groups = fopen("/proc/self/cgroup", "re");
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;

	while (groups != NULL && getline(&line, &size, groups) > 0)
		take_group(places, line);
	while (mounts != NULL && getline(&line, &size, mounts) > 0)
		take_mount(places, line);
	free(line);
	if (groups != NULL)
		(void)fclose(groups);
	if (mounts != NULL)
		(void)fclose(mounts);
}

static int
open_count(const struct place *p, const char *file)
{
	size_t skip = strcmp(p->root, "/") == 0 ? 0 : strlen(p->root);
	char path[3 * PATH_LEN_MAX];

	/* In a container its own group may be the root of what is mounted. */
	if (!p->has_group || !p->has_mount ||
	    strncmp(p->group, p->root, skip) != 0)
		return -1;
	(void)snprintf(path, sizeof path, "%s%s/%s", p->mount, p->group + skip,
	    file);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* The number behind "oom_kill ", on a line of its own. */
static bool
read_count(int fd, uint64_t *count)
{
	static const char key[] = "oom_kill ";
	char text[COUNT_TEXT_MAX + 1];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, COUNT_TEXT_MAX, 0);
	const char *at = text;

	if (n <= 0)
		return false;
	text[n] = '\0';
	while (at != NULL && strncmp(at, key, sizeof key - 1) != 0) {
		at = strchr(at, '\n');
		at = at == NULL ? NULL : at + 1;
	}
	if (at == NULL)
		return false;
	at += sizeof key - 1;
	text[at - text + (ptrdiff_t)strcspn(at, "\n")] = '\0';
	return num_parse_u64(at, 0, UINT64_MAX, count) == 0;
}

void
oom_open(struct oom *o)
{
	struct place *places = calloc(VERSIONS, sizeof *places);

	*o = (struct oom){.fd = -1};
	if (places == NULL)
		return;
	read_tables(places);
	/* On a hybrid host the controller is in the first version. */
	for (size_t v = 0; v < VERSIONS && o->fd < 0; v++) {
		o->fd = open_count(&places[v], count_files[v]);
		if (!read_count(o->fd, &o->seen))
			fd_close(&o->fd);
	}
	free(places);
}

void
oom_close(struct oom *o)
{
	fd_close(&o->fd);
}

bool
oom_account(struct oom *o)
{
	uint64_t count;

	if (!read_count(o->fd, &count) || count <= o->seen)
		return false;
	o->seen++;
	return true;
}
