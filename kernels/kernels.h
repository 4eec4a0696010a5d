/*
 * The C interface of the CUDA kernels: plain structures in, a CUDA runtime error code out.
 *
 * Nothing here allocates, waits or checks its arguments; src/device/cuda/ does. All addresses
 * are device addresses, all launches go to the current device's default stream, and a returned 0
 * only says that the launch was accepted.
 */
#ifndef PB_KERNELS_KERNELS_H
#define PB_KERNELS_KERNELS_H

#include <stdint.h>

#ifdef __CUDACC__
#define PB_KERNEL_FUNCTION static __host__ __device__ __forceinline__
#else
#define PB_KERNEL_FUNCTION static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The load that a chase is made of. */
enum pb_kernel_path {
    PB_KERNEL_GLOBAL_CA,  /* ld.global.ca */
    PB_KERNEL_GLOBAL_CG,  /* ld.global.cg */
    PB_KERNEL_READONLY,   /* ld.global.nc */
    PB_KERNEL_ATOMIC,     /* atom.global.add of nothing */
    PB_KERNEL_TEXTURE,    /* tex.1d, no filter */
    PB_KERNEL_TEXTURE_2D, /* tex.2d, no filter */
    PB_KERNEL_CONSTANT,   /* ld.const */
    PB_KERNEL_SHARED,     /* ld.shared, the chain is built by the kernel itself */
    PB_KERNEL_PATH_COUNT
};

/* A slot of a chain, and a row of the array as a two-dimensional texture. */
enum { PB_KERNEL_SLOT_BYTES = 8, PB_KERNEL_ROW_BYTES = 1024 };

/* The user's constant memory: all of it is one array. */
enum { PB_KERNEL_CONSTANT_BYTES = 65536 };

/* How a slot names the next one: as the path's load takes it, without arithmetic (facts 2.3). */
enum pb_kernel_form {
    PB_KERNEL_FORM_POINTER,  /* its address */
    PB_KERNEL_FORM_OFFSET,   /* its offset in bytes */
    PB_KERNEL_FORM_TEXEL,    /* its number */
    PB_KERNEL_FORM_TEXEL_2D, /* its column, and its row in the upper half */
};

/* Where offset `offset` of an array at `base` is, in that form. */
PB_KERNEL_FUNCTION uint64_t pb_kernel_position(enum pb_kernel_form form, uint64_t base,
                                               uint64_t offset)
{
    switch (form) {
    case PB_KERNEL_FORM_OFFSET:
        return offset;
    case PB_KERNEL_FORM_TEXEL:
        return offset / PB_KERNEL_SLOT_BYTES;
    case PB_KERNEL_FORM_TEXEL_2D:
        return offset / PB_KERNEL_ROW_BYTES << 32 |
               offset % PB_KERNEL_ROW_BYTES / PB_KERNEL_SLOT_BYTES;
    case PB_KERNEL_FORM_POINTER:
    default:
        return base + offset;
    }
}

/* What the CTA that did a piece of work reports. One that was not done leaves `runs` at 0. */
struct pb_kernel_result {
    uint64_t start_cycles, end_cycles; /* around the timed loads, raw */
    uint64_t start_ns, end_ns;
    uint64_t last_address; /* loaded last: where the next load would go */
    uint64_t base_address; /* shared memory chains: of offset 0 */
    uint32_t sm_id;
    uint32_t runs;        /* CTAs that did the work: 1 */
    uint32_t wrong_lanes; /* bank conflicts: lanes that loaded what is not theirs */
};

/* The first bad word that was found, and how many there are. */
struct pb_kernel_fault {
    uint64_t count;
    uint64_t address;
    uint64_t expected;
    uint64_t found;
};

/* SMs that can be distinguished: %smid goes up to here. */
enum { PB_KERNEL_SMS = 256 };

/*
 * Lies in device memory and is written anew before each launch. `claims` says who may work: where
 * the jobs go to given SMs, each of these holds its job's number plus one, and 0 is no job;
 * else each holds 1, and whoever is first on an SM takes the next job.
 */
struct pb_kernel_control {
    uint64_t practice; /* first: holds its own address: a chain of one slot */
    uint64_t apart[15];
    uint32_t begun;    /* CTAs that have taken a job */
    uint32_t departed; /* CTAs that have left without one */
    uint32_t next;     /* the next job that anybody may take */
    uint32_t are_given;
    uint32_t claims[PB_KERNEL_SMS];
};

/* Where and how a stamped or timed kernel is launched. */
struct pb_kernel_place {
    uint64_t control;      /* struct pb_kernel_control */
    uint64_t results;      /* struct pb_kernel_result of each job, zeroed */
    uint32_t job_count;    /* CTAs that work; the others make them spread over the SMs */
    uint32_t cta_count;    /* job_count: anywhere; else enough for every SM to get one */
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

/* One chase of a launch: one thread, on an SM of its own. Positions are in the form of the path. */
struct pb_kernel_job {
    uint64_t start;    /* slot 0 */
    uint64_t practice; /* a slot that holds its own position */
    uint64_t warm;     /* loads before */
};

enum { PB_KERNEL_JOBS = 64 }; /* of a launch: an argument has 4 KiB at most */

/* What the chases of a launch have in common. */
struct pb_kernel_chase {
    struct pb_kernel_place place;
    uint64_t recordings;   /* of traced kernels: PB_KERNEL_RECORD_BYTES * capacity of each job */
    uint64_t timed;        /* loads of a timed kernel: one number, so that its loop is uniform */
    uint32_t record;       /* stamped loads of a traced one */
    uint64_t fault;        /* struct pb_kernel_fault: where links are bad, no chase runs */
    uint64_t offsets;      /* shared memory: uint64_t[offset_count] */
    uint32_t offset_count; /* shared memory: slots to link, in order */
    uint32_t chain_bytes;  /* shared memory: the chain lies before the recording */
    uint32_t warm_path;    /* crossed chases: enum pb_kernel_path of the warm loads */
    uint64_t own_warm;     /* crossed chases: warm loads that go by the measured path, first */
    uint64_t base;         /* crossed chases: address of offset 0 */
    uint64_t texture;      /* the array as texels; 0: no path of this chase takes it */
    uint64_t texture_2d;
    struct pb_kernel_job jobs[PB_KERNEL_JOBS];
};

/* cudaErrorInvalidValue: no such path here. */
int pb_kernel_trace(enum pb_kernel_path path, const struct pb_kernel_chase *chase);
int pb_kernel_time(enum pb_kernel_path path, const struct pb_kernel_chase *chase);
/* The same with the warm loads by chase->warm_path; neither may be constant or shared. */
int pb_kernel_cross_trace(enum pb_kernel_path path, const struct pb_kernel_chase *chase);
int pb_kernel_cross_time(enum pb_kernel_path path, const struct pb_kernel_chase *chase);

/* The kernel of a path in each file of kernels; NULL: not there. For the functions above alone. */
typedef void (*pb_kernel_chaser)(const struct pb_kernel_chase chase);
pb_kernel_chaser pb_kernel_texture_chaser(enum pb_kernel_path path, int is_traced);
pb_kernel_chaser pb_kernel_constant_chaser(int is_traced);
pb_kernel_chaser pb_kernel_shared_chaser(int is_traced);

/* Fills constant memory from device memory, through L2; the constant caches start empty then. */
int pb_kernel_constant_fill(uint64_t from, uint64_t bytes);
/* Where constant memory lies among all memory: for warming L2. */
int pb_kernel_constant_address(uint64_t *address_out);

/* Stamp pairs with nothing between them, or with the shared store that every traced load has. */
struct pb_kernel_stamp {
    struct pb_kernel_place place;
    uint64_t recording;
    uint32_t record;
    uint32_t with_store; /* 0 or 1 */
};

int pb_kernel_stamp(const struct pb_kernel_stamp *stamp);

/*
 * One warp loads from shared memory, lane i at i * lane_bytes; see struct pb_conflict. Shared
 * memory holds the chain, then a word of each lane and room for the pair before the first
 * (PB_KERNEL_LANES_BYTES), then the raw stamp pairs[capacity][2], which alone are copied out.
 */
enum { PB_KERNEL_LANES_BYTES = 32 * 4 + 16 };

/* One of a launch: one warp, on an SM of its own. */
struct pb_kernel_conflict_job {
    uint32_t lane_bytes;  /* between the words of neighbouring lanes */
    uint32_t chain_bytes; /* a multiple of 16 */
};

struct pb_kernel_conflict {
    struct pb_kernel_place place;
    uint64_t recordings; /* the pairs of each job: 8 * capacity bytes */
    uint64_t warm;
    uint32_t record;
    uint32_t word_bytes; /* 4, 8 or 16 */
    struct pb_kernel_conflict_job jobs[PB_KERNEL_JOBS];
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

/*
 * Writes to base + shift + offset[i] the position of offset[i + 1]; the last slot points to the
 * first, and the one for practice to itself.
 */
struct pb_kernel_chain {
    uint64_t base;
    uint64_t shift;   /* of every slot: a word among those of one line */
    uint64_t offsets; /* uint64_t[count] */
    uint64_t count;
    uint64_t fault;    /* struct pb_kernel_fault: links that are not as written are added */
    uint64_t practice; /* offset of a slot of no chain; PB_KERNEL_NO_SLOT: none */
    uint32_t form;     /* enum pb_kernel_form */
};

#define PB_KERNEL_NO_SLOT UINT64_MAX

int pb_kernel_link(const struct pb_kernel_chain *chain);
int pb_kernel_link_check(const struct pb_kernel_chain *chain);
/* Every one of cta_count CTAs reads every slot once, in order. */
int pb_kernel_prefill(const struct pb_kernel_chain *chain, uint32_t cta_count);

/* Writes `words` 16-byte words, so that L2 holds nothing else. */
int pb_kernel_flush(uint64_t address, uint64_t words, uint32_t salt, uint32_t cta_count);

enum { PB_KERNEL_STREAM_SUMS = 32 };

enum pb_kernel_stream_kind { PB_KERNEL_COPY, PB_KERNEL_READ, PB_KERNEL_WRITE };

/* One pass over `words` words of word_bytes; 32-bit word i of the data is pb_kernel_pattern(i). */
struct pb_kernel_stream {
    uint64_t source, target; /* read: target is uint32_t[PB_KERNEL_STREAM_SUMS], which add up to all
                                32-bit words read */
    uint64_t words;
    uint32_t kind, ilp, word_bytes;
    uint32_t cta_count, cta_size;
    uint32_t salt;
    uint64_t queue; /* the cudaStream_t that it goes in; 0: the default one */
};

int pb_kernel_stream(const struct pb_kernel_stream *stream);

/* The first and the last moment of many threads, by their SM's clock and by the global timer. */
struct pb_kernel_span {
    uint64_t start_cycles, end_cycles;
    uint64_t start_ns, end_ns;
};

/*
 * Independent loads; see struct pb_burst. Load i of lane l of warp w reads line
 * (i * warps + w) * lanes + l, whose first 32-bit word is PB_KERNEL_PATTERN(line).
 */
enum { PB_KERNEL_BURST_LOADS = 48 };

/* Warps there may be: each load needs a register of its own for each thread. */
#define PB_KERNEL_BURST_WARPS(loads) ((loads) <= 32 ? 32u : 16u)

struct pb_kernel_burst {
    uint64_t base;
    uint64_t line_bytes; /* from one line to the next */
    uint64_t control;    /* a line to practise on */
    uint64_t stamps;     /* uint32_t[warps][2], raw */
    uint64_t sums;       /* uint32_t[warps][lanes]: of what each lane read */
    uint32_t path;       /* enum pb_kernel_path: global or readonly */
    uint32_t warps, lanes, loads;
};

int pb_kernel_burst_fill(const struct pb_kernel_burst *burst, uint32_t salt);
int pb_kernel_burst_touch(const struct pb_kernel_burst *burst, uint32_t cta_count);
int pb_kernel_burst(const struct pb_kernel_burst *burst);

/* F13's studies. Reads: thread t reads data + shift + t * thread_bytes + i * step_bytes. */
enum { PB_KERNEL_STUDY_ACCESSES = 1024 };

struct pb_kernel_study {
    uint64_t data;
    uint64_t span; /* struct pb_kernel_span */
    uint64_t sums; /* uint32_t[threads] of what was read; spill: uint64_t[threads] */
    uint32_t threads;
    uint32_t parameter; /* barriers, or live variables */
    uint32_t shift_bytes, thread_bytes, step_bytes;
    uint32_t nothing; /* 0, which the compiler cannot know */
    uint32_t salt;
};

int pb_kernel_study_sync(const struct pb_kernel_study *study);
int pb_kernel_study_read(const struct pb_kernel_study *study);
/* cudaErrorInvalidValue: no kernel for so many variables. */
int pb_kernel_study_spill(const struct pb_kernel_study *study);
/* Local memory that such a launch takes of every thread that the device could hold. */
int pb_kernel_study_spill_need(const struct pb_kernel_study *study, uint64_t *thread_bytes_out);

/*
 * The spill study's steps, and what step `step` reads and writes of `count` variables, a power of
 * two: the variables in an order that looks random and takes each once before any comes again.
 */
enum { PB_KERNEL_SPILL_STEPS = 4096, PB_KERNEL_SPILL_ROUND_MIN = 64 };

/* All three factors are odd, and so each line permutes the numbers below `count`. */
PB_KERNEL_FUNCTION uint32_t pb_kernel_spill_draw(uint32_t i, uint32_t count)
{
    uint32_t mask = count - 1, x = (i % count * 0x9e3779b1u + i / count * 0x85ebca6bu) & mask;

    x ^= x >> 3;
    x = x * 0xc2b2ae35u & mask;
    return x ^ x >> 5;
}

PB_KERNEL_FUNCTION uint32_t pb_kernel_spill_read(uint32_t step, uint32_t count)
{
    return pb_kernel_spill_draw(2 * step, count);
}

PB_KERNEL_FUNCTION uint32_t pb_kernel_spill_write(uint32_t step, uint32_t count)
{
    return pb_kernel_spill_draw(2 * step + 1, count);
}

/* After so many steps the order starts again; each variable has come by then. */
PB_KERNEL_FUNCTION uint32_t pb_kernel_spill_round(uint32_t count)
{
    return count / 2 < PB_KERNEL_SPILL_ROUND_MIN ? (uint32_t)PB_KERNEL_SPILL_ROUND_MIN : count / 2;
}

/* Variable i at the start, and what the sum of all takes for it at the end. */
PB_KERNEL_FUNCTION uint64_t pb_kernel_spill_seed(uint64_t seed, uint32_t i)
{
    return seed * (2 * i + 1);
}

PB_KERNEL_FUNCTION uint64_t pb_kernel_spill_weigh(uint64_t value, uint32_t i)
{
    return value ^ i;
}

/* Copies within shared memory; see struct pb_shared_stream. */
struct pb_kernel_shared_slot {
    struct pb_kernel_span span; /* opened by the host */
    uint32_t arrived;           /* CTAs that came to this SM */
    uint32_t mismatches;
};

struct pb_kernel_shared_stream {
    uint64_t slots; /* struct pb_kernel_shared_slot, one for each SM */
    uint32_t ctas_per_sm, cta_size, ilp;
    uint32_t repeats;
    uint32_t cta_count;
    uint32_t shared_bytes; /* of a CTA: 8 * cta_size * ilp at least */
    uint32_t salt;
};

/* How many such CTAs an SM holds; cudaErrorInvalidValue: no such ILP. */
int pb_kernel_shared_fit(const struct pb_kernel_shared_stream *stream, int *ctas_out);
int pb_kernel_shared_stream(const struct pb_kernel_shared_stream *stream);

/* Whole memory: writes address-dependent words, and counts those that are not there. */
struct pb_kernel_pattern {
    uint64_t address; /* a multiple of 16, as bytes are */
    uint64_t bytes;
    uint64_t seed;
    uint64_t fault; /* struct pb_kernel_fault */
};

int pb_kernel_pattern_write(const struct pb_kernel_pattern *pattern, uint32_t cta_count);
int pb_kernel_pattern_check(const struct pb_kernel_pattern *pattern, uint32_t cta_count);

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
