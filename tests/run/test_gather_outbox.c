/* Frames under way to a rank 0 that does not listen yet: to be run by mpirun as two ranks. */
#include <stdlib.h>
#include <string.h>

#include "core/time.h"
#include "run/gather_outbox.h"
#include "run/ranks.h"

enum { FRAME_BYTES = 1 << 20, FRAME_COUNT = 20, LARGE_BYTES = 40 << 20 };

static bool fail_next; /* allocation, by the linker's --wrap */

void *__real_malloc(size_t size); /* NOLINT: the linker's names */
void *__wrap_malloc(size_t size); /* NOLINT */

void *__wrap_malloc(size_t size)
{
    bool fails = fail_next;

    fail_next = false;
    return fails ? NULL : __real_malloc(size);
}

/* Rank 0 takes what rank 1 sent with this tag, and finds `size` bytes of that value. */
static void take(int tag, size_t size, char value)
{
    char *bytes = malloc(size);
    MPI_Status from;
    int count;

    assert_non_null(bytes);
    MPI_Probe(1, MPI_ANY_TAG, MPI_COMM_WORLD, &from);
    assert_int_equal(from.MPI_TAG, tag);
    MPI_Recv(bytes, (int)size, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &from);
    MPI_Get_count(&from, MPI_BYTE, &count);
    assert_int_equal(count, size);
    for (size_t i = 0; i < size; i++)
        assert_int_equal(bytes[i], value);
    free(bytes);
}

static void send(struct pb_outbox *outbox, int tag, size_t size, char value)
{
    char *bytes = malloc(size);

    assert_non_null(bytes);
    memset(bytes, value, size);
    pb_outbox_send(outbox, tag, bytes, size);
    free(bytes); /* the outbox has its own */
}

static void empty(struct pb_outbox *outbox)
{
    while (!pb_outbox_is_empty(outbox)) {
        pb_outbox_step(outbox);
        pb_time_sleep_seconds(0.001);
    }
    assert_int_equal(outbox->size, 0);
}

/* Before anybody listens, as an empty message after the sending shows. */
static void test_send__does_not_wait_for_rank_zero(void **state)
{
    struct pb_outbox outbox = {NULL, NULL, 0};

    (void)state;
    if (my_rank() == 1) {
        for (int i = 0; i < FRAME_COUNT; i++)
            send(&outbox, 10 + i % 3, FRAME_BYTES + (size_t)i, (char)i);
        assert_false(pb_outbox_is_empty(&outbox));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; my_rank() == 0 && i < FRAME_COUNT; i++)
        take(10 + i % 3, FRAME_BYTES + (size_t)i, (char)i);
    empty(&outbox);
}

/* Of two frames that are too much together the second waits until the first has arrived. */
static void test_send__waits_where_too_much_is_under_way(void **state)
{
    struct pb_outbox outbox = {NULL, NULL, 0};

    (void)state;
    if (my_rank() == 1) {
        send(&outbox, 1, LARGE_BYTES, 'a');
        send(&outbox, 2, LARGE_BYTES, 'b');
        assert_int_equal(outbox.size, LARGE_BYTES);
    } else {
        take(1, LARGE_BYTES, 'a');
        take(2, LARGE_BYTES, 'b');
    }
    empty(&outbox);
}

/* It is waited for then, behind what was sent before. */
static void test_send__without_memory_for_a_copy_the_frame_still_arrives(void **state)
{
    struct pb_outbox outbox = {NULL, NULL, 0};

    (void)state;
    if (my_rank() == 1) {
        send(&outbox, 1, FRAME_BYTES, 'a');
        fail_next = true;
        pb_outbox_send(&outbox, 2, "b", 1);
        assert_false(fail_next);
        assert_true(pb_outbox_is_empty(&outbox));
    } else {
        take(1, FRAME_BYTES, 'a');
        take(2, 1, 'b');
    }
}

static void test_send__empty_frames_arrive(void **state)
{
    struct pb_outbox outbox = {NULL, NULL, 0};

    (void)state;
    if (my_rank() == 1)
        pb_outbox_send(&outbox, 3, "", 0);
    else
        take(3, 0, 0);
    empty(&outbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_send__does_not_wait_for_rank_zero),
        cmocka_unit_test(test_send__waits_where_too_much_is_under_way),
        cmocka_unit_test(test_send__without_memory_for_a_copy_the_frame_still_arrives),
        cmocka_unit_test(test_send__empty_frames_arrive),
    };
    int failed;

    if (!ranks_begin())
        return 77;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    MPI_Finalize();
    return failed;
}
