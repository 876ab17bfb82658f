#include "supervisor/jsontext.h"

#include "base/utf8.h"

/* One character of a JSON string: s holds left bytes, at least one. Returns
 * how many were used. */
static size_t
put_char(struct buf *out, const uint8_t *s, size_t left, int *r)
{
	size_t len = utf8_sequence(s, left);

	if (len == 0) {
		*r = buf_put(out, "\\ufffd", 6);
		return 1;
	}
	if (*s == '"' || *s == '\\')
		*r = buf_printf(out, "\\%c", *s);
	else if (*s < 0x20 || *s == 0x7f)
		*r = buf_printf(out, "\\u%04x", (unsigned int)*s);
	else
		*r = buf_put(out, s, len);
	return len;
}

int
jsontext_put(struct buf *out, struct bytes v)
{
	int r = buf_put_u8(out, '"');

	for (size_t i = 0; i < v.len && r == 0;)
		i += put_char(out, v.data + i, v.len - i, &r);
	return r < 0 ? r : buf_put_u8(out, '"');
}
