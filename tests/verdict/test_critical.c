/* The table of critical values against a fresh Monte Carlo, and its interpolation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/verdict/critical.h"
#include "analysis/verdict/majority.h"
#include "verdict/fleet.h"

enum { DRAWS = 400000, PEERS_MAX = 256 };

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* Share of healthy devices beyond `sigmas`, by counting. */
static double seen_beyond(double sigmas, size_t peers, double freedom)
{
    struct fleet_random random = {peers};
    double values[PEERS_MAX], beyond = 0.0;
    size_t rounds = DRAWS / peers;

    for (size_t i = 0; i < rounds; i++) {
        struct pb_majority majority;

        for (size_t j = 0; j < peers; j++)
            values[j] = fleet_draw(&random, freedom);
        qsort(values, peers, sizeof(values[0]), compare);
        pb_majority_fit(values, peers, 0.0, &majority);
        for (size_t j = 0; j < peers; j++)
            beyond += fabs(pb_majority_sigmas(&majority, values[j], 0.0)) > sigmas ? 1.0 : 0.0;
    }
    return beyond / (double)(rounds * peers);
}

/* At p = 0.05, 0.005 and 0.0005 within four standard errors and five percent. */
static void check(size_t peers, double freedom)
{
    struct pb_null null;

    pb_null_set(&null, (double)peers, freedom > 0.0 ? 1.0 / freedom : 0.0);
    for (int i = 0; i < 3; i++) {
        double p = 0.05 * pow(10.0, -i);
        double seen = seen_beyond(pb_null_sigmas(&null, p), peers, freedom);

        assert_float_equal(seen, p, 0.05 * p + 4.0 * sqrt(2.0 * p / DRAWS));
    }
}

static void test_null__a_fresh_monte_carlo_agrees_for_normal_values(void **state)
{
    static const size_t peers[] = {4, 5, 8, 11, 16, 22, 40, 64, 80, 256};

    (void)state;
    for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
        check(peers[i], 0.0);
}

static void test_null__a_fresh_monte_carlo_agrees_for_heavy_tails(void **state)
{
    (void)state;
    check(16, 7.0);
    check(40, 5.0);
    check(64, 10.0);
    check(64, 20.0); /* between two columns */
}

static void test_null__many_peers_are_the_population_itself(void **state)
{
    struct pb_null null;

    (void)state;
    pb_null_set(&null, 1e6, 0.0);
    for (int i = 3; i < 10; i++) { /* both tails of the normal distribution */
        double p = pow(10.0, -i);

        assert_float_equal(erfc(pb_null_sigmas(&null, p) / M_SQRT2) / p, 1.0, 0.25);
    }
}

static void test_null__p_and_sigmas_are_inverse(void **state)
{
    struct pb_null null;

    (void)state;
    pb_null_set(&null, 37.0, 0.05);
    for (int i = 0; i < 60; i++) {
        double p = 0.9 * pow(1.7, -i);

        assert_float_equal(pb_null_p(&null, pb_null_sigmas(&null, p)) / p, 1.0, 1e-9);
    }
    assert_float_equal(pb_null_p(&null, 0.0), 1.0, 0.0);
    assert_true(isnan(pb_null_p(&null, NAN)));
}

static void test_null__more_peers_and_lighter_tails_make_nothing_less_surprising(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        double sigmas = 5.0 * pow(1.3, i), last = 1.0;

        for (unsigned peers = 16; peers < 20000; peers *= 2) {
            struct pb_null normal, heavy;

            pb_null_set(&normal, peers, 0.0);
            pb_null_set(&heavy, peers, 0.1);
            if (last > 1e-12) /* farther out the last slopes go on */
                assert_true(pb_null_p(&normal, sigmas) <= 1.05 * last);
            assert_true(pb_null_p(&normal, sigmas) <= pb_null_p(&heavy, sigmas));
            last = pb_null_p(&normal, sigmas);
        }
    }
}

static void test_table__every_row_ascends(void **state)
{
    (void)state;
    for (size_t i = 0; i < PB_CRITICAL_TAILS; i++)
        for (size_t j = 0; j < PB_CRITICAL_PEERS; j++)
            for (size_t k = 1; k < PB_CRITICAL_LEVELS; k++)
                assert_true(pb_critical_table[i][j][k] > pb_critical_table[i][j][k - 1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null__a_fresh_monte_carlo_agrees_for_normal_values),
        cmocka_unit_test(test_null__a_fresh_monte_carlo_agrees_for_heavy_tails),
        cmocka_unit_test(test_null__many_peers_are_the_population_itself),
        cmocka_unit_test(test_null__p_and_sigmas_are_inverse),
        cmocka_unit_test(test_null__more_peers_and_lighter_tails_make_nothing_less_surprising),
        cmocka_unit_test(test_table__every_row_ascends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
