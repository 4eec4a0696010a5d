/* A handful of drawn devices: nothing stated is wrong, and five values of six are stated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blind__nothing_stated_is_wrong),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
