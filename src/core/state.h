/* The state of a device at one moment; its fields are the rows of core/state_fields.h. */
#ifndef PB_CORE_STATE_H
#define PB_CORE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/record.h"

#define PB_STATE_F64 double
#define PB_STATE_I64 int64_t

/* One sample, a row of `state`. NaN and -1 mean: not known. */
struct pb_state {
    double unix_seconds;
    char test[PB_NAME_LENGTH]; /* the test it belongs to */
    char when[PB_NAME_LENGTH]; /* before, after, during */
#define PB_STATE_FIELD(type, member, ...) PB_STATE_##type member;
#include "core/state_fields.h"
};

/* The fields by number: PB_STATE_sm_clock_mhz, … in the order of the rows. */
enum pb_state_field {
#define PB_STATE_FIELD(type, member, ...) PB_STATE_##member,
#include "core/state_fields.h"
    PB_STATE_FIELD_COUNT
};

/* All fields unknown. */
void pb_state_clear(struct pb_state *state_out);

const char *pb_state_column(enum pb_state_field field);

/* A field as a number; NaN: not known. Counts are exact to 2^53. */
double pb_state_get(const struct pb_state *state, enum pb_state_field field);
void pb_state_set(struct pb_state *state, enum pb_state_field field, double value);

#endif
