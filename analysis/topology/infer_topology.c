/*
 * sm.gpc_count and sm.gpc_sm_counts: which SMs are of one GPC.
 *
 * All CTAs of a cluster run on one GPC, so SMs that met in a cluster, in whatever launch and of
 * whatever size, are joined. Some TPCs run no cluster but their own, though (four or five of an
 * H200): SMs that only ever met in the smallest clusters join the GPC whose SMs they resemble
 * (unpaired.h). If nothing shows which TPCs they resemble, GPCs stay undetermined.
 *
 * gpc_sm_counts is one number where all are alike, else a list, that of the SM with the least
 * number first.
 *
 * Limit: SMs of one GPC that neither met nor resemble each other would count as two.
 *
 * Source: CUDA C programming guide on thread block clusters; facts 2.10.
 */
#include "analysis/infer.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/statistics/union_find.h"
#include "analysis/topology/unpaired.h"

enum { SIZE, LAUNCH, CLUSTER, RANK };
enum { SMS_MAX = PB_UNPAIRED_SMS_MAX };

/* ---- clusters ---- */

static enum pb_status check_clusters(const struct pb_case *at, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"size", false}, {"launch", false}, {"cluster", false}, {"rank", false}};
    enum pb_status status = pb_axes_check(&at->recordings[0].matrix, requirements, 4, err);

    if (status == PB_OK && (at->info->sm_count == 0 || at->info->sm_count > SMS_MAX))
        status = pb_fail(err, PB_NOT_FOUND, "a device of %u SMs", at->info->sm_count);
    return status;
}

/* The SM of a cell; sm_count when there was none. */
static size_t sm_of(double value, size_t sm_count)
{
    return value >= 0.0 && value < (double)sm_count ? (size_t)value : sm_count;
}

/* Joins what met in a cluster of any launch but one (launches: of all). seen[sm_count]. */
static void join_clusters(const struct pb_matrix *matrix, size_t but, size_t sm_count,
                          struct pb_union_find *components, bool *seen)
{
    size_t ranks = matrix->axes[RANK].length, per_launch = matrix->axes[CLUSTER].length;

    for (size_t i = 0; i < pb_matrix_size(matrix) / ranks; i++) {
        const double *cluster = matrix->values + i * ranks;
        size_t first = sm_of(cluster[0], sm_count);

        if (i / per_launch % matrix->axes[LAUNCH].length == but || first == sm_count)
            continue;
        seen[first] = true;
        for (size_t rank = 1; rank < ranks; rank++) {
            size_t sm = sm_of(cluster[rank], sm_count);

            if (sm == sm_count)
                continue;
            seen[sm] = true;
            pb_union_find_join(components, first, sm);
        }
    }
}

/* Components without one launch, counted. PB_NOT_FOUND: some SM ran in no cluster. */
static enum pb_status find_gpcs(const struct pb_case *at, size_t but, bool *seen,
                                struct pb_union_find *components, struct pb_error *err)
{
    size_t sm_count = at->info->sm_count, ran = 0;

    memset(seen, 0, sm_count * sizeof(*seen));
    pb_union_find_reset(components);
    join_clusters(&at->recordings[0].matrix, but, sm_count, components, seen);
    pb_union_find_count(components);
    for (size_t i = 0; i < sm_count; i++)
        ran += seen[i];
    if (ran < sm_count)
        return pb_fail(err, PB_NOT_FOUND,
                       "too few observations: only %zu of %zu SMs ran in clusters", ran, sm_count);
    return PB_OK;
}

/* Every launch left out in turn: do the others say the same? */
static struct pb_votes vote_gpcs(const struct pb_case *at, size_t count, bool *seen,
                                 struct pb_union_find *components)
{
    size_t launches = at->recordings[0].matrix.axes[LAUNCH].length;
    struct pb_error ignored = PB_ERROR_INIT;
    struct pb_votes votes = {0, 0};

    for (size_t but = 0; but < launches; but++) {
        bool same =
            find_gpcs(at, but, seen, components, &ignored) == PB_OK && components->count == count;

        pb_votes_add(&votes, launches > 1 && same);
    }
    return votes;
}

/* ---- SMs that ran in no cluster but the smallest ---- */

/* The smallest size that ran; infinite when none did. */
static double smallest_size(const struct pb_matrix *matrix)
{
    size_t of_size = pb_matrix_size(matrix) / matrix->axes[SIZE].length;
    double smallest = INFINITY;

    for (size_t i = 0; i < pb_matrix_size(matrix); i++)
        if (!isnan(matrix->values[i]))
            smallest = fmin(smallest, matrix->axes[SIZE].values[i / of_size]);
    return smallest;
}

/* A component no larger than the smallest cluster: its SMs never met others. */
static bool is_unpaired(const struct pb_union_find *components, size_t sm, double smallest)
{
    size_t first = pb_union_find_first(components, sm), members = 0;

    for (size_t i = 0; i < components->members; i++)
        members += pb_union_find_first(components, i) == first;
    return (double)members <= smallest;
}

/* ---- GPCs that seem to be several ---- */

/* CTAs of the clusters of one size, as they ran; 0: none did. */
static size_t cluster_size(const struct pb_matrix *matrix, size_t size)
{
    size_t ranks = matrix->axes[RANK].length, most = 0;
    size_t rows = pb_matrix_size(matrix) / matrix->axes[SIZE].length / ranks;

    for (size_t row = 0; row < rows; row++) {
        const double *cluster = matrix->values + (size * rows + row) * ranks;
        size_t ctas = 0;

        for (size_t rank = 0; rank < ranks; rank++)
            ctas += !isnan(cluster[rank]);
        most = ctas > most ? ctas : most;
    }
    return most;
}

/* The least SM of a cluster's; sm_count: it did not run. */
static size_t least_sm(const double *cluster, size_t ranks, size_t sm_count)
{
    size_t least = sm_count;

    for (size_t rank = 0; rank < ranks; rank++) {
        size_t sm = sm_of(cluster[rank], sm_count);

        least = sm < least ? sm : least;
    }
    return least;
}

/* Does each launch place clusters of one size elsewhere? Then one would cross what is no boundary.
 */
static bool do_launches_differ(const struct pb_matrix *matrix, size_t sm_count)
{
    size_t ranks = matrix->axes[RANK].length, clusters = matrix->axes[CLUSTER].length;
    size_t launches = matrix->axes[LAUNCH].length;

    for (size_t size = 0; size < matrix->axes[SIZE].length; size++) {
        size_t first[SMS_MAX];

        memset(first, 0xff, sizeof(first));
        for (size_t row = 0; row < launches * clusters; row++) {
            const double *cluster = matrix->values + (size * launches * clusters + row) * ranks;
            size_t least = least_sm(cluster, ranks, sm_count);

            for (size_t rank = 0; rank < ranks; rank++) {
                size_t sm = sm_of(cluster[rank], sm_count);

                if (sm == sm_count)
                    continue;
                if (first[sm] != SIZE_MAX && first[sm] != least)
                    return true;
                first[sm] = least;
            }
        }
    }
    return false;
}

/* A size of cluster of which both together would hold more than each for itself. */
static bool are_apart(const struct pb_matrix *matrix, size_t a, size_t b)
{
    for (size_t i = 0; i < matrix->axes[SIZE].length; i++) {
        size_t size = cluster_size(matrix, i);

        if (size > 0 && (a + b) / size > a / size + b / size)
            return true;
    }
    return false;
}

/*
 * Clusters that never left a group of SMs prove a boundary only where they would have crossed it:
 * not where every launch places them alike, and those of all sizes fill each group without a rest.
 */
static enum pb_status check_apart(const struct pb_matrix *matrix,
                                  const struct pb_union_find *components, double smallest,
                                  struct pb_error *err)
{
    if (do_launches_differ(matrix, components->members))
        return PB_OK;
    for (size_t a = 0; a < components->count; a++)
        for (size_t b = a + 1; b < components->count; b++)
            if ((double)components->sizes[a] > smallest &&
                (double)components->sizes[b] > smallest &&
                !are_apart(matrix, components->sizes[a], components->sizes[b]))
                return pb_fail(
                    err, PB_NOT_FOUND,
                    "ambiguous: groups of %zu and %zu SMs may be of one GPC: no clusters that ran "
                    "could have crossed their boundary",
                    components->sizes[a], components->sizes[b]);
    return PB_OK;
}

/* ---- all together ---- */

/* Keeps which GPC each SM is of, in the order of their first SMs. */
static enum pb_status keep_gpcs(const struct pb_case *at, const struct pb_union_find *components,
                                struct pb_error *err)
{
    struct pb_topology *topology = &at->parameters->topology;
    uint16_t *gpcs = malloc(components->members * sizeof(*gpcs)), count = 0;

    if (gpcs == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the GPCs of %zu SMs",
                       components->members);
    for (size_t sm = 0; sm < components->members; sm++) {
        size_t first = pb_union_find_first(components, sm);

        gpcs[sm] = first == sm ? count++ : gpcs[first];
    }
    free(topology->gpcs);
    topology->gpcs = gpcs;
    topology->sm_count = components->members;
    return PB_OK;
}

static enum pb_status complete(const struct pb_case *at, bool *unpaired,
                               struct pb_union_find *components, struct pb_votes *votes,
                               struct pb_error *err)
{
    double smallest = smallest_size(&at->recordings[0].matrix);
    size_t count = 0, paired;
    const char *basis = "";
    char method[PB_MESSAGE_LENGTH];
    enum pb_status status = PB_OK;

    for (size_t sm = 0; sm < components->members; sm++) {
        unpaired[sm] = is_unpaired(components, sm, smallest);
        count += unpaired[sm];
    }
    paired = components->members - count;
    if (paired == 0)
        return pb_fail(err, PB_NOT_FOUND,
                       "too few observations: clusters of %g alone put SMs together", smallest);
    if (count > paired) /* those that others could be like are too few to be all groups */
        return pb_fail(err, PB_NOT_FOUND,
                       "too few observations: %zu SMs shared clusters of CTAs with others, %zu did "
                       "not and may form GPCs of their own",
                       paired, count);
    status = check_apart(&at->recordings[0].matrix, components, smallest, err);
    if (status != PB_OK)
        return status;
    if (count > 0)
        status = pb_unpaired_join(&at->recordings[2].matrix, &at->recordings[1].matrix, unpaired,
                                  components, votes, &basis, err);
    if (status != PB_OK)
        return status;
    pb_union_find_count(components);
    if (count > 0)
        snprintf(method, sizeof(method),
                 "%zu SMs shared clusters of CTAs with others, which run on one GPC; %zu that did "
                 "not were assigned by similarity of %s",
                 paired, count, basis);
    else
        snprintf(method, sizeof(method),
                 "all of %zu SMs shared clusters of CTAs with others, which run on one GPC",
                 paired);
    pb_union_find_state(components, pb_votes_confidence(votes), pb_case_answer(at, "gpc_count"),
                        pb_case_answer(at, "gpc_sm_counts"), method);
    return keep_gpcs(at, components, err);
}

enum pb_status pb_infer_gpcs(const struct pb_case *at, struct pb_error *err)
{
    struct pb_union_find components = {0};
    bool *seen = NULL;
    enum pb_status status = check_clusters(at, err);

    if (status == PB_OK)
        status = pb_union_find_open(at->info->sm_count, &components, err);
    if (status == PB_OK && (seen = calloc(components.members, sizeof(*seen))) == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu SMs", components.members);
    if (status == PB_OK)
        status = find_gpcs(at, SIZE_MAX, seen, &components, err);
    if (status == PB_OK) {
        struct pb_votes votes = vote_gpcs(at, components.count, seen, &components);

        status = find_gpcs(at, SIZE_MAX, seen, &components, err);
        if (status == PB_OK) /* seen has done its work */
            status = complete(at, seen, &components, &votes, err);
    }
    free(seen);
    pb_union_find_close(&components);
    return status;
}
