/* Rules that hold between the parameters of a device: what breaks them is widened or withdrawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "analysis/consistency.h"

static const struct pb_device_info four_sms = {.sm_count = 4};

static struct pb_parameter *declare(struct pb_parameters *set, const char *memory, const char *name)
{
    assert_int_equal(pb_parameters_declare(set, memory, name, "", "/devices/a/tests/b", NULL),
                     PB_OK);
    return pb_parameters_find(set, memory, name);
}

static void put(struct pb_parameters *set, const char *memory, const char *name, double value)
{
    pb_parameter_set_number(declare(set, memory, name), (struct pb_estimate){value, value, value},
                            0.97, "measured");
}

static void put_pair(struct pb_parameters *set, const char *memory, const char *name, double first,
                     double second)
{
    const struct pb_estimate list[] = {{first, first, first}, {second, second, second}};

    pb_parameter_set_list(declare(set, memory, name), list, 2, 0.97, "measured");
}

static void put_word(struct pb_parameters *set, const char *memory, const char *name,
                     const char *word)
{
    pb_parameter_set_word(declare(set, memory, name), word, 0.97, "measured");
}

static void put_none(struct pb_parameters *set, const char *memory, const char *name,
                     const char *reason)
{
    pb_parameter_set_none(declare(set, memory, name), "%s", reason);
}

static void apply(struct pb_parameters *set)
{
    pb_consistency_apply(&four_sms, set);
}

static void assert_interval(const struct pb_parameters *set, const char *memory, const char *name,
                            double value, double low, double high)
{
    const struct pb_parameter *parameter = pb_parameters_find(set, memory, name);

    assert_int_equal(parameter->kind, PB_VALUE_NUMBER);
    assert_float_equal(parameter->numbers[0].value, value, 0);
    assert_float_equal(parameter->numbers[0].low, low, 0);
    assert_float_equal(parameter->numbers[0].high, high, 0);
}

static void assert_withdrawn(const struct pb_parameters *set, const char *memory, const char *name)
{
    const struct pb_parameter *parameter = pb_parameters_find(set, memory, name);

    assert_int_equal(parameter->kind, PB_VALUE_NONE);
    assert_true(parameter->reason[0] != '\0');
}

/* 1,928 lines fit into 512 sets of 4 lines of 128 bytes: what fits, and what the tags could hold.
 */
static void test_consistency__sets_widen_a_size(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "l1", "size_bytes", 246784);
    put(&set, "l1", "set_count", 512);
    put(&set, "l1", "way_counts", 4);
    put(&set, "l1", "line_bytes", 128);
    apply(&set);
    assert_interval(&set, "l1", "size_bytes", 246784, 246784, 262144);
    pb_parameters_clear(&set);
}

/* The plateau of a sweep whose misses begin anywhere is that of any cache. */
static void test_consistency__an_edge_without_evidence_is_none(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    pb_parameter_set_number(declare(&set, "l2", "full_miss_bytes"),
                            (struct pb_estimate){8388608, 2097152, 8388608}, 0.03, "measured");
    apply(&set);
    assert_withdrawn(&set, "l2", "full_miss_bytes");
    pb_parameters_clear(&set);
}

/* Twice a size that is not known is no number. */
static void test_consistency__an_interval_is_not_widened_to_no_number(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "l2", "full_miss_bytes", 8388608);
    put(&set, "l2", "prefetch_bytes", 512);
    apply(&set);
    assert_string_equal(pb_parameters_find(&set, "l2", "full_miss_bytes")->method, "measured");
    pb_parameters_clear(&set);
}

static void test_consistency__a_size_has_whole_lines(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "l2", "size_bytes", 162112);
    put(&set, "l2", "line_bytes", 128);
    put(&set, "l2", "sector_bytes", 32);
    apply(&set);
    assert_interval(&set, "l2", "size_bytes", 162112, 162048, 162176);
    pb_parameters_clear(&set);
}

/* 64 sets of 32-byte lines, 16 ways: all miss from 34,816 bytes on. */
static void put_lru(struct pb_parameters *set, double full)
{
    put(set, "l1", "size_bytes", 32768);
    put(set, "l1", "set_count", 64);
    put(set, "l1", "way_counts", 16);
    put(set, "l1", "line_bytes", 32);
    put_word(set, "l1", "policy", "lru");
    put(set, "l1", "full_miss_bytes", full);
}

/* A line that is not known may be long: the footprint may end anywhere in it. */
static void test_consistency__full_misses_end_with_a_line(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "l1", "full_miss_bytes", 4128);
    apply(&set);
    assert_interval(&set, "l1", "full_miss_bytes", 4128, 4128, 5120);
    pb_parameters_clear(&set);
    put(&set, "l1", "full_miss_bytes", 4128);
    put(&set, "l1", "line_bytes", 128);
    apply(&set);
    assert_interval(&set, "l1", "full_miss_bytes", 4128, 4128, 4224);
    pb_parameters_clear(&set);
}

static void test_consistency__full_misses_follow_from_the_sets(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put_lru(&set, 34752);
    apply(&set);
    assert_interval(&set, "l1", "full_miss_bytes", 34816, 34752, 34816);
    pb_parameters_clear(&set);
    put_lru(&set, 170.0 * 32768);
    apply(&set);
    assert_withdrawn(&set, "l1", "full_miss_bytes");
    pb_parameters_clear(&set);
    put_lru(&set, 34752); /* without the policy, the sets are a bound from below */
    pb_parameter_set_none(pb_parameters_find(&set, "l1", "policy"), "ambiguous");
    apply(&set);
    assert_interval(&set, "l1", "full_miss_bytes", 34752, 34752, 34816);
    pb_parameters_clear(&set);
}

/* A line of up to 128 bytes is touched in part; of a cache before which something runs ahead, and
 * of one that may be the same, a sweep shows too few misses. */
static void test_consistency__a_sweep_bounds_full_misses(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "constant_l1", "size_bytes", 4096);
    put(&set, "constant_l1", "full_miss_bytes", 4320);
    pb_parameter_set_number(declare(&set, "constant_l1", "line_bytes"),
                            (struct pb_estimate){32, 32, 128}, 0.97, "measured");
    apply(&set);
    assert_interval(&set, "constant_l1", "full_miss_bytes", 4320, 4320, 4352);
    pb_parameters_clear(&set);
    for (size_t i = 0; i < 2; i++) {
        put(&set, i == 0 ? "l1" : "l2", "prefetch_bytes", 256);
        put(&set, "l1", "size_bytes", 4096);
        put(&set, "l1", "full_miss_bytes", 4352);
        put(&set, "l1", "line_bytes", 128);
        put(&set, "texture", "line_bytes", 128);
        put(&set, "texture", "size_bytes", 4096);
        put(&set, "texture", "full_miss_bytes", 4352);
        declare(&set, "texture", "same_cache_as");
        apply(&set);
        assert_interval(&set, "l1", "full_miss_bytes", 4352, 4352, i == 0 ? 8192 : 4352);
        assert_interval(&set, "texture", "full_miss_bytes", 4352, 4352, i == 0 ? 8192 : 4352);
        pb_parameters_clear(&set);
    }
    put_lru(&set, 40000); /* a sweep in wide steps, and the least that the sets allow */
    pb_parameter_set_none(pb_parameters_find(&set, "l1", "policy"), "ambiguous");
    apply(&set);
    assert_interval(&set, "l1", "full_miss_bytes", 40000, 34816, 40000);
    pb_parameters_clear(&set);
}

/* Where the line is known, what runs ahead hides no more than that and the line. */
static void test_consistency__line_that_is_known_bounds_what_is_hidden(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "l1", "prefetch_bytes", 128);
    put(&set, "l1", "line_bytes", 32);
    put(&set, "l1", "size_bytes", 4640);
    put(&set, "l1", "full_miss_bytes", 24576);
    apply(&set);
    assert_interval(&set, "l1", "size_bytes", 4640, 4480, 4640);
    pb_parameters_clear(&set);
}

/* Random victims behind a prefetcher: the first passes that overflow may not miss, and the same
 * beside a carve-out. Of other victims all lines miss soon. */
static void test_consistency__prefetched_lines_hide_first_misses(void **state)
{
    static const struct pb_estimate list = {4672, 4672, 4672};
    struct pb_parameters set = {0};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        put(&set, "l1", "prefetch_bytes", 128);
        put(&set, "l1", "size_bytes", 4640);
        put(&set, "l1", "full_miss_bytes", i == 0 ? 24576 : 4864);
        pb_parameter_set_list(declare(&set, "l1", "carveout_size_bytes"), &list, 1, 0.97,
                              "measured");
        apply(&set);
        assert_interval(&set, "l1", "size_bytes", 4640, i == 0 ? 4384 : 4640, 4640);
        assert_float_equal(pb_parameters_find(&set, "l1", "carveout_size_bytes")->numbers[0].low,
                           i == 0 ? 4384 : 4640, 0);
        pb_parameters_clear(&set);
    }
}

/* What was measured as L2 is a cache behind a smaller one, which answers what L1 misses. */
static void test_consistency__nothing_answers_before_l2(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "l1", "miss_latency_cycles", 308);
    put(&set, "l2", "latency_cycles", 478);
    put(&set, "l2", "size_bytes", 393216);
    apply(&set);
    assert_withdrawn(&set, "l2", "latency_cycles");
    assert_withdrawn(&set, "l2", "size_bytes");
    pb_parameters_clear(&set);
    put(&set, "l1", "miss_latency_cycles", 260); /* slices and SMs differ by that much */
    put(&set, "l2", "latency_cycles", 282);
    put(&set, "l2", "size_bytes", 393216);
    apply(&set);
    assert_interval(&set, "l2", "size_bytes", 393216, 393216, 393216);
    pb_parameters_clear(&set);
}

/* First loads of constants come from DRAM; a miss in the first cache is answered by the second. */
static void test_consistency__a_miss_costs_what_the_next_level_answers(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "constant_l1", "latency_cycles", 27);
    put(&set, "constant_l1", "miss_latency_cycles", 311);
    set.items[set.count - 1].numbers[0].high = 340; /* of the farthest SM */
    put(&set, "constant_l15", "latency_cycles", 99);
    put(&set, "l2", "latency_cycles", 282);
    put(&set, "l2", "miss_latency_cycles", 865);
    put(&set, "dram", "latency_cycles", 472);
    apply(&set);
    assert_interval(&set, "constant_l1", "miss_latency_cycles", 99, 99, 340);
    assert_interval(&set, "l2", "miss_latency_cycles", 472, 472, 865);
    pb_parameters_clear(&set);
}

static void test_consistency__a_second_constant_cache_is_larger_and_later(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "constant_l1", "latency_cycles", 54);
    put(&set, "constant_l15", "latency_cycles", 55);
    put(&set, "constant_l15", "size_bytes", 8192);
    apply(&set);
    assert_withdrawn(&set, "constant_l15", "size_bytes");
    pb_parameters_clear(&set);
    put(&set, "constant_l15", "sector_bytes", 32);
    apply(&set);
    assert_withdrawn(&set, "constant_l15", "sector_bytes");
    pb_parameters_clear(&set);
}

/* Loads past the first constant cache that nobody saw answered may be a second one's. */
static void test_consistency__an_unseen_constant_cache_may_answer_sooner(void **state)
{
    static const char *const reasons[] = {"not observable: hits and misses cannot be distinguished",
                                          "not applicable: no second constant cache"};
    static const double low[] = {44, 157};
    struct pb_parameters set = {0};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        put(&set, "constant_l1", "latency_cycles", 44);
        put(&set, "constant_l1", "miss_latency_cycles", 157);
        put_none(&set, "constant_l15", "latency_cycles", reasons[i]);
        apply(&set);
        assert_interval(&set, "constant_l1", "miss_latency_cycles", 157, low[i], 157);
        pb_parameters_clear(&set);
    }
}

/* A second level that reaches less far adds its penalty to the first one's and never answers. */
static void test_consistency__no_tlb_level_reaches_less_far_than_the_one_before(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "tlb_l1", "reach_bytes", 50331648);
    put(&set, "tlb_l1", "penalty_cycles", 53);
    put(&set, "tlb_l2", "reach_bytes", 33554432);
    put(&set, "tlb_l2", "penalty_cycles", 106);
    put(&set, "tlb_l3", "reach_bytes", 150994944);
    apply(&set);
    assert_interval(&set, "tlb_l1", "penalty_cycles", 53, 53, 159);
    assert_withdrawn(&set, "tlb_l2", "reach_bytes");
    assert_withdrawn(&set, "tlb_l3", "reach_bytes");
    pb_parameters_clear(&set);
}

/* Then loads that miss the first level, both, or all, miss an unknown number of levels. */
static void test_consistency__patterns_of_open_tlb_levels_are_none(void **state)
{
    static const struct pb_estimate patterns[] = {
        {200, 200, 200}, {240, 240, 240}, {262, 262, 262}, {535, 535, 535}, {744, 744, 744}};
    struct pb_parameters set = {0};
    const struct pb_parameter *list;

    (void)state;
    put(&set, "tlb_l1", "reach_bytes", 50331648);
    put(&set, "tlb_l2", "reach_bytes", 33554432);
    pb_parameter_set_list(declare(&set, "l2", "pattern_cycles"), patterns, 5, 0.97, "measured");
    apply(&set);
    list = pb_parameters_find(&set, "l2", "pattern_cycles");
    assert_float_equal(list->numbers[0].value, 200, 0);
    assert_true(isnan(list->numbers[1].value) && isnan(list->numbers[2].value));
    assert_float_equal(list->numbers[3].value, 535, 0);
    assert_true(isnan(list->numbers[4].value));
    assert_non_null(strstr(list->method, "P3 null: which steps are TLB levels"));
    pb_parameters_clear(&set);
}

static void test_consistency__an_entry_may_be_one_page(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put(&set, "tlb_l1", "page_bytes", 2097152);
    put(&set, "tlb_l1", "entry_coverage_bytes", 16777216);
    apply(&set);
    assert_interval(&set, "tlb_l1", "page_bytes", 2097152, 2097152, 16777216);
    pb_parameters_clear(&set);
}

static void test_consistency__one_sm_is_no_side(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put_pair(&set, "l2", "partition_sm_counts", 3, 1);
    put_pair(&set, "sm", "sm_group_sizes", 3, 3);
    apply(&set);
    assert_withdrawn(&set, "l2", "partition_sm_counts");
    assert_withdrawn(&set, "sm", "sm_group_sizes");
    pb_parameters_clear(&set);
}

/* A line more by the coarser sweep: both hold. */
static void test_consistency__two_sweeps_of_one_cache(void **state)
{
    struct pb_parameters set = {0};
    const struct pb_parameter *list;

    (void)state;
    put(&set, "l1", "size_bytes", 8192);
    put_pair(&set, "l1", "carveout_size_bytes", 8320, 4096);
    apply(&set);
    list = pb_parameters_find(&set, "l1", "carveout_size_bytes");
    assert_float_equal(list->numbers[0].low, 8192, 0);
    assert_float_equal(list->numbers[0].high, 8320, 0);
    assert_float_equal(list->numbers[1].low, 4096, 0);
    pb_parameters_clear(&set);
}

/* Where sets differ misses begin before the cache is full; beside no carve-out is that its size. */
static void test_consistency__sizes_beside_carveouts_are_those_of_l1(void **state)
{
    for (int was_read = 0; was_read < 2; was_read++) {
        struct pb_parameters set = {0};

        put_none(&set, "l1", "size_bytes", was_read ? "sets differ" : "not recorded");
        if (was_read)
            put(&set, "l1", "latency_cycles", 30);
        put_pair(&set, "l1", "carveout_size_bytes", 8192, 4096);
        apply(&set);
        if (was_read)
            assert_withdrawn(&set, "l1", "carveout_size_bytes");
        else
            assert_int_equal(pb_parameters_find(&set, "l1", "carveout_size_bytes")->kind,
                             PB_VALUE_LIST);
        pb_parameters_clear(&set);
    }
    (void)state;
}

/* 512 lines of 64 bytes are all that the sets hold: a pass of one more shows no miss by chance. */
static void test_consistency__no_carveout_leaves_more_than_the_sets_hold(void **state)
{
    struct pb_parameters set = {0};
    const struct pb_parameter *list;

    (void)state;
    put(&set, "l1", "size_bytes", 32832);
    put_pair(&set, "l1", "carveout_size_bytes", 32832, 4096);
    put(&set, "l1", "set_count", 64);
    put(&set, "l1", "way_counts", 8);
    put(&set, "l1", "line_bytes", 64);
    apply(&set);
    assert_interval(&set, "l1", "size_bytes", 32832, 32768, 32832);
    list = pb_parameters_find(&set, "l1", "carveout_size_bytes");
    assert_float_equal(list->numbers[0].low, 32768, 0);
    assert_float_equal(list->numbers[1].low, 4096, 0);
    pb_parameters_clear(&set);
}

static void test_consistency__what_holds_stays(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put_lru(&set, 34816);
    put(&set, "l1", "latency_cycles", 32);
    put(&set, "l1", "miss_latency_cycles", 280);
    put(&set, "l2", "latency_cycles", 281);
    put_pair(&set, "l2", "partition_sm_counts", 2, 2);
    assert_int_equal(pb_consistency_apply(&four_sms, &set), 0);
    pb_parameters_clear(&set);
}

static void put_halves(struct pb_parameters *set, double near_bytes, double far_cycles)
{
    put(set, "l2", "size_bytes", 60);
    put(set, "l2_near", "size_bytes", near_bytes);
    put(set, "l2_near", "latency_cycles", 280);
    put(set, "l2_far", "latency_cycles", far_cycles);
    put(set, "dram", "latency_cycles", 680);
}

static void test_consistency__halves_of_l2(void **state)
{
    struct pb_parameters good = {0}, larger = {0}, late = {0};

    (void)state;
    put_halves(&good, 30, 500);
    apply(&good);
    assert_interval(&good, "l2", "size_bytes", 60, 60, 60);
    assert_interval(&good, "l2_near", "size_bytes", 30, 30, 30);
    assert_interval(&good, "l2_far", "latency_cycles", 500, 500, 500);
    put_halves(&larger, 70, 500);
    apply(&larger);
    assert_withdrawn(&larger, "l2", "size_bytes");
    assert_withdrawn(&larger, "l2_near", "size_bytes");
    put_halves(&late, 30, 700);
    apply(&late);
    assert_withdrawn(&late, "l2_far", "latency_cycles");
    assert_interval(&late, "l2_near", "latency_cycles", 280, 280, 280);
    pb_parameters_clear(&good);
    pb_parameters_clear(&larger);
    pb_parameters_clear(&late);
}

static void put_patterns(struct pb_parameters *set, double p1, double p2, double p4)
{
    const struct pb_estimate patterns[] = {
        {p1, p1, p1}, {p2, p2, p2}, PB_ESTIMATE_NONE, {p4, p4, p4}, PB_ESTIMATE_NONE};

    put(set, "l2", "latency_cycles", 287);
    put(set, "dram", "latency_cycles", 585);
    pb_parameter_set_list(declare(set, "l2", "pattern_cycles"), patterns, 5, 0.97, "measured");
}

/* P1 is a hit and P4 a load from DRAM: one that takes longer than others of its name is none. */
static void test_consistency__patterns_take_what_such_loads_take(void **state)
{
    struct pb_parameters good = {0}, slow = {0};
    const struct pb_parameter *list;

    (void)state;
    put_patterns(&good, 290, 420, 590);
    apply(&good);
    list = pb_parameters_find(&good, "l2", "pattern_cycles");
    assert_float_equal(list->numbers[0].value, 290, 0);
    assert_float_equal(list->numbers[3].value, 590, 0);
    put_patterns(&slow, 357, 420, 783);
    apply(&slow);
    list = pb_parameters_find(&slow, "l2", "pattern_cycles");
    assert_true(isnan(list->numbers[0].value));
    assert_float_equal(list->numbers[1].value, 420, 0);
    assert_true(isnan(list->numbers[3].value));
    assert_non_null(strstr(list->method, "P4 null: inconsistent"));
    pb_parameters_clear(&good);
    pb_parameters_clear(&slow);
}

/* Sectors that 1 of 59 misses shows are none, nor is such an index; a shape that 20 others equal is
 * one.
 */
static void test_consistency__what_lacks_evidence_is_withdrawn(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    pb_parameter_set_number(declare(&set, "l1", "sector_bytes"),
                            (struct pb_estimate){4096, 4096, 4096}, 1.0 / 59.0, "measured");
    pb_parameter_set_word(declare(&set, "tlb_l2", "index_kind"), "modulo", 1.0 / 26.0, "measured");
    pb_parameter_set_word(declare(&set, "dram", "best_config"), "cta_count=8", 1.0 / 21.0,
                          "measured");
    apply(&set);
    assert_withdrawn(&set, "l1", "sector_bytes");
    assert_withdrawn(&set, "tlb_l2", "index_kind");
    assert_int_equal(pb_parameters_find(&set, "dram", "best_config")->kind, PB_VALUE_WORD);
    pb_parameters_clear(&set);
}

/* Where loads were looked at and nothing answers before L2, what they do is no L1's. */
static void test_consistency__a_cache_that_does_not_answer_has_no_rates(void **state)
{
    struct pb_parameters set = {0};

    (void)state;
    put_none(&set, "l1", "latency_cycles",
             "test l1_capacity: unsupported: path global_ca is not cached before L2");
    put(&set, "l1", "read_bytes_per_cycle_per_sm", 128);
    put_pair(&set, "l1", "pattern_cycles", 220, 234);
    put_none(&set, "l2", "latency_cycles", "test l2_capacity: not recorded");
    put(&set, "l2", "read_bytes_per_cycle_per_sm", 32);
    put_none(&set, "constant_l1", "latency_cycles",
             "test constant_capacity: unsupported: too little free memory: 8 bytes");
    put(&set, "constant_l1", "stride_knee_bytes", 64);
    put(&set, "texture", "latency_cycles", 100);
    put(&set, "texture", "stride_knee_bytes", 32);
    put_none(&set, "l2_far", "latency_cycles", "test l2_map: not observable: no two sides of L2");
    put(&set, "l2_far", "read_bytes_per_cycle_per_sm", 32);
    apply(&set);
    assert_withdrawn(&set, "l2_far", "read_bytes_per_cycle_per_sm");
    assert_withdrawn(&set, "l1", "read_bytes_per_cycle_per_sm");
    assert_withdrawn(&set, "l1", "pattern_cycles");
    assert_interval(&set, "l2", "read_bytes_per_cycle_per_sm", 32, 32, 32);
    assert_interval(&set, "constant_l1", "stride_knee_bytes", 64, 64, 64);
    assert_interval(&set, "texture", "stride_knee_bytes", 32, 32, 32);
    pb_parameters_clear(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_consistency__halves_of_l2),
        cmocka_unit_test(test_consistency__patterns_take_what_such_loads_take),
        cmocka_unit_test(test_consistency__sets_widen_a_size),
        cmocka_unit_test(test_consistency__an_edge_without_evidence_is_none),
        cmocka_unit_test(test_consistency__an_interval_is_not_widened_to_no_number),
        cmocka_unit_test(test_consistency__a_size_has_whole_lines),
        cmocka_unit_test(test_consistency__full_misses_end_with_a_line),
        cmocka_unit_test(test_consistency__full_misses_follow_from_the_sets),
        cmocka_unit_test(test_consistency__a_sweep_bounds_full_misses),
        cmocka_unit_test(test_consistency__line_that_is_known_bounds_what_is_hidden),
        cmocka_unit_test(test_consistency__prefetched_lines_hide_first_misses),
        cmocka_unit_test(test_consistency__nothing_answers_before_l2),
        cmocka_unit_test(test_consistency__a_miss_costs_what_the_next_level_answers),
        cmocka_unit_test(test_consistency__a_second_constant_cache_is_larger_and_later),
        cmocka_unit_test(test_consistency__an_unseen_constant_cache_may_answer_sooner),
        cmocka_unit_test(test_consistency__no_tlb_level_reaches_less_far_than_the_one_before),
        cmocka_unit_test(test_consistency__patterns_of_open_tlb_levels_are_none),
        cmocka_unit_test(test_consistency__an_entry_may_be_one_page),
        cmocka_unit_test(test_consistency__one_sm_is_no_side),
        cmocka_unit_test(test_consistency__two_sweeps_of_one_cache),
        cmocka_unit_test(test_consistency__sizes_beside_carveouts_are_those_of_l1),
        cmocka_unit_test(test_consistency__no_carveout_leaves_more_than_the_sets_hold),
        cmocka_unit_test(test_consistency__what_lacks_evidence_is_withdrawn),
        cmocka_unit_test(test_consistency__a_cache_that_does_not_answer_has_no_rates),
        cmocka_unit_test(test_consistency__what_holds_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
