#include <stdio.h>
#include <string.h>

#include "base/subcommand.h"
#include "supervisor/command.h"
#include "supervisor/exit.h"

static const struct subcommand commands[] = {
    {"serve", command_serve, "run the server"},
    {"doctor", command_doctor, "tell what this host gives the sandbox"},
    {"policy", command_policy, "check, show, explain and compare policies"},
    {"audit", command_audit, "check the chain of audit files"},
    {"exec", command_tool, "run one command through a server"},
    {"attach", command_tool, "register a server with a Codex app-server"},
};

#define COUNT (sizeof commands / sizeof commands[0])

static void
usage(FILE *out)
{
	(void)fputs("usage: sallyport COMMAND [OPTION]...\n\n", out);
	subcommand_list(commands, COUNT, out);
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

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct subcommand *command =
	    subcommand_find(commands, COUNT, name);

	/* Or the URL could go where nobody meant it to. */
	if (subcommand_open_standard() < 0)
		return EXIT_RUNTIME;
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		usage(stdout);
		return EXIT_OK;
	}
	if (strcmp(name, "--version") == 0) {
		version();
		return EXIT_OK;
	}
	if (command != NULL)
		return command->run(argc - 1, argv + 1);
	if (name[0] != '\0')
		(void)fprintf(stderr, "sallyport: there is no command %s\n",
		    name);
	usage(stderr);
	return EXIT_USAGE;
}
