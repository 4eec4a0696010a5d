/*
 * The line of a cache alone, where no index explains its conflicts or none were recorded (a large
 * L2 is sampled): the addresses where hits turn into misses and back are multiples of the line, and
 * of passes with longer strides every line must be touched while they miss.
 *
 * Source: M16 sections 4.2 (stage 2) and 4.5.
 */
#ifndef PB_ANALYSIS_CACHE_LINE_H
#define PB_ANALYSIS_CACHE_LINE_H

#include "analysis/cache/propose.h"

/*
 * States the line, or why it cannot be known.
 *
 * background  of the references: hits that look like misses
 *
 * PB_NO_MEMORY
 */
enum pb_status pb_line_infer(const struct pb_cache_chases *chases,
                             const struct pb_geometry_hints *hints,
                             const struct pb_tally *background, struct pb_parameter *answer,
                             struct pb_error *err);

#endif
