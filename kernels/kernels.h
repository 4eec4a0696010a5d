/*
 * The C interface of the CUDA kernels: plain structures in, a CUDA runtime error code out.
 *
 * Nothing here allocates, waits or checks its arguments; src/device/cuda*.c does. All addresses are
 * device addresses, all launches go to the current device's default stream, and a returned 0 only
 * says that the launch was accepted.
 */
#ifndef PB_KERNELS_KERNELS_H
#define PB_KERNELS_KERNELS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The load that a chase is made of. */
enum pb_kernel_path {
    PB_KERNEL_GLOBAL_CA, /* ld.global.ca */
    PB_KERNEL_GLOBAL_CG, /* ld.global.cg */
    PB_KERNEL_READONLY,  /* ld.global.nc */
    PB_KERNEL_SHARED,    /* ld.shared, the chain is built by the kernel itself */
    PB_KERNEL_PATH_COUNT
};

/* What one launch tells. A launch that did not find its SM leaves `runs` at 0. */
struct pb_kernel_result {
    uint64_t start_cycles, end_cycles; /* around the timed loads, raw */
    uint64_t start_ns, end_ns;
    uint64_t last_address; /* loaded last: where the next load would go */
    uint64_t base_address; /* shared memory chains: of offset 0 */
    uint32_t sm_id;
    uint32_t runs; /* CTAs that did the work: 1 */
};

/* Lies in device memory and is written anew before each launch. */
struct pb_kernel_control {
    uint64_t practice; /* first: holds its own address: a chain of one slot */
    uint64_t apart[15];
    uint32_t claimed;  /* a CTA has taken the work */
    uint32_t departed; /* CTAs that have left it to another */
    struct pb_kernel_result result;
};

/* Where and how a stamped or timed kernel is launched. */
struct pb_kernel_place {
    uint64_t control;      /* struct pb_kernel_control */
    int32_t sm;            /* the SM to run on; -1: anywhere */
    uint32_t cta_count;    /* enough for every SM to get one; 1 when sm is -1 */
    int32_t carveout;      /* percent of the largest shared memory to set aside */
    uint32_t shared_bytes; /* dynamic shared memory of a CTA */
};

/*
 * What traced kernels write, in shared memory and then in global memory alike: loaded[capacity],
 * the low words of the loaded values, then the raw stamp pairs[capacity][2]. Bytes per access:
 */
enum { PB_KERNEL_RECORD_BYTES = 12 };

/* capacity of a launch that records `record` accesses: whole 16-byte words, and room to practise */
enum { PB_KERNEL_PRACTICE = 4 };
#define PB_KERNEL_CAPACITY(record)                                                                 \
    ((record) < PB_KERNEL_PRACTICE ? PB_KERNEL_PRACTICE : ((record) + 3u) / 4u * 4u)

struct pb_kernel_chase {
    struct pb_kernel_place place;
    uint64_t start;        /* address of slot 0; shared memory: its offset */
    uint64_t warm;         /* loads before */
    uint64_t timed;        /* loads of a timed kernel */
    uint64_t recording;    /* of a traced kernel: PB_KERNEL_RECORD_BYTES * capacity */
    uint32_t record;       /* stamped loads */
    uint32_t offset_count; /* shared memory: slots to link, in order */
    uint64_t offsets;      /* shared memory: uint64_t[offset_count] */
    uint32_t chain_bytes;  /* shared memory: the chain lies before the recording */
};

int pb_kernel_trace(enum pb_kernel_path path, const struct pb_kernel_chase *chase);
int pb_kernel_time(enum pb_kernel_path path, const struct pb_kernel_chase *chase);
int pb_kernel_trace_shared(const struct pb_kernel_chase *chase);
int pb_kernel_time_shared(const struct pb_kernel_chase *chase);

/* Stamp pairs with nothing between them, or with the shared store that every traced load has. */
struct pb_kernel_stamp {
    struct pb_kernel_place place;
    uint64_t recording;
    uint32_t record;
    uint32_t with_store; /* 0 or 1 */
};

int pb_kernel_stamp(const struct pb_kernel_stamp *stamp);

/* One warp loads from shared memory, lane i at i * lane_bytes; see struct pb_conflict. */
struct pb_kernel_conflict {
    struct pb_kernel_place place;
    uint64_t recording;
    uint64_t warm;
    uint32_t record;
    uint32_t word_bytes; /* 4, 8 or 16 */
    uint32_t lane_bytes; /* between the words of neighbouring lanes */
    uint32_t chain_bytes;
};

int pb_kernel_conflict(const struct pb_kernel_conflict *conflict);

/* Samples (clock64, globaltimer) every period_ns, each right after the timer has ticked. */
struct pb_kernel_clock {
    uint64_t samples; /* uint64_t[count][2]: cycles, ns */
    uint64_t period_ns;
    uint64_t limit_cycles; /* gives up then: the rest of the samples stay as they are */
    uint32_t count;
};

int pb_kernel_clock(const struct pb_kernel_clock *clock);

/* Writes base + offset[i + 1] to base + offset[i]; the last slot points to the first. */
struct pb_kernel_chain {
    uint64_t base;
    uint64_t offsets; /* uint64_t[count] */
    uint64_t count;
    uint64_t fault; /* struct pb_kernel_fault, zeroed: for checks */
};

/* The first slot that was found wrong, and how many there are. */
struct pb_kernel_fault {
    uint64_t count;
    uint64_t address;
    uint64_t expected;
    uint64_t found;
};

int pb_kernel_link(const struct pb_kernel_chain *chain);
int pb_kernel_link_check(const struct pb_kernel_chain *chain);
/* Every one of cta_count CTAs reads every slot once, in order. */
int pb_kernel_prefill(const struct pb_kernel_chain *chain, uint32_t cta_count);

/* Writes `words` 16-byte words, so that L2 holds nothing else. */
int pb_kernel_flush(uint64_t address, uint64_t words, uint32_t salt, uint32_t cta_count);

enum pb_kernel_stream_kind { PB_KERNEL_COPY, PB_KERNEL_READ, PB_KERNEL_WRITE };

/* One pass over `words` words of word_bytes; 32-bit word i of the data is pb_kernel_pattern(i). */
struct pb_kernel_stream {
    uint64_t source, target; /* read: target is uint32_t[1], the sum of all 32-bit words read */
    uint64_t words;
    uint32_t kind, ilp, word_bytes;
    uint32_t cta_count, cta_size;
    uint32_t salt;
};

int pb_kernel_stream(const struct pb_kernel_stream *stream);

/* Fills 32-bit words with the pattern, and counts those that differ from it. */
int pb_kernel_fill(uint64_t address, uint64_t word_count, uint32_t salt, uint32_t cta_count);
int pb_kernel_fill_check(uint64_t address, uint64_t word_count, uint32_t salt, uint64_t fault,
                         uint32_t cta_count);

/* An odd multiplier: every index of 32 bits has a word of its own. */
#define PB_KERNEL_PATTERN_FACTOR       2654435761u
#define PB_KERNEL_PATTERN(index, salt) ((uint32_t)(index)*PB_KERNEL_PATTERN_FACTOR + (salt))

#ifdef __cplusplus
}
#endif

#endif
