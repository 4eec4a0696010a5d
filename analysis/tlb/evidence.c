/* Likelihoods of the accesses of chases over pages; see evidence.h. */
#include "analysis/tlb/evidence.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/constants.h"

enum {
    HITS_PAGES = 8, /* as many surely hit every TLB of every GPU known */
    ENDS = 5        /* chases at either end of a scan that tell what a line takes */
};

/* Log likelihood of an access: a hit's, and by how much a miss explains it better. */
struct row {
    float hit, miss;
};

/* By its cycles above the line and the levels before; the last row is of what was not recorded. */
enum { BELOW = PB_TLB_BELOW, ROWS = PB_TLB_ROWS, NOT_RECORDED = ROWS };
struct table {
    struct row rows[ROWS + 1];
};

/* Of the few at one end of a scan, which are sorted. */
static double median_of(double *values, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        double value = values[i];
        size_t at = i;

        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
    return values[count / 2];
}

/*
 * Places of few pages, which surely hit, each a class of its own; or where all lines are alike, the
 * reference: sets of two or three ways may miss with few pages. PB_NO_MEMORY.
 */
static enum pb_status estimate_noise(const struct pb_tlb_scans *scans, struct pb_noise *noise,
                                     struct pb_error *err)
{
    struct pb_noise_evidence deviations = {NULL, 0, 0};
    struct pb_noise of_reference = {0};
    enum pb_status status = PB_OK;

    for (size_t s = 0; s < scans->count && status == PB_OK; s++) {
        const struct pb_tlb_scan *scan = &scans->items[s];

        for (size_t place = 0; place < HITS_PAGES && place < scan->place_count; place++) {
            double cycles[4 * HITS_PAGES];
            size_t count = 0;

            for (size_t w = 0; w < scan->chase_count && scan->pages[w] <= HITS_PAGES; w++) {
                double here = *pb_tlb_cycles(scan, place, w);

                if (!isnan(here) && count < sizeof(cycles) / sizeof(cycles[0]))
                    cycles[count++] = here;
            }
            if (status == PB_OK)
                status = pb_noise_add(&deviations, cycles, count, err);
        }
    }
    if (status == PB_OK)
        pb_noise_fit(&deviations, noise);
    pb_noise_evidence_clear(&deviations);
    if (status != PB_OK)
        return status;
    status = pb_noise_add(&deviations, scans->reference.values, scans->reference.count, err);
    if (status == PB_OK)
        pb_noise_fit(&deviations, &of_reference);
    if (status == PB_OK && of_reference.spread_cycles < noise->spread_cycles)
        *noise = of_reference;
    pb_noise_evidence_clear(&deviations);
    return status;
}

/* The reference's latencies, each spread by the noise. */
static void estimate_base(const struct pb_sample *reference, struct pb_tlb_evidence *evidence)
{
    static const double floor_share = PB_TLB_OTHER_LINES / PB_TLB_CYCLES_MAX;
    double *density = evidence->log_base, all = (double)reference->count;
    size_t near = 0;

    for (size_t i = 0; i < PB_TLB_CYCLES_MAX; i++)
        density[i] = floor_share;
    for (size_t i = 0; i < reference->count; i++) {
        int at = (int)lround(reference->values[i]);

        near += fabs(reference->values[i] - evidence->base_cycles) <= evidence->noise.spread_cycles;
        for (int k = at - PB_NOISE_REACH + 1; k < at + PB_NOISE_REACH; k++)
            if (k >= 0 && k < PB_TLB_CYCLES_MAX)
                density[k] += exp(pb_noise_log(&evidence->noise, k - at)) / all;
    }
    for (size_t i = 0; i < PB_TLB_CYCLES_MAX; i++)
        density[i] = log(density[i]);
    evidence->is_uniform = (double)near >= PB_TLB_UNIFORM_SHARE * all;
}

static void add_cache(struct pb_tlb_evidence *evidence, double step)
{
    for (size_t i = 0; i < evidence->cache_count; i++)
        if (fabs(step - evidence->cache_cycles[i]) <= 1.0)
            return;
    if (step > evidence->noise.spread_cycles && evidence->cache_count < PB_TLB_CACHES_MAX)
        evidence->cache_cycles[evidence->cache_count++] = step;
}

/* What lines take that do not stay in the cache of the reference, as other tests have it. */
static void read_caches(const struct pb_parameters *parameters, struct pb_tlb_evidence *evidence)
{
    const struct pb_parameter *miss = pb_parameters_find(parameters, "l2", "miss_latency_cycles");
    double hit = pb_parameters_number(parameters, "l2", "latency_cycles");
    double size = pb_parameters_number(parameters, "l2", "size_bytes");
    double line = pb_parameters_number(parameters, "l2", "line_bytes");
    double base = evidence->base_cycles;

    if (fabs(hit - base) <= evidence->noise.spread_cycles)
        base = hit; /* both as they are stated */
    add_cache(evidence, pb_parameters_number(parameters, "dram", "latency_cycles") - base);
    add_cache(evidence, pb_parameters_number(parameters, "l2", "miss_latency_cycles") - base);
    if (evidence->is_uniform)
        add_cache(evidence, hit - base);
    evidence->base_count = 1 + evidence->cache_count;
    if (miss != NULL && miss->kind == PB_VALUE_NUMBER) { /* ends of an interval may be of no line */
        add_cache(evidence, miss->numbers[0].low - base);
        add_cache(evidence, miss->numbers[0].high - base);
    }
    evidence->is_l2_known = size >= 1.0;
    evidence->may_conflict = isnan(pb_parameters_number(parameters, "l2", "set_count"));
    for (size_t s = 0; s < evidence->scans->count; s++)
        evidence->may_conflict &= evidence->scans->items[s].remapped_bytes == 0;
    evidence->fits_pages = (uint64_t)((double)evidence->scans->reference.count / PB_TLB_L2_PART);
    if (size >= 1.0 &&
        !(evidence->is_uniform && hit - evidence->base_cycles > evidence->noise.spread_cycles))
        evidence->fits_pages = (uint64_t)(size / (line >= 1.0 ? line : 128.0) / PB_TLB_L2_PART);
}

static enum pb_status allocate(struct pb_tlb_evidence *evidence, struct pb_error *err)
{
    const struct pb_tlb_scans *scans = evidence->scans;
    struct pb_room *room = &evidence->room;
    size_t chases = 1;

    PB_ROOM_ARRAY(room, evidence->gain, scans->count);
    PB_ROOM_ARRAY(room, evidence->scan_bounds, scans->count);
    for (size_t i = 0; i < PB_TLB_FOUND_MAX; i++)
        PB_ROOM_ARRAY(room, evidence->known[i].onset_pages, scans->count);
    for (size_t s = 0; s < scans->count && !room->is_out; s++) {
        const struct pb_tlb_scan *scan = &scans->items[s];

        chases = scan->chase_count > chases ? scan->chase_count : chases;
        PB_ROOM_ARRAY(room, evidence->gain[s], scan->place_count * (scan->chase_count + 1));
        for (size_t i = 0; i < PB_TLB_FOUND_MAX; i++)
            PB_ROOM_ARRAY(room, evidence->known[i].onset_pages[s], scan->page_count);
    }
    PB_ROOM_ARRAY(room, evidence->scratch, chases);
    PB_ROOM_ARRAY(room, evidence->misses, chases);
    return pb_room_status(room, err);
}

void pb_tlb_evidence_clear(struct pb_tlb_evidence *evidence)
{
    pb_room_clear(&evidence->room);
    pb_room_clear(&evidence->replay_room);
    memset(evidence, 0, sizeof(*evidence));
}

enum pb_status pb_tlb_evidence_open(const struct pb_tlb_scans *scans,
                                    const struct pb_parameters *parameters,
                                    struct pb_tlb_evidence *evidence, struct pb_error *err)
{
    struct pb_sample sorted = {NULL, 0, 0};
    enum pb_status status;

    memset(evidence, 0, sizeof(*evidence));
    evidence->scans = scans;
    evidence->weighed_cycles = NAN;
    evidence->every = 1;
    status = estimate_noise(scans, &evidence->noise, err);
    if (status == PB_OK)
        status = pb_sample_sorted(&scans->reference, &sorted, err);
    if (status == PB_OK) {
        evidence->base_cycles = pb_noise_locate(&evidence->noise, sorted.values, sorted.count);
        estimate_base(&sorted, evidence);
        for (size_t i = 0; i < sorted.count; i++)
            sorted.values[i] -= evidence->base_cycles;
        if (evidence->is_uniform) /* what takes longer is no other line */
            pb_noise_add_spikes(&evidence->noise, sorted.values, sorted.count);
        read_caches(parameters, evidence);
        status = allocate(evidence, err);
    }
    pb_sample_clear(&sorted);
    if (status != PB_OK)
        pb_tlb_evidence_clear(evidence);
    return status;
}

uint32_t pb_tlb_lookup_pages(const struct pb_tlb_evidence *evidence, size_t scan, size_t page)
{
    if (evidence->position == 0)
        return (uint32_t)page + 1;
    return evidence->known[evidence->position - 1].onset_pages[scan][page];
}

/* The loads of one place: what they take, and with which chase they begin to miss each level. */
struct place {
    const float *cycles; /* [count] of each chase */
    size_t count, first_miss[PB_TLB_FOUND_MAX];
    size_t first;  /* the first chase over so many pages that it loads this one */
    size_t lookup; /* the first chase that looks the page up in the level looked for */
};

static struct place find_place(const struct pb_tlb_evidence *evidence, size_t s, size_t at)
{
    const struct pb_tlb_scan *scan = &evidence->scans->items[s];
    struct place place = {.cycles = pb_tlb_cycles(scan, at, 0),
                          .count = scan->chase_count,
                          .first = scan->first_chase[at + 1]};
    uint32_t lookup = pb_tlb_lookup_pages(evidence, s, at);

    place.lookup = lookup <= scan->page_count ? scan->first_chase[lookup] : scan->chase_count;
    for (size_t i = 0; i < evidence->level_count; i++) {
        uint32_t pages = evidence->known[i].onset_pages[s][at];

        place.first_miss[i] =
            pages <= scan->page_count ? scan->first_chase[pages] : scan->chase_count;
    }
    return place;
}

/* The known levels that loads of a place miss in a chase, and in all longer ones before `end`. */
struct missed {
    size_t levels[PB_TLB_FOUND_MAX], count, end;
    bool is_behind; /* one of them lies behind that looked for, and its step contains that one's */
};

static struct missed find_missed(const struct pb_tlb_evidence *evidence, const struct place *place,
                                 size_t chase)
{
    struct missed missed = {.count = 0, .end = place->count};

    for (size_t i = 0; i < evidence->level_count; i++) {
        if (place->first_miss[i] <= chase) {
            missed.levels[missed.count++] = i;
            missed.is_behind |= i >= evidence->position && pb_tlb_is_contained(evidence);
        } else if (place->first_miss[i] < missed.end) {
            missed.end = place->first_miss[i];
        }
    }
    return missed;
}

/*
 * What is left of what a load takes beyond its line, less what the levels found so far add. One
 * that is replaced at random adds what the load takes, and what hits it is looked up in no level
 * behind.
 */
static inline double excess_of(const struct pb_tlb_evidence *evidence, const struct missed *missed,
                               double left, bool *is_hit_out)
{
    *is_hit_out = false;
    for (size_t k = 0; k < missed->count; k++) {
        size_t i = missed->levels[k];

        if (evidence->known[i].is_random && left < evidence->known[i].penalty_cycles / 2.0) {
            *is_hit_out = i < evidence->position;
            break;
        }
        left -= evidence->known[i].penalty_cycles;
    }
    return left;
}

/*
 * Cycles of a place less what the known levels add to a line of base_cycles: the median of the
 * first or last chases.
 */
static double end_of(const struct pb_tlb_evidence *evidence, const struct place *place,
                     double base_cycles, bool is_last)
{
    double cycles[ENDS];
    size_t count = 0;

    for (size_t i = place->first; i < place->count && count < ENDS; i++) {
        size_t chase = is_last ? place->count - 1 - (i - place->first) : i;
        struct missed missed = find_missed(evidence, place, chase);
        bool is_hit;
        double here = excess_of(evidence, &missed, place->cycles[chase] - base_cycles, &is_hit);

        if (!isnan(here))
            cycles[count++] = base_cycles + here;
    }
    return count == 0 ? NAN : median_of(cycles, count);
}

/* Where all lines are alike, one whose set of a cache is too full misses it in most chases. */
static size_t find_uniform_bases(const struct pb_tlb_evidence *evidence,
                                 struct pb_tlb_base bases[PB_TLB_BASES_MAX])
{
    double share = evidence->cache_count > 0 ? evidence->cache_share : 0.0;
    size_t count = pb_tlb_base_kinds(evidence);

    bases[0] = (struct pb_tlb_base){evidence->base_cycles, log(1.0 - share), 0};
    for (size_t i = 1; i < count; i++)
        bases[i] = (struct pb_tlb_base){evidence->base_cycles + evidence->cache_cycles[i - 1],
                                        log(share / (double)evidence->cache_count), i};
    return count;
}

/* Otherwise what it takes in the first or last chases, or that less a miss: those that differ. */
static size_t find_bases(const struct pb_tlb_evidence *evidence, const struct place *place,
                         double penalty_cycles, struct pb_tlb_base bases[PB_TLB_BASES_MAX])
{
    double ends[2];
    size_t count = 0;

    if (evidence->is_uniform)
        return find_uniform_bases(evidence, bases);
    ends[0] = end_of(evidence, place, evidence->base_cycles, false);
    if (isnan(ends[0]))
        return 0;
    ends[1] = end_of(evidence, place, ends[0], true);
    for (size_t i = 0; i < 4; i++) {
        double cycles = ends[i / 2] - (i % 2 == 0 ? 0.0 : penalty_cycles);
        double row = fmin(fmax(cycles, 0.0), PB_TLB_CYCLES_MAX - 1.0);
        bool is_new = true;

        for (size_t k = 0; k < count; k++)
            is_new &= bases[k].cycles != cycles;
        if (is_new)
            bases[count++] =
                (struct pb_tlb_base){cycles, evidence->log_base[(size_t)(row + 0.5)], 0};
    }
    return count;
}

size_t pb_tlb_find_bases(const struct pb_tlb_evidence *evidence, size_t scan, size_t place,
                         struct pb_tlb_base bases_out[PB_TLB_BASES_MAX])
{
    struct place loads = find_place(evidence, scan, place);

    return find_bases(evidence, &loads, 0.0, bases_out);
}

/* The cache whose step this is; NULL: none. */
static const double *find_cache(const struct pb_tlb_evidence *evidence, double cycles)
{
    for (size_t i = 0; i < evidence->cache_count; i++)
        if (fabs(cycles - evidence->cache_cycles[i]) <= evidence->noise.spread_cycles / 2.0 + 1.0)
            return &evidence->cache_cycles[i];
    return NULL;
}

bool pb_tlb_is_cache_step(const struct pb_tlb_evidence *evidence, double penalty_cycles)
{
    return find_cache(evidence, penalty_cycles) != NULL;
}

/* Excess of the accesses over what is known, counted by cycles: of all, or those looked up. */
static void count_excess(const struct pb_tlb_evidence *evidence, bool all, double *counts)
{
    for (size_t s = 0; s < evidence->scans->count; s++) {
        for (size_t at = 0; at < evidence->scans->items[s].place_count; at++) {
            struct place place = find_place(evidence, s, at);
            double base = evidence->base_cycles;

            if (!evidence->is_uniform)
                base = end_of(evidence, &place, base, false);
            for (size_t w = all ? place.first : place.lookup; w < place.count;) {
                const struct missed missed = find_missed(evidence, &place, w);

                for (; w < missed.end; w++) {
                    bool is_hit;
                    double here = excess_of(evidence, &missed, place.cycles[w] - base, &is_hit);

                    if ((all || !is_hit) && here >= 0.0 && here < PB_TLB_CYCLES_MAX - 1.0)
                        counts[(int)(here + 0.5)]++;
                }
            }
        }
    }
}

/* Of loads that miss no further level, those that miss a cache. */
static double share_of_caches(const struct pb_tlb_evidence *evidence, const double *counts)
{
    int half = (int)(evidence->noise.spread_cycles / 2.0) + 1;
    double hits = 1.0, misses = 0.0;

    for (int i = 0; i <= half; i++)
        hits += counts[i];
    for (size_t k = 0; k < evidence->cache_count; k++)
        for (int i = (int)evidence->cache_cycles[k] - half;
             i <= (int)evidence->cache_cycles[k] + half && i < PB_TLB_CYCLES_MAX; i++)
            misses += i > half ? counts[i] : 0.0;
    return fmax(PB_TLB_L2_MISS_SHARE, fmin(0.5, misses / (hits + misses)));
}

static bool is_known_step(const struct pb_tlb_evidence *evidence, double cycles, double apart)
{
    for (size_t i = 0; i < evidence->step_count; i++)
        if (fabs(evidence->step_cycles[i] - cycles) <= apart)
            return true;
    return false;
}

/* Makes the eight highest peaks of counts[PB_TLB_CYCLES_MAX], spread by `half`, the steps. */
static void find_peaks(struct pb_tlb_evidence *evidence, const double *counts, int half)
{
    double sums[PB_TLB_CYCLES_MAX] = {0.0}, left[PB_TLB_CYCLES_MAX] = {0.0};

    evidence->step_count = 0;
    for (int i = half; i + half < PB_TLB_CYCLES_MAX; i++)
        for (int k = i - half; k <= i + half; k++)
            sums[i] += counts[k] * (half + 1 - abs(k - i));
    for (int i = half + 1; i < PB_TLB_CYCLES_MAX; i++)
        left[i] = sums[i];
    while (evidence->step_count < 8) {
        int best = 1;

        for (int i = 1; i + 1 < PB_TLB_CYCLES_MAX; i++)
            best = left[i] > left[best] ? i : best;
        if (left[best] <= 0.0)
            break;
        if (sums[best] < sums[best - 1] || sums[best] < sums[best + 1] || /* a slope */
            is_known_step(evidence, best, half)) {
            left[best] = 0.0;
            continue;
        }
        evidence->step_share[evidence->step_count] = sums[best];
        evidence->step_cycles[evidence->step_count++] = best;
        for (int i = best - 2 * half; i <= best + 2 * half; i++)
            if (i >= 0 && i < PB_TLB_CYCLES_MAX)
                left[i] = 0.0;
    }
}

void pb_tlb_propose_steps(struct pb_tlb_evidence *evidence)
{
    double counts[PB_TLB_CYCLES_MAX] = {0.0}, all = 0.0, most = 0.0;
    int half = (int)(evidence->noise.spread_cycles / 2.0) + 1;
    double least = half + 1;

    count_excess(evidence, false, counts);
    evidence->weighed_cycles = NAN;
    evidence->cache_share = share_of_caches(evidence, counts);
    evidence->cache_share_most = fmax(evidence->cache_share_most, evidence->cache_share);
    if (evidence->supposes_hits)
        evidence->cache_share = PB_TLB_L2_MISS_SHARE;
    find_peaks(evidence, counts, half);
    if (evidence->position < evidence->level_count) { /* small ones do not show */
        most = evidence->known[evidence->position].penalty_cycles / 2.0;
        if (evidence->is_uniform) { /* what lines take hides no step */
            evidence->step_count = 0;
            least = 3.0;
        }
    }
    for (double step = least; step < most && evidence->step_count < PB_TLB_STEPS_MAX; step *= 1.3) {
        evidence->step_share[evidence->step_count] = 1.0;
        evidence->step_cycles[evidence->step_count++] = floor(step);
    }
    for (size_t i = 0; i < evidence->step_count; i++)
        all += evidence->step_share[i];
    for (size_t i = 0; i < evidence->step_count; i++)
        evidence->step_share[i] /= all;
}

/* The density of an access of a line with such a base, so many cycles above it. */
static double density_of(const struct pb_tlb_evidence *evidence, size_t cache, double excess)
{
    double share = evidence->cache_count > 0 ? evidence->cache_share : 0.0;
    double sum = (1.0 - share) * exp(pb_noise_log(&evidence->noise, excess));

    if (cache > 0)
        return sum + share * exp(pb_noise_log(&evidence->noise,
                                              excess + evidence->cache_cycles[cache - 1]));
    for (size_t i = 0; i < evidence->cache_count; i++)
        sum += share / (double)evidence->cache_count *
               exp(pb_noise_log(&evidence->noise, excess - evidence->cache_cycles[i]));
    return sum;
}

/*
 * A miss may be one of the levels behind as well: then it takes one of the longer steps, each with
 * the share that it has of all loads. What a cache takes by itself is as likely of a hit.
 */
static void fill_table(const struct pb_tlb_evidence *evidence, size_t base, double penalty,
                       struct table *table)
{
    float one[ROWS + 1];
    double steps[PB_TLB_STEPS_MAX], shares[PB_TLB_STEPS_MAX], all = 0.0;
    bool is_cache[PB_TLB_STEPS_MAX];
    size_t count = 0;

    for (size_t k = 0; k < evidence->step_count; k++) {
        double step = evidence->step_cycles[k];

        if (step != penalty && evidence->position < evidence->level_count)
            continue; /* what lies behind is known */
        if (step < penalty)
            continue;
        steps[count] = step;
        shares[count] = evidence->step_share[k];
        all += shares[count++];
    }
    for (size_t k = 0; k < count; k++) {
        const double *cache = steps[k] > penalty ? find_cache(evidence, steps[k]) : NULL;

        shares[k] /= all;
        is_cache[k] = cache != NULL;
        if (cache != NULL) {
            steps[k] = *cache;
            shares[k] = fmin(shares[k], evidence->cache_share / (double)evidence->cache_count);
        }
    }
    pb_tlb_tabulate(evidence, base, one);
    table->rows[NOT_RECORDED] = (struct row){0.0F, 0.0F};
    for (int i = 0; i < ROWS; i++) {
        double miss = 0.0;

        for (size_t k = 0; k < count; k++)
            miss +=
                shares[k] * (is_cache[k] ? exp(pb_noise_log(&evidence->noise, i - BELOW - steps[k]))
                                         : one[pb_tlb_row(i - BELOW - steps[k])]);
        table->rows[i].hit = logf(one[i]);
        table->rows[i].miss = (float)log(fmax(miss, DBL_MIN)) - table->rows[i].hit;
    }
}

/*
 * Loads of a line that takes `base`: by how much a miss explains each better than a hit does, in
 * log likelihood. Returns that of hits.
 */
static double weigh_base(const struct pb_tlb_evidence *evidence, const struct table *tables,
                         const struct place *place, const struct pb_tlb_base *base, float *misses)
{
    const struct row *rows = tables[base->cache].rows;
    double sum = base->log_prior, shift = PB_TLB_BELOW + 0.5 - base->cycles;

    for (size_t w = place->first; w < place->count;) {
        const struct missed missed = find_missed(evidence, place, w);

        for (; missed.count == 0 && w < missed.end; w++) { /* most loads */
            const struct row *row = &rows[pb_tlb_row_at(place->cycles[w] + shift)];

            misses[w] = row->miss;
            sum += row->hit;
        }
        for (; w < missed.end; w++) {
            bool is_hit;
            double excess = excess_of(evidence, &missed, place->cycles[w] - base->cycles, &is_hit);
            const struct row *row = &rows[pb_tlb_row(excess)];

            misses[w] = is_hit || missed.is_behind ? 0.0F : row->miss;
            sum += row->hit;
        }
    }
    return sum;
}

/*
 * Of each base the best is kept: from every chase on all loads miss, those before hit. It is the
 * same for all chases that do not load the place.
 */
static double weigh_place(const struct pb_tlb_evidence *evidence, const struct table *tables,
                          const struct place *place, double penalty_cycles, float *gain)
{
    struct pb_tlb_base bases[PB_TLB_BASES_MAX];
    size_t base_count = 0;
    float most = 0.0F;

    if (place->lookup < place->count)
        base_count = find_bases(evidence, place, penalty_cycles, bases);
    for (size_t w = place->first; w <= place->count; w++)
        gain[w] = base_count == 0 ? 0.0F : -INFINITY;
    for (size_t i = 0; i < base_count; i++) {
        float *misses = evidence->misses;
        double sum = weigh_base(evidence, tables, place, &bases[i], misses);

        gain[place->count] = fmaxf((float)sum, gain[place->count]);
        for (size_t w = place->count; w-- > place->first;) {
            sum += misses[w];
            gain[w] = (float)sum > gain[w] ? (float)sum : gain[w];
        }
    }
    for (size_t w = 0; w < place->first; w++)
        gain[w] = gain[place->first];
    for (size_t w = 0; w <= place->count; w++)
        gain[w] -= gain[place->count];
    for (size_t w = place->lookup; w < place->count; w++)
        most = gain[w] > most ? gain[w] : most;
    return most;
}

double pb_tlb_weigh(struct pb_tlb_evidence *evidence, double penalty_cycles)
{
    struct table tables[PB_TLB_BASES_MAX];
    double most = 0.0;

    if (evidence->weighed_cycles == penalty_cycles)
        return evidence->bound;
    for (size_t i = 0; i < pb_tlb_base_kinds(evidence); i++)
        fill_table(evidence, i, penalty_cycles, &tables[i]);
    for (size_t s = 0; s < evidence->scans->count; s++) {
        double before = most;

        for (size_t at = 0; at < evidence->scans->items[s].place_count; at += evidence->every) {
            struct place place = find_place(evidence, s, at);

            most += weigh_place(evidence, tables, &place, penalty_cycles,
                                evidence->gain[s] + at * (place.count + 1));
        }
        evidence->scan_bounds[s] = most - before;
    }
    evidence->weighed_cycles = penalty_cycles;
    return evidence->bound = most;
}

void pb_tlb_estimate_caches(struct pb_tlb_evidence *evidence)
{
    double counts[PB_TLB_CYCLES_MAX] = {0.0};

    count_excess(evidence, true, counts);
    evidence->weighed_cycles = NAN;
    evidence->cache_share = share_of_caches(evidence, counts);
}

void pb_tlb_tabulate(const struct pb_tlb_evidence *evidence, size_t cache,
                     float density_out[PB_TLB_ROWS + 1])
{
    for (int i = 0; i < ROWS; i++)
        density_out[i] = (float)density_of(evidence, cache, i - BELOW);
    density_out[NOT_RECORDED] = 1.0F;
}
