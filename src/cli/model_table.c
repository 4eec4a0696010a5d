/* The table of plumb-model. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/model_report.h"

const char *const pb_model_kind_names[PB_SHOWN_COUNT] = {"compulsory", "capacity", "conflict",
                                                         "mshr"};

/* ---- what both reports need ---- */

/* What the limit of outstanding misses costs is taken from capacity misses, then from conflicts. */
void pb_model_kinds(const struct pb_explanation *explanation, uint64_t kinds_out[PB_SHOWN_COUNT])
{
    static const enum pb_miss_kind order[] = {PB_MISS_CAPACITY, PB_MISS_CONFLICT};
    const struct pb_level_counts *l1 = &explanation->prediction.all_reads.l1;
    uint64_t left = explanation->mshr_misses > 0 ? (uint64_t)explanation->mshr_misses : 0;

    memcpy(kinds_out, l1->misses, sizeof(l1->misses));
    kinds_out[PB_SHOWN_MSHR] = 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        uint64_t taken = left < kinds_out[order[i]] ? left : kinds_out[order[i]];

        kinds_out[order[i]] -= taken;
        kinds_out[PB_SHOWN_MSHR] += taken;
        left -= taken;
    }
}

/* Puts row i, which has `misses`, among those with most. */
static void insert_row(size_t *rows, uint64_t *misses, size_t *count, size_t max, size_t row,
                       uint64_t here)
{
    size_t at = *count;

    if (here == 0 || (at == max && here <= misses[at - 1]))
        return;
    if (at < max)
        (*count)++;
    else
        at--;
    for (; at > 0 && misses[at - 1] < here; at--) {
        rows[at] = rows[at - 1];
        misses[at] = misses[at - 1];
    }
    rows[at] = row;
    misses[at] = here;
}

/* Misses of L1; of what bypasses it, those of L2. */
static uint64_t misses_of(const struct pb_access_counts *counts)
{
    uint64_t misses = pb_counts_misses(&counts->l1);

    return misses > 0 ? misses : pb_counts_misses(&counts->l2);
}

void pb_model_worst_instructions(const struct pb_prediction *prediction, size_t max, size_t *rows,
                                 size_t *count_out)
{
    uint64_t misses[PB_WORST_ROWS] = {0};

    *count_out = 0;
    for (size_t i = 0; i < prediction->instruction_count; i++)
        insert_row(rows, misses, count_out, max < PB_WORST_ROWS ? max : PB_WORST_ROWS, i,
                   misses_of(&prediction->instructions[i].counts));
}

void pb_model_worst_allocations(const struct pb_prediction *prediction, size_t max, size_t *rows,
                                size_t *count_out)
{
    uint64_t misses[PB_WORST_ROWS] = {0};

    *count_out = 0;
    for (size_t i = 0; i <= prediction->allocation_count; i++)
        insert_row(rows, misses, count_out, max < PB_WORST_ROWS ? max : PB_WORST_ROWS, i,
                   misses_of(&prediction->allocations[i]));
}

/* ---- the table ---- */

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole;
}

static void print_rate(const char *name, const struct pb_interval *rate, size_t seeds, FILE *out)
{
    fprintf(out, "  %-14s ", name);
    if (isnan(rate->value))
        fputs("-  no lookups", out);
    else if (seeds > 1)
        fprintf(out, "%.2f%% (%.2f%% to %.2f%% over %zu seeds)", 100.0 * rate->value,
                100.0 * rate->low, 100.0 * rate->high, seeds);
    else
        fprintf(out, "%.2f%%", 100.0 * rate->value);
    fputc('\n', out);
}

static void print_head(const struct pb_kernel *kernel, const struct pb_machine *machine,
                       const struct pb_prediction *prediction, FILE *out)
{
    fprintf(out, "%s: grid %u x %u x %u, block %u x %u x %u\n", kernel->name, kernel->grid[0],
            kernel->grid[1], kernel->grid[2], kernel->block[0], kernel->block[1], kernel->block[2]);
    fprintf(out, "  %-14s %s, %u SMs with up to %u active blocks each\n", "device", machine->name,
            prediction->schedule.sm_count, prediction->block_limit);
    if (machine->l1.level != NULL)
        fprintf(out, "  %-14s %" PRIu64 " bytes beside a carve-out of %" PRIu64 "\n", "L1",
                prediction->l1_bytes, prediction->carveout_bytes);
    if (kernel->message[0] != '\0')
        fprintf(out, "  %-14s %s\n", "note", kernel->message);
    if (machine->topology != NULL && pb_memory_topology(machine, kernel) == NULL)
        fprintf(out,
                "  %-14s which SMs share a GPC and a side of L2 is assumed: it was not measured, "
                "or the trace is of another GPU\n",
                "note");
    if (kernel->unmodelled > 0)
        fprintf(out, "  %-14s %" PRIu64 " memory instructions are of kinds that are not modelled\n",
                "note", kernel->unmodelled);
}

static void print_misses(const struct pb_explanation *explanation, FILE *out)
{
    const struct pb_level_counts *l1 = &explanation->prediction.all_reads.l1;
    uint64_t lookups = l1->hits + l1->in_flight + pb_counts_misses(l1);
    uint64_t kinds[PB_SHOWN_COUNT];

    pb_model_kinds(explanation, kinds);
    fprintf(out, "  %-14s", "L1 misses");
    for (size_t i = 0; i < PB_SHOWN_COUNT; i++)
        if (i != PB_SHOWN_MSHR || explanation->has_mshr)
            fprintf(out, " %s %.2f%%%s", pb_model_kind_names[i], percent(kinds[i], lookups),
                    i + 2 < PB_SHOWN_COUNT || (i + 1 < PB_SHOWN_COUNT && explanation->has_mshr)
                        ? ","
                        : "");
    fprintf(out, "; latency %.2f%% (in flight: hits to the counters)\n",
            percent(l1->in_flight, lookups));
    if (explanation->has_mshr && explanation->mshr_misses < 0)
        fprintf(out, "  %-14s the limit of outstanding misses saves %" PRId64 " sectors\n", "",
                -explanation->mshr_misses);
}

/* Reuse distances by powers of four, in shares of all lookups of lines. */
static void print_reuse(const struct pb_model_histogram *reuse, FILE *out)
{
    if (reuse == NULL || reuse->total == 0)
        return;
    fprintf(out, "  %-14s", "reuse distance");
    for (uint64_t low = 0, high = 1; low < UINT64_C(1) << 30; low = high, high *= 4) {
        uint64_t count = 0;

        for (size_t i = 0; i < PB_MODEL_HISTOGRAM_SIZE; i++)
            if (pb_model_histogram_low(i) >= low && pb_model_histogram_low(i) < high)
                count += reuse->counts[i];
        if (count > 0)
            fprintf(out, " <%" PRIu64 ": %.1f%%,", high, percent(count, reuse->total));
    }
    fprintf(out, " first uses: %.1f%% (lines)\n", percent(reuse->cold, reuse->total));
}

static void print_kinds_of(const struct pb_access_counts *counts, uint64_t all, FILE *out)
{
    const struct pb_level_counts *level =
        pb_counts_misses(&counts->l1) > 0 ? &counts->l1 : &counts->l2;

    fprintf(out, "%6.1f%% %12" PRIu64 " %7.2f %10.1f%% %8.1f%% %8.1f%%",
            percent(misses_of(counts), all), counts->accesses,
            counts->accesses == 0 ? 0.0 : (double)counts->sectors / (double)counts->accesses,
            percent(level->misses[PB_MISS_COMPULSORY], misses_of(counts)),
            percent(level->misses[PB_MISS_CAPACITY], misses_of(counts)),
            percent(level->misses[PB_MISS_CONFLICT], misses_of(counts)));
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static void print_instructions(const struct pb_kernel *kernel,
                               const struct pb_prediction *prediction, FILE *out)
{
    size_t rows[PB_WORST_ROWS];
    size_t count;

    pb_model_worst_instructions(prediction, PB_WORST_ROWS, rows, &count);
    if (count == 0)
        return;
    fprintf(out, "  %-28s %7s %12s %7s %11s %9s %9s\n", "misses by instruction", "share",
            "accesses", "sectors", "compulsory", "capacity", "conflict");
    for (size_t i = 0; i < count; i++) {
        const struct pb_instruction *instruction = &(*kernel->instructions)[rows[i]];
        char place[64];

        if (!kernel->has_program_counters)
            snprintf(place, sizeof(place), "all loads (no counters)");
        else if (instruction->line > 0)
            snprintf(place, sizeof(place), "%#" PRIx64 " %.14s:%u", instruction->program_counter,
                     instruction->file[0] != '\0' ? file_name(instruction->file) : "line",
                     instruction->line);
        else
            snprintf(place, sizeof(place), "%#" PRIx64 " %s", instruction->program_counter,
                     instruction->opcode);
        fprintf(out, "    %-26s ", place);
        print_kinds_of(&prediction->instructions[rows[i]].counts, misses_of(&prediction->all_reads),
                       out);
        fputc('\n', out);
    }
}

static void print_allocations(const struct pb_kernel *kernel,
                              const struct pb_prediction *prediction, FILE *out)
{
    size_t rows[PB_WORST_ROWS];
    size_t count;

    if (kernel->allocation_count == 0)
        return;
    pb_model_worst_allocations(prediction, PB_WORST_ROWS, rows, &count);
    fprintf(out, "  misses by allocation\n");
    for (size_t i = 0; i < count; i++) {
        char place[64] = "no known one";

        if (rows[i] < kernel->allocation_count)
            snprintf(place, sizeof(place), "%.10s %#" PRIx64, kernel->allocations[rows[i]].name,
                     kernel->allocations[rows[i]].address);
        fprintf(out, "    %-26s ", place);
        print_kinds_of(&prediction->allocations[rows[i]], misses_of(&prediction->all_reads), out);
        fputc('\n', out);
    }
}

static void print_advice(const struct pb_explanation *explanation, FILE *out)
{
    if (explanation->advice_count == 0)
        fputs("  what would help: nothing that was tried saves 5% of L1's misses\n", out);
    else
        fputs("  what would help\n", out);
    for (size_t i = 0; i < explanation->advice_count; i++) {
        const struct pb_advice *advice = &explanation->advice[i];

        fprintf(out, "    %-9s %s: %" PRIu64 " sectors missed instead of %" PRIu64 "\n",
                pb_advice_name(advice->kind), advice->text, advice->misses_then, advice->misses);
    }
}

void pb_model_print(const struct pb_kernel *kernel, const struct pb_machine *machine,
                    const struct pb_explanation *explanation, FILE *out)
{
    const struct pb_prediction *prediction = &explanation->prediction;
    const struct pb_access_counts *loads = &prediction->loads;

    print_head(kernel, machine, prediction, out);
    fprintf(out,
            "  %-14s %" PRIu64 " of warps, %" PRIu64 " sectors (%.2f of a load; its bytes fill "
            "%.2f)\n",
            "global loads", loads->accesses, loads->sectors,
            loads->accesses == 0 ? 0.0 : (double)loads->sectors / (double)loads->accesses,
            loads->accesses == 0 ? 0.0 : (double)loads->bytes / 32.0 / (double)loads->accesses);
    print_rate("L1 hit rate", &explanation->l1_hits, explanation->seed_count, out);
    print_rate("L2 hit rate", &explanation->l2_hits, explanation->seed_count, out);
    print_misses(explanation, out);
    print_reuse(prediction->reuse, out);
    print_instructions(kernel, prediction, out);
    print_allocations(kernel, prediction, out);
    print_advice(explanation, out);
    fputc('\n', out);
}
