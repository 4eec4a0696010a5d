/*
 * A kernel's memory accesses, as the cache model takes them: one record for each warp and
 * instruction executed, in program order within a warp; whatever the format of the file.
 *
 * A trace is streamed. It yields kernels one after the other; the current kernel's records come
 * from one stream or, where the trace knows on which SM a block ran, from one stream an SM.
 */
#ifndef PB_ANALYSIS_KERNEL_TRACE_H
#define PB_ANALYSIS_KERNEL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/record.h"

enum { PB_LANES_MAX = 32, PB_KERNEL_NAME_LENGTH = 1024 };

enum pb_access_kind {
    PB_KIND_LOAD,
    PB_KIND_STORE,
    PB_KIND_ATOMIC, /* or a reduction: done in L2 */
    PB_KIND_PREFETCH,
    PB_KIND_EMPTY_L1, /* no access: a fence or an acquire; see struct pb_access_sink */
    PB_KIND_COUNT
};

enum pb_access_space {
    PB_SPACE_GLOBAL, /* or generic, where it is not shared or local memory */
    PB_SPACE_LOCAL   /* addresses are offsets in each thread's own memory */
};

/* By which way an access reaches memory: what counters distinguish. */
enum pb_access_way {
    PB_WAY_REGISTERS, /* the usual one */
    PB_WAY_ASYNC,     /* copied to shared memory past the registers */
    PB_WAY_BULK       /* by the bulk copy engine: past L1, one address for the warp */
};

/* What becomes of the line of an access in L1. */
enum pb_residence {
    PB_RESIDENCE_ORDINARY,
    PB_RESIDENCE_FIRST, /* kept, but given up before others (evict_first, .cs) */
    PB_RESIDENCE_LAST,  /* given up after all others (evict_last) */
    PB_RESIDENCE_NONE,  /* not kept (no_allocate) */
    PB_RESIDENCE_TAKEN  /* not kept, and what was there is given up (.lu) */
};

struct pb_instruction {
    uint64_t program_counter;     /* bytes from the start of the function */
    uint32_t line;                /* of the source; 0: not known */
    char file[PB_MESSAGE_LENGTH]; /* of the source; empty: not known */
    char opcode[PB_NAME_LENGTH];  /* empty: not known */
    enum pb_access_kind kind;
    enum pb_access_space space;
    enum pb_access_way way;
    bool bypasses_l1;
    enum pb_residence residence;
    uint32_t fetch_bytes; /* that it has L2 fetch where it misses there; 0: as many as always */
    /*
     * Program counter of the first later instruction that waits for its answer, UINT64_MAX: none
     * does. 0: not known; then the warp waits before its next access.
     */
    uint64_t wait_counter;
};

struct pb_allocation {
    uint64_t address, bytes;
    char name[PB_NAME_LENGTH]; /* "device 3", …; unique within a kernel */
};

/* One launch. Arrays belong to the trace and hold until its next kernel. */
struct pb_kernel {
    char name[PB_KERNEL_NAME_LENGTH];
    char device[PB_TEXT_LENGTH]; /* uuid of the GPU that ran it; empty: not known */
    uint32_t grid[3], block[3];
    uint64_t block_count;
    uint32_t warp_count;    /* of a block */
    uint32_t registers;     /* of a thread; 0: not known */
    int64_t shared_bytes;   /* of a block; -1: not known */
    int64_t carveout_bytes; /* of an SM, that the program prefers to be set aside; -1: none */
    bool has_program_counters;
    uint32_t stream_count;
    bool has_schedule;   /* each stream is what one SM did; else the one stream is all */
    size_t sm_count;     /* SMs that ran blocks, of which those with a stream were recorded; 0: not
                            known */
    const uint32_t *sms; /* [stream_count] the SM of each; NULL: not known */
    const double
        *starts_ns; /* [stream_count] when the first block of each began; NULL: not known */
    const struct pb_instruction *const *instructions; /* read anew after each record: it may grow */
    const size_t *instruction_count;
    const struct pb_allocation *allocations; /* [allocation_count] by address */
    size_t allocation_count;
    uint64_t
        unmodelled;    /* instructions that the reader left out so far; see docs/kernel-model.md */
    uint64_t untraced; /* instructions of its code of which accesses have no records */
    char message[PB_MESSAGE_LENGTH]; /* what the trace lacks; empty: nothing */
};

/* What one warp did. */
struct pb_access {
    uint32_t instruction;           /* < *instruction_count */
    uint32_t lane_mask;             /* not 0 */
    uint32_t bytes;                 /* of a lane */
    uint64_t address[PB_LANES_MAX]; /* of the active lanes, by rank */
};

enum pb_event_kind {
    PB_EVENT_ACCESS,
    PB_EVENT_WARP_END,  /* no more of this warp */
    PB_EVENT_BLOCK_END, /* no more of this block, whatever its warps */
    PB_EVENT_STREAM_END /* no more of this stream */
};

struct pb_trace_event {
    enum pb_event_kind kind;
    uint64_t block; /* x fastest */
    uint32_t warp;
    struct pb_access access;
};

/* What a format has to offer. Errors name the file and the place. */
struct pb_trace_ops {
    const char *format;
    /* The next kernel with its streams at their beginning; *found_out false behind the last. */
    enum pb_status (*next_kernel)(void *state, bool *found_out, struct pb_error *err);
    /* The same kernel from its beginning. */
    enum pb_status (*restart)(void *state, struct pb_error *err);
    const struct pb_kernel *(*kernel)(const void *state);
    /* Warps of a block, as bits, that are known to have no accesses; NULL: that is not known. */
    uint32_t (*idle_warps)(const void *state, uint64_t block);
    /* stream  < stream_count */
    enum pb_status (*next)(void *state, uint32_t stream, struct pb_trace_event *event_out,
                           struct pb_error *err);
    void (*close)(void *state);
};

struct pb_trace {
    const struct pb_trace_ops *ops;
    void *state;
};

/* block_count and warp_count of grid and block. False: no such launch is possible. */
bool pb_kernel_count(struct pb_kernel *kernel);

/* A trace is read several times: PB_INVALID where path is no regular file. */
enum pb_status pb_trace_check_file(const char *path, struct pb_error *err);

/*
 * Opens a trace that is text, recognized by content: N14's or Accel-Sim's .traceg, plain or packed
 * by gzip or xz. pb_trace_close() it. PB_INVALID: neither, or not a regular file.
 */
enum pb_status pb_trace_open_text(const char *path, struct pb_trace *trace_out,
                                  struct pb_error *err);
void pb_trace_close(struct pb_trace *trace); /* zeroed is allowed */

#endif
