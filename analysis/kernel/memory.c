/* L1 of each SM and L2, in time, and the account of what they answer; see memory.h. */
#include "analysis/kernel/memory.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel/line_map.h"
#include "analysis/model/mshr.h"
#include "core/reserve.h"

enum {
    PIECES_MAX = 2 * PB_LANES_MAX, /* lines of an access: a lane's bytes may lie in two */
    RECENT_COUNT = 8,              /* instructions of a warp whose last address is known */
    ADDRESS_BITS = 47,             /* of an address that a process can have */
    TPC_SMS = 2,
    GPC_ROUNDS = 4,
    MERGED_MAX = 4,      /* requests of a GPC that L2 sees as one, seen on an H100 and an H200 */
    COUNTER_SECTOR = 32, /* bytes that the hardware's counters count in */
    WORD_BYTES = 4,      /* in these L1 knows which parts of a sector were stored */
    WORDED_LINE = 128,   /* bytes of the lines where it does */
    SECTOR_WORDS = COUNTER_SECTOR / WORD_BYTES
};

/* Bits of a time that hold a number of requests: less than 1e-9 of a cycle. */
#define REQUEST_COUNT UINT64_C(7)

/* Where local memory is laid out, far from all else. */
#define LOCAL_BASE (UINT64_C(1) << 62)
#define LOCAL_SPAN ((UINT64_C(1) << 29) + 4096)

static const char *const extension_names[PB_EXTENSION_COUNT] = {
    "hierarchy", "latency", "associativity", "mshr", "divergence"};

const char *pb_extension_name(enum pb_extension extension)
{
    return extension_names[extension];
}

enum pb_extension pb_extension_parse(const char *word)
{
    int extension = 0;

    while (extension < PB_EXTENSION_COUNT && strcmp(extension_names[extension], word) != 0)
        extension++;
    return (enum pb_extension)extension;
}

/* What an access wants of one line of L1. */
struct piece {
    uint64_t address; /* of the line */
    uint32_t sectors;
    uint64_t bytes[2]; /* of a line of WORDED_LINE bytes, as bits */
};

/* What will change a cache that fills on arrival: a line that arrives, or a hit that counts. */
struct effect {
    double time;
    uint64_t order;
    uint64_t address;
    uint32_t sectors;
};

struct level {
    const struct pb_machine_level *spec;
    struct pb_model_cache *cache;
    struct pb_model_cache *ideal; /* fully associative, LRU; NULL: kinds are not wanted */
    struct pb_line_map seen;      /* sectors of each line that were ever wanted */
    struct pb_model_reuse *reuse; /* NULL: no distances are wanted */
    /* only where lines are filled on arrival */
    struct pb_line_map arrivals; /* by sector: when it arrives, as bits of a double */
    struct effect *effects;      /* a heap, the first on top */
    size_t effect_count, effect_capacity;
    uint64_t order;
};

struct recent {
    uint32_t instruction; /* 1 + */
    uint64_t address;
};

struct sm {
    struct level l1;
    struct pb_model_mshr *mshr; /* NULL: no limit */
};

struct pb_memory {
    const struct pb_machine *machine;
    struct pb_memory_options options;
    const struct pb_kernel *kernel;
    uint32_t sm_count, warp_slots;
    uint64_t line_bytes, sector_bytes; /* of L1 */
    uint64_t l2_line_bytes, l2_sector_bytes;
    uint32_t l2_group;    /* sectors of L2's cache that one miss fetches */
    uint32_t fetch_bytes; /* as struct pb_instruction, of the access at hand */
    struct sm *sms;
    struct level l2[PB_SIDES_MAX];
    /* By unit: when the answer is back, and in the last bits how many requests it answers. */
    struct pb_line_map requests[PB_GPCS_MAX];
    struct pb_line_map
        written;    /* by unit: its words that were stored to L2 and are not all of it */
    bool has_words; /* L1 keeps parts of sectors that were stored */
    unsigned char gpc_sides[PB_GPCS_MAX];  /* of L2, on which each GPC is */
    unsigned char *gpcs;                   /* [sm_count] of which each SM is */
    struct pb_model_level l1, l2_level;    /* as measured, and what is assumed beside it */
    struct recent (*recent)[RECENT_COUNT]; /* [sm_count * warp_slots] */
    gsl_rng *random;
    struct pb_instruction_counts *instructions;
    size_t instruction_count;
    struct pb_access_counts *allocations; /* [kernel->allocation_count + 1] */
    size_t last_allocation;
    struct pb_model_histogram *reuse; /* NULL: not wanted */
};

/* ---- levels ---- */

static uint64_t capacity_lines(const struct pb_machine_level *spec, uint64_t line_bytes)
{
    const struct pb_model_shape *shape =
        spec->shape.set_count > 0 ? &spec->shape : &spec->level->shape;
    uint64_t lines = spec->shape.set_count > 0 ? 0 : spec->fits_bytes / line_bytes;

    if (lines == 0)
        lines = shape->set_count * shape->way_count;
    return lines > 0 ? lines : 1;
}

static enum pb_status open_ideal(const struct pb_machine_level *spec, uint64_t line_bytes,
                                 uint64_t sector_bytes, struct pb_model_cache **cache_out,
                                 struct pb_error *err)
{
    const struct pb_model_shape shape = {
        .line_bytes = line_bytes,
        .sector_bytes = sector_bytes,
        .set_count = 1,
        .way_count = (size_t)capacity_lines(spec, line_bytes),
        .policy = PB_MODEL_LRU,
    };

    return pb_model_cache_create(&shape, 0, cache_out, err);
}

static void shape_of(const struct pb_machine_level *spec, uint64_t *line_bytes_out,
                     uint64_t *sector_bytes_out)
{
    const struct pb_model_shape *shape =
        spec->shape.set_count > 0 ? &spec->shape : &spec->level->shape;

    *line_bytes_out = shape->line_bytes;
    *sector_bytes_out = shape->sector_bytes > 0 ? shape->sector_bytes : shape->line_bytes;
}

static enum pb_status open_level(struct pb_memory *memory, const struct pb_machine_level *spec,
                                 uint64_t seed, struct level *level, struct pb_error *err)
{
    const struct pb_memory_options *options = &memory->options;
    struct pb_model_shape shape = spec->shape;
    uint64_t line_bytes, sector_bytes;
    bool has_words = spec == &memory->machine->l1 && memory->has_words;
    enum pb_status status;

    level->spec = spec;
    shape_of(spec, &line_bytes, &sector_bytes);
    shape.sector_bytes = has_words ? WORD_BYTES : sector_bytes;
    if (spec == &memory->machine->l2)
        shape.sector_bytes = sector_bytes / memory->l2_group;
    if (options->without[PB_EXTENSION_ASSOCIATIVITY])
        status = open_ideal(spec, line_bytes, shape.sector_bytes, &level->cache, err);
    else if (spec->shape.set_count > 0)
        status = pb_model_cache_create(&shape, seed, &level->cache, err);
    else
        status = pb_model_level_open(spec == &memory->machine->l1 ? &memory->l1 : &memory->l2_level,
                                     spec->fits_bytes, PB_MODEL_ASSUME, seed, &level->cache, err);
    if (status == PB_OK && !options->has_no_classes)
        status = open_ideal(spec, line_bytes, has_words ? sector_bytes : shape.sector_bytes,
                            &level->ideal, err);
    return status;
}

/* The bits of the set that an address bit changes. */
static uint32_t column_of(const struct pb_model_shape *shape, unsigned address_bit)
{
    uint32_t column = 0;

    for (size_t i = 0; i < shape->index_mask_count; i++)
        column |= (uint32_t)(shape->index_masks[i] >> address_bit & 1) << i;
    return column;
}

/* Do the address bits from one to another, as many as the set has, choose among all sets? */
static bool spread_over_sets(const struct pb_model_shape *shape, unsigned first, unsigned last)
{
    uint32_t basis[PB_MODEL_MASKS_MAX] = {0}; /* by leading bit */

    for (unsigned bit = first; bit <= last; bit++) {
        uint32_t column = column_of(shape, bit);

        while (column != 0 && basis[31 - __builtin_clz(column)] != 0)
            column ^= basis[31 - __builtin_clz(column)];
        if (column == 0)
            return false;
        basis[31 - __builtin_clz(column)] = column;
    }
    return true;
}

/*
 * Address bits above those that the index was resolved for belong to it, too, in a way that depends
 * on where pages lie: each gets a random part in it. As many neighbouring address bits as
 * the set has choose among all sets, as those that were resolved do on an H100 and an H200: the
 * index is there to spread rows of any power of two.
 */
static enum pb_status draw_masks(struct pb_model_level *level, uint64_t seed, struct pb_error *err)
{
    struct pb_model_shape *shape = &level->shape;
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    unsigned count = (unsigned)shape->index_mask_count;
    uint64_t known = 1;

    if (random == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for random numbers");
    gsl_rng_set(random, (unsigned long)seed + 1);
    for (size_t i = 0; i < count; i++)
        known |= shape->index_masks[i];
    for (unsigned bit = 64 - (unsigned)__builtin_clzll(known); bit < ADDRESS_BITS; bit++) {
        bool is_spread = bit >= count && spread_over_sets(shape, bit + 1 - count, bit - 1);

        do {
            for (size_t i = 0; i < count; i++) {
                shape->index_masks[i] &= ~(UINT64_C(1) << bit);
                shape->index_masks[i] |= (uint64_t)gsl_rng_uniform_int(random, 2) << bit;
            }
        } while (is_spread && !spread_over_sets(shape, bit + 1 - count, bit));
    }
    gsl_rng_free(random);
    return PB_OK;
}

static void close_level(struct level *level)
{
    pb_model_cache_destroy(level->cache);
    pb_model_cache_destroy(level->ideal);
    pb_model_reuse_destroy(level->reuse);
    pb_line_map_clear(&level->seen);
    pb_line_map_clear(&level->arrivals);
    free(level->effects);
}

/* Counts sectors that missed by kind, and lets the ideal cache see the access if it is kept. */
static enum pb_status classify(struct level *level, uint64_t address, uint32_t sectors,
                               uint32_t missed, bool is_kept,
                               uint32_t misses_out[PB_MISS_KIND_COUNT], struct pb_error *err)
{
    struct pb_model_lookup ideal = {.hit = 0};
    uint64_t *seen;

    memset(misses_out, 0, PB_MISS_KIND_COUNT * sizeof(misses_out[0]));
    misses_out[PB_MISS_CAPACITY] = missed;
    if (level->ideal == NULL)
        return PB_OK;
    seen = pb_line_map_at(&level->seen, pb_model_cache_line(level->cache, address));
    if (seen == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the lines of a kernel");
    if (is_kept)
        pb_model_cache_access(level->ideal, address, sectors, 0.0, &ideal);
    misses_out[PB_MISS_COMPULSORY] = missed & ~(uint32_t)*seen;
    misses_out[PB_MISS_CONFLICT] = missed & (uint32_t)*seen & ideal.hit;
    misses_out[PB_MISS_CAPACITY] = missed & (uint32_t)*seen & ~ideal.hit;
    *seen |= sectors;
    return PB_OK;
}

/* ---- caches that fill on arrival ---- */

static bool is_earlier(const struct effect *a, const struct effect *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static enum pb_status add_effect(struct level *level, double time, uint64_t address,
                                 uint32_t sectors, struct pb_error *err)
{
    struct effect effect = {time, level->order++, address, sectors};
    size_t at = level->effect_count;
    enum pb_status status =
        PB_RESERVE(level->effects, at, level->effect_capacity, "outstanding accesses", err);

    if (status != PB_OK)
        return status;
    for (; at > 0 && is_earlier(&effect, &level->effects[(at - 1) / 2]); at = (at - 1) / 2)
        level->effects[at] = level->effects[(at - 1) / 2];
    level->effects[at] = effect;
    level->effect_count++;
    return PB_OK;
}

static struct effect take_effect(struct level *level)
{
    struct effect first = level->effects[0];
    struct effect last = level->effects[--level->effect_count];
    size_t at = 0;

    for (size_t child = 1; child < level->effect_count; child = 2 * at + 1) {
        if (child + 1 < level->effect_count &&
            is_earlier(&level->effects[child + 1], &level->effects[child]))
            child++;
        if (!is_earlier(&level->effects[child], &last))
            break;
        level->effects[at] = level->effects[child];
        at = child;
    }
    level->effects[at] = last;
    return first;
}

static enum pb_status use_line(struct level *level, uint64_t address, struct pb_error *err)
{
    uint64_t distance;

    if (level->reuse == NULL)
        return PB_OK;
    return pb_model_reuse_access(level->reuse, pb_model_cache_line(level->cache, address),
                                 &distance, err);
}

static enum pb_status apply_effect(struct level *level, struct pb_error *err)
{
    struct effect effect = take_effect(level);
    struct pb_model_lookup lookup;

    pb_model_cache_access(level->cache, effect.address, effect.sectors, effect.time, &lookup);
    return use_line(level, effect.address, err);
}

/*
 * An access comes before the effects of its own time (N14's tables 3 and 4), but a line that
 * arrives at that time is there (table 5).
 */
static enum pb_status apply_effects(struct level *level, double time, bool arrives_now,
                                    struct pb_error *err)
{
    enum pb_status status = PB_OK;

    while (status == PB_OK && level->effect_count > 0 &&
           (level->effects[0].time < time || (arrives_now && level->effects[0].time == time)))
        status = apply_effect(level, err);
    return status;
}

static double time_of(uint64_t bits)
{
    double time;

    memcpy(&time, &bits, sizeof(time));
    return time;
}

/* Which sectors are on their way, and when the last of them arrives. */
static uint32_t find_arrivals(struct level *level, uint64_t address, uint32_t sectors, double time,
                              bool *arrives_now_out, double *ready_time_out)
{
    uint64_t line = pb_model_cache_line(level->cache, address);
    uint32_t found = 0;

    *arrives_now_out = false;
    for (uint32_t left = sectors; left != 0; left &= left - 1) {
        uint32_t sector = (uint32_t)__builtin_ctz(left);
        const uint64_t *bits =
            pb_line_map_find(&level->arrivals, line * PB_MODEL_SECTORS_MAX + sector);
        double arrival = bits == NULL ? -1.0 : time_of(*bits);

        if (arrival == time)
            *arrives_now_out = true;
        if (arrival <= time)
            continue;
        found |= UINT32_C(1) << sector;
        *ready_time_out = fmax(*ready_time_out, arrival);
    }
    return found;
}

static enum pb_status note_arrival(struct level *level, uint64_t address, uint32_t sectors,
                                   double time, struct pb_error *err)
{
    uint64_t line = pb_model_cache_line(level->cache, address);

    for (uint32_t left = sectors; left != 0; left &= left - 1) {
        uint64_t *bits = pb_line_map_at(&level->arrivals, line * PB_MODEL_SECTORS_MAX +
                                                              (uint64_t)__builtin_ctz(left));

        if (bits == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory for lines in flight");
        memcpy(bits, &time, sizeof(time));
    }
    return PB_OK;
}

/* ---- time ---- */

static double draw(struct pb_memory *memory, const struct pb_latency *latency)
{
    double spread = latency->sigma;

    if (memory->options.without[PB_EXTENSION_LATENCY])
        return 0.0;
    if (spread > 0.0)
        spread = fabs(gsl_ran_gaussian_ziggurat(memory->random, spread));
    return latency->minimum + spread;
}

/* ---- L2 ---- */

static uint64_t count_bits(uint32_t bits)
{
    return (uint64_t)__builtin_popcount(bits);
}

/* What came of a read of L2, in sectors of L1. */
static void count_level(struct pb_level_counts *counts, uint64_t hits, uint64_t in_flight,
                        const uint64_t misses[PB_MISS_KIND_COUNT])
{
    counts->hits += hits;
    counts->in_flight += in_flight;
    for (size_t i = 0; i < PB_MISS_KIND_COUNT; i++)
        counts->misses[i] += misses[i];
}

static void add_levels(struct pb_level_counts *to, const struct pb_level_counts *from)
{
    count_level(to, from->hits, from->in_flight, from->misses);
}

/*
 * In which half the memory of an address is at home: the parity, beside a constant of each page of
 * 2 MiB that is random; where no parity is known, it is random for each block of 4 KiB.
 */
static unsigned home_of(const struct pb_memory *memory, uint64_t address)
{
    uint64_t mask = memory->machine->home_mask;
    uint64_t block = (address >> (mask != 0 ? 21 : 12)) + memory->options.seed;

    if (memory->machine->l2_sides < 2)
        return 0;
    return (unsigned)__builtin_parityll(address & mask) ^
           (unsigned)(block * UINT64_C(0x9e3779b97f4a7c15) >> 63);
}

/*
 * What the half of an SM missed comes from memory, or where that is at home in the other half, from
 * there. *arrival_out: when.
 */
static enum pb_status fetch(struct pb_memory *memory, unsigned side, uint64_t line,
                            uint32_t sectors, double time, double *arrival_out,
                            struct pb_error *err)
{
    unsigned home = home_of(memory, line);
    struct level *level = &memory->l2[home];
    struct pb_model_lookup lookup;

    if (home == side) {
        *arrival_out = time + draw(memory, &memory->machine->dram);
        return PB_OK;
    }
    pb_model_cache_access(level->cache, line, sectors, time, &lookup);
    *arrival_out = time + draw(memory, &memory->machine->l2_far);
    if (lookup.in_flight != 0)
        *arrival_out = fmax(*arrival_out, lookup.ready_time);
    if (lookup.missed == 0 || memory->options.without[PB_EXTENSION_LATENCY])
        return PB_OK;
    *arrival_out = fmax(*arrival_out, time + draw(memory, &memory->machine->dram));
    return pb_model_cache_fill(level->cache, lookup.slot, lookup.missed, *arrival_out, err);
}

/* Units of 32 bytes, as bits, in what L2 has for sectors. */
static uint32_t sectors_of(const struct level *level, uint64_t line, uint32_t units)
{
    uint32_t sectors = 0;

    for (; units != 0; units &= units - 1)
        sectors |= pb_model_cache_sectors(
            level->cache, line + (uint64_t)__builtin_ctz(units) * COUNTER_SECTOR, 1);
    return sectors;
}

/* The sectors of a line that come with those that a miss fetches. */
static uint32_t with_neighbours(const struct pb_memory *memory, uint32_t sectors)
{
    uint32_t group = memory->l2_group, all = 0;

    if (memory->fetch_bytes >= memory->l2_line_bytes)
        group = (uint32_t)(memory->l2_line_bytes / memory->l2_level.shape.sector_bytes);
    if (group >= PB_MODEL_SECTORS_MAX)
        return sectors != 0 ? UINT32_MAX : 0;
    for (; sectors != 0 && group > 1; sectors &= ~all) {
        uint32_t first = (uint32_t)__builtin_ctz(sectors);

        all |= ((UINT32_C(1) << group) - 1) << (first - first % group);
    }
    return all | sectors;
}

/* Reads units of one L2 line from the half of `side`; *ready_time_out is when all are back. */
static enum pb_status look_up_l2(struct pb_memory *memory, unsigned side, uint64_t line,
                                 uint32_t units, double time, struct pb_level_counts *counts,
                                 double *ready_time_out, struct pb_error *err)
{
    struct level *level = &memory->l2[side];
    uint32_t sectors = sectors_of(level, line, units);
    struct pb_model_lookup lookup;
    uint32_t kinds[PB_MISS_KIND_COUNT];
    double arrival = time;
    enum pb_status status;

    sectors |= with_neighbours(memory, sectors & ~pb_model_cache_peek(level->cache, line, sectors));
    pb_model_cache_access(level->cache, line, sectors, time, &lookup);
    *ready_time_out = time + draw(memory, &memory->machine->l2_hit);
    if (lookup.in_flight != 0)
        *ready_time_out = fmax(*ready_time_out, lookup.ready_time);
    status = classify(level, line, sectors, lookup.missed, true, kinds, err);
    if (status == PB_OK && lookup.missed != 0)
        status = fetch(memory, side, line, lookup.missed, time, &arrival, err);
    if (status == PB_OK && lookup.missed != 0 && !memory->options.without[PB_EXTENSION_LATENCY]) {
        *ready_time_out = fmax(*ready_time_out, arrival);
        status = pb_model_cache_fill(level->cache, lookup.slot, lookup.missed, arrival, err);
    }
    for (; units != 0 && status == PB_OK; units &= units - 1) {
        uint32_t sector = sectors_of(level, line, units & -units);

        counts->hits += (sector & lookup.hit) != 0;
        counts->in_flight += (sector & lookup.in_flight) != 0;
        for (size_t i = 0; i < PB_MISS_KIND_COUNT; i++)
            counts->misses[i] += (sector & kinds[i]) != 0;
    }
    return status;
}

/*
 * Of the latency of an L2 hit, what passes between an SM and where its GPC merges requests, there
 * and back: on an H200 a request 64 cycles behind another was merged with it, one 128 cycles behind
 * was not, of about 265 in all.
 */
static double gpc_way(const struct pb_memory *memory)
{
    return 0.64 * memory->machine->l2_hit.minimum;
}

static bool merges(const struct pb_memory *memory)
{
    return memory->machine->l2_merges_requests && !memory->options.without[PB_EXTENSION_LATENCY];
}

/*
 * A request for what an SM of the same GPC has requested, and what is not back yet, is merged with
 * it, as a whole and up to MERGED_MAX of them: L2 does not see it (tests/gpu/merged_requests.cu).
 * Returns what goes on to L2; *ready_time_inout is when what was merged is back at least.
 */
static uint32_t merge_requests(struct pb_memory *memory, unsigned gpc, uint64_t line,
                               uint32_t units, double time, double *ready_time_inout)
{
    double last = *ready_time_inout;

    if (!merges(memory))
        return units;
    for (uint32_t left = units; left != 0; left &= left - 1) {
        const uint64_t *bits = pb_line_map_find(
            &memory->requests[gpc], line / COUNTER_SECTOR + (uint64_t)__builtin_ctz(left));
        double ready_time = bits == NULL ? 0.0 : time_of(*bits & ~REQUEST_COUNT);

        if (bits == NULL || ready_time - gpc_way(memory) <= time ||
            (*bits & REQUEST_COUNT) >= MERGED_MAX)
            return units;
        last = fmax(last, ready_time);
    }
    for (uint32_t left = units; left != 0; left &= left - 1)
        ++*pb_line_map_at(&memory->requests[gpc],
                          line / COUNTER_SECTOR + (uint64_t)__builtin_ctz(left));
    *ready_time_inout = last;
    return 0;
}

static enum pb_status note_requests(struct pb_memory *memory, unsigned gpc, uint64_t line,
                                    uint32_t units, double ready_time, struct pb_error *err)
{
    for (; merges(memory) && units != 0; units &= units - 1) {
        uint64_t *bits = pb_line_map_at(&memory->requests[gpc],
                                        line / COUNTER_SECTOR + (uint64_t)__builtin_ctz(units));

        if (bits == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory for requests to L2");
        memcpy(bits, &ready_time, sizeof(ready_time));
        *bits = (*bits & ~REQUEST_COUNT) + 1;
    }
    return PB_OK;
}

static uint64_t count_misses(const struct pb_level_counts *counts)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < PB_MISS_KIND_COUNT; i++)
        sum += counts->misses[i];
    return sum;
}

/*
 * A hint of two lines (256 bytes) that misses the start of an aligned pair, at home in the half of
 * the SM, has L2 read the pair's other line, too. Where another part of the pair is missed, or the
 * other half is its home, nothing of that line is found later (tests/gpu/access_kinds.cu).
 */
static enum pb_status read_pair(struct pb_memory *memory, unsigned side, uint64_t line,
                                uint32_t units, double time, struct pb_level_counts *counts,
                                struct pb_error *err)
{
    uint64_t bytes = memory->l2_line_bytes;
    double ready_time;

    if (memory->fetch_bytes < 2 * bytes || line % (2 * bytes) != 0 || (units & 1) == 0 ||
        home_of(memory, line) != side)
        return PB_OK;
    return look_up_l2(memory, side, line + bytes,
                      (uint32_t)((UINT64_C(1) << bytes / COUNTER_SECTOR) - 1), time, counts,
                      &ready_time, err);
}

static enum pb_status read_l2_line(struct pb_memory *memory, unsigned gpc, uint64_t line,
                                   uint32_t units, double time, struct pb_access_counts *counts,
                                   double *ready_time_inout, struct pb_error *err)
{
    uint32_t left = merge_requests(memory, gpc, line, units, time, ready_time_inout);
    uint64_t misses = count_misses(&counts->l2);
    double ready_time = time;
    enum pb_status status;

    counts->l2_merged += count_bits(units) - count_bits(left);
    if (left == 0)
        return PB_OK;
    status =
        look_up_l2(memory, memory->gpc_sides[gpc], line, left, time, &counts->l2, &ready_time, err);
    *ready_time_inout = fmax(*ready_time_inout, ready_time);
    if (status == PB_OK && count_misses(&counts->l2) > misses)
        status = read_pair(memory, memory->gpc_sides[gpc], line, left, time, &counts->l2, err);
    return status == PB_OK ? note_requests(memory, gpc, line, left, ready_time, err) : status;
}

/*
 * A store goes to the half of its SM; what the other one has of it is gone. An atomic is done where
 * the line is at home, and the other half loses its copy of the line (tests/gpu/access_kinds.cu).
 */
static void write_l2_line(struct pb_memory *memory, unsigned gpc, uint64_t line, uint32_t units,
                          bool is_atomic, double time)
{
    unsigned side = is_atomic ? home_of(memory, line) : memory->gpc_sides[gpc];
    uint32_t sectors = sectors_of(&memory->l2[side], line, units);
    struct pb_model_lookup lookup;

    if (sectors != 0)
        pb_model_cache_access(memory->l2[side].cache, line, sectors, time, &lookup);
    if (memory->machine->l2_sides == 2)
        pb_model_cache_invalidate(memory->l2[1 - side].cache, line,
                                  is_atomic ? UINT32_MAX : sectors);
}

/* Reads any range line by line. */
static enum pb_status use_l2_range(struct pb_memory *memory, unsigned gpc, uint64_t address,
                                   uint64_t bytes, double time, struct pb_access_counts *counts,
                                   double *ready_time_inout, struct pb_error *err)
{
    uint64_t end = address + bytes;
    enum pb_status status = PB_OK;

    address -= address % COUNTER_SECTOR;
    while (address < end && status == PB_OK) {
        uint64_t line = address - address % memory->l2_line_bytes;
        uint32_t units = 0;

        for (; address < end && address - line < memory->l2_line_bytes; address += COUNTER_SECTOR)
            units |= UINT32_C(1) << (address - line) / COUNTER_SECTOR;
        status = read_l2_line(memory, gpc, line, units, time, counts, ready_time_inout, err);
    }
    return status;
}

/* Sectors of a line that L1 missed, in runs. */
static enum pb_status use_below_l1(struct pb_memory *memory, unsigned gpc,
                                   const struct piece *piece, uint32_t sectors, double time,
                                   struct pb_access_counts *counts, double *ready_time_out,
                                   struct pb_error *err)
{
    enum pb_status status = PB_OK;

    *ready_time_out = time;
    if (memory->machine->l2.level == NULL) {
        *ready_time_out = time + draw(memory, &memory->machine->dram);
        return PB_OK;
    }
    while (sectors != 0 && status == PB_OK) {
        uint32_t first = (uint32_t)__builtin_ctz(sectors);
        uint32_t run = sectors >> first;
        uint32_t length = run == UINT32_MAX ? 32 : (uint32_t)__builtin_ctz(~run);

        status = use_l2_range(memory, gpc, piece->address + first * memory->sector_bytes,
                              length * memory->sector_bytes, time, counts, ready_time_out, err);
        sectors &= length + first >= 32 ? 0 : UINT32_MAX << (first + length);
    }
    return status;
}

/* ---- L1 ---- */

/* What one piece found in L1; `missed` is fetched by the caller. */
struct found {
    uint32_t hit, in_flight, missed;
    double ready_time; /* of those in flight */
    uint32_t slot;
};

static enum pb_status look_up_on_arrival(struct level *level, const struct piece *piece,
                                         double time, bool has_latency, struct found *found,
                                         struct pb_error *err)
{
    bool arrives_now = false;
    uint32_t present;
    enum pb_status status = apply_effects(level, time, false, err);

    found->ready_time = time;
    found->in_flight = has_latency ? find_arrivals(level, piece->address, piece->sectors, time,
                                                   &arrives_now, &found->ready_time)
                                   : 0;
    if (status == PB_OK && arrives_now)
        status = apply_effects(level, time, true, err);
    present = pb_model_cache_peek(level->cache, piece->address, piece->sectors);
    found->hit = present & ~found->in_flight;
    found->missed = piece->sectors & ~found->hit & ~found->in_flight;
    return status;
}

/* What L1 keeps of sectors: themselves, or their words. */
static uint32_t widen(const struct pb_memory *memory, uint32_t sectors)
{
    uint32_t words = 0;

    for (; memory->has_words && sectors != 0; sectors &= sectors - 1)
        words |= UINT32_C(0xff) << SECTOR_WORDS * __builtin_ctz(sectors);
    return memory->has_words ? words : sectors;
}

static uint32_t narrow(const struct pb_memory *memory, uint32_t words)
{
    uint32_t sectors = 0;

    for (uint32_t i = 0; memory->has_words && i < 32 / SECTOR_WORDS; i++)
        sectors |= (uint32_t)((words >> SECTOR_WORDS * i & 0xff) != 0) << i;
    return memory->has_words ? sectors : words;
}

/* The words of which an access has a byte, or where `all`, all bytes. */
static uint32_t words_of(const struct piece *piece, bool all)
{
    uint32_t words = 0;

    for (unsigned i = 0; i < WORDED_LINE / WORD_BYTES; i++) {
        uint64_t bytes = piece->bytes[i / 16] >> WORD_BYTES * (i % 16) & 0xf;

        words |= (uint32_t)(all ? bytes == 0xf : bytes != 0) << i;
    }
    return words;
}

/*
 * What L1 has of an access, and all that it will have after it: of sectors of which it lacks a word
 * that is wanted, every word.
 */
static uint32_t find_present(const struct pb_memory *memory, const struct level *level,
                             const struct piece *piece, uint32_t *wanted_out)
{
    uint32_t wanted = memory->has_words ? words_of(piece, false) : piece->sectors;
    uint32_t present = pb_model_cache_peek(level->cache, piece->address, wanted);
    uint32_t lacking = narrow(memory, wanted & ~present);

    *wanted_out = wanted | widen(memory, lacking);
    return piece->sectors & ~lacking;
}

static enum pb_status look_up(struct pb_memory *memory, struct level *level,
                              const struct piece *piece, enum pb_residence residence, double time,
                              struct found *found, struct pb_error *err)
{
    struct pb_model_lookup lookup;
    uint32_t present, wanted;

    if (level->spec->fills_on_arrival)
        return look_up_on_arrival(level, piece, time,
                                  !memory->options.without[PB_EXTENSION_LATENCY], found, err);
    present = find_present(memory, level, piece, &wanted);
    if (residence == PB_RESIDENCE_TAKEN || residence == PB_RESIDENCE_NONE) {
        *found = (struct found){present, 0, piece->sectors & ~present, time, 0};
        if (residence == PB_RESIDENCE_TAKEN)
            pb_model_cache_drop(level->cache, piece->address);
        return PB_OK;
    }
    pb_model_cache_access(level->cache, piece->address, wanted, time, &lookup);
    if (residence != PB_RESIDENCE_ORDINARY)
        pb_model_cache_rank(level->cache, piece->address,
                            residence == PB_RESIDENCE_FIRST ? PB_MODEL_GOES_FIRST
                                                            : PB_MODEL_GOES_LAST);
    found->missed = narrow(memory, lookup.missed);
    found->in_flight = narrow(memory, lookup.in_flight) & ~found->missed;
    found->hit = piece->sectors & ~found->missed & ~found->in_flight;
    found->ready_time = lookup.in_flight != 0 ? lookup.ready_time : time;
    found->slot = lookup.slot;
    return PB_OK;
}

/* Notes the reuse distance of a line that was looked up, and reports it to the observer. */
static enum pb_status note_reuse(struct pb_memory *memory, struct level *level,
                                 const struct piece *piece, double time, const struct found *found,
                                 struct pb_error *err)
{
    const struct pb_memory_options *options = &memory->options;
    uint64_t line = pb_model_cache_line(level->cache, piece->address);
    uint64_t distance = 0;
    enum pb_status status = PB_OK;

    if (level->reuse != NULL && !level->spec->fills_on_arrival && options->observe == NULL)
        return pb_model_reuse_count(level->reuse, line, memory->reuse, err);
    if (level->reuse != NULL) {
        if (level->spec->fills_on_arrival)
            distance = pb_model_reuse_distance(level->reuse, line);
        else
            status = pb_model_reuse_access(level->reuse, line, &distance, err);
        if (status == PB_OK)
            pb_model_histogram_add(memory->reuse, distance);
    }
    if (options->observe != NULL)
        options->observe(options->observe_context,
                         &(struct pb_observation){time, line, distance,
                                                  found->hit == piece->sectors,
                                                  found->in_flight != 0});
    return status;
}

/* Lets what was found take effect, now or when it arrives. */
static enum pb_status take_effect_of(struct pb_memory *memory, struct level *level,
                                     const struct piece *piece, bool is_kept,
                                     const struct found *found, double hit_time, double arrival,
                                     struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (!level->spec->fills_on_arrival)
        return found->missed == 0 || !is_kept || memory->options.without[PB_EXTENSION_LATENCY]
                   ? PB_OK
                   : pb_model_cache_fill(level->cache, found->slot, widen(memory, found->missed),
                                         arrival, err);
    if (found->hit != 0)
        status = add_effect(level, hit_time, piece->address, found->hit, err);
    if (status == PB_OK && found->in_flight != 0)
        status = add_effect(level, found->ready_time, piece->address, found->in_flight, err);
    if (status == PB_OK && found->missed != 0)
        status = add_effect(level, arrival, piece->address, found->missed, err);
    if (status == PB_OK && found->missed != 0)
        status = note_arrival(level, piece->address, found->missed, arrival, err);
    return status;
}

/* Does the access need a register, i.e. miss anything that is not on its way? */
static enum pb_status needs_register(struct pb_memory *memory, struct level *level,
                                     const struct piece *pieces, size_t count, double time,
                                     bool *needs_out, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    *needs_out = false;
    for (size_t i = 0; i < count && status == PB_OK && !*needs_out; i++) {
        struct found found = {0};

        if (level->spec->fills_on_arrival)
            status = look_up(memory, level, &pieces[i], PB_RESIDENCE_ORDINARY, time, &found, err);
        else
            found.missed = pieces[i].sectors & ~find_present(memory, level, &pieces[i], &found.hit);
        *needs_out = found.missed != 0;
    }
    return status;
}

static unsigned gpc_of(const struct pb_memory *memory, const struct sm *sm)
{
    return memory->gpcs[sm - memory->sms];
}

/* One piece through L1 and what is below. *time_inout: when it is issued; its answer is later. */
static enum pb_status load_piece(struct pb_memory *memory, struct sm *sm, uint32_t warp_slot,
                                 const struct piece *piece, enum pb_residence residence,
                                 struct pb_access_counts *counts, double *time_inout,
                                 double *ready_time_inout, struct pb_error *err)
{
    struct level *level = &sm->l1;
    bool is_kept = residence != PB_RESIDENCE_NONE && residence != PB_RESIDENCE_TAKEN;
    struct found found;
    uint32_t kinds[PB_MISS_KIND_COUNT];
    double hit_time = *time_inout + draw(memory, &memory->machine->l1_hit);
    double arrival = *time_inout;
    enum pb_status status;

    status = look_up(memory, level, piece, residence, *time_inout, &found, err);
    if (status == PB_OK)
        status = note_reuse(memory, level, piece, *time_inout, &found, err);
    if (status != PB_OK)
        return status;
    if (found.missed != 0 && sm->mshr != NULL)
        *time_inout = pb_model_mshr_wait(sm->mshr, warp_slot, *time_inout);
    if (found.missed != 0) {
        status = use_below_l1(memory, gpc_of(memory, sm), piece, found.missed, *time_inout, counts,
                              &arrival, err);
        if (status == PB_OK && sm->mshr != NULL)
            status = pb_model_mshr_add(sm->mshr, warp_slot, arrival, err);
        if (status != PB_OK)
            return status;
    }
    status = classify(level, piece->address, piece->sectors, found.missed, is_kept, kinds, err);
    if (status != PB_OK)
        return status;
    counts->l1.hits += count_bits(found.hit);
    counts->l1.in_flight += count_bits(found.in_flight);
    for (size_t i = 0; i < PB_MISS_KIND_COUNT; i++)
        counts->l1.misses[i] += count_bits(kinds[i]);
    *ready_time_inout = fmax(*ready_time_inout, fmax(hit_time, fmax(arrival, found.ready_time)));
    return take_effect_of(memory, level, piece, is_kept, &found, hit_time, arrival, err);
}

/* Of a unit of a piece that was stored: all of it is known to L2 now, or was before. */
static bool is_whole(struct pb_memory *memory, const struct piece *piece, uint64_t unit, bool *full)
{
    uint32_t shift = (uint32_t)(unit % WORDED_LINE / WORD_BYTES);
    uint64_t words = words_of(piece, true) >> shift & 0xff, *written;

    *full = true;
    if (!memory->has_words || words == 0xff)
        return true;
    written = pb_line_map_at(&memory->written, unit / COUNTER_SECTOR);
    if (written == NULL)
        return false;
    *written |= words;
    *full = *written == 0xff;
    if (*full)
        *written = 0;
    return true;
}

/*
 * A store or an atomic in L2. Of a sector that is not all written, and was not there, nothing can
 * be read before the rest has come from memory.
 */
static enum pb_status write_below_l1(struct pb_memory *memory, unsigned gpc,
                                     const struct piece *piece, bool is_atomic, double time,
                                     struct pb_error *err)
{
    uint64_t first = piece->address, end = piece->address + memory->line_bytes;

    for (uint64_t at = first; at < end; at += COUNTER_SECTOR) {
        uint64_t line = at - at % memory->l2_line_bytes;
        uint32_t units = UINT32_C(1) << (at - line) / COUNTER_SECTOR;
        bool full = true;

        if ((piece->sectors >> (at - first) / memory->sector_bytes & 1) == 0)
            continue;
        if (!is_atomic && !is_whole(memory, piece, at, &full))
            return pb_fail(err, PB_NO_MEMORY, "out of memory for what was stored");
        if (full)
            write_l2_line(memory, gpc, line, units, is_atomic, time);
    }
    return PB_OK;
}

/* L1 keeps what was stored, or takes it away, by its policy and what the store says. */
static void store_in_l1(struct pb_memory *memory, struct sm *sm, const struct piece *piece,
                        enum pb_store_policy policy, enum pb_residence residence, double time)
{
    struct level *level = &sm->l1;
    uint32_t stored = memory->has_words ? words_of(piece, true) : piece->sectors;
    struct pb_model_lookup lookup;

    if (policy == PB_STORE_INVALIDATE) {
        pb_model_cache_invalidate(level->cache, piece->address, piece->sectors);
    } else if (policy == PB_STORE_ALLOCATE && residence != PB_RESIDENCE_NONE && stored != 0) {
        pb_model_cache_access(level->cache, piece->address, stored, time, &lookup);
        if (residence == PB_RESIDENCE_FIRST)
            pb_model_cache_rank(level->cache, piece->address, PB_MODEL_GOES_FIRST);
    }
}

/* Atomics are done in L2: L1 loses the line. */
static enum pb_status store_piece(struct pb_memory *memory, struct sm *sm,
                                  const struct piece *piece,
                                  const struct pb_instruction *instruction, double time,
                                  struct pb_error *err)
{
    bool is_atomic = instruction->kind == PB_KIND_ATOMIC;
    bool is_local = instruction->space == PB_SPACE_LOCAL;

    if (sm->l1.cache != NULL && is_atomic)
        pb_model_cache_drop(sm->l1.cache, piece->address);
    else if (sm->l1.cache != NULL)
        store_in_l1(memory, sm, piece, is_local ? PB_STORE_ALLOCATE : memory->machine->l1_stores,
                    instruction->residence, time);
    if (memory->machine->l2.level == NULL)
        return PB_OK;
    return write_below_l1(memory, gpc_of(memory, sm), piece, is_atomic, time, err);
}

/* Of a line of WORDED_LINE bytes. */
static void add_bytes(struct piece *piece, uint64_t begin, uint64_t end)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t base = piece->address + i * 64;
        uint64_t low = begin > base ? begin - base : 0, high = end > base ? end - base : 0;

        if (low < 64 && high > low)
            piece->bytes[i] |= (high >= 64 ? UINT64_MAX : (UINT64_C(1) << high) - 1) & UINT64_MAX
                                                                                           << low;
    }
}

/* The part of [begin, end) that lies in the line of L1 at `address`. */
static struct piece piece_of(const struct pb_memory *memory, uint64_t address, uint64_t begin,
                             uint64_t end)
{
    struct piece piece = {address, 0, {0, 0}};

    for (uint64_t at = address; at < address + memory->line_bytes; at += memory->sector_bytes)
        if (at < end && at + memory->sector_bytes > begin)
            piece.sectors |= UINT32_C(1) << (at - address) / memory->sector_bytes;
    add_bytes(&piece, begin, end);
    return piece;
}

/* A bulk copy or reduction to global memory is done in L2, line by line; L1 loses these lines. */
static enum pb_status store_range(struct pb_memory *memory, struct sm *sm, uint64_t address,
                                  uint64_t bytes, bool is_atomic, double time, struct pb_error *err)
{
    uint64_t end = address + bytes;
    enum pb_status status = PB_OK;

    for (uint64_t line = address - address % memory->line_bytes; line < end && status == PB_OK;
         line += memory->line_bytes) {
        struct piece piece = piece_of(memory, line, address, end);

        if (sm->l1.cache != NULL)
            pb_model_cache_drop(sm->l1.cache, line);
        if (memory->machine->l2.level != NULL)
            status = write_below_l1(memory, gpc_of(memory, sm), &piece, is_atomic, time, err);
    }
    return status;
}

void pb_memory_empty_l1(struct pb_memory *memory, uint32_t sm)
{
    struct level *level = &memory->sms[sm].l1;

    if (level->cache == NULL)
        return;
    pb_model_cache_clear(level->cache);
    if (level->ideal != NULL)
        pb_model_cache_clear(level->ideal);
    pb_line_map_clear(&level->seen);
}

/* ---- accesses ---- */

/* The address as the options lay it out. */
static uint64_t place(const struct pb_memory *memory, uint64_t address)
{
    const struct pb_pitch_change *change = &memory->options.change;
    uint64_t offset = address - change->begin;

    if (address < change->begin || address >= change->end)
        return address;
    return address + offset / change->pitch_bytes * change->padding_bytes;
}

static uint64_t local_address(const struct pb_memory *memory, uint32_t sm, uint32_t warp_slot,
                              uint32_t lane, uint64_t offset)
{
    uint64_t warp = (uint64_t)sm * memory->warp_slots + warp_slot;

    return LOCAL_BASE + warp * LOCAL_SPAN + offset / 4 * 4 * PB_LANES_MAX + lane * 4 + offset % 4;
}

static struct piece *add_sector(struct piece *pieces, size_t *count, uint64_t line, uint32_t sector)
{
    size_t i = *count;

    while (i > 0 && pieces[i - 1].address != line)
        i--;
    if (i == 0) {
        i = ++*count;
        pieces[i - 1] = (struct piece){line, 0, {0, 0}};
    }
    pieces[i - 1].sectors |= sector;
    return &pieces[i - 1];
}

/* The distinct sectors of an access by line, in the order of the lanes. */
static size_t coalesce(const struct pb_memory *memory, uint32_t sm, uint32_t warp_slot,
                       const struct pb_access *access, bool is_local, struct piece *pieces)
{
    size_t count = 0;
    size_t rank = 0;
    uint32_t bytes =
        access->bytes > memory->line_bytes ? (uint32_t)memory->line_bytes : access->bytes;

    if (memory->line_bytes == 0 || memory->sector_bytes == 0)
        return 0;
    for (uint32_t mask = access->lane_mask; mask != 0; mask &= mask - 1, rank++) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        uint64_t begin = access->address[rank];
        uint64_t end;

        begin = is_local ? local_address(memory, sm, warp_slot, lane, begin) : place(memory, begin);
        end = begin + (bytes > 0 ? bytes : 1);
        for (uint64_t at = begin - begin % memory->sector_bytes; at < end;
             at += memory->sector_bytes) {
            uint64_t line = at - at % memory->line_bytes;

            if (count < PIECES_MAX)
                add_bytes(add_sector(pieces, &count, line,
                                     UINT32_C(1) << (at - line) / memory->sector_bytes),
                          begin, end);
        }
    }
    return count;
}

/* Boyer and Moore's majority of a sequence of differences. */
static void vote(struct pb_stride *stride, int64_t bytes)
{
    if (stride->weight == 0)
        stride->bytes = bytes;
    if (stride->bytes == bytes)
        stride->weight++;
    else
        stride->weight--;
}

static void note_strides(struct pb_memory *memory, uint32_t sm, uint32_t warp_slot,
                         const struct pb_access *access, struct pb_instruction_counts *counts)
{
    size_t lanes = (size_t)__builtin_popcount(access->lane_mask);
    struct recent *recent = &memory->recent[(size_t)sm * memory->warp_slots + warp_slot]
                                           [access->instruction % RECENT_COUNT];

    for (size_t i = 1; i < lanes; i += lanes / 2)
        vote(&counts->lane, (int64_t)(access->address[i] - access->address[i - 1]));
    if (recent->instruction == access->instruction + 1)
        vote(&counts->step, (int64_t)(access->address[0] - recent->address));
    recent->instruction = access->instruction + 1;
    recent->address = access->address[0];
}

static enum pb_status grow_instructions(struct pb_memory *memory, struct pb_error *err)
{
    size_t count = *memory->kernel->instruction_count;
    struct pb_instruction_counts *grown =
        realloc(memory->instructions, (count + 64) * sizeof(*grown));

    if (grown == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu instructions", count);
    memset(grown + memory->instruction_count, 0,
           (count + 64 - memory->instruction_count) * sizeof(*grown));
    memory->instructions = grown;
    memory->instruction_count = count + 64;
    return PB_OK;
}

static size_t find_allocation(struct pb_memory *memory, uint64_t address)
{
    const struct pb_allocation *allocations = memory->kernel->allocations;
    size_t low = 0;
    size_t high = memory->kernel->allocation_count;
    size_t last = memory->last_allocation;

    if (last < high && address - allocations[last].address < allocations[last].bytes)
        return last;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (allocations[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || address - allocations[low - 1].address >= allocations[low - 1].bytes)
        return memory->kernel->allocation_count;
    memory->last_allocation = low - 1;
    return low - 1;
}

static void add_counts(struct pb_access_counts *to, const struct pb_access_counts *from)
{
    to->accesses += from->accesses;
    to->sectors += from->sectors;
    to->lines += from->lines;
    to->bytes += from->bytes;
    to->l2_merged += from->l2_merged;
    add_levels(&to->l1, &from->l1);
    add_levels(&to->l2, &from->l2);
}

/* Aligned blocks that [address, address + bytes) touches. */
static uint64_t count_blocks(uint64_t address, uint64_t bytes, uint64_t block_bytes)
{
    return bytes == 0 ? 0 : (address + bytes - 1) / block_bytes - address / block_bytes + 1;
}

static void account(struct pb_memory *memory, const struct pb_access *access, bool is_bulk,
                    const struct piece *pieces, size_t count, struct pb_access_counts *counts)
{
    counts->accesses = 1;
    counts->bytes = count_bits(access->lane_mask) * access->bytes;
    counts->lines = count;
    for (size_t i = 0; i < count; i++)
        counts->sectors += count_bits(pieces[i].sectors);
    if (is_bulk && count > 0) {
        counts->lines = count_blocks(access->address[0], access->bytes, memory->line_bytes);
        counts->sectors = count_blocks(access->address[0], access->bytes, memory->sector_bytes);
    }
    add_counts(&memory->instructions[access->instruction].counts, counts);
    add_counts(&memory->allocations[find_allocation(memory, access->address[0])], counts);
}

static enum pb_status load(struct pb_memory *memory, struct sm *sm, uint32_t warp_slot,
                           const struct piece *pieces, size_t count, enum pb_residence residence,
                           struct pb_access_counts *counts, double time,
                           struct pb_access_outcome *outcome, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    double issue = time;
    bool needs = false;

    if (sm->mshr != NULL)
        status = needs_register(memory, &sm->l1, pieces, count, time, &needs, err);
    if (needs) {
        double free_time = pb_model_mshr_next(sm->mshr, warp_slot, time);

        outcome->is_refused = free_time > time;
        outcome->ready_time = free_time;
        if (outcome->is_refused)
            return PB_OK;
    }
    outcome->ready_time = time;
    for (size_t i = 0; i < count && status == PB_OK; i++)
        status = load_piece(memory, sm, warp_slot, &pieces[i], residence, counts, &issue,
                            &outcome->ready_time, err);
    outcome->issue_time = fmax(issue, time + 1.0);
    return status;
}

/* What does not enter L1: loads past it, bulk copies. The warp waits for loads to registers. */
static enum pb_status load_past_l1(struct pb_memory *memory, unsigned gpc,
                                   const struct pb_access *access, const struct piece *pieces,
                                   size_t count, bool is_bulk, struct pb_access_counts *counts,
                                   double time, struct pb_access_outcome *outcome,
                                   struct pb_error *err)
{
    enum pb_status status = PB_OK;

    outcome->ready_time = time;
    if (memory->machine->l2.level == NULL) {
        outcome->ready_time = time + draw(memory, &memory->machine->dram);
        return PB_OK;
    }
    if (is_bulk)
        return use_l2_range(memory, gpc, access->address[0], access->bytes, time, counts,
                            &outcome->ready_time, err);
    for (size_t i = 0; i < count && status == PB_OK; i++) {
        double ready_time;

        status = use_below_l1(memory, gpc, &pieces[i], pieces[i].sectors, time, counts, &ready_time,
                              err);
        outcome->ready_time = fmax(outcome->ready_time, ready_time);
    }
    return status;
}

enum pb_status pb_memory_access(void *context, uint32_t sm_number, uint32_t warp_slot,
                                const struct pb_access *access, double time,
                                struct pb_access_outcome *outcome, struct pb_error *err)
{
    struct pb_memory *memory = context;
    struct sm *sm = &memory->sms[sm_number];
    const struct pb_instruction *instruction =
        &(*memory->kernel->instructions)[access->instruction];
    bool is_local = instruction->space == PB_SPACE_LOCAL;
    bool is_bulk = instruction->way == PB_WAY_BULK;
    struct pb_access_counts counts = {0};
    struct piece pieces[PIECES_MAX];
    size_t count = coalesce(memory, sm_number, warp_slot, access, is_local, pieces);
    enum pb_status status = PB_OK;

    if (access->instruction >= memory->instruction_count)
        status = grow_instructions(memory, err);
    *outcome = (struct pb_access_outcome){.ready_time = time, .issue_time = time + 1.0};
    if (status != PB_OK)
        return status;
    memory->fetch_bytes = instruction->fetch_bytes;
    if (is_bulk && instruction->kind != PB_KIND_LOAD && memory->line_bytes > 0) {
        status = store_range(memory, sm, access->address[0], access->bytes,
                             instruction->kind == PB_KIND_ATOMIC, time, err);
    } else if (instruction->kind == PB_KIND_STORE || instruction->kind == PB_KIND_ATOMIC) {
        for (size_t i = 0; i < count && status == PB_OK; i++)
            status = store_piece(memory, sm, &pieces[i], instruction, time, err);
    } else if (instruction->bypasses_l1 || is_bulk || sm->l1.cache == NULL ||
               instruction->kind == PB_KIND_PREFETCH) {
        for (size_t i = 0;
             i < count && sm->l1.cache != NULL && instruction->bypasses_l1 && !is_bulk; i++)
            pb_model_cache_drop(sm->l1.cache, pieces[i].address);
        status = load_past_l1(memory, gpc_of(memory, sm), access, pieces, count, is_bulk, &counts,
                              time, outcome, err);
    } else {
        status = load(memory, sm, warp_slot, pieces, count, instruction->residence, &counts, time,
                      outcome, err);
    }
    if (status != PB_OK || outcome->is_refused)
        return status;
    outcome->issue_time =
        fmax(outcome->issue_time,
             time + 1.0 + memory->machine->line_cycles * (double)(count > 0 ? count - 1 : 0));
    if (outcome->ready_time < outcome->issue_time || instruction->kind == PB_KIND_PREFETCH)
        outcome->ready_time = outcome->issue_time; /* a prefetch has no answer to wait for */
    account(memory, access, is_bulk, pieces, count, &counts);
    note_strides(memory, sm_number, warp_slot, access, &memory->instructions[access->instruction]);
    return PB_OK;
}

/* ---- beginning and end ---- */

static enum pb_status make_sms(struct pb_memory *memory, struct pb_error *err)
{
    const struct pb_machine *machine = memory->machine;
    bool has_mshr = machine->mshr_per_sm > 0 && !memory->options.without[PB_EXTENSION_MSHR] &&
                    !memory->options.without[PB_EXTENSION_LATENCY];
    enum pb_status status = PB_OK;

    if (machine->l1.level != NULL)
        memory->l1 = *machine->l1.level;
    if (memory->has_words)
        memory->l1.shape.sector_bytes = WORD_BYTES;
    if (!memory->l1.has_policy) {
        memory->l1.shape.policy = machine->l1_keeps_hits ? PB_MODEL_KEEP_HITS : PB_MODEL_LRU;
        memory->l1.has_policy = true;
    }
    if (machine->l1.level != NULL && machine->l1.draws_high_bits)
        status = draw_masks(&memory->l1, memory->options.seed, err);
    for (uint32_t i = 0; i < memory->sm_count && status == PB_OK; i++) {
        if (machine->l1.level != NULL)
            status =
                open_level(memory, &machine->l1, memory->options.seed + i, &memory->sms[i].l1, err);
        if (status == PB_OK && memory->reuse != NULL && machine->l1.level != NULL)
            status = pb_model_reuse_create(&memory->sms[i].l1.reuse, err);
        if (status == PB_OK && has_mshr)
            status = pb_model_mshr_create(machine->mshr_per_sm, 0, memory->warp_slots,
                                          &memory->sms[i].mshr, err);
    }
    for (unsigned i = 0; i < machine->l2_sides && machine->l2.level != NULL && status == PB_OK; i++)
        status = open_level(memory, &machine->l2, memory->options.seed + memory->sm_count + i,
                            &memory->l2[i], err);
    return status;
}

/*
 * Which GPC an SM is of where that was not measured. TPCs, pairs of SMs, are numbered round robin
 * over the GPCs; the first GPC has no part in it after four rounds, and the last four TPCs are its
 * own. So on some H100s and H200s of 132 SMs; of other GPUs it is an assumption.
 */
static unsigned assume_gpc(const struct pb_machine *machine, uint32_t sm)
{
    uint32_t count = machine->gpc_count;
    uint32_t tpc = sm / TPC_SMS;
    uint32_t tpcs = machine->sm_count / TPC_SMS;

    if (count < 2 || tpc < GPC_ROUNDS * count)
        return count < 2 ? 0 : tpc % count;
    return tpc + GPC_ROUNDS >= tpcs ? 0 : 1 + (tpc - GPC_ROUNDS * count) % (count - 1);
}

const struct pb_topology *pb_memory_topology(const struct pb_machine *machine,
                                             const struct pb_kernel *kernel)
{
    const struct pb_topology *topology = machine->topology;

    if (topology == NULL || topology->gpcs == NULL || topology->sm_count != machine->sm_count ||
        machine->device[0] == '\0' || strcmp(machine->device, kernel->device) != 0)
        return NULL;
    for (size_t sm = 0; sm < topology->sm_count; sm++)
        if (topology->gpcs[sm] >= PB_GPCS_MAX)
            return NULL;
    return topology;
}

/*
 * Of every SM the GPC, and of every GPC the side of L2. Where sides were measured, a GPC is on that
 * of most of its SMs; else half of the GPCs, at random, are on each.
 */
static void find_places(struct pb_memory *memory)
{
    const struct pb_machine *machine = memory->machine;
    const struct pb_topology *topology = pb_memory_topology(machine, memory->kernel);
    uint32_t count = machine->gpc_count > 1 ? machine->gpc_count : 1;
    int balance[PB_GPCS_MAX] = {0};

    for (uint32_t i = 0; i < count; i++)
        memory->gpc_sides[i] = (unsigned char)(i % machine->l2_sides);
    gsl_ran_shuffle(memory->random, memory->gpc_sides, count, 1);
    for (uint32_t i = 0; i < memory->sm_count; i++) {
        uint32_t sm = memory->kernel->sms == NULL ? i : memory->kernel->sms[i];

        memory->gpcs[i] =
            (unsigned char)(topology != NULL && sm < topology->sm_count ? topology->gpcs[sm]
                                                                        : assume_gpc(machine, sm));
    }
    if (topology == NULL || topology->l2_sides == NULL || machine->l2_sides < 2)
        return;
    for (size_t sm = 0; sm < topology->sm_count; sm++)
        balance[topology->gpcs[sm]] += topology->l2_sides[sm] != 0 ? 1 : -1;
    for (uint32_t i = 0; i < PB_GPCS_MAX; i++)
        memory->gpc_sides[i] = balance[i] > 0;
}

enum pb_status pb_memory_create(const struct pb_machine *machine,
                                const struct pb_memory_options *options,
                                const struct pb_kernel *kernel, uint32_t sm_count,
                                uint32_t warp_slots, struct pb_memory **memory_out,
                                struct pb_error *err)
{
    struct pb_memory *memory = calloc(1, sizeof(*memory));
    enum pb_status status;

    if (memory == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the caches of a kernel");
    memory->machine = machine;
    memory->options = *options;
    memory->kernel = kernel;
    memory->sm_count = sm_count;
    memory->warp_slots = warp_slots;
    if (machine->l1.level != NULL)
        shape_of(&machine->l1, &memory->line_bytes, &memory->sector_bytes);
    else
        memory->line_bytes = 128, memory->sector_bytes = COUNTER_SECTOR;
    memory->has_words = machine->l1_stores == PB_STORE_ALLOCATE &&
                        memory->line_bytes == WORDED_LINE && memory->sector_bytes == COUNTER_SECTOR;
    memory->l2_group = 1;
    if (machine->l2.level != NULL) {
        memory->l2_level = *machine->l2.level;
        shape_of(&machine->l2, &memory->l2_line_bytes, &memory->l2_sector_bytes);
        if (memory->l2_sector_bytes % COUNTER_SECTOR == 0 &&
            memory->l2_line_bytes / COUNTER_SECTOR <= PB_MODEL_SECTORS_MAX)
            memory->l2_group = (uint32_t)(memory->l2_sector_bytes / COUNTER_SECTOR);
        memory->l2_level.shape.sector_bytes = memory->l2_sector_bytes / memory->l2_group;
    }
    memory->sms = calloc(sm_count, sizeof(*memory->sms));
    memory->gpcs = calloc(sm_count, 1);
    memory->recent = calloc((size_t)sm_count * warp_slots, sizeof(*memory->recent));
    memory->allocations = calloc(kernel->allocation_count + 1, sizeof(*memory->allocations));
    memory->random = gsl_rng_alloc(gsl_rng_mt19937);
    if (options->wants_reuse)
        memory->reuse = calloc(1, sizeof(*memory->reuse));
    if ((options->wants_reuse && memory->reuse == NULL) || memory->sms == NULL ||
        memory->gpcs == NULL || memory->recent == NULL || memory->allocations == NULL ||
        memory->random == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory for the caches of %u SMs", sm_count);
    else
        status = make_sms(memory, err);
    if (status != PB_OK) {
        pb_memory_destroy(memory);
        return status;
    }
    gsl_rng_set(memory->random, (unsigned long)(options->seed + 1));
    find_places(memory);
    *memory_out = memory;
    return PB_OK;
}

void pb_memory_destroy(struct pb_memory *memory)
{
    if (memory == NULL)
        return;
    for (uint32_t i = 0; memory->sms != NULL && i < memory->sm_count; i++) {
        close_level(&memory->sms[i].l1);
        pb_model_mshr_destroy(memory->sms[i].mshr);
    }
    for (size_t i = 0; i < PB_SIDES_MAX; i++) {
        close_level(&memory->l2[i]);
    }
    for (size_t i = 0; i < PB_GPCS_MAX; i++)
        pb_line_map_clear(&memory->requests[i]);
    pb_line_map_clear(&memory->written);
    free(memory->gpcs);
    free(memory->sms);
    free(memory->recent);
    free(memory->instructions);
    free(memory->allocations);
    free(memory->reuse);
    if (memory->random != NULL)
        gsl_rng_free(memory->random);
    free(memory);
}

const struct pb_instruction_counts *pb_memory_instructions(const struct pb_memory *memory,
                                                           size_t *count_out)
{
    size_t known = *memory->kernel->instruction_count;

    *count_out = known < memory->instruction_count ? known : memory->instruction_count;
    return memory->instructions;
}

const struct pb_access_counts *pb_memory_allocations(const struct pb_memory *memory)
{
    return memory->allocations;
}

enum pb_status pb_memory_take_reuse(struct pb_memory *memory, struct pb_model_histogram **reuse_out,
                                    struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (uint32_t i = 0; i < memory->sm_count && status == PB_OK; i++)
        if (memory->sms[i].l1.reuse != NULL)
            status = pb_model_reuse_count_rest(memory->sms[i].l1.reuse, memory->reuse, err);
    if (status != PB_OK)
        return status;
    *reuse_out = memory->reuse;
    memory->reuse = NULL;
    return PB_OK;
}
