/*
 * Levels of translation of simulated devices that reach as far as memory, or farther: hashed ones,
 * and a third one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/selected.h"
#include "analysis/tlb_device.h"

static const uint64_t mib = (uint64_t)1 << 20;

/* Where misses show only so far apart that an entry may cover less, what all reach is certain. */
static void test_tlb__a_reach_beyond_memory_shows_by_one_block(void **state)
{
    static const char *const phases[] = {"stride4", "stride8", "stride16", "stride64", NULL};
    struct blind_profile profile = tlb_device();
    struct pb_parameters parameters = {0};

    (void)state;
    profile.tlbs[0] = tlb_level(16 * mib, 20, 1, (const uint32_t[]){12});
    profile.tlbs[1] =
        tlb_level(16 * mib, 70, 8, (const uint32_t[]){29, 29, 29, 29, 29, 29, 29, 37});
    selected_infer_without(&profile,
                           "clock_overhead,l2_capacity,l2_line,l2_sets,dram_latency,tlb_reach,"
                           "tlb_remap",
                           phases, &parameters);
    assert_number(&parameters, "tlb_l2", "reach_bytes", 240.0 * 16.0 * (double)mib, 0.0);
    pb_parameters_clear(&parameters);
    assert_tlb_levels(&profile);
}

/* Sets by parities of address bits: one of them each, and no other yet. */
static struct blind_tlb set_hashed(uint64_t span_bytes, uint32_t penalty_cycles, size_t bits,
                                   uint32_t ways)
{
    struct blind_tlb tlb = {.span_bytes = span_bytes,
                            .sets = (size_t)1 << bits,
                            .mask_count = bits,
                            .ways = {ways},
                            .penalty_cycles = penalty_cycles};

    for (size_t i = 0; i < bits; i++)
        tlb.masks[i] = span_bytes << i;
    return tlb;
}

static void assert_hashed(const struct pb_parameters *parameters, const struct blind_tlb *tlb)
{
    double masks[BLIND_MASKS_MAX], sets = (double)tlb->sets, ways = tlb->ways[0];

    for (size_t i = 0; i < tlb->mask_count; i++)
        masks[i] = (double)tlb->masks[i];
    assert_number(parameters, "tlb_l2", "entry_coverage_bytes", (double)tlb->span_bytes, 0.0);
    assert_number(parameters, "tlb_l2", "entry_count", sets * ways, 0.0);
    assert_number(parameters, "tlb_l2", "set_count", sets, 0.0);
    assert_number(parameters, "tlb_l2", "way_counts", ways, 0.0);
    assert_numbers(parameters, "tlb_l2", "index_masks", masks, tlb->mask_count, 0.0);
    assert_string_equal(selected_find(parameters, "tlb_l2", "index_kind")->word, "xor");
}

/*
 * As in NVIDIA's since Ampere: 256 sets, that a fold of address bits chooses. Memory holds all that
 * the level reaches, or next to nothing of it.
 */
static void test_tlb__a_hash_is_found_with_any_memory(void **state)
{
    static const uint64_t memory_gib[] = {140, 3};

    (void)state;
    for (size_t i = 0; i < sizeof(memory_gib) / sizeof(memory_gib[0]); i++) {
        struct blind_profile profile = tlb_device();
        struct pb_parameters parameters = {0};

        profile.memory_bytes = memory_gib[i] << 30;
        profile.tlbs[0] = tlb_level(16 * mib, 10, 1, (const uint32_t[]){16});
        profile.tlbs[1] = set_hashed(32 * mib, 94, 8, 8);
        for (size_t bit = 0; bit < 5; bit++)
            profile.tlbs[1].masks[bit] |= (uint64_t)0x200000000 << bit;
        selected_infer_profile(&profile, tlb_tests, &parameters);
        assert_hashed(&parameters, &profile.tlbs[1]);
        pb_parameters_clear(&parameters);
    }
}

/* Three levels, of which the last reaches 128 GiB, as Zhang et al. found in an A100. */
static void test_tlb__three_levels_are_three(void **state)
{
    struct blind_profile profile = tlb_device();
    struct pb_parameters parameters = {0};
    const struct pb_estimate *found;

    (void)state;
    profile.memory_bytes = (uint64_t)140 << 30;
    profile.tlbs[0] = tlb_level(2 * mib, 40, 1, (const uint32_t[]){32});
    profile.tlbs[1] = set_hashed(32 * mib, 120, 8, 8);
    profile.tlbs[2] = set_hashed(32 * mib, 300, 9, 8);
    selected_infer_profile(&profile, tlb_tests, &parameters);
    assert_number(&parameters, "tlb_l2", "entry_count", 2048.0, 0.0);
    assert_number(&parameters, "tlb_l3", "entry_coverage_bytes", 32.0 * (double)mib, 0.0);
    found = selected_find(&parameters, "tlb_l3", "entry_count")->numbers;
    assert_true(found->low <= 4096.0 && 4096.0 <= found->high);
    assert_number(&parameters, "tlb_l3", "penalty_cycles", 300.0, 1.0);
    pb_parameters_clear(&parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tlb__a_reach_beyond_memory_shows_by_one_block),
        cmocka_unit_test(test_tlb__a_hash_is_found_with_any_memory),
        cmocka_unit_test(test_tlb__three_levels_are_three),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
