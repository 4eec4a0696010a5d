/* Arrays that leave sets with room, against an index; see conflict.h. */
#include <stdlib.h>

#include "analysis/cache/conflict.h"

enum { BITS_MAX = 16 };

/* Lines of the array by set; the most in any one. */
static uint64_t count_lines(const struct pb_conflicts *conflicts, const struct pb_index_fit *fit,
                            uint64_t *lines)
{
    uint64_t most = 0;

    for (size_t i = 0; i < conflicts->lines; i++) {
        uint64_t set = pb_index_set_of(fit, conflicts->line_bytes,
                                       conflicts->base + i * conflicts->line_bytes);

        lines[set]++;
        most = lines[set] > most ? lines[set] : most;
    }
    return most;
}

/* Bits in which the array's lines differ, and added ones that lie no further away than it is long.
 */
static uint64_t near_bits(const struct pb_conflicts *conflicts)
{
    uint64_t reach = 2 * conflicts->lines * conflicts->line_bytes, bits = 0;

    for (size_t i = 0; i < conflicts->lines; i++)
        bits |= conflicts->base ^ (conflicts->base + i * conflicts->line_bytes);
    for (size_t i = 0; i < conflicts->lap_count; i++)
        if (conflicts->laps[i].added - conflicts->base < reach)
            bits |= conflicts->base ^ conflicts->laps[i].added;
    return bits;
}

/* Did the added line make one of its own set miss? What misses of another set is a stray. */
static bool makes_miss(const struct pb_conflicts *conflicts, const struct pb_index_fit *fit,
                       const struct pb_conflict_lap *lap)
{
    uint64_t set = pb_index_set_of(fit, conflicts->line_bytes, lap->added);

    for (size_t k = lap->first; k < lap->first + lap->count; k++)
        if (pb_index_set_of(fit, conflicts->line_bytes, conflicts->missing[k]) == set)
            return true;
    return false;
}

enum pb_status pb_conflicts_check_fill(const struct pb_conflicts *conflicts,
                                       const struct pb_index_fit *fit,
                                       struct pb_conflict_fill *fill_out, struct pb_error *err)
{
    struct pb_conflict_fill fill = {.ways = 0};
    uint64_t *lines;

    if (fit->shape != PB_INDEX_XOR || fit->mask_count == 0 || fit->mask_count > BITS_MAX)
        return pb_fail(err, PB_INVALID, "an index of %zu bits", fit->mask_count);
    lines = calloc((size_t)1 << fit->mask_count, sizeof(*lines));
    if (lines == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating 2^%zu sets", fit->mask_count);
    fill.ways = count_lines(conflicts, fit, lines);
    fill.near_bits = near_bits(conflicts);
    fill.overflows_next =
        lines[pb_index_set_of(fit, conflicts->line_bytes,
                              conflicts->base + conflicts->lines * conflicts->line_bytes)] ==
        fill.ways;
    for (size_t i = 0; i < conflicts->lap_count; i++) {
        const struct pb_conflict_lap *lap = &conflicts->laps[i];
        bool full = lines[pb_index_set_of(fit, conflicts->line_bytes, lap->added)] == fill.ways;

        fill.laps++;
        fill.full += full;
        fill.with_room += !full;
        fill.agreeing += full == makes_miss(conflicts, fit, lap);
    }
    free(lines);
    *fill_out = fill;
    return PB_OK;
}
