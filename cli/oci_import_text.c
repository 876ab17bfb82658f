#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/oci_way.h"

static bool
is_always(const struct way *way)
{
	for (size_t i = 0; i < SYSCALL_ARGS; i++)
		if (way->asks[i].relation != ANY)
			return false;
	return true;
}

static bool
same_asks(const struct way *a, const struct way *b)
{
	bool same = true;

	for (size_t n = 0; n < SYSCALL_ARGS; n++)
		same = same && oci_same_ask(&a->asks[n], &b->asks[n]);
	return same;
}

static bool
same_but_arches(const struct way *a, const struct way *b)
{
	return strcmp(a->name, b->name) == 0 &&
	       a->action.kind == b->action.kind &&
	       a->action.errnum == b->action.errnum && same_asks(a, b);
}

/* Each call and test once, for the architectures of all that say it. */
static void
join_arches(struct import *m)
{
	for (size_t i = 0; i < m->count; i++)
		for (size_t k = 0; k < i; k++) {
			if (!same_but_arches(&m->ways[i], &m->ways[k]))
				continue;
			m->ways[k].arches |= m->ways[i].arches;
			m->ways[i].arches = 0;
			break;
		}
}

/* A test says nothing for an architecture on which the call is decided without
 * one: a policy takes no two rules of which one leaves nothing to the other. */
static void
leave_out(struct import *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct way *way = &m->ways[i];

		for (size_t k = 0; k < m->count && !is_always(way); k++) {
			const struct way *other = &m->ways[k];

			if (is_always(other) &&
			    strcmp(other->name, way->name) == 0)
				way->arches &= ~other->arches;
		}
	}
}

/* Runtimes know no order, policies do. */
static int
check_actions(const struct import *m, struct err *e)
{
	for (size_t i = 0; i < m->count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct way *a = &m->ways[i], *b = &m->ways[k];

			if (strcmp(a->name, b->name) == 0 &&
			    (a->arches & b->arches) != 0 &&
			    (a->action.kind != b->action.kind ||
				a->action.errnum != b->action.errnum))
				return err_set(e, ENOTSUP,
				    "%.40s: entries with several actions",
				    a->name);
		}
	return 0;
}

/* What the parser of policies has room for. A set is one test, values that must
 * not be are one each. */
static int
check_room(const struct import *m, struct err *e)
{
	size_t rules = 0, tests = 0, values = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct way *way = &m->ways[i];

		if (way->arches == 0)
			continue;
		rules++;
		for (size_t n = 0; n < SYSCALL_ARGS; n++) {
			const struct ask *a = &way->asks[n];

			tests +=
			    a->relation == NOT_EQUAL ? a->count : a->count > 0;
			values += a->count;
		}
	}
	if (rules > SYSCALL_RULES_MAX)
		return err_set(e, E2BIG, "more than %d rules",
		    SYSCALL_RULES_MAX);
	if (tests > SYSCALL_COMPARES_MAX)
		return err_set(e, E2BIG, "more than %d tests",
		    SYSCALL_COMPARES_MAX);
	return values > SYSCALL_VALUES_MAX
		   ? err_set(e, E2BIG, "more than %d values",
			 SYSCALL_VALUES_MAX)
		   : 0;
}

static int
put_values(const struct ask *a, struct buf *out)
{
	int r = buf_printf(out, " in {");

	for (size_t i = 0; i < a->count && r == 0; i++)
		r = buf_printf(out, "%s0x%" PRIx64, i > 0 ? ", " : "",
		    a->values[i]);
	return r < 0 ? r : buf_printf(out, "}");
}

static int
put_ask(const struct ask *a, size_t at, struct buf *out)
{
	bool wide = a->mask > UINT32_MAX;
	bool whole = a->mask == (wide ? UINT64_MAX : UINT32_MAX);
	const char *op = a->relation == NOT_EQUAL ? "!=" : "==";
	int r = 0;

	for (size_t i = 0; i < a->count && r == 0; i++) {
		r = buf_printf(out, "%s%s%zu", i > 0 ? " && " : "",
		    wide ? "ptr" : "arg", at);
		if (r == 0 && !whole)
			r = buf_printf(out, " & 0x%" PRIx64, a->mask);
		if (r == 0 && a->count > 1 && a->relation == MASKED)
			return put_values(a, out);
		if (r == 0)
			r = buf_printf(out, " %s 0x%" PRIx64, op, a->values[i]);
	}
	return r;
}

static int
put_action(struct syscall_action a, struct buf *out)
{
	return buf_printf(out, "%s",
	    a.kind == SYSCALL_ALLOW  ? "allow"
	    : a.kind == SYSCALL_KILL ? "kill"
				     : syscall_errno_name(a.errnum));
}

static int
put_way(const struct way *way, struct buf *out)
{
	const char *between = ": ";
	int r = buf_printf(out, "%s%s", way->name,
	    way->arches == SYSCALL_ARCH_ALL	 ? ""
	    : way->arches == SYSCALL_ARCH_X86_64 ? " [x86_64]"
						 : " [aarch64]");

	for (size_t i = 0; i < SYSCALL_ARGS && r == 0; i++) {
		if (way->asks[i].relation == ANY)
			continue;
		r = buf_printf(out, "%s", between);
		between = " && ";
		if (r == 0)
			r = put_ask(&way->asks[i], i, out);
	}
	if (r == 0 && way->action.kind != SYSCALL_ALLOW)
		r = buf_printf(out, " -> ");
	if (r == 0 && way->action.kind != SYSCALL_ALLOW)
		r = put_action(way->action, out);
	return r < 0 ? r
		     : buf_printf(out,
			   " # imported: from a container runtime's profile\n");
}

int
oci_put_policy(struct import *m, struct syscall_action fallback,
    struct buf *out, struct err *e)
{
	int r = check_actions(m, e);

	if (r < 0)
		return r;
	join_arches(m);
	leave_out(m);
	r = check_room(m, e);
	if (r < 0)
		return r;
	r = buf_printf(out, "default ");
	if (r == 0)
		r = put_action(fallback, out);
	/* What runtimes do by themselves. */
	if (r == 0)
		r = buf_printf(out, "\n%s",
		    fallback.kind == SYSCALL_ERRNO ? "unknown ENOSYS\n" : "");
	for (size_t i = 0; i < m->count && r == 0; i++)
		if (m->ways[i].arches != 0)
			r = put_way(&m->ways[i], out);
	return r < 0 ? err_set(e, E2BIG, "the policy is too long") : 0;
}
