/* One chase taken and filed; see walk.h. */
#include "battery/walk.h"

#include <stdlib.h>
#include <string.h>

#include "core/order.h"

static const char *const order_names[] = {
    [PB_ORDER_SEQUENTIAL] = "sequential", [PB_ORDER_RANDOM] = "random",
    [PB_ORDER_PAGES] = "random_in_pages", [PB_ORDER_WORDS] = "random_words",
    [PB_ORDER_GIVEN] = "given",
};

uint64_t pb_walk_slots(const struct pb_walk *walk)
{
    uint64_t strides;

    if (walk->order == PB_ORDER_GIVEN)
        return walk->offset_count;
    strides = (walk->footprint_bytes + walk->stride_bytes - 1) / walk->stride_bytes;
    return walk->order == PB_ORDER_WORDS ? strides * walk->words : strides;
}

static uint64_t *make_offsets(const struct pb_walk *walk, size_t count)
{
    uint64_t *offsets = malloc(count * sizeof(*offsets));
    size_t fixed = 0;

    if (offsets == NULL)
        return NULL;
    if (walk->order == PB_ORDER_GIVEN) {
        memcpy(offsets, walk->offset_bytes, count * sizeof(*offsets));
        return offsets;
    }
    pb_order_list_words(offsets, count, walk->order == PB_ORDER_WORDS ? count / walk->words : count,
                        walk->stride_bytes);
    for (size_t i = 0; i < count; i++)
        offsets[i] += walk->base_bytes;
    if (walk->order == PB_ORDER_PAGES)
        fixed = pb_order_pages_first(offsets, count, walk->base_bytes);
    if (walk->order != PB_ORDER_SEQUENTIAL)
        pb_order_shuffle(offsets + fixed, count - fixed, walk->seed);
    return offsets;
}

static uint64_t laps_to_loads(uint64_t loads, size_t slots)
{
    return loads == PB_WALK_LAP ? slots : loads;
}

static void describe_point(const struct pb_bench *bench, const struct pb_walk *walk,
                           const struct pb_chase *chase, const struct pb_chase_trace *trace,
                           struct pb_point *point)
{
    memset(point, 0, sizeof(*point));
    PB_TEXT_SET(point->path, pb_path_name(walk->path));
    PB_TEXT_SET(point->order, order_names[walk->order]);
    PB_TEXT_SET(point->mode, chase->record > 0 ? "traced" : "timed");
    PB_TEXT_SET(point->phase, walk->phase);
    point->footprint_bytes = walk->footprint_bytes;
    point->stride_bytes = walk->stride_bytes;
    point->count = chase->record;
    point->warm = chase->warm;
    point->window = chase->record > 0 ? trace->window : 0;
    point->timed = chase->record > 0 ? 0 : chase->timed;
    point->total_cycles = chase->record > 0 ? 0 : trace->total_cycles;
    point->total_ns = chase->record > 0 ? 0 : trace->total_ns;
    point->overhead_cycles = bench->overhead_cycles;
    point->carveout_bytes = trace->carveout_bytes;
    point->seed = walk->seed;
    point->base_address = trace->base_address + walk->base_bytes;
    point->repeat = walk->repeat;
    point->sm_id = trace->sm_id;
    point->slots = chase->offset_count;
    point->is_cold = trace->is_cold;
    point->is_flushed = chase->flush;
    point->is_prefilled = chase->prefill;
    PB_TEXT_SET(point->warm_path, pb_path_name(chase->cross ? chase->warm_path : chase->path));
    point->own_warm = chase->cross ? chase->own_warm : 0;
    point->alias_bytes = chase->alias_bytes;
}

/* Moves values until none before `rank` is larger and none behind it smaller (Hoare's FIND). */
static uint32_t select_rank(uint32_t *values, size_t count, size_t rank)
{
    ptrdiff_t first = 0, last = (ptrdiff_t)count - 1, wanted = (ptrdiff_t)rank;

    while (first < last) {
        uint32_t pivot = values[first + (last - first) / 2];
        ptrdiff_t low = first, high = last;

        while (low <= high) {
            while (values[low] < pivot)
                low++;
            while (values[high] > pivot)
                high--;
            if (low <= high) {
                uint32_t kept = values[low];

                values[low++] = values[high];
                values[high--] = kept;
            }
        }
        if (wanted <= high)
            last = high;
        else if (wanted >= low)
            first = low;
        else
            break;
    }
    return values[rank];
}

/* Reorders the trace in place: it has been filed by then. */
static void summarize(const struct pb_bench *bench, const struct pb_chase *chase,
                      struct pb_chase_trace *trace, const struct pb_series *series,
                      struct pb_walk_result *result_out)
{
    uint32_t *cycles = trace->latency_cycles;
    size_t n = trace->count, middle = n / 2;
    double sum = 0;

    memset(result_out, 0, sizeof(*result_out));
    result_out->first = series->access_count - n;
    result_out->count = n;
    if (chase->record == 0) {
        result_out->mean_cycles =
            chase->timed > 0 ? (double)trace->total_cycles / (double)chase->timed : 0;
        return;
    }
    for (size_t i = 0; i < n; i++)
        sum += cycles[i];
    result_out->mean_cycles = sum / (double)n - bench->overhead_cycles;
    result_out->median_cycles = select_rank(cycles, n, middle) - bench->overhead_cycles;
    result_out->low_cycles = select_rank(cycles, middle + 1, n / 20) - bench->overhead_cycles;
    result_out->high_cycles =
        select_rank(cycles + middle, n - middle, n - 1 - n / 20 - middle) - bench->overhead_cycles;
}

/* Files the point and sums it up. */
static enum pb_status file(struct pb_bench *bench, const struct pb_walk *walk,
                           const struct pb_chase *chase, struct pb_chase_trace *trace,
                           struct pb_recording *recording, struct pb_walk_result *result_out,
                           struct pb_error *err)
{
    struct pb_point point;
    enum pb_status status;

    trace->count = (size_t)chase->record;
    for (size_t i = 0; i < trace->count; i++)
        trace->index_bytes[i] -= walk->base_bytes;
    describe_point(bench, walk, chase, trace, &point);
    status = pb_series_append(&recording->series, &point, trace->latency_cycles, trace->index_bytes,
                              err);
    if (status != PB_OK)
        return status;
    recording->sm_id = trace->sm_id;
    if (result_out != NULL)
        summarize(bench, chase, trace, &recording->series, result_out);
    return PB_OK;
}

/* Of constants: does it meet, once warm, no more than the second constant cache surely holds? SMs
 * share that, and one would miss less there in company. */
static bool is_second_cache_enough(const struct pb_walk *walk, size_t slots)
{
    return laps_to_loads(walk->warm, slots) >= slots && !walk->prefill &&
           walk->base_bytes + walk->footprint_bytes <= PB_CONSTANT_L15_BYTES_MIN;
}

/*
 * Does it stay in its SM, once warm, but for misses of a cache there that L2 answers? What begins
 * cold, or was warmed by another path, may miss in every load. Two SMs of a GPC that take such a
 * chase at the same time fall into step: the one that records requests each line 43 cycles after
 * the other one, and has its answer as much earlier, since requests of a GPC are merged (an H200).
 */
static bool is_confined(const struct pb_bench *bench, const struct pb_walk *walk, size_t slots)
{
    const uint64_t line_bytes = 128; /* at most */
    bool is_warm = walk->warm > 0 && !walk->cross;
    bool is_inside =
        walk->path == PB_PATH_GLOBAL_CA || walk->path == PB_PATH_READONLY ||
        walk->path == PB_PATH_TEXTURE || walk->path == PB_PATH_TEXTURE_2D ||
        (walk->path == PB_PATH_CONSTANT && (walk->on_sm || is_second_cache_enough(walk, slots))) ||
        (walk->path == PB_PATH_SHARED && walk->on_sm);

    return is_warm && is_inside && !walk->flush && walk->alias_bytes == 0 &&
           slots * line_bytes <= bench->info.l2_bytes / 4;
}

static struct pb_chase make_chase(const struct pb_bench *bench, const struct pb_walk *walk,
                                  const uint64_t *offsets, size_t slots)
{
    return (struct pb_chase){
        .path = walk->path,
        .offset_bytes = offsets,
        .offset_count = slots,
        .warm = laps_to_loads(walk->warm, slots),
        .record = laps_to_loads(walk->record, slots),
        .timed = laps_to_loads(walk->timed, slots),
        .prefill = walk->prefill,
        .flush = walk->flush,
        .carveout_bytes = walk->carveout_bytes == 0 ? -1 : walk->carveout_bytes,
        .sm = walk->on_sm ? (int64_t)walk->sm : -1,
        .cross = walk->cross,
        .warm_path = walk->warm_path,
        .own_warm = walk->own_warm,
        .alias_bytes = walk->alias_bytes,
        .is_confined = is_confined(bench, walk, slots),
        .slack_bytes = walk->slack_bytes,
    };
}

/* Do both walk the same slots in the same order? */
static bool are_alike(const struct pb_walk *a, const struct pb_walk *b)
{
    return a->order == PB_ORDER_SEQUENTIAL && b->order == PB_ORDER_SEQUENTIAL &&
           a->footprint_bytes == b->footprint_bytes && a->stride_bytes == b->stride_bytes &&
           a->base_bytes == b->base_bytes;
}

static enum pb_status open_jobs(const struct pb_bench *bench, const struct pb_walk *walks,
                                size_t count, struct pb_chase *chases,
                                struct pb_chase_trace *traces, uint64_t **offsets,
                                struct pb_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t slots = (size_t)pb_walk_slots(&walks[i]);
        bool is_alike = i > 0 && are_alike(&walks[i - 1], &walks[i]);

        offsets[i] = is_alike ? NULL : make_offsets(&walks[i], slots);
        chases[i] =
            make_chase(bench, &walks[i], is_alike ? chases[i - 1].offset_bytes : offsets[i], slots);
        traces[i] = (struct pb_chase_trace){.sm_id = -1};
        if (chases[i].record > 0) {
            traces[i].latency_cycles = malloc(chases[i].record * sizeof(*traces[i].latency_cycles));
            traces[i].index_bytes = malloc(chases[i].record * sizeof(*traces[i].index_bytes));
        }
        if (chases[i].offset_bytes == NULL ||
            (chases[i].record > 0 &&
             (traces[i].latency_cycles == NULL || traces[i].index_bytes == NULL)))
            return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a chase of %zu slots",
                           slots);
    }
    return PB_OK;
}

static enum pb_status take(struct pb_bench *bench, const struct pb_walk *walks, size_t count,
                           struct pb_chase *chases, struct pb_chase_trace *traces,
                           uint64_t **offsets, struct pb_recording *recording,
                           struct pb_walk_result *results_out, struct pb_error *err)
{
    enum pb_status status = open_jobs(bench, walks, count, chases, traces, offsets, err);

    if (status == PB_OK)
        status = bench->device->ops->chases(bench->device, chases, count, traces, err);
    for (size_t i = 0; status == PB_OK && i < count; i++)
        status = file(bench, &walks[i], &chases[i], &traces[i], recording,
                      results_out != NULL ? &results_out[i] : NULL, err);
    for (size_t i = 0; i < count; i++) {
        free(traces[i].latency_cycles);
        free(traces[i].index_bytes);
        free(offsets[i]);
    }
    return status;
}

enum pb_status pb_walks_take(struct pb_bench *bench, const struct pb_walk *walks, size_t count,
                             struct pb_recording *recording, struct pb_walk_result *results_out,
                             struct pb_error *err)
{
    struct pb_chase *chases = calloc(count, sizeof(*chases));
    struct pb_chase_trace *traces = calloc(count, sizeof(*traces));
    uint64_t **offsets = calloc(count, sizeof(*offsets));
    enum pb_status status;

    if (count > 0 && (chases == NULL || traces == NULL || offsets == NULL))
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", count);
    else
        status = take(bench, walks, count, chases, traces, offsets, recording, results_out, err);
    free(offsets);
    free(traces);
    free(chases);
    return status;
}

enum pb_status pb_walk_take(struct pb_bench *bench, const struct pb_walk *walk,
                            struct pb_recording *recording, struct pb_walk_result *result_out,
                            struct pb_error *err)
{
    return pb_walks_take(bench, walk, 1, recording, result_out, err);
}

size_t pb_walk_count_between(const struct pb_bench *bench, const struct pb_recording *recording,
                             const struct pb_walk_result *result, double low, double high)
{
    const uint32_t *latency = recording->series.latency_cycles + result->first;
    size_t found = 0;

    for (size_t i = 0; i < result->count; i++) {
        double net = latency[i] - bench->overhead_cycles;

        found += net >= low && net <= high;
    }
    return found;
}
