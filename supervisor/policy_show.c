#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "policy/texts.h"
#include "privsep/layer.h"
#include "supervisor/jsontext.h"
#include "supervisor/policy_command.h"
#include "supervisor/process_table.h"

#define SHOW_MAX (512u * 1024u) /* bytes of everything shown */

struct show {
	bool json;
	bool first; /* in the present JSON array */
	struct buf out;
	int result; /* 0, or why out is not whole */
};

static void
note(struct show *s, int r)
{
	if (r < 0)
		s->result = r;
}

static void
put(struct show *s, const char *text)
{
	note(s, buf_put(&s->out, text, strlen(text)));
}

static void
put_json(struct show *s, const char *key, struct bytes value)
{
	note(s, buf_printf(&s->out, "%s\"%s\":", s->first ? "" : ",", key));
	note(s, jsontext_put(&s->out, value));
	s->first = false;
}

/* Begin, or end, a part with a heading. */
static void
begin(struct show *s, const char *key, const char *title)
{
	note(s, s->json ? buf_printf(&s->out, "\"%s\":[", key)
			: buf_printf(&s->out, "# %s\n", title));
	s->first = true;
}

static void
end(struct show *s, bool last)
{
	put(s, s->json ? (last ? "]" : "],\n") : "\n");
}

static void
begin_item(struct show *s)
{
	if (s->json)
		put(s, s->first ? "\n{" : ",\n{");
	s->first = true;
}

static void
end_item(struct show *s)
{
	if (s->json)
		put(s, "}");
	s->first = false;
}

static struct bytes
view(const struct buf *b)
{
	return (struct bytes){.data = b->data, .len = b->len};
}

/* --- configuration -------------------------------------------------------- */

static int
put_origin(const struct config *c, int key, const struct config_note *where,
    struct buf *out)
{
	const struct config_profile *p = config_profile_of(c);

	buf_clear(out);
	if (where != NULL && where->level == CONFIG_PRESET)
		where = NULL;
	if (where != NULL)
		return config_place_put(where->at, out);
	if (c->level[key] != CONFIG_PRESET)
		return buf_printf(out, "built-in");
	if (key == KEY_NETWORK && p != NULL && p->has_network)
		return config_place_put(p->network_at, out);
	return buf_printf(out, "preset %s", config_preset_name(c->preset));
}

static void
show_value(struct show *s, struct bytes name, struct bytes value,
    struct bytes origin)
{
	begin_item(s);
	if (s->json) {
		put_json(s, "key", name);
		put_json(s, "value", value);
		put_json(s, "origin", origin);
	} else {
		note(s,
		    buf_printf(&s->out, "%-34.*s %-30.*s %.*s\n", (int)name.len,
			(const char *)name.data, (int)value.len,
			value.len > 0 ? (const char *)value.data : "",
			(int)origin.len, (const char *)origin.data));
	}
	end_item(s);
}

static void
show_key(struct show *s, const struct config *c, int key)
{
	const struct config_note *where;
	scoped_buf name, value, origin;
	int r = 0;

	buf_init(&name, 256);
	buf_init(&value, PATH_LEN_MAX);
	buf_init(&origin, 2 * PATH_LEN_MAX);
	for (size_t item = 0;; item++) {
		r = config_get(c, key, item, &name, &value, &where);
		if (r == 0)
			r = put_origin(c, key, where, &origin);
		if (r < 0)
			break;
		show_value(s, view(&name), view(&value), view(&origin));
	}
	if (r != -ENOENT)
		note(s, r);
}

static void
show_profile(struct show *s, const struct config_profile *p)
{
	scoped_buf name, origin;

	buf_init(&name, 256);
	buf_init(&origin, 2 * PATH_LEN_MAX);
	for (size_t i = 0; i < p->rule_count; i++) {
		const struct config_rule *rule = &p->rules[i];

		buf_clear(&name);
		buf_clear(&origin);
		note(s, buf_printf(&name, "profile.%s.%s", p->name,
			    config_access_name(rule->access)));
		note(s, config_place_put(rule->at, &origin));
		show_value(s, view(&name), bytes_of(rule->path), view(&origin));
	}
}

static void
show_config(struct show *s, const struct config *c)
{
	begin(s, "configuration", "configuration: key, value, origin");
	for (int key = 0; key < CONFIG_KEYS + LIMIT_ROWS; key++)
		show_key(s, c, key);
	for (size_t i = 0; i < c->profiles.count; i++)
		show_profile(s, c->profiles.items[i]);
	end(s, false);
}

/* --- filters -------------------------------------------------------------- */

static void
show_filter(struct show *s, const char *role, const struct compiled *code,
    const char *origin)
{
	char hex[SHA256_HEX_SIZE], count[16];

	sha256_hex((struct bytes){.data = (const uint8_t *)code->code,
		       .len = code->len * sizeof code->code[0]},
	    hex);
	(void)snprintf(count, sizeof count, "%zu", code->len);
	begin_item(s);
	if (s->json) {
		put_json(s, "process", bytes_of(role));
		put_json(s, "sha256", bytes_of(hex));
		put_json(s, "instructions", bytes_of(count));
		put_json(s, "origin", bytes_of(origin));
	} else {
		note(s, buf_printf(&s->out, "%-14s %s %5s %s\n", role, hex,
			    count, origin));
	}
	end_item(s);
}

static int
show_source(struct show *s, const struct policy_source *source, struct err *e)
{
	scoped_free struct compiled *code = malloc(sizeof *code);
	struct syscall_policy *p = policy_source_parse(source);
	int r = -ENOMEM;

	if (code != NULL && p != NULL)
		r = compile_policy(p, compile_arch(), code, e);
	if (r == 0)
		show_filter(s, source->role, code, "built-in");
	syscall_policy_free(p);
	return r;
}

static int
show_filters(struct show *s, const struct config *c, struct err *e)
{
	scoped_free struct compiled *child = NULL;
	int r = 0;

	begin(s, "filters",
	    "system call filters: process, SHA-256, instructions, origin");
	for (const struct policy_source *it = policy_sources;
	     it->role != NULL && r == 0; it++)
		if (c->child_policy == NULL || strcmp(it->role, "child") != 0)
			r = show_source(s, it, e);
	if (r == 0 && c->child_policy != NULL)
		r = child_policy_compile(c->child_policy, &child, e);
	if (child != NULL)
		show_filter(s, "child", child, c->child_policy);
	end(s, false);
	return r;
}

/* --- all ------------------------------------------------------------------ */

static void
show_lockdowns(struct show *s)
{
	begin(s, "processes", "lock-down of each process");
	for (const struct process_row *p = process_rows; p->name != NULL; p++) {
		begin_item(s);
		if (s->json) {
			put_json(s, "process", bytes_of(p->name));
			put_json(s, "lockdown", bytes_of(p->lockdown));
		} else {
			note(s, buf_printf(&s->out, "%-11s %s\n", p->name,
				    p->lockdown));
		}
		end_item(s);
	}
	end(s, false);
}

/* What the policy does without, and what is left then. */
static void
show_degraded(struct show *s, const struct config *c)
{
	static const struct {
		enum layer lacks;
		const char *left;
	} rows[] = {
	    {LAYER_NAMESPACES,
		"programs of whole directories, in a Landlock domain behind "
		"child_no_unix, child_no_network, child_bare and "
		"child_no_attributes: they see the host's /proc and the names "
		"of its files; net and http behind Landlock, without a root "
		"of their own"},
	    {LAYER_NETNS,
		"programs have no sockets but unix ones: child_no_network; "
		"net without a network of its own"},
	    {LAYER_PROC, "programs have an empty /proc"},
	    {LAYER_SCOPE,
		"programs with the host's network reach its abstract sockets"},
	    {LAYER_CGROUP, "each process is limited by itself, no totals"},
	};

	begin(s, "degraded", "where the host lacks a layer: what is left");
	for (size_t i = 0; c->degraded && i < sizeof rows / sizeof rows[0];
	     i++) {
		const char *words = layer_row(rows[i].lacks)->words;

		begin_item(s);
		if (s->json) {
			put_json(s, "lacks", bytes_of(words));
			put_json(s, "left", bytes_of(rows[i].left));
		} else {
			note(s, buf_printf(&s->out, "%-36s %s\n", words,
				    rows[i].left));
		}
		end_item(s);
	}
	if (!c->degraded && !s->json)
		put(s, "nothing: what needs the layer is refused\n");
	end(s, true);
}

static int
show(const struct config *c, bool json)
{
	struct show s = {.json = json};
	struct err e = {0};
	int r;

	buf_init(&s.out, SHOW_MAX);
	if (json)
		put(&s, "{");
	show_config(&s, c);
	r = show_filters(&s, c, &e);
	show_lockdowns(&s);
	show_degraded(&s, c);
	if (json)
		put(&s, "}\n");
	if (r < 0)
		options_complain(e.text);
	else if (s.result < 0)
		options_complain(strerror(-s.result));
	else
		(void)fwrite(s.out.data, 1, s.out.len, stdout);
	r = r < 0 ? r : s.result;
	buf_done(&s.out);
	return r < 0 ? POLICY_ERROR : POLICY_YES;
}

int
policy_show(int argc, char **argv)
{
	bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
	struct options o = {0};
	struct config c = {0};
	int code = POLICY_ERROR;

	if (options_parse(&o, argc - json, argv + json, false) == 0 &&
	    options_load(&o, &c) == 0)
		code = show(&c, json);
	config_done(&c);
	options_done(&o);
	return code;
}
