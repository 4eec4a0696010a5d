/* Where the running program lies, and where the data that belongs to it does. */
#ifndef PB_CORE_PROGRAM_H
#define PB_CORE_PROGRAM_H

#include <limits.h>
#include <stddef.h>

#include "core/error.h"

/* The folder of this program's executable, without a "/" at its end. PB_IO: /proc does not say. */
enum pb_status pb_program_folder(char folder_out[PATH_MAX], struct pb_error *err);

enum { PB_DATA_FOLDERS = 3 };

/*
 * Folders in which data files of a kind ("profiles", "references") are looked for, in this order:
 * the one that the environment variable names, the installed one beside the program (so that a tree
 * can be moved after it was installed), and the one in the source tree that it was built from.
 *
 * Returns how many there are; what is unset or not known is left out.
 */
size_t pb_program_data_folders(const char *environment, const char *kind, const char *source,
                               char folders_out[PB_DATA_FOLDERS][PATH_MAX]);

#endif
