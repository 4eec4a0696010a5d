/* Climbing by the forward model; see refine.h. */
#include "analysis/tlb/refine.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

#include "analysis/cache/gf2.h"
#include "analysis/constants.h"
#include "analysis/tlb/spectrum.h"
#include "core/digest.h"

enum { STEPS_OF_TREES = 4, SETS_MAX = 1 << PB_TLB_PARITIES_MAX };

/* Steps of ways are one and such a part of them. */
enum { NEAR_STEPS = 16, FAR_STEPS = 4 };

/* Of more equal sets it is not listed whether they may be unequal; one set may be so many. */
enum { SETS_UNEQUAL = 8, SETS_OF_ONE = 4 };

/* How closely it is looked from afar, and at all chases. */
static const struct pb_tlb_effort coarse = {PB_TLB_OCTAVE_CHASES, PB_TLB_LOADS, 0, 0},
                                  fine = {0, PB_TLB_LOADS_OF_ALL / 2, 0, 0};

/*
 * Levels come up again and again in climbs of the same evidence: of so many, by their digest, it is
 * known that they are no likelier than so.
 */
enum { BOUNDS = 4096 };

struct bound {
    uint64_t digest; /* of the levels and the effort */
    double most, score;
};

struct climb {
    struct pb_tlb_evidence *evidence;
    struct pb_tlb_effort effort;
    struct bound *bounds;             /* [BOUNDS] */
    struct pb_tlb_levels best, found; /* found: as the evidence knows them */
    struct pb_tlb_race race;          /* of the best ones */
    double score;
    size_t left;
    struct pb_tlb_ranking *alike; /* not NULL: what is as likely is listed, and nothing climbed */
    enum pb_status status;
    struct pb_error *err;
};

static double price_of(const struct pb_tlb_structure *structure)
{
    double parameters = 3.0 + (structure->set_count > 1) + (double)structure->mask_count;

    if (structure->is_equal)
        return PB_TLB_PARAMETER_PRICE * parameters;
    return PB_TLB_PARAMETER_PRICE * (3.0 + (double)structure->set_count);
}

/* Sets that entries come to in turn overflow together, with more than the level reaches. */
static bool never_misses(const struct pb_tlb_scans *scans, const struct pb_tlb_structure *structure)
{
    return structure->is_equal && structure->mask_count == 0 &&
           pb_tlb_entry_count(structure) * (double)structure->coverage_bytes >=
               (double)scans->most_bytes;
}

static bool is_possible(const struct climb *climb, const struct pb_tlb_levels *levels, size_t at)
{
    const struct pb_tlb_level *level = &levels->items[at];
    const struct pb_tlb_structure *structure = &level->structure;
    uint64_t before_bytes = at > 0 ? levels->items[at - 1].structure.coverage_bytes : 0;

    return structure->ways[0] >= (structure->victims == PB_TLB_LRU ? 1 : 2) &&
           structure->set_count >= 1 && structure->set_count <= SETS_MAX &&
           level->penalty_cycles >= 2.0 &&
           structure->coverage_bytes >=
               pb_tlb_least_coverage(climb->evidence->scans, before_bytes) &&
           !never_misses(climb->evidence->scans, structure) &&
           (double)structure->ways[0] * (double)structure->set_count < 65536.0;
}

/* One number for all that the likelihood of levels depends on. */
static uint64_t digest_of(const struct pb_tlb_levels *levels, const struct pb_tlb_effort *effort)
{
    const uint64_t efforts[] = {effort->per_octave, effort->repeated_loads, effort->draw,
                                effort->level_count};
    uint64_t digest = pb_digest(0, efforts, sizeof(efforts));

    digest = pb_digest(digest, &levels->cache_share, sizeof(levels->cache_share));
    for (size_t i = 0; i < levels->count; i++) {
        const struct pb_tlb_structure *structure = &levels->items[i].structure;
        const uint64_t numbers[] = {structure->coverage_bytes, structure->set_count,
                                    structure->mask_count,     structure->victims,
                                    structure->is_equal,       structure->parts};
        size_t sets = structure->is_equal ? 1 : structure->set_count;

        digest = pb_digest(digest, &levels->items[i].penalty_cycles, sizeof(double));
        digest = pb_digest(digest, numbers, sizeof(numbers));
        digest = pb_digest(digest, structure->masks,
                           structure->mask_count * sizeof(structure->masks[0]));
        digest = pb_digest(digest, structure->ways, sets * sizeof(structure->ways[0]));
    }
    return digest;
}

static enum pb_status replay(struct climb *climb, const struct pb_tlb_levels *levels,
                             double *score_out)
{
    uint64_t digest = digest_of(levels, &climb->effort);
    struct bound *bound = &climb->bounds[digest % BOUNDS];

    climb->evidence->cache_share = levels->cache_share;
    if (bound->digest == digest && bound->most <= climb->score) {
        *score_out = bound->score;
        return climb->status;
    }
    climb->status = pb_tlb_replay(climb->evidence, levels->items, levels->count, &climb->effort,
                                  &climb->race, score_out, NULL, climb->err);
    for (size_t i = 0; i < levels->count; i++)
        *score_out -= price_of(&levels->items[i].structure);
    /* what was given up is behind the best */
    *bound = (struct bound){digest, fmax(*score_out, climb->score), *score_out};
    return climb->status;
}

/* Few chases and draws tell apart only what differs by more than they vary. */
static bool try(struct climb *climb, const struct pb_tlb_levels *levels)
{
    double least = climb->effort.per_octave > 0 ? PB_TLB_PARAMETER_PRICE : 1.0, score = 0.0;

    if (climb->left == 0 || climb->status != PB_OK)
        return false;
    for (size_t i = 0; i < levels->count; i++)
        if (levels->items[i].structure.parts > 1 || !is_possible(climb, levels, i))
            return false;
    climb->left--;
    if (replay(climb, levels, &score) != PB_OK || !(score > climb->score + least))
        return false;
    climb->score = score;
    climb->best = *levels;
    memcpy(climb->race.ahead, climb->race.own, sizeof(climb->race.ahead));
    return true;
}

/* With an effort of its own, from levels on. */
static void start(struct climb *climb, struct pb_tlb_effort effort, size_t trials,
                  const struct pb_tlb_levels *levels)
{
    struct pb_tlb_levels from = *levels;

    climb->effort = effort;
    climb->left = trials;
    climb->best = from;
    climb->score = -INFINITY; /* any levels are better */
    pb_tlb_start_race(&climb->race);
    try(climb, &from);
}

/*
 * What a level and those before it show does not depend on those behind, whose loads vary with what
 * comes to them. Where no victims are random, nothing varies, and levels behind tell as well: then
 * all are looked at.
 */
static size_t levels_to_look_at(const struct pb_tlb_levels *levels, size_t at)
{
    for (size_t i = 0; i < levels->count; i++)
        if (levels->items[i].structure.victims == PB_TLB_RANDOM)
            return at + 1;
    return 0;
}

/* With so many levels, whatever those behind are. */
static void start_levels(struct climb *climb, size_t count, size_t trials)
{
    struct pb_tlb_effort effort = climb->effort;

    effort.level_count = count;
    start(climb, effort, trials, &climb->best);
}

static bool try_level(struct climb *climb, size_t at, struct pb_tlb_level level)
{
    struct pb_tlb_levels levels = climb->best;

    levels.items[at] = level;
    return try(climb, &levels);
}

/* Lists another structure of a level; is it as likely as its own? */
static bool list(struct climb *climb, size_t at, const struct pb_tlb_structure *structure)
{
    struct pb_tlb_ranking *alike = climb->alike;
    const struct pb_tlb_structure *own = &climb->best.items[at].structure;
    struct pb_tlb_levels levels = climb->best;
    struct pb_tlb_structure *added = &alike->items[alike->count];
    double score = 0.0;

    levels.items[at].structure = *structure;
    if (climb->status != PB_OK || alike->count == PB_TLB_HYPOTHESES_MAX ||
        !is_possible(climb, &levels, at))
        return false;
    if (replay(climb, &levels, &score) != PB_OK || score == -INFINITY) /* it was given up */
        return false;
    *added = *structure;
    added->score = score - climb->score;
    added->gain = own->gain + added->score + price_of(structure) - price_of(own);
    added->ways_high = structure->ways[0];
    alike->count++;
    return added->gain >= own->gain - PB_SAME_PREDICTION - alike->noise;
}

/* Another structure of a level: is it better or, where such are listed, as likely? */
static bool look_at(struct climb *climb, size_t at, const struct pb_tlb_structure *structure)
{
    struct pb_tlb_level level = climb->best.items[at];

    if (climb->alike != NULL)
        return pb_tlb_is_same(structure, &level.structure) || list(climb, at, structure);
    level.structure = *structure;
    return try_level(climb, at, level);
}

/*
 * Any victims in the level's sets, with so many to so many ways in each, by steps of such a part of
 * them.
 */
static bool try_victims(struct climb *climb, struct pb_tlb_levels levels, size_t at, double least,
                        double most, uint32_t part)
{
    struct pb_tlb_structure *structure = &levels.items[at].structure;
    bool better = false;

    structure->is_equal = true;
    for (uint32_t ways = (uint32_t)fmax(least, 1.0); ways <= most; ways += ways / part + 1) {
        structure->ways[0] = ways;
        for (int victims = 0; victims < PB_TLB_VICTIMS; victims++) {
            structure->victims = (enum pb_tlb_victims)victims;
            better |= try(climb, &levels);
        }
    }
    return better;
}

/* From half as many ways to twice as many: LRU begins to miss at once, random victims before. */
static bool change_victims(struct climb *climb, size_t at, bool by_one)
{
    const struct pb_tlb_structure *from = &climb->best.items[at].structure;
    double ways = from->ways[0];

    if (!from->is_equal)
        return false;
    return by_one ? try_victims(climb, climb->best, at, ways - 1.0, ways + 1.0, UINT32_MAX)
                  : try_victims(climb, climb->best, at, ways / 2.0, 2.0 * ways, NEAR_STEPS);
}

/*
 * Steps of a part of the ways, at least so many, up and down as long as one is better, each twice
 * as large as the one before.
 */
static bool step_ways(struct climb *climb, size_t at, uint32_t part, uint32_t least)
{
    bool better = false;

    for (int down = 0; down < 2; down++) {
        uint32_t times = climb->best.items[at].structure.is_equal ? 1 : 0;

        while (times > 0) {
            struct pb_tlb_level level = climb->best.items[at];
            uint32_t ways = level.structure.ways[0], step = ways / part;

            step = times * (step > least ? step : least);
            level.structure.ways[0] = down ? ways - step : ways + step;
            if ((!down || step < ways) && level.structure.ways[0] < 65536 &&
                try_level(climb, at, level)) {
                better = true;
                times *= 2;
            } else {
                times = times > 1 ? 1 : 0;
            }
        }
    }
    return better;
}

/* First the large steps of ways. Trees of nearly as many ways are not nearly as likely. */
static bool change_ways(struct climb *climb, size_t at, bool by_one)
{
    bool better = false;

    for (uint32_t part = 2; part <= 32 && !by_one; part *= 4)
        better |= step_ways(climb, at, part, 1);
    for (uint32_t step = 1; step <= STEPS_OF_TREES; step++)
        if (step == 1 || climb->best.items[at].structure.victims == PB_TLB_TREE)
            better |= step_ways(climb, at, UINT32_MAX, step);
    return better;
}

/* What another climb found, where it is better. */
static bool take_better(struct climb *climb, const struct climb *other)
{
    climb->status = other->status;
    if (other->score <= climb->score + 1.0)
        return false;
    *climb = *other;
    return true;
}

/*
 * The structure next to another: entries of another size, twice or half as many sets, or both; last
 * much smaller entries, in as many sets or in more that reach as far.
 */
enum { STEPS = 8, HALVINGS = 14, MOVES = STEPS + 2 * HALVINGS };

static bool move(const struct pb_tlb_structure *from, size_t which,
                 struct pb_tlb_structure *moved_out)
{
    static const struct {
        int coverage, sets, ways;
    } steps[STEPS] = {{-1, 1, 0}, {1, -1, 0}, {-1, 0, 0}, {1, 0, 0},
                      {-1, 0, 1}, {1, 0, -1}, {0, 1, 0},  {0, -1, 0}};
    int coverage, sets, ways;

    *moved_out = *from;
    moved_out->resolved = 0;
    if (which >= STEPS) {
        size_t halvings = 2 + (which - STEPS) / 2;

        moved_out->coverage_bytes >>= halvings;
        moved_out->set_count <<= (which - STEPS) % 2 * halvings;
        return moved_out->coverage_bytes > 0;
    }
    coverage = steps[which].coverage;
    sets = steps[which].sets;
    ways = steps[which].ways;
    if ((sets < 0 && from->set_count % 2 != 0) || (ways < 0 && from->ways[0] < 2))
        return false;
    moved_out->coverage_bytes =
        coverage < 0 ? from->coverage_bytes / 2 : from->coverage_bytes << coverage;
    moved_out->set_count = sets < 0 ? from->set_count / 2 : from->set_count << sets;
    moved_out->ways[0] = ways < 0 ? (from->ways[0] + 1) / 2 : from->ways[0] << ways;
    return true;
}

/* Each move again and again, as long as that is better: what two sets do, four may do, too. */
static bool change_shape(struct climb *climb, size_t at)
{
    const struct pb_tlb_structure from = climb->best.items[at].structure;
    bool better = false;

    for (size_t i = 0; i < MOVES && from.is_equal && from.mask_count == 0; i++) {
        struct pb_tlb_structure moved, next = from;

        do {
            moved = next;
        } while (move(&moved, i, &next) && look_at(climb, at, &next));
        better |= !pb_tlb_is_same(&moved, &from);
    }
    return better;
}

/*
 * Any number of equal sets that entries come to in turn, with any victims: as many entries, or as
 * many ways; many sets where they divide the entries, and twice as many as long as that is better:
 * sets of unequal ways may imitate others.
 */
static bool change_sets(struct climb *climb, size_t at)
{
    const struct pb_tlb_structure from = climb->best.items[at].structure;
    struct pb_tlb_structure other = from;
    uint32_t entries = (uint32_t)pb_tlb_entry_count(&from), more = from.is_equal ? 0 : 1;
    bool better = false;

    other.is_equal = true;
    other.resolved = 0; /* it is not known which bits tell of so many sets */
    for (int victims = 0; victims < PB_TLB_VICTIMS && from.mask_count == 0; victims++) {
        bool again = true;

        other.victims = (enum pb_tlb_victims)victims;
        climb->left = PB_TLB_TRIALS;
        for (uint32_t sets = 1; sets <= PB_TLB_SETS_IN_TURN || sets <= entries; sets++) {
            bool doubles = (sets & (sets - 1)) == 0, here = false;

            if (sets > PB_TLB_SETS_IN_TURN && !(doubles && again) && entries % sets != 0)
                continue;
            again &= !doubles;
            other.set_count = sets;
            for (uint32_t ways = entries / sets;
                 ways <= (entries + sets - 1) / sets + more && sets <= entries; ways++) {
                other.ways[0] = ways;
                here |= look_at(climb, at, &other);
            }
            other.ways[0] = from.ways[0];
            here |= from.is_equal && sets <= PB_TLB_SETS_IN_TURN && look_at(climb, at, &other);
            again |= here;
            better |= here;
        }
    }
    return better;
}

/* As many entries in half as many sets, by all parities but one. */
static bool drop_parity(struct climb *climb, size_t at)
{
    const struct pb_tlb_structure from = climb->best.items[at].structure;
    bool better = false;

    for (size_t i = 0; i < from.mask_count; i++) {
        struct pb_tlb_structure half = pb_tlb_halve(&from, i, i);

        half.ways[0] *= 2;
        better |= look_at(climb, at, &half);
    }
    return better;
}

/* Loads that do other than in all replays, where there are more of them than by chance. */
static double denied_beyond_chance(const struct pb_tlb_fit *fit)
{
    double by_chance = fit->deniable + PB_FEW + PB_SIGMAS * sqrt(fit->deniable);

    return fit->denied > by_chance ? fit->denied - fit->deniable : 0.0;
}

double pb_tlb_misfit(const struct pb_tlb_fit *fit)
{
    double by_chance = gsl_cdf_chisq_Qinv(PB_MISSES_BY_CHANCE, fmax(fit->by_chance, 1.0));
    double of_other_lines = fit->of_other_lines - PB_TLB_OTHER_LINES * fit->leading;
    double unexplained = fit->unexplained + denied_beyond_chance(fit) + fmax(of_other_lines, 0.0);

    return fmax(unexplained / fmax(fit->leading, 1.0) / PB_TLB_AGAINST,
                (fit->deviation / by_chance - 1.0) / PB_TLB_DEVIATION);
}

double pb_tlb_other_sets(const struct pb_tlb_fit *fit)
{
    double denied = denied_beyond_chance(fit), against = fit->against + denied;
    double repeated = fit->repeated + denied;

    return repeated >= PB_FEW + PB_TLB_REPEATED * against ? repeated / against : 0.0;
}

static bool is_settled(const struct pb_tlb_fit *fit)
{
    return pb_tlb_misfit(fit) <= PB_TLB_SETTLED && pb_tlb_other_sets(fit) == 0.0;
}

static enum pb_status check(struct pb_tlb_evidence *evidence, struct pb_tlb_levels *levels,
                            struct pb_error *err)
{
    static const struct pb_tlb_effort all = {0, PB_TLB_LOADS_OF_ALL, 0, 0};
    double log_likelihood;

    evidence->cache_share = levels->cache_share;
    return pb_tlb_replay(evidence, levels->items, levels->count, &all, NULL, &log_likelihood,
                         levels->fits, err);
}

/* Do loads miss the level as it predicts? */
static bool fits(struct climb *climb, size_t at)
{
    struct pb_tlb_levels levels = climb->best;

    climb->status =
        climb->status == PB_OK ? check(climb->evidence, &levels, climb->err) : climb->status;
    return climb->status != PB_OK || is_settled(&levels.fits[at]);
}

/*
 * May other sets be what the level lacks? Then it is known which loads come to it, and these do
 * what is sure, but for a few, or for any number that mostly do otherwise again and again; how
 * often a load misses that may do either depends on the sets.
 */
static bool may_lack_sets(struct climb *climb, size_t at)
{
    struct pb_tlb_levels levels = climb->best;
    const struct pb_tlb_fit *fit = &levels.fits[at];

    if (climb->status == PB_OK)
        climb->status = check(climb->evidence, &levels, climb->err);
    for (size_t i = 0; i < at && climb->status == PB_OK; i++)
        if (pb_tlb_misfit(&levels.fits[i]) > PB_TLB_MISFIT_MOST)
            return false;
    if (levels.items[at].structure.victims == PB_TLB_LRU && pb_tlb_other_sets(fit) == 0.0)
        return false;
    return climb->status == PB_OK &&
           (pb_tlb_other_sets(fit) >= PB_MOST ||
            fit->unexplained <= PB_TLB_AGAINST * PB_TLB_MISFIT_MOST * fmax(fit->leading, 1.0));
}

/* Sets in turn as parities, which others may be as likely as. False: they are no power of two. */
static bool guess_parities(struct pb_tlb_structure *structure)
{
    structure->is_guessed = true;
    return pb_tlb_name_parities(structure);
}

/*
 * Other bits in one parity, or where `i` is their number, one more parity of these alone. The masks
 * stay reduced. False: they are dependent, or too many.
 */
static bool flip_bits(struct pb_tlb_structure *structure, size_t i, uint64_t bits)
{
    size_t count = structure->mask_count;

    if (i == PB_TLB_PARITIES_MAX)
        return false;
    if (i < count) {
        structure->masks[i] ^= bits;
    } else {
        structure->masks[count++] = bits;
        structure->set_count *= 2;
        structure->ways[0] = (structure->ways[0] + 1) / 2;
    }
    structure->mask_count = pb_gf2_reduce(structure->masks, count);
    return structure->mask_count == count;
}

/* Indexes with another bit in one parity, or with one parity more that has this bit alone. */
static bool change_bits(struct climb *climb, size_t at)
{
    struct pb_tlb_structure own = climb->best.items[at].structure;
    uint64_t touched = pb_tlb_touched_bits(climb->evidence->scans, own.coverage_bytes);
    bool better = false;

    if (own.set_count < 2 || !guess_parities(&own))
        return false;
    for (uint64_t bit = 1; bit != 0 && bit <= touched; bit <<= 1) {
        for (size_t i = 0; i <= own.mask_count; i++) {
            struct pb_tlb_structure other = own;

            if ((bit & touched) == 0 || !flip_bits(&other, i, bit) || !look_at(climb, at, &other))
                continue;
            better = true;
            own = climb->alike == NULL ? other : own;
        }
    }
    return better;
}

/* The index with one parity more, of as many entries, or of as many ways. */
static bool look_at_parity(struct climb *climb, size_t at, const struct pb_tlb_structure *own,
                           uint64_t mask, bool has_more_entries)
{
    struct pb_tlb_structure other = *own;

    climb->left = PB_TLB_TRIALS;
    if (!flip_bits(&other, other.mask_count, mask))
        return false;
    if (has_more_entries)
        other.ways[0] = own->ways[0];
    return look_at(climb, at, &other);
}

/*
 * The best parity more, of those that missing pages of one set have in common, or with another bit:
 * those in which all pages of long strides are alike are not seen so. Several of them together,
 * too: one alone may show in few chases. Else of the simplest.
 */
static bool add_parity(struct climb *climb, size_t at)
{
    const struct pb_tlb_structure own = climb->best.items[at].structure;
    uint64_t touched = pb_tlb_touched_bits(climb->evidence->scans, own.coverage_bytes);
    struct pb_tlb_parities parities = {.sure_count = 0};
    struct pb_tlb_structure together = own;
    bool better = false;

    if (climb->status == PB_OK)
        climb->status =
            pb_tlb_propose_parities(climb->evidence, climb->best.items, at, &parities, climb->err);
    for (size_t i = 0; i < parities.sure_count; i++) {
        better |= i > 0 && look_at_parity(climb, at, &together, parities.sure[i], false);
        flip_bits(&together, together.mask_count, parities.sure[i]);
        better |= look_at_parity(climb, at, &own, parities.sure[i], false);
        better |= look_at_parity(climb, at, &own, parities.sure[i], true);
        for (uint64_t bit = 1; bit != 0 && bit <= touched; bit <<= 1)
            better |= (bit & touched) != 0 &&
                      look_at_parity(climb, at, &own, parities.sure[i] ^ bit, true);
    }
    for (size_t i = 0; i < parities.simple_count && !better; i++)
        better |= look_at_parity(climb, at, &own, parities.simple[i], false);
    return better;
}

/*
 * Entries twice as large, whose numbers lack the lowest bit: in half as many sets, or in as many.
 * False: there is no half, or the parities need that bit.
 */
static bool enlarge(struct pb_tlb_structure *structure, bool halves_sets)
{
    bool is_hashed = structure->mask_count > 0;
    size_t count;

    if (!structure->is_equal)
        return false;
    structure->coverage_bytes *= 2;
    structure->resolved >>= 1;
    structure->open >>= 1;
    if (halves_sets && (is_hashed ? structure->masks[0] != 1 : structure->set_count % 2 != 0))
        return false;
    if (halves_sets && is_hashed)
        *structure = pb_tlb_halve(structure, 0, 0);
    else if (halves_sets)
        structure->set_count /= 2;
    count = structure->mask_count;
    for (size_t i = 0; i < count; i++)
        structure->masks[i] >>= 1;
    structure->mask_count = pb_gf2_reduce(structure->masks, count);
    return structure->mask_count == count;
}

/* Larger entries, as long as that is better. */
static bool enlarge_entries(struct climb *climb, size_t at)
{
    bool better = false, again = true;

    while (again) {
        again = false;
        for (int halves_sets = 1; halves_sets >= 0 && !again; halves_sets--) {
            struct pb_tlb_level level = climb->best.items[at];

            again = enlarge(&level.structure, halves_sets) && try_level(climb, at, level);
        }
        better |= again;
    }
    return better;
}

/* Parities that are the lowest bits of the entry's number: sets in turn. */
static void name_turns(struct climb *climb, size_t at)
{
    struct pb_tlb_level level = climb->best.items[at];
    struct pb_tlb_structure *structure = &level.structure;

    for (size_t i = 0; i < structure->mask_count; i++)
        if (structure->masks[i] != (uint64_t)1 << i)
            return;
    structure->mask_count = 0;
    structure->is_guessed = false;
    climb->left = PB_TLB_TRIALS;
    try_level(climb, at, level);
}

/* One parity more, or other bits, as long as that is better. */
static void climb_parities(struct climb *climb, size_t at)
{
    bool again = true;

    while (again && climb->status == PB_OK) {
        again = add_parity(climb, at);
        climb->left = PB_TLB_TRIALS;
        again = again || change_bits(climb, at);
        again |= enlarge_entries(climb, at);
        again |= change_ways(climb, at, true);
    }
}

/*
 * Where loads miss otherwise than predicted, or it is a matter of chance which ones do, sets by any
 * parities: from those of the level on, and from one set where they do not fit. By all chases, of
 * which few tell sets apart.
 */
static bool change_parities(struct climb *climb, size_t at)
{
    const struct pb_tlb_structure from = climb->best.items[at].structure;
    int starts = fits(climb, at) ? 1 : 2;
    bool better = false;

    if (!may_lack_sets(climb, at))
        return false;
    for (int from_one = 0; from_one < starts; from_one++) {
        struct climb other = *climb;
        struct pb_tlb_levels levels = climb->best;
        struct pb_tlb_structure *structure = &levels.items[at].structure;

        *structure = from;
        if (from_one) {
            structure->ways[0] = (uint32_t)pb_tlb_entry_count(&from);
            structure->is_equal = true;
            structure->set_count = 1;
            structure->mask_count = 0;
        }
        if (from_one ? from.set_count == 1 : !from.is_equal)
            continue;
        if (!guess_parities(structure))
            continue;
        start(&other, climb->effort, PB_TLB_TRIALS, &levels);
        climb_parities(&other, at);
        better |= take_better(climb, &other);
    }
    if (better)
        name_turns(climb, at);
    return better;
}

/* Makes those before one the known levels, so that others are proposed at its place. */
static bool look_behind(struct climb *climb, size_t at)
{
    if (climb->status == PB_OK)
        climb->status = pb_tlb_adopt_all(climb->evidence, climb->best.items, at, climb->err);
    climb->evidence->position = at;
    if (climb->status == PB_OK)
        pb_tlb_propose_steps(climb->evidence);
    return climb->status == PB_OK;
}

static void look_at_all(struct climb *climb)
{
    if (climb->status == PB_OK)
        climb->status =
            pb_tlb_adopt_all(climb->evidence, climb->found.items, climb->found.count, climb->err);
}

/*
 * Where loads miss otherwise than predicted, unequal sets that entries come to in turn, past those
 * that are full: from equal ones on, one set from few.
 */
static bool move_ways(struct climb *climb, size_t at)
{
    const struct pb_tlb_level from = climb->best.items[at];
    const struct pb_tlb_structure *equal = &from.structure;
    size_t least = equal->set_count > 1 ? equal->set_count : 2, count = 0;
    size_t most = equal->set_count > 1 ? equal->set_count : SETS_OF_ONE;
    struct pb_tlb_level moved[SETS_OF_ONE];
    bool better = false;

    if (equal->victims != PB_TLB_LRU || equal->mask_count > 0 ||
        equal->set_count > PB_TLB_SETS_IN_TURN || fits(climb, at) || !look_behind(climb, at))
        return false;
    for (size_t sets = least; sets <= most && climb->status == PB_OK; sets++) {
        struct pb_tlb_structure *structure = &moved[count].structure;

        moved[count] = from;
        structure->set_count = sets;
        if (equal->set_count == 1)
            structure->ways[0] = (uint32_t)((equal->ways[0] + sets - 1) / sets);
        if (!pb_tlb_deal(structure))
            continue;
        climb->status =
            pb_tlb_climb_unequal(climb->evidence, from.penalty_cycles, structure, climb->err);
        count++;
    }
    look_at_all(climb);
    climb->left += count;
    for (size_t i = 0; i < count; i++)
        better |= try_level(climb, at, moved[i]);
    return better;
}

/*
 * Seen is what loads take that miss so many levels: one such step may be another, with all those
 * behind it or alone.
 */
static bool change_penalty(struct climb *climb, size_t at)
{
    bool better = false;

    for (int kind = 0; kind < 4; kind++) {
        double cycles = kind % 2 == 0 ? 1.0 : -1.0;
        bool again = kind < 2 || at + 1 < climb->best.count;

        while (again) {
            struct pb_tlb_levels levels = climb->best;

            levels.items[at].penalty_cycles += cycles;
            if (kind >= 2)
                levels.items[at + 1].penalty_cycles -= cycles;
            again = try(climb, &levels);
            better |= again;
        }
    }
    return better;
}

/* The share of loads that miss a cache: what takes as long as that may be a level's or the cache's.
 */
static void change_caches(struct climb *climb)
{
    struct pb_tlb_levels levels = climb->best;

    for (double factor = 0.125; factor <= 8.0 && climb->evidence->cache_count > 0; factor *= 64.0) {
        double share = levels.cache_share;

        levels.cache_share = fmax(PB_TLB_L2_MISS_SHARE, fmin(0.5, share * factor));
        if (levels.cache_share != share)
            try(climb, &levels);
        levels.cache_share = share;
    }
}

/*
 * Other victims and numbers of entries in place of the level's: from half of those
 * of the level before on, up to twice those of the level behind, in its sets or in one.
 */
static bool scan_entries(struct climb *climb, struct pb_tlb_levels levels, size_t at)
{
    struct pb_tlb_structure *structure = &levels.items[at].structure;
    double least = at > 0 ? pb_tlb_entry_count(&levels.items[at - 1].structure) / 2.0 : 2.0;
    double most = at + 1 < levels.count ? 2.0 * pb_tlb_entry_count(&levels.items[at + 1].structure)
                                        : 64.0 * fmax(least, 2.0);
    bool better = false, again = true;

    while (again) {
        double sets = (double)structure->set_count;

        again = structure->set_count > 1;
        better |= try_victims(climb, levels, at, fmax(least / sets, 2.0), most / sets, FAR_STEPS);
        structure->set_count = 1;
        structure->mask_count = 0;
    }
    return better;
}

/* As long as any change of the level makes the accesses likelier; so many are tried in a turn. */
static void climb_level(struct climb *climb, size_t at, bool only_ways, size_t trials)
{
    bool again = true;

    while (again && climb->status == PB_OK) {
        climb->left = trials;
        again = change_victims(climb, at, only_ways);
        again |= change_ways(climb, at, only_ways);
        again |= drop_parity(climb, at);
        again |= change_penalty(climb, at);
        if (!only_ways) {
            again |= change_shape(climb, at);
            again = again || change_sets(climb, at);
        }
    }
}

static bool is_as_found(const struct climb *climb, size_t at)
{
    const struct pb_tlb_structure *here = &climb->best.items[at].structure,
                                  *found = &climb->found.items[at].structure;

    return at < climb->found.count && here->victims == found->victims &&
           here->coverage_bytes == found->coverage_bytes && here->ways[0] == found->ways[0] &&
           pb_tlb_entry_count(here) == pb_tlb_entry_count(found);
}

/* What a level may be behind others than those that it was found behind: proposed anew. */
static void propose_again(struct climb *climb, size_t at)
{
    double cycles = climb->best.items[at].penalty_cycles;
    struct pb_tlb_ranking ranking;
    size_t same = 0;

    while (same < at && is_as_found(climb, same))
        same++;
    if (same == at || !look_behind(climb, at))
        return;
    climb->status = pb_tlb_rank(climb->evidence, cycles, 0.0, false, &ranking, climb->err);
    look_at_all(climb);
    for (size_t i = 0; climb->status == PB_OK && i < ranking.count; i++)
        try_level(climb, at, (struct pb_tlb_level){ranking.items[i], cycles});
}

/* Level by level from one on. */
static void climb_levels(struct climb *climb, size_t first)
{
    const struct climb from = *climb;

    for (size_t i = first; i < climb->best.count && climb->status == PB_OK; i++) {
        start_levels(climb, i + 1, PB_TLB_TRIALS);
        propose_again(climb, i);
        scan_entries(climb, climb->best, i);
        climb_level(climb, i, false, PB_TLB_TRIALS);
    }
    start(climb, from.effort, PB_TLB_TRIALS, &climb->best);
    if (!(climb->score > from.score) && climb->status == PB_OK) /* with those behind */
        *climb = from;
}

/* Victims, ways, penalties and misses of caches, by all chases. */
static void climb_ways(struct climb *climb, size_t first)
{
    const struct pb_tlb_effort effort = climb->effort;

    for (size_t i = first; i < climb->best.count; i++) {
        bool moved;

        if (i == 0 && climb->best.items[i].structure.victims == PB_TLB_LRU && fits(climb, i))
            continue; /* it is sure */
        start_levels(climb, levels_to_look_at(&climb->best, i), PB_TLB_TRIALS / 8);
        climb_level(climb, i, true, PB_TLB_TRIALS / 8);
        moved = move_ways(climb, i);
        if (change_parities(climb, i) || moved)
            climb_level(climb, i, true, PB_TLB_TRIALS / 8);
    }
    start(climb, effort, PB_TLB_TRIALS / 8, &climb->best);
    change_caches(climb);
}

/*
 * A level between two or behind the last one, for each step that loads show beside those of the
 * levels: with as many entries as lie between theirs.
 */
static bool insert_level(struct climb *climb)
{
    struct pb_tlb_evidence *evidence = climb->evidence;
    struct pb_tlb_levels from = climb->best;
    size_t level_count = evidence->level_count, position = evidence->position;
    const double *steps = evidence->step_cycles;
    struct climb other = *climb;

    if (from.count == PB_TLB_FOUND_MAX || climb->status != PB_OK)
        return false;
    evidence->level_count = evidence->position = 0;
    pb_tlb_propose_steps(evidence);
    evidence->level_count = level_count;
    evidence->position = position;
    for (size_t k = 0; k < evidence->step_count; k++) {
        struct pb_tlb_levels levels = from;
        struct pb_tlb_level *here;
        double before = 0.0;
        size_t at = 0;

        while (at < from.count && before + from.items[at].penalty_cycles < steps[k] - 1.0)
            before += from.items[at++].penalty_cycles;
        if (steps[k] - before < 3.0 ||
            (at < from.count && before + from.items[at].penalty_cycles < steps[k] + 3.0))
            continue;
        for (size_t i = levels.count++; i > at; i--)
            levels.items[i] = levels.items[i - 1];
        here = &levels.items[at];
        if (at == from.count)
            *here = from.items[at - 1];
        else
            here[1].penalty_cycles -= steps[k] - before;
        here->penalty_cycles = steps[k] - before;
        other.left = PB_TLB_TRIALS;
        if (!scan_entries(&other, levels, at) && at < from.count) {
            other.left = PB_TLB_TRIALS; /* it is the one that was found, and that behind another */
            scan_entries(&other, levels, at + 1);
        }
    }
    if (other.best.count > from.count)
        climb_levels(&other, 0);
    climb->status = other.status;
    climb->best = other.best;
    climb->score = other.score;
    return other.best.count > from.count;
}

static double worst_misfit(const struct pb_tlb_levels *levels)
{
    double worst = 0.0;

    for (size_t i = 0; i < levels->count; i++)
        worst = fmax(worst, pb_tlb_misfit(&levels->fits[i]));
    return worst;
}

/*
 * The first level that does not predict what its loads miss, or whose sets are unequal, which may
 * imitate any policy; levels before it are settled, since none sees those behind.
 */
static size_t find_unsettled(const struct pb_tlb_levels *levels)
{
    size_t i = 0;

    while (i < levels->count && levels->items[i].structure.is_equal && is_settled(&levels->fits[i]))
        i++;
    return i;
}

static size_t count_unsettled(const struct pb_tlb_levels *levels)
{
    return levels->count - find_unsettled(levels);
}

/*
 * Does each level answer loads, do those that it is the last one to miss do so as predicted more
 * often than otherwise, and are fewer levels unsettled than of the others, or do all fit and
 * explain most of what those leave unexplained? The step of a level that answers none, or of loads
 * that were to do otherwise, is that of spikes; that of one that does not fit may be a cache's.
 */
static bool explains_more(const struct pb_tlb_levels *levels, const struct pb_tlb_levels *others)
{
    for (size_t i = 0; i < levels->count; i++) {
        bool is_last = i + 1 == levels->count;
        double stopping = is_last ? levels->fits[i].missed : levels->fits[i + 1].answered;

        if (levels->fits[i].answered < PB_FEW || stopping < levels->fits[i].against)
            return false;
    }
    return count_unsettled(levels) < count_unsettled(others) ||
           worst_misfit(levels) < fmin(1.0, worst_misfit(others) / 2.0);
}

/*
 * Random victims are drawn: levels whose likelihoods differ by no more than two draws of the best
 * one do cannot be told apart.
 */
static double measure_noise(const struct climb *climb)
{
    enum { DRAWS = 8 };
    double scores[DRAWS];
    bool any_random = false;

    for (size_t i = 0; i < climb->effort.level_count; i++)
        any_random |= climb->best.items[i].structure.victims == PB_TLB_RANDOM;
    for (size_t i = 0; i < DRAWS && any_random; i++) {
        struct pb_tlb_effort other = climb->effort;
        struct climb again = *climb;

        other.draw = i + 1;
        start(&again, other, 1, &climb->best);
        scores[i] = again.score;
    }
    return any_random ? PB_SIGMAS * M_SQRT2 * gsl_stats_sd(scores, 1, DRAWS) : 0.0;
}

/* Of sets of pages that predict the same, the fewest, of the largest entries. */
static void simplify(struct climb *climb)
{
    for (size_t at = 0; at < climb->best.count; at++) {
        size_t left = 2; /* ways to do so that were not tried yet: with half the sets, with all */
        double same;

        start_levels(climb, levels_to_look_at(&climb->best, at), 1);
        same = 1.0 + fmax(1e-3, measure_noise(climb)); /* a better one gains 1 */

        while (left > 0 && climb->best.items[at].structure.is_equal) {
            struct pb_tlb_level level = climb->best.items[at];
            bool is_done;

            climb->left++;
            climb->score -= same; /* as likely is enough */
            is_done = enlarge(&level.structure, left == 2) && try_level(climb, at, level);
            climb->score += is_done ? 0.0 : same;
            left = is_done ? 2 : left - 1;
        }
    }
}

/* The likeliest levels near some that do not fit: first what they cost, then what they are. */
static void improve(struct climb *climb, struct pb_tlb_levels *levels)
{
    size_t first = find_unsettled(levels);
    bool all_settled = true;
    struct pb_tlb_levels before;
    double least;

    for (size_t i = 0; i < levels->count; i++)
        all_settled &= is_settled(&levels->fits[i]);

    start(climb, fine, PB_TLB_TRIALS / 8, levels);
    for (size_t i = 0; i < climb->best.count; i++)
        change_penalty(climb, i);
    change_caches(climb);
    before = climb->best;
    least = climb->score;
    if (!all_settled) {
        start(climb, coarse, PB_TLB_TRIALS, &before);
        climb_levels(climb, first);
        *levels = climb->best;
        start(climb, fine, PB_TLB_TRIALS / 8, levels);
    }
    climb_ways(climb, first);
    if (climb->score < least) { /* few chases misled */
        start(climb, fine, PB_TLB_TRIALS / 8, &before);
        climb_ways(climb, first);
    }
    simplify(climb);
    *levels = climb->best;
    if (climb->status == PB_OK)
        climb->status = check(climb->evidence, levels, climb->err);
}

/*
 * A level that answers none of the loads that come to it is a part of the step of the one before,
 * or of the first one behind.
 */
static bool join_idle(struct pb_tlb_levels *levels)
{
    size_t before_count = levels->count;

    for (size_t at = levels->count; at-- > 0 && levels->count > 1;) {
        struct pb_tlb_level *here = &levels->items[at];

        if (levels->fits[at].answered >= PB_FEW)
            continue;
        here[at > 0 ? -1 : 1].penalty_cycles += here->penalty_cycles;
        levels->count--;
        memmove(here, here + 1, (levels->count - at) * sizeof(*here));
    }
    return levels->count < before_count;
}

/*
 * Loads that tell a few ways from one more with other victims may be too few among all to show as a
 * misfit. Noise meets all chases alike, and of an H200's outliers at most 0.7% are more than it
 * makes of a chase's loads: where more are, these are tried.
 */
static void try_other_victims(struct climb *climb, struct pb_tlb_levels *levels)
{
    bool is_better = false;

    for (size_t at = 0; at < levels->count && climb->status == PB_OK; at++) {
        const struct pb_tlb_fit *fit = &levels->fits[at];

        if (fit->unexplained <= PB_POSSIBLE_SHARE * fit->against ||
            !levels->items[at].structure.is_equal)
            continue;
        start(climb, fine, PB_TLB_TRIALS, levels);
        if (!change_victims(climb, at, true))
            continue;
        *levels = climb->best;
        is_better = true;
    }
    if (is_better && climb->status == PB_OK)
        climb->status = check(climb->evidence, levels, climb->err);
}

enum pb_status pb_tlb_refine(struct pb_tlb_evidence *evidence, struct pb_tlb_levels *levels,
                             struct pb_error *err)
{
    struct bound bounds[BOUNDS] = {{.digest = 0}};
    struct climb climb = {.evidence = evidence, .bounds = bounds, .found = *levels, .err = err};
    struct pb_tlb_levels likelier;
    bool again;

    climb.status = check(evidence, levels, err);
    while (climb.status == PB_OK && join_idle(levels))
        climb.status = check(evidence, levels, err);
    try_other_victims(&climb, levels);
    again = climb.status == PB_OK && find_unsettled(levels) < levels->count;
    likelier = *levels;
    if (again)
        improve(&climb, &likelier);
    if (find_unsettled(&likelier) >= find_unsettled(levels)) /* else noise is what they fit */
        *levels = likelier;
    while (again && climb.status == PB_OK && worst_misfit(levels) > 0.0) {
        struct pb_tlb_levels other;
        double score;

        start(&climb, fine, 1, levels);
        score = climb.score;
        start(&climb, coarse, PB_TLB_TRIALS, levels);
        again = insert_level(&climb);
        if (!again || climb.status != PB_OK)
            break;
        other = climb.best;
        climb.status = check(evidence, &other, err);
        improve(&climb, &other);
        start(&climb, fine, 1, &other);
        again = other.count > levels->count && climb.score > score && explains_more(&other, levels);
        if (again)
            *levels = other;
    }
    while (climb.status == PB_OK && join_idle(levels))
        climb.status = check(evidence, levels, err);
    evidence->cache_share = levels->cache_share;
    return climb.status;
}

/* Is it as likely as the level with so many ways more or less? */
static bool list_step(struct climb *climb, size_t at, bool is_down, uint32_t step)
{
    struct pb_tlb_structure structure = climb->best.items[at].structure;

    if (step >= 65536 || (is_down && step >= structure.ways[0]))
        return false;
    structure.ways[0] += is_down ? (uint32_t)-step : step;
    return list(climb, at, &structure);
}

/* All ways that are as likely as those of the level: by larger and larger steps, then between. */
static void list_ways(struct climb *climb, size_t at)
{
    for (int down = 0; down < 2; down++) {
        uint32_t alike = 0, other = 1;

        while (list_step(climb, at, down, other)) {
            alike = other;
            other *= 2;
        }
        while (other - alike > 1) {
            uint32_t middle = alike + (other - alike) / 2;

            if (list_step(climb, at, down, middle))
                alike = middle;
            else
                other = middle;
        }
    }
}

/* Each set may be several, by any index that spreads its entries evenly. */
static void list_even(struct climb *climb, size_t at)
{
    const struct pb_tlb_structure own = climb->best.items[at].structure;

    for (uint32_t parts = 2; own.is_equal && parts <= own.ways[0]; parts *= 2) {
        struct pb_tlb_structure even = own;

        even.parts = parts;
        even.set_count = own.set_count * parts;
        for (even.ways[0] = own.ways[0] / parts; even.ways[0] * parts < own.ways[0] + parts;
             even.ways[0]++)
            list(climb, at, &even);
    }
}

/*
 * Half as large entries in the sets of a hash, again and again: the lowest bit of an entry's number
 * may belong to none of the parities, to any, or be one more. No chase may load two pages of an
 * entry whose sets overflow.
 */
static void list_halved(struct climb *climb, size_t at)
{
    struct pb_tlb_structure half = climb->best.items[at].structure;
    bool again = half.mask_count > 0;

    while (again) {
        struct pb_tlb_structure same = half;

        same.coverage_bytes /= 2;
        same.resolved <<= 1;
        same.open <<= 1;
        for (size_t i = 0; i < same.mask_count; i++)
            same.masks[i] <<= 1;
        again = list(climb, at, &same);
        half = again ? same : half;
        for (size_t i = 0; i <= same.mask_count; i++) {
            struct pb_tlb_structure other = same;

            if (!flip_bits(&other, i, 1))
                continue;
            other.ways[0] = same.ways[0];
            if (list(climb, at, &other) && !again) {
                again = true;
                half = other;
            }
        }
    }
}

/* A way of a set in another one, of unequal ones or of few that entries come to in turn. */
static void list_moved_ways(struct climb *climb, size_t at)
{
    struct pb_tlb_structure own = climb->best.items[at].structure;

    if (own.victims != PB_TLB_LRU || own.mask_count > 0 ||
        (own.is_equal && (own.set_count > SETS_UNEQUAL || !pb_tlb_deal(&own))))
        return;
    for (size_t less = 0; less < own.set_count; less++) {
        for (size_t more = 0; more < own.set_count; more++) {
            struct pb_tlb_structure other = own;

            if (less != more && pb_tlb_move_ways(&other, less, more, 1))
                list(climb, at, &other);
        }
    }
}

enum pb_status pb_tlb_list_alike(struct pb_tlb_evidence *evidence,
                                 const struct pb_tlb_levels *levels, size_t at,
                                 struct pb_tlb_ranking *ranking, struct pb_error *err)
{
    /* Of sets the shares of misses tell, of ways each page where one set after another overflows.
     */
    const size_t count = levels_to_look_at(levels, at);
    const struct pb_tlb_effort shapes = {3 * PB_TLB_OCTAVE_CHASES, PB_TLB_LOADS_OF_ALL, 0, count},
                               ways = {0, PB_TLB_LOADS_OF_ALL, 0, count};
    const struct pb_tlb_structure *own = &levels->items[at].structure;
    struct bound bounds[BOUNDS] = {{.digest = 0}};
    struct climb climb = {.evidence = evidence, .bounds = bounds, .err = err};

    ranking->count = ranking->best = 0;
    start(&climb, shapes, 1, levels);
    climb.race.noise = ranking->noise = measure_noise(&climb);
    climb.alike = ranking;
    list(&climb, at, own);
    change_sets(&climb, at);
    change_shape(&climb, at);
    if (own->is_equal && (own->is_guessed || own->victims != PB_TLB_LRU)) {
        drop_parity(&climb, at);
        change_bits(&climb, at);
    }
    list_halved(&climb, at);
    start(&climb, ways, 1, levels);
    climb.race.noise = ranking->noise;
    if (own->is_equal)
        list_ways(&climb, at);
    list_even(&climb, at);
    list_moved_ways(&climb, at);
    for (size_t i = 1; i < ranking->count; i++)
        if (ranking->items[i].score > ranking->items[ranking->best].score &&
            ranking->items[i].parts <= 1)
            ranking->best = i;
    return climb.status;
}
