/* What --kernel, --launches and --sms take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "trace/selection.h"

static void test_selection_parse__ranges_are_half_open(void **state)
{
    static const struct {
        const char *text;
        uint64_t first, end;
    } ranges[] = {{"0:1", 0, 1}, {"3:7", 3, 7}, {"5:", 5, UINT64_MAX}, {":4", 0, 4}, {"6", 6, 7}};

    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        struct pb_selection selection;

        assert_int_equal(pb_selection_parse(NULL, ranges[i].text, NULL, &selection, NULL), PB_OK);
        assert_int_equal(selection.first, ranges[i].first);
        assert_int_equal(selection.end, ranges[i].end);
        assert_false(pb_selection_has_launch(&selection, ranges[i].end));
        assert_true(pb_selection_has_launch(&selection, ranges[i].first));
    }
}

static void test_selection_parse__nonsense_is_refused_in_one_line(void **state)
{
    static const struct {
        const char *kernel, *launches, *sms;
    } wrong[] = {{NULL, ":", NULL},
                 {NULL, "", NULL},
                 {NULL, "4:4", NULL},
                 {NULL, "5:2", NULL},
                 {NULL, "1:2x", NULL},
                 {NULL, "-1:2", NULL},
                 {NULL, NULL, "0"},
                 {NULL, NULL, "two"},
                 {NULL, NULL, "4294967296"},
                 {"(", NULL, NULL},
                 {NULL, "99999999999999999999:", NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct pb_selection selection;
        struct pb_error err = PB_ERROR_INIT;

        assert_int_equal(
            pb_selection_parse(wrong[i].kernel, wrong[i].launches, wrong[i].sms, &selection, &err),
            PB_INVALID);
        assert_non_null(strstr(err.message, "expected"));
        assert_null(strchr(err.message, '\n'));
    }
}

static void test_selection_matches__part_of_a_name_is_enough(void **state)
{
    struct pb_selection selection;

    (void)state;
    assert_int_equal(pb_selection_parse("^_Z4c.py", NULL, "4", &selection, NULL), PB_OK);
    assert_true(pb_selection_matches(&selection, "_Z4copyPf"));
    assert_false(pb_selection_matches(&selection, "x_Z4copyPf"));
    assert_int_equal(selection.sm_count, 4);
    pb_selection_clear(&selection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_selection_parse__ranges_are_half_open),
        cmocka_unit_test(test_selection_parse__nonsense_is_refused_in_one_line),
        cmocka_unit_test(test_selection_matches__part_of_a_name_is_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
