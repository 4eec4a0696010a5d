/*
 * Where frames become a fleet file, and events for a listener: rank 0 of a job, and a probe that
 * works alone.
 *
 * Limit: memory is the largest frame at hand plus a few words per rank.
 */
#ifndef PB_RUN_COLLECT_H
#define PB_RUN_COLLECT_H

#include <stdbool.h>
#include <stddef.h>

#include "h5schema/file.h"
#include "run/frame.h"
#include "run/messages.h"

enum pb_run_event_kind {
    PB_RUN_EVENT_DEVICE, /* a rank begins */
    PB_RUN_EVENT_START,  /* a test begins */
    PB_RUN_EVENT_TEST,   /* a test has ended */
    PB_RUN_EVENT_MEMBER, /* a rank has ended */
};

/* Something that happened; valid during the call. */
struct pb_run_event {
    enum pb_run_event_kind kind;
    size_t rank;
    const struct pb_test_report *report; /* key, test, outcome, seconds, message */
    size_t test_number;                  /* 1, 2, …: tests begun by this rank */
    size_t test_count;                   /* of this rank */
};

struct pb_run_listener {
    void (*notify)(void *context, const struct pb_run_event *event);
    void (*tick)(void *context); /* called now and then while nothing happens */
    void (*message)(void *context,
                    const char *line); /* what people should know; NULL: not reported */
    void *context;
};

struct pb_collect;

/*
 * Starts the file `path` for rank_count ranks. claim: on that file, borrowed; the observer is
 * copied. As pb_fleet_create().
 */
enum pb_status pb_collect_open(const char *path, const struct pb_run *run,
                               const struct pb_claim *claim, size_t rank_count,
                               const struct pb_run_listener *observer,
                               struct pb_collect **collect_out, struct pb_error *err);

/* Adds what an earlier run has left, its fleet file or a frame of its spools; that is no event of
 * this run. */
enum pb_status pb_collect_carry_file(struct pb_collect *collect, const char *path,
                                     struct pb_error *err);
enum pb_status pb_collect_carry_frame(struct pb_collect *collect, const struct pb_frame *frame,
                                      struct pb_error *err);

/*
 * Takes a DEVICE, START, TEST or MEMBER frame of a rank; others are ignored. The image of a TEST
 * was read by pb_image_check(). After the first that
 * the file does not take, the file is given up with the space that it has on the disk, which the
 * spools may need; the observer still gets the frames. The first failure is returned.
 */
enum pb_status pb_collect_take(struct pb_collect *collect, size_t rank,
                               const struct pb_frame *frame, struct pb_error *err);

/* What a finished file holds. */
struct pb_summary {
    size_t member_count; /* rows of /fleet */
    size_t ok_count;     /* rows that are ok */
    size_t test_ok_count;
    size_t test_failed_count;
};

/*
 * Puts the file in place. The collect is gone either way. PB_IO: the file has fewer finished tests
 * than a rank's row says, because one that an earlier run has left could not be read again.
 */
enum pb_status pb_collect_commit(struct pb_collect *collect, struct pb_summary *summary_out,
                                 struct pb_error *err);

/*
 * The same for a fleet file that was filled in another way. rank_count: the rows of so many ranks
 * are of this run; what other rows promise may be damaged.
 */
enum pb_status pb_fleet_finish(struct pb_fleet *fleet, size_t rank_count,
                               struct pb_summary *summary_out, struct pb_error *err);

/* Gives the file up; NULL is allowed. */
void pb_collect_abandon(struct pb_collect *collect);

#endif
