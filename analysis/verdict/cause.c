/* Reading the table of causes against what moved, and wording what was found; see cause.h. */
#include "analysis/verdict/cause.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A consequence may go so much further than its cause, and twice its own practical size more. */
static const double leeway = 1.5;

/* A faint one this share as far, and half its practical size more. */
static const double faint = 0.25;

static bool is_end(const struct pb_sign *sign)
{
    return sign->parts == 0 && sign->domains == 0;
}

static bool matches(const struct pb_sign *sign, const struct pb_metric *metric,
                    const struct pb_move *move)
{
    return (sign->parts >> metric->part & 1) != 0 && (sign->domains >> metric->domain & 1) != 0 &&
           (sign->direction == PB_ANY_WAY || (sign->direction == PB_UP) == (move->shift > 0)) &&
           (sign->name == NULL || fnmatch(sign->name, metric->name, 0) == 0);
}

static bool matches_any(const struct pb_sign *signs, size_t count, const struct pb_metric *metric,
                        const struct pb_move *move)
{
    for (size_t i = 0; i < count && !is_end(&signs[i]); i++)
        if (matches(&signs[i], metric, move))
            return true;
    return false;
}

/* Relative size of a deviation; what is no ratio (events, watts, shares of looks) has none. */
static double size_of(const struct pb_metric *metric, const struct pb_move *move)
{
    bool is_ratio = metric->domain != PB_DOMAIN_COUNT && metric->domain != PB_DOMAIN_STATE &&
                    strncmp(metric->name, "throttle.", 9) != 0;

    return is_ratio && isfinite(move->shift) ? fabs(move->shift) : 0.0;
}

static struct pb_extent extent_of(const struct pb_cause *cause, const struct pb_sheet *sheet,
                                  const struct pb_bundle *bundle, size_t lead)
{
    struct pb_extent extent = {.place = bundle->moves[lead].place};

    for (size_t i = 0; i < bundle->count; i++) {
        const struct pb_move *move = &bundle->moves[i];
        const struct pb_metric *metric = &sheet->metrics[move->metric];
        bool is_own = matches_any(cause->needs, PB_CAUSE_NEEDS_MAX, metric, move);

        if (move->taken_by != 0)
            continue;
        if (is_own)
            extent.step[metric->domain] =
                fmax(extent.step[metric->domain], fabs(move->value - move->expected));
        if (is_own || matches_any(cause->also, PB_CAUSE_NEEDS_MAX, metric, move) ||
            matches_any(cause->sizes, PB_CAUSE_SIZES_MAX, metric, move))
            extent.relative = fmax(extent.relative, size_of(metric, move));
    }
    return extent;
}

/* A clock at 0.8 makes ns 1.25 times as many. */
static double inverse_of(double relative)
{
    return relative < 0.99 ? relative / (1.0 - relative) : 100.0 * relative;
}

static bool is_within(const struct pb_metric *metric, const struct pb_move *move, double relative)
{
    return fabs(move->shift) <= leeway * inverse_of(relative) + 2.0 * metric->practical;
}

static bool obeys(enum pb_law law, const struct pb_metric *metric, const struct pb_move *move,
                  const struct pb_extent *extent)
{
    bool is_here = move->place >= 0 && move->place == extent->place;

    switch (law) {
    case PB_LAW_ANY:
        return true;
    case PB_LAW_SAME:
        return is_within(metric, move, extent->relative);
    case PB_LAW_FAINT:
        return fabs(move->shift) <= faint * inverse_of(extent->relative) + metric->practical / 2.0;
    case PB_LAW_STEP:
        return fabs(move->value - move->expected) <= leeway * extent->step[metric->domain];
    case PB_LAW_PLACE:
        return is_here && is_within(metric, move, extent->relative);
    case PB_LAW_HERE:
        return is_here;
    }
    return false;
}

static bool follows(const struct pb_cause *cause, const struct pb_metric *metric,
                    const struct pb_move *move, const struct pb_extent *extent)
{
    for (size_t i = 0; i < PB_CAUSE_FOLLOWS_MAX && !is_end(&cause->follows[i]); i++)
        if (matches(&cause->follows[i], metric, move) &&
            obeys(cause->follows[i].law, metric, move, extent))
            return true;
    return false;
}

/* The unexplained move that matches and lies farthest out; count when there is none. */
static size_t farthest(const struct pb_sign *signs, size_t sign_count, const struct pb_sheet *sheet,
                       const struct pb_bundle *bundle)
{
    size_t best = bundle->count;

    for (size_t i = 0; i < bundle->count; i++) {
        const struct pb_move *move = &bundle->moves[i];

        if (move->taken_by == 0 &&
            matches_any(signs, sign_count, &sheet->metrics[move->metric], move) &&
            (best == bundle->count || fabs(move->sigmas) > fabs(bundle->moves[best].sigmas)))
            best = i;
    }
    return best;
}

static bool fits(const struct pb_cause *cause, const struct pb_sheet *sheet,
                 const struct pb_bundle *bundle, size_t *lead_out)
{
    *lead_out = farthest(cause->needs, PB_CAUSE_NEEDS_MAX, sheet, bundle);
    return *lead_out < bundle->count &&
           (is_end(cause->also) ||
            farthest(cause->also, PB_CAUSE_NEEDS_MAX, sheet, bundle) < bundle->count) &&
           farthest(cause->spares, PB_CAUSE_SPARES_MAX, sheet, bundle) == bundle->count;
}

static bool is_for_the_worse(const struct pb_metric *metric, const struct pb_move *move)
{
    return metric->better == PB_BETTER_NEITHER ||
           (metric->better == PB_BETTER_LOWER) == (move->shift > 0);
}

/* Marks what the cause explains; whatever is better than with the peers is no more than odd. */
static void take(const struct pb_sheet *sheet, struct pb_bundle *bundle,
                 struct pb_diagnosis *diagnosis)
{
    const struct pb_cause *cause = diagnosis->cause;
    enum pb_severity most = PB_SEVERITY_WARNING;

    diagnosis->extent = extent_of(cause, sheet, bundle, diagnosis->lead);
    for (size_t i = 0; i < bundle->count; i++) {
        struct pb_move *move = &bundle->moves[i];
        const struct pb_metric *metric = &sheet->metrics[move->metric];
        bool is_own =
            i == diagnosis->lead || (cause->level != PB_LEVEL_SM &&
                                     matches_any(cause->needs, PB_CAUSE_NEEDS_MAX, metric, move));

        if (move->taken_by != 0 || (!is_own && !follows(cause, metric, move, &diagnosis->extent)))
            continue;
        move->taken_by = diagnosis->number;
        diagnosis->metrics++;
        if (move->severity == PB_SEVERITY_CRITICAL)
            diagnosis->severity = PB_SEVERITY_CRITICAL;
        if (is_for_the_worse(metric, move))
            most = cause->most;
    }
    if (diagnosis->severity > most)
        diagnosis->severity = most;
}

bool pb_cause_next(const struct pb_sheet *sheet, struct pb_bundle *bundle, unsigned number,
                   struct pb_diagnosis *diagnosis_out)
{
    for (const struct pb_cause *cause = pb_causes; cause->word != NULL; cause++) {
        size_t lead;

        if (!fits(cause, sheet, bundle, &lead))
            continue;
        *diagnosis_out = (struct pb_diagnosis){
            .cause = cause, .number = number, .lead = lead, .severity = PB_SEVERITY_WARNING};
        take(sheet, bundle, diagnosis_out);
        return true;
    }
    return false;
}

size_t pb_cause_absorb(const struct pb_sheet *sheet, const struct pb_diagnosis *diagnosis,
                       struct pb_bundle *bundle)
{
    const struct pb_cause *cause = diagnosis->cause;
    size_t absorbed = 0;

    if (cause[1].word == NULL)
        return 0; /* what has no explanation explains nothing */
    for (size_t i = 0; i < bundle->count; i++) {
        struct pb_move *move = &bundle->moves[i];
        const struct pb_metric *metric = &sheet->metrics[move->metric];

        if (move->taken_by != 0 || (!matches_any(cause->needs, PB_CAUSE_NEEDS_MAX, metric, move) &&
                                    !follows(cause, metric, move, &diagnosis->extent)))
            continue;
        move->taken_by = PB_TAKEN_BY_WIDER;
        absorbed++;
    }
    return absorbed;
}

/* "905.4 MHz against 1006 MHz (-10.0%, 23 sigmas)" */
static void write_move(const struct pb_metric *metric, const struct pb_move *move, char *text,
                       size_t size)
{
    char shift[48];

    if (metric->domain == PB_DOMAIN_COUNT || metric->domain == PB_DOMAIN_STATE)
        snprintf(shift, sizeof(shift), "%+.4g", move->shift);
    else if (metric->domain == PB_DOMAIN_FRACTION)
        snprintf(shift, sizeof(shift), "%+.2g", move->shift);
    else
        snprintf(shift, sizeof(shift), "%+.1f%%", 100.0 * move->shift);
    if (move->against == PB_AGAINST_PAST)
        snprintf(text, size, "%s %.4g %s against %.4g (%s, %.1f times what repeats)", metric->name,
                 move->value, metric->unit, move->expected, shift, fabs(move->times));
    else if (isfinite(move->sigmas) && isfinite(move->expected))
        snprintf(text, size, "%s %.4g %s against %.4g (%s, %.0f sigmas)", metric->name, move->value,
                 metric->unit, move->expected, shift, fabs(move->sigmas));
    else
        snprintf(text, size, "%s %.4g %s against %.4g (%s)", metric->name, move->value,
                 metric->unit, isfinite(move->expected) ? move->expected : 0.0, shift);
}

/* The next of this diagnosis' moves by distance, behind those told already. */
static size_t next_told(const struct pb_bundle *bundle, unsigned number, size_t lead, size_t told)
{
    size_t order[8], found = 0;

    order[found++] = lead;
    while (found <= told) {
        size_t best = bundle->count;

        for (size_t i = 0; i < bundle->count; i++) {
            bool is_told = bundle->moves[i].taken_by != number;

            for (size_t k = 0; k < found; k++)
                is_told |= order[k] == i;
            if (!is_told && (best == bundle->count ||
                             fabs(bundle->moves[i].sigmas) > fabs(bundle->moves[best].sigmas)))
                best = i;
        }
        if (best == bundle->count)
            return best;
        order[found++] = best;
    }
    return order[told];
}

static void write_evidence(const struct pb_sheet *sheet, const struct pb_bundle *bundle,
                           const struct pb_diagnosis *diagnosis, char *text, size_t size)
{
    enum { TOLD_MAX = 4 };

    snprintf(text, size, "%s", diagnosis->cause->meaning);
    for (size_t k = 0; k < TOLD_MAX; k++) {
        size_t at = next_told(bundle, diagnosis->number, diagnosis->lead, k);
        size_t length = strlen(text);
        char line[PB_MESSAGE_LENGTH];

        if (at == bundle->count)
            return;
        write_move(&sheet->metrics[bundle->moves[at].metric], &bundle->moves[at], line,
                   sizeof(line));
        if (length + strlen(line) + 3 > size)
            return;
        snprintf(text + length, size - length, "%s %s", k == 0 ? ":" : ";", line);
    }
}

static void write_place(const struct pb_sheet *sheet, const struct pb_scores *scores,
                        const struct pb_bundle *bundle, const struct pb_move *lead,
                        struct pb_finding *finding)
{
    const struct pb_subject *subject = &sheet->subjects[bundle->subject];

    PB_TEXT_SET(finding->model, subject->info.model);
    switch (finding->level) {
    case PB_LEVEL_POPULATION:
        finding->group = bundle->group + 1;
        PB_TEXT_SET(finding->place, scores->groups[bundle->group].name);
        return;
    case PB_LEVEL_SLOT:
        finding->group = bundle->group + 1;
        finding->slot = subject->slot;
        snprintf(finding->place, sizeof(finding->place), "slot %lld", (long long)subject->slot);
        return;
    case PB_LEVEL_NODE:
        PB_TEXT_SET(finding->place, subject->host);
        PB_TEXT_SET(finding->host, subject->host);
        return;
    case PB_LEVEL_SM:
        snprintf(finding->place, sizeof(finding->place), "SM %lld of %s", (long long)lead->place,
                 subject->key);
        break;
    default:
        PB_TEXT_SET(finding->place, subject->key);
        break;
    }
    PB_TEXT_SET(finding->host, subject->host);
    PB_TEXT_SET(finding->device, subject->key);
}

static void write_summary(const struct pb_metric *metric, const struct pb_move *lead,
                          struct pb_finding *finding)
{
    char line[PB_MESSAGE_LENGTH];

    write_move(metric, lead, line, sizeof(line));
    if (lead->against == PB_AGAINST_PAST)
        snprintf(finding->summary, sizeof(finding->summary), "%s, its own past", line);
    else if (lead->peers > 0)
        snprintf(finding->summary, sizeof(finding->summary), "%s, the center of %zu peers", line,
                 lead->peers);
    else
        PB_TEXT_SET(finding->summary, line);
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

void pb_cause_word(const struct pb_sheet *sheet, const struct pb_scores *scores,
                   const struct pb_bundle *bundle, const struct pb_diagnosis *diagnosis,
                   struct pb_finding *finding_out)
{
    const struct pb_move *lead = &bundle->moves[diagnosis->lead];
    const struct pb_metric *metric = &sheet->metrics[lead->metric];
    const struct pb_cause *cause = diagnosis->cause;
    struct pb_finding finding = {.severity = diagnosis->severity,
                                 .level = bundle->level == PB_LEVEL_DEVICE ? cause->level
                                                                           : bundle->level,
                                 .p = family_p(scores, lead->p),
                                 .metrics = diagnosis->metrics};

    if (finding.level == PB_LEVEL_SM && lead->place < 0)
        finding.level = PB_LEVEL_DEVICE;
    write_place(sheet, scores, bundle, lead, &finding);
    write_summary(metric, lead, &finding);
    write_evidence(sheet, bundle, diagnosis, finding.evidence, sizeof(finding.evidence));
    PB_TEXT_SET(finding.cause, cause->word);
    PB_TEXT_SET(finding.advice, cause->advice);
    finding.drain =
        cause->drain && finding.severity == PB_SEVERITY_CRITICAL && finding.host[0] != '\0';
    if (metric->test[0] != '\0')
        snprintf(finding.evidence_path, sizeof(finding.evidence_path), "/devices/%s/tests/%s",
                 sheet->subjects[bundle->subject].key, metric->test);
    else
        snprintf(finding.evidence_path, sizeof(finding.evidence_path), "/devices/%s/state",
                 sheet->subjects[bundle->subject].key);
    *finding_out = finding;
}
