/* The model of a kernel's accesses against what N14's tables and arithmetic say it must find. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/kernel/machine.h"
#include "analysis/kernel/predict.h"

enum { OBSERVATIONS_MAX = 64 };

#define COLD PB_MODEL_COLD

struct observations {
    struct pb_observation items[OBSERVATIONS_MAX];
    size_t count;
};

static void observe(void *context, const struct pb_observation *observation)
{
    struct observations *observations = context;

    assert_true(observations->count < OBSERVATIONS_MAX);
    observations->items[observations->count++] = *observation;
}

/* Opens a trace that holds this text, at its kernel. */
static void open_trace(const char *text, struct pb_trace *trace_out)
{
    char path[] = "/tmp/test_kernel_model-XXXXXX";
    int file = mkstemp(path);
    struct pb_error err = PB_ERROR_INIT;
    bool found = false;

    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    if (pb_trace_open_text(path, trace_out, &err) != PB_OK)
        fail_msg("%s", err.message);
    assert_int_equal(trace_out->ops->next_kernel(trace_out->state, &found, &err), PB_OK);
    assert_true(found);
    unlink(path); /* N14's traces are in memory once they are open */
}

/* The paper's machine: one SM, lines of four elements (here bytes), one thread a warp. */
struct paper {
    struct pb_model_level level;
    struct pb_model_hierarchy hierarchy;
    struct pb_machine machine;
};

static void make_paper(struct paper *paper, size_t lines, double hit, double miss)
{
    memset(paper, 0, sizeof(*paper));
    PB_TEXT_SET(paper->level.memory, "l1");
    paper->level.shape = (struct pb_model_shape){
        .line_bytes = 4, .sector_bytes = 4, .set_count = 1, .way_count = lines};
    paper->level.has_sets = paper->level.has_policy = true;
    paper->level.fits_bytes = 4 * lines;
    paper->machine = (struct pb_machine){
        .hierarchy = &paper->hierarchy,
        .sm_count = 1,
        .threads_per_sm = 1536,
        .blocks_per_sm = 8,
        .l1 = {.level = &paper->level, .fills_on_arrival = true},
        .l1_hit = {hit, 0.0},
        .dram = {miss, 0.0},
    };
}

/* The paper's example: thread t loads x[2t] and then x[2t + 1]. */
static const char example[] = "blocksize: 1 1 1\n"
                              "0 0 0 1\n0 0 1 1\n"
                              "1 0 2 1\n1 0 3 1\n"
                              "2 0 4 1\n2 0 5 1\n"
                              "3 0 6 1\n3 0 7 1\n";

static void run_paper(struct paper *paper, const char *text, bool has_latency,
                      struct observations *seen)
{
    struct pb_predict_options options = {
        .memory = {.wants_reuse = true, .observe = observe, .observe_context = seen},
        .carveout_bytes = -1,
    };
    struct pb_prediction prediction;
    struct pb_trace trace;
    struct pb_error err = PB_ERROR_INIT;

    seen->count = 0;
    /* Tables 2 to 5 are before the paper's section 4.5: warps take turns whatever they wait for. */
    options.memory.without[PB_EXTENSION_DIVERGENCE] = true;
    options.memory.without[PB_EXTENSION_LATENCY] = !has_latency;
    open_trace(text, &trace);
    if (pb_predict(&trace, &paper->machine, &options, &prediction, &err) != PB_OK)
        fail_msg("%s", err.message);
    pb_prediction_clear(&prediction);
    pb_trace_close(&trace);
}

static void check_distances(const struct observations *seen, const uint64_t *distances,
                            size_t count)
{
    assert_int_equal(seen->count, count);
    for (size_t i = 0; i < count; i++)
        if (seen->items[i].distance != distances[i])
            fail_msg("lookup %zu: distance %llu, expected %llu", i,
                     (unsigned long long)seen->items[i].distance, (unsigned long long)distances[i]);
}

static void test_kernel_model__table_2_threads_take_turns(void **state)
{
    static const uint64_t distances[] = {COLD, 0, COLD, 0, 1, 0, 1, 0};
    struct observations seen;
    struct paper paper;

    (void)state;
    make_paper(&paper, 8, 0.0, 0.0);
    run_paper(&paper, example, false, &seen);
    check_distances(&seen, distances, 8);
}

static void test_kernel_model__table_3_fixed_latency_delays_the_effect(void **state)
{
    static const uint64_t distances[] = {COLD, COLD, COLD, COLD, 0, 1, 0, 1};
    struct observations seen;
    struct paper paper;

    (void)state;
    make_paper(&paper, 8, 2.0, 2.0);
    run_paper(&paper, example, true, &seen);
    check_distances(&seen, distances, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(seen.items[i].is_hit, i >= 4);
}

static void test_kernel_model__table_4_latency_depends_on_the_hit(void **state)
{
    static const uint64_t distances[] = {COLD, COLD, COLD, COLD, 0, 0, 1, 0};
    struct observations seen;
    struct paper paper;

    (void)state;
    make_paper(&paper, 2, 0.0, 2.0);
    run_paper(&paper, example, true, &seen);
    check_distances(&seen, distances, 8);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(seen.items[i].is_hit, i >= 4);
    assert_true(seen.items[1].is_in_flight && seen.items[3].is_in_flight);
}

static void test_kernel_model__table_5_one_register_holds_threads_back(void **state)
{
    static const uint64_t distances[] = {COLD, 0, COLD, COLD};
    static const double times[] = {0.0, 2.0, 3.0, 4.0};
    static const char text[] = "blocksize: 1 1 1\n0 0 0 1\n0 0 1 1\n1 0 4 1\n1 0 5 1\n";
    struct observations seen;
    struct paper paper;

    (void)state;
    make_paper(&paper, 2, 0.0, 2.0);
    paper.machine.mshr_per_sm = 1;
    run_paper(&paper, text, true, &seen);
    check_distances(&seen, distances, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(seen.items[i].time - times[i]) < 1e-9);
    assert_true(seen.items[1].is_hit);
    assert_true(seen.items[3].is_in_flight); /* it shares the register of its line */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_model__table_2_threads_take_turns),
        cmocka_unit_test(test_kernel_model__table_3_fixed_latency_delays_the_effect),
        cmocka_unit_test(test_kernel_model__table_4_latency_depends_on_the_hit),
        cmocka_unit_test(test_kernel_model__table_5_one_register_holds_threads_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
