/* Inputs as files in memory, seeds, mutations of text; see input.h. */
#include "fuzz/input.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

int fuzz_open_memory(const uint8_t *data, size_t size, char path_out[FUZZ_PATH_LENGTH])
{
    int file = memfd_create("fuzz", MFD_CLOEXEC);

    if (file < 0 || write(file, data, size) != (ssize_t)size) {
        perror("fuzz: an input cannot be written");
        exit(2);
    }
    snprintf(path_out, FUZZ_PATH_LENGTH, "/proc/self/fd/%d", file);
    return file;
}

size_t fuzz_read_file(const char *path, uint8_t *data, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    size_t size = file == NULL ? 0 : fread(data, 1, capacity, file);

    if (size == 0 || size == capacity) {
        fprintf(stderr, "fuzz: %s cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    return size;
}

/* Puts `text` in the place of data[first, first + length). */
static size_t replace(uint8_t *data, size_t size, size_t capacity, size_t first, size_t length,
                      const char *text)
{
    size_t added = strlen(text);

    if (size - length + added > capacity)
        return size;
    memmove(data + first + added, data + first + length, size - first - length);
    memcpy(data + first, text, added);
    return size - length + added;
}

static const char *odd_number(uint64_t *state, char text[32])
{
    static const char *const words[] = {"0",   "-1",   "1",    "18446744073709551615",
                                        "1e9", "-0.5", "null", "9223372036854775808",
                                        "0x",  "1e999"};
    uint64_t power = (uint64_t)1 << fuzz_random(state) % 64;

    if (fuzz_random(state) % 2 == 0)
        return words[fuzz_random(state) % (sizeof(words) / sizeof(words[0]))];
    snprintf(text, 32, "%" PRIu64, power + fuzz_random(state) % 3 - 1);
    return text;
}

/* From `at` on, the next run of bytes of that kind: [*first, *first + length). */
static size_t find_run(const uint8_t *data, size_t size, size_t at, int (*is_one)(int),
                       size_t *first)
{
    size_t end;

    while (at < size && !is_one(data[at]))
        at++;
    for (end = at; end < size && is_one(data[end]);)
        end++;
    *first = at;
    return end - at;
}

size_t fuzz_mutate_text(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    uint64_t state = seed;
    char text[32];
    size_t first = 0, length;

    if (size == 0 || fuzz_random(&state) % 2 == 0)
        return LLVMFuzzerMutate(data, size, capacity);
    if (fuzz_random(&state) % 4 != 0) {
        length = find_run(data, size, fuzz_random(&state) % size, isdigit, &first);
        return replace(data, size, capacity, first, length, odd_number(&state, text));
    }
    length = find_run(data, size, fuzz_random(&state) % size, isalnum, &first);
    if (length >= sizeof(text))
        return size;
    memcpy(text, data + first, length);
    text[length] = '\0';
    if (fuzz_random(&state) % 2 == 0)
        size = replace(data, size, capacity, first, length, "");
    return replace(data, size, capacity, fuzz_random(&state) % (size + 1), 0, text);
}
