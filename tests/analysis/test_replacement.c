/* Policies as hypotheses: a set that follows each of them, noise, and chases that say nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>

#include "analysis/cache/replacement.h"
#include "analysis/cache/set_chases.h"

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
    enum pb_model_policy policy;
    uint32_t line[WAYS];
    uint64_t used[WAYS], filled[WAYS], time, random;
    unsigned tree; /* bit 1: root, 2 and 3: its children; set: the right half is older */
    uint32_t fill;
    uint32_t last_hits[WAYS / 2]; /* ways, the latest first; WAYS: none */
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

static bool is_kept(const struct set *set, uint32_t way)
{
    bool is_kept = false;

    for (size_t i = 0; i < WAYS / 2; i++)
        is_kept |= set->last_hits[i] == way;
    return is_kept;
}

/* The hit before the last ones is forgotten, as if its line had been used just now. */
static void keep_hit(struct set *set, uint32_t way)
{
    uint32_t forgotten = set->last_hits[WAYS / 2 - 1];

    for (size_t i = WAYS / 2 - 1; i > 0; i--)
        set->last_hits[i] = set->last_hits[i - 1];
    set->last_hits[0] = way;
    if (forgotten < WAYS && !is_kept(set, forgotten))
        set->used[forgotten] = set->time++;
}

static uint32_t oldest_not_kept(const struct set *set)
{
    uint32_t way = WAYS;

    for (uint32_t i = 0; i < WAYS; i++)
        if (!is_kept(set, i) && (way == WAYS || set->used[i] < set->used[way]))
            way = i;
    return way;
}

static uint32_t victim(struct set *set)
{
    unsigned half = set->tree >> 1 & 1;

    if (set->fill < WAYS)
        return set->fill++;
    switch (set->policy) {
    case PB_MODEL_LRU:
        return oldest(set->used);
    case PB_MODEL_FIFO:
        return oldest(set->filled);
    case PB_MODEL_PLRU:
        return 2 * half + (set->tree >> (2 + half) & 1);
    case PB_MODEL_KEEP_HITS:
        return oldest_not_kept(set);
    case PB_MODEL_RANDOM:
        return (uint32_t)(draw(&set->random) % WAYS);
    default: /* the first way three times as often */
        return (uint32_t)(draw(&set->random) % 6 < 3 ? 0 : 1 + draw(&set->random) % (WAYS - 1));
    }
}

static enum pb_observed load(struct set *set, uint32_t line)
{
    uint32_t way = 0;
    enum pb_observed observed;

    while (way < set->fill && set->line[way] != line)
        way++;
    observed = way < set->fill ? PB_OBSERVED_HIT : PB_OBSERVED_MISS;
    if (observed == PB_OBSERVED_MISS) {
        way = victim(set);
        set->line[way] = line;
        set->filled[way] = set->time;
    }
    set->used[way] = set->time++;
    if (observed == PB_OBSERVED_HIT && set->policy == PB_MODEL_KEEP_HITS)
        keep_hit(set, way);
    touch_tree(set, way);
    return observed;
}

struct chase {
    uint32_t line[ACCESSES];
    enum pb_observed observed[ACCESSES];
};

static void take(struct chase *chase, enum pb_model_policy policy, bool in_order, uint64_t seed)
{
    struct set set = {.policy = policy, .random = seed, .last_hits = {WAYS, WAYS}};

    for (size_t i = 0; i < ACCESSES; i++) {
        chase->line[i] = (uint32_t)(in_order ? i % LINES : draw(&seed) % LINES);
        chase->observed[i] = load(&set, chase->line[i]);
    }
}

static struct pb_replacement fit_of(struct chase chases[4])
{
    struct pb_set_trace traces[4];
    struct pb_replacement fit;
    struct pb_error err = PB_ERROR_INIT;

    for (size_t i = 0; i < 4; i++)
        traces[i] = (struct pb_set_trace){chases[i].line, chases[i].observed, ACCESSES, LINES};
    assert_int_equal(pb_replacement_fit(traces, 4, WAYS, &fit, &err), PB_OK);
    return fit;
}

static enum pb_model_policy best_of(const struct pb_replacement *fit)
{
    enum pb_model_policy best = PB_MODEL_LRU;

    for (enum pb_model_policy i = PB_MODEL_LRU; i < PB_MODEL_POLICY_COUNT; i++)
        if (fit->log_likelihood[i] > fit->log_likelihood[best])
            best = i;
    return best;
}

static void take_four(struct chase chases[4], enum pb_model_policy policy)
{
    for (size_t i = 0; i < 4; i++)
        take(&chases[i], policy, i < 2, 77 + i);
}

static void test_replacement_fit__distinguishes_every_policy(void **state)
{
    static struct chase chases[4];

    (void)state;
    for (enum pb_model_policy policy = PB_MODEL_LRU; policy < PB_MODEL_POLICY_COUNT; policy++) {
        struct pb_replacement fit;

        take_four(chases, policy);
        fit = fit_of(chases);
        if (best_of(&fit) != policy)
            fail_msg("expected %s, found %s", pb_model_policy_name(policy),
                     pb_model_policy_name(best_of(&fit)));
        assert_int_equal(fit.mispredicted[policy], 0);
    }
}

static void test_replacement_fit__counts_the_victims_of_each_way(void **state)
{
    static struct chase chases[4];
    struct pb_replacement fit;
    size_t sum = 0;

    (void)state;
    take_four(chases, PB_MODEL_WEIGHTED);
    fit = fit_of(chases);
    for (uint32_t way = 0; way < WAYS; way++)
        sum += fit.victims[way];
    assert_int_equal(sum, fit.draws);
    assert_true(fit.draws > 200);
    assert_true(fabs((double)fit.victims[0] / (double)fit.draws - 0.5) < 0.1);
}

/* A hit that looks like a miss changes which way is which: shares of the chases differ then. */
static void test_replacement_fit__outliers_widen_the_shares_of_ways(void **state)
{
    static struct chase chases[4];
    struct pb_replacement fit;
    double clean, deviation = 0.0, least = 1.0;

    (void)state;
    take_four(chases, PB_MODEL_WEIGHTED);
    fit = fit_of(chases);
    clean = (double)fit.victims[0] / (double)fit.draws;
    assert_true(pb_replacement_deviation(&fit, 0) < 0.05);
    for (size_t i = WAYS; i < 8 * WAYS; i++) {
        enum pb_observed seen = chases[3].observed[i];
        double share;

        chases[3].observed[i] = PB_OBSERVED_MISS;
        fit = fit_of(chases);
        chases[3].observed[i] = seen;
        share = (double)fit.victims[0] / (double)fit.draws;
        if (share < least)
            deviation = pb_replacement_deviation(&fit, 0);
        least = fmin(least, share);
    }
    assert_true(least < clean - 0.05);
    assert_true(least + 2.0 * deviation >= clean);
}

static void test_replacement_fit__noise_does_not_hide_lru(void **state)
{
    static struct chase chases[4];
    struct pb_replacement fit;

    (void)state;
    take_four(chases, PB_MODEL_LRU);
    for (size_t i = 40; i < ACCESSES; i += 97)
        chases[3].observed[i] = PB_OBSERVED_NEITHER;
    fit = fit_of(chases);
    assert_int_equal(best_of(&fit), PB_MODEL_LRU);
}

static void test_replacement_fit__as_many_lines_as_ways_say_nothing(void **state)
{
    static const uint32_t lines[] = {0, 1, 2, 3};
    static const enum pb_observed observed[] = {PB_OBSERVED_MISS, PB_OBSERVED_MISS,
                                                PB_OBSERVED_MISS, PB_OBSERVED_MISS};
    struct pb_set_trace trace = {lines, observed, 4, WAYS};
    struct pb_replacement fit;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_replacement_fit(&trace, 1, WAYS, &fit, &err), PB_NOT_FOUND);
    assert_string_not_equal(err.message, "");
    assert_int_equal(pb_replacement_fit(&trace, 0, WAYS, &fit, &err), PB_NOT_FOUND);
}

/* Two lines of other sets among those of a set of four ways: loaded, they never miss again. */
static void make_foreign(struct pb_set_chases *chases, enum pb_model_policy policy)
{
    enum { FOREIGN = 2, LONG = ACCESSES + ACCESSES / 3 };
    static uint64_t address[LINES + FOREIGN];
    static struct pb_set_trace traces[4];
    static uint32_t line[4 * LONG];
    static enum pb_observed observed[4 * LONG];
    struct chase four[4];

    take_four(four, policy);
    for (uint32_t i = 0; i < LINES + FOREIGN; i++)
        address[i] = i;
    for (size_t t = 0; t < 4; t++) {
        for (size_t i = 0, k = 0; i < LONG; i++) {
            bool foreign = i % 4 == 3;

            line[t * LONG + i] = foreign ? (uint32_t)(LINES + i / 4 % FOREIGN) : four[t].line[k];
            observed[t * LONG + i] = !foreign                                  ? four[t].observed[k]
                                     : i < 4 * FOREIGN || (t == 1 && i == 403) ? PB_OBSERVED_MISS
                                                                               : PB_OBSERVED_HIT;
            k += !foreign;
        }
        traces[t] =
            (struct pb_set_trace){line + t * LONG, observed + t * LONG, LONG, LINES + FOREIGN};
    }
    *chases = (struct pb_set_chases){.traces = traces,
                                     .count = 4,
                                     .address = address,
                                     .line_count = LINES + FOREIGN,
                                     .line = line,
                                     .observed = observed,
                                     .access_count = (size_t)4 * LONG};
}

static void test_set_chases__lines_that_never_miss_again_are_of_other_sets(void **state)
{
    static const enum pb_model_policy policies[] = {PB_MODEL_LRU, PB_MODEL_PLRU, PB_MODEL_RANDOM};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        for (size_t ways = 0; ways <= WAYS; ways += WAYS) { /* not known, and known */
            struct pb_set_chases chases;
            struct pb_replacement fit;

            make_foreign(&chases, policies[i]);
            assert_int_equal(pb_set_chases_drop_foreign(&chases, ways, &err), PB_OK);
            assert_int_equal(chases.line_count, LINES);
            assert_int_equal(chases.traces[3].count, ACCESSES);
            assert_int_equal(pb_replacement_fit(chases.traces, 4, WAYS, &fit, &err), PB_OK);
            assert_int_equal(best_of(&fit), policies[i]);
        }
    }
}

static void test_set_chases__where_all_miss_again_none_is_left_out(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_set_chases chases;

    (void)state;
    make_foreign(&chases, PB_MODEL_LRU);
    for (size_t i = 0; i < chases.access_count; i++)
        chases.observed[i] = PB_OBSERVED_MISS;
    assert_int_equal(pb_set_chases_drop_foreign(&chases, WAYS, &err), PB_OK);
    assert_int_equal(chases.line_count, LINES + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replacement_fit__distinguishes_every_policy),
        cmocka_unit_test(test_replacement_fit__counts_the_victims_of_each_way),
        cmocka_unit_test(test_replacement_fit__noise_does_not_hide_lru),
        cmocka_unit_test(test_replacement_fit__outliers_widen_the_shares_of_ways),
        cmocka_unit_test(test_replacement_fit__as_many_lines_as_ways_say_nothing),
        cmocka_unit_test(test_set_chases__lines_that_never_miss_again_are_of_other_sets),
        cmocka_unit_test(test_set_chases__where_all_miss_again_none_is_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
