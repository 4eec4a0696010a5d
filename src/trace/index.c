/* Reading the frames of a stream; see index.h. */
#include "trace/index.h"

#include <stdlib.h>
#include <string.h>

#include "core/reserve.h"

#define ADD(index, kind)                                                                           \
    add((void **)&(index)->kind##s, &(index)->kind##_count, &(index)->kind##_capacity,             \
        sizeof(*(index)->kind##s))

/* A new element of zeros at the end; NULL: no memory. */
static void *add(void **array, size_t *count, size_t *capacity, size_t size)
{
    char *element;

    if (pb_reserve(array, size, *count, capacity, "records", NULL) != PB_OK)
        return NULL;
    element = (char *)*array + (*count)++ * size;
    memset(element, 0, size);
    return element;
}

/* One frame on its way into the index. */
struct entry {
    struct pb_index *index;
    const struct pb_stream_frame *frame;
    const unsigned char *bytes;
    const char *path;
    struct pb_error *err;
};

static enum pb_status no_memory(const struct entry *entry)
{
    return pb_fail(entry->err, PB_NO_MEMORY, "%s: out of memory", entry->path);
}

static enum pb_status is_wrong(const struct entry *entry, const char *what)
{
    return pb_fail(entry->err, PB_CORRUPT, "%s: byte %llu: %s", entry->path,
                   (unsigned long long)entry->frame->offset, what);
}

static enum pb_status add_context(const struct entry *entry)
{
    struct pb_stream_context *row = (struct pb_stream_context *)add(
        (void **)&entry->index->contexts, &entry->index->context_count,
        &entry->index->context_capacity, sizeof(*row));

    if (row == NULL)
        return no_memory(entry);
    memcpy(row, entry->bytes, sizeof(*row));
    row->model[sizeof(row->model) - 1] = row->uuid[sizeof(row->uuid) - 1] = '\0';
    return row->context == entry->index->context_count - 1
               ? PB_OK
               : is_wrong(entry, "contexts are not numbered one after the other");
}

static enum pb_status add_event(const struct entry *entry)
{
    struct pb_index_event *event = ADD(entry->index, event);

    if (event == NULL)
        return no_memory(entry);
    memcpy(&event->row, entry->bytes, sizeof(event->row));
    event->row.kind[sizeof(event->row.kind) - 1] = '\0';
    event->is_free = entry->frame->type == PB_STREAM_FREE;
    return PB_OK;
}

static enum pb_status add_module(const struct entry *entry)
{
    struct pb_index_module *module = ADD(entry->index, module);

    if (module == NULL)
        return no_memory(entry);
    memcpy(&module->row, entry->bytes, sizeof(module->row));
    module->frame = *entry->frame;
    return PB_OK;
}

/* Its name is as long as the frame says. */
static enum pb_status add_function(const struct entry *entry)
{
    struct pb_stream_function *function = ADD(entry->index, function);
    size_t size =
        entry->frame->size < sizeof(*function) ? (size_t)entry->frame->size : sizeof(*function);

    if (function == NULL)
        return no_memory(entry);
    memcpy(function, entry->bytes, size);
    function->name[sizeof(function->name) - 1] = '\0';
    return PB_OK;
}

static enum pb_status add_skipped(const struct entry *entry)
{
    char(*name)[PB_STREAM_TEXT_LENGTH] = (char(*)[PB_STREAM_TEXT_LENGTH])add(
        (void **)&entry->index->skipped, &entry->index->skipped_count,
        &entry->index->skipped_capacity, sizeof(*name));

    if (name == NULL)
        return no_memory(entry);
    snprintf(*name, sizeof(*name), "%.*s", (int)(entry->frame->size & 0xfff),
             (const char *)entry->bytes);
    return PB_OK;
}

static enum pb_status add_launch(const struct entry *entry)
{
    struct pb_index_launch *launch =
        (struct pb_index_launch *)add((void **)&entry->index->launches, &entry->index->launch_count,
                                      &entry->index->launch_capacity, sizeof(*launch));

    if (launch == NULL)
        return no_memory(entry);
    memcpy(&launch->row, entry->bytes, sizeof(launch->row));
    launch->row.name[sizeof(launch->row.name) - 1] = '\0';
    return launch->row.context < entry->index->context_count
               ? PB_OK
               : is_wrong(entry, "a launch in a context that is not there");
}

/* Launches run side by side, but few: it is among the last. */
static enum pb_status find_launch(const struct entry *entry, uint64_t number,
                                  struct pb_index_launch **launch_out)
{
    for (size_t i = entry->index->launch_count; i > 0; i--)
        if (entry->index->launches[i - 1].row.launch == number) {
            *launch_out = &entry->index->launches[i - 1];
            return PB_OK;
        }
    return is_wrong(entry, "records of a launch that has not begun");
}

static enum pb_status add_chunk(const struct entry *entry)
{
    struct pb_index_launch *launch = NULL;
    struct pb_index_chunk *chunk;
    struct pb_stream_chunk row;
    enum pb_status status;

    memcpy(&row, entry->bytes, sizeof(row));
    status = find_launch(entry, row.launch, &launch);
    if (status != PB_OK)
        return status;
    chunk = ADD(launch, chunk);
    if (chunk == NULL)
        return no_memory(entry);
    *chunk = (struct pb_index_chunk){*entry->frame, row.sm, row.traced};
    return PB_OK;
}

static enum pb_status add_launch_end(const struct entry *entry)
{
    struct pb_index_launch *launch = NULL;
    struct pb_stream_launch_end row;
    enum pb_status status;

    memcpy(&row, entry->bytes, sizeof(row));
    row.message[sizeof(row.message) - 1] = '\0';
    status = find_launch(entry, row.launch, &launch);
    if (status != PB_OK)
        return status;
    launch->end = row;
    launch->has_end = true;
    return PB_OK;
}

static const struct {
    enum pb_status (*add)(const struct entry *entry);
    size_t size_min;
} kinds[PB_STREAM_TYPE_END] = {
    [PB_STREAM_CONTEXT] = {add_context, sizeof(struct pb_stream_context)},
    [PB_STREAM_ALLOCATION] = {add_event, sizeof(struct pb_stream_allocation)},
    [PB_STREAM_FREE] = {add_event, sizeof(struct pb_stream_allocation)},
    [PB_STREAM_MODULE] = {add_module, sizeof(struct pb_stream_module)},
    [PB_STREAM_FUNCTION] = {add_function, offsetof(struct pb_stream_function, name)},
    [PB_STREAM_SKIPPED] = {add_skipped, 0},
    [PB_STREAM_LAUNCH] = {add_launch, sizeof(struct pb_stream_launch)},
    [PB_STREAM_CHUNK] = {add_chunk, sizeof(struct pb_stream_chunk)},
    [PB_STREAM_LAUNCH_END] = {add_launch_end, sizeof(struct pb_stream_launch_end)},
};

enum pb_status pb_index_read(struct pb_stream_reader *reader, struct pb_index *index_out,
                             struct pb_error *err)
{
    struct pb_index index = {.contexts = NULL};
    struct pb_error damage = PB_ERROR_INIT;
    struct pb_stream_frame frame;
    enum pb_status status;
    bool is_more = false;

    for (;;) {
        struct entry entry = {&index, &frame, NULL, reader->path, err};

        status = pb_stream_next(reader, &frame, &is_more, &damage);
        if (status != PB_OK || !is_more)
            break;
        entry.bytes = reader->bytes;
        status = frame.size < kinds[frame.type].size_min ? is_wrong(&entry, "a frame is too short")
                                                         : kinds[frame.type].add(&entry);
        if (status != PB_OK)
            break;
    }
    if (status != PB_OK) {
        pb_index_clear(&index);
        return damage.message[0] != '\0' ? pb_fail(err, status, "%s", damage.message) : status;
    }
    snprintf(index.damage, sizeof(index.damage), "%s", damage.message);
    *index_out = index;
    return PB_OK;
}

void pb_index_clear(struct pb_index *index)
{
    for (size_t i = 0; i < index->launch_count; i++)
        free(index->launches[i].chunks);
    free(index->contexts);
    free(index->events);
    free(index->modules);
    free(index->functions);
    free(index->launches);
    free(index->skipped);
    *index = (struct pb_index){.contexts = NULL};
}
