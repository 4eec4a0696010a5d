/* Parsing what is to be traced; see selection.h. */
#include "trace/selection.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Digits up to *text_inout, which then moves behind them. */
static bool parse_number(const char **text_inout, uint64_t *number_out)
{
    char *end;

    if (**text_inout < '0' || **text_inout > '9')
        return false;
    errno = 0;
    *number_out = strtoull(*text_inout, &end, 10);
    *text_inout = end;
    return errno == 0;
}

static enum pb_status parse_launches(const char *text, struct pb_selection *selection,
                                     struct pb_error *err)
{
    const char *at = text;
    bool has_first = parse_number(&at, &selection->first), has_end = false;

    if (has_first && *at == '\0') {
        selection->end = selection->first + 1;
        has_end = true;
    } else if (*at == ':') {
        at++;
        has_end = parse_number(&at, &selection->end);
    }
    if (*at != '\0' || (!has_first && !has_end) || selection->first >= selection->end)
        return pb_fail(err, PB_INVALID,
                       "--launches %s: expected A:B, A:, :B or A with A < B, counted from 0", text);
    return PB_OK;
}

static enum pb_status parse_kernel(const char *text, struct pb_selection *selection,
                                   struct pb_error *err)
{
    char reason[128];
    int result = regcomp(&selection->kernel, text, REG_EXTENDED | REG_NOSUB);

    if (result == 0) {
        selection->has_kernel = true;
        return PB_OK;
    }
    regerror(result, &selection->kernel, reason, sizeof(reason));
    return pb_fail(err, PB_INVALID, "--kernel %s: expected a regular expression: %s", text, reason);
}

enum pb_status pb_selection_parse(const char *kernel, const char *launches, const char *sms,
                                  struct pb_selection *selection_out, struct pb_error *err)
{
    struct pb_selection selection = {.end = UINT64_MAX};
    enum pb_status status = PB_OK;
    uint64_t number = 0;
    const char *at = sms;

    if (launches != NULL)
        status = parse_launches(launches, &selection, err);
    if (status == PB_OK && sms != NULL &&
        (!parse_number(&at, &number) || *at != '\0' || number < 1 || number > UINT32_MAX))
        status = pb_fail(err, PB_INVALID, "--sms %s: expected a number of SMs from 1", sms);
    selection.sm_count = (uint32_t)number;
    if (status == PB_OK && kernel != NULL)
        status = parse_kernel(kernel, &selection, err);
    if (status == PB_OK)
        *selection_out = selection;
    return status;
}

/* The C++ runtime's function, where the program has that runtime. */
static char *demangle(const char *name)
{
    char *(*function)(const char *, char *, size_t *, int *) = NULL;
    int status = 0;

    *(void **)&function = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    return function == NULL || strncmp(name, "_Z", 2) != 0 ? NULL
                                                           : function(name, NULL, NULL, &status);
}

bool pb_selection_matches(const struct pb_selection *selection, const char *name)
{
    char *readable;
    bool is_match;

    if (!selection->has_kernel || regexec(&selection->kernel, name, 0, NULL, 0) == 0)
        return true;
    readable = demangle(name);
    is_match = readable != NULL && regexec(&selection->kernel, readable, 0, NULL, 0) == 0;
    free(readable);
    return is_match;
}

bool pb_selection_has_launch(const struct pb_selection *selection, uint64_t number)
{
    return number >= selection->first && number < selection->end;
}

void pb_selection_clear(struct pb_selection *selection)
{
    if (selection->has_kernel)
        regfree(&selection->kernel);
    selection->has_kernel = false;
}
