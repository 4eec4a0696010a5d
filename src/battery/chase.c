/* One chase taken and filed; see chase.h. */
#include "battery/chase.h"

#include <stdlib.h>
#include <string.h>

#include "core/order.h"

static const char *const order_names[] = {
    [PB_ORDER_SEQUENTIAL] = "sequential", [PB_ORDER_RANDOM] = "random",
    [PB_ORDER_PAGES] = "random_in_pages", [PB_ORDER_WORDS] = "random_words",
    [PB_ORDER_GIVEN] = "given",
};

uint64_t pb_chase_slots(const struct pb_chase_spec *spec)
{
    uint64_t strides;

    if (spec->order == PB_ORDER_GIVEN)
        return spec->offset_count;
    strides = (spec->footprint_bytes + spec->stride_bytes - 1) / spec->stride_bytes;
    return spec->order == PB_ORDER_WORDS ? strides * spec->words : strides;
}

static uint64_t *make_offsets(const struct pb_chase_spec *spec, size_t count)
{
    uint64_t *offsets = malloc(count * sizeof(*offsets));
    size_t fixed = 0;

    if (offsets == NULL)
        return NULL;
    if (spec->order == PB_ORDER_GIVEN) {
        memcpy(offsets, spec->offset_bytes, count * sizeof(*offsets));
        return offsets;
    }
    pb_order_list_words(offsets, count, spec->order == PB_ORDER_WORDS ? count / spec->words : count,
                        spec->stride_bytes);
    for (size_t i = 0; i < count; i++)
        offsets[i] += spec->base_bytes;
    if (spec->order == PB_ORDER_PAGES)
        fixed = pb_order_pages_first(offsets, count, spec->base_bytes);
    if (spec->order != PB_ORDER_SEQUENTIAL)
        pb_order_shuffle(offsets + fixed, count - fixed, spec->seed);
    return offsets;
}

static uint64_t passes_to_loads(uint64_t loads, size_t slots)
{
    return loads == PB_WHOLE_PASS ? slots : loads;
}

static void describe_point(const struct pb_session *session, const struct pb_chase_spec *spec,
                           const struct pb_chase *chase, const struct pb_chase_trace *trace,
                           struct pb_point *point)
{
    memset(point, 0, sizeof(*point));
    PB_TEXT_SET(point->path, pb_path_name(spec->path));
    PB_TEXT_SET(point->order, order_names[spec->order]);
    PB_TEXT_SET(point->mode, chase->record > 0 ? "traced" : "timed");
    PB_TEXT_SET(point->phase, spec->phase);
    point->footprint_bytes = spec->footprint_bytes;
    point->stride_bytes = spec->stride_bytes;
    point->count = chase->record;
    point->warm = chase->warm;
    point->window = chase->record > 0 ? trace->window : 0;
    point->timed = chase->record > 0 ? 0 : chase->timed;
    point->total_cycles = chase->record > 0 ? 0 : trace->total_cycles;
    point->total_ns = chase->record > 0 ? 0 : trace->total_ns;
    point->overhead_cycles = session->overhead_cycles;
    point->carveout_bytes = trace->carveout_bytes;
    point->seed = spec->seed;
    point->base_address = trace->base_address + spec->base_bytes;
    point->repeat = spec->repeat;
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
static void summarize(const struct pb_session *session, const struct pb_chase *chase,
                      struct pb_chase_trace *trace, const struct pb_series *series,
                      struct pb_chase_result *result_out)
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
    result_out->mean_cycles = sum / (double)n - session->overhead_cycles;
    result_out->median_cycles = select_rank(cycles, n, middle) - session->overhead_cycles;
    result_out->low_cycles = select_rank(cycles, middle + 1, n / 20) - session->overhead_cycles;
    result_out->high_cycles = select_rank(cycles + middle, n - middle, n - 1 - n / 20 - middle) -
                              session->overhead_cycles;
}

/* Files the point and sums it up. */
static enum pb_status file(struct pb_session *session, const struct pb_chase_spec *spec,
                           const struct pb_chase *chase, struct pb_chase_trace *trace,
                           struct pb_recording *recording, struct pb_chase_result *result_out,
                           struct pb_error *err)
{
    struct pb_point point;
    enum pb_status status;

    trace->count = (size_t)chase->record;
    for (size_t i = 0; i < trace->count; i++)
        trace->index_bytes[i] -= spec->base_bytes;
    describe_point(session, spec, chase, trace, &point);
    status = pb_series_append(&recording->series, &point, trace->latency_cycles, trace->index_bytes,
                              err);
    if (status != PB_OK)
        return status;
    recording->sm_id = trace->sm_id;
    if (result_out != NULL)
        summarize(session, chase, trace, &recording->series, result_out);
    return PB_OK;
}

/* Of constants: does it meet, once warm, no more than the second constant cache surely holds? SMs
 * share that, and one would miss less there beside others. */
static bool is_second_cache_enough(const struct pb_chase_spec *spec, size_t slots)
{
    return passes_to_loads(spec->warm, slots) >= slots && !spec->prefill &&
           spec->base_bytes + spec->footprint_bytes <= PB_CONSTANT_L15_BYTES_MIN;
}

/*
 * Does it stay in its SM, once warm, but for misses of a cache there that L2 answers? What begins
 * cold, or was warmed by another path, may miss in every load. Two SMs of a GPC that take such a
 * chase at the same time fall into step: the one that records requests each line 43 cycles after
 * the other one, and has its answer as much earlier, since requests of a GPC are merged (an H200).
 */
static bool is_confined(const struct pb_session *session, const struct pb_chase_spec *spec,
                        size_t slots)
{
    const uint64_t line_bytes = 128; /* at most */
    bool is_warm = spec->warm > 0 && !spec->cross;
    bool is_inside =
        spec->path == PB_PATH_GLOBAL_CA || spec->path == PB_PATH_READONLY ||
        spec->path == PB_PATH_TEXTURE || spec->path == PB_PATH_TEXTURE_2D ||
        (spec->path == PB_PATH_CONSTANT && (spec->on_sm || is_second_cache_enough(spec, slots))) ||
        (spec->path == PB_PATH_SHARED && spec->on_sm);

    return is_warm && is_inside && !spec->flush && spec->alias_bytes == 0 &&
           slots * line_bytes <= session->info.l2_bytes / 4;
}

static struct pb_chase make_chase(const struct pb_session *session,
                                  const struct pb_chase_spec *spec, const uint64_t *offsets,
                                  size_t slots)
{
    return (struct pb_chase){
        .path = spec->path,
        .offset_bytes = offsets,
        .offset_count = slots,
        .warm = passes_to_loads(spec->warm, slots),
        .record = passes_to_loads(spec->record, slots),
        .timed = passes_to_loads(spec->timed, slots),
        .prefill = spec->prefill,
        .flush = spec->flush,
        .carveout_bytes = spec->carveout_bytes == 0 ? -1 : spec->carveout_bytes,
        .sm = spec->on_sm ? (int64_t)spec->sm : -1,
        .cross = spec->cross,
        .warm_path = spec->warm_path,
        .own_warm = spec->own_warm,
        .alias_bytes = spec->alias_bytes,
        .is_confined = is_confined(session, spec, slots),
        .slack_bytes = spec->slack_bytes,
    };
}

/* Do both load the same slots in the same order? */
static bool are_alike(const struct pb_chase_spec *a, const struct pb_chase_spec *b)
{
    return a->order == PB_ORDER_SEQUENTIAL && b->order == PB_ORDER_SEQUENTIAL &&
           a->footprint_bytes == b->footprint_bytes && a->stride_bytes == b->stride_bytes &&
           a->base_bytes == b->base_bytes;
}

static enum pb_status open_jobs(const struct pb_session *session, const struct pb_chase_spec *specs,
                                size_t count, struct pb_chase *chases,
                                struct pb_chase_trace *traces, uint64_t **offsets,
                                struct pb_error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t slots = (size_t)pb_chase_slots(&specs[i]);
        bool is_alike = i > 0 && are_alike(&specs[i - 1], &specs[i]);

        offsets[i] = is_alike ? NULL : make_offsets(&specs[i], slots);
        chases[i] = make_chase(session, &specs[i],
                               is_alike ? chases[i - 1].offset_bytes : offsets[i], slots);
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

static enum pb_status take(struct pb_session *session, const struct pb_chase_spec *specs,
                           size_t count, struct pb_chase *chases, struct pb_chase_trace *traces,
                           uint64_t **offsets, struct pb_recording *recording,
                           struct pb_chase_result *results_out, struct pb_error *err)
{
    enum pb_status status = open_jobs(session, specs, count, chases, traces, offsets, err);

    if (status == PB_OK)
        status = session->device->ops->chases(session->device, chases, count, traces, err);
    for (size_t i = 0; status == PB_OK && i < count; i++)
        status = file(session, &specs[i], &chases[i], &traces[i], recording,
                      results_out != NULL ? &results_out[i] : NULL, err);
    for (size_t i = 0; i < count; i++) {
        free(traces[i].latency_cycles);
        free(traces[i].index_bytes);
        free(offsets[i]);
    }
    return status;
}

enum pb_status pb_chases_take(struct pb_session *session, const struct pb_chase_spec *specs,
                              size_t count, struct pb_recording *recording,
                              struct pb_chase_result *results_out, struct pb_error *err)
{
    struct pb_chase *chases = calloc(count, sizeof(*chases));
    struct pb_chase_trace *traces = calloc(count, sizeof(*traces));
    uint64_t **offsets = calloc(count, sizeof(*offsets));
    enum pb_status status;

    if (count > 0 && (chases == NULL || traces == NULL || offsets == NULL))
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", count);
    else
        status = take(session, specs, count, chases, traces, offsets, recording, results_out, err);
    free(offsets);
    free(traces);
    free(chases);
    return status;
}

enum pb_status pb_chase_take(struct pb_session *session, const struct pb_chase_spec *spec,
                             struct pb_recording *recording, struct pb_chase_result *result_out,
                             struct pb_error *err)
{
    return pb_chases_take(session, spec, 1, recording, result_out, err);
}

size_t pb_chase_count_between(const struct pb_session *session,
                              const struct pb_recording *recording,
                              const struct pb_chase_result *result, double low, double high)
{
    const uint32_t *latency = recording->series.latency_cycles + result->first;
    size_t found = 0;

    for (size_t i = 0; i < result->count; i++) {
        double net = latency[i] - session->overhead_cycles;

        found += net >= low && net <= high;
    }
    return found;
}
