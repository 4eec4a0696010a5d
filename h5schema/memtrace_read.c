/* Reading a trace file by ranges; nothing in it is trusted. See memtrace.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5schema/memtrace.h"
#include "h5schema/object.h"
#include "h5schema/open.h"

enum { BUFFER_ROWS = 4096 };

struct pb_memtrace_reader {
    hid_t file;
    struct pb_memtrace_program program;
    char path[PATH_MAX];
};

bool pb_memtrace_is_trace(const char *path)
{
    hid_t file;
    bool is_trace;

    if (pb_h5_open_file(path, false, &file, NULL) != PB_OK)
        return false;
    is_trace = H5Aexists(file, "trace_version") > 0;
    H5Fclose(file);
    return is_trace;
}

static enum pb_status read_program(struct pb_memtrace_reader *reader, struct pb_error *err)
{
    enum pb_status status;

    if (H5Aexists(reader->file, "trace_version") <= 0)
        return pb_fail(err, PB_INVALID, "%s: expected a trace file, found other HDF5",
                       reader->path);
    status =
        pb_h5_read_attributes(reader->file, pb_memtrace_schema_find("/"), &reader->program, err);
    if (status != PB_OK)
        return pb_error_prefix(err, "%s", reader->path);
    if (reader->program.trace_version != PB_MEMTRACE_VERSION)
        return pb_fail(err, PB_INVALID, "%s: expected trace version %d, found %lld", reader->path,
                       PB_MEMTRACE_VERSION, (long long)reader->program.trace_version);
    if (reader->program.kernel_count < 0)
        return pb_fail(err, PB_CORRUPT, "%s: expected a number of kernels, found %lld",
                       reader->path, (long long)reader->program.kernel_count);
    return PB_OK;
}

enum pb_status pb_memtrace_open(const char *path, struct pb_memtrace_reader **reader_out,
                                struct pb_error *err)
{
    struct pb_memtrace_reader *reader;
    enum pb_status status;

    reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    snprintf(reader->path, sizeof(reader->path), "%s", path);
    reader->file = H5I_INVALID_HID;
    status = pb_h5_open_file(path, false, &reader->file, err);
    if (status == PB_OK)
        status = read_program(reader, err);
    if (status != PB_OK) {
        pb_memtrace_close(reader);
        return status;
    }
    *reader_out = reader;
    return PB_OK;
}

void pb_memtrace_close(struct pb_memtrace_reader *reader)
{
    if (reader == NULL)
        return;
    if (reader->file >= 0)
        H5Fclose(reader->file);
    free(reader);
}

const struct pb_memtrace_program *pb_memtrace_program(const struct pb_memtrace_reader *reader)
{
    return &reader->program;
}

/* All rows of a table of the root. */
static enum pb_status read_table(struct pb_memtrace_reader *reader, const char *pattern,
                                 void **rows_out, size_t *count_out, struct pb_error *err)
{
    enum pb_status status = pb_h5_read_rows(
        reader->file, pattern + 1, pb_memtrace_schema_find(pattern), rows_out, count_out, err);

    return status == PB_OK ? PB_OK : pb_error_prefix(err, "%s", reader->path);
}

enum pb_status pb_memtrace_contexts(struct pb_memtrace_reader *reader,
                                    struct pb_memtrace_context **rows_out, size_t *count_out,
                                    struct pb_error *err)
{
    void *rows = NULL;
    enum pb_status status = read_table(reader, "/contexts", &rows, count_out, err);

    if (status == PB_OK)
        *rows_out = rows;
    return status;
}

enum pb_status pb_memtrace_allocations(struct pb_memtrace_reader *reader,
                                       struct pb_memtrace_allocation **rows_out, size_t *count_out,
                                       struct pb_error *err)
{
    void *rows = NULL;
    enum pb_status status = read_table(reader, "/allocations", &rows, count_out, err);

    if (status == PB_OK)
        *rows_out = rows;
    return status;
}

static enum pb_status open_kernel(struct pb_memtrace_reader *reader, size_t number,
                                  hid_t *group_out, struct pb_error *err)
{
    char path[PB_NAME_LENGTH];
    enum pb_status status;

    snprintf(path, sizeof(path), "/kernels/%zu", number);
    status = pb_h5_open_group(reader->file, path, group_out, err);
    if (status != PB_OK)
        pb_error_prefix(err, "%s", reader->path);
    return status;
}

/* Every SM owns records that are there. */
static enum pb_status check_sms(const struct pb_memtrace_launch *launch, struct pb_error *err)
{
    uint64_t all = launch->kernel.record_count;

    for (size_t i = 0; i < launch->sm_count; i++) {
        const struct pb_memtrace_sm *sm = &launch->sms[i];

        if (sm->first > all || sm->count > all - sm->first)
            return pb_fail(err, PB_CORRUPT,
                           "sms[%zu]: owns records %llu to %llu, of which there "
                           "are %llu",
                           i, (unsigned long long)sm->first,
                           (unsigned long long)(sm->first + sm->count), (unsigned long long)all);
    }
    return PB_OK;
}

/* Do the attributes count what is there, and is all of it there? */
static enum pb_status check_extent(hid_t group, const char *name, const char *pattern,
                                   uint64_t expected, struct pb_error *err)
{
    hid_t dataset = H5I_INVALID_HID;
    size_t count = 0;
    enum pb_status status =
        pb_h5_open_rows(group, name, pb_memtrace_schema_find(pattern), &dataset, &count, err);

    if (status != PB_OK)
        return status;
    if (count != expected)
        status = pb_fail(err, PB_CORRUPT, "%s: expected %llu rows, found %zu", name,
                         (unsigned long long)expected, count);
    else
        status = pb_h5_check_chunks(dataset, name, err);
    H5Dclose(dataset);
    return status;
}

static enum pb_status read_launch(hid_t group, struct pb_memtrace_launch *launch,
                                  struct pb_error *err)
{
    void *ctas = NULL, *sms = NULL, *instructions = NULL;
    enum pb_status status =
        pb_h5_read_attributes(group, pb_memtrace_schema_find("/kernels/<n>"), &launch->kernel, err);

    if (status == PB_OK)
        status =
            pb_h5_read_rows(group, "schedule", pb_memtrace_schema_find("/kernels/<n>/schedule"),
                            &ctas, &launch->cta_count, err);
    launch->ctas = ctas;
    if (status == PB_OK)
        status = pb_h5_read_rows(group, "sms", pb_memtrace_schema_find("/kernels/<n>/sms"), &sms,
                                 &launch->sm_count, err);
    launch->sms = sms;
    if (status == PB_OK)
        status = pb_h5_read_rows(group, "instructions",
                                 pb_memtrace_schema_find("/kernels/<n>/instructions"),
                                 &instructions, &launch->instruction_count, err);
    launch->instructions = instructions;
    if (status == PB_OK)
        status = check_extent(group, "records", "/kernels/<n>/records", launch->kernel.record_count,
                              err);
    if (status == PB_OK)
        status = check_extent(group, "offsets", "/kernels/<n>/offsets", launch->kernel.offset_count,
                              err);
    return status == PB_OK ? check_sms(launch, err) : status;
}

enum pb_status pb_memtrace_read_launch(struct pb_memtrace_reader *reader, size_t number,
                                       struct pb_memtrace_launch *launch_out, struct pb_error *err)
{
    struct pb_memtrace_launch launch = {.ctas = NULL};
    hid_t group = H5I_INVALID_HID;
    enum pb_status status = open_kernel(reader, number, &group, err);

    if (status != PB_OK)
        return status;
    status = read_launch(group, &launch, err);
    H5Gclose(group);
    if (status != PB_OK) {
        pb_memtrace_launch_clear(&launch);
        /* What is not there in a kernel's group is damage, not an answer. */
        pb_error_prefix(err, "%s: /kernels/%zu", reader->path, number);
        return status == PB_NOT_FOUND ? PB_CORRUPT : status;
    }
    *launch_out = launch;
    return PB_OK;
}

void pb_memtrace_launch_clear(struct pb_memtrace_launch *launch)
{
    if (launch == NULL)
        return;
    free(launch->ctas);
    free(launch->sms);
    free(launch->instructions);
    *launch = (struct pb_memtrace_launch){.ctas = NULL};
}

struct pb_memtrace_cursor {
    hid_t records, offsets;
    uint64_t next, end;     /* rows of the range not yet in the buffer */
    uint64_t offset_extent; /* elements of the dataset */
    uint64_t cta_extent;    /* CTAs of the grid */
    size_t instruction_extent;
    struct pb_memtrace_record *buffer;
    size_t buffer_rows, at, filled;
    int64_t *offset_buffer; /* elements [offset_first, offset_first + offset_filled) */
    uint64_t offset_first;
    size_t offset_filled, offset_capacity;
    size_t number;
    char path[PATH_MAX];
};

static uint64_t grid_size(const struct pb_memtrace_kernel *kernel)
{
    return (uint64_t)kernel->grid_x * kernel->grid_y * kernel->grid_z;
}

static enum pb_status open_datasets(hid_t group, struct pb_memtrace_cursor *cursor, uint64_t first,
                                    uint64_t count, struct pb_error *err)
{
    struct pb_memtrace_kernel kernel;
    size_t records = 0, offsets = 0;
    enum pb_status status =
        pb_h5_read_attributes(group, pb_memtrace_schema_find("/kernels/<n>"), &kernel, err);

    if (status == PB_OK)
        status = pb_h5_open_rows(group, "records", pb_memtrace_schema_find("/kernels/<n>/records"),
                                 &cursor->records, &records, err);
    if (status == PB_OK)
        status = pb_h5_open_rows(group, "offsets", pb_memtrace_schema_find("/kernels/<n>/offsets"),
                                 &cursor->offsets, &offsets, err);
    if (status != PB_OK)
        return status;
    if (first > records || count > records - first)
        return pb_fail(err, PB_CORRUPT, "records: expected rows %llu to %llu, found %zu rows",
                       (unsigned long long)first, (unsigned long long)(first + count), records);
    cursor->next = first;
    cursor->end = first + count;
    cursor->offset_extent = offsets;
    cursor->cta_extent = grid_size(&kernel);
    return PB_OK;
}

/* How many instructions there are to name. */
static enum pb_status count_instructions(hid_t group, size_t *count_out, struct pb_error *err)
{
    hid_t dataset = H5I_INVALID_HID;
    enum pb_status status =
        pb_h5_open_rows(group, "instructions", pb_memtrace_schema_find("/kernels/<n>/instructions"),
                        &dataset, count_out, err);

    if (status == PB_OK)
        H5Dclose(dataset);
    return status;
}

enum pb_status pb_memtrace_cursor_open(struct pb_memtrace_reader *reader, size_t number,
                                       uint64_t first, uint64_t count, size_t buffer_rows,
                                       struct pb_memtrace_cursor **cursor_out, struct pb_error *err)
{
    struct pb_memtrace_cursor *cursor = calloc(1, sizeof(*cursor));
    hid_t group = H5I_INVALID_HID;
    enum pb_status status;

    if (cursor == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", reader->path);
    cursor->records = cursor->offsets = H5I_INVALID_HID;
    cursor->number = number;
    snprintf(cursor->path, sizeof(cursor->path), "%s", reader->path);
    cursor->buffer_rows = buffer_rows == 0 ? BUFFER_ROWS : buffer_rows;
    cursor->buffer = calloc(cursor->buffer_rows, sizeof(*cursor->buffer));
    status = cursor->buffer == NULL
                 ? pb_fail(err, PB_NO_MEMORY, "%s: out of memory allocating %zu records",
                           reader->path, cursor->buffer_rows)
                 : open_kernel(reader, number, &group, err);
    if (status == PB_OK) {
        status = open_datasets(group, cursor, first, count, err);
        if (status == PB_OK)
            status = count_instructions(group, &cursor->instruction_extent, err);
        H5Gclose(group);
        if (status != PB_OK)
            pb_error_prefix(err, "%s: /kernels/%zu", reader->path, number);
    }
    if (status != PB_OK) {
        pb_memtrace_cursor_close(cursor);
        return status;
    }
    *cursor_out = cursor;
    return PB_OK;
}

void pb_memtrace_cursor_close(struct pb_memtrace_cursor *cursor)
{
    if (cursor == NULL)
        return;
    if (cursor->records >= 0)
        H5Dclose(cursor->records);
    if (cursor->offsets >= 0)
        H5Dclose(cursor->offsets);
    free(cursor->buffer);
    free(cursor->offset_buffer);
    free(cursor);
}

static size_t lane_count(uint32_t mask)
{
    return (size_t)__builtin_popcount(mask);
}

static enum pb_status check_record(const struct pb_memtrace_cursor *cursor,
                                   const struct pb_memtrace_record *record, struct pb_error *err)
{
    size_t others = lane_count(record->lane_mask) - 1;

    if (record->lane_mask == 0)
        return pb_fail(err, PB_CORRUPT, "expected active lanes, found none");
    if (record->instruction >= cursor->instruction_extent)
        return pb_fail(err, PB_CORRUPT, "expected one of %zu instructions, found number %u",
                       cursor->instruction_extent, record->instruction);
    if (record->cta >= cursor->cta_extent)
        return pb_fail(err, PB_CORRUPT, "expected one of %llu CTAs, found number %u",
                       (unsigned long long)cursor->cta_extent, record->cta);
    if ((record->flags & PB_ACCESS_OFFSETS) != 0 &&
        (record->first_offset > cursor->offset_extent ||
         others > cursor->offset_extent - record->first_offset))
        return pb_fail(err, PB_CORRUPT, "expected offsets %llu to %llu, found %llu of them",
                       (unsigned long long)record->first_offset,
                       (unsigned long long)(record->first_offset + others),
                       (unsigned long long)cursor->offset_extent);
    return PB_OK;
}

static enum pb_status fill(struct pb_memtrace_cursor *cursor, struct pb_error *err)
{
    uint64_t left = cursor->end - cursor->next;
    size_t count = left < cursor->buffer_rows ? (size_t)left : cursor->buffer_rows;
    enum pb_status status;

    cursor->at = cursor->filled = 0;
    if (count == 0)
        return PB_OK;
    status = pb_h5_read_range(cursor->records, "records",
                              pb_memtrace_schema_find("/kernels/<n>/records"), cursor->next, count,
                              cursor->buffer, err);
    if (status != PB_OK)
        return pb_error_prefix(err, "%s: /kernels/%zu", cursor->path, cursor->number);
    cursor->filled = count;
    cursor->next += count;
    return PB_OK;
}

/* Makes offsets [first, first + count) available; they follow each other from record to record. */
static enum pb_status need_offsets(struct pb_memtrace_cursor *cursor, uint64_t first, size_t count,
                                   struct pb_error *err)
{
    size_t wanted = cursor->buffer_rows < PB_WARP_LANES ? PB_WARP_LANES : cursor->buffer_rows;
    uint64_t left = cursor->offset_extent - first;

    if (first >= cursor->offset_first &&
        first - cursor->offset_first + count <= cursor->offset_filled)
        return PB_OK;
    if (cursor->offset_buffer == NULL) {
        cursor->offset_buffer = calloc(wanted, sizeof(*cursor->offset_buffer));
        if (cursor->offset_buffer == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu offsets", wanted);
    }
    cursor->offset_filled = 0;
    wanted = left < wanted ? (size_t)left : wanted;
    if (pb_h5_read_range(cursor->offsets, "offsets",
                         pb_memtrace_schema_find("/kernels/<n>/offsets"), first, wanted,
                         cursor->offset_buffer, err) != PB_OK)
        return PB_CORRUPT;
    cursor->offset_first = first;
    cursor->offset_filled = wanted;
    return PB_OK;
}

static enum pb_status expand(struct pb_memtrace_cursor *cursor,
                             const struct pb_memtrace_record *record, uint64_t *addresses_out,
                             size_t *lanes_out, struct pb_error *err)
{
    size_t lanes = lane_count(record->lane_mask);
    const int64_t *offsets;
    enum pb_status status;

    *lanes_out = lanes;
    addresses_out[0] = record->base;
    if ((record->flags & PB_ACCESS_OFFSETS) == 0 || lanes == 1) {
        for (size_t k = 1; k < lanes; k++)
            addresses_out[k] = addresses_out[k - 1] + (uint64_t)record->stride;
        return PB_OK;
    }
    status = need_offsets(cursor, record->first_offset, lanes - 1, err);
    if (status != PB_OK)
        return status;
    offsets = cursor->offset_buffer + (record->first_offset - cursor->offset_first);
    for (size_t k = 1; k < lanes; k++)
        addresses_out[k] = record->base + (uint64_t)offsets[k - 1];
    return PB_OK;
}

enum pb_status pb_memtrace_cursor_next(struct pb_memtrace_cursor *cursor,
                                       const struct pb_memtrace_record **record_out,
                                       uint64_t addresses_out[PB_WARP_LANES], size_t *lanes_out,
                                       struct pb_error *err)
{
    const struct pb_memtrace_record *record;
    enum pb_status status;

    *record_out = NULL;
    if (cursor->at == cursor->filled) {
        status = fill(cursor, err);
        if (status != PB_OK || cursor->filled == 0)
            return status;
    }
    record = &cursor->buffer[cursor->at++];
    status = check_record(cursor, record, err);
    if (status == PB_OK && addresses_out != NULL)
        status = expand(cursor, record, addresses_out, lanes_out, err);
    if (status != PB_OK)
        return pb_error_prefix(
            err, "%s: /kernels/%zu/records[%llu]", cursor->path, cursor->number,
            (unsigned long long)(cursor->next - cursor->filled + cursor->at - 1));
    *record_out = record;
    return PB_OK;
}
