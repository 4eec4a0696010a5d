/* Messages between the ranks of a node; see gather_node.h. */
#include "run/gather_node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "run/gather_comm.h"

/* What a rank needs beyond a test's deadline to end a probe that hangs, and to report it. */
static const double timeout_seconds = PB_SUPERVISOR_BOOT_SECONDS_MIN;

/* ---- who belongs together ---- */

/* The first rank of the machine that measures a device of the same node. */
static int find_first(const char (*hosts)[PB_KEY_LENGTH], int count, const char *host)
{
    for (int i = 0; i < count; i++)
        if (strcmp(hosts[i], host) == 0)
            return i;
    return MPI_UNDEFINED;
}

/* The ranks that measure devices of one node; MPI_COMM_NULL for one that measures none. */
static enum pb_status split(const struct pb_node_request *request, MPI_Comm *comm_out,
                            struct pb_error *err)
{
    char host[PB_KEY_LENGTH] = "", (*hosts)[PB_KEY_LENGTH];
    int count, color = MPI_UNDEFINED;
    MPI_Comm machine;

    if (request->measures)
        PB_TEXT_SET(host, request->host);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &count);
    hosts = calloc((size_t)count, sizeof(*hosts));
    if (pb_comm_agree(hosts == NULL ? PB_NO_MEMORY : PB_OK, NULL) == PB_OK && hosts != NULL) {
        MPI_Allgather(host, sizeof(host), MPI_BYTE, hosts, sizeof(host), MPI_BYTE, machine);
        if (request->measures)
            color = find_first((const char(*)[PB_KEY_LENGTH])hosts, count, host);
        MPI_Comm_split(machine, color, 0, comm_out);
    }
    MPI_Comm_free(&machine);
    if (hosts == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the %d ranks of this machine", count);
    free(hosts);
    return PB_OK;
}

enum pb_status pb_node_open(const struct pb_node_request *request, struct pb_node *node,
                            struct pb_error *err)
{
    enum pb_status status;

    *node = (struct pb_node){
        .comm = MPI_COMM_NULL, .supervisor = request->supervisor, .tests = request->tests};
    status = split(request, &node->comm, err);
    node->is_open = node->comm != MPI_COMM_NULL;
    if (status != PB_OK || !node->is_open)
        return status;
    MPI_Comm_rank(node->comm, &node->rank);
    MPI_Comm_size(node->comm, &node->count);
    node->is_left = calloc(request->tests->count + 1, sizeof(*node->is_left));
    if (node->is_left == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating %zu tests",
                       request->tests->count);
    if (node->rank > 0)
        return PB_OK;
    return pb_arbiter_create((size_t)node->count, request->deadline_seconds + timeout_seconds,
                             &node->arbiter, err);
}

void pb_node_all(const struct pb_node *node, int *flags, size_t count)
{
    MPI_Request request;

    if (!node->is_open)
        return;
    MPI_Iallreduce(MPI_IN_PLACE, flags, (int)count, MPI_INT, MPI_MIN, node->comm, &request);
    pb_comm_wait(&request);
}

/* ---- messages ---- */

/* Frees what has arrived; waits for it when `all` must have. */
static void reap(struct pb_node *node, bool all)
{
    struct pb_node_outgoing **at = &node->sent;

    while (*at != NULL) {
        struct pb_node_outgoing *outgoing = *at;
        int is_there = 0;

        if (all)
            pb_comm_wait(&outgoing->request);
        else
            MPI_Test(&outgoing->request, &is_there, MPI_STATUS_IGNORE);
        if (!all && !is_there) {
            at = &outgoing->next;
            continue;
        }
        *at = outgoing->next;
        free(outgoing);
    }
}

void pb_node_close(struct pb_node *node)
{
    if (!node->is_open)
        return;
    reap(node, true);
    pb_arbiter_free(node->arbiter);
    free(node->is_left);
    MPI_Comm_free(&node->comm);
    *node = (struct pb_node){.comm = MPI_COMM_NULL};
}

static void post(struct pb_node *node, int to, const struct pb_node_message *message)
{
    struct pb_node_outgoing *outgoing = malloc(sizeof(*outgoing));
    struct pb_node_message copy = *message;

    if (outgoing == NULL) { /* messages are few and small: then this one is waited for */
        MPI_Send(&copy, sizeof(copy), MPI_BYTE, to, 0, node->comm);
        return;
    }
    outgoing->message = copy;
    outgoing->next = node->sent;
    node->sent = outgoing;
    MPI_Isend(&outgoing->message, sizeof(outgoing->message), MPI_BYTE, to, 0, node->comm,
              &outgoing->request);
}

/* To the arbiter, where this rank stands. */
static void send_place(struct pb_node *node, struct pb_node_place place)
{
    const struct pb_node_message message = {.kind = PB_NODE_PLACE, .payload.place = place};

    node->place = place;
    if (node->arbiter != NULL)
        pb_arbiter_place(node->arbiter, 0, &place, pb_time_monotonic_seconds());
    else
        post(node, 0, &message);
}

void pb_node_leave(struct pb_node *node)
{
    if (node->is_open)
        send_place(node, (struct pb_node_place){PB_NODE_END, 0});
}

/* ---- steps ---- */

/* Where the probe stands now, if the arbiter does not know it. */
static void report(struct pb_node *node)
{
    struct pb_node_place place;

    if (node->place.position == PB_NODE_END)
        return;
    for (size_t i = 0; i < node->tests->count; i++)
        node->is_left[i] = pb_supervisor_is_left(node->supervisor, node->tests->specs[i].name);
    place = pb_node_place_of(node->tests, node->is_left, pb_supervisor_waits_for(node->supervisor));
    if (place.position != node->place.position || place.waits != node->place.waits)
        send_place(node, place);
}

/* A step begins, unless the probe has died meanwhile and no longer waits for it. */
static void take_begin(struct pb_node *node, const struct pb_node_begin *begin)
{
    report(node);
    if (begin->position != node->place.position)
        return;
    if (begin->position == 0)
        pb_supervisor_give_links(node->supervisor);
    else if (node->place.waits)
        pb_supervisor_go(node->supervisor, begin->count);
    node->place.waits = 0; /* as the arbiter knows */
}

static void receive(struct pb_node *node)
{
    struct pb_node_message message;
    MPI_Status from;
    int is_there;

    while (MPI_Iprobe(MPI_ANY_SOURCE, 0, node->comm, &is_there, &from) == MPI_SUCCESS && is_there) {
        MPI_Recv(&message, sizeof(message), MPI_BYTE, from.MPI_SOURCE, 0, node->comm,
                 MPI_STATUS_IGNORE);
        if (node->arbiter != NULL)
            pb_arbiter_place(node->arbiter, (size_t)from.MPI_SOURCE, &message.payload.place,
                             pb_time_monotonic_seconds());
        else if (message.kind == PB_NODE_OVER)
            node->is_over = true;
        else
            take_begin(node, &message.payload.begin);
    }
}

/* BEGINs to the members; the last message to each is that all are at the end. */
static void lead(struct pb_node *node)
{
    struct pb_node_message message = {.kind = PB_NODE_BEGIN};
    size_t member;

    while (pb_arbiter_next_begin(node->arbiter, pb_time_monotonic_seconds(), &member,
                                 &message.payload.begin)) {
        if (member == 0)
            take_begin(node, &message.payload.begin);
        else
            post(node, (int)member, &message);
    }
    if (node->is_over || !pb_arbiter_is_over(node->arbiter))
        return;
    message = (struct pb_node_message){.kind = PB_NODE_OVER};
    for (int i = 1; i < node->count; i++)
        post(node, i, &message);
    node->is_over = true;
}

void pb_node_step(struct pb_node *node)
{
    if (!node->is_open)
        return;
    report(node);
    receive(node);
    if (node->arbiter != NULL)
        lead(node);
    reap(node, false);
}

bool pb_node_is_over(const struct pb_node *node)
{
    return !node->is_open || node->is_over;
}

double pb_node_poll_seconds(const struct pb_node *node)
{
    if (!node->is_open || node->count == 1)
        return INFINITY;
    return node->place.waits || node->arbiter != NULL ? 0.002 : 0.02; /* a BEGIN may come */
}
