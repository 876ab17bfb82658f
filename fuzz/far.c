#include "fuzz/far.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "privsep/pack.h"

#define SESSIONS_MAX 64
#define LEASES_MAX   64
#define ASKED_MAX    64
#define HELPERS_MAX  16

struct lease {
	uint32_t session;
	int in, out, err; /* the program's ends, -1: closed */
	bool exited, gone;
};

/* What exec was asked for and has not answered. */
struct asked {
	enum msg_type type;
	uint32_t number, session;
	bool tty, pipe_stdin;
};

struct helper {
	struct channel *channel; /* NULL: none */
	enum role role;
	enum msg_type last; /* what it was asked for last */
	uint32_t number, handle;
};

static struct {
	uint8_t session[SESSIONS_MAX]; /* 1: open, 2: closed */
	struct lease leases[LEASES_MAX];
	uint32_t lease_count;
	struct asked asked[ASKED_MAX];
	size_t asked_count;
	struct helper helpers[HELPERS_MAX];
} far;

void
far_begin(void)
{
	memset(&far, 0, sizeof far);
}

static void
lease_close(struct lease *l)
{
	fd_close(&l->in);
	fd_close(&l->out);
	fd_close(&l->err);
}

static void
helper_close(struct helper *h)
{
	channel_free(h->channel);
	h->channel = NULL;
}

void
far_end(void)
{
	for (uint32_t i = 0; i < far.lease_count; i++)
		lease_close(&far.leases[i]);
	for (size_t i = 0; i < HELPERS_MAX; i++)
		helper_close(&far.helpers[i]);
}

/* --- what net sends -------------------------------------------------------
 */

static void
check_open(uint32_t session)
{
	assert(session < SESSIONS_MAX && far.session[session] == 1);
}

/* A lease that never was is net's fault; one that has ended is none. */
static void
check_lease(uint32_t session, uint32_t lease)
{
	check_open(session);
	assert(lease > 0 && lease <= far.lease_count);
	assert(far.leases[lease - 1].session == session);
}

static void
ask(enum msg_type type, uint32_t number, uint32_t session)
{
	check_open(session);
	assert(far.asked_count < ASKED_MAX);
	far.asked[far.asked_count++] =
	    (struct asked){.type = type, .number = number, .session = session};
}

static void
take_start(const struct msg_process_start *m)
{
	struct asked *a = &far.asked[far.asked_count];
	struct err e = {0};
	struct spec spec;

	ask(MSG_PROCESS_START, m->number, m->session);
	/* Net's own checks are exec's. */
	assert(spec_unpack(m->spec, &spec, &e) == 0);
	a->tty = spec.tty;
	a->pipe_stdin = spec.pipe_stdin;
}

static void
close_session(uint32_t session)
{
	check_open(session);
	far.session[session] = 2;
	for (uint32_t i = 0; i < far.lease_count; i++)
		if (far.leases[i].session == session)
			lease_close(&far.leases[i]);
}

static void
take(const struct msg *m)
{
	switch ((int)m->type) {
	case MSG_SESSION_OPEN:
		assert(m->u.session_open.session < SESSIONS_MAX);
		assert(far.session[m->u.session_open.session] == 0);
		far.session[m->u.session_open.session] = 1;
		return;
	case MSG_SESSION_CLOSE:
		close_session(m->u.session_close.session);
		return;
	case MSG_PROCESS_START:
		take_start(&m->u.process_start);
		return;
	case MSG_PROCESS_SIGNAL:
		check_lease(m->u.process_signal.session,
		    m->u.process_signal.lease);
		return;
	case MSG_PROCESS_TERMINATE:
		check_lease(m->u.process_terminate.session,
		    m->u.process_terminate.lease);
		return;
	case MSG_PROCESS_CANCEL:
		check_open(m->u.process_cancel.session);
		return;
	case MSG_PROCESS_RESIZE:
		check_lease(m->u.process_resize.session,
		    m->u.process_resize.lease);
		assert(m->u.process_resize.rows > 0 &&
		       m->u.process_resize.rows <= TTY_SIZE_MAX);
		return;
	case MSG_WORKER_OPEN:
		ask(m->type, m->u.worker_open.number, m->u.worker_open.session);
		return;
	case MSG_HTTP_OPEN:
		ask(m->type, m->u.http_open.number, m->u.http_open.session);
		return;
	case MSG_WORKER_KILL:
		check_open(m->u.worker_kill.session);
		return;
	case MSG_HTTP_KILL:
		check_open(m->u.http_kill.session);
		return;
	default:
		abort();
	}
}

static void
take_of_helper(struct helper *h)
{
	struct err e = {0};
	struct msg m;
	int r = 1;

	while (h->channel != NULL && r > 0) {
		r = channel_recv(h->channel, &m, &e);
		if (r == 1) {
			h->last = m.type;
			/* Each but FS_UNWATCH begins with it. */
			h->number = m.u.fs_close.number;
			if (m.type == MSG_FS_OPEN)
				h->handle = m.u.fs_open.handle;
			if (m.type == MSG_FS_WATCH)
				h->handle = m.u.fs_watch.watch;
			msg_done(&m);
		} else if (r == 0) {
			helper_close(h);
		} else {
			assert(r == -EAGAIN || r == -ECONNRESET);
		}
	}
}

void
far_take(void)
{
	struct err e = {0};
	struct msg m;
	int r;

	while (world_exec() != NULL &&
	       (r = channel_recv(world_exec(), &m, &e)) != -EAGAIN) {
		assert(r == 1);
		take(&m);
		msg_done(&m);
	}
	for (size_t i = 0; i < HELPERS_MAX; i++)
		take_of_helper(&far.helpers[i]);
}

/* --- exec ------------------------------------------------------------------
 */

/* The other end, which net gets, is returned. */
static int
stream(int *ours, bool writes)
{
	int fds[2];

	assert(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
	*ours = fds[writes ? 1 : 0];
	return fds[writes ? 0 : 1];
}

static void
start(const struct asked *a)
{
	struct lease *l = &far.leases[far.lease_count];
	struct msg_process_started m = {.number = a->number,
	    .lease = ++far.lease_count,
	    .tty = a->tty,
	    .has_stdin = a->tty || a->pipe_stdin};
	int fds[3], pair[2];
	size_t count = 0;

	*l = (struct lease){.session = a->session,
	    .in = -1,
	    .out = -1,
	    .err = -1};
	if (a->tty) {
		assert(socketpair(AF_UNIX,
			   SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			   pair) == 0);
		l->out = pair[0];
		fds[count++] = pair[1];
		fds[count++] = dup(pair[1]);
	} else {
		if (a->pipe_stdin)
			fds[count++] = stream(&l->in, false);
		fds[count++] = stream(&l->out, true);
		fds[count++] = stream(&l->err, true);
	}
	assert(channel_send_process_started(world_exec(), &m, fds, count) == 0);
	/* Its session was closed meanwhile: it is killed. */
	if (far.session[a->session] != 1)
		lease_close(l);
}

static void
open_helper(const struct asked *a)
{
	struct msg_worker_opened worker = {.number = a->number,
	    .lease = ++far.lease_count};
	struct msg_http_opened http = {.number = a->number};
	bool is_http = a->type == MSG_HTTP_OPEN;
	struct helper *h = far.helpers;
	int ends[2];

	far.leases[worker.lease - 1] = (struct lease){.session = a->session,
	    .in = -1,
	    .out = -1,
	    .err = -1};
	while (h->channel != NULL)
		assert(++h < far.helpers + HELPERS_MAX);
	assert(channel_pair(ends) == 0);
	*h = (struct helper){.role = is_http ? ROLE_HTTP : ROLE_WORKER};
	h->channel = channel_new(ends[0], h->role, ROLE_NET);
	assert(h->channel != NULL);
	if (is_http)
		assert(channel_send_http_opened(world_exec(), &http, &ends[1],
			   1) == 0);
	else
		assert(channel_send_worker_opened(world_exec(), &worker,
			   &ends[1], 1) == 0);
}

static void
refuse(const struct asked *a, struct reader *r)
{
	struct msg_process_refused process = {.number = a->number,
	    .reason = fuzz_u8(r) % 8,
	    .feature = fuzz_u8(r) % 32,
	    .errnum = fuzz_u8(r),
	    .text = fuzz_bytes(r, 8)};
	struct msg_process_failed failed = {.number = a->number,
	    .stage = process.feature,
	    .errnum = process.errnum};
	struct msg_worker_refused worker = {.number = a->number,
	    .reason = process.reason,
	    .stage = process.feature,
	    .errnum = process.errnum,
	    .text = process.text};
	struct msg_http_refused http = {.number = a->number,
	    .reason = process.reason,
	    .text = process.text};
	int sent;

	if (a->type == MSG_WORKER_OPEN)
		sent =
		    channel_send_worker_refused(world_exec(), &worker, NULL, 0);
	else if (a->type == MSG_HTTP_OPEN)
		sent = channel_send_http_refused(world_exec(), &http, NULL, 0);
	else if (process.reason & 1)
		sent =
		    channel_send_process_failed(world_exec(), &failed, NULL, 0);
	else
		sent = channel_send_process_refused(world_exec(), &process,
		    NULL, 0);
	assert(sent == 0);
}

/* Answer one of what was asked. */
static void
answer(struct reader *r)
{
	uint8_t how = fuzz_u8(r);
	struct asked a;
	size_t i;

	if (far.asked_count == 0 || far.lease_count == LEASES_MAX)
		return;
	i = how / 4 % far.asked_count;
	a = far.asked[i];
	far.asked[i] = far.asked[--far.asked_count];
	if (how % 4 == 3)
		refuse(&a, r);
	else if (a.type == MSG_PROCESS_START)
		start(&a);
	else
		open_helper(&a);
}

static void
put_output(struct lease *l, uint8_t what)
{
	static const uint8_t zeros[65536];
	int fd = what & 1 && l->err >= 0 ? l->err : l->out;

	/* A closed one, or a full one, takes nothing. */
	(void)!write(fd, zeros, (what & 2) ? sizeof zeros : what >> 2);
}

static void
swallow_input(const struct lease *l)
{
	uint8_t piece[8192];
	int fd = l->in >= 0 ? l->in : l->out;

	while (read(fd, piece, sizeof piece) > 0)
		;
}

static void
end(uint32_t i, uint8_t status)
{
	struct lease *l = &far.leases[i];
	struct msg_process_exited m = {.lease = i + 1,
	    .status = status & 1 ? (uint32_t)(status >> 1)
				 : (uint32_t)(status >> 1) << 8,
	    .reason = status % 5};

	if (l->exited || l->out < 0)
		return;
	l->exited = true;
	assert(channel_send_process_exited(world_exec(), &m, NULL, 0) == 0);
}

static void
gone(uint32_t i)
{
	struct msg_process_gone m = {.lease = i + 1};
	struct lease *l = &far.leases[i];

	if (!l->exited || l->gone)
		return;
	l->gone = true;
	lease_close(l);
	assert(channel_send_process_gone(world_exec(), &m, NULL, 0) == 0);
}

void
far_exec_event(struct reader *r)
{
	uint8_t which = fuzz_u8(r), what = fuzz_u8(r);
	struct lease *l;
	uint32_t i;

	if (world_exec() == NULL)
		return;
	if (which % 8 == 0 || far.lease_count == 0) {
		answer(r);
		return;
	}
	i = what % far.lease_count;
	l = &far.leases[i];
	switch (which % 8) {
	case 1:
	case 2:
		put_output(l, fuzz_u8(r));
		return;
	case 3:
		swallow_input(l);
		return;
	case 4:
		end(i, fuzz_u8(r));
		return;
	case 5:
		gone(i);
		return;
	case 6:
		fd_close(fuzz_u8(r) & 1 ? &l->err : &l->out);
		return;
	default:
		fd_close(&l->in);
		return;
	}
}

/* --- workers and http ------------------------------------------------------
 */

/* Fills the fields of a message from the input; the first of most is the
 * number of the request that it answers. */
struct filler {
	struct reader *r;
	const struct helper *h;
	bool later;
};

static uint32_t
fill_number(struct filler *f)
{
	uint8_t b = fuzz_u8(f->r);
	bool later = f->later;

	f->later = true;
	if (b == 255)
		return f->h->handle;
	if (b == 254)
		return UINT32_MAX;
	return !later && b < 240 ? f->h->number : b;
}

static struct bytes
fill_string(struct filler *f, size_t max)
{
	static const uint8_t large[CHANNEL_INLINE_MAX + 1000];
	uint8_t len = fuzz_u8(f->r);

	if (len < 250)
		return fuzz_bytes(f->r, len < max ? len : max);
	return (struct bytes){.data = large,
	    .len = max < sizeof large ? max : sizeof large};
}

static int
fill_fd(struct reader *r)
{
	uint8_t kind = fuzz_u8(r);
	int fds[2];

	switch (kind % 5) {
	case 0:
		return msg_sealed_memfd(fuzz_bytes(r, kind / 5));
	case 1:
		return open("/", O_PATH | O_CLOEXEC);
	case 2:
		return open("/dev/zero", O_RDONLY | O_CLOEXEC);
	case 3:
		return memfd_create("x", MFD_CLOEXEC);
	default:
		assert(pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0);
		assert(write(fds[1], "abcdef", kind % 6u + 1u) > 0);
		(void)close(fds[1]);
		return fds[0];
	}
}

static void
send_any(struct helper *h, enum msg_type type, struct reader *r)
{
	const struct msg_row *row = msg_row(type);
	struct filler f = {.r = r, .h = h};
	int fds[2], sent = 0;
	size_t count = 0;

	if (row == NULL || row->from != h->role || row->to != ROLE_NET)
		return;
	if (row->fds_max > 0 && (row->fds_min > 0 || fuzz_u8(r) & 1))
		fds[count++] = fill_fd(r);
	switch (type) {
#define U32(n)	       m.n = fill_number(&f);
#define U64(n)	       m.n = (uint64_t)fill_number(&f) << fuzz_u8(r) % 57;
#define STRING(n, max) m.n = fill_string(&f, max);
#define BLOB(n, max)   STRING(n, max)
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME: {                                                     \
		struct msg_##name m;                                           \
		fields sent = channel_send_##name(h->channel, &m, fds, count); \
	} break;
#include "privsep/msg.def"
	case MSG_NONE:
	case MSG_TYPES:
		break;
	}
	/* Net may have ended it. */
	assert(sent == 0 || sent == -EPIPE || sent == -ECONNRESET ||
	       sent == -ENOBUFS);
}

/* What the request that was made last would get from an honest one. */
static enum msg_type
fitting(const struct helper *h, uint8_t choice)
{
	switch ((int)h->last) {
	case MSG_FS_READ_FILE:
		return MSG_FS_FILE;
	case MSG_FS_GET_METADATA:
		return MSG_FS_METADATA;
	case MSG_FS_CANONICALIZE:
		return MSG_FS_PATH;
	case MSG_FS_READ_DIRECTORY:
	case MSG_FS_WALK:
		return MSG_FS_LISTING;
	case MSG_FS_READ_BLOCK:
		return MSG_FS_BLOCK;
	case MSG_FS_WATCH:
		return MSG_FS_WATCHING;
	case MSG_HTTP_REQUEST:
	case MSG_HTTP_CREDIT:
		return choice < 64    ? MSG_HTTP_RESPONSE
		       : choice < 128 ? MSG_HTTP_CHUNK
		       : choice < 192 ? MSG_HTTP_DONE
				      : MSG_HTTP_FAILED;
	default:
		return MSG_FS_DONE;
	}
}

void
far_helper_event(struct reader *r)
{
	struct helper *h = &far.helpers[fuzz_u8(r) % HELPERS_MAX];
	uint8_t how = fuzz_u8(r);
	struct bytes raw;

	for (size_t i = 0; h->channel == NULL && i < HELPERS_MAX; i++)
		h = &far.helpers[i];
	if (h->channel == NULL)
		return;
	switch (how % 8) {
	case 0:
		helper_close(h);
		return;
	case 1:
		raw = fuzz_bytes(r, how / 8);
		(void)send(channel_fd(h->channel), raw.data, raw.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		return;
	case 2:
	case 3:
		send_any(h, (enum msg_type)(fuzz_u8(r) % MSG_TYPES), r);
		return;
	case 4:
		send_any(h,
		    h->role == ROLE_HTTP ? MSG_HTTP_FAILED : MSG_FS_FAILED, r);
		return;
	default:
		send_any(h, fitting(h, how), r);
		return;
	}
}
