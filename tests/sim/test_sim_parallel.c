/* All SMs at work at once: what the profile's section `parallel` states is what is measured. */
#include <math.h>
#include <stdlib.h>

#include "sim/simtest.h"

enum { SMS = 2, RECORD = 256, SLOTS = 64, OVERHEAD = 10 };

static const double l2_cycles = 200.0, dram_cycles = 500.0, dram_bytes_per_s = 100e9;

static int compare(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

    return (left > right) - (left < right);
}

/* The median latency beside so much traffic, less the overhead. */
static double loaded_median(struct pb_device *device, enum pb_background background, double wanted,
                            uint64_t read_bytes, double *background_out)
{
    uint64_t *offsets = simtest_offsets(SLOTS, 128), indices[RECORD];
    uint32_t latency[RECORD];
    struct pb_loaded_chase chase = {.chase = simtest_chase(PB_PATH_GLOBAL_CG, offsets, SLOTS),
                                    .read_bytes = read_bytes,
                                    .background = background,
                                    .background_bytes_per_s = wanted};
    struct pb_chase_trace trace = {.latency_cycles = latency, .index_bytes = indices};
    struct pb_error err = PB_ERROR_INIT;

    chase.chase.record = RECORD;
    chase.chase.flush = background == PB_BACKGROUND_DRAM;
    if (device->ops->loaded_chase(device, &chase, &trace, background_out, &err) != PB_OK)
        fail_msg("%s", err.message);
    free(offsets);
    qsort(latency, RECORD, sizeof(latency[0]), compare);
    return latency[RECORD / 2] - OVERHEAD;
}

static void test_loaded_chase__rises_beyond_the_knee(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;
    double moved, most = dram_bytes_per_s / SMS; /* by the one SM beside the chase */

    (void)state;
    simtest_set(root, "parallel", "{\"knee_share\": 0.5, \"slope\": 0, \"saturated_factor\": 3}");
    device = simtest_open(root, NULL);
    assert_float_equal(loaded_median(device, PB_BACKGROUND_DRAM, 0.5 * most, 0, &moved),
                       dram_cycles, 1);
    assert_float_equal(moved, 0.5 * most, 1);
    assert_float_equal(loaded_median(device, PB_BACKGROUND_DRAM, 0, 0, &moved), 3 * dram_cycles, 1);
    assert_float_equal(moved, most, 1);
    assert_float_equal(loaded_median(device, PB_BACKGROUND_L2, 0, 0, &moved), 3 * l2_cycles, 1);
    device->ops->close(device);
    device = simtest_open_faulty(root, "load_knee=0.5");
    assert_float_equal(loaded_median(device, PB_BACKGROUND_DRAM, 0.25 * most, 0, &moved),
                       dram_cycles, 1);
    assert_float_equal(loaded_median(device, PB_BACKGROUND_DRAM, 0.5 * most, 0, &moved),
                       2 * dram_cycles, 1);
    device->ops->close(device);
    json_decref(root);
}

static void test_loaded_chase__sees_near_half_far_half_and_dram(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;
    double moved;

    (void)state;
    simtest_set(root, "l2_sides",
                "{\"far_latency_cycles\": 300, \"mask\": \"0x1000\", \"far_bytes\": 16384}");
    device = simtest_open(root, NULL);
    assert_float_equal(loaded_median(device, PB_BACKGROUND_NONE, 0, 16384, &moved), 200, 1);
    assert_float_equal(loaded_median(device, PB_BACKGROUND_NONE, 0, 16384 + 128, &moved), 300, 1);
    assert_float_equal(loaded_median(device, PB_BACKGROUND_NONE, 0, 32768, &moved), 300, 1);
    assert_float_equal(loaded_median(device, PB_BACKGROUND_NONE, 0, 32768 + 128, &moved), 500, 1);
    device->ops->close(device);
    json_decref(root);
}

static uint64_t work_cycles(struct pb_device *device, const struct pb_work *work)
{
    struct pb_error err = PB_ERROR_INIT;
    uint64_t cycles[SMS];

    if (device->ops->work(device, work, cycles, &err) != PB_OK)
        fail_msg("%s", err.message);
    return cycles[0];
}

static void test_work__moves_what_the_profile_says(void **state)
{
    const struct pb_work read = {
        .kind = PB_WORK_L2, .word_bytes = 16, .bytes = 65536, .repeats = 101, .sm = -1};
    struct pb_work alone = read;
    const struct pb_work add = {
        .kind = PB_WORK_ATOMIC, .word_bytes = 4, .repeats = 100, .address_count = 1, .sm = -1};
    json_t *root = simtest_profile();
    struct pb_device *device;

    (void)state;
    simtest_set(root, "parallel",
                "{\"l2_bytes_per_cycle\": 16, \"sm_bytes_per_cycle\": 32,"
                " \"atomic_address_per_cycle\": 0.5}");
    alone.sm = 0;
    device = simtest_open(root, NULL);
    assert_float_equal((double)work_cycles(device, &read), 65536.0 * 101 / 16, 300);
    assert_float_equal((double)work_cycles(device, &alone), 65536.0 * 101 / 32, 300);
    assert_float_equal((double)work_cycles(device, &add), 2.0 * 1024 * 100 * SMS, 300);
    device->ops->close(device);
    device = simtest_open_faulty(root, "l2_bandwidth=0.8");
    assert_float_equal((double)work_cycles(device, &read), 65536.0 * 101 / 16 / 0.8, 300);
    assert_float_equal((double)work_cycles(device, &alone), 65536.0 * 101 / 32, 300);
    device->ops->close(device);
    device = simtest_open_faulty(root, "atomic_rate=0.8");
    assert_float_equal((double)work_cycles(device, &add), 2.0 * 1024 * 100 * SMS / 0.8, 300);
    device->ops->close(device);
    json_decref(root);
}

static void test_compute__is_the_same_on_every_sm_but_a_flipping_one(void **state)
{
    const struct pb_compute compute = {.seed = 7, .runs = 1000, .steps = 1};
    static uint64_t healthy[1000][SMS], sick[1000][SMS];
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_error err = PB_ERROR_INIT;
    int wrong = 0;

    (void)state;
    assert_int_equal(device->ops->compute(device, &compute, healthy[0], &err), PB_OK);
    device->ops->close(device);
    device = simtest_open_faulty(root, "compute_flip=1:0.1");
    assert_int_equal(device->ops->compute(device, &compute, sick[0], &err), PB_OK);
    device->ops->close(device);
    for (int run = 0; run < 1000; run++) {
        assert_true(healthy[run][0] == healthy[run][1]);
        assert_true(sick[run][0] == healthy[run][0]); /* the right SM, the other device */
        wrong += sick[run][1] != healthy[run][1];
    }
    assert_in_range(wrong, 60, 140);
    assert_true(healthy[0][0] != healthy[1][0]);
    simtest_refused(root, "compute_flip=2:0.1", &err);
    json_decref(root);
}

static void test_cluster_shared__costs_what_the_profile_says(void **state)
{
    const struct pb_cluster_shared cluster = {2, 1};
    json_t *root = simtest_profile();
    struct pb_error err = PB_ERROR_INIT;
    double cycles[4], rates[2];
    struct pb_device *device;
    uint32_t sms[2];

    (void)state;
    simtest_set(root, "compute_capability", "\"9.0\"");
    simtest_set(root, "parallel",
                "{\"own_shared_cycles\": 32, \"cluster_shared_cycles\": 200,"
                " \"cluster_shared_spread_cycles\": 0, \"cluster_shared_bytes_per_cycle\": 16}");
    device = simtest_open(root, NULL);
    assert_int_equal(device->ops->cluster_shared(device, &cluster, sms, cycles, rates, &err),
                     PB_OK);
    assert_float_equal(cycles[0], 32, 0.1);
    assert_float_equal(cycles[1], 200, 0.1);
    assert_float_equal(rates[0], 16, 1e-6);
    device->ops->close(device);
    device = simtest_open_faulty(root, "dsm_latency=1.1");
    assert_int_equal(device->ops->cluster_shared(device, &cluster, sms, cycles, rates, &err),
                     PB_OK);
    assert_float_equal(cycles[3], 32, 0.1);
    assert_float_equal(cycles[2], 220, 0.1);
    device->ops->close(device);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded_chase__rises_beyond_the_knee),
        cmocka_unit_test(test_loaded_chase__sees_near_half_far_half_and_dram),
        cmocka_unit_test(test_work__moves_what_the_profile_says),
        cmocka_unit_test(test_compute__is_the_same_on_every_sm_but_a_flipping_one),
        cmocka_unit_test(test_cluster_shared__costs_what_the_profile_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
