/*
 * What the accesses of chases over pages speak for: the log likelihood that a place begins to miss
 * a TLB level with a chase of so many pages, under the noise model (analysis/noise.h).
 *
 * A load takes what its line takes, the penalties of the levels that it misses, and noise. What
 * lines take is spread as in the reference, which needs one translation: with near and far halves
 * of L2 a line is compared with itself, and one that misses in every chase speaks for nothing.
 */
#ifndef PB_ANALYSIS_TLB_EVIDENCE_H
#define PB_ANALYSIS_TLB_EVIDENCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/noise.h"
#include "analysis/room.h"
#include "analysis/tlb/scans.h"

enum {
    PB_TLB_FOUND_MAX = 3,
    PB_TLB_CYCLES_MAX = 4096,
    PB_TLB_STEPS_MAX = 24,
    PB_TLB_CACHES_MAX = 5,
    PB_TLB_BASES_MAX = 1 + PB_TLB_CACHES_MAX, /* at least 4 */
    PB_TLB_BELOW = 1024,                      /* cycles below a line's that tables reach */
    PB_TLB_ROWS = PB_TLB_CYCLES_MAX + PB_TLB_BELOW
};

/* With so many pages or more every chase of a scan ends before. */
#define PB_TLB_NEVER UINT32_MAX

/* What the line of a place takes in most of its loads, and how likely that is. */
struct pb_tlb_base {
    double cycles, log_prior;
    size_t cache; /* that it misses then, from 1 on; 0: it stays in that of the reference */
};

/* A level that was found. */
struct pb_tlb_known {
    double penalty_cycles;
    bool is_random; /* a page may hit again once it has begun to miss */
    uint64_t coverage_bytes;
    uint32_t **onset_pages; /* [scan][page] with which it begins to miss */
};

struct pb_tlb_evidence {
    const struct pb_tlb_scans *scans;
    struct pb_noise noise;
    double base_cycles;                     /* of most lines */
    bool is_uniform;                        /* of all lines */
    double log_base[PB_TLB_CYCLES_MAX];     /* log density of what lines take */
    double cache_cycles[PB_TLB_CACHES_MAX]; /* what other caches, and DRAM, take more */
    size_t cache_count;
    size_t base_count;  /* the first of these are what lines may take in most loads, and none */
    double cache_share; /* of loads that take one of them */
    bool supposes_hits; /* whatever looks like them: steps are those of levels */
    double cache_share_most; /* that was found of any levels */
    uint64_t fits_pages;     /* lines of so many pages surely stay in L2, */
    bool may_conflict;       /* unless they fall in few of its sets: no chase shows that */
    bool is_l2_known;        /* its size */
    size_t level_count;      /* found so far */
    size_t position;         /* of the level looked for: level_count, or 0: before all of these */
    struct pb_tlb_known known[PB_TLB_FOUND_MAX];
    /* What loads take more than these levels explain, the commonest first; shares of all such loads
     */
    double step_cycles[PB_TLB_STEPS_MAX], step_share[PB_TLB_STEPS_MAX];
    size_t step_count;
    float **gain;               /* [scan][place][chase_count + 1], of the step looked at last, */
    double weighed_cycles;      /* which is this; NaN: what is known has changed since */
    size_t every;               /* each so manieth place alone is weighed; 1: all */
    double bound, *scan_bounds; /* no structure gains more, nor in a scan; [scan] */
    double *scratch;            /* as many as the most chases of a scan, */
    float *misses;              /* and of one base, by how much a miss explains each load better */
    struct pb_room room;        /* of all arrays, */
    struct pb_room replay_room; /* and of those of each replay */
};

/*
 * Estimates the noise, and what lines take.
 *
 * scans      must outlive the evidence
 * parameters  what is stated of L2 and DRAM
 *
 * PB_NO_MEMORY
 */
enum pb_status pb_tlb_evidence_open(const struct pb_tlb_scans *scans,
                                    const struct pb_parameters *parameters,
                                    struct pb_tlb_evidence *evidence, struct pb_error *err);
void pb_tlb_evidence_clear(struct pb_tlb_evidence *evidence);

/* With which pages a page of a scan is looked up in the level looked for: it misses those before.
 */
uint32_t pb_tlb_lookup_pages(const struct pb_tlb_evidence *evidence, size_t scan, size_t page);

/*
 * Latency steps that another level may make, the commonest first: what loads that miss all levels
 * found so far take more than these explain. Fills evidence->steps.
 */
void pb_tlb_propose_steps(struct pb_tlb_evidence *evidence);

/*
 * Fills `gain` for a level with such a penalty: by how much the log likelihood of all accesses of a
 * place grows when it misses from that chase on. Returns what the best chase of every place by
 * itself would gain: no structure gains more.
 */
double pb_tlb_weigh(struct pb_tlb_evidence *evidence, double penalty_cycles);

/*
 * The share of loads that take a cache's step, of those that miss none of the levels found: before
 * a level is known, its own misses count among them.
 */
void pb_tlb_estimate_caches(struct pb_tlb_evidence *evidence);

/*
 * Does the step of the level behind the position contain that of one that is found there? Where all
 * lines are alike, it was found above the reference's loads, which hit all levels; else above what
 * lines take in most of their loads, which may miss the first.
 */
static inline bool pb_tlb_is_contained(const struct pb_tlb_evidence *evidence)
{
    return evidence->is_uniform && evidence->position < evidence->level_count;
}

/* What the line of a place may take, under the levels found. Returns how many; 0: not recorded. */
size_t pb_tlb_find_bases(const struct pb_tlb_evidence *evidence, size_t scan, size_t place,
                         struct pb_tlb_base bases_out[PB_TLB_BASES_MAX]);

/*
 * How likely a load of a line with such a base is, by pb_tlb_row() of its cycles above the base and
 * what it misses. A line that misses a cache in most loads hits it in others, and the reverse.
 */
void pb_tlb_tabulate(const struct pb_tlb_evidence *evidence, size_t cache,
                     float density_out[PB_TLB_ROWS + 1]);

/* Bases differ in so many caches, with none. */
static inline size_t pb_tlb_base_kinds(const struct pb_tlb_evidence *evidence)
{
    return evidence->is_uniform && !evidence->supposes_hits ? evidence->base_count : 1;
}

static inline size_t pb_tlb_row_at(double at)
{
    if (at >= 0.0)
        return at < PB_TLB_ROWS ? (size_t)(int)at : PB_TLB_ROWS - 1; /* a signed one is quicker */
    return isnan(at) ? PB_TLB_ROWS : 0;
}

static inline size_t pb_tlb_row(double excess_cycles)
{
    return pb_tlb_row_at(excess_cycles + PB_TLB_BELOW + 0.5);
}

static inline const float *pb_tlb_gain(const struct pb_tlb_evidence *evidence, size_t scan,
                                       size_t place)
{
    return evidence->gain[scan] + place * (evidence->scans->items[scan].chase_count + 1);
}

/* Is this latency step one of the caches', or DRAM's? */
bool pb_tlb_is_cache_step(const struct pb_tlb_evidence *evidence, double penalty_cycles);

#endif
