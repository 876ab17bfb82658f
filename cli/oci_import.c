#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/num.h"
#include "cli/oci.h"
#include "cli/oci_way.h"

#define KERNEL_MAJOR 6 /* the oldest that sallyport runs on: 6.1 */
#define KERNEL_MINOR 1
#define NOT_MAX	     8 /* values of an argument that must not be */

/* --- words ---------------------------------------------------------------- */

static int
read_action(const char *word, json_t *errno_ret, struct syscall_action *out,
    struct err *e)
{
	json_int_t n =
	    json_is_integer(errno_ret) ? json_integer_value(errno_ret) : EPERM;

	if (word == NULL)
		return err_set(e, EINVAL, "an action is missing");
	if (strcmp(word, "SCMP_ACT_ALLOW") == 0)
		*out = (struct syscall_action){.kind = SYSCALL_ALLOW};
	else if (strcmp(word, "SCMP_ACT_KILL_PROCESS") == 0)
		*out = (struct syscall_action){.kind = SYSCALL_KILL};
	else if (strcmp(word, "SCMP_ACT_ERRNO") == 0)
		*out = (struct syscall_action){.kind = SYSCALL_ERRNO,
		    .errnum = (int)n};
	else
		return err_set(e, ENOTSUP, "a policy cannot say %.40s", word);
	if (out->kind == SYSCALL_ERRNO) {
		int known;

		if (n < 1 || n > 133 ||
		    !syscall_errno(bytes_of(syscall_errno_name((int)n)),
			&known) ||
		    known != (int)n)
			return err_set(e, ENOTSUP,
			    "a policy has no name for errno %lld",
			    (long long)n);
	}
	return 0;
}

/* "4.8": whether our oldest kernel is at least that. */
static int
reached(const char *text, bool *yes, struct err *e)
{
	scoped_free char *copy = strdup(text);
	uint64_t major, minor;
	char *dot = copy != NULL ? strchr(copy, '.') : NULL;

	if (dot == NULL)
		return err_set(e, EINVAL, "minKernel is not MAJOR.MINOR");
	*dot = '\0';
	if (num_parse_u64(copy, 0, 1000, &major) < 0 ||
	    num_parse_u64(dot + 1, 0, 1000, &minor) < 0)
		return err_set(e, EINVAL, "minKernel is not MAJOR.MINOR");
	*yes = major < KERNEL_MAJOR ||
	       (major == KERNEL_MAJOR && minor <= KERNEL_MINOR);
	return 0;
}

static unsigned int
read_arches(json_t *list)
{
	unsigned int arches = 0;
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		const char *name = json_string_value(item);

		if (name != NULL && strcmp(name, "amd64") == 0)
			arches |= SYSCALL_ARCH_X86_64;
		if (name != NULL && strcmp(name, "arm64") == 0)
			arches |= SYSCALL_ARCH_AARCH64;
	}
	return arches;
}

/* What is not known could be a condition that matters. */
static int
check_keys(json_t *o, const char *const *known, const char *where,
    struct err *e)
{
	const char *key;
	json_t *value;

	json_object_foreach(o, key, value)
	{
		bool found = false;

		for (size_t i = 0; known[i] != NULL; i++)
			found |= strcmp(known[i], key) == 0;
		if (!found)
			return err_set(e, ENOTSUP, "%s: unknown member %.40s",
			    where, key);
	}
	return 0;
}

/* Take includes and excludes: *arches is 0 if the entry is not for us. */
static int
read_conditions(json_t *o, unsigned int *arches, struct err *e)
{
	static const char *const known[] = {"caps", "arches", "minKernel",
	    NULL};
	json_t *in = json_object_get(o, "includes"),
	       *ex = json_object_get(o, "excludes");
	const char *kernel =
	    json_string_value(json_object_get(in, "minKernel"));
	bool yes = true;
	int r = check_keys(in, known, "includes", e);

	*arches = SYSCALL_ARCH_ALL;
	if (r == 0)
		r = check_keys(ex, known, "excludes", e);
	if (r == 0 && json_object_get(ex, "minKernel") != NULL)
		r = err_set(e, ENOTSUP, "excludes: minKernel");
	if (r == 0 && kernel != NULL)
		r = reached(kernel, &yes, e);
	if (r == 0 && !yes)
		r = err_set(e, ENOTSUP, "minKernel %.16s: newer than %d.%d",
		    kernel, KERNEL_MAJOR, KERNEL_MINOR);
	if (r < 0)
		return r;
	if (json_array_size(json_object_get(in, "arches")) > 0)
		*arches = read_arches(json_object_get(in, "arches"));
	*arches &= ~read_arches(json_object_get(ex, "arches"));
	if (json_array_size(json_object_get(in, "caps")) > 0)
		*arches = 0; /* a program has none */
	return 0;
}

/* --- arguments ------------------------------------------------------------ */

static int
read_ask(json_t *o, struct way *way, struct err *e)
{
	json_int_t index = json_integer_value(json_object_get(o, "index"));
	uint64_t value =
	    (uint64_t)json_integer_value(json_object_get(o, "value"));
	uint64_t two =
	    (uint64_t)json_integer_value(json_object_get(o, "valueTwo"));
	const char *op = json_string_value(json_object_get(o, "op"));
	struct ask *ask;

	if (index < 0 || index >= SYSCALL_ARGS || op == NULL)
		return err_set(e, EINVAL, "a test without index or op");
	ask = &way->asks[index];
	if (ask->relation != ANY)
		return err_set(e, ENOTSUP, "two tests of one argument");
	ask->count = 1;
	ask->values[0] = value;
	ask->mask = UINT64_MAX;
	if (strcmp(op, "SCMP_CMP_EQ") == 0) {
		ask->relation = EQUAL;
	} else if (strcmp(op, "SCMP_CMP_NE") == 0) {
		ask->relation = NOT_EQUAL;
	} else if (strcmp(op, "SCMP_CMP_MASKED_EQ") == 0) {
		/* All bits are what EQ asks of: one test, said in one way. */
		ask->relation = value == UINT64_MAX ? EQUAL : MASKED;
		ask->mask = value;
		ask->values[0] = two;
		if (two & ~value)
			return err_set(e, ENOTSUP,
			    "a masked value that can never be");
	} else {
		return err_set(e, ENOTSUP, "a policy cannot say %.40s", op);
	}
	return 0;
}

static int
read_asks(json_t *args, struct way *way, struct err *e)
{
	json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach(args, i, item) if (r == 0) r =
	    read_ask(item, way, e);
	return r;
}

/* --- entries -------------------------------------------------------------- */

/* Whether name can be written as a call: it becomes text of a policy, and must
 * not become more than that. */
static bool
is_call(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len > 0 && len < SYSCALL_NAME_MAX && name[len] == '\0' &&
	       strcmp(name, "default") != 0 && strcmp(name, "unknown") != 0;
}

static int
add_way(struct import *m, const struct way *way, struct err *e)
{
	if (!is_call(way->name))
		return err_set(e, EINVAL, "%.40s is no system call", way->name);
	if (m->count == OCI_CASES_MAX)
		return err_set(e, E2BIG, "more than %d entries", OCI_CASES_MAX);
	m->ways[m->count++] = *way;
	return 0;
}

static int
read_entry(struct import *m, json_t *o, struct err *e)
{
	static const char *const known[] = {"name", "names", "action", "args",
	    "comment", "includes", "excludes", "errnoRet", NULL};
	json_t *names = json_object_get(o, "names"), *item;
	struct way way = {0};
	size_t i;
	int r = check_keys(o, known, "syscalls", e);

	if (r == 0)
		r = read_conditions(o, &way.arches, e);
	if (r < 0 || way.arches == 0)
		return r;
	r = read_action(json_string_value(json_object_get(o, "action")),
	    json_object_get(o, "errnoRet"), &way.action, e);
	if (r == 0)
		r = read_asks(json_object_get(o, "args"), &way, e);
	way.name = json_string_value(json_object_get(o, "name"));
	if (r == 0 && way.name != NULL)
		r = add_way(m, &way, e);
	json_array_foreach(names, i, item)
	{
		way.name = json_string_value(item);
		if (r == 0 && way.name == NULL)
			r = err_set(e, EINVAL, "a name that is no string");
		if (r == 0)
			r = add_way(m, &way, e);
	}
	return r;
}

/* --- from many entries to few rules --------------------------------------- */

bool
oci_same_ask(const struct ask *a, const struct ask *b)
{
	return a->relation == b->relation && a->mask == b->mask &&
	       a->count == b->count &&
	       memcmp(a->values, b->values, a->count * sizeof a->values[0]) ==
		   0;
}

static bool
same_call(const struct way *a, const struct way *b)
{
	return strcmp(a->name, b->name) == 0 && a->arches == b->arches &&
	       a->action.kind == b->action.kind &&
	       a->action.errnum == b->action.errnum;
}

/* Whether b differs from a in what masked argument at is alone. */
static bool
is_alike(const struct way *a, const struct way *b, size_t at)
{
	const struct ask *x = &a->asks[at], *y = &b->asks[at];

	if (!same_call(a, b) || x->relation != MASKED ||
	    y->relation != MASKED || x->mask != y->mask ||
	    x->mask > UINT32_MAX || x->count + y->count > IN_VALUES_MAX)
		return false;
	for (size_t i = 0; i < SYSCALL_ARGS; i++)
		if (i != at && !oci_same_ask(&a->asks[i], &b->asks[i]))
			return false;
	return true;
}

/* Neighbours that differ in one value become one rule with a set. */
static void
merge_values(struct import *m, size_t at)
{
	size_t kept = 0;

	for (size_t i = 1; i < m->count; i++) {
		struct ask *to = &m->ways[kept].asks[at];
		const struct ask *from = &m->ways[i].asks[at];

		if (!is_alike(&m->ways[kept], &m->ways[i], at)) {
			m->ways[++kept] = m->ways[i];
			continue;
		}
		for (size_t k = 0; k < from->count; k++)
			to->values[to->count++] = from->values[k];
	}
	m->count = m->count > 0 ? kept + 1 : 0;
}

/* The only argument that way asks about, masked; SYSCALL_ARGS if not so. */
static size_t
only_masked(const struct way *way)
{
	size_t at = SYSCALL_ARGS;

	for (size_t i = 0; i < SYSCALL_ARGS; i++) {
		if (way->asks[i].relation == ANY)
			continue;
		if (at != SYSCALL_ARGS || way->asks[i].relation != MASKED ||
		    way->asks[i].count != 1)
			return SYSCALL_ARGS;
		at = i;
	}
	return at;
}

/* A range of ints: a mask that is a prefix of 32 bits. */
static bool
is_range(const struct ask *a)
{
	uint64_t rest = ~a->mask & UINT32_MAX;

	return a->mask <= UINT32_MAX && (rest & (rest + 1)) == 0;
}

/*
 * Entries from first to last, all ranges of one argument in ascending order,
 * leave a few single values out: then "none of them" is what they mean. Fills
 * gaps and returns true.
 */
static bool
find_gaps(const struct way *ways, size_t count, size_t at,
    uint64_t gaps[NOT_MAX], size_t *gap_count)
{
	uint64_t next = 0;

	*gap_count = 0;
	for (size_t i = 0; i <= count; i++) {
		const struct ask *a = i < count ? &ways[i].asks[at] : NULL;
		uint64_t from = a != NULL ? a->values[0] : UINT64_C(1) << 32;

		if (a != NULL && !is_range(a))
			return false;
		for (; next < from; next++) {
			if (*gap_count == NOT_MAX)
				return false;
			gaps[(*gap_count)++] = next;
		}
		if (next > from)
			return false;
		if (a != NULL)
			next = from + (~a->mask & UINT32_MAX) + 1;
	}
	return *gap_count > 0;
}

static size_t
count_run(const struct import *m, size_t i, size_t at)
{
	size_t n = 0;

	while (i + n < m->count && same_call(&m->ways[i], &m->ways[i + n]) &&
	       only_masked(&m->ways[i + n]) == at)
		n++;
	return n;
}

static void
merge_complements(struct import *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->count;) {
		size_t at = only_masked(&m->ways[i]), run = 1, gaps = 0;
		uint64_t values[NOT_MAX];

		if (at < SYSCALL_ARGS)
			run = count_run(m, i, at);
		if (at == SYSCALL_ARGS || run < 3 ||
		    !find_gaps(&m->ways[i], run, at, values, &gaps)) {
			m->ways[kept++] = m->ways[i++];
			continue;
		}
		m->ways[kept] = m->ways[i];
		m->ways[kept].asks[at] = (struct ask){.relation = NOT_EQUAL,
		    .mask = UINT32_MAX,
		    .count = gaps};
		memcpy(m->ways[kept].asks[at].values, values, sizeof values);
		kept++;
		i += run;
	}
	m->count = kept;
}

static int
read_entries(struct import *m, json_t *root, struct err *e)
{
	json_t *list = json_object_get(root, "syscalls"), *item;
	size_t i;
	int r = json_is_array(list)
		    ? 0
		    : err_set(e, EINVAL, "syscalls is not an array");

	json_array_foreach(list, i, item) if (r == 0) r =
	    read_entry(m, item, e);
	return r;
}

int
oci_import(json_t *root, struct buf *out, struct err *e)
{
	static const char *const known[] = {"defaultAction", "defaultErrnoRet",
	    "architectures", "archMap", "syscalls", NULL};
	struct import m = {.ways = calloc(OCI_CASES_MAX, sizeof *m.ways)};
	struct syscall_action fallback = {0};
	int r = m.ways == NULL ? err_set(e, ENOMEM, "out of memory") : 0;

	if (r == 0)
		r = check_keys(root, known, "profile", e);
	if (r == 0)
		r = read_action(json_string_value(
				    json_object_get(root, "defaultAction")),
		    json_object_get(root, "defaultErrnoRet"), &fallback, e);
	if (r == 0)
		r = read_entries(&m, root, e);
	if (r == 0)
		merge_complements(&m);
	for (size_t at = SYSCALL_ARGS; at > 0 && r == 0; at--)
		merge_values(&m, at - 1);
	if (r == 0)
		r = oci_put_policy(&m, fallback, out, e);
	free(m.ways);
	return r;
}
