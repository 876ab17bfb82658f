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

/* Whether b is of all the architectures that a is of, and of more. */
static bool
is_wider(const struct way *b, const struct way *a)
{
	return (a->arches & ~b->arches) == 0 && a->arches != b->arches;
}

/* The architectures for which way i is still to be said: one without a test
 * says it as well, or the same one does, for more of them or earlier. A policy
 * takes no call whose architectures overlap otherwise. */
static unsigned int
left_to_say(const struct import *m, size_t i)
{
	const struct way *way = &m->ways[i];
	unsigned int left = way->arches;

	for (size_t k = 0; k < m->count; k++) {
		const struct way *other = &m->ways[k];

		if (k == i || strcmp(other->name, way->name) != 0)
			continue;
		if (is_always(other) && !is_always(way))
			left &= ~other->arches;
		else if (same_asks(other, way) &&
			 (is_wider(other, way) ||
			     (k < i && !is_wider(way, other))))
			left &= ~other->arches;
	}
	return left;
}

static void
leave_out(struct import *m)
{
	for (size_t i = 0; i < m->count; i++)
		m->ways[i].arches = left_to_say(m, i);
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
	leave_out(m);
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
