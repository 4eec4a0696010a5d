/* The verdict for people: findings worst first, folded to the terminal's width; see outliers.h. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/sensitivity.h"
#include "cli/outliers.h"
#include "core/text.h"

enum {
    INDENT = 10, /* as wide as "CRITICAL" and a gap */
    MEMBERS_SHOWN = 64,
    FINDINGS_SHOWN = 20 /* more are in the JSON: fifty are too many to read */
};

/* A text that goes on where the last one ended. */
struct page {
    FILE *file;
    struct pb_terminal terminal;
    size_t column;
};

static const char *colour_of(enum pb_severity severity)
{
    static const char *const colours[] = {[PB_SEVERITY_OK] = "\033[32m",
                                          [PB_SEVERITY_WARNING] = "\033[33m",
                                          [PB_SEVERITY_CRITICAL] = "\033[1;31m",
                                          [PB_SEVERITY_UNKNOWN] = "\033[35m"};

    return colours[severity];
}

static void print_severity(struct page *page, enum pb_severity severity)
{
    const char *name = pb_severity_name(severity);

    if (page->terminal.colours)
        fprintf(page->file, "%s%s\033[0m", colour_of(severity), name);
    else
        fputs(name, page->file);
    page->column += strlen(name);
}

static void end_line(struct page *page)
{
    fputc('\n', page->file);
    page->column = 0;
}

static void indent_to(struct page *page, size_t column)
{
    if (page->column > 0 && page->column >= column) { /* never let two texts touch */
        fputc(' ', page->file);
        page->column++;
    }
    for (; page->column < column; page->column++)
        fputc(' ', page->file);
}

/* Columns of the first `length` bytes of UTF-8. */
static size_t columns_of(const char *text, size_t length)
{
    size_t columns = 0;

    for (size_t i = 0; i < length; i++)
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
    return columns;
}

/* Prints words from the page's column on, and in later lines from `indent` on. */
static void print_folded(struct page *page, size_t indent, const char *words)
{
    char escaped[4 * PB_MESSAGE_LENGTH];
    const char *text = escaped;
    bool first = true; /* of its line, as far as this text goes */

    PB_TEXT_ESCAPE(escaped, words);
    while (*(text += strspn(text, " ")) != '\0') {
        size_t length = strcspn(text, " ");
        size_t columns = columns_of(text, length);

        if (page->column + !first + columns > page->terminal.width && page->column > indent) {
            end_line(page);
            indent_to(page, indent);
            first = true;
        }
        if (!first)
            fputc(' ', page->file);
        fwrite(text, 1, length, page->file);
        page->column += columns + !first;
        first = false;
        text += length;
    }
}

static void print_paragraph(struct page *page, const char *lead, const char *text)
{
    if (text[0] == '\0')
        return;
    indent_to(page, INDENT);
    fputs(lead, page->file);
    page->column += strlen(lead);
    print_folded(page, INDENT + strlen(lead), text);
    end_line(page);
}

/* "devices: n1.gpu0 n1.gpu3 and 12 more": who it is, where the place does not say it. */
static void print_members(struct page *page, const struct pb_ruling *ruling, const char *lead,
                          const struct pb_members *members)
{
    char text[MEMBERS_SHOWN * (PB_KEY_LENGTH + 1) + 32] = "";

    for (size_t i = 0; i < members->count && i < MEMBERS_SHOWN; i++) {
        size_t length = strlen(text);

        snprintf(text + length, sizeof(text) - length, "%s%s", i == 0 ? "" : " ",
                 ruling->features.devices[members->devices[i]].key);
    }
    if (members->count > MEMBERS_SHOWN)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), " and %zu more",
                 members->count - MEMBERS_SHOWN);
    print_paragraph(page, lead, text);
}

static void print_mute(struct page *page, const struct pb_finding *finding)
{
    char text[PB_NAME_LENGTH + PB_MUTE_REASON_LENGTH + 4];

    snprintf(text, sizeof(text), "%s%s%s", finding->muted_until,
             finding->mute_reason[0] == '\0' ? "" : ": ", finding->mute_reason);
    print_paragraph(page, "Muted by the site until ", finding->muted_until[0] == '\0' ? "" : text);
}

static void print_finding(struct page *page, const struct pb_ruling *ruling,
                          const struct pb_finding *finding)
{
    end_line(page);
    print_severity(page, finding->severity);
    indent_to(page, INDENT);
    print_folded(page, INDENT, finding->place);
    fputs(": ", page->file);
    page->column += 2;
    print_folded(page, INDENT, finding->cause);
    end_line(page);
    print_paragraph(page, "", finding->summary);
    if (finding->members.count > 1)
        print_members(page, ruling, "Devices: ", &finding->members);
    print_members(page, ruling, "The others: ", &finding->counterparts);
    print_paragraph(page, "Evidence: ", finding->evidence);
    print_paragraph(page, "Action: ", finding->advice);
    print_mute(page, finding);
}

/* ---- the first line ---- */

/* "clock 1%, l2 2%, dram 3%": of each component the worst of its times and rates. */
static void list_detectable_shifts(const struct pb_ruling *ruling, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int part = 0; part < PB_PART_COUNT && length < size; part++) {
        struct pb_sensitivity worst;

        if (pb_sensitivity_of_fleet(&ruling->features, &ruling->scores, (enum pb_part)part, &worst))
            length += (size_t)snprintf(text + length, size - length, "%s%s %.2g%%",
                                       length == 0 ? "" : ", ", pb_part_name((enum pb_part)part),
                                       100.0 * worst.shift);
    }
}

static size_t count_severity(const struct pb_findings *findings, enum pb_severity severity)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->count; i++)
        count += findings->items[i].severity == severity;
    return count;
}

/* ": 1 CRITICAL, 2 WARNING" or that there is nothing to report. */
static void list_counts(const struct pb_findings *findings, char *text, size_t size)
{
    static const enum pb_severity order[] = {PB_SEVERITY_CRITICAL, PB_SEVERITY_UNKNOWN,
                                             PB_SEVERITY_WARNING};
    size_t length = 0;

    snprintf(text, size, ": no anomalies found");
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && length < size; i++) {
        size_t count = count_severity(findings, order[i]);

        if (count > 0)
            length += (size_t)snprintf(text + length, size - length, "%s %zu %s",
                                       length == 0 ? ":" : ",", count, pb_severity_name(order[i]));
    }
}

/* Among enough peers false alarms have a rate; of a device's own history none could be stated. */
static void word_alarms(const struct pb_ruling *ruling, char *text, size_t size)
{
    const char *history = "";

    if (ruling->runs.count > 0)
        history =
            " Compared with its own earlier runs a device is CRITICAL at twice the run-to-run "
            "tolerance.";
    if (isfinite(ruling->false_alarm_rate))
        snprintf(text, size, " A healthy fleet has a false CRITICAL in %g%% of runs%s.%s",
                 100.0 * ruling->false_alarm_rate,
                 ruling->runs.count > 0 ? " by comparison with peers" : "", history);
    else
        snprintf(text, size, "%s", history);
}

static void word_evenness(const struct pb_ruling *ruling, char *text, size_t size)
{
    const struct pb_evenness *evenness = &ruling->evenness;

    text[0] = '\0';
    if (isfinite(evenness->value) && evenness->value > 0.0)
        snprintf(text, size,
                 " Evenness, the lowest speed over its group's median: %.3f (%s of %.96s).",
                 evenness->value, ruling->features.metrics[evenness->metric].name,
                 ruling->features.devices[evenness->device].key);
}

/* What was judged, what came of it, how often that is a false alarm, what could have been seen. */
static void print_headline(struct page *page, const struct pb_ruling *ruling)
{
    const struct pb_findings *findings = &ruling->findings;
    size_t groups = ruling->scores.group_count;
    char text[1024], counts[128], shifts[256], alarms[256], evenness[256];

    print_severity(page, ruling->status);
    indent_to(page, INDENT);
    list_counts(findings, counts, sizeof(counts));
    list_detectable_shifts(ruling, shifts, sizeof(shifts));
    word_alarms(ruling, alarms, sizeof(alarms));
    word_evenness(ruling, evenness, sizeof(evenness));
    snprintf(text, sizeof(text),
             "%zu of %zu %sdevices judged, in %zu peer group%s, by %zu metrics%s.%s%s%s%s%s",
             findings->judged, findings->judged + findings->skipped,
             pb_ruling_simulated(ruling) > 0 ? "simulated " : "", groups, groups == 1 ? "" : "s",
             ruling->scores.metric_count, counts, alarms,
             shifts[0] == '\0' ? "" : " Minimum detectable shift, the worst of each component: ",
             shifts, shifts[0] == '\0' ? "" : ".", evenness);
    print_folded(page, INDENT, text);
    end_line(page);
}

/* ---- what to type ---- */

/* Commands are for a shell: only what means nothing to any, inside or outside of quotes. */
static void print_reason(FILE *file, const char *reason)
{
    fputs("plumb: ", file);
    for (const char *at = reason; *at != '\0'; at++)
        fputc(isalnum((unsigned char)*at) || strchr(",.:;_-/+%", *at) != NULL ? *at : ' ', file);
}

static void print_drain(FILE *file, const struct pb_drain *drain)
{
    char name[4 * PB_KEY_LENGTH];

    if (!pb_text_is_host(drain->host)) {
        PB_TEXT_ESCAPE(name, drain->host);
        fprintf(file, "# no host's name, so no command: %s\n", name);
        return;
    }
    fprintf(file, "scontrol update NodeName=%s State=DRAIN Reason=\"", drain->host);
    print_reason(file, drain->reason);
    fputs("\"\n", file);
}

static enum pb_status print_drains(struct page *page, const struct pb_ruling *ruling,
                                   struct pb_error *err)
{
    struct pb_drain *drains;
    size_t count;
    enum pb_status status = pb_ruling_drains(ruling, &drains, &count, err);

    if (status != PB_OK)
        return status;
    if (count > 0)
        fprintf(page->file, "\nCommands to drain %s (%snone was run):\n",
                count == 1 ? "this node" : "these nodes",
                pb_ruling_simulated(ruling) > 0 ? "simulated; " : "");
    for (size_t i = 0; i < count; i++)
        print_drain(page->file, &drains[i]);
    free(drains);
    return PB_OK;
}

enum pb_status pb_ruling_print(const struct pb_ruling *ruling, struct pb_terminal terminal,
                               FILE *file, struct pb_error *err)
{
    struct page page = {file, terminal, 0};
    const struct pb_findings *findings = &ruling->findings;

    print_headline(&page, ruling);
    for (size_t i = 0; i < findings->count && i < FINDINGS_SHOWN; i++)
        print_finding(&page, ruling, &findings->items[i]);
    if (findings->count > FINDINGS_SHOWN)
        fprintf(file, "\n%zu more findings: --json OUT has all of them.\n",
                findings->count - FINDINGS_SHOWN);
    return print_drains(&page, ruling, err);
}
