/*
 * What Saavedra1992 and Wong2010 would read from the graphs of simulated devices: M16's readings of
 * a GTX 780's texture cache, their contradiction, and curves that show nothing to read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analysis/device.h"
#include "analysis/selected.h"
#include "analysis/synthetic.h"

static const char tests_needed[] =
    "texture_capacity,texture_line,texture_sets,classic_saavedra,classic_wong";

static void assert_within(const struct pb_parameters *parameters, const char *memory,
                          const char *name, double truth)
{
    const struct pb_estimate *e = &selected_find(parameters, memory, name)->numbers[0];

    if (!(e->low <= truth && truth <= e->high))
        fail_msg("%s.%s: %g to %g leaves out %g", memory, name, e->low, e->high, truth);
}

/* "C = 12KB, b = 32 bytes, a = 96": the grid of powers of two holds them in its intervals. */
static void test_m16_section_4_1__saavedra_on_kepler_textures(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    selected_infer("gtx780", tests_needed, &parameters);
    assert_number(&parameters, "texture", "saavedra_line_bytes", 32, 0);
    assert_within(&parameters, "texture", "saavedra_size_bytes", 12288);
    assert_within(&parameters, "texture", "saavedra_ways", 96);
    assert_within(&parameters, "texture", "saavedra_sets", 4);
    assert_open(&parameters, "l1", "saavedra_ways", "to another path only");
    pb_parameters_clear(&parameters);
}

/* "4 plateaus … 4 cache ways … width of every plateau": C = 12KB, b = 128 bytes, a = 4. */
static void test_m16_section_4_1__wong_contradicts_saavedra(void **state)
{
    struct pb_parameters parameters;

    (void)state;
    selected_infer("gtx780", tests_needed, &parameters);
    assert_number(&parameters, "texture", "wong_size_bytes", 12288, 0);
    assert_number(&parameters, "texture", "wong_line_bytes", 128, 0);
    assert_number(&parameters, "texture", "wong_ways", 4, 0);
    assert_number(&parameters, "texture", "wong_sets", 24, 0);
    assert_number(&parameters, "texture", "line_bytes", 32, 0); /* ours, as M16 table V */
    assert_number(&parameters, "texture", "way_counts", 96, 0);
    assert_number(&parameters, "texture", "set_count", 4, 0);
    pb_parameters_clear(&parameters);
}

/* ---- curves ---- */

/* Passes over 30 to 79 lines; every `width` lines beyond the 32nd the average steps up. */
static void record_wong(struct device *device, size_t width, double noise)
{
    struct pb_series *series = &device_record(device, "classic_wong")->series;
    struct synthetic_noise chance = {0, 100, 0, 0, 9};

    for (size_t lines = 30; lines < 80; lines++) {
        double full = lines > 32 ? (double)((lines - 33) / width + 1) * (double)width / 47.0 : 0.0;
        double jitter = noise * synthetic_latency(&chance, 0) / 100.0;

        synthetic_pass(series, "texture", "wong", lines * 64, 64, 1000,
                       (uint64_t)(1000.0 * (100.0 + 100.0 * fmin(full, 1.0) + jitter)));
    }
}

static void test_wong__plateaus_are_counted_in_spite_of_noise(void **state)
{
    struct device device = {0};

    (void)state;
    record_wong(&device, 12, 0.2);
    device_infer(&device);
    assert_value(&device, "texture", "wong_size_bytes", 32 * 64);
    assert_value(&device, "texture", "wong_line_bytes", 12 * 64);
    assert_value(&device, "texture", "wong_ways", 4);
    device_clear(&device);
}

/* As an H200's: no two arrays take the same time, so that there is nothing to count. */
static void test_wong__a_smooth_rise_has_no_plateaus(void **state)
{
    struct device device = {0};

    (void)state;
    record_wong(&device, 1, 0.2);
    device_infer(&device);
    assert_none(&device, "texture", "wong_ways", "grows without plateaus");
    device_clear(&device);
}

static void test_saavedra__a_flat_graph_shows_nothing(void **state)
{
    static const double sizes[] = {1024, 2048, 4096, 8192};
    struct device device = {0};
    struct pb_recording *recording;
    struct pb_matrix *matrix;

    (void)state;
    recording = device_record(&device, "classic_saavedra");
    matrix = &recording->matrix;
    pb_axis_set_values(&matrix->axes[0], "array_bytes", "byte", "", sizes, 4, NULL);
    pb_axis_set_values(&matrix->axes[1], "stride_bytes", "byte", "", sizes, 4, NULL);
    assert_int_equal(pb_matrix_allocate(matrix, "cycle", "", NULL), PB_OK);
    for (size_t i = 0; i < 16; i++)
        matrix->values[i] = 100.0 + (double)(i % 3);
    synthetic_pass(&recording->series, "texture", "saavedra", 1024, 8, 1, 100);
    device_infer(&device);
    assert_none(&device, "texture", "saavedra_size_bytes", "none of 4 arrays has misses");
    device_clear(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_m16_section_4_1__saavedra_on_kepler_textures),
        cmocka_unit_test(test_m16_section_4_1__wong_contradicts_saavedra),
        cmocka_unit_test(test_wong__plateaus_are_counted_in_spite_of_noise),
        cmocka_unit_test(test_wong__a_smooth_rise_has_no_plateaus),
        cmocka_unit_test(test_saavedra__a_flat_graph_shows_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
