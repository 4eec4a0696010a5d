/* Seeding, and the draws that are not on the path of every load. */
#include "device/sim/random.h"

#include <math.h>

uint64_t pb_sim_hash(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return pb_sim_mix(hash);
}

void pb_sim_random_seed(struct pb_sim_random *random_out, uint64_t seed, const char *host,
                        int64_t slot, const char *purpose)
{
    uint64_t state = pb_sim_mix(seed + 1);

    state = pb_sim_mix(state ^ pb_sim_hash(host));
    state = pb_sim_mix(state ^ (uint64_t)slot);
    random_out->state = pb_sim_mix(state ^ pb_sim_hash(purpose));
}

double pb_sim_random_normal(struct pb_sim_random *random)
{
    const double tau = 6.283185307179586;
    double radius = sqrt(-2.0 * log(1.0 - pb_sim_random_unit(random)));

    return radius * cos(tau * pb_sim_random_unit(random));
}

/* Counts the geometric gaps between events; only called for means that make this quick. */
static uint64_t count_by_gaps(struct pb_sim_random *random, uint64_t trials, double probability)
{
    double log_miss = log1p(-probability), position = 0.0;
    uint64_t events = 0;

    for (;;) {
        position += 1.0 + floor(log(1.0 - pb_sim_random_unit(random)) / log_miss);
        if (position > (double)trials)
            return events;
        events++;
    }
}

uint64_t pb_sim_random_binomial(struct pb_sim_random *random, uint64_t trials, double probability)
{
    double mean = (double)trials * probability, drawn;

    if (probability <= 0.0)
        return 0;
    if (probability >= 1.0)
        return trials;
    if (mean < 1000.0)
        return count_by_gaps(random, trials, probability);
    drawn = round(mean + sqrt(mean * (1.0 - probability)) * pb_sim_random_normal(random));
    return drawn < 0.0 ? 0 : (drawn > (double)trials ? trials : (uint64_t)drawn);
}
