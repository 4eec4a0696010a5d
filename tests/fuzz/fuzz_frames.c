/*
 * Fuzz target over what processes say to each other and leave in spools. The first byte chooses:
 * bytes as a spool file, a frame whose checksums are right though its content is not, or a text as
 * each kind of message.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "run/frame.h"
#include "run/messages.h"
#include "run/spool.h"

enum { WAYS = 3 };

static void read_messages(const char *message)
{
    struct pb_hello hello = {0};
    struct pb_opened opened;
    struct pb_refusal refusal;
    struct pb_test_report test;
    struct pb_plan plan = {0};
    struct pb_seal seal = {0};
    struct pb_probe_order order = {0};

    if (pb_message_read_hello(message, &hello, NULL) == PB_OK)
        pb_hello_clear(&hello);
    pb_message_read_opened(message, &opened, NULL);
    pb_message_read_refusal(message, &refusal, NULL);
    pb_message_read_test(message, &test, NULL);
    if (pb_message_read_plan(message, &plan, NULL) == PB_OK)
        pb_plan_clear(&plan);
    if (pb_message_read_seal(message, &seal, NULL) == PB_OK)
        pb_seal_clear(&seal);
    if (pb_message_read_order(message, &order, NULL) == PB_OK)
        pb_probe_order_clear(&order);
}

static enum pb_status visit(void *context, const struct pb_frame *frame, const void *bytes,
                            size_t size, struct pb_error *err)
{
    struct pb_frame again;

    (void)context;
    if (pb_frame_unpack(bytes, size, &again, err) != PB_OK)
        abort(); /* it was sound a moment ago */
    if (frame->message != NULL)
        read_messages(frame->message);
    return PB_OK;
}

static void read_spool(const uint8_t *data, size_t size)
{
    const struct pb_spool_visitor visitor = {visit, NULL};
    char path[FUZZ_PATH_LENGTH];
    int file = fuzz_open_memory(data, size, path);
    struct pb_spool_file spool = {.path = path, .rank = -1, .limit_bytes = UINT64_MAX};
    struct pb_frame_reader reader = {0};
    enum pb_frame_read result = PB_READ_WAIT;
    struct pb_spool_end end;
    struct pb_frame frame;

    pb_spool_read(&spool, &visitor, &end, NULL);
    lseek(file, 0, SEEK_SET);
    while (pb_frame_read(&reader, file, &frame, &result, NULL) == PB_OK && result == PB_READ_FRAME)
        if (frame.message != NULL)
            read_messages(frame.message);
    pb_frame_reader_clear(&reader);
    close(file);
}

/* A message up to the first NUL, a body behind it, the type in front. */
static void read_packed(const uint8_t *data, size_t size)
{
    const uint8_t *end = size < 2 ? NULL : memchr(data + 1, '\0', size - 1);
    struct pb_frame frame = {.type = (enum pb_frame_type)(size == 0 ? 0 : data[0])};
    void *bytes = NULL;
    size_t packed = 0;

    if (end != NULL) {
        frame.message = (const char *)data + 1;
        frame.body = end + 1;
        frame.body_size = size - (size_t)(end + 1 - data);
    }
    if (frame.body_size == 0)
        frame.body = NULL;
    if (pb_frame_pack(&frame, &bytes, &packed, NULL) != PB_OK)
        return;
    read_spool(bytes, packed);
    free(bytes);
}

static void read_text(const uint8_t *data, size_t size)
{
    char *message = calloc(size + 1, 1);

    if (message == NULL)
        exit(2);
    memcpy(message, data, size);
    read_messages(message);
    free(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const ways[WAYS])(const uint8_t *, size_t) = {read_spool, read_packed, read_text};

    if (size > 0)
        ways[data[0] % WAYS](data + 1, size - 1);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed)
{
    if (size < 2 || seed % 16 == 0)
        return LLVMFuzzerMutate(data, size, capacity);
    return 1 + fuzz_mutate_text(data + 1, size - 1, capacity - 1, seed / 16);
}

/* One message of each kind. */
static char *message_of(size_t i)
{
    static struct pb_test_spec spec = {"l1_capacity", "cycle", "M16 4.2", 0, 0};
    static struct pb_sealed_file sealed = {"rank-00000.spool", 1000};
    const struct pb_test_list tests = {&spec, 1};
    const struct pb_hello hello = {.backend = "sim", .tests = tests};
    const struct pb_opened opened = {.uuid = "GPU-1", .model = "odd", .slot = 1};
    const struct pb_refusal refusal = {.status = PB_DEVICE, .message = "gone", .slot = -1};
    const struct pb_test_report test = {.key = "n1.gpu0", .test = "l1_capacity", .outcome = "ok"};
    const struct pb_plan plan = {.run = {.run_id = "r"}, .rank_count = 2, .tests = tests};
    const struct pb_seal seal = {&sealed, 1};
    const struct pb_probe_order order = {.kind = PB_ORDER_RUN, .key = "n1.gpu0", .tests = tests};

    switch (i) {
    case 0:
        return pb_message_hello(&hello);
    case 1:
        return pb_message_opened(&opened);
    case 2:
        return pb_message_refusal(&refusal);
    case 3:
        return pb_message_test(&test);
    case 4:
        return pb_message_plan(&plan);
    case 5:
        return pb_message_seal(&seal);
    default:
        return pb_message_order(&order);
    }
}

enum { NOTES = 7 };

/* A spool of all messages; then each as a frame to be packed, and as a text. */
size_t fuzz_seed(size_t i, uint8_t *data, size_t capacity)
{
    size_t size = 1;

    if (i > 2 * NOTES)
        return 0;
    for (size_t k = 0; k < NOTES; k++) {
        char *message = message_of(k);
        struct pb_frame frame = {.type = (enum pb_frame_type)(k + 1), .message = message};
        void *bytes = NULL;
        size_t packed = 0;

        if (message == NULL || pb_frame_pack(&frame, &bytes, &packed, NULL) != PB_OK ||
            packed + size + strlen(message) + 8 > capacity)
            exit(2);
        if (i == 0) {
            memcpy(data + size, bytes, packed);
            size += packed;
        } else if ((i - 1) / 2 == k) {
            data[1] = (uint8_t)frame.type;
            memcpy(data + 1 + i % 2, message, strlen(message) + 1);
            size = 1 + i % 2 + strlen(message) + (i % 2);
        }
        free(bytes);
        free(message);
    }
    data[0] = i == 0 ? 0 : i % 2 == 1 ? 1 : 2;
    return size;
}
