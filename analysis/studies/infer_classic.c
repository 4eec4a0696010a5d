/*
 * saavedra_* and wong_*: what earlier methods would read from their own graphs of the same cache,
 * to be held against what its traces say. M16 4.1 shows them contradict each other.
 *
 *   Saavedra1992   average latency over array and stride, all powers of two. The size is the
 *                  largest array without misses; the line the stride from which on every load of a
 *                  far larger array misses; the ways what is left of its slots where they hit
 *                  again
 *   Wong2010       average latency over arrays that grow line by line past the size. It rises in
 *                  plateaus: their number is read as the ways, their width as the line
 *
 * In both, size = sets x ways x line gives the sets. Both assume LRU, a plain modulo, and lines
 * that are fetched one by one; where that is not so, they misread, or show nothing to read.
 *
 * Limit: powers of two bound the size and the ways from below only: the intervals reach up to the
 * next one.
 *
 * Source: M16 4.1, equations (1) and (2), figure 5.
 */
#include "analysis/infer.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/axes.h"
#include "analysis/confidence.h"
#include "analysis/statistics/sample.h"
#include "analysis/trace.h"

enum { ARRAYS_MAX = 64, SIZES_MAX = 256, SIZES_MIN = 8, STEPS_MIN = 2 };

/* Of the way from hit to miss: below is a hit, above every load misses. */
static const double hit_share = 0.05, miss_share = 0.9;

/* A miss costs at least this much more than a hit, or there is nothing to see. */
static const double least_contrast = 0.2;

/* A step between plateaus is this much of the whole rise, and so many times the usual increment. */
static const double least_step = 0.02, step_contrast = 6.0;

/* Plateaus leave no more of the rise than this to the increments between. */
static const double most_creep = 0.2;

static bool is_path(const struct pb_recording *recording, const char *memory)
{
    struct pb_pick pick = {strcmp(memory, "l1") == 0 ? "global_ca" : memory, NULL,
                           strstr(recording->name, "wong") != NULL ? "wong" : "saavedra"};
    size_t at = 0;

    return pb_point_next(&recording->series, &pick, &at) != NULL;
}

/* States a reading and its interval; the confidence is that of the method's own assumptions. */
static void state(const struct pb_case *at, const char *name, double value, double high,
                  double confidence, const char *how)
{
    pb_parameter_set_number(pb_case_answer(at, name), (struct pb_estimate){value, value, high},
                            confidence, "%s", how);
}

/* ---- Saavedra ---- */

/* The graph and its lowest level. */
struct graph {
    const struct pb_matrix *matrix; /* array, stride */
    double hit;
};

static double cell_of(const struct graph *graph, size_t array, size_t stride)
{
    return graph->matrix->values[array * graph->matrix->axes[1].length + stride];
}

/* The dearest stride of an array: what its misses take, as no other array's need to. */
static double worst_of(const struct graph *graph, size_t array)
{
    double worst = graph->hit;

    for (size_t i = 0; i < graph->matrix->axes[1].length; i++)
        if (isfinite(cell_of(graph, array, i)))
            worst = fmax(worst, cell_of(graph, array, i));
    return worst;
}

static bool row_misses(const struct graph *graph, size_t array)
{
    return worst_of(graph, array) >= (1.0 + least_contrast) * graph->hit;
}

static enum pb_status open_graph(const struct pb_matrix *matrix, struct graph *graph_out,
                                 struct pb_error *err)
{
    static const struct pb_axis_requirement requirements[] = {{"array_bytes", false},
                                                              {"stride_bytes", false}};
    struct graph graph = {matrix, INFINITY};
    enum pb_status status = pb_axes_check(matrix, requirements, 2, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < pb_matrix_size(matrix); i++)
        if (isfinite(matrix->values[i]) && matrix->values[i] > 0.0)
            graph.hit = fmin(graph.hit, matrix->values[i]);
    if (!isfinite(graph.hit))
        return pb_fail(err, PB_NOT_FOUND, "not recorded: no array was measured");
    *graph_out = graph;
    return PB_OK;
}

/* Of one array: the stride from which on all miss, and the one from which on all hit again. */
struct reading {
    double line_bytes, ways; /* NaN: not to be read */
};

static struct reading read_row(const struct graph *graph, size_t array)
{
    const struct pb_axis *strides = &graph->matrix->axes[1];
    double array_bytes = graph->matrix->axes[0].values[array];
    double rise = worst_of(graph, array) - graph->hit;
    struct reading reading = {NAN, NAN};
    bool rose = false;

    for (size_t i = 0; i < strides->length; i++) {
        double share = (cell_of(graph, array, i) - graph->hit) / rise;

        if (!isfinite(share))
            continue;
        if (isnan(reading.line_bytes) && share >= miss_share && rose)
            reading.line_bytes = strides->values[i];
        rose = rose || share < miss_share;
        if (!isnan(reading.line_bytes) && share <= hit_share) {
            reading.ways = array_bytes / strides->values[i];
            break;
        }
    }
    return reading;
}

static bool is_same(const struct reading *a, const struct reading *b)
{
    return a->line_bytes == b->line_bytes && a->ways == b->ways;
}

/* What most arrays of at least twice the size say, of those that say something. */
static struct reading read_graph(const struct graph *graph, double size_bytes,
                                 struct pb_votes *votes)
{
    const struct pb_axis *arrays = &graph->matrix->axes[0];
    struct reading readings[ARRAYS_MAX], best = {NAN, NAN};
    size_t count = 0, most = 0;

    for (size_t i = 0; i < arrays->length && count < ARRAYS_MAX; i++) {
        if (arrays->values[i] < 2.0 * size_bytes || !row_misses(graph, i))
            continue;
        readings[count] = read_row(graph, i);
        count += !isnan(readings[count].line_bytes) && !isnan(readings[count].ways);
    }
    for (size_t i = 0; i < count; i++) {
        size_t same = 0;

        for (size_t j = 0; j < count; j++)
            same += is_same(&readings[i], &readings[j]);
        if (same > most) {
            most = same;
            best = readings[i];
        }
    }
    pb_votes_add_many(votes, most, count);
    return best;
}

static enum pb_status state_graph(const struct pb_case *at, const struct graph *graph,
                                  struct pb_error *err)
{
    const struct pb_axis *arrays = &graph->matrix->axes[0];
    struct pb_votes votes = {0, 0};
    struct reading reading;
    double size, next, confidence;
    size_t fits = 0;

    while (fits < arrays->length && !row_misses(graph, fits))
        fits++;
    if (fits == 0 || fits == arrays->length)
        return pb_fail(err, PB_NOT_FOUND, "sweep too small: %s of %zu arrays has misses",
                       fits == 0 ? "every one" : "none", arrays->length);
    size = arrays->values[fits - 1];
    next = arrays->values[fits];
    reading = read_graph(graph, size, &votes);
    confidence = pb_votes_confidence(&votes);
    state(at, "saavedra_size_bytes", size, next - 1.0, confidence,
          "Saavedra1992: the largest array without misses; the next one has some");
    if (isnan(reading.line_bytes))
        return pb_fail(err, PB_NOT_FOUND,
                       "sweep too small: no array of %.0f bytes or more hits again at any stride",
                       2.0 * size);
    state(at, "saavedra_line_bytes", reading.line_bytes, reading.line_bytes, confidence,
          "Saavedra1992: the stride from which on every load misses");
    state(at, "saavedra_ways", reading.ways, 2.0 * reading.ways - 1.0, confidence,
          "Saavedra1992: slots of the first stride that hits again");
    pb_parameter_set_number(
        pb_case_answer(at, "saavedra_sets"),
        (struct pb_estimate){size / reading.line_bytes / reading.ways,
                             size / reading.line_bytes / (2.0 * reading.ways - 1.0),
                             (next - 1.0) / reading.line_bytes / reading.ways},
        confidence, "Saavedra1992: size by line and ways");
    return PB_OK;
}

enum pb_status pb_infer_saavedra(const struct pb_case *at, struct pb_error *err)
{
    struct graph graph = {NULL, NAN};
    enum pb_status status;

    if (!is_path(&at->recordings[0], at->inference->memory))
        return pb_fail(err, PB_NOT_FOUND,
                       "not needed: on this device the battery applies this method to another "
                       "path only");
    status = open_graph(&at->recordings[0].matrix, &graph, err);
    return status == PB_OK ? state_graph(at, &graph, err) : status;
}

/* ---- Wong ---- */

/* Average cycles over arrays of rising size. */
struct curve {
    double bytes[SIZES_MAX], cycles[SIZES_MAX];
    size_t count;
};

/* Passes of phase "wong", each size once, in rising order as they were taken. */
static void read_curve(const struct pb_series *series, struct curve *curve_out)
{
    static const struct pb_pick pick = {NULL, "timed", "wong"};
    const struct pb_point *point;
    struct curve *curve = curve_out;
    size_t at = 0;

    curve->count = 0;
    while (curve->count < SIZES_MAX && (point = pb_point_next(series, &pick, &at)) != NULL) {
        double bytes = (double)point->footprint_bytes, cycles = pb_point_average(point);

        if (isnan(cycles) || (curve->count > 0 && bytes <= curve->bytes[curve->count - 1]))
            continue;
        curve->bytes[curve->count] = bytes;
        curve->cycles[curve->count++] = cycles;
    }
}

/* What the curve looks like: where it leaves its first level, and its steps from there on. */
struct plateaus {
    double size_bytes, width_bytes;
    size_t steps;
    double creep; /* share of the rise that lies between the steps */
};

/* The usual increment, to distinguish a step from it. */
static double usual_increment(const struct curve *curve)
{
    double increments[SIZES_MAX];

    for (size_t i = 1; i < curve->count; i++)
        increments[i - 1] = fabs(curve->cycles[i] - curve->cycles[i - 1]);
    gsl_sort(increments, 1, curve->count - 1);
    return pb_quantile(increments, curve->count - 1, 0.5);
}

static struct plateaus find_plateaus(const struct curve *curve, double rise)
{
    double least = fmax(least_step * rise, step_contrast * usual_increment(curve));
    double widths[SIZES_MAX], stepped = 0.0, last = 0.0;
    struct plateaus found = {0};
    size_t count = 0;

    for (size_t i = 1; i < curve->count; i++) {
        double increment = curve->cycles[i] - curve->cycles[i - 1];

        if (increment < least)
            continue;
        if (found.steps++ == 0)
            found.size_bytes = curve->bytes[i - 1];
        else
            widths[count++] = curve->bytes[i] - last;
        last = curve->bytes[i];
        stepped += increment;
    }
    gsl_sort(widths, 1, count);
    found.width_bytes = pb_quantile(widths, count, 0.5);
    found.creep = 1.0 - stepped / rise;
    return found;
}

static enum pb_status check_curve(const struct pb_case *at, const struct curve *curve,
                                  double *rise_out, struct pb_error *err)
{
    double miss =
        pb_parameters_number(at->parameters, at->inference->memory, "miss_latency_cycles");
    double first, last;

    if (curve->count < SIZES_MIN)
        return pb_fail(err, PB_NOT_FOUND, "too few observations: %zu arrays around the capacity",
                       curve->count);
    first = curve->cycles[0];
    last = curve->cycles[curve->count - 1];
    if (!(last >= (1.0 + least_contrast) * first))
        return pb_fail(err, PB_NOT_FOUND, "arrays of %.0f to %.0f bytes take %.1f to %.1f cycles",
                       curve->bytes[0], curve->bytes[curve->count - 1], first, last);
    *rise_out = last - first;
    if (miss > first && *rise_out < miss_share * (miss - first))
        return pb_fail(err, PB_NOT_FOUND,
                       "sweep too small: at the last array, of %.0f bytes, the increase from %.1f "
                       "to %.1f cycles has not ended",
                       curve->bytes[curve->count - 1], first, last);
    return PB_OK;
}

static enum pb_status state_plateaus(const struct pb_case *at, const struct plateaus *plateaus,
                                     struct pb_error *err)
{
    double ways = (double)plateaus->steps, line = plateaus->width_bytes;
    double size = plateaus->size_bytes, sets = size / (line * ways), confidence;
    struct pb_votes votes = {0, 0};

    if (plateaus->steps < STEPS_MIN || plateaus->creep > most_creep)
        return pb_fail(
            err, PB_NOT_FOUND,
            "unexplained: the average latency grows without plateaus: %zu steps explain all but "
            "%.0f%% of the increase",
            plateaus->steps, 100.0 * plateaus->creep);
    pb_votes_add_many(&votes, plateaus->steps, plateaus->steps);
    confidence = pb_votes_confidence(&votes);
    state(at, "wong_size_bytes", size, size, confidence,
          "Wong2010: the last array of the lowest average");
    state(at, "wong_line_bytes", line, line, confidence, "Wong2010: width of the plateaus");
    state(at, "wong_ways", ways, ways, confidence, "Wong2010: number of plateaus above the lowest");
    state(at, "wong_sets", sets, sets, confidence, "Wong2010: size by line and ways");
    return PB_OK;
}

enum pb_status pb_infer_wong(const struct pb_case *at, struct pb_error *err)
{
    struct plateaus plateaus;
    struct curve curve;
    double rise = 0.0;
    enum pb_status status;

    if (!is_path(&at->recordings[0], at->inference->memory))
        return pb_fail(err, PB_NOT_FOUND,
                       "not needed: on this device the battery applies this method to another "
                       "path only");
    read_curve(&at->recordings[0].series, &curve);
    status = check_curve(at, &curve, &rise, err);
    if (status != PB_OK)
        return status;
    plateaus = find_plateaus(&curve, rise);
    return state_plateaus(at, &plateaus, err);
}
