/* Bank conflicts; see bank.h. */
#include "device/sim/bank.h"

#include <math.h>
#include <stdbool.h>

#include "device/sim/limits.h"

static uint64_t row_of(const struct pb_sim_shared_spec *shared, uint64_t byte)
{
    return byte / ((uint64_t)shared->bank_bytes * shared->banks);
}

static uint32_t bank_of(const struct pb_sim_shared_spec *shared, uint64_t byte)
{
    return (uint32_t)(byte / shared->bank_bytes % shared->banks);
}

/* True: a lane of the group before `lane` touches the same row of this bank. */
static bool is_shared_row(const struct pb_sim_shared_spec *shared, uint32_t word_bytes,
                          uint64_t stride_bytes, uint32_t first, uint32_t lane, uint64_t byte)
{
    for (uint32_t other = first; other < lane; other++)
        for (uint64_t at = 0; at < word_bytes; at += shared->bank_bytes) {
            uint64_t taken = other * stride_bytes + at;

            if (bank_of(shared, taken) == bank_of(shared, byte) &&
                row_of(shared, taken) == row_of(shared, byte))
                return true;
        }
    return false;
}

/* Distinct rows of one bank that the lanes [first, last) touch. */
static uint32_t rows_of_bank(const struct pb_sim_shared_spec *shared, uint32_t word_bytes,
                             uint64_t stride_bytes, uint32_t first, uint32_t last, uint32_t bank)
{
    uint32_t rows = 0;

    for (uint32_t lane = first; lane < last; lane++)
        for (uint64_t at = 0; at < word_bytes; at += shared->bank_bytes) {
            uint64_t byte = lane * stride_bytes + at;

            if (bank_of(shared, byte) == bank &&
                !is_shared_row(shared, word_bytes, stride_bytes, first, lane, byte))
                rows++;
        }
    return rows;
}

uint32_t pb_sim_bank_wavefronts(const struct pb_sim_shared_spec *shared, uint32_t word_bytes,
                                uint32_t stride_words)
{
    uint32_t banks_per_word = (word_bytes + shared->bank_bytes - 1) / shared->bank_bytes;
    uint32_t lanes = PB_SIM_WARP_SIZE / banks_per_word, wavefronts = 0;
    uint64_t stride_bytes = (uint64_t)stride_words * word_bytes;

    for (uint32_t first = 0; first < PB_SIM_WARP_SIZE; first += lanes) {
        uint32_t worst = 1;

        for (uint32_t bank = 0; bank < shared->banks; bank++) {
            uint32_t rows =
                rows_of_bank(shared, word_bytes, stride_bytes, first, first + lanes, bank);

            worst = rows > worst ? rows : worst;
        }
        wavefronts += worst;
    }
    return wavefronts;
}

double pb_sim_bank_latency(const struct pb_sim_shared_spec *shared, uint32_t wavefronts)
{
    double low_ways = 1.0, low = shared->latency_cycles, slope = 0.0;

    for (int i = 0; i < PB_SIM_CONFLICT_STEPS; i++) {
        double ways = (double)(2u << i), cycles = shared->conflict_cycles[i];

        if (isnan(cycles) || (double)wavefronts <= low_ways)
            continue;
        slope = (cycles - low) / (ways - low_ways);
        if ((double)wavefronts <= ways)
            break;
        low_ways = ways;
        low = cycles;
    }
    return low + slope * ((double)wavefronts - low_ways);
}
