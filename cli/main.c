/* sallyport-tool: the commands of sallyport that are clients of a server. */
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/attach_keeper.h"
#include "cli/command.h"

#define EXIT_USAGE 2

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* NULL: started by another command alone */
};

static const struct command commands[] = {
    {"attach", command_attach, "register a server with a Codex app-server"},
    {"attach-keeper", command_attach_keeper, NULL},
    {"exec", command_exec, "run one command through a server"},
    {"policy-export", command_policy_export, "a policy as seccomp JSON"},
    {"policy-import", command_policy_import, "seccomp JSON as a policy"},
};

static void
print_help(FILE *to)
{
	(void)fputs("Usage: sallyport-tool COMMAND [OPTION]...\n\n", to);
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (commands[i].help != NULL)
			(void)fprintf(to, "  %-8s %s\n", commands[i].name,
			    commands[i].help);
	(void)fputs("\nEach command explains itself with --help.\n", to);
}

/* Otherwise a socket could become descriptor 0, 1 or 2, and be written to. */
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
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	print_help(stderr);
	return EXIT_USAGE;
}
