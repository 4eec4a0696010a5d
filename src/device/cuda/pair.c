/*
 * SMs that belong together, on hardware: clusters that report where they ran, and pairs at work.
 *
 * Limit: both keep every SM to themselves by the shared memory they request. A device that is not
 * whole (MIG, another process at work) may refuse; the status is PB_UNSUPPORTED then.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda/device.h"
#include "kernels/pair.h"

enum pb_status pb_cuda_cluster(struct pb_device *device, const struct pb_cluster *cluster,
                               uint32_t *sms_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    struct pb_kernel_clusters launch = {.size = cluster->size,
                                        .cta_count = (uint32_t)cluster->count * cluster->size,
                                        .shared_bytes = (uint32_t)cuda->shared_optin_bytes,
                                        .hold_cycles = 20000};
    size_t bytes = launch.cta_count * sizeof(*sms_out);
    int fitting = 0;
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK && (cluster->size == 0 || cluster->count == 0))
        status = pb_fail(err, PB_INVALID, "cluster: %" PRIu32 " CTAs, %zu clusters", cluster->size,
                         cluster->count);
    if (status == PB_OK)
        status = pb_cuda_reserve(cuda, &cuda->recording, bytes, "the SMs of clusters", err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_clusters_fit(&launch, &fitting),
                                "pb_kernel_clusters_fit", "asking for clusters", err);
    if (status == PB_OK && fitting == 0)
        status = pb_fail(err, PB_UNSUPPORTED, "GPU %d: no clusters of %" PRIu32 " CTAs",
                         cuda->ordinal, cluster->size);
    if (status != PB_OK)
        return status;
    launch.sms = cuda->recording.address;
    status = pb_cuda_status(cuda, pb_kernel_clusters(&launch), "pb_kernel_clusters",
                            "launching clusters", err);
    if (status == PB_OK)
        status = pb_cuda_download(cuda, sms_out, launch.sms, bytes, "the SMs of clusters", err);
    return status;
}

static const enum pb_kernel_pairs_kind kernel_kinds[PB_PAIR_KIND_COUNT] = {
    [PB_PAIR_READ] = PB_KERNEL_PAIRS_READ,
    [PB_PAIR_WRITE] = PB_KERNEL_PAIRS_WRITE,
    [PB_PAIR_ATOMIC] = PB_KERNEL_PAIRS_ATOMIC,
    [PB_PAIR_CONSTANT] = PB_KERNEL_PAIRS_CONSTANT,
    [PB_PAIR_TRANSLATE] = PB_KERNEL_PAIRS_TRANSLATE};

/* From one page's slot to the next: no two share an entry of any TLB known, or a set of L2. */
static const uint64_t slot_step = ((uint64_t)32 << 20) + 4224;

/* Where the parts lie in the arena: data, then what SMs there are, stamps, the state, and slots. */
struct parts {
    uint64_t sms, stamps, state, slots;
    size_t state_bytes;
    uint64_t bytes; /* in all */
};

static struct parts lay_out(const struct pb_cuda_device *cuda, const struct pb_pair *pair)
{
    struct parts parts = {.sms = 2 * (uint64_t)PB_PAIR_BYTES};

    parts.stamps = parts.sms + pair->count * sizeof(uint32_t[2]);
    parts.state = parts.stamps + pair->count * sizeof(uint32_t[2][2]);
    parts.state_bytes =
        offsetof(struct pb_kernel_pairs_state, is_taken) + cuda->info.sm_count * sizeof(uint32_t);
    parts.slots = (parts.state + parts.state_bytes + 255) / 256 * 256;
    parts.bytes =
        parts.slots + (pair->kind == PB_PAIR_TRANSLATE ? 2 * PB_PAIR_PAGES * slot_step : 0);
    return parts;
}

static enum pb_status zero_slots(struct pb_cuda_device *cuda, uint64_t slots, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    for (uint64_t i = 0; i < 2 * PB_PAIR_PAGES && status == PB_OK; i++)
        status = pb_cuda_zero(cuda, slots + i * slot_step, sizeof(uint64_t), "pairs of SMs", err);
    return status;
}

/* Memory, the pattern in it, the pairs, and a state of zeros. */
static enum pb_status set_up(struct pb_cuda_device *cuda, const struct pb_pair *pair,
                             const struct parts *parts, struct pb_kernel_pairs *launch_out,
                             struct pb_error *err)
{
    enum pb_status status = pb_cuda_reserve(cuda, &cuda->arena, parts->bytes, "pairs of SMs", err);
    uint64_t base = cuda->arena.address;
    uint32_t salt = ++cuda->salt;

    if (status == PB_OK)
        status = pb_cuda_status(
            cuda,
            pb_kernel_fill(base, 2 * PB_PAIR_BYTES / sizeof(uint32_t), salt, cuda->info.sm_count),
            "pb_kernel_fill", "filling the data of pairs", err);
    if (status == PB_OK)
        status = pb_cuda_upload(cuda, base + parts->sms, pair->sms,
                                pair->count * sizeof(pair->sms[0]), "pairs of SMs", err);
    if (status == PB_OK)
        status = pb_cuda_zero(cuda, base + parts->state, parts->state_bytes, "pairs of SMs", err);
    if (status == PB_OK && pair->kind == PB_PAIR_TRANSLATE)
        status = zero_slots(cuda, base + parts->slots, err);
    if (status != PB_OK)
        return status;
    *launch_out = (struct pb_kernel_pairs){.state = base + parts->state,
                                           .sms = base + parts->sms,
                                           .stamps = base + parts->stamps,
                                           .data = base,
                                           .slots = base + parts->slots,
                                           .slot_step = slot_step,
                                           .pages = PB_PAIR_PAGES,
                                           .count = (uint32_t)pair->count,
                                           .bytes = PB_PAIR_BYTES,
                                           .salt = salt,
                                           .kind = kernel_kinds[pair->kind],
                                           .cta_count = cuda->info.sm_count,
                                           .shared_bytes = (uint32_t)cuda->shared_optin_bytes};
    return PB_OK;
}

static enum pb_status check_state(struct pb_cuda_device *cuda, const struct pb_kernel_pairs *launch,
                                  struct pb_error *err)
{
    static const char *const faults[] = {
        [PB_KERNEL_PAIRS_WELL] = "",
        [PB_KERNEL_PAIRS_ABSENT] = "not all SMs can be had at once",
        [PB_KERNEL_PAIRS_SPREAD] = "CTAs do not spread evenly over the SMs",
        [PB_KERNEL_PAIRS_LATE] = "an SM waited in vain for the other"};
    struct pb_kernel_pairs_state state;
    enum pb_status status =
        pb_cuda_download(cuda, &state, launch->state, sizeof(state), "pairs of SMs", err);

    if (status != PB_OK)
        return status;
    if (state.fault != PB_KERNEL_PAIRS_WELL)
        return pb_fail(err, PB_UNSUPPORTED, "GPU %d: pairs of SMs: %s", cuda->ordinal,
                       state.fault <= PB_KERNEL_PAIRS_LATE ? faults[state.fault] : "?");
    if (state.turn != launch->count)
        return pb_fail(err, PB_DEVICE, "GPU %d: pairs of SMs: %" PRIu32 " of %" PRIu32 " worked",
                       cuda->ordinal, state.turn, launch->count);
    if (state.mismatches > 0)
        return pb_fail(err, PB_DEVICE, "GPU %d: pairs of SMs: %" PRIu32 " threads read wrong words",
                       cuda->ordinal, state.mismatches);
    return PB_OK;
}

/* What both SMs have written is still there, all of it. */
static enum pb_status check_data(struct pb_cuda_device *cuda, const struct pb_kernel_pairs *launch,
                                 struct pb_error *err)
{
    struct pb_kernel_fault fault = {0, 0, 0, 0};
    uint64_t fault_address = 0;
    enum pb_status status = pb_cuda_fault_clear(cuda, &fault_address, err);

    if (status == PB_OK)
        status =
            pb_cuda_status(cuda,
                           pb_kernel_fill_check(launch->data, 2 * launch->bytes / sizeof(uint32_t),
                                                launch->salt, fault_address, cuda->info.sm_count),
                           "pb_kernel_fill_check", "checking the data of pairs", err);
    if (status == PB_OK)
        status = pb_cuda_fault_read(cuda, "checking the data of pairs", &fault, err);
    if (status == PB_OK && fault.count > 0)
        status =
            pb_fail(err, PB_DEVICE,
                    "GPU %d: pairs of SMs: address 0x%" PRIx64 ": expected 0x%" PRIx64
                    ", found 0x%" PRIx64 ", and %" PRIu64 " more",
                    cuda->ordinal, fault.address, fault.expected, fault.found, fault.count - 1);
    return status;
}

static enum pb_status collect(struct pb_cuda_device *cuda, const struct pb_kernel_pairs *launch,
                              uint32_t *cycles_out, struct pb_error *err)
{
    size_t bytes = launch->count * sizeof(uint32_t[2][2]);
    uint32_t *stamps = malloc(bytes);
    enum pb_status status;

    if (stamps == NULL)
        return pb_fail(err, PB_NO_MEMORY,
                       "out of memory allocating the stamps of %" PRIu32 " pairs", launch->count);
    status = pb_cuda_download(cuda, stamps, launch->stamps, bytes, "pairs of SMs", err);
    if (status == PB_OK)
        pb_cuda_subtract(stamps, 2 * (size_t)launch->count, cycles_out);
    free(stamps);
    return status;
}

static enum pb_status check_request(const struct pb_cuda_device *cuda, const struct pb_pair *pair,
                                    struct pb_error *err)
{
    if ((unsigned)pair->kind >= PB_PAIR_KIND_COUNT)
        return pb_fail(err, PB_INVALID, "pair: expected a kind from 0 to %d, found %d",
                       PB_PAIR_KIND_COUNT - 1, (int)pair->kind);
    for (size_t i = 0; i < 2 * pair->count; i++)
        if (pair->sms[i / 2][i % 2] >= cuda->info.sm_count)
            return pb_fail(err, PB_INVALID, "pair: SM %" PRIu32 ": expected 0 to %" PRIu32,
                           pair->sms[i / 2][i % 2], cuda->info.sm_count - 1);
    return PB_OK;
}

/* An SM that is paired with itself stamps the first place only. */
static void copy_alone(const struct pb_pair *pair, uint32_t *cycles)
{
    for (size_t i = 0; i < pair->count; i++)
        if (pair->sms[i][0] == pair->sms[i][1])
            cycles[2 * i + 1] = cycles[2 * i];
}

enum pb_status pb_cuda_pair(struct pb_device *device, const struct pb_pair *pair,
                            uint32_t *cycles_out, struct pb_error *err)
{
    struct pb_cuda_device *cuda = (struct pb_cuda_device *)device;
    struct parts parts = lay_out(cuda, pair);
    struct pb_kernel_pairs launch;
    enum pb_status status = pb_cuda_enter(cuda, err);

    if (status == PB_OK)
        status = check_request(cuda, pair, err);
    if (status == PB_OK)
        status = set_up(cuda, pair, &parts, &launch, err);
    if (status == PB_OK)
        status = pb_cuda_status(cuda, pb_kernel_pairs(&launch), "pb_kernel_pairs",
                                "launching pairs of SMs", err);
    if (status == PB_OK)
        status = check_state(cuda, &launch, err);
    if (status == PB_OK)
        status = check_data(cuda, &launch, err);
    if (status == PB_OK)
        status = collect(cuda, &launch, cycles_out, err);
    if (status == PB_OK)
        copy_alone(pair, cycles_out);
    return status;
}
