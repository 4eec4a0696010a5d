/* Text traces: what they say, plain and packed, and how broken ones are refused. */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lzma.h>
#include <zlib.h>

#include <cmocka.h>

#include "analysis/kernel/feed.h"
#include "analysis/kernel/queue.h"
#include "analysis/kernel/trace.h"

enum { EVENTS_MAX = 64 };

static const char path[] = "kernel_trace.test";

static void write_bytes(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

#define HEADER                                                                                     \
    "-kernel name = _Z4copyPf\n-kernel id = 1\n-grid dim = (2,1,1)\n-block dim = (64,1,1)\n"       \
    "-shmem = 128\n-nregs = 20\n-shmem base_addr = 0x00007f0000000000\n"                           \
    "-local mem base_addr = 0x00007e0000000000\n-accelsim tracer version = 5\n"                    \
    "-enable lineinfo = 1\n\n#traces format = …\n\n"

static const char accelsim[] =
    HEADER "#BEGIN_TB\n\nthread block = 1,0,0\n\nwarp = 1\ninsts = 8\n"
           "7 0000 ffffffff 1 R1 MOV 1 R2 0 0\n"
           "9 0010 ffffffff 1 R4 LDG.E.64.CONSTANT 1 R2 8 1 0x1000 8 0\n"
           "9 0020 00000007 1 R4 LDG.E.STRONG.GPU 1 R2 4 2 0x2000 64 -32 0\n"
           "9 0030 00000005 0 STG.E 2 R2 R4 4 0 0x3000 0x4000 0\n"
           "9 0040 ffffffff 1 R4 LD.E 1 R2 4 1 0x7f0000000010 4 0\n" /* shared memory */
           "9 0050 ffffffff 1 R4 LDS 1 R2 4 1 0x10 4 0\n"
           "9 0060 00000001 1 R4 LDL 1 R2 4 0 0x7e0000000020 0\n"
           "9 0070 ffffffff 0 EXIT 0 0 0\n"
           "\nwarp = 0\ninsts = 0\n\n#END_TB\n"
           "\n#BEGIN_TB\n\nthread block = 0,0,0\n\nwarp = 0\ninsts = 1\n"
           "9 0080 00000003 0 RED.E.ADD 2 R2 R4 4 1 0x5000 4 0\n#END_TB\n";

struct events {
    struct pb_trace_event items[EVENTS_MAX];
    size_t count;
    enum pb_status status;
    struct pb_error err;
};

/* All events of the trace's kernel, up to the end or an error. */
static void read_events(struct pb_trace *trace, struct events *events)
{
    bool found = false;

    events->count = 0;
    events->status = pb_trace_open_text(path, trace, &events->err);
    if (events->status == PB_OK)
        events->status = trace->ops->next_kernel(trace->state, &found, &events->err);
    while (events->status == PB_OK) {
        assert_true(found && events->count < EVENTS_MAX);
        events->status =
            trace->ops->next(trace->state, 0, &events->items[events->count], &events->err);
        if (events->status != PB_OK || events->items[events->count].kind == PB_EVENT_STREAM_END)
            break;
        events->count++;
    }
}

static void check_accelsim(void)
{
    struct pb_trace trace = {0};
    struct events events = {.count = 0};
    const struct pb_instruction *instructions;
    const struct pb_kernel *kernel;

    read_events(&trace, &events);
    if (events.status != PB_OK)
        fail_msg("%s", events.err.message);
    kernel = trace.ops->kernel(trace.state);
    instructions = *kernel->instructions;
    assert_string_equal(kernel->name, "_Z4copyPf");
    assert_int_equal(kernel->block_count, 2);
    assert_int_equal(kernel->warp_count, 2);
    assert_int_equal(kernel->shared_bytes, 128);
    assert_int_equal(kernel->registers, 20);
    assert_int_equal(events.count, 10);
    assert_int_equal(events.items[0].block, 1);
    assert_int_equal(events.items[0].warp, 1);
    assert_int_equal(events.items[0].access.bytes, 8);
    assert_int_equal(events.items[0].access.address[31], 0x1000 + 31 * 8);
    assert_int_equal(instructions[0].line, 9);
    assert_int_equal(instructions[0].program_counter, 0x10);
    assert_false(instructions[0].bypasses_l1);
    assert_true(instructions[1].bypasses_l1);
    assert_int_equal(events.items[1].access.address[2], 0x2000 + 64 - 32);
    assert_int_equal(instructions[2].kind, PB_KIND_STORE);
    assert_int_equal(events.items[2].access.lane_mask, 5);
    assert_int_equal(events.items[2].access.address[1], 0x4000);
    assert_int_equal(instructions[3].space, PB_SPACE_LOCAL);
    assert_int_equal(events.items[3].access.address[0], 0x20);
    assert_int_equal(events.items[4].kind, PB_EVENT_WARP_END);
    assert_int_equal(events.items[6].kind, PB_EVENT_BLOCK_END);
    assert_int_equal(instructions[4].kind, PB_KIND_ATOMIC);
    pb_trace_close(&trace);
}

static void test_trace_accelsim__accesses_are_read(void **state)
{
    (void)state;
    write_bytes(accelsim, strlen(accelsim));
    check_accelsim();
}

static size_t pack_gzip(const char *text, size_t size, unsigned char *packed, size_t room)
{
    z_stream gzip = {.next_in = (unsigned char *)(uintptr_t)text, .avail_in = (uInt)size};

    assert_int_equal(deflateInit2(&gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    gzip.next_out = packed;
    gzip.avail_out = (uInt)room;
    assert_int_equal(deflate(&gzip, Z_FINISH), Z_STREAM_END);
    deflateEnd(&gzip);
    return room - gzip.avail_out;
}

static size_t pack_xz(const char *text, size_t size, unsigned char *packed, size_t room)
{
    size_t used = 0;

    assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (const uint8_t *)text, size,
                                             packed, &used, room),
                     LZMA_OK);
    return used;
}

static void test_trace_text__gzip_and_xz_are_read_as_they_are(void **state)
{
    unsigned char packed[8192];
    size_t half = strlen(accelsim) / 2;
    size_t first;

    (void)state;
    write_bytes(packed, pack_gzip(accelsim, strlen(accelsim), packed, sizeof(packed)));
    check_accelsim();
    write_bytes(packed, pack_xz(accelsim, strlen(accelsim), packed, sizeof(packed)));
    check_accelsim();
    first = pack_gzip(accelsim, half, packed, sizeof(packed)); /* a file of two members */
    write_bytes(packed, first + pack_gzip(accelsim + half, strlen(accelsim) - half, packed + first,
                                          sizeof(packed) - first));
    check_accelsim();
}

/* The trace is refused, and the message has these words. */
static void check_refused(const char *words)
{
    struct pb_trace trace = {0};
    struct events events = {.count = 0};

    read_events(&trace, &events);
    pb_trace_close(&trace);
    if (events.status != PB_INVALID || strstr(events.err.message, words) == NULL)
        fail_msg("expected \"%s\", found \"%s\" (%s)", words, events.err.message,
                 pb_status_name(events.status));
    assert_memory_equal(events.err.message, path, strlen(path));
}

static void test_trace_text__truncated_packing_is_refused(void **state)
{
    unsigned char packed[8192];
    size_t size = pack_gzip(accelsim, strlen(accelsim), packed, sizeof(packed));

    (void)state;
    write_bytes(packed, size / 2);
    check_refused("the gzip data end early");
    packed[size / 2] ^= 0x55;
    packed[size / 2 + 1] ^= 0x55;
    write_bytes(packed, size);
    check_refused("gzip data are damaged");
    size = pack_xz(accelsim, strlen(accelsim), packed, sizeof(packed));
    write_bytes(packed, size / 2);
    check_refused("the xz data end early");
}

struct broken {
    const char *text, *words;
};

static void test_trace_text__broken_files_are_refused_by_line(void **state)
{
    static const struct broken cases[] = {
        {"", ":0: expected \"blocksize: X Y Z\""},
        {"\n\nhello\n", ":3: expected \"blocksize: X Y Z\" (N14's traces) or \"-kernel name"},
        {"blocksize: 32 1\n", ":1: expected \"blocksize: X Y Z\""},
        {"blocksize: 2048 1 1\n", ":1: expected \"blocksize: X Y Z\" with 1 to 1024"},
        {"blocksize: 32 1 1\n", ":1: expected \"thread 0|1 address bytes\", found the end"},
        {"blocksize: 32 1 1\n0 0 16\n", ":2: expected \"thread 0|1 address bytes\""},
        {"blocksize: 32 1 1\n0 2 16 4\n", ":2: expected \"thread 0|1 address bytes\""},
        {"blocksize: 32 1 1\n0 0 16 4\n-1 0 16 4\n", ":3: expected \"thread 0|1 address"},
        {"blocksize: 32 1 1\n99999999 0 16 4\n", ":2: expected \"thread 0|1 address"},
        {"-kernel name = x\n", ":1: expected \"-grid dim\" and \"-block dim\""},
        {"-grid dim = (1,1)\n", ":1: expected \"= (X,Y,Z)\""},
        {"-grid dim = (1,1,1)\n-block dim = (32,1,1)\n-accelsim tracer version = 9\n",
         "expected \"-accelsim tracer version\" 3 to 5 before the first block, found 9"},
        {HEADER "0 0 0 0 0010 ffffffff 0 EXIT 0 0\n", ":14: expected \"#BEGIN_TB\" (a raw .trace"},
        {HEADER "#BEGIN_TB\n", ":14: expected \"thread block = x,y,z\", found the end"},
        {HEADER "#BEGIN_TB\nthread block = 2,0,0\n",
         ":15: expected \"thread block = x,y,z\" within"},
        {HEADER "#BEGIN_TB\nthread block = 0,0,0\nwarp = 2\n", ":16: expected \"warp = n\""},
        {HEADER "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = x\n",
         ":17: expected \"insts = n\""},
        {HEADER "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 2\n9 0 1 0 EXIT 0 0 0\n",
         ":18: expected 1 more instructions of warp 0, found the end"},
        {HEADER "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 1\n9 0 1 0 EXIT 0 0 0\n",
         ":18: expected \"#END_TB\", found the end"},
        {HEADER "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 1\n9 zz 1 0 EXIT 0 0\n",
         ":18: expected an instruction, which begins with a hexadecimal program counter"},
        {HEADER "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 1\n"
                "9 0 3 1 R1 LDG.E 1 R2 4 7 0x10\n",
         ":18: expected an address mode from 0 to 2"},
        {HEADER "#BEGIN_TB\nthread block = 0,0,0\nwarp = 0\ninsts = 1\n"
                "9 0 3 1 R1 LDG.E 1 R2 4 0 0x10\n",
         ":18: expected a hexadecimal address for each active lane"},
        {HEADER "#BEGIN_TB\nthread block = 0,0,0\n#END_TB\n#BEGIN_TB\nthread block = 0,0,0\n",
         ":18: expected each block once"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_bytes(cases[i].text, strlen(cases[i].text));
        check_refused(cases[i].words);
    }
}

static void test_trace_text__no_line_is_endless(void **state)
{
    size_t size = 1 << 20;
    char *text = malloc(size);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', size);
    write_bytes(text, size);
    check_refused(":1: expected a line of at most 16384 bytes");
    memset(text, 0, size);
    text[5] = '\n';
    write_bytes(text, size);
    check_refused(":1: expected text, found a NUL byte");
    free(text);
}

static void test_trace_text__only_files_are_traces(void **state)
{
    struct pb_trace trace = {0};
    struct pb_error err = PB_ERROR_INIT;

    (void)state;
    assert_int_equal(pb_trace_open_text("/dev/zero", &trace, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "/dev/zero: expected a trace file, found a device"));
    assert_int_equal(pb_trace_open_text("/", &trace, &err), PB_INVALID);
    assert_non_null(strstr(err.message, "found a folder"));
    assert_int_equal(pb_trace_open_text("no such trace", &trace, &err), PB_INVALID);
}

/* Lanes that do the same at the same place make one access; others follow. */
static void test_trace_n14__lanes_make_accesses_of_warps(void **state)
{
    static const char text[] = "blocksize: 40 1 1\n"
                               "0 0 100 4\n1 0 104 4\n0 0 200 4\n1 1 204 4\n"
                               "33 0 300 8\n41 0 400 4\n1 0 208 4\n";
    struct pb_trace trace = {0};
    struct events events = {.count = 0};

    (void)state;
    write_bytes(text, strlen(text));
    read_events(&trace, &events);
    assert_int_equal(events.status, PB_OK);
    assert_int_equal(trace.ops->kernel(trace.state)->block_count, 2);
    assert_int_equal(trace.ops->kernel(trace.state)->warp_count, 2);
    assert_int_equal(events.items[0].access.lane_mask, 3);
    assert_int_equal(events.items[0].access.address[1], 104);
    assert_int_equal(events.items[1].access.lane_mask, 1); /* the load of lane 0 */
    assert_int_equal(events.items[1].access.address[0], 200);
    assert_int_equal(events.items[2].access.lane_mask, 2); /* then the store of lane 1 */
    assert_int_equal(events.items[2].access.instruction, 1);
    assert_int_equal(events.items[3].access.address[0], 208);
    assert_int_equal(events.items[4].kind, PB_EVENT_WARP_END);
    assert_int_equal(events.items[5].warp, 1);
    assert_int_equal(events.items[5].access.lane_mask, 2);
    assert_int_equal(events.items[5].access.bytes, 8);
    assert_int_equal(events.items[8].block, 1);
    assert_int_equal(events.items[8].access.address[0], 400);
    pb_trace_close(&trace);
}

/* Of the heap and beside it, in bytes. */
static size_t memory_in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* A trace may name a thread or a grid of any size; memory is for what it holds. */
static void test_trace_text__memory_is_for_what_the_file_holds(void **state)
{
    static const char *const texts[] = {
        "blocksize: 1024 1 1\n16777215 0 4096 4\n",
        "-kernel name = k\n-kernel id = 1\n-grid dim = (65535,65535,1)\n-block dim = (64,1,1)\n"
        "-shmem = 0\n-nregs = 20\n-shmem base_addr = 0x00007f0000000000\n"
        "-local mem base_addr = 0x00007e0000000000\n-accelsim tracer version = 5\n-enable lineinfo "
        "= 1\n\n"
        "#BEGIN_TB\n\nthread block = 9,65534,0\n\nwarp = 0\ninsts = 1\n"
        "9 0010 00000001 1 R4 LDG.E 1 R2 4 1 0x1000 4 0\n\n#END_TB\n"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct pb_trace trace = {0};
        struct pb_trace_event event = {.kind = PB_EVENT_BLOCK_END};
        struct pb_error err = PB_ERROR_INIT;
        size_t before = memory_in_use();
        bool found = false;

        write_bytes(texts[i], strlen(texts[i]));
        assert_int_equal(pb_trace_open_text(path, &trace, &err), PB_OK);
        assert_int_equal(trace.ops->next_kernel(trace.state, &found, &err), PB_OK);
        while (event.kind != PB_EVENT_ACCESS)
            assert_int_equal(trace.ops->next(trace.state, 0, &event, &err), PB_OK);
        assert_int_equal(event.access.address[0], i == 0 ? 4096 : 0x1000);
        assert_true(memory_in_use() < before + (4 << 20));
        pb_trace_close(&trace);
    }
}

static void test_queue__accesses_come_out_as_they_went_in(void **state)
{
    struct pb_queue_pool pool = {0};
    struct pb_queue queue = {0};
    struct pb_access access = {0};
    struct pb_access out;
    uint64_t random = 1;

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 500; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            access.instruction = i;
            access.lane_mask = (uint32_t)(random >> 32) | 1;
            access.bytes = i % 17;
            for (size_t k = 0; k < PB_LANES_MAX; k++)
                access.address[k] = i % 2 ? random * (k + 1) : random + k * (i % 3 - 1);
            assert_int_equal(pb_queue_put(&pool, &queue, &access, NULL), PB_OK);
        }
        random = round == 0 ? 1 : random;
        while (pb_queue_take(&pool, &queue, &out) && round == 0) {
            uint32_t i = out.instruction;

            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            assert_int_equal(out.lane_mask, (uint32_t)(random >> 32) | 1);
            assert_int_equal(out.bytes, i % 17);
            for (size_t k = 0; k < (size_t)__builtin_popcount(out.lane_mask); k++)
                assert_true(out.address[k] ==
                            (i % 2 ? random * (k + 1) : random + k * (i % 3 - 1)));
        }
    }
    pb_queue_clear(&pool, &queue);
    assert_int_equal(pool.bytes, 0);
    pb_queue_pool_clear(&pool);
}

/* Of a trace by blocks only the active ones wait in memory, however many come after them. */
static void test_feed__only_active_blocks_wait(void **state)
{
    struct pb_trace trace = {0};
    struct pb_feed *feed = NULL;
    struct pb_access access;
    bool found = false;
    FILE *file = fopen(path, "wb");

    (void)state;
    fputs("-grid dim = (400,1,1)\n-block dim = (32,1,1)\n-accelsim tracer version = 4\n", file);
    for (int i = 0; i < 400; i++) {
        fprintf(file, "#BEGIN_TB\nthread block = %d,0,0\nwarp = 0\ninsts = 100\n", i);
        for (int k = 0; k < 100; k++)
            fprintf(file, "0010 ffffffff 1 R1 LDG.E 1 R2 4 1 0x%x 4\n", 4096 * i + 128 * k);
        fputs("#END_TB\n", file);
    }
    fclose(file);
    assert_int_equal(pb_trace_open_text(path, &trace, NULL), PB_OK);
    assert_int_equal(trace.ops->next_kernel(trace.state, &found, NULL), PB_OK);
    assert_int_equal(pb_feed_create(&trace, &feed, NULL), PB_OK);
    for (uint64_t i = 0; i < 400; i++) {
        uint64_t block = 0;
        size_t count = 0;

        assert_int_equal(pb_feed_block(feed, 0, &block, &found, NULL), PB_OK);
        assert_true(found);
        assert_int_equal(block, i);
        do {
            assert_int_equal(pb_feed_access(feed, 0, block, 0, &access, &found, NULL), PB_OK);
            count += found;
        } while (found);
        assert_int_equal(count, 100);
        pb_feed_drop(feed, block);
    }
    assert_true(pb_feed_bytes_max(feed) < 8192);
    pb_feed_destroy(feed);
    pb_trace_close(&trace);
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trace_accelsim__accesses_are_read),
        cmocka_unit_test(test_trace_text__gzip_and_xz_are_read_as_they_are),
        cmocka_unit_test(test_trace_text__truncated_packing_is_refused),
        cmocka_unit_test(test_trace_text__broken_files_are_refused_by_line),
        cmocka_unit_test(test_trace_text__no_line_is_endless),
        cmocka_unit_test(test_trace_text__only_files_are_traces),
        cmocka_unit_test(test_trace_n14__lanes_make_accesses_of_warps),
        cmocka_unit_test(test_trace_text__memory_is_for_what_the_file_holds),
        cmocka_unit_test(test_queue__accesses_come_out_as_they_went_in),
        cmocka_unit_test(test_feed__only_active_blocks_wait),
    };

    return cmocka_run_group_tests(tests, NULL, remove_file);
}
