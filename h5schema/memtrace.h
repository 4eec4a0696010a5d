/*
 * The trace file: the global, local and asynchronous memory accesses of a program's CUDA kernels,
 * one record for each warp and instruction executed. Written by plumb-trace, read by plumb-model.
 *
 * Records of a kernel are grouped by SM, in the order in which that SM reached them, so that one
 * SM's accesses are one range of rows; `sequence` orders the records of all SMs. A record's
 * addresses are a base and a stride where they are affine in the rank of the active lane, else a
 * base and a list of offsets. Readers and writers work in ranges: memory does not grow with the
 * file.
 */
#ifndef PB_H5SCHEMA_MEMTRACE_H
#define PB_H5SCHEMA_MEMTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/record.h"

enum { PB_MEMTRACE_VERSION = 1, PB_WARP_LANES = 32, PB_MEMTRACE_NAME_LENGTH = 1024 };

/* Attributes of the root: the traced program as a whole. */
struct pb_memtrace_program {
    int64_t trace_version; /* PB_MEMTRACE_VERSION; set by the writer */
    char tool_version[PB_NAME_LENGTH];
    char created[PB_NAME_LENGTH]; /* UTC */
    char command_line[512];
    char ending[PB_MESSAGE_LENGTH];  /* "ended with exit status 0", "died of signal 11 (…)" */
    int64_t exit_status;             /* of the program; -1: died of a signal */
    int64_t kernel_count;            /* groups under /kernels; set by the writer */
    int64_t lost_records;            /* of all kernels; -1: not known */
    int64_t complete;                /* 1: every kernel that was to be traced is complete */
    char message[PB_MESSAGE_LENGTH]; /* what is missing; empty: nothing */
};

/* A row of /contexts: one CUDA context of one process. */
struct pb_memtrace_context {
    uint32_t context; /* number, as in the other tables */
    int64_t pid;
    uint32_t device; /* CUDA ordinal in that process */
    char model[PB_TEXT_LENGTH];
    char uuid[PB_TEXT_LENGTH];
    uint32_t compute_capability; /* 10 major + minor */
    uint32_t sm_count;
};

/* A row of /allocations, in order of allocation. `event` counts allocations, frees and launches. */
struct pb_memtrace_allocation {
    uint32_t context;
    uint64_t address, bytes;
    uint64_t allocated_event;
    int64_t freed_event;       /* -1: never */
    char kind[PB_NAME_LENGTH]; /* device, managed, host, pool or module */
};

/* Attributes of /kernels/<n>: one launch. */
struct pb_memtrace_kernel {
    char name[PB_MEMTRACE_NAME_LENGTH]; /* as in the machine code (mangled) */
    uint32_t context;
    uint32_t module; /* number of the module within its process */
    uint64_t launch; /* number of the launch among all of its process, from 0 */
    uint64_t event;  /* see pb_memtrace_allocation */
    uint64_t stream; /* handle, as a name only */
    uint32_t grid_x, grid_y, grid_z;
    uint32_t block_x, block_y, block_z;
    uint32_t cluster_x, cluster_y, cluster_z;
    uint32_t registers;            /* of a thread; 0: not known */
    int64_t shared_static_bytes;   /* -1: not known */
    int64_t shared_dynamic_bytes;  /* -1: not known */
    int64_t shared_carveout_bytes; /* of an SM, that the program prefers to be set aside; -1: not
                                      known; -2: it prefers none */
    uint32_t sms_traced;           /* SMs whose accesses were recorded */
    uint64_t record_count, offset_count;
    int64_t lost_records;            /* -1: not known */
    double seconds;                  /* from launch to end, traced */
    int64_t complete;                /* 1: ended, and no record of a traced SM is missing */
    char message[PB_MESSAGE_LENGTH]; /* what is missing; empty: nothing */
};

/* A row of /kernels/<n>/schedule: one CTA, in the order of their starts. */
struct pb_memtrace_cta {
    uint32_t cta; /* linear: x fastest */
    uint32_t sm;
    uint64_t sequence;         /* of its start, on the scale of the records' sequence */
    uint64_t begin_ns, end_ns; /* global timer, slowed by tracing; end 0: not seen */
};

/* A row of /kernels/<n>/sms: one SM that ran at least one CTA. */
struct pb_memtrace_sm {
    uint32_t sm;
    uint32_t traced;       /* 1: its accesses were recorded */
    uint64_t ctas;         /* CTAs that started there */
    uint64_t first, count; /* its records: rows [first, first + count) */
    int64_t lost_records;  /* -1: not known */
};

/*
 * A row of /kernels/<n>/instructions: one that was executed, as decoded from the machine code.
 * Those without a record may have been executed: what empties L1, and accesses that have no
 * records.
 */
struct pb_memtrace_instruction {
    uint32_t module;
    uint64_t pc; /* bytes from the start of its function */
    char function[PB_MESSAGE_LENGTH];
    char opcode[PB_NAME_LENGTH];         /* LDG, STG, ATOMG, LDGSTS, …; empty: not decoded */
    char operation[PB_NAME_LENGTH];      /* load, store, atomic, reduction, prefetch, async_copy,
                                            bulk_copy, …; see docs/tracing.md */
    char memory[PB_NAME_LENGTH];         /* global, local, generic or constant */
    char cache_operator[PB_NAME_LENGTH]; /* ca, cg, nc, …; see docs/tracing.md; empty: not known */
    uint32_t size;                       /* bytes of a lane; 0: varies */
    uint32_t bypasses_l1;                /* 1: a load that is not answered by L1 */
    uint64_t wait_pc; /* of the first later instruction that waits for its answer, in the order of
                         the code; 0: not known; UINT64_MAX: none does */
    char file[PB_MESSAGE_LENGTH]; /* source; empty: not in the binary */
    uint32_t line;                /* 0: not in the binary */
};

enum pb_memtrace_flag {
    PB_ACCESS_READ = 1,
    PB_ACCESS_WRITE = 2, /* with READ: an atomic or a reduction */
    PB_ACCESS_ATOMIC = 4,
    PB_ACCESS_PREFETCH = 8,
    PB_ACCESS_ASYNC = 16,   /* copy from global to shared memory past the registers */
    PB_ACCESS_BULK = 32,    /* by the bulk copy engine: one address, `size` bytes */
    PB_ACCESS_LOCAL = 64,   /* addresses are offsets in each thread's local memory */
    PB_ACCESS_OFFSETS = 128 /* not affine: the lanes' offsets are in /kernels/<n>/offsets */
};

/*
 * A row of /kernels/<n>/records. The active lanes are the bits of lane_mask; the k-th of them from
 * bit 0, k = 0, 1, …, accesses [a, a + size) with
 *   a = base + k * stride                          unless PB_ACCESS_OFFSETS,
 *   a = base (k = 0), base + offsets[first_offset + k - 1] (k > 0)   else.
 */
struct pb_memtrace_record {
    uint64_t sequence;
    uint64_t base;
    int64_t stride;
    uint64_t first_offset;
    uint32_t instruction; /* row of instructions */
    uint32_t lane_mask;
    uint32_t cta;
    uint32_t warp; /* of the CTA: linear thread number / 32 */
    uint32_t size; /* bytes of a lane */
    uint32_t flags;
};

/* ---- writing ---- */

struct pb_memtrace_writer;

/*
 * Starts a file that will be called `path`; it is written beside it under a temporary name.
 * PB_EXISTS: `path` exists and is no trace file. PB_INVALID: its folder cannot be written.
 */
enum pb_status pb_memtrace_create(const char *path, struct pb_memtrace_writer **writer_out,
                                  struct pb_error *err);

/* Only the refusals of pb_memtrace_create(), without leaving anything. */
enum pb_status pb_memtrace_may_create(const char *path, struct pb_error *err);

/* Write the whole of /contexts and of /allocations. */
enum pb_status pb_memtrace_write_contexts(struct pb_memtrace_writer *writer,
                                          const struct pb_memtrace_context *rows, size_t count,
                                          struct pb_error *err);
enum pb_status pb_memtrace_write_allocations(struct pb_memtrace_writer *writer,
                                             const struct pb_memtrace_allocation *rows,
                                             size_t count, struct pb_error *err);

/*
 * Starts /kernels/<n>, n = 0, 1, … in order of the calls. expected_rows: about how many records,
 * and how many offsets, are appended at most; 0: not known. Of a small kernel, small chunks are
 * written: a whole one takes milliseconds to compress, however little is in it.
 */
enum pb_status pb_memtrace_begin_kernel(struct pb_memtrace_writer *writer, uint64_t expected_rows,
                                        struct pb_error *err);

/*
 * Appends records[count] and their offsets[offset_count]. first_offset of the records counts from
 * the start of `offsets`; it is rebased here. SM by SM, in the order of the table `sms`.
 */
enum pb_status pb_memtrace_append(struct pb_memtrace_writer *writer,
                                  struct pb_memtrace_record *records, size_t count,
                                  const int64_t *offsets, size_t offset_count,
                                  struct pb_error *err);

/* The tables of a kernel that end it. record_count and offset_count are set here. */
struct pb_memtrace_kernel_tables {
    const struct pb_memtrace_cta *ctas;
    size_t cta_count;
    const struct pb_memtrace_sm *sms;
    size_t sm_count;
    const struct pb_memtrace_instruction *instructions;
    size_t instruction_count;
};
enum pb_status pb_memtrace_end_kernel(struct pb_memtrace_writer *writer,
                                      const struct pb_memtrace_kernel *kernel,
                                      const struct pb_memtrace_kernel_tables *tables,
                                      struct pb_error *err);

/* Writes the root, closes, and renames into place. The writer is gone either way. */
enum pb_status pb_memtrace_commit(struct pb_memtrace_writer *writer,
                                  const struct pb_memtrace_program *program, struct pb_error *err);

/* Closes and deletes the temporary file; NULL is allowed. */
void pb_memtrace_abandon(struct pb_memtrace_writer *writer);

/* ---- reading: nothing in the file is trusted ---- */

struct pb_memtrace_reader;

/* Is this HDF5 file a trace file? For programs that take several kinds of file. Never fails. */
bool pb_memtrace_is_trace(const char *path);

/* PB_INVALID: no HDF5, truncated, no trace file, or another version. */
enum pb_status pb_memtrace_open(const char *path, struct pb_memtrace_reader **reader_out,
                                struct pb_error *err);
void pb_memtrace_close(struct pb_memtrace_reader *reader); /* NULL is allowed */

const struct pb_memtrace_program *pb_memtrace_program(const struct pb_memtrace_reader *reader);

/*
 * Reads the whole file once, every record and its offsets. The first thing that is wrong ends it:
 * err names the file and the place. Else how many kernels and records it has.
 */
enum pb_status pb_memtrace_validate(const char *path, size_t *kernels_out, uint64_t *records_out,
                                    struct pb_error *err);

/* free() the rows. */
enum pb_status pb_memtrace_contexts(struct pb_memtrace_reader *reader,
                                    struct pb_memtrace_context **rows_out, size_t *count_out,
                                    struct pb_error *err);
enum pb_status pb_memtrace_allocations(struct pb_memtrace_reader *reader,
                                       struct pb_memtrace_allocation **rows_out, size_t *count_out,
                                       struct pb_error *err);

/* One launch with all its tables, whose size is that of its grid and its code. */
struct pb_memtrace_launch {
    struct pb_memtrace_kernel kernel;
    struct pb_memtrace_cta *ctas;
    size_t cta_count;
    struct pb_memtrace_sm *sms;
    size_t sm_count;
    struct pb_memtrace_instruction *instructions;
    size_t instruction_count;
};

/*
 * Reads /kernels/<number> less its records. PB_NOT_FOUND: no such kernel. PB_CORRUPT: an SM owns
 * records that are not there. pb_memtrace_launch_clear() it.
 */
enum pb_status pb_memtrace_read_launch(struct pb_memtrace_reader *reader, size_t number,
                                       struct pb_memtrace_launch *launch_out, struct pb_error *err);
void pb_memtrace_launch_clear(struct pb_memtrace_launch *launch);

/* A run through a range of a kernel's records, a buffer at a time. Several may be open at once. */
struct pb_memtrace_cursor;

/* The records [first, first + count) of kernel `number`; buffer_rows 0: a size that suits. */
enum pb_status pb_memtrace_cursor_open(struct pb_memtrace_reader *reader, size_t number,
                                       uint64_t first, uint64_t count, size_t buffer_rows,
                                       struct pb_memtrace_cursor **cursor_out,
                                       struct pb_error *err);
void pb_memtrace_cursor_close(struct pb_memtrace_cursor *cursor); /* NULL is allowed */

/*
 * The next record. *record_out points to it, NULL at the end of the range. addresses_out (NULL is
 * allowed) gets one address for each active lane, *lanes_out of them. Valid until the next call.
 * PB_CORRUPT: a record names an instruction, a CTA or offsets that are not there, or no lane.
 */
enum pb_status pb_memtrace_cursor_next(struct pb_memtrace_cursor *cursor,
                                       const struct pb_memtrace_record **record_out,
                                       uint64_t addresses_out[PB_WARP_LANES], size_t *lanes_out,
                                       struct pb_error *err);

#endif
