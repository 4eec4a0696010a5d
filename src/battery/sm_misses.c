/*
 * Family map: what a miss costs on every SM.
 *
 * A chip lacks other units than its neighbour, and one SM's way to L2, to DRAM or to the page
 * tables shows where it lies, not what the chip is like: so each SM has a chase of its own, over
 * lines of its own. The phase is what is missed; the column sm_id distinguishes the SMs.
 *
 *   l1, readonly, texture   lines that L2 holds, by this path through an empty cache: as many were
 *                           loaded past L1 just before, so that no translation is missed
 *   constant_l1             constants of which the first cache holds a part, pass after pass
 *   constant_l15            constants for the first time: the second cache misses them as well
 *   tlb_l1                  two lines in each of more pages than the first level has entries; the
 *                           second line's load misses no translation. Each line comes first once
 *   tlb_l2                  the same behind more pages than the second level has entries; every
 *                           other SM takes the second line first
 *
 * `quick` has l1 alone. Limit: translations are measured where free memory has 16 GiB and more
 * (M16's GPUs, with less, reach all of L2 from each SM in the same time).
 */
#include <stdlib.h>

#include "battery/search.h"
#include "battery/sms.h"
#include "battery/tests.h"

enum {
    LINE_BYTES = 128,
    WORD_BYTES = 8,
    LINES = 64,
    LINE_STRIDE_BYTES = 16384 + LINE_BYTES, /* so that a chase meets many slices */
    PAGES = 16, /* that the chases of all SMs begin in, in turn; fewer of a small memory */
    CONSTANT_STRIDE_BYTES = 64,
    CONSTANT_SHARE = 4, /* so many times what the first constant cache holds */
    COLD_STRIDE_BYTES = 1024,
    COLD_STARTS = 4, /* so that all SMs together meet every line of 256 bytes */
    COLD_START_BYTES = COLD_STRIDE_BYTES / COLD_STARTS,
    LOAD_PAIRS = 64,
    FAR_PAGES_MAX = 4096
};

static const uint64_t kib = (uint64_t)1 << 10, mib = (uint64_t)1 << 20;
static const uint64_t far_page_bytes = (uint64_t)32 << 20;
static const uint64_t large_bytes = (uint64_t)16 << 30, reserve_bytes = (uint64_t)1 << 30;

struct phase {
    const char *name;
    enum pb_path path;
    uint32_t needs; /* a capability; 0: memory enough */
    enum pb_battery battery;
    pb_sms_take *take;
};

/* The pages of a chase over translations, and its slots. */
struct load_pairs {
    const struct phase *phase;
    uint64_t pages;
    uint64_t *offset_bytes;
};

static enum pb_status take_lines(struct pb_session *session, uint32_t sm, const void *context,
                                 struct pb_recording *recording, struct pb_error *err)
{
    const struct phase *phase = context;
    uint64_t pages = pb_search_pages(session, PAGES);
    struct pb_chase_spec spec = {.path = phase->path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = phase->name,
                                 .base_bytes = sm % pages * PB_PAGE_BYTES + sm / pages * LINE_BYTES,
                                 .footprint_bytes = (uint64_t)LINES * LINE_STRIDE_BYTES,
                                 .stride_bytes = LINE_STRIDE_BYTES,
                                 .warm = PB_WHOLE_PASS,
                                 .record = PB_WHOLE_PASS,
                                 .cross = true,
                                 .warm_path = PB_PATH_GLOBAL_CG,
                                 .on_sm = true,
                                 .sm = sm};

    return pb_chase_take(session, &spec, recording, NULL, err);
}

static enum pb_status take_constants(struct pb_session *session, uint32_t sm, const void *context,
                                     struct pb_recording *recording, struct pb_error *err)
{
    const struct phase *phase = context;
    uint64_t least = pb_targets[PB_CACHE_CONSTANT_L15].small_bytes;
    uint64_t most = pb_targets[PB_CACHE_CONSTANT_L15].limit_bytes / 2;
    uint64_t bytes = CONSTANT_SHARE * session->hints[PB_CACHE_CONSTANT].edge_bytes;
    struct pb_chase_spec spec = {.path = phase->path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = phase->name,
                                 .stride_bytes = CONSTANT_STRIDE_BYTES,
                                 .warm = PB_WHOLE_PASS,
                                 .record = PB_WHOLE_PASS,
                                 .on_sm = true,
                                 .sm = sm};

    bytes -= bytes % CONSTANT_STRIDE_BYTES;
    spec.footprint_bytes = bytes < least ? least : bytes < most ? bytes : most;
    return pb_chase_take(session, &spec, recording, NULL, err);
}

static enum pb_status take_cold_constants(struct pb_session *session, uint32_t sm,
                                          const void *context, struct pb_recording *recording,
                                          struct pb_error *err)
{
    const struct phase *phase = context;
    struct pb_chase_spec spec = {.path = phase->path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = phase->name,
                                 .base_bytes = sm % COLD_STARTS * COLD_START_BYTES,
                                 .footprint_bytes =
                                     63 * kib, /* the last one is the backends' own */
                                 .stride_bytes = COLD_STRIDE_BYTES,
                                 .prefill = true,
                                 .record = PB_WHOLE_PASS,
                                 .on_sm = true,
                                 .sm = sm};

    return pb_chase_take(session, &spec, recording, NULL, err);
}

/* One of two lines in a page, all different ones of L2. */
static uint64_t slot_of(uint64_t page, uint64_t second, uint64_t word)
{
    return page * far_page_bytes + page * LINE_BYTES % mib + second * mib + word * WORD_BYTES;
}

/* Both lines of each of the last pages, from *count on. */
static void add_pairs(struct load_pairs *load_pairs, uint64_t first_line, uint64_t word,
                      size_t *count)
{
    for (uint64_t page = load_pairs->pages - LOAD_PAIRS; page < load_pairs->pages; page++) {
        load_pairs->offset_bytes[(*count)++] = slot_of(page, first_line, word);
        load_pairs->offset_bytes[(*count)++] = slot_of(page, 1 - first_line, word);
    }
}

static enum pb_status chase_pairs(struct pb_session *session, uint32_t sm,
                                  const struct load_pairs *load_pairs, size_t count, uint64_t warm,
                                  struct pb_recording *recording, struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = PB_PATH_GLOBAL_CG,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = load_pairs->phase->name,
                                 .footprint_bytes = load_pairs->pages * far_page_bytes,
                                 .stride_bytes = far_page_bytes,
                                 .offset_bytes = load_pairs->offset_bytes,
                                 .offset_count = count,
                                 .warm = warm,
                                 .record = warm == PB_WHOLE_PASS ? PB_WHOLE_PASS : count - warm,
                                 .on_sm = true,
                                 .sm = sm};

    return pb_chase_take(session, &spec, recording, NULL, err);
}

/* A pass by one word of each line, then by another one and the other line first. */
static enum pb_status take_near_pairs(struct pb_session *session, uint32_t sm, const void *context,
                                      struct pb_recording *recording, struct pb_error *err)
{
    struct load_pairs load_pairs = *(const struct load_pairs *)context;
    size_t count = 0;

    load_pairs.pages = LOAD_PAIRS;
    add_pairs(&load_pairs, 0, 0, &count);
    add_pairs(&load_pairs, 1, 1, &count);
    return chase_pairs(session, sm, &load_pairs, count, PB_WHOLE_PASS, recording, err);
}

/* Both lines are brought near, and then left for all other pages: what translates them is gone. */
static enum pb_status take_far_pairs(struct pb_session *session, uint32_t sm, const void *context,
                                     struct pb_recording *recording, struct pb_error *err)
{
    struct load_pairs load_pairs = *(const struct load_pairs *)context;
    size_t count = 0, warm;

    add_pairs(&load_pairs, 0, 1, &count);
    for (uint64_t page = 0; page < load_pairs.pages - LOAD_PAIRS; page++)
        load_pairs.offset_bytes[count++] = slot_of(page, 0, 0);
    warm = count;
    add_pairs(&load_pairs, sm % 2, 0, &count);
    return chase_pairs(session, sm, &load_pairs, count, warm, recording, err);
}

/* Where less memory is free than there was, half of it must do. */
static enum pb_status take_translations(struct pb_session *session, const struct phase *phase,
                                        struct pb_recording *recording, struct pb_error *err)
{
    uint64_t available = session->info.memory_free_bytes - reserve_bytes;
    struct load_pairs load_pairs = {.phase = phase, .pages = available / far_page_bytes};
    enum pb_status status = PB_NO_MEMORY;

    if (load_pairs.pages > FAR_PAGES_MAX)
        load_pairs.pages = FAR_PAGES_MAX;
    load_pairs.offset_bytes =
        malloc((load_pairs.pages + 4 * (uint64_t)LOAD_PAIRS) * sizeof(*load_pairs.offset_bytes));
    if (load_pairs.offset_bytes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating slots in %llu pages",
                       (unsigned long long)load_pairs.pages);
    for (; status == PB_NO_MEMORY && load_pairs.pages > 2 * LOAD_PAIRS; load_pairs.pages /= 2)
        status = pb_sms_each(session, phase->take, &load_pairs, recording, err);
    free(load_pairs.offset_bytes);
    return status;
}

static const struct phase phases[] = {
    {"l1", PB_PATH_GLOBAL_CA, PB_CAP_GLOBAL_CA, PB_QUICK, take_lines},
    {"readonly", PB_PATH_READONLY, PB_CAP_READONLY, PB_STANDARD, take_lines},
    {"texture", PB_PATH_TEXTURE, PB_CAP_TEXTURE, PB_STANDARD, take_lines},
    {"constant_l1", PB_PATH_CONSTANT, PB_CAP_CONSTANT, PB_STANDARD, take_constants},
    {"constant_l15", PB_PATH_CONSTANT, PB_CAP_CONSTANT, PB_STANDARD, take_cold_constants},
    {"tlb_l1", PB_PATH_GLOBAL_CG, 0, PB_STANDARD, take_near_pairs},
    {"tlb_l2", PB_PATH_GLOBAL_CG, 0, PB_STANDARD, take_far_pairs},
};

static enum pb_status take_phase(struct pb_session *session, const struct phase *phase,
                                 struct pb_recording *recording, struct pb_error *err)
{
    if (session->battery < phase->battery || (phase->needs & ~session->info.capabilities) != 0)
        return PB_UNSUPPORTED;
    if (phase->needs > 0)
        return pb_sms_each(session, phase->take, phase, recording, err);
    if (session->info.memory_free_bytes < large_bytes)
        return PB_UNSUPPORTED;
    return take_translations(session, phase, recording, err);
}

enum pb_status pb_test_sm_misses(struct pb_session *session, struct pb_recording *recording,
                                 struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]) && status == PB_OK; i++) {
        status = take_phase(session, &phases[i], recording, err);
        if (status == PB_UNSUPPORTED && recording->series.point_count > 0)
            status = PB_OK; /* the others are there */
    }
    recording->sm_id = -1;
    return status;
}
