/* TLB levels, given and found again; see tlb_device.h. */
#include "analysis/tlb_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analysis/selected.h"

struct blind_profile tlb_device(void)
{
    struct blind_profile profile;
    struct blind_cache *l2 = &profile.caches[BLIND_L2];

    blind_draw(1, &profile);
    *l2 = (struct blind_cache){.id = "l2",
                               .paths = "[\"global_ca\", \"global_cg\", \"texture\"]",
                               .line_bytes = 128,
                               .sector_bytes = 32,
                               .sets = 512,
                               .ways = 16,
                               .policy = "lru",
                               .latency_cycles = 230};
    profile.dram_cycles = 400;
    profile.jitter_cycles = 1;
    profile.spike_probability = 0.0;
    return profile;
}

struct blind_tlb tlb_level(uint64_t span_bytes, uint32_t penalty_cycles, size_t sets,
                           const uint32_t *ways)
{
    struct blind_tlb tlb = {
        .span_bytes = span_bytes, .sets = sets, .penalty_cycles = penalty_cycles};

    memcpy(tlb.ways, ways, sets * sizeof(*ways));
    return tlb;
}

/* The entry's number modulo equal sets; a power of two of them shows as bits of the address. */
static void assert_modulo(const struct pb_parameters *parameters, const char *memory,
                          const struct blind_tlb *tlb)
{
    double masks[BLIND_SETS_MAX];
    size_t count = 0;

    assert_string_equal(selected_find(parameters, memory, "index_kind")->word, "modulo");
    for (size_t bit = 1; bit < tlb->sets; bit *= 2)
        masks[count++] = (double)(bit * tlb->span_bytes);
    if ((tlb->sets & (tlb->sets - 1)) == 0)
        assert_numbers(parameters, memory, "index_masks", masks, count, 0.0);
    else
        assert_open(parameters, memory, "index_masks", "no power of two");
}

void assert_tlb_level(const struct pb_parameters *parameters, const char *memory,
                      const struct blind_tlb *tlb)
{
    double entries = blind_tlb_entries(tlb), ways[BLIND_SETS_MAX];
    bool equal = true;

    for (size_t i = 0; i < tlb->sets; i++) {
        ways[i] = tlb->ways[i];
        equal &= ways[i] == ways[0];
    }
    assert_number(parameters, memory, "entry_count", entries, 0.0);
    assert_number(parameters, memory, "entry_coverage_bytes", (double)tlb->span_bytes, 0.0);
    assert_number(parameters, memory, "reach_bytes", entries * (double)tlb->span_bytes, 0.0);
    assert_number(parameters, memory, "set_count", (double)tlb->sets, 0.0);
    assert_numbers(parameters, memory, "way_counts", ways, equal ? 1 : tlb->sets, 0.0);
    if (tlb->sets == 1)
        assert_open(parameters, memory, "index_masks", "one set needs no index");
    else if (equal)
        assert_modulo(parameters, memory, tlb);
    else
        assert_open(parameters, memory, "index_masks", "neither a modulo nor parities");
    assert_number(parameters, memory, "penalty_cycles", tlb->penalty_cycles, 1.0);
}

const char tlb_tests[] = "clock_overhead,l2_capacity,dram_latency,tlb_reach,tlb_remap";

void assert_tlb_levels(const struct blind_profile *profile)
{
    struct pb_parameters parameters = {0};

    selected_infer_profile(profile, tlb_tests, &parameters);
    assert_tlb_level(&parameters, "tlb_l1", &profile->tlbs[0]);
    assert_tlb_level(&parameters, "tlb_l2", &profile->tlbs[1]);
    assert_open(&parameters, "tlb_l3", "reach_bytes", "show 2 levels");
    pb_parameters_clear(&parameters);
}
