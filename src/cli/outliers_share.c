/* Several processes, one sheet; see outliers_share.h. */
#include "cli/outliers_share.h"

#include <math.h>
#include <stdlib.h>

#include "cli/worker.h"

struct share {
    enum pb_status (*fill)(void *context, size_t worker, size_t workers, struct pb_sheet *sheet,
                           struct pb_error *err);
    void *context;
    size_t count;
    struct pb_worker *workers; /* [count] */
    struct pb_sheet *sheets;   /* [count]: what each says of its own, without subjects */
};

/* ---- a worker's side: its verdict, its metrics, then each subject with all its cells ---- */

static bool send_subject(int pipe, const struct pb_sheet *sheet, size_t row,
                         struct pb_reading *cells)
{
    for (size_t i = 0; i < sheet->metric_count; i++)
        cells[i] = pb_sheet_cell(sheet, row, i);
    return pb_worker_send(pipe, &sheet->subjects[row], sizeof(sheet->subjects[row])) &&
           pb_worker_send(pipe, cells, sheet->metric_count * sizeof(*cells));
}

static void work(void *context, size_t number, int pipe)
{
    const struct share *share = context;
    struct pb_sheet sheet = {0};
    struct pb_error err = PB_ERROR_INIT;
    struct pb_reading *cells;
    bool heard;

    err.status = share->fill(share->context, number, share->count, &sheet, &err);
    cells = calloc(sheet.metric_count + 1, sizeof(*cells));
    if (cells == NULL)
        pb_fail(&err, PB_NO_MEMORY, "out of memory allocating %zu numbers", sheet.metric_count);
    heard = pb_worker_send(pipe, &err, sizeof(err)) && err.status == PB_OK &&
            pb_worker_send(pipe, &sheet, sizeof(sheet)) &&
            pb_worker_send(pipe, sheet.metrics, sheet.metric_count * sizeof(*sheet.metrics));
    for (size_t i = 0; i < sheet.subject_count && heard; i++)
        heard = send_subject(pipe, &sheet, i, cells);
    free(cells);
    pb_sheet_clear(&sheet);
}

/* ---- the other side ---- */

/* What a worker says of itself, and its metrics; its subjects follow. */
static enum pb_status open_answer(struct pb_worker *worker, struct pb_sheet *sheet,
                                  struct pb_error *err)
{
    struct pb_error theirs;
    struct pb_sheet found;
    enum pb_status status = pb_worker_receive(worker, &theirs, sizeof(theirs), err);

    if (status == PB_OK && theirs.status != PB_OK)
        status = pb_fail(err, theirs.status, "%s", theirs.message);
    if (status == PB_OK)
        status = pb_worker_receive(worker, &found, sizeof(found), err);
    if (status != PB_OK)
        return status;
    found.subjects = NULL; /* pointers of another process */
    found.metrics = calloc(found.metric_count + 1, sizeof(*found.metrics));
    *sheet = found;
    if (found.metrics == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu metrics",
                       found.metric_count);
    return pb_worker_receive(worker, found.metrics, found.metric_count * sizeof(*found.metrics),
                             err);
}

/* The next subject of a worker whose sheet is `theirs`. cells[] has room for its metrics. */
static enum pb_status join_subject(struct pb_worker *worker, const struct pb_sheet *theirs,
                                   struct pb_reading *cells, struct pb_sheet *sheet,
                                   struct pb_error *err)
{
    struct pb_subject subject;
    size_t row;
    enum pb_status status = pb_worker_receive(worker, &subject, sizeof(subject), err);

    if (status == PB_OK)
        status = pb_worker_receive(worker, cells, theirs->metric_count * sizeof(*cells), err);
    if (status != PB_OK)
        return status;
    subject.cells = NULL; /* pointers of another process */
    subject.cell_capacity = 0;
    status = pb_sheet_add_subject(sheet, &subject, &row, err);
    for (size_t i = 0; i < theirs->metric_count && status == PB_OK; i++)
        if (!isnan(cells[i].value))
            status = pb_sheet_set(sheet, row, &theirs->metrics[i], cells[i], err);
    return status;
}

/* Worker i % count has subject i next. */
static enum pb_status join(struct share *share, struct pb_sheet *sheet, struct pb_error *err)
{
    size_t subjects = 0, most = 0;
    struct pb_reading *cells;
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < share->count; i++) {
        subjects += share->sheets[i].subject_count;
        most = share->sheets[i].metric_count > most ? share->sheets[i].metric_count : most;
    }
    cells = calloc(most + 1, sizeof(*cells));
    if (cells == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu numbers", most);
    for (size_t i = 0; i < subjects && status == PB_OK; i++)
        status = join_subject(&share->workers[i % share->count], &share->sheets[i % share->count],
                              cells, sheet, err);
    free(cells);
    return status;
}

static enum pb_status fill_by_processes(struct share *share, struct pb_sheet *sheet,
                                        struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (size_t i = 0; i < share->count && status == PB_OK; i++)
        status = pb_worker_start(share->workers, i, work, share, err);
    for (size_t i = 0; i < share->count && status == PB_OK; i++)
        status = open_answer(&share->workers[i], &share->sheets[i], err);
    if (status == PB_OK)
        status = join(share, sheet, err);
    for (size_t i = 0; i < share->count; i++) {
        pb_worker_stop(&share->workers[i]);
        free(share->sheets[i].metrics);
    }
    return status;
}

enum pb_status pb_share_fill(size_t workers,
                             enum pb_status (*fill)(void *context, size_t worker, size_t workers,
                                                    struct pb_sheet *sheet, struct pb_error *err),
                             void *context, struct pb_sheet *sheet, struct pb_error *err)
{
    struct share share = {fill, context, workers, NULL, NULL};
    enum pb_status status;

    if (workers <= 1)
        return fill(context, 0, 1, sheet, err);
    share.workers = calloc(workers, sizeof(*share.workers));
    share.sheets = calloc(workers, sizeof(*share.sheets));
    if (share.workers == NULL || share.sheets == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu workers", workers);
    else
        status = fill_by_processes(&share, sheet, err);
    free(share.sheets);
    free(share.workers);
    return status;
}
