/* Loads in flight, one by one; see mshr.h. */
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
    double ready; /* its next flight may leave then, as far as it is up to the warp */
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

/* The warp that is ready first and still has something to send; of several the one behind. */
static struct warp *pick(struct warp *warps, uint32_t warp_count, size_t count)
{
    struct warp *first = NULL;

    for (struct warp *warp = warps; warp < warps + warp_count; warp++) {
        if (warp->sent == count)
            continue;
        if (first == NULL || warp->ready < first->ready ||
            (warp->ready == first->ready && warp->sent < first->sent))
            first = warp;
    }
    return first;
}

/* Sends a flight no earlier than `at`; returns when it left. */
static double send(struct warp *warp, const struct pb_sim_flight *flight, struct ring *of_sm,
                   double at, double *finish)
{
    at = fmax(at, warp->ready);
    if (flight->is_miss) {
        at = fmax(at, free_at(of_sm));
        take(of_sm, at + flight->latency_cycles);
        take(&warp->ring, at + flight->latency_cycles);
    }
    *finish = fmax(*finish, at + flight->latency_cycles);
    warp->sent++;
    return at;
}

static void fly(struct warp *warps, uint32_t warp_count, size_t count, struct ring *of_sm,
                const struct pb_sim_flight *flights, double issue_cycles, double *finish)
{
    struct warp *warp;
    double at = 0.0;

    for (uint32_t i = 0; i < warp_count; i++)
        finish[i] = 0.0;
    while ((warp = pick(warps, warp_count, count)) != NULL) {
        size_t number = (size_t)(warp - warps);

        at = send(warp, &flights[number * count + warp->sent], of_sm, at, &finish[number]);
        at += issue_cycles;
        warp->ready = at;
        if (warp->sent < count && flights[number * count + warp->sent].is_miss)
            warp->ready = fmax(at, free_at(&warp->ring));
    }
}

enum pb_status pb_sim_mshr_fly(const struct pb_sim_mshr_spec *mshr, uint32_t warps, size_t count,
                               const struct pb_sim_flight *flights, double issue_cycles,
                               double *finish_cycles_out, struct pb_error *err)
{
    /* more registers than flights are never all taken */
    uint32_t per_warp = (uint32_t)fmin(mshr->per_warp, (double)count);
    uint32_t per_sm = (uint32_t)fmin(mshr->per_sm, (double)count * warps);
    size_t registers = (size_t)per_warp * warps + per_sm;
    struct warp *list = calloc(warps, sizeof(*list));
    double *registers_free_at = calloc(registers, sizeof(*registers_free_at));
    struct ring of_sm = {registers_free_at, per_sm, 0};
    enum pb_status status = PB_OK;

    if (list == NULL || registers_free_at == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "no memory for %zu loads in flight", registers);
        goto out;
    }
    for (uint32_t i = 0; i < warps; i++)
        list[i].ring =
            (struct ring){registers_free_at + per_sm + (size_t)i * per_warp, per_warp, 0};
    fly(list, warps, count, &of_sm, flights, issue_cycles, finish_cycles_out);
out:
    free(registers_free_at);
    free(list);
    return status;
}
