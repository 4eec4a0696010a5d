/* Prints SCHEMA.md from the schema table; a test compares it with the file in the tree. */
#include <stdio.h>

#include "core/former.h"
#include "h5schema/memtrace.h"
#include "h5schema/schema.h"

static const char *const type_names[] = {
    [PB_FIELD_TEXT] = "text",  [PB_FIELD_I64] = "int64", [PB_FIELD_U64] = "uint64",
    [PB_FIELD_U32] = "uint32", [PB_FIELD_I32] = "int32", [PB_FIELD_F64] = "float64",
};

static const char *const kind_names[] = {
    [PB_OBJECT_GROUP] = "group, attributes",
    [PB_OBJECT_TABLE] = "table, columns",
    [PB_OBJECT_ARRAY] = "array, one-dimensional",
    [PB_OBJECT_MATRIX] = "matrix over dimension scales, elements",
};

static void print_object(const struct pb_object *object)
{
    printf("\n## `%s`\n\n%s (%s).\n\n| name | type | unit | meaning |\n|---|---|---|---|\n",
           object->path, object->description, kind_names[object->kind]);
    for (size_t i = 0; i < object->field_count; i++) {
        const struct pb_field *field = &object->fields[i];

        printf("| `%s` | %s", field->name, type_names[field->type]);
        if (field->type == PB_FIELD_TEXT)
            printf(" %zu", field->size);
        printf(" | %s | %s%s |\n", field->unit, field->description,
               field->is_later ? " (not in older files)" : "");
    }
}

static void print_objects(const struct pb_object *objects, size_t count)
{
    for (size_t i = 0; i < count; i++)
        print_object(&objects[i]);
}

/* What readers of files of version 1 need to know. */
static void print_former_names(void)
{
    static const char *const kinds[] = {[PB_NAME_OF_TEST] = "test",
                                        [PB_NAME_OF_MODE] = "`mode` of points",
                                        [PB_NAME_OF_PARAMETER] = "parameter"};

    printf("\n## Names of version 1\n\n"
           "Version 2 has the layout of version 1 and other names. plumb reads both, and writes "
           "version 2. A file of\nversion 1 that was analysed since has new names in `/analysis` "
           "and old ones elsewhere, so that a reader\nbest takes either name in every file.\n\n"
           "| what | version 1 | version 2 |\n|---|---|---|\n");
    for (size_t i = 0; i < pb_former_name_count; i++)
        printf("| %s | `%s` | `%s` |\n", kinds[pb_former_names[i].kind], pb_former_names[i].before,
               pb_former_names[i].now);
}

int main(void)
{
    printf("# The fleet file, version %d\n\n"
           "Made from `h5schema/schema.c` and `h5schema/memtrace_schema.c` by `pb-schema-doc`; do "
           "not edit.\n\n"
           "HDF5, readable by version 1.10 and later. Every dataset is chunked, shuffled, deflated "
           "and carries\nFletcher-32 checksums and the attributes `unit` and `description`. Text "
           "is UTF-8 of fixed length,\npadded with zeros. An image (a frame's payload, see "
           "`file.h`) holds one device, test or row in the same\nlayout.\n",
           PB_SCHEMA_VERSION);
    print_objects(pb_schema, pb_schema_count);
    print_former_names();
    printf("\n# The trace file, version %d\n\n"
           "What `plumb-trace` writes and `plumb-model` reads: HDF5 of the same kind, with these "
           "objects.\n",
           PB_MEMTRACE_VERSION);
    print_objects(pb_memtrace_schema, pb_memtrace_schema_count);
    return 0;
}
