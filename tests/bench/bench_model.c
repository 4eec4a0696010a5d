/*
 * What the forward model costs: line accesses a second of caches of several shapes, and of exact
 * reuse distances, over patterns from all hits to all misses.
 *
 *   bench_model [MILLIONS]   accesses of each kind; 20 if not given
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/model/cache.h"
#include "analysis/model/mshr.h"
#include "analysis/model/reuse.h"

enum { ADDRESSES = 1 << 20 };

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Lines of 128 bytes, at random over `lines` of them, or in order. */
static void make_addresses(uint64_t *addresses, uint64_t lines, int is_random)
{
    uint64_t random = 1;

    for (uint64_t i = 0; i < ADDRESSES; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        addresses[i] = (is_random ? (random >> 33) % lines : i % lines) * 128;
    }
}

static void time_cache(const char *name, const struct pb_model_shape *shape,
                       const uint64_t *addresses, size_t count, int with_times)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_model_cache *cache = NULL;
    struct pb_model_lookup lookup;
    size_t hits = 0;
    double start;

    if (pb_model_cache_create(shape, 1, &cache, &err) != PB_OK) {
        fprintf(stderr, "bench_model: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
    start = now();
    for (size_t i = 0; i < count; i++) {
        pb_model_cache_access(cache, addresses[i % ADDRESSES], 0xf, (double)i, &lookup);
        hits += lookup.missed == 0;
        if (with_times && lookup.missed != 0)
            pb_model_cache_fill(cache, lookup.slot, lookup.missed, (double)(i + 300), &err);
    }
    printf("%-44s %8.1f M/s  %5.1f%% hit\n", name, 1e-6 * (double)count / (now() - start),
           100.0 * (double)hits / (double)count);
    pb_model_cache_destroy(cache);
}

static void time_reuse(const char *name, const uint64_t *addresses, size_t count)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_model_reuse *reuse = NULL;
    struct pb_model_histogram *histogram = calloc(1, sizeof(*histogram));
    double start = now();

    if (histogram == NULL || pb_model_reuse_create(&reuse, &err) != PB_OK)
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < count; i++)
        if (pb_model_reuse_count(reuse, addresses[i % ADDRESSES] / 128, histogram, &err) != PB_OK)
            exit(EXIT_FAILURE);
    printf("%-44s %8.1f M/s  %zu lines\n", name, 1e-6 * (double)count / (now() - start),
           pb_model_reuse_lines(reuse));
    pb_model_reuse_destroy(reuse);
    free(histogram);
}

int main(int argc, char **argv)
{
    static const double weights[] = {1, 3, 1, 1};
    static uint64_t addresses[ADDRESSES];
    size_t count = (size_t)((argc > 1 ? atof(argv[1]) : 20.0) * 1e6);
    struct pb_model_shape l1 = {.line_bytes = 128,
                                .sector_bytes = 32,
                                .set_count = 512,
                                .way_count = 4,
                                .index_masks = {0x30080, 0x60100, 0x40200, 0x20400, 0x70800,
                                                0x51000, 0x52000, 0x4000, 0x48000},
                                .index_mask_count = 9};
    struct pb_model_shape wide = {
        .line_bytes = 128, .sector_bytes = 32, .set_count = 4, .way_count = 512};
    struct pb_model_shape l2 = {
        .line_bytes = 128, .sector_bytes = 32, .set_count = 15360, .way_count = 16};
    char name[64];

    make_addresses(addresses, 1900, 0);
    time_cache("512 x 4, xor, lru, in order, fits", &l1, addresses, count, 0);
    make_addresses(addresses, 4000, 1);
    for (int policy = 0; policy < PB_MODEL_POLICY_COUNT; policy++) {
        l1.policy = (enum pb_model_policy)policy;
        l1.way_weights = l1.policy == PB_MODEL_WEIGHTED ? weights : NULL;
        snprintf(name, sizeof(name), "512 x 4, xor, %s, at random over 2x",
                 pb_model_policy_name(l1.policy));
        time_cache(name, &l1, addresses, count, 0);
    }
    l1.policy = PB_MODEL_LRU;
    time_cache("the same, lru, with times of arrival", &l1, addresses, count, 1);
    l1.capacity_lines = 1192;
    time_cache("the same, lru, beside a carve-out", &l1, addresses, count, 0);
    time_cache("4 x 512, modulo, lru, at random over 2x", &wide, addresses, count, 0);
    time_reuse("reuse distances, at random", addresses, count);
    make_addresses(addresses, 500000, 1);
    time_cache("15360 x 16, lru, at random over 2x", &l2, addresses, count, 0);
    time_reuse("reuse distances, at random", addresses, count);
    return EXIT_SUCCESS;
}
