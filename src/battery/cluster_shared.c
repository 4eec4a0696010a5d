/*
 * Family parallel: the shared memory of other SMs, through clusters.
 *
 *   cluster_shared        axes sm, other: cycles of one dependent load from an SM to the shared
 *                         memory of another one, on the diagonal its own; NaN where no cluster had
 *                         both
 *   cluster_shared_rate   axis size: byte per cycle of an SM while every one of a cluster reads
 *                         from the next one
 */
#include <stdlib.h>

#include "battery/grid.h"
#include "battery/tests.h"
#include "core/compare.h"

enum { SIZES = 5, LAUNCHES = 2 };

static const double sizes[SIZES] = {1, 2, 4, 8, 16};

/* What one launch fills. */
struct scratch {
    uint32_t *sms;
    double *cycles, *rates;
};

static void close_scratch(struct scratch *scratch)
{
    free(scratch->rates);
    free(scratch->cycles);
    free(scratch->sms);
}

static enum pb_status open_scratch(const struct pb_session *session, struct scratch *scratch_out,
                                   struct pb_error *err)
{
    size_t count = session->info.sm_count;

    scratch_out->sms = calloc(count, sizeof(*scratch_out->sms));
    scratch_out->cycles = calloc(count * (size_t)sizes[SIZES - 1], sizeof(*scratch_out->cycles));
    scratch_out->rates = calloc(count, sizeof(*scratch_out->rates));
    if (scratch_out->sms == NULL || scratch_out->cycles == NULL || scratch_out->rates == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu SMs", count);
    return PB_OK;
}

/* PB_UNSUPPORTED: no clusters of this size, or fewer SMs. */
static enum pb_status launch(struct pb_session *session, uint32_t size,
                             const struct scratch *scratch, struct pb_cluster_shared *cluster_out,
                             struct pb_error *err)
{
    *cluster_out = (struct pb_cluster_shared){size, session->info.sm_count / size};
    if (cluster_out->count == 0)
        return pb_fail(err, PB_UNSUPPORTED, "fewer SMs than %u", size);
    return session->device->ops->cluster_shared(session->device, cluster_out, scratch->sms,
                                                scratch->cycles, scratch->rates, err);
}

/* Every pair of the launch; where a pair was met before, the lesser of the two. */
static void file_pairs(const struct pb_cluster_shared *cluster, const struct scratch *scratch,
                       size_t sm_count, double *values)
{
    for (size_t i = 0; i < cluster->count * cluster->size * cluster->size; i++) {
        size_t from = i / cluster->size, first = from / cluster->size * cluster->size;
        size_t sm = scratch->sms[from], other = scratch->sms[first + i % cluster->size];

        if (sm < sm_count && other < sm_count &&
            !(values[sm * sm_count + other] <= scratch->cycles[i]))
            values[sm * sm_count + other] = scratch->cycles[i];
    }
}

enum pb_status pb_test_cluster_shared(struct pb_session *session, struct pb_recording *recording,
                                      struct pb_error *err)
{
    size_t sm_count = session->info.sm_count, taken = 0;
    struct scratch scratch = {NULL, NULL, NULL};
    const struct pb_grid_axis axes[] = {
        PB_GRID_COUNTED("sm", "streaming multiprocessor that loads", sm_count),
        PB_GRID_COUNTED("other", "the one whose shared memory it is", sm_count),
    };
    enum pb_status status = open_scratch(session, &scratch, err);

    if (status == PB_OK)
        status = pb_grid_open(&recording->matrix, axes, 2, "cycle", "of one dependent load", err);
    /* from the largest clusters on: smaller ones reach the SMs that those leave over */
    for (size_t i = SIZES * LAUNCHES; i-- > LAUNCHES && status == PB_OK;) {
        struct pb_cluster_shared cluster;

        status = launch(session, (uint32_t)sizes[i / LAUNCHES], &scratch, &cluster, err);
        if (status == PB_OK)
            file_pairs(&cluster, &scratch, sm_count, recording->matrix.values);
        taken += status == PB_OK;
        status = pb_grid_forgive(status);
    }
    close_scratch(&scratch);
    return status == PB_OK && taken == 0 ? PB_UNSUPPORTED : status;
}

enum pb_status pb_test_cluster_shared_rate(struct pb_session *session,
                                           struct pb_recording *recording, struct pb_error *err)
{
    static const struct pb_grid_axis axis = PB_GRID_VALUES("size", "", "CTAs of a cluster", sizes);
    struct scratch scratch = {NULL, NULL, NULL};
    enum pb_status status = open_scratch(session, &scratch, err);
    size_t taken = 0;

    if (status == PB_OK)
        status = pb_grid_open(&recording->matrix, &axis, 1, "byte/cycle",
                              "read by one SM from the next one's shared memory, the median", err);
    for (size_t i = 0; i < SIZES && status == PB_OK; i++) {
        struct pb_cluster_shared cluster;

        status = launch(session, (uint32_t)sizes[i], &scratch, &cluster, err);
        if (status == PB_OK) {
            size_t count = cluster.count * cluster.size;

            qsort(scratch.rates, count, sizeof(*scratch.rates), pb_compare_double);
            recording->matrix.values[i] = scratch.rates[count / 2];
            taken++;
        }
        status = pb_grid_forgive(status);
    }
    close_scratch(&scratch);
    return status == PB_OK && taken == 0 ? PB_UNSUPPORTED : status;
}
