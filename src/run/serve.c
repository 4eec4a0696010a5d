/* The probe as a server; see serve.h. */
#include "run/serve.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "device/sim/fleet.h"
#include "run/measure.h"

struct server {
    struct pb_probe_setup measure;
    struct pb_session session; /* device is NULL until it is open */
    FILE *orders;
    int frames_fd;
    int64_t vacant_rank; /* whose device could not be opened; -1: none */
    bool has_links;      /* the node's host link is this device's, for the tests that run */
};

static enum pb_status take(void *context, const struct pb_frame *frame, struct pb_error *err)
{
    const struct server *server = context;

    return pb_frame_write(server->frames_fd, frame, err);
}

/* Sends a frame whose message is to be freed here. */
static enum pb_status say(struct server *server, enum pb_frame_type type, char *message,
                          struct pb_error *err)
{
    const struct pb_frame frame = {.type = type, .message = message};
    enum pb_status status = message == NULL
                                ? pb_fail(err, PB_NO_MEMORY, "out of memory allocating a message")
                                : take(server, &frame, err);

    free(message);
    return status;
}

static enum pb_status greet(struct server *server, const struct pb_test_selection *selection,
                            struct pb_error *err)
{
    struct pb_hello hello;
    enum pb_status status = pb_measure_prepare(selection, &server->measure, err);

    if (status == PB_OK)
        status = pb_measure_hello(&server->measure, &hello, err);
    if (status != PB_OK)
        return status;
    status = say(server, PB_FRAME_HELLO, pb_message_hello(&hello), err);
    pb_hello_clear(&hello);
    return status;
}

static enum pb_status open_device(struct server *server, const struct pb_probe_order *order,
                                  struct pb_error *err)
{
    struct pb_opened opened;
    enum pb_status status;

    pb_session_close(&server->session);
    status = pb_measure_open(&server->measure, order->selector, order->rank, &server->session,
                             &opened, err);
    if (status != PB_OK)
        server->vacant_rank = order->rank;
    return status != PB_OK ? status : say(server, PB_FRAME_OPENED, pb_message_opened(&opened), err);
}

/* Where the fleet has the device that could not be opened, so that its node can be named. */
static void set_place(const struct server *server, struct pb_refusal *refusal)
{
    struct pb_fleet_device device;

    refusal->slot = -1;
    if (server->measure.plan == NULL || server->vacant_rank < 0 ||
        pb_fleet_plan_device(server->measure.plan, (size_t)server->vacant_rank, &device, NULL) !=
            PB_OK)
        return;
    PB_TEXT_SET(refusal->host, device.host);
    refusal->slot = device.slot;
}

/* The next order, of this kind or a LINKS, which is kept. */
static enum pb_status take_order(struct server *server, enum pb_probe_order_kind kind,
                                 struct pb_probe_order *order, struct pb_error *err)
{
    struct pb_probe_order plain;
    char *line = NULL;
    size_t size = 0;
    enum pb_status status = getline(&line, &size, server->orders) < 0
                                ? pb_fail(err, PB_IO, "the orders end before tests do")
                                : pb_message_read_order(line, order, err);

    free(line);
    if (status != PB_OK)
        return status;
    server->has_links |= order->kind == PB_ORDER_LINKS;
    if (order->kind != (int64_t)kind && order->kind != PB_ORDER_LINKS)
        status = pb_fail(err, PB_CORRUPT, "order: expected kind %d while tests run, found %lld",
                         (int)kind, (long long)order->kind);
    plain = (struct pb_probe_order){.kind = order->kind, .count = order->count};
    pb_probe_order_clear(order);
    *order = plain;
    return status;
}

/* Waits for the GO that follows a READY frame. */
static enum pb_status await_go(void *context, int64_t *count_out, struct pb_error *err)
{
    struct pb_probe_order order = {.kind = PB_ORDER_LINKS};
    enum pb_status status = PB_OK;

    while (status == PB_OK && order.kind != PB_ORDER_GO) {
        status = take_order(context, PB_ORDER_GO, &order, err);
        *count_out = order.count;
    }
    return status;
}

/* Reads what has come; with `waits` until the link is this device's. */
static enum pb_status await_links(void *context, bool waits, bool *has_links_out,
                                  struct pb_error *err)
{
    struct server *server = context;
    struct pollfd poll_fd = {.fd = fileno(server->orders), .events = POLLIN};
    struct pb_probe_order order;
    enum pb_status status = PB_OK;

    while (status == PB_OK && !server->has_links && (waits || poll(&poll_fd, 1, 0) > 0))
        status = take_order(server, PB_ORDER_LINKS, &order, err);
    *has_links_out = server->has_links;
    return status;
}

static enum pb_status run_tests(struct server *server, const struct pb_probe_order *order,
                                struct pb_error *err)
{
    struct pb_others others = {.await_go = await_go, .await_links = await_links, .context = server};
    const struct pb_sink sink = {take, server};
    const struct pb_test **tests;
    enum pb_status status = PB_OK;

    if (server->session.device == NULL)
        return pb_fail(err, PB_CORRUPT, "order: run before open");
    server->has_links = false;
    tests = calloc(order->tests.count + 1, sizeof(const struct pb_test *));
    if (tests == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests", order->tests.count);
    for (size_t i = 0; i < order->tests.count && status == PB_OK; i++) {
        const struct pb_test_spec *spec = &order->tests.specs[i];

        tests[i] = pb_test_find(spec->name);
        if (tests[i] == NULL)
            status = pb_fail(err, PB_INVALID, "order: test \"%s\" is unknown", spec->name);
        if (spec->concurrent_devices > 0)
            others.concurrent_devices = spec->concurrent_devices;
    }
    if (status == PB_OK)
        status = pb_measure_run(&server->session, order->key, tests, &sink, &others, err);
    free(tests);
    return status;
}

static enum pb_status obey(struct server *server, const char *line, struct pb_error *err)
{
    struct pb_probe_order order;
    enum pb_status status = pb_message_read_order(line, &order, err);

    if (status != PB_OK)
        return status;
    if (order.kind == PB_ORDER_OPEN)
        status = open_device(server, &order, err);
    else if (order.kind == PB_ORDER_RUN)
        status = run_tests(server, &order, err);
    else if (order.kind != PB_ORDER_LINKS) /* which may come when its tests are over */
        status = pb_fail(err, PB_CORRUPT, "order: no tests run");
    pb_probe_order_clear(&order);
    return status;
}

/* True when the parent died before it could be watched: no process holds the pipe's other end. */
static bool is_orphan(FILE *orders)
{
    struct pollfd poll_fd = {.fd = fileno(orders), .events = POLLIN};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & POLLHUP) != 0;
}

static enum pb_status serve(struct server *server, const struct pb_test_selection *selection,
                            struct pb_error *err)
{
    char *line = NULL;
    size_t size = 0;
    enum pb_status status = greet(server, selection, err);

    while (status == PB_OK && getline(&line, &size, server->orders) >= 0)
        status = obey(server, line, err);
    free(line);
    return status;
}

enum pb_status pb_serve(const struct pb_test_selection *selection, FILE *orders, int frames_fd,
                        struct pb_error *err)
{
    struct server server = {.orders = orders, .frames_fd = frames_fd, .vacant_rank = -1};
    struct pb_refusal refusal = {.status = PB_OK};
    struct pb_error cause = PB_ERROR_INIT;
    enum pb_status status;

    setvbuf(orders, NULL, _IONBF, 0); /* poll() sees what was not read */
    if (is_orphan(orders))
        return pb_fail(err, PB_IO, "whoever started this probe is gone");
    status = serve(&server, selection, &cause);
    if (status != PB_OK) {
        refusal.status = status;
        PB_TEXT_SET(refusal.message, cause.message);
        set_place(&server, &refusal);
        say(&server, PB_FRAME_REFUSED, pb_message_refusal(&refusal), NULL);
        pb_fail(err, status, "%s", cause.message);
    }
    pb_session_close(&server.session);
    pb_measure_clear(&server.measure);
    return status;
}
