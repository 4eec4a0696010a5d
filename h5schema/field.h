/* Private to h5schema/: how the tables of the layouts name the fields of C structures. */
#ifndef PB_H5SCHEMA_FIELD_H
#define PB_H5SCHEMA_FIELD_H

#include "h5schema/schema.h"

#define FIELD(type, record, member, name, unit, description)                                       \
    {                                                                                              \
        name, PB_FIELD_##type, offsetof(struct record, member),                                    \
            sizeof(((struct record *)0)->member), unit, description, false                         \
    }
/* A field that was added to this version of the schema after the first files were written. */
#define LATER(type, record, member, name, unit, description)                                       \
    {                                                                                              \
        name, PB_FIELD_##type, offsetof(struct record, member),                                    \
            sizeof(((struct record *)0)->member), unit, description, true                          \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
