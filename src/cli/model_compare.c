/* The model against hardware counters; see model_compare.h. */
#include "cli/model_compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel/stack_distance.h"
#include "cli/counters.h"

/* Accel-Sim's L1 of an A100: sets and ways. */
enum { SIMPLE_SETS = 4, SIMPLE_WAYS = 64, SIMPLE_LINE = 128, SIMPLE_SECTOR = 32 };

enum variant {
    VARIANT_PLUMB,
    VARIANT_FULL,    /* reuse distances: fully associative, nothing takes time */
    VARIANT_4X64,    /* 4 sets of 64 ways, LRU, otherwise plumb's */
    VARIANT_CHANCE,  /* stack distances and chance */
    VARIANT_WITHOUT, /* without the first extension, the second, … */
    VARIANT_COUNT = VARIANT_WITHOUT + PB_EXTENSION_COUNT
};

enum rate { RATE_L1, RATE_L2, RATE_COUNT };

struct row {
    char kernel[256];
    double counters[PB_COUNTER_COUNT];
    uint64_t loads, sectors;
    double measured[RATE_COUNT];
    double rates[VARIANT_COUNT][RATE_COUNT];
};

struct pb_compare {
    char *path;
    struct pb_counter_row *counters;
    bool *is_used; /* [counter_count] */
    size_t counter_count;
    struct row *rows; /* [counter_count] */
    size_t row_count;
};

enum pb_status pb_compare_open(const char *path, struct pb_compare **compare_out,
                               struct pb_error *err)
{
    struct pb_compare *compare = calloc(1, sizeof(*compare));
    enum pb_status status;

    if (compare == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    status = pb_counters_read(path, &compare->counters, &compare->counter_count, err);
    if (status == PB_OK) {
        compare->path = strdup(path);
        compare->is_used = calloc(compare->counter_count, sizeof(*compare->is_used));
        compare->rows = calloc(compare->counter_count, sizeof(*compare->rows));
        if (compare->path == NULL || compare->is_used == NULL || compare->rows == NULL)
            status = pb_fail(err, PB_NO_MEMORY, "%s: out of memory", path);
    }
    if (status != PB_OK) {
        pb_compare_close(compare);
        return status;
    }
    *compare_out = compare;
    return PB_OK;
}

void pb_compare_close(struct pb_compare *compare)
{
    if (compare == NULL)
        return;
    free(compare->path);
    free(compare->counters);
    free(compare->is_used);
    free(compare->rows);
    free(compare);
}

/* ---- one kernel ---- */

static void set_variant(enum variant variant, struct pb_predict_options *options)
{
    bool *without = options->memory.without;

    options->memory.has_no_classes = true;
    options->memory.wants_reuse = variant == VARIANT_CHANCE;
    if (variant == VARIANT_FULL || variant == VARIANT_CHANCE)
        without[PB_EXTENSION_LATENCY] = without[PB_EXTENSION_MSHR] =
            without[PB_EXTENSION_DIVERGENCE] = true;
    if (variant == VARIANT_FULL)
        without[PB_EXTENSION_ASSOCIATIVITY] = true;
    else if (variant == VARIANT_4X64)
        options->l1 = (struct pb_model_shape){.line_bytes = SIMPLE_LINE,
                                              .sector_bytes = SIMPLE_SECTOR,
                                              .set_count = SIMPLE_SETS,
                                              .way_count = SIMPLE_WAYS,
                                              .policy = PB_MODEL_LRU};
    else if (variant >= VARIANT_WITHOUT)
        without[variant - VARIANT_WITHOUT] = true;
}

static double share(double part, double whole)
{
    return whole > 0.0 ? part / whole : NAN;
}

static void set_rates(const struct pb_prediction *prediction, double rates[RATE_COUNT])
{
    const struct pb_access_counts *loads = &prediction->loads, *copies = &prediction->copies;

    /* By the counters, sectors of loads that bypass L1 are sectors without a hit. */
    rates[RATE_L1] = share(
        (double)(loads->l1.hits + loads->l1.in_flight + copies->l1.hits + copies->l1.in_flight),
        (double)(loads->sectors + copies->sectors));
    rates[RATE_L2] = pb_counts_hit_rate(&prediction->all_reads.l2);
}

/* By chance: of the whole L1, whose sets are those of the device. */
static double chance_of(const struct pb_machine *machine, const struct pb_prediction *prediction)
{
    const struct pb_model_shape *shape = &machine->l1.level->shape;
    size_t ways = machine->l1.level->has_sets && shape->way_count > 0 ? shape->way_count : 1;
    size_t lines = (size_t)(prediction->l1_bytes / shape->line_bytes);

    return pb_stack_distance_hit_rate(prediction->reuse, lines / ways > 0 ? lines / ways : 1, ways);
}

static enum pb_status run_variant(const struct pb_trace *trace, const struct pb_machine *machine,
                                  const struct pb_predict_options *options, enum variant variant,
                                  double rates[RATE_COUNT], struct pb_error *err)
{
    struct pb_predict_options used = *options;
    struct pb_prediction prediction;
    enum pb_status status;

    set_variant(variant, &used);
    status = pb_predict(trace, machine, &used, &prediction, err);
    if (status != PB_OK)
        return status;
    set_rates(&prediction, rates);
    if (variant == VARIANT_CHANCE) {
        rates[RATE_L2] = NAN;
        if (machine->l1.level != NULL && prediction.reuse != NULL)
            rates[RATE_L1] = chance_of(machine, &prediction);
    }
    pb_prediction_clear(&prediction);
    return PB_OK;
}

static size_t find_counters(const struct pb_compare *compare, const char *kernel)
{
    size_t i = 0;

    while (i < compare->counter_count &&
           (compare->is_used[i] || strcmp(compare->counters[i].kernel, kernel) != 0))
        i++;
    return i;
}

enum pb_status pb_compare_kernel(struct pb_compare *compare, const struct pb_trace *trace,
                                 const struct pb_machine *machine,
                                 const struct pb_predict_options *options,
                                 const struct pb_prediction *prediction, struct pb_error *err)
{
    const struct pb_kernel *kernel = trace->ops->kernel(trace->state);
    struct row *row = &compare->rows[compare->row_count];
    enum pb_status status = PB_OK;
    size_t at;

    pb_kernel_base_name(kernel->name, row->kernel, sizeof(row->kernel));
    at = find_counters(compare, row->kernel);
    if (at == compare->counter_count)
        return PB_OK;
    compare->is_used[at] = true;
    compare->row_count++;
    memcpy(row->counters, compare->counters[at].values, sizeof(row->counters));
    row->measured[RATE_L1] =
        share(row->counters[PB_COUNTER_L1_HITS], row->counters[PB_COUNTER_SECTORS]);
    row->measured[RATE_L2] =
        share(row->counters[PB_COUNTER_L2_HITS], row->counters[PB_COUNTER_L2_READS]);
    row->loads = prediction->loads.accesses;
    row->sectors = prediction->loads.sectors + prediction->copies.sectors;
    set_rates(prediction, row->rates[VARIANT_PLUMB]);
    for (int i = VARIANT_PLUMB + 1; i < VARIANT_COUNT && status == PB_OK; i++)
        status = run_variant(trace, machine, options, (enum variant)i, row->rates[i], err);
    return status;
}

/* ---- all kernels ---- */

static const char *variant_name(int variant)
{
    static const char *const names[VARIANT_WITHOUT] = {"plumb", "fully associative", "4 x 64 LRU",
                                                       "stack-distance probability"};

    return variant < VARIANT_WITHOUT
               ? names[variant]
               : pb_extension_name((enum pb_extension)(variant - VARIANT_WITHOUT));
}

struct error_sum {
    double mean, worst; /* in points; NaN: nothing to compare */
    size_t count;
};

static struct error_sum sum_errors(const struct pb_compare *compare, int variant, enum rate rate)
{
    struct error_sum sum = {.mean = 0.0};

    for (size_t i = 0; i < compare->row_count; i++) {
        const struct row *row = &compare->rows[i];
        double error = 100.0 * fabs(row->rates[variant][rate] - row->measured[rate]);

        if (isnan(error))
            continue;
        sum.mean += error;
        sum.worst = fmax(sum.worst, error);
        sum.count++;
    }
    sum.mean = sum.count == 0 ? NAN : sum.mean / (double)sum.count;
    sum.worst = sum.count == 0 ? NAN : sum.worst;
    return sum;
}

static void print_share(double value, FILE *out)
{
    if (isnan(value))
        fprintf(out, " %8s", "-");
    else
        fprintf(out, " %7.2f%%", 100.0 * value);
}

static void print_rates(const struct pb_compare *compare, enum rate rate, FILE *out)
{
    fprintf(out, "%-22s %8s", rate == RATE_L1 ? "L1 hit rate" : "L2 read hit rate", "counters");
    for (int i = 0; i < VARIANT_COUNT; i++)
        fprintf(out, " %s%.7s", i < VARIANT_WITHOUT ? " " : "-", variant_name(i));
    fputc('\n', out);
    for (size_t k = 0; k < compare->row_count; k++) {
        const struct row *row = &compare->rows[k];

        fprintf(out, "%-22.22s", row->kernel);
        print_share(row->measured[rate], out);
        for (int i = 0; i < VARIANT_COUNT; i++)
            print_share(row->rates[i][rate], out);
        fputc('\n', out);
    }
    for (int worst = 0; worst < 2; worst++) {
        fprintf(out, "%-31s", worst ? "worst error, points" : "mean absolute error, points");
        for (int i = 0; i < VARIANT_COUNT; i++) {
            struct error_sum sum = sum_errors(compare, i, rate);

            if (sum.count == 0)
                fprintf(out, " %8s", "-");
            else
                fprintf(out, " %8.2f", worst ? sum.worst : sum.mean);
        }
        fputc('\n', out);
    }
    fputc('\n', out);
}

/* What has to be equal, since it is no prediction. */
static void print_fidelity(const struct pb_compare *compare, FILE *out)
{
    fprintf(out, "%-22s %16s %16s %16s %16s\n", "", "loads, counters", "trace", "sectors, counters",
            "trace");
    for (size_t k = 0; k < compare->row_count; k++) {
        const struct row *row = &compare->rows[k];

        fprintf(out, "%-22.22s %16.0f %16" PRIu64 " %16.0f %16" PRIu64 "%s\n", row->kernel,
                row->counters[PB_COUNTER_LOADS], row->loads, row->counters[PB_COUNTER_SECTORS],
                row->sectors,
                row->counters[PB_COUNTER_LOADS] == (double)row->loads &&
                        row->counters[PB_COUNTER_SECTORS] == (double)row->sectors
                    ? ""
                    : "  differ");
    }
    fputc('\n', out);
}

enum pb_status pb_compare_end(const struct pb_compare *compare, FILE *out, struct pb_error *err)
{
    if (compare->row_count == 0)
        return pb_fail(err, PB_INVALID,
                       "%s: expected counters of a kernel of the traces, found %s first",
                       compare->path, compare->counters[0].kernel);
    if (out == NULL)
        return PB_OK;
    fprintf(out, "%zu kernels against hardware counters; \"-name\": without that extension\n\n",
            compare->row_count);
    print_fidelity(compare, out);
    print_rates(compare, RATE_L1, out);
    print_rates(compare, RATE_L2, out);
    return PB_OK;
}

/* ---- JSON ---- */

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *make_errors(const struct pb_compare *compare, int variant)
{
    static const char *const keys[RATE_COUNT] = {"l1", "l2"};
    json_t *object = json_object();

    for (int rate = 0; rate < RATE_COUNT; rate++) {
        struct error_sum sum = sum_errors(compare, variant, (enum rate)rate);
        json_t *errors = json_object();

        json_object_set_new(errors, "mean_absolute_points", real_or_null(sum.mean));
        json_object_set_new(errors, "worst_points", real_or_null(sum.worst));
        json_object_set_new(errors, "kernels", json_integer((json_int_t)sum.count));
        json_object_set_new(object, keys[rate], errors);
    }
    return object;
}

static json_t *make_row(const struct row *row)
{
    json_t *object = json_object();
    json_t *counters = json_object();
    json_t *models = json_object();

    json_object_set_new(object, "kernel", json_string(row->kernel));
    json_object_set_new(counters, "loads", real_or_null(row->counters[PB_COUNTER_LOADS]));
    json_object_set_new(counters, "sectors", real_or_null(row->counters[PB_COUNTER_SECTORS]));
    json_object_set_new(counters, "l1_hit_rate", real_or_null(row->measured[RATE_L1]));
    json_object_set_new(counters, "l2_hit_rate", real_or_null(row->measured[RATE_L2]));
    json_object_set_new(object, "counters", counters);
    json_object_set_new(object, "loads", json_integer((json_int_t)row->loads));
    json_object_set_new(object, "sectors", json_integer((json_int_t)row->sectors));
    for (int i = 0; i < VARIANT_COUNT; i++) {
        json_t *rates = json_object();

        json_object_set_new(rates, "l1_hit_rate", real_or_null(row->rates[i][RATE_L1]));
        json_object_set_new(rates, "l2_hit_rate", real_or_null(row->rates[i][RATE_L2]));
        json_object_set_new(models, variant_name(i), rates);
    }
    json_object_set_new(object, "models", models);
    return object;
}

json_t *pb_compare_json(const struct pb_compare *compare)
{
    json_t *object = json_object();
    json_t *rows = json_array();
    json_t *errors = json_object();

    for (size_t i = 0; i < compare->row_count; i++)
        json_array_append_new(rows, make_row(&compare->rows[i]));
    for (int i = 0; i < VARIANT_COUNT; i++)
        json_object_set_new(errors, variant_name(i), make_errors(compare, i));
    json_object_set_new(object, "kernels", rows);
    json_object_set_new(object, "errors", errors);
    return object;
}
