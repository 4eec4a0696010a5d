/* The map of SM x line as profiles. */
#include "analysis/topology/sm_map.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/inference.h"
#include "analysis/statistics/sample.h"
#include "analysis/statistics/sort.h"

enum { SM = 1, LINE = 2 };

/* Comparing all profiles with each other takes as many steps; an H200's map takes 2^27. */
static const double most_steps = 0x1p32;

/* L2 keeps the lines of a map of whose loads no more than this share take what misses take. */
static const double most_missed = 0.03;

/* Spikes are less than this share of all loads, and far from the rest. */
static const double outlier_quantile = 0.98;

/* The rows of one touch; NULL where the map has none. */
static const double *rows_of(const struct pb_matrix *matrix, const char *touch)
{
    size_t at = pb_axis_label(&matrix->axes[0], touch);

    if (at == matrix->axes[0].length)
        return NULL;
    return matrix->values + at * matrix->axes[SM].length * matrix->axes[LINE].length;
}

/*
 * Loads come from the nearest copy: those that take what misses take were of lines L2 had lost. A
 * line that most SMs' loads miss, as where its set is overfull, lies where DRAM's latencies say.
 */
static enum pb_status find_lost(const struct pb_matrix *matrix, double border_cycles, bool *is_lost,
                                struct pb_error *err)
{
    size_t sms = matrix->axes[SM].length, lines = matrix->axes[LINE].length, missed = 0;
    const double *loads = rows_of(matrix, "load");

    for (size_t line = 0; line < lines; line++) {
        size_t of_line = 0;

        for (size_t sm = 0; loads != NULL && sm < sms; sm++)
            of_line += loads[sm * lines + line] > border_cycles;
        is_lost[line] = 2 * of_line > sms;
        missed += of_line;
    }
    if ((double)missed > most_missed * (double)(sms * lines))
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: %.0f%% of the loads of the map take what L2 misses take: "
                       "L2 does not keep "
                       "its lines",
                       100.0 * (double)missed / (double)(sms * lines));
    return PB_OK;
}

/* Keeps what atomics to the other lines take. */
static void drop_lost(struct pb_sm_map *map, const bool *is_lost)
{
    size_t kept = 0;

    for (size_t i = 0; i < map->sms * map->lines; i++)
        if (!is_lost[i % map->lines])
            map->cycles[kept++] = map->cycles[i];
    map->lines = kept / map->sms;
}

/*
 * Caps what lies above its line's median by more than twice what all but a few do: spikes. Above
 * that median, since a line that the TLB lost takes longer from all SMs.
 */
static enum pb_status cap(struct pb_sm_map *map, struct pb_error *err)
{
    size_t count = map->sms * map->lines;
    double *above = malloc((count + map->sms + map->lines) * sizeof(*above));
    double *of_line, *medians, high;

    if (above == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a map of %zu", count);
    of_line = above + count;
    medians = of_line + map->sms;
    for (size_t line = 0; line < map->lines; line++) {
        for (size_t sm = 0; sm < map->sms; sm++)
            of_line[sm] = map->cycles[sm * map->lines + line];
        medians[line] = pb_median(of_line, map->sms);
    }
    for (size_t i = 0; i < count; i++)
        above[i] = map->cycles[i] - medians[i % map->lines];
    pb_sort(above, count);
    high = 2.0 * pb_quantile(above, count, outlier_quantile);
    for (size_t i = 0; i < count; i++)
        map->cycles[i] = fmin(map->cycles[i], medians[i % map->lines] + high);
    free(above);
    return PB_OK;
}

enum pb_status pb_sm_map_open(const struct pb_matrix *matrix, double miss_border_cycles,
                              struct pb_sm_map *map_out, struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {
        {"touch", true}, {"sm", false}, {"line", false}};
    enum pb_status status = pb_axes_check(matrix, requirements, 3, err);
    const double *cycles;
    struct pb_sm_map map;
    bool *is_lost;

    if (status != PB_OK)
        return status;
    cycles = rows_of(matrix, "atomic");
    if (cycles == NULL)
        return pb_fail(err, PB_NOT_FOUND, "not recorded: lines were not touched by an atomic");
    map.sms = matrix->axes[SM].length;
    map.lines = matrix->axes[LINE].length;
    if ((double)map.sms * (double)map.lines * fmax((double)map.sms, (double)map.lines) > most_steps)
        return pb_fail(err, PB_NOT_FOUND,
                       "a map of %zu SMs and %zu lines is larger than any device's", map.sms,
                       map.lines);
    if (map.sms < PB_SM_MAP_SMS_MIN)
        return pb_fail(err, PB_NOT_FOUND,
                       "not observable: %zu SMs, at least %d are needed to distinguish groups",
                       map.sms, PB_SM_MAP_SMS_MIN);
    for (size_t i = 0; i < map.sms * map.lines; i++)
        if (!(fabs(cycles[i]) < UINT32_MAX))
            return pb_fail(err, PB_NOT_FOUND, "not recorded: some SMs were not measured");
    map.cycles = malloc((map.sms * map.lines + 1) * sizeof(*map.cycles));
    is_lost = malloc(map.lines + 1);
    if (map.cycles == NULL || is_lost == NULL)
        status =
            pb_fail(err, PB_NO_MEMORY, "out of memory allocating a map of %zu SMs and %zu lines",
                    map.sms, map.lines);
    if (status == PB_OK)
        status = find_lost(matrix, miss_border_cycles, is_lost, err);
    if (status == PB_OK) {
        memcpy(map.cycles, cycles, map.sms * map.lines * sizeof(*map.cycles));
        drop_lost(&map, is_lost);
        status = cap(&map, err);
    }
    free(is_lost);
    if (status == PB_OK)
        *map_out = map;
    else
        pb_sm_map_clear(&map);
    return status;
}

enum pb_status pb_sm_map_of(const struct pb_case *at, struct pb_sm_map *map_out,
                            struct pb_error *err)
{
    double hit = pb_parameters_number(at->parameters, "l2", "latency_cycles");
    double miss = pb_parameters_number(at->parameters, "l2", "miss_latency_cycles");
    const struct pb_recording *recording = &at->recordings[0];

    return pb_sm_map_open(&recording->matrix, recording->overhead_cycles + (hit + miss) / 2.0,
                          map_out, err);
}

void pb_sm_map_clear(struct pb_sm_map *map)
{
    if (map == NULL)
        return;
    free(map->cycles);
    map->cycles = NULL;
}

/* What is common to a row, or to a column, of the map. */
static double mean_of(const double *values, size_t count, size_t step)
{
    double sum = 0.0;

    for (size_t i = 0; i < count; i++)
        sum += values[i * step];
    return sum / (double)count;
}

void pb_sm_map_profiles(const struct pb_sm_map *map, bool of_lines, double *work,
                        float *profiles_out)
{
    double *by_sm = work, *by_line = work + map->sms, all;

    for (size_t sm = 0; sm < map->sms; sm++)
        by_sm[sm] = mean_of(map->cycles + sm * map->lines, map->lines, 1);
    for (size_t line = 0; line < map->lines; line++)
        by_line[line] = mean_of(map->cycles + line, map->sms, map->lines);
    all = mean_of(by_sm, map->sms, 1);
    for (size_t sm = 0; sm < map->sms; sm++)
        for (size_t line = 0; line < map->lines; line++) {
            size_t place = of_lines ? line * map->sms + sm : sm * map->lines + line;

            profiles_out[place] =
                (float)(map->cycles[sm * map->lines + line] - by_sm[sm] - by_line[line] + all);
        }
}
