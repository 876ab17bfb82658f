#include "fuzz/peer.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/world.h"

static const char request[] = "GET " WORLD_PATH " HTTP/1.1\r\n"
			      "Host: 127.0.0.1:1\r\n"
			      "Upgrade: websocket\r\n"
			      "Connection: Upgrade\r\n"
			      "Sec-WebSocket-Key: "
			      "dGhlIHNhbXBsZSBub25jZQ==\r\n"
			      "Sec-WebSocket-Version: 13\r\n\r\n";

/* All of it, or lose the connection. */
static void
give(struct peer *p, struct bytes data)
{
	for (int tries = 0; data.len > 0 && tries < 16; tries++) {
		ssize_t n = send(p->fd, data.data, data.len, MSG_NOSIGNAL);

		if (n > 0) {
			data.data += n;
			data.len -= (size_t)n;
		}
		world_settle();
		if (!p->deaf)
			peer_read(p);
	}
	if (data.len > 0)
		peer_lose(p);
}

void
peer_open(struct peer *p)
{
	*p = (struct peer){.fd = world_connect()};
	buf_init(&p->got, SIZE_MAX / 2);
	buf_init(&p->message, SIZE_MAX / 2);
	give(p, bytes_of(request));
}

void
peer_lose(struct peer *p)
{
	if (p->fd < 0)
		return;
	(void)close(p->fd);
	p->fd = -1;
	buf_done(&p->got);
	buf_done(&p->message);
	world_settle();
}

void
peer_send(struct peer *p, uint8_t opcode, struct bytes text)
{
	scoped_buf frame = {0};
	uint8_t head[14] = {(uint8_t)(0x80 | opcode)};
	size_t extra = text.len < 126 ? 0 : text.len < 65536 ? 2 : 8;

	if (p->fd < 0)
		return;
	head[1] = (uint8_t)(0x80 | (extra == 0	    ? text.len
				       : extra == 2 ? 126
						    : 127));
	for (size_t i = 0; i < extra; i++)
		head[2 + i] = (uint8_t)(text.len >> 8 * (extra - 1 - i));
	/* The masking key is zero. */
	buf_init(&frame, SIZE_MAX / 2);
	assert(buf_put(&frame, head, 2 + extra + 4) == 0);
	assert(buf_put(&frame, text.data, text.len) == 0);
	give(p, fuzz_view(&frame));
}

void
peer_read(struct peer *p)
{
	uint8_t piece[8192];
	ssize_t n;

	while (p->fd >= 0 && (n = recv(p->fd, piece, sizeof piece, 0)) > 0)
		assert(buf_put(&p->got, piece, (size_t)n) == 0);
}

/* The size of the header, 0 if it has not all come. */
static size_t
header(const struct buf *b, size_t *len)
{
	size_t extra;

	if (b->len < 2)
		return 0;
	assert(b->data[1] < 128);
	*len = b->data[1];
	extra = *len == 127 ? 8 : *len == 126 ? 2 : 0;
	if (b->len < 2 + extra)
		return 0;
	if (extra > 0)
		*len = 0;
	for (size_t i = 0; i < extra; i++)
		*len = *len << 8 | b->data[2 + i];
	assert(*len <= RPC_FRAGMENT_MAX);
	return 2 + extra;
}

/* Take one frame. False if none is whole. */
static bool
next_frame(struct peer *p, uint8_t *first)
{
	size_t len = 0, head = header(&p->got, &len);

	if (head == 0 || p->got.len - head < len)
		return false;
	assert(!p->closed);
	*first = p->got.data[0];
	p->closed = (*first & 15) == 8;
	if ((*first & 8) == 0) {
		assert((*first & 15) == (p->message.len == 0 ? 1 : 0));
		assert(buf_put(&p->message, p->got.data + head, len) == 0);
	}
	buf_consume(&p->got, head + len);
	return true;
}

static bool
take_upgrade(struct peer *p)
{
	const uint8_t *end;

	if (p->got.len == 0)
		return false;
	end = memmem(p->got.data, p->got.len, "\r\n\r\n", 4);
	assert(end != NULL && memcmp(p->got.data, "HTTP/1.1 101", 12) == 0);
	buf_consume(&p->got, (size_t)(end + 4 - p->got.data));
	p->upgraded = true;
	return true;
}

json_t *
peer_next(struct peer *p)
{
	json_error_t why;
	json_t *message;
	uint8_t first;

	if (p->fd < 0 || (!p->upgraded && !take_upgrade(p)))
		return NULL;
	while (next_frame(p, &first)) {
		if ((first & 8) || !(first & 0x80))
			continue;
		message = json_loadb((const char *)p->message.data,
		    p->message.len, JSON_ALLOW_NUL, &why);
		assert(json_is_object(message));
		buf_clear(&p->message);
		return message;
	}
	return NULL;
}
