/*
 * Sets of unequal ways with known truth: sweeps over a toy cache, of whose overfull sets all lines
 * miss, and hits that look like misses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analysis/cache/unequal.h"
#include "analysis/synthetic.h"

enum { SETS = 8, LINE = 64, SWEEPS = 80, LINES_MAX = SETS + SWEEPS };

static const struct pb_geometry equal_sets = {
    .line_bytes = LINE, .sector_bytes = LINE, .index = PB_INDEX_MODULO, .sets = SETS, .ways = 4};

/* Sweeps over one line more each; one hit of so many seems to miss, 0: none. */
static enum pb_status propose(const uint32_t ways[SETS], uint64_t noise_every,
                              struct pb_unequal *unequal_out)
{
    static uint64_t offsets[LINES_MAX];
    static unsigned char seen[SWEEPS][LINES_MAX];
    struct pb_cache_chase items[SWEEPS] = {{.kind = PB_CHASE_SWEEP}};
    struct pb_cache_chases chases = {
        .items = items, .count = SWEEPS, .of_kind = {[PB_CHASE_SWEEP] = SWEEPS}};
    struct synthetic_noise noise = {.state = 5};
    struct pb_error err = PB_ERROR_INIT;

    for (size_t i = 0; i < LINES_MAX; i++)
        offsets[i] = i * LINE;
    for (size_t s = 0; s < SWEEPS; s++) {
        size_t lines = SETS + s;

        items[s] = (struct pb_cache_chase){.kind = PB_CHASE_SWEEP,
                                           .base = 1 << 20,
                                           .stride_bytes = LINE,
                                           .array_bytes = lines * LINE,
                                           .offset_bytes = offsets,
                                           .seen = seen[s],
                                           .count = lines};
        for (size_t i = 0; i < lines; i++) {
            size_t of_set = (lines - i % SETS + SETS - 1) / SETS;
            bool misses = of_set > ways[i % SETS] ||
                          (noise_every > 0 && synthetic_random(&noise, noise_every) == 0);

            seen[s][i] = misses ? PB_OBSERVED_MISS : PB_OBSERVED_HIT;
            items[s].misses += misses;
        }
    }
    return pb_unequal_propose(&chases, &equal_sets, unequal_out, &err);
}

static void expect(const uint32_t ways[SETS], uint64_t noise_every, size_t others)
{
    struct pb_unequal unequal;

    assert_int_equal(propose(ways, noise_every, &unequal), PB_OK);
    assert_int_equal(unequal.others, others);
    for (size_t set = 0; set < SETS; set++) {
        assert_int_equal(unequal.ways[set], ways[set]);
        assert_int_equal(unequal.least[set], ways[set]);
        assert_int_equal(unequal.most[set], ways[set]);
    }
    pb_unequal_clear(&unequal);
}

static void test_unequal__ways_of_every_set_are_found(void **state)
{
    (void)state;
    expect((const uint32_t[SETS]){4, 4, 4, 7, 4, 4, 4, 7}, 0, 2);
    expect((const uint32_t[SETS]){4, 5, 4, 4, 4, 4, 4, 4}, 0, 1);
    expect((const uint32_t[SETS]){4, 5, 6, 7, 8, 4, 4, 4}, 500, 4);
}

static void test_unequal__noise_makes_no_set_another(void **state)
{
    (void)state;
    expect((const uint32_t[SETS]){4, 4, 4, 4, 4, 4, 4, 4}, 0, 0);
    expect((const uint32_t[SETS]){4, 4, 4, 4, 4, 4, 4, 4}, 300, 0);
}

/*
 * Passes in pieces over four lines of each of 64 sets, and one line more of one of them: a set in
 * so many holds it, and no line of it misses.
 */
static size_t count_told_once(size_t every)
{
    enum { TOLD = 64 };
    static uint64_t offsets[TOLD][4 * TOLD + 1];
    static unsigned char seen[TOLD][4 * TOLD + 1];
    static uint64_t missing[TOLD * 4];
    static struct pb_cache_chase items[TOLD];
    struct pb_geometry equal = equal_sets;
    struct pb_cache_chases chases = {
        .items = items, .count = TOLD, .of_kind = {[PB_CHASE_CONFLICT] = TOLD}, .missing = missing};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_unequal unequal;
    size_t others;

    equal.sets = TOLD;
    for (size_t set = 0; set < TOLD; set++) {
        struct pb_cache_chase *chase = &items[set];

        *chase = (struct pb_cache_chase){.kind = PB_CHASE_CONFLICT,
                                         .base = 1 << 20,
                                         .stride_bytes = LINE,
                                         .array_bytes = 4 * TOLD * LINE,
                                         .added = (1 << 20) + (4 * TOLD + set) * LINE,
                                         .offset_bytes = offsets[set],
                                         .seen = seen[set],
                                         .count = 4 * TOLD + 1,
                                         .first_missing = chases.missing_count,
                                         .in_pieces = true};
        for (size_t i = 0; i < 4 && set % every != 0; i++) {
            missing[chases.missing_count++] = chase->base + (i * TOLD + set) * LINE;
            chase->misses++;
        }
    }
    assert_int_equal(pb_unequal_propose(&chases, &equal, &unequal, &err), PB_OK);
    others = unequal.others;
    pb_unequal_clear(&unequal);
    return others;
}

static void test_unequal__sets_that_one_pass_tells_of_differ_where_many_do(void **state)
{
    (void)state;
    assert_int_equal(count_told_once(4), 16);
    assert_int_equal(count_told_once(64), 0);
}

/* The longest sweep has eleven lines in each set. */
static void test_unequal__sets_that_no_sweep_overfills_are_open(void **state)
{
    struct pb_parameter ways = {.name = "way_counts"}, size = {.name = "size_bytes"};
    struct pb_unequal unequal;

    (void)state;
    assert_int_equal(propose((const uint32_t[SETS]){4, 4, 4, 4, 4, 4, 4, 20}, 0, &unequal), PB_OK);
    assert_int_equal(unequal.others, 1);
    assert_int_equal(unequal.least[SETS - 1], 10);
    assert_int_equal(unequal.most[SETS - 1], UINT32_MAX);
    pb_unequal_state(&unequal, &equal_sets, 0.9, &ways, &size, "toy");
    assert_int_equal(ways.kind, PB_VALUE_NONE);
    assert_non_null(strstr(ways.reason, "1 of 8 sets"));
    assert_int_equal(size.kind, PB_VALUE_NONE);
    pb_unequal_clear(&unequal);
}

static void test_unequal__ways_and_bytes_are_stated(void **state)
{
    struct pb_parameter ways = {.name = "way_counts"}, size = {.name = "size_bytes"};
    struct pb_unequal unequal;

    (void)state;
    assert_int_equal(propose((const uint32_t[SETS]){4, 4, 4, 7, 4, 4, 4, 7}, 0, &unequal), PB_OK);
    pb_unequal_state(&unequal, &equal_sets, 0.9, &ways, &size, "toy");
    assert_int_equal(ways.kind, PB_VALUE_LIST);
    assert_int_equal(ways.number_count, SETS);
    assert_true(ways.numbers[3].value == 7.0 && ways.numbers[4].value == 4.0);
    assert_true(size.numbers[0].value == 38.0 * LINE);
    pb_unequal_clear(&unequal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unequal__ways_of_every_set_are_found),
        cmocka_unit_test(test_unequal__sets_that_one_pass_tells_of_differ_where_many_do),
        cmocka_unit_test(test_unequal__noise_makes_no_set_another),
        cmocka_unit_test(test_unequal__sets_that_no_sweep_overfills_are_open),
        cmocka_unit_test(test_unequal__ways_and_bytes_are_stated),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
