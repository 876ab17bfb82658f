/* What each process holds. */
#include <cap-ng.h>
#include <ctype.h>
#include <string.h>

#include "supervisor/confine.h"
#include "supervisor/process_table.h"
#include "supervisor/report.h"

/* When exec keeps a capability: exec_caps.def. */
#define ALWAYS	       ""
#define AS_ROOT	       "as root"
#define FOREIGN_OWNER  "as root, with a workspace of another user"
#define WITHOUT_USERNS "as root, without user namespaces"

static const struct {
	const char *name, *when, *reason;
} exec_caps[] = {
#define EXEC_CAP(name, when, reason) {"CAP_" #name, when, reason},
#include "privsep/exec_caps.def"
};

static void
put_exec_caps(struct html *h)
{
	html_put(h, "<ul class=\"caps\">\n");
	for (size_t i = 0; i < sizeof exec_caps / sizeof exec_caps[0]; i++) {
		html_put(h, "<li><code>%s</code> %s", exec_caps[i].name,
		    exec_caps[i].reason);
		if (exec_caps[i].when[0] != '\0')
			html_put(h, " <small>(%s)</small>", exec_caps[i].when);
		html_put(h, "</li>\n");
	}
	html_put(h, "</ul>\n");
}

/* "CAP_SYS_ADMIN" */
static void
put_cap_name(struct html *h, unsigned int cap)
{
	const char *name = capng_capability_to_name(cap);
	char text[48] = "?";

	for (size_t i = 0; name != NULL && i + 1 < sizeof text; i++) {
		text[i] = (char)toupper((unsigned char)name[i]);
		if (name[i] == '\0')
			break;
	}
	text[sizeof text - 1] = '\0';
	html_put(h, "<code>CAP_%s</code>", text);
}

static void
put_supervisor_caps(struct html *h)
{
	const struct confine_cap *row;

	html_put(h, "<ul class=\"caps\">\n");
	for (size_t i = 0; (row = confine_cap_row(i)) != NULL; i++) {
		html_put(h, "<li>");
		put_cap_name(h, row->cap);
		html_put(h, " %s%s%s</li>\n", row->reason,
		    row->effective ? "; used by itself as well" : "",
		    row->without_userns ? " (without user namespaces)" : "");
	}
	html_put(h, "</ul>\n");
}

static void
put_capabilities(struct html *h, const struct process_row *p)
{
	html_put(h, "<dt>Capabilities</dt><dd>%s", p->capabilities);
	if (strcmp(p->name, "supervisor") == 0)
		put_supervisor_caps(h);
	if (strcmp(p->name, "exec") == 0)
		put_exec_caps(h);
	html_put(h, "</dd>\n");
}

static void
put_uid(struct html *h, const struct config *c, const struct process_row *p)
{
	const struct config_note *note;
	scoped_buf name, value;

	buf_init(&name, 256);
	buf_init(&value, 256);
	html_put(h, "<dt>Runs as</dt><dd>%s", p->runs_as);
	if (p->uid_key >= 0 &&
	    config_get(c, p->uid_key, 0, &name, &value, &note) == 0) {
		html_put(h, "; <code>");
		html_text(h,
		    (struct bytes){.data = name.data, .len = name.len});
		html_put(h, " = ");
		html_text(h,
		    (struct bytes){.data = value.data, .len = value.len});
		html_put(h, "</code>, ");
		report_origin(h, c, p->uid_key, note);
	}
	html_put(h, "</dd>\n");
}

static void
put_process(struct html *h, const struct config *c, const struct process_row *p)
{
	html_put(h,
	    "<article id=\"p-%s\">\n<h3>%s</h3>\n<p class=\"program\">%s</p>\n"
	    "<p>%s <b>It cannot</b> %s.</p>\n<dl>\n",
	    p->name, p->title, p->program, p->does, p->cannot);
	put_uid(h, c, p);
	put_capabilities(h, p);
	html_put(h,
	    "<dt>Namespaces</dt><dd>%s</dd>\n<dt>Files</dt><dd>%s</dd>\n"
	    "<dt>Descriptors</dt><dd>%s</dd>\n<dt>Lock-down</dt><dd>%s</dd>\n"
	    "<dt>System calls</dt><dd><a href=\"#f-%s\">filter %s</a></dd>\n"
	    "</dl>\n</article>\n",
	    p->namespaces, p->files, p->descriptors, p->lockdown, p->name,
	    p->name);
}

void
report_holds(struct html *h, const struct config *c)
{
	report_begin(h, "holds", "What each process holds");
	html_put(h,
	    "<p>After its lock-down, which each reaches before it looks at any "
	    "input. Net, exec and http report what the kernel says of them, "
	    "and are not used if it falls short.</p>\n"
	    "<div class=\"cards\">\n");
	for (const struct process_row *p = process_rows; p->name != NULL; p++)
		put_process(h, c, p);
	html_put(h, "</div>\n");
	report_end(h);
}
