/* Replacement: what each policy lets go, step by step, in one set of four ways. */
#include "sim/simtest.h"

#include <math.h>
#include <string.h>

#include "device/sim/cache.h"

static struct pb_sim_cache *open_set(struct pb_sim_shape *shape, uint32_t *ways,
                                     enum pb_sim_policy policy)
{
    struct pb_sim_cache *cache = NULL;

    shape->line_bytes = shape->sector_bytes = 32;
    shape->set_count = 1;
    shape->ways = ways;
    shape->policy = policy;
    assert_int_equal(pb_sim_cache_create(shape, (struct pb_sim_prefetch){0}, &cache, NULL), PB_OK);
    return cache;
}

/* Accesses the lines named by letters; returns a text of 'h' and '-' in buffer. */
static const char *replay(struct pb_sim_cache *cache, const char *lines, char *buffer)
{
    struct pb_sim_random random = {1};
    size_t i;

    for (i = 0; lines[i] != '\0'; i++)
        buffer[i] =
            pb_sim_cache_access(cache, (uint64_t)(lines[i] - 'A') * 32, &random) ? 'h' : '-';
    buffer[i] = '\0';
    return buffer;
}

static void expect(enum pb_sim_policy policy, uint32_t ways, const char *lines, const char *hits)
{
    struct pb_sim_shape shape = {0};
    struct pb_sim_cache *cache = open_set(&shape, &ways, policy);
    char buffer[64];

    assert_string_equal(replay(cache, lines, buffer), hits);
    pb_sim_cache_free(cache);
}

static void test_policy_lru__least_recently_used_goes(void **state)
{
    (void)state;
    /* E evicts B, since A was used again; then B evicts C */
    expect(PB_SIM_POLICY_LRU, 4, "ABCDAEABC", "----h-h--");
}

static void test_policy_lru__one_line_too_many_misses_always(void **state)
{
    (void)state;
    expect(PB_SIM_POLICY_LRU, 4, "ABCDEABCDE", "----------");
}

static void test_policy_fifo__first_filled_goes_though_used(void **state)
{
    (void)state;
    /* using A does not save it: E evicts A, A evicts B */
    expect(PB_SIM_POLICY_FIFO, 4, "ABCDAEAB", "----h---");
    expect(PB_SIM_POLICY_FIFO, 4, "ABCDAECD", "----h-hh");
}

static void test_policy_plru__tree_points_away_from_last_use(void **state)
{
    (void)state;
    /* after ABCD the tree points at A; using A turns it to C (not B, as lru would) */
    expect(PB_SIM_POLICY_PLRU, 4, "ABCDAEB", "----h-h");
    expect(PB_SIM_POLICY_PLRU, 4, "ABCDAEC", "----h--");
}

static void test_policy_plru__uneven_tree_uses_every_way(void **state)
{
    (void)state;
    expect(PB_SIM_POLICY_PLRU, 3, "ABCABC", "---hhh");
    /* after ABC: root points left, left node at A */
    expect(PB_SIM_POLICY_PLRU, 3, "ABCDBC", "----hh");
    expect(PB_SIM_POLICY_PLRU, 1, "ABA", "---");
}

/* How often each of four ways is the victim, out of `draws`. */
static void count_victims(enum pb_sim_policy policy, double *weights, int draws, int counts[4])
{
    struct pb_sim_shape shape = {.weights = weights};
    struct pb_sim_random random = {7};
    uint32_t ways = 4;
    struct pb_sim_cache *cache = open_set(&shape, &ways, policy);
    uint64_t resident[4] = {0, 32, 64, 96}, next = 128;

    memset(counts, 0, 4 * sizeof(*counts));
    for (int way = 0; way < 4; way++)
        assert_false(pb_sim_cache_access(cache, resident[way], &random));
    for (int i = 0; i < draws; i++, next += 32) {
        int victim = 0, gone = 0;

        assert_false(pb_sim_cache_access(cache, next, &random));
        for (int way = 0; way < 4; way++) {
            if (pb_sim_cache_holds(cache, resident[way]))
                continue;
            victim = way;
            gone++;
        }
        assert_int_equal(gone, 1);
        resident[victim] = next;
        counts[victim]++;
    }
    pb_sim_cache_free(cache);
}

/* Within five standard deviations of a binomial count. */
static void expect_share(int count, int draws, double share)
{
    double mean = draws * share, deviation = sqrt(draws * share * (1.0 - share));

    assert_true(fabs(count - mean) <= 5.0 * deviation);
}

/* The same as test_keep_hits of the forward model has, from a recording of an H200. */
static void test_policy_keep_hits__the_last_two_hits_of_a_set_of_four_stay(void **state)
{
    (void)state;
    expect(PB_SIM_POLICY_KEEP_HITS, 4, "DBEEADCADECABDABCBCEDBEEADCADECABDABCBCE",
           "---h-h-hhhhh--hhhhh--hhh---hhhhh--hhhhh-");
    expect(PB_SIM_POLICY_KEEP_HITS, 4, "DBEEEABBAACDECDCABDCDBEEEABBAACDECDCABDC",
           "---hh-hhhh---hhhh-hhhh-hh-hhhh---hhhh-hh");
    expect(PB_SIM_POLICY_KEEP_HITS, 4, "ABBDEACEBECBECADCDDAABBDEACEBECBECADCDDA",
           "--h--h-hhhhhhhh-hhhhh-hh-h---h--hhh-hhhh");
    expect(PB_SIM_POLICY_KEEP_HITS, 1, "AAB", "-h-");
}

static void test_policy_random__ways_fall_evenly(void **state)
{
    int counts[4];

    (void)state;
    count_victims(PB_SIM_POLICY_RANDOM, NULL, 12000, counts);
    for (int way = 0; way < 4; way++)
        expect_share(counts[way], 12000, 0.25);
}

static void test_policy_weighted__second_way_falls_every_other_time(void **state)
{
    double weights[4] = {1, 3, 1, 1}; /* M16 4.5 */
    int counts[4];

    (void)state;
    count_victims(PB_SIM_POLICY_WEIGHTED, weights, 12000, counts);
    for (int way = 0; way < 4; way++)
        expect_share(counts[way], 12000, weights[way] / 6.0);
}

static void test_policy_weighted__a_way_without_weight_stays(void **state)
{
    double weights[4] = {0, 2, 0, 1};
    int counts[4];

    (void)state;
    count_victims(PB_SIM_POLICY_WEIGHTED, weights, 3000, counts);
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[2], 0);
    expect_share(counts[1], 3000, 2.0 / 3.0);
}

/* A plain model of lru: an array in order of use. Checked against long random chases. */
static bool model_access(uint64_t *order, size_t *used, size_t ways, uint64_t line)
{
    size_t i;
    bool hit;

    for (i = 0; i < *used && order[i] != line; i++)
        ;
    hit = i < *used;
    if (!hit && *used < ways)
        (*used)++;
    if (i == *used)
        i--;
    memmove(order + 1, order, i * sizeof(*order));
    order[0] = line;
    return hit;
}

static void expect_model(uint32_t ways)
{
    struct pb_sim_shape shape = {0};
    struct pb_sim_random chase = {3}, random = {4};
    uint64_t order[96];
    size_t used = 0;
    struct pb_sim_cache *cache = open_set(&shape, &ways, PB_SIM_POLICY_LRU);

    for (int i = 0; i < 50000; i++) {
        uint64_t line = pb_sim_random_below(&chase, i % 1000 < 500 ? ways + 14 : ways * 5 / 8);

        assert_int_equal(pb_sim_cache_access(cache, line * 32, &random),
                         model_access(order, &used, ways, line));
    }
    pb_sim_cache_free(cache);
}

/* Sets of up to 32 ways are searched, larger ones hashed. */
static void test_policy_lru__agrees_with_a_plain_model(void **state)
{
    (void)state;
    expect_model(5);
    expect_model(32);
    expect_model(33);
    expect_model(96);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_policy_lru__least_recently_used_goes),
        cmocka_unit_test(test_policy_lru__one_line_too_many_misses_always),
        cmocka_unit_test(test_policy_lru__agrees_with_a_plain_model),
        cmocka_unit_test(test_policy_fifo__first_filled_goes_though_used),
        cmocka_unit_test(test_policy_plru__tree_points_away_from_last_use),
        cmocka_unit_test(test_policy_plru__uneven_tree_uses_every_way),
        cmocka_unit_test(test_policy_keep_hits__the_last_two_hits_of_a_set_of_four_stay),
        cmocka_unit_test(test_policy_random__ways_fall_evenly),
        cmocka_unit_test(test_policy_weighted__second_way_falls_every_other_time),
        cmocka_unit_test(test_policy_weighted__a_way_without_weight_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
