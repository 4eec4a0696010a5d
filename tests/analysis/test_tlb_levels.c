/* TLB levels by one comparison of hypotheses: random devices, and what they lack. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/blind/profile.h"
#include "analysis/infer.h"
#include "analysis/inference.h"
#include "analysis/selected.h"
#include "analysis/tlb_device.h"
#include "battery/battery.h"
#include "sanitized.h"

/* What other tests would say of the caches. */
static void declare_caches(const struct blind_profile *profile, struct pb_parameters *parameters)
{
    const struct blind_cache *l2 = &profile->caches[BLIND_L2];
    const struct {
        const char *memory, *name;
        double value;
    } known[] = {{"l2", "latency_cycles", l2->latency_cycles},
                 {"l2", "size_bytes", (double)blind_cache_bytes(l2)},
                 {"l2", "line_bytes", (double)l2->line_bytes},
                 {"dram", "latency_cycles", profile->dram_cycles}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        double value = known[i].value;

        assert_int_equal(
            pb_parameters_declare(parameters, known[i].memory, known[i].name, "", "", NULL), PB_OK);
        pb_parameter_set_number(pb_parameters_find(parameters, known[i].memory, known[i].name),
                                (struct pb_estimate){value, value, value}, 0.9, "test");
    }
}

static void declare_levels(struct pb_parameters *parameters)
{
    for (const struct pb_inference *row = pb_inferences; row->memory != NULL; row++)
        for (size_t i = 0; strncmp(row->memory, "tlb_l", 5) == 0 && i < PB_INFERENCE_ANSWERS_MAX &&
                           row->answers[i].name != NULL;
             i++)
            assert_int_equal(pb_parameters_declare(parameters, row->memory, row->answers[i].name,
                                                   row->answers[i].unit, "", NULL),
                             PB_OK);
}

static void measure(const struct blind_profile *profile, struct pb_recording recordings_out[2])
{
    char folder[] = "/tmp/plumb-levels-XXXXXX", path[64];
    struct pb_device_request request = {.profile = path, .seed = 1};
    const struct pb_test **chosen = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_state states[2];
    struct pb_session session;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/profile.json", folder);
    assert_int_equal(blind_write(profile, path), 0);
    assert_int_equal(pb_battery_select(PB_STANDARD, "tlb_reach,tlb_remap", &chosen, &err), PB_OK);
    if (pb_session_open(&pb_device_sim, &request, PB_STANDARD, &session, &err) != PB_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pb_session_run(&session, chosen[i], &recordings_out[i], states, &err),
                         PB_OK);
    pb_session_close(&session);
    free(chosen);
    remove(path);
    rmdir(folder);
}

static void infer(const struct blind_profile *profile, struct pb_parameters *parameters_out)
{
    struct pb_recording recordings[2] = {0};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_case at = {pb_inferences, NULL, recordings, parameters_out};

    memset(parameters_out, 0, sizeof(*parameters_out));
    declare_caches(profile, parameters_out);
    declare_levels(parameters_out);
    measure(profile, recordings);
    assert_int_equal(pb_infer_tlb_levels(&at, &err), PB_OK);
    pb_recording_clear(&recordings[0]);
    pb_recording_clear(&recordings[1]);
}

static void assert_level(const struct pb_parameters *parameters, size_t i,
                         const struct blind_tlb *tlb)
{
    const char memory[] = {'t', 'l', 'b', '_', 'l', (char)('1' + i), '\0'};
    double entries = blind_tlb_entries(tlb), ways[BLIND_SETS_MAX];
    bool equal = true;

    assert_number(parameters, memory, "entry_count", entries, 0.0);
    assert_number(parameters, memory, "entry_coverage_bytes", (double)tlb->span_bytes, 0.0);
    assert_number(parameters, memory, "reach_bytes", entries * (double)tlb->span_bytes, 0.0);
    assert_number(parameters, memory, "set_count", (double)tlb->sets, 0.0);
    assert_number(parameters, memory, "penalty_cycles", tlb->penalty_cycles, 2.0);
    for (size_t set = 0; tlb->mask_count == 0 && set < tlb->sets; set++) {
        ways[set] = tlb->ways[set];
        equal &= tlb->ways[set] == tlb->ways[0];
    }
    assert_numbers(parameters, memory, "way_counts",
                   tlb->mask_count > 0 ? (double[]){tlb->ways[0]} : ways, equal ? 1 : tlb->sets,
                   0.0);
}

/* All levels of a random device exactly, and none that it lacks. */
static void assert_recovered(uint64_t seed)
{
    struct pb_parameters parameters;
    struct blind_profile profile;
    size_t count = 0;

    blind_draw(seed, &profile);
    infer(&profile, &parameters);
    for (; count < BLIND_TLBS && profile.tlbs[count].span_bytes > 0; count++)
        assert_level(&parameters, count, &profile.tlbs[count]);
    for (; count < BLIND_TLBS; count++) {
        const char memory[] = {'t', 'l', 'b', '_', 'l', (char)('1' + count), '\0'};

        assert_open(&parameters, memory, "reach_bytes", "no such level");
    }
    pb_parameters_clear(&parameters);
}

/* Pages of 64 KiB: every load of the wider strides has an entry of its own. */
static void test_levels__small_pages_are_found(void **state)
{
    (void)state;
    assert_recovered(4000006);
}

static void test_levels__three_levels_are_found(void **state)
{
    (void)state;
    assert_recovered(4000032);
}

/* As M16's second level: entries are dealt to sets of unequal ways. */
static void test_levels__unequal_sets_are_found(void **state)
{
    (void)state;
    assert_recovered(1000001);
}

static void test_levels__hashed_sets_are_found(void **state)
{
    (void)state;
    assert_recovered(2000007);
}

/* Neither DRAM's step, nor that of a fourth cache, nor spikes are a level. */
static void test_levels__caches_and_spikes_are_none(void **state)
{
    struct pb_parameters parameters;
    struct blind_profile profile;

    (void)state;
    blind_draw(4000042, &profile);
    assert_int_equal(profile.tlbs[0].span_bytes, 0);
    infer(&profile, &parameters);
    assert_open(&parameters, "tlb_l1", "reach_bytes", "no such level");
    assert_open(&parameters, "tlb_l1", "penalty_cycles", "no such level");
    pb_parameters_clear(&parameters);
    assert_recovered(4000002);
}

/* The sum of two penalties is what a load takes that misses L2: the smaller step shows as well. */
static void test_levels__penalties_that_add_up_to_a_cache_step_are_two(void **state)
{
    (void)state;
    assert_recovered(4000060);
}

/* Both levels of a synthetic device. */
static void assert_two_levels(struct blind_profile *profile, struct blind_tlb first,
                              struct blind_tlb second)
{
    struct pb_parameters parameters;

    profile->tlbs[0] = first;
    profile->tlbs[1] = second;
    infer(profile, &parameters);
    assert_level(&parameters, 0, &first);
    assert_level(&parameters, 1, &second);
    assert_open(&parameters, "tlb_l3", "reach_bytes", "show 2 levels");
    pb_parameters_clear(&parameters);
}

/* A tree of 14 ways begins to miss one entry after the other: random victims of 8 come close. */
static void test_levels__tree_plru_is_found(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    struct blind_profile profile = tlb_device();
    struct blind_tlb first = tlb_level(2 * mib, 20, 1, (const uint32_t[]){16});

    (void)state;
    for (uint32_t ways = 16; ways >= 14; ways -= 2) {
        first.ways[0] = ways;
        first.policy = "plru";
        assert_two_levels(&profile, first, tlb_level(2 * mib, 60, 1, (const uint32_t[]){200}));
    }
}

/* That all ways are full makes one miss bring others: 140 ways, not 139. */
static void test_levels__random_victims_are_counted_exactly(void **state)
{
    (void)state;
    skip_if_sanitized();
    assert_recovered(7500003);
}

/* What its chances are is known without draws, whatever comes behind: 12 ways, not 11. */
static void test_levels__random_victims_before_random_ones_are_counted_exactly(void **state)
{
    (void)state;
    skip_if_sanitized();
    assert_recovered(8500181);
}

/* All loads of a chase hit the second level or none does: they do not count as so many. */
static void test_levels__misses_that_hang_together_weigh_little(void **state)
{
    (void)state;
    skip_if_sanitized();
    assert_recovered(8100466);
}

/* Two sets of 5 with random victims, not LRU of 6, 3 and 3, which explains most loads as well. */
static void test_levels__unequal_sets_must_be_likelier_than_equal_ones(void **state)
{
    (void)state;
    assert_recovered(8500386);
}

/* All strides but the finest come to one set of two. */
static void test_levels__random_victims_of_sets_of_small_entries_are_found(void **state)
{
    static const uint64_t kib = 1 << 10;
    struct blind_profile profile = tlb_device();
    struct blind_tlb second = tlb_level(64 * kib, 60, 2, (const uint32_t[]){87, 87});

    (void)state;
    second.policy = "random";
    assert_two_levels(&profile, tlb_level(64 * kib, 20, 1, (const uint32_t[]){16}), second);
}

/* Sets by parities of several bits, which no number of sets in turn comes near. */
static void test_levels__hashed_sets_with_random_victims_are_counted(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    static const uint64_t masks[] = {1, 18, 36, 8}; /* of entry numbers */
    enum { SETS = 16, WAYS = 4 };
    struct blind_profile profile = tlb_device();
    struct blind_tlb *second = &profile.tlbs[1];
    struct pb_parameters parameters = {0};

    (void)state;
    skip_if_sanitized();
    profile.tlbs[0] = tlb_level(2 * mib, 20, 1, (const uint32_t[]){16});
    *second = tlb_level(32 * mib, 60, 1, (const uint32_t[]){WAYS});
    second->sets = SETS;
    second->policy = "random";
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++)
        second->masks[second->mask_count++] = masks[i] * second->span_bytes;
    selected_infer_profile(&profile, tlb_tests, &parameters);
    assert_number(&parameters, "tlb_l2", "entry_count", SETS * WAYS, 0.0);
    assert_number(&parameters, "tlb_l2", "set_count", SETS, 0.0);
    assert_number(&parameters, "tlb_l2", "way_counts", WAYS, 0.0);
    pb_parameters_clear(&parameters);
}

/* What hits the first level now and then does not come to the second, which keeps others then. */
static void test_levels__lru_behind_random_victims_is_found(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    struct blind_profile profile = tlb_device();
    struct blind_tlb first = tlb_level(2 * mib, 20, 1, (const uint32_t[]){16});

    (void)state;
    skip_if_sanitized();
    first.policy = "random";
    assert_two_levels(&profile, first, tlb_level(2 * mib, 60, 1, (const uint32_t[]){48}));
}

/* A set of the first level that overflows sends several entries to the second at once. */
static void test_levels__unequal_sets_behind_unequal_ones_are_found(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    struct blind_profile profile = tlb_device();

    (void)state;
    assert_two_levels(&profile, tlb_level(16 * mib, 15, 2, (const uint32_t[]){4, 10}),
                      tlb_level(16 * mib, 44, 4, (const uint32_t[]){6, 12, 12, 6}));
    assert_two_levels(&profile, tlb_level(2 * mib, 20, 4, (const uint32_t[]){3, 4, 3, 4}),
                      tlb_level(16 * mib, 84, 2, (const uint32_t[]){10, 6}));
}

/* Its own misses look like those of L2 until the level is known. */
static void test_levels__a_penalty_next_to_a_cache_step_is_stated(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.caches[BLIND_L2].latency_cycles = 123;
    profile.dram_cycles = 123 + 82;
    profile.spike_probability = 1e-3;
    profile.spike_cycles = 897;
    assert_two_levels(&profile, tlb_level(2 * mib, 15, 1, (const uint32_t[]){8}),
                      tlb_level(16 * mib, 83, 6, (const uint32_t[]){10, 12, 10, 16, 10, 16}));
}

/* Spikes show a page with another set than its own. */
static void test_levels__spikes_take_no_page_from_its_set(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.jitter_cycles = 2;
    profile.spike_probability = 1e-2;
    profile.spike_cycles = 1000;
    for (uint32_t ways = 14; ways <= 20; ways += 6)
        assert_two_levels(&profile, tlb_level(2 * mib, 25, 1, (const uint32_t[]){16}),
                          tlb_level(2 * mib, 80, 7, (const uint32_t[]){ways, 8, 8, 8, 8, 8, 8}));
}

/*
 * Every load takes up to 40 cycles more: a step of 12 or 30 shows once that behind it is known,
 * which contains it.
 */
static void test_levels__a_step_within_the_noise_is_found(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.jitter_cycles = 40;
    assert_two_levels(&profile, tlb_level(2 * mib, 12, 1, (const uint32_t[]){16}),
                      tlb_level(32 * mib, 90, 1, (const uint32_t[]){128}));
    assert_two_levels(&profile, tlb_level(16 * mib, 30, 1, (const uint32_t[]){29}),
                      tlb_level(16 * mib, 132, 8, (const uint32_t[]){8, 8, 8, 8, 8, 8, 8, 8}));
}

/* Of noise on one load in twenty some chases have more, by chance: the levels fit all the same. */
static void test_levels__chance_makes_more_noise_in_some_chases(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    struct blind_profile profile = tlb_device();
    struct pb_parameters parameters;

    (void)state;
    profile.jitter_cycles = 2;
    profile.spike_probability = 0.05;
    profile.spike_cycles = 12;
    profile.tlbs[0] = tlb_level(16 * mib, 12, 1, (const uint32_t[]){16});
    profile.tlbs[1] = tlb_level(32 * mib, 80, 1, (const uint32_t[]){200});
    infer(&profile, &parameters);
    for (size_t i = 0; i < 2; i++) {
        const char *memory = i == 0 ? "tlb_l1" : "tlb_l2";

        assert_level(&parameters, i, &profile.tlbs[i]);
        assert_true(pb_parameters_find(&parameters, memory, "set_count")->confidence > 0.943);
    }
    pb_parameters_clear(&parameters);
}

/* Slices of L2 differ by more than a level costs, as a V100's: no line is like another. */
static void test_levels__lines_of_different_times_hide_no_level(void **state)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    struct blind_profile profile = tlb_device();

    (void)state;
    profile.jitter_cycles = 1;
    profile.caches[BLIND_L2].spread_cycles = 72;
    assert_two_levels(&profile, tlb_level(2 * mib, 49, 1, (const uint32_t[]){25}),
                      tlb_level(2 * mib, 54, 1, (const uint32_t[]){175}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels__small_pages_are_found),
        cmocka_unit_test(test_levels__three_levels_are_found),
        cmocka_unit_test(test_levels__unequal_sets_are_found),
        cmocka_unit_test(test_levels__hashed_sets_are_found),
        cmocka_unit_test(test_levels__caches_and_spikes_are_none),
        cmocka_unit_test(test_levels__penalties_that_add_up_to_a_cache_step_are_two),
        cmocka_unit_test(test_levels__tree_plru_is_found),
        cmocka_unit_test(test_levels__random_victims_are_counted_exactly),
        cmocka_unit_test(test_levels__random_victims_before_random_ones_are_counted_exactly),
        cmocka_unit_test(test_levels__misses_that_hang_together_weigh_little),
        cmocka_unit_test(test_levels__unequal_sets_must_be_likelier_than_equal_ones),
        cmocka_unit_test(test_levels__random_victims_of_sets_of_small_entries_are_found),
        cmocka_unit_test(test_levels__hashed_sets_with_random_victims_are_counted),
        cmocka_unit_test(test_levels__lru_behind_random_victims_is_found),
        cmocka_unit_test(test_levels__unequal_sets_behind_unequal_ones_are_found),
        cmocka_unit_test(test_levels__a_penalty_next_to_a_cache_step_is_stated),
        cmocka_unit_test(test_levels__spikes_take_no_page_from_its_set),
        cmocka_unit_test(test_levels__a_step_within_the_noise_is_found),
        cmocka_unit_test(test_levels__chance_makes_more_noise_in_some_chases),
        cmocka_unit_test(test_levels__lines_of_different_times_hide_no_level),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
