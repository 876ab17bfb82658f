#include "supervisor/policy_find.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"

#define DEPTH_MAX 64 /* generations between us and a command: some five */

/* State and parent of a process. False if it is gone. */
static bool
read_stat(pid_t pid, char *state, pid_t *parent)
{
	char path[64], text[512];
	scoped_fd fd = -1;
	const char *at;
	ssize_t n;

	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* The name before may hold anything. */
	at = strrchr(text, ')');
	return at != NULL && sscanf(at + 1, " %c %d", state, parent) == 2;
}

static bool
descends(pid_t pid, pid_t ancestor)
{
	char state;

	for (int i = 0; i < DEPTH_MAX && pid > 1; i++) {
		if (pid == ancestor)
			return true;
		if (!read_stat(pid, &state, &pid))
			return false;
	}
	return false;
}

pid_t
policy_find_stopped(pid_t ancestor)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	while (dir != NULL && found == 0 && (entry = readdir(dir)) != NULL) {
		uint64_t pid;
		pid_t parent;
		char state;

		if (num_parse_u64(entry->d_name, 1, INT_MAX, &pid) == 0 &&
		    read_stat((pid_t)pid, &state, &parent) && state == 'T' &&
		    descends(parent, ancestor))
			found = (pid_t)pid;
	}
	if (dir != NULL)
		(void)closedir(dir);
	return found;
}
