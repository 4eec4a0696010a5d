/* The version of the analysis, made when it is built; see version.h. */
#include "analysis/version.h"

#include "plumb_analysis_version.h"

const char *pb_analysis_version(void)
{
    return PLUMB_ANALYSIS_VERSION;
}
