/*
 * Levels of translation behind an L2 whose lines differ by more than a level costs: planted TLBs,
 * walked as the battery does, every line with a latency of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "analysis/synthetic.h"
#include "analysis/tlb/infer_tlb.h"
#include "analysis/tlb/rise.h"

enum { PAGES_MAX = 600, TRACE_LOADS = 256, SPREAD_CYCLES = 60 };

static const uint64_t mib = (uint64_t)1 << 20;

/* Fully associative, LRU: over cyclic walks all entries hit, or all miss. */
struct level {
    uint64_t entries, span_bytes;
    uint32_t cycles;
};

static uint32_t penalty(const struct level *levels, size_t count, uint64_t stride, uint64_t pages,
                        uint64_t page)
{
    uint32_t cycles = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t per_entry = levels[i].span_bytes > stride ? levels[i].span_bytes / stride : 1;
        uint64_t used = (pages + per_entry - 1) / per_entry;

        if (used > levels[i].entries && page % per_entry == 0)
            cycles += levels[i].cycles;
    }
    return cycles;
}

/* Loads of one stride take so much longer from some number of pages on, as if others were at work.
 */
struct disturbance {
    uint64_t stride, pages;
    uint32_t cycles;
};

static const struct disturbance none = {0, 0, 0};

static void add_walk(struct pb_series *series, struct synthetic_noise *noise,
                     const struct level *levels, size_t count, uint64_t stride, uint64_t pages,
                     const struct disturbance *disturbance)
{
    bool disturbed = stride == disturbance->stride && pages >= disturbance->pages;
    struct pb_point point = {.footprint_bytes = pages * stride,
                             .stride_bytes = stride,
                             .base_address = (uint64_t)1 << 40,
                             .sm_id = 7,
                             .overhead_cycles = noise->overhead_cycles};
    uint32_t latency[TRACE_LOADS];
    uint64_t index[TRACE_LOADS];

    point.count = point.window = pages < TRACE_LOADS ? pages : TRACE_LOADS;
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, "stride");
    for (uint64_t page = 0; page < point.count; page++) {
        uint32_t own = 250 + (uint32_t)(page * 2654435761u % SPREAD_CYCLES) +
                       (disturbed ? disturbance->cycles : 0);

        index[page] = page * stride;
        latency[page] = synthetic_latency(noise, own + penalty(levels, count, stride, pages, page));
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

static void record(struct pb_recording *recording, const struct level *levels, size_t count,
                   const struct disturbance *disturbance)
{
    struct synthetic_noise noise = {16, 6, 0.0, 0, 5};

    synthetic_begin(recording, "tlb_reach");
    for (uint64_t stride = 2 * mib; stride <= 64 * mib; stride *= 2)
        for (uint64_t pages = 1; pages <= PAGES_MAX; pages += pages < 160 ? 1 : 20)
            add_walk(&recording->series, &noise, levels, count, stride, pages, disturbance);
}

static struct pb_rise find_disturbed(const struct level *levels, size_t count,
                                     const struct disturbance *disturbance)
{
    struct pb_recording recording;
    struct pb_rise rise;
    struct pb_error err = PB_ERROR_INIT;

    record(&recording, levels, count, disturbance);
    assert_int_equal(pb_rise_find(&recording, 1, 200.0, &rise, &err), PB_OK);
    pb_recording_clear(&recording);
    return rise;
}

static struct pb_rise find(const struct level *levels, size_t count)
{
    return find_disturbed(levels, count, &none);
}

/* An H200 once showed 46 cycles at 89 pages, 32 MiB apart, and nowhere else. */
static void test_rise__what_one_stride_alone_shows_is_no_level(void **state)
{
    static const struct level levels[] = {{16, 16 * 1048576, 10}, {64, 32 * 1048576, 90}};
    static const struct disturbance disturbance = {32 * 1048576, 48, 46};
    struct pb_rise rise = find_disturbed(levels, 2, &disturbance);
    struct pb_rise_level level;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_rise_level(&rise, 2, &level, &err), PB_OK);
    for (size_t i = 0; i < level.count; i++) {
        uint64_t stride = level.sweeps[i]->stride_bytes;
        uint64_t fits = stride < 32 * mib ? 2048 * mib / stride : 64;

        assert_true(level.steps[i]->fits_pages <= fits && fits < level.steps[i]->overflow_pages);
    }
    assert_int_equal(pb_rise_level(&rise, 3, &level, &err), PB_NOT_FOUND);
}

/* Two levels over 1 GiB of plain memory; the recording of a block has no walks yet. */
static void record_little(struct pb_recording recordings[2], const struct level levels[2],
                          struct synthetic_noise *noise)
{
    synthetic_begin(&recordings[0], "tlb_reach");
    for (uint64_t stride = 2 * mib; stride <= 64 * mib; stride *= 2)
        for (uint64_t pages = 1; pages * stride <= 1024 * mib && pages <= 160; pages++)
            add_walk(&recordings[0].series, noise, levels, 2, stride, pages, &none);
    synthetic_begin(&recordings[1], "tlb_remap");
}

/* As on an H200 with 2.4 GiB free: only one block, mapped over and over, goes beyond them. */
static void test_rise__where_little_memory_is_free_one_stride_is_enough(void **state)
{
    static const struct level levels[] = {{16, 16 * 1048576, 10}, {64, 32 * 1048576, 90}};
    struct synthetic_noise noise = {16, 6, 0.0, 0, 5};
    struct pb_recording recordings[2];
    struct pb_rise_level level;
    struct pb_rise rise;

    (void)state;
    record_little(recordings, levels, &noise);
    for (uint64_t pages = 1; pages <= PAGES_MAX; pages += pages < 160 ? 1 : 20)
        add_walk(&recordings[1].series, &noise, levels, 2, 32 * mib, pages, &none);
    assert_int_equal(pb_rise_find(recordings, 2, 200.0, &rise, NULL), PB_OK);
    assert_int_equal(pb_rise_level(&rise, 2, &level, NULL), PB_OK);
    assert_int_equal(level.count, 1);
    assert_int_equal(level.sweeps[0]->stride_bytes, 32 * mib);
    assert_int_equal(level.steps[0]->fits_pages, 64);
    assert_int_equal(pb_rise_level(&rise, 3, &level, NULL), PB_NOT_FOUND);
    pb_recording_clear(&recordings[0]);
    pb_recording_clear(&recordings[1]);
}

/*
 * With 2.4 GiB free again, by other strides of the block: every other entry of an H200's second
 * level leaves out none of its hashed sets, and 2,048 of them are all that is mapped.
 */
static void test_rise__a_stride_that_ends_where_a_level_does_speaks_not_against_it(void **state)
{
    static const struct level levels[] = {{16, 16 * 1048576, 10}, {100, 32 * 1048576, 90}};
    struct synthetic_noise noise = {16, 6, 0.0, 0, 5};
    struct pb_recording recordings[2];
    struct pb_rise_level level;
    struct pb_rise rise;

    (void)state;
    record_little(recordings, levels, &noise);
    for (uint64_t stride = 16 * mib; stride <= 32 * mib; stride *= 2)
        for (uint64_t pages = 1; pages <= PAGES_MAX; pages += pages < 220 ? 1 : 20)
            add_walk(&recordings[1].series, &noise, levels, 2, stride, pages, &none);
    for (uint64_t pages = 1; pages <= 102; pages++)
        add_walk(&recordings[1].series, &noise, levels, 1, 64 * mib, pages, &none);
    assert_int_equal(pb_rise_find(recordings, 2, 200.0, &rise, NULL), PB_OK);
    assert_int_equal(pb_rise_level(&rise, 2, &level, NULL), PB_OK);
    assert_int_equal(level.count, 2);
    assert_int_equal(level.sweeps[0]->stride_bytes, 16 * mib);
    assert_int_equal(level.steps[0]->fits_pages, 200);
    assert_int_equal(level.sweeps[1]->stride_bytes, 32 * mib);
    assert_int_equal(level.steps[1]->fits_pages, 100);
    pb_recording_clear(&recordings[0]);
    pb_recording_clear(&recordings[1]);
}

/*
 * Where an H200's block began at 241 GiB instead of 103, loads that missed the first level took 20
 * cycles more instead of 10, the first of them from 17 pages on and all from 21.
 */
static void test_rise__a_sweep_that_goes_a_longer_way_tells_no_penalty(void **state)
{
    static const struct level levels[] = {{16, 16 * 1048576, 10}};
    static const struct disturbance disturbance = {32 * 1048576, 21, 14};
    static const char *const names[] = {"page_bytes",  "entry_count", "entry_coverage_bytes",
                                        "reach_bytes", "set_count",   "way_counts",
                                        "index_kind",  "index_masks", "penalty_cycles"};
    const struct pb_inference inference = {.memory = "tlb_l1"};
    struct synthetic_noise noise = {16, 2, 0.0, 0, 5};
    struct pb_recording recordings[2];
    struct pb_parameters parameters = {NULL, 0, 0};
    const struct pb_case at = {&inference, NULL, recordings, &parameters};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(pb_parameters_declare(&parameters, "tlb_l1", names[i], "", "", &err),
                         PB_OK);
    record(&recordings[0], levels, 1, &none);
    synthetic_begin(&recordings[1], "tlb_remap");
    for (uint64_t repeat = 0; repeat < 2; repeat++)
        for (uint64_t pages = 1; pages <= 160; pages++)
            add_walk(&recordings[repeat].series, &noise, levels, 1, 32 * mib, pages,
                     repeat == 0 ? &none : &disturbance);
    assert_int_equal(pb_infer_tlb_rise(&at, 1, 200.0, &err), PB_OK);
    assert_float_equal(pb_parameters_number(&parameters, "tlb_l1", "penalty_cycles"), 10.0, 1.0);
    assert_float_equal(pb_parameters_number(&parameters, "tlb_l1", "way_counts"), 16.0, 0.0);
    pb_parameters_clear(&parameters);
    pb_recording_clear(&recordings[0]);
    pb_recording_clear(&recordings[1]);
}

static void test_rise__finds_levels_smaller_than_the_lines_differ(void **state)
{
    static const struct level levels[] = {{16, 16 * 1048576, 10}, {64, 32 * 1048576, 90}};
    struct pb_rise rise = find(levels, 2);
    struct pb_rise_level level;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pb_rise_level(&rise, i + 1, &level, &err), PB_OK);
        assert_true(level.count >= 4);
        for (size_t k = 0; k < level.count; k++) {
            uint64_t stride = level.sweeps[k]->stride_bytes;
            const struct pb_rise_step *step = level.steps[k];
            double share =
                stride < levels[i].span_bytes ? (double)stride / (double)levels[i].span_bytes : 1.0;
            uint64_t fits = (uint64_t)((double)levels[i].entries / share);

            assert_true(step->fits_pages <= fits && fits < step->overflow_pages);
            if (stride > levels[i].span_bytes) /* every page takes an entry */
                assert_float_equal(step->cycles, levels[i].cycles, 1.5);
        }
    }
    assert_int_equal(pb_rise_level(&rise, 3, &level, &err), PB_NOT_FOUND);
}

/* As an H200's second level where its array began so that half of the sets overflowed early. */
static void test_rise__sets_that_overflow_apart_are_one_level(void **state)
{
    static const struct level halves[] = {
        {16, 16 * 1048576, 10}, {64, 32 * 1048576, 48}, {80, 32 * 1048576, 48}};
    struct pb_rise rise = find(halves, 3);
    struct pb_rise_level level;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_rise_level(&rise, 2, &level, &err), PB_OK);
    for (size_t k = 0; k < level.count; k++) {
        if (level.sweeps[k]->stride_bytes > halves[1].span_bytes)
            assert_float_equal(level.steps[k]->cycles, 96, 1.5);
    }
    assert_int_equal(pb_rise_level(&rise, 3, &level, &err), PB_NOT_FOUND);
}

static void test_rise__flat_walks_show_no_level(void **state)
{
    struct pb_rise rise = find(NULL, 0);
    struct pb_rise_level level;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < rise.sweep_count; i++)
        assert_int_equal(rise.sweeps[i].step_count, 0);
    assert_int_equal(pb_rise_level(&rise, 1, &level, &err), PB_NOT_FOUND);
}

static void test_rise__no_walks_are_not_found(void **state)
{
    struct pb_recording recording;
    struct pb_rise rise;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    synthetic_begin(&recording, "tlb_reach");
    assert_int_equal(pb_rise_find(&recording, 1, 200.0, &rise, &err), PB_NOT_FOUND);
    assert_string_not_equal(err.message, "");
    pb_recording_clear(&recording);
}

enum { SPIKED_WALKS = 92, SPIKED_PAGES = 80, SPIKED_WAYS = 4 };

/* Eight entries of 16 MiB in two sets, and a spike in the last walk 2 MiB apart that fits. */
static void add_spiked(struct pb_tlb *tlb, uint64_t stride_bytes, uint64_t pages)
{
    static uint32_t latency[SPIKED_WALKS][SPIKED_PAGES];
    static uint64_t index[SPIKED_WALKS][SPIKED_PAGES];
    uint64_t per_entry = 16 * mib / stride_bytes, entries = (pages + per_entry - 1) / per_entry;
    size_t walk = tlb->walk_count++;

    for (uint64_t page = 0; page < pages; page++) {
        uint64_t entry = page / per_entry;
        bool misses = page % per_entry == 0 && (entries + 1 - entry % 2) / 2 > SPIKED_WAYS;

        index[walk][page] = page * stride_bytes;
        latency[walk][page] = misses || (pages == 64 && page == 24) ? 142 : 100;
    }
    tlb->walks[walk] = (struct pb_tlb_walk){
        .stride_bytes = stride_bytes,
        .pages = pages,
        .accesses = {latency[walk], index[walk], (size_t)pages, 0.0},
    };
}

/* Within an entry whose first page hits, nothing misses: the level has no part of an entry. */
static void test_tlb__a_spike_takes_no_part_of_an_entry(void **state)
{
    static struct pb_tlb_walk walks[SPIKED_WALKS];
    struct pb_tlb tlb = {.walks = walks,
                         .strides = {2 * mib, 16 * mib},
                         .stride_count = 2,
                         .levels = 1,
                         .bands = {{95.0, 105.0}, {130.0, 150.0}}};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_tlb_view view;

    (void)state;
    for (uint64_t pages = 1; pages <= SPIKED_PAGES; pages++)
        add_spiked(&tlb, 2 * mib, pages);
    for (uint64_t pages = 1; pages <= 12; pages++)
        add_spiked(&tlb, 16 * mib, pages);
    assert_int_equal(pb_tlb_look(&tlb, 1, &view, &err), PB_OK);
    assert_int_equal(view.onset.fits_pages, 63);
    assert_int_equal(view.span_bytes, 16 * mib);
    assert_int_equal(view.fits_bytes, 128 * mib);
    assert_int_equal(view.next_bytes, 130 * mib);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rise__where_little_memory_is_free_one_stride_is_enough),
        cmocka_unit_test(test_rise__a_stride_that_ends_where_a_level_does_speaks_not_against_it),
        cmocka_unit_test(test_rise__a_sweep_that_goes_a_longer_way_tells_no_penalty),
        cmocka_unit_test(test_rise__finds_levels_smaller_than_the_lines_differ),
        cmocka_unit_test(test_rise__what_one_stride_alone_shows_is_no_level),
        cmocka_unit_test(test_rise__sets_that_overflow_apart_are_one_level),
        cmocka_unit_test(test_rise__flat_walks_show_no_level),
        cmocka_unit_test(test_rise__no_walks_are_not_found),
        cmocka_unit_test(test_tlb__a_spike_takes_no_part_of_an_entry),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
