/* Scoring structures of a TLB level; see structure.h. */
#include "analysis/tlb/structure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/gf2.h"
#include "analysis/constants.h"
#include "analysis/model/parities.h"
#include "analysis/room.h"

enum { COVERAGES_MAX = 24, WAYS_MAX = 8192 };

/* Log odds of what need not be kept. */
static const double UNLIKELY = 30.0;

/* No gain: sums of the same terms in another order differ by less. */
static const double SAME_GAIN = 1e-6;

/* An entry as a scan comes to it: looked up from a chase of so many pages on, by this page. */
struct unit {
    uint32_t lookup_pages, page;
};

/* The chase with which a set overflows that has from `ways` to less than `end` ways. */
struct overflow {
    double sum; /* what its units gain then */
    uint32_t onset, ways, end;
    uint32_t before; /* so many recorded units are looked up by then */
};

/* The same for all numbers of ways. */
struct overflows {
    struct overflow *items; /* [chases] */
    size_t count;
};

/* The entries of all scans, if they cover so much each; by rising lookup_pages. */
struct units {
    uint64_t coverage_bytes;
    uint64_t *apart_bytes;    /* [scan] entries that cover no more are one for each page */
    struct unit **items;      /* [scan] */
    size_t *count;            /* [scan] */
    bool *are_in_order;       /* [scan] of pages, too */
    struct overflows *in_one; /* [scan] of all units in one set; count is 0: not known */
    uint8_t **remainders;     /* [scan][unit] of its entry by divisors[scan]; 0: not known */
    uint32_t *divisors;
    size_t most;
};

/* Bits in which two entries of one set differ, and how often they were seen to. */
struct difference {
    uint64_t bits;
    size_t times;
};

/* Room for scoring, and what is scored. */
struct scorer {
    struct pb_tlb_evidence *evidence;
    struct units units;
    uint32_t **clear_onsets; /* [scan][place] see clear_onset() */
    struct pb_parities parities;
    struct unit *ordered;           /* of one scan, set by set */
    uint32_t *set_of;               /* of its units */
    uint32_t *turn;                 /* [sets] of the next unit of a set that is in parts */
    uint32_t *begin;                /* [sets + 1] of ordered */
    double *by_ways;                /* [WAYS_MAX + 1] what all sets gain with so many ways each */
    struct overflows overflows;     /* of a set */
    double *sums;                   /* [chases] of these */
    uint32_t *onset_pages;          /* [pages] predicted of one scan */
    uint32_t *rank;                 /* [pages] of the recorded units of a set, in its order */
    struct difference *differences; /* of pages that were seen to share a set, so many */
    size_t difference_count;
    uint16_t *causes; /* [PB_TLB_UNEQUAL_MAX][PB_TLB_UNEQUAL_MAX], see count_causes() */
    struct pb_tlb_ranking *ranking;
    struct pb_room room; /* of all arrays */
};

double pb_tlb_entry_count(const struct pb_tlb_structure *structure)
{
    double sum = 0.0;

    if (structure->is_equal)
        return (double)structure->ways[0] * (double)structure->set_count;
    for (size_t i = 0; i < structure->set_count; i++)
        sum += structure->ways[i];
    return sum;
}

size_t pb_tlb_set_of(const struct pb_tlb_structure *structure, uint64_t entry)
{
    size_t set = 0;

    if (!structure->is_equal)
        return structure->set_at[entry % structure->entry_count];
    if (structure->mask_count == 0)
        return (size_t)(entry % structure->set_count);
    for (size_t i = 0; i < structure->mask_count; i++)
        set |= (size_t)__builtin_parityll(structure->masks[i] & entry) << i;
    return set;
}

bool pb_tlb_is_same(const struct pb_tlb_structure *a, const struct pb_tlb_structure *b)
{
    size_t sets = a->is_equal ? 1 : a->set_count;

    return a->victims == b->victims && a->coverage_bytes == b->coverage_bytes &&
           a->is_equal == b->is_equal && a->set_count == b->set_count &&
           a->mask_count == b->mask_count &&
           memcmp(a->masks, b->masks, a->mask_count * sizeof(a->masks[0])) == 0 &&
           memcmp(a->ways, b->ways, sets * sizeof(a->ways[0])) == 0;
}

bool pb_tlb_name_parities(struct pb_tlb_structure *structure)
{
    while (structure->mask_count < PB_TLB_PARITIES_MAX &&
           (size_t)1 << structure->mask_count < structure->set_count) {
        structure->masks[structure->mask_count] = (uint64_t)1 << structure->mask_count;
        structure->mask_count++;
    }
    return structure->set_count == (size_t)1 << structure->mask_count;
}

struct pb_tlb_structure pb_tlb_whole_sets(const struct pb_tlb_structure *structure)
{
    struct pb_tlb_structure whole = *structure;

    if (structure->parts > 1)
        whole.set_count /= structure->parts;
    return whole;
}

bool pb_tlb_is_cache(const struct pb_tlb_evidence *evidence,
                     const struct pb_tlb_structure *structure, double penalty_cycles)
{
    static const uint64_t page_bytes = (uint64_t)2 << 20;

    return pb_tlb_is_cache_step(evidence, penalty_cycles) &&
           (pb_tlb_entry_count(structure) >= (double)evidence->fits_pages ||
            (evidence->may_conflict && structure->coverage_bytes <= page_bytes));
}

/* By its parities, see pb_parities_make(). */
static size_t set_of(const struct scorer *scorer, const struct pb_tlb_structure *structure,
                     uint64_t entry)
{
    if (structure->is_equal && structure->mask_count > 0)
        return pb_parities_index(&scorer->parities, entry);
    if (structure->is_equal && (structure->set_count & (structure->set_count - 1)) == 0)
        return (size_t)entry & (structure->set_count - 1);
    return pb_tlb_set_of(structure, entry);
}

static int by_lookup(const void *a, const void *b)
{
    const struct unit *left = a, *right = b;

    if (left->lookup_pages != right->lookup_pages)
        return left->lookup_pages < right->lookup_pages ? -1 : 1;
    return (left->page > right->page) - (left->page < right->page);
}

static uint64_t entry_of(const struct scorer *scorer, size_t s, size_t page)
{
    return pb_tlb_entry(&scorer->evidence->scans->items[s], page, scorer->units.coverage_bytes);
}

/* The entries of one scan; those that no chase looks up are left out. Returns how many. */
static size_t list_units(struct scorer *scorer, size_t s)
{
    const struct pb_tlb_scan *scan = &scorer->evidence->scans->items[s];
    struct unit *units = scorer->units.items[s];
    uint64_t last = UINT64_MAX;
    bool is_sorted = true;
    size_t count = 0;

    for (size_t page = 0; page < scan->page_count; page++) {
        uint32_t lookup = pb_tlb_lookup_pages(scorer->evidence, s, page);
        uint64_t entry = entry_of(scorer, s, page);

        if (lookup <= scan->page_count &&
            (entry != last || lookup < units[count - 1].lookup_pages)) {
            count += entry != last;
            last = entry;
            units[count - 1] = (struct unit){lookup, (uint32_t)page};
            is_sorted &= count < 2 || units[count - 2].lookup_pages <= lookup;
        }
    }
    if (!is_sorted)
        qsort(units, count, sizeof(*units), by_lookup);
    scorer->units.are_in_order[s] = is_sorted;
    scorer->units.in_one[s].count = 0;
    return scorer->units.count[s] = count;
}

/* The same from those of a part of each, where pages are looked up in their order. */
static size_t join_units(struct scorer *scorer, size_t s)
{
    struct unit *units = scorer->units.items[s];
    uint64_t last = UINT64_MAX;
    size_t count = 0;

    for (size_t i = 0; i < scorer->units.count[s]; i++) {
        uint64_t entry = entry_of(scorer, s, units[i].page);

        if (entry != last)
            units[count++] = units[i];
        last = entry;
    }
    if (count < scorer->units.count[s])
        scorer->units.in_one[s].count = 0;
    return scorer->units.count[s] = count;
}

static void list_all(struct scorer *scorer, uint64_t coverage_bytes)
{
    struct units *units = &scorer->units;
    uint64_t before = units->coverage_bytes;

    if (before == coverage_bytes)
        return;
    units->coverage_bytes = coverage_bytes;
    memset(units->divisors, 0, scorer->evidence->scans->count * sizeof(*units->divisors));
    units->most = 0;
    for (size_t s = 0; s < scorer->evidence->scans->count; s++) {
        uint64_t apart = units->apart_bytes[s];
        size_t count = units->count[s];

        if (before == 0 || coverage_bytes % before > 0 || !units->are_in_order[s]) {
            if (before == 0 || before > apart || coverage_bytes > apart)
                count = list_units(scorer, s);
        } else if (coverage_bytes > apart) {
            count = join_units(scorer, s);
        }
        units->most = count > units->most ? count : units->most;
    }
    units->most = units->most < WAYS_MAX ? units->most : WAYS_MAX;
}

/* The least that two pages of a scan are apart. */
static uint64_t least_apart(const struct pb_tlb_scan *scan)
{
    uint64_t least = UINT64_MAX;

    for (size_t page = 1; page < scan->page_count; page++) {
        uint64_t before = scan->offset_bytes[page - 1], here = scan->offset_bytes[page];

        least = here <= before ? 0 : here - before < least ? here - before : least;
    }
    return least;
}

/* The units of a scan set by set, each in order of lookups. Valid until the next call. */
static const struct unit *order_units(struct scorer *scorer,
                                      const struct pb_tlb_structure *structure, size_t s)
{
    const struct pb_tlb_structure whole = pb_tlb_whole_sets(structure);
    const struct unit *units = scorer->units.items[s];
    size_t count = scorer->units.count[s];

    if (structure->set_count == 1) {
        scorer->begin[0] = 0;
        scorer->begin[1] = (uint32_t)count;
        return units;
    }
    if (s == 0)
        pb_parities_make(structure->masks, structure->mask_count, &scorer->parities);
    memset(scorer->begin, 0, (structure->set_count + 1) * sizeof(*scorer->begin));
    memset(scorer->turn, 0, whole.set_count * sizeof(*scorer->turn));
    for (size_t i = 0; i < count; i++) {
        uint32_t set = (uint32_t)set_of(scorer, &whole, entry_of(scorer, s, units[i].page));

        if (structure->parts > 1)
            set = set * structure->parts + scorer->turn[set]++ % structure->parts;
        scorer->set_of[i] = set;
        scorer->begin[set + 1]++;
    }
    for (size_t set = 0; set < structure->set_count; set++)
        scorer->begin[set + 1] += scorer->begin[set];
    for (size_t i = 0; i < count; i++)
        scorer->ordered[scorer->begin[scorer->set_of[i]]++] = units[i];
    for (size_t set = structure->set_count; set > 0; set--)
        scorer->begin[set] = scorer->begin[set - 1];
    scorer->begin[0] = 0;
    return scorer->ordered;
}

/* What a unit gains that misses once a chase loads so many pages. */
static double gain_from(const struct scorer *scorer, size_t s, const struct unit *unit,
                        uint32_t pages)
{
    const struct pb_tlb_scan *scan = &scorer->evidence->scans->items[s];

    return pb_tlb_gain(scorer->evidence, s, unit->page)[scan->first_chase[pages]];
}

/*
 * What the units of one set gain, for every number of ways that they overflow: the same for all
 * numbers that overflow with the same chase. Those looked up by then miss from that chase on, the
 * others at once when they are looked up.
 */
static void find_overflows(struct scorer *scorer, size_t s, const struct unit *units, size_t count,
                           struct overflows *overflows_out)
{
    const struct pb_tlb_scan *scan = &scorer->evidence->scans->items[s];
    size_t recorded = 0, end = count <= WAYS_MAX ? count : WAYS_MAX + 1;
    struct overflow *overflows = overflows_out->items;
    double *sums = scorer->sums, rest = 0.0;
    size_t before = 0, found = 0, first = 0;

    for (size_t i = 0; i < count; i++) {
        if (units[i].page >= scan->place_count || units[i].page % scorer->evidence->every > 0)
            continue;
        scorer->rank[recorded++] = (uint32_t)i;
        rest += gain_from(scorer, s, &units[i], units[i].lookup_pages);
    }
    for (size_t ways = 1; ways < end;) {
        uint32_t onset = scan->first_chase[units[ways].lookup_pages], pages = scan->pages[onset];

        for (; before < recorded && scorer->rank[before] <= ways; before++)
            rest -= gain_from(scorer, s, &units[scorer->rank[before]],
                              units[scorer->rank[before]].lookup_pages);
        sums[found] = rest;
        overflows[found] = (struct overflow){.onset = onset, .before = (uint32_t)before};
        overflows[found].ways = (uint32_t)ways;
        while (ways < end && units[ways].lookup_pages <= pages)
            ways++;
        overflows[found++].end = (uint32_t)ways;
    }
    for (size_t i = 0; i < recorded; i++) { /* unit by unit, whose gains lie together */
        const float *gain = pb_tlb_gain(scorer->evidence, s, units[scorer->rank[i]].page);

        while (first < found && overflows[first].before <= i)
            first++;
        if (first < found && overflows[found - 1].onset - overflows[first].onset < found - first)
            for (size_t k = first; k < found; k++) /* one by one, which is quicker */
                sums[k] += gain[overflows[first].onset + (k - first)];
        else
            for (size_t k = first; k < found; k++)
                sums[k] += gain[overflows[k].onset];
    }
    for (size_t k = 0; k < found; k++)
        overflows[k].sum = sums[k];
    overflows_out->count = found;
}

/*
 * What equal sets gain in all scans, by their ways. False: by no ways they can gain `least` any
 * more, with all that the scans left may show.
 */
static bool sum_structure(struct scorer *scorer, const struct pb_tlb_structure *structure,
                          double least)
{
    double left = scorer->evidence->bound, most = 0.0;

    memset(scorer->by_ways, 0, (scorer->units.most + 1) * sizeof(*scorer->by_ways));
    for (size_t s = 0; s < scorer->evidence->scans->count && most + left >= least; s++) {
        const struct unit *ordered = order_units(scorer, structure, s);
        bool is_one = structure->set_count == 1;
        struct overflows *found = is_one ? &scorer->units.in_one[s] : &scorer->overflows;

        for (size_t set = 0; set < structure->set_count; set++) {
            if (!is_one || found->count == 0)
                find_overflows(scorer, s, ordered + scorer->begin[set],
                               scorer->begin[set + 1] - scorer->begin[set], found);
            for (size_t k = 0; k < found->count; k++)
                for (size_t ways = found->items[k].ways; ways < found->items[k].end; ways++)
                    scorer->by_ways[ways] += found->items[k].sum;
        }
        left -= scorer->evidence->scan_bounds[s];
        most = 0.0;
        for (size_t ways = 1; ways < scorer->units.most && least > -INFINITY; ways++)
            most = scorer->by_ways[ways] > most ? scorer->by_ways[ways] : most;
    }
    return most + left >= least;
}

/* The ways that gain most, the fewest of those; *high_out the most. */
static double best_ways(const double *by_ways, size_t most, uint32_t *ways_out, uint32_t *high_out)
{
    double best = 0.0;

    *ways_out = (uint32_t)most;
    *high_out = (uint32_t)most;
    for (size_t ways = 1; ways < most; ways++) {
        if (by_ways[ways] <= best)
            continue;
        best = by_ways[ways];
        *ways_out = (uint32_t)ways;
    }
    *high_out = *ways_out;
    while (*high_out + 1 < most && by_ways[*high_out + 1] >= best - PB_SAME_PREDICTION)
        ++*high_out;
    while (*ways_out > 1 && by_ways[*ways_out - 1] >= best - PB_SAME_PREDICTION)
        --*ways_out;
    return best;
}

/* Hypotheses that score less need not be kept. */
static double least_likely(const struct pb_tlb_ranking *ranking)
{
    return ranking->count == 0 ? -INFINITY : ranking->items[ranking->best].score - UNLIKELY;
}

static void add_hypothesis(struct scorer *scorer, struct pb_tlb_structure *structure,
                           double parameters)
{
    struct pb_tlb_ranking *ranking = scorer->ranking;

    structure->score = structure->gain - PB_TLB_PARAMETER_PRICE * parameters;
    if (structure->score <= 0.0 || structure->score < least_likely(ranking))
        return;
    if (ranking->count == PB_TLB_HYPOTHESES_MAX) {
        ranking->items[0] = ranking->items[ranking->best];
        ranking->best = 0;
        ranking->count = 1;
    }
    ranking->items[ranking->count] = *structure;
    if (structure->score > ranking->items[ranking->best].score)
        ranking->best = ranking->count;
    ranking->count++;
}

/* Equal sets by the index, of the ways that gain most; where they can gain `least`. Returns the
 * gain. */
static double score_index(struct scorer *scorer, const struct pb_tlb_structure *index, double least)
{
    struct pb_tlb_structure equal = *index;

    equal.is_equal = true;
    equal.coverage_bytes = scorer->units.coverage_bytes;
    if (!sum_structure(scorer, &equal, least))
        return -INFINITY;
    equal.gain = best_ways(scorer->by_ways, scorer->units.most, &equal.ways[0], &equal.ways_high);
    add_hypothesis(scorer, &equal, 3.0 + (equal.set_count > 1) + (double)equal.mask_count);
    return equal.gain;
}

/* The chase with which a place begins to miss, where it is clearly one; the chase count: it is not.
 */
static uint32_t clear_onset(const struct pb_tlb_evidence *evidence, size_t s, size_t place)
{
    const struct pb_tlb_scan *scan = &evidence->scans->items[s];
    const float *gain = pb_tlb_gain(evidence, s, place);
    uint32_t lookup = pb_tlb_lookup_pages(evidence, s, place);
    uint32_t best = (uint32_t)scan->chase_count;
    double most = 0.0, next = 0.0;

    if (lookup > scan->page_count)
        return best;
    for (size_t w = scan->first_chase[lookup]; w < scan->chase_count; w++) {
        if (gain[w] > most) {
            next = most;
            most = gain[w];
            best = (uint32_t)w;
        } else if (gain[w] > next) {
            next = gain[w];
        }
    }
    return most - next >= PB_SAME_PREDICTION ? best : (uint32_t)scan->chase_count;
}

static void find_clear_onsets(struct scorer *scorer)
{
    const struct pb_tlb_scans *scans = scorer->evidence->scans;

    for (size_t s = 0; s < scans->count; s++)
        for (size_t place = 0; place < scans->items[s].place_count; place++)
            scorer->clear_onsets[s][place] = clear_onset(scorer->evidence, s, place);
}

static int by_bits(const void *a, const void *b)
{
    const struct difference *left = a, *right = b;

    return (left->bits > right->bits) - (left->bits < right->bits);
}

/* The most first. */
static int by_times(const void *a, const void *b)
{
    const struct difference *left = a, *right = b;

    return left->times != right->times ? (left->times < right->times ? 1 : -1) : by_bits(a, b);
}

/*
 * The entry whose first lookup makes a place miss: its page; SIZE_MAX: not clear. Where several are
 * looked up with that chase for the first time, as when a set of the level before overflows, any of
 * them may be it.
 */
static size_t find_cause(const struct scorer *scorer, size_t s, size_t place)
{
    const struct pb_tlb_scan *scan = &scorer->evidence->scans->items[s];
    const struct unit *units = scorer->units.items[s];
    size_t onset = scorer->clear_onsets[s][place], low = 0;
    size_t count = scorer->units.count[s], high = count;

    if (onset == scan->chase_count || onset == 0)
        return SIZE_MAX;
    while (low < high) { /* the first that is looked up by no chase before */
        size_t middle = low + (high - low) / 2;

        if (units[middle].lookup_pages <= scan->pages[onset - 1])
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || units[low].lookup_pages > scan->pages[onset] || units[low].page == place ||
        (low + 1 < count && units[low + 1].lookup_pages <= scan->pages[onset]))
        return SIZE_MAX;
    return units[low].page;
}

/*
 * Places that begin to miss with the page that was added share its set (N14 5.1): in what their
 * entries differ, into scorer->differences. Tried are all pages, or those alone of which that was
 * seen: other address bits are then of no index.
 */
static void learn(struct scorer *scorer, size_t s, bool seen_only, struct pb_gf2_span *tried)
{
    const struct pb_tlb_scan *scan = &scorer->evidence->scans->items[s];
    uint64_t first = 0, steps[64] = {0};

    if (scan->stride_bytes < scorer->units.coverage_bytes)
        return;
    for (size_t page = 1; page < scan->page_count && !seen_only; page++) {
        uint64_t step = entry_of(scorer, s, page) ^ entry_of(scorer, s, page - 1);
        uint64_t *last = &steps[step == 0 ? 0 : 63 - __builtin_clzll(step)];

        if (step != *last) /* most are known by their highest bit */
            pb_gf2_add(tried, *last = step);
    }
    for (size_t place = 0; place < scan->place_count; place++) {
        size_t added = find_cause(scorer, s, place);
        uint64_t bits;

        if (added == SIZE_MAX)
            continue;
        bits = entry_of(scorer, s, place) ^ entry_of(scorer, s, added);
        scorer->differences[scorer->difference_count++] = (struct difference){bits, 1};
        if (first == 0)
            first = entry_of(scorer, s, place);
        pb_gf2_add(tried, entry_of(scorer, s, place) ^ first);
        pb_gf2_add(tried, entry_of(scorer, s, added) ^ first);
    }
}

/* What was seen most often first. */
static void count_differences(struct scorer *scorer)
{
    struct difference *differences = scorer->differences;
    size_t count = 0;

    qsort(differences, scorer->difference_count, sizeof(*differences), by_bits);
    for (size_t i = 0; i < scorer->difference_count; i++) {
        if (count > 0 && differences[i].bits == differences[count - 1].bits)
            differences[count - 1].times++;
        else
            differences[count++] = differences[i];
    }
    qsort(differences, count, sizeof(*differences), by_times);
    scorer->difference_count = count;
}

struct pb_tlb_structure pb_tlb_halve(const struct pb_tlb_structure *index, size_t i, size_t j)
{
    struct pb_tlb_structure half = *index;

    if (i != j)
        half.masks[j] ^= half.masks[i];
    half.mask_count--;
    memmove(&half.masks[i], &half.masks[i + 1], (half.mask_count - i) * sizeof(half.masks[0]));
    half.set_count /= 2;
    return half;
}

/* The set of each entry where they come to the sets in turn, past full ones. False: too many. */
static bool deal(struct pb_tlb_structure *structure)
{
    size_t dealt = 0;

    structure->is_equal = false;
    structure->entry_count = (uint32_t)pb_tlb_entry_count(structure);
    if (structure->entry_count >= PB_TLB_UNEQUAL_MAX)
        return false;
    for (uint32_t round = 0; dealt < structure->entry_count; round++)
        for (size_t set = 0; set < structure->set_count; set++)
            if (round < structure->ways[set])
                structure->set_at[dealt++] = (uint8_t)set;
    return true;
}

bool pb_tlb_deal(struct pb_tlb_structure *structure)
{
    double entries = pb_tlb_entry_count(structure);

    if (entries >= PB_TLB_UNEQUAL_MAX || structure->set_count > PB_LIST_MAX ||
        entries < (double)structure->set_count)
        return false;
    memset(structure->ways, 0, sizeof(structure->ways));
    for (size_t i = 0; i < (size_t)entries; i++)
        structure->ways[i % structure->set_count]++;
    return deal(structure);
}

bool pb_tlb_move_ways(struct pb_tlb_structure *structure, size_t less, size_t more, uint32_t ways)
{
    if (less < structure->set_count && structure->ways[less] <= ways)
        return false;
    if (less < structure->set_count)
        structure->ways[less] -= ways;
    if (more < structure->set_count)
        structure->ways[more] += ways;
    return deal(structure);
}

/* The best of the indexes with half as many sets, bits dropped before bits joined. */
static struct pb_tlb_structure best_half(struct scorer *scorer,
                                         const struct pb_tlb_structure *index, double *gain_out)
{
    struct pb_tlb_structure best = *index;

    *gain_out = -INFINITY;
    for (size_t apart = 0; apart < index->mask_count; apart++) {
        for (size_t i = 0; i + apart < index->mask_count; i++) {
            struct pb_tlb_structure half = pb_tlb_halve(index, i, i + apart);
            double gain;

            half.is_guessed = true;
            gain = score_index(scorer, &half, fmin(*gain_out, least_likely(scorer->ranking)));
            if (gain <= *gain_out)
                continue;
            *gain_out = gain;
            best = half;
        }
    }
    return best;
}

/*
 * Where too few pages were seen to share a set, the index has more bits than the level's: half the
 * sets are tried as long as they gain as much. Returns the gain.
 */
static double coarsen(struct scorer *scorer, struct pb_tlb_structure index, double bound)
{
    const struct pb_tlb_ranking *ranking = scorer->ranking;
    double gain = score_index(scorer, &index, -INFINITY), most = gain, next;

    if (gain < PB_TLB_LEVEL_SHARE * bound ||
        (ranking->count > 0 && gain < PB_TLB_INDEX_SHARE * ranking->items[ranking->best].gain))
        return gain;
    while (index.mask_count > 1) {
        index = best_half(scorer, &index, &next);
        if (next < most - PB_SAME_PREDICTION)
            break;
        most = fmax(most, next);
    }
    return most;
}

/*
 * The best index, of those the one with the fewest sets, that maps what was seen at least so often
 * to one set: a page whose first miss a spike hides is seen with another set, but not as often.
 * Returns what the best gains; 0: there is none.
 */
static double best_index(struct scorer *scorer, const struct pb_gf2_span *tried,
                         struct pb_tlb_structure *index_out)
{
    const struct difference *differences = scorer->differences;
    struct pb_gf2_span same = {.rank = 0};
    double most = 0.0;

    for (size_t i = 0; i < scorer->difference_count; i++) {
        struct pb_tlb_structure index = {.resolved = pb_gf2_resolved(tried)};
        uint64_t masks[64];
        double gain;
        bool is_other = pb_gf2_add(&same, differences[i].bits);

        while (i + 1 < scorer->difference_count && differences[i + 1].times == differences[i].times)
            is_other |= pb_gf2_add(&same, differences[++i].bits);
        if (!is_other || tried->rank > PB_TLB_PARITIES_MAX + same.rank)
            continue;
        if (tried->rank == same.rank)
            break;
        index.mask_count = pb_gf2_masks(tried, &same, masks);
        index.set_count = (size_t)1 << index.mask_count;
        memcpy(index.masks, masks, index.mask_count * sizeof(masks[0]));
        gain = score_index(scorer, &index, most - PB_SAME_PREDICTION);
        if (gain <= 0.0 || gain < most - PB_SAME_PREDICTION)
            continue;
        most = fmax(most, gain);
        *index_out = index;
    }
    return most;
}

static bool has_same_masks(const struct pb_tlb_structure *a, const struct pb_tlb_structure *b)
{
    return a->mask_count == b->mask_count && a->resolved == b->resolved &&
           memcmp(a->masks, b->masks, a->mask_count * sizeof(a->masks[0])) == 0;
}

/*
 * Indexes of parities of address bits, from pages that begin to miss together: in plain memory, in
 * the block that is mapped again and again, or in both, whose arrays lie far apart.
 */
static void score_parities(struct scorer *scorer, double bound)
{
    const struct pb_tlb_scans *scans = scorer->evidence->scans;
    enum { SEEN, PLAIN, REMAPPED, BOTH, KINDS };
    struct pb_tlb_structure index = {.mask_count = 0}, before;
    double gain = 0.0;

    for (int kind = SEEN; kind < KINDS; kind++) {
        struct pb_gf2_span tried = {.rank = 0};

        if (kind > PLAIN && gain >= PB_TLB_EXPLAINED * bound)
            break;
        scorer->difference_count = 0;
        for (size_t s = 0; s < scans->count; s++)
            if (kind == BOTH || (scans->items[s].remapped_bytes > 0) == (kind == REMAPPED))
                learn(scorer, s, kind == SEEN, &tried);
        count_differences(scorer);
        before = index;
        if (best_index(scorer, &tried, &index) > 0.0 && !has_same_masks(&index, &before))
            gain = coarsen(scorer, index, bound);
    }
}

/* Entries of a scan modulo the number of all, which most moves of ways leave as it is. */
static const uint8_t *find_remainders(struct scorer *scorer, uint32_t entry_count, size_t s)
{
    struct units *units = &scorer->units;

    for (size_t i = 0; i < units->count[s] && units->divisors[s] != entry_count; i++)
        units->remainders[s][i] =
            (uint8_t)(entry_of(scorer, s, units->items[s][i].page) % entry_count);
    units->divisors[s] = entry_count;
    return units->remainders[s];
}

/* What the units of a scan gain in unequal sets: each overflows with one more than its ways. */
static double sum_unequal(struct scorer *scorer, const struct pb_tlb_structure *structure, size_t s)
{
    const struct unit *units = scorer->units.items[s];
    const uint8_t *remainders = find_remainders(scorer, structure->entry_count, s);
    size_t count = scorer->units.count[s], places = scorer->evidence->scans->items[s].place_count;
    uint32_t held[PB_LIST_MAX] = {0}, overflow_pages[PB_LIST_MAX] = {0}; /* 0: it does not */
    double sum = 0.0;

    for (size_t i = 0; i < count; i++) {
        size_t set = structure->set_at[remainders[i]];

        if (held[set]++ == structure->ways[set] && structure->ways[set] <= scorer->units.most)
            overflow_pages[set] = units[i].lookup_pages;
    }
    memset(held, 0, sizeof(held));
    for (size_t i = 0; i < count; i++) {
        size_t set = structure->set_at[remainders[i]];
        bool is_late = held[set]++ > structure->ways[set]; /* which misses as it is looked up */

        if (units[i].page < places && overflow_pages[set] > 0)
            sum += gain_from(scorer, s, &units[i],
                             is_late ? units[i].lookup_pages : overflow_pages[set]);
    }
    return sum;
}

/* Do unequal sets gain more in all scans than a structure? Then they are that. */
static bool is_better_unequal(struct scorer *scorer, struct pb_tlb_structure *other,
                              struct pb_tlb_structure *best)
{
    double left = scorer->evidence->bound, least = best->gain + SAME_GAIN;

    other->gain = 0.0;
    for (size_t s = 0; s < scorer->evidence->scans->count && other->gain + left > least; s++) {
        other->gain += sum_unequal(scorer, other, s);
        left -= scorer->evidence->scan_bounds[s];
    }
    if (!(other->gain + left > least))
        return false;
    *best = *other;
    return true;
}

/* The longest stride that comes to every entry. */
static uint64_t stride_of_rows(const struct scorer *scorer)
{
    const struct pb_tlb_scans *scans = scorer->evidence->scans;
    uint64_t longest = 0;

    for (size_t s = 0; s < scans->count; s++)
        if (scans->items[s].stride_bytes > longest &&
            scans->items[s].stride_bytes <= scorer->units.coverage_bytes)
            longest = scans->items[s].stride_bytes;
    return longest;
}

/* How often places of each remainder by the entry count began to miss with a page of another. */
static void count_causes(struct scorer *scorer, uint32_t entry_count)
{
    uint64_t stride = stride_of_rows(scorer);

    memset(scorer->causes, 0,
           (size_t)PB_TLB_UNEQUAL_MAX * PB_TLB_UNEQUAL_MAX * sizeof(*scorer->causes));
    for (size_t s = 0; s < scorer->evidence->scans->count; s++) {
        const struct pb_tlb_scan *scan = &scorer->evidence->scans->items[s];

        for (size_t place = 0; place < scan->place_count && scan->stride_bytes == stride; place++) {
            size_t added = find_cause(scorer, s, place);

            if (added != SIZE_MAX)
                scorer->causes[entry_of(scorer, s, place) % entry_count * PB_TLB_UNEQUAL_MAX +
                               entry_of(scorer, s, added) % entry_count]++;
        }
    }
}

/* The entries, by their remainders, that were seen most often with the same cause: they share a
 * set. */
struct groups {
    uint8_t of[PB_TLB_UNEQUAL_MAX];
    bool is_seen[PB_TLB_UNEQUAL_MAX];
};

static void group_entries(struct scorer *scorer, uint32_t entry_count, struct groups *groups)
{
    count_causes(scorer, entry_count);
    memset(groups->is_seen, 0, sizeof(groups->is_seen));
    for (size_t i = 0; i < entry_count; i++)
        groups->of[i] = (uint8_t)i;
    for (size_t i = 0; i < entry_count; i++) {
        const uint16_t *causes = scorer->causes + i * PB_TLB_UNEQUAL_MAX;
        size_t most = i;
        uint8_t joined, kept;

        for (size_t k = 0; k < entry_count; k++)
            most = causes[k] > causes[most] ? k : most;
        groups->is_seen[i] |= causes[most] > 0;
        groups->is_seen[most] |= causes[most] > 0;
        joined = groups->of[i];
        kept = groups->of[most];
        for (size_t k = 0; k < entry_count; k++)
            groups->of[k] = groups->of[k] == joined ? kept : groups->of[k];
    }
}

/* The same groups where entries are half as large: the first half of one has twice its number. */
static struct groups halve_entries(const struct groups *from, uint32_t entry_count)
{
    struct groups groups = *from;

    for (size_t i = 0; i < entry_count; i++) {
        groups.of[2 * i % entry_count] = from->of[i];
        groups.is_seen[2 * i % entry_count] = from->is_seen[i];
    }
    return groups;
}

/* Sets of so many ways, in the order of their entries. False: they are too many, or equal. */
static bool number_sets(const struct groups *groups, uint32_t entry_count,
                        struct pb_tlb_structure *structure)
{
    bool is_numbered[PB_TLB_UNEQUAL_MAX] = {false}, is_unequal = false;

    structure->set_count = 0;
    for (size_t i = 0; i < entry_count; i++) {
        uint32_t ways = 0;

        if (!groups->is_seen[i] || is_numbered[groups->of[i]])
            continue;
        if (structure->set_count == PB_LIST_MAX)
            return false;
        is_numbered[groups->of[i]] = true;
        for (size_t k = i; k < entry_count; k++)
            ways += groups->of[k] == groups->of[i] && groups->is_seen[k];
        is_unequal |= structure->set_count > 0 && ways != structure->ways[0];
        structure->ways[structure->set_count++] = ways;
    }
    return is_unequal && deal(structure);
}

/* Entries of which no cause was seen, as one set more: where that gains most. */
static void add_unseen(struct scorer *scorer, struct pb_tlb_structure *structure, uint32_t ways)
{
    const struct pb_tlb_structure from = *structure;

    for (size_t at = 0; at <= from.set_count && ways > 0 && from.set_count < PB_LIST_MAX; at++) {
        struct pb_tlb_structure next = from;

        memmove(&next.ways[at + 1], &next.ways[at], (from.set_count - at) * sizeof(next.ways[0]));
        next.ways[at] = ways;
        next.set_count++;
        if (deal(&next))
            is_better_unequal(scorer, &next, structure);
    }
}

/* Ways of one set more, of another less, or both, as long as that gains more. */
static void climb_moves(struct scorer *scorer, struct pb_tlb_structure *structure)
{
    const size_t sets = structure->set_count, pairs = (sets + 1) * (sets + 1);

    for (size_t k = 0, since = 0; since < 2 * pairs; k = (k + 1) % (2 * pairs)) {
        struct pb_tlb_structure next = *structure;
        size_t less = k / 2 / (sets + 1), more = k / 2 % (sets + 1);

        since++;
        while (less != more && pb_tlb_move_ways(&next, less, more, 1 + k % 2) &&
               is_better_unequal(scorer, &next, structure))
            since = 0;
    }
}

/*
 * Sets of unequal ways, as of Fermi's to Maxwell's second TLBs (M16 4.4): entries are dealt to the
 * sets so that as many in a row as the level holds fill all of them. With each page beyond, the set
 * that it belongs to begins to miss, as many pages as it has ways. Of entries half as large that
 * are odd in number, strides of the whole come to all, too.
 */
static void score_unequal(struct scorer *scorer, uint32_t entry_count, uint64_t least_bytes)
{
    const struct pb_tlb_ranking *ranking = scorer->ranking;
    const uint64_t whole_bytes = scorer->units.coverage_bytes;
    struct groups groups;
    bool again = entry_count >= 2 && entry_count < PB_TLB_UNEQUAL_MAX;

    if (again)
        group_entries(scorer, entry_count, &groups);
    for (uint64_t bytes = whole_bytes; again && bytes >= least_bytes; bytes /= 2) {
        struct pb_tlb_structure structure = {.coverage_bytes = bytes}, guessed;

        if (!number_sets(&groups, entry_count, &structure))
            break;
        list_all(scorer, bytes);
        guessed = structure;
        structure.gain = -INFINITY;
        is_better_unequal(scorer, &guessed, &structure);
        again = ranking->count == 0 ||
                structure.gain >= PB_TLB_INDEX_SHARE * ranking->items[ranking->best].gain;
        if (again) {
            add_unseen(scorer, &structure, entry_count - structure.entry_count);
            climb_moves(scorer, &structure);
        }
        add_hypothesis(scorer, &structure, 4.0 + (double)structure.set_count);
        again &= entry_count % 2 != 0;
        if (again)
            groups = halve_entries(&groups, entry_count);
    }
    list_all(scorer, whole_bytes);
}

/*
 * Where several places of a scan begin to miss, so many entries in a row are more than fit: *most
 * of them do at the most. As many fit as had been looked up before: *least. 0: not seen.
 */
static void fit_in_a_row(const struct scorer *scorer, uint32_t *least, uint32_t *most)
{
    uint64_t stride = stride_of_rows(scorer);
    uint32_t each = stride > 0 ? (uint32_t)(scorer->units.coverage_bytes / stride) : 1;

    *least = *most = 0;
    for (size_t s = 0; s < scorer->evidence->scans->count; s++) {
        const struct pb_tlb_scan *scan = &scorer->evidence->scans->items[s];
        uint32_t counts[PB_TLB_UNEQUAL_MAX] = {0}, entries = 1, looked_up = 0;

        if (scan->stride_bytes != stride)
            continue;
        for (size_t place = 0; place < scan->place_count; place++) {
            size_t onset = scorer->clear_onsets[s][place];
            uint32_t reached = onset < scan->chase_count ? (scan->pages[onset] - 1) / each + 1 : 0;

            if (reached > 0 && reached < PB_TLB_UNEQUAL_MAX)
                counts[reached]++;
        }
        while (entries < PB_TLB_UNEQUAL_MAX && counts[entries] < 2)
            entries++;
        if (entries == PB_TLB_UNEQUAL_MAX)
            continue;
        while (looked_up < scorer->units.count[s] &&
               scorer->units.items[s][looked_up].lookup_pages <= (entries - 1) * each)
            looked_up++;
        if (*most > 0 && entries > *most)
            continue; /* loads of it may be left out */
        *most = looked_up > entries - 1 ? looked_up : entries - 1;
        *least = looked_up;
    }
}

static enum pb_status open_scorer(struct scorer *scorer, struct pb_error *err)
{
    const struct pb_tlb_scans *scans = scorer->evidence->scans;
    struct pb_room *room = &scorer->room;
    size_t pages = 0, chases = 0, places = 0;

    scorer->units.items = pb_room_array(room, scans->count, sizeof(struct unit *));
    PB_ROOM_ARRAY(room, scorer->units.apart_bytes, scans->count);
    PB_ROOM_ARRAY(room, scorer->units.in_one, scans->count);
    PB_ROOM_ARRAY(room, scorer->units.count, scans->count);
    PB_ROOM_ARRAY(room, scorer->units.are_in_order, scans->count);
    PB_ROOM_ARRAY(room, scorer->units.divisors, scans->count);
    scorer->units.remainders = pb_room_array(room, scans->count, sizeof(uint8_t *));
    PB_ROOM_ARRAY(room, scorer->clear_onsets, scans->count);
    for (size_t s = 0; s < scans->count && !room->is_out; s++) {
        const struct pb_tlb_scan *scan = &scans->items[s];

        pages = scan->page_count > pages ? scan->page_count : pages;
        chases = scan->chase_count > chases ? scan->chase_count : chases;
        places += scan->place_count;
        PB_ROOM_ARRAY(room, scorer->units.items[s], scan->page_count);
        PB_ROOM_ARRAY(room, scorer->units.remainders[s], scan->page_count);
        PB_ROOM_ARRAY(room, scorer->units.in_one[s].items, scan->chase_count + 1);
        scorer->units.apart_bytes[s] = least_apart(scan);
        PB_ROOM_ARRAY(room, scorer->clear_onsets[s], scan->place_count + 1);
    }
    PB_ROOM_ARRAY(room, scorer->ordered, pages + 1);
    PB_ROOM_ARRAY(room, scorer->overflows.items, chases + 1);
    PB_ROOM_ARRAY(room, scorer->sums, chases + 1);
    PB_ROOM_ARRAY(room, scorer->onset_pages, pages + 1);
    PB_ROOM_ARRAY(room, scorer->rank, pages + 1);
    PB_ROOM_ARRAY(room, scorer->set_of, pages + 1);
    PB_ROOM_ARRAY(room, scorer->begin, ((size_t)1 << PB_TLB_PARITIES_MAX) + 2);
    PB_ROOM_ARRAY(room, scorer->turn, (size_t)1 << PB_TLB_PARITIES_MAX);
    PB_ROOM_ARRAY(room, scorer->by_ways, WAYS_MAX + 1);
    PB_ROOM_ARRAY(room, scorer->differences, places + 1);
    PB_ROOM_ARRAY(room, scorer->causes, (size_t)PB_TLB_UNEQUAL_MAX * PB_TLB_UNEQUAL_MAX);
    return pb_room_status(room, err);
}

/* The pages with which every page of a scan begins to miss. */
static void predict_onsets(struct scorer *scorer, const struct pb_tlb_structure *structure,
                           size_t s, uint32_t *onset_pages)
{
    const struct unit *ordered = order_units(scorer, structure, s);

    for (size_t page = 0; page < scorer->evidence->scans->items[s].page_count; page++)
        onset_pages[page] = PB_TLB_NEVER;
    for (size_t set = 0; set < structure->set_count; set++) {
        const struct unit *units = ordered + scorer->begin[set];
        size_t count = scorer->begin[set + 1] - scorer->begin[set];
        uint32_t ways = structure->ways[structure->is_equal ? 0 : set];

        for (size_t i = 0; i < count && ways < count; i++)
            onset_pages[units[i].page] = units[i].lookup_pages > units[ways].lookup_pages
                                             ? units[i].lookup_pages
                                             : units[ways].lookup_pages;
    }
}

/*
 * A place speaks against an onset where another explains it better, by more than the likeliest of
 * so many by chance. It is seen to miss where any onset is so much better than none.
 */
static void check(const struct pb_tlb_evidence *evidence, size_t s, const uint32_t *onset_pages,
                  struct pb_tlb_check *check)
{
    const struct pb_tlb_scan *scan = &evidence->scans->items[s];

    for (size_t place = 0; place < scan->place_count; place++) {
        const float *gain = pb_tlb_gain(evidence, s, place);
        uint32_t lookup = pb_tlb_lookup_pages(evidence, s, place);
        size_t predicted = scan->chase_count;
        double most = 0.0, margin = PB_SAME_PREDICTION + log((double)scan->chase_count);

        if (lookup > scan->page_count)
            continue;
        if (onset_pages[place] <= scan->page_count)
            predicted = scan->first_chase[onset_pages[place]];
        for (size_t w = scan->first_chase[lookup]; w < scan->chase_count; w++)
            most = gain[w] > most ? gain[w] : most;
        check->seen += most > margin || gain[predicted] < -margin;
        check->agreeing += most > margin && gain[predicted] >= most - margin;
    }
}

/* Does the best structure so far predict nearly every place of which it is clear when it misses?
 */
static bool is_explained(struct scorer *scorer)
{
    const struct pb_tlb_ranking *ranking = scorer->ranking;
    struct pb_tlb_check sum = {0, 0};

    if (ranking->count == 0 ||
        ranking->items[ranking->best].coverage_bytes != scorer->units.coverage_bytes)
        return false;
    for (size_t s = 0; s < scorer->evidence->scans->count; s++) {
        predict_onsets(scorer, &ranking->items[ranking->best], s, scorer->onset_pages);
        check(scorer->evidence, s, scorer->onset_pages, &sum);
    }
    return (double)sum.agreeing >= PB_TLB_EXPLAINED * (double)sum.seen;
}

/* A coverage and what one set of it gains. */
struct coverage {
    uint64_t bytes;
    double gain;
};

static int by_gain(const void *a, const void *b)
{
    const struct coverage *left = a, *right = b;

    if (left->gain != right->gain)
        return left->gain < right->gain ? 1 : -1;
    return (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

uint64_t pb_tlb_least_coverage(const struct pb_tlb_scans *scans, uint64_t before_bytes)
{
    static const uint64_t page_bytes = (uint64_t)2 << 20;

    return before_bytes >= page_bytes && page_bytes > scans->least_stride_bytes
               ? page_bytes
               : scans->least_stride_bytes;
}

static uint64_t least_coverage(const struct pb_tlb_evidence *evidence)
{
    return pb_tlb_least_coverage(
        evidence->scans,
        evidence->position > 0 ? evidence->known[evidence->position - 1].coverage_bytes : 0);
}

/* Bits in which the entries of any chase differ. */
static uint64_t touched_bits(const struct scorer *scorer)
{
    uint64_t first = entry_of(scorer, 0, 0), touched = 0;

    for (size_t s = 0; s < scorer->evidence->scans->count; s++)
        for (size_t i = 0; i < scorer->units.count[s]; i++)
            touched |= entry_of(scorer, s, scorer->units.items[s][i].page) ^ first;
    return touched;
}

/* Bits of which no chase tells that they do not belong to one of the parities. */
static void find_open_bits(struct scorer *scorer, struct pb_tlb_structure *index)
{
    uint64_t touched;

    list_all(scorer, index->coverage_bytes);
    touched = touched_bits(scorer) & ~index->resolved;
    for (uint64_t bit = 1; bit != 0 && bit <= touched; bit <<= 1) {
        for (size_t i = 0; i < index->mask_count && (touched & bit & ~index->open) != 0; i++) {
            struct pb_tlb_structure other = *index;

            other.masks[i] |= bit;
            if (sum_structure(scorer, &other, index->gain - PB_SAME_PREDICTION) &&
                scorer->by_ways[index->ways[0]] >= index->gain - PB_SAME_PREDICTION)
                index->open |= bit;
        }
    }
}

/* Of sets in turn: all other bits. */
static void find_open_bits_in_turn(struct scorer *scorer, struct pb_tlb_structure *structure)
{
    struct pb_tlb_structure index = *structure;

    if (!pb_tlb_name_parities(&index))
        return;
    for (size_t i = 0; i < index.mask_count; i++)
        index.resolved |= index.masks[i];
    find_open_bits(scorer, &index);
    structure->resolved = (touched_bits(scorer) | index.resolved) & ~index.open;
}

static void find_all_open_bits(struct scorer *scorer)
{
    struct pb_tlb_ranking *ranking = scorer->ranking;

    for (size_t i = 0; i < ranking->count; i++) {
        struct pb_tlb_structure *here = &ranking->items[i];

        if (here->score < ranking->items[ranking->best].score - 1e-3 || here->parts > 1)
            continue;
        if (here->mask_count > 0)
            find_open_bits(scorer, here);
        else if (here->is_equal && here->set_count > 1)
            find_open_bits_in_turn(scorer, here);
    }
}

/*
 * Entries of half the size may be as many as before, where the bit that tells them apart belongs to
 * no set, or is one more bit of a parity; or twice as many, in twice the sets. What is as likely is
 * halved in turn; of those with one more bit, which would be too many, only what is likelier. *left
 * bounds the time, where nothing tells any of them apart.
 */
static void score_halves(struct scorer *scorer, const struct pb_tlb_structure *whole,
                         uint64_t least_bytes, size_t *left)
{
    double parameters = (whole->gain - whole->score) / PB_TLB_PARAMETER_PRICE;
    enum { OF_NONE, OF_ITS_OWN, OF_THE_FIRST };

    for (size_t parity = OF_NONE; parity < OF_THE_FIRST + whole->mask_count &&
                                  whole->coverage_bytes / 2 >= least_bytes && *left > 0;
         parity++) {
        struct pb_tlb_structure half = *whole;

        half.coverage_bytes /= 2;
        half.resolved = 2 * half.resolved | (parity != OF_NONE);
        half.set_count <<= parity == OF_ITS_OWN;
        for (size_t i = 0; i < half.mask_count; i++)
            half.masks[i] *= 2;
        if (half.set_count > (size_t)1 << PB_TLB_PARITIES_MAX ||
            (parity == OF_NONE && half.mask_count == 0 && half.set_count > 1))
            continue; /* in a modulo the bit has sets of its own */
        if (half.mask_count > 0 && parity == OF_ITS_OWN)
            half.masks[half.mask_count++] = 1;
        if (parity >= OF_THE_FIRST)
            half.masks[parity - OF_THE_FIRST] |= 1;
        --*left;
        list_all(scorer, half.coverage_bytes);
        sum_structure(scorer, &half, -INFINITY);
        half.gain = best_ways(scorer->by_ways, scorer->units.most, &half.ways[0], &half.ways_high);
        add_hypothesis(scorer, &half, parameters);
        if (half.gain >= whole->gain + (parity < OF_THE_FIRST ? -1.0 : 1.0) * PB_SAME_PREDICTION)
            score_halves(scorer, &half, least_bytes, left);
    }
}

/*
 * What the best one predicts by sets of pages, by smaller entries: as far as those of the level
 * before cover no more, behind which all smaller ones hide.
 */
static void score_smaller(struct scorer *scorer)
{
    const struct pb_tlb_evidence *evidence = scorer->evidence;
    struct pb_tlb_structure best = scorer->ranking->items[scorer->ranking->best];
    uint64_t least = least_coverage(evidence);
    size_t left = PB_TLB_TRIALS;

    if (scorer->ranking->count == 0 || !best.is_equal)
        return;
    if (evidence->position > 0 && evidence->known[evidence->position - 1].coverage_bytes > least)
        least = evidence->known[evidence->position - 1].coverage_bytes;
    score_halves(scorer, &best, least, &left);
}

/* Is every page looked up in every pass once it has begun to miss the levels before? */
static bool is_sure_to_come(const struct pb_tlb_evidence *evidence)
{
    for (size_t i = 0; i < evidence->position; i++)
        if (evidence->known[i].is_random)
            return false;
    return true;
}

/* One set of every coverage, where it can gain `least`. Returns how many there are. */
static size_t score_one_sets(struct scorer *scorer, double least,
                             struct coverage coverages[COVERAGES_MAX])
{
    static const struct pb_tlb_structure one = {.set_count = 1};
    size_t count = 0;

    for (uint64_t bytes = least_coverage(scorer->evidence);
         count < COVERAGES_MAX && bytes <= scorer->evidence->scans->most_bytes; bytes *= 2) {
        list_all(scorer, bytes);
        coverages[count++] = (struct coverage){bytes, score_index(scorer, &one, least)};
    }
    return count;
}

/*
 * More sets, by any index that spreads the entries of each set evenly, may explain as much. Of the
 * best structure alone.
 */
static void score_even(struct scorer *scorer)
{
    struct pb_tlb_ranking *ranking = scorer->ranking;
    const struct pb_tlb_structure best = ranking->items[ranking->best];

    if (ranking->count == 0 || !best.is_equal)
        return;
    list_all(scorer, best.coverage_bytes);
    for (uint32_t parts = 2;
         parts <= best.ways[0] && best.set_count * parts <= (size_t)1 << PB_TLB_PARITIES_MAX &&
         ranking->count < PB_TLB_HYPOTHESES_MAX;
         parts *= 2) {
        struct pb_tlb_structure even = best;

        even.parts = parts;
        even.set_count = best.set_count * parts;
        sum_structure(scorer, &even, -INFINITY);
        even.gain = best_ways(scorer->by_ways, scorer->units.most, &even.ways[0], &even.ways_high);
        even.score = even.gain - (best.gain - best.score);
        if (even.gain >= best.gain - PB_SAME_PREDICTION)
            ranking->items[ranking->count++] = even;
    }
}

/* More sets than all are tried of, as many as so many entries fill evenly. */
static void score_divisors(struct scorer *scorer, uint32_t entry_count)
{
    for (size_t sets = PB_TLB_SETS_IN_TURN + 1; sets <= entry_count; sets++)
        if (entry_count % sets == 0)
            score_index(scorer, &(struct pb_tlb_structure){.set_count = sets},
                        least_likely(scorer->ranking));
}

/*
 * One set of every coverage; then sets of the best ones, or where one set explains all, of that one
 * alone: they may explain it as well.
 */
static void score_all(struct scorer *scorer, double bound, double to_beat, bool one_set)
{
    struct coverage coverages[COVERAGES_MAX] = {{0, 0.0}};
    size_t count = score_one_sets(scorer, one_set ? to_beat - UNLIKELY : -INFINITY, coverages);
    bool is_enough;

    if (one_set)
        return;
    find_clear_onsets(scorer);
    qsort(coverages, count, sizeof(coverages[0]), by_gain);
    is_enough = coverages[0].gain >= bound - PB_TLB_PARAMETER_PRICE;
    for (size_t i = 0, tried = 0; i < count && tried < PB_TLB_COVERAGES_TRIED; i++) {
        uint32_t least, most;

        if (i > 0 && coverages[i].gain == coverages[i - 1].gain) /* no chase tells them apart */
            continue;
        if (coverages[i].gain < PB_TLB_COVERAGE_SHARE * coverages[0].gain)
            break;
        tried++;
        list_all(scorer, coverages[i].bytes);
        for (size_t sets = 2; sets <= PB_TLB_SETS_IN_TURN; sets++)
            score_index(scorer, &(struct pb_tlb_structure){.set_count = sets},
                        least_likely(scorer->ranking));
        if (is_enough)
            break;
        fit_in_a_row(scorer, &least, &most);
        for (uint32_t entries = most;
             entries > 0 && entries >= least && entries + PB_TLB_TOTALS_MAX > most; entries--) {
            score_divisors(scorer, entries);
            score_unequal(scorer, entries, least_coverage(scorer->evidence));
        }
        if (!is_explained(scorer))
            score_parities(scorer, bound);
        if (is_explained(scorer))
            break;
    }
    score_smaller(scorer);
    score_even(scorer);
    find_all_open_bits(scorer);
}

enum pb_status pb_tlb_rank(struct pb_tlb_evidence *evidence, double penalty_cycles, double least,
                           bool one_set, struct pb_tlb_ranking *ranking_out, struct pb_error *err)
{
    struct scorer scorer = {.evidence = evidence, .ranking = ranking_out};
    double bound = pb_tlb_weigh(evidence, penalty_cycles);
    enum pb_status status = PB_OK;

    ranking_out->penalty_cycles = penalty_cycles;
    ranking_out->bound = bound;
    ranking_out->count = ranking_out->best = 0;
    ranking_out->noise = 0.0;
    if (bound - 3.0 * PB_TLB_PARAMETER_PRICE <= least)
        return PB_OK;
    status = open_scorer(&scorer, err);
    if (status == PB_OK)
        score_all(&scorer, bound, least, one_set);
    pb_room_clear(&scorer.room);
    return status;
}

enum pb_status pb_tlb_climb_unequal(struct pb_tlb_evidence *evidence, double penalty_cycles,
                                    struct pb_tlb_structure *structure, struct pb_error *err)
{
    struct scorer scorer = {.evidence = evidence};
    enum pb_status status = open_scorer(&scorer, err);

    if (status == PB_OK) {
        struct pb_tlb_structure from = *structure;

        pb_tlb_weigh(evidence, penalty_cycles);
        list_all(&scorer, structure->coverage_bytes);
        structure->gain = -INFINITY;
        is_better_unequal(&scorer, &from, structure);
        climb_moves(&scorer, structure);
    }
    pb_room_clear(&scorer.room);
    return status;
}

enum pb_status pb_tlb_adopt(struct pb_tlb_evidence *evidence,
                            const struct pb_tlb_structure *structure, double penalty_cycles,
                            struct pb_tlb_check *check_out, struct pb_error *err)
{
    struct scorer scorer = {.evidence = evidence};
    enum pb_status status = open_scorer(&scorer, err);
    struct pb_tlb_known *here = &evidence->known[evidence->position];
    struct pb_tlb_known added = evidence->known[evidence->level_count]; /* its arrays */

    if (status == PB_OK) {
        list_all(&scorer, structure->coverage_bytes);
        for (size_t s = 0; s < evidence->scans->count; s++)
            predict_onsets(&scorer, structure, s, added.onset_pages[s]);
        if (check_out != NULL) {
            *check_out = (struct pb_tlb_check){0, 0};
            pb_tlb_weigh(evidence, penalty_cycles);
            for (size_t s = 0; s < evidence->scans->count; s++)
                check(evidence, s, added.onset_pages[s], check_out);
        }
        added.penalty_cycles = penalty_cycles;
        added.is_random = structure->victims != PB_TLB_LRU || !is_sure_to_come(evidence);
        added.coverage_bytes = structure->coverage_bytes;
        memmove(here + 1, here, (evidence->level_count - evidence->position) * sizeof(*here));
        *here = added;
        if (pb_tlb_is_contained(evidence))
            here[1].penalty_cycles -= penalty_cycles;
        evidence->level_count++;
        evidence->weighed_cycles = NAN;
    }
    pb_room_clear(&scorer.room);
    return status;
}

void pb_tlb_drop(struct pb_tlb_evidence *evidence)
{
    struct pb_tlb_known *here = &evidence->known[evidence->position], dropped = *here;

    evidence->weighed_cycles = NAN;
    evidence->level_count--;
    memmove(here, here + 1, (evidence->level_count - evidence->position) * sizeof(*here));
    if (pb_tlb_is_contained(evidence))
        here->penalty_cycles += dropped.penalty_cycles;
    evidence->known[evidence->level_count] = dropped;
}

enum pb_status pb_tlb_adopt_all(struct pb_tlb_evidence *evidence, const struct pb_tlb_level *levels,
                                size_t count, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    evidence->level_count = 0;
    evidence->weighed_cycles = NAN;
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        evidence->position = i;
        status = pb_tlb_adopt(evidence, &levels[i].structure, levels[i].penalty_cycles, NULL, err);
    }
    return status;
}
