/*
 * One line an event, "event key=value ...", on descriptor 2. A line is built
 * in memory and written with one write(2): a locked role has no stdio. In a
 * role descriptor 2 is a pipe to the supervisor, which puts the role's name
 * in front, so that the origin of a line cannot be forged.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stddef.h>

#define LOG_LINE_MAX 1024 /* bytes of a line, its newline included */

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Lines above level are dropped. The default is LOG_INFO. */
void log_set_level(enum log_level level);

/*
 * A line longer than LOG_LINE_MAX is cut. Control bytes, in particular
 * newlines, of the formatted text are replaced by '?'. errno is preserved.
 */
void log_line(enum log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The first bytes of text[0..len) as they may stand in the quotes of a value,
 * whoever wrote them: each that is not printable ASCII, and each quote and
 * backslash, is '?'. size, the final NUL's byte included, is at least 1.
 */
void log_quotable(const void *text, size_t len, char *out, size_t size);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
