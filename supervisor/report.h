/*
 * One page for those who would rather look than read: sallyport policy report.
 * It holds everything that it needs, runs nothing from elsewhere, and is the
 * same bytes for the same configuration and host. Each section appends itself
 * to the page.
 */
#ifndef SUPERVISOR_REPORT_H
#define SUPERVISOR_REPORT_H

#include "supervisor/config.h"
#include "supervisor/report_html.h"

/* report*.css and report.js, put in by the build. */
extern const struct bytes report_css, report_js;

/* The processes and the channels between them, as a picture and a table. */
void report_picture(struct html *h);

/* What each process holds. */
void report_holds(struct html *h, const struct config *c);

/* Which process may make which system call, and why. Returns 0, or a negative
 * errno with e if a filter cannot be made. */
must_use int report_syscalls(struct html *h, const struct config *c,
    struct err *e);

/* The file view of each preset and profile. Returns 0, or a negative errno
 * with e if one of them is no ceiling. */
must_use int report_files(struct html *h, const struct config *c,
    struct err *e);

/* [env], [http] and the network, [limits], [audit] and [log], the rest. */
void report_settings(struct html *h, const struct config *c);

/* What the host gives, by trying it in a process of its own; or that it was
 * not asked, if ask is false or it cannot be. */
void report_host(struct html *h, const struct config *c, bool ask);

/* --- shared by sections --------------------------------------------------- */

/* Begin a section of the page, and end it. id is a word. */
void report_begin(struct html *h, const char *id, const char *title);
void report_end(struct html *h);

/* Begin a table that scrolls by itself where the page is narrow, and end it.
 * label names it for those who do not see it. head: titles of the columns,
 * NULL-terminated. */
void report_table(struct html *h, const char *class, const char *label,
    const char *const *head);
void report_table_end(struct html *h);

/* A place of the configuration: FILE:LINE, or the command line. */
void report_place(struct html *h, struct config_place at);
/* Where item of a key comes from, for a person. */
void report_origin(struct html *h, const struct config *c, int key,
    const struct config_note *note);

#endif
