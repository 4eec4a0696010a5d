/*
 * The loads of one launch of a chase, those before the record too.
 *
 * A chase links its slots into one cycle and begins at the first. The record shows part of it; the
 * rest follows from order, footprint, stride and seed, or, where the battery gave the order, from a
 * record that shows a whole pass.
 */
#ifndef PB_ANALYSIS_AGREEMENT_SEQUENCE_H
#define PB_ANALYSIS_AGREEMENT_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/trace.h"
#include "core/record.h"

struct pb_sequence {
    /* [period] owned; load t of the launch is offset_bytes[t % period]. Of a sweep that the record
       shows from its first load on, the slots that it does not show are in no order. */
    uint64_t *offset_bytes;
    size_t period;                    /* > 0 */
    size_t room;                      /* of offset_bytes */
    uint64_t least_bytes, most_bytes; /* offsets of the slots */
    bool is_ascending;                /* no slot lies before the one that was loaded before it */
    uint64_t warm;                    /* loads before the record */
    bool is_known; /* false: only the record itself is: warm loads went elsewhere */
    /* Of some loads only the stride they lie in is known: enough for TLBs, not for sets of lines.
     */
    bool is_laid_out;
    uint64_t apart_bytes; /* no two slots are nearer; 0: not known */
    bool is_part; /* the chase links more slots, which neither columns nor the record show */
};

/*
 * accesses  of the point; not empty
 * sequence  of another point, whose room is taken over, or zeros; to be cleared after errors, too
 *
 * PB_NO_MEMORY
 */
enum pb_status pb_sequence_make(const struct pb_point *point, const struct pb_accesses *accesses,
                                struct pb_sequence *sequence, struct pb_error *err);
void pb_sequence_clear(struct pb_sequence *sequence); /* NULL is allowed */

/* The slot that load `load` of the launch reads. */
static inline size_t pb_sequence_slot(const struct pb_sequence *sequence, uint64_t load)
{
    return sequence->period > 0 ? (size_t)(load % sequence->period) : 0;
}

#endif
