/* Checks of work for all SMs that every backend makes. */
#include <inttypes.h>

#include "device/device.h"

/* Does what each SM is to read lie within the list, and the list within the array? */
static bool has_pieces(const struct pb_work *work, uint32_t sm_count)
{
    for (size_t i = 0; i < work->piece_count; i++)
        if (work->pieces[i] >= work->bytes / PB_WORK_PIECE_BYTES)
            return false;
    for (uint32_t i = 0; i < sm_count; i++)
        if (work->spans[i][0] > work->piece_count ||
            work->spans[i][1] > work->piece_count - work->spans[i][0] ||
            work->spans[i][1] % PB_WORK_PIECES_STEP != 0)
            return false;
    return work->piece_count > 0;
}

static enum pb_status check_pieces(const struct pb_work *work, uint32_t sm_count,
                                   struct pb_error *err)
{
    if (work->bytes == 0 || work->bytes % pb_work_step_bytes(work) != 0 ||
        !has_pieces(work, sm_count))
        return pb_fail(err, PB_INVALID,
                       "work: %zu pieces of %" PRIu64 " bytes: expected all of them within whole "
                       "pages, and SMs to read multiples of %d",
                       work->piece_count, work->bytes, PB_WORK_PIECES_STEP);
    return PB_OK;
}

static enum pb_status check_bulk(const struct pb_work *work, struct pb_error *err)
{
    if (work->depth == 0 || work->depth > PB_WORK_DEPTH_MAX || work->repeats < work->depth ||
        work->word_bytes == 0 || work->word_bytes % 16 != 0 || work->bytes % work->word_bytes != 0)
        return pb_fail(err, PB_INVALID, "work: %" PRIu32 " copies of %" PRIu32 " bytes at once",
                       work->depth, work->word_bytes);
    return PB_OK;
}

enum pb_status pb_work_check(const struct pb_work *work, uint32_t sm_count, uint64_t shared_bytes,
                             struct pb_error *err)
{
    if ((unsigned)work->kind >= PB_WORK_KIND_COUNT)
        return pb_fail(err, PB_INVALID, "work: expected a kind from 0 to %d, found %d",
                       PB_WORK_KIND_COUNT - 1, (int)work->kind);
    if (work->sm < -1 || work->sm >= (int64_t)sm_count)
        return pb_fail(err, PB_INVALID, "work: SM %" PRId64 ": expected -1 to %" PRIu32, work->sm,
                       sm_count - 1);
    if (work->repeats == 0)
        return pb_fail(err, PB_INVALID, "work: no repeats");
    if (work->kind == PB_WORK_ATOMIC)
        return work->address_count > 0 ? PB_OK : pb_fail(err, PB_INVALID, "work: no addresses");
    if (work->kind == PB_WORK_PIECES)
        return check_pieces(work, sm_count, err);
    if (work->kind != PB_WORK_BULK && work->word_bytes != 4 && work->word_bytes != 8 &&
        work->word_bytes != 16)
        return pb_fail(err, PB_INVALID, "work: expected words of 4, 8 or 16 bytes, found %" PRIu32,
                       work->word_bytes);
    if (work->bytes == 0 || work->bytes % pb_work_step_bytes(work) != 0)
        return pb_fail(err, PB_INVALID,
                       "work: expected a multiple of %" PRIu64 " bytes, found %" PRIu64,
                       pb_work_step_bytes(work), work->bytes);
    if (work->kind == PB_WORK_SHARED && work->bytes > shared_bytes)
        return pb_fail(err, PB_UNSUPPORTED, "work: %" PRIu64 " bytes of shared memory of %" PRIu64,
                       work->bytes, shared_bytes);
    return work->kind == PB_WORK_BULK ? check_bulk(work, err) : PB_OK;
}
