/*
 * Sorting and selecting doubles. Cycles are few different whole numbers: comparisons would mostly
 * be mispredicted, so nothing here branches by them where there are many.
 */
#include "analysis/statistics/sort.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW = 64, /* sorted faster in place */
    FEWER = 12,
    KEY_BITS = 64,
    DIGIT_BITS = 8,
    DIGITS = 1 << DIGIT_BITS,
    ROUNDS_MAX = 64 /* of a selection: so many are no bad luck, but a trap */
};

static const uint64_t sign = (uint64_t)1 << 63;

/* Bits that grow as the number does: negative ones count backwards. */
static uint64_t key_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (bits & sign) != 0 ? ~bits : bits | sign;
}

static double value_of(uint64_t key)
{
    uint64_t bits = (key & sign) != 0 ? key & ~sign : ~key;
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Keys lie where the numbers were. */
static uint64_t load(const double *keys, size_t i)
{
    uint64_t key;

    memcpy(&key, keys + i, sizeof(key));
    return key;
}

static unsigned digit_of(uint64_t key, int shift)
{
    return (unsigned)(key >> shift) % DIGITS;
}

/* Stable, by one digit. */
static void scatter(const double *from, size_t count, int shift, double *to)
{
    size_t at[DIGITS] = {0}, first = 0;

    for (size_t i = 0; i < count; i++)
        at[digit_of(load(from, i), shift)]++;
    for (unsigned i = 0; i < DIGITS; i++) {
        size_t members = at[i];

        at[i] = first;
        first += members;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t key = load(from, i);

        memcpy(to + at[digit_of(key, shift)]++, &key, sizeof(key));
    }
}

/* By the digits in which keys differ; returns which of both arrays holds them in order. */
static double *sort_keys(double *keys, size_t count, double *scratch)
{
    uint64_t differing = 0;

    for (size_t i = 1; i < count; i++)
        differing |= load(keys, i) ^ load(keys, 0);
    for (int shift = __builtin_ctzll(differing); shift < KEY_BITS && differing >> shift != 0;
         shift += DIGIT_BITS) {
        double *from = keys;

        scatter(from, count, shift, scratch);
        keys = scratch;
        scratch = from;
    }
    return keys;
}

static bool is_sorted(const double *values, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (values[i] < values[i - 1])
            return false;
    return true;
}

void pb_sort(double *values, size_t count)
{
    double *scratch, *sorted;

    if (is_sorted(values, count))
        return;
    scratch = count <= FEW ? NULL : malloc(count * sizeof(*scratch));
    if (scratch == NULL) {
        gsl_sort(values, 1, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t key = key_of(values[i]);

        memcpy(values + i, &key, sizeof(key));
    }
    sorted = sort_keys(values, count, scratch);
    for (size_t i = 0; i < count; i++)
        values[i] = value_of(load(sorted, i));
    free(scratch);
}

static double middle_of(double a, double b, double c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* Brings the members that are less than the pivot, or not above it, to the front: how many. */
static size_t part(double *values, size_t count, double pivot, bool or_equal)
{
    size_t front = 0;

    for (size_t i = 0; i < count; i++) {
        double value = values[i];

        values[i] = values[front];
        values[front] = value;
        front += or_equal ? value <= pivot : value < pivot;
    }
    return front;
}

/* The member at that place of the values, were they sorted (Hoare's selection). */
static double select_at(double *values, size_t count, size_t place)
{
    for (int round = 0; count > FEWER && round < ROUNDS_MAX; round++) {
        double pivot = middle_of(values[0], values[count / 2], values[count - 1]);
        size_t less = part(values, count, pivot, false), up_to;

        if (place < less) {
            count = less;
            continue;
        }
        up_to = less + part(values + less, count - less, pivot, true);
        if (place < up_to)
            return pivot;
        values += up_to;
        count -= up_to;
        place -= up_to;
    }
    pb_sort(values, count);
    return values[place];
}

double pb_median(double *values, size_t count)
{
    size_t place = (count - 1) / 2, up_to = 0;
    double lower = select_at(values, count, place), above = INFINITY;

    if (count % 2 == 1)
        return lower;
    for (size_t i = 0; i < count; i++) {
        up_to += values[i] <= lower;
        above = values[i] > lower && values[i] < above ? values[i] : above;
    }
    return 0.5 * (lower + (up_to > place + 1 ? lower : above));
}
