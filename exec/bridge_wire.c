#include "exec/bridge_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

#define NAME	  "sallyport-worker "
/* Bytes of the table as text. */
#define TABLE_MAX 16384

/* A line for each message between the two, with bounds as numbers. */
static int
put_table(struct buf *out)
{
	int r = 0;

#define U32(n)                                                                 \
	if (r == 0)                                                            \
		r = buf_printf(out, " u32 " #n);
#define U64(n)                                                                 \
	if (r == 0)                                                            \
		r = buf_printf(out, " u64 " #n);
#define STRING(n, max)                                                         \
	if (r == 0)                                                            \
		r = buf_printf(out, " string " #n " %llu",                     \
		    (unsigned long long)(max));
#define BLOB(n, max)                                                           \
	if (r == 0)                                                            \
		r = buf_printf(out, " blob " #n " %llu",                       \
		    (unsigned long long)(max));
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	if (r == 0 &&                                                          \
	    (ROLE_##from == ROLE_WORKER || ROLE_##to == ROLE_WORKER)) {        \
		r = buf_printf(out, "\n%d %s " #from " " #lo " " #hi,          \
		    (int)MSG_##NAME, #name);                                   \
		fields                                                         \
	}
#include "privsep/msg.def"
	return r;
}

int
bridge_hello(char out[BRIDGE_HELLO_LEN])
{
	scoped_buf table = {.max = TABLE_MAX};
	char digest[SHA256_HEX_SIZE], line[BRIDGE_HELLO_LEN + 1];
	int n;

	if (put_table(&table) < 0)
		return -ENOMEM;
	sha256_hex((struct bytes){.data = table.data, .len = table.len},
	    digest);
	n = snprintf(line, sizeof line, NAME "%d %s\n", BRIDGE_VERSION, digest);
	assert(n == BRIDGE_HELLO_LEN);
	memcpy(out, line, BRIDGE_HELLO_LEN);
	return 0;
}

enum bridge_hello
bridge_hello_judge(struct bytes said, const char ours[BRIDGE_HELLO_LEN])
{
	size_t name = sizeof NAME - 1;

	if (said.len == BRIDGE_HELLO_LEN &&
	    memcmp(said.data, ours, BRIDGE_HELLO_LEN) == 0)
		return BRIDGE_OURS;
	if (said.len >= name && memcmp(said.data, NAME, name) == 0)
		return BRIDGE_OTHER_BUILD;
	return BRIDGE_STRANGE;
}

bool
bridge_hello_begins(struct bytes said)
{
	size_t name = sizeof NAME - 1;

	return memcmp(said.data, NAME, said.len < name ? said.len : name) == 0;
}

bool
bridge_frame_is_valid(uint8_t kind, uint32_t len)
{
	switch (kind) {
	case BRIDGE_RECORD:
	case BRIDGE_HEAD:
		return len >= sizeof(uint32_t) && len <= CHANNEL_RECORD_MAX;
	case BRIDGE_PART:
		return len >= 1 && len <= BRIDGE_FRAME_MAX;
	case BRIDGE_END:
		return len == sizeof(uint32_t);
	default:
		return false;
	}
}

int
bridge_head_put(struct buf *out, enum bridge_kind kind, uint32_t len)
{
	int r = buf_put_u8(out, (uint8_t)kind);

	return r < 0 ? r : buf_put_u32(out, len);
}

int
bridge_frame_put(struct buf *out, enum bridge_kind kind, struct bytes payload)
{
	size_t start = out->len;
	int r = bridge_head_put(out, kind, (uint32_t)payload.len);

	if (r == 0)
		r = buf_put(out, payload.data, payload.len);
	if (r < 0)
		out->len = start;
	return r;
}

uint64_t
bridge_body_max(enum msg_type type)
{
	switch ((int)type) {
	case MSG_FS_WRITE_FILE:
		return RPC_MESSAGE_MAX;
	case MSG_FS_FILE:
		return FS_READ_MAX;
	case MSG_FS_LISTING:
		return FS_LISTING_MAX;
	case MSG_FS_BLOCK:
	case MSG_FS_WRITE_BLOCK:
		return FS_BLOCK_MAX;
	default:
		return 0;
	}
}

bool
bridge_crosses(enum msg_type type)
{
	return type != MSG_FS_LOST && type != MSG_FS_STREAMED;
}
