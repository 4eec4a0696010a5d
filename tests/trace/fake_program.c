/*
 * fake-traced-program ACTION...: does what a traced program's injected library does, without a GPU:
 * writes a stream where the environment says. Actions, in their order:
 *
 *   context          a context with 4 SMs
 *   launch NAME      a launch of 8 CTAs on them, 100 accesses each, if --kernel selects it
 *   begin NAME       the same without its end
 *   fail NAME        the same, whose kernel failed
 *   many N           N launches of "many"
 *   exit N, abort    how it ends; else with exit status 0
 *   limit BYTES      no file may grow beyond that
 *   silent           no header's end mark
 *   message TEXT     what the library says went wrong
 *   graphs N         N launches of CUDA graphs that are not traced
 *   torn             half a frame at the end
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "trace/selection.h"
#include "trace/stream.h"
#include "trace/words.h"

enum { SMS = 4, CTAS = 8, ACCESSES = 100, LANES = 32 };

struct fake {
    struct pb_stream_writer *stream;
    struct pb_selection selection;
    uint64_t launches, selected;
    uint32_t sequence;
};

static size_t put_cta(uint32_t *words, uint32_t type, uint32_t cta, uint32_t sequence)
{
    words[0] = type;
    words[1] = cta;
    words[2] = sequence;
    words[3] = sequence * 10;
    words[4] = 0;
    return PB_WORDS_CTA_LENGTH;
}

/* Access i of a CTA: affine, near or far, in turn. */
static size_t put_access(uint32_t *words, uint32_t cta, uint32_t i, uint32_t sequence)
{
    uint64_t base = UINT64_C(0x7f1234560000) + cta * 0x10000u + i * 128;
    uint32_t form = i % 3, length = PB_WORDS_ACCESS_HEAD;

    words[1] = 0xffffffffu;
    words[2] = sequence;
    words[3] = 16 * (i % 4);
    words[4] = cta;
    words[5] = i % 8;
    words[6] = (uint32_t)base;
    words[7] = (uint32_t)(base >> 32);
    if (form == PB_FORM_AFFINE)
        words[length++] = 4;
    for (uint32_t k = 1; k < LANES && form != PB_FORM_AFFINE; k++) {
        words[length++] = form == PB_FORM_NEAR ? k * k * 64 : 0;
        if (form == PB_FORM_FAR)
            words[length++] = k;
    }
    words[0] = PB_WORDS_ACCESS | form << 8 | 1u << 16 | 4u << 24;
    return length;
}

static void launch_sm(struct fake *fake, uint64_t launch, uint32_t sm)
{
    struct pb_stream_chunk chunk = {.launch = launch, .sm = 2 * sm, .traced = 1};
    static uint32_t words[PB_CHUNK_WORDS];
    size_t count = 0;

    if (fake->selection.sm_count != 0 && sm >= fake->selection.sm_count)
        chunk.traced = 0;
    for (uint32_t cta = sm; cta < CTAS; cta += SMS) {
        count += put_cta(words + count, PB_WORDS_CTA_BEGIN, cta, fake->sequence++);
        for (uint32_t i = 0; i < ACCESSES && chunk.traced == 1; i++) {
            if (count > PB_CHUNK_WORDS / 4) {
                pb_stream_write(fake->stream, PB_STREAM_CHUNK, &chunk, sizeof(chunk), words,
                                count * sizeof(*words));
                count = 0;
            }
            count += put_access(words + count, cta, i, fake->sequence++);
        }
        count += put_cta(words + count, PB_WORDS_CTA_END, cta, fake->sequence++);
    }
    if (pb_stream_write(fake->stream, PB_STREAM_CHUNK, &chunk, sizeof(chunk), words,
                        count * sizeof(*words)) != PB_OK)
        pb_stream_header(fake->stream)->lost_records += ACCESSES;
}

static void launch(struct fake *fake, const char *name, int has_end, int failed)
{
    struct pb_stream_launch row = {.launch = fake->launches++,
                                   .grid = {CTAS, 1, 1},
                                   .block = {256, 1, 1},
                                   .cluster = {1, 1, 1},
                                   .shared_dynamic_bytes = -1,
                                   .carveout_percent = -2};
    struct pb_stream_launch_end end = {.launch = row.launch, .seconds = 0.5, .failed = failed};
    uint64_t lost = pb_stream_header(fake->stream)->lost_records;

    pb_stream_header(fake->stream)->launches = fake->launches;
    snprintf(row.name, sizeof(row.name), "%s", name);
    if (!pb_selection_matches(&fake->selection, name)) {
        pb_stream_write(fake->stream, PB_STREAM_SKIPPED, name, strlen(name) + 1, NULL, 0);
        return;
    }
    if (!pb_selection_has_launch(&fake->selection, fake->selected++))
        return;
    pb_stream_write(fake->stream, PB_STREAM_LAUNCH, &row, sizeof(row), NULL, 0);
    fake->sequence = 0;
    for (uint32_t sm = 0; sm < SMS; sm++)
        launch_sm(fake, row.launch, sm);
    end.lost_records = pb_stream_header(fake->stream)->lost_records - lost;
    snprintf(end.message, sizeof(end.message), "%s", failed ? "the kernel failed" : "");
    if (has_end)
        pb_stream_write(fake->stream, PB_STREAM_LAUNCH_END, &end, sizeof(end), NULL, 0);
}

static void context(struct fake *fake)
{
    struct pb_stream_context row = {.compute_capability = 90, .sm_count = SMS};
    struct pb_stream_allocation allocation = {
        .address = 0x7f1234560000, .bytes = 1 << 20, .kind = "device"};

    snprintf(row.model, sizeof(row.model), "a GPU that is not there");
    pb_stream_write(fake->stream, PB_STREAM_CONTEXT, &row, sizeof(row), NULL, 0);
    pb_stream_write(fake->stream, PB_STREAM_ALLOCATION, &allocation, sizeof(allocation), NULL, 0);
    allocation.event = 1;
    pb_stream_write(fake->stream, PB_STREAM_FREE, &allocation, sizeof(allocation), NULL, 0);
}

static void limit(const char *bytes)
{
    struct rlimit room = {strtoul(bytes, NULL, 10), RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &room);
}

static void tear(const char *prefix)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s.%ld", prefix, (long)getpid());
    file = fopen(path, "ab");
    if (file != NULL) {
        fwrite("half a frame", 1, 12, file);
        fclose(file);
    }
}

int main(int argc, char **argv)
{
    struct fake fake = {.stream = NULL};
    const char *prefix = getenv(PB_TRACE_STREAM_ENV);
    int code = 0;

    if (prefix == NULL || pb_stream_create(prefix, &fake.stream, NULL) != PB_OK ||
        pb_selection_parse(getenv(PB_TRACE_KERNEL_ENV), getenv(PB_TRACE_LAUNCHES_ENV),
                           getenv(PB_TRACE_SMS_ENV), &fake.selection, NULL) != PB_OK)
        return 99;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";

        if (strcmp(argv[i], "context") == 0)
            context(&fake);
        else if (strcmp(argv[i], "abort") == 0)
            abort();
        else if (strcmp(argv[i], "torn") == 0)
            tear(prefix);
        else {
            i++;
            if (strcmp(argv[i - 1], "launch") == 0)
                launch(&fake, value, 1, 0);
            else if (strcmp(argv[i - 1], "begin") == 0)
                launch(&fake, value, 0, 0);
            else if (strcmp(argv[i - 1], "fail") == 0)
                launch(&fake, value, 1, 1);
            else if (strcmp(argv[i - 1], "many") == 0)
                for (int k = 0; k < atoi(value); k++)
                    launch(&fake, "many", 1, 0);
            else if (strcmp(argv[i - 1], "limit") == 0)
                limit(value);
            else if (strcmp(argv[i - 1], "message") == 0)
                snprintf(pb_stream_header(fake.stream)->message, 512, "%s", value);
            else if (strcmp(argv[i - 1], "graphs") == 0)
                pb_stream_header(fake.stream)->untraced_graph_launches = (uint64_t)atoi(value);
            else if (strcmp(argv[i - 1], "exit") == 0)
                code = atoi(value);
            else
                return 98;
        }
    }
    pb_stream_header(fake.stream)->ended = 1;
    pb_stream_close(fake.stream);
    pb_selection_clear(&fake.selection);
    return code;
}
