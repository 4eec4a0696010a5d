/* The command lines of plumb-probe and plumb-run; see options.h. */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_BACKEND = 256,
    KEY_DEVICE,
    KEY_PROFILE,
    KEY_SEED,
    KEY_FAULT,
    KEY_BATTERY,
    KEY_TESTS,
    KEY_SUSTAIN,
    KEY_LIST,
    KEY_SERVE,
    KEY_QUIET,
    KEY_FLEET,
    KEY_PROBE,
    KEY_DEADLINE,
    KEY_SPOOL,
    KEY_RESUME,
};

static const struct argp_option closing_options[] = {
    {"no-progress", KEY_QUIET, NULL, 0, "Say nothing while measuring", 1},
    {0},
};

static const struct argp_option measuring_options[] = {
    {"backend", KEY_BACKEND, "NAME", 0,
     "auto, cuda or sim; auto takes real GPUs and fails without one", 0},
    {"device", KEY_DEVICE, "DEVICE", 0, "Index, UUID or PCI bus id", 0},
    {"profile", KEY_PROFILE, "NAME|FILE", 0, "Simulate this GPU (no hardware is measured)", 0},
    {"seed", KEY_SEED, "N", 0, "Seed of random orders and of simulated noise", 0},
    {"fault", KEY_FAULT, "SPEC", 0, "Plant a fault in simulated devices; may be repeated", 0},
    {"battery", KEY_BATTERY, "NAME", 0, "quick, standard or full (default: standard)", 0},
    {"tests", KEY_TESTS, "A,B,...", 0, "Run these tests instead of a battery", 0},
    {"sustain", KEY_SUSTAIN, "SECONDS", 0, "Load of the test sustain (default: 1; full: 10)", 0},
    {"output", 'o', "FILE.h5", 0, "Write the results there", 0},
    {0},
};

static const struct argp_option probe_options[] = {
    {"list", KEY_LIST, NULL, 0, "List the tests", 0},
    {"fleet", KEY_FLEET, "FILE.json", OPTION_HIDDEN, NULL, 0},
    {"serve", KEY_SERVE, NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static const struct argp_option run_options[] = {
    {"fleet", KEY_FLEET, "FLEET.json", 0, "Simulate the devices of this fleet, one a rank", 0},
    {"probe", KEY_PROBE, "PATH", 0, "The probe to start (default: plumb-probe beside this)", 0},
    {"deadline", KEY_DEADLINE, "SECONDS", 0, "Kill a test that takes longer (default: 120)", 0},
    {"spool", KEY_SPOOL, "DIR", 0, "Keep results there as they come (default: OUTPUT.spool)", 0},
    {"resume", KEY_RESUME, NULL, 0, "Measure only what output and spool do not have yet", 0},
    {0},
};

static const char probe_doc[] =
    "Measures the memory hierarchy of one GPU.\v"
    "Exit status: 0 complete, 3 partial (the file says what is missing), 1 failed, 2 usage.";

static const char run_doc[] =
    "Measures the memory hierarchy of every GPU of a job, one for each MPI rank.\v"
    "Start it with mpirun or srun, one rank for each GPU. Each rank keeps its results in a spool "
    "until rank 0 has put the fleet file in place; plumb-merge rebuilds a file from the spools of "
    "a job that was killed. With PLUMB_SHOW_MEMORY set, rank 0 tells the most memory it has used."
    "\n\n"
    "Exit status: 0 complete, 3 partial (the file says what is missing), 1 failed, 2 usage.";

/* ---- values ---- */

/* What argp's parsers share. */
struct parse {
    struct pb_options *options;
    struct pb_error *err;
};

static error_t refuse(const struct parse *parse, const char *option, const char *expected,
                      const char *found)
{
    pb_fail(parse->err, PB_INVALID, "--%s: expected %s, found \"%s\"", option, expected, found);
    return EINVAL;
}

static error_t set_seed(const struct parse *parse, const char *text)
{
    unsigned long long value;
    char *end;

    errno = 0;
    value = strtoull(text, &end, 0);
    if (*text < '0' || *text > '9' || *end != '\0' || errno != 0)
        return refuse(parse, "seed", "a number from 0 to 2^64-1", text);
    parse->options->selection.seed = value;
    return 0;
}

/* Seconds above 0, at most `most`. */
static error_t set_seconds(const struct parse *parse, const char *option, const char *text,
                           double most, double *seconds_out)
{
    char *end, expected[64];
    double value = strtod(text, &end);

    if (end != text && *end == '\0' && value > 0 && value <= most) {
        *seconds_out = value;
        return 0;
    }
    snprintf(expected, sizeof(expected), "seconds from above 0 to %g", most);
    return refuse(parse, option, expected, text);
}

static error_t add_fault(const struct parse *parse, const char *text)
{
    struct pb_selection *selection = &parse->options->selection;
    size_t count = selection->fault_count + 1;
    const char **larger = realloc(selection->faults, count * sizeof(*larger));

    if (larger == NULL)
        return ENOMEM;
    larger[count - 1] = text;
    selection->faults = larger;
    selection->fault_count = count;
    return 0;
}

/* ---- argp ---- */

static error_t parse_common(int key, char *text, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct pb_options *options = parse->options;

    switch (key) {
    case KEY_BACKEND:
        options->selection.backend = text;
        return 0;
    case KEY_DEVICE:
        if (*text == '\0') /* a variable that is not set: never the first device instead */
            return refuse(parse, "device", "an index, a UUID or a PCI bus id", text);
        options->selection.selector = text;
        return 0;
    case KEY_PROFILE:
        options->selection.profile = text;
        return 0;
    case KEY_SEED:
        return set_seed(parse, text);
    case KEY_FAULT:
        return add_fault(parse, text);
    case KEY_BATTERY:
        options->selection.battery = text;
        return 0;
    case KEY_TESTS:
        options->selection.tests = text;
        return 0;
    case KEY_SUSTAIN:
        return set_seconds(parse, "sustain", text, 3600, &options->selection.sustain_seconds);
    case 'o':
        options->output = text;
        return 0;
    case KEY_QUIET:
        options->quiet = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_own(int key, char *text, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct pb_options *options = parse->options;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = state->child_inputs[1] = parse;
        state->child_inputs[2] = &options->wish;
        return 0;
    case KEY_LIST:
        options->wish = PB_WISH_LIST;
        return 0;
    case KEY_SERVE:
        options->wish = PB_WISH_SERVE;
        return 0;
    case KEY_FLEET:
        options->selection.fleet = text;
        return 0;
    case KEY_PROBE:
        options->probe = text;
        return 0;
    case KEY_DEADLINE:
        return set_seconds(parse, "deadline", text, 1e6, &options->deadline_seconds);
    case KEY_SPOOL:
        options->spool = text;
        return 0;
    case KEY_RESUME:
        options->resume = true;
        return 0;
    case ARGP_KEY_ARG:
        pb_fail(parse->err, PB_INVALID, "unexpected argument \"%s\"", text);
        return EINVAL;
    case ARGP_KEY_ERROR:
        pb_command_blame(state, parse->err);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp measuring_argp = {
    measuring_options, parse_common, NULL, NULL, NULL, NULL, NULL};
static const struct argp closing_argp = {
    closing_options, parse_common, NULL, NULL, NULL, NULL, NULL};
static const struct argp_child children[] = {{&measuring_argp, 0, NULL, -1},
                                             {&closing_argp, 0, NULL, 1},
                                             {&pb_command_argp, 0, NULL, 2},
                                             {0}};
static const struct argp probe_argp = {probe_options, parse_own, "-o FILE.h5", probe_doc,
                                       children,      NULL,      NULL};
static const struct argp run_argp = {run_options, parse_own, "-o FLEET.h5", run_doc,
                                     children,    NULL,      NULL};

static const struct argp *argp_of(enum pb_program program)
{
    return program == PB_PROGRAM_RUN ? &run_argp : &probe_argp;
}

static const char *name_of(enum pb_program program)
{
    return program == PB_PROGRAM_RUN ? "plumb-run" : "plumb-probe";
}

enum pb_status pb_options_parse(enum pb_program program, int argc, char **argv,
                                struct pb_options *options_out, struct pb_error *err)
{
    struct pb_options options = {.program = program,
                                 .selection = {.backend = "auto", .battery = "standard"},
                                 .deadline_seconds = PB_DEADLINE_SECONDS};
    struct pb_error cause = PB_ERROR_INIT;
    struct parse parse = {&options, &cause};
    error_t error = argp_parse(argp_of(program), argc, argv, ARGP_SILENT, NULL, &parse);

    if (error == ENOMEM)
        pb_fail(&cause, PB_NO_MEMORY, "no memory for the command line");
    else if (error == 0 && options.wish == PB_WISH_MEASURE && options.output == NULL)
        pb_fail(&cause, PB_INVALID, "expected -o FILE.h5 for the results; --help tells more");
    if (cause.status != PB_OK)
        pb_options_clear(&options);
    *options_out = options;
    return cause.status == PB_OK ? PB_OK : pb_fail(err, cause.status, "%s", cause.message);
}

void pb_options_clear(struct pb_options *options)
{
    free(options->selection.faults);
    memset(options, 0, sizeof(*options));
}

void pb_options_help(enum pb_program program)
{
    pb_command_help(argp_of(program), name_of(program));
}

/* ---- a probe's command line ---- */

/* Arguments that grow; always ends with NULL. */
struct arguments {
    char **items;
    size_t count;
};

/* Appends a text, which is freed when there is no room. NULL: there was no memory for it. */
static bool append_text(struct arguments *arguments, char *text)
{
    size_t size = (arguments->count + 2) * sizeof(*arguments->items);
    char **larger = text == NULL ? NULL : realloc(arguments->items, size);

    if (larger == NULL) {
        free(text);
        return false;
    }
    larger[arguments->count++] = text;
    larger[arguments->count] = NULL;
    arguments->items = larger;
    return true;
}

/* Appends "--name=value"; no value, no option. */
static bool append(struct arguments *arguments, const char *name, const char *value)
{
    char *text = NULL;

    if (value == NULL)
        return true;
    if (asprintf(&text, "--%s=%s", name, value) < 0)
        text = NULL;
    return append_text(arguments, text);
}

enum pb_status pb_options_for_probe(const struct pb_options *options, const char *probe,
                                    char ***argv_out, struct pb_error *err)
{
    const struct pb_selection *selection = &options->selection;
    struct arguments arguments = {NULL, 0};
    char seed[32], sustain[32];
    bool whole;

    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)selection->seed);
    snprintf(sustain, sizeof(sustain), "%.17g", selection->sustain_seconds);
    whole = append_text(&arguments, strdup(probe)) && append_text(&arguments, strdup("--serve")) &&
            append(&arguments, "backend", selection->backend) &&
            append(&arguments, "device", selection->selector) &&
            append(&arguments, "profile", selection->profile) &&
            append(&arguments, "fleet", selection->fleet) &&
            append(&arguments, "battery", selection->battery) &&
            append(&arguments, "tests", selection->tests) && append(&arguments, "seed", seed) &&
            append(&arguments, "sustain", selection->sustain_seconds > 0 ? sustain : NULL);
    for (size_t i = 0; i < selection->fault_count && whole; i++)
        whole = append(&arguments, "fault", selection->faults[i]);
    if (!whole) {
        pb_arguments_free(arguments.items);
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the probe's command line");
    }
    *argv_out = arguments.items;
    return PB_OK;
}

void pb_arguments_free(char **argv)
{
    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}
