/*
 * The decoder against the compiler at hand: operators.cu for every architecture it knows. An
 * operator whose code has changed is found here, before a model is wrong by it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/cubin.h"
#include "trace/sass.h"
#include "trace/scoreboard.h"

static const struct {
    const char *kernel, *operation, *cache_operator;
    bool bypasses_l1;
} expectations[] = {
    {"load_ca", "load", "ca", false},
    {"load_ca_default", "load", "ca", false},
    {"load_ca_generic", "load", "ca", false},
    {"load_cg", "load", "cg", true},
    {"load_cg_relaxed", "load", "cg", true},
    {"load_cg_acquire", "load", "cg", true},
    {"load_cs", "load", "cs", false},
    {"load_cs_evict_first", "load", "cs", false},
    {"load_lu", "load", "lu", false},
    {"load_cv", "load", "cv", true},
    {"load_cv_volatile", "load", "cv", true},
    {"load_cv_relaxed", "load", "cv", true},
    {"load_nc", "load", "nc", false},
    {"load_nc_no_allocate", "load", "nc.no_allocate", false},
    {"load_no_allocate", "load", "no_allocate", false},
    {"load_evict_last", "load", "evict_last", false},
    {"load_evict_unchanged", "load", "evict_unchanged", false},
    {"store_ca", "store", "ca", false},
    {"store_cg", "store", "cg", false},
    {"atomic_exchange", "atomic", "", true},
    {"reduction_add", "reduction", "", false},
    {"reduction_float", "reduction", "", false},
    {"fence_gpu", "empty_l1", "", false},
    {"async_ca", "async_copy", "ca", false},
    {"async_cg", "async_copy", "cg", true},
    {"bulk_store", "bulk_store", "", false},
    {"bulk_reduction", "bulk_reduction", "", false},
    {"prefetch_l1", "prefetch", "", false},
    {"constant_by_index", "constant", "", false},
};

/* Has the kernel an instruction of that kind, and of its kind no other? */
static bool has_only(const struct pb_cubin_section *code, unsigned architecture, size_t i)
{
    bool is_found = false;

    for (uint64_t at = 0; at + PB_SASS_BYTES <= code->size; at += PB_SASS_BYTES) {
        struct pb_sass sass = pb_sass_decode(code->bytes + at, architecture);

        if (strcmp(sass.operation, expectations[i].operation) != 0)
            continue;
        if (strcmp(sass.cache_operator, expectations[i].cache_operator) != 0 ||
            sass.bypasses_l1 != expectations[i].bypasses_l1)
            return false;
        is_found = true;
    }
    return is_found;
}

static void check_cubin(const char *path)
{
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    unsigned architecture;
    size_t size, checked = 0;

    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    architecture = pb_cubin_architecture(bytes, size);
    assert_in_range(architecture, 75, 200);
    for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++) {
        struct pb_cubin_section code;
        char name[64];

        snprintf(name, sizeof(name), ".text.%s", expectations[i].kernel);
        if (!pb_cubin_find_section(bytes, size, name, &code))
            continue;
        checked++;
        if (!has_only(&code, architecture, i))
            fail_msg("%s: %s: expected a %s with operator \"%s\"", path, expectations[i].kernel,
                     expectations[i].operation, expectations[i].cache_operator);
    }
    assert_int_equal(checked, architecture < 80 ? 25 : architecture < 90 ? 27 : 29);
}

static void test_sass_decode__agrees_with_this_compiler(void **state)
{
    char paths[] = PLUMB_OPERATOR_CUBINS, *rest = paths;

    (void)state;
    for (char *path = strtok_r(rest, ",", &rest); path != NULL; path = strtok_r(NULL, ",", &rest))
        check_cubin(path);
}

/* Where the loads or copies of a kernel are waited for: offset and answer of the first two. */
static size_t find_waits(const struct pb_cubin_section *code, unsigned architecture,
                         const char *operation, uint64_t at_out[2], uint64_t waits_out[2])
{
    size_t count = 0;

    for (uint64_t at = 0; at + PB_SASS_BYTES <= code->size && count < 2; at += PB_SASS_BYTES) {
        if (strcmp(pb_sass_decode(code->bytes + at, architecture).operation, operation) != 0)
            continue;
        at_out[count] = at;
        waits_out[count++] = pb_scoreboard_wait(code->bytes, code->size, at);
    }
    return count;
}

static void check_waits(const char *path)
{
    static unsigned char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    struct pb_cubin_section code;
    uint64_t at[2], waits[2];
    unsigned architecture;
    size_t size;

    assert_non_null(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    architecture = pb_cubin_architecture(bytes, size);

    assert_true(pb_cubin_find_section(bytes, size, ".text.wait_batched", &code));
    assert_int_equal(find_waits(&code, architecture, "load", at, waits), 2);
    assert_true(waits[0] == waits[1] && waits[0] > at[1] && waits[0] < code.size);

    assert_true(pb_cubin_find_section(bytes, size, ".text.wait_chained", &code));
    assert_int_equal(find_waits(&code, architecture, "load", at, waits), 2);
    assert_true(waits[0] > at[0] && waits[0] <= at[1] && waits[1] > at[1]);

    if (architecture < 80)
        return;
    assert_true(pb_cubin_find_section(bytes, size, ".text.wait_copies", &code));
    assert_int_equal(find_waits(&code, architecture, "async_copy", at, waits), 2);
    assert_true(waits[0] > at[1] && waits[1] > waits[0] && waits[1] < code.size);
}

static void test_scoreboard__agrees_with_this_compiler(void **state)
{
    char paths[] = PLUMB_OPERATOR_CUBINS, *rest = paths;

    (void)state;
    for (char *path = strtok_r(rest, ",", &rest); path != NULL; path = strtok_r(NULL, ",", &rest))
        check_waits(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sass_decode__agrees_with_this_compiler),
        cmocka_unit_test(test_scoreboard__agrees_with_this_compiler),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
