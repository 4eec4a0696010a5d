/* Stamps, clocks, bank conflicts and streams of a simulated device, from DRAM and within an SM. */
#include <math.h>

#include "device/sim/bank.h"
#include "device/sim/limits.h"
#include "device/sim/simulator.h"
#include "device/sim/throughput.h"

enum { RECORD_BYTES = 12 };

/*
 * The profile's clock_overhead_cycles is all that stamping costs, with the dependent store or
 * without it; so a traced latency less the STORE overhead is the latency of the profile. Noise
 * belongs to accesses: two clock reads alone have none.
 */
enum pb_status pb_sim_stamp(struct pb_device *base, enum pb_stamp stamp, size_t count,
                            uint32_t *cycles_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);

    if (status != PB_OK)
        return status;
    if (stamp != PB_STAMP_EMPTY && stamp != PB_STAMP_STORE)
        return pb_fail(err, PB_INVALID, "stamp: unknown kind %d", (int)stamp);
    for (size_t i = 0; i < count; i++)
        cycles_out[i] = device->profile->clock_overhead_cycles;
    pb_sim_device_pass(device, (double)count * device->profile->clock_overhead_cycles);
    return PB_OK;
}

enum pb_status pb_sim_clock_samples(struct pb_device *base, double seconds, size_t count,
                                    struct pb_clock_sample *samples_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);
    double cycles = pb_sim_clock_cycles(&device->clock, 0.0, device->seconds);

    if (status != PB_OK)
        return status;
    if (!(seconds > 0.0 && seconds <= 3600.0) || count == 0)
        return pb_fail(err, PB_INVALID,
                       "clock: %zu samples over %g s: expected 1 or more over up to "
                       "an hour",
                       count, seconds);
    for (size_t i = 0; i < count; i++) {
        double share = count > 1 ? (double)i / (double)(count - 1) : 0.0;
        double now = device->seconds + share * seconds;

        samples_out[i].cycles =
            (uint64_t)llround(cycles + pb_sim_clock_cycles(&device->clock, device->seconds, now));
        samples_out[i].ns = (uint64_t)llround(now * 1e9);
    }
    device->seconds += seconds;
    return PB_OK;
}

static enum pb_status check_conflict(const struct pb_sim_device *device,
                                     const struct pb_conflict *conflict, struct pb_error *err)
{
    uint64_t available = pb_sim_limits_shared_per_cta(device->profile);
    uint64_t last_lane = (uint64_t)(PB_SIM_WARP_SIZE - 1) * conflict->stride_words;
    uint64_t need = (last_lane + 1) * conflict->word_bytes + conflict->record * RECORD_BYTES;

    if (conflict->word_bytes != 4 && conflict->word_bytes != 8 && conflict->word_bytes != 16)
        return pb_fail(err, PB_INVALID, "conflict: expected words of 4, 8 or 16 bytes, found %u",
                       conflict->word_bytes);
    if (conflict->record == 0 || conflict->record > available / RECORD_BYTES)
        return pb_fail(err, PB_INVALID, "conflict: expected 1 to %llu recorded loads, found %llu",
                       (unsigned long long)(available / RECORD_BYTES),
                       (unsigned long long)conflict->record);
    if (conflict->sm < -1 || conflict->sm >= (int64_t)device->profile->sm_count)
        return pb_fail(err, PB_INVALID, "conflict: SM %lld: expected -1 to %u",
                       (long long)conflict->sm, device->profile->sm_count - 1);
    if (need > available)
        return pb_fail(err, PB_UNSUPPORTED,
                       "conflict: stride %u of %u-byte words: %llu bytes needed, %llu there",
                       conflict->stride_words, conflict->word_bytes, (unsigned long long)need,
                       (unsigned long long)available);
    return PB_OK;
}

/* Of an SM whose banks are slow, what conflicts add to the latency of a load without any. */
static double conflict_cycles(const struct pb_sim_device *device,
                              const struct pb_conflict *conflict, int64_t sm)
{
    const struct pb_sim_shared_spec *shared = &device->profile->shared;
    uint32_t wavefronts =
        pb_sim_bank_wavefronts(shared, conflict->word_bytes, conflict->stride_words);
    double cycles = pb_sim_bank_latency(shared, wavefronts), factor = 1.0;

    for (size_t i = 0; i < device->faults.count; i++)
        if (device->faults.list[i].kind == PB_SIM_FAULT_SM_CONFLICT &&
            device->faults.list[i].sm == sm)
            factor *= device->faults.list[i].value;
    return pb_sim_device_slowness(device, sm) *
           (shared->latency_cycles + (cycles - shared->latency_cycles) * factor);
}

static enum pb_status take_conflict(struct pb_sim_device *device,
                                    const struct pb_conflict *conflict,
                                    struct pb_chase_trace *trace, struct pb_error *err)
{
    int64_t sm = conflict->sm < 0 ? 0 : conflict->sm;
    enum pb_status status = check_conflict(device, conflict, err);
    double cycles;

    if (status != PB_OK)
        return status;
    cycles = conflict_cycles(device, conflict, sm);
    for (uint64_t i = 0; i < conflict->record; i++) {
        trace->latency_cycles[i] = pb_sim_device_stamped(device, cycles);
        trace->index_bytes[i] = 0; /* of lane 0 */
    }
    trace->count = (size_t)conflict->record;
    trace->window = conflict->record;
    trace->total_cycles = 0;
    trace->total_ns = 0.0;
    trace->base_address = 0;
    trace->carveout_bytes = 0;
    trace->sm_id = sm;
    pb_sim_device_pass(device, cycles * (double)(conflict->warm + conflict->record));
    return PB_OK;
}

enum pb_status pb_sim_conflicts(struct pb_device *base, const struct pb_conflict *conflicts,
                                size_t count, struct pb_chase_trace *traces, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);

    for (size_t i = 0; status == PB_OK && i < count; i++)
        status = take_conflict(device, &conflicts[i], &traces[i], err);
    return status;
}

static enum pb_status check_stream(const struct pb_sim_device *device,
                                   const struct pb_stream *stream, struct pb_error *err)
{
    uint64_t available = pb_sim_limits_free_bytes(device->profile);
    uint64_t copies = stream->kind == PB_STREAM_COPY ? 2 : 1;

    if (stream->cta_count == 0 || stream->cta_size == 0 ||
        stream->cta_size > PB_SIM_CTA_THREADS_MAX)
        return pb_fail(err, PB_INVALID,
                       "stream: %u CTAs of %u threads: expected 1 or more of 1 to %d",
                       stream->cta_count, stream->cta_size, PB_SIM_CTA_THREADS_MAX);
    if (stream->ilp == 0 || stream->ilp > 8 || (stream->ilp & (stream->ilp - 1)) != 0)
        return pb_fail(err, PB_INVALID, "stream: expected an ILP of 1, 2, 4 or 8, found %u",
                       stream->ilp);
    if (stream->word_bytes != 4 && stream->word_bytes != 8 && stream->word_bytes != 16)
        return pb_fail(err, PB_INVALID, "stream: expected words of 4, 8 or 16 bytes, found %u",
                       stream->word_bytes);
    if (stream->bytes < stream->word_bytes || stream->repeats == 0)
        return pb_fail(err, PB_INVALID, "stream: nothing to move");
    if (stream->bytes > available / copies)
        return pb_fail(err, PB_NO_MEMORY, "stream: %llu times %llu bytes asked for, %llu there",
                       (unsigned long long)copies, (unsigned long long)stream->bytes,
                       (unsigned long long)available);
    return PB_OK;
}

enum pb_status pb_sim_stream(struct pb_device *base, const struct pb_stream *stream,
                             struct pb_stream_result *result_out, struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);
    double mhz = pb_sim_clock_mhz(&device->clock, device->seconds), bandwidth, latency_s;

    if (status == PB_OK)
        status = check_stream(device, stream, err);
    if (status != PB_OK)
        return status;
    bandwidth = pb_sim_device_bandwidth(device);
    latency_s = pb_sim_device_timing(device, 0).dram_cycles * 1e-6 / mhz;

    result_out->seconds = pb_sim_stream_seconds(device->profile, stream, bandwidth, latency_s);
    result_out->bytes_moved =
        stream->bytes * stream->repeats * (stream->kind == PB_STREAM_COPY ? 2 : 1);
    result_out->mismatch_count =
        pb_sim_device_mismatches(device, stream->bytes / stream->word_bytes);
    device->seconds += result_out->seconds;
    return PB_OK;
}

/* Every thread's words: ilp to read and ilp to write. */
static uint64_t shared_bytes_of(const struct pb_shared_stream *stream)
{
    return (uint64_t)stream->cta_size * stream->ilp * 8;
}

static enum pb_status check_shared_stream(const struct pb_sim_device *device,
                                          const struct pb_shared_stream *stream,
                                          struct pb_error *err)
{
    struct pb_sim_limits limits = pb_sim_limits_of(device->profile->compute_capability);
    uint64_t of_cta = shared_bytes_of(stream), per_cta, per_sm;

    if (stream->ctas_per_sm == 0 || stream->cta_size == 0 ||
        stream->cta_size > PB_SIM_CTA_THREADS_MAX || stream->ilp == 0 || stream->ilp > 8 ||
        stream->repeats == 0)
        return pb_fail(err, PB_INVALID,
                       "shared stream: %u CTAs of %u threads, ILP %u, %u repeats: expected 1 or "
                       "more, of 1 to %d threads, an ILP of 1 to 8",
                       stream->ctas_per_sm, stream->cta_size, stream->ilp, stream->repeats,
                       PB_SIM_CTA_THREADS_MAX);
    per_cta = pb_sim_limits_shared_per_cta(device->profile);
    per_sm = device->profile->shared.bytes_per_sm;
    of_cta += device->profile->compute_capability >= 80 ? PB_SIM_CTA_RESERVED_BYTES : 0;
    if (shared_bytes_of(stream) > per_cta || of_cta > per_sm / stream->ctas_per_sm ||
        stream->ctas_per_sm > limits.ctas_per_sm ||
        stream->cta_size > limits.threads_per_sm / stream->ctas_per_sm)
        return pb_fail(err, PB_UNSUPPORTED,
                       "shared stream: an SM of %s does not hold %u CTAs of %u threads and %llu "
                       "bytes",
                       device->profile->name, stream->ctas_per_sm, stream->cta_size,
                       (unsigned long long)shared_bytes_of(stream));
    return PB_OK;
}

enum pb_status pb_sim_shared_stream(struct pb_device *base, const struct pb_shared_stream *stream,
                                    struct pb_shared_stream_result *result_out,
                                    struct pb_error *err)
{
    struct pb_sim_device *device = pb_sim_device_of(base);
    enum pb_status status = pb_sim_device_check(device, err);

    if (status == PB_OK)
        status = check_shared_stream(device, stream, err);
    if (status != PB_OK)
        return status;
    result_out->bytes_per_sm = shared_bytes_of(stream) * stream->ctas_per_sm * stream->repeats;
    result_out->cycles = pb_sim_device_slowness(device, 0) * (double)result_out->bytes_per_sm /
                         pb_sim_shared_bytes_per_cycle(device->profile, stream);
    result_out->mismatch_count = pb_sim_device_mismatches(device, result_out->bytes_per_sm / 8);
    pb_sim_device_pass(device, result_out->cycles);
    return PB_OK;
}
