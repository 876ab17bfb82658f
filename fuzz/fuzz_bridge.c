/*
 * Reaches bridge_turn and what it calls: a bridge between a channel and two
 * streams. In one half of the inputs the streams are a hostile worker's: the
 * input is what it says, or its first line. In the other half two bridges are
 * joined by their streams, and the input is a course of messages that an honest
 * net and an honest worker send each other through them.
 *
 * Asserts of a hostile stream that net gets nothing but messages that its row
 * allows, of a file a pipe and after that one FS_STREAMED, and nothing of what
 * a bridge alone says; of two bridges that each message arrives as it was sent,
 * in its order, with the bytes of its descriptor; of both that every course
 * comes to its end, and no descriptor is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/bridge.h"
#include "fuzz/fuzz.h"

#define TURNS_MAX    4096
#define MESSAGES_MAX 24
#define BYTES_MAX    200000u

/* A bridge, and what stands at its ends. */
struct rig {
	struct bridge bridge;
	struct channel *far;
	int in, out, feed, drain;
	int note, words; /* what is said beside the streams */
	int file;	 /* the pipe of the file that is coming; -1: none is */
	bool in_file;
	uint32_t file_number;
	size_t got; /* of the file */
};

static void
pipe_of(int *reader, int *writer)
{
	int ends[2];

	assert(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	*reader = ends[0];
	*writer = ends[1];
}

static void
rig_open(struct rig *g, enum role self)
{
	int ends[2];

	*g = (struct rig){.file = -1};
	assert(channel_pair(ends) == 0);
	pipe_of(&g->in, &g->feed);
	pipe_of(&g->drain, &g->out);
	pipe_of(&g->note, &g->words);
	g->far = channel_new(ends[1], self == ROLE_NET ? ROLE_WORKER : ROLE_NET,
	    self);
	assert(g->far != NULL);
	assert(
	    bridge_init(&g->bridge, &(struct bridge_ends){.channel_fd = ends[0],
					.self = self,
					.in = g->in,
					.out = g->out,
					.note = g->note}) == 0);
}

static void
rig_close(struct rig *g)
{
	int fds[] = {g->in, g->out, g->feed, g->drain, g->file, g->note,
	    g->words};

	bridge_done(&g->bridge);
	channel_free(g->far);
	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		fd_close(&fds[i]);
}

/* --- a hostile stream ------------------------------------------------------
 */

static void
take_file(struct rig *g, struct msg *m)
{
	struct stat st;
	int fd = msg_take_fd(m, 0);

	assert(!g->in_file && m->u.fs_file.streamed == 1);
	assert(fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode));
	assert((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY);
	g->in_file = true;
	g->file_number = m->u.fs_file.number;
	g->file = fd;
}

static void
take_streamed(struct rig *g, const struct msg_fs_streamed *m)
{
	assert(g->in_file && m->number == g->file_number && m->errnum < 4096);
	g->in_file = false;
	fd_close(&g->file);
}

/* What net would see. patient: it reads the files that come. */
static void
hear(struct rig *g, bool patient)
{
	uint8_t bytes[8192];
	struct err e = {0};
	struct msg m;

	while (channel_recv(g->far, &m, &e) == 1) {
		assert(m.type != MSG_FS_LOST);
		if (m.type == MSG_FS_FILE)
			take_file(g, &m);
		else if (m.type == MSG_FS_STREAMED)
			take_streamed(g, &m.u.fs_streamed);
		else if (m.type == MSG_FS_WRITE_FILE && m.fd_count > 0)
			assert(fcntl(m.fds[0], F_GET_SEALS) == 15);
		msg_done(&m);
	}
	if (g->file >= 0 && !patient)
		fd_close(&g->file);
	while (g->file >= 0 && read(g->file, bytes, sizeof bytes) > 0)
		;
}

/* Types, so that an input that is a byte long names one of a worker's. */
static uint32_t
any_type(struct reader *r)
{
	uint8_t choice = fuzz_u8(r);

	return choice > 250 ? choice : MSG_FS_READ_FILE + choice % 32u;
}

static int
put_record(struct reader *r, struct buf *out)
{
	int rc = buf_put_u32(out, any_type(r));
	struct bytes rest = fuzz_bytes(r, fuzz_u8(r));

	return rc < 0 ? rc : buf_put(out, rest.data, rest.len);
}

/* A frame with the right length, mostly, of the kind that a byte says. */
static void
put_frame(struct reader *r, struct buf *out)
{
	static const uint8_t zeros[BRIDGE_FRAME_MAX];
	scoped_buf payload = {.max = BRIDGE_FRAME_MAX};
	uint8_t kind = fuzz_u8(r);
	int rc = 0;

	switch (kind % 8) {
	case BRIDGE_RECORD:
	case BRIDGE_HEAD:
		rc = put_record(r, &payload);
		break;
	case BRIDGE_PART:
		rc = buf_put(&payload, zeros, 1u + fuzz_u8(r) * 257u);
		break;
	case BRIDGE_END:
		rc = buf_put_u32(&payload, fuzz_u8(r) * (kind / 8 % 32u));
		break;
	default:
		rc = buf_put_u32(&payload, fuzz_u32(r));
		break;
	}
	assert(rc == 0);
	rc = bridge_head_put(out, (enum bridge_kind)(kind % 8),
	    kind == 255 ? fuzz_u32(r) : (uint32_t)payload.len);
	if (rc == 0)
		rc = buf_put(out, payload.data, payload.len);
	assert(rc == 0 || rc == -EMSGSIZE);
}

static void
hostile(struct reader *r, uint8_t how)
{
	scoped_buf said = {.max = BYTES_MAX};
	enum bridge_result result = BRIDGE_GOES_ON;
	struct err e = {0};
	struct rig g;
	size_t at = 0;

	rig_open(&g, how & 2 ? ROLE_NET : ROLE_WORKER);
	if (how & 16) {
		struct bytes words = fuzz_until(r, '\n');

		assert(write(g.words, words.data, words.len) ==
		       (ssize_t)words.len);
		fd_close(&g.words);
	}
	if (how & 4) {
		struct bytes rest = fuzz_rest(r);

		assert(buf_put(&said, rest.data, rest.len) == 0);
	}
	while (r->left > 0 && said.len < said.max - 2 * BRIDGE_FRAME_MAX)
		put_frame(r, &said);
	for (int i = 0; result == BRIDGE_GOES_ON; i++) {
		ssize_t n;

		assert(i < TURNS_MAX);
		n = at < said.len ? write(g.feed, said.data + at, said.len - at)
				  : 0;
		at += n > 0 ? (size_t)n : 0;
		if (at == said.len)
			fd_close(&g.feed);
		result = bridge_turn(&g.bridge, 0, &e);
		hear(&g, (how & 8) == 0);
	}
	assert(result == BRIDGE_STREAM_ENDED || result == BRIDGE_BROKEN);
	rig_close(&g);
}

/* What a program says first, in the place of the line or as a change of it. */
static void
greeting(struct reader *r)
{
	char ours[BRIDGE_HELLO_LEN], said[BRIDGE_HELLO_LEN];
	uint8_t at = fuzz_u8(r);
	struct bytes other = fuzz_bytes(r, sizeof said);
	struct bytes view = {.data = (const uint8_t *)said};
	enum bridge_hello what;

	assert(bridge_hello(ours) == 0);
	memcpy(said, ours, sizeof said);
	view.len = sizeof said;
	if (at < sizeof said && other.len > 0)
		said[at] = (char)other.data[0];
	else if (at >= 128)
		view = other;
	what = bridge_hello_judge(view, ours);
	assert((what == BRIDGE_OURS) ==
	       (view.len == sizeof ours &&
		   memcmp(view.data, ours, sizeof ours) == 0));
	assert(what == BRIDGE_STRANGE || bridge_hello_begins(view));
}

/* --- two bridges -----------------------------------------------------------
 */

/* What was sent and has not arrived. */
struct sent {
	struct buf record;
	size_t body; /* bytes of the descriptor; SIZE_MAX: there is none */
};

struct course {
	struct rig here, there;
	struct sent queue[2][MESSAGES_MAX]; /* to the worker, and to net */
	size_t first[2], count[2];
	uint32_t number;
	size_t body;
};

static void
fill_bytes(uint8_t *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(i * 31 + i / 256);
}

static struct bytes
some_bytes(size_t len)
{
	static uint8_t bytes[BYTES_MAX];

	if (bytes[1] == 0)
		fill_bytes(bytes, sizeof bytes);
	return (struct bytes){.data = bytes,
	    .len = len < sizeof bytes ? len : sizeof bytes};
}

/* Note a message as it is to arrive, and send it. */
static void
send(struct course *c, enum msg_type type, const void *m, int fd)
{
	bool to_net = msg_row((uint32_t)type)->to == ROLE_NET;
	struct channel *channel = to_net ? c->there.far : c->here.far;
	struct sent *s = &c->queue[to_net][c->count[to_net]++];
	struct msg copy = {.type = type, .fd_count = fd >= 0};
	int blob;

	buf_init(&s->record, CHANNEL_RECORD_MAX);
	s->body = fd >= 0 ? c->body : SIZE_MAX;
	assert(msg_pack(type, m, &s->record, &blob) == 0);
	fd_close(&blob);
	switch (type) {
#define U32(n)
#define U64(n)
#define STRING(n, max)
#define BLOB(n, max)
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME:                                                       \
		copy.u.name = *(const struct msg_##name *)m;                   \
		break;
#include "privsep/msg.def"
	case MSG_NONE:
	case MSG_TYPES:
		break;
	}
	copy.fds[0] = fd;
	assert(channel_forward(channel, &copy) == 0);
}

/* Send something of what the two have to say. */
static void
say(struct course *c, struct reader *r)
{
	uint8_t which = fuzz_u8(r);
	uint32_t number = ++c->number;
	struct bytes data;
	bool piped = which & 128;
	int fd;

	c->body = fuzz_u8(r) * (which & 64 ? 700u : 3u);
	data = some_bytes(c->body);
	switch (which % 8) {
	case 0:
		send(c, MSG_FS_READ_BLOCK,
		    &(struct msg_fs_read_block){.number = number,
			.offset = fuzz_u32(r)},
		    -1);
		break;
	case 1:
		fd = msg_sealed_memfd(data);
		assert(fd >= 0);
		send(c, MSG_FS_WRITE_FILE,
		    &(struct msg_fs_write_file){.number = number,
			.path = bytes_of("/f")},
		    fd);
		break;
	case 2:
		send(c, MSG_FS_WRITE_BLOCK,
		    &(struct msg_fs_write_block){.number = number,
			.data = data},
		    -1);
		break;
	case 3:
		send(c, MSG_FS_LISTING,
		    &(struct msg_fs_listing){.number = number, .entries = data},
		    -1);
		break;
	case 4:
		send(c, MSG_FS_FAILED,
		    &(struct msg_fs_failed){.number = number, .errnum = which},
		    -1);
		break;
	case 5:
		send(c, MSG_FS_BLOCK,
		    &(struct msg_fs_block){.number = number, .data = data}, -1);
		break;
	default:
		fd = msg_sealed_memfd(data);
		assert(fd >= 0);
		if (piped && c->body > 0 && c->body < 60000) {
			int ends[2];

			assert(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
			assert(write(ends[1], data.data, data.len) ==
			       (ssize_t)data.len);
			(void)close(ends[1]);
			(void)close(fd);
			fd = ends[0];
		} else {
			piped = false;
		}
		send(c, MSG_FS_FILE,
		    &(struct msg_fs_file){.number = number,
			.size = c->body,
			.streamed = piped},
		    fd);
		if (piped)
			assert(channel_send_fs_streamed(c->there.far,
				   &(struct msg_fs_streamed){.number = number},
				   NULL, 0) == 0);
		break;
	}
}

/* The bytes of a file are the ones that were sent. */
static void
read_file(struct rig *g)
{
	uint8_t bytes[8192];
	ssize_t n;

	while (g->file >= 0 && (n = read(g->file, bytes, sizeof bytes)) > 0) {
		assert(memcmp(bytes, some_bytes(BYTES_MAX).data + g->got,
			   (size_t)n) == 0);
		g->got += (size_t)n;
	}
}

static void
check_message(struct course *c, struct rig *g, struct msg *m)
{
	bool to_net = g == &c->here;
	struct sent *s;
	struct stat st;
	scoped_buf record = {.max = CHANNEL_RECORD_MAX};
	int blob;

	if (m->type == MSG_FS_STREAMED) {
		read_file(g);
		assert(g->got == c->queue[1][c->first[1] - 1].body);
		assert(m->u.fs_streamed.errnum == 0);
		take_streamed(g, &m->u.fs_streamed);
		return;
	}
	assert(c->first[to_net] < c->count[to_net]);
	s = &c->queue[to_net][c->first[to_net]++];
	assert((m->fd_count > 0) == (s->body != SIZE_MAX));
	if (m->type == MSG_FS_FILE) {
		take_file(g, m);
		g->got = 0;
		return;
	}
	assert(msg_pack(m->type, &m->u, &record, &blob) == 0);
	fd_close(&blob);
	assert(bytes_equal(fuzz_view(&record), fuzz_view(&s->record)));
	if (m->fd_count > 0)
		assert(fstat(m->fds[0], &st) == 0 &&
		       (size_t)st.st_size == s->body);
}

static void
listen(struct course *c, struct rig *g)
{
	struct err e = {0};
	struct msg m;

	read_file(g);
	while (channel_recv(g->far, &m, &e) == 1) {
		check_message(c, g, &m);
		msg_done(&m);
	}
}

/* What one bridge has written is the other's to read. */
static void
carry(struct rig *from, struct rig *to)
{
	ssize_t n = splice(from->drain, NULL, to->feed, NULL, BRIDGE_FRAME_MAX,
	    SPLICE_F_NONBLOCK);

	assert(n > 0 || errno == EAGAIN);
}

static bool
is_quiet(const struct course *c)
{
	return c->first[0] == c->count[0] && c->first[1] == c->count[1] &&
	       !c->here.in_file;
}

static void
honest(struct reader *r)
{
	static struct course c;
	struct err e = {0};
	int turns = 0;

	memset(&c, 0, sizeof c);
	rig_open(&c.here, ROLE_WORKER);
	rig_open(&c.there, ROLE_NET);
	for (int i = 0; i < MESSAGES_MAX && r->left > 0; i++)
		say(&c, r);
	while (!is_quiet(&c)) {
		assert(turns++ < TURNS_MAX);
		assert(bridge_turn(&c.here.bridge, 0, &e) == BRIDGE_GOES_ON);
		assert(bridge_turn(&c.there.bridge, 0, &e) == BRIDGE_GOES_ON);
		carry(&c.here, &c.there);
		carry(&c.there, &c.here);
		listen(&c, &c.here);
		listen(&c, &c.there);
	}
	for (size_t way = 0; way < 2; way++)
		for (size_t i = 0; i < c.count[way]; i++)
			buf_done(&c.queue[way][i].record);
	rig_close(&c.here);
	rig_close(&c.there);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r;
	uint8_t how;
	int before;

	if (size > FUZZ_LEN_MAX)
		return 0;
	(void)signal(SIGPIPE, SIG_IGN);
	before = fuzz_fds_open();
	reader_init(&r, data, size);
	how = fuzz_u8(&r);
	if (how & 32)
		greeting(&r);
	else if (how & 1)
		honest(&r);
	else
		hostile(&r, how);
	assert(fuzz_fds_open() == before);
	return 0;
}
