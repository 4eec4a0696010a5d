/* Proposing geometries; see propose.h. */
#include "analysis/cache/propose.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/cache/gf2.h"
#include "analysis/constants.h"
#include "analysis/model/parities.h"
#include "analysis/statistics/sort.h"

enum {
    LINE_MIN = 32,
    SECTOR_MAX = 128, /* where no cold pass shows it; no cache is known that fetches more at once */
    WAYS_MAX = 1024,
    SETS_MAX = 1 << 16,
    BITS_MAX = 18, /* of a transform: 2^18 masks */
    BASES_MAX = 36,
    LINE_COUNTS = 2 * PB_CACHE_EDGE_LINES + 3
};

double pb_geometry_prior_of_line(uint64_t line_bytes)
{
    return line_bytes > 128 ? -PB_CACHE_OTHER_LINE * log2((double)line_bytes / 128.0) : 0.0;
}

static bool is_conflict(const struct pb_cache_chase *chase)
{
    return chase->kind == PB_CHASE_CONFLICT;
}

uint64_t pb_geometry_stride(const struct pb_cache_chases *chases)
{
    for (size_t i = 0; i < chases->count; i++)
        if (is_conflict(&chases->items[i]))
            return chases->items[i].stride_bytes;
    return 0;
}

double pb_geometry_prior_of_stride(const struct pb_cache_chases *chases, uint64_t line_bytes)
{
    return -PB_CACHE_OTHER_LINE *
           fabs(log2((double)line_bytes / (double)pb_geometry_stride(chases)));
}

/* Masks over the address bits in which near lines differ. */
struct space {
    unsigned bit[BITS_MAX];
    size_t bits, pair_count;
    uint64_t *pairs; /* [pair_count] vectors of the bits in which two lines of a conflict differ */
    int32_t *even;   /* [2^bits] by mask: pairs of even parity less the odd ones */
};

static uint64_t to_space(const struct space *space, uint64_t difference)
{
    uint64_t vector = 0;

    for (size_t i = 0; i < space->bits; i++)
        vector |= (difference >> space->bit[i] & 1) << i;
    return vector;
}

static uint64_t from_space(const struct space *space, uint64_t mask)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < space->bits; i++)
        bits |= (mask >> i & 1) << space->bit[i];
    return bits;
}

/* Bits in which lines of one conflict differ: of the array, and of the line that is added. */
static uint64_t bits_of(const struct pb_cache_chase *chase)
{
    uint64_t span = chase->base ^ (chase->base + chase->array_bytes - 1);

    for (unsigned shift = 1; shift < 64; shift *= 2)
        span |= span >> shift;
    return (span | (chase->base ^ chase->added)) & ~(chase->stride_bytes - 1);
}

uint64_t pb_geometry_varied_bits(const struct pb_cache_chases *chases)
{
    uint64_t bits = 0, below = pb_geometry_stride(chases) - 1;

    for (size_t i = 0; i < chases->count; i++)
        if (is_conflict(&chases->items[i]))
            bits |= bits_of(&chases->items[i]);
        else if (chases->items[i].kind == PB_CHASE_SWEEP)
            bits |= below & ~(chases->items[i].stride_bytes - 1);
    return bits;
}

/* False: the lines differ in more bits than a transform has. */
static bool find_bits(const struct pb_cache_chases *chases, struct space *space)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < chases->count; i++)
        if (is_conflict(&chases->items[i]) && chases->items[i].far_bit == 0)
            bits |= bits_of(&chases->items[i]);
    if (bits == 0 || __builtin_popcountll(bits) > BITS_MAX)
        return false;
    for (unsigned bit = 0; bit < 64; bit++)
        if ((bits >> bit & 1) != 0)
            space->bit[space->bits++] = bit;
    return true;
}

static void transform(int32_t *values, size_t count)
{
    for (size_t half = 1; half < count; half *= 2)
        for (size_t block = 0; block < count; block += 2 * half)
            for (size_t i = block; i < block + half; i++) {
                int32_t sum = values[i] + values[i + half];

                values[i + half] = values[i] - values[i + half];
                values[i] = sum;
            }
}

/*
 * Lines that miss, each with the added one: the bits in which they differ, but for the far bit. Of
 * the conflicts that have that one, or with 0 none, and of arrays of so many bytes; 0: of any.
 */
static size_t list_pairs(const struct pb_cache_chases *chases, uint64_t far_bit,
                         uint64_t array_bytes, uint64_t *pairs, size_t most)
{
    size_t count = 0;

    for (size_t i = 0; i < chases->count; i++) {
        const struct pb_cache_chase *chase = &chases->items[i];

        if (!is_conflict(chase) || chase->far_bit != far_bit ||
            (array_bytes > 0 && chase->array_bytes != array_bytes))
            continue;
        for (size_t k = 0; k < chase->misses && count < most; k++) {
            uint64_t missing = chases->missing[chase->first_missing + k];

            if (!pb_cache_chases_is_background(chases, missing))
                pairs[count++] = (chase->added ^ missing) & ~far_bit;
        }
    }
    return count;
}

static enum pb_status count_pairs(const struct pb_cache_chases *chases, uint64_t array_bytes,
                                  struct space *space, struct pb_error *err)
{
    size_t masks = (size_t)1 << space->bits;

    space->even = calloc(masks, sizeof(*space->even));
    space->pairs = calloc(chases->missing_count + 1, sizeof(*space->pairs));
    if (space->even == NULL || space->pairs == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating masks of %zu bits",
                       space->bits);
    space->pair_count = list_pairs(chases, 0, array_bytes, space->pairs, chases->missing_count);
    for (size_t i = 0; i < space->pair_count; i++) {
        space->pairs[i] = to_space(space, space->pairs[i]);
        space->even[space->pairs[i]]++;
    }
    transform(space->even, masks);
    return PB_OK;
}

/* The masks that a pair breaks: bit i is mask i. */
static uint64_t broken_by(uint64_t pair, const uint64_t *masks, size_t count)
{
    uint64_t broken = 0;

    for (size_t i = 0; i < count; i++)
        broken |= (uint64_t)__builtin_parityll(pair & masks[i]) << i;
    return broken;
}

/* Independent masks of a space. */
struct basis {
    uint64_t mask[BITS_MAX];
    size_t count;
};

enum { FAR_PAIRS_MAX = 1024 };

/* Pairs of a far line by the masks that they break. */
struct far_pairs {
    uint64_t most_broken; /* by the most pairs: bit i is mask i */
    size_t most, second;  /* pairs that break those masks, and the next commonest ones */
};

/*
 * The far line's bit belongs to the masks that most of its pairs break together: these are of the
 * far line's set, and those with lines that were prefetched behind it are scattered.
 */
static struct far_pairs count_far_pairs(const struct pb_cache_chases *chases, const uint64_t *masks,
                                        size_t mask_count, uint64_t bit)
{
    struct far_pairs pairs = {0, 0, 0};
    uint64_t broken[FAR_PAIRS_MAX];
    size_t count = list_pairs(chases, bit, 0, broken, FAR_PAIRS_MAX);

    for (size_t i = 0; i < count; i++)
        broken[i] = broken_by(broken[i], masks, mask_count);
    qsort(broken, count, sizeof(*broken), pb_compare_uint64);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && broken[next] == broken[i];)
            next++;
        if (next - i > pairs.most) {
            pairs = (struct far_pairs){broken[i], next - i, pairs.most};
        } else if (next - i > pairs.second) {
            pairs.second = next - i;
        }
    }
    return pairs;
}

/* That the commonest pairs are of the far line's set, and not the next commonest ones. */
static double log_odds_of(const struct far_pairs *pairs)
{
    return (double)(pairs->most - pairs->second) *
           log(((double)pairs->most + 0.5) / ((double)pairs->second + 0.5));
}

static uint64_t all_far_bits(const struct pb_cache_chases *chases)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < chases->count; i++)
        if (is_conflict(&chases->items[i]))
            bits |= chases->items[i].far_bit;
    return bits;
}

struct pb_far_bits pb_geometry_far_bits(const struct pb_cache_chases *chases,
                                        const struct pb_geometry *geometry)
{
    struct pb_far_bits far = {0, 0, 0};

    for (uint64_t left = all_far_bits(chases); left != 0; left &= left - 1) {
        uint64_t bit = left & -left;
        struct far_pairs pairs =
            count_far_pairs(chases, geometry->masks, geometry->mask_count, bit);

        if (pairs.most == 0)
            far.unseen |= bit;
        else if (log_odds_of(&pairs) < PB_SAME_PREDICTION) /* two pairs of one set have 25 */
            far.thin |= bit;
        else
            far.shown |= bit;
    }
    return far;
}

/* The masks that leave out all bits below the line, far bits joined; 0: there are none. */
static size_t masks_of_line(const struct pb_cache_chases *chases, const struct space *space,
                            const struct basis *basis, uint64_t line_bytes,
                            uint64_t masks[PB_GEOMETRY_MASKS_MAX])
{
    uint64_t all[BITS_MAX], far = all_far_bits(chases);
    size_t count = 0, rank;

    for (size_t i = 0; i < basis->count; i++)
        all[i] = from_space(space, basis->mask[i]);
    rank = pb_gf2_reduce(all,
                         basis->count); /* masks with low bits come first, and no other has those */
    for (size_t i = 0; i < rank && count < PB_GEOMETRY_MASKS_MAX; i++)
        if ((all[i] & (line_bytes - 1)) == 0)
            masks[count++] = all[i];
    for (uint64_t left = far; left != 0; left &= left - 1) {
        uint64_t bit = left & -left;
        struct far_pairs pairs = count_far_pairs(chases, masks, count, bit);

        for (size_t i = 0; i < count; i++)
            masks[i] |= (pairs.most_broken >> i & 1) != 0 ? bit : 0;
    }
    return pb_gf2_reduce(masks, count);
}

/* Lines of the array in its fullest set. */
static enum pb_status find_fullest(const struct pb_geometry *geometry, uint64_t base,
                                   uint64_t bytes, uint64_t *lines_out, struct pb_error *err)
{
    uint32_t *lines = calloc(geometry->sets, sizeof(*lines)), most = 0;
    uint64_t first = base / geometry->line_bytes * geometry->line_bytes;
    struct pb_parities parities;

    if (lines == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %llu sets",
                       (unsigned long long)geometry->sets);
    pb_parities_make(geometry->masks, geometry->mask_count, &parities);
    for (uint64_t at = first; at < base + bytes; at += geometry->line_bytes) {
        uint32_t filled = ++lines[pb_parities_index(&parities, at)];

        most = filled > most ? filled : most;
    }
    free(lines);
    *lines_out = most;
    return PB_OK;
}

/* What is proposed from the conflicts over one array. */
struct proposals {
    const struct pb_cache_chases *chases;
    uint64_t base, array_bytes;
    struct space space;
    struct basis bases[BASES_MAX];
    size_t base_count;
    uint64_t lines[LINE_COUNTS]; /* numbers of lines that the cache may have */
    size_t line_counts;
    struct pb_hypotheses *hypotheses;
};

static enum pb_status propose(const struct proposals *proposals, struct pb_geometry geometry,
                              uint64_t ways, double log_prior, struct pb_error *err)
{
    struct pb_hypothesis hypothesis = {
        .geometry = geometry,
        .log_likelihood = log_prior + pb_geometry_prior_of_line(geometry.line_bytes)};

    hypothesis.geometry.ways = ways;
    return pb_hypotheses_add(proposals->hypotheses, &hypothesis, err);
}

static enum pb_status propose_modulos(const struct proposals *proposals,
                                      struct pb_geometry geometry, uint64_t lines, double log_prior,
                                      struct pb_error *err)
{
    enum pb_status status = PB_OK;

    geometry.index = PB_INDEX_MODULO;
    for (uint64_t ways = 1; ways <= lines && ways <= 2 * (uint64_t)WAYS_MAX && status == PB_OK;
         ways++) {
        geometry.sets = lines / ways;
        if (lines % ways == 0 && geometry.sets <= SETS_MAX)
            status = propose(proposals, geometry, ways, log_prior, err);
    }
    return status;
}

/* Every bit of a mask is one of those in which the lines differ. */
static double prior_of_masks(const uint64_t *masks, size_t count, size_t bits)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum -= (double)__builtin_popcountll(masks[i]) * log((double)bits);
    return sum;
}

bool pb_geometry_is_modulo(const struct pb_geometry *geometry)
{
    for (size_t i = 0; i < geometry->mask_count; i++)
        if (geometry->masks[i] != geometry->line_bytes << i)
            return false;
    return true;
}

/* One index of these masks: of so many ways as its fullest set has, or as the edge says. */
static enum pb_status propose_masks(const struct proposals *proposals, struct pb_geometry geometry,
                                    double log_prior, struct pb_error *err)
{
    uint64_t ways[LINE_COUNTS + 1];
    size_t ways_count = 1;
    enum pb_status status;

    geometry.index = PB_INDEX_XOR;
    geometry.sets = (uint64_t)1 << geometry.mask_count;
    if (geometry.sets > SETS_MAX ||
        pb_geometry_is_modulo(&geometry)) /* plain modulo: proposed as such */
        return PB_OK;
    log_prior += prior_of_masks(geometry.masks, geometry.mask_count, proposals->space.bits);
    status = find_fullest(&geometry, proposals->base, proposals->array_bytes, &ways[0], err);
    for (size_t i = 0; i < proposals->line_counts; i++)
        if (proposals->lines[i] % geometry.sets == 0)
            ways[ways_count++] = proposals->lines[i] / geometry.sets;
    for (size_t i = 0; i < ways_count && status == PB_OK; i++)
        if (ways[i] > 0 && ways[i] <= WAYS_MAX)
            status = propose(proposals, geometry, ways[i], log_prior, err);
    return status;
}

/*
 * One basis as an index. The conflicts step over lines below their stride: these are of one set, or
 * each has sets of its own.
 */
static enum pb_status propose_xor(const struct proposals *proposals, const struct basis *basis,
                                  struct pb_geometry geometry, double log_prior,
                                  struct pb_error *err)
{
    uint64_t stride = pb_geometry_stride(proposals->chases);
    size_t *count = &geometry.mask_count;
    enum pb_status status;

    *count = masks_of_line(proposals->chases, &proposals->space, basis, geometry.line_bytes,
                           geometry.masks);
    status = propose_masks(proposals, geometry, log_prior, err);
    if (status != PB_OK || geometry.line_bytes >= stride)
        return status;
    for (uint64_t bit = geometry.line_bytes; bit < stride; bit *= 2)
        if (*count < PB_GEOMETRY_MASKS_MAX)
            geometry.masks[(*count)++] = bit;
    *count = pb_gf2_reduce(geometry.masks, *count);
    return propose_masks(proposals, geometry, log_prior, err);
}

/*
 * Noise breaks masks in all ways alike. Pairs that break them in one way again and again are of one
 * set, and the basis has a mask too many: without it, those pairs keep to all others. False: no way
 * is commoner than the others.
 */
static bool drop_mask(const struct space *space, struct basis *basis)
{
    size_t all = (size_t)1 << basis->count, broken = 0, common = 0, kept = 0, given_up;
    size_t *ways = calloc(all, sizeof(*ways)); /* pairs by the masks that they break */
    double usual;
    bool drops;

    if (ways == NULL)
        return false;
    for (size_t i = 0; i < space->pair_count; i++)
        ways[broken_by(space->pairs[i], basis->mask, basis->count)]++;
    for (size_t way = 1; way < all; way++) {
        broken += ways[way];
        common = common == 0 || ways[way] > ways[common] ? way : common;
    }
    usual = (double)(broken - ways[common] + 1) / (double)(all - 1);
    drops =
        basis->count > 1 && ways[common] > 0 &&
        (double)all * gsl_cdf_poisson_Q((unsigned)ways[common] - 1, usual) < PB_MISSES_BY_CHANCE;
    free(ways);
    if (!drops)
        return false;
    given_up = (size_t)__builtin_ctzll(common);
    for (size_t i = 0; i < basis->count; i++)
        if (i != given_up)
            basis->mask[kept++] =
                basis->mask[i] ^ ((common >> i & 1) != 0 ? basis->mask[given_up] : 0);
    basis->count = kept;
    return true;
}

/* How many more pairs of all keep a mask than break it. */
struct kept {
    int32_t even;
    uint32_t mask;
};

static int by_even(const void *a, const void *b)
{
    const struct kept *left = a, *right = b;

    if (left->even != right->even)
        return left->even < right->even ? 1 : -1;
    return (left->mask > right->mask) - (left->mask < right->mask);
}

/*
 * The masks that more pairs keep than the best of all would by chance (of few pairs, than most):
 * those that the most pairs keep first. *kept_out is to be freed; NULL: there are none.
 */
static size_t sort_masks(const struct space *space, struct kept **kept_out)
{
    size_t masks = (size_t)1 << space->bits, count = 0;
    double pairs = (double)space->pair_count;
    double least = fmin(sqrt(2.0 * log((double)masks) * pairs), PB_CACHE_PAIRS_KEPT * pairs);
    struct kept *kept = malloc(masks * sizeof(*kept));

    for (uint32_t mask = 1; kept != NULL && mask < masks; mask++)
        if (space->even[mask] >= least)
            kept[count++] = (struct kept){space->even[mask], mask};
    if (count > 0)
        qsort(kept, count, sizeof(*kept), by_even);
    *kept_out = kept;
    return count;
}

/*
 * Bases of the masks that are kept best, each with a mask more than the one before. Noise breaks
 * all masks alike, but lines that are prefetched behind the added one those of low bits most.
 */
static size_t find_bases(const struct space *space, struct basis bases[BASES_MAX])
{
    struct pb_gf2_span span = {.rank = 0};
    struct basis basis = {.count = 0};
    struct kept *kept = NULL;
    size_t count = 0, masks = space->pair_count > 0 ? sort_masks(space, &kept) : 0;

    for (size_t i = 0, next; i < masks && count < BASES_MAX; i = next) {
        size_t before = basis.count;

        for (next = i; next < masks && kept[next].even == kept[i].even; next++)
            if (pb_gf2_add(&span, kept[next].mask))
                basis.mask[basis.count++] = kept[next].mask;
        if (basis.count > before) {
            struct basis other = basis;

            bases[count++] = basis;
            while (count < BASES_MAX && drop_mask(space, &other))
                bases[count++] = other;
        }
    }
    free(kept);
    return count;
}

/* The multiple of the largest power of two from `least` to `most`; 0: there is none. */
static uint64_t roundest(uint64_t least, uint64_t most)
{
    for (unsigned shift = 64; shift-- > 0;) {
        uint64_t multiple = most >> shift << shift;

        if (multiple > 0 && multiple >= least)
            return multiple;
    }
    return 0;
}

/*
 * Numbers of lines near what fits, and of the roundest size that the edge leaves open: the same
 * size for every line, or where the first misses are hidden only longer lines would have the right
 * one.
 */
static void list_lines(const struct pb_geometry_hints *hints, uint64_t line_bytes,
                       struct proposals *proposals)
{
    uint64_t *lines = proposals->lines, fits = hints->fits_bytes / line_bytes;
    size_t count = 0;

    for (uint64_t more = 0; fits > 0 && more <= PB_CACHE_EDGE_LINES; more++)
        lines[count++] = fits + more;
    for (uint64_t less = 1; fits > less && less <= PB_CACHE_EDGE_LINES; less++)
        lines[count++] = fits - less;
    lines[count++] = proposals->array_bytes / line_bytes;
    if (fits > 0)
        lines[count++] = roundest(hints->fits_least, hints->fits_most) / line_bytes;
    proposals->line_counts = count;
}

static enum pb_status propose_line(const struct pb_geometry_hints *hints, uint64_t line_bytes,
                                   struct proposals *proposals, struct pb_error *err)
{
    struct pb_geometry geometry = {.line_bytes = line_bytes,
                                   .sector_bytes = hints->sector_bytes,
                                   .hides_misses = hints->prefetch_bytes > 0,
                                   .prefetch_bytes = hints->hiding_bytes};
    double log_prior = pb_geometry_prior_of_stride(proposals->chases, line_bytes);
    struct pb_hypothesis none = {.geometry = geometry, /* any line may displace any other one */
                                 .log_likelihood = log_prior};
    enum pb_status status;

    list_lines(hints, line_bytes, proposals);
    none.geometry.index = PB_INDEX_UNKNOWN;
    none.geometry.sets = 1;
    none.geometry.ways = proposals->lines[0];
    status = pb_hypotheses_add(proposals->hypotheses, &none, err);
    for (size_t i = 0; i < proposals->line_counts && status == PB_OK; i++)
        status = propose_modulos(proposals, geometry, proposals->lines[i],
                                 log_prior + (double)(i > 0) * log(PB_EXCEPTION), err);
    for (size_t i = 0; i < proposals->base_count && status == PB_OK; i++)
        status = propose_xor(proposals, &proposals->bases[i], geometry, log_prior, err);
    return status;
}

/* From the conflicts over arrays of so many bytes. */
static enum pb_status propose_from(const struct pb_geometry_hints *hints,
                                   struct proposals *proposals, struct pb_error *err)
{
    uint64_t least = hints->sector_bytes > LINE_MIN ? hints->sector_bytes : LINE_MIN;
    struct space *space = &proposals->space;
    enum pb_status status = PB_OK;

    if (find_bits(proposals->chases, space)) {
        status = count_pairs(proposals->chases, proposals->array_bytes, space, err);
        if (status == PB_OK)
            proposals->base_count = find_bases(space, proposals->bases);
    }
    for (uint64_t line = least; line <= PB_LINE_MAX && status == PB_OK; line *= 2) {
        struct pb_geometry_hints known = *hints;
        uint64_t sector_most = hints->sector_bytes > 0 ? hints->sector_bytes : SECTOR_MAX;

        known.sector_bytes = hints->sector_bytes > 0 ? hints->sector_bytes : least;
        for (; known.sector_bytes <= line && known.sector_bytes <= sector_most && status == PB_OK;
             known.sector_bytes *= 2)
            status = propose_line(&known, line, proposals, err);
    }
    free(space->pairs);
    free(space->even);
    return status;
}

enum pb_status pb_geometry_propose(const struct pb_cache_chases *chases,
                                   const struct pb_geometry_hints *hints,
                                   struct pb_hypotheses *hypotheses, struct pb_error *err)
{
    enum { ARRAYS_MAX = 4 };
    uint64_t base = 0, bytes[ARRAYS_MAX];
    size_t count = 0;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < chases->count; i++) {
        const struct pb_cache_chase *chase = &chases->items[i];
        size_t k = 0;

        if (!is_conflict(chase))
            continue;
        base = chase->base;
        while (k < count && bytes[k] != chase->array_bytes)
            k++;
        if (k == count && k < ARRAYS_MAX)
            bytes[count++] = chase->array_bytes;
    }
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        struct proposals proposals = {
            .chases = chases, .base = base, .array_bytes = bytes[i], .hypotheses = hypotheses};

        status = propose_from(hints, &proposals, err);
    }
    return status;
}
