/* A toy cache that records like the battery; see synthetic.h. */
#include "analysis/synthetic.h"

#include <stdlib.h>
#include <string.h>

enum { BASE_ADDRESS = 1 << 30, SECTORS_MAX = 64 };

/* One line of the toy cache. */
struct slot {
    uint64_t tag;     /* line number + 1; 0: empty */
    uint64_t sectors; /* bit i: sector i is there */
    uint64_t used;    /* time of the last access */
};

static uint64_t next_random(struct synthetic_noise *noise)
{
    uint64_t z = noise->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t synthetic_random(struct synthetic_noise *noise, uint64_t end)
{
    return next_random(noise) % end;
}

uint32_t synthetic_latency(struct synthetic_noise *noise, uint32_t cycles)
{
    double draw = (double)(next_random(noise) >> 11) / 9007199254740992.0;
    uint32_t latency = cycles + noise->overhead_cycles;

    latency += (uint32_t)synthetic_random(noise, noise->jitter_cycles + 1);
    return draw < noise->spike_probability ? latency + noise->spike_cycles : latency;
}

static struct pb_point make_point(const char *path, const char *mode, const char *phase,
                                  uint64_t footprint_bytes, uint64_t stride_bytes)
{
    struct pb_point point = {.footprint_bytes = footprint_bytes,
                             .stride_bytes = stride_bytes,
                             .base_address = BASE_ADDRESS,
                             .sm_id = -1};

    PB_TEXT_SET(point.path, path);
    PB_TEXT_SET(point.order, "sequential");
    PB_TEXT_SET(point.mode, mode);
    PB_TEXT_SET(point.phase, phase);
    return point;
}

void synthetic_constant(struct pb_series *series, struct synthetic_noise *noise, const char *path,
                        const char *phase, uint32_t cycles, size_t count)
{
    struct pb_point point = make_point(path, "traced", phase, 8 * count, 8);
    uint32_t *latency = malloc((count + 1) * sizeof(*latency));
    uint64_t *index = malloc((count + 1) * sizeof(*index));

    for (size_t i = 0; i < count; i++) {
        latency[i] = synthetic_latency(noise, cycles);
        index[i] = 8 * i;
    }
    point.count = point.window = count;
    point.overhead_cycles = noise->overhead_cycles;
    if (pb_series_append(series, &point, latency, index, NULL) != PB_OK)
        abort();
    free(index);
    free(latency);
}

void synthetic_pass(struct pb_series *series, const char *path, const char *phase,
                    uint64_t footprint_bytes, uint64_t stride_bytes, uint64_t loads, uint64_t total)
{
    struct pb_point point = make_point(path, "timed", phase, footprint_bytes, stride_bytes);

    point.timed = loads;
    point.total_cycles = total;
    if (pb_series_append(series, &point, NULL, NULL, NULL) != PB_OK)
        abort();
}

/* Looks an address up, fills what is missing, and returns whether it was there. */
static bool access_line(const struct synthetic_cache *cache, struct slot *slots,
                        struct synthetic_noise *noise, uint64_t offset, uint64_t time)
{
    uint64_t line = offset / cache->line_bytes, set = offset / cache->chunk_bytes % cache->sets;
    uint64_t sector = (uint64_t)1 << (offset % cache->line_bytes / cache->sector_bytes);
    struct slot *ways = slots + set * cache->ways, *victim = &ways[0];

    for (uint32_t i = 0; i < cache->ways; i++) {
        if (ways[i].tag == line + 1) {
            bool hit = (ways[i].sectors & sector) != 0;

            ways[i].sectors |= sector;
            ways[i].used = time;
            return hit;
        }
        if (ways[i].used < victim->used)
            victim = &ways[i];
    }
    if (cache->random && victim->tag != 0)
        victim = &ways[synthetic_random(noise, cache->ways)];
    *victim = (struct slot){line + 1, sector, time};
    return false;
}

void synthetic_chase(struct pb_series *series, const struct synthetic_cache *cache,
                     struct synthetic_noise *noise, const char *path, const char *phase,
                     uint64_t footprint_bytes, uint64_t stride_bytes, unsigned warm_passes,
                     bool timed)
{
    struct pb_point point =
        make_point(path, timed ? "timed" : "traced", phase, footprint_bytes, stride_bytes);
    size_t count = (size_t)((footprint_bytes + stride_bytes - 1) / stride_bytes);
    struct slot *slots = calloc((size_t)cache->sets * cache->ways, sizeof(*slots));
    uint32_t *latency = calloc(count + 1, sizeof(*latency));
    uint64_t *index = calloc(count + 1, sizeof(*index)), time = 1;

    for (unsigned pass = 0; pass <= warm_passes; pass++) {
        for (size_t i = 0; i < count; i++) {
            bool hit = access_line(cache, slots, noise, i * stride_bytes, time++);
            uint32_t cycles = hit ? cache->hit_cycles : cache->miss_cycles;

            index[i] = i * stride_bytes;
            latency[i] = synthetic_latency(noise, cycles);
            point.total_cycles += pass == warm_passes && timed ? cycles : 0;
        }
    }
    point.warm = warm_passes * count;
    point.count = point.window = timed ? 0 : count;
    point.timed = timed ? count : 0;
    point.overhead_cycles = noise->overhead_cycles;
    if (pb_series_append(series, &point, latency, index, NULL) != PB_OK)
        abort();
    free(index);
    free(latency);
    free(slots);
}

uint64_t synthetic_capacity_bytes(const struct synthetic_cache *cache)
{
    return cache->line_bytes * cache->sets * cache->ways;
}

/* "reference" by the path, and for L1 also past it; "miss": accesses that must miss. */
static void add_references(struct pb_series *series, const struct synthetic_cache *cache,
                           struct synthetic_noise *noise, const char *path)
{
    synthetic_constant(series, noise, path, "reference", cache->hit_cycles, 512);
    synthetic_pass(series, path, "reference", 1024, 32, 4096, (uint64_t)4096 * cache->hit_cycles);
    if (strcmp(path, "global_ca") == 0)
        synthetic_constant(series, noise, "global_cg", "reference", cache->miss_cycles, 512);
    synthetic_constant(series, noise, path, "miss", cache->miss_cycles, 512);
}

void synthetic_capacity(struct pb_recording *recording, const struct synthetic_cache *cache,
                        struct synthetic_noise *noise, const char *path)
{
    uint64_t capacity = synthetic_capacity_bytes(cache), unit = cache->sector_bytes;
    struct pb_series *series = &recording->series;

    add_references(series, cache, noise, path);
    for (uint64_t footprint = capacity / 16; footprint <= 2 * capacity; footprint *= 2)
        synthetic_chase(series, cache, noise, path, "coarse", footprint, unit, 2, true);
    for (uint64_t step = capacity / 4; step >= unit; step /= 2) {
        synthetic_chase(series, cache, noise, path, "bisect", capacity + step, unit, 2, false);
        synthetic_chase(series, cache, noise, path, "bisect", capacity - step, unit, 2, false);
    }
    synthetic_chase(series, cache, noise, path, "bisect", capacity, unit, 2, false);
    for (uint64_t i = 0; i <= 16; i++)
        synthetic_chase(series, cache, noise, path, "fine", capacity + i * capacity / 16, unit, 2,
                        true);
}

void synthetic_line(struct pb_recording *recording, const struct synthetic_cache *cache,
                    struct synthetic_noise *noise, const char *path)
{
    uint64_t capacity = synthetic_capacity_bytes(cache), unit = cache->sector_bytes;
    const uint64_t excess[] = {unit, 2 * unit, 4 * unit, capacity / 32 + unit, capacity / 8 + unit};
    struct pb_series *series = &recording->series;

    add_references(series, cache, noise, path);
    synthetic_chase(series, cache, noise, path, "cold", 4096, 8, 0, false);
    for (size_t i = 0; i < sizeof(excess) / sizeof(excess[0]); i++)
        synthetic_chase(series, cache, noise, path, "overflow", capacity + excess[i], unit, 2,
                        false);
    for (unsigned i = 0; i < 4; i++)
        synthetic_chase(series, cache, noise, path, "stride", capacity / 4 * 5, unit << i, 2,
                        false);
}

void synthetic_clock(struct pb_recording *recording, double mhz, double mhz_later)
{
    static const char *const clocks[] = {"cycles", "ns"};
    struct pb_matrix *matrix = &recording->matrix;
    double samples[64], cycles = 0;

    for (int i = 0; i < 64; i++)
        samples[i] = i;
    if (pb_axis_set_values(&matrix->axes[0], "sample", "", "", samples, 64, NULL) != PB_OK ||
        pb_axis_set_labels(&matrix->axes[1], "clock", "", clocks, 2, NULL) != PB_OK ||
        pb_matrix_allocate(matrix, "cycle or ns", "", NULL) != PB_OK)
        abort();
    for (int i = 0; i < 64; i++) {
        matrix->values[2 * i] = cycles;
        matrix->values[2 * i + 1] = 1e6 * i;
        cycles += 1e3 * (i < 32 ? mhz : mhz_later);
    }
}

void synthetic_begin(struct pb_recording *recording, const char *test)
{
    memset(recording, 0, sizeof(*recording));
    PB_TEXT_SET(recording->name, test);
    recording->outcome = PB_TEST_OK;
    recording->sm_id = -1;
}
