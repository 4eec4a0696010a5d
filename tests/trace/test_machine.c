/* Machine code: cache operators, source lines and resources, from words and a cubin that nvcc made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/cubin.h"
#include "trace/lines.h"
#include "trace/sass.h"
#include "trace/scoreboard.h"
#include "trace/words.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct expectation {
    unsigned architecture;
    uint64_t words[2];
    const char *opcode, *operation, *cache_operator;
    uint32_t size;
    bool bypasses_l1;
};

/* As nvcc 13.0 compiles operators.cu; the comment is PTX's name. */
static const struct expectation expectations[] = {
    {75, {0x0000000002037381, 0x000ea200001ee900}, "LDG", "load", "ca", 4, false}, /* ld */
    {75, {0x0000000002037381, 0x000ea200001f0900}, "LDG", "load", "ca", 4, false}, /* ld.ca */
    {75, {0x0000000002037381, 0x000ea200001f4900}, "LDG", "load", "cg", 4, true},  /* ld.cg */
    {75, {0x0000000002037381, 0x000ea200000ee900}, "LDG", "load", "cs", 4, false}, /* ld.cs */
    {75, {0x0000000002037381, 0x000ea200003ee900}, "LDG", "load", "lu", 4, false}, /* ld.lu */
    {75, {0x0000000002037381, 0x000ea200001f6900}, "LDG", "load", "cv", 4, true},  /* ld.cv */
    {75, {0x0000000002037381, 0x000ea200001e6900}, "LDG", "load", "nc", 4, false}, /* ld.nc */
    {75, {0x0000000400057981, 0x001ea200081ee100}, "LDG", "load", "ca", 1, false}, /* u8 */
    {75, {0x0000000004047381, 0x000ea200001eed00}, "LDG", "load", "ca", 16, false},
    {75, {0x0000000002037980, 0x000ea2000010e900}, "LD", "load", "ca", 4, false},
    {90, {0x0000000402037981, 0x000ea2000c1e1900}, "LDG", "load", "ca", 4, false}, /* ld */
    {90, {0x0000000402037981, 0x000ea2000c1eb900}, "LDG", "load", "ca", 4, false}, /* ld.ca */
    {90, {0x0000000402037981, 0x000ea2000c1ef900}, "LDG", "load", "cg", 4, true},  /* ld.cg */
    {90, {0x0000000402037981, 0x000ea2000c0e1900}, "LDG", "load", "cs", 4, false}, /* ld.cs */
    {90, {0x0000000402037981, 0x000ea2000c3e1900}, "LDG", "load", "lu", 4, false}, /* ld.lu */
    {90, {0x0000000402037981, 0x000ea2000c1f5900}, "LDG", "load", "cv", 4, true},  /* ld.cv */
    {90, {0x0000000402037981, 0x000ea2000c1e9900}, "LDG", "load", "nc", 4, false}, /* ld.nc */
    {90, {0x0000000402037981, 0x000ea2000c5e1900}, "LDG", "load", "no_allocate", 4, false},
    {90, {0x0000000402037981, 0x000ea2000c5e9900}, "LDG", "load", "nc.no_allocate", 4, false},
    {90, {0x0000000404057981, 0x000ea2000c1e1100}, "LDG", "load", "ca", 1, false}, /* u8 */
    {90, {0x0000000404047981, 0x000ea2000c1e1d00}, "LDG", "load", "ca", 16, false},
    {90, {0x0000000402037980, 0x000ea2000c101900}, "LD", "load", "ca", 4, false},
    {90, {0x0000000002077fae, 0x000fe8000b921844}, "LDGSTS", "async_copy", "ca", 0, false},
    {90, {0x0000000004077fae, 0x000fe8000b901c44}, "LDGSTS", "async_copy", "cg", 0, true},
    {90, {0x00000006040073ba, 0x0021d8000800020a}, "UBLKCP", "bulk_copy", "", 0, true},
    {90, {0x0000000c01007387, 0x0043e80000100c00}, "STL", "store", "ca", 16, false},
    {90, {0x0000000007007983, 0x000ea40000100800}, "LDL", "load", "ca", 4, false},
    {90, {0x0000000702007986, 0x000fe2000c101904}, "STG", "store", "ca", 4, false},
    {90, {0x00000007020079a6, 0x000fe2000c10f384}, "REDG", "reduction", "", 0, false},
    {90, {0x00000008040573a9, 0x000ea200001ee109}, "ATOMG.CAS", "atomic", "", 0, true},
    {90, {0x0000000102037824, 0x000fca00078e0203}, "", "", "", 0, false}, /* IMAD */
    {80, {0x0000000402037981, 0x000ea2000c1e1920}, "LDG.LTC128B", "load", "ca", 4, false},
    {90, {0x0000000402037981, 0x000ea2000c1e1910}, "LDG.LTC64B", "load", "ca", 4, false},
    {90, {0x0000000402037981, 0x000ea2000c1e1930}, "LDG.LTC256B", "load", "ca", 4, false},
    {80, {0x0000000002ff7fae, 0x000fe8000b901dc4}, "LDGSTS.LTC256B", "async_copy", "cg", 0, true},
    {90, {0x0000000002077fae, 0x000fe8000b901d44}, "LDGSTS.LTC128B", "async_copy", "cg", 0, true},
    {100, {0x0000000002077fae, 0x008fe8000b981b04}, "LDGSTS.LTC256B", "async_copy", "cg", 0, true},
    {90, {0x000004ff05057f66, 0x001f6200089e01ff}, "TLD", "texture", "", 0, false},
    {90, {0x2000040004057f60, 0x001f6200099e01ff}, "TEX", "texture", "", 0, false},
    {90, {0x200004ff04047f63, 0x001f6200089e0f06}, "TLD4", "texture", "", 0, false},
    {90, {0x2000040804057f6c, 0x001f6200081e01ff}, "TXD", "texture", "", 0, false},
    {90, {0x7000040004057f99, 0x001f6200081ea900}, "SULD", "surface", "", 0, false},
    {90, {0x7000040002007f9d, 0x001fe2000810a900}, "SUST", "surface", "", 0, false},
    {90, {0x000000000200798f, 0x000fe80000000100}, "CCTL.PF1", "prefetch", "", 0, false},
    {90, {0x000000000200798f, 0x000fe80000800100}, "CCTL.PF2", "prefetch", "", 0, false},
    {90, {0x000000000200798f, 0x000fe80005800100}, "CCTL", "", "", 0, false}, /* discard */
    {90, {0x00000000040073bc, 0x0003e20008000008}, "UBLKPF", "prefetch", "", 0, false},
    {90, {0x00000004060075b8, 0x0003e40008008000}, "UTMAPF", "prefetch", "", 0, false},
    {90, {0x00000004080073b5, 0x0003e20008008000}, "UTMASTG", "tensor_copy", "", 0, true},
    {90, {0x00000004060073ba, 0x0001d80008000208}, "UBLKCP", "bulk_copy", "", 0, true},
    {90, {0x00000006040073ba, 0x0003e20008000405}, "UBLKCP.G.S", "bulk_store", "", 0, false},
    {90, {0x00000006040073bb, 0x0003d80008000405}, "UBLKRED", "bulk_reduction", "", 0, false},
    {90, {0x00000006080073ba, 0x0001d80008000604}, "", "", "", 0, false}, /* within a cluster */
    {90, {0x00000006080073bb, 0x0001d80008000604}, "", "", "", 0, false},
    {75, {0x00c0000000057b82, 0x000e240000000800}, "LDC", "constant", "", 0, false},
    {90, {0x0000860000057b82, 0x000e240000000800}, "LDC", "constant", "", 0, false},
    {90, {0x00c0000004057abb, 0x000fe20008000800}, "ULDC", "constant", "", 0, false},
    {90, {0x0000840000087ab9, 0x000fe20000000a00}, "", "", "", 0, false},
    {90, {0x00008400ff027b82, 0x000e220000000a00}, "", "", "", 0, false}, /* a fixed address */
    {100, {0x00c00280ff0677ac, 0x000e620008000800}, "", "", "", 0, false},
    {100, {0x00c00280050677ac, 0x000e620008000800}, "LDCU", "constant", "", 0, false},
};

/* What the tracer has to record besides, that there is a record of it. */
static uint32_t find_needs(const struct expectation *expected)
{
    static const struct {
        const char *opcode; /* its beginning */
        uint32_t needs;
    } opcodes[] = {
        {"UBLKCP.G", PB_RECORDS_BULK_STORES},
        {"UBLKRED", PB_RECORDS_BULK_REDUCTIONS},
        {"CCTL.PF", PB_RECORDS_PREFETCHES},
        {"UBLKPF", PB_RECORDS_NEVER},
        {"UTMA", PB_RECORDS_NEVER},
        {"T", PB_RECORDS_NEVER},
        {"SU", PB_RECORDS_NEVER},
        {"LDC", PB_RECORDS_NEVER},
        {"ULDC", PB_RECORDS_NEVER},
    };

    for (size_t i = 0; i < COUNT(opcodes); i++)
        if (strncmp(expected->opcode, opcodes[i].opcode, strlen(opcodes[i].opcode)) == 0)
            return opcodes[i].needs;
    return 0;
}

static void test_sass_decode__operators_of_every_load_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(expectations); i++) {
        const struct expectation *expected = &expectations[i];
        unsigned char bytes[PB_SASS_BYTES];
        struct pb_sass found;

        memcpy(bytes, expected->words, sizeof(bytes));
        found = pb_sass_decode(bytes, expected->architecture);
        if (strcmp(found.opcode, expected->opcode) != 0 ||
            strcmp(found.operation, expected->operation) != 0 ||
            strcmp(found.cache_operator, expected->cache_operator) != 0 ||
            found.size != expected->size || found.bypasses_l1 != expected->bypasses_l1 ||
            found.needs != find_needs(expected))
            fail_msg("expectation %zu: found %s %s.%s of %u bytes, %d", i, found.opcode,
                     found.operation, found.cache_operator, found.size, found.bypasses_l1);
    }
}

struct file {
    unsigned char *bytes;
    size_t size;
};

static struct file read_cubin(void)
{
    FILE *file = fopen(PLUMB_TEST_DATA "/kernels/lines_sm90.cubin", "rb");
    struct file result = {malloc(1 << 16), 0};

    assert_non_null(file);
    assert_non_null(result.bytes);
    result.size = fread(result.bytes, 1, 1 << 16, file);
    fclose(file);
    assert_true(result.size > 1000);
    return result;
}

/* The lines of lines.cu, by the offset of the instruction in its section. */
static void test_lines_find__loads_have_the_line_that_made_them(void **state)
{
    static const struct {
        uint64_t offset;
        const char *file;
        uint32_t line;
    } places[] = {{0xe0, "/sm_32_intrinsics.hpp", 180}, /* __ldcg() of line 14 */
                  {0x130, "/src/lines.cu", 13},
                  {0x1b0, "/src/lines.cu", 3},
                  {0x1c0, "/src/lines.cu", 3}};
    struct file cubin = read_cubin();
    struct pb_cubin_section code;
    char name[256];
    uint32_t line = 0;

    (void)state;
    assert_true(pb_cubin_find_section(cubin.bytes, cubin.size, ".text.two_loads", &code));
    for (size_t i = 0; i < COUNT(places); i++) {
        assert_true(pb_lines_find(cubin.bytes, cubin.size, code.index, places[i].offset, name,
                                  sizeof(name), &line));
        assert_int_equal(line, places[i].line);
        assert_non_null(strstr(name, places[i].file));
    }
    assert_false(
        pb_lines_find(cubin.bytes, cubin.size, code.index, code.size, name, sizeof(name), &line));
    assert_false(
        pb_lines_find(cubin.bytes, cubin.size, code.index + 1, 0xe0, name, sizeof(name), &line));
    free(cubin.bytes);
}

static void test_cubin__functions_and_resources_are_found(void **state)
{
    struct file cubin = read_cubin();
    uint32_t registers = 0;
    int64_t shared_bytes = 0;

    (void)state;
    assert_int_equal(pb_cubin_architecture(cubin.bytes, cubin.size), 90);
    assert_int_equal(pb_cubin_count_functions(cubin.bytes, cubin.size), 2);
    pb_cubin_resources(cubin.bytes, cubin.size, "two_loads", &registers, &shared_bytes);
    assert_in_range(registers, 8, 64);
    assert_int_equal(shared_bytes, 256);
    pb_cubin_resources(cubin.bytes, cubin.size, "no_such_kernel", &registers, &shared_bytes);
    assert_int_equal(registers, 0);
    assert_int_equal(shared_bytes, -1);
    free(cubin.bytes);
}

static void look_everywhere(const unsigned char *bytes, size_t size)
{
    struct pb_cubin_section code;
    uint32_t registers, line;
    int64_t shared_bytes;
    char name[64];

    pb_cubin_count_functions(bytes, size);
    pb_cubin_resources(bytes, size, "two_loads", &registers, &shared_bytes);
    if (pb_cubin_find_section(bytes, size, ".text.two_loads", &code))
        pb_lines_find(bytes, size, code.index, 0x1c0, name, sizeof(name), &line);
}

/* Copies of their own size, so that the sanitizer sees every byte that is read outside. */
static void test_cubin__cut_and_damaged_ones_are_survived(void **state)
{
    struct file cubin = read_cubin();

    (void)state;
    for (size_t i = 0; i < 2000; i++) {
        size_t size = i < 200 ? cubin.size * i / 200 : cubin.size;
        unsigned char *copy = malloc(size + 1);

        assert_non_null(copy);
        memcpy(copy, cubin.bytes, size);
        if (i >= 200)
            copy[(i * 2654435761u) % size] ^= (unsigned char)(1u << i % 8 | 0x80);
        look_everywhere(copy, size);
        free(copy);
    }
    free(cubin.bytes);
}

/* Control bits of a made-up instruction: what it sets (7: nothing) and the mask of its waits. */
static void put_code(unsigned char *code, uint64_t low, uint64_t sets, uint64_t waits)
{
    uint64_t words[2] = {low, sets << 46 | waits << 52};

    memcpy(code, words, sizeof(words));
}

static void test_scoreboard__first_instruction_that_waits_is_found(void **state)
{
    const uint64_t load = 0x981, copy = 0xfae, collect = 0x9af, depbar = 0x91a, other = 0x210;
    unsigned char code[10 * PB_SASS_BYTES];

    (void)state;
    put_code(code, load, 2, 0);
    put_code(code + 0x10, load, 5, 0);
    put_code(code + 0x20, other, 7, 1 << 5);
    put_code(code + 0x30, load, 3, 1 << 2);
    put_code(code + 0x40, copy, 7, 0);
    put_code(code + 0x50, collect, 0, 0);
    put_code(code + 0x60, copy, 7, 0);
    put_code(code + 0x70, collect, 0, 0);
    put_code(code + 0x80, depbar | UINT64_C(0x8040) << 32, 7, 0); /* all but the last group */
    put_code(code + 0x90, depbar | UINT64_C(0x8000) << 32, 7, 0);
    assert_int_equal(pb_scoreboard_wait(code, sizeof(code), 0), 0x30);
    assert_int_equal(pb_scoreboard_wait(code, sizeof(code), 0x10), 0x20);
    assert_true(pb_scoreboard_wait(code, sizeof(code), 0x30) == PB_SCOREBOARD_NEVER);
    assert_int_equal(pb_scoreboard_wait(code, sizeof(code), 0x40), 0x80);
    assert_int_equal(pb_scoreboard_wait(code, sizeof(code), 0x60), 0x90);
    assert_int_equal(pb_scoreboard_wait(code, sizeof(code), 0x20), 0);
    assert_int_equal(pb_scoreboard_wait(code, 0x68, 0x60), 0); /* the code ends before */
    assert_int_equal(pb_scoreboard_wait(code, 8, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sass_decode__operators_of_every_load_are_found),
        cmocka_unit_test(test_lines_find__loads_have_the_line_that_made_them),
        cmocka_unit_test(test_scoreboard__first_instruction_that_waits_is_found),
        cmocka_unit_test(test_cubin__functions_and_resources_are_found),
        cmocka_unit_test(test_cubin__cut_and_damaged_ones_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
