/* Exit codes of sallyport serve; told by --help and the manual. */
#ifndef SUPERVISOR_EXIT_H
#define SUPERVISOR_EXIT_H

enum exit_code {
	EXIT_OK = 0,	   /* stopped by a signal */
	EXIT_RUNTIME = 1,  /* the system refused something: port, memory */
	EXIT_USAGE = 2,	   /* command line, configuration or workspace */
	EXIT_LOCKDOWN = 3, /* a process did not reach its lock-down */
	EXIT_CRASHES = 4,  /* processes crashed too often */
};

#endif
