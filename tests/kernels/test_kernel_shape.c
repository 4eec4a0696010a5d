/*
 * What the compiler must have made of kernels that have no stamped loop: bursts whose loads are
 * really in flight together, and variables that really are spilled, or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>

#include "kernels/objects.h"

/* Bits 0-8 of opcodes, as in window.c. Seen with nvcc 13.0. */
enum { FAMILY = 0x1ff, OP_CS2R = 0x005, OP_LDG = 0x181, OP_LDL = 0x183, OP_STL = 0x187 };
enum { OP_STS = 0x188, OP_BAR = 0x11d, OP_BRA = 0x147, OP_BSSY = 0x145 };
enum { SPECIAL_CLOCK = 0x50 };

static bool is_family(struct instruction instruction, unsigned family)
{
    return (instruction.opcode & FAMILY) == family;
}

static bool is_stamp(struct instruction instruction)
{
    return is_family(instruction, OP_CS2R) && instruction.special == SPECIAL_CLOCK;
}

static size_t count(const struct code *code, size_t from, size_t to, unsigned family)
{
    size_t seen = 0;

    for (size_t i = from; i < to; i++)
        seen += is_family(code_at(code, i), family);
    return seen;
}

static size_t next_stamp(const struct code *code, size_t i)
{
    while (i < code->count && !is_stamp(code_at(code, i)))
        i++;
    return i;
}

/* True when something up to and with the last load waits for data of a load before it. */
static bool waits_between_loads(const struct code *code, size_t from, size_t to)
{
    unsigned pending = 0;

    for (size_t i = from; i < to; i++) {
        struct instruction here = code_at(code, i);

        if ((here.wait_mask & pending) != 0 && count(code, i, to, OP_LDG) > 0)
            return true;
        if (is_family(here, OP_LDG) && here.write_barrier != NO_BARRIER)
            pending |= 1u << here.write_barrier;
    }
    return false;
}

static void check_burst(const struct objects *objects, const char *kernel, unsigned arch,
                        size_t loads)
{
    struct code code = objects_kernel(objects, kernel, arch);
    size_t open = next_stamp(&code, 0), close = next_stamp(&code, open + 1);

    if (close >= code.count)
        fail_msg("%s, sm_%u: expected two plain clock reads", kernel, arch);
    if (count(&code, open, close, OP_LDG) != loads || count(&code, open, close, OP_STS) != 1)
        fail_msg("%s, sm_%u: expected %zu loads and a store, found %zu and %zu", kernel, arch,
                 loads, count(&code, open, close, OP_LDG), count(&code, open, close, OP_STS));
    if (count(&code, open, close, OP_BRA) + count(&code, open, close, OP_BSSY) > 0)
        fail_msg("%s, sm_%u: a branch between the stamps", kernel, arch);
    if (waits_between_loads(&code, open, close))
        fail_msg("%s, sm_%u: a load waits for another", kernel, arch);
    assert_int_equal(count(&code, 0, code.count, OP_LDL), 0);
}

static void check_bursts(const struct objects *objects, unsigned arch)
{
    char kernel[128];

    for (int path = 0; path < 3; path++) {
        for (unsigned loads = 1; loads <= 48; loads++) {
            snprintf(kernel, sizeof(kernel),
                     "_Z14pb_burst_loadsIL14pb_kernel_path%dELi%uEEv15pb_kernel_burst", path,
                     loads);
            check_burst(objects, kernel, arch, loads);
        }
    }
}

/* A thread has 64 registers: half as many variables fit at most, and some are needed elsewhere. */
static void check_spills(const struct objects *objects, unsigned arch)
{
    static const unsigned variables[] = {1, 4, 16, 64, 128, 256, 512, 1024, 2048};
    const size_t fitting = 3;
    char kernel[128];
    struct code code;

    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        snprintf(kernel, sizeof(kernel), "_Z8pb_spillILi%uEEv15pb_kernel_study", variables[i]);
        if (!objects_have(objects, kernel, arch, &code)) /* another of its generation serves */
            return;
        if (i < fitting)
            assert_int_equal(count(&code, 0, code.count, OP_LDL), 0);
        else if (count(&code, 0, code.count, OP_LDL) < variables[i] / 4 ||
                 count(&code, 0, code.count, OP_STL) < variables[i] / 4)
            fail_msg("%u variables, sm_%u: %zu loads and %zu stores of spilled ones", variables[i],
                     arch, count(&code, 0, code.count, OP_LDL),
                     count(&code, 0, code.count, OP_STL));
    }
}

static void check_first_spill(const struct objects *objects, unsigned arch)
{
    static unsigned first = 0;

    if (first == 0)
        objects_kernel(objects, "_Z8pb_spillILi2048EEv15pb_kernel_study", first = arch);
}

static void run(void (*visit)(const struct objects *objects, unsigned arch))
{
    struct objects objects;

    objects_read(PLUMB_KERNEL_OBJECTS, &objects);
    objects_visit(&objects, visit);
    objects_free(&objects);
}

static void test_bursts__all_loads_are_in_flight_together(void **state)
{
    (void)state;
    run(check_bursts);
}

static void test_spills__begin_where_registers_end(void **state)
{
    (void)state;
    run(check_spills);
}

static void test_spills__are_there_for_the_first_architecture(void **state)
{
    (void)state;
    run(check_first_spill);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bursts__all_loads_are_in_flight_together),
        cmocka_unit_test(test_spills__begin_where_registers_end),
        cmocka_unit_test(test_spills__are_there_for_the_first_architecture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
