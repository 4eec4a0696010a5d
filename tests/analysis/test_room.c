/* Arrays that are given back together: zero, apart, and refused where memory is out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/room.h"

static void test_room__arrays_are_zero_and_apart(void **state)
{
    struct pb_room room = {0};
    struct pb_error err = PB_ERROR_INIT;
    uint64_t *first, *second;

    (void)state;
    assert_non_null(PB_ROOM_ARRAY(&room, first, 100));
    memset(first, 0xff, 100 * sizeof(*first));
    assert_non_null(PB_ROOM_ARRAY(&room, second, 100));
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(first[i], UINT64_MAX);
        assert_int_equal(second[i], 0);
    }
    assert_int_equal(pb_room_status(&room, &err), PB_OK);
    pb_room_clear(&room);
    assert_null(room.parts);
}

/* Also where the number of bytes has no number. */
static void test_room__too_much_is_refused_and_remembered(void **state)
{
    struct pb_room room = {0};
    struct pb_error err = PB_ERROR_INIT;
    uint64_t *small, *large;

    (void)state;
    assert_null(PB_ROOM_ARRAY(&room, large, SIZE_MAX / sizeof(*large) + 1));
    assert_non_null(PB_ROOM_ARRAY(&room, small, 1));
    assert_int_equal(pb_room_status(&room, &err), PB_NO_MEMORY);
    pb_room_clear(&room);
    assert_int_equal(pb_room_status(&room, &err), PB_OK);
}

/* What was written to it is gone; what is larger than all that is left is had anew. */
static void test_room__memory_is_used_again_for_what_it_is_large_enough(void **state)
{
    struct pb_room room = {0};
    struct pb_error err = PB_ERROR_INIT;
    uint64_t *first, *again, *larger;

    (void)state;
    assert_non_null(PB_ROOM_SCRATCH(&room, first, 100));
    memset(first, 0xff, 100 * sizeof(*first));
    pb_room_reuse(&room);
    assert_non_null(PB_ROOM_ARRAY(&room, larger, 101));
    assert_non_null(PB_ROOM_ARRAY(&room, again, 100));
    assert_ptr_equal(again, first);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(again[i], 0);
    assert_int_equal(larger[100], 0);
    assert_int_equal(pb_room_status(&room, &err), PB_OK);
    pb_room_clear(&room);
    assert_null(room.parts);
    assert_null(room.left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room__arrays_are_zero_and_apart),
        cmocka_unit_test(test_room__too_much_is_refused_and_remembered),
        cmocka_unit_test(test_room__memory_is_used_again_for_what_it_is_large_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
