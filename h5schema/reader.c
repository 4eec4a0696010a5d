/* Reading a fleet file; nothing in it is trusted. */
#include <stdlib.h>
#include <string.h>

#include "core/former.h"
#include "h5schema/fleet.h"
#include "h5schema/matrix.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

struct pb_reader {
    hid_t file;
    struct pb_run run;
    char path[PATH_MAX];
};

enum pb_status pb_fleet_open_file(const char *path, hid_t *file_out, struct pb_run *run_out,
                                  struct pb_error *err)
{
    hid_t file = H5I_INVALID_HID;
    enum pb_status status = pb_h5_open_file(path, false, &file, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_read_attributes(file, pb_schema_find("/"), run_out, err);
    if (status != PB_OK) {
        H5Fclose(file);
        return pb_error_prefix(err, "%s: expected a fleet file, found other HDF5", path);
    }
    if (!pb_schema_is_read(run_out->schema_version)) {
        H5Fclose(file);
        return pb_fail(err, PB_INVALID, "%s: expected schema version %d to %d, found %lld", path,
                       PB_SCHEMA_VERSION_FIRST, PB_SCHEMA_VERSION,
                       (long long)run_out->schema_version);
    }
    *file_out = file;
    return PB_OK;
}

enum pb_status pb_reader_open(const char *path, struct pb_reader **reader_out, struct pb_error *err)
{
    struct pb_reader *reader = calloc(1, sizeof(*reader));
    enum pb_status status;

    if (reader == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    status = pb_fleet_open_file(path, &reader->file, &reader->run, err);
    if (status != PB_OK) {
        free(reader);
        return status;
    }
    snprintf(reader->path, sizeof(reader->path), "%s", path);
    *reader_out = reader;
    return PB_OK;
}

/* Says of which file it is, where a status is bad; returns it. */
static enum pb_status name_file(const struct pb_reader *reader, enum pb_status status,
                                struct pb_error *err)
{
    if (status != PB_OK)
        pb_error_prefix(err, "%s", reader->path);
    return status;
}

void pb_reader_close(struct pb_reader *reader)
{
    if (reader == NULL)
        return;
    H5Fclose(reader->file);
    free(reader);
}

hid_t pb_reader_file(const struct pb_reader *reader)
{
    return reader->file;
}

const char *pb_reader_path(const struct pb_reader *reader)
{
    return reader->path;
}

enum pb_status pb_reader_run(struct pb_reader *reader, struct pb_run *run_out, struct pb_error *err)
{
    (void)err;
    *run_out = reader->run;
    return PB_OK;
}

enum pb_status pb_reader_members(struct pb_reader *reader, struct pb_member **members_out,
                                 size_t *count_out, struct pb_error *err)
{
    void *rows = NULL;
    enum pb_status status =
        pb_h5_read_rows(reader->file, "/fleet", pb_schema_find("/fleet"), &rows, count_out, err);

    if (status != PB_OK)
        return name_file(reader, status, err);
    *members_out = rows;
    return PB_OK;
}

enum pb_status pb_reader_findings(struct pb_reader *reader, struct pb_finding_row **rows_out,
                                  size_t *count_out, struct pb_error *err)
{
    void *rows = NULL;
    enum pb_status status;

    status = pb_h5_read_rows(reader->file, "/analysis/findings",
                             pb_schema_find("/analysis/findings"), &rows, count_out, err);
    if (status != PB_OK)
        return name_file(reader, status, err);
    *rows_out = rows;
    return PB_OK;
}

enum pb_status pb_reader_finding_members(struct pb_reader *reader,
                                         struct pb_finding_member **rows_out, size_t *count_out,
                                         struct pb_error *err)
{
    static const char path[] = "/analysis/finding_members";
    void *rows = NULL;
    enum pb_status status =
        pb_h5_read_rows(reader->file, path, pb_schema_find(path), &rows, count_out, err);

    if (status != PB_OK)
        return name_file(reader, status, err);
    *rows_out = rows;
    return PB_OK;
}

/* Names under a group in alphabetical order; none where there is no such group. */
static enum pb_status list_names(struct pb_reader *reader, const char *path,
                                 struct pb_key **names_out, size_t *count_out, struct pb_error *err)
{
    hid_t group = H5I_INVALID_HID;
    enum pb_status status = pb_h5_open_group(reader->file, path, &group, err);

    if (status == PB_NOT_FOUND) {
        struct pb_key *none = calloc(1, sizeof(*none));

        if (none == NULL)
            return pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating names", reader->path);
        *names_out = none;
        *count_out = 0;
        return PB_OK;
    }
    if (status == PB_OK) {
        status = pb_h5_list(group, path, names_out, count_out, err);
        H5Gclose(group);
    }
    return name_file(reader, status, err);
}

enum pb_status pb_reader_devices(struct pb_reader *reader, struct pb_key **keys_out,
                                 size_t *count_out, struct pb_error *err)
{
    return list_names(reader, "/devices", keys_out, count_out, err);
}

enum pb_status pb_reader_tests(struct pb_reader *reader, const char *key, struct pb_key **names_out,
                               size_t *count_out, struct pb_error *err)
{
    char path[2 * PB_KEY_LENGTH];

    enum pb_status status;

    snprintf(path, sizeof(path), "/devices/%s/tests", key);
    status = list_names(reader, path, names_out, count_out, err);
    for (size_t i = 0; status == PB_OK && i < *count_out; i++)
        pb_name_update(PB_NAME_OF_TEST, (*names_out)[i].text, sizeof((*names_out)[i].text));
    if (status == PB_OK)
        qsort(*names_out, *count_out, sizeof(**names_out), pb_key_compare);
    return status;
}

enum pb_status pb_reader_device(struct pb_reader *reader, const char *key,
                                struct pb_device_info *info_out, struct pb_error *err)
{
    char path[2 * PB_KEY_LENGTH];
    hid_t group;
    enum pb_status status;

    snprintf(path, sizeof(path), "/devices/%s", key);
    status = pb_h5_open_group(reader->file, path, &group, err);
    if (status != PB_OK)
        return name_file(reader, status, err);
    status = pb_h5_read_attributes(group, pb_schema_find("/devices/<key>"), info_out, err);
    H5Gclose(group);
    if (status != PB_OK)
        pb_error_prefix(err, "%s: %s", reader->path, path);
    return status;
}

enum pb_status pb_reader_states(struct pb_reader *reader, const char *key,
                                struct pb_state **states_out, size_t *count_out,
                                struct pb_error *err)
{
    char path[2 * PB_KEY_LENGTH];
    void *rows = NULL;
    enum pb_status status;

    snprintf(path, sizeof(path), "/devices/%s/state", key);
    status = pb_h5_read_rows(reader->file, path, pb_schema_find("/devices/<key>/state"), &rows,
                             count_out, err);
    if (status != PB_OK)
        return name_file(reader, status, err);
    *states_out = rows;
    return PB_OK;
}

static enum pb_status read_test_attributes(hid_t group, struct pb_recording *recording,
                                           struct pb_error *err)
{
    struct pb_test_row row;
    enum pb_status status =
        pb_h5_read_attributes(group, pb_schema_find("/devices/<key>/tests/<test>"), &row, err);

    if (status != PB_OK)
        return status;
    PB_TEXT_SET(recording->name, row.name);
    PB_TEXT_SET(recording->unit, row.unit);
    PB_TEXT_SET(recording->method, row.method);
    PB_TEXT_SET(recording->message, row.message);
    recording->outcome = pb_outcome_parse(row.status);
    recording->seconds = row.seconds;
    recording->overhead_cycles = row.overhead_cycles;
    recording->sm_id = row.sm_id;
    recording->concurrent_devices = row.concurrent_devices;
    recording->method_version = row.method_version;
    return PB_OK;
}

/* Rows of a dataset that may be absent. */
static enum pb_status read_optional(hid_t group, const char *name, const char *pattern,
                                    void **rows_out, size_t *count_out, struct pb_error *err)
{
    enum pb_status status =
        pb_h5_read_rows(group, name, pb_schema_find(pattern), rows_out, count_out, err);

    return status == PB_NOT_FOUND ? PB_OK : status;
}

/* Every point owns accesses of its own, or reading few of them could take any time; and all are
 * owned. */
static enum pb_status check_points(const struct pb_series *series, size_t index_count,
                                   struct pb_error *err)
{
    uint64_t left = series->access_count;

    if (index_count != series->access_count)
        return pb_fail(err, PB_CORRUPT, "index: expected %zu elements as in latency, found %zu",
                       series->access_count, index_count);
    for (size_t i = 0; i < series->point_count; i++) {
        const struct pb_point *point = &series->points[i];

        if (point->first > series->access_count ||
            point->count > series->access_count - point->first)
            return pb_fail(err, PB_CORRUPT,
                           "points[%zu]: owns accesses %llu to %llu, of which there are %zu", i,
                           (unsigned long long)point->first,
                           (unsigned long long)(point->first + point->count), series->access_count);
        if (point->count > left)
            return pb_fail(
                err, PB_CORRUPT,
                "points[%zu]: owns %llu accesses, where points before it left %llu of %zu", i,
                (unsigned long long)point->count, (unsigned long long)left, series->access_count);
        left -= point->count;
    }
    if (left > 0)
        return pb_fail(err, PB_CORRUPT, "points: own %llu of %zu accesses",
                       (unsigned long long)(series->access_count - left), series->access_count);
    return PB_OK;
}

static enum pb_status read_series(hid_t group, struct pb_series *series, struct pb_error *err)
{
    void *points = NULL, *latency = NULL, *index = NULL;
    size_t index_count = 0;
    enum pb_status status;

    status = read_optional(group, "points", "/devices/<key>/tests/<test>/points", &points,
                           &series->point_count, err);
    series->points = points;
    series->point_capacity = series->point_count;
    if (status == PB_OK)
        status = read_optional(group, "latency", "/devices/<key>/tests/<test>/latency", &latency,
                               &series->access_count, err);
    series->latency_cycles = latency;
    series->access_capacity = series->access_count;
    if (status == PB_OK)
        status = read_optional(group, "index", "/devices/<key>/tests/<test>/index", &index,
                               &index_count, err);
    series->index_bytes = index;
    return status != PB_OK ? status : check_points(series, index_count, err);
}

enum pb_status pb_h5_read_test(hid_t group, struct pb_recording *recording_out,
                               struct pb_error *err)
{
    struct pb_recording recording = {.outcome = PB_TEST_MISSING};
    enum pb_status status = read_test_attributes(group, &recording, err);

    if (status == PB_OK)
        status = read_series(group, &recording.series, err);
    if (status == PB_OK)
        status = pb_h5_read_matrix(group, &recording.matrix, err);
    if (status != PB_OK) {
        pb_recording_clear(&recording);
        return status;
    }
    *recording_out = recording;
    return PB_OK;
}

static void find_test(const struct pb_reader *reader, const char *key, const char *test,
                      char *path_out, size_t size)
{
    char folder[2 * PB_KEY_LENGTH];

    snprintf(folder, sizeof(folder), "/devices/%s/tests", key);
    pb_h5_test_path(reader->file, folder, test, path_out, size);
}

uint64_t pb_reader_method_version(struct pb_reader *reader, const char *key, const char *test)
{
    char path[3 * PB_KEY_LENGTH];
    struct pb_recording recording = {.method_version = 0};
    hid_t group;

    find_test(reader, key, test, path, sizeof(path));
    if (pb_h5_open_group(reader->file, path, &group, NULL) != PB_OK)
        return 0;
    if (read_test_attributes(group, &recording, NULL) != PB_OK)
        recording.method_version = 0;
    H5Gclose(group);
    return recording.method_version > 1 ? recording.method_version : 0;
}

enum pb_status pb_reader_recording(struct pb_reader *reader, const char *key, const char *test,
                                   struct pb_recording *recording_out, struct pb_error *err)
{
    char path[3 * PB_KEY_LENGTH];
    hid_t group;
    enum pb_status status;

    find_test(reader, key, test, path, sizeof(path));
    status = pb_h5_open_group(reader->file, path, &group, err);
    if (status != PB_OK)
        return name_file(reader, status, err);
    status = pb_h5_read_test(group, recording_out, err);
    H5Gclose(group);
    if (status != PB_OK)
        pb_error_prefix(err, "%s: %s", reader->path, path);
    return status;
}

enum pb_status pb_reader_stored_bytes(struct pb_reader *reader, const char *key, const char *test,
                                      uint64_t *bytes_out, struct pb_error *err)
{
    char path[3 * PB_KEY_LENGTH];
    struct pb_key *names = NULL;
    size_t count = 0;
    uint64_t bytes = 0;
    hid_t group;
    enum pb_status status;

    find_test(reader, key, test, path, sizeof(path));
    status = pb_h5_open_group(reader->file, path, &group, err);
    if (status != PB_OK)
        return name_file(reader, status, err);
    status = pb_h5_list(group, path, &names, &count, err);
    for (size_t i = 0; i < count; i++) {
        hid_t dataset;

        if (pb_h5_open_dataset(group, names[i].text, &dataset, NULL) != PB_OK)
            continue; /* which the validator complains of */
        bytes += H5Dget_storage_size(dataset);
        H5Dclose(dataset);
    }
    free(names);
    H5Gclose(group);
    if (status == PB_OK)
        *bytes_out = bytes;
    return status;
}
