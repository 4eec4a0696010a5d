/*
 * Private to the battery: matrices over a few named axes, filled cell by cell.
 *
 * Limit: a cell that the device cannot measure stays NaN; only that is forgiven.
 */
#ifndef PB_BATTERY_GRID_H
#define PB_BATTERY_GRID_H

#include "core/record.h"

/* An axis of numbers, of labels, or (both NULL) of 0, 1, 2, … Borrowed until pb_grid_open()
 * returns. */
struct pb_grid_axis {
    const char *name, *unit, *description;
    const double *values;
    const char *const *labels;
    size_t length;
};

#define PB_GRID_VALUES(name, unit, description, array)                                             \
    {                                                                                              \
        (name), (unit), (description), (array), NULL, sizeof(array) / sizeof((array)[0]),          \
    }
#define PB_GRID_LABELS(name, description, array)                                                   \
    {                                                                                              \
        (name), "", (description), NULL, (array), sizeof(array) / sizeof((array)[0]),              \
    }
#define PB_GRID_COUNTED(name, description, count)                                                  \
    {                                                                                              \
        (name), "", (description), NULL, NULL, (count)                                             \
    }
#define PB_GRID_SMS(session)                                                                       \
    PB_GRID_COUNTED("sm", "streaming multiprocessor", (session)->info.sm_count)

/* Powers of two, as most axes have them. */
extern const double pb_grid_powers[11]; /* 1 … 1024 */

/* Gives an empty matrix its axes[rank] (copied) and fills it with NaN. PB_NO_MEMORY. */
enum pb_status pb_grid_open(struct pb_matrix *matrix, const struct pb_grid_axis *axes, size_t rank,
                            const char *unit, const char *description, struct pb_error *err);

/* Where cell i of the row-major values lies on every axis. */
void pb_grid_place(const struct pb_matrix *matrix, size_t i, size_t place_out[PB_MATRIX_RANK_MAX]);

/* PB_OK for what one cell may lack: PB_UNSUPPORTED passes, everything else stays. */
enum pb_status pb_grid_forgive(enum pb_status status);

/* Cells that found no memory, forgiven where others did; begins as PB_GRID_ENOUGH. */
struct pb_grid_shortage {
    size_t count;
    struct pb_error first;
};

#define PB_GRID_ENOUGH ((struct pb_grid_shortage){0, PB_ERROR_INIT})

/* PB_OK for PB_NO_MEMORY, whose cause is kept; everything else stays, and its cause goes to err. */
enum pb_status pb_grid_forgive_shortage(struct pb_grid_shortage *shortage, enum pb_status status,
                                        const struct pb_error *cause, struct pb_error *err);

/* Says how many of `count` points are lacking; PB_UNSUPPORTED where there is not one. */
enum pb_status pb_grid_report_shortage(const struct pb_grid_shortage *shortage, size_t count,
                                       struct pb_recording *recording, struct pb_error *err);

#endif
