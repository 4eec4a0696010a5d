/* What plumb-model says: a table for people, JSON for programs, and the comparison with counters.
 */
#ifndef PB_CLI_MODEL_REPORT_H
#define PB_CLI_MODEL_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "analysis/kernel/explain.h"

/* One kernel's explanation; device is the machine's name, "simulated" in front where it is. */
void pb_model_print(const struct pb_kernel *kernel, const struct pb_machine *machine,
                    const struct pb_explanation *explanation, FILE *out);

/* The same as an object of the document's "kernels"; NULL: out of memory. docs/kernel-model.md. */
json_t *pb_model_json(const char *trace, const char *format, const struct pb_kernel *kernel,
                      const struct pb_machine *machine, const struct pb_explanation *explanation,
                      const bool without[PB_EXTENSION_COUNT], uint64_t seed);

enum { PB_WORST_ROWS = 8 };

/* Rows with L1 misses, most first; *count_out at most `max`. */
void pb_model_worst_instructions(const struct pb_prediction *prediction, size_t max, size_t *rows,
                                 size_t *count_out);
void pb_model_worst_allocations(const struct pb_prediction *prediction, size_t max, size_t *rows,
                                size_t *count_out);

/* Misses of the kinds compulsory, capacity, conflict and MSHR, which add up to those of L1. */
enum { PB_SHOWN_MSHR = PB_MISS_KIND_COUNT, PB_SHOWN_COUNT };
void pb_model_kinds(const struct pb_explanation *explanation, uint64_t kinds_out[PB_SHOWN_COUNT]);
extern const char *const pb_model_kind_names[PB_SHOWN_COUNT];

#endif
