/* Reading the table of causes against a device's deviations; see cause.h. */
#include "analysis/verdict/cause.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A consequence may go so much further than its cause, and twice its own practical size more. */
static const double leeway = 1.5;

/* A faint one this share as far, and half its practical size more. */
static const double faint = 0.25;

/* Shares of accesses that are late anyway differ by this much of themselves from peer to peer. */
static const double natural = 0.1;

static bool is_end(const struct pb_sign *sign)
{
    return sign->parts == 0 && sign->domains == 0;
}

static bool matches(const struct pb_sign *sign, const struct pb_metric *metric,
                    const struct pb_deviation *deviation)
{
    return (sign->parts >> metric->part & 1) != 0 && (sign->domains >> metric->domain & 1) != 0 &&
           (sign->direction == PB_ANY_WAY ||
            (sign->direction == PB_UP) == (deviation->shift > 0)) &&
           (metric->traits & sign->traits) == sign->traits;
}

static bool matches_any(const struct pb_sign *signs, size_t count, const struct pb_metric *metric,
                        const struct pb_deviation *deviation)
{
    for (size_t i = 0; i < count && !is_end(&signs[i]); i++)
        if (matches(&signs[i], metric, deviation))
            return true;
    return false;
}

bool pb_cause_expects(const struct pb_cause *cause, const struct pb_metric *metric,
                      const struct pb_deviation *deviation)
{
    return matches_any(cause->also, PB_CAUSE_NEEDS_MAX, metric, deviation);
}

/* Relative size of a deviation; what is no ratio (events, watts, shares of looks) has none. */
static double size_of(const struct pb_metric *metric, const struct pb_deviation *deviation)
{
    bool is_ratio = metric->domain != PB_DOMAIN_COUNT && metric->domain != PB_DOMAIN_STATE &&
                    (metric->traits & PB_TRAIT(THROTTLE)) == 0;

    return is_ratio && isfinite(deviation->shift) ? fabs(deviation->shift) : 0.0;
}

/* Is this the first of the deviations at its place that matches the needs? */
static bool is_new_place(const struct pb_cause *cause, const struct pb_features *features,
                         const struct pb_deviations *deviations, size_t at)
{
    for (size_t i = 0; i <= at; i++) {
        const struct pb_deviation *deviation = &deviations->items[i];

        if (deviation->place == deviations->items[at].place &&
            matches_any(cause->needs, PB_CAUSE_NEEDS_MAX, &features->metrics[deviation->metric],
                        deviation))
            return i == at;
    }
    return false;
}

/* What the SMs have of all accesses that moved as the needs say: tests over all SMs are even. */
static double share_of(const struct pb_cause *cause, const struct pb_features *features,
                       const struct pb_deviations *deviations)
{
    size_t places = 0;

    for (size_t i = 0; i < deviations->count; i++)
        places += is_new_place(cause, features, deviations, i);
    return (double)places / features->devices[deviations->device].info.sm_count;
}

static struct pb_extent extent_of(const struct pb_cause *cause, const struct pb_features *features,
                                  const struct pb_deviations *deviations, size_t lead)
{
    struct pb_extent extent = {.place = deviations->items[lead].place,
                               .share = share_of(cause, features, deviations)};

    for (size_t i = 0; i < deviations->count; i++) {
        const struct pb_deviation *deviation = &deviations->items[i];
        const struct pb_metric *metric = &features->metrics[deviation->metric];
        bool is_own = matches_any(cause->needs, PB_CAUSE_NEEDS_MAX, metric, deviation);

        if (deviation->taken_by != 0)
            continue;
        if (is_own)
            extent.step[metric->domain] =
                fmax(extent.step[metric->domain], fabs(deviation->value - deviation->expected));
        if (is_own || matches_any(cause->also, PB_CAUSE_NEEDS_MAX, metric, deviation) ||
            matches_any(cause->sizes, PB_CAUSE_SIZES_MAX, metric, deviation))
            extent.relative = fmax(extent.relative, size_of(metric, deviation));
    }
    return extent;
}

/* A clock at 0.8 makes ns 1.25 times as many. */
static double inverse_of(double relative)
{
    return relative < 0.99 ? relative / (1.0 - relative) : 100.0 * relative;
}

static bool is_within(const struct pb_metric *metric, const struct pb_deviation *deviation,
                      double relative)
{
    return fabs(deviation->shift) <= leeway * relative + 2.0 * metric->practical;
}

/* Cycles of a place are as many more as it is slower; ns may have a slow clock besides. */
static double at_place(const struct pb_metric *metric, double relative)
{
    return metric->domain == PB_DOMAIN_CYCLES ? relative : inverse_of(relative);
}

/* No more than all loads of such SMs, and what their number varies by with the peers. */
static bool is_share_within(const struct pb_metric *metric, const struct pb_deviation *deviation,
                            const struct pb_extent *extent)
{
    return deviation->shift <= extent->share + metric->practical + natural * deviation->expected;
}

/* "*.tail_fraction_1_5x": does what is so much slower reach 1.5 medians? */
static bool reaches_mark(const struct pb_metric *metric, double relative)
{
    static const char before[] = ".tail_fraction_";
    const char *mark = strstr(metric->name, before);
    char multiple[16] = "";

    if (mark == NULL)
        return false;
    snprintf(multiple, sizeof(multiple), "%s", mark + sizeof(before) - 1);
    for (char *at = multiple; *at != '\0'; at++)
        if (*at == '_')
            *at = '.';
    return strtod(multiple, NULL) <= 1.0 + leeway * relative;
}

static bool obeys(enum pb_bound bound, const struct pb_metric *metric,
                  const struct pb_deviation *deviation, const struct pb_extent *extent)
{
    bool is_here = deviation->place >= 0 && deviation->place == extent->place;

    switch (bound) {
    case PB_BOUND_ANY:
        return true;
    case PB_BOUND_SAME:
        return is_within(metric, deviation, inverse_of(extent->relative));
    case PB_BOUND_FAINT:
        return fabs(deviation->shift) <=
               faint * inverse_of(extent->relative) + metric->practical / 2.0;
    case PB_BOUND_STEP:
        return fabs(deviation->value - deviation->expected) <=
               leeway * extent->step[metric->domain];
    case PB_BOUND_PLACE:
        return is_here && is_within(metric, deviation, at_place(metric, extent->relative));
    case PB_BOUND_HERE:
        return is_here;
    case PB_BOUND_MEAN:
        return deviation->shift <= leeway * extent->relative * extent->share + metric->practical;
    case PB_BOUND_SHARE:
        return is_share_within(metric, deviation, extent);
    case PB_BOUND_LATE:
        return is_share_within(metric, deviation, extent) && reaches_mark(metric, extent->relative);
    }
    return false;
}

static bool follows(const struct pb_cause *cause, const struct pb_metric *metric,
                    const struct pb_deviation *deviation, const struct pb_extent *extent)
{
    for (size_t i = 0; i < PB_CAUSE_FOLLOWS_MAX && !is_end(&cause->follows[i]); i++)
        if (matches(&cause->follows[i], metric, deviation) &&
            obeys(cause->follows[i].bound, metric, deviation, extent))
            return true;
    return false;
}

/* The unexplained deviation that matches and lies farthest out; count when there is none. An event
   does not explain what deviates from peers that have it too (beside_event). */
static size_t farthest(const struct pb_sign *signs, size_t sign_count,
                       const struct pb_features *features, const struct pb_deviations *deviations,
                       bool beside_event)
{
    size_t best = deviations->count;

    for (size_t i = 0; i < deviations->count; i++) {
        const struct pb_deviation *deviation = &deviations->items[i];

        if (deviation->taken_by == 0 && !(beside_event && deviation->is_beside_event) &&
            matches_any(signs, sign_count, &features->metrics[deviation->metric], deviation) &&
            (best == deviations->count ||
             fabs(deviation->sigmas) > fabs(deviations->items[best].sigmas)))
            best = i;
    }
    return best;
}

static bool fits(const struct pb_cause *cause, const struct pb_features *features,
                 const struct pb_deviations *deviations, size_t *lead_out)
{
    *lead_out = farthest(cause->needs, PB_CAUSE_NEEDS_MAX, features, deviations, false);
    return *lead_out < deviations->count &&
           (is_end(cause->also) ||
            farthest(cause->also, PB_CAUSE_NEEDS_MAX, features, deviations,
                     deviations->items[*lead_out].is_event) < deviations->count) &&
           farthest(cause->spares, PB_CAUSE_SPARES_MAX, features, deviations, false) ==
               deviations->count;
}

bool pb_deviation_is_worse(const struct pb_metric *metric, const struct pb_deviation *deviation)
{
    return metric->better == PB_BETTER_NEITHER ||
           (metric->better == PB_BETTER_LOWER) == (deviation->shift > 0);
}

/* Marks what the cause explains; whatever is better than with the peers is no more than odd. */
static void take(const struct pb_features *features, struct pb_deviations *deviations,
                 struct pb_diagnosis *diagnosis)
{
    const struct pb_cause *cause = diagnosis->cause;
    enum pb_severity most = PB_SEVERITY_WARNING;
    bool is_by_event = deviations->items[diagnosis->lead].is_event;

    diagnosis->extent = extent_of(cause, features, deviations, diagnosis->lead);
    for (size_t i = 0; i < deviations->count; i++) {
        struct pb_deviation *deviation = &deviations->items[i];
        const struct pb_metric *metric = &features->metrics[deviation->metric];
        bool is_needed = matches_any(cause->needs, PB_CAUSE_NEEDS_MAX, metric, deviation);
        bool is_own = i == diagnosis->lead || (cause->level != PB_LEVEL_SM && is_needed);

        if (deviation->taken_by != 0 ||
            (!is_own && (!follows(cause, metric, deviation, &diagnosis->extent) ||
                         (is_by_event && deviation->is_beside_event))))
            continue;
        deviation->taken_by = diagnosis->number;
        diagnosis->metrics++;
        diagnosis->by_event |= deviation->is_event && is_needed;
        if (deviation->severity == PB_SEVERITY_CRITICAL)
            diagnosis->severity = PB_SEVERITY_CRITICAL;
        if (pb_deviation_is_worse(metric, deviation))
            most = PB_SEVERITY_CRITICAL;
    }
    if (diagnosis->severity > most)
        diagnosis->severity = most;
}

bool pb_cause_next(const struct pb_features *features, struct pb_deviations *deviations,
                   unsigned number, struct pb_diagnosis *diagnosis_out)
{
    for (const struct pb_cause *cause = pb_causes; cause->word != NULL; cause++) {
        size_t lead;

        if (!fits(cause, features, deviations, &lead))
            continue;
        *diagnosis_out = (struct pb_diagnosis){
            .cause = cause, .number = number, .lead = lead, .severity = PB_SEVERITY_WARNING};
        take(features, deviations, diagnosis_out);
        return true;
    }
    return false;
}
