/* The throughput model; see throughput.h. */
#include "device/sim/throughput.h"

#include <math.h>

#include "device/sim/limits.h"

/* CTAs that run at the same time, at least one per SM. */
static double resident_ctas(const struct pb_sim_profile *profile, const struct pb_stream *stream)
{
    struct pb_sim_limits limits = pb_sim_limits_of(profile->compute_capability);
    uint32_t per_sm = limits.threads_per_sm / stream->cta_size;

    if (per_sm > limits.ctas_per_sm)
        per_sm = limits.ctas_per_sm;
    return (double)(per_sm > 0 ? per_sm : 1) * profile->sm_count;
}

/* The share of a bandwidth that so many times the bytes of Little's law outstanding reach. */
static double share_of(double load)
{
    /* a parabola: slope 1 at the origin, slope 0 where it reaches 1 */
    return load < 2.0 ? load - load * load / 4.0 : 1.0;
}

/* Bytes per second of so many CTAs at once. */
static double throughput(const struct pb_stream *stream, double ctas, double bandwidth_bytes_per_s,
                         double latency_s)
{
    double warps = ceil((double)stream->cta_size / PB_SIM_WARP_SIZE);
    double in_flight = ctas * warps * PB_SIM_WARP_SIZE * stream->ilp * stream->word_bytes;
    double load = in_flight / (bandwidth_bytes_per_s * latency_s);

    return bandwidth_bytes_per_s * share_of(load);
}

double pb_sim_stream_seconds(const struct pb_sim_profile *profile, const struct pb_stream *stream,
                             double bandwidth_bytes_per_s, double latency_s)
{
    double ctas = stream->cta_count, resident = resident_ctas(profile, stream);
    double bytes = (double)stream->bytes * (stream->kind == PB_STREAM_COPY ? 2.0 : 1.0);
    double rest = fmod(ctas, resident), seconds = 0.0;

    if (ctas >= resident)
        seconds += bytes * (ctas - rest) / ctas /
                   throughput(stream, resident, bandwidth_bytes_per_s, latency_s);
    if (rest > 0.0)
        seconds += bytes * rest / ctas / throughput(stream, rest, bandwidth_bytes_per_s, latency_s);
    return seconds * stream->repeats;
}

double pb_sim_shared_bytes_per_cycle(const struct pb_sim_profile *profile,
                                     const struct pb_shared_stream *stream)
{
    const struct pb_sim_shared_spec *shared = &profile->shared;
    double warps = stream->ctas_per_sm * ceil((double)stream->cta_size / PB_SIM_WARP_SIZE);
    double in_flight = warps * PB_SIM_WARP_SIZE * stream->ilp * 4.0;

    return shared->achieved_bytes_per_cycle *
           share_of(in_flight / (shared->latency_cycles * shared->achieved_bytes_per_cycle));
}
