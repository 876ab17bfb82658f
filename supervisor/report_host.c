/* What the host gives the sandbox. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/host_probe.h"
#include "supervisor/host_report.h"
#include "supervisor/report.h"

/* What the process that asks writes: whether it was answered, then words. */
struct answer {
	bool ok;
	char text[HOST_PROBE_SIZE];
};

/* In a process of its own, as asking takes away its rights. */
static _Noreturn void
ask(const struct config *c, int fd)
{
	struct config copy = *c;
	struct answer a = {0};
	struct err e = {0};

	a.ok = host_probe(&copy, a.text, &e) == 0;
	if (!a.ok)
		(void)snprintf(a.text, sizeof a.text, "%s", e.text);
	/* Less than a pipe holds: it does not block. */
	_exit(write(fd, &a, sizeof a) == (ssize_t)sizeof a ? 0 : 1);
}

static void
read_answer(int fd, struct answer *a)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, (char *)a + len, sizeof *a - len);
		len += n > 0 ? (size_t)n : 0;
	} while ((n > 0 && len < sizeof *a) || (n < 0 && errno == EINTR));
	a->text[sizeof a->text - 1] = '\0';
	if (len == sizeof *a)
		return;
	a->ok = false;
	(void)snprintf(a->text, sizeof a->text,
	    "the process that asks has ended");
}

static void
ask_host(const struct config *c, struct answer *a)
{
	scoped_fd out = -1;
	int ends[2];
	pid_t pid;

	*a = (struct answer){0};
	(void)snprintf(a->text, sizeof a->text, "no process could be made");
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	out = ends[0];
	pid = fork();
	if (pid == 0)
		ask(c, ends[1]);
	(void)close(ends[1]);
	if (pid < 0)
		return;
	read_answer(out, a);
	(void)waitpid(pid, NULL, 0);
}

static void
put_items(struct html *h, const struct host *host)
{
	static const char *const head[] = {"Layer, or what is served",
	    "On this host", "Needed by", "What to change", NULL};
	struct host_item item;

	report_table(h, "host", "Layers of this host", head);
	for (size_t i = 0; host_item_get(host, i, &item); i++)
		html_put(h,
		    "<tr><th scope=\"row\">%s</th><td class=\"%s\"><b>%s</b> "
		    "<small>%s%s</small></td><td>%s</td><td>%s</td></tr>\n",
		    item.name, item.state, item.state,
		    isdigit((unsigned char)item.value[0]) ? "ABI " : "",
		    strcmp(item.value, "yes") == 0 ||
			    strcmp(item.value, item.state) == 0
			? ""
			: item.value,
		    item.needed_by, item.remedy);
	report_table_end(h);
}

static void
put_host(struct html *h, const char *probe)
{
	struct utsname name = {0};
	struct host host = {.probe = bytes_of(probe),
	    .root = geteuid() == 0,
	    .kernel = name.release};

	(void)uname(&name);
	html_put(h,
	    "<p>Linux %s, asked as %s by trying each layer in the process "
	    "that would use it.</p>\n",
	    host.kernel, host.root ? "root" : "an ordinary user");
	put_items(h, &host);
}

void
report_host(struct html *h, const struct config *c, bool wanted)
{
	struct answer a;

	report_begin(h, "host", "This host");
	if (!wanted) {
		html_put(h, "<p>The host was not asked.</p>\n");
	} else {
		ask_host(c, &a);
		if (a.ok)
			put_host(h, a.text);
		else
			html_put(h, "<p>The host could not be asked: %s.</p>\n",
			    a.text);
	}
	report_end(h);
}
