/*
 * Family map: which SMs belong together.
 *
 *   sm_clusters   axes size, launch, cluster, rank: the SM that the CTA of this rank of a cluster
 *                 ran on. A cluster runs on one GPC, so SMs that ever met in one share it.
 *   sm_pairs      axes kind, sm, other: cycles of an SM while the other one does the same; on the
 *                 diagonal alone. read, write: 256 KiB of L2 each; atomic: an addition to every
 *                 sector of them; constant: both all of constant memory; translate: 12 lines of L2
 *                 each, 32 MiB apart. What is slower together shares its way, its TLB or a cache;
 *                 what is faster together shares a cache that each fills for the other.
 *
 * Nothing here is read from a data feature table.
 */
#include <stdlib.h>

#include "battery/grid.h"
#include "battery/tests.h"

enum { SIZES = 9, SIZE_MAX_CTAS = 16, LAUNCHES = 8 };

/*
 * Powers of two alone would leave over what a GPC of 18 SMs has beyond 16; of these, some fill
 * every GPC of an even number of SMs up to 18.
 */
static const double sizes[SIZES] = {2, 3, 4, 6, 8, 10, 12, 14, 16};

static enum pb_status open_clusters(const struct pb_session *session, struct pb_matrix *matrix,
                                    struct pb_error *err)
{
    size_t most = session->info.sm_count / (size_t)sizes[0];
    const struct pb_grid_axis axes[] = {
        PB_GRID_VALUES("size", "", "CTAs of a cluster", sizes),
        PB_GRID_COUNTED("launch", "launches, one after the other", LAUNCHES),
        PB_GRID_COUNTED("cluster", "clusters of a launch", most > 0 ? most : 1),
        PB_GRID_COUNTED("rank", "CTA of the cluster", SIZE_MAX_CTAS),
    };

    return pb_grid_open(matrix, axes, 4, "", "the SM that the CTA ran on", err);
}

/* One launch of as many clusters as there are SMs for; what there are none of stays NaN. */
static enum pb_status take_clusters(struct pb_session *session, uint32_t size, uint32_t *sms,
                                    size_t cluster_axis, double *values_out, struct pb_error *err)
{
    struct pb_cluster cluster = {.size = size, .count = session->info.sm_count / size};
    enum pb_status status = PB_OK;

    if (cluster.count == 0 || cluster.count > cluster_axis)
        return PB_OK;
    status = session->device->ops->cluster(session->device, &cluster, sms, err);
    for (size_t i = 0; status == PB_OK && i < cluster.count * size; i++)
        values_out[i / size * SIZE_MAX_CTAS + i % size] = sms[i];
    return status;
}

enum pb_status pb_test_sm_clusters(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    struct pb_matrix *matrix = &recording->matrix;
    uint32_t *sms = calloc(session->info.sm_count + 1, sizeof(*sms));
    enum pb_status status;
    size_t taken = 0;

    if (sms == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %u SMs",
                       session->info.sm_count);
    status = open_clusters(session, matrix, err);
    for (size_t i = 0; i < SIZES * LAUNCHES && status == PB_OK; i++) {
        size_t most = matrix->axes[2].length;

        status = take_clusters(session, (uint32_t)sizes[i / LAUNCHES], sms, most,
                               matrix->values + i * most * SIZE_MAX_CTAS, err);
        taken += status == PB_OK;
        status = pb_grid_forgive(status);
    }
    free(sms);
    if (status == PB_OK && taken == 0)
        return PB_UNSUPPORTED; /* err says why, of the largest size */
    return status;
}

/* All pairs, each SM with itself first. Row by row they fill the upper half of the matrix. */
static void list_pairs(uint32_t sm_count, uint32_t (*sms_out)[2])
{
    size_t at = 0;

    for (uint32_t sm = 0; sm < sm_count; sm++)
        for (uint32_t other = sm; other < sm_count; other++, at++) {
            sms_out[at][0] = sm;
            sms_out[at][1] = other;
        }
}

static enum pb_status open_pairs(const struct pb_session *session, struct pb_matrix *matrix,
                                 struct pb_error *err)
{
    static const char *const kinds[] = {"read", "write", "atomic", "constant", "translate"};
    const struct pb_grid_axis axes[] = {
        PB_GRID_LABELS("kind", "what both SMs do", kinds),
        PB_GRID_SMS(session),
        PB_GRID_COUNTED("other", "the SM that works at the same time", session->info.sm_count),
    };

    return pb_grid_open(matrix, axes, 3, "cycle", "until the SM has moved its data", err);
}

static enum pb_status take_pairs(struct pb_session *session, struct pb_pair *pair, uint32_t *cycles,
                                 struct pb_matrix *matrix, struct pb_error *err)
{
    static const enum pb_pair_kind kinds[] = {PB_PAIR_READ, PB_PAIR_WRITE, PB_PAIR_ATOMIC,
                                              PB_PAIR_CONSTANT, PB_PAIR_TRANSLATE};
    size_t sm_count = session->info.sm_count;
    enum pb_status status = PB_OK;

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]) && status == PB_OK; k++) {
        double *values = matrix->values + k * sm_count * sm_count;

        pair->kind = kinds[k];
        status = session->device->ops->pair(session->device, pair, cycles, err);
        for (size_t i = 0; i < pair->count && status == PB_OK; i++) {
            const uint32_t *sms = pair->sms[i];

            values[sms[1] * sm_count + sms[0]] = cycles[2 * i + 1];
            values[sms[0] * sm_count + sms[1]] = cycles[2 * i];
        }
    }
    return status;
}

enum pb_status pb_test_sm_pairs(struct pb_session *session, struct pb_recording *recording,
                                struct pb_error *err)
{
    size_t sm_count = session->info.sm_count, count = sm_count * (sm_count + 1) / 2;
    uint32_t(*sms)[2] = malloc(count * sizeof(*sms));
    uint32_t *cycles = malloc(2 * count * sizeof(*cycles));
    struct pb_pair pair = {.sms = (const uint32_t(*)[2])sms, .count = count};
    enum pb_status status = open_pairs(session, &recording->matrix, err);

    if (status == PB_OK && (sms == NULL || cycles == NULL))
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu pairs of SMs", count);
    if (status == PB_OK) {
        list_pairs((uint32_t)sm_count, sms);
        status = take_pairs(session, &pair, cycles, &recording->matrix, err);
    }
    free(cycles);
    free(sms);
    return status;
}
