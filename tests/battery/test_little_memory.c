/*
 * The battery on a device whose memory others hold: what finds no room is unsupported, not failed,
 * and the file says how much was free and how much was needed.
 *
 * The device is simulated; its answers about memory are this file's.
 */
#include "battery/rig.h"

#include <math.h>
#include <string.h>

/* The simulated device's own primitives, and its operations with some of them replaced. */
struct short_device {
    struct pb_session session;
    const struct pb_device_ops *own;
    struct pb_device_ops ops;
};

static uint32_t variables_max; /* of a spill study that still finds room; a test sets it */

static enum pb_status short_study(struct pb_device *device, const struct pb_study *study,
                                  struct pb_study_result *result_out, struct pb_error *err)
{
    if (study->kind == PB_STUDY_SPILL && study->parameter > variables_max)
        return pb_fail(err, PB_NO_MEMORY, "%u bytes needed, 7 of 9 are free", study->parameter);
    return pb_device_sim.study(device, study, result_out, err);
}

static enum pb_status short_pattern(struct pb_device *device, const struct pb_pattern *pattern,
                                    struct pb_pattern_result *result_out, struct pb_error *err)
{
    (void)device;
    (void)pattern;
    (void)result_out;
    return pb_fail(err, PB_NO_MEMORY, "4194304 bytes needed, 7 of 9 are free");
}

static enum pb_status broken_study(struct pb_device *device, const struct pb_study *study,
                                   struct pb_study_result *result_out, struct pb_error *err)
{
    (void)device;
    (void)study;
    (void)result_out;
    return pb_fail(err, PB_DEVICE, "an illegal address");
}

static void open_short(struct short_device *device_out)
{
    rig_open("c2070", NULL, &device_out->session);
    device_out->own = device_out->session.device->ops;
    device_out->ops = *device_out->own;
    device_out->ops.study = short_study;
    device_out->ops.pattern = short_pattern;
    device_out->session.device->ops = &device_out->ops;
}

static void close_short(struct short_device *device)
{
    device->session.device->ops = device->own;
    pb_session_close(&device->session);
}

static void run(struct short_device *device, const char *test, struct pb_recording *recording_out)
{
    struct pb_state states[2];

    assert_int_equal(
        pb_session_run(&device->session, pb_test_find(test), recording_out, states, NULL), PB_OK);
}

static void test_memory_integrity__without_room_is_unsupported(void **state)
{
    struct short_device device;
    struct pb_recording recording;

    (void)state;
    open_short(&device);
    run(&device, "memory_integrity", &recording);
    assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
    assert_non_null(strstr(recording.message, "4194304 bytes needed, 7 of 9 are free"));
    pb_recording_clear(&recording);
    close_short(&device);
}

static void test_tlb_remap__without_room_for_a_block_is_unsupported(void **state)
{
    struct short_device device;
    struct pb_recording recording;

    (void)state;
    open_short(&device);
    device.session.info.memory_free_bytes = (uint64_t)16 << 20;
    run(&device, "tlb_remap", &recording);
    assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
    assert_non_null(strstr(recording.message, "too little free memory: 16777216 bytes"));
    pb_recording_clear(&recording);
    close_short(&device);
}

static void test_spill__without_room_for_any_is_unsupported(void **state)
{
    struct short_device device;
    struct pb_recording recording;

    (void)state;
    variables_max = 0;
    open_short(&device);
    run(&device, "spill", &recording);
    assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
    assert_non_null(strstr(recording.message, "too little free memory"));
    assert_non_null(strstr(recording.message, "1 bytes needed, 7 of 9 are free"));
    pb_recording_clear(&recording);
    close_short(&device);
}

static void test_spill__keeps_what_found_room(void **state)
{
    struct short_device device;
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;

    (void)state;
    variables_max = 512;
    open_short(&device);
    run(&device, "spill", &recording);
    assert_int_equal(recording.outcome, PB_TEST_OK);
    assert_non_null(strstr(recording.message, "1024 bytes needed, 7 of 9 are free"));
    for (size_t t = 0; t < matrix->axes[0].length; t++) {
        const size_t fits[] = {t, rig_at(&matrix->axes[1], 512)};
        const size_t lacks[] = {t, rig_at(&matrix->axes[1], 1024)};

        assert_true(isnan(rig_value(matrix, lacks)));
        assert_true(rig_value(matrix, fits) > 0 ||
                    matrix->axes[0].values[t] > device.session.info.max_threads_per_cta);
    }
    pb_recording_clear(&recording);
    close_short(&device);
}

static void test_spill__another_failure_is_one(void **state)
{
    struct short_device device;
    struct pb_recording recording;

    (void)state;
    open_short(&device);
    device.ops.study = broken_study;
    run(&device, "spill", &recording);
    assert_int_equal(recording.outcome, PB_TEST_FAILED);
    assert_non_null(strstr(recording.message, "an illegal address"));
    pb_recording_clear(&recording);
    close_short(&device);
}

static uint64_t link_bytes_max; /* of a transfer that still finds room; a test sets it */

static enum pb_status short_link(struct pb_device *device, const struct pb_link *link,
                                 struct pb_link_result *result_out, struct pb_error *err)
{
    if (link->bytes > link_bytes_max)
        return pb_fail(err, PB_NO_MEMORY, "%llu bytes asked for, 7 there",
                       (unsigned long long)link->bytes);
    return pb_device_sim.link(device, link, result_out, err);
}

static void test_host_link__goes_up_to_what_is_free(void **state)
{
    struct short_device device;
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;

    (void)state;
    link_bytes_max = 64 << 20;
    open_short(&device);
    device.ops.link = short_link;
    run(&device, "host_link", &recording);
    assert_int_equal(recording.outcome, PB_TEST_OK);
    assert_non_null(strstr(recording.message, "4 of 20 points: 268435456 bytes asked for, 7"));
    for (size_t i = 0; i < pb_matrix_size(matrix); i++) {
        bool fits = matrix->axes[2].values[i % matrix->axes[2].length] <= (double)link_bytes_max;

        assert_true(fits ? matrix->values[i] > 0 : isnan(matrix->values[i]));
    }
    pb_recording_clear(&recording);
    close_short(&device);
}

static enum pb_status meet_two(void *context, const char *test, int64_t number, int64_t *count_out,
                               struct pb_error *err)
{
    (void)context;
    (void)test;
    (void)number;
    (void)err;
    *count_out = 2;
    return PB_OK;
}

static void test_links__without_room_for_any_are_unsupported(void **state)
{
    static const char *const tests[] = {"host_link", "peer_link", "host_link_concurrent",
                                        "peer_link_concurrent"};
    struct short_device device;
    struct pb_recording recording;

    (void)state;
    link_bytes_max = 0;
    open_short(&device);
    device.ops.link = short_link;
    device.session.links.barrier = meet_two;
    for (size_t i = 0; i < COUNT(tests); i++) {
        run(&device, tests[i], &recording);
        assert_int_equal(recording.outcome, PB_TEST_UNSUPPORTED);
        assert_non_null(strstr(recording.message, "bytes asked for, 7 there"));
        pb_recording_clear(&recording);
    }
    close_short(&device);
}

static char full_peer[PB_TEXT_LENGTH]; /* UUID of the first one that is read */

/* No memory that is locked to its pages, and one peer that others fill. */
static enum pb_status picky_link(struct pb_device *device, const struct pb_link *link,
                                 struct pb_link_result *result_out, struct pb_error *err)
{
    if (link->peer != NULL && full_peer[0] == '\0')
        PB_TEXT_SET(full_peer, link->peer);
    if (link->pinned || (link->peer != NULL && strcmp(link->peer, full_peer) == 0))
        return pb_fail(err, PB_NO_MEMORY, "%llu bytes asked for, 7 there",
                       (unsigned long long)link->bytes);
    return pb_device_sim.link(device, link, result_out, err);
}

/* So many rows of the matrix's last axis are there. */
static void check_picky(const char *test, size_t expected, const char *message)
{
    struct short_device device;
    struct pb_recording recording;
    const struct pb_matrix *matrix = &recording.matrix;
    size_t measured = 0;

    open_short(&device);
    device.ops.link = picky_link;
    device.session.links.barrier = meet_two;
    run(&device, test, &recording);
    assert_int_equal(recording.outcome, PB_TEST_OK);
    if (strstr(recording.message, message) == NULL)
        fail_msg("%s: expected \"%s\", found \"%s\"", test, message, recording.message);
    for (size_t i = 0; i < pb_matrix_size(matrix); i += 2)
        measured += !isnan(matrix->values[i]);
    assert_int_equal(measured, expected);
    pb_recording_clear(&recording);
    close_short(&device);
}

static void test_links__keep_what_found_room(void **state)
{
    (void)state;
    check_picky("host_link_concurrent", 2,
                "too little free memory for 2 of 4 points: 67108864 bytes");
    check_picky("peer_link", 2, "too little free memory for 1 of ");
    check_picky("peer_link_concurrent", 2, "too little free memory for 1 of ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_integrity__without_room_is_unsupported),
        cmocka_unit_test(test_tlb_remap__without_room_for_a_block_is_unsupported),
        cmocka_unit_test(test_spill__without_room_for_any_is_unsupported),
        cmocka_unit_test(test_spill__keeps_what_found_room),
        cmocka_unit_test(test_spill__another_failure_is_one),
        cmocka_unit_test(test_host_link__goes_up_to_what_is_free),
        cmocka_unit_test(test_links__without_room_for_any_are_unsupported),
        cmocka_unit_test(test_links__keep_what_found_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
