/* Stamps, clocks, streams, identity and state of a healthy simulated device. */
#include "sim/simtest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_stamp__is_the_overhead_of_the_profile(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device;
    uint32_t cycles[100];

    (void)state;
    simtest_set(root, "noise/jitter_cycles", "5");
    device = simtest_open(root, NULL);
    for (int stamp = PB_STAMP_EMPTY; stamp <= PB_STAMP_STORE; stamp++) {
        memset(cycles, 0, sizeof(cycles));
        assert_int_equal(device->ops->stamp(device, (enum pb_stamp)stamp, 100, cycles, NULL),
                         PB_OK);
        for (int i = 0; i < 100; i++)
            assert_int_equal(cycles[i], 10);
    }
    device->ops->close(device);
    json_decref(root);
}

static void test_clock__both_clocks_agree_with_the_profile(void **state)
{
    json_t *root = simtest_profile();
    struct pb_clock_sample samples[11];
    struct pb_device *device;

    (void)state;
    simtest_set(root, "clock_mhz", "1250");
    device = simtest_open(root, NULL);
    assert_int_equal(device->ops->clock(device, 0.1, 11, samples, NULL), PB_OK);
    for (int i = 1; i < 11; i++) {
        assert_int_equal(samples[i].ns - samples[i - 1].ns, 10000000);
        assert_int_equal(samples[i].cycles - samples[i - 1].cycles, 12500000);
    }
    assert_int_equal(device->ops->clock(device, 0.0, 11, samples, NULL), PB_INVALID);
    device->ops->close(device);
    json_decref(root);
}

/* Bytes per second of a copy, or 0 when it was refused. */
static double copy_rate(struct pb_device *device, uint32_t ctas, uint32_t threads, uint32_t ilp)
{
    struct pb_stream stream = {.kind = PB_STREAM_COPY,
                               .cta_count = ctas,
                               .cta_size = threads,
                               .ilp = ilp,
                               .word_bytes = 4,
                               .bytes = 64 << 20,
                               .repeats = 3};
    struct pb_stream_result result;

    assert_int_equal(device->ops->stream(device, &stream, &result, NULL), PB_OK);
    assert_int_equal(result.bytes_moved, 3 * 2 * (64 << 20));
    assert_int_equal(result.mismatch_count, 0);
    return (double)result.bytes_moved / result.seconds;
}

static void test_stream__saturates_exactly_at_the_bandwidth(void **state)
{
    static const struct {
        const char *name;
        double bytes_per_s;
        uint32_t sms;
    } devices[] = {{"gtx560ti", 109.38e9, 8}, {"gtx780", 215.92e9, 12}, {"gtx980", 156.25e9, 16}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) { /* M16 table VI */
        json_t *root = simtest_shipped(devices[i].name);
        struct pb_device *device = simtest_open(root, NULL);
        double rate = copy_rate(device, 24 * devices[i].sms, 256, 8); /* whole waves */

        assert_float_equal(rate, devices[i].bytes_per_s, 1e-9 * devices[i].bytes_per_s);
        assert_true(copy_rate(device, 24 * devices[i].sms + 1, 256, 8) < rate);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_stream__little_load_rises_with_everything_in_flight(void **state)
{
    json_t *root = simtest_shipped("gtx780");
    struct pb_device *device = simtest_open(root, NULL);
    double one = copy_rate(device, 1, 32, 1);

    (void)state;
    /* Little's law: one warp of 4-byte words over a latency of 339 cycles */
    assert_float_equal(one, 128 / (339 / 1006e6), 0.01 * one);
    assert_float_equal(copy_rate(device, 1, 64, 1), 2 * one, 0.02 * one);
    assert_float_equal(copy_rate(device, 2, 32, 1), 2 * one, 0.02 * one);
    assert_float_equal(copy_rate(device, 1, 32, 2), 2 * one, 0.02 * one);
    assert_true(copy_rate(device, 12, 1024, 1) < 215.92e9);
    device->ops->close(device);
    json_decref(root);
}

static void test_stream__refuses_what_it_cannot_run(void **state)
{
    const struct pb_stream good = {.kind = PB_STREAM_READ,
                                   .cta_count = 1,
                                   .cta_size = 32,
                                   .ilp = 1,
                                   .word_bytes = 4,
                                   .bytes = 1024,
                                   .repeats = 1};
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_stream_result result;
    struct pb_stream bad[6];

    (void)state;
    assert_int_equal(device->ops->stream(device, &good, &result, NULL), PB_OK);
    assert_int_equal(result.bytes_moved, 1024);
    for (int i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].cta_size = 1025;
    bad[1].ilp = 3;
    bad[2].word_bytes = 2;
    bad[3].bytes = 0;
    bad[4].cta_count = 0;
    for (int i = 0; i < 5; i++)
        assert_int_equal(device->ops->stream(device, &bad[i], &result, NULL), PB_INVALID);
    bad[5].bytes = (uint64_t)1 << 30;
    assert_int_equal(device->ops->stream(device, &bad[5], &result, NULL), PB_NO_MEMORY);
    device->ops->close(device);
    json_decref(root);
}

/* Bytes per cycle of an SM, or 0 when it does not hold the CTAs. */
static double shared_rate(struct pb_device *device, uint32_t ctas, uint32_t threads, uint32_t ilp)
{
    const struct pb_shared_stream stream = {ctas, threads, ilp, 100};
    struct pb_shared_stream_result result;
    enum pb_status status = device->ops->shared_stream(device, &stream, &result, NULL);

    if (status == PB_UNSUPPORTED)
        return 0.0;
    assert_int_equal(status, PB_OK);
    assert_int_equal(result.bytes_per_sm, (uint64_t)ctas * threads * ilp * 8 * 100);
    assert_int_equal(result.mismatch_count, 0);
    return (double)result.bytes_per_sm / result.cycles;
}

/* M16 table VII: 34.90, 83.81 and 137.41 GB/s, at the configurations that section 6.1 names. */
static void test_shared_stream__saturates_at_what_m16_measured(void **state)
{
    static const struct {
        const char *name;
        double gb_per_s, ghz;
        uint32_t ctas, threads, ilp;
    } devices[] = {{"gtx560ti", 34.90, 0.950, 1, 512, 4},
                   {"gtx780", 83.81, 1.006, 1, 1024, 6},
                   {"gtx980", 137.41, 1.279, 2, 256, 8}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        json_t *root = simtest_shipped(devices[i].name);
        struct pb_device *device = simtest_open(root, NULL);
        double peak = shared_rate(device, devices[i].ctas, devices[i].threads, devices[i].ilp);

        assert_float_equal(peak * devices[i].ghz, devices[i].gb_per_s, 0.005);
        assert_true(shared_rate(device, 1, 32, 1) < 0.1 * peak);
        for (uint32_t threads = 32; threads <= 1024; threads *= 2)
            assert_true(shared_rate(device, 1, threads, 6) <= peak);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_shared_stream__without_an_achieved_figure_the_peak_is_reached(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    double one = shared_rate(device, 1, 32, 1);

    (void)state;
    assert_float_equal(shared_rate(device, 2, 1024, 1), 128, 1e-9);
    assert_float_equal(one, 128.0 / 30, 0.02 * one); /* Little's law */
    assert_float_equal(shared_rate(device, 1, 32, 2), 2 * one, 0.02 * one);
    device->ops->close(device);
    json_decref(root);
}

static void test_shared_stream__refuses_what_an_sm_does_not_hold(void **state)
{
    const struct pb_shared_stream bad[] = {{0, 32, 1, 1}, {1, 0, 1, 1},  {1, 1025, 1, 1},
                                           {1, 32, 0, 1}, {1, 32, 9, 1}, {1, 32, 1, 0}};
    json_t *root = simtest_profile(); /* 64 KiB, of which every CTA loses one; 2048 threads */
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_shared_stream_result result;

    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(device->ops->shared_stream(device, &bad[i], &result, NULL), PB_INVALID);
    assert_true(shared_rate(device, 1, 1024, 6) > 0);
    assert_float_equal(shared_rate(device, 1, 1024, 8), 0, 0); /* 64 KiB and the lost one */
    assert_true(shared_rate(device, 2, 512, 7) > 0);
    assert_float_equal(shared_rate(device, 2, 512, 8), 0, 0);
    assert_float_equal(shared_rate(device, 3, 1024, 1), 0, 0); /* threads */
    assert_float_equal(shared_rate(device, 33, 32, 1), 0, 0);  /* CTAs */
    device->ops->close(device);
    json_decref(root);
}

static void test_describe__returns_the_profile(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device_request request = {.host = "n1", .selector = "5"};
    struct pb_device *device = simtest_open(root, &request);
    struct pb_device_info info;

    (void)state;
    assert_int_equal(device->ops->describe(device, &info, NULL), PB_OK);
    assert_string_equal(info.backend, "sim");
    assert_string_equal(info.model, "Test GPU");
    assert_string_equal(info.source, "tests");
    assert_string_equal(info.pci_bus_id, "00000000:05:00.0");
    assert_int_equal(info.slot, 5);
    assert_int_equal(info.compute_capability, 80);
    assert_int_equal(info.capabilities,
                     PB_CAP_CLOCK | PB_CAP_GLOBAL_CA | PB_CAP_GLOBAL_CG | PB_CAP_SHARED |
                         PB_CAP_STREAM | PB_CAP_BURST | PB_CAP_ATOMIC | PB_CAP_STUDY | PB_CAP_LINK |
                         PB_CAP_PEER | PB_CAP_PATTERN | PB_CAP_ALIAS | PB_CAP_PAIR |
                         PB_CAP_PARALLEL); /* clusters are of 9.0 on */
    assert_int_equal(info.sm_count, 2);
    assert_int_equal(info.l2_bytes, 16384);
    assert_int_equal(info.memory_bytes, 1 << 30);
    assert_int_equal(info.shared_per_cta_bytes, 63 << 10);
    assert_int_equal(info.max_threads_per_sm, 2048);
    assert_float_equal(info.theoretical_bytes_per_s, 1.25e11, 0);
    assert_int_equal(info.ecc_enabled, -1);
    assert_true(isnan(info.power_limit_w));
    device->ops->close(device);
    json_decref(root);
}

static void test_describe__paths_with_a_cache_are_capabilities(void **state)
{
    json_t *root = simtest_shipped("gtx780");
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_device_info info;

    (void)state;
    assert_int_equal(device->ops->describe(device, &info, NULL), PB_OK);
    assert_int_equal(info.capabilities &
                         (PB_CAP_READONLY | PB_CAP_TEXTURE | PB_CAP_TEXTURE_2D | PB_CAP_CONSTANT),
                     PB_CAP_READONLY | PB_CAP_TEXTURE | PB_CAP_TEXTURE_2D);
    assert_int_equal(info.trace_window_large, 49152 / 12);
    device->ops->close(device);
    json_decref(root);
}

/* The UUID of a slot of a host. */
static void uuid_of(json_t *root, const char *host, const char *selector, char uuid[PB_TEXT_LENGTH])
{
    struct pb_device_request request = {.host = host, .selector = selector};
    struct pb_device *device = simtest_open(root, &request);
    struct pb_device_info info;

    assert_int_equal(device->ops->describe(device, &info, NULL), PB_OK);
    memcpy(uuid, info.uuid, PB_TEXT_LENGTH);
    device->ops->close(device);
}

static void test_open__uuid_and_pci_id_lead_back_to_the_slot(void **state)
{
    json_t *root = simtest_profile();
    char uuid[PB_TEXT_LENGTH], again[PB_TEXT_LENGTH], elsewhere[PB_TEXT_LENGTH];

    (void)state;
    uuid_of(root, "n1", "3", uuid);
    assert_int_equal(strlen(uuid), strlen("GPU-00000000-0000-0000-0000-000000000000"));
    assert_memory_equal(uuid, "GPU-", 4);
    uuid_of(root, "n1", uuid, again);
    assert_string_equal(uuid, again);
    uuid_of(root, "n1", "00000000:03:00.0", again);
    assert_string_equal(uuid, again);
    uuid_of(root, "n2", "3", elsewhere);
    assert_string_not_equal(uuid, elsewhere);
    uuid_of(root, "n1", "4", elsewhere);
    assert_string_not_equal(uuid, elsewhere);
    json_decref(root);
}

static void expect_selector(const char *selector, enum pb_status status, const char *message)
{
    struct pb_device_request request = {.host = "n1", .selector = selector};
    struct pb_device *device = NULL;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_device_sim.open(&request, &device, &err), status);
    assert_string_equal(err.message, message);
    assert_null(device);
}

static void test_open__refuses_odd_selectors(void **state)
{
    (void)state;
    expect_selector("first", PB_INVALID,
                    "device \"first\": expected an index, a UUID or a PCI bus id");
    expect_selector("-1", PB_INVALID, "device \"-1\": expected an index, a UUID or a PCI bus id");
    expect_selector("1x", PB_INVALID, "device \"1x\": expected an index from 0 to 65535");
    expect_selector("GPU-0", PB_NOT_FOUND, "device \"GPU-0\": none of the first 64 slots of n1");
}

static void test_enumerate__lists_four_devices_that_open(void **state)
{
    struct pb_device_entry *entries = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(setenv("PLUMB_PROFILE_DIR", "/nowhere", 1), 0);
    assert_int_equal(pb_device_sim.enumerate(&entries, &count, NULL), PB_OK);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        struct pb_device_request request = {.selector = entries[i].uuid};
        struct pb_device *device = NULL;
        struct pb_device_info info;

        assert_int_equal(pb_device_sim.open(&request, &device, NULL), PB_OK);
        assert_int_equal(device->ops->describe(device, &info, NULL), PB_OK);
        assert_int_equal(info.slot, i);
        assert_string_equal(info.model, entries[i].model);
        assert_string_equal(info.pci_bus_id, entries[i].pci_bus_id);
        device->ops->close(device);
    }
    free(entries);
    unsetenv("PLUMB_PROFILE_DIR");
}

static void test_state__is_plausible_and_admits_what_it_does_not_know(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);
    struct pb_state now;

    (void)state;
    assert_int_equal(device->ops->read_state(device, &now, NULL), PB_OK);
    assert_float_equal(now.sm_clock_mhz, 1000, 0);
    assert_true(now.power_w > 0 && now.temperature_c > 20 && now.temperature_c < 100);
    assert_true(now.unix_seconds > 1.6e9);
    assert_int_equal(now.throttle_reasons, 0);
    assert_int_equal(now.pcie_width, 16);
    assert_int_equal(now.pcie_width_max, 16);
    assert_true(isnan(now.memory_clock_mhz));
    assert_int_equal(now.ecc_corrected, -1);
    device->ops->close(device);
    json_decref(root);
}

static void test_close__nothing_is_legal(void **state)
{
    (void)state;
    pb_device_sim.close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stamp__is_the_overhead_of_the_profile),
        cmocka_unit_test(test_clock__both_clocks_agree_with_the_profile),
        cmocka_unit_test(test_stream__saturates_exactly_at_the_bandwidth),
        cmocka_unit_test(test_stream__little_load_rises_with_everything_in_flight),
        cmocka_unit_test(test_stream__refuses_what_it_cannot_run),
        cmocka_unit_test(test_shared_stream__saturates_at_what_m16_measured),
        cmocka_unit_test(test_shared_stream__without_an_achieved_figure_the_peak_is_reached),
        cmocka_unit_test(test_shared_stream__refuses_what_an_sm_does_not_hold),
        cmocka_unit_test(test_describe__returns_the_profile),
        cmocka_unit_test(test_describe__paths_with_a_cache_are_capabilities),
        cmocka_unit_test(test_open__uuid_and_pci_id_lead_back_to_the_slot),
        cmocka_unit_test(test_open__refuses_odd_selectors),
        cmocka_unit_test(test_enumerate__lists_four_devices_that_open),
        cmocka_unit_test(test_state__is_plausible_and_admits_what_it_does_not_know),
        cmocka_unit_test(test_close__nothing_is_legal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
