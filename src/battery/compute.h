/* Private to the battery: the same computation on every SM, and which of them came to another one.
 */
#ifndef PB_BATTERY_COMPUTE_H
#define PB_BATTERY_COMPUTE_H

#include "battery/battery.h"

/* Steps of a run; with them a run takes 80 us on an H200. */
enum { PB_COMPUTE_STEPS = 256 };

/* Load and rest in turn, all SMs together. */
enum { PB_COMPUTE_REST_US = 100 };

/* So many runs on every SM, with rests or without; the operands are the same everywhere. */
struct pb_compute pb_compute_runs(uint32_t runs, bool is_rested);

/* What one SM came to over the runs. */
struct pb_compute_sm {
    uint64_t wrong;    /* runs that came out other than on most SMs */
    uint64_t checksum; /* over all its runs */
};

/* Runs the computation; sms_out[info.sm_count], *wrong_out: of all of them. */
enum pb_status pb_compute_compare(struct pb_session *session, const struct pb_compute *compute,
                                  struct pb_compute_sm *sms_out, uint64_t *wrong_out,
                                  struct pb_error *err);

#endif
