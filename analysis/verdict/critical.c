/* Looking up critical values; see critical.h. */
#include "analysis/verdict/critical.h"

#include <math.h>

/* Natural logarithm of p at a level. */
static double log_level(double level)
{
    return -M_LN10 * 0.5 * (level + 1.0);
}

/* The table's curve of one number of peers and one weight of tails, added with a weight. */
static void add_curve(struct pb_null *null, size_t tail, size_t peers, double weight)
{
    for (size_t i = 0; i < PB_CRITICAL_LEVELS; i++)
        null->log_sigmas[i] += weight * log((double)pb_critical_table[tail][peers][i]);
}

void pb_null_set(struct pb_null *null_out, double peers, double tail)
{
    size_t row = 0, column = 0;
    double by_peers, by_tail;

    while (row + 2 < PB_CRITICAL_PEERS && pb_critical_peers[row + 1] <= peers)
        row++;
    while (column + 2 < PB_CRITICAL_TAILS && pb_critical_tails[column + 1] <= tail)
        column++;
    by_peers = (1.0 / pb_critical_peers[row] - 1.0 / peers) /
               (1.0 / pb_critical_peers[row] - 1.0 / pb_critical_peers[row + 1]);
    by_tail = (tail - pb_critical_tails[column]) /
              (pb_critical_tails[column + 1] - pb_critical_tails[column]);
    by_peers = fmin(fmax(by_peers, 0.0), 1.0);
    by_tail = fmin(fmax(by_tail, 0.0), 1.0);
    *null_out = (struct pb_null){{0}};
    add_curve(null_out, column, row, (1.0 - by_tail) * (1.0 - by_peers));
    add_curve(null_out, column, row + 1, (1.0 - by_tail) * by_peers);
    add_curve(null_out, column + 1, row, by_tail * (1.0 - by_peers));
    add_curve(null_out, column + 1, row + 1, by_tail * by_peers);
}

double pb_null_p(const struct pb_null *null, double sigmas)
{
    const double *curve = null->log_sigmas;
    double at = log(fabs(sigmas)), p_first = exp(log_level(0.0));
    size_t i = 0;

    if (isnan(sigmas))
        return NAN;
    if (at <= curve[0]) /* within the bulk: p falls from 1 about linearly */
        return 1.0 - (1.0 - p_first) * exp(at - curve[0]);
    while (i + 2 < PB_CRITICAL_LEVELS && curve[i + 1] <= at)
        i++;
    return exp(log_level((double)i + (at - curve[i]) / (curve[i + 1] - curve[i])));
}

double pb_null_sigmas(const struct pb_null *null, double p)
{
    const double *curve = null->log_sigmas;
    double level = -2.0 * log10(p) - 1.0, p_first = exp(log_level(0.0));
    size_t i;

    if (level <= 0.0)
        return exp(curve[0]) * (1.0 - p) / (1.0 - p_first);
    i = level < PB_CRITICAL_LEVELS - 2 ? (size_t)level : PB_CRITICAL_LEVELS - 2;
    return exp(curve[i] + (level - (double)i) * (curve[i + 1] - curve[i]));
}
