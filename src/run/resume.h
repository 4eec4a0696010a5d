/* What became of which tests of which devices, by an earlier run's file and spools. */
#ifndef PB_RUN_RESUME_H
#define PB_RUN_RESUME_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "run/notes.h"
#include "run/tally.h"

/* One test, done if it is ok. A plain block of bytes: ranks send each other arrays of these. */
struct pb_done {
    char key[PB_KEY_LENGTH];
    char uuid[PB_TEXT_LENGTH];
    char model[PB_TEXT_LENGTH]; /* empty: not known */
    char test[PB_NAME_LENGTH];
    enum pb_outcome outcome;
};

/* Start from all zero; free(items). */
struct pb_done_list {
    struct pb_done *items;
    size_t count, capacity;
};

enum pb_status pb_done_add(struct pb_done_list *list, const struct pb_done *done,
                           struct pb_error *err);

/* Adds what a fleet file, or the whole frames of a spool file, hold; PB_OK when there is none. */
enum pb_status pb_done_add_fleet(struct pb_done_list *list, const char *path, struct pb_error *err);
enum pb_status pb_done_add_spool(struct pb_done_list *list, const char *path, struct pb_error *err);

bool pb_done_has(const struct pb_done_list *list, const char *key, const char *uuid,
                 const char *test);

/* Counts each test of the device that stays as it is: all but those of `tests` that are not done.
 */
void pb_done_tally(const struct pb_done_list *list, const char *key, const char *uuid,
                   const struct pb_test_list *tests, struct pb_tally *tally);

/* Those of `tests` that are not done; rest_out->specs is to be freed. */
enum pb_status pb_done_rest(const struct pb_done_list *list, const char *key, const char *uuid,
                            const struct pb_test_list *tests, struct pb_test_list *rest_out,
                            struct pb_error *err);

#endif
