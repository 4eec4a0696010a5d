/*
 * Which TLB levels the loads of chases miss, as levels of such structures do: their pages are
 * simulated, pass by pass, level by level.
 *
 * A load looks a level up only where it misses those before, so that what a level sees depends on
 * them. Sets of which it is certain, in every pass, whether they overflow are predicted at once;
 * the others are replayed pass by pass, and where victims are random several times.
 */
#ifndef PB_ANALYSIS_TLB_PREDICTION_H
#define PB_ANALYSIS_TLB_PREDICTION_H

#include <math.h>

#include "analysis/constants.h"
#include "analysis/tlb/structure.h"

/* How closely it is looked. */
struct pb_tlb_effort {
    size_t per_octave;     /* chases of a scan, by their pages; 0: all */
    size_t repeated_loads; /* a chase with random misses is repeated until it has so many */
    uint64_t draw;         /* another number: other random victims */
    size_t level_count;    /* so many levels are replayed; of those behind a load that misses these
                              may miss any number. 0: all */
};

enum { PB_TLB_REPEATS_MAX = 64 };

/* How many levels a load misses is a matter of chance. */
enum { PB_TLB_UNSURE = UINT8_MAX };

/* What repeats of one chase show of a level whose misses vary. */
struct pb_tlb_draws {
    float share, variance; /* of misses; of a load's share of the variance of their sum; 0: they do
                              not vary */
    uint32_t draws;        /* in how many repeats they were replayed; 0: in none */
    float together;        /* correlation of misses of one set, by these */
    float drawn[PB_TLB_REPEATS_MAX]; /* shares of misses in these */
};

/* What is predicted of the loads of a scan that come to one level. */
struct pb_tlb_misses {
    float *chance;               /* [place][chase] to miss it; 0 or 1: for sure */
    struct pb_tlb_draws *draws;  /* [chases that are looked at] */
    const uint32_t *first, *set; /* [pages] the first page of the entry; its set */
    size_t groups;               /* sets whose loads are drawn together, or 1: all */
};

struct pb_tlb_stage;

struct pb_tlb_prediction {
    struct pb_tlb_misses levels[PB_TLB_FOUND_MAX];
    size_t count;
    uint32_t *chases; /* of the scan that are looked at, */
    size_t chase_count;
    uint8_t *missed; /* [place][chase] levels, for sure, or PB_TLB_UNSURE */
    bool is_sure;    /* of the scan: none is unsure */
    size_t pages_max, places_max, chases_max, cells; /* of all scans; cells: places by chases */
    /* How it is found: */
    const struct pb_tlb_scans *scans;
    const struct pb_tlb_effort *effort;
    bool is_checked; /* variances are needed */
    struct pb_tlb_stage *stages;
    uint32_t *pages;      /* that are replayed in all passes but the first, */
    size_t varying;       /* so many, */
    size_t warm;          /* passes before the last one, */
    size_t times;         /* and so many repeats */
    uint64_t *come;       /* [passes][pages] in which the load comes to the level */
    uint64_t *came;       /* [pages] in which that of the last pass did */
    struct pb_room *room; /* of all arrays */
};

/*
 * levels[count], scans, effort and the room of its arrays must outlive it.
 *
 * is_checked  draws are wanted even where chances are known without
 *
 * PB_NO_MEMORY
 */
enum pb_status pb_tlb_prediction_open(const struct pb_tlb_scans *scans,
                                      const struct pb_tlb_level *levels, size_t count,
                                      const struct pb_tlb_effort *effort, bool is_checked,
                                      struct pb_room *room, struct pb_tlb_prediction *prediction,
                                      struct pb_error *err);

/* Predicts the loads of one scan: of all its chases, or of so many of each octave of pages. */
void pb_tlb_predict(struct pb_tlb_prediction *prediction, size_t scan);

/* A chance of what no draw, or every draw, showed. */
static inline double pb_tlb_bounded(double chance)
{
    return fmin(fmax(chance, PB_TLB_RARE), 1.0 - PB_TLB_RARE);
}

#endif
