/* The word that a mistyped one was meant to be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/suggest.h"

static const char *nearest(const char *word)
{
    static const char *const words[] = {"backend", "battery", "baseline", "tests", "seed"};
    struct pb_suggestion suggestion = {.word = word};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        pb_suggest(&suggestion, words[i]);
    return suggestion.best;
}

static void test_suggest__one_change_of_each_kind(void **state)
{
    (void)state;
    assert_string_equal(nearest("batery"), "battery");   /* left out */
    assert_string_equal(nearest("batttery"), "battery"); /* added */
    assert_string_equal(nearest("bettery"), "battery");  /* replaced */
    assert_string_equal(nearest("abttery"), "battery");  /* exchanged */
    assert_string_equal(nearest("sede"), "seed");
}

static void test_suggest__an_exchange_is_one_change(void **state)
{
    struct pb_suggestion suggestion = {.word = "ab"};

    (void)state;
    pb_suggest(&suggestion, "ba");
    assert_string_equal(suggestion.best, "ba");
    assert_int_equal(suggestion.changes, 1);
}

static void test_suggest__nothing_near_is_nothing(void **state)
{
    (void)state;
    assert_null(nearest("frobnicate"));
    assert_null(nearest(""));
    assert_null(nearest("a-word-that-is-longer-than-any-option-of-ours-is"));
}

static void test_suggest__the_nearest_wins_whatever_the_order(void **state)
{
    (void)state;
    assert_string_equal(nearest("backends"), "backend");
    assert_string_equal(nearest("test"), "tests");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_suggest__one_change_of_each_kind),
        cmocka_unit_test(test_suggest__an_exchange_is_one_change),
        cmocka_unit_test(test_suggest__nothing_near_is_nothing),
        cmocka_unit_test(test_suggest__the_nearest_wins_whatever_the_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
