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

#include "analysis/kernel/explain.h"
#include "analysis/kernel/machine.h"
#include "analysis/kernel/stack_distance.h"

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
        .l2_sides = 1,
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

/* ---- devices ---- */

struct device {
    struct pb_model_hierarchy hierarchy;
    struct pb_machine machine;
};

/* A shipped profile, as a document of plumb-model. */
static void load_device(const char *name, struct device *device)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_execution execution;
    struct pb_json root;
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.json", PLUMB_PROFILES, name);
    if (pb_json_load(path, &root, &err) != PB_OK ||
        pb_model_hierarchy_from_json(&root, NULL, &device->hierarchy, &err) != PB_OK ||
        pb_execution_from_json(&root, &execution, &err) != PB_OK ||
        pb_machine_make(&device->hierarchy, &execution, name, &device->machine, &err) != PB_OK)
        fail_msg("%s", err.message);
    json_decref(root.value);
}

/* A text that grows. */
struct text {
    char *bytes;
    size_t length;
    FILE *file;
};

static void begin_text(struct text *text, const char *start)
{
    text->file = open_memstream(&text->bytes, &text->length);
    assert_non_null(text->file);
    fputs(start, text->file);
}

static struct pb_prediction predict(struct device *device, struct text *text,
                                    const struct pb_predict_options *options)
{
    struct pb_prediction prediction;
    struct pb_trace trace;
    struct pb_error err = PB_ERROR_INIT;

    fflush(text->file);
    open_trace(text->bytes, &trace);
    if (pb_predict(&trace, &device->machine, options, &prediction, &err) != PB_OK)
        fail_msg("%s", err.message);
    pb_trace_close(&trace);
    return prediction;
}

static uint64_t misses_without(struct device *device, struct text *text, enum pb_extension one,
                               enum pb_extension other)
{
    struct pb_predict_options options = {.carveout_bytes = -1};
    struct pb_prediction prediction;
    uint64_t misses;

    if (one != PB_EXTENSION_COUNT)
        options.memory.without[one] = true;
    if (other != PB_EXTENSION_COUNT)
        options.memory.without[other] = true;
    prediction = predict(device, text, &options);
    misses = pb_counts_misses(&prediction.loads.l1);
    pb_prediction_clear(&prediction);
    return misses;
}

static void end_text(struct text *text, struct device *device)
{
    fclose(text->file);
    free(text->bytes);
    pb_model_hierarchy_clear(&device->hierarchy);
}

/* N14 figure 3: each thread of one block copies a row, of rows `pitch` bytes apart. */
static void write_column_copy(struct text *text, size_t threads, size_t columns, size_t pitch)
{
    for (size_t thread = 0; thread < threads; thread++)
        for (size_t column = 0; column < columns; column++)
            fprintf(text->file, "%zu 0 %zu 4\n", thread, thread * pitch + 4 * column);
}

/* Eight warps load the same cold line: four sectors miss, once; the others meet them on their way.
 */
static void test_kernel_model__in_flight_is_a_hit_on_hopper(void **state)
{
    struct pb_predict_options options = {.carveout_bytes = -1};
    struct device device;
    struct text text;
    struct pb_prediction prediction;

    (void)state;
    load_device("h200", &device);
    begin_text(&text, "blocksize: 256 1 1\n");
    for (int thread = 0; thread < 256; thread++)
        fprintf(text.file, "%d 0 %d 4\n", thread, 4096 + thread % 32 * 4);
    prediction = predict(&device, &text, &options);
    assert_int_equal(prediction.loads.accesses, 8);
    assert_int_equal(prediction.loads.sectors, 32);
    assert_int_equal(prediction.loads.l1.hits + prediction.loads.l1.in_flight, 28);
    assert_int_equal(prediction.loads.l1.misses[PB_MISS_COMPULSORY], 4);
    assert_int_equal(prediction.all_reads.l2.hits + prediction.all_reads.l2.in_flight +
                         pb_counts_misses(&prediction.all_reads.l2),
                     4);
    pb_prediction_clear(&prediction);
    end_text(&text, &device);
}

/* A word that is stored, loaded, stored, loaded: misses of the loads, by what stores do to L1. */
static uint64_t misses_behind_stores(enum pb_store_policy stores)
{
    struct pb_predict_options options = {.carveout_bytes = -1};
    struct device device;
    struct text text;
    struct pb_prediction prediction;
    uint64_t misses;

    load_device("h200", &device);
    assert_int_equal(device.machine.l1_stores, PB_STORE_ALLOCATE); /* as an H200's tridiagonal */
    assert_int_equal(device.machine.home_mask, 0xb3000);
    device.machine.l1_stores = stores;
    device.machine.l2_sides = 1;
    begin_text(&text, "blocksize: 32 1 1\n0 1 4096 4\n0 0 4096 4\n0 1 4096 4\n0 0 4096 4\n");
    prediction = predict(&device, &text, &options);
    assert_int_equal(prediction.stores, 2);
    assert_int_equal(pb_counts_misses(&prediction.all_reads.l2), 0); /* in L2 they do allocate */
    misses = prediction.loads.l1.misses[PB_MISS_COMPULSORY];
    assert_int_equal(prediction.loads.l1.hits, 2 - misses);
    pb_prediction_clear(&prediction);
    end_text(&text, &device);
    return misses;
}

/* Where stores only update, the second one leaves the sector there that the first load brought. */
static void test_kernel_model__stores_allocate_in_l1_only_where_the_machine_does(void **state)
{
    (void)state;
    assert_int_equal(misses_behind_stores(PB_STORE_UPDATE), 1);
    assert_int_equal(misses_behind_stores(PB_STORE_ALLOCATE), 0);
}

static void test_kernel_model__loads_past_l1_do_not_enter_it(void **state)
{
    static const char text[] =
        "-kernel name = k\n-grid dim = (1,1,1)\n-block dim = (32,1,1)\n"
        "-accelsim tracer version = 5\n#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 3\n"
        "0 ffffffff 1 R1 LDG.E.STRONG.GPU 1 R2 4 1 0x1000 4 0\n"
        "10 ffffffff 1 R1 LDG.E.STRONG.GPU 1 R2 4 1 0x1000 4 0\n"
        "20 ffffffff 1 R1 LDG.E 1 R2 4 1 0x1000 4 0\n#END_TB\n";
    char path[] = "/tmp/test_kernel_model-XXXXXX";
    struct pb_predict_options options = {.carveout_bytes = -1};
    struct device device;
    struct pb_prediction prediction;
    struct pb_trace trace;
    int file = mkstemp(path);
    bool found = false;

    (void)state;
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    load_device("h200", &device);
    assert_int_equal(pb_trace_open_text(path, &trace, NULL), PB_OK);
    assert_int_equal(trace.ops->next_kernel(trace.state, &found, NULL), PB_OK);
    assert_int_equal(pb_predict(&trace, &device.machine, &options, &prediction, NULL), PB_OK);
    assert_int_equal(prediction.loads.sectors, 12);
    assert_int_equal(pb_counts_misses(&prediction.loads.l1), 4); /* of the last load alone */
    assert_int_equal(prediction.loads.l1.hits, 0);
    assert_int_equal(prediction.all_reads.l2.hits, 8); /* of the second and the last */
    assert_int_equal(pb_counts_misses(&prediction.all_reads.l2), 4);
    pb_prediction_clear(&prediction);
    pb_trace_close(&trace);
    pb_model_hierarchy_clear(&device.hierarchy);
    unlink(path);
}

/* Each half of L2 misses a line once that SMs on both sides read; requests that meet are merged. */
static void test_kernel_model__halves_of_l2_miss_each(void **state)
{
    struct pb_predict_options options = {.carveout_bytes = -1};
    struct device device;
    struct text text;
    struct pb_prediction one, two, merged;

    (void)state;
    load_device("h200", &device);
    begin_text(&text, "blocksize: 32 1 1\n");
    for (int thread = 0; thread < 64 * 32; thread++)
        fprintf(text.file, "%d 0 %d 4\n", thread, 4096 + thread % 32 * 4);
    merged = predict(&device, &text, &options);
    options.memory.without[PB_EXTENSION_LATENCY] = true;
    two = predict(&device, &text, &options);
    device.machine.l2_sides = 1;
    one = predict(&device, &text, &options);
    assert_int_equal(pb_counts_misses(&one.loads.l1), 64 * 4);
    assert_int_equal(pb_counts_misses(&one.all_reads.l2), 4);
    /* What one half fetched from the other is there for the SMs of that one. */
    assert_in_range(pb_counts_misses(&two.all_reads.l2), 5, 8);
    assert_int_equal(two.all_reads.l2_merged, 0);
    assert_true(merged.all_reads.l2_merged > 100);
    assert_int_equal(merged.all_reads.l2_merged + merged.all_reads.l2.hits +
                         merged.all_reads.l2.in_flight + pb_counts_misses(&merged.all_reads.l2),
                     64 * 4);
    pb_prediction_clear(&one);
    pb_prediction_clear(&two);
    pb_prediction_clear(&merged);
    end_text(&text, &device);
}

/* One warp after the other uses its lines up before the next one comes: only first uses miss. */
static void test_kernel_model__without_hierarchy_threads_do_not_compete(void **state)
{
    struct device device;
    struct text text;
    uint64_t alone, together;

    (void)state;
    load_device("gtx470", &device);
    begin_text(&text, "blocksize: 512 1 1\n");
    write_column_copy(&text, 512, 32, 4096 + 128);
    alone = misses_without(&device, &text, PB_EXTENSION_HIERARCHY, PB_EXTENSION_COUNT);
    together = misses_without(&device, &text, PB_EXTENSION_COUNT, PB_EXTENSION_COUNT);
    assert_int_equal(alone, 512);
    assert_true(together > 2 * alone);
    end_text(&text, &device);
}

/* N14 4.4: with 256 threads and more, few registers let some run ahead, which saves misses. */
static void test_kernel_model__registers_let_threads_run_ahead(void **state)
{
    struct device device;
    struct text text;
    uint64_t limited, unlimited;

    (void)state;
    load_device("gtx470", &device);
    begin_text(&text, "blocksize: 512 1 1\n");
    write_column_copy(&text, 512, 32, 4096 + 128);
    limited = misses_without(&device, &text, PB_EXTENSION_COUNT, PB_EXTENSION_COUNT);
    unlimited = misses_without(&device, &text, PB_EXTENSION_MSHR, PB_EXTENSION_COUNT);
    assert_true(limited < unlimited);
    end_text(&text, &device);
}

/* Rows a power of two apart meet in few sets; a fully associative cache does not mind. */
static void test_kernel_model__associativity_makes_conflicts(void **state)
{
    struct pb_predict_options options = {.carveout_bytes = -1};
    struct device device;
    struct text text;
    struct pb_prediction prediction;

    (void)state;
    load_device("gtx470", &device);
    begin_text(&text, "blocksize: 32 1 1\n");
    write_column_copy(&text, 32, 64, 1 << 20); /* above all bits of the index */
    prediction = predict(&device, &text, &options);
    assert_true(prediction.loads.l1.misses[PB_MISS_CONFLICT] > 1000);
    assert_int_equal(prediction.loads.l1.misses[PB_MISS_CAPACITY], 0);
    pb_prediction_clear(&prediction);
    assert_int_equal(misses_without(&device, &text, PB_EXTENSION_ASSOCIATIVITY, PB_EXTENSION_COUNT),
                     64);
    end_text(&text, &device);
}

/* Without latency nothing is ever on its way. */
static void test_kernel_model__latency_puts_lines_in_flight(void **state)
{
    struct pb_predict_options options = {.carveout_bytes = -1};
    struct device device;
    struct text text;
    struct pb_prediction prediction;

    (void)state;
    load_device("gtx470", &device);
    begin_text(&text, "blocksize: 256 1 1\n");
    for (int thread = 0; thread < 256; thread++)
        fprintf(text.file, "%d 0 %d 4\n", thread, thread % 32 * 4);
    prediction = predict(&device, &text, &options);
    assert_int_equal(prediction.loads.l1.in_flight, 7);
    pb_prediction_clear(&prediction);
    options.memory.without[PB_EXTENSION_LATENCY] = true;
    prediction = predict(&device, &text, &options);
    assert_int_equal(prediction.loads.l1.in_flight, 0);
    assert_int_equal(prediction.loads.l1.hits, 7);
    pb_prediction_clear(&prediction);
    end_text(&text, &device);
}

/* The advice is what the model finds when it is run with the other pitch. */
static void test_explain__a_pitch_that_spreads_sets_is_found(void **state)
{
    struct pb_predict_options options = {.carveout_bytes = -1, .memory = {.wants_reuse = true}};
    struct pb_explanation explanation;
    const struct pb_advice *pitch = NULL;
    struct device device;
    struct text text;
    struct pb_trace trace;

    (void)state;
    load_device("gtx470", &device);
    begin_text(&text, "blocksize: 32 1 1\n");
    write_column_copy(&text, 32, 64, 1 << 20);
    fflush(text.file);
    open_trace(text.bytes, &trace);
    assert_int_equal(pb_explain(&trace, &device.machine, &options, &explanation, NULL), PB_OK);
    for (size_t i = 0; i < explanation.advice_count; i++)
        if (explanation.advice[i].kind == PB_ADVICE_PITCH)
            pitch = &explanation.advice[i];
    assert_non_null(pitch);
    assert_int_equal(pitch->misses, pb_counts_misses(&explanation.prediction.all_reads.l1));
    assert_true(pitch->misses_then < pitch->misses / 4);
    assert_non_null(strstr(pitch->text, "rows 1048576 bytes apart"));
    assert_true(explanation.prediction.instructions[0].lane.bytes == 1 << 20);
    pb_explanation_clear(&explanation);
    pb_trace_close(&trace);
    end_text(&text, &device);
}

static void test_explain__seeds_make_an_interval(void **state)
{
    struct pb_predict_options options = {.carveout_bytes = -1};
    struct pb_explanation first, again, other;
    struct device device;
    struct text text;
    struct pb_trace trace;

    (void)state;
    load_device("gtx470", &device);
    device.machine.l2_hit.sigma = device.machine.dram.sigma = 60.0;
    begin_text(&text, "blocksize: 512 1 1\n");
    write_column_copy(&text, 512, 32, 4096 + 128);
    fflush(text.file);
    open_trace(text.bytes, &trace);
    assert_int_equal(pb_explain(&trace, &device.machine, &options, &first, NULL), PB_OK);
    assert_int_equal(pb_explain(&trace, &device.machine, &options, &again, NULL), PB_OK);
    options.memory.seed = 77;
    assert_int_equal(pb_explain(&trace, &device.machine, &options, &other, NULL), PB_OK);
    assert_int_equal(first.seed_count, PB_SEED_COUNT);
    assert_true(first.l1_hits.low <= first.l1_hits.value &&
                first.l1_hits.value <= first.l1_hits.high &&
                first.l1_hits.low < first.l1_hits.high);
    assert_true(first.l1_hits.value == again.l1_hits.value &&
                first.l1_hits.low == again.l1_hits.low);
    assert_true(first.l1_hits.value != other.l1_hits.value);
    pb_explanation_clear(&first);
    pb_explanation_clear(&again);
    pb_explanation_clear(&other);
    pb_trace_close(&trace);
    end_text(&text, &device);
}

/* Of 512 sets by 4 ways a use at distance 2,048 hits where fewer than 4 of these fell into its set.
 */
static void test_stack_distance__is_binomial(void **state)
{
    struct pb_model_histogram *histogram = calloc(1, sizeof(*histogram));

    (void)state;
    assert_non_null(histogram);
    assert_true(isnan(pb_stack_distance_hit_rate(histogram, 512, 4)));
    pb_model_histogram_add(histogram, 2048);
    assert_true(fabs(pb_stack_distance_hit_rate(histogram, 512, 4) - 0.4334) < 5e-4);
    assert_true(pb_stack_distance_hit_rate(histogram, 1, 2048) < 1e-12);
    assert_true(fabs(pb_stack_distance_hit_rate(histogram, 1, 2049) - 1.0) < 1e-12);
    pb_model_histogram_add(histogram, PB_MODEL_COLD);
    assert_true(fabs(pb_stack_distance_hit_rate(histogram, 512, 4) - 0.2167) < 5e-4);
    free(histogram);
}

/* What is known of one chip's L2 is not taken for another's. */
static void test_execution__halves_of_other_chips_are_not_known(void **state)
{
    struct pb_execution execution;

    (void)state;
    pb_execution_of(80, &execution);
    assert_int_equal(execution.home_mask, 0);
    pb_execution_of(100, &execution);
    assert_int_equal(execution.home_mask, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_execution__halves_of_other_chips_are_not_known),
        cmocka_unit_test(test_kernel_model__table_2_threads_take_turns),
        cmocka_unit_test(test_kernel_model__table_3_fixed_latency_delays_the_effect),
        cmocka_unit_test(test_kernel_model__table_4_latency_depends_on_the_hit),
        cmocka_unit_test(test_kernel_model__table_5_one_register_holds_threads_back),
        cmocka_unit_test(test_kernel_model__in_flight_is_a_hit_on_hopper),
        cmocka_unit_test(test_kernel_model__stores_allocate_in_l1_only_where_the_machine_does),
        cmocka_unit_test(test_kernel_model__loads_past_l1_do_not_enter_it),
        cmocka_unit_test(test_kernel_model__halves_of_l2_miss_each),
        cmocka_unit_test(test_kernel_model__without_hierarchy_threads_do_not_compete),
        cmocka_unit_test(test_kernel_model__registers_let_threads_run_ahead),
        cmocka_unit_test(test_kernel_model__associativity_makes_conflicts),
        cmocka_unit_test(test_kernel_model__latency_puts_lines_in_flight),
        cmocka_unit_test(test_explain__a_pitch_that_spreads_sets_is_found),
        cmocka_unit_test(test_explain__seeds_make_an_interval),
        cmocka_unit_test(test_stack_distance__is_binomial),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
