/* Letters between the ranks of a node; see gather_node.h. */
#include "run/gather_node.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "run/gather_comm.h"

/* A turn is a second or two of transfers, a meeting waits for GPUs that lag behind by some. */
static const double turn_seconds = 30, meet_seconds = 60;

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
        return pb_fail(err, PB_NO_MEMORY, "no memory for the %d ranks of this machine", count);
    free(hosts);
    return PB_OK;
}

enum pb_status pb_node_open(const struct pb_node_request *request, struct pb_node *node,
                            struct pb_error *err)
{
    struct pb_company_rules rules = {.tests = request->tests};
    enum pb_status status;

    *node = (struct pb_node){.comm = MPI_COMM_NULL, .supervisor = request->supervisor};
    status = split(request, &node->comm, err);
    node->is_open = node->comm != MPI_COMM_NULL;
    if (status != PB_OK || !node->is_open)
        return status;
    MPI_Comm_rank(node->comm, &node->rank);
    MPI_Comm_size(node->comm, &node->count);
    if (node->rank > 0)
        return PB_OK;
    rules.member_count = (size_t)node->count;
    rules.turn_seconds = fmin(turn_seconds, request->deadline_seconds);
    rules.meet_seconds = fmin(meet_seconds, request->deadline_seconds);
    return pb_company_create(&rules, &node->company, err);
}

void pb_node_all(const struct pb_node *node, int *flags, size_t count)
{
    MPI_Request request;

    if (!node->is_open)
        return;
    MPI_Iallreduce(MPI_IN_PLACE, flags, (int)count, MPI_INT, MPI_MIN, node->comm, &request);
    pb_comm_wait(&request);
}

/* ---- letters ---- */

/* Frees what has arrived; waits for it when `all` must have. */
static void reap(struct pb_node *node, bool all)
{
    struct pb_envelope **at = &node->sent;

    while (*at != NULL) {
        struct pb_envelope *envelope = *at;
        int is_there = 0;

        if (all)
            pb_comm_wait(&envelope->request);
        else
            MPI_Test(&envelope->request, &is_there, MPI_STATUS_IGNORE);
        if (!all && !is_there) {
            at = &envelope->next;
            continue;
        }
        *at = envelope->next;
        free(envelope);
    }
}

void pb_node_close(struct pb_node *node)
{
    if (!node->is_open)
        return;
    reap(node, true);
    pb_company_free(node->company);
    MPI_Comm_free(&node->comm);
    *node = (struct pb_node){.comm = MPI_COMM_NULL};
}

static void post(struct pb_node *node, int to, const struct pb_letter *letter)
{
    struct pb_envelope *envelope = malloc(sizeof(*envelope));
    struct pb_letter copy = *letter;

    if (envelope == NULL) { /* letters are few and small: then this one is waited for */
        MPI_Send(&copy, sizeof(copy), MPI_BYTE, to, 0, node->comm);
        return;
    }
    envelope->letter = copy;
    envelope->next = node->sent;
    node->sent = envelope;
    MPI_Isend(&envelope->letter, sizeof(envelope->letter), MPI_BYTE, to, 0, node->comm,
              &envelope->request);
}

/* To whoever keeps the company. */
static void write_letter(struct pb_node *node, enum pb_letter_kind kind, const char *test,
                         int64_t number)
{
    struct pb_letter letter = {.kind = kind, .serial = node->serial, .number = number};

    if (!node->is_open)
        return;
    PB_TEXT_SET(letter.test, test);
    if (node->company != NULL)
        pb_company_hear(node->company, 0, &letter, pb_time_monotonic_seconds());
    else
        post(node, 0, &letter);
}

void pb_node_ask(struct pb_node *node, const struct pb_test_note *note)
{
    enum pb_letter_kind kind = PB_LETTER_MEET;

    if (strcmp(note->outcome, "try") == 0)
        kind = PB_LETTER_TRY;
    else if (strcmp(note->outcome, "turn") == 0)
        kind = PB_LETTER_TURN;
    node->serial++;
    node->asks = true;
    node->is_granted = false;
    write_letter(node, kind, note->test, note->test_count);
    pb_node_step(node);
}

void pb_node_pass(struct pb_node *node, const char *test)
{
    write_letter(node, PB_LETTER_PASS, test, 0);
}

void pb_node_leave(struct pb_node *node)
{
    write_letter(node, PB_LETTER_GONE, "", 0);
}

/* ---- steps ---- */

/* An answer, unless its question is no longer open: the probe may have died meanwhile. */
static void take_answer(struct pb_node *node, const struct pb_letter *letter)
{
    if (!node->asks || letter->serial != node->serial)
        return;
    node->asks = false;
    node->is_granted = letter->count > 0;
    pb_supervisor_go(node->supervisor, letter->count);
}

static void receive(struct pb_node *node)
{
    struct pb_letter letter;
    MPI_Status from;
    int is_there;

    while (MPI_Iprobe(MPI_ANY_SOURCE, 0, node->comm, &is_there, &from) == MPI_SUCCESS && is_there) {
        MPI_Recv(&letter, sizeof(letter), MPI_BYTE, from.MPI_SOURCE, 0, node->comm,
                 MPI_STATUS_IGNORE);
        if (node->company != NULL)
            pb_company_hear(node->company, (size_t)from.MPI_SOURCE, &letter,
                            pb_time_monotonic_seconds());
        else if (letter.kind == PB_LETTER_GONE)
            node->is_over = true;
        else
            take_answer(node, &letter);
    }
}

/* Answers the members; the last letter to each is that all are gone. */
static void lead(struct pb_node *node)
{
    struct pb_letter letter;
    size_t member;

    while (pb_company_answer(node->company, pb_time_monotonic_seconds(), &member, &letter)) {
        if (member == 0)
            take_answer(node, &letter);
        else
            post(node, (int)member, &letter);
    }
    if (node->is_over || !pb_company_is_over(node->company))
        return;
    letter = (struct pb_letter){.kind = PB_LETTER_GONE};
    for (int i = 1; i < node->count; i++)
        post(node, i, &letter);
    node->is_over = true;
}

/* Tells when the probe no longer wants, or no longer uses, what it has asked for. */
static void watch_probe(struct pb_node *node)
{
    enum pb_asked asked = pb_supervisor_asked(node->supervisor);

    if ((node->asks && asked != PB_ASKED_WAITS) ||
        (node->is_granted && asked != PB_ASKED_GRANTED)) {
        node->asks = node->is_granted = false;
        write_letter(node, PB_LETTER_LEAVE, "", 0);
    }
}

void pb_node_step(struct pb_node *node)
{
    if (!node->is_open)
        return;
    watch_probe(node);
    receive(node);
    if (node->company != NULL)
        lead(node);
    reap(node, false);
}

bool pb_node_is_over(const struct pb_node *node)
{
    return !node->is_open || node->is_over;
}

double pb_node_patience_seconds(const struct pb_node *node)
{
    if (!node->is_open || node->count == 1)
        return INFINITY;
    return node->asks || node->company != NULL ? 0.002 : 0.02; /* others may wait for an answer */
}
