/*
 * The papers' tables: what they state of a device, the inference must return from what the battery
 * records on its simulation. One test a table, the table's numbers in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "analysis/recordings.h"

enum { KIB = 1024, MIB = 1024 * KIB };

/* Devices are measured once, and asked by many tests. */
enum { GTX560TI, GTX780, GTX980, GTX470, GTX470_48K, DEVICES };

static struct pb_parameters devices[DEVICES];

static int measure_devices(void **state)
{
    static const char *const profiles[DEVICES] = {"gtx560ti", "gtx780", "gtx980", "gtx470",
                                                  "gtx470_48k"};

    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        static struct recordings recordings;
        struct pb_error err = PB_ERROR_INIT;

        if (recordings_measure(profiles[i], 1, &recordings, &err) != PB_OK ||
            recordings_infer(&recordings, &devices[i], &err) != PB_OK) {
            print_error("%s: %s\n", profiles[i], err.message);
            return -1;
        }
        recordings_clear(&recordings);
    }
    return 0;
}

static int forget_devices(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++)
        pb_parameters_clear(&devices[i]);
    return 0;
}

static const struct pb_parameter *find(int device, const char *memory, const char *name)
{
    const struct pb_parameter *parameter = pb_parameters_find(&devices[device], memory, name);

    if (parameter == NULL)
        fail_msg("%s.%s is not in the table", memory, name);
    if (parameter->kind == PB_VALUE_NONE)
        fail_msg("device %d: %s.%s has no value: %s", device, memory, name, parameter->reason);
    return parameter;
}

static void assert_close(int device, const char *memory, const char *name, double value,
                         double tolerance)
{
    const struct pb_parameter *parameter = find(device, memory, name);

    if (!(fabs(parameter->numbers[0].value - value) <= tolerance))
        fail_msg("device %d: %s.%s: expected %g, found %g", device, memory, name, value,
                 parameter->numbers[0].value);
}

static void assert_exact(int device, const char *memory, const char *name, double value)
{
    assert_close(device, memory, name, value, 0.0);
}

static void assert_list(int device, const char *memory, const char *name, const double *values,
                        size_t count, double tolerance)
{
    const struct pb_parameter *parameter = find(device, memory, name);

    assert_int_equal(parameter->number_count, count);
    for (size_t i = 0; i < count; i++) {
        double found = parameter->numbers[i].value;

        if (isnan(values[i]) ? !isnan(found) : !(fabs(found - values[i]) <= tolerance))
            fail_msg("device %d: %s.%s[%zu]: expected %g, found %g", device, memory, name, i,
                     values[i], found);
    }
}

static void assert_word(int device, const char *memory, const char *name, const char *word)
{
    assert_string_equal(find(device, memory, name)->word, word);
}

static void assert_cache(int device, const char *memory, double size, double line, double sets,
                         double ways)
{
    assert_exact(device, memory, "size_bytes", size);
    assert_exact(device, memory, "line_bytes", line);
    assert_exact(device, memory, "set_count", sets);
    assert_exact(device, memory, "way_counts", ways);
}

/* Cache size, line, sets and LRU; ways are what makes them agree. */
static void test_m16_table_v__fermi_l1_data_cache(void **state)
{
    (void)state;
    assert_cache(GTX560TI, "l1", 16 * KIB, 128, 32, 4);
    assert_word(GTX560TI, "l1", "policy", "weighted");
}

static void test_m16_table_v__tlbs(void **state)
{
    static const double ways[] = {17, 8, 8, 8, 8, 8, 8};

    (void)state;
    for (int device = GTX560TI; device <= GTX980; device++) {
        assert_exact(device, "tlb_l1", "reach_bytes", 32.0 * MIB);
        assert_exact(device, "tlb_l1", "page_bytes", 2.0 * MIB);
        assert_exact(device, "tlb_l1", "entry_count", 16);
        assert_exact(device, "tlb_l1", "way_counts", 16); /* one set */
        assert_exact(device, "tlb_l2", "reach_bytes", 130.0 * MIB);
        assert_exact(device, "tlb_l2", "entry_coverage_bytes", 2.0 * MIB);
        assert_exact(device, "tlb_l2", "entry_count", 65);
        assert_list(device, "tlb_l2", "way_counts", ways, 7, 0.0);
    }
}

static void test_m16_table_v__texture_and_read_only_caches(void **state)
{
    (void)state;
    assert_cache(GTX560TI, "texture", 12 * KIB, 32, 4, 96);
    assert_cache(GTX780, "texture", 12 * KIB, 32, 4, 96);
    assert_cache(GTX780, "readonly", 12 * KIB, 32, 4, 96);
    assert_word(GTX780, "texture", "policy", "lru");
    assert_word(GTX780, "readonly", "same_cache_as", "texture");
    assert_cache(GTX980, "l1", 24 * KIB, 32, 4, 192);
    assert_word(GTX980, "l1", "policy", "lru");
    assert_word(GTX980, "l1", "same_cache_as", "readonly texture");
}

/* M16 4.3: the 7-8th bits of the address determine the set. */
static void test_m16_section_4_3__texture_sets_by_bits_7_and_8(void **state)
{
    static const double masks[] = {0x80, 0x100};

    (void)state;
    assert_word(GTX780, "texture", "index_kind", "xor");
    assert_list(GTX780, "texture", "index_masks", masks, 2, 0.0);
}

/* M16 4.5: way 2 is three times as likely to be replaced as the others. */
static void test_m16_section_4_5__fermi_victims(void **state)
{
    static const double probabilities[] = {1.0 / 6, 1.0 / 2, 1.0 / 6, 1.0 / 6};

    (void)state;
    assert_list(GTX560TI, "l1", "way_eviction_probabilities", probabilities, 4, 0.03);
}

/* M16 4.6: about 2/3 of L2 is fetched ahead of a first chase; its lines are 32 bytes all the same.
 */
static void test_m16_section_4_6__l2_prefetch(void **state)
{
    static const double l2_bytes[] = {512 * KIB, 1536 * KIB, 2048 * KIB};

    (void)state;
    for (int device = GTX560TI; device <= GTX980; device++) {
        assert_close(device, "l2", "prefetch_bytes", l2_bytes[device] * 2 / 3, 4096);
        assert_exact(device, "l2", "size_bytes", l2_bytes[device]);
        assert_exact(device, "l2", "line_bytes", 32);
        assert_exact(device, "l2", "sector_bytes", 32);
    }
}

static void test_m16_table_vi__throughput(void **state)
{
    (void)state;
    assert_close(GTX560TI, "dram", "peak_bytes_per_s", 109.38e9, 0.01e9);
    assert_close(GTX780, "dram", "peak_bytes_per_s", 215.92e9, 0.02e9);
    assert_close(GTX980, "dram", "peak_bytes_per_s", 156.25e9, 0.02e9);
}

/* The table's GB/s for one SM: 34.90, 83.81, 137.41 at 0.950, 1.006, 1.279 GHz. */
static void test_m16_table_vii__shared_throughput(void **state)
{
    (void)state;
    assert_close(GTX560TI, "shared", "peak_bytes_per_cycle_per_sm", 34.90 / 0.950, 0.1);
    assert_close(GTX780, "shared", "peak_bytes_per_cycle_per_sm", 83.81 / 1.006, 0.1);
    assert_close(GTX980, "shared", "peak_bytes_per_cycle_per_sm", 137.41 / 1.279, 0.1);
}

static void test_m16_table_viii__bank_conflicts(void **state)
{
    static const double fermi[] = {87, 162, 311, 611, 1209};
    static const double maxwell[] = {30, 34, 42, 58, 90};

    (void)state;
    assert_exact(GTX560TI, "shared", "latency_cycles", 50);
    assert_exact(GTX780, "shared", "latency_cycles", 47);
    assert_exact(GTX980, "shared", "latency_cycles", 28);
    assert_list(GTX560TI, "shared", "conflict_cycles", fermi, 5, 1.0);
    assert_list(GTX980, "shared", "conflict_cycles", maxwell, 5, 1.0);
    assert_exact(GTX560TI, "shared", "bank_bytes", 4);
    assert_exact(GTX780, "shared", "bank_bytes", 8);
    assert_exact(GTX980, "shared", "bank_bytes", 4);
}

/* Figure 14's table, loads past L1; and the first pattern through it. */
static void test_m16_section_5_2__latency_patterns(void **state)
{
    static const double gtx980[] = {214, 225, 289, 383, 2461, 2750};
    static const double gtx780[] = {198, 204, 257, 339, 702, 968};
    static const double gtx560ti[] = {351, 378, 462, 619, 1225, NAN};

    (void)state;
    assert_list(GTX980, "l2", "pattern_cycles", gtx980, 6, 1.0);
    assert_list(GTX780, "l2", "pattern_cycles", gtx780, 6, 1.0);
    assert_list(GTX560TI, "l2", "pattern_cycles", gtx560ti, 6, 1.0);
    assert_close(GTX980, "l1", "pattern_cycles", 82, 1.0);
    assert_close(GTX560TI, "l1", "pattern_cycles", 96, 1.0);
}

/* M14 left its stamps in: 32 cycles more than M16 on Kepler, 20 on Fermi. */
static void test_m14_table_3__latency_patterns(void **state)
{
    static const double kepler[] = {230 - 32, 236 - 32, 289 - 32, 371 - 32, 734 - 32, 1000 - 32};
    static const double fermi[] = {371 - 20, 398 - 20, 482 - 20, 639 - 20, 1245 - 20, NAN};

    (void)state;
    assert_list(GTX780, "l2", "pattern_cycles", kepler, 6, 1.0);
    assert_list(GTX560TI, "l2", "pattern_cycles", fermi, 6, 1.0);
    assert_close(GTX560TI, "l1", "pattern_cycles", 116 - 20, 1.0);
}

/* Size, line, sets and whether the policy is LRU. */
static void test_m14_table_4__common_caches(void **state)
{
    (void)state;
    assert_cache(GTX560TI, "l1", 16 * KIB, 128, 32, 4);
    assert_true(strcmp(find(GTX560TI, "l1", "policy")->word, "lru") != 0);
    assert_cache(GTX560TI, "texture", 12 * KIB, 32, 4, 96);
    assert_word(GTX560TI, "texture", "policy", "lru");
    assert_exact(GTX560TI, "tlb_l1", "reach_bytes", 32.0 * MIB);
    assert_exact(GTX780, "tlb_l2", "reach_bytes", 130.0 * MIB);
    assert_int_equal(find(GTX780, "tlb_l2", "way_counts")->number_count, 7);
}

static void test_m14_table_5__texture_latency(void **state)
{
    (void)state;
    assert_close(GTX560TI, "texture", "latency_cycles", 240 - 20, 1.0);
    assert_close(GTX780, "texture", "latency_cycles", 110 - 32, 1.0);
}

/* N14 5.1: bits 7 to 11, each with one of 13, 14, 15, 17 and 19. */
static void test_n14_section_5_1__set_hash_of_16_kb(void **state)
{
    static const double masks[] = {0x2080, 0x4100, 0x8200, 0x20400, 0x80800};

    (void)state;
    assert_cache(GTX470, "l1", 16 * KIB, 128, 32, 4);
    assert_word(GTX470, "l1", "index_kind", "xor");
    assert_list(GTX470, "l1", "index_masks", masks, 5, 0.0);
}

/* The larger configuration: bit 12 as one more. */
static void test_n14_section_5_1__set_hash_of_48_kb(void **state)
{
    const struct pb_parameter *masks = find(GTX470_48K, "l1", "index_masks");

    (void)state;
    assert_cache(GTX470_48K, "l1", 48 * KIB, 128, 64, 6);
    assert_int_equal(masks->number_count, 6);
    assert_true(((uint64_t)masks->numbers[5].value & 0x1000) != 0);
}

static void test_n14_section_5_2__misses_under_way(void **state)
{
    (void)state;
    assert_exact(GTX470, "mshr", "outstanding_per_warp", 6);
    assert_exact(GTX470, "mshr", "outstanding_per_sm", 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_m16_table_v__fermi_l1_data_cache),
        cmocka_unit_test(test_m16_table_v__tlbs),
        cmocka_unit_test(test_m16_table_v__texture_and_read_only_caches),
        cmocka_unit_test(test_m16_section_4_3__texture_sets_by_bits_7_and_8),
        cmocka_unit_test(test_m16_section_4_5__fermi_victims),
        cmocka_unit_test(test_m16_section_4_6__l2_prefetch),
        cmocka_unit_test(test_m16_table_vi__throughput),
        cmocka_unit_test(test_m16_table_vii__shared_throughput),
        cmocka_unit_test(test_m16_table_viii__bank_conflicts),
        cmocka_unit_test(test_m16_section_5_2__latency_patterns),
        cmocka_unit_test(test_m14_table_3__latency_patterns),
        cmocka_unit_test(test_m14_table_4__common_caches),
        cmocka_unit_test(test_m14_table_5__texture_latency),
        cmocka_unit_test(test_n14_section_5_1__set_hash_of_16_kb),
        cmocka_unit_test(test_n14_section_5_1__set_hash_of_48_kb),
        cmocka_unit_test(test_n14_section_5_2__misses_under_way),
    };

    return cmocka_run_group_tests(tests, measure_devices, forget_devices);
}
