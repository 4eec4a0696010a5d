/* Circles of members that belong together: a union-find that counts. */
#ifndef PB_ANALYSIS_STATISTICS_CIRCLES_H
#define PB_ANALYSIS_STATISTICS_CIRCLES_H

#include <stddef.h>

#include "analysis/parameter.h"

struct pb_circles {
    size_t members;
    size_t *parent; /* [members] */
    size_t *sizes;  /* [count] of each, the circle of the least member first */
    size_t count;   /* set by pb_circles_count() */
};

/* Everybody alone; members > 0. PB_NO_MEMORY. pb_circles_close() it. */
enum pb_status pb_circles_open(size_t members, struct pb_circles *circles_out,
                               struct pb_error *err);
void pb_circles_reset(struct pb_circles *circles); /* everybody alone again */
void pb_circles_close(struct pb_circles *circles); /* NULL is allowed */

void pb_circles_join(struct pb_circles *circles, size_t a, size_t b);

/* Sets count and sizes. */
void pb_circles_count(struct pb_circles *circles);

/* The least member of the circle, which names it. */
size_t pb_circles_first(const struct pb_circles *circles, size_t member);

/* States count and sizes: one number where all are alike, else a list. `method` is a whole text. */
void pb_circles_state(const struct pb_circles *circles, double confidence,
                      struct pb_parameter *count_answer, struct pb_parameter *sizes_answer,
                      const char *method);

#endif
