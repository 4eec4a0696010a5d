/*
 * HDF5 takes about 1 MB from the system for each file that it opens. Under sanitizers it costs less
 * than half the time to let it keep that for the next file.
 */
#ifndef PB_TESTS_FUZZ_LIBRARY_H
#define PB_TESTS_FUZZ_LIBRARY_H

#include <hdf5.h>
#include <stdbool.h>

static inline void fuzz_keep_library_memory(void)
{
    static bool is_set;

    if (!is_set)
        H5set_free_list_limits(-1, -1, -1, -1, -1, -1);
    is_set = true;
}

#endif
