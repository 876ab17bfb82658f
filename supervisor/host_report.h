/*
 * What exec found out about the host, in words for a person or as JSON. The
 * probe's text is that of exec/probe.h: "key=value ..." .
 */
#ifndef SUPERVISOR_HOST_REPORT_H
#define SUPERVISOR_HOST_REPORT_H

#include <stdbool.h>

#include "base/buf.h"

#define HOST_VALUE_MAX	32  /* bytes, the final NUL included */
#define HOST_REMEDY_MAX 256 /* the same */

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

/* A layer, or what is served with it, as a line of the report. */
struct host_item {
	const char *name;
	const char *state; /* "works", "missing", "untried" or "refused" */
	char value[HOST_VALUE_MAX];   /* of the probe */
	const char *needed_by;	      /* of a layer; else "" */
	char remedy[HOST_REMEDY_MAX]; /* of one that is missing; else "" */
};

/* Item i: layers first, then what is served. False behind the last. */
bool host_item_get(const struct host *h, size_t i, struct host_item *out);

/* Append the report. 0, -EMSGSIZE or -ENOMEM. */
must_use int host_put_text(const struct host *h, struct buf *out);
must_use int host_put_json(const struct host *h, struct buf *out);

#endif
