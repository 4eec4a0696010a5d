/* Showing how far a job is; see progress.h. */
#include "cli/progress.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/text.h"
#include "core/time.h"

/* What is known of a rank. */
struct place {
    char key[PB_KEY_LENGTH];
    char text[PB_NAME_LENGTH]; /* the test at hand, or the status at the end */
    size_t number, count;
    double since, seconds;
    bool running, ended;
};

struct pb_progress {
    bool quiet, live;
    size_t columns;
    size_t rank_count, ended_count, test_count, bad_count;
    size_t shown; /* lines on the screen that are ours */
    double begun, last_draw;
    struct place places[];
};

/* ---- the terminal ---- */

/*
 * The terminal that standard error ends on, or -1. Under mpirun it is a pipe, whatever mpirun's
 * own is; so, if a launcher started us, check our parent's.
 */
static int open_terminal(void)
{
    bool launched = getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_SIZE") != NULL;
    char path[64];
    int fd;

    if (isatty(STDERR_FILENO))
        return dup(STDERR_FILENO);
    if (!launched)
        return -1;
    snprintf(path, sizeof(path), "/proc/%ld/fd/%d", (long)getppid(), STDERR_FILENO);
    fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && isatty(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static void look_at_terminal(struct pb_progress *progress)
{
    const char *term = getenv("TERM");
    struct winsize size = {.ws_col = 0};
    int fd = open_terminal();

    if (fd < 0)
        return;
    progress->live = term != NULL && strcmp(term, "dumb") != 0;
    progress->columns = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
    close(fd);
}

/* One line of the live picture, cut to the terminal's width, over what stands there. */
static void draw_line(const struct pb_progress *progress, FILE *picture, const char *line)
{
    char escaped[1024];

    PB_TEXT_ESCAPE(escaped, line);
    fprintf(picture, "\r%.*s\033[K\n", (int)progress->columns - 1, escaped);
}

static void draw_place(const struct pb_progress *progress, FILE *picture, size_t rank)
{
    const struct place *place = &progress->places[rank];
    double seconds = place->running ? pb_time_monotonic_seconds() - place->since : place->seconds;
    char line[512];

    if (place->ended)
        snprintf(line, sizeof(line), "%4zu  %-20s %s  %.1f s", rank, place->key, place->text,
                 seconds);
    else if (place->number > 0)
        snprintf(line, sizeof(line), "%4zu  %-20s %2zu/%-2zu %-20s %6.1f s", rank, place->key,
                 place->number, place->count, place->text, seconds);
    else
        snprintf(line, sizeof(line), "%4zu  %-20s waiting", rank, place->key);
    draw_line(progress, picture, line);
}

static void draw_summary(const struct pb_progress *progress, FILE *picture)
{
    char line[256];

    snprintf(line, sizeof(line), "%zu of %zu ranks done, %zu tests, %zu not ok, %.1f s",
             progress->ended_count, progress->rank_count, progress->test_count, progress->bad_count,
             pb_time_monotonic_seconds() - progress->begun);
    draw_line(progress, picture, line);
}

/* How much of the run is done, by tests: 0 to 1. */
static double done_share(const struct pb_progress *progress)
{
    double done = 0.0;

    for (size_t i = 0; i < progress->rank_count; i++) {
        const struct place *place = &progress->places[i];

        if (place->ended)
            done += 1.0;
        else if (place->count > 0)
            done += (double)(place->number - place->running) / (double)place->count;
    }
    return done / (double)progress->rank_count;
}

/*
 * A bar and the time left. Tests take different times, so that it is an estimate; of the first
 * twentieth none is made.
 */
static void draw_bar(const struct pb_progress *progress, FILE *picture)
{
    enum { BAR = 30 };
    static const double least = 0.05;
    double share = done_share(progress);
    double elapsed = pb_time_monotonic_seconds() - progress->begun;
    int full = (int)(share * BAR);
    char bar[BAR + 1], line[128], left[64] = "";

    for (int i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '-';
    bar[BAR] = '\0';
    if (share >= 1.0)
        snprintf(left, sizeof(left), "done after %.0f s", elapsed);
    else if (share >= least)
        snprintf(left, sizeof(left), "about %.0f s left", ceil(elapsed * (1.0 - share) / share));
    snprintf(line, sizeof(line), "[%s] %3.0f%%  %s", bar, floor(100.0 * share), left);
    draw_line(progress, picture, line);
}

/* Takes our lines off the screen, so that others can be written there. */
static void erase(struct pb_progress *progress)
{
    if (progress->shown > 0)
        fprintf(stderr, "\033[%zuA\r\033[J", progress->shown);
    progress->shown = 0;
}

/* Draws over the last picture, in one write: the launcher may carry it through a pipe. */
static void draw(struct pb_progress *progress)
{
    size_t lines = progress->rank_count > PB_PROGRESS_LINES ? 1 : progress->rank_count, size;
    char *text = NULL;
    FILE *picture = open_memstream(&text, &size);

    if (picture == NULL)
        return; /* a picture is not worth an error */
    if (progress->shown > 0)
        fprintf(picture, "\033[%zuA", progress->shown);
    if (progress->rank_count > PB_PROGRESS_LINES)
        draw_summary(progress, picture);
    else
        for (size_t i = 0; i < lines; i++)
            draw_place(progress, picture, i);
    draw_bar(progress, picture);
    if (fclose(picture) == 0 && text != NULL)
        fputs(text, stderr);
    free(text);
    progress->shown = lines + 1;
    progress->last_draw = pb_time_monotonic_seconds();
}

/* ---- events ---- */

static void show_start(struct pb_progress *progress, const struct pb_run_event *event)
{
    struct place *place = &progress->places[event->rank];

    PB_TEXT_SET(place->text, event->report->test);
    place->number = event->test_number;
    place->count = event->test_count;
    place->since = pb_time_monotonic_seconds();
    place->running = true;
}

static void show_end(struct pb_progress *progress, const struct pb_run_event *event)
{
    struct place *place = &progress->places[event->rank];
    bool is_member = event->kind == PB_RUN_EVENT_MEMBER;

    place->running = false;
    place->seconds = event->report->seconds;
    if (is_member) {
        PB_TEXT_SET(place->text, event->report->outcome);
        place->ended = true;
        progress->ended_count++;
    } else {
        progress->test_count++;
    }
}

/* Worth a line of its own, also on a terminal? */
static bool is_bad(const struct pb_run_event *event)
{
    return (event->kind == PB_RUN_EVENT_TEST || event->kind == PB_RUN_EVENT_MEMBER) &&
           strcmp(event->report->outcome, "ok") != 0 &&
           strcmp(event->report->outcome, "unsupported") != 0;
}

/* Worth a line in a log? */
static bool is_a_line(const struct pb_run_event *event)
{
    return event->kind == PB_RUN_EVENT_DEVICE || event->kind == PB_RUN_EVENT_TEST;
}

static void print_line(const char *line)
{
    char escaped[2 * PB_ERROR_LENGTH];

    PB_TEXT_ESCAPE(escaped, line);
    fprintf(stderr, "%s\n", escaped);
}

static void print_event(const struct pb_run_event *event)
{
    const struct pb_test_report *report = event->report;
    const char *separator = report->message[0] == '\0' ? "" : ": ";
    char line[PB_ERROR_LENGTH];

    if (event->kind == PB_RUN_EVENT_DEVICE)
        snprintf(line, sizeof(line), "%s is %s", report->key, report->message);
    else if (event->kind == PB_RUN_EVENT_TEST)
        snprintf(line, sizeof(line), "%s %s %s %.2f s%s%s", report->key, report->test,
                 report->outcome, report->seconds, separator, report->message);
    else if (report->key[0] != '\0')
        snprintf(line, sizeof(line), "%s (rank %zu) %s%s%s", report->key, event->rank,
                 report->outcome, separator, report->message);
    else
        snprintf(line, sizeof(line), "rank %zu %s%s%s", event->rank, report->outcome, separator,
                 report->message);
    print_line(line);
}

static void show_event(void *context, const struct pb_run_event *event)
{
    struct pb_progress *progress = context;

    if (progress->quiet)
        return;
    PB_TEXT_SET(progress->places[event->rank].key, event->report->key);
    if (event->kind == PB_RUN_EVENT_START)
        show_start(progress, event);
    else if (event->kind != PB_RUN_EVENT_DEVICE)
        show_end(progress, event);
    progress->bad_count += event->kind == PB_RUN_EVENT_TEST && is_bad(event);
    if (is_bad(event) || (!progress->live && is_a_line(event))) {
        erase(progress);
        print_event(event);
    }
    if (progress->live && progress->shown == 0)
        draw(progress);
}

static void tick(void *context)
{
    static const double pause_seconds = 0.1;
    struct pb_progress *progress = context;

    if (progress->live && pb_time_monotonic_seconds() - progress->last_draw > pause_seconds)
        draw(progress);
}

/* Said however quiet: it is about what the file cannot show. */
static void show_line(void *context, const char *line)
{
    struct pb_progress *progress = context;

    erase(progress);
    fprintf(stderr, "%s\n", line);
}

struct pb_run_listener pb_progress_observer(struct pb_progress *progress)
{
    return (struct pb_run_listener){show_event, tick, show_line, progress};
}

enum pb_status pb_progress_open(size_t rank_count, bool quiet, struct pb_progress **progress_out,
                                struct pb_error *err)
{
    struct pb_progress *progress =
        calloc(1, sizeof(*progress) + rank_count * sizeof(progress->places[0]));

    if (progress == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating the progress of %zu ranks",
                       rank_count);
    progress->quiet = quiet;
    progress->rank_count = rank_count;
    progress->begun = pb_time_monotonic_seconds();
    if (!quiet)
        look_at_terminal(progress);
    *progress_out = progress;
    return PB_OK;
}

void pb_progress_close(struct pb_progress *progress)
{
    if (progress == NULL)
        return;
    if (progress->live && progress->shown > 0)
        draw(progress);
    free(progress);
}
