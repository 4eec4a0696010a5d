/* The tests by name, and picking them for a run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/tests.h"

const struct pb_test pb_tests[] = {
    {"clock_overhead", "what two clock reads cost, alone and around the recording store", "cycle",
     "M16 4.2: stamp pairs without a load", PB_CAP_CLOCK, PB_QUICK, pb_test_clock_overhead},
    {"clock_calibration", "SM clock against the global timer", "cycle",
     "spin on one SM, both clocks read at the same moments", PB_CAP_CLOCK, PB_QUICK,
     pb_test_clock_calibration},
    {"l1_capacity", "largest array that stays in L1", "cycle",
     "M16 4.2 stage 1: footprint sweep, laps and traces", PB_CAP_GLOBAL_CA, PB_QUICK,
     pb_test_l1_capacity},
    {"l1_line", "L1 line and sector", "cycle",
     "M16 4.2 stage 1: cold walk, overflow by a little, strides", PB_CAP_GLOBAL_CA, PB_QUICK,
     pb_test_l1_line},
    {"l2_capacity", "largest array that stays in L2", "cycle",
     "M16 4.2 stage 1: footprint sweep, laps and traces", PB_CAP_GLOBAL_CG, PB_QUICK,
     pb_test_l2_capacity},
    {"l2_line", "L2 line and sector", "cycle",
     "M16 4.2 stage 1: cold walk, overflow by a little, strides", PB_CAP_GLOBAL_CG, PB_QUICK,
     pb_test_l2_line},
    {"readonly_capacity", "largest array that stays in the cache of the read-only path", "cycle",
     "M16 4.2 stage 1: footprint sweep, laps and traces", PB_CAP_READONLY, PB_STANDARD,
     pb_test_readonly_capacity},
    {"readonly_line", "line and sector of the cache of the read-only path", "cycle",
     "M16 4.2 stage 1: cold walk, overflow by a little, strides", PB_CAP_READONLY, PB_STANDARD,
     pb_test_readonly_line},
    {"texture_capacity", "largest array that stays in the cache of the texture path", "cycle",
     "M16 4.2 stage 1: footprint sweep, laps and traces", PB_CAP_TEXTURE, PB_STANDARD,
     pb_test_texture_capacity},
    {"texture_line", "line and sector of the cache of the texture path", "cycle",
     "M16 4.2 stage 1: cold walk, overflow by a little, strides", PB_CAP_TEXTURE, PB_STANDARD,
     pb_test_texture_line},
    {"constant_capacity", "largest array that stays in the first constant cache", "cycle",
     "M16 4.2 stage 1: footprint sweep, laps and traces", PB_CAP_CONSTANT, PB_STANDARD,
     pb_test_constant_capacity},
    {"constant_line", "line and sector of the first constant cache", "cycle",
     "M16 4.2 stage 1: cold walk, overflow by a little, strides", PB_CAP_CONSTANT, PB_STANDARD,
     pb_test_constant_line},
    {"dram_latency", "latency of lines that are in no cache", "cycle",
     "M16 5.2 P4: warm TLB, cold lines; and over all of memory", PB_CAP_GLOBAL_CG, PB_QUICK,
     pb_test_dram_latency},
    {"shared_latency", "shared memory without conflicts", "cycle", "M16 6.2: one thread chases",
     PB_CAP_SHARED, PB_QUICK, pb_test_shared_latency},
    {"bank_conflict", "n-way shared-memory bank conflicts", "cycle",
     "M16 6.2: one warp, strides of 0 to 64 words", PB_CAP_SHARED, PB_QUICK, pb_test_bank_conflict},
    {"global_copy", "copy throughput over CTAs, CTA size and ILP", "byte/s",
     "M16 5.1: plain copy of a large array", PB_CAP_STREAM, PB_QUICK, pb_test_global_copy},
    {.name = NULL},
};

const struct pb_test *pb_test_find(const char *name)
{
    for (const struct pb_test *test = pb_tests; test->name != NULL; test++)
        if (strcmp(test->name, name) == 0)
            return test;
    return NULL;
}

enum pb_status pb_battery_parse(const char *name, enum pb_battery *battery_out,
                                struct pb_error *err)
{
    static const char *const names[] = {
        [PB_QUICK] = "quick", [PB_STANDARD] = "standard", [PB_FULL] = "full"};

    for (int i = PB_QUICK; i <= PB_FULL; i++) {
        if (strcmp(name, names[i]) == 0) {
            *battery_out = (enum pb_battery)i;
            return PB_OK;
        }
    }
    return pb_fail(err, PB_INVALID, "battery \"%s\": expected quick, standard or full", name);
}

/* Is `name` an element of the comma-separated list? */
static bool lists(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names;; at++) {
        size_t part = strcspn(at, ",");

        if (part == length && strncmp(at, name, length) == 0)
            return true;
        at += part;
        if (*at == '\0')
            return false;
    }
}

static enum pb_status check_names(const char *names, struct pb_error *err)
{
    for (const char *at = names;; at++) {
        char name[PB_NAME_LENGTH];
        size_t part = strcspn(at, ",");

        snprintf(name, sizeof(name), "%.*s", (int)part, at);
        if (pb_test_find(name) == NULL)
            return pb_fail(err, PB_INVALID, "test \"%s\": no test has this name; --list shows all",
                           name);
        at += part;
        if (*at == '\0')
            return PB_OK;
    }
}

enum pb_status pb_battery_select(enum pb_battery battery, const char *names,
                                 const struct pb_test ***tests_out, struct pb_error *err)
{
    size_t total = sizeof(pb_tests) / sizeof(pb_tests[0]), count = 0;
    const struct pb_test **tests;
    enum pb_status status = names != NULL ? check_names(names, err) : PB_OK;

    if (status != PB_OK)
        return status;
    tests = calloc(total, sizeof(const struct pb_test *));
    if (tests == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for a list of tests");
    for (const struct pb_test *test = pb_tests; test->name != NULL; test++)
        if (names != NULL ? lists(names, test->name) : test->battery <= battery)
            tests[count++] = test;
    *tests_out = tests;
    return PB_OK;
}
