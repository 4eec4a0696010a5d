/*
 * All SMs at work at once: parallel.h says what, the profile's section `parallel` what it costs.
 *
 * A chase beside traffic keeps its latency up to a share of what the memory can move, the knee, and
 * rises from there to a multiple of it. An array that one SM alone has read lies in the near part
 * of L2 as far as that holds it, then in the far part, else in DRAM.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/sim/sides.h"
#include "device/sim/simulator.h"

static const struct pb_sim_parallel_spec *spec_of(const struct pb_sim_device *device)
{
    return &device->profile->parallel;
}

static double factor_of(const struct pb_sim_device *device, enum pb_sim_fault_kind kind)
{
    return pb_sim_faults_factor(&device->faults, kind);
}

/* The last cache that loads past L1 reach; cache_count: none. */
static size_t last_cache(const struct pb_sim_profile *profile)
{
    size_t found = profile->cache_count;

    for (size_t i = 0; i < profile->cache_count; i++)
        if ((profile->caches[i].paths >> PB_PATH_GLOBAL_CG & 1) != 0)
            found = i;
    return found;
}

static double l2_cycles(const struct pb_sim_device *device, int64_t sm)
{
    struct pb_sim_timing timing = pb_sim_device_timing(device, sm);
    size_t cache = last_cache(device->profile);

    return cache < device->profile->cache_count ? timing.cache_cycles[cache] : timing.dram_cycles;
}

/* Bytes per cycle that L2 delivers to an SM when all SMs read. */
static double shared_rate(const struct pb_sim_device *device)
{
    return spec_of(device)->l2_bytes_per_cycle * factor_of(device, PB_SIM_FAULT_L2_BANDWIDTH);
}

/* Bytes per cycle that one of so many reading SMs gets from L2. */
static double l2_rate(const struct pb_sim_device *device, double sms)
{
    double alone = spec_of(device)->sm_bytes_per_cycle;

    return sms > 1.0 ? fmin(alone, shared_rate(device)) : alone;
}

/* What traffic at this share of the most makes of a latency. */
static double loaded_factor(const struct pb_sim_device *device, double share)
{
    const struct pb_sim_parallel_spec *spec = spec_of(device);
    double knee = fmin(spec->knee_share * factor_of(device, PB_SIM_FAULT_LOAD_KNEE), 1.0);
    double flat = 1.0 + spec->slope * fmin(share, knee);

    if (share <= knee || knee >= 1.0)
        return flat;
    /* Of a lower knee, the same rise per share of traffic: it has farther to go. */
    return flat + (spec->saturated_factor - 1.0) * (share - knee) / (1.0 - spec->knee_share);
}

/* What the other SMs move where they may move so much (0: all they can). */
static double background_rate(const struct pb_sim_device *device,
                              const struct pb_loaded_chase *chase, double *most_out)
{
    const struct pb_sim_profile *profile = device->profile;
    double others = (double)(profile->sm_count - 1) / profile->sm_count, most;

    if (chase->background == PB_BACKGROUND_DRAM)
        most = pb_sim_device_bandwidth(device) * others;
    else
        most = shared_rate(device) * profile->sm_count * others * 1e6 *
               pb_sim_clock_mhz(&device->clock, device->seconds);
    *most_out = most;
    if (!(chase->background_bytes_per_s > 0.0) || chase->background_bytes_per_s > most)
        return most;
    return chase->background_bytes_per_s;
}

/* Where an array that this SM alone has read several times is found. */
static double whole_cycles(const struct pb_sim_device *device, uint64_t bytes, int64_t sm)
{
    const struct pb_sim_profile *profile = device->profile;
    struct pb_sim_timing timing = pb_sim_device_timing(device, sm);
    size_t cache = last_cache(profile);
    uint64_t near;

    if (cache == profile->cache_count)
        return timing.dram_cycles;
    near = pb_sim_shape_bytes(&profile->caches[cache].shape);
    if (bytes <= near)
        return timing.cache_cycles[cache];
    if (bytes <= near + profile->sides.far_bytes)
        return timing.cache_cycles[cache] * profile->sides.far_latency_cycles /
               profile->caches[cache].latency_cycles;
    return timing.dram_cycles;
}

/* Is this load's line still there after so much else was written? */
static bool is_kept(struct pb_sim_device *device, const struct pb_loaded_chase *chase)
{
    size_t cache = last_cache(device->profile);

    if (cache == device->profile->cache_count)
        return false;
    if (chase->evict_bytes < pb_sim_shape_bytes(&device->profile->caches[cache].shape))
        return true;
    return chase->is_persisting &&
           pb_sim_random_unit(&device->random) < spec_of(device)->persisting_share;
}

enum pb_status pb_sim_loaded_chase(struct pb_device *base, const struct pb_loaded_chase *chase,
                                   struct pb_chase_trace *trace, double *background_out,
                                   struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);
    int64_t sm = chase->chase.sm < 0 ? 0 : chase->chase.sm;
    double cycles, most, total = 0.0;

    *background_out = 0.0;
    if (status != PB_OK)
        return status;
    if (chase->chase.record == 0 || chase->chase.offset_count == 0)
        return pb_fail(err, PB_INVALID, "loaded chase: nothing to record");
    if (sm >= (int64_t)device->profile->sm_count)
        return pb_fail(err, PB_INVALID, "loaded chase: expected an SM below %u, found %lld",
                       device->profile->sm_count, (long long)sm);
    if (chase->read_bytes > 0)
        cycles = whole_cycles(device, chase->read_bytes, sm);
    else
        cycles = chase->chase.flush ? pb_sim_device_timing(device, sm).dram_cycles
                                    : l2_cycles(device, sm);
    if (chase->background != PB_BACKGROUND_NONE) {
        *background_out = background_rate(device, chase, &most);
        cycles *= loaded_factor(device, *background_out / most);
    }
    if (chase->is_persisting && !(spec_of(device)->persisting_share > 0.0))
        return pb_fail(err, PB_UNSUPPORTED, "loaded chase: L2 of %s sets nothing aside",
                       device->profile->name);
    for (uint64_t i = 0; i < chase->chase.record; i++) {
        bool is_lost = chase->read_bytes > 0 && chase->evict_bytes > 0 && !is_kept(device, chase);
        double load = (is_lost ? pb_sim_device_timing(device, sm).dram_cycles : cycles) +
                      pb_sim_device_tail(device);

        trace->latency_cycles[i] = pb_sim_device_stamped(device, load);
        trace->index_bytes[i] =
            chase->chase.offset_bytes[(chase->chase.warm + i) % chase->chase.offset_count];
        total += load;
    }
    trace->count = chase->chase.record;
    trace->window = chase->chase.record;
    trace->base_address = PB_SIM_ALLOCATION_ADDRESS;
    trace->carveout_bytes = 0;
    trace->sm_id = sm;
    pb_sim_device_pass(device, total);
    return PB_OK;
}

static enum pb_status check_work(const struct pb_sim_device *device, const struct pb_work *work,
                                 struct pb_error *err)
{
    enum pb_status status =
        pb_work_check(work, device->profile->sm_count, device->profile->shared.bytes_per_sm, err);

    if (status == PB_OK && work->kind == PB_WORK_BULK &&
        !(spec_of(device)->bulk_overhead_cycles > 0.0))
        return pb_fail(err, PB_UNSUPPORTED, "work: %s has no bulk copies", device->profile->name);
    return status;
}

/* Additions that the whole device does in a cycle. */
static double additions_per_cycle(const struct pb_sim_device *device, const struct pb_work *work)
{
    const struct pb_sim_parallel_spec *spec = spec_of(device);
    double rate = work->address_count == 1    ? spec->atomic_address_per_cycle
                  : work->address_count <= 32 ? spec->atomic_line_per_cycle
                                              : spec->atomic_spread_per_cycle;

    return rate * factor_of(device, PB_SIM_FAULT_ATOMIC_RATE);
}

/* One SM's additions to one address: a far one costs as much more as its latency. */
static double side_factor(const struct pb_sim_device *device, const struct pb_work *work)
{
    const struct pb_sim_profile *profile = device->profile;
    const struct pb_sim_sides_spec *sides = &profile->sides;
    size_t cache = last_cache(profile);
    uint64_t address = PB_SIM_ALLOCATION_ADDRESS + work->offset_bytes;
    uint32_t gpc = pb_sim_sides_gpc(profile, work->sm > 0 ? (uint32_t)work->sm : 0);

    if (work->sm < 0 || work->address_count > 1 || !(sides->far_latency_cycles > 0.0) ||
        cache == profile->cache_count ||
        pb_sim_sides_of_line(sides, address) == pb_sim_sides_of_gpc(sides, gpc))
        return 1.0;
    return 1.0 + spec_of(device)->atomic_far_cost *
                     (sides->far_latency_cycles / profile->caches[cache].latency_cycles - 1.0);
}

/*
 * An SM's pieces, of which those at home on the other side take as many times as long as its
 * latency is longer: as many loads are outstanding (Little's law).
 */
static double pieces_cycles(const struct pb_sim_device *device, const struct pb_work *work,
                            double sms, uint32_t sm)
{
    const struct pb_sim_profile *profile = device->profile;
    const struct pb_sim_sides_spec *sides = &profile->sides;
    uint32_t side = pb_sim_sides_of_gpc(sides, pb_sim_sides_gpc(profile, sm));
    double far = 1.0, bytes = 0.0;
    size_t cache = last_cache(profile);

    if (sides->far_latency_cycles > 0.0 && cache < profile->cache_count)
        far = sides->far_latency_cycles / profile->caches[cache].latency_cycles;
    for (uint32_t i = 0; i < work->spans[sm][1]; i++) {
        uint64_t piece = work->pieces[work->spans[sm][0] + i];
        uint64_t address = PB_SIM_ALLOCATION_ADDRESS + piece * PB_WORK_PIECE_BYTES;
        bool is_far = far > 1.0 && pb_sim_sides_of_line(sides, address) != side;

        bytes += PB_WORK_PIECE_BYTES * (is_far ? far : 1.0);
    }
    return l2_cycles(device, sm) + bytes / l2_rate(device, sms);
}

static double work_cycles(const struct pb_sim_device *device, const struct pb_work *work,
                          double sms, int64_t sm)
{
    const struct pb_sim_parallel_spec *spec = spec_of(device);
    const struct pb_sim_profile *profile = device->profile;
    double bytes = (double)work->bytes * work->repeats;
    double copies = work->repeats, copy, rate;

    switch (work->kind) {
    case PB_WORK_L1:
    case PB_WORK_SHARED:
        return profile->shared.latency_cycles + bytes / profile->shared.peak_bytes_per_cycle;
    case PB_WORK_ATOMIC:
        return side_factor(device, work) *
               (l2_cycles(device, sm) +
                sms * PB_WORK_THREADS * work->repeats / additions_per_cycle(device, work));
    case PB_WORK_BULK:
        copy = l2_cycles(device, sm) + spec->bulk_overhead_cycles +
               work->word_bytes / spec->sm_bytes_per_cycle;
        rate = fmin(work->depth * work->word_bytes / copy,
                    sms > 1.0 ? shared_rate(device) : spec->sm_bytes_per_cycle);
        return copies * work->word_bytes / rate;
    case PB_WORK_PIECES:
        return pieces_cycles(device, work, sms, (uint32_t)sm);
    case PB_WORK_L2:
    case PB_WORK_KIND_COUNT:
    default:
        return l2_cycles(device, sm) + bytes / l2_rate(device, sms);
    }
}

enum pb_status pb_sim_work(struct pb_device *base, const struct pb_work *work, uint64_t *cycles_out,
                           struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    uint32_t sm_count = device->profile->sm_count;
    enum pb_status status = pb_sim_device_check(device, err);
    double slowest = 0.0;

    if (status == PB_OK)
        status = check_work(device, work, err);
    if (status != PB_OK)
        return status;
    for (uint32_t sm = 0; sm < sm_count; sm++) {
        double cycles = 0.0;

        cycles_out[sm] = 0;
        if (work->sm >= 0 && (uint32_t)work->sm != sm)
            continue;
        cycles = work_cycles(device, work, work->sm < 0 ? sm_count : 1.0, sm);
        if (work->kind != PB_WORK_ATOMIC) /* whose rate is that of L2, not of the SM */
            cycles *= pb_sim_device_slowness(device, sm);
        cycles_out[sm] = pb_sim_device_stamped(device, cycles);
        slowest = fmax(slowest, cycles);
    }
    pb_sim_device_pass(device, slowest);
    return PB_OK;
}

/* A number that follows from two others, and from nothing else (splitmix64). */
static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t value = a + b * UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* The chance that a run on this SM comes out wrong. */
static double flip_probability(const struct pb_sim_device *device, uint32_t sm)
{
    double right = 1.0;

    for (size_t i = 0; i < device->faults.count; i++) {
        const struct pb_sim_fault *fault = &device->faults.list[i];

        if (fault->kind == PB_SIM_FAULT_COMPUTE_FLIP && fault->sm == sm)
            right *= 1.0 - fault->value;
    }
    return 1.0 - right;
}

enum pb_status pb_sim_compute(struct pb_device *base, const struct pb_compute *compute,
                              uint64_t *checksums_out, struct pb_error *err)
{
    const double cycles_per_step = 100.0;
    struct pb_sim_device *device = pb_sim_device_of(base);
    uint32_t sm_count = device->profile->sm_count;
    enum pb_status status = pb_sim_device_check(device, err);
    double mhz = pb_sim_clock_mhz(&device->clock, device->seconds);

    if (status != PB_OK)
        return status;
    if (compute->runs == 0)
        return pb_fail(err, PB_INVALID, "compute: no runs");
    for (uint32_t sm = 0; sm < sm_count; sm++) {
        double wrong = flip_probability(device, sm);

        for (uint32_t run = 0; run < compute->runs; run++) {
            uint64_t *checksum = &checksums_out[(size_t)run * sm_count + sm];

            *checksum = mix(compute->seed, mix(device->profile->compute_capability, run));
            if (wrong > 0.0 && pb_sim_random_unit(&device->random) < wrong)
                *checksum ^= UINT64_C(1) << pb_sim_random_below(&device->random, 64);
        }
    }
    pb_sim_device_pass(device,
                       compute->runs * (cycles_per_step * compute->steps + mhz * compute->rest_us));
    return PB_OK;
}

/* From one SM to the shared memory of another one: each pair of a GPC its own way. */
static double pair_cycles(const struct pb_sim_device *device, uint32_t sm, uint32_t other)
{
    const struct pb_sim_parallel_spec *spec = spec_of(device);
    double slow = pb_sim_device_slowness(device, sm);
    double place = (double)(mix(sm, other) % 1024) / 1024.0 - 0.5;

    if (sm == other)
        return spec->own_shared_cycles * slow;
    return (spec->cluster_shared_cycles + place * spec->cluster_shared_spread_cycles) * slow *
           factor_of(device, PB_SIM_FAULT_DSM_LATENCY);
}

enum pb_status pb_sim_cluster_shared(struct pb_device *base,
                                     const struct pb_cluster_shared *cluster, uint32_t *sms_out,
                                     double *cycles_out, double *rate_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    const struct pb_sim_parallel_spec *spec = spec_of(device);
    const struct pb_cluster placed = {cluster->size, cluster->count};
    enum pb_status status = pb_sim_cluster(base, &placed, sms_out, err);
    double total = 0.0;

    for (size_t i = 0; status == PB_OK && i < cluster->count * cluster->size * cluster->size; i++) {
        size_t from = i / cluster->size, first = from / cluster->size * cluster->size;
        double cycles = pair_cycles(device, sms_out[from], sms_out[first + i % cluster->size]);
        /* the mean over a pass of 64 loads */
        double stamped = pb_sim_device_stamped(device, 64.0 * cycles);

        cycles_out[i] = (stamped - device->profile->clock_overhead_cycles) / 64.0;
        total += 64.0 * cycles;
    }
    for (size_t i = 0; status == PB_OK && i < cluster->count * cluster->size; i++)
        rate_out[i] = (cluster->size == 1 ? spec->own_shared_bytes_per_cycle
                                          : spec->cluster_shared_bytes_per_cycle) /
                      pb_sim_device_slowness(device, sms_out[i]);
    if (status == PB_OK)
        pb_sim_device_pass(device, total / (double)cluster->count);
    return status;
}
