/*
 * Measurements in which all SMs of a device take part, or a cluster of them; part of device.h.
 *
 * All need an SM for each of their CTAs. PB_UNSUPPORTED: the device does not give that (MIG,
 * another process), or has no such thing.
 */
#ifndef PB_DEVICE_PARALLEL_H
#define PB_DEVICE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all SMs but the chase's read meanwhile. */
enum pb_background { PB_BACKGROUND_NONE, PB_BACKGROUND_L2, PB_BACKGROUND_DRAM };

/*
 * A traced chase beside other traffic: first all threads of its SM read the array's first
 * read_bytes, three times, past L1, so that L2 holds what that SM alone has left in it; then, while
 * the other SMs read from L2 or DRAM, it goes as pb_device_ops.chase does.
 */
struct pb_loaded_chase {
    struct pb_chase chase; /* global_ca or global_cg, record > 0 */
    uint64_t read_bytes;   /* a multiple of PB_WORK_ARRAY_STEP; 0: no reading before */
    /* It is read by accesses that request L2 to keep it, in what L2 sets aside for such.
     * PB_UNSUPPORTED: it sets nothing aside. */
    bool is_persisting;
    uint64_t evict_bytes; /* so many other bytes all SMs write between reading and chase */
    enum pb_background background;
    double background_bytes_per_s; /* wanted of all others together; 0: all that they can */
};

/* What a kind of work does; see struct pb_work. */
enum pb_work_kind {
    PB_WORK_L1,     /* reads through L1 */
    PB_WORK_L2,     /* reads past L1 */
    PB_WORK_SHARED, /* reads of shared memory */
    PB_WORK_ATOMIC, /* additions to words in L2 */
    PB_WORK_BULK,   /* asynchronous copies from L2 to shared memory, by one thread */
    PB_WORK_PIECES, /* reads past L1 of chosen pieces that lie at home in L2, each once */
    PB_WORK_KIND_COUNT
};

enum { PB_WORK_THREADS = 1024, PB_WORK_ARRAY_STEP = 65536, PB_WORK_DEPTH_MAX = 16 };
enum { PB_WORK_LOADS = 4 }; /* of a thread at once */
/* A piece, and how many of them an SM reads: multiples of the step. The last piece of every page is
 * the backend's own, for practice. */
enum { PB_WORK_PIECE_BYTES = 4096, PB_WORK_PIECES_STEP = 16, PB_WORK_PIECES_PAGE = 512 };

/*
 * The same work of 1,024 threads on every SM at the same time, or on one SM alone.
 *
 * L1, L2, SHARED: `repeats` passes over `bytes` of each SM's own, in words of word_bytes.
 * ATOMIC: every thread adds `repeats` times one to word (sm * 1024 + thread) % address_count of
 *   those from offset_bytes on: 1 is one address, 32 one line, more than there are threads none
 *   shared.
 * BULK: `repeats` copies of word_bytes, `depth` at a time, from `bytes` of each SM's own.
 * PIECES: SM i reads spans[i][1] of the pieces from pieces[spans[i][0]] on once, by words of 16
 *   bytes; all SMs have written the array before, so that no SM has copies of its own.
 * All that is read is checked, and what was added is counted.
 */
struct pb_work {
    enum pb_work_kind kind;
    uint32_t word_bytes;    /* 4, 8 or 16; BULK: a multiple of 16 */
    uint64_t bytes;         /* a multiple of pb_work_step_bytes(); PIECES: of the whole array */
    uint32_t repeats;       /* odd, for reads */
    uint32_t depth;         /* BULK: 1 to PB_WORK_DEPTH_MAX */
    uint32_t address_count; /* ATOMIC */
    uint64_t offset_bytes;  /* ATOMIC: below PB_WORK_ARRAY_STEP * 1024, a multiple of 128 */
    int64_t sm;             /* -1: all */
    const uint32_t *pieces; /* PIECES: [piece_count] numbers of pieces of the array */
    size_t piece_count;
    const uint32_t (*spans)[2]; /* PIECES: [SMs of the device] */
};

/* What the array of a work is a multiple of: so many loads of all threads. */
static inline uint64_t pb_work_step_bytes(const struct pb_work *work)
{
    if (work->kind == PB_WORK_PIECES)
        return (uint64_t)PB_WORK_PIECES_PAGE * PB_WORK_PIECE_BYTES;
    return work->kind == PB_WORK_BULK
               ? PB_WORK_ARRAY_STEP
               : (uint64_t)PB_WORK_THREADS * PB_WORK_LOADS * work->word_bytes;
}

/*
 * Refuses work that its own numbers rule out: PB_INVALID. PB_UNSUPPORTED: more shared memory than
 * shared_bytes, which an SM has. Whether the device can copy in bulk is for the backend to check.
 */
enum pb_status pb_work_check(const struct pb_work *work, uint32_t sm_count, uint64_t shared_bytes,
                             struct pb_error *err);

/*
 * The same products of random matrices on every SM, `runs` times, each from operands of its own;
 * on the tensor cores where there are any. rest_us > 0: with pauses, all SMs at the same time.
 * checksums_out[runs][sm_count]: equal along a row where nothing went wrong, and on every device of
 * the same model.
 */
struct pb_compute {
    uint64_t seed;
    uint32_t runs, steps; /* of a run; one takes about 100 cycles */
    uint32_t rest_us;
};

/*
 * Shared memory of other SMs, of clusters of `size` CTAs: cycles_out[count][size][size] of one
 * dependent load from each CTA to each, itself included, and bytes per cycle of each that reads
 * from the next one, rate_out[count][size]. Which SMs these were: sms_out[count][size].
 */
struct pb_cluster_shared {
    uint32_t size; /* 1 to 16 */
    size_t count;
};

#endif
