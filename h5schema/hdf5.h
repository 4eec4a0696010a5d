/* Private to h5schema/: errors of HDF5, and the properties of what is created and opened. */
#ifndef PB_H5SCHEMA_HDF5_H
#define PB_H5SCHEMA_HDF5_H

#include <hdf5.h>
#include <stdbool.h>

#include "core/error.h"

/* Keeps HDF5 from printing its own errors; pb_h5_fail() quotes the innermost one instead. */
void pb_h5_quiet(void);
enum pb_status pb_h5_fail(struct pb_error *err, enum pb_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* File access properties: layout readable by stock HDF5 1.10. core: in memory only. */
hid_t pb_h5_access(bool core);

/* File creation properties: small nodes for the many datasets that have few chunks. */
hid_t pb_h5_creation(void);

/* Dataset creation: chunked, shuffle, deflate, Fletcher-32. */
hid_t pb_h5_compressed(int rank, const hsize_t *chunk);

#endif
