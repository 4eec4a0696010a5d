/*
 * plumb-run: one MPI rank for each GPU. Every rank supervises a probe of its own, rank 0 gathers.
 *
 * The probe is started before MPI_Init: by the time that MPI is up, it knows its devices. What is
 * wrong with the command line is said once, by rank 0, and every rank ends with the same code.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "battery/battery.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/summary.h"
#include "run/gather.h"
#include "run/origin.h"

/* SIGINT and SIGTERM end the run in good order: from here on they are read from a descriptor. */
static int open_stop_fd(void)
{
    sigset_t signals;

    signal(SIGPIPE, SIG_IGN); /* a probe that dies shows in its pipe */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* --probe, or plumb-probe in the folder of this program. */
static enum pb_status find_probe(const struct pb_options *options, char *path, size_t size,
                                 struct pb_error *err)
{
    static const char name[] = "plumb-probe";
    ssize_t length;
    char *slash;

    if (options->probe != NULL) {
        snprintf(path, size, "%s", options->probe);
        return PB_OK;
    }
    length = readlink("/proc/self/exe", path, size - sizeof(name));
    slash = length < 0 ? NULL : memrchr(path, '/', (size_t)length);
    if (slash == NULL)
        return pb_fail(err, PB_IO, "cannot find this program's folder; --probe PATH names a probe");
    memcpy(slash + 1, name, sizeof(name));
    return PB_OK;
}

/* Starts the probe; *argv_out must outlive it. */
static enum pb_status start_probe(const struct pb_options *options, char ***argv_out,
                                  struct pb_supervisor **supervisor_out, struct pb_error *err)
{
    char path[4096];
    enum pb_status status = find_probe(options, path, sizeof(path), err);

    if (status == PB_OK)
        status = pb_options_for_probe(options, path, argv_out, err);
    if (status == PB_OK)
        status = pb_supervisor_create((const char *const *)*argv_out, options->deadline_seconds,
                                      supervisor_out, err);
    if (status == PB_OK)
        pb_supervisor_allow(*supervisor_out, "sustain",
                            PB_SUSTAIN_PATIENCE * options->selection.sustain_seconds);
    return status;
}

/* What one rank alone cannot go on without ends all of them. */
static void give_up(const char *message)
{
    fprintf(stderr, "plumb-run: %s\n", message);
    MPI_Abort(MPI_COMM_WORLD, PB_EXIT_FAILED);
}

/* One rank's part; only rank 0 speaks. */
static int run(const struct pb_options *options, struct pb_gather_request *request,
               struct pb_supervisor *supervisor, bool speaks)
{
    struct pb_progress *progress = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_observer observer;
    struct pb_summary summary;
    int rank_count;
    enum pb_status status;

    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    if (pb_progress_open((size_t)rank_count, options->quiet || !speaks, &progress, &err) != PB_OK)
        give_up(err.message);
    observer = pb_progress_observer(progress);
    status = pb_gather_run(request, supervisor, &observer, &summary, &err);
    pb_progress_close(progress);
    if (speaks && status == PB_OK)
        pb_summary_print(options->output, &summary);
    else if (speaks)
        fprintf(stderr, "plumb-run: %s\n", err.message);
    return status == PB_OK ? pb_summary_exit_code(&summary) : pb_exit_code(status);
}

/* Completes the request by the options, and runs it. */
static int measure(const struct pb_options *options, struct pb_gather_request *request,
                   struct pb_supervisor *supervisor, int rank)
{
    char *spool = NULL;
    int code;

    if (options->spool == NULL && asprintf(&spool, "%s.spool", options->output) < 0)
        give_up("no memory for the name of the spool");
    request->selection = &options->selection;
    request->output = options->output;
    request->spool = options->spool == NULL ? spool : options->spool;
    request->keep_spool = options->spool != NULL;
    request->resume = options->resume;
    request->deadline_seconds = options->deadline_seconds;
    code = run(options, request, supervisor, rank == 0);
    free(spool);
    return code;
}

/* The most memory this rank has ever used, for those who watch how it grows with the job. */
static void print_peak_memory(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[128];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            fprintf(stderr, "plumb-run: peak memory of rank 0: %s", line + 6);
    if (file != NULL)
        fclose(file);
}

/* --help, --version, or what is wrong with the command line. */
static int answer(const struct pb_options *options, const struct pb_error *err, bool speaks)
{
    if (err->status != PB_OK) {
        if (speaks)
            fprintf(stderr, "plumb-run: %s\n", err->message);
        return pb_exit_code(err->status);
    }
    if (speaks && options->wish == PB_WISH_HELP)
        pb_options_help(PB_PROGRAM_RUN);
    else if (speaks)
        printf("plumb-run %s\n", PLUMB_VERSION);
    return EXIT_SUCCESS;
}

/* Only rank 0 has printed anything, and knows whether it arrived; all end with its code. */
static int end_together(int code, int rank)
{
    if (rank == 0)
        code = pb_command_end("plumb-run", code, PB_EXIT_FAILED);
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return code;
}

int main(int argc, char **argv)
{
    struct pb_gather_request request = {.stop_fd = open_stop_fd()};
    struct pb_supervisor *supervisor = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_options options;
    char **probe_argv = NULL;
    bool measures;
    int rank, code;

    pb_command_begin();
    pb_run_begin(argc, argv, &request.run); /* MPI may change the arguments */
    measures = pb_options_parse(PB_PROGRAM_RUN, argc, argv, &options, &err) == PB_OK &&
               options.wish == PB_WISH_MEASURE;
    if (measures)
        start_probe(&options, &probe_argv, &supervisor, &request.trouble);
    pb_gather_prepare();
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    code = measures ? measure(&options, &request, supervisor, rank)
                    : answer(&options, &err, rank == 0);
    if (rank == 0 && getenv("PLUMB_SHOW_MEMORY") != NULL)
        print_peak_memory();
    pb_supervisor_close(supervisor);
    pb_arguments_free(probe_argv);
    pb_options_clear(&options);
    code = end_together(code, rank);
    MPI_Finalize();
    return code;
}
