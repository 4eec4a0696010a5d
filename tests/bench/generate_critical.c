/*
 * Makes critical_table.c: the Monte Carlo behind critical.h. Run by hand when an estimator changes:
 *
 *   generate_critical > analysis/verdict/critical_table.c
 *
 * For p above 10^-2.75 samples of N values are sampled, and each value's distance from the others
 * of the majority is counted in their standard deviations. Below, counting would need billions of
 * draws. There one value is sent far off, where it is none of the majority and touches the fit but
 * by its rank; the other N - 1 are sampled, and the chance that it lies beyond t scales is the
 * known tail of its own distribution at center + t * scale, averaged over the draws. This is exact
 * for t beyond the threshold of the majority, and nearly so within, as no value speaks for itself.
 *
 * With few peers the far tail comes from rare samples with a tiny scale. Where fewer than
 * RARE_MIN samples carry an average, log t goes on in log p with the last slope; t falls off as a
 * power of p there, and the slope can only shrink, so p is overstated.
 *
 * The same seeds give the same table but for rounding. About ten minutes of one core.
 */
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf_erf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/verdict/critical.h"
#include "analysis/verdict/majority.h"

enum {
    T_COUNT = 215,       /* trial values of t, evenly over log t */
    FIRST_AVERAGED = 24, /* at t = 2; nearer in, values are counted */
    TAIL_COUNT = 8192,   /* nodes of the tail's table */
    PEERS_MAX = 8192,
    RARE_MIN = 400,  /* samples that must carry an average */
    DRAWS = 8000000, /* values a row, at most SAMPLES_MAX samples of them */
    SAMPLES_MAX = 500000,
    SAMPLES_MIN = 4000,
};

#define T_LOG_MIN     (-1.0)
#define T_LOG_MAX     14.0
#define ASINH_MIN     (-4.0)
#define ASINH_MAX     35.0
#define COUNTED_LEVEL 2.75 /* -log10 p below which values are counted */

static const unsigned peers_of[PB_CRITICAL_PEERS] = {4,  5,  6,   7,   8,   9,   10,   11,  12, 13,
                                                     14, 15, 16,  17,  18,  19,  20,   24,  32, 48,
                                                     64, 96, 128, 192, 256, 512, 1024, 8192};
static const double tails_of[PB_CRITICAL_TAILS] = {0.0, 1.0 / 30, 1.0 / 15, 0.1, 1.0 / 7, 0.2};

/* One row in the making. */
struct row {
    unsigned peers;
    double tail;
    double log_survival[TAIL_COUNT];           /* of the population, over asinh x */
    double counted[T_COUNT], sampled;          /* values beyond t, of all sampled */
    double sum[T_COUNT], sum_squares[T_COUNT]; /* of the tails beyond t */
    double samples;
    double log_t[PB_CRITICAL_LEVELS];
};

static double log_t_of(double i)
{
    return T_LOG_MIN + i * (T_LOG_MAX - T_LOG_MIN) / T_COUNT;
}

static void set_survival(struct row *row)
{
    for (size_t i = 0; i < TAIL_COUNT; i++) {
        double x = sinh(ASINH_MIN + (double)i * (ASINH_MAX - ASINH_MIN) / TAIL_COUNT);

        row->log_survival[i] = row->tail > 0.0 ? log(gsl_cdf_tdist_Q(x, 1.0 / row->tail))
                                               : gsl_sf_log_erfc(x / M_SQRT2) - M_LN2;
    }
}

/* Probability that a value lies beyond x. */
static double survival(const struct row *row, double x)
{
    double at = (asinh(x) - ASINH_MIN) * TAIL_COUNT / (ASINH_MAX - ASINH_MIN);
    size_t i = at <= 0.0 ? 0 : at >= TAIL_COUNT - 2 ? TAIL_COUNT - 2 : (size_t)at;

    return exp(row->log_survival[i] +
               (at - (double)i) * (row->log_survival[i + 1] - row->log_survival[i]));
}

static void draw(const struct row *row, gsl_rng *rng, double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = row->tail > 0.0 ? gsl_ran_tdist(rng, 1.0 / row->tail)
                                    : gsl_ran_gaussian_ziggurat(rng, 1.0);
    gsl_sort(values, 1, count);
}

/* Counts the distances of all values of one sample. */
static void count_sample(struct row *row, const double *sorted)
{
    struct pb_majority majority;

    pb_majority_fit(sorted, row->peers, 0.0, &majority);
    for (size_t i = 0; i < row->peers; i++) {
        double log_t = log(fabs(pb_majority_sigmas(&majority, sorted[i], 0.0)));
        double at = ceil((log_t - T_LOG_MIN) * T_COUNT / (T_LOG_MAX - T_LOG_MIN));

        if (at > 0.0)
            row->counted[at < T_COUNT ? (size_t)at - 1 : T_COUNT - 1] += 1.0;
    }
    row->sampled += row->peers;
}

/* Averages the tail of one value far off over the others' center and scale. */
static void tail_sample(struct row *row, double *sorted)
{
    struct pb_majority majority;

    sorted[row->peers - 1] = 1e12;
    pb_majority_fit(sorted, row->peers, 0.0, &majority);
    if (pb_majority_holds(&majority, sorted[row->peers - 1])) /* so few that all are held */
        pb_majority_fit(sorted, row->peers - 1, 0.0, &majority);
    for (size_t i = FIRST_AVERAGED; i < T_COUNT; i++) {
        double p = 2.0 * survival(row, majority.center + exp(log_t_of((double)i)) * majority.scale);

        row->sum[i] += p;
        row->sum_squares[i] += p * p;
        if (p < 1e-15)
            break; /* the rest adds nothing */
    }
    row->samples += 1.0;
}

/* log t at which an array of -log10 p, ascending, reaches a level; NaN when it does not. */
static double log_t_at(const double *levels, size_t count, double level)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (levels[i] <= level && levels[i + 1] > level)
            return log_t_of((double)i + (level - levels[i]) / (levels[i + 1] - levels[i]));
    return NAN;
}

static void solve(struct row *row)
{
    double counted[T_COUNT], averaged[T_COUNT], beyond = 0.0;
    size_t hints = T_COUNT;

    for (size_t i = T_COUNT; i-- > 0;) {
        beyond += row->counted[i];
        counted[i] = -log10(beyond / row->sampled);
        averaged[i] = i < FIRST_AVERAGED ? 0.0 : -log10(row->sum[i] / row->samples);
        if (i >= FIRST_AVERAGED && !(row->sum[i] * row->sum[i] / row->sum_squares[i] >= RARE_MIN))
            hints = i;
    }
    for (size_t i = 0; i < PB_CRITICAL_LEVELS; i++) {
        double level = 0.5 * (double)(i + 1);

        row->log_t[i] = level < COUNTED_LEVEL ? log_t_at(counted, T_COUNT, level)
                                              : log_t_at(averaged, hints, level);
        if (isnan(row->log_t[i]))
            row->log_t[i] = 2.0 * row->log_t[i - 1] - row->log_t[i - 2];
    }
    fprintf(stderr,
            "%5u peers, tail %.3f: t at p = 0.001 counted %.3f, averaged %.3f; p to 1e-%.1f\n",
            row->peers, row->tail, exp(log_t_at(counted, T_COUNT, 3.0)),
            exp(log_t_at(averaged, T_COUNT, 3.0)), hints > 0 ? averaged[hints - 1] : 0.0);
}

static void make_row(struct row *row, gsl_rng *rng, double *values)
{
    size_t samples = DRAWS / row->peers;

    samples = samples > SAMPLES_MAX ? SAMPLES_MAX : samples < SAMPLES_MIN ? SAMPLES_MIN : samples;
    set_survival(row);
    for (size_t i = 0; i < samples; i++) {
        draw(row, rng, values, row->peers);
        count_sample(row, values);
        draw(row, rng, values, row->peers - 1);
        tail_sample(row, values);
    }
    solve(row);
}

static void print_keys(void)
{
    printf("/* Made by tests/bench/generate_critical.c; do not edit. Critical |sigmas|, see "
           "critical.h. */\n"
           "#include \"analysis/verdict/critical.h\"\n\n"
           "const unsigned pb_critical_peers[PB_CRITICAL_PEERS] = {");
    for (size_t i = 0; i < PB_CRITICAL_PEERS; i++)
        printf("%s%u", i > 0 ? ", " : "", peers_of[i]);
    printf("};\n\nconst double pb_critical_tails[PB_CRITICAL_TAILS] = {");
    for (size_t i = 0; i < PB_CRITICAL_TAILS; i++)
        printf("%s%.9f", i > 0 ? ", " : "", tails_of[i]);
    printf("};\n\nconst float "
           "pb_critical_table[PB_CRITICAL_TAILS][PB_CRITICAL_PEERS][PB_CRITICAL_LEVELS] = {\n");
}

int main(void)
{
    double *values = malloc(PEERS_MAX * sizeof(*values));
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    bool ready = values != NULL && rng != NULL;

    if (ready)
        print_keys();
    for (size_t i = 0; ready && i < (size_t)PB_CRITICAL_TAILS * PB_CRITICAL_PEERS; i++) {
        struct row *row = calloc(1, sizeof(*row));

        if (row == NULL) {
            ready = false;
            break;
        }
        row->tail = tails_of[i / PB_CRITICAL_PEERS];
        row->peers = peers_of[i % PB_CRITICAL_PEERS];
        gsl_rng_set(rng, i + 1); /* a row does not depend on those before it */
        make_row(row, rng, values);
        printf("%s{", i % PB_CRITICAL_PEERS == 0 ? "{" : "");
        for (size_t level = 0; level < PB_CRITICAL_LEVELS; level++)
            printf("%s%.4g", level > 0 ? ", " : "", exp(row->log_t[level]));
        printf("},%s\n", (i + 1) % PB_CRITICAL_PEERS == 0 ? "}," : "");
        free(row);
    }
    if (ready)
        printf("};\n");
    else
        fprintf(stderr, "generate_critical: no memory\n");
    if (rng != NULL)
        gsl_rng_free(rng);
    free(values);
    return ready ? EXIT_SUCCESS : EXIT_FAILURE;
}
