/* The JSON of plumb-model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model_report.h"

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void set_count(json_t *object, const char *key, uint64_t count)
{
    set(object, key, json_integer((json_int_t)count));
}

static void set_real(json_t *object, const char *key, double value)
{
    set(object, key, isfinite(value) ? json_real(value) : json_null());
}

static json_t *make_triple(const uint32_t numbers[3])
{
    json_t *list = json_array();

    for (size_t i = 0; i < 3; i++)
        json_array_append_new(list, json_integer(numbers[i]));
    return list;
}

static json_t *make_rate(const struct pb_interval *rate)
{
    json_t *object = json_object();

    set_real(object, "value", rate->value);
    set_real(object, "low", rate->low);
    set_real(object, "high", rate->high);
    return object;
}

static json_t *make_level(const struct pb_level_counts *counts)
{
    json_t *object = json_object();

    set_count(object, "hits", counts->hits);
    set_count(object, "in_flight", counts->in_flight);
    for (size_t i = 0; i < PB_MISS_KIND_COUNT; i++)
        set_count(object, pb_model_kind_names[i], counts->misses[i]);
    return object;
}

static json_t *make_counts(const struct pb_access_counts *counts)
{
    json_t *object = json_object();

    set_count(object, "accesses", counts->accesses);
    set_count(object, "sectors", counts->sectors);
    set_count(object, "lines", counts->lines);
    set_count(object, "bytes", counts->bytes);
    set(object, "l1", make_level(&counts->l1));
    set(object, "l2", make_level(&counts->l2));
    set_count(object, "l2_merged", counts->l2_merged);
    return object;
}

static void set_stride(json_t *object, const char *key, const struct pb_stride *stride)
{
    set(object, key, stride->weight > 0 ? json_integer(stride->bytes) : json_null());
}

static json_t *make_instructions(const struct pb_kernel *kernel,
                                 const struct pb_prediction *prediction)
{
    json_t *list = json_array();
    size_t rows[PB_WORST_ROWS];
    size_t count;

    pb_model_worst_instructions(prediction, PB_WORST_ROWS, rows, &count);
    for (size_t i = 0; i < count; i++) {
        const struct pb_instruction *row = &(*kernel->instructions)[rows[i]];
        json_t *object = make_counts(&prediction->instructions[rows[i]].counts);

        if (kernel->has_program_counters) {
            set_count(object, "program_counter", row->program_counter);
            set(object, "opcode", json_string(row->opcode));
        }
        if (row->line > 0) {
            set(object, "file", json_string(row->file));
            set_count(object, "line", row->line);
        }
        set_stride(object, "lane_stride_bytes", &prediction->instructions[rows[i]].lane);
        set_stride(object, "step_bytes", &prediction->instructions[rows[i]].step);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *make_allocations(const struct pb_kernel *kernel,
                                const struct pb_prediction *prediction)
{
    json_t *list = json_array();
    size_t rows[PB_WORST_ROWS];
    size_t count = 0;

    if (kernel->allocation_count > 0)
        pb_model_worst_allocations(prediction, PB_WORST_ROWS, rows, &count);
    for (size_t i = 0; i < count; i++) {
        json_t *object = make_counts(&prediction->allocations[rows[i]]);

        if (rows[i] < kernel->allocation_count) {
            const struct pb_allocation *row = &kernel->allocations[rows[i]];

            set(object, "name", json_string(row->name));
            set(object, "address", json_sprintf("0x%llx", (unsigned long long)row->address));
            set_count(object, "size_bytes", row->bytes);
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *make_reuse(const struct pb_model_histogram *reuse)
{
    json_t *object = json_object();
    json_t *classes = json_array();

    for (size_t i = 0; i < PB_MODEL_HISTOGRAM_SIZE; i++)
        if (reuse->counts[i] > 0) {
            json_t *row = json_array();

            json_array_append_new(row, json_integer((json_int_t)pb_model_histogram_low(i)));
            json_array_append_new(row, json_integer((json_int_t)reuse->counts[i]));
            json_array_append_new(classes, row);
        }
    set_count(object, "first_uses", reuse->cold);
    set_count(object, "total", reuse->total);
    set(object, "distances", classes);
    return object;
}

static json_t *make_advice(const struct pb_kernel *kernel, const struct pb_explanation *explanation)
{
    json_t *list = json_array();

    for (size_t i = 0; i < explanation->advice_count; i++) {
        const struct pb_advice *advice = &explanation->advice[i];
        json_t *object = json_object();

        set(object, "kind", json_string(pb_advice_name(advice->kind)));
        set(object, "text", json_string(advice->text));
        set_count(object, "misses", advice->misses);
        set_count(object, "misses_then", advice->misses_then);
        if (advice->instruction != PB_NO_ROW && kernel->has_program_counters)
            set_count(object, "program_counter",
                      (*kernel->instructions)[advice->instruction].program_counter);
        if (advice->allocation != PB_NO_ROW && advice->allocation < kernel->allocation_count)
            set(object, "allocation", json_string(kernel->allocations[advice->allocation].name));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *make_kinds(const struct pb_explanation *explanation)
{
    json_t *object = json_object();
    uint64_t kinds[PB_SHOWN_COUNT];

    pb_model_kinds(explanation, kinds);
    for (size_t i = 0; i < PB_SHOWN_COUNT; i++)
        if (i != PB_SHOWN_MSHR || explanation->has_mshr)
            set_count(object, pb_model_kind_names[i], kinds[i]);
    set_count(object, "latency", explanation->prediction.all_reads.l1.in_flight);
    if (explanation->has_mshr)
        set(object, "mshr_difference", json_integer(explanation->mshr_misses));
    return object;
}

static json_t *make_without(const bool without[PB_EXTENSION_COUNT])
{
    json_t *list = json_array();

    for (int i = 0; i < PB_EXTENSION_COUNT; i++)
        if (without[i])
            json_array_append_new(list, json_string(pb_extension_name((enum pb_extension)i)));
    return list;
}

json_t *pb_model_json(const char *trace, const char *format, const struct pb_kernel *kernel,
                      const struct pb_machine *machine, const struct pb_explanation *explanation,
                      const bool without[PB_EXTENSION_COUNT], uint64_t seed)
{
    const struct pb_prediction *prediction = &explanation->prediction;
    json_t *object = json_object();

    set(object, "trace", json_string(trace));
    set(object, "format", json_string(format));
    set(object, "kernel", json_string(kernel->name));
    set(object, "grid", make_triple(kernel->grid));
    set(object, "block", make_triple(kernel->block));
    set(object, "device", json_string(machine->name));
    set(object, "without", make_without(without));
    set_count(object, "seed", seed);
    set_count(object, "seed_count", explanation->seed_count);
    set_count(object, "sm_count", prediction->schedule.sm_count);
    set_count(object, "active_blocks_per_sm", prediction->block_limit);
    set(object, "topology",
        json_string(pb_memory_topology(machine, kernel) != NULL ? "measured" : "assumed"));
    set_count(object, "l1_size_bytes", prediction->l1_bytes);
    set_count(object, "carveout_bytes", prediction->carveout_bytes);
    set_count(object, "warp_accesses", prediction->schedule.access_count);
    set_count(object, "stores", prediction->stores);
    set_count(object, "atomics", prediction->atomics);
    set_count(object, "unmodelled", kernel->unmodelled);
    set_count(object, "untraced", kernel->untraced);
    set(object, "message", json_string(kernel->message));
    set(object, "l1_hit_rate", make_rate(&explanation->l1_hits));
    set(object, "l2_hit_rate", make_rate(&explanation->l2_hits));
    set(object, "global_loads", make_counts(&prediction->loads));
    set(object, "all_reads", make_counts(&prediction->all_reads));
    set(object, "l1_misses", make_kinds(explanation));
    if (prediction->reuse != NULL)
        set(object, "reuse_distance", make_reuse(prediction->reuse));
    set(object, "instructions", make_instructions(kernel, prediction));
    set(object, "allocations", make_allocations(kernel, prediction));
    set(object, "advice", make_advice(kernel, explanation));
    return object;
}
