/* Looking into a recording. */
#include "analysis/trace.h"

#include <math.h>
#include <string.h>

static bool is_word(const char *field, const char *word)
{
    return word == NULL || strncmp(field, word, PB_NAME_LENGTH) == 0;
}

bool pb_point_matches(const struct pb_point *point, const struct pb_pick *pick)
{
    return is_word(point->path, pick->path) && is_word(point->mode, pick->mode) &&
           is_word(point->phase, pick->phase);
}

const struct pb_point *pb_point_next(const struct pb_series *series, const struct pb_pick *pick,
                                     size_t *at)
{
    while (*at < series->point_count) {
        const struct pb_point *point = &series->points[(*at)++];

        if (pb_point_matches(point, pick))
            return point;
    }
    return NULL;
}

struct pb_accesses pb_point_accesses(const struct pb_series *series, const struct pb_point *point)
{
    struct pb_accesses accesses = {NULL, NULL, 0, 0.0};

    if (point->first > series->access_count || point->count > series->access_count - point->first)
        return accesses;
    accesses.latency_cycles = series->latency_cycles + point->first;
    accesses.index_bytes = series->index_bytes + point->first;
    accesses.count = (size_t)point->count;
    accesses.overhead_cycles = isfinite(point->overhead_cycles) ? point->overhead_cycles : 0.0;
    return accesses;
}

double pb_point_average(const struct pb_point *point)
{
    return point->timed == 0 ? NAN : (double)point->total_cycles / (double)point->timed;
}

enum pb_status pb_trace_collect(const struct pb_series *series, const struct pb_pick *pick,
                                struct pb_sample *cycles_out, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0};
    const struct pb_point *point;
    size_t at = 0;

    while ((point = pb_point_next(series, pick, &at)) != NULL) {
        struct pb_accesses accesses = pb_point_accesses(series, point);
        enum pb_status status = pb_sample_reserve(&cycles, accesses.count, err);

        if (status != PB_OK) {
            pb_sample_clear(&cycles);
            return status;
        }
        for (size_t i = 0; i < accesses.count; i++)
            cycles.values[cycles.count++] = pb_access_cycles(&accesses, i);
    }
    *cycles_out = cycles;
    return PB_OK;
}

enum pb_status pb_pass_collect(const struct pb_series *series, const struct pb_pick *pick,
                               struct pb_sample *cycles_out, struct pb_error *err)
{
    struct pb_sample cycles = {NULL, 0, 0};
    const struct pb_point *point;
    size_t at = 0;

    while ((point = pb_point_next(series, pick, &at)) != NULL) {
        double average = pb_point_average(point);
        enum pb_status status;

        if (isnan(average))
            continue;
        status = pb_sample_add(&cycles, average, err);
        if (status != PB_OK) {
            pb_sample_clear(&cycles);
            return status;
        }
    }
    *cycles_out = cycles;
    return PB_OK;
}
