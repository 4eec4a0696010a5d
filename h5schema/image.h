/* Private to h5schema/: opening an image, and what its root says. */
#ifndef PB_H5SCHEMA_IMAGE_H
#define PB_H5SCHEMA_IMAGE_H

#include <hdf5.h>

#include "core/error.h"
#include "core/record.h"

#define PB_IMAGE_DEVICE "device"
#define PB_IMAGE_TEST   "test"
#define PB_IMAGE_MEMBER "member"

/* Attributes of an image's root; its content lies under the group of the same kind. */
struct pb_image_label {
    int64_t schema_version;
    char kind[PB_NAME_LENGTH];
    char key[PB_KEY_LENGTH];
    char name[PB_NAME_LENGTH]; /* of a test */
};

/* Copies the bytes. PB_CORRUPT: no HDF5. PB_INVALID: not an image. */
enum pb_status pb_image_open(const void *bytes, size_t size, hid_t *file_out,
                             struct pb_image_label *label_out, struct pb_error *err);

#endif
