/*
 * The C interface of pair.cu, as kernels.h is that of the others: which SMs clusters run on, and
 * pairs of SMs at work.
 */
#ifndef PB_KERNELS_PAIR_H
#define PB_KERNELS_PAIR_H

#include "kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every CTA of cta_count, in clusters of size, reports its SM. */
struct pb_kernel_clusters {
    uint64_t sms; /* uint32_t[cta_count] */
    uint32_t size, cta_count;
    uint32_t shared_bytes; /* so much that no other CTA fits the SM */
    uint32_t hold_cycles;  /* how long a CTA keeps its SM, so that others take other SMs */
};

/* How many such clusters run at once: 0 where the device has none of this size. */
int pb_kernel_clusters_fit(const struct pb_kernel_clusters *clusters, int *count_out);
int pb_kernel_clusters(const struct pb_kernel_clusters *clusters);

/* What went wrong, for the host to say. */
enum pb_kernel_pairs_fault {
    PB_KERNEL_PAIRS_WELL,
    PB_KERNEL_PAIRS_ABSENT, /* not all CTAs ran at once */
    PB_KERNEL_PAIRS_SPREAD, /* two on one SM, or an SM of a number beyond the others */
    PB_KERNEL_PAIRS_LATE,   /* one of a pair waited in vain */
};

/* Where the CTAs agree on whose turn it is. The host zeroes it. */
struct pb_kernel_pairs_state {
    uint32_t present, fault;
    uint32_t turn;          /* the pair that works */
    uint32_t arrived, done; /* of its SMs */
    uint32_t mismatches;    /* threads that read something wrong */
    uint32_t is_taken[1];   /* by SM; as many as there are CTAs follow */
};

enum pb_kernel_pairs_kind {
    PB_KERNEL_PAIRS_READ,
    PB_KERNEL_PAIRS_WRITE,
    PB_KERNEL_PAIRS_ATOMIC,
    PB_KERNEL_PAIRS_CONSTANT,
    PB_KERNEL_PAIRS_TRANSLATE,
    PB_KERNEL_PAIRS_KINDS
};

/*
 * One CTA on every SM. Pair after pair, its SMs do the same work at the same time: first once for
 * practice, then between two stamps. SM 0 of a pair has the first half of data and slots.
 */
struct pb_kernel_pairs {
    uint64_t state;  /* struct pb_kernel_pairs_state */
    uint64_t sms;    /* uint32_t[count][2] */
    uint64_t stamps; /* uint32_t[count][2][2], raw */
    uint64_t data;   /* 2 * bytes: the pattern, by words of 32 bits */
    uint64_t slots;  /* TRANSLATE: 2 * pages zeros of 64 bits, slot_step apart */
    uint64_t slot_step;
    uint32_t pages;
    uint32_t count, bytes, salt;
    enum pb_kernel_pairs_kind kind;
    uint32_t cta_count, shared_bytes;
};

int pb_kernel_pairs(const struct pb_kernel_pairs *pairs);

#ifdef __cplusplus
}
#endif

#endif
