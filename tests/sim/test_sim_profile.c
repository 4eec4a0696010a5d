/*
 * Profiles: every wrong, missing or unknown key is refused with its path, and the shipped ones hold
 * the values of their sources.
 */
#include "sim/simtest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Changes one place of the base profile (NULL: deletes it) and expects this refusal. */
struct change {
    const char *path, *json, *message;
};

static void expect_refused(const struct change *change)
{
    json_t *root = simtest_profile();
    struct pb_json at = {root, "p.json", "$"};
    struct pb_sim_profile *profile = NULL;
    struct pb_error err = PB_ERROR_INIT;
    char expected[PB_ERROR_LENGTH];

    simtest_set(root, change->path, change->json);
    snprintf(expected, sizeof(expected), "p.json: $%s", change->message);
    assert_int_equal(pb_sim_profile_read(&at, &profile, &err), PB_INVALID);
    assert_string_equal(err.message, expected);
    assert_null(profile);
    json_decref(root);
}

/* Keys that have no default. */
static const char *const required_keys[] = {"name",
                                            "source",
                                            "compute_capability",
                                            "sm_count",
                                            "clock_mhz",
                                            "memory_bytes",
                                            "clock_overhead_cycles",
                                            "caches",
                                            "tlbs",
                                            "dram",
                                            "shared",
                                            "mshr",
                                            "noise",
                                            "caches/0/id",
                                            "caches/0/paths",
                                            "caches/0/line_bytes",
                                            "caches/0/sector_bytes",
                                            "caches/0/sets",
                                            "caches/0/ways",
                                            "caches/0/index",
                                            "caches/0/index/kind",
                                            "caches/0/policy",
                                            "caches/0/policy/kind",
                                            "caches/0/latency_cycles",
                                            "tlbs/1/id",
                                            "tlbs/1/page_bytes",
                                            "tlbs/1/entry_span_bytes",
                                            "tlbs/1/ways",
                                            "tlbs/1/policy",
                                            "tlbs/1/penalty_cycles",
                                            "dram/latency_cycles",
                                            "dram/bandwidth_bytes_per_s",
                                            "dram/theoretical_bytes_per_s",
                                            "shared/bytes_per_sm",
                                            "shared/banks",
                                            "shared/bank_bytes",
                                            "shared/latency_cycles",
                                            "shared/conflict_cycles",
                                            "shared/peak_bytes_per_cycle",
                                            "mshr/per_sm",
                                            "mshr/per_warp",
                                            "noise/jitter_cycles",
                                            "noise/spike_probability",
                                            "noise/spike_cycles"};

/* "caches/0/id" is ".caches[0].id" in messages. */
static void name_key(const char *path, char *text_out, size_t size)
{
    size_t length = 0;

    text_out[0] = '\0';
    for (const char *c = path; c[0] != '\0'; c++) {
        const char *format = c == path ? ".%c" : "%c";

        if (c[0] == '/' && c[1] >= '0' && c[1] <= '9')
            length += (size_t)snprintf(text_out + length, size - length, "[%c]", *++c);
        else
            length += (size_t)snprintf(text_out + length, size - length, format,
                                       c[0] == '/' ? '.' : c[0]);
    }
}

static void test_profile__missing_keys_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(required_keys); i++) {
        char key[64], message[128];

        name_key(required_keys[i], key, sizeof(key));
        snprintf(message, sizeof(message), "%s: expected this key, found nothing", key);
        expect_refused(&(struct change){required_keys[i], NULL, message});
    }
}

static void test_profile__unknown_keys_are_named(void **state)
{
    static const struct change changes[] = {
        {"colour", "1", ".colour: expected no such key"},
        {"caches/1/way", "1", ".caches[1].way: expected no such key; did you mean ways?"},
        {"caches/0/index/masks", "[]", ".caches[0].index.masks: expected no such key"},
        {"caches/0/policy/weights", "[1]", ".caches[0].policy.weights: expected no such key"},
        {"tlbs/0/hash", "{}", ".tlbs[0].hash: expected no such key"},
        {"tlbs/0/index", "{\"kind\": \"modulo\", \"masks\": []}",
         ".tlbs[0].index.masks: expected no such key"},
        {"dram/size", "1", ".dram.size: expected no such key"},
        {"shared/conflict_cycles/3", "40", ".shared.conflict_cycles.3: expected no such key"},
        {"shared/ports", "1", ".shared.ports: expected no such key"},
        {"mshr/per_gpu", "1", ".mshr.per_gpu: expected no such key; did you mean per_sm?"},
        {"noise/colour", "1", ".noise.colour: expected no such key"},
        {"l2_sides", "{\"near\": 1}", ".l2_sides.near: expected no such key"},
        {"study", "{\"jump\": {}}", ".study.jump: expected no such key"},
        {"study", "{\"sync\": {\"cost\": 1}}", ".study.sync.cost: expected no such key"},
        {"study", "{\"coalesce\": {\"cost\": 1}}", ".study.coalesce.cost: expected no such key"},
        {"study", "{\"spill\": {\"cost\": 1}}", ".study.spill.cost: expected no such key"},
        {"link", "{\"nvlink\": 1}", ".link.nvlink: expected no such key"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++)
        expect_refused(&changes[i]);
}

static void test_profile__values_out_of_type_or_range_are_refused(void **state)
{
    static const struct change changes[] = {
        {"name", "1", ".name: expected a string, found 1"},
        {"name", "\"\"", ".name: expected a text of 1 to 127 bytes, found \"\""},
        {"compute_capability", "\"8\"",
         ".compute_capability: expected MAJOR.MINOR such as \"3.5\", found \"8\""},
        {"compute_capability", "8.0", ".compute_capability: expected a string, found 8"},
        {"sm_count", "0", ".sm_count: expected an integer from 1 to 4096, found 0"},
        {"sm_count", "2.5", ".sm_count: expected an integer, found 2.5"},
        {"clock_mhz", "\"fast\"", ".clock_mhz: expected a number, found \"fast\""},
        {"tlbs/0/page_bytes", "3000000",
         ".tlbs[0].page_bytes: expected a power of two, found 3000000"},
        {"tlbs/0/entry_span_bytes", "1048576",
         ".tlbs[0].entry_span_bytes: expected an integer from 2097152 to 70368744177664, found "
         "1048576"},
        {"shared/banks", "31", ".shared.banks: expected a power of two, found 31"},
        {"shared/conflict_cycles/4", "31",
         ".shared.conflict_cycles.4: expected a number from 32 to 1e+06, found 31"},
        {"shared/conflict_cycles", "{}",
         ".shared.conflict_cycles: expected at least one of the keys 2, 4, 8, 16 and 32, found "
         "an object"},
        {"mshr/per_warp", "65", ".mshr.per_warp: expected an integer from 1 to 64, found 65"},
        {"noise/spike_probability", "1.5",
         ".noise.spike_probability: expected a number from 0 to 1, found 1.5"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++)
        expect_refused(&changes[i]);
}

static void test_profile__values_of_caches_out_of_type_or_range_are_refused(void **state)
{
    static const struct change changes[] = {
        {"caches", "{}", ".caches: expected an array, found an object"},
        {"caches/0", "[]", ".caches[0]: expected an object, found an array of 0"},
        {"caches/0/line_bytes", "96", ".caches[0].line_bytes: expected a power of two, found 96"},
        {"caches/0/sector_bytes", "256",
         ".caches[0].sector_bytes: expected an integer from 8 to 128, found 256"},
        {"caches/0/ways", "\"four\"", ".caches[0].ways: expected an integer, found \"four\""},
        {"caches/0/ways", "0", ".caches[0].ways: expected an integer from 1 to 65536, found 0"},
        {"caches/0/ways", "[4, 4, 0, 4]",
         ".caches[0].ways[2]: expected an integer from 1 to 65536, found 0"},
        {"caches/0/latency_cycles", "0",
         ".caches[0].latency_cycles: expected a number from 1 to 1e+06, found 0"},
        {"caches/0/policy/kind", "\"mru\"",
         ".caches[0].policy.kind: expected lru, fifo, plru, random, weighted or keep_hits, found "
         "\"mru\""},
        {"caches/0/index/kind", "\"hash\"",
         ".caches[0].index.kind: expected modulo or xor, found \"hash\""},
        {"caches/0/unified_with_shared", "1",
         ".caches[0].unified_with_shared: expected true or false, found 1"},
        {"caches/0/prefetch_bytes", "-1",
         ".caches[0].prefetch_bytes: expected an integer from 0 to 1099511627776, found -1"},
        {"caches/0/prefetch_first_walk_only", "2",
         ".caches[0].prefetch_first_walk_only: expected true or false, found 2"},
        {"caches/0/prefetch_first_walk_only", "true",
         ".caches[0].prefetch_first_walk_only: expected prefetch_bytes beside it, found true"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++)
        expect_refused(&changes[i]);
}

static void test_profile__contradictions_are_refused(void **state)
{
    static const struct change changes[] = {
        {"caches/1/id", "\"l1\"", ".caches[1].id: expected an id that is used once, found \"l1\""},
        {"tlbs/0/id", "\"l2\"", ".tlbs[0].id: expected an id that is used once, found \"l2\""},
        {"caches/0/paths", "[\"shared\"]",
         ".caches[0].paths[0]: expected global_ca, global_cg, readonly, texture or constant, "
         "found \"shared\""},
        {"caches/0/paths", "[\"texture_2d\"]",
         ".caches[0].paths[0]: expected global_ca, global_cg, readonly, texture or constant, "
         "found \"texture_2d\""},
        {"caches/0/paths", "[\"texture\", \"texture\"]",
         ".caches[0].paths[1]: expected each path once, found \"texture\""},
        {"caches/0/paths", "[]",
         ".caches[0].paths: expected an array of 1 to 5 elements, found an array of 0"},
        {"caches/0/ways", "[4, 4, 4]",
         ".caches[0].ways: expected one entry for each of 4 sets, found an array of 3"},
        {"caches/0/index", "{\"kind\": \"xor\", \"masks\": [\"0x80\"]}",
         ".caches[0].index.masks: expected as many masks as index bits of 4 sets, found an array "
         "of 1"},
        {"caches/0/index", "{\"kind\": \"xor\", \"masks\": [\"0x80\", \"128\"]}",
         ".caches[0].index.masks[1]: expected a hex mask such as \"0x80\", found \"128\""},
        {"caches/0/index", "{\"kind\": \"xor\", \"masks\": [\"0x40\", \"0x80\"]}",
         ".caches[0].index.masks[0]: expected no bits within a line of 128 bytes, found "
         "\"0x40\""},
        {"caches/0/index", "{\"kind\": \"xor\", \"masks\": [\"0x180\", \"0x180\"]}",
         ".caches[0].index.masks[1]: expected a mask that is no XOR of the ones before it, found "
         "\"0x180\""},
        {"caches/0/policy", "{\"kind\": \"weighted\", \"weights\": [1, 2, 3]}",
         ".caches[0].policy.weights: expected a weight for each of 4 ways, found an array of 3"},
        {"caches/0/policy", "{\"kind\": \"weighted\", \"weights\": [0, 0, 0, 0]}",
         ".caches[0].policy.weights: expected at least one weight above 0, found an array of 4"},
        {"caches/1/latency_cycles", "30",
         ".caches[1].latency_cycles: expected more than the 30 of \"l1\", which comes before it, "
         "found 30"},
        {"dram/bandwidth_bytes_per_s", "2e11",
         ".dram.bandwidth_bytes_per_s: expected no more than theoretical_bytes_per_s (1.25e+11), "
         "found 2e+11"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++)
        expect_refused(&changes[i]);
}

static void test_profile__optional_parts_are_refused_when_malformed(void **state)
{
    static const struct change changes[] = {
        {"l2_sides", "{\"mask\": \"0x80\"}",
         ".l2_sides.far_latency_cycles: expected this key, found nothing"},
        {"l2_sides", "{\"far_latency_cycles\": 300}",
         ".l2_sides.mask: expected this key, found nothing"},
        {"l2_sides", "{\"far_latency_cycles\": 199, \"mask\": \"0x80\"}",
         ".l2_sides.far_latency_cycles: expected a number from 200 to 1e+06, found 199"},
        {"l2_sides", "{\"far_latency_cycles\": 300, \"mask\": \"0x40\"}",
         ".l2_sides.mask: expected no bits within a line of 128 bytes, found \"0x40\""},
        {"l2_sides", "{\"far_latency_cycles\": 300, \"mask\": \"0x80\", \"gpc_sms\": [1, 2]}",
         ".l2_sides.gpc_sms: expected 2 SMs in all, found an array of 2"},
        {"l2_sides", "{\"far_latency_cycles\": 300, \"mask\": \"0x80\", \"gpc_cycles\": [1]}",
         ".l2_sides.gpc_cycles: expected an array of 2 to 2 elements, found an array of 1"},
        {"l2_sides", "{\"far_latency_cycles\": 300, \"mask\": \"0x80\", \"gpc_cycles\": [1, -200]}",
         ".l2_sides.gpc_cycles[1]: expected a number from -199 to 200, found -200"},
        {"l2_sides", "{\"far_latency_cycles\": 300, \"mask\": \"0x80\", \"slices\": 0}",
         ".l2_sides.slices: expected an integer from 1 to 65536, found 0"},
        {"layout", "{\"tpc_sms\": 0}", ".layout.tpc_sms: expected an integer from 1 to 2, found 0"},
        {"layout", "{\"tpc_slowdown\": 0.5}",
         ".layout.tpc_slowdown: expected a number from 1 to 100, found 0.5"},
        {"layout", "{\"cluster_max\": 32}",
         ".layout.cluster_max: expected an integer from 0 to 16, found 32"},
        {"study", "[]", ".study: expected an object, found an array of 0"},
        {"study", "{\"sync\": 1}", ".study.sync: expected an object, found 1"},
        {"study", "{\"sync\": {\"write_cycles\": 0}}",
         ".study.sync.write_cycles: expected a number from 1 to 1e+06, found 0"},
        {"study", "{\"coalesce\": {\"group_lanes\": 12}}",
         ".study.coalesce.group_lanes: expected a power of two, found 12"},
        {"study", "{\"spill\": {\"variables\": \"all\"}}",
         ".study.spill.variables: expected an integer, found \"all\""},
        {"caches/0/miss_cycles", "-1",
         ".caches[0].miss_cycles: expected a number from 0 to 1e+06, found -1"},
        {"caches/0/tlb_detour_cycles", "\"far\"",
         ".caches[0].tlb_detour_cycles: expected a number, found \"far\""},
        {"caches/0/skips_tlb", "1", ".caches[0].skips_tlb: expected true or false, found 1"},
        {"link", "{\"pcie_generation\": 7}",
         ".link.pcie_generation: expected an integer from 1 to 6, found 7"},
        {"link", "{\"pcie_width\": 12}", ".link.pcie_width: expected a power of two, found 12"},
        {"link", "{\"pageable_share\": 2}",
         ".link.pageable_share: expected a number from 0.01 to 1, found 2"},
        {"shared/achieved_bytes_per_cycle", "129",
         ".shared.achieved_bytes_per_cycle: expected a number from 0.01 to 128, found 129"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(changes); i++)
        expect_refused(&changes[i]);
}

/* A profile of design 3.4 alone has all of the optional parts by default. */
static void test_profile__optional_parts_have_defaults(void **state)
{
    json_t *root = simtest_profile();
    struct pb_sim_profile *profile = simtest_read(root);

    (void)state;
    assert_float_equal(profile->sides.far_latency_cycles, 0, 0);
    assert_float_equal(profile->shared.achieved_bytes_per_cycle, 128, 0);
    assert_float_equal(profile->study.barrier_cycles, 30, 0);
    assert_int_equal(profile->study.group_lanes, 32);
    assert_int_equal(profile->study.spill_variables, 64);
    assert_float_equal(profile->study.spilled_cycles, 30, 0);
    assert_int_equal(profile->link.pcie_generation, 4);
    assert_int_equal(profile->link.pcie_width, 16);
    pb_sim_profile_free(profile);
    json_decref(root);
}

static void test_profile__unequal_ways_are_the_sets(void **state)
{
    json_t *root = simtest_profile();
    struct pb_sim_profile *profile;

    (void)state;
    simtest_set(root, "caches/0/ways", "[4, 2, 1]");
    simtest_set(root, "caches/0/sets", NULL);
    profile = simtest_read(root);
    assert_int_equal(profile->caches[0].shape.set_count, 3);
    assert_int_equal(pb_sim_shape_bytes(&profile->caches[0].shape), 7 * 128);
    pb_sim_profile_free(profile);
    json_decref(root);
}

static void test_load__unknown_names_say_where_they_were_looked_for(void **state)
{
    struct pb_sim_profile *profile = NULL;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    setenv("PLUMB_PROFILE_DIR", "/nowhere", 1);
    assert_int_equal(pb_sim_profile_load("gtx7800", &profile, &err), PB_NOT_FOUND);
    unsetenv("PLUMB_PROFILE_DIR");
    assert_non_null(strstr(err.message, "expected gtx7800.json in one of /nowhere, "));
    assert_non_null(strstr(err.message, "; did you mean gtx780?"));
    assert_int_equal(pb_sim_profile_load("./no.json", &profile, &err), PB_NOT_FOUND);
    assert_string_equal(err.message, "profile ./no.json: no such file, or not readable");
    assert_null(profile);
}

static void test_load__the_folder_of_the_environment_comes_first(void **state)
{
    char folder[] = "/tmp/plumb-test-XXXXXX", file[64];
    struct pb_sim_profile *profile = NULL;
    json_t *root = simtest_profile();

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof(file), "%s/h200.json", folder);
    assert_int_equal(json_dump_file(root, file, 0), 0);
    setenv("PLUMB_PROFILE_DIR", folder, 1);
    assert_int_equal(pb_sim_profile_load("h200", &profile, NULL), PB_OK);
    assert_string_equal(profile->name, "Test GPU");
    unsetenv("PLUMB_PROFILE_DIR");
    unlink(file);
    rmdir(folder);
    pb_sim_profile_free(profile);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile__missing_keys_are_named),
        cmocka_unit_test(test_profile__unknown_keys_are_named),
        cmocka_unit_test(test_profile__values_out_of_type_or_range_are_refused),
        cmocka_unit_test(test_profile__values_of_caches_out_of_type_or_range_are_refused),
        cmocka_unit_test(test_profile__contradictions_are_refused),
        cmocka_unit_test(test_profile__optional_parts_are_refused_when_malformed),
        cmocka_unit_test(test_profile__optional_parts_have_defaults),
        cmocka_unit_test(test_profile__unequal_ways_are_the_sets),
        cmocka_unit_test(test_load__unknown_names_say_where_they_were_looked_for),
        cmocka_unit_test(test_load__the_folder_of_the_environment_comes_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
