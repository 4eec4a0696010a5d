/* The trace file, object by object; see memtrace.h. Order here is the order of SCHEMA.md. */
#include "h5schema/field.h"
#include "h5schema/memtrace.h"

static const struct pb_field program_fields[] = {
    FIELD(I64, pb_memtrace_program, trace_version, "trace_version", "", "version of this layout"),
    FIELD(TEXT, pb_memtrace_program, tool_version, "tool_version", "",
          "version of the program that wrote it"),
    FIELD(TEXT, pb_memtrace_program, created, "created", "UTC", "when the traced program started"),
    FIELD(TEXT, pb_memtrace_program, command_line, "command_line", "", "of plumb-trace, as typed"),
    FIELD(TEXT, pb_memtrace_program, ending, "ending", "", "how the traced program ended"),
    FIELD(I64, pb_memtrace_program, exit_status, "exit_status", "",
          "of the traced program; -1: died of a signal"),
    FIELD(I64, pb_memtrace_program, kernel_count, "kernel_count", "", "groups under /kernels"),
    FIELD(I64, pb_memtrace_program, lost_records, "lost_records", "",
          "of all kernels; -1: not known"),
    FIELD(I64, pb_memtrace_program, complete, "complete", "",
          "1: every kernel that was to be traced is complete"),
    FIELD(TEXT, pb_memtrace_program, message, "message", "", "what is missing; empty: nothing"),
};

static const struct pb_field context_fields[] = {
    FIELD(U32, pb_memtrace_context, context, "context", "", "number, as in the other tables"),
    FIELD(I64, pb_memtrace_context, pid, "pid", "", "process"),
    FIELD(U32, pb_memtrace_context, device, "device", "", "CUDA ordinal in that process"),
    FIELD(TEXT, pb_memtrace_context, model, "model", "", "as the driver calls it"),
    FIELD(TEXT, pb_memtrace_context, uuid, "uuid", "", "the device's own name"),
    FIELD(U32, pb_memtrace_context, compute_capability, "compute_capability", "",
          "10 major + minor"),
    FIELD(U32, pb_memtrace_context, sm_count, "sm_count", "", "streaming multiprocessors"),
};

static const struct pb_field allocation_fields[] = {
    FIELD(U32, pb_memtrace_allocation, context, "context", "", "row of /contexts by number"),
    FIELD(U64, pb_memtrace_allocation, address, "address", "byte", "first byte"),
    FIELD(U64, pb_memtrace_allocation, bytes, "bytes", "byte", "size"),
    FIELD(U64, pb_memtrace_allocation, allocated_event, "allocated_event", "",
          "number of the event: allocations, frees and launches are counted together"),
    FIELD(I64, pb_memtrace_allocation, freed_event, "freed_event", "", "-1: never"),
    FIELD(TEXT, pb_memtrace_allocation, kind, "kind", "", "device, managed, host, pool or module"),
};

static const struct pb_field kernel_fields[] = {
    FIELD(TEXT, pb_memtrace_kernel, name, "name", "", "as in the machine code, mangled"),
    FIELD(U32, pb_memtrace_kernel, context, "context", "", "number in /contexts"),
    FIELD(U32, pb_memtrace_kernel, module, "module", "", "number within its process"),
    FIELD(U64, pb_memtrace_kernel, launch, "launch", "",
          "number among all launches of its process, from 0"),
    FIELD(U64, pb_memtrace_kernel, event, "event", "", "number of the event, as in /allocations"),
    FIELD(U64, pb_memtrace_kernel, stream, "stream", "", "handle, as a name only"),
    FIELD(U32, pb_memtrace_kernel, grid_x, "grid_x", "", "CTAs"),
    FIELD(U32, pb_memtrace_kernel, grid_y, "grid_y", "", "CTAs"),
    FIELD(U32, pb_memtrace_kernel, grid_z, "grid_z", "", "CTAs"),
    FIELD(U32, pb_memtrace_kernel, block_x, "block_x", "", "threads"),
    FIELD(U32, pb_memtrace_kernel, block_y, "block_y", "", "threads"),
    FIELD(U32, pb_memtrace_kernel, block_z, "block_z", "", "threads"),
    FIELD(U32, pb_memtrace_kernel, cluster_x, "cluster_x", "", "CTAs"),
    FIELD(U32, pb_memtrace_kernel, cluster_y, "cluster_y", "", "CTAs"),
    FIELD(U32, pb_memtrace_kernel, cluster_z, "cluster_z", "", "CTAs"),
    FIELD(U32, pb_memtrace_kernel, registers, "registers", "", "of a thread; 0: not known"),
    FIELD(I64, pb_memtrace_kernel, shared_static_bytes, "shared_static", "byte",
          "of a CTA; -1: not known"),
    FIELD(I64, pb_memtrace_kernel, shared_dynamic_bytes, "shared_dynamic", "byte",
          "of a CTA; -1: not known"),
    FIELD(I64, pb_memtrace_kernel, shared_carveout_bytes, "shared_carveout", "byte",
          "shared memory that the program prefers to be set aside on an SM; -1: not known; -2: it "
          "prefers none"),
    FIELD(U32, pb_memtrace_kernel, sms_traced, "sms_traced", "",
          "SMs whose accesses were recorded"),
    FIELD(U64, pb_memtrace_kernel, record_count, "record_count", "", "rows of records"),
    FIELD(U64, pb_memtrace_kernel, offset_count, "offset_count", "", "elements of offsets"),
    FIELD(I64, pb_memtrace_kernel, lost_records, "lost_records", "", "-1: not known"),
    FIELD(F64, pb_memtrace_kernel, seconds, "seconds", "s", "from launch to end, traced"),
    FIELD(I64, pb_memtrace_kernel, complete, "complete", "",
          "1: it ended, and no record of a traced SM is missing"),
    FIELD(TEXT, pb_memtrace_kernel, message, "message", "", "what is missing; empty: nothing"),
};

static const struct pb_field cta_fields[] = {
    FIELD(U32, pb_memtrace_cta, cta, "cta", "", "linear number: x fastest"),
    FIELD(U32, pb_memtrace_cta, sm, "sm", "", "SM it ran on"),
    FIELD(U64, pb_memtrace_cta, sequence, "sequence", "",
          "of its start, on the scale of the records"),
    FIELD(U64, pb_memtrace_cta, begin_ns, "begin", "ns", "global timer, slowed by tracing"),
    FIELD(U64, pb_memtrace_cta, end_ns, "end", "ns", "global timer; 0: not seen"),
};

static const struct pb_field sm_fields[] = {
    FIELD(U32, pb_memtrace_sm, sm, "sm", "", "number of the SM"),
    FIELD(U32, pb_memtrace_sm, traced, "traced", "", "1: its accesses were recorded"),
    FIELD(U64, pb_memtrace_sm, ctas, "ctas", "", "CTAs that started there"),
    FIELD(U64, pb_memtrace_sm, first, "first", "", "its first row in records"),
    FIELD(U64, pb_memtrace_sm, count, "count", "", "its rows in records"),
    FIELD(I64, pb_memtrace_sm, lost_records, "lost_records", "", "-1: not known"),
};

static const struct pb_field instruction_fields[] = {
    FIELD(U32, pb_memtrace_instruction, module, "module", "", "number within its process"),
    FIELD(U64, pb_memtrace_instruction, pc, "pc", "byte",
          "program counter from the start of its function"),
    FIELD(TEXT, pb_memtrace_instruction, function, "function", "", "mangled; empty: not known"),
    FIELD(TEXT, pb_memtrace_instruction, opcode, "opcode", "", "empty: not decoded"),
    FIELD(TEXT, pb_memtrace_instruction, operation, "operation", "",
          "load, store, atomic, reduction, prefetch, async_copy, bulk_copy, bulk_store, "
          "bulk_reduction, tensor_copy, texture, surface, constant or empty_l1"),
    FIELD(TEXT, pb_memtrace_instruction, memory, "memory", "",
          "global, local, generic or constant"),
    FIELD(TEXT, pb_memtrace_instruction, cache_operator, "cache_operator", "",
          "ca, cg, nc, …; empty: not known"),
    FIELD(U32, pb_memtrace_instruction, size, "size", "byte", "of a lane; 0: varies"),
    FIELD(U32, pb_memtrace_instruction, bypasses_l1, "bypasses_l1", "",
          "1: a load that L1 does not answer"),
    LATER(U64, pb_memtrace_instruction, wait_pc, "wait_pc", "byte",
          "of the first later instruction, in the order of the code, that waits for its answer; 0: "
          "not known; 2^64 - 1: none does"),
    FIELD(TEXT, pb_memtrace_instruction, file, "file", "", "source; empty: not in the binary"),
    FIELD(U32, pb_memtrace_instruction, line, "line", "", "of the source; 0: not in the binary"),
};

static const struct pb_field record_fields[] = {
    FIELD(U64, pb_memtrace_record, sequence, "sequence", "", "order over all SMs of the kernel"),
    FIELD(U64, pb_memtrace_record, base, "base", "byte", "address of the first active lane"),
    FIELD(I64, pb_memtrace_record, stride, "stride", "byte",
          "from one active lane to the next, unless flags has 128"),
    FIELD(U64, pb_memtrace_record, first_offset, "first_offset", "",
          "with flag 128: the second active lane's place in offsets"),
    FIELD(U32, pb_memtrace_record, instruction, "instruction", "", "row of instructions"),
    FIELD(U32, pb_memtrace_record, lane_mask, "lane_mask", "", "bit mask of the active lanes"),
    FIELD(U32, pb_memtrace_record, cta, "cta", "", "linear number: x fastest"),
    FIELD(U32, pb_memtrace_record, warp, "warp", "", "of its CTA: linear thread number / 32"),
    FIELD(U32, pb_memtrace_record, size, "size", "byte", "of a lane"),
    FIELD(U32, pb_memtrace_record, flags, "flags", "",
          "1 read, 2 write, 4 atomic, 8 prefetch, 16 asynchronous copy, 32 bulk copy, 64 local "
          "memory, 128 lanes are listed in offsets"),
};

static const struct pb_field offset_fields[] = {
    {"offset", PB_FIELD_I64, 0, sizeof(int64_t), "byte",
     "of every active lane but the first, from the record's base", false}};

const struct pb_object pb_memtrace_schema[] = {
    {"/", PB_OBJECT_GROUP, true, program_fields, COUNT(program_fields),
     sizeof(struct pb_memtrace_program), "the traced program as a whole"},
    {"/contexts", PB_OBJECT_TABLE, true, context_fields, COUNT(context_fields),
     sizeof(struct pb_memtrace_context), "one row for each CUDA context"},
    {"/allocations", PB_OBJECT_TABLE, true, allocation_fields, COUNT(allocation_fields),
     sizeof(struct pb_memtrace_allocation), "the program's allocations, in their order"},
    {"/kernels/<n>", PB_OBJECT_GROUP, false, kernel_fields, COUNT(kernel_fields),
     sizeof(struct pb_memtrace_kernel), "one launch of a kernel; n counts from 0"},
    {"/kernels/<n>/schedule", PB_OBJECT_TABLE, false, cta_fields, COUNT(cta_fields),
     sizeof(struct pb_memtrace_cta), "every CTA in the order of their starts"},
    {"/kernels/<n>/sms", PB_OBJECT_TABLE, false, sm_fields, COUNT(sm_fields),
     sizeof(struct pb_memtrace_sm), "every SM that ran a CTA, and where its records are"},
    {"/kernels/<n>/instructions", PB_OBJECT_TABLE, false, instruction_fields,
     COUNT(instruction_fields), sizeof(struct pb_memtrace_instruction),
     "the instructions that were executed"},
    {"/kernels/<n>/records", PB_OBJECT_TABLE, false, record_fields, COUNT(record_fields),
     sizeof(struct pb_memtrace_record),
     "one row for each warp and instruction executed: SM by SM, in the order of each"},
    {"/kernels/<n>/offsets", PB_OBJECT_ARRAY, false, offset_fields, 1, sizeof(int64_t),
     "addresses that are not affine"},
};

const size_t pb_memtrace_schema_count = COUNT(pb_memtrace_schema);

const struct pb_object *pb_memtrace_schema_find(const char *path)
{
    return pb_object_find(pb_memtrace_schema, pb_memtrace_schema_count, path);
}
