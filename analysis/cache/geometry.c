/* The likelihood of recorded accesses under the geometry of a cache; see geometry.h. */
#include "analysis/cache/geometry.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/sweep.h"
#include "analysis/constants.h"
#include "analysis/model/parities.h"
#include "analysis/statistics/likelihood.h"
#include "analysis/statistics/sort.h"
#include "analysis/trace.h"

void pb_cache_chases_clear(struct pb_cache_chases *chases)
{
    free(chases->items);
    free(chases->missing);
    free(chases->seen);
    free(chases->background);
    free(chases->place);
    *chases = (struct pb_cache_chases){.count = 0};
}

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Chases after the cache has filled; false: the phase is none. */
static bool kind_of(const struct pb_point *point, size_t count, enum pb_chase_kind *kind_out)
{
    static const char *const sweeps[] = {"overflow", "stride", "bisect", "confirm", "sampled"};

    if (point->stride_bytes == 0 || point->footprint_bytes < point->stride_bytes)
        return false;
    *kind_out = PB_CHASE_CONFLICT;
    if (begins_with(point->phase, "conflict"))
        return count >= 2;
    *kind_out = begins_with(point->order, "sequential") &&
                        count >= point->footprint_bytes / point->stride_bytes
                    ? PB_CHASE_SWEEP
                    : PB_CHASE_PART;
    for (size_t i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
        if (strncmp(point->phase, sweeps[i], PB_NAME_LENGTH) == 0)
            return count > 0;
    return false;
}

/* `used`: accesses of the chases before. */
static void add_chase(const struct pb_cache_level *level, const struct pb_point *point,
                      enum pb_chase_kind kind, size_t used, struct pb_cache_chases *chases)
{
    struct pb_accesses accesses = pb_point_accesses(level->series, point);
    uint64_t added = point->footprint_bytes - point->stride_bytes;
    bool has_added = kind == PB_CHASE_CONFLICT;
    bool is_shuffled = begins_with(point->phase, "conflict_shuffled");
    unsigned char *seen = chases->seen + used;
    uint32_t *place = chases->place + used;
    struct pb_cache_chase chase = {.kind = kind,
                                   .base = point->base_address,
                                   .stride_bytes = point->stride_bytes,
                                   .array_bytes = has_added
                                                      ? (accesses.count - 1) * point->stride_bytes
                                                      : point->footprint_bytes,
                                   .added = point->base_address + added,
                                   .offset_bytes = accesses.index_bytes,
                                   .seen = seen,
                                   .place = is_shuffled ? place : NULL,
                                   .count = accesses.count,
                                   .first_missing = chases->missing_count,
                                   .is_shuffled = is_shuffled,
                                   .in_pieces = point->window < accesses.count};

    for (size_t i = 0; i < accesses.count; i++) {
        double cycles = pb_access_cycles(&accesses, i);

        seen[i] = (unsigned char)pb_classes_observe(&level->classes, cycles);
        if (is_shuffled && accesses.index_bytes[i] < chase.array_bytes)
            place[accesses.index_bytes[i] / chase.stride_bytes] = (uint32_t)i;
        /* the added line may lie in a page of its own: slow by more than the cache's miss */
        if (has_added && accesses.index_bytes[i] == added) {
            chase.added_missed |= cycles >= level->classes.miss.low;
        } else if (seen[i] == PB_OBSERVED_MISS) {
            chase.misses++;
            if (has_added)
                chases->missing[chases->missing_count++] =
                    point->base_address + accesses.index_bytes[i];
        }
    }
    chases->items[chases->count++] = chase;
    chases->of_kind[kind]++;
}

/* Room for all chases and accesses of the levels. */
static enum pb_status allocate(const struct pb_cache_level *levels, size_t count,
                               struct pb_cache_chases *chases, struct pb_error *err)
{
    size_t points = 0, accesses = 0;

    for (size_t i = 0; i < count; i++) {
        points += levels[i].series->point_count;
        for (size_t k = 0; k < levels[i].series->point_count; k++)
            accesses += pb_point_accesses(levels[i].series, &levels[i].series->points[k]).count;
    }
    chases->items = calloc(points + 1, sizeof(*chases->items));
    chases->missing = malloc((accesses + 1) * sizeof(*chases->missing));
    chases->background = malloc((accesses + 1) * sizeof(*chases->background));
    chases->seen = malloc((accesses + 1) * sizeof(*chases->seen));
    chases->place = calloc(accesses + 1, sizeof(*chases->place));
    if (chases->items == NULL || chases->missing == NULL || chases->background == NULL ||
        chases->seen == NULL || chases->place == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu accesses", accesses);
    return PB_OK;
}

/* Lines that are added next to each other show the sets; one alone at a single bit shows that bit.
 */
static void find_far_bits(struct pb_cache_chases *chases)
{
    for (size_t i = 0; i < chases->count; i++) {
        struct pb_cache_chase *chase = &chases->items[i];
        uint64_t offset = chase->added - chase->base;
        bool is_followed = false;

        if (chase->kind != PB_CHASE_CONFLICT || (offset & (offset - 1)) != 0)
            continue;
        for (size_t k = 0; k < chases->count && !is_followed; k++)
            is_followed = chases->items[k].kind == PB_CHASE_CONFLICT &&
                          chases->items[k].added == chase->added + chase->stride_bytes;
        chase->far_bit = is_followed ? 0 : offset;
    }
}

size_t pb_cache_chases_loads(const struct pb_cache_chases *chases)
{
    size_t loads = 0;

    for (size_t i = 0; i < chases->count; i++)
        loads += chases->items[i].kind == PB_CHASE_CONFLICT ? 0 : chases->items[i].count;
    return loads;
}

bool pb_cache_chases_is_background(const struct pb_cache_chases *chases, uint64_t address)
{
    return chases->background_count > 0 &&
           bsearch(&address, chases->background, chases->background_count,
                   sizeof(*chases->background), pb_compare_uint64) != NULL;
}

/*
 * The lines that miss whether or not the added one is of their set: the array itself is too much
 * for it (an H200's hash depends on where the array lies), or a line of the kernel's own is there.
 */
static void find_background(struct pb_cache_chases *chases)
{
    size_t count = chases->missing_count;
    double most = PB_MOST * (double)chases->of_kind[PB_CHASE_CONFLICT];
    uint64_t *sorted = chases->background;

    memcpy(sorted, chases->missing, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), pb_compare_uint64);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && sorted[next] == sorted[i];)
            next++;
        if ((double)(next - i) > most)
            sorted[chases->background_count++] = sorted[i];
    }
    for (size_t i = 0; i < chases->count; i++)
        for (size_t k = 0;
             chases->items[i].kind == PB_CHASE_CONFLICT && k < chases->items[i].misses; k++)
            chases->items[i].background += pb_cache_chases_is_background(
                chases, chases->missing[chases->items[i].first_missing + k]);
}

/* The next steady chase by the level's path, from *at on; NULL: there is none. */
static const struct pb_point *next_chase(const struct pb_cache_level *level, size_t *at,
                                         struct pb_accesses *accesses_out,
                                         enum pb_chase_kind *kind_out)
{
    struct pb_pick pick = {level->way->path, "traced", NULL};
    const struct pb_point *point;

    while ((point = pb_point_next(level->series, &pick, at)) != NULL) {
        *accesses_out = pb_point_accesses(level->series, point);
        if (kind_of(point, accesses_out->count, kind_out))
            return point;
    }
    return NULL;
}

/* How often hits look like misses in all chases, by access. */
static double measure_noise(const struct pb_cache_level *levels, size_t count)
{
    double noise = 0.0, loads = 1.0;
    struct pb_accesses accesses;
    enum pb_chase_kind kind;

    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; next_chase(&levels[i], &at, &accesses, &kind) != NULL;) {
            noise += pb_classes_expect_noise(&levels[i].classes, &accesses);
            loads += (double)accesses.count;
        }
    }
    return noise / loads;
}

/* Reads the chases, but for those in which noise makes far more misses than in all together. */
static void add_chases(const struct pb_cache_level *levels, size_t count,
                       struct pb_cache_chases *chases)
{
    const struct pb_point *point;
    struct pb_accesses accesses;
    enum pb_chase_kind kind;
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; (point = next_chase(&levels[i], &at, &accesses, &kind)) != NULL;) {
            if (pb_exceeds_noise(pb_classes_expect_noise(&levels[i].classes, &accesses),
                                 chases->noise_rate * (double)accesses.count))
                continue;
            add_chase(&levels[i], point, kind, used, chases);
            used += accesses.count;
        }
    }
}

enum pb_status pb_cache_chases_read(const struct pb_cache_level *levels, size_t count,
                                    struct pb_cache_chases *chases, struct pb_error *err)
{
    enum pb_status status = allocate(levels, count, chases, err);

    if (status != PB_OK)
        return status;
    chases->noise_rate = measure_noise(levels, count);
    add_chases(levels, count, chases);
    find_background(chases);
    find_far_bits(chases);
    return PB_OK;
}

/* Lines, sectors and most sets are powers of two, and divisions would be most of the work. */
static inline uint64_t quotient(uint64_t a, uint64_t b)
{
    return (b & (b - 1)) == 0 ? a >> __builtin_ctzll(b) : a / b;
}

static inline uint64_t remainder_of(uint64_t a, uint64_t b)
{
    return (b & (b - 1)) == 0 ? a & (b - 1) : a % b;
}

uint64_t pb_geometry_set(const struct pb_geometry *geometry, uint64_t address)
{
    uint64_t set = 0;

    if (geometry->sets == 1)
        return 0;
    if (geometry->index == PB_INDEX_MODULO)
        return remainder_of(quotient(address, geometry->line_bytes), geometry->sets);
    for (size_t i = 0; i < geometry->mask_count; i++)
        set |= (uint64_t)__builtin_parityll(address & geometry->masks[i]) << i;
    return set;
}

uint64_t pb_geometry_bytes(const struct pb_geometry *geometry)
{
    uint64_t lines = geometry->set_ways == NULL ? geometry->sets * geometry->ways : 0;

    for (uint64_t set = 0; set < geometry->sets && geometry->set_ways != NULL; set++)
        lines += geometry->set_ways[set];
    return lines * geometry->line_bytes;
}

/* Log of the chance of so many of n, at a rate of Beta(a, b). */
static double log_beta_binomial(double count, double n, double a, double b)
{
    if (n == 0.0 && count == 0.0)
        return 0.0;
    return gsl_sf_lnbeta(count + a, n - count + b) - gsl_sf_lnbeta(a, b);
}

/* Do more loads contradict than noise makes? */
static bool is_too_much(double wrong, double count)
{
    return wrong > PB_EXCEPTION * (count + 1.0 / PB_SPIKES_MOST);
}

bool pb_geometry_is_contradicted(const struct pb_geometry_fit *fit)
{
    return is_too_much((double)fit->hits_wrong, (double)fit->hits);
}

/* As noise, or at the rate of exceptions. */
static double log_at_rate(bool are_exceptions, double wrong, double count)
{
    if (are_exceptions)
        return wrong * log(PB_EXCEPTION) + (count - wrong) * log1p(-PB_EXCEPTION);
    return log_beta_binomial(wrong, count, 0.5, 1.0 / PB_SPIKES_MOST);
}

double pb_geometry_log_noise(size_t wrong, size_t count)
{
    return log_at_rate(is_too_much((double)wrong, (double)count), (double)wrong, (double)count);
}

/* Of the loads that are not open. */
static double log_of_certain(const struct pb_geometry_fit *fit)
{
    return pb_geometry_log_noise(fit->hits_wrong, fit->hits) +
           log(PB_FAST_MISSES) * (double)(fit->misses_wrong + fit->lacking);
}

double pb_geometry_log_likelihood(const struct pb_geometry_fit *fit)
{
    return fit->open + log_of_certain(fit);
}

double pb_geometry_log_prediction(const struct pb_geometry_fit *fit)
{
    return fit->open_at_best + log_of_certain(fit);
}

enum { NO_LINE = UINT32_MAX };

/* Lines by set of an array, and of those the ones that missed. */
struct sets {
    uint32_t *lines, *missed; /* [geometry->sets] */
    uint32_t *last, *before;  /* line of a set, line of the same set before it, or NO_LINE */
    uint32_t *rank;           /* of a line: how many of the same set lie before it */
    uint64_t first, step;     /* of the array's lines: an address, and their distance */
    size_t count, overfull;
    size_t open_lines; /* of conflicts: see count_overfull() */
    struct pb_parities parities;
};

static inline uint64_t set_of(const struct sets *sets, const struct pb_geometry *geometry,
                              uint64_t address)
{
    return geometry->index == PB_INDEX_XOR ? pb_parities_index(&sets->parities, address)
                                           : pb_geometry_set(geometry, address);
}

/* The lines of the longest array of a kind. */
static size_t count_lines(const struct pb_cache_chases *chases, const struct pb_geometry *geometry,
                          enum pb_chase_kind kind)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < chases->count; i++)
        if (chases->items[i].kind == kind && chases->items[i].array_bytes > bytes)
            bytes = chases->items[i].array_bytes;
    return (size_t)(bytes / geometry->line_bytes) + 2;
}

static enum pb_status sets_open(const struct pb_geometry *geometry, size_t lines, struct sets *sets,
                                struct pb_error *err)
{
    sets->lines = malloc((3 * geometry->sets + 2 * lines) * sizeof(*sets->lines));
    if (sets->lines == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %llu sets",
                       (unsigned long long)geometry->sets);
    sets->count = SIZE_MAX; /* of no array */
    sets->missed = sets->lines + geometry->sets;
    memset(sets->lines, 0, 2 * geometry->sets * sizeof(*sets->lines));
    sets->last = sets->missed + geometry->sets;
    sets->before = sets->last + geometry->sets;
    sets->rank = sets->before + lines;
    pb_parities_make(geometry->masks, geometry->mask_count, &sets->parities);
    return PB_OK;
}

/* Every line that the array's loads touch, or that is prefetched behind its end. */
static void fill_sets(const struct pb_geometry *geometry, uint64_t base, uint64_t bytes,
                      uint64_t stride, struct sets *sets)
{
    uint64_t line = geometry->line_bytes, step = stride > line ? stride : line;
    uint64_t first = stride > line ? base : base / line * line;
    size_t count = (size_t)((base + bytes - first + step - 1) / step);

    memset(sets->missed, 0, geometry->sets * sizeof(*sets->missed));
    if (sets->count > count || sets->first != first || sets->step != step) {
        memset(sets->lines, 0, geometry->sets * sizeof(*sets->lines));
        memset(sets->last, 0xff, geometry->sets * sizeof(*sets->last));
        sets->first = first;
        sets->step = step;
        sets->count = sets->overfull = 0;
    }
    for (; sets->count < count; sets->count++) { /* else beside those of the array before */
        uint64_t set = set_of(sets, geometry, first + sets->count * step);

        sets->rank[sets->count] = sets->lines[set];
        sets->overfull += ++sets->lines[set] == pb_geometry_ways(geometry, set) + 1;
        sets->before[sets->count] = sets->last[set];
        sets->last[set] = (uint32_t)sets->count;
    }
}

/* How many lines that are too many for their sets did not miss in a pass. */
static size_t count_lacking(const struct pb_geometry *geometry, const struct sets *sets)
{
    size_t lacking = 0;

    for (uint64_t set = 0; set < geometry->sets && sets->overfull > 0; set++)
        if (sets->lines[set] > pb_geometry_ways(geometry, set) + sets->missed[set])
            lacking += sets->lines[set] - pb_geometry_ways(geometry, set) - sets->missed[set];
    return lacking;
}

/* Open loads that miss at one rate, and those of them that missed. */
struct rate {
    uint32_t open, missed;
};

/* Sets of more lines are not ranked: it bounds the time. */
enum { RANKS_MAX = 256, NO_RANK = RANKS_MAX };

/*
 * Open loads. Either all of them miss at one rate, as victims are drawn, or each rank in the pass
 * over their set at its own: to a policy that draws nothing all sets and all passes are alike, so
 * that it always loses the same ranks. Both are as likely before, and every rate is integrated out.
 * Sets of more than one line too many have rates of their own. In order, sets that follow each
 * other do alike, too, so that only changes are news: each rate is that of loads behind one that
 * did the same.
 */
enum { EXCESSES = 2, KINDS = 2 * EXCESSES };

struct pool {
    struct rate by_rank[RANKS_MAX + 1][KINDS]; /* by the excess, and what the load before did */
    struct rate elsewhere;                     /* in sets that the array overfills by itself */
    bool before;
};

/* Integrated over all rates, with Jeffreys' prior. */
static double log_of_rate(struct rate rate)
{
    uint32_t open = rate.open > rate.missed ? rate.open : rate.missed;

    return log_beta_binomial(rate.missed, open, 0.5, 0.5);
}

/* At the rate that was seen. */
static double log_at_best(struct rate rate)
{
    double missed = (double)rate.missed, hit = (double)rate.open - missed;

    return missed > 0.0 && hit > 0.0
               ? missed * log(missed / (missed + hit)) + hit * log(hit / (missed + hit))
               : 0.0;
}

/* Of the ranked loads of one excess: they miss at one rate, or each rank at its own. */
static double log_of_excess(const struct pool *pool, size_t excess)
{
    double by_rank = 0.0, alike = 0.0;

    for (size_t kind = excess * KINDS / EXCESSES; kind < (excess + 1) * KINDS / EXCESSES; kind++) {
        struct rate all = {0, 0};

        for (size_t i = 0; i <= NO_RANK; i++) {
            struct rate rate = pool->by_rank[i][kind];

            if ((rate.open | rate.missed) == 0)
                continue;
            all.open += rate.open;
            all.missed += rate.missed;
            by_rank += log_of_rate(rate);
        }
        alike += log_of_rate(all);
    }
    return pb_add_likelihoods(alike, by_rank) - M_LN2;
}

/* The open loads of several passes. */
struct pools {
    struct pool together;
    double apart[EXCESSES], elsewhere, at_best;
};

/* all_open: no rank is known, and each pass has a rate of its own. */
static void add_pool(const struct pool *pool, bool all_open, struct pools *pools)
{
    pools->elsewhere += log_of_rate(pool->elsewhere) + (all_open ? log_of_excess(pool, 0) : 0.0);
    pools->at_best += log_at_best(pool->elsewhere);
    for (size_t kind = 0; kind < KINDS && all_open; kind++)
        pools->at_best += log_at_best(pool->by_rank[NO_RANK][kind]);
    if (all_open)
        return;
    for (size_t excess = 0; excess < EXCESSES; excess++)
        pools->apart[excess] += log_of_excess(pool, excess);
    for (size_t i = 0; i <= NO_RANK; i++) {
        for (size_t kind = 0; kind < KINDS; kind++) {
            pools->at_best += log_at_best(pool->by_rank[i][kind]);
            pools->together.by_rank[i][kind].open += pool->by_rank[i][kind].open;
            pools->together.by_rank[i][kind].missed += pool->by_rank[i][kind].missed;
        }
    }
}

/* Rates of all passes are the same, or each has its own. */
static double log_of_pools(const struct pools *pools)
{
    double sum = pools->elsewhere;

    for (size_t excess = 0; excess < EXCESSES; excess++)
        sum += pb_add_likelihoods(pools->apart[excess], log_of_excess(&pools->together, excess)) -
               M_LN2;
    return sum;
}

/* Loads of other sectors of a line that a conflict's stride steps over. */
static uint64_t sectors_each(const struct pb_cache_chase *chase, const struct pb_geometry *geometry)
{
    uint64_t step =
        chase->stride_bytes > geometry->sector_bytes ? chase->stride_bytes : geometry->sector_bytes;

    return geometry->line_bytes > step ? geometry->line_bytes / step : 1;
}

/* The set of the added line, its lines then, and how many of them are too many; 0: it has room. */
struct conflict {
    uint64_t set, lines, excess;
};

static struct conflict find_conflict(const struct pb_cache_chase *chase,
                                     const struct pb_geometry *geometry, const struct sets *sets)
{
    uint64_t line = geometry->line_bytes, end = (chase->base + chase->array_bytes - 1) / line;
    uint64_t set = set_of(sets, geometry, chase->added);
    uint64_t filled = sets->lines[set] + (chase->added / line > end);
    uint64_t ways = pb_geometry_ways(geometry, set);

    return (struct conflict){set, filled, filled > ways ? filled - ways : 0};
}

/* Does each load of a line have a rank, or do its sectors share the line's outcome? */
static bool ranks_loads(const struct pb_cache_chase *chase, const struct pb_geometry *geometry)
{
    return geometry->hides_misses || chase->place != NULL;
}

/*
 * Do loads of the set have a rank? Not where any line may displace any other one, or a drawn order
 * takes a sector, or what one prefetch brings, apart.
 */
static bool has_ranks(const struct pb_cache_chase *chase, const struct pb_geometry *geometry,
                      const struct sets *sets, uint64_t set)
{
    bool is_apart = chase->stride_bytes < geometry->sector_bytes || geometry->hides_misses;

    return geometry->index != PB_INDEX_UNKNOWN && (chase->place == NULL || !is_apart) &&
           sets->lines[set] * sectors_each(chase, geometry) <= RANKS_MAX;
}

/* Where the loads of a set lie in a pass in drawn order. */
struct turns {
    uint64_t set; /* UINT64_MAX: none */
    uint32_t place[2 * RANKS_MAX];
    size_t count;
};

static void list_turns(const struct pb_cache_chase *chase, const struct pb_geometry *geometry,
                       const struct sets *sets, uint64_t set, struct turns *turns)
{
    uint64_t stride = chase->stride_bytes, end = chase->base + chase->array_bytes;

    turns->set = set;
    turns->count = 0;
    for (uint32_t line = sets->last[set]; line != NO_LINE; line = sets->before[line]) {
        uint64_t at = sets->first + line * sets->step, behind = at + geometry->line_bytes;
        uint64_t i = at > chase->base ? quotient(at - chase->base + stride - 1, stride) : 0;

        for (; chase->base + i * stride < (behind < end ? behind : end); i++)
            if (turns->count < 2 * RANKS_MAX)
                turns->place[turns->count++] = chase->place[i];
    }
}

/*
 * The rank of a load: how many lines of its set go before in the pass. The sectors of a line share
 * its outcome and rank; where a prefetch hides some of them, or a drawn order takes them apart, it
 * is how many loads of the set go before.
 */
static size_t rank_of(const struct pb_cache_chase *chase, const struct pb_geometry *geometry,
                      const struct sets *sets, uint64_t set, uint64_t address, struct turns *turns)
{
    uint64_t each = sectors_each(chase, geometry), slot;
    size_t rank = 0;
    uint32_t place;

    if (!has_ranks(chase, geometry, sets, set))
        return NO_RANK;
    if (chase->place == NULL) {
        uint64_t line = quotient(address - sets->first, sets->step);

        if (line >= sets->count || sets->rank[line] >= sets->lines[set])
            return NO_RANK;
        rank = sets->rank[line];
        return geometry->hides_misses
                   ? rank * each + address % geometry->line_bytes * each / geometry->line_bytes
                   : rank;
    }
    if (turns == NULL) /* of sweeps none are listed */
        return NO_RANK;
    if (turns->set != set)
        list_turns(chase, geometry, sets, set, turns);
    slot = quotient(address - chase->base, chase->stride_bytes);
    if (slot >= chase->count)
        return NO_RANK;
    place = chase->place[slot];
    for (size_t i = 0; i < turns->count; i++)
        rank += turns->place[i] < place;
    return rank;
}

/* Where a chase is: in a line's loads, one after the other. */
struct visit {
    uint64_t line, sector; /* numbers */
    bool has_missed;       /* the line, at its first load */
    bool is_first;         /* no other sector of it was loaded since */
    struct rate *rate;     /* of its first load */
};

/*
 * An open load; `open`: its rates, by what the open load before did. The first load of a line is
 * open. The other sectors of one visit share its outcome, where nothing is prefetched; a first one
 * that alone seems to miss is an outlier, and contradicts once.
 */
static void take_load(const struct pb_geometry *geometry, uint64_t line, uint64_t sector,
                      bool missed, struct rate *open, struct visit *visit, struct pool *pool,
                      struct pb_geometry_fit *fit)
{
    bool is_same = line == visit->line, is_new = sector != visit->sector;
    bool was_outlier = is_new && is_same && !missed && visit->has_missed && visit->is_first &&
                       !geometry->hides_misses;

    if (was_outlier) {
        visit->rate->missed--;
        pool->before = visit->has_missed = false;
        fit->misses++;
        fit->misses_wrong++;
    }
    if (is_new && (!is_same || geometry->hides_misses)) {
        visit->rate = &open[pool->before];
        visit->rate->open++;
        visit->rate->missed += missed;
        pool->before = missed;
    }
    if (is_new && is_same && visit->has_missed) {
        fit->misses += !geometry->hides_misses;
        fit->misses_wrong += !geometry->hides_misses && !missed;
        visit->is_first = false;
    } else if (!is_new || (is_same && !geometry->hides_misses)) {
        fit->hits++;
        fit->hits_wrong += missed;
    }
    if (!is_same)
        visit->has_missed = visit->is_first = missed;
    visit->line = line;
    visit->sector = sector;
}

/* The rates of a load where its set, *set_out, is overfull; else NULL. */
static struct rate *open_rates(const struct pb_cache_chase *chase,
                               const struct pb_geometry *geometry, const struct sets *sets,
                               uint64_t address, struct pool *pool, uint64_t *set_out)
{
    uint64_t set = *set_out = set_of(sets, geometry, address);

    if (sets->lines[set] <= pb_geometry_ways(geometry, set))
        return NULL;
    return &pool->by_rank[rank_of(chase, geometry, sets, set, address, NULL)]
                         [sets->lines[set] == pb_geometry_ways(geometry, set) + 1 ? 0 : EXCESSES];
}

/* The loads of the line from `i` on, and those that miss. Returns where they end. */
static size_t count_rest(const struct pb_cache_chase *chase, size_t i, uint64_t line, int shift,
                         size_t *loads, size_t *missed)
{
    for (; i < chase->count && chase->seen[i] != PB_OBSERVED_NEITHER &&
           (chase->base + chase->offset_bytes[i]) >> shift == line;
         i++) {
        ++*loads;
        *missed += chase->seen[i] == PB_OBSERVED_MISS;
    }
    return i;
}

/* The address of the last load that missed: passes follow each other. */
static uint64_t last_missed(const struct pb_cache_chase *chase)
{
    for (size_t i = chase->count; i-- > 0;)
        if (chase->seen[i] == PB_OBSERVED_MISS)
            return chase->base + chase->offset_bytes[i];
    return UINT64_MAX;
}

/* The loads of a pass, sets[] filled; missed[] counts those lines of each set. */
static void score_loads(const struct pb_cache_chase *chase, const struct pb_geometry *geometry,
                        bool all_open, struct sets *sets, struct pools *pools,
                        struct pb_geometry_fit *fit)
{
    int line_shift = __builtin_ctzll(geometry->line_bytes);
    int sector_shift = __builtin_ctzll(geometry->sector_bytes);
    struct visit visit = {.line = UINT64_MAX, .sector = UINT64_MAX};
    struct pool pool = {.before = false};
    struct rate *open = NULL;
    uint64_t set = 0, behind = last_missed(chase);
    uint64_t ahead = geometry->hides_misses && behind != UINT64_MAX
                         ? geometry->sector_bytes + geometry->prefetch_bytes
                         : 0;

    for (size_t i = 0; i < chase->count;) {
        uint64_t address = chase->base + chase->offset_bytes[i], line = address >> line_shift;
        bool missed = chase->seen[i] == PB_OBSERVED_MISS, is_new = line != visit.line;
        bool is_hidden = !missed && address - behind < ahead;

        if (chase->seen[i] == PB_OBSERVED_NEITHER) { /* it may have been a miss */
            if (!all_open)
                sets->missed[set_of(sets, geometry, address)]++;
            visit.line = visit.sector = UINT64_MAX;
            i++;
            continue;
        }
        if (all_open)
            open = pool.by_rank[NO_RANK];
        else if (is_new || geometry->hides_misses)
            open = open_rates(chase, geometry, sets, address, &pool, &set);
        sets->missed[set] += is_new && missed;
        behind = missed ? address : behind;
        if (open != NULL && is_hidden) {
            visit.line = line;
            visit.sector = address >> sector_shift;
            i++;
            continue;
        }
        if (open != NULL) {
            take_load(geometry, line, address >> sector_shift, missed, open, &visit, &pool, fit);
            i++;
        } else {
            visit.line = line;
            visit.has_missed = false;
        }
        if (open == NULL || (!visit.has_missed && !geometry->hides_misses)) {
            i = count_rest(chase, i, line, line_shift, &fit->hits, &fit->hits_wrong);
        } else if (visit.has_missed && !visit.is_first && !geometry->hides_misses &&
                   chase->stride_bytes >= geometry->sector_bytes) {
            size_t loads = 0, misses = 0;

            i = count_rest(chase, i, line, line_shift, &loads, &misses);
            fit->misses += loads;
            fit->misses_wrong += loads - misses;
        }
    }
    add_pool(&pool, all_open, pools);
}

/*
 * Lines too many for their sets of which a pass shows no miss. One in pieces need not, of a few:
 * each is another run, and where victims are drawn, each may miss others.
 */
static void add_lacking(size_t lacking, bool may_be_silent, struct pb_geometry_fit *fit)
{
    if (!may_be_silent) {
        fit->lacking += lacking;
        return;
    }
    fit->open += pb_sweep_log_silence((double)lacking);
    fit->open_at_best += pb_sweep_log_silence((double)lacking);
}

static void score_sweep(const struct pb_cache_chase *chase, const struct pb_geometry *geometry,
                        struct sets *sets, struct pools *pools, struct pb_geometry_fit *fit)
{
    bool is_whole = chase->kind == PB_CHASE_SWEEP;
    bool all_open = !is_whole || geometry->index == PB_INDEX_UNKNOWN;

    if (is_whole)
        fill_sets(geometry, chase->base, chase->array_bytes, chase->stride_bytes, sets);
    if (is_whole && !all_open && sets->overfull == 0) {
        fit->hits += chase->count;
        fit->hits_wrong += chase->misses;
        return;
    }
    score_loads(chase, geometry, all_open, sets, pools, fit);
    if (!is_whole || (all_open && geometry->sets > 1))
        return;
    if (geometry->hides_misses && chase->misses > 0)
        return; /* what is lacking may have been prefetched */
    add_lacking(count_lacking(geometry, sets), chase->in_pieces && chase->misses > 0, fit);
}

/*
 * The lines of an array in sets that it overfills by itself, but for those that are background,
 * whose misses are left out.
 */
static size_t count_overfull(const struct pb_cache_chases *chases,
                             const struct pb_geometry *geometry, const struct sets *sets)
{
    uint64_t line = UINT64_MAX;
    size_t lines = 0;

    for (uint64_t set = 0; set < geometry->sets && sets->overfull > 0; set++)
        lines += sets->lines[set] > pb_geometry_ways(geometry, set) ? sets->lines[set] : 0;
    for (size_t i = 0; i < chases->background_count && lines > 0; i++) {
        bool is_new = quotient(chases->background[i], geometry->line_bytes) != line;
        uint64_t set = set_of(sets, geometry, chases->background[i]);

        line = quotient(chases->background[i], geometry->line_bytes);
        lines -= is_new && sets->lines[set] > pb_geometry_ways(geometry, set);
    }
    return lines;
}

/* The open loads of a pass: of sets that the added line overfills, or the array by itself. */
static size_t count_open(const struct pb_cache_chase *chase, const struct pb_geometry *geometry,
                         const struct sets *sets, const struct conflict *conflict,
                         struct pool *pool)
{
    uint64_t each = sectors_each(chase, geometry);
    uint64_t of_rank = ranks_loads(chase, geometry) ? 1 : each;
    size_t elsewhere = sets->open_lines, open = 0;

    if (geometry->index == PB_INDEX_UNKNOWN) {
        pool->by_rank[NO_RANK][0].open += chase->count - 1;
        return chase->count - 1;
    }
    if (conflict->excess > 0) {
        size_t lines = sets->lines[conflict->set];
        bool ranked = has_ranks(chase, geometry, sets, conflict->set);

        if (!ranked)
            pool->by_rank[NO_RANK][0].open += lines * each;
        for (size_t rank = 0; ranked && rank * of_rank < lines * each; rank++)
            pool->by_rank[rank][0].open += of_rank;
        open = lines * each;
        if (lines > pb_geometry_ways(geometry, conflict->set))
            elsewhere -= lines < elsewhere ? lines : elsewhere;
    }
    pool->elsewhere.open += elsewhere * each;
    return open + elsewhere * each;
}

/* sets[] hold the array's lines; *background counts misses that only background explains. */
static void score_conflict(const struct pb_cache_chases *chases, const struct pb_cache_chase *chase,
                           const struct pb_geometry *geometry, const struct sets *sets,
                           struct pool *pool, size_t *background, struct pb_geometry_fit *fit)
{
    bool all_open = geometry->index == PB_INDEX_UNKNOWN;
    bool by_line = !chase->is_shuffled && !geometry->hides_misses;
    size_t lines = 0;
    uint64_t before = UINT64_MAX, each = sectors_each(chase, geometry);
    struct conflict conflict = find_conflict(chase, geometry, sets);
    struct turns turns;
    size_t open, missed = 0, other = 0;

    turns.set = UINT64_MAX; /* its places are not to be cleared */
    turns.count = 0;
    open = count_open(chase, geometry, sets, &conflict, pool);
    for (size_t i = 0; i < chase->misses; i++) {
        uint64_t address = chases->missing[chase->first_missing + i];
        uint64_t line = quotient(address, geometry->line_bytes);
        uint64_t set = set_of(sets, geometry, address);
        bool is_own = all_open || (conflict.excess > 0 && set == conflict.set);
        bool is_open = is_own || sets->lines[set] > pb_geometry_ways(geometry, set);
        struct rate *rate;

        if (!is_own && pb_cache_chases_is_background(chases, address)) {
            (*background)++;
            continue;
        }
        rate = is_own ? pool->by_rank[rank_of(chase, geometry, sets, set, address, &turns)]
                      : &pool->elsewhere;
        other += !is_open;
        fit->elsewhere += is_open && !is_own;
        missed += is_open;
        rate->missed += is_open;
        lines += is_open && line != before;
        before = line;
    }
    if (by_line && each > 1) { /* the array may end in the midst of a line */
        fit->misses += lines * each - lines;
        fit->misses_wrong += lines * each > missed + each ? lines * each - missed - each : 0;
    }
    fit->conflicts += conflict.excess > 0 &&
                      sets->lines[conflict.set] <= pb_geometry_ways(geometry, conflict.set);
    fit->hits += chase->count - 1 > open ? chase->count - 1 - open : 0;
    fit->hits_wrong += other;
    if (!all_open && !geometry->hides_misses && conflict.excess > lines + chase->added_missed)
        add_lacking(conflict.excess - lines - chase->added_missed, chase->in_pieces, fit);
    if (!all_open && conflict.excess == 0 && chase->added_missed) {
        fit->hits++;
        fit->hits_wrong++;
    }
}

/* Whatever more is added: is the log likelihood less by now? */
static bool is_lost(const struct pb_geometry_fit *fit, double least)
{
    double wrong = (double)fit->hits_wrong, hits = (double)fit->hits;
    double noise = fmax(log_at_rate(false, wrong, hits), log_at_rate(true, wrong, hits));

    return pb_geometry_log_likelihood(fit) - pb_geometry_log_noise(fit->hits_wrong, fit->hits) +
               noise <
           least;
}

enum pb_status pb_geometry_score(const struct pb_cache_chases *chases,
                                 const struct pb_geometry *geometry, enum pb_chase_kind kind,
                                 uint64_t most_bytes, size_t every, double least,
                                 struct pb_geometry_fit *fit, struct pb_error *err)
{
    const struct pb_cache_chase *filled = NULL;
    size_t seen = 0, background = 0;
    double exceptions = 0.0; /* lines that only background explains, in every pass */
    struct pool conflicts[2] = {{.elsewhere = {0, 0}}}; /* in order, and in a drawn order */
    struct pools pools = {.elsewhere = 0.0};
    double pooled = 0.0;
    struct sets sets;
    enum pb_status status = sets_open(geometry, count_lines(chases, geometry, kind), &sets, err);

    for (size_t i = 0; status == PB_OK && i < chases->count; i++) {
        const struct pb_cache_chase *chase = &chases->items[i];

        if (chase->kind != kind || chase->array_bytes > most_bytes || seen++ % every != 0)
            continue;
        if (kind != PB_CHASE_CONFLICT) {
            score_sweep(chase, geometry, &sets, &pools, fit);
            if (least > -INFINITY) {
                fit->open -= pooled;
                pooled = log_of_pools(&pools);
                fit->open += pooled;
                if (is_lost(fit, least))
                    break;
            }
            continue;
        }
        if (filled == NULL || filled->array_bytes != chase->array_bytes ||
            filled->base != chase->base) {
            fill_sets(geometry, chase->base, chase->array_bytes, chase->stride_bytes, &sets);
            sets.open_lines = count_overfull(chases, geometry, &sets);
        }
        filled = chase;
        score_conflict(chases, chase, geometry, &sets, &conflicts[chase->is_shuffled], &background,
                       fit);
    }
    for (size_t i = 0; i < 2 && kind == PB_CHASE_CONFLICT; i++)
        add_pool(&conflicts[i], false, &pools);
    fit->open += log_of_pools(&pools) - pooled;
    fit->open_at_best += pools.at_best;
    if (kind == PB_CHASE_CONFLICT && seen > 0)
        exceptions = (double)background * (double)every / (double)seen;
    fit->open += exceptions * log(PB_EXCEPTION);
    fit->open_at_best += exceptions * log(PB_EXCEPTION);
    if (status == PB_OK)
        free(sets.lines);
    return status;
}

/*
 * A conflict's own set. In pieces, each of another run, only a set that is too full: a miss of one
 * run alone says nothing of the others.
 */
static void tally_conflict(const struct pb_cache_chases *chases, const struct pb_cache_chase *chase,
                           const struct pb_geometry *geometry, const struct sets *sets,
                           size_t lines_most, struct pb_set_passes *tallies)
{
    struct conflict conflict = find_conflict(chase, geometry, sets);
    size_t lines = conflict.lines < lines_most ? conflict.lines : lines_most;
    struct pb_set_passes *tally = &tallies[conflict.set * (lines_most + 1) + lines];
    bool missed = chase->added_missed;

    if (chase->in_pieces && conflict.excess == 0)
        return;
    for (size_t i = 0; i < chase->misses && !missed; i++) {
        uint64_t address = chases->missing[chase->first_missing + i];

        missed = set_of(sets, geometry, address) == conflict.set &&
                 !pb_cache_chases_is_background(chases, address);
    }
    tally->passes++;
    tally->missed += missed;
}

/* All sets of a sweep but those of which it is open whether a line missed. */
static void tally_sweep(const struct pb_cache_chase *chase, const struct pb_geometry *geometry,
                        struct sets *sets, size_t lines_most, struct pb_set_passes *tallies)
{
    enum { MISSED = 1, OPEN = 2 };

    for (size_t i = 0; i < chase->count; i++)
        if (chase->seen[i] != PB_OBSERVED_HIT)
            sets->missed[set_of(sets, geometry, chase->base + chase->offset_bytes[i])] |=
                chase->seen[i] == PB_OBSERVED_MISS ? MISSED : OPEN;
    for (uint64_t set = 0; set < geometry->sets; set++) {
        size_t lines = sets->lines[set] < lines_most ? sets->lines[set] : lines_most;
        struct pb_set_passes *tally = &tallies[set * (lines_most + 1) + lines];

        tally->passes += sets->missed[set] != OPEN;
        tally->missed += (sets->missed[set] & MISSED) != 0;
    }
}

enum pb_status pb_geometry_tally_sets(const struct pb_cache_chases *chases,
                                      const struct pb_geometry *geometry, size_t lines_most,
                                      struct pb_set_passes *tallies, struct pb_error *err)
{
    size_t conflict_lines = count_lines(chases, geometry, PB_CHASE_CONFLICT),
           sweep_lines = count_lines(chases, geometry, PB_CHASE_SWEEP);
    struct sets sets;
    enum pb_status status = sets_open(
        geometry, conflict_lines > sweep_lines ? conflict_lines : sweep_lines, &sets, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < chases->count; i++) {
        const struct pb_cache_chase *chase = &chases->items[i];

        if (chase->kind == PB_CHASE_PART || (chase->in_pieces && chase->kind != PB_CHASE_CONFLICT))
            continue;
        fill_sets(geometry, chase->base, chase->array_bytes, chase->stride_bytes, &sets);
        if (chase->kind == PB_CHASE_CONFLICT)
            tally_conflict(chases, chase, geometry, &sets, lines_most, tallies);
        else
            tally_sweep(chase, geometry, &sets, lines_most, tallies);
    }
    free(sets.lines);
    return PB_OK;
}
