/*
 * The chases over the lines of one set as a recording holds them: phases "victim" and "random".
 *
 * The battery took for a line of the set whatever missed once. An access that was slow for another
 * reason brings in a line of another set: it misses when it is loaded first, and never again.
 */
#ifndef PB_ANALYSIS_CACHE_SET_CHASES_H
#define PB_ANALYSIS_CACHE_SET_CHASES_H

#include "analysis/cache/level.h"
#include "analysis/cache/replacement.h"

/* All chases, with lines numbered by address. */
struct pb_set_chases {
    struct pb_set_trace *traces;
    size_t count;
    uint64_t *address; /* of all lines that were read, by their chases' stride; ascending */
    size_t line_count;
    uint32_t *line;
    enum pb_observed *observed;
    size_t access_count;
};

/* PB_NO_MEMORY is the only error; there may be none. pb_set_chases_clear() them in any case. */
enum pb_status pb_set_chases_read(const struct pb_cache_level *level,
                                  struct pb_set_chases *chases_out, struct pb_error *err);
void pb_set_chases_clear(struct pb_set_chases *chases);

/*
 * Leaves out lines of other sets. `ways`: of the set, which has one line more here than fits; 0:
 * not known. Where nothing tells them apart, they stay. PB_NO_MEMORY.
 */
enum pb_status pb_set_chases_drop_foreign(struct pb_set_chases *chases, size_t ways,
                                          struct pb_error *err);

#endif
