/*
 * Recorded accesses replayed through stated parameters: what agrees when these are right, and what
 * contradicts when they are not. A check that cannot fail would be none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/agreement/agreement.h"
#include "analysis/agreement/policy.h"
#include "analysis/agreement/sequence.h"
#include "analysis/recordings.h"

/* A device measured once for all tests of this program. */
static struct recordings recordings;
static struct pb_parameters parameters;

static struct pb_agreement measure(const struct pb_parameters *by)
{
    struct pb_recordings source = {&recordings, recordings_load};
    struct pb_agreement agreement;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_agreement_measure(by, &source, &agreement, &err) != PB_OK)
        fail_msg("%s", err.message);
    return agreement;
}

static double share_contradicted(const struct pb_agreement *agreement, const char *test)
{
    for (size_t i = 0; i < agreement->count; i++)
        if (strcmp(agreement->tests[i].test, test) == 0)
            return (double)agreement->tests[i].contradicted / (double)agreement->tests[i].accesses;
    fail_msg("no row of %s", test);
    return NAN;
}

/* The slots of a random sweep over 64 lines, of which the record shows the first few loads. */
static struct pb_sequence sequence_of(const uint64_t *index_bytes, size_t count)
{
    struct pb_point point = {
        .order = "random", .footprint_bytes = 64 * 128, .stride_bytes = 128, .seed = 1};
    struct pb_accesses accesses = {.index_bytes = index_bytes, .count = count};
    struct pb_sequence sequence = {.offset_bytes = NULL};
    struct pb_error err = PB_ERROR_INIT;

    if (pb_sequence_make(&point, &accesses, &sequence, &err) != PB_OK)
        fail_msg("%s", err.message);
    return sequence;
}

/* Where nothing came before it, a record shows the order; the other slots follow in any. */
static void test_sequence__all_loads_in_the_record_need_no_drawn_order(void **state)
{
    static const uint64_t shown[] = {2 * 128, 0, 128, 63 * 128, 3 * 128};
    enum { SHOWN = sizeof(shown) / sizeof(shown[0]) };
    struct pb_sequence sequence = sequence_of(shown, SHOWN);
    bool seen[64] = {false};

    (void)state;
    assert_true(sequence.is_known);
    assert_int_equal(sequence.period, 64);
    assert_int_equal(sequence.least_bytes, 0);
    assert_int_equal(sequence.most_bytes, 63 * 128);
    assert_false(sequence.is_ascending);
    assert_memory_equal(sequence.offset_bytes, shown, sizeof(shown));
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(sequence.offset_bytes[i] % 128, 0);
        assert_false(seen[sequence.offset_bytes[i] / 128]);
        seen[sequence.offset_bytes[i] / 128] = true;
    }
    pb_sequence_clear(&sequence);
}

/* What is no slot of the sweep, or one twice, is a launch of its own: all that is known is it. */
static void test_sequence__other_loads_are_a_launch_of_their_own(void **state)
{
    static const uint64_t between[] = {0, 4, 8}, twice[] = {128, 0, 256, 0}, far[] = {0, 64 * 128};
    struct pb_sequence sequence = sequence_of(between, 3);

    (void)state;
    assert_int_equal(sequence.period, 3);
    pb_sequence_clear(&sequence);
    sequence = sequence_of(twice, 4);
    assert_int_equal(sequence.period, 4);
    pb_sequence_clear(&sequence);
    sequence = sequence_of(far, 2);
    assert_int_equal(sequence.period, 2);
    assert_int_equal(sequence.most_bytes, 64 * 128);
    pb_sequence_clear(&sequence);
}

/* The accesses add up, and what is undetermined names what is missing. */
static void test_agreement__every_access_counts_once(void **state)
{
    struct pb_agreement agreement = measure(&parameters);

    (void)state;
    assert_true(agreement.count > 10);
    for (size_t i = 0; i < agreement.count; i++) {
        const struct pb_agreement_test *test = &agreement.tests[i];
        uint64_t recorded = 0, named = 0;

        for (size_t j = 0; j < recordings.count; j++)
            if (strcmp(recordings.items[j].name, test->test) == 0)
                recorded = recordings.items[j].series.access_count;
        assert_int_equal(test->accesses, recorded);
        assert_int_equal(test->agreed + test->contradicted + test->undetermined, test->accesses);
        for (size_t r = 0; r < PB_AGREEMENT_REASONS; r++)
            named += test->reasons[r].accesses;
        assert_int_equal(named, test->undetermined);
        assert_true(test->worst_contradicted <= test->worst_accesses);
    }
    pb_agreement_clear(&agreement);
}

static void test_agreement__right_parameters_are_hardly_contradicted(void **state)
{
    struct pb_agreement agreement = measure(&parameters);

    (void)state;
    for (size_t i = 0; i < agreement.count; i++) {
        const struct pb_agreement_test *test = &agreement.tests[i];

        if (test->contradicted > 2 && (double)test->contradicted > 0.001 * (double)test->accesses)
            fail_msg("%s: %llu of %llu accesses are contradicted", test->test,
                     (unsigned long long)test->contradicted, (unsigned long long)test->accesses);
    }
    pb_agreement_clear(&agreement);
}

/* What must agree: caches and TLBs of which everything is known. */
static void test_agreement__little_is_undetermined_where_all_is_known(void **state)
{
    static const char *const tests[] = {"texture_capacity", "texture_line", "texture_sets"};
    struct pb_agreement agreement = measure(&parameters);

    (void)state;
    for (size_t t = 0; t < sizeof(tests) / sizeof(tests[0]); t++)
        for (size_t i = 0; i < agreement.count; i++)
            if (strcmp(agreement.tests[i].test, tests[t]) == 0)
                assert_true((double)agreement.tests[i].agreed >
                            0.99 * (double)agreement.tests[i].accesses);
    pb_agreement_clear(&agreement);
}

/* One parameter that is wrong, and the test that must show it. */
struct wrong {
    const char *memory, *parameter;
    size_t index;
    double value;
    const char *word; /* instead of the value */
    const char *test;
    double least; /* share contradicted */
};

static void check_wrong(const struct wrong *wrong)
{
    struct pb_parameters changed = {.count = parameters.count, .capacity = parameters.count};
    struct pb_agreement agreement;
    struct pb_parameter *parameter;
    double share;

    changed.items = malloc(parameters.count * sizeof(*changed.items));
    assert_non_null(changed.items);
    memcpy(changed.items, parameters.items, parameters.count * sizeof(*changed.items));
    parameter = pb_parameters_find(&changed, wrong->memory, wrong->parameter);
    assert_non_null(parameter);
    assert_int_not_equal(parameter->kind, PB_VALUE_NONE);
    if (wrong->word != NULL)
        PB_TEXT_SET(parameter->word, wrong->word);
    else
        parameter->numbers[wrong->index] =
            (struct pb_estimate){wrong->value, wrong->value, wrong->value};
    agreement = measure(&changed);
    share = share_contradicted(&agreement, wrong->test);
    if (share < wrong->least)
        fail_msg("%s.%s: %.4f of %s is contradicted, expected %.4f at least", wrong->memory,
                 wrong->parameter, share, wrong->test, wrong->least);
    pb_agreement_clear(&agreement);
    free(changed.items);
}

/* A GTX 560 Ti: L1 of 32 x 4 with random victims, texture cache of 4 x 96 and LRU. */
static void test_agreement__wrong_parameters_are_contradicted(void **state)
{
    static const struct wrong wrong[] = {
        {"texture", "size_bytes", 0, 6144, NULL, "texture_sets", 0.05},
        {"texture", "way_counts", 0, 48, NULL, "texture_sets", 0.3},
        {"texture", "index_masks", 0, 0x200, NULL, "texture_sets", 0.05},
        {"texture", "way_counts", 0, 48, NULL, "texture_policy", 0.1},
        {"texture", "policy", 0, 0, "fifo", "texture_policy", 5e-4},
        {"texture", "line_bytes", 0, 64, NULL, "texture_line", 0.004},
        {"l1", "size_bytes", 0, 8192, NULL, "l1_sets", 0.2},
        {"l1", "way_counts", 0, 2, NULL, "l1_sets", 0.2},
        {"l1", "set_count", 0, 16, NULL, "l1_sets", 0.2},
        {"l1", "sector_bytes", 0, 32, NULL, "l1_line", 0.005},
        {"l2", "size_bytes", 0, 262144, NULL, "l2_capacity", 0.05},
        {"l2", "policy", 0, 0, "lru", "l2_line", 0.05},
        {"tlb_l1", "way_counts", 0, 8, NULL, "tlb_reach", 0.001},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        check_wrong(&wrong[i]);
}

static struct pb_series *series_of(struct recordings *of, const char *test)
{
    for (size_t i = 0; i < of->count; i++)
        if (strcmp(of->items[i].name, test) == 0)
            return &of->items[i].series;
    fail_msg("%s was not recorded", test);
    return NULL;
}

static uint64_t undetermined_for(const struct pb_agreement *agreement, const char *test,
                                 const char *reason)
{
    for (size_t i = 0; i < agreement->count; i++)
        for (size_t r = 0; r < PB_AGREEMENT_REASONS; r++)
            if (strcmp(agreement->tests[i].test, test) == 0 &&
                agreement->tests[i].reasons[r].accesses > 0 &&
                strcmp(agreement->tests[i].reasons[r].name, reason) == 0)
                return agreement->tests[i].reasons[r].accesses;
    return 0;
}

/* What is not stated makes accesses undetermined, is named, and contradicts none. */
static void test_agreement__what_is_missing_is_named(void **state)
{
    static const struct left_out {
        const char *memory, *parameter, *test, *reason;
    } left_out[] = {
        {"texture", "policy", "texture_policy", "texture.policy"},
        {"texture", "set_count", "texture_policy", "texture.set_count"},
        {"texture", "way_counts", "texture_policy", "texture.way_counts"},
        {"dram", "latency_cycles", "dram_latency", "dram.latency_cycles"},
        {"l2", "latency_cycles", "texture_capacity", "l2.latency_cycles"},
        {"l2", "latency_cycles", "l1_capacity", "l2.latency_cycles"},
        {"tlb_l1", "penalty_cycles", "tlb_reach", "tlb_l1.penalty_cycles"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        struct pb_parameter *parameter =
            pb_parameters_find(&parameters, left_out[i].memory, left_out[i].parameter);
        struct pb_parameter kept = *parameter;
        struct pb_agreement agreement;

        pb_parameter_set_none(parameter, "left out");
        agreement = measure(&parameters);
        *parameter = kept;
        if (undetermined_for(&agreement, left_out[i].test, left_out[i].reason) == 0 ||
            share_contradicted(&agreement, left_out[i].test) > 0.001)
            fail_msg("without %s.%s, %.4f of %s is contradicted, or %s not named",
                     left_out[i].memory, left_out[i].parameter,
                     share_contradicted(&agreement, left_out[i].test), left_out[i].test,
                     left_out[i].reason);
        pb_agreement_clear(&agreement);
    }
}

/* Eight sets by the masks of four: which set a line is in is not known, and none contradicts. */
static void test_agreement__sets_that_the_masks_do_not_fit_are_unknown(void **state)
{
    struct pb_parameter *sets = pb_parameters_find(&parameters, "texture", "set_count");
    struct pb_estimate kept = sets->numbers[0];
    struct pb_agreement agreement;

    (void)state;
    sets->numbers[0] = (struct pb_estimate){8.0, 8.0, 8.0};
    agreement = measure(&parameters);
    sets->numbers[0] = kept;
    assert_true(undetermined_for(&agreement, "texture_policy", "texture.index_masks") > 0);
    assert_true(share_contradicted(&agreement, "texture_policy") < 0.001);
    pb_agreement_clear(&agreement);
}

/* A traced chase of that phase over so many bytes at least, of hits alone where it fits. */
static const struct pb_point *find_chase(const struct pb_series *series, const char *path,
                                         const char *phase, uint64_t footprint_bytes)
{
    for (size_t i = 0; i < series->point_count; i++) {
        const struct pb_point *point = &series->points[i];

        if (point->count >= 128 && strcmp(point->path, path) == 0 &&
            (phase == NULL || strcmp(point->phase, phase) == 0) &&
            (footprint_bytes == 0 || point->footprint_bytes == footprint_bytes))
            return point;
    }
    fail_msg("no such chase was recorded");
    return NULL;
}

/* Makes accesses of a chase slower for one measurement; every: how many are between two of them. */
static struct pb_agreement measure_slower(const struct pb_parameters *by, struct pb_series *series,
                                          const struct pb_point *point, uint64_t line_bytes,
                                          size_t every, uint32_t cycles)
{
    size_t bytes = series->access_count * sizeof(*series->latency_cycles);
    uint32_t *kept = malloc(bytes);
    uint64_t line = series->index_bytes[point->first] / line_bytes;
    struct pb_agreement agreement;

    assert_non_null(kept);
    memcpy(kept, series->latency_cycles, bytes);
    for (size_t i = 0; i < point->count; i++)
        if (every > 0 ? i % every == 0 : series->index_bytes[point->first + i] / line_bytes == line)
            series->latency_cycles[point->first + i] += cycles;
    agreement = measure(by);
    memcpy(series->latency_cycles, kept, bytes);
    free(kept);
    return agreement;
}

enum { L1_BYTES = 16384, L1_LINE = 128, TEXTURE_BYTES = 12288, TEXTURE_LINE = 32 };

/* What a miss of the cache costs more than a hit, by what was inferred. */
static uint32_t miss_cycles(const char *memory)
{
    return (uint32_t)(pb_parameters_number(&parameters, memory, "miss_latency_cycles") -
                      pb_parameters_number(&parameters, memory, "latency_cycles"));
}

/* One line of a set that is just full is lost: something else is in the set. */
static void test_agreement__a_lost_line_of_a_full_set_is_a_foreign_one(void **state)
{
    struct pb_series *series = series_of(&recordings, "l1_capacity");
    const struct pb_point *point = find_chase(series, "global_ca", NULL, L1_BYTES);
    struct pb_agreement agreement =
        measure_slower(&parameters, series, point, L1_LINE, 0, miss_cycles("l1"));

    (void)state;
    assert_true(undetermined_for(&agreement, "l1_capacity", "a line of the kernel's own") > 0);
    assert_true(share_contradicted(&agreement, "l1_capacity") < 0.002);
    pb_agreement_clear(&agreement);
}

/* A cache that holds a line less than its sets have ways loses lines of any set when it is full. */
static void test_agreement__a_full_store_loses_lines_of_any_set(void **state)
{
    static const char reason[] = "order in which the sets of a full L1 lose lines";
    struct pb_series *series = series_of(&recordings, "texture_capacity");
    const struct pb_point *point = find_chase(series, "texture", NULL, TEXTURE_BYTES);
    struct pb_parameter *size = pb_parameters_find(&parameters, "texture", "size_bytes");
    struct pb_parameter *other = pb_parameters_find(&parameters, "readonly", "size_bytes");
    struct pb_estimate kept = size->numbers[0];
    struct pb_agreement agreement;

    (void)state;
    assert_true(other == NULL || other->kind == PB_VALUE_NONE);
    size->numbers[0].low = TEXTURE_BYTES - TEXTURE_LINE;
    agreement =
        measure_slower(&parameters, series, point, TEXTURE_LINE, 61, miss_cycles("texture"));
    assert_true(undetermined_for(&agreement, "texture_capacity", reason) > 0);
    pb_agreement_clear(&agreement);
    size->numbers[0] = kept;
    agreement =
        measure_slower(&parameters, series, point, TEXTURE_LINE, 61, miss_cycles("texture"));
    assert_int_equal(undetermined_for(&agreement, "texture_capacity", reason), 0);
    pb_agreement_clear(&agreement);
}

/* Beside a carve-out of which no parameter tells, or by sectors, L1 may hold less than its size. */
static void check_slower(const char *test, const char *phase, const char *left_out, size_t every,
                         const char *reason)
{
    struct pb_series *series = series_of(&recordings, test);
    const struct pb_point *point = find_chase(series, "global_ca", phase, 0);
    struct pb_parameter *parameter = pb_parameters_find(&parameters, "l1", left_out);
    struct pb_parameter kept = *parameter;
    struct pb_agreement agreement;

    pb_parameter_set_none(parameter, "left out");
    agreement = measure_slower(&parameters, series, point, L1_LINE, every, miss_cycles("l1"));
    *parameter = kept;
    assert_true(undetermined_for(&agreement, test, reason) > 0);
    assert_true(share_contradicted(&agreement, test) < 0.002);
    pb_agreement_clear(&agreement);
}

static void test_agreement__l1_may_hold_less_than_is_known(void **state)
{
    (void)state;
    check_slower("l1_carveout", "reference", "carveout_size_bytes", 1, "l1.carveout_size_bytes");
    check_slower("l1_line", "cold", "sector_bytes", 5, "sector_bytes");
}

/* Two levels may answer, and the latency, which is that of a third one, is between theirs. */
static void test_agreement__between_two_possible_levels_is_undetermined(void **state)
{
    static const char reason[] = "latency (between two levels)";
    struct pb_series *series = series_of(&recordings, "texture_policy");
    const struct pb_point *point = find_chase(series, "texture", "victim", 0);
    uint32_t penalty = (uint32_t)pb_parameters_number(&parameters, "tlb_l1", "penalty_cycles");
    struct pb_parameters changed = {.count = parameters.count, .capacity = parameters.count};
    struct pb_agreement agreement;

    (void)state;
    changed.items = malloc(parameters.count * sizeof(*changed.items));
    assert_non_null(changed.items);
    memcpy(changed.items, parameters.items, parameters.count * sizeof(*changed.items));
    pb_parameter_set_none(pb_parameters_find(&changed, "texture", "policy"), "left out");
    agreement = measure_slower(&changed, series, point, TEXTURE_LINE, 7, 0);
    assert_int_equal(undetermined_for(&agreement, "texture_policy", reason), 0);
    pb_agreement_clear(&agreement);
    agreement = measure_slower(&changed, series, point, TEXTURE_LINE, 7,
                               penalty - miss_cycles("texture")); /* faster, modulo 2^32 */
    assert_true(undetermined_for(&agreement, "texture_policy", reason) > 0);
    pb_agreement_clear(&agreement);
    free(changed.items);
}

/* Adds cycles to every third first load of a constant; returns how many these are. */
static uint64_t slow_first_constants(struct pb_series *series, uint32_t cycles)
{
    uint64_t slowed = 0;

    for (size_t i = 0; i < series->point_count; i++) {
        const struct pb_point *point = &series->points[i];

        for (size_t j = 0; j < point->count && strcmp(point->phase, "constant_l15") == 0; j += 3) {
            series->latency_cycles[point->first + j] += cycles;
            slowed++;
        }
    }
    return slowed;
}

static uint64_t count_contradicted(struct recordings *of, const struct pb_parameters *by)
{
    struct pb_recordings source = {of, recordings_load};
    struct pb_agreement agreement;
    uint64_t contradicted;

    assert_int_equal(pb_agreement_measure(by, &source, &agreement, NULL), PB_OK);
    contradicted = pb_agreement_total(&agreement).contradicted;
    pb_agreement_clear(&agreement);
    return contradicted;
}

/* An L2 of two halves answers first loads of constants from either; one without them does not. */
static void test_agreement__first_constants_come_from_either_half_of_l2(void **state)
{
    static const char *const tests[] = {"clock_overhead",
                                        "clock_calibration",
                                        "constant_capacity",
                                        "constant_line",
                                        "constant_sets",
                                        "l2_capacity",
                                        "l2_line",
                                        "l2_sets",
                                        "constant_l15_capacity",
                                        "constant_l15_line",
                                        "dram_latency",
                                        "sm_misses",
                                        NULL};
    enum { ACROSS_CYCLES = 268 }; /* so that the other half answers when DRAM does */
    struct recordings *device = calloc(1, sizeof(*device));
    struct pb_parameters found;
    struct pb_parameter *across;
    struct pb_series *series;
    uint64_t before, slowed;

    (void)state;
    assert_non_null(device);
    assert_int_equal(recordings_measure_only("c2070", 4, tests, device, NULL), PB_OK);
    assert_int_equal(recordings_infer(device, &found, NULL), PB_OK);
    series = series_of(device, "sm_misses");
    before = count_contradicted(device, &found);
    slowed = slow_first_constants(series, ACROSS_CYCLES);
    assert_true(slowed > 100);
    assert_true(count_contradicted(device, &found) > before + slowed / 2);
    across = pb_parameters_find(&found, "l2", "crossing_cycles");
    assert_non_null(across);
    assert_int_equal(across->kind, PB_VALUE_NONE);
    pb_parameter_set_number(across,
                            (struct pb_estimate){ACROSS_CYCLES, ACROSS_CYCLES, ACROSS_CYCLES}, 0.9,
                            "as an L2 of two halves has it");
    assert_int_equal(count_contradicted(device, &found), before);
    pb_parameters_clear(&found);
    recordings_clear(device);
    free(device);
}

/* L2 draws its victims; no test of its own says so, and none shows whether all ways are alike. */
static void test_policies__random_victims_of_l2_are_found_by_replay(void **state)
{
    const struct pb_parameter *policy = pb_parameters_find(&parameters, "l2", "policy");

    (void)state;
    assert_non_null(policy);
    assert_int_equal(policy->kind, PB_VALUE_WORD);
    assert_string_equal(policy->word, "random");
    assert_true(policy->confidence > 0.45 && policy->confidence <= 0.5);
    assert_non_null(strstr(policy->method, "weighted predicts the same"));
}

/* Where chance decides, chases agree by how many of their loads miss. */
static void test_agreement__random_victims_agree_by_their_number(void **state)
{
    struct pb_agreement agreement = measure(&parameters);
    struct pb_agreement_test total = pb_agreement_total(&agreement);

    (void)state;
    assert_true(undetermined_for(&agreement, "l1_policy", "l1.policy (random replacement)") < 1000);
    assert_true(share_contradicted(&agreement, "l1_policy") < 0.001);
    assert_true(share_contradicted(&agreement, "l2_line") < 0.001);
    assert_true((double)total.undetermined < 0.12 * (double)total.accesses);
    assert_true((double)total.contradicted < 0.001 * (double)total.accesses);
    pb_agreement_clear(&agreement);
}

static void test_agreement__a_device_without_caches_has_no_rows(void **state)
{
    struct pb_parameters none = {0};
    struct pb_agreement agreement = measure(&none);

    (void)state;
    assert_int_equal(agreement.count, 0);
    assert_int_equal(pb_agreement_total(&agreement).accesses, 0);
    pb_agreement_clear(&agreement);
}

static int set_up(void **state)
{
    struct pb_recordings source = {&recordings, recordings_load};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    if (recordings_measure("gtx560ti", 3, &recordings, &err) == PB_OK &&
        recordings_infer(&recordings, &parameters, &err) == PB_OK &&
        pb_policies_by_replay(&parameters, "/devices/n1.gpu0", &source, &err) == PB_OK)
        return 0;
    fprintf(stderr, "%s\n", err.message);
    return -1;
}

static int tear_down(void **state)
{
    (void)state;
    pb_parameters_clear(&parameters);
    recordings_clear(&recordings);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequence__all_loads_in_the_record_need_no_drawn_order),
        cmocka_unit_test(test_sequence__other_loads_are_a_launch_of_their_own),
        cmocka_unit_test(test_agreement__every_access_counts_once),
        cmocka_unit_test(test_agreement__right_parameters_are_hardly_contradicted),
        cmocka_unit_test(test_agreement__little_is_undetermined_where_all_is_known),
        cmocka_unit_test(test_agreement__wrong_parameters_are_contradicted),
        cmocka_unit_test(test_agreement__what_is_missing_is_named),
        cmocka_unit_test(test_agreement__sets_that_the_masks_do_not_fit_are_unknown),
        cmocka_unit_test(test_agreement__a_lost_line_of_a_full_set_is_a_foreign_one),
        cmocka_unit_test(test_agreement__a_full_store_loses_lines_of_any_set),
        cmocka_unit_test(test_agreement__l1_may_hold_less_than_is_known),
        cmocka_unit_test(test_agreement__between_two_possible_levels_is_undetermined),
        cmocka_unit_test(test_agreement__first_constants_come_from_either_half_of_l2),
        cmocka_unit_test(test_policies__random_victims_of_l2_are_found_by_replay),
        cmocka_unit_test(test_agreement__random_victims_agree_by_their_number),
        cmocka_unit_test(test_agreement__a_device_without_caches_has_no_rows),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
