#include "supervisor/policy_denied.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "supervisor/policy_denied_path.h"
#include "supervisor/policy_tracee.h"

#define TEXT_MAX 512

/* --- the list ------------------------------------------------------------- */

/*
 * A copy for a terminal. The command chose what its paths hold: control
 * characters, those of two bytes (C1) as well, would move the cursor, and a
 * newline would begin a line that looks like one of ours.
 */
static char *
copy_visible(const char *text)
{
	char *copy = strdup(text);

	for (unsigned char *c = (unsigned char *)copy; c != NULL && *c != '\0';
	     c++) {
		if (*c == 0xc2 && c[1] >= 0x80 && c[1] <= 0x9f)
			c[0] = c[1] = '?';
		else if (*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	return copy;
}

void
denied_add(struct denied *d, const char *what, const char *why,
    const char *line)
{
	struct denied_item item = {.count = 1};
	scoped_free char *seen = copy_visible(what);

	for (size_t i = 0; i < d->count && seen != NULL; i++)
		if (strcmp(d->items[i].what, seen) == 0) {
			d->items[i].count++;
			return;
		}
	if (d->count < DENIED_MAX) {
		item.what = copy_visible(what);
		item.why = copy_visible(why);
		item.line = copy_visible(line);
	}
	if (item.what != NULL && item.why != NULL && item.line != NULL) {
		d->items[d->count++] = item;
		return;
	}
	free(item.what);
	free(item.why);
	free(item.line);
	d->lost++;
}

int
denied_init(struct denied *d, const struct config *c, struct err *e)
{
	int r;

	*d = (struct denied){.config = c};
	r = policy_ceiling_init(&d->ceiling, c, e);
	if (r < 0)
		return r;
	r = policy_layers_init(&d->layers, NULL, c,
	    d->ceiling.plan.unix_sockets == PLAN_UNIX_DENY);
	return r < 0 ? err_set(e, -r, "the policy of system calls is not read")
		     : 0;
}

void
denied_done(struct denied *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->items[i].what);
		free(d->items[i].why);
		free(d->items[i].line);
	}
	policy_layers_done(&d->layers);
	policy_ceiling_done(&d->ceiling);
}

int
denied_put(const struct denied *d, struct buf *out)
{
	int r = 0;

	for (size_t i = 0; i < d->count && r == 0; i++) {
		const struct denied_item *it = &d->items[i];

		r = buf_printf(out, "denied: %s", it->what);
		if (r == 0 && it->count > 1)
			r = buf_printf(out, ", %lu times", it->count);
		if (r == 0)
			r = buf_printf(out, "\n  by %s\n  line: %s\n", it->why,
			    it->line);
	}
	if (r == 0 && d->lost > 0)
		r = buf_printf(out, "and %lu more that were not kept\n",
		    d->lost);
	return r;
}

/* --- filters -------------------------------------------------------------- */

/* "socket arg0=0x11": with each argument that a line of the call looks at. */
static void
put_call(const struct denied *d, const struct trace_call *call,
    const char *name, char out[TEXT_MAX])
{
	int used = snprintf(out, TEXT_MAX, "%s", name);
	bool seen[TRACE_ARGS] = {false};

	for (size_t l = 0; l < d->layers.count; l++) {
		const struct syscall_policy *p = d->layers.items[l].policy;

		for (size_t i = 0; i < p->rule_count; i++)
			for (size_t k = 0; k < p->rules[i].count &&
					   strcmp(p->rules[i].name, name) == 0;
			     k++)
				seen[p->compares[p->rules[i].first + k].arg] =
				    true;
	}
	for (size_t i = 0; i < TRACE_ARGS; i++)
		if (seen[i])
			used += snprintf(out + used, TEXT_MAX - (size_t)used,
			    " arg%zu=0x%" PRIx64, i, call->args[i]);
	(void)snprintf(out + used, TEXT_MAX - (size_t)used, ": %s",
	    strerrorname_np(call->errnum));
}

/* Of the filters above a command's own none can be changed. */
static void
suggest_call(const struct denied *d, const struct policy_decision *by,
    const struct trace_call *call, const char *name, char out[TEXT_MAX])
{
	struct policy_layers above = d->layers;
	bool own = by->layer == &d->layers.items[0];

	above.count--;
	memmove(above.items, above.items + 1,
	    above.count * sizeof above.items[0]);
	if (by->layer->source != NULL &&
	    strcmp(by->layer->source->role, "child_no_unix") == 0)
		(void)snprintf(out, TEXT_MAX,
		    "unix_sockets = private in a [profile], or preset = "
		    "workspace in [sandbox]");
	else if (!own ||
		 policy_layers_decide(&above, name, call->args).action.kind !=
		     SYSCALL_ALLOW)
		(void)snprintf(out, TEXT_MAX,
		    "none: the filter of exec, which holds for every command, "
		    "refuses it too");
	else if (by->action.errnum == ENOSYS)
		(void)snprintf(out, TEXT_MAX,
		    "none is needed: callers have another way");
	else
		(void)snprintf(out, TEXT_MAX,
		    "%s  # in a copy of policy export --text child, which "
		    "child_policy of [sandbox] names",
		    name);
}

/* Whether a filter gave that very answer. */
static bool
by_filter(struct denied *d, const struct trace_call *call, const char *name)
{
	const struct policy_decision by =
	    policy_layers_decide(&d->layers, name, call->args);
	char what[TEXT_MAX], line[TEXT_MAX];
	scoped_buf why;

	buf_init(&why, 4096);
	if (by.action.kind != SYSCALL_ERRNO || by.action.errnum != call->errnum)
		return false;
	if (policy_decision_put(&by, name, &why) < 0 ||
	    buf_put_u8(&why, 0) < 0) {
		d->lost++;
		return true;
	}
	put_call(d, call, name, what);
	suggest_call(d, &by, call, name, line);
	denied_add(d, what, (const char *)why.data, line);
	return true;
}

/* --- the network ---------------------------------------------------------- */

static bool
put_address(const struct sockaddr_storage *s, char *out, size_t size,
    bool *loopback)
{
	const struct sockaddr_in *in = (const void *)s;
	const struct sockaddr_in6 *in6 = (const void *)s;
	char text[INET6_ADDRSTRLEN];

	if (s->ss_family == AF_INET) {
		*loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
		(void)inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
		(void)snprintf(out, size, "%s:%u", text,
		    (unsigned int)ntohs(in->sin_port));
		return true;
	}
	if (s->ss_family != AF_INET6)
		return false;
	*loopback = IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr);
	(void)inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof text);
	(void)snprintf(out, size, "[%s]:%u", text,
	    (unsigned int)ntohs(in6->sin6_port));
	return true;
}

/* With the host's network a failure is the network's own. */
static void
on_inet(struct denied *d, const struct trace_call *call, const char *name,
    const struct sockaddr_storage *s)
{
	char address[80], what[TEXT_MAX];
	bool loopback = false;
	scoped_buf why;

	buf_init(&why, 4096);
	if (d->config->network == NETWORK_ENABLED ||
	    call->errnum == EINPROGRESS || call->errnum == EISCONN ||
	    !put_address(s, address, sizeof address, &loopback))
		return;
	(void)snprintf(what, sizeof what, "%s %s: %s", name, address,
	    strerrorname_np(call->errnum));
	if (policy_origin_put(d->config, KEY_NETWORK, NULL, &why) < 0 ||
	    buf_printf(&why, ": network = restricted%s",
		loopback ? "; the session's own loopback has nobody there, "
			   "whatever the host's has"
			 : "") < 0 ||
	    buf_put_u8(&why, 0) < 0)
		d->lost++;
	else
		denied_add(d, what, (const char *)why.data,
		    "network = enabled in [profile]");
}

static void
on_unix(struct denied *d, const struct trace_call *call, const char *name,
    const struct sockaddr_storage *s)
{
	const struct sockaddr_un *un = (const void *)s;
	char path[PATH_LEN_MAX], what[PATH_LEN_MAX + 64];
	struct stat st;

	if (un->sun_path[0] == '\0' ||
	    tracee_path(call->pid, AT_FDCWD, un->sun_path, path) < 0)
		return;
	if (d->ceiling.plan.unix_sockets == PLAN_UNIX_HOST) {
		denied_one_path(d, name, path, true, call->errnum);
		return;
	}
	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return; /* nobody has one there */
	(void)snprintf(what, sizeof what, "%s %s: %s", name, path,
	    strerrorname_np(call->errnum));
	denied_add(d, what,
	    "unix_sockets = private: no socket of the host can be reached",
	    "unix_sockets = host in a [profile]");
}

/* Returns whether it is a call with an address. */
static bool
by_network(struct denied *d, const struct trace_call *call, const char *name)
{
	struct sockaddr_storage s;
	size_t at = strcmp(name, "sendto") == 0 ? 4 : 1;

	if (strcmp(name, "connect") != 0 && at != 4)
		return false;
	if (tracee_sockaddr(call->pid, call->args[at], call->args[at + 1], &s) <
	    0)
		return true;
	if (s.ss_family == AF_UNIX)
		on_unix(d, call, name, &s);
	else
		on_inet(d, call, name, &s);
	return true;
}

/* --- limits --------------------------------------------------------------- */

static void
by_limit(struct denied *d, const struct trace_call *call, const char *name)
{
	static const struct {
		int errnum;
		const char *calls; /* between blanks; NULL: any */
		const char *key;
	} rows[] = {
	    {EAGAIN, " clone fork vfork ", "child_processes"},
	    {EMFILE, NULL, "child_open_files"},
	    {EFBIG, NULL, "child_file_size"},
	    {ENOMEM, " brk mmap mremap mprotect ", "child_memory"},
	    {ENOSPC, NULL, "tmp_size, tmp_inodes or shm_size"},
	};
	char wanted[SYSCALL_NAME_MAX + 2], what[TEXT_MAX], line[TEXT_MAX];

	(void)snprintf(wanted, sizeof wanted, " %s ", name);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (rows[i].errnum != call->errnum ||
		    (rows[i].calls != NULL &&
			strstr(rows[i].calls, wanted) == NULL))
			continue;
		(void)snprintf(what, sizeof what, "%s: %s", name,
		    strerrorname_np(call->errnum));
		(void)snprintf(line, sizeof line, "more for %s in [limits]",
		    rows[i].key);
		denied_add(d, what, "a limit, or what the host itself has",
		    line);
	}
}

/* --- all ------------------------------------------------------------------ */

void
denied_on_call(void *context, const struct trace_call *call)
{
	struct denied *d = context;
	char name[SYSCALL_NAME_MAX];

	if (call->number > COMPILE_SYSCALL_MAX ||
	    compile_name((unsigned int)call->number, compile_arch(), name) < 0)
		return;
	if (by_filter(d, call, name) || by_network(d, call, name))
		return;
	if (!denied_path(d, call, name) || call->errnum == ENOSPC ||
	    call->errnum == EMFILE)
		by_limit(d, call, name);
}

void
denied_on_killed(void *context, pid_t pid)
{
	(void)pid;
	denied_add(context, "a call of another architecture: SIGSYS",
	    "built-in: every filter kills for the ABI of another machine",
	    "none");
}
