/* The items of plumb-gpu-smoke in which all SMs take part: work, traffic, computation, clusters. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smoke.h"

/* Runs the work and prints what an SM took; every kind checks its own words or sums. */
static void work(struct smoke *smoke, const struct pb_work *request, const char *name)
{
    uint64_t *cycles = calloc(smoke->info.sm_count, sizeof(*cycles));

    if (cycles != NULL &&
        smoke_could(smoke, smoke->ops->work(smoke->device, request, cycles, &smoke->err))) {
        uint32_t sm = request->sm < 0 ? smoke->info.sm_count - 1 : (uint32_t)request->sm;

        printf("%s, words of %" PRIu32 ": %" PRIu64 " cycles", name, request->word_bytes,
               cycles[sm]);
        smoke_require(smoke, cycles[sm] > 0, "an SM that took part has a time");
    }
    printf("\n");
    free(cycles);
}

/* Every SM its own pieces of 32 MiB, together and one alone; all words are checked. */
static void pieces(struct smoke *smoke)
{
    enum { COUNT = 4 * PB_WORK_PIECES_STEP, ARRAY_PAGES = 16 };
    uint32_t sm_count = smoke->info.sm_count;
    uint32_t(*spans)[2] = calloc(sm_count, sizeof(*spans));
    uint32_t *numbers = calloc((size_t)sm_count * COUNT, sizeof(*numbers));
    struct pb_work read = {.kind = PB_WORK_PIECES,
                           .word_bytes = 16,
                           .bytes =
                               (uint64_t)ARRAY_PAGES * PB_WORK_PIECES_PAGE * PB_WORK_PIECE_BYTES,
                           .repeats = 1,
                           .sm = -1,
                           .pieces = numbers,
                           .piece_count = (size_t)sm_count * COUNT,
                           .spans = (const uint32_t(*)[2])spans};

    for (uint32_t i = 0; spans != NULL && numbers != NULL && i < sm_count * COUNT; i++) {
        numbers[i] = i * 5 % (ARRAY_PAGES * PB_WORK_PIECES_PAGE - 1);
        spans[i / COUNT][0] = i / COUNT * COUNT;
        spans[i / COUNT][1] = COUNT;
    }
    if (spans != NULL && numbers != NULL) {
        work(smoke, &read, "pieces, all SMs");
        read.sm = 1;
        work(smoke, &read, "pieces, one SM");
    }
    free(numbers);
    free(spans);
}

void smoke_works(struct smoke *smoke)
{
    struct pb_work read = {.bytes = 65536, .repeats = 3, .sm = -1};
    struct pb_work bulk = {
        .kind = PB_WORK_BULK, .word_bytes = 1024, .bytes = 65536, .repeats = 9, .depth = 1};
    struct pb_work add = {
        .kind = PB_WORK_ATOMIC, .word_bytes = 4, .repeats = 2, .address_count = 1, .sm = -1};
    static const char *const names[] = {"l1", "l2", "shared"};

    for (int kind = PB_WORK_L1; kind <= PB_WORK_SHARED; kind++)
        for (read.word_bytes = 4; read.word_bytes <= 16; read.word_bytes *= 2) {
            read.kind = (enum pb_work_kind)kind;
            work(smoke, &read, names[kind]);
        }
    work(smoke, &bulk, "bulk, one SM");
    bulk.sm = -1;
    bulk.depth = 4;
    bulk.repeats = 8;
    work(smoke, &bulk, "bulk, all SMs");
    work(smoke, &add, "additions to one address");
    add.address_count = 1000;
    add.sm = 0;
    work(smoke, &add, "additions of one SM");
    pieces(smoke);
}

enum { SLOTS = 64 };

static void traffic(struct smoke *smoke, const struct pb_loaded_chase *request, const char *name)
{
    uint64_t offsets[SLOTS], indices[SLOTS];
    uint32_t cycles[SLOTS];
    struct pb_loaded_chase chase = *request;
    struct pb_chase_trace trace = {.latency_cycles = cycles, .index_bytes = indices};
    double moved = 0.0;

    for (size_t i = 0; i < SLOTS; i++)
        offsets[i] = i * 1024;
    chase.chase.path = PB_PATH_GLOBAL_CG;
    chase.chase.offset_bytes = offsets;
    chase.chase.offset_count = SLOTS;
    chase.chase.record = SLOTS;
    chase.chase.carveout_bytes = -1;
    if (!smoke_could(
            smoke, smoke->ops->loaded_chase(smoke->device, &chase, &trace, &moved, &smoke->err))) {
        printf("\n");
        return;
    }
    printf("%.1f GB/s of others, ", 1e-9 * moved);
    smoke_print_cycles(name, cycles, SLOTS);
    smoke_require(smoke, (moved > 0.0) == (request->background != PB_BACKGROUND_NONE),
                  "others read where they should");
}

void smoke_traffic(struct smoke *smoke)
{
    traffic(smoke, &(struct pb_loaded_chase){.chase = {.sm = -1}, .background = PB_BACKGROUND_L2},
            "beside reads of L2");
    traffic(smoke,
            &(struct pb_loaded_chase){.chase = {.sm = -1, .flush = true},
                                      .background = PB_BACKGROUND_DRAM,
                                      .background_bytes_per_s = 1e11},
            "beside reads of DRAM");
    traffic(smoke, &(struct pb_loaded_chase){.read_bytes = 65536}, "read by its SM");
    traffic(smoke,
            &(struct pb_loaded_chase){
                .read_bytes = 65536, .is_persisting = true, .evict_bytes = 1 << 20},
            "kept by L2");
}

void smoke_computations(struct smoke *smoke)
{
    enum { RUNS = 3 };
    struct pb_compute compute = {.seed = 7, .runs = RUNS, .steps = 16};
    size_t sms = smoke->info.sm_count, wrong = 0;
    uint64_t *sums = malloc(RUNS * sms * sizeof(*sums));

    for (compute.rest_us = 0; sums != NULL && compute.rest_us <= 100; compute.rest_us += 100) {
        if (!smoke_could(smoke, smoke->ops->compute(smoke->device, &compute, sums, &smoke->err)))
            break;
        for (size_t i = 0; i < RUNS * sms; i++)
            wrong += sums[i] != sums[i / sms * sms];
        printf("rest of %" PRIu32 " us: %016" PRIx64 "\n", compute.rest_us, sums[0]);
    }
    smoke_require(smoke, wrong == 0, "every SM computes the same");
    free(sums);
}

void smoke_clusters_shared(struct smoke *smoke)
{
    for (uint32_t size = 1; size <= 16; size *= 2) {
        struct pb_cluster_shared cluster = {size, 2};
        uint32_t sms[2 * 16];
        double cycles[2 * 16 * 16], rates[2 * 16];

        if (smoke_could(smoke, smoke->ops->cluster_shared(smoke->device, &cluster, sms, cycles,
                                                          rates, &smoke->err)))
            printf("clusters of %" PRIu32 ": SM %" PRIu32 ", %.1f cycles, %.1f byte/cycle", size,
                   sms[size - 1], cycles[size - 1], rates[0]);
        printf("\n");
    }
}

/* All states of a chase in the memory of the first other GPU. */
void smoke_peer_chases(struct smoke *smoke)
{
    struct pb_device_entry *entries = NULL;
    size_t count = 0, other = 0;
    uint64_t offsets[SLOTS], indices[SLOTS];
    uint32_t cycles[SLOTS];

    for (size_t i = 0; i < SLOTS; i++)
        offsets[i] = i * 1024;
    if (!smoke_worked(smoke, smoke->ops->enumerate(&entries, &count, &smoke->err)))
        return;
    while (other < count && strcmp(entries[other].uuid, smoke->info.uuid) == 0)
        other++;
    for (int i = 0; other < count && i < 4; i++) {
        struct pb_chase chase = {.path = i % 2 == 0 ? PB_PATH_GLOBAL_CA : PB_PATH_GLOBAL_CG,
                                 .offset_bytes = offsets,
                                 .offset_count = SLOTS,
                                 .warm = i == 2 ? SLOTS : 0,
                                 .record = SLOTS,
                                 .prefill = i > 0,
                                 .flush = i == 0,
                                 .carveout_bytes = -1,
                                 .sm = -1,
                                 .peer = entries[other].uuid};
        struct pb_chase_trace trace = {.latency_cycles = cycles, .index_bytes = indices};

        if (smoke_could(smoke, smoke->ops->chase(smoke->device, &chase, &trace, &smoke->err)))
            smoke_print_cycles("in a peer's memory", cycles, SLOTS);
    }
    if (other == count)
        printf("no other GPU\n");
    free(entries);
}
