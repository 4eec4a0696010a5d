/* Private to h5schema/: a test copied from one file into another. */
#ifndef PB_H5SCHEMA_COPY_H
#define PB_H5SCHEMA_COPY_H

#include <hdf5.h>
#include <stdint.h>

#include "core/error.h"

/*
 * Makes the group `name` in `to` from the group `path` in `from`: its attributes and datasets,
 * their chunks as they are stored, each verified by its Fletcher-32 checksum; names of an older
 * version of the schema become those of this one. What refers to other
 * objects (the attachments and labels of dimensions) is left to pb_h5_attach_scales().
 *
 * Not H5Ocopy(): where it fails, HDF5 1.10's frees what it never had, and so a full disk or a
 * damaged source ended the process.
 *
 * PB_CORRUPT: the source is damaged, or cannot be what plumb wrote. PB_IO: no room. A part may be
 * left in `to`.
 */
enum pb_status pb_h5_copy_test(hid_t from, const char *path, hid_t to, const char *name,
                               struct pb_error *err);

/* The checksum of HDF5's filter fletcher32: sums of 16-bit big-endian words. */
uint32_t pb_h5_fletcher32(const void *bytes, size_t size);

#endif
