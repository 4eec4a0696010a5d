/* Fields that were added to the schema later: files of before are read, and say that they lack
 * them; a field that every file must have is still missed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/identity.h"
#include "h5schema/object.h"

struct row {
    int64_t before;
    int64_t count;
    double value;
    char text[8];
    int64_t after;
};

#define FIELD(type, member, later)                                                                 \
    {                                                                                              \
#member, PB_FIELD_##type, offsetof(struct row, member), sizeof(((struct row *)0)->member), \
            "", "", later                                                                          \
    }

static const struct pb_field fields_now[] = {FIELD(I64, before, false), FIELD(I64, count, true),
                                             FIELD(F64, value, true), FIELD(TEXT, text, true),
                                             FIELD(I64, after, false)};
static const struct pb_field fields_then[] = {FIELD(I64, before, false), FIELD(I64, after, false)};
static const struct pb_field fields_bad[] = {FIELD(I64, before, false), FIELD(I64, count, true)};

static const struct pb_object now = {"/x", PB_OBJECT_TABLE,    false, fields_now,
                                     5,    sizeof(struct row), ""};
static const struct pb_object then = {"/x", PB_OBJECT_TABLE,    false, fields_then,
                                      2,    sizeof(struct row), ""};
static const struct pb_object bad = {"/x", PB_OBJECT_TABLE,    false, fields_bad,
                                     2,    sizeof(struct row), ""};

static const struct row rows[] = {{1, 2, 3.0, "four", 5}, {6, 7, 8.0, "nine", 10}};

static int open_file(void **state)
{
    hid_t *file = malloc(sizeof(*file));
    hid_t access = pb_h5_access(true);

    if (file == NULL)
        return -1;
    *file = H5Fcreate("later.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    *state = file;
    return *file < 0 ? -1 : 0;
}

static int close_file(void **state)
{
    H5Fclose(*(hid_t *)*state);
    free(*state);
    return 0;
}

static void assert_unknown(const struct row *row, int64_t before, int64_t after)
{
    assert_int_equal(row->before, before);
    assert_int_equal(row->count, -1);
    assert_true(isnan(row->value));
    assert_string_equal(row->text, "");
    assert_int_equal(row->after, after);
}

static void test_later_column__of_an_older_table_is_unknown(void **state)
{
    hid_t file = *(hid_t *)*state;
    struct row *read = NULL;
    size_t count = 0;

    assert_int_equal(pb_h5_write_rows(file, "x", &then, rows, 2, NULL), PB_OK);
    assert_int_equal(pb_h5_read_rows(file, "x", &now, (void **)&read, &count, NULL), PB_OK);
    assert_int_equal(count, 2);
    assert_unknown(&read[0], 1, 5);
    assert_unknown(&read[1], 6, 10);
    free(read);
}

static void test_later_column__that_is_there_is_read(void **state)
{
    hid_t file = *(hid_t *)*state;
    struct row *read = NULL;
    size_t count = 0;

    assert_int_equal(pb_h5_write_rows(file, "x", &now, rows, 2, NULL), PB_OK);
    assert_int_equal(pb_h5_read_rows(file, "x", &now, (void **)&read, &count, NULL), PB_OK);
    assert_int_equal(read[1].count, 7);
    assert_float_equal(read[1].value, 8.0, 0.0);
    assert_string_equal(read[0].text, "four");
    free(read);
}

static void test_other_column__that_is_missing_is_refused(void **state)
{
    hid_t file = *(hid_t *)*state;
    struct pb_error err = PB_ERROR_INIT;
    struct row *read = NULL;
    size_t count = 0;

    assert_int_equal(pb_h5_write_rows(file, "x", &bad, rows, 2, NULL), PB_OK);
    assert_int_equal(pb_h5_read_rows(file, "x", &now, (void **)&read, &count, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "column after is missing"));
}

static void test_later_attribute__of_an_older_group_is_unknown(void **state)
{
    hid_t file = *(hid_t *)*state;
    struct row read;

    assert_int_equal(pb_h5_write_attributes(file, &then, &rows[1], NULL), PB_OK);
    assert_int_equal(pb_h5_read_attributes(file, &now, &read, NULL), PB_OK);
    assert_unknown(&read, 6, 10);
}

static void test_other_attribute__that_is_missing_is_refused(void **state)
{
    hid_t file = *(hid_t *)*state;
    struct pb_error err = PB_ERROR_INIT;
    struct row read;

    assert_int_equal(pb_h5_write_attributes(file, &bad, &rows[1], NULL), PB_OK);
    assert_int_equal(pb_h5_read_attributes(file, &now, &read, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "after"));
}

/* What the schema itself says is later must be what pb_state_clear() says is unknown. */
static void test_later_state__is_as_a_cleared_one(void **state)
{
    const struct pb_object *object = pb_schema_find("/devices/<key>/state");
    struct pb_field kept[64];
    struct pb_object older = *object;
    struct pb_state cleared, *read = NULL;
    size_t count = 0;

    pb_state_clear(&cleared);
    older.fields = kept;
    older.field_count = 0;
    for (size_t i = 0; i < object->field_count; i++)
        if (!object->fields[i].is_later)
            kept[older.field_count++] = object->fields[i];
    assert_true(older.field_count < object->field_count);
    assert_int_equal(pb_h5_write_rows(*(hid_t *)*state, "state", &older, &cleared, 1, NULL), PB_OK);
    assert_int_equal(
        pb_h5_read_rows(*(hid_t *)*state, "state", object, (void **)&read, &count, NULL), PB_OK);
    assert_int_equal(count, 1);
    assert_int_equal(read->nvlinks_up, -1);
    assert_int_equal(read->violation_thermal_ns, -1);
    assert_memory_equal(read, &cleared, sizeof(cleared));
    free(read);
}

#define ON_FILE(test) cmocka_unit_test_setup_teardown(test, open_file, close_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FILE(test_later_column__of_an_older_table_is_unknown),
        ON_FILE(test_later_column__that_is_there_is_read),
        ON_FILE(test_other_column__that_is_missing_is_refused),
        ON_FILE(test_later_attribute__of_an_older_group_is_unknown),
        ON_FILE(test_other_attribute__that_is_missing_is_refused),
        ON_FILE(test_later_state__is_as_a_cleared_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
