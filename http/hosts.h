/* /etc/hosts as it was at the start. */
#ifndef HTTP_HOSTS_H
#define HTTP_HOSTS_H

#include "base/buf.h"
#include "privsep/http_policy.h"

#define HOSTS_TEXT_MAX (256u * 1024u) /* bytes of the file that count */

struct hosts {
	struct buf text; /* lines */
};

/* Read the file at path; one that is missing is empty. Returns 0 or -ENOMEM.
 * Release h with hosts_done. */
must_use int hosts_read(struct hosts *h, const char *path);
void hosts_done(struct hosts *h);

/* The addresses of name, in lower case: at most max into out. Returns how many
 * there are. */
size_t hosts_find(const struct hosts *h, const char *name,
    struct http_address *out, size_t max);

#endif
