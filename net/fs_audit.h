/* What a client changed in files, for the audit log. */
#ifndef NET_FS_AUDIT_H
#define NET_FS_AUDIT_H

#include "net/fs_call.h"

/*
 * Tell of call, which w has answered with m, if it was to change files: the
 * operation, paths, the bytes of a write, and whether it was done. Blocks of an
 * open file are told of once, as it is opened for writing. Never contents.
 */
void fs_audit(struct fs_call *call, const struct fs_worker *w,
    const struct msg *m);

/* A file that was open is closed, or its worker has ended: how. Nothing is told
 * of one that was opened for reading. */
void fs_audit_close(const struct fs_handle *h, const char *how);

#endif
