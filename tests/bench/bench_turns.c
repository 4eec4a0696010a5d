/*
 * What the exclusive steps and barriers of a node's GPUs cost, by the seconds of a recorded device.
 *
 *   bench_turns FILE.h5
 *
 * Where the file has several devices of one node, it shows where these waited: between two tests,
 * by the states read around them. Then nodes of 1, 2, 4 and 8 GPUs like the file's first device are
 * played on a virtual clock, through arbiter.c and schedule.c as they are (tests/run/play.h).
 *
 * Limit: what the GPUs' own tests take from each other, in the driver and on the host, is not
 * played; only the opening of the ways to the peers is, at its best and at its worst.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5schema/file.h"
#include "run/times.h"

/* ---- as recorded ---- */

/* Waits that are longer than what lies between any two tests. */
static const double wait_seconds = 0.05;

static void print_waits(const char *key, const struct pb_state *states, size_t count)
{
    double waited = 0;

    for (size_t i = 1; i < count; i++) {
        double seconds = states[i].unix_seconds - states[i - 1].unix_seconds;

        if (strcmp(states[i].when, "before") != 0 || seconds < wait_seconds)
            continue;
        printf("  %-16s %7.2f s before %s, after %s\n", key, seconds, states[i].test,
               states[i - 1].test);
        waited += seconds;
    }
    printf("  %-16s %7.2f s in all, %.2f s from its first test to its last\n", key, waited,
           count > 0 ? states[count - 1].unix_seconds - states[0].unix_seconds : 0);
}

static enum pb_status print_recorded(const char *path, struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    struct pb_key *keys = NULL;
    size_t key_count = 0;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status == PB_OK)
        status = pb_reader_devices(reader, &keys, &key_count, err);
    printf("%s: waits between tests, of %g s and more\n", path, wait_seconds);
    for (size_t i = 0; i < key_count && status == PB_OK; i++) {
        struct pb_state *states = NULL;
        size_t count = 0;

        status = pb_reader_states(reader, keys[i].text, &states, &count, err);
        if (status == PB_OK)
            print_waits(keys[i].text, states, count);
        free(states);
    }
    free(keys);
    pb_reader_close(reader);
    return status;
}

/* ---- as played ---- */

static enum pb_status play_one(struct times *times, double opening_factor, struct play *play_out,
                               struct pb_error *err)
{
    const struct play_request request = {.member_count = times->member_count,
                                         .tests = times->tests,
                                         .seconds = times_of,
                                         .context = times,
                                         .begin_seconds = 0.005,
                                         .opening_factor = opening_factor,
                                         .timeout_seconds = 140};

    return play_node(&request, play_out, err);
}

/* A GPU of the node that has it to itself: its tests, and nobody to wait for. */
static double alone_seconds(struct times *times)
{
    double seconds = 0;

    for (size_t i = 0; times->tests[i] != NULL; i++)
        seconds += times_of(times, 0, times->tests[i]);
    return seconds;
}

static enum pb_status print_played(struct times *times, double opening_factor, struct pb_error *err)
{
    double alone = alone_seconds(times), least = 0, most = 0;
    struct play play;
    enum pb_status status = play_one(times, opening_factor, &play, err);

    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < times->member_count; i++) {
        double waiting = play_waiting_seconds(&play, i);

        least = i == 0 || waiting < least ? waiting : least;
        most = waiting > most ? waiting : most;
    }
    printf("  %4zu %9.2f %9.2f %7.2f %7.2f %11.2f %9.3f\n", times->member_count, alone,
           play.wall_seconds, least, most, play_links_seconds(&play), play.wall_seconds / alone);
    free(play.spans);
    return PB_OK;
}

static enum pb_status print_nodes(struct times times, bool one_by_one, struct pb_error *err)
{
    static const size_t counts[] = {1, 2, 4, 8};
    enum pb_status status = PB_OK;

    printf("  %4s %9s %9s %7s %7s %11s %9s\n", "GPUs", "alone, s", "wall, s", "wait, s", "to, s",
           "links, s", "wall/alone");
    for (size_t i = 0; status == PB_OK && i < sizeof(counts) / sizeof(counts[0]); i++) {
        times.member_count = counts[i];
        status = print_played(&times, one_by_one ? (double)counts[i] : 1, err);
    }
    return status;
}

static enum pb_status print_all(const char *path, struct pb_error *err)
{
    struct times times;
    enum pb_status status = print_recorded(path, err);

    if (status == PB_OK)
        status = times_read(path, &times, err);
    if (status != PB_OK)
        return status;
    printf("\nNodes of %s, all tests:\n", times.model);
    status = print_nodes(times, false, err);
    times_drop_concurrent(&times);
    if (status == PB_OK) {
        printf("\nWithout those that use all links at once:\n");
        status = print_nodes(times, false, err);
    }
    if (status == PB_OK) {
        printf("\nThe same, where a node's GPUs open the ways to their peers one by one:\n");
        status = print_nodes(times, true, err);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct pb_error err = PB_ERROR_INIT;

    if (argc != 2) {
        fprintf(stderr, "Usage: bench_turns FILE.h5\n");
        return EXIT_FAILURE;
    }
    if (print_all(argv[1], &err) != PB_OK) {
        fprintf(stderr, "bench_turns: %s\n", err.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
