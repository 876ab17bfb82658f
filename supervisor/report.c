#include "supervisor/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/base64.h"
#include "base/sha256.h"
#include "supervisor/policy_command.h"

#define REPORT_MAX    (16u * MIB) /* bytes of a page */
#define REPORT_MODE   0644	  /* nothing in it is secret */
#define DIGEST	      32	  /* bytes of SHA-256 */
#define TEMPORARY_MAX (PATH_LEN_MAX + 16)

struct request {
	struct options options;
	const char *file; /* "-": standard output */
	bool date, no_host;
};

/* --- the page ------------------------------------------------------------- */

/* "'sha256-...'" of what stands in a style or script element. */
static void
put_source(struct html *h, const char *directive, struct bytes content)
{
	uint8_t digest[DIGEST];
	char hex[SHA256_HEX_SIZE], text[DIGEST * 2];

	sha256_hex(content, hex);
	for (size_t i = 0; i < DIGEST; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *high = strchr(digits, hex[2 * i]);
		const char *low = strchr(digits, hex[2 * i + 1]);

		digest[i] = (uint8_t)((high - digits) << 4 | (low - digits));
	}
	html_put(h, "; %s 'sha256-", directive);
	html_raw(h, (struct bytes){.data = (const uint8_t *)text,
			.len = base64_encode(text, digest, DIGEST)});
	html_put(h, "'");
}

static void
put_head(struct html *h)
{
	html_put(h, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		    "<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\""
		    "default-src 'none'");
	put_source(h, "style-src", report_css);
	put_source(h, "script-src", report_js);
	html_put(h, "; base-uri 'none'; form-action 'none'\">\n"
		    "<meta name=\"viewport\" "
		    "content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<meta name=\"referrer\" content=\"no-referrer\">\n"
		    "<title>sallyport: what may be done</title>\n<style>");
	html_raw(h, report_css);
	html_put(h, "</style>\n</head>\n<body>\n");
}

static void
put_fact(struct html *h, const char *name, const char *value, bool careful)
{
	html_put(h, "<div class=\"%s\"><dt>%s</dt><dd>%s</dd></div>\n",
	    careful ? "fact" : "fact loose", name, value);
}

static bool
has_audit(const struct config *c)
{
	return c->audit.file != NULL || c->audit.socket != NULL ||
	       c->audit.to_stderr != 0;
}

/* What an auditor asks first. */
static void
put_facts(struct html *h, const struct config *c)
{
	html_put(h, "<dl class=\"facts\">\n");
	put_fact(h, c->profile != NULL ? "Profile in force" : "Preset in force",
	    c->profile != NULL ? c->profile : config_preset_name(c->preset),
	    c->preset != PRESET_OPEN);
	put_fact(h, "Network of programs",
	    c->network == NETWORK_ENABLED ? "the host's" : "loopback alone",
	    c->network != NETWORK_ENABLED);
	put_fact(h, "HTTP for clients",
	    c->http.enabled == 0	 ? "off"
	    : c->http.allow_private != 0 ? "on, private addresses too"
					 : "on, guarded",
	    c->http.enabled == 0 || c->http.allow_private == 0);
	put_fact(h, "A missing layer",
	    c->degraded != 0 ? "is done without" : "refuses", c->degraded == 0);
	put_fact(h, "Programs as root",
	    c->allow_root != 0 ? "allowed" : "never", c->allow_root == 0);
	put_fact(h, "Programs run",
	    c->backend.type == BACKEND_NATIVE
		? "in the sandbox here"
		: "elsewhere, where this policy holds none of them",
	    c->backend.type == BACKEND_NATIVE);
	put_fact(h, "Audit log", has_audit(c) ? "on" : "off", has_audit(c));
	html_put(h, "</dl>\n");
}

static void
put_sources(struct html *h, const struct config *c, bool date)
{
	char text[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	html_put(h, "<p class=\"made\">sallyport %s. ", SALLYPORT_VERSION);
	html_put(h,
	    c->files.count > 0
		? "Built-in values, then these files, then the command line: "
		: "Built-in values and the command line; no file was read.");
	for (size_t i = 0; i < c->files.count; i++)
		html_put(h, "%s<code>%s</code>", i > 0 ? ", " : "",
		    c->files.items[i]);
	html_put(h, "%s", c->files.count > 0 ? "." : "");
	if (date && gmtime_r(&now, &tm) != NULL &&
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &tm) > 0)
		html_put(h, " Made <time>%s</time>.", text);
	html_put(h, "</p>\n");
}

static void
put_top(struct html *h, const struct config *c, bool date)
{
	static const struct {
		const char *id, *title;
	} sections[] = {
	    {"processes", "Processes and channels"},
	    {"holds", "What each process holds"},
	    {"calls", "System calls"},
	    {"files", "Files"},
	    {"environment", "Environment"},
	    {"network", "Network and HTTP"},
	    {"limits", "Limits"},
	    {"audit", "Audit and log"},
	    {"other", "Other settings"},
	    {"host", "This host"},
	};

	html_put(h,
	    "<a class=\"skip\" href=\"#processes\">Skip to the report</a>\n"
	    "<header>\n<p class=\"kind\">Policy report</p>\n"
	    "<h1>What this server lets be done</h1>\n");
	put_sources(h, c, date);
	put_facts(h, c);
	html_put(h, "</header>\n<nav aria-label=\"Contents\"><ol>\n");
	for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++)
		html_put(h, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id,
		    sections[i].title);
	html_put(h, "</ol></nav>\n<main>\n\n");
}

static int
put_page(struct html *h, const struct config *c, const struct request *q,
    struct err *e)
{
	int r;

	put_head(h);
	put_top(h, c, q->date);
	report_picture(h);
	report_holds(h, c);
	r = report_syscalls(h, c, e);
	if (r == 0)
		r = report_files(h, c, e);
	if (r < 0)
		return r;
	report_settings(h, c);
	report_host(h, c, !q->no_host);
	html_put(h,
	    "</main>\n<footer><p>Values of variables and the path of the URL "
	    "are left out: they may be secrets.</p></footer>\n<script>");
	html_raw(h, report_js);
	html_put(h, "</script>\n</body>\n</html>\n");
	return h->result < 0 ? err_errno(e, -h->result, "the report") : 0;
}

/* --- the file ------------------------------------------------------------- */

static int
write_all(int fd, struct bytes data)
{
	size_t done = 0;

	while (done < data.len) {
		ssize_t n = write(fd, data.data + done, data.len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += (size_t)n;
	}
	return 0;
}

/* What is there is replaced if it is a regular file, never a link or a device
 * that somebody has put there. */
static int
check_target(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0
				       : err_errno(e, errno, "%.120s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EEXIST,
		    "%.120s: is there and no regular "
		    "file",
		    path);
	return 0;
}

/* Beside it, then in its place: nobody reads half a page. */
static int
write_file(const char *path, struct bytes page, struct err *e)
{
	char temporary[TEMPORARY_MAX];
	scoped_fd fd = -1;
	int r = check_target(path, e);

	if (r < 0)
		return r;
	if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >=
	    (int)sizeof temporary)
		return err_set(e, ENAMETOOLONG, "the path is too long");
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, errno, "%.120s", path);
	r = write_all(fd, page);
	if (r == 0 && (fchmod(fd, REPORT_MODE) < 0 || fsync(fd) < 0 ||
			  rename(temporary, path) < 0))
		r = -errno;
	if (r < 0) {
		(void)unlink(temporary);
		return err_errno(e, -r, "%.120s", path);
	}
	return 0;
}

static int
write_page(const char *path, struct bytes page, struct err *e)
{
	int r;

	if (strcmp(path, "-") != 0)
		return write_file(path, page, e);
	r = write_all(STDOUT_FILENO, page);
	return r < 0 ? err_errno(e, -r, "standard output") : 0;
}

/* --- the command ---------------------------------------------------------- */

static int
make(struct config *c, const struct request *q)
{
	struct html h;
	struct err e = {0};
	int r = policy_real_workspaces(c, &e);

	html_init(&h, REPORT_MAX);
	if (r == 0)
		r = put_page(&h, c, q, &e);
	if (r == 0)
		r = write_page(q->file,
		    (struct bytes){.data = h.out.data, .len = h.out.len}, &e);
	html_done(&h);
	if (r < 0)
		options_complain(e.text);
	return r < 0 ? POLICY_ERROR : POLICY_YES;
}

/* Take our own options out of argv; returns how many are left. */
static int
take_options(int argc, char **argv, struct request *q)
{
	int n = 0;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--date") == 0)
			q->date = true;
		else if (strcmp(argv[i], "--no-host") == 0)
			q->no_host = true;
		else
			argv[n++] = argv[i];
	}
	argv[n] = NULL;
	return n;
}

int
policy_report(int argc, char **argv)
{
	struct request q = {0};
	struct config c = {0};
	int code = POLICY_ERROR;

	argc = take_options(argc, argv, &q);
	if (options_parse(&q.options, argc, argv, true) < 0) {
		options_done(&q.options);
		return code;
	}
	if (argc - q.options.first == 1)
		q.file = argv[q.options.first];
	if (q.file == NULL)
		options_complain("want policy report [OPTION]... FILE.html");
	else if (options_load(&q.options, &c) == 0)
		code = make(&c, &q);
	config_done(&c);
	options_done(&q.options);
	return code;
}
