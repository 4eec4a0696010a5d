/* Prefetching on simulated devices of known truth. */
#include <math.h>

#include "battery/rig.h"

/* The same slots in order and at random; past the eight strides, order goes on alone. */
static size_t check_pairs(const struct pb_recording *recording, const char *path, uint64_t loads,
                          double strided_cycles, double random_cycles)
{
    const struct pb_point *strided, *random;
    size_t at = 0, also = 0, pairs = 0;

    while ((random = rig_next(recording, "random", path, &at)) != NULL) {
        strided = rig_next(recording, "strided", path, &also);
        assert_non_null(strided);
        assert_int_equal(strided->stride_bytes, random->stride_bytes);
        assert_int_equal(strided->footprint_bytes, random->footprint_bytes);
        assert_int_equal(strided->count, loads);
        assert_true(fabs(rig_median(recording, strided) - strided_cycles) <= 1);
        assert_true(fabs(rig_median(recording, random) - random_cycles) <= 1);
        pairs++;
    }
    return pairs;
}

static void test_prefetch__the_same_slots_in_both_orders(void **state)
{
    static const struct {
        const char *path;
        double strided_cycles, random_cycles;
        uint64_t loads;
    } paths[] = {{"global_cg", 214, 383, 2048}, /* M16 4.6: in order, L2 has them in time */
                 {"global_ca", 216, 216, 512}}; /* L1 from L2: nothing runs ahead */
    struct pb_recording recording;

    (void)state;
    rig_record("gtx980", "prefetch", &recording);
    for (size_t i = 0; i < COUNT(paths); i++)
        assert_int_equal(check_pairs(&recording, paths[i].path, paths[i].loads,
                                     paths[i].strided_cycles, paths[i].random_cycles),
                         8);
    pb_recording_clear(&recording);
}

/* Loads of the longest strided chase that take what DRAM takes, and its footprint. */
static size_t count_ends(const char *profile, double dram_cycles, uint64_t *footprint_out)
{
    struct pb_recording recording;
    const struct pb_point *point, *longest = NULL;
    size_t at = 0, ends;

    rig_record(profile, "prefetch", &recording);
    while ((point = rig_next(&recording, "strided", "global_cg", &at)) != NULL)
        if (longest == NULL || point->footprint_bytes > longest->footprint_bytes)
            longest = point;
    assert_non_null(longest);
    ends = rig_count(&recording, longest, dram_cycles - 1, dram_cycles + 2);
    *footprint_out = longest->footprint_bytes;
    pb_recording_clear(&recording);
    return ends;
}

/* M16 4.6: two thirds of L2. 8 MiB show enough ends of a third of a MiB only. */
static void test_prefetch__is_followed_until_its_end_was_seen_often(void **state)
{
    static const struct {
        const char *profile;
        double dram_cycles;
        uint64_t ahead_bytes, stride_bytes, loads;
    } devices[] = {{"gtx560ti", 619, 349504, 4096, 2048},
                   {"gtx780", 339, 1048576, 3968, 4096},
                   {"gtx980", 383, 1398080, 3968, 4096}};

    (void)state;
    for (size_t i = 0; i < COUNT(devices); i++) {
        uint64_t stride = devices[i].stride_bytes, footprint;
        uint64_t gap = (devices[i].ahead_bytes + 32 + stride - 1) / stride * stride;
        size_t ends = count_ends(devices[i].profile, devices[i].dram_cycles, &footprint);

        assert_int_equal(footprint, devices[i].loads * stride);
        /* the first load also waits for its page, and a spike may hide one more */
        assert_true(ends + 2 >= (footprint - 1) / gap && ends <= (footprint - 1) / gap);
    }
}

/* Without prefetching, and with one of a few lines, the eight pairs are all. */
static void test_prefetch__nothing_longer_where_misses_are_seen(void **state)
{
    static const char *const profiles[] = {"gtx470", "gtx680"};

    (void)state;
    for (size_t i = 0; i < COUNT(profiles); i++) {
        struct pb_recording recording;
        size_t at = 0, chases = 0;

        rig_record(profiles[i], "prefetch", &recording);
        while (rig_next(&recording, "strided", "global_cg", &at) != NULL)
            chases++;
        assert_int_equal(chases, 8);
        pb_recording_clear(&recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefetch__the_same_slots_in_both_orders),
        cmocka_unit_test(test_prefetch__is_followed_until_its_end_was_seen_often),
        cmocka_unit_test(test_prefetch__nothing_longer_where_misses_are_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
