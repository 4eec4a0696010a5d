/* The kinds of reasons; see reason.h. docs/parameters.md lists them. */
#include "analysis/reason.h"

#include <stddef.h>
#include <string.h>

/* The first that fits counts. */
static const struct pb_reason_kind kinds[] = {
    {"not recorded", "run the battery standard, or this test by --tests", false},
    {"missing", "measure again", false},
    {"failed", "measure again", false},
    {"hung", "measure again; plumb-outliers reports a device whose test hangs", false},
    {"crashed", "measure again; plumb-outliers reports a device whose test crashes", false},
    {"lost", "measure again; plumb-outliers reports a device that was lost", false},
    {"unsupported: no other device of this node", "measure two or more GPUs of the node in one run",
     false},
    {"unsupported: path", "not possible: nothing answers loads by it before L2", true},
    {"unsupported", "not possible on this device, as the reason says", false},
    {"not applicable", "not possible: this device has no such value", true},
    {"no such level", "not possible: this device has no such level within that range", true},
    {"not needed", "not necessary: other methods determine this memory's values above", false},
    {"not observable", "not possible: these measurements do not show it", true},
    {"depends on", "it follows once that parameter is determined", false},
    {"sweep too small", "a wider sweep than the battery makes", false},
    {"sweep resolution too coarse", "a sweep in smaller steps than the battery makes", false},
    {"too few", "more observations than this run made; another run may make them", false},
    {"ambiguous", "an observation that separates the candidates; another --seed may make one",
     false},
    {"unexplained", "a hypothesis that plumb does not have; every access is in the recording",
     false},
    {"inconsistent", "a second run on an idle device shows whether noise is the cause", false},
};

static bool begins(const char *text, const char *words)
{
    return strncmp(text, words, strlen(words)) == 0;
}

const struct pb_reason_kind *pb_reason_kind_of(const char *reason)
{
    if (begins(reason, "test ") && strstr(reason, ": ") != NULL)
        reason = strstr(reason, ": ") + strlen(": ");
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (begins(reason, kinds[i].words))
            return &kinds[i];
    return NULL;
}

bool pb_reason_is_absence(const char *reason)
{
    return begins(reason, "not applicable") || begins(reason, "no such level");
}
