/* Reading the chases over pages; see scans.h. */
#include "analysis/tlb/scans.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/cache/set_overflow.h"
#include "analysis/constants.h"

/* A chase over pages as it was recorded. */
struct chase {
    const struct pb_point *point;
    struct pb_accesses accesses;
    uint64_t pages, remapped_bytes;
};

void pb_tlb_scans_clear(struct pb_tlb_scans *scans)
{
    if (scans == NULL)
        return;
    for (size_t i = 0; i < scans->count && scans->items != NULL; i++) {
        free(scans->items[i].pages);
        free(scans->items[i].first_chase);
        free(scans->items[i].offset_bytes);
        free(scans->items[i].cycles);
    }
    free(scans->items);
    pb_sample_clear(&scans->reference);
    memset(scans, 0, sizeof(*scans));
}

static bool begins(const struct pb_point *point, const char *phase)
{
    return strncmp(point->phase, phase, strlen(phase)) == 0;
}

/* The block as it was mapped: to reach its last place, chases step over all before. */
static uint64_t find_block(const struct pb_series *series)
{
    for (size_t i = 0; i < series->point_count; i++)
        if (begins(&series->points[i], "map") &&
            series->points[i].footprint_bytes > series->points[i].stride_bytes)
            return series->points[i].footprint_bytes - series->points[i].stride_bytes;
    return 0;
}

static int compare(uint64_t left, uint64_t right)
{
    return (left > right) - (left < right);
}

/* What tells scans apart, all but the number of pages. */
static int compare_scans(const struct chase *a, const struct chase *b)
{
    int order = compare(a->point->stride_bytes, b->point->stride_bytes);

    if (order == 0)
        order = compare(a->remapped_bytes, b->remapped_bytes);
    if (order == 0)
        order = compare(a->point->base_address, b->point->base_address);
    if (order == 0)
        order = compare(a->point->repeat, b->point->repeat);
    return order == 0 ? compare((uint64_t)a->point->sm_id, (uint64_t)b->point->sm_id) : order;
}

static int by_scan_and_pages(const void *a, const void *b)
{
    const struct chase *left = a, *right = b;
    int order = compare_scans(left, right);

    if (order == 0)
        order = compare(left->pages, right->pages);
    return order == 0 ? compare((uintptr_t)left->point, (uintptr_t)right->point) : order;
}

static size_t collect(const struct pb_recording *recordings, size_t count, struct chase *chases)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        const struct pb_series *series = &recordings[i].series;
        uint64_t block = find_block(series);

        for (size_t k = 0; k < series->point_count; k++) {
            const struct pb_point *point = &series->points[k];
            struct pb_accesses accesses = pb_point_accesses(series, point);

            if ((!begins(point, "stride") && !begins(point, "fine")) || accesses.count == 0 ||
                point->stride_bytes == 0 || point->footprint_bytes < point->stride_bytes ||
                point->footprint_bytes / point->stride_bytes >= UINT32_MAX / 2)
                continue;
            chases[found++] = (struct chase){point, accesses,
                                             point->footprint_bytes / point->stride_bytes, block};
        }
    }
    qsort(chases, found, sizeof(*chases), by_scan_and_pages);
    return found;
}

/*
 * Behind what was recorded, lines follow each other as evenly: in each page one farther, within it.
 * Where a block is mapped again and again, they lie near those of the same part of the block, to
 * which pages come back after so many.
 */
static void guess_offsets(struct pb_tlb_scan *scan)
{
    static const uint64_t mib = (uint64_t)1 << 20;
    uint64_t spread = scan->stride_bytes < mib ? scan->stride_bytes : mib;
    uint64_t first = scan->offset_bytes[0];
    uint64_t step = scan->place_count > 1 ? scan->offset_bytes[1] - first - scan->stride_bytes : 0;
    size_t before = 1;

    while (scan->remapped_bytes > 0 && before < scan->page_count &&
           before * scan->stride_bytes % scan->remapped_bytes > 0)
        before++;
    for (size_t page = scan->place_count; page < scan->page_count; page++) {
        if (scan->remapped_bytes > 0 && before <= page)
            scan->offset_bytes[page] =
                scan->offset_bytes[page - before] + before * scan->stride_bytes;
        else
            scan->offset_bytes[page] = page * scan->stride_bytes + (first + page * step) % spread;
    }
}

static void fill(const struct chase *chases, struct pb_tlb_scan *scan)
{
    size_t chase = 0;

    for (size_t page = 0; page < scan->place_count; page++)
        scan->offset_bytes[page] = page * scan->stride_bytes;
    for (size_t i = 0; i < scan->place_count * scan->chase_count; i++)
        scan->cycles[i] = NAN;
    for (size_t w = 0; w < scan->chase_count; w++) {
        const struct pb_accesses *accesses = &chases[w].accesses;

        scan->pages[w] = (uint32_t)chases[w].pages;
        for (size_t i = 0; i < accesses->count; i++) {
            uint64_t place = accesses->index_bytes[i] / scan->stride_bytes;

            if (place >= scan->place_count || place >= chases[w].pages)
                continue;
            scan->offset_bytes[place] = accesses->index_bytes[i];
            *pb_tlb_cycles(scan, (size_t)place, w) = (float)pb_access_cycles(accesses, i);
        }
    }
    guess_offsets(scan);
    for (size_t pages = 0; pages < scan->page_count + 2; pages++) {
        while (chase < scan->chase_count && scan->pages[chase] < pages)
            chase++;
        scan->first_chase[pages] = (uint32_t)chase;
    }
}

/* The scan of chases[count], which are alike. PB_NO_MEMORY. */
static enum pb_status make_scan(const struct chase *chases, size_t count,
                                struct pb_tlb_scans *scans, struct pb_error *err)
{
    struct pb_tlb_scan *scan = &scans->items[scans->count++];

    *scan = (struct pb_tlb_scan){.stride_bytes = chases[0].point->stride_bytes,
                                 .base_address = chases[0].point->base_address,
                                 .remapped_bytes = chases[0].remapped_bytes,
                                 .chase_count = count,
                                 .page_count = (size_t)chases[count - 1].pages};
    for (size_t i = 0; i < count; i++) {
        size_t recorded = chases[i].accesses.count;

        recorded = recorded < chases[i].pages ? recorded : (size_t)chases[i].pages;
        scan->place_count = recorded > scan->place_count ? recorded : scan->place_count;
    }
    scan->pages = calloc(count, sizeof(*scan->pages));
    scan->first_chase = malloc((scan->page_count + 2) * sizeof(*scan->first_chase));
    scan->cycles = malloc(scan->place_count * count * sizeof(*scan->cycles));
    scan->offset_bytes = calloc(scan->page_count + 1, sizeof(*scan->offset_bytes));
    if (scan->pages == NULL || scan->first_chase == NULL || scan->cycles == NULL ||
        scan->offset_bytes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu places of %zu chases",
                       scan->place_count, count);
    fill(chases, scan);
    if (scan->page_count * scan->stride_bytes > scans->most_bytes)
        scans->most_bytes = scan->page_count * scan->stride_bytes;
    return PB_OK;
}

static enum pb_status make_scans(const struct chase *chases, size_t count,
                                 struct pb_tlb_scans *scans, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0, end; i < count && status == PB_OK; i = end) {
        for (end = i; end < count && compare_scans(&chases[end], &chases[i]) == 0;)
            end++;
        status = make_scan(chases + i, end - i, scans, err);
    }
    if (scans->count > 0)
        scans->least_stride_bytes = scans->items[0].stride_bytes;
    return status;
}

enum pb_status pb_tlb_scans_read(const struct pb_recording *recordings, size_t count,
                                 struct pb_tlb_scans *scans_out, struct pb_error *err)
{
    static const struct pb_pick reference = {.phase = "reference"};
    struct pb_tlb_scans scans = {.items = NULL};
    struct chase *chases;
    size_t points = 0, found = 0;
    enum pb_status status =
        pb_trace_collect(&recordings[0].series, &reference, &scans.reference, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        points += recordings[i].series.point_count;
    chases = malloc((points + 1) * sizeof(*chases));
    scans.items = calloc(points + 1, sizeof(*scans.items));
    if (chases == NULL || scans.items == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases", points);
    } else {
        found = collect(recordings, count, chases);
        status = make_scans(chases, found, &scans, err);
    }
    free(chases);
    if (status == PB_OK && scans.reference.count == 0)
        status =
            pb_fail(err, PB_NOT_FOUND, "not recorded: no chase within one page to compare with");
    if (status == PB_OK && found == 0)
        status = pb_fail(err, PB_NOT_FOUND, "not recorded: no chases over pages");
    if (status != PB_OK)
        pb_tlb_scans_clear(&scans);
    else
        *scans_out = scans;
    return status;
}

static uint64_t address_of(const struct pb_tlb_scan *scan, size_t page)
{
    uint64_t offset = scan->offset_bytes[page];

    return scan->base_address + (scan->remapped_bytes > 0 ? offset % scan->remapped_bytes : offset);
}

/* lines[sets] is scratch. From the page that makes its set too full on, none of the set counts. */
static void drop(const struct pb_geometry *l2, struct pb_tlb_scan *scan, uint32_t *lines)
{
    static const uint32_t full = UINT32_C(1) << 31;

    memset(lines, 0, l2->sets * sizeof(*lines));
    for (size_t page = 0; page < scan->page_count; page++) {
        uint32_t *set = &lines[pb_geometry_set(l2, address_of(scan, page))];

        if (*set < full && ++*set > l2->ways)
            *set = full | (uint32_t)(page + 1);
    }
    for (size_t place = 0; place < scan->place_count; place++) {
        uint32_t set = lines[pb_geometry_set(l2, address_of(scan, place))];

        for (size_t w = set < full ? scan->chase_count : scan->first_chase[set - full];
             w < scan->chase_count; w++)
            *pb_tlb_cycles(scan, place, w) = NAN;
    }
}

uint64_t pb_tlb_touched_bits(const struct pb_tlb_scans *scans, uint64_t coverage_bytes)
{
    uint64_t touched = 0;

    for (size_t s = 0; s < scans->count; s++)
        for (size_t page = 1; page < scans->items[s].page_count; page++)
            touched |= pb_tlb_entry(&scans->items[s], page, coverage_bytes) ^
                       pb_tlb_entry(&scans->items[s], 0, coverage_bytes);
    return touched;
}

enum pb_status pb_tlb_drop_conflicts(struct pb_tlb_scans *scans,
                                     const struct pb_parameters *parameters, struct pb_error *err)
{
    struct pb_geometry l2;
    uint32_t *lines;

    if (!pb_sets_read(parameters, "l2", &l2))
        return PB_OK;
    lines = malloc(l2.sets * sizeof(*lines));
    if (lines == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %llu sets",
                       (unsigned long long)l2.sets);
    for (size_t i = 0; i < scans->count; i++)
        drop(&l2, &scans->items[i], lines);
    free(lines);
    return PB_OK;
}

bool pb_tlb_all_miss(const struct pb_parameters *parameters, const char *memory,
                     double stride_bytes, uint64_t pages)
{
    const struct pb_parameter *ways = pb_parameters_find(parameters, memory, "way_counts");
    double entries = pb_parameters_number(parameters, memory, "entry_count");
    double span = pb_parameters_number(parameters, memory, "entry_coverage_bytes");
    double count = (double)pages, overfull = 0.0, sets;

    if (!(stride_bytes >= span && count > entries))
        return false;
    if (ways == NULL || ways->kind == PB_VALUE_NONE || stride_bytes > span)
        return true;
    if (ways->kind == PB_VALUE_NUMBER)
        return count > entries * (1.0 + 1.0 / ways->numbers[0].value) - 1.0;
    sets = (double)ways->number_count;
    for (size_t i = 0; i < ways->number_count; i++)
        overfull += count / sets > ways->numbers[i].value;
    return overfull >= PB_MOST * sets;
}
