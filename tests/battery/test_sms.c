/* Chases on every SM: what they meet on simulated devices, and on which SMs and lines. */
#include <math.h>
#include <string.h>

#include "battery/rig.h"

/* The mean of every second access from the first-th on. */
static double mean_of(const struct pb_recording *recording, const struct pb_point *point,
                      size_t first)
{
    double sum = 0.0, count = 0.0;

    for (size_t i = first; i < point->count; i += 2, count++)
        sum += rig_cycles(recording, point, i);
    return sum / count;
}

/* A chase on each SM, in their order, of this median. */
static void check_phase(const struct pb_recording *recording, const char *phase, uint32_t sms,
                        double cycles)
{
    const struct pb_point *point;
    size_t at = 0;
    uint32_t sm = 0;

    while ((point = rig_next(recording, phase, NULL, &at)) != NULL) {
        assert_int_equal(point->sm_id, sm++);
        if (!(fabs(rig_median(recording, point) - cycles) <= 1))
            fail_msg("%s on SM %u: %g cycles, expected %g", phase, sm - 1,
                     rig_median(recording, point), cycles);
    }
    assert_int_equal(sm, sms);
}

static void test_sm_misses__every_sm_meets_what_its_phase_names(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("h200", NULL, &session);
    rig_run(&session, "sm_misses", &recording);
    check_phase(&recording, "l1", 132, 270);
    check_phase(&recording, "readonly", 132, 270);
    check_phase(&recording, "texture", 132, 270);
    check_phase(&recording, "constant_l1", 132, 106);
    check_phase(&recording, "constant_l15", 132, 270);
    for (size_t at = 0; at < recording.series.point_count; at++) {
        const struct pb_point *point = &recording.series.points[at];
        bool near = strcmp(point->phase, "tlb_l1") == 0;

        if (!near && strcmp(point->phase, "tlb_l2") != 0)
            continue; /* spikes of 300 cycles may fall on some of the loads */
        assert_true(fabs(mean_of(&recording, point, 0) - (near ? 280 : 374)) < 6);
        assert_true(fabs(mean_of(&recording, point, 1) - 270) < 6);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* No two SMs ask for the same line, and the chases of a few are spread over many pages. */
static void test_sm_misses__lines_are_each_sm_s_own(void **state)
{
    const struct pb_point *point;
    struct pb_recording recording;
    uint64_t begins[132];
    size_t at = 0, count = 0;

    (void)state;
    rig_record("h200", "sm_misses", &recording);
    while ((point = rig_next(&recording, "l1", NULL, &at)) != NULL) {
        for (size_t i = 0; i < count; i++)
            assert_true(begins[i] != point->base_address);
        assert_int_equal(point->base_address % 128, 0);
        begins[count++] = point->base_address;
    }
    assert_int_equal(count, 132);
    assert_true(begins[15] - begins[0] >= (uint64_t)30 << 20);
    pb_recording_clear(&recording);
}

static void test_sm_misses__quick_has_l1_alone(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    rig_open("gtx560ti", "sm_slow=3:1.5", &session);
    session.battery = PB_QUICK;
    rig_run(&session, "sm_misses", &recording);
    assert_int_equal(recording.series.point_count, 8);
    for (size_t sm = 0; sm < 8; sm++)
        assert_true(fabs(rig_median(&recording, &recording.series.points[sm]) -
                         (sm == 3 ? 1.5 : 1.0) * 367) <= 1);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Each SM twice, as there are few; by pages of its own, of which eight are warm. */
static void test_dram_latency__every_sm_takes_its_turns(void **state)
{
    const struct pb_point *point;
    struct pb_recording recording;
    uint64_t begins[32];
    size_t at = 0, count = 0;

    (void)state;
    rig_record("gtx980", "dram_latency", &recording);
    while ((point = rig_next(&recording, "near", NULL, &at)) != NULL) {
        uint32_t pages = 0;

        assert_int_equal(point->sm_id, count / 2);
        for (size_t i = 0; i < point->count; i++)
            pages |= 1u << rig_index(&recording, point, i) / (2 << 20);
        assert_int_equal(pages, 0xff);
        assert_true(rig_count(&recording, point, 383, 385) >= point->count - 4);
        for (size_t i = 0; i < count; i++)
            assert_true(begins[i] != point->base_address);
        begins[count++] = point->base_address;
    }
    assert_int_equal(count, COUNT(begins));
    pb_recording_clear(&recording);
}

/* Two lines of L2 from each of 256 places of the same memory, in another order than the address. */
static void test_dram_latency__checks_whether_its_pages_are_warm(void **state)
{
    const struct pb_point *point;
    struct pb_recording recording;
    bool seen[256] = {false};

    (void)state;
    rig_record("gtx980", "dram_latency", &recording);
    point = rig_find(&recording, "pages", "global_cg");
    assert_int_equal(point->count, 2 * COUNT(seen));
    for (size_t i = 0; i < point->count; i += 2) {
        uint64_t first = rig_index(&recording, point, i);
        uint64_t second = rig_index(&recording, point, i + 1);

        assert_int_equal(first / 4096, second / 4096);
        assert_true(second + 128 == first);
        assert_false(seen[first / 65536]);
        seen[first / 65536] = true;
    }
    assert_true(rig_count(&recording, point, 0, 300) >= point->count - 4);
    pb_recording_clear(&recording);
}

/* SMs 2 and 5 take no CTA, as some do under MIG; all others are those of the simulator. */
static enum pb_status map_but_two(struct pb_device *device, const struct pb_map *map,
                                  uint32_t *latency_cycles_out, struct pb_error *err)
{
    for (size_t i = 0; map->sms == NULL || i < map->sm_count; i++)
        if (map->sms == NULL || map->sms[i] == 2 || map->sms[i] == 5)
            return pb_fail(err, PB_UNSUPPORTED, "an SM took no CTA");
    return pb_device_sim.map(device, map, latency_cycles_out, err);
}

static void test_l2_map__an_sm_that_cannot_be_chosen_is_left_out_and_counted(void **state)
{
    struct pb_device_ops ops = pb_device_sim;
    struct pb_recording recording;
    struct pb_session session;
    size_t row;

    (void)state;
    rig_open("gtx560ti", NULL, &session);
    ops.map = map_but_two;
    session.device->ops = &ops;
    rig_run(&session, "l2_map", &recording);
    assert_string_equal(recording.message, "2 of 8 SMs cannot be chosen");
    row = recording.matrix.axes[2].length;
    for (size_t i = 0; i < pb_matrix_size(&recording.matrix); i++) {
        size_t sm = i / row % 8;

        assert_true(isnan(recording.matrix.values[i]) == (sm == 2 || sm == 5));
    }
    pb_recording_clear(&recording);
    session.device->ops = &pb_device_sim;
    pb_session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sm_misses__every_sm_meets_what_its_phase_names),
        cmocka_unit_test(test_sm_misses__lines_are_each_sm_s_own),
        cmocka_unit_test(test_sm_misses__quick_has_l1_alone),
        cmocka_unit_test(test_dram_latency__every_sm_takes_its_turns),
        cmocka_unit_test(test_dram_latency__checks_whether_its_pages_are_warm),
        cmocka_unit_test(test_l2_map__an_sm_that_cannot_be_chosen_is_left_out_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
