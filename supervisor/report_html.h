/*
 * HTML that is written piece by piece. What comes from outside is escaped
 * wherever it stands, so that no name or path can become markup.
 */
#ifndef SUPERVISOR_REPORT_HTML_H
#define SUPERVISOR_REPORT_HTML_H

#include "base/buf.h"

struct html {
	struct buf out;
	int result; /* 0, or why out is not whole */
};

/* An empty page that may grow to max bytes; html_done is due. */
void html_init(struct html *h, size_t max);
void html_done(struct html *h);

/*
 * Append format, which is markup, with its arguments: %s is escaped text,
 * %u, %d and %zu are numbers, %% is itself; there is nothing else. After a
 * failure h->result is -EMSGSIZE or -ENOMEM, and out stays as it was.
 */
void html_put(struct html *h, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Append text, escaped: & < > " ' as references. What a reader would not see
 * as it is (control characters, marks that turn or join text, bytes that are
 * no UTF-8) is spelled out: <U+202E>, <byte FF>.
 */
void html_text(struct html *h, struct bytes text);

/* Append a name of our own, escaped, that may break behind '_' and '.'. */
void html_word(struct html *h, const char *name);

/* Append bytes of our own as they are: the style sheet and the script. */
void html_raw(struct html *h, struct bytes markup);

#endif
