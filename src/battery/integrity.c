/*
 * Family integrity: does memory keep what is written to it?
 *
 * Words that depend on their addresses are written and read back, over 256 MiB in the quick and the
 * standard battery, over all that is free in the full one. Axis quantity: tested (byte),
 * mismatches (words), address of the first one, seconds (the host's, of all passes, allocations
 * included: no measure of the memory's rate). Which bits differed is in the message.
 * Where hardly any memory is free the test is unsupported.
 */
#include <math.h>
#include <stdio.h>

#include "battery/grid.h"
#include "battery/tests.h"

static const uint64_t screen_bytes = (uint64_t)256 << 20;
enum { PASSES = 2, PASSES_FULL = 4 };

static enum pb_status file(const struct pb_pattern_result *result, struct pb_recording *recording,
                           struct pb_error *err)
{
    static const char *const quantities[] = {"tested", "mismatches", "address", "seconds"};
    static const struct pb_grid_axis axis =
        PB_GRID_LABELS("quantity", "byte, words, first wrong address, s", quantities);
    double *values;
    enum pb_status status = pb_grid_open(&recording->matrix, &axis, 1, "by quantity",
                                         "words written and read back", err);

    if (status != PB_OK)
        return status;
    values = recording->matrix.values;
    values[0] = (double)result->bytes_tested;
    values[1] = (double)result->mismatch_count;
    values[2] = result->mismatch_count > 0 ? (double)result->address : NAN;
    values[3] = result->seconds;
    return PB_OK;
}

enum pb_status pb_test_memory_integrity(struct pb_session *session, struct pb_recording *recording,
                                        struct pb_error *err)
{
    bool is_full = session->battery == PB_FULL;
    uint64_t screen = screen_bytes < session->info.memory_free_bytes / 2
                          ? screen_bytes
                          : session->info.memory_free_bytes / 2;
    struct pb_pattern pattern = {.bytes = is_full ? 0 : screen - screen % 4096,
                                 .seed = session->seed,
                                 .passes = is_full ? PASSES_FULL : PASSES};
    struct pb_error cause = PB_ERROR_INIT;
    struct pb_pattern_result result;
    enum pb_status status =
        session->device->ops->pattern(session->device, &pattern, &result, &cause);

    if (status == PB_NO_MEMORY) /* others hold it: no fault of this device */
        return pb_fail(err, PB_UNSUPPORTED, "too little free memory: %s", cause.message);
    if (status != PB_OK)
        return pb_fail(err, status, "%s", cause.message);
    if (result.mismatch_count > 0)
        snprintf(recording->message, sizeof(recording->message),
                 "%llu words differ, the first at %#llx: wrote %#llx, read %#llx, bits %#llx",
                 (unsigned long long)result.mismatch_count, (unsigned long long)result.address,
                 (unsigned long long)result.expected, (unsigned long long)result.found,
                 (unsigned long long)(result.expected ^ result.found));
    return file(&result, recording, err);
}
