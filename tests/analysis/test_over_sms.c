/*
 * Latencies over all SMs: devices with known truth whose GPCs lie nearer and farther, and chases
 * that show nothing of a latency.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/selected.h"
#include "analysis/tlb_device.h"

static const char tests_by_one[] =
    "clock_overhead,clock_calibration,l1_capacity,l2_capacity,readonly_capacity,texture_capacity,"
    "constant_capacity,constant_line,constant_l15_capacity,dram_latency,tlb_reach";
static const char tests_by_all[] =
    "clock_overhead,clock_calibration,l1_capacity,l2_capacity,readonly_capacity,texture_capacity,"
    "constant_capacity,constant_line,constant_l15_capacity,dram_latency,tlb_reach,sm_misses,"
    "sm_latency";

/*
 * 16 SMs in four GPCs; every chase that may run anywhere runs on the first one. L2 takes 200
 * cycles, DRAM 500, a miss of the TLBs 20 and 80, less or more by the GPC.
 */
static const char profile[] =
    "{\"name\": \"custom\", \"source\": \"a test\", \"compute_capability\": \"7.0\","
    " \"sm_count\": 16, \"clock_mhz\": 1000, \"memory_bytes\": 21474836480,"
    " \"clock_overhead_cycles\": 14, \"caches\": ["
    " {\"id\": \"l1\", \"paths\": [\"global_ca\", \"readonly\", \"texture\"], \"line_bytes\": 128,"
    "  \"sector_bytes\": 128, \"sets\": 32, \"ways\": 4, \"index\": {\"kind\": \"modulo\"},"
    "  \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 30},"
    " {\"id\": \"constant_l1\", \"paths\": [\"constant\"], \"line_bytes\": 64,"
    "  \"sector_bytes\": 64, \"sets\": 8, \"ways\": 4, \"index\": {\"kind\": \"modulo\"},"
    "  \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 25},"
    " {\"id\": \"constant_l15\", \"paths\": [\"constant\"], \"line_bytes\": 256,"
    "  \"sector_bytes\": 256, \"sets\": 16, \"ways\": 8, \"index\": {\"kind\": \"modulo\"},"
    "  \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 90},"
    " {\"id\": \"l2\", \"paths\": [\"global_ca\", \"global_cg\", \"readonly\", \"texture\","
    "  \"constant\"], \"line_bytes\": 128, \"sector_bytes\": 32, \"sets\": 512, \"ways\": 16,"
    "  \"index\": {\"kind\": \"modulo\"}, \"policy\": {\"kind\": \"lru\"},"
    "  \"latency_cycles\": 200}],"
    " \"tlbs\": [{\"id\": \"tlb_l1\", \"page_bytes\": 2097152, \"entry_span_bytes\": 2097152,"
    "  \"ways\": [16], \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 20},"
    " {\"id\": \"tlb_l2\", \"page_bytes\": 2097152, \"entry_span_bytes\": 2097152, \"ways\": [%d],"
    "  \"policy\": {\"kind\": \"lru\"}, \"penalty_cycles\": 80}],"
    " \"dram\": {\"latency_cycles\": 500, \"bandwidth_bytes_per_s\": 2e11,"
    "  \"theoretical_bytes_per_s\": 2.5e11},"
    " \"shared\": {\"bytes_per_sm\": 49152, \"banks\": 32, \"bank_bytes\": 4,"
    "  \"latency_cycles\": 21, \"peak_bytes_per_cycle\": 128, \"conflict_cycles\": {\"2\": 37}},"
    " \"mshr\": {\"per_sm\": 37, \"per_warp\": 10},"
    " \"l2_sides\": {\"far_latency_cycles\": 300, \"mask\": \"0x1000\", \"gpc_sms\": [4, 4, 4, 4],"
    "  \"gpc_cycles\": [%d, %d, 0, 10]},"
    " \"noise\": {\"jitter_cycles\": 1, \"spike_probability\": 1e-4, \"spike_cycles\": 300}}";

static void infer(const char *tests, int second_entries, int first_gpc, int second_gpc,
                  struct pb_parameters *parameters_out)
{
    char path[] = "/tmp/plumb-test-sms-XXXXXX.json";
    int file = mkstemps(path, 5);

    assert_true(file >= 0);
    assert_true(dprintf(file, profile, second_entries, first_gpc, second_gpc) > 0);
    close(file);
    selected_infer(path, tests, parameters_out);
    remove(path);
}

/* All that lies behind the SMs, `place` cycles farther than the profile has it. */
static void assert_places(const struct pb_parameters *parameters, double place)
{
    static const char *const caches[] = {"l1", "readonly", "texture", "constant_l15"};

    for (size_t i = 0; i < sizeof(caches) / sizeof(caches[0]); i++)
        assert_number(parameters, caches[i], "miss_latency_cycles", 200 + place, 1);
    assert_number(parameters, "l2", "miss_latency_cycles", 500 + place, 1);
    assert_number(parameters, "dram", "latency_cycles", 500 + place, 1);
    assert_number(parameters, "tlb_l1", "penalty_cycles", 20, 0.5);
    assert_number(parameters, "tlb_l2", "penalty_cycles", 80 + place, 1);
    assert_number(parameters, "l1", "latency_cycles", 30, 0.5);
    assert_number(parameters, "constant_l15", "latency_cycles", 90, 0.6);
}

/* The first GPC is 20 cycles nearer on one device and 20 farther on the other. */
static void test_over_sms__states_the_same_of_chips_that_lie_otherwise(void **state)
{
    struct pb_parameters near, far;
    const struct pb_parameter *miss;

    (void)state;
    infer(tests_by_all, 64, -20, 30, &near);
    infer(tests_by_all, 64, 30, -20, &far);
    assert_places(&near, 5);
    assert_places(&far, 5);
    miss = selected_find(&near, "l1", "miss_latency_cycles");
    assert_true(miss->numbers[0].low <= 180.0 && miss->numbers[0].high >= 230.0);
    assert_non_null(strstr(miss->method, "one SM's trace: 180.0"));
    assert_non_null(strstr(miss->evidence, "/sm_misses"));
    pb_parameters_clear(&near);
    pb_parameters_clear(&far);
}

/* A file without these chases: what one SM showed stands. */
static void test_over_sms__without_their_chases_one_sm_speaks(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    infer(tests_by_one, 64, -20, 30, &parameters);
    assert_number(&parameters, "l1", "miss_latency_cycles", 180, 0.5);
    assert_number(&parameters, "constant_l15", "miss_latency_cycles", 180, 0.5);
    assert_number(&parameters, "tlb_l2", "penalty_cycles", 60, 1);
    pb_parameters_clear(&parameters);
}

/* 64 pages miss both levels, so their load pairs show no level's penalty. */
static void test_over_sms__load_pairs_that_miss_both_levels_show_none(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    infer(tests_by_all, 40, -20, 30, &parameters);
    assert_number(&parameters, "tlb_l1", "penalty_cycles", 20, 0.5);
    assert_number(&parameters, "tlb_l2", "penalty_cycles", 60, 1);
    assert_non_null(
        strstr(selected_find(&parameters, "tlb_l1", "penalty_cycles")->evidence, "/tlb_reach"));
    pb_parameters_clear(&parameters);
}

/* 512 lines 133 lines apart, in 59 of 413 sets of eight ways: they do not all stay in L2. */
static void test_over_sms__passes_that_crowd_few_sets_are_not_of_l2(void **state)
{
    struct pb_parameters parameters = {0};
    struct blind_profile random;

    (void)state;
    blind_draw(1000335, &random);
    random.caches[BLIND_L2].policy = "random";
    selected_infer_profile(&random, "clock_overhead,clock_calibration,l2_capacity,sm_latency",
                           &parameters);
    assert_number(&parameters, "l2", "latency_cycles", 130, 0.5);
    pb_parameters_clear(&parameters);
}

/* Too little memory for chases in DRAM: L2's misses miss a TLB of 14 entries of 64 KiB as well. */
static void test_over_sms__misses_of_a_sweep_beyond_the_tlb_are_a_bound(void **state)
{
    static const uint32_t entries = 14;
    struct blind_profile device = tlb_device();
    struct pb_parameters parameters = {0};
    const struct pb_estimate *misses;

    (void)state;
    device.memory_bytes = (uint64_t)16 << 20;
    device.caches[BLIND_L2].ways = 2;
    device.dram_cycles = 350;
    device.tlbs[0] = tlb_level(65536, 26, 1, &entries);
    device.tlbs[1] = (struct blind_tlb){0};
    selected_infer_profile(&device, "clock_overhead,l2_capacity,dram_latency,tlb_reach,tlb_remap",
                           &parameters);
    misses = selected_find(&parameters, "l2", "miss_latency_cycles")->numbers;
    assert_true(misses->low <= 350.0 && 350.0 <= misses->high);
    pb_parameters_clear(&parameters);
}

/* Lines that an L2 of 1.5 MiB with random victims has lost are in an L3 of 3 MiB, or in DRAM. */
static void test_over_sms__misses_that_a_third_cache_answers_first_are_its(void **state)
{
    struct blind_profile device = tlb_device();
    struct blind_cache *l2 = &device.caches[BLIND_L2], *l3 = &device.caches[BLIND_FOURTH];
    struct pb_parameters parameters = {0};
    const struct pb_estimate *misses;

    (void)state;
    l2->line_bytes = 64;
    l2->sets = 1536;
    l2->latency_cycles = 351;
    l2->policy = "random";
    *l3 = *l2;
    l3->id = "l3";
    l3->sector_bytes = 64;
    l3->sets = 3072;
    l3->policy = "lru";
    l3->latency_cycles = 485;
    device.dram_cycles = 619;
    selected_infer_profile(&device, "clock_overhead,l2_capacity,dram_latency,tlb_reach,tlb_remap",
                           &parameters);
    misses = selected_find(&parameters, "l2", "miss_latency_cycles")->numbers;
    assert_true(misses->low <= 486.0);
    pb_parameters_clear(&parameters);
}

/*
 * L3s that hide behind L2: no larger than it, so that DRAM answers beside it from the first miss
 * on; 23 cycles behind it and of the size that the driver calls L2's; behind random victims, of
 * which an array that loses few of its first lines in order loses nearly all.
 */
static void test_over_sms__an_l3_that_hides_answers_misses(void **state)
{
    static const struct {
        uint32_t line_bytes, l2_sets, l2_ways, l3_sets, l3_ways;
        const char *l2_policy;
        uint32_t l2_cycles, l3_cycles, dram_cycles, entries;
    } devices[] = {
        {128, 16384, 2, 4096, 8, "random", 139, 223, 563, 0},
        {32, 8192, 8, 32768, 8, "plru", 176, 199, 427, 2},
        {128, 3072, 2, 32768, 9, "random", 239, 449, 583, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct blind_profile device = tlb_device();
        struct blind_cache *l2 = &device.caches[BLIND_L2], *l3 = &device.caches[BLIND_FOURTH];
        struct pb_parameters parameters = {0};
        const struct pb_estimate *misses;

        l2->line_bytes = devices[i].line_bytes;
        l2->sector_bytes = 32;
        l2->sets = devices[i].l2_sets;
        l2->ways = devices[i].l2_ways;
        l2->policy = devices[i].l2_policy;
        l2->latency_cycles = devices[i].l2_cycles;
        *l3 = *l2;
        l3->id = "l3";
        l3->sets = devices[i].l3_sets;
        l3->ways = devices[i].l3_ways;
        l3->policy = "lru";
        l3->latency_cycles = devices[i].l3_cycles;
        device.dram_cycles = devices[i].dram_cycles;
        if (devices[i].entries > 0) {
            device.tlbs[0] = tlb_level(2097152, 60, 1, &devices[i].entries);
            device.tlbs[1] = (struct blind_tlb){0};
        }
        selected_infer_profile(&device, "clock_overhead,l2_capacity,dram_latency,tlb_reach",
                               &parameters);
        misses = selected_find(&parameters, "l2", "miss_latency_cycles")->numbers;
        assert_true(misses->low <= devices[i].l3_cycles + 1.0);
        assert_number(&parameters, "l2", "latency_cycles", devices[i].l2_cycles, 6.0);
        pb_parameters_clear(&parameters);
    }
}

/*
 * Entries of 4 KiB: no near load finds its first translation, some find the second one. Loads in
 * order do, and misses that pages turn at are no distance of a prefetch.
 */
static void test_over_sms__dram_answers_loads_that_have_their_translation(void **state)
{
    static const uint32_t first[] = {24, 24}, second = 144;
    static const char *const tests[] = {
        "clock_overhead,l2_capacity,dram_latency,tlb_reach,sm_misses",
        "clock_overhead,l2_capacity,l2_line,dram_latency,tlb_reach,prefetch"};
    struct blind_profile device = tlb_device();
    struct pb_parameters parameters = {0};
    const struct pb_parameter *dram;

    (void)state;
    device.dram_cycles = 679;
    device.tlbs[0] = tlb_level(4096, 402, 2, first);
    device.tlbs[1] = tlb_level(65536, 40, 1, &second);
    selected_infer_profile(&device, tests[0], &parameters);
    assert_open(&parameters, "dram", "latency_cycles", "miss the TLB");
    pb_parameters_clear(&parameters);
    selected_infer_profile(&device, tests[1], &parameters);
    assert_number(&parameters, "dram", "latency_cycles", 679, 1);
    assert_number(&parameters, "l2", "prefetch_bytes", 0, 0);
    dram = selected_find(&parameters, "dram", "latency_cycles");
    assert_non_null(strstr(dram->evidence, "/prefetch"));
    assert_true(dram->numbers[0].high - dram->numbers[0].low < 10.0);
    pb_parameters_clear(&parameters);
}

/* One entry of 64 KiB: few near loads find it, and are one kind with those of the second level. */
static void test_over_sms__rare_translated_loads_are_found(void **state)
{
    static const uint32_t first = 1, second[] = {3, 3, 3, 3, 3};
    struct blind_profile device = tlb_device();
    struct pb_parameters parameters = {0};

    (void)state;
    device.dram_cycles = 654;
    device.tlbs[0] = tlb_level(65536, 12, 1, &first);
    device.tlbs[1] = tlb_level(65536, 42, 5, second);
    selected_infer_profile(&device, "clock_overhead,l2_capacity,dram_latency", &parameters);
    assert_number(&parameters, "dram", "latency_cycles", 654, 1);
    pb_parameters_clear(&parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_over_sms__states_the_same_of_chips_that_lie_otherwise),
        cmocka_unit_test(test_over_sms__without_their_chases_one_sm_speaks),
        cmocka_unit_test(test_over_sms__load_pairs_that_miss_both_levels_show_none),
        cmocka_unit_test(test_over_sms__passes_that_crowd_few_sets_are_not_of_l2),
        cmocka_unit_test(test_over_sms__misses_of_a_sweep_beyond_the_tlb_are_a_bound),
        cmocka_unit_test(test_over_sms__misses_that_a_third_cache_answers_first_are_its),
        cmocka_unit_test(test_over_sms__an_l3_that_hides_answers_misses),
        cmocka_unit_test(test_over_sms__dram_answers_loads_that_have_their_translation),
        cmocka_unit_test(test_over_sms__rare_translated_loads_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
