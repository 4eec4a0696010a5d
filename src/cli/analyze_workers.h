/*
 * Devices of a fleet file analysed by several processes, their results taken in the file's order.
 *
 * Every worker (worker.h) reads the file by itself and analyses every so many'th device; no more
 * than a device of each is ahead, so memory does not grow with the number of devices.
 */
#ifndef PB_CLI_ANALYZE_WORKERS_H
#define PB_CLI_ANALYZE_WORKERS_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/agreement/agreement.h"
#include "analysis/parameter.h"
#include "analysis/verdict/features.h"
#include "core/error.h"
#include "core/identity.h"
#include "h5schema/file.h"

enum { PB_WORKERS_MAX = 256 };

struct pb_workers;

/* What is to be found of each device. */
enum pb_wanted {
    PB_WANT_PARAMETERS = 1, /* and how much of the accesses they predict */
    PB_WANT_METRICS = 2     /* what devices are compared by */
};

/* What was found of one device; for pb_device_result_clear(). */
struct pb_device_result {
    char model[PB_TEXT_LENGTH];
    struct pb_device_info info; /* as the driver states it */
    struct pb_parameters parameters;
    struct pb_agreement agreement;
    struct pb_features features; /* its metrics */
    size_t analysed;             /* recordings that could be read */
};

void pb_device_result_clear(struct pb_device_result *result);

/*
 * Starts `jobs` workers (1 … PB_WORKERS_MAX, no more than devices) over keys[count] of the file.
 * The caller has it open nowhere, and keeps path and keys until pb_workers_stop().
 *
 * PB_NO_MEMORY; PB_IO: no process or pipe
 */
enum pb_status pb_workers_start(const char *path, const struct pb_key *keys, size_t count,
                                size_t jobs, enum pb_wanted wanted, struct pb_workers **workers_out,
                                struct pb_error *err);

/*
 * The next device's result, in the order of keys; to be called once for each.
 *
 * PB_IO: its worker ended before it was done; any other error: as the worker met it
 */
enum pb_status pb_workers_next(struct pb_workers *workers, struct pb_device_result *result_out,
                               struct pb_error *err);

/* Ends all workers, done or not; NULL is allowed. */
void pb_workers_stop(struct pb_workers *workers);

#endif
