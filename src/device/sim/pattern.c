/*
 * The pattern test of a simulated device's memory: as long as writing and reading it takes, and
 * wrong where an injected bit flip strikes. No word is really kept.
 */
#include <math.h>

#include "device/sim/limits.h"
#include "device/sim/simulator.h"

enum { WORD_BYTES = 8 };

/* The first of `count` wrong words that lie evenly among `words`. */
static uint64_t first_of(struct pb_sim_random *random, uint64_t count, uint64_t words)
{
    double share = 1.0 - pow(1.0 - pb_sim_random_unit(random), 1.0 / (double)count);
    uint64_t word = (uint64_t)(share * (double)words);

    return word < words ? word : words - 1;
}

enum pb_status pb_sim_pattern(struct pb_device *base, const struct pb_pattern *pattern,
                              struct pb_pattern_result *result_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    uint64_t available = pb_sim_limits_free_bytes(device->profile), words;
    enum pb_status status = pb_sim_device_check(device, err);
    struct pb_pattern_result result = {0};

    if (status != PB_OK)
        return status;
    if (pattern->passes == 0 || (pattern->bytes > 0 && pattern->bytes < WORD_BYTES))
        return pb_fail(err, PB_INVALID, "pattern: nothing to write");
    words = (pattern->bytes > 0 && pattern->bytes < available ? pattern->bytes : available) /
            WORD_BYTES;
    result.bytes_tested = words * WORD_BYTES;
    result.mismatch_count = pb_sim_device_mismatches(device, words * pattern->passes);
    if (result.mismatch_count > 0) {
        uint64_t bit = UINT64_C(1) << pb_sim_random_below(&device->random, 64);

        result.address = PB_SIM_ALLOCATION_ADDRESS +
                         WORD_BYTES * first_of(&device->random, result.mismatch_count, words);
        result.expected = pb_sim_mix(result.address ^ pattern->seed);
        result.found = result.expected ^ bit;
    }
    /* written once and read once in every pass */
    result.seconds =
        2.0 * (double)result.bytes_tested * pattern->passes / pb_sim_device_bandwidth(device);
    device->seconds += result.seconds;
    *result_out = result;
    return PB_OK;
}
