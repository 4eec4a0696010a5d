/*
 * F13's studies: what the paper found comes out of the profiles of its four devices, and what a
 * profile states comes out exactly.
 */
#include "sim/simtest.h"

#include <math.h>

static double cycles(struct pb_device *device, enum pb_study_kind kind, uint32_t threads,
                     uint32_t parameter)
{
    struct pb_study study = {.kind = kind, .threads = threads, .parameter = parameter};
    struct pb_study_result result;
    struct pb_error err = PB_ERROR_INIT;

    if (device->ops->study(device, &study, &result, &err) != PB_OK)
        fail_msg("%s", err.message);
    return (double)result.cycles;
}

/* What F13 says of its devices, as ratios. */
static const struct claim {
    const char *name;
    double barriers;  /* 3.4.2: 1024 barriers against one */
    double threads;   /* 3.4.2: 192 threads against one */
    double reads;     /* 3.4.3: far apart with many threads, against one thread */
    uint32_t plateau; /* 3.4.3: threads */
    uint32_t spill;   /* 3.4.4: variables that still fit */
} claims[] = {{"c2070", 2.78, 1.11, 9.98, 16, 64},
              {"quadro2000", 2.63, 1.13, 8.70, 16, 64},
              {"gtx680", 3.23, 1.06, 5.43, 32, 64},
              {"k20", 3.81, 1.38, 3.63, 32, 512}};

static void test_sync__barriers_and_threads_cost_what_f13_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(claims); i++) {
        json_t *root = simtest_shipped(claims[i].name);
        struct pb_device *device = simtest_open(root, NULL);
        double one = cycles(device, PB_STUDY_SYNC, 1, 1);

        assert_float_equal(cycles(device, PB_STUDY_SYNC, 1, 1024) / one, claims[i].barriers, 0.01);
        assert_float_equal(cycles(device, PB_STUDY_SYNC, 192, 1) / one, claims[i].threads, 0.01);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_coalesce__slowdown_and_plateau_are_those_of_f13(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(claims); i++) {
        json_t *root = simtest_shipped(claims[i].name);
        struct pb_device *device = simtest_open(root, NULL);
        double one = cycles(device, PB_STUDY_COALESCE, 1, 4);
        double at = cycles(device, PB_STUDY_COALESCE, claims[i].plateau, 128);

        assert_float_equal(cycles(device, PB_STUDY_COALESCE, 256, 512) / one, claims[i].reads,
                           0.05 * claims[i].reads);
        assert_true(cycles(device, PB_STUDY_COALESCE, claims[i].plateau / 2, 128) < 0.8 * at);
        assert_float_equal(cycles(device, PB_STUDY_COALESCE, 64, 128), at, 0.01 * at);
        device->ops->close(device);
        json_decref(root);
    }
}

/* F13 3.4.3: on 2.x "an additional increase starting 128 threads"; none where there is no L1. */
static void test_coalesce__l1_overflows_from_128_threads_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(claims); i++) {
        json_t *root = simtest_shipped(claims[i].name);
        struct pb_device *device = simtest_open(root, NULL);
        double plateau = cycles(device, PB_STUDY_COALESCE, 64, 128);
        double rise = cycles(device, PB_STUDY_COALESCE, 256, 128) / plateau;

        if (claims[i].plateau == 16)
            assert_true(rise > 2.0);
        else
            assert_float_equal(rise, 1.0, 0.01);
        assert_float_equal(cycles(device, PB_STUDY_COALESCE, 64, 4) /
                               cycles(device, PB_STUDY_COALESCE, 1024, 4),
                           1.0, 0.01);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_spill__slowdown_starts_where_f13_saw_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(claims); i++) {
        json_t *root = simtest_shipped(claims[i].name);
        struct pb_device *device = simtest_open(root, NULL);
        double one = cycles(device, PB_STUDY_SPILL, 1, 1);

        assert_float_equal(cycles(device, PB_STUDY_SPILL, 1, claims[i].spill) / one, 1, 0.001);
        assert_true(cycles(device, PB_STUDY_SPILL, 1, 2 * claims[i].spill) / one > 2);
        assert_float_equal(cycles(device, PB_STUDY_SPILL, 1, 2048) / one, 12.4, 0.2); /* +1140% */
        assert_float_equal(cycles(device, PB_STUDY_SPILL, 32, 2048) / one, 12.4, 0.2);
        assert_true(cycles(device, PB_STUDY_SPILL, 256, 2048) > 1.2 * 12.4 * one);
        device->ops->close(device);
        json_decref(root);
    }
}

/* Lines are sectors of 32 bytes: l1 30, l2 200 and 1 MiB, 4 lanes a group, 5 and 7 cycles a further
 * line. */
static struct pb_device *open_profile(json_t **root_out, const char *fault)
{
    struct pb_device_request request = {.host = "n1", .faults = &fault, .fault_count = 1};

    *root_out = simtest_profile();
    simtest_set(*root_out, "clock_overhead_cycles", "0");
    simtest_set(*root_out, "caches/1/sets", "1024");
    simtest_set(*root_out, "study",
                "{\"sync\": {\"write_cycles\": 10, \"barrier_cycles\": 25, \"warp_share\": 0.5},"
                " \"coalesce\": {\"group_lanes\": 4, \"line_cycles\": 5, \"miss_line_cycles\": 7},"
                " \"spill\": {\"variables\": 16, \"move_cycles\": 6, \"spilled_cycles\": 40,"
                "             \"warp_share\": 0}}");
    return simtest_open(*root_out, fault != NULL ? &request : NULL);
}

static void test_study__costs_of_the_profile_come_out(void **state)
{
    json_t *root;
    struct pb_device *device = open_profile(&root, NULL);

    (void)state;
    assert_float_equal(cycles(device, PB_STUDY_SYNC, 32, 8), 1024 * 10 + 8 * 25, 0);
    assert_float_equal(cycles(device, PB_STUDY_SYNC, 33, 8), 1024 * 15 + 8 * 25, 0);
    assert_float_equal(cycles(device, PB_STUDY_SPILL, 32, 16), 4096 * 6, 0);
    assert_float_equal(cycles(device, PB_STUDY_SPILL, 1024, 64), 4096 * (6 + 0.75 * 40), 0);
    /* one thread: 8 words a sector, of which the first comes from L2 */
    assert_float_equal(cycles(device, PB_STUDY_COALESCE, 1, 4), 128 * (200 + 7 * 30), 0);
    /* four lanes with sectors of their own: 3 further lines */
    assert_float_equal(cycles(device, PB_STUDY_COALESCE, 4, 32),
                       128 * (200 + 7 * 30) + 1024 * 3 * 5, 8 * 200);
    /* every read opens a new sector */
    assert_float_equal(cycles(device, PB_STUDY_STRIDE, 4, 32), 1024 * 200, 0);
    assert_float_equal(cycles(device, PB_STUDY_STRIDE, 4, 16), 512 * (200 + 30), 0);
    device->ops->close(device);
    json_decref(root);
}

/* Groups of 16 bytes: shifted by 20, every other one reaches into the next sector of 32 bytes. */
static void test_study__misaligned_groups_need_one_more_line(void **state)
{
    json_t *root;
    struct pb_device *device = open_profile(&root, NULL);
    double aligned = cycles(device, PB_STUDY_MISALIGN, 32, 0);

    (void)state;
    assert_float_equal(aligned, 1024 * 200, 0);
    assert_float_equal(cycles(device, PB_STUDY_MISALIGN, 32, 16), aligned, 0);
    assert_float_equal(cycles(device, PB_STUDY_MISALIGN, 32, 20), aligned + 1024 * 7, 0);
    device->ops->close(device);
    json_decref(root);
}

static void test_study__faults_show(void **state)
{
    static const struct {
        const char *fault;
        double cycles, ns;
    } faults[] = {{"sm_slow=0:1.5", 53760, 53760},
                  {"sm_slow=1:1.5", 35840, 35840},
                  {"clock=0.5", 35840, 71680},
                  {"throttle=0.5@0", 35840, 71680}};
    const struct pb_study sync = {PB_STUDY_SYNC, 32, 1024}, read = {PB_STUDY_STRIDE, 1, 32};
    struct pb_study_result result;

    (void)state;
    for (size_t i = 0; i < COUNT(faults); i++) {
        json_t *root;
        struct pb_device *device = open_profile(&root, faults[i].fault);

        assert_int_equal(device->ops->study(device, &sync, &result, NULL), PB_OK);
        assert_float_equal((double)result.cycles, faults[i].cycles, 0);
        assert_float_equal(result.ns, faults[i].ns, 1e-6);
        device->ops->close(device);
        json_decref(root);
    }
    for (int i = 0; i < 2; i++) {
        json_t *root;
        struct pb_device *device = open_profile(&root, i == 0 ? "l2_latency=1.5" : "tail=1:100");

        assert_int_equal(device->ops->study(device, &read, &result, NULL), PB_OK);
        assert_int_equal(result.cycles, 1024 * 300);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_study__refuses_what_it_cannot_run(void **state)
{
    static const struct pb_study bad[] = {
        {PB_STUDY_SYNC, 0, 1},     {PB_STUDY_SYNC, 1025, 1},      {PB_STUDY_SYNC, 1, 1025},
        {PB_STUDY_SYNC, 1, 0},     {PB_STUDY_COALESCE, 1, 6},     {PB_STUDY_SPILL, 1, 3},
        {PB_STUDY_SPILL, 1, 4096}, {PB_STUDY_STRIDE, 1, 2 << 20}, {(enum pb_study_kind)99, 1, 1}};
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_study_result result = {.cycles = 7};

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(device->ops->study(device, &bad[i], &result, NULL), PB_INVALID);
    assert_int_equal(result.cycles, 7);
    device->ops->close(device);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sync__barriers_and_threads_cost_what_f13_says),
        cmocka_unit_test(test_coalesce__slowdown_and_plateau_are_those_of_f13),
        cmocka_unit_test(test_coalesce__l1_overflows_from_128_threads_on),
        cmocka_unit_test(test_spill__slowdown_starts_where_f13_saw_it),
        cmocka_unit_test(test_study__costs_of_the_profile_come_out),
        cmocka_unit_test(test_study__misaligned_groups_need_one_more_line),
        cmocka_unit_test(test_study__faults_show),
        cmocka_unit_test(test_study__refuses_what_it_cannot_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
