/*
 * Sets of a level of translation behind an L2 whose lines differ by more than it costs: planted
 * sets, walked as the battery does from an array that begins anywhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/device.h"
#include "analysis/synthetic.h"
#include "analysis/tlb/rise.h"
#include "analysis/tlb/tlb_sets.h"

enum { PAGES_MAX = 1024, TRACE_LOADS = 256, SETS_MAX = 64, MISS_CYCLES = 90 };

static const uint64_t mib = (uint64_t)1 << 20;

/* Replaced in order: in lap after lap, all pages of a set with more than its ways miss. */
struct sets {
    size_t (*set_of)(uint64_t entry);
    size_t ways;
    uint64_t first_entry; /* of the array */
};

/* Sixteen sets: four bits of the entry's number, folded over eight more. */
static size_t folded(uint64_t entry)
{
    return (entry ^ entry >> 4 ^ entry >> 8) & 15;
}

static size_t by_seven(uint64_t entry)
{
    return entry % 7;
}

/* Lines differ from page to page, and from repeat to repeat. */
static uint32_t own_cycles(uint64_t page, uint64_t repeat)
{
    return 250 + (uint32_t)((page + 7919 * repeat) * 2654435761u % 60);
}

static void add_walk(struct pb_series *series, struct synthetic_noise *noise,
                     const struct sets *sets, uint64_t stride, uint64_t repeat, uint64_t pages)
{
    uint64_t step = stride > 32 * mib ? stride / (32 * mib) : 1;
    struct pb_point point = {.footprint_bytes = pages * stride,
                             .stride_bytes = stride,
                             .base_address = sets->first_entry * 32 * mib,
                             .repeat = repeat,
                             .sm_id = 7,
                             .overhead_cycles = noise->overhead_cycles};
    uint32_t latency[TRACE_LOADS], in_set[SETS_MAX] = {0};
    uint64_t index[TRACE_LOADS];

    for (uint64_t page = 0; page < pages; page++)
        in_set[sets->set_of(sets->first_entry + page * step)]++;
    point.count = point.window = pages < TRACE_LOADS ? pages : TRACE_LOADS;
    PB_TEXT_SET(point.mode, "trace");
    PB_TEXT_SET(point.phase, "stride");
    for (uint64_t page = 0; page < point.count; page++) {
        size_t set = sets->set_of(sets->first_entry + page * step);
        uint32_t miss = in_set[set] > sets->ways ? MISS_CYCLES : 0;

        index[page] = page * stride + page * 128 % mib;
        latency[page] = synthetic_latency(noise, own_cycles(page, repeat) + miss);
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

/* As the battery does: finely where pages begin to miss, the 32 MiB twice by other lines. */
static void record(struct pb_recording *recording, const struct sets *sets)
{
    struct synthetic_noise noise = {16, 3, 0.0, 0, 5};

    synthetic_begin(recording, "tlb_reach");
    for (uint64_t pages = 1; pages <= PAGES_MAX; pages += pages < 400 ? 1 : 40) {
        add_walk(&recording->series, &noise, sets, 32 * mib, 0, pages);
        add_walk(&recording->series, &noise, sets, 32 * mib, 1, pages);
        add_walk(&recording->series, &noise, sets, 64 * mib, 0, pages);
    }
}

/* The sets of an array that begins with this entry. */
static enum pb_status find(const struct sets *sets, struct pb_tlb_sets *found, struct pb_error *err)
{
    struct pb_recording recording;
    enum pb_status status;

    record(&recording, sets);
    status = pb_tlb_find_sets(&recording, 1, 32 * mib, 220.0, MISS_CYCLES, found, err);
    pb_recording_clear(&recording);
    return status;
}

static void test_tlb_sets__do_not_depend_on_where_the_array_begins(void **state)
{
    static const uint64_t begins[] = {0x3f9800, 0x3f9801, 0x3f985b, 0x2a7b33, 0x1233};

    (void)state;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        const struct sets sets = {folded, 16, begins[i]};
        struct pb_error err = PB_ERROR_INIT;
        struct pb_tlb_sets found;

        if (find(&sets, &found, &err) != PB_OK)
            fail_msg("from entry %llx on: %s", (unsigned long long)begins[i], err.message);
        assert_int_equal(found.set_count * found.ways, 16 * 16);
        assert_true(found.set_count <= 16 && 16 <= found.finest_sets);
        assert_true(found.foretold_misses == found.misses && found.misses > 1000);
    }
}

/* Sets of an array of 400 entries that begins with this one. */
static void find_short(uint64_t first_entry, struct pb_tlb_sets *found)
{
    const struct sets sets = {folded, 16, first_entry};
    struct synthetic_noise noise = {16, 3, 0.0, 0, 5};
    struct pb_recording recording;
    struct pb_error err = PB_ERROR_INIT;

    synthetic_begin(&recording, "tlb_reach");
    for (uint64_t pages = 1; pages <= 400; pages++)
        add_walk(&recording.series, &noise, &sets, 32 * mib, 0, pages);
    if (pb_tlb_find_sets(&recording, 1, 32 * mib, 220.0, MISS_CYCLES, found, &err) != PB_OK)
        fail_msg("%s", err.message);
    pb_recording_clear(&recording);
}

/* Where several bits turn together, or bits were left to choose, they say so. */
static void test_tlb_sets__masks_are_of_bits_that_turn_alone(void **state)
{
    static const struct {
        uint64_t first_entry;
        bool guessed;
        uint64_t masks[4], told; /* of the entry's number */
    } expected[] = {
        {0x3f9800, false, {0x111, 0x22, 0x44, 0x88}, 0x1ff},
        {0x3f98f2, false, {0x111, 0x222, 0x44, 0x88}, 0x3ff},
        {0x3f9906, false, {0x211, 0x222, 0x44, 0x88}, 0xff},
        {0x3f9bb0, true, {0}, 0x1ff},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct pb_tlb_sets found;

        find_short(expected[i].first_entry, &found);
        assert_int_equal(found.told, expected[i].told * 32 * mib);
        assert_int_equal(found.guessed, expected[i].guessed);
        assert_int_equal(found.mask_count, 4);
        for (size_t bit = 0; bit < 4 && !found.guessed; bit++)
            assert_int_equal(found.masks[bit], expected[i].masks[bit] * 32 * mib);
    }
}

static void test_tlb_sets__that_are_no_parities_are_not_found(void **state)
{
    const struct sets sets = {by_seven, 32, 0x3f985b};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_tlb_sets found;

    (void)state;
    assert_int_equal(find(&sets, &found, &err), PB_NOT_FOUND);
    assert_string_not_equal(err.message, "");
}

/* Otherwise a line would be compared with another one, and sweeps begin to rise anywhere. */
static void test_rise__repeats_by_other_lines_are_sweeps_of_their_own(void **state)
{
    const struct sets sets = {folded, 16, 0x3f9800};
    struct pb_recording recording;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_rise rise;

    (void)state;
    record(&recording, &sets);
    assert_int_equal(pb_rise_find(&recording, 1, 200.0, &rise, &err), PB_OK);
    pb_recording_clear(&recording);
    assert_int_equal(rise.sweep_count, 3);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(rise.sweeps[i].stride_bytes, 32 * mib);
        assert_int_equal(rise.sweeps[i].step_count, 1);
        assert_int_equal(rise.sweeps[i].steps[0].fits_pages, 256);
        assert_int_equal(rise.sweeps[i].steps[0].overflow_pages, 257);
        assert_true(rise.sweeps[i].steps[0].sharp);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tlb_sets__do_not_depend_on_where_the_array_begins),
        cmocka_unit_test(test_tlb_sets__masks_are_of_bits_that_turn_alone),
        cmocka_unit_test(test_tlb_sets__that_are_no_parities_are_not_found),
        cmocka_unit_test(test_rise__repeats_by_other_lines_are_sweeps_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
