/* What a device's scores say, and the list of places with what moved there; see attribute.h. */
#include <math.h>
#include <stdlib.h>

#include "analysis/verdict/attribute.h"
#include "analysis/verdict/room.h"

enum { SIGMAS_MAX = 1000000 };

/* A count out of nothing may lie infinitely far; the fit needs numbers. */
static double clamp(double sigmas)
{
    return sigmas > SIGMAS_MAX ? SIGMAS_MAX : sigmas < -SIGMAS_MAX ? -SIGMAS_MAX : sigmas;
}

static bool is_absolute(const struct pb_metric *metric)
{
    return metric->domain == PB_DOMAIN_FRACTION || metric->domain == PB_DOMAIN_COUNT ||
           metric->domain == PB_DOMAIN_STATE;
}

bool pb_move_is_one(const struct pb_move *move)
{
    return move->severity == PB_SEVERITY_WARNING || move->severity == PB_SEVERITY_CRITICAL;
}

struct pb_move pb_move_read(const struct pb_sheet *sheet, const struct pb_scores *scores,
                            size_t group, size_t subject, size_t metric, enum pb_against against)
{
    const struct pb_score *score = &scores->cells[subject * scores->metric_count + metric];
    const struct pb_norm *norm = &scores->norms[group * scores->metric_count + metric];
    struct pb_cell cell = pb_sheet_cell(sheet, subject, metric);
    struct pb_move move = {.metric = metric,
                           .against = against,
                           .value = cell.value,
                           .expected = norm->center,
                           .shift = score->shift,
                           .sigmas = clamp(score->sigmas),
                           .p = score->p,
                           .severity = score->severity,
                           .place = cell.place,
                           .peers = norm->peers > 0 ? norm->peers - 1 : 0};

    if (against == PB_AGAINST_PEERS)
        return move;
    /* What the peers show already is not told again of the past. */
    move.severity = pb_move_is_one(&move) ? PB_SEVERITY_OK : score->drift_severity;
    move.sigmas = clamp(score->drift_sigmas);
    move.times = score->drift_times;
    move.shift = score->drift_shift;
    move.expected = is_absolute(&sheet->metrics[metric]) ? cell.value - move.shift
                                                         : cell.value / (1.0 + move.shift);
    move.p = NAN;
    return move;
}

void pb_bundles_clear(struct pb_bundles *bundles)
{
    if (bundles == NULL)
        return;
    for (size_t i = 0; i < bundles->count; i++)
        free(bundles->items[i].moves);
    free(bundles->items);
    *bundles = (struct pb_bundles){0};
}

static struct pb_bundle *find_bundle(struct pb_bundles *bundles, enum pb_level level, size_t group,
                                     size_t subject)
{
    for (size_t i = bundles->count; i-- > 0;) {
        struct pb_bundle *bundle = &bundles->items[i];

        if (bundle->level == level && bundle->group == group && bundle->subject == subject)
            return bundle;
    }
    return NULL;
}

static enum pb_status add_bundle(struct pb_bundles *bundles, const struct pb_bundle *bundle,
                                 struct pb_error *err)
{
    struct pb_bundle *items =
        pb_with_room(bundles->items, bundles->count, &bundles->capacity, sizeof(*items));

    if (items == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu places", bundles->count + 1);
    bundles->items = items;
    bundles->items[bundles->count++] = *bundle;
    return PB_OK;
}

static enum pb_status add_move(struct pb_bundle *bundle, const struct pb_move *move,
                               struct pb_error *err)
{
    struct pb_move *moves =
        pb_with_room(bundle->moves, bundle->count, &bundle->capacity, sizeof(*moves));

    if (moves == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu deviations", bundle->count + 1);
    bundle->moves = moves;
    bundle->moves[bundle->count++] = *move;
    return PB_OK;
}

/* Adds a move to the bundle of that place, made when there is none. */
enum pb_status pb_bundles_put(struct pb_bundles *bundles, enum pb_level level, size_t group,
                              size_t subject, const struct pb_move *move, struct pb_error *err)
{
    struct pb_bundle *bundle = find_bundle(bundles, level, group, subject);
    struct pb_bundle fresh = {.level = level, .group = group, .subject = subject};
    enum pb_status status;

    if (bundle == NULL) {
        status = add_bundle(bundles, &fresh, err);
        if (status != PB_OK)
            return status;
        bundle = &bundles->items[bundles->count - 1];
    }
    return add_move(bundle, move, err);
}
