/* What is random: noise of single accesses, and the spread between healthy devices. */
#include "sim/simtest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_noise__jitter_is_even_and_spikes_are_rare(void **state)
{
    enum { LOADS = 60000 };
    json_t *root = simtest_profile();
    uint32_t *latency = malloc(LOADS * sizeof(*latency));
    int counts[3] = {0}, spikes = 0;
    struct pb_device *device;

    (void)state;
    assert_non_null(latency);
    simtest_set(root, "noise",
                "{\"jitter_cycles\": 2, \"spike_probability\": 0.01, \"spike_cycles\": 300}");
    device = simtest_open(root, NULL);
    simtest_trace(device, PB_PATH_GLOBAL_CA, 4, 128, 4, LOADS, latency);
    for (int i = 0; i < LOADS; i++) {
        uint32_t extra = latency[i] - 30;

        spikes += extra >= 300;
        extra -= extra >= 300 ? 300 : 0;
        assert_in_range(extra, 0, 2);
        counts[extra]++;
    }
    for (int i = 0; i < 3; i++) /* 20000 +- 5 * sqrt(60000 * 2 / 9) */
        assert_in_range(counts[i], 20000 - 578, 20000 + 578);
    assert_in_range(spikes, 600 - 122, 600 + 122);
    free(latency);
    device->ops->close(device);
    json_decref(root);
}

/* One load in a hundred, by bursts of 50 loads of which half have a spike of any length. */
static void test_noise__spikes_come_in_bursts(void **state)
{
    enum { LOADS = 60000, BURST = 50 };
    json_t *root = simtest_profile();
    uint32_t *latency = malloc(LOADS * sizeof(*latency));
    int spikes = 0, near = 0, last = -BURST, longest = 0;
    struct pb_device *device;

    (void)state;
    assert_non_null(latency);
    simtest_set(root, "noise",
                "{\"jitter_cycles\": 0, \"spike_probability\": 0.01, \"spike_cycles\": 300, "
                "\"burst_loads\": 50}");
    device = simtest_open(root, NULL);
    simtest_trace(device, PB_PATH_GLOBAL_CA, 4, 128, 4, LOADS, latency);
    for (int i = 0; i < LOADS; i++) {
        if (latency[i] == 30)
            continue;
        longest = (int)latency[i] - 30 > longest ? (int)latency[i] - 30 : longest;
        near += i - last < BURST;
        last = i;
        spikes++;
    }
    assert_in_range(spikes, 300, 900); /* of 24 bursts on average */
    assert_true(10 * near >= 9 * spikes);
    assert_in_range(longest, 250, 300);
    free(latency);
    device->ops->close(device);
    json_decref(root);
}

static void test_noise__leaves_passes_alone(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;

    (void)state;
    simtest_set(root, "noise",
                "{\"jitter_cycles\": 2, \"spike_probability\": 0.5, \"spike_cycles\": 300}");
    device = simtest_open(root, NULL);
    assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CA, 16, 128), 30, 0);
    device->ops->close(device);
    json_decref(root);
}

/* A trace of 64 noisy loads of one device in one test. */
static void noisy_trace(json_t *root, uint64_t seed, const char *selector, const char *test,
                        uint32_t latency_out[64])
{
    struct pb_device_request request = {.host = "n1", .seed = seed, .selector = selector};
    struct pb_device *device = simtest_open(root, &request);

    assert_int_equal(device->ops->begin_test(device, test, false, NULL), PB_OK);
    simtest_trace(device, PB_PATH_GLOBAL_CA, 4, 128, 4, 64, latency_out);
    device->ops->close(device);
}

static void test_noise__repeats_with_the_seed_and_differs_otherwise(void **state)
{
    json_t *root = simtest_profile();
    uint32_t first[64], other[64];

    (void)state;
    simtest_set(root, "noise/jitter_cycles", "100");
    noisy_trace(root, 7, "0", "l1_capacity", first);
    noisy_trace(root, 7, "0", "l1_capacity", other);
    assert_memory_equal(first, other, sizeof(first));
    noisy_trace(root, 8, "0", "l1_capacity", other);
    assert_memory_not_equal(first, other, sizeof(first));
    noisy_trace(root, 7, "1", "l1_capacity", other);
    assert_memory_not_equal(first, other, sizeof(first));
    noisy_trace(root, 7, "0", "l2_capacity", other);
    assert_memory_not_equal(first, other, sizeof(first));
    json_decref(root);
}

static void test_spread__moves_l2_and_dram_but_not_l1(void **state)
{
    enum { DEVICES = 200 };
    json_t *root = simtest_profile();
    double sum = 0.0, squares = 0.0;

    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        char selector[8];
        struct pb_device_request request = {
            .host = "n1", .seed = 5, .spread_latency = 0.01, .selector = selector};
        struct pb_device *device;
        double l2;

        snprintf(selector, sizeof(selector), "%d", i);
        device = simtest_open(root, &request);
        l2 = simtest_pass(device, PB_PATH_GLOBAL_CG, 64, 128);
        assert_float_equal(simtest_pass(device, PB_PATH_GLOBAL_CA, 16, 128), 30, 0);
        sum += l2;
        squares += l2 * l2;
        device->ops->close(device);
    }
    assert_float_equal(sum / DEVICES, 200, 5 * 2.0 / sqrt(DEVICES));
    assert_float_equal(sqrt(squares / DEVICES - sum / DEVICES * sum / DEVICES), 2.0, 0.5);
    json_decref(root);
}

static void test_spread__fractions_of_a_cycle_show_in_the_mean_of_a_trace(void **state)
{
    enum { LOADS = 20000 };
    json_t *root = simtest_profile();
    uint32_t *latency = malloc(LOADS * sizeof(*latency));
    struct pb_device *device;
    double sum = 0.0;

    (void)state;
    assert_non_null(latency);
    simtest_set(root, "caches/1/latency_cycles", "200.25");
    device = simtest_open(root, NULL);
    simtest_trace(device, PB_PATH_GLOBAL_CG, 64, 128, 64, LOADS, latency);
    for (int i = 0; i < LOADS; i++) {
        assert_in_range(latency[i], 200, 201);
        sum += latency[i];
    }
    assert_float_equal(sum / LOADS, 200.25, 5 * sqrt(0.25 * 0.75 / LOADS));
    free(latency);
    device->ops->close(device);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_noise__jitter_is_even_and_spikes_are_rare),
        cmocka_unit_test(test_noise__spikes_come_in_bursts),
        cmocka_unit_test(test_noise__leaves_passes_alone),
        cmocka_unit_test(test_noise__repeats_with_the_seed_and_differs_otherwise),
        cmocka_unit_test(test_spread__moves_l2_and_dram_but_not_l1),
        cmocka_unit_test(test_spread__fractions_of_a_cycle_show_in_the_mean_of_a_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
