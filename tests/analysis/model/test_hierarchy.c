/* Hierarchies from a report, from shipped profiles, and from documents that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "analysis/model/hierarchy.h"

static const char report[] =
    "{\"schema\": 1, \"devices\": [{\"key\": \"a.gpu0\", \"memories\": {}}, {\"key\": \"b.gpu0\","
    "\"memories\": {\"l1\": {\"size_bytes\": {\"value\": 246784, \"low\": 245760, \"high\": "
    "246784},"
    "\"line_bytes\": {\"value\": 128}, \"sector_bytes\": {\"value\": 32},"
    "\"latency_cycles\": {\"value\": 32, \"low\": 32, \"high\": 33},"
    "\"set_count\": {\"value\": 4}, \"way_counts\": {\"value\": 512},"
    "\"index_masks\": {\"value\": [\"0x80\", \"0x30100\"]},"
    "\"policy\": {\"value\": null, \"reason\": \"several\"},"
    "\"same_cache_as\": {\"value\": \"readonly\"},"
    "\"carveout_bytes\": {\"value\": [8192, 102400]},"
    "\"carveout_size_bytes\": {\"value\": [246784, 152448]}},"
    "\"readonly\": {\"latency_cycles\": {\"value\": 32}, \"same_cache_as\": {\"value\": \"l1\"}},"
    "\"l2\": {\"latency_cycles\": {\"value\": 281, \"low\": 263, \"high\": 295},"
    "\"size_bytes\": {\"value\": 32818083, \"low\": 26847360, \"high\": 39133440},"
    "\"line_bytes\": {\"value\": 128}},"
    "\"l2_far\": {\"latency_cycles\": {\"value\": 477, \"low\": 463, \"high\": 495}},"
    "\"dram\": {\"latency_cycles\": {\"value\": 660}},"
    "\"mshr\": {\"outstanding_per_sm\": {\"value\": 256}, \"outstanding_per_warp\": {\"value\": "
    "null}}}}]}";

static void parse(const char *text, const char *device, struct pb_model_hierarchy *hierarchy_out)
{
    struct pb_json root;
    struct pb_error err = PB_ERROR_INIT;

    if (pb_json_parse(text, "test", &root, &err) != PB_OK ||
        pb_model_hierarchy_from_json(&root, device, hierarchy_out, &err) != PB_OK)
        fail_msg("%s", err.message);
    json_decref(root.value);
}

static void test_hierarchy__a_report_gives_what_was_determined(void **state)
{
    struct pb_model_hierarchy hierarchy;
    const struct pb_model_level *l1, *l2;

    (void)state;
    parse(report, "b.gpu0", &hierarchy);
    l1 = pb_model_hierarchy_find(&hierarchy, "l1");
    l2 = pb_model_hierarchy_find(&hierarchy, "l2");
    assert_non_null(l1);
    assert_non_null(l2);
    assert_int_equal(hierarchy.cache_count, 2); /* readonly is l1 */
    assert_int_equal(hierarchy.routes[PB_MODEL_READONLY].count, 2);
    assert_true(&hierarchy.caches[hierarchy.routes[PB_MODEL_READONLY].caches[0]] == l1);
    assert_int_equal(hierarchy.routes[PB_MODEL_GLOBAL_CG].count, 1);
    assert_int_equal(hierarchy.routes[PB_MODEL_TEXTURE].count, 0);
    assert_true(l1->has_sets && !l1->has_policy && l1->is_unified && !l1->is_chip_wide);
    assert_string_equal(l1->missing, "l1.policy");
    assert_int_equal(l1->shape.set_count, 4);
    assert_int_equal(l1->shape.way_count, 512);
    assert_int_equal(l1->shape.index_masks[1], 0x30100);
    assert_int_equal(l1->fits_bytes, 245760);
    assert_int_equal(pb_model_level_fits(&hierarchy, l1, 0), 245760);
    assert_int_equal(pb_model_level_fits(&hierarchy, l1, 50000), 152448);
    assert_int_equal(pb_model_level_fits(&hierarchy, l1, 200000), 0);
    assert_true(!l2->has_sets && l2->is_chip_wide);
    assert_string_equal(l2->missing, "l2.set_count");
    assert_true(l2->latency.low == 263.0 && l2->latency.high == 295.0 &&
                l2->far_latency.cycles == 477.0);
    assert_int_equal(hierarchy.mshr_per_sm, 256);
    assert_int_equal(hierarchy.mshr_per_warp, 0);
    pb_model_hierarchy_clear(&hierarchy);
}

/* L1 beside its least carve-out, as two tests saw it: one store where their intervals meet. */
static void test_hierarchy__the_least_carveout_leaves_the_size_that_was_found(void **state)
{
    static const struct {
        unsigned low, high;
        uint64_t fits_bytes, sure_bytes;
    } cases[] = {
        {246528, 246784, 246784, 246528}, {246528, 246656, 246528, 0}, {246784, 246784, 246784, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pb_model_hierarchy hierarchy;
        const struct pb_model_level *l1;
        char text[1024];

        snprintf(text, sizeof(text),
                 "{\"schema\": 1, \"devices\": [{\"key\": \"a\", \"memories\": {\"l1\": {"
                 "\"size_bytes\": {\"value\": 246784, \"low\": 246784, \"high\": 262144},"
                 "\"line_bytes\": {\"value\": 128}, \"latency_cycles\": {\"value\": 32},"
                 "\"carveout_bytes\": {\"value\": [8192, 16384]}, \"carveout_size_bytes\": "
                 "{\"value\": [%u, 238464], \"low\": [%u, 238464], \"high\": [%u, 246784]}}}}]}",
                 cases[i].low, cases[i].low, cases[i].high);
        parse(text, "a", &hierarchy);
        l1 = pb_model_hierarchy_find(&hierarchy, "l1");
        assert_non_null(l1);
        assert_int_equal(pb_model_level_fits(&hierarchy, l1, 8192), cases[i].fits_bytes);
        assert_int_equal(l1->sure_bytes, cases[i].sure_bytes);
        assert_int_equal(pb_model_level_fits(&hierarchy, l1, 16384), 238464);
        pb_model_hierarchy_clear(&hierarchy);
    }
}

/* A cache whose policy is open is certain as long as no set had to choose. */
static void test_hierarchy__an_open_policy_makes_lookups_uncertain(void **state)
{
    struct pb_model_hierarchy hierarchy;
    struct pb_model_cache *cache = NULL;
    struct pb_model_lookup lookup;
    struct pb_error err = PB_ERROR_INIT;
    const struct pb_model_level *l1;

    (void)state;
    parse(report, "b.gpu0", &hierarchy);
    l1 = pb_model_hierarchy_find(&hierarchy, "l1");
    assert_int_equal(pb_model_level_open(l1, l1->fits_bytes, PB_MODEL_UNCERTAIN, 1, &cache, &err),
                     PB_OK);
    for (uint64_t line = 0; line < 513; line++) { /* all in set 0 */
        pb_model_cache_access(cache, line << 18, 1, 0.0, &lookup);
        assert_true(lookup.is_certain);
    }
    pb_model_cache_access(cache, 0, 1, 0.0, &lookup);
    assert_false(lookup.is_certain);
    pb_model_cache_access(cache, 128, 1, 0.0, &lookup);
    assert_true(lookup.is_certain);
    pb_model_cache_destroy(cache);
    pb_model_hierarchy_clear(&hierarchy);
}

static void test_hierarchy__every_shipped_profile_is_read(void **state)
{
    DIR *folder = opendir(PLUMB_PROFILES);
    size_t profiles = 0;

    (void)state;
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct pb_model_hierarchy hierarchy;
        struct pb_error err = PB_ERROR_INIT;
        struct pb_json root;
        char path[4096];

        if (strstr(entry->d_name, ".json") == NULL)
            continue;
        snprintf(path, sizeof(path), "%s/%s", PLUMB_PROFILES, entry->d_name);
        if (pb_json_load(path, &root, &err) != PB_OK ||
            pb_model_hierarchy_from_json(&root, NULL, &hierarchy, &err) != PB_OK)
            fail_msg("%s", err.message);
        profiles++;
        assert_true(hierarchy.routes[PB_MODEL_GLOBAL_CG].count == 1);
        assert_true(hierarchy.caches[hierarchy.routes[PB_MODEL_GLOBAL_CG].caches[0]].is_chip_wide);
        for (size_t i = 0; i < hierarchy.cache_count; i++) {
            struct pb_model_cache *cache = NULL;
            const struct pb_model_level *level = &hierarchy.caches[i];

            if (pb_model_level_open(level, level->fits_bytes, PB_MODEL_ASSUME, 1, &cache, &err) !=
                PB_OK)
                fail_msg("%s: %s", entry->d_name, err.message);
            pb_model_cache_destroy(cache);
        }
        pb_model_hierarchy_clear(&hierarchy);
        json_decref(root.value);
    }
    closedir(folder);
    assert_true(profiles >= 9);
}

static void check_refused(const char *text, const char *device, const char *expected)
{
    struct pb_model_hierarchy hierarchy;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_json root;

    assert_int_equal(pb_json_parse(text, "test", &root, &err), PB_OK);
    assert_int_not_equal(pb_model_hierarchy_from_json(&root, device, &hierarchy, &err), PB_OK);
    if (strstr(err.message, expected) == NULL)
        fail_msg("expected \"%s\" in \"%s\"", expected, err.message);
    json_decref(root.value);
}

static void test_hierarchy__wrong_documents_are_refused_by_their_path(void **state)
{
    (void)state;
    check_refused("[]", NULL, "\"devices\" or \"caches\"");
    check_refused(report, "c.gpu0", "a device c.gpu0");
    check_refused(report, "a.gpu0", "the latency of no cache");
    check_refused(
        "{\"devices\": [{\"memories\": {\"l1\": {\"index_masks\": {\"value\": [\"80\"]}}}}]}", NULL,
        "$.devices[0].memories.l1.index_masks.value[0]");
    check_refused("{\"devices\": [{\"memories\": {\"l1\": 3}}]}", NULL, "$.devices[0].memories.l1");
    check_refused("{\"caches\": [{\"id\": \"l1\", \"line_bytes\": 96}]}", NULL, "$.caches[0]");
    check_refused("{\"caches\": [{\"id\": \"l1\", \"line_bytes\": 128, \"ways\": \"four\"}]}", NULL,
                  "$.caches[0].ways");
    check_refused("{\"caches\": [{\"id\": \"l1\", \"line_bytes\": 128, \"ways\": 4, \"sets\": 8,"
                  "\"index\": {\"kind\": \"xor\", \"masks\": [\"0x80\"]}}]}",
                  NULL, "$.caches[0].index.masks");
    check_refused("{\"caches\": [{\"id\": \"l1\", \"line_bytes\": 128, \"ways\": 4,"
                  "\"policy\": {\"kind\": \"mru\"}}]}",
                  NULL, "$.caches[0].policy.kind");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hierarchy__a_report_gives_what_was_determined),
        cmocka_unit_test(test_hierarchy__the_least_carveout_leaves_the_size_that_was_found),
        cmocka_unit_test(test_hierarchy__an_open_policy_makes_lookups_uncertain),
        cmocka_unit_test(test_hierarchy__every_shipped_profile_is_read),
        cmocka_unit_test(test_hierarchy__wrong_documents_are_refused_by_their_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
