/*
 * plumb-probe: the battery on one device, into a file of its own; or, for plumb-run, as frames.
 *
 * A crash or a hang of the device takes this process with it: plumb-run is what survives that.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "battery/battery.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/summary.h"
#include "run/alone.h"
#include "run/child.h"
#include "run/origin.h"
#include "run/serve.h"

static int complain(const struct pb_error *err)
{
    fprintf(stderr, "plumb-probe: %s\n", err->message);
    return pb_exit_code(err->status);
}

/* With the backends in it: scripts ask whether this build can measure silicon. */
static void print_version(void)
{
    const struct pb_device_ops *cuda;
    bool has_cuda = pb_backend_find("cuda", &cuda, NULL) == PB_OK;

    printf("plumb-probe %s (backends: %ssim)\n", PLUMB_VERSION, has_cuda ? "cuda, " : "");
}

static int list_tests(void)
{
    for (const struct pb_test *test = pb_tests; test->name != NULL; test++)
        printf("%-18s %-9s %-7s %s\n", test->name, pb_battery_name(test->battery), test->unit,
               test->summary);
    return EXIT_SUCCESS;
}

static volatile sig_atomic_t stop; /* by a signal */

static void ask_to_stop(int signal_number)
{
    static const char words[] =
        "plumb-probe: stops after this test, and keeps what it has; the same again stops at once\n";

    (void)signal_number;
    stop = 1;
    (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
}

/* The first of each signal ends the battery in good order; a test that hangs takes the second. */
static void heed_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART | SA_RESETHAND};

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction old;

        if (sigaction(signals[i], NULL, &old) == 0 &&
            old.sa_handler != SIG_IGN) /* as nohup has it */
            sigaction(signals[i], &action, NULL);
    }
}

static int measure(const struct pb_options *options, const struct pb_run *run)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_progress *progress;
    struct pb_observer observer;
    struct pb_summary summary;
    enum pb_status status = pb_progress_open(1, options->quiet, &progress, &err);

    if (status != PB_OK)
        return complain(&err);
    observer = pb_progress_observer(progress);
    heed_signals();
    status = pb_measure_alone(&options->selection, options->output, run, &stop, &observer, &summary,
                              &err);
    pb_progress_close(progress);
    if (status != PB_OK)
        return complain(&err);
    pb_summary_print(options->output, &summary);
    return pb_summary_exit_code(&summary);
}

int main(int argc, char **argv)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_options options;
    struct pb_run run;
    int code = EXIT_SUCCESS;

    pb_command_begin();
    if (pb_options_parse(PB_PROGRAM_PROBE, argc, argv, &options, &err) != PB_OK) {
        code = complain(&err);
    } else if (options.wish == PB_WISH_HELP) {
        pb_options_help(PB_PROGRAM_PROBE);
    } else if (options.wish == PB_WISH_VERSION) {
        print_version();
    } else if (options.wish == PB_WISH_LIST) {
        code = list_tests();
    } else if (options.wish == PB_WISH_SERVE) {
        /* What is wrong goes to the supervisor, who tells it. */
        code = pb_exit_code(pb_serve(&options.selection, stdin, PB_CHILD_FRAMES_FD, &err));
    } else {
        pb_run_begin(argc, argv, &run);
        code = measure(&options, &run);
    }
    pb_options_clear(&options);
    return pb_command_end("plumb-probe", code, PB_EXIT_FAILED);
}
