/* Elimination over GF(2): spans, masks, and bases that are the same in other words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>

#include "analysis/cache/gf2.h"

enum { BITS = 20 };

static unsigned parity(uint64_t vector)
{
    return (unsigned)__builtin_parityll(vector);
}

static struct pb_gf2_span all_bits(void)
{
    struct pb_gf2_span span = {.rank = 0};

    for (unsigned bit = 0; bit < BITS; bit++)
        pb_gf2_add(&span, (uint64_t)1 << bit);
    return span;
}

/* Differences of addresses that every known mask maps to 0. */
static struct pb_gf2_span kernel_of(const uint64_t *masks, size_t count)
{
    struct pb_gf2_span same = {.rank = 0};

    for (uint64_t vector = 0; vector < (uint64_t)1 << BITS; vector += 1 + vector / 64) {
        bool all = true;

        for (size_t i = 0; i < count; i++)
            all &= parity(vector & masks[i]) == 0;
        if (all)
            pb_gf2_add(&same, vector);
    }
    return same;
}

static void test_gf2_add__reports_what_is_new(void **state)
{
    struct pb_gf2_span span = {.rank = 0};

    (void)state;
    assert_true(pb_gf2_add(&span, 0x6));
    assert_true(pb_gf2_add(&span, 0x3));
    assert_false(pb_gf2_add(&span, 0x5)); /* 6 ^ 3 */
    assert_false(pb_gf2_add(&span, 0));
    assert_int_equal(span.rank, 2);
    assert_true(pb_gf2_holds(&span, 0x5));
    assert_false(pb_gf2_holds(&span, 0x4));
}

static void test_gf2_masks__returns_the_known_masks(void **state)
{
    static const uint64_t known[] = {0x11080, 0x20100, 0x88200};
    struct pb_gf2_span tried = all_bits(), same = kernel_of(known, 3), truth = {.rank = 0};
    uint64_t masks[64];

    (void)state;
    assert_int_equal(pb_gf2_masks(&tried, &same, masks), 3);
    for (size_t i = 0; i < 3; i++)
        pb_gf2_add(&truth, known[i]);
    for (size_t i = 0; i < 3; i++)
        assert_true(pb_gf2_holds(&truth, masks[i]));
    assert_true(masks[0] < masks[1] && masks[1] < masks[2]);
}

/* Sums of masks map the same addresses together: the reduced basis must not depend on them. */
static void test_gf2_masks__equivalent_bases_are_one(void **state)
{
    static const uint64_t one[] = {0x11080, 0x20100, 0x88200};
    static const uint64_t other[] = {0x11080 ^ 0x20100, 0x20100 ^ 0x88200, 0x88200};
    struct pb_gf2_span tried = all_bits(), a = kernel_of(one, 3), b = kernel_of(other, 3);
    uint64_t first[64], second[64];

    (void)state;
    assert_int_equal(pb_gf2_masks(&tried, &a, first), pb_gf2_masks(&tried, &b, second));
    assert_memory_equal(first, second, 3 * sizeof(first[0]));
}

static void test_gf2_masks__contradictory_differences_leave_no_mask(void **state)
{
    struct pb_gf2_span tried = all_bits(), same = all_bits();
    uint64_t masks[64];

    (void)state;
    assert_int_equal(pb_gf2_masks(&tried, &same, masks), 0);
}

static void test_gf2_masks__of_nothing_are_none(void **state)
{
    struct pb_gf2_span nothing = {.rank = 0};
    uint64_t masks[64];

    (void)state;
    assert_int_equal(pb_gf2_masks(&nothing, &nothing, masks), 0);
    assert_true(pb_gf2_holds(&nothing, 0));
    assert_false(pb_gf2_holds(&nothing, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gf2_add__reports_what_is_new),
        cmocka_unit_test(test_gf2_masks__returns_the_known_masks),
        cmocka_unit_test(test_gf2_masks__equivalent_bases_are_one),
        cmocka_unit_test(test_gf2_masks__contradictory_differences_leave_no_mask),
        cmocka_unit_test(test_gf2_masks__of_nothing_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
