#include "privsep/tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define PAIRS_MAX 16384 /* bytes of a line: msg.def */

/* 0 or a negative errno. */
static int
send_line(struct channel *supervisor, const char *event,
    const char *const *pairs)
{
	scoped_buf list = {.max = PAIRS_MAX};
	struct msg_audit m = {.event = bytes_of(event)};

	for (; *pairs != NULL; pairs++) {
		int r = buf_put_cstring(&list, *pairs);

		if (r < 0)
			return r;
	}
	m.pairs = (struct bytes){.data = list.data, .len = list.len};
	return channel_send_audit(supervisor, &m, NULL, 0);
}

/* What is missing stands before what follows it. */
static int
send_count(struct tell *t, struct channel *supervisor)
{
	const char *name = strerrorname_np(t->lost_errno);
	char lines[24];
	int r;

	if (t->lost == 0)
		return 0;
	(void)snprintf(lines, sizeof lines, "%" PRIu64, t->lost);
	r = send_line(supervisor, "audit_lost",
	    (const char *[]){"lines", lines, "reason",
		name != NULL ? name : "unknown", NULL});
	if (r == 0)
		t->lost = 0;
	return r;
}

void
tell_audit(struct tell *t, struct channel *supervisor, const char *event,
    const char *const *pairs)
{
	int r = send_count(t, supervisor);

	if (r == 0)
		r = send_line(supervisor, event, pairs);
	if (r == 0)
		return;
	log_warn("audit_lost event=%s errno=%d", event, -r);
	if (t->lost++ == 0)
		t->lost_errno = -r;
}
