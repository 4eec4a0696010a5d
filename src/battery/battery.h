/*
 * The battery: the table of tests, and how one of them is run on an open device.
 *
 * Adding a test is one function in a file of its family and one row in table.c. A test drives
 * device->ops, fills a recording, and draws no conclusions beyond where to measure next.
 */
#ifndef PB_BATTERY_BATTERY_H
#define PB_BATTERY_BATTERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/record.h"
#include "device/device.h"

/* Each battery holds the ones before it. */
enum pb_battery { PB_QUICK, PB_STANDARD, PB_FULL };

/* The caches that the battery looks for. */
enum pb_cache {
    PB_CACHE_L1,
    PB_CACHE_READONLY,
    PB_CACHE_TEXTURE,
    PB_CACHE_CONSTANT,
    PB_CACHE_CONSTANT_L15, /* behind the first constant cache */
    PB_CACHE_L2,
    PB_CACHE_COUNT
};

/* The test sustain ends after so many times its seconds of load, whatever load it could put on. */
enum { PB_SUSTAIN_TIMEOUT_FACTOR = 3 };

/* What one test found and a later one builds on; 0: not measured yet. Never a result. */
struct pb_hints {
    uint64_t edge_bytes; /* the largest footprint without misses */
    uint64_t line_bytes;
    bool is_uneven; /* by where an array begins, its sets fill sooner or later */
};

/*
 * The node's other GPUs, as far as a test must agree with them. barrier() returns when all that
 * take part are at it; number: 0, 1, … of the barriers of a test; *count_out: how many pass it,
 * this one among them. await_links() returns when the links are this one's until the test is over.
 */
struct pb_node_links {
    enum pb_status (*barrier)(void *context, const char *test, int64_t number, int64_t *count_out,
                              struct pb_error *err);
    enum pb_status (*await_links)(void *context, const char *test, struct pb_error *err);
    void *context;
};

/* An open device, what the driver states of it, and what every test needs to know. */
struct pb_session {
    struct pb_device *device;
    struct pb_device_info info;
    enum pb_battery battery;
    uint64_t seed;
    double overhead_cycles; /* between two stamps with the dependent store only */
    struct pb_hints hints[PB_CACHE_COUNT];
    struct pb_stream best_copy;   /* the fastest copy so far */
    double best_copy_bytes_per_s; /* 0: none was taken yet */
    double sustain_seconds;       /* of load in the test sustained_load; 0: by the battery */
    struct pb_node_links links;   /* both NULL: there are no others */
    double waited_seconds;        /* for others, in the test at hand: no part of its duration */
    struct pb_state state;        /* as last read */
    double state_fresh_seconds;   /* how long that is true of the device as well as a new reading */
};

/*
 * Measures and fills the recording. PB_NOT_FOUND: looked everywhere, the record is whole;
 * PB_UNSUPPORTED: this device cannot do it; err says why in both cases.
 */
typedef enum pb_status pb_test_run(struct pb_session *session, struct pb_recording *recording,
                                   struct pb_error *err);

struct pb_test {
    const char *name;    /* the HDF5 group */
    const char *summary; /* for --list */
    const char *unit;
    const char *method; /* procedure and source */
    uint32_t needs;     /* capability bits */
    enum pb_battery battery;
    pb_test_run *run;
    /* 1, 2, …: one more where a change of the test or of its kernels gives an unchanged device
       other numbers. Numbers of two methods are not compared. */
    uint64_t method_version;
};

extern const struct pb_test pb_tests[]; /* ends with a NULL name; runs in this order */

/* What a test requires of the node's other GPUs, which share links with this one. */
enum pb_link_use {
    PB_LINKS_UNUSED,     /* nothing */
    PB_LINKS_EXCLUSIVE,  /* that they leave the links alone meanwhile */
    PB_LINKS_CONCURRENT, /* that they come, too: pb_session_barrier() */
};
enum pb_link_use pb_test_link_use(const struct pb_test *test);

/* Does it want most of a device's memory? */
bool pb_test_is_large(const struct pb_test *test);

/* NULL when no test has this name. */
const struct pb_test *pb_test_find(const char *name);

/* Refuses a name that no test has; err says which test was perhaps meant. */
enum pb_status pb_test_refuse(const char *name, struct pb_error *err);

/* "quick", "standard" or "full". */
const char *pb_battery_name(enum pb_battery battery);

/* The other way; PB_INVALID names what was found. */
enum pb_status pb_battery_parse(const char *name, enum pb_battery *battery_out,
                                struct pb_error *err);

/*
 * The tests to run: those of the battery, or the comma-separated list in `names` (NULL: none
 * given). *tests_out is to be freed; it keeps the table's order and ends with NULL. PB_INVALID: an
 * unknown or empty name.
 */
enum pb_status pb_battery_select(enum pb_battery battery, const char *names,
                                 const struct pb_test ***tests_out, struct pb_error *err);

/* Opens the device and measures what every test needs. On failure nothing stays open. */
enum pb_status pb_session_open(const struct pb_device_ops *ops,
                               const struct pb_device_request *request, enum pb_battery battery,
                               struct pb_session *session_out, struct pb_error *err);
void pb_session_close(struct pb_session *session);

/* Waits at the barrier with this number; *count_out GPUs begin now, 1: no other, 0: the others
 * have begun without this one. */
enum pb_status pb_session_barrier(struct pb_session *session, const char *test, int64_t number,
                                  int64_t *count_out, struct pb_error *err);

/*
 * Waits until the links are this GPU's for the rest of the test. After a barrier the others of that
 * test wait likewise, or are through with it: then nothing else runs on any of them.
 */
enum pb_status pb_session_await_links(struct pb_session *session, const char *test,
                                      struct pb_error *err);

/*
 * Runs one test with the device's state read before and after.
 *
 * A failing test is a result, not an error: the recording says what happened and holds what was
 * measured until then. The status is PB_OK, or PB_LOST when the device is gone.
 */
enum pb_status pb_session_run(struct pb_session *session, const struct pb_test *test,
                              struct pb_recording *recording_out, struct pb_state states_out[2],
                              struct pb_error *err);

#endif
