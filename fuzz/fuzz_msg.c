/*
 * Reaches channel_recv, msg_unpack and msg_pack: every message as every role
 * sees it from a hostile peer. The input is the sender, the receiver, how many
 * descriptors come along, their kinds, and the record.
 *
 * Asserts that an accepted message is from and to whom its row says, has as
 * many descriptors as that allows and strings within their bounds, that it
 * packs to the record that it came from (one that came with a blob in a memfd:
 * to one that unpacks to the same) and with a string past its bound not at all,
 * and that no descriptor is left open whatever came.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "privsep/channel.h"

#define FDS_MAX (CHANNEL_FDS_MAX + 2)

/* What does not fit into a record, and not into every blob. */
static struct bytes
far_too_long(void)
{
	static uint8_t bytes[2 * CHANNEL_RECORD_MAX];

	return (struct bytes){.data = bytes, .len = sizeof bytes};
}

/* A descriptor of one of the kinds that may turn up. */
static int
make_fd(uint8_t kind, struct bytes record)
{
	int fd, fds[2];

	switch (kind % 5) {
	case 0:
		return msg_sealed_memfd(kind > 240 ? far_too_long() : record);
	case 1:
		fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		assert(fd >= 0 && write(fd, "abc", 3) == 3);
		return fd;
	case 2:
		return open("/", O_PATH | O_CLOEXEC);
	case 3:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	default:
		assert(pipe2(fds, O_CLOEXEC) == 0);
		(void)close(fds[1]);
		return fds[0];
	}
}

/* Send a record as no honest peer does. */
static void
send_raw(int fd, struct bytes record, const int *fds, size_t count)
{
	union {
		struct cmsghdr align;
		char raw[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)record.data,
	    .iov_len = record.len};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};

	if (count > 0) {
		struct cmsghdr *c;

		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(count * sizeof fds[0]);
		c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof fds[0]);
		memcpy(CMSG_DATA(c), fds, count * sizeof fds[0]);
	}
	assert(sendmsg(fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0);
}

static void
check_bounds(const struct msg *m)
{
	switch (m->type) {
#define U32(n)
#define U64(n)
#define STRING(n, max) assert(b->n.len <= (max));
#define BLOB(n, max)   STRING(n, max)
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME: {                                                     \
		const struct msg_##name *b = &m->u.name;                       \
		(void)b;                                                       \
		fields                                                         \
	} break;
#include "privsep/msg.def"
	case MSG_NONE:
	case MSG_TYPES:
		abort();
	}
}

/* With one string or blob past its bound m does not pack. */
static void
check_refused(struct msg *m)
{
	scoped_buf packed;
	int blob = -1;

	buf_init(&packed, CHANNEL_RECORD_MAX);
	assert(msg_pack(MSG_NONE, NULL, &packed, &blob) == -EINVAL);
	switch (m->type) {
#define U32(n)
#define U64(n)
#define STRING(n, max)                                                         \
	{                                                                      \
		size_t len = b->n.len;                                         \
                                                                               \
		b->n.len = (size_t)(max) + 1;                                  \
		assert(msg_pack(m->type, b, &packed, &blob) == -EMSGSIZE);     \
		assert(packed.len == 0 && blob == -1);                         \
		b->n.len = len;                                                \
	}
#define BLOB(n, max) STRING(n, max)
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME: {                                                     \
		struct msg_##name *b = &m->u.name;                             \
		(void)b;                                                       \
		fields                                                         \
	} break;
#include "privsep/msg.def"
#undef MSG
#undef BLOB
#undef STRING
#undef U64
#undef U32
	case MSG_NONE:
	case MSG_TYPES:
		abort();
	}
}

static void
check_again(const struct msg *m, struct bytes record, enum role from,
    enum role to)
{
	int fds[CHANNEL_FDS_MAX + 1], blob = -1;
	struct err e = {0};
	size_t count = 0;
	scoped_buf packed;
	struct msg got;

	buf_init(&packed, CHANNEL_RECORD_MAX);
	/* All members of the union begin where it does. */
	assert(msg_pack(m->type, &m->u, &packed, &blob) == 0);
	if (m->blob == NULL)
		assert(bytes_equal(fuzz_view(&packed), record));
	if (blob >= 0)
		fds[count++] = blob;
	for (size_t i = 0; i < m->fd_count; i++)
		fds[count++] = dup(m->fds[i]);
	assert(msg_unpack(fuzz_view(&packed), fds, count, from, to, &got, &e) ==
	       0);
	assert(got.type == m->type && got.fd_count == m->fd_count);
	check_bounds(&got);
	check_refused(&got);
	if (got.fd_count > 0) {
		int fd = msg_take_fd(&got, 0);

		assert(fd >= 0 && msg_take_fd(&got, 0) == -1);
		(void)close(fd);
	}
	assert(msg_take_fd(&got, got.fd_count) == -1);
	msg_done(&got);
}

static void
receive(struct channel *c, struct bytes record, enum role from, enum role to)
{
	const struct msg_row *row;
	struct err e = {0};
	struct msg m;
	int r = channel_recv(c, &m, &e);

	assert(r == 1 || r == 0 || r == -EPROTO);
	if (r == -EPROTO)
		assert(e.text[0] != '\0');
	if (r == 0)
		assert(record.len == 0);
	if (r != 1)
		return;
	row = msg_row(m.type);
	assert(row != NULL && row->to == to);
	assert(row->from == from || row->from == ROLE_ANY);
	assert(m.fd_count >= row->fds_min && m.fd_count <= row->fds_max);
	check_bounds(&m);
	check_again(&m, record, from, to);
	msg_done(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before = fuzz_fds_open(), ends[2], fds[FDS_MAX];
	struct channel *c;
	struct bytes record;
	enum role from, to;
	struct reader r;
	size_t count;
	uint8_t kinds;

	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	from = (enum role)(fuzz_u8(&r) % ROLE_ANY);
	to = (enum role)(fuzz_u8(&r) % ROLE_ANY);
	count = fuzz_u8(&r) % (FDS_MAX + 1);
	kinds = fuzz_u8(&r);
	record = fuzz_rest(&r);
	for (size_t i = 0; i < count; i++) {
		fds[i] = make_fd((uint8_t)(kinds + i * (kinds >> 4)), record);
		assert(fds[i] >= 0);
	}
	assert(channel_pair(ends) == 0);
	send_raw(ends[0], record, fds, count);
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
	c = channel_new(ends[1], to, from);
	assert(c != NULL);
	receive(c, record, from, to);
	channel_free(c);
	(void)close(ends[0]);
	assert(fuzz_fds_open() == before);
	return 0;
}

/* --- mutation --------------------------------------------------------------
 */

static int
put_string(struct buf *out, uint64_t *random)
{
	static const char *const texts[] = {"", "/", "/tmp/a", "a",
	    "\x01\0\0\0a"};
	const char *s =
	    texts[fuzz_random(random) % (sizeof texts / sizeof texts[0])];

	return buf_put_cstring(out, s);
}

/* In the record, or in a sealed memfd that comes before other descriptors. */
static int
put_blob(struct buf *out, uint64_t *random)
{
	if (fuzz_random(random) % 2 == 0)
		return put_string(out, random);
	out->data[2]++;
	out->data[3] = 0;
	return buf_put_u32(out, UINT32_MAX);
}

/* A well-formed message of a type by chance, from whom and to whom its row
 * says. */
static int
put_fresh(struct buf *out, uint64_t *random)
{
	uint32_t type = 1 + fuzz_random(random) % (MSG_TYPES - 1);
	const struct msg_row *row = msg_row(type);
	const uint8_t head[] = {(uint8_t)(row->from == ROLE_ANY ? ROLE_NET
								: row->from),
	    (uint8_t)row->to, (uint8_t)row->fds_min,
	    (uint8_t)fuzz_random(random)};
	int r = buf_put(out, head, sizeof head);

	if (r == 0)
		r = buf_put_u32(out, type);
	switch ((enum msg_type)type) {
#define U32(n)                                                                 \
	if (r == 0)                                                            \
		r = buf_put_u32(out, fuzz_random(random) % 8);
#define U64(n)                                                                 \
	if (r == 0)                                                            \
		r = buf_put_u64(out, fuzz_random(random));
#define STRING(n, max)                                                         \
	if (r == 0)                                                            \
		r = put_string(out, random);
#define BLOB(n, max)                                                           \
	if (r == 0)                                                            \
		r = put_blob(out, random);
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME: {                                                     \
		fields                                                         \
	} break;
#include "privsep/msg.def"
	case MSG_NONE:
	case MSG_TYPES:
		break;
	}
	return r;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
    unsigned int seed)
{
	uint64_t random = seed;
	scoped_buf fresh;

	buf_init(&fresh, max_size);
	if (fuzz_random(&random) % 4 != 0)
		return fuzz_mutate(data, size, max_size);
	if (put_fresh(&fresh, &random) < 0)
		return size;
	memcpy(data, fresh.data, fresh.len);
	return fresh.len;
}
