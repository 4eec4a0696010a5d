/* The second constant cache: known ones, one that all of constant memory fits in, and none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

static const char second[] = "{\"id\": \"constant_l15\"", both[] = "{\"id\": \"constant_l1\"";

static void infer_with(const char *first, const char *caches, struct pb_parameters *parameters)
{
    selected_infer_replaced("c2070", first, "{\"id\": \"l2\"", caches, tests_needed, parameters);
}

static void test_constant15__without_one_there_is_none(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    infer_with(second, "", &parameters);
    assert_open(&parameters, "constant_l15", "size_bytes", "cannot be distinguished");
    assert_open(&parameters, "constant_l15", "latency_cycles", "cannot be distinguished");
    pb_parameters_clear(&parameters);
}

/* 16 of 512 loads of the reference, an array of 8 KiB, miss: noise would lie between, too. */
static void test_constant15__a_reference_that_misses_fits_in_no_size(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    infer_with(second,
               "{\"id\": \"constant_l15\", \"paths\": [\"constant\"], \"line_bytes\": 256,"
               " \"sector_bytes\": 256, \"sets\": 30, \"ways\": 1, \"index\": {\"kind\":"
               " \"modulo\"}, \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 120},",
               &parameters);
    assert_open(&parameters, "constant_l15", "size_bytes", "already the smallest footprint");
    assert_number(&parameters, "constant_l15", "latency_cycles", 120, 1);
    pb_parameters_clear(&parameters);
}

/* One set of 8 ways among sets of 4: no line more is loaded here, but whole passes show it. */
static void test_constant15__of_unequal_sets_the_size_is_open_above(void **state)
{
    struct pb_parameters parameters;
    const struct pb_parameter *size;

    (void)state;
    infer_with(second,
               "{\"id\": \"constant_l15\", \"paths\": [\"constant\"], \"line_bytes\": 256,"
               " \"sector_bytes\": 256, \"ways\": [4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 4,"
               " 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], \"index\": {\"kind\":"
               " \"modulo\"}, \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 120},",
               &parameters);
    size = selected_find(&parameters, "constant_l15", "size_bytes");
    assert_true(size->numbers[0].low <= 33792.0 && size->numbers[0].high >= 33792.0);
    pb_parameters_clear(&parameters);
}

/* The first cache fetches 128 bytes at once, and keeps some lines, whose hits are among the loads.
 */
static void test_constant15__sectors_of_what_the_first_cache_fetches_are_open(void **state)
{
    static const char *const names[] = {"sector_bytes", "fetch_bytes", "line_bytes"};
    struct pb_parameters parameters;

    (void)state;
    infer_with(both,
               "{\"id\": \"constant_l1\", \"paths\": [\"constant\"], \"line_bytes\": 128,"
               " \"sector_bytes\": 128, \"sets\": 1, \"ways\": 8, \"index\": {\"kind\":"
               " \"modulo\"}, \"policy\": {\"kind\": \"random\"}, \"latency_cycles\": 46},"
               " {\"id\": \"constant_l15\", \"paths\": [\"constant\"], \"line_bytes\": 64,"
               " \"sector_bytes\": 32, \"sets\": 256, \"ways\": 2, \"index\": {\"kind\":"
               " \"modulo\"}, \"policy\": {\"kind\": \"lru\"}, \"latency_cycles\": 93},",
               &parameters);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_true(selected_find(&parameters, "constant_l15", names[i])->numbers[0].low <= 32.0);
    pb_parameters_clear(&parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constant15__size_line_and_latency_are_found),
        cmocka_unit_test(test_constant15__a_size_beyond_constant_memory_is_open),
        cmocka_unit_test(test_constant15__without_one_there_is_none),
        cmocka_unit_test(test_constant15__a_reference_that_misses_fits_in_no_size),
        cmocka_unit_test(test_constant15__of_unequal_sets_the_size_is_open_above),
        cmocka_unit_test(test_constant15__sectors_of_what_the_first_cache_fetches_are_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
