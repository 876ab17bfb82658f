#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/command.h"
#include "supervisor/exit.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
    {"serve", command_serve, "run the server"},
    {"doctor", command_doctor, "tell what this host gives the sandbox"},
    {"policy", command_policy, "check, show, explain and compare policies"},
    {"audit", command_audit, "check the chain of audit files"},
    {"exec", command_tool, "run one command through a server"},
    {"attach", command_tool, "register a server with a Codex app-server"},
};

static void
usage(FILE *out)
{
	(void)fputs("usage: sallyport COMMAND [OPTION]...\n\n", out);
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		(void)fprintf(out, "  %-8s %s\n", commands[i].name,
		    commands[i].help);
	(void)fputs("\nsallyport COMMAND --help tells more, "
		    "sallyport --version what it is built of.\n",
	    out);
}

static void
version(void)
{
	(void)printf("sallyport " SALLYPORT_VERSION "\n"
		     "features: exec openclaw-compat\n"
		     "libraries: " SALLYPORT_LIBRARIES "\n");
#ifdef SANITIZED
	(void)puts("sanitizers: not for production");
#endif
}

/* Otherwise what is opened next would become standard output, and get the
 * URL. */
static int
open_standard_fds(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
			return -1;
	return 0;
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	if (open_standard_fds() < 0)
		return EXIT_RUNTIME;
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		usage(stdout);
		return EXIT_OK;
	}
	if (strcmp(name, "--version") == 0) {
		version();
		return EXIT_OK;
	}
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (strcmp(commands[i].name, name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	if (name[0] != '\0')
		(void)fprintf(stderr, "sallyport: there is no command %s\n",
		    name);
	usage(stderr);
	return EXIT_USAGE;
}
