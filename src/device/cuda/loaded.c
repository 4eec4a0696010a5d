/*
 * A chase beside other traffic, on hardware: its SM has read the array before, and the other SMs
 * read from L2 or DRAM meanwhile, on a stream of their own.
 *
 * Limit: the others leave one SM free, and that is where the chase runs, whichever it is.
 */
#include <cuda_runtime_api.h>

#include <inttypes.h>
#include <stddef.h>

#include "device/cuda/linked_chase.h"
#include "device/cuda/work.h"

/* Of the background's array from DRAM: many times L2, and of L2 a part that either half holds. */
static const uint64_t dram_l2_sizes = 16, l2_share = 4;
static const uint64_t page_bytes = 2u << 20;
static const uint64_t limit_ns = 200000000; /* no chase takes longer than 0.2 s */

/* Where the parts lie in the arena: the chase's array, the background's, states and stamps. */
struct parts {
    uint64_t background, background_bytes;
    uint64_t state, meet, stamps;
    uint64_t bytes;
};

static struct parts lay_out(const struct pb_cuda_device *cuda, const struct pb_loaded_chase *chase)
{
    uint64_t l2_bytes = cuda->info.l2_bytes, last = 0;
    struct parts parts = {.bytes = 0};

    for (size_t i = 0; i < chase->chase.offset_count; i++)
        if (chase->chase.offset_bytes[i] > last)
            last = chase->chase.offset_bytes[i];
    parts.background =
        pb_cuda_round_up((last > chase->read_bytes ? last : chase->read_bytes) + 1, page_bytes);
    if (chase->background == PB_BACKGROUND_DRAM)
        parts.background_bytes = pb_cuda_round_up(dram_l2_sizes * l2_bytes, page_bytes);
    if (chase->background == PB_BACKGROUND_L2)
        parts.background_bytes = pb_cuda_round_up(l2_bytes / l2_share, PB_KERNEL_BATCH_BYTES);
    parts.state = pb_cuda_round_up(parts.background + parts.background_bytes, 256);
    parts.meet = pb_cuda_round_up(parts.state + sizeof(struct pb_kernel_background_state), 256);
    parts.stamps = pb_cuda_round_up(parts.meet + pb_cuda_meet_bytes(cuda), 256);
    parts.bytes = parts.stamps + cuda->info.sm_count * sizeof(uint64_t[2]);
    return parts;
}

/* All threads of the chase's SM read the array; what they find there is not theirs to check. */
static enum pb_status read_array(struct pb_linked_chase *linked,
                                 const struct pb_loaded_chase *chase, const struct parts *parts,
                                 struct pb_error *err)
{
    uint64_t base = linked->cuda->arena.address;
    uint32_t ignored;
    struct pb_kernel_work launch = {.state = base + parts->meet,
                                    .stamps = base + parts->stamps,
                                    .data = base,
                                    .bytes = chase->read_bytes,
                                    .kind = PB_KERNEL_WORK_L2,
                                    .word_bytes = 16,
                                    .repeats = 1,
                                    .sm = chase->chase.sm < 0 ? 0 : (int32_t)chase->chase.sm,
                                    .persisting_bytes =
                                        chase->is_persisting ? chase->read_bytes : 0};

    return pb_cuda_work_launch(linked->cuda, &launch, &ignored, err);
}

/* Returns when all CTAs of the background are at work. */
static enum pb_status start_background(struct pb_linked_chase *linked,
                                       const struct pb_kernel_background *launch, void *stream,
                                       struct pb_error *err)
{
    const int polls_max = 1000;
    struct pb_cuda_device *cuda = linked->cuda;
    struct pb_kernel_background_state state = {.started = 0};
    enum pb_status status = pb_cuda_zero(cuda, launch->state, sizeof(state), "traffic", err);

    if (status == PB_OK) /* waits: the other stream does not */
        status = pb_cuda_download(cuda, &state, launch->state, sizeof(state), "traffic", err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_background(launch, stream), "pb_kernel_background",
                                "launching traffic", err);
    for (int i = 0; status == PB_OK && state.started < launch->cta_count && i < polls_max; i++)
        status = pb_cuda_download(cuda, &state, launch->state, sizeof(state), "traffic", err);
    if (status == PB_OK && (state.started < launch->cta_count || state.ended > 0))
        status = pb_fail(err, PB_UNSUPPORTED,
                         "GPU %d: traffic: %" PRIu32 " of %" PRIu32 " SMs at work at once",
                         cuda->ordinal, state.started - state.ended, launch->cta_count);
    return status;
}

/* Ends the background in any case; first says what went wrong before. */
static enum pb_status stop_background(struct pb_linked_chase *linked,
                                      const struct pb_kernel_background *launch, void *stream,
                                      enum pb_status first, double *bytes_per_s_out,
                                      struct pb_error *first_err)
{
    const uint32_t stop = 1;
    struct pb_cuda_device *cuda = linked->cuda;
    struct pb_error ignored = PB_ERROR_INIT, *err = first == PB_OK ? first_err : &ignored;
    struct pb_kernel_background_state state = {.started = 0};
    enum pb_status status =
        pb_cuda_upload(cuda, launch->state + offsetof(struct pb_kernel_background_state, stop),
                       &stop, sizeof(stop), "ending traffic", err);

    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_stream_wait(stream), "pb_kernel_stream_wait",
                                "ending traffic", err);
    if (status == PB_OK)
        status = pb_cuda_download(cuda, &state, launch->state, sizeof(state), "traffic", err);
    if (first != PB_OK || status != PB_OK)
        return first != PB_OK ? first : status;
    if (state.end_ns <= state.start_ns)
        return pb_fail(err, PB_DEVICE, "GPU %d: traffic took no time", cuda->ordinal);
    *bytes_per_s_out = 1e9 * (double)state.batches * PB_KERNEL_BATCH_BYTES * launch->cta_count /
                       (double)(state.end_ns - state.start_ns);
    return PB_OK;
}

/* From one batch of a warp to its next. */
static uint64_t period_cycles(const struct pb_cuda_device *cuda, double bytes_per_s, uint32_t ctas)
{
    double bytes = (double)PB_KERNEL_BATCH_BYTES * ctas * (PB_WORK_THREADS / 32);

    if (!(bytes_per_s > 0.0))
        return 0;
    return (uint64_t)(bytes / bytes_per_s * 1e6 * cuda->info.sm_clock_max_mhz);
}

/* The whole chase, in one launch; waits for it. */
static enum pb_status trace_alone(struct pb_linked_chase *linked, struct pb_chase_trace *trace,
                                  int64_t sm, struct pb_error *err)
{
    const struct pb_cuda_leg leg = {linked, trace, 0, linked->chase->record, sm};
    enum pb_status status = pb_cuda_launch(linked->cuda, &leg, 1, false, err);

    return status == PB_OK ? pb_cuda_launch_finish(linked->cuda, err) : status;
}

/* Until all that launches need has been allocated: that would wait for the traffic to end. */
static enum pb_status practise(struct pb_linked_chase *linked, struct pb_chase_trace *trace,
                               struct pb_error *err)
{
    const int launches = 8; /* more than may be outstanding at once */
    enum pb_status status = PB_OK;

    for (int i = 0; i < launches && status == PB_OK; i++)
        status = trace_alone(linked, trace, -1, err);
    return status;
}

static enum pb_status trace_beside(struct pb_linked_chase *linked,
                                   const struct pb_loaded_chase *chase, const struct parts *parts,
                                   struct pb_chase_trace *trace, double *bytes_per_s_out,
                                   struct pb_error *err)
{
    struct pb_cuda_device *cuda = linked->cuda;
    uint64_t base = cuda->arena.address;
    struct pb_kernel_background launch = {.state = base + parts->state,
                                          .data = base + parts->background,
                                          .bytes = parts->background_bytes,
                                          .limit_ns = limit_ns,
                                          .cta_count = cuda->info.sm_count - 1,
                                          .shared_bytes = pb_cuda_whole_sm_bytes(cuda)};
    void *stream = NULL;
    enum pb_status status = practise(linked, trace, err);

    launch.period_cycles = period_cycles(cuda, chase->background_bytes_per_s, launch.cta_count);
    /* The caches are set up while all SMs are there for it. */
    if (status == PB_OK)
        status = pb_linked_chase_set_up(linked, err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_stream_create(&stream), "pb_kernel_stream_create",
                                "preparing traffic", err);
    if (status == PB_OK) {
        status = start_background(linked, &launch, stream, err);
        if (status == PB_OK)
            status = trace_alone(linked, trace, -1, err);
        status = stop_background(linked, &launch, stream, status, bytes_per_s_out, err);
    }
    pb_kernel_stream_destroy(stream);
    return status;
}

/* Sets aside for persisting accesses what this L2 can, or gives it back. */
static enum pb_status set_aside(struct pb_cuda_device *cuda, bool is_wanted, struct pb_error *err)
{
    int most = 0;
    enum pb_status status = pb_cuda_status(
        cuda, cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, cuda->ordinal),
        "cudaDeviceGetAttribute", "setting L2 aside", err);

    if (status == PB_OK && most <= 0)
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: L2 sets nothing aside", cuda->ordinal);
    if (status == PB_OK && !is_wanted)
        status = pb_cuda_status(cuda, cudaCtxResetPersistingL2Cache(),
                                "cudaCtxResetPersistingL2Cache", "setting L2 aside", err);
    if (status == PB_OK)
        status = pb_cuda_status(
            cuda, cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, is_wanted ? (size_t)most : 0),
            "cudaDeviceSetLimit", "setting L2 aside", err);
    return status;
}

/* The array, read by its SM; then what is to evict it; then the chase. */
static enum pb_status trace_behind(struct pb_linked_chase *linked,
                                   const struct pb_loaded_chase *chase, const struct parts *parts,
                                   struct pb_chase_trace *trace, struct pb_error *err)
{
    struct pb_cuda_device *cuda = linked->cuda;
    struct pb_error ignored = PB_ERROR_INIT;
    enum pb_status status = PB_OK;

    if (chase->evict_bytes > 0)
        status = pb_cuda_reserve(cuda, &cuda->scratch, chase->evict_bytes, "evicting", err);
    if (status == PB_OK && chase->is_persisting)
        status = set_aside(cuda, true, err);
    if (status == PB_OK)
        status = read_array(linked, chase, parts, err);
    if (status == PB_OK && chase->evict_bytes > 0)
        status = pb_cuda_flush_by(cuda, cuda->scratch.address, chase->evict_bytes, err);
    if (status == PB_OK)
        status = trace_alone(linked, trace, chase->chase.sm, err);
    if (chase->is_persisting)
        set_aside(cuda, false, status == PB_OK ? err : &ignored);
    return status;
}

static enum pb_status check_request(const struct pb_cuda_device *cuda,
                                    const struct pb_loaded_chase *chase, struct pb_error *err)
{
    if (chase->chase.record == 0 || chase->chase.cross || chase->chase.alias_bytes > 0 ||
        (chase->chase.path != PB_PATH_GLOBAL_CA && chase->chase.path != PB_PATH_GLOBAL_CG))
        return pb_fail(err, PB_INVALID, "loaded chase: expected a plain traced one");
    if (chase->background != PB_BACKGROUND_NONE && (chase->chase.sm >= 0 || chase->read_bytes > 0))
        return pb_fail(err, PB_INVALID, "loaded chase: the SM beside traffic cannot be chosen");
    if (chase->read_bytes % PB_WORK_ARRAY_STEP != 0)
        return pb_fail(err, PB_INVALID,
                       "loaded chase: expected a multiple of %d bytes, found %" PRIu64,
                       PB_WORK_ARRAY_STEP, chase->read_bytes);
    if ((chase->is_persisting || chase->evict_bytes > 0) && chase->read_bytes == 0)
        return pb_fail(err, PB_INVALID, "loaded chase: nothing was read that could be kept");
    if (chase->background != PB_BACKGROUND_NONE && cuda->info.sm_count < 2)
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: no SM beside the first", cuda->ordinal);
    return PB_OK;
}

enum pb_status pb_cuda_loaded_chase(struct pb_device *device, const struct pb_loaded_chase *chase,
                                    struct pb_chase_trace *trace, double *background_out,
                                    struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    enum pb_kernel_path path =
        chase->chase.path == PB_PATH_GLOBAL_CA ? PB_KERNEL_GLOBAL_CA : PB_KERNEL_GLOBAL_CG;
    const struct pb_cuda_beside beside = {0, 0};
    struct pb_linked_chase linked = {.cuda = cuda};
    struct parts parts = lay_out(cuda, chase);
    enum pb_status status = pb_cuda_enter(cuda, err);

    *background_out = 0.0;
    if (status == PB_OK)
        status = check_request(cuda, chase, err);
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->arena, parts.bytes,
                                 "a chase beside loads of other SMs", err);
    if (status == PB_OK)
        status = pb_linked_chase_open(&linked, cuda, &chase->chase, path, path, &beside, err);
    if (status == PB_OK && linked.window < chase->chase.record)
        status = pb_fail(err, PB_INVALID,
                         "loaded chase: expected at most %" PRIu64 " loads, found %" PRIu64,
                         linked.window, chase->chase.record);
    if (status == PB_OK && chase->background != PB_BACKGROUND_NONE)
        return trace_beside(&linked, chase, &parts, trace, background_out, err);
    if (status == PB_OK && chase->read_bytes > 0)
        return trace_behind(&linked, chase, &parts, trace, err);
    if (status == PB_OK)
        status = pb_linked_chase_set_up(&linked, err);
    if (status == PB_OK)
        status = trace_alone(&linked, trace, chase->chase.sm, err);
    return status;
}
