/*
 * Which index is believed: laps of policies that show few lines of a set, strays among them, and
 * sets that are none of a modulo or of parities.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/index_choice.h"
#include "analysis/cache/strays.h"

enum { LINE = 32, MISSES_MAX = 8192, LAPS_MAX = 1024 };

static const uint64_t base = (uint64_t)1 << 30;

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static struct pb_index_view empty_view(size_t lines)
{
    struct pb_index_view view = {.conflicts = {.line_bytes = LINE, .base = base, .lines = lines}};

    view.conflicts.laps = calloc(LAPS_MAX, sizeof(*view.conflicts.laps));
    view.conflicts.missing = calloc(MISSES_MAX, sizeof(*view.conflicts.missing));
    assert_non_null(view.conflicts.laps);
    assert_non_null(view.conflicts.missing);
    return view;
}

static void add_missing(struct pb_conflicts *conflicts, uint64_t line)
{
    struct pb_conflict_lap *lap = &conflicts->laps[conflicts->lap_count - 1];

    assert_true(conflicts->missing_count < MISSES_MAX);
    conflicts->missing[conflicts->missing_count++] = base + line * LINE;
    lap->count++;
}

static void begin_lap(struct pb_conflicts *conflicts, uint64_t added, bool is_drawn)
{
    assert_true(conflicts->lap_count < LAPS_MAX);
    conflicts->laps[conflicts->lap_count++] =
        (struct pb_conflict_lap){.added = base + added * LINE,
                                 .first = conflicts->missing_count,
                                 .added_missed = true,
                                 .is_drawn = is_drawn};
    conflicts->drawn += is_drawn;
}

/* Each lap lets one or two lines of the added one's set miss, drawn by chance; then in drawn
 * orders. set_of(line) is the set. */
static struct pb_index_view make_random(size_t lines, uint64_t (*set_of)(uint64_t line))
{
    enum { ADDED = 256, DRAWN = 64 };
    struct pb_index_view view = empty_view(lines);
    uint64_t state = 5;

    for (size_t i = 0; i < ADDED + DRAWN; i++) {
        uint64_t added = lines + i % ADDED, count = 1 + draw(&state) % 2;

        begin_lap(&view.conflicts, added, i >= ADDED);
        while (count > 0) {
            uint64_t line = draw(&state) % lines;

            if (set_of(line) != set_of(added))
                continue;
            add_missing(&view.conflicts, line);
            count--;
        }
    }
    return view;
}

static const struct pb_index_fit *choose(struct pb_index_view *view)
{
    const struct pb_index_fit *fit = NULL;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_conflicts_partition(&view->conflicts, NULL, &view->partition, &err), PB_OK);
    assert_int_equal(pb_conflicts_fit(&view->conflicts, PB_INDEX_MODULO, &view->modulo, &err),
                     PB_OK);
    assert_int_equal(pb_conflicts_fit(&view->conflicts, PB_INDEX_XOR, &view->linear, &err), PB_OK);
    assert_int_equal(pb_index_choose(view, &fit, &err), PB_OK);
    return fit;
}

static uint64_t modulo_47(uint64_t line)
{
    return line % 47;
}

/* Of 24 ways two at a time: the lines seem to lie in hundreds of sets, as chance must have it. */
static void test_index_choose__few_lines_at_a_time_are_no_contradiction(void **state)
{
    struct pb_index_view view = make_random((size_t)47 * 24, modulo_47);
    const struct pb_index_fit *fit = choose(&view);

    (void)state;
    assert_true(view.partition.sets > (size_t)4 * 47);
    assert_non_null(fit);
    assert_int_equal(fit->shape, PB_INDEX_MODULO);
    assert_int_equal(fit->sets, 47);
    pb_conflicts_clear(&view.conflicts);
}

/* 32 sets by a hash of no shape; as a modulo only the last bit remains of it. */
static uint64_t no_shape(uint64_t line)
{
    uint64_t mixed = line / 2 * 0x9e3779b97f4a7c15u >> 32;

    return line % 2 + 2 * (mixed % 16);
}

/* Sets finer than the modulo that keeps all pairs: many laps over them, and they never meet. */
static void test_index_choose__sets_that_never_meet_are_not_one(void **state)
{
    enum { LINES = 256, LAPS = 900 };
    struct pb_index_view view = empty_view(LINES);

    (void)state;
    for (uint64_t i = 0; i < LAPS; i++) {
        begin_lap(&view.conflicts, LINES + i % 240, i >= 240);
        for (uint64_t line = 0; line < LINES; line++)
            if (no_shape(line) == no_shape(LINES + i % 240))
                add_missing(&view.conflicts, line);
    }
    assert_null(choose(&view));
    pb_conflicts_clear(&view.conflicts);
}

static uint64_t four_lines_in_a_row(uint64_t line)
{
    return line / 4 % 4;
}

/* Four misses of a lap, as a tree-PLRU shows; a stray in one lap of `laps_to_stray`, to any line.
 */
static struct pb_index_view make_strays(size_t lines, uint64_t (*set_of)(uint64_t line),
                                        uint64_t laps_to_stray)
{
    enum { LAPS = 300 };
    struct pb_index_view view = empty_view(lines);
    uint64_t state = 9;

    for (uint64_t i = 0; i < LAPS; i++) {
        begin_lap(&view.conflicts, lines + i % 200, i >= 200);
        for (size_t count = 0; count < 4;) {
            uint64_t line = draw(&state) % lines;

            if (set_of(line) != set_of(lines + i % 200))
                continue;
            add_missing(&view.conflicts, line);
            count++;
        }
        if (i % laps_to_stray == 0)
            add_missing(&view.conflicts, draw(&state) % lines);
    }
    return view;
}

static void test_index_choose__strays_in_all_ways_are_left_out(void **state)
{
    struct pb_index_view view = make_strays(384, four_lines_in_a_row, 4);
    const struct pb_index_fit *fit = choose(&view);

    (void)state;
    assert_non_null(fit);
    assert_int_equal(fit->shape, PB_INDEX_XOR);
    assert_int_equal(fit->sets, 4);
    assert_true(fit->strays > 40 && fit->strays <= 75);
    assert_int_equal(fit->masks[0], 0x80);
    assert_int_equal(fit->masks[1], 0x100);
    pb_conflicts_clear(&view.conflicts);
}

/*
 * Victims drawn one after the other, each from the whole set: one behind its lap's place misses in
 * this lap, one before it in the next. The last lines of an array have little company.
 */
static void test_index_choose__lines_that_miss_alone_make_no_sets(void **state)
{
    enum { LINES = 384, LAST = 340, LAPS = 300, DRAWN = 24 };
    struct pb_index_view view = empty_view(LINES);
    const struct pb_index_fit *fit;
    uint64_t random = 7;

    (void)state;
    for (uint64_t i = 0; i < LAPS; i++) {
        begin_lap(&view.conflicts, LINES + i % 200, i >= LAPS - DRAWN);
        for (uint64_t count = 0; count < 2;) {
            uint64_t line = draw(&random) % LAST;

            if (four_lines_in_a_row(line) != four_lines_in_a_row(LINES + i % 200))
                continue;
            add_missing(&view.conflicts, line);
            count++;
        }
    }
    for (uint64_t line = LAST; line < LINES; line++) {
        begin_lap(&view.conflicts, line + 16, false);
        add_missing(&view.conflicts, line);
    }
    fit = choose(&view);
    assert_true(view.partition.alone >= LINES - LAST);
    assert_non_null(fit);
    assert_int_equal(fit->shape, PB_INDEX_XOR);
    assert_int_equal(fit->sets, 4);
    pb_conflicts_clear(&view.conflicts);
}

static uint64_t modulo_36(uint64_t line)
{
    return line % 36;
}

/* One pair of five is a stray: no reason to believe in the xor of four sets that all others keep.
 */
static void test_index_choose__strays_are_left_out_of_a_modulo_as_of_an_xor(void **state)
{
    struct pb_index_view view = make_strays(252, modulo_36, 1);
    const struct pb_index_fit *fit = choose(&view);

    (void)state;
    assert_non_null(fit);
    assert_int_equal(fit->shape, PB_INDEX_MODULO);
    assert_int_equal(fit->sets, 36);
    pb_conflicts_clear(&view.conflicts);
}

/* 128 sets; one bit of the line's number, that no line near the array has, turns one of the index.
 */
static uint64_t far_bit(uint64_t line)
{
    return line % 128 ^ (line >> 12 & 1) << 3;
}

/* The only pair that tells of a bit breaks whatever mask that bit is left out of: it is no stray.
 */
static void test_conflicts_fit__a_single_pair_tells_of_its_own_bit(void **state)
{
    enum { LINES = 2560, FAR = 4096 };
    struct pb_index_view view = make_random(LINES, far_bit);
    uint64_t bits = 0;

    (void)state;
    begin_lap(&view.conflicts, FAR, false);
    add_missing(&view.conflicts, far_bit(FAR) + 128);
    begin_lap(&view.conflicts, 2 * FAR, false);
    choose(&view);
    for (size_t i = 0; i < view.linear.mask_count; i++)
        bits |= view.linear.masks[i];
    assert_int_equal(view.linear.sets, 128);
    assert_int_equal(view.linear.strays, 0);
    assert_true((bits & (uint64_t)FAR * LINE) != 0);
    assert_int_equal(view.linear.thin, 1);
    assert_int_equal(view.linear.unseen, 1);
    pb_conflicts_clear(&view.conflicts);
}

static void test_strays_mark_xor__what_breaks_in_one_way_only_is_none(void **state)
{
    enum { LINES = 384, LAPS = 300 };
    struct pb_index_view view = empty_view(LINES);
    bool *is_stray = calloc(MISSES_MAX, sizeof(*is_stray));
    struct pb_error err = PB_ERROR_INIT;
    uint64_t random = 3;

    (void)state;
    assert_non_null(is_stray);
    for (uint64_t i = 0; i < LAPS; i++) { /* of four sets; one pair of 16 says: only two */
        begin_lap(&view.conflicts, LINES + i % 200, false);
        for (uint64_t count = 0; count < 4;) {
            uint64_t line = draw(&random) % LINES, sets = i % 4 == 0 && count == 0 ? 2 : 4;

            if (line % sets != i % sets || (sets == 2 && line % 4 == i % 4))
                continue;
            add_missing(&view.conflicts, line);
            count++;
        }
    }
    assert_int_equal(pb_strays_mark_xor(&view.conflicts, is_stray, &err), PB_OK);
    for (size_t i = 0; i < view.conflicts.missing_count; i++)
        assert_false(is_stray[i]);
    assert_false(pb_strays_are_even(&view.conflicts, 4));
    free(is_stray);
    pb_conflicts_clear(&view.conflicts);
}

/* An xor of 512 sets and five ways: lines of a set are the same few distances apart in all sets,
 * so that many laps in drawn orders have to tell what few distances do not. */
static void test_conflicts_fit__drawn_orders_are_evidence_of_their_own(void **state)
{
    enum { LINES = 2560, LAPS = 300 };
    struct pb_index_view ordered = empty_view(LINES), drawn = empty_view(LINES);

    (void)state;
    for (uint64_t i = 0; i < LAPS; i++) {
        begin_lap(&ordered.conflicts, LINES + i, false);
        begin_lap(&drawn.conflicts, LINES + i, i >= LAPS / 2);
        for (uint64_t line = (LINES + i) % 512; line < LINES; line += 512) {
            add_missing(&ordered.conflicts, line);
            add_missing(&drawn.conflicts, line);
        }
    }
    choose(&ordered);
    choose(&drawn);
    assert_int_equal(drawn.linear.sets, 512);
    assert_true(ordered.linear.chance > 1e-3);
    assert_true(drawn.linear.chance < 1e-3);
    pb_conflicts_clear(&ordered.conflicts);
    pb_conflicts_clear(&drawn.conflicts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index_choose__few_lines_at_a_time_are_no_contradiction),
        cmocka_unit_test(test_index_choose__sets_that_never_meet_are_not_one),
        cmocka_unit_test(test_index_choose__strays_in_all_ways_are_left_out),
        cmocka_unit_test(test_index_choose__lines_that_miss_alone_make_no_sets),
        cmocka_unit_test(test_index_choose__strays_are_left_out_of_a_modulo_as_of_an_xor),
        cmocka_unit_test(test_conflicts_fit__a_single_pair_tells_of_its_own_bit),
        cmocka_unit_test(test_strays_mark_xor__what_breaks_in_one_way_only_is_none),
        cmocka_unit_test(test_conflicts_fit__drawn_orders_are_evidence_of_their_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
