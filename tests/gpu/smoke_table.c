/* The measuring half of plumb-gpu-smoke; see smoke.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "smoke.h"

bool smoke_worked(struct smoke *smoke, enum pb_status status)
{
    if (status == PB_OK)
        return true;
    printf("FAILED (%s): %s\n", pb_status_name(status), smoke->err.message);
    smoke->failures++;
    return false;
}

bool smoke_could(struct smoke *smoke, enum pb_status status)
{
    if (status != PB_UNSUPPORTED && status != PB_NO_MEMORY)
        return smoke_worked(smoke, status);
    printf("(%s: %s) ", pb_status_name(status), smoke->err.message);
    return false;
}

void smoke_require(struct smoke *smoke, bool holds, const char *what)
{
    if (holds)
        return;
    printf("FAILED: expected that %s\n", what);
    smoke->failures++;
}

static int compare_cycles(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

uint32_t smoke_print_cycles(const char *name, uint32_t *cycles, size_t count)
{
    qsort(cycles, count, sizeof(*cycles), compare_cycles);
    printf("%s: min %u  q1 %u  median %u  q3 %u  p99 %u  max %u\n", name, cycles[0],
           cycles[count / 4], cycles[count / 2], cycles[count - 1 - count / 4],
           cycles[count - 1 - count / 100], cycles[count - 1]);
    return cycles[count / 2];
}

/* Offsets 0, stride, 2 stride, …; to be freed. NULL when there is no memory. */
static uint64_t *strided(uint64_t bytes, uint64_t stride, size_t *count_out)
{
    size_t count = (size_t)(bytes / stride);
    uint64_t *offsets = malloc(count * sizeof(*offsets));

    for (size_t i = 0; offsets != NULL && i < count; i++)
        offsets[i] = i * stride;
    *count_out = count;
    return offsets;
}

/* Stamps must be sane and the order kept, on any GPU. */
static void check_trace(struct smoke *smoke, const struct pb_chase_trace *trace, uint64_t stride,
                        uint64_t bytes)
{
    uint32_t most_cycles = smoke->is_small ? UINT32_MAX : 1000000;
    size_t wrong = 0;

    for (size_t i = 0; i < trace->count; i++)
        wrong += trace->latency_cycles[i] < 2 || trace->latency_cycles[i] > most_cycles ||
                 trace->index_bytes[i] != i * stride % bytes;
    smoke_require(smoke, wrong == 0, "all accesses of a trace are in order and in range");
}

double smoke_trace(struct smoke *smoke, enum pb_path path, uint64_t bytes, uint64_t stride,
                   int64_t sm, bool is_warm)
{
    size_t count;
    uint64_t *offsets = strided(bytes, stride, &count);
    uint32_t *cycles = malloc(2 * count * sizeof(*cycles));
    uint64_t *indices = malloc(2 * count * sizeof(*indices));
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = count,
                             .warm = is_warm ? count : 0,
                             .record = is_warm ? 2 * count : count,
                             .prefill = is_warm,
                             .flush = !is_warm,
                             .carveout_bytes = -1,
                             .sm = sm};
    struct pb_chase_trace trace = {.latency_cycles = cycles, .index_bytes = indices};
    double median = NAN;
    char name[96];

    if (offsets != NULL && cycles != NULL && indices != NULL &&
        smoke_worked(smoke, smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err))) {
        check_trace(smoke, &trace, stride, bytes);
        snprintf(name, sizeof(name),
                 "%s %" PRIu64 "K/%" PRIu64 " %s window %" PRIu64 " carveout %" PRIu64
                 " SM %" PRId64 " first %u",
                 pb_path_name(path), bytes >> 10, stride, is_warm ? "warm" : "cold", trace.window,
                 trace.carveout_bytes, trace.sm_id, cycles[0]);
        median = smoke_print_cycles(name, cycles, trace.count);
    }
    free(indices);
    free(cycles);
    free(offsets);
    return median;
}

double smoke_pass(struct smoke *smoke, enum pb_path path, uint64_t bytes, uint64_t stride,
                  int64_t carveout_bytes, int64_t sm, bool prefill)
{
    size_t count;
    uint64_t *offsets = strided(bytes, stride, &count);
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = count,
                             .warm = count < 65536 ? count : 0,
                             .timed = count < 4096 && !smoke->is_small ? 4096 / count * count
                                      : count < 65536                  ? count
                                                                       : 65536,
                             .prefill = prefill,
                             .carveout_bytes = carveout_bytes,
                             .sm = sm};
    struct pb_chase_trace trace = {.sm_id = -1};
    double cycles = NAN;

    if (offsets != NULL &&
        smoke_worked(smoke, smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err))) {
        cycles = (double)trace.total_cycles / (double)chase.timed;
        smoke->sm_id = trace.sm_id;
        smoke->carveout_bytes = trace.carveout_bytes;
        smoke_require(smoke, sm < 0 || trace.sm_id == sm, "the chase ran on the SM asked for");
        smoke_require(smoke, trace.total_cycles > chase.timed, "a load takes more than a cycle");
    }
    free(offsets);
    return cycles;
}

double smoke_pages(struct smoke *smoke, uint64_t pages, uint64_t page_bytes, uint64_t alias_bytes)
{
    const uint64_t line_bytes = 128;
    uint64_t *offsets = malloc(pages * sizeof(*offsets));
    struct pb_chase chase = {.path = PB_PATH_GLOBAL_CG,
                             .offset_bytes = offsets,
                             .offset_count = (size_t)pages,
                             .warm = pages,
                             .timed = pages < 1024 ? 1024 / pages * pages : pages,
                             .alias_bytes = alias_bytes,
                             .carveout_bytes = -1,
                             .sm = -1};
    struct pb_chase_trace trace = {.sm_id = -1};
    double cycles = NAN;

    for (uint64_t i = 0; offsets != NULL && i < pages; i++)
        offsets[i] = i * page_bytes + i * line_bytes % page_bytes;
    if (offsets != NULL &&
        smoke_could(smoke, smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err)))
        cycles = (double)trace.total_cycles / (double)chase.timed;
    free(offsets);
    return cycles;
}

uint32_t smoke_median(uint32_t *cycles, size_t count)
{
    qsort(cycles, count, sizeof(cycles[0]), compare_cycles);
    return cycles[count / 2];
}

uint32_t smoke_conflict(struct smoke *smoke, uint32_t word_bytes, uint32_t stride_words)
{
    uint32_t cycles[256] = {0};
    uint64_t indices[256] = {0};
    struct pb_conflict conflict = {word_bytes, stride_words, 64, smoke->is_small ? 16 : 256, -1};
    struct pb_chase_trace trace = {.latency_cycles = cycles, .index_bytes = indices};

    if (!smoke_worked(smoke,
                      smoke->ops->conflicts(smoke->device, &conflict, 1, &trace, &smoke->err)))
        return 0;
    return smoke_median(cycles, trace.count);
}

void smoke_stream(struct smoke *smoke, enum pb_stream_kind kind, uint32_t cta_count,
                  uint32_t cta_size, uint32_t ilp, uint32_t word_bytes)
{
    static const char *const names[] = {
        [PB_STREAM_COPY] = "copy", [PB_STREAM_READ] = "read", [PB_STREAM_WRITE] = "write"};
    struct pb_stream stream = {.kind = kind,
                               .cta_count = cta_count,
                               .cta_size = cta_size,
                               .ilp = ilp,
                               .word_bytes = word_bytes,
                               .bytes = smoke->is_small ? 4u << 20 : 256u << 20,
                               .repeats = smoke->is_small ? 1 : 10};
    struct pb_stream_result result;

    if (!smoke_worked(smoke, smoke->ops->stream(smoke->device, &stream, &result, &smoke->err)))
        return;
    printf("%-5s %5u x %4u ilp %u word %2u: %7.1f GB/s  (%.3f ms, %" PRIu64 " wrong)\n",
           names[kind], cta_count, cta_size, ilp, word_bytes,
           (double)result.bytes_moved / result.seconds / 1e9, 1e3 * result.seconds,
           result.mismatch_count);
    smoke_require(smoke, result.mismatch_count == 0, "a stream leaves the right data");
}
