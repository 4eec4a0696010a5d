/*
 * Names of version 1 of the schema, and what version 2 calls the same things.
 *
 * Whoever reads files, JSON or options of version 1 looks here and nowhere else. A name of version
 * 1 means nothing else in version 2, so that a reader need not know which version it has before it.
 */
#ifndef PB_CORE_FORMER_H
#define PB_CORE_FORMER_H

#include <stddef.h>

enum pb_name_kind {
    PB_NAME_OF_TEST,      /* groups under tests/, columns `test` */
    PB_NAME_OF_MODE,      /* column `mode` of points */
    PB_NAME_OF_PARAMETER, /* also behind a memory and a dot: mshr.per_sm */
};

struct pb_former_name {
    enum pb_name_kind kind;
    const char *before, *now;
};

extern const struct pb_former_name pb_former_names[];
extern const size_t pb_former_name_count;

/* What `name` is called now: another text where it is a name of version 1, else `name` itself. */
const char *pb_name_now(enum pb_name_kind kind, const char *name);

/* What version 1 called it; NULL: nothing else. */
const char *pb_name_before(enum pb_name_kind kind, const char *name);

/* Replaces a name of version 1 in a text of `size` bytes, its end included. */
void pb_name_update(enum pb_name_kind kind, char *text, size_t size);

#endif
