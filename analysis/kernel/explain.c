/* Why a kernel misses; see explain.h. */
#include "analysis/kernel/explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A change is worth a word when it saves this share of the misses. */
#define WORTH 0.05

enum { SECTOR_BYTES = 32, PADDING_COUNT = 2 };

static const uint64_t paddings[PADDING_COUNT] = {32, 128};

static const char *const advice_names[PB_ADVICE_COUNT] = {"coalesce", "pitch", "carveout", "blocks",
                                                          "tile"};

const char *pb_advice_name(enum pb_advice_kind kind)
{
    return advice_names[kind];
}

struct explaining {
    const struct pb_trace *trace;
    const struct pb_machine *machine;
    const struct pb_predict_options *options;
    struct pb_explanation *explanation;
};

static uint64_t misses_of(const struct pb_prediction *prediction)
{
    return pb_counts_misses(&prediction->all_reads.l1);
}

/* One more run, of which only the totals matter. */
static enum pb_status run(const struct explaining *at, struct pb_predict_options *options,
                          struct pb_prediction *prediction_out, struct pb_error *err)
{
    options->memory.has_no_classes = true;
    options->memory.wants_reuse = false;
    options->memory.observe = NULL;
    return pb_predict(at->trace, at->machine, options, prediction_out, err);
}

static enum pb_status count_misses(const struct explaining *at, struct pb_predict_options *options,
                                   uint64_t *misses_out, struct pb_error *err)
{
    struct pb_prediction prediction;
    enum pb_status status = run(at, options, &prediction, err);

    if (status != PB_OK)
        return status;
    *misses_out = misses_of(&prediction);
    pb_prediction_clear(&prediction);
    return PB_OK;
}

/* ---- intervals ---- */

static struct pb_advice *add_advice(struct explaining *at, enum pb_advice_kind kind,
                                    uint64_t misses_then)
{
    struct pb_explanation *explanation = at->explanation;
    uint64_t misses = misses_of(&explanation->prediction);
    struct pb_advice *advice;

    if (explanation->advice_count == PB_ADVICE_MAX ||
        (double)misses_then > (1.0 - WORTH) * (double)misses)
        return NULL;
    advice = &explanation->advice[explanation->advice_count++];
    *advice = (struct pb_advice){.kind = kind,
                                 .instruction = PB_NO_ROW,
                                 .allocation = PB_NO_ROW,
                                 .misses = misses,
                                 .misses_then = misses_then};
    return advice;
}

static bool is_random(const struct pb_machine_level *level)
{
    return level->level != NULL && (level->level->shape.policy == PB_MODEL_RANDOM ||
                                    level->level->shape.policy == PB_MODEL_WEIGHTED);
}

/* Does chance play a part? */
static bool has_chance(const struct pb_machine *machine, const struct pb_memory_options *options)
{
    bool in_time = !options->without[PB_EXTENSION_LATENCY] &&
                   (machine->l2_hit.sigma > 0.0 || machine->dram.sigma > 0.0);

    return in_time || (!options->without[PB_EXTENSION_ASSOCIATIVITY] &&
                       (is_random(&machine->l1) || is_random(&machine->l2)));
}

static void widen(struct pb_interval *interval, double value)
{
    interval->low = fmin(interval->low, value);
    interval->high = fmax(interval->high, value);
}

static enum pb_status run_seeds(struct explaining *at, struct pb_error *err)
{
    struct pb_explanation *explanation = at->explanation;
    const struct pb_prediction *prediction = &explanation->prediction;
    double l1 = pb_counts_hit_rate(&prediction->loads.l1);
    double l2 = pb_counts_hit_rate(&prediction->all_reads.l2);
    enum pb_status status = PB_OK;

    explanation->l1_hits = (struct pb_interval){l1, l1, l1};
    explanation->l2_hits = (struct pb_interval){l2, l2, l2};
    explanation->seed_count = has_chance(at->machine, &at->options->memory) ? PB_SEED_COUNT : 1;
    for (size_t i = 1; i < explanation->seed_count && status == PB_OK; i++) {
        struct pb_predict_options options = *at->options;
        struct pb_prediction other;

        options.memory.seed += i;
        status = run(at, &options, &other, err);
        if (status != PB_OK)
            break;
        widen(&explanation->l1_hits, pb_counts_hit_rate(&other.loads.l1));
        widen(&explanation->l2_hits, pb_counts_hit_rate(&other.all_reads.l2));
        pb_prediction_clear(&other);
    }
    return status;
}

static enum pb_status run_without_limit(struct explaining *at, struct pb_error *err)
{
    struct pb_predict_options options = *at->options;
    uint64_t misses = 0;
    enum pb_status status;

    if (at->machine->mshr_per_sm == 0 || options.memory.without[PB_EXTENSION_MSHR] ||
        options.memory.without[PB_EXTENSION_LATENCY])
        return PB_OK;
    options.memory.without[PB_EXTENSION_MSHR] = true;
    status = count_misses(at, &options, &misses, err);
    at->explanation->has_mshr = status == PB_OK;
    at->explanation->mshr_misses =
        (int64_t)misses_of(&at->explanation->prediction) - (int64_t)misses;
    return status;
}

/* ---- advice ---- */

/* The loads' instruction with most of what value() gives; PB_NO_ROW: all have 0. */
static size_t find_worst(const struct pb_prediction *prediction,
                         uint64_t (*value)(const struct pb_access_counts *counts))
{
    size_t worst = PB_NO_ROW;
    uint64_t most = 0;

    for (size_t i = 0; i < prediction->instruction_count; i++) {
        uint64_t here = value(&prediction->instructions[i].counts);

        if (here > most) {
            most = here;
            worst = i;
        }
    }
    return worst;
}

static uint64_t conflicts_of(const struct pb_access_counts *counts)
{
    return counts->l1.misses[PB_MISS_CONFLICT];
}

/* Sectors beyond those that the bytes need; 0 for what is no read. */
static uint64_t spare_sectors(const struct pb_access_counts *counts)
{
    uint64_t needed = (counts->bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
    uint64_t reads = counts->l1.hits + counts->l1.in_flight + pb_counts_misses(&counts->l1);

    return reads > 0 && counts->sectors > needed ? counts->sectors - needed : 0;
}

/*
 * Lanes far apart: with adjacent ones on adjacent addresses each sector is fetched for all its
 * bytes at once, so that no more is missed than the bytes need.
 */
static void advise_coalescing(struct explaining *at)
{
    const struct pb_prediction *prediction = &at->explanation->prediction;
    size_t worst = find_worst(prediction, spare_sectors);
    const struct pb_instruction_counts *row;
    struct pb_advice *advice;
    uint64_t misses, needed;

    if (worst == PB_NO_ROW)
        return;
    row = &prediction->instructions[worst];
    needed = (row->counts.bytes + SECTOR_BYTES - 1) / SECTOR_BYTES;
    misses = pb_counts_misses(&row->counts.l1);
    if (row->counts.sectors < 2 * needed || misses <= needed)
        return;
    advice = add_advice(at, PB_ADVICE_COALESCE, misses_of(prediction) - misses + needed);
    if (advice == NULL)
        return;
    advice->instruction = worst;
    if (row->lane.weight > 0)
        snprintf(advice->text, sizeof(advice->text),
                 "lanes are %" PRId64 " bytes apart, so that a load touches %.1f sectors; adjacent "
                 "lanes on adjacent addresses would touch %.1f",
                 row->lane.bytes, (double)row->counts.sectors / (double)row->counts.accesses,
                 (double)needed / (double)row->counts.accesses);
    else
        snprintf(advice->text, sizeof(advice->text),
                 "lanes are scattered: a load touches %.1f sectors; sorted so that neighbours "
                 "share sectors it would touch %.1f",
                 (double)row->counts.sectors / (double)row->counts.accesses,
                 (double)needed / (double)row->counts.accesses);
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

/* The rows of the allocation that conflicts most, by the strides of what conflicts most. */
static bool find_rows(const struct explaining *at, struct pb_pitch_change *change,
                      size_t *instruction_out, size_t *allocation_out)
{
    const struct pb_prediction *prediction = &at->explanation->prediction;
    const struct pb_kernel *kernel = at->trace->ops->kernel(at->trace->state);
    uint64_t line_bytes = at->machine->l1.level->shape.line_bytes;
    size_t worst = find_worst(prediction, conflicts_of);
    size_t allocation = 0;

    if (worst == PB_NO_ROW ||
        (double)conflicts_of(&prediction->all_reads) < WORTH * (double)misses_of(prediction))
        return false;
    for (size_t i = 1; i < prediction->allocation_count; i++)
        if (conflicts_of(&prediction->allocations[i]) >
            conflicts_of(&prediction->allocations[allocation]))
            allocation = i;
    change->pitch_bytes = magnitude(prediction->instructions[worst].lane.bytes);
    if (change->pitch_bytes < line_bytes)
        change->pitch_bytes = magnitude(prediction->instructions[worst].step.bytes);
    if (change->pitch_bytes < line_bytes)
        return false;
    *instruction_out = worst;
    *allocation_out = prediction->allocation_count > 0 ? allocation : PB_NO_ROW;
    change->begin = prediction->allocation_count > 0 ? kernel->allocations[allocation].address : 0;
    change->end = prediction->allocation_count > 0
                      ? change->begin + kernel->allocations[allocation].bytes
                      : UINT64_C(1) << 62;
    return true;
}

static enum pb_status advise_pitch(struct explaining *at, struct pb_error *err)
{
    struct pb_predict_options options = *at->options;
    struct pb_pitch_change *change = &options.memory.change;
    size_t instruction, allocation;
    uint64_t best_misses = UINT64_MAX;
    uint64_t best = 0;
    struct pb_advice *advice;

    if (at->machine->l1.level == NULL || !find_rows(at, change, &instruction, &allocation))
        return PB_OK;
    for (size_t i = 0; i < PADDING_COUNT; i++) {
        uint64_t misses = 0;
        enum pb_status status;

        change->padding_bytes = paddings[i];
        status = count_misses(at, &options, &misses, err);
        if (status != PB_OK)
            return status;
        if (misses < best_misses) {
            best_misses = misses;
            best = paddings[i];
        }
    }
    advice = add_advice(at, PB_ADVICE_PITCH, best_misses);
    if (advice == NULL)
        return PB_OK;
    advice->instruction = instruction;
    advice->allocation = allocation;
    snprintf(advice->text, sizeof(advice->text),
             "rows %" PRIu64 " bytes apart meet in few sets; with %" PRIu64
             " bytes more each (a pitch of %" PRIu64 ") they spread",
             change->pitch_bytes, best, change->pitch_bytes + best);
    return PB_OK;
}

static enum pb_status advise_carveout(struct explaining *at, struct pb_error *err)
{
    const struct pb_prediction *prediction = &at->explanation->prediction;
    const struct pb_kernel *kernel = at->trace->ops->kernel(at->trace->state);
    struct pb_predict_options options = *at->options;
    uint64_t shared = kernel->shared_bytes > 0 ? (uint64_t)kernel->shared_bytes : 0;
    uint64_t needed = prediction->block_limit * (shared + at->machine->shared_reserved_per_block);
    struct pb_advice *advice;
    uint64_t misses = 0;
    enum pb_status status;

    if (at->machine->l1.level == NULL || !at->machine->l1.level->is_unified ||
        kernel->shared_bytes < 0 || needed >= prediction->carveout_bytes)
        return PB_OK;
    options.carveout_bytes = (int64_t)needed;
    status = count_misses(at, &options, &misses, err);
    advice = status == PB_OK ? add_advice(at, PB_ADVICE_CARVEOUT, misses) : NULL;
    if (advice != NULL)
        snprintf(advice->text, sizeof(advice->text),
                 "%" PRIu64 " bytes of an SM are set aside as shared memory and %" PRIu64
                 " are needed; a smaller carve-out leaves them to L1",
                 prediction->carveout_bytes, needed);
    return status;
}

static enum pb_status advise_blocks(struct explaining *at, struct pb_error *err)
{
    uint32_t limit = at->explanation->prediction.block_limit;
    uint64_t best_misses = UINT64_MAX;
    uint32_t best = limit;
    struct pb_advice *advice;

    for (uint32_t fewer = limit / 2; fewer >= 1 && fewer >= limit / 4; fewer /= 2) {
        struct pb_predict_options options = *at->options;
        uint64_t misses = 0;
        enum pb_status status;

        options.block_limit = fewer;
        status = count_misses(at, &options, &misses, err);
        if (status != PB_OK)
            return status;
        if (misses < best_misses) {
            best_misses = misses;
            best = fewer;
        }
    }
    advice = best < limit ? add_advice(at, PB_ADVICE_BLOCKS, best_misses) : NULL;
    if (advice != NULL)
        snprintf(advice->text, sizeof(advice->text),
                 "%u active blocks of an SM share L1; %u at a time would keep more of their data",
                 limit, best);
    return PB_OK;
}

/*
 * By how much the data between two uses have to shrink for most of them to fit: uses at a distance
 * below k times the lines of L1 hit once there is only a k-th between them.
 */
static void advise_tile(struct explaining *at)
{
    const struct pb_prediction *prediction = &at->explanation->prediction;
    uint64_t line_bytes, lines, far = 0, near = 0;
    const uint64_t *counts;
    struct pb_advice *advice;
    size_t last;
    double factor;

    if (prediction->reuse == NULL || at->machine->l1.level == NULL)
        return;
    line_bytes = at->machine->l1.level->shape.line_bytes;
    lines = prediction->l1_bytes / line_bytes;
    counts = prediction->reuse->counts;
    for (size_t i = pb_model_histogram_class(lines); i < PB_MODEL_HISTOGRAM_SIZE; i++)
        far += counts[i];
    if (far == 0 || lines == 0)
        return;
    for (last = pb_model_histogram_class(lines);
         last + 1 < PB_MODEL_HISTOGRAM_SIZE && near < far - far / 10; last++)
        near += counts[last];
    factor = ceil((double)pb_model_histogram_low(last) / (double)lines);
    if (factor < 2.0)
        factor = 2.0;
    advice = add_advice(at, PB_ADVICE_TILE,
                        misses_of(prediction) -
                            prediction->all_reads.l1.misses[PB_MISS_CAPACITY] / far * near);
    if (advice != NULL)
        snprintf(advice->text, sizeof(advice->text),
                 "90%% of the uses that come too late have up to %.0f KiB between them, L1 holds "
                 "%.0f KiB: tiles of 1/%.0f of the extent would fit",
                 (double)(pb_model_histogram_low(last) * line_bytes) / 1024.0,
                 (double)prediction->l1_bytes / 1024.0, factor);
}

static int compare_advice(const void *a, const void *b)
{
    uint64_t left = ((const struct pb_advice *)a)->misses_then;
    uint64_t right = ((const struct pb_advice *)b)->misses_then;

    return (left > right) - (left < right);
}

enum pb_status pb_explain(const struct pb_trace *trace, const struct pb_machine *machine,
                          const struct pb_predict_options *options,
                          struct pb_explanation *explanation_out, struct pb_error *err)
{
    struct pb_explanation explanation = {.seed_count = 1};
    struct explaining at = {trace, machine, options, &explanation};
    enum pb_status status = pb_predict(trace, machine, options, &explanation.prediction, err);

    if (status == PB_OK)
        status = run_seeds(&at, err);
    if (status == PB_OK)
        status = run_without_limit(&at, err);
    if (status == PB_OK)
        status = advise_pitch(&at, err);
    if (status == PB_OK)
        status = advise_carveout(&at, err);
    if (status == PB_OK)
        status = advise_blocks(&at, err);
    if (status != PB_OK) {
        pb_explanation_clear(&explanation);
        return status;
    }
    advise_coalescing(&at);
    advise_tile(&at);
    qsort(explanation.advice, explanation.advice_count, sizeof(explanation.advice[0]),
          compare_advice);
    *explanation_out = explanation;
    return PB_OK;
}

void pb_explanation_clear(struct pb_explanation *explanation)
{
    if (explanation == NULL)
        return;
    pb_prediction_clear(&explanation->prediction);
    explanation->advice_count = 0;
}
