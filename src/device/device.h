/*
 * The interface of a device: what can be measured, not how memory is managed.
 *
 * Backends fill it: for real GPUs, and for simulated devices with known truth. Adding one is a
 * folder and a row in backends.h. Every member of pb_device_ops is mandatory; what a device cannot
 * do is a missing capability bit in pb_device_info, never a NULL.
 *
 * All calls report errors through err. PB_LOST means that the device is gone for good; after any
 * other error the next call may work.
 */
#ifndef PB_DEVICE_DEVICE_H
#define PB_DEVICE_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/identity.h"

struct pb_device;

enum pb_capability {
    PB_CAP_CLOCK = 1u << 0,
    PB_CAP_GLOBAL_CA = 1u << 1, /* loads that may be cached in L1 */
    PB_CAP_GLOBAL_CG = 1u << 2, /* loads that skip L1 */
    PB_CAP_READONLY = 1u << 3,
    PB_CAP_TEXTURE = 1u << 4,
    PB_CAP_CONSTANT = 1u << 5,
    PB_CAP_SHARED = 1u << 6,
    PB_CAP_STREAM = 1u << 7,
    PB_CAP_TEXTURE_2D = 1u << 8,
    PB_CAP_BURST = 1u << 9,
    PB_CAP_ATOMIC = 1u << 10,
    PB_CAP_STUDY = 1u << 11,
    PB_CAP_LINK = 1u << 12,
    PB_CAP_PEER = 1u << 13,
    PB_CAP_PATTERN = 1u << 14,
    PB_CAP_ALIAS = 1u << 15,
    PB_CAP_CLUSTER = 1u << 16,
    PB_CAP_PAIR = 1u << 17,
    PB_CAP_PARALLEL = 1u << 18,       /* all SMs at once: parallel.h */
    PB_CAP_CLUSTER_SHARED = 1u << 19, /* shared memory of other SMs */
    PB_CAP_BULK = 1u << 20,           /* asynchronous bulk copies */
};

/* The memory path a load takes. */
enum pb_path {
    PB_PATH_GLOBAL_CA,
    PB_PATH_GLOBAL_CG,
    PB_PATH_READONLY,
    PB_PATH_TEXTURE,
    PB_PATH_CONSTANT,
    PB_PATH_SHARED,
    PB_PATH_TEXTURE_2D, /* the array as rows of PB_TEXTURE_ROW_BYTES */
    PB_PATH_COUNT
};

enum { PB_TEXTURE_ROW_BYTES = 1024 };

/* "global_ca", … as in files and profiles; PB_PATH_COUNT for an unknown word. */
const char *pb_path_name(enum pb_path path);
enum pb_path pb_path_parse(const char *name);

/* What to open. Strings may be NULL. */
struct pb_device_request {
    const char *selector;      /* index, UUID or PCI bus id; NULL: 0 */
    const char *profile;       /* sim: a name in the profile folder, or a file */
    const char *host;          /* sim: the node it stands in; NULL: this host */
    int64_t host_devices;      /* sim: how many stand there; 0: as many as enumerate() lists */
    const char *const *faults; /* sim: fault specifications, see design 3.5 */
    size_t fault_count;
    uint64_t seed;         /* sim: noise, and the device's place in the spread */
    double spread_latency; /* sim: relative standard deviation between devices */
    double spread_bandwidth;
};

/* A device that could be opened. */
struct pb_device_entry {
    char uuid[PB_TEXT_LENGTH];
    char pci_bus_id[PB_NAME_LENGTH];
    char model[PB_TEXT_LENGTH];
};

/*
 * A pointer chase by one thread over absolute addresses (facts 2.3).
 *
 * The slots base + offset_bytes[i] are linked in the order given, the last to the first. The chase
 * starts at slot 0 with L1 empty, makes `warm` loads untouched, and then either
 *   records `record` loads, each stamped (M16 4.2): trace_out gets latency and index, or
 *   times `timed` loads as one run without any recording (record == 0).
 * Where cross is set, the warm loads but the first own_warm go by warm_path instead: what they
 * leave behind for the recorded ones shows which paths share a cache, and what they evict of what
 * the first ones brought, which share its room. A record longer than the device's trace window is
 * taken piecewise: the chase is repeated from its start for each window, `warm` growing by what was
 * recorded before (R16 2.2).
 */
struct pb_chase {
    enum pb_path path;
    const uint64_t *offset_bytes; /* [offset_count] multiples of 8; not read after the call */
    size_t offset_count;
    uint64_t warm;
    uint64_t record;
    uint64_t timed;
    bool prefill;           /* first all SMs read every slot once, in order: a warm L2 */
    bool flush;             /* first L2 is filled with other data: a cold start */
    int64_t carveout_bytes; /* shared memory to set aside; -1: the least that works */
    int64_t sm;             /* run there; -1: anywhere */
    bool cross;             /* the warm loads go by warm_path; not for shared and constant */
    enum pb_path warm_path;
    uint64_t own_warm; /* of a crossed chase's warm loads: so many, the first, go by path */
    /*
     * Non-zero: one physical block of this size is mapped over and over to make up the array, so
     * that its lines stay in L2 and only translations miss (facts 2.11). Offsets must differ by
     * their remainder too. PB_UNSUPPORTED where the driver cannot do it.
     */
    uint64_t alias_bytes;
    /*
     * All that it waits for, once warm, is inside its SM: parts of it, and other such chases, may
     * run on several SMs at the same time.
     */
    bool is_confined;
    /* Chases that run at the same time over the same lines take other words of them: all slots may
     * lie further on by a multiple of 8 below this. 0: exactly where the offsets say. */
    uint64_t slack_bytes;
    /*
     * UUID of another device of the node in whose memory the array lies; NULL: this device's. By
     * global_ca and global_cg alone, neither crossed nor aliased; prefill and flush are of the
     * owner's L2. PB_UNSUPPORTED: its memory cannot be mapped here.
     */
    const char *peer;
};

/* The caller gives the arrays; the rest is output. */
struct pb_chase_trace {
    uint32_t *latency_cycles; /* [record] stamp differences, overhead included */
    uint64_t *index_bytes;    /* [record] offset of the slot that was loaded */
    size_t count;             /* == record */
    uint64_t window;          /* accesses recorded per launch */
    uint64_t total_cycles;    /* of `timed` loads */
    double total_ns;
    uint64_t base_address;   /* of offset 0, without what is in slack_bytes */
    uint64_t carveout_bytes; /* as configured */
    int64_t sm_id;
    bool is_cold; /* no cache and no TLB held anything at the launch, before any prefill */
};

#include "device/parallel.h"

/* What stands between the two stamps when the cost of stamping is measured. */
enum pb_stamp {
    PB_STAMP_EMPTY, /* nothing: the clock alone (M16 4.2: 14, 16, 6 cycles) */
    PB_STAMP_STORE, /* the dependent shared store that every traced load has */
};

/* The same moment by two clocks, read on the device. */
struct pb_clock_sample {
    uint64_t cycles; /* SM clock */
    uint64_t ns;     /* global timer */
};

/*
 * One warp loads words of `word_bytes` from shared memory, lane i at i * stride_words words, each
 * load depending on the one before (M16 6.2). record stamped loads, as a chase's.
 */
struct pb_conflict {
    uint32_t word_bytes; /* 4, 8 or 16 */
    uint32_t stride_words;
    uint64_t warm;
    uint64_t record; /* at most trace_window_large */
    int64_t sm;      /* run there; -1: anywhere */
};

enum pb_stream_kind { PB_STREAM_COPY, PB_STREAM_READ, PB_STREAM_WRITE };

/* Every thread moves `ilp` words at a time over its share of `bytes` (M16 5.1). */
struct pb_stream {
    enum pb_stream_kind kind;
    uint32_t cta_count, cta_size;
    uint32_t ilp;          /* 1, 2, 4 or 8 independent words outstanding per thread */
    uint32_t word_bytes;   /* 4, 8 or 16 */
    uint64_t bytes;        /* of the source; a copy moves twice as many */
    uint32_t repeats;      /* passes inside the timed region, behind one that is not timed */
    double enough_seconds; /* a first pass of this length is what is timed; 0: never */
};

struct pb_stream_result {
    double seconds;          /* of all that is timed, by device events */
    uint64_t bytes_moved;    /* read + written */
    uint64_t mismatch_count; /* words of the destination that are wrong; 0 when not checked */
};

/*
 * Independent loads outstanding (N14 5.2): `warps` warps of one CTA, `lanes` active lanes each,
 * every lane `loads` loads of different lines, none waiting for another. All lines are apart by
 * stride_bytes; L1 starts empty. The arrays of the caller: cycles[warps], from before a warp's
 * first load until all of its data has come.
 */
struct pb_burst {
    enum pb_path path;
    uint32_t warps, lanes, loads; /* loads: 1 to 48; of more than 32, 16 warps at most */
    uint64_t stride_bytes;
    bool flush; /* the lines come from DRAM, else from L2 */
};

/*
 * One access to each of `offset_count` lines from one SM after the other, or from all listed SMs
 * (sm_count 0: every SM), one thread each: latency_cycles[sm_count][offset_count], the stamp
 * overhead included. Atomics show the home of a line, loads the nearest copy (facts 2.10).
 * PB_UNSUPPORTED: one of these SMs cannot be chosen.
 */
enum pb_touch { PB_TOUCH_LOAD, PB_TOUCH_ATOMIC };
struct pb_map {
    enum pb_touch touch;
    const uint64_t *offset_bytes; /* [offset_count] multiples of 8 */
    size_t offset_count;
    const uint32_t *sms; /* [sm_count], or NULL for every SM in order */
    size_t sm_count;
    uint32_t warm; /* rounds before the one that is recorded */
};

/*
 * `count` clusters of `size` CTAs each, every CTA alone on its SM: which SMs they ran on,
 * sms_out[count][size]. All CTAs of a cluster run on one GPC; that is what a cluster is.
 * PB_UNSUPPORTED: no clusters of this size.
 */
struct pb_cluster {
    uint32_t size; /* 1 to 16 */
    size_t count;
};

/*
 * Pairs of SMs, one pair after the other, that do the same at the same time: cycles_out[count][2].
 * What is slower than alone (both the same SM) shares something on its way.
 */
enum { PB_PAIR_BYTES = 262144, PB_PAIR_PAGES = 12 };
enum pb_pair_kind {
    PB_PAIR_READ,      /* each its own PB_PAIR_BYTES of L2 */
    PB_PAIR_WRITE,     /* the same */
    PB_PAIR_ATOMIC,    /* additions to every sector of them */
    PB_PAIR_CONSTANT,  /* both all of constant memory, more than its first cache holds */
    PB_PAIR_TRANSLATE, /* each its own PB_PAIR_PAGES lines of L2, 32 MiB apart, one by one */
    PB_PAIR_KIND_COUNT
};
struct pb_pair {
    enum pb_pair_kind kind;
    const uint32_t (*sms)[2]; /* [count] */
    size_t count;
};

/* F13's studies of a kernel's shape: one CTA, `threads` threads, the total by the SM clock. */
enum pb_study_kind {
    PB_STUDY_SYNC,     /* 3.4.2: 1024 writes to the same array, `parameter` barriers */
    PB_STUDY_COALESCE, /* 3.4.3: 1024 reads, threads `parameter` bytes apart */
    PB_STUDY_STRIDE,   /* the same, every read of a thread `parameter` bytes on, threads adjacent */
    PB_STUDY_MISALIGN, /* the same, adjacent, all shifted by `parameter` bytes */
    PB_STUDY_SPILL,    /* 3.4.4: 4096 reads and writes over `parameter` live 8-byte variables */
};
struct pb_study {
    enum pb_study_kind kind;
    uint32_t threads;   /* 1 to 1024 */
    uint32_t parameter; /* SPILL: 1, 4, 16, 32, 64, 128, 256, 512, 1024 or 2048 */
};
struct pb_study_result {
    uint64_t cycles; /* from the first thread's start to the last one's end */
    double ns;
};

/* M16 6.1: each thread copies `ilp` words of 4 bytes within shared memory, `repeats` times. */
struct pb_shared_stream {
    uint32_t ctas_per_sm, cta_size, ilp; /* PB_UNSUPPORTED where an SM cannot hold them */
    uint32_t repeats;
};
struct pb_shared_stream_result {
    double cycles;         /* of one SM, from its first thread's start to its last one's end */
    uint64_t bytes_per_sm; /* read + written */
    uint64_t mismatch_count;
};

/* A transfer over the host link, or from another device of the node. */
enum pb_link_kind {
    PB_LINK_TO_DEVICE,
    PB_LINK_FROM_DEVICE,
    PB_LINK_FROM_PEER,
    PB_LINK_TO_PEER,
    PB_LINK_BOTH_PEER, /* from and to a peer at the same time, `bytes` each way */
    PB_LINK_KIND_COUNT
};
enum { PB_LINK_STREAMS_MAX = 8 };
struct pb_link {
    enum pb_link_kind kind;
    bool pinned;      /* host memory that is locked to its pages */
    const char *peer; /* UUID of the other device; kinds with a peer only */
    uint64_t bytes;
    uint32_t repeats;
    uint32_t streams; /* with a peer: parts that each way is copied in at the same time; 0: one */
    bool by_sms;      /* with a peer: a kernel copies, whole words of 16 bytes; else copy engines */
};

static inline bool pb_link_has_peer(const struct pb_link *link)
{
    return link->kind != PB_LINK_TO_DEVICE && link->kind != PB_LINK_FROM_DEVICE;
}

struct pb_link_result {
    double seconds; /* of one transfer: the median of the repeats */
    double least_seconds;
    uint64_t mismatch_count; /* words that arrived wrong */
};

/* Writes and reads back address-dependent words over at most `bytes` of free memory. */
struct pb_pattern {
    uint64_t bytes; /* 0: all that is free, less a reserve */
    uint64_t seed;
    uint32_t passes;
};
struct pb_pattern_result {
    uint64_t bytes_tested;
    uint64_t mismatch_count;
    uint64_t address, expected, found; /* the first mismatch */
    double seconds;
};

struct pb_device_ops {
    const char *name;  /* as in backends.h; stored in every file */
    bool is_simulated; /* its devices are no hardware: only used when requested */

    /* Lists what this process may open. *count_out of *entries_out, to be freed. */
    enum pb_status (*enumerate)(struct pb_device_entry **entries_out, size_t *count_out,
                                struct pb_error *err);
    enum pb_status (*open)(const struct pb_device_request *request, struct pb_device **device_out,
                           struct pb_error *err);
    void (*close)(struct pb_device *device); /* NULL is allowed */
    enum pb_status (*describe)(struct pb_device *device, struct pb_device_info *info_out,
                               struct pb_error *err);
    enum pb_status (*read_state)(struct pb_device *device, struct pb_state *state_out,
                                 struct pb_error *err);
    /*
     * Called before each test with its name: the place where an injected fault strikes. is_large:
     * it will want most of the memory, so what the one before has taken need not be given back.
     */
    enum pb_status (*begin_test)(struct pb_device *device, const char *test, bool is_large,
                                 struct pb_error *err);
    enum pb_status (*stamp)(struct pb_device *device, enum pb_stamp stamp, size_t count,
                            uint32_t *cycles_out, struct pb_error *err);
    /* Spins on one SM for about `seconds`; samples_out[count] evenly spread. */
    enum pb_status (*clock)(struct pb_device *device, double seconds, size_t count,
                            struct pb_clock_sample *samples_out, struct pb_error *err);
    enum pb_status (*chase)(struct pb_device *device, const struct pb_chase *chase,
                            struct pb_chase_trace *trace, struct pb_error *err);
    /*
     * The same for chases[count] that do not depend on each other, into traces[count]: at the same
     * time where they are confined and alike but for slots, loads and SM, else one by one. An error
     * is of one of them; then no trace counts. PB_UNSUPPORTED: an SM that was requested cannot be
     * chosen.
     */
    enum pb_status (*chases)(struct pb_device *device, const struct pb_chase *chases, size_t count,
                             struct pb_chase_trace *traces, struct pb_error *err);
    /* conflicts[count] into traces[count]: those that are alike but for stride and SM at the same
     * time, each on an SM of its own. Errors are as of chases(). */
    enum pb_status (*conflicts)(struct pb_device *device, const struct pb_conflict *conflicts,
                                size_t count, struct pb_chase_trace *traces, struct pb_error *err);
    enum pb_status (*stream)(struct pb_device *device, const struct pb_stream *stream,
                             struct pb_stream_result *result_out, struct pb_error *err);
    enum pb_status (*burst)(struct pb_device *device, const struct pb_burst *burst,
                            uint32_t *cycles_out, struct pb_error *err);
    enum pb_status (*map)(struct pb_device *device, const struct pb_map *map,
                          uint32_t *latency_cycles_out, struct pb_error *err);
    enum pb_status (*study)(struct pb_device *device, const struct pb_study *study,
                            struct pb_study_result *result_out, struct pb_error *err);
    enum pb_status (*shared_stream)(struct pb_device *device, const struct pb_shared_stream *stream,
                                    struct pb_shared_stream_result *result_out,
                                    struct pb_error *err);
    enum pb_status (*link)(struct pb_device *device, const struct pb_link *link,
                           struct pb_link_result *result_out, struct pb_error *err);
    enum pb_status (*pattern)(struct pb_device *device, const struct pb_pattern *pattern,
                              struct pb_pattern_result *result_out, struct pb_error *err);
    enum pb_status (*cluster)(struct pb_device *device, const struct pb_cluster *cluster,
                              uint32_t *sms_out, struct pb_error *err);
    enum pb_status (*pair)(struct pb_device *device, const struct pb_pair *pair,
                           uint32_t *cycles_out, struct pb_error *err);
    /* parallel.h; background_out: bytes per second that the other SMs have read */
    enum pb_status (*loaded_chase)(struct pb_device *device, const struct pb_loaded_chase *chase,
                                   struct pb_chase_trace *trace, double *background_out,
                                   struct pb_error *err);
    /* cycles_out[sm_count]: 0 where the SM took no part */
    enum pb_status (*work)(struct pb_device *device, const struct pb_work *work,
                           uint64_t *cycles_out, struct pb_error *err);
    enum pb_status (*compute)(struct pb_device *device, const struct pb_compute *compute,
                              uint64_t *checksums_out, struct pb_error *err);
    enum pb_status (*cluster_shared)(struct pb_device *device,
                                     const struct pb_cluster_shared *cluster, uint32_t *sms_out,
                                     double *cycles_out, double *rate_out, struct pb_error *err);
};

/* Every backend's device begins with this. */
struct pb_device {
    const struct pb_device_ops *ops;
    /* The devices of its node, itself among them; owned. NULL: enumerate() lists them. */
    const struct pb_device_entry *node;
    size_t node_count;
};

/* pb_device_cuda, pb_device_sim, …; defined where this build has them. */
#define PB_BACKEND(name, ...) extern const struct pb_device_ops pb_device_##name;
#include "device/backends.h"

/* The backends of this build by number, in the order of backends.h; NULL: no more. */
const struct pb_device_ops *pb_backend_at(size_t number);

/*
 * The backend of that name; "auto" is the first for real GPUs that lists a device.
 * PB_NOT_FOUND: "auto", and no GPU is here; err says what was looked for.
 * PB_INVALID: no such name. PB_UNSUPPORTED: not in this build.
 */
enum pb_status pb_backend_find(const char *name, const struct pb_device_ops **ops_out,
                               struct pb_error *err);

#endif
