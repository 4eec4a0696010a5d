/* Writing a trace file under a temporary name until it is whole; see memtrace.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/partial.h"
#include "h5schema/memtrace.h"
#include "h5schema/object.h"

enum { RECORDS_PER_CHUNK = 8192, OFFSETS_PER_CHUNK = 65536 };

struct pb_memtrace_writer {
    hid_t file, kernels;
    hid_t kernel, records, offsets; /* of the kernel that is being written */
    int64_t kernel_count;
    uint64_t record_count, offset_count; /* of that kernel */
    char path[PATH_MAX];                 /* as the user calls it, for messages */
    struct pb_partial partial;
};

/* Is there nothing at path, or a trace file, and can its folder be written? */
enum pb_status pb_memtrace_may_create(const char *path, struct pb_error *err)
{
    struct pb_partial partial;
    struct stat found;
    enum pb_status status = pb_partial_prepare(path, &partial, err);

    if (status != PB_OK)
        return status;
    if (stat(path, &found) == 0 && (!S_ISREG(found.st_mode) || !pb_memtrace_is_trace(path)))
        return pb_fail(err, PB_EXISTS,
                       "%s: exists and is no trace file; it will not be overwritten", path);
    return pb_partial_try(&partial, err);
}

enum pb_status pb_memtrace_create(const char *path, struct pb_memtrace_writer **writer_out,
                                  struct pb_error *err)
{
    struct pb_memtrace_writer *writer;
    hid_t access, creation;
    enum pb_status status = pb_memtrace_may_create(path, err);

    if (status != PB_OK)
        return status;
    writer = calloc(1, sizeof(*writer));
    if (writer == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    writer->kernels = writer->kernel = writer->records = writer->offsets = H5I_INVALID_HID;
    writer->file = H5I_INVALID_HID;
    snprintf(writer->path, sizeof(writer->path), "%s", path);
    status = pb_partial_prepare(path, &writer->partial, err);
    if (status != PB_OK) {
        pb_memtrace_abandon(writer);
        return status;
    }
    access = pb_h5_access(false);
    creation = pb_h5_creation();
    writer->file = H5Fcreate(writer->partial.name, H5F_ACC_EXCL, creation, access);
    if (writer->file >= 0)
        writer->kernels =
            H5Gcreate2(writer->file, "kernels", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (writer->kernels < 0)
        status = pb_h5_fail(err, PB_IO, "%s: cannot be created", path);
    H5Pclose(creation);
    H5Pclose(access);
    if (status != PB_OK) {
        pb_memtrace_abandon(writer);
        return status;
    }
    *writer_out = writer;
    return PB_OK;
}

static enum pb_status close_all(struct pb_memtrace_writer *writer, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (writer->records >= 0)
        H5Dclose(writer->records);
    if (writer->offsets >= 0)
        H5Dclose(writer->offsets);
    if (writer->kernel >= 0)
        H5Gclose(writer->kernel);
    if (writer->kernels >= 0)
        H5Gclose(writer->kernels);
    if (writer->file >= 0 && H5Fclose(writer->file) < 0)
        status = pb_h5_fail(err, PB_IO, "%s: cannot be closed", writer->path);
    writer->file = writer->kernels = writer->kernel = H5I_INVALID_HID;
    writer->records = writer->offsets = H5I_INVALID_HID;
    return status;
}

void pb_memtrace_abandon(struct pb_memtrace_writer *writer)
{
    if (writer == NULL)
        return;
    close_all(writer, NULL);
    pb_partial_discard(&writer->partial);
    free(writer);
}

enum pb_status pb_memtrace_write_contexts(struct pb_memtrace_writer *writer,
                                          const struct pb_memtrace_context *rows, size_t count,
                                          struct pb_error *err)
{
    return pb_h5_write_rows(writer->file, "contexts", pb_memtrace_schema_find("/contexts"), rows,
                            count, err);
}

enum pb_status pb_memtrace_write_allocations(struct pb_memtrace_writer *writer,
                                             const struct pb_memtrace_allocation *rows,
                                             size_t count, struct pb_error *err)
{
    return pb_h5_write_rows(writer->file, "allocations", pb_memtrace_schema_find("/allocations"),
                            rows, count, err);
}

static size_t chunk_rows(uint64_t expected_rows, size_t most)
{
    return expected_rows > 0 && expected_rows < most ? (size_t)expected_rows : most;
}

enum pb_status pb_memtrace_begin_kernel(struct pb_memtrace_writer *writer, uint64_t expected_rows,
                                        struct pb_error *err)
{
    char name[PB_NAME_LENGTH];
    enum pb_status status;

    snprintf(name, sizeof(name), "%lld", (long long)writer->kernel_count);
    writer->kernel = H5Gcreate2(writer->kernels, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (writer->kernel < 0)
        return pb_h5_fail(err, PB_IO, "%s: /kernels/%s cannot be created", writer->path, name);
    writer->kernel_count++;
    writer->record_count = writer->offset_count = 0;
    status = pb_h5_create_rows(writer->kernel, "records",
                               pb_memtrace_schema_find("/kernels/<n>/records"),
                               chunk_rows(expected_rows, RECORDS_PER_CHUNK), &writer->records, err);
    if (status == PB_OK)
        status = pb_h5_create_rows(
            writer->kernel, "offsets", pb_memtrace_schema_find("/kernels/<n>/offsets"),
            chunk_rows(expected_rows, OFFSETS_PER_CHUNK), &writer->offsets, err);
    return status;
}

enum pb_status pb_memtrace_append(struct pb_memtrace_writer *writer,
                                  struct pb_memtrace_record *records, size_t count,
                                  const int64_t *offsets, size_t offset_count, struct pb_error *err)
{
    enum pb_status status;

    for (size_t i = 0; i < count; i++)
        if ((records[i].flags & PB_ACCESS_OFFSETS) != 0)
            records[i].first_offset += writer->offset_count;
    status =
        pb_h5_extend_rows(writer->records, "records",
                          pb_memtrace_schema_find("/kernels/<n>/records"), records, count, err);
    if (status == PB_OK)
        status = pb_h5_extend_rows(writer->offsets, "offsets",
                                   pb_memtrace_schema_find("/kernels/<n>/offsets"), offsets,
                                   offset_count, err);
    if (status != PB_OK)
        return pb_error_prefix(err, "%s: /kernels/%lld", writer->path,
                               (long long)writer->kernel_count - 1);
    writer->record_count += count;
    writer->offset_count += offset_count;
    return PB_OK;
}

static enum pb_status write_tables(hid_t group, const struct pb_memtrace_kernel *kernel,
                                   const struct pb_memtrace_kernel_tables *tables,
                                   struct pb_error *err)
{
    enum pb_status status =
        pb_h5_write_attributes(group, pb_memtrace_schema_find("/kernels/<n>"), kernel, err);

    if (status == PB_OK)
        status =
            pb_h5_write_rows(group, "schedule", pb_memtrace_schema_find("/kernels/<n>/schedule"),
                             tables->ctas, tables->cta_count, err);
    if (status == PB_OK)
        status = pb_h5_write_rows(group, "sms", pb_memtrace_schema_find("/kernels/<n>/sms"),
                                  tables->sms, tables->sm_count, err);
    if (status == PB_OK)
        status = pb_h5_write_rows(group, "instructions",
                                  pb_memtrace_schema_find("/kernels/<n>/instructions"),
                                  tables->instructions, tables->instruction_count, err);
    return status;
}

enum pb_status pb_memtrace_end_kernel(struct pb_memtrace_writer *writer,
                                      const struct pb_memtrace_kernel *kernel,
                                      const struct pb_memtrace_kernel_tables *tables,
                                      struct pb_error *err)
{
    struct pb_memtrace_kernel row = *kernel;
    enum pb_status status;
    herr_t closed;

    row.record_count = writer->record_count;
    row.offset_count = writer->offset_count;
    status = write_tables(writer->kernel, &row, tables, err);
    closed = H5Dclose(writer->records);
    closed = H5Dclose(writer->offsets) < 0 ? -1 : closed;
    H5Gclose(writer->kernel);
    writer->kernel = writer->records = writer->offsets = H5I_INVALID_HID;
    if (status == PB_OK && closed < 0)
        status = pb_h5_fail(err, PB_IO, "its records cannot be written");
    return status == PB_OK ? PB_OK
                           : pb_error_prefix(err, "%s: /kernels/%lld", writer->path,
                                             (long long)writer->kernel_count - 1);
}

enum pb_status pb_memtrace_commit(struct pb_memtrace_writer *writer,
                                  const struct pb_memtrace_program *program, struct pb_error *err)
{
    struct pb_memtrace_program row = *program;
    enum pb_status status, closed;

    row.trace_version = PB_MEMTRACE_VERSION;
    row.kernel_count = writer->kernel_count;
    status = pb_h5_write_attributes(writer->file, pb_memtrace_schema_find("/"), &row, err);
    if (status == PB_OK && H5Fflush(writer->file, H5F_SCOPE_GLOBAL) < 0)
        status = pb_h5_fail(err, PB_IO, "%s: cannot be written", writer->path);
    closed = close_all(writer, status == PB_OK ? err : NULL);
    if (status == PB_OK)
        status = closed;
    if (status == PB_OK)
        status = pb_partial_place(&writer->partial, err);
    pb_memtrace_abandon(writer);
    return status;
}
