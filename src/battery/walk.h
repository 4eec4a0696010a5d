/*
 * Private to the battery: one chase taken and filed as a point.
 *
 * A walk says which slots of an array are visited in which order; the device runs a traced
 * or a timed chase; point and accesses go into the recording.
 */
#ifndef PB_BATTERY_WALK_H
#define PB_BATTERY_WALK_H

#include "battery/battery.h"
#include "core/order.h"

enum pb_order {
    PB_ORDER_SEQUENTIAL,
    PB_ORDER_RANDOM, /* one cycle through all slots, drawn with the walk's seed */
    PB_ORDER_PAGES,  /* the first slot of every 2 MiB, then the others at random: warm TLBs */
    PB_ORDER_WORDS,  /* `words` words of every stride, shuffled with the walk's seed */
    PB_ORDER_GIVEN,  /* offset_bytes, as they stand */
};

struct pb_walk {
    enum pb_path path;
    enum pb_order order;
    const char *phase;
    uint64_t footprint_bytes, stride_bytes; /* slots at 0, stride, … below footprint */
    uint64_t base_bytes;                    /* where the array begins; not of PB_ORDER_GIVEN */
    uint64_t warm;                          /* loads; PB_WALK_LAP: one whole lap */
    uint64_t record, timed;                 /* loads; PB_WALK_LAP likewise; one of them is 0 */
    uint64_t words;                         /* of PB_ORDER_WORDS */
    uint64_t seed, repeat;
    bool prefill, flush;
    int64_t carveout_bytes;       /* shared memory set aside; 0: the least that works */
    const uint64_t *offset_bytes; /* PB_ORDER_GIVEN: [offset_count], see struct pb_chase */
    size_t offset_count;
    bool cross; /* the warm loads go by warm_path */
    enum pb_path warm_path;
    uint64_t own_warm; /* of these, so many by path, first */
    uint64_t alias_bytes;
    bool on_sm; /* run on SM sm; else anywhere */
    uint32_t sm;
    /* Of walks that are taken together: so many bytes from a slot on belong to it alone, so that
     * others may use what of them is not its word. 0: nothing but the word. */
    uint64_t slack_bytes;
};

#define PB_WALK_LAP UINT64_MAX

/* So much the second constant cache holds on every GPU that has one. */
enum { PB_CONSTANT_L15_BYTES_MIN = 8192 };

/* Of the pages by which drivers map large arrays. */
enum { PB_PAGE_BYTES = PB_ORDER_PAGE_BYTES };

/* What the battery needs to decide where to go next. Latencies are net of the overhead. */
struct pb_walk_result {
    double mean_cycles;   /* of all loads; of a lap: total by loads */
    double low_cycles;    /* 5% quantile of a trace */
    double median_cycles; /* of a trace */
    double high_cycles;   /* 95% quantile of a trace */
    size_t first;         /* its accesses in the recording's series */
    size_t count;
};

uint64_t pb_walk_slots(const struct pb_walk *walk);

/*
 * Takes the walk and appends the point. result_out may be NULL.
 * Errors are the device's, or PB_NO_MEMORY; then nothing is appended.
 */
enum pb_status pb_walk_take(struct pb_bench *bench, const struct pb_walk *walk,
                            struct pb_recording *recording, struct pb_walk_result *result_out,
                            struct pb_error *err);

/*
 * Takes walks[count] that do not depend on each other, on several SMs at the same time where that
 * changes nothing, and appends their points in order. results_out[count] may be NULL. Errors are
 * those of any of them; then nothing is appended.
 */
enum pb_status pb_walks_take(struct pb_bench *bench, const struct pb_walk *walks, size_t count,
                             struct pb_recording *recording, struct pb_walk_result *results_out,
                             struct pb_error *err);

/* How many of a result's accesses lie in [low, high] cycles, net of the overhead. */
size_t pb_walk_count_between(const struct pb_bench *bench, const struct pb_recording *recording,
                             const struct pb_walk_result *result, double low, double high);

#endif
