#include "net/framewatch.h"

enum {
	BIT_FIN = 0x80,
	BITS_RSV = 0x70,
	BITS_OPCODE = 0x0f,
	BIT_CONTROL = 0x08,
	BIT_MASK = 0x80,
	BITS_LEN = 0x7f,
	LEN_16 = 126, /* two more bytes of length follow */
	LEN_64 = 127, /* eight more */
	MASK_LEN = 4,
	CONTROL_MAX = 125,
};

enum opcode {
	OP_CONTINUATION = 0,
	OP_TEXT = 1,
	OP_BINARY = 2,
	OP_CLOSE = 8,
	OP_PONG = 10,
};

/* Follow the request up to its empty line. Returns the bytes consumed. */
static size_t
scan_handshake(struct framewatch *f, const uint8_t *data, size_t len)
{
	static const char end[] = "\r\n\r\n";

	for (size_t i = 0; i < len; i++) {
		if (data[i] == (uint8_t)end[f->crlf])
			f->crlf++;
		else
			f->crlf = data[i] == '\r' ? 1 : 0;
		if (f->crlf == sizeof end - 1) {
			f->state = FRAMEWATCH_HEADER;
			return i + 1;
		}
	}
	return len;
}

/* The first two bytes are there: may such a frame come now? */
static bool
allowed(const struct framewatch *f)
{
	uint8_t first = f->header[0], second = f->header[1];
	uint8_t op = first & BITS_OPCODE, len = second & BITS_LEN;

	if ((first & BITS_RSV) != 0 || (second & BIT_MASK) == 0)
		return false;
	if (op > OP_PONG || (op > OP_BINARY && op < BIT_CONTROL))
		return false;
	/* Half a code: the library would send it back. */
	if (op == OP_CLOSE && len == 1)
		return false;
	if (op & BIT_CONTROL)
		return (first & BIT_FIN) && len <= CONTROL_MAX;
	return f->fragmented == (op == OP_CONTINUATION);
}

static uint8_t
header_size(uint8_t second)
{
	switch (second & BITS_LEN) {
	case LEN_16:
		return 4;
	case LEN_64:
		return 10;
	default:
		return 2;
	}
}

static void
header_complete(struct framewatch *f)
{
	uint64_t len = f->header[1] & BITS_LEN;

	if (len >= LEN_16) {
		len = 0;
		for (uint8_t i = 2; i < f->header_len; i++)
			len = len << 8 | f->header[i];
	}
	if ((f->header[0] & BITS_OPCODE) == OP_CLOSE)
		f->close_began = true;
	if (!(f->header[0] & BIT_CONTROL))
		f->fragmented = !(f->header[0] & BIT_FIN);
	f->payload_left = len;
	f->mask_left = MASK_LEN;
	f->header_len = 0;
	f->state = FRAMEWATCH_PAYLOAD;
}

/* Take one byte of a header. False if it shows that the frame is forbidden. */
static bool
scan_header(struct framewatch *f, uint8_t byte)
{
	f->header[f->header_len++] = byte;
	if (f->header_len < 2)
		return true;
	if (f->header_len == 2 && !allowed(f))
		return false;
	/* The most significant bit of a 64-bit length must be 0: 5.2. */
	if (f->header_len == 3 && (f->header[1] & BITS_LEN) == LEN_64 &&
	    (byte & 0x80))
		return false;
	if (f->header_len == header_size(f->header[1]))
		header_complete(f);
	return true;
}

static size_t
scan_payload(struct framewatch *f, size_t len)
{
	size_t used = f->mask_left < len ? f->mask_left : len;
	size_t rest = len - used;

	f->mask_left = (uint8_t)(f->mask_left - used);
	if (f->mask_left > 0)
		return used;
	if (rest > f->payload_left)
		rest = (size_t)f->payload_left;
	f->payload_left -= rest;
	if (f->payload_left == 0)
		f->state = FRAMEWATCH_HEADER;
	return used + rest;
}

bool
framewatch_closed(const struct framewatch *f)
{
	return f->close_began && f->state == FRAMEWATCH_HEADER;
}

size_t
framewatch_scan(struct framewatch *f, const uint8_t *data, size_t len)
{
	/* Where the header that is being read began; one that began in an
	 * earlier call was passed on already. */
	size_t at = 0, header_start = 0;

	while (at < len) {
		switch ((enum framewatch_state)f->state) {
		case FRAMEWATCH_HANDSHAKE:
			at += scan_handshake(f, data + at, len - at);
			break;
		case FRAMEWATCH_HEADER:
			if (f->header_len == 0)
				header_start = at;
			if (!scan_header(f, data[at])) {
				f->state = FRAMEWATCH_BROKEN;
				return header_start;
			}
			at++;
			break;
		case FRAMEWATCH_PAYLOAD:
			at += scan_payload(f, len - at);
			break;
		case FRAMEWATCH_BROKEN:
			return 0;
		}
	}
	return len;
}
