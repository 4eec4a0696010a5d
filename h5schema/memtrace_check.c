/* Walking a whole trace file; see memtrace.h. */
#include "h5schema/memtrace.h"

#include <stdlib.h>
#include <string.h>

/* All records of a launch, which its SMs own. */
static enum pb_status walk_records(struct pb_memtrace_reader *reader, size_t number,
                                   const struct pb_memtrace_launch *launch, struct pb_error *err)
{
    struct pb_memtrace_cursor *cursor = NULL;
    const struct pb_memtrace_record *record = NULL;
    uint64_t addresses[PB_WARP_LANES];
    size_t lanes = 0;
    enum pb_status status =
        pb_memtrace_cursor_open(reader, number, 0, launch->kernel.record_count, 0, &cursor, err);

    if (status == PB_OK)
        status = pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, err);
    while (status == PB_OK && record != NULL)
        status = pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, err);
    pb_memtrace_cursor_close(cursor);
    return status;
}

static enum pb_status walk_launch(struct pb_memtrace_reader *reader, size_t number,
                                  uint64_t *records_inout, struct pb_error *err)
{
    struct pb_memtrace_launch launch;
    enum pb_status status = pb_memtrace_read_launch(reader, number, &launch, err);

    if (status != PB_OK)
        return status;
    status = walk_records(reader, number, &launch, err);
    *records_inout += launch.kernel.record_count;
    pb_memtrace_launch_clear(&launch);
    return status;
}

enum pb_status pb_memtrace_validate(const char *path, size_t *kernels_out, uint64_t *records_out,
                                    struct pb_error *err)
{
    struct pb_memtrace_reader *reader = NULL;
    struct pb_memtrace_context *contexts = NULL;
    struct pb_memtrace_allocation *allocations = NULL;
    size_t count = 0, kernels = 0;
    uint64_t records = 0;
    enum pb_status status = pb_memtrace_open(path, &reader, err);

    if (status != PB_OK)
        return status;
    status = pb_memtrace_contexts(reader, &contexts, &count, err);
    if (status == PB_OK)
        status = pb_memtrace_allocations(reader, &allocations, &count, err);
    for (; status == PB_OK && (int64_t)kernels < pb_memtrace_program(reader)->kernel_count;
         kernels++)
        status = walk_launch(reader, kernels, &records, err);
    free(contexts);
    free(allocations);
    pb_memtrace_close(reader);
    if (status == PB_OK) {
        *kernels_out = kernels;
        *records_out = records;
    }
    return status;
}
