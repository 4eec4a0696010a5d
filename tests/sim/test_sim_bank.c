/* Bank conflicts: wavefronts by stride, and M16's Table VIII on its three devices. */
#include "sim/simtest.h"

#include "device/sim/bank.h"

static struct pb_sim_shared_spec banks_of(uint32_t banks, uint32_t bank_bytes)
{
    struct pb_sim_shared_spec shared = {.banks = banks, .bank_bytes = bank_bytes};

    return shared;
}

static void test_wavefronts__four_byte_words_conflict_by_common_divisor(void **state)
{
    struct pb_sim_shared_spec shared = banks_of(32, 4);

    (void)state;
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 4, 0), 1); /* broadcast */
    for (uint32_t stride = 1; stride <= 64; stride++) {
        uint32_t divisor = 1;

        while (divisor < 32 && stride % (2 * divisor) == 0)
            divisor *= 2;
        assert_int_equal(pb_sim_bank_wavefronts(&shared, 4, stride), divisor);
    }
}

static void test_wavefronts__eight_byte_banks_hold_two_words_in_a_row(void **state)
{
    struct pb_sim_shared_spec shared = banks_of(32, 8);

    (void)state;
    /* M16 6.2, 8-byte mode: none at 2 and 6, 2-way at 4, 32-way at 64 */
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 4, 1), 1);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 4, 2), 1);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 4, 4), 2);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 4, 6), 1);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 4, 32), 16);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 4, 64), 32);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 8, 1), 1);
}

static void test_wavefronts__wide_words_are_served_in_parts_of_a_warp(void **state)
{
    struct pb_sim_shared_spec shared = banks_of(32, 4);

    (void)state;
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 8, 1), 2);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 16, 1), 4);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 8, 2), 4);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 8, 16), 32);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 16, 8), 32);
    assert_int_equal(pb_sim_bank_wavefronts(&shared, 16, 64), 32);
}

static void test_latency__lies_on_the_line_between_two_steps(void **state)
{
    json_t *root = simtest_profile();
    struct pb_sim_profile *profile;

    (void)state;
    simtest_set(root, "shared/conflict_cycles", "{\"2\": 40, \"8\": 100}");
    profile = simtest_read(root);
    assert_float_equal(pb_sim_bank_latency(&profile->shared, 1), 30, 1e-9);
    assert_float_equal(pb_sim_bank_latency(&profile->shared, 2), 40, 1e-9);
    assert_float_equal(pb_sim_bank_latency(&profile->shared, 5), 70, 1e-9);
    assert_float_equal(pb_sim_bank_latency(&profile->shared, 8), 100, 1e-9);
    assert_float_equal(pb_sim_bank_latency(&profile->shared, 16), 180, 1e-9); /* beyond */
    pb_sim_profile_free(profile);
    json_decref(root);
}

/* Latency of a stride of 4-byte words, less the overhead. */
static uint32_t conflict_cycles(struct pb_device *device, uint32_t stride)
{
    struct pb_conflict conflict = {
        .word_bytes = 4, .stride_words = stride, .warm = 4, .record = 8, .sm = -1};
    uint32_t latency[8], overhead = simtest_overhead(device);
    uint64_t index[8];
    struct pb_chase_trace trace = {.latency_cycles = latency, .index_bytes = index};

    assert_int_equal(device->ops->conflicts(device, &conflict, 1, &trace, NULL), PB_OK);
    assert_int_equal(trace.count, 8);
    for (int i = 1; i < 8; i++)
        assert_int_equal(latency[i], latency[0]);
    return latency[0] - overhead;
}

/* M16 section 6.2 and Table VIII: 1-, 2-, 4-, 8-, 16- and 32-way. */
static void expect_table(const char *name, uint32_t first_stride, const uint32_t cycles[6])
{
    json_t *root = simtest_shipped(name);
    struct pb_device *device = simtest_open(root, NULL);

    assert_int_equal(conflict_cycles(device, 1), cycles[0]);
    for (int i = 1; i < 6; i++)
        assert_int_equal(conflict_cycles(device, first_stride << (i - 1)), cycles[i]);
    device->ops->close(device);
    json_decref(root);
}

static void test_conflict__table_viii(void **state)
{
    (void)state;
    expect_table("gtx560ti", 2, (uint32_t[6]){50, 87, 162, 311, 611, 1209});
    expect_table("gtx780", 4, (uint32_t[6]){47, 82, 96, 158, 257, 484});
    expect_table("gtx980", 2, (uint32_t[6]){28, 30, 34, 42, 58, 90});
}

static void expect_refused(struct pb_device *device, struct pb_conflict conflict,
                           enum pb_status status, const char *message)
{
    struct pb_chase_trace trace = {0};
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(device->ops->conflicts(device, &conflict, 1, &trace, &err), status);
    assert_string_equal(err.message, message);
}

static void test_conflict__refuses_what_does_not_fit(void **state)
{
    json_t *root = simtest_profile();
    struct pb_device *device = simtest_open(root, NULL);

    (void)state;
    expect_refused(device, (struct pb_conflict){.word_bytes = 2, .stride_words = 1, .record = 1},
                   PB_INVALID, "conflict: expected words of 4, 8 or 16 bytes, found 2");
    expect_refused(device, (struct pb_conflict){.word_bytes = 4, .stride_words = 1}, PB_INVALID,
                   "conflict: expected 1 to 5376 recorded loads, found 0");
    expect_refused(device, (struct pb_conflict){.word_bytes = 16, .stride_words = 256, .record = 1},
                   PB_UNSUPPORTED,
                   "conflict: stride 256 of 16-byte words: 127004 bytes needed, 64512 there");
    device->ops->close(device);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wavefronts__four_byte_words_conflict_by_common_divisor),
        cmocka_unit_test(test_wavefronts__eight_byte_banks_hold_two_words_in_a_row),
        cmocka_unit_test(test_wavefronts__wide_words_are_served_in_parts_of_a_warp),
        cmocka_unit_test(test_latency__lies_on_the_line_between_two_steps),
        cmocka_unit_test(test_conflict__table_viii),
        cmocka_unit_test(test_conflict__refuses_what_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
