/* The commands of sallyport-tool. argv[0] is the command's own name. Each
 * returns the exit status. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

int command_attach(int argc, char **argv);
int command_exec(int argc, char **argv);
/* A policy on standard input becomes JSON, or JSON a policy. */
int command_policy_export(int argc, char **argv);
int command_policy_import(int argc, char **argv);

#endif
