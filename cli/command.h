/* The commands of sallyport-tool. argv[0] is the command's own name. Each
 * returns the exit status. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

int command_exec(int argc, char **argv);

#endif
