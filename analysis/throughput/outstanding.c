/* Loads outstanding, sent one by one. */
#include "analysis/throughput/outstanding.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static double later(double a, double b)
{
    return a > b ? a : b;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/*
 * Every register is taken in turn, so the next one is the oldest. And since all loads take as long,
 * the warp that went on first is the first to go on again: warps send in turn. More registers than
 * loads are as good as one more than loads.
 */
void pb_outstanding_simulate(struct pb_outstanding *outstanding, unsigned warps, unsigned loads,
                             double *last_out)
{
    unsigned ring = least(outstanding->per_warp, loads + 1);
    unsigned sm_ring = least(outstanding->per_sm, warps * loads), sm_at = 0, at = 0;
    double now = 0.0, last = 0.0;

    memset(outstanding->ready, 0, sizeof(double) * warps);
    memset(outstanding->sm_free, 0, sizeof(double) * sm_ring);
    for (unsigned sent = 0; sent < loads; sent++) {
        unsigned next = at + 1 < ring ? at + 1 : 0;
        bool is_free = sent + 1 < ring; /* no load has taken the next register yet */

        for (unsigned warp = 0; warp < warps; warp++) {
            double *of_sm = &outstanding->sm_free[sm_at];

            now =
                later(now, later(outstanding->ready[warp], *of_sm)); /* one step waits for `now` */
            last = now + outstanding->latency;
            outstanding->warp_free[(size_t)at * warps + warp] = *of_sm = last;
            now += outstanding->issue;
            outstanding->ready[warp] =
                is_free ? now : later(now, outstanding->warp_free[(size_t)next * warps + warp]);
            sm_at = sm_at + 1 < sm_ring ? sm_at + 1 : 0;
        }
        last_out[sent] = last;
        at = next;
    }
}
