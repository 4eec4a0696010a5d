/* Frames that are made on the supervising side; see synthesize.h. */
#include "run/synthesize.h"

#include <math.h>
#include <stdlib.h>

#include "h5schema/file.h"

/* Packs a frame and frees what it is made of. */
static enum pb_status pack(enum pb_frame_type type, char *message, struct pb_image image,
                           void **bytes_out, size_t *size_out, struct pb_error *err)
{
    const struct pb_frame frame = {type, message, image.bytes, image.size, 0};
    enum pb_status status = message == NULL
                                ? pb_fail(err, PB_NO_MEMORY, "out of memory allocating a message")
                                : pb_frame_pack(&frame, bytes_out, size_out, err);

    free(message);
    free(image.bytes);
    return status;
}

enum pb_status pb_synthesize_device(const char *key, const char *backend,
                                    const struct pb_opened *opened, size_t test_count,
                                    void **bytes_out, size_t *size_out, struct pb_error *err)
{
    struct pb_device_info info = {.slot = opened->slot,
                                  .ecc_enabled = -1,
                                  .mig_enabled = -1,
                                  .power_limit_w = NAN,
                                  .power_limit_default_w = NAN};
    struct pb_test_report report = {.test_count = (int64_t)test_count};
    struct pb_image image = {NULL, 0};
    enum pb_status status;

    PB_TEXT_SET(info.backend, backend);
    PB_TEXT_SET(info.model, opened->model);
    PB_TEXT_SET(info.uuid, opened->uuid);
    PB_TEXT_SET(info.pci_bus_id, opened->pci_bus_id);
    status = pb_image_of_device(key, &info, &image, err);
    if (status != PB_OK)
        return status;
    PB_TEXT_SET(report.key, key);
    PB_TEXT_SET(report.uuid, opened->uuid);
    PB_TEXT_SET(report.message, opened->model);
    PB_TEXT_SET(report.outcome, pb_outcome_name(PB_TEST_OK));
    return pack(PB_FRAME_DEVICE, pb_message_test(&report), image, bytes_out, size_out, err);
}

enum pb_status pb_synthesize_outcome(const char *key, const char *uuid,
                                     const struct pb_test_spec *spec, enum pb_outcome outcome,
                                     double seconds, const char *message, void **bytes_out,
                                     size_t *size_out, struct pb_error *err)
{
    struct pb_recording recording = {.outcome = outcome,
                                     .seconds = seconds,
                                     .sm_id = -1,
                                     .concurrent_devices = spec->concurrent_devices};
    struct pb_test_report report = {.seconds = seconds,
                                    .concurrent_devices = spec->concurrent_devices};
    struct pb_image image = {NULL, 0};
    enum pb_status status;

    PB_TEXT_SET(recording.name, spec->name);
    PB_TEXT_SET(recording.unit, spec->unit);
    PB_TEXT_SET(recording.method, spec->method);
    PB_TEXT_SET(recording.message, message);
    status = pb_image_of_test(key, &recording, NULL, 0, &image, err);
    if (status != PB_OK)
        return status;
    PB_TEXT_SET(report.key, key);
    PB_TEXT_SET(report.uuid, uuid);
    PB_TEXT_SET(report.test, spec->name);
    PB_TEXT_SET(report.outcome, pb_outcome_name(outcome));
    PB_TEXT_SET(report.message, message);
    return pack(PB_FRAME_TEST, pb_message_test(&report), image, bytes_out, size_out, err);
}

enum pb_status pb_synthesize_member(const struct pb_member *member, void **bytes_out,
                                    size_t *size_out, struct pb_error *err)
{
    struct pb_test_report report = {.seconds = member->seconds};
    struct pb_image image = {NULL, 0};
    enum pb_status status = pb_image_of_member(member, &image, err);

    if (status != PB_OK)
        return status;
    PB_TEXT_SET(report.key, member->key);
    PB_TEXT_SET(report.uuid, member->uuid);
    PB_TEXT_SET(report.outcome, member->status);
    PB_TEXT_SET(report.message, member->message);
    return pack(PB_FRAME_MEMBER, pb_message_test(&report), image, bytes_out, size_out, err);
}

enum pb_status pb_synthesize_plan(const struct pb_plan *plan, void **bytes_out, size_t *size_out,
                                  struct pb_error *err)
{
    const struct pb_image none = {NULL, 0};

    return pack(PB_FRAME_PLAN, pb_message_plan(plan), none, bytes_out, size_out, err);
}
