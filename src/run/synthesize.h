/* Frames that are made on the supervising side: for what no probe can report. All packed, to be
 * freed.
 */
#ifndef PB_RUN_SYNTHESIZE_H
#define PB_RUN_SYNTHESIZE_H

#include "run/frame.h"
#include "run/messages.h"

/* A DEVICE of which no more is known than its probe said on opening it. */
enum pb_status pb_synthesize_device(const char *key, const char *backend,
                                    const struct pb_opened *opened, size_t test_count,
                                    void **bytes_out, size_t *size_out, struct pb_error *err);

/* A TEST without results: hung, crashed, lost or missing; seconds it took until then. */
enum pb_status pb_synthesize_outcome(const char *key, const char *uuid,
                                     const struct pb_test_spec *spec, enum pb_outcome outcome,
                                     double seconds, const char *message, void **bytes_out,
                                     size_t *size_out, struct pb_error *err);

/* A MEMBER: the row as the body; key, status, seconds and text in the message. */
enum pb_status pb_synthesize_member(const struct pb_member *member, void **bytes_out,
                                    size_t *size_out, struct pb_error *err);

/* A PLAN. */
enum pb_status pb_synthesize_plan(const struct pb_plan *plan, void **bytes_out, size_t *size_out,
                                  struct pb_error *err);

#endif
