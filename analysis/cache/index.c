/* The indexes that explain pairs of lines of one set; quadratic in the bits of an address. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/conflict.h"
#include "analysis/cache/strays.h"

/* Strays by pairs at most, and those of a modulo that leave all remainders alike. */
static const double even_share = 0.25;

/* Strays by pairs at most, and the chance below which an index is no accident of few pairs. */
static const double stray_share = 0.03, stray_chance = 1e-6;

enum { TURNING_MAX = 64 }; /* as many as an address has bits */

/*
 * An index under construction. Pairs turned it that made it coarser: only they can be strays that
 * matter. Of an xor they are the vectors that its span is made of.
 */
struct draft {
    enum pb_index_shape shape;
    uint64_t line_bytes;
    uint64_t divisor;        /* modulo */
    struct pb_gf2_span same; /* xor: differences within a set */
    size_t turning_count;
};

/* The pairs that are left; a stray is one no more. */
struct pairs {
    const struct pb_conflicts *conflicts;
    struct pb_gf2_span array; /* what the array's own lines can tell apart */
    bool *is_stray;           /* [missing_count] */
    uint64_t *made_of;        /* [missing_count] which turning pairs sum up to this one */
    size_t count, strays;
};

static uint64_t distance_of(const struct draft *draft, uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) / draft->line_bytes;
}

/* Does the index keep these two together? */
static bool keeps(const struct draft *draft, uint64_t a, uint64_t b)
{
    if (draft->shape == PB_INDEX_XOR)
        return pb_gf2_holds(&draft->same, a ^ b);
    return draft->divisor != 0 && distance_of(draft, a, b) % draft->divisor == 0;
}

static struct pb_gf2_span span_array(const struct pb_conflicts *conflicts)
{
    struct pb_gf2_span span = {.rank = 0};

    for (size_t i = 0; i < conflicts->lines; i++)
        pb_gf2_add(&span, conflicts->base ^ (conflicts->base + i * conflicts->line_bytes));
    return span;
}

/* Does the index keep a pair of the lap together? Of an xor: it, or it without a turning pair. */
static bool keeps_any(const struct pairs *pairs, const struct draft *draft, uint64_t without,
                      const struct pb_conflict_lap *lap)
{
    for (size_t k = lap->first; k < lap->first + lap->count; k++)
        if (!pairs->is_stray[k] &&
            (without != 0 ? (pairs->made_of[k] & without) == 0
                          : keeps(draft, lap->added, pairs->conflicts->missing[k])))
            return true;
    return false;
}

/*
 * What walked addresses can tell apart: the array's lines, and added ones that kept a pair.
 *
 * without  the bit of a turning pair that the index is to do without; 0: none
 */
static struct pb_gf2_span span_tried(const struct pairs *pairs, const struct draft *draft,
                                     uint64_t without)
{
    const struct pb_conflicts *conflicts = pairs->conflicts;
    struct pb_gf2_span tried = pairs->array;

    for (size_t i = 0; i < conflicts->lap_count; i++)
        if (keeps_any(pairs, draft, without, &conflicts->laps[i]))
            pb_gf2_add(&tried, conflicts->base ^ conflicts->laps[i].added);
    return tried;
}

static double sets_of(const struct pairs *pairs, const struct draft *draft)
{
    if (draft->shape == PB_INDEX_MODULO)
        return (double)draft->divisor;
    return ldexp(1.0, (int)span_tried(pairs, draft, 0).rank - (int)draft->same.rank);
}

/* The xor of all pairs that are left. */
static void make_draft(const struct pairs *pairs, struct draft *draft)
{
    const struct pb_conflicts *conflicts = pairs->conflicts;

    draft->same.rank = 0;
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        for (size_t k = lap->first; k < lap->first + lap->count; k++)
            if (!pairs->is_stray[k])
                pb_gf2_add(&draft->same, lap->added ^ conflicts->missing[k]);
    }
    draft->turning_count = draft->same.rank;
}

/* Which turning pairs make up each pair, and how many need each: torn apart without it. */
static void take_apart(const struct pairs *pairs, const struct draft *draft,
                       size_t torn_out[TURNING_MAX])
{
    const struct pb_conflicts *conflicts = pairs->conflicts;

    memset(torn_out, 0, TURNING_MAX * sizeof(*torn_out));
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        for (size_t k = lap->first; k < lap->first + lap->count; k++) {
            if (pairs->is_stray[k])
                continue;
            pairs->made_of[k] = pb_gf2_parts(&draft->same, lap->added ^ conflicts->missing[k]);
            for (uint64_t left = pairs->made_of[k]; left != 0; left &= left - 1)
                torn_out[__builtin_ctzll(left)]++;
        }
    }
}

/* Pairs that need the turning pair are strays from now on. */
static void drop_with(struct pairs *pairs, uint64_t turning)
{
    for (size_t k = 0; k < pairs->count; k++) {
        if (pairs->is_stray[k] || (pairs->made_of[k] & turning) == 0)
            continue;
        pairs->is_stray[k] = true;
        pairs->strays++;
    }
}

/* Pairs that an index tears apart; where `drop`, they are strays from now on. */
static size_t torn_by(struct pairs *pairs, const struct draft *trial, bool drop)
{
    const struct pb_conflicts *conflicts = pairs->conflicts;
    size_t torn = 0;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        for (size_t k = lap->first; k < lap->first + lap->count; k++) {
            if (pairs->is_stray[k] || keeps(trial, lap->added, conflicts->missing[k]))
                continue;
            torn++;
            pairs->is_stray[k] = drop;
        }
    }
    return torn;
}

static int compare_distances(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/*
 * Different distances between lines of one set. A policy that is no LRU may let the same places of
 * every set miss, again and again: only different distances are evidence. The added lines far away
 * are none for an xor, since each brings an address bit that no other has.
 */
static size_t count_distances(const struct pairs *pairs, const struct draft *draft, uint64_t *room)
{
    const struct pb_conflicts *conflicts = pairs->conflicts;
    size_t count = 0, different = 0;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        bool known = draft->shape == PB_INDEX_MODULO || pb_conflicts_is_near(conflicts, lap);
        uint64_t head = known ? lap->added : 0;

        for (size_t k = lap->first; k < lap->first + lap->count; k++) {
            if (pairs->is_stray[k])
                continue;
            if (head != 0)
                room[count++] = distance_of(draft, head, conflicts->missing[k]);
            head = head != 0 && head != lap->added ? head : conflicts->missing[k];
        }
    }
    qsort(room, count, sizeof(*room), compare_distances);
    for (size_t i = 0; i < count; i++)
        different += i == 0 || room[i] != room[i - 1];
    return different;
}

/*
 * Laps in drawn orders that left a pair, near the array: what such an order makes miss has nothing
 * to do with its address, so each of them is evidence of its own.
 */
static size_t count_drawn(const struct pairs *pairs)
{
    const struct pb_conflicts *conflicts = pairs->conflicts;
    size_t drawn = 0;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        bool used = false;

        for (size_t k = lap->first; k < lap->first + lap->count && !used; k++)
            used = !pairs->is_stray[k];
        drawn += used && lap->is_drawn && pb_conflicts_is_near(conflicts, lap);
    }
    return drawn;
}

/* The chance that so many different distances keep to an index finer than the cache's. */
static double chance_of(const struct pairs *pairs, const struct draft *draft, uint64_t *room)
{
    size_t needed = draft->turning_count;
    size_t distances = count_distances(pairs, draft, room), drawn = count_drawn(pairs);

    if (draft->shape == PB_INDEX_XOR) { /* the array's own bits; far lines define theirs */
        size_t far = span_tried(pairs, draft, 0).rank - pairs->array.rank;

        needed = draft->same.rank > far ? draft->same.rank - far : 0;
    }
    return exp2(-fmax(0.0, fmax((double)distances, (double)drawn) - (double)needed));
}

/* Pairs of all laps that added one line. */
static size_t count_pairs_of(const struct pairs *pairs, uint64_t added)
{
    const struct pb_conflicts *conflicts = pairs->conflicts;
    size_t used = 0;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        for (size_t k = lap->first; lap->added == added && k < lap->first + lap->count; k++)
            used += !pairs->is_stray[k];
    }
    return used;
}

/* Far lines with so many pairs. Were a single one a stray, a mask would be wrong unnoticed. */
static size_t count_far(const struct pairs *pairs, size_t pairs_each)
{
    const struct pb_conflicts *conflicts = pairs->conflicts;
    size_t count = 0;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        size_t first = 0;

        while (conflicts->laps[first].added != lap->added)
            first++;
        count += first == i && pb_conflicts_is_alone(conflicts, lap) &&
                 count_pairs_of(pairs, lap->added) == pairs_each;
    }
    return count;
}

/* Pairs beyond those that define the index: each would have broken a finer one by chance. */
static double surplus(const struct pairs *pairs, const struct draft *draft)
{
    return (double)(pairs->count - pairs->strays) - (double)draft->turning_count;
}

/*
 * Looks for a pair without which the index gets finer, so much that all the others would not fit
 * it by chance, and tears no more than a few apart. False: there is none.
 */
static bool drop_strays(struct pairs *pairs, struct draft *draft)
{
    double before = sets_of(pairs, draft), finest = before;
    double most = 1.0 + stray_share * (double)pairs->count - (double)pairs->strays;
    size_t least = SIZE_MAX, torn[TURNING_MAX];
    uint64_t best = 0;

    take_apart(pairs, draft, torn);
    for (size_t i = 0; i < draft->turning_count; i++) {
        uint64_t turning = (uint64_t)1 << i;
        double sets =
            ldexp(1.0, (int)span_tried(pairs, draft, turning).rank - ((int)draft->same.rank - 1));

        if (sets < 2.0 * before || (double)torn[i] > most || sets < finest ||
            (sets == finest && torn[i] >= least) ||
            (surplus(pairs, draft) - (double)torn[i]) * log(before / sets) > log(stray_chance))
            continue;
        finest = sets;
        least = torn[i];
        best = turning;
    }
    if (best == 0)
        return false;
    drop_with(pairs, best);
    make_draft(pairs, draft);
    return sets_of(pairs, draft) > before;
}

/* Pairs that a modulo tears apart; where `drop`, they are strays. */
static size_t torn_by_modulo(struct pairs *pairs, struct draft *draft, uint64_t sets, bool drop)
{
    draft->divisor = sets;
    return torn_by(pairs, draft, drop);
}

/*
 * The finest modulo: the array fills the cache, so the sets divide its lines. Strays would spoil a
 * greatest common divisor; here they only count against it.
 */
static void fit_modulo(struct pairs *pairs, struct draft *draft)
{
    double most = stray_share * (double)pairs->count + (pairs->count >= 100 ? 1.0 : 0.0);
    uint64_t lines = pairs->conflicts->lines;

    for (uint64_t ways = 1; ways <= lines; ways++) {
        double torn;

        if (lines % ways != 0)
            continue;
        torn = (double)torn_by_modulo(pairs, draft, lines / ways, false);
        if (torn > most && (torn > even_share * (double)pairs->count ||
                            !pb_strays_are_even(pairs->conflicts, lines / ways)))
            continue;
        pairs->strays = torn_by_modulo(pairs, draft, lines / ways, true);
        draft->turning_count = 1;
        return;
    }
}

/* The finest xor without the strays that were told, further ones dropped one after the other. */
static void fit_xor(struct pairs *pairs, struct draft *draft)
{
    for (size_t k = 0; k < pairs->count; k++)
        pairs->strays += pairs->is_stray[k];
    make_draft(pairs, draft);
    while (pairs->count > 0 && drop_strays(pairs, draft))
        continue;
}

/* The bits of a modulo by a power of two. */
static void mask_modulo(const struct pb_conflicts *conflicts, struct pb_index_fit *fit)
{
    if ((fit->sets & (fit->sets - 1)) != 0)
        return;
    for (uint64_t i = 1; i < fit->sets; i *= 2)
        fit->masks[fit->mask_count++] = i * conflicts->line_bytes;
}

enum pb_status pb_conflicts_fit(const struct pb_conflicts *conflicts, enum pb_index_shape shape,
                                struct pb_index_fit *fit_out, struct pb_error *err)
{
    struct pairs pairs = {.conflicts = conflicts, .count = conflicts->missing_count};
    struct draft draft = {.shape = shape, .line_bytes = conflicts->line_bytes};
    struct pb_index_fit fit = {.shape = shape};
    enum pb_status status;
    double sets;

    pairs.array = span_array(conflicts);
    pairs.is_stray = calloc(conflicts->missing_count + 1, sizeof(*pairs.is_stray));
    pairs.made_of = calloc(conflicts->missing_count + 1, sizeof(*pairs.made_of));
    if (pairs.is_stray == NULL || pairs.made_of == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu pairs", pairs.count);
        goto out;
    }
    if (shape == PB_INDEX_MODULO) {
        fit_modulo(&pairs, &draft);
    } else {
        status = pb_strays_mark_xor(conflicts, pairs.is_stray, err);
        if (status != PB_OK)
            goto out;
        fit_xor(&pairs, &draft);
    }
    sets = sets_of(&pairs, &draft);
    fit.strays = pairs.strays;
    fit.pairs = pairs.count - pairs.strays;
    fit.chance = chance_of(&pairs, &draft, pairs.made_of);
    fit.thin = count_far(&pairs, 1);
    fit.unseen = count_far(&pairs, 0);
    if (fit.pairs > 0 && sets < ldexp(1.0, 32))
        fit.sets = (uint64_t)sets;
    if (shape == PB_INDEX_MODULO) {
        mask_modulo(conflicts, &fit);
    } else {
        struct pb_gf2_span tried = span_tried(&pairs, &draft, 0);

        fit.mask_count = pb_gf2_masks(&tried, &draft.same, fit.masks);
    }
    status = pb_conflicts_partition(conflicts, pairs.is_stray, &fit.seen, err);
    if (status == PB_OK)
        *fit_out = fit;
out:
    free(pairs.made_of);
    free(pairs.is_stray);
    return status;
}
