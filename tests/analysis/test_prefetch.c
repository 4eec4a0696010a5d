/* What runs ahead of a stride, and what one miss fetches: stated in a profile, and then found
 * again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* A profile of the shipped ones without prefetching, with so many bytes of it in its L2. */
static void write_profile(const char *from, unsigned long long prefetch_bytes,
                          bool first_chase_only, const char *path)
{
    char source[512], text[16384], key[96], *l2;
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
    snprintf(key, sizeof(key), "{\"prefetch_bytes\": %llu, %s", prefetch_bytes,
             first_chase_only ? "\"prefetch_first_walk_only\": true, " : "");
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(l2 - text), text, key, l2 + 1);
    fclose(file);
}

static void test_prefetch__true_distances_are_found(void **state)
{
    static const unsigned distances[] = {0, 64, 128, 512, 2048};
    char path[] = "/tmp/plumb-prefetch-XXXXXX";
    int descriptor = mkstemp(path);

    (void)state;
    assert_true(descriptor >= 0);
    close(descriptor);
    for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++) {
        struct pb_parameters parameters;

        write_profile("gtx470", distances[i], false, path);
        selected_infer(path, tests_needed, &parameters);
        assert_number(&parameters, "l2", "prefetch_bytes", distances[i], 0);
        assert_number(&parameters, "l1", "prefetch_bytes", 0, 0);
        assert_number(&parameters, "l2", "fetch_bytes", 32, 0);
        pb_parameters_clear(&parameters);
    }
    unlink(path);
}

/* A cold chase then misses once, which says nothing of what a miss fetches. */
static void test_prefetch__beyond_the_cold_chase_leaves_lines_alone(void **state)
{
    struct blind_profile profile;
    struct blind_cache *l2 = &profile.caches[BLIND_L2];
    struct pb_parameters parameters = {0};

    (void)state;
    blind_draw(1, &profile);
    *l2 = (struct blind_cache){.id = "l2",
                               .paths = "[\"global_ca\", \"global_cg\", \"texture\"]",
                               .line_bytes = 64,
                               .sector_bytes = 64,
                               .sets = 1024,
                               .ways = 16,
                               .policy = "lru",
                               .latency_cycles = 210,
                               .prefetch_bytes = 8192};
    profile.dram_cycles = 600;
    selected_infer_profile(&profile, "clock_overhead,l2_capacity,l2_line,l2_sets", &parameters);
    assert_number(&parameters, "l2", "line_bytes", 64, 0);
    assert_number(&parameters, "l2", "fetch_bytes", 64, 0);
    assert_number(&parameters, "l2", "way_counts", 16, 0);
    pb_parameters_clear(&parameters);
}

/* F13's Kepler: no step over jumps of up to 512 bytes. */
static void test_prefetch__f13s_kepler_runs_512_bytes_ahead(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    selected_infer("gtx680", tests_needed, &parameters);
    assert_number(&parameters, "l2", "prefetch_bytes", 512, 0);
    assert_open(&parameters, "l1", "prefetch_bytes", "the latency of l1, which is undetermined");
    pb_parameters_clear(&parameters);
}

/* M16 4.6: two thirds of L2, once. The first lines of a chase back, or at random, are not ahead. */
static void test_prefetch__m16s_gpus_fetch_two_thirds_of_l2_ahead(void **state)
{
    static const struct {
        const char *profile;
        double l2_bytes, ahead_bytes;
    } devices[] = {
        {"gtx560ti", 524288, 349504}, {"gtx780", 1572864, 1048576}, {"gtx980", 2097152, 1398080}};

    (void)state;
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        struct pb_parameters parameters;
        const struct pb_parameter *ahead;

        selected_infer(devices[i].profile, "l1_capacity,l2_capacity,l2_line,dram_latency,prefetch",
                       &parameters);
        ahead = selected_find(&parameters, "l2", "prefetch_bytes");
        assert_true(ahead->numbers[0].low <= devices[i].ahead_bytes &&
                    ahead->numbers[0].high >= devices[i].ahead_bytes);
        assert_true(ahead->numbers[0].high - ahead->numbers[0].low <= 4096);
        assert_non_null(strstr(ahead->method, "67% of the cache's"));
        assert_number(&parameters, "l2", "size_bytes", devices[i].l2_bytes, 0);
        assert_number(&parameters, "l2", "line_bytes", 32, 0);
        assert_number(&parameters, "l2", "sector_bytes", 32, 0);
        assert_number(&parameters, "l2", "fetch_bytes", 32, 0);
        pb_parameters_clear(&parameters);
    }
}

/* More than any chase goes over: no two misses to measure between. */
static void test_prefetch__beyond_all_chases_it_is_not_stated(void **state)
{
    char path[] = "/tmp/plumb-prefetch-XXXXXX";
    int descriptor = mkstemp(path);
    struct pb_parameters parameters;

    (void)state;
    assert_true(descriptor >= 0);
    close(descriptor);
    write_profile("gtx470", 1ull << 30, true, path);
    selected_infer(path, tests_needed, &parameters);
    assert_open(&parameters, "l2", "prefetch_bytes", "no end of the prefetched range");
    pb_parameters_clear(&parameters);
    unlink(path);
}

/* Cold loads of which those at multiples of `block` miss, in both orders at one stride. */
static void record_chases(struct pb_recording *recording, uint64_t block, size_t misses_at_most)
{
    static const char *const phases[] = {"strided", "random"};
    struct synthetic_noise noise = {14, 2, 1e-3, 300, 3};

    for (size_t p = 0; p < 2; p++) {
        struct pb_point point = {.path = "global_cg",
                                 .mode = "traced",
                                 .overhead_cycles = 14,
                                 .footprint_bytes = 512 * 64,
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

/* A chase in order of which every so many bytes miss; others hit, or wait for their page. */
static void record_strided(struct pb_recording *recording, uint64_t stride, uint64_t miss_bytes,
                           uint64_t page_bytes)
{
    struct synthetic_noise noise = {14, 2, 0, 0, 3};
    struct pb_point point = {.path = "global_cg",
                             .mode = "traced",
                             .phase = "strided",
                             .overhead_cycles = 14,
                             .footprint_bytes = 512 * stride,
                             .stride_bytes = stride,
                             .count = 512};
    uint32_t latency[512];
    uint64_t index[512];

    for (size_t i = 0; i < 512; i++) {
        index[i] = i * stride;
        latency[i] = synthetic_latency(&noise, index[i] % miss_bytes == 0 ? 700 : 300);
        if (index[i] % page_bytes == 0)
            latency[i] += 600;
    }
    assert_int_equal(pb_series_append(&recording->series, &point, latency, index, NULL), PB_OK);
}

/* The latencies that distinguish hits from misses, as the tests before would have stated them. */
static void record_latencies(struct device *device)
{
    static const struct synthetic_cache l2 = {128, 32, 128, 16, 4, false, 300, 700};
    struct synthetic_noise noise = {14, 1, 0, 0, 4};
    struct pb_recording *dram = device_record(device, "dram_latency");

    synthetic_capacity(device_record(device, "l2_capacity"), &l2, &noise, "global_cg");
    synthetic_constant(&dram->series, &noise, "global_cg", "near", 700, 256);
}

static void test_prefetch__without_an_end_it_is_not_stated(void **state)
{
    struct device device = {0};

    (void)state;
    record_latencies(&device);
    record_chases(device_record(&device, "prefetch"), UINT64_MAX, 512);
    device_infer(&device);
    assert_none(&device, "l2", "prefetch_bytes", "no end of the prefetched range");
    device_clear(&device);
}

static void test_prefetch__no_misses_at_random_say_nothing(void **state)
{
    struct device device = {0};

    (void)state;
    record_latencies(&device);
    record_chases(device_record(&device, "prefetch"), 64, 0);
    device_infer(&device);
    assert_none(&device, "l2", "prefetch_bytes", "cold loads at random miss");
    device_clear(&device);
}

/* A hit that waits 600 cycles for its page takes 900; a miss takes 700. */
static void test_prefetch__hits_that_wait_for_pages_are_no_misses(void **state)
{
    struct device device = {0};
    struct pb_recording *recording;

    (void)state;
    record_latencies(&device);
    recording = device_record(&device, "prefetch");
    record_chases(recording, UINT64_MAX, 512); /* 32 KiB by 64 bytes: one miss in order */
    record_strided(recording, 4096, 155648, 65536);
    device_infer(&device);
    assert_value(&device, "l2", "prefetch_bytes", 155648 - (4096 + 64) / 2.0);
    device_clear(&device);
}

/* A chase in order with one miss, and one by pages as record_strided() says. */
static void infer_strided(struct device *device, uint64_t stride, uint64_t miss_bytes,
                          uint64_t page_bytes)
{
    struct pb_recording *recording;

    record_latencies(device);
    recording = device_record(device, "prefetch");
    record_chases(recording, UINT64_MAX, 512);
    record_strided(recording, stride, miss_bytes, page_bytes);
    device_infer(device);
}

/* Every second miss waits for its page as well: what is seen is twice the distance. */
static void test_prefetch__misses_that_pages_may_hide_say_nothing(void **state)
{
    struct device device = {0};

    (void)state;
    infer_strided(&device, 4096, 163840, 65536);
    assert_none(&device, "l2", "prefetch_bytes", "may hide a miss");
    device_clear(&device);
}

/* Steps of 64 bytes never miss again, those of 4096 always: no one distance explains both. */
static void test_prefetch__a_stride_that_outruns_it_says_nothing(void **state)
{
    struct device device = {0};

    (void)state;
    infer_strided(&device, 4096, 4096, UINT64_MAX);
    assert_none(&device, "l2", "prefetch_bytes", "no prefetch at this stride");
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefetch__true_distances_are_found),
        cmocka_unit_test(test_prefetch__f13s_kepler_runs_512_bytes_ahead),
        cmocka_unit_test(test_prefetch__m16s_gpus_fetch_two_thirds_of_l2_ahead),
        cmocka_unit_test(test_prefetch__beyond_all_chases_it_is_not_stated),
        cmocka_unit_test(test_prefetch__hits_that_wait_for_pages_are_no_misses),
        cmocka_unit_test(test_prefetch__misses_that_pages_may_hide_say_nothing),
        cmocka_unit_test(test_prefetch__a_stride_that_outruns_it_says_nothing),
        cmocka_unit_test(test_prefetch__without_an_end_it_is_not_stated),
        cmocka_unit_test(test_prefetch__no_misses_at_random_say_nothing),
        cmocka_unit_test(test_prefetch__beyond_the_cold_chase_leaves_lines_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
