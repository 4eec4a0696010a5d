/*
 * A probe without a device, for the supervisor's tests: fake-probe WHAT[@TEST]...
 *
 * It sees one device and offers the tests a, b and c. WHAT happens in TEST, or where it says:
 *   hang die exit garbage torn mute lost wrong failed unreadable: in a test
 *   terminated: in a test, it gets the SIGTERM that Slurm sends to every process of a job
 *   late, late-for-ever: the next test begins and hangs, and only then this one's result comes, or
 *   never; dropped, dropped-once: the probe dies there instead, always or only in its first life
 *   wait: before the test it waits for an order, a GO, or LINKS for the exclusive test c
 *   hello=refuse hello=garbage hello=die hello=mute, open=refuse open=die, other: before any
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "battery/battery.h"
#include "h5schema/file.h"
#include "run/child.h"
#include "run/frame.h"
#include "run/messages.h"

static int argument_count;
static char **arguments;

/* Is this "WHAT" or "WHAT@TEST" among the arguments? */
static bool is_requested(const char *what, const char *test)
{
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "%s%s%s", what, test[0] == '\0' ? "" : "@", test);
    for (int i = 1; i < argument_count; i++)
        if (strcmp(arguments[i], wanted) == 0)
            return true;
    return false;
}

static void say_image(enum pb_frame_type type, const char *message, const struct pb_image *image)
{
    const struct pb_frame frame = {type, message, image->bytes, image->size, 0};

    if (pb_frame_write(PB_CHILD_FRAMES_FD, &frame, NULL) != PB_OK)
        _exit(9);
}

static void say(enum pb_frame_type type, const char *message)
{
    say_image(type, message, &(struct pb_image){NULL, 0});
}

static void say_test_image(enum pb_frame_type type, const char *test, enum pb_outcome outcome,
                           const struct pb_image *image)
{
    struct pb_test_report report = {.seconds = 0.5};
    char *text;

    PB_TEXT_SET(report.key, "h.gpu0");
    PB_TEXT_SET(report.uuid, "GPU-fake");
    PB_TEXT_SET(report.test, test);
    PB_TEXT_SET(report.outcome, pb_outcome_name(outcome));
    text = pb_message_test(&report);
    say_image(type, text, image);
    free(text);
}

static void say_test(enum pb_frame_type type, const char *test)
{
    say_test_image(type, test, PB_TEST_OK, &(struct pb_image){NULL, 0});
}

/* A TEST, with two numbers of cycles where it is ok; or with what is no image. */
static void say_result(const char *test, enum pb_outcome outcome)
{
    const double values[2] = {0, 1};
    char nonsense[] = "an image, it says";
    struct pb_recording recording = {.unit = "cycle", .method = "m", .outcome = outcome};
    struct pb_matrix *matrix = &recording.matrix;
    struct pb_image image;

    PB_TEXT_SET(recording.name, test);
    matrix->rank = outcome == PB_TEST_OK;
    if ((outcome == PB_TEST_OK &&
         (pb_axis_set_values(&matrix->axes[0], "sm", "", "which", values, 2, NULL) != PB_OK ||
          pb_matrix_allocate(matrix, "cycle", "as stamped", NULL) != PB_OK)) ||
        pb_image_of_test("h.gpu0", &recording, NULL, 0, &image, NULL) != PB_OK)
        _exit(9);
    pb_recording_clear(&recording);
    if (is_requested("unreadable", test))
        say_test_image(PB_FRAME_TEST, test, outcome,
                       &(struct pb_image){nonsense, sizeof(nonsense)});
    else
        say_test_image(PB_FRAME_TEST, test, outcome, &image);
    free(image.bytes);
}

static void refuse(enum pb_status status, const char *message)
{
    struct pb_refusal refusal = {.status = status, .slot = -1};

    PB_TEXT_SET(refusal.message, message);
    say(PB_FRAME_REFUSED, pb_message_refusal(&refusal));
    _exit(1);
}

static void write_text(const char *text)
{
    if (write(PB_CHILD_FRAMES_FD, text, strlen(text)) < 0)
        _exit(9);
}

static void hello(void)
{
    struct pb_test_spec specs[] = {{"a", "cycle", "m", 0, 0},
                                   {"b", "cycle", "m", 0, 0},
                                   {"c", "cycle", "m", 0, PB_LINKS_EXCLUSIVE}};
    struct pb_device_entry entry = {.uuid = "GPU-fake"};
    const struct pb_hello said = {"fake", &entry, 1, {specs, 3}};

    if (is_requested("hello=refuse", ""))
        refuse(PB_INVALID, "battery \"x\"");
    if (is_requested("hello=garbage", ""))
        write_text("hello, I am no probe at all, but I write a lot");
    if (is_requested("hello=die", ""))
        raise(SIGKILL);
    if (is_requested("hello=mute", ""))
        close(PB_CHILD_FRAMES_FD);
    if (is_requested("hello=garbage", "") || is_requested("hello=mute", ""))
        pause();
    say(PB_FRAME_HELLO, pb_message_hello(&said));
}

static void open_device(void)
{
    struct pb_opened opened = {.slot = 0};

    if (is_requested("open=refuse", ""))
        refuse(PB_NOT_FOUND, "no device 0");
    if (is_requested("open=die", ""))
        raise(SIGKILL);
    snprintf(opened.uuid, sizeof(opened.uuid), "GPU-fake");
    if (is_requested("other", "")) /* each process another device */
        snprintf(opened.uuid, sizeof(opened.uuid), "GPU-%ld", (long)getpid());
    say(PB_FRAME_OPENED, pb_message_opened(&opened));
}

static void await_step(const char *test)
{
    struct pb_ready ready = {.step = PB_STEP_EXCLUSIVE};
    char *text, *line = NULL;
    size_t size = 0;

    PB_TEXT_SET(ready.test, test);
    text = pb_message_ready(&ready);
    say(PB_FRAME_READY, text);
    free(text);
    if (getline(&line, &size, stdin) < 0)
        _exit(7);
    free(line);
}

/* A test that is measured, and the next one begun before its result is there. */
static void run_overlapped(const char *test, const char *next)
{
    say_test(PB_FRAME_MEASURED, test);
    say_test(PB_FRAME_START, next);
    if (is_requested("dropped", test) || is_requested("dropped-once", test))
        raise(SIGKILL);
    sleep(2); /* longer than the deadline of those who request it */
    if (is_requested("late", test))
        say_result(test, PB_TEST_OK);
    pause();
}

static void run_test(const char *test, const char *next, bool is_first_life)
{
    bool overlaps = is_requested("late", test) || is_requested("late-for-ever", test) ||
                    is_requested("dropped", test) ||
                    (is_requested("dropped-once", test) && is_first_life);

    if (is_requested("wait", test))
        await_step(test);
    say_test(PB_FRAME_START, test);
    if (overlaps)
        run_overlapped(test, next);
    if (is_requested("hang", test))
        pause();
    if (is_requested("die", test) || is_requested("die-always", ""))
        raise(SIGKILL);
    if (is_requested("terminated", test))
        raise(SIGTERM);
    if (is_requested("exit", test))
        _exit(3);
    if (is_requested("garbage", test))
        write_text("CUDA says: something terrible has happened");
    if (is_requested("torn", test)) {
        write_text("PLMB");
        _exit(4);
    }
    if (is_requested("mute", test)) {
        close(PB_CHILD_FRAMES_FD);
        pause();
    }
    if (is_requested("lost", test)) {
        say_result(test, PB_TEST_LOST);
        say(PB_FRAME_DONE, NULL);
        pause();
    }
    if (is_requested("surrender", test)) {
        say_result(test, PB_TEST_FAILED);
        refuse(PB_DEVICE, "the device does not answer");
    }
    if (is_requested("measures", ""))
        say_test(PB_FRAME_MEASURED, test);
    say_result(is_requested("wrong", test) ? "z" : test, PB_TEST_OK);
}

static void run_tests(const struct pb_test_list *tests)
{
    for (size_t i = 0; i < tests->count; i++) {
        const char *next = i + 1 < tests->count ? tests->specs[i + 1].name : "";

        if (!is_requested("skip", tests->specs[i].name))
            run_test(tests->specs[i].name, next, tests->count == 3);
    }
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t size = 0;

    argument_count = argc;
    arguments = argv;
    hello();
    while (getline(&line, &size, stdin) >= 0) {
        struct pb_probe_order order;

        if (pb_message_read_order(line, &order, NULL) != PB_OK)
            _exit(8);
        if (order.kind == PB_ORDER_OPEN) {
            open_device();
            continue;
        }
        if (is_requested("die-unasked", ""))
            raise(SIGKILL);
        say_test(PB_FRAME_DEVICE, "");
        run_tests(&order.tests);
        say(PB_FRAME_DONE, NULL);
        pb_probe_order_clear(&order);
    }
    free(line);
    return 0;
}
