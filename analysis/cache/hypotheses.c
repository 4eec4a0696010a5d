/* Lists of hypotheses, and what they say; see hypotheses.h. */
#include "analysis/cache/hypotheses.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/constants.h"

void pb_hypotheses_clear(struct pb_hypotheses *hypotheses)
{
    free(hypotheses->items);
    *hypotheses = (struct pb_hypotheses){NULL, 0, 0};
}

static bool are_same(const struct pb_geometry *a, const struct pb_geometry *b)
{
    return a->index == b->index && a->sets == b->sets && a->ways == b->ways &&
           a->line_bytes == b->line_bytes && a->sector_bytes == b->sector_bytes &&
           a->hides_misses == b->hides_misses && a->mask_count == b->mask_count &&
           memcmp(a->masks, b->masks, a->mask_count * sizeof(*a->masks)) == 0;
}

enum pb_status pb_hypotheses_add(struct pb_hypotheses *hypotheses,
                                 const struct pb_hypothesis *hypothesis, struct pb_error *err)
{
    for (size_t i = 0; i < hypotheses->count; i++) {
        struct pb_hypothesis *known = &hypotheses->items[i];

        if (!are_same(&known->geometry, &hypothesis->geometry))
            continue;
        if (hypothesis->log_likelihood > known->log_likelihood)
            *known = *hypothesis;
        return PB_OK;
    }
    if (hypotheses->count == hypotheses->capacity) {
        size_t capacity = 2 * hypotheses->capacity + 64;
        struct pb_hypothesis *items =
            realloc(hypotheses->items, capacity * sizeof(*hypotheses->items));

        if (items == NULL)
            return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu hypotheses", capacity);
        hypotheses->items = items;
        hypotheses->capacity = capacity;
    }
    hypotheses->items[hypotheses->count++] = *hypothesis;
    return PB_OK;
}

static int by_likelihood(const void *a, const void *b)
{
    const struct pb_hypothesis *left = a, *right = b;

    return (left->log_likelihood < right->log_likelihood) -
           (left->log_likelihood > right->log_likelihood);
}

void pb_hypotheses_sort(struct pb_hypotheses *hypotheses)
{
    if (hypotheses->count > 1)
        qsort(hypotheses->items, hypotheses->count, sizeof(*hypotheses->items), by_likelihood);
}

uint64_t pb_geometry_line(const struct pb_geometry *geometry)
{
    return geometry->line_bytes;
}

double pb_hypotheses_share(const struct pb_hypotheses *hypotheses, pb_geometry_number number,
                           uint64_t value)
{
    double best = hypotheses->items[0].log_likelihood, sum = 0.0, alike = 0.0;

    for (size_t i = 0; i < hypotheses->count; i++) {
        double weight = exp(PB_CACHE_INDEPENDENCE * (hypotheses->items[i].log_likelihood - best));

        sum += weight;
        alike += number(&hypotheses->items[i].geometry) == value ? weight : 0.0;
    }
    return alike / sum;
}

/* 0 is no number. */
static bool is_possible(const struct pb_hypotheses *hypotheses, pb_geometry_number number,
                        uint64_t value)
{
    return value != 0 && pb_hypotheses_share(hypotheses, number, value) >= PB_POSSIBLE_SHARE;
}

void pb_hypotheses_state(struct pb_parameter *answer, const struct pb_hypotheses *hypotheses,
                         pb_geometry_number number, double agreement, const char *method)
{
    uint64_t value = number(&hypotheses->items[0].geometry);
    struct pb_estimate estimate = {(double)value, (double)value, (double)value};

    for (size_t i = 1; i < hypotheses->count; i++) {
        uint64_t other = number(&hypotheses->items[i].geometry);

        if (!is_possible(hypotheses, number, other))
            continue;
        estimate.low = fmin(estimate.low, (double)other);
        estimate.high = fmax(estimate.high, (double)other);
    }
    pb_parameter_set_number(
        answer, estimate, agreement * pb_hypotheses_share(hypotheses, number, value), "%s", method);
}

bool pb_hypotheses_is_open(const struct pb_hypotheses *hypotheses, pb_geometry_number number)
{
    uint64_t best = number(&hypotheses->items[0].geometry);
    bool is_open = false;

    for (size_t i = 1; i < hypotheses->count && !is_open; i++) {
        uint64_t other = number(&hypotheses->items[i].geometry);

        is_open = other != best && is_possible(hypotheses, number, other);
    }
    return is_open;
}
