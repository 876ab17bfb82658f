/*
 * Reaches ws.c, connection.c, socket_watch.c and recv.c, with the real
 * libwebsockets: the bytes of a connection, from the handshake on, cut into
 * pieces anywhere. The input is a byte of flags (1: openclaw; 2: the handshake
 * was made; 4: time passes between pieces; 8: the client ends its half at the
 * end), one that the sizes of the pieces come from, and the bytes.
 *
 * Asserts that what is sent is an HTTP response or frames of RFC 6455,
 * unmasked and whole; that a close frame is the last of them and has a code
 * that may be sent; and, by world_end, that the connection is freed and
 * nothing of it is left on a budget.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/world.h"

static const char handshake[] = "GET " WORLD_PATH " HTTP/1.1\r\n"
				"Host: 127.0.0.1:1\r\n"
				"Upgrade: websocket\r\n"
				"Connection: Upgrade\r\n"
				"Sec-WebSocket-Key: "
				"dGhlIHNhbXBsZSBub25jZQ==\r\n"
				"Sec-WebSocket-Version: 13\r\n\r\n";

static void
take(int fd, struct buf *got)
{
	uint8_t piece[8192];
	ssize_t n;

	while ((n = recv(fd, piece, sizeof piece, 0)) > 0)
		assert(buf_put(got, piece, (size_t)n) == 0);
}

static void
give(int fd, struct bytes data, struct buf *got)
{
	/* A peer that is gone or does not read gets no more. */
	(void)send(fd, data.data, data.len, MSG_NOSIGNAL);
	world_settle();
	take(fd, got);
}

static void
give_pieces(int fd, struct reader *r, uint8_t flags, uint64_t random,
    struct buf *got)
{
	while (r->left > 0) {
		size_t len = 1 + fuzz_random(&random) % 64;

		if (random & 1)
			len *= 64;
		give(fd, fuzz_bytes(r, len), got);
		if (flags & 4)
			world_sleep(5000);
	}
}

/* One frame. True if it was a close frame. */
static bool
check_frame(struct reader *r)
{
	uint8_t first = fuzz_u8(r), len7 = fuzz_u8(r), opcode = first & 15;
	struct bytes body;
	size_t len = len7;
	int more = len7 == 127 ? 8 : len7 == 126 ? 2 : 0;

	assert((first & 0x70) == 0 && len7 < 128);
	assert(opcode <= 1 || opcode == 8 || opcode == 9 || opcode == 10);
	assert(opcode < 8 || (len7 < 126 && first & 0x80));
	for (len = more > 0 ? 0 : len; more > 0; more--)
		len = len << 8 | fuzz_u8(r);
	assert(len <= RPC_FRAGMENT_MAX && len <= r->left);
	body = fuzz_bytes(r, len);
	if (opcode != 8)
		return false;
	assert(body.len != 1);
	if (body.len > 0) {
		unsigned int code = body.data[0] * 256u + body.data[1];

		assert(code < 5000 && (code < 1015 || code >= 3000));
		assert(code >= 1000 && (code < 1004 || code > 1006));
	}
	return true;
}

static void
check_sent(const struct buf *got)
{
	static const char upgraded[] = "HTTP/1.1 101 ";
	const uint8_t *end;
	struct reader r;
	bool closed = false;

	if (got->len == 0)
		return;
	assert(got->len > 12 && memcmp(got->data, "HTTP/1.", 7) == 0);
	if (memcmp(got->data, upgraded, sizeof upgraded - 1) != 0)
		return;
	end = memmem(got->data, got->len, "\r\n\r\n", 4);
	assert(end != NULL);
	reader_init(&r, end + 4, got->len - (size_t)(end + 4 - got->data));
	while (r.left > 0) {
		assert(!closed);
		closed = check_frame(&r);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r;
	uint8_t flags;
	uint64_t random;
	scoped_buf got;
	int fd;

	buf_init(&got, SIZE_MAX / 2);
	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	flags = fuzz_u8(&r);
	random = fuzz_u8(&r);
	(void)world_begin(flags & 1 ? COMPAT_OPENCLAW : COMPAT_CODEX);
	fd = world_connect();
	if (flags & 2)
		give(fd, bytes_of(handshake), &got);
	give_pieces(fd, &r, flags, random, &got);
	if (flags & 8) {
		(void)shutdown(fd, SHUT_WR);
		world_settle();
		take(fd, &got);
	}
	check_sent(&got);
	(void)close(fd);
	world_end();
	return 0;
}
