/* The fields of a state as rows of a table; see state.h. */
#include "core/state.h"

#include <math.h>
#include <string.h>

enum type { F64, I64 };

static const struct {
    const char *column;
    size_t offset;
    enum type type;
} fields[PB_STATE_FIELD_COUNT] = {
#define PB_STATE_FIELD(type, member, column, ...) {column, offsetof(struct pb_state, member), type},
#include "core/state_fields.h"
};

void pb_state_clear(struct pb_state *state_out)
{
    memset(state_out, 0, sizeof(*state_out));
    for (int i = 0; i < PB_STATE_FIELD_COUNT; i++)
        pb_state_set(state_out, (enum pb_state_field)i, NAN);
}

const char *pb_state_column(enum pb_state_field field)
{
    return fields[field].column;
}

double pb_state_get(const struct pb_state *state, enum pb_state_field field)
{
    const char *at = (const char *)state + fields[field].offset;
    double real;
    int64_t count;

    if (fields[field].type == F64) {
        memcpy(&real, at, sizeof(real));
        return real;
    }
    memcpy(&count, at, sizeof(count));
    return count >= 0 ? (double)count : NAN;
}

void pb_state_set(struct pb_state *state, enum pb_state_field field, double value)
{
    char *at = (char *)state + fields[field].offset;
    int64_t count = isnan(value) ? -1 : (int64_t)value;

    if (fields[field].type == F64)
        memcpy(at, &value, sizeof(value));
    else
        memcpy(at, &count, sizeof(count));
}
