/* The shipped profiles: all of them load, and each holds what its source states. */
#include "sim/simtest.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

/* Loads a shipped profile by its name, from the source tree. */
static struct pb_sim_profile *load(const char *name)
{
    struct pb_sim_profile *profile = NULL;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(setenv("PLUMB_PROFILE_DIR", PLUMB_PROFILES, 1), 0);
    if (pb_sim_profile_load(name, &profile, &err) != PB_OK)
        fail_msg("%s", err.message);
    unsetenv("PLUMB_PROFILE_DIR");
    return profile;
}

static void expect_cache(const struct pb_sim_profile *profile, const char *id, uint64_t kib,
                         uint64_t line_bytes, double latency_cycles)
{
    for (size_t i = 0; i < profile->cache_count; i++) {
        const struct pb_sim_cache_spec *spec = &profile->caches[i];

        if (strcmp(spec->id, id) != 0)
            continue;
        assert_int_equal(pb_sim_shape_bytes(&spec->shape), kib << 10);
        assert_int_equal(spec->shape.line_bytes, line_bytes);
        assert_float_equal(spec->latency_cycles, latency_cycles, 0);
        return;
    }
    fail_msg("%s has no cache %s", profile->name, id);
}

static void expect_device(const struct pb_sim_profile *profile, uint32_t capability, uint32_t sms,
                          uint32_t overhead, double dram_cycles, double bandwidth)
{
    assert_int_equal(profile->compute_capability, capability);
    assert_int_equal(profile->sm_count, sms);
    assert_int_equal(profile->clock_overhead_cycles, overhead);
    assert_float_equal(profile->dram.latency_cycles, dram_cycles, 0);
    assert_float_equal(profile->dram.bandwidth_bytes_per_s, bandwidth, 0);
}

static void test_shipped__gtx560ti_holds_m16(void **state)
{
    struct pb_sim_profile *profile = load("gtx560ti");

    (void)state;
    expect_device(profile, 21, 8, 14, 619, 109.38e9);
    expect_cache(profile, "l1", 16, 128, 96);
    expect_cache(profile, "texture_l1", 12, 32, 220);
    expect_cache(profile, "l2", 512, 32, 351);
    pb_sim_profile_free(profile);
}

static void test_shipped__gtx780_holds_m16(void **state)
{
    struct pb_sim_profile *profile = load("gtx780");

    (void)state;
    expect_device(profile, 35, 12, 16, 339, 215.92e9);
    expect_cache(profile, "readonly", 12, 32, 78);
    expect_cache(profile, "l2", 1536, 32, 198);
    assert_int_equal(profile->shared.bank_bytes, 8);
    pb_sim_profile_free(profile);
}

static void test_shipped__gtx980_holds_m16(void **state)
{
    struct pb_sim_profile *profile = load("gtx980");

    (void)state;
    expect_device(profile, 52, 16, 6, 383, 156.25e9);
    expect_cache(profile, "l1", 24, 32, 82);
    expect_cache(profile, "l2", 2048, 32, 214);
    pb_sim_profile_free(profile);
}

static void test_shipped__h200_is_the_default(void **state)
{
    struct pb_sim_profile *profile = load(NULL);

    (void)state;
    assert_string_equal(profile->name, "NVIDIA H200 (simulated)");
    expect_device(profile, 90, 132, 16, 670, 3.89e12);
    expect_cache(profile, "l1", 256, 128, 32);
    expect_cache(profile, "l2", 50 << 10, 128, 270);
    assert_true(profile->caches[0].unified_with_shared);
    pb_sim_profile_free(profile);
}

/* Every file of the folder, so that none is shipped that nobody has loaded. */
static void test_shipped__all_profiles_load(void **state)
{
    DIR *folder = opendir(PLUMB_PROFILES);
    const struct dirent *entry;
    int count = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        char name[64] = "";
        const char *end = strstr(entry->d_name, ".json");

        if (end == NULL || (size_t)(end - entry->d_name) >= sizeof(name))
            continue;
        memcpy(name, entry->d_name, (size_t)(end - entry->d_name));
        pb_sim_profile_free(load(name));
        count++;
    }
    closedir(folder);
    assert_true(count >= 10);
}

/* F13 tables 1 and 2. */
static void test_shipped__f13_tables_1_and_2(void **state)
{
    static const struct {
        const char *name;
        uint32_t capability, sms;
        double mhz;
        uint64_t mib, l2_kib;
    } devices[] = {{"c2070", 20, 14, 1150, 6144, 768},
                   {"quadro2000", 21, 4, 1250, 1024, 256},
                   {"gtx680", 30, 8, 1060, 4096, 512},
                   {"k20", 35, 13, 710, 4800, 1280}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        struct pb_sim_profile *profile = load(devices[i].name);

        assert_int_equal(profile->compute_capability, devices[i].capability);
        assert_int_equal(profile->sm_count, devices[i].sms);
        assert_float_equal(profile->clock_mhz, devices[i].mhz, 0);
        assert_int_equal(profile->memory_bytes, devices[i].mib << 20);
        assert_int_equal(pb_sim_shape_bytes(&profile->caches[profile->cache_count - 1].shape),
                         devices[i].l2_kib << 10);
        pb_sim_profile_free(profile);
    }
}

/* F13 3.4.1: couples of a small jump and one of 4 KB in all; average cycles of the small ones. */
static double small_jump(struct pb_device *device, enum pb_path path, uint64_t jump, size_t couples)
{
    uint64_t *offsets = simtest_offsets(2 * couples, 0), *index = malloc(2 * couples * 8);
    uint32_t *latency = malloc(2 * couples * sizeof(*latency));
    struct pb_chase chase = {.path = path,
                             .offset_bytes = offsets,
                             .offset_count = 2 * couples,
                             .record = 2 * couples,
                             .carveout_bytes = -1,
                             .sm = -1};
    struct pb_chase_trace trace = {.latency_cycles = latency, .index_bytes = index};
    double sum = 0.0;

    assert_true(latency != NULL && index != NULL);
    for (size_t i = 0; i < couples; i++) {
        offsets[2 * i] = 4096 * i;
        offsets[2 * i + 1] = 4096 * i + jump;
    }
    assert_int_equal(device->ops->chase(device, &chase, &trace, NULL), PB_OK);
    for (size_t i = 0; i < couples; i++)
        sum += latency[2 * i + 1];
    free(latency);
    free(index);
    free(offsets);
    return sum / (double)couples;
}

/* The jumps among 8, 16, … 512 that are slower than the one before, as a sum of their bits. */
static uint64_t steps_of(struct pb_device *device, enum pb_path path, size_t couples)
{
    double before = small_jump(device, path, 8, couples);
    uint64_t steps = 0;

    for (uint64_t jump = 16; jump <= 512; jump *= 2) {
        double cycles = small_jump(device, path, jump, couples);

        if (cycles > 1.2 * before)
            steps |= jump;
        before = cycles;
    }
    return steps;
}

/* F13 figures 2 to 5: which level's line shows at which jump. */
static void test_shipped__jumps_step_where_f13_saw_it(void **state)
{
    static const struct {
        const char *name;
        uint64_t global;
    } devices[] = {{"c2070", 64}, {"quadro2000", 64}, {"gtx680", 0}, {"k20", 0}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        json_t *root = simtest_shipped(devices[i].name);
        struct pb_device *device = simtest_open(root, NULL);

        assert_int_equal(steps_of(device, PB_PATH_SHARED, 11), 0);
        assert_int_equal(steps_of(device, PB_PATH_TEXTURE, 512), 32);
        assert_int_equal(steps_of(device, PB_PATH_CONSTANT, 16), 64 | 256);
        assert_int_equal(steps_of(device, PB_PATH_GLOBAL_CA, 512), devices[i].global);
        device->ops->close(device);
        json_decref(root);
    }
}

/* F13 3.4.1: shared memory of the K20 is around 70% slower. */
static void test_shipped__shared_memory_of_the_k20_is_slow(void **state)
{
    struct pb_sim_profile *k20 = load("k20"), *c2070 = load("c2070");
    double k20_ns = k20->shared.latency_cycles / k20->clock_mhz;
    double c2070_ns = c2070->shared.latency_cycles / c2070->clock_mhz;

    (void)state;
    assert_float_equal(k20_ns / c2070_ns, 1.7, 0.05);
    pb_sim_profile_free(k20);
    pb_sim_profile_free(c2070);
}

/*
 * N14 figure 7: of loads 2^n bytes apart, as many as 4 times the sets that the varied bits reach
 * stay in the cache. 16 KB: bits 7-11, 13, 14, 15, 17, 19; 48 KB: bit 12 as well, 6 ways.
 */
static void test_shipped__gtx470_keeps_what_n14_figure_7_says(void **state)
{
    static const struct {
        const char *name;
        uint64_t stride_bytes;
        size_t stay, leave;
    } rows[] = {{"gtx470", 1 << 7, 128, 129},     {"gtx470", 1 << 12, 64, 128},
                {"gtx470", 1 << 13, 128, 256},    {"gtx470", 1 << 16, 16, 32},
                {"gtx470", 1 << 18, 8, 16},       {"gtx470", 1 << 20, 4, 8},
                {"gtx470_48k", 1 << 7, 384, 385}, {"gtx470_48k", 1 << 12, 256, 512},
                {"gtx470_48k", 1 << 20, 6, 7}};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        json_t *root = simtest_shipped(rows[i].name);
        struct pb_device *device = simtest_open(root, NULL);

        assert_float_equal(
            simtest_pass(device, PB_PATH_GLOBAL_CA, rows[i].stay, rows[i].stride_bytes), 96, 0);
        assert_true(simtest_pass(device, PB_PATH_GLOBAL_CA, rows[i].leave, rows[i].stride_bytes) >
                    97);
        device->ops->close(device);
        json_decref(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shipped__all_profiles_load),
        cmocka_unit_test(test_shipped__gtx560ti_holds_m16),
        cmocka_unit_test(test_shipped__gtx780_holds_m16),
        cmocka_unit_test(test_shipped__gtx980_holds_m16),
        cmocka_unit_test(test_shipped__h200_is_the_default),
        cmocka_unit_test(test_shipped__f13_tables_1_and_2),
        cmocka_unit_test(test_shipped__jumps_step_where_f13_saw_it),
        cmocka_unit_test(test_shipped__shared_memory_of_the_k20_is_slow),
        cmocka_unit_test(test_shipped__gtx470_keeps_what_n14_figure_7_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
