/* Reuse distances against their definition, and against the caches that they predict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/cache.h"
#include "analysis/model/reuse.h"

static struct pb_model_reuse *make(void)
{
    struct pb_model_reuse *reuse = NULL;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_model_reuse_create(&reuse, &err), PB_OK);
    return reuse;
}

static uint64_t use(struct pb_model_reuse *reuse, uint64_t line)
{
    struct pb_error err = PB_ERROR_INIT;
    uint64_t distance = 0;

    assert_int_equal(pb_model_reuse_access(reuse, line, &distance, &err), PB_OK);
    return distance;
}

static void test_reuse__distances_of_a_short_sequence(void **state)
{
    static const uint64_t lines[] = {0, 0, 1, 0, 2, 1, 1, 0, 3, 2};
    static const uint64_t expected[] = {PB_MODEL_COLD, 0, PB_MODEL_COLD, 1, PB_MODEL_COLD, 2, 0, 2,
                                        PB_MODEL_COLD, 3};
    struct pb_model_reuse *reuse = make();

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_int_equal(use(reuse, lines[i]), expected[i]);
    assert_int_equal(pb_model_reuse_lines(reuse), 4);
    pb_model_reuse_destroy(reuse);
}

static void test_reuse__a_forgotten_line_is_cold(void **state)
{
    struct pb_model_reuse *reuse = make();

    (void)state;
    for (uint64_t line = 0; line < 600; line++)
        use(reuse, line * 7919);
    for (uint64_t line = 0; line < 600; line += 2)
        pb_model_reuse_forget(reuse, line * 7919);
    pb_model_reuse_forget(reuse, 5); /* never used */
    assert_int_equal(pb_model_reuse_lines(reuse), 300);
    assert_int_equal(use(reuse, 0), PB_MODEL_COLD);
    assert_int_equal(use(reuse, 7919), 300); /* all other odd ones, and line 0 */
    pb_model_reuse_destroy(reuse);
}

static uint64_t next(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *random >> 33;
}

/* Long enough to renumber the moments many times. */
static void test_reuse__equals_the_definition(void **state)
{
    enum { LINES = 500, ACCESSES = 20000 };
    struct pb_model_reuse *reuse = make();
    uint64_t last[LINES] = {0}, random = 5;

    (void)state;
    for (uint64_t now = 1; now <= ACCESSES; now++) {
        size_t line = (size_t)(next(&random) % LINES) * (size_t)(next(&random) % 3) / 2;
        uint64_t expected = 0;

        for (size_t other = 0; other < LINES; other++)
            expected += last[other] > last[line];
        assert_int_equal(use(reuse, line << 20), last[line] > 0 ? expected : PB_MODEL_COLD);
        last[line] = now;
    }
    pb_model_reuse_destroy(reuse);
}

/* A stack of lines, the last used first, and the place of a line in it; `count`: it is not there.
 */
struct stack {
    uint64_t lines[4000];
    size_t count;
};

static size_t place_in(const struct stack *stack, uint64_t line)
{
    size_t place = 0;

    while (place < stack->count && stack->lines[place] != line)
        place++;
    return place;
}

static void use_of_both(struct pb_model_reuse *reuse, struct stack *stack, uint64_t line)
{
    size_t place = place_in(stack, line);
    bool is_new = place == stack->count;
    uint64_t expected = is_new ? PB_MODEL_COLD : place;

    assert_int_equal(pb_model_reuse_distance(reuse, line), expected);
    assert_int_equal(use(reuse, line), expected);
    stack->count += is_new;
    memmove(stack->lines + 1, stack->lines, place * sizeof(stack->lines[0]));
    stack->lines[0] = line;
    assert_int_equal(pb_model_reuse_lines(reuse), stack->count);
}

static void forget_of_both(struct pb_model_reuse *reuse, struct stack *stack, uint64_t line)
{
    size_t place = place_in(stack, line);

    pb_model_reuse_forget(reuse, line);
    if (place == stack->count)
        return;
    stack->count--;
    memmove(stack->lines + place, stack->lines + place + 1,
            (stack->count - place) * sizeof(stack->lines[0]));
}

static void test_reuse__counting_ahead_counts_the_same(void **state)
{
    enum { USES = 20000 };
    struct pb_model_histogram *one = calloc(1, sizeof(*one)), *ahead = calloc(1, sizeof(*ahead));
    struct pb_model_reuse *first = NULL, *second = NULL;
    struct pb_error err = PB_ERROR_INIT;
    uint64_t random = 11;

    (void)state;
    assert_non_null(one);
    assert_non_null(ahead);
    assert_int_equal(pb_model_reuse_create(&first, &err), PB_OK);
    assert_int_equal(pb_model_reuse_create(&second, &err), PB_OK);
    for (int i = 0; i < USES; i++) {
        uint64_t line = next(&random) % 3000;

        pb_model_histogram_add(one, use(first, line));
        assert_int_equal(pb_model_reuse_count(second, line, ahead, &err), PB_OK);
    }
    assert_int_equal(pb_model_reuse_count_rest(second, ahead, &err), PB_OK);
    assert_memory_equal(one, ahead, sizeof(*one));
    pb_model_reuse_destroy(first);
    pb_model_reuse_destroy(second);
    free(one);
    free(ahead);
}

/* Loops that grow and shrink, random uses, and lines that go, over many renumberings. */
static void test_reuse__equals_a_stack(void **state)
{
    static const uint64_t loops[] = {447, 448, 449, 1, 1792, 3500, 64, 2000};
    struct pb_model_reuse *reuse = make();
    struct stack *stack = calloc(1, sizeof(*stack));
    uint64_t random = 3;

    (void)state;
    assert_non_null(stack);
    for (size_t phase = 0; phase < sizeof(loops) / sizeof(loops[0]); phase++) {
        for (uint64_t i = 0; i < 5000; i++) /* in order, in steps that hashes may collide for */
            use_of_both(reuse, stack, i % loops[phase] << 32);
        for (uint64_t i = 0; i < 1000; i++)
            use_of_both(reuse, stack, next(&random) % loops[phase] << 32);
        for (uint64_t i = 0; i < 300; i++)
            forget_of_both(reuse, stack, next(&random) % 4000 << 32);
    }
    pb_model_reuse_destroy(reuse);
    free(stack);
}

static struct pb_model_cache *make_cache(size_t sets, size_t ways, enum pb_model_policy policy)
{
    struct pb_model_shape shape = {
        .line_bytes = 128, .set_count = sets, .way_count = ways, .policy = policy};
    struct pb_model_cache *cache = NULL;
    struct pb_error err = PB_ERROR_INIT;

    assert_int_equal(pb_model_cache_create(&shape, 1, &cache, &err), PB_OK);
    return cache;
}

/* LRU misses where the distance within the set is not below the ways (Mattson; Hill and Smith). */
static void test_reuse__lru_misses_are_the_distances_of_each_set(void **state)
{
    enum { SETS = 8, WAYS = 4, ACCESSES = 30000 };
    struct pb_model_cache *cache = make_cache(SETS, WAYS, PB_MODEL_LRU);
    struct pb_model_reuse *sets[SETS];
    uint64_t random = 9;

    (void)state;
    for (size_t i = 0; i < SETS; i++)
        sets[i] = make();
    for (size_t i = 0; i < ACCESSES; i++) {
        uint64_t line = next(&random) % 64;
        uint64_t distance = use(sets[line % SETS], line);

        assert_int_equal(pb_model_cache_touch(cache, line * 128, NULL), distance < WAYS);
    }
    for (size_t i = 0; i < SETS; i++)
        pb_model_reuse_destroy(sets[i]);
    pb_model_cache_destroy(cache);
}

/* What hits in an LRU cache hits in one with more ways as well. */
static void test_reuse__lru_caches_include_smaller_ones(void **state)
{
    enum { SETS = 4, ACCESSES = 30000 };
    struct pb_model_cache *caches[6];
    uint64_t random = 2;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        caches[i] = make_cache(SETS, i + 1, PB_MODEL_LRU);
    for (size_t i = 0; i < ACCESSES; i++) {
        uint64_t address = next(&random) % 40 * 128;
        bool hit = false;

        for (size_t ways = 0; ways < 6; ways++) {
            bool larger = pb_model_cache_touch(caches[ways], address, NULL);

            assert_true(larger || !hit);
            hit = larger;
        }
    }
    for (size_t i = 0; i < 6; i++)
        pb_model_cache_destroy(caches[i]);
}

static void test_histogram__classes_hold_what_they_say(void **state)
{
    struct pb_model_histogram *histogram = calloc(1, sizeof(*histogram));

    (void)state;
    assert_non_null(histogram);
    for (uint64_t distance = 1; distance < UINT64_MAX / 3; distance = distance * 3 / 2 + 1) {
        size_t class_index = pb_model_histogram_class(distance);

        assert_true(class_index < PB_MODEL_HISTOGRAM_SIZE);
        assert_true(pb_model_histogram_low(class_index) <= distance);
        if (class_index + 1 < PB_MODEL_HISTOGRAM_SIZE)
            assert_true(pb_model_histogram_low(class_index + 1) > distance);
        if (distance < PB_MODEL_HISTOGRAM_EXACT)
            assert_int_equal(pb_model_histogram_low(class_index), distance);
    }
    pb_model_histogram_add(histogram, PB_MODEL_COLD);
    pb_model_histogram_add(histogram, 3);
    assert_int_equal(histogram->cold, 1);
    assert_int_equal(histogram->counts[3], 1);
    assert_int_equal(histogram->total, 2);
    free(histogram);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reuse__distances_of_a_short_sequence),
        cmocka_unit_test(test_reuse__a_forgotten_line_is_cold),
        cmocka_unit_test(test_reuse__equals_the_definition),
        cmocka_unit_test(test_reuse__equals_a_stack),
        cmocka_unit_test(test_reuse__counting_ahead_counts_the_same),
        cmocka_unit_test(test_reuse__lru_misses_are_the_distances_of_each_set),
        cmocka_unit_test(test_reuse__lru_caches_include_smaller_ones),
        cmocka_unit_test(test_histogram__classes_hold_what_they_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
