/*
 * Sets of a level of translation behind an L2 whose lines differ by more than it costs: planted
 * sets, walked as the battery does from an array that begins anywhere. Then sets that are followed
 * page by page, by walks that a spike has touched.
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
#include "analysis/tlb/infer_tlb.h"
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
    PB_TEXT_SET(point.mode, "traced");
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

/* A level by hand: what hits, what misses, and how much more a miss of L2 takes. */
enum { LAPS = 160, LAP_PAGES = 80, LEVEL_HIT = 100, LEVEL_MISS = 140, L2_MISS = 80 };

struct by_hand {
    struct pb_tlb tlb;
    struct pb_tlb_walk walks[LAPS];
    uint32_t latency[LAPS][LAP_PAGES];
    uint64_t index[LAPS][LAP_PAGES];
};

/* Entries go to the sets in turn, as long as these have room. */
static size_t deal(uint64_t entry, const size_t *ways, size_t sets)
{
    size_t total = 0, left;

    for (size_t i = 0; i < sets; i++)
        total += ways[i];
    left = (size_t)(entry % total);
    for (size_t round = 0;; round++)
        for (size_t set = 0; set < sets; set++)
            if (round < ways[set] && left-- == 0)
                return set;
}

/* A lap over pages of 2 MiB; all pages of a set with more than its ways miss. */
static void add_lap(struct by_hand *level, uint64_t pages, const size_t *ways, size_t sets)
{
    size_t in_set[SETS_MAX] = {0}, lap = level->tlb.walk_count++;
    uint64_t base = 66560 * mib;

    for (uint64_t i = 0; i < pages; i++)
        in_set[deal(base / (2 * mib) + i, ways, sets)]++;
    for (uint64_t i = 0; i < pages; i++) {
        size_t set = deal(base / (2 * mib) + i, ways, sets);

        level->index[lap][i] = i * 2 * mib;
        level->latency[lap][i] = in_set[set] > ways[set] ? LEVEL_MISS : LEVEL_HIT;
    }
    level->walks[lap] = (struct pb_tlb_walk){
        .stride_bytes = 2 * mib,
        .pages = pages,
        .base_address = base,
        .accesses = {level->latency[lap], level->index[lap], (size_t)pages, 0.0},
    };
}

/* Two laps for each number of pages. */
static void plant(struct by_hand *level, const size_t *ways, size_t sets)
{
    memset(level, 0, sizeof(*level));
    level->tlb = (struct pb_tlb){.walks = level->walks,
                                 .strides = {2 * mib},
                                 .stride_count = 1,
                                 .dram_cycles = L2_MISS,
                                 .levels = 1,
                                 .bands = {{95.0, 105.0}, {130.0, 150.0}}};
    for (size_t lap = 0; lap < LAPS; lap++)
        add_lap(level, 1 + lap / 2, ways, sets);
}

static const struct pb_inference row = {"tlb_l1", {"tlb_reach"}, {{"way_counts", ""}}, NULL};

/* States the sets of a level of so many entries. */
static void follow(const struct by_hand *level, uint64_t entries, struct pb_parameters *parameters)
{
    static const char *const names[] = {"set_count", "way_counts", "index_kind", "index_masks"};
    struct pb_case at = {&row, NULL, NULL, parameters};
    struct pb_tlb_view view = {
        .tlb = &level->tlb, .level = 1, .stride_bytes = 2 * mib, .span_bytes = 2 * mib};
    struct pb_error err = PB_ERROR_INIT;

    *parameters = (struct pb_parameters){NULL, 0, 0};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_int_equal(
            pb_parameters_declare(parameters, "tlb_l1", names[i], "", "/devices/n1.gpu0", NULL),
            PB_OK);
    assert_int_equal(pb_tlb_state_ways(&at, &view, entries, 0.9, &err), PB_OK);
}

static void assert_ways(const struct by_hand *level, const size_t *ways, size_t sets,
                        uint64_t entries)
{
    struct pb_parameters parameters;
    const struct pb_parameter *found;

    follow(level, entries, &parameters);
    found = pb_parameters_find(&parameters, "tlb_l1", "way_counts");
    assert_int_equal(found->number_count, sets);
    for (size_t i = 0; i < sets; i++)
        assert_float_equal(found->numbers[i].value, (double)ways[i], 0.0);
    pb_parameters_clear(&parameters);
}

/* What misses, and a spike on top: as a load that hits the level and misses L2 takes. */
static void test_tlb_sets__a_page_that_once_seems_to_hit_again_keeps_its_set(void **state)
{
    static const size_t ways[] = {6, 9, 5};
    static struct by_hand level;

    (void)state;
    for (size_t lap = 2 * 20; lap < 64; lap++) {
        plant(&level, ways, 3);
        assert_ways(&level, ways, 3, 20);
        assert_int_equal(level.latency[lap][0], LEVEL_MISS);
        level.latency[lap][0] = LEVEL_HIT + L2_MISS;
        assert_ways(&level, ways, 3, 20);
    }
}

/* Spikes hide it where two sets overflow whose pages come at odd distances: of which, is open. */
static void test_tlb_sets__a_page_that_suits_several_is_of_none(void **state)
{
    static const size_t ways[] = {10, 6, 16, 12, 8, 6, 6};
    static struct by_hand level;
    struct pb_parameters parameters;

    (void)state;
    plant(&level, ways, 7);
    assert_ways(&level, ways, 7, 64);
    level.latency[2 * 66][57] = level.latency[2 * 66 + 1][57] = 999;
    follow(&level, 64, &parameters);
    assert_int_equal(pb_parameters_find(&parameters, "tlb_l1", "way_counts")->kind, PB_VALUE_NONE);
    pb_parameters_clear(&parameters);
}

/* Ten pages come to their sets as one parity and another one would have it, by chance. */
static void test_tlb_sets__of_unequal_size_have_no_masks(void **state)
{
    static const size_t ways[][4] = {{2, 2, 3, 3}, {3, 3, 3, 3}};
    static struct by_hand level;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pb_parameters parameters;
        const struct pb_parameter *masks;

        plant(&level, ways[i], 4);
        follow(&level, i == 0 ? 10 : 12, &parameters);
        assert_int_equal(pb_parameters_find(&parameters, "tlb_l1", "way_counts")->number_count,
                         i == 0 ? 4 : 1);
        masks = pb_parameters_find(&parameters, "tlb_l1", "index_masks");
        assert_int_equal(masks->kind, i == 0 ? PB_VALUE_NONE : PB_VALUE_MASKS);
        pb_parameters_clear(&parameters);
    }
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
        cmocka_unit_test(test_tlb_sets__a_page_that_once_seems_to_hit_again_keeps_its_set),
        cmocka_unit_test(test_tlb_sets__a_page_that_suits_several_is_of_none),
        cmocka_unit_test(test_tlb_sets__of_unequal_size_have_no_masks),
        cmocka_unit_test(test_rise__repeats_by_other_lines_are_sweeps_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
