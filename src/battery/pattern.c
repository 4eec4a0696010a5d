/*
 * Family pattern: the latencies of M16's six access patterns from one chase (M16 5.2, figure 14).
 *
 * One thread starts from flushed caches and loads, in this order:
 *
 *   p6_p5   one line in each of many pages, the first ones 512 MiB apart: nothing is cached, no
 *           page is in a TLB, and at times the active pages change
 *   p4      new lines in the few pages visited last: TLB hit, cache miss
 *   spare   a second line in some of the pages, for p2
 *   p3      the second word of every page's line: more pages than the L2 TLB holds
 *   p2      the third word of the lines visited last: too many pages for the L1 TLB only; again
 *           over ever fewer pages, by the fourth word and the second of the spare lines
 *   refill  a further word of p4's lines: what p3 displaced from L1 comes back
 *   p1      and two more: everything hits
 *
 * Each slice is a point of that phase, for global_ca and for global_cg; warm is its place in the
 * chase, stride the distance of its pages.
 *
 * M16's GPUs have TLBs of 16 and 65 entries of 2 MiB. What an entry spans elsewhere is not known
 * here: chases over pages 2 to 32 MiB apart are taken as far as memory goes, and whoever knows the
 * TLBs takes the one that suits. Those of devices with much memory reach further, and entries of
 * their second level span 32 MiB (facts, table of TLBs): there the pages are farther apart and
 * more, and so are the lines of p4 and p1, which lie in two sides of L2. Slot i lies i lines into
 * its page, so that neither cache is overloaded in one set. A chase visits no word twice, and only
 * the four words of a sector come with it.
 */
#include <stdlib.h>
#include <string.h>

#include "battery/chase.h"
#include "battery/tests.h"

enum {
    LINE_BYTES = 128,
    WORD_BYTES = 8,
    FRESH_PAGES = 8, /* fewer than any L1 TLB holds */
    SWITCHES_MAX = 7,
    P1_WORDS = 3,        /* the first of them refills L1 */
    HIT_LINES_MAX = 256, /* of the fresh ones, which p1 is taken over: any L1 holds them */
    NEARS = 3            /* numbers of pages that p2 is taken over */
};

static const uint64_t mib = (uint64_t)1 << 20;
static const uint64_t active_bytes = (uint64_t)512 << 20; /* pages active together: M16 5.2 */
static const uint64_t large_bytes = (uint64_t)16 << 30, reserve_bytes = (uint64_t)1 << 30;

struct shape {
    uint64_t page_bytes;      /* distance of the pages */
    size_t pages;             /* more than the L2 TLB holds */
    size_t near_pages[NEARS]; /* one is more than the L1 TLB holds, and fewer than the L2 TLB */
    size_t fresh_rounds;      /* p4's lines in each of its pages, */
    uint64_t fresh_bytes;     /* so far apart */
    size_t switches;          /* loads in other stretches of active pages */
};

struct slice {
    const char *phase;
    size_t count;
};

enum { SLICES = 6 + NEARS };

/* All slots in their order, and how they are cut. */
struct plan {
    struct shape shape;
    uint64_t *offset_bytes;
    size_t count;
    struct slice slices[SLICES];
    size_t slice_count;
};

/* Much memory: far-reaching TLBs, and an L2 of two sides. */
static struct shape large_shape(uint64_t available)
{
    struct shape shape = {.page_bytes = 32 * mib,
                          .near_pages = {1024, 256, 64},
                          .fresh_rounds = 128, /* DRAM's latencies scatter by a quarter */
                          .fresh_bytes = mib / 256};
    uint64_t pages = (available - reserve_bytes) / shape.page_bytes;

    shape.pages = (size_t)(pages < 4096 ? pages : 4096);
    for (size_t i = 0; i < NEARS; i++)
        if (shape.near_pages[i] > shape.pages)
            shape.near_pages[i] = shape.pages;
    return shape;
}

static struct shape small_shape(uint64_t available, uint64_t page_bytes)
{
    struct shape shape = {.page_bytes = page_bytes,
                          .pages = 96,
                          .near_pages = {40, 24, 12},
                          .fresh_rounds = 3,
                          .fresh_bytes = mib / 16};

    if (page_bytes > 2 * mib) /* active pages change among them: M16 5.2 */
        return shape;
    shape.switches = (size_t)(available / active_bytes);
    shape.switches = shape.switches > 0 ? shape.switches - 1 : 0;
    if (shape.switches > SWITCHES_MAX)
        shape.switches = SWITCHES_MAX;
    return shape;
}

static uint64_t page_slot(const struct shape *shape, size_t page, size_t word)
{
    return page * shape->page_bytes + page * LINE_BYTES % mib + word * WORD_BYTES;
}

/* In the other half of what page_slot() uses of a page. */
static uint64_t spare_slot(const struct shape *shape, size_t page, size_t word)
{
    return page * shape->page_bytes + (page * LINE_BYTES + mib / 2) % mib + word * WORD_BYTES;
}

/* Fresh line k: in one of the last pages, far from the lines that are there already. */
static uint64_t fresh_slot(const struct shape *shape, size_t k, size_t word)
{
    size_t page = shape->pages - FRESH_PAGES + k % FRESH_PAGES;
    uint64_t line = (shape->pages + k) * LINE_BYTES % (mib / 2);

    return page * shape->page_bytes + mib + (k / FRESH_PAGES) * shape->fresh_bytes + line +
           word * WORD_BYTES;
}

/* Begins another slice; loads that are added go to the one begun last. */
static void begin(struct plan *plan, const char *phase)
{
    plan->slices[plan->slice_count++].phase = phase;
}

static void add(struct plan *plan, uint64_t offset_bytes)
{
    plan->slices[plan->slice_count - 1].count++;
    plan->offset_bytes[plan->count++] = offset_bytes;
}

static size_t fresh_lines(const struct shape *shape)
{
    return FRESH_PAGES * shape->fresh_rounds;
}

static size_t hit_lines(const struct shape *shape)
{
    size_t lines = fresh_lines(shape);

    return lines < HIT_LINES_MAX ? lines : HIT_LINES_MAX;
}

/* One word of each of the first fresh lines. */
static void add_fresh(struct plan *plan, size_t lines, size_t word)
{
    for (size_t k = 0; k < lines; k++)
        add(plan, fresh_slot(&plan->shape, k, word));
}

/* One word of a line of each of the last pages. */
static void add_pages(struct plan *plan, size_t pages, size_t word,
                      uint64_t (*slot)(const struct shape *, size_t, size_t))
{
    for (size_t i = plan->shape.pages - pages; i < plan->shape.pages; i++)
        add(plan, slot(&plan->shape, i, word));
}

/* Over ever fewer pages, each time by a word that was not visited yet. */
static void add_near(struct plan *plan)
{
    const struct shape *shape = &plan->shape;

    begin(plan, "p2");
    add_pages(plan, shape->near_pages[0], 2, page_slot);
    begin(plan, "p2");
    add_pages(plan, shape->near_pages[1], 3, page_slot);
    begin(plan, "p2");
    add_pages(plan, shape->near_pages[2], 1, spare_slot);
}

static void lay_out(struct plan *plan)
{
    const struct shape *shape = &plan->shape;

    begin(plan, "p6_p5");
    for (size_t i = shape->switches; i > 0; i--)
        add(plan, i * active_bytes + (shape->pages + fresh_lines(shape) + i) * LINE_BYTES);
    add_pages(plan, shape->pages, 0, page_slot);
    begin(plan, "p4");
    add_fresh(plan, fresh_lines(shape), 0);
    begin(plan, "spare");
    add_pages(plan, shape->near_pages[NEARS - 1], 0, spare_slot);
    begin(plan, "p3");
    add_pages(plan, shape->pages, 1, page_slot);
    add_near(plan);
    begin(plan, "refill");
    add_fresh(plan, hit_lines(shape), 1);
    begin(plan, "p1");
    for (size_t word = 2; word <= P1_WORDS; word++)
        add_fresh(plan, hit_lines(shape), word);
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

static enum pb_status take_path(struct pb_session *session, const struct plan *plan,
                                enum pb_path path, struct pb_recording *recording,
                                struct pb_error *err)
{
    struct pb_recording whole = {.sm_id = -1};
    struct pb_chase_spec spec = {.path = path,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = "pattern",
                                 .stride_bytes = plan->shape.page_bytes,
                                 .offset_bytes = plan->offset_bytes,
                                 .offset_count = plan->count,
                                 .record = PB_WHOLE_PASS,
                                 .flush = true};
    size_t first = 0;
    enum pb_status status;

    for (size_t i = 0; i < plan->count; i++)
        if (plan->offset_bytes[i] >= spec.footprint_bytes)
            spec.footprint_bytes = plan->offset_bytes[i] + WORD_BYTES;
    status = pb_chase_take(session, &spec, &whole, NULL, err);
    for (size_t i = 0; i < plan->slice_count && status == PB_OK; i++) {
        status = file_slice(&whole.series, &plan->slices[i], first, recording, err);
        first += plan->slices[i].count;
    }
    recording->sm_id = whole.sm_id;
    pb_recording_clear(&whole);
    return status;
}

static enum pb_status take_shape(struct pb_session *session, const struct shape *shape,
                                 struct pb_recording *recording, struct pb_error *err)
{
    struct plan plan = {.shape = *shape};
    size_t most = (3 + NEARS) * shape->pages + SWITCHES_MAX + (1 + P1_WORDS) * fresh_lines(shape);
    enum pb_status status;

    plan.offset_bytes = malloc(most * sizeof(*plan.offset_bytes));
    if (plan.offset_bytes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu slots", most);
    lay_out(&plan);
    status = take_path(session, &plan, PB_PATH_GLOBAL_CG, recording, err);
    if (status == PB_OK)
        status = take_path(session, &plan, PB_PATH_GLOBAL_CA, recording, err);
    free(plan.offset_bytes);
    return status;
}

static enum pb_status take_available(struct pb_session *session, uint64_t available_bytes,
                                     struct pb_recording *recording, struct pb_error *err)
{
    struct shape shape = small_shape(available_bytes, 2 * mib);
    enum pb_status status;

    if (available_bytes >= large_bytes) {
        shape = large_shape(available_bytes);
        return take_shape(session, &shape, recording, err);
    }
    if (shape.pages * shape.page_bytes > available_bytes)
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %llu bytes",
                       (unsigned long long)available_bytes);
    status = take_shape(session, &shape, recording, err);
    for (uint64_t page = 4 * mib; page <= 32 * mib && status == PB_OK; page *= 2) {
        shape = small_shape(available_bytes, page);
        if (shape.pages * page <= available_bytes)
            status = take_shape(session, &shape, recording, err);
    }
    return status;
}

/* Where less memory is free than there was, half of it must do. */
enum pb_status pb_test_latency_pattern(struct pb_session *session, struct pb_recording *recording,
                                       struct pb_error *err)
{
    uint64_t available_bytes = session->info.memory_free_bytes;
    enum pb_status status = take_available(session, available_bytes, recording, err);

    while (status == PB_NO_MEMORY && available_bytes > active_bytes) {
        available_bytes /= 2;
        status = take_available(session, available_bytes, recording, err);
    }
    return status;
}
