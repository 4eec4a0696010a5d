/* What targets over texts and files share: inputs as files in memory, seeds, mutations of text. */
#ifndef PB_TESTS_FUZZ_INPUT_H
#define PB_TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_PATH_LENGTH = 64 };

/* A file in memory with these bytes, and a path by which it is opened. close() it. */
int fuzz_open_memory(const uint8_t *data, size_t size, char path_out[FUZZ_PATH_LENGTH]);

/* The bytes of a file into data[capacity]; ends the program where it is not there, or larger. */
size_t fuzz_read_file(const char *path, uint8_t *data, size_t capacity);

/*
 * One mutation of a text: a number becomes another, a word is doubled, moved or lost; every second
 * one is LLVMFuzzerMutate()'s.
 */
size_t fuzz_mutate_text(uint8_t *data, size_t size, size_t capacity, unsigned seed);

#endif
