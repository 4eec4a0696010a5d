/* What differs between two devices, and which devices of two files belong together; see diff.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/verdict/metric.h"
#include "cli/diff.h"
#include "core/quantity.h"
#include "core/reserve.h"

/* Of measured quantities that are no metric. */
static const double default_tolerance = 0.02;

/* ---- one parameter ---- */

/* Sizes, counts and masks are whole numbers of units that are not measured by a clock. */
static bool is_measured(const struct pb_diff_value *value)
{
    return pb_quantity_is_measured(value->unit) ||
           (isfinite(value->number) && value->number != floor(value->number));
}

/* How far two runs of one healthy device may lie apart in a parameter. */
static double tolerance_of(const struct pb_diff_value *value)
{
    char name[PB_METRIC_NAME_LENGTH];
    const struct pb_metric_row *row;

    snprintf(name, sizeof(name), "%s.%s", value->memory, value->parameter);
    row = pb_metric_row_find(name);
    return row != NULL ? pb_repeat_of(&row->metric).warning : default_tolerance;
}

static double log_ratio(double a, double b)
{
    if (a == b)
        return 0.0;
    return a > 0.0 && b > 0.0 ? fabs(log(b / a)) : INFINITY;
}

/* One number of a list, or NaN for "null", which was not seen; *text_io moves on. False: neither.
 */
static bool next_number(const char **text_io, double *number_out)
{
    static const char null[] = "null";
    const char *text = *text_io + strspn(*text_io, " ");
    char *end;

    *number_out = NAN;
    if (strncmp(text, null, sizeof(null) - 1) == 0) {
        *text_io = text + sizeof(null) - 1;
        return true;
    }
    *number_out = strtod(text, &end);
    *text_io = end;
    return end != text;
}

/*
 * Lists of measured numbers, "[25, null, 37]": the largest log ratio of two that correspond. What
 * was seen in one list only differs.
 */
static double compare_lists(const char *a, const char *b)
{
    double largest = 0.0, left, right;

    if (*a != '[' || *b != '[')
        return INFINITY;
    do {
        a++;
        b++;
        if (!next_number(&a, &left) || !next_number(&b, &right) || *a != *b ||
            isnan(left) != isnan(right))
            return INFINITY;
        if (!isnan(left))
            largest = fmax(largest, log_ratio(left, right));
    } while (*a == ',');
    return largest;
}

/* Fills `difference` and returns whether a and b, both determined, differ. */
static bool differ(const struct pb_diff_value *a, const struct pb_diff_value *b, double tolerance,
                   struct pb_difference *difference)
{
    bool is_measure = (is_measured(a) || is_measured(b)) && strcmp(a->unit, b->unit) == 0;

    *difference = (struct pb_difference){
        is_measure ? PB_DIFF_MEASURED : PB_DIFF_STRUCTURE, a, b, NAN, INFINITY, 0.0};
    if (is_measure)
        difference->tolerance = isnan(tolerance) ? tolerance_of(a) : tolerance;
    if (isfinite(a->number) && isfinite(b->number)) {
        difference->change = a->number != 0.0 ? b->number / a->number - 1.0 : INFINITY;
        difference->rank = log_ratio(a->number, b->number);
        if (a->low <= b->high && b->low <= a->high)
            return false;
        return !is_measure || difference->rank > log1p(difference->tolerance);
    }
    if (strcmp(a->text, b->text) == 0)
        return false;
    if (is_measure)
        difference->rank = compare_lists(a->text, b->text);
    return !is_measure || difference->rank > log1p(difference->tolerance);
}

/* ---- one pair of devices ---- */

static enum pb_status add(struct pb_differences *differences,
                          const struct pb_difference *difference, struct pb_error *err)
{
    enum pb_status status = PB_RESERVE(differences->items, differences->count,
                                       differences->capacity, "differences", err);

    if (status == PB_OK)
        differences->items[differences->count++] = *difference;
    return status;
}

static const struct pb_diff_value *find(const struct pb_diff_device *device,
                                        const struct pb_diff_value *wanted)
{
    for (size_t i = 0; i < device->count; i++)
        if (strcmp(device->values[i].parameter, wanted->parameter) == 0 &&
            strcmp(device->values[i].memory, wanted->memory) == 0)
            return &device->values[i];
    return NULL;
}

/* Of launch shapes that are equally fast another one wins in every run: the rates are compared. */
static bool is_launch_shape(const char *parameter)
{
    const char *end = strstr(parameter, "best_config");

    return end != NULL && strcmp(end, "best_config") == 0;
}

static bool is_determined(const struct pb_diff_value *value)
{
    return value != NULL && value->text != NULL;
}

static int worst_first(const void *a, const void *b)
{
    const struct pb_difference *left = a, *right = b;

    if (left->kind != right->kind)
        return (int)left->kind - (int)right->kind;
    return (left->rank < right->rank) - (left->rank > right->rank);
}

enum pb_status pb_diff_compare(const struct pb_diff_device *a, const struct pb_diff_device *b,
                               double tolerance, struct pb_differences *differences_out,
                               struct pb_error *err)
{
    struct pb_differences differences = {.items = NULL};
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < a->count && status == PB_OK; i++) {
        const struct pb_diff_value *value = &a->values[i], *other = find(b, value);
        struct pb_difference difference = {PB_DIFF_ONLY_A, value, other, NAN, 0.0, 0.0};

        if (!is_determined(value) || is_launch_shape(value->parameter))
            continue;
        if (is_determined(other) && value->method_version != other->method_version) {
            differences.other_method++;
            continue;
        }
        if (is_determined(other)) {
            differences.compared++;
            if (!differ(value, other, tolerance, &difference))
                continue;
            differences.beyond++;
        }
        status = add(&differences, &difference, err);
    }
    for (size_t i = 0; i < b->count && status == PB_OK; i++) {
        const struct pb_diff_value *value = &b->values[i], *other = find(a, value);

        if (is_determined(value) && !is_determined(other) && !is_launch_shape(value->parameter))
            status = add(&differences,
                         &(struct pb_difference){PB_DIFF_ONLY_B, other, value, NAN, 0.0, 0.0}, err);
    }
    if (status != PB_OK) {
        pb_differences_clear(&differences);
        return status;
    }
    if (differences.count > 0)
        qsort(differences.items, differences.count, sizeof(*differences.items), worst_first);
    *differences_out = differences;
    return PB_OK;
}

void pb_differences_clear(struct pb_differences *differences)
{
    free(differences->items);
    *differences = (struct pb_differences){.items = NULL};
}

/* ---- which devices belong together ---- */

static bool is_same(const struct pb_diff_device *a, const struct pb_diff_device *b, bool by_uuid)
{
    if (by_uuid)
        return a->uuid[0] != '\0' && strcmp(a->uuid, b->uuid) == 0;
    return strcmp(a->key, b->key) == 0 && strcmp(a->model, b->model) == 0;
}

/* Pairs what is not paired yet; the pairs of all so far stand in pairs[] by index of a. */
static void pair_by(const struct pb_diff_side *a, const struct pb_diff_side *b, bool by_uuid,
                    size_t *pair_of_a, bool *taken_b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count && pair_of_a[i] == SIZE_MAX; j++)
            if (!taken_b[j] && is_same(&a->devices[i], &b->devices[j], by_uuid)) {
                pair_of_a[i] = j;
                taken_b[j] = true;
            }
}

static size_t list_pairs(const struct pb_diff_side *a, const struct pb_diff_side *b,
                         const size_t *pair_of_a, const bool *taken_b, struct pb_diff_pair *pairs)
{
    size_t count = 0;

    for (size_t i = 0; i < a->count; i++)
        if (pair_of_a[i] != SIZE_MAX)
            pairs[count++] = (struct pb_diff_pair){i, pair_of_a[i]};
    for (size_t i = 0; i < a->count && (count == 0 || !b->is_chosen); i++)
        if (pair_of_a[i] == SIZE_MAX)
            pairs[count++] = (struct pb_diff_pair){i, SIZE_MAX};
    for (size_t j = 0; j < b->count && (count == 0 || !a->is_chosen); j++)
        if (!taken_b[j])
            pairs[count++] = (struct pb_diff_pair){SIZE_MAX, j};
    return count;
}

enum pb_status pb_diff_pairs(const struct pb_diff_side *a, const struct pb_diff_side *b,
                             struct pb_diff_pair **pairs_out, size_t *count_out,
                             struct pb_error *err)
{
    struct pb_diff_pair *pairs = calloc(a->count + b->count, sizeof(*pairs));
    size_t *pair_of_a = malloc(a->count * sizeof(*pair_of_a));
    bool *taken_b = calloc(b->count, sizeof(*taken_b));
    enum pb_status status = PB_OK;

    if (pairs == NULL || pair_of_a == NULL || taken_b == NULL) {
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu pairs", a->count);
        goto out;
    }
    for (size_t i = 0; i < a->count; i++)
        pair_of_a[i] = SIZE_MAX;
    if (a->count == 1 && b->count == 1) {
        pair_of_a[0] = 0;
        taken_b[0] = true;
    } else {
        pair_by(a, b, true, pair_of_a, taken_b);
        pair_by(a, b, false, pair_of_a, taken_b);
    }
    *count_out = list_pairs(a, b, pair_of_a, taken_b, pairs);
    if (pairs[0].b == SIZE_MAX || pairs[0].a == SIZE_MAX) {
        const struct pb_diff_side *several = a->count > 1 ? a : b;

        status = pb_fail(err, PB_INVALID,
                         "%s and %s: expected a device that both have, found none; name one of %zu "
                         "as %s:%s",
                         a->path, b->path, several->count, several->path, several->devices[0].key);
        goto out;
    }
    *pairs_out = pairs;
    pairs = NULL;
out:
    free(taken_b);
    free(pair_of_a);
    free(pairs);
    return status;
}
