/* One cache, one answer: what paths that share a cache stated one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analysis/infer.h"

struct paths {
    struct pb_parameters parameters;
    struct pb_case at;
};

static struct pb_parameter *declare(struct paths *paths, const char *memory, const char *name)
{
    assert_int_equal(
        pb_parameters_declare(&paths->parameters, memory, name, "", "/devices/n1.gpu0", NULL),
        PB_OK);
    return pb_parameters_find(&paths->parameters, memory, name);
}

static void state_size(struct paths *paths, const char *memory, double low, double high)
{
    pb_parameter_set_number(declare(paths, memory, "size_bytes"),
                            (struct pb_estimate){low, low, high}, 0.9, "test");
}

static void state_sets(struct paths *paths, const char *memory, double sets, double ways)
{
    pb_parameter_set_number(declare(paths, memory, "set_count"),
                            (struct pb_estimate){sets, sets, sets}, 0.9, "test");
    pb_parameter_set_number(declare(paths, memory, "way_counts"),
                            (struct pb_estimate){ways, ways, ways}, 0.9, "test");
}

static void share(struct paths *paths, const char *l1_with, const char *readonly_with)
{
    pb_parameter_set_word(declare(paths, "l1", "same_cache_as"), l1_with, 0.9, "test");
    pb_parameter_set_word(declare(paths, "readonly", "same_cache_as"), readonly_with, 0.9, "test");
}

static void settle(struct paths *paths)
{
    paths->at.parameters = &paths->parameters;
    assert_int_equal(pb_infer_agreement(&paths->at, NULL), PB_OK);
}

static const struct pb_parameter *find(const struct paths *paths, const char *memory,
                                       const char *name)
{
    return pb_parameters_find(&paths->parameters, memory, name);
}

static void test_agreement__one_interval_holds_both_sizes(void **state)
{
    struct paths paths = {.parameters = {NULL, 0, 0}};

    (void)state;
    state_size(&paths, "l1", 245760, 262144);
    state_size(&paths, "readonly", 246784, 246784);
    share(&paths, "readonly", "l1");
    settle(&paths);
    for (int i = 0; i < 2; i++) {
        const struct pb_parameter *size = find(&paths, i == 0 ? "l1" : "readonly", "size_bytes");

        assert_true(size->numbers[0].value == 245760 && size->numbers[0].low == 245760);
        assert_true(size->numbers[0].high == 262144);
    }
    pb_parameters_clear(&paths.parameters);
}

static void test_agreement__sets_that_differ_are_nobodys(void **state)
{
    struct paths paths = {.parameters = {NULL, 0, 0}};

    (void)state;
    state_sets(&paths, "l1", 512, 4);
    state_sets(&paths, "readonly", 4, 482);
    share(&paths, "readonly", "texture l1");
    settle(&paths);
    assert_int_equal(find(&paths, "l1", "set_count")->kind, PB_VALUE_NONE);
    assert_int_equal(find(&paths, "readonly", "way_counts")->kind, PB_VALUE_NONE);
    assert_non_null(strstr(find(&paths, "l1", "way_counts")->reason, "share one cache"));
    pb_parameters_clear(&paths.parameters);
}

static void test_agreement__caches_of_their_own_may_differ(void **state)
{
    struct paths paths = {.parameters = {NULL, 0, 0}};

    (void)state;
    state_sets(&paths, "l1", 512, 4);
    state_sets(&paths, "readonly", 4, 96);
    share(&paths, "none", "l1"); /* one side alone is no sharing */
    settle(&paths);
    assert_true(find(&paths, "l1", "set_count")->numbers[0].value == 512);
    assert_true(find(&paths, "readonly", "set_count")->numbers[0].value == 4);
    pb_parameters_clear(&paths.parameters);
}

/* Of an H200 only the global path shows sets: by the read-only one the data are full before. */
static void test_agreement__what_one_path_shows_holds_for_the_other(void **state)
{
    struct paths paths = {.parameters = {NULL, 0, 0}};
    const struct pb_parameter *sets, *policy;

    (void)state;
    state_sets(&paths, "l1", 512, 4);
    pb_parameter_set_word(declare(&paths, "l1", "policy"), "lru", 0.8, "replayed");
    for (int i = 0; i < 3; i++)
        pb_parameter_set_none(
            declare(&paths, "readonly", ((const char *[]){"set_count", "way_counts", "policy"})[i]),
            "no index explains the conflicts");
    share(&paths, "readonly", "l1");
    settle(&paths);
    sets = find(&paths, "readonly", "set_count");
    policy = find(&paths, "readonly", "policy");
    assert_true(sets->kind == PB_VALUE_NUMBER && sets->numbers[0].value == 512);
    assert_true(find(&paths, "readonly", "way_counts")->numbers[0].value == 4);
    assert_non_null(strstr(sets->method, "shared with l1"));
    assert_string_equal(sets->memory, "readonly");
    assert_true(sets->confidence < find(&paths, "l1", "set_count")->confidence);
    assert_string_equal(policy->word, "lru");
    assert_true(find(&paths, "l1", "set_count")->numbers[0].value == 512);
    pb_parameters_clear(&paths.parameters);
}

static void test_agreement__nothing_is_shared_by_what_shares_nothing(void **state)
{
    struct paths paths = {.parameters = {NULL, 0, 0}};

    (void)state;
    state_sets(&paths, "l1", 512, 4);
    pb_parameter_set_none(declare(&paths, "readonly", "set_count"), "open");
    share(&paths, "none", "none");
    settle(&paths);
    assert_int_equal(find(&paths, "readonly", "set_count")->kind, PB_VALUE_NONE);
    assert_string_equal(find(&paths, "readonly", "set_count")->reason, "open");
    pb_parameters_clear(&paths.parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agreement__one_interval_holds_both_sizes),
        cmocka_unit_test(test_agreement__sets_that_differ_are_nobodys),
        cmocka_unit_test(test_agreement__caches_of_their_own_may_differ),
        cmocka_unit_test(test_agreement__what_one_path_shows_holds_for_the_other),
        cmocka_unit_test(test_agreement__nothing_is_shared_by_what_shares_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
