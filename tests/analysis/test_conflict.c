/* Indexes from laps with one line more: planted ones, noise, contradictions, nothing at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "analysis/cache/conflict.h"

enum { LINE = 128, ADDED = 96, FAR_BITS = 8, MISSES_MAX = 4096 };

static const uint64_t base = (uint64_t)1 << 30;

struct index {
    uint64_t modulo;   /* 0: xor */
    uint64_t masks[8]; /* of the address */
    size_t mask_count;
};

static uint64_t set_of(const struct index *index, uint64_t address)
{
    uint64_t set = 0;

    if (index->modulo > 0)
        return (address - base) / LINE % index->modulo;
    for (size_t i = 0; i < index->mask_count; i++)
        set |= (uint64_t)__builtin_parityll(address & index->masks[i]) << i;
    return set;
}

static void add_missing(struct pb_conflicts *conflicts, struct pb_conflict_lap *lap,
                        uint64_t address)
{
    assert_true(conflicts->missing_count < MISSES_MAX);
    conflicts->missing[conflicts->missing_count++] = address;
    lap->count++;
}

/* A lap in which every line of the added one's set misses, if that set is full. */
static void add_lap(struct pb_conflicts *conflicts, const struct index *index, uint64_t added,
                    uint64_t ways)
{
    struct pb_conflict_lap *lap = &conflicts->laps[conflicts->lap_count++];
    uint64_t set = set_of(index, base + added), in_set = 0;

    *lap = (struct pb_conflict_lap){
        .added = base + added, .first = conflicts->missing_count, .added_missed = true};
    for (size_t i = 0; i < conflicts->lines; i++)
        in_set += set_of(index, base + i * LINE) == set;
    lap->added_missed = in_set >= ways;
    for (size_t i = 0; i < conflicts->lines && in_set >= ways; i++)
        if (set_of(index, base + i * LINE) == set)
            add_missing(conflicts, lap, base + i * LINE);
    conflicts->quiet += !lap->added_missed;
}

static struct pb_conflicts make(const struct index *index, size_t lines, uint64_t ways)
{
    struct pb_conflicts conflicts = {.line_bytes = LINE, .base = base, .lines = lines};

    conflicts.laps = calloc(ADDED + FAR_BITS, sizeof(*conflicts.laps));
    conflicts.missing = calloc(MISSES_MAX, sizeof(*conflicts.missing));
    assert_non_null(conflicts.laps);
    assert_non_null(conflicts.missing);
    for (size_t i = 0; i < FAR_BITS; i++)
        add_lap(&conflicts, index, (uint64_t)1 << (20 + i), ways);
    for (size_t i = 0; i < ADDED; i++)
        add_lap(&conflicts, index, (lines + i) * LINE, ways);
    return conflicts;
}

static struct pb_index_fit fit_of(const struct pb_conflicts *conflicts, enum pb_index_shape shape)
{
    struct pb_index_fit fit;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_conflicts_fit(conflicts, shape, &fit, &err), PB_OK);
    return fit;
}

static void test_conflicts_fit__finds_a_modulo_of_any_number(void **state)
{
    static const uint64_t sets[] = {4, 12, 21, 48};

    (void)state;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        struct index index = {.modulo = sets[i]};
        struct pb_conflicts conflicts = make(&index, sets[i] * 4, 4);
        struct pb_index_fit fit = fit_of(&conflicts, PB_INDEX_MODULO);

        assert_int_equal(fit.sets, sets[i]);
        assert_int_equal(fit.strays, 0);
        assert_true(fit.chance < 1e-3);
        pb_conflicts_clear(&conflicts);
    }
}

static void test_conflicts_fit__finds_planted_masks(void **state)
{
    static const struct index index = {.masks = {0x101080, 0x200100, 0x800200, 0x400400},
                                       .mask_count = 4};
    struct pb_conflicts conflicts = make(&index, 64, 4);
    struct pb_index_fit fit = fit_of(&conflicts, PB_INDEX_XOR);

    (void)state;
    assert_int_equal(fit.sets, 16);
    assert_int_equal(fit.mask_count, 4);
    /* bit 12 was not walked: the array has 8 KiB, and no added line lies there alone */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(fit.masks[i] & ~(uint64_t)0x1000, index.masks[i] & ~(uint64_t)0x1000);
    assert_true(fit.chance < 1e-3);
    pb_conflicts_clear(&conflicts);
}

static void test_conflicts_fit__a_few_strays_do_not_matter(void **state)
{
    static const struct index index = {.modulo = 12};
    struct pb_conflicts conflicts = make(&index, 48, 4);
    struct pb_index_fit fit;

    (void)state;
    conflicts.missing[17] += LINE; /* 2 of about 400 */
    conflicts.missing[201] += 5 * LINE;
    fit = fit_of(&conflicts, PB_INDEX_MODULO);
    assert_int_equal(fit.sets, 12);
    assert_int_equal(fit.strays, 2);
    pb_conflicts_clear(&conflicts);
}

static void test_conflicts_fit__contradictions_leave_one_set(void **state)
{
    static const struct index index = {.modulo = 12};
    struct pb_conflicts conflicts = make(&index, 48, 4);

    (void)state;
    for (size_t i = 0; i < conflicts.missing_count; i++) /* anything misses with anything */
        conflicts.missing[i] = base + (i * i * 7 + i) % 48 * LINE;
    assert_int_equal(fit_of(&conflicts, PB_INDEX_MODULO).sets, 1);
    assert_true(fit_of(&conflicts, PB_INDEX_XOR).sets <= 1);
    pb_conflicts_clear(&conflicts);
}

static void test_conflicts_fit__no_laps_are_no_index(void **state)
{
    struct pb_conflicts conflicts = {.line_bytes = LINE, .base = base, .lines = 64};

    (void)state;
    assert_int_equal(fit_of(&conflicts, PB_INDEX_MODULO).sets, 0);
    assert_int_equal(fit_of(&conflicts, PB_INDEX_XOR).sets, 0);
}

/* 10 lines a set, four lines in a row in one: the array of 34 fills one set and leaves the others.
 */
static void test_conflicts_check_fill__foretells_which_sets_have_room(void **state)
{
    static const struct index index = {.masks = {0x200, 0x400}, .mask_count = 2};
    struct pb_conflicts conflicts = make(&index, 34, 10);
    struct pb_index_fit fit = fit_of(&conflicts, PB_INDEX_XOR);
    struct pb_conflict_fill fill;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_true(conflicts.quiet > 0);
    assert_int_equal(fit.sets, 4);
    assert_int_equal(pb_conflicts_check_fill(&conflicts, &fit, &fill, &err), PB_OK);
    assert_int_equal(fill.ways, 10);
    assert_int_equal(fill.agreeing, fill.laps);
    assert_true(fill.full > 0 && fill.with_room > 0);
    assert_true(fill.overflows_next);
    pb_conflicts_clear(&conflicts);
}

static void test_conflicts_check_fill__another_index_does_not(void **state)
{
    static const struct index index = {.masks = {0x200, 0x400}, .mask_count = 2};
    struct pb_conflicts conflicts = make(&index, 34, 10);
    struct pb_index_fit fit = fit_of(&conflicts, PB_INDEX_XOR);
    struct pb_conflict_fill fill;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    fit.masks[0] = 0x80;
    fit.masks[1] = 0x100;
    assert_int_equal(pb_conflicts_check_fill(&conflicts, &fit, &fill, &err), PB_OK);
    assert_true(fill.agreeing < fill.laps * 9 / 10);
    fit.mask_count = 0;
    assert_int_equal(pb_conflicts_check_fill(&conflicts, &fit, &fill, &err), PB_INVALID);
    pb_conflicts_clear(&conflicts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conflicts_fit__finds_a_modulo_of_any_number),
        cmocka_unit_test(test_conflicts_fit__finds_planted_masks),
        cmocka_unit_test(test_conflicts_fit__a_few_strays_do_not_matter),
        cmocka_unit_test(test_conflicts_fit__contradictions_leave_one_set),
        cmocka_unit_test(test_conflicts_fit__no_laps_are_no_index),
        cmocka_unit_test(test_conflicts_check_fill__foretells_which_sets_have_room),
        cmocka_unit_test(test_conflicts_check_fill__another_index_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
