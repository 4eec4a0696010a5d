/*
 * What a real L1 does and simulated ones do not: a store that is full before its sets are, lines
 * that are kept because they have hit, textures that take its room and none of its lines.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/device.h"
#include "analysis/synthetic.h"

/* 64 hashed sets of 4 lines, in front of a store of data that holds fewer lines than they do. */
enum { HASHED_SETS = 64, HASHED_WAYS = 4, STORE_LINES = 244, HASHED_LINE = 128 };

static size_t hashed_set(uint64_t address)
{
    static const uint64_t masks[] = {0x2080, 0x4100, 0x2200, 0x4400, 0x0800, 0x7000};
    size_t set = 0;

    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
        set |= (size_t)__builtin_parityll(address & masks[i]) << i;
    return set;
}

/* A pass over `lines` lines and X: those of X's set miss if it is full; of a full store any five.
 */
static void add_conflict(struct pb_series *series, struct synthetic_noise *noise, const char *phase,
                         size_t lines, uint64_t x)
{
    struct pb_point point = {.footprint_bytes = x + HASHED_LINE,
                             .stride_bytes = HASHED_LINE,
                             .base_address = 1 << 30,
                             .count = lines + 1,
                             .window = lines + 1,
                             .overhead_cycles = 2};
    uint32_t latency[STORE_LINES + 1];
    uint64_t index[STORE_LINES + 1];
    size_t filled = 0;

    PB_TEXT_SET(point.path, "global_ca");
    PB_TEXT_SET(point.order, "given");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, phase);
    for (size_t i = 0; i < lines; i++)
        filled += hashed_set(i * HASHED_LINE) == hashed_set(x);
    for (size_t i = 0; i <= lines; i++) {
        bool overflowing = filled == HASHED_WAYS && hashed_set(i * HASHED_LINE) == hashed_set(x);

        index[i] = i < lines ? i * HASHED_LINE : x;
        latency[i] = 2 + ((i < lines ? overflowing : filled == HASHED_WAYS) ? 280 : 32);
    }
    for (int i = 0; i < 5 && lines + 1 >= STORE_LINES; i++)
        latency[synthetic_random(noise, lines)] = 2 + 280;
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

static void record_sets(struct device *device, bool shorter)
{
    struct synthetic_noise noise = {2, 0, 0, 0, 11};
    struct pb_series *series = &device_record(device, "l1_sets")->series;

    synthetic_constant(series, &noise, "global_ca", "reference", 32, 256);
    synthetic_constant(series, &noise, "global_cg", "reference", 280, 256);
    synthetic_constant(series, &noise, "global_ca", "miss", 280, 256);
    for (int phase = 0; phase <= shorter; phase++) {
        size_t lines = phase == 0 ? STORE_LINES - 1 : STORE_LINES - 4;

        for (uint64_t x = 1 << 20; x >= 1 << 17; x /= 2)
            add_conflict(series, &noise, phase == 0 ? "conflict" : "conflict_short", lines, x);
        for (uint64_t i = 0; i < 200; i++)
            add_conflict(series, &noise, phase == 0 ? "conflict" : "conflict_short", lines,
                         (lines + i) * HASHED_LINE);
    }
}

/* An H200's L1: its store is full before its sets are, and then all lines conflict with all. */
static void test_sets__passes_that_leave_room_in_the_store_show_them(void **state)
{
    struct device device = {0};

    (void)state;
    record_sets(&device, true);
    device_infer(&device);
    assert_value(&device, "l1", "set_count", HASHED_SETS);
    assert_value(&device, "l1", "way_counts", HASHED_WAYS);
    assert_string_equal(device_parameter(&device, "l1", "index_kind")->word, "xor");
    assert_int_equal(device_parameter(&device, "l1", "index_masks")->number_count, 6);
    device_clear(&device);
}

static void test_sets__a_full_store_alone_shows_none(void **state)
{
    struct device device = {0};

    (void)state;
    record_sets(&device, false);
    device_infer(&device);
    assert_int_equal(device_parameter(&device, "l1", "set_count")->kind, PB_VALUE_NONE);
    assert_int_equal(device_parameter(&device, "l1", "index_masks")->kind, PB_VALUE_NONE);
    device_clear(&device);
}

enum { STRIDE = 128, SET_LINES = 5, SET_WAYS = 4, KEPT = 2, CHASE = 80 };

/* Moves entry `at` of a list to its end. */
static void renew(uint32_t *list, size_t count, size_t at)
{
    uint32_t line = list[at];

    for (; at + 1 < count; at++)
        list[at] = list[at + 1];
    list[count - 1] = line;
}

/*
 * A set of 4 ways that keeps the two lines that hit last, whatever is loaded; the others are an
 * LRU. list[0 … others - 1] are those, the oldest first, behind them the kept ones. True: a hit.
 */
static bool access_keeping(uint32_t *list, size_t *others, size_t *kept, uint32_t line)
{
    size_t at = 0, count = *others + *kept;

    while (at < count && list[at] != line)
        at++;
    if (at == count && count < SET_WAYS) {
        for (size_t i = count; i > *others; i--)
            list[i] = list[i - 1];
        list[(*others)++] = line;
    } else if (at == count) {
        list[0] = line;
        renew(list, *others, 0);
    } else if (at >= *others) {
        renew(list + *others, *kept, at - *others);
    } else { /* where two are kept already, the older of them becomes the newest other one */
        renew(list, count, at);
        *kept += *kept < KEPT;
        *others = count - *kept;
        return true;
    }
    return at < count;
}

/* The same without keeping any. */
static bool access_lru(uint32_t *list, size_t *others, uint32_t line)
{
    size_t at = 0;

    while (at < *others && list[at] != line)
        at++;
    if (at < *others) {
        renew(list, *others, at);
        return true;
    }
    if (*others < SET_WAYS)
        ++*others;
    else
        renew(list, *others, 0);
    list[*others - 1] = line;
    return false;
}

/* One chase over the lines of a set, in turn or at random. */
static void add_chase(struct pb_series *series, struct synthetic_noise *noise, bool random,
                      bool keeping)
{
    struct pb_point point = {.footprint_bytes = SET_LINES * STRIDE,
                             .stride_bytes = STRIDE,
                             .count = CHASE,
                             .window = CHASE,
                             .overhead_cycles = 2};
    uint32_t latency[CHASE], list[SET_WAYS + 1] = {0};
    uint64_t index[CHASE];
    size_t others = 0, kept = 0;

    PB_TEXT_SET(point.path, "global_ca");
    PB_TEXT_SET(point.order, "given");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, random ? "random" : "victim");
    for (uint32_t i = 0; i < CHASE; i++) {
        uint32_t line = random ? (uint32_t)synthetic_random(noise, SET_LINES) : i % SET_LINES;
        bool hits =
            keeping ? access_keeping(list, &others, &kept, line) : access_lru(list, &others, line);

        index[i] = line * STRIDE;
        latency[i] = 2 + (hits ? 32 : 280);
    }
    assert_int_equal(pb_series_append(series, &point, latency, index, NULL), PB_OK);
}

static void record_policy(struct device *device, bool keeping)
{
    struct synthetic_noise noise = {2, 0, 0, 0, 7};
    struct pb_series *series = &device_record(device, "l1_policy")->series;

    synthetic_constant(series, &noise, "global_ca", "reference", 32, 2048);
    synthetic_constant(series, &noise, "global_cg", "reference", 280, 256);
    synthetic_constant(series, &noise, "global_ca", "miss", 280, 256);
    for (int i = 0; i < 24; i++)
        add_chase(series, &noise, i >= 16, keeping);
}

/* An H200's L1: chases in turn never hit and look like an LRU's, but those at random do not. */
static void test_policy__a_set_that_keeps_what_has_hit_is_no_lru(void **state)
{
    struct device device = {0};

    (void)state;
    record_policy(&device, true);
    device_infer(&device);
    assert_none(&device, "l1", "policy", "no policy fits");
    assert_none(&device, "l1", "way_eviction_probabilities", "depends on policy");
    device_clear(&device);
}

static void test_policy__an_lru_by_the_same_chases_is_one(void **state)
{
    struct device device = {0};

    (void)state;
    record_policy(&device, false);
    device_infer(&device);
    assert_string_equal(device_parameter(&device, "l1", "policy")->word, "lru");
    device_clear(&device);
}

/* Chases by one path after each of two; `crossing`: what the other's lines look like by it. */
static void record_sharing(struct pb_series *series, const char *path, const char *other,
                           uint32_t crossing, uint32_t evicted)
{
    struct synthetic_noise noise = {2, 1, 0, 0, 3};
    char phase[PB_NAME_LENGTH];

    synthetic_constant(series, &noise, path, "reference", 32, 256);
    synthetic_constant(series, &noise, path, path, 32, 256);
    synthetic_constant(series, &noise, path, "none", 280, 256);
    synthetic_constant(series, &noise, path, other, crossing, 256);
    snprintf(phase, sizeof(phase), "evict_%s", path);
    synthetic_constant(series, &noise, path, phase, 280, 256);
    snprintf(phase, sizeof(phase), "evict_%s", other);
    synthetic_constant(series, &noise, path, phase, evicted, 256);
}

/* An H200's textures never hit what other loads brought, and evict it all the same. */
static void test_sharing__one_store_of_lines_that_are_distinguished(void **state)
{
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "cache_sharing")->series;

    (void)state;
    record_sharing(series, "global_ca", "texture", 280, 280);
    device_infer(&device);
    assert_string_equal(device_parameter(&device, "l1", "same_cache_as")->word, "none");
    assert_string_equal(device_parameter(&device, "l1", "shares_capacity_with")->word, "texture");
    device_clear(&device);
}

static void test_sharing__a_store_of_its_own(void **state)
{
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "cache_sharing")->series;

    (void)state;
    record_sharing(series, "global_ca", "texture", 280, 32);
    device_infer(&device);
    assert_string_equal(device_parameter(&device, "l1", "shares_capacity_with")->word, "none");
    device_clear(&device);
}

/* Of lines in order four in five hit in a cold cache, too, where four more are prefetched. */
static void test_sharing__prefetched_lines_are_no_shared_ones(void **state)
{
    static const char *const cold[] = {"none", "texture", "evict_global_ca"};
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "cache_sharing")->series;
    struct synthetic_noise noise = {2, 1, 0, 0, 3};

    (void)state;
    synthetic_constant(series, &noise, "global_ca", "reference", 32, 255);
    synthetic_constant(series, &noise, "global_ca", "global_ca", 32, 255);
    synthetic_constant(series, &noise, "global_ca", "evict_texture", 32, 255);
    for (size_t i = 0; i < sizeof(cold) / sizeof(cold[0]); i++) {
        synthetic_constant(series, &noise, "global_ca", cold[i], 32, 204);
        synthetic_constant(series, &noise, "global_ca", cold[i], 280, 51);
    }
    device_infer(&device);
    assert_string_equal(device_parameter(&device, "l1", "same_cache_as")->word, "none");
    assert_string_equal(device_parameter(&device, "l1", "shares_capacity_with")->word, "none");
    device_clear(&device);
}

/* Loads by l1's path find no line in its small first cache, but all in the one that textures use
 * at once: it is behind l1's. */
static void test_sharing__a_common_second_cache_is_no_shared_one(void **state)
{
    static const char *const memories[] = {"l1", "texture"};
    static const struct {
        const char *path;
        double first;
    } paths[] = {{"global_ca", 32}, {"texture", 70}};
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "cache_sharing")->series;
    struct synthetic_noise noise = {2, 1, 0, 0, 3};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        synthetic_constant(series, &noise, paths[i].path, "reference", paths[i].first, 256);
        synthetic_constant(series, &noise, paths[i].path, "none", 280, 256);
        synthetic_constant(series, &noise, paths[i].path, "global_ca", 70, 256);
        synthetic_constant(series, &noise, paths[i].path, "texture", 70, 256);
        synthetic_constant(series, &noise, paths[i].path, "evict_global_ca", 280, 256);
        synthetic_constant(series, &noise, paths[i].path, "evict_texture", 280, 256);
    }
    device_infer(&device);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(device_parameter(&device, memories[i], "same_cache_as")->word, "none");
        assert_string_equal(device_parameter(&device, memories[i], "shares_capacity_with")->word,
                            "none");
    }
    device_clear(&device);
}

/* Recordings of older batteries hold no such chases. */
static void test_sharing__without_evictions_the_room_is_open(void **state)
{
    struct device device = {0};
    struct pb_series *series = &device_record(&device, "cache_sharing")->series;
    struct synthetic_noise noise = {2, 1, 0, 0, 3};

    (void)state;
    synthetic_constant(series, &noise, "global_ca", "reference", 32, 256);
    synthetic_constant(series, &noise, "global_ca", "global_ca", 32, 256);
    synthetic_constant(series, &noise, "global_ca", "none", 280, 256);
    synthetic_constant(series, &noise, "global_ca", "texture", 32, 256);
    device_infer(&device);
    assert_string_equal(device_parameter(&device, "l1", "same_cache_as")->word, "texture");
    assert_none(&device, "l1", "shares_capacity_with", "no pass that evicts");
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sets__passes_that_leave_room_in_the_store_show_them),
        cmocka_unit_test(test_sets__a_full_store_alone_shows_none),
        cmocka_unit_test(test_policy__a_set_that_keeps_what_has_hit_is_no_lru),
        cmocka_unit_test(test_policy__an_lru_by_the_same_chases_is_one),
        cmocka_unit_test(test_sharing__one_store_of_lines_that_are_distinguished),
        cmocka_unit_test(test_sharing__a_store_of_its_own),
        cmocka_unit_test(test_sharing__a_common_second_cache_is_no_shared_one),
        cmocka_unit_test(test_sharing__prefetched_lines_are_no_shared_ones),
        cmocka_unit_test(test_sharing__without_evictions_the_room_is_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
