/*
 * plumb-gpu-smoke [--small] [--group NAME]... [SELECTOR]: every primitive of the CUDA backend once
 * on a real GPU, or the named groups of them, as a table of raw numbers. --small: small sizes and
 * no judging of times, still every kernel: for compute-sanitizer, which slows each access down a
 * thousandfold.
 *
 * Exit code 0: all primitives worked, and what must hold on any GPU holds; 1: something did not; 2:
 * usage; 77: no GPU. Limit: it judges little; the table is for people.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "smoke.h"

static void print_info(const struct pb_device_info *info)
{
    printf("model %s  uuid %s  pci %s  slot %" PRId64 "\n", info->model, info->uuid,
           info->pci_bus_id, info->slot);
    printf("driver %s  runtime %s  vbios %s  cc %u  caps 0x%x  SMs %u  warp %u  threads %u/%u\n",
           info->driver_version, info->runtime_version, info->vbios, info->compute_capability,
           info->capabilities, info->sm_count, info->warp_size, info->max_threads_per_cta,
           info->max_threads_per_sm);
    printf("memory %.1f of %.1f GiB free  l2 %.1f MiB  shared/SM %" PRIu64 "  shared/CTA %" PRIu64
           "  constant %" PRIu64 "\n",
           (double)info->memory_free_bytes / 0x1p30, (double)info->memory_bytes / 0x1p30,
           (double)info->l2_bytes / 0x1p20, info->shared_per_sm_bytes, info->shared_per_cta_bytes,
           info->constant_bytes);
    printf("windows %" PRIu64 " and %" PRIu64 "  SM %.0f MHz  memory %.0f MHz  theory %.1f GB/s"
           "  ecc %d  mig %d  power %.0f of %.0f W\n",
           info->trace_window, info->trace_window_large, info->sm_clock_max_mhz,
           info->memory_clock_max_mhz, info->theoretical_bytes_per_s / 1e9, info->ecc_enabled,
           info->mig_enabled, info->power_limit_w, info->power_limit_default_w);
}

static void print_state(const struct pb_state *state)
{
    printf("SM %.0f MHz  memory %.0f MHz  %.1f W  %.0f C  memory %.0f C  reasons 0x%" PRIx64 "\n",
           state->sm_clock_mhz, state->memory_clock_mhz, state->power_w, state->temperature_c,
           state->memory_temperature_c, (uint64_t)state->throttle_reasons);
    printf("ecc %" PRId64 "/%" PRId64 "  remapped %" PRId64 "/%" PRId64 " pending %" PRId64
           " failed %" PRId64 "  pcie gen %" PRId64 "/%" PRId64 " x%" PRId64 "/%" PRId64
           " replays %" PRId64 "  used %" PRId64 " MiB  processes %" PRId64 "  NVLinks up %" PRId64
           " errors %" PRId64 "  slowed by power %" PRId64 " ns, by heat %" PRId64 " ns\n",
           state->ecc_corrected, state->ecc_uncorrected, state->remapped_corrected,
           state->remapped_uncorrected, state->remap_pending, state->remap_failed,
           state->pcie_generation, state->pcie_generation_max, state->pcie_width,
           state->pcie_width_max, state->pcie_replays, state->memory_used_bytes >> 20,
           state->processes, state->nvlinks_up, state->nvlink_errors, state->violation_power_ns,
           state->violation_thermal_ns);
}

static void state(struct smoke *smoke)
{
    struct pb_state now;

    if (smoke_worked(smoke, smoke->ops->read_state(smoke->device, &now, &smoke->err)))
        print_state(&now);
}

static void stamps(struct smoke *smoke)
{
    enum { COUNT = 20000 };
    static uint32_t cycles[COUNT];
    static const char *const names[] = {[PB_STAMP_EMPTY] = "empty", [PB_STAMP_STORE] = "store"};

    size_t count = smoke->is_small ? 100 : COUNT;

    for (int i = PB_STAMP_EMPTY; i <= PB_STAMP_STORE; i++)
        if (smoke_worked(smoke, smoke->ops->stamp(smoke->device, (enum pb_stamp)i, count, cycles,
                                                  &smoke->err)))
            smoke_print_cycles(names[i], cycles, count);
}

static void clocks(struct smoke *smoke)
{
    enum { COUNT = 16 };
    struct pb_clock_sample samples[COUNT];

    if (!smoke_worked(smoke, smoke->ops->clock(smoke->device, 0.2, COUNT, samples, &smoke->err)))
        return;
    printf("MHz between samples:");
    for (int i = 1; i < COUNT; i++)
        printf(" %.2f", 1e3 * (double)(samples[i].cycles - samples[i - 1].cycles) /
                            (double)(samples[i].ns - samples[i - 1].ns));
    printf("\n");
    smoke_require(smoke, samples[COUNT - 1].cycles > samples[0].cycles, "the clock runs");
}

/* The same 4 KiB by trace and by pass, on each path: facts 2.5 promise agreement. */
static void hits(struct smoke *smoke)
{
    static const enum pb_path paths[] = {PB_PATH_GLOBAL_CA, PB_PATH_GLOBAL_CG,  PB_PATH_READONLY,
                                         PB_PATH_TEXTURE,   PB_PATH_TEXTURE_2D, PB_PATH_SHARED};

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        double trace_cycles = smoke_trace(smoke, paths[i], 4096, 128, -1, true);
        double pass_cycles = smoke_pass(smoke, paths[i], 4096, 128, -1, -1, false);

        printf("%-10s 4 KiB: trace %.2f (raw median)  lap %.3f\n", pb_path_name(paths[i]),
               trace_cycles, pass_cycles);
    }
}

static void sweep(struct smoke *smoke, enum pb_path path, uint64_t low, uint64_t high,
                  uint64_t stride, bool prefill)
{
    printf("%s stride %" PRIu64 ":", pb_path_name(path), stride);
    for (uint64_t bytes = low; bytes <= high; bytes *= 2) {
        printf(" %" PRIu64 "K=%.1f", bytes >> 10,
               smoke_pass(smoke, path, bytes, stride, -1, -1, prefill));
        if (bytes > low && 3 * bytes / 2 <= high)
            printf(" %" PRIu64 "K=%.1f", 3 * bytes / 2 >> 10,
                   smoke_pass(smoke, path, 3 * bytes / 2, stride, -1, -1, prefill));
    }
    printf("\n");
}

static void l1_sweep(struct smoke *smoke)
{
    sweep(smoke, PB_PATH_GLOBAL_CA, 1 << 10, (smoke->is_small ? 16 : 512) << 10, 128, false);
}

static void l2_sweep(struct smoke *smoke)
{
    sweep(smoke, PB_PATH_GLOBAL_CG, 1 << 20, (smoke->is_small ? 2 : 256) << 20, 128, true);
}

/* Where the unified L1 ends for each carve-out: is the one asked for the one that is set? */
static void carveouts(struct smoke *smoke)
{
    static const int64_t kib[] = {-1, 0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
    const uint64_t step = smoke->is_small ? 128 : 8;

    for (size_t i = 0; i < sizeof(kib) / sizeof(kib[0]); i++) {
        int64_t bytes = kib[i] < 0 ? -1 : 1024 * kib[i];

        if (bytes > (int64_t)smoke->info.shared_per_sm_bytes)
            continue;
        printf("carveout %" PRId64 "K:", kib[i]);
        for (uint64_t footprint = step; footprint <= 256; footprint += step)
            printf(" %" PRIu64 "=%.0f", footprint,
                   smoke_pass(smoke, PB_PATH_GLOBAL_CA, 1024 * footprint, 128, bytes, -1, false));
        printf("  (configured %" PRIu64 ")\n", smoke->carveout_bytes);
    }
}

static void traces(struct smoke *smoke)
{
    smoke_trace(smoke, PB_PATH_GLOBAL_CA, 64 << 10, smoke->is_small ? 128 : 32, -1, true);
    smoke_trace(smoke, PB_PATH_GLOBAL_CG, 64 << 10, 128, -1, false);
    smoke_trace(smoke, PB_PATH_SHARED, 8 << 10, 128, -1, true);
    if (smoke->is_small)
        return;
    smoke_trace(smoke, PB_PATH_GLOBAL_CA, 192 << 10, 128, -1, true);
    smoke_trace(smoke, PB_PATH_GLOBAL_CA, 1 << 20, 32, -1, true);
    smoke_trace(smoke, PB_PATH_GLOBAL_CG, 8 << 20, 128, -1, true);
    smoke_trace(smoke, PB_PATH_GLOBAL_CG, 8 << 20, 32, -1, false);
    smoke_trace(smoke, PB_PATH_SHARED, 64 << 10, 32, -1, true);
}

static void some_sms(struct smoke *smoke)
{
    uint32_t last = smoke->info.sm_count - 1;

    for (uint32_t sm = 0; sm <= last;
         sm = sm == last ? last + 1 : (sm + 17 < last ? sm + 17 : last))
        printf("SM %u: lap %.2f on %" PRId64 "  ", sm,
               smoke_pass(smoke, PB_PATH_GLOBAL_CG, 1 << 20, 128, -1, sm, true), smoke->sm_id);
    printf("\n");
}

static void conflicts(struct smoke *smoke)
{
    static const uint32_t words[] = {4, 8, 16};

    for (size_t w = 0; w < 3; w++) {
        printf("%u-byte words, stride=median:", words[w]);
        for (uint32_t stride = 0; stride <= 64;
             stride += stride < 8 ? 1 : (smoke->is_small ? 28 : 8))
            printf(" %u=%u", stride, smoke_conflict(smoke, words[w], stride));
        printf("\n");
    }
}

/* One kernel for each kind, word and number of words in flight. */
static void all_streams(struct smoke *smoke)
{
    for (int kind = PB_STREAM_COPY; kind <= PB_STREAM_WRITE; kind++)
        for (uint32_t ilp = 1; ilp <= 8; ilp *= 2)
            for (uint32_t word_bytes = 4; word_bytes <= 16; word_bytes *= 2)
                smoke_stream(smoke, (enum pb_stream_kind)kind, smoke->info.sm_count, 256, ilp,
                             word_bytes);
}

static void streams(struct smoke *smoke)
{
    static const enum pb_stream_kind kinds[] = {PB_STREAM_COPY, PB_STREAM_READ, PB_STREAM_WRITE};
    uint32_t sms = smoke->info.sm_count;

    if (smoke->is_small) {
        all_streams(smoke);
        return;
    }
    for (int k = 0; k < 3; k++) {
        smoke_stream(smoke, kinds[k], sms, 1024, 1, 4);
        smoke_stream(smoke, kinds[k], 2 * sms, 1024, 4, 4);
        smoke_stream(smoke, kinds[k], 4 * sms, 512, 4, 16);
        smoke_stream(smoke, kinds[k], 16 * sms, 256, 8, 16);
        smoke_stream(smoke, kinds[k], 3 * sms + 1, 96, 2, 8);
    }
}

/* What must be refused is refused, and the device goes on working. */
static void refusals(struct smoke *smoke)
{
    uint64_t twice[] = {0, 128, 128}, odd[] = {0, 4};
    struct pb_chase chase = {
        .offset_bytes = twice, .offset_count = 3, .timed = 8, .sm = -1, .carveout_bytes = -1};
    struct pb_chase_trace trace;
    enum pb_status status = smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err);

    printf("slot twice: %s: %s\n", pb_status_name(status), smoke->err.message);
    smoke_require(smoke, status == PB_INVALID, "a slot that comes twice is refused");
    chase.offset_bytes = odd;
    chase.offset_count = 2;
    status = smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err);
    smoke_require(smoke, status == PB_INVALID, "an odd offset is refused");
    chase.offset_count = 1;
    chase.path = PB_PATH_CONSTANT;
    chase.cross = true;
    status = smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err);
    smoke_require(smoke, status == PB_INVALID, "constant memory is not crossed");
    smoke_pass(smoke, PB_PATH_GLOBAL_CA, 4096, 128, -1, -1, false);
}

static const struct item {
    const char *name;
    void (*run)(struct smoke *smoke);
} items[] = {
    {"state", state},
    {"stamps", stamps},
    {"clock", clocks},
    {"hits", hits},
    {"l1", l1_sweep},
    {"l2", l2_sweep},
    {"carveouts", carveouts},
    {"traces", traces},
    {"sms", some_sms},
    {"conflicts", conflicts},
    {"streams", streams},
    {"textures", smoke_textures},
    {"constants", smoke_constants},
    {"crosses", smoke_crosses},
    {"aliases", smoke_aliases},
    {"tlbs", smoke_tlbs},
    {"abreast", smoke_abreast},
    {"bursts", smoke_bursts},
    {"maps", smoke_maps},
    {"neighbours", smoke_neighbours},
    {"studies", smoke_studies},
    {"shared", smoke_shared_streams},
    {"links", smoke_links},
    {"patterns", smoke_patterns},
    {"works", smoke_works},
    {"traffic", smoke_traffic},
    {"computations", smoke_computations},
    {"clusters_shared", smoke_clusters_shared},
    {"peer_chases", smoke_peer_chases},
    {"refusals", refusals},
    {"state", state},
};

enum { ITEM_COUNT = sizeof(items) / sizeof(items[0]) };

static bool is_item(const char *name)
{
    for (int i = 0; i < ITEM_COUNT; i++)
        if (strcmp(items[i].name, name) == 0)
            return true;
    return false;
}

/* What the command line asks for. */
struct order {
    const char *selector; /* NULL: the first GPU */
    const char *groups[ITEM_COUNT];
    int group_count; /* 0: all */
    bool is_small;
};

static bool read_order(int argc, char **argv, struct order *order_out)
{
    struct order order = {NULL, {NULL}, 0, false};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--small") == 0) {
            order.is_small = true;
        } else if (strcmp(argv[i], "--group") == 0 && i + 1 < argc) {
            if (!is_item(argv[++i]) || order.group_count == ITEM_COUNT) {
                fprintf(stderr, "plumb-gpu-smoke: no group named %s\n", argv[i]);
                return false;
            }
            order.groups[order.group_count++] = argv[i];
        } else if (argv[i][0] != '-' && order.selector == NULL) {
            order.selector = argv[i];
        } else {
            fprintf(stderr, "plumb-gpu-smoke [--small] [--group NAME]... [SELECTOR]\n");
            return false;
        }
    }
    *order_out = order;
    return true;
}

static bool is_wanted(const char *name, const struct order *order)
{
    for (int i = 0; i < order->group_count; i++)
        if (strcmp(order->groups[i], name) == 0)
            return true;
    return order->group_count == 0;
}

static void run_item(struct smoke *smoke, const struct item *item)
{
    double start = pb_time_monotonic_seconds();

    printf("-- %s\n", item->name);
    smoke->ops->begin_test(smoke->device, item->name, false, &smoke->err);
    item->run(smoke);
    printf("[%s: %.3f s]\n", item->name, pb_time_monotonic_seconds() - start);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct smoke smoke = {.ops = &pb_device_cuda, .err = PB_ERROR_INIT};
    struct pb_device_request request = {.selector = NULL};
    double begin = pb_time_monotonic_seconds();
    struct order order;
    enum pb_status status;

    if (!read_order(argc, argv, &order))
        return 2;
    request.selector = order.selector;
    smoke.is_small = order.is_small;
    status = smoke.ops->open(&request, &smoke.device, &smoke.err);
    if (status != PB_OK) {
        fprintf(stderr, "plumb-gpu-smoke: %s\n", smoke.err.message);
        return status == PB_NOT_FOUND ? 77 : 1;
    }
    smoke.ops->describe(smoke.device, &smoke.info, &smoke.err);
    print_info(&smoke.info);
    printf("[open: %.3f s]\n", pb_time_monotonic_seconds() - begin);
    for (int i = 0; i < ITEM_COUNT; i++)
        if (is_wanted(items[i].name, &order))
            run_item(&smoke, &items[i]);
    smoke.ops->close(smoke.device);
    printf("failures: %u\n", smoke.failures);
    return smoke.failures > 0;
}
