/* Packing recordings on a thread; see packer.h. */
#include "run/packer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A finished test on its way into a frame. */
struct parcel {
    struct pb_test_report report;
    struct pb_recording recording;
    struct pb_state states[2];
};

struct pb_packer {
    struct pb_packer_request request;
    pthread_t thread;
    pthread_mutex_t pipe; /* held while the sink takes a frame; never beside `lock` */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    struct parcel parcels[PB_PACKER_WAITING_MAX]; /* a ring */
    size_t first, count;
    bool is_packing, is_closing;
    struct pb_error trouble; /* the first; from then on parcels are thrown away */
};

/* ---- frames ---- */

static enum pb_status send(struct pb_packer *packer, enum pb_frame_type type, char *report,
                           const struct pb_image *image, struct pb_error *err)
{
    struct pb_frame frame = {
        .type = type, .message = report, .body = image->bytes, .body_size = image->size};
    enum pb_status status;

    if (report == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory for the message of a frame");
    pthread_mutex_lock(&packer->pipe);
    status = packer->request.sink.take(packer->request.sink.context, &frame, err);
    pthread_mutex_unlock(&packer->pipe);
    free(report);
    return status;
}

static enum pb_status pack(struct pb_packer *packer, const struct parcel *parcel,
                           struct pb_error *err)
{
    struct pb_image image = {NULL, 0};
    enum pb_status status = packer->request.pack(packer->request.key, &parcel->recording,
                                                 parcel->states, 2, &image, err);

    if (status != PB_OK)
        return status;
    status = send(packer, PB_FRAME_TEST, pb_message_test(&parcel->report), &image, err);
    free(image.bytes);
    return status;
}

/* ---- the thread ---- */

/* Waits for the next parcel; false: there will be none. */
static bool take_parcel(struct pb_packer *packer, struct parcel *parcel_out, bool *is_waste_out)
{
    bool is_there;

    pthread_mutex_lock(&packer->lock);
    while (packer->count == 0 && !packer->is_closing)
        pthread_cond_wait(&packer->changed, &packer->lock);
    is_there = packer->count > 0;
    if (is_there) {
        *parcel_out = packer->parcels[packer->first];
        packer->first = (packer->first + 1) % PB_PACKER_WAITING_MAX;
        packer->count--;
    }
    packer->is_packing = is_there;
    *is_waste_out = packer->trouble.status != PB_OK;
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
    return is_there;
}

static void end_parcel(struct pb_packer *packer, const struct pb_error *trouble)
{
    pthread_mutex_lock(&packer->lock);
    packer->is_packing = false;
    if (packer->trouble.status == PB_OK)
        packer->trouble = *trouble;
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
}

static void *work(void *argument)
{
    struct pb_packer *packer = argument;
    struct parcel parcel;
    bool is_waste;

    while (take_parcel(packer, &parcel, &is_waste)) {
        struct pb_error trouble = PB_ERROR_INIT;

        if (!is_waste)
            trouble.status = pack(packer, &parcel, &trouble);
        pb_recording_clear(&parcel.recording);
        end_parcel(packer, &trouble);
    }
    return NULL;
}

/* ---- the caller's side ---- */

enum pb_status pb_packer_open(const struct pb_packer_request *request,
                              struct pb_packer **packer_out, struct pb_error *err)
{
    struct pb_packer *packer = calloc(1, sizeof(*packer));
    int result;

    if (packer == NULL)
        return pb_fail(err, PB_NO_MEMORY, "out of memory allocating a packer");
    packer->request = *request;
    pthread_mutex_init(&packer->pipe, NULL);
    pthread_mutex_init(&packer->lock, NULL);
    pthread_cond_init(&packer->changed, NULL);
    result = pthread_create(&packer->thread, NULL, work, packer);
    if (result != 0) {
        free(packer);
        return pb_fail(err, PB_NO_MEMORY, "no thread to pack results: %s", strerror(result));
    }
    *packer_out = packer;
    return PB_OK;
}

enum pb_status pb_packer_send(struct pb_packer *packer, enum pb_frame_type type, char *message,
                              struct pb_error *err)
{
    const struct pb_image nothing = {NULL, 0};

    return send(packer, type, message, &nothing, err);
}

enum pb_status pb_packer_put(struct pb_packer *packer, const struct pb_test_report *report,
                             const struct pb_recording *recording, const struct pb_state states[2],
                             struct pb_error *err)
{
    struct parcel parcel = {*report, *recording, {states[0], states[1]}};
    enum pb_status status = pb_packer_send(packer, PB_FRAME_MEASURED, pb_message_test(report), err);

    if (status != PB_OK) {
        pb_recording_clear(&parcel.recording);
        return status;
    }
    pthread_mutex_lock(&packer->lock);
    while (packer->count == PB_PACKER_WAITING_MAX)
        pthread_cond_wait(&packer->changed, &packer->lock);
    packer->parcels[(packer->first + packer->count) % PB_PACKER_WAITING_MAX] = parcel;
    packer->count++;
    if (packer->trouble.status != PB_OK)
        status = pb_fail(err, packer->trouble.status, "%s", packer->trouble.message);
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
    return status;
}

void pb_packer_rest(struct pb_packer *packer)
{
    pthread_mutex_lock(&packer->lock);
    while (packer->count > 0 || packer->is_packing)
        pthread_cond_wait(&packer->changed, &packer->lock);
    pthread_mutex_unlock(&packer->lock);
}

enum pb_status pb_packer_close(struct pb_packer *packer, struct pb_error *err)
{
    struct pb_error trouble;

    if (packer == NULL)
        return PB_OK;
    pthread_mutex_lock(&packer->lock);
    packer->is_closing = true;
    pthread_cond_broadcast(&packer->changed);
    pthread_mutex_unlock(&packer->lock);
    pthread_join(packer->thread, NULL);
    trouble = packer->trouble;
    pthread_cond_destroy(&packer->changed);
    pthread_mutex_destroy(&packer->lock);
    pthread_mutex_destroy(&packer->pipe);
    free(packer);
    return trouble.status == PB_OK ? PB_OK : pb_fail(err, trouble.status, "%s", trouble.message);
}
