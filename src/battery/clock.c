/* Family clock: what a stamp costs, and how cycles relate to nanoseconds (M16 4.2, facts 2.9). */
#include <stdlib.h>
#include <string.h>

#include "battery/grid.h"
#include "battery/tests.h"

enum { STAMPS = 512, CLOCK_SAMPLES = 64 };

static enum pb_status record_stamps(struct pb_session *session, enum pb_stamp stamp,
                                    const char *phase, struct pb_recording *recording,
                                    struct pb_error *err)
{
    uint32_t cycles[STAMPS];
    uint64_t index[STAMPS] = {0};
    struct pb_point point = {.count = STAMPS, .window = STAMPS, .sm_id = -1};
    enum pb_status status =
        session->device->ops->stamp(session->device, stamp, STAMPS, cycles, err);

    if (status != PB_OK)
        return status;
    PB_TEXT_SET(point.path, "none");
    PB_TEXT_SET(point.order, "stamp");
    PB_TEXT_SET(point.mode, "traced");
    PB_TEXT_SET(point.phase, phase);
    return pb_series_append(&recording->series, &point, cycles, index, err);
}

enum pb_status pb_test_clock_overhead(struct pb_session *session, struct pb_recording *recording,
                                      struct pb_error *err)
{
    enum pb_status status = record_stamps(session, PB_STAMP_EMPTY, "empty", recording, err);

    return status != PB_OK ? status
                           : record_stamps(session, PB_STAMP_STORE, "store", recording, err);
}

enum pb_status pb_test_clock_calibration(struct pb_session *session, struct pb_recording *recording,
                                         struct pb_error *err)
{
    static const double seconds = 0.2;
    static const char *const clocks[] = {"cycles", "ns"};
    static const struct pb_grid_axis axes[] = {
        PB_GRID_COUNTED("sample", "moment, in order", CLOCK_SAMPLES),
        PB_GRID_LABELS("clock", "SM clock in cycles, global timer in ns", clocks),
    };
    struct pb_clock_sample samples[CLOCK_SAMPLES];
    enum pb_status status =
        session->device->ops->clock(session->device, seconds, CLOCK_SAMPLES, samples, err);

    if (status == PB_OK)
        status = pb_grid_open(&recording->matrix, axes, 2, "cycle or ns",
                              "counts since the first moment", err);
    if (status != PB_OK)
        return status;
    for (size_t i = 0; i < CLOCK_SAMPLES; i++) {
        recording->matrix.values[2 * i] = (double)(samples[i].cycles - samples[0].cycles);
        recording->matrix.values[2 * i + 1] = (double)(samples[i].ns - samples[0].ns);
    }
    return PB_OK;
}
