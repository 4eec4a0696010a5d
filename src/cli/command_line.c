/* Command lines by argp, which is given the rows of one program; see command_line.h. */
#include "cli/command_line.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/suggest.h"

enum { KEY_FIRST = 256 }; /* of options without a letter: KEY_FIRST + their row */

static bool takes(enum pb_program program, const struct pb_option *option)
{
    return (option->programs & (1U << program)) != 0;
}

static int key_of(size_t row)
{
    return pb_options[row].letter != 0 ? pb_options[row].letter : KEY_FIRST + (int)row;
}

static const struct pb_option *find_by_key(enum pb_program program, int key)
{
    for (size_t i = 0; i < pb_option_count; i++)
        if (takes(program, &pb_options[i]) && key_of(i) == key)
            return &pb_options[i];
    return NULL;
}

/* The program's rows as argp takes them, with those of every program last. */
static struct argp_option *make_argp_options(enum pb_program program)
{
    struct argp_option *items = calloc(pb_option_count + 1, sizeof(*items));
    size_t count = 0;

    for (size_t i = 0; i < pb_option_count && items != NULL; i++) {
        const struct pb_option *option = &pb_options[i];
        bool is_common = option->id == PB_OPTION_HELP || option->id == PB_OPTION_VERSION;

        if (!takes(program, option))
            continue;
        items[count++] = (struct argp_option){.name = option->name,
                                              .key = key_of(i),
                                              .arg = option->argument,
                                              .flags = option->is_hidden ? OPTION_HIDDEN : 0,
                                              .doc = option->help,
                                              .group = is_common ? 1 : 0};
    }
    return items;
}

/* ---- values ---- */

static bool parse_integer(const struct pb_option *option, const char *text, uint64_t *value_out)
{
    bool is_hexadecimal = strncmp(text, "0x", 2) == 0;
    char *end;

    errno = 0;
    *value_out = strtoull(text, &end, is_hexadecimal ? 16 : 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 &&
           *value_out >= option->least && *value_out <= option->most;
}

static bool parse_real(const struct pb_option *option, const char *text, double *value_out)
{
    bool is_seconds = option->type == PB_TYPE_SECONDS; /* none are too few */
    char *end;

    *value_out = strtod(text, &end);
    return end != text && *end == '\0' && *value_out <= (double)option->most &&
           (is_seconds ? *value_out > 0 : *value_out >= (double)option->least);
}

static enum pb_status check_value(const struct pb_option *option, const char *text,
                                  struct pb_error *err)
{
    uint64_t integer;
    double real;

    if (option->type == PB_TYPE_INTEGER && !parse_integer(option, text, &integer)) {
        if (option->most == UINT64_MAX)
            return pb_fail(err, PB_INVALID,
                           "--%s: expected a number from %llu to 2^64-1, found "
                           "\"%s\"",
                           option->name, (unsigned long long)option->least, text);
        return pb_fail(err, PB_INVALID, "--%s: expected a number from %llu to %llu, found \"%s\"",
                       option->name, (unsigned long long)option->least,
                       (unsigned long long)option->most, text);
    }
    if (option->type == PB_TYPE_SECONDS && !parse_real(option, text, &real))
        return pb_fail(err, PB_INVALID, "--%s: expected seconds from above 0 to %llu, found \"%s\"",
                       option->name, (unsigned long long)option->most, text);
    if (option->type == PB_TYPE_PERCENT && !parse_real(option, text, &real))
        return pb_fail(err, PB_INVALID,
                       "--%s: expected a percentage from %llu to %llu, found \"%s\"", option->name,
                       (unsigned long long)option->least, (unsigned long long)option->most, text);
    return PB_OK;
}

/* ---- mistakes ---- */

/* "--NAME" or "--NAME=VALUE", which no row or several rows begin with. */
static void explain_long(enum pb_program program, const char *word, struct pb_error *err)
{
    const struct pb_option *found[2] = {NULL, NULL};
    size_t length = strcspn(word + 2, "="), count = 0;
    struct pb_suggestion suggestion = {.best = NULL};
    char name[64];

    snprintf(name, sizeof(name), "%.*s", (int)length, word + 2);
    suggestion.word = name;
    for (size_t i = 0; i < pb_option_count; i++) {
        const struct pb_option *option = &pb_options[i];

        if (!takes(program, option) || option->is_hidden)
            continue;
        pb_suggest(&suggestion, option->name);
        if (strncmp(option->name, word + 2, length) != 0)
            continue;
        found[count < 2 ? count : 1] = option;
        count = strlen(option->name) == length ? 1 : count + 1;
    }
    if (count == 1 && word[2 + length] == '=')
        pb_fail(err, PB_INVALID, "--%s: takes no value", name);
    else if (count == 1)
        pb_fail(err, PB_INVALID, "--%s: its value is missing", name);
    else if (count > 1)
        pb_fail(err, PB_INVALID, "--%s: ambiguous option; did you mean --%s or --%s?", name,
                found[0]->name, found[1]->name);
    else if (suggestion.best != NULL)
        pb_fail(err, PB_INVALID, "--%s: unknown option; did you mean --%s?", name, suggestion.best);
    else
        pb_fail(err, PB_INVALID, "--%s: unknown option; --help lists all", name);
}

/* What argp refused; it points behind the option. */
static void explain_mistake(enum pb_program program, const struct argp_state *state,
                            struct pb_error *err)
{
    const char *word = state->argv[state->next > 1 ? state->next - 1 : 0];

    if (err->status != PB_OK)
        return;
    if (strncmp(word, "--", 2) == 0)
        explain_long(program, word, err);
    else
        pb_fail(err, PB_INVALID, "%s: unknown option, or its value is missing; --help lists all",
                word);
}

/* ---- parsing ---- */

struct parse {
    struct pb_command_line line;
    struct pb_error err;
};

static error_t add_argument(struct parse *parse, char *text, struct argp_state *state)
{
    const struct pb_command *command = &pb_commands[parse->line.program];

    if (parse->line.argument_count == command->argument_count_max) {
        pb_fail(&parse->err, PB_INVALID, "unexpected argument \"%s\"", text);
        return EINVAL;
    }
    parse->line.arguments[parse->line.argument_count++] = text;
    while (command->arguments_are_commands && state->next < state->argc)
        parse->line.arguments[parse->line.argument_count++] = state->argv[state->next++];
    return 0;
}

static error_t parse_one(int key, char *text, struct argp_state *state)
{
    struct parse *parse = state->input;
    const struct pb_option *option;

    if (key == ARGP_KEY_ARG)
        return add_argument(parse, text, state);
    if (key == ARGP_KEY_ERROR) {
        explain_mistake(parse->line.program, state, &parse->err);
        return 0;
    }
    option = find_by_key(parse->line.program, key);
    if (option == NULL)
        return ARGP_ERR_UNKNOWN;
    if (check_value(option, text, &parse->err) != PB_OK)
        return EINVAL;
    parse->line.given[parse->line.given_count++] = (struct pb_given){option, text};
    return 0;
}

static bool wants_answer(const struct pb_command_line *line)
{
    for (size_t i = 0; i < line->given_count; i++)
        if (line->given[i].option->is_answer)
            return true;
    return false;
}

/* Is everything there that the program needs? */
static enum pb_status check_needs(const struct pb_command_line *line, struct pb_error *err)
{
    const struct pb_command *command = &pb_commands[line->program];
    bool has_output = !command->needs_output || pb_command_line_has(line, PB_OPTION_OUTPUT);

    if (wants_answer(line) || (has_output && line->argument_count >= command->argument_count_min))
        return PB_OK;
    return pb_fail(err, PB_INVALID, "expected %s; --help lists all options", command->arguments);
}

enum pb_status pb_command_line_parse(enum pb_program program, int argc, char **argv,
                                     struct pb_command_line *line_out, struct pb_error *err)
{
    struct parse parse = {.line = {.program = program}, .err = PB_ERROR_INIT};
    struct argp_option *options = make_argp_options(program);
    const struct argp argp = {.options = options, .parser = parse_one};
    unsigned flags =
        ARGP_SILENT | (pb_commands[program].arguments_are_commands ? ARGP_IN_ORDER : 0);

    /* No argument stands for more options than it has letters. */
    size_t letters = 1;

    for (int i = 1; i < argc; i++)
        letters += strlen(argv[i]) + 1;
    parse.line.given = calloc(letters, sizeof(*parse.line.given));
    parse.line.arguments = calloc((size_t)argc + 1, sizeof(*parse.line.arguments));
    if (options == NULL || parse.line.given == NULL || parse.line.arguments == NULL)
        pb_fail(&parse.err, PB_NO_MEMORY, "out of memory reading the command line");
    else if (argp_parse(&argp, argc, argv, flags, NULL, &parse) == 0)
        check_needs(&parse.line, &parse.err);
    free(options);
    if (parse.err.status != PB_OK) {
        pb_command_line_clear(&parse.line);
        *line_out = parse.line;
        return pb_fail(err, parse.err.status, "%s", parse.err.message);
    }
    *line_out = parse.line;
    return PB_OK;
}

void pb_command_line_clear(struct pb_command_line *line)
{
    enum pb_program program = line->program;

    free(line->given);
    free(line->arguments);
    *line = (struct pb_command_line){.program = program};
}

/* ---- reading ---- */

static const struct pb_given *find_last(const struct pb_command_line *line, enum pb_option_id id)
{
    for (size_t i = line->given_count; i > 0; i--)
        if (line->given[i - 1].option->id == id)
            return &line->given[i - 1];
    return NULL;
}

const char *pb_command_line_text(const struct pb_command_line *line, enum pb_option_id id)
{
    const struct pb_given *given = find_last(line, id);

    return given == NULL ? NULL : given->text;
}

bool pb_command_line_has(const struct pb_command_line *line, enum pb_option_id id)
{
    return find_last(line, id) != NULL;
}

uint64_t pb_command_line_integer(const struct pb_command_line *line, enum pb_option_id id,
                                 uint64_t otherwise)
{
    const struct pb_given *given = find_last(line, id);
    uint64_t value;

    return given != NULL && parse_integer(given->option, given->text, &value) ? value : otherwise;
}

double pb_command_line_real(const struct pb_command_line *line, enum pb_option_id id,
                            double otherwise)
{
    const struct pb_given *given = find_last(line, id);
    double value;

    return given != NULL && parse_real(given->option, given->text, &value) ? value : otherwise;
}

const char *pb_command_line_next(const struct pb_command_line *line, enum pb_option_id id,
                                 size_t *at)
{
    while (*at < line->given_count) {
        const struct pb_given *given = &line->given[(*at)++];

        if (given->option->id == id)
            return given->text;
    }
    return NULL;
}

/* ---- printing ---- */

/* Paragraphs that follow the options: the description, and what the exit codes mean. */
static char *make_doc(const struct pb_command *command)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (file == NULL)
        return NULL;
    fprintf(file, "%s\v", command->summary);
    if (command->description != NULL)
        fprintf(file, "%s\n\n", command->description);
    fputs("Exit status: ", file);
    for (size_t i = 0; i < PB_EXIT_MEANINGS && command->exits[i].meaning != NULL; i++)
        fprintf(file, "%s%d %s", i == 0 ? "" : "; ", command->exits[i].code,
                command->exits[i].meaning);
    fputc('.', file);
    for (size_t i = 0; i < PB_VARIABLES && command->variables[i].name != NULL; i++)
        fprintf(file, "%s%s: %s", i == 0 ? "\n\nEnvironment:\n" : "\n", command->variables[i].name,
                command->variables[i].help);
    fclose(file);
    return text;
}

/* The help of options that have a default ends with it; free() each that is not the row's own. */
static void add_defaults(enum pb_program program, struct argp_option *items)
{
    for (; items->name != NULL; items++) {
        const struct pb_option *option = find_by_key(program, items->key);
        char *longer;

        if (option->standard != NULL &&
            asprintf(&longer, "%s (default: %s)", option->help, option->standard) >= 0)
            items->doc = longer;
    }
}

static void remove_defaults(enum pb_program program, struct argp_option *items)
{
    for (; items->name != NULL; items++)
        if (items->doc != find_by_key(program, items->key)->help)
            free((char *)(uintptr_t)items->doc);
}

void pb_command_print_help(enum pb_program program)
{
    const struct pb_command *command = &pb_commands[program];
    struct argp_option *options = make_argp_options(program);
    char *doc = make_doc(command);
    const struct argp argp = {
        .options = options, .parser = parse_one, .args_doc = command->arguments, .doc = doc};
    char name[32]; /* argp_help() takes text that may be written to */

    snprintf(name, sizeof(name), "%s", command->name);
    if (options != NULL && doc != NULL) {
        add_defaults(program, options);
        argp_help(&argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
        remove_defaults(program, options);
    }
    free(doc);
    free(options);
}

void pb_command_print_version(enum pb_program program)
{
    printf("%s %s\n", pb_commands[program].name, PLUMB_VERSION);
}

static const char *prefix_of(enum pb_program program)
{
    const struct pb_command *command = &pb_commands[program];

    return command->error_prefix != NULL ? command->error_prefix : command->name;
}

void pb_command_print_error(enum pb_program program, const struct pb_error *err)
{
    fprintf(stderr, "%s: %s\n", prefix_of(program), err->message);
}

/* ---- a program's beginning and end ---- */

void pb_command_ignore_size_signal(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

bool pb_command_begin(enum pb_program program, int argc, char **argv,
                      struct pb_command_line *line_out, int *code_out)
{
    struct pb_error err = PB_ERROR_INIT;

    pb_command_ignore_size_signal();
    *code_out = EXIT_SUCCESS;
    if (pb_command_line_parse(program, argc, argv, line_out, &err) != PB_OK) {
        pb_command_print_error(program, &err);
        *code_out = pb_commands[program].usage_code;
    } else if (pb_command_line_has(line_out, PB_OPTION_HELP)) {
        pb_command_print_help(program);
    } else if (pb_command_line_has(line_out, PB_OPTION_VERSION)) {
        pb_command_print_version(program);
    } else {
        return true;
    }
    pb_command_line_clear(line_out);
    return false;
}

int pb_exit_code(enum pb_status status)
{
    if (status == PB_OK)
        return EXIT_SUCCESS;
    return status == PB_INVALID || status == PB_EXISTS ? PB_EXIT_USAGE : PB_EXIT_FAILED;
}

int pb_command_end(enum pb_program program, int code, int lost)
{
    bool failed = ferror(stdout) != 0; /* earlier, and errno is another's by now */

    if (fflush(stdout) != 0)
        fprintf(stderr, "%s: standard output cannot be written: %s\n", prefix_of(program),
                strerror(errno));
    else if (failed)
        fprintf(stderr, "%s: standard output cannot be written\n", prefix_of(program));
    else
        return code;
    return lost;
}
