/*
 * Family jump: small and large jumps over four memories, from cold (F13 3.4.1).
 *
 * Couples of loads: one far away from all before, 4 KiB on, and one s bytes after it. A small jump
 * within a line hits what the large one has brought. Phase "jump", stride is s, footprint the
 * pairs times 4 KiB; accesses alternate: large, small, large, small, …
 *
 * Shared memory holds the record too and constant memory is small: fewer pairs there.
 */
#include <stdlib.h>

#include "battery/chase.h"
#include "battery/tests.h"

enum {
    PAIRS = 512, /* F13: 1024 reads */
    LARGE_BYTES = 4096,
    SMALL_MIN_BYTES = 8,
    SMALL_MAX_BYTES = 1024
};

static size_t pairs_of(const struct pb_session *session, enum pb_path path)
{
    uint64_t available = session->info.memory_free_bytes / 2, pairs;

    if (path == PB_PATH_SHARED)
        available = session->info.shared_per_cta_bytes / 2;
    if (path == PB_PATH_CONSTANT)
        available = session->info.constant_bytes;
    pairs = available / LARGE_BYTES;
    return pairs < PAIRS ? (size_t)pairs : PAIRS;
}

static enum pb_status take(struct pb_session *session, enum pb_path path, size_t pairs,
                           uint64_t small_bytes, struct pb_recording *recording,
                           struct pb_error *err)
{
    uint64_t offsets[2 * PAIRS];
    bool is_cached = path != PB_PATH_SHARED && path != PB_PATH_CONSTANT;
    struct pb_chase_spec spec = {.path = path,
                                 .order = PB_ORDER_GIVEN,
                                 .phase = "jump",
                                 .footprint_bytes = pairs * LARGE_BYTES,
                                 .stride_bytes = small_bytes,
                                 .offset_bytes = offsets,
                                 .offset_count = 2 * pairs,
                                 .record = PB_WHOLE_PASS,
                                 .flush = is_cached};

    for (size_t i = 0; i < pairs; i++) {
        offsets[2 * i] = i * LARGE_BYTES;
        offsets[2 * i + 1] = i * LARGE_BYTES + small_bytes;
    }
    return pb_chase_take(session, &spec, recording, NULL, err);
}

static enum pb_status jump(struct pb_session *session, enum pb_path path,
                           struct pb_recording *recording, struct pb_error *err)
{
    size_t pairs = pairs_of(session, path);

    if (pairs == 0)
        return pb_fail(err, PB_UNSUPPORTED, "no room for a pair of loads over %s",
                       pb_path_name(path));
    for (uint64_t s = SMALL_MIN_BYTES; s <= SMALL_MAX_BYTES; s *= 2) {
        enum pb_status status = take(session, path, pairs, s, recording, err);

        if (status != PB_OK)
            return status;
    }
    return PB_OK;
}

enum pb_status pb_test_jump_global(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    return jump(session, PB_PATH_GLOBAL_CA, recording, err);
}

enum pb_status pb_test_jump_texture(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    return jump(session, PB_PATH_TEXTURE, recording, err);
}

enum pb_status pb_test_jump_constant(struct pb_session *session, struct pb_recording *recording,
                                     struct pb_error *err)
{
    return jump(session, PB_PATH_CONSTANT, recording, err);
}

enum pb_status pb_test_jump_shared(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err)
{
    return jump(session, PB_PATH_SHARED, recording, err);
}
