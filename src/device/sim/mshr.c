/* Loads in flight; see mshr.h. */
#include "device/sim/mshr.h"

double pb_sim_mshr_cycles(const struct pb_sim_mshr_spec *mshr, uint32_t warps, uint32_t loads,
                          double latency_cycles, double issue_cycles)
{
    uint64_t of_warps = (uint64_t)mshr->per_warp * warps;
    uint64_t in_flight = of_warps < mshr->per_sm ? of_warps : mshr->per_sm;
    uint64_t last = (uint64_t)warps * loads - 1, rounds = last / in_flight;

    /*
     * Load n issues at max(issue of n - 1 + issue_cycles, issue of n - in_flight + latency_cycles).
     * Solved: full rounds of in_flight loads, each as long as the slower of the two.
     */
    double issuing_cycles = (double)in_flight * issue_cycles;
    double round_cycles = issuing_cycles > latency_cycles ? issuing_cycles : latency_cycles;

    return (double)rounds * round_cycles + (double)(last % in_flight) * issue_cycles +
           latency_cycles;
}
