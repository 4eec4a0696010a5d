/*
 * The SM's clock against the device's global timer (facts 2.9).
 *
 * The timer advances in ticks of 32 ns to 1 us; each pair is read right after it was seen to tick,
 * so a pair is off by one reading of the timer, not by a tick.
 */
#include "kernels/stamp.cuh"

/* The time right after the first tick at or after `due_ns`; gives up after limit_cycles. */
__device__ __forceinline__ uint64_t pb_next_tick(uint64_t due_ns, uint64_t start,
                                                 uint64_t limit_cycles)
{
    uint64_t before = pb_timer_ns(), now = before;

    while ((now == before || now < due_ns) && pb_clock() - start < limit_cycles) {
        before = now;
        now = pb_timer_ns();
    }
    return now;
}

extern "C" __global__ void pb_clock_pairs(struct pb_kernel_clock clock)
{
    uint64_t *samples = (uint64_t *)clock.samples;
    uint64_t start = pb_clock(), start_ns = pb_timer_ns();

    for (uint32_t i = 0; i < clock.count; i++) {
        uint64_t due_ns = start_ns + i * clock.period_ns;
        uint64_t ns = pb_next_tick(due_ns, start, clock.limit_cycles);
        uint64_t cycles = pb_clock();

        if (cycles - start >= clock.limit_cycles)
            return;
        samples[2 * i] = cycles;
        samples[2 * i + 1] = ns;
    }
}

extern "C" int pb_kernel_clock(const struct pb_kernel_clock *clock)
{
    pb_clock_pairs<<<1, 1>>>(*clock);
    return (int)cudaGetLastError();
}
