/*
 * The constants of the inference of caches and TLBs: what no recording can tell, each with its
 * reason and what it was calibrated on. Whatever a recording can tell is estimated instead.
 */
#ifndef PB_ANALYSIS_CONSTANTS_H
#define PB_ANALYSIS_CONSTANTS_H

/*
 * Jitter ends so many half widths (which hold half of the deviations to one side) from the class:
 * 4 standard deviations of a normal distribution. Beyond lies contamination.
 */
#define PB_NOISE_JITTER_WIDTHS 6.0

/*
 * Spikes before any is counted, as if so many of them had been seen at the share below: a few
 * hundred accesses without a spike do not prove that there is none. H100 and H200: one in a
 * thousand to one in ten thousand.
 */
#define PB_NOISE_SPIKES_BEFORE   1.0
#define PB_NOISE_SPIKE_SHARE     1e-3
#define PB_NOISE_SPIKE_SHARE_MIN 1e-4

#endif
