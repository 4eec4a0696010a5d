/* Errors and properties of HDF5, as all of h5schema uses them; see hdf5.h. */
#include "h5schema/hdf5.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEFLATE_LEVEL = 4 };

void pb_h5_quiet(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static herr_t keep_innermost(unsigned depth, const H5E_error2_t *entry, void *text)
{
    (void)depth;
    if (entry->desc != NULL && *(const char **)text == NULL)
        *(const char **)text = entry->desc;
    return 0;
}

/* "file write failed: No space left on device": without descriptors, addresses and line breaks. */
static void shorten(const char *cause, char *text, size_t size)
{
    static const char mark[] = "error message = '";
    const char *reason = strstr(cause, mark);

    if (reason == NULL) {
        snprintf(text, size, "%.*s", (int)strcspn(cause, "\n"), cause);
        return;
    }
    reason += strlen(mark);
    snprintf(text, size, "%.*s: %.*s", (int)strcspn(cause, ":"), cause, (int)strcspn(reason, "'"),
             reason);
}

enum pb_status pb_h5_fail(struct pb_error *err, enum pb_status status, const char *format, ...)
{
    char text[PB_ERROR_LENGTH], reason[PB_ERROR_LENGTH];
    const char *cause = NULL;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &cause);
    if (cause == NULL)
        return pb_fail(err, status, "%s", text);
    shorten(cause, reason, sizeof(reason));
    return pb_fail(err, status, "%s (HDF5: %s)", text, reason);
}

/*
 * Memory must not grow with the number of devices: the cache of metadata keeps its size. It counts
 * bytes on disk, and headers with many attributes take some 20 times that in memory, so 1 MiB would
 * only be full after hundreds of devices (measured: 33 MB for 64 of them, 15 MB with 64 KiB).
 */
static void bound_metadata_cache(hid_t access)
{
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

    H5Pget_mdc_config(access, &cache);
    cache.set_initial_size = true;
    cache.initial_size = (size_t)1 << 16;
    cache.min_size = (size_t)1 << 16;
    cache.max_size = (size_t)1 << 16;
    cache.incr_mode = H5C_incr__off;
    cache.flash_incr_mode = H5C_flash_incr__off;
    cache.decr_mode = H5C_decr__off;
    H5Pset_mdc_config(access, &cache);
}

hid_t pb_h5_access(bool core)
{
    hid_t access;

    /* Files are closed where they are opened. One that a full disk kept from closing would be tried
     * again at exit, and end the process by a signal. */
    H5dont_atexit();
    access = H5Pcreate(H5P_FILE_ACCESS);
    pb_h5_quiet();
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    if (core)
        H5Pset_fapl_core(access, (size_t)64 << 10, false);
    else
        bound_metadata_cache(access);
    return access;
}

hid_t pb_h5_creation(void)
{
    enum { HALF_CHUNKS_PER_NODE = 4 };
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);

    H5Pset_istore_k(creation, HALF_CHUNKS_PER_NODE);
    return creation;
}

hid_t pb_h5_compressed(int rank, const hsize_t *chunk)
{
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);

    H5Pset_chunk(creation, rank, chunk);
    H5Pset_shuffle(creation);
    H5Pset_deflate(creation, DEFLATE_LEVEL);
    H5Pset_fletcher32(creation);
    H5Pset_attr_phase_change(creation, 32, 16);
    return creation;
}
