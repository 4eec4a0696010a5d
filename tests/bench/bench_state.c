/*
 * What does reading a GPU's state cost, call by call?
 *
 *   bench_state UUID [REPEATS]                            nvidia-smi -L shows UUIDs
 *   mpirun -n 4 sh -c 'bench_state $(nvidia-smi -L | …)'  several at once: what they take of each
 * other
 *
 * A battery reads the state behind every test. Each call of NVML is timed alone, as often as one
 * reading makes it (links are asked for one by one), then a whole reading.
 *
 * Limit: a call that this driver refuses shows as fast.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "core/time.h"
#include "device/nvml/nvml_calls.h"

#define CALL(name) #name, offsetof(struct pb_nvml_calls, name)

static const struct {
    const char *name;
    size_t offset;
} calls[] = {
    {CALL(clock)},          {CALL(power)},
    {CALL(temperature)},    {CALL(field_values)},
    {CALL(reasons)},        {CALL(ecc_errors)},
    {CALL(remapped_rows)},  {CALL(pcie_generation)},
    {CALL(pcie_width)},     {CALL(pcie_generation_max)},
    {CALL(pcie_width_max)}, {CALL(pcie_replays)},
    {CALL(memory)},         {CALL(processes)},
    {CALL(nvlink_state)},   {CALL(violation)},
};

/* Of one reading. */
static double time_reading(struct pb_nvml *nvml, int repeats)
{
    double start = pb_time_monotonic_seconds();
    struct pb_state state;

    for (int i = 0; i < repeats; i++) {
        pb_state_clear(&state);
        pb_nvml_read_state(nvml, &state);
    }
    return (pb_time_monotonic_seconds() - start) / repeats;
}

/* All calls may be missing: one alone is left. */
static double time_call(const struct pb_nvml *nvml, size_t offset, int repeats)
{
    struct pb_nvml alone = *nvml;

    memset(&alone.call, 0, sizeof(alone.call));
    memcpy((char *)&alone.call + offset, (const char *)&nvml->call + offset,
           sizeof(void (*)(void)));
    return time_reading(&alone, repeats);
}

int main(int argc, char **argv)
{
    int repeats = argc > 2 ? atoi(argv[2]) : 100;
    struct pb_nvml *nvml = argc > 1 && repeats > 0 ? pb_nvml_open(argv[1], "") : NULL;

    if (nvml == NULL) {
        fprintf(stderr, "Usage: bench_state UUID [REPEATS], of a GPU that NVML knows\n");
        return EXIT_FAILURE;
    }
    time_reading(nvml, 1); /* the first is slower */
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        printf("%-20s %8.3f ms\n", calls[i].name, 1e3 * time_call(nvml, calls[i].offset, repeats));
    printf("%-20s %8.3f ms\n", "all", 1e3 * time_reading(nvml, repeats));
    pb_nvml_close(nvml);
    return EXIT_SUCCESS;
}
