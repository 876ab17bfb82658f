#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
err_set(struct err *e, int code, const char *format, ...)
{
	va_list ap;

	if (e == NULL)
		return -code;
	e->code = code;
	va_start(ap, format);
	(void)vsnprintf(e->text, sizeof e->text, format, ap);
	va_end(ap);
	return -code;
}

int
err_errno(struct err *e, int code, const char *format, ...)
{
	const char *words = strerrordesc_np(code);
	va_list ap;
	size_t used;
	int n;

	if (e == NULL)
		return -code;
	e->code = code;
	va_start(ap, format);
	n = vsnprintf(e->text, sizeof e->text, format, ap);
	va_end(ap);
	used = n < 0 ? 0 : (size_t)n;
	if (used < sizeof e->text)
		(void)snprintf(e->text + used, sizeof e->text - used, ": %s",
		    words ? words : "unknown error");
	return -code;
}
