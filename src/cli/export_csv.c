/* Comma-separated values; see export_csv.h. */
#include "cli/export_csv.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/csv.h"

/* A line of names of columns. */
static bool is_export(const char *head, size_t length)
{
    const char *end = memchr(head, '\n', length);

    if (end == NULL || memchr(head, ',', (size_t)(end - head)) == NULL)
        return false;
    for (const char *at = head; at < end; at++)
        if (!isalnum((unsigned char)*at) && strchr("_,[]/ ", *at) == NULL)
            return false;
    return true;
}

enum { DIGITS = 17 }; /* so many that a double is the same again */

const struct pb_atomic_file_kind pb_export_kind = {.name = "a table of plumb-export",
                                                   .is_one = is_export};

static void put_name(const char *name, const char *unit, FILE *file)
{
    fputs(name, file);
    if (unit[0] != '\0')
        fprintf(file, " [%s]", unit);
}

static void put_field(const struct pb_field *field, const char *row, FILE *file)
{
    const char *at = row + field->offset;

    switch (field->type) {
    case PB_FIELD_TEXT:
        pb_csv_put_text(at, file);
        break;
    case PB_FIELD_I64:
        fprintf(file, "%" PRId64, *(const int64_t *)(const void *)at);
        break;
    case PB_FIELD_U64:
        fprintf(file, "%" PRIu64, *(const uint64_t *)(const void *)at);
        break;
    case PB_FIELD_U32:
        fprintf(file, "%" PRIu32, *(const uint32_t *)(const void *)at);
        break;
    case PB_FIELD_I32:
        fprintf(file, "%" PRId32, *(const int32_t *)(const void *)at);
        break;
    case PB_FIELD_F64:
        pb_csv_put_number(*(const double *)(const void *)at, DIGITS, file);
        break;
    }
}

void pb_export_rows(const struct pb_object *object, const void *rows, size_t count, FILE *file)
{
    for (size_t i = 0; i < object->field_count; i++) {
        put_name(object->fields[i].name, object->fields[i].unit, file);
        fputc(i + 1 < object->field_count ? ',' : '\n', file);
    }
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < object->field_count; i++) {
            put_field(&object->fields[i], (const char *)rows + k * object->record_size, file);
            fputc(i + 1 < object->field_count ? ',' : '\n', file);
        }
}

void pb_export_accesses(const struct pb_series *series, FILE *file)
{
    fputs("point,index [byte],latency [cycle]\n", file);
    for (size_t i = 0; i < series->point_count; i++) {
        const struct pb_point *point = &series->points[i];

        for (uint64_t k = point->first; k < point->first + point->count; k++)
            fprintf(file, "%zu,%" PRIu64 ",%.10g\n", i, series->index_bytes[k],
                    series->latency_cycles[k] - point->overhead_cycles);
    }
}

void pb_export_matrix(const struct pb_matrix *matrix, FILE *file)
{
    size_t cells = 1;

    for (size_t axis = 0; axis < matrix->rank; axis++) {
        put_name(matrix->axes[axis].name, matrix->axes[axis].unit, file);
        fputc(',', file);
        cells *= matrix->axes[axis].length;
    }
    put_name("value", matrix->unit, file);
    fputc('\n', file);
    for (size_t cell = 0; cell < cells; cell++) {
        size_t below = cells, rest = cell;

        if (!isfinite(matrix->values[cell]))
            continue;
        for (size_t axis = 0; axis < matrix->rank; axis++) {
            const struct pb_axis *of = &matrix->axes[axis];

            below /= of->length;
            if (of->labels != NULL)
                pb_csv_put_text(of->labels[rest / below], file);
            else
                pb_csv_put_number(of->values[rest / below], DIGITS, file);
            fputc(',', file);
            rest %= below;
        }
        pb_csv_put_number(matrix->values[cell], DIGITS, file);
        fputc('\n', file);
    }
}

void pb_export_tests_begin(FILE *file)
{
    fputs("test,status,seconds [s],unit,method,sm_id,message\n", file);
}

void pb_export_test(const struct pb_recording *recording, FILE *file)
{
    pb_csv_put_text(recording->name, file);
    fprintf(file, ",%s,", pb_outcome_name(recording->outcome));
    pb_csv_put_number(recording->seconds, DIGITS, file);
    fputc(',', file);
    pb_csv_put_text(recording->unit, file);
    fputc(',', file);
    pb_csv_put_text(recording->method, file);
    fprintf(file, ",%" PRId64 ",", recording->sm_id);
    pb_csv_put_text(recording->message, file);
    fputc('\n', file);
}
