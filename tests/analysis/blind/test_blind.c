/*
 * A handful of drawn devices: nothing stated is wrong, and five values of six are stated. Of those
 * that once went wrong or left a cache open, everything about their caches is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/blind/recover.h"

static void test_blind__nothing_stated_is_wrong(void **state)
{
    static const uint64_t seeds[] = {2, 3, 4, 5, 6, 7};
    char folder[] = "/tmp/test-blind-XXXXXX";
    size_t exact = 0, open = 0;

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        struct blind_result results[BLIND_RESULTS_MAX];
        struct blind_profile profile;
        size_t count;

        blind_draw(seeds[i], &profile);
        count = blind_recover(&profile, folder, results);
        if (count == 0)
            fail_msg("seed %llu: %s", (unsigned long long)seeds[i], results[0].detail);
        for (size_t k = 0; k < count; k++) {
            if (results[k].verdict == BLIND_WRONG)
                fail_msg("seed %llu: %s: %s", (unsigned long long)seeds[i], results[k].name,
                         results[k].detail);
            exact += results[k].verdict == BLIND_EXACT;
            open += results[k].verdict == BLIND_NULL;
        }
    }
    remove(folder);
    assert_true(6 * open <= exact + open);
}

/*
 * 407  spikes that look like misses: strays in all ways, lines of other sets among a set's
 * 430  an uneven texture cache whose tree-PLRU shows four lines at a time
 * 441  misses and spikes in one band: the edge by its bounds, and by its sets
 * 463  an L2 smaller than the walk that is to miss L1
 * 515  a hashed L2 of random victims: laps of one or two misses
 * 533  an L2 of 64-byte lines whose misses end at multiples of 256 bytes
 * 557  a tree-PLRU of 25 ways that shows one line a lap
 * 839  TLB entries of eight pages, at strides that seem to say one
 */
static void test_blind__devices_that_once_went_wrong_are_found(void **state)
{
    static const uint64_t seeds[] = {407, 430, 441, 463, 515, 533, 557, 839};
    char folder[] = "/tmp/test-blind-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        struct blind_result results[BLIND_RESULTS_MAX];
        struct blind_profile profile;
        size_t count;

        blind_draw(seeds[i], &profile);
        count = blind_recover(&profile, folder, results);
        assert_true(count > 0);
        for (size_t k = 0; k < count; k++) {
            if (strncmp(results[k].name, "l1.", 3) != 0 &&
                strncmp(results[k].name, "l2.", 3) != 0 &&
                strncmp(results[k].name, "texture.", 8) != 0 &&
                strncmp(results[k].name, "tlb_", 4) != 0)
                continue;
            if (results[k].verdict != BLIND_EXACT)
                fail_msg("seed %llu: %s: %s", (unsigned long long)seeds[i], results[k].name,
                         results[k].detail);
        }
    }
    remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blind__nothing_stated_is_wrong),
        cmocka_unit_test(test_blind__devices_that_once_went_wrong_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
