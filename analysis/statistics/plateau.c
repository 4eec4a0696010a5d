/* Where a rise ends, by least squares over all places where it might. */
#include "analysis/statistics/plateau.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdbool.h>

enum { POINTS_MIN = 5, POINTS_MAX = 64, PARAMETERS = 3 };

/* Residuals below this part of y are rounding. */
static const double least_noise = 1e-3, close_share = 0.03;

/* One line with its knee. */
struct fit {
    double base, slope, slope_error, squares;
};

static struct fit fit_line(const double *x, const double *y, size_t count, double knee)
{
    double mean_x = 0.0, mean_y = 0.0, xx = 0.0, xy = 0.0;
    struct fit fit = {0};

    for (size_t i = 0; i < count; i++) {
        mean_x += fmin(x[i], knee) / (double)count;
        mean_y += y[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        double dx = fmin(x[i], knee) - mean_x;

        xx += dx * dx;
        xy += dx * (y[i] - mean_y);
    }
    fit.slope = xy / xx;
    fit.base = mean_y - fit.slope * mean_x;
    for (size_t i = 0; i < count; i++) {
        double off = y[i] - fit.base - fit.slope * fmin(x[i], knee), noise = least_noise * y[i];

        fit.squares += off * off + noise * noise;
    }
    fit.slope_error = sqrt(fit.squares / (double)(count - PARAMETERS) / xx);
    return fit;
}

static struct pb_estimate slope_of(const struct fit *fit, size_t count)
{
    double width = gsl_cdf_tdist_Pinv(0.975, (double)(count - PARAMETERS)) * fit->slope_error;

    return (struct pb_estimate){fit->slope, fit->slope - width, fit->slope + width};
}

static bool is_close(const struct fit *fit, double knee, const double *x, const double *y,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(fit->base + fit->slope * fmin(x[i], knee) - y[i]) > close_share * y[i])
            return false;
    return true;
}

/* The best knee among x[1 … count - 2]; false: it is still rising at the end, or nothing rises. */
static bool fit_places(const double *x, const double *y, size_t count,
                       struct pb_plateau *plateau_out)
{
    struct fit fits[POINTS_MAX] = {{0}};
    struct pb_estimate knee;
    size_t best = 1;
    double bound;

    for (size_t i = 1; i < count; i++) {
        fits[i] = fit_line(x, y, count, x[i]);
        if (fits[i].squares < fits[best].squares)
            best = i;
    }
    if (best == count - 1 || !(fits[best].slope > 0.0) ||
        !is_close(&fits[best], x[best], x, y, count))
        return false;
    bound = fits[best].squares *
            gsl_cdf_fdist_Pinv(0.95, (double)(count - PARAMETERS), (double)(count - PARAMETERS));
    knee = (struct pb_estimate){x[best], x[best], x[best]};
    for (size_t i = 1; i < count; i++) {
        if (fits[i].squares > bound)
            continue;
        knee.low = fmin(knee.low, x[i]);
        knee.high = fmax(knee.high, x[i]);
    }
    *plateau_out = (struct pb_plateau){knee, slope_of(&fits[best], count), fits[best].base, count};
    return true;
}

enum pb_status pb_plateau_fit(const double *x, const double *y, size_t count, double least_rise,
                              struct pb_plateau *plateau_out, struct pb_error *err)
{
    double low = INFINITY, high = -INFINITY;

    if (count < POINTS_MIN || count > POINTS_MAX)
        return pb_fail(err, PB_NOT_FOUND, "%zu points are no curve with a plateau", count);
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, y[i]);
        high = fmax(high, y[i]);
    }
    if (!(high > (1.0 + least_rise) * low))
        return pb_fail(
            err, PB_NOT_FOUND,
            "not observable: no knee: all %zu positions cost the same, %.4g to %.4g cycles", count,
            low, high);
    for (size_t places = count; places >= POINTS_MIN; places--)
        if (fit_places(x, y, places, plateau_out))
            return PB_OK;
    return pb_fail(err, PB_NOT_FOUND,
                   "unexplained: no knee: no straight line and plateau fit within 3%% over the "
                   "first %d positions or more",
                   POINTS_MIN);
}
