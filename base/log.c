#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static enum log_level level_max = LOG_INFO;

static const char *const level_names[] = {
    [LOG_ERROR] = "error",
    [LOG_WARN] = "warn",
    [LOG_INFO] = "info",
    [LOG_DEBUG] = "debug",
};

void
log_set_level(enum log_level level)
{
	level_max = level;
}

void
log_line(enum log_level level, const char *format, ...)
{
	char line[LOG_LINE_MAX];
	size_t len, room;
	va_list ap;
	int n, saved = errno;

	if (level > level_max)
		return;
	n = snprintf(line, sizeof line, "%s ", level_names[level]);
	len = (size_t)n;
	room = sizeof line - len;
	va_start(ap, format);
	n = vsnprintf(line + len, room, format, ap);
	va_end(ap);
	len += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	while (write(STDERR_FILENO, line, len) < 0 && errno == EINTR)
		;
	errno = saved;
}

static bool
is_quotable(uint8_t c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

void
log_quotable(const void *text, size_t len, char *out, size_t size)
{
	const uint8_t *from = text;

	if (len > size - 1)
		len = size - 1;
	for (size_t i = 0; i < len; i++)
		out[i] = is_quotable(from[i]) ? (char)from[i] : '?';
	out[len] = '\0';
}
