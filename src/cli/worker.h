/*
 * Processes of the same program that read devices side by side, and the pipes they answer by.
 *
 * HDF5 has one lock for all threads, and what it meets in a damaged file may end the process: so
 * readers are processes, and one that dies is an error that says how, never a gap. A pipe also
 * holds its worker back: none is ahead by more than one answer.
 */
#ifndef PB_CLI_WORKER_H
#define PB_CLI_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/error.h"

struct pb_worker {
    pid_t process; /* 0: none */
    int answers;   /* the pipe's reading end */
};

/* Processors that this process may run on, which a job's share of a node limits; at least 1. */
size_t pb_worker_processors(void);

/*
 * Starts workers[number] after those before it; work() is its whole life. It answers by
 * pb_worker_send() and touches nothing else of its parent's, its streams least of all.
 *
 * PB_IO: no pipe or process
 */
enum pb_status pb_worker_start(struct pb_worker *workers, size_t number,
                               void (*work)(void *context, size_t number, int pipe), void *context,
                               struct pb_error *err);

/* Both ends are one program: things go as they lie in memory. false: no reader any more. */
bool pb_worker_send(int pipe, const void *bytes, size_t size);

/* PB_IO: the worker ended before; err says how. */
enum pb_status pb_worker_receive(struct pb_worker *worker, void *bytes_out, size_t size,
                                 struct pb_error *err);

/* Ends it, done or not; one that was never started is allowed. */
void pb_worker_stop(struct pb_worker *worker);

#endif
