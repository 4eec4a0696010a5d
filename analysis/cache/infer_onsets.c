/*
 * first_miss_bytes: where misses begin by where the array begins; and what limits the cache there.
 *
 * An index that hashes addresses fills the sets unevenly, so the first set overflows sooner or
 * later (l1_alignment). Where the index is known it predicts which lines of which chases miss.
 * Chases that miss although no set has too many lines say that something else is full: the store of
 * the data, which may hold fewer lines than the sets have room for, as beside a carve-out of shared
 * memory. The largest footprint that fits is then the size itself.
 *
 * One line that is none of the chase's may stay in a set, as the one that the kernel practises on
 * does where lines that have hit are kept: then the lines of a set that is just full miss, all of
 * them and no others. Such chases say nothing of the cache.
 *
 * Textures may lie in the same store under tags of their own (shares_capacity_with). Where fewer of
 * their lines fit, others took the rest, as those that hold textures' own place for practice: the
 * size is then up to the store's.
 *
 * Source: M16 4.2, stage 1; N14 5.1.
 */
#include "analysis/infer.h"

#include <math.h>
#include <string.h>

#include "analysis/cache/set_overflow.h"
#include "analysis/confidence.h"
#include "analysis/constants.h"

enum { STARTS_MAX = 32 };

/* One place where arrays began, by one path. */
struct start {
    uint64_t base;
    size_t source;
    uint64_t fits_bytes, overflow_bytes; /* largest without misses; smallest with; 0: none */
    uint64_t full_bytes;                 /* smallest with misses but no overflowing set; 0: none */
    uint64_t stride_bytes;
    bool has_guest; /* a line of none of its chases took the place of one */
};

struct view {
    struct start starts[STARTS_MAX];
    size_t start_count;
    bool is_known; /* sets */
    struct pb_geometry sets;
    double index_confidence; /* by the passes that showed it */
    size_t chases, predicted,
        overflowing;          /* that an index says something of; rightly; as overflowing */
    size_t lines, lines_both; /* in overflowing sets; of these, missing */
    uint64_t full_least; /* smallest footprint of all with misses but no overflowing set; 0: none */
    uint64_t carveout_bytes; /* of the chases */
};

static struct start *find_start(struct view *view, uint64_t base, size_t source)
{
    for (size_t i = 0; i < view->start_count; i++)
        if (view->starts[i].base == base && view->starts[i].source == source)
            return &view->starts[i];
    if (view->start_count == STARTS_MAX)
        return NULL;
    view->starts[view->start_count] = (struct start){.base = base, .source = source};
    return &view->starts[view->start_count++];
}

static bool is_chase(const struct pb_point *point, const struct pb_accesses *chase)
{
    static const char *const phases[] = {"shifted", "bisect", "confirm"};

    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++)
        if (strncmp(point->phase, phases[i], PB_NAME_LENGTH) == 0)
            return point->stride_bytes > 0 &&
                   chase->count * point->stride_bytes >= point->footprint_bytes; /* a whole pass */
    return false;
}

/* Whether a chase misses, against what the sets say of it. */
static void count_prediction(const struct pb_point *point,
                             const struct pb_set_prediction *prediction, bool misses,
                             struct start *start, struct view *view)
{
    bool is_overflowing = prediction->overflowing > 0;

    view->lines += prediction->overflowing;
    view->lines_both += prediction->both;
    view->overflowing += is_overflowing;
    start->has_guest |= misses && !is_overflowing && prediction->is_one_set;
    if (start->has_guest && misses && !is_overflowing)
        return;
    if (misses && !is_overflowing) {
        if (start->full_bytes == 0 || point->footprint_bytes < start->full_bytes)
            start->full_bytes = point->footprint_bytes;
        if (view->full_least == 0 || point->footprint_bytes < view->full_least)
            view->full_least = point->footprint_bytes;
        view->carveout_bytes = point->carveout_bytes;
        return; /* held against the fits in the end */
    }
    view->chases++;
    view->predicted += misses == is_overflowing;
}

/* `background`: hits of the reference, of which some look like misses. */
static enum pb_status add_chase(const struct pb_point *point, const struct pb_accesses *chase,
                                const struct pb_classes *classes, const struct pb_tally *background,
                                size_t source, struct view *view, struct pb_error *err)
{
    struct start *start = find_start(view, point->base_address, source);
    struct pb_tally tally = pb_classes_count(classes, chase);
    bool misses = pb_tally_exceeds(&tally, background) &&
                  (double)tally.misses >=
                      PB_FEW + pb_classes_most_noise(pb_classes_expect_noise(classes, chase));
    struct pb_set_prediction prediction;
    enum pb_status status;

    if (start == NULL || (!misses && tally.misses > 0)) /* spikes, or the first misses of an edge */
        return PB_OK;
    start->stride_bytes = point->stride_bytes;
    if (misses && (start->overflow_bytes == 0 || point->footprint_bytes < start->overflow_bytes))
        start->overflow_bytes = point->footprint_bytes;
    if (!misses && point->footprint_bytes > start->fits_bytes)
        start->fits_bytes = point->footprint_bytes;
    if (!view->is_known)
        return PB_OK;
    status = pb_sets_predict(&view->sets, chase, point->base_address, classes, &prediction, err);
    if (status == PB_OK)
        count_prediction(point, &prediction, misses, start, view);
    return status == PB_NOT_FOUND ? PB_OK : status;
}

/* All whole passes of one recording; one without any says nothing. PB_NO_MEMORY. */
static enum pb_status read_chases(const struct pb_series *series, const char *path, size_t source,
                                  struct view *view, struct pb_error *err)
{
    struct pb_pick any = {path, "traced", NULL};
    struct pb_tally background;
    struct pb_classes classes;
    const struct pb_point *point;
    enum pb_status status =
        pb_classes_read(series, path, "reference", "miss", &classes, &background, err);

    for (size_t at = 0; status == PB_OK && (point = pb_point_next(series, &any, &at)) != NULL;) {
        struct pb_accesses chase = pb_point_accesses(series, point);

        if (is_chase(point, &chase))
            status = add_chase(point, &chase, &classes, &background, source, view, err);
    }
    return status == PB_NO_MEMORY ? status : PB_OK;
}

/*
 * Onsets of all starts that have one: value is the most. It may be where chases between what fits
 * and what does not say nothing, and no less than arrays elsewhere where no larger one surely
 * missed. NaN: no start has one.
 */
static struct pb_estimate span_onsets(const struct view *view, size_t *count_out)
{
    struct pb_estimate onset = PB_ESTIMATE_NONE;
    double fits_elsewhere = 0.0;

    *count_out = 0;
    for (size_t i = 0; i < view->start_count; i++) {
        const struct start *start = &view->starts[i];

        if (start->fits_bytes == 0 || start->has_guest)
            continue;
        if (start->overflow_bytes == 0)
            fits_elsewhere = fmax(fits_elsewhere, (double)start->fits_bytes);
        if (start->overflow_bytes <= start->fits_bytes)
            continue;
        onset.low = fmin(onset.low, (double)start->fits_bytes);
        onset.value = fmax(onset.value, (double)start->fits_bytes);
        onset.high = fmax(onset.high, (double)(start->overflow_bytes - start->stride_bytes));
        ++*count_out;
    }
    if (*count_out > 0) {
        onset.value = fmax(onset.value, fits_elsewhere);
        onset.high = fmax(onset.high, onset.value);
    }
    return onset;
}

static double confidence_of(const struct view *view)
{
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, view->predicted, view->chases, PB_PIECES_MAX);
    return pb_votes_confidence(&votes);
}

/*
 * The size of the store, where it is full before the sets: the least that is too much for it from
 * the start from which most fits, less a stride. Other lines may take some of it, so that elsewhere
 * a little less fits; but the index must predict what the sets do. 0: they are what is full.
 */
static uint64_t find_store(const struct view *view, const struct pb_estimate *onset)
{
    uint64_t store = 0;

    if ((view->overflowing < PB_FEW && !(view->index_confidence > PB_MOST)) ||
        view->predicted < PB_FEW + view->overflowing ||
        (double)view->predicted < PB_MOST * (double)view->chases ||
        (double)view->full_least < (1.0 - PB_ALIKE_SHARE) * onset->value)
        return 0;
    for (size_t i = 0; i < view->start_count; i++) {
        const struct start *start = &view->starts[i];
        uint64_t most = start->full_bytes - start->stride_bytes;

        if ((double)start->fits_bytes == onset->value && start->full_bytes > start->fits_bytes &&
            (store == 0 || most < store))
            store = most;
    }
    return store;
}

/* The size of every path of the cache, where the most that fits is all that there is room for. */
static void override_size(const struct pb_case *at, const char *memory, const struct view *view,
                          const struct pb_estimate *onset, double most)
{
    struct pb_parameter *size = pb_parameters_find(at->parameters, memory, "size_bytes");

    if (size == NULL || size->kind != PB_VALUE_NUMBER || onset->value < size->numbers[0].low ||
        most > size->numbers[0].high)
        return;
    pb_parameter_set_number(
        size, (struct pb_estimate){onset->value, onset->value, most}, confidence_of(view),
        "most that fits, of %zu start offsets, beside a carve-out of %llu bytes; beyond it lines "
        "miss although no set overflows: the data store is full, not the sets' %.0f bytes",
        view->start_count, (unsigned long long)view->carveout_bytes,
        (double)pb_geometry_bytes(&view->sets));
}

static bool says_l1(const struct pb_parameters *parameters, const char *memory, const char *name)
{
    const struct pb_parameter *word = pb_parameters_find(parameters, memory, name);

    return word != NULL && word->kind == PB_VALUE_WORD && strstr(word->word, "l1") != NULL;
}

/* Textures in L1's store: nothing but other lines there keeps them from all of it, and no more. */
static void bound_textures(const struct pb_parameters *parameters)
{
    const struct pb_parameter *store = pb_parameters_find(parameters, "l1", "size_bytes");
    struct pb_parameter *size = pb_parameters_find(parameters, "texture", "size_bytes");
    struct pb_estimate bytes;

    if (!says_l1(parameters, "texture", "shares_capacity_with") ||
        says_l1(parameters, "texture", "same_cache_as") || store == NULL || size == NULL ||
        store->kind != PB_VALUE_NUMBER || size->kind != PB_VALUE_NUMBER ||
        store->numbers[0].high < size->numbers[0].value ||
        store->numbers[0].high == size->numbers[0].high)
        return;
    bytes = size->numbers[0];
    bytes.high = store->numbers[0].high;
    pb_parameter_set_number(size, bytes, fmin(size->confidence, store->confidence),
                            "%.0f bytes fit; they share the data store of l1, of which other lines "
                            "held the rest of %.0f",
                            bytes.value, bytes.high);
}

/*
 * Of more than the cache may hold a few lines may miss in no recorded pass, by random victims. Sets
 * that are known tell which passes those are; else the onset may be as low as the size, and where
 * it is lower than what surely fits, what missed sooner may have done so by spikes.
 */
static struct pb_estimate within_size(const struct pb_case *at, bool are_sets_known,
                                      struct pb_estimate onset)
{
    const struct pb_parameter *size = pb_parameters_find(at->parameters, "l1", "size_bytes");

    if (size == NULL || size->kind != PB_VALUE_NUMBER)
        return onset;
    onset.value = fmin(onset.value, size->numbers[0].high);
    onset.low = fmin(onset.low, onset.value);
    if (!are_sets_known)
        onset.low = fmin(onset.low, size->numbers[0].low);
    if (!are_sets_known && onset.value < size->numbers[0].low)
        onset.high = fmax(onset.high, size->numbers[0].high);
    return onset;
}

static void state_onset(const struct pb_case *at, const struct view *view, size_t starts,
                        const struct pb_estimate *onset)
{
    struct pb_parameter *answer = pb_case_answer(at, "first_miss_bytes");
    struct pb_estimate bytes = within_size(at, view->is_known, *onset);

    if (view->is_known && view->chases > 0)
        pb_parameter_set_number(answer, bytes, confidence_of(view),
                                "from %zu start offsets; the index predicts %zu of %zu passes, and "
                                "in them %zu of %zu lines that miss",
                                starts, view->predicted, view->chases, view->lines_both,
                                view->lines);
    else
        pb_parameter_set_number(answer, bytes, 0.5,
                                "largest footprints without misses, from %zu start offsets",
                                starts);
}

enum pb_status pb_infer_onsets(const struct pb_case *at, struct pb_error *err)
{
    bool shared = says_l1(at->parameters, "readonly", "same_cache_as");
    struct view view = {.start_count = 0};
    struct pb_estimate onset;
    uint64_t store;
    size_t starts;
    enum pb_status status = PB_OK;

    view.is_known = pb_sets_read(at->parameters, "l1", &view.sets);
    if (view.is_known)
        view.index_confidence = pb_parameters_find(at->parameters, "l1", "index_masks")->confidence;
    for (size_t i = 0; i < 3 && status == PB_OK; i++)
        if (i < 2 || shared)
            status = read_chases(&at->recordings[i].series, i < 2 ? "global_ca" : "readonly", i / 2,
                                 &view, err);
    if (status != PB_OK)
        return status;
    onset = span_onsets(&view, &starts);
    if (starts == 0)
        return pb_fail(err, PB_NOT_FOUND,
                       "too few observations: no start offset shows both a footprint that fits and "
                       "one that does not");
    store = find_store(&view, &onset);
    if (store > 0)
        override_size(at, "l1", &view, &onset, (double)store);
    if (store > 0 && shared)
        override_size(at, "readonly", &view, &onset, (double)store);
    state_onset(at, &view, starts, &onset);
    bound_textures(at->parameters);
    return PB_OK;
}
