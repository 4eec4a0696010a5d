/*
 * Fuzz target over the inference: parts of a real recording, damaged as the input says.
 *
 * An input chooses some tests, how much of each is kept, and what becomes of it. Whatever they are,
 * the inference must end, and what it states must be finite, inside its interval and explained.
 *
 * Limit: it starts from one H200's battery; the phases that only small caches have are made by
 * renaming.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/inference.h"
#include "analysis/recordings.h"
#include "fuzz/bytes.h"
#include "fuzz/damage.h"
#include "fuzz/fuzz.h"
#include "h5schema/file.h"

enum { TESTS_MAX = 96, CHOSEN_MAX = 4, DAMAGES_MAX = 12, SEED_BYTES = 256, SEEDS = 64 };

/* What a real device recorded: read at the first input, and kept. */
struct source {
    struct pb_device_info info;
    struct pb_recording tests[TESTS_MAX];
    size_t count;
};

static enum pb_status read_source(struct pb_reader *reader, struct source *source)
{
    struct pb_key *keys = NULL, *tests = NULL;
    size_t key_count = 0, test_count = 0;
    enum pb_status status = pb_reader_devices(reader, &keys, &key_count, NULL);

    if (status == PB_OK && key_count > 0)
        status = pb_reader_device(reader, keys[0].text, &source->info, NULL);
    if (status == PB_OK && key_count > 0)
        status = pb_reader_tests(reader, keys[0].text, &tests, &test_count, NULL);
    for (size_t i = 0; status == PB_OK && i < test_count && i < TESTS_MAX; i++)
        status = pb_reader_recording(reader, keys[0].text, tests[i].text,
                                     &source->tests[source->count++], NULL);
    free(tests);
    free(keys);
    return status;
}

static const struct source *get_source(void)
{
    static struct source source;
    struct pb_reader *reader = NULL;

    if (source.count > 0)
        return &source;
    if (pb_reader_open(PLUMB_TEST_DATA "/h200-standard.h5", &reader, NULL) != PB_OK ||
        read_source(reader, &source) != PB_OK || source.count == 0) {
        fprintf(stderr, "fuzz: " PLUMB_TEST_DATA "/h200-standard.h5 cannot be read\n");
        exit(2);
    }
    pb_reader_close(reader);
    return &source;
}

/* The device of one input. */
struct chosen {
    struct pb_recording recordings[CHOSEN_MAX];
    size_t count;
};

static void choose(const struct source *source, struct fuzz_bytes *bytes, struct chosen *chosen)
{
    static const size_t points[] = {1, 8, 40, 160}, accesses[] = {1, 4, 40, 200};

    for (size_t i = 1 + fuzz_choose(bytes, CHOSEN_MAX); i > 0; i--) {
        struct pb_recording *recording = &chosen->recordings[chosen->count++];
        const struct pb_recording *from = &source->tests[fuzz_choose(bytes, source->count)];
        struct fuzz_part part = {.points = points[fuzz_choose(bytes, 4)],
                                 .accesses = accesses[fuzz_choose(bytes, 4)],
                                 .length = 1 + fuzz_choose(bytes, 24),
                                 .step = 1 + fuzz_choose(bytes, 8),
                                 .first = fuzz_choose(bytes, 32)};

        fuzz_copy_part(from, &part, recording);
        for (size_t n = fuzz_choose(bytes, DAMAGES_MAX); n > 0; n--)
            fuzz_damage(recording, bytes);
    }
}

static enum pb_status load(void *context, const char *test, struct pb_recording *recording_out,
                           struct pb_error *err)
{
    const struct chosen *chosen = context;

    for (size_t i = 0; i < chosen->count; i++)
        if (strcmp(chosen->recordings[i].name, test) == 0) {
            *recording_out = chosen->recordings[i];
            return PB_OK;
        }
    return pb_fail(err, PB_NOT_FOUND, "no test %s", test);
}

static void require(bool holds, const struct pb_parameter *parameter, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s.%s: %s\n", parameter->memory, parameter->name, what);
    abort();
}

static void check(const struct pb_parameter *p)
{
    if (p->kind == PB_VALUE_NONE)
        require(p->reason[0] != '\0', p, "neither value nor reason");
    else
        require(p->method[0] != '\0', p, "a value without a method");
    require(p->confidence >= 0.0 && p->confidence <= 1.0, p, "its confidence is none");
    for (size_t i = 0; i < p->number_count; i++) {
        const struct pb_estimate *e = &p->numbers[i];
        bool absent = p->kind == PB_VALUE_LIST && isnan(e->value);

        require(absent || isfinite(e->value), p, "is not finite");
        require(absent || (e->low <= e->value && e->value <= e->high), p, "is out of its interval");
    }
}

static void damage_info(struct pb_device_info *info, struct fuzz_bytes *bytes)
{
    if (fuzz_choose(bytes, 8) != 0)
        return;
    info->warp_size = (uint32_t)fuzz_odd_number(bytes);
    info->sm_count = (uint32_t)fuzz_odd_number(bytes);
    info->theoretical_bytes_per_s = (double)fuzz_odd_number(bytes) - 1.0;
    info->constant_bytes = fuzz_odd_number(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct source *source = get_source();
    struct fuzz_bytes bytes = {data, size};
    struct pb_device_info info = source->info;
    struct chosen chosen = {.count = 0};
    struct pb_recordings recordings = {&chosen, load};
    struct pb_parameters parameters = {0};
    struct pb_error err = PB_ERROR_INIT;
    size_t analysed;

    damage_info(&info, &bytes);
    choose(source, &bytes, &chosen);
    if (pb_infer_device(&info, "/devices/n1.gpu0", &recordings, &parameters, &analysed, &err) ==
        PB_OK)
        for (size_t i = 0; i < parameters.count; i++)
            check(&parameters.items[i]);
    pb_parameters_clear(&parameters);
    for (size_t i = 0; i < chosen.count; i++)
        pb_recording_clear(&chosen.recordings[i]);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, capacity);
}

size_t fuzz_seed(size_t i, uint8_t *data, size_t capacity)
{
    uint64_t state = i;

    if (i >= SEEDS || capacity < SEED_BYTES)
        return 0;
    for (size_t at = 0; at < SEED_BYTES; at++)
        data[at] = (uint8_t)fuzz_random(&state);
    return SEED_BYTES;
}
