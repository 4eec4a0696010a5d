/*
 * Family pattern: the latencies of M16's six access patterns from one chase (M16 5.2, figure 14).
 *
 * One thread starts from flushed caches and loads, in this order:
 *
 *   p6_p5   one line in each of many pages, the first ones 512 MiB apart: nothing is cached, no
 *           page is in a TLB, and at times the active pages change
 *   p4      new lines in the few pages visited last: TLB hit, cache miss
 *   p3      the second word of every page's line: more pages than the L2 TLB holds
 *   p2      the third word of the lines visited last: too many pages for the L1 TLB only
 *   p1      further words of p4's lines: everything hits
 *
 * Each slice is a point of that phase, for global_ca and for global_cg; warm is its place in the
 * chase, stride the distance of its pages.
 *
 * M16's GPUs have TLBs of 16 and 65 entries of 2 MiB. Those of devices with much memory reach
 * further, and entries of their second level span 32 MiB (facts, table of TLBs): there the pages
 * are farther apart and more. Slot i lies i lines into its page, so that neither cache is
 * overloaded in one set.
 */
#include <stdlib.h>
#include <string.h>

#include "battery/tests.h"
#include "battery/walk.h"

enum {
    LINE_BYTES = 128,
    WORD_BYTES = 8,
    FRESH_PAGES = 8, /* fewer than any L1 TLB holds */
    FRESH_ROUNDS = 3,
    SWITCHES_MAX = 7,
    P1_WORDS = 3
};

static const uint64_t mib = (uint64_t)1 << 20;
static const uint64_t active_bytes = (uint64_t)512 << 20; /* pages active together: M16 5.2 */

struct shape {
    uint64_t page_bytes; /* distance of the pages */
    size_t pages;        /* more than the L2 TLB holds */
    size_t near_pages;   /* more than the L1 TLB holds, and fewer than the L2 TLB */
    size_t switches;     /* loads in other stretches of active pages */
};

struct slice {
    const char *phase;
    size_t count;
};

enum { SLICES = 5 };

/* All slots in their order, and how they are cut. */
struct plan {
    struct shape shape;
    uint64_t *offset_bytes;
    size_t count;
    struct slice slices[SLICES];
};

static struct shape choose_shape(uint64_t room)
{
    const uint64_t large_bytes = (uint64_t)16 << 30, reserve_bytes = (uint64_t)1 << 30;
    struct shape shape = {.page_bytes = 2 * mib, .pages = 96, .near_pages = 40};

    if (room >= large_bytes) {
        uint64_t pages = (room - reserve_bytes) / (32 * mib);

        shape = (struct shape){.page_bytes = 32 * mib, .near_pages = 256};
        shape.pages = (size_t)(pages < 4096 ? pages : 4096);
        return shape;
    }
    shape.switches = (size_t)(room / active_bytes);
    shape.switches = shape.switches > 0 ? shape.switches - 1 : 0;
    if (shape.switches > SWITCHES_MAX)
        shape.switches = SWITCHES_MAX;
    return shape;
}

static uint64_t page_slot(const struct shape *shape, size_t page, size_t word)
{
    return page * shape->page_bytes + page * LINE_BYTES % mib + word * WORD_BYTES;
}

/* Fresh line k: in one of the last pages, 64 KiB or more from the lines that are there already. */
static uint64_t fresh_slot(const struct shape *shape, size_t k, size_t word)
{
    size_t page = shape->pages - FRESH_PAGES + k % FRESH_PAGES;
    uint64_t line = (shape->pages + k) * LINE_BYTES % (mib / 2);

    return page * shape->page_bytes + mib + (k / FRESH_PAGES) * (mib / 16) + line +
           word * WORD_BYTES;
}

static void add(struct plan *plan, size_t slice, const char *phase, uint64_t offset_bytes)
{
    plan->slices[slice].phase = phase;
    plan->slices[slice].count++;
    plan->offset_bytes[plan->count++] = offset_bytes;
}

static void lay_out(struct plan *plan)
{
    const struct shape *shape = &plan->shape;
    const size_t fresh = FRESH_PAGES * FRESH_ROUNDS;

    for (size_t i = shape->switches; i > 0; i--)
        add(plan, 0, "p6_p5", i * active_bytes + (shape->pages + fresh + i) * LINE_BYTES);
    for (size_t i = 0; i < shape->pages; i++)
        add(plan, 0, "p6_p5", page_slot(shape, i, 0));
    for (size_t k = 0; k < fresh; k++)
        add(plan, 1, "p4", fresh_slot(shape, k, 0));
    for (size_t i = 0; i < shape->pages; i++)
        add(plan, 2, "p3", page_slot(shape, i, 1));
    for (size_t i = shape->pages - shape->near_pages; i < shape->pages; i++)
        add(plan, 3, "p2", page_slot(shape, i, 2));
    for (size_t word = 1; word <= P1_WORDS; word++)
        for (size_t k = 0; k < fresh; k++)
            add(plan, 4, "p1", fresh_slot(shape, k, word));
}

/* Files one slice of the whole chase. */
static enum pb_status file_slice(const struct pb_series *whole, const struct slice *slice,
                                 size_t first, struct pb_recording *recording, struct pb_error *err)
{
    struct pb_point point = whole->points[0];

    PB_TEXT_SET(point.phase, slice->phase);
    point.warm = first;
    point.count = slice->count;
    return pb_series_append(&recording->series, &point, whole->latency_cycles + first,
                            whole->index_bytes + first, err);
}

static enum pb_status take_path(struct pb_bench *bench, const struct plan *plan, enum pb_path path,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct pb_recording whole = {.sm_id = -1};
    struct pb_walk walk = {.path = path,
                           .order = PB_ORDER_GIVEN,
                           .phase = "pattern",
                           .stride_bytes = plan->shape.page_bytes,
                           .offset_bytes = plan->offset_bytes,
                           .offset_count = plan->count,
                           .record = PB_WALK_LAP,
                           .flush = true};
    size_t first = 0;
    enum pb_status status;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->offset_bytes[i] >= walk.footprint_bytes)
            walk.footprint_bytes = plan->offset_bytes[i] + WORD_BYTES;
    status = pb_walk_take(bench, &walk, &whole, NULL, err);
    for (size_t i = 0; i < SLICES && status == PB_OK; i++) {
        status = file_slice(&whole.series, &plan->slices[i], first, recording, err);
        first += plan->slices[i].count;
    }
    recording->sm_id = whole.sm_id;
    pb_recording_clear(&whole);
    return status;
}

static enum pb_status take_room(struct pb_bench *bench, uint64_t room_bytes,
                                struct pb_recording *recording, struct pb_error *err)
{
    struct plan plan = {.shape = choose_shape(room_bytes)};
    size_t most = 3 * plan.shape.pages + SWITCHES_MAX + (1 + P1_WORDS) * FRESH_PAGES * FRESH_ROUNDS;
    enum pb_status status;

    if (plan.shape.pages * plan.shape.page_bytes > room_bytes)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %llu bytes",
                       (unsigned long long)room_bytes);
    plan.offset_bytes = malloc(most * sizeof(*plan.offset_bytes));
    if (plan.offset_bytes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu slots", most);
    lay_out(&plan);
    status = take_path(bench, &plan, PB_PATH_GLOBAL_CG, recording, err);
    if (status == PB_OK)
        status = take_path(bench, &plan, PB_PATH_GLOBAL_CA, recording, err);
    free(plan.offset_bytes);
    return status;
}

/* Where less memory is free than there was, half of it must do. */
enum pb_status pb_test_latency_pattern(struct pb_bench *bench, struct pb_recording *recording,
                                       struct pb_error *err)
{
    uint64_t room_bytes = bench->info.memory_free_bytes;
    enum pb_status status = take_room(bench, room_bytes, recording, err);

    while (status == PB_NO_MEMORY && room_bytes > active_bytes) {
        room_bytes /= 2;
        status = take_room(bench, room_bytes, recording, err);
    }
    return status;
}
