/*
 * sm.tpc_count and sm.tpc_sm_counts: which SMs share a TPC.
 *
 * Two kinds of evidence. Pairs (test sm_pairs): SMs of a TPC may share their way out, so that both
 * are slower when they move data at the same time; pairs.h says how they are told from those of a
 * GPC. Clusters (test sm_clusters): those of two CTAs run on one TPC each time; SMs that have
 * always one and the same partner there are taken for one, with modest confidence, as nothing but
 * habit says so. Clusters of two fit into a larger TPC as well, or across two. So partners count
 * only where there is no room for more: where most are neighbours by number, and the SMs before and
 * after them are of another GPC.
 *
 * Where both are conclusive they must agree: components of pairs that part partners, or ways out
 * that more than two partners share, leave TPCs open. What is no way out (constants, translations)
 * may be shared by more than a TPC; it can bear out partners, and proves none alone.
 *
 * tpc_sm_counts is one number where all are alike, else a list, the component of the SM with the
 * least number first.
 *
 * Source: facts 4 on maps of SMs; CUDA C programming guide on thread block clusters.
 */
#include "analysis/infer.h"
#include "analysis/topology/unpaired.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/statistics/union_find.h"
#include "analysis/topology/pairs.h"

enum { SIZE, LAUNCH, CLUSTER, RANK };
enum { PIECES_MAX = 30 };

static const double confidence_of_habit = 0.7;

/* ---- partners ---- */

/* Notes that two SMs ran in one cluster. False: one of them had another partner before. */
static bool note_partners(size_t *partner, size_t a, size_t b)
{
    if ((partner[a] != SIZE_MAX && partner[a] != b) || (partner[b] != SIZE_MAX && partner[b] != a))
        return false;
    partner[a] = b;
    partner[b] = a;
    return true;
}

/*
 * Joins the SMs of clusters of two. Returns how many clusters there were; 0: not every SM had a
 * partner in at least two launches' worth of clusters, or not always the same one.
 */
static size_t join_partners(const struct pb_matrix *matrix, size_t sms, size_t *partner,
                            struct pb_union_find *components)
{
    size_t two = pb_axis_number(&matrix->axes[SIZE], 2.0), ranks = matrix->axes[RANK].length;
    size_t of_size = matrix->axes[LAUNCH].length * matrix->axes[CLUSTER].length, clusters = 0;

    if (two == matrix->axes[SIZE].length || ranks < 2)
        return 0;
    for (size_t i = 0; i < of_size; i++) {
        const double *cluster = matrix->values + (two * of_size + i) * ranks;

        if (!(cluster[0] >= 0 && cluster[0] < (double)sms && cluster[1] >= 0 &&
              cluster[1] < (double)sms))
            continue;
        if (!note_partners(partner, (size_t)cluster[0], (size_t)cluster[1]))
            return 0;
        pb_union_find_join(components, (size_t)cluster[0], (size_t)cluster[1]);
        clusters++;
    }
    for (size_t sm = 0; sm < sms; sm++)
        if (partner[sm] == SIZE_MAX || partner[sm] == sm)
            return 0;
    return clusters >= sms ? clusters : 0; /* sms / 2 of them in each launch */
}

/* May both be of one GPC? */
static bool may_share_gpc(const struct pb_topology *topology, size_t sms, size_t a, size_t b)
{
    if (b >= sms) /* before the first SM, or after the last */
        return false;
    return topology->gpcs == NULL || topology->sm_count != sms ||
           topology->gpcs[a] == topology->gpcs[b];
}

/* Are most partners all that follows each other by number in a GPC? */
static bool are_whole_runs(const size_t *partner, const struct pb_topology *topology, size_t sms)
{
    size_t whole = 0;

    for (size_t sm = 0; sm + 1 < sms; sm++)
        whole += partner[sm] == sm + 1 && !may_share_gpc(topology, sms, sm, sm - 1) &&
                 !may_share_gpc(topology, sms, sm, sm + 2);
    return 4 * whole > sms; /* of half as many partners as SMs */
}

/* *clusters_out 0: no partners are known, or they may not be all of a TPC. */
static enum pb_status find_partners(const struct pb_matrix *matrix,
                                    const struct pb_topology *topology, size_t sms,
                                    struct pb_union_find *components, size_t *clusters_out,
                                    struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"size", false}, {"launch", false}, {"cluster", false}, {"rank", false}};
    struct pb_error ignored = PB_ERROR_INIT;
    size_t *partner;

    *clusters_out = 0;
    if (pb_axes_check(matrix, requirements, 4, &ignored) != PB_OK)
        return PB_OK;
    partner = malloc(sms * sizeof(*partner));
    if (partner == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating partners of %zu SMs", sms);
    memset(partner, 0xff, sms * sizeof(*partner)); /* SIZE_MAX: none */
    *clusters_out = join_partners(matrix, sms, partner, components);
    if (!are_whole_runs(partner, topology, sms))
        *clusters_out = 0;
    pb_union_find_count(components);
    free(partner);
    return PB_OK;
}

/* ---- both together ---- */

/* What the components of a kind of work are to partners. */
enum relation { SAME, WIDER, PARTING };

static enum relation relate(const struct pb_union_find *components,
                            const struct pb_union_find *partners)
{
    for (size_t sm = 0; sm < partners->members; sm++) {
        size_t first = pb_union_find_first(partners, sm);

        if (pb_union_find_first(components, sm) != pb_union_find_first(components, first))
            return PARTING;
    }
    return components->count == partners->count ? SAME : WIDER;
}

static bool is_way_out(const char *kind)
{
    return strcmp(kind, "read") == 0 || strcmp(kind, "write") == 0 || strcmp(kind, "atomic") == 0;
}

/* What is known so far. */
struct tpcs {
    const struct pb_matrix *pairs;
    struct pb_union_find partners, components, best; /* components: of the kind at hand */
    size_t clusters;                                 /* of two; 0: no partners are known */
    struct pb_pairs_gap gap;                         /* of the best kind */
    const char *kind;                                /* NULL: no kind shows it yet */
};

static void keep_best(struct tpcs *tpcs, const char *kind, struct pb_pairs_gap gap)
{
    struct pb_union_find before = tpcs->best;

    if (gap.share <= tpcs->gap.share)
        return;
    tpcs->best = tpcs->components;
    tpcs->components = before;
    tpcs->gap = gap;
    tpcs->kind = kind;
}

/* One kind of work. PB_INVALID: it contradicts the clusters. PB_NOT_FOUND: it shows nothing. */
static enum pb_status compare_kind(struct tpcs *tpcs, size_t kind, struct pb_error *err)
{
    const char *name = tpcs->pairs->axes[0].labels[kind];
    struct pb_pairs_gap gap;
    enum pb_status status = pb_pairs_components(tpcs->pairs, kind, &tpcs->components, &gap, err);
    enum relation relation = SAME;

    if (status != PB_OK)
        return status;
    if (tpcs->clusters > 0)
        relation = relate(&tpcs->components, &tpcs->partners);
    if (relation == PARTING || (relation == WIDER && is_way_out(name)))
        return pb_fail(err, PB_INVALID,
                       "inconsistent: SMs that %.*s slow others down than those they share "
                       "clusters of two with",
                       PB_NAME_LENGTH - 1, name);
    if (relation == WIDER || (tpcs->clusters == 0 && !is_way_out(name)))
        return pb_fail(err, PB_NOT_FOUND,
                       "ambiguous: SMs that %.*s share what may be of more than a TPC",
                       PB_NAME_LENGTH - 1, name);
    keep_best(tpcs, name, gap);
    return PB_OK;
}

/* All kinds. PB_NOT_FOUND: no kind shows it, for the last one's reason. */
static enum pb_status compare_all_kinds(struct tpcs *tpcs, struct pb_error *err)
{
    enum pb_status status = pb_pairs_check(tpcs->pairs, err);

    if (status != PB_OK)
        return status;
    for (size_t kind = 0; kind < tpcs->pairs->axes[0].length; kind++) {
        status = compare_kind(tpcs, kind, err);
        if (status == PB_INVALID || status == PB_NO_MEMORY)
            return status;
    }
    return tpcs->kind != NULL ? PB_OK : PB_NOT_FOUND;
}

static void state_pairs(const struct pb_case *at, const struct tpcs *tpcs)
{
    char method[PB_MESSAGE_LENGTH];
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, tpcs->best.members, tpcs->best.members, PIECES_MAX);
    snprintf(method, sizeof(method),
             "pairs of SMs that %.*s together over %.2f times as long as alone; %.0f%% above all "
             "others, in closed groups of neighbours%s",
             PB_NAME_LENGTH - 1, tpcs->kind, tpcs->gap.slowdown, 100.0 * tpcs->gap.share,
             tpcs->clusters > 0 ? "; clusters of two run on the same" : "");
    pb_union_find_state(&tpcs->best, pb_votes_confidence(&votes), pb_case_answer(at, "tpc_count"),
                        pb_case_answer(at, "tpc_sm_counts"), method);
}

static void state_partners(const struct pb_case *at, const struct tpcs *tpcs)
{
    struct pb_parameter *count = pb_case_answer(at, "tpc_count");
    struct pb_parameter *sizes = pb_case_answer(at, "tpc_sm_counts");
    char method[PB_MESSAGE_LENGTH];

    snprintf(method, sizeof(method),
             "in all of %zu clusters of two CTAs an SM ran with one and the same other",
             tpcs->clusters);
    pb_parameter_point_to(count, "sm_clusters");
    pb_parameter_point_to(sizes, "sm_clusters");
    pb_union_find_state(&tpcs->partners, confidence_of_habit, count, sizes, method);
}

static enum pb_status conclude(const struct pb_case *at, struct tpcs *tpcs, struct pb_error *err)
{
    enum pb_status status =
        find_partners(&at->recordings[1].matrix, &at->parameters->topology, tpcs->partners.members,
                      &tpcs->partners, &tpcs->clusters, err);

    if (status == PB_OK)
        status = compare_all_kinds(tpcs, err);
    if (status == PB_OK)
        state_pairs(at, tpcs);
    else if (status == PB_NOT_FOUND && tpcs->clusters > 0)
        state_partners(at, tpcs);
    else
        return status;
    return PB_OK;
}

enum pb_status pb_infer_tpcs(const struct pb_case *at, struct pb_error *err)
{
    struct tpcs tpcs = {.pairs = &at->recordings[0].matrix};
    size_t sms = tpcs.pairs->rank == 3 ? tpcs.pairs->axes[1].length : at->info->sm_count;
    enum pb_status status = PB_OK;

    if (tpcs.pairs->rank == 0 && at->recordings[1].matrix.rank == 0)
        return pb_fail(err, PB_NOT_FOUND,
                       "not recorded: neither sm_pairs nor sm_clusters is there and ok");
    if (sms == 0 || sms > PB_UNPAIRED_SMS_MAX) /* what no device has is not worth its memory */
        return pb_fail(err, PB_NOT_FOUND, "a device of %zu SMs", sms);
    status = pb_union_find_open(sms, &tpcs.partners, err);
    if (status == PB_OK)
        status = pb_union_find_open(sms, &tpcs.components, err);
    if (status == PB_OK)
        status = pb_union_find_open(sms, &tpcs.best, err);
    if (status == PB_OK)
        status = conclude(at, &tpcs, err);
    pb_union_find_close(&tpcs.best);
    pb_union_find_close(&tpcs.components);
    pb_union_find_close(&tpcs.partners);
    return status;
}
