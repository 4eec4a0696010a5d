/*
 * Private to h5schema/: the one way by which HDF5 files, and what is in them, are opened.
 *
 * Only what a fleet file may contain is admitted, so that no reader needs a check of its own:
 *   - a regular file, of a format whose parts carry checksums, with nothing before its signature;
 *   - hard links, each object under one name: no soft, external or user-defined links, no
 * components;
 *   - data in chunks in the file itself (no external or virtual storage), through the filters
 *     shuffle, deflate and fletcher32, with no chunk that is missing or went by a filter, and with
 *     the attributes unit and description;
 *   - whole numbers of 1 to 8 bytes, IEEE numbers, texts of fixed length, and tables of these;
 *   - sizes that the stored bytes can hold, below the bounds here.
 * What is refused is refused before HDF5 follows it, with its path and what was expected.
 *
 * Limit: HDF5 1.10 itself may be ended by metadata that was forged with valid checksums.
 */
#ifndef PB_H5SCHEMA_OPEN_H
#define PB_H5SCHEMA_OPEN_H

#include <hdf5.h>
#include <stdbool.h>

#include "core/error.h"
#include "h5schema/file.h"

enum {
    PB_H5_RANK_MAX = PB_MATRIX_RANK_MAX,
    PB_H5_ELEMENT_BYTES_MAX = 1 << 16,
    PB_H5_CHUNK_BYTES_MAX = 1 << 28,
    PB_H5_DATASET_BYTES_MAX = 1 << 30, /* read at once; tables may be longer and read in parts */
};

/* PB_INVALID: no regular file, no HDF5, or of another format. */
enum pb_status pb_h5_open_file(const char *path, bool writable, hid_t *file_out,
                               struct pb_error *err);

/* A file in memory; the bytes are copied. PB_CORRUPT: no HDF5. */
enum pb_status pb_h5_open_image(const void *bytes, size_t size, hid_t *file_out,
                                struct pb_error *err);

/*
 * Objects by their path from a location. PB_NOT_FOUND: no such object, nor anything on the way that
 * is refused. PB_CORRUPT: it cannot be read, or is none that a fleet file may contain.
 */
enum pb_status pb_h5_open_group(hid_t location, const char *path, hid_t *group_out,
                                struct pb_error *err);
enum pb_status pb_h5_open_dataset(hid_t location, const char *path, hid_t *dataset_out,
                                  struct pb_error *err);

/*
 * The path of a test's group below `folder`: by its name, or by the one of version 1 where the file
 * has that.
 */
void pb_h5_test_path(hid_t location, const char *folder, const char *test, char *path_out,
                     size_t size);

/*
 * To be called once before a dataset is read: refuses chunks that are missing, which HDF5 would
 * take for zeros, and chunks that went by a filter. Reads every chunk as it is stored. PB_CORRUPT.
 */
enum pb_status pb_h5_check_chunks(hid_t dataset, const char *name, struct pb_error *err);

/* An attribute with one value. PB_NOT_FOUND: none of this name. PB_CORRUPT: refused. */
enum pb_status pb_h5_open_attribute(hid_t location, const char *name, hid_t *attribute_out,
                                    struct pb_error *err);

/*
 * Names in a group in alphabetical order, an array also where there are none; free() it.
 * PB_CORRUPT: the group cannot be listed, or a name is longer than any of the schema.
 */
enum pb_status pb_h5_list(hid_t group, const char *path, struct pb_key **names_out,
                          size_t *count_out, struct pb_error *err);

#endif
