/*
 * The words in which the device patch writes what a warp does; read by the converter. Included from
 * CUDA C++ and C.
 *
 *   word 0   type | form << 8 | flags << 16 | size << 24
 *   access:  1 lane mask   2 sequence (low 32 bits)   3 program counter less the launch's base
 *            4 CTA         5 warp                     6, 7 address of the first active lane
 *            AFFINE: 8 stride in bytes, from one active lane to the next
 *            NEAR:   for every further active lane its distance from the first, 32 bits, signed
 *            FAR:    the same in 64 bits, low word first
 *            BULK:   8 bytes that are copied or reduced; one lane
 *   CTA begin and end (of one warp of it): 1 CTA   2 sequence   3, 4 global timer in ns
 */
#ifndef PB_TRACE_WORDS_H
#define PB_TRACE_WORDS_H

enum { PB_WORDS_ACCESS = 1, PB_WORDS_CTA_BEGIN = 2, PB_WORDS_CTA_END = 3 };

/*
 * Accesses of which there are records only where the API at hand has a point to patch for them, as
 * bits of what a stream has (stream.h) and of what an instruction needs (sass.h).
 */
enum {
    PB_RECORDS_BULK_STORES = 1,
    PB_RECORDS_BULK_REDUCTIONS = 2,
    PB_RECORDS_PREFETCHES = 4,
    PB_RECORDS_NEVER = 8 /* no API has a point for them */
};

enum { PB_FORM_AFFINE = 0, PB_FORM_NEAR = 1, PB_FORM_FAR = 2, PB_FORM_BULK = 3 };

enum {
    PB_WORDS_ACCESS_HEAD = 8,
    PB_WORDS_CTA_LENGTH = 5,
    PB_WORDS_RECORD_MAX = PB_WORDS_ACCESS_HEAD + 2 * 31,
    PB_CHUNK_WORDS = 16384, /* of one chunk; 64 KiB */
    PB_CHUNKS_PER_SM = 8,   /* the device fills one while the host drains the others */
};

/*
 * What the device patch and the injection library share. `ready` and `chunks` lie in pinned host
 * memory, so that the host drains them while the kernel runs; the rest lies in device memory.
 */
struct pb_patch_sm {
    unsigned long long cursor; /* number of the chunk << 32 | words taken in it */
    unsigned int committed;    /* words of that chunk that are written */
    unsigned int ring;         /* 0: no CTA yet; 1: being given; else the ring's number + 2 */
    unsigned int reserved[12]; /* one SM's state fills two sectors */
};

struct pb_patch_launch {
    struct pb_patch_sm *sms;     /* by %smid */
    unsigned int *ready;         /* [ring][PB_CHUNKS_PER_SM]: words to drain; 0: free */
    unsigned int *ring_sms;      /* [ring]: %smid + 1; 0: unused */
    unsigned int *chunks;        /* [ring][PB_CHUNKS_PER_SM][PB_CHUNK_WORDS] */
    unsigned long long sequence; /* the next one */
    unsigned int sm_slots;       /* elements of sms */
    unsigned int ring_count;     /* rings there are */
    unsigned int rings_used;     /* SMs get theirs in the order of their first CTA */
    unsigned int rings_traced;   /* rings below this one record accesses, not only CTAs */
    unsigned long long lost;     /* records of SMs that got no ring */
};

#ifndef __CUDACC__
/* Words of the record at words[capacity]; 0: there is none that is whole and sound. */
unsigned int pb_words_length(const unsigned int *words, unsigned int capacity);
#endif

#endif
