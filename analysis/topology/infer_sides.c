/*
 * latency_cycles of l2_near and l2_far, l2.partition_sm_counts and l2.crossing_cycles: the two
 * halves of a large L2.
 *
 * Atomics are done where a line is at home, so that from one SM those to lines of the other half
 * take longer by the way across. Loads are answered by the near half, once it has a copy: near is
 * what loads take, far that and the way across (crossing_cycles), until l2_whole has loads from
 * both halves.
 *
 * What atomics of one SM take, line by line and less what is common to all SMs, is a profile:
 * those of two SMs correlate near +1 on one side and near -1 across. The profiles say where lines
 * are at home, too. What an SM's far lines take more than its near ones is the way across: SMs may
 * lie at different distances from all of L2. partition_sm_counts is a list, the side of the first
 * SM first.
 *
 * Limit: both halves must answer at least a tenth of the atomics.
 *
 * Source: facts on Ampere's and Hopper's L2 (2.10).
 */
#include "analysis/infer.h"

#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/statistics/modes.h"
#include "analysis/statistics/sample.h"
#include "analysis/statistics/sort.h"
#include "analysis/topology/sm_map.h"

enum { MODES_MAX = 64, PIECES_MAX = 30 };

/* Halves are further apart than this part of the near one's latency, and neither is rare. */
static const double least_gap = 0.15, least_share = 0.1;

/* SMs whose profiles correlate less, of either sign, are of no side. */
static const double least_correlation = 0.5;

/* A side has more than one SM. */
static const double least_sms = 2.0;

/*
 * Loads from all SMs less the overhead, sorted: as they are, and less what an SM lies further from
 * all lines than the others. PB_NOT_FOUND: the matrix, by touch, SM and line, has none.
 */
static enum pb_status collect_loads(const struct pb_recording *recording,
                                    struct pb_sample *cycles_out, struct pb_sample *level_out,
                                    struct pb_error *err)
{
    const struct pb_matrix *matrix = &recording->matrix;
    size_t touch = pb_axis_label(&matrix->axes[0], "load"), sms = matrix->axes[1].length;
    size_t lines = matrix->axes[2].length;
    struct pb_sample all = {NULL, 0, 0}, level = {NULL, 0, 0};
    enum pb_status status;
    double median;

    if (touch == matrix->axes[0].length)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: lines were not touched by a load");
    status = pb_sample_reserve(&all, sms * lines, err);
    for (size_t i = 0; status == PB_OK && i < sms * lines; i++)
        all.values[all.count++] =
            matrix->values[touch * sms * lines + i] - recording->overhead_cycles;
    if (status == PB_OK)
        status = pb_sample_sorted(&all, cycles_out, err);
    if (status == PB_OK && cycles_out->count < all.count)
        status = pb_fail(err, PB_NOT_FOUND, "not recorded: some loads were not measured");
    for (size_t sm = 0; status == PB_OK && sm < sms; sm++) {
        struct pb_sample one = {all.values + sm * lines, lines, lines};

        status = pb_sample_sorted(&one, &level, err);
        median = pb_quantile(level.values, level.count, 0.5);
        for (size_t i = 0; status == PB_OK && i < lines; i++)
            one.values[i] += pb_quantile(cycles_out->values, cycles_out->count, 0.5) - median;
        pb_sample_clear(&level);
    }
    if (status == PB_OK)
        status = pb_sample_sorted(&all, level_out, err);
    pb_sample_clear(&all);
    return status;
}

/* Do the members fall into two kinds, as those that L2 has and those that it has lost do? */
static bool are_two_kinds(const struct pb_sample *sorted)
{
    struct pb_mode modes[MODES_MAX];
    size_t count = pb_modes_find(sorted->values, sorted->count, MODES_MAX, modes);

    for (size_t i = 1; i < count; i++) {
        double gap = modes[i].median - modes[i - 1].median;
        double above = (double)(sorted->count - modes[i].first) / (double)sorted->count;

        if (gap >= least_gap * modes[i - 1].median && above >= least_share &&
            above <= 1.0 - least_share)
            return true;
    }
    return false;
}

/* The two sides of a map. Cycles less the overhead. */
struct halves {
    double weakest; /* correlation of an SM's profile with the first one's */
    size_t sms[2];  /* the side of the first SM first */
    size_t near_count, far_count;
    double near_cycles, far_cycles; /* medians over all SMs */
    struct pb_estimate across;      /* far less near, by each SM: median and quartiles */
};

#define HALVES_FORMAT "atomics take %.0f (%zu of them) or %.0f cycles (%zu)"
#define HALVES_ARGUMENTS(halves)                                                                   \
    (halves)->near_cycles, (halves)->near_count, (halves)->far_cycles, (halves)->far_count

/* What dividing a map takes. */
struct division {
    float *profiles;     /* [sms][lines] */
    double *means;       /* [sms + lines] */
    double *differences; /* [sms] far less near */
    double *own;         /* [max(sms, lines)] an SM's atomics, near ones first */
    double *cells;       /* [sms * lines] those of all SMs, near ones first */
    bool *is_across;     /* [sms], then [lines]: not of the first SM's side */
};

static void division_clear(struct division *division)
{
    free(division->profiles);
    free(division->means);
    free(division->differences);
    free(division->own);
    free(division->cells);
    free(division->is_across);
}

static bool division_make(size_t sms, size_t lines, struct division *division_out)
{
    struct division division = {
        .profiles = malloc(sms * lines * sizeof(float)),
        .means = malloc((sms + lines) * sizeof(double)),
        .differences = malloc(sms * sizeof(double)),
        .own = malloc((sms > lines ? sms : lines) * sizeof(double)),
        .cells = malloc(sms * lines * sizeof(double)),
        .is_across = malloc((sms + lines) * sizeof(bool)),
    };

    *division_out = division;
    return division.profiles != NULL && division.means != NULL && division.differences != NULL &&
           division.own != NULL && division.cells != NULL && division.is_across != NULL;
}

/* Which SMs are of the first one's side, by their profiles; by these, which lines are. */
static void find_sides(const struct pb_sm_map *map, struct division *division,
                       struct halves *halves)
{
    bool *sms = division->is_across, *lines = division->is_across + map->sms;

    pb_sm_map_profiles(map, false, division->means, division->profiles);
    for (size_t sm = 0; sm < map->sms; sm++) {
        double r = gsl_stats_float_correlation(division->profiles, 1,
                                               division->profiles + sm * map->lines, 1, map->lines);

        if (isnan(r)) /* the same from this SM to every line */
            r = 0.0;
        sms[sm] = r < 0.0;
        halves->sms[sms[sm]]++;
        halves->weakest = fmin(halves->weakest, fabs(r));
    }
    for (size_t line = 0; line < map->lines; line++) {
        double sum = 0.0;

        for (size_t sm = 0; sm < map->sms; sm++) {
            double late = division->profiles[sm * map->lines + line];

            sum += sms[sm] ? -late : late;
        }
        lines[line] = sum > 0.0;
    }
}

/*
 * Adds one side's half of what the way across takes, by the median of its SMs. Lines of one side
 * may lie further from everybody: so much is the one side's difference larger and the other one's
 * smaller.
 */
static void add_side(const struct pb_sm_map *map, struct division *division, size_t side,
                     struct pb_estimate *across)
{
    double *own = division->own;
    size_t count = 0;

    for (size_t sm = 0; sm < map->sms; sm++)
        if (division->is_across[sm] == (side == 1))
            own[count++] = division->differences[sm];
    pb_sort(own, count);
    across->value += 0.5 * pb_quantile(own, count, 0.5);
    across->low += 0.5 * pb_quantile(own, count, 0.25);
    across->high += 0.5 * pb_quantile(own, count, 0.75);
}

/* Means of what is near to each SM and of what is far, over as many distances; false: an SM has
 * none of one kind. */
static bool compare_sides(const struct pb_sm_map *map, struct division *division,
                          struct halves *halves)
{
    const bool *lines = division->is_across + map->sms;

    for (size_t sm = 0; sm < map->sms; sm++) {
        size_t near = 0, far = 0;

        for (size_t line = 0; line < map->lines; line++) {
            double cycles = map->cycles[sm * map->lines + line];
            bool is_far = lines[line] != division->is_across[sm];

            division->own[is_far ? map->lines - ++far : near++] = cycles;
        }
        memcpy(division->cells + halves->near_count, division->own, near * sizeof(double));
        memcpy(division->cells + map->sms * map->lines - halves->far_count - far,
               division->own + near, far * sizeof(double));
        halves->near_count += near;
        halves->far_count += far;
        if (near == 0 || far == 0)
            return false;
        division->differences[sm] =
            gsl_stats_mean(division->own + near, 1, far) - gsl_stats_mean(division->own, 1, near);
    }
    for (size_t side = 0; side < 2; side++)
        add_side(map, division, side, &halves->across);
    halves->near_cycles = pb_median(division->cells, halves->near_count);
    halves->far_cycles = pb_median(division->cells + halves->near_count, halves->far_count);
    return true;
}

static enum pb_status copy_sides(const struct pb_sm_map *map, const struct division *division,
                                 unsigned char **sides_out, struct pb_error *err)
{
    unsigned char *sides = malloc(map->sms);

    if (sides == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the sides of %zu SMs", map->sms);
    for (size_t sm = 0; sm < map->sms; sm++)
        sides[sm] = division->is_across[sm];
    *sides_out = sides;
    return PB_OK;
}

/*
 * Divides SMs and lines. Only what an SM's atomics take more than its others is compared: SMs may
 * lie at other distances from all of L2. PB_NOT_FOUND: there is one side.
 *
 * sides_out  [SMs of the map] the side of each, 0 that of the first one; for free(). NULL: not
 * asked for
 */
static enum pb_status find_halves(const struct pb_case *at, struct halves *halves_out,
                                  unsigned char **sides_out, struct pb_error *err)
{
    struct halves halves = {.weakest = 1.0};
    struct pb_sm_map map = {NULL, 0, 0};
    struct division division = {0};
    enum pb_status status = pb_sm_map_of(at, &map, err);
    bool has_sides;
    size_t fewer;

    if (status == PB_OK && !division_make(map.sms, map.lines, &division))
        status = pb_fail(err, PB_NO_MEMORY, "out of memory dividing a map of %zu SMs", map.sms);
    if (status == PB_OK) {
        find_sides(&map, &division, &halves);
        has_sides = compare_sides(&map, &division, &halves);
        fewer = halves.near_count < halves.far_count ? halves.near_count : halves.far_count;
        if (!has_sides || !(halves.across.value >= least_gap * halves.near_cycles) ||
            (double)fewer < least_share * (double)(map.sms * map.lines))
            status = pb_fail(err, PB_NOT_FOUND,
                             "not observable: no two sides of L2: from no SM do atomics to some of "
                             "%zu lines take %.0f%% longer than to the others",
                             map.lines, 100.0 * least_gap);
    }
    if (status == PB_OK && sides_out != NULL)
        status = copy_sides(&map, &division, sides_out, err);
    halves.near_cycles -= at->recordings[0].overhead_cycles;
    halves.far_cycles -= at->recordings[0].overhead_cycles;
    *halves_out = halves;
    division_clear(&division);
    pb_sm_map_clear(&map);
    return status;
}

enum pb_status pb_infer_l2_side(const struct pb_case *at, struct pb_error *err)
{
    struct pb_parameter *answers[] = {
        pb_parameters_find(at->parameters, "l2_near", "latency_cycles"),
        pb_parameters_find(at->parameters, "l2_far", "latency_cycles")};
    struct pb_sample loads = {NULL, 0, 0}, level = {NULL, 0, 0};
    struct pb_votes votes = {0, 0};
    struct halves halves;
    const struct pb_parameter *sides =
        pb_parameters_find(at->parameters, "l2", "partition_sm_counts");
    enum pb_status status = find_halves(at, &halves, NULL, err);

    if (status == PB_OK && (sides == NULL || sides->kind == PB_VALUE_NONE))
        status =
            pb_fail(err, PB_NOT_FOUND, "depends on partition_sm_counts, which is undetermined: %s",
                    sides != NULL ? sides->reason : "not looked for");
    if (status == PB_OK)
        status = collect_loads(&at->recordings[0], &loads, &level, err);
    if (status == PB_OK && are_two_kinds(&level))
        status =
            pb_fail(err, PB_NOT_FOUND,
                    "ambiguous: %zu loads are of two kinds, %.0f to %.0f cycles: not all lines "
                    "stay in L2",
                    loads.count, loads.values[0], loads.values[loads.count - 1]);
    for (size_t far = 0; status != PB_OK && far < 2; far++)
        pb_parameter_set_none(answers[far], "%s", err->message);
    if (status == PB_OK)
        pb_votes_add_share(&votes, halves.far_count, halves.far_count, PIECES_MAX);
    for (size_t far = 0; status == PB_OK && far < 2; far++) {
        double across = far ? halves.across.value : 0.0;

        pb_parameter_set_number(
            answers[far],
            (struct pb_estimate){pb_quantile(loads.values, loads.count, 0.5) + across,
                                 pb_quantile(loads.values, loads.count, 0.25) + across,
                                 pb_quantile(loads.values, loads.count, 0.75) + across},
            pb_votes_confidence(&votes), "median of %zu loads%s; " HALVES_FORMAT, loads.count,
            far ? " and the latency between partitions" : "", HALVES_ARGUMENTS(&halves));
    }
    pb_sample_clear(&level);
    pb_sample_clear(&loads);
    return status;
}

static void state_sides(struct pb_parameter *answer, const struct halves *halves, size_t lines)
{
    struct pb_estimate sides[2];
    struct pb_votes votes = {0, 0};
    size_t sms = halves->sms[0] + halves->sms[1];

    pb_votes_add_many(&votes, sms, sms);
    for (size_t i = 0; i < 2; i++) {
        double count = (double)halves->sms[i];

        sides[i] = (struct pb_estimate){count, count, count};
    }
    if (halves->weakest > least_correlation && fmin(sides[0].value, sides[1].value) >= least_sms)
        pb_parameter_set_list(answer, sides, 2, pb_votes_confidence(&votes),
                              "profiles of %zu SMs over %zu lines by atomics; the weakest "
                              "correlation with the first one's is %.2f",
                              sms, lines, halves->weakest);
    else
        pb_parameter_set_none(answer,
                              "ambiguous: some profiles of SMs correlate by only %.2f, or %.0f SMs "
                              "alone differ",
                              halves->weakest, fmin(sides[0].value, sides[1].value));
}

/* What atomics to lines of the other half take more. */
static void state_crossing(struct pb_parameter *answer, const struct halves *halves)
{
    struct pb_votes votes = {0, 0};

    pb_votes_add_share(&votes, halves->far_count, halves->far_count, PIECES_MAX);
    pb_parameter_set_number(answer, halves->across, pb_votes_confidence(&votes),
                            "each SM's far lines less its near ones; " HALVES_FORMAT,
                            HALVES_ARGUMENTS(halves));
}

/* Tests by all SMs leave a copy of every line on both sides: their size is that of one. */
static void limit_size(const struct pb_case *at)
{
    struct pb_parameter *size = pb_parameters_find(at->parameters, "l2", "size_bytes");
    size_t length;

    if (size == NULL || size->kind == PB_VALUE_NONE)
        return;
    length = strlen(size->method);
    snprintf(size->method + length, sizeof(size->method) - length,
             "; what the side of one SM keeps");
}

enum pb_status pb_infer_l2_sides(const struct pb_case *at, struct pb_error *err)
{
    struct pb_parameter *counts = pb_case_answer(at, "partition_sm_counts");
    struct pb_parameter *crossing = pb_case_answer(at, "crossing_cycles");
    struct pb_topology *topology = &at->parameters->topology;
    unsigned char *sides = NULL;
    struct halves halves;
    enum pb_status status = find_halves(at, &halves, &sides, err);

    if (status != PB_OK)
        return status;
    state_sides(counts, &halves, at->recordings[0].matrix.axes[2].length);
    if (counts->kind == PB_VALUE_NONE) {
        pb_parameter_set_none(crossing,
                              "depends on partition_sm_counts, which is undetermined: %.200s",
                              counts->reason);
        free(sides);
        return PB_OK;
    }
    state_crossing(crossing, &halves);
    if (halves.sms[0] + halves.sms[1] == at->info->sm_count) {
        free(topology->l2_sides);
        topology->l2_sides = sides;
        topology->sm_count = at->info->sm_count;
    } else {
        free(sides);
    }
    limit_size(at);
    return PB_OK;
}
