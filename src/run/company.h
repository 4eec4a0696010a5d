/*
 * The GPUs of one node and the links they share: who may measure alone now, and who meets whom.
 *
 * One process of the node keeps the company; the others send it letters and get GO letters back. A
 * turn is one member's alone. A meeting begins when all who will ever come are there and nobody has
 * the turn. Whoever is late forfeits: a turn ends after turn_seconds, a meeting waits meet_seconds
 * at most, or so long after the last turn began or ended, since those in line for one cannot come.
 * Who was late is not waited for again until it is heard of. So a device that hangs costs the
 * others that much and no more.
 *
 * Who was at a meeting is in the middle of it until its next letter, and meanwhile nobody gets a
 * turn. So those who all ask for a turn after a meeting get it one after the other, each while the
 * others do nothing but wait, or are through with it.
 *
 * Limit: it knows nothing of MPI, probes or clocks: letters and the time come from the caller.
 */
#ifndef PB_RUN_COMPANY_H
#define PB_RUN_COMPANY_H

#include <stdbool.h>

#include "run/notes.h"

enum pb_letter_kind {
    PB_LETTER_TRY,   /* a turn, now or not at all */
    PB_LETTER_TURN,  /* a turn, when it comes */
    PB_LETTER_MEET,  /* the meeting `number` of `test` */
    PB_LETTER_LEAVE, /* what was asked for, or granted, is over */
    PB_LETTER_PASS,  /* no more meetings of `test` */
    PB_LETTER_GONE,  /* nothing more at all */
    PB_LETTER_GO,    /* the answer: `count` members begin now; 0: not now */
};

/* A plain block of bytes. */
struct pb_letter {
    int64_t kind;
    int64_t serial; /* of the question; its answer has the same */
    int64_t number; /* of the meeting: 0, 1, … */
    int64_t count;
    char test[PB_NAME_LENGTH];
};

struct pb_company_rules {
    size_t member_count;
    const struct pb_test_list *tests; /* must outlive the company */
    double turn_seconds, meet_seconds;
};

struct pb_company;

enum pb_status pb_company_create(const struct pb_company_rules *rules,
                                 struct pb_company **company_out, struct pb_error *err);
void pb_company_free(struct pb_company *company); /* NULL is allowed */

/* Takes a member's letter. seconds: of any clock that never goes back. */
void pb_company_hear(struct pb_company *company, size_t member, const struct pb_letter *letter,
                     double seconds);

/* The next answer that is due now; false: none is. To be called until then. */
bool pb_company_answer(struct pb_company *company, double seconds, size_t *member_out,
                       struct pb_letter *letter_out);

/* Is everybody gone? */
bool pb_company_is_over(const struct pb_company *company);

#endif
