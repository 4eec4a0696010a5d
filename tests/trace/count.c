/*
 * plumb-trace-count TRACE.h5...: what hardware counters would count of the traced launches, as CSV:
 * warp-level global loads and stores that go through the load/store unit, and the distinct 32-byte
 * sectors of each. Local memory, asynchronous copies, atomics and prefetches are counted apart; the
 * hardware counts the sectors of asynchronous copies among those of loads.
 *
 * Exit status: 0, 2 a file is no trace.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5schema/memtrace.h"

struct counts {
    uint64_t loads, load_sectors, stores, store_sectors, local, async, async_sectors, bulk, atomics,
        prefetches;
};

static int by_value(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* Distinct sectors of [address, address + size) over all lanes. */
static uint64_t count_sectors(const uint64_t *addresses, size_t lanes, uint32_t size)
{
    uint64_t sectors[4 * PB_WARP_LANES], distinct = 0;
    size_t count = 0;

    for (size_t i = 0; i < lanes; i++)
        for (uint64_t s = addresses[i] / 32; s <= (addresses[i] + size - 1) / 32; s++)
            if (count < sizeof(sectors) / sizeof(sectors[0]))
                sectors[count++] = s;
    qsort(sectors, count, sizeof(*sectors), by_value);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || sectors[i] != sectors[i - 1];
    return distinct;
}

static void count_record(const struct pb_memtrace_record *record, const uint64_t *addresses,
                         size_t lanes, struct counts *counts)
{
    if ((record->flags & PB_ACCESS_LOCAL) != 0) {
        counts->local++;
    } else if ((record->flags & PB_ACCESS_BULK) != 0) {
        counts->bulk++;
    } else if ((record->flags & PB_ACCESS_ASYNC) != 0) {
        counts->async++;
        counts->async_sectors += count_sectors(addresses, lanes, record->size);
    } else if ((record->flags & PB_ACCESS_ATOMIC) != 0) {
        counts->atomics++;
    } else if ((record->flags & PB_ACCESS_PREFETCH) != 0) {
        counts->prefetches++;
    } else if ((record->flags & PB_ACCESS_WRITE) != 0) {
        counts->stores++;
        counts->store_sectors += count_sectors(addresses, lanes, record->size);
    } else {
        counts->loads++;
        counts->load_sectors += count_sectors(addresses, lanes, record->size);
    }
}

static enum pb_status count_kernel(struct pb_memtrace_reader *reader, size_t number,
                                   struct pb_error *err)
{
    const struct pb_memtrace_record *record = NULL;
    struct pb_memtrace_cursor *cursor = NULL;
    struct pb_memtrace_launch launch;
    struct counts counts = {0};
    uint64_t addresses[PB_WARP_LANES];
    size_t lanes = 0;
    enum pb_status status = pb_memtrace_read_launch(reader, number, &launch, err);

    if (status != PB_OK)
        return status;
    status =
        pb_memtrace_cursor_open(reader, number, 0, launch.kernel.record_count, 0, &cursor, err);
    while (status == PB_OK) {
        status = pb_memtrace_cursor_next(cursor, &record, addresses, &lanes, err);
        if (status != PB_OK || record == NULL)
            break;
        count_record(record, addresses, lanes, &counts);
    }
    pb_memtrace_cursor_close(cursor);
    if (status == PB_OK)
        printf("%s,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%u,%lld,%lld,%.6f\n",
               launch.kernel.name, (unsigned long long)launch.kernel.record_count,
               (unsigned long long)counts.loads, (unsigned long long)counts.load_sectors,
               (unsigned long long)counts.stores, (unsigned long long)counts.store_sectors,
               (unsigned long long)counts.local, (unsigned long long)counts.async,
               (unsigned long long)counts.async_sectors, (unsigned long long)counts.bulk,
               (unsigned long long)counts.atomics, (unsigned long long)counts.prefetches,
               launch.kernel.sms_traced, (long long)launch.kernel.lost_records,
               (long long)launch.kernel.complete, launch.kernel.seconds);
    pb_memtrace_launch_clear(&launch);
    return status;
}

static enum pb_status count_file(const char *path, struct pb_error *err)
{
    struct pb_memtrace_reader *reader = NULL;
    enum pb_status status = pb_memtrace_open(path, &reader, err);

    if (status != PB_OK)
        return status;
    for (int64_t i = 0; i < pb_memtrace_program(reader)->kernel_count && status == PB_OK; i++)
        status = count_kernel(reader, (size_t)i, err);
    pb_memtrace_close(reader);
    return status;
}

int main(int argc, char **argv)
{
    struct pb_error err = PB_ERROR_INIT;

    printf("kernel,records,loads,load_sectors,stores,store_sectors,local,async,async_sectors,bulk,"
           "atomics,"
           "prefetches,sms_traced,lost_records,complete,traced_seconds\n");
    for (int i = 1; i < argc; i++)
        if (count_file(argv[i], &err) != PB_OK) {
            fprintf(stderr, "plumb-trace-count: %s\n", err.message);
            return 2;
        }
    return EXIT_SUCCESS;
}
