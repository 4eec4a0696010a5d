/* Loads outstanding: the plateaus and steps of N14's figure 9. */
#include "sim/simtest.h"

#include "device/sim/mshr.h"

static const struct pb_sim_mshr_spec fermi = {.per_sm = 64, .per_warp = 6};

enum { LOADS_TOTAL = 512 };

/* Cycles until every warp has all of its `loads`; alone, each takes `latency`. */
static double run(const struct pb_sim_mshr_spec *mshr, uint32_t warps, uint32_t loads,
                  double latency, double issue)
{
    struct pb_sim_request requests[LOADS_TOTAL];
    double finish[LOADS_TOTAL], last = 0.0;

    assert_true(warps * loads <= LOADS_TOTAL);
    for (uint32_t i = 0; i < warps * loads; i++)
        requests[i] = (struct pb_sim_request){latency, true};
    assert_int_equal(pb_sim_mshr_fly(mshr, warps, loads, requests, issue, finish, NULL), PB_OK);
    for (uint32_t warp = 0; warp < warps; warp++)
        last = finish[warp] > last ? finish[warp] : last;
    return last;
}

static double cycles(uint32_t warps, uint32_t loads)
{
    return run(&fermi, warps, loads, 600, 2);
}

static void test_mshr__one_warp_steps_at_every_seventh_load(void **state)
{
    (void)state;
    for (uint32_t loads = 1; loads <= 6; loads++)
        assert_float_equal(cycles(1, loads), 600 + 2.0 * (loads - 1), 1e-9);
    assert_float_equal(cycles(1, 7), 1200, 1e-9);
    assert_float_equal(cycles(1, 12), 1210, 1e-9);
    assert_float_equal(cycles(1, 13), 1800, 1e-9);
    assert_float_equal(cycles(1, 19), 2400, 1e-9);
}

static void test_mshr__warps_share_the_registers_of_the_sm(void **state)
{
    (void)state;
    assert_float_equal(cycles(10, 6), 600 + 2 * 59, 1e-9); /* 60 of 64 */
    assert_float_equal(cycles(16, 4), 600 + 2 * 63, 1e-9); /* all 64 */
    assert_float_equal(cycles(13, 5), 1200, 1e-9);         /* 65: one has to wait */
    assert_float_equal(cycles(17, 4), 1200 + 2 * 3, 1e-9);
}

static void test_mshr__slow_issue_hides_the_limit(void **state)
{
    (void)state;
    assert_float_equal(run(&fermi, 1, 20, 10, 4), 19 * 4 + 10, 1e-9);
}

/* N14 5.2: "5 loads per warp for 11 warps, 4 for 13 warps, and 3 for 17", of 64 registers. */
static void test_mshr__loads_on_the_plateau_are_those_of_figure_9(void **state)
{
    static const uint32_t plateau[][2] = {{1, 6},  {2, 6},  {10, 6}, {11, 5}, {12, 5},
                                          {13, 4}, {16, 4}, {17, 3}, {21, 3}, {22, 2}};

    (void)state;
    for (size_t i = 0; i < COUNT(plateau); i++) {
        assert_true(cycles(plateau[i][0], plateau[i][1]) < 600 + 2 * 64);
        assert_true(cycles(plateau[i][0], plateau[i][1] + 1) >= 1200);
    }
}

/* Every warp takes its turn and waits for the oldest register: solved, for equal latencies. */
static double closed_form(const struct pb_sim_mshr_spec *mshr, uint32_t warps, uint32_t loads,
                          double latency, double issue)
{
    uint32_t of_warps = mshr->per_warp * warps, last = warps * loads - 1;
    uint32_t in_flight = of_warps < mshr->per_sm ? of_warps : mshr->per_sm;
    double issuing = in_flight * issue, round = issuing > latency ? issuing : latency;

    return last / in_flight * round + last % in_flight * issue + latency;
}

static void test_mshr__equal_latencies_have_a_closed_form(void **state)
{
    const struct pb_sim_mshr_spec specs[] = {{64, 6}, {32, 16}, {7, 7}, {128, 1}, {1, 1}};

    (void)state;
    for (size_t i = 0; i < COUNT(specs); i++)
        for (uint32_t warps = 1; warps <= 16; warps++)
            for (uint32_t loads = 1; loads <= 32; loads++)
                for (int issue = 0; issue <= 40; issue += 8)
                    assert_float_equal(run(&specs[i], warps, loads, 300, issue),
                                       closed_form(&specs[i], warps, loads, 300, issue), 1e-9);
}

static void test_mshr__hits_take_no_register(void **state)
{
    const struct pb_sim_mshr_spec one = {1, 1};
    const struct pb_sim_request requests[] = {{600, true}, {30, false}, {30, false}, {600, true}};
    double finish;

    (void)state;
    assert_int_equal(pb_sim_mshr_fly(&one, 1, 3, requests, 2, &finish, NULL), PB_OK);
    assert_float_equal(finish, 600, 1e-9);
    assert_int_equal(pb_sim_mshr_fly(&one, 1, 4, requests, 2, &finish, NULL), PB_OK);
    assert_float_equal(finish, 1200, 1e-9);
}

/* A warp that has used up its own registers does not keep the others from theirs. */
static void test_mshr__a_full_warp_holds_up_no_other(void **state)
{
    struct pb_sim_request requests[2 * 12];
    double finish[2];

    (void)state;
    for (size_t i = 0; i < 12; i++) {
        requests[i] = (struct pb_sim_request){600, true};
        requests[12 + i] = (struct pb_sim_request){100, true};
    }
    assert_int_equal(pb_sim_mshr_fly(&fermi, 2, 12, requests, 2, finish, NULL), PB_OK);
    assert_true(finish[0] >= 1200);
    assert_true(finish[1] < 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mshr__one_warp_steps_at_every_seventh_load),
        cmocka_unit_test(test_mshr__warps_share_the_registers_of_the_sm),
        cmocka_unit_test(test_mshr__slow_issue_hides_the_limit),
        cmocka_unit_test(test_mshr__loads_on_the_plateau_are_those_of_figure_9),
        cmocka_unit_test(test_mshr__equal_latencies_have_a_closed_form),
        cmocka_unit_test(test_mshr__hits_take_no_register),
        cmocka_unit_test(test_mshr__a_full_warp_holds_up_no_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
