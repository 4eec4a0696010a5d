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
#include "run/child.h"
#include "run/origin.h"
#include "run/serve.h"
#include "run/standalone.h"

static int report_error(const struct pb_error *err)
{
    pb_command_print_error(PB_PROGRAM_PROBE, err);
    return pb_exit_code(err->status);
}

/* With the backends in it: scripts check whether this build can measure hardware. */
static void print_version(void)
{
    const struct pb_device_ops *ops;

    printf("plumb-probe %s (backends: ", PLUMB_VERSION);
    for (size_t i = 0; (ops = pb_backend_at(i)) != NULL; i++)
        printf("%s%s", i == 0 ? "" : ", ", ops->name);
    printf(")\n");
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
static void install_signal_handlers(void)
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

static int measure(const struct pb_command_line *line, const struct pb_test_selection *selection,
                   const struct pb_run *run)
{
    const char *output = pb_command_line_text(line, PB_OPTION_OUTPUT);
    struct pb_error err = PB_ERROR_INIT;
    struct pb_progress *progress;
    struct pb_run_listener observer;
    struct pb_summary summary;
    enum pb_status status =
        pb_progress_open(1, pb_command_line_has(line, PB_OPTION_NO_PROGRESS), &progress, &err);

    if (status != PB_OK)
        return report_error(&err);
    observer = pb_progress_observer(progress);
    install_signal_handlers();
    status = pb_measure_standalone(selection, output, run, &stop, &observer, &summary, &err);
    pb_progress_close(progress);
    if (status != PB_OK)
        return report_error(&err);
    pb_summary_print(output, &summary);
    return pb_summary_exit_code(&summary);
}

static int start(const struct pb_command_line *line, const struct pb_run *run)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_test_selection selection;
    int code;

    if (pb_selection_of(line, &selection, &err) != PB_OK)
        return report_error(&err);
    if (pb_command_line_has(line, PB_OPTION_SERVE)) /* errors go to the supervisor */
        code = pb_exit_code(pb_serve(&selection, stdin, PB_CHILD_FRAMES_FD, &err));
    else
        code = measure(line, &selection, run);
    pb_selection_free(&selection);
    return code;
}

int main(int argc, char **argv)
{
    struct pb_error err = PB_ERROR_INIT;
    struct pb_command_line line;
    struct pb_run run;
    int code = EXIT_SUCCESS;

    pb_command_ignore_size_signal();
    pb_run_begin(argc, argv, &run);
    if (pb_command_line_parse(PB_PROGRAM_PROBE, argc, argv, &line, &err) != PB_OK)
        code = report_error(&err);
    else if (pb_command_line_has(&line, PB_OPTION_HELP))
        pb_command_print_help(PB_PROGRAM_PROBE);
    else if (pb_command_line_has(&line, PB_OPTION_VERSION))
        print_version();
    else if (pb_command_line_has(&line, PB_OPTION_LIST))
        code = list_tests();
    else
        code = start(&line, &run);
    pb_command_line_clear(&line);
    return pb_command_end(PB_PROGRAM_PROBE, code, PB_EXIT_FAILED);
}
