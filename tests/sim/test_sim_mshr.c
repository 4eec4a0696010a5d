/* Loads in flight: the plateaus and steps of N14's figure 9. */
#include "sim/simtest.h"

#include "device/sim/mshr.h"

static const struct pb_sim_mshr_spec fermi = {.per_sm = 64, .per_warp = 6};

static double cycles(uint32_t warps, uint32_t loads)
{
    return pb_sim_mshr_cycles(&fermi, warps, loads, 600, 2);
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
    assert_float_equal(pb_sim_mshr_cycles(&fermi, 1, 20, 10, 4), 19 * 4 + 10, 1e-9);
}

/* The definition, load by load, that the closed form must agree with. */
static double simulate(const struct pb_sim_mshr_spec *mshr, uint32_t warps, uint32_t loads,
                       double latency, double issue)
{
    double issued[512];
    uint32_t total = warps * loads;

    assert_true(total <= 512);
    for (uint32_t n = 0; n < total; n++) {
        double at = n == 0 ? 0.0 : issued[n - 1] + issue;
        uint32_t of_warp = mshr->per_warp * warps; /* as many turns ago this warp's oldest issued */

        if (n >= mshr->per_sm && issued[n - mshr->per_sm] + latency > at)
            at = issued[n - mshr->per_sm] + latency;
        if (n >= of_warp && issued[n - of_warp] + latency > at)
            at = issued[n - of_warp] + latency;
        issued[n] = at;
    }
    return issued[total - 1] + latency;
}

static void test_mshr__closed_form_equals_the_simulation(void **state)
{
    const struct pb_sim_mshr_spec specs[] = {{64, 6}, {32, 16}, {7, 7}, {128, 1}, {1, 1}};

    (void)state;
    for (size_t i = 0; i < COUNT(specs); i++)
        for (uint32_t warps = 1; warps <= 16; warps++)
            for (uint32_t loads = 1; loads <= 32; loads++)
                for (int issue = 0; issue <= 40; issue += 8)
                    assert_float_equal(pb_sim_mshr_cycles(&specs[i], warps, loads, 300, issue),
                                       simulate(&specs[i], warps, loads, 300, issue), 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mshr__one_warp_steps_at_every_seventh_load),
        cmocka_unit_test(test_mshr__warps_share_the_registers_of_the_sm),
        cmocka_unit_test(test_mshr__slow_issue_hides_the_limit),
        cmocka_unit_test(test_mshr__closed_form_equals_the_simulation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
