/* The instructions of a launch: from a program counter to a row of the trace file. */
#ifndef PB_TRACE_INSTRUCTIONS_H
#define PB_TRACE_INSTRUCTIONS_H

#include "h5schema/memtrace.h"
#include "trace/index.h"

struct pb_instruction_table {
    const struct pb_index *index;
    struct pb_stream_reader *reader; /* where the cubins are */
    uint32_t context;
    struct pb_memtrace_instruction *rows;
    uint32_t *pcs; /* [row] */
    size_t count, capacity;
    size_t *order; /* rows by program counter */
    const struct pb_stream_function
        *last_function;   /* whose instructions without records have rows */
    unsigned char *cubin; /* the one read last */
    size_t cubin_size, cubin_module;
};

/* Starts a table for one launch. */
void pb_instructions_begin(struct pb_instruction_table *table, const struct pb_index *index,
                           struct pb_stream_reader *reader, uint32_t context);

/*
 * The row of a program counter, by its low 32 bits; decoded when it is met first. With it come rows
 * for what no record has in its function: what empties L1, which a warp that goes past executes,
 * and accesses that the tracer did not get (textures, tensor-map copies, constants, …: sass.h).
 */
enum pb_status pb_instructions_find(struct pb_instruction_table *table, uint32_t pc,
                                    uint32_t *row_out, struct pb_error *err);

/* Registers and shared bytes of a kernel of module `module`, as pb_cubin_resources(). */
void pb_instructions_resources(struct pb_instruction_table *table, uint32_t module,
                               const char *kernel, uint32_t *registers_out,
                               int64_t *shared_bytes_out);

void pb_instructions_clear(struct pb_instruction_table *table);

#endif
