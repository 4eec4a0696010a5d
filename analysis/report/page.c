/* Escaping, numbers, and memory of a page in progress; see page.h. */
#include "analysis/report/page.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

enum { TEXT_MAX = 1024 }; /* bytes of one text from outside; the longest of a file has 512 */

struct pb_scratch {
    struct pb_scratch *next;
    double numbers[];
};

void pb_page_fail(struct pb_page *page)
{
    if (page->status == PB_OK)
        page->status = pb_fail(page->err, PB_NO_MEMORY, "out of memory writing the report");
}

static void *take(struct pb_page *page, size_t bytes)
{
    struct pb_scratch *scratch = calloc(1, sizeof(*scratch) + bytes + 1);

    if (scratch == NULL) {
        pb_page_fail(page);
        return NULL;
    }
    scratch->next = page->scratch;
    page->scratch = scratch;
    return scratch->numbers;
}

double *pb_page_numbers(struct pb_page *page, size_t count)
{
    return take(page, count * sizeof(double));
}

char *pb_page_text(struct pb_page *page, const char *format, ...)
{
    static char none[1]; /* never written to: it has no room */
    char text[TEXT_MAX];
    va_list arguments;
    char *copy;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    copy = take(page, strlen(text));
    if (copy == NULL)
        return none;
    memcpy(copy, text, strlen(text) + 1);
    return copy;
}

void pb_page_forget(struct pb_page *page)
{
    while (page->scratch != NULL) {
        struct pb_scratch *next = page->scratch->next;

        free(page->scratch);
        page->scratch = next;
    }
}

bool pb_buffer_open(struct pb_page *page, struct pb_buffer *buffer_out)
{
    *buffer_out = (struct pb_buffer){NULL, NULL, 0};
    buffer_out->file = open_memstream(&buffer_out->text, &buffer_out->size);
    if (buffer_out->file == NULL)
        pb_page_fail(page);
    return buffer_out->file != NULL;
}

void pb_buffer_close(struct pb_page *page, struct pb_buffer *buffer, FILE *to)
{
    if (buffer->file == NULL)
        return;
    if (fclose(buffer->file) != 0)
        pb_page_fail(page);
    else if (to != NULL)
        fwrite(buffer->text, 1, buffer->size, to);
    buffer->file = NULL;
    free(buffer->text);
    buffer->text = NULL;
}

void pb_markup_text(FILE *file, const char *text)
{
    char escaped[4 * TEXT_MAX];

    PB_TEXT_ESCAPE(escaped, text);
    for (const char *at = escaped; *at != '\0'; at++) {
        switch (*at) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        case '\'':
            fputs("&#39;", file);
            break;
        default:
            fputc(*at, file);
        }
    }
}

void pb_markup_format(FILE *file, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    pb_markup_text(file, text);
}

void pb_markup_coordinate(FILE *file, double value)
{
    double tenths = round(value * 10.0);

    if (!isfinite(tenths))
        tenths = 0.0;
    if (fmod(tenths, 10.0) == 0.0)
        fprintf(file, "%.0f", tenths / 10.0 + 0.0);
    else
        fprintf(file, "%.1f", tenths / 10.0);
}

/* ---- quantities ---- */

struct prefix {
    double factor;
    const char *unit;
};

static const struct prefix byte_prefixes[] = {{1099511627776.0, "TiB"},
                                              {1073741824.0, "GiB"},
                                              {1048576.0, "MiB"},
                                              {1024.0, "KiB"},
                                              {0.0, "B"}};
static const struct prefix rate_prefixes[] = {
    {1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {0.0, "B/s"}};
static const struct prefix time_prefixes[] = {{1e9, "s"}, {1e6, "ms"}, {1e4, "µs"}, {0.0, "ns"}};

/* The prefix that suits a value of this unit, or one that leaves it as it is. */
static struct prefix prefix_of(double value, const char *unit)
{
    const struct prefix *table = strcmp(unit, "byte") == 0     ? byte_prefixes
                                 : strcmp(unit, "byte/s") == 0 ? rate_prefixes
                                 : strcmp(unit, "ns") == 0     ? time_prefixes
                                                               : NULL;

    if (table == NULL)
        return (struct prefix){1.0, strcmp(unit, "byte/cycle") == 0 ? "B/cycle"
                                    : strcmp(unit, "degC") == 0     ? "°C"
                                                                    : unit};
    while (fabs(value) < table->factor)
        table++;
    if (table->factor == 0.0)
        return (struct prefix){1.0, table->unit};
    return (struct prefix){table == time_prefixes + 2 ? 1e3 : table->factor, table->unit};
}

/* Four significant digits; whole numbers below a million whole. */
static void format_digits(char *text, size_t size, double value)
{
    if (value == round(value) && fabs(value) < 1e6)
        snprintf(text, size, "%.0f", value + 0.0);
    else if (fabs(value) >= 1000.0 && fabs(value) < 1e6)
        snprintf(text, size, "%.0f", value);
    else
        snprintf(text, size, "%.4g", value);
}

static const char *plural_of(const char *unit, double value)
{
    static const char *const words[] = {"cycle", "bank"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(unit, words[i]) == 0 && value != 1.0)
            return "s";
    return "";
}

void pb_quantity(char *text, size_t size, double value, const char *unit)
{
    struct prefix prefix = prefix_of(value, unit);
    char digits[32];

    if (!isfinite(value)) {
        snprintf(text, size, "–");
        return;
    }
    format_digits(digits, sizeof(digits), value / prefix.factor);
    snprintf(text, size, "%s%s%s%s", digits, prefix.unit[0] == '\0' ? "" : " ", prefix.unit,
             plural_of(prefix.unit, value));
}

void pb_quantity_plain(char *text, size_t size, double value)
{
    if (!isfinite(value))
        snprintf(text, size, "–");
    else if ((value == round(value) && fabs(value) < 1e15) ||
             (fabs(value) >= 1e3 && fabs(value) < 1e6))
        snprintf(text, size, "%.0f", value + 0.0);
    else
        snprintf(text, size, "%.4g", value);
}

void pb_quantity_interval(char *text, size_t size, double low, double high, const char *unit)
{
    struct prefix prefix = prefix_of(fmax(fabs(low), fabs(high)), unit);
    char first[32], last[32];

    if (!isfinite(low) || !isfinite(high)) {
        snprintf(text, size, "–");
        return;
    }
    format_digits(first, sizeof(first), low / prefix.factor);
    format_digits(last, sizeof(last), high / prefix.factor);
    if (strcmp(first, last) == 0)
        snprintf(text, size, "exact");
    else
        snprintf(text, size, "[%s, %s]", first, last);
}
