/* What concerns groups: two populations, and devices set up unlike their peers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/group.h"
#include "analysis/verdict/judge.h"

/* Attributes of the driver's description, and behind them those of the state. */
enum { ATTRIBUTE_PCIE = PB_ATTRIBUTE_COUNT, ATTRIBUTE_NONE };

/* A side of a split keeps to one value of the attribute that separates it, but for a tenth. */
static const double agreement = 0.9;

static const char *name_of(int attribute)
{
    return attribute == ATTRIBUTE_PCIE ? "PCIe link"
                                       : pb_attribute_name((enum pb_attribute)attribute);
}

static void text_of(const struct pb_sheet *sheet, size_t subject, int attribute,
                    char text_out[PB_TEXT_LENGTH])
{
    if (attribute == ATTRIBUTE_PCIE)
        snprintf(text_out, PB_TEXT_LENGTH, "gen %.0f x%.0f",
                 pb_sheet_cell(sheet, subject, pb_sheet_find(sheet, "nvml.pcie_generation")).value,
                 pb_sheet_cell(sheet, subject, pb_sheet_find(sheet, "nvml.pcie_width")).value);
    else
        pb_attribute_text(&sheet->subjects[subject].info, (enum pb_attribute)attribute, text_out);
}

/* The first member of a side names its value; do the others of that side have it, and only they? */
static bool separates(const struct pb_sheet *sheet, const struct pb_group *group, size_t metric,
                      double boundary, int attribute)
{
    char texts[2][PB_TEXT_LENGTH] = {"", ""}, text[PB_TEXT_LENGTH];
    size_t seen = 0, agreeing = 0;

    for (size_t i = 0; i < group->member_count; i++) {
        double value = pb_sheet_cell(sheet, group->members[i], metric).value;
        int side = value >= boundary;

        text_of(sheet, group->members[i], attribute, text);
        if (isnan(value) || text[0] == '\0')
            continue;
        if (texts[side][0] == '\0')
            PB_TEXT_SET(texts[side], text);
        seen++;
        agreeing += strcmp(text, texts[side]) == 0 && strcmp(text, texts[1 - side]) != 0;
    }
    return texts[0][0] != '\0' && texts[1][0] != '\0' &&
           (double)agreeing >= agreement * (double)seen;
}

static int separator(const struct pb_sheet *sheet, const struct pb_group *group, size_t metric,
                     const struct pb_norm *norm)
{
    double boundary = (norm->split_low + norm->split_high) / 2.0;

    for (int attribute = 0; attribute < ATTRIBUTE_NONE; attribute++)
        if (separates(sheet, group, metric, boundary, attribute))
            return attribute;
    return ATTRIBUTE_NONE;
}

static void word_split(const struct pb_metric *metric, const struct pb_norm *norm, int attribute,
                       struct pb_finding *finding)
{
    PB_TEXT_SET(finding->metric, metric->name);
    PB_TEXT_SET(finding->unit, metric->unit);
    finding->value = norm->split_high;
    finding->expected = norm->split_low;
    finding->peers = norm->peers;
    PB_TEXT_SET(finding->cause, attribute == ATTRIBUTE_NONE ? "unexplained" : "configuration");
    snprintf(finding->summary, sizeof(finding->summary),
             "%zu devices fall in two: %s is about %.4g or about %.4g %s", norm->peers,
             metric->name, norm->split_low, norm->split_high, metric->unit);
    if (attribute == ATTRIBUTE_NONE)
        PB_TEXT_SET(finding->evidence, "no attribute that the driver tells separates the two");
    else
        snprintf(finding->evidence, sizeof(finding->evidence), "the %s separates the two",
                 name_of(attribute));
    PB_TEXT_SET(finding->advice,
                attribute == ATTRIBUTE_NONE
                    ? "compare a device of either side; judge them against their own side"
                    : "give all devices of the model the same configuration");
}

/* One finding for all metrics that one attribute (or none) separates. */
static enum pb_status judge_split_group(struct pb_verdict *verdict, size_t group_index)
{
    const struct pb_scores *scores = verdict->scores;
    const struct pb_group *group = &scores->groups[group_index];
    struct pb_finding findings[ATTRIBUTE_NONE + 1];
    enum pb_status status = PB_OK;

    for (int attribute = 0; attribute <= ATTRIBUTE_NONE; attribute++)
        findings[attribute] = pb_finding_blank(PB_SEVERITY_WARNING, PB_LEVEL_POPULATION);
    for (size_t m = 0; m < scores->metric_count; m++) {
        const struct pb_norm *norm = &scores->norms[group_index * scores->metric_count + m];
        int attribute;

        if (!norm->split)
            continue;
        attribute = separator(verdict->sheet, group, m, norm);
        if (findings[attribute].metrics++ == 0)
            word_split(&verdict->sheet->metrics[m], norm, attribute, &findings[attribute]);
    }
    for (int attribute = 0; attribute <= ATTRIBUTE_NONE && status == PB_OK; attribute++) {
        PB_TEXT_SET(findings[attribute].place, group->name);
        if (findings[attribute].metrics > 0)
            status = pb_verdict_add(verdict, &findings[attribute], NULL, NULL);
    }
    return status;
}

enum pb_status pb_judge_splits(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++)
        status = judge_split_group(verdict, g);
    return status;
}

static void word_odd(const struct pb_subject *subject, enum pb_attribute attribute,
                     const char *text, const char *usual, size_t others, struct pb_finding *finding)
{
    bool is_ecc_off = attribute == PB_ATTRIBUTE_ECC && strcmp(text, "off") == 0;

    pb_finding_place(subject, finding);
    PB_TEXT_SET(finding->cause, is_ecc_off ? "ecc_off" : "configuration");
    finding->peers = others;
    snprintf(finding->summary, sizeof(finding->summary), "%s is %s, but %s with %zu of its peers",
             pb_attribute_name(attribute), text, usual, others);
    snprintf(finding->evidence, sizeof(finding->evidence), "as the driver tells it");
    snprintf(finding->evidence_path, sizeof(finding->evidence_path), "/devices/%s", subject->key);
    PB_TEXT_SET(finding->advice, is_ecc_off ? "switch ECC on (nvidia-smi -e 1) and reset the device"
                                            : "give it the configuration of its peers");
}

static enum pb_status judge_odd(struct pb_verdict *verdict, const struct pb_group *group,
                                enum pb_attribute attribute, const struct pb_usual *usual)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < group->member_count && status == PB_OK; i++) {
        const struct pb_subject *subject = &verdict->sheet->subjects[group->members[i]];
        struct pb_finding finding = pb_finding_blank(PB_SEVERITY_WARNING, PB_LEVEL_DEVICE);
        char text[PB_TEXT_LENGTH];

        pb_attribute_text(&subject->info, attribute, text);
        if (text[0] == '\0' || strcmp(text, usual->text[attribute]) == 0)
            continue;
        word_odd(subject, attribute, text, usual->text[attribute], usual->count[attribute],
                 &finding);
        status = pb_verdict_add_device(verdict, &finding, group->members[i]);
    }
    return status;
}

enum pb_status pb_judge_configuration(struct pb_verdict *verdict)
{
    enum pb_status status = PB_OK;

    for (size_t g = 0; g < verdict->scores->group_count && status == PB_OK; g++) {
        const struct pb_group *group = &verdict->scores->groups[g];
        struct pb_usual usual;

        pb_group_usual(verdict->sheet, group, &usual);
        for (int a = 0; a < PB_ATTRIBUTE_COUNT && status == PB_OK; a++)
            if (a != PB_ATTRIBUTE_SM_COUNT && usual.text[a][0] != '\0') /* floor-sweeping is fine */
                status = judge_odd(verdict, group, (enum pb_attribute)a, &usual);
    }
    return status;
}
