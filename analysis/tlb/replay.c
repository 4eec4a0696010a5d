/* Predictions of the forward model; see replay.h. */
#include "analysis/tlb/replay.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#include "analysis/constants.h"
#include "analysis/model/tree.h"
#include "analysis/room.h"
#include "analysis/statistics/likelihood.h"

/* Chases with random misses are repeated until they have so many loads, within limits. */
enum { REPEATS_MIN = 4, REPEATS_MAX = 64, PASSES_MAX = 3 };

/* Repeats run side by side: sets of them, by bits. */
typedef uint64_t repeat_set;

/* How many levels a load misses is a matter of chance. */
enum { UNSURE = UINT8_MAX };

/* No page. */
static const uint32_t NOBODY = UINT32_MAX;

/* What becomes of a page at a level in every pass but the first. */
enum outcome { HITS, MISSES, VARIES };

/* How often something was in each of the repeats: binary digits, lowest first. */
struct counter {
    repeat_set digits[32];
    size_t length;
};

/* Loads that come to a level in the last pass. */
struct drawn {
    struct counter came, gone; /* of these, missed */
};

/* One level, as the pages of a scan meet it. */
struct stage {
    const struct pb_tlb_structure *structure;
    repeat_set *present;       /* [pages] by the first page of the entry, */
    uint32_t *filled;          /* how many of a set are: [sets]; random: [begin][repeats] */
    uint32_t *older, *newer;   /* LRU, FIFO: [pages] neighbours in the order of a set; NOBODY */
    uint32_t *oldest, *newest; /* [sets] its ends */
    uint32_t *held;            /* tree: [begin + way] pages; random: [begin + way][repeats] */
    uint32_t *begin;           /* [sets] of those that vary, */
    uint32_t held_count;       /* which have so many ways */
    uint32_t *way;             /* tree: [pages] that holds the entry */
    unsigned char *trees;      /* [sets][2 * leaves] */
    size_t leaves;             /* of the widest set */
    uint64_t random;
    uint32_t *entry, *set; /* [pages]; entry numbers modulo the number of sets are the set */
    uint32_t *first;       /* [pages] the first page of the entry */
    uint8_t *outcome;      /* [pages] of the chase */
    uint8_t *leads;        /* [pages] comes to the next level in the first pass */
    uint32_t *cold;        /* [sets] entries of the set that are looked up in the first pass, */
    uint32_t *looked_up;   /* and in others, */
    uint8_t *is_mixed;     /* [sets] some of them not in every pass, */
    uint8_t *of_set;       /* [sets] outcome of its entries' first loads */
    uint32_t *reached, *missed; /* [places] how often in the last pass of all repeats */
    size_t groups;              /* of the scan: sets, or one of all */
    struct drawn all, *drawn;   /* all loads; [groups] those that vary */
    bool is_replayed;           /* some sets vary in the chase, and what they do is replayed, */
    bool is_sure;               /* all of them are looked up in every pass; else known chances do */
    double **chances; /* [2][pages + 1] of the entries of a set, by warm passes and their number */
    uint32_t *rank;   /* [pages] of the page's entry in its set */
};

/* Loads of one chase that come to a level. */
struct tally {
    float share, variance; /* of misses where they vary; of a load's share of the variance of their
                              sum; 0: they do not */
    float expected;        /* misses of these loads that clearly hit or miss, */
    uint32_t seen, misses; /* how many these are; of these, misses */
    uint32_t draws;        /* in how many repeats they were replayed; 0: in none */
    float together;        /* correlation of misses of one set, by these */
    float drawn[REPEATS_MAX]; /* shares of misses in these */
    uint32_t sure, outliers;  /* that are sure, or beside all steps; of these, others than predicted
                               */
};

/* Of a chase's loads that come to one set of a level, those that clearly hit or miss. */
struct set_tally {
    float seen, misses, expected;
    float log_chance; /* of what they do, if each does it by itself */
};

/* Of a chase's loads, log likelihoods: if each misses by itself, and if what they miss is known. */
struct chase_tally {
    double apart, known;
};

/* What is predicted of the loads of a scan that come to a level. */
struct prediction {
    float *chance; /* [place][chase] to miss it; 0 or 1: for sure */
    struct tally *chases;
    struct set_tally *sets; /* [chase][group] */
};

/* Of the loads of a line, by the levels that they miss, and their excess. */
struct densities {
    float of[PB_TLB_FOUND_MAX + 1][PB_TLB_ROWS + 1];
    float sure[PB_TLB_FOUND_MAX + 1][PB_TLB_ROWS + 1]; /* where they are predicted to, for sure */
};

/* One that was recorded: at `at` of the predictions. */
struct load {
    float cycles;
    uint32_t at;
    uint8_t missed; /* as in replay */
};

struct replay {
    struct pb_tlb_evidence *evidence;
    const struct pb_tlb_effort *effort;
    struct stage stages[PB_TLB_FOUND_MAX];
    struct prediction predictions[PB_TLB_FOUND_MAX];
    size_t count; /* levels that are replayed */
    size_t pages_max;
    bool is_checked;                    /* variances are needed */
    double steps[PB_TLB_FOUND_MAX + 1]; /* what a load takes more that misses so many */
    struct densities *densities;        /* [kinds of bases] */
    uint32_t *chases;                   /* of the scan that are looked at, */
    size_t chase_count;                 /* so many */
    uint32_t *pages;                    /* that are replayed in all passes but the first, */
    size_t varying;                     /* so many, */
    size_t warm;                        /* passes before the last one, */
    size_t times;                       /* and so many repeats */
    repeat_set *come;                   /* [passes][pages] in which the load comes to the level */
    repeat_set *came;                   /* [pages] in which that of the last pass did */
    uint8_t *missed;                    /* [place][chase] levels, for sure, or UNSURE */
    struct load *loads;                 /* [chases] of a place */
    size_t load_count;
    struct chase_tally *tallies; /* [chases] */
    bool is_sure;                /* of the scan: none is unsure */
    double *log_factorial;       /* [places + 2] */
    double least_density;        /* of a load that levels explain */
    double log_likelihood;
    struct pb_room room; /* of all arrays */
};

static bool has_random_victims(const struct stage *stage)
{
    return stage->structure->victims == PB_TLB_RANDOM;
}

static bool has_tree(const struct stage *stage)
{
    return stage->structure->victims == PB_TLB_TREE;
}

static uint32_t ways_of(const struct pb_tlb_structure *structure, size_t set)
{
    return structure->ways[structure->is_equal ? 0 : set];
}

static size_t count_leaves(const struct pb_tlb_structure *structure)
{
    uint32_t most = 0;

    for (size_t set = 0; set < structure->set_count; set++) {
        uint32_t ways = ways_of(structure, set);

        most = ways > most ? ways : most;
    }
    return pb_tree_leaves(most);
}

static void open_stage(const struct replay *replay, struct stage *stage, struct pb_room *room,
                       size_t pages, size_t places)
{
    size_t sets = stage->structure->set_count, loads = replay->effort->repeated_loads,
           cells = pages;

    stage->leaves = count_leaves(stage->structure);
    if (has_random_victims(stage)) /* ways of sets that overflow: fewer than pages */
        cells = REPEATS_MIN * pages < loads ? loads : REPEATS_MIN * pages;
    PB_ROOM_ARRAY(room, stage->begin, sets);
    PB_ROOM_ARRAY(room, stage->trees, has_tree(stage) ? 2 * stage->leaves * sets : 1);
    PB_ROOM_ARRAY(room, stage->way, pages);
    PB_ROOM_ARRAY(room, stage->present, pages);
    PB_ROOM_ARRAY(room, stage->held, cells);
    PB_ROOM_ARRAY(room, stage->filled, has_random_victims(stage) ? cells : sets);
    PB_ROOM_ARRAY(room, stage->older, pages);
    PB_ROOM_ARRAY(room, stage->newer, pages);
    PB_ROOM_ARRAY(room, stage->oldest, sets);
    PB_ROOM_ARRAY(room, stage->newest, sets);
    PB_ROOM_ARRAY(room, stage->first, pages);
    PB_ROOM_ARRAY(room, stage->entry, pages);
    PB_ROOM_ARRAY(room, stage->set, pages);
    PB_ROOM_ARRAY(room, stage->outcome, pages);
    PB_ROOM_ARRAY(room, stage->leads, pages);
    PB_ROOM_ARRAY(room, stage->cold, sets);
    PB_ROOM_ARRAY(room, stage->looked_up, sets);
    PB_ROOM_ARRAY(room, stage->is_mixed, sets);
    PB_ROOM_ARRAY(room, stage->of_set, sets);
    PB_ROOM_ARRAY(room, stage->drawn, sets <= places ? sets : 1);
    PB_ROOM_ARRAY(room, stage->reached, places);
    PB_ROOM_ARRAY(room, stage->missed, places);
    PB_ROOM_ARRAY(room, stage->rank, pages);
    PB_ROOM_ARRAY(room, stage->chances, 2 * (pages + 1));
}

static enum pb_status open_replay(struct replay *replay, struct pb_error *err)
{
    const struct pb_tlb_scans *scans = replay->evidence->scans;
    size_t pages = 1, places = 1, chases = 1, cells = 1;

    for (size_t s = 0; s < scans->count; s++) {
        const struct pb_tlb_scan *scan = &scans->items[s];

        pages = scan->page_count > pages ? scan->page_count : pages;
        places = scan->place_count > places ? scan->place_count : places;
        chases = scan->chase_count > chases ? scan->chase_count : chases;
        if (scan->chase_count * scan->place_count > cells)
            cells = scan->chase_count * scan->place_count;
    }
    replay->pages_max = pages;
    PB_ROOM_ARRAY(&replay->room, replay->log_factorial, places + 2);
    for (size_t i = 1; i < places + 2 && replay->log_factorial != NULL; i++)
        replay->log_factorial[i] = replay->log_factorial[i - 1] + log((double)i);
    PB_ROOM_ARRAY(&replay->room, replay->chases, chases);
    PB_ROOM_ARRAY(&replay->room, replay->loads, chases);
    PB_ROOM_ARRAY(&replay->room, replay->tallies, chases);
    PB_ROOM_ARRAY(&replay->room, replay->pages, pages);
    PB_ROOM_ARRAY(&replay->room, replay->come, PASSES_MAX * pages);
    PB_ROOM_ARRAY(&replay->room, replay->came, pages);
    PB_ROOM_ARRAY(&replay->room, replay->missed, cells);
    PB_ROOM_ARRAY(&replay->room, replay->densities, pb_tlb_base_kinds(replay->evidence));
    for (size_t i = 0; i < replay->count; i++) {
        open_stage(replay, &replay->stages[i], &replay->room, pages, places);
        PB_ROOM_ARRAY(&replay->room, replay->predictions[i].chance, cells);
        PB_ROOM_ARRAY(&replay->room, replay->predictions[i].chases, chases);
        PB_ROOM_ARRAY(&replay->room, replay->predictions[i].sets, cells / 2 + chases);
    }
    return pb_room_status(&replay->room, err);
}

/* The entries of the sets that vary lie one behind another. */
static void lay_out(struct stage *stage)
{
    stage->held_count = 0;
    for (size_t set = 0; set < stage->structure->set_count; set++) {
        stage->begin[set] = stage->held_count;
        stage->held_count += stage->of_set[set] == VARIES ? ways_of(stage->structure, set) : 0;
    }
}

static void empty(struct stage *stage, size_t pages, size_t times)
{
    size_t sets = stage->structure->set_count;

    memset(stage->present, 0, pages * sizeof(*stage->present));
    if (has_random_victims(stage)) {
        memset(stage->filled, 0, stage->held_count * times * sizeof(*stage->filled));
        return;
    }
    memset(stage->filled, 0, sets * sizeof(*stage->filled));
    if (has_tree(stage)) {
        memset(stage->trees, 0, 2 * stage->leaves * sets);
        return;
    }
    memset(stage->oldest, UINT8_MAX, sets * sizeof(*stage->oldest));
    memset(stage->newest, UINT8_MAX, sets * sizeof(*stage->newest));
}

/* Takes a page out of the order of its set. */
static void take(struct stage *stage, uint32_t set, uint32_t page)
{
    uint32_t older = stage->older[page], newer = stage->newer[page];

    *(older == NOBODY ? &stage->oldest[set] : &stage->newer[older]) = newer;
    *(newer == NOBODY ? &stage->newest[set] : &stage->older[newer]) = older;
}

static void append(struct stage *stage, uint32_t set, uint32_t page)
{
    uint32_t older = stage->newest[set];

    stage->older[page] = older;
    stage->newer[page] = NOBODY;
    *(older == NOBODY ? &stage->oldest[set] : &stage->newer[older]) = page;
    stage->newest[set] = page;
}

/* A number below the limit. */
static uint32_t draw(struct stage *stage, uint32_t limit)
{
    stage->random = stage->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((stage->random >> 32) * limit >> 32);
}

/* LRU, FIFO: the oldest one of a full set makes room. */
static bool touch_in_order(struct stage *stage, uint32_t set, uint32_t page)
{
    if (stage->present[page] != 0) {
        if (stage->structure->victims == PB_TLB_LRU && stage->newest[set] != page) {
            take(stage, set, page);
            append(stage, set, page);
        }
        return true;
    }
    if (stage->filled[set] == ways_of(stage->structure, set)) {
        uint32_t victim = stage->oldest[set];

        stage->present[victim] = 0;
        take(stage, set, victim);
    } else {
        stage->filled[set]++;
    }
    append(stage, set, page);
    stage->present[page] = 1;
    return false;
}

static bool touch_tree(struct stage *stage, uint32_t set, uint32_t page)
{
    uint32_t ways = ways_of(stage->structure, set), way = stage->way[page];
    unsigned char *tree = stage->trees + 2 * stage->leaves * set;
    uint32_t *held = stage->held + stage->begin[set];
    bool is_hit = stage->present[page] != 0;

    if (!is_hit && stage->filled[set] < ways) {
        way = stage->filled[set]++;
    } else if (!is_hit) {
        way = pb_tree_victim(tree, pb_tree_leaves(ways), ways);
        stage->present[held[way]] = 0;
    }
    held[way] = page;
    stage->way[page] = way;
    stage->present[page] = 1;
    pb_tree_use(tree, pb_tree_leaves(ways), way);
    return is_hit;
}

/* In some of so many repeats. Returns in which of them it is a hit. */
static repeat_set touch_random(struct stage *stage, uint32_t set, uint32_t page, repeat_set come,
                               size_t times)
{
    uint32_t ways = ways_of(stage->structure, set);
    uint32_t *filled = stage->filled + stage->begin[set] * times,
             *held = stage->held + stage->begin[set] * times;
    repeat_set hits = come & stage->present[page];

    for (repeat_set left = come & ~hits; left != 0; left &= left - 1) {
        size_t repeat = (size_t)__builtin_ctzll(left);
        uint32_t way;

        if (filled[repeat] < ways) {
            way = filled[repeat]++;
        } else {
            way = draw(stage, ways);
            stage->present[held[way * times + repeat]] &= ~((repeat_set)1 << repeat);
        }
        held[way * times + repeat] = page;
    }
    stage->present[page] |= come;
    return hits;
}

/*
 * Looks an entry up, whose first page is given, in some of so many repeats that are alike up to
 * there, and fills it where it is missing. Returns in which of them it is a hit.
 */
static repeat_set touch(struct stage *stage, uint32_t set, uint32_t page, repeat_set come,
                        size_t times)
{
    if (has_random_victims(stage))
        return touch_random(stage, set, page, come, times);
    return (has_tree(stage) ? touch_tree(stage, set, page) : touch_in_order(stage, set, page))
               ? come
               : 0;
}

/* The entries of a scan's pages, at a level behind another; before is NULL: behind none. */
static void enter_scan(struct stage *stage, const struct stage *before,
                       const struct pb_tlb_scan *scan)
{
    const struct pb_tlb_structure *structure = stage->structure;
    uint64_t first = pb_tlb_entry(scan, 0, structure->coverage_bytes);

    for (size_t page = 0; page < scan->page_count; page++) {
        uint64_t entry = pb_tlb_entry(scan, page, structure->coverage_bytes);
        size_t set = pb_tlb_set_of(structure, entry);

        stage->set[page] = (uint32_t)set;
        stage->entry[page] = (uint32_t)((entry - first) * structure->set_count + set);
        stage->first[page] = page > 0 && stage->entry[page] == stage->entry[page - 1]
                                 ? stage->first[page - 1]
                                 : (uint32_t)page;
        stage->leads[page] =
            stage->first[page] == page && (before == NULL || before->leads[page] != 0);
    }
}

/*
 * Do all of so many entries miss in every pass? With random victims so many misses in the first one
 * leave less than the least chance that any entry hits: one may save a whole set of the next level.
 * A tree's victims take turns while all miss, the whole tree within twice its ways, and they begin
 * to when all ways are filled.
 */
static bool all_miss(enum pb_tlb_victims victims, size_t count, size_t ways)
{
    if (victims == PB_TLB_RANDOM)
        return (double)count > (double)ways * (1.0 - log(PB_TLB_RARE / (double)count));
    return victims != PB_TLB_TREE || count > 3 * ways;
}

/* Entries of each set that are looked up: by all pages, where before is NULL. */
static void count_entries(struct stage *stage, const struct stage *before, size_t pages)
{
    const uint32_t *restrict entries = stage->entry, *restrict sets = stage->set;
    const uint8_t *restrict come = before == NULL ? NULL : before->outcome;
    const uint8_t *restrict leads = before == NULL ? NULL : before->leads;
    uint32_t *restrict looked_up = stage->looked_up, *restrict rank = stage->rank;
    uint32_t *restrict cold = stage->cold, last = UINT32_MAX, last_cold = UINT32_MAX;
    uint8_t *restrict is_mixed = stage->is_mixed;

    memset(cold, 0, stage->structure->set_count * sizeof(*cold));
    memset(looked_up, 0, stage->structure->set_count * sizeof(*looked_up));
    memset(is_mixed, 0, stage->structure->set_count);
    for (size_t page = 0; page < pages; page++) {
        uint32_t set = sets[page];

        if (leads == NULL || leads[page] != 0) {
            cold[set] += entries[page] != last_cold;
            last_cold = entries[page];
        }
        if (come != NULL && come[page] == HITS)
            continue;
        rank[page] = looked_up[set];
        looked_up[set] += entries[page] != last;
        is_mixed[set] |= come != NULL && come[page] == VARIES;
        last = entries[page];
    }
}

/*
 * Outcomes at a level of the pages that come to it: all, where before is NULL. What the levels
 * before answer from the second pass on has filled it in the first one, and may still be there.
 */
static void find_outcomes(struct stage *stage, const struct stage *before, size_t pages)
{
    const struct pb_tlb_structure *structure = stage->structure;
    const uint32_t *restrict entries = stage->entry, *restrict sets = stage->set;
    const uint8_t *restrict come = before == NULL ? NULL : before->outcome;
    uint8_t *restrict outcomes = stage->outcome, *restrict of_set = stage->of_set;
    uint32_t last = UINT32_MAX;

    count_entries(stage, before, pages);
    stage->is_replayed = false;
    stage->is_sure = true;
    for (size_t set = 0; set < structure->set_count; set++) {
        size_t count = stage->looked_up[set], cold = stage->cold[set];
        size_t ways = ways_of(structure, set);
        bool overflows = count > 0 && cold > ways;
        bool varies = overflows && (stage->is_mixed[set] || count <= ways ||
                                    !all_miss(structure->victims, count, ways));

        of_set[set] = !overflows ? HITS : varies ? VARIES : MISSES;
        stage->is_replayed |= varies;
        stage->is_sure &= !varies || (!stage->is_mixed[set] && cold == count);
    }
    for (size_t page = 0; page < pages; page++) {
        uint8_t outcome = come != NULL && come[page] == HITS ? HITS : of_set[sets[page]];

        outcomes[page] = outcome == MISSES && entries[page] == last ? HITS : outcome;
        if (outcome != HITS)
            last = entries[page];
    }
}

/* Into replay->pages: those that come to a set which varies. */
static void list_pages(struct replay *replay, size_t pages)
{
    replay->varying = 0;
    for (size_t page = 0; page < pages; page++) {
        size_t i = 0;

        while (i < replay->count && replay->stages[i].outcome[page] == MISSES)
            i++;
        if (i < replay->count && replay->stages[i].outcome[page] == VARIES &&
            replay->stages[i].is_replayed)
            replay->pages[replay->varying++] = (uint32_t)page;
    }
}

/* The first pass: every page is new, and fills the level; `those` are the repeats that are run. */
static void fill(const struct replay *replay, struct stage *stage, size_t pages, repeat_set those,
                 repeat_set *come)
{
    for (size_t page = 0; page < pages; page++) {
        if (page > 0 && stage->entry[page] == stage->entry[page - 1])
            come[page] &= ~those;
        else if ((come[page] & those) != 0 && stage->of_set[stage->set[page]] == VARIES)
            touch(stage, stage->set[page], stage->first[page], come[page] & those, replay->times);
    }
}

/* A later one, over the pages that vary. */
static void run_pass(const struct replay *replay, struct stage *stage, repeat_set those,
                     repeat_set *come)
{
    for (size_t k = 0; k < replay->varying; k++) {
        uint32_t page = replay->pages[k];
        repeat_set here = come[k] & those;

        if (here == 0 || stage->outcome[page] == MISSES)
            continue;
        come[k] &= ~(stage->outcome[page] == HITS
                         ? here
                         : touch(stage, stage->set[page], stage->first[page], here, replay->times));
    }
}

/* Repeats that a level meets together: all as long as they are alike or it draws; else one. */
static void run_passes(struct replay *replay, struct stage *stage, size_t pages, repeat_set those)
{
    empty(stage, pages, replay->times);
    fill(replay, stage, pages, those, replay->come);
    for (size_t pass = 1; pass <= replay->warm; pass++)
        run_pass(replay, stage, those, replay->come + pass * replay->pages_max);
}

/* Once more in each of those repeats. */
static void count(struct counter *counter, repeat_set those)
{
    for (size_t i = 0; those != 0; i++) {
        repeat_set carry;

        if (i == counter->length)
            counter->digits[counter->length++] = 0;
        carry = counter->digits[i] & those;
        counter->digits[i] ^= those;
        those = carry;
    }
}

static double counted(const struct counter *counter, size_t repeat)
{
    size_t sum = 0;

    for (size_t i = 0; i < counter->length; i++)
        sum += (size_t)(counter->digits[i] >> repeat & 1) << i;
    return (double)sum;
}

/* Loads of the last pass: in which repeats they came, and missed. */
static void count_last(const struct replay *replay, struct stage *stage, size_t places,
                       const repeat_set *missed)
{
    for (size_t k = 0; k < replay->varying && replay->pages[k] < places; k++) {
        uint32_t page = replay->pages[k];
        struct drawn *drawn = &stage->drawn[stage->groups > 1 ? stage->set[page] : 0];

        stage->reached[page] = (uint32_t)__builtin_popcountll(replay->came[k]);
        stage->missed[page] = (uint32_t)__builtin_popcountll(missed[k]);
        count(&stage->all.came, replay->came[k]);
        count(&stage->all.gone, missed[k]);
        if (stage->outcome[page] == VARIES) {
            count(&drawn->came, replay->came[k]);
            count(&drawn->gone, missed[k]);
        }
    }
}

/* The passes over the pages that vary, level after level: what one misses comes to the next one. */
static void run_stages(struct replay *replay, size_t pages, size_t places)
{
    repeat_set all = UINT64_MAX >> (REPEATS_MAX - replay->times);
    repeat_set *last = replay->come + replay->warm * replay->pages_max;
    bool are_alike = true;

    for (size_t pass = 0; pass <= replay->warm; pass++)
        for (size_t k = 0; k < (pass == 0 ? pages : replay->varying); k++)
            replay->come[pass * replay->pages_max + k] = all;
    for (size_t i = 0; i < replay->count; i++) {
        struct stage *stage = &replay->stages[i];

        memcpy(replay->came, last, replay->varying * sizeof(*last));
        if (are_alike || has_random_victims(stage))
            run_passes(replay, stage, pages, all);
        for (size_t r = 0; r < replay->times && !are_alike && !has_random_victims(stage); r++)
            run_passes(replay, stage, pages, (repeat_set)1 << r);
        count_last(replay, stage, places, last);
        are_alike &= !has_random_victims(stage);
    }
}

/* Sets of which it is looked at how their loads miss together; 1: all, since each has too few. */
static size_t group_count(const struct stage *stage, size_t places)
{
    return 2 * stage->structure->set_count <= places ? stage->structure->set_count : 1;
}

/*
 * Correlation of two loads of a set, over all sets: by how much more often both miss than if they
 * did so independently in each repeat.
 */
static double correlate(const struct stage *stage, size_t times)
{
    double together = 0.0, most = 0.0, all = 0.0;

    for (size_t i = 0; i < stage->groups; i++) {
        double shares = 0.0, squares = 0.0, pairs = 0.0, draws = 0.0, apart; /* of two repeats */

        for (size_t r = 0; r < times; r++) {
            double came = counted(&stage->drawn[i].came, r),
                   gone = counted(&stage->drawn[i].gone, r);

            if (came < 2.0)
                continue;
            draws += 1.0;
            shares += gone / came;
            squares += gone / came * gone / came;
            pairs += gone * (gone - 1.0) / (came * (came - 1.0));
        }
        if (draws < 2.0)
            continue;
        apart = (shares * shares - squares) / (draws - 1.0);
        together += pairs - apart;
        most += shares - apart;
        all += draws;
    }
    return most > 0.0 ? fmax(0.0, fmin(together / most, 1.0 - 1.0 / (all + 2.0))) : 0.0;
}

/* Of all repeats. */
static void sum_up(const struct stage *stage, size_t times, struct tally *tally)
{
    double sum = 0.0, squares = 0.0, loads = 0.0, repeated = (double)times, mean;

    for (size_t r = 0; r < times; r++) {
        double came = counted(&stage->all.came, r),
               share = counted(&stage->all.gone, r) / fmax(1.0, came);

        loads += came;
        sum += share;
        squares += share * share;
        tally->drawn[r] = (float)share;
    }
    mean = sum / repeated;
    tally->share = (float)mean;
    tally->draws = times > 1 && loads > 0.0 ? (uint32_t)times : 0;
    tally->together = (float)correlate(stage, times);
    if (times > 1 && loads >= repeated) /* two repeats more as if loads were independent */
        tally->variance =
            (float)(((squares - sum * mean) * loads / repeated + 2.0 * mean * (1.0 - mean)) /
                    (repeated + 1.0) * (1.0 + 1.0 / repeated));
}

/* Replays a chase's sets that vary, and counts. Returns how often. */
static size_t replay_chase(struct replay *replay, const struct pb_tlb_scan *scan, size_t w,
                           size_t index)
{
    size_t pages = scan->pages[w], places = pages < scan->place_count ? pages : scan->place_count;
    bool any_random = false;

    list_pages(replay, pages);
    replay->warm = pb_tlb_warm_passes(scan, w);
    replay->times = 1;
    for (size_t i = 0; i < replay->count; i++) {
        struct stage *stage = &replay->stages[i];

        memset(stage->reached, 0, places * sizeof(*stage->reached));
        memset(stage->missed, 0, places * sizeof(*stage->missed));
        stage->all.came.length = stage->all.gone.length = 0;
        for (size_t k = 0; k < stage->groups; k++)
            stage->drawn[k].came.length = stage->drawn[k].gone.length = 0;
        any_random |= stage->is_replayed && has_random_victims(stage);
    }
    if (replay->varying == 0)
        return 0;
    if (any_random) {
        replay->times = replay->effort->repeated_loads / pages;
        replay->times = replay->times < REPEATS_MIN   ? REPEATS_MIN
                        : replay->times > REPEATS_MAX ? REPEATS_MAX
                                                      : replay->times;
    }
    for (size_t i = 0; i < replay->count; i++)
        lay_out(&replay->stages[i]);
    run_stages(replay, pages, places);
    for (size_t i = 0; i < replay->count; i++)
        sum_up(&replay->stages[i], replay->times, &replay->predictions[i].chases[index]);
    return replay->times;
}

/*
 * How much nearer to their mean the chances of places are than they were drawn: by the part of
 * their variance that so few draws make.
 */
static double pool(const struct stage *stage, size_t places, double share)
{
    double drawn = 0.0, spread = 0.0;

    for (size_t place = 0; place < places; place++) {
        double reached = stage->reached[place], here;

        if (stage->outcome[place] != VARIES || reached == 0.0)
            continue;
        here = stage->missed[place] / reached - share;
        spread += here * here;
        drawn += share * (1.0 - share) / reached;
    }
    return spread > drawn ? drawn / spread : 1.0;
}

static double bounded(double chance)
{
    return fmin(fmax(chance, PB_TLB_RARE), 1.0 - PB_TLB_RARE);
}

/*
 * The chance that a present entry stays where another one, which misses with that chance, is looked
 * up. All ways hold others where it misses, one less where it hits: so of the entries that are
 * present by then, ways - 1 + chance on average, a miss takes one.
 */
static double stay(double chance, double ways)
{
    return (ways - 1.0) / (ways - 1.0 + chance);
}

/*
 * Of each of so many entries of a set with random victims: the chance to miss in the last of some
 * passes behind a first one. It hits where no miss since its last lookup took its way.
 */
static void predict_random(double *chance, size_t count, double ways, size_t warm_passes)
{
    double kept = 1.0;

    for (size_t i = 0; i < count; i++) { /* all miss, and fill empty ways first */
        chance[i] = (double)i >= ways ? 1.0 : 0.0;
        kept *= stay(chance[i], ways);
    }
    for (size_t pass = 0; pass < warm_passes; pass++) {
        for (size_t i = 0; i < count; i++) {
            kept /= stay(chance[i], ways);
            chance[i] = 1.0 - kept;
            kept *= stay(chance[i], ways);
        }
    }
    for (size_t i = 0; i < count; i++)
        chance[i] += PB_TLB_TOGETHER * chance[i] * (1.0 - chance[i]) *
                     (1.0 - 0.6 * chance[i] * chance[i]) / ways;
}

/* A set of so many entries, all of which are looked up in every pass: each hits or misses. */
static void replay_set(struct stage *stage, double *chance, size_t count, size_t warm_passes)
{
    empty(stage, count, 1);
    for (size_t pass = 0; pass <= warm_passes; pass++)
        for (size_t i = 0; i < count; i++)
            chance[i] = touch(stage, 0, (uint32_t)i, 1, 1) != 0 ? 0.0 : 1.0;
}

/*
 * Chances of entries that share a set with as many ways as all, and are looked up in every pass;
 * NULL: out of memory.
 */
static const double *find_chances(struct replay *replay, struct stage *stage, size_t count,
                                  size_t ways, size_t warm_passes)
{
    double **at = &stage->chances[(warm_passes - 1) * (replay->pages_max + 1) + count];

    if (*at == NULL)
        PB_ROOM_ARRAY(&replay->room, *at, count);
    else
        return *at;
    if (*at != NULL && has_random_victims(stage))
        predict_random(*at, count, (double)ways, warm_passes);
    else if (*at != NULL)
        replay_set(stage, *at, count, warm_passes);
    return *at;
}

/* Chances of a level to which all that comes comes in every pass; those of places lie `row` apart.
 */
static void set_chances(struct replay *replay, struct stage *stage, size_t places, size_t warm,
                        float *chance, size_t row)
{
    uint32_t last = UINT32_MAX;

    for (size_t place = 0; place < places; place++) {
        uint32_t set = stage->set[place];
        const double *chances;

        if (stage->outcome[place] != VARIES)
            continue;
        chances = find_chances(replay, stage, stage->looked_up[set], ways_of(stage->structure, set),
                               warm);
        chance[place * row] = stage->entry[place] == last || chances == NULL
                                  ? 0.0F
                                  : (float)chances[stage->rank[place]];
        last = stage->entry[place];
    }
}

/*
 * Levels whose chances are known without draws: all that comes to them comes in every pass. They
 * are replayed only where that decides what comes to a level behind.
 */
static void find_known(struct replay *replay, bool is_known_out[PB_TLB_FOUND_MAX])
{
    bool is_needed = false;

    for (size_t i = replay->count; i > 0; i--) {
        struct stage *stage = &replay->stages[i - 1];

        is_known_out[i - 1] = stage->is_replayed && stage->structure->is_equal && stage->is_sure;
        if (is_known_out[i - 1])
            stage->is_replayed = is_needed;
        is_needed |= stage->is_replayed;
    }
}

/* Of each place that a chase loads: how many levels it misses for sure. */
static void count_missed(struct replay *replay, const struct pb_tlb_scan *scan, size_t places,
                         size_t index)
{
    for (size_t place = 0; place < places; place++) {
        size_t at = place * scan->chase_count + index, missed = 0;

        while (missed < replay->count && replay->predictions[missed].chance[at] == 1.0F)
            missed++;
        replay->missed[at] = (uint8_t)missed;
        if (missed < replay->count && replay->predictions[missed].chance[at] != 0.0F) {
            replay->missed[at] = UNSURE;
            replay->is_sure = false;
        }
    }
}

/* What is predicted of one chase. */
static void predict_chase(struct replay *replay, const struct pb_tlb_scan *scan, size_t index)
{
    size_t w = replay->chases[index], pages = scan->pages[w], repeats;
    size_t places = pages < scan->place_count ? pages : scan->place_count;
    bool is_known[PB_TLB_FOUND_MAX] = {false};

    for (size_t i = 0; i < replay->count; i++)
        find_outcomes(&replay->stages[i], i > 0 ? &replay->stages[i - 1] : NULL, pages);
    if (!replay->is_checked)
        find_known(replay, is_known);
    repeats = replay_chase(replay, scan, w, index);
    for (size_t i = 0; i < replay->count; i++) {
        const struct stage *stage = &replay->stages[i];
        struct prediction *prediction = &replay->predictions[i];
        float *chance = prediction->chance + index;
        double share = prediction->chases[index].share, pooled = 0.0;

        if (repeats > 1 && !replay->is_checked)
            pooled = pool(stage, places, share);
        if (is_known[i])
            set_chances(replay, &replay->stages[i], places, pb_tlb_warm_passes(scan, w), chance,
                        scan->chase_count);
        for (size_t place = 0; place < places; place++) {
            double drawn = share;

            if (is_known[i] && stage->outcome[place] == VARIES)
                continue;
            if (stage->reached[place] > 0)
                drawn +=
                    (1.0 - pooled) * (stage->missed[place] / (double)stage->reached[place] - share);
            if (repeats > 1)
                drawn = bounded(drawn);
            chance[place * scan->chase_count] =
                stage->outcome[place] == VARIES ? (float)drawn : stage->outcome[place] == MISSES;
        }
    }
    count_missed(replay, scan, places, index);
}

/* By the number of levels that it misses: density_out[count + 1]. */
static void find_densities(const struct replay *replay, const struct pb_tlb_base *base,
                           double excess, float *density_out)
{
    size_t row = pb_tlb_row(excess);

    for (size_t i = 0; i <= replay->count; i++)
        density_out[i] = replay->densities[base->cache].of[i][row];
}

/* How likely a load is whose levels are missed by chance: at `at` of the predictions. */
static double weigh_unsure(const struct replay *replay, const struct pb_tlb_base *base, size_t at,
                           double excess)
{
    double likely = 0.0, comes = 1.0;
    float density[PB_TLB_FOUND_MAX + 1];

    find_densities(replay, base, excess, density);
    for (size_t i = 0; i < replay->count; i++) {
        double miss = replay->predictions[i].chance[at];

        likely += comes * (1.0 - miss) * density[i];
        comes *= miss;
    }
    return likely + comes * density[replay->count];
}

/* Into replay->loads: those of a place that were recorded. */
static void list_loads(struct replay *replay, const struct pb_tlb_scan *scan, size_t place)
{
    const float *cycles = pb_tlb_cycles(scan, place, 0);
    size_t row = place * scan->chase_count;

    replay->load_count = 0;
    for (size_t j = 0; j < replay->chase_count; j++) {
        float here = cycles[replay->chases[j]];

        if (!isnan(here))
            replay->loads[replay->load_count++] =
                (struct load){here, (uint32_t)(row + j), replay->missed[row + j]};
    }
}

/* Log likelihood of the listed loads with such a base. */
static double weigh_place(const struct replay *replay, const struct pb_tlb_base *base)
{
    const struct densities *densities = &replay->densities[base->cache];
    double product = 1.0, sum = 0.0, shift = PB_TLB_BELOW + 0.5 - base->cycles;

    for (size_t i = 0; i < replay->load_count; i++) {
        const struct load *load = &replay->loads[i];

        product *= load->missed == UNSURE
                       ? weigh_unsure(replay, base, load->at, load->cycles - base->cycles)
                       : densities->sure[load->missed][pb_tlb_row_at(load->cycles + shift)];
        if (product < 1e-200) {
            sum += log(product);
            product = 1.0;
        }
    }
    return sum + log(product);
}

/*
 * A load that no number of missed levels explains counts against the level before whose step it
 * lies, or against the last one.
 */
static bool is_outlier(struct replay *replay, size_t chase, double excess, const float *density,
                       struct pb_tlb_fit *fits)
{
    for (size_t i = 0; i <= replay->count; i++)
        if (density[i] > replay->least_density)
            return false;
    for (size_t i = 0; i < replay->count; i++) {
        if (fits == NULL || excess < replay->steps[i] ||
            (i + 1 < replay->count && excess > replay->steps[i + 1]))
            continue;
        fits[i].loads += 1.0;
        fits[i].leading += 1.0;
        fits[i].against += 1.0;
        replay->predictions[i].chases[chase].sure++;
        replay->predictions[i].chases[chase].outliers++;
    }
    return true;
}

static struct set_tally *tally_of(struct replay *replay, size_t level, size_t chase, size_t place)
{
    const struct stage *stage = &replay->stages[level];

    return &replay->predictions[level]
                .sets[chase * stage->groups + (stage->groups > 1 ? stage->set[place] : 0)];
}

/* A load that clearly hits or misses. */
static void add_to_set(struct set_tally *tally, double chance, bool is_miss)
{
    tally->seen += 1.0F;
    tally->misses += is_miss;
    tally->expected += (float)chance;
    tally->log_chance += (float)log(is_miss ? chance : 1.0 - chance);
}

/* How likely the cycles of a load are that misses so many levels and more: misses_out[count]. */
static void weigh_misses(const struct replay *replay, size_t at, const float *density,
                         double *misses_out)
{
    for (size_t i = replay->count; i-- > 0;) {
        double chance = i + 1 < replay->count ? replay->predictions[i + 1].chance[at] : 0.0;

        misses_out[i] = (1.0 - chance) * density[i + 1];
        if (i + 1 < replay->count)
            misses_out[i] += chance * misses_out[i + 1];
    }
}

/* Do replays of the chase differ? */
static bool is_drawn(const struct replay *replay, size_t chase)
{
    bool any = false;

    for (size_t i = 0; i < replay->count; i++)
        any |= replay->predictions[i].chases[chase].draws > 0;
    return any;
}

/* Compares a place's loads with what is predicted. */
static void check_place(struct replay *replay, const struct pb_tlb_scan *scan, size_t place,
                        const struct pb_tlb_base *base, struct pb_tlb_fit *fits)
{
    static const float clear = 20.0F;

    for (size_t j = 0; j < replay->chase_count; j++) {
        double excess = *pb_tlb_cycles(scan, place, replay->chases[j]) - base->cycles;
        float density[PB_TLB_FOUND_MAX + 1] = {0.0F};
        double comes = 1.0; /* chance that it misses all before */
        double misses[PB_TLB_FOUND_MAX] = {0.0}, likely = 1.0, known = 1.0;
        bool is_miss = true, is_predicted = is_drawn(replay, j);

        if (isnan(excess))
            continue;
        find_densities(replay, base, excess, density);
        if (is_outlier(replay, j, excess, density, fits))
            continue;
        if (is_predicted) {
            weigh_misses(replay, place * scan->chase_count + j, density, misses);
            likely = known = weigh_unsure(replay, base, place * scan->chase_count + j, excess);
        }
        for (size_t i = 0; i < replay->count && is_miss; i++) {
            struct tally *tally = &replay->predictions[i].chases[j];
            float chance = replay->predictions[i].chance[place * scan->chase_count + j],
                  most = 0.0F;
            bool leads = replay->stages[i].first[place] == place; /* others of its entry hit */

            for (size_t k = i + 1; k <= replay->count; k++)
                most = density[k] > most ? density[k] : most;
            if (most < clear * density[i] && density[i] < clear * most)
                break;
            is_miss = most > density[i];
            if (fits != NULL) {
                fits[i].loads += 1.0;
                fits[i].leading += leads;
                fits[i].answered += is_miss ? 0.0 : comes * (1.0 - chance);
                fits[i].missed += is_miss ? chance : 0.0;
            }
            if (chance > 0.0F && chance < 1.0F) {
                tally->expected += chance;
                tally->seen++;
                tally->misses += is_miss;
                if (is_predicted) {
                    add_to_set(tally_of(replay, i, j, place), chance, is_miss);
                    known = is_miss ? misses[i] : density[i];
                }
            } else {
                bool is_against = is_miss != (chance > 0.5F);

                is_predicted &= !is_against;
                tally->sure += leads;
                tally->outliers += leads && is_against;
                if (fits != NULL)
                    fits[i].against += is_against;
            }
            comes *= chance;
        }
        if (known != likely) {
            replay->tallies[j].apart += log(likely);
            replay->tallies[j].known += log(known);
        }
    }
}

/*
 * Log likelihood of what loads of a set do. They do not miss independently where one that hits
 * saves the others: beta-binomial, pairs are correlated as drawn, up to all or none. Draws do not
 * show all that may happen: any number of misses may be what was not drawn, as rarely however few
 * draws there are, or wrong levels would be the likelier the fewer are made.
 */
static double weigh_set(const struct replay *replay, const struct set_tally *set, double together)
{
    const double *log_factorial = replay->log_factorial;
    double seen = set->seen, misses = set->misses, hits = seen - misses;
    double chance = bounded(set->expected / seen), likely = set->log_chance, any;

    if (together > 0.0) {
        double weight = 1.0 / together - 1.0, a = chance * weight, b = weight - a;

        likely += lgamma(a + misses) - lgamma(a) + lgamma(b + hits) - lgamma(b) + lgamma(weight) -
                  lgamma(weight + seen) - misses * log(chance) - hits * log(1.0 - chance);
    }
    any = log_factorial[(size_t)misses] + log_factorial[(size_t)hits] -
          log_factorial[(size_t)seen + 1];
    return pb_add_likelihoods(likely, any + log(PB_TLB_RARE));
}

/*
 * By how much likelier a chase is, of which some loads were drawn, if it is not known whether loads
 * miss each by itself, as they were weighed, or by sets.
 */
static double weigh_together(const struct replay *replay, size_t chase)
{
    double by_sets = replay->tallies[chase].known, apart = replay->tallies[chase].apart;

    for (size_t i = 0; i < replay->count; i++) {
        const struct prediction *prediction = &replay->predictions[i];
        const struct tally *tally = &prediction->chases[chase];
        size_t groups = replay->stages[i].groups;

        for (size_t k = 0; k < groups && tally->seen > 0; k++)
            if (prediction->sets[chase * groups + k].seen > 0.0F)
                by_sets +=
                    weigh_set(replay, &prediction->sets[chase * groups + k], tally->together);
    }
    return is_drawn(replay, chase) ? pb_add_likelihoods(apart, by_sets) - M_LN2 - apart : 0.0;
}

/*
 * How far a share lies from those that were drawn, squared, in variances: by how many of so many
 * others are less, since one hit may save its whole set in one chase of a hundred.
 */
static double square_of_deviation(const struct tally *tally, float share, double others)
{
    double less = 0.5 * (1.0 + others - tally->draws), deviation;

    for (size_t r = 0; r < tally->draws; r++)
        less += tally->drawn[r] < share ? 1.0 : tally->drawn[r] > share ? 0.0 : 0.5;
    deviation = gsl_cdf_ugaussian_Pinv(less / (others + 1.0));
    return deviation * deviation;
}

/* The same of the shares that were drawn, on average. */
static double mean_square(const struct tally *tally)
{
    double sum = 0.0;

    for (size_t r = 0; r < tally->draws; r++)
        sum += square_of_deviation(tally, tally->drawn[r], tally->draws - 1.0);
    return sum / tally->draws;
}

/* The chases in which it varies what misses. */
static void add_chases(struct replay *replay, struct pb_tlb_fit *fits)
{
    for (size_t j = 0; j < replay->chase_count; j++)
        replay->log_likelihood += weigh_together(replay, j);
    for (size_t i = 0; i < replay->count; i++) {
        for (size_t j = 0; j < replay->chase_count; j++) {
            const struct tally *tally = &replay->predictions[i].chases[j];
            double seen = tally->seen, misses = tally->misses, variance = tally->variance;

            if (fits != NULL) /* one may be noise in any chase */
                fits[i].unexplained +=
                    fmax(0.0, tally->outliers - fmax(1.0, PB_TLB_OUTLIERS * tally->sure));
            if (fits == NULL || seen < 8.0 || variance <= 0.0)
                continue;
            fits[i].deviation += square_of_deviation(tally, (float)(misses / seen), tally->draws);
            fits[i].by_chance += mean_square(tally);
        }
    }
}

/* The chases of a scan that are looked at: all, or so many per octave of pages. */
static void choose_chases(struct replay *replay, const struct pb_tlb_scan *scan, size_t per_octave)
{
    double next = 0.0;

    replay->chase_count = 0;
    for (size_t w = 0; w < scan->chase_count; w++) {
        if (scan->pages[w] < next)
            continue;
        replay->chases[replay->chase_count++] = (uint32_t)w;
        if (per_octave > 0)
            next = scan->pages[w] * (1.0 + 0.7 / (double)per_octave);
    }
}

/*
 * What a line takes is known by a few loads alone: the likeliest for all its loads, from there on
 * by whole cycles. Returns by how much likelier.
 */
static double adjust_base(const struct replay *replay, struct pb_tlb_base *base,
                          double log_likelihood)
{
    double most = log_likelihood;

    for (int step = -1; step <= 1; step += 2) {
        struct pb_tlb_base other = *base;
        double here;

        other.cycles += step;
        while ((here = weigh_place(replay, &other)) > most) {
            most = here;
            *base = other;
            other.cycles += step;
        }
    }
    return most - log_likelihood;
}

static void replay_scan(struct replay *replay, size_t s, struct pb_tlb_fit *fits)
{
    const struct pb_tlb_scan *scan = &replay->evidence->scans->items[s];

    choose_chases(replay, scan, replay->effort->per_octave);
    replay->is_sure = true;
    for (size_t i = 0; i < replay->count; i++) {
        size_t draw =
            (replay->effort->draw * replay->evidence->scans->count + s) * PB_TLB_FOUND_MAX + i;

        replay->stages[i].random = (draw + 1) * UINT64_C(0x9e3779b97f4a7c15); /* no two alike */
        enter_scan(&replay->stages[i], i > 0 ? &replay->stages[i - 1] : NULL, scan);
        replay->stages[i].groups = group_count(&replay->stages[i], scan->place_count);
        memset(replay->predictions[i].sets, 0,
               replay->chase_count * replay->stages[i].groups *
                   sizeof(*replay->predictions[i].sets));
        memset(replay->predictions[i].chases, 0,
               replay->chase_count * sizeof(*replay->predictions[i].chases));
    }
    for (size_t j = 0; j < replay->chase_count; j++)
        predict_chase(replay, scan, j);
    memset(replay->tallies, 0, replay->chase_count * sizeof(*replay->tallies));
    for (size_t place = 0; place < scan->place_count; place++) {
        struct pb_tlb_base bases[PB_TLB_BASES_MAX];
        size_t base_count = pb_tlb_find_bases(replay->evidence, s, place, bases), best = 0;
        double most = -INFINITY;

        list_loads(replay, scan, place);
        for (size_t i = 0; i < base_count; i++) {
            double here = bases[i].log_prior + weigh_place(replay, &bases[i]);

            if (here > most) {
                most = here;
                best = i;
            }
        }
        if (base_count > 0 && !replay->evidence->is_uniform)
            most += adjust_base(replay, &bases[best], most - bases[best].log_prior);
        replay->log_likelihood += base_count > 0 ? most : 0.0;
        if (base_count > 0 && (fits != NULL || !replay->is_sure))
            check_place(replay, scan, place, &bases[best], fits);
    }
    add_chases(replay, fits);
}

/*
 * How likely a load is by its excess: one that misses all levels that are replayed may miss as well
 * any number of those behind, that which is likeliest, and a few do otherwise than is sure.
 */
static void tabulate(const struct replay *replay, const struct pb_tlb_level *levels, size_t count,
                     size_t kind)
{
    struct densities *densities = &replay->densities[kind];
    float one[PB_TLB_ROWS + 1];
    double step = 0.0;

    pb_tlb_tabulate(replay->evidence, kind, one);
    for (size_t i = 0; i <= count; i++) {
        size_t missed = i < replay->count ? i : replay->count;

        for (int row = 0; row < PB_TLB_ROWS; row++)
            densities->of[missed][row] += one[pb_tlb_row(row - PB_TLB_BELOW - step)];
        step += i < count ? levels[i].penalty_cycles : 0.0;
    }
    for (size_t i = 0; i <= replay->count; i++)
        densities->of[i][PB_TLB_ROWS] = 1.0F; /* not recorded */
    for (size_t row = 0; row <= PB_TLB_ROWS; row++) {
        double all = 0.0;

        for (size_t i = 0; i <= replay->count; i++)
            all += densities->of[i][row];
        for (size_t i = 0; i <= replay->count; i++)
            densities->sure[i][row] =
                (float)((1.0 - PB_TLB_RARE) * densities->of[i][row] +
                        PB_TLB_RARE * (all - densities->of[i][row]) / (double)replay->count);
    }
}

void pb_tlb_start_race(struct pb_tlb_race *race)
{
    for (size_t k = 0; k < PB_TLB_RACE_SCANS; k++) {
        race->ahead[k] = -INFINITY;
        race->order[k] = (uint8_t)k;
    }
}

/*
 * Notes how likely the k-th scan is. Are the levels too far behind to win, by those up to it? Then
 * the scan that is most against them is the first one that others meet.
 */
static bool is_behind(struct pb_tlb_race *race, size_t k, double log_likelihood)
{
    size_t worst = 0;
    double behind = 0.0, most = -INFINITY;

    race->own[race->order[k]] = log_likelihood;
    for (size_t i = 0; i <= k; i++) {
        double here = race->ahead[race->order[i]] - race->own[race->order[i]];

        behind += here;
        if (here > most) {
            most = here;
            worst = i;
        }
    }
    if (behind <= PB_TLB_HOPELESS)
        return false;
    for (; worst > 0; worst--) {
        uint8_t other = race->order[worst - 1];

        race->order[worst - 1] = race->order[worst];
        race->order[worst] = other;
    }
    return true;
}

enum pb_status pb_tlb_replay(struct pb_tlb_evidence *evidence, const struct pb_tlb_level *levels,
                             size_t count, const struct pb_tlb_effort *effort,
                             struct pb_tlb_race *race, double *log_likelihood_out,
                             struct pb_tlb_fit *fits_out, struct pb_error *err)
{
    struct replay replay = {.evidence = evidence,
                            .effort = effort,
                            .count = count,
                            .is_checked = fits_out != NULL,
                            .least_density = 3.0 * exp(evidence->noise.log_contamination)};
    bool is_lost = false;
    enum pb_status status;

    if (effort->level_count > 0 && effort->level_count < count)
        replay.count = effort->level_count;
    for (size_t i = 0; i < replay.count; i++) {
        replay.stages[i].structure = &levels[i].structure;
        replay.steps[i + 1] = replay.steps[i] + levels[i].penalty_cycles;
        if (fits_out != NULL)
            fits_out[i] = (struct pb_tlb_fit){.loads = 0.0};
    }
    status = open_replay(&replay, err);
    for (size_t i = 0; i < pb_tlb_base_kinds(evidence) && status == PB_OK; i++)
        tabulate(&replay, levels, count, i);
    for (size_t k = 0; k < evidence->scans->count && status == PB_OK && !is_lost; k++) {
        bool is_raced = race != NULL && k < PB_TLB_RACE_SCANS;
        double before = replay.log_likelihood;

        replay_scan(&replay, is_raced ? race->order[k] : k, fits_out);
        is_lost = is_raced && is_behind(race, k, replay.log_likelihood - before);
    }
    if (is_lost)
        replay.log_likelihood = -INFINITY;
    *log_likelihood_out = replay.log_likelihood;
    pb_room_clear(&replay.room);
    return status;
}
