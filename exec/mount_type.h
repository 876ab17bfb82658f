/* What kind of file system something lies on. Not for use after clone. */
#ifndef EXEC_MOUNT_TYPE_H
#define EXEC_MOUNT_TYPE_H

#include "base/cleanup.h"

#define MOUNT_TYPE_MAX 20 /* bytes, the final NUL included */

/* Its name as of /proc/filesystems, cut to fit, of an open or O_PATH
 * descriptor; "?" if that is not to be found out. Needs /proc. */
void mount_type(int fd, char out[MOUNT_TYPE_MAX]);

#endif
