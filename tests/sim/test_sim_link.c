/* The host link, peers and the pattern test of memory, healthy and with injected faults. */
#include "sim/simtest.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct pb_link_result move(struct pb_device *device, enum pb_link_kind kind, bool pinned,
                                  uint64_t bytes)
{
    const struct pb_link link = {.kind = kind, .pinned = pinned, .bytes = bytes, .repeats = 3};
    struct pb_link_result result;
    struct pb_error err = PB_ERROR_INIT;

    if (device->ops->link(device, &link, &result, &err) != PB_OK)
        fail_msg("%s", err.message);
    return result;
}

/* Bytes per second beyond the latency. */
static double rate(struct pb_device *device, bool pinned)
{
    double small = move(device, PB_LINK_TO_DEVICE, pinned, 64 << 20).seconds;
    double large = move(device, PB_LINK_TO_DEVICE, pinned, 128 << 20).seconds;

    return (64 << 20) / (large - small);
}

static struct pb_device *open_with(const char *link, const char *fault, json_t **root_out)
{
    struct pb_device_request request = {.host = "n1", .faults = &fault, .fault_count = 1};

    *root_out = simtest_profile();
    if (link != NULL)
        simtest_set(*root_out, "link", link);
    return simtest_open(*root_out, fault != NULL ? &request : NULL);
}

static void test_link__generation_and_width_give_the_bandwidth(void **state)
{
    static const struct {
        const char *link;
        double low, high; /* GB/s, as copies over such links usually reach */
    } links[] = {{"{\"pcie_generation\": 2}", 6, 7},
                 {"{\"pcie_generation\": 3}", 12, 14},
                 {NULL, 25, 28},
                 {"{\"pcie_generation\": 5}", 50, 56},
                 {"{\"pcie_width\": 4}", 6.2, 7},
                 {"{\"pcie_generation\": 1}", 3, 4}};

    (void)state;
    for (size_t i = 0; i < COUNT(links); i++) {
        json_t *root;
        struct pb_device *device = open_with(links[i].link, NULL, &root);
        double bytes_per_s = rate(device, true);

        assert_true(bytes_per_s > links[i].low * 1e9 && bytes_per_s < links[i].high * 1e9);
        assert_float_equal(rate(device, false), 0.5 * bytes_per_s, 1e-6 * bytes_per_s);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_link__small_transfers_take_the_latency(void **state)
{
    json_t *root;
    struct pb_device *device = open_with("{\"latency_us\": 12}", NULL, &root);
    struct pb_link_result result = move(device, PB_LINK_FROM_DEVICE, true, 8);

    (void)state;
    assert_float_equal(result.seconds, 12e-6, 1e-8);
    assert_true(result.least_seconds <= result.seconds);
    assert_int_equal(result.mismatch_count, 0);
    device->ops->close(device);
    json_decref(root);
}

static void test_link__a_narrow_link_is_as_much_slower(void **state)
{
    json_t *root, *narrow_root;
    struct pb_device *device = open_with(NULL, NULL, &root);
    struct pb_device *narrow = open_with(NULL, "pcie_width=4", &narrow_root);
    struct pb_state now;

    (void)state;
    assert_float_equal(rate(device, true) / rate(narrow, true), 4, 1e-6);
    assert_int_equal(narrow->ops->read_state(narrow, &now, NULL), PB_OK);
    assert_int_equal(now.pcie_width, 4);
    assert_int_equal(now.pcie_generation, 4);
    device->ops->close(device);
    narrow->ops->close(narrow);
    json_decref(root);
    json_decref(narrow_root);
}

/* On this machine those that enumerate() lists; of a fleet's node as many as the fleet says. */
static void test_link__the_other_devices_of_the_node_are_peers(void **state)
{
    static const struct pb_device_request requests[] = {
        {.profile = "h200", .selector = "1"},
        {.profile = "h200", .selector = "1", .host = "n7", .host_devices = 6}};
    struct pb_device_entry *listed = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(pb_device_sim.enumerate(&listed, &count, NULL), PB_OK);
    assert_int_equal(count, 4);
    assert_int_equal(setenv("PLUMB_PROFILE_DIR", PLUMB_PROFILES, 1), 0);
    for (size_t k = 0; k < COUNT(requests); k++) {
        struct pb_device *device = NULL;
        struct pb_link_result result;
        struct pb_link link = {.kind = PB_LINK_FROM_PEER, .bytes = 1 << 30, .repeats = 1};

        assert_int_equal(pb_device_sim.open(&requests[k], &device, NULL), PB_OK);
        assert_int_equal(device->node_count, k == 0 ? 4 : 6);
        for (size_t i = 0; i < device->node_count; i++) {
            link.peer = device->node[i].uuid;
            assert_int_equal(device->ops->link(device, &link, &result, NULL),
                             i == 1 ? PB_UNSUPPORTED : PB_OK);
            if (i != 1)
                assert_float_equal((1 << 30) / result.seconds, 3.8e11, 0.01 * 3.8e11);
        }
        link.peer = listed[2].uuid;
        assert_int_equal(device->ops->link(device, &link, &result, NULL),
                         k == 0 ? PB_OK : PB_NOT_FOUND);
        device->ops->close(device);
    }
    unsetenv("PLUMB_PROFILE_DIR");
    free(listed);
}

static void test_link__refuses_what_is_not_there(void **state)
{
    const struct pb_link bad = {.kind = PB_LINK_TO_DEVICE, .bytes = 0, .repeats = 1};
    const struct pb_link big = {.kind = PB_LINK_TO_DEVICE, .bytes = 1 << 30, .repeats = 1};
    struct pb_link peer = {.kind = PB_LINK_FROM_PEER, .bytes = 8, .repeats = 1, .peer = "GPU-0"};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_link_result result;
    json_t *root;
    struct pb_device *device = open_with(NULL, NULL, &root);

    (void)state;
    assert_int_equal(device->ops->link(device, &bad, &result, NULL), PB_INVALID);
    assert_int_equal(device->ops->link(device, &big, &result, NULL), PB_NO_MEMORY);
    assert_int_equal(device->ops->link(device, &peer, &result, &err), PB_NOT_FOUND);
    assert_string_equal(err.message, "link: no device \"GPU-0\" in this node");
    peer.peer = NULL;
    assert_int_equal(device->ops->link(device, &peer, &result, NULL), PB_NOT_FOUND);
    device->ops->close(device);
    json_decref(root);
}

static void test_pattern__takes_as_long_as_writing_and_reading_it(void **state)
{
    static const struct {
        const char *fault;
        double seconds; /* of 2 x 100 MB twice, at 100 GB/s */
    } cases[] = {{NULL, 4e-3}, {"dram_bandwidth=0.5", 8e-3}};
    const struct pb_pattern part = {.bytes = 100000000, .seed = 3, .passes = 2},
                            whole = {.bytes = 0, .seed = 3, .passes = 1},
                            none = {.bytes = 4, .passes = 1};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct pb_pattern_result result;
        json_t *root;
        struct pb_device *device = open_with(NULL, cases[i].fault, &root);

        assert_int_equal(device->ops->pattern(device, &part, &result, NULL), PB_OK);
        assert_int_equal(result.bytes_tested, 100000000);
        assert_int_equal(result.mismatch_count, 0);
        assert_float_equal(result.seconds, cases[i].seconds, 1e-9);
        assert_int_equal(device->ops->pattern(device, &whole, &result, NULL), PB_OK);
        assert_int_equal(result.bytes_tested, (1 << 30) / 16 * 15);
        assert_int_equal(device->ops->pattern(device, &none, &result, NULL), PB_INVALID);
        device->ops->close(device);
        json_decref(root);
    }
}

static void test_pattern__a_bit_flip_has_an_address_and_a_bit(void **state)
{
    const struct pb_pattern pattern = {.bytes = 80000000, .seed = 3, .passes = 1};
    struct pb_pattern_result result;
    json_t *root;
    struct pb_device *device = open_with(NULL, "bitflip=1e-5", &root);

    (void)state;
    assert_int_equal(device->ops->pattern(device, &pattern, &result, NULL), PB_OK);
    assert_in_range(result.mismatch_count, 50, 150); /* 10 million words */
    assert_int_equal(__builtin_popcountll(result.expected ^ result.found), 1);
    assert_int_equal(result.address % 8, 0);
    /* the first of about 100 in 80 MB: beyond 16 MB once in 5e9 */
    assert_in_range(result.address, UINT64_C(65) << 30, (UINT64_C(65) << 30) + (16 << 20));
    device->ops->close(device);
    json_decref(root);
}

static void test_link__a_bit_flip_is_counted(void **state)
{
    const struct pb_shared_stream stream = {1, 1024, 4, 100};
    struct pb_shared_stream_result result;
    json_t *root;
    struct pb_device *device = open_with(NULL, "bitflip=0.001", &root);

    (void)state;
    assert_in_range(move(device, PB_LINK_TO_DEVICE, true, 8000000).mismatch_count, 800, 1200);
    assert_int_equal(device->ops->shared_stream(device, &stream, &result, NULL), PB_OK);
    assert_in_range(result.mismatch_count, 300, 520); /* of 409600 words */
    device->ops->close(device);
    json_decref(root);
}

/* A device that is gone answers none of the operations. */
static void test_lost__no_operation_works(void **state)
{
    const uint64_t offset = 0;
    const struct pb_burst burst = {PB_PATH_GLOBAL_CG, 1, 1, 1, 128, false};
    const struct pb_map map = {.offset_bytes = &offset, .offset_count = 1};
    const struct pb_study study = {PB_STUDY_SYNC, 1, 1};
    const struct pb_shared_stream stream = {1, 32, 1, 1};
    const struct pb_link link = {.kind = PB_LINK_TO_DEVICE, .bytes = 8, .repeats = 1};
    const struct pb_pattern pattern = {8, 0, 1};
    struct pb_study_result of_study;
    struct pb_shared_stream_result of_stream;
    struct pb_link_result of_link;
    struct pb_pattern_result of_pattern;
    uint32_t cycles[2];
    json_t *root;
    struct pb_device *device = open_with(NULL, "lost@link", &root);

    (void)state;
    assert_int_equal(device->ops->map(device, &map, cycles, NULL), PB_OK);
    assert_int_equal(device->ops->begin_test(device, "link", false, NULL), PB_LOST);
    assert_int_equal(device->ops->burst(device, &burst, cycles, NULL), PB_LOST);
    assert_int_equal(device->ops->map(device, &map, cycles, NULL), PB_LOST);
    assert_int_equal(device->ops->study(device, &study, &of_study, NULL), PB_LOST);
    assert_int_equal(device->ops->shared_stream(device, &stream, &of_stream, NULL), PB_LOST);
    assert_int_equal(device->ops->link(device, &link, &of_link, NULL), PB_LOST);
    assert_int_equal(device->ops->pattern(device, &pattern, &of_pattern, NULL), PB_LOST);
    device->ops->close(device);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_link__generation_and_width_give_the_bandwidth),
        cmocka_unit_test(test_link__small_transfers_take_the_latency),
        cmocka_unit_test(test_link__a_narrow_link_is_as_much_slower),
        cmocka_unit_test(test_link__the_other_devices_of_the_node_are_peers),
        cmocka_unit_test(test_link__refuses_what_is_not_there),
        cmocka_unit_test(test_pattern__takes_as_long_as_writing_and_reading_it),
        cmocka_unit_test(test_pattern__a_bit_flip_has_an_address_and_a_bit),
        cmocka_unit_test(test_link__a_bit_flip_is_counted),
        cmocka_unit_test(test_lost__no_operation_works),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
