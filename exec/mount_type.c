#include "exec/mount_type.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"

/* The word behind the lone dash of a line of mountinfo. */
static void
take_type(const char *line, char out[MOUNT_TYPE_MAX])
{
	const char *at = strstr(line, " - ");
	size_t len;

	if (at == NULL)
		return;
	at += 3;
	len = strcspn(at, " \n");
	(void)snprintf(out, MOUNT_TYPE_MAX, "%.*s", (int)len, at);
}

void
mount_type(int fd, char out[MOUNT_TYPE_MAX])
{
	char line[2 * PATH_LEN_MAX], id[24];
	struct statx st;
	FILE *f;

	(void)snprintf(out, MOUNT_TYPE_MAX, "?");
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID,
		&st) < 0)
		return;
	(void)snprintf(id, sizeof id, "%llu ",
	    (unsigned long long)st.stx_mnt_id);
	f = fopen("/proc/self/mountinfo", "re");
	if (f == NULL)
		return;
	while (fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, id, strlen(id)) == 0)
			take_type(line, out);
	(void)fclose(f);
}
