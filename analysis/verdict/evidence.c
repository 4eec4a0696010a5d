/* Tails and likeness from all metrics of some domains; see evidence.h. */
#include "analysis/verdict/evidence.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/critical.h"
#include "analysis/verdict/event.h"

enum { PAIRS_MIN = 8, PAIRS_A_DEVICE = 8 /* 16 devices a node */, BISECTIONS = 20 };

/* A device with a score so far out, or beyond what chance does to one of 100,000, or with an event
   that slows everything, is sick: what it has nearer in is its sickness and no tail. */
#define SICK_SIGMAS 8.0
#define SICK_P      1e-5

#define DEVICE_MAX    0.1 /* the greatest share of one device's scores that counts */
#define CLIPPED_AT    2.5
#define CLIPPED_SHARE 0.97757 /* of a normal variance that is left by clipping there */
#define NORMAL_MEDIAN 0.9539  /* median of |x - y| of two standard normal numbers */

/* A node's or a slot's devices that deviate together, as attribute.h blames them. */
enum { NODE_LEAST = 2, SLOT_LEAST = 3 };
#define NODE_SHARE 0.75
#define SLOT_SHARE 0.5

/* Scores from low to high sigmas show the tails. */
struct band {
    double low, high;
    double lenience; /* standard errors that it may be off before it counts */
};

/* The farther one sees what is a mixture, normal within and heavy without; it holds so few scores
   that one sick device would fill it, hence the lenience. */
static const struct band bands[] = {{3.0, 6.0, 0.0}, {4.5, 8.0, 1.0}};

/* Members of one node or one slot, and what one metric says of them. */
struct line {
    size_t present, far[2]; /* far: in the band or beyond, below and above the center */
};

/* What one call works on. */
struct work {
    const struct pb_features *features;
    const struct pb_scores *scores;
    const struct pb_fit *fits;
    size_t *by_host; /* the group's members, those of one host beside each other */
    size_t count;
    size_t *metrics; /* of the domains, with a measured scale */
    size_t metric_count;
    double *numbers; /* one per pair */
    size_t pair_capacity;
    double *ratios;
    bool *is_sick;             /* of every member */
    size_t *node_of, *slot_of; /* of every member, counted from 0 */
    size_t node_count, slot_count;
    int64_t *slots;
    struct line *lines;      /* nodes, then slots */
    double *scored, *inside; /* of every member: scores, and those in the band by themselves … */
    double *alike;           /* … and those in it together with its node */
};

static const struct pb_score *score_of(const struct work *work, size_t member, size_t metric)
{
    return &work->scores->cells[work->by_host[member] * work->scores->metric_count + metric];
}

static bool same_host(const struct work *work, size_t a, size_t b)
{
    return strcmp(work->features->devices[work->by_host[a]].host,
                  work->features->devices[work->by_host[b]].host) == 0;
}

static int compare_hosts(const void *a, const void *b, void *features)
{
    const struct pb_feature_row *devices = ((const struct pb_features *)features)->devices;

    return strcmp(devices[*(const size_t *)a].host, devices[*(const size_t *)b].host);
}

/* Devices of a node, in the mean over devices. */
static double node_size(const struct work *work)
{
    double sum = 0.0;

    for (size_t first = 0, end; first < work->count; first = end) {
        for (end = first + 1; end < work->count && same_host(work, first, end);)
            end++;
        sum += (double)(end - first) * (double)(end - first);
    }
    return sum / (double)work->count;
}

/* May this number be a healthy device's? That sick ones resemble each other is no likeness. */
static bool is_usual(const struct work *work, size_t member, size_t metric)
{
    return fabs(score_of(work, member, metric)->sigmas) < SICK_SIGMAS;
}

/* Distances of the two devices of every pair of one node, up to the room there is. */
static size_t collect_pairs(const struct work *work, size_t metric)
{
    size_t pairs = 0;

    for (size_t i = 0; i < work->count; i++)
        for (size_t j = i + 1;
             j < work->count && pairs < work->pair_capacity && same_host(work, i, j); j++) {
            double apart = score_of(work, i, metric)->sigmas - score_of(work, j, metric)->sigmas;

            if (isfinite(apart) && is_usual(work, i, metric) && is_usual(work, j, metric))
                work->numbers[pairs++] = fabs(apart);
        }
    return pairs;
}

/* Variance within nodes by that of all, of one metric; NaN with few pairs. One sick device makes
   many far pairs, so no pair counts for more than CLIPPED_AT scales of the middle one. */
static double within_ratio(const struct work *work, size_t metric)
{
    size_t pairs = collect_pairs(work, metric);
    double limit, sum = 0.0;

    if (pairs < PAIRS_MIN)
        return NAN;
    gsl_sort(work->numbers, 1, pairs);
    limit = CLIPPED_AT * gsl_stats_median_from_sorted_data(work->numbers, 1, pairs) / NORMAL_MEDIAN;
    for (size_t i = 0; i < pairs; i++)
        sum += fmin(work->numbers[i] * work->numbers[i] / 2.0, limit * limit);
    return sum / (CLIPPED_SHARE * (double)pairs);
}

static double read_likeness(const struct work *work)
{
    size_t known = 0;

    for (size_t i = 0; i < work->metric_count; i++) {
        double ratio = within_ratio(work, work->metrics[i]);

        if (isfinite(ratio))
            work->ratios[known++] = ratio;
    }
    if (known == 0)
        return 0.0;
    gsl_sort(work->ratios, 1, known);
    return fmin(fmax(1.0 - gsl_stats_median_from_sorted_data(work->ratios, 1, known), 0.0), 1.0);
}

/* On which side this member's score is far out: in the band or beyond it. */
static int side_of(const struct work *work, const struct band *band, size_t metric, size_t member)
{
    double sigmas = score_of(work, member, metric)->sigmas;

    if (!(fabs(sigmas) >= band->low))
        return 0;
    return sigmas > 0.0 ? 1 : -1;
}

static void add_to_line(struct line *line, int side)
{
    line->present++;
    line->far[0] += side < 0 ? 1 : 0;
    line->far[1] += side > 0 ? 1 : 0;
}

/* Do these devices deviate together, as a node's or a slot's fault makes them? Chance hardly can.
 */
static bool are_together(const struct line *line, int side, size_t least, double share)
{
    size_t alike = line->far[side > 0 ? 1 : 0];

    return alike >= least && (double)alike >= share * (double)line->present;
}

/* Adds to every member's sums what one metric says. */
static void weigh_metric(struct work *work, const struct band *band, size_t metric)
{
    memset(work->lines, 0, (work->node_count + work->slot_count) * sizeof(*work->lines));
    for (size_t i = 0; i < work->count; i++) {
        int side = side_of(work, band, metric, i);

        if (!isfinite(score_of(work, i, metric)->sigmas))
            continue;
        work->scored[i] += 1.0;
        add_to_line(&work->lines[work->node_of[i]], side);
        add_to_line(&work->lines[work->node_count + work->slot_of[i]], side);
    }
    for (size_t i = 0; i < work->count; i++) {
        int side = side_of(work, band, metric, i);
        const struct line *node = &work->lines[work->node_of[i]];
        const struct line *slot = &work->lines[work->node_count + work->slot_of[i]];

        if (side == 0 || fabs(score_of(work, i, metric)->sigmas) >= band->high ||
            are_together(slot, side, SLOT_LEAST, SLOT_SHARE))
            continue;
        if (are_together(node, side, NODE_LEAST, NODE_SHARE))
            work->alike[i] += 1.0;
        else
            work->inside[i] += 1.0;
    }
}

/* Of every member: how many scores it has, and how many of them lie in the band. */
static void weigh(struct work *work, const struct band *band)
{
    memset(work->scored, 0, work->count * sizeof(*work->scored));
    memset(work->inside, 0, work->count * sizeof(*work->inside));
    memset(work->alike, 0, work->count * sizeof(*work->alike));
    for (size_t i = 0; i < work->metric_count; i++)
        weigh_metric(work, band, work->metrics[i]);
}

/* Share of a member's scores that lie in the band. What it shares with its node counts as far as
   devices of a node are alike in the healthy, and no device for more than DEVICE_MAX. */
static double band_share(const struct work *work, size_t member, double likeness)
{
    double own = work->inside[member] / work->scored[member];
    double alike = work->alike[member] / work->scored[member];

    return fmin(own + likeness * fmin(alike, DEVICE_MAX), DEVICE_MAX);
}

static double expected_share(const struct band *band, double peers, double tail)
{
    struct pb_null null;

    pb_null_set(&null, peers, tail);
    return pb_null_p(&null, band->low) - pb_null_p(&null, band->high);
}

static double read_tail(struct work *work, const struct band *band, double peers, double likeness)
{
    double sum = 0.0, squares = 0.0, devices = 0.0, mean, share, low = 0.0;
    double high = PB_CRITICAL_TAIL_MAX;

    weigh(work, band);
    for (size_t i = 0; i < work->count; i++) {
        double of_device;

        if (work->scored[i] <= 0.0 || work->is_sick[i])
            continue;
        of_device = band_share(work, i, likeness);
        sum += of_device;
        squares += of_device * of_device;
        devices += 1.0;
    }
    if (devices < PB_POPULATION_MIN)
        return 0.0;
    mean = sum / devices;
    share = mean - band->lenience * sqrt(fmax(squares / devices - mean * mean, 0.0) / devices);
    if (share <= expected_share(band, peers, low))
        return low;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2.0;

        if (expected_share(band, peers, middle) < share)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* One number is a sum of what its node and its device have in common with others, whose tails show
   less than theirs: the excess kurtosis of a sum is that of its parts by the sum of squares of
   their shares of the variance. */
static double tail_of_parts(double tail, double likeness)
{
    double left = likeness * likeness + (1.0 - likeness) * (1.0 - likeness);
    double kurtosis;

    if (tail <= 0.0)
        return tail;
    kurtosis = 6.0 * tail / (1.0 - 4.0 * tail) / left;
    return fmin(kurtosis / (6.0 + 4.0 * kurtosis), PB_CRITICAL_TAIL_MAX);
}

/* Numbers the members' nodes, which lie beside each other, and their slots. */
static void number_lines(struct work *work)
{
    for (size_t i = 0; i < work->count; i++) {
        int64_t slot = work->features->devices[work->by_host[i]].slot;
        size_t at = 0;

        work->node_count += i == 0 || !same_host(work, i - 1, i) ? 1 : 0;
        work->node_of[i] = work->node_count - 1;
        while (at < work->slot_count && work->slots[at] != slot)
            at++;
        if (at == work->slot_count)
            work->slots[work->slot_count++] = slot;
        work->slot_of[i] = at;
    }
}

static void find_sick(struct work *work)
{
    struct pb_null null;
    double limit;

    pb_null_set(&null, (double)work->count, 0.0);
    limit = fmax(SICK_SIGMAS, pb_null_sigmas(&null, SICK_P));
    for (size_t i = 0; i < work->count; i++) {
        work->is_sick[i] = pb_event_parts(work->features, work->by_host[i]) == UINT32_MAX;
        for (size_t m = 0; m < work->features->metric_count; m++)
            if (work->fits[m].measured && !work->fits[m].split &&
                fabs(score_of(work, i, m)->sigmas) >= limit)
                work->is_sick[i] = true;
    }
}

static enum pb_status start(struct work *work, const struct pb_group *group, unsigned domains,
                            struct pb_error *err)
{
    size_t metric_count = work->features->metric_count;

    work->count = group->member_count;
    work->by_host = malloc(work->count * sizeof(*work->by_host));
    work->pair_capacity = PAIRS_A_DEVICE * work->count;
    work->numbers = malloc(work->pair_capacity * sizeof(*work->numbers));
    work->metrics = malloc((metric_count + 1) * sizeof(*work->metrics));
    work->ratios = malloc((metric_count + 1) * sizeof(*work->ratios));
    work->node_of = malloc(work->count * sizeof(*work->node_of));
    work->slot_of = malloc(work->count * sizeof(*work->slot_of));
    work->slots = malloc(work->count * sizeof(*work->slots));
    work->lines = malloc(2 * work->count * sizeof(*work->lines));
    work->scored = malloc(work->count * sizeof(*work->scored));
    work->inside = malloc(work->count * sizeof(*work->inside));
    work->alike = malloc(work->count * sizeof(*work->alike));
    work->is_sick = calloc(work->count, sizeof(*work->is_sick));
    if (work->alike == NULL || work->is_sick == NULL || work->node_of == NULL ||
        work->slot_of == NULL || work->slots == NULL || work->lines == NULL ||
        work->scored == NULL || work->inside == NULL || work->by_host == NULL ||
        work->numbers == NULL || work->metrics == NULL || work->ratios == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the scores of %zu devices",
                       work->count);
    memcpy(work->by_host, group->members, work->count * sizeof(*work->by_host));
    qsort_r(work->by_host, work->count, sizeof(*work->by_host), compare_hosts,
            (void *)work->features);
    number_lines(work);
    find_sick(work);
    for (size_t i = 0; i < metric_count; i++)
        if ((domains >> work->features->metrics[i].domain & 1) != 0 && work->fits[i].measured &&
            !work->fits[i].split)
            work->metrics[work->metric_count++] = i;
    return PB_OK;
}

enum pb_status pb_evidence_read(const struct pb_features *features, const struct pb_scores *scores,
                                size_t group, const struct pb_fit *fits, unsigned domains,
                                struct pb_evidence *evidence_out, struct pb_error *err)
{
    struct work work = {.features = features, .scores = scores, .fits = fits};
    enum pb_status status = start(&work, &scores->groups[group], domains, err);

    if (status == PB_OK) {
        double likeness = read_likeness(&work);
        double share = 1.0 / (1.0 + (node_size(&work) - 1.0) * likeness);
        size_t peers = scores->groups[group].member_count + scores->groups[group].baseline_count;

        evidence_out->likeness = likeness;
        evidence_out->metrics = work.metric_count;
        evidence_out->peer_share = share;
        evidence_out->tail = 0.0;
        for (size_t i = 0; i < sizeof(bands) / sizeof(bands[0]); i++)
            evidence_out->tail = fmax(evidence_out->tail,
                                      read_tail(&work, &bands[i], (double)peers * share, likeness));
        evidence_out->tail = tail_of_parts(evidence_out->tail, likeness);
    }
    free(work.is_sick);
    free(work.by_host);
    free(work.numbers);
    free(work.metrics);
    free(work.ratios);
    free(work.node_of);
    free(work.slot_of);
    free(work.slots);
    free(work.lines);
    free(work.scored);
    free(work.inside);
    free(work.alike);
    return status;
}
