#include "supervisor/report_html.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"

void
html_init(struct html *h, size_t max)
{
	*h = (struct html){0};
	buf_init(&h->out, max);
}

void
html_done(struct html *h)
{
	buf_done(&h->out);
}

static void
note(struct html *h, int r)
{
	if (r < 0 && h->result == 0)
		h->result = r;
}

void
html_raw(struct html *h, struct bytes markup)
{
	if (h->result == 0)
		note(h, buf_put(&h->out, markup.data, markup.len));
}

/* --- text ----------------------------------------------------------------- */

static const char *
reference(uint8_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* The code point of a valid sequence. */
static uint32_t
code_point(const uint8_t *s, size_t len)
{
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = s[0] & masks[len];

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (s[i] & 0x3f);
	return c;
}

/*
 * Control characters, and what changes how other characters look without being
 * seen: a path could pass for another one by them.
 */
static bool
is_unseen(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
	    {0x00, 0x1f},	/* C0 */
	    {0x7f, 0xa0},	/* DEL, C1, the blank that does not break */
	    {0xad, 0xad},	/* soft hyphen */
	    {0x61c, 0x61c},	/* Arabic letter mark */
	    {0x2000, 0x200f},	/* blanks, joiners, marks of direction */
	    {0x2028, 0x202f},	/* separators, embedding, override */
	    {0x205f, 0x206f},	/* invisible operators, isolates */
	    {0x3000, 0x3000},	/* ideographic blank */
	    {0xfe00, 0xfe0f},	/* variation selectors */
	    {0xfeff, 0xfeff},	/* byte order mark */
	    {0xfff9, 0xffff},	/* interlinear marks, no characters */
	    {0xe0000, 0xe0fff}, /* tags */
	};

	for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

static int
put_character(struct buf *out, const uint8_t *s, size_t len)
{
	const char *instead = reference(s[0]);

	if (instead != NULL)
		return buf_put(out, instead, strlen(instead));
	if (len == 0)
		return buf_printf(out, "&lt;byte %02X&gt;", s[0]);
	if (is_unseen(code_point(s, len)))
		return buf_printf(out, "&lt;U+%04X&gt;", code_point(s, len));
	return buf_put(out, s, len);
}

void
html_text(struct html *h, struct bytes text)
{
	for (size_t i = 0; i < text.len && h->result == 0;) {
		size_t len = utf8_sequence(text.data + i, text.len - i);

		note(h, put_character(&h->out, text.data + i, len));
		i += len > 0 ? len : 1;
	}
}

void
html_word(struct html *h, const char *name)
{
	while (*name != '\0') {
		size_t len = strcspn(name, "_.");

		len += name[len] != '\0';
		html_text(h,
		    (struct bytes){.data = (const uint8_t *)name, .len = len});
		name += len;
		if (*name != '\0')
			html_raw(h, bytes_of("<wbr>"));
	}
}

/* --- markup --------------------------------------------------------------- */

static const char *
put_argument(struct html *h, const char *at, va_list *args)
{
	switch (*at) {
	case 's':
		html_text(h, bytes_of(va_arg(*args, const char *)));
		return at + 1;
	case 'u':
		note(h, buf_printf(&h->out, "%u", va_arg(*args, unsigned)));
		return at + 1;
	case 'd':
		note(h, buf_printf(&h->out, "%d", va_arg(*args, int)));
		return at + 1;
	case 'z':
		assert(at[1] == 'u');
		note(h, buf_printf(&h->out, "%zu", va_arg(*args, size_t)));
		return at + 2;
	default:
		assert(*at == '%');
		html_raw(h, bytes_of("%"));
		return at + 1;
	}
}

void
html_put(struct html *h, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	while (*format != '\0' && h->result == 0) {
		size_t len = strcspn(format, "%");

		html_raw(h, (struct bytes){.data = (const uint8_t *)format,
				.len = len});
		format += len;
		if (*format == '%')
			format = put_argument(h, format + 1, &args);
	}
	va_end(args);
}
