/*
 * /analysis/metrics and /analysis/source: what devices are compared by, kept with the file, and how
 * to show whether it still holds.
 *
 * The digest of the input is one over all bytes of the file between the superblock and the group
 * /analysis. Writers of fleet files know no /analysis, so whatever they wrote lies before it, and
 * all that is written into /analysis lies behind. Who changes anything else, be it a byte on the
 * disk or an object by way of HDF5, changes bytes before it: the data itself, or the structures
 * that lead to it from the root. So one reading of the file, as fast as the disk allows, takes the
 * place of an inference; and a copy of the file is as good as the file.
 */
#include "h5schema/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/digest.h"
#include "h5schema/fleet.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

/* Of versions 2 and 3: it says where the file ends. */
enum { SUPERBLOCK_BYTES = 48, BLOCK_BYTES = 1 << 18 };

/* Where the object header of a group begins. */
static enum pb_status address_of(hid_t group, uint64_t *address_out, struct pb_error *err)
{
    H5O_info_t info;

    if (H5Oget_info2(group, &info, H5O_INFO_BASIC) < 0 || info.addr < SUPERBLOCK_BYTES)
        return pb_h5_fail(err, PB_CORRUPT, "/analysis: its address cannot be read");
    *address_out = info.addr;
    return PB_OK;
}

static enum pb_status digest_range(int file, uint64_t end, void *block, uint64_t *digest_out)
{
    uint64_t digest = end;

    for (uint64_t at = SUPERBLOCK_BYTES; at < end;) {
        size_t wanted = end - at < BLOCK_BYTES ? (size_t)(end - at) : BLOCK_BYTES, got = 0;

        while (got < wanted) {
            ssize_t part = pread(file, (char *)block + got, wanted - got, (off_t)(at + got));

            if (part <= 0)
                return PB_IO;
            got += (size_t)part;
        }
        digest = pb_digest(digest, block, wanted);
        at += wanted;
    }
    *digest_out = digest;
    return PB_OK;
}

/* The digest of the input of a file whose /analysis is open. */
static enum pb_status digest_input(const char *path, hid_t analysis, uint64_t *digest_out,
                                   struct pb_error *err)
{
    uint64_t end = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *block = malloc(BLOCK_BYTES);
    enum pb_status status = address_of(analysis, &end, err);

    if (status == PB_OK && block == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %d bytes", BLOCK_BYTES);
    if (status == PB_OK && (file < 0 || digest_range(file, end, block, digest_out) != PB_OK))
        status = pb_fail(err, PB_IO, "cannot be read for its digest: %s", strerror(errno));
    if (file >= 0)
        close(file);
    free(block);
    return status;
}

static uint64_t digest_metrics(const struct pb_stored_metrics *stored)
{
    uint64_t digest = 0;

    digest = pb_digest(digest, stored->devices, stored->device_count * sizeof(*stored->devices));
    digest = pb_digest(digest, stored->metrics, stored->metric_count * sizeof(*stored->metrics));
    return pb_digest(digest, stored->values, stored->value_count * sizeof(*stored->values));
}

/* ---- writing ---- */

void pb_h5_drop_metrics(hid_t analysis)
{
    static const char *const names[] = {"source", "analysed_devices", "metrics", "metric_values"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (H5Lexists(analysis, names[i], H5P_DEFAULT) > 0)
            H5Ldelete(analysis, names[i], H5P_DEFAULT);
}

enum pb_status pb_h5_write_metrics(hid_t analysis, const struct pb_stored_metrics *stored,
                                   struct pb_error *err)
{
    enum pb_status status =
        pb_h5_write_rows(analysis, "analysed_devices", pb_schema_find("/analysis/analysed_devices"),
                         stored->devices, stored->device_count, err);

    if (status == PB_OK)
        status = pb_h5_write_rows(analysis, "metrics", pb_schema_find("/analysis/metrics"),
                                  stored->metrics, stored->metric_count, err);
    if (status == PB_OK)
        status =
            pb_h5_write_rows(analysis, "metric_values", pb_schema_find("/analysis/metric_values"),
                             stored->values, stored->value_count, err);
    return status;
}

enum pb_status pb_h5_write_analysis_source(hid_t analysis, const char *path,
                                           const struct pb_stored_metrics *stored,
                                           const char *version, struct pb_error *err)
{
    struct pb_analysis_source source = {.metrics_digest = digest_metrics(stored)};
    enum pb_status status = digest_input(path, analysis, &source.input_digest, err);

    PB_TEXT_SET(source.version, version);
    return status == PB_OK ? pb_h5_write_rows(analysis, "source",
                                              pb_schema_find("/analysis/source"), &source, 1, err)
                           : status;
}

/* ---- reading ---- */

void pb_stored_metrics_clear(struct pb_stored_metrics *stored)
{
    if (stored == NULL)
        return;
    free(stored->devices);
    free(stored->metrics);
    free(stored->values);
    *stored = (struct pb_stored_metrics){0};
}

/* The source of /analysis, if that is by this version and from the file as it is. */
static enum pb_status read_source(struct pb_reader *reader, const char *version,
                                  struct pb_analysis_source *source_out, struct pb_error *err)
{
    hid_t analysis = H5I_INVALID_HID;
    struct pb_analysis_source *rows = NULL;
    void *found = NULL;
    uint64_t digest = 0;
    size_t count = 0;
    enum pb_status status = pb_h5_open_group(pb_reader_file(reader), "/analysis", &analysis, err);

    if (status != PB_OK)
        return status;
    status = pb_h5_read_rows(analysis, "source", pb_schema_find("/analysis/source"), &found, &count,
                             err);
    rows = found;
    if (status == PB_OK && (count != 1 || strcmp(rows->version, version) != 0))
        status = pb_fail(err, PB_NOT_FOUND, "/analysis: expected version %s, found %s", version,
                         count == 1 ? rows->version : "none");
    if (status == PB_OK)
        status = digest_input(pb_reader_path(reader), analysis, &digest, err);
    if (status == PB_OK && digest != rows->input_digest)
        status = pb_fail(err, PB_INVALID,
                         "/analysis: made from a content with digest %016llx, "
                         "found %016llx",
                         (unsigned long long)rows->input_digest, (unsigned long long)digest);
    if (status == PB_OK)
        *source_out = *rows;
    free(found);
    H5Gclose(analysis);
    return status;
}

enum pb_status pb_reader_check_analysis(struct pb_reader *reader, const char *version,
                                        struct pb_error *err)
{
    struct pb_analysis_source source;

    return read_source(reader, version, &source, err);
}

static enum pb_status read_table(struct pb_reader *reader, const char *path, void **rows_out,
                                 size_t *count_out, struct pb_error *err)
{
    return pb_h5_read_rows(pb_reader_file(reader), path, pb_schema_find(path), rows_out, count_out,
                           err);
}

/* Every value is of a device and a metric that are there, device by device. */
static enum pb_status check_values(const struct pb_stored_metrics *stored, struct pb_error *err)
{
    for (size_t i = 0; i < stored->value_count; i++) {
        const struct pb_metric_value *value = &stored->values[i];

        if (value->device >= stored->device_count || value->metric >= stored->metric_count ||
            (i > 0 && value->device < value[-1].device))
            return pb_fail(err, PB_INVALID,
                           "/analysis/metric_values: row %zu is of device %u of "
                           "%zu, metric %u of %zu",
                           i, (unsigned)value->device, stored->device_count,
                           (unsigned)value->metric, stored->metric_count);
    }
    return PB_OK;
}

enum pb_status pb_reader_metrics(struct pb_reader *reader, const char *version,
                                 struct pb_stored_metrics *stored_out, struct pb_error *err)
{
    struct pb_stored_metrics stored = {0};
    struct pb_analysis_source source;
    void *devices = NULL, *metrics = NULL, *values = NULL;
    enum pb_status status = read_source(reader, version, &source, err);

    if (status == PB_OK)
        status =
            read_table(reader, "/analysis/analysed_devices", &devices, &stored.device_count, err);
    if (status == PB_OK)
        status = read_table(reader, "/analysis/metrics", &metrics, &stored.metric_count, err);
    if (status == PB_OK)
        status = read_table(reader, "/analysis/metric_values", &values, &stored.value_count, err);
    stored.devices = devices;
    stored.metrics = metrics;
    stored.values = values;
    if (status == PB_OK && digest_metrics(&stored) != source.metrics_digest)
        status = pb_fail(err, PB_INVALID, "/analysis/metrics: changed since they were written");
    if (status == PB_OK)
        status = check_values(&stored, err);
    if (status != PB_OK) {
        pb_stored_metrics_clear(&stored);
        pb_error_prefix(err, "%s", pb_reader_path(reader));
        return status;
    }
    *stored_out = stored;
    return PB_OK;
}
