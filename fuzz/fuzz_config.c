/*
 * Reaches config_parse_at, config_set_text, config_finish, config_put_policy,
 * config_get and the parsers of values behind them. The input is a file's text;
 * "\x1c" begins that of a drop-in, "\x1d" a setting of the command line.
 *
 * Asserts that what is refused has a complaint and what is accepted has none,
 * that complaints hold no control bytes, that accepted limits are within their
 * rows, and that the effective policy is the same each time it is asked for
 * and every line of it can be shown.
 */
#include <errno.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "supervisor/config.h"

#define POLICY_MAX (256u * 1024u)

static void
check_complaints(int r, const struct buf *errors, size_t before)
{
	assert(r == 0 || r == -EINVAL);
	assert((r == 0) == (errors->len == before) ||
	       errors->len + 512 > CONFIG_ERRORS_MAX);
	for (size_t i = before; i < errors->len; i++)
		assert(errors->data[i] == '\n' ||
		       (errors->data[i] >= 0x20 && errors->data[i] != 0x7f));
}

/* True if it was accepted. */
static bool
take_text(struct config *c, struct bytes text, enum config_level level,
    struct buf *errors)
{
	size_t before = errors->len;
	int r = config_parse_at(c, level, "x.conf", text, errors);

	check_complaints(r, errors, before);
	return r == 0;
}

static bool
take_flag(struct config *c, struct bytes text)
{
	scoped_free char *s = bytes_dup(text);
	struct err e = {0};
	int r;

	assert(s != NULL);
	r = config_set_text(c, CONFIG_FLAG, s, &e);
	assert(r == 0 || (e.code == -r && e.text[0] != '\0'));
	assert(r != -ENOMEM);
	return r == 0;
}

static bool
take_all(struct config *c, struct reader *r, struct buf *errors)
{
	enum config_level level = CONFIG_FILE;
	bool ok = true, flag = false;
	int files = 0;

	for (size_t i = 0; i <= r->left && files < CONFIG_FILES_MAX; i++) {
		bool end = i == r->left;
		uint8_t c0 = end ? 0 : r->at[i];
		struct bytes part;

		if (!end && c0 != 0x1c && c0 != 0x1d)
			continue;
		part = fuzz_bytes(r, i);
		(void)fuzz_bytes(r, 1);
		ok &= flag ? take_flag(c, part)
			   : take_text(c, part, level, errors);
		files += !flag;
		flag = c0 == 0x1d;
		level = CONFIG_DROPIN;
		if (end)
			break;
		i = (size_t)-1;
	}
	return ok;
}

static void
check_limits(const struct config *c)
{
	for (unsigned int i = 0; i < LIMIT_ROWS; i++)
		assert(limits_get(&c->limits, i) >= limit_rows[i].min &&
		       limits_get(&c->limits, i) <= limit_rows[i].max);
}

static void
check_shown(const struct config *c)
{
	for (int key = 0; key < CONFIG_KEYS + LIMIT_ROWS; key++) {
		const struct config_note *note;
		int r = 0;

		for (size_t item = 0; r == 0; item++) {
			scoped_buf name, value;

			buf_init(&name, 4096);
			buf_init(&value, POLICY_MAX);
			r = config_get(c, key, item, &name, &value, &note);
			assert(r == 0 || r == -ENOENT);
			assert(r < 0 || memchr(name.data, '.', name.len));
			assert(item < POLICY_MAX);
		}
	}
}

static void
check_accepted(struct config *c)
{
	struct err e = {0};
	scoped_buf policy, again;

	buf_init(&policy, POLICY_MAX);
	buf_init(&again, POLICY_MAX);
	check_limits(c);
	if (config_finish(c, &e) < 0) {
		assert(e.code != 0 && e.text[0] != '\0');
		return;
	}
	check_limits(c);
	assert(config_put_policy(c, &policy) == 0);
	assert(config_put_policy(c, &again) == 0);
	assert(bytes_equal(fuzz_view(&policy), fuzz_view(&again)));
	check_shown(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	scoped_buf errors;
	struct config c;
	struct reader r;

	buf_init(&errors, CONFIG_ERRORS_MAX);
	if (size > FUZZ_LEN_MAX)
		return 0;
	reader_init(&r, data, size);
	assert(config_init(&c) == 0);
	if (take_all(&c, &r, &errors))
		check_accepted(&c);
	config_done(&c);
	return 0;
}
