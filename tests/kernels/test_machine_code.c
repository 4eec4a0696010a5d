/*
 * The check of the machine code: what is linked is what was meant, for every architecture.
 *
 * The kernels are read out of the object files of the library itself. A second set of objects holds
 * kernels that are wrong on purpose: the check is worth something because it refuses those.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/objects.h"
#include "kernels/window.h"

struct expectation {
    const char *kernel;
    enum window window;
};

static const struct expectation stamped[] = {
    {"pb_stamp_empty", WINDOW_EMPTY},
    {"pb_stamp_store", WINDOW_STORE},
    {"pb_trace_global_ca", WINDOW_GLOBAL_LOAD},
    {"pb_trace_global_cg", WINDOW_GLOBAL_LOAD},
    {"pb_trace_readonly", WINDOW_GLOBAL_LOAD},
    {"pb_trace_atomic", WINDOW_ATOMIC},
    {"pb_trace_texture", WINDOW_TEXTURE},
    {"pb_trace_texture_2d", WINDOW_TEXTURE},
    {"pb_trace_constant", WINDOW_CONSTANT},
    {"pb_trace_shared", WINDOW_SHARED_LOAD},
    {"pb_cross_trace_global_ca", WINDOW_GLOBAL_LOAD},
    {"pb_cross_trace_global_cg", WINDOW_GLOBAL_LOAD},
    {"pb_cross_trace_readonly", WINDOW_GLOBAL_LOAD},
    {"pb_cross_trace_texture", WINDOW_TEXTURE},
    {"pb_cross_trace_texture_2d", WINDOW_TEXTURE},
    {"pb_conflict_4", WINDOW_SHARED_LOAD},
    {"pb_conflict_8", WINDOW_SHARED_LOAD},
    {"pb_conflict_16", WINDOW_SHARED_LOAD},
};

static const struct expectation timed[] = {
    {"pb_time_global_ca", WINDOW_GLOBAL_LOAD},
    {"pb_time_global_cg", WINDOW_GLOBAL_LOAD},
    {"pb_time_readonly", WINDOW_GLOBAL_LOAD},
    {"pb_time_texture", WINDOW_TEXTURE},
    {"pb_time_texture_2d", WINDOW_TEXTURE},
    {"pb_time_constant", WINDOW_CONSTANT},
    {"pb_time_shared", WINDOW_SHARED_LOAD},
    {"pb_cross_time_global_ca", WINDOW_GLOBAL_LOAD},
    {"pb_cross_time_global_cg", WINDOW_GLOBAL_LOAD},
    {"pb_cross_time_readonly", WINDOW_GLOBAL_LOAD},
    {"pb_cross_time_texture", WINDOW_TEXTURE},
    {"pb_cross_time_texture_2d", WINDOW_TEXTURE},
};

/* The rule that its author would claim for it, and the words in which it must be refused. */
static const struct {
    const char *kernel;
    enum window window;
    const char *reason;
} wrong[] = {
    {"bad_subtract", WINDOW_GLOBAL_LOAD, "expected family 0x181"},
    {"bad_without_store", WINDOW_GLOBAL_LOAD, "expected family 0x188, found opcode 0x805"},
    {"bad_other_store", WINDOW_GLOBAL_LOAD, "stores register"},
    {"bad_arithmetic", WINDOW_GLOBAL_LOAD, "expected family 0x188"},
    {"bad_predicate", WINDOW_GLOBAL_LOAD, "instruction"}, /* differs by architecture */
    {"bad_two_loads", WINDOW_GLOBAL_LOAD, "expected family 0x188"},
    {"bad_wait", WINDOW_GLOBAL_LOAD, "waits for scoreboards"},
    {"bad_texture", WINDOW_TEXTURE, "expected family 0x188"},
    {"bad_constant", WINDOW_CONSTANT, "expected family 0x188"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void check_stamped(const struct objects *objects, unsigned arch)
{
    char reason[REASON_LENGTH];

    for (size_t i = 0; i < COUNT(stamped); i++) {
        struct code code = objects_kernel(objects, stamped[i].kernel, arch);
        if (!window_check(&code, stamped[i].window, reason))
            fail_msg("%s, sm_%u: %s", stamped[i].kernel, arch, reason);
    }
}

static void check_wrong(const struct objects *objects, unsigned arch)
{
    char reason[REASON_LENGTH];

    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct code code = objects_kernel(objects, wrong[i].kernel, arch);
        if (window_check(&code, wrong[i].window, reason))
            fail_msg("%s, sm_%u: passed, though it measures wrongly", wrong[i].kernel, arch);
        if (strstr(reason, wrong[i].reason) == NULL)
            fail_msg("%s, sm_%u: expected \"%s\", found \"%s\"", wrong[i].kernel, arch,
                     wrong[i].reason, reason);
    }
}

static void check_timed(const struct objects *objects, unsigned arch)
{
    for (size_t i = 0; i < COUNT(timed); i++) {
        struct code code = objects_kernel(objects, timed[i].kernel, arch);
        size_t length = window_chain_length(&code, timed[i].window);

        if (length < 8)
            fail_msg("%s, sm_%u: expected 8 dependent loads in a row, found %zu", timed[i].kernel,
                     arch, length);
    }
}

/* Each kernel's window under each other kernel's rule: a window fits one rule only. */
static void check_rules_differ(const struct objects *objects, unsigned arch)
{
    char reason[REASON_LENGTH];

    for (size_t i = 0; i < COUNT(stamped); i++) {
        struct code code = objects_kernel(objects, stamped[i].kernel, arch);
        for (int rule = 0; rule < WINDOW_COUNT; rule++)
            assert_int_equal(window_check(&code, (enum window)rule, reason),
                             rule == (int)stamped[i].window);
    }
}

static unsigned load_modifiers(const struct objects *objects, const char *kernel, unsigned arch)
{
    struct code code = objects_kernel(objects, kernel, arch);
    struct instruction load;

    assert_true(window_load(&code, &load));
    return load.modifiers;
}

static void check_operators(const struct objects *objects, unsigned arch)
{
    unsigned ca = load_modifiers(objects, "pb_trace_global_ca", arch);
    unsigned cg = load_modifiers(objects, "pb_trace_global_cg", arch);
    unsigned nc = load_modifiers(objects, "pb_trace_readonly", arch);

    assert_int_not_equal(ca, cg);
    assert_int_not_equal(ca, nc);
    assert_int_not_equal(cg, nc);
}

static void run(const char *list_path, void (*visit)(const struct objects *objects, unsigned arch))
{
    struct objects objects;

    objects_read(list_path, &objects);
    objects_visit(&objects, visit);
    objects_free(&objects);
}

static void test_stamped_kernels__only_what_is_measured_lies_between_stamps(void **state)
{
    (void)state;
    run(PLUMB_KERNEL_OBJECTS, check_stamped);
}

static void test_stamped_kernels__no_window_fits_another_rule(void **state)
{
    (void)state;
    run(PLUMB_KERNEL_OBJECTS, check_rules_differ);
}

static void test_timed_kernels__loads_are_chained_and_unrolled(void **state)
{
    (void)state;
    run(PLUMB_KERNEL_OBJECTS, check_timed);
}

static void test_bad_kernels__are_refused(void **state)
{
    (void)state;
    run(PLUMB_BAD_OBJECTS, check_wrong);
}

static void test_load_operators__differ_in_the_machine_code(void **state)
{
    (void)state;
    run(PLUMB_KERNEL_OBJECTS, check_operators);
}

static void test_cubin_find__unknown_kernel_is_not_found(void **state)
{
    struct objects objects;
    struct cubin cubin;
    struct code code;
    size_t position = 0;

    (void)state;
    objects_read(PLUMB_KERNEL_OBJECTS, &objects);
    assert_true(cubin_next(&objects.images[0], &position, &cubin));
    assert_false(cubin_find(&cubin, "pb_no_such_kernel", &code));
    objects_free(&objects);
}

static void test_cubin_find__cut_file_is_survived(void **state)
{
    struct objects objects;

    (void)state;
    objects_read(PLUMB_KERNEL_OBJECTS, &objects);
    for (size_t size = 0; size < objects.images[0].size; size += 997) {
        struct file_image cut = {malloc(size + 1), size};
        struct cubin cubin;
        struct code code;
        size_t position = 0;

        assert_non_null(cut.bytes);
        memcpy(cut.bytes, objects.images[0].bytes, size);
        while (cubin_next(&cut, &position, &cubin))
            if (cubin_find(&cubin, "pb_trace_global_ca", &code) && code.count > 0)
                code_at(&code, code.count - 1);
        file_image_free(&cut);
    }
    objects_free(&objects);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stamped_kernels__only_what_is_measured_lies_between_stamps),
        cmocka_unit_test(test_stamped_kernels__no_window_fits_another_rule),
        cmocka_unit_test(test_timed_kernels__loads_are_chained_and_unrolled),
        cmocka_unit_test(test_bad_kernels__are_refused),
        cmocka_unit_test(test_load_operators__differ_in_the_machine_code),
        cmocka_unit_test(test_cubin_find__unknown_kernel_is_not_found),
        cmocka_unit_test(test_cubin_find__cut_file_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
