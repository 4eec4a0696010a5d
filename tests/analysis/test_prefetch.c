/* What runs ahead of a stride, and what one miss fetches: planted, and then found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/device.h"
#include "analysis/selected.h"
#include "analysis/synthetic.h"

static const char tests_needed[] = "l1_capacity,l2_capacity,dram_latency,prefetch";

/* A profile of the shipped ones with another prefetch_bytes in its L2. */
static void plant(const char *from, unsigned prefetch_bytes, const char *path)
{
    char source[512], text[16384], key[64], *l2;
    FILE *file;
    size_t size;

    snprintf(source, sizeof(source), "%s/%s.json", PLUMB_PROFILES, from);
    file = fopen(source, "r");
    assert_non_null(file);
    size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = '\0';
    l2 = strstr(text, "{\"id\": \"l2\",");
    assert_non_null(l2);
    snprintf(key, sizeof(key), "{\"prefetch_bytes\": %u, ", prefetch_bytes);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(l2 - text), text, key, l2 + 1);
    fclose(file);
}

static void test_prefetch__planted_distances_are_found(void **state)
{
    static const unsigned planted[] = {0, 64, 128, 512, 2048};
    char path[] = "/tmp/plumb-prefetch-XXXXXX";
    int descriptor = mkstemp(path);

    (void)state;
    assert_true(descriptor >= 0);
    close(descriptor);
    for (size_t i = 0; i < sizeof(planted) / sizeof(planted[0]); i++) {
        struct pb_parameters parameters;

        plant("gtx560ti", planted[i], path);
        selected_infer(path, tests_needed, &parameters);
        assert_number(&parameters, "l2", "prefetch_bytes", planted[i], 0);
        assert_number(&parameters, "l1", "prefetch_bytes", 0, 0);
        assert_number(&parameters, "l2", "fetch_bytes", 32, 0);
        pb_parameters_clear(&parameters);
    }
    unlink(path);
}

/* F13's Kepler: no step over jumps of up to 512 bytes. */
static void test_prefetch__f13s_kepler_runs_512_bytes_ahead(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    selected_infer("gtx680", tests_needed, &parameters);
    assert_number(&parameters, "l2", "prefetch_bytes", 512, 0);
    assert_open(&parameters, "l1", "prefetch_bytes", "the latency of l1 is not known");
    pb_parameters_clear(&parameters);
}

/* Cold loads of which those at multiples of `block` miss, at one stride in both orders. */
static void record_walks(struct pb_recording *recording, uint64_t block, size_t misses_at_most)
{
    static const char *const phases[] = {"strided", "random"};
    struct synthetic_noise noise = {14, 2, 1e-3, 300, 3};

    for (size_t p = 0; p < 2; p++) {
        struct pb_point point = {.path = "global_cg",
                                 .mode = "trace",
                                 .overhead_cycles = 14,
                                 .stride_bytes = 64,
                                 .count = 512};
        uint32_t latency[512];
        uint64_t index[512];
        size_t missed = 0;

        PB_TEXT_SET(point.phase, phases[p]);
        for (size_t i = 0; i < 512; i++) {
            bool miss = (i * 64 % block == 0 || p == 1) && missed < misses_at_most;

            missed += miss;
            index[i] = i * 64;
            latency[i] = synthetic_latency(&noise, miss ? 700 : 300);
        }
        assert_int_equal(pb_series_append(&recording->series, &point, latency, index, NULL), PB_OK);
    }
}

/* The latencies that tell hits from misses, as the tests before would have stated them. */
static void record_latencies(struct device *device)
{
    static const struct synthetic_cache l2 = {128, 32, 128, 16, 4, false, 300, 700};
    struct synthetic_noise noise = {14, 1, 0, 0, 4};
    struct pb_recording *dram = device_record(device, "dram_latency");

    synthetic_capacity(device_record(device, "l2_capacity"), &l2, &noise, "global_cg");
    synthetic_constant(&dram->series, &noise, "global_cg", "near", 700, 256);
    device_record(device, "prefetch"); /* a recording is read once: this one for l1 */
}

static void test_prefetch__without_an_end_it_is_not_stated(void **state)
{
    struct device device = {0};

    (void)state;
    record_latencies(&device);
    record_walks(device_record(&device, "prefetch"), UINT64_MAX, 512);
    device_infer(&device);
    assert_none(&device, "l2", "prefetch_bytes", "has no end here");
    device_clear(&device);
}

static void test_prefetch__no_misses_at_random_say_nothing(void **state)
{
    struct device device = {0};

    (void)state;
    record_latencies(&device);
    record_walks(device_record(&device, "prefetch"), 64, 0);
    device_infer(&device);
    assert_none(&device, "l2", "prefetch_bytes", "cold loads at random miss");
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefetch__planted_distances_are_found),
        cmocka_unit_test(test_prefetch__f13s_kepler_runs_512_bytes_ahead),
        cmocka_unit_test(test_prefetch__without_an_end_it_is_not_stated),
        cmocka_unit_test(test_prefetch__no_misses_at_random_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
