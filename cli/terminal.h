/* The user's own terminal while a command with a terminal runs. */
#ifndef CLI_TERMINAL_H
#define CLI_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

#include "base/cleanup.h"
#include "base/err.h"

struct terminal {
	int fd;		      /* borrowed; -1: nothing to restore */
	struct termios saved; /* as it was found */
};

#define TERMINAL_NONE                                                          \
	{                                                                      \
		.fd = -1                                                       \
	}

/*
 * Pass every key on as it is: no echo, no line editing, no signals. The
 * settings found are kept in t. Without a terminal on fd this does nothing.
 * Returns 0 or a negative errno with a message.
 */
must_use int terminal_raw(struct terminal *t, int fd, struct err *e);
/* Be raw again, after the shell that stopped this process changed it. */
void terminal_resume(const struct terminal *t);
/* Give the settings found back; harmless when there is nothing to restore. */
void terminal_restore(struct terminal *t);

#define scoped_terminal                                                        \
	__attribute__((cleanup(terminal_restore))) struct terminal

/* The size in characters of the terminal on fd. False if there is none. */
must_use bool terminal_size(int fd, unsigned int *rows, unsigned int *cols);

#endif
