/*
 * A child process with a pipe of orders to its standard input and a pipe of frames from it.
 *
 * It is started with posix_spawn, which is safe beside MPI and threads, in a process group of its
 * own, with SIGINT and SIGTERM blocked: a terminal and Slurm send these to every process of a job,
 * and what becomes of the child is its parent's to decide. SIGKILL ends it. It is never waited for:
 * a process stuck in a driver cannot be killed, and must not take its parent with it.
 *
 * Limit: the program that uses this ignores SIGPIPE; a dead child is an error of pb_child_order().
 */
#ifndef PB_RUN_CHILD_H
#define PB_RUN_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/error.h"

/* The descriptor on which a child finds its end of the pipe of frames. */
enum { PB_CHILD_FRAMES_FD = 3 };

struct pb_child {
    pid_t pid;       /* 0: none */
    int orders_fd;   /* -1: closed */
    int frames_fd;   /* -1: closed; reads do not block */
    int wait_status; /* as of waitpid(), once pb_child_reap() has been true */
};

/*
 * Starts argv[0], a path, with the arguments argv (ends with NULL). Its standard output goes to its
 * standard error, since standard output belongs to the parent's results.
 *
 * PB_INVALID: there is no such program. PB_IO: any other reason.
 */
enum pb_status pb_child_start(const char *const *argv, struct pb_child *child_out,
                              struct pb_error *err);

/* Sends one line (the newline is added). PB_IO: the child is gone. */
enum pb_status pb_child_order(struct pb_child *child, const char *line, struct pb_error *err);

/* No more orders: a child that waits for one ends. */
void pb_child_close_orders(struct pb_child *child);

/* Sends SIGKILL. */
void pb_child_kill(struct pb_child *child);

/* True once the child has ended; never waits. */
bool pb_child_reap(struct pb_child *child);

/* "ended with exit status 3" or "died of signal 11 (Segmentation fault)". */
void pb_child_ending(const struct pb_child *child, char *text, size_t size);

/* Kills what still runs, closes the pipes, forgets the child. NULL is allowed. */
void pb_child_clear(struct pb_child *child);

#endif
