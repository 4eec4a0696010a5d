/*
 * Levels of translation of simulated devices that are easily taken for something else: each case is
 * a device with two known TLB levels, of which some tests of the battery must say all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analysis/selected.h"
#include "analysis/tlb_device.h"
#include "sanitized.h"

static const uint64_t mib = (uint64_t)1 << 20;

/* Eight numbers of pages miss the first level alone: next to nothing among all chases. */
static void test_tlb__levels_of_almost_one_reach_are_two(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.caches[BLIND_L2].ways = 2; /* where lines displace each other, the battery goes on */
    profile.jitter_cycles = 2;
    profile.tlbs[0] = tlb_level(2 * mib, 28, 1, (const uint32_t[]){8});
    profile.tlbs[1] = tlb_level(2 * mib, 64, 1, (const uint32_t[]){16});
    assert_tlb_levels(&profile);
}

/* What misses both levels takes as long as what misses L2. */
static void test_tlb__penalties_may_look_like_a_miss_of_l2(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.dram_cycles = 230 + 125;
    profile.tlbs[0] = tlb_level(16 * mib, 60, 1, (const uint32_t[]){8});
    profile.tlbs[1] = tlb_level(16 * mib, 66, 1, (const uint32_t[]){16});
    assert_tlb_levels(&profile);
}

/* An L2 of two ways: lines of near pages displace each other, whatever is translated. */
static void test_tlb__misses_of_l2_are_no_level_and_hide_none(void **state)
{
    static const uint64_t masks[] = {0x408080, 0x800100, 0x800200, 0x400,
                                     0x240800, 0x1000,   0x92000,  0x14000};
    struct blind_profile profile = tlb_device();
    struct blind_cache *l2 = &profile.caches[BLIND_L2];

    (void)state;
    l2->sets = 256;
    l2->ways = 2;
    l2->policy = "fifo";
    l2->is_xor = true;
    l2->mask_count = sizeof(masks) / sizeof(masks[0]);
    memcpy(l2->masks, masks, sizeof(masks));
    profile.dram_cycles = 230 + 122;
    profile.tlbs[0] = tlb_level(16 * mib, 22, 1, (const uint32_t[]){17});
    profile.tlbs[1] = tlb_level(16 * mib, 63, 7, (const uint32_t[]){15, 8, 8, 8, 8, 8, 8});
    assert_tlb_levels(&profile);
}

/* Far pages miss an L2 of few sets, as slow as the second level; spikes lie around it all. */
static void test_tlb__misses_of_l2_that_look_like_a_level_are_none_of_it(void **state)
{
    struct blind_profile profile = tlb_device();
    struct blind_cache *l2 = &profile.caches[BLIND_L2];

    (void)state;
    l2->line_bytes = l2->sector_bytes = 64;
    l2->sets = 900;
    l2->ways = 9;
    l2->policy = "plru";
    l2->latency_cycles = 123;
    profile.dram_cycles = 123 + 82;
    profile.jitter_cycles = 0;
    profile.spike_probability = 1e-3;
    profile.spike_cycles = 897;
    profile.tlbs[0] = tlb_level(2 * mib, 15, 1, (const uint32_t[]){8});
    profile.tlbs[1] = tlb_level(16 * mib, 83, 6, (const uint32_t[]){10, 12, 10, 16, 10, 16});
    assert_tlb_levels(&profile);
}

/* Twice the span leaves out half of the sets, so that it reaches as far; pages show it better. */
static void test_tlb__strides_that_leave_out_sets_are_no_span(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.tlbs[0] = tlb_level(16 * mib, 56, 1, (const uint32_t[]){8});
    profile.tlbs[1] = tlb_level(16 * mib, 79, 4, (const uint32_t[]){14, 8, 8, 8});
    assert_tlb_levels(&profile);
    profile.tlbs[0] = tlb_level(2 * mib, 20, 1, (const uint32_t[]){12});
    profile.tlbs[1] = tlb_level(2 * mib, 70, 4, (const uint32_t[]){8, 8, 8, 8});
    assert_tlb_levels(&profile);
}

static void assert_holds(const struct pb_parameters *parameters, const char *name, double truth)
{
    const struct pb_parameter *found = selected_find(parameters, "tlb_l2", name);

    if (!(found->numbers[0].low <= truth && truth <= found->numbers[0].high))
        fail_msg("%s: %g is not in %g to %g", name, truth, found->numbers[0].low,
                 found->numbers[0].high);
}

/* Of the pages of a larger entry of the first level only one comes to the second. */
static void test_tlb__entries_behind_larger_ones_may_span_less(void **state)
{
    static const uint32_t sets[2][4] = {{64}, {32, 32, 32, 32}};
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.tlbs[0] = tlb_level(16 * mib, 20, 1, (const uint32_t[]){8});
    for (size_t i = 0; i < 2; i++) {
        struct pb_parameters parameters = {0};
        double entries;

        profile.tlbs[1] = tlb_level(2 * mib, 70, i == 0 ? 1 : 4, sets[i]);
        entries = blind_tlb_entries(&profile.tlbs[1]);
        selected_infer_profile(&profile, tlb_tests, &parameters);
        assert_tlb_level(&parameters, "tlb_l1", &profile.tlbs[0]);
        assert_holds(&parameters, "entry_coverage_bytes", 2.0 * (double)mib);
        assert_holds(&parameters, "entry_count", entries);
        assert_holds(&parameters, "reach_bytes", entries * 2.0 * (double)mib);
        assert_holds(&parameters, "set_count", (double)profile.tlbs[1].sets);
        assert_number(&parameters, "tlb_l2", "way_counts", sets[i][0], 0.0);
        pb_parameters_clear(&parameters);
    }
}

/* The array begins 512 pages on, somewhere within a turn through the sets. */
static void test_tlb__sets_come_in_the_order_of_addresses(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.tlbs[0] = tlb_level(2 * mib, 20, 1, (const uint32_t[]){12});
    profile.tlbs[1] = tlb_level(2 * mib, 70, 5, (const uint32_t[]){4, 6, 8, 10, 12});
    assert_tlb_levels(&profile);
    profile.tlbs[1] = tlb_level(2 * mib, 70, 5, (const uint32_t[]){8, 16, 8, 16, 8});
    assert_tlb_levels(&profile);
    profile.tlbs[1] = tlb_level(2 * mib, 70, 6, (const uint32_t[]){8, 8, 8, 8, 8, 8});
    assert_tlb_levels(&profile);
}

/* Every other page leaves half of them to the larger set of the first level. */
static void test_tlb__pages_that_hit_one_level_do_not_look_up_the_next(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.tlbs[0] = tlb_level(16 * mib, 15, 2, (const uint32_t[]){4, 10});
    profile.tlbs[1] = tlb_level(16 * mib, 44, 4, (const uint32_t[]){6, 12, 12, 6});
    assert_tlb_levels(&profile);
}

/* With 19 entries two hit the small set of the first level: the second is looked up 17 times,
 * then 20. */
static void test_tlb__entries_that_hit_one_level_are_not_counted_in_the_next(void **state)
{
    struct blind_profile profile = tlb_device();
    struct pb_parameters parameters = {0};

    (void)state;
    profile.tlbs[0] = tlb_level(16 * mib, 29, 4, (const uint32_t[]){2, 4, 4, 2});
    profile.tlbs[1] = tlb_level(16 * mib, 74, 1, (const uint32_t[]){18});
    selected_infer_profile(&profile, tlb_tests, &parameters);
    assert_tlb_level(&parameters, "tlb_l1", &profile.tlbs[0]);
    assert_holds(&parameters, "entry_count", 18);
    assert_holds(&parameters, "reach_bytes", 18.0 * 16.0 * (double)mib);
    assert_holds(&parameters, "way_counts", 18);
    pb_parameters_clear(&parameters);
}

/* One page takes an entry of eight as well: 17 entries make one set miss, and one page more both.
 */
static void test_tlb__sets_of_larger_entries_overflow_one_page_apart(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.tlbs[0] = tlb_level(2 * mib, 20, 4, (const uint32_t[]){3, 4, 3, 4});
    profile.tlbs[1] = tlb_level(16 * mib, 84, 2, (const uint32_t[]){10, 6});
    assert_tlb_levels(&profile);
}

/* Beyond so small a level most chases miss everywhere, but for spikes: no sign of larger entries.
 */
static void test_tlb__small_sets_are_no_span(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.tlbs[0] = tlb_level(2 * mib, 35, 4, (const uint32_t[]){4, 4, 4, 4});
    profile.tlbs[1] = tlb_level(2 * mib, 61, 8, (const uint32_t[]){9, 8, 8, 8, 7, 7, 7, 8});
    assert_tlb_levels(&profile);
    profile.tlbs[0] = tlb_level(2 * mib, 45, 1, (const uint32_t[]){19});
    profile.tlbs[1] = tlb_level(2 * mib, 13, 4, (const uint32_t[]){8, 8, 10, 12});
    assert_tlb_levels(&profile);
    profile.spike_probability = 1e-3;
    profile.spike_cycles = 798;
    profile.tlbs[0] = tlb_level(2 * mib, 58, 4, (const uint32_t[]){2, 2, 4, 4});
    profile.tlbs[1] = tlb_level(16 * mib, 48, 4, (const uint32_t[]){12, 17, 10, 10});
    assert_tlb_levels(&profile);
}

/*
 * Slots 2 MiB apart come to few of the sets of pages that are smaller; finer ones come to all.
 * Behind such a first level, entries that cover less are not distinguished from those that cover as
 * much.
 */
static void test_tlb__pages_smaller_than_strides_are_found(void **state)
{
    static const struct {
        uint64_t span_kib;
        size_t sets[2];
        uint32_t ways[2];
    } devices[] = {{64, {1, 4}, {16, 16}},  {256, {1, 8}, {16, 16}},  {256, {4, 8}, {16, 16}},
                   {512, {4, 8}, {16, 16}}, {1024, {2, 8}, {16, 16}}, {1024, {2, 8}, {16, 64}}};
    struct blind_profile profile = tlb_device();

    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct pb_parameters parameters = {0};
        double span = (double)devices[i].span_kib * 1024.0, sets = (double)devices[i].sets[1];
        double entries = sets * devices[i].ways[1];

        for (size_t level = 0; level < 2; level++) {
            uint32_t ways[8];

            for (size_t set = 0; set < 8; set++)
                ways[set] = devices[i].ways[level];
            profile.tlbs[level] = tlb_level(devices[i].span_kib * 1024, level == 0 ? 20 : 70,
                                            devices[i].sets[level], ways);
        }
        selected_infer_profile(&profile, tlb_tests, &parameters);
        assert_tlb_level(&parameters, "tlb_l1", &profile.tlbs[0]);
        assert_holds(&parameters, "entry_coverage_bytes", span);
        assert_holds(&parameters, "entry_count", entries);
        assert_holds(&parameters, "set_count", sets);
        assert_number(&parameters, "tlb_l2", "reach_bytes", entries * span, 0.0);
        assert_number(&parameters, "tlb_l2", "way_counts", devices[i].ways[1], 0.0);
        assert_number(&parameters, "tlb_l2", "penalty_cycles", 70.0, 1.0);
        assert_open(&parameters, "tlb_l3", "reach_bytes", "show 2 levels");
        pb_parameters_clear(&parameters);
    }
}

/* A spike where a page begins to miss hides of which set it is, unless its neighbours show it. */
static void test_tlb__spikes_take_no_page_from_its_set(void **state)
{
    static const uint32_t ways[] = {14, 16, 19, 20};

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct blind_profile profile = tlb_device();
        struct pb_parameters parameters = {0};
        const struct pb_parameter *found;

        profile.jitter_cycles = ways[i] % 3;
        profile.spike_probability = 1e-2;
        profile.spike_cycles = 1000;
        profile.tlbs[0] = tlb_level(2 * mib, 25, 1, (const uint32_t[]){16});
        profile.tlbs[1] = tlb_level(2 * mib, 80, 7, (const uint32_t[]){ways[i], 8, 8, 8, 8, 8, 8});
        selected_infer_profile(&profile, tlb_tests, &parameters);
        found = pb_parameters_find(&parameters, "tlb_l2", "way_counts");
        for (size_t k = 0; k < found->number_count; k++)
            assert_float_equal(found->numbers[k].value, k == 0 ? ways[i] : 8, 0);
        /* and many of them, here and there, are no level */
        found = pb_parameters_find(&parameters, "tlb_l3", "reach_bytes");
        assert_int_equal(found->kind, PB_VALUE_NONE);
        pb_parameters_clear(&parameters);
    }
}

/* Their pages miss by chance, more of them with more pages: LRU with more entries comes close. */
static void test_tlb__random_victims_show_by_how_many_loads_miss(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.tlbs[0] = tlb_level(2 * mib, 20, 1, (const uint32_t[]){16});
    profile.tlbs[1] = tlb_level(2 * mib, 60, 2, (const uint32_t[]){40, 40});
    profile.tlbs[0].policy = profile.tlbs[1].policy = "random";
    assert_tlb_levels(&profile);
}

/* Sets of as many ways draw their victims each for itself. */
static void test_tlb__random_levels_of_the_same_ways_are_found(void **state)
{
    struct blind_profile profile = tlb_device();

    (void)state;
    skip_if_sanitized();
    profile.tlbs[0] = tlb_level(2 * mib, 59, 1, (const uint32_t[]){21});
    profile.tlbs[1] = tlb_level(2 * mib, 38, 4, (const uint32_t[]){21, 21, 21, 21});
    profile.tlbs[0].policy = profile.tlbs[1].policy = "random";
    assert_tlb_levels(&profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tlb__levels_of_almost_one_reach_are_two),
        cmocka_unit_test(test_tlb__penalties_may_look_like_a_miss_of_l2),
        cmocka_unit_test(test_tlb__misses_of_l2_are_no_level_and_hide_none),
        cmocka_unit_test(test_tlb__misses_of_l2_that_look_like_a_level_are_none_of_it),
        cmocka_unit_test(test_tlb__strides_that_leave_out_sets_are_no_span),
        cmocka_unit_test(test_tlb__entries_behind_larger_ones_may_span_less),
        cmocka_unit_test(test_tlb__sets_come_in_the_order_of_addresses),
        cmocka_unit_test(test_tlb__pages_that_hit_one_level_do_not_look_up_the_next),
        cmocka_unit_test(test_tlb__entries_that_hit_one_level_are_not_counted_in_the_next),
        cmocka_unit_test(test_tlb__sets_of_larger_entries_overflow_one_page_apart),
        cmocka_unit_test(test_tlb__small_sets_are_no_span),
        cmocka_unit_test(test_tlb__random_victims_show_by_how_many_loads_miss),
        cmocka_unit_test(test_tlb__random_levels_of_the_same_ways_are_found),
        cmocka_unit_test(test_tlb__pages_smaller_than_strides_are_found),
        cmocka_unit_test(test_tlb__spikes_take_no_page_from_its_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
