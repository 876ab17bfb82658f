/*
 * An error for a person: an errno code and a fixed-size message. No
 * allocation, so it can be filled anywhere except after clone.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

#define ERR_TEXT_MAX 192 /* bytes, the final NUL included */

struct err {
	int code; /* errno, positive; 0 while unset */
	char text[ERR_TEXT_MAX];
};

/*
 * Fill e (which may be NULL) and return -code, so that refusing is one line.
 * A message longer than ERR_TEXT_MAX - 1 bytes is cut.
 */
int err_set(struct err *e, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with ": " and the text of code appended. */
int err_errno(struct err *e, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
