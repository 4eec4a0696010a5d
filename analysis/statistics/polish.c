/* Median polish; see polish.h. Few rounds do: medians settle at once or not at all. */
#include "analysis/statistics/polish.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/statistics/sort.h"

enum { ROUNDS = 3 };

void pb_polish_clear(struct pb_polish *polish)
{
    if (polish == NULL)
        return;
    free(polish->place_cycles);
    free(polish->walk_cycles);
    memset(polish, 0, sizeof(*polish));
}

static double cell_at(const struct pb_polish *polish, size_t walk, size_t place)
{
    return polish->cells[walk * polish->places + place];
}

static double median_of(double *room, size_t count)
{
    return count == 0 ? NAN : pb_median(room, count);
}

static void fit_places(struct pb_polish *polish, double *room)
{
    for (size_t p = 0; p < polish->places; p++) {
        size_t count = 0;

        for (size_t w = 0; w < polish->walks; w++)
            if (!isnan(cell_at(polish, w, p)))
                room[count++] = cell_at(polish, w, p) - polish->walk_cycles[w];
        polish->place_cycles[p] = median_of(room, count);
    }
}

static void fit_walks(struct pb_polish *polish, double *room)
{
    for (size_t w = 0; w < polish->walks; w++) {
        size_t count = 0;

        for (size_t p = 0; p < polish->places; p++)
            if (!isnan(cell_at(polish, w, p)))
                room[count++] = cell_at(polish, w, p) - polish->place_cycles[p];
        polish->walk_cycles[w] = count == 0 ? 0.0 : median_of(room, count);
    }
}

/* PB_INVALID: nothing is left over, since there is no cell. */
static enum pb_status measure_noise(struct pb_polish *polish, double *room, struct pb_error *err)
{
    size_t count = 0;

    for (size_t w = 0; w < polish->walks; w++)
        for (size_t p = 0; p < polish->places; p++)
            if (!isnan(cell_at(polish, w, p)))
                room[count++] =
                    fabs(cell_at(polish, w, p) - polish->place_cycles[p] - polish->walk_cycles[w]);
    if (count == 0)
        return pb_fail(err, PB_INVALID, "the table is empty");
    polish->noise_cycles = 1.4826 * median_of(room, count);
    return PB_OK;
}

enum pb_status pb_polish_fit(const double *cells, size_t walks, size_t places,
                             struct pb_polish *polish_out, struct pb_error *err)
{
    struct pb_polish polish = {.cells = cells, .walks = walks, .places = places};
    double *room = calloc(walks * places + 1, sizeof(*room));
    enum pb_status status = PB_OK;

    polish.place_cycles = calloc(places + 1, sizeof(*polish.place_cycles));
    polish.walk_cycles = calloc(walks + 1, sizeof(*polish.walk_cycles));
    if (room == NULL || polish.place_cycles == NULL || polish.walk_cycles == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu chases over %zu places",
                         walks, places);
    for (int round = 0; status == PB_OK && round < ROUNDS; round++) {
        fit_places(&polish, room);
        fit_walks(&polish, room);
    }
    if (status == PB_OK)
        status = measure_noise(&polish, room, err);
    free(room);
    if (status == PB_OK)
        *polish_out = polish;
    else
        pb_polish_clear(&polish);
    return status;
}

double pb_polish_mean(const struct pb_polish *polish, size_t walk, double most_cycles,
                      size_t *count_out)
{
    double sum = 0.0;
    size_t count = 0;

    for (size_t p = 0; p < polish->places; p++) {
        double cell = cell_at(polish, walk, p);

        if (isnan(cell))
            continue;
        sum += fmax(-most_cycles, fmin(most_cycles, cell - polish->place_cycles[p]));
        count++;
    }
    *count_out = count;
    return count == 0 ? NAN : sum / (double)count;
}
