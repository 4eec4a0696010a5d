/* Strays among pairs, by what all parities of address bits say at once; see strays.h. */
#include "analysis/cache/strays.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An index bit's pairs may be odd so often; a bit that is none has half of them odd. */
static const double most_odd = 0.2;

/* Strays by pairs, at most: where one bit alone cannot show that they are even, and where it can.
 */
static const double few_strays = 0.03, most_strays = 0.25;

/* What comes up by chance less often is none. */
static const double significance = 0.01;

enum { PAIRS_MIN = 40, BITS_MAX = 18, MASKS_MAX = 16, HALVINGS = 6 };

static bool is_added(const struct pb_conflicts *conflicts, uint64_t address)
{
    for (size_t i = 0; i < conflicts->lap_count; i++)
        if (conflicts->laps[i].added == address)
            return true;
    return false;
}

bool pb_conflicts_is_alone(const struct pb_conflicts *conflicts, const struct pb_conflict_lap *lap)
{
    uint64_t offset = lap->added - conflicts->base;

    return (offset & (offset - 1)) == 0 && !is_added(conflicts, lap->added + conflicts->line_bytes);
}

bool pb_conflicts_is_near(const struct pb_conflicts *conflicts, const struct pb_conflict_lap *lap)
{
    return lap->added - conflicts->base < 4 * conflicts->lines * conflicts->line_bytes &&
           !pb_conflicts_is_alone(conflicts, lap);
}

/* What is looked at: the address bits in which lines that are near differ. */
struct space {
    unsigned bit[BITS_MAX];
    size_t bits;
    int32_t *even; /* [2^bits] by mask: even less odd pairs */
    size_t pairs;
    uint32_t masks[MASKS_MAX]; /* independent ones that nearly all pairs keep */
    size_t mask_count;
};

static uint32_t difference_of(const struct space *space, uint64_t a, uint64_t b)
{
    uint32_t vector = 0;

    for (size_t i = 0; i < space->bits; i++)
        vector |= (uint32_t)((a ^ b) >> space->bit[i] & 1) << i;
    return vector;
}

/* Which masks a difference breaks: bit i is its parity under mask i. */
static uint32_t breaks(const struct space *space, uint32_t difference)
{
    uint32_t broken = 0;

    for (size_t i = 0; i < space->mask_count; i++)
        broken |= (uint32_t)__builtin_parity(difference & space->masks[i]) << i;
    return broken;
}

/* False: too many bits to look at all masks. */
static bool find_bits(const struct pb_conflicts *conflicts, struct space *space)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < conflicts->lines; i++)
        bits |= conflicts->base ^ (conflicts->base + i * conflicts->line_bytes);
    for (size_t i = 0; i < conflicts->lap_count; i++)
        if (pb_conflicts_is_near(conflicts, &conflicts->laps[i]))
            bits |= conflicts->base ^ conflicts->laps[i].added;
    if (__builtin_popcountll(bits) > BITS_MAX)
        return false;
    for (unsigned bit = 0; bit < 64; bit++)
        if ((bits >> bit & 1) != 0)
            space->bit[space->bits++] = bit;
    return space->bits > 0;
}

static void count_pairs(const struct pb_conflicts *conflicts, struct space *space)
{
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        if (!pb_conflicts_is_near(conflicts, lap))
            continue;
        for (size_t k = lap->first; k < lap->first + lap->count; k++)
            space->even[difference_of(space, lap->added, conflicts->missing[k])]++;
        space->pairs += lap->count;
    }
}

/* The Walsh-Hadamard transform, in place. */
static void transform(int32_t *values, size_t count)
{
    for (size_t half = 1; half < count; half *= 2) {
        for (size_t block = 0; block < count; block += 2 * half) {
            for (size_t i = block; i < block + half; i++) {
                int32_t sum = values[i] + values[i + half];

                values[i + half] = values[i] - values[i + half];
                values[i] = sum;
            }
        }
    }
}

/* The mask, less the masks before it: 0 where they make it up. reduced[] have leading bits of
 * their own. */
static uint32_t reduce(const uint32_t *reduced, size_t count, uint32_t mask)
{
    for (size_t i = 0; i < count; i++)
        mask = (mask ^ reduced[i]) < mask ? mask ^ reduced[i] : mask;
    return mask;
}

/*
 * Independent masks that most pairs keep, those with the fewest odd pairs first: by halves of the
 * tolerance, each of which doubles what is let through.
 */
static bool find_masks(struct space *space)
{
    uint32_t reduced[MASKS_MAX] = {0};
    size_t count = (size_t)1 << space->bits;

    for (int halvings = HALVINGS; halvings >= 0; halvings--) {
        double share = ldexp(most_odd, -halvings);
        double least = (1.0 - 2.0 * share) * (double)space->pairs;

        for (uint32_t mask = 1; mask < count; mask++) {
            uint32_t rest;

            if (space->even[mask] < least)
                continue;
            rest = reduce(reduced, space->mask_count, mask);
            if (rest == 0)
                continue;
            if (space->mask_count == MASKS_MAX)
                return false;
            reduced[space->mask_count] = rest;
            space->masks[space->mask_count++] = mask;
        }
    }
    return space->mask_count > 0;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* What all near pairs break, if anything, ascending. */
static size_t list_broken(const struct pb_conflicts *conflicts, const struct space *space,
                          uint32_t *broken)
{
    size_t count = 0;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        if (!pb_conflicts_is_near(conflicts, lap))
            continue;
        for (size_t k = lap->first; k < lap->first + lap->count; k++) {
            broken[count] = breaks(space, difference_of(space, lap->added, conflicts->missing[k]));
            count += broken[count] != 0;
        }
    }
    qsort(broken, count, sizeof(*broken), by_number);
    return count;
}

/* So many times one way to break masks comes up by chance, at most, whichever of all it is. */
static size_t most_by_chance(size_t count, size_t mask_count)
{
    double ways = ldexp(1.0, (int)mask_count) - 1.0;
    size_t most = 0;

    while (most < count &&
           ways * gsl_cdf_poisson_Q((unsigned)most, (double)count / ways) > significance)
        most++;
    return most;
}

/* The commonest way to break masks, if it is commoner than chance makes it; else 0. */
static uint32_t find_common(const uint32_t *broken, size_t count, size_t mask_count)
{
    size_t most = most_by_chance(count, mask_count);
    uint32_t common = 0;

    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && broken[next] == broken[i];)
            next++;
        if (next - i > most) {
            most = next - i;
            common = broken[i];
        }
    }
    return common;
}

/* Only the masks that pairs of this kind keep: they are of one set. */
static void give_up_mask(struct space *space, uint32_t common)
{
    size_t given_up = (size_t)__builtin_ctz(common), kept = 0;
    uint32_t mask = space->masks[given_up];

    for (size_t i = 0; i < space->mask_count; i++) {
        if (i == given_up)
            continue;
        space->masks[kept++] = space->masks[i] ^ ((common >> i & 1) != 0 ? mask : 0);
    }
    space->mask_count = kept;
}

/* Masks that are broken by strays alone; how many pairs do. */
static size_t settle(const struct pb_conflicts *conflicts, struct space *space, uint32_t *broken)
{
    while (space->mask_count > 0) {
        size_t count = list_broken(conflicts, space, broken);
        uint32_t common = find_common(broken, count, space->mask_count);

        if (space->mask_count == 1)
            return (double)count <= few_strays * (double)space->pairs ? count : 0;
        if (common == 0)
            return (double)count <= most_strays * (double)space->pairs ? count : 0;
        give_up_mask(space, common);
    }
    return 0;
}

/* What the pairs of one far line break most often, since its own address bit does; 0 or more. */
static bool find_usual(const struct pb_conflicts *conflicts, const struct space *space,
                       uint64_t added, uint32_t *broken, uint32_t *usual_out)
{
    size_t count = 0, most = 1;

    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        for (size_t k = lap->first; lap->added == added && k < lap->first + lap->count; k++)
            broken[count++] = breaks(space, difference_of(space, added, conflicts->missing[k]));
    }
    qsort(broken, count, sizeof(*broken), by_number);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && broken[next] == broken[i];)
            next++;
        if (next - i > most) {
            most = next - i;
            *usual_out = broken[i];
        }
    }
    return most > 1 && 2 * most > count;
}

static void mark(const struct pb_conflicts *conflicts, const struct space *space, uint32_t *broken,
                 bool *is_stray)
{
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        uint32_t usual = 0;

        if (!pb_conflicts_is_near(conflicts, lap) &&
            !find_usual(conflicts, space, lap->added, broken, &usual))
            continue;
        for (size_t k = lap->first; k < lap->first + lap->count; k++)
            is_stray[k] =
                breaks(space, difference_of(space, lap->added, conflicts->missing[k])) != usual;
    }
}

enum pb_status pb_strays_mark_xor(const struct pb_conflicts *conflicts, bool *is_stray,
                                  struct pb_error *err)
{
    struct space space = {.bits = 0};
    uint32_t *broken = NULL;
    enum pb_status status = PB_OK;

    if (!find_bits(conflicts, &space))
        return PB_OK;
    space.even = calloc((size_t)1 << space.bits, sizeof(*space.even));
    broken = calloc(conflicts->missing_count + 1, sizeof(*broken));
    if (space.even == NULL || broken == NULL) {
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory allocating masks of %zu bits", space.bits);
        goto out;
    }
    count_pairs(conflicts, &space);
    if (space.pairs < PAIRS_MIN)
        goto out;
    transform(space.even, (size_t)1 << space.bits);
    if (find_masks(&space) && settle(conflicts, &space, broken) > 0)
        mark(conflicts, &space, broken, is_stray);
out:
    free(space.even);
    free(broken);
    return status;
}

static uint64_t lines_between(const struct pb_conflicts *conflicts, uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) / conflicts->line_bytes;
}

/* Pairs that a modulo tears apart, and those of them that a coarser one keeps. */
static size_t count_torn(const struct pb_conflicts *conflicts, uint64_t sets, uint64_t coarser,
                         size_t *kept_out)
{
    size_t torn = 0;

    *kept_out = 0;
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];

        for (size_t k = lap->first; k < lap->first + lap->count; k++) {
            uint64_t distance = lines_between(conflicts, lap->added, conflicts->missing[k]);

            torn += distance % sets != 0;
            *kept_out += distance % sets != 0 && distance % coarser == 0;
        }
    }
    return torn;
}

bool pb_strays_are_even(const struct pb_conflicts *conflicts, uint64_t sets)
{
    uint64_t rest = sets;

    for (uint64_t prime = 2; rest > 1; prime++) {
        size_t torn, kept;
        double expected;

        if (prime * prime > rest)
            prime = rest;
        if (rest % prime != 0)
            continue;
        while (rest % prime == 0)
            rest /= prime;
        if (prime == sets)
            return false;
        torn = count_torn(conflicts, sets, sets / prime, &kept);
        expected = (double)torn * (double)(prime - 1) / (double)(sets - 1);
        if ((double)kept > expected + 3.0 * sqrt(expected) + 1.0)
            return false;
    }
    return sets > 1;
}
