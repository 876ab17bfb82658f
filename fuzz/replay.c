/*
 * The main of a harness in a build without a fuzzing engine: run every file
 * that the arguments name, or that lies in a directory that they name, in the
 * order of their names. Each is named before it is run, so that the last one
 * printed is the one that ended us.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "fuzz/fuzz.h"

static size_t count;

static void
die(const char *path)
{
	(void)fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
	exit(1);
}

static void
run_file(const char *path)
{
	/* Not a byte longer, so that reading past the end is seen. */
	scoped_free uint8_t *data = NULL;
	FILE *f = fopen(path, "rbe");
	struct stat st;
	size_t size;

	if (f == NULL || fstat(fileno(f), &st) < 0)
		die(path);
	size = (size_t)st.st_size;
	data = malloc(size + (size == 0));
	if (data == NULL || fread(data, 1, size, f) != size)
		die(path);
	(void)fclose(f);
	(void)fprintf(stderr, "%s\n", path);
	(void)LLVMFuzzerTestOneInput(data, size);
	count++;
}

static int
is_visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void
run_directory(const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, is_visible, alphasort);

	if (n < 0)
		die(path);
	for (int i = 0; i < n; i++) {
		scoped_free char *file = NULL;

		if (asprintf(&file, "%s/%s", path, names[i]->d_name) < 0)
			die(path);
		run_file(file);
		free(names[i]);
	}
	free(names);
}

int
main(int argc, char **argv)
{
	struct stat st;

	for (int i = 1; i < argc; i++) {
		if (stat(argv[i], &st) < 0)
			die(argv[i]);
		if (S_ISDIR(st.st_mode))
			run_directory(argv[i]);
		else
			run_file(argv[i]);
	}
	(void)fprintf(stderr, "%zu inputs\n", count);
	return count > 0 ? 0 : 1;
}
