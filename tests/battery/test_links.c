/* What links carry, to the host and from other devices, against what a profile says they do. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/link.h"
#include "battery/rig.h"

/*
 * A small device behind four lanes of PCI Express 3.0, of which transfers get 85%: 3.35 GB/s, half
 * of it from pageable memory. It reads its peers at 40 GB/s.
 */
static const char custom_link[] =
    ", \"link\": {\"pcie_generation\": 3, \"pcie_width\": 4, \"latency_us\": 5,"
    " \"pageable_share\": 0.5, \"peer_bytes_per_s\": 4e10, \"peer_latency_us\": 2,"
    " \"peer_both_share\": 0.75, \"peer_load_ns\": 400}";
static const char custom_cache[] =
    "{\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\"], \"line_bytes\": 128,"
    " \"sector_bytes\": 32, \"sets\": 1024, \"ways\": 16, \"index\": {\"kind\": \"modulo\"},"
    " \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 200}";
static const char custom_tlb[] =
    "{\"id\": \"tlb\", \"page_bytes\": 2097152, \"entry_span_bytes\": 2097152, \"ways\": 16,"
    " \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 30}";

static const double pinned_bytes_per_s = 0.85 * 4 * 0.9846e9;
static const double pageable_bytes_per_s = 0.85 * 4 * 0.9846e9 / 2;
static const double peer_bytes_per_s = 4e10, host_us = 5, peer_us = 2;
static const double bulk_bytes = 64 << 20;

static void open_custom(struct pb_session *session_out)
{
    rig_open_custom(custom_cache, custom_tlb, custom_link, session_out);
}

/* Throughput of a transfer that first waits. */
static double carried(double bytes, double bytes_per_s, double wait_us)
{
    return bytes / (wait_us * 1e-6 + bytes / bytes_per_s);
}

static bool is_near(double found, double expected)
{
    return fabs(found / expected - 1) < 1e-3;
}

static enum pb_status meet_three(void *context, const char *test, int64_t number,
                                 int64_t *count_out, struct pb_error *err)
{
    (void)context;
    (void)test;
    (void)number;
    (void)err;
    *count_out = 3;
    return PB_OK;
}

static void test_host_link__carries_what_its_lanes_do(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;

    (void)state;
    open_custom(&session);
    rig_run(&session, "host_link", &recording);
    for (size_t direction = 0; direction < 2; direction++)
        for (size_t k = 0; k < matrix->axes[2].length; k++) {
            double bytes = matrix->axes[2].values[k];
            size_t pinned[] = {direction, rig_label(&matrix->axes[1], "pinned"), k};
            size_t pageable[] = {direction, rig_label(&matrix->axes[1], "pageable"), k};

            assert_true(
                is_near(rig_value(matrix, pinned), carried(bytes, pinned_bytes_per_s, host_us)));
            assert_true(is_near(rig_value(matrix, pageable),
                                carried(bytes, pageable_bytes_per_s, host_us)));
        }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_host_latency__is_the_wait_before_a_transfer(void **state)
{
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    open_custom(&session);
    rig_run(&session, "host_latency", &recording);
    for (size_t i = 0; i < pb_matrix_size(&recording.matrix); i++)
        assert_true(is_near(recording.matrix.values[i], 1e3 * host_us));
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Of a node's other devices; what is this device itself has no value. */
static void test_peer_link__carries_and_waits_as_in_the_profile(void **state)
{
    struct pb_recording recording;
    const double *values;
    struct pb_session session;
    size_t reached = 0;

    (void)state;
    open_custom(&session);
    rig_run(&session, "peer_link", &recording);
    values = recording.matrix.values;
    for (size_t i = 0; i < recording.matrix.axes[0].length; i++) {
        if (isnan(values[2 * i]))
            continue;
        assert_true(is_near(values[2 * i], carried(bulk_bytes, peer_bytes_per_s, peer_us)));
        assert_true(is_near(values[2 * i + 1], 1e3 * peer_us));
        reached++;
    }
    assert_int_equal(reached, 3);
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_links_together__carry_as_in_the_profile_with_as_many_as_met(void **state)
{
    struct pb_recording recording;
    struct pb_session session;
    size_t reached = 0;

    (void)state;
    open_custom(&session);
    session.links.barrier = meet_three;
    rig_run(&session, "peer_link_concurrent", &recording);
    for (size_t i = 0; i < pb_matrix_size(&recording.matrix); i += 2) {
        const double *cell = &recording.matrix.values[i];

        if (isnan(cell[0]))
            continue;
        assert_true(is_near(cell[0], carried(bulk_bytes, peer_bytes_per_s, peer_us)));
        assert_true(cell[1] == 3);
        reached++;
    }
    assert_int_equal(reached, 3);
    pb_recording_clear(&recording);
    rig_run(&session, "host_link_concurrent", &recording);
    for (size_t i = 0; i < pb_matrix_size(&recording.matrix); i += 2) {
        bool is_pinned = i / 2 % 2 == rig_label(&recording.matrix.axes[1], "pinned");
        double rate = is_pinned ? pinned_bytes_per_s : pageable_bytes_per_s;

        assert_true(is_near(recording.matrix.values[i], carried(bulk_bytes, rate, host_us)));
        assert_true(recording.matrix.values[i + 1] == 3);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static double peer_cell(const struct pb_matrix *matrix, size_t a, size_t b, size_t c, size_t d)
{
    const size_t places[PB_MATRIX_RANK_MAX] = {a, b, c, d};

    return rig_value(matrix, places);
}

/* The way takes 400 ns; L2 of the peer 200 cycles, as this device's, and then its DRAM. */
static void test_peer_chase__is_the_way_and_what_the_owner_takes(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;
    double warm, cold, again;
    size_t line;

    (void)state;
    open_custom(&session);
    rig_run(&session, "peer_chase", &recording);
    line = matrix->axes[3].length / 2;
    assert_int_equal(matrix->axes[0].length, 3);
    for (size_t path = 0; path < 2; path++) {
        cold = peer_cell(matrix, 0, path, rig_label(&matrix->axes[2], "cold"), line);
        warm = peer_cell(matrix, 2, path, rig_label(&matrix->axes[2], "warm"), line);
        again = peer_cell(matrix, 2, path, rig_label(&matrix->axes[2], "again"), line);
        assert_float_equal(warm - session.overhead_cycles,
                           200 + 400e-3 * session.info.sm_clock_max_mhz, 2);
        assert_true(cold > warm + 100);
        assert_float_equal(again, warm, 2); /* no cache of its own */
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

static void test_peer_chase__again_is_a_hit_of_l1(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t again;

    (void)state;
    rig_record("h200", "peer_chase", &recording);
    again = rig_label(&matrix->axes[2], "again");
    assert_float_equal(peer_cell(matrix, 0, rig_label(&matrix->axes[1], "global_ca"), again, 7),
                       32 + 16, 2);
    assert_true(peer_cell(matrix, 0, rig_label(&matrix->axes[1], "global_cg"), again, 7) > 270);
    pb_recording_clear(&recording);
}

static void test_peer_copy__both_ways_are_both_counted(void **state)
{
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    struct pb_session session;

    (void)state;
    open_custom(&session);
    rig_run(&session, "peer_copy", &recording);
    for (size_t engine = 0; engine < matrix->axes[2].length; engine++) {
        double share = engine == rig_label(&matrix->axes[2], "sms") ? 1 : 0.75;
        double from = peer_cell(matrix, 1, rig_label(&matrix->axes[1], "from_peer"), engine, 0);
        double to = peer_cell(matrix, 1, rig_label(&matrix->axes[1], "to_peer"), engine, 0);
        double both = peer_cell(matrix, 1, rig_label(&matrix->axes[1], "both"), engine, 0);

        assert_true(is_near(from, peer_bytes_per_s));
        assert_true(is_near(to, peer_bytes_per_s));
        assert_true(is_near(both, 2 * share * peer_bytes_per_s));
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Slot 5 of a host of eight that is not this machine: its peers, those behind it first. */
static void test_link_peers__of_a_simulated_node_are_its_other_devices(void **state)
{
    static const char *const expected[] = {
        "00000000:06:00.0", "00000000:07:00.0", "00000000:00:00.0", "00000000:01:00.0",
        "00000000:02:00.0", "00000000:03:00.0", "00000000:04:00.0"};
    const struct pb_device_request request = {
        .profile = "h200", .host = "n1", .host_devices = 8, .selector = "5"};
    struct pb_recording recording;
    struct pb_session session;

    (void)state;
    assert_int_equal(pb_session_open(&pb_device_sim, &request, PB_STANDARD, &session, NULL), PB_OK);
    rig_run(&session, "peer_link", &recording);
    assert_int_equal(recording.matrix.axes[0].length, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(recording.matrix.axes[0].labels[i], expected[i]);
        assert_true(recording.matrix.values[2 * i] > 1e9);
    }
    pb_recording_clear(&recording);
    pb_session_close(&session);
}

/* Two whole GPUs and one that is divided, as a process sees them from R570 on. */
static enum pb_status list_divided(struct pb_device_entry **entries_out, size_t *count_out,
                                   struct pb_error *err)
{
    static const struct pb_device_entry entries[] = {{"GPU-a", "00000000:1B:00.0", "H200"},
                                                     {"MIG-b", "00000000:43:00.0", "H200 MIG 1g"},
                                                     {"MIG-c", "00000000:43:00.0", "H200 MIG 1g"},
                                                     {"GPU-d", "00000000:52:00.0", "H200"}};

    (void)err;
    *entries_out = malloc(sizeof(entries));
    assert_non_null(*entries_out);
    memcpy(*entries_out, entries, sizeof(entries));
    *count_out = COUNT(entries);
    return PB_OK;
}

static void test_link_peers__mig_instances_are_and_have_none(void **state)
{
    struct pb_device_ops ops = pb_device_sim;
    struct pb_device_entry *peers = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_session session;
    size_t count;

    (void)state;
    open_custom(&session);
    ops.enumerate = list_divided;
    session.device->ops = &ops;
    session.device->node = NULL; /* as of a device of this machine */
    PB_TEXT_SET(session.info.uuid, "GPU-a");
    assert_int_equal(pb_link_peers(&session, &peers, &count, &err), PB_OK);
    assert_int_equal(count, 1);
    assert_string_equal(peers[0].uuid, "GPU-d");
    free(peers);
    PB_TEXT_SET(session.info.uuid, "MIG-b");
    assert_int_equal(pb_link_peers(&session, &peers, &count, &err), PB_UNSUPPORTED);
    assert_non_null(strstr(err.message, "MIG"));
    session.device->ops = &pb_device_sim;
    pb_session_close(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_link__carries_what_its_lanes_do),
        cmocka_unit_test(test_host_latency__is_the_wait_before_a_transfer),
        cmocka_unit_test(test_peer_link__carries_and_waits_as_in_the_profile),
        cmocka_unit_test(test_peer_chase__is_the_way_and_what_the_owner_takes),
        cmocka_unit_test(test_peer_chase__again_is_a_hit_of_l1),
        cmocka_unit_test(test_peer_copy__both_ways_are_both_counted),
        cmocka_unit_test(test_links_together__carry_as_in_the_profile_with_as_many_as_met),
        cmocka_unit_test(test_link_peers__of_a_simulated_node_are_its_other_devices),
        cmocka_unit_test(test_link_peers__mig_instances_are_and_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
