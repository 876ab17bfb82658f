#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/subcommand.h"
#include "supervisor/command.h"
#include "supervisor/policy_command.h"

static const struct subcommand commands[] = {
    {"check", policy_check, NULL},
    {"show", policy_show, NULL},
    {"explain", policy_explain, NULL},
    {"diff", policy_diff, NULL},
    {"export", policy_export, NULL},
    {"import", policy_import, NULL},
    {"test", policy_test, NULL},
    {"report", policy_report, NULL},
};

static const char usage[] =
    "usage: sallyport policy check FILE...\n"
    "       sallyport policy show [--json] [OPTION OF serve]...\n"
    "       sallyport policy explain [OPTION OF serve]... PROFILE PATH\n"
    "                                PROFILE|PROCESS|FILE syscall NAME "
    "[argN=VALUE]...\n"
    "                                PROFILE env NAME | net HOST:PORT\n"
    "       sallyport policy test [OPTION OF serve]... PROFILE -- COMMAND "
    "[ARGUMENT]...\n"
    "       sallyport policy diff A B\n"
    "       sallyport policy export --text|--oci PROCESS\n"
    "       sallyport policy import --oci FILE\n"
    "       sallyport policy report [OPTION OF serve]... [--date] [--no-host] "
    "FILE.html\n"
    "\n"
    "A file whose name ends in .policy is one of system calls, any other a\n"
    "configuration. PROFILE is a preset, a profile of the configuration, or\n"
    "'current' for what the configuration says. PROCESS is supervisor, net,\n"
    "exec, worker, http, init or child.\n"
    "\n"
    "exit codes: 0 nothing is wrong, or it is allowed, or B allows no more\n"
    "than A; 1 the opposite; 2 the question could not be answered. test: that\n"
    "of COMMAND, as of sallyport exec; 125 if it could not be run\n";

int
command_policy(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct subcommand *command = subcommand_find(commands,
	    sizeof commands / sizeof commands[0], name);

	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		(void)fputs(usage, stdout);
		return POLICY_YES;
	}
	if (command != NULL)
		return command->run(argc - 1, argv + 1);
	(void)fputs(usage, stderr);
	return POLICY_ERROR;
}

/* --- shared --------------------------------------------------------------- */

bool
policy_is_text(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot != NULL && strcmp(dot, ".policy") == 0;
}

const char *
policy_action_name(struct syscall_action a)
{
	switch (a.kind) {
	case SYSCALL_ALLOW:
		return "allow";
	case SYSCALL_KILL:
		return "kill";
	case SYSCALL_ERRNO:
		return syscall_errno_name(a.errnum);
	}
	return "?";
}

int
policy_real_workspaces(struct config *c, struct err *e)
{
	int r = 0;

	if (c->workspaces.count == 0)
		r = list_add(&c->workspaces, ".", WORKSPACES_MAX);
	for (size_t i = 0; i < c->workspaces.count && r == 0; i++) {
		char *real = realpath(c->workspaces.items[i], NULL);

		if (real == NULL && c->workspaces.items[i][0] == '/')
			continue;
		if (real == NULL)
			return err_errno(e, errno, "workspace %.100s",
			    c->workspaces.items[i]);
		free(c->workspaces.items[i]);
		c->workspaces.items[i] = real;
	}
	return r < 0 ? err_errno(e, -r, "workspaces") : 0;
}
