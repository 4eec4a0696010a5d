/*
 * What must hold between the parameters of one device, whatever measured them: one table of rules,
 * run when all have been inferred. A rule that is broken widens an interval or withdraws a value,
 * and the parameter says why. No rule makes a value out of nothing.
 */
#ifndef PB_ANALYSIS_CONSISTENCY_H
#define PB_ANALYSIS_CONSISTENCY_H

#include "analysis/parameter.h"
#include "core/identity.h"

/* Returns how many parameters were widened or withdrawn. */
size_t pb_consistency_apply(const struct pb_device_info *info, struct pb_parameters *parameters);

#endif
