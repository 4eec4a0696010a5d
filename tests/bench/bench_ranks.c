/*
 * What do ranks, pipes, spools and gathering cost? A probe that plays a recorded device in real
 * time.
 *
 *   PLUMB_REPLAY=FILE.h5 mpirun -n 4 plumb-run --backend sim --profile h200 --battery standard
 *       --probe tests/session/bench_ranks -o OUT.h5
 *   bench_turns OUT.h5
 *
 * Every test takes as long as it did on the first device of FILE.h5, and gives what was recorded
 * there; it costs no processor but for packing, so that a small machine plays a node of many GPUs.
 * All else is plumb's own, down to the last byte: what lies between the tests is what is looked
 * for.
 *
 * Limit: GPUs take nothing from each other, and the state of none is read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "battery/battery.h"
#include "cli/options.h"
#include "core/time.h"
#include "h5schema/file.h"
#include "run/child.h"
#include "run/serve.h"

/* The linker leads all calls of pb_session_run() here. */
/* NOLINTNEXTLINE: the linker's name */
enum pb_status __wrap_pb_session_run(struct pb_session *session, const struct pb_test *test,
                                     struct pb_recording *recording_out,
                                     struct pb_state states_out[2], struct pb_error *err);

/* Read before there is a packer: HDF5 serves one thread only. */
static struct pb_recording *recordings; /* [recording_count] */
static size_t recording_count;

static enum pb_status read_recordings(const char *path, struct pb_error *err)
{
    struct pb_reader *reader = NULL;
    struct pb_key *devices = NULL, *tests = NULL;
    size_t device_count = 0, test_count = 0;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status == PB_OK)
        status = pb_reader_devices(reader, &devices, &device_count, err);
    if (status == PB_OK && device_count == 0)
        status = pb_fail(err, PB_INVALID, "%s: no device", path);
    if (status == PB_OK)
        status = pb_reader_tests(reader, devices[0].text, &tests, &test_count, err);
    recordings = calloc(test_count + 1, sizeof(*recordings));
    for (; recording_count < test_count && recordings != NULL && status == PB_OK; recording_count++)
        status = pb_reader_recording(reader, devices[0].text, tests[recording_count].text,
                                     &recordings[recording_count], err);
    free(tests);
    free(devices);
    pb_reader_close(reader);
    return status;
}

static void note_state(const char *test, const char *when, struct pb_state *state_out)
{
    pb_state_clear(state_out);
    state_out->unix_seconds = pb_time_unix_seconds();
    PB_TEXT_SET(state_out->test, test);
    PB_TEXT_SET(state_out->when, when);
}

static bool uses_links_with_others(const char *test)
{
    return strcmp(test, "peer_link") == 0 || strstr(test, "_together") != NULL;
}

/* NOLINTNEXTLINE */
enum pb_status __wrap_pb_session_run(struct pb_session *session, const struct pb_test *test,
                                     struct pb_recording *recording_out,
                                     struct pb_state states_out[2], struct pb_error *err)
{
    int64_t count;

    memset(recording_out, 0, sizeof(*recording_out));
    PB_TEXT_SET(recording_out->name, test->name);
    PB_TEXT_SET(recording_out->unit, test->unit);
    for (size_t i = 0; i < recording_count; i++) {
        if (strcmp(recordings[i].name, test->name) != 0)
            continue;
        *recording_out = recordings[i]; /* a test runs once */
        recordings[i] = (struct pb_recording){.name = ""};
    }
    note_state(test->name, "before", &states_out[0]);
    if (uses_links_with_others(test->name) &&
        pb_session_barrier(session, test->name, 0, &count, err) != PB_OK)
        return err->status;
    pb_time_sleep_seconds(recording_out->seconds);
    note_state(test->name, "after", &states_out[1]);
    return PB_OK;
}

int main(int argc, char **argv)
{
    const char *path = getenv("PLUMB_REPLAY");
    struct pb_error err = PB_ERROR_INIT;
    struct pb_command_line line;
    struct pb_test_selection selection = {.backend = NULL};
    enum pb_status status = pb_command_line_parse(PB_PROGRAM_PROBE, argc, argv, &line, &err);

    if (status == PB_OK && (path == NULL || !pb_command_line_has(&line, PB_OPTION_SERVE)))
        status = pb_fail(&err, PB_INVALID, "plumb-run --probe starts it; PLUMB_REPLAY=FILE.h5");
    if (status == PB_OK)
        status = pb_selection_of(&line, &selection, &err);
    if (status == PB_OK)
        status = read_recordings(path, &err);
    if (status == PB_OK)
        status = pb_serve(&selection, stdin, PB_CHILD_FRAMES_FD, &err);
    if (status != PB_OK)
        fprintf(stderr, "bench_ranks: %s\n", err.message);
    pb_selection_free(&selection);
    pb_command_line_clear(&line);
    return pb_exit_code(status);
}
