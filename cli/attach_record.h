/*
 * The records on a control socket, each one a letter and a text. A lease is
 * held from ATTACH_ACQUIRE until ATTACH_RELEASE or the end of the connection,
 * however that came.
 */
#ifndef CLI_ATTACH_RECORD_H
#define CLI_ATTACH_RECORD_H

#include "base/log.h"

#define ATTACH_RECORD_MAX (1 + LOG_LINE_MAX) /* bytes */

enum attach_record {
	/* To the keeper. The text is the digest of the server's options. */
	ATTACH_ACQUIRE = 'A',
	ATTACH_RELEASE = 'R', /* no text */
	/* From the keeper. */
	ATTACH_SERVING = 'S',  /* the URL */
	ATTACH_REFUSED = 'F',  /* why there will be no URL; the last record */
	ATTACH_ENDED = 'E',    /* how the server ended; the last record */
	ATTACH_RELEASED = 'D', /* no text: it is gone, or others hold it */
	ATTACH_LOG = 'L',      /* a line of the server's, as it is */
};

#endif
