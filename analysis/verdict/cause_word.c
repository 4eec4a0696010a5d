/* Wording what was found; see cause.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/cause.h"
#include "core/quantity.h"

/* "-9.9%, 25 sigmas": how far it is from what was expected. */
static void write_distance(const struct pb_metric *metric, const struct pb_deviation *deviation,
                           char *text, size_t size)
{
    double shift = deviation->shift;
    int length;

    if (strcmp(metric->unit, "byte") == 0 && metric->domain == PB_DOMAIN_STATE)
        length = snprintf(text, size, "%s", shift > 0.0 ? "more" : "less");
    else if (metric->domain == PB_DOMAIN_COUNT || metric->domain == PB_DOMAIN_STATE)
        length = snprintf(text, size, "%+.4g", shift);
    else if (strcmp(metric->unit, "share") == 0 || strcmp(metric->unit, "excess") == 0)
        length = snprintf(text, size, "%+.3g points", 100.0 * shift);
    else if (metric->domain == PB_DOMAIN_FRACTION)
        length = snprintf(text, size, "%+.2g", shift);
    else
        length = snprintf(text, size, "%+.1f%%", 100.0 * shift);
    if (deviation->against == PB_AGAINST_HISTORY)
        snprintf(text + length, size - (size_t)length, ", %.1fx the run-to-run tolerance",
                 fabs(deviation->times));
    else if (!deviation->is_event && isfinite(deviation->sigmas) && isfinite(deviation->expected))
        snprintf(text + length, size - (size_t)length, ", %.0f sigmas", fabs(deviation->sigmas));
}

/* "global_copy.peak 29.7 GB/s, expected 33 GB/s (majority of 15 peers): -9.9%, 25 sigmas" */
static void write_deviation(const struct pb_metric *metric, const struct pb_deviation *deviation,
                            const char *source, char *text, size_t size)
{
    char value[64], expected[64], distance[80];

    pb_quantity_format(deviation->value, metric->unit, value, sizeof(value));
    pb_quantity_format(isfinite(deviation->expected) ? deviation->expected : 0.0, metric->unit,
                       expected, sizeof(expected));
    write_distance(metric, deviation, distance, sizeof(distance));
    snprintf(text, size, "%s %s, expected %s%s: %s", metric->name, value, expected, source,
             distance);
}

/* What the cause expects besides its lead, as what became slower beside a co-tenant, comes first.
 */
static bool is_listed_before(const struct pb_features *features, const struct pb_cause *cause,
                             const struct pb_deviation *one, const struct pb_deviation *other)
{
    bool is_also = pb_cause_expects(cause, &features->metrics[one->metric], one);

    if (is_also != pb_cause_expects(cause, &features->metrics[other->metric], other))
        return is_also;
    return fabs(one->sigmas) > fabs(other->sigmas);
}

/* The next of this diagnosis' deviations behind those in order[count]; their count: none is left.
 */
static size_t next_listed(const struct pb_features *features,
                          const struct pb_deviations *deviations,
                          const struct pb_diagnosis *diagnosis, const size_t *order, size_t count)
{
    size_t best = deviations->count;

    for (size_t i = 0; i < deviations->count; i++) {
        bool is_listed = deviations->items[i].taken_by != diagnosis->number;

        for (size_t k = 0; k < count; k++)
            is_listed |= order[k] == i;
        if (!is_listed && (best == deviations->count ||
                           is_listed_before(features, diagnosis->cause, &deviations->items[i],
                                            &deviations->items[best])))
            best = i;
    }
    return best;
}

/* What speaks for the cause; the deviation that leads stands in the summary already. */
static void write_evidence(const struct pb_features *features,
                           const struct pb_deviations *deviations,
                           const struct pb_diagnosis *diagnosis, char *text, size_t size)
{
    enum { LISTED_MAX = 4 };
    size_t order[LISTED_MAX] = {diagnosis->lead};

    snprintf(text, size, "%s", diagnosis->cause->meaning);
    for (size_t count = 1; count < LISTED_MAX; count++) {
        size_t at = next_listed(features, deviations, diagnosis, order, count);
        size_t length = strlen(text);
        char line[PB_MESSAGE_LENGTH];

        if (at == deviations->count)
            return;
        write_deviation(&features->metrics[deviations->items[at].metric], &deviations->items[at],
                        "", line, sizeof(line));
        if (length + strlen(line) + 3 > size)
            return;
        snprintf(text + length, size - length, "%s %s", count == 1 ? ":" : ";", line);
        order[count] = at;
    }
}

static void write_place(const struct pb_features *features, const struct pb_scores *scores,
                        const struct pb_deviations *deviations, const struct pb_deviation *lead,
                        struct pb_finding *finding)
{
    const struct pb_feature_row *device = &features->devices[deviations->device];

    PB_TEXT_SET(finding->model, device->info.model);
    switch (finding->level) {
    case PB_LEVEL_POPULATION:
        finding->group = deviations->group + 1;
        PB_TEXT_SET(finding->place, scores->groups[deviations->group].name);
        return;
    case PB_LEVEL_SLOT:
        finding->group = deviations->group + 1;
        finding->slot = device->slot;
        snprintf(finding->place, sizeof(finding->place), "slot %lld", (long long)device->slot);
        return;
    case PB_LEVEL_NODE:
        PB_TEXT_SET(finding->place, device->host);
        PB_TEXT_SET(finding->host, device->host);
        return;
    default:
        pb_finding_place(device, finding);
        if (finding->level == PB_LEVEL_SM)
            snprintf(finding->place, sizeof(finding->place), "SM %lld of %s",
                     (long long)lead->place, device->key);
    }
}

static void write_summary(const struct pb_metric *metric, const struct pb_deviation *lead,
                          const struct pb_unit *unit, struct pb_finding *finding)
{
    char line[PB_MESSAGE_LENGTH], source[64] = "", who[64] = "";

    if (unit->level != PB_LEVEL_DEVICE)
        snprintf(who, sizeof(who), "%zu of %zu devices, about: ", unit->count, unit->held);
    if (lead->against == PB_AGAINST_HISTORY)
        PB_TEXT_SET(source, " (median of its own earlier runs)");
    else if (lead->peers > 0 && !lead->is_event)
        snprintf(source, sizeof(source), " (majority of %zu peers)", lead->peers);
    write_deviation(metric, lead, source, line, sizeof(line));
    snprintf(finding->summary, sizeof(finding->summary), "%s%s", who, line);
    PB_TEXT_SET(finding->metric, metric->name);
    PB_TEXT_SET(finding->unit, metric->unit);
    finding->value = lead->value;
    finding->expected = lead->expected;
    finding->shift = lead->shift;
    finding->sigmas = lead->sigmas;
    finding->peers = lead->peers;
}

/* Bonferroni over all that was scored: what Holm's first step compares with the rate. */
static double family_p(const struct pb_scores *scores, double p)
{
    double tests = (double)scores->device_count * (double)scores->metric_count;

    return isnan(p) ? p : fmin(1.0, p * tests); /* against the history there is none */
}

/* How far the finding reaches: as its cause says of a device, else as far as the unit. */
static enum pb_level level_of(const struct pb_cause *cause, const struct pb_deviation *lead,
                              const struct pb_unit *unit)
{
    if (unit->level != PB_LEVEL_DEVICE)
        return unit->level;
    return cause->level == PB_LEVEL_SM && lead->place < 0 ? PB_LEVEL_DEVICE : cause->level;
}

void pb_cause_word(const struct pb_features *features, const struct pb_scores *scores,
                   const struct pb_deviations *deviations, const struct pb_diagnosis *diagnosis,
                   const struct pb_unit *unit, struct pb_finding *finding_out)
{
    const struct pb_deviation *lead = &deviations->items[diagnosis->lead];
    const struct pb_metric *metric = &features->metrics[lead->metric];
    const struct pb_cause *cause = diagnosis->cause;
    struct pb_finding finding = {.severity = diagnosis->severity,
                                 .level = level_of(cause, lead, unit),
                                 .p = family_p(scores, lead->p),
                                 .metrics = diagnosis->metrics,
                                 .by_event = diagnosis->by_event};

    write_place(features, scores, deviations, lead, &finding);
    write_summary(metric, lead, unit, &finding);
    write_evidence(features, deviations, diagnosis, finding.evidence, sizeof(finding.evidence));
    PB_TEXT_SET(finding.cause, cause->word);
    PB_TEXT_SET(finding.advice, cause->advice);
    if (metric->test[0] != '\0')
        snprintf(finding.evidence_path, sizeof(finding.evidence_path), "/devices/%s/tests/%s",
                 features->devices[deviations->device].key, metric->test);
    else
        snprintf(finding.evidence_path, sizeof(finding.evidence_path), "/devices/%s/state",
                 features->devices[deviations->device].key);
    *finding_out = finding;
}
