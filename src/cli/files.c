/* The command line of programs that take files; see files.h. */
#include "cli/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const struct argp_option output_options[] = {
    {"output", 'o', "OUT", 0, "The file to make", 0},
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

static error_t parse_own(int key, char *text, struct argp_state *state)
{
    struct parse *parse = state->input;

    for (const struct argp_option *option = parse->usage->options; option->name != NULL; option++)
        if (option->key == key)
            return parse->usage->set(parse->usage->context, key, text, &parse->err) == PB_OK
                       ? 0
                       : EINVAL;
    return ARGP_ERR_UNKNOWN;
}

static error_t parse_files(int key, char *text, struct argp_state *state)
{
    struct parse *parse = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &parse->wish;
        if (parse->usage->options != NULL)
            state->child_inputs[1] = parse;
        return 0;
    case 'o':
        parse->files.output = text;
        return 0;
    case ARGP_KEY_ARG:
        return add_file(parse, text);
    case ARGP_KEY_ERROR:
        pb_command_blame(state, &parse->err);
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
    const struct pb_files_usage *usage = parse->usage;

    if (parse->err.status != PB_OK || parse->wish == PB_WISH_MEASURE) {
        if (parse->err.status == PB_OK)
            pb_fail(&parse->err, PB_INVALID, "expected %s; --help tells more", usage->arguments);
        fprintf(stderr, "%s: %s\n", usage->lead, parse->err.message);
        return usage->mistake_code;
    }
    if (parse->wish == PB_WISH_VERSION)
        printf("%s %s\n", usage->program, PLUMB_VERSION);
    else
        pb_command_help(argp, usage->program);
    return EXIT_SUCCESS;
}

bool pb_files_parse(const struct pb_files_usage *usage, int argc, char **argv,
                    struct pb_files *files_out, int *code_out)
{
    const struct argp own = {.options = usage->options, .parser = parse_own};
    const struct argp_child children[] = {
        {&pb_command_argp, 0, NULL, 1}, {usage->options != NULL ? &own : NULL, 0, NULL, 0}, {0}};
    const struct argp argp = {.options = usage->takes_output ? output_options : NULL,
                              .parser = parse_files,
                              .args_doc = usage->arguments,
                              .doc = usage->doc,
                              .children = children};
    struct parse parse = {.usage = usage, .err = PB_ERROR_INIT};

    parse.files.paths = calloc((size_t)argc + 1, sizeof(const char *));
    if (parse.files.paths == NULL)
        pb_fail(&parse.err, PB_NO_MEMORY, "no memory for the command line");
    else if (argp_parse(&argp, argc, argv, ARGP_SILENT, NULL, &parse) == 0 &&
             parse.wish == PB_WISH_MEASURE && is_whole(&parse)) {
        *files_out = parse.files;
        return true;
    }
    *code_out = answer(&parse, &argp);
    free(parse.files.paths);
    return false;
}
