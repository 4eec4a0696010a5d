/*
 * plumb-outliers: which devices, slots and nodes of a fleet are out of true, and what to do.
 *
 * Reads, judges, and only then writes: every output appears whole or stays as it was. Speaks
 * Nagios: whatever could not be judged is UNKNOWN, never OK.
 */
#include <argp.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/outliers.h"
#include "h5schema/file.h"

enum { EXIT_UNKNOWN = PB_SEVERITY_UNKNOWN };

struct options {
    const char *file, *json, *hostlist, *prometheus;
    struct pb_pasts pasts;
    bool read_only;
};

static const struct argp_option option_table[] = {
    {"json", 'j', "OUT", 0, "Write JSON to OUT, or to standard output for -", 0},
    {"baseline", 'b', "BASE.h5", 0,
     "Compare with this fleet file, merged library or folder of such, too. Given again: with all "
     "of them, since several runs of a device tell how well it repeats",
     0},
    {"hostlist", 'l', "OUT", 0, "Write the nodes to drain as a Slurm hostlist", 0},
    {"prometheus", 'p', "OUT", 0, "Write metrics for the node exporter's textfile collector", 0},
    {"read-only", 'r', NULL, 0, "Do not keep the findings in FILE", 0},
    {0},
};

enum { OUTPUT_COUNT = 3 };

static bool is_standard_output(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

/* Each goes to a place of its own. NULL: not asked for. */
static void check_outputs(const char *const paths[OUTPUT_COUNT], struct argp_state *state)
{
    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        if (paths[i] != NULL && paths[i][0] == '\0')
            argp_error(state, "an output has an empty name");
        for (size_t k = 0; k < i; k++)
            if (paths[i] != NULL && paths[k] != NULL && strcmp(paths[i], paths[k]) == 0)
                argp_error(state, "only one output can go to %s",
                           is_standard_output(paths[i]) ? "standard output" : paths[i]);
    }
}

/* What is missing, or cannot be had together. */
static void check_options(const struct options *options, struct argp_state *state)
{
    if (options->file == NULL)
        argp_error(state, "FILE.h5 is missing");
    check_outputs((const char *[]){options->json, options->hostlist, options->prometheus}, state);
}

static void add_baseline(struct options *options, const char *path, struct argp_state *state)
{
    struct pb_error err = PB_ERROR_INIT;

    if (pb_pasts_add(&options->pasts, path, &err) != PB_OK)
        argp_failure(state, EXIT_UNKNOWN, 0, "UNKNOWN: %s", err.message);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct options *options = state->input;

    switch (key) {
    case 'j':
        options->json = argument;
        return 0;
    case 'b':
        add_baseline(options, argument, state);
        return 0;
    case 'l':
        options->hostlist = argument;
        return 0;
    case 'p':
        options->prometheus = argument;
        return 0;
    case 'r':
        options->read_only = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->file != NULL)
            argp_error(state, "one FILE is expected, found also \"%s\"", argument);
        options->file = argument;
        return 0;
    case ARGP_KEY_END:
        check_options(options, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
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
static enum pb_status read_baselines(const struct options *options, const struct pb_sheet *fleet,
                                     struct pb_sheet *base, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < options->pasts.count && status == PB_OK; i++) {
        size_t first = base->subject_count;
        struct pb_run run;

        status = read_fleet(options->pasts.paths[i], &run, base, err);
        if (status == PB_OK)
            status = check_baseline(fleet, base, first, options->pasts.paths[i], err);
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

static enum pb_status judge(const struct options *options, struct pb_ruling *ruling,
                            struct pb_error *err)
{
    const struct pb_score_options rates = PB_SCORE_OPTIONS_DEFAULT;
    struct pb_sheet base = {0};
    enum pb_status status = read_fleet(options->file, &ruling->run, &ruling->sheet, err);

    if (status == PB_OK)
        status = read_baselines(options, &ruling->sheet, &base, err);
    if (status == PB_OK)
        status = pb_score(&ruling->sheet, options->pasts.count == 0 ? NULL : &base, &rates,
                          &ruling->scores, err);
    if (status == PB_OK)
        status = pb_judge(&ruling->sheet, &ruling->scores, &ruling->findings, err);
    ruling->false_alarm_rate = has_enough_peers(&ruling->scores) ? rates.critical_rate : NAN;
    ruling->status = ruling->findings.worst;
    if (ruling->findings.judged == 0 && ruling->status != PB_SEVERITY_CRITICAL)
        ruling->status = PB_SEVERITY_UNKNOWN;
    pb_sheet_clear(&base);
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

static enum pb_status keep_findings(const struct options *options, const struct pb_ruling *ruling,
                                    struct pb_error *err)
{
    struct pb_finding_row *rows = NULL;
    enum pb_status status;

    if (options->read_only)
        return PB_OK;
    status = pb_ruling_rows(&ruling->findings, &rows, err);
    if (status == PB_OK)
        status = pb_file_write_findings(options->file, rows, ruling->findings.count, err);
    free(rows);
    return status;
}

static enum pb_status deliver(const struct options *options, const struct pb_ruling *ruling,
                              struct pb_error *err)
{
    struct output outputs[OUTPUT_COUNT] = {
        {options->json, &pb_ruling_json_kind, pb_ruling_write_json, NULL},
        {options->hostlist, &pb_ruling_hostlist_kind, pb_ruling_write_hostlist, NULL},
        {options->prometheus, &pb_ruling_prometheus_kind, pb_ruling_write_prometheus, NULL},
    };
    bool speaks = true; /* unless standard output is taken */
    enum pb_status status = prepare(outputs, ruling, err);

    if (status == PB_OK)
        status = keep_findings(options, ruling, err);
    for (size_t i = 0; i < OUTPUT_COUNT; i++) {
        speaks = speaks && !is_standard_output(outputs[i].path);
        if (status == PB_OK)
            status = pb_outlet_commit(outputs[i].outlet, err);
        else
            pb_outlet_abandon(outputs[i].outlet);
    }
    if (status == PB_OK && speaks)
        status = pb_ruling_print(ruling, pb_terminal_of(stdout), stdout, err);
    if (status == PB_OK && fflush(stdout) != 0)
        status = pb_fail(err, PB_IO, "standard output cannot be written");
    return status;
}

static int run(const struct options *options)
{
    struct pb_ruling ruling = {.file = options->file, .pasts = options->pasts};
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status = judge(options, &ruling, &err);

    if (status == PB_OK)
        status = deliver(options, &ruling, &err);
    if (status != PB_OK)
        fprintf(stderr, "plumb-outliers: UNKNOWN: %s\n", err.message);
    pb_findings_clear(&ruling.findings);
    pb_scores_clear(&ruling.scores);
    pb_sheet_clear(&ruling.sheet);
    return status == PB_OK ? (int)ruling.status : EXIT_UNKNOWN;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        .options = option_table,
        .parser = parse_option,
        .args_doc = "FILE.h5",
        .doc = "Compares every device of a fleet FILE with its peers: who is out of true, in what, "
               "by how much, probably why, and what to do. Nothing is done to any node.\v"
               "Exit codes, as Nagios has them: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (also usage "
               "and errors).",
    };
    struct options options = {0};
    int code;

    argp_program_version = "plumb-outliers " PLUMB_VERSION;
    argp_err_exit_status = EXIT_UNKNOWN;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    code = run(&options);
    pb_pasts_clear(&options.pasts);
    return code;
}
