/* Which steps of sweeps are one level, and which are none; see rise.h and rise_level.h. */
#include "analysis/tlb/rise_level.h"

#include <math.h>

enum { SWEEPS_THAT_TELL = 6, PARTNERS_MIN = 2 };

/* Two steps are at the same place where they are so near to each other, in parts of it. */
static const double same_share = 1.0 / 8.0;

/* Do [fits, overflow) of two steps meet, each counted in units of its own? */
static bool meet(const struct pb_rise_step *a, double a_unit, const struct pb_rise_step *b,
                 double b_unit)
{
    double a_low = (double)a->fits_pages * a_unit, a_high = (double)a->overflow_pages * a_unit;
    double b_low = (double)b->fits_pages * b_unit, b_high = (double)b->overflow_pages * b_unit;

    return a_high > b_low * (1.0 - same_share) && b_high > a_low * (1.0 - same_share);
}

/* The step of a sweep that belongs to one of another stride; NULL: none. */
static const struct pb_rise_step *partner(const struct pb_rise_sweep *sweep,
                                          const struct pb_rise_sweep *of,
                                          const struct pb_rise_step *step)
{
    double own = (double)sweep->stride_bytes, others = (double)of->stride_bytes;

    for (size_t i = 0; i < sweep->step_count; i++)
        if (meet(&sweep->steps[i], 1.0, step, 1.0) || meet(&sweep->steps[i], own, step, others))
            return &sweep->steps[i];
    return NULL;
}

/* Do the walks of a sweep go well beyond this step of another one, in pages and in bytes? */
static bool would_show(const struct pb_rise_sweep *sweep, const struct pb_rise_sweep *of,
                       const struct pb_rise_step *step)
{
    double most = (double)sweep->most_pages * (1.0 - same_share);
    double stride = (double)sweep->stride_bytes / (double)of->stride_bytes;

    return most * fmin(1.0, stride) >= (double)step->overflow_pages;
}

void pb_rise_leave_out_lonely(struct pb_rise *rise)
{
    bool lonely[PB_RISE_SWEEPS_MAX][PB_RISE_STEPS_MAX] = {{false}};

    for (size_t i = 0; i < rise->sweep_count && rise->sweep_count >= SWEEPS_THAT_TELL; i++) {
        for (size_t k = 0; k < rise->sweeps[i].step_count; k++) {
            const struct pb_rise_sweep *sweep = &rise->sweeps[i];
            size_t partners = 0, able = 0;

            for (size_t j = 0; j < rise->sweep_count; j++) {
                partners += j != i && partner(&rise->sweeps[j], sweep, &sweep->steps[k]) != NULL;
                able += j != i && would_show(&rise->sweeps[j], sweep, &sweep->steps[k]);
            }
            lonely[i][k] = partners < PARTNERS_MIN && able >= PARTNERS_MIN;
        }
    }
    for (size_t i = 0; i < rise->sweep_count; i++) {
        struct pb_rise_sweep *sweep = &rise->sweeps[i];
        size_t kept = 0;

        for (size_t k = 0; k < sweep->step_count; k++)
            if (!lonely[i][k])
                sweep->steps[kept++] = sweep->steps[k];
        sweep->step_count = kept;
    }
}

/* The sweep with most steps; of several, the one with the largest stride. */
static size_t fullest(const struct pb_rise *rise)
{
    size_t best = 0;

    for (size_t i = 0; i < rise->sweep_count; i++)
        if (rise->sweeps[i].step_count >= rise->sweeps[best].step_count)
            best = i;
    return best;
}

static void add_partner(const struct pb_rise_sweep *sweep, const struct pb_rise_level *below,
                        const struct pb_rise_sweep **of, const struct pb_rise_step **step,
                        struct pb_rise_level *level)
{
    const struct pb_rise_step *found = partner(sweep, *of, *step);
    bool is_taken = false;

    for (size_t i = 0; i < below->count; i++)
        is_taken |= below->steps[i] == found;
    if (found == NULL || is_taken)
        return;
    level->sweeps[level->count] = *of = sweep;
    level->steps[level->count++] = *step = found;
}

static void turn_round(struct pb_rise_level *level)
{
    for (size_t i = 0; i < level->count / 2; i++) {
        size_t last = level->count - 1 - i;
        const struct pb_rise_sweep *sweep = level->sweeps[i];
        const struct pb_rise_step *step = level->steps[i];

        level->sweeps[i] = level->sweeps[last];
        level->steps[i] = level->steps[last];
        level->sweeps[last] = sweep;
        level->steps[last] = step;
    }
}

/*
 * From this step of the sweep that has most, stride by stride to both sides. Where strides in
 * between did not go so far, the next one's step may be the level's below: that has it already.
 */
static struct pb_rise_level follow(const struct pb_rise *rise, size_t from, size_t step_index,
                                   const struct pb_rise_level *below)
{
    const struct pb_rise_sweep *start = &rise->sweeps[from], *of = start;
    const struct pb_rise_step *step = &start->steps[step_index];
    struct pb_rise_level found = {.count = 0};

    for (size_t i = from; i-- > 0;)
        add_partner(&rise->sweeps[i], below, &of, &step, &found);
    turn_round(&found);
    of = found.sweeps[found.count] = start;
    step = found.steps[found.count++] = &start->steps[step_index];
    for (size_t i = from + 1; i < rise->sweep_count; i++)
        add_partner(&rise->sweeps[i], below, &of, &step, &found);
    return found;
}

enum pb_status pb_rise_level(const struct pb_rise *rise, size_t level,
                             struct pb_rise_level *level_out, struct pb_error *err)
{
    size_t best = fullest(rise);
    const struct pb_rise_sweep *start = &rise->sweeps[best];
    struct pb_rise_level found = {.count = 0};

    if (level == 0 || level > start->step_count)
        return pb_fail(
            err, PB_NOT_FOUND,
            "no such level: only %zu levels in passes with strides of %llu MiB over up to %llu MiB",
            start->step_count, (unsigned long long)(start->stride_bytes >> 20),
            (unsigned long long)((start->stride_bytes * start->most_pages) >> 20));
    for (size_t i = 0; i < level; i++)
        found = follow(rise, best, i, &found);
    *level_out = found;
    return PB_OK;
}
