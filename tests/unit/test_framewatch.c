#include "net/framewatch.h"

#include <string.h>

#include "tests/unit/unit.h"

struct row {
	const char *name;
	const char *bytes;
	size_t len;
	size_t passed; /* of len */
	enum framewatch_state state;
};

#define B(s) s, sizeof(s) - 1
#define MASK "\x01\x02\x03\x04"

/* All begin after the empty line of the request. */
static const struct row rows[] = {
    {"text frame", B("\x81\x82" MASK "ab"), 8, FRAMEWATCH_HEADER},
    {"empty text frame", B("\x81\x80" MASK), 6, FRAMEWATCH_HEADER},
    {"binary frame", B("\x82\x81" MASK "a"), 7, FRAMEWATCH_HEADER},
    {"payload to come", B("\x81\x82" MASK "a"), 7, FRAMEWATCH_PAYLOAD},
    {"16-bit length", B("\x81\xfe\x00\x01" MASK "a"), 9, FRAMEWATCH_HEADER},
    {"64-bit length", B("\x81\xff\0\0\0\0\0\0\0\x01" MASK "a"), 15,
	FRAMEWATCH_HEADER},
    {"64-bit length, top bit", B("\x81\xff\x80\0\0\0\0\0\0\x01"), 0,
	FRAMEWATCH_BROKEN},
    {"unmasked",
	B("\x81\x02"
	  "ab"),
	0, FRAMEWATCH_BROKEN},
    {"unmasked close", B("\x88\x00"), 0, FRAMEWATCH_BROKEN},
    {"RSV1", B("\xc1\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"RSV2", B("\xa1\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"RSV3", B("\x91\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"opcode 3", B("\x83\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"opcode 7", B("\x87\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"opcode 11", B("\x8b\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"opcode 15", B("\x8f\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"ping", B("\x89\x80" MASK), 6, FRAMEWATCH_HEADER},
    {"pong", B("\x8a\x80" MASK), 6, FRAMEWATCH_HEADER},
    {"close", B("\x88\x82" MASK "ab"), 8, FRAMEWATCH_HEADER},
    {"empty close", B("\x88\x80" MASK), 6, FRAMEWATCH_HEADER},
    {"close of one byte", B("\x88\x81" MASK "a"), 0, FRAMEWATCH_BROKEN},
    {"fragmented ping", B("\x09\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"ping of 126 bytes", B("\x89\xfe\x00\x7e"), 0, FRAMEWATCH_BROKEN},
    {"continuation of nothing", B("\x80\x80" MASK), 0, FRAMEWATCH_BROKEN},
    {"two fragments", B("\x01\x80" MASK "\x80\x80" MASK), 12,
	FRAMEWATCH_HEADER},
    {"ping between fragments",
	B("\x01\x80" MASK "\x89\x80" MASK "\x80\x80" MASK), 18,
	FRAMEWATCH_HEADER},
    {"new message amid another", B("\x01\x80" MASK "\x81\x80" MASK), 6,
	FRAMEWATCH_BROKEN},
    {"what is good before is passed", B("\x81\x81" MASK "a\x81\x00"), 7,
	FRAMEWATCH_BROKEN},
};

static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

static struct framewatch
after_request(void)
{
	struct framewatch f = {0};
	size_t len = sizeof request - 1;

	assert_int_equal(framewatch_scan(&f, (const uint8_t *)request, len),
	    len);
	assert_int_equal(f.state, FRAMEWATCH_HEADER);
	return f;
}

static void
framewatch_passes_what_the_rfc_allows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *r = &rows[i];
		struct framewatch f = after_request();
		size_t n =
		    framewatch_scan(&f, (const uint8_t *)r->bytes, r->len);

		if (n != r->passed || f.state != r->state)
			fail_msg("%s: passed %zu, state %d", r->name, n,
			    f.state);
	}
}

/* Cut at every byte, the verdict is the same. */
static void
framewatch_does_not_depend_on_how_reads_are_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		const struct row *r = &rows[i];
		struct framewatch f = after_request();

		for (size_t k = 0; k < r->len; k++)
			(void)framewatch_scan(&f, (const uint8_t *)r->bytes + k,
			    1);
		if (f.state != r->state)
			fail_msg("%s: state %d", r->name, f.state);
	}
}

static void
framewatch_stays_broken(void **state)
{
	struct framewatch f = after_request();

	(void)state;
	assert_int_equal(framewatch_scan(&f, (const uint8_t *)"\x81\x00", 2),
	    0);
	assert_int_equal(framewatch_scan(&f, (const uint8_t *)"\x81\x80" MASK,
			     6),
	    0);
}

static void
framewatch_finds_the_end_of_the_request_in_pieces(void **state)
{
	struct framewatch f = {0};

	(void)state;
	for (size_t i = 0; i + 1 < sizeof request; i++) {
		assert_int_equal(f.state, FRAMEWATCH_HANDSHAKE);
		assert_int_equal(framewatch_scan(&f,
				     (const uint8_t *)request + i, 1),
		    1);
	}
	assert_int_equal(f.state, FRAMEWATCH_HEADER);
}

static void
framewatch_is_not_fooled_by_carriage_returns(void **state)
{
	static const char text[] = "GET\r\r\n\r\r\n\r\n";
	struct framewatch f = {0};

	(void)state;
	(void)framewatch_scan(&f, (const uint8_t *)text, sizeof text - 1);
	assert_int_equal(f.state, FRAMEWATCH_HEADER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(framewatch_passes_what_the_rfc_allows),
	    cmocka_unit_test(framewatch_does_not_depend_on_how_reads_are_cut),
	    cmocka_unit_test(framewatch_stays_broken),
	    cmocka_unit_test(framewatch_finds_the_end_of_the_request_in_pieces),
	    cmocka_unit_test(framewatch_is_not_fooled_by_carriage_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
