/*
 * TLB levels: page_bytes, entry_count, entry_coverage_bytes, reach_bytes, sets, index and penalty
 * of tlb_l1 to tlb_l3, by one comparison of hypotheses.
 *
 * Every latency step that loads show is tried as the next level with every structure with LRU
 * (structure.h) under one noise model (evidence.h). The likeliest is taken, and every smaller step
 * as well, since a larger one may be that of several levels together; sets of levels are compared
 * by the log likelihood of all accesses, less the price of their parameters. What may as well be a
 * cache behind L2 competes like any other; where it is one of the likeliest, it is ambiguous what
 * it and those behind it are. An interval holds what the accesses cannot tell from the value.
 *
 * The levels found are then verified, and where they do not fit refined, by the forward model of
 * all of them together (refine.h).
 *
 * Limit: victims by LRU, FIFO, tree-PLRU or at random; of levels of others, or whose loads miss
 * otherwise than predicted, only what an entry covers and the penalty are stated.
 *
 * Source: M16 section 4.4 for the chases, N14 section 5.1 for the index.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/gf2.h"
#include "analysis/constants.h"
#include "analysis/statistics/sample.h"
#include "analysis/tlb/refine.h"

enum {
    CANDIDATES_MAX = 4, /* for the next level; the last is scratch */
    LEAVES_MAX = 6,     /* sets of levels that are compared */
    ROUNDS_MAX = 12     /* in which a likelier structure is chosen: a parity more in each */
};

/* A level that was found. */
struct level {
    double step_cycles; /* with which it was found */
    struct pb_tlb_structure best;
    /* the best's, and what is as likely */
    struct pb_estimate entries, coverage, reach, sets;
    struct pb_estimate ways[PB_LIST_MAX]; /* of equal sets, the first; else of each set */
    struct pb_estimate penalty;
    double confidence, coverage_confidence, sets_confidence; /* coverages, sets of all as likely */
    double reach_confidence;
    double explained;           /* of what places speak for: that it is a level */
    bool is_explained;          /* loads miss as the best predicts */
    const char *penalty_open;   /* why the penalty may be another; "": it may not */
    bool has_other_sets;        /* more sets, by an index that was not found, are likelier */
    bool imitates_sets;         /* unequal ones that loads contradict */
    double loads, as_predicted; /* that come to it, and of these */
};

struct levels {
    struct level items[PB_TLB_FOUND_MAX];
    size_t count;
    bool is_ambiguous; /* there may be more */
};

static void widen(struct pb_estimate *estimate, double low, double high)
{
    estimate->low = fmin(estimate->low, low);
    estimate->high = fmax(estimate->high, high);
}

/* As likely as the best, for an interval. */
static bool is_as_likely(const struct pb_tlb_ranking *ranking, size_t i)
{
    return ranking->items[i].gain >=
           ranking->items[ranking->best].gain - PB_SAME_PREDICTION - ranking->noise;
}

/*
 * Of hypotheses that predict the same, that of the largest coverage, with the fewest sets, and of
 * these the first: entries that cover less would do as well where the level before hides them.
 */
static size_t choose(const struct pb_tlb_ranking *ranking)
{
    double most = ranking->items[ranking->best].score - PB_SAME_PREDICTION - ranking->noise;
    size_t best = ranking->best;

    for (size_t i = ranking->count; i-- > 0;) {
        const struct pb_tlb_structure *here = &ranking->items[i], *chosen = &ranking->items[best];

        if (here->parts <= 1 && here->score >= most &&
            (here->coverage_bytes > chosen->coverage_bytes ||
             (here->coverage_bytes == chosen->coverage_bytes &&
              here->set_count <= chosen->set_count)))
            best = i;
    }
    return best;
}

/* Of how many sets ways are stated: one where all are equal. */
static size_t list_length(const struct pb_tlb_structure *structure)
{
    return structure->is_equal ? 1 : structure->set_count;
}

/* The masks of equal sets, reduced. Returns how many; 0: they are no parities. */
static size_t reduced_masks(const struct pb_tlb_structure *structure, uint64_t *masks)
{
    struct pb_tlb_structure index = *structure;

    if (index.mask_count == 0 && !pb_tlb_name_parities(&index))
        return 0;
    memcpy(masks, index.masks, index.mask_count * sizeof(*masks));
    return pb_gf2_reduce(masks, index.mask_count);
}

/*
 * Where another index of as many sets is as likely, the bits in which they differ are not resolved:
 * two that chases change together alone belong to one parity, or to none.
 */
static void open_bits(struct pb_tlb_structure *best, const struct pb_tlb_structure *other)
{
    uint64_t own[PB_TLB_PARITIES_MAX], masks[PB_TLB_PARITIES_MAX], bits = 0;
    size_t count = reduced_masks(best, own);

    if (other->parts > 1 || !other->is_equal || other->coverage_bytes != best->coverage_bytes ||
        other->set_count != best->set_count || count == 0 || reduced_masks(other, masks) != count)
        return;
    for (size_t i = 0; i < count; i++)
        bits |= own[i] ^ masks[i];
    for (size_t i = 0; i < count && bits != 0 && best->mask_count == 0; i++)
        best->resolved |= own[i];
    best->open |= bits;
    best->resolved &= ~bits;
}

/* Sets of their own, or none, tell the smaller entries of a large one apart. */
static void open_coverage(struct level *level, double least_bytes)
{
    double entries = level->entries.value, coverage = level->coverage.value;
    double parts = coverage / least_bytes, sets = level->sets.value;

    widen(&level->coverage, fmin(least_bytes, coverage), coverage);
    widen(&level->entries, entries, entries * parts);
    widen(&level->reach, entries * level->coverage.low, entries * coverage);
    widen(&level->sets, sets, sets * parts);
    for (size_t set = 0; set < list_length(&level->best); set++)
        widen(&level->ways[set], level->best.ways[set], level->best.ways[set] * parts);
}

/*
 * Random victims of one set, and of several that entries spread over evenly, miss about as often,
 * and what an index does to that may be worth its price: where an even one is less than that behind
 * one set, there may be any number.
 */
static bool may_be_several(const struct pb_tlb_ranking *ranking,
                           const struct pb_tlb_structure *best, const struct pb_tlb_structure *even)
{
    return best->victims == PB_TLB_RANDOM && best->set_count == 1 && even->parts > 1 &&
           even->gain > best->gain - PB_TLB_PARAMETER_PRICE - ranking->noise;
}

/* chosen: the hypothesis that is stated */
static void summarise(const struct pb_tlb_ranking *ranking, size_t chosen, struct level *level)
{
    const struct pb_tlb_structure *best;
    double all = 0.0, same = 0.0, covered = 0.0, reached = 0.0, divided = 0.0;
    double entries, sets, coverage;

    level->best = ranking->items[chosen];
    level->has_other_sets = level->imitates_sets = false;
    best = &level->best;
    entries = pb_tlb_entry_count(best);
    sets = (double)best->set_count;
    coverage = (double)best->coverage_bytes;
    level->entries = (struct pb_estimate){entries, entries, entries};
    level->coverage = (struct pb_estimate){coverage, coverage, coverage};
    level->reach = (struct pb_estimate){entries * coverage, entries * coverage, entries * coverage};
    level->sets = (struct pb_estimate){sets, sets, sets};
    for (size_t set = 0; set < list_length(best); set++)
        level->ways[set] = (struct pb_estimate){best->ways[set], best->ways[set], best->ways[set]};
    for (size_t i = 0; i < ranking->count; i++) {
        const struct pb_tlb_structure *here = &ranking->items[i];
        double count = pb_tlb_entry_count(here), odds = exp(here->score - best->score);
        double most = here->is_equal ? (double)here->ways_high * (double)here->set_count : count;
        bool as_likely;

        all += odds;
        as_likely = is_as_likely(ranking, i);
        level->has_other_sets |=
            here->parts > 1 && here->score > best->score + PB_SAME_PREDICTION + ranking->noise;
        if (may_be_several(ranking, best, here)) {
            widen(&level->entries, count, count);
            widen(&level->reach, count * coverage, count * coverage);
            widen(&level->sets, 1.0, fmax(count, entries));
            widen(&level->ways[0], 1.0, fmax(count, entries));
        }
        same += as_likely || count == entries ? odds : 0.0;
        covered += as_likely || (count == entries && here->coverage_bytes == best->coverage_bytes)
                       ? odds
                       : 0.0;
        reached +=
            as_likely || count * (double)here->coverage_bytes == entries * coverage ? odds : 0.0;
        divided +=
            as_likely || (count == entries && here->set_count == best->set_count) ? odds : 0.0;
        if (!as_likely)
            continue;
        if (best->is_equal)
            open_bits(&level->best, here);
        widen(&level->entries, count, most);
        widen(&level->reach, count * (double)here->coverage_bytes,
              most * (double)here->coverage_bytes);
        widen(&level->coverage, (double)here->coverage_bytes, (double)here->coverage_bytes);
        widen(&level->sets, (double)here->set_count, (double)here->set_count);
        if (here->is_equal && best->is_equal)
            widen(&level->ways[0], here->ways[0], here->ways_high);
        for (size_t set = 0;
             !here->is_equal && here->set_count == best->set_count && set < here->set_count; set++)
            widen(&level->ways[best->is_equal ? 0 : set], here->ways[set], here->ways[set]);
    }
    if (best->set_count == 1 || best->mask_count > 0)
        open_coverage(level, level->coverage.low);
    level->confidence = same / all;
    level->coverage_confidence = covered / all;
    level->reach_confidence = reached / all;
    level->sets_confidence = divided / all;
}

/*
 * Of sets and entries that are both open not every pair was compared: ways between any of them may
 * be as likely.
 */
static void bound_ways(struct level *level)
{
    if (level->best.is_equal && level->sets.low < level->sets.high)
        widen(&level->ways[0], fmax(1.0, floor(level->entries.low / level->sets.high)),
              ceil(level->entries.high / level->sets.low));
}

/* What was as likely as another structure that was stated before is still. */
static void include(struct level *level, const struct level *before)
{
    widen(&level->entries, before->entries.low, before->entries.high);
    widen(&level->coverage, before->coverage.low, before->coverage.high);
    widen(&level->reach, before->reach.low, before->reach.high);
    widen(&level->sets, before->sets.low, before->sets.high);
    for (size_t set = 0;
         set < list_length(&level->best) && list_length(&before->best) == list_length(&level->best);
         set++)
        widen(&level->ways[set], before->ways[set].low, before->ways[set].high);
}

/* The likeliest level of each of the steps that are worth a closer look, the likeliest first. */
struct candidates {
    struct pb_tlb_ranking items[CANDIDATES_MAX];
    size_t count;
};

static double score_of(const struct pb_tlb_ranking *ranking)
{
    return ranking->count == 0 ? 0.0 : ranking->items[ranking->best].score;
}

/* The last of candidates->items[] is scratch. */
static void add_candidate(struct candidates *candidates)
{
    struct pb_tlb_ranking *scratch = &candidates->items[CANDIDATES_MAX - 1];
    size_t at = candidates->count;

    while (at > 0 && score_of(scratch) > score_of(&candidates->items[at - 1]))
        at--;
    if (at >= CANDIDATES_MAX - 1)
        return;
    if (candidates->count < CANDIDATES_MAX - 1)
        candidates->count++;
    for (size_t i = candidates->count - 1; i > at; i--)
        candidates->items[i] = candidates->items[i - 1];
    candidates->items[at] = *scratch;
}

/*
 * What the next level may be: the likeliest of all steps and structures, and of every smaller step
 * the likeliest structure, since the larger one may be that of several levels together.
 */
static enum pb_status find_level(struct pb_tlb_evidence *evidence, struct candidates *candidates,
                                 struct pb_error *err)
{
    struct pb_tlb_ranking *scratch = &candidates->items[CANDIDATES_MAX - 1];
    enum pb_status status = PB_OK;
    double smallest = INFINITY;

    pb_tlb_propose_steps(evidence);
    candidates->count = 0;
    for (size_t i = 0; i < evidence->step_count && status == PB_OK; i++) {
        double cycles = evidence->step_cycles[i], least = 0.0;

        if (candidates->count > 0 && cycles > smallest)
            least = score_of(&candidates->items[0]);
        status = pb_tlb_rank(evidence, cycles, least, false, scratch, err);
        if (status != PB_OK || scratch->count == 0)
            continue;
        smallest = fmin(smallest, cycles);
        add_candidate(candidates);
    }
    return status;
}

/* The median of a place's loads that miss so many levels; NaN: fewer than three. */
static double median_of(const struct pb_tlb_evidence *evidence, size_t s, size_t place,
                        size_t levels)
{
    const struct pb_tlb_scan *scan = &evidence->scans->items[s];
    uint32_t least = 0, end = PB_TLB_NEVER;
    size_t count = 0;

    for (size_t i = 0; i < levels; i++)
        least = evidence->known[i].onset_pages[s][place] > least
                    ? evidence->known[i].onset_pages[s][place]
                    : least;
    if (levels < evidence->level_count)
        end = evidence->known[levels].onset_pages[s][place];
    for (size_t w = least <= scan->page_count ? scan->first_chase[least] : scan->chase_count;
         w < scan->chase_count && scan->pages[w] < end; w++) {
        double cycles = *pb_tlb_cycles(scan, place, w);

        if (!isnan(cycles))
            evidence->scratch[count++] = cycles;
    }
    return count < 3 ? NAN : pb_noise_locate(&evidence->noise, evidence->scratch, count);
}

/* What a line takes longer where it misses the level, over all lines that show both. PB_NO_MEMORY.
 */
static enum pb_status measure_penalty(const struct pb_tlb_evidence *evidence, size_t level,
                                      struct pb_estimate *penalty, struct pb_error *err)
{
    struct pb_sample steps = {NULL, 0, 0}, sorted = {NULL, 0, 0};
    double expected = evidence->known[level].penalty_cycles;
    double tolerance = 2.0 * evidence->noise.spread_cycles + 2.0; /* else it misses a cache too */
    enum pb_status status = PB_OK;
    bool is_random =
        evidence->known[level].is_random; /* its loads may hit again: no median of misses */

    for (size_t s = 0; s < evidence->scans->count && !is_random; s++) {
        for (size_t place = 0; place < evidence->scans->items[s].place_count; place++) {
            bool is_base = evidence->is_uniform && level == 0;
            double hit = is_base ? evidence->base_cycles : median_of(evidence, s, place, level);
            double miss = isnan(hit) ? NAN : median_of(evidence, s, place, level + 1);

            if (fabs(miss - hit - expected) <= tolerance && status == PB_OK)
                status = pb_sample_add(&steps, miss - hit, err);
        }
    }
    if (status == PB_OK)
        status = pb_sample_sorted(&steps, &sorted, err);
    *penalty =
        (struct pb_estimate){evidence->known[level].penalty_cycles,
                             evidence->known[level].penalty_cycles - evidence->noise.spread_cycles,
                             evidence->known[level].penalty_cycles + evidence->noise.spread_cycles};
    if (status == PB_OK && sorted.count >= 3) {
        penalty->value = pb_quantile(sorted.values, sorted.count, 0.5);
        pb_median_interval(sorted.values, sorted.count, 0.95, &penalty->low, &penalty->high);
    }
    pb_sample_clear(&sorted);
    pb_sample_clear(&steps);
    return status;
}

/* What is compared: sets of levels, and the best so far. */
struct search {
    struct pb_tlb_evidence *evidence;
    struct levels now, best;
    double score;            /* of the best: log likelihood less the price of its parameters */
    size_t left;             /* sets that may still be tried */
    bool best_supposes_hits; /* it was found so */
    bool is_ambiguous;       /* a step may be a level's, or that of a cache */
};

/*
 * May lines that a cache cannot keep look like this level? Where DRAM's latency is not known, any
 * step may be its; where it is, its loads may have missed levels that are known, too.
 */
static bool may_be_cache(const struct pb_tlb_evidence *evidence, const struct level *level)
{
    double cycles = level->step_cycles;

    if (level->entries.value > (double)evidence->fits_pages || evidence->cache_count == 0 ||
        pb_tlb_is_cache_step(evidence, cycles))
        return true;
    for (size_t i = 0; i < evidence->level_count; i++) {
        cycles += evidence->known[i].penalty_cycles;
        if (pb_tlb_is_cache_step(evidence, cycles))
            return true;
    }
    return false;
}

/*
 * Adds a level at the evidence's position; *found_out: it is one. Of what is only proposed it is
 * enough that some places agree.
 */
static enum pb_status add_level(struct search *search, const struct pb_tlb_ranking *ranking,
                                bool is_proposed, bool *found_out, struct pb_error *err)
{
    struct pb_tlb_evidence *evidence = search->evidence;
    struct levels *levels = &search->now;
    struct pb_tlb_check check;
    struct level level = {.step_cycles = ranking->penalty_cycles};
    double explained, least;
    bool is_like_cache;
    enum pb_status status;

    *found_out = false;
    summarise(ranking, choose(ranking), &level);
    is_like_cache = may_be_cache(evidence, &level);
    status = pb_tlb_adopt(evidence, &level.best, ranking->penalty_cycles, &check, err);
    if (status != PB_OK)
        return status;
    explained = fmax(((double)check.agreeing + 1.0) / ((double)check.seen + 2.0),
                     fmin(1.0, level.best.gain / ranking->bound));
    least = is_proposed             ? 0.0
            : !is_like_cache        ? PB_TLB_LEVEL_SHARE
            : evidence->is_l2_known ? PB_TLB_FAR_LEVEL_SHARE
                                    : PB_TLB_EXPLAINED;
    *found_out = check.agreeing > 0 && explained >= least && level.entries.high > 1.0;
    search->is_ambiguous |=
        !*found_out && !evidence->is_l2_known && explained >= PB_TLB_LEVEL_SHARE;
    if (!*found_out) {
        pb_tlb_drop(evidence);
        return PB_OK;
    }
    level.explained = explained;
    for (size_t i = levels->count; i > evidence->position; i--)
        levels->items[i] = levels->items[i - 1];
    levels->items[evidence->position] = level;
    levels->count++;
    if (evidence->is_uniform && evidence->position + 1 < levels->count)
        levels->items[evidence->position + 1].step_cycles -= level.step_cycles;
    return PB_OK;
}

static void drop_level(struct search *search, size_t position)
{
    search->evidence->position = position;
    pb_tlb_drop(search->evidence);
    search->now.count--;
    for (size_t i = position; i < search->now.count; i++)
        search->now.items[i] = search->now.items[i + 1];
}

/* Levels as they were found: with LRU, each by its step. */
static void list_levels(const struct levels *levels, struct pb_tlb_level list_out[PB_TLB_FOUND_MAX])
{
    for (size_t i = 0; i < levels->count; i++)
        list_out[i] = (struct pb_tlb_level){levels->items[i].best, levels->items[i].step_cycles};
}

/* Keeps the levels where they are the likeliest; of two that are, those that were found last, with
 * more known of caches. */
static enum pb_status compare_levels(struct search *search, struct pb_error *err)
{
    static const struct pb_tlb_effort all = {0, PB_TLB_LOADS, 0, 0};
    struct pb_tlb_level levels[PB_TLB_FOUND_MAX];
    bool supposed = search->evidence->supposes_hits;
    double score = 0.0;
    enum pb_status status;

    pb_tlb_estimate_caches(search->evidence);
    list_levels(&search->now, levels);
    search->evidence->supposes_hits = false;
    status =
        pb_tlb_replay(search->evidence, levels, search->now.count, &all, NULL, &score, NULL, err);
    search->evidence->supposes_hits = supposed;
    for (size_t i = 0; i < search->now.count; i++)
        score -= search->now.items[i].best.gain - search->now.items[i].best.score;
    if (status == PB_OK && score >= search->score) {
        search->score = score;
        search->best = search->now;
        search->best_supposes_hits = supposed;
    }
    search->left -= search->left > 0;
    return status;
}

/* Every candidate as the next level, with all that may follow it. */
static enum pb_status search_behind(struct search *search, struct pb_error *err)
{
    struct candidates *candidates = NULL;
    enum pb_status status = PB_OK;
    size_t position = search->now.count;
    bool any = false;

    if (position < PB_TLB_FOUND_MAX) {
        candidates = malloc(sizeof(*candidates));
        if (candidates == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory allocating hypotheses");
        search->evidence->position = position;
        status = find_level(search->evidence, candidates, err);
        for (size_t i = 0; status == PB_OK && i < candidates->count; i++) {
            bool found = false;

            if (any && (search->left == 0 ||
                        candidates->items[i].penalty_cycles >= candidates->items[0].penalty_cycles))
                continue;
            search->evidence->position = position;
            if (i > 0) /* what was proposed and estimated for others */
                pb_tlb_propose_steps(search->evidence);
            status = add_level(search, &candidates->items[i], false, &found, err);
            if (status == PB_OK && found) {
                any = true;
                status = search_behind(search, err);
                drop_level(search, position);
            }
        }
        free(candidates);
    }
    if (status == PB_OK && !any)
        status = compare_levels(search, err);
    return status;
}

/* Makes the likeliest levels those that the evidence knows. */
static enum pb_status adopt_best(struct search *search, struct pb_error *err)
{
    struct pb_tlb_level list[PB_TLB_FOUND_MAX];

    search->now = search->best;
    list_levels(&search->now, list);
    return pb_tlb_adopt_all(search->evidence, list, search->now.count, err);
}

/* The step with which a level of one set is the likeliest, by a part of the places. 0: none is. */
static enum pb_status choose_step(struct pb_tlb_evidence *evidence, struct pb_tlb_ranking *scratch,
                                  double *cycles_out, struct pb_error *err)
{
    double most = 0.0;
    enum pb_status status = PB_OK;

    *cycles_out = 0.0;
    evidence->every = PB_TLB_PLACES_APART;
    for (size_t i = 0; i < evidence->step_count && status == PB_OK; i++) {
        status = pb_tlb_rank(evidence, evidence->step_cycles[i], most, true, scratch, err);
        if (status != PB_OK || score_of(scratch) <= most)
            continue;
        most = score_of(scratch);
        *cycles_out = evidence->step_cycles[i];
    }
    evidence->every = 1;
    evidence->weighed_cycles = NAN;
    return status;
}

/*
 * The step of the likeliest level of one set in front of that at the position, as that level says
 * of it: where lines take different times, a small step is not seen as such. 0: there is none.
 */
static enum pb_status find_step(struct pb_tlb_evidence *evidence, struct pb_tlb_ranking *scratch,
                                double *cycles_out, struct pb_error *err)
{
    struct pb_estimate penalty = {0.0, 0.0, 0.0};
    enum pb_status status;

    pb_tlb_propose_steps(evidence);
    status = choose_step(evidence, scratch, &penalty.value, err);
    if (status == PB_OK && penalty.value > 0.0)
        status = pb_tlb_rank(evidence, penalty.value, 0.0, true, scratch, err);
    if (status != PB_OK || penalty.value == 0.0 || scratch->count == 0) {
        *cycles_out = 0.0;
        return status;
    }
    status = pb_tlb_adopt(evidence, &scratch->items[choose(scratch)], penalty.value, NULL, err);
    if (status == PB_OK) {
        status = measure_penalty(evidence, evidence->position, &penalty, err);
        pb_tlb_drop(evidence);
    }
    *cycles_out = round(penalty.value);
    return status;
}

/* What lies behind is known: loads that miss the level take this step. */
static void suppose_step(struct pb_tlb_evidence *evidence, double cycles)
{
    evidence->step_cycles[0] = cycles;
    evidence->step_share[0] = 1.0;
    evidence->step_count = 1;
    evidence->weighed_cycles = NAN;
}

/* The likeliest level in front of any that is known, by all structures; count 0: there is none. */
static enum pb_status find_before(struct pb_tlb_evidence *evidence, struct pb_tlb_ranking *best_out,
                                  struct pb_error *err)
{
    struct pb_tlb_ranking ranking;
    size_t position = 0;
    enum pb_status status = PB_OK;

    best_out->count = 0;
    for (size_t i = 0; i < evidence->level_count && status == PB_OK; i++) {
        double cycles = 0.0;

        evidence->position = i;
        status = find_step(evidence, &ranking, &cycles, err);
        if (status != PB_OK || cycles == 0.0)
            continue;
        suppose_step(evidence, cycles);
        status = pb_tlb_rank(evidence, cycles, 0.0, false, &ranking, err);
        if (status != PB_OK || score_of(&ranking) <= score_of(best_out))
            continue;
        *best_out = ranking;
        position = i;
    }
    evidence->position = position;
    if (best_out->count > 0)
        suppose_step(evidence, best_out->penalty_cycles);
    return status;
}

/*
 * Levels before others, as long as that is likelier, or they explain what places show whatever
 * victims those behind have: where lines take different times, a smaller step shows only once the
 * larger ones are known.
 */
static enum pb_status search_before(struct search *search, struct pb_error *err)
{
    struct pb_tlb_ranking ranking;
    bool found = true;
    enum pb_status status = PB_OK;

    while (status == PB_OK && found && search->now.count < PB_TLB_FOUND_MAX) {
        status = find_before(search->evidence, &ranking, err);
        found = false;
        if (status == PB_OK && ranking.count > 0)
            status = add_level(search, &ranking, true, &found, err);
        if (status == PB_OK && found)
            status = compare_levels(search, err);
        if (found &&
            search->now.items[search->evidence->position].explained >= PB_TLB_FAR_LEVEL_SHARE)
            search->best = search->now;
        found &= search->best.count == search->now.count;
    }
    while (search->now.count > 0)
        drop_level(search, 0);
    return status;
}

/*
 * Adopts the levels that were found the likeliest together. The steps that they make are weighed
 * again, since the evidence knows them no more. What takes as long as a cache's miss is searched
 * twice: as such a miss, and as a level's; either hides the other until the levels are known.
 */
static enum pb_status find_levels(struct pb_tlb_evidence *evidence, struct levels *levels,
                                  struct pb_error *err)
{
    struct search search = {.evidence = evidence, .score = -INFINITY, .left = LEAVES_MAX};
    enum pb_status status = search_behind(&search, err);

    evidence->supposes_hits = evidence->cache_share_most > PB_TLB_L2_MISS_SHARE;
    search.left = LEAVES_MAX;
    if (status == PB_OK && evidence->supposes_hits)
        status = search_behind(&search, err);
    evidence->supposes_hits = search.best_supposes_hits;
    if (status == PB_OK)
        status = adopt_best(&search, err);
    if (status == PB_OK)
        status = search_before(&search, err);
    evidence->supposes_hits = false;
    if (status == PB_OK)
        status = adopt_best(&search, err);
    *levels = search.best;
    levels->is_ambiguous = search.is_ambiguous;
    return status;
}

/*
 * What the accesses allow of a level beside what is likeliest of it, the others being known: what
 * is next to it, and where another of these is chosen, what is next to that; from there on no other
 * is chosen that is only as likely, or what draws leave open would add up.
 */
static enum pb_status bound_level(struct pb_tlb_evidence *evidence, struct pb_tlb_levels *likeliest,
                                  size_t at, struct level *level, struct pb_error *err)
{
    struct pb_tlb_ranking ranking;
    size_t chosen, round = 0;

    *level = (struct level){.step_cycles = likeliest->items[at].penalty_cycles};
    do {
        const struct level before = *level;
        enum pb_status status = pb_tlb_list_alike(evidence, likeliest, at, &ranking, err);

        if (status != PB_OK)
            return status;
        chosen = round > 0 && is_as_likely(&ranking, 0) ? 0 : choose(&ranking);
        likeliest->items[at].structure = ranking.items[chosen];
        summarise(&ranking, chosen, level);
        if (round > 0)
            include(level, &before);
    } while (chosen != 0 && ++round < ROUNDS_MAX);
    bound_ways(level);
    return PB_OK;
}

/*
 * What may be a cache, and the levels behind it, whose numbers depend on that: also what takes as
 * long as a cache's miss, and is no level that explains its misses.
 */
static void leave_out_caches(const struct pb_tlb_evidence *evidence, struct levels *levels)
{
    size_t count = 0;

    while (count < levels->count) {
        const struct level *here = &levels->items[count];

        if (pb_tlb_is_cache(evidence, &here->best, here->step_cycles) ||
            (!here->is_explained && pb_tlb_is_cache_step(evidence, here->step_cycles)))
            break;
        count++;
    }
    levels->is_ambiguous |= count < levels->count;
    levels->count = count;
}

/* Lines that miss the level may miss L2 as well, all of them: what takes longer may contain that.
 */
static void bound_penalty(const struct pb_tlb_evidence *evidence, struct pb_estimate *penalty)
{
    for (size_t i = 0; i < evidence->cache_count; i++)
        if (evidence->cache_cycles[i] < penalty->value)
            penalty->low = fmin(penalty->low, penalty->value - evidence->cache_cycles[i]);
}

/*
 * A level that no structure explains may be several together, or a part of the one before it: steps
 * of either fit as badly. So does what it takes less a cache's miss, taken for that of its lines.
 */
static void open_penalties(const struct pb_tlb_evidence *evidence, struct levels *levels)
{
    for (size_t i = 0; i < levels->count; i++) {
        struct level *level = &levels->items[i];
        const struct level *behind = i + 1 < levels->count ? level + 1 : NULL;

        level->penalty_open = "";
        if (behind != NULL && !behind->is_explained) {
            level->penalty.high += behind->penalty.high;
            level->penalty_open = "; more where the level behind, which nothing explains, is a "
                                  "part of it";
        }
        if (level->is_explained)
            continue;
        level->penalty.low = fmin(level->penalty.low, evidence->noise.spread_cycles);
        for (size_t k = 0; k < evidence->cache_count; k++)
            level->penalty.high =
                fmax(level->penalty.high, level->penalty.value + evidence->cache_cycles[k]);
        level->penalty_open = "; another where it is of several levels, since none explains it";
    }
}

/*
 * The levels found, against the forward model of all of them: where it does not predict what loads
 * miss, the likeliest ones near them. What is left unexplained lowers what is stated.
 */
static enum pb_status verify_levels(struct pb_tlb_evidence *evidence, struct levels *levels,
                                    struct pb_error *err)
{
    struct pb_tlb_levels likeliest = {.count = levels->count};
    double misfit = 0.0;
    bool is_other = false;
    enum pb_status status;

    list_levels(levels, likeliest.items);
    if (levels->count == 0)
        return PB_OK;
    pb_tlb_estimate_caches(evidence);
    likeliest.cache_share = evidence->cache_share;
    status = pb_tlb_refine(evidence, &likeliest, err);
    if (status != PB_OK)
        return status;
    is_other = likeliest.count != levels->count;
    for (size_t i = 0; i < likeliest.count; i++)
        is_other |= likeliest.items[i].penalty_cycles != levels->items[i].step_cycles ||
                    !pb_tlb_is_same(&likeliest.items[i].structure, &levels->items[i].best) ||
                    likeliest.items[i].structure.victims != PB_TLB_LRU;
    levels->count = likeliest.count;
    for (size_t i = 0; i < levels->count && is_other && status == PB_OK; i++)
        status = bound_level(evidence, &likeliest, i, &levels->items[i], err);
    for (size_t i = 1; i < levels->count; i++) {
        const struct level *before = &levels->items[i - 1];

        /* smaller ones were not tried behind entries of a hash that may be smaller, too */
        if (before->best.mask_count > 0 && before->coverage.low < before->coverage.value &&
            levels->items[i].coverage.low == before->coverage.value)
            open_coverage(&levels->items[i], before->coverage.low);
    }
    list_levels(levels, likeliest.items);
    if (status == PB_OK)
        status = pb_tlb_adopt_all(evidence, likeliest.items, levels->count, err);
    for (size_t i = 0; i < levels->count && status == PB_OK; i++) {
        struct level *level = &levels->items[i];
        double others = pb_tlb_other_sets(&likeliest.fits[i]), fits;

        /* it sees what those before miss: no level is surer than they are */
        misfit = fmax(misfit, pb_tlb_misfit(&likeliest.fits[i]));
        fits = 1.0 / (1.0 + misfit / PB_TLB_MISFIT_MOST);
        level->loads = likeliest.fits[i].loads;
        level->as_predicted = level->loads - likeliest.fits[i].against;
        level->is_explained = misfit <= PB_TLB_MISFIT_MOST;
        level->explained = fits;
        level->imitates_sets = !level->best.is_equal && (others > 0.0 || misfit > PB_TLB_SETTLED);
        level->coverage_confidence *= fits;
        level->sets_confidence *= fits * (1.0 - others);
        fits *= 1.0 - others / 2.0; /* other sets may have as many entries */
        level->confidence *= fits;
        level->reach_confidence *= fits;
        status = measure_penalty(evidence, i, &level->penalty, err);
        bound_penalty(evidence, &level->penalty);
    }
    if (status == PB_OK)
        open_penalties(evidence, levels);
    if (status == PB_OK)
        leave_out_caches(evidence, levels);
    return status;
}

static struct pb_parameter *answer(const struct pb_case *at, size_t level, const char *name)
{
    const char memory[] = {'t', 'l', 'b', '_', 'l', (char)('1' + level), '\0'};

    return pb_parameters_find(at->parameters, memory, name);
}

static bool is_exact(struct pb_estimate estimate)
{
    return estimate.low == estimate.high;
}

/* Entry number modulo a power of two: its masks. Returns how many. */
static size_t modulo_masks(const struct pb_tlb_structure *best, uint64_t masks[PB_TLB_PARITIES_MAX])
{
    size_t count = 0;

    while (count < PB_TLB_PARITIES_MAX && ((size_t)1 << count) < best->set_count) {
        masks[count] = best->coverage_bytes << count;
        count++;
    }
    return ((size_t)1 << count) == best->set_count ? count : 0;
}

static void state_none(const struct pb_case *at, size_t i, const char *reason)
{
    pb_parameter_set_none(answer(at, i, "index_kind"), "%s", reason);
    pb_parameter_set_none(answer(at, i, "index_masks"), "%s", reason);
}

static void state_unresolved(const struct pb_case *at, size_t i, uint64_t bits)
{
    pb_parameter_set_none(answer(at, i, "index_masks"),
                          "too few conflicts: address bits %#llx of the index change only together "
                          "with others at this run's array address",
                          (unsigned long long)bits);
}

static void state_index(const struct pb_case *at, size_t i, const struct level *level)
{
    const struct pb_tlb_structure *best = &level->best;
    uint64_t masks[PB_TLB_PARITIES_MAX], all = 0;
    bool is_modulo = true;
    char over[64] = "";
    size_t count;

    if (best->set_count == 1) {
        state_none(at, i, "not applicable: one set needs no index");
    } else if (!is_exact(level->sets) || !is_exact(level->coverage)) {
        state_none(at, i,
                   "ambiguous: several numbers of sets or coverages of an entry are as likely");
    } else if (best->is_guessed) {
        state_none(at, i, "too few set conflicts were observed to resolve every bit of the index");
    } else if (!best->is_equal) {
        state_none(
            at, i,
            "unexplained: sets of unequal size are neither a modulo nor parities of address bits");
    } else if (best->mask_count == 0) {
        count = modulo_masks(best, masks);
        if (best->resolved != 0)
            snprintf(over, sizeof(over), ", over the address bits of the passes, %#llx",
                     (unsigned long long)(best->resolved * best->coverage_bytes));
        pb_parameter_set_word(answer(at, i, "index_kind"), "modulo", level->sets_confidence,
                              "the entry's number modulo %zu%s", best->set_count, over);
        if (count == 0)
            pb_parameter_set_none(answer(at, i, "index_masks"),
                                  "not applicable: the entry's number modulo %zu, which is no "
                                  "power of two, has no masks",
                                  best->set_count);
        else if (best->resolved != 0 && ((best->set_count - 1) & ~best->resolved) != 0)
            state_unresolved(at, i,
                             ((best->set_count - 1) & ~best->resolved) * best->coverage_bytes);
        else
            pb_parameter_set_masks(answer(at, i, "index_masks"), masks, count,
                                   level->sets_confidence,
                                   "the lowest bits of the entry's number%s", over);
    } else {
        for (size_t k = 0; k < best->mask_count; k++) {
            masks[k] = best->masks[k] * best->coverage_bytes;
            all |= best->masks[k] | best->open;
            is_modulo &= (best->masks[k] & best->resolved) == (uint64_t)1 << k;
        }
        if ((all & ~best->resolved) == 0)
            pb_parameter_set_masks(answer(at, i, "index_masks"), masks, best->mask_count,
                                   level->sets_confidence,
                                   "reduced basis over the address bits of the passes, %#llx; any "
                                   "other basis of the same space is the same index",
                                   (unsigned long long)(best->resolved * best->coverage_bytes));
        else
            state_unresolved(at, i, (all & ~best->resolved) * best->coverage_bytes);
        if ((all & ~best->resolved) == 0 || !is_modulo)
            pb_parameter_set_word(answer(at, i, "index_kind"), is_modulo ? "modulo" : "xor",
                                  level->sets_confidence,
                                  "parities of the address bits of the passes, %#llx",
                                  (unsigned long long)(best->resolved * best->coverage_bytes));
        else
            pb_parameter_set_none(answer(at, i, "index_kind"),
                                  "depends on index_masks, which is undetermined");
    }
}

static const char *victims_of(const struct pb_tlb_structure *structure)
{
    static const char *const names[PB_TLB_VICTIMS] = {[PB_TLB_LRU] = "LRU",
                                                      [PB_TLB_FIFO] = "FIFO",
                                                      [PB_TLB_TREE] = "tree-PLRU",
                                                      [PB_TLB_RANDOM] = "random victims"};

    return names[structure->victims];
}

static void state_ways(const struct pb_case *at, size_t i, const struct level *level)
{
    const struct pb_tlb_structure *best = &level->best;

    if (best->victims != PB_TLB_LRU) {
        pb_parameter_set_number(answer(at, i, "way_counts"), level->ways[0], level->sets_confidence,
                                "%s: loads miss as often as with that many in a set",
                                victims_of(best));
        return;
    }
    if (best->is_equal) {
        pb_parameter_set_number(answer(at, i, "way_counts"), level->ways[0], level->sets_confidence,
                                "LRU: sets that overflow miss as a whole; %.0f of %.0f loads as "
                                "predicted",
                                level->as_predicted, level->loads);
        return;
    }
    pb_parameter_set_list(answer(at, i, "way_counts"), level->ways, best->set_count,
                          level->sets_confidence,
                          "LRU: sets that overflow miss as a whole, in the order of the entry's "
                          "number modulo %.0f; %.0f of %.0f loads as predicted",
                          level->entries.value, level->as_predicted, level->loads);
}

/* least_bytes: no chase steps by less, so that smaller entries would look the same */
static void state_level(const struct pb_case *at, size_t i, const struct level *level,
                        uint64_t least_bytes)
{
    double coverage = level->coverage.value, confidence = level->confidence;
    static const double largest_page = (double)((uint64_t)2 << 20), smallest_page = 4096.0;
    static const char no_policy[] = "unexplained: pages miss neither as by LRU, FIFO or tree-PLRU "
                                    "nor as by random victims";
    static const char *const of_sets[] = {"set_count", "way_counts", "index_kind", "index_masks"};
    struct pb_estimate reach = level->reach, covers = level->coverage;
    struct pb_estimate entries = level->entries, sets = level->sets;

    if (covers.low <= (double)least_bytes) { /* of smaller pages strides may leave out sets */
        covers.low = reach.low = 0.0;
        entries.high *= coverage / smallest_page;
        sets.high *= coverage / smallest_page;
    }
    pb_parameter_set_number(answer(at, i, "entry_coverage_bytes"), covers,
                            level->coverage_confidence,
                            "pages that hit and miss together, over all strides%s",
                            covers.low > 0.0 ? "" : "; no stride is shorter");
    if (coverage <= largest_page)
        pb_parameter_set_number(
            answer(at, i, "page_bytes"), (struct pb_estimate){coverage, 0.0, coverage},
            level->coverage_confidence, "what an entry covers; smaller pages do the same");
    else
        pb_parameter_set_none(answer(at, i, "page_bytes"),
                              "not observable: all pages covered by one entry hit together, so "
                              "that the page size does not appear in the timings");
    pb_parameter_set_number(answer(at, i, "penalty_cycles"), level->penalty, level->explained,
                            "M16 4.4: what a line takes longer where it misses this level%s",
                            level->penalty_open);
    for (size_t k = 0; k < sizeof(of_sets) / sizeof(of_sets[0]) && !level->is_explained; k++)
        pb_parameter_set_none(answer(at, i, of_sets[k]), "%s", no_policy);
    if (!level->is_explained) {
        pb_parameter_set_none(answer(at, i, "entry_count"), "%s", no_policy);
        pb_parameter_set_none(answer(at, i, "reach_bytes"),
                              "depends on entry_count, which is undetermined");
        return;
    }
    if (level->best.victims != PB_TLB_LRU)
        pb_parameter_set_number(answer(at, i, "entry_count"), entries, confidence,
                                "%s: log likelihood %.0f above none; loads miss as often as with "
                                "that many",
                                victims_of(&level->best), level->best.gain);
    else
        pb_parameter_set_number(answer(at, i, "entry_count"), entries, confidence,
                                "likeliest of all structures: log likelihood %.0f above none; %.0f "
                                "of %.0f loads as predicted",
                                level->best.gain, level->as_predicted, level->loads);
    pb_parameter_set_number(answer(at, i, "reach_bytes"), reach, level->reach_confidence,
                            "entries by what each covers");
    if (level->has_other_sets || level->imitates_sets) {
        for (size_t k = 0; k < sizeof(of_sets) / sizeof(of_sets[0]); k++)
            pb_parameter_set_none(
                answer(at, i, of_sets[k]),
                level->has_other_sets
                    ? "unexplained: more sets, by an index that was not found, are likelier"
                    : "unexplained: loads miss as if in sets of unequal size, but not quite; these "
                      "may imitate others");
        return;
    }
    pb_parameter_set_number(answer(at, i, "set_count"), sets, level->sets_confidence,
                            "likeliest of all structures");
    state_ways(at, i, level);
    state_index(at, i, level);
}

enum pb_status pb_infer_tlb_levels(const struct pb_case *at, struct pb_error *err)
{
    static const char *const names[] = {"page_bytes",  "entry_count", "entry_coverage_bytes",
                                        "reach_bytes", "set_count",   "way_counts",
                                        "index_kind",  "index_masks", "penalty_cycles"};
    struct pb_tlb_scans scans = {.items = NULL};
    struct pb_tlb_evidence evidence = {.scans = NULL};
    struct levels levels = {.count = 0};
    char reason[PB_MESSAGE_LENGTH];
    enum pb_status status = pb_tlb_scans_read(at->recordings, 2, &scans, err);

    if (status == PB_OK)
        status = pb_tlb_drop_conflicts(&scans, at->parameters, err);
    if (status == PB_OK)
        status = pb_tlb_evidence_open(&scans, at->parameters, &evidence, err);
    if (status == PB_OK)
        status = find_levels(&evidence, &levels, err);
    if (status == PB_OK)
        status = verify_levels(&evidence, &levels, err);
    if (status == PB_OK)
        snprintf(reason, sizeof(reason), "%s: chases over up to %llu MiB show %zu levels%s",
                 levels.is_ambiguous ? "ambiguous" : "no such level",
                 (unsigned long long)(scans.most_bytes >> 20), levels.count,
                 levels.is_ambiguous ? "; the next step may be a cache's" : "");
    else
        snprintf(reason, sizeof(reason), "%.200s", err->message);
    for (size_t i = 0; i < PB_TLB_FOUND_MAX && status != PB_NO_MEMORY; i++) {
        if (i < levels.count && status == PB_OK)
            state_level(at, i, &levels.items[i], scans.least_stride_bytes);
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]) && i >= levels.count; k++)
            pb_parameter_set_none(answer(at, i, names[k]), "%s", reason);
    }
    pb_tlb_evidence_clear(&evidence);
    pb_tlb_scans_clear(&scans);
    return status == PB_NO_MEMORY ? status : PB_OK;
}
