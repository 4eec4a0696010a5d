/*
 * Writing and reading fleet files, and the images they are made of.
 *
 * An image is a small HDF5 file in memory that holds one finished thing: a device's identity, one
 * test, or a row of /fleet. The same bytes go through the pipe, the spool and MPI; adding one to a
 * fleet file copies its compressed chunks as they are. Nothing above this folder sees HDF5.
 */
#ifndef PB_H5SCHEMA_FILE_H
#define PB_H5SCHEMA_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "core/identity.h"
#include "core/record.h"
#include "h5schema/rows.h"

/* Bytes of an image; free() them. */
struct pb_image {
    void *bytes;
    size_t size;
};

/* One image of a device's identity, of a test with the states read around it, of a fleet row. */
enum pb_status pb_image_of_device(const char *key, const struct pb_device_info *info,
                                  struct pb_image *image_out, struct pb_error *err);
enum pb_status pb_image_of_test(const char *key, const struct pb_recording *recording,
                                const struct pb_state *states, size_t state_count,
                                struct pb_image *image_out, struct pb_error *err);
enum pb_status pb_image_of_member(const struct pb_member *member, struct pb_image *image_out,
                                  struct pb_error *err);

/* Reads an image of a test whole, as pb_file_validate() does; PB_CORRUPT or PB_INVALID. */
enum pb_status pb_image_check(const void *bytes, size_t size, struct pb_error *err);

/* ---- writing a fleet file ---- */

struct pb_fleet;

/*
 * Starts a file that will be called `path`. It is written beside it under a temporary name.
 * PB_EXISTS: `path` exists and is no fleet file. PB_IO: its folder cannot be written.
 */
enum pb_status pb_fleet_create(const char *path, const struct pb_run *run,
                               struct pb_fleet **fleet_out, struct pb_error *err);

/*
 * Only the refusals of pb_fleet_create(), without creating anything. What a killed writer of `path`
 * has left on this host goes; see partial.h.
 */
enum pb_status pb_fleet_may_create(const char *path, struct pb_error *err);

/* Who must still own the output when it is put in place; borrowed. NULL: no process need. */
struct pb_claim;
void pb_fleet_guard(struct pb_fleet *fleet, const struct pb_claim *claim);

/* Gets one line for each damaged thing that was not taken from another file. */
struct pb_fleet_listener {
    void (*message)(void *context, const char *line); /* NULL: no listener */
    void *context;
};
void pb_fleet_listen(struct pb_fleet *fleet, const struct pb_fleet_listener *listener);

/*
 * Adds an image. A test that is there already is replaced as pb_test_end_replaces() says; a fleet
 * row with the same rank is replaced. PB_CORRUPT: not an image of ours, or a damaged one; what was
 * in the file still is.
 */
enum pb_status pb_fleet_add(struct pb_fleet *fleet, const void *image, size_t size,
                            struct pb_error *err);

/*
 * Adds every device, test and fleet row of another fleet file. What is damaged in it is noted to
 * the listener and left out, a damaged test recorded as missing. PB_INVALID: no fleet file.
 * PB_CORRUPT: its devices or rows cannot be listed. Other errors are of the file being written.
 */
enum pb_status pb_fleet_add_file(struct pb_fleet *fleet, const char *path, struct pb_error *err);

/* Rows of /fleet so far, by rank; *members_out is to be freed. */
enum pb_status pb_fleet_members(struct pb_fleet *fleet, struct pb_member **members_out,
                                size_t *count_out, struct pb_error *err);

/*
 * Adds a row of /fleet: to the same device's row if that is worse, under its own rank if that is
 * free, else under the next free one.
 */
enum pb_status pb_fleet_join_row(struct pb_fleet *fleet, const struct pb_member *row,
                                 struct pb_error *err);

/* What the tests of a device say of themselves, without their data; free() the rows. */
enum pb_status pb_fleet_tests(struct pb_fleet *fleet, const char *key,
                              struct pb_test_row **rows_out, size_t *count_out,
                              struct pb_error *err);

/*
 * Were all tests that are added read by pb_image_check() before? Then pb_fleet_commit() does not
 * read their data again. Not so until this is called.
 */
void pb_fleet_set_checked(struct pb_fleet *fleet, bool is_checked);

/* Forgets the rows of /fleet so far; devices and tests stay. */
void pb_fleet_forget_members(struct pb_fleet *fleet);

/*
 * Writes /fleet and `complete`, closes, validates, and renames into place. The fleet is gone either
 * way. PB_EXISTS: its claim was lost meanwhile. PB_IO: it cannot be written, or is not valid.
 */
enum pb_status pb_fleet_commit(struct pb_fleet *fleet, bool complete, struct pb_error *err);

/* Closes and deletes the temporary file; NULL is allowed. */
void pb_fleet_abandon(struct pb_fleet *fleet);

/* ---- reading ---- */

struct pb_reader;

/* PB_INVALID: no HDF5, truncated, no fleet file, or another schema version. */
enum pb_status pb_reader_open(const char *path, struct pb_reader **reader_out,
                              struct pb_error *err);
void pb_reader_close(struct pb_reader *reader); /* NULL is allowed */

enum pb_status pb_reader_run(struct pb_reader *reader, struct pb_run *run_out,
                             struct pb_error *err);
enum pb_status pb_reader_members(struct pb_reader *reader, struct pb_member **members_out,
                                 size_t *count_out, struct pb_error *err);

/* Sorted names; free() the array. */
struct pb_key {
    char text[PB_KEY_LENGTH];
};

int pb_key_compare(const void *a, const void *b); /* for qsort() and bsearch() */
enum pb_status pb_reader_devices(struct pb_reader *reader, struct pb_key **keys_out,
                                 size_t *count_out, struct pb_error *err);
enum pb_status pb_reader_tests(struct pb_reader *reader, const char *key, struct pb_key **names_out,
                               size_t *count_out, struct pb_error *err);

enum pb_status pb_reader_device(struct pb_reader *reader, const char *key,
                                struct pb_device_info *info_out, struct pb_error *err);
enum pb_status pb_reader_states(struct pb_reader *reader, const char *key,
                                struct pb_state **states_out, size_t *count_out,
                                struct pb_error *err);

/* pb_recording_clear() it. PB_NOT_FOUND: no such test. PB_CORRUPT: a point owns what is not there.
 */
enum pb_status pb_reader_recording(struct pb_reader *reader, const char *key, const char *test,
                                   struct pb_recording *recording_out, struct pb_error *err);

/* /analysis/findings; PB_NOT_FOUND: the file has none. free() the rows. */
enum pb_status pb_reader_findings(struct pb_reader *reader, struct pb_finding_row **rows_out,
                                  size_t *count_out, struct pb_error *err);

/* /analysis/finding_members; PB_NOT_FOUND: the file has none. free() the rows. */
enum pb_status pb_reader_finding_members(struct pb_reader *reader,
                                         struct pb_finding_member **rows_out, size_t *count_out,
                                         struct pb_error *err);

/*
 * Hands on the rows of /analysis/parameters in their order, one at a time, so that their number is
 * no matter; an error of row() ends it. PB_NOT_FOUND: the file has none.
 */
enum pb_status pb_reader_parameters(struct pb_reader *reader,
                                    enum pb_status (*row)(void *context,
                                                          const struct pb_parameter_row *row,
                                                          struct pb_error *err),
                                    void *context, struct pb_error *err);

/*
 * The rows of /analysis/agreement that speak of a device; free() them. PB_NOT_FOUND: the file has
 * no such table.
 */
enum pb_status pb_reader_agreement(struct pb_reader *reader, const char *key,
                                   struct pb_agreement_row **rows_out, size_t *count_out,
                                   struct pb_error *err);

/*
 * Bytes that the datasets of a test take up in the file: compressed, without attributes and HDF5's
 * own bookkeeping. PB_NOT_FOUND: no such test.
 */
enum pb_status pb_reader_stored_bytes(struct pb_reader *reader, const char *key, const char *test,
                                      uint64_t *bytes_out, struct pb_error *err);

/* ---- results and validation ---- */

/*
 * Replace /analysis/parameters with all that goes with them, or /analysis/findings with
 * /analysis/finding_members. The file is copied,
 * extended and renamed into place, so that raw data is never at risk.
 */
enum pb_status pb_file_write_parameters(const char *path, const struct pb_parameter_row *rows,
                                        size_t count, struct pb_error *err);

/* The version of the method by which a test was recorded; 0: its first, or there is no such test.
 */
uint64_t pb_reader_method_version(struct pb_reader *reader, const char *key, const char *test);

/* The metrics of a file's devices; pb_stored_metrics_clear() them. */
struct pb_stored_metrics {
    struct pb_analysed_device *devices; /* [device_count] */
    struct pb_stored_metric *metrics;   /* [metric_count] */
    struct pb_metric_value *values;     /* [value_count], device by device */
    size_t device_count, metric_count, value_count;
};

void pb_stored_metrics_clear(struct pb_stored_metrics *stored); /* NULL is allowed */

/*
 * Reads /analysis/metrics and what goes with it. PB_NOT_FOUND: there are none, or by another
 * version of the analysis. PB_INVALID: they were made from another content of the file, or changed
 * since. Other errors: they are damaged.
 */
enum pb_status pb_reader_metrics(struct pb_reader *reader, const char *version,
                                 struct pb_stored_metrics *stored_out, struct pb_error *err);

/* Whether /analysis/parameters are by this version, from the file as it is; errors as above. */
enum pb_status pb_reader_check_analysis(struct pb_reader *reader, const char *version,
                                        struct pb_error *err);

/* The same, row by row as they come, so that their number is no matter. */
struct pb_parameter_source {
    void *context;
    /* Fills up to `capacity` rows; *count_out 0 at the end. */
    enum pb_status (*next)(void *context, struct pb_parameter_row *rows, size_t capacity,
                           size_t *count_out, struct pb_error *err);
    /* The same for /analysis/agreement; NULL: what the file has of it goes. */
    enum pb_status (*next_agreement)(void *context, struct pb_agreement_row *rows, size_t capacity,
                                     size_t *count_out, struct pb_error *err);
    /* What devices are compared by, and the version of the analysis; NULL: neither is stored. */
    const struct pb_stored_metrics *metrics;
    const char *version;
};
enum pb_status pb_file_write_parameters_from(const char *path,
                                             const struct pb_parameter_source *source,
                                             struct pb_error *err);

struct pb_finding_tables {
    const struct pb_finding_row *findings;
    size_t finding_count;
    const struct pb_finding_member *members;
    size_t member_count;
};
enum pb_status pb_file_write_findings(const char *path, const struct pb_finding_tables *tables,
                                      struct pb_error *err);

/*
 * Checks the whole file, data included, and calls complain() with one line for each violation.
 * PB_INVALID: not a fleet file, or at least one complaint.
 */
enum pb_status pb_file_validate(const char *path, void (*complain)(void *context, const char *line),
                                void *context, size_t *complaints_out, struct pb_error *err);

/* The same without the data of tests, which pb_image_check() has read. */
enum pb_status pb_file_validate_structure(const char *path,
                                          void (*complain)(void *context, const char *line),
                                          void *context, size_t *complaints_out,
                                          struct pb_error *err);

#endif
