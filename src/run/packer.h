/*
 * The packer: turns recordings into images on a thread of its own, beside the device's next test.
 *
 * While a packer is open only its thread may use HDF5, so a sink that does is called by it alone:
 * for TEST frames. Frames of both threads go to the sink one at a time, each whole.
 *
 * Limit: a few recordings wait at most; then putting another one waits, too.
 */
#ifndef PB_RUN_PACKER_H
#define PB_RUN_PACKER_H

#include "h5schema/file.h"
#include "run/frame.h"
#include "run/messages.h"

/*
 * Tests of milliseconds follow some whose packing takes a tenth of a second; the device does not
 * wait for that. All recordings of a standard battery are 100 MB, the largest one is of 26.
 */
enum { PB_PACKER_WAITING_MAX = 8 };

/* Where frames go. */
struct pb_sink {
    enum pb_status (*take)(void *context, const struct pb_frame *frame, struct pb_error *err);
    void *context;
};

struct pb_packer_request {
    const char *key; /* of the device; must outlive the packer */
    struct pb_sink sink;
    /* pb_image_of_test(), or what a test has in its place */
    enum pb_status (*pack)(const char *key, const struct pb_recording *recording,
                           const struct pb_state *states, size_t state_count,
                           struct pb_image *image_out, struct pb_error *err);
};

struct pb_packer;

/* Starts the thread. PB_NO_MEMORY: none can be had. */
enum pb_status pb_packer_open(const struct pb_packer_request *request,
                              struct pb_packer **packer_out, struct pb_error *err);

/* Sends a frame without a body. message: what it is about; freed here, NULL: no memory for it. */
enum pb_status pb_packer_send(struct pb_packer *packer, enum pb_frame_type type, char *message,
                              struct pb_error *err);

/*
 * Takes a finished test: a MEASURED frame now, its TEST frame once it is packed. The recording is
 * the packer's from here on, whatever the status. Errors are the sink's, or those of a test that
 * was put before.
 */
enum pb_status pb_packer_put(struct pb_packer *packer, const struct pb_test_report *report,
                             const struct pb_recording *recording, const struct pb_state states[2],
                             struct pb_error *err);

/* Returns once nothing is left to pack: what is measured next shall have the host to itself. */
void pb_packer_rest(struct pb_packer *packer);

/* Packs what is left and ends the thread; returns the first thing that failed. NULL is allowed. */
enum pb_status pb_packer_close(struct pb_packer *packer, struct pb_error *err);

#endif
