/*
 * Directories that lead to what is protected, each a mount of its own: else it
 * could be renamed, and another put in its place. After clone: nothing
 * allocates.
 */
#ifndef EXEC_VIEW_PIN_H
#define EXEC_VIEW_PIN_H

#include "exec/view_plan.h"

/* Make the directory at an O_PATH descriptor of the view a mount of its own,
 * unless it is the root of one already: mount_pin. 1 if it was made: then what
 * at is has been covered, and is to be opened anew; 0; or a negative errno. */
must_use int view_pin(int at);

/*
 * Pin path[0..len), a directory, and every directory on the way to it that the
 * child could rename, as far as they are there: what stands in the way is for
 * the caller to meet. path is absolute and canonical. The number of mounts
 * made, or a negative errno.
 */
must_use int view_pin_way(const struct view_plan *v, const char *path,
    size_t len);

#endif
