/* The noise model: jitter and spikes of known shares are found again. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/noise.h"

enum { GROUPS = 40, MEMBERS = 50 };

static uint64_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

/* Groups of 50 accesses at latencies of their own: jitter of 0 to 4 cycles, every 100th a spike. */
static void measure(struct pb_noise *noise_out)
{
    struct pb_noise_evidence evidence = {NULL, 0, 0};
    struct pb_error err = PB_ERROR_INIT;
    uint64_t state = 7;

    for (int group = 0; group < GROUPS; group++) {
        double cycles[MEMBERS];

        for (int i = 0; i < MEMBERS; i++)
            cycles[i] = 200.0 + 37.0 * group + (double)(draw(&state) % 5) + (i % 50 == 49) * 700.0;
        assert_int_equal(pb_noise_add(&evidence, cycles, MEMBERS, &err), PB_OK);
    }
    pb_noise_fit(&evidence, noise_out);
    pb_noise_evidence_clear(&evidence);
}

static void test_noise__jitter_and_spikes_are_estimated(void **state)
{
    struct pb_noise noise;
    double sum = 0.0;

    (void)state;
    measure(&noise);
    assert_true(noise.spike_share > 0.01 && noise.spike_share < 0.03);
    assert_true(noise.spread_cycles >= 3.0 && noise.spread_cycles <= 6.0);
    for (int i = -PB_NOISE_REACH + 1; i < PB_NOISE_REACH; i++)
        sum += exp(pb_noise_log(&noise, i));
    assert_true(sum > 0.95 && sum < 1.05);
    assert_true(pb_noise_log(&noise, 0.0) > pb_noise_log(&noise, 6.0) + 2.0);
}

/* However far an access lies, it costs no more than a spike. */
static void test_noise__a_spike_costs_so_much_and_no_more(void **state)
{
    struct pb_noise noise;

    (void)state;
    measure(&noise);
    assert_true(pb_noise_log(&noise, 90.0) == pb_noise_log(&noise, 5000.0));
    assert_true(pb_noise_log(&noise, NAN) == noise.log_contamination);
    assert_true(pb_noise_log(&noise, 0.0) > pb_noise_log(&noise, 5000.0));
}

/* Spikes of one length are likelier than others, which remain possible; all are a share as before.
 */
static void test_noise__spikes_are_as_long_as_those_seen(void **state)
{
    struct pb_noise before, noise;
    double spikes[] = {-1.0, 0.0, 2.0, 300.0, 301.0, 302.0, 1e6}, sum = 0.0;

    (void)state;
    measure(&before);
    noise = before;
    pb_noise_add_spikes(&noise, spikes, sizeof(spikes) / sizeof(spikes[0]));
    assert_true(pb_noise_log(&noise, 301.0) > pb_noise_log(&before, 301.0) + 3.0);
    assert_true(pb_noise_log(&noise, 500.0) < pb_noise_log(&before, 500.0));
    assert_true(fabs(pb_noise_log(&noise, 500.0) - pb_noise_log(&noise, 5000.0)) < 1e-9);
    assert_true(fabs(pb_noise_log(&noise, 0.0) - pb_noise_log(&before, 0.0)) < 0.01);
    for (int i = PB_NOISE_REACH; i < PB_NOISE_SPAN; i++)
        sum += exp(pb_noise_log(&noise, i));
    assert_true(sum > 0.9 * noise.spike_share && sum < 1.1 * noise.spike_share);
}

static void test_noise__no_evidence_is_a_cycle_of_jitter(void **state)
{
    struct pb_noise_evidence evidence = {NULL, 0, 0};
    struct pb_noise noise;

    (void)state;
    pb_noise_fit(&evidence, &noise);
    assert_true(isfinite(noise.log_density[0]) && isfinite(noise.log_contamination));
    assert_true(noise.spike_share > 1e-4 && noise.spike_share < 1e-2);
}

static void test_noise__a_spike_does_not_move_the_class(void **state)
{
    struct pb_noise noise;
    double cycles[100];
    uint64_t random = 3;

    (void)state;
    measure(&noise);
    for (int i = 0; i < 100; i++)
        cycles[i] = 200.0 + (double)(draw(&random) % 5);
    cycles[17] = 900.0;
    assert_true(fabs(pb_noise_locate(&noise, cycles, 100) - 202.0) <= 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise__jitter_and_spikes_are_estimated),
        cmocka_unit_test(test_noise__a_spike_costs_so_much_and_no_more),
        cmocka_unit_test(test_noise__spikes_are_as_long_as_those_seen),
        cmocka_unit_test(test_noise__no_evidence_is_a_cycle_of_jitter),
        cmocka_unit_test(test_noise__a_spike_does_not_move_the_class),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
