/*
 * The C interface of kernels in which all SMs take part: traffic beside a chase (background.cu),
 * the same work on every SM (work.cu), shared memory of a cluster (cluster_shared.cu), and the same
 * computation on every SM (compute.cu). As in kernels.h, nothing here allocates, waits or checks.
 */
#ifndef PB_KERNELS_PARALLEL_H
#define PB_KERNELS_PARALLEL_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- background.cu ---- */

/* Lies in device memory; the host zeroes it, and sets `stop` when the chase is over. */
struct pb_kernel_background_state {
    uint32_t started; /* CTAs at work */
    uint32_t stop;
    uint64_t batches;  /* of all warps, written when they end */
    uint64_t start_ns; /* the sum over all CTAs */
    uint64_t end_ns;
    uint32_t ended; /* CTAs */
    uint32_t unused;
};

/* What a warp reads before it looks at the clock again. */
enum { PB_KERNEL_BATCH_LOADS = 8, PB_KERNEL_BATCH_BYTES = PB_KERNEL_BATCH_LOADS * 32 * 16 };

/*
 * CTAs of 32 warps that read `bytes` at `data` over and over, past L1, until the state says stop or
 * limit_ns have passed. A warp starts a batch every period_cycles, or with 0 as soon as it can. On
 * `stream`, so that a chase on the default stream runs meanwhile on the SM that is left.
 */
struct pb_kernel_background {
    uint64_t state; /* struct pb_kernel_background_state */
    uint64_t data, bytes;
    uint64_t period_cycles, limit_ns;
    uint32_t cta_count, shared_bytes; /* so much shared memory that an SM holds no other CTA */
};
int pb_kernel_background(const struct pb_kernel_background *background, void *stream);

/* Streams that the default stream does not wait for. */
int pb_kernel_stream_create(void **stream_out);
int pb_kernel_stream_wait(void *stream);
void pb_kernel_stream_destroy(void *stream);

/* ---- work.cu, compute.cu ---- */

/* Where CTAs meet, one on each SM. The host zeroes it. */
enum pb_kernel_meet_fault {
    PB_KERNEL_MEET_WELL,
    PB_KERNEL_MEET_ABSENT, /* not all CTAs ran at once */
    PB_KERNEL_MEET_SPREAD, /* two on one SM, or an SM of a number beyond the others */
};
struct pb_kernel_meet {
    uint32_t present, fault;
    uint32_t mismatches;  /* threads that read something wrong */
    uint32_t is_taken[1]; /* by SM; as many as there are CTAs follow */
};

enum pb_kernel_work_kind {
    PB_KERNEL_WORK_L1,     /* ld.global.ca */
    PB_KERNEL_WORK_L2,     /* ld.global.cg */
    PB_KERNEL_WORK_SHARED, /* ld.shared */
    PB_KERNEL_WORK_ATOMIC, /* red.global.add of one to words of 4 bytes */
    PB_KERNEL_WORK_BULK,   /* cp.async.bulk from global to shared memory, sm_90 */
    PB_KERNEL_WORK_PIECES, /* ld.global.cg of listed pieces */
    PB_KERNEL_WORK_KINDS
};

/* The words that a thread of a reading kind has outstanding. */
enum { PB_KERNEL_WORK_AT_ONCE = 4, PB_KERNEL_BULK_DEPTH_MAX = 16 };

/* Pieces, and how many of them all threads read at once. */
enum { PB_KERNEL_PIECE_BYTES = 4096, PB_KERNEL_PIECES_STEP = 16 };

/*
 * One CTA of 1,024 threads on every SM; those that take part start together.
 *
 * Reading kinds: `repeats` passes, an odd number, over the SM's own `bytes` in words of word_bytes
 * (4, 8 or 16); bytes a multiple of 1024 x word_bytes x PB_KERNEL_WORK_AT_ONCE.
 * ATOMIC: each thread adds `repeats` times to word (sm x 1024 + thread) modulo address_count.
 * BULK: one thread copies `repeats` times word_bytes (a multiple of 16), `depth` at once.
 * PIECES: an SM reads once, by words of 16 bytes, the pieces of data whose numbers its span names,
 * a multiple of PB_KERNEL_PIECES_STEP; before it starts it practises on the first step of the list.
 */
struct pb_kernel_work {
    uint64_t state;   /* struct pb_kernel_meet */
    uint64_t stamps;  /* uint64_t[cta_count][2] by SM, raw; zeros where it took no part */
    uint64_t data;    /* PB_KERNEL_PATTERN, by words of 4 bytes; zeros for ATOMIC */
    uint64_t sm_step; /* from one SM's array to that of the next */
    uint64_t bytes;   /* of an SM's array */
    enum pb_kernel_work_kind kind;
    uint32_t word_bytes, repeats, depth, address_count;
    int32_t sm; /* alone; -1: all */
    uint32_t salt;
    uint32_t cta_count, shared_bytes;
    uint64_t persisting_bytes; /* of data that L2 is asked to keep; 0: none */
    uint64_t pieces;           /* uint32_t[]: the list */
    uint64_t spans;            /* uint32_t[cta_count][2]: first and count, by SM */
};
/* cudaErrorInvalidValue: no such kind or word here. */
int pb_kernel_work(const struct pb_kernel_work *work);

/* `runs` times the same tile on every SM; see compute.cu. */
struct pb_kernel_compute {
    uint64_t state;     /* struct pb_kernel_meet */
    uint64_t checksums; /* uint64_t[runs][cta_count], by SM */
    uint64_t seed;
    uint32_t runs, steps;
    uint32_t rest_ns; /* between two runs, all SMs at the same time; 0: none */
    uint32_t cta_count, shared_bytes;
};
int pb_kernel_compute(const struct pb_kernel_compute *compute);

/* ---- cluster_shared.cu ---- */

enum { PB_KERNEL_CLUSTER_SLOTS = 64, PB_KERNEL_CLUSTER_BYTES = 65536 };

/*
 * CTAs in clusters of `size`, each alone on its SM. Latency: each in turn, PB_KERNEL_CLUSTER_SLOTS
 * dependent loads of each one's shared memory. Rate: all at once, `repeats` passes (an odd number)
 * over PB_KERNEL_CLUSTER_BYTES of the next one's.
 */
struct pb_kernel_cluster_shared {
    uint64_t sms;         /* uint32_t[cta_count] */
    uint64_t clocks;      /* uint64_t[cta_count][size][2]: raw, around all loads of a turn */
    uint64_t rate_clocks; /* uint64_t[cta_count][2] */
    uint64_t mismatches;  /* uint32_t: threads that read something wrong; zero before */
    uint32_t size, cta_count, repeats, salt;
    uint32_t shared_bytes;
};
/* How many such clusters run at once: 0 where the device has none of this size. */
int pb_kernel_cluster_shared_fit(const struct pb_kernel_cluster_shared *request, int *count_out);
int pb_kernel_cluster_shared(const struct pb_kernel_cluster_shared *request);

#ifdef __cplusplus
}
#endif

#endif
