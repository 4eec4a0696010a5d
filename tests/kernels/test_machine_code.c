/*
 * The check of the machine code: what is linked is what was meant, for every architecture. Every
 * kernel that reads the clock is in one of the lists below.
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

#include "kernels/kernels.h"
#include "kernels/objects.h"
#include "kernels/parallel.h"
#include "kernels/region.h"
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

/* Laps: dependent loads, and nothing that the first read of the clock could overlap with. */
#define LAPS(kernel, access, size)                                                                 \
    {                                                                                              \
        kernel, access, size, 0, 8, true, {ACCESS_NONE}, false                                     \
    }

/* Reads of all threads: none waits for another of its own thread before so many have begun. */
#define READS(kernel, access, size, at_once, beside)                                               \
    {                                                                                              \
        kernel, access, size, at_once, 0, false, {beside}, false                                   \
    }

/* Writes and additions: all of them have arrived at the end. */
#define WRITES(kernel, access, size, beside)                                                       \
    {                                                                                              \
        kernel, access, size, 0, 0, false, {beside}, true                                          \
    }

#define WORK(reader, word, in_shared)                                                              \
    "_Z12pb_work_readI" reader word "Lb" in_shared "EEv14pb_kernel_work"
#define WORKS(reader, access, in_shared)                                                           \
    READS(WORK(reader, "j", in_shared), access, SIZE_32, PB_KERNEL_WORK_AT_ONCE, ACCESS_NONE),     \
        READS(WORK(reader, "5uint2", in_shared), access, SIZE_64, PB_KERNEL_WORK_AT_ONCE,          \
              ACCESS_NONE),                                                                        \
        READS(WORK(reader, "5uint4", in_shared), access, SIZE_128, PB_KERNEL_WORK_AT_ONCE,         \
              ACCESS_NONE)
#define COPIES(ilp)                                                                                \
    READS("_Z14pb_shared_copyILi" #ilp "EEv23pb_kernel_shared_stream", ACCESS_LDS, SIZE_32, ilp,   \
          ACCESS_STS)
#define PAIRS(kind) "_Z15pb_pairs_of_smsIL20pb_kernel_pairs_kind" #kind "EEv15pb_kernel_pairs"

static const struct region_rule timed[] = {
    LAPS("pb_time_global_ca", ACCESS_LDG, SIZE_64),
    LAPS("pb_time_global_cg", ACCESS_LDG, SIZE_64),
    LAPS("pb_time_readonly", ACCESS_LDG, SIZE_64),
    LAPS("pb_time_texture", ACCESS_TEXTURE, 0),
    LAPS("pb_time_texture_2d", ACCESS_TEXTURE, 0),
    LAPS("pb_time_constant", ACCESS_LDC, SIZE_32),
    LAPS("pb_time_shared", ACCESS_LDS, SIZE_32),
    LAPS("pb_cross_time_global_ca", ACCESS_LDG, SIZE_64),
    LAPS("pb_cross_time_global_cg", ACCESS_LDG, SIZE_64),
    LAPS("pb_cross_time_readonly", ACCESS_LDG, SIZE_64),
    LAPS("pb_cross_time_texture", ACCESS_TEXTURE, 0),
    LAPS("pb_cross_time_texture_2d", ACCESS_TEXTURE, 0),
    WORKS("12pb_reader_l1", ACCESS_LDG, "0"),
    WORKS("12pb_reader_l2", ACCESS_LDG, "0"),
    WORKS("16pb_reader_shared", ACCESS_LDS, "1"),
    WRITES("pb_work_atomic", ACCESS_RED, 0, ACCESS_NONE),
    /* Which pieces stands in shared memory. */
    READS("pb_work_pieces", ACCESS_LDG, SIZE_128, PB_KERNEL_WORK_AT_ONCE, ACCESS_LDS),
    COPIES(1),
    COPIES(2),
    COPIES(4),
    COPIES(8),
    /* Each thread leaves what it has read in shared memory: a store that waits for it. */
    READS(PAIRS(0), ACCESS_LDG, SIZE_128, 8, ACCESS_STS),
    WRITES(PAIRS(1), ACCESS_STG, SIZE_128, ACCESS_STS),
    WRITES(PAIRS(2), ACCESS_RED, 0, ACCESS_STS),
    READS(PAIRS(3), ACCESS_LDC, 0, 8, ACCESS_STS),
    READS(PAIRS(4), ACCESS_LDG, SIZE_64, 1, ACCESS_STS),
    READS("pb_study_read", ACCESS_LDG, SIZE_32, 1, ACCESS_NONE),
    READS("pb_study_sync", ACCESS_STG, SIZE_32, 0, ACCESS_NONE),
    READS("pb_clock_pairs", ACCESS_NONE, 0, 0, ACCESS_NONE),
};

/* Those that have clusters and asynchronous copies. */
enum { HOPPER = 90 };
static const struct region_rule timed_hopper[] = {
    LAPS("pb_cluster_latency", ACCESS_LD, SIZE_64),
    READS("pb_cluster_rate", ACCESS_LD, SIZE_128, 4, ACCESS_NONE),
    /* For sm_120 nvcc sets a check of its own before a copy, which it calls where that is wrong. */
    {"pb_work_bulk",
     ACCESS_BULK,
     0,
     0,
     0,
     false,
     {ACCESS_SYNCS, ACCESS_CALL, ACCESS_CALL_ADDRESS},
     false},
};

/* A kernel for each number of variables; test_kernel_shape.c counts their loads and stores. */
static const struct region_rule timed_spills = {
    "_Z8pb_spill", ACCESS_NONE, 0, 0, 0, false, {ACCESS_LDL, ACCESS_STL, ACCESS_CALL_NEAR}, false};

/* Looked at by test_kernel_shape.c, or reading the clock for a rest or a limit of time only. */
static const char *const other[] = {
    "_Z14pb_burst_loads", /* test_kernel_shape.c */
    "pb_background",      /* when the next batch is due */
    "pb_cluster_sms",     /* holds its SM for some time */
    "pb_compute",         /* how long it waits for the other SMs */
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

static const struct {
    struct region_rule rule;
    const char *reason;
} wrong_timed[] = {
    {READS("bad_timed_store", ACCESS_LDG, SIZE_128, 8, ACCESS_NONE), "opcode 0x"},
    {READS("bad_timed_division", ACCESS_LDG, SIZE_128, 8, ACCESS_NONE), "opcode 0x"},
    {READS("bad_timed_word", ACCESS_LDG, SIZE_128, 8, ACCESS_NONE), "access of size"},
    {READS("bad_timed_one_by_one", ACCESS_LDG, SIZE_128, 8, ACCESS_NONE), "accesses at once"},
    {LAPS("bad_timed_arithmetic", ACCESS_LDG, 0), "dependent accesses"},
    {WRITES("bad_timed_no_fence", ACCESS_RED, 0, ACCESS_NONE), "no fence"},
    {READS("bad_timed_before", ACCESS_LDG, SIZE_128, 8, ACCESS_NONE), "no two clock reads"},
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

static void check_rules(const struct objects *objects, const struct region_rule *rules,
                        size_t count, unsigned arch)
{
    char reason[REASON_LENGTH];
    size_t failures = 0;

    for (size_t i = 0; i < count; i++) {
        struct code code = objects_kernel(objects, rules[i].kernel, arch);

        if (!region_check(&code, &rules[i], reason)) {
            print_error("%s, sm_%u: %s\n", rules[i].kernel, arch, reason);
            failures++;
        }
    }
    assert_int_equal(failures, 0);
}

static void check_timed(const struct objects *objects, unsigned arch)
{
    check_rules(objects, timed, COUNT(timed), arch);
    if (arch >= HOPPER)
        check_rules(objects, timed_hopper, COUNT(timed_hopper), arch);
}

static bool begins_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool is_listed(const char *kernel)
{
    bool found = false;

    for (size_t i = 0; i < COUNT(stamped); i++)
        found |= strcmp(kernel, stamped[i].kernel) == 0;
    for (size_t i = 0; i < COUNT(timed); i++)
        found |= strcmp(kernel, timed[i].kernel) == 0;
    for (size_t i = 0; i < COUNT(timed_hopper); i++)
        found |= strcmp(kernel, timed_hopper[i].kernel) == 0;
    for (size_t i = 0; i < COUNT(other); i++)
        found |= begins_with(kernel, other[i]);
    return found;
}

/* Every kernel of an object that reads the clock. */
static void check_listed(const struct file_image *image)
{
    char reason[REASON_LENGTH];
    struct cubin cubin;

    for (size_t position = 0; cubin_next(image, &position, &cubin);) {
        const char *name;
        struct code code;

        for (size_t section = 0; cubin_kernel(&cubin, &section, &name, &code);) {
            if (begins_with(name, timed_spills.kernel)) {
                if (!region_check(&code, &timed_spills, reason))
                    fail_msg("%s, sm_%u: %s", name, cubin.arch, reason);
            } else if (region_has_clock(&code) && !is_listed(name)) {
                fail_msg("%s, sm_%u reads the clock and is in no list here", name, cubin.arch);
            }
        }
    }
}

static void check_wrong_timed(const struct objects *objects, unsigned arch)
{
    char reason[REASON_LENGTH];

    for (size_t i = 0; i < COUNT(wrong_timed); i++) {
        const struct region_rule *rule = &wrong_timed[i].rule;
        struct code code = objects_kernel(objects, rule->kernel, arch);

        if (region_check(&code, rule, reason))
            fail_msg("%s, sm_%u: passed, though it measures wrongly", rule->kernel, arch);
        if (strstr(reason, wrong_timed[i].reason) == NULL)
            fail_msg("%s, sm_%u: expected \"%s\", found \"%s\"", rule->kernel, arch,
                     wrong_timed[i].reason, reason);
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

static void test_timed_kernels__only_what_is_measured_lies_between_clock_reads(void **state)
{
    (void)state;
    run(PLUMB_KERNEL_OBJECTS, check_timed);
}

static void test_kernels__all_that_read_the_clock_are_checked(void **state)
{
    struct objects objects;

    (void)state;
    objects_read(PLUMB_KERNEL_OBJECTS, &objects);
    for (size_t i = 0; i < objects.count; i++)
        check_listed(&objects.images[i]);
    objects_free(&objects);
}

static void test_bad_kernels__are_refused(void **state)
{
    (void)state;
    run(PLUMB_BAD_OBJECTS, check_wrong);
    run(PLUMB_BAD_OBJECTS, check_wrong_timed);
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
        cmocka_unit_test(test_timed_kernels__only_what_is_measured_lies_between_clock_reads),
        cmocka_unit_test(test_kernels__all_that_read_the_clock_are_checked),
        cmocka_unit_test(test_bad_kernels__are_refused),
        cmocka_unit_test(test_load_operators__differ_in_the_machine_code),
        cmocka_unit_test(test_cubin_find__unknown_kernel_is_not_found),
        cmocka_unit_test(test_cubin_find__cut_file_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
