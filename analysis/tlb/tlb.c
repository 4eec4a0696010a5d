/* Walks over pages, as they were recorded, and what their accesses miss; see tlb.h. */
#include "analysis/tlb/tlb.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/trace.h"

void pb_tlb_clear(struct pb_tlb *tlb)
{
    if (tlb == NULL)
        return;
    free(tlb->walks);
    free(tlb->kept_latency);
    free(tlb->kept_index);
    memset(tlb, 0, sizeof(*tlb));
}

static bool is_walk(const struct pb_point *point, const char *phase)
{
    return strncmp(point->phase, phase, strlen(phase)) == 0 && point->stride_bytes > 0 &&
           strncmp(point->mode, "traced", PB_NAME_LENGTH) == 0 &&
           point->footprint_bytes >= point->stride_bytes;
}

static int by_stride_and_pages(const void *a, const void *b)
{
    const struct pb_tlb_walk *left = a, *right = b;

    if (left->stride_bytes != right->stride_bytes)
        return left->stride_bytes < right->stride_bytes ? -1 : 1;
    return (left->pages > right->pages) - (left->pages < right->pages);
}

/* The block as it was mapped: to reach its last place, walks step over all before. */
static uint64_t find_alias(const struct pb_series *series)
{
    for (size_t i = 0; i < series->point_count; i++)
        if (is_walk(&series->points[i], "map"))
            return series->points[i].footprint_bytes - series->points[i].stride_bytes;
    return 0;
}

static enum pb_status read_walks(const struct pb_recording *recordings, size_t count,
                                 const char *phase, struct pb_tlb *tlb, struct pb_error *err)
{
    size_t points = 0;

    for (size_t i = 0; i < count; i++)
        points += recordings[i].series.point_count;
    tlb->walks = calloc(points + 1, sizeof(*tlb->walks));
    if (tlb->walks == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", points);
    for (size_t i = 0; i < count; i++) {
        const struct pb_series *series = &recordings[i].series;
        uint64_t alias_bytes = i > 0 ? find_alias(series) : 0;

        for (size_t k = 0; k < series->point_count; k++) {
            const struct pb_point *point = &series->points[k];
            struct pb_accesses accesses = pb_point_accesses(series, point);

            if (is_walk(point, phase) && accesses.count > 0)
                tlb->walks[tlb->walk_count++] =
                    (struct pb_tlb_walk){.stride_bytes = point->stride_bytes,
                                         .pages = point->footprint_bytes / point->stride_bytes,
                                         .base_address = point->base_address,
                                         .repeat = point->repeat,
                                         .sm_id = point->sm_id,
                                         .is_aliased = i > 0,
                                         .alias_bytes = alias_bytes,
                                         .accesses = accesses};
        }
    }
    if (tlb->walk_count == 0)
        return pb_fail(err, PB_NOT_FOUND, "the recording has no passes over pages");
    qsort(tlb->walks, tlb->walk_count, sizeof(*tlb->walks), by_stride_and_pages);
    for (size_t i = 0; i < tlb->walk_count; i++) {
        uint64_t stride = tlb->walks[i].stride_bytes;

        if (tlb->stride_count > 0 && tlb->strides[tlb->stride_count - 1] == stride)
            continue;
        if (tlb->stride_count < PB_TLB_STRIDES_MAX)
            tlb->strides[tlb->stride_count++] = stride;
    }
    return PB_OK;
}

/* Those whose phase begins like this. */
static enum pb_status read_phase(const struct pb_recording *recordings, size_t count,
                                 const char *phase, struct pb_tlb *tlb_out, struct pb_error *err)
{
    struct pb_tlb tlb = {.walk_count = 0};
    enum pb_status status = read_walks(recordings, count, phase, &tlb, err);

    if (status == PB_OK)
        *tlb_out = tlb;
    else
        pb_tlb_clear(&tlb);
    return status;
}

enum pb_status pb_tlb_read_walks(const struct pb_recording *recordings, size_t count,
                                 struct pb_tlb *tlb_out, struct pb_error *err)
{
    return read_phase(recordings, count, "stride", tlb_out, err);
}

enum pb_status pb_tlb_read_fine(const struct pb_recording *recording, struct pb_tlb *tlb_out,
                                struct pb_error *err)
{
    return read_phase(recording, 1, "fine", tlb_out, err);
}

bool pb_tlb_is_whole(const struct pb_tlb_walk *walk)
{
    return walk->accesses.count + walk->left_out >= walk->pages;
}

void pb_tlb_range(const struct pb_tlb *tlb, uint64_t stride_bytes, size_t *first_out,
                  size_t *count_out)
{
    size_t first = 0, end;

    while (first < tlb->walk_count && tlb->walks[first].stride_bytes != stride_bytes)
        first++;
    end = first;
    while (end < tlb->walk_count && tlb->walks[end].stride_bytes == stride_bytes)
        end++;
    *first_out = first;
    *count_out = end - first;
}

bool pb_tlb_comparable(const struct pb_tlb_walk *a, const struct pb_tlb_walk *b)
{
    return a->stride_bytes == b->stride_bytes && a->base_address == b->base_address &&
           a->repeat == b->repeat && a->sm_id == b->sm_id;
}

/* Levels that an access so slow misses; none where it looks like nothing known. */
static size_t levels_of(const struct pb_tlb *tlb, double cycles)
{
    for (size_t level = tlb->levels; level > 0; level--)
        if (pb_band_holds(tlb->bands[level], cycles))
            return level;
    return 0;
}

bool pb_tlb_hits_l2(const struct pb_tlb *tlb, const struct pb_tlb_walk *walk, size_t i)
{
    double cycles = pb_access_cycles(&walk->accesses, i);

    return levels_of(tlb, cycles) > 0 || pb_band_holds(tlb->bands[0], cycles);
}

bool pb_tlb_misses(const struct pb_tlb *tlb, const struct pb_tlb_walk *walk, size_t i, size_t level)
{
    double cycles = pb_access_cycles(&walk->accesses, i);
    size_t levels = levels_of(tlb, cycles);

    if (levels == 0 && !isnan(tlb->dram_cycles)) /* or it misses L2 as well */
        levels = levels_of(tlb, cycles - tlb->dram_cycles);
    return levels >= level;
}

bool pb_tlb_hits(const struct pb_tlb *tlb, const struct pb_tlb_walk *walk, size_t i, size_t level)
{
    double cycles = pb_access_cycles(&walk->accesses, i);

    if (pb_tlb_misses(tlb, walk, i, level))
        return false;
    for (size_t below = 0; below < level; below++)
        if (pb_band_holds(tlb->bands[below], cycles) ||
            (!isnan(tlb->dram_cycles) &&
             pb_band_holds(tlb->bands[below], cycles - tlb->dram_cycles)))
            return true;
    return false;
}
