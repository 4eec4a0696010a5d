/* The packer beside a test: what comes after what, and how its failures arrive. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/time.h"
#include "run/packer.h"
#include "run/unit.h"

/* What sink and pack functions share with a case; the packer's own lock does not cover it. */
struct scene {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char event_log[1000]; /* frames in the order in which they reached the sink */
    bool is_busy;         /* the sink */
    bool was_torn;        /* two threads were in the sink at once */
    int returned;         /* puts that have come back */
    int fail_at;          /* the sink fails at this TEST frame; 0: never */
    int tests_taken;
};

/* The pack function gets no context: a key is the only way to it. */
static struct scene *scene_of(const char *key)
{
    struct scene *scene;

    memcpy(&scene, key, sizeof(scene));
    return scene;
}

static void begin_frame(struct scene *scene)
{
    pthread_mutex_lock(&scene->lock);
    scene->was_torn |= scene->is_busy;
    scene->is_busy = true;
    pthread_mutex_unlock(&scene->lock);
}

static enum pb_status take(void *context, const struct pb_frame *frame, struct pb_error *err)
{
    struct scene *scene = context;
    struct pb_test_report report;
    enum pb_status status = pb_message_read_test(frame->message, &report, err);
    size_t used;

    begin_frame(scene);
    pthread_mutex_lock(&scene->lock);
    used = strlen(scene->event_log);
    snprintf(scene->event_log + used, sizeof(scene->event_log) - used, "%s%s:%s",
             used == 0 ? "" : " ", pb_frame_type_name(frame->type), report.test);
    if (frame->type == PB_FRAME_TEST && ++scene->tests_taken == scene->fail_at)
        status = pb_fail(err, PB_IO, "the pipe is broken");
    scene->is_busy = false;
    pthread_cond_broadcast(&scene->changed);
    pthread_mutex_unlock(&scene->lock);
    return status;
}

/* Waits until the event_log has these words; false: a minute has passed. */
static bool await(struct scene *scene, const char *words)
{
    struct timespec end;
    int result = 0;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    pthread_mutex_lock(&scene->lock);
    while (strstr(scene->event_log, words) == NULL && result != ETIMEDOUT)
        result = pthread_cond_timedwait(&scene->changed, &scene->lock, &end);
    pthread_mutex_unlock(&scene->lock);
    return result == 0;
}

static enum pb_status pack(const char *key, const struct pb_recording *recording,
                           const struct pb_state *states, size_t state_count,
                           struct pb_image *image_out, struct pb_error *err)
{
    struct scene *scene = scene_of(key);

    (void)states;
    if (state_count != 2)
        return pb_fail(err, PB_INVALID, "%zu states", state_count);
    if (strcmp(recording->name, "overlap") == 0 && !await(scene, "START:next"))
        return pb_fail(err, PB_IO, "the next test has not begun");
    if (strcmp(recording->name, "sour") == 0)
        return pb_fail(err, PB_NO_MEMORY, "no memory for sour");
    image_out->bytes = strdup("image");
    image_out->size = 5;
    return PB_OK;
}

/* One is packed, as many as may wait do, and one more has to wait until it may. */
enum { TOO_MANY = PB_PACKER_WAITING_MAX + 2 };

/* Holds the first until the last is being put, which must then wait. */
static enum pb_status pack_slowly(const char *key, const struct pb_recording *recording,
                                  const struct pb_state *states, size_t state_count,
                                  struct pb_image *image_out, struct pb_error *err)
{
    struct scene *scene = scene_of(key);
    char last[20];
    int returned;

    snprintf(last, sizeof(last), "MEASURED:%d", TOO_MANY);
    if (strcmp(recording->name, "1") == 0) {
        if (!await(scene, last))
            return pb_fail(err, PB_IO, "%d tests cannot be put", TOO_MANY);
        pb_time_sleep_seconds(0.1); /* for a put that does not wait to come back */
        pthread_mutex_lock(&scene->lock);
        returned = scene->returned;
        pthread_mutex_unlock(&scene->lock);
        if (returned != 1 + PB_PACKER_WAITING_MAX)
            return pb_fail(err, PB_INVALID, "%d puts came back", returned);
    }
    return pack(key, recording, states, state_count, image_out, err);
}

struct stage {
    struct scene scene;
    char key[sizeof(struct scene *)];
    struct pb_packer *packer;
};

static void open_stage(struct stage *stage, struct pb_packer_request request)
{
    struct scene *scene = &stage->scene;

    memset(stage, 0, sizeof(*stage));
    pthread_mutex_init(&scene->lock, NULL);
    pthread_cond_init(&scene->changed, NULL);
    memcpy(stage->key, &scene, sizeof(scene));
    request.key = stage->key;
    request.sink = (struct pb_sink){take, scene};
    assert_int_equal(pb_packer_open(&request, &stage->packer, NULL), PB_OK);
}

static struct pb_test_report report_of(const char *test)
{
    struct pb_test_report report = {.key = "h.gpu0"};

    PB_TEXT_SET(report.test, test);
    return report;
}

static enum pb_status start(struct stage *stage, const char *test)
{
    const struct pb_test_report report = report_of(test);

    return pb_packer_send(stage->packer, PB_FRAME_START, pb_message_test(&report), NULL);
}

/* Puts a test with one access, which somebody has to free. */
static enum pb_status put(struct stage *stage, const char *test, struct pb_error *err)
{
    const struct pb_test_report report = report_of(test);
    const struct pb_point point = {.count = 1};
    const uint32_t latency_cycles = 30;
    const uint64_t index_bytes = 0;
    struct pb_recording recording = {.sm_id = -1};
    struct pb_state states[2];
    enum pb_status status;

    PB_TEXT_SET(recording.name, test);
    assert_int_equal(
        pb_series_append(&recording.series, &point, &latency_cycles, &index_bytes, NULL), PB_OK);
    pb_state_clear(&states[0]);
    pb_state_clear(&states[1]);
    status = pb_packer_put(stage->packer, &report, &recording, states, err);
    pthread_mutex_lock(&stage->scene.lock);
    stage->scene.returned++;
    pthread_mutex_unlock(&stage->scene.lock);
    return status;
}

static void test_packer__slow_pack_overlaps_the_next_test(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, (struct pb_packer_request){.pack = pack});
    assert_int_equal(start(&stage, "overlap"), PB_OK);
    assert_int_equal(put(&stage, "overlap", NULL), PB_OK);
    assert_int_equal(start(&stage, "next"), PB_OK);
    assert_int_equal(put(&stage, "next", NULL), PB_OK);
    assert_int_equal(pb_packer_close(stage.packer, NULL), PB_OK);
    assert_non_null(strstr(stage.scene.event_log, "START:overlap MEASURED:overlap START:next"));
    assert_non_null(strstr(stage.scene.event_log, "TEST:overlap"));
    assert_non_null(strstr(stage.scene.event_log, "TEST:next"));
}

static void test_packer__holds_a_few_recordings_only(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct stage stage;

    (void)state;
    open_stage(&stage, (struct pb_packer_request){.pack = pack_slowly});
    for (int i = 1; i <= TOO_MANY; i++) {
        char name[12];

        snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(put(&stage, name, NULL), PB_OK);
    }
    assert_int_equal(pb_packer_close(stage.packer, &err), PB_OK);
    assert_int_equal(stage.scene.tests_taken, TOO_MANY);
}

static void test_packer__tests_keep_their_order(void **state)
{
    struct stage stage;
    const char *at;

    (void)state;
    open_stage(&stage, (struct pb_packer_request){.pack = pack});
    for (int i = 0; i < 20; i++) {
        char name[8];

        snprintf(name, sizeof(name), "t%02d.", i);
        assert_int_equal(start(&stage, name), PB_OK);
        assert_int_equal(put(&stage, name, NULL), PB_OK);
    }
    assert_int_equal(pb_packer_close(stage.packer, NULL), PB_OK);
    assert_int_equal(stage.scene.tests_taken, 20);
    assert_false(stage.scene.was_torn);
    at = stage.scene.event_log;
    for (int i = 0; i < 20; i++) {
        char words[32];

        snprintf(words, sizeof(words), " TEST:t%02d.", i);
        at = strstr(at, words);
        assert_non_null(at);
    }
}

static void test_packer__rest_leaves_nothing_to_pack(void **state)
{
    struct stage stage;

    (void)state;
    open_stage(&stage, (struct pb_packer_request){.pack = pack});
    assert_int_equal(put(&stage, "a", NULL), PB_OK);
    assert_int_equal(put(&stage, "b", NULL), PB_OK);
    pb_packer_rest(stage.packer);
    assert_int_equal(stage.scene.tests_taken, 2);
    assert_int_equal(pb_packer_close(stage.packer, NULL), PB_OK);
}

static void test_packer__failure_reaches_the_run(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct stage stage;

    (void)state;
    open_stage(&stage, (struct pb_packer_request){.pack = pack});
    assert_int_equal(put(&stage, "sour", NULL), PB_OK);
    pb_packer_rest(stage.packer);
    assert_int_equal(put(&stage, "b", &err), PB_NO_MEMORY);
    assert_string_equal(err.message, "no memory for sour");
    assert_int_equal(pb_packer_close(stage.packer, &err), PB_NO_MEMORY);
    assert_int_equal(stage.scene.tests_taken, 0);
}

static void test_packer__broken_sink_reaches_the_run(void **state)
{
    struct pb_error err = PB_ERROR_INIT;
    struct stage stage;

    (void)state;
    open_stage(&stage, (struct pb_packer_request){.pack = pack});
    stage.scene.fail_at = 2;
    for (int i = 0; i < 4; i++)
        put(&stage, "a", NULL);
    assert_int_equal(pb_packer_close(stage.packer, &err), PB_IO);
    assert_string_equal(err.message, "the pipe is broken");
    assert_int_equal(stage.scene.tests_taken, 2);
}

static void test_packer__none_is_closed_well(void **state)
{
    (void)state;
    assert_int_equal(pb_packer_close(NULL, NULL), PB_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_packer__slow_pack_overlaps_the_next_test),
        cmocka_unit_test(test_packer__holds_a_few_recordings_only),
        cmocka_unit_test(test_packer__tests_keep_their_order),
        cmocka_unit_test(test_packer__rest_leaves_nothing_to_pack),
        cmocka_unit_test(test_packer__failure_reaches_the_run),
        cmocka_unit_test(test_packer__broken_sink_reaches_the_run),
        cmocka_unit_test(test_packer__none_is_closed_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
