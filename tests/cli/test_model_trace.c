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

static const struct pb_memtrace_record one_load = {
    .base = 4096, .stride = 4, .lane_mask = UINT32_MAX, .size = 4, .flags = PB_ACCESS_READ};

/* What one warp does by the first of the instructions. */
static void write_trace(const struct pb_memtrace_instruction *instructions, size_t count,
                        struct pb_memtrace_record record)
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
        {.pc = 96, .opcode = "LDC", .operation = "constant", .memory = "constant"},
    };
    struct pb_error err = PB_ERROR_INIT;
    struct pb_trace trace;
    bool is_found = false;

    write_trace(instructions, count, one_load);
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
    check(6, 4,
          "4 instructions of its code access memory without a record (TEX CCTL.PF2 LDC): these "
          "rates leave out what they find, bring and evict");
}

/* No instruction copies so much: a damaged record would keep the model busy for hours. */
static void test_model_trace__bulk_copies_have_a_limit(void **state)
{
    static const struct pb_memtrace_instruction instruction = {
        .opcode = "UBLKCP", .operation = "bulk_copy", .memory = "global"};
    struct pb_memtrace_record record = one_load;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_trace trace;
    bool is_found = false;

    (void)state;
    record.flags = PB_ACCESS_READ | PB_ACCESS_BULK;
    record.lane_mask = 1;
    record.size = 65535 * 16;
    write_trace(&instruction, 1, record);
    assert_int_equal(pb_model_trace_open(FILE_NAME, &trace, &err), PB_OK);
    assert_int_equal(trace.ops->next_kernel(trace.state, &is_found, &err), PB_OK);
    pb_trace_close(&trace);
    record.size = UINT32_MAX;
    write_trace(&instruction, 1, record);
    assert_int_equal(pb_model_trace_open(FILE_NAME, &trace, &err), PB_OK);
    assert_int_equal(trace.ops->next_kernel(trace.state, &is_found, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "bytes of a bulk copy, found 4294967295"));
    pb_trace_close(&trace);
    unlink(FILE_NAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model_trace__accesses_without_records_are_counted),
        cmocka_unit_test(test_model_trace__bulk_copies_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
