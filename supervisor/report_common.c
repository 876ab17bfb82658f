/* What the sections of the report share. */
#include "supervisor/report.h"

void
report_begin(struct html *h, const char *id, const char *title)
{
	html_put(h,
	    "<section id=\"%s\" aria-labelledby=\"%s-title\">\n"
	    "<h2 id=\"%s-title\">%s</h2>\n",
	    id, id, id, title);
}

void
report_end(struct html *h)
{
	html_put(h, "</section>\n\n");
}

void
report_table(struct html *h, const char *class, const char *label,
    const char *const *head)
{
	html_put(h,
	    "<div class=\"scroll\" role=\"region\" aria-label=\"%s\" "
	    "tabindex=\"0\">\n<table class=\"%s\">\n"
	    "<caption class=\"unseen\">%s</caption>\n<thead><tr>",
	    label, class, label);
	for (; *head != NULL; head++)
		html_put(h, "<th scope=\"col\">%s</th>", *head);
	html_put(h, "</tr></thead>\n<tbody>\n");
}

void
report_table_end(struct html *h)
{
	html_put(h, "</tbody>\n</table>\n</div>\n");
}

void
report_place(struct html *h, struct config_place at)
{
	if (at.file == NULL)
		html_put(h, "<code>--set</code>");
	else
		html_put(h, "<code>%s:%u</code>", at.file, at.line);
}

void
report_origin(struct html *h, const struct config *c, int key,
    const struct config_note *note)
{
	const struct config_profile *p = config_profile_of(c);

	if (note != NULL && note->level != CONFIG_PRESET)
		report_place(h, note->at);
	else if (c->level[key] != CONFIG_PRESET)
		html_put(h, "built-in");
	else if (key == KEY_NETWORK && p != NULL && p->has_network)
		report_place(h, p->network_at);
	else
		html_put(h, "preset %s", config_preset_name(c->preset));
}
