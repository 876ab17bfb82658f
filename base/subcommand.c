#include "base/subcommand.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const struct subcommand *
subcommand_find(const struct subcommand *rows, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

void
subcommand_list(const struct subcommand *rows, size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].help != NULL)
			(void)fprintf(out, "  %-8s %s\n", rows[i].name,
			    rows[i].help);
}

int
subcommand_open_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -EBADF;
	return 0;
}
