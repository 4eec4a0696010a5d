/*
 * How fast the simulated device is: loads per second of this host for chases that a battery takes.
 *
 *   bench_simulator
 *
 * Each row repeats one chase until enough time has passed. Laps count the timed loads, traces the
 * recorded ones: a trace longer than the window under a policy with random victims is chased again
 * from its start for every window, and its row shows what that costs. The simulated cycles of a
 * load stand beside, so that a row that hits is distinguished from one that misses.
 *
 * Limit: one thread, no noise but the profile's, and no faults.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/time.h"
#include "device/device.h"

struct scene {
    const char *profile, *cache; /* the cache under the chase, in words */
    enum pb_path path;
    uint64_t footprint_bytes, stride_bytes;
    bool is_random, is_trace;
};

#define KIB(n) ((uint64_t)(n) << 10)

static const struct scene scenes[] = {
    {"gtx470", "L1 16 KiB, 4 ways, LRU", PB_PATH_GLOBAL_CA, KIB(12), 128, false, false},
    {"gtx470", "the same, overflowing", PB_PATH_GLOBAL_CA, KIB(24), 128, false, false},
    {"gtx470", "the same, traced", PB_PATH_GLOBAL_CA, KIB(24), 128, false, true},
    {"gtx780", "read-only 12 KiB, 96 ways, LRU", PB_PATH_READONLY, KIB(8), 32, false, false},
    {"gtx780", "the same, overflowing", PB_PATH_READONLY, KIB(24), 32, false, false},
    {"gtx560ti", "L2 512 KiB, 16 ways, random", PB_PATH_GLOBAL_CG, KIB(256), 32, false, false},
    {"gtx560ti", "the same, overflowing", PB_PATH_GLOBAL_CG, KIB(1024), 32, false, false},
    {"gtx560ti", "the same, traced", PB_PATH_GLOBAL_CG, KIB(1024), 32, false, true},
    {"h200", "L2 50 MiB, 16 ways, LRU", PB_PATH_GLOBAL_CG, KIB(32 << 10), 128, true, false},
    {"h200", "the same, overflowing", PB_PATH_GLOBAL_CG, KIB(128 << 10), 128, true, false},
};

static const double least_seconds = 0.5;
enum { TIMED_LOADS = 1 << 20 };

struct rate {
    uint64_t loads;
    double seconds, cycles;
};

/* splitmix64: the same order on every host. */
static void shuffle(uint64_t *offsets, size_t count)
{
    uint64_t state = 1;

    for (size_t i = count; i > 1; i--) {
        uint64_t z = state += 0x9e3779b97f4a7c15u, kept = offsets[i - 1];
        size_t k;

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        k = (size_t)((z ^ (z >> 31)) % i);
        offsets[i - 1] = offsets[k];
        offsets[k] = kept;
    }
}

static double cycles_of(const struct pb_chase *chase, const struct pb_chase_trace *trace)
{
    double sum = 0;

    if (chase->record == 0)
        return (double)trace->total_cycles / (double)chase->timed;
    for (size_t i = 0; i < trace->count; i++)
        sum += trace->latency_cycles[i];
    return sum / (double)trace->count;
}

/* Repeats the chase until least_seconds have passed. */
static enum pb_status time_chase(struct pb_device *device, const struct pb_chase *chase,
                                 struct pb_chase_trace *trace, struct rate *rate_out,
                                 struct pb_error *err)
{
    struct rate rate = {.loads = 0};
    double start = pb_time_monotonic_seconds();

    while (rate.seconds < least_seconds) {
        enum pb_status status = device->ops->chase(device, chase, trace, err);

        if (status != PB_OK)
            return status;
        rate.loads += chase->record > 0 ? chase->record : chase->timed;
        rate.seconds = pb_time_monotonic_seconds() - start;
    }
    rate.cycles = cycles_of(chase, trace);
    *rate_out = rate;
    return PB_OK;
}

static enum pb_status take(struct pb_device *device, const struct scene *scene,
                           struct rate *rate_out, struct pb_error *err)
{
    size_t slots = (size_t)(scene->footprint_bytes / scene->stride_bytes);
    uint64_t *offsets = malloc(slots * sizeof(*offsets));
    struct pb_chase_trace trace = {.latency_cycles = malloc(slots * sizeof(*trace.latency_cycles)),
                                   .index_bytes = malloc(slots * sizeof(*trace.index_bytes))};
    struct pb_chase chase = {.path = scene->path,
                             .offset_bytes = offsets,
                             .offset_count = slots,
                             .warm = slots,
                             .record = scene->is_trace ? slots : 0,
                             .timed = scene->is_trace ? 0 : TIMED_LOADS,
                             .carveout_bytes = -1,
                             .sm = -1};
    enum pb_status status;

    if (offsets == NULL || trace.latency_cycles == NULL || trace.index_bytes == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "no memory for a chase of %zu slots", slots);
    } else {
        for (size_t i = 0; i < slots; i++)
            offsets[i] = i * scene->stride_bytes;
        if (scene->is_random)
            shuffle(offsets, slots);
        status = time_chase(device, &chase, &trace, rate_out, err);
    }
    free(trace.index_bytes);
    free(trace.latency_cycles);
    free(offsets);
    return status;
}

static enum pb_status print_scene(const struct scene *scene, struct pb_error *err)
{
    struct pb_device_request request = {.profile = scene->profile, .host = "bench", .seed = 1};
    struct pb_device *device;
    struct rate rate = {.loads = 0};
    enum pb_status status = pb_device_sim.open(&request, &device, err);

    if (status != PB_OK)
        return status;
    status = take(device, scene, &rate, err);
    pb_device_sim.close(device);
    if (status != PB_OK)
        return status;
    printf("%-9s %-31s %-10s %9llu %7llu %-10s %-5s %8.1f %9.2f\n", scene->profile, scene->cache,
           pb_path_name(scene->path), (unsigned long long)scene->footprint_bytes >> 10,
           (unsigned long long)scene->stride_bytes, scene->is_random ? "random" : "sequential",
           scene->is_trace ? "traced" : "timed", rate.cycles,
           (double)rate.loads / rate.seconds * 1e-6);
    return PB_OK;
}

int main(void)
{
    struct pb_error err = PB_ERROR_INIT;

    printf("%-9s %-31s %-10s %9s %7s %-10s %-5s %8s %9s\n", "profile", "cache", "path", "size, KiB",
           "step, B", "order", "mode", "cycles", "Mload/s");
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        if (print_scene(&scenes[i], &err) == PB_OK)
            continue;
        fprintf(stderr, "bench_simulator: %s, %s: %s\n", scenes[i].profile, scenes[i].cache,
                err.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
