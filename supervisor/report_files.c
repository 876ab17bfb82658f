/* The file view of each preset and profile. */
#include <errno.h>
#include <string.h>

#include "supervisor/policy_command.h"
#include "supervisor/report.h"

#define DEPTH_MAX (PATH_LEN_MAX / 2) /* components of a path */

/* A ceiling to be shown: the configuration's own, or one beside it. */
struct shown {
	struct config config; /* a copy that borrows all */
	struct policy_ceiling ceiling;
	bool in_force;
	const char *kind, *name; /* "preset", "strict" */
};

/* How an access is told and drawn. */
struct look {
	const char *class, *sign, *words;
};

static struct look
look_of(const struct plan_path *p)
{
	if (p->missing == PLAN_MISSING_PLACEHOLDER)
		return (struct look){"protected", "\xe2\x97\x86",
		    "protected: read only, and cannot be made"};
	switch (p->access) {
	case PLAN_NONE:
		break;
	case PLAN_READ:
		return (struct look){"read", "\xe2\x97\x8b", "read"};
	case PLAN_WRITE:
		return (struct look){"write", "\xe2\x97\x8f", "read and write"};
	case PLAN_DENY:
		return (struct look){"deny", "\xe2\x9c\x95",
		    p->searched ? "denied, but for what is below" : "denied"};
	}
	return (struct look){"none", "\xc2\xb7", "not there"};
}

/* A directory that nothing gives, on the way to something that is given. */
static const struct look look_way = {"read", "\xe2\x97\x8b",
    "read: empty but for what is below"};

/* --- what decides --------------------------------------------------------- */

static void
put_ceiling_rule(struct html *h, const struct shown *s, const char *path)
{
	const struct config_rule *rule = policy_ceiling_rule(&s->ceiling, path);

	if (rule != NULL) {
		report_place(h, rule->at);
		html_put(h, ": <code>%s = %s</code>",
		    config_access_name(rule->access), rule->path);
	} else if (s->ceiling.has_profile) {
		html_put(h, "the root that every profile has");
	} else {
		html_put(h, "preset %s", s->name);
	}
}

/* The layer whose access is the lesser, the ceiling where they agree. */
static void
put_decision(struct html *h, const struct shown *s, const struct plan *plan,
    const struct plan_path *p)
{
	const struct profile_rule *client, *ceiling;
	enum plan_access wanted, granted;

	wanted = profile_access(&plan->layers[PLAN_CLIENT], bytes_of(p->path),
	    &client);
	granted = profile_access(&plan->layers[PLAN_CEILING], bytes_of(p->path),
	    &ceiling);
	if (client != NULL && p->access == wanted && wanted != granted)
		html_put(h, "the request, for <code>%s</code>", client->path);
	else
		put_ceiling_rule(h, s,
		    ceiling != NULL ? ceiling->path : p->path);
}

/* --- the tree ------------------------------------------------------------- */

/* A path without what its parent in the tree has of it. */
static const char *
below(const char *path, const char *parent)
{
	size_t len = parent == NULL ? 0 : strlen(parent);

	if (len <= 1)
		return path;
	return path + len + 1;
}

static void
put_node(struct html *h, const char *text, struct look look)
{
	html_put(h,
	    "<li class=\"%s\"><span class=\"node\"><i aria-hidden=\"true\">%s"
	    "</i><code>%s</code> <b>%s</b> <small>",
	    look.class, look.sign, text, look.words);
}

/* What is denied has a way through it where the view has nothing to mask. */
static void
put_path(struct html *h, const struct shown *s, const struct plan *plan,
    const struct plan_path *p, const char *parent)
{
	const char *to = p->access == PLAN_DENY ? policy_path_way(&s->ceiling,
						      &s->config, plan, p->path)
						: NULL;

	put_node(h, below(p->path, parent), to != NULL ? look_way : look_of(p));
	if (to != NULL)
		html_put(h, "on the way to <code>%s</code>", to);
	else
		put_decision(h, s, plan, p);
	html_put(h, "</small></span><ul>\n");
}

/*
 * Paths come with parents before children and what lies below a path directly
 * behind it, so a stack of open ones makes the tree.
 */
static void
put_tree(struct html *h, const struct shown *s, const struct plan *plan,
    const char *label)
{
	const struct plan_path *open[PLAN_PATHS_MAX + SANDBOX_ROOTS_MAX] = {0};
	size_t depth = 0;

	html_put(h, "<ul class=\"tree\" aria-label=\"%s\">\n", label);
	if (plan->path_count == 0 || strcmp(plan->paths[0].path, "/") != 0) {
		put_node(h, "/", look_way);
		html_put(h, "</small></span></li>\n");
	}
	for (size_t i = 0; i < plan->path_count; i++) {
		const struct plan_path *p = &plan->paths[i];
		const char *parent;

		for (; depth > 0 && !profile_is_in(bytes_of(p->path),
					bytes_of(open[depth - 1]->path));
		     depth--)
			html_put(h, "</ul></li>\n");
		if (depth == sizeof open / sizeof open[0])
			break;
		parent = depth > 0 ? open[depth - 1]->path : NULL;
		put_path(h, s, plan, p, parent);
		open[depth++] = p;
	}
	while (depth-- > 0)
		html_put(h, "</ul></li>\n");
	html_put(h, "</ul>\n");
}

/* --- what else a ceiling says --------------------------------------------- */

static const char *
view_words(enum plan_view view)
{
	switch (view) {
	case PLAN_VIEW_HOST:
		return "the host's files, read only where nothing else is said";
	case PLAN_VIEW_MINIMAL:
		return "an empty root with what programs need to run";
	case PLAN_VIEW_OPEN:
		return "the host's files as they are: no ceiling";
	case PLAN_VIEW_EMPTY:
		break;
	}
	return "an empty root with what is listed";
}

static const char *
sockets_words(enum plan_unix_sockets sockets)
{
	switch (sockets) {
	case PLAN_UNIX_PRIVATE:
		return "private: none of the host's can be reached";
	case PLAN_UNIX_DENY:
		return "deny: none can be made, but pairs";
	case PLAN_UNIX_HOST:
		break;
	}
	return "host: as the file view lets it";
}

static void
put_network(struct html *h, const struct shown *s)
{
	const struct config *c = &s->config;
	const struct config_note *note;
	scoped_buf name, value;

	buf_init(&name, 256);
	buf_init(&value, 256);
	html_put(h, "<div><dt>Network</dt><dd>%s",
	    c->network == NETWORK_ENABLED
		? "the host's"
		: "loopback alone, of the session's own");
	if (config_get(c, KEY_NETWORK, 0, &name, &value, &note) == 0) {
		html_put(h, " <small>");
		report_origin(h, c, KEY_NETWORK, note);
		html_put(h, "</small>");
	}
	html_put(h, "</dd></div>\n");
}

static void
put_rest(struct html *h, const struct shown *s)
{
	const struct plan *plan = &s->ceiling.plan;

	html_put(h,
	    "<dl class=\"rest\">\n<div><dt>Root</dt><dd>%s</dd></div>\n",
	    view_words(plan->view));
	put_network(h, s);
	html_put(h,
	    "<div><dt>Unix sockets</dt><dd>%s</dd></div>\n"
	    "<div><dt>As root of the host</dt><dd>%s</dd></div>\n</dl>\n",
	    sockets_words(plan->unix_sockets),
	    plan->never_root || s->config.allow_root == 0 ||
		    s->config.preset != PRESET_OPEN
		? "never"
		: "if the server is: sandbox.allow_root");
}

/* --- a usual request ------------------------------------------------------ */

/* What coding agents send: everything readable, the project and scratch space
 * writable, and in the project what runs with the user's rights read only. */
static int
decide_usual(const struct shown *s, struct plan *plan, struct err *e)
{
	static const struct profile_entry entries[] = {
	    {.path = PROFILE_ROOT, .access = PROFILE_READ},
	    {.path = PROFILE_PROJECT_ROOTS, .access = PROFILE_WRITE},
	    {.path = PROFILE_SLASH_TMP, .access = PROFILE_WRITE},
	    {.path = PROFILE_PROJECT_ROOTS,
		.access = PROFILE_READ,
		.text = {(const uint8_t *)".git", 4}},
	    {.path = PROFILE_PROJECT_ROOTS,
		.access = PROFILE_READ,
		.text = {(const uint8_t *)".agents", 7}},
	    {.path = PROFILE_PROJECT_ROOTS,
		.access = PROFILE_READ,
		.text = {(const uint8_t *)".codex", 6}},
	};
	const struct list *workspaces = &s->config.workspaces;
	struct bytes roots[WORKSPACES_MAX];
	const struct decide_request q = {.sandbox = DECIDE_SANDBOX_RESTRICTED,
	    .entries = entries,
	    .entry_count = sizeof entries / sizeof entries[0],
	    .names = {.roots = roots,
		.root_count = workspaces->count,
		.tmpdir = bytes_of("/tmp")}};

	for (size_t i = 0; i < workspaces->count; i++)
		roots[i] = bytes_of(workspaces->items[i]);
	return decide(&q, &s->ceiling.ceiling, plan, e);
}

static void
put_usual(struct html *h, const struct shown *s)
{
	struct plan plan = {0};
	struct err e = {0};

	html_put(h,
	    "<h4>What is left of a usual request</h4>\n"
	    "<p>An agent asks to read everything and to write its project; "
	    "<code>.git</code>, <code>.agents</code> and <code>.codex</code> "
	    "in it, which its user's programs trust, it leaves alone. It gets "
	    "the lesser of that and of the ceiling.</p>\n");
	if (decide_usual(s, &plan, &e) < 0)
		html_put(h, "<p>It is refused: %s</p>\n", e.text);
	else
		put_tree(h, s, &plan, "Files of a usual request");
	plan_done(&plan);
}

/* --- all ------------------------------------------------------------------ */

static void
put_shown(struct html *h, const struct shown *s)
{
	const struct config_profile *p = config_profile_of(&s->config);

	html_put(h, "<article class=\"view%s\">\n<h3>%s <q>%s</q>",
	    s->in_force ? " in-force" : "", s->kind, s->name);
	html_put(h, s->in_force ? " <span class=\"mark\">in force</span></h3>\n"
				: "</h3>\n");
	if (p != NULL) {
		html_put(h, "<p class=\"made\">Begins at ");
		report_place(h, p->at);
		html_put(h, "</p>\n");
	}
	if (s->in_force && s->ceiling.trouble.code != 0)
		html_put(h,
		    "<p class=\"trouble\">A server would not start with it "
		    "here: %s</p>\n",
		    s->ceiling.trouble.text);
	put_rest(h, s);
	html_put(h, "<h4>The most that any request can get</h4>\n");
	put_tree(h, s, &s->ceiling.plan, "Files of the ceiling");
	put_usual(h, s);
	html_put(h, "</article>\n");
}

static int
decide_shown(struct shown *s, const struct config *c, struct err *e)
{
	int r;

	/* What the preset decides is decided anew. */
	if (c->level[KEY_NETWORK] == CONFIG_PRESET)
		s->config.level[KEY_NETWORK] = CONFIG_BUILTIN;
	r = config_finish(&s->config, e);
	return r < 0 ? r : policy_ceiling_init(&s->ceiling, &s->config, e);
}

/* Show what c would be with that preset and profile. */
static int
show(struct html *h, const struct config *c, uint32_t preset,
    const char *profile, struct err *e)
{
	scoped_free struct shown *s = calloc(1, sizeof *s);
	scoped_free char *copy = profile != NULL ? strdup(profile) : NULL;
	int r;

	if (s == NULL || (profile != NULL && copy == NULL))
		return err_set(e, ENOMEM, "out of memory");
	*s = (struct shown){.config = *c,
	    .kind = profile != NULL ? "Profile" : "Preset",
	    .name = profile != NULL ? profile : config_preset_name(preset)};
	s->config.preset = preset;
	s->config.profile = copy;
	s->in_force =
	    profile != NULL
		? c->profile != NULL && strcmp(profile, c->profile) == 0
		: c->profile == NULL && preset == c->preset;
	r = decide_shown(s, c, e);
	if (r == 0)
		put_shown(h, s);
	policy_ceiling_done(&s->ceiling);
	return r;
}

/* A profile stands on any preset but open. */
static uint32_t
preset_below(const struct config *c)
{
	return c->preset == PRESET_OPEN ? (uint32_t)PRESET_WORKSPACE
					: c->preset;
}

static int
show_profile(struct html *h, const struct config *c, const char *name,
    struct err *e)
{
	struct err why = {0};
	int r = show(h, c, preset_below(c), name, &why);

	/* One that is not in force does no harm. */
	if (r < 0 && (c->profile == NULL || strcmp(c->profile, name) != 0)) {
		html_put(h,
		    "<article class=\"view\">\n<h3>Profile <q>%s</q></h3>\n"
		    "<p>It would be refused: %s</p>\n</article>\n",
		    name, why.text);
		return 0;
	}
	return r < 0 ? err_set(e, -r, "%s", why.text) : 0;
}

static int
show_all(struct html *h, const struct config *c, struct err *e)
{
	static const uint32_t presets[] = {PRESET_WORKSPACE, PRESET_STRICT,
	    PRESET_OPEN};
	int r = 0;

	/* What is in force comes first. */
	if (c->profile != NULL)
		r = show_profile(h, c, c->profile, e);
	else
		r = show(h, c, c->preset, NULL, e);
	for (size_t i = 0; i < c->profiles.count && r == 0; i++)
		if (c->profile == NULL ||
		    strcmp(c->profiles.items[i]->name, c->profile) != 0)
			r = show_profile(h, c, c->profiles.items[i]->name, e);
	for (size_t i = 0; i < sizeof presets / sizeof presets[0] && r == 0;
	     i++)
		if (c->profile != NULL || presets[i] != c->preset)
			r = show(h, c, presets[i], NULL, e);
	return r;
}

int
report_files(struct html *h, const struct config *c, struct err *e)
{
	static const struct plan_path looks[] = {
	    {.access = PLAN_READ},
	    {.access = PLAN_WRITE},
	    {.access = PLAN_DENY},
	    {.access = PLAN_READ, .missing = PLAN_MISSING_PLACEHOLDER},
	};
	int r;

	report_begin(h, "files", "Files");
	html_put(h,
	    "<p>Of the lines that name a path or a directory above it, the one "
	    "with the longest path decides; it is named beside each. Every "
	    "session has a /tmp and a /dev/shm of its own, and every program "
	    "its own /dev and /proc. The modes and owners of files hold "
	    "besides.</p>\n");
	if (c->degraded != 0)
		html_put(h,
		    "<p class=\"trouble\">sandbox.degraded = allow: where the "
		    "host lacks a layer, less holds than is said here. What "
		    "this "
		    "one lacks is told under <a href=\"#host\">This "
		    "host</a>.</p>\n");
	html_put(h, "<ul class=\"legend\">");
	for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
		struct look look = look_of(&looks[i]);

		html_put(h,
		    "<li><i class=\"sign %s\" aria-hidden=\"true\">%s</i>%s"
		    "</li>",
		    look.class, look.sign, look.words);
	}
	html_put(h, "</ul>\n");
	r = show_all(h, c, e);
	report_end(h);
	return r;
}
