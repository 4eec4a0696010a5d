/*
 * The layout of a fleet file as one table. Writer, reader, validator and the generated SCHEMA.md
 * traverse it; nothing else in the project knows a path, a column or an attribute by heart.
 */
#ifndef PB_H5SCHEMA_SCHEMA_H
#define PB_H5SCHEMA_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/record.h"

enum {
    PB_SCHEMA_VERSION = 2,
    PB_SCHEMA_VERSION_FIRST = 1, /* the oldest that is read; its names: core/former.h */
};

enum pb_field_type {
    PB_FIELD_TEXT,
    PB_FIELD_I64,
    PB_FIELD_U64,
    PB_FIELD_U32,
    PB_FIELD_I32,
    PB_FIELD_F64
};

/* One column of a table, or one attribute of a group: where it lies in the C structure. */
struct pb_field {
    const char *name;
    enum pb_field_type type;
    size_t offset, size;
    const char *unit; /* "" for names and plain numbers */
    const char *description;
    bool is_later; /* files of before it was added lack it: -1, NaN, 0 or "" is read there */
};

enum pb_object_kind {
    PB_OBJECT_GROUP,  /* attributes only */
    PB_OBJECT_TABLE,  /* one-dimensional, compound */
    PB_OBJECT_ARRAY,  /* one-dimensional numbers */
    PB_OBJECT_MATRIX, /* numbers over dimension scales */
};

struct pb_object {
    const char *path; /* <key> and <test> stand for any name */
    enum pb_object_kind kind;
    bool required;                 /* in every complete file */
    const struct pb_field *fields; /* of a group or a table; else the element as one field */
    size_t field_count;
    size_t record_size; /* of the C structure */
    const char *description;
};

extern const struct pb_object pb_schema[];
extern const size_t pb_schema_count;

/* Whether files of this version are read. */
bool pb_schema_is_read(int64_t version);

/* Gives the texts of records that were read the names of this version; see core/former.h. */
void pb_schema_update(const struct pb_object *object, void *records, size_t count);

/* The object with this exact pattern; a programming error if there is none. */
const struct pb_object *pb_schema_find(const char *path);

/* The layout of a trace file (memtrace.h), in the same form. */
extern const struct pb_object pb_memtrace_schema[];
extern const size_t pb_memtrace_schema_count;

const struct pb_object *pb_memtrace_schema_find(const char *path);

/* For both: the object of a layout with this pattern. */
const struct pb_object *pb_object_find(const struct pb_object *objects, size_t count,
                                       const char *path);

#endif
