/* Where misses begin by where an array begins, and what an index predicts of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/set_overflow.h"
#include "analysis/infer.h"
#include "analysis/synthetic.h"

/* 4 sets of 4 lines of 128 bytes; bit 9 is hashed into both bits of the set. */
enum { LINE = 128, SETS = 4, WAYS = 4, HIT = 30, MISS = 280 };
static const uint64_t masks[] = {0xa80, 0x700};

struct fixture {
    struct pb_parameters parameters;
    struct pb_recording recordings[3];
    struct pb_case at;
};

static const struct pb_inference row = {
    "l1", {"l1_alignment"}, {{"first_miss_bytes", "byte"}}, NULL};

static struct pb_parameter *declare(struct fixture *fixture, const char *memory, const char *name)
{
    assert_int_equal(
        pb_parameters_declare(&fixture->parameters, memory, name, "", "/devices/n1.gpu0", NULL),
        PB_OK);
    return pb_parameters_find(&fixture->parameters, memory, name);
}

static void state(struct fixture *fixture, const char *memory, const char *name, double low,
                  double high)
{
    pb_parameter_set_number(declare(fixture, memory, name), (struct pb_estimate){low, low, high},
                            0.9, "test");
}

static size_t set_of(uint64_t address)
{
    return (size_t)__builtin_parityll(address & masks[0]) |
           (size_t)__builtin_parityll(address & masks[1]) << 1;
}

/* One pass over `lines` lines. Those of overflowing sets miss, and others where `store` are too
 * few.
 */
static void chase(struct pb_series *series, const char *path, const char *phase, uint64_t base,
                  size_t lines, size_t store)
{
    struct pb_point point = {.footprint_bytes = lines * LINE,
                             .stride_bytes = LINE,
                             .base_address = base,
                             .carveout_bytes = 1024,
                             .count = lines,
                             .window = lines,
                             .overhead_cycles = 2};
    uint32_t *latency = calloc(lines, sizeof(*latency));
    uint64_t *index = calloc(lines, sizeof(*index));
    size_t filled[SETS] = {0};

    PB_TEXT_SET(point.path, path);
    PB_TEXT_SET(point.order, "sequential");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, phase);
    for (size_t i = 0; i < lines; i++)
        filled[set_of(base + i * LINE)]++;
    for (size_t i = 0; i < lines; i++) {
        bool overflowing = filled[set_of(base + i * LINE)] > WAYS, full = lines > store && i < 5;

        index[i] = i * LINE;
        latency[i] = 2 + (overflowing || full ? MISS : HIT) + (uint32_t)(i % 2);
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
    free(index);
    free(latency);
}

static void refer(struct pb_series *series, const char *path)
{
    struct synthetic_noise noise = {2, 1, 0, 0, 1};

    synthetic_constant(series, &noise, path, "reference", HIT, 256);
    synthetic_constant(series, &noise, path, "miss", MISS, 256);
}

static void set_up(struct fixture *fixture)
{
    *fixture = (struct fixture){.parameters = {NULL, 0, 0}};
    for (int i = 0; i < 3; i++)
        synthetic_begin(&fixture->recordings[i], "walks");
    refer(&fixture->recordings[0].series, "global_ca");
    refer(&fixture->recordings[1].series, "global_ca");
    refer(&fixture->recordings[2].series, "readonly");
    state(fixture, "l1", "size_bytes", 12 * LINE, SETS * WAYS * LINE);
    state(fixture, "readonly", "size_bytes", 12 * LINE, SETS * WAYS * LINE);
    state(fixture, "l1", "line_bytes", LINE, LINE);
    state(fixture, "l1", "way_counts", WAYS, WAYS);
    pb_parameter_set_masks(declare(fixture, "l1", "index_masks"), masks, 2, 0.9, "test");
    declare(fixture, "l1", "first_miss_bytes");
    pb_parameter_set_word(declare(fixture, "readonly", "same_cache_as"), "l1", 0.9, "test");
}

static void infer(struct fixture *fixture)
{
    struct pb_error err = PB_ERROR_INIT;

    fixture->at = (struct pb_case){&row, NULL, fixture->recordings, &fixture->parameters};
    assert_int_equal(pb_infer_onsets(&fixture->at, &err), PB_OK);
}

static void tear_down(struct fixture *fixture)
{
    for (int i = 0; i < 3; i++)
        pb_recording_clear(&fixture->recordings[i]);
    pb_parameters_clear(&fixture->parameters);
}

static const struct pb_parameter *find(const struct fixture *fixture, const char *memory,
                                       const char *name)
{
    return pb_parameters_find(&fixture->parameters, memory, name);
}

/* From another start, with set 0 missing as soon as the chase has all of its ways' lines. */
static void chase_with_guest(struct pb_series *series, size_t lines)
{
    struct pb_point *point;
    size_t filled = 0, first;

    chase(series, "global_ca", "bisect", 4096, lines, 99);
    point = &series->points[series->point_count - 1];
    first = (size_t)point->first;
    for (size_t i = 0; i < lines; i++)
        filled += set_of(4096 + i * LINE) == 0;
    for (size_t i = 0; i < lines && filled == WAYS; i++)
        if (set_of(4096 + i * LINE) == 0)
            series->latency_cycles[first + i] = 2 + MISS;
}

/* From four starts; whatever the start, 17 lines are more than 4 sets of 4 can hold. */
static void chase_all(struct fixture *fixture, size_t most, size_t store)
{
    for (uint64_t start = 0; start < 4; start++)
        for (size_t lines = 4; lines <= most; lines++)
            chase(&fixture->recordings[0].series, "global_ca", "shifted", start * LINE, lines,
                  store);
}

static void test_onsets__the_index_predicts_where_sets_overflow(void **unused)
{
    struct fixture fixture;
    const struct pb_estimate *onset;

    (void)unused;
    set_up(&fixture);
    chase_all(&fixture, 17, 99);
    infer(&fixture);
    onset = find(&fixture, "l1", "first_miss_bytes")->numbers;
    assert_true(onset->low < onset->high && onset->value == onset->high);
    assert_true(onset->high == SETS * WAYS * LINE);
    assert_non_null(strstr(find(&fixture, "l1", "first_miss_bytes")->method, "56 of 56 passes"));
    assert_true(find(&fixture, "l1", "size_bytes")->numbers[0].high == SETS * WAYS * LINE);
    tear_down(&fixture);
}

static void test_onsets__data_that_are_full_before_the_sets_show_the_size(void **unused)
{
    struct fixture fixture;

    (void)unused;
    set_up(&fixture);
    chase_all(&fixture, 17, 15);
    chase(&fixture.recordings[2].series, "readonly", "bisect", 0, 15, 15);
    chase(&fixture.recordings[2].series, "readonly", "bisect", 0, 16, 15);
    infer(&fixture);
    for (int i = 0; i < 2; i++) {
        const struct pb_parameter *size = find(&fixture, i == 0 ? "l1" : "readonly", "size_bytes");

        assert_true(size->numbers[0].value == 15 * LINE && size->numbers[0].high == 15 * LINE);
        assert_non_null(strstr(size->method, "data store is full"));
        assert_non_null(strstr(size->method, "carve-out of 1024 bytes"));
    }
    tear_down(&fixture);
}

/* No start overflows a set before the store is full: then the passes that showed the index vouch
 * for it.
 */
static void test_onsets__a_sure_index_needs_no_crowded_chase(void **unused)
{
    for (int sure = 0; sure < 2; sure++) {
        struct fixture fixture;
        const struct pb_estimate *size;

        (void)unused;
        set_up(&fixture);
        pb_parameters_find(&fixture.parameters, "l1", "index_masks")->confidence =
            sure ? 0.97 : 0.6;
        for (size_t lines = 4; lines <= 13; lines++)
            chase(&fixture.recordings[0].series, "global_ca", "shifted", 0, lines, 13);
        chase(&fixture.recordings[0].series, "global_ca", "shifted", 0, 14, 13);
        infer(&fixture);
        size = find(&fixture, "l1", "size_bytes")->numbers;
        assert_true(size->value == (sure ? 13 : 12) * LINE);
        tear_down(&fixture);
    }
}

/* A line that stays in a set makes its lines miss, wherever the array begins; no size of anything.
 */
static void test_onsets__a_guest_in_a_set_is_no_edge(void **unused)
{
    struct fixture fixture;

    (void)unused;
    set_up(&fixture);
    chase_all(&fixture, 17, 15);
    for (size_t lines = 8; lines <= 14; lines++)
        chase_with_guest(&fixture.recordings[1].series, lines);
    infer(&fixture);
    assert_true(find(&fixture, "l1", "size_bytes")->numbers[0].value == 15 * LINE);
    assert_true(find(&fixture, "l1", "first_miss_bytes")->numbers[0].low > 12 * LINE);
    tear_down(&fixture);
}

/* Textures that lie in the same store, tagged otherwise, may have all of it. */
static void test_onsets__textures_in_one_store_reach_its_size(void **unused)
{
    struct fixture fixture;
    const struct pb_estimate *size;

    (void)unused;
    set_up(&fixture);
    state(&fixture, "texture", "size_bytes", 14 * LINE, 14 * LINE);
    pb_parameter_set_word(declare(&fixture, "texture", "same_cache_as"), "none", 0.9, "test");
    pb_parameter_set_word(declare(&fixture, "texture", "shares_capacity_with"), "l1 readonly", 0.9,
                          "test");
    chase_all(&fixture, 17, 15);
    chase(&fixture.recordings[2].series, "readonly", "bisect", 0, 15, 15);
    chase(&fixture.recordings[2].series, "readonly", "bisect", 0, 16, 15);
    infer(&fixture);
    size = find(&fixture, "texture", "size_bytes")->numbers;
    assert_true(size->value == 14 * LINE && size->low == 14 * LINE && size->high == 15 * LINE);
    tear_down(&fixture);
}

/* An index that predicts wrongly proves nothing of the data. */
static void test_onsets__a_wrong_index_shows_no_size(void **unused)
{
    static const uint64_t wrong[] = {0x80, 0x100};
    struct fixture fixture;

    (void)unused;
    set_up(&fixture);
    pb_parameter_set_masks(pb_parameters_find(&fixture.parameters, "l1", "index_masks"), wrong, 2,
                           0.9, "test");
    chase_all(&fixture, 17, 99);
    infer(&fixture);
    assert_true(find(&fixture, "l1", "size_bytes")->numbers[0].value == 12 * LINE);
    tear_down(&fixture);
}

static void test_onsets__without_an_index_starts_still_differ(void **unused)
{
    struct fixture fixture;

    (void)unused;
    set_up(&fixture);
    pb_parameter_set_none(pb_parameters_find(&fixture.parameters, "l1", "index_masks"), "test");
    chase_all(&fixture, 17, 99);
    infer(&fixture);
    assert_true(find(&fixture, "l1", "first_miss_bytes")->numbers[0].high == SETS * WAYS * LINE);
    assert_null(strstr(find(&fixture, "l1", "first_miss_bytes")->method, "predicts"));
    tear_down(&fixture);
}

/* 5 lines surely miss from the first start; 6 fit from the second, where nothing surely misses. */
static void test_onsets__what_fits_from_any_start_is_no_onset_yet(void **unused)
{
    struct fixture fixture;
    struct pb_series *series = &fixture.recordings[0].series;

    (void)unused;
    set_up(&fixture);
    pb_parameter_set_none(pb_parameters_find(&fixture.parameters, "l1", "index_masks"), "test");
    chase(series, "global_ca", "shifted", 0, 4, 4);
    chase(series, "global_ca", "shifted", 0, 5, 4);
    chase(series, "global_ca", "shifted", LINE, 6, 6);
    infer(&fixture);
    assert_true(find(&fixture, "l1", "first_miss_bytes")->numbers[0].value == 6 * LINE);
    tear_down(&fixture);
}

/* Masks say nothing of address bits above them. */
static void test_sets_predict__bits_beyond_the_masks_are_unknown(void **unused)
{
    struct pb_geometry sets = {.line_bytes = LINE,
                               .index = PB_INDEX_XOR,
                               .sets = SETS,
                               .ways = WAYS,
                               .masks = {0x280, 0x300},
                               .mask_count = 2};
    uint32_t latency[2] = {HIT, HIT};
    uint64_t index[2] = {0, LINE};
    struct pb_accesses two = {latency, index, 2, 0.0};
    struct pb_classes classes = {.hit = {20, 40}, .miss = {200, 300}};
    struct pb_set_prediction prediction;

    (void)unused;
    assert_int_equal(pb_sets_predict(&sets, &two, 0, &classes, &prediction, NULL), PB_OK);
    assert_int_equal(pb_sets_predict(&sets, &two, 1024 - LINE, &classes, &prediction, NULL),
                     PB_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_onsets__the_index_predicts_where_sets_overflow),
        cmocka_unit_test(test_onsets__data_that_are_full_before_the_sets_show_the_size),
        cmocka_unit_test(test_onsets__a_sure_index_needs_no_crowded_chase),
        cmocka_unit_test(test_onsets__a_guest_in_a_set_is_no_edge),
        cmocka_unit_test(test_onsets__textures_in_one_store_reach_its_size),
        cmocka_unit_test(test_onsets__a_wrong_index_shows_no_size),
        cmocka_unit_test(test_onsets__without_an_index_starts_still_differ),
        cmocka_unit_test(test_onsets__what_fits_from_any_start_is_no_onset_yet),
        cmocka_unit_test(test_sets_predict__bits_beyond_the_masks_are_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
