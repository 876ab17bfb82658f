/*
 * Reaches decide, profile_of_entries, merge_layers, plan_access, and
 * ceiling_pack and ceiling_unpack. The input is lines: first a request's kind,
 * flags and preset as letters, then rules and paths:
 *
 *   pw/a/b    an entry of the request: a letter of `kinds` below, its access
 *             r w d (a capital: what is missing is skipped), a path or pattern
 *   +w/a/b    a path of the ceiling
 *   @/a/b     a project root
 *   ?/a/b     a path to ask about
 *
 * Asserts of each path asked about that its access is the lesser of what a
 * plain evaluation says of request and ceiling, so never more than either;
 * that deny wins over what is as near; that the path which explains an access
 * is the nearest in the plan; that parents precede children; that the network
 * is open only if both sides want that; and that a ceiling travels unchanged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/path.h"
#include "fuzz/fuzz.h"
#include "policy/ceiling.h"
#include "policy/glob.h"

#define ENTRIES_MAX 64
#define PATHS_MAX   32

/* In the order of enum profile_path. */
static const char kinds[] = "pgRmcjtsu";

struct scene {
	struct profile_entry entries[ENTRIES_MAX];
	struct bytes roots[PATHS_MAX], asked[PATHS_MAX];
	size_t asked_count;
	struct plan_path paths[PLAN_PATHS_MAX];
	char *texts[PLAN_PATHS_MAX];
	size_t text_count;
	struct decide_request request;
	struct decide_ceiling ceiling;
};

static uint8_t
letter(struct bytes line, size_t i)
{
	return i < line.len ? line.data[i] : 0;
}

static struct bytes
after(struct bytes line, size_t n)
{
	if (n > line.len)
		n = line.len;
	return (struct bytes){.data = line.data + n, .len = line.len - n};
}

static void
read_head(struct scene *s, struct bytes line)
{
	s->request.sandbox = (enum decide_sandbox)(letter(line, 0) % 5);
	s->request.network_enabled = letter(line, 1) & 1;
	s->request.managed_network = letter(line, 1) == 'm';
	s->request.network_proxy = letter(line, 1) == 'p';
	s->ceiling.network_enabled = letter(line, 1) & 2;
	s->ceiling.view = (enum plan_view)(letter(line, 2) % PLAN_VIEW_EMPTY);
	s->ceiling.unix_sockets = (enum plan_unix_sockets)(letter(line, 3) % 3);
	s->ceiling.custom = letter(line, 4) & 1;
	s->request.glob_scan_max_depth = letter(line, 5);
	s->request.names.tmpdir = bytes_of("/tmp");
	s->request.names.cwd = after(line, 6);
	if (!path_is_canonical(s->request.names.cwd))
		s->request.names.cwd.len = 0;
}

/* Only what sandbox_spec_unpack lets pass. */
static bool
is_entry(const struct profile_entry *entry)
{
	if (entry->path == PROFILE_PATH)
		return path_is_canonical(entry->text);
	if (entry->path == PROFILE_GLOB)
		return entry->text.len > 0 && !bytes_has_nul(entry->text);
	if (entry->path == PROFILE_PROJECT_ROOTS)
		return path_is_subpath(entry->text);
	return entry->text.len == 0;
}

static void
read_entry(struct scene *s, struct bytes line)
{
	const char *kind = memchr(kinds, letter(line, 0), sizeof kinds - 1);
	uint8_t access = letter(line, 1) | 0x20;
	struct profile_entry entry;

	if (kind == NULL || s->request.entry_count == ENTRIES_MAX)
		return;
	entry =
	    (struct profile_entry){.path = (enum profile_path)(kind - kinds),
		.access = access == 'r'	  ? PROFILE_READ
			  : access == 'w' ? PROFILE_WRITE
					  : PROFILE_DENY,
		.skip_missing = (letter(line, 1) & 0x20) == 0,
		.text = after(line, 2)};
	if (is_entry(&entry))
		s->entries[s->request.entry_count++] = entry;
}

static void
read_ceiling(struct scene *s, struct bytes line)
{
	struct bytes path = after(line, 2);
	uint8_t access = letter(line, 1);
	size_t n = s->text_count;

	if (n == PLAN_PATHS_MAX || !path_is_canonical(path))
		return;
	s->texts[n] = bytes_dup(path);
	assert(s->texts[n] != NULL);
	s->paths[n] = (struct plan_path){.path = s->texts[n],
	    .access = access == 'r'   ? PLAN_READ
		      : access == 'w' ? PLAN_WRITE
				      : PLAN_DENY};
	s->text_count++;
}

static void
read_scene(struct scene *s, struct reader *r)
{
	size_t roots = 0;

	read_head(s, fuzz_until(r, '\n'));
	while (r->left > 0) {
		struct bytes line = fuzz_until(r, '\n'), path = after(line, 1);
		uint8_t c = letter(line, 0);

		if (c == '+')
			read_ceiling(s, line);
		else if (c != '@' && c != '?')
			read_entry(s, line);
		else if (!path_is_canonical(path))
			continue;
		else if (c == '@' && roots < PATHS_MAX)
			s->roots[roots++] = path;
		else if (c == '?' && s->asked_count < PATHS_MAX)
			s->asked[s->asked_count++] = path;
	}
	s->request.entries = s->entries;
	s->request.names.roots = roots > 0 ? s->roots : NULL;
	s->request.names.root_count = roots;
	s->ceiling.paths = s->paths;
	s->ceiling.path_count = s->text_count;
}

/* --- a plain evaluation ------------------------------------------------------
 */

static unsigned int
components(const char *path, size_t len)
{
	unsigned int n = 0;

	for (size_t i = 0; i < len; i++)
		n += path[i] == '/' && len > 1;
	return n;
}

static bool
lies_in(struct bytes path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1)
		return true;
	return path.len >= n && memcmp(path.data, dir, n) == 0 &&
	       (path.len == n || path.data[n] == '/');
}

/*
 * *within: it is denied by more than the rule of the root, so also where a root
 * that starts empty has the path without a rule.
 */
static enum plan_access
evaluate(const struct profile *p, struct bytes path, bool *within)
{
	enum plan_access best = PLAN_NONE;
	bool given = false;
	int depth = -1;

	for (size_t i = 0; i < p->count; i++) {
		const struct profile_rule *rule = &p->rules[i];
		size_t len = strcspn(rule->path, "*?[");
		int own;

		if (rule->glob ? !glob_covers(bytes_of(rule->path), path)
			       : !lies_in(path, rule->path))
			continue;
		/* Of a pattern the directory before its first wildcard. */
		while (rule->glob && len > 1 && rule->path[len - 1] != '/')
			len--;
		own = (int)components(rule->path,
		    rule->glob ? (len > 1 ? len - 1 : len) : rule->len);
		given = given || !rule->glob;
		if (own > depth || (own == depth && rule->access > best))
			best = rule->access;
		if (own > depth)
			*within = false;
		if (own >= depth && rule->access == PLAN_DENY && rule->len > 1)
			*within = true;
		if (own > depth)
			depth = own;
	}
	*within = *within && best == PLAN_DENY;
	return given ? best : PLAN_NONE;
}

/* From least to most. */
static int
rank(enum plan_access a)
{
	switch (a) {
	case PLAN_NONE:
		return 0;
	case PLAN_DENY:
		return 1;
	case PLAN_READ:
		return 2;
	case PLAN_WRITE:
		break;
	}
	return 3;
}

/*
 * Of what is brought, one layer's denial is enough. What only one layer gives
 * again below a denial has no rule of its own, and stays denied.
 */
static void
check_access(const struct plan *plan, struct bytes path, enum plan_access got)
{
	const bool brought = plan_is_brought(plan, path);
	bool denied = false;
	int least = 3;

	for (unsigned int i = 0; i < PLAN_LAYERS; i++) {
		bool within = false;
		enum plan_access own =
		    evaluate(&plan->layers[i], path, &within);

		denied = denied || within;
		least = rank(own) < least ? rank(own) : least;
	}
	if (brought && denied)
		assert(got == PLAN_DENY);
	else if (brought && least == 0)
		assert(got == PLAN_NONE || got == PLAN_DENY);
	else
		assert(rank(got) == least);
}

static void
check_path(const struct plan *plan, struct bytes path)
{
	struct plan_answer a = plan_access(plan, path);
	const struct plan_path *nearest = NULL;

	check_access(plan, path, a.access);
	for (size_t i = 0; i < plan->path_count; i++)
		if (lies_in(path, plan->paths[i].path) &&
		    (nearest == NULL ||
			strlen(plan->paths[i].path) > strlen(nearest->path)))
			nearest = &plan->paths[i];
	assert(a.path == nearest);
	assert(a.glob == NULL || a.access == PLAN_DENY);
	if (nearest != NULL && a.glob == NULL)
		assert(a.access == nearest->access);
	if (nearest == NULL && a.glob == NULL)
		assert(a.access == PLAN_NONE);
}

static void
check_plan(const struct scene *s, const struct plan *plan)
{
	const struct decide_request *q = &s->request;
	bool wants = q->sandbox == DECIDE_SANDBOX_NULL ||
		     q->sandbox == DECIDE_SANDBOX_DISABLED ||
		     q->network_enabled;

	assert(plan->network_enabled == (s->ceiling.network_enabled && wants));
	assert(!q->managed_network && !q->network_proxy);
	if (q->sandbox == DECIDE_SANDBOX_RESTRICTED)
		assert(plan->never_root && plan->own_view &&
		       plan->unix_sockets != PLAN_UNIX_HOST);
	for (size_t i = 0; i < plan->path_count; i++) {
		struct bytes path = bytes_of(plan->paths[i].path);

		assert(plan->paths[i].access != PLAN_NONE);
		for (size_t k = 0; k < i; k++) {
			const char *before = plan->paths[k].path;

			assert(strcmp(before, plan->paths[i].path) != 0);
			assert(!lies_in(bytes_of(before), plan->paths[i].path));
		}
		check_path(plan, path);
	}
	for (size_t i = 0; i < s->asked_count; i++)
		check_path(plan, s->asked[i]);
}

static void
check_ceiling(const struct decide_ceiling *c)
{
	struct plan_path paths[PLAN_PATHS_MAX];
	struct decide_ceiling got;
	struct err e = {0};
	scoped_buf packed, again;

	buf_init(&packed, MIB);
	buf_init(&again, MIB);
	assert(ceiling_pack(c, &packed) == 0);
	if (ceiling_unpack(fuzz_view(&packed), paths, &got, &e) < 0) {
		assert(e.code == EPROTO && c->view == PLAN_VIEW_OPEN);
		return;
	}
	assert(got.path_count == c->path_count);
	assert(ceiling_pack(&got, &again) == 0);
	assert(bytes_equal(fuzz_view(&packed), fuzz_view(&again)));
	ceiling_free(&got);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene *s = calloc(1, sizeof *s);
	struct plan plan = {0};
	struct err e = {0};
	struct reader r;
	int rc;

	assert(s != NULL);
	reader_init(&r, data, size > FUZZ_LEN_MAX ? 0 : size);
	read_scene(s, &r);
	rc = decide(&s->request, &s->ceiling, &plan, &e);
	if (rc == 0)
		check_plan(s, &plan);
	else
		assert(plan.paths == NULL && e.code == -rc &&
		       e.text[0] != '\0' && rc != -ENOMEM);
	plan_done(&plan);
	check_ceiling(&s->ceiling);
	for (size_t i = 0; i < s->text_count; i++)
		free(s->texts[i]);
	free(s);
	return 0;
}
