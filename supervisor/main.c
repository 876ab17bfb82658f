#include <stdio.h>
#include <string.h>

#include "supervisor/command.h"
#include "supervisor/exit.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
    {"serve", command_serve, "run the server"},
    {"exec", command_tool, "run one command through a server"},
};

static void
usage(FILE *out)
{
	(void)fputs("usage: sallyport COMMAND [OPTION]...\n\n", out);
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		(void)fprintf(out, "  %-8s %s\n", commands[i].name,
		    commands[i].help);
	(void)
	    fputs("\nsallyport COMMAND --help tells more, sallyport --version "
		  "what it is built of.\n",
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

#ifdef SANITIZED
/* Looking for leaks at the end takes ptrace, which a confined process does not
 * have; unit tests look for them. NOLINTNEXTLINE(bugprone-reserved-identifier)
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

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
