/*
 * Family classic: the average-latency methods that M16 4.1 holds against its own.
 *
 *   classic_saavedra   Saavedra1992: average cycles a load over array size and stride, all powers
 *                      of two; axes array_bytes, stride_bytes
 *   classic_wong       Wong2010: passes at one stride, the line, over array sizes around the edge;
 *                      points of phase "wong"
 *
 * Over the texture path where the device has one that is cached, as M16 did, else over L1.
 */
#include <math.h>

#include "battery/grid.h"
#include "battery/search.h"
#include "battery/tests.h"

enum {
    ARRAYS = 13,  /* 1 KiB … 4 MiB */
    STRIDES = 16, /* 8 byte … 256 KiB */
    LEAST_LOADS = 1024,
    MOST_SLOTS = 65536,
    WONG_BELOW = 2, /* lines below the edge */
    WONG_ABOVE = 32
};

/* The texture cache, or L1: the first that the device has. */
static enum pb_status begin(struct pb_session *session, struct pb_search *search,
                            struct pb_recording *recording, struct pb_error *err)
{
    enum pb_status status = PB_UNSUPPORTED;

    if ((session->info.capabilities & PB_CAP_TEXTURE) != 0)
        status = pb_search_from_hints(session, PB_CACHE_TEXTURE, search, recording, err);
    if (status == PB_UNSUPPORTED)
        status = pb_search_from_hints(session, PB_CACHE_L1, search, recording, err);
    return status;
}

static enum pb_status take_pass(struct pb_session *session, const struct pb_search *search,
                                const char *phase, uint64_t footprint_bytes, uint64_t stride_bytes,
                                struct pb_recording *recording, double *mean_cycles_out,
                                struct pb_error *err)
{
    struct pb_chase_spec spec = {.path = search->target->path,
                                 .order = PB_ORDER_SEQUENTIAL,
                                 .phase = phase,
                                 .footprint_bytes = footprint_bytes,
                                 .stride_bytes = stride_bytes,
                                 .warm = PB_WHOLE_PASS,
                                 .timed = PB_WHOLE_PASS};
    uint64_t slots = pb_chase_slots(&spec);
    struct pb_chase_result pass;
    enum pb_status status;

    if (slots < LEAST_LOADS) /* whole passes: a part of one would weigh some slots more */
        spec.timed = LEAST_LOADS / slots * slots;
    status = pb_chase_take(session, &spec, recording, &pass, err);
    if (status == PB_OK)
        *mean_cycles_out = pass.mean_cycles;
    return status;
}

static enum pb_status open_grid(struct pb_matrix *matrix, struct pb_error *err)
{
    double arrays[ARRAYS], strides[STRIDES];
    const struct pb_grid_axis axes[] = {
        PB_GRID_VALUES("array_bytes", "byte", "size of the array", arrays),
        PB_GRID_VALUES("stride_bytes", "byte", "distance of two loads", strides),
    };

    for (int i = 0; i < ARRAYS; i++)
        arrays[i] = ldexp(1024, i);
    for (int i = 0; i < STRIDES; i++)
        strides[i] = ldexp(8, i);
    return pb_grid_open(matrix, axes, 2, "cycle", "average of a load in the steady state", err);
}

enum pb_status pb_test_classic_saavedra(struct pb_session *session, struct pb_recording *recording,
                                        struct pb_error *err)
{
    struct pb_matrix *matrix = &recording->matrix;
    struct pb_search search;
    enum pb_status status = begin(session, &search, recording, err);

    if (status == PB_OK)
        status = open_grid(matrix, err);
    for (size_t i = 0; status == PB_OK && i < pb_matrix_size(matrix); i++) {
        size_t at[PB_MATRIX_RANK_MAX];
        uint64_t array_bytes, stride_bytes;

        pb_grid_place(matrix, i, at);
        array_bytes = (uint64_t)matrix->axes[0].values[at[0]];
        stride_bytes = (uint64_t)matrix->axes[1].values[at[1]];
        if (stride_bytes <= array_bytes / 2 && array_bytes / stride_bytes <= MOST_SLOTS)
            status = take_pass(session, &search, "saavedra", array_bytes, stride_bytes, recording,
                               &matrix->values[i], err);
    }
    return status;
}

enum pb_status pb_test_classic_wong(struct pb_session *session, struct pb_recording *recording,
                                    struct pb_error *err)
{
    struct pb_search search;
    uint64_t line, lines;
    enum pb_status status = begin(session, &search, recording, err);

    if (status != PB_OK)
        return status;
    line = search.stride_bytes;
    lines = search.fits_bytes / line;
    for (uint64_t n = lines > WONG_BELOW ? lines - WONG_BELOW : 1;
         n <= lines + WONG_ABOVE && status == PB_OK; n++) {
        double mean_cycles;

        status = take_pass(session, &search, "wong", n * line, line, recording, &mean_cycles, err);
    }
    return status;
}
