/* The six latency patterns and jumps, on simulated devices of known truth. */
#include <math.h>

#include "battery/rig.h"

/* M16 table of P1 to P6, with L1 off. */
static void test_pattern__latencies_of_the_paper(void **state)
{
    static const struct {
        const char *profile;
        double p1, p2, p3, p4, p5, p6; /* p6 0: the device has none */
    } devices[] = {{"gtx560ti", 351, 378, 462, 619, 1225, 0},
                   {"gtx780", 198, 204, 257, 339, 702, 968},
                   {"gtx980", 214, 225, 289, 383, 2461, 2750}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        const double expected[] = {devices[i].p1, devices[i].p2, devices[i].p3, devices[i].p4,
                                   devices[i].p5};
        static const char *const phases[] = {"p1", "p2", "p3", "p4", "p6_p5"};
        struct pb_recording recording;
        const struct pb_point *far;

        rig_record(devices[i].profile, "latency_pattern", &recording);
        for (size_t k = 0; k < COUNT(phases); k++) {
            const struct pb_point *point = rig_find(&recording, phases[k], "global_cg");

            assert_true(fabs(rig_median(&recording, point) - expected[k]) <= 1);
        }
        far = rig_find(&recording, "p6_p5", "global_cg");
        assert_true(devices[i].p6 == 0 ||
                    rig_count(&recording, far, devices[i].p6 - 1, devices[i].p6 + 2) >= 4);
        assert_int_equal(rig_find(&recording, "p4", "global_cg")->warm, far->count);
        pb_recording_clear(&recording);
    }
}

static void test_pattern__l1_answers_before_l2_does(void **state)
{
    struct pb_recording recording;

    (void)state;
    rig_record("gtx560ti", "latency_pattern", &recording);
    assert_true(fabs(rig_median(&recording, rig_find(&recording, "p1", "global_ca")) - 96) <= 1);
    assert_true(fabs(rig_median(&recording, rig_find(&recording, "p4", "global_ca")) - 635) <= 1);
    pb_recording_clear(&recording);
}

/* F13 3.4.1: a small jump hits L1 below its line of 128 byte, and DRAM from there on. */
static void test_jump__small_jumps_hit_within_a_line(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0;

    (void)state;
    rig_record("gtx560ti", "jump_global", &recording);
    while ((point = rig_next(&recording, "jump", NULL, &at)) != NULL) {
        size_t hits = rig_count(&recording, point, 96, 97);

        assert_int_equal(point->count, 1024);
        assert_int_equal(rig_index(&recording, point, 1), point->stride_bytes);
        assert_true(point->stride_bytes < 128 ? hits >= 510 && hits <= 512 : hits == 0);
    }
    pb_recording_clear(&recording);
}

static void test_jump__shared_memory_does_not_care(void **state)
{
    struct pb_recording recording;
    const struct pb_point *point;
    size_t at = 0;

    (void)state;
    rig_record("gtx780", "jump_shared", &recording);
    while ((point = rig_next(&recording, "jump", NULL, &at)) != NULL)
        assert_true(fabs(rig_median(&recording, point) - 47.5) <= 0.5);
    pb_recording_clear(&recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern__latencies_of_the_paper),
        cmocka_unit_test(test_pattern__l1_answers_before_l2_does),
        cmocka_unit_test(test_jump__small_jumps_hit_within_a_line),
        cmocka_unit_test(test_jump__shared_memory_does_not_care),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
