/* Pairs of lines of one set, and the indexes that explain them. */
#include "analysis/conflict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"

/* Strays by pairs, and the chance at which dropping one must make an index finer to be right. */
static const double stray_share = 0.01, stray_chance = 1e-6;

/* Vectors that made the index coarser; only they can be strays that matter. */
enum { TURNING_MAX = 64 };

void pb_conflicts_clear(struct pb_conflicts *conflicts)
{
    if (conflicts == NULL)
        return;
    free(conflicts->laps);
    free(conflicts->missing);
    memset(conflicts, 0, sizeof(*conflicts));
}

/* Room for all accesses of the phase. */
static enum pb_status reserve(const struct pb_level *level, const struct pb_pick *pick,
                              struct pb_conflicts *conflicts, struct pb_error *err)
{
    const struct pb_point *point;
    size_t laps = 0, accesses = 0;

    for (size_t at = 0; (point = pb_point_next(level->series, pick, &at)) != NULL; laps++)
        accesses += pb_point_accesses(level->series, point).count;
    if (laps == 0)
        return pb_fail(err, PB_NOT_FOUND, "the recording holds no laps with one line more");
    conflicts->laps = calloc(laps, sizeof(*conflicts->laps));
    conflicts->missing = calloc(accesses + 1, sizeof(*conflicts->missing));
    if (conflicts->laps == NULL || conflicts->missing == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu laps", laps);
    return PB_OK;
}

static void add_lap(const struct pb_level *level, const struct pb_point *point,
                    struct pb_conflicts *conflicts)
{
    struct pb_accesses walk = pb_point_accesses(level->series, point);
    uint64_t added = point->footprint_bytes - point->stride_bytes;
    struct pb_conflict_lap *lap = &conflicts->laps[conflicts->lap_count++];

    *lap =
        (struct pb_conflict_lap){point->base_address + added, conflicts->missing_count, 0, false};
    for (size_t i = 0; i < walk.count; i++) {
        double cycles = pb_access_cycles(&walk, i);

        /* the added line may lie in a page of its own: slow by more than the cache's miss */
        if (walk.index_bytes[i] == added)
            lap->added_missed |= cycles >= level->classes.miss.low;
        else if (pb_band_holds(level->classes.miss, cycles))
            conflicts->missing[conflicts->missing_count++] =
                point->base_address + walk.index_bytes[i];
    }
    lap->count = conflicts->missing_count - lap->first;
    conflicts->quiet += lap->count == 0 && !lap->added_missed;
}

static bool is_alike(const struct pb_conflicts *conflicts, const struct pb_accesses *walk,
                     const struct pb_point *point)
{
    return walk->count == conflicts->lines + 1 && point->stride_bytes == conflicts->line_bytes &&
           point->base_address == conflicts->base && point->footprint_bytes >= point->stride_bytes;
}

enum pb_status pb_conflicts_read(const struct pb_level *level, struct pb_conflicts *conflicts_out,
                                 struct pb_error *err)
{
    struct pb_pick pick = {level->way->path, "trace", "conflict"};
    struct pb_conflicts conflicts = {0};
    const struct pb_point *point;
    enum pb_status status = reserve(level, &pick, &conflicts, err);

    for (size_t at = 0; status == PB_OK && (point = pb_point_next(level->series, &pick, &at));) {
        struct pb_accesses walk = pb_point_accesses(level->series, point);

        if (conflicts.lap_count == 0) {
            conflicts.lines = walk.count > 0 ? walk.count - 1 : 0;
            conflicts.line_bytes = point->stride_bytes;
            conflicts.base = point->base_address;
        }
        if (!is_alike(&conflicts, &walk, point) || conflicts.lines == 0 || point->stride_bytes == 0)
            status = pb_fail(err, PB_NOT_FOUND, "the laps walk different arrays");
        else
            add_lap(level, point, &conflicts);
    }
    if (status != PB_OK) {
        pb_conflicts_clear(&conflicts);
        return status;
    }
    *conflicts_out = conflicts;
    return PB_OK;
}

/* A pair by its place among all missing lines, which is also how one is left out. */
struct pairs {
    const struct pb_conflicts *conflicts;
    size_t left_out[TURNING_MAX];
    size_t left_out_count;
};

static bool is_left_out(const struct pairs *pairs, size_t place)
{
    for (size_t i = 0; i < pairs->left_out_count; i++)
        if (pairs->left_out[i] == place)
            return true;
    return false;
}

/* An index under construction, and the pairs that made it coarser. */
struct draft {
    uint64_t divisor;         /* modulo */
    struct pb_gf2_span same;  /* xor: differences within a set */
    struct pb_gf2_span tried; /* all differences of lines that were walked */
    size_t turning[TURNING_MAX];
    size_t turning_count;
    size_t pairs;
    double sets;
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Takes a pair in; true when it made the index coarser. */
static bool take_pair(struct draft *draft, enum pb_index_shape shape, uint64_t line_bytes,
                      uint64_t a, uint64_t b)
{
    uint64_t distance = (a > b ? a - b : b - a) / line_bytes, divisor;

    draft->pairs++;
    if (shape == PB_INDEX_XOR)
        return pb_gf2_add(&draft->same, a ^ b);
    divisor = common_divisor(distance, draft->divisor);
    if (divisor == draft->divisor)
        return false;
    draft->divisor = divisor;
    return true;
}

/* What the walked addresses can tell apart: the array's lines, and the added ones that missed. */
static void try_addresses(const struct pb_conflicts *conflicts, const struct pairs *pairs,
                          struct draft *draft)
{
    for (size_t i = 0; i < conflicts->lines; i++)
        pb_gf2_add(&draft->tried, conflicts->base ^ (conflicts->base + i * conflicts->line_bytes));
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        bool used = false;

        for (size_t k = lap->first; k < lap->first + lap->count && !used; k++)
            used = !is_left_out(pairs, k);
        if (used)
            pb_gf2_add(&draft->tried, conflicts->base ^ lap->added);
    }
}

static void make_draft(const struct pairs *pairs, enum pb_index_shape shape, struct draft *draft)
{
    const struct pb_conflicts *conflicts = pairs->conflicts;

    memset(draft, 0, sizeof(*draft));
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        for (size_t k = lap->first; k < lap->first + lap->count; k++)
            if (!is_left_out(pairs, k) &&
                take_pair(draft, shape, conflicts->line_bytes, lap->added, conflicts->missing[k]) &&
                draft->turning_count < TURNING_MAX)
                draft->turning[draft->turning_count++] = k;
    }
    if (shape == PB_INDEX_MODULO) {
        draft->sets = (double)draft->divisor;
        return;
    }
    try_addresses(conflicts, pairs, draft);
    draft->sets = ldexp(1.0, (int)draft->tried.rank - (int)draft->same.rank);
}

/* Pairs beyond those that define the index: each would have broken a finer one by chance. */
static double surplus(const struct draft *draft)
{
    return (double)draft->pairs - (double)draft->turning_count;
}

/*
 * Looks for the one pair without which the index gets finer, so much that all the others would not
 * fit it by chance. False: there is none.
 */
static bool drop_stray(struct pairs *pairs, enum pb_index_shape shape, struct draft *draft)
{
    struct draft best = *draft, trial;
    size_t at = SIZE_MAX;

    for (size_t i = 0; i < draft->turning_count; i++) {
        pairs->left_out[pairs->left_out_count++] = draft->turning[i];
        make_draft(pairs, shape, &trial);
        pairs->left_out_count--;
        if (trial.sets > best.sets &&
            surplus(&trial) * log(draft->sets / trial.sets) < log(stray_chance)) {
            best = trial;
            at = draft->turning[i];
        }
    }
    if (at == SIZE_MAX)
        return false;
    pairs->left_out[pairs->left_out_count++] = at;
    *draft = best;
    return true;
}

/* The bits of a modulo by a power of two. */
static void mask_modulo(const struct pb_conflicts *conflicts, struct pb_index_fit *fit)
{
    if ((fit->sets & (fit->sets - 1)) != 0)
        return;
    for (uint64_t i = 1; i < fit->sets; i *= 2)
        fit->masks[fit->mask_count++] = i * conflicts->line_bytes;
}

struct pb_index_fit pb_conflicts_fit(const struct pb_conflicts *conflicts,
                                     enum pb_index_shape shape)
{
    struct pairs pairs = {conflicts, {0}, 0};
    struct pb_index_fit fit = {.shape = shape};
    struct draft draft;
    double most;

    make_draft(&pairs, shape, &draft);
    most = fmin(1.0 + stray_share * (double)draft.pairs, TURNING_MAX - 1);
    while ((double)(pairs.left_out_count + 1) <= most && draft.pairs > 0 &&
           drop_stray(&pairs, shape, &draft))
        continue;
    fit.strays = pairs.left_out_count;
    fit.pairs = draft.pairs;
    fit.chance = exp2(-fmax(0.0, surplus(&draft)));
    if (draft.pairs == 0 || draft.sets >= ldexp(1.0, 32))
        return fit;
    fit.sets = (uint64_t)draft.sets;
    if (shape == PB_INDEX_MODULO)
        mask_modulo(conflicts, &fit);
    else
        fit.mask_count = pb_gf2_masks(&draft.tried, &draft.same, fit.masks);
    return fit;
}

/* Union-find over the lines of the array. */
static size_t root_of(size_t *parent, size_t i)
{
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

/* The lower root stays one, so that sets come in the order of their lowest lines. */
static void join(size_t *parent, size_t a, size_t b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

static void join_laps(const struct pb_conflicts *conflicts, size_t *parent, size_t *seen)
{
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        const uint64_t *missing = conflicts->missing + lap->first;

        for (size_t k = 0; k < lap->count; k++) {
            size_t line = (size_t)((missing[k] - conflicts->base) / conflicts->line_bytes);
            size_t head = (size_t)((missing[0] - conflicts->base) / conflicts->line_bytes);

            if (line >= conflicts->lines || head >= conflicts->lines)
                continue;
            seen[line]++;
            join(parent, line, head);
        }
    }
}

/* Lines by set, seen[] counted over the sets' lines. size[root] and sightings[root]. */
static void measure_sets(size_t lines, const size_t *size, const size_t *sightings,
                         struct pb_partition *partition)
{
    for (size_t i = 0; i < lines; i++) {
        if (size[i] == 0)
            continue;
        if (partition->sets < PB_LIST_MAX)
            partition->size[partition->sets] = size[i];
        partition->sets++;
        if (partition->least == 0 || size[i] < partition->least)
            partition->least = size[i];
        if (size[i] > partition->largest) {
            partition->largest = size[i];
            partition->largest_sightings = sightings[i];
        }
    }
}

/* The commonest number of misses; quadratic in the laps, of which there are hundreds. */
static void measure_laps(const struct pb_conflicts *conflicts, struct pb_partition *partition)
{
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        size_t alike = 0;

        partition->laps += conflicts->laps[i].count > 0;
        for (size_t k = 0; k < conflicts->lap_count; k++)
            alike += conflicts->laps[k].count == conflicts->laps[i].count;
        if (conflicts->laps[i].count > 0 && alike > partition->per_lap_laps) {
            partition->per_lap = conflicts->laps[i].count;
            partition->per_lap_laps = alike;
        }
    }
}

enum pb_status pb_conflicts_partition(const struct pb_conflicts *conflicts,
                                      struct pb_partition *partition_out, struct pb_error *err)
{
    struct pb_partition partition = {0};
    size_t lines = conflicts->lines;
    size_t *parent = calloc(4 * lines, sizeof(*parent)), *seen, *size, *sightings;

    if (parent == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu lines", lines);
    seen = parent + lines;
    size = seen + lines;
    sightings = size + lines;
    for (size_t i = 0; i < lines; i++)
        parent[i] = i;
    join_laps(conflicts, parent, seen);
    for (size_t i = 0; i < lines; i++) {
        size_t root = root_of(parent, i);

        size[root] += seen[i] > 0;
        sightings[root] += seen[i];
        partition.lines += seen[i] > 0;
        partition.once += seen[i] == 1;
    }
    measure_sets(lines, size, sightings, &partition);
    measure_laps(conflicts, &partition);
    free(parent);
    *partition_out = partition;
    return PB_OK;
}
