#include "exec/bridge_out.h"

#include <errno.h>

void
bridge_out_init(struct bridge_out *out, struct channel *channel, int fd)
{
	*out = (struct bridge_out){.channel = channel, .fd = fd, .body = -1};
	/* A frame at a time. */
	buf_init(&out->buf, BRIDGE_HEADER + BRIDGE_FRAME_MAX);
}

void
bridge_out_done(struct bridge_out *out)
{
	buf_done(&out->buf);
	fd_close(&out->body);
}

bool
bridge_out_writes(const struct bridge_out *out)
{
	return out->at < out->buf.len;
}

bool
bridge_out_pumps(const struct bridge_out *out)
{
	return !bridge_out_writes(out) && out->body >= 0 && out->piped &&
	       !out->drained;
}

bool
bridge_out_takes(const struct bridge_out *out)
{
	return !bridge_out_writes(out) && (out->body < 0 || out->drained);
}

/* The body is over. */
static int
put_end(struct bridge_out *out, uint32_t errnum)
{
	scoped_buf end = {.max = 4};
	int r = buf_put_u32(&end, errnum);

	fd_close(&out->body);
	out->drained = false;
	return r < 0 ? r
		     : bridge_frame_put(&out->buf, BRIDGE_END,
			   (struct bytes){.data = end.data, .len = end.len});
}

/* Put n bytes of the body, which are in the buffer already behind the room for
 * their header. */
static int
put_part(struct bridge_out *out, size_t n)
{
	int r = bridge_head_put(&out->buf, BRIDGE_PART, (uint32_t)n);

	out->len += n;
	out->buf.len += n;
	return r;
}

/* The next part of a memfd or file: the buffer is empty. */
static int
fill(struct bridge_out *out)
{
	ssize_t n;
	int r = buf_reserve(&out->buf, BRIDGE_HEADER + BRIDGE_FRAME_MAX);

	if (r < 0)
		return r;
	do
		n = pread(out->body, out->buf.data + BRIDGE_HEADER,
		    BRIDGE_FRAME_MAX, (off_t)out->len);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return put_end(out, (uint32_t)errno);
	if ((uint64_t)n > out->max - out->len)
		return put_end(out, EFBIG);
	return n == 0 ? put_end(out, 0) : put_part(out, (size_t)n);
}

/* The descriptor in m becomes a body, or its blob does, in blob_fd. */
static void
take_body(struct bridge_out *out, struct msg *m, int blob_fd)
{
	out->body = blob_fd >= 0 ? blob_fd : msg_take_fd(m, 0);
	out->piped = m->type == MSG_FS_FILE && m->u.fs_file.streamed == 1;
	out->number = m->type == MSG_FS_FILE ? m->u.fs_file.number : 0;
	out->max = bridge_body_max(m->type);
	out->len = 0;
}

/* How the pipe ended. */
static int
on_streamed(struct bridge_out *out, const struct msg_fs_streamed *m,
    struct err *e)
{
	if (!out->drained || m->number != out->number)
		return err_set(e, EPROTO, "FS_STREAMED where none can be");
	return put_end(out, m->errnum);
}

static int
put_message(struct bridge_out *out, struct msg *m, struct err *e)
{
	scoped_buf record = {.max = CHANNEL_RECORD_MAX};
	scoped_fd blob = -1;
	bool body;
	int r;

	if (m->type == MSG_FS_STREAMED)
		return on_streamed(out, &m->u.fs_streamed, e);
	if (out->drained || !bridge_crosses(m->type))
		return err_set(e, EPROTO, "%s where none can be",
		    msg_row((uint32_t)m->type)->name);
	r = msg_pack(m->type, &m->u, &record, &blob);
	if (r < 0)
		return err_errno(e, -r, "record");
	body = blob >= 0 || m->fd_count > 0;
	if (body)
		take_body(out, m, fd_take(&blob));
	r = bridge_frame_put(&out->buf, body ? BRIDGE_HEAD : BRIDGE_RECORD,
	    (struct bytes){.data = record.data, .len = record.len});
	return r < 0 ? err_errno(e, -r, "frame") : 0;
}

int
bridge_out_take(struct bridge_out *out, struct err *e)
{
	struct msg m;
	int r = channel_recv(out->channel, &m, e);

	if (r == -EAGAIN)
		return 1;
	if (r <= 0)
		return r;
	r = put_message(out, &m, e);
	msg_done(&m);
	return r < 0 ? r : 1;
}

int
bridge_out_write(struct bridge_out *out, struct err *e)
{
	ssize_t n =
	    write(out->fd, out->buf.data + out->at, out->buf.len - out->at);
	int r = 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			   ? 1
			   : err_errno(e, errno, "stream");
	out->at += (size_t)n;
	if (out->at < out->buf.len)
		return 1;
	out->at = 0;
	buf_clear(&out->buf);
	if (out->body >= 0 && !out->piped)
		r = fill(out);
	return r < 0 ? err_errno(e, -r, "body") : 1;
}

int
bridge_out_pump(struct bridge_out *out, struct err *e)
{
	ssize_t n;
	int r = buf_reserve(&out->buf, BRIDGE_HEADER + BRIDGE_FRAME_MAX);

	if (r < 0)
		return err_errno(e, -r, "pipe");
	n = read(out->body, out->buf.data + BRIDGE_HEADER, BRIDGE_FRAME_MAX);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR
			   ? 1
			   : err_errno(e, errno, "pipe");
	if ((uint64_t)n > out->max - out->len)
		return err_set(e, EPROTO, "a pipe of more than %llu bytes",
		    (unsigned long long)out->max);
	out->drained = n == 0;
	r = n > 0 ? put_part(out, (size_t)n) : 0;
	return r < 0 ? err_errno(e, -r, "pipe") : 1;
}
