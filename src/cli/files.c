/* The command line of programs that only take files; see files.h. */
#include "cli/files.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/options.h"

enum { KEY_VERSION = 256 };

static const struct argp_option output_options[] = {
    {"output", 'o', "OUT.h5", 0, "The file to make", 0},
    {"help", '?', NULL, 0, "Show this help", 1},
    {"version", KEY_VERSION, NULL, 0, "Show the version", 1},
    {0},
};

struct parse {
    const struct pb_files_usage *usage;
    struct pb_files files;
    enum pb_wish wish;
    struct pb_error err;
};

static error_t add_file(struct parse *parse, const char *path)
{
    if (parse->files.count == parse->usage->count_max) {
        pb_fail(&parse->err, PB_INVALID, "unexpected argument \"%s\"", path);
        return EINVAL;
    }
    parse->files.paths[parse->files.count++] = path;
    return 0;
}

static error_t parse_one(int key, char *text, struct argp_state *state)
{
    struct parse *parse = state->input;

    switch (key) {
    case 'o':
        parse->files.output = text;
        return 0;
    case '?':
        parse->wish = PB_WISH_HELP;
        return 0;
    case KEY_VERSION:
        parse->wish = PB_WISH_VERSION;
        return 0;
    case ARGP_KEY_ARG:
        return add_file(parse, text);
    case ARGP_KEY_ERROR:
        pb_options_blame(state, &parse->err);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Is everything there that the program needs? */
static bool is_whole(const struct parse *parse)
{
    return parse->files.count > 0 && (!parse->usage->takes_output || parse->files.output != NULL);
}

static int answer(struct parse *parse, const struct argp *argp)
{
    char name[32]; /* argp_help() asks for text that may be written to */

    if (parse->wish == PB_WISH_VERSION) {
        printf("%s %s\n", parse->usage->program, PLUMB_VERSION);
        return EXIT_SUCCESS;
    }
    if (parse->wish == PB_WISH_HELP) {
        snprintf(name, sizeof(name), "%s", parse->usage->program);
        argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
        return EXIT_SUCCESS;
    }
    if (parse->err.message[0] == '\0')
        pb_fail(&parse->err, PB_INVALID, "expected %s; --help tells more", parse->usage->arguments);
    fprintf(stderr, "%s: %s\n", parse->usage->program, parse->err.message);
    return PB_EXIT_USAGE;
}

bool pb_files_parse(const struct pb_files_usage *usage, int argc, char **argv,
                    struct pb_files *files_out, int *code_out)
{
    const struct argp argp = {usage->takes_output ? output_options : output_options + 1,
                              parse_one,
                              usage->arguments,
                              usage->doc,
                              NULL,
                              NULL,
                              NULL};
    struct parse parse = {.usage = usage, .err = PB_ERROR_INIT};

    parse.files.paths = calloc((size_t)argc + 1, sizeof(const char *));
    if (parse.files.paths == NULL) {
        *code_out = PB_EXIT_FAILED;
        return false;
    }
    if (argp_parse(&argp, argc, argv, ARGP_SILENT, NULL, &parse) == 0 &&
        parse.wish == PB_WISH_MEASURE && is_whole(&parse)) {
        *files_out = parse.files;
        return true;
    }
    *code_out = answer(&parse, &argp);
    free(parse.files.paths);
    return false;
}
