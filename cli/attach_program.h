/* Where the command `sallyport` is, which starts the server. */
#ifndef CLI_ATTACH_PROGRAM_H
#define CLI_ATTACH_PROGRAM_H

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"

/*
 * The sallyport of the same build as this process: above its directory in a
 * build tree, in the directory that belongs to it if the installation was
 * moved as a whole, or where it was to be installed. PATH is not asked.
 * Returns 0 or a negative errno with e.
 */
must_use int attach_program_find(char path[PATH_LEN_MAX], struct err *e);

#endif
