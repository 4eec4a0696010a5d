/* What a launch loaded; see sequence.h. */
#include "analysis/agreement/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/sort.h"
#include "core/order.h"

/* Of a stride, so much is used by slots that are evenly apart (docs/battery.md, family tlb). */
static const uint64_t part_max = (uint64_t)1 << 20;

static const uint64_t slots_max = (uint64_t)1 << 26; /* 512 MiB of offsets */

static bool is_order(const struct pb_point *point, const char *word)
{
    return strncmp(point->order, word, PB_NAME_LENGTH) == 0;
}

/* Slots of a sweep; 0: no whole number of them is known. */
static uint64_t slots_of(const struct pb_point *point)
{
    return point->stride_bytes == 0
               ? 0
               : (point->footprint_bytes + point->stride_bytes - 1) / point->stride_bytes;
}

/* Does the cycle of these slots, begun so many loads before, show the record from access i on? */
static bool fits(const struct pb_sequence *sequence, const struct pb_accesses *accesses, size_t i)
{
    size_t at = pb_sequence_slot(sequence, sequence->warm + i);

    for (; i < accesses->count; i++) {
        if (sequence->offset_bytes[at] != accesses->index_bytes[i])
            return false;
        at = at + 1 < sequence->period ? at + 1 : 0;
    }
    return true;
}

/* Where a sweep lists the word at an offset, one of 8 bytes, before it is shuffled. */
static uint64_t place_of(const struct pb_point *point, uint64_t strides, uint64_t offset)
{
    return offset % point->stride_bytes / 8 * strides + offset / point->stride_bytes;
}

/*
 * Brings the loads of the record to the front of a list of all slots, as swaps of them do one after
 * the other; false: it shows another slot, or one of them twice.
 */
static bool begin_with(const struct pb_point *point, const struct pb_accesses *accesses,
                       uint64_t strides, struct pb_sequence *sequence)
{
    const uint64_t *shown = accesses->index_bytes;
    uint64_t *offsets = sequence->offset_bytes;

    for (size_t i = 0; i < accesses->count; i++) {
        uint64_t at = place_of(point, strides, shown[i]);

        if (shown[i] % point->stride_bytes % 8 != 0)
            return false;
        while (at < i && shown[at] != shown[i]) /* what was there went where that load was */
            at = place_of(point, strides, shown[at]);
        if (at < i || at >= sequence->period || offsets[at] != shown[i])
            return false;
        offsets[at] = offsets[i];
        offsets[i] = shown[i];
    }
    return true;
}

/* Does the record show every load of the launch, and nothing goes by the order of other slots? */
static bool is_all_shown(const struct pb_point *point, const struct pb_sequence *sequence,
                         const struct pb_accesses *accesses)
{
    bool is_read_before = point->is_cold != 0 && point->is_prefilled != 0;

    return sequence->warm == 0 && accesses->count <= sequence->period && !is_read_before;
}

/* All slots of a sweep, in their order as far as it matters. strides: slots_of() */
static void sweep(const struct pb_point *point, uint64_t strides,
                  const struct pb_accesses *accesses, struct pb_sequence *sequence)
{
    size_t fixed = 0, rounds = (size_t)((sequence->period - 1) / strides);

    sequence->most_bytes = (sequence->period - 1) % strides * point->stride_bytes + 8 * rounds;
    if (rounds > 0 && sequence->most_bytes < (strides - 1) * point->stride_bytes + 8 * (rounds - 1))
        sequence->most_bytes = (strides - 1) * point->stride_bytes + 8 * (rounds - 1);
    pb_order_list_words(sequence->offset_bytes, sequence->period, (size_t)strides,
                        point->stride_bytes);
    if (is_all_shown(point, sequence, accesses)) {
        sequence->is_known = begin_with(point, accesses, strides, sequence);
        return;
    }
    if (is_order(point, "random_in_pages"))
        fixed = pb_order_pages_first(sequence->offset_bytes, sequence->period, 0);
    if (!is_order(point, "sequential"))
        pb_order_shuffle(sequence->offset_bytes + fixed, sequence->period - fixed, point->seed);
    sequence->is_known = fits(sequence, accesses, 0);
}

/* The first load that is one of before again; the number of loads where none is. */
static size_t period_of(const struct pb_accesses *accesses)
{
    size_t i = 1;

    while (i < accesses->count && accesses->index_bytes[i] != accesses->index_bytes[0])
        i++;
    return i;
}

/* The record as a whole pass: its first load is load `warm` of the launch. */
static void wrap(const struct pb_accesses *accesses, struct pb_sequence *sequence)
{
    size_t first = pb_sequence_slot(sequence, sequence->warm), left = sequence->period - first;
    size_t size = sizeof(*sequence->offset_bytes);

    memcpy(sequence->offset_bytes + first, accesses->index_bytes, left * size);
    memcpy(sequence->offset_bytes, accesses->index_bytes + left, first * size);
}

/*
 * Is every slot, one in each stride from the first one on, as much further on in its stride as the
 * one before, round a part of the stride that is a power of two? *step_out: how much.
 */
static bool is_even(const struct pb_point *point, const struct pb_accesses *accesses, size_t period,
                    uint64_t *step_out)
{
    uint64_t stride = point->stride_bytes, part = stride < part_max ? stride : part_max, step;
    uint64_t inside = accesses->index_bytes[0] % stride;
    size_t at = 0;

    if (accesses->count < 2 || inside >= part)
        return false;
    step = (accesses->index_bytes[1] % stride + part - inside) % part;
    for (size_t i = 0; i < accesses->count; i++) {
        if (accesses->index_bytes[i] - at * stride != inside)
            return false;
        inside += step;
        inside -= inside >= part ? part : 0;
        at = at + 1 < period ? at + 1 : 0;
    }
    *step_out = step;
    return true;
}

/*
 * One slot in each stride, in their order, of which the record shows a part: what is not shown lies
 * where the stride says (the TLB sweeps, whose lines differ within pages), and within it where the
 * slots that are shown go on to, if they are evenly apart.
 */
static bool lay_out(const struct pb_point *point, const struct pb_accesses *accesses,
                    struct pb_sequence *sequence)
{
    uint64_t part = point->stride_bytes < part_max ? point->stride_bytes : part_max, step = 0;
    uint64_t inside = 0;
    size_t first = pb_sequence_slot(sequence, sequence->warm), at = first;
    size_t last = accesses->count - 1;
    bool is_certain;

    if (accesses->index_bytes[last] / point->stride_bytes !=
        pb_sequence_slot(sequence, first + last))
        return false; /* most that are not such slots end with one: it is soon seen */
    for (size_t i = 0; i < accesses->count; i++) {
        if (accesses->index_bytes[i] - at * point->stride_bytes >= point->stride_bytes)
            return false;
        at = at + 1 < sequence->period ? at + 1 : 0;
    }
    is_certain = first == 0 && is_even(point, accesses, sequence->period, &step);
    if (is_certain)
        inside = accesses->index_bytes[0] % part;
    for (size_t i = 0; i < sequence->period; i++) {
        sequence->offset_bytes[i] = i * point->stride_bytes + inside;
        inside += step;
        inside -= inside >= part ? part : 0;
    }
    at = first;
    for (size_t i = 0; i < accesses->count; i++) {
        sequence->offset_bytes[at] = accesses->index_bytes[i];
        at = at + 1 < sequence->period ? at + 1 : 0;
    }
    sequence->is_laid_out = !is_certain && accesses->count < sequence->period;
    return true;
}

static enum pb_status allocate(struct pb_sequence *sequence, uint64_t period, struct pb_error *err)
{
    sequence->period = (size_t)period;
    sequence->apart_bytes = 0;
    if (period <= sequence->room)
        return PB_OK;
    free(sequence->offset_bytes);
    sequence->room = 0;
    sequence->offset_bytes = malloc(sequence->period * sizeof(*sequence->offset_bytes));
    if (sequence->offset_bytes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a chase of %zu slots",
                       sequence->period);
    sequence->room = sequence->period;
    return PB_OK;
}

/* From the point's columns. */
static enum pb_status try_sweep(const struct pb_point *point, const struct pb_accesses *accesses,
                                struct pb_sequence *sequence, struct pb_error *err)
{
    uint64_t strides = slots_of(point), slots = strides;
    enum pb_status status;

    if (is_order(point, "random_words"))
        slots = point->slots;
    if (strides == 0 || slots == 0 || slots > slots_max)
        return PB_OK;
    status = allocate(sequence, slots, err);
    if (status != PB_OK)
        return status;
    if (is_order(point, "given")) {
        if (point->slots > 0 && point->slots != slots)
            return PB_OK;
        sequence->is_known = lay_out(point, accesses, sequence);
        return PB_OK;
    }
    sweep(point, strides, accesses, sequence);
    sequence->apart_bytes = slots == strides ? point->stride_bytes : 0;
    return PB_OK;
}

/* Is every load of another line? A pass by several words of each line is longer than it shows. */
static enum pb_status see_lines(const struct pb_point *point, const struct pb_accesses *accesses,
                                bool *are_different_out, struct pb_error *err)
{
    uint64_t stride = point->stride_bytes > 0 ? point->stride_bytes : 1;
    double *lines;
    size_t i = 1;

    while (i < accesses->count && accesses->index_bytes[i] >= accesses->index_bytes[i - 1] + stride)
        i++;
    *are_different_out = true;
    if (i == accesses->count)
        return PB_OK;
    lines = malloc(accesses->count * sizeof(*lines));
    if (lines == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu lines", accesses->count);
    for (i = 0; i < accesses->count; i++)
        lines[i] = (double)(accesses->index_bytes[i] / stride);
    pb_sort(lines, accesses->count);
    for (i = 1; i < accesses->count; i++)
        *are_different_out &= lines[i - 1] != lines[i];
    free(lines);
    return PB_OK;
}

/*
 * From the record alone: all of the launch where nothing came before, else a pass of it, whose
 * length the point says or repeated slots show.
 */
static enum pb_status try_record(const struct pb_point *point, const struct pb_accesses *accesses,
                                 struct pb_sequence *sequence, struct pb_error *err)
{
    bool is_said = point->slots > 0 && point->slots <= accesses->count;
    size_t pass = is_said ? (size_t)point->slots : period_of(accesses);
    bool is_pass = is_said || pass < accesses->count;
    enum pb_status status = allocate(sequence, pass, err);

    if (status != PB_OK)
        return status;
    wrap(accesses, sequence);
    if (!is_pass && point->slots == 0 && sequence->warm > 0 && pass > 0 &&
        sequence->warm % pass == 0)
        status = see_lines(point, accesses, &is_pass, err);
    sequence->is_known = is_pass && fits(sequence, accesses, pass);
    return status;
}

/* Whether the slots are in order, and, but for a sweep, where they lie. */
static void note_extent(struct pb_sequence *sequence, bool is_swept)
{
    const uint64_t *offsets = sequence->offset_bytes;
    uint64_t least = offsets[0], most;
    size_t i = 1;

    while (i < sequence->period && offsets[i] >= offsets[i - 1])
        i++;
    sequence->is_ascending = i == sequence->period;
    if (is_swept)
        return;
    for (most = offsets[i - 1]; i < sequence->period; i++) {
        least = offsets[i] < least ? offsets[i] : least;
        most = offsets[i] > most ? offsets[i] : most;
    }
    sequence->least_bytes = least;
    sequence->most_bytes = most;
}

enum pb_status pb_sequence_make(const struct pb_point *point, const struct pb_accesses *accesses,
                                struct pb_sequence *sequence, struct pb_error *err)
{
    bool is_given = is_order(point, "given"), is_swept;
    enum pb_status status = PB_OK;

    *sequence = (struct pb_sequence){
        .offset_bytes = sequence->offset_bytes, .room = sequence->room, .warm = point->warm};
    if (!is_given || (point->slots > 0 ? point->slots > accesses->count
                                       : period_of(accesses) == accesses->count))
        status = try_sweep(point, accesses, sequence, err);
    is_swept = sequence->is_known && !is_given;
    if (status == PB_OK && !sequence->is_known)
        status = try_record(point, accesses, sequence, err);
    if (status == PB_OK && !sequence->is_known) {
        status = allocate(sequence, accesses->count, err);
        if (status == PB_OK)
            memcpy(sequence->offset_bytes, accesses->index_bytes,
                   accesses->count * sizeof(*sequence->offset_bytes));
        sequence->is_known = sequence->warm == 0;
        sequence->is_part = point->slots > accesses->count;
        sequence->warm = 0;
    }
    if (status == PB_OK)
        note_extent(sequence, is_swept);
    return status;
}

void pb_sequence_clear(struct pb_sequence *sequence)
{
    if (sequence == NULL)
        return;
    free(sequence->offset_bytes);
    *sequence = (struct pb_sequence){.offset_bytes = NULL};
}
