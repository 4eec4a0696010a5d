/* Blocks on SMs, and the turns of their warps; see schedule.h. */
#include "analysis/kernel/schedule.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

enum {
    PROGRESS_STEP = 1 << 20,
    PENDING_MAX = 8 /* places where a warp waits for answers */
};

/* Loads of a warp that were issued and whose answers have not been waited for yet. */
struct pending {
    uint64_t wait_counter; /* program counter of the instruction that waits */
    double ready_time;     /* of the last answer */
};

/* A warp that is active on an SM, in a slot that the next block's warp takes over. */
struct warp {
    uint64_t block;
    uint32_t number; /* of the block */
    uint32_t block_slot;
    uint32_t next_ready; /* slot behind it in the queue */
    bool has_access;     /* read, and refused or not issued yet */
    bool has_waited;     /* for what its access needs */
    bool has_passed;     /* what lies before its access and empties L1 */
    uint64_t counter;    /* program counter of its last access */
    struct pending pending[PENDING_MAX];
    uint32_t pending_count;
    struct pb_access access;
};

/* Waits for its time; those of the same time in the order in which they began to. */
struct sleeper {
    double time;
    uint64_t order;
    uint32_t slot;
};

struct sm {
    double now;
    struct warp *warps;       /* [slot_count] */
    uint32_t *warps_left;     /* [block_limit] of the block in that slot; 0: free */
    struct sleeper *sleepers; /* [slot_count] a heap, the first to wake on top */
    uint32_t sleeper_count;
    uint32_t first_ready, last_ready; /* slots, or NONE */
    bool has_no_more_blocks;
};

struct schedule {
    const struct pb_schedule_options *options;
    const struct pb_access_sink *sink;
    const struct pb_kernel *kernel;
    struct pb_feed *feed;
    struct sm *sms;
    uint32_t sm_count, slot_count;
    uint64_t order;
    uint32_t *heap; /* [heap_count] SMs that have something to do, the earliest on top */
    uint32_t heap_count;
    uint64_t *fences; /* [fence_count] program counters of PB_KIND_EMPTY_L1 */
    size_t fence_count;
    struct pb_schedule_result result;
};

/* ---- queues of one SM ---- */

static void push_ready(struct sm *sm, uint32_t slot)
{
    sm->warps[slot].next_ready = NONE;
    if (sm->last_ready == NONE)
        sm->first_ready = slot;
    else
        sm->warps[sm->last_ready].next_ready = slot;
    sm->last_ready = slot;
}

static void push_ready_first(struct sm *sm, uint32_t slot)
{
    sm->warps[slot].next_ready = sm->first_ready;
    sm->first_ready = slot;
    if (sm->last_ready == NONE)
        sm->last_ready = slot;
}

static uint32_t pop_ready(struct sm *sm)
{
    uint32_t slot = sm->first_ready;

    sm->first_ready = sm->warps[slot].next_ready;
    if (sm->first_ready == NONE)
        sm->last_ready = NONE;
    return slot;
}

static bool wakes_before(const struct sleeper *a, const struct sleeper *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static void push_sleeper(struct sm *sm, const struct sleeper *sleeper)
{
    uint32_t at = sm->sleeper_count++;

    while (at > 0 && wakes_before(sleeper, &sm->sleepers[(at - 1) / 2])) {
        sm->sleepers[at] = sm->sleepers[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    sm->sleepers[at] = *sleeper;
}

static uint32_t pop_sleeper(struct sm *sm)
{
    uint32_t slot = sm->sleepers[0].slot;
    struct sleeper last = sm->sleepers[--sm->sleeper_count];
    uint32_t at = 0;

    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child + 1 < sm->sleeper_count &&
            wakes_before(&sm->sleepers[child + 1], &sm->sleepers[child]))
            child++;
        if (child >= sm->sleeper_count || !wakes_before(&sm->sleepers[child], &last))
            break;
        sm->sleepers[at] = sm->sleepers[child];
        at = child;
    }
    sm->sleepers[at] = last;
    return slot;
}

/* ---- SMs by time ---- */

/* When the SM issues its next access. */
static double next_time(const struct sm *sm)
{
    if (sm->first_ready != NONE || sm->sleepers[0].time < sm->now)
        return sm->now;
    return sm->sleepers[0].time;
}

static bool comes_before(const struct schedule *schedule, uint32_t a, uint32_t b)
{
    double time_a = next_time(&schedule->sms[a]);
    double time_b = next_time(&schedule->sms[b]);

    return time_a < time_b || (time_a == time_b && a < b);
}

static void sift_down(struct schedule *schedule, uint32_t at)
{
    uint32_t sm = schedule->heap[at];

    for (;;) {
        uint32_t child = 2 * at + 1;

        if (child + 1 < schedule->heap_count &&
            comes_before(schedule, schedule->heap[child + 1], schedule->heap[child]))
            child++;
        if (child >= schedule->heap_count || !comes_before(schedule, schedule->heap[child], sm))
            break;
        schedule->heap[at] = schedule->heap[child];
        at = child;
    }
    schedule->heap[at] = sm;
}

/* ---- blocks ---- */

static uint32_t free_block_slot(const struct schedule *schedule, const struct sm *sm)
{
    uint32_t slot = 0;

    while (slot < schedule->options->block_limit && sm->warps_left[slot] > 0)
        slot++;
    return slot < schedule->options->block_limit ? slot : NONE;
}

/* Gives an SM its next block, if there is one and it has room. */
static enum pb_status start_block(struct schedule *schedule, uint32_t number, bool *started_out,
                                  struct pb_error *err)
{
    struct sm *sm = &schedule->sms[number];
    uint32_t block_slot = free_block_slot(schedule, sm);
    uint32_t warp_count = schedule->kernel->warp_count;
    uint64_t block = 0;
    bool found = false;
    enum pb_status status = PB_OK;

    *started_out = false;
    if (block_slot == NONE || sm->has_no_more_blocks)
        return PB_OK;
    status = pb_feed_block(schedule->feed, schedule->kernel->has_schedule ? number : 0, &block,
                           &found, err);
    sm->has_no_more_blocks = !found;
    if (status != PB_OK || !found)
        return status;
    sm->warps_left[block_slot] = warp_count;
    for (uint32_t i = 0; i < warp_count; i++) {
        uint32_t slot = block_slot * warp_count + i;

        sm->warps[slot].block = block;
        sm->warps[slot].number = i;
        sm->warps[slot].block_slot = block_slot;
        sm->warps[slot].has_access = sm->warps[slot].has_waited = false;
        sm->warps[slot].has_passed = false;
        sm->warps[slot].counter = 0;
        sm->warps[slot].pending_count = 0;
        push_ready(sm, slot);
    }
    schedule->result.block_count++;
    schedule->result.warp_count += warp_count;
    *started_out = true;
    return PB_OK;
}

/* Round robin over the SMs until none takes one more. */
static enum pb_status start_first_blocks(struct schedule *schedule, struct pb_error *err)
{
    bool any = true;

    while (any) {
        any = false;
        for (uint32_t i = 0; i < schedule->sm_count; i++) {
            bool started = false;
            enum pb_status status = start_block(schedule, i, &started, err);

            if (status != PB_OK)
                return status;
            any = any || started;
        }
    }
    for (uint32_t i = 0; i < schedule->sm_count; i++)
        if (schedule->sms[i].first_ready != NONE)
            schedule->heap[schedule->heap_count++] = i;
    for (uint32_t i = schedule->heap_count / 2; i-- > 0;)
        sift_down(schedule, i);
    schedule->result.sm_count = schedule->heap_count;
    return PB_OK;
}

/* ---- turns ---- */

static enum pb_status end_warp(struct schedule *schedule, uint32_t number, uint32_t slot,
                               struct pb_error *err)
{
    struct sm *sm = &schedule->sms[number];
    struct warp *warp = &sm->warps[slot];
    bool started;

    if (--sm->warps_left[warp->block_slot] > 0)
        return PB_OK;
    pb_feed_drop(schedule->feed, warp->block);
    return start_block(schedule, number, &started, err);
}

/*
 * A load whose answer is not needed at once. Where there are too many places, it is waited for with
 * the last one, at the earlier of both.
 */
static void add_pending(struct warp *warp, uint64_t wait_counter, double ready_time)
{
    uint32_t i = 0;

    while (i < warp->pending_count && warp->pending[i].wait_counter != wait_counter)
        i++;
    if (i == PENDING_MAX)
        i--;
    else if (i == warp->pending_count)
        warp->pending[warp->pending_count++] = (struct pending){wait_counter, ready_time};
    if (wait_counter < warp->pending[i].wait_counter)
        warp->pending[i].wait_counter = wait_counter;
    if (ready_time > warp->pending[i].ready_time)
        warp->pending[i].ready_time = ready_time;
}

/*
 * When a warp can issue the instruction at a program counter: all answers are there that the code
 * up to it waits for. A way back is the end of a turn of a loop, whose next turn writes the same
 * registers: all answers have to be there.
 */
static double wait_for_pending(struct warp *warp, uint64_t counter)
{
    bool goes_back = counter <= warp->counter;
    uint32_t kept = 0;
    double time = 0.0;

    for (uint32_t i = 0; i < warp->pending_count; i++) {
        const struct pending *pending = &warp->pending[i];

        if (!goes_back && pending->wait_counter > counter)
            warp->pending[kept++] = *pending;
        else if (pending->ready_time > time)
            time = pending->ready_time;
    }
    warp->pending_count = kept;
    return time;
}

/* Where a warp waits after its access. */
static void put_back(struct schedule *schedule, struct sm *sm, uint32_t slot,
                     const struct pb_access_outcome *outcome)
{
    if (schedule->options->no_hierarchy && !outcome->is_refused)
        push_ready_first(sm, slot);
    else if (schedule->options->no_divergence)
        push_ready(sm, slot);
    else
        push_sleeper(sm, &(struct sleeper){outcome->ready_time, schedule->order++, slot});
}

static const struct pb_instruction *instruction_of(const struct schedule *schedule,
                                                   const struct warp *warp)
{
    return &(*schedule->kernel->instructions)[warp->access.instruction];
}

/* Puts a warp back whose access needs answers that are not there yet. */
static bool waits_first(struct schedule *schedule, struct sm *sm, uint32_t slot)
{
    struct warp *warp = &sm->warps[slot];
    double time;

    if (warp->has_waited || warp->pending_count == 0)
        return false;
    warp->has_access = warp->has_waited = true;
    time = wait_for_pending(warp, instruction_of(schedule, warp)->program_counter);
    if (time <= sm->now)
        return false;
    push_sleeper(sm, &(struct sleeper){time, schedule->order++, slot});
    return true;
}

/* After a load whose answer the code does not need at once, the warp goes on. */
static void let_run_on(struct schedule *schedule, struct warp *warp,
                       struct pb_access_outcome *outcome)
{
    const struct pb_instruction *instruction = instruction_of(schedule, warp);

    warp->counter = instruction->program_counter;
    if (instruction->wait_counter == 0 || schedule->options->no_divergence ||
        schedule->options->no_hierarchy)
        return;
    if (instruction->wait_counter != UINT64_MAX)
        add_pending(warp, instruction->wait_counter, outcome->ready_time);
    outcome->ready_time = outcome->issue_time;
}

/* Does a warp that goes from one program counter to another pass one that empties L1? */
static bool passes_fence(const struct schedule *schedule, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < schedule->fence_count; i++)
        if (schedule->fences[i] > from && schedule->fences[i] < to)
            return true;
    return false;
}

static void pass_fences(struct schedule *schedule, uint32_t number, struct warp *warp, uint64_t to)
{
    if (schedule->fence_count > 0 && !warp->has_passed && passes_fence(schedule, warp->counter, to))
        schedule->sink->empty_l1(schedule->sink->context, number);
    warp->has_passed = true;
}

/* One access of the warp whose turn it is on an SM; or its end. */
static enum pb_status take_turn(struct schedule *schedule, uint32_t number, struct pb_error *err)
{
    struct sm *sm = &schedule->sms[number];
    struct pb_access_outcome outcome = {.is_refused = false};
    struct warp *warp;
    uint32_t slot;
    bool found = true;
    enum pb_status status = PB_OK;

    sm->now = next_time(sm);
    while (sm->sleeper_count > 0 && sm->sleepers[0].time <= sm->now)
        push_ready(sm, pop_sleeper(sm));
    slot = pop_ready(sm);
    warp = &sm->warps[slot];
    if (!warp->has_access)
        status = pb_feed_access(schedule->feed, schedule->kernel->has_schedule ? number : 0,
                                warp->block, warp->number, &warp->access, &found, err);
    if (status != PB_OK)
        return status;
    if (!found) {
        pass_fences(schedule, number, warp, UINT64_MAX);
        return end_warp(schedule, number, slot, err);
    }
    if (waits_first(schedule, sm, slot))
        return PB_OK;
    pass_fences(schedule, number, warp, instruction_of(schedule, warp)->program_counter);
    status = schedule->sink->access(schedule->sink->context, number, slot, &warp->access, sm->now,
                                    &outcome, err);
    if (status != PB_OK)
        return status;
    warp->has_access = warp->has_waited = warp->has_passed = outcome.is_refused;
    if (!outcome.is_refused)
        let_run_on(schedule, warp, &outcome);
    sm->now = outcome.issue_time;
    if (schedule->options->no_hierarchy && outcome.ready_time > sm->now)
        sm->now = outcome.ready_time; /* each access is complete before the next */
    put_back(schedule, sm, slot, &outcome);
    schedule->result.refused_count += outcome.is_refused;
    schedule->result.access_count += !outcome.is_refused;
    return PB_OK;
}

static enum pb_status run_turns(struct schedule *schedule, struct pb_error *err)
{
    const struct pb_access_sink *sink = schedule->sink;
    enum pb_status status = PB_OK;

    for (uint64_t turn = 1; schedule->heap_count > 0 && status == PB_OK; turn++) {
        uint32_t number = schedule->heap[0];
        const struct sm *sm = &schedule->sms[number];

        status = take_turn(schedule, number, err);
        if (sm->now > schedule->result.cycles)
            schedule->result.cycles = sm->now;
        if (sm->first_ready == NONE && sm->sleeper_count == 0)
            schedule->heap[0] = schedule->heap[--schedule->heap_count];
        if (schedule->heap_count > 0)
            sift_down(schedule, 0);
        if (turn % PROGRESS_STEP == 0 && sink->progress != NULL)
            sink->progress(sink->context, schedule->result.access_count);
    }
    return status;
}

/* ---- beginning and end ---- */

static enum pb_status make_sms(struct schedule *schedule, struct pb_error *err)
{
    uint32_t count = schedule->sm_count;

    schedule->sms = calloc(count, sizeof(*schedule->sms));
    schedule->heap = calloc(count, sizeof(*schedule->heap));
    if (schedule->sms == NULL || schedule->heap == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %u SMs", count);
    for (uint32_t i = 0; i < count; i++) {
        struct sm *sm = &schedule->sms[i];

        sm->warps = calloc(schedule->slot_count, sizeof(*sm->warps));
        sm->sleepers = calloc(schedule->slot_count, sizeof(*sm->sleepers));
        sm->warps_left = calloc(schedule->options->block_limit, sizeof(*sm->warps_left));
        sm->first_ready = sm->last_ready = NONE;
        if (schedule->kernel->starts_ns != NULL)
            sm->now = schedule->kernel->starts_ns[i] * schedule->options->cycles_per_ns;
        if (sm->warps == NULL || sm->sleepers == NULL || sm->warps_left == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory for the warps of %u SMs", count);
    }
    return PB_OK;
}

/* Formats that have fences know them before the first access. */
static enum pb_status list_fences(struct schedule *schedule, struct pb_error *err)
{
    const struct pb_instruction *instructions = *schedule->kernel->instructions;
    size_t count = *schedule->kernel->instruction_count;

    schedule->fences = calloc(count + 1, sizeof(*schedule->fences));
    if (schedule->fences == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for %zu instructions", count);
    for (size_t i = 0; schedule->sink->empty_l1 != NULL && i < count; i++)
        if (instructions[i].kind == PB_KIND_EMPTY_L1)
            schedule->fences[schedule->fence_count++] = instructions[i].program_counter;
    return PB_OK;
}

static void free_sms(struct schedule *schedule)
{
    for (uint32_t i = 0; schedule->sms != NULL && i < schedule->sm_count; i++) {
        free(schedule->sms[i].warps);
        free(schedule->sms[i].sleepers);
        free(schedule->sms[i].warps_left);
    }
    free(schedule->sms);
    free(schedule->heap);
}

enum pb_status pb_schedule_run(const struct pb_trace *trace,
                               const struct pb_schedule_options *options,
                               const struct pb_access_sink *sink,
                               struct pb_schedule_result *result_out, struct pb_error *err)
{
    struct pb_schedule_options used = *options;
    struct schedule schedule = {
        .options = &used,
        .sink = sink,
        .kernel = trace->ops->kernel(trace->state),
    };
    enum pb_status status;

    if (used.no_hierarchy)
        used.block_limit = 1;
    schedule.sm_count =
        schedule.kernel->has_schedule ? schedule.kernel->stream_count : used.sm_count;
    schedule.slot_count = used.block_limit * schedule.kernel->warp_count;
    status = make_sms(&schedule, err);
    if (status == PB_OK)
        status = list_fences(&schedule, err);
    if (status == PB_OK)
        status = pb_feed_create(trace, &schedule.feed, err);
    if (status == PB_OK)
        status = start_first_blocks(&schedule, err);
    if (status == PB_OK)
        status = run_turns(&schedule, err);
    if (schedule.feed != NULL)
        schedule.result.queue_bytes_max = pb_feed_bytes_max(schedule.feed);
    pb_feed_destroy(schedule.feed);
    free(schedule.fences);
    free_sms(&schedule);
    if (status == PB_OK)
        *result_out = schedule.result;
    return status;
}
