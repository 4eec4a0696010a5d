/*
 * Recordings with known truth, for tests of the inference.
 *
 * A toy cache (LRU or random, with sectors, with several lines of one set in a row) answers
 * chases as the battery takes them. It shares nothing with the simulated devices, nor with the
 * inference.
 */
#ifndef PB_TESTS_ANALYSIS_SYNTHETIC_H
#define PB_TESTS_ANALYSIS_SYNTHETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "core/record.h"

/* What every access suffers. */
struct synthetic_noise {
    uint32_t overhead_cycles;
    uint32_t jitter_cycles; /* 0 … this, evenly */
    double spike_probability;
    uint32_t spike_cycles;
    uint64_t state; /* of the random numbers */
};

struct synthetic_cache {
    uint64_t line_bytes, sector_bytes;
    uint64_t chunk_bytes; /* consecutive bytes of one set; line_bytes: plain modulo */
    uint32_t sets, ways;
    bool random; /* else LRU */
    uint32_t hit_cycles, miss_cycles;
};

/* From 0 to below `end`. */
uint64_t synthetic_random(struct synthetic_noise *noise, uint64_t end);

/* An access of `cycles` as it is recorded: with overhead, jitter and perhaps a spike. */
uint32_t synthetic_latency(struct synthetic_noise *noise, uint32_t cycles);

/* A trace of `count` accesses that all take `cycles`, at offsets 0, 8, …. */
void synthetic_constant(struct pb_series *series, struct synthetic_noise *noise, const char *path,
                        const char *phase, uint32_t cycles, size_t count);

/* A timed pass of `loads` loads in `total` cycles. */
void synthetic_pass(struct pb_series *series, const char *path, const char *phase,
                    uint64_t footprint_bytes, uint64_t stride_bytes, uint64_t loads,
                    uint64_t total);

/* One sequential chase: warm_passes untouched ones, then one pass traced, or timed. */
void synthetic_chase(struct pb_series *series, const struct synthetic_cache *cache,
                     struct synthetic_noise *noise, const char *path, const char *phase,
                     uint64_t footprint_bytes, uint64_t stride_bytes, unsigned warm_passes,
                     bool timed);

/* All phases of a capacity test and of a line test, as the battery takes them. */
void synthetic_capacity(struct pb_recording *recording, const struct synthetic_cache *cache,
                        struct synthetic_noise *noise, const char *path);
void synthetic_line(struct pb_recording *recording, const struct synthetic_cache *cache,
                    struct synthetic_noise *noise, const char *path);

/* 64 samples of a clock of `mhz` that becomes `mhz_later` half way. */
void synthetic_clock(struct pb_recording *recording, double mhz, double mhz_later);

uint64_t synthetic_capacity_bytes(const struct synthetic_cache *cache);

/* Names a recording and makes it ok. */
void synthetic_begin(struct pb_recording *recording, const char *test);

#endif
