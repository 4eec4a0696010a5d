/* Proposing geometries; see propose.h. */
#include "analysis/cache/propose.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/constants.h"
#include "analysis/model/parities.h"

enum {
    LINE_MIN = 32,
    SECTOR_MAX = 128, /* where no cold pass shows it; no cache is known that fetches more at once */
    WAYS_MAX = 1024,
    SETS_MAX = 1 << 16,
    BITS_MAX = 18, /* of a transform: 2^18 masks */
    BASES_MAX = 36,
    LINE_COUNTS = 12
};

double pb_geometry_prior_of_line(uint64_t line_bytes)
{
    return line_bytes > 128 ? -PB_CACHE_OTHER_LINE * log2((double)line_bytes / 128.0) : 0.0;
}

static bool is_conflict(const struct pb_cache_chase *chase)
{
    return chase->kind == PB_CHASE_CONFLICT;
}

/* The step of the conflicts' arrays, which the battery took for the line. */
static uint64_t stride_of(const struct pb_cache_chases *chases)
{
    for (size_t i = 0; i < chases->count; i++)
        if (is_conflict(&chases->items[i]))
            return chases->items[i].stride_bytes;
    return 0;
}

/* Masks over the address bits in which near lines differ. */
struct space {
    unsigned bit[BITS_MAX];
    size_t bits, pairs;
    int32_t *even; /* [2^bits] by mask: pairs of even parity less the odd ones */
};

static uint32_t to_space(const struct space *space, uint64_t difference)
{
    uint32_t vector = 0;

    for (size_t i = 0; i < space->bits; i++)
        vector |= (uint32_t)(difference >> space->bit[i] & 1) << i;
    return vector;
}

static uint64_t from_space(const struct space *space, uint32_t mask)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < space->bits; i++)
        bits |= (uint64_t)(mask >> i & 1) << space->bit[i];
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
    uint64_t bits = 0, below = stride_of(chases) - 1;

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

static enum pb_status count_pairs(const struct pb_cache_chases *chases, uint64_t array_bytes,
                                  struct space *space, struct pb_error *err)
{
    space->even = calloc((size_t)1 << space->bits, sizeof(*space->even));
    if (space->even == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating masks of %zu bits",
                       space->bits);
    for (size_t i = 0; i < chases->count; i++) {
        const struct pb_cache_chase *chase = &chases->items[i];

        if (!is_conflict(chase) || chase->far_bit != 0 || chase->array_bytes != array_bytes)
            continue;
        for (size_t k = 0; k < chase->misses; k++) {
            uint64_t missing = chases->missing[chase->first_missing + k];

            if (pb_cache_chases_is_background(chases, missing))
                continue;
            space->even[to_space(space, chase->added ^ missing)]++;
            space->pairs++;
        }
    }
    transform(space->even, (size_t)1 << space->bits);
    return PB_OK;
}

/* Independent masks, each with a leading bit of its own in reduced[]. */
struct basis {
    uint32_t mask[BITS_MAX], reduced[BITS_MAX];
    size_t count;
};

static void basis_add(struct basis *basis, uint32_t mask)
{
    uint32_t rest = mask;

    for (size_t i = 0; i < basis->count; i++)
        rest = (rest ^ basis->reduced[i]) < rest ? rest ^ basis->reduced[i] : rest;
    if (rest == 0 || basis->count == BITS_MAX)
        return;
    basis->reduced[basis->count] = rest;
    basis->mask[basis->count++] = mask;
}

/* Each mask with a lowest bit that no other one has, ascending; the number that is left. */
static size_t reduce(uint64_t *masks, size_t count)
{
    size_t rank = 0;

    for (unsigned bit = 0; bit < 64 && rank < count; bit++) {
        size_t pivot = rank;
        uint64_t kept;

        while (pivot < count && (masks[pivot] >> bit & 1) == 0)
            pivot++;
        if (pivot == count)
            continue;
        kept = masks[pivot];
        masks[pivot] = masks[rank];
        masks[rank] = kept;
        for (size_t i = 0; i < count; i++)
            if (i != rank && (masks[i] >> bit & 1) != 0)
                masks[i] ^= kept;
        rank++;
    }
    return rank;
}

enum { FAR_PAIRS_MAX = 1024 };

/* Pairs of a far line by the masks that they break. */
struct far_pairs {
    uint64_t most_broken; /* by the most pairs: bit i is mask i */
    size_t most, second;  /* pairs that break those masks, and the next commonest ones */
};

static int by_value(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/*
 * The far line's bit belongs to the masks that most of its pairs break together: these are of the
 * far line's set, and those with lines that were prefetched behind it are scattered.
 */
static struct far_pairs count_far_pairs(const struct pb_cache_chases *chases, const uint64_t *masks,
                                        size_t mask_count, uint64_t bit)
{
    struct far_pairs pairs = {0, 0, 0};
    uint64_t broken[FAR_PAIRS_MAX] = {0};
    size_t count = 0;

    for (size_t i = 0; i < chases->count; i++) {
        const struct pb_cache_chase *chase = &chases->items[i];

        if (!is_conflict(chase) || chase->far_bit != bit)
            continue;
        for (size_t k = 0; k < chase->misses && count < FAR_PAIRS_MAX; k++) {
            uint64_t missing = chases->missing[chase->first_missing + k];
            uint64_t pair = (chase->added ^ missing) & ~bit;

            if (pb_cache_chases_is_background(chases, missing))
                continue;
            for (size_t m = 0; m < mask_count; m++)
                broken[count] |= (uint64_t)__builtin_parityll(pair & masks[m]) << m;
            count++;
        }
    }
    qsort(broken, count, sizeof(*broken), by_value);
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
    rank = reduce(all, basis->count); /* masks with low bits come first, and no other has those */
    for (size_t i = 0; i < rank && count < PB_GEOMETRY_MASKS_MAX; i++)
        if ((all[i] & (line_bytes - 1)) == 0)
            masks[count++] = all[i];
    for (uint64_t left = far; left != 0; left &= left - 1) {
        uint64_t bit = left & -left;
        struct far_pairs pairs = count_far_pairs(chases, masks, count, bit);

        for (size_t i = 0; i < count; i++)
            masks[i] |= (pairs.most_broken >> i & 1) != 0 ? bit : 0;
    }
    return reduce(masks, count);
}

/* Lines of the array in its fullest set. */
static uint64_t fullest(const struct pb_geometry *geometry, uint64_t base, uint64_t bytes,
                        uint32_t *lines)
{
    uint64_t most = 0, first = base / geometry->line_bytes * geometry->line_bytes;
    struct pb_parities parities;

    pb_parities_make(geometry->masks, geometry->mask_count, &parities);
    memset(lines, 0, geometry->sets * sizeof(*lines));
    for (uint64_t at = first; at < base + bytes; at += geometry->line_bytes) {
        uint64_t set = geometry->index == PB_INDEX_XOR ? pb_parities_index(&parities, at)
                                                       : pb_geometry_set(geometry, at);

        lines[set]++;
        most = lines[set] > most ? lines[set] : most;
    }
    return most;
}

/* The arrays of the conflicts, each size once; the first of them is the base of all. */
struct arrays {
    uint64_t base, bytes[4];
    size_t count;
};

static struct arrays list_arrays(const struct pb_cache_chases *chases)
{
    struct arrays arrays = {0, {0}, 0};

    for (size_t i = 0; i < chases->count; i++) {
        const struct pb_cache_chase *chase = &chases->items[i];
        size_t k = 0;

        if (!is_conflict(chase))
            continue;
        arrays.base = chase->base;
        while (k < arrays.count && arrays.bytes[k] != chase->array_bytes)
            k++;
        if (k == arrays.count && k < 4)
            arrays.bytes[arrays.count++] = chase->array_bytes;
    }
    return arrays;
}

static enum pb_status propose_modulos(struct pb_geometry geometry, uint64_t lines, double log_prior,
                                      struct pb_hypotheses *hypotheses, struct pb_error *err)
{
    geometry.index = PB_INDEX_MODULO;
    for (uint64_t ways = 1; ways <= lines && ways <= 2 * (uint64_t)WAYS_MAX; ways++) {
        struct pb_hypothesis hypothesis = {
            .geometry = geometry,
            .log_likelihood = log_prior + pb_geometry_prior_of_line(geometry.line_bytes)};
        enum pb_status status;

        if (lines % ways != 0 || lines / ways > SETS_MAX)
            continue;
        hypothesis.geometry.sets = lines / ways;
        hypothesis.geometry.ways = ways;
        status = pb_hypotheses_add(hypotheses, &hypothesis, err);
        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

/* Every bit of a mask is one of those in which the lines differ. */
static double prior_of_masks(const uint64_t *masks, size_t count, size_t bits)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum -= (double)__builtin_popcountll(masks[i]) * log((double)bits);
    return sum;
}

/* One index of these masks: of so many ways as its fullest set has, or as the edge says. */
static enum pb_status propose_masks(const struct pb_cache_chases *chases, const struct space *space,
                                    const struct arrays *arrays, struct pb_geometry geometry,
                                    const uint64_t *lines, size_t line_counts,
                                    struct pb_hypotheses *hypotheses, struct pb_error *err)
{
    uint64_t ways[LINE_COUNTS + 4];
    size_t ways_count = 0;
    uint32_t *room;
    enum pb_status status = PB_OK;
    double log_prior;

    geometry.index = PB_INDEX_XOR;
    geometry.sets = (uint64_t)1 << geometry.mask_count;
    if (geometry.mask_count == 0 || geometry.sets > SETS_MAX)
        return PB_OK;
    log_prior =
        prior_of_masks(geometry.masks, geometry.mask_count, space->bits) -
        PB_CACHE_OTHER_LINE * fabs(log2((double)geometry.line_bytes / (double)stride_of(chases)));
    for (size_t i = 0; i < geometry.mask_count; i++) /* plain modulo: proposed as such */
        if (geometry.masks[i] != geometry.line_bytes << i)
            break;
        else if (i + 1 == geometry.mask_count)
            return PB_OK;
    room = calloc(geometry.sets, sizeof(*room));
    if (room == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %llu sets",
                       (unsigned long long)geometry.sets);
    for (size_t i = 0; i < arrays->count; i++)
        ways[ways_count++] = fullest(&geometry, arrays->base, arrays->bytes[i], room);
    free(room);
    for (size_t i = 0; i < line_counts; i++)
        if (lines[i] % geometry.sets == 0)
            ways[ways_count++] = lines[i] / geometry.sets;
    for (size_t i = 0; i < ways_count && status == PB_OK; i++) {
        struct pb_hypothesis hypothesis = {
            .geometry = geometry,
            .log_likelihood = log_prior + pb_geometry_prior_of_line(geometry.line_bytes)};
        bool is_known = ways[i] == 0 || ways[i] > WAYS_MAX;

        for (size_t k = 0; k < i; k++)
            is_known |= ways[k] == ways[i];
        hypothesis.geometry.ways = ways[i];
        if (!is_known)
            status = pb_hypotheses_add(hypotheses, &hypothesis, err);
    }
    return status;
}

/*
 * One basis as an index. The conflicts step over lines below their stride: these are of one set, or
 * each has sets of its own.
 */
static enum pb_status propose_xor(const struct pb_cache_chases *chases, const struct space *space,
                                  const struct basis *basis, const struct arrays *arrays,
                                  struct pb_geometry geometry, const uint64_t *lines,
                                  size_t line_counts, struct pb_hypotheses *hypotheses,
                                  struct pb_error *err)
{
    size_t *count = &geometry.mask_count;
    enum pb_status status;

    *count = masks_of_line(chases, space, basis, geometry.line_bytes, geometry.masks);
    status = propose_masks(chases, space, arrays, geometry, lines, line_counts, hypotheses, err);
    if (status != PB_OK || geometry.line_bytes >= stride_of(chases))
        return status;
    for (uint64_t bit = geometry.line_bytes; bit < stride_of(chases); bit *= 2)
        if (*count < PB_GEOMETRY_MASKS_MAX)
            geometry.masks[(*count)++] = bit;
    *count = reduce(geometry.masks, *count);
    return propose_masks(chases, space, arrays, geometry, lines, line_counts, hypotheses, err);
}

/* How many pairs break the masks of a basis, by which of them: bit i of the way is mask i. */
static size_t *count_ways(const struct pb_cache_chases *chases, uint64_t array_bytes,
                          const struct space *space, const struct basis *basis)
{
    size_t *ways = calloc((size_t)1 << basis->count, sizeof(*ways));

    for (size_t i = 0; ways != NULL && i < chases->count; i++) {
        const struct pb_cache_chase *chase = &chases->items[i];

        if (!is_conflict(chase) || chase->far_bit != 0 || chase->array_bytes != array_bytes)
            continue;
        for (size_t k = 0; k < chase->misses; k++) {
            uint64_t missing = chases->missing[chase->first_missing + k];
            uint32_t pair = to_space(space, chase->added ^ missing);
            size_t way = 0;

            if (pb_cache_chases_is_background(chases, missing))
                continue;
            for (size_t m = 0; m < basis->count; m++)
                way |= (size_t)__builtin_parity(pair & basis->mask[m]) << m;
            ways[way]++;
        }
    }
    return ways;
}

/*
 * Noise breaks masks in all ways alike. Pairs that break them in one way again and again are of one
 * set, and the basis has a mask too many: without it, those pairs keep to all others. False: no way
 * is commoner than the others.
 */
static bool drop_mask(const struct pb_cache_chases *chases, uint64_t array_bytes,
                      const struct space *space, struct basis *basis)
{
    size_t *ways = count_ways(chases, array_bytes, space, basis), broken = 0, common = 0, kept = 0;
    size_t all = (size_t)1 << basis->count, given_up;
    double usual;
    bool drops;

    if (ways == NULL)
        return false;
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
    double pairs = (double)space->pairs;
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
static size_t find_bases(const struct pb_cache_chases *chases, uint64_t array_bytes,
                         const struct space *space, struct basis bases[BASES_MAX])
{
    struct basis basis = {.count = 0};
    struct kept *kept = NULL;
    size_t count = 0, masks = space->pairs > 0 ? sort_masks(space, &kept) : 0;

    for (size_t i = 0, next; i < masks && count < BASES_MAX; i = next) {
        size_t before = basis.count;

        for (next = i; next < masks && kept[next].even == kept[i].even; next++)
            basis_add(&basis, kept[next].mask);
        if (basis.count > before) {
            struct basis other = basis;

            bases[count++] = basis;
            while (count < BASES_MAX && drop_mask(chases, array_bytes, space, &other))
                bases[count++] = other;
        }
    }
    free(kept);
    return count;
}

/* Numbers of lines that the cache may have. */
static size_t list_lines(const struct pb_geometry_hints *hints, const struct arrays *arrays,
                         uint64_t line_bytes, uint64_t lines[LINE_COUNTS])
{
    size_t count = 0;

    uint64_t fits = hints->fits_bytes / line_bytes;

    for (uint64_t more = 0; fits > 0 && more <= PB_CACHE_EDGE_LINES; more++)
        lines[count++] = fits + more;
    for (uint64_t less = 1; fits > less && less <= PB_CACHE_EDGE_LINES; less++)
        lines[count++] = fits - less;
    for (size_t i = 0; i < arrays->count && count < LINE_COUNTS; i++) {
        bool is_known = arrays->bytes[i] < line_bytes;

        for (size_t k = 0; k < count; k++)
            is_known |= lines[k] == arrays->bytes[i] / line_bytes;
        if (!is_known)
            lines[count++] = arrays->bytes[i] / line_bytes;
    }
    return count;
}

static enum pb_status propose_line(const struct pb_cache_chases *chases, const struct space *space,
                                   const struct basis *bases, size_t base_count,
                                   const struct arrays *arrays,
                                   const struct pb_geometry_hints *hints, uint64_t line_bytes,
                                   struct pb_hypotheses *hypotheses, struct pb_error *err)
{
    struct pb_geometry geometry = {.line_bytes = line_bytes,
                                   .sector_bytes = hints->sector_bytes,
                                   .hides_misses = hints->prefetch_bytes > 0};
    uint64_t lines[LINE_COUNTS];
    size_t count = list_lines(hints, arrays, line_bytes, lines);
    enum pb_status status = PB_OK;

    /* what all chases leave open between two lines, the battery's own search decides */
    double log_prior =
        -PB_CACHE_OTHER_LINE * fabs(log2((double)line_bytes / (double)stride_of(chases)));
    struct pb_hypothesis none = {.geometry = geometry}; /* any line may displace any other one */

    none.geometry.index = PB_INDEX_UNKNOWN;
    none.geometry.sets = 1;
    none.geometry.ways = count > 0 ? lines[0] : 1;
    none.log_likelihood = log_prior;
    status = pb_hypotheses_add(hypotheses, &none, err);
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = propose_modulos(geometry, lines[i],
                                 log_prior + (double)(i > 0) * log(PB_EXCEPTION), hypotheses, err);
    for (size_t i = 0; i < base_count && status == PB_OK; i++)
        status =
            propose_xor(chases, space, &bases[i], arrays, geometry, lines, count, hypotheses, err);
    return status;
}

enum pb_status pb_geometry_propose(const struct pb_cache_chases *chases,
                                   const struct pb_geometry_hints *hints,
                                   struct pb_hypotheses *hypotheses, struct pb_error *err)
{
    struct arrays arrays = list_arrays(chases);
    uint64_t least = hints->sector_bytes > LINE_MIN ? hints->sector_bytes : LINE_MIN;
    enum pb_status status = PB_OK;

    for (size_t k = 0; k < arrays.count && status == PB_OK; k++) {
        struct space space = {.bits = 0};
        struct basis bases[BASES_MAX];
        struct arrays one = {arrays.base, {arrays.bytes[k]}, 1};
        size_t count = 0;

        if (find_bits(chases, &space)) {
            status = count_pairs(chases, arrays.bytes[k], &space, err);
            if (status == PB_OK)
                count = find_bases(chases, arrays.bytes[k], &space, bases);
        }
        for (uint64_t line = least; line <= PB_LINE_MAX && status == PB_OK; line *= 2) {
            struct pb_geometry_hints known = *hints;

            known.sector_bytes = hints->sector_bytes > 0 ? hints->sector_bytes : least;
            for (; known.sector_bytes <= line && status == PB_OK; known.sector_bytes *= 2) {
                status =
                    propose_line(chases, &space, bases, count, &one, &known, line, hypotheses, err);
                if (hints->sector_bytes > 0 || known.sector_bytes == SECTOR_MAX)
                    break;
            }
        }
        free(space.even);
    }
    return status;
}
