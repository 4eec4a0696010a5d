/* Seconds of recorded tests; see times.h. */
#include "run/times.h"

#include <stdlib.h>
#include <string.h>

#include "h5schema/file.h"

/* Two NVIDIA H200s, driver 580.159, 2026-11-22; of peer_link, with 32 timed transfers, 5 ms more.
 */
static const struct {
    const char *test;
    double seconds; /* of those for each peer: per peer */
} concurrent_tests[] = {
    {"peer_link", 0.016}, {"host_link_concurrent", 0.42}, {"peer_link_concurrent", 0.035}};

static bool is_by_peer(const struct pb_test *test)
{
    return (test->needs & PB_CAP_PEER) != 0;
}

/* What a recording says that its test takes. */
static double seconds_of(const struct pb_test *test, const struct pb_recording *recording)
{
    size_t peers = recording->matrix.rank > 0 ? recording->matrix.axes[0].length : 0;

    for (size_t i = 0; i < sizeof(concurrent_tests) / sizeof(concurrent_tests[0]); i++)
        if (strcmp(test->name, concurrent_tests[i].test) == 0 && recording->outcome != PB_TEST_OK)
            return concurrent_tests[i].seconds;
    return is_by_peer(test) && peers > 0 ? recording->seconds / (double)peers : recording->seconds;
}

static bool is_among(const struct pb_key *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i].text, name) == 0)
            return true;
    return false;
}

static enum pb_status read_tests(struct pb_reader *reader, const char *key, struct times *times,
                                 struct pb_error *err)
{
    struct pb_key *names = NULL;
    size_t name_count = 0, count = 0;
    enum pb_status status = pb_reader_tests(reader, key, &names, &name_count, err);

    for (const struct pb_test *test = pb_tests;
         status == PB_OK && test->name != NULL && count < PLAY_TESTS_MAX; test++) {
        struct pb_recording recording;

        if (!is_among(names, name_count, test->name))
            continue;
        status = pb_reader_recording(reader, key, test->name, &recording, err);
        if (status != PB_OK)
            break;
        times->tests[count] = test;
        times->seconds[count++] = seconds_of(test, &recording);
        pb_recording_clear(&recording);
    }
    free(names);
    return status;
}

enum pb_status times_read(const char *path, struct times *times_out, struct pb_error *err)
{
    struct times times = {.member_count = 1};
    struct pb_reader *reader = NULL;
    struct pb_device_info info;
    struct pb_key *keys = NULL;
    size_t count = 0;
    enum pb_status status = pb_reader_open(path, &reader, err);

    if (status == PB_OK)
        status = pb_reader_devices(reader, &keys, &count, err);
    if (status == PB_OK && count == 0)
        status = pb_fail(err, PB_NOT_FOUND, "%s: no device in it", path);
    if (status == PB_OK)
        status = pb_reader_device(reader, keys[0].text, &info, err);
    if (status == PB_OK)
        status = read_tests(reader, keys[0].text, &times, err);
    if (status == PB_OK) {
        PB_TEXT_SET(times.model, info.model);
        *times_out = times;
    }
    free(keys);
    pb_reader_close(reader);
    return status;
}

void times_drop_concurrent(struct times *times)
{
    size_t kept = 0;

    for (size_t i = 0; times->tests[i] != NULL; i++) {
        if (strstr(times->tests[i]->name, "_together") != NULL)
            continue;
        times->tests[kept] = times->tests[i];
        times->seconds[kept++] = times->seconds[i];
    }
    times->tests[kept] = NULL;
}

double times_of(void *context, size_t member, const struct pb_test *test)
{
    const struct times *times = context;
    size_t i = 0;

    (void)member;
    while (times->tests[i] != test)
        i++;
    return is_by_peer(test) ? times->seconds[i] * (double)(times->member_count - 1)
                            : times->seconds[i];
}
