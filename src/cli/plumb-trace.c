/*
 * plumb-trace: runs a CUDA program with the tracer in it, and turns what that recorded into one
 * trace file, however the program ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "core/partial.h"
#include "core/program.h"
#include "core/time.h"
#include "trace/convert.h"
#include "trace/selection.h"

static const char lead[] = "plumb-trace";

/* Kept free while the program runs, so that there is room for the trace file on a full disk. */
enum { RESERVE_BYTES = 8 << 20 };

struct request {
    const char *kernel, *launches, *sms, *output;
    char **program; /* its arguments, ends with NULL */
    bool preload;
    struct pb_error err;
};

static enum pb_status check_request(struct request *request)
{
    struct pb_selection selection;
    enum pb_status status;

    status = pb_selection_parse(request->kernel, request->launches, request->sms, &selection,
                                &request->err);
    if (status != PB_OK)
        return status;
    pb_selection_clear(&selection);
    return pb_memtrace_may_create(request->output, &request->err);
}

/* ---- the library ---- */

/* The first place that has it: from the environment, beside this program as installed, as built. */
static enum pb_status find_library(char path_out[PATH_MAX], struct pb_error *err)
{
    static const char *const places[] = {"../" PLUMB_LIBRARY_FOLDER "/plumb/libplumb-trace.so",
                                         "../trace/libplumb-trace.so"};
    const char *configured = getenv("PLUMB_TRACE_LIBRARY");
    char self[PATH_MAX], place[2 * PATH_MAX];
    enum pb_status status = pb_program_folder(self, err);

    if (configured != NULL)
        return realpath(configured, path_out) != NULL
                   ? PB_OK
                   : pb_fail(err, PB_NOT_FOUND, "PLUMB_TRACE_LIBRARY=%s: %s", configured,
                             strerror(errno));
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(place, sizeof(place), "%s/%s", self, places[i]);
        if (realpath(place, path_out) != NULL)
            return PB_OK;
    }
    return pb_fail(err, PB_NOT_FOUND,
                   "libplumb-trace.so not found: it is built where a CUDA toolkit with "
                   "compute-sanitizer's headers is (looked in %s/../" PLUMB_LIBRARY_FOLDER
                   "/plumb and ../trace)",
                   self);
}

/* ---- the program ---- */

static void set_or_unset(const char *name, const char *value)
{
    if (value == NULL)
        unsetenv(name);
    else
        setenv(name, value, 1);
}

/* The environment that posix_spawn hands on; this program itself reads none of it afterwards. */
static void set_environment(const struct request *request, const char *library, const char *prefix)
{
    const char *preloaded = getenv("LD_PRELOAD");
    char list[2 * PATH_MAX];

    set_or_unset(PB_TRACE_STREAM_ENV, prefix);
    set_or_unset(PB_TRACE_KERNEL_ENV, request->kernel);
    set_or_unset(PB_TRACE_LAUNCHES_ENV, request->launches);
    set_or_unset(PB_TRACE_SMS_ENV, request->sms);
    if (!request->preload) {
        setenv("CUDA_INJECTION64_PATH", library, 1);
        return;
    }
    snprintf(list, sizeof(list), "%s%s%s", library, preloaded == NULL ? "" : ":",
             preloaded == NULL ? "" : preloaded);
    setenv("LD_PRELOAD", list, 1);
}

/* Waits for its end, with these signals blocked. What would end this program goes to that one. */
static enum pb_status wait_for_end(const char *name, pid_t pid, const sigset_t *awaited,
                                   int *wait_status_out, struct pb_error *err)
{
    pid_t ended;

    while ((ended = waitpid(pid, wait_status_out, WNOHANG)) != pid) {
        int number;

        if (ended < 0 && errno != EINTR)
            return pb_fail(err, PB_IO, "%s: cannot be waited for: %s", name, strerror(errno));
        number = sigwaitinfo(awaited, NULL);
        if (number == SIGTERM || number == SIGHUP)
            kill(pid, number);
    }
    return PB_OK;
}

/*
 * Runs it to its end. Signals of the terminal go to both: this program ignores them, so that it can
 * finish the file. SIGTERM and SIGHUP are handed on.
 */
static enum pb_status run_program(const struct request *request, int *wait_status_out,
                                  struct pb_error *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, usual_action = {.sa_handler = SIG_DFL};
    posix_spawnattr_t attributes;
    sigset_t usual, awaited, former;
    pid_t pid = 0;
    int result;

    sigemptyset(&usual);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGQUIT);
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGCHLD, &usual_action, NULL);
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGTERM);
    sigaddset(&awaited, SIGHUP);
    sigprocmask(SIG_BLOCK, &awaited, &former);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setsigmask(&attributes, &former);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    result = posix_spawnp(&pid, request->program[0], NULL, &attributes, request->program, environ);
    posix_spawnattr_destroy(&attributes);
    if (result != 0)
        return pb_fail(err, PB_INVALID, "%s: cannot be started: %s", request->program[0],
                       strerror(result));
    return wait_for_end(request->program[0], pid, &awaited, wait_status_out, err);
}

static void describe_ending(int wait_status, struct pb_memtrace_program *program)
{
    if (WIFSIGNALED(wait_status)) {
        program->exit_status = -1;
        snprintf(program->ending, sizeof(program->ending), "died of signal %d (%s)",
                 WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    } else {
        program->exit_status = WEXITSTATUS(wait_status);
        snprintf(program->ending, sizeof(program->ending), "ended with exit status %d",
                 WEXITSTATUS(wait_status));
    }
}

/* ---- the streams ---- */

/*
 * Takes room that is given back before the trace file is written; without it nothing is lost.
 * *error_out: why there is none; 0: there is.
 */
static int reserve_space(const char *prefix, int *error_out)
{
    char path[PATH_MAX + 8];
    int fd;

    snprintf(path, sizeof(path), "%s.room", prefix);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    *error_out = fd < 0 ? errno : 0;
    if (fd < 0)
        return -1;
    unlink(path);
    *error_out = posix_fallocate(fd, 0, RESERVE_BYTES);
    if (*error_out != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* The streams of all processes: PREFIX.PID. */
static enum pb_status find_streams(const char *prefix, glob_t *streams_out, struct pb_error *err)
{
    char pattern[2 * PATH_MAX];
    size_t used = 0;

    for (const char *at = prefix; *at != '\0' && used + 2 < PATH_MAX; at++) {
        if (strchr("*?[]\\", *at) != NULL)
            pattern[used++] = '\\';
        pattern[used++] = *at;
    }
    snprintf(pattern + used, sizeof(pattern) - used, ".[0-9]*");
    if (glob(pattern, 0, NULL, streams_out) == GLOB_NOSPACE)
        return pb_fail(err, PB_NO_MEMORY, "out of memory");
    return PB_OK;
}

static void remove_streams(const glob_t *streams)
{
    for (size_t i = 0; i < streams->gl_pathc; i++)
        unlink(streams->gl_pathv[i]);
}

/* Why there is nothing, in one line. */
static int report_nothing(const struct request *request, const struct pb_trace_summary *summary,
                          const struct pb_memtrace_program *program)
{
    const char *name = request->program[0];

    if (summary->message[0] != '\0')
        fprintf(stderr, "%s: nothing was recorded: %s\n", lead, summary->message);
    else if (summary->contexts == 0)
        fprintf(stderr, "%s: nothing was recorded: %s %s and used no GPU\n", lead, name,
                program->ending);
    else if (summary->skipped[0] != '\0')
        fprintf(stderr,
                "%s: nothing was recorded: no kernel matches --kernel %s; launched were %s\n", lead,
                request->kernel == NULL ? "" : request->kernel, summary->skipped);
    else if (summary->launches > 0)
        fprintf(stderr,
                "%s: nothing was recorded: --launches %s is outside of the %llu launches that "
                "match\n",
                lead, request->launches == NULL ? "" : request->launches,
                (unsigned long long)summary->launches);
    else
        fprintf(stderr, "%s: nothing was recorded: %s %s and launched no kernel%s\n", lead, name,
                program->ending,
                summary->graph_launches > 0 ? " but in CUDA graphs, which were not traced" : "");
    return PB_EXIT_FAILED;
}

static int report(const struct request *request, const struct pb_trace_summary *summary,
                  const struct pb_memtrace_program *program)
{
    printf("%s: %zu kernel%s, %llu records, %.1f bytes a record before compression, %s\n",
           request->output, summary->kernels, summary->kernels == 1 ? "" : "s",
           (unsigned long long)summary->records,
           summary->records == 0 ? 0.0 : (double)summary->raw_bytes / (double)summary->records,
           summary->is_complete ? "complete" : "partial");
    if (summary->graph_launches > 0)
        fprintf(stderr, "%s: %llu launches of CUDA graphs were not traced as a whole\n", lead,
                (unsigned long long)summary->graph_launches);
    if (program->exit_status != 0)
        fprintf(stderr, "%s: %s %s; what was recorded until then is in %s\n", lead,
                request->program[0], program->ending, request->output);
    else if (!summary->is_complete)
        fprintf(stderr, "%s: partial: %s\n", lead, summary->message);
    return summary->is_complete && program->exit_status == 0 ? EXIT_SUCCESS : PB_EXIT_PARTIAL;
}

static int convert(const struct request *request, const glob_t *streams,
                   const struct pb_memtrace_program *program)
{
    struct pb_trace_summary summary = {.contexts = 0};
    struct pb_error err = PB_ERROR_INIT;
    enum pb_status status =
        pb_trace_convert((const char *const *)streams->gl_pathv, streams->gl_pathc, request->output,
                         program, &summary, &err);

    if (status == PB_OK)
        return report(request, &summary, program);
    if (status == PB_NOT_FOUND)
        return report_nothing(request, &summary, program);
    fprintf(stderr, "%s: %s\n", lead, err.message);
    return PB_EXIT_FAILED;
}

static int trace(struct request *request, const char *prefix, struct pb_memtrace_program *program)
{
    glob_t streams = {.gl_pathc = 0};
    int wait_status = 0, code, space_error = 0, reserved = reserve_space(prefix, &space_error);
    enum pb_status status = run_program(request, &wait_status, &request->err);

    if (reserved >= 0)
        close(reserved);
    if (status == PB_OK)
        status = find_streams(prefix, &streams, &request->err);
    if (status != PB_OK) {
        fprintf(stderr, "%s: %s\n", lead, request->err.message);
        return pb_exit_code(status);
    }
    describe_ending(wait_status, program);
    if (streams.gl_pathc == 0 &&
        space_error != 0) { /* a program without any room has left no stream */
        fprintf(stderr, "%s: nothing was recorded: %s %s; no room for records beside %s: %s\n",
                lead, request->program[0], program->ending, request->output, strerror(space_error));
        return PB_EXIT_FAILED;
    }
    code = convert(request, &streams, program);
    remove_streams(&streams);
    globfree(&streams);
    return code;
}

static void begin_program(int argc, char *const *argv, struct pb_memtrace_program *program)
{
    size_t used = 0;

    *program = (struct pb_memtrace_program){.tool_version = PLUMB_VERSION};
    pb_time_utc(program->created);
    for (int i = 0; i < argc && used < sizeof(program->command_line); i++)
        used += (size_t)snprintf(program->command_line + used, sizeof(program->command_line) - used,
                                 "%s%s", i == 0 ? "" : " ", argv[i]);
}

/* The streams lie beside the trace file; their name is absolute, since the program may change its
 * folder. */
static enum pb_status name_streams(const char *output, char *prefix_out, size_t size,
                                   struct pb_error *err)
{
    char folder[PATH_MAX] = "";
    struct pb_partial partial;
    enum pb_status status = pb_partial_prepare(output, &partial, err);
    int length;

    if (status != PB_OK)
        return status;
    if (partial.name[0] != '/' && getcwd(folder, sizeof(folder)) == NULL)
        return pb_fail(err, PB_IO, "the working folder has no name: %s", strerror(errno));
    length = snprintf(prefix_out, size, "%s%s%s.stream", folder, folder[0] == '\0' ? "" : "/",
                      partial.name);
    return length < 0 || (size_t)length >= size
               ? pb_fail(err, PB_INVALID, "output \"%s\": its path is too long", output)
               : PB_OK;
}

static int start(struct request *request, struct pb_memtrace_program *program)
{
    char library[PATH_MAX], prefix[PATH_MAX];
    enum pb_status status = check_request(request);

    if (status == PB_OK)
        status = find_library(library, &request->err);
    if (status == PB_OK)
        status = name_streams(request->output, prefix, sizeof(prefix), &request->err);
    if (status != PB_OK) {
        fprintf(stderr, "%s: %s\n", lead, request->err.message);
        return pb_exit_code(status);
    }
    set_environment(request, library, prefix);
    return trace(request, prefix, program);
}

int main(int argc, char **argv)
{
    struct pb_memtrace_program program;
    struct pb_command_line line;
    int code;

    begin_program(argc, argv, &program);
    if (pb_command_begin(PB_PROGRAM_TRACE, argc, argv, &line, &code)) {
        struct request request = {
            .kernel = pb_command_line_text(&line, PB_OPTION_KERNEL),
            .launches = pb_command_line_text(&line, PB_OPTION_LAUNCHES),
            .sms = pb_command_line_text(&line, PB_OPTION_SMS),
            .output = pb_command_line_text(&line, PB_OPTION_OUTPUT),
            .program = line.arguments,
            .preload = pb_command_line_has(&line, PB_OPTION_PRELOAD),
            .err = PB_ERROR_INIT,
        };

        code = start(&request, &program);
        pb_command_line_clear(&line);
    }
    return pb_command_end(PB_PROGRAM_TRACE, code, PB_EXIT_FAILED);
}
