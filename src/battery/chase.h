/*
 * Private to the battery: one chase taken and filed as a point.
 *
 * A pb_chase_spec says which slots of an array are loaded in which order; the device runs a traced
 * or a timed chase; point and accesses go into the recording.
 */
#ifndef PB_BATTERY_CHASE_H
#define PB_BATTERY_CHASE_H

#include "battery/battery.h"
#include "core/order.h"

enum pb_order {
    PB_ORDER_SEQUENTIAL,
    PB_ORDER_RANDOM, /* one cycle through all slots, shuffled by the chase's seed */
    PB_ORDER_PAGES,  /* the first slot of every 2 MiB, then the others at random: warm TLBs */
    PB_ORDER_WORDS,  /* `words` words of every stride, shuffled with the chase's seed */
    PB_ORDER_GIVEN,  /* offset_bytes, as they stand */
};

struct pb_chase_spec {
    enum pb_path path;
    enum pb_order order;
    const char *phase;
    uint64_t footprint_bytes, stride_bytes; /* slots at 0, stride, … below footprint */
    uint64_t base_bytes;                    /* where the array begins; not of PB_ORDER_GIVEN */
    uint64_t warm;                          /* loads; PB_WHOLE_PASS: one whole pass */
    uint64_t record, timed;                 /* loads; PB_WHOLE_PASS likewise; one of them is 0 */
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
    /* Of chases that are taken together: so many bytes from a slot on belong to it alone, so that
     * others may use what of them is not its word. 0: nothing but the word. */
    uint64_t slack_bytes;
};

#define PB_WHOLE_PASS UINT64_MAX

/* So much the second constant cache holds on every GPU that has one. */
enum { PB_CONSTANT_L15_BYTES_MIN = 8192 };

/* Of the pages by which drivers map large arrays. */
enum { PB_PAGE_BYTES = PB_ORDER_PAGE_BYTES };

/* What the battery needs to decide where to go next. Latencies are net of the overhead. */
struct pb_chase_result {
    double mean_cycles;   /* of all loads; of a pass: total by loads */
    double low_cycles;    /* 5% quantile of a trace */
    double median_cycles; /* of a trace */
    double high_cycles;   /* 95% quantile of a trace */
    size_t first;         /* its accesses in the recording's series */
    size_t count;
};

uint64_t pb_chase_slots(const struct pb_chase_spec *spec);

/*
 * Takes the chase and appends the point. result_out may be NULL.
 * Errors are the device's, or PB_NO_MEMORY; then nothing is appended.
 */
enum pb_status pb_chase_take(struct pb_session *session, const struct pb_chase_spec *spec,
                             struct pb_recording *recording, struct pb_chase_result *result_out,
                             struct pb_error *err);

/*
 * Takes chases[count] that do not depend on each other, on several SMs at the same time where that
 * changes nothing, and appends their points in order. results_out[count] may be NULL. Errors are
 * those of any of them; then nothing is appended.
 */
enum pb_status pb_chases_take(struct pb_session *session, const struct pb_chase_spec *specs,
                              size_t count, struct pb_recording *recording,
                              struct pb_chase_result *results_out, struct pb_error *err);

/* How many of a result's accesses lie in [low, high] cycles, net of the overhead. */
size_t pb_chase_count_between(const struct pb_session *session,
                              const struct pb_recording *recording,
                              const struct pb_chase_result *result, double low, double high);

#endif
