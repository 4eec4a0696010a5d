/* Workers: processes and pipes; see worker.h. */
#include "cli/worker.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

size_t pb_worker_processors(void)
{
    cpu_set_t set;
    long online = sysconf(_SC_NPROCESSORS_ONLN);

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (size_t)CPU_COUNT(&set);
    return online > 0 ? (size_t)online : 1; /* more of them than the set has room for */
}

enum pb_status pb_worker_start(struct pb_worker *workers, size_t number,
                               void (*work)(void *context, size_t number, int pipe), void *context,
                               struct pb_error *err)
{
    int ends[2];
    pid_t process;

    if (pipe(ends) != 0)
        return pb_fail(err, PB_IO, "no pipe for a worker: %s", strerror(errno));
    process = fork();
    if (process == 0) {
        close(ends[0]);
        for (size_t i = 0; i < number; i++)
            close(workers[i].answers);
        work(context, number, ends[1]);
        _exit(0); /* the streams belong to the parent */
    }
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return pb_fail(err, PB_IO, "no process for a worker: %s", strerror(errno));
    }
    workers[number] = (struct pb_worker){process, ends[0]};
    return PB_OK;
}

/* All of it, however small the pipe is. */
bool pb_worker_send(int pipe, const void *bytes, size_t size)
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

/* Why a worker fell silent. */
static enum pb_status report_end(struct pb_worker *worker, struct pb_error *err)
{
    int how = 0;

    if (waitpid(worker->process, &how, 0) == worker->process) {
        close(worker->answers);
        worker->process = 0;
    }
    if (WIFSIGNALED(how))
        return pb_fail(err, PB_IO, "its worker ended by signal %d (%s)", WTERMSIG(how),
                       strsignal(WTERMSIG(how)));
    return pb_fail(err, PB_IO, "its worker ended with code %d and no answer", WEXITSTATUS(how));
}

enum pb_status pb_worker_receive(struct pb_worker *worker, void *bytes_out, size_t size,
                                 struct pb_error *err)
{
    char *at = bytes_out;

    while (size > 0) {
        ssize_t done = read(worker->answers, at, size);

        if (done == 0 || (done < 0 && errno != EINTR))
            return report_end(worker, err);
        at += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return PB_OK;
}

void pb_worker_stop(struct pb_worker *worker)
{
    if (worker->process == 0)
        return;
    close(worker->answers); /* one that still writes ends by that */
    kill(worker->process, SIGTERM);
    waitpid(worker->process, NULL, 0);
    worker->process = 0;
}
