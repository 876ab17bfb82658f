/* sallyport-tool: the commands of sallyport that are clients of a server. */
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/subcommand.h"
#include "cli/attach_keeper.h"
#include "cli/command.h"

#define EXIT_USAGE 2

static const struct subcommand commands[] = {
    {"attach", command_attach, "register a server with a Codex app-server"},
    {"attach-keeper", command_attach_keeper, NULL},
    {"exec", command_exec, "run one command through a server"},
    {"policy-export", command_policy_export, "a policy as seccomp JSON"},
    {"policy-import", command_policy_import, "seccomp JSON as a policy"},
};

#define COUNT (sizeof commands / sizeof commands[0])

static void
print_help(FILE *to)
{
	(void)fputs("Usage: sallyport-tool COMMAND [OPTION]...\n\n", to);
	subcommand_list(commands, COUNT, to);
	(void)fputs("\nEach command explains itself with --help.\n", to);
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct subcommand *command =
	    subcommand_find(commands, COUNT, name);

	if (subcommand_open_standard() < 0)
		return EXIT_USAGE;
	(void)signal(SIGPIPE, SIG_IGN);
	json_set_alloc_funcs(alloc_or_end, free);
	if (strcmp(name, "--version") == 0) {
		(void)puts("sallyport-tool " SALLYPORT_VERSION);
		return 0;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		print_help(stdout);
		return 0;
	}
	if (command != NULL)
		return command->run(argc - 1, argv + 1);
	print_help(stderr);
	return EXIT_USAGE;
}
