/*
 * plumb-run: one MPI rank for each GPU. Every rank supervises a probe of its own, rank 0 gathers.
 *
 * The probe is started before MPI_Init: by the time that MPI is up, it knows its devices. What is
 * wrong with the command line is said once, by rank 0, and every rank ends with the same code.
 */
#include <mpi.h>
#include <sched.h>
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
#include "core/program.h"
#include "run/gather.h"
#include "run/gather_comm.h"
#include "run/origin.h"

enum { DEADLINE_SECONDS = 120 }; /* unless --deadline says otherwise */

/* What the command line requests. */
struct job {
    struct pb_command_line line;
    struct pb_test_selection selection;
    const char *output;
    double deadline_seconds;
};

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
static enum pb_status find_probe(const struct pb_command_line *line, char *path, size_t size,
                                 struct pb_error *err)
{
    const char *named = pb_command_line_text(line, PB_OPTION_PROBE);
    char folder[PATH_MAX];
    enum pb_status status;

    if (named != NULL) {
        snprintf(path, size, "%s", named);
        return PB_OK;
    }
    status = pb_program_folder(folder, err);
    if (status != PB_OK)
        return pb_error_prefix(err, "--probe PATH names a probe");
    snprintf(path, size, "%s/plumb-probe", folder);
    return PB_OK;
}

/* Starts the probe; *argv_out must outlive it. */
static enum pb_status start_probe(const struct job *job, char ***argv_out,
                                  struct pb_supervisor **supervisor_out, struct pb_error *err)
{
    char path[4096];
    enum pb_status status = find_probe(&job->line, path, sizeof(path), err);

    if (status == PB_OK)
        status = pb_arguments_for_probe(&job->line, path, argv_out, err);
    if (status == PB_OK)
        status = pb_supervisor_create((const char *const *)*argv_out, job->deadline_seconds,
                                      supervisor_out, err);
    if (status == PB_OK)
        pb_supervisor_allow(*supervisor_out, "sustained_load",
                            PB_SUSTAIN_TIMEOUT_FACTOR * job->selection.sustain_seconds);
    return status;
}

/* What one rank alone cannot go on without ends all of them. */
static void give_up(const char *message)
{
    fprintf(stderr, "plumb-run: %s\n", message);
    MPI_Abort(MPI_COMM_WORLD, PB_EXIT_FAILED);
}

/*
 * A rank bound to one processor shares it with its probe, which measures and packs at the same
 * time: on two H100s a standard battery takes 15 instead of 13 s. Open MPI binds one or two ranks
 * so.
 */
static void warn_of_binding(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1 &&
        sysconf(_SC_NPROCESSORS_ONLN) > 1)
        fprintf(stderr, "plumb-run: the launcher has bound each rank to one processor, which its "
                        "probe shares: tests take longer (mpirun --bind-to none avoids it)\n");
}

/* One rank's part; only rank 0 speaks. */
static int run(const struct job *job, struct pb_gather_request *request,
               struct pb_supervisor *supervisor, bool speaks)
{
    struct pb_progress *progress = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct pb_run_listener observer;
    struct pb_summary summary;
    int rank_count;
    enum pb_status status;

    MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
    if (pb_progress_open((size_t)rank_count,
                         pb_command_line_has(&job->line, PB_OPTION_NO_PROGRESS) || !speaks,
                         &progress, &err) != PB_OK)
        give_up(err.message);
    observer = pb_progress_observer(progress);
    status = pb_gather_run(request, supervisor, &observer, &summary, &err);
    pb_progress_close(progress);
    if (speaks && status == PB_OK)
        pb_summary_print(job->output, &summary);
    else if (speaks)
        pb_command_print_error(PB_PROGRAM_RUN, &err);
    return status == PB_OK ? pb_summary_exit_code(&summary) : pb_exit_code(status);
}

/* Completes the request by the command line, and runs it. */
static int measure(const struct job *job, struct pb_gather_request *request,
                   struct pb_supervisor *supervisor, int rank)
{
    const char *kept = pb_command_line_text(&job->line, PB_OPTION_SPOOL);
    char *spool = NULL;
    int code;

    if (kept == NULL && asprintf(&spool, "%s.spool", job->output) < 0)
        give_up("out of memory for the name of the spool");
    request->selection = &job->selection;
    request->output = job->output;
    request->spool = kept == NULL ? spool : kept;
    request->keep_spool = kept != NULL;
    request->resume = pb_command_line_has(&job->line, PB_OPTION_RESUME);
    request->deadline_seconds = job->deadline_seconds;
    code = run(job, request, supervisor, rank == 0);
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
static int answer(const struct pb_command_line *line, const struct pb_error *err, bool speaks)
{
    if (err->status != PB_OK) {
        if (speaks)
            pb_command_print_error(PB_PROGRAM_RUN, err);
        return pb_exit_code(err->status);
    }
    if (speaks && pb_command_line_has(line, PB_OPTION_HELP))
        pb_command_print_help(PB_PROGRAM_RUN);
    else if (speaks)
        pb_command_print_version(PB_PROGRAM_RUN);
    return EXIT_SUCCESS;
}

/* false: there is nothing to measure, because of an error or a question. */
static bool read_job(int argc, char **argv, struct job *job_out, struct pb_error *err)
{
    if (pb_command_line_parse(PB_PROGRAM_RUN, argc, argv, &job_out->line, err) != PB_OK ||
        pb_command_line_has(&job_out->line, PB_OPTION_HELP) ||
        pb_command_line_has(&job_out->line, PB_OPTION_VERSION))
        return false;
    job_out->output = pb_command_line_text(&job_out->line, PB_OPTION_OUTPUT);
    job_out->deadline_seconds =
        pb_command_line_real(&job_out->line, PB_OPTION_DEADLINE, DEADLINE_SECONDS);
    return pb_selection_of(&job_out->line, &job_out->selection, err) == PB_OK;
}

/* Only rank 0 has printed anything, and knows whether it arrived; all end with its code. */
static int end_together(int code, int rank)
{
    if (rank == 0)
        code = pb_command_end(PB_PROGRAM_RUN, code, PB_EXIT_FAILED);
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return code;
}

int main(int argc, char **argv)
{
    struct pb_gather_request request = {.stop_fd = open_stop_fd()};
    struct pb_supervisor *supervisor = NULL;
    struct pb_error err = PB_ERROR_INIT;
    struct job job = {.output = NULL};
    char **probe_argv = NULL;
    bool measures;
    int rank, code;

    pb_command_ignore_size_signal();
    pb_run_begin(argc, argv, &request.run); /* MPI may change the arguments */
    measures = read_job(argc, argv, &job, &err);
    if (measures)
        start_probe(&job, &probe_argv, &supervisor, &request.trouble);
    pb_gather_prepare();
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* One rank that is short of memory for the command line ends all: they could not wait for it.
     */
    measures = pb_comm_agree(err.status, &err) == PB_OK && measures;
    if (measures && rank == 0)
        warn_of_binding();
    code =
        measures ? measure(&job, &request, supervisor, rank) : answer(&job.line, &err, rank == 0);
    if (rank == 0 && getenv("PLUMB_SHOW_MEMORY") != NULL)
        print_peak_memory();
    pb_supervisor_close(supervisor);
    pb_arguments_free(probe_argv);
    pb_selection_free(&job.selection);
    pb_command_line_clear(&job.line);
    code = end_together(code, rank);
    MPI_Finalize();
    return code;
}
