/* Trace files as plumb-model reads them: what their code does without a record is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "cli/model_trace.h"
#include "h5schema/memtrace.h"

#define FILE_NAME "model_trace.h5"

/* One warp's load, by the first of the instructions. */
static void write_trace(const struct pb_memtrace_instruction *instructions, size_t count)
{
    static const struct pb_memtrace_program program = {.created = "2026-01-01T00:00:00Z",
                                                       .complete = 1};
    struct pb_memtrace_context context = {.model = "a GPU", .sm_count = 1};
    struct pb_memtrace_kernel kernel = {.grid_x = 1,
                                        .grid_y = 1,
                                        .grid_z = 1,
                                        .block_x = 32,
                                        .block_y = 1,
                                        .block_z = 1,
                                        .complete = 1,
                                        .name = "kernel"};
    struct pb_memtrace_cta cta = {.cta = 0};
    struct pb_memtrace_sm sm = {.traced = 1, .ctas = 1, .count = 1};
    struct pb_memtrace_record record = {
        .base = 4096, .stride = 4, .lane_mask = UINT32_MAX, .size = 4, .flags = PB_ACCESS_READ};
    struct pb_memtrace_kernel_tables tables = {&cta, 1, &sm, 1, instructions, count};
    struct pb_memtrace_writer *writer = NULL;

    unlink(FILE_NAME);
    assert_int_equal(pb_memtrace_create(FILE_NAME, &writer, NULL), PB_OK);
    assert_int_equal(pb_memtrace_write_contexts(writer, &context, 1, NULL), PB_OK);
    assert_int_equal(pb_memtrace_write_allocations(writer, NULL, 0, NULL), PB_OK);
    assert_int_equal(pb_memtrace_begin_kernel(writer, 0, NULL), PB_OK);
    assert_int_equal(pb_memtrace_append(writer, &record, 1, NULL, 0, NULL), PB_OK);
    assert_int_equal(pb_memtrace_end_kernel(writer, &kernel, &tables, NULL), PB_OK);
    assert_int_equal(pb_memtrace_commit(writer, &program, NULL), PB_OK);
}

static void check(size_t count, uint64_t untraced, const char *message)
{
    static const struct pb_memtrace_instruction instructions[] = {
        {.pc = 16, .opcode = "LDG", .operation = "load", .memory = "global"},
        {.pc = 32, .opcode = "TEX", .operation = "texture", .memory = "global"},
        {.pc = 48, .opcode = "TEX", .operation = "texture", .memory = "global"},
        {.pc = 64, .opcode = "CCTL.PF2", .operation = "prefetch", .memory = "global"},
        {.pc = 80, .opcode = "CCTL.IVALL", .operation = "empty_l1", .memory = "global"},
        {.pc = 96, .opcode = "LDG.LTC128B", .operation = "load", .memory = "global"},
    };
    struct pb_error err = PB_ERROR_INIT;
    struct pb_trace trace;
    bool is_found = false;

    write_trace(instructions, count);
    assert_int_equal(pb_model_trace_open(FILE_NAME, &trace, &err), PB_OK);
    assert_int_equal(trace.ops->next_kernel(trace.state, &is_found, &err), PB_OK);
    assert_true(is_found);
    assert_int_equal(trace.ops->kernel(trace.state)->untraced, untraced);
    assert_string_equal(trace.ops->kernel(trace.state)->message, message);
    pb_trace_close(&trace);
    unlink(FILE_NAME);
}

static void test_model_trace__accesses_without_records_are_counted(void **state)
{
    (void)state;
    check(1, 0, "");
    check(5, 3,
          "3 instructions of its code access memory without a record (TEX CCTL.PF2): these rates "
          "leave out what they find, bring and evict");
    check(6, 3,
          "3 instructions of its code access memory without a record (TEX CCTL.PF2): these rates "
          "leave out what they find, bring and evict; 1 instructions request 128 or 256 "
          "bytes of L2, which is not modelled");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_trace__accesses_without_records_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
