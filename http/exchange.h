/*
 * One http/request: one hop after another, each judged by the guard, and an
 * answer to net. It belongs to the service and ends itself.
 */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "http/resolver.h"
#include "http/service.h"
#include "http/url.h"

/* Bytes of an answer to a redirect that are read before its connection is
 * given up. */
#define REDIRECT_BODY_MAX (64u * 1024u)

struct exchange {
	TAILQ_ENTRY(exchange) link;
	struct service *service;
	uint32_t number;
	uint32_t flags;	     /* enum http_flag */
	int64_t deadline_ms; /* of clock_ms; INT64_MAX: none */

	/* What the client asked, as the present hop has it */
	char *method;	   /* owned */
	struct buf fields; /* pairs, checked */
	int body_fd;	   /* owned; -1: none */
	uint64_t body_len, body_at;
	char *user, *password; /* owned; of the client's origin */
	uint32_t redirects;
	bool crossed; /* the hop is not the client's origin any more */
	bool no_body; /* a redirect has dropped it */

	/* The hop */
	struct url url;
	struct lookup *lookup;
	struct http_address addresses[ADDRESSES_MAX]; /* judged */
	size_t address_count;
	bool proxied;
	CURL *easy;
	struct curl_slist *headers, *resolve;
	bool refused; /* by the judge of sockets, for this reason: */
	struct refusal refusal;

	/* Its answer */
	long status;
	struct buf answer; /* pairs */
	bool answered;	   /* HTTP_RESPONSE was sent */
	bool decoded;	   /* libcurl takes an encoding off the body */
	char *location;	   /* owned */
	struct url next;   /* of a redirect that is followed */
	bool redirecting;
	bool misled;	/* the redirect leads to another scheme */
	bool too_large; /* headers or body passed their maximum */
	uint64_t received;
	struct buf body; /* until it is too long for a record */
	int spool_fd;	 /* then; owned, -1 before */
	int64_t credit;
	bool paused;
};

/* Start what m asks; its descriptor is taken. It is answered in every case.
 * Returns 0, or -EPROTO if m breaks the contract. */
must_use int exchange_start(struct service *s, struct msg *m);

struct exchange *exchange_find(struct service *s, uint32_t number);
/* Free it and tell nobody. */
void exchange_free(struct exchange *x);

/* Answer with a failure and free it. */
void exchange_fail(struct exchange *x, enum http_failure failure,
    const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Its time is over. */
void exchange_expire(struct exchange *x);
/* libcurl is through with a hop. */
void exchange_hop_done(struct exchange *x, CURLcode code);
/* len more bytes of a stream may be sent. */
void exchange_credit(struct exchange *x, uint32_t len);

/* hop.c: judge x->url, resolve, judge again, perform. May end x. */
void hop_start(struct exchange *x);
/* Let go of what the hop holds. */
void hop_end(struct exchange *x);
/* Answer that the guard objects. Ends x. */
void hop_blocked(struct exchange *x, const struct refusal *why);

/* response.c: have the easy handle call us for the answer. 0 or a libcurl
 * error. */
CURLcode response_listen(struct exchange *x);
/* Send the end of a whole body and free x. */
void response_finish(struct exchange *x);

#endif
