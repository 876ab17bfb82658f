/*
 * Reaches framewatch_scan. The input is the size of the pieces that the
 * connection arrives in, then the connection.
 *
 * Asserts that what is passed on is what a plain parser passes that sees all
 * of it at once, that a broken connection stays broken, and that without a
 * broken rule everything is passed on.
 */
#include <string.h>

#include "fuzz/fuzz.h"
#include "net/framewatch.h"

/* The size of the frame header that begins at p: 0 if it breaks a rule, more
 * than len if it is not all there. *payload is what follows it. */
static size_t
frame(const uint8_t *p, size_t len, bool *open, uint64_t *payload)
{
	size_t extra = 0;
	uint64_t n;
	uint8_t op;

	if (len < 2)
		return 2;
	op = p[0] & 15;
	n = p[1] & 127;
	if ((p[0] & 0x70) != 0 || p[1] < 0x80)
		return 0;
	if (op == 8 || op == 9 || op == 10) {
		if (p[0] < 0x80 || n > 125 || (op == 8 && n == 1))
			return 0;
	} else if (op == 0) {
		if (!*open)
			return 0;
	} else if ((op != 1 && op != 2) || *open) {
		return 0;
	}
	extra = n == 126 ? 2 : n == 127 ? 8 : 0;
	if (n == 127 && len > 2 && p[2] >= 0x80)
		return 0;
	if (len < 2 + extra)
		return 2 + extra;
	for (size_t i = 0; i < extra; i++)
		n = (i == 0 ? 0 : n << 8) | p[2 + i];
	if (op < 8)
		*open = p[0] < 0x80;
	*payload = n;
	return 2 + extra + 4;
}

/* How many bytes come before the first header that breaks a rule. */
static size_t
expected(const uint8_t *data, size_t size)
{
	const uint8_t *end = memmem(data, size, "\r\n\r\n", 4);
	size_t at = end == NULL ? size : (size_t)(end - data) + 4;
	bool open = false;

	while (at < size) {
		uint64_t payload = 0;
		size_t header = frame(data + at, size - at, &open, &payload);

		if (header == 0)
			return at;
		if (header >= size - at || payload >= size - at - header)
			return size;
		at += header + (size_t)payload;
	}
	return size;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct framewatch f = {0};
	size_t piece, want, passed = 0;

	if (size < 1 || size > FUZZ_LEN_MAX)
		return 0;
	piece = (size_t)data[0] + 1;
	data++;
	size--;
	want = expected(data, size);
	for (size_t at = 0; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;
		size_t n = framewatch_scan(&f, data + at, len);

		passed += n;
		if (n == len)
			continue;
		assert(f.state == FRAMEWATCH_BROKEN);
		assert(framewatch_scan(&f, data, size) == 0);
		break;
	}
	/* A header that was begun in an earlier piece was passed on. */
	if (f.state == FRAMEWATCH_BROKEN)
		assert(passed >= want && passed < want + 10);
	else
		assert(passed == size && want == size);
	return 0;
}
