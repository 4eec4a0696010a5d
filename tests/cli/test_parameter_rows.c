/* Parameters as texts in rows of a fleet file: what fits whole, and what does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "cli/analyze_rows.h"

/* The text of a list of so many times the same number, the last but one NaN. */
static void format(enum pb_value_kind kind, double value, size_t count,
                   struct pb_parameter_row *row)
{
    struct pb_parameter parameter = {.kind = kind, .number_count = count};
    struct pb_parameters set = {.items = &parameter, .count = 1, .capacity = 1};
    struct pb_agreement none = {NULL, 0};
    struct pb_results results = {0};

    for (size_t i = 0; i < count; i++)
        parameter.numbers[i].value = value;
    if (kind == PB_VALUE_LIST && count > 1)
        parameter.numbers[count - 2].value = NAN;
    assert_int_equal(pb_results_add(&results, "n1.gpu0", "GPU", &set, &none, NULL), PB_OK);
    assert_int_equal(pb_results_read(&results, 0, 1, row, NULL), PB_OK);
    pb_results_clear(&results);
}

static void assert_ends(const char *text, const char *ending)
{
    assert_true(strlen(text) >= strlen(ending));
    assert_string_equal(text + strlen(text) - strlen(ending), ending);
}

static void test_parameter_row__lists_are_printed_whole(void **state)
{
    struct pb_parameter_row row;

    (void)state;
    format(PB_VALUE_LIST, 8.5, 3, &row);
    assert_string_equal(row.value, "[8.5, null, 8.5]");
    format(PB_VALUE_LIST, 17, 1, &row);
    assert_string_equal(row.value, "[17]");
    format(PB_VALUE_MASKS, 0x202000000, 2, &row);
    assert_string_equal(row.value, "[0x202000000, 0x202000000]");
    format(PB_VALUE_LIST, 123456, 32, &row); /* as long as a text can be, but for one byte */
    assert_int_equal(strlen(row.value), 8 * 32 - 2);
    assert_ends(row.value, ", 123456, null, 123456]");
}

static void test_parameter_row__a_list_without_room_ends_between_numbers(void **state)
{
    struct pb_parameter_row row;

    (void)state;
    format(PB_VALUE_LIST, 197693826316.5, PB_LIST_MAX, &row);
    assert_ends(row.value, ", 1.976938263e+11, …]");
    format(PB_VALUE_MASKS, 0x1ffffffffff80, PB_LIST_MAX, &row);
    assert_ends(row.value, ", 0x1ffffffffff80, …]");
    assert_in_range(strlen(row.value), 230, PB_MESSAGE_LENGTH - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameter_row__lists_are_printed_whole),
        cmocka_unit_test(test_parameter_row__a_list_without_room_ends_between_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
