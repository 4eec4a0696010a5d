/* Workers of plumb-analyze: processes of the same program, and the pipes that they answer by. */
#include "cli/analyze_workers.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/inference.h"
#include "cli/source.h"

struct worker {
    pid_t process; /* 0: none */
    int answers;   /* the pipe's reading end; -1: none */
};

struct pb_workers {
    const char *path;
    const struct pb_key *keys;
    size_t count, next;
    struct worker workers[PB_WORKERS_MAX];
    size_t jobs;
};

/* Goes before the parameters of a device. Both ends are one program: its layout is no matter. */
struct answer {
    enum pb_status status;
    char message[PB_ERROR_LENGTH], model[PB_TEXT_LENGTH];
    size_t analysed, parameters;
};

static enum pb_status analyse(struct pb_reader *reader, const char *key,
                              struct pb_device_result *result_out, struct pb_error *err)
{
    struct pb_device_source source = {reader, key};
    struct pb_recordings recordings = {&source, pb_device_source_load};
    struct pb_device_result result = {.analysed = 0};
    struct pb_device_info info;
    char place[PB_MESSAGE_LENGTH];
    enum pb_status status = pb_reader_device(reader, key, &info, err);

    if (status != PB_OK)
        return status;
    snprintf(place, sizeof(place), "/devices/%s", key);
    status = pb_infer_device(&info, place, &recordings, &result.parameters, &result.analysed, err);
    if (status != PB_OK)
        return status;
    PB_TEXT_SET(result.model, info.model);
    *result_out = result;
    return PB_OK;
}

/* All of it, however small the pipe is. */
static bool write_all(int pipe, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        ssize_t done = write(pipe, at, size);

        if (done < 0 && errno != EINTR)
            return false;
        at += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static bool read_all(int pipe, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        ssize_t done = read(pipe, at, size);

        if (done == 0 || (done < 0 && errno != EINTR))
            return false;
        at += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

static bool send_answer(int pipe, enum pb_status status, const struct pb_device_result *result,
                        const struct pb_error *err)
{
    struct answer answer = {.status = status};

    PB_TEXT_SET(answer.message, err->message);
    if (status == PB_OK) {
        PB_TEXT_SET(answer.model, result->model);
        answer.analysed = result->analysed;
        answer.parameters = result->parameters.count;
    }
    return write_all(pipe, &answer, sizeof(answer)) &&
           write_all(pipe, result->parameters.items,
                     answer.parameters * sizeof(*result->parameters.items));
}

/* One device by a reader of its own: what HDF5 keeps of a file's objects grows while it is open. */
static enum pb_status open_and_analyse(const char *path, const char *key,
                                       struct pb_device_result *result_out, struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status == PB_OK)
        status = analyse(reader, key, result_out, err);
    pb_reader_close(reader);
    return status;
}

/* The whole life of worker number `first`: its share of the devices, up to the first error. */
static void work(const struct pb_workers *workers, size_t first, int pipe)
{
    struct pb_error err = PB_ERROR_INIT;
    bool heard = true;

    for (size_t i = first; i < workers->count && heard; i += workers->jobs) {
        struct pb_device_result result = {.analysed = 0};
        enum pb_status status =
            open_and_analyse(workers->path, workers->keys[i].text, &result, &err);

        heard = send_answer(pipe, status, &result, &err) && status == PB_OK;
        pb_parameters_clear(&result.parameters);
    }
}

static enum pb_status start_worker(struct pb_workers *workers, size_t number, struct pb_error *err)
{
    int ends[2];
    pid_t process;

    if (pipe(ends) != 0)
        return pb_fail(err, PB_IO, "no pipe for a worker: %s", strerror(errno));
    process = fork();
    if (process == 0) {
        close(ends[0]);
        for (size_t i = 0; i < number; i++)
            close(workers->workers[i].answers);
        work(workers, number, ends[1]);
        _exit(0); /* the streams belong to the parent */
    }
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return pb_fail(err, PB_IO, "no process for a worker: %s", strerror(errno));
    }
    workers->workers[number] = (struct worker){process, ends[0]};
    return PB_OK;
}

enum pb_status pb_workers_start(const char *path, const struct pb_key *keys, size_t count,
                                size_t jobs, struct pb_workers **workers_out, struct pb_error *err)
{
    struct pb_workers *workers = calloc(1, sizeof(*workers));
    enum pb_status status = PB_OK;

    if (workers == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu workers", jobs);
    jobs = jobs > PB_WORKERS_MAX ? PB_WORKERS_MAX : jobs;
    jobs = jobs > count ? count : jobs;
    *workers = (struct pb_workers){.path = path, .keys = keys, .count = count, .jobs = jobs};
    for (size_t i = 0; i < jobs && status == PB_OK; i++)
        status = start_worker(workers, i, err);
    if (status != PB_OK) {
        pb_workers_stop(workers);
        return status;
    }
    *workers_out = workers;
    return PB_OK;
}

/* Why a worker fell silent. */
static enum pb_status tell_end(struct worker *worker, struct pb_error *err)
{
    int how = 0;

    if (waitpid(worker->process, &how, 0) == worker->process)
        worker->process = 0;
    if (WIFSIGNALED(how))
        return pb_fail(err, PB_IO, "its worker ended by signal %d (%s)", WTERMSIG(how),
                       strsignal(WTERMSIG(how)));
    return pb_fail(err, PB_IO, "its worker ended with code %d and no answer", WEXITSTATUS(how));
}

static enum pb_status take_parameters(struct worker *worker, const struct answer *answer,
                                      struct pb_parameters *parameters_out, struct pb_error *err)
{
    struct pb_parameters parameters = {NULL, answer->parameters, answer->parameters};

    parameters.items = calloc(answer->parameters + 1, sizeof(*parameters.items));
    if (parameters.items == NULL)
        return pb_fail(err, PB_NO_MEMORY, "no memory for %zu parameters", answer->parameters);
    if (!read_all(worker->answers, parameters.items,
                  answer->parameters * sizeof(*parameters.items))) {
        pb_parameters_clear(&parameters);
        return tell_end(worker, err);
    }
    *parameters_out = parameters;
    return PB_OK;
}

enum pb_status pb_workers_next(struct pb_workers *workers, struct pb_device_result *result_out,
                               struct pb_error *err)
{
    struct worker *worker = &workers->workers[workers->next++ % workers->jobs];
    struct pb_device_result result = {.analysed = 0};
    struct answer answer;
    enum pb_status status;

    if (!read_all(worker->answers, &answer, sizeof(answer)))
        return tell_end(worker, err);
    if (answer.status != PB_OK)
        return pb_fail(err, answer.status, "%s", answer.message);
    status = take_parameters(worker, &answer, &result.parameters, err);
    if (status != PB_OK)
        return status;
    PB_TEXT_SET(result.model, answer.model);
    result.analysed = answer.analysed;
    *result_out = result;
    return PB_OK;
}

void pb_workers_stop(struct pb_workers *workers)
{
    if (workers == NULL)
        return;
    for (size_t i = 0; i < workers->jobs; i++) {
        struct worker *worker = &workers->workers[i];

        if (worker->process == 0)
            continue;
        close(worker->answers); /* one that still writes ends by that */
        kill(worker->process, SIGTERM);
        waitpid(worker->process, NULL, 0);
    }
    free(workers);
}
