/* Wording what was found; see cause.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/verdict/cause.h"

/* "905.4 MHz, expected 1006 (-10.0%, 23 sigmas)" */
static void write_deviation(const struct pb_metric *metric, const struct pb_deviation *deviation,
                            char *text, size_t size)
{
    char shift[48];

    if (metric->domain == PB_DOMAIN_COUNT || metric->domain == PB_DOMAIN_STATE)
        snprintf(shift, sizeof(shift), "%+.4g", deviation->shift);
    else if (metric->domain == PB_DOMAIN_FRACTION)
        snprintf(shift, sizeof(shift), "%+.2g", deviation->shift);
    else
        snprintf(shift, sizeof(shift), "%+.1f%%", 100.0 * deviation->shift);
    if (deviation->against == PB_AGAINST_PAST)
        snprintf(text, size, "%s %.4g %s, expected %.4g (%s, %.1fx the run-to-run tolerance)",
                 metric->name, deviation->value, metric->unit, deviation->expected, shift,
                 fabs(deviation->times));
    else if (isfinite(deviation->sigmas) && isfinite(deviation->expected))
        snprintf(text, size, "%s %.4g %s, expected %.4g (%s, %.0f sigmas)", metric->name,
                 deviation->value, metric->unit, deviation->expected, shift,
                 fabs(deviation->sigmas));
    else
        snprintf(text, size, "%s %.4g %s, expected %.4g (%s)", metric->name, deviation->value,
                 metric->unit, isfinite(deviation->expected) ? deviation->expected : 0.0, shift);
}

/* The next of this diagnosis' moves by distance, behind those told already. */
static size_t next_told(const struct pb_deviations *deviations, unsigned number, size_t lead,
                        size_t told)
{
    size_t order[8], found = 0;

    order[found++] = lead;
    while (found <= told) {
        size_t best = deviations->count;

        for (size_t i = 0; i < deviations->count; i++) {
            bool is_told = deviations->items[i].taken_by != number;

            for (size_t k = 0; k < found; k++)
                is_told |= order[k] == i;
            if (!is_told && (best == deviations->count || fabs(deviations->items[i].sigmas) >
                                                              fabs(deviations->items[best].sigmas)))
                best = i;
        }
        if (best == deviations->count)
            return best;
        order[found++] = best;
    }
    return order[told];
}

static void write_evidence(const struct pb_sheet *sheet, const struct pb_deviations *deviations,
                           const struct pb_diagnosis *diagnosis, char *text, size_t size)
{
    enum { TOLD_MAX = 4 };

    snprintf(text, size, "%s", diagnosis->cause->meaning);
    for (size_t k = 0; k < TOLD_MAX; k++) {
        size_t at = next_told(deviations, diagnosis->number, diagnosis->lead, k);
        size_t length = strlen(text);
        char line[PB_MESSAGE_LENGTH];

        if (at == deviations->count)
            return;
        write_deviation(&sheet->metrics[deviations->items[at].metric], &deviations->items[at], line,
                        sizeof(line));
        if (length + strlen(line) + 3 > size)
            return;
        snprintf(text + length, size - length, "%s %s", k == 0 ? ":" : ";", line);
    }
}

static void write_place(const struct pb_sheet *sheet, const struct pb_scores *scores,
                        const struct pb_deviations *deviations, const struct pb_deviation *lead,
                        struct pb_finding *finding)
{
    const struct pb_subject *subject = &sheet->subjects[deviations->subject];

    PB_TEXT_SET(finding->model, subject->info.model);
    switch (finding->level) {
    case PB_LEVEL_POPULATION:
        finding->group = deviations->group + 1;
        PB_TEXT_SET(finding->place, scores->groups[deviations->group].name);
        return;
    case PB_LEVEL_SLOT:
        finding->group = deviations->group + 1;
        finding->slot = subject->slot;
        snprintf(finding->place, sizeof(finding->place), "slot %lld", (long long)subject->slot);
        return;
    case PB_LEVEL_NODE:
        PB_TEXT_SET(finding->place, subject->host);
        PB_TEXT_SET(finding->host, subject->host);
        return;
    default:
        pb_finding_place(subject, finding);
        if (finding->level == PB_LEVEL_SM)
            snprintf(finding->place, sizeof(finding->place), "SM %lld of %s",
                     (long long)lead->place, subject->key);
    }
}

static void write_summary(const struct pb_metric *metric, const struct pb_deviation *lead,
                          const struct pb_unit *unit, struct pb_finding *finding)
{
    char line[PB_MESSAGE_LENGTH], who[64] = "";

    if (unit->level != PB_LEVEL_DEVICE)
        snprintf(who, sizeof(who), "%zu of %zu devices, about: ", unit->count, unit->held);
    write_deviation(metric, lead, line, sizeof(line));
    if (lead->against == PB_AGAINST_PAST)
        snprintf(finding->summary, sizeof(finding->summary), "%s%s, by its own earlier runs", who,
                 line);
    else if (lead->peers > 0)
        snprintf(finding->summary, sizeof(finding->summary), "%s%s, by the center of %zu peers",
                 who, line, lead->peers);
    else
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
    double tests = (double)scores->subject_count * (double)scores->metric_count;

    return isnan(p) ? p : fmin(1.0, p * tests); /* against the past there is none */
}

/* How far the finding reaches: as its cause says of a device, else as far as the unit. */
static enum pb_level level_of(const struct pb_cause *cause, const struct pb_deviation *lead,
                              const struct pb_unit *unit)
{
    if (unit->level != PB_LEVEL_DEVICE)
        return unit->level;
    return cause->level == PB_LEVEL_SM && lead->place < 0 ? PB_LEVEL_DEVICE : cause->level;
}

void pb_cause_word(const struct pb_sheet *sheet, const struct pb_scores *scores,
                   const struct pb_deviations *deviations, const struct pb_diagnosis *diagnosis,
                   const struct pb_unit *unit, struct pb_finding *finding_out)
{
    const struct pb_deviation *lead = &deviations->items[diagnosis->lead];
    const struct pb_metric *metric = &sheet->metrics[lead->metric];
    const struct pb_cause *cause = diagnosis->cause;
    struct pb_finding finding = {.severity = diagnosis->severity,
                                 .level = level_of(cause, lead, unit),
                                 .p = family_p(scores, lead->p),
                                 .metrics = diagnosis->metrics};

    write_place(sheet, scores, deviations, lead, &finding);
    write_summary(metric, lead, unit, &finding);
    write_evidence(sheet, deviations, diagnosis, finding.evidence, sizeof(finding.evidence));
    PB_TEXT_SET(finding.cause, cause->word);
    PB_TEXT_SET(finding.advice, cause->advice);
    if (metric->test[0] != '\0')
        snprintf(finding.evidence_path, sizeof(finding.evidence_path), "/devices/%s/tests/%s",
                 sheet->subjects[deviations->subject].key, metric->test);
    else
        snprintf(finding.evidence_path, sizeof(finding.evidence_path), "/devices/%s/state",
                 sheet->subjects[deviations->subject].key);
    *finding_out = finding;
}
