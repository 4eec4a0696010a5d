/* The line alone; see line.h. */
#include "analysis/cache/line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/statistics/likelihood.h"

/* What says what the line is. */
struct evidence {
    const struct pb_cache_chases *chases;
    struct pb_geometry_hints hints;
    const struct pb_tally *background;
    bool is_prefetched;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * Of places only what lies within so many bytes counts, and each of these no more than so often:
 * sets repeat, and so do the ends of arrays.
 */
enum { PLACES_UNIT = 4096 };

/* Runs of so many sectors may as well be a spike's, or two spikes'. */
enum { SPIKES_RUN = 2 };

/* Where hits and misses meet in a pass: a multiple of its unit, the sector or the stride. */
struct place {
    uint64_t at, unit;
    unsigned run; /* sectors that miss or hit alike before or behind it, SPIKES_RUN + 1 at most */
};

struct places {
    struct place *items;
    size_t count;
    uint64_t unit; /* the least of them */
};

static int by_place(const void *a, const void *b)
{
    const struct place *left = a, *right = b;

    if (left->at != right->at)
        return left->at > right->at ? 1 : -1;
    if (left->unit != right->unit)
        return left->unit > right->unit ? 1 : -1;
    return (int)right->run - (int)left->run;
}

/* The places of one chase: first loads of sectors that are not like those of the sector before. */
static size_t add_places(const struct pb_cache_chase *chase, const struct pb_geometry_hints *hints,
                         struct place *places)
{
    uint64_t unit = most(hints->sector_bytes, chase->stride_bytes);
    uint64_t before = UINT64_MAX, prefetched = 0;
    unsigned char seen = PB_OBSERVED_NEITHER;
    size_t count = 0;

    for (size_t i = 0; i < chase->count; i++) {
        uint64_t here = chase->base + chase->offset_bytes[i], sector = here / unit;
        bool is_next = sector == before + 1, is_covered = here < prefetched;

        if (sector == before)
            continue;
        if (chase->seen[i] == PB_OBSERVED_MISS)
            prefetched = (sector + 1) * unit + hints->prefetch_bytes;
        /* behind what was prefetched a line may be missing in its midst */
        if (is_next && seen != PB_OBSERVED_NEITHER && chase->seen[i] != PB_OBSERVED_NEITHER &&
            seen != chase->seen[i] &&
            (hints->prefetch_bytes == 0 ||
             (chase->seen[i] == PB_OBSERVED_MISS && !is_covered && here - unit >= prefetched))) {
            uint64_t run = count > 0 ? (here - places[count - 1].at) / unit : UINT64_MAX;

            run = least(run, SPIKES_RUN + 1);
            if (count > 0)
                places[count - 1].run = (unsigned)least(places[count - 1].run, run);
            places[count++] = (struct place){here, unit, (unsigned)run};
        }
        before = sector;
        seen = chase->seen[i];
    }
    return count;
}

/*
 * Spikes among hits are places either side of their run. Where noise makes as many runs of a length
 * as there are, these say nothing of lines: the places of the others are kept. Returns how many.
 */
static size_t drop_spikes(struct place *places, size_t count, size_t hits,
                          const struct pb_tally *background)
{
    struct pb_tally noise = {1, 0, 1};

    for (unsigned run = 1; run <= SPIKES_RUN; run++) {
        struct pb_tally alone = {hits, hits, 0};
        size_t of_run = 0, kept = 0;

        noise.accesses *= background->accesses;
        noise.misses *= background->misses;
        for (size_t i = 0; i < count; i++)
            of_run += places[i].run == run;
        alone.misses = of_run / 2;
        alone.accesses += alone.misses;
        if (pb_tally_exceeds(&alone, &noise) ||
            pb_tally_surprise(&alone, background) <= PB_MISSES_BY_CHANCE)
            continue;
        for (size_t i = 0; i < count; i++)
            if (places[i].run != run)
                places[kept++] = places[i];
        count = kept;
    }
    return count;
}

/* Of chases that miss more often than noise makes hits look like it. */
static enum pb_status list_places(const struct evidence *evidence, struct places *places_out,
                                  struct pb_error *err)
{
    const struct pb_cache_chases *chases = evidence->chases;
    const struct pb_geometry_hints *hints = &evidence->hints;
    struct place *places = malloc((pb_cache_chases_loads(chases) + 1) * sizeof(*places));
    size_t count = 0, kept = 0, of_place = 0, hits = 0;
    uint64_t last = 0, unit = UINT64_MAX;

    if (places == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu places",
                       pb_cache_chases_loads(chases));
    for (size_t i = 0; i < chases->count; i++) {
        struct pb_tally tally = {chases->items[i].count, 0, chases->items[i].misses};

        if (chases->items[i].kind == PB_CHASE_CONFLICT)
            continue;
        unit = least(unit, most(hints->sector_bytes, chases->items[i].stride_bytes));
        if (!pb_tally_exceeds(&tally, evidence->background))
            continue;
        count += add_places(&chases->items[i], hints, places + count);
        hits += chases->items[i].count - chases->items[i].misses;
    }
    count = drop_spikes(places, count, hits, evidence->background);
    qsort(places, count, sizeof(*places), by_place);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || places[i].at != last) {
            last = places[i].at;
            places[kept] = places[i];
            places[kept++].at = last % PLACES_UNIT;
        }
    count = kept;
    kept = 0;
    qsort(places, count, sizeof(*places), by_place);
    for (size_t i = 0; i < count; i++) {
        of_place = i > 0 && places[i].at == last ? of_place + 1 : 1;
        last = places[i].at;
        if (of_place <= PB_FEW)
            places[kept++] = places[i];
    }
    *places_out = (struct places){places, kept, unit};
    return PB_OK;
}

/*
 * Log likelihood of the places, by single sectors or not, under a line and a share of noise. Of
 * those on lines this share lies at the even ones.
 */
static double likelihood_at(const struct places *places, uint64_t line, bool is_single,
                            double noise, double even_share)
{
    double sum = 0.0;

    for (size_t i = 0; i < places->count; i++) {
        const struct place *place = &places->items[i];
        double ratio = (double)most(line, place->unit) / (double)place->unit;

        if (line >= place->unit)
            ratio *= 2.0 * (place->at % (2 * line) == 0 ? even_share : 1.0 - even_share);
        if ((place->run == 1) == is_single)
            sum += log(noise + (place->at % line == 0 ? (1.0 - noise) * ratio : 0.0));
    }
    return sum;
}

/*
 * Log likelihood of the places under a line, but for a constant. They are multiples of it, or of
 * the unit that they were seen in where that is longer, but for noise, which lies anywhere. Its
 * share is integrated out: of those that come in pairs about a spike that joins a line's other
 * sectors it is an exception's on average; of those about a spike alone all shares are possible.
 */
static double likelihood_of_lines(const struct places *places, uint64_t line, double even_share)
{
    enum { STEPS = 64 };
    double sum = 0.0;

    for (int is_single = 0; is_single < 2; is_single++) {
        double right = is_single ? 1.0 : 0.5 / PB_EXCEPTION - 0.5, total = -INFINITY;

        for (int i = 0; i < STEPS; i++) { /* by its root: Beta(1/2, right) */
            double root = (i + 0.5) / STEPS, noise = root * root;

            total = pb_add_likelihoods(total,
                                       likelihood_at(places, line, is_single, noise, even_share) +
                                           (right - 1.0) * log1p(-noise));
        }
        sum += total - log(STEPS);
    }
    return sum;
}

/*
 * The same where lines may come and go in pairs, as L2's of H100s do: then more places lie at even
 * ones than at others, at a share that may be any. In 14 runs of H100s all of 37 to 114 places did,
 * or all but 1 to 15 of 63 to 85.
 */
static double likelihood_of_places(const struct places *places, uint64_t line)
{
    enum { STEPS = 8 };
    double pairs = -INFINITY;

    for (int i = 0; i < STEPS; i++)
        pairs = pb_add_likelihoods(
            pairs, likelihood_of_lines(places, line, 0.5 + (i + 0.5) / (2.0 * STEPS)));
    return pb_add_likelihoods(likelihood_of_lines(places, line, 0.5),
                              pairs + log(PB_EXCEPTION / STEPS));
}

/*
 * How many misses passes over an eighth more than fits, or over longer arrays, lack that a line of
 * this length must have, whatever the index.
 */
static enum pb_status count_lacking(const struct evidence *evidence, uint64_t line,
                                    size_t *lacking_out, struct pb_error *err)
{
    const struct pb_geometry geometry = {.line_bytes = line,
                                         .sector_bytes = line,
                                         .hides_misses = evidence->is_prefetched,
                                         .index = PB_INDEX_UNKNOWN,
                                         .sets = 1,
                                         .ways = evidence->hints.fits_bytes > 0
                                                     ? evidence->hints.fits_bytes / line + 1
                                                     : UINT32_MAX};
    struct pb_geometry_fit fit = {.open = 0.0};
    enum pb_status status = pb_geometry_score(evidence->chases, &geometry, PB_CHASE_SWEEP,
                                              UINT64_MAX, 1, -INFINITY, &fit, err);

    *lacking_out = fit.lacking;
    return status;
}

/* The lines that are possible, by their likelihood; *bound_out is the first that passes exclude. */
static enum pb_status list_lines(const struct evidence *evidence, const struct places *places,
                                 uint64_t shortest, struct pb_hypotheses *lines,
                                 uint64_t *bound_out, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    /* Misses that passes lack of the shortest line, too: more may fit than was thought. What is
     * prefetched hides misses of any line, and leaves the line open instead. */
    size_t of_any = 0;

    *bound_out = 0;
    for (uint64_t line = shortest; status == PB_OK && line <= PB_LINE_MAX; line *= 2) {
        struct pb_hypothesis hypothesis = {.geometry = {.line_bytes = line}};
        size_t lacking;

        status = count_lacking(evidence, line, &lacking, err);
        if (line == shortest && !evidence->is_prefetched)
            of_any = lacking;
        if (status == PB_OK && line > shortest && lacking >= of_any + PB_FEW) {
            *bound_out = line;
            break;
        }
        hypothesis.log_likelihood =
            likelihood_of_places(places, line) + pb_geometry_prior_of_line(line);
        if (status == PB_OK)
            status = pb_hypotheses_add(lines, &hypothesis, err);
    }
    pb_hypotheses_sort(lines);
    return status;
}

/* The line that all places keep to: nothing is left to noise. */
static double line_without_noise(const struct places *places, uint64_t line)
{
    for (size_t i = 0; i < places->count && line > 1; i++)
        while (places->items[i].at % line != 0)
            line /= 2;
    return (double)line;
}

static size_t count_multiples(const struct places *places, uint64_t line)
{
    size_t count = 0;

    for (size_t i = 0; i < places->count; i++)
        count += places->items[i].at % line == 0;
    return count;
}

/*
 * Where too few places show the line: by passes of longer strides alone, or not at all. A pass
 * lacks no line that is shorter than its stride; what is prefetched hides misses of any line.
 */
static void state_line_of_strides(struct pb_parameter *answer, size_t places, uint64_t sector,
                                  uint64_t shortest, uint64_t bound, bool is_prefetched)
{
    double longest = (double)bound / 2.0;
    struct pb_estimate line = {longest, (double)sector, is_prefetched ? PB_LINE_MAX : longest};

    if (bound > shortest)
        pb_parameter_set_number(answer, line, 0.5,
                                "the longest line of which no pass by longer strides lacks misses; "
                                "%zu boundaries between hits and misses%s",
                                places,
                                is_prefetched ? "; prefetched lines may lack them, too" : "");
    else
        pb_parameter_set_none(answer,
                              "too few observations: %zu boundaries between hits and misses, which "
                              "may be multiples of any line by chance",
                              places);
}

/* What the places leave open is said at once: another reason makes it no less likely. */
static void state_line_of_places(struct pb_parameter *answer, const struct pb_hypotheses *lines,
                                 const struct places *places, uint64_t sector, bool is_sector_open,
                                 uint64_t bound)
{
    uint64_t line = lines->items[0].geometry.line_bytes;
    size_t multiples = count_multiples(places, line);
    struct pb_votes votes = {0, 0};
    const char *why = NULL;
    char method[PB_MESSAGE_LENGTH];
    double low, high;

    snprintf(method, sizeof(method),
             "%zu of %zu places where hits and misses meet are multiples of it; passes by longer "
             "strides exclude lines from %llu bytes on",
             multiples, places->count, (unsigned long long)bound);
    pb_votes_add_share(&votes, multiples, places->count, PB_PIECES_MAX);
    pb_hypotheses_state(answer, lines, pb_geometry_line, pb_votes_confidence(&votes), method);
    low = answer->numbers[0].low;
    high = answer->numbers[0].high;
    if (multiples < places->count) {
        low = fmin(low, line_without_noise(places, line));
        why = "less where the other places are no noise";
    }
    if (places->unit > sector) {
        low = (double)sector;
        why = "less, since no pass has a shorter stride";
    }
    if (is_sector_open) {
        high = (double)PB_LINE_MAX;
        why = "where lines are prefetched in part, places show the sector";
    }
    if (why != NULL)
        pb_parameter_widen(answer, low, high, why);
}

enum pb_status pb_line_infer(const struct pb_cache_chases *chases,
                             const struct pb_geometry_hints *hints,
                             const struct pb_tally *background, struct pb_parameter *answer,
                             struct pb_error *err)
{
    struct evidence evidence = {chases, *hints, background, hints->prefetch_bytes > 0};
    uint64_t sector = most(hints->sector_bytes, PB_SECTOR_MIN), shortest, line, bound = 0;
    struct pb_hypotheses lines = {NULL, 0, 0};
    struct places places = {NULL, 0, 0};
    enum pb_status status = list_places(&evidence, &places, err);

    if (status == PB_OK && places.count <= PB_FEW && evidence.is_prefetched) {
        free(places.items); /* some prefetch at first use only */
        places.items = NULL;
        evidence.hints.prefetch_bytes = 0;
        status = list_places(&evidence, &places, err);
    }
    shortest = most(sector, places.unit);
    if (status == PB_OK)
        status = list_lines(&evidence, &places, shortest, &lines, &bound, err);
    line = lines.count > 0 ? lines.items[0].geometry.line_bytes : 0;
    if (status == PB_OK && (places.count <= PB_FEW || line == 0))
        state_line_of_strides(answer, places.count, sector, shortest, bound,
                              evidence.is_prefetched);
    else if (status == PB_OK)
        state_line_of_places(
            answer, &lines, &places, sector,
            evidence.is_prefetched || (line == shortest && hints->sector_bytes == 0), bound);
    free(places.items);
    pb_hypotheses_clear(&lines);
    return status;
}
