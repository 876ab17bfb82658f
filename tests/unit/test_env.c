#include "policy/env.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/unit.h"

#define OUT_MAX (64u * 1024u)

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

/* A list out of text whose items are split by one blank; "" is no item. */
static void
pack(struct buf *b, const char *text)
{
	buf_init(b, OUT_MAX);
	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		assert_int_equal(buf_put_string(b, text, len), 0);
		text += len + (text[len] != '\0');
	}
}

/* The items of a list joined by one blank. */
static const char *
join(const struct buf *list)
{
	static char text[4096];
	struct reader r;
	struct bytes s;
	size_t len = 0;

	reader_init(&r, list->data, list->len);
	while (r.left > 0 && buf_get_string(&r, &s, sizeof text)) {
		assert_true(len + s.len + 1 < sizeof text);
		if (len > 0)
			text[len++] = ' ';
		memcpy(text + len, s.data, s.len);
		len += s.len;
	}
	assert_true(buf_get_end(&r));
	text[len] = '\0';
	return text;
}

struct scrub_case {
	const char *name;
	bool dropped;
};

static const struct scrub_case scrub_cases[] = {
    /* words */
    {"KEY", true},
    {"key", true},
    {"API_KEY", true},
    {"Api_Key", true},
    {"MY_KEY_ID", true},
    {"_KEY", true},
    {"KEY_", true},
    {"A__KEY__B", true},
    {"SSH_KEYS", true},
    {"STRIPE_APIKEY", true},
    {"CLIENT_SECRET", true},
    {"SECRETS", true},
    {"SECRET_PATH", true},
    {"NPM_TOKEN", true},
    {"TOKENS", true},
    {"GH_TOKEN", true},
    {"SLACK_BOT_TOKEN", true},
    {"HF_TOKEN", true},
    {"DB_PASSWORD", true},
    {"MYSQL_PASSWD", true},
    {"GOOGLE_APPLICATION_CREDENTIALS", true},
    {"CREDENTIAL", true},
    {"PRIVATE_URL", true},
    {"DEPLOY_PRIVATE", true},
    /* globs */
    {"AWS_REGION", true},
    {"aws_profile", true},
    {"OPENAI_BASE_URL", true},
    {"CODEX_API", true},
    {"CODEX_APIX", true},
    {"CODEX_ACCESS", true},
    {"GITHUB_ACTOR", true},
    {"SENTRY_DSN", true},
    {"_DSN", true},
    {"MYAPIKEY2", true},
    {"PGPASSWORD", true},
    {"PASSWORDS", true},
    {"MYPASSWORDFILE", true},
    /* whole names */
    {"SSH_AUTH_SOCK", true},
    {"ssh_auth_sock", true},
    {"DATABASE_URL", true},
    /* always */
    {"CODEX_API_KEY", true},
    {"OPENAI_API_KEY", true},
    {"CODEX_ACCESS_TOKEN", true},
    {"codex_access_token", true},
    /* what only looks like one */
    {"MONKEY", false},
    {"MONKEYS", false},
    {"KEYBOARD_LAYOUT", false},
    {"TOKENIZERS_PARALLELISM", false},
    {"TURKEY_DAY", false},
    {"SECRETARY", false},
    {"PRIVATEER", false},
    {"KEY2", false},
    {"XKEY", false},
    {"PASSWDX", false},
    {"KEY-ID", false},
    {"AWS", false},
    {"AWSOME", false},
    {"XAWS_REGION", false},
    {"GITHUB", false},
    {"MY_GITHUB_X", false},
    {"DSN", false},
    {"SENTRY_DSNS", false},
    {"SSH_AUTH_SOCKET", false},
    {"OLD_SSH_AUTH_SOCK", false},
    {"MY_DATABASE_URL", false},
    {"DATABASE_URLS", false},
    {"CODEX_CI", false},
    {"CODEX_SANDBOX", false},
    {"SSH_CONNECTION", false},
    {"PATH", false},
    {"HOME", false},
    {"LANG", false},
    {"TERM", false},
    {"NO_COLOR", false},
    {"COLORTERM", false},
    {"GIT_PAGER", false},
    {"PWD", false},
    {"_", false},
    {"1A", false},
    {"A-B", false},
    {"", false},
};

static void
scrub_list_takes_words_globs_and_names(void **state)
{
	scoped_buf scrub;

	(void)state;
	buf_init(&scrub, OUT_MAX);
	assert_int_equal(env_list_put(env_scrub_default, &scrub), 0);
	for (size_t i = 0; i < sizeof scrub_cases / sizeof scrub_cases[0];
	     i++) {
		const struct scrub_case *c = &scrub_cases[i];
		struct env_config config = {.scrub = view(&scrub)};
		struct env_request request = {0};
		struct err e = {0};
		scoped_buf env, out, dropped;

		buf_init(&env, OUT_MAX);
		buf_init(&out, OUT_MAX);
		buf_init(&dropped, OUT_MAX);
		assert_int_equal(buf_put_cstring(&env, c->name), 0);
		assert_int_equal(buf_put_cstring(&env, "value"), 0);
		request.env = view(&env);
		assert_int_equal(env_decide(&config, &request, &out, &dropped,
				     &e),
		    0);
		if ((dropped.len > 0) != c->dropped)
			fail_msg("%s: dropped is %d", c->name, !c->dropped);
		assert_true((out.len > 0) != c->dropped);
		if (c->dropped)
			assert_string_equal(join(&dropped), c->name);
	}
}

/* Lists as text, see pack(). policy NULL: no envPolicy. */
struct decide_case {
	const char *what;
	const char *base, *allow;
	bool has_policy, ignore_default_excludes;
	unsigned int inherit;
	const char *exclude, *set, *include_only, *env, *added;
	const char *out, *dropped;
};

#define BASE                                                                   \
	"PATH /bin HOME /h LANG C path /low TERM dumb MONKEY m MY_KEY k "      \
	"TEMP t"

static const struct decide_case decide_cases[] = {
    {.what = "without envPolicy exactly env",
	.base = BASE,
	.env = "B 2 A 1",
	.out = "A=1 B=2"},
    {.what = "without envPolicy its members do not count",
	.base = BASE,
	.inherit = ENV_REQUEST_INHERIT_ALL,
	.set = "X 1",
	.env = "A 1",
	.out = "A=1"},
    {.what = "inherit none",
	.base = BASE,
	.has_policy = true,
	.set = "X 1",
	.out = "X=1"},
    {.what = "inherit core compares without case",
	.base = BASE,
	.has_policy = true,
	.inherit = ENV_REQUEST_INHERIT_CORE,
	.out = "HOME=/h LANG=C PATH=/bin TEMP=t path=/low"},
    {.what = "inherit all with the default excludes",
	.base = BASE,
	.has_policy = true,
	.inherit = ENV_REQUEST_INHERIT_ALL,
	.out = "HOME=/h LANG=C PATH=/bin TEMP=t TERM=dumb path=/low"},
    {.what = "inherit all without them still meets the scrub list",
	.base = BASE,
	.has_policy = true,
	.ignore_default_excludes = true,
	.inherit = ENV_REQUEST_INHERIT_ALL,
	.out = "HOME=/h LANG=C MONKEY=m PATH=/bin TEMP=t TERM=dumb "
	       "path=/low",
	.dropped = "MY_KEY"},
    {.what = "exclude is a glob without case",
	.base = BASE,
	.has_policy = true,
	.inherit = ENV_REQUEST_INHERIT_ALL,
	.exclude = "p?TH te* nothing",
	.out = "HOME=/h LANG=C"},
    {.what = "set survives exclude and the default excludes",
	.base = "A 1",
	.has_policy = true,
	.inherit = ENV_REQUEST_INHERIT_ALL,
	.exclude = "*",
	.set = "MONKEY m A 2",
	.out = "A=2 MONKEY=m"},
    {.what = "includeOnly also among set, not among env",
	.base = "A 1 B 2",
	.has_policy = true,
	.inherit = ENV_REQUEST_INHERIT_ALL,
	.set = "SETME 1 OTHER 2",
	.include_only = "set* b",
	.env = "EXTRA e",
	.out = "B=2 EXTRA=e SETME=1"},
    {.what = "env wins over set, set over base",
	.base = "A base B base C base",
	.has_policy = true,
	.inherit = ENV_REQUEST_INHERIT_ALL,
	.set = "A set B set",
	.env = "A env",
	.out = "A=env B=set C=base"},
    {.what = "the later of a repeated name wins",
	.env = "A 1 B 1 A 2 A 3",
	.out = "A=3 B=1"},
    {.what = "a name with = is what the child sees",
	.env = "A 1 A=2 3 MY_TOKEN=x 4",
	.out = "A=2=3",
	.dropped = "MY_TOKEN"},
    {.what = "scrubbed whether from base, set or env, told once",
	.base = "DB_PASSWORD 1",
	.has_policy = true,
	.ignore_default_excludes = true,
	.inherit = ENV_REQUEST_INHERIT_ALL,
	.set = "DB_PASSWORD 2 NPM_TOKEN 3",
	.env = "AWS_REGION 4 DB_PASSWORD 5 OK 6",
	.out = "OK=6",
	.dropped = "AWS_REGION DB_PASSWORD NPM_TOKEN"},
    {.what = "allow exempts",
	.allow = "APP_*_TOKEN",
	.env = "APP_X_TOKEN 1 APP_TOKEN 2 app_y_token 3",
	.out = "APP_X_TOKEN=1 app_y_token=3",
	.dropped = "APP_TOKEN"},
    {.what = "allow never exempts our own clients' credentials",
	.allow = "*",
	.env = "CODEX_API_KEY 1 OPENAI_API_KEY 2 CODEX_ACCESS_TOKEN 3 "
	       "A_KEY 4",
	.out = "A_KEY=4",
	.dropped = "CODEX_ACCESS_TOKEN CODEX_API_KEY OPENAI_API_KEY"},
    {.what = "what the server adds wins and is not scrubbed",
	.env = "CODEX_SANDBOX_EXEC_ID mine",
	.added = "CODEX_SANDBOX_EXEC_ID 7 X_TOKEN y",
	.out = "CODEX_SANDBOX_EXEC_ID=7 X_TOKEN=y"},
    {.what = "nothing at all", .out = ""},
};

static const char *
text(const char *s)
{
	return s != NULL ? s : "";
}

static void
decide(const struct decide_case *c, struct buf *out, struct buf *dropped)
{
	scoped_buf base, scrub, allow, exclude, set, only, env, added;
	struct env_config config;
	struct env_request r = {
	    .has_policy = c->has_policy,
	    .ignore_default_excludes = c->ignore_default_excludes,
	    .inherit = c->inherit,
	};
	struct err e = {0};

	pack(&base, text(c->base));
	pack(&allow, text(c->allow));
	pack(&exclude, text(c->exclude));
	pack(&set, text(c->set));
	pack(&only, text(c->include_only));
	pack(&env, text(c->env));
	pack(&added, text(c->added));
	buf_init(&scrub, OUT_MAX);
	assert_int_equal(env_list_put(env_scrub_default, &scrub), 0);
	config = (struct env_config){.base = view(&base),
	    .scrub = view(&scrub),
	    .allow = view(&allow)};
	r.exclude = view(&exclude);
	r.set = view(&set);
	r.include_only = view(&only);
	r.env = view(&env);
	r.added = view(&added);
	assert_int_equal(env_decide(&config, &r, out, dropped, &e), 0);
}

static void
decide_follows_the_protocol(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof decide_cases / sizeof decide_cases[0];
	     i++) {
		const struct decide_case *c = &decide_cases[i];
		scoped_buf out, dropped;

		buf_init(&out, OUT_MAX);
		buf_init(&dropped, OUT_MAX);
		decide(c, &out, &dropped);
		if (strcmp(join(&out), c->out) != 0)
			fail_msg("%s: got %s", c->what, join(&out));
		if (strcmp(join(&dropped), text(c->dropped)) != 0)
			fail_msg("%s: dropped %s", c->what, join(&dropped));
	}
}

struct match_case {
	const char *pattern, *name;
	bool matches;
};

static const struct match_case match_cases[] = {
    {"", "", true},
    {"", "A", false},
    {"*", "", true},
    {"**", "", true},
    {"*", "ANY", true},
    {"?", "", false},
    {"?", "A", true},
    {"?", "AB", false},
    {"a", "A", true},
    {"A", "a", true},
    {"*B", "AB", true},
    {"*B", "ABC", false},
    {"A*", "B", false},
    {"A*C*E", "ABCDE", true},
    {"A*C*E", "ACCE", true},
    {"A*C*E", "ABCD", false},
    {"*AB*AB", "ABABAB", true},
    {"*AB?AB", "ABABAB", false},
    {"?*?", "A", false},
    {"?*?", "AB", true},
    {"[A]", "A", false},
    {"\\*", "*", false},
    {"@", "`", false},
};

static void
match_is_whole_name_without_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof match_cases / sizeof match_cases[0];
	     i++) {
		const struct match_case *c = &match_cases[i];

		if (env_match(bytes_of(c->pattern), bytes_of(c->name)) !=
		    c->matches)
			fail_msg("%s over %s", c->pattern, c->name);
	}
}

static void
decide_refuses_malformed_lists(void **state)
{
	static const uint8_t cut[] = {5, 0, 0, 0, 'A'};
	static const uint8_t odd[] = {1, 0, 0, 0, 'A'};
	static const uint8_t nul[] = {1, 0, 0, 0, 0, 0, 0, 0, 0};
	const struct bytes bad[] = {
	    {.data = cut, .len = sizeof cut},
	    {.data = odd, .len = sizeof odd},
	    {.data = nul, .len = sizeof nul},
	};
	const struct env_config config = {0};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct env_request r = {.env = bad[i]};
		struct err e = {0};
		scoped_buf out, dropped;

		buf_init(&out, OUT_MAX);
		buf_init(&dropped, OUT_MAX);
		assert_int_equal(buf_put_u8(&out, 7), 0);
		assert_int_equal(env_decide(&config, &r, &out, &dropped, &e),
		    -EINVAL);
		assert_int_equal(e.code, EINVAL);
		assert_int_equal(out.len, 1);
		assert_int_equal(dropped.len, 0);
	}
}

static void
decide_refuses_too_much_comparing(void **state)
{
	scoped_buf only, set, out, dropped;
	const struct env_config config = {0};
	struct env_request r = {.has_policy = true};
	struct err e = {0};

	(void)state;
	buf_init(&only, PROCESS_SPEC_MAX);
	buf_init(&set, PROCESS_SPEC_MAX);
	buf_init(&out, PROCESS_SPEC_MAX);
	buf_init(&dropped, PROCESS_SPEC_MAX);
	for (unsigned int i = 0; i < PROCESS_ITEMS_MAX; i++) {
		assert_int_equal(buf_put_cstring(&only, "*A*A*B"), 0);
		assert_int_equal(buf_printf(&set, "%c%c%c%c%04x%c%c%c%c", 4, 0,
				     0, 0, i & 0xffffu, 0, 0, 0, 0),
		    0);
	}
	r.set = view(&set);
	r.include_only = view(&only);
	assert_int_equal(env_decide(&config, &r, &out, &dropped, &e), -E2BIG);
	assert_int_equal(out.len, 0);
}

static void
decide_refuses_past_the_maximum_of_out(void **state)
{
	scoped_buf env, out, dropped;
	const struct env_config config = {0};
	struct env_request r = {0};
	struct err e = {0};

	(void)state;
	pack(&env, "AB cd OPENAI_API_KEY x");
	r.env = view(&env);
	buf_init(&out, 8);
	buf_init(&dropped, OUT_MAX);
	assert_int_equal(env_decide(&config, &r, &out, &dropped, &e),
	    -EMSGSIZE);
	assert_int_equal(out.len, 0);
	assert_int_equal(dropped.len, 0);
	out.max = 9;
	assert_int_equal(env_decide(&config, &r, &out, &dropped, &e), 0);
	assert_string_equal(join(&out), "AB=cd");
}

static void
config_survives_packing(void **state)
{
	scoped_buf base, scrub, allow, packed;
	struct env_config in, got = {0};
	struct err e = {0};

	(void)state;
	buf_init(&base, OUT_MAX);
	buf_init(&scrub, OUT_MAX);
	buf_init(&packed, OUT_MAX);
	assert_int_equal(env_list_put(env_base_default, &base), 0);
	assert_int_equal(env_list_put(env_scrub_default, &scrub), 0);
	pack(&allow, "APP_*_TOKEN");
	in = (struct env_config){.base = view(&base),
	    .scrub = view(&scrub),
	    .allow = view(&allow)};
	assert_int_equal(env_config_pack(&in, &packed), 0);
	assert_int_equal(env_config_unpack(view(&packed), &got, &e), 0);
	assert_true(bytes_equal(in.base, got.base));
	assert_true(bytes_equal(in.scrub, got.scrub));
	assert_true(bytes_equal(in.allow, got.allow));
	packed.len--;
	assert_int_equal(env_config_unpack(view(&packed), &got, &e), -EPROTO);
}

static void
config_refuses_bad_lists(void **state)
{
	static const char *const bases[] = {"PATH", "A=B c", " x"};

	(void)state;
	for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
		scoped_buf base, packed;
		struct env_config in = {0}, got = {0};
		struct err e = {0};

		pack(&base, bases[i]);
		buf_init(&packed, OUT_MAX);
		in.base = view(&base);
		assert_int_equal(env_config_pack(&in, &packed), 0);
		assert_int_equal(env_config_unpack(view(&packed), &got, &e),
		    -EPROTO);
		assert_null(got.base.data);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(scrub_list_takes_words_globs_and_names),
	    cmocka_unit_test(decide_follows_the_protocol),
	    cmocka_unit_test(match_is_whole_name_without_case),
	    cmocka_unit_test(decide_refuses_malformed_lists),
	    cmocka_unit_test(decide_refuses_too_much_comparing),
	    cmocka_unit_test(decide_refuses_past_the_maximum_of_out),
	    cmocka_unit_test(config_survives_packing),
	    cmocka_unit_test(config_refuses_bad_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
