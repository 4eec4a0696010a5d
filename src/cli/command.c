/* What the command lines of all programs share; see command.h. */
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_VERSION = 512 }; /* apart from the programs' own keys */

/* argp's own names, because its automatic help and version print and exit. */
static const struct argp_option wish_options[] = {
    {"help", '?', NULL, 0, "Show this help", 2},
    {"version", KEY_VERSION, NULL, 0, "Show the version", 2},
    {0},
};

static error_t parse_wish(int key, char *text, struct argp_state *state)
{
    enum pb_wish *wish = state->input;

    (void)text;
    if (key != '?' && key != KEY_VERSION)
        return ARGP_ERR_UNKNOWN;
    *wish = key == '?' ? PB_WISH_HELP : PB_WISH_VERSION;
    return 0;
}

const struct argp pb_command_argp = {.options = wish_options, .parser = parse_wish};

void pb_command_blame(const struct argp_state *state, struct pb_error *err)
{
    if (err->message[0] == '\0') /* argp's own finding: it points behind the option */
        pb_fail(err, PB_INVALID, "%s: unknown or ambiguous option, or its value is missing",
                state->argv[state->next > 1 ? state->next - 1 : 0]);
}

void pb_command_begin(void)
{
    signal(SIGXFSZ, SIG_IGN);
}

void pb_command_help(const struct argp *argp, const char *program)
{
    char name[32]; /* argp_help() asks for text that may be written to */

    snprintf(name, sizeof(name), "%s", program);
    argp_help(argp, stdout, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
}

int pb_exit_code(enum pb_status status)
{
    if (status == PB_OK)
        return EXIT_SUCCESS;
    return status == PB_INVALID || status == PB_EXISTS ? PB_EXIT_USAGE : PB_EXIT_FAILED;
}

int pb_command_end(const char *lead, int code, int lost)
{
    bool failed = ferror(stdout) != 0; /* earlier, and errno is another's by now */

    if (fflush(stdout) != 0)
        fprintf(stderr, "%s: standard output cannot be written: %s\n", lead, strerror(errno));
    else if (failed)
        fprintf(stderr, "%s: standard output cannot be written\n", lead);
    else
        return code;
    return lost;
}
