/* Predicting every access of a chase, and comparing; see replay.h. */
#include "analysis/agreement/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/agreement/sequence.h"
#include "analysis/statistics/sample.h"
#include "analysis/statistics/sort.h"
#include "analysis/trace.h"

enum {
    LEVELS_MAX = PB_MODEL_DEPTH_MAX + 2, /* caches of a path, L2's other half, and DRAM */
    TLBS_MAX = PB_MODEL_TLBS_MAX + 1,    /* TLB levels, and missing all of them */
    ANSWERS_MAX = LEVELS_MAX * TLBS_MAX, /* bits of a set of answers */
    CYCLES_MAX = 4096,                   /* latencies with a class of their own */
    JUST_FULL_MAX = 64,                  /* ways of a set that a line more may overflow */
    REFERENCE_MIN = 256,                 /* accesses that show a spread */
    FEW_LINES = 16,                      /* of an L2: a part of it that overflows no set */
    AHEAD_BYTES = 8192,                  /* from load to load, that a prefetch may follow */
    FETCHED_AT_ONCE = 8,                 /* loads, at least, of passes that show fetching */
    LINES_PER_SLOT = 64                  /* of what a chase in any order covers, to be settled */
};

/* Of a spread that no chase showed: of the latency, and cycles. */
static const double assumed_spread = 0.12, margin_cycles = 2.0;

/* How far the accesses of the reference lie from their median, outliers aside. */
static const double spread_quantile = 0.005, dram_quantile = 0.0005;

/* Of misses that chance decides: standard deviations, and share of the loads, that may differ. */
static const double drawn_sigmas = 4.0, drawn_share = 0.01;

/* Of what L2 holds: the least of passes whose lines do not stay. */
static const double loaded_again = 1.2;

/* What L2 holds of a chase's lines when it is launched. */
enum preparation {
    UNKNOWN, /* what was there before: no file tells */
    FLUSHED, /* none: it was filled with other data */
    FILLED,  /* all that it can: every slot was loaded once */
};

/* What older files do not say of a chase, but the battery always did (docs/battery.md). */
struct habit {
    const char *test, *phase; /* NULL: any */
    enum preparation l2;      /* before the launch */
    const char *warm_path;    /* the warm loads go that way; "phase": the phase names it */
    bool is_open;             /* some warm loads go another way, it is not known which */
};

static const struct habit habits[] = {
    {"dram_latency", "near", FLUSHED, NULL, false},
    {"dram_latency", "far", FLUSHED, NULL, false},
    {"dram_latency", "pages", FILLED, NULL, false},
    {"latency_pattern", NULL, FLUSHED, NULL, false},
    {"l2_capacity", "miss", FLUSHED, NULL, false},
    {"l2_capacity", NULL, FILLED, NULL, false},
    {"l2_line", "miss", FLUSHED, NULL, false},
    {"l2_line", "cold", FLUSHED, NULL, false},
    {"l2_line", "backward", FLUSHED, NULL, false},
    {"l2_line", NULL, FILLED, NULL, false},
    {"l2_sets", "miss", FLUSHED, NULL, false},
    {"l2_sets", NULL, FILLED, NULL, false},
    {"cache_sharing", "none", FILLED, NULL, false},
    {"cache_sharing", "reference", UNKNOWN, NULL, false},
    {"cache_sharing", "miss", FILLED, NULL, false},
    {"cache_sharing", "global_ca", FILLED, "global_ca", false},
    {"cache_sharing", "readonly", FILLED, "readonly", false},
    {"cache_sharing", "texture", FILLED, "texture", false},
    {"cache_sharing", NULL, FILLED, NULL, true},
    {"sm_misses", "l1", UNKNOWN, "global_cg", false},
    {"sm_misses", "readonly", UNKNOWN, "global_cg", false},
    {"sm_misses", "texture", UNKNOWN, "global_cg", false},
};

/* Reasons that are no parameters. */
enum reason {
    NO_REASON,
    OUTLIER,  /* the latency is none of any answer */
    OVERLAP,  /* the latencies of all answers overlap */
    LAUNCH,   /* what the level held before the launch */
    FOREIGN,  /* a set that is just full misses: the kernel has a line of its own there */
    BETWEEN,  /* of two levels that may answer: nearer or farther than either was seen to be */
    FULL,     /* the data store is full, and its sets lose lines in turn */
    ORDER,    /* the loads before the record */
    UNSHOWN,  /* lines of loads before the record, of which only the strides are known */
    FETCHED,  /* what runs ahead of loads in order may have brought the line */
    CROSSED,  /* which loads went another way */
    NO_MODEL, /* the path is not modelled */
    NO_L2,    /* what answers behind the last cache that is known */
    NO_DRAM,  /* what takes longer than the last cache is not known */
    NO_TLB,   /* nor is what translation adds */
    VICTIM,   /* which entry of a TLB makes room: its policy is not stated */
    CARVED,   /* what L1 holds beside a carve-out */
    SECTORS,  /* what of a line comes with a miss */
    FIRST_PARAMETER
};

static const char *const reason_names[FIRST_PARAMETER] = {
    "",
    "latency (of no level)",
    "latency (levels overlap)",
    "contents before the launch",
    "a line of the kernel's own",
    "latency (between two levels)",
    "order in which the sets of a full L1 lose lines",
    "order of the warm-up loads",
    "lines that the record does not show",
    "lines fetched ahead",
    "path of the warm-up loads",
    "path",
    "l2.latency_cycles",
    "dram.latency_cycles",
    "tlb_l1.penalty_cycles",
    "policy of the TLBs",
    "l1.carveout_size_bytes",
    "sector_bytes",
};

struct band {
    double low, high;
};

/*
 * A path's answers: answer c * TLBS_MAX + t is level c with t TLB levels missed. Levels are the
 * path's caches, then L2's other half where it may answer, then DRAM.
 */
struct route {
    bool is_ready;
    bool has_l2;         /* else another cache may lie behind the last one that is known */
    bool has_far;        /* constants have no copy in the near half before their first load */
    size_t dram;         /* its level; there need be none */
    size_t levels, tlbs; /* DRAM and missing all TLBs included */
    struct band bands[ANSWERS_MAX];
    uint32_t near_of[ANSWERS_MAX]; /* answers whose bands overlap this one's */
    uint32_t behind[LEVELS_MAX];   /* answers that look like what a miss in a cache takes */
    uint32_t all;
    uint32_t answers[CYCLES_MAX]; /* by latency */
};

/* Where the caches find a word: an array may be one block that is mapped over and over. */
static uint64_t line_address(const struct pb_point *point, uint64_t offset_bytes)
{
    return point->base_address +
           (point->alias_bytes > 0 ? offset_bytes % point->alias_bytes : offset_bytes);
}

/* What one load must be answered by, and why it is not one answer. */
struct prediction {
    uint32_t answers;
    uint32_t set; /* of the first cache, while settle() decides by it */
    uint8_t reason;
    bool is_open; /* a cache had to choose a victim, and how it does is not known */
    /* Chance alone decides: whether the cache at depth drawn_depth - 1 hits. 0: it does not. */
    uint8_t drawn_depth;
    bool is_drawn_miss; /* in the model */
    bool is_settled;    /* the same in every pass that is compared: see settle() */
    bool is_evicted;    /* a TLB lacks it, by LRU */
    bool can_fail;      /* nothing is open, and a latency could show that the answers are wrong */
    uint32_t sure;      /* answers, where a latency of theirs surely agrees */
    uint32_t excused;   /* answers that do not contradict: what decides on them is not known */
};

struct spread {
    double below, above; /* cycles around the median */
};

/* A set of a level, and how many lines of a chase belong to it. */
struct chased_set {
    uint32_t ways, lines;
};

struct pb_replay {
    const struct pb_model_hierarchy *hierarchy;
    struct pb_model_cache *caches[PB_MODEL_CACHES_MAX], *tlbs[PB_MODEL_TLBS_MAX];
    uint64_t fits[PB_MODEL_CACHES_MAX]; /* bytes that caches[i] was made for */
    struct chased_set *cache_sets[PB_MODEL_CACHES_MAX], *tlb_sets[PB_MODEL_TLBS_MAX]; /* of each */
    struct route routes[PB_MODEL_PATH_COUNT];
    struct spread l2_spread; /* NaN: not seen */
    bool fetches_again;      /* L2 runs ahead of loads that it has seen before, too */
    double dram_least;       /* least cycles of DRAM loads, outliers aside; NaN: not seen */
    char reasons[PB_REASONS_MAX][PB_TEXT_LENGTH];
    size_t reason_count;
    uint8_t cache_reasons[PB_MODEL_CACHES_MAX], tlb_reasons[PB_MODEL_TLBS_MAX];
    struct pb_sequence sequence;    /* of the point under way */
    struct prediction *predictions; /* [prediction_room] of a period */
    size_t prediction_room;
    uint32_t *misses; /* [miss_room] contradicted hits by set of the first cache */
    size_t miss_room;
};

/* Reasons */

static uint8_t reason_of(struct pb_replay *replay, const char *name)
{
    for (size_t i = FIRST_PARAMETER; i < replay->reason_count; i++)
        if (strcmp(replay->reasons[i], name) == 0)
            return (uint8_t)i;
    if (replay->reason_count == PB_REASONS_MAX)
        return (uint8_t)(PB_REASONS_MAX - 1);
    PB_TEXT_SET(replay->reasons[replay->reason_count], name);
    return (uint8_t)replay->reason_count++;
}

const char *pb_replay_reason(const struct pb_replay *replay, size_t reason)
{
    return replay->reasons[reason];
}

/* What a lookup of the level is uncertain for. */
static uint8_t reason_of_level(struct pb_replay *replay, const struct pb_model_level *level)
{
    char name[PB_TEXT_LENGTH];

    if (level->missing[0] != '\0')
        PB_TEXT_SET(name, level->missing);
    else if (level->shape.policy == PB_MODEL_RANDOM || level->shape.policy == PB_MODEL_WEIGHTED)
        snprintf(name, sizeof(name), "%.31s.policy (random replacement)", level->memory);
    else
        snprintf(name, sizeof(name), "%.31s.%s", level->memory,
                 level->is_tlb ? "reach_bytes" : "size_bytes");
    return reason_of(replay, name);
}

static void name_reasons(struct pb_replay *replay)
{
    const struct pb_model_hierarchy *hierarchy = replay->hierarchy;

    replay->reason_count = FIRST_PARAMETER;
    for (size_t i = 0; i < FIRST_PARAMETER; i++)
        PB_TEXT_SET(replay->reasons[i], reason_names[i]);
    for (size_t i = 0; i < hierarchy->cache_count; i++)
        replay->cache_reasons[i] = reason_of_level(replay, &hierarchy->caches[i]);
    for (size_t i = 0; i < hierarchy->tlb_count; i++)
        replay->tlb_reasons[i] = reason_of_level(replay, &hierarchy->tlbs[i]);
}

/* Latencies of answers */

static struct band band_around(struct pb_model_latency latency, struct spread spread)
{
    double below = spread.below, above = spread.above;

    if (isnan(below)) {
        below = assumed_spread * latency.cycles;
        above = below;
    }
    return (struct band){latency.low - below - margin_cycles, latency.high + above + margin_cycles};
}

/*
 * Of the cache at that depth of a path: what misses the cache before it shows costs more or less
 * than L2's own path does (textures).
 */
static struct band band_of_level(const struct pb_replay *replay, const struct pb_model_route *way,
                                 size_t depth)
{
    const struct pb_model_hierarchy *hierarchy = replay->hierarchy;
    const struct pb_model_level *level = &hierarchy->caches[way->caches[depth]];
    static const struct spread none = {1.0, 1.0};
    struct band band = band_around(level->latency, level->is_chip_wide ? replay->l2_spread : none);

    if (level->is_chip_wide && depth > 0) {
        const struct pb_model_level *before = &hierarchy->caches[way->caches[depth - 1]];
        struct band missed = band_around(before->miss_latency, replay->l2_spread);

        band.low = fmin(band.low, missed.low);
        band.high = fmax(band.high, missed.high);
    }
    return band;
}

/*
 * Of a load that the cache at that depth answers in its other half: the near answer, and the way
 * across.
 */
static struct band band_of_far_half(const struct pb_replay *replay,
                                    const struct pb_model_route *way, size_t depth)
{
    double across = replay->hierarchy->caches[way->caches[depth]].crossing_cycles;
    struct band near = band_of_level(replay, way, depth);

    return (struct band){near.low + across, near.high + across};
}

/* Does the path's last cache have halves, of which either may answer? */
static bool has_far_half(const struct pb_model_hierarchy *hierarchy, enum pb_model_path path)
{
    const struct pb_model_route *way = &hierarchy->routes[path];
    const struct pb_model_level *last = &hierarchy->caches[way->caches[way->count - 1]];

    return path == PB_MODEL_CONSTANT && last->is_chip_wide && last->crossing_cycles > 0.0;
}

static struct band band_of_dram(const struct pb_replay *replay)
{
    double low = band_around(replay->hierarchy->dram, replay->l2_spread).low;

    return (struct band){fmin(low, replay->dram_least - replay->l2_spread.below), INFINITY};
}

static void overlap_bands(struct route *route)
{
    for (size_t a = 0; a < ANSWERS_MAX; a++) {
        if ((route->all >> a & 1) == 0)
            continue;
        for (size_t b = 0; b < ANSWERS_MAX; b++)
            if ((route->all >> b & 1) != 0 && route->bands[a].low <= route->bands[b].high &&
                route->bands[b].low <= route->bands[a].high)
                route->near_of[a] |= UINT32_C(1) << b;
        for (size_t cycles = 0; cycles < CYCLES_MAX; cycles++)
            if ((double)cycles >= route->bands[a].low && (double)cycles <= route->bands[a].high)
                route->answers[cycles] |= UINT32_C(1) << a;
    }
}

/*
 * What a hit in an SM's cache costs while TLBs are missed is not the sum of both: a Fermi's takes
 * 261 cycles more (M16 5.2, figure 14). It takes no longer than the next cache's hit.
 */
static void widen_translated_hits(const struct pb_replay *replay, const struct pb_model_route *way,
                                  struct route *route)
{
    for (size_t c = 0; c + 1 < route->levels && c < way->count; c++) {
        if (replay->hierarchy->caches[way->caches[c]].is_chip_wide)
            return;
        for (size_t t = 1; t < route->tlbs; t++) {
            struct band *band = &route->bands[c * TLBS_MAX + t];

            band->high = fmax(band->high, route->bands[(c + 1) * TLBS_MAX + t].high);
        }
    }
}

/*
 * What answers a miss in each cache of the path: the levels behind it, and caches that are no level
 * of the model, as late as any miss was answered.
 */
static void look_behind(const struct pb_replay *replay, const struct pb_model_route *way,
                        struct route *route)
{
    for (size_t c = 0; c < way->count; c++) {
        const struct pb_model_level *level = &replay->hierarchy->caches[way->caches[c]];
        struct band missed = band_around(level->miss_latency, replay->l2_spread);

        route->behind[c] = route->all & UINT32_MAX << ((c + 1) * TLBS_MAX);
        for (size_t a = 0; a < ANSWERS_MAX; a++)
            if ((route->all >> a & 1) != 0 && route->bands[a].low <= missed.high &&
                missed.low <= route->bands[a].high && route->bands[a].high > missed.high)
                route->behind[c] |= UINT32_C(1) << a;
    }
}

static void make_route(struct pb_replay *replay, enum pb_model_path path)
{
    const struct pb_model_hierarchy *hierarchy = replay->hierarchy;
    const struct pb_model_route *way = &hierarchy->routes[path];
    struct route *route = &replay->routes[path];

    memset(route, 0, sizeof(*route));
    route->is_ready = true;
    route->has_l2 = way->count == 0 || hierarchy->caches[way->caches[way->count - 1]].is_chip_wide;
    route->has_far = has_far_half(hierarchy, path);
    route->dram = way->count + route->has_far;
    route->levels = route->dram + !isnan(hierarchy->dram.cycles);
    route->tlbs = 1 + (path == PB_MODEL_CONSTANT ? 0 : hierarchy->tlb_count);
    for (size_t c = 0; c < route->levels; c++) {
        struct band band;

        if (c < way->count)
            band = band_of_level(replay, way, c);
        else
            band = c == route->dram ? band_of_dram(replay)
                                    : band_of_far_half(replay, way, way->count - 1);
        for (size_t t = 0; t < route->tlbs; t++) {
            if (t > 0) {
                band.low += hierarchy->tlbs[t - 1].latency.low - 1.0;
                band.high += hierarchy->tlbs[t - 1].latency.high + 1.0;
            }
            route->bands[c * TLBS_MAX + t] = band;
            if (t > 0 && t + 1 == route->tlbs) /* what lies behind the last level is not known */
                route->bands[c * TLBS_MAX + t].high = INFINITY;
            route->all |= UINT32_C(1) << (c * TLBS_MAX + t);
        }
    }
    widen_translated_hits(replay, way, route);
    overlap_bands(route);
    look_behind(replay, way, route);
}

static inline uint32_t answers_of(const struct route *route, double cycles)
{
    if (!(cycles >= 0.0))
        return 0;
    return route->answers[cycles < CYCLES_MAX - 1 ? (int)(cycles + 0.5) : CYCLES_MAX - 1];
}

/* Could a latency have shown that these answers are wrong? */
static bool can_fail(const struct route *route, uint32_t answers)
{
    uint32_t reach = 0;

    for (uint32_t left = answers; left != 0; left &= left - 1)
        reach |= route->near_of[__builtin_ctz(left)];
    return (route->all & ~reach) != 0;
}

/* Caches */

/* The level's cache and its sets; none where its shape is not known: it is open then. */
static enum pb_status open_level(const struct pb_model_level *level, uint64_t fits_bytes,
                                 struct pb_model_cache **cache, struct chased_set **sets,
                                 struct pb_error *err)
{
    size_t count;
    enum pb_status status =
        pb_model_level_open(level, fits_bytes, PB_MODEL_UNCERTAIN, 1, cache, err);

    if (status != PB_OK)
        return status == PB_NOT_FOUND ? PB_OK : status;
    count = pb_model_cache_sets(*cache);
    free(*sets);
    *sets = calloc(count, sizeof(**sets));
    if (*sets == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu sets", count);
    for (size_t i = 0; i < count; i++)
        (*sets)[i].ways = (uint32_t)pb_model_cache_ways(*cache, i);
    return PB_OK;
}

static enum pb_status open_cache(struct pb_replay *replay, size_t i, uint64_t carveout_bytes,
                                 struct pb_error *err)
{
    const struct pb_model_level *level = &replay->hierarchy->caches[i];
    uint64_t fits = pb_model_level_fits(replay->hierarchy, level, carveout_bytes);

    if (replay->caches[i] != NULL && replay->fits[i] == fits) {
        pb_model_cache_clear(replay->caches[i]);
        return PB_OK;
    }
    pb_model_cache_destroy(replay->caches[i]);
    replay->caches[i] = NULL;
    replay->fits[i] = fits;
    return open_level(level, fits, &replay->caches[i], &replay->cache_sets[i], err);
}

static enum pb_status open_tlb(struct pb_replay *replay, size_t i, struct pb_error *err)
{
    const struct pb_model_level *level = &replay->hierarchy->tlbs[i];

    if (replay->tlbs[i] != NULL) {
        pb_model_cache_clear(replay->tlbs[i]);
        return PB_OK;
    }
    return open_level(level, level->fits_bytes, &replay->tlbs[i], &replay->tlb_sets[i], err);
}

static enum pb_status begin_launch(struct pb_replay *replay, const struct pb_model_route *way,
                                   uint64_t carveout_bytes, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t c = 0; c < way->count && status == PB_OK; c++)
        status = open_cache(replay, way->caches[c], carveout_bytes, err);
    for (size_t i = 0; i < replay->hierarchy->tlb_count && status == PB_OK; i++)
        status = open_tlb(replay, i, err);
    return status;
}

/*
 * What one level says of a load. Where victims are drawn, the model draws its own: what it found is
 * what may happen as well.
 */
enum finding {
    HITS,
    MISSES,
    OPEN_LAUNCH,
    OPEN_PARAMETER,
    OPEN_FETCHED,
    DRAWN_HIT,
    DRAWN_MISS,
};

/* Loads of a chase that chance decides. */
struct draws {
    uint64_t accesses, open; /* whose latency shows how, and those where it does not */
    uint64_t expected, seen; /* missed in the model, and by their latencies */
    size_t depth;            /* of the cache, on the path */
};

/* A cache or TLB level as the loads of a launch meet it. */
struct stage {
    const struct pb_model_level *level;
    struct pb_model_cache *cache; /* NULL: its shape is not known */
    enum preparation before;      /* what it held when the launch began */
    uint8_t reason;               /* what its lookups are uncertain for */
    bool is_scattered;            /* its sets are not known, and the chase may overflow them; */
    uint8_t expected;             /* its hits are, but not sure: why; NO_REASON: they are sure */
    bool is_roomy;                /* or hold all of the chase's lines: it need not run */
    bool is_drawn;                /* victims are, and by the lines of its sets alone */
    bool is_unsettling;           /* what misses it in one pass need not miss it in the next one */
    bool is_fresh;           /* each load is of another line, and all find room: none is there */
    struct chased_set *sets; /* by the lines of the chase in them, a settled level decides */
    uint64_t last_sector;    /* of a settled one: number of the last one looked up */
    bool is_counted;         /* the lines of its sets are those of all loads */
    bool is_settled;         /* its cache need not run, but for sets that must_run() says */
    bool is_open;            /* of a settled one: all that is looked up */
    bool is_held;            /* all of the chase's lines, by a settled one */
};

/* One chase under way. */
struct launch {
    struct pb_replay *replay;
    const struct pb_model_route *way;
    const struct route *route;
    struct stage caches[PB_MODEL_DEPTH_MAX]; /* [way->count] */
    struct stage tlbs[PB_MODEL_TLBS_MAX];    /* [route->tlbs - 1] */
    enum preparation l2;
    uint64_t passes;          /* that are complete */
    uint64_t last, last_line; /* addresses of the load before; UINT64_MAX: none */
    bool is_carved;           /* beside a carve-out of a test of them, whose effect is not known */
    bool is_untranslated;     /* loads far apart, and no TLB is known that they may miss */
    bool is_unsettled;        /* this pass found what the next one need not find */
    bool is_loaded;           /* all slots were loaded before, in this launch */
    struct draws draws;
    bool is_settled; /* no load needs a cache to run */
    bool is_partly_settled;
    uint64_t evicted, kept; /* loads that a TLB should miss, and those that did not */
    uint64_t lost;          /* contradicted hits of the first cache */
    uint64_t lost_line;     /* of which they are; UINT64_MAX: of several */
};

/* Whose victim is known where passes over more lines than ways are alike; else: not. */
enum victims { OLDEST, ANY, BY_POLICY };

static enum victims victims_of(const struct pb_model_level *level)
{
    if (!level->has_sets || !level->has_policy)
        return ANY;
    return level->shape.policy == PB_MODEL_LRU ? OLDEST : BY_POLICY;
}

static inline const struct chased_set *set_of(const struct stage *stage, uint64_t address)
{
    return &stage->sets[pb_model_cache_set(stage->cache, address)];
}

/* Must the cache of a settled level run for that load? */
static inline bool must_run(const struct stage *stage, const struct chased_set *set)
{
    return set->lines > set->ways && victims_of(stage->level) == BY_POLICY;
}

/* What a level finds in passes alike, where the lines in its sets decide: see settle(). */
static enum finding look_up_settled(struct stage *stage, const struct chased_set *set,
                                    uint64_t address)
{
    uint64_t sector;
    bool is_again;

    if (set->lines <= set->ways)
        return HITS;
    if (victims_of(stage->level) == ANY && set->ways > 0)
        return OPEN_PARAMETER;
    sector = pb_model_cache_sector(stage->cache, address);
    is_again = sector == stage->last_sector;
    stage->last_sector = sector;
    return is_again && set->ways > 0 ? HITS : MISSES;
}

/* What a level held before shows in the first pass only: later misses are of what was evicted. */
static inline enum finding look_up(const struct launch *launch, struct stage *stage,
                                   uint64_t address)
{
    bool is_hit = false, is_certain = true;

    if (stage->is_roomy)
        return stage->is_scattered ? OPEN_PARAMETER : launch->passes > 0 ? HITS : OPEN_LAUNCH;
    if (stage->cache == NULL || (stage->is_settled && stage->is_open))
        return OPEN_PARAMETER;
    if (stage->is_settled) {
        const struct chased_set *set = stage->is_held ? NULL : set_of(stage, address);

        if (set == NULL)
            return HITS;
        if (!must_run(stage, set))
            return look_up_settled(stage, set, address);
    }
    if (!stage->is_fresh)
        is_hit = pb_model_cache_touch(stage->cache, address, &is_certain);
    if (!is_certain)
        return !stage->is_drawn ? OPEN_PARAMETER : is_hit ? DRAWN_HIT : DRAWN_MISS;
    if (is_hit)
        return stage->is_scattered ? OPEN_PARAMETER : HITS;
    if (launch->passes > 0 || stage->before == FLUSHED)
        return stage->is_scattered && launch->passes > 0 ? OPEN_PARAMETER : MISSES;
    if (stage->before == UNKNOWN)
        return OPEN_LAUNCH;
    return stage->is_scattered ? OPEN_PARAMETER : HITS;
}

/* The entry used last is there, and stays the newest. */
static inline bool is_last_entry(const struct launch *launch, uint64_t address)
{
    const struct pb_model_level *first = launch->tlbs[0].level; /* NULL: the route has none */
    uint64_t span = first == NULL ? 0 : first->shape.line_bytes;

    return span > 0 && ((address ^ launch->last) & ~(span - 1)) == 0 &&
           !launch->tlbs[0].is_scattered;
}

/*
 * TLB levels that may have been missed, as bits. *kept_out: those that were, but by another policy
 * need not be; none is stated.
 */
static uint32_t translate(struct launch *launch, uint64_t address, uint8_t *reason,
                          uint32_t *kept_out)
{
    uint32_t missed = 0;
    size_t t = 0;

    if (is_last_entry(launch, address))
        return 1;
    for (; t + 1 < launch->route->tlbs; t++) {
        struct stage *stage = &launch->tlbs[t];
        enum finding found = look_up(launch, stage, address);

        if (found == OPEN_LAUNCH && *reason == NO_REASON)
            *reason = LAUNCH;
        if (found == OPEN_PARAMETER && *reason == NO_REASON)
            *reason = stage->reason;
        if (found != MISSES)
            missed |= UINT32_C(1) << t;
        else
            launch->is_unsettled |= stage->is_unsettling;
        if (found == MISSES && launch->passes > 0)
            *kept_out |= UINT32_C(1) << t;
        if (found == HITS)
            return missed;
    }
    return missed | UINT32_C(1) << t;
}

/* May what runs ahead of loads in order have brought the line? */
static bool is_fetched(const struct launch *launch, const struct pb_model_level *level,
                       uint64_t address)
{
    return level->prefetch_bytes > 0 && address > launch->last_line &&
           address - launch->last_line <= AHEAD_BYTES &&
           (launch->replay->fetches_again || !launch->is_loaded);
}

static inline enum finding ask_cache(const struct launch *launch, struct stage *stage,
                                     uint64_t address)
{
    enum finding found = look_up(launch, stage, address);

    if ((found == MISSES || found >= DRAWN_HIT) && is_fetched(launch, stage->level, address))
        return OPEN_FETCHED;
    return found;
}

/* What answers when the cache at that depth hits: of L2's halves it may be either. */
static uint32_t levels_of(const struct launch *launch, size_t depth)
{
    bool has_two = launch->route->has_far && depth + 1 == launch->way->count;

    return (has_two ? UINT32_C(3) : UINT32_C(1)) << depth;
}

/*
 * A hit of the cache at that depth may be no more than expected: that a later one answers does not
 * contradict then. What a pass loaded is there in the next one, by whatever sectors.
 */
static void excuse_behind(const struct launch *launch, size_t depth, struct prediction *prediction)
{
    uint8_t reason = launch->caches[depth].expected;

    if (reason == NO_REASON || (reason == SECTORS && launch->passes > 0))
        return;
    prediction->excused = launch->route->behind[depth];
    if (prediction->reason == NO_REASON)
        prediction->reason = reason;
}

/* The levels of caches that may answer, as bits, and what is uncertain of them. */
static uint32_t ask_caches(struct launch *launch, uint64_t address, struct prediction *prediction)
{
    size_t count = launch->way->count;
    uint32_t levels = 0;

    for (size_t c = 0; c < count; c++) {
        enum finding found = ask_cache(launch, &launch->caches[c], address);

        if (found == MISSES) {
            launch->is_unsettled |= launch->caches[c].is_unsettling;
            continue;
        }
        levels |= levels_of(launch, c);
        if (found == HITS) {
            excuse_behind(launch, c, prediction);
            return levels;
        }
        if (found == DRAWN_HIT || found == DRAWN_MISS) {
            if (prediction->drawn_depth == 0 && !prediction->is_open) {
                prediction->drawn_depth = (uint8_t)(c + 1);
                prediction->is_drawn_miss = found == DRAWN_MISS;
            }
            launch->is_unsettled = true; /* the next pass is drawn anew */
        }
        if (found >= OPEN_PARAMETER) {
            prediction->is_open = true;
            prediction->reason = found == OPEN_FETCHED ? FETCHED : launch->caches[c].reason;
        }
        if (found == OPEN_LAUNCH && prediction->reason == NO_REASON)
            prediction->reason = LAUNCH;
    }
    return levels | UINT32_C(1) << launch->route->dram;
}

/* page, line: the address as TLBs and as caches see it. */
static void predict(struct launch *launch, uint64_t page, uint64_t line,
                    struct prediction *prediction_out)
{
    uint32_t levels, missed = 1, kept = 0, answers = 0, excused = 0;

    *prediction_out = (struct prediction){.reason = NO_REASON};
    if (launch->route->tlbs > 1)
        missed = translate(launch, page, &prediction_out->reason, &kept);
    for (levels = ask_caches(launch, line, prediction_out); levels != 0; levels &= levels - 1) {
        size_t level = (size_t)__builtin_ctz(levels);
        bool may_skip = level + 1 < launch->way->count; /* an L1 may ask no TLB when it hits */

        answers |= (missed | may_skip) << (level * TLBS_MAX);
        excused |= kept << (level * TLBS_MAX);
    }
    if (launch->is_untranslated)
        excused |= UINT32_MAX << (launch->route->dram * TLBS_MAX);
    if (excused != 0 && prediction_out->reason == NO_REASON)
        prediction_out->reason = kept != 0 ? VICTIM : NO_TLB;
    if (!launch->route->has_l2 && (answers >> (launch->route->dram * TLBS_MAX)) != 0) {
        excused |= launch->route->behind[launch->way->count - 1];
        if (prediction_out->reason == NO_REASON)
            prediction_out->reason = NO_L2;
    }
    prediction_out->excused |= excused;
    prediction_out->is_evicted = kept != 0;
    prediction_out->answers = answers & launch->route->all;
    if (prediction_out->answers != answers && launch->way->count > 0) {
        /* it may be DRAM's, which may be as fast as L2 */
        prediction_out->excused |= UINT32_MAX << ((launch->way->count - 1) * TLBS_MAX);
        if (prediction_out->reason == NO_REASON)
            prediction_out->reason = NO_DRAM;
        if (prediction_out->drawn_depth == launch->way->count)
            prediction_out->drawn_depth = 0;
    }
    prediction_out->can_fail =
        !prediction_out->is_open && can_fail(launch->route, prediction_out->answers);
    if (prediction_out->can_fail && prediction_out->drawn_depth == 0)
        prediction_out->sure = prediction_out->answers;
}

static void clear_lines(struct stage *stage)
{
    size_t count = pb_model_cache_sets(stage->cache);

    for (size_t i = 0; i < count; i++)
        stage->sets[i].lines = 0;
}

/* Lines of a chase in a level's sets: all, what finds room, and of sets with room for all. */
struct filling {
    size_t lines, room, kept;
};

static struct filling sum_lines(const struct stage *stage)
{
    size_t count = pb_model_cache_sets(stage->cache);
    struct filling sum = {0, 0, 0};

    for (size_t i = 0; i < count; i++) {
        size_t ways = stage->sets[i].ways, lines = stage->sets[i].lines;

        sum.lines += lines;
        sum.room += lines < ways ? lines : ways;
        sum.kept += lines > ways ? 0 : lines;
    }
    return sum;
}

/* Comparing */

static void count_undetermined(struct pb_agreement_counts *counts, uint64_t accesses, size_t reason)
{
    counts->accesses += accesses;
    counts->undetermined += accesses;
    counts->by_reason[reason] += accesses;
}

/* Does a latency lie between those of the levels that were left open? */
static bool is_between(const struct route *route, const struct prediction *prediction,
                       double cycles)
{
    double low = INFINITY, high = 0.0;

    for (uint32_t left = prediction->answers; left != 0; left &= left - 1) {
        low = fmin(low, route->bands[__builtin_ctz(left)].low);
        high = fmax(high, route->bands[__builtin_ctz(left)].high);
    }
    return prediction->is_open && low <= cycles && cycles <= high;
}

/* Is the load one that chance decides, and does its latency show how? */
static bool count_drawn(struct launch *launch, const struct prediction *prediction, uint32_t seen)
{
    struct draws *draws = &launch->draws;
    bool is_last = prediction->drawn_depth == launch->way->count;
    size_t levels = is_last ? launch->route->dram : prediction->drawn_depth;
    uint32_t hits = (UINT32_C(1) << (levels * TLBS_MAX)) - 1;
    uint32_t possible = seen & prediction->answers;

    if (possible == 0)
        return false;
    draws->expected += prediction->is_drawn_miss;
    if ((possible & hits) != 0 && (possible & ~hits) != 0) {
        draws->open++;
        return false;
    }
    draws->accesses++;
    draws->seen += (possible & hits) == 0;
    draws->depth = prediction->drawn_depth - 1U;
    return true;
}

/* True when it contradicts; of loads that do not plainly agree. */
static bool compare_open(struct launch *launch, const struct prediction *prediction, double cycles,
                         uint32_t seen, struct pb_agreement_counts *counts)
{
    if (prediction->drawn_depth > 0 && count_drawn(launch, prediction, seen))
        return false; /* settle_draws() counts it */
    if ((seen & (prediction->answers | prediction->excused)) == 0 && seen != 0 &&
        !is_between(launch->route, prediction, cycles)) {
        counts->accesses++;
        counts->contradicted++;
        return true;
    }
    if ((seen & prediction->excused) != 0 && (seen & prediction->answers) == 0) {
        count_undetermined(counts, 1, prediction->reason);
        launch->kept += prediction->reason == VICTIM;
    } else if ((seen & prediction->answers) == 0)
        count_undetermined(counts, 1, seen == 0 ? OUTLIER : BETWEEN);
    else if (!prediction->can_fail)
        count_undetermined(counts, 1,
                           prediction->reason != NO_REASON ? prediction->reason : OVERLAP);
    else {
        counts->accesses++;
        counts->agreed++;
    }
    return false;
}

/* True when it contradicts. */
static inline bool compare(struct launch *launch, const struct prediction *prediction,
                           double cycles, struct pb_agreement_counts *counts)
{
    uint32_t seen = answers_of(launch->route, cycles);

    launch->evicted += prediction->is_evicted;
    if ((seen & prediction->sure) == 0)
        return compare_open(launch, prediction, cycles, seen, counts);
    counts->accesses++;
    counts->agreed++;
    return false;
}

/* Only the first cache may answer. */
static bool is_first_hit(const struct prediction *prediction)
{
    return prediction->answers >> TLBS_MAX == 0;
}

/*
 * Contradicted hits by set of the path's first cache: a kernel has a line or two of its own, of
 * arguments or of what it records, and they lie in some set.
 */
static enum pb_status begin_sets(struct pb_replay *replay, const struct pb_model_level *level,
                                 struct pb_error *err)
{
    size_t sets = level->has_sets && !level->is_chip_wide ? level->shape.set_count : 0;
    uint32_t *larger;

    if (sets > replay->miss_room) {
        larger = realloc(replay->misses, sets * sizeof(*larger));
        if (larger == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu sets", sets);
        replay->misses = larger;
        replay->miss_room = sets;
    }
    if (sets > 0)
        memset(replay->misses, 0, sets * sizeof(*replay->misses));
    return PB_OK;
}

/* A contradicted hit of the path's first cache. */
static void count_lost(struct launch *launch, uint64_t address)
{
    struct stage *first = &launch->caches[0];
    uint64_t line;

    if (first->cache == NULL)
        return;
    line = pb_model_cache_line(first->cache, address);
    launch->lost_line = launch->lost == 0 || launch->lost_line == line ? line : UINT64_MAX;
    launch->lost++;
    if (first->level->has_sets && !first->level->is_chip_wide)
        launch->replay->misses[pb_model_cache_set(first->cache, address)]++;
}

/* Contradicted hits that have another reason than the parameters. */
static void excuse(struct launch *launch, uint64_t accesses, enum reason reason,
                   struct pb_agreement_counts *counts)
{
    counts->contradicted -= accesses;
    counts->undetermined += accesses;
    counts->by_reason[reason] += accesses;
    launch->lost -= accesses;
}

/* Different lines of the chase by set of the path's first cache, which is known. */
static enum pb_status count_first_lines(struct stage *stage, const struct pb_point *point,
                                        const struct pb_sequence *sequence, struct pb_error *err)
{
    double *lines;
    size_t shift = (size_t)__builtin_ctzll(stage->level->shape.line_bytes);

    if (stage->is_counted)
        return PB_OK;
    lines = malloc(sequence->period * sizeof(*lines));
    if (lines == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", sequence->period);
    for (size_t i = 0; i < sequence->period; i++)
        lines[i] = (double)(line_address(point, sequence->offset_bytes[i]) >> shift);
    pb_sort(lines, sequence->period);
    clear_lines(stage);
    for (size_t i = 0; i < sequence->period; i++)
        if (i == 0 || lines[i - 1] != lines[i])
            stage->sets[pb_model_cache_set(stage->cache, (uint64_t)lines[i] << shift)].lines++;
    free(lines);
    stage->is_counted = true;
    return PB_OK;
}

/*
 * Of one set that is just full, contradicted hits say no more than that somebody else is in it; so
 * do those of one single line where the sets are not known.
 */
static enum pb_status excuse_foreign(struct launch *launch, const struct pb_point *point,
                                     const struct pb_sequence *sequence,
                                     struct pb_agreement_counts *counts, struct pb_error *err)
{
    const struct pb_replay *replay = launch->replay;
    struct stage *first = &launch->caches[0];
    const struct pb_model_level *level = first->level;
    enum pb_status status;
    size_t worst = 0;

    if (first->cache == NULL || launch->lost == 0 || level->is_chip_wide)
        return PB_OK;
    if (!level->has_sets) {
        if (launch->lost_line != UINT64_MAX)
            excuse(launch, launch->lost, FOREIGN, counts);
        return PB_OK;
    }
    for (size_t set = 1; set < level->shape.set_count; set++)
        worst = replay->misses[set] > replay->misses[worst] ? set : worst;
    if (replay->misses[worst] == 0)
        return PB_OK;
    status = count_first_lines(first, point, sequence, err);
    if (status == PB_OK && first->sets[worst].lines == first->sets[worst].ways &&
        first->sets[worst].ways <= JUST_FULL_MAX)
        excuse(launch, replay->misses[worst], FOREIGN, counts);
    return status;
}

/*
 * How many of the lines must be brought in in each pass, whatever the policy: more than the sets
 * have ways.
 */
static uint64_t count_surplus(const struct pb_replay *replay, size_t cache,
                              const struct stage *stage)
{
    const struct pb_model_level *level = stage->level;
    uint64_t most =
        replay->fits[cache] < level->fits_bytes ? replay->fits[cache] : level->most_bytes;
    uint64_t holds = most / level->shape.line_bytes, surplus = 0;
    struct filling sum = sum_lines(stage);

    holds += holds / PB_MODEL_SLACK;
    if (most > 0 && sum.lines > holds)
        surplus = sum.lines - holds;
    if (!level->has_sets || level->is_chip_wide || sum.lines - sum.room < surplus)
        return surplus;
    return sum.lines - sum.room;
}

/*
 * Open accesses of the path's first cache: which of them miss is not known, but of n lines in w
 * ways, n - w come in every pass, each with a miss of its own or ahead of another one's. What is
 * lacking of these misses contradicts.
 */
static enum pb_status demand_misses(struct launch *launch, const struct pb_point *point,
                                    const struct pb_sequence *sequence,
                                    const struct pb_accesses *accesses,
                                    struct pb_agreement_counts *counts, struct pb_error *err)
{
    const struct pb_replay *replay = launch->replay;
    size_t cache = launch->way->caches[0];
    const struct pb_model_level *level = &replay->hierarchy->caches[cache];
    uint64_t passes = accesses->count / sequence->period, missed = 0, at_once = 1, lacking;
    uint32_t misses =
        UINT32_MAX << TLBS_MAX | (launch->route->has_l2 ? 0 : launch->route->behind[0]);
    enum pb_status status;

    if (passes == 0 || level->shape.line_bytes == 0 || replay->caches[cache] == NULL)
        return PB_OK;
    for (size_t i = 0; i < accesses->count; i++) {
        uint32_t seen = answers_of(launch->route, pb_access_cycles(accesses, i));

        missed += seen == 0 || (seen & misses) != 0; /* as far as it may have been one */
    }
    status = count_first_lines(&launch->caches[0], point, sequence, err);
    if (status != PB_OK)
        return status;
    if (sequence->is_ascending && !level->is_chip_wide) /* that one was filled before */
        at_once += level->prefetch_bytes / level->shape.line_bytes;
    lacking = passes * count_surplus(replay, cache, &launch->caches[0]) / at_once;
    lacking = lacking > missed ? lacking - missed : 0;
    if (lacking > counts->by_reason[replay->cache_reasons[cache]])
        lacking = counts->by_reason[replay->cache_reasons[cache]];
    counts->by_reason[replay->cache_reasons[cache]] -= lacking;
    counts->undetermined -= lacking;
    counts->contradicted += lacking;
    return PB_OK;
}

/* Where a TLB keeps all that LRU would have evicted, it is no other policy's doing: it contradicts.
 */
static void demand_evictions(const struct launch *launch, struct pb_agreement_counts *counts)
{
    uint64_t lacking = launch->kept == launch->evicted ? launch->kept : 0;

    counts->by_reason[VICTIM] -= lacking;
    counts->undetermined -= lacking;
    counts->contradicted += lacking;
}

static const struct habit *find_habit(const char *test, const char *phase)
{
    for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++)
        if (strcmp(habits[i].test, test) == 0 &&
            (habits[i].phase == NULL || strncmp(habits[i].phase, phase, PB_NAME_LENGTH) == 0))
            return &habits[i];
    return NULL;
}

/* Two families prepare L2 by the path: what comes from DRAM past L1, comes from L2 through it. */
static enum preparation former_preparation(const char *test, const struct pb_point *point)
{
    const struct habit *habit = find_habit(test, point->phase);
    bool is_past_l1 = strcmp(point->path, "global_cg") == 0;

    if (strcmp(test, "prefetch") == 0)
        return is_past_l1 ? FLUSHED : FILLED;
    return habit != NULL ? habit->l2 : UNKNOWN;
}

static enum preparation preparation_of(const char *test, const struct pb_point *point)
{
    if (point->slots == 0)
        return former_preparation(test, point);
    return point->is_prefilled != 0 ? FILLED : point->is_flushed != 0 ? FLUSHED : UNKNOWN;
}

/* Whether a level of unknown sets holds a chase's lines. */
enum fit { SURELY, AS_EXPECTED, SCATTERED };

/*
 * It holds arrays without gaps, from the first line of the tests' array on: that was seen. A few
 * lines beside one are expected to find room, too, no more than the slack; and a few of an L2's,
 * since it takes physical addresses, which scatter lines over its sets.
 */
static enum fit fit_of(const struct pb_model_level *level, uint64_t fits_bytes,
                       const struct pb_sequence *sequence)
{
    uint64_t line = level->shape.line_bytes;
    uint64_t most = fits_bytes + (level->is_tlb ? 0 : fits_bytes / PB_MODEL_SLACK);
    size_t within = 0;

    if (level->has_sets || line == 0 || sequence->most_bytes < fits_bytes)
        return SURELY;
    if (level->is_chip_wide && sequence->period <= fits_bytes / line / FEW_LINES)
        return AS_EXPECTED;
    for (size_t i = 0; i < sequence->period; i++)
        within += sequence->offset_bytes[i] < most;
    return !level->is_tlb && sequence->period - within <= within / PB_MODEL_SLACK ? AS_EXPECTED
                                                                                  : SCATTERED;
}

/* Holds all lines of the chase in one set, and has seen them before the record: it need not run. */
static bool is_roomy(const struct pb_model_level *level, uint64_t fits_bytes,
                     const struct pb_sequence *sequence)
{
    return !level->has_sets && level->shape.line_bytes > 0 && sequence->warm >= sequence->period &&
           sequence->period <= fits_bytes / level->shape.line_bytes;
}

/* Victims of a known cache are drawn, and by nothing else than the lines of its sets. */
static bool draws_victims(const struct pb_model_level *level, uint64_t fits_bytes)
{
    return level->has_sets && level->has_policy &&
           (level->shape.policy == PB_MODEL_RANDOM || level->shape.policy == PB_MODEL_WEIGHTED) &&
           level->way_counts == NULL && level->shape.line_bytes > 0 &&
           fits_bytes / level->shape.line_bytes >= level->shape.set_count * level->shape.way_count;
}

/*
 * Pass after pass alike, an LRU's level that sees all loads finds from the second pass on what it
 * will always find: so does one that is open wherever a set overflows. What lies behind may see
 * other misses in the pass after, and other policies may need more passes.
 */
static bool is_unsettling(const struct pb_model_level *level, size_t depth)
{
    return depth > 0 || (level->has_policy && level->shape.policy != PB_MODEL_LRU);
}

/* What a cache made for so many bytes holds in any case: tests may differ by a line or two. */
static uint64_t sure_bytes(const struct pb_model_level *level, uint64_t fits_bytes)
{
    return level->sure_bytes > 0 && fits_bytes == level->fits_bytes ? level->sure_bytes
                                                                    : fits_bytes;
}

/*
 * Does the chase fill a store of data that holds fewer lines than the sets have ways? It loses
 * lines of any set then, each of which evicts another one when it comes back.
 */
static bool is_full(const struct pb_model_level *level, uint64_t fits_bytes,
                    const struct pb_sequence *sequence)
{
    uint64_t line = level->shape.line_bytes, holds = sure_bytes(level, fits_bytes);

    return level->has_sets && !level->is_chip_wide && level->way_counts == NULL &&
           holds < level->shape.set_count * level->shape.way_count * line &&
           sequence->period >= holds / line && sequence->most_bytes + line >= holds;
}

/* What the hits of a cache are not sure for. */
static uint8_t expected_for(const struct launch *launch, size_t cache,
                            const struct pb_sequence *sequence, enum fit fit)
{
    const struct pb_model_level *level = &launch->replay->hierarchy->caches[cache];

    if (fit == AS_EXPECTED)
        return launch->replay->cache_reasons[cache];
    if (is_full(level, launch->replay->fits[cache], sequence))
        return FULL;
    if (launch->is_carved && !level->is_chip_wide)
        return CARVED;
    return level->shape.sector_bytes == 0 ? SECTORS : NO_REASON;
}

static struct stage cache_stage(const struct launch *launch, size_t depth,
                                const struct pb_point *point, const struct pb_sequence *sequence)
{
    const struct pb_replay *replay = launch->replay;
    size_t cache = launch->way->caches[depth];
    const struct pb_model_level *level = &replay->hierarchy->caches[cache];
    bool is_unshown = sequence->is_laid_out && level->has_sets;
    /* All slots went through L2 before, of which the record may show some alone. */
    bool is_overfilled =
        level->is_chip_wide && launch->l2 == FILLED && point->footprint_bytes > replay->fits[cache];
    enum fit fit = fit_of(level, replay->fits[cache], sequence);
    bool scattered = is_unshown || is_overfilled || fit == SCATTERED;

    return (struct stage){.level = level,
                          .cache = replay->caches[cache],
                          .sets = replay->cache_sets[cache],
                          .before = level->is_chip_wide ? launch->l2 : FLUSHED,
                          .reason = is_unshown ? UNSHOWN : replay->cache_reasons[cache],
                          .is_scattered = scattered,
                          .expected = expected_for(launch, cache, sequence, fit),
                          .is_roomy = is_roomy(level, replay->fits[cache], sequence),
                          .is_drawn = !scattered && draws_victims(level, replay->fits[cache]),
                          .is_unsettling = is_unsettling(level, depth)};
}

/* is_alone: the launch sees all passes. */
static void set_stages(struct launch *launch, const struct pb_point *point,
                       const struct pb_sequence *sequence, enum preparation tlbs, bool is_alone)
{
    const struct pb_replay *replay = launch->replay;

    for (size_t c = 0; c < launch->way->count; c++) {
        launch->caches[c] = cache_stage(launch, c, point, sequence);
        launch->caches[c].is_roomy &= is_alone;
    }
    launch->is_untranslated =
        replay->hierarchy->tlb_count == 0 &&
        launch->way != &replay->hierarchy->routes[PB_MODEL_CONSTANT] &&
        sequence->most_bytes >= replay->fits[launch->way->caches[launch->way->count - 1]];
    for (size_t t = 0; t + 1 < launch->route->tlbs; t++) {
        const struct pb_model_level *level = &replay->hierarchy->tlbs[t];

        launch->tlbs[t] =
            (struct stage){.level = level,
                           .cache = replay->tlbs[t],
                           .sets = replay->tlb_sets[t],
                           .before = tlbs,
                           .reason = replay->tlb_reasons[t],
                           .is_scattered = fit_of(level, level->fits_bytes, sequence) == SCATTERED,
                           .is_unsettling = is_unsettling(level, t)};
    }
}

static enum pb_status make_room(struct pb_replay *replay, size_t period, struct pb_error *err)
{
    struct prediction *larger;

    if (period <= replay->prediction_room)
        return PB_OK;
    larger = realloc(replay->predictions, period * sizeof(*larger));
    if (larger == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu predictions", period);
    replay->predictions = larger;
    replay->prediction_room = period;
    return PB_OK;
}

/* Without sets, a chip-wide cache is full of the slots as far as they fit, in whatever order. */
static bool fills_by_sets(const struct pb_model_level *level)
{
    return level->is_chip_wide && level->has_sets;
}

/* Every slot is read once, past L1, as before a launch on a device that held nothing. */
static void prefill(struct launch *launch, const struct pb_point *point,
                    const struct pb_sequence *sequence)
{
    uint8_t reason = NO_REASON;
    uint32_t kept = 0;
    size_t fills = 0; /* the depth from which on no cache is filled by its sets */

    for (size_t c = 0; c < launch->way->count; c++)
        fills = fills_by_sets(launch->caches[c].level) ? c + 1 : fills;
    for (size_t slot = 0; slot < sequence->period; slot++) {
        uint64_t offset = sequence->offset_bytes[slot];
        enum finding found = MISSES;

        if (launch->route->tlbs > 1 && !is_last_entry(launch, point->base_address + offset))
            translate(launch, point->base_address + offset, &reason, &kept);
        for (size_t c = 0; c < fills && found == MISSES; c++)
            if (fills_by_sets(launch->caches[c].level))
                found = ask_cache(launch, &launch->caches[c], line_address(point, offset));
        launch->last = point->base_address + offset;
        launch->last_line = line_address(point, offset);
    }
    launch->is_unsettled = false;
    launch->is_loaded = true;
}

/* Is each load of a first pass of a line of its own, and is there room for all of them? */
static bool is_fresh(const struct pb_model_level *level, uint64_t fits_bytes,
                     const struct pb_point *point, const struct pb_sequence *sequence,
                     const struct pb_accesses *accesses)
{
    uint64_t line = level->shape.line_bytes, loads = sequence->warm + accesses->count;

    return !level->has_sets && line > 0 && sequence->apart_bytes >= line &&
           point->alias_bytes == 0 && loads <= sequence->period && loads <= fits_bytes / line;
}

/* Is each slot of a line of its own? false, too, where lines are so far apart that it costs. */
static bool are_lines_apart(uint64_t line_bytes, const struct pb_point *point,
                            const struct pb_sequence *sequence)
{
    int shift = __builtin_ctzll(line_bytes);
    uint64_t first = (point->base_address + sequence->least_bytes) >> shift;
    uint64_t last = (point->base_address + sequence->most_bytes) >> shift;
    unsigned char *seen = NULL;
    bool are_apart = true;

    if ((last - first) / LINES_PER_SLOT < sequence->period)
        seen = calloc((size_t)(last - first) + 1, sizeof(*seen));
    for (size_t i = 0; seen != NULL && i < sequence->period && are_apart; i++) {
        uint64_t line = (point->base_address + sequence->offset_bytes[i]) >> shift;

        are_apart = !seen[line - first];
        seen[line - first] = true;
    }
    are_apart &= seen != NULL;
    free(seen);
    return are_apart;
}

/* Are all loads of a line, of whatever cache, next to each other in a pass? */
static bool have_lines_turns(const struct launch *launch, const struct pb_point *point,
                             const struct pb_sequence *sequence)
{
    uint64_t longest = 1;

    if (sequence->is_ascending)
        return point->alias_bytes == 0 || sequence->most_bytes < point->alias_bytes;
    for (size_t c = 0; c < launch->way->count; c++)
        if (launch->caches[c].level->shape.line_bytes > longest)
            longest = launch->caches[c].level->shape.line_bytes;
    return point->alias_bytes == 0 && are_lines_apart(longest, point, sequence);
}

/* The load before that slot was the one of the slot before, or the last one of a pass. */
static void go_on_at(struct launch *launch, size_t slot, const struct pb_point *point,
                     const struct pb_sequence *sequence)
{
    uint64_t offset = sequence->offset_bytes[(slot > 0 ? slot : sequence->period) - 1];

    launch->last = point->base_address + offset;
    launch->last_line = line_address(point, offset);
}

/* Nor is a load before that one known. */
static void begin_at(struct launch *launch, size_t slot, const struct pb_point *point,
                     const struct pb_sequence *sequence)
{
    go_on_at(launch, slot, point, sequence);
    for (size_t c = 0; c < launch->way->count; c++)
        launch->caches[c].last_sector = UINT64_MAX;
    for (size_t t = 0; t + 1 < launch->route->tlbs; t++)
        launch->tlbs[t].last_sector = UINT64_MAX;
}

/* Does a level hold all that lies between the first load and the last, loaded or not? */
static bool holds_extent(struct stage *stage, const struct pb_point *point,
                         const struct pb_sequence *sequence)
{
    int shift = __builtin_ctzll(stage->level->shape.line_bytes);
    uint64_t first = (point->base_address + sequence->least_bytes) >> shift;
    uint64_t last = (point->base_address + sequence->most_bytes) >> shift;
    struct filling sum;

    if (last - first >= sequence->period || (point->alias_bytes > 0 && !stage->level->is_tlb))
        return false; /* there are fewer loads, or others */
    clear_lines(stage);
    for (uint64_t line = first; line <= last; line++)
        stage->sets[pb_model_cache_set(stage->cache, line << shift)].lines++;
    sum = sum_lines(stage);
    return sum.kept == sum.lines && sum.room <= pb_model_cache_capacity(stage->cache);
}

/* Lines of all loads by set of a level; of the path's first cache, which set each load is of. */
static void count_all_lines(struct launch *launch, struct stage *stage,
                            const struct pb_point *point, const struct pb_sequence *sequence)
{
    struct prediction *pass = stage == launch->caches ? launch->replay->predictions : NULL;
    const uint64_t *offsets = sequence->offset_bytes;
    uint64_t base = point->base_address, before = UINT64_MAX;
    uint64_t alias = stage->level->is_tlb ? 0 : point->alias_bytes;
    int shift = __builtin_ctzll(stage->level->shape.line_bytes);
    size_t count = sequence->period, set = 0;

    clear_lines(stage);
    for (size_t slot = 0; slot < count; slot++) {
        uint64_t address = base + (alias > 0 ? offsets[slot] % alias : offsets[slot]);

        if (address >> shift != before)
            stage->sets[set = pb_model_cache_set(stage->cache, address)].lines++;
        if (pass != NULL)
            pass[slot].set = (uint32_t)set;
        before = address >> shift;
    }
}

/* Lines by set of the loads that levels chain[0..to-1] do not hold, at level `to`. */
static void count_missed_lines(struct launch *launch, struct stage *chain, size_t to,
                               const struct pb_point *point, const struct pb_sequence *sequence)
{
    struct stage *stage = &chain[to];
    int shift = __builtin_ctzll(stage->level->shape.line_bytes);
    uint64_t before = UINT64_MAX;

    clear_lines(stage);
    begin_at(launch, 0, point, sequence);
    for (size_t slot = 0; slot < sequence->period; slot++) {
        uint64_t offset = sequence->offset_bytes[slot], page = point->base_address + offset;
        uint64_t address = stage->level->is_tlb ? page : line_address(point, offset);
        size_t k = 0;

        if (!stage->level->is_tlb || !is_last_entry(launch, page))
            while (k < to && look_up(launch, &chain[k], address) != HITS)
                k++;
        launch->last = page;
        if (k < to || address >> shift == before)
            continue;
        stage->sets[pb_model_cache_set(stage->cache, address)].lines++;
        before = address >> shift;
    }
}

/*
 * Settles levels one behind the other, as far as loads reach them; false: they have to run. A level
 * finds the same in all passes but the first, once the loads that reach it are the same: they are
 * from one pass on for each level before it that holds some lines.
 */
static bool settle_levels(struct launch *launch, struct stage *chain, size_t count,
                          const struct pb_point *point, const struct pb_sequence *sequence)
{
    uint64_t passes = sequence->warm / sequence->period, changing = 0;
    bool runs = false; /* a cache before does, for some sets */

    for (size_t k = 0; k < count; k++) {
        struct stage *stage = &chain[k];
        enum victims victims = victims_of(stage->level);
        struct filling sum;

        if (stage->is_roomy && !stage->is_scattered)
            return true;
        if (stage->is_roomy || stage->cache == NULL)
            continue;
        stage->is_settled = true;
        stage->is_open = stage->is_scattered;
        if (stage->is_open && victims == BY_POLICY)
            return false; /* the numbers that it draws are those of the next launch, too */
        if (stage->is_open)
            continue;
        if (runs || passes <= changing)
            return false;
        stage->is_held = holds_extent(stage, point, sequence);
        if (stage->is_held)
            return true;
        if (stage->level->is_tlb && !sequence->is_ascending)
            return false; /* of a page there are loads all over a pass */
        count_all_lines(launch, stage, point, sequence);
        stage->is_counted = true;
        sum = sum_lines(stage);
        stage->is_open = sum.room > pb_model_cache_capacity(stage->cache);
        if (stage->is_open && (k > 0 || stage->level->is_tlb))
            return false;
        stage->is_held = sum.kept == sum.lines && !stage->is_open;
        if (stage->is_held)
            return true;
        if (k > 0 && victims != OLDEST)
            return false;
        stage->is_counted = changing == 0;
        if (changing > 0)
            count_missed_lines(launch, chain, k, point, sequence);
        runs = victims == BY_POLICY && !stage->is_open;
        changing += victims != OLDEST || stage->is_open || sum.kept > 0;
    }
    return true;
}

static void unsettle(struct stage *chain, size_t count)
{
    for (size_t k = 0; k < count; k++)
        chain[k].is_settled = chain[k].is_held = false;
}

/* Does the first TLB hold the entries of all loads? */
static bool is_translated(const struct launch *launch)
{
    return launch->route->tlbs == 1 || launch->tlbs[0].is_held;
}

/* Predicts the first loads of a pass, as far as no cache has to run for them; false: for some. */
static bool predict_settled(struct launch *launch, const struct pb_point *point,
                            const struct pb_sequence *sequence, size_t count)
{
    struct prediction *pass = launch->replay->predictions;
    struct prediction held = {.answers = 0}; /* of loads that the first cache holds all are alike */
    const struct stage *first = &launch->caches[0];
    bool is_by_set = first->is_settled && !first->is_open && !first->is_held, is_whole = true;
    bool are_translated = is_translated(launch);

    begin_at(launch, 0, point, sequence);
    for (size_t slot = 0; slot < count; slot++) {
        const struct chased_set *set = is_by_set ? &first->sets[pass[slot].set] : NULL;
        bool is_held =
            are_translated && (first->is_held || (set != NULL && set->lines <= set->ways));
        bool is_settled = set == NULL || !must_run(first, set);
        uint64_t offset = sequence->offset_bytes[slot];

        if (is_held && held.is_settled) {
            pass[slot] = held;
            continue;
        }
        go_on_at(launch, slot, point, sequence);
        if (is_settled)
            predict(launch, point->base_address + offset, line_address(point, offset), &pass[slot]);
        pass[slot].is_settled = is_settled;
        is_whole &= is_settled;
        if (is_held)
            held = pass[slot];
    }
    return is_whole;
}

/*
 * Where every line has its turn once in a pass, and nothing is compared before a pass is complete,
 * most levels need not run: of a set that has no more lines than ways, all hit, by whatever policy;
 * of one that has more, none does by LRU, and any may where the policy is not known. So does a
 * chase over one line more than fits, of which all sets but one are settled.
 */
static void settle(struct launch *launch, const struct pb_point *point,
                   const struct pb_sequence *sequence, const struct pb_accesses *accesses)
{
    bool is_begin =
        pb_sequence_slot(sequence, sequence->warm) == 0 && accesses->count < sequence->period;
    size_t shown = is_begin ? accesses->count : sequence->period;
    const struct stage *first = &launch->caches[0];
    bool is_known, runs;

    for (size_t c = 0; c < launch->way->count; c++)
        launch->caches[c].is_fresh =
            is_fresh(launch->caches[c].level, launch->replay->fits[launch->way->caches[c]], point,
                     sequence, accesses);
    if (sequence->warm < sequence->period || !have_lines_turns(launch, point, sequence))
        return;
    launch->passes = sequence->warm / sequence->period;
    launch->is_loaded = true;
    is_known = settle_levels(launch, launch->tlbs, launch->route->tlbs - 1, point, sequence) &&
               settle_levels(launch, launch->caches, launch->way->count, point, sequence);
    runs = first->is_settled && !first->is_open && victims_of(first->level) == BY_POLICY;
    shown = runs ? sequence->period : shown;
    if (is_known && (!runs || is_translated(launch))) {
        launch->is_settled = predict_settled(launch, point, sequence, shown);
        launch->is_partly_settled = !launch->is_settled;
    } else {
        unsettle(launch->tlbs, launch->route->tlbs - 1);
        unsettle(launch->caches, launch->way->count);
    }
    launch->is_unsettled = false;
    launch->passes = 0;
    launch->is_loaded = false;
    launch->last = launch->last_line = UINT64_MAX;
}

/* The launch that load t is one of: of warm loads, some may go another way. */
static struct launch *launch_at(uint64_t t, struct launch *launch, struct launch *warm_launch,
                                const struct pb_point *point, const struct pb_sequence *sequence)
{
    bool is_own = point->slots > 0 && t < point->own_warm;

    return t < sequence->warm && !is_own ? warm_launch : launch;
}

/* Compares the loads of the record with the predictions of a pass. */
static void compare_settled(struct launch *launch, const struct pb_point *point,
                            const struct pb_sequence *sequence, const struct pb_accesses *accesses,
                            struct pb_agreement_counts *counts)
{
    const struct prediction *pass = launch->replay->predictions;
    size_t slot = pb_sequence_slot(sequence, sequence->warm);

    for (size_t i = 0; i < accesses->count; i++) {
        if (compare(launch, &pass[slot], pb_access_cycles(accesses, i), counts) &&
            is_first_hit(&pass[slot]))
            count_lost(launch, line_address(point, sequence->offset_bytes[slot]));
        slot = slot + 1 < sequence->period ? slot + 1 : 0;
    }
}

/* Replays the launch; compares from load `warm` on. */
static void run(struct launch *launch, struct launch *warm_launch, const struct pb_point *point,
                const struct pb_sequence *sequence, const struct pb_accesses *accesses,
                struct pb_agreement_counts *counts)
{
    struct prediction *pass = launch->replay->predictions;
    uint64_t end = sequence->warm + accesses->count, passes = 0;
    bool is_steady = false;
    size_t slot = 0;

    for (uint64_t t = 0; t < end; t++) {
        uint64_t page = point->base_address + sequence->offset_bytes[slot];
        uint64_t address = line_address(point, sequence->offset_bytes[slot]);

        if (!is_steady && !(launch->is_partly_settled && pass[slot].is_settled)) {
            if (launch->is_partly_settled)
                begin_at(launch, slot, point, sequence);
            predict(launch_at(t, launch, warm_launch, point, sequence), page, address, &pass[slot]);
            launch->last = warm_launch->last = page;
            launch->last_line = warm_launch->last_line = address;
        }
        if (t >= sequence->warm &&
            compare(launch, &pass[slot], pb_access_cycles(accesses, (size_t)(t - sequence->warm)),
                    counts) &&
            is_first_hit(&pass[slot]))
            count_lost(launch, address);
        if (++slot < sequence->period)
            continue;
        slot = 0;
        launch->passes = warm_launch->passes = ++passes;
        launch->is_loaded = warm_launch->is_loaded = true;
        is_steady |= warm_launch == launch && passes > 1 && !launch->is_unsettled;
        launch->is_unsettled = false;
        if (is_steady && t < sequence->warm) { /* on to the last pass before the record */
            uint64_t left = sequence->warm - t - 1;

            t += left - pb_sequence_slot(sequence, left);
        }
    }
}

/* Whether the point goes on where the one before ended, in the same launch. */
static bool continues(const struct pb_series *series, size_t i)
{
    const struct pb_point *point = &series->points[i], *before = point - 1;

    return i > 0 && point->warm > 0 && point->warm == before->warm + before->count &&
           point->base_address == before->base_address &&
           point->footprint_bytes == before->footprint_bytes &&
           strncmp(point->path, before->path, PB_NAME_LENGTH) == 0 &&
           strncmp(point->order, "given", PB_NAME_LENGTH) == 0;
}

/*
 * Where chance decides, a chase agrees as a whole: as many of its loads miss as in the model, but
 * for what both owe to chance. Misses come in runs, hence twice the variance; what is beyond
 * drawn_sigmas of it contradicts.
 */
static void settle_draws(const struct launch *launch, struct pb_agreement_counts *counts)
{
    const struct draws *draws = &launch->draws;
    double n = (double)(draws->accesses + draws->open), expected = (double)draws->expected;
    double least = (double)draws->seen, most = least + (double)draws->open, share, slack;
    double seen = fmin(fmax(expected, least), most);
    uint64_t beyond = 0;

    if (draws->accesses == 0)
        return;
    share = (expected + seen) / (2.0 * n);
    slack = drawn_sigmas * sqrt(2.0 * 2.0 * n * share * (1.0 - share)) + drawn_share * n + 1.0;
    counts->accesses += draws->accesses;
    if (fabs(seen - expected) <= slack) {
        counts->agreed += draws->accesses;
        return;
    }
    beyond = (uint64_t)fmin(fabs(seen - expected) - slack, (double)draws->accesses);
    counts->contradicted += beyond;
    counts->undetermined += draws->accesses - beyond;
    counts->by_reason[launch->replay->cache_reasons[launch->way->caches[draws->depth]]] +=
        draws->accesses - beyond;
}

static const char *warm_path_of(const char *test, const struct pb_point *point)
{
    const struct habit *habit;

    if (point->slots > 0)
        return point->warm_path;
    habit = find_habit(test, point->phase);
    return habit != NULL && habit->warm_path != NULL ? habit->warm_path : point->path;
}

/* Did warm loads go a way that no file of that version tells, or one without a model? */
static bool is_crossed(const struct pb_replay *replay, const char *test,
                       const struct pb_point *point)
{
    enum pb_model_path path = pb_model_path_parse(point->warm_path);
    const struct habit *habit;

    if (point->slots > 0)
        return path == PB_MODEL_PATH_COUNT || replay->hierarchy->routes[path].count == 0;
    habit = find_habit(test, point->phase);
    return habit != NULL && habit->is_open;
}

static struct launch launch_of(struct pb_replay *replay, enum pb_model_path path,
                               enum preparation l2)
{
    if (!replay->routes[path].is_ready)
        make_route(replay, path);
    return (struct launch){.replay = replay,
                           .way = &replay->hierarchy->routes[path],
                           .route = &replay->routes[path],
                           .l2 = l2,
                           .last = UINT64_MAX,
                           .last_line = UINT64_MAX};
}

/* What the loads of the launch find in L2, but for what prefill() looks up. */
static enum preparation l2_before(const struct pb_replay *replay, enum pb_model_path path,
                                  const char *test, const struct pb_point *point, bool is_cold)
{
    const struct pb_model_route *way = &replay->hierarchy->routes[path];
    bool is_looked_up = point->is_prefilled == 0 ||
                        fills_by_sets(&replay->hierarchy->caches[way->caches[way->count - 1]]);

    return is_cold && is_looked_up ? FLUSHED : preparation_of(test, point);
}

static enum pb_status replay_known(struct pb_replay *replay, const char *test,
                                   const struct pb_series *series, size_t i,
                                   enum pb_model_path path, struct pb_sequence *sequence,
                                   const struct pb_accesses *accesses,
                                   struct pb_agreement_counts *counts, struct pb_error *err)
{
    const struct pb_point *point = &series->points[i];
    enum pb_model_path warm_path = pb_model_path_parse(warm_path_of(test, point));
    bool is_cold = point->is_cold != 0 && (point->is_prefilled == 0 || !sequence->is_part);
    struct launch launch = launch_of(replay, path, l2_before(replay, path, test, point, is_cold));
    struct launch warm;
    enum pb_status status = PB_OK;

    launch.is_carved = replay->hierarchy->carveout_count == 0 && strcmp(test, "l1_carveout") == 0;
    warm = launch;
    if (warm_path != path)
        warm = launch_of(replay, warm_path, launch.l2);
    if (!continues(series, i))
        status = begin_launch(replay, launch.way, point->carveout_bytes, err);
    if (status == PB_OK && warm.way != launch.way && !continues(series, i))
        status = begin_launch(replay, warm.way, point->carveout_bytes, err);
    if (status == PB_OK)
        status = make_room(replay, sequence->period, err);
    if (status == PB_OK)
        status = begin_sets(replay, &replay->hierarchy->caches[launch.way->caches[0]], err);
    if (status != PB_OK || launch.way->count == 0 || sequence->period == 0) /* a route has caches */
        return status;
    set_stages(&launch, point, sequence, is_cold ? FLUSHED : UNKNOWN, warm.way == launch.way);
    if (warm.way != launch.way)
        set_stages(&warm, point, sequence, is_cold ? FLUSHED : UNKNOWN, false);
    if (is_cold && point->is_prefilled != 0 && !continues(series, i))
        prefill(&launch, point, sequence);
    if (warm.way == launch.way && !continues(series, i) &&
        (i + 1 == series->point_count || !continues(series, i + 1)))
        settle(&launch, point, sequence, accesses);
    if (launch.is_settled)
        compare_settled(&launch, point, sequence, accesses, counts);
    else
        run(&launch, warm.way == launch.way ? &launch : &warm, point, sequence, accesses, counts);
    settle_draws(&launch, counts);
    demand_evictions(&launch, counts);
    status = excuse_foreign(&launch, point, sequence, counts, err);
    if (status == PB_OK && warm.way == launch.way &&
        counts->by_reason[replay->cache_reasons[launch.way->caches[0]]] > 0)
        status = demand_misses(&launch, point, sequence, accesses, counts, err);
    return status;
}

enum pb_status pb_replay_point(struct pb_replay *replay, const char *test,
                               const struct pb_series *series, size_t i,
                               struct pb_agreement_counts *counts, struct pb_error *err)
{
    const struct pb_point *point = &series->points[i];
    struct pb_accesses accesses = pb_point_accesses(series, point);
    enum pb_model_path path = pb_model_path_parse(point->path);
    struct pb_sequence *sequence = &replay->sequence;
    enum pb_status status;

    if (accesses.count == 0)
        return PB_OK;
    if (path == PB_MODEL_PATH_COUNT || replay->hierarchy->routes[path].count == 0) {
        count_undetermined(counts, accesses.count, NO_MODEL);
        return PB_OK;
    }
    if (is_crossed(replay, test, point)) {
        count_undetermined(counts, accesses.count, CROSSED);
        return PB_OK;
    }
    status = pb_sequence_make(point, &accesses, sequence, err);
    if (status != PB_OK)
        return status;
    if (continues(series, i)) {
        sequence->warm = 0;
        sequence->is_known = true;
    }
    if (sequence->is_known)
        return replay_known(replay, test, series, i, path, sequence, &accesses, counts, err);
    count_undetermined(counts, accesses.count, ORDER);
    return PB_OK;
}

/* Setting up */

enum pb_status pb_replay_create(const struct pb_model_hierarchy *hierarchy,
                                struct pb_replay **replay_out, struct pb_error *err)
{
    struct pb_replay *replay = calloc(1, sizeof(*replay));

    if (replay == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a replay");
    replay->hierarchy = hierarchy;
    replay->l2_spread = (struct spread){NAN, NAN};
    replay->dram_least = NAN;
    replay->fetches_again = true;
    name_reasons(replay);
    *replay_out = replay;
    return PB_OK;
}

void pb_replay_destroy(struct pb_replay *replay)
{
    if (replay == NULL)
        return;
    for (size_t i = 0; i < PB_MODEL_CACHES_MAX; i++)
        pb_model_cache_destroy(replay->caches[i]);
    for (size_t i = 0; i < PB_MODEL_TLBS_MAX; i++)
        pb_model_cache_destroy(replay->tlbs[i]);
    for (size_t i = 0; i < PB_MODEL_CACHES_MAX; i++)
        free(replay->cache_sets[i]);
    for (size_t i = 0; i < PB_MODEL_TLBS_MAX; i++)
        free(replay->tlb_sets[i]);
    pb_sequence_clear(&replay->sequence);
    free(replay->predictions);
    free(replay->misses);
    free(replay);
}

/* Sorted latencies of the picked traces; none where they are too few to show a spread. */
static enum pb_status sort_picked(const struct pb_series *series, const struct pb_pick *pick,
                                  struct pb_sample *sorted_out, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0};
    enum pb_status status = pb_trace_collect(series, pick, &cycles, err);

    *sorted_out = (struct pb_sample){NULL, 0, 0};
    if (status == PB_OK && cycles.count >= REFERENCE_MIN)
        status = pb_sample_sorted(&cycles, sorted_out, err);
    pb_sample_clear(&cycles);
    return status;
}

/*
 * Passes in order over more than L2 holds: where more loads come from DRAM than one for each time
 * that lines are fetched ahead, nothing runs ahead of lines that were loaded before (M16 4.6 sees
 * that of a Kepler's L2).
 */
static void note_fetches(struct pb_replay *replay, const struct pb_series *series)
{
    static const struct pb_pick passes = {"global_cg", "traced", NULL};
    const struct pb_model_level *l2 = pb_model_hierarchy_find(replay->hierarchy, "l2");
    size_t at = 0, far = 0, all = 0;
    const struct pb_point *point;

    if (l2 == NULL || l2->prefetch_bytes == 0 || l2->most_bytes == 0 ||
        isnan(replay->hierarchy->dram.cycles))
        return;
    while ((point = pb_point_next(series, &passes, &at)) != NULL) {
        struct pb_accesses accesses = pb_point_accesses(series, point);

        if (strncmp(point->order, "sequential", PB_NAME_LENGTH) != 0 || point->is_prefilled == 0 ||
            (double)point->footprint_bytes < loaded_again * (double)l2->most_bytes ||
            FETCHED_AT_ONCE * point->stride_bytes > l2->prefetch_bytes)
            continue;
        for (size_t i = 0; i < accesses.count; i++)
            far += pb_access_cycles(&accesses, i) >
                   (l2->latency.cycles + replay->hierarchy->dram.cycles) / 2.0;
        all += accesses.count;
    }
    if (all > 0)
        replay->fetches_again = 2 * far * FETCHED_AT_ONCE < 3 * all;
}

enum pb_status pb_replay_calibrate(struct pb_replay *replay, const struct pb_series *series,
                                   struct pb_error *err)
{
    static const struct pb_pick hits = {"global_cg", "traced", "reference"};
    static const struct pb_pick cold = {"global_cg", "traced", "near"};
    struct pb_sample sorted;
    enum pb_status status = sort_picked(series, &hits, &sorted, err);

    note_fetches(replay, series);
    if (status == PB_OK && sorted.count > 0) {
        double median = pb_quantile(sorted.values, sorted.count, 0.5);
        double below = median - pb_quantile(sorted.values, sorted.count, spread_quantile);
        double above = pb_quantile(sorted.values, sorted.count, 1.0 - spread_quantile) - median;

        replay->l2_spread.below = fmax(below, replay->l2_spread.below); /* passes NaN over */
        replay->l2_spread.above = fmax(above, replay->l2_spread.above);
    }
    pb_sample_clear(&sorted);
    if (status == PB_OK)
        status = sort_picked(series, &cold, &sorted, err);
    if (status == PB_OK && sorted.count > 0)
        replay->dram_least =
            fmin(pb_quantile(sorted.values, sorted.count, dram_quantile), replay->dram_least);
    pb_sample_clear(&sorted);
    for (int path = 0; path < PB_MODEL_PATH_COUNT; path++)
        replay->routes[path].is_ready = false;
    return status;
}

void pb_replay_calibrate_as(struct pb_replay *replay, const struct pb_replay *calibrated)
{
    replay->l2_spread = calibrated->l2_spread;
    replay->dram_least = calibrated->dram_least;
    replay->fetches_again = calibrated->fetches_again;
    for (int path = 0; path < PB_MODEL_PATH_COUNT; path++)
        replay->routes[path].is_ready = false;
}
