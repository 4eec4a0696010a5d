/* Which lines of a walk crowd a set of L2; see tlb_crowd.h. */
#include "analysis/tlb/tlb_crowd.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Lines of this part of L2 that lie anywhere crowd none of its sets, or next to none. */
enum { SPARSE_PARTS = 32 };

/* Sets that are counted; no L2 whose sets show has as many. */
static const double sets_max = 1 << 20;

struct pb_tlb_l2 pb_tlb_l2_read(const struct pb_parameters *parameters)
{
    const struct pb_parameter *kind = pb_parameters_find(parameters, "l2", "index_kind");
    const struct pb_parameter *masks = pb_parameters_find(parameters, "l2", "index_masks");
    double line = pb_parameters_number(parameters, "l2", "line_bytes");
    double sets = pb_parameters_number(parameters, "l2", "set_count");
    double ways = pb_parameters_number(parameters, "l2", "way_counts");
    struct pb_tlb_l2 l2, unknown = {.sets = 0};

    if (!(line >= 1.0 && sets >= 1.0 && sets <= sets_max && ways >= 1.0) || kind == NULL ||
        kind->kind != PB_VALUE_WORD)
        return unknown;
    l2 = (struct pb_tlb_l2){
        .line_bytes = (uint64_t)line, .ways = (uint64_t)ways, .sets = (uint64_t)sets};
    if (strcmp(kind->word, "modulo") == 0)
        return l2;
    if (masks == NULL || masks->kind != PB_VALUE_MASKS ||
        ldexp(1.0, (int)masks->number_count) != sets)
        return unknown;
    for (; l2.mask_count < masks->number_count; l2.mask_count++)
        l2.masks[l2.mask_count] = (uint64_t)masks->numbers[l2.mask_count].value;
    return l2;
}

/* The set of a load of a walk, by its offset. A block begins with a multiple of what it has. */
static size_t set_of(const struct pb_tlb_l2 *l2, const struct pb_tlb_walk *walk, uint64_t index)
{
    uint64_t address = walk->base_address + (walk->is_aliased ? index % walk->alias_bytes : index);
    size_t set = 0;

    if (l2->mask_count == 0)
        return (size_t)(address / l2->line_bytes % l2->sets);
    for (size_t i = 0; i < l2->mask_count; i++)
        set |= (size_t)__builtin_parityll(address & l2->masks[i]) << i;
    return set;
}

/* Walks go in even steps: what follows the record of a longer lap is known, too. */
static bool is_even(const struct pb_tlb_walk *walk)
{
    const uint64_t *index = walk->accesses.index_bytes;

    for (size_t i = 2; i < walk->accesses.count; i++)
        if (index[i] - index[i - 1] != index[1] - index[0])
            return false;
    return walk->accesses.count > 1;
}

/* Lines of the whole lap by set; false where they are not known. */
static bool count_lines(const struct pb_tlb_l2 *l2, const struct pb_tlb_walk *walk, uint64_t *lines)
{
    const struct pb_accesses *accesses = &walk->accesses;
    size_t recorded = accesses->count < walk->pages ? accesses->count : (size_t)walk->pages;

    if ((walk->is_aliased && walk->alias_bytes == 0) || (recorded < walk->pages && !is_even(walk)))
        return false;
    memset(lines, 0, l2->sets * sizeof(*lines));
    for (size_t i = 0; i < walk->pages; i++) {
        uint64_t index = i < recorded ? accesses->index_bytes[i]
                                      : accesses->index_bytes[0] + i * (accesses->index_bytes[1] -
                                                                        accesses->index_bytes[0]);

        lines[set_of(l2, walk, index)]++;
    }
    return true;
}

/* Room for what is left of walks. */
struct room {
    uint32_t *latency;
    uint64_t *index;
    size_t used;
};

/* Copies the accesses to sets that are not crowded; a walk that loses none stays as it is. */
static void thin_out(const struct pb_tlb_l2 *l2, const uint64_t *lines, struct pb_tlb_walk *walk,
                     struct room *room)
{
    struct pb_accesses kept = walk->accesses;

    kept.latency_cycles = room->latency + room->used;
    kept.index_bytes = room->index + room->used;
    kept.count = 0;
    for (size_t i = 0; i < walk->accesses.count; i++) {
        uint64_t index = walk->accesses.index_bytes[i];

        if (lines[set_of(l2, walk, index)] > l2->ways)
            continue;
        room->latency[room->used + kept.count] = walk->accesses.latency_cycles[i];
        room->index[room->used + kept.count++] = index;
    }
    if (kept.count == walk->accesses.count)
        return;
    walk->left_out = walk->accesses.count - kept.count;
    walk->accesses = kept;
    room->used += kept.count;
}

static void thin_out_all(struct pb_tlb *tlb, const struct pb_tlb_l2 *l2, uint64_t *lines,
                         struct room *room)
{
    size_t kept = 0;

    for (size_t i = 0; i < tlb->walk_count; i++) {
        struct pb_tlb_walk *walk = &tlb->walks[i];

        if (count_lines(l2, walk, lines))
            thin_out(l2, lines, walk, room);
        else if (SPARSE_PARTS * walk->pages > l2->sets * l2->ways)
            continue;
        if (walk->accesses.count >= walk->left_out)
            tlb->walks[kept++] = *walk;
    }
    tlb->walk_count = kept;
}

enum pb_status pb_tlb_leave_out_crowded(struct pb_tlb *tlb, const struct pb_tlb_l2 *l2,
                                        struct pb_error *err)
{
    struct room room = {NULL, NULL, 0};
    uint64_t *lines;
    size_t total = 0;

    if (l2->sets == 0)
        return PB_OK;
    for (size_t i = 0; i < tlb->walk_count; i++)
        total += tlb->walks[i].accesses.count;
    room.latency = tlb->kept_latency = malloc((total + 1) * sizeof(*room.latency));
    room.index = tlb->kept_index = malloc((total + 1) * sizeof(*room.index));
    lines = malloc(l2->sets * sizeof(*lines));
    if (room.latency == NULL || room.index == NULL || lines == NULL) {
        free(lines);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu accesses", total);
    }
    thin_out_all(tlb, l2, lines, &room);
    free(lines);
    return PB_OK;
}
