#include "cli/attach_program.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool
try(char path[PATH_LEN_MAX], const char *dir, const char *rest)
{
	char joined[PATH_LEN_MAX];
	scoped_free char *real = NULL;
	struct stat st;
	int n = snprintf(joined, sizeof joined, "%s/%s", dir, rest);

	if (n < 0 || (size_t)n >= sizeof joined)
		return false;
	real = realpath(joined, NULL);
	if (real == NULL || strlen(real) >= PATH_LEN_MAX ||
	    stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	memcpy(path, real, strlen(real) + 1);
	return true;
}

int
attach_program_find(char path[PATH_LEN_MAX], struct err *e)
{
	char self[PATH_LEN_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		return err_errno(e, errno, "/proc/self/exe");
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	if (try(path, self, "../sallyport") ||
	    try(path, self, SALLYPORT_BIN_RELATIVE "/sallyport") ||
	    try(path, SALLYPORT_BINDIR, "sallyport"))
		return 0;
	return err_set(e, ENOENT, "sallyport is not in %s", SALLYPORT_BINDIR);
}
