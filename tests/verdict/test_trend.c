/* Trends: slopes that are known, and healthy histories without any. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/verdict/finding.h"
#include "analysis/verdict/trend.h"

enum { METRICS = 12, FLEETS = 1000 };

static const double day = 86400.0;

struct history {
    struct pb_features now, history;
    struct pb_scores scores;
    struct pb_trends trends;
    uint64_t random;
};

/* xorshift64*: uniform within (0, 1). */
static double uniform(struct history *history)
{
    history->random ^= history->random >> 12;
    history->random ^= history->random << 25;
    history->random ^= history->random >> 27;
    return ((double)((history->random * 0x2545f4914f6cdd1du) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct history *history)
{
    return sqrt(-2.0 * log(uniform(history))) * cos(2.0 * acos(-1.0) * uniform(history));
}

static struct pb_metric metric_of(size_t m)
{
    struct pb_metric metric = {.unit = "byte/s",
                               .test = "global_copy",
                               .part = PB_PART_DRAM,
                               .domain = PB_DOMAIN_RATE,
                               .better = PB_BETTER_HIGHER,
                               .practical = 0.03};

    snprintf(metric.name, sizeof(metric.name), "dram.rate_%zu", m);
    return metric;
}

/* `runs` nights of `devices`; the last is this run. `heavy`: one reading in twenty is ten times as
 * far off. drift[device]: relative change of its first metric a night; NULL: none. */
static void make(struct history *history, size_t devices, size_t runs, double noise, bool heavy,
                 const double *drift)
{
    for (size_t run = 0; run < runs; run++) {
        struct pb_features *features = run + 1 == runs ? &history->now : &history->history;

        for (size_t i = 0; i < devices; i++) {
            struct pb_feature_row device = {
                .slot = (int64_t)i, .run = run, .measured_seconds = 1.7e9 + day * (double)run};
            size_t at;

            snprintf(device.key, sizeof(device.key), "n1.gpu%zu", i);
            PB_TEXT_SET(device.host, "n1");
            PB_TEXT_SET(device.status, "ok");
            PB_TEXT_SET(device.info.model, "Tesla T0");
            snprintf(device.info.uuid, sizeof(device.info.uuid), "GPU-%zu", i);
            assert_int_equal(pb_features_add_device(features, &device, &at, NULL), PB_OK);
            for (size_t m = 0; m < METRICS; m++) {
                struct pb_metric metric = metric_of(m);
                double factor = heavy && uniform(history) < 0.05 ? 10.0 : 1.0;
                double value = 3e12 * (1.0 + 0.01 * sin((double)(i + m))) *
                               (1.0 + factor * noise * normal(history));

                if (m == 0 && drift != NULL)
                    value *= 1.0 + drift[i] * (double)run;
                assert_int_equal(pb_features_set(features, at, &metric,
                                                 (struct pb_reading){value, 0.0, -1}, NULL),
                                 PB_OK);
            }
        }
    }
}

static size_t find(struct history *history)
{
    const struct pb_score_options rates = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_score(&history->now, NULL, &rates, &history->scores, &err), PB_OK);
    if (pb_trends_find(&history->now, &history->history, &history->scores, rates.critical_rate,
                       &history->trends, &err) != PB_OK)
        fail_msg("%s", err.message);
    return history->trends.count;
}

static void clear(struct history *history)
{
    pb_trends_clear(&history->trends);
    pb_scores_clear(&history->scores);
    pb_features_clear(&history->now);
    pb_features_clear(&history->history);
}

static void test_theil_sen__one_outlier_does_not_matter(void **state)
{
    const double x[] = {0, 1, 2, 3, 4, 5, 6}, y[] = {1, 3, 5, 70, 9, 11, 13};
    double scratch[21];

    (void)state;
    assert_true(fabs(pb_theil_sen(x, y, 7, scratch) - 2.0) < 1e-12);
}

/* Kendall 1975, appendix table 1: n = 5, S = 10: 1 / 120; n = 10, S = 23: 0.023 (one-sided). */
static void test_kendall__is_exact_for_few(void **state)
{
    const double five[] = {1, 2, 3, 4, 5}, ten[] = {3, 1, 2, 5, 4, 8, 6, 10, 9, 7};
    const double equal[] = {2, 2, 2, 2, 2};

    (void)state;
    assert_true(fabs(pb_kendall_p(five, 5) - 2.0 / 120.0) < 1e-12);
    assert_true(pb_kendall_p(ten, 10) < 0.02);
    assert_true(pb_kendall_p(equal, 5) == 1.0);
}

/* A third of a per cent a night over a tenth of a per cent of noise: seen before it has cost 2%. */
static void test_device__slope_is_found_before_two_per_cent(void **state)
{
    const double drift[16] = {[5] = -0.003};
    size_t found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct history history = {.random = seed};

        make(&history, 16, 7, 0.001, false, drift);
        if (find(&history) == 1 && history.trends.items[0].device == 5) {
            found++;
            assert_true(fabs(history.trends.items[0].slope_per_day + 0.003) < 0.0005);
        }
        clear(&history);
    }
    assert_int_equal(found, 20);
}

static void test_device__alone_is_found_too(void **state)
{
    const double drift[1] = {-0.003};
    size_t found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct history history = {.random = seed};

        make(&history, 1, 7, 0.001, false, drift);
        found += find(&history) == 1;
        clear(&history);
    }
    assert_true(found >= 15);
}

/* What all devices share is one trend of the group. */
static void test_fleet__common_slope_is_one_trend(void **state)
{
    double drift[16];
    struct history history = {.random = 3};

    (void)state;
    for (size_t i = 0; i < 16; i++)
        drift[i] = -0.003;
    make(&history, 16, 7, 0.001, false, drift);
    assert_int_equal(find(&history), 1);
    assert_true(history.trends.items[0].device == SIZE_MAX);
    clear(&history);
}

static void test_slope__for_the_better_is_none(void **state)
{
    const double drift[16] = {[5] = 0.003};
    struct history history = {.random = 3};

    (void)state;
    make(&history, 16, 7, 0.001, false, drift);
    assert_int_equal(find(&history), 0);
    clear(&history);
}

/* At a rate of 1% for a fleet of 8 devices and 12 numbers; noise is normal, or has heavy tails. */
static void test_healthy__histories_have_no_trend(void **state)
{
    (void)state;
    for (int heavy = 0; heavy <= 1; heavy++) {
        size_t alarms = 0;

        for (uint64_t seed = 1; seed <= FLEETS; seed++) {
            struct history history = {.random = seed};

            make(&history, seed % 2 == 0 ? 8 : 1, 6 + seed % 9, 0.004, heavy == 1, NULL);
            alarms += find(&history) > 0;
            clear(&history);
        }
        print_message("%zu of %d healthy histories with a trend%s\n", alarms, FLEETS,
                      heavy == 1 ? ", heavy tails" : "");
        assert_true(alarms <= FLEETS / 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_theil_sen__one_outlier_does_not_matter),
        cmocka_unit_test(test_kendall__is_exact_for_few),
        cmocka_unit_test(test_device__slope_is_found_before_two_per_cent),
        cmocka_unit_test(test_device__alone_is_found_too),
        cmocka_unit_test(test_fleet__common_slope_is_one_trend),
        cmocka_unit_test(test_slope__for_the_better_is_none),
        cmocka_unit_test(test_healthy__histories_have_no_trend),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
