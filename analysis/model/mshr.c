/* Outstanding misses as a heap by the time of their arrival. See mshr.h. */
#include "analysis/model/mshr.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/reserve.h"

struct miss {
    double ready_time;
    size_t warp;
};

struct pb_model_mshr {
    size_t per_sm, per_warp, warp_count;
    size_t *of_warp;   /* [warp_count] outstanding */
    struct miss *heap; /* [count] the first to arrive in front */
    size_t count, capacity;
};

enum pb_status pb_model_mshr_create(size_t per_sm, size_t per_warp, size_t warp_count,
                                    struct pb_model_mshr **mshr_out, struct pb_error *err)
{
    struct pb_model_mshr *mshr = calloc(1, sizeof(*mshr));
    size_t *of_warp = calloc(warp_count, sizeof(*of_warp));

    if (mshr == NULL || of_warp == NULL || warp_count == 0) {
        free(of_warp);
        free(mshr);
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating MSHRs of %zu warps",
                       warp_count);
    }
    mshr->per_sm = per_sm;
    mshr->per_warp = per_warp;
    mshr->warp_count = warp_count;
    mshr->of_warp = of_warp;
    *mshr_out = mshr;
    return PB_OK;
}

void pb_model_mshr_destroy(struct pb_model_mshr *mshr)
{
    if (mshr == NULL)
        return;
    free(mshr->of_warp);
    free(mshr->heap);
    free(mshr);
}

void pb_model_mshr_clear(struct pb_model_mshr *mshr)
{
    mshr->count = 0;
    memset(mshr->of_warp, 0, mshr->warp_count * sizeof(*mshr->of_warp));
}

/* Takes the first to arrive away; returns when it does. */
static double retire(struct pb_model_mshr *mshr)
{
    struct miss *heap = mshr->heap, first = heap[0], moved = heap[--mshr->count];
    size_t at = 0;

    for (size_t child = 1; child < mshr->count; child = 2 * at + 1) {
        child += child + 1 < mshr->count && heap[child + 1].ready_time < heap[child].ready_time;
        if (heap[child].ready_time >= moved.ready_time)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    mshr->of_warp[first.warp]--;
    return first.ready_time;
}

double pb_model_mshr_wait(struct pb_model_mshr *mshr, size_t warp, double time)
{
    while (mshr->count > 0 && mshr->heap[0].ready_time <= time)
        retire(mshr);
    while ((mshr->per_sm > 0 && mshr->count >= mshr->per_sm) ||
           (mshr->per_warp > 0 && mshr->of_warp[warp] >= mshr->per_warp))
        time = retire(mshr);
    return time;
}

double pb_model_mshr_next(struct pb_model_mshr *mshr, size_t warp, double time)
{
    while (mshr->count > 0 && mshr->heap[0].ready_time <= time)
        retire(mshr);
    if (mshr->per_sm > 0 && mshr->count >= mshr->per_sm)
        time = mshr->heap[0].ready_time;
    if (mshr->per_warp > 0 && mshr->of_warp[warp] >= mshr->per_warp) {
        double first = INFINITY;

        for (size_t i = 0; i < mshr->count; i++)
            if (mshr->heap[i].warp == warp)
                first = fmin(first, mshr->heap[i].ready_time);
        time = fmax(time, first);
    }
    return time;
}

enum pb_status pb_model_mshr_add(struct pb_model_mshr *mshr, size_t warp, double ready_time,
                                 struct pb_error *err)
{
    size_t at = mshr->count;
    enum pb_status status = PB_RESERVE(mshr->heap, mshr->count, mshr->capacity, "misses", err);

    if (status != PB_OK)
        return status;
    for (; at > 0 && mshr->heap[(at - 1) / 2].ready_time > ready_time; at = (at - 1) / 2)
        mshr->heap[at] = mshr->heap[(at - 1) / 2];
    mshr->heap[at] = (struct miss){ready_time, warp};
    mshr->count++;
    mshr->of_warp[warp]++;
    return PB_OK;
}

size_t pb_model_mshr_count(const struct pb_model_mshr *mshr)
{
    return mshr->count;
}

size_t pb_model_mshr_count_of(const struct pb_model_mshr *mshr, size_t warp)
{
    return mshr->of_warp[warp];
}
