/* Frames on their way to rank 0; see gather_outbox.h. */
#include "run/gather_outbox.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "run/gather_comm.h"

/* The first is being sent, the others wait for it: each message would take memory of rank 0. */
struct pb_outgoing {
    struct pb_outgoing *next;
    MPI_Request request;
    int tag;
    size_t size;
    char bytes[];
};

static void start(struct pb_outgoing *outgoing)
{
    MPI_Issend(outgoing->bytes, (int)outgoing->size, MPI_BYTE, 0, outgoing->tag, MPI_COMM_WORLD,
               &outgoing->request);
}

/* The first has arrived. */
static void advance(struct pb_outbox *outbox)
{
    struct pb_outgoing *outgoing = outbox->first;

    outbox->first = outgoing->next;
    outbox->size -= outgoing->size;
    free(outgoing);
    if (outbox->first == NULL)
        outbox->last = NULL;
    else
        start(outbox->first);
}

void pb_outbox_step(struct pb_outbox *outbox)
{
    int has_arrived = 1;

    while (outbox->first != NULL && has_arrived) {
        MPI_Test(&outbox->first->request, &has_arrived, MPI_STATUS_IGNORE);
        if (has_arrived)
            advance(outbox);
    }
}

/* Waits until all together are fewer bytes than these; 0: until nothing is left. */
static void shrink(struct pb_outbox *outbox, size_t bytes)
{
    while (outbox->first != NULL && outbox->size >= bytes) {
        pb_comm_wait(&outbox->first->request);
        advance(outbox);
    }
}

static void append(struct pb_outbox *outbox, struct pb_outgoing *outgoing)
{
    outbox->size += outgoing->size;
    if (outbox->last != NULL)
        outbox->last->next = outgoing;
    outbox->last = outgoing;
    if (outbox->first != NULL)
        return;
    outbox->first = outgoing;
    start(outgoing);
}

/* Without memory for a copy: behind all others, and waited for. */
static void send_original(struct pb_outbox *outbox, int tag, const void *bytes, size_t size)
{
    MPI_Request request;

    shrink(outbox, 0);
    MPI_Issend(bytes, (int)size, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request);
    pb_comm_wait(&request);
}

void pb_outbox_send(struct pb_outbox *outbox, int tag, const void *bytes, size_t size)
{
    struct pb_outgoing *outgoing;

    shrink(outbox, size < PB_OUTBOX_BYTES_MAX ? PB_OUTBOX_BYTES_MAX - size : 1);
    outgoing = malloc(sizeof(*outgoing) + size);
    if (outgoing == NULL) {
        send_original(outbox, tag, bytes, size);
        return;
    }
    *outgoing = (struct pb_outgoing){.tag = tag, .size = size};
    memcpy(outgoing->bytes, bytes, size);
    append(outbox, outgoing);
}

bool pb_outbox_is_empty(const struct pb_outbox *outbox)
{
    return outbox->first == NULL;
}
