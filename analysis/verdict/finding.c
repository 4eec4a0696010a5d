/* Findings: names of levels, and freeing the list; see finding.h. */
#include "analysis/verdict/finding.h"

#include <stdlib.h>

const char *pb_level_name(enum pb_level level)
{
    static const char *const names[] = {"access", "sm",         "device", "slot",
                                        "node",   "population", "fleet"};

    return (unsigned)level < sizeof(names) / sizeof(names[0]) ? names[level] : "unknown";
}

void pb_findings_clear(struct pb_findings *findings)
{
    if (findings == NULL)
        return;
    free(findings->items);
    *findings = (struct pb_findings){0};
}
