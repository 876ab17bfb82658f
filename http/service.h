/* What the parts of sallyport-http share, and its loop. */
#ifndef HTTP_SERVICE_H
#define HTTP_SERVICE_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "http/config.h"
#include "http/loop.h"
#include "http/resolver.h"
#include "privsep/channel.h"

struct exchange;

struct service {
	struct config config;
	struct channel *channel; /* to net; owned */
	struct source channel_source;
	int epfd;
	CURLM *multi;
	int64_t curl_due_ms; /* when libcurl wants a turn; INT64_MAX: never */
	struct resolver *resolver;
	TAILQ_HEAD(, exchange) exchanges;
	uint32_t exchange_count;
	struct buf ca; /* certificates of authorities, PEM */
	bool has_zstd;
	bool broken; /* net is gone, or does not take what we say */
};

/*
 * Everything that opens files: libcurl, certificates, the resolver. Returns 0,
 * or a negative errno with e. Release s with service_done in any case.
 */
must_use int service_init(struct service *s, struct err *e);
void service_done(struct service *s);

/* Serve net on channel (taken) until it goes. Returns 0, or a negative errno
 * with e. */
must_use int service_run(struct service *s, struct channel *channel,
    struct err *e);

/* Take the result of a channel_send. */
void service_sent(struct service *s, int r);

#endif
