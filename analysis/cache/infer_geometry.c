/*
 * line_bytes, sector_bytes, fetch_bytes, set_count, way_counts, index_kind and index_masks of a
 * cache: one hypothesis (geometry.h), the likeliest of those that its recordings suggest
 * (propose.h).
 *
 * Where no conflicts were recorded (a large L2 is sampled) or no index explains them, only the line
 * is stated (line.h).
 *
 * Source: N14 section 5.1; M16 sections 4.2 (stages 1 and 2), 4.3 and 4.5.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/fetch.h"
#include "analysis/cache/line.h"
#include "analysis/cache/unequal.h"
#include "analysis/confidence.h"
#include "analysis/constants.h"
#include "analysis/statistics/likelihood.h"

/* Hypotheses of each line that are scored by sweeps. */
enum { CANDIDATES = 16 };

enum { SOURCES = 3 }; /* tests of the row: line, sets, capacity */

/* Of larger caches equal sets are not compared with whole passes: it bounds the time. */
enum { EQUAL_MAX_BYTES = 1 << 20 };

/* All that is known of one cache. */
struct scene {
    struct pb_cache_chases chases;
    struct pb_geometry_hints hints;
    struct pb_hypotheses hypotheses;
    struct pb_unequal unequal;     /* ways of the likeliest one, where it has others */
    struct pb_estimate line, ways; /* of the likeliest and its rivals, which predict the same */
    struct pb_fetch fetch;
    struct pb_tally background; /* of the references: hits that look like misses */
    uint64_t most_bytes;        /* of the arrays that count: longer ones fill the store */
};

/* What a parameter of the memory that is one number has, in an interval that reaches so far. */
static void widen(const struct pb_case *at, const char *name, double low, double high,
                  const char *why)
{
    struct pb_parameter *answer = pb_parameters_find(at->parameters, at->inference->memory, name);

    if (answer != NULL && answer->kind == PB_VALUE_NUMBER &&
        (low < answer->numbers[0].low || high > answer->numbers[0].high))
        pb_parameter_widen(answer, fmin(answer->numbers[0].low, low),
                           fmax(answer->numbers[0].high, high), why);
}

/*
 * What the first constant cache fetches comes from the second one at once: smaller sectors of that
 * one, and lines, would look the same.
 */
static void widen_behind_constants(const struct pb_case *at, const struct pb_fetch *fetch)
{
    static const char *const names[] = {"sector_bytes", "fetch_bytes", "line_bytes"};
    double before = pb_parameters_number(at->parameters, "constant_l1", "fetch_bytes");

    if (strcmp(at->inference->memory, "constant_l15") != 0 || (double)fetch->sector_bytes > before)
        return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        widen(at, names[i], PB_SECTOR_MIN, 0.0,
              "less where the first constant cache requests several at once");
}

static void state_fetch(const struct pb_case *at, const struct pb_fetch *fetch)
{
    struct pb_parameter *sector = pb_case_answer(at, "sector_bytes");
    struct pb_parameter *both[2] = {pb_case_answer(at, "fetch_bytes"), sector};
    double bytes = (double)fetch->sector_bytes;
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, fetch->agreeing, fetch->predicted, PB_PIECES_MAX);
    for (size_t i = 0; i < 2; i++) {
        if (fetch->sector_bytes == 0)
            pb_parameter_set_none(both[i],
                                  "too few observations: %zu misses in %zu loads of a cold pass "
                                  "have no common distance",
                                  fetch->misses, fetch->loads);
        else if (fetch->sector_bytes <= fetch->step_bytes)
            pb_parameter_set_none(both[i],
                                  "sweep resolution too coarse: misses lie no further apart than "
                                  "the stride of the cold pass, %llu bytes",
                                  (unsigned long long)fetch->step_bytes);
        else
            pb_parameter_set_number(both[i], (struct pb_estimate){bytes, bytes, bytes},
                                    fetch->posterior * pb_votes_confidence(&votes),
                                    "cold passes from both ends by %llu bytes: %zu of %zu misses "
                                    "as predicted, with a prefetch of %llu bytes",
                                    (unsigned long long)fetch->step_bytes, fetch->agreeing,
                                    fetch->predicted, (unsigned long long)fetch->prefetch_bytes);
    }
    if (strcmp(at->inference->memory, "l2") == 0 && fetch->sector_bytes > PB_SECTOR_MIN)
        pb_parameter_set_number(
            sector, (struct pb_estimate){bytes, (double)PB_SECTOR_MIN, bytes},
            fetch->posterior * pb_votes_confidence(&votes) / 2.0,
            "a cold miss brings in %.0f bytes; smaller sectors, several of which come at once, "
            "would look the same",
            bytes);
}

/* least: see pb_geometry_score() */
static enum pb_status add_score(const struct scene *scene, struct pb_hypothesis *hypothesis,
                                enum pb_chase_kind kind, size_t every, double least,
                                struct pb_error *err)
{
    double before = pb_geometry_log_likelihood(&hypothesis->fit);
    enum pb_status status =
        pb_geometry_score(&scene->chases, &hypothesis->geometry, kind, scene->most_bytes, every,
                          least, &hypothesis->fit, err);

    hypothesis->log_likelihood += pb_geometry_log_likelihood(&hypothesis->fit) - before;
    return status;
}

/* Only so many of the conflicts that all hypotheses together take so many misses and passes. */
static size_t every_of(const struct scene *scene, size_t work)
{
    return 1 + (scene->chases.missing_count + scene->chases.of_kind[PB_CHASE_CONFLICT]) / work;
}

/* Only the best few of each line. */
static void keep_best(struct pb_hypotheses *hypotheses, size_t few)
{
    size_t kept = 0, of_line[64] = {0};

    pb_hypotheses_sort(hypotheses);
    for (size_t i = 0; i < hypotheses->count; i++) {
        size_t *seen = &of_line[__builtin_ctzll(hypotheses->items[i].geometry.line_bytes)];

        if (++*seen <= few)
            hypotheses->items[kept++] = hypotheses->items[i];
    }
    hypotheses->count = kept;
}

/* What one has to be as likely as behind so many that are scored, to be one of the best few. */
static double least_to_keep(const struct pb_hypotheses *hypotheses, size_t scored, size_t few)
{
    double best[CANDIDATES];

    for (size_t i = 0; i < CANDIDATES; i++)
        best[i] = -INFINITY;
    for (size_t k = 0; k < scored; k++) {
        double here = hypotheses->items[k].log_likelihood;

        if (hypotheses->items[k].geometry.line_bytes !=
            hypotheses->items[scored].geometry.line_bytes)
            continue;
        for (size_t i = 0; i < few; i++) {
            double other = best[i];

            best[i] = fmax(here, other);
            here = fmin(here, other);
        }
    }
    return best[few - 1];
}

/*
 * Scores all by every so manieth chase, which stands for the others, and keeps the best few of each
 * line.
 */
static enum pb_status add_estimate(const struct scene *scene, struct pb_hypotheses *hypotheses,
                                   enum pb_chase_kind kind, size_t every, size_t few,
                                   struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < hypotheses->count && status == PB_OK; i++) {
        double *here = &hypotheses->items[i].log_likelihood, before = *here;
        double least = (least_to_keep(hypotheses, i, few) - before) / (double)every;

        least += pb_geometry_log_likelihood(&hypotheses->items[i].fit);
        status = add_score(scene, &hypotheses->items[i], kind, every, least, err);
        *here += (double)(every - 1) * (*here - before);
    }
    keep_best(hypotheses, few);
    return status;
}

/* The arrays of the conflicts: those that fill the cache, and where they were taken shorter ones.
 */
static void span_arrays(const struct scene *scene, uint64_t *least_out, uint64_t *most_out)
{
    *least_out = UINT64_MAX;
    *most_out = 0;
    for (size_t i = 0; i < scene->chases.count; i++) {
        const struct pb_cache_chase *chase = &scene->chases.items[i];

        if (chase->kind != PB_CHASE_CONFLICT)
            continue;
        *least_out = chase->array_bytes < *least_out ? chase->array_bytes : *least_out;
        *most_out = chase->array_bytes > *most_out ? chase->array_bytes : *most_out;
    }
}

/* Misses that a hypothesis says something of: of conflicts, and where asked of sweeps. */
static size_t count_misses(const struct scene *scene, bool with_sweeps)
{
    size_t misses = 0;

    for (size_t i = 0; i < scene->chases.count; i++) {
        const struct pb_cache_chase *chase = &scene->chases.items[i];

        if (chase->array_bytes <= scene->most_bytes &&
            (chase->kind == PB_CHASE_CONFLICT || (with_sweeps && chase->kind == PB_CHASE_SWEEP)))
            misses += chase->misses - chase->background;
    }
    return misses;
}

/* Misses that are explained, of those that there are or are said to lack. */
static size_t count_explained(const struct pb_geometry_fit *fit, size_t misses, size_t *all_out)
{
    size_t wrong = fit->hits_wrong + fit->misses_wrong + fit->lacking + fit->elsewhere;

    *all_out = misses + fit->lacking;
    return *all_out > wrong ? *all_out - wrong : 0;
}

/*
 * An L1 that shares its store with shared memory may be full before its sets are: then whatever is
 * added displaces a line, of any set. The sets are what shorter arrays show, which leave room in
 * the store; do they explain the longer ones and the sweeps, too?
 */
static enum pb_status find_store(struct scene *scene, uint64_t least, struct pb_error *err)
{
    struct pb_geometry_fit fit = {.open = 0.0};
    size_t explained, all;
    enum pb_status status =
        pb_geometry_score(&scene->chases, &scene->hypotheses.items[0].geometry, PB_CHASE_CONFLICT,
                          UINT64_MAX, 1, -INFINITY, &fit, err);

    if (status == PB_OK)
        status = pb_geometry_score(&scene->chases, &scene->hypotheses.items[0].geometry,
                                   PB_CHASE_SWEEP, UINT64_MAX, 1, -INFINITY, &fit, err);
    explained = count_explained(&fit, count_misses(scene, true), &all);
    if ((double)explained < PB_MOST * (double)all)
        scene->most_bytes = least;
    return status;
}

/* By all chases. */
static enum pb_status score_fully(const struct scene *scene, struct pb_hypothesis *hypothesis,
                                  struct pb_error *err)
{
    size_t every = every_of(scene, 16 * PB_CACHE_WORK);
    enum pb_status status;

    hypothesis->fit = (struct pb_geometry_fit){.open = 0.0};
    hypothesis->log_likelihood = hypothesis->log_prior;
    status = add_score(scene, hypothesis, PB_CHASE_CONFLICT, every, -INFINITY, err);
    hypothesis->conflicts = hypothesis->fit;
    if (status == PB_OK)
        status = add_score(scene, hypothesis, PB_CHASE_SWEEP, 1, -INFINITY, err);
    return status;
}

static enum pb_status score_finalists(struct scene *scene, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < scene->hypotheses.count && status == PB_OK; i++)
        status = score_fully(scene, &scene->hypotheses.items[i], err);
    return status;
}

/* The index without one of its masks, with so many ways. */
static struct pb_geometry without_mask(const struct pb_geometry *index, size_t i, uint64_t ways)
{
    struct pb_geometry other = *index;

    other.sets /= 2;
    other.ways = ways;
    other.mask_count--;
    memmove(&other.masks[i], &other.masks[i + 1], (other.mask_count - i) * sizeof(*other.masks));
    if (pb_geometry_is_modulo(&other)) {
        other.index = PB_INDEX_MODULO;
        other.mask_count = 0;
    }
    return other;
}

/*
 * A mask that hardly any pair of lines breaks is kept by those of any sets. Without one of its
 * masks, of as many ways or of as many lines, as long as that is likelier. Hypotheses are sorted.
 */
static enum pb_status drop_masks(struct scene *scene, struct pb_error *err)
{
    struct pb_hypotheses *hypotheses = &scene->hypotheses;
    enum pb_status status = PB_OK;
    bool again = true;

    while (again && status == PB_OK) {
        const struct pb_hypothesis best = hypotheses->items[0];

        for (size_t i = 0; i < 2 * best.geometry.mask_count && status == PB_OK; i++) {
            struct pb_hypothesis other = best;

            other.geometry = without_mask(&best.geometry, i / 2, best.geometry.ways * (1 + i % 2));
            status = score_fully(scene, &other, err);
            if (status == PB_OK && other.log_likelihood > best.log_likelihood)
                status = pb_hypotheses_add(hypotheses, &other, err);
        }
        pb_hypotheses_sort(hypotheses);
        again = hypotheses->items[0].log_likelihood > best.log_likelihood;
    }
    return status;
}

/*
 * The likeliest sets with unequal ways, where that is likelier still. Each has the ways that its
 * passes ask for: where overfull ones lack misses all the same, these are no sets (17% of them in
 * 22000063, at most 0.3% in nine devices with right ones). Where lines are fetched ahead, hits are
 * no evidence against a hypothesis (geometry.h): there the sets are compared with each other.
 */
static enum pb_status try_unequal(struct scene *scene, struct pb_error *err)
{
    struct pb_hypothesis *best = &scene->hypotheses.items[0], other = *best;
    enum pb_status status;
    bool is_other;

    if (best->geometry.index == PB_INDEX_UNKNOWN || best->conflicts.conflicts == 0)
        return PB_OK;
    status = pb_unequal_propose(&scene->chases, &best->geometry, &scene->unequal, err);
    if (status != PB_OK || scene->unequal.others == 0)
        return status;
    other.geometry.set_ways = scene->unequal.ways;
    other.log_prior += scene->unequal.log_prior;
    status = score_fully(scene, &other, err);
    if (best->geometry.hides_misses)
        is_other = PB_CACHE_INDEPENDENCE * scene->unequal.log_gain + scene->unequal.log_prior >
                   PB_SAME_PREDICTION;
    else
        is_other =
            PB_CACHE_INDEPENDENCE * (other.log_likelihood - best->log_likelihood) >
                PB_SAME_PREDICTION &&
            (double)other.conflicts.lacking <= PB_EXCEPTION * (double)other.conflicts.conflicts;
    if (is_other)
        *best = other;
    else
        scene->unequal.others = 0;
    return status;
}

static uint64_t mask_of(const struct pb_geometry *geometry, size_t i)
{
    return geometry->index == PB_INDEX_MODULO ? geometry->line_bytes << i : geometry->masks[i];
}

/* Do both put lines that lie together into the same sets, of as many bytes? */
static bool are_sets_alike(const struct pb_geometry *a, const struct pb_geometry *b)
{
    if (a->index == PB_INDEX_UNKNOWN || b->index == PB_INDEX_UNKNOWN || a->sets != b->sets ||
        (a->sets & (a->sets - 1)) != 0 || a->sector_bytes != b->sector_bytes ||
        pb_geometry_bytes(a) != pb_geometry_bytes(b))
        return false;
    for (size_t i = 0; (uint64_t)1 << i < a->sets; i++)
        if (mask_of(a, i) != mask_of(b, i))
            return false;
    return true;
}

static bool predict_same(const struct pb_geometry_fit *a, const struct pb_geometry_fit *b)
{
    return PB_CACHE_INDEPENDENCE *
               fabs(pb_geometry_log_prediction(a) - pb_geometry_log_prediction(b)) <
           PB_SAME_PREDICTION;
}

static void reach(struct pb_estimate *estimate, double value)
{
    estimate->low = fmin(estimate->low, value);
    estimate->high = fmax(estimate->high, value);
}

/*
 * Lines of twice the length, half as many in a set, miss like these where no address bit of the
 * index lies between, and all of each line is loaded: only chases that leave out a part of a line
 * tell them apart. Those that predict the same are one hypothesis, whose line is open between
 * them; its index is the simplest, the modulo of one of these lines where there is one.
 */
static void join_rivals(struct scene *scene)
{
    struct pb_hypotheses *all = &scene->hypotheses;
    struct pb_hypothesis best = all->items[0];
    double line = (double)best.geometry.line_bytes, ways = (double)best.geometry.ways;
    size_t kept = 1;

    scene->line = (struct pb_estimate){line, line, line};
    scene->ways = (struct pb_estimate){ways, ways, ways};
    for (size_t i = 1; i < all->count; i++) {
        const struct pb_hypothesis *other = &all->items[i];
        const struct pb_geometry *geometry = &other->geometry;

        if (!are_sets_alike(&best.geometry, geometry) || !predict_same(&best.fit, &other->fit)) {
            all->items[kept++] = *other;
            continue;
        }
        reach(&scene->line, (double)geometry->line_bytes);
        reach(&scene->ways, (double)geometry->ways);
        if (all->items[0].geometry.index == PB_INDEX_XOR && geometry->index == PB_INDEX_MODULO) {
            all->items[0].geometry = *geometry;
            all->items[0].fit = other->fit;
        }
    }
    all->count = kept;
}

/*
 * Any line may displace any other one, or no conflict is seen of the sets that a hypothesis has:
 * these say nothing of sets, and are one hypothesis together, without sets and ways.
 */
static void join_setless(struct pb_hypotheses *hypotheses)
{
    size_t kept = 0;
    bool is_first = true;

    for (size_t i = 0; i < hypotheses->count; i++) {
        struct pb_hypothesis *here = &hypotheses->items[i];
        bool is_setless = here->geometry.index == PB_INDEX_UNKNOWN || here->fit.conflicts == 0;

        if (is_setless && is_first) {
            here->geometry.index = PB_INDEX_UNKNOWN;
            here->geometry.sets = here->geometry.ways = here->geometry.mask_count = 0;
        }
        if (!is_setless || is_first)
            hypotheses->items[kept++] = *here;
        is_first &= !is_setless;
    }
    hypotheses->count = kept;
}

/* Is the size of a geometry one that is proposed of the shortest lines, too, where so much fits? */
static bool is_near(uint64_t bytes, uint64_t fits)
{
    return bytes <= fits + (uint64_t)PB_CACHE_EDGE_LINES * PB_SECTOR_MIN &&
           bytes + (uint64_t)PB_CACHE_EDGE_LINES * PB_SECTOR_MIN >= fits;
}

/*
 * Adds what the recordings suggest of a cache in which so much fits, scored by all chases: first by
 * the shorter arrays' conflicts alone, then by a part of the sweeps, too, since what is prefetched
 * behind the added line breaks sets in conflicts. `finds_store`: of the first search, see
 * find_store().
 */
static enum pb_status search(struct scene *scene, const struct pb_geometry_hints *hints,
                             bool finds_store, struct pb_error *err)
{
    struct pb_hypotheses *hypotheses = &scene->hypotheses, before = *hypotheses;
    size_t every = every_of(scene, PB_CACHE_WORK);
    uint64_t least, most, most_bytes = scene->most_bytes;
    enum pb_status status;

    *hypotheses = (struct pb_hypotheses){NULL, 0, 0};
    status = pb_geometry_propose(&scene->chases, hints, hypotheses, err);
    for (size_t i = 0; i < hypotheses->count; i++)
        hypotheses->items[i].log_prior = hypotheses->items[i].log_likelihood;
    span_arrays(scene, &least, &most);
    scene->most_bytes = least;
    if (status == PB_OK)
        status = add_estimate(scene, hypotheses, PB_CHASE_CONFLICT, every, CANDIDATES, err);
    scene->most_bytes = most_bytes;
    if (status == PB_OK && hypotheses->count > 0) {
        struct pb_hypothesis best = hypotheses->items[0]; /* by conflicts */

        if (finds_store && least < most)
            status = find_store(scene, least, err);
        if (status == PB_OK)
            status = add_estimate(scene, hypotheses, PB_CHASE_SWEEP,
                                  1 + pb_cache_chases_loads(&scene->chases) / (16 * PB_CACHE_WORK),
                                  PB_FEW, err);
        if (status == PB_OK) /* few sweeps that stand for many do not outweigh all conflicts */
            status = pb_hypotheses_add(hypotheses, &best, err);
    }
    if (status == PB_OK)
        status = score_finalists(scene, err);
    for (size_t i = 0; i < before.count && status == PB_OK; i++)
        status = pb_hypotheses_add(hypotheses, &before.items[i], err);
    pb_hypotheses_sort(hypotheses);
    pb_hypotheses_clear(&before);
    return status;
}

/*
 * Where the likeliest line is not the one that the battery took, its search was wrong, and decides
 * nothing between other lines either.
 */
static void level_lines(const struct scene *scene)
{
    const struct pb_hypotheses *hypotheses = &scene->hypotheses;
    uint64_t best = hypotheses->items[0].geometry.line_bytes;
    uint64_t stride = pb_geometry_stride(&scene->chases);

    for (size_t i = 1; i < hypotheses->count && best != stride; i++) {
        struct pb_hypothesis *other = &hypotheses->items[i];
        uint64_t line = other->geometry.line_bytes;
        double more = pb_geometry_prior_of_stride(&scene->chases, best) -
                      pb_geometry_prior_of_stride(&scene->chases, line);

        if (line == stride)
            continue;
        other->log_prior += more;
        other->log_likelihood += more;
    }
}

/* Sorts all hypotheses by their likelihood. */
static enum pb_status score_all(struct scene *scene, struct pb_error *err)
{
    struct pb_hypotheses *hypotheses = &scene->hypotheses;
    struct pb_hypothesis ample = {.geometry = {.line_bytes = PB_SECTOR_MIN,
                                               .sector_bytes = PB_SECTOR_MIN,
                                               .index = PB_INDEX_MODULO,
                                               .sets = 1,
                                               .ways = UINT32_MAX}}; /* all misses are noise */
    enum pb_status status = search(scene, &scene->hints, true, err);
    uint64_t bytes;

    if (status != PB_OK || hypotheses->count == 0)
        return status;
    bytes = pb_geometry_bytes(&hypotheses->items[0].geometry);
    if (!is_near(bytes, scene->hints.fits_bytes)) { /* of lines of any length */
        struct pb_geometry_hints hints = scene->hints;

        hints.fits_bytes = hints.fits_least = hints.fits_most = bytes;
        status = search(scene, &hints, false, err);
    }
    if (status == PB_OK)
        status = score_fully(scene, &ample, err);
    if (status == PB_OK)
        status = pb_hypotheses_add(hypotheses, &ample, err);
    pb_hypotheses_sort(hypotheses);
    level_lines(scene);
    pb_hypotheses_sort(hypotheses);
    if (status == PB_OK)
        status = drop_masks(scene, err);
    join_setless(hypotheses);
    if (status == PB_OK) {
        join_rivals(scene);
        status = try_unequal(scene, err);
    }
    return status;
}

static uint64_t sets_of(const struct pb_geometry *geometry)
{
    return geometry->sets;
}

static uint64_t ways_of(const struct pb_geometry *geometry)
{
    return geometry->ways;
}

static uint64_t index_of(const struct pb_geometry *geometry)
{
    return (uint64_t)geometry->index;
}

static uint64_t masks_of(const struct pb_geometry *geometry)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < geometry->mask_count; i++)
        sum = sum * 31 + geometry->masks[i];
    return geometry->index == PB_INDEX_MODULO ? geometry->sets : sum;
}

/* Bits that single pairs show are believed where noise makes so few pairs that none of them is. */
static bool is_noise_rare(const struct scene *scene, size_t thin)
{
    double noise = (double)scene->hypotheses.items[0].fit.hits_wrong;
    double pairs = (double)scene->chases.missing_count;

    return (double)thin * (noise + 0.5) <= PB_POSSIBLE_SHARE * (pairs + 1.0);
}

static void state_masks(const struct pb_case *at, const struct scene *scene, double agreement)
{
    const struct pb_geometry *best = &scene->hypotheses.items[0].geometry;
    struct pb_parameter *masks = pb_case_answer(at, "index_masks");
    struct pb_far_bits far = pb_geometry_far_bits(&scene->chases, best);
    uint64_t masks_out[64], bits = pb_geometry_varied_bits(&scene->chases);
    const char *how = "any other basis of the same space is the same index, and other bits are not "
                      "excluded";
    size_t count = 0;

    if (best->index == PB_INDEX_MODULO && (best->sets & (best->sets - 1)) != 0) {
        pb_parameter_set_none(
            masks, "not applicable: line number modulo %llu, no power of two, has no masks",
            (unsigned long long)best->sets);
        return;
    }
    if (pb_hypotheses_is_open(&scene->hypotheses, masks_of)) {
        pb_parameter_set_none(masks, "ambiguous: geometries with other masks are as possible");
        return;
    }
    if (best->index == PB_INDEX_XOR && scene->most_bytes < UINT64_MAX) {
        far = (struct pb_far_bits){far.shown | far.unseen | far.thin, 0, 0};
        bits &= ~far.shown;
        how = "higher bits depend on where pages lie";
    }
    if (is_noise_rare(scene, (size_t)__builtin_popcountll(far.thin)))
        far.thin = 0;
    if ((far.unseen | far.thin) != 0 && best->index == PB_INDEX_XOR) {
        pb_parameter_set_none(masks,
                              "too few observations: %d far lines conflicted with none, and %d "
                              "with too few others of one set: "
                              "whether their address bits belong to the index is not certain",
                              __builtin_popcountll(far.unseen), __builtin_popcountll(far.thin));
        return;
    }
    for (uint64_t set = 1; best->index == PB_INDEX_MODULO && set < best->sets; set *= 2)
        masks_out[count++] = set * best->line_bytes;
    for (size_t i = 0; i < best->mask_count; i++)
        masks_out[count++] = best->masks[i] & bits;
    pb_parameter_set_masks(masks, masks_out, count,
                           agreement *
                               pb_hypotheses_share(&scene->hypotheses, masks_of, masks_of(best)),
                           "reduced basis over the address bits of the chases, %#llx; %s",
                           (unsigned long long)bits, how);
}

/* What the tags hold; where the store of the data is smaller, a bound of the size. */
static void state_size(const struct pb_case *at, const struct scene *scene, double agreement,
                       const char *method)
{
    const struct pb_geometry *best = &scene->hypotheses.items[0].geometry;
    struct pb_parameter *size =
        pb_parameters_find(at->parameters, at->inference->memory, "size_bytes");

    if (size != NULL && scene->most_bytes == UINT64_MAX)
        pb_hypotheses_state(size, &scene->hypotheses, pb_geometry_bytes, agreement, method);
    else
        widen(at, "size_bytes", INFINITY, (double)pb_geometry_bytes(best),
              "what the sets could hold");
}

/* The longest array of the sweeps, and the longest of which so few lines miss that sets may hold
 * all of theirs. */
static void find_longest(const struct scene *scene, double line_bytes, double *longest_out,
                         double *that_hits_out)
{
    *longest_out = *that_hits_out = 0.0;
    for (size_t i = 0; i < scene->chases.count; i++) {
        const struct pb_cache_chase *chase = &scene->chases.items[i];
        double lines =
            (double)chase->count * fmin(1.0, (double)chase->stride_bytes / fmax(line_bytes, 1.0));

        if (chase->kind != PB_CHASE_SWEEP)
            continue;
        *longest_out = fmax(*longest_out, (double)chase->array_bytes);
        if ((double)chase->misses > (1.0 - PB_MOST) * lines &&
            (double)chase->misses < PB_MOST * lines)
            *that_hits_out = fmax(*that_hits_out, (double)chase->array_bytes);
    }
}

/*
 * Sets of more ways than the first one that overflows hold more, at most until all lines miss.
 * Where they do in no sweep, nothing bounds the size.
 */
static void widen_larger(const struct pb_case *at, const struct scene *scene, double line_bytes)
{
    const char *memory = at->inference->memory;
    struct pb_parameter *size = pb_parameters_find(at->parameters, memory, "size_bytes"),
                        *full = pb_parameters_find(at->parameters, memory, "full_miss_bytes");
    double longest, that_hits;

    find_longest(scene, line_bytes, &longest, &that_hits);
    if (size != NULL && full != NULL && longest == that_hits && longest > 0.0 &&
        scene->fetch.prefetch_bytes == 0 && strcmp(memory, "l2") != 0) {
        pb_parameter_set_none(
            size, "sweep too small: sets differ, and lines hit in %.0f bytes, too", longest);
        pb_parameter_set_none(full, "%s", size->reason);
        return;
    }
    widen(at, "size_bytes", INFINITY,
          fmax(that_hits, fmax(pb_parameters_number(at->parameters, memory, "full_miss_bytes"),
                               2.0 * pb_parameters_number(at->parameters, memory, "size_bytes"))),
          "more where sets have more ways than the first one that overflows");
}

static void state_unequal(const struct pb_case *at, const struct scene *scene, double agreement,
                          const char *method)
{
    const struct pb_hypotheses *hypotheses = &scene->hypotheses;
    const struct pb_geometry *best = &hypotheses->items[0].geometry;
    struct pb_parameter *size =
        pb_parameters_find(at->parameters, at->inference->memory, "size_bytes");

    widen_larger(at, scene, (double)best->line_bytes);
    pb_unequal_state(
        &scene->unequal, best, agreement * pb_hypotheses_share(hypotheses, ways_of, ways_of(best)),
        pb_case_answer(at, "way_counts"), scene->most_bytes == UINT64_MAX ? size : NULL, method);
}

static void state_geometry(const struct pb_case *at, const struct scene *scene)
{
    static const char rivals[] = "no chase leaves out a part of a line: lines of these lengths, as "
                                 "many bytes in a set, predict the same";
    const struct pb_hypotheses *hypotheses = &scene->hypotheses;
    const struct pb_geometry *best = &hypotheses->items[0].geometry;
    struct pb_votes votes = {0, 0};
    size_t explained, all;
    char method[PB_MESSAGE_LENGTH];
    double agreement;

    explained = count_explained(&hypotheses->items[0].fit, count_misses(scene, true), &all);
    pb_votes_add_share(&votes, explained, all, PB_PIECES_MAX);
    agreement = pb_votes_confidence(&votes);
    snprintf(
        method, sizeof(method),
        "likeliest of %zu geometries: %llu sets of %llu lines of %llu bytes explain %zu of %zu "
        "misses in %zu passes with one line more and %zu sweeps",
        hypotheses->count, (unsigned long long)best->sets, (unsigned long long)best->ways,
        (unsigned long long)best->line_bytes, explained, all,
        scene->chases.of_kind[PB_CHASE_CONFLICT], scene->chases.of_kind[PB_CHASE_SWEEP]);
    pb_hypotheses_state(pb_case_answer(at, "line_bytes"), hypotheses, pb_geometry_line, agreement,
                        method);
    pb_hypotheses_state(pb_case_answer(at, "set_count"), hypotheses, sets_of, agreement, method);
    pb_hypotheses_state(pb_case_answer(at, "way_counts"), hypotheses, ways_of, agreement, method);
    widen(at, "line_bytes", scene->line.low, scene->line.high, rivals);
    widen(at, "way_counts", scene->ways.low, scene->ways.high, rivals);
    state_size(at, scene, agreement, method);
    if (scene->unequal.others > 0)
        state_unequal(at, scene, agreement, method);
    if (best->sets == 1) {
        pb_parameter_set_none(pb_case_answer(at, "index_kind"),
                              "not applicable: one set needs no index");
        pb_parameter_set_none(pb_case_answer(at, "index_masks"),
                              "not applicable: one set needs no index");
        return;
    }
    if (pb_hypotheses_is_open(hypotheses, index_of))
        pb_parameter_set_none(pb_case_answer(at, "index_kind"),
                              "ambiguous: geometries with another index are as possible");
    else
        pb_parameter_set_word(pb_case_answer(at, "index_kind"),
                              best->index == PB_INDEX_MODULO ? "modulo" : "xor",
                              agreement * pb_hypotheses_share(hypotheses, index_of, index_of(best)),
                              "%.190s; over address bits of the chases, %#llx", method,
                              (unsigned long long)pb_geometry_varied_bits(&scene->chases));
    state_masks(at, scene, agreement);
}

/* Does half of what a set has of a pass miss, in most passes? */
static bool are_most_passes_full(const struct scene *scene, uint64_t sets)
{
    size_t full = 0;

    for (size_t i = 0; i < scene->chases.count; i++)
        full += scene->chases.items[i].kind == PB_CHASE_CONFLICT &&
                2 * scene->chases.items[i].misses * sets > scene->chases.items[i].count;
    return 2 * full > scene->chases.of_kind[PB_CHASE_CONFLICT];
}

/*
 * Of an overfull set some line misses, whatever its policy. Do so few as predicted that some sets
 * have more ways than the others?
 */
static bool lacks_misses(const struct scene *scene)
{
    const struct pb_geometry_fit *fit = &scene->hypotheses.items[0].conflicts;

    return (double)fit->lacking > (1.0 - PB_MOST) * (double)fit->conflicts;
}

/*
 * Does the best hypothesis explain what misses, and are the added lines' conflicts seen? A cache
 * that is too small explains any sweep. One set explains anything that misses, and sets that no
 * added line overfills show nothing of their index.
 */
static bool is_explained(const struct scene *scene, size_t *explained_out, size_t *all_out)
{
    const struct pb_hypothesis *best = &scene->hypotheses.items[0];
    size_t in_conflicts, of_conflicts;

    *explained_out = count_explained(&best->fit, count_misses(scene, true), all_out);
    in_conflicts = count_explained(&best->conflicts, count_misses(scene, false), &of_conflicts);
    if (best->geometry.sets == 0 || *all_out == 0 || pb_geometry_is_contradicted(&best->fit) ||
        pb_geometry_is_contradicted(&best->conflicts))
        return false;
    /* one set of all lines that fit says no more than that any line may displace any other one */
    if ((best->geometry.sets > 1 ||
         pb_geometry_bytes(&best->geometry) != scene->hints.fits_bytes) &&
        pb_hypotheses_share(&scene->hypotheses, sets_of, 0) >= PB_POSSIBLE_SHARE)
        return false;
    if ((double)*explained_out < PB_MOST * (double)*all_out ||
        (double)in_conflicts <
            PB_MOST * fmax((double)best->conflicts.conflicts, (double)of_conflicts) ||
        lacks_misses(scene))
        return false;
    return best->geometry.ways <= PB_CACHE_WAYS_MOST ||
           are_most_passes_full(scene, best->geometry.sets);
}

/* The longest stride of the sweep whose footprints bound the size; 0: there is none. */
static uint64_t stride_of_sweep(const struct pb_recording *capacity)
{
    uint64_t stride = 0;

    for (size_t i = 0; i < capacity->series.point_count; i++) {
        const struct pb_point *point = &capacity->series.points[i];

        if (strcmp(point->phase, "coarse") == 0 && point->stride_bytes > stride)
            stride = point->stride_bytes;
    }
    return stride;
}

/* Do any whole passes go over more than fits? */
static bool has_overflowing(const struct scene *scene)
{
    for (size_t i = 0; i < scene->chases.count; i++)
        if (scene->chases.items[i].kind == PB_CHASE_SWEEP &&
            scene->chases.items[i].array_bytes > scene->hints.fits_bytes)
            return true;
    return false;
}

/*
 * Where no index is known: are whole passes as the likeliest equal sets have them, line number
 * modulo their count, of as many bytes as fit? Then no set holds more. Passes over no more than
 * that say nothing of it. *equal_out
 */
static enum pb_status try_equal(const struct scene *scene, const struct pb_estimate *line,
                                bool *equal_out, struct pb_error *err)
{
    struct pb_geometry equal = {.index = PB_INDEX_MODULO, .line_bytes = PB_SECTOR_MIN};
    double best = -INFINITY;

    *equal_out = scene->hints.fits_bytes > EQUAL_MAX_BYTES;
    for (size_t i = 0; i < scene->chases.count; i++) /* each piece is another run */
        *equal_out |= scene->chases.items[i].in_pieces;
    if (*equal_out || !has_overflowing(scene))
        return PB_OK;
    for (; equal.line_bytes <= PB_LINE_MAX; equal.line_bytes *= 2) {
        uint64_t lines = scene->hints.fits_bytes / equal.line_bytes;

        if ((double)equal.line_bytes < line->low || (double)equal.line_bytes > line->high)
            continue;
        equal.sector_bytes = scene->hints.sector_bytes;
        if (equal.sector_bytes == 0 || equal.sector_bytes > equal.line_bytes)
            equal.sector_bytes = equal.line_bytes;
        for (equal.ways = 1; equal.ways <= lines; equal.ways++) {
            struct pb_geometry_fit fit = {.open = 0.0};
            enum pb_status status;
            double noise;

            equal.sets = lines / equal.ways;
            if (equal.sets * equal.ways != lines)
                continue;
            status = pb_geometry_score(&scene->chases, &equal, PB_CHASE_SWEEP, UINT64_MAX, 1, best,
                                       &fit, err);
            if (status != PB_OK)
                return status;
            if (pb_geometry_log_likelihood(&fit) <= best)
                continue;
            best = pb_geometry_log_likelihood(&fit);
            noise = pb_classes_most_noise(scene->chases.noise_rate * (double)fit.hits);
            *equal_out = fit.lacking == 0 && !pb_exceeds_noise((double)fit.hits_wrong, noise);
        }
    }
    return PB_OK;
}

/*
 * Do sets differ, or does one line more than fits often miss nothing, or where spikes hide that,
 * not in its set?
 */
static bool has_larger_sets(const struct scene *scene)
{
    size_t without = 0;

    for (size_t i = 0; i < scene->chases.count; i++) {
        const struct pb_cache_chase *chase = &scene->chases.items[i];

        without += chase->kind == PB_CHASE_CONFLICT && chase->misses == 0 && !chase->added_missed;
    }
    return (double)without > (1.0 - PB_MOST) * (double)scene->chases.of_kind[PB_CHASE_CONFLICT] ||
           scene->unequal.others > 0 || (scene->hypotheses.count > 0 && lacks_misses(scene));
}

/*
 * What the sweep alone says of the size, where no sets are known. The largest footprint without
 * misses is that of the smallest sets: where lines more than that miss nothing, others have more
 * ways, at most until all lines miss. Loads further apart than a line is long leave lines out, and
 * their footprint says how much fits only where the others' sets stay empty: by how much, the least
 * line bounds. What runs ahead of a load hides misses: the first ones of sets that hold less, and
 * the growth of their number before all lines miss, which with twice the size every set has at the
 * latest. Cold passes show it, whether or not a test of its own could say how far it runs.
 */
static enum pb_status bound_sizes(const struct pb_case *at, const struct scene *scene,
                                  bool is_index_open, struct pb_error *err)
{
    static const char *const names[] = {"size_bytes", "full_miss_bytes"};
    const struct pb_parameter *line = pb_case_answer(at, "line_bytes");
    const char *memory = at->inference->memory;
    double stride = (double)stride_of_sweep(&at->recordings[SOURCES - 1]);
    double least = fmax((double)scene->fetch.sector_bytes, (double)PB_SECTOR_MIN);
    struct pb_estimate lines = {least, least, PB_LINE_MAX};
    bool are_equal = true;
    enum pb_status status = PB_OK;

    if (line->kind == PB_VALUE_NUMBER)
        lines = line->numbers[0];
    least = lines.low;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && stride > least; i++) {
        const struct pb_parameter *bytes = pb_parameters_find(at->parameters, memory, names[i]);

        if (bytes != NULL)
            widen(at, names[i], bytes->numbers[0].low * least / stride, 0.0,
                  "less where lines are shorter than the sweep's stride");
    }
    if (is_index_open && scene->fetch.prefetch_bytes > 0)
        are_equal = false; /* passes do not show it */
    else if (is_index_open && scene->hints.fits_bytes > 0)
        status = try_equal(scene, &lines, &are_equal, err);
    if (has_larger_sets(scene) || !are_equal)
        widen_larger(at, scene, lines.high);
    if (scene->fetch.prefetch_bytes == 0)
        return status;
    if (scene->hypotheses.count > 0 && pb_geometry_bytes(&scene->hypotheses.items[0].geometry) > 0)
        widen(at, "size_bytes", (double)pb_geometry_bytes(&scene->hypotheses.items[0].geometry),
              0.0, "less where what is prefetched hides misses of the likeliest sets");
    widen(at, "full_miss_bytes", INFINITY,
          2.0 * pb_parameters_number(at->parameters, memory, "size_bytes"),
          "up to twice the size, since lines run ahead in cold passes");
    return status;
}

/* Opens the recordings of line, sets and capacity, each if it was made; the first shows a miss. */
static enum pb_status open_levels(const struct pb_case *at, struct pb_cache_level levels[SOURCES],
                                  size_t *count_out, struct pb_fetch *fetch_out,
                                  struct pb_error *err)
{
    enum pb_status last = PB_NOT_FOUND;

    pb_fail(err, PB_NOT_FOUND, "not recorded: no chase");
    for (size_t i = 0; i < SOURCES && last != PB_NO_MEMORY; i++) {
        struct pb_case one = *at;
        enum pb_status status;

        one.recordings = &at->recordings[i];
        if (one.recordings->series.point_count == 0)
            continue;
        status = pb_level_open_classified(&one, &levels[*count_out], err);
        if (status != PB_OK) {
            last = status;
            continue;
        }
        if (i == 0)
            *fetch_out = pb_fetch_find(&levels[*count_out]);
        ++*count_out;
    }
    return *count_out > 0 && last != PB_NO_MEMORY ? PB_OK : last;
}

static enum pb_status read_scene(const struct pb_case *at, struct scene *scene,
                                 struct pb_error *err)
{
    struct pb_cache_level levels[SOURCES];
    double miss_low = INFINITY; /* the least that what surely misses takes in any of them */
    size_t count = 0, noise;
    enum pb_status status = open_levels(at, levels, &count, &scene->fetch, err);

    for (size_t i = 0; i < count; i++)
        miss_low = fmin(miss_low, fmax(levels[i].classes.miss.low, levels[i].between_cycles));
    for (size_t i = 0; i < count; i++) {
        levels[i].classes.miss.low = fmax(miss_low, levels[i].classes.hit.high + 1.0);
        pb_tally_add(&scene->background, pb_level_background(&levels[i]));
    }
    if (status == PB_OK)
        status = pb_cache_chases_read(levels, count, &scene->chases, err);
    noise = (size_t)(scene->chases.noise_rate * (double)scene->background.accesses);
    if (noise > scene->background.misses) { /* bursts that the references did not meet */
        scene->background.misses = noise;
        scene->background.hits = scene->background.accesses - noise;
    }
    for (size_t i = 0; i < count; i++)
        pb_level_clear(&levels[i]);
    return status;
}

/*
 * Does what cold passes show to be fetched ahead hide misses in steady ones, too? Not where many of
 * their misses lie so close behind another one that it would have brought them in.
 */
static bool hides_misses(const struct scene *scene)
{
    uint64_t ahead = scene->fetch.sector_bytes + scene->fetch.prefetch_bytes;
    size_t misses = 0, close = 0;

    for (size_t i = 0; i < scene->chases.count; i++) {
        const struct pb_cache_chase *chase = &scene->chases.items[i];
        uint64_t behind = UINT64_MAX;

        for (size_t k = 0; chase->kind == PB_CHASE_SWEEP && k < chase->count; k++) {
            uint64_t offset = chase->offset_bytes[k];

            if (chase->seen[k] != PB_OBSERVED_MISS)
                continue;
            misses++;
            close += offset > behind && offset - behind < ahead &&
                     offset - behind >= scene->fetch.sector_bytes;
            behind = offset;
        }
    }
    return !((double)close > fmax(PB_FEW, (1.0 - PB_MOST) * (double)misses));
}

static enum pb_status infer_from(const struct pb_case *at, struct scene *scene,
                                 struct pb_error *err)
{
    const struct pb_parameter *size =
        pb_parameters_find(at->parameters, at->inference->memory, "size_bytes");
    size_t explained = 0, all = 0;
    enum pb_status status;

    state_fetch(at, &scene->fetch);
    if (2 * scene->fetch.agreeing > scene->fetch.predicted) /* most predicted misses came */
        scene->hints.sector_bytes = scene->fetch.sector_bytes;
    if (scene->fetch.prefetch_bytes > 0 && hides_misses(scene)) {
        scene->hints.prefetch_bytes = scene->fetch.prefetch_bytes;
        scene->hints.hiding_bytes =
            scene->fetch.has_end ? scene->fetch.prefetch_bytes : UINT64_MAX / 2;
    }
    if (size != NULL && size->kind == PB_VALUE_NUMBER) {
        scene->hints.fits_bytes = (uint64_t)size->numbers[0].value;
        scene->hints.fits_least = (uint64_t)size->numbers[0].low;
        scene->hints.fits_most = (uint64_t)size->numbers[0].high;
    }
    if (scene->chases.of_kind[PB_CHASE_CONFLICT] > 0) {
        status = score_all(scene, err);
        if (status != PB_OK)
            return status;
        if (scene->hypotheses.count > 0 && is_explained(scene, &explained, &all)) {
            state_geometry(at, scene);
            return PB_OK;
        }
    }
    if (size != NULL && size->kind == PB_VALUE_NUMBER) /* passes that may fit need not miss */
        scene->hints.fits_bytes = (uint64_t)size->numbers[0].high;
    status = at->recordings[0].outcome == PB_TEST_OK
                 ? pb_line_infer(&scene->chases, &scene->hints, &scene->background,
                                 pb_case_answer(at, "line_bytes"), err)
                 : PB_OK;
    if (status != PB_OK)
        return status;
    widen_behind_constants(at, &scene->fetch);
    status = bound_sizes(at, scene, all == 0 || (double)explained < PB_MOST * (double)all, err);
    if (status != PB_OK)
        return status;
    if (scene->chases.of_kind[PB_CHASE_CONFLICT] == 0)
        return pb_fail(err, PB_NOT_FOUND,
                       "not recorded: no timed passes over one line more than fits");
    if ((double)explained >= PB_MOST * (double)all)
        return pb_fail(err, PB_NOT_FOUND,
                       "ambiguous: the best geometry predicts %zu of %zu misses, but too few lines "
                       "miss in each pass to distinguish its sets",
                       explained, all);
    return pb_fail(err, PB_NOT_FOUND,
                   "unexplained: no index predicts the set conflicts; the best one predicts %zu of "
                   "%zu misses",
                   explained, all);
}

/* What a test that was not recorded leaves undetermined, and why. */
static void give_reasons(const struct pb_case *at)
{
    static const struct {
        const char *name;
        size_t source;
    } answers[] = {{"line_bytes", 0}, {"sector_bytes", 0}, {"fetch_bytes", 0}, {"set_count", 1},
                   {"way_counts", 1}, {"index_kind", 1},   {"index_masks", 1}};

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        const struct pb_recording *recording = &at->recordings[answers[i].source];
        struct pb_parameter *answer =
            pb_parameters_find(at->parameters, at->inference->memory, answers[i].name);

        if (answer != NULL && recording->outcome != PB_TEST_OK)
            pb_parameter_set_none(answer, "%s", recording->message);
        else if (answer != NULL)
            pb_parameter_point_to(answer, recording->name);
    }
}

enum pb_status pb_infer_geometry(const struct pb_case *at, struct pb_error *err)
{
    struct scene scene = {.most_bytes = UINT64_MAX};
    enum pb_status status;

    give_reasons(at);
    status = read_scene(at, &scene, err);

    if (status == PB_OK)
        status = infer_from(at, &scene, err);
    pb_hypotheses_clear(&scene.hypotheses);
    pb_unequal_clear(&scene.unequal);
    pb_cache_chases_clear(&scene.chases);
    return status;
}
