#include "privsep/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/unit.h"

/* Room for the body of any message. */
union body {
#define MSG(NAME, name, from, to, fds_min, fds_max, fields)                    \
	struct msg_##name name;
#include "privsep/msg.def"
};

/* As long as the longest string or blob, and a byte more. */
union longest {
#define U32(n)
#define U64(n)
#define STRING(n, max) uint8_t n[(max) + 1];
#define BLOB(n, max)   STRING(n, max)
#define MSG(NAME, name, from, to, fds_min, fds_max, fields)                    \
	union {                                                                \
		uint8_t none;                                                  \
		fields                                                         \
	} name;
#include "privsep/msg.def"
};

static uint8_t *filler;

static int
make_filler(void **state)
{
	(void)state;
	filler = malloc(sizeof(union longest));
	if (filler == NULL)
		return -1;
	memset(filler, 'z', sizeof(union longest));
	memcpy(filler, "xy", sizeof "xy");
	return 0;
}

static int
free_filler(void **state)
{
	(void)state;
	free(filler);
	return 0;
}

/*
 * Give every field of a body its own value: numbers count up from seed,
 * strings take string_len bytes of the filler, at most their bound.
 */
static void
body_fill(enum msg_type type, union body *b, uint32_t seed, size_t string_len)
{
	size_t len = string_len;

	memset(b, 0, sizeof *b);
	switch (type) {
#define U32(n)	       m->n = seed++;
#define U64(n)	       m->n = (uint64_t)seed++ << 33 | 1;
#define STRING(n, max) m->n = (struct bytes){filler, len < (max) ? len : (max)};
#define BLOB(n, max)   STRING(n, max)
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME: {                                                     \
		struct msg_##name *m = &b->name;                               \
		fields                                                         \
	} break;
#include "privsep/msg.def"
	case MSG_NONE:
	case MSG_TYPES:
		break;
	}
}

/* Whether every field of a received message is as body_fill made it. */
static bool
body_is(const struct msg *got, const union body *want)
{
	bool same = true;

	switch (got->type) {
#define U32(n)	       same = same && m->n == w->n;
#define U64(n)	       same = same && m->n == w->n;
#define STRING(n, max) same = same && bytes_equal(m->n, w->n);
#define BLOB(n, max)   STRING(n, max)
#define MSG(NAME, name, from, to, lo, hi, fields)                              \
	case MSG_##NAME: {                                                     \
		const struct msg_##name *m = &got->u.name;                     \
		const struct msg_##name *w = &want->name;                      \
		fields                                                         \
	} break;
#include "privsep/msg.def"
	case MSG_NONE:
	case MSG_TYPES:
		return false;
	}
	return same;
}

/* A role that may send this message. */
static enum role
sender(const struct msg_row *row)
{
	return row->from == ROLE_ANY ? ROLE_NET : row->from;
}

static size_t
make_fds(int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	return count;
}

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

/* Pack a message of type and unpack it; 0 or the error of either. */
static int
trip(enum msg_type type, const union body *body, struct buf *record,
    struct msg *m, struct err *e)
{
	const struct msg_row *row = msg_row(type);
	int fds[CHANNEL_FDS_MAX], blob_fd;
	size_t count = 0;
	int r;

	buf_clear(record);
	r = msg_pack(type, body, record, &blob_fd);
	if (r < 0)
		return r;
	if (blob_fd >= 0)
		fds[count++] = blob_fd;
	count += make_fds(fds + count, row->fds_min);
	return msg_unpack(view(record), fds, count, sender(row), row->to, m, e);
}

static void
every_message_survives_the_trip(void **state)
{
	static const size_t lens[] = {0, 1, 200, SIZE_MAX};
	unsigned int fds = fds_open();
	scoped_buf record;
	union body body;
	struct err e;
	struct msg m;

	(void)state;
	buf_init(&record, 16 * CHANNEL_RECORD_MAX);
	for (uint32_t type = MSG_NONE + 1; type < MSG_TYPES; type++)
		for (size_t i = 0; i < COUNT(lens); i++) {
			const struct msg_row *row = msg_row(type);

			body_fill((enum msg_type)type, &body, 7, lens[i]);
			if (trip((enum msg_type)type, &body, &record, &m, &e) <
			    0)
				fail_msg("%s: %s", row->name, e.text);
			assert_int_equal(m.type, type);
			assert_int_equal(m.fd_count, row->fds_min);
			if (!body_is(&m, &body))
				fail_msg("%s: a field differs", row->name);
			msg_done(&m);
		}
	assert_int_equal(fds_open(), fds);
}

static void
a_message_fits_a_record_at_its_bounds(void **state)
{
	scoped_buf record;
	union body body;
	int blob_fd;

	(void)state;
	buf_init(&record, CHANNEL_RECORD_MAX);
	for (uint32_t type = MSG_NONE + 1; type < MSG_TYPES; type++) {
		body_fill((enum msg_type)type, &body, 7, SIZE_MAX);
		buf_clear(&record);
		if (msg_pack((enum msg_type)type, &body, &record, &blob_fd) < 0)
			fail_msg("%s", msg_row(type)->name);
		if (blob_fd >= 0)
			(void)close(blob_fd);
	}
}

static void
msg_row_knows_only_messages(void **state)
{
	(void)state;
	assert_null(msg_row(MSG_NONE));
	assert_null(msg_row(MSG_TYPES));
	assert_null(msg_row(UINT32_MAX));
	assert_string_equal(msg_row(MSG_PROCESS_START)->name, "PROCESS_START");
}

static void
msg_pack_refuses_what_is_no_message(void **state)
{
	scoped_buf record;
	int blob_fd = 99;

	(void)state;
	buf_init(&record, 64);
	assert_int_equal(msg_pack(MSG_NONE, NULL, &record, &blob_fd), -EINVAL);
	assert_int_equal(msg_pack(MSG_TYPES, NULL, &record, &blob_fd), -EINVAL);
	assert_true(record.len == 0 && blob_fd == -1);
}

static void
msg_pack_refuses_a_field_past_its_bound(void **state)
{
	const struct msg_process_refused text = {
	    .text = {.data = filler, .len = 513}};
	const struct msg_process_start blob = {
	    .spec = {.data = filler, .len = PROCESS_SPEC_MAX + 1}};
	unsigned int fds = fds_open();
	scoped_buf record;
	int blob_fd;

	(void)state;
	buf_init(&record, CHANNEL_RECORD_MAX);
	assert_int_equal(msg_pack(MSG_PROCESS_REFUSED, &text, &record,
			     &blob_fd),
	    -EMSGSIZE);
	assert_int_equal(msg_pack(MSG_PROCESS_START, &blob, &record, &blob_fd),
	    -EMSGSIZE);
	assert_int_equal(record.len, 0);
	assert_int_equal(fds_open(), fds);
}

/* Unpack record with count new descriptors: 0 or -EPROTO. */
static int
unpack_raw(struct bytes record, size_t count, enum role from, enum role to)
{
	int fds[CHANNEL_FDS_MAX + 1];
	struct err e = {0};
	struct msg m = {.type = MSG_NONE};
	int r;

	make_fds(fds, count);
	r = msg_unpack(record, fds, count, from, to, &m, &e);
	if (r == 0) {
		msg_done(&m);
		return 0;
	}
	assert_int_equal(m.type, MSG_NONE);
	assert_true(e.code == EPROTO && e.text[0] != '\0');
	return r;
}

static void
a_record_cut_at_any_length_is_refused(void **state)
{
	unsigned int fds = fds_open();
	scoped_buf record;
	union body body;
	int blob_fd;

	(void)state;
	buf_init(&record, CHANNEL_RECORD_MAX);
	for (uint32_t type = MSG_NONE + 1; type < MSG_TYPES; type++) {
		const struct msg_row *row = msg_row(type);

		body_fill((enum msg_type)type, &body, 7, 5);
		buf_clear(&record);
		assert_int_equal(msg_pack((enum msg_type)type, &body, &record,
				     &blob_fd),
		    0);
		for (size_t len = 0; len < record.len; len++)
			if (unpack_raw((struct bytes){record.data, len},
				row->fds_min, sender(row), row->to) != -EPROTO)
				fail_msg("%s at %zu", row->name, len);
		assert_int_equal(unpack_raw(view(&record), row->fds_min,
				     sender(row), row->to),
		    0);
		assert_int_equal(buf_put_u8(&record, 0), 0);
		if (unpack_raw(view(&record), row->fds_min, sender(row),
			row->to) != -EPROTO)
			fail_msg("%s with a byte more", row->name);
	}
	assert_int_equal(fds_open(), fds);
}

static void
only_the_named_roles_may_talk(void **state)
{
	scoped_buf record;
	union body body;
	int blob_fd;

	(void)state;
	buf_init(&record, CHANNEL_RECORD_MAX);
	for (uint32_t type = MSG_NONE + 1; type < MSG_TYPES; type++) {
		const struct msg_row *row = msg_row(type);

		body_fill((enum msg_type)type, &body, 7, 5);
		buf_clear(&record);
		assert_int_equal(msg_pack((enum msg_type)type, &body, &record,
				     &blob_fd),
		    0);
		for (int from = 0; from < ROLE_ANY; from++)
			for (int to = 0; to < ROLE_ANY; to++) {
				bool may = (int)row->to == to &&
					   (row->from == ROLE_ANY ||
					       (int)row->from == from);

				assert_int_equal(unpack_raw(view(&record),
						     row->fds_min,
						     (enum role)from,
						     (enum role)to),
				    may ? 0 : -EPROTO);
			}
	}
}

static void
the_count_of_descriptors_must_fit(void **state)
{
	unsigned int fds = fds_open();
	scoped_buf record;
	union body body;
	int blob_fd;

	(void)state;
	buf_init(&record, CHANNEL_RECORD_MAX);
	for (uint32_t type = MSG_NONE + 1; type < MSG_TYPES; type++) {
		const struct msg_row *row = msg_row(type);

		body_fill((enum msg_type)type, &body, 7, 5);
		buf_clear(&record);
		assert_int_equal(msg_pack((enum msg_type)type, &body, &record,
				     &blob_fd),
		    0);
		for (size_t n = 0; n <= CHANNEL_FDS_MAX + 1; n++) {
			bool fits = n >= row->fds_min && n <= row->fds_max;

			assert_int_equal(unpack_raw(view(&record), n,
					     sender(row), row->to),
			    fits ? 0 : -EPROTO);
		}
	}
	assert_int_equal(fds_open(), fds);
}

static void
unknown_types_are_refused(void **state)
{
	static const uint32_t types[] = {MSG_NONE, MSG_TYPES, MSG_TYPES + 1,
	    UINT32_MAX};
	scoped_buf record;

	(void)state;
	buf_init(&record, 64);
	for (size_t i = 0; i < COUNT(types); i++) {
		buf_clear(&record);
		assert_int_equal(buf_put_u32(&record, types[i]), 0);
		assert_int_equal(unpack_raw(view(&record), 1, ROLE_NET,
				     ROLE_EXEC),
		    -EPROTO);
	}
}

static void
blobs_change_their_vehicle_at_the_inline_bound(void **state)
{
	static const struct {
		size_t len;
		bool inside;
	} rows[] = {
	    {CHANNEL_INLINE_MAX, true},
	    {CHANNEL_INLINE_MAX + 1, false},
	    {PROCESS_SPEC_MAX, false},
	};
	scoped_buf record;
	struct err e;
	struct msg m;

	(void)state;
	buf_init(&record, CHANNEL_RECORD_MAX);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const union body body = {
		    .process_start = {.spec = {filler, rows[i].len}}};

		assert_int_equal(trip(MSG_PROCESS_START, &body, &record, &m,
				     &e),
		    0);
		assert_int_equal(record.len > rows[i].len, rows[i].inside);
		assert_int_equal(m.blob == NULL, rows[i].inside);
		assert_true(body_is(&m, &body));
		assert_int_equal(m.fd_count, 0);
		msg_done(&m);
	}
}

/* A memfd of size bytes with these seals. */
static int
memfd(size_t size, unsigned int seals)
{
	int fd = memfd_create("t", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	if (seals != 0)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static int
pipe_end(void)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	(void)close(fds[1]);
	return fds[0];
}

/* Unpack a PROCESS_START whose blob is said to be in fd (-1: none there). */
static int
unpack_blob(int fd)
{
	scoped_buf record;
	struct err e;
	struct msg m;
	int r;

	buf_init(&record, 64);
	assert_int_equal(buf_put_u32(&record, MSG_PROCESS_START), 0);
	assert_int_equal(buf_put_u32(&record, 1), 0);
	assert_int_equal(buf_put_u32(&record, 1), 0);
	assert_int_equal(buf_put_u32(&record, UINT32_MAX), 0);
	r = msg_unpack(view(&record), &fd, fd >= 0, ROLE_NET, ROLE_EXEC, &m,
	    &e);
	if (r == 0)
		msg_done(&m);
	return r;
}

static void
a_blob_must_be_a_sealed_memfd_within_its_bound(void **state)
{
	const struct {
		const char *name;
		int fd, want;
	} rows[] = {
	    {"whole", memfd(100, ALL_SEALS), 0},
	    {"empty", memfd(0, ALL_SEALS), 0},
	    {"at the bound", memfd(PROCESS_SPEC_MAX, ALL_SEALS), 0},
	    {"past the bound", memfd(PROCESS_SPEC_MAX + 1, ALL_SEALS), -EPROTO},
	    {"no seal", memfd(100, 0), -EPROTO},
	    {"may be written", memfd(100, ALL_SEALS & ~F_SEAL_WRITE), -EPROTO},
	    {"may shrink", memfd(100, ALL_SEALS & ~F_SEAL_SHRINK), -EPROTO},
	    {"may grow", memfd(100, ALL_SEALS & ~F_SEAL_GROW), -EPROTO},
	    {"seals may come", memfd(100, ALL_SEALS & ~F_SEAL_SEAL), -EPROTO},
	    {"a device", open("/dev/zero", O_RDONLY | O_CLOEXEC), -EPROTO},
	    {"a pipe", pipe_end(), -EPROTO},
	    {"a directory", open("/", O_RDONLY | O_CLOEXEC), -EPROTO},
	    {"a path", open("/", O_PATH | O_CLOEXEC), -EPROTO},
	    {"nothing", -1, -EPROTO},
	};
	unsigned int fds = fds_open() - (unsigned int)COUNT(rows) + 1;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (unpack_blob(rows[i].fd) != rows[i].want)
			fail_msg("%s", rows[i].name);
	assert_int_equal(fds_open(), fds);
}

static void
a_blob_in_the_record_must_not_pass_the_inline_bound(void **state)
{
	scoped_buf record;
	struct err e;
	struct msg m;

	(void)state;
	buf_init(&record, CHANNEL_RECORD_MAX);
	assert_int_equal(buf_put_u32(&record, MSG_PROCESS_START), 0);
	assert_int_equal(buf_put_u32(&record, 1), 0);
	assert_int_equal(buf_put_u32(&record, 1), 0);
	assert_int_equal(buf_put_string(&record, filler,
			     CHANNEL_INLINE_MAX + 1),
	    0);
	assert_int_equal(msg_unpack(view(&record), NULL, 0, ROLE_NET, ROLE_EXEC,
			     &m, &e),
	    -EPROTO);
}

static void
descriptors_are_taken_once(void **state)
{
	const union body body = {.process_started = {.number = 1}};
	unsigned int fds = fds_open();
	scoped_buf record;
	struct err e;
	struct msg m;
	int fd;

	(void)state;
	buf_init(&record, CHANNEL_RECORD_MAX);
	assert_int_equal(trip(MSG_PROCESS_STARTED, &body, &record, &m, &e), 0);
	fd = msg_take_fd(&m, 0);
	assert_true(fd >= 0);
	assert_int_equal(msg_take_fd(&m, 0), -1);
	assert_int_equal(msg_take_fd(&m, 1), -1);
	assert_int_equal(msg_take_fd(&m, SIZE_MAX), -1);
	msg_done(&m);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	(void)close(fd);
	msg_done(&m);
	assert_int_equal(fds_open(), fds);
}

static void
nothing_leaks_when_memory_runs_out(void **state)
{
	const union body body = {
	    .process_start = {.spec = {filler, PROCESS_SPEC_MAX}}};
	unsigned int fds = fds_open();
	struct err e;
	struct msg m;
	int r = -1;

	(void)state;
	for (unsigned int n = 1; n < 50 && r < 0; n++) {
		scoped_buf record;

		buf_init(&record, CHANNEL_RECORD_MAX);
		alloc_fail_at(n);
		r = trip(MSG_PROCESS_START, &body, &record, &m, &e);
		alloc_fail_at(0);
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_int_equal(r, 0);
	msg_done(&m);
	assert_int_equal(fds_open(), fds);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_message_survives_the_trip),
	    cmocka_unit_test(a_message_fits_a_record_at_its_bounds),
	    cmocka_unit_test(msg_row_knows_only_messages),
	    cmocka_unit_test(msg_pack_refuses_what_is_no_message),
	    cmocka_unit_test(msg_pack_refuses_a_field_past_its_bound),
	    cmocka_unit_test(a_record_cut_at_any_length_is_refused),
	    cmocka_unit_test(only_the_named_roles_may_talk),
	    cmocka_unit_test(the_count_of_descriptors_must_fit),
	    cmocka_unit_test(unknown_types_are_refused),
	    cmocka_unit_test(blobs_change_their_vehicle_at_the_inline_bound),
	    cmocka_unit_test(a_blob_must_be_a_sealed_memfd_within_its_bound),
	    cmocka_unit_test(
		a_blob_in_the_record_must_not_pass_the_inline_bound),
	    cmocka_unit_test(descriptors_are_taken_once),
	    cmocka_unit_test(nothing_leaks_when_memory_runs_out),
	};

	return cmocka_run_group_tests_name("msg", tests, make_filler,
	    free_filler);
}
