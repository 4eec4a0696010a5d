/*
 * Inside the CUDA backend: the open device, its memory, and what its files share.
 *
 * Only src/device/cuda/ may include this.
 */
#ifndef PB_DEVICE_CUDA_DEVICE_H
#define PB_DEVICE_CUDA_DEVICE_H

#include "device/device.h"
#include "device/nvml/nvml.h"
#include "kernels/kernels.h"

enum {
    /* Shared memory for the recording where L1 must stay as large as it can: with the 1 KiB that
     * the driver keeps for itself it fits the smallest carve-out, 8 KiB (facts 2.5). */
    PB_CUDA_WINDOW_BYTES = 6144,
    /* What a bank conflict needs beside its recording at most: 32 lanes, 64 words of 16 bytes. */
    PB_CUDA_CONFLICT_BYTES = 32 * 64 * 16,
};

static inline uint64_t pb_cuda_round_up(uint64_t value, uint64_t step)
{
    return (value + step - 1) / step * step;
}

/* A piece of device memory that only grows; bytes == 0: none yet. */
struct pb_cuda_buffer {
    void *allocation;
    struct pb_cuda_mapping *blocks; /* instead of one allocation, where it is large */
    uint64_t address;               /* where it may be used from: aligned */
    uint64_t bytes;
};

struct pb_cuda_texture {
    uint64_t object; /* 0: none */
    uint64_t address, bytes;
};

/* Memory of the host for transfers, kept from one to the next: getting it takes longer than they.
 */
struct pb_cuda_host {
    void *memory;
    size_t bytes;
};

struct pb_cuda_device {
    struct pb_device base; /* first */
    int ordinal;
    bool lost;
    struct pb_device_info info;
    uint64_t shared_optin_bytes;    /* the most one CTA may request */
    uint64_t shared_reserved_bytes; /* what the driver adds to every CTA */
    struct pb_cuda_buffer arena;    /* chains, and source and target of streams */
    struct pb_cuda_buffer offsets;
    struct pb_cuda_buffer recording;
    struct pb_cuda_buffer scratch;      /* what flushes L2 */
    struct pb_cuda_buffer control;      /* struct pb_kernel_control, a result and a fault */
    struct pb_cuda_buffer links;        /* struct pb_kernel_fault of the links of a chase */
    struct pb_cuda_launches *launches;  /* of chases; NULL: none yet */
    struct pb_cuda_texture textures[2]; /* over the arena: a line of texels, and rows */
    struct pb_cuda_host hosts[2];       /* pageable, and pinned */
    struct pb_cuda_mapping *alias;      /* one block mapped over and over; NULL: none yet */
    struct pb_cuda_mapping *peer;       /* memory of another GPU for chases; NULL: none yet */
    int peer_ordinal;
    uint64_t peer_bytes;
    uint32_t salt;        /* of the last pattern written */
    struct pb_nvml *nvml; /* NULL: no NVML */
};

/* ---- memory.c ---- */

/*
 * PB_OK for code 0 (cudaSuccess). Otherwise the message names the call, what was being done and
 * CUDA's own words: PB_LOST when the device is gone for good, PB_NO_MEMORY when memory ran out,
 * else PB_DEVICE; the message says so when that will stay with this process.
 */
enum pb_status pb_cuda_status(struct pb_cuda_device *cuda, int code, const char *call,
                              const char *doing, struct pb_error *err);

/* Makes this the current device of the calling thread; PB_LOST when it was lost before. */
enum pb_status pb_cuda_enter(struct pb_cuda_device *cuda, struct pb_error *err);

/*
 * Makes a buffer hold at least `bytes`. Its contents are lost when it grows. Buffers of 2 MiB and
 * more start on a 2 MiB boundary, so that offsets and pages keep step.
 */
enum pb_status pb_cuda_reserve(struct pb_cuda_device *cuda, struct pb_cuda_buffer *buffer,
                               uint64_t bytes, const char *what, struct pb_error *err);
void pb_cuda_release(struct pb_cuda_buffer *buffer);

enum pb_status pb_cuda_upload(struct pb_cuda_device *cuda, uint64_t address, const void *from,
                              size_t bytes, const char *what, struct pb_error *err);
/* Waits for what was launched before: this is where a kernel's error shows. */
enum pb_status pb_cuda_download(struct pb_cuda_device *cuda, void *to, uint64_t address,
                                size_t bytes, const char *what, struct pb_error *err);

/* Writes twice the size of L2, so that nothing else is left in it (facts 2.9). */
enum pb_status pb_cuda_flush_l2(struct pb_cuda_device *cuda, struct pb_error *err);
/* The same by so many bytes at an address, which may be a peer's: then its L2 is flushed. */
enum pb_status pb_cuda_flush_by(struct pb_cuda_device *cuda, uint64_t address, uint64_t bytes,
                                struct pb_error *err);

/* Gives an arena back that leaves little room for others. */
void pb_cuda_release_large(struct pb_cuda_device *cuda);

/* A device address as the runtime takes it; the host never follows it. */
void *pb_cuda_pointer(uint64_t address);

/* The same without waiting for it; `from` may change as soon as the call is back. */
enum pb_status pb_cuda_send(struct pb_cuda_device *cuda, uint64_t address, const void *from,
                            size_t bytes, const char *what, struct pb_error *err);

enum pb_status pb_cuda_zero(struct pb_cuda_device *cuda, uint64_t address, size_t bytes,
                            const char *what, struct pb_error *err);

/* ---- place.c ---- */

/*
 * How to launch a stamped or timed kernel of one CTA with so much dynamic shared memory.
 * carveout_out gets the bytes that are set aside: the smallest step of this chip that holds what
 * the kernel needs and what was requested (-1: nothing more). PB_INVALID: a carve-out that it does
 * not have.
 */
enum pb_status pb_cuda_place(struct pb_cuda_device *cuda, int64_t carveout_bytes,
                             uint64_t shared_bytes, struct pb_kernel_place *place_out,
                             uint64_t *carveout_out, struct pb_error *err);

/* Sets up the control block before a launch, and reads what the launch reported. */
enum pb_status pb_cuda_prepare(struct pb_cuda_device *cuda, struct pb_error *err);
enum pb_status pb_cuda_finish(struct pb_cuda_device *cuda, const char *what,
                              struct pb_kernel_result *result_out, struct pb_error *err);

/* Zeroes the fault block before a check, and reads it after. */
enum pb_status pb_cuda_fault_clear(struct pb_cuda_device *cuda, uint64_t *address_out,
                                   struct pb_error *err);
enum pb_status pb_cuda_fault_read(struct pb_cuda_device *cuda, const char *what,
                                  struct pb_kernel_fault *fault_out, struct pb_error *err);

/* What a traced kernel left: to be freed with pb_cuda_recording_free(). */
struct pb_cuda_recording {
    uint32_t *words;        /* as copied from the device; owns the memory */
    const uint32_t *loaded; /* [record] */
    const uint32_t *pairs;  /* [record][2] raw stamps */
};

enum pb_status pb_cuda_recording_read(struct pb_cuda_device *cuda, uint32_t record,
                                      const char *what, struct pb_cuda_recording *recording_out,
                                      struct pb_error *err);
void pb_cuda_recording_free(struct pb_cuda_recording *recording);

/* Stamp differences; the clock's lower half may wrap in between. */
void pb_cuda_subtract(const uint32_t *pairs, size_t count, uint32_t *cycles_out);

/* ---- link.c ---- */

/* Gives the host's memory back. */
void pb_cuda_host_release(struct pb_cuda_device *cuda);

/* ---- select.c ---- */

/* A function of the driver as that CUDA version brought it, e.g. 11040; false: there is none. */
bool pb_cuda_look_up(const char *name, unsigned version, void *function_out);

/*
 * Where CUDA_VISIBLE_DEVICES names several devices, MIG instances among them, they are listed from
 * there by their names alone, and one is opened by naming it alone: before R570 a process sees but
 * the first instance, and then no whole GPU.
 */
enum pb_status pb_cuda_enumerate(struct pb_device_entry **entries_out, size_t *count_out,
                                 struct pb_error *err);
/* selector: an index, a UUID or the unique start of one, or a PCI bus id; NULL: 0. */
enum pb_status pb_cuda_select(const char *selector, int *ordinal_out, struct pb_error *err);
enum pb_status pb_cuda_identify(int ordinal, struct pb_device_entry *entry_out,
                                struct pb_error *err);

/* ---- match.c ---- */

/*
 * What CUDA_VISIBLE_DEVICES (NULL: not set) names if that is several, MIG instances among them;
 * else *count_out is 0. *entries_out is to be freed.
 */
enum pb_status pb_cuda_named(const char *visible, struct pb_device_entry **entries_out,
                             size_t *count_out, struct pb_error *err);

/*
 * What CUDA_VISIBLE_DEVICES is to be for entries[found] to be opened as the first device: an
 * instance alone; a GPU, and behind it the other whole ones, its peers. To be freed.
 */
enum pb_status pb_cuda_narrow(const struct pb_device_entry *entries, size_t count, size_t found,
                              char **visible_out, struct pb_error *err);

/* The one entry that the selector fits; PB_INVALID lists what there is. */
enum pb_status pb_cuda_match(const char *selector, const struct pb_device_entry *entries,
                             size_t count, size_t *found_out, struct pb_error *err);

/* ---- mapping.c; opened by alias.c (linked_chase.h), blocks.c and peer.c ---- */

/* Memory that a driver lets programs map themselves. */
struct pb_cuda_mapping;

uint64_t pb_cuda_mapping_address(const struct pb_cuda_mapping *mapping); /* of NULL: 0 */

/* Waits for the device, which may still be at it after an error, and gives everything back. NULL is
 * allowed. */
void pb_cuda_mapping_close(struct pb_cuda_mapping *mapping);

/* ---- blocks.c ---- */

/*
 * Memory of this device that others of the node need not wait for. A CUDA error code: that of
 * memory that ran out, or another one where the driver does not let programs map it themselves.
 */
int pb_cuda_blocks_open(int ordinal, uint64_t bytes, struct pb_cuda_mapping **blocks_out);

/* ---- peer.c ---- */

/* A peer's number in this process; PB_UNSUPPORTED where its memory cannot be read from here. */
enum pb_status pb_cuda_peer_find(struct pb_cuda_device *cuda, const char *uuid, int *ordinal_out,
                                 struct pb_error *err);

/*
 * At least so many bytes of another GPU's memory, which this device alone reads and writes.
 * PB_UNSUPPORTED: the driver does not do that.
 */
enum pb_status pb_cuda_peer_open(struct pb_cuda_device *cuda, int peer_ordinal, uint64_t bytes,
                                 struct pb_cuda_mapping **peer_out, struct pb_error *err);

/* The same, kept in cuda->peer until another peer or more is requested, or the test is over. */
enum pb_status pb_cuda_peer_keep(struct pb_cuda_device *cuda, const char *uuid, uint64_t bytes,
                                 uint64_t *address_out, struct pb_error *err);
void pb_cuda_peer_drop(struct pb_cuda_device *cuda);

/* ---- one file per family ---- */

enum pb_status pb_cuda_describe(struct pb_cuda_device *cuda, struct pb_error *err);
enum pb_status pb_cuda_stamp(struct pb_device *device, enum pb_stamp stamp, size_t count,
                             uint32_t *cycles_out, struct pb_error *err);
enum pb_status pb_cuda_clock(struct pb_device *device, double seconds, size_t count,
                             struct pb_clock_sample *samples_out, struct pb_error *err);
enum pb_status pb_cuda_chase(struct pb_device *device, const struct pb_chase *chase,
                             struct pb_chase_trace *trace, struct pb_error *err);
enum pb_status pb_cuda_chases(struct pb_device *device, const struct pb_chase *chases, size_t count,
                              struct pb_chase_trace *traces, struct pb_error *err);
enum pb_status pb_cuda_conflicts(struct pb_device *device, const struct pb_conflict *conflicts,
                                 size_t count, struct pb_chase_trace *traces, struct pb_error *err);
enum pb_status pb_cuda_stream(struct pb_device *device, const struct pb_stream *stream,
                              struct pb_stream_result *result_out, struct pb_error *err);
enum pb_status pb_cuda_burst(struct pb_device *device, const struct pb_burst *burst,
                             uint32_t *cycles_out, struct pb_error *err);
enum pb_status pb_cuda_map(struct pb_device *device, const struct pb_map *map,
                           uint32_t *latency_cycles_out, struct pb_error *err);
enum pb_status pb_cuda_study(struct pb_device *device, const struct pb_study *study,
                             struct pb_study_result *result_out, struct pb_error *err);
enum pb_status pb_cuda_shared_stream(struct pb_device *device,
                                     const struct pb_shared_stream *stream,
                                     struct pb_shared_stream_result *result_out,
                                     struct pb_error *err);
enum pb_status pb_cuda_link(struct pb_device *device, const struct pb_link *link,
                            struct pb_link_result *result_out, struct pb_error *err);
enum pb_status pb_cuda_pattern(struct pb_device *device, const struct pb_pattern *pattern,
                               struct pb_pattern_result *result_out, struct pb_error *err);
enum pb_status pb_cuda_cluster(struct pb_device *device, const struct pb_cluster *cluster,
                               uint32_t *sms_out, struct pb_error *err);
enum pb_status pb_cuda_pair(struct pb_device *device, const struct pb_pair *pair,
                            uint32_t *cycles_out, struct pb_error *err);
enum pb_status pb_cuda_loaded_chase(struct pb_device *device, const struct pb_loaded_chase *chase,
                                    struct pb_chase_trace *trace, double *background_out,
                                    struct pb_error *err);
enum pb_status pb_cuda_work(struct pb_device *device, const struct pb_work *work,
                            uint64_t *cycles_out, struct pb_error *err);
enum pb_status pb_cuda_compute(struct pb_device *device, const struct pb_compute *compute,
                               uint64_t *checksums_out, struct pb_error *err);
enum pb_status pb_cuda_cluster_shared(struct pb_device *device,
                                      const struct pb_cluster_shared *cluster, uint32_t *sms_out,
                                      double *cycles_out, double *rate_out, struct pb_error *err);

#endif
