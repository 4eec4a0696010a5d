/* Lines of a plain, gzip or xz file, and their words; see text.h. */
#include "analysis/kernel/text.h"

#include <errno.h>
#include <lzma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { INPUT_BYTES = 65536, OUTPUT_BYTES = 4 * PB_TEXT_LINE_MAX };

enum packing { PLAIN, GZIP, XZ };

struct pb_text {
    char *path;
    FILE *file;
    enum packing packing;
    z_stream gzip;
    lzma_stream xz;
    bool is_open; /* the decoder */
    bool has_ended;
    bool is_repeated;
    uint64_t number;
    size_t begin, end; /* of what is decoded and not read */
    char *line;
    unsigned char input[INPUT_BYTES];
    size_t input_begin, input_end;
    char output[OUTPUT_BYTES + 1];
};

static enum pb_status damaged(const struct pb_text *text, const char *what, struct pb_error *err)
{
    return pb_fail(err, PB_INVALID, "%s: after line %llu: %s", text->path,
                   (unsigned long long)text->number, what);
}

static enum pb_status fill_input(struct pb_text *text, struct pb_error *err)
{
    if (text->input_begin < text->input_end)
        return PB_OK;
    text->input_begin = 0;
    text->input_end = fread(text->input, 1, INPUT_BYTES, text->file);
    if (text->input_end == 0 && ferror(text->file))
        return pb_fail(err, PB_INVALID, "%s: cannot be read: %s", text->path, strerror(errno));
    return PB_OK;
}

static enum pb_status decode_plain(struct pb_text *text, size_t capacity, size_t *count_out)
{
    size_t count = text->input_end - text->input_begin;

    if (count > capacity)
        count = capacity;
    memcpy(text->output + text->end, text->input + text->input_begin, count);
    text->input_begin += count;
    text->has_ended = count == 0;
    *count_out = count;
    return PB_OK;
}

/* Members of a gzip file may follow one another: each begins a new stream. */
static enum pb_status decode_gzip(struct pb_text *text, size_t capacity, size_t *count_out,
                                  struct pb_error *err)
{
    z_stream *gzip = &text->gzip;
    int result;

    if (text->input_begin == text->input_end) {
        text->has_ended = true;
        return text->is_open ? damaged(text, "the gzip data end early", err) : PB_OK;
    }
    if (!text->is_open && inflateReset(gzip) != Z_OK)
        return damaged(text, "the gzip data cannot be decoded", err);
    text->is_open = true;
    gzip->next_in = text->input + text->input_begin;
    gzip->avail_in = (uInt)(text->input_end - text->input_begin);
    gzip->next_out = (unsigned char *)text->output + text->end;
    gzip->avail_out = (uInt)capacity;
    result = inflate(gzip, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
        return damaged(text, "the gzip data are damaged", err);
    text->input_begin = text->input_end - gzip->avail_in;
    text->is_open = result != Z_STREAM_END;
    *count_out = capacity - gzip->avail_out;
    return PB_OK;
}

static enum pb_status decode_xz(struct pb_text *text, size_t capacity, size_t *count_out,
                                struct pb_error *err)
{
    lzma_stream *xz = &text->xz;
    bool at_end = text->input_begin == text->input_end;
    lzma_ret result;

    xz->next_in = text->input + text->input_begin;
    xz->avail_in = text->input_end - text->input_begin;
    xz->next_out = (unsigned char *)text->output + text->end;
    xz->avail_out = capacity;
    result = lzma_code(xz, at_end ? LZMA_FINISH : LZMA_RUN);
    text->input_begin = text->input_end - xz->avail_in;
    *count_out = capacity - xz->avail_out;
    if (result == LZMA_STREAM_END)
        text->has_ended = true;
    else if (result == LZMA_BUF_ERROR || (at_end && result == LZMA_OK && *count_out == 0))
        return damaged(text, "the xz data end early", err);
    else if (result != LZMA_OK)
        return damaged(text, "the xz data are damaged", err);
    return PB_OK;
}

/* Decodes until something came out or the file ends; what is not read yet moves to the front. */
static enum pb_status decode(struct pb_text *text, struct pb_error *err)
{
    size_t count = 0;
    enum pb_status status = PB_OK;

    memmove(text->output, text->output + text->begin, text->end - text->begin);
    text->end -= text->begin;
    text->begin = 0;
    while (status == PB_OK && count == 0 && !text->has_ended) {
        size_t capacity = OUTPUT_BYTES - text->end;

        status = fill_input(text, err);
        if (status != PB_OK)
            break;
        if (text->packing == PLAIN)
            status = decode_plain(text, capacity, &count);
        else if (text->packing == GZIP)
            status = decode_gzip(text, capacity, &count, err);
        else
            status = decode_xz(text, capacity, &count, err);
    }
    text->end += count;
    return status;
}

static enum pb_status start_decoder(struct pb_text *text, struct pb_error *err)
{
    static const unsigned char gzip_magic[] = {0x1f, 0x8b};
    static const unsigned char xz_magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};
    enum pb_status status = fill_input(text, err);

    if (status != PB_OK)
        return status;
    if (text->input_end >= sizeof(gzip_magic) &&
        memcmp(text->input, gzip_magic, sizeof(gzip_magic)) == 0) {
        text->packing = GZIP;
        if (inflateInit2(&text->gzip, 15 + 16) != Z_OK)
            return pb_fail(err, PB_NO_MEMORY, "%s: out of memory for gzip", text->path);
    } else if (text->input_end >= sizeof(xz_magic) &&
               memcmp(text->input, xz_magic, sizeof(xz_magic)) == 0) {
        text->packing = XZ;
        if (lzma_stream_decoder(&text->xz, UINT64_MAX, LZMA_CONCATENATED) != LZMA_OK)
            return pb_fail(err, PB_NO_MEMORY, "%s: out of memory for xz", text->path);
    }
    return PB_OK;
}

enum pb_status pb_text_open(const char *path, struct pb_text **text_out, struct pb_error *err)
{
    struct pb_text *text = calloc(1, sizeof(*text));
    enum pb_status status;

    if (text == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    text->path = strdup(path);
    text->file = fopen(path, "rbe");
    if (text->path == NULL)
        status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    else if (text->file == NULL)
        status = pb_fail(err, PB_INVALID, "%s: cannot be opened: %s", path, strerror(errno));
    else
        status = start_decoder(text, err);
    if (status != PB_OK) {
        pb_text_close(text);
        return status;
    }
    *text_out = text;
    return PB_OK;
}

void pb_text_close(struct pb_text *text)
{
    if (text == NULL)
        return;
    if (text->packing == GZIP)
        inflateEnd(&text->gzip);
    lzma_end(&text->xz);
    if (text->file != NULL)
        fclose(text->file);
    free(text->path);
    free(text);
}

static enum pb_status take_line(struct pb_text *text, size_t length, char **line_out,
                                struct pb_error *err)
{
    char *line = text->output + text->begin;

    text->number++;
    line[length] = '\0';
    text->begin += length + 1;
    if (text->begin > text->end) /* the last line had no end */
        text->begin = text->end;
    if (strlen(line) < length)
        return pb_fail(err, PB_INVALID, "%s:%llu: expected text, found a NUL byte", text->path,
                       (unsigned long long)text->number);
    if (length > 0 && line[length - 1] == '\r')
        line[length - 1] = '\0';
    text->line = *line_out = line;
    return PB_OK;
}

enum pb_status pb_text_line(struct pb_text *text, char **line_out, struct pb_error *err)
{
    enum pb_status status = PB_OK;

    if (text->is_repeated) {
        text->is_repeated = false;
        *line_out = text->line;
        return PB_OK;
    }
    while (status == PB_OK) {
        char *begin = text->output + text->begin;
        size_t count = text->end - text->begin;
        char *end = memchr(begin, '\n', count);

        if (end != NULL)
            return take_line(text, (size_t)(end - begin), line_out, err);
        if (count > PB_TEXT_LINE_MAX)
            return pb_fail(err, PB_INVALID,
                           "%s:%llu: expected a line of at most %d bytes, found a longer one",
                           text->path, (unsigned long long)text->number + 1, PB_TEXT_LINE_MAX);
        if (text->has_ended && count > 0)
            return take_line(text, count, line_out, err);
        if (text->has_ended) {
            text->line = *line_out = NULL;
            return PB_OK;
        }
        status = decode(text, err);
    }
    return status;
}

void pb_text_repeat(struct pb_text *text)
{
    text->is_repeated = true;
}

const char *pb_text_path(const struct pb_text *text)
{
    return text->path;
}

uint64_t pb_text_number(const struct pb_text *text)
{
    return text->number;
}

enum pb_status pb_text_refuse(const struct pb_text *text, const char *line, struct pb_error *err,
                              const char *expected, ...)
{
    char words[256];
    va_list arguments;

    va_start(arguments, expected);
    vsnprintf(words, sizeof(words), expected, arguments);
    va_end(arguments);
    if (line == NULL)
        return pb_fail(err, PB_INVALID, "%s:%llu: expected %s, found the end of the file",
                       text->path, (unsigned long long)text->number, words);
    return pb_fail(err, PB_INVALID, "%s:%llu: expected %s, found \"%.60s\"", text->path,
                   (unsigned long long)text->number, words, line);
}

char *pb_word_next(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    size_t length = strcspn(word, " \t");

    if (length == 0)
        return NULL;
    *rest = word + length;
    if (**rest != '\0')
        *(*rest)++ = '\0';
    return word;
}

bool pb_word_number(const char *word, int base, uint64_t max, uint64_t *number_out)
{
    unsigned long long number;
    char *end;

    if (word == NULL || !((word[0] >= '0' && word[0] <= '9') || (base == 16 && word[0] > '9')) ||
        word[0] == 'x')
        return false;
    errno = 0;
    number = strtoull(word, &end, base);
    if (errno != 0 || *end != '\0' || number > max)
        return false;
    *number_out = number;
    return true;
}

bool pb_word_signed(const char *word, int64_t *number_out)
{
    long long number;
    char *end;

    if (word == NULL)
        return false;
    errno = 0;
    number = strtoll(word, &end, 10);
    if (errno != 0 || *end != '\0' || end == word)
        return false;
    *number_out = number;
    return true;
}
