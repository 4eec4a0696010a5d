/* Jitter and contamination of latencies; see noise.h. */
#include "analysis/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/constants.h"
#include "analysis/statistics/sort.h"

enum { BINS = 2 * PB_NOISE_REACH + 1, MEMBERS_MIN = 3 };

enum pb_status pb_noise_add(struct pb_noise_evidence *evidence, const double *cycles, size_t count,
                            struct pb_error *err)
{
    double *sorted, median;

    if (count < MEMBERS_MIN)
        return PB_OK;
    if (evidence->count + count > evidence->capacity) {
        size_t capacity = 2 * (evidence->count + count);
        double *grown = realloc(evidence->deviations, capacity * sizeof(*grown));

        if (grown == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu deviations", capacity);
        evidence->deviations = grown;
        evidence->capacity = capacity;
    }
    sorted = evidence->deviations + evidence->count;
    memcpy(sorted, cycles, count * sizeof(*sorted));
    pb_sort(sorted, count);
    median = sorted[count / 2];
    for (size_t i = 0; i < count; i++)
        sorted[i] -= median;
    evidence->count += count;
    return PB_OK;
}

void pb_noise_evidence_clear(struct pb_noise_evidence *evidence)
{
    if (evidence == NULL)
        return;
    free(evidence->deviations);
    memset(evidence, 0, sizeof(*evidence));
}

/* Half of the deviations lie within so many cycles, at least one; they are sorted. */
static double half_width(const double *deviations, size_t count)
{
    double low = deviations[count / 4], high = deviations[count - 1 - count / 4];

    return fmax(1.0, fmax(-low, high));
}

/* Rounded deviations of the jitter, each spread over its neighbours; returns how many there are. */
static double count_bins(const struct pb_noise_evidence *evidence, double most, double bins[BINS])
{
    double total = 0.0;

    for (size_t i = 0; i < evidence->count; i++) {
        int at = (int)lround(evidence->deviations[i]) + PB_NOISE_REACH;

        if (fabs(evidence->deviations[i]) > most || at < 1 || at > BINS - 2)
            continue;
        bins[at - 1] += 0.25;
        bins[at] += 0.5;
        bins[at + 1] += 0.25;
        total += 1.0;
    }
    return total;
}

void pb_noise_fit(struct pb_noise_evidence *evidence, struct pb_noise *noise_out)
{
    double bins[BINS] = {0.0}, width = 1.0, jitter = 0.0, all = (double)evidence->count;
    struct pb_noise noise;

    if (evidence->count > 0) {
        pb_sort(evidence->deviations, evidence->count);
        width = half_width(evidence->deviations, evidence->count);
    }
    noise.most_cycles = PB_NOISE_JITTER_WIDTHS * width;
    jitter = count_bins(evidence, noise.most_cycles, bins);
    noise.spike_share = fmax((all - jitter + PB_NOISE_SPIKES_BEFORE) /
                                 (all + PB_NOISE_SPIKES_BEFORE / PB_NOISE_SPIKE_SHARE),
                             PB_NOISE_SPIKE_SHARE_MIN);
    noise.spike_share = fmin(noise.spike_share, 0.5);
    noise.log_contamination = log(noise.spike_share / PB_NOISE_SPAN);
    noise.spread_cycles = 2.0 * width;
    if (evidence->count > 0)
        noise.spread_cycles =
            fmin(PB_NOISE_REACH, fmax(1.0, evidence->deviations[(size_t)(0.95 * (all - 1.0))] -
                                               evidence->deviations[(size_t)(0.05 * (all - 1.0))]));
    for (int i = 0; i < PB_NOISE_REACH + PB_NOISE_SPAN; i++) {
        double deviation = abs(i - PB_NOISE_REACH);
        /* what was not seen falls off as deviations do */
        double unseen = PB_NOISE_SPIKES_BEFORE * exp(-deviation / width) / (2.0 * width);
        double density = i < BINS ? (bins[i] + unseen) / (jitter + PB_NOISE_SPIKES_BEFORE) : 0.0;

        noise.log_density[i] =
            log((1.0 - noise.spike_share) * density + noise.spike_share / PB_NOISE_SPAN);
    }
    *noise_out = noise;
}

void pb_noise_add_spikes(struct pb_noise *noise, const double *deviations, size_t count)
{
    double spikes[PB_NOISE_REACH + PB_NOISE_SPAN] = {0.0}, seen = 0.0;
    int width = (int)noise->spread_cycles + 1;

    for (size_t i = 0; i < count; i++) {
        int at = (int)lround(deviations[i]) + PB_NOISE_REACH;

        if (deviations[i] <= noise->most_cycles || at + width >= PB_NOISE_REACH + PB_NOISE_SPAN)
            continue;
        seen += 1.0;
        for (int k = 1 - width; k < width; k++)
            spikes[at + k] += (width - abs(k)) / (double)(width * width);
    }
    for (int i = 0; i < PB_NOISE_REACH + PB_NOISE_SPAN; i++) { /* one more may take any time */
        double any = noise->spike_share / PB_NOISE_SPAN;
        double known = noise->spike_share * (1.0 / PB_NOISE_SPAN + spikes[i]) / (1.0 + seen);

        noise->log_density[i] = log(exp(noise->log_density[i]) - any + known);
    }
    noise->log_contamination -= log1p(seen);
}

double pb_noise_log(const struct pb_noise *noise, double deviation_cycles)
{
    double at = deviation_cycles + PB_NOISE_REACH + 0.5;

    if (!(at > 0.5 && at < PB_NOISE_REACH + PB_NOISE_SPAN))
        return noise->log_contamination;
    return noise->log_density[(int)at];
}

/* Log likelihood of all with their class there. */
static double log_all(const struct pb_noise *noise, const double *cycles, size_t count,
                      double class_cycles)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += pb_noise_log(noise, cycles[i] - class_cycles);
    return sum;
}

double pb_noise_locate(const struct pb_noise *noise, double *cycles, size_t count)
{
    double median, best, most = -INFINITY;

    pb_sort(cycles, count);
    median = best = cycles[count / 2];
    for (int shift = -2; shift <= 2; shift++) {
        double sum = log_all(noise, cycles, count, median + shift);

        if (sum > most) {
            most = sum;
            best = median + shift;
        }
    }
    return best;
}
