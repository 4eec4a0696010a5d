/*
 * plumb-outliers: which devices, slots and nodes of a fleet are out of true, and what to do.
 *
 * Reads, judges, and only then writes: every output appears whole or stays as it was. Speaks
 * Nagios: whatever could not be judged is UNKNOWN, never OK.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/verdict/baseline.h"
#include "analysis/verdict/exact_states.h"
#include "analysis/verdict/trend.h"
#include "cli/command_line.h"
#include "cli/outliers.h"
#include "h5schema/file.h"

enum { EXIT_UNKNOWN = PB_SEVERITY_UNKNOWN };

struct options {
    const char *file, *json, *hostlist, *prometheus, *policy, *floors;
    struct pb_pasts pasts, history;
    bool read_only;
};

enum { OUTPUT_COUNT = 4 };

static bool is_standard_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* All values of an option that may be given again. */
static enum pb_status add_pasts(const struct pb_command_line *line, enum pb_option_id id,
                                struct pb_pasts *pasts, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    const char *path;
    size_t at = 0;

    while (status == PB_OK && (path = pb_command_line_next(line, id, &at)) != NULL)
        status = pb_pasts_add(pasts, path, err);
    return status;
}

static enum pb_status read_options(const struct pb_command_line *line, struct options *options,
                                   struct pb_error *err)
{
    enum pb_status status = add_pasts(line, PB_OPTION_BASELINE, &options->pasts, err);

    if (status == PB_OK)
        status = add_pasts(line, PB_OPTION_HISTORY, &options->history, err);
    options->file = line->arguments[0];
    options->json = pb_command_line_text(line, PB_OPTION_JSON);
    options->hostlist = pb_command_line_text(line, PB_OPTION_HOSTLIST);
    options->prometheus = pb_command_line_text(line, PB_OPTION_PROMETHEUS);
    options->policy = pb_command_line_text(line, PB_OPTION_POLICY);
    options->floors = pb_command_line_text(line, PB_OPTION_FLOORS);
    options->read_only = pb_command_line_has(line, PB_OPTION_READ_ONLY);
    return status;
}

/* Each goes to a place of its own. */
static enum pb_status check_outputs(const struct options *options, struct pb_error *err)
{
    const char *const paths[OUTPUT_COUNT] = {options->json, options->hostlist, options->prometheus,
                                             options->floors};

    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        if (paths[i] != NULL && paths[i][0] == '\0')
            return pb_fail(err, PB_INVALID, "an output has an empty name");
        for (size_t k = 0; k < i; k++)
            if (paths[i] != NULL && paths[k] != NULL && strcmp(paths[i], paths[k]) == 0)
                return pb_fail(err, PB_INVALID, "only one output can go to %s",
                               is_standard_output(paths[i]) ? "standard output" : paths[i]);
    }
    return PB_OK;
}

/* ---- judging ---- */

/* Reading takes a second or so for a device's standard battery: on a terminal one sees how far. */
static void show_progress(const char *path, size_t done, size_t count)
{
    fprintf(stderr, "\r%s: %zu of %zu devices \033[K", path, done, count);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static enum pb_status read_fleet(const char *path, struct pb_run *run_out, struct pb_sheet *sheet,
                                 struct pb_error *err)
{
    enum pb_status status =
        pb_outliers_read(path, isatty(STDERR_FILENO) ? show_progress : NULL, run_out, sheet, err);

    clear_progress();
    return status;
}

/* Does a baseline, of which these subjects are, have any device of a model that the fleet has? */
static enum pb_status check_baseline(const struct pb_sheet *fleet, const struct pb_sheet *base,
                                     size_t first, const char *path, struct pb_error *err)
{
    const char *model = "none";

    for (size_t i = first; i < base->subject_count; i++) {
        const char *known = base->subjects[i].info.model;

        for (size_t j = 0; j < fleet->subject_count; j++)
            if (known[0] != '\0' && strcmp(fleet->subjects[j].info.model, known) == 0)
                return PB_OK;
        if (known[0] != '\0')
            model = known;
    }
    return pb_fail(err, PB_INVALID, "%s: expected a model of the fleet, found none (but %s)", path,
                   model);
}

/* All of them into one sheet: the last row of a device counts where only one does. */
static enum pb_status read_pasts(const struct pb_pasts *pasts, struct pb_sheet *sheet_out,
                                 struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < pasts->count && status == PB_OK; i++) {
        size_t first = sheet_out->subject_count;
        struct pb_run run;

        status = read_fleet(pasts->paths[i], &run, sheet_out, err);
        for (size_t k = first; k < sheet_out->subject_count; k++)
            sheet_out->subjects[k].run = i;
    }
    return status;
}

/* Each file of a baseline must have something to say of the fleet. */
static enum pb_status check_baselines(const struct pb_pasts *pasts, const struct pb_sheet *fleet,
                                      const struct pb_sheet *base, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (pasts->count == 0)
        return PB_OK;
    for (size_t first = 0; first < base->subject_count && status == PB_OK;) {
        size_t run = base->subjects[first].run;

        status = check_baseline(fleet, base, first, pasts->paths[run], err);
        while (first < base->subject_count && base->subjects[first].run == run)
            first++;
    }
    return status;
}

/* May anything be CRITICAL because of its peers? */
static bool has_enough_peers(const struct pb_scores *scores)
{
    for (size_t i = 0; i < scores->group_count; i++)
        if (scores->groups[i].sufficient)
            return true;
    return false;
}

/* What a fleet is compared with. */
struct past {
    struct pb_sheet base, history;
    struct pb_trends trends;
};

/* Of a history tonight's own file is no part; of a baseline it is a finding. */
static enum pb_status read_past(const struct options *options, struct pb_sheet *sheet,
                                struct past *past, struct pb_error *err)
{
    enum pb_status status = read_pasts(&options->history, &past->history, err);

    if (status == PB_OK)
        status = pb_baseline_drop_copies(sheet, &past->history, err);
    for (size_t i = 0; i < sheet->subject_count; i++)
        sheet->subjects[i].is_own_baseline = false;
    if (status == PB_OK)
        status = read_pasts(&options->pasts, &past->base, err);
    if (status == PB_OK)
        status = check_baselines(&options->pasts, sheet, &past->base, err);
    if (status == PB_OK)
        status = pb_baseline_drop_copies(sheet, &past->base, err);
    return status;
}

static enum pb_status score(const struct options *options, struct pb_ruling *ruling,
                            struct past *past, struct pb_error *err)
{
    const struct pb_score_options rates = PB_SCORE_OPTIONS_DEFAULT;
    const struct pb_sheet *base = options->pasts.count == 0 ? NULL : &past->base;
    enum pb_status status = pb_exact_states_add(&ruling->sheet, base, err);

    pb_policy_set_practical(&ruling->policy, &ruling->sheet);
    if (status == PB_OK)
        status = pb_score(&ruling->sheet, base, &rates, &ruling->scores, err);
    if (status != PB_OK)
        return status;
    if (options->history.count > 0)
        status = pb_trends_find(&ruling->sheet, &past->history, &ruling->scores,
                                rates.critical_rate, &past->trends, err);
    ruling->evenness = pb_evenness_of(&ruling->sheet, &ruling->scores);
    ruling->false_alarm_rate = has_enough_peers(&ruling->scores) ? rates.critical_rate : NAN;
    return status;
}

static enum pb_status judge(const struct options *options, struct pb_ruling *ruling,
                            struct pb_error *err)
{
    struct past past = {0};
    const struct pb_judge_options extras = {.policy = &ruling->policy,
                                            .baseline = &past.base,
                                            .trends = &past.trends,
                                            .references = &ruling->references};
    enum pb_status status =
        options->policy == NULL ? PB_OK : pb_policy_load(options->policy, &ruling->policy, err);

    if (status == PB_OK)
        status = pb_references_load(&ruling->references, err);
    if (status == PB_OK)
        status = read_fleet(options->file, &ruling->run, &ruling->sheet, err);
    if (status == PB_OK)
        status = read_past(options, &ruling->sheet, &past, err);
    if (status == PB_OK)
        status = score(options, ruling, &past, err);
    if (status == PB_OK)
        status = pb_judge(&ruling->sheet, &ruling->scores, &extras, &ruling->findings, err);
    ruling->status = ruling->findings.worst;
    if (ruling->findings.judged == 0 && ruling->status != PB_SEVERITY_CRITICAL)
        ruling->status = PB_SEVERITY_UNKNOWN;
    pb_trends_clear(&past.trends);
    pb_sheet_clear(&past.history);
    pb_sheet_clear(&past.base);
    return status;
}

/* ---- delivering ---- */

/* The kinds of output, by one table: where to, and what writes it. */
struct output {
    const char *path; /* NULL: not wanted */
    const struct pb_outlet_kind *kind;
    enum pb_status (*write)(const struct pb_ruling *ruling, FILE *file, struct pb_error *err);
    struct pb_outlet *outlet;
};

/* Whatever may fail for want of room or rights fails here, before anything is replaced. */
static enum pb_status prepare(struct output *outputs, const struct pb_ruling *ruling,
                              struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < OUTPUT_COUNT && status == PB_OK; i++) {
        struct output *output = &outputs[i];

        if (output->path == NULL)
            continue;
        status = pb_outlet_open(output->path, output->kind, &output->outlet, err);
        if (status == PB_OK)
            status = output->write(ruling, pb_outlet_file(output->outlet), err);
        if (status == PB_OK)
            status = pb_outlet_flush(output->outlet, err);
    }
    return status;
}

static enum pb_status deliver(const struct options *options, const struct pb_ruling *ruling,
                              struct pb_error *err)
{
    struct output outputs[OUTPUT_COUNT] = {
        {options->json, &pb_ruling_json_kind, pb_ruling_write_json, NULL},
        {options->hostlist, &pb_ruling_hostlist_kind, pb_ruling_write_hostlist, NULL},
        {options->prometheus, &pb_ruling_prometheus_kind, pb_ruling_write_prometheus, NULL},
        {options->floors, &pb_ruling_floors_kind, pb_ruling_write_floors, NULL},
    };
    bool speaks = true; /* unless standard output is taken */
    enum pb_status status = prepare(outputs, ruling, err);

    if (status == PB_OK && !options->read_only)
        status = pb_ruling_store(ruling, options->file, err);
    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        speaks = speaks && !is_standard_output(outputs[i].path);
        if (status == PB_OK)
            status = pb_outlet_commit(outputs[i].outlet, err);
        else
            pb_outlet_abandon(outputs[i].outlet);
    }
    if (status == PB_OK && speaks)
        status = pb_ruling_print(ruling, pb_terminal_of(stdout), stdout, err);
    return status;
}

static int run(const struct pb_command_line *line)
{
    struct options options = {0};
    struct pb_ruling ruling = {.file = line->arguments[0]};
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = read_options(line, &options, &err);

    ruling.pasts = options.pasts;
    if (status == PB_OK)
        status = check_outputs(&options, &err);
    if (status == PB_OK)
        status = judge(&options, &ruling, &err);
    if (status == PB_OK)
        status = deliver(&options, &ruling, &err);
    if (status != PB_OK)
        pb_command_print_error(PB_PROGRAM_OUTLIERS, &err);
    pb_findings_clear(&ruling.findings);
    pb_policy_clear(&ruling.policy);
    pb_references_clear(&ruling.references);
    pb_scores_clear(&ruling.scores);
    pb_sheet_clear(&ruling.sheet);
    pb_pasts_clear(&options.pasts);
    pb_pasts_clear(&options.history);
    return status == PB_OK ? (int)ruling.status : EXIT_UNKNOWN;
}

int main(int argc, char **argv)
{
    struct pb_command_line line;
    int code;

    if (pb_command_begin(PB_PROGRAM_OUTLIERS, argc, argv, &line, &code)) {
        code = run(&line);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_OUTLIERS, code, EXIT_UNKNOWN);
}
