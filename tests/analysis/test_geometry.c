/*
 * Geometries of caches with known truth: a toy set-associative cache is loaded over an array that
 * fits and one line more, and the likeliest hypothesis must be the toy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/propose.h"
#include "analysis/device.h"
#include "analysis/synthetic.h"
#include "core/order.h"

enum { BASE = 1 << 30, HIT = 200, MISS = 450, LINES_MAX = 4096, FAR_FIRST = 20, FAR_LAST = 25 };

/* A toy cache, and how it loses lines. */
struct toy {
    uint64_t line_bytes, sets, ways;
    uint64_t stride_bytes; /* of the passes with one line more; 0: the line */
    uint64_t masks[9];     /* of the address; none: line number modulo sets */
    size_t mask_count;
    size_t victims; /* of a set in each pass, random; 0: all, as LRU loses them */
    uint32_t lost;  /* ranks of a set that every pass loses, whatever its order; 0: see victims */
    double noise;   /* share of hits that look like misses */
    uint64_t shuffled; /* passes in a shuffled order */
    uint64_t sweeps;   /* passes over 1, 2, ... lines more than fit */
    bool has_no_index; /* what misses has nothing to do with addresses */
};

static uint64_t stride_of(const struct toy *toy)
{
    return toy->stride_bytes > 0 ? toy->stride_bytes : toy->line_bytes;
}

/* Lines that the passes load of an array that fills the toy. */
static uint64_t count_lines(const struct toy *toy)
{
    return toy->sets * toy->ways * toy->line_bytes / stride_of(toy);
}

static uint64_t set_of(const struct toy *toy, uint64_t address)
{
    uint64_t set = 0;

    if (toy->mask_count == 0)
        return address / toy->line_bytes % toy->sets;
    for (size_t i = 0; i < toy->mask_count; i++)
        set |= (uint64_t)__builtin_parityll(address & toy->masks[i]) << i;
    return set;
}

static bool is_noise(const struct toy *toy, struct synthetic_noise *noise)
{
    return (double)synthetic_random(noise, 1000000) < 1e6 * toy->noise;
}

/* The lines of the added one's set, or some of them, of a pass in this order. */
static void miss_some(const struct toy *toy, struct synthetic_noise *noise, const uint64_t *order,
                      uint64_t lines, uint64_t added, bool *missed)
{
    uint64_t members[LINES_MAX], count = 0;

    for (uint64_t i = 0; i < lines; i++)
        if (toy->has_no_index ||
            set_of(toy, BASE + order[i] * stride_of(toy)) == set_of(toy, BASE + added))
            members[count++] = order[i];
    if (count < toy->ways)
        return;
    for (uint64_t i = 0; toy->victims == 0 && i < count; i++)
        missed[members[i]] = toy->lost == 0 || (toy->lost >> i & 1) != 0;
    for (size_t i = 0; i < toy->victims; i++)
        missed[members[synthetic_random(noise, count)]] = true;
}

static void add_pass(struct pb_series *series, const struct toy *toy, struct synthetic_noise *noise,
                     const char *phase, uint64_t added)
{
    uint64_t lines = count_lines(toy), order[LINES_MAX];
    static uint32_t latency[LINES_MAX + 1];
    static uint64_t index[LINES_MAX + 1];
    bool missed[LINES_MAX] = {false};
    struct pb_point point = {.footprint_bytes = added + stride_of(toy),
                             .stride_bytes = stride_of(toy),
                             .base_address = BASE,
                             .count = lines + 1,
                             .window = lines + 1,
                             .overhead_cycles = noise->overhead_cycles,
                             .sm_id = -1};

    PB_TEXT_SET(point.path, "global_cg");
    PB_TEXT_SET(point.order, "given");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, phase);
    for (uint64_t i = 0; i < lines; i++)
        order[i] = i;
    if (strcmp(phase, "conflict_shuffled") == 0)
        pb_order_shuffle(order, lines, added);
    miss_some(toy, noise, order, lines, added, missed);
    for (uint64_t i = 0; i <= lines; i++) {
        bool misses = i == lines || missed[order[i]] || is_noise(toy, noise);

        index[i] = i < lines ? order[i] * stride_of(toy) : added;
        latency[i] = synthetic_latency(noise, misses ? MISS : HIT);
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

/* A whole pass over some lines more than fit, line by line: all of a set that is overfull miss. */
static void add_sweep(struct pb_series *series, const struct toy *toy,
                      struct synthetic_noise *noise, uint64_t more)
{
    uint64_t lines = toy->sets * toy->ways + more, filled[LINES_MAX] = {0};
    static uint32_t latency[LINES_MAX];
    static uint64_t index[LINES_MAX];
    struct pb_point point = {.footprint_bytes = lines * toy->line_bytes,
                             .stride_bytes = toy->line_bytes,
                             .base_address = BASE,
                             .count = lines,
                             .window = lines,
                             .overhead_cycles = noise->overhead_cycles,
                             .sm_id = -1};

    PB_TEXT_SET(point.path, "global_cg");
    PB_TEXT_SET(point.order, "sequential");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, "overflow");
    for (uint64_t i = 0; i < lines; i++)
        filled[set_of(toy, BASE + i * toy->line_bytes)]++;
    for (uint64_t i = 0; i < lines; i++) {
        index[i] = i * toy->line_bytes;
        latency[i] =
            synthetic_latency(noise, filled[set_of(toy, BASE + index[i])] > toy->ways ? MISS : HIT);
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

/* Passes with lines behind the array, and with far ones. */
static void record(struct device *device, const struct toy *toy)
{
    struct synthetic_noise noise = {14, 2, 0.0, 0, 7};
    struct pb_series *series = &device_record(device, "l2_sets")->series;
    uint64_t lines = count_lines(toy);

    synthetic_constant(series, &noise, "global_cg", "reference", HIT, 1024);
    synthetic_constant(series, &noise, "global_cg", "miss", MISS, 1024);
    for (unsigned bit = FAR_FIRST; bit <= FAR_LAST; bit++)
        for (int again = 0; again < 3; again++)
            add_pass(series, toy, &noise, "conflict", (uint64_t)1 << bit);
    for (uint64_t i = 0; i < 240; i++)
        add_pass(series, toy, &noise, "conflict", (lines + i) * stride_of(toy));
    for (uint64_t more = 1; more <= toy->sweeps; more++)
        add_sweep(series, toy, &noise, more);
    for (uint64_t i = 0; i < toy->shuffled; i++)
        add_pass(series, toy, &noise, "conflict_shuffled", (lines + i) * stride_of(toy));
    device_infer(device);
}

static void assert_geometry(const struct toy *toy)
{
    struct device device = {0};

    record(&device, toy);
    assert_value(&device, "l2", "set_count", (double)toy->sets);
    assert_value(&device, "l2", "way_counts", (double)toy->ways);
    assert_string_equal(device_parameter(&device, "l2", "index_kind")->word,
                        toy->mask_count > 0 ? "xor" : "modulo");
    assert_true(device_parameter(&device, "l2", "set_count")->confidence > 0.8);
    device_clear(&device);
}

static void test_geometry__a_modulo_of_any_number_of_sets(void **state)
{
    static const uint64_t sets[] = {4, 12, 21, 48};

    (void)state;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        assert_geometry(&(struct toy){.line_bytes = 128, .sets = sets[i], .ways = 4});
}

static void test_geometry__parities_of_near_and_far_address_bits(void **state)
{
    static const struct toy toy = {.line_bytes = 128,
                                   .sets = 16,
                                   .ways = 4,
                                   .masks = {0x101080, 0x200100, 0x800200, 0x400400},
                                   .mask_count = 4};
    struct device device = {0};
    const struct pb_parameter *masks;

    (void)state;
    assert_geometry(&toy);
    record(&device, &toy);
    masks = device_parameter(&device, "l2", "index_masks");
    assert_int_equal(masks->number_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal((uint64_t)masks->numbers[i].value, toy.masks[i]);
    device_clear(&device);
}

/* Of 24 ways two at a time: what misses together is little of a set. */
static void test_geometry__few_victims_at_a_time_show_the_sets(void **state)
{
    (void)state;
    assert_geometry(&(struct toy){.line_bytes = 32, .sets = 47, .ways = 24, .victims = 2});
}

static void test_geometry__noise_breaks_no_index(void **state)
{
    (void)state;
    assert_geometry(&(struct toy){.line_bytes = 128, .sets = 36, .ways = 7, .noise = 0.002});
    assert_geometry(&(struct toy){.line_bytes = 128,
                                  .sets = 8,
                                  .ways = 8,
                                  .masks = {0x480, 0x900, 0x200},
                                  .mask_count = 3,
                                  .noise = 0.005});
}

/* Half of a set misses, always the same ranks, as a tree-PLRU does: no 512 sets of half the ways.
 */
static void test_geometry__ranks_that_never_miss_are_no_other_set(void **state)
{
    (void)state;
    assert_geometry(
        &(struct toy){.line_bytes = 128, .sets = 256, .ways = 12, .lost = 0x555, .shuffled = 16});
}

/* Passes by 256 bytes leave every second line out; sweeps show that these have other sets. */
static void test_geometry__lines_that_passes_step_over_may_have_other_sets(void **state)
{
    static const struct toy toy = {
        .line_bytes = 128,
        .stride_bytes = 256,
        .sets = 512,
        .ways = 1,
        .masks = {0x80, 0x10100, 0x200, 0x20400, 0x800, 0x1000, 0x2000, 0x4000, 0x8000},
        .mask_count = 9,
        .sweeps = 5};
    struct device device = {0};

    (void)state;
    assert_geometry(&toy);
    record(&device, &toy);
    assert_value(&device, "l2", "line_bytes", 128.0);
    device_clear(&device);
}

/* Passes with lines behind an array, of which the given ones miss. */
struct passes {
    struct pb_cache_chase items[64];
    uint64_t missing[64 * 16];
    struct pb_cache_chases chases;
};

static void add_conflict(struct passes *passes, const struct pb_geometry *geometry, uint64_t lines,
                         uint64_t added)
{
    struct pb_cache_chases *chases = &passes->chases;

    chases->items = passes->items;
    chases->missing = passes->missing;
    chases->items[chases->count++] =
        (struct pb_cache_chase){.kind = PB_CHASE_CONFLICT,
                                .base = BASE,
                                .stride_bytes = geometry->line_bytes,
                                .array_bytes = lines * geometry->line_bytes,
                                .added = BASE + added * geometry->line_bytes,
                                .count = lines + 1,
                                .first_missing = chases->missing_count,
                                .added_missed = true};
}

static void add_miss(struct passes *passes, const struct pb_geometry *geometry, uint64_t line)
{
    struct pb_cache_chases *chases = &passes->chases;

    chases->items[chases->count - 1].misses++;
    chases->missing[chases->missing_count++] = BASE + line * geometry->line_bytes;
}

static struct pb_geometry_fit score(const struct passes *passes, const struct pb_geometry *geometry)
{
    struct pb_geometry_fit fit = {.open = 0.0};

    assert_int_equal(pb_geometry_score(&passes->chases, geometry, PB_CHASE_CONFLICT, UINT64_MAX, 1,
                                       -INFINITY, &fit, NULL),
                     PB_OK);
    return fit;
}

/* Half of a set's lines miss: always the same ranks, or other ones in every second pass. */
static double likelihood_of_half_a_set(const struct pb_geometry *geometry, bool is_same)
{
    uint64_t lines = geometry->sets * geometry->ways;
    struct passes passes = {.chases = {.count = 0}};

    for (uint64_t i = 0; i < geometry->sets; i++) {
        add_conflict(&passes, geometry, lines, lines + i);
        for (uint64_t rank = is_same ? 0 : i % 2; rank < geometry->ways; rank += 2)
            add_miss(&passes, geometry, rank * geometry->sets + i);
    }
    return pb_geometry_log_likelihood(
        &(struct pb_geometry_fit){.open = score(&passes, geometry).open});
}

/* Prefetched or not: of a policy that draws nothing ranks show more than that some of a set miss.
 */
static void test_geometry__ranks_count_where_a_prefetch_hides_misses(void **state)
{
    struct pb_geometry geometry = {
        .line_bytes = 128, .sector_bytes = 128, .index = PB_INDEX_MODULO, .sets = 64, .ways = 12};

    (void)state;
    for (int hides = 0; hides < 2; hides++) {
        geometry.hides_misses = hides != 0;
        assert_true(likelihood_of_half_a_set(&geometry, true) >
                    likelihood_of_half_a_set(&geometry, false) + 300.0);
    }
}

/* Two sets have a line too many by the array itself: none of their lines must hit. */
static void test_geometry__all_lines_of_overfull_sets_are_open(void **state)
{
    const struct pb_geometry geometry = {
        .line_bytes = 128, .sector_bytes = 128, .index = PB_INDEX_MODULO, .sets = 8, .ways = 4};
    struct passes passes = {.chases = {.count = 0}};

    (void)state;
    add_conflict(&passes, &geometry, 34, 37);
    add_miss(&passes, &geometry, 0);
    add_miss(&passes, &geometry, 5);
    assert_int_equal(score(&passes, &geometry).hits, 34 - 2 * 5 - 4);
    assert_int_equal(score(&passes, &geometry).hits_wrong, 0);
}

/* Of a line that may miss only the first sector seems to: three that hit show that the line hit. */
static void test_geometry__a_first_load_that_misses_alone_is_an_outlier(void **state)
{
    const struct pb_geometry geometry = {
        .line_bytes = 128, .sector_bytes = 32, .index = PB_INDEX_MODULO, .sets = 8, .ways = 1};
    uint64_t offsets[9 * 4];
    unsigned char seen[9 * 4];
    struct pb_cache_chase sweep = {.kind = PB_CHASE_SWEEP,
                                   .base = BASE,
                                   .stride_bytes = 32,
                                   .array_bytes = 9 * 128,
                                   .offset_bytes = offsets,
                                   .seen = seen,
                                   .count = 9 * 4,
                                   .misses = 5};
    const struct pb_cache_chases chases = {.items = &sweep, .count = 1};
    struct pb_geometry_fit fit = {.open = 0.0};

    (void)state;
    for (size_t i = 0; i < 9 * 4; i++) {
        offsets[i] = 32 * i;
        seen[i] = i == 0 || i / 4 == 8 ? PB_OBSERVED_MISS : PB_OBSERVED_HIT;
    }
    assert_int_equal(
        pb_geometry_score(&chases, &geometry, PB_CHASE_SWEEP, UINT64_MAX, 1, -INFINITY, &fit, NULL),
        PB_OK);
    assert_int_equal(fit.misses_wrong, 1);
    assert_int_equal(fit.hits_wrong, 0);
}

/* Arrays of two lengths propose much the same: each counts once, by the likelier prior. */
static void test_geometry__a_hypothesis_is_listed_once(void **state)
{
    struct pb_hypothesis first = {.geometry = {.line_bytes = 128, .sets = 8, .ways = 4},
                                  .log_likelihood = -3.0},
                         again = first;
    struct pb_hypotheses hypotheses = {NULL, 0, 0};

    (void)state;
    again.log_likelihood = 0.0;
    assert_int_equal(pb_hypotheses_add(&hypotheses, &first, NULL), PB_OK);
    assert_int_equal(pb_hypotheses_add(&hypotheses, &again, NULL), PB_OK);
    assert_int_equal(pb_hypotheses_add(&hypotheses, &first, NULL), PB_OK);
    assert_int_equal(hypotheses.count, 1);
    assert_true(hypotheses.items[0].log_likelihood == 0.0);
    again.geometry.ways = 8;
    assert_int_equal(pb_hypotheses_add(&hypotheses, &again, NULL), PB_OK);
    assert_int_equal(hypotheses.count, 2);
    pb_hypotheses_clear(&hypotheses);
}

/* A set that the array overfills by itself misses whatever is added: it shows no conflict. */
static void test_geometry__what_misses_anyway_is_no_conflict(void **state)
{
    const struct pb_geometry geometry = {
        .line_bytes = 128, .sector_bytes = 128, .index = PB_INDEX_MODULO, .sets = 1, .ways = 8};
    struct passes fits = {.chases = {.count = 0}}, overfills = {.chases = {.count = 0}};

    (void)state;
    add_conflict(&fits, &geometry, 8, 8);
    for (uint64_t line = 0; line < 8; line++)
        add_miss(&fits, &geometry, line);
    assert_int_equal(score(&fits, &geometry).conflicts, 1);
    add_conflict(&overfills, &geometry, 12, 12);
    for (uint64_t line = 0; line < 12; line++)
        add_miss(&overfills, &geometry, line);
    assert_int_equal(score(&overfills, &geometry).conflicts, 0);
}

/* Any line may miss: no index has more of the likelihood than none at all. */
static void test_geometry__victims_of_any_set_show_none(void **state)
{
    struct device device = {0};

    (void)state;
    record(&device,
           &(struct toy){
               .line_bytes = 128, .sets = 64, .ways = 8, .victims = 6, .has_no_index = true});
    assert_none(&device, "l2", "set_count", "best geometry predicts");
    assert_none(&device, "l2", "index_kind", "best geometry predicts");
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometry__a_modulo_of_any_number_of_sets),
        cmocka_unit_test(test_geometry__parities_of_near_and_far_address_bits),
        cmocka_unit_test(test_geometry__few_victims_at_a_time_show_the_sets),
        cmocka_unit_test(test_geometry__noise_breaks_no_index),
        cmocka_unit_test(test_geometry__ranks_that_never_miss_are_no_other_set),
        cmocka_unit_test(test_geometry__lines_that_passes_step_over_may_have_other_sets),
        cmocka_unit_test(test_geometry__ranks_count_where_a_prefetch_hides_misses),
        cmocka_unit_test(test_geometry__all_lines_of_overfull_sets_are_open),
        cmocka_unit_test(test_geometry__a_first_load_that_misses_alone_is_an_outlier),
        cmocka_unit_test(test_geometry__a_hypothesis_is_listed_once),
        cmocka_unit_test(test_geometry__what_misses_anyway_is_no_conflict),
        cmocka_unit_test(test_geometry__victims_of_any_set_show_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
