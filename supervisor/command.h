/* The commands of sallyport. Each takes its own name as argv[0] and returns
 * the exit code: exit.h. */
#ifndef SUPERVISOR_COMMAND_H
#define SUPERVISOR_COMMAND_H

/* serve: the server itself. */
int command_serve(int argc, char **argv);

/* doctor: what the host gives the sandbox. Exit codes: host_report.h. */
int command_doctor(int argc, char **argv);

/* audit: whether audit files are whole. */
int command_audit(int argc, char **argv);

/* policy: for those who audit what may be done. */
int command_policy(int argc, char **argv);

/* exec, attach: clients of a server. Becomes sallyport-tool. */
int command_tool(int argc, char **argv);

#endif
