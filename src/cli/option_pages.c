/*
 * pb-option-pages: prints what is made from the option table at build time.
 *
 *   pb-option-pages man  PROGRAM DATE          its manual page (roff, man macros)
 *   pb-option-pages bash PROGRAM [PROFILE...]  its completion in bash
 *   pb-option-pages zsh  PROGRAM [PROFILE...]  its completion in zsh
 *   pb-option-pages list PROGRAM               its options, one a line, hidden ones left out
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command_line.h"

/* Names of profiles that come with plumb, for completion. */
struct words {
    char **items;
    size_t count;
};

static bool is_shown(enum pb_program program, const struct pb_option *option)
{
    return (option->programs & (1U << program)) != 0 && !option->is_hidden;
}

/* ---- manual pages ---- */

/* Text of a page: what roff would read as its own is escaped. */
static void put_roff(const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '-')
            fputs("\\-", stdout);
        else if (*at == '\\')
            fputs("\\e", stdout);
        else if (at == text && (*at == '.' || *at == '\''))
            printf("\\&%c", *at);
        else
            putchar(*at);
    }
}

static void put_upper(const char *text)
{
    for (; *text != '\0'; text++)
        putchar(toupper((unsigned char)*text));
}

static void put_man_option(const struct pb_option *option)
{
    puts(".TP");
    if (option->letter != 0)
        printf("\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", stdout);
    put_roff(option->name);
    fputs("\\fR", stdout);
    if (option->argument != NULL) {
        fputs("=\\fI", stdout);
        put_roff(option->argument);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put_roff(option->help);
    fputs(".\n", stdout);
    if (option->standard != NULL) {
        fputs("Default: ", stdout);
        put_roff(option->standard);
        fputs(".\n", stdout);
    }
}

static void put_man_list(const char *title, const char *name, const char *meaning, bool is_first)
{
    if (is_first)
        printf(".SH %s\n", title);
    puts(".TP");
    fputs("\\fB", stdout);
    put_roff(name);
    puts("\\fR");
    put_roff(meaning);
    putchar('\n');
}

static void put_see_also(enum pb_program program)
{
    puts(".SH SEE ALSO");
    for (int i = 0, last = PB_PROGRAM_COUNT - 1 - (program == PB_PROGRAM_COUNT - 1);
         i < PB_PROGRAM_COUNT; i++) {
        if (i == (int)program)
            continue;
        fputs(".BR ", stdout);
        put_roff(pb_commands[i].name);
        printf(" (1)%s\n", i == last ? "" : ",");
    }
}

static void print_man(enum pb_program program, const char *date)
{
    const struct pb_command *command = &pb_commands[program];

    fputs(".TH ", stdout);
    put_upper(command->name);
    printf(" 1 %s \"plumb %s\" \"User Commands\"\n.SH NAME\n", date, PLUMB_VERSION);
    put_roff(command->name);
    fputs(" \\- ", stdout);
    putchar(tolower((unsigned char)command->summary[0]));
    printf("%.*s\n.SH SYNOPSIS\n.B ", (int)strlen(command->summary) - 2, command->summary + 1);
    put_roff(command->name);
    fputs("\n[\\fIOPTION\\fR...] ", stdout);
    put_roff(command->arguments);
    puts("\n.SH DESCRIPTION");
    put_roff(command->summary);
    putchar('\n');
    if (command->description != NULL) {
        puts(".PP");
        put_roff(command->description);
        putchar('\n');
    }
    puts(".SH OPTIONS");
    for (size_t i = 0; i < pb_option_count; i++)
        if (is_shown(program, &pb_options[i]))
            put_man_option(&pb_options[i]);
    for (size_t i = 0; i < PB_EXIT_MEANINGS && command->exits[i].meaning != NULL; i++) {
        char code[16];

        snprintf(code, sizeof(code), "%d", command->exits[i].code);
        put_man_list("EXIT STATUS", code, command->exits[i].meaning, i == 0);
    }
    for (size_t i = 0; i < PB_VARIABLES && command->variables[i].name != NULL; i++)
        put_man_list("ENVIRONMENT", command->variables[i].name, command->variables[i].help, i == 0);
    put_see_also(program);
}

/* ---- bash ---- */

/* "plumb_run", a name that a function may have. */
static void put_function_name(const char *name)
{
    for (; *name != '\0'; name++)
        putchar(*name == '-' ? '_' : *name);
}

static void put_words(const struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        printf("%s%s", i == 0 ? "" : " ", words->items[i]);
}

/* What completes a value, as a command of the function below. */
static void put_bash_value(const struct pb_option *option, const struct words *profiles)
{
    switch (option->type) {
    case PB_TYPE_WORD:
        printf("_plumb_words '%s'", option->words);
        break;
    case PB_TYPE_TESTS:
        fputs("_plumb_tests", stdout);
        break;
    case PB_TYPE_PROFILE:
        fputs("_plumb_words '", stdout);
        put_words(profiles);
        fputs("'; _plumb_files json", stdout);
        break;
    case PB_TYPE_FILE:
        printf("_plumb_files %s", option->words == NULL ? "" : option->words);
        break;
    case PB_TYPE_FOLDER:
        fputs("_plumb_files /", stdout);
        break;
    default: /* numbers and texts: nothing is known */
        putchar(':');
    }
}

static const char bash_helpers[] =
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    COMPREPLY=()\n"
    "    # --name=value arrives as three words\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]}\n"
    "    fi\n"
    "    _plumb_words() { mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W \"$1\" -- "
    "\"$cur\"); }\n"
    "    _plumb_files() {\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "        if [[ ${1-} == / ]]; then return; fi\n"
    "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(\n"
    "            compgen -f -X \"!*${1:+.$1}\" -- \"$cur\" |\n"
    "                while IFS= read -r file; do [[ -d $file ]] || printf '%s\\n' \"$file\"; "
    "done)\n"
    "    }\n"
    "    _plumb_tests() {\n"
    "        local before=${cur%\"${cur##*,}\"}\n"
    "        mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \\\n"
    "            \"$(plumb-probe --list 2>/dev/null | cut -d' ' -f1)\" -- \"${cur##*,}\")\n"
    "    }\n";

static void print_bash(enum pb_program program, const struct words *profiles)
{
    const struct pb_command *command = &pb_commands[program];

    printf("# Completion of %s in bash.\n_", command->name);
    put_function_name(command->name);
    printf("() {\n%s    case $prev in\n", bash_helpers);
    for (size_t i = 0; i < pb_option_count; i++) {
        const struct pb_option *option = &pb_options[i];

        if (!is_shown(program, option) || option->argument == NULL)
            continue;
        printf("    --%s", option->name);
        if (option->letter != 0)
            printf(" | -%c", option->letter);
        fputs(")\n        ", stdout);
        put_bash_value(option, profiles);
        fputs("\n        return\n        ;;\n", stdout);
    }
    fputs("    esac\n    if [[ $cur == -* ]]; then\n        _plumb_words '", stdout);
    for (size_t i = 0; i < pb_option_count; i++)
        if (is_shown(program, &pb_options[i]))
            printf("--%s ", pb_options[i].name);
    fputs("'\n", stdout);
    if (command->argument_count_max > 0)
        printf("    else\n        _plumb_files %s\n",
               command->argument_words == NULL ? "" : command->argument_words);
    fputs("    fi\n}\ncomplete -F _", stdout);
    put_function_name(command->name);
    printf(" %s\n", command->name);
}

/* ---- zsh ---- */

/* Text inside of a specification in single quotes. */
static void put_zsh(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text) != NULL)
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void put_zsh_value(const struct pb_option *option)
{
    putchar(':');
    put_zsh(option->argument);
    putchar(':');
    switch (option->type) {
    case PB_TYPE_WORD:
        printf("(%s)", option->words);
        break;
    case PB_TYPE_TESTS:
        fputs("_plumb_tests", stdout);
        break;
    case PB_TYPE_PROFILE:
        fputs("_plumb_profiles", stdout);
        break;
    case PB_TYPE_FILE:
        if (option->words == NULL)
            fputs("_files", stdout);
        else
            printf("_files -g \"*.%s\"", option->words);
        break;
    case PB_TYPE_FOLDER:
        fputs("_files -/", stdout);
        break;
    default: /* numbers and texts: nothing is known */
        putchar(' ');
    }
}

static void put_zsh_option(const struct pb_option *option)
{
    const char *value = option->argument == NULL ? "" : "=";

    fputs("    '", stdout);
    if (option->is_repeatable)
        putchar('*');
    else if (option->letter != 0)
        printf("(-%c --%s)", option->letter, option->name);
    if (option->letter != 0)
        printf("'{-%c%s,--%s%s}'", option->letter, option->argument == NULL ? "" : "+",
               option->name, value);
    else
        printf("--%s%s", option->name, value);
    putchar('[');
    put_zsh(option->help);
    putchar(']');
    if (option->argument != NULL)
        put_zsh_value(option);
    puts("' \\");
}

static void print_zsh(enum pb_program program, const struct words *profiles)
{
    const struct pb_command *command = &pb_commands[program];

    printf("#compdef %s\n", command->name);
    fputs("_plumb_tests() {\n"
          "    local -a tests\n"
          "    tests=(${(f)\"$(plumb-probe --list 2>/dev/null | cut -d' ' -f1)\"})\n"
          "    _sequence compadd - -a tests\n"
          "}\n"
          "_plumb_profiles() {\n"
          "    _alternative 'names:profile:(",
          stdout);
    put_words(profiles);
    fputs(")' 'files:file:_files -g \"*.json\"'\n"
          "}\n"
          "_arguments -s \\\n",
          stdout);
    for (size_t i = 0; i < pb_option_count; i++)
        if (is_shown(program, &pb_options[i]))
            put_zsh_option(&pb_options[i]);
    if (command->arguments_are_commands)
        fputs("    '*::program:_normal'\n", stdout);
    else if (command->argument_count_max == 0)
        fputs("    && return\n", stdout);
    else
        printf("    '*:file:_files%s%s%s'\n", command->argument_words == NULL ? "" : " -g \"*.",
               command->argument_words == NULL ? "" : command->argument_words,
               command->argument_words == NULL ? "" : "\"");
}

/* ---- which ---- */

static void print_list(enum pb_program program)
{
    for (size_t i = 0; i < pb_option_count; i++)
        if (is_shown(program, &pb_options[i]))
            printf("--%s\n", pb_options[i].name);
}

static bool find_program(const char *name, enum pb_program *program_out)
{
    for (int i = 0; i < PB_PROGRAM_COUNT; i++) {
        if (strcmp(pb_commands[i].name, name) == 0) {
            *program_out = (enum pb_program)i;
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 2 ? argv[1] : "";
    struct words rest = {argv + 3, argc > 3 ? (size_t)argc - 3 : 0};
    enum pb_program program;

    if (argc < 3 || !find_program(argv[2], &program)) {
        fputs("pb-option-pages: expected man, bash, zsh or list, and a program\n", stderr);
        return PB_EXIT_USAGE;
    }
    if (strcmp(kind, "man") == 0 && rest.count == 1)
        print_man(program, rest.items[0]);
    else if (strcmp(kind, "bash") == 0)
        print_bash(program, &rest);
    else if (strcmp(kind, "zsh") == 0)
        print_zsh(program, &rest);
    else if (strcmp(kind, "list") == 0)
        print_list(program);
    else
        return PB_EXIT_USAGE;
    return ferror(stdout) || fflush(stdout) != 0 ? PB_EXIT_FAILED : EXIT_SUCCESS;
}
