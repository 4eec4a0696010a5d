/*
 * An open simulated device, as the files that implement pb_device_sim share it.
 *
 * sim.c opens, describe.c describes, chase.c chases pointers, burst.c sends loads that wait for
 * nothing, map.c goes over all SMs, pair.c shows which belong together, study.c runs F13's kernels,
 * link.c moves data to and from the device, pattern.c tests its memory, parallel.c has all SMs at
 * work at once, measure.c does everything
 * else, and timing.c says what it costs.
 */
#ifndef PB_DEVICE_SIM_SIMULATOR_H
#define PB_DEVICE_SIM_SIMULATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "device/sim/clock.h"
#include "device/sim/fault.h"
#include "device/sim/memory.h"
#include "device/sim/profile.h"
#include "device/sim/random.h"

/*
 * Where every array starts. Allocations start at a 1 GiB boundary, as the profile format promises.
 * This one is also a multiple of 65 x 2 MB, so that a footprint's first page is the first of a deal
 * (see cache.h).
 */
#define PB_SIM_ALLOCATION_ADDRESS (UINT64_C(65) << 30)

struct pb_sim_device {
    struct pb_device base;
    struct pb_sim_profile *profile;
    struct pb_sim_faults faults;
    struct pb_sim_memory *memory;
    struct pb_sim_clock clock;
    struct pb_sim_random random; /* of the current test */
    uint32_t burst_left;         /* loads of a burst of spikes */
    char host[PB_KEY_LENGTH];
    int64_t slot;
    struct pb_device_entry *node; /* base.node, owned */
    uint64_t seed;
    double latency_factor, bandwidth_factor; /* this device's place in the spread */
    double seconds;                          /* its own time since it was opened: clock.h */
    bool is_lost;
};

/* The device behind the interface. */
struct pb_sim_device *pb_sim_device_of(struct pb_device *device);

/* PB_LOST once the device is gone; every call checks first. */
enum pb_status pb_sim_device_check(const struct pb_sim_device *device, struct pb_error *err);

/* The node a device stands in: as requested, or with NULL this machine. */
void pb_sim_host(const char *requested, char host_out[PB_KEY_LENGTH]);

/* How much longer loads from this SM take; 1 on a healthy one. */
double pb_sim_device_slowness(const struct pb_sim_device *device, int64_t sm);

/* What that SM's caches have of the size of the others'. */
double pb_sim_device_l1_share(const struct pb_sim_device *device, int64_t sm);

/*
 * What each level costs now, for a load from this SM. Caches of the SM and shared memory keep their
 * cycles whatever the clock does. What lies outside has the device's latency factor; and what DRAM
 * adds to the slowest cache passes in its own clock, hence in fewer cycles of a slower SM.
 */
struct pb_sim_timing pb_sim_device_timing(const struct pb_sim_device *device, int64_t sm);

/* Cycles that the place of this SM adds to every way out of it, of the profile. */
double pb_sim_place_cycles(const struct pb_sim_profile *profile, int64_t sm);

/* A latency as a stamp pair shows it: whole cycles, the overhead, jitter and spikes. */
uint32_t pb_sim_device_stamped(struct pb_sim_device *device, double cycles);

/* What an injected tail adds to one load that leaves its SM: mostly nothing. */
double pb_sim_device_tail(struct pb_sim_device *device);

/* Bytes per second that DRAM moves on this device. */
double pb_sim_device_bandwidth(const struct pb_sim_device *device);

/* How many of so many words are read wrong: an injected bit flip. */
uint64_t pb_sim_device_mismatches(struct pb_sim_device *device, uint64_t words);

/* Lanes of the host link that work. */
uint32_t pb_sim_device_pcie_width(const struct pb_sim_device *device);

/* True when loads can go over this path. */
bool pb_sim_device_has_path(const struct pb_sim_device *device, enum pb_path path);

/* Lets so many cycles of the device's own time pass; returns them in nanoseconds. */
double pb_sim_device_pass(struct pb_sim_device *device, double cycles);

/* link.c: a chase in a peer's memory, whatever chase_check.c has to say of it is said. */
enum pb_status pb_sim_peer_chase(struct pb_sim_device *device, const struct pb_chase *chase,
                                 struct pb_chase_trace *trace, struct pb_error *err);

/* Members of pb_device_sim, described in device.h. */
enum pb_status pb_sim_chase(struct pb_device *device, const struct pb_chase *chase,
                            struct pb_chase_trace *trace, struct pb_error *err);
enum pb_status pb_sim_chases(struct pb_device *device, const struct pb_chase *chases, size_t count,
                             struct pb_chase_trace *traces, struct pb_error *err);
enum pb_status pb_sim_stamp(struct pb_device *device, enum pb_stamp stamp, size_t count,
                            uint32_t *cycles_out, struct pb_error *err);
enum pb_status pb_sim_clock_samples(struct pb_device *device, double seconds, size_t count,
                                    struct pb_clock_sample *samples_out, struct pb_error *err);
enum pb_status pb_sim_conflicts(struct pb_device *device, const struct pb_conflict *conflicts,
                                size_t count, struct pb_chase_trace *traces, struct pb_error *err);
enum pb_status pb_sim_stream(struct pb_device *device, const struct pb_stream *stream,
                             struct pb_stream_result *result_out, struct pb_error *err);
enum pb_status pb_sim_burst(struct pb_device *device, const struct pb_burst *burst,
                            uint32_t *cycles_out, struct pb_error *err);
enum pb_status pb_sim_map(struct pb_device *device, const struct pb_map *map,
                          uint32_t *latency_cycles_out, struct pb_error *err);
enum pb_status pb_sim_study(struct pb_device *device, const struct pb_study *study,
                            struct pb_study_result *result_out, struct pb_error *err);
enum pb_status pb_sim_shared_stream(struct pb_device *device, const struct pb_shared_stream *stream,
                                    struct pb_shared_stream_result *result_out,
                                    struct pb_error *err);
enum pb_status pb_sim_link(struct pb_device *device, const struct pb_link *link,
                           struct pb_link_result *result_out, struct pb_error *err);
enum pb_status pb_sim_pattern(struct pb_device *device, const struct pb_pattern *pattern,
                              struct pb_pattern_result *result_out, struct pb_error *err);
enum pb_status pb_sim_cluster(struct pb_device *device, const struct pb_cluster *cluster,
                              uint32_t *sms_out, struct pb_error *err);
enum pb_status pb_sim_pair(struct pb_device *device, const struct pb_pair *pair,
                           uint32_t *cycles_out, struct pb_error *err);
enum pb_status pb_sim_loaded_chase(struct pb_device *device, const struct pb_loaded_chase *chase,
                                   struct pb_chase_trace *trace, double *background_out,
                                   struct pb_error *err);
enum pb_status pb_sim_work(struct pb_device *device, const struct pb_work *work,
                           uint64_t *cycles_out, struct pb_error *err);
enum pb_status pb_sim_compute(struct pb_device *device, const struct pb_compute *compute,
                              uint64_t *checksums_out, struct pb_error *err);
enum pb_status pb_sim_cluster_shared(struct pb_device *device,
                                     const struct pb_cluster_shared *cluster, uint32_t *sms_out,
                                     double *cycles_out, double *rate_out, struct pb_error *err);
enum pb_status pb_sim_describe(struct pb_device *device, struct pb_device_info *info_out,
                               struct pb_error *err);
enum pb_status pb_sim_read_state(struct pb_device *device, struct pb_state *state_out,
                                 struct pb_error *err);

#endif
