#include "exec/bridge_in.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define SEALS	   (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)
/* No errno of the kernel is larger. */
#define ERRNUM_MAX 4095

void
bridge_in_init(struct bridge_in *in, struct channel *channel, enum role from,
    enum role to, int fd)
{
	*in = (struct bridge_in){.channel = channel,
	    .from = from,
	    .to = to,
	    .fd = fd,
	    .sink = -1};
	buf_init(&in->frame, BRIDGE_HEADER + BRIDGE_FRAME_MAX);
	buf_init(&in->record, CHANNEL_RECORD_MAX);
}

void
bridge_in_done(struct bridge_in *in)
{
	buf_done(&in->frame);
	buf_done(&in->record);
	fd_close(&in->sink);
}

static struct bytes
payload(const struct bridge_in *in)
{
	return (struct bytes){.data = in->frame.data + BRIDGE_HEADER,
	    .len = in->frame.len - BRIDGE_HEADER};
}

/* The type that a record claims to be; MSG_NONE: none that crosses. */
static enum msg_type
type_of(const struct bridge_in *in, struct bytes record)
{
	const struct msg_row *row;
	struct reader r;
	uint32_t type;

	reader_init(&r, record.data, record.len);
	if (!buf_get_u32(&r, &type))
		return MSG_NONE;
	row = msg_row(type);
	if (row == NULL || row->from != in->from || row->to != in->to ||
	    !bridge_crosses((enum msg_type)type))
		return MSG_NONE;
	return (enum msg_type)type;
}

/* Check a message and send it on; fd (taken) is its descriptor, or -1. */
static int
pass(struct bridge_in *in, struct bytes record, int fd, struct err *e)
{
	struct msg m;
	int r = msg_unpack(record, &fd, fd >= 0, in->from, in->to, &m, e);

	if (r < 0)
		return r;
	/* Whatever it was there, here it is a pipe. */
	if (m.type == MSG_FS_FILE)
		m.u.fs_file.streamed = 1;
	r = channel_forward(in->channel, &m);
	return r < 0 ? err_errno(e, -r, "channel") : 0;
}

static int
on_record(struct bridge_in *in, struct err *e)
{
	if (in->body || type_of(in, payload(in)) == MSG_NONE)
		return err_set(e, EPROTO, "a record where none can be");
	return pass(in, payload(in), -1, e);
}

/* A file: its message goes before its bytes. */
static int
open_pipe(struct bridge_in *in, struct err *e)
{
	struct reader r;
	uint32_t type;
	int ends[2];

	reader_init(&r, in->record.data, in->record.len);
	if (!buf_get_u32(&r, &type) || !buf_get_u32(&r, &in->number))
		return err_set(e, EPROTO, "a head without a number");
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_errno(e, errno, "pipe");
	in->sink = ends[1];
	in->piped = true;
	return pass(in,
	    (struct bytes){.data = in->record.data, .len = in->record.len},
	    ends[0], e);
}

static int
on_head(struct bridge_in *in, struct err *e)
{
	struct bytes record = payload(in);
	enum msg_type type = type_of(in, record);
	int r;

	if (in->body || bridge_body_max(type) == 0)
		return err_set(e, EPROTO, "a head where none can be");
	buf_clear(&in->record);
	r = buf_put(&in->record, record.data, record.len);
	if (r < 0)
		return err_errno(e, -r, "record");
	in->body = true;
	in->max = bridge_body_max(type);
	in->len = 0;
	if (type == MSG_FS_FILE)
		return open_pipe(in, e);
	in->piped = false;
	in->sink = memfd_create("body", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return in->sink < 0 ? err_errno(e, errno, "memfd") : 0;
}

/* Write the present part as far as it goes. 1 if it is all gone, 0 if the pipe
 * is full, or a negative errno. */
static int
write_part(struct bridge_in *in)
{
	struct bytes part = payload(in);

	while (in->sink >= 0 && in->part_at < part.len) {
		ssize_t n = write(in->sink, part.data + in->part_at,
		    part.len - in->part_at);

		if (n >= 0)
			in->part_at += (size_t)n;
		else if (errno == EAGAIN && in->piped)
			return 0;
		else if (errno == EPIPE && in->piped)
			fd_close(&in->sink);
		else if (errno != EINTR)
			return -errno;
	}
	in->part_at = 0;
	buf_clear(&in->frame);
	return 1;
}

static int
on_part(struct bridge_in *in, struct err *e)
{
	size_t len = payload(in).len;
	int r;

	if (!in->body || len > in->max - in->len)
		return err_set(e, EPROTO, "a body of more than %llu bytes",
		    (unsigned long long)in->max);
	in->len += len;
	r = write_part(in);
	return r < 0 ? err_errno(e, -r, "body") : 0;
}

/* The bytes of a file are all in the pipe. */
static int
end_pipe(struct bridge_in *in, uint32_t errnum, struct err *e)
{
	struct msg_fs_streamed m = {.number = in->number, .errnum = errnum};
	int r;

	if (in->sink < 0 && errnum == 0)
		m.errnum = EPIPE;
	fd_close(&in->sink);
	r = channel_send_fs_streamed(in->channel, &m, NULL, 0);
	return r < 0 ? err_errno(e, -r, "channel") : 0;
}

static int
on_end(struct bridge_in *in, struct err *e)
{
	struct reader r;
	uint32_t errnum;
	struct bytes end = payload(in);

	reader_init(&r, end.data, end.len);
	if (!in->body || !buf_get_u32(&r, &errnum) ||
	    errnum > (in->piped ? ERRNUM_MAX : 0))
		return err_set(e, EPROTO, "an end where none can be");
	in->body = false;
	if (in->piped)
		return end_pipe(in, errnum, e);
	if (fcntl(in->sink, F_ADD_SEALS, SEALS) < 0)
		return err_errno(e, errno, "seals");
	return pass(in,
	    (struct bytes){.data = in->record.data, .len = in->record.len},
	    fd_take(&in->sink), e);
}

/* A frame is complete. */
static int
handle(struct bridge_in *in, struct err *e)
{
	int r;

	switch (in->frame.data[0]) {
	case BRIDGE_RECORD:
		r = on_record(in, e);
		break;
	case BRIDGE_HEAD:
		r = on_head(in, e);
		break;
	case BRIDGE_END:
		r = on_end(in, e);
		break;
	default:
		return on_part(in, e);
	}
	buf_clear(&in->frame);
	return r;
}

/* Bytes that the present frame has in all, as far as is known. 0 if it cannot
 * be. */
static size_t
frame_len(const struct bridge_in *in)
{
	struct reader r;
	uint32_t len;
	uint8_t kind;

	reader_init(&r, in->frame.data, in->frame.len);
	if (!buf_get_u8(&r, &kind) || !buf_get_u32(&r, &len))
		return BRIDGE_HEADER;
	return bridge_frame_is_valid(kind, len) ? BRIDGE_HEADER + len : 0;
}

int
bridge_in_waits(const struct bridge_in *in)
{
	bool part =
	    in->frame.len > BRIDGE_HEADER && in->frame.len == frame_len(in);

	return part ? in->sink : -1;
}

int
bridge_in_write(struct bridge_in *in, struct err *e)
{
	int r = write_part(in);

	return r < 0 ? err_errno(e, -r, "body") : 1;
}

int
bridge_in_read(struct bridge_in *in, struct err *e)
{
	size_t want = frame_len(in);
	ssize_t n;
	int r = buf_reserve(&in->frame, want - in->frame.len);

	if (r < 0)
		return err_errno(e, -r, "frame");
	n = read(in->fd, in->frame.data + in->frame.len, want - in->frame.len);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			   ? 1
			   : err_errno(e, errno, "stream");
	if (n == 0)
		return 0;
	in->frame.len += (size_t)n;
	want = frame_len(in);
	if (want == 0)
		return err_set(e, EPROTO, "no frame: kind %u",
		    in->frame.data[0]);
	if (in->frame.len < want)
		return 1;
	r = handle(in, e);
	return r < 0 ? r : 1;
}
