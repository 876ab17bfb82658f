#include "supervisor/policy_trace.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

struct tracee {
	pid_t pid;
	bool woken;   /* by us, from the stop that it began with */
	bool inside;  /* in a call: the next stop is its answer */
	bool foreign; /* of another architecture */
	uint64_t number;
	uint64_t args[TRACE_ARGS];
};

static const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
			    PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
			    PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

static struct tracee *
find(struct trace *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i].pid == pid)
			return &t->items[i];
	return NULL;
}

static struct tracee *
add(struct trace *t, pid_t pid)
{
	if (t->count == t->room) {
		size_t room = t->room == 0 ? 64 : t->room * 2;
		struct tracee *grown =
		    room > TRACE_PROCESSES_MAX
			? NULL
			: reallocarray(t->items, room, sizeof *grown);

		if (grown == NULL)
			return NULL;
		t->items = grown;
		t->room = room;
	}
	t->items[t->count] = (struct tracee){.pid = pid};
	return &t->items[t->count++];
}

static void
forget(struct trace *t, pid_t pid)
{
	struct tracee *p = find(t, pid);

	if (p != NULL)
		*p = t->items[--t->count];
}

int
trace_begin(struct trace *t, pid_t pid, const struct trace_watcher *watcher,
    struct err *e)
{
	*t = (struct trace){.watcher = *watcher};
	if (add(t, pid) == NULL)
		return err_set(e, ENOMEM, "out of memory");
	if (ptrace(PTRACE_SEIZE, pid, NULL, options) == 0)
		return 0;
	t->count = 0;
	return err_errno(e, errno,
	    "the command cannot be watched (kernel.yama.ptrace_scope must be "
	    "below 2, and root needs CAP_SYS_PTRACE)");
}

/* What waits behind a failure here is gone by SIGKILL; its end is told. */
static void
go_on(pid_t pid, int signal)
{
	(void)ptrace(PTRACE_SYSCALL, pid, NULL, (long)signal);
}

static bool
is_stop(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
	       signal == SIGTTOU;
}

/* --- system calls --------------------------------------------------------- */

static void
on_entry(struct tracee *p, const struct __ptrace_syscall_info *info)
{
	p->inside = true;
#if defined(__x86_64__)
	p->foreign = info->arch != 0xc000003eU; /* AUDIT_ARCH_X86_64 */
#else
	p->foreign = info->arch != 0xc00000b7U; /* AUDIT_ARCH_AARCH64 */
#endif
	p->number = info->entry.nr;
	for (size_t i = 0; i < TRACE_ARGS; i++)
		p->args[i] = info->entry.args[i];
}

static void
on_exit_of_call(struct trace *t, struct tracee *p,
    const struct __ptrace_syscall_info *info)
{
	struct trace_call call = {.pid = p->pid, .number = p->number};

	if (!p->inside || p->foreign || !info->exit.is_error ||
	    info->exit.rval >= 0 || info->exit.rval < -4095)
		return;
	call.errnum = (int)-info->exit.rval;
	for (size_t i = 0; i < TRACE_ARGS; i++)
		call.args[i] = p->args[i];
	t->watcher.on_call(t->watcher.context, &call);
}

static void
on_syscall(struct trace *t, struct tracee *p)
{
	struct __ptrace_syscall_info info = {0};
	long n =
	    ptrace(PTRACE_GET_SYSCALL_INFO, p->pid, (void *)sizeof info, &info);

	if (n > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		on_entry(p, &info);
	} else if (n > 0 && info.op == PTRACE_SYSCALL_INFO_EXIT) {
		on_exit_of_call(t, p, &info);
		p->inside = false;
	}
}

/* --- events --------------------------------------------------------------- */

/* A stop of the whole process is left to last, but for the one in which it
 * waited for us. */
static void
on_group_stop(struct tracee *p, int signal)
{
	if (!is_stop(signal)) {
		go_on(p->pid, 0);
		return;
	}
	if (!p->woken && signal == SIGSTOP)
		(void)kill(p->pid, SIGCONT);
	p->woken = true;
	(void)ptrace(PTRACE_LISTEN, p->pid, NULL, NULL);
}

static void
on_stop(struct trace *t, struct tracee *p, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;

	if (signal == (SIGTRAP | 0x80)) {
		on_syscall(t, p);
		go_on(p->pid, 0);
	} else if (event == PTRACE_EVENT_STOP) {
		on_group_stop(p, signal);
	} else {
		go_on(p->pid, event != 0 ? 0 : signal);
	}
}

bool
trace_event(struct trace *t, pid_t pid, int status)
{
	struct tracee *p = find(t, pid);

	if (p == NULL && !WIFSTOPPED(status))
		return false;
	if (!WIFSTOPPED(status)) {
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
			t->watcher.on_killed(t->watcher.context, pid);
		forget(t, pid);
		return true;
	}
	/* A new one may be heard of before its parent tells of it. */
	if (p == NULL) {
		p = add(t, pid);
		if (p == NULL) {
			t->overflow = true;
			(void)ptrace(PTRACE_DETACH, pid, NULL, NULL);
			return true;
		}
		p->woken = true;
	}
	on_stop(t, p, status);
	return true;
}

bool
trace_is_over(const struct trace *t)
{
	return t->count == 0;
}

void
trace_done(struct trace *t)
{
	free(t->items);
	t->items = NULL;
	t->count = t->room = 0;
}
