/* Connected components of members that belong together, by union-find. */
#ifndef PB_ANALYSIS_STATISTICS_UNION_FIND_H
#define PB_ANALYSIS_STATISTICS_UNION_FIND_H

#include <stddef.h>

#include "analysis/parameter.h"

struct pb_union_find {
    size_t members;
    size_t *parent; /* [members] */
    size_t *sizes;  /* [count] of each, the component of the least member first */
    size_t count;   /* set by pb_union_find_count() */
};

/* Each member alone; members > 0. PB_NO_MEMORY. pb_union_find_close() it. */
enum pb_status pb_union_find_open(size_t members, struct pb_union_find *components_out,
                                  struct pb_error *err);
void pb_union_find_reset(struct pb_union_find *components); /* each alone again */
void pb_union_find_close(struct pb_union_find *components); /* NULL is allowed */

void pb_union_find_join(struct pb_union_find *components, size_t a, size_t b);

/* Sets count and sizes. */
void pb_union_find_count(struct pb_union_find *components);

/* The least member of the component, which names it. */
size_t pb_union_find_first(const struct pb_union_find *components, size_t member);

/* States count and sizes: one number where all are alike, else a list. `method` is a whole text. */
void pb_union_find_state(const struct pb_union_find *components, double confidence,
                         struct pb_parameter *count_answer, struct pb_parameter *sizes_answer,
                         const char *method);

#endif
