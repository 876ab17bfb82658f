#include "supervisor/audit_chain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/audit_text.h"
#include "tests/unit/unit.h"

#define PLAIN "{\"v\":1,\"time\":\"t\",\"role\":\"exec\",\"event\":\"x\"}\n"

static struct bytes
without_newline(const struct buf *line)
{
	return (struct bytes){line->data, line->len - 1};
}

static void
seal(struct audit_chain *c, struct buf *line)
{
	struct audit_chain next;

	buf_init(line, AUDIT_LINE_MAX);
	assert_int_equal(buf_put(line, PLAIN, sizeof PLAIN - 1), 0);
	assert_int_equal(audit_chain_seal(c, line, &next), 0);
	*c = next;
}

static void
chain_hashes_as_its_header_says(void **state)
{
	static const char text[] =
	    "0000000000000000000000000000000000000000000000000000000000000000"
	    "{\"v\":1,\"time\":\"t\",\"role\":\"exec\",\"event\":\"x\","
	    "\"seq\":\"1\"";
	char want[SHA256_HEX_SIZE];
	struct audit_chain c;
	struct audit_link link;
	scoped_buf line;

	(void)state;
	audit_chain_init(&c);
	seal(&c, &line);
	sha256_hex(bytes_of(text), want);
	assert_string_equal(c.hash, want);
	assert_true(audit_chain_parse(without_newline(&line), &link));
	assert_int_equal(link.seq, 1);
	assert_string_equal(link.hash, want);
	assert_int_equal(line.data[line.len - 1], '\n');
}

static void
chain_goes_on_after_the_last_line_of_a_file(void **state)
{
	struct audit_chain c, other;
	scoped_buf one, two, tail;

	(void)state;
	audit_chain_init(&c);
	audit_chain_init(&other);
	buf_init(&tail, 4096);
	seal(&c, &one);
	seal(&c, &two);
	assert_int_equal(buf_put(&tail, "cut off\"}\n", 10), 0);
	assert_int_equal(buf_put(&tail, one.data, one.len), 0);
	assert_int_equal(buf_put(&tail, two.data, two.len), 0);
	assert_int_equal(buf_put(&tail, "{\"v\":1,\"ti", 10), 0);
	audit_chain_resume(&other, (struct bytes){tail.data, tail.len});
	assert_int_equal(other.seq, 2);
	assert_string_equal(other.hash, c.hash);
	audit_chain_init(&other);
	audit_chain_resume(&other, bytes_of("no line of a chain\n{}\n\n"));
	assert_int_equal(other.seq, 0);
}

static void
chain_parse_refuses_other_lines(void **state)
{
#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const char *const rows[] = {
	    "",
	    "}",
	    "\"}",
	    HASH "\"}",
	    ",\"hash\":\"" HASH "\"}",
	    "{\"hash\":\"" HASH "\"}",
	    "{\"a\":\"b\",\"hash\":\"" HASH "\"}",
	    "{\"a\":\"b\",\"seq\":\"\",\"hash\":\"" HASH "\"}",
	    "{\"a\":\"b\",\"seq\":\"01\",\"hash\":\"" HASH "\"}",
	    "{\"a\":\"b\",\"seq\":\"0\",\"hash\":\"" HASH "\"}",
	    "{\"a\":\"b\",\"seq\":\"-1\",\"hash\":\"" HASH "\"}",
	    "{\"a\":\"b\",\"seq\":\"99999999999999999999\",\"hash\":\"" HASH
	    "\"}",
	    "{\"a\":\"b\",\"sea\":\"1\",\"hash\":\"" HASH "\"}",
	    "{\"a\":\"b\",\"seq\":\"1\",\"hash\":\"x" HASH "\"}",
	    "{\"a\":\"b\",\"seq\":\"1\",\"hash\":\"" HASH "\"} ",
	    "{\"a\":\"b\",\"seq\":\"1\",\"hash\":\"" HASH "\",\"c\":\"d\"}",
	};
	struct audit_link link;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_false(audit_chain_parse(bytes_of(rows[i]), &link));
	assert_true(audit_chain_parse(
	    bytes_of("{\"a\":\"b\",\"seq\":\"9999999999999999999\",\"hash\":"
		     "\"" HASH "\"}"),
	    &link));
}

static void
put_file(const char *path, const char *text, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void
chain_with_a_key_has_other_hashes(void **state)
{
	char dir[] = "/tmp/audit.XXXXXX", path[64];
	char big[AUDIT_KEY_MAX + 1] = {0};
	struct audit_chain plain, keyed;
	scoped_buf one, two;
	struct err e;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/key", dir);
	audit_chain_init(&plain);
	audit_chain_init(&keyed);
	assert_int_equal(audit_chain_read_key(&keyed, path, &e), -ENOENT);
	put_file(path, big, AUDIT_KEY_MIN - 1, 0600);
	assert_int_equal(audit_chain_read_key(&keyed, path, &e), -EINVAL);
	put_file(path, big, AUDIT_KEY_MAX + 1, 0600);
	assert_int_equal(audit_chain_read_key(&keyed, path, &e), -EINVAL);
	put_file(path, big, AUDIT_KEY_MIN, 0640);
	assert_int_equal(audit_chain_read_key(&keyed, path, &e), -EPERM);
	put_file(path, big, AUDIT_KEY_MAX, 0600);
	assert_int_equal(audit_chain_read_key(&keyed, path, &e), 0);
	audit_chain_done(&keyed);
	put_file(path, big, AUDIT_KEY_MIN, 0600);
	assert_int_equal(audit_chain_read_key(&keyed, path, &e), 0);
	seal(&plain, &one);
	seal(&keyed, &two);
	assert_string_not_equal(plain.hash, keyed.hash);
	audit_chain_done(&keyed);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(chain_hashes_as_its_header_says),
	    cmocka_unit_test(chain_goes_on_after_the_last_line_of_a_file),
	    cmocka_unit_test(chain_parse_refuses_other_lines),
	    cmocka_unit_test(chain_with_a_key_has_other_hashes),
	};

	return cmocka_run_group_tests_name("audit_chain", tests, NULL, NULL);
}
