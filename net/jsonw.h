/*
 * Writing JSON text straight into a buffer, without a tree. Commas are put in
 * by themselves. Errors stick: after one, nothing is written and jsonw_ok says
 * false, so a caller checks once at the end.
 */
#ifndef NET_JSONW_H
#define NET_JSONW_H

#include "base/buf.h"

struct jsonw {
	struct buf *b; /* borrowed */
	bool failed;
	bool comma; /* the next value needs one in front */
};

void jsonw_init(struct jsonw *w, struct buf *b);
must_use bool jsonw_ok(const struct jsonw *w);

void jsonw_open(struct jsonw *w, char bracket);	 /* '{' or '[' */
void jsonw_close(struct jsonw *w, char bracket); /* '}' or ']' */
/* key is text that needs no escaping. */
void jsonw_key(struct jsonw *w, const char *key);
/* s is UTF-8; bytes that are not become U+FFFD. */
void jsonw_string(struct jsonw *w, struct bytes s);
void jsonw_text(struct jsonw *w, const char *s);
void jsonw_int(struct jsonw *w, int64_t v);
void jsonw_uint(struct jsonw *w, uint64_t v);
void jsonw_bool(struct jsonw *w, bool v);
void jsonw_null(struct jsonw *w);
/* s as it is, for a value written in parts. */
void jsonw_raw(struct jsonw *w, const char *s);
/* The base64 of data as a string. */
void jsonw_base64(struct jsonw *w, struct bytes data);
/* A string "file://..." for an absolute path. */
void jsonw_file_uri(struct jsonw *w, struct bytes path);

#endif
