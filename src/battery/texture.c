/*
 * Family cache: how a two-dimensional texture lies in its cache (F13 3.4.1: textures are optimized
 * for neighbours in both dimensions).
 *
 * The array is rows of PB_TEXTURE_ROW_BYTES; the index of an access is row * row bytes + column.
 *
 *   rows      word by word along four rows through an empty cache: how wide what a miss brings is
 *   columns   down 32 rows, column by column, through an empty cache: how high it is
 *   wide      8 KiB as whole rows, in its steady state
 *   tall      8 KiB as a strip of 32 byte, in its steady state: a cache that maps rows one under
 *             another into the same sets cannot hold it
 */
#include "battery/chase.h"
#include "battery/tests.h"

enum { WORD_BYTES = 8, LOADS = 512, COLUMN_ROWS = 32, AREA_BYTES = 8192, STRIP_BYTES = 32 };

static enum pb_status take(struct pb_session *session, const char *phase, const uint64_t *offsets,
                           size_t count, uint64_t warm, struct pb_recording *recording,
                           struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = PB_PATH_TEXTURE_2D,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = phase,
                                 .stride_bytes = offsets[1] - offsets[0],
                                 .offset_bytes = offsets,
                                 .offset_count = count,
                                 .warm = warm,
                                 .record = PB_WHOLE_PASS,
                                 .prefill = true};

    for (size_t i = 0; i < count; i++)
        if (offsets[i] >= spec.footprint_bytes)
            spec.footprint_bytes = offsets[i] + WORD_BYTES;
    return pb_chase_take(session, &spec, recording, NULL, err);
}

static enum pb_status take_cold(struct pb_session *session, struct pb_recording *recording,
                                struct pb_error *err)
{
    uint64_t offsets[LOADS];
    enum pb_status status;

    for (size_t i = 0; i < LOADS; i++)
        offsets[i] = i * WORD_BYTES; /* four rows, one after another */
    status = take(session, "rows", offsets, LOADS, 0, recording, err);
    for (size_t i = 0; i < LOADS; i++)
        offsets[i] = i % COLUMN_ROWS * PB_TEXTURE_ROW_BYTES + i / COLUMN_ROWS * WORD_BYTES;
    return status != PB_OK ? status : take(session, "columns", offsets, LOADS, 0, recording, err);
}

static enum pb_status take_steady(struct pb_session *session, struct pb_recording *recording,
                                  struct pb_error *err)
{
    enum { SLOTS = AREA_BYTES / STRIP_BYTES };
    uint64_t offsets[SLOTS];
    enum pb_status status;

    for (size_t i = 0; i < SLOTS; i++)
        offsets[i] = i * STRIP_BYTES;
    status = take(session, "wide", offsets, SLOTS, 2 * SLOTS, recording, err);
    for (size_t i = 0; i < SLOTS; i++)
        offsets[i] = i * PB_TEXTURE_ROW_BYTES;
    return status != PB_OK ? status
                           : take(session, "tall", offsets, SLOTS, 2 * SLOTS, recording, err);
}

enum pb_status pb_test_texture_2d(struct pb_session *session, struct pb_recording *recording,
                                  struct pb_error *err)
{
    enum pb_status status = take_cold(session, recording, err);

    return status != PB_OK ? status : take_steady(session, recording, err);
}
