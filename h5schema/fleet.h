/* Private to h5schema/: the fleet file being written. */
#ifndef PB_H5SCHEMA_FLEET_H
#define PB_H5SCHEMA_FLEET_H

#include <hdf5.h>
#include <limits.h>

#include "core/partial.h"
#include "h5schema/file.h"

struct pb_fleet {
    hid_t file;
    struct pb_run run;
    char path[PATH_MAX]; /* as the user calls it, for messages */
    struct pb_partial partial;
    const struct pb_claim *claim; /* NULL: none */
    struct pb_fleet_listener listener;
    bool is_checked;           /* all tests in it, by pb_image_check() */
    struct pb_member *members; /* written at the end: rows may be replaced until then */
    size_t member_count, member_capacity;
};

/* The group of a device with its tests group, made when it is not there. Close it. */
enum pb_status pb_fleet_device_group(hid_t file, const char *key, hid_t *group_out,
                                     struct pb_error *err);

/*
 * Copies test `name` from `source` (a location with the test under source_path) into the device's
 * group, unless the one that is there outranks it (pb_test_end_replaces()). *taken_out: whether it
 * was. PB_CORRUPT: the source is damaged; what was there still is.
 */
enum pb_status pb_fleet_copy_test(hid_t device, const char *name, hid_t source,
                                  const char *source_path, bool *taken_out, struct pb_error *err);

/* Adds or replaces a row of /fleet; see pb_fleet_add() and pb_fleet_add_file(). */
enum pb_status pb_fleet_put_member(struct pb_fleet *fleet, const struct pb_member *member,
                                   struct pb_error *err);

/* Refuses a device under a key that another uuid has. */
enum pb_status pb_fleet_put_device(struct pb_fleet *fleet, const char *key,
                                   const struct pb_device_info *info, struct pb_error *err);

/* Opens an HDF5 file and checks that it is a fleet file of this schema. */
enum pb_status pb_fleet_open_file(const char *path, hid_t *file_out, struct pb_run *run_out,
                                  struct pb_error *err);

/* The open file of a reader, which closes it. */
hid_t pb_reader_file(const struct pb_reader *reader);

/* All of a test by its open group; see pb_reader_recording(). */
enum pb_status pb_h5_read_test(hid_t group, struct pb_recording *recording_out,
                               struct pb_error *err);

/* Reads a test whole: ranges of points, checksums of chunks, axes of the matrix, its name. */
enum pb_status pb_h5_check_test(hid_t group, const char *name, struct pb_error *err);

/* The file that a reader was opened on, for messages. */
const char *pb_reader_path(const struct pb_reader *reader);

#endif
