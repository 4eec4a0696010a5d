/* From a command line to what is measured, and to a probe's command line; see options.h. */
#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum pb_status gather_faults(const struct pb_command_line *line,
                                    struct pb_test_selection *selection, struct pb_error *err)
{
    size_t at = 0;
    const char *fault;

    selection->faults = calloc(line->given_count + 1, sizeof(*selection->faults));
    if (selection->faults == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory reading the command line");
    while ((fault = pb_command_line_next(line, PB_OPTION_FAULT, &at)) != NULL)
        selection->faults[selection->fault_count++] = fault;
    return PB_OK;
}

static const char *text_or(const struct pb_command_line *line, enum pb_option_id id,
                           const char *otherwise)
{
    const char *text = pb_command_line_text(line, id);

    return text == NULL ? otherwise : text;
}

enum pb_status pb_selection_of(const struct pb_command_line *line,
                               struct pb_test_selection *selection_out, struct pb_error *err)
{
    struct pb_test_selection selection = {
        .backend = text_or(line, PB_OPTION_BACKEND, "auto"),
        .selector = pb_command_line_text(line, PB_OPTION_DEVICE),
        .profile = pb_command_line_text(line, PB_OPTION_PROFILE),
        .fleet = pb_command_line_text(line, PB_OPTION_FLEET),
        .seed = pb_command_line_integer(line, PB_OPTION_SEED, 0),
        .battery = text_or(line, PB_OPTION_BATTERY, "standard"),
        .tests = pb_command_line_text(line, PB_OPTION_TESTS),
        .sustain_seconds = pb_command_line_real(line, PB_OPTION_SUSTAIN, 0),
    };
    enum pb_status status = PB_OK;

    *selection_out = (struct pb_test_selection){.backend = NULL};
    /* A variable that is not set must not stand for the first device. */
    if (selection.selector != NULL && selection.selector[0] == '\0')
        return pb_fail(err, PB_INVALID,
                       "--device: expected an index, a UUID or a PCI bus id, found \"\"");
    status = gather_faults(line, &selection, err);
    if (status == PB_OK)
        *selection_out = selection;
    return status;
}

void pb_selection_free(struct pb_test_selection *selection)
{
    free(selection->faults);
    selection->faults = NULL;
}

/* ---- a probe's command line ---- */

/* Appends "--name=value" at *count. false: out of memory. */
static bool append(char **argv, size_t *count, const struct pb_given *given)
{
    if (asprintf(&argv[*count], "--%s=%s", given->option->name, given->text) < 0) {
        argv[*count] = NULL;
        return false;
    }
    (*count)++;
    return true;
}

enum pb_status pb_arguments_for_probe(const struct pb_command_line *line, const char *probe,
                                      char ***argv_out, struct pb_error *err)
{
    char **argv = calloc(line->given_count + 3, sizeof(*argv));
    size_t count = 2;
    bool is_complete;

    if (argv == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the probe's command line");
    argv[0] = strdup(probe);
    argv[1] = strdup("--serve");
    is_complete = argv[0] != NULL && argv[1] != NULL;
    for (size_t i = 0; i < line->given_count && is_complete; i++)
        if (line->given[i].option->is_forwarded)
            is_complete = append(argv, &count, &line->given[i]);
    if (!is_complete) {
        pb_arguments_free(argv);
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the probe's command line");
    }
    *argv_out = argv;
    return PB_OK;
}

void pb_arguments_free(char **argv)
{
    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}
