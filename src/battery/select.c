/* Picking tests by battery or by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/battery.h"
#include "core/former.h"
#include "core/suggest.h"

const struct pb_test *pb_test_find(const char *name)
{
    for (const struct pb_test *test = pb_tests; test->name != NULL; test++)
        if (strcmp(test->name, name) == 0)
            return test;
    return NULL;
}

const char *pb_battery_name(enum pb_battery battery)
{
    static const char *const names[] = {
        [PB_QUICK] = "quick", [PB_STANDARD] = "standard", [PB_FULL] = "full"};

    return names[battery];
}

enum pb_status pb_battery_parse(const char *name, enum pb_battery *battery_out,
                                struct pb_error *err)
{
    for (int i = PB_QUICK; i <= PB_FULL; i++) {
        if (strcmp(name, pb_battery_name((enum pb_battery)i)) == 0) {
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

enum pb_status pb_test_refuse(const char *name, struct pb_error *err)
{
    struct pb_suggestion suggestion = {.word = name};
    const char *now = pb_name_now(PB_NAME_OF_TEST, name);

    for (const struct pb_test *test = pb_tests; test->name != NULL; test++)
        pb_suggest(&suggestion, test->name);
    if (now != name)
        suggestion.best = now;
    if (suggestion.best != NULL)
        return pb_fail(err, PB_INVALID, "test \"%s\": no test has this name; did you mean %s?",
                       name, suggestion.best);
    return pb_fail(err, PB_INVALID,
                   "test \"%s\": no test has this name; plumb-probe --list names all", name);
}

static enum pb_status check_names(const char *names, struct pb_error *err)
{
    for (const char *at = names;; at++) {
        char name[PB_NAME_LENGTH];
        size_t part = strcspn(at, ",");

        snprintf(name, sizeof(name), "%.*s", (int)part, at);
        if (pb_test_find(name) == NULL)
            return pb_test_refuse(name, err);
        at += part;
        if (*at == '\0')
            return PB_OK;
    }
}

enum pb_status pb_battery_select(enum pb_battery battery, const char *names,
                                 const struct pb_test ***tests_out, struct pb_error *err)
{
    size_t total = 1, count = 0;
    const struct pb_test **tests;
    enum pb_status status = names != NULL ? check_names(names, err) : PB_OK;

    if (status != PB_OK)
        return status;
    for (const struct pb_test *test = pb_tests; test->name != NULL; test++)
        total++;
    tests = calloc(total, sizeof(const struct pb_test *));
    if (tests == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a list of tests");
    for (const struct pb_test *test = pb_tests; test->name != NULL; test++)
        if (names != NULL ? lists(names, test->name) : test->battery <= battery)
            tests[count++] = test;
    *tests_out = tests;
    return PB_OK;
}
