/*
 * What the model of a kernel's accesses costs: accesses of warps and line accesses a second and
 * pass, from the trace in memory to the counts. N14's own program: 0.09 to 0.155 M line accesses.
 *
 *   bench_kernel PROFILE.json [BLOCKS]   264 blocks of 256 threads if not given
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analysis/kernel/machine.h"
#include "analysis/kernel/predict.h"

enum { WARPS = 8, STEPS = 256 };

enum pattern { COALESCED, COLUMNS, RANDOM, PATTERN_COUNT };

static const char *const pattern_names[PATTERN_COUNT] = {
    "coalesced, every line used 8 times", "columns: a line for each lane", "random over 64 MiB"};

/* A kernel that is made up as it is read. */
struct made_up {
    struct pb_kernel kernel;
    struct pb_instruction instruction;
    const struct pb_instruction *instructions;
    size_t instruction_count;
    enum pattern pattern;
    uint64_t block, random;
    uint32_t warp, step;
};

static enum pb_status restart(void *state, struct pb_error *err)
{
    struct made_up *trace = state;

    (void)err;
    trace->block = trace->warp = trace->step = 0;
    trace->random = 1;
    return PB_OK;
}

static const struct pb_kernel *get_kernel(const void *state)
{
    return &((const struct made_up *)state)->kernel;
}

static uint64_t make_address(struct made_up *trace, uint64_t warp, uint32_t lane)
{
    switch (trace->pattern) {
    case COALESCED:
        return warp * STEPS * 16 + trace->step / 8 * 128 + lane * 4;
    case COLUMNS:
        return (warp * PB_LANES_MAX + lane) * 4096 + trace->step * 4;
    default:
        trace->random = trace->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        return (trace->random >> 38) * 4;
    }
}

static enum pb_status next_event(void *state, uint32_t stream, struct pb_trace_event *event,
                                 struct pb_error *err)
{
    struct made_up *trace = state;

    (void)stream;
    (void)err;
    event->block = trace->block;
    event->warp = trace->warp;
    if (trace->block == trace->kernel.block_count) {
        event->kind = PB_EVENT_STREAM_END;
    } else if (trace->step < STEPS) {
        event->kind = PB_EVENT_ACCESS;
        event->access = (struct pb_access){.lane_mask = UINT32_MAX, .bytes = 4};
        for (uint32_t i = 0; i < PB_LANES_MAX; i++)
            event->access.address[i] = make_address(trace, trace->block * WARPS + trace->warp, i);
        trace->step++;
    } else {
        event->kind = PB_EVENT_WARP_END;
        trace->step = 0;
        trace->warp = (trace->warp + 1) % WARPS;
        trace->block += trace->warp == 0;
    }
    return PB_OK;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void time_pattern(const struct pb_machine *machine, enum pattern pattern, uint32_t blocks,
                         int has_classes)
{
    static const struct pb_trace_ops ops = {
        .format = "made up", .restart = restart, .kernel = get_kernel, .next = next_event};
    struct made_up made = {.pattern = pattern, .instruction_count = 1};
    struct pb_trace trace = {&ops, &made};
    struct pb_predict_options options = {
        .carveout_bytes = -1,
        .memory = {.has_no_classes = !has_classes, .wants_reuse = has_classes}};
    struct pb_prediction prediction;
    struct pb_error err = PB_ERROR_INIT;
    struct rusage usage;
    double start = now();
    double seconds;

    made.instructions = &made.instruction;
    made.kernel = (struct pb_kernel){.grid = {blocks, 1, 1},
                                     .block = {WARPS * PB_LANES_MAX, 1, 1},
                                     .block_count = blocks,
                                     .warp_count = WARPS,
                                     .shared_bytes = -1,
                                     .carveout_bytes = -1,
                                     .stream_count = 1,
                                     .instructions = &made.instructions,
                                     .instruction_count = &made.instruction_count};
    if (pb_predict(&trace, machine, &options, &prediction, &err) != PB_OK) {
        fprintf(stderr, "bench_kernel: %s\n", err.message);
        exit(EXIT_FAILURE);
    }
    seconds = now() - start;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-36s %-12s %8.3f %10.2f %10.2f %10.1f\n", pattern_names[pattern],
           has_classes ? "with kinds" : "rates only", seconds,
           1e-6 * (double)prediction.loads.accesses / seconds,
           1e-6 * (double)prediction.loads.lines / seconds, (double)usage.ru_maxrss / 1024.0);
    pb_prediction_clear(&prediction);
}

int main(int argc, char **argv)
{
    uint32_t blocks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 264;
    struct pb_model_hierarchy hierarchy;
    struct pb_execution execution;
    struct pb_machine machine;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_json root;

    if (argc < 2 || blocks == 0) {
        fprintf(stderr, "usage: bench_kernel PROFILE.json [BLOCKS]\n");
        return EXIT_FAILURE;
    }
    if (pb_json_load(argv[1], &root, &err) != PB_OK ||
        pb_model_hierarchy_from_json(&root, NULL, &hierarchy, &err) != PB_OK ||
        pb_execution_from_json(&root, &execution, &err) != PB_OK ||
        pb_machine_make(&hierarchy, &execution, "bench", &machine, &err) != PB_OK) {
        fprintf(stderr, "bench_kernel: %s\n", err.message);
        return EXIT_FAILURE;
    }
    printf("%-36s %-12s %8s %10s %10s %10s\n", "loads", "", "s", "Mwarp/s", "Mline/s", "MiB");
    for (int pattern = 0; pattern < PATTERN_COUNT; pattern++)
        for (int has_classes = 1; has_classes >= 0; has_classes--)
            time_pattern(&machine, (enum pattern)pattern, blocks, has_classes);
    pb_model_hierarchy_clear(&hierarchy);
    json_decref(root.value);
    return EXIT_SUCCESS;
}
