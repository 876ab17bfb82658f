/* Which process may make which system call, and why. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/policy_command.h"
#include "supervisor/report.h"
#include "supervisor/report_calls.h"

/* What a filter says of a call, over all of its rules. */
enum verdict {
	VERDICT_DEFAULT, /* no rule: the filter's default */
	VERDICT_ALLOWED,
	VERDICT_TESTED,	 /* allowed where a test holds */
	VERDICT_REFUSED, /* an errno of its own */
	VERDICT_KILLED,
};

static const struct {
	const char *class, *sign, *words;
} verdicts[] = {
    [VERDICT_DEFAULT] = {"no", "\xc2\xb7", "no rule"},
    [VERDICT_ALLOWED] = {"yes", "\xe2\x97\x8f", "allowed"},
    [VERDICT_TESTED] = {"test", "\xe2\x97\x90", "allowed where a test holds"},
    [VERDICT_REFUSED] = {"errno", "\xe2\x97\x8b", "refused with an error"},
    [VERDICT_KILLED] = {"kill", "\xe2\x9c\x95", "ends the process"},
};

/* --- names ---------------------------------------------------------------- */

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Every call that a rule of any filter is about, sorted, each once: heap,
 * names borrowed. NULL when out of memory. */
static const char **
find_names(const struct calls *all, size_t *count)
{
	size_t room = 0, n = 0, kept = 0;
	const char **names;

	for (size_t i = 0; i < all->filter_count; i++)
		room += all->filters[i].policy->rule_count;
	names = calloc(room + 1, sizeof *names);
	if (names == NULL)
		return NULL;
	for (size_t i = 0; i < all->filter_count; i++) {
		const struct calls_filter *f = &all->filters[i];

		for (size_t k = 0; k < f->policy->rule_count; k++)
			if (calls_rule_counts(f, k))
				names[n++] = f->policy->rules[k].name;
	}
	qsort(names, n, sizeof *names, compare_names);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || strcmp(names[kept - 1], names[i]) != 0)
			names[kept++] = names[i];
	*count = kept;
	return names;
}

/* --- the matrix ----------------------------------------------------------- */

/* Whether rule k of a filter is about the call. */
static bool
is_about(const struct calls_filter *f, size_t k, const char *name)
{
	return strcmp(f->policy->rules[k].name, name) == 0 &&
	       calls_rule_counts(f, k);
}

static enum verdict
judge(const struct calls_filter *f, const char *name)
{
	enum verdict v = VERDICT_DEFAULT;

	for (size_t k = 0; k < f->policy->rule_count; k++) {
		const struct syscall_rule *rule = &f->policy->rules[k];

		if (!is_about(f, k, name))
			continue;
		if (rule->action.kind == SYSCALL_ALLOW)
			return rule->count == 0 && v == VERDICT_DEFAULT
				   ? VERDICT_ALLOWED
				   : VERDICT_TESTED;
		v = rule->action.kind == SYSCALL_KILL ? VERDICT_KILLED
						      : VERDICT_REFUSED;
	}
	return v;
}

static void
put_ids(struct html *h, const struct calls *all, const struct calls_filter *f,
    const char *name, const char *before, bool one)
{
	for (size_t k = 0; k < f->policy->rule_count; k++) {
		if (!is_about(f, k, name))
			continue;
		html_put(h, "%sr-%s-%u", before, calls_file_of(all, f, k)->id,
		    f->policy->rules[k].line);
		if (one)
			return;
		before = " ";
	}
}

static void
put_cell(struct html *h, const struct calls *all, const struct calls_filter *f,
    const char *name)
{
	enum verdict v = judge(f, name);

	if (v == VERDICT_DEFAULT) {
		html_put(h, "<td class=\"no\">%s</td>",
		    verdicts[VERDICT_DEFAULT].sign);
		return;
	}
	html_put(h, "<td class=\"%s\"><a href=\"", verdicts[v].class);
	put_ids(h, all, f, name, "#", true);
	html_put(h, "\" aria-label=\"%s\" aria-describedby=\"",
	    verdicts[v].words);
	put_ids(h, all, f, name, "", false);
	html_put(h, "\">%s</a></td>", verdicts[v].sign);
}

static void
put_matrix_head(struct html *h, const struct calls *all)
{
	html_put(h,
	    "<div class=\"scroll tall\" role=\"region\" aria-label=\"System "
	    "calls by process\">\n<table class=\"matrix\" id=\"matrix\">\n"
	    "<caption class=\"unseen\">System calls by process</caption>\n"
	    "<thead><tr><th scope=\"col\">call</th>");
	for (size_t i = 0; i < all->filter_count; i++) {
		const struct calls_filter *f = &all->filters[i];

		html_put(h,
		    "<th scope=\"col\"><span><a href=\"#f-%s\">%s</a><small> "
		    "else %s</small></span></th>",
		    f->role, f->role, policy_action_name(f->policy->fallback));
	}
	html_put(h, "</tr></thead>\n<tbody>\n");
}

static int
put_matrix(struct html *h, const struct calls *all)
{
	size_t count = 0;
	scoped_free const char **names = find_names(all, &count);

	if (names == NULL)
		return -ENOMEM;
	put_matrix_head(h, all);
	for (size_t i = 0; i < count; i++) {
		html_put(h, "<tr><th scope=\"row\"><code>");
		html_word(h, names[i]);
		html_put(h, "</code></th>");
		for (size_t k = 0; k < all->filter_count; k++)
			put_cell(h, all, &all->filters[k], names[i]);
		html_put(h, "</tr>\n");
	}
	report_table_end(h);
	return 0;
}

static void
put_legend(struct html *h)
{
	html_put(h, "<ul class=\"legend\">");
	for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++)
		html_put(h,
		    "<li><i class=\"sign %s\" aria-hidden=\"true\">%s</i>%s"
		    "</li>",
		    verdicts[i].class, verdicts[i].sign,
		    i == VERDICT_DEFAULT ? "no rule: what the column's head "
					   "says, \xe2\x80\x9c"
					   "else\xe2\x80\x9d"
					 : verdicts[i].words);
	html_put(h, "</ul>\n");
}

/* --- filters -------------------------------------------------------------- */

static void
put_filters(struct html *h, const struct calls *all)
{
	static const char *const head[] = {"Filter", "Made of", "Instructions",
	    "SHA-256 of the filter", "Any other call",
	    "A number unknown to this release", NULL};

	report_table(h, "filters", "Filters", head);
	for (size_t i = 0; i < all->filter_count; i++) {
		const struct calls_filter *f = &all->filters[i];
		const struct syscall_policy *p = f->policy;

		html_put(h, "<tr id=\"f-%s\"><th scope=\"row\">%s</th><td>",
		    f->role, f->role);
		for (size_t k = 0; k < f->file_count; k++) {
			const struct calls_file *file =
			    &all->files[f->files[k]];

			html_put(h, "%s<a href=\"#c-%s\"><code>%s</code></a>",
			    k > 0 ? ", then " : "", file->id, file->name);
		}
		html_put(h,
		    "</td><td class=\"figure\">%zu</td><td><code "
		    "class=\"hash\">%s</code></td><td>%s</td><td>%s</td>"
		    "</tr>\n",
		    f->instructions, f->sha256, policy_action_name(p->fallback),
		    policy_action_name(
			p->has_unknown ? p->unknown : p->fallback));
	}
	report_table_end(h);
}

/* --- rules ---------------------------------------------------------------- */

static const char *
arch_words(unsigned int arches)
{
	if (arches == SYSCALL_ARCH_X86_64)
		return "x86_64 only";
	return arches == SYSCALL_ARCH_AARCH64 ? "aarch64 only" : "";
}

static void
put_rule(struct html *h, const struct calls_file *f,
    const struct syscall_rule *rule)
{
	html_put(h,
	    "<tr id=\"r-%s-%u\"><td class=\"figure\">%u</td>"
	    "<th scope=\"row\"><code>%s</code>",
	    f->id, rule->line, rule->line, rule->name);
	if (rule->arches != SYSCALL_ARCH_ALL)
		html_put(h, " <small>%s</small>", arch_words(rule->arches));
	html_put(h, "</th><td>");
	if (rule->test.len > 0) {
		html_put(h, "<code class=\"test\">");
		html_text(h, rule->test);
		html_put(h, "</code> ");
	}
	if (rule->action.kind != SYSCALL_ALLOW)
		html_put(h, "<b class=\"action\">%s</b>",
		    policy_action_name(rule->action));
	else if (rule->test.len == 0)
		html_put(h, "<span class=\"always\">always</span>");
	html_put(h, "</td><td><b>");
	html_text(h, rule->caller);
	html_put(h, "</b>: ");
	html_text(h, rule->reason);
	html_put(h, "</td></tr>\n");
}

/* The lines of comment that a file begins with: what it is about. */
static void
put_opening(struct html *h, struct bytes text)
{
	html_put(h, "<p class=\"opening\">");
	while (text.len > 0 && text.data[0] == '#') {
		const uint8_t *end = memchr(text.data, '\n', text.len);
		size_t len = end == NULL ? text.len : (size_t)(end - text.data);

		html_text(h,
		    (struct bytes){.data = text.data + 1, .len = len - 1});
		len += end != NULL;
		text.data += len;
		text.len -= len;
	}
	html_put(h, "</p>\n");
}

static void
put_file(struct html *h, const struct calls_file *f)
{
	static const char *const head[] = {"Line", "Call", "Where this holds",
	    "Who makes it: why", NULL};
	const struct syscall_policy *p = f->policy;

	html_put(h, "<h3 id=\"c-%s\"><code>%s</code></h3>\n", f->id, f->name);
	put_opening(h, f->text);
	html_put(h, "<p class=\"count\">%zu rules.", p->rule_count);
	if (p->has_fallback)
		html_put(h, " Any other call: <b>%s</b>.",
		    policy_action_name(p->fallback));
	if (p->has_unknown)
		html_put(h, " A number unknown to this release: <b>%s</b>.",
		    policy_action_name(p->unknown));
	html_put(h, "</p>\n");
	report_table(h, "rules", f->name, head);
	for (size_t i = 0; i < p->rule_count; i++)
		put_rule(h, f, &p->rules[i]);
	report_table_end(h);
}

static int
put_all(struct html *h, const struct calls *all)
{
	int r;

	html_put(h,
	    "<p>Each process loads its filter before it looks at any input, "
	    "and cannot take it off. The rules of a call are tried in order; "
	    "the first whose test holds decides. Where none does, the call "
	    "gets what the column says under \xe2\x80\x9c"
	    "else\xe2\x80\x9d: an errno is "
	    "returned to the caller, <b>kill</b> ends the process. Exec's "
	    "filter and the supervisor's bind their descendants too, so they "
	    "hold the rules of those. Filters whose name begins with "
	    "<b>child_</b> stand before <b>child</b> where a plan or the host "
	    "asks for it; the strictest answer counts. Made for %s.</p>\n"
	    "<p class=\"hint\">Point at a sign, tap it, or go there by Tab and "
	    "the arrow keys to read the lines that decide; Enter goes to "
	    "them.</p>\n",
	    compile_arch() == SYSCALL_ARCH_X86_64 ? "x86_64" : "aarch64");
	put_legend(h);
	html_put(h, "<p class=\"finder\" hidden><label>Only calls with "
		    "<input id=\"find\" type=\"search\" autocomplete=\"off\" "
		    "spellcheck=\"false\"></label> "
		    "<output id=\"found\" for=\"find\"></output></p>\n");
	r = put_matrix(h, all);
	html_put(h, "<h3>The filters</h3>\n");
	put_filters(h, all);
	for (size_t i = 0; i < all->file_count; i++)
		put_file(h, &all->files[i]);
	return r;
}

int
report_syscalls(struct html *h, const struct config *c, struct err *e)
{
	struct calls *all = malloc(sizeof *all);
	int r;

	if (all == NULL)
		return err_set(e, ENOMEM, "out of memory");
	r = calls_init(all, c, e);
	report_begin(h, "calls", "System calls");
	if (r == 0 && put_all(h, all) < 0)
		r = err_set(e, ENOMEM, "out of memory");
	report_end(h);
	calls_done(all);
	free(all);
	return r;
}
