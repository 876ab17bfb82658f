/*
 * What exec found out about the host, in words for a person or as JSON. The
 * probe's text is that of exec/probe.h: "key=value ..." .
 */
#ifndef SUPERVISOR_HOST_REPORT_H
#define SUPERVISOR_HOST_REPORT_H

#include "base/buf.h"

struct host {
	struct bytes probe; /* borrowed */
	const char *kernel; /* its release */
	bool root;
};

/* The exit codes of sallyport doctor. */
enum host_judgement {
	HOST_WHOLE = 0,
	HOST_LACKS = 1, /* it serves, but not everything */
	HOST_CANNOT_SERVE = 2,
};

/* Whether the default preset is served, and whether all layers are there. */
enum host_judgement host_judge(const struct host *h);

/* Append the report. 0, -EMSGSIZE or -ENOMEM. */
must_use int host_put_text(const struct host *h, struct buf *out);
must_use int host_put_json(const struct host *h, struct buf *out);

#endif
