/* Several processes, one sheet; see outliers_share.h. */
#include "cli/outliers_share.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* One process and the file it leaves its sheet in. */
struct worker {
    FILE *file;
    pid_t pid;
    struct pb_sheet sheet; /* as it came back */
};

size_t pb_share_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) != 0 ? 1 : (size_t)CPU_COUNT(&set);
}

/* ---- a sheet in a file: between two processes of one program, so as it lies in memory ---- */

static bool put(FILE *file, const void *items, size_t size, size_t count)
{
    return count == 0 || fwrite(items, size, count, file) == count;
}

/* The verdict of the worker, then its metrics, then each subject with all its cells. */
static bool put_sheet(FILE *file, const struct pb_error *err, const struct pb_sheet *sheet)
{
    bool good = put(file, err, sizeof(*err), 1) && put(file, sheet, sizeof(*sheet), 1) &&
                put(file, sheet->metrics, sizeof(*sheet->metrics), sheet->metric_count);

    for (size_t i = 0; i < sheet->subject_count && good; i++) {
        good = put(file, &sheet->subjects[i], sizeof(sheet->subjects[i]), 1);
        for (size_t j = 0; j < sheet->metric_count && good; j++) {
            struct pb_cell cell = pb_sheet_cell(sheet, i, j);

            good = put(file, &cell, sizeof(cell), 1);
        }
    }
    return good && fflush(file) == 0;
}

static bool get(FILE *file, void *items, size_t size, size_t count)
{
    return count == 0 || fread(items, size, count, file) == count;
}

/* The next subject of a worker, with its cells. */
static enum pb_status join_subject(struct worker *worker, struct pb_sheet *sheet,
                                   struct pb_error *err)
{
    struct pb_subject subject;
    enum pb_status status;
    size_t row;

    if (!get(worker->file, &subject, sizeof(subject), 1))
        return pb_fail(err, PB_IO, "a worker's numbers cannot be read back");
    subject.cells = NULL; /* pointers of another process */
    subject.cell_capacity = 0;
    status = pb_sheet_add_subject(sheet, &subject, &row, err);
    for (size_t i = 0; i < worker->sheet.metric_count && status == PB_OK; i++) {
        struct pb_cell cell;

        if (!get(worker->file, &cell, sizeof(cell), 1))
            status = pb_fail(err, PB_IO, "a worker's numbers cannot be read back");
        else if (!isnan(cell.value))
            status = pb_sheet_set(sheet, row, &worker->sheet.metrics[i], cell, err);
    }
    return status;
}

/* What a worker says of itself, and its metrics; its subjects follow in the file. */
static enum pb_status open_result(struct worker *worker, struct pb_error *err)
{
    struct pb_error theirs;
    struct pb_metric *metrics;

    rewind(worker->file);
    if (!get(worker->file, &theirs, sizeof(theirs), 1))
        return pb_fail(err, PB_IO, "a worker ended without a result");
    if (theirs.status != PB_OK)
        return pb_fail(err, theirs.status, "%s", theirs.message);
    if (!get(worker->file, &worker->sheet, sizeof(worker->sheet), 1)) {
        worker->sheet.metrics = NULL;
        return pb_fail(err, PB_IO, "a worker's numbers cannot be read back");
    }
    worker->sheet.subjects = NULL; /* pointers of another process */
    metrics = calloc(worker->sheet.metric_count + 1, sizeof(*metrics));
    worker->sheet.metrics = metrics;
    if (metrics == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu metrics", worker->sheet.metric_count);
    if (!get(worker->file, metrics, sizeof(*metrics), worker->sheet.metric_count))
        return pb_fail(err, PB_IO, "a worker's numbers cannot be read back");
    return PB_OK;
}

/* ---- processes ---- */

static enum pb_status start_worker(struct worker *worker)
{
    worker->file = tmpfile();
    if (worker->file == NULL)
        return PB_IO;
    worker->pid = fork();
    return worker->pid < 0 ? PB_IO : PB_OK;
}

/* In the new process: nothing that belongs to the old one is touched, not even by exit(). */
static void work(struct worker *worker, size_t index, size_t workers,
                 enum pb_status (*fill)(void *, size_t, size_t, struct pb_sheet *,
                                        struct pb_error *),
                 void *context)
{
    struct pb_sheet sheet = {0};
    struct pb_error err = PB_ERROR_INIT;

    err.status = fill(context, index, workers, &sheet, &err);
    _exit(put_sheet(worker->file, &err, &sheet) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static enum pb_status await_worker(struct worker *worker, struct pb_error *err)
{
    int how = 0;

    while (waitpid(worker->pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(how))
        return pb_fail(err, PB_IO, "a worker died of signal %d", WTERMSIG(how));
    if (WEXITSTATUS(how) != EXIT_SUCCESS)
        return pb_fail(err, PB_IO, "a worker's numbers cannot be kept: is the disk full?");
    return open_result(worker, err);
}

/* Worker i % count has subject i next. */
static enum pb_status join(struct worker *workers, size_t count, struct pb_sheet *sheet,
                           struct pb_error *err)
{
    enum pb_status status = PB_OK;
    size_t subjects = 0;

    for (size_t i = 0; i < count; i++)
        subjects += workers[i].sheet.subject_count;
    for (size_t i = 0; i < subjects && status == PB_OK; i++)
        status = join_subject(&workers[i % count], sheet, err);
    return status;
}

static enum pb_status fill_by_processes(struct worker *workers, size_t count,
                                        enum pb_status (*fill)(void *, size_t, size_t,
                                                               struct pb_sheet *,
                                                               struct pb_error *),
                                        void *context, struct pb_sheet *sheet, struct pb_error *err)
{
    enum pb_status status = PB_OK;
    size_t started = 0;

    fflush(NULL); /* what is buffered must not come out twice */
    for (; started < count && status == PB_OK; started++) {
        status = start_worker(&workers[started]);
        if (status == PB_OK && workers[started].pid == 0)
            work(&workers[started], started, count, fill, context);
    }
    if (status != PB_OK) {
        pb_fail(err, status, "worker %zu cannot be started: %s", started, strerror(errno));
        started--;
    }
    for (size_t i = 0; i < started; i++) { /* all of them, whatever went wrong with one */
        struct pb_error *first = status == PB_OK ? err : NULL;
        enum pb_status theirs = await_worker(&workers[i], first);

        if (status == PB_OK)
            status = theirs;
    }
    return status == PB_OK ? join(workers, count, sheet, err) : status;
}

enum pb_status pb_share_fill(size_t workers,
                             enum pb_status (*fill)(void *context, size_t worker, size_t workers,
                                                    struct pb_sheet *sheet, struct pb_error *err),
                             void *context, struct pb_sheet *sheet, struct pb_error *err)
{
    struct worker *processes;
    enum pb_status status;

    if (workers <= 1)
        return fill(context, 0, 1, sheet, err);
    processes = calloc(workers, sizeof(*processes));
    if (processes == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu workers", workers);
    status = fill_by_processes(processes, workers, fill, context, sheet, err);
    for (size_t i = 0; i < workers; i++) {
        if (processes[i].file != NULL)
            fclose(processes[i].file);
        free(processes[i].sheet.metrics);
    }
    free(processes);
    return status;
}
