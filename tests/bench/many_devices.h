/*
 * A fleet of many analysed devices, made of a few: what the tools cost over such a file.
 *
 * The devices of an analysed file are copied, recordings and parameters, until there are as many
 * as asked for, each with a UUID of its own and metrics a little apart. Whatever goes wrong ends
 * the program.
 */
#ifndef TESTS_BENCH_MANY_DEVICES_H
#define TESTS_BENCH_MANY_DEVICES_H

#include <stddef.h>
#include <stdint.h>

#include "h5schema/file.h"

struct many_devices {
    const char *from;
    size_t count; /* of copies */
    struct pb_stored_metrics stored;
    struct pb_parameter_row *rows;
    size_t row_count;
};

void many_devices_read(const char *from, size_t count, struct many_devices *many_out);
/* Metrics and parameters of the first device of another analysed file, instead of its own. */
void many_devices_take_metrics(struct many_devices *many, const char *from);

void many_devices_clear(struct many_devices *many);

/* Takes as much as FROM for each device. */
void many_devices_write(const struct many_devices *many, const char *path);

/* Other metrics, as of another run, into a copy of the file. */
void many_devices_write_again(const struct many_devices *many, const char *path, uint64_t seed);

/* Runs a program on one processor and prints its times and memory; its output is dropped. */
void many_devices_time(const char *program, const char *const *arguments);

#endif
