/*
 * The random numbers of simulated devices: splitmix64, one stream for each device and purpose.
 * Reproducible on every machine; good enough for noise, not for secrets.
 */
#ifndef PB_DEVICE_SIM_RANDOM_H
#define PB_DEVICE_SIM_RANDOM_H

#include <stdint.h>

struct pb_sim_random {
    uint64_t state;
};

/* A stream of its own for everything that differs in seed, host, slot or purpose. */
void pb_sim_random_seed(struct pb_sim_random *random_out, uint64_t seed, const char *host,
                        int64_t slot, const char *purpose);

/* A well-mixed 64-bit digest of a text (FNV-1a, finished as splitmix64). */
uint64_t pb_sim_hash(const char *text);

/* Mean 0, standard deviation 1 (Box and Muller). */
double pb_sim_random_normal(struct pb_sim_random *random);

/* How often an event of this probability happens in `trials` tries; exact for small means. */
uint64_t pb_sim_random_binomial(struct pb_sim_random *random, uint64_t trials, double probability);

static inline uint64_t pb_sim_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t pb_sim_random_next(struct pb_sim_random *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    return pb_sim_mix(random->state);
}

/* Evenly from [0, 1). */
static inline double pb_sim_random_unit(struct pb_sim_random *random)
{
    return (double)(pb_sim_random_next(random) >> 11) * 0x1p-53;
}

/* Evenly from 0 … bound - 1; bound < 2^32, so that the bias is below 2^-32. */
static inline uint32_t pb_sim_random_below(struct pb_sim_random *random, uint32_t bound)
{
    return (uint32_t)(((pb_sim_random_next(random) >> 32) * bound) >> 32);
}

#endif
