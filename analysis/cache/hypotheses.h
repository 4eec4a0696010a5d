/*
 * Hypotheses of what a cache is, each with its likelihood: what all of them together say of one of
 * its numbers.
 */
#ifndef PB_ANALYSIS_CACHE_HYPOTHESES_H
#define PB_ANALYSIS_CACHE_HYPOTHESES_H

#include "analysis/cache/geometry.h"
#include "analysis/parameter.h"

struct pb_hypothesis {
    struct pb_geometry geometry;
    struct pb_geometry_fit fit, conflicts; /* of all chases, and of conflicts alone */
    double log_prior;
    double log_likelihood; /* prior included */
};

struct pb_hypotheses {
    struct pb_hypothesis *items;
    size_t count, capacity;
};

/* Adds a copy of an item; of two with the same geometry the likelier one is kept. PB_NO_MEMORY. */
enum pb_status pb_hypotheses_add(struct pb_hypotheses *hypotheses,
                                 const struct pb_hypothesis *hypothesis, struct pb_error *err);
void pb_hypotheses_clear(struct pb_hypotheses *hypotheses);

/* The likeliest first. */
void pb_hypotheses_sort(struct pb_hypotheses *hypotheses);

/* A number of a geometry; here its line, in bytes. */
typedef uint64_t (*pb_geometry_number)(const struct pb_geometry *geometry);
uint64_t pb_geometry_line(const struct pb_geometry *geometry);

/* The share of the likelihood of all hypotheses, sorted, of those with that value of a number. */
double pb_hypotheses_share(const struct pb_hypotheses *hypotheses, pb_geometry_number number,
                           uint64_t value);

/* States a number, with the interval of all hypotheses that are possible. They are sorted. */
void pb_hypotheses_state(struct pb_parameter *answer, const struct pb_hypotheses *hypotheses,
                         pb_geometry_number number, double agreement, const char *method);

/* Has another hypothesis that is possible another one? A word or masks have no interval. */
bool pb_hypotheses_is_open(const struct pb_hypotheses *hypotheses, pb_geometry_number number);

#endif
