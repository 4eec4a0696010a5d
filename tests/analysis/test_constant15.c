/* The second constant cache: known ones, one that all of constant memory fits in, and none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/selected.h"

static const char tests_needed[] = "clock_calibration,l2_capacity,constant_capacity,constant_line,"
                                   "constant_l15_capacity,constant_l15_line";

/* F13 3.4.1: lines of 64 and 256 bytes; the rest is the profile's. */
static void test_constant15__size_line_and_latency_are_found(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    selected_infer("c2070", tests_needed, &parameters);
    assert_number(&parameters, "constant_l15", "size_bytes", 32768, 0);
    assert_number(&parameters, "constant_l15", "line_bytes", 256, 0);
    assert_number(&parameters, "constant_l15", "fetch_bytes", 256, 0);
    assert_number(&parameters, "constant_l15", "latency_cycles", 120, 1);
    assert_number(&parameters, "constant_l15", "miss_latency_cycles", 351, 2);
    assert_number(&parameters, "constant_l1", "line_bytes", 64, 0);
    pb_parameters_clear(&parameters);
}

static void test_constant15__a_size_beyond_constant_memory_is_open(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    selected_infer("h200", tests_needed, &parameters);
    assert_open(&parameters, "constant_l15", "size_bytes", "all 65536 bytes of constant memory");
    assert_open(&parameters, "constant_l15", "full_miss_bytes", "nothing misses");
    assert_number(&parameters, "constant_l15", "latency_cycles", 106, 1);
    assert_number(&parameters, "constant_l15", "fetch_bytes", 256, 0);
    pb_parameters_clear(&parameters);
}

/* A profile with the second constant cache taken out: from its '{' to the next one. */
static void take_out(const char *from, const char *path)
{
    char source[512], text[16384], *begin, *end;
    FILE *file;

    snprintf(source, sizeof(source), "%s/%s.json", PLUMB_PROFILES, from);
    file = fopen(source, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    begin = strstr(text, "{\"id\": \"constant_l15\"");
    assert_non_null(begin);
    end = strstr(begin, "{\"id\": \"l2\"");
    assert_non_null(end);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s", (int)(begin - text), text, end);
    fclose(file);
}

static void test_constant15__without_one_there_is_none(void **state)
{
    char path[] = "/tmp/plumb-constant-XXXXXX";
    int descriptor = mkstemp(path);
    struct pb_parameters parameters;

    (void)state;
    assert_true(descriptor >= 0);
    close(descriptor);
    take_out("c2070", path);
    selected_infer(path, tests_needed, &parameters);
    assert_open(&parameters, "constant_l15", "size_bytes", "cannot be distinguished");
    assert_open(&parameters, "constant_l15", "latency_cycles", "cannot be distinguished");
    unlink(path);
    pb_parameters_clear(&parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant15__size_line_and_latency_are_found),
        cmocka_unit_test(test_constant15__a_size_beyond_constant_memory_is_open),
        cmocka_unit_test(test_constant15__without_one_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
