#include "exec/cgroup_place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* The controller that a hierarchy of version 1 is looked for by. */
static const char *const controllers[CGROUP_HIERARCHIES] = {
    [CGROUP_V1_MEMORY] = "memory",
    [CGROUP_V1_PIDS] = "pids",
    [CGROUP_V1_CPU] = "cpu",
};

/* Our group in each hierarchy, from its root on; owned. */
struct groups {
	char *path[CGROUP_HIERARCHIES];
};

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

/* A line "8:memory:/group" or "0::/group". 0 or -ENOMEM. */
static int
take_group(struct groups *g, const char *line)
{
	const char *first = strchr(line, ':');
	const char *second = first == NULL ? NULL : strchr(first + 1, ':');

	if (second == NULL)
		return 0;
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++) {
		size_t len = (size_t)(second - first) - 1;
		bool ours = controllers[h] == NULL
				? len == 0
				: has_word(first + 1, len, controllers[h]);

		if (!ours || g->path[h] != NULL)
			continue;
		g->path[h] = strndup(second + 1, strcspn(second + 1, "\n"));
		if (g->path[h] == NULL)
			return -ENOMEM;
	}
	return 0;
}

/*
 * What is left of group below root, where root is mounted: "" or "/...". NULL
 * if it is not below. In a container its own group may be the root of what is
 * mounted; a group above that of a namespace begins with "/..".
 */
static const char *
below(const char *group, const char *root)
{
	size_t skip = strcmp(root, "/") == 0 ? 0 : strlen(root);
	const char *rest = group + skip;

	if (strncmp(group, root, skip) != 0 || strstr(group, "/..") != NULL)
		return NULL;
	if (strcmp(rest, "/") == 0)
		return "";
	return rest[0] == '\0' || rest[0] == '/' ? rest : NULL;
}

/* The first mount that shows our group is the one. 0 or -ENOMEM. */
static int
take_place(char **path, const char *group, const char *root, const char *mount)
{
	const char *rest = group == NULL ? NULL : below(group, root);
	size_t size;

	if (rest == NULL || *path != NULL)
		return 0;
	size = strlen(mount) + strlen(rest) + 1;
	if (size > PATH_LEN_MAX)
		return 0;
	*path = malloc(size);
	if (*path == NULL)
		return -ENOMEM;
	(void)snprintf(*path, size, "%s%s", mount, rest);
	return 0;
}

/* A line "36 35 98:0 /root /mount options - type source options". */
static int
take_mount(struct cgroup_places *p, const struct groups *g, char *line)
{
	char *fields[5], *rest = line, *type, *source;
	int r = 0;

	for (size_t i = 0; i < 5; i++)
		fields[i] = strsep(&rest, " ");
	rest = rest == NULL ? NULL : strstr(rest, " - ");
	if (rest == NULL)
		return 0;
	rest += 3;
	type = strsep(&rest, " ");
	source = strsep(&rest, " ");
	if (source == NULL || rest == NULL)
		return 0;
	for (size_t h = 0; h < CGROUP_HIERARCHIES && r == 0; h++) {
		const char *word = controllers[h];
		bool ours = word == NULL
				? strcmp(type, "cgroup2") == 0
				: strcmp(type, "cgroup") == 0 &&
				      has_word(rest, strcspn(rest, "\n"), word);

		if (ours)
			r = take_place(&p->path[h], g->path[h], fields[3],
			    fields[4]);
	}
	return r;
}

int
cgroup_places_parse(struct cgroup_places *p, FILE *groups, FILE *mounts)
{
	struct groups g = {0};
	char *line = NULL;
	size_t size = 0;
	int r = 0;

	*p = (struct cgroup_places){0};
	while (r == 0 && getline(&line, &size, groups) > 0)
		r = take_group(&g, line);
	while (r == 0 && getline(&line, &size, mounts) > 0)
		r = take_mount(p, &g, line);
	free(line);
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		free(g.path[h]);
	return r;
}

int
cgroup_places_read(struct cgroup_places *p)
{
	FILE *groups = fopen("/proc/self/cgroup", "re");
	FILE *mounts =
	    groups == NULL ? NULL : fopen("/proc/self/mountinfo", "re");
	int r = -errno;

	*p = (struct cgroup_places){0};
	if (mounts != NULL) {
		r = cgroup_places_parse(p, groups, mounts);
		(void)fclose(mounts);
	}
	if (groups != NULL)
		(void)fclose(groups);
	return r;
}

void
cgroup_places_done(struct cgroup_places *p)
{
	for (size_t h = 0; h < CGROUP_HIERARCHIES; h++)
		free(p->path[h]);
	*p = (struct cgroup_places){0};
}
