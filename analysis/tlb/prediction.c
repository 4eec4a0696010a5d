/* Simulated passes over pages; see prediction.h. */
#include "analysis/tlb/prediction.h"

#include <math.h>
#include <string.h>

#include "analysis/constants.h"
#include "analysis/model/tree.h"

/* Chases with random misses are repeated until they have so many loads, within limits. */
enum { REPEATS_MIN = 4, PASSES_MAX = 3 };

/* Repeats run side by side: sets of them, by bits. */
typedef uint64_t repeat_set;

/* What becomes of a page at a level in every pass but the first. */
enum outcome { HITS, MISSES, VARIES };

/* How often something was in each of the repeats: binary digits, lowest first. */
struct counter {
    repeat_set digits[32];
    size_t length;
};

/* Up to which page of a scan something is known, and the entry that was looked up last by then. */
struct progress {
    size_t pages;
    uint32_t entry;
};

/* Loads that come to a level in the last pass. */
struct drawn {
    struct counter came, gone; /* of these, missed */
};

/* One level, as the pages of a scan meet it. */
struct pb_tlb_stage {
    const struct pb_tlb_structure *structure;
    repeat_set *present;   /* tree, random: [pages] by the first page of the entry, */
    uint32_t *filled;      /* how many of a set are: [sets]; random: [begin][repeats] */
    uint32_t *held;        /* tree: [begin + way] pages; random: [begin + way][repeats] */
    uint32_t *listed;      /* LRU, FIFO: first pages of the entries of sets that vary, */
    repeat_set *renewed;   /* [PASSES_MAX][pages] when these became the newest of their set, */
    struct counter *newer; /* [sets][2] how many did since; see renew_entries() */
    uint32_t *begin;       /* [sets] of those that vary, */
    uint32_t held_count;   /* which have so many ways */
    uint32_t *way;         /* tree: [pages] that holds the entry */
    unsigned char *trees;  /* [sets][2 * leaves] */
    size_t leaves;         /* of the widest set */
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
    struct drawn all, *drawn;   /* loads that vary; [groups] of these */
    /* Each chase loads the pages of the one before and some more: what is known of those */
    struct progress filled_first, counted, decided; /* cold; looked_up, rank; outcome */
    bool has_changed; /* a page has another outcome than in the chase before */
    bool is_replayed; /* some sets vary in the chase, and what they do is replayed, */
    bool is_sure;     /* all of them are looked up in every pass; else known chances do */
    double **chances; /* [2][pages + 1] of the entries of a set, by warm passes and their number */
    uint32_t *rank;   /* [pages] of the page's entry in its set */
};

static bool has_random_victims(const struct pb_tlb_stage *stage)
{
    return stage->structure->victims == PB_TLB_RANDOM;
}

static bool has_tree(const struct pb_tlb_stage *stage)
{
    return stage->structure->victims == PB_TLB_TREE;
}

static bool has_order(const struct pb_tlb_stage *stage)
{
    return !has_random_victims(stage) && !has_tree(stage);
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
static void raise(size_t *most, size_t other)
{
    *most = other > *most ? other : *most;
}

static void open_stage(struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage)
{
    struct pb_room *room = prediction->room;
    size_t pages = prediction->pages_max, places = prediction->places_max;
    size_t sets = stage->structure->set_count, loads = prediction->effort->repeated_loads,
           cells = pages;

    stage->leaves = count_leaves(stage->structure);
    if (has_random_victims(stage)) /* ways of sets that overflow: fewer than pages */
        cells = REPEATS_MIN * pages < loads ? loads : REPEATS_MIN * pages;
    PB_ROOM_ARRAY(room, stage->begin, sets);
    PB_ROOM_SCRATCH(room, stage->trees, has_tree(stage) ? 2 * stage->leaves * sets : 1);
    PB_ROOM_SCRATCH(room, stage->way, pages);
    PB_ROOM_SCRATCH(room, stage->present, pages);
    PB_ROOM_SCRATCH(room, stage->held, cells);
    PB_ROOM_SCRATCH(room, stage->filled, has_random_victims(stage) ? cells : sets);
    PB_ROOM_SCRATCH(room, stage->listed, has_order(stage) ? pages : 1);
    PB_ROOM_SCRATCH(room, stage->renewed, has_order(stage) ? PASSES_MAX * pages : 1);
    PB_ROOM_SCRATCH(room, stage->newer, has_order(stage) ? 2 * sets : 1);
    PB_ROOM_SCRATCH(room, stage->first, pages);
    PB_ROOM_SCRATCH(room, stage->entry, pages);
    PB_ROOM_SCRATCH(room, stage->set, pages);
    PB_ROOM_SCRATCH(room, stage->outcome, pages);
    PB_ROOM_SCRATCH(room, stage->leads, pages);
    PB_ROOM_SCRATCH(room, stage->cold, sets);
    PB_ROOM_SCRATCH(room, stage->looked_up, sets);
    PB_ROOM_SCRATCH(room, stage->is_mixed, sets);
    PB_ROOM_SCRATCH(room, stage->of_set, sets);
    PB_ROOM_SCRATCH(room, stage->drawn, sets <= places ? sets : 1);
    PB_ROOM_SCRATCH(room, stage->reached, places);
    PB_ROOM_SCRATCH(room, stage->missed, places);
    PB_ROOM_SCRATCH(room, stage->rank, pages);
    PB_ROOM_ARRAY(room, stage->chances, 2 * (pages + 1));
}

enum pb_status pb_tlb_prediction_open(const struct pb_tlb_scans *scans,
                                      const struct pb_tlb_level *levels, size_t count,
                                      const struct pb_tlb_effort *effort, bool is_checked,
                                      struct pb_room *room, struct pb_tlb_prediction *prediction,
                                      struct pb_error *err)
{
    *prediction = (struct pb_tlb_prediction){.scans = scans,
                                             .room = room,
                                             .effort = effort,
                                             .count = count,
                                             .is_checked = is_checked,
                                             .pages_max = 1,
                                             .places_max = 1,
                                             .chases_max = 1,
                                             .cells = 1};
    for (size_t s = 0; s < scans->count; s++) {
        const struct pb_tlb_scan *scan = &scans->items[s];

        raise(&prediction->pages_max, scan->page_count);
        raise(&prediction->places_max, scan->place_count);
        raise(&prediction->chases_max, scan->chase_count);
        raise(&prediction->cells, scan->chase_count * scan->place_count);
    }
    PB_ROOM_SCRATCH(room, prediction->chases, prediction->chases_max);
    PB_ROOM_SCRATCH(room, prediction->pages, prediction->pages_max);
    PB_ROOM_SCRATCH(room, prediction->come, PASSES_MAX * prediction->pages_max);
    PB_ROOM_SCRATCH(room, prediction->came, prediction->pages_max);
    PB_ROOM_SCRATCH(room, prediction->missed, prediction->cells);
    PB_ROOM_ARRAY(room, prediction->stages, PB_TLB_FOUND_MAX);
    for (size_t i = 0; i < count && !room->is_out; i++) {
        prediction->stages[i].structure = &levels[i].structure;
        open_stage(prediction, &prediction->stages[i]);
        PB_ROOM_SCRATCH(room, prediction->levels[i].chance, prediction->cells);
        PB_ROOM_SCRATCH(room, prediction->levels[i].draws, prediction->chases_max);
        prediction->levels[i].first = prediction->stages[i].first;
        prediction->levels[i].set = prediction->stages[i].set;
    }
    return pb_room_status(room, err);
}

/* The entries of the sets that vary lie one behind another. */
static void lay_out(struct pb_tlb_stage *stage)
{
    stage->held_count = 0;
    for (size_t set = 0; set < stage->structure->set_count; set++) {
        stage->begin[set] = stage->held_count;
        stage->held_count += stage->of_set[set] == VARIES ? ways_of(stage->structure, set) : 0;
    }
}

static void empty(struct pb_tlb_stage *stage, size_t pages, size_t times)
{
    size_t sets = stage->structure->set_count;

    memset(stage->present, 0, pages * sizeof(*stage->present));
    if (has_random_victims(stage)) {
        memset(stage->filled, 0, stage->held_count * times * sizeof(*stage->filled));
        return;
    }
    memset(stage->filled, 0, sets * sizeof(*stage->filled));
    memset(stage->trees, 0, 2 * stage->leaves * sets);
}

/* A number below the limit. */
static uint32_t draw(uint64_t *random, uint32_t limit)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*random >> 32) * limit >> 32);
}

static bool touch_tree(struct pb_tlb_stage *stage, uint32_t set, uint32_t page)
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
static repeat_set touch_random(struct pb_tlb_stage *stage, uint32_t set, uint32_t page,
                               repeat_set come, size_t times)
{
    uint32_t ways = ways_of(stage->structure, set);
    uint32_t *filled = stage->filled + stage->begin[set] * times,
             *held = stage->held + stage->begin[set] * times;
    repeat_set hits = come & stage->present[page];
    uint64_t random = stage->random; /* in a register */

    for (repeat_set left = come & ~hits; left != 0; left &= left - 1) {
        size_t repeat = (size_t)__builtin_ctzll(left);
        uint32_t way;

        if (filled[repeat] < ways) {
            way = filled[repeat]++;
        } else {
            way = draw(&random, ways);
            stage->present[held[way * times + repeat]] &= ~((repeat_set)1 << repeat);
        }
        held[way * times + repeat] = page;
    }
    stage->random = random;
    stage->present[page] |= come;
    return hits;
}

/*
 * Looks an entry up, whose first page is given, in some of so many repeats that are alike up to
 * there, and fills it where it is missing. Returns in which of them it is a hit.
 */
static repeat_set touch(struct pb_tlb_stage *stage, uint32_t set, uint32_t page, repeat_set come,
                        size_t times)
{
    if (has_random_victims(stage))
        return touch_random(stage, set, page, come, times);
    return touch_tree(stage, set, page) ? come : 0;
}

/* The entries of a scan's pages, at a level behind another; before is NULL: behind none. */
static void enter_scan(struct pb_tlb_stage *stage, const struct pb_tlb_stage *before,
                       const struct pb_tlb_scan *scan)
{
    const struct pb_tlb_structure *structure = stage->structure,
                                  whole = pb_tlb_whole_sets(structure);
    uint64_t first = pb_tlb_entry(scan, 0, structure->coverage_bytes), last = UINT64_MAX;
    uint32_t *turn = stage->looked_up; /* of the next entry of a set */
    size_t set = 0;

    stage->filled_first = stage->counted = stage->decided = (struct progress){0, UINT32_MAX};
    memset(stage->cold, 0, structure->set_count * sizeof(*stage->cold));
    memset(stage->of_set, HITS, structure->set_count);
    memset(turn, 0, structure->set_count * sizeof(*turn));
    for (size_t page = 0; page < scan->page_count; page++) {
        uint64_t entry = pb_tlb_entry(scan, page, structure->coverage_bytes);

        if (entry != last) {
            set = pb_tlb_set_of(&whole, entry);
            if (structure->parts > 1)
                set = set * structure->parts + turn[set]++ % structure->parts;
        }
        last = entry;
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

/* Entries of each set that are looked up in the first pass: by all pages, where before is NULL. */
static void count_cold(struct pb_tlb_stage *stage, const struct pb_tlb_stage *before, size_t pages)
{
    const uint32_t *restrict entries = stage->entry, *restrict sets = stage->set;
    const uint8_t *restrict leads = before == NULL ? NULL : before->leads;
    uint32_t *restrict cold = stage->cold, last = stage->filled_first.entry;

    for (size_t page = stage->filled_first.pages; page < pages; page++) {
        if (leads != NULL && leads[page] == 0)
            continue;
        cold[sets[page]] += entries[page] != last;
        last = entries[page];
    }
    stage->filled_first = (struct progress){pages, last};
}

/* The same in later passes: as many as the level before lets through. */
static void count_entries(struct pb_tlb_stage *stage, const struct pb_tlb_stage *before,
                          size_t pages)
{
    const uint32_t *restrict entries = stage->entry, *restrict sets = stage->set;
    const uint8_t *restrict come = before == NULL ? NULL : before->outcome;
    uint32_t *restrict looked_up = stage->looked_up, *restrict rank = stage->rank, last;
    uint8_t *restrict is_mixed = stage->is_mixed;

    if (before != NULL && before->has_changed)
        stage->counted.pages = 0;
    if (stage->counted.pages == 0) {
        memset(looked_up, 0, stage->structure->set_count * sizeof(*looked_up));
        memset(is_mixed, 0, stage->structure->set_count);
        stage->counted.entry = UINT32_MAX;
    }
    last = stage->counted.entry;
    for (size_t page = stage->counted.pages; page < pages; page++) {
        uint32_t set = sets[page];

        if (come != NULL && come[page] == HITS)
            continue;
        rank[page] = looked_up[set];
        looked_up[set] += entries[page] != last;
        is_mixed[set] |= come != NULL && come[page] == VARIES;
        last = entries[page];
    }
    stage->counted = (struct progress){pages, last};
}

/* Outcomes of the sets; has any changed since the chase before? */
static bool judge_sets(struct pb_tlb_stage *stage)
{
    const struct pb_tlb_structure *structure = stage->structure;
    bool has_changed = false;

    stage->is_replayed = false;
    stage->is_sure = true;
    for (size_t set = 0; set < structure->set_count; set++) {
        size_t count = stage->looked_up[set], cold = stage->cold[set];
        size_t ways = ways_of(structure, set);
        bool overflows = count > 0 && cold > ways;
        bool varies = overflows && (stage->is_mixed[set] || count <= ways ||
                                    !all_miss(structure->victims, count, ways));
        uint8_t outcome = !overflows ? HITS : varies ? VARIES : MISSES;

        has_changed |= outcome != stage->of_set[set];
        stage->of_set[set] = outcome;
        stage->is_replayed |= varies;
        stage->is_sure &= !varies || (!stage->is_mixed[set] && cold == count);
    }
    return has_changed;
}

/*
 * Outcomes at a level of the pages that come to it: all, where before is NULL. What the levels
 * before answer from the second pass on has filled it in the first one, and may still be there.
 */
static void find_outcomes(struct pb_tlb_stage *stage, const struct pb_tlb_stage *before,
                          size_t pages)
{
    const uint32_t *restrict entries = stage->entry, *restrict sets = stage->set;
    const uint8_t *restrict come = before == NULL ? NULL : before->outcome;
    const uint8_t *restrict of_set = stage->of_set;
    uint8_t *restrict outcomes = stage->outcome;
    uint32_t last;

    count_cold(stage, before, pages);
    count_entries(stage, before, pages);
    stage->has_changed = judge_sets(stage) || (before != NULL && before->has_changed);
    if (stage->has_changed)
        stage->decided = (struct progress){0, UINT32_MAX};
    last = stage->decided.entry;
    for (size_t page = stage->decided.pages; page < pages; page++) {
        uint8_t outcome = come != NULL && come[page] == HITS ? HITS : of_set[sets[page]];

        outcomes[page] = outcome == MISSES && entries[page] == last ? HITS : outcome;
        if (outcome != HITS)
            last = entries[page];
    }
    stage->decided = (struct progress){pages, last};
}

/* Into prediction->pages: those that come to a set which varies. */
static void list_pages(struct pb_tlb_prediction *prediction, size_t pages)
{
    bool is_any_replayed = false;

    prediction->varying = 0;
    for (size_t i = 0; i < prediction->count; i++)
        is_any_replayed |= prediction->stages[i].is_replayed;
    for (size_t page = 0; page < pages && is_any_replayed; page++) {
        size_t i = 0;

        while (i < prediction->count && prediction->stages[i].outcome[page] == MISSES)
            i++;
        if (i < prediction->count && prediction->stages[i].outcome[page] == VARIES &&
            prediction->stages[i].is_replayed)
            prediction->pages[prediction->varying++] = (uint32_t)page;
    }
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

/* Once less. */
static void discount(struct counter *counter, repeat_set those)
{
    for (size_t i = 0; those != 0; i++) {
        repeat_set borrow = ~counter->digits[i] & those;

        counter->digits[i] ^= those;
        those = borrow;
    }
}

/* In which repeats the number is below the limit. */
static repeat_set find_below(const struct counter *counter, uint32_t limit)
{
    repeat_set below = 0;

    if (counter->length < 32 && limit >> counter->length != 0)
        return ~(repeat_set)0;
    for (size_t i = 0; i < counter->length; i++)
        below = (limit >> i & 1) != 0 ? ~counter->digits[i] | below : ~counter->digits[i] & below;
    return below;
}

static double counted(const struct counter *counter, size_t repeat)
{
    size_t sum = 0;

    for (size_t i = 0; i < counter->length; i++)
        sum += (size_t)(counter->digits[i] >> repeat & 1) << i;
    return (double)sum;
}

/* The first pass: every page is new, and fills the level; `those` are the repeats that are run. */
static void fill(const struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage,
                 size_t pages, repeat_set those, repeat_set *come)
{
    for (size_t page = 0; page < pages; page++) {
        if (page > 0 && stage->entry[page] == stage->entry[page - 1])
            come[page] &= ~those;
        else if ((come[page] & those) != 0 && stage->of_set[stage->set[page]] == VARIES)
            touch(stage, stage->set[page], stage->first[page], come[page] & those,
                  prediction->times);
    }
}

/* A later one, over the pages that vary. */
static void run_pass(const struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage,
                     repeat_set those, repeat_set *come)
{
    for (size_t k = 0; k < prediction->varying; k++) {
        uint32_t page = prediction->pages[k];
        repeat_set here = come[k] & those;

        if (here != 0 && stage->outcome[page] == VARIES)
            come[k] &= ~touch(stage, stage->set[page], stage->first[page], here, prediction->times);
    }
}

/* Repeats that a level meets together: all as long as they are alike or it draws; else one. */
static void run_passes(struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage,
                       size_t pages, repeat_set those)
{
    empty(stage, pages, prediction->times);
    fill(prediction, stage, pages, those, prediction->come);
    for (size_t pass = 1; pass <= prediction->warm; pass++)
        run_pass(prediction, stage, those, prediction->come + pass * prediction->pages_max);
}

/*
 * LRU, FIFO, in all repeats at once. An entry becomes the newest of its set when it is looked up,
 * or with FIFO when it is filled, and stays as long as fewer others did since than the set has
 * ways. What did since the pass before is counted by newer[0]: of the entries ahead in that pass,
 * of those already met in this one. newer[1] counts from one pass earlier, for entries that were in
 * this and not in the one before.
 */
static void renew_entries(struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage,
                          size_t entries, size_t pass)
{
    const bool is_lru = stage->structure->victims == PB_TLB_LRU;
    const size_t row = prediction->pages_max;
    repeat_set *renewed = stage->renewed + pass * row, *come = prediction->come + pass * row;
    size_t k = 0;

    for (size_t i = 0; i < entries; i++) {
        uint32_t page = stage->listed[i],
                 next = i + 1 < entries ? stage->listed[i + 1] : UINT32_MAX;
        uint32_t set = stage->set[page], ways = ways_of(stage->structure, set);
        struct counter *newer = &stage->newer[(size_t)2 * set];
        repeat_set before = (renewed - row)[page], now = 0, present;

        discount(&newer[0], before);
        present = before & find_below(&newer[0], ways);
        if (pass > 1) {
            repeat_set earlier = (renewed - 2 * row)[page];

            discount(&newer[1], is_lru ? earlier | before : earlier);
            discount(&newer[1], is_lru ? 0 : before);
            present |= earlier & ~before & find_below(&newer[1], ways);
        }
        for (; k < prediction->varying && prediction->pages[k] < next; k++) {
            repeat_set missed = come[k] & ~present;

            if (stage->outcome[prediction->pages[k]] != VARIES)
                continue;
            now |= is_lru ? come[k] : missed;
            present |= come[k];
            come[k] = missed;
        }
        renewed[page] = now;
        count(&newer[0], now);
        if (prediction->warm > 1) {
            count(&newer[1], is_lru ? now | before : now);
            count(&newer[1], is_lru ? 0 : before);
        }
    }
}

static void run_in_order(struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage,
                         size_t pages)
{
    size_t entries = 0;

    for (size_t set = 0; set < stage->structure->set_count; set++)
        stage->newer[2 * set].length = stage->newer[2 * set + 1].length = 0;
    for (size_t page = 0; page < pages; page++) {
        if (stage->first[page] != page) {
            prediction->come[page] = 0;
        } else if (stage->of_set[stage->set[page]] == VARIES) {
            stage->listed[entries++] = (uint32_t)page;
            stage->renewed[page] = prediction->come[page];
            count(&stage->newer[(size_t)2 * stage->set[page]], prediction->come[page]);
        }
    }
    for (size_t pass = 1; pass <= prediction->warm; pass++)
        renew_entries(prediction, stage, entries, pass);
}

/* Loads of the last pass: in which repeats they came, and missed. */
static void count_last(const struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage,
                       size_t places, const repeat_set *missed)
{
    for (size_t k = 0; k < prediction->varying && prediction->pages[k] < places; k++) {
        uint32_t page = prediction->pages[k];
        struct drawn *drawn = &stage->drawn[stage->groups > 1 ? stage->set[page] : 0];

        stage->reached[page] = (uint32_t)__builtin_popcountll(prediction->came[k]);
        stage->missed[page] = (uint32_t)__builtin_popcountll(missed[k]);
        if (stage->outcome[page] != VARIES)
            continue;
        count(&stage->all.came, prediction->came[k]);
        count(&stage->all.gone, missed[k]);
        count(&drawn->came, prediction->came[k]);
        count(&drawn->gone, missed[k]);
    }
}

/* What a level surely answers in all passes but the first. */
static void answer(struct pb_tlb_prediction *prediction, const struct pb_tlb_stage *stage)
{
    for (size_t pass = 1; pass <= prediction->warm; pass++)
        for (size_t k = 0; k < prediction->varying; k++)
            if (stage->outcome[prediction->pages[k]] == HITS)
                prediction->come[pass * prediction->pages_max + k] = 0;
}

/* The passes over the pages that vary, level after level: what one misses comes to the next one. */
static void run_stages(struct pb_tlb_prediction *prediction, size_t pages, size_t places)
{
    repeat_set all = UINT64_MAX >> (PB_TLB_REPEATS_MAX - prediction->times);
    repeat_set *last = prediction->come + prediction->warm * prediction->pages_max;
    bool are_alike = true;

    for (size_t pass = 0; pass <= prediction->warm; pass++)
        for (size_t k = 0; k < (pass == 0 ? pages : prediction->varying); k++)
            prediction->come[pass * prediction->pages_max + k] = all;
    for (size_t i = 0; i < prediction->count; i++) {
        struct pb_tlb_stage *stage = &prediction->stages[i];

        memcpy(prediction->came, last, prediction->varying * sizeof(*last));
        answer(prediction, stage);
        if (has_order(stage))
            run_in_order(prediction, stage, pages);
        else if (are_alike || has_random_victims(stage))
            run_passes(prediction, stage, pages, all);
        else
            for (size_t r = 0; r < prediction->times; r++)
                run_passes(prediction, stage, pages, (repeat_set)1 << r);
        count_last(prediction, stage, places, last);
        are_alike &= !has_random_victims(stage);
    }
}

/* Sets of which it is looked at how their loads miss together; 1: all, since each has too few. */
static size_t group_count(const struct pb_tlb_stage *stage, size_t places)
{
    return 2 * stage->structure->set_count <= places ? stage->structure->set_count : 1;
}

/*
 * Correlation of two loads of a set, over all sets: by how much more often both miss than if they
 * did so independently in each repeat.
 */
static double correlate(const struct pb_tlb_stage *stage, size_t times)
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
static void sum_up(const struct pb_tlb_stage *stage, size_t times, struct pb_tlb_draws *draws)
{
    double sum = 0.0, squares = 0.0, loads = 0.0, repeated = (double)times, mean;

    for (size_t r = 0; r < times; r++) {
        double came = counted(&stage->all.came, r),
               share = counted(&stage->all.gone, r) / fmax(1.0, came);

        loads += came;
        sum += share;
        squares += share * share;
        draws->drawn[r] = (float)share;
    }
    mean = sum / repeated;
    draws->share = (float)mean;
    draws->draws = times > 1 && loads > 0.0 ? (uint32_t)times : 0;
    draws->together = (float)correlate(stage, times);
    if (times > 1 && loads >= repeated) /* two repeats more as if loads were independent */
        draws->variance =
            (float)(((squares - sum * mean) * loads / repeated + 2.0 * mean * (1.0 - mean)) /
                    (repeated + 1.0) * (1.0 + 1.0 / repeated));
}

/* Replays a chase's sets that vary, and counts. Returns how often. */
static size_t replay_chase(struct pb_tlb_prediction *prediction, const struct pb_tlb_scan *scan,
                           size_t w, size_t index)
{
    size_t pages = scan->pages[w], places = pages < scan->place_count ? pages : scan->place_count;
    bool any_random = false;

    list_pages(prediction, pages);
    prediction->warm = pb_tlb_warm_passes(scan, w);
    prediction->times = 1;
    for (size_t i = 0; i < prediction->count; i++) {
        struct pb_tlb_stage *stage = &prediction->stages[i];

        memset(stage->reached, 0, places * sizeof(*stage->reached));
        memset(stage->missed, 0, places * sizeof(*stage->missed));
        stage->all.came.length = stage->all.gone.length = 0;
        for (size_t k = 0; k < stage->groups; k++)
            stage->drawn[k].came.length = stage->drawn[k].gone.length = 0;
        any_random |= stage->is_replayed && has_random_victims(stage);
    }
    if (prediction->varying == 0)
        return 0;
    if (any_random) {
        prediction->times = prediction->effort->repeated_loads / pages;
        prediction->times = prediction->times < REPEATS_MIN          ? REPEATS_MIN
                            : prediction->times > PB_TLB_REPEATS_MAX ? PB_TLB_REPEATS_MAX
                                                                     : prediction->times;
    }
    for (size_t i = 0; i < prediction->count; i++)
        lay_out(&prediction->stages[i]);
    run_stages(prediction, pages, places);
    for (size_t i = 0; i < prediction->count; i++)
        sum_up(&prediction->stages[i], prediction->times, &prediction->levels[i].draws[index]);
    return prediction->times;
}

/*
 * Chances of the places that load an entry first, of one chase: their mean, and how much nearer to
 * it they are than they were drawn, by the part of their variance that so few draws make.
 */
struct pool {
    double mean, part;
};

static bool leads_entry(const struct pb_tlb_stage *stage, size_t place)
{
    return stage->first[place] == place && stage->outcome[place] == VARIES &&
           stage->reached[place] > 0;
}

static struct pool pool_chances(const struct pb_tlb_stage *stage, size_t places)
{
    double reached = 0.0, missed = 0.0, drawn = 0.0, spread = 0.0, mean;

    for (size_t place = 0; place < places; place++) {
        if (!leads_entry(stage, place))
            continue;
        reached += stage->reached[place];
        missed += stage->missed[place];
    }
    mean = missed / fmax(1.0, reached);
    for (size_t place = 0; place < places; place++) {
        double here;

        if (!leads_entry(stage, place))
            continue;
        here = stage->missed[place] / (double)stage->reached[place] - mean;
        spread += here * here;
        drawn += mean * (1.0 - mean) / stage->reached[place];
    }
    return (struct pool){mean, spread > drawn ? drawn / spread : 1.0};
}

/* The chance of a place whose misses vary. */
static double drawn_chance(const struct pb_tlb_stage *stage, size_t place, double share,
                           const struct pool *pool)
{
    double drawn;

    if (stage->reached[place] == 0)
        return share;
    drawn = stage->missed[place] / (double)stage->reached[place];
    return leads_entry(stage, place) ? drawn + pool->part * (pool->mean - drawn) : drawn;
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
static void replay_set(struct pb_tlb_stage *stage, double *chance, size_t count, size_t warm_passes)
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
static const double *find_chances(struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage,
                                  size_t count, size_t ways, size_t warm_passes)
{
    double **at = &stage->chances[(warm_passes - 1) * (prediction->pages_max + 1) + count];

    if (*at == NULL)
        PB_ROOM_ARRAY(prediction->room, *at, count);
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
static void set_chances(struct pb_tlb_prediction *prediction, struct pb_tlb_stage *stage,
                        size_t places, size_t warm, float *chance, size_t row)
{
    uint32_t last = UINT32_MAX;

    for (size_t place = 0; place < places; place++) {
        uint32_t set = stage->set[place];
        const double *chances;

        if (stage->outcome[place] != VARIES)
            continue;
        chances = find_chances(prediction, stage, stage->looked_up[set],
                               ways_of(stage->structure, set), warm);
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
static void find_known(struct pb_tlb_prediction *prediction, bool is_known_out[PB_TLB_FOUND_MAX])
{
    bool is_needed = false;

    for (size_t i = prediction->count; i > 0; i--) {
        struct pb_tlb_stage *stage = &prediction->stages[i - 1];

        is_known_out[i - 1] = stage->is_replayed && stage->structure->is_equal && stage->is_sure;
        if (is_known_out[i - 1])
            stage->is_replayed = is_needed;
        is_needed |= stage->is_replayed;
    }
}

/* Of each place that a chase loads: how many levels it misses for sure. */
static void count_missed(struct pb_tlb_prediction *prediction, const struct pb_tlb_scan *scan,
                         size_t places, size_t index)
{
    for (size_t place = 0; place < places; place++) {
        size_t at = place * scan->chase_count + index, missed = 0;

        while (missed < prediction->count && prediction->levels[missed].chance[at] == 1.0F)
            missed++;
        prediction->missed[at] = (uint8_t)missed;
        if (missed < prediction->count && prediction->levels[missed].chance[at] != 0.0F) {
            prediction->missed[at] = PB_TLB_UNSURE;
            prediction->is_sure = false;
        }
    }
}

/* What is predicted of one chase. */
static void predict_chase(struct pb_tlb_prediction *prediction, const struct pb_tlb_scan *scan,
                          size_t index)
{
    size_t w = prediction->chases[index], pages = scan->pages[w], repeats;
    size_t places = pages < scan->place_count ? pages : scan->place_count;
    bool is_known[PB_TLB_FOUND_MAX] = {false};

    for (size_t i = 0; i < prediction->count; i++)
        find_outcomes(&prediction->stages[i], i > 0 ? &prediction->stages[i - 1] : NULL, pages);
    if (!prediction->is_checked)
        find_known(prediction, is_known);
    repeats = replay_chase(prediction, scan, w, index);
    for (size_t i = 0; i < prediction->count; i++) {
        const struct pb_tlb_stage *stage = &prediction->stages[i];
        const struct pb_tlb_misses *level = &prediction->levels[i];
        float *chance = level->chance + index;
        double share = level->draws[index].share;
        struct pool pool = {0.0, 0.0};

        if (repeats > 1 && !prediction->is_checked)
            pool = pool_chances(stage, places);
        if (is_known[i])
            set_chances(prediction, &prediction->stages[i], places, pb_tlb_warm_passes(scan, w),
                        chance, scan->chase_count);
        for (size_t place = 0; place < places; place++) {
            double drawn;

            if (is_known[i] && stage->outcome[place] == VARIES)
                continue;
            drawn = drawn_chance(stage, place, share, &pool);
            if (repeats > 1)
                drawn = pb_tlb_bounded(drawn);
            chance[place * scan->chase_count] =
                stage->outcome[place] == VARIES ? (float)drawn : stage->outcome[place] == MISSES;
        }
    }
    count_missed(prediction, scan, places, index);
}

/* The chases of a scan that are looked at: all, or so many per octave of pages. */
static void choose_chases(struct pb_tlb_prediction *prediction, const struct pb_tlb_scan *scan,
                          size_t per_octave)
{
    double next = 0.0;

    prediction->chase_count = 0;
    for (size_t w = 0; w < scan->chase_count; w++) {
        if (scan->pages[w] < next)
            continue;
        prediction->chases[prediction->chase_count++] = (uint32_t)w;
        if (per_octave > 0)
            next = scan->pages[w] * (1.0 + 0.7 / (double)per_octave);
    }
}

void pb_tlb_predict(struct pb_tlb_prediction *prediction, size_t s)
{
    const struct pb_tlb_scan *scan = &prediction->scans->items[s];

    choose_chases(prediction, scan, prediction->effort->per_octave);
    prediction->is_sure = true;
    for (size_t i = 0; i < prediction->count; i++) {
        struct pb_tlb_stage *stage = &prediction->stages[i];
        size_t draw =
            (prediction->effort->draw * prediction->scans->count + s) * PB_TLB_FOUND_MAX + i;

        stage->random = (draw + 1) * UINT64_C(0x9e3779b97f4a7c15); /* no two alike */
        enter_scan(stage, i > 0 ? &prediction->stages[i - 1] : NULL, scan);
        stage->groups = group_count(stage, scan->place_count);
        prediction->levels[i].groups = stage->groups;
        for (size_t j = 0; j < prediction->chase_count; j++) {
            struct pb_tlb_draws *draws = &prediction->levels[i].draws[j];

            draws->share = draws->variance = draws->together = 0.0F;
            draws->draws = 0;
        }
    }
    for (size_t j = 0; j < prediction->chase_count; j++)
        predict_chase(prediction, scan, j);
}
