/* Every key with its value, what it means and where it comes from. */
#include <errno.h>
#include <string.h>

#include "policy/env.h"
#include "supervisor/config_row.h"
#include "supervisor/config_value.h"
#include "supervisor/report.h"

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

/* --- one key -------------------------------------------------------------- */

static void
put_number(struct html *h, uint64_t value, enum limit_unit unit)
{
	scoped_buf text;

	buf_init(&text, 64);
	if (value_put(value, unit, &text) < 0)
		h->result = -ENOMEM;
	html_text(h, view(&text));
}

static void
put_limit_bounds(struct html *h, const struct limit_row *l)
{
	html_put(h, "<small class=\"bounds\">");
	put_number(h, l->min, l->unit);
	html_put(h, " to ");
	put_number(h, l->max, l->unit);
	html_put(h, "; built-in ");
	put_number(h, l->def, l->unit);
	html_put(h, "</small>");
}

/* What the value may be, and is by itself. */
static void
put_bounds(struct html *h, int key)
{
	const struct config_row *row;
	enum limit_unit unit;

	if (key >= CONFIG_KEYS) {
		put_limit_bounds(h, &limit_rows[key - CONFIG_KEYS]);
		return;
	}
	row = &config_rows[key];
	unit = row->kind == KIND_SIZE ? LIMIT_BYTES : LIMIT_COUNT;
	if (row->words == NULL && row->max == 0)
		return;
	html_put(h, "<small class=\"bounds\">");
	for (size_t i = 0; row->words != NULL && row->words[i] != NULL; i++)
		html_put(h, "%s%s", i > 0 ? ", " : "", row->words[i]);
	if (row->words == NULL) {
		put_number(h, row->min, unit);
		html_put(h, " to ");
		put_number(h, row->max, unit);
	}
	if (row->def != NULL)
		html_put(h, "; built-in %s", row->def);
	html_put(h, "</small>");
}

/* Whether somebody has said so: neither built in nor the preset's. */
static bool
is_chosen(const struct config_note *note)
{
	return note != NULL && note->level != CONFIG_PRESET;
}

static void
put_value(struct html *h, int key, struct bytes value)
{
	if (value.len == 0)
		html_put(h, "<span class=\"empty\">none</span>");
	else
		html_put(h, "<code>");
	html_text(h, value);
	if (value.len > 0)
		html_put(h, "</code>");
	if (key == KEY_ENV_SET)
		html_put(h, " <small>(value not shown)</small>");
}

/* The rows of a key: one for each item of a list, which may be empty. */
static void
put_key(struct html *h, const struct config *c, int key)
{
	const bool limit = key >= CONFIG_KEYS;
	const char *section = limit ? "limits" : config_rows[key].section;
	const char *name =
	    limit ? limit_rows[key - CONFIG_KEYS].key : config_rows[key].key;
	const struct config_note *note = NULL;
	scoped_buf full, value;
	size_t item = 0;
	int r;

	buf_init(&full, 256);
	buf_init(&value, PATH_LEN_MAX);
	html_put(h, "<tr><th scope=\"row\"><code>%s.<wbr>", section);
	html_word(h, name);
	html_put(h, "</code><small>%s</small></th><td><ul class=\"values\">",
	    limit ? limit_rows[key - CONFIG_KEYS].reason
		  : config_rows[key].help);
	for (; (r = config_get(c, key, item, &full, &value, &note)) == 0;
	     item++) {
		html_put(h, "<li class=\"%s\">",
		    is_chosen(note) ? "chosen" : "given");
		put_value(h, key, view(&value));
		html_put(h, " <small class=\"origin\">");
		report_origin(h, c, key, note);
		html_put(h, "</small></li>");
	}
	if (r != -ENOENT)
		h->result = r;
	if (item == 0)
		html_put(h, "<li><span class=\"empty\">none</span></li>");
	html_put(h, "</ul>");
	put_bounds(h, key);
	html_put(h, "</td></tr>\n");
}

/* --- sections ------------------------------------------------------------- */

/* Sections of the configuration with a section of the report. */
static const char *const told[] = {"env", "http", "audit", "log", "limits",
    NULL};

static bool
is_in(const char *section, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(*list, section) == 0)
			return true;
	return false;
}

/* Keys of the listed sections; or, with others, of those that told has not. */
static void
put_keys(struct html *h, const struct config *c, const char *label,
    const char *const *sections, bool others)
{
	static const char *const head[] = {"Key", "Value, and where it is said",
	    NULL};

	report_table(h, "settings", label, head);
	for (int key = 0; key < CONFIG_KEYS; key++)
		if (others ? !is_in(config_rows[key].section, told)
			   : is_in(config_rows[key].section, sections))
			put_key(h, c, key);
	if (!others && is_in("limits", sections))
		for (int i = 0; i < LIMIT_ROWS; i++)
			put_key(h, c, CONFIG_KEYS + i);
	report_table_end(h);
}

static void
put_environment(struct html *h, const struct config *c)
{
	static const char *const sections[] = {"env", NULL};

	report_begin(h, "environment", "Environment");
	html_put(h,
	    "<ol class=\"steps\">\n"
	    "<li>A program inherits nothing of the server's own environment. "
	    "What it may inherit is <code>env.set</code>; its client chooses "
	    "from that and adds to it.</li>\n"
	    "<li>Of the result every name is dropped that an entry of "
	    "<code>env.scrub</code> matches: a word matches a part between two "
	    "<code>_</code>, other entries are patterns or whole names. What "
	    "an "
	    "entry of <code>env.allow</code> matches stays.</li>\n"
	    "<li>Never passed, whatever is said: ");
	for (size_t i = 0; env_never[i] != NULL; i++)
		html_put(h, "%s<code>%s</code>", i > 0 ? ", " : "",
		    env_never[i]);
	html_put(h, ".</li>\n</ol>\n");
	put_keys(h, c, "Environment", sections, false);
	report_end(h);
}

static void
put_http(struct html *h, const struct config *c)
{
	static const char *const sections[] = {"http", NULL};

	report_begin(h, "network", "Network and HTTP");
	html_put(h,
	    "<p>Programs have %s. Clients %s have HTTP requests made by the "
	    "server, in a process of its own for each session.</p>\n",
	    c->network == NETWORK_ENABLED
		? "the host's network"
		: "a loopback of their session's own and no other network",
	    c->http.enabled != 0 ? "can" : "cannot");
	html_put(h,
	    "<ol class=\"steps\">\n"
	    "<li>With <code>http.ports</code>, any other port is refused.</li>"
	    "\n<li>What <code>http.deny</code> names is refused.</li>\n"
	    "<li>An address that <code>http.allow</code> lists is let through; "
	    "a name that it lists may resolve to special addresses too, but "
	    "not to cloud metadata.</li>\n"
	    "<li>Loopback, private, link-local and other special addresses, "
	    "and names that mean such, are refused; "
	    "<code>http.allow_private</code> lets loopback, private and "
	    "link-local ones through.</li>\n"
	    "<li>Public addresses are let through unless "
	    "<code>http.allow_public</code> is false.</li>\n</ol>\n"
	    "<p>A name is judged by itself and again by every address that it "
	    "resolves to, and so is each redirect.</p>\n");
	put_keys(h, c, "HTTP", sections, false);
	report_end(h);
}

void
report_settings(struct html *h, const struct config *c)
{
	static const char *const limits[] = {"limits", NULL};
	static const char *const audit[] = {"audit", "log", NULL};

	put_environment(h, c);
	put_http(h, c);
	report_begin(h, "limits", "Limits");
	html_put(h,
	    "<p>Every bound that an administrator may set, with what it may "
	    "be. "
	    "Units: ms, s, m and h are time; K, M, G and T powers of 1024 "
	    "bytes; other figures count.</p>\n");
	put_keys(h, c, "Limits", limits, false);
	report_end(h);
	report_begin(h, "audit", "Audit and log");
	html_put(h,
	    "<p>One JSON line for each event, written by the supervisor alone. "
	    "Never values of variables, contents or full URLs, and "
	    "arguments of programs only if <code>audit.argv</code> is "
	    "full.</p>\n");
	put_keys(h, c, "Audit and log", audit, false);
	report_end(h);
	report_begin(h, "other", "Other settings");
	put_keys(h, c, "Other settings", NULL, true);
	report_end(h);
}
