/* Loads outstanding, one by one; see mshr.h. */
#include "device/sim/mshr.h"

#include <math.h>
#include <stdlib.h>

/* When each register is free again, in the order in which they were taken. */
struct ring {
    double *free_at; /* [size] */
    uint32_t size, next;
};

struct warp {
    size_t sent;
    double ready; /* its next request may leave then, as far as it is up to the warp */
    struct ring ring;
};

static double free_at(const struct ring *ring)
{
    return ring->free_at[ring->next];
}

static void take(struct ring *ring, double until)
{
    ring->free_at[ring->next] = until;
    ring->next = ring->next + 1 < ring->size ? ring->next + 1 : 0;
}

static double later(double a, double b)
{
    return a > b ? a : b;
}

/* The warp that is ready first goes first; of several the one behind, then the first of them. */
static bool goes_before(const struct warp *a, const struct warp *b)
{
    if (a->ready != b->ready)
        return a->ready < b->ready;
    return a->sent != b->sent ? a->sent < b->sent : a < b;
}

/*
 * The queue is a heap: no warp goes before the one at half its place. Sinks the first, which is not
 * as early as it was, to where it belongs.
 */
static void sink(struct warp **queue, size_t count)
{
    struct warp *warp = queue[0];
    size_t place = 0, child;

    while ((child = 2 * place + 1) < count) {
        if (child + 1 < count && goes_before(queue[child + 1], queue[child]))
            child++;
        if (!goes_before(queue[child], warp))
            break;
        queue[place] = queue[child];
        place = child;
    }
    queue[place] = warp;
}

/* Sends a request no earlier than `at`; returns when it left. */
static double send(struct warp *warp, const struct pb_sim_request *request, struct ring *of_sm,
                   double at, double *finish)
{
    at = later(at, warp->ready);
    if (request->is_miss) {
        at = later(at, free_at(of_sm));
        take(of_sm, at + request->latency_cycles);
        take(&warp->ring, at + request->latency_cycles);
    }
    *finish = later(*finish, at + request->latency_cycles);
    warp->sent++;
    return at;
}

/* queue: [warp_count], all of them in their order, which is a heap as long as all are alike. */
static void fly(struct warp *warps, struct warp **queue, uint32_t warp_count, size_t count,
                struct ring *of_sm, const struct pb_sim_request *requests, double issue_cycles,
                double *finish)
{
    size_t waiting = count > 0 ? warp_count : 0;
    double at = 0.0;

    for (uint32_t i = 0; i < warp_count; i++)
        finish[i] = 0.0;
    while (waiting > 0) {
        struct warp *warp = queue[0];
        size_t number = (size_t)(warp - warps);
        const struct pb_sim_request *request = &requests[number * count + warp->sent];

        at = send(warp, request, of_sm, at, &finish[number]) + issue_cycles;
        warp->ready = at;
        if (warp->sent == count)
            queue[0] = queue[--waiting];
        else if (request[1].is_miss)
            warp->ready = later(at, free_at(&warp->ring));
        sink(queue, waiting);
    }
}

enum pb_status pb_sim_mshr_fly(const struct pb_sim_mshr_spec *mshr, uint32_t warps, size_t count,
                               const struct pb_sim_request *requests, double issue_cycles,
                               double *finish_cycles_out, struct pb_error *err)
{
    /* more registers than requests are never all taken */
    uint32_t per_warp = (uint32_t)fmin(mshr->per_warp, (double)count);
    uint32_t per_sm = (uint32_t)fmin(mshr->per_sm, (double)count * warps);
    size_t registers = (size_t)per_warp * warps + per_sm;
    struct warp *list = calloc(warps, sizeof(*list)),
                **queue = calloc(warps, sizeof(struct warp *));
    double *registers_free_at = calloc(registers, sizeof(*registers_free_at));
    struct ring of_sm = {registers_free_at, per_sm, 0};
    enum pb_status status = PB_OK;

    if (list == NULL || queue == NULL || registers_free_at == NULL) {
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu loads in flight", registers);
        goto out;
    }
    for (uint32_t i = 0; i < warps; i++) {
        queue[i] = &list[i];
        list[i].ring =
            (struct ring){registers_free_at + per_sm + (size_t)i * per_warp, per_warp, 0};
    }
    fly(list, queue, warps, count, &of_sm, requests, issue_cycles, finish_cycles_out);
out:
    free(registers_free_at);
    free(queue);
    free(list);
    return status;
}
