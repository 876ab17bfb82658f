#include "privsep/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS	      (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* In the place of a blob's length: the bytes are in a memfd. */
#define BLOB_IN_MEMFD UINT32_MAX

static const struct msg_row rows[MSG_TYPES] = {
#define MSG(NAME, n, f, t, lo, hi, fields)                                     \
	[MSG_##NAME] = {.name = #NAME,                                         \
	    .from = ROLE_##f,                                                  \
	    .to = ROLE_##t,                                                    \
	    .fds_min = lo,                                                     \
	    .fds_max = hi},
#include "privsep/msg.def"
};

const struct msg_row *
msg_row(uint32_t type)
{
	return type > MSG_NONE && type < MSG_TYPES ? &rows[type] : NULL;
}

static int
put_bounded(struct buf *record, struct bytes s, size_t max)
{
	if (s.len > max)
		return -EMSGSIZE;
	return buf_put_string(record, s.data, s.len);
}

int
msg_sealed_memfd(struct bytes s)
{
	scoped_fd fd = -1;
	size_t done = 0;

	fd = memfd_create("blob", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	while (done < s.len) {
		ssize_t n = write(fd, s.data + done, s.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	return fd_take(&fd);
}

static int
put_blob(struct buf *record, struct bytes s, size_t max, int *blob_fd)
{
	int r;

	if (s.len > max)
		return -EMSGSIZE;
	if (s.len <= CHANNEL_INLINE_MAX)
		return buf_put_string(record, s.data, s.len);
	r = buf_put_u32(record, BLOB_IN_MEMFD);
	if (r < 0)
		return r;
	r = msg_sealed_memfd(s);
	if (r < 0)
		return r;
	*blob_fd = r;
	return 0;
}

int
msg_pack(enum msg_type type, const void *body, struct buf *record, int *blob_fd)
{
	size_t start = record->len;
	int r, fd = -1;

	*blob_fd = -1;
	r = buf_put_u32(record, (uint32_t)type);
	if (r < 0)
		return r;
	switch (type) {
#define U32(n)                                                                 \
	if (r == 0)                                                            \
		r = buf_put_u32(record, m->n);
#define U64(n)                                                                 \
	if (r == 0)                                                            \
		r = buf_put_u64(record, m->n);
#define STRING(n, max)                                                         \
	if (r == 0)                                                            \
		r = put_bounded(record, m->n, max);
#define BLOB(n, max)                                                           \
	if (r == 0)                                                            \
		r = put_blob(record, m->n, max, &fd);
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME: {                                                     \
		const struct msg_##name *m = body;                             \
		fields                                                         \
	} break;
#include "privsep/msg.def"
	case MSG_NONE:
	case MSG_TYPES:
		r = -EINVAL;
		break;
	}
	if (r < 0) {
		fd_close(&fd);
		record->len = start;
		return r;
	}
	*blob_fd = fd;
	return 0;
}

static void
close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
}

/* Copy a sealed memfd of at most max bytes to the heap. */
static int
read_blob(int fd, size_t max, uint8_t **out, size_t *len, struct err *e)
{
	scoped_free uint8_t *data = NULL;
	size_t done = 0, size;
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS)
		return err_set(e, EPROTO, "blob: not a sealed memfd");
	if (fstat(fd, &st) < 0)
		return err_errno(e, EPROTO, "blob: fstat");
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return err_set(e, EPROTO, "blob: %lld bytes, at most %zu",
		    (long long)st.st_size, max);
	size = (size_t)st.st_size;
	data = malloc(size + 1);
	if (data == NULL)
		return err_set(e, ENOMEM, "blob: out of memory");
	while (done < size) {
		ssize_t n = pread(fd, data + done, size - done, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, EPROTO, "blob: short read");
		done += (size_t)n;
	}
	*out = data;
	*len = size;
	data = NULL;
	return 0;
}

/*
 * A blob in place, or the sign that it is in the first descriptor, which is
 * then read, closed and removed from m's list.
 */
static int
get_blob(struct reader *r, struct msg *m, struct bytes *out, size_t max,
    struct err *e)
{
	struct reader peek = *r;
	uint32_t len;
	int fd, rc;

	if (!buf_get_u32(&peek, &len))
		return err_set(e, EPROTO, "record is too short");
	if (len != BLOB_IN_MEMFD) {
		if (max > CHANNEL_INLINE_MAX)
			max = CHANNEL_INLINE_MAX;
		return buf_get_string(r, out, max)
			   ? 0
			   : err_set(e, EPROTO,
				 "blob passes the record or its bound");
	}
	*r = peek;
	if (m->fd_count == 0)
		return err_set(e, EPROTO, "blob: descriptor missing");
	fd = m->fds[0];
	m->fd_count--;
	memmove(m->fds, m->fds + 1, m->fd_count * sizeof m->fds[0]);
	rc = read_blob(fd, max, &m->blob, &out->len, e);
	(void)close(fd);
	out->data = m->blob;
	return rc;
}

static int
unpack_fields(struct reader *r, struct msg *m, struct err *e)
{
	int rc = 0;

	switch (m->type) {
#define U32(n)                                                                 \
	if (rc == 0 && !buf_get_u32(r, &b->n))                                 \
		rc = err_set(e, EPROTO, "field " #n " is missing");
#define U64(n)                                                                 \
	if (rc == 0 && !buf_get_u64(r, &b->n))                                 \
		rc = err_set(e, EPROTO, "field " #n " is missing");
#define STRING(n, max)                                                         \
	if (rc == 0 && !buf_get_string(r, &b->n, max))                         \
		rc = err_set(e, EPROTO, "field " #n " is missing or too long");
#define BLOB(n, max)                                                           \
	if (rc == 0)                                                           \
		rc = get_blob(r, m, &b->n, max, e);
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME: {                                                     \
		struct msg_##name *b = &m->u.name;                             \
		fields                                                         \
	} break;
#include "privsep/msg.def"
	case MSG_NONE:
	case MSG_TYPES:
		rc = err_set(e, EPROTO, "no such message");
		break;
	}
	return rc;
}

static int
check_row(uint32_t type, enum role from, enum role to, struct err *e)
{
	const struct msg_row *row = msg_row(type);

	if (row == NULL)
		return err_set(e, EPROTO, "message type %u is unknown", type);
	if ((row->from != from && row->from != ROLE_ANY) || row->to != to)
		return err_set(e, EPROTO, "%s is not for %s to send to %s",
		    row->name, role_name(from), role_name(to));
	return 0;
}

int
msg_unpack(struct bytes record, const int *fds, size_t count, enum role from,
    enum role to, struct msg *m, struct err *e)
{
	struct msg got = {.fd_count = count};
	struct reader r;
	uint32_t type;
	int rc;

	if (count > CHANNEL_FDS_MAX) {
		close_all(fds, count);
		return err_set(e, EPROTO, "%zu descriptors", count);
	}
	if (count > 0)
		memcpy(got.fds, fds, count * sizeof fds[0]);
	reader_init(&r, record.data, record.len);
	if (!buf_get_u32(&r, &type))
		rc = err_set(e, EPROTO, "record of %zu bytes", record.len);
	else
		rc = check_row(type, from, to, e);
	if (rc == 0) {
		got.type = (enum msg_type)type;
		rc = unpack_fields(&r, &got, e);
	}
	if (rc == 0 && !buf_get_end(&r))
		rc = err_set(e, EPROTO, "%s: %zu bytes too many",
		    rows[type].name, r.left);
	if (rc == 0 && (got.fd_count < rows[type].fds_min ||
			   got.fd_count > rows[type].fds_max))
		rc = err_set(e, EPROTO, "%s: %zu descriptors", rows[type].name,
		    got.fd_count);
	if (rc < 0) {
		msg_done(&got);
		return rc;
	}
	*m = got;
	return 0;
}

int
msg_take_fd(struct msg *m, size_t i)
{
	return i < m->fd_count ? fd_take(&m->fds[i]) : -1;
}

void
msg_done(struct msg *m)
{
	close_all(m->fds, m->fd_count);
	m->fd_count = 0;
	free(m->blob);
	m->blob = NULL;
}
