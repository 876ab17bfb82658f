#include "supervisor/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/binary.h"
#include "supervisor/exit.h"

/* sallyport-tool gets the command's name as its first argument. argv[-1] is
 * our own name, so there is room in front. */
int
command_tool(int argc, char **argv)
{
	struct binary tool;
	struct err e;
	char **args = argv - 1;

	(void)argc;
	if (binary_open(&tool, "cli", "sallyport-tool", &e) < 0) {
		(void)fprintf(stderr, "sallyport: %s\n", e.text);
		return EXIT_RUNTIME;
	}
	args[0] = tool.path;
	(void)execv(tool.path, args);
	(void)fprintf(stderr, "sallyport: %s: %s\n", tool.path,
	    strerror(errno));
	binary_close(&tool);
	return EXIT_RUNTIME;
}
