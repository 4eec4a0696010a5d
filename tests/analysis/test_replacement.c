/* Policies as hypotheses: a set that follows each of them, noise, and chases that say nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>

#include "analysis/replacement.h"

enum { WAYS = 4, LINES = WAYS + 1, ACCESSES = 600 };

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* One set, written down plainly; way_used and way_filled hold the time of that. */
struct set {
    enum pb_policy policy;
    uint32_t line[WAYS];
    uint64_t used[WAYS], filled[WAYS], time, random;
    unsigned tree; /* bit 1: root, 2 and 3: its children; set: the right half is older */
    uint32_t fill;
};

static void touch_tree(struct set *set, uint32_t way)
{
    unsigned child = 2 + way / 2;

    set->tree = way / 2 == 0 ? set->tree | 1u << 1 : set->tree & ~(1u << 1);
    set->tree = way % 2 == 0 ? set->tree | 1u << child : set->tree & ~(1u << child);
}

static uint32_t oldest(const uint64_t *times)
{
    uint32_t way = 0;

    for (uint32_t i = 1; i < WAYS; i++)
        way = times[i] < times[way] ? i : way;
    return way;
}

static uint32_t victim(struct set *set)
{
    unsigned half = set->tree >> 1 & 1;

    if (set->fill < WAYS)
        return set->fill++;
    switch (set->policy) {
    case PB_POLICY_LRU:
        return oldest(set->used);
    case PB_POLICY_FIFO:
        return oldest(set->filled);
    case PB_POLICY_PLRU:
        return 2 * half + (set->tree >> (2 + half) & 1);
    case PB_POLICY_RANDOM:
        return (uint32_t)(draw(&set->random) % WAYS);
    default: /* the first way three times as often */
        return (uint32_t)(draw(&set->random) % 6 < 3 ? 0 : 1 + draw(&set->random) % (WAYS - 1));
    }
}

static enum pb_sight load(struct set *set, uint32_t line)
{
    uint32_t way = 0;
    enum pb_sight sight;

    while (way < set->fill && set->line[way] != line)
        way++;
    sight = way < set->fill ? PB_SIGHT_HIT : PB_SIGHT_MISS;
    if (sight == PB_SIGHT_MISS) {
        way = victim(set);
        set->line[way] = line;
        set->filled[way] = set->time;
    }
    set->used[way] = set->time++;
    touch_tree(set, way);
    return sight;
}

struct chase {
    uint32_t line[ACCESSES];
    enum pb_sight sight[ACCESSES];
};

static void take(struct chase *chase, enum pb_policy policy, bool in_order, uint64_t seed)
{
    struct set set = {.policy = policy, .random = seed};

    for (size_t i = 0; i < ACCESSES; i++) {
        chase->line[i] = (uint32_t)(in_order ? i % LINES : draw(&seed) % LINES);
        chase->sight[i] = load(&set, chase->line[i]);
    }
}

static struct pb_replacement fit_of(struct chase chases[4])
{
    struct pb_set_trace traces[4];
    struct pb_replacement fit;
    struct pb_error err = PB_ERROR_INIT;

    for (size_t i = 0; i < 4; i++)
        traces[i] = (struct pb_set_trace){chases[i].line, chases[i].sight, ACCESSES, LINES};
    assert_int_equal(pb_replacement_fit(traces, 4, WAYS, &fit, &err), PB_OK);
    return fit;
}

static enum pb_policy best_of(const struct pb_replacement *fit)
{
    enum pb_policy best = PB_POLICY_LRU;

    for (enum pb_policy i = PB_POLICY_LRU; i < PB_POLICY_COUNT; i++)
        if (fit->log_likelihood[i] > fit->log_likelihood[best])
            best = i;
    return best;
}

static void take_four(struct chase chases[4], enum pb_policy policy)
{
    for (size_t i = 0; i < 4; i++)
        take(&chases[i], policy, i < 2, 77 + i);
}

static void test_replacement_fit__tells_every_policy(void **state)
{
    static struct chase chases[4];

    (void)state;
    for (enum pb_policy policy = PB_POLICY_LRU; policy < PB_POLICY_COUNT; policy++) {
        struct pb_replacement fit;

        take_four(chases, policy);
        fit = fit_of(chases);
        if (best_of(&fit) != policy)
            fail_msg("expected %s, found %s", pb_policy_name(policy),
                     pb_policy_name(best_of(&fit)));
        if (policy <= PB_POLICY_PLRU)
            assert_int_equal(fit.strays[policy], 0);
    }
}

static void test_replacement_fit__counts_the_victims_of_each_way(void **state)
{
    static struct chase chases[4];
    struct pb_replacement fit;
    size_t sum = 0;

    (void)state;
    take_four(chases, PB_POLICY_WEIGHTED);
    fit = fit_of(chases);
    for (uint32_t way = 0; way < WAYS; way++)
        sum += fit.victims[way];
    assert_int_equal(sum, fit.draws);
    assert_true(fit.draws > 200);
    assert_true(fabs((double)fit.victims[0] / (double)fit.draws - 0.5) < 0.1);
}

static void test_replacement_fit__noise_does_not_hide_lru(void **state)
{
    static struct chase chases[4];
    struct pb_replacement fit;

    (void)state;
    take_four(chases, PB_POLICY_LRU);
    for (size_t i = 40; i < ACCESSES; i += 97)
        chases[3].sight[i] = PB_SIGHT_NEITHER;
    fit = fit_of(chases);
    assert_int_equal(best_of(&fit), PB_POLICY_LRU);
}

static void test_replacement_fit__as_many_lines_as_ways_say_nothing(void **state)
{
    static const uint32_t lines[] = {0, 1, 2, 3};
    static const enum pb_sight sights[] = {PB_SIGHT_MISS, PB_SIGHT_MISS, PB_SIGHT_MISS,
                                           PB_SIGHT_MISS};
    struct pb_set_trace trace = {lines, sights, 4, WAYS};
    struct pb_replacement fit;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_replacement_fit(&trace, 1, WAYS, &fit, &err), PB_NOT_FOUND);
    assert_string_not_equal(err.message, "");
    assert_int_equal(pb_replacement_fit(&trace, 0, WAYS, &fit, &err), PB_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replacement_fit__tells_every_policy),
        cmocka_unit_test(test_replacement_fit__counts_the_victims_of_each_way),
        cmocka_unit_test(test_replacement_fit__noise_does_not_hide_lru),
        cmocka_unit_test(test_replacement_fit__as_many_lines_as_ways_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
