/*
 * What does reading a GPU's state cost, field by field?
 *
 *   bench_state UUID [REPEATS]                            nvidia-smi -L shows UUIDs
 *   mpirun -n 4 sh -c 'bench_state $(nvidia-smi -L | …)'  several at once: what each
 *                                                         takes of the others
 *
 * A battery reads the state behind every test. Each field is timed alone (remapped rows, which
 * one call gives for four fields, four times), then a whole reading.
 *
 * Limit: a call that this driver refuses shows as fast.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/record.h"
#include "core/time.h"
#include "device/nvml/nvml_calls.h"

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

/* All calls may be missing: only that of one field is left. */
static double time_field(const struct pb_nvml *nvml, int field, int repeats)
{
    struct pb_nvml alone = *nvml;

    memset(alone.state_calls, 0, sizeof(alone.state_calls));
    alone.state_calls[field] = nvml->state_calls[field];
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
    for (int i = 0; i < PB_STATE_FIELD_COUNT; i++)
        printf("%-20s %8.3f ms\n", pb_state_column((enum pb_state_field)i),
               1e3 * time_field(nvml, i, repeats));
    printf("%-20s %8.3f ms\n", "all", 1e3 * time_reading(nvml, repeats));
    pb_nvml_close(nvml);
    return EXIT_SUCCESS;
}
