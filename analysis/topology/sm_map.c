/* The map of SM x line as profiles. */
#include "analysis/topology/sm_map.h"

#include <math.h>
#include <stdint.h>

#include "analysis/axes.h"

enum { SM = 1, LINE = 2 };

/* Comparing all profiles with each other takes as many steps; an H200's map takes 2^27. */
static const double most_steps = 0x1p32;

enum pb_status pb_sm_map_open(const struct pb_matrix *matrix, struct pb_sm_map *map_out,
                              struct pb_error *err)
{
    static const struct pb_axis_wish wishes[] = {{"touch", true}, {"sm", false}, {"line", false}};
    enum pb_status status = pb_axes_check(matrix, wishes, 3, err);
    struct pb_sm_map map;
    size_t touch;

    if (status != PB_OK)
        return status;
    touch = pb_axis_label(&matrix->axes[0], "atomic");
    if (touch == matrix->axes[0].length)
        return pb_fail(err, PB_NOT_FOUND, "lines were not touched by an atomic");
    map.sms = matrix->axes[SM].length;
    map.lines = matrix->axes[LINE].length;
    if ((double)map.sms * (double)map.lines * fmax((double)map.sms, (double)map.lines) > most_steps)
        return pb_fail(err, PB_NOT_FOUND,
                       "a map of %zu SMs and %zu lines is larger than any device's", map.sms,
                       map.lines);
    map.cycles = matrix->values + touch * map.sms * map.lines;
    for (size_t i = 0; i < map.sms * map.lines; i++)
        if (!(fabs(map.cycles[i]) < UINT32_MAX))
            return pb_fail(err, PB_NOT_FOUND, "some SMs were not measured");
    *map_out = map;
    return PB_OK;
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
