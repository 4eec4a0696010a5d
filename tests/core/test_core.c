/* Core: messages keep their place, JSON errors name the path, recordings grow and are freed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/checksum.h"
#include "core/identity.h"
#include "core/json.h"
#include "core/quantity.h"
#include "core/record.h"
#include "core/text.h"

static void test_error__prefix_keeps_status_and_cause(void **state)
{
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_fail(&err, PB_CORRUPT, "chunk %d", 3), PB_CORRUPT);
    assert_int_equal(pb_error_prefix(&err, "file %s", "a.h5"), PB_CORRUPT);
    assert_string_equal(err.message, "file a.h5: chunk 3");
    assert_int_equal(pb_fail(NULL, PB_IO, "nobody listens"), PB_IO);
}

static void assert_escaped(const char *text, const char *expected)
{
    char once[64], twice[64];

    PB_TEXT_ESCAPE(once, text);
    assert_string_equal(once, expected);
    PB_TEXT_ESCAPE(twice, once);
    assert_string_equal(twice, expected);
}

static void test_text_escape__what_steers_a_terminal_shows_as_bytes(void **state)
{
    (void)state;
    assert_escaped("NVIDIA H200 \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 `$(;)\\",
                   "NVIDIA H200 \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 `$(;)\\");
    assert_escaped("n1\x1b[31m\n\r\t\x7f", "n1\\x1b[31m\\x0a\\x0d\\x09\\x7f");
    assert_escaped("\xc2\x9b"
                   "2J",
                   "\\xc2\\x9b"
                   "2J"); /* CSI in one character */
    assert_escaped("a\xe2\x80\xae"
                   "b",
                   "a\\xe2\\x80\\xae"
                   "b"); /* right to left from here */
}

static void test_text_escape__what_is_no_utf8_shows_as_bytes(void **state)
{
    (void)state;
    assert_escaped("\xff\xc0\x80", "\\xff\\xc0\\x80");          /* NUL in two bytes */
    assert_escaped("\xe2\x82", "\\xe2\\x82");                   /* cut short */
    assert_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* half of a pair */
    assert_escaped("\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"); /* behind the last */
}

static void test_text_escape__is_cut_between_characters(void **state)
{
    char text[6];

    (void)state;
    PB_TEXT_ESCAPE(text, "abc\n");
    assert_string_equal(text, "abc");
    PB_TEXT_ESCAPE(text, "abcd\xc3\xa9");
    assert_string_equal(text, "abcd");
}

static void test_error__a_message_is_one_line_whatever_it_quotes(void **state)
{
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    pb_fail(&err, PB_INVALID, "device \"%s\"", "a\nb");
    pb_error_prefix(&err, "%s", "\x1b]0;x\a.h5");
    assert_string_equal(err.message, "\\x1b]0;x\\x07.h5: device \"a\\x0ab\"");
}

static void test_text_is_host__nothing_that_a_shell_or_slurm_reads(void **state)
{
    static const char *const bad[] = {"",     "-n1", "n1;reboot", "$(id)",
                                      "n1\n", "n 1", "n[1-2]",    "n\xc3\xa9"};

    (void)state;
    assert_true(pb_text_is_host("gpu-a01.rack_3.example.org"));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(pb_text_is_host(bad[i]));
}

static void test_json_of_text__is_always_utf8(void **state)
{
    json_t *plain = pb_json_of_text("a\tb"), *odd = pb_json_of_text("a\xff");

    (void)state;
    assert_string_equal(json_string_value(plain), "a\tb");
    assert_string_equal(json_string_value(odd), "a\\xff");
    json_decref(plain);
    json_decref(odd);
}

static void test_checksum__is_crc32_and_continues(void **state)
{
    uint32_t parts = pb_checksum(pb_checksum(0, "1234", 4), "56789", 5);

    (void)state;
    assert_int_equal(parts, 0xcbf43926u); /* the check value of CRC-32 */
}

static struct pb_json parse(const char *text)
{
    struct pb_json root;

    assert_int_equal(pb_json_parse(text, "x.json", &root, NULL), PB_OK);
    return root;
}

static void test_json__wrong_type_names_file_path_and_both_sides(void **state)
{
    struct pb_json root = parse("{\"caches\": [{\"ways\": \"four\"}]}");
    struct pb_json caches, cache, ways;
    struct pb_error err = PB_ERROR_INIT;
    int64_t value = -7;

    (void)state;
    assert_int_equal(pb_json_member(&root, "caches", true, &caches, &err), PB_OK);
    assert_int_equal(pb_json_element(&caches, 0, &cache, &err), PB_OK);
    assert_int_equal(pb_json_member(&cache, "ways", true, &ways, &err), PB_OK);
    assert_int_equal(pb_json_integer(&ways, 1, 8, &value, &err), PB_INVALID);
    assert_string_equal(err.message,
                        "x.json: $.caches[0].ways: expected an integer, found \"four\"");
    assert_int_equal(value, -7);
    json_decref(root.value);
}

static void test_json__range_missing_and_unknown_keys_are_refused(void **state)
{
    struct pb_json root = parse("{\"a\": 9, \"b\": 1}");
    static const char *const known[] = {"a", NULL};
    struct pb_json child;
    struct pb_error err = PB_ERROR_INIT;
    int64_t value;

    (void)state;
    assert_int_equal(pb_json_member(&root, "a", true, &child, &err), PB_OK);
    assert_int_equal(pb_json_integer(&child, 1, 8, &value, &err), PB_INVALID);
    assert_string_equal(err.message, "x.json: $.a: expected an integer from 1 to 8, found 9");
    assert_int_equal(pb_json_member(&root, "c", true, &child, &err), PB_INVALID);
    assert_string_equal(err.message, "x.json: $.c: expected this key, found nothing");
    assert_int_equal(pb_json_member(&root, "c", false, &child, &err), PB_OK);
    assert_null(child.value);
    assert_int_equal(pb_json_only(&root, known, &err), PB_INVALID);
    assert_string_equal(err.message, "x.json: $.b: expected no such key");
    json_decref(root.value);
}

static void test_json__a_mistyped_key_is_corrected(void **state)
{
    struct pb_json root = parse("{\"polcy\": 1}");
    static const char *const known[] = {"ways", "policy", "sets", NULL};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_json_only(&root, known, &err), PB_INVALID);
    assert_string_equal(err.message, "x.json: $.polcy: expected no such key; did you mean policy?");
    json_decref(root.value);
}

static void test_json__document_that_is_no_object_is_refused_by_its_path(void **state)
{
    static const char *const known[] = {"a", NULL};
    struct pb_json root = parse("null");
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_json_only(&root, known, &err), PB_INVALID);
    assert_string_equal(err.message, "x.json: $: expected an object, found null");
    json_decref(root.value);
}

static void test_json__syntax_error_has_line_and_column(void **state)
{
    struct pb_json root;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_json_parse("{\n \"a\": }", "x.json", &root, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "x.json:2:"));
}

static void test_json__file_that_is_not_there_is_named(void **state)
{
    char folder[] = "/tmp/plumb-core-XXXXXX", path[64];
    struct pb_json root;
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/x.json", folder);
    assert_int_equal(pb_json_load(path, &root, &err), PB_INVALID);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(rmdir(folder), 0);
}

static void test_series__points_own_consecutive_accesses(void **state)
{
    struct pb_recording recording = {.name = "x"};
    uint32_t latency[100];
    uint64_t index[100];
    struct pb_point point = {.count = 100};

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        latency[i] = i;
        index[i] = 8 * (uint64_t)i;
    }
    for (int i = 0; i < 50; i++)
        assert_int_equal(pb_series_append(&recording.series, &point, latency, index, NULL), PB_OK);
    point.count = 0;
    assert_int_equal(pb_series_append(&recording.series, &point, NULL, NULL, NULL), PB_OK);
    assert_int_equal(recording.series.point_count, 51);
    assert_int_equal(recording.series.access_count, 5000);
    assert_int_equal(recording.series.points[49].first, 4900);
    assert_int_equal(recording.series.points[50].first, 5000);
    assert_int_equal(recording.series.index_bytes[4999], 792);
    pb_recording_clear(&recording);
    assert_null(recording.series.points);
    pb_recording_clear(NULL);
}

static void test_matrix__cells_start_as_not_measured(void **state)
{
    static const double numbers[] = {1, 2, 3};
    static const char *const labels[] = {"read", "a label that is much too long for its field"};
    struct pb_recording recording = {.name = "x"};
    struct pb_matrix *matrix = &recording.matrix;

    (void)state;
    assert_int_equal(pb_matrix_size(matrix), 0);
    pb_axis_set_values(&matrix->axes[0], "n", "", "", numbers, 3, NULL);
    pb_axis_set_labels(&matrix->axes[1], "kind", "", labels, 2, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "d", NULL), PB_OK);
    assert_int_equal(matrix->rank, 2);
    assert_int_equal(pb_matrix_size(matrix), 6);
    assert_true(isnan(matrix->values[5]));
    assert_int_equal(strlen(matrix->axes[1].labels[1]), PB_NAME_LENGTH - 1);
    pb_recording_clear(&recording);
}

static void test_outcome__words_go_both_ways(void **state)
{
    (void)state;
    for (int i = PB_TEST_OK; i <= PB_TEST_MISSING; i++)
        assert_int_equal(pb_outcome_parse(pb_outcome_name((enum pb_outcome)i)), i);
    assert_int_equal(pb_outcome_parse("splendid"), PB_TEST_MISSING);
}

static void test_quantity__is_what_people_read(void **state)
{
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {{0.1, "share", "10%"},         {0.0, "excess", "0% above the median"},
                 {1.0, "cycle", "1 cycle"},     {2.5, "median", "2.5 medians"},
                 {3.3e10, "byte/s", "33 GB/s"}, {246784.0, "byte", "241 KiB"}};
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pb_quantity_format(cases[i].value, cases[i].unit, text, sizeof(text));
        assert_string_equal(text, cases[i].text);
    }
    pb_quantity_format_list("[32 null 625.44]", "cycle", text, sizeof(text));
    assert_string_equal(text, "[32 - 625.4] cycles");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error__prefix_keeps_status_and_cause),
        cmocka_unit_test(test_error__a_message_is_one_line_whatever_it_quotes),
        cmocka_unit_test(test_text_escape__what_steers_a_terminal_shows_as_bytes),
        cmocka_unit_test(test_text_escape__what_is_no_utf8_shows_as_bytes),
        cmocka_unit_test(test_text_escape__is_cut_between_characters),
        cmocka_unit_test(test_text_is_host__nothing_that_a_shell_or_slurm_reads),
        cmocka_unit_test(test_json_of_text__is_always_utf8),
        cmocka_unit_test(test_checksum__is_crc32_and_continues),
        cmocka_unit_test(test_json__wrong_type_names_file_path_and_both_sides),
        cmocka_unit_test(test_json__range_missing_and_unknown_keys_are_refused),
        cmocka_unit_test(test_json__a_mistyped_key_is_corrected),
        cmocka_unit_test(test_json__document_that_is_no_object_is_refused_by_its_path),
        cmocka_unit_test(test_json__syntax_error_has_line_and_column),
        cmocka_unit_test(test_json__file_that_is_not_there_is_named),
        cmocka_unit_test(test_series__points_own_consecutive_accesses),
        cmocka_unit_test(test_matrix__cells_start_as_not_measured),
        cmocka_unit_test(test_quantity__is_what_people_read),
        cmocka_unit_test(test_outcome__words_go_both_ways),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
