/*
 * The library that is loaded into a traced program: subscribes to compute-sanitizer's callbacks,
 * patches every module, and drains what the patches write into the stream.
 *
 * Loaded by the CUDA driver through CUDA_INJECTION64_PATH, or by LD_PRELOAD. The API's library is
 * opened at run time. One selected launch runs at a time: its end is awaited before the next one
 * begins, which is what makes a record's launch certain. It never ends the process: what it cannot
 * do is said in the stream's header, and the program runs on untraced.
 *
 * Not traced: kernels of CUDA graphs (counted), launches from the device, texture and constant
 * loads.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <sanitizer.h>

#include "trace/cubin.h"
#include "trace/selection.h"
#include "trace/stream.h"
#include "trace/words.h"

/* The patches, as compiled by the build. */
__asm__(".section .rodata\n"
        ".balign 64\n"
        ".local pb_patch_image\n"
        "pb_patch_image:\n"
        ".incbin \"" PLUMB_TRACE_PATCH "\"\n"
        ".byte 0\n"
        ".previous\n");
extern const char pb_patch_image[] __attribute__((visibility("hidden")));

/* Functions of the API, by the names they have in its library. */
#define SANITIZER_FUNCTIONS(apply)                                                                 \
    apply(sanitizerSubscribe) apply(sanitizerEnableDomain) apply(sanitizerAddPatches)              \
        apply(sanitizerPatchInstructions) apply(sanitizerPatchModule)                              \
            apply(sanitizerSetLaunchCallbackData) apply(sanitizerGetFunctionPcAndSize)             \
                apply(sanitizerAlloc) apply(sanitizerAllocHost) apply(sanitizerMemset)             \
                    apply(sanitizerMemcpyHostToDeviceAsync) apply(sanitizerMemcpyDeviceToHost)     \
                        apply(sanitizerStreamSynchronize) apply(sanitizerGetResultString)
#define CUDA_FUNCTIONS(apply)                                                                      \
    apply(cuDeviceGetName) apply(cuDeviceGetUuid) apply(cuDeviceGetAttribute)

#define DECLARE(name) __typeof__(&(name)) name;

enum { CONTEXTS_MAX = 64, SM_SLOTS = 1024 };

struct module {
    struct module *next;
    CUmodule handle;
    uint32_t number, context;
    void *cubin;
    size_t cubin_size;
    bool *located; /* [symbol]: its place has been written */
};

struct context {
    CUcontext handle;
    uint32_t number, sm_count;
    bool is_broken;                 /* its buffers or patches are missing: launches run untraced */
    struct pb_patch_launch *launch; /* device memory, as is sms */
    struct pb_patch_sm *sms;
    unsigned int *ready, *ring_sms, *chunks; /* pinned, by ring */
    unsigned int *next;                      /* [ring]: number of the chunk to drain next */
};

struct tracer {
    struct {
        SANITIZER_FUNCTIONS(DECLARE)
        CUDA_FUNCTIONS(DECLARE)
    } api;
    Sanitizer_SubscriberHandle subscriber;
    struct pb_selection selection;
    struct pb_stream_writer *stream;
    pthread_mutex_t lock;       /* of all that follows, and of the stream */
    pthread_mutex_t one_launch; /* held from a selected launch's begin to its end */
    pthread_cond_t begun;
    struct context contexts[CONTEXTS_MAX];
    uint32_t context_count, module_count;
    struct module *modules;
    uint64_t launches, selected, events;
    struct context *running; /* of the selected launch that runs; NULL: none */
    struct pb_stream_launch launch;
    struct timespec begin;
    uint64_t lost_before; /* the running launch: records that the stream had lost until then */
    char (*skipped)[PB_STREAM_TEXT_LENGTH];
    size_t skipped_count;
};

/* The driver and the loader call in with no context of ours, so this one object is global. */
static struct tracer tracer = {.lock = PTHREAD_MUTEX_INITIALIZER,
                               .one_launch = PTHREAD_MUTEX_INITIALIZER,
                               .begun = PTHREAD_COND_INITIALIZER};

/* This thread has begun a selected launch that has not ended: it holds one_launch. */
static _Thread_local bool is_launching;

/* This thread is in a callback: what the API reports of our own calls is not the program's. */
static _Thread_local bool is_inside;

/* Keeps the first message. */
static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
    struct pb_stream_header *header = pb_stream_header(tracer.stream);
    va_list args;

    if (header->message[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(header->message, sizeof(header->message), format, args);
    va_end(args);
}

static bool succeeded(SanitizerResult result, const char *what)
{
    const char *text = NULL;

    if (result == SANITIZER_SUCCESS)
        return true;
    if (tracer.api.sanitizerGetResultString(result, &text) != SANITIZER_SUCCESS || text == NULL)
        text = "unknown error";
    complain("%s: %s (%d)", what, text, (int)result);
    return false;
}

static bool emit(enum pb_stream_type type, const void *body, size_t size, const void *extra,
                 size_t extra_size)
{
    return pb_stream_write(tracer.stream, type, body, size, extra, extra_size) == PB_OK;
}

/* ---- draining ---- */

/* Records in words[count], for the count of what could not be written. */
static uint64_t count_records(const uint32_t *words, uint32_t count)
{
    uint64_t records = 0;

    for (uint32_t at = 0, length; at < count; at += length) {
        length = pb_words_length(words + at, count - at);
        if (length == 0)
            break;
        records++;
    }
    return records;
}

static void write_chunk(struct context *context, uint32_t ring, const uint32_t *words,
                        uint32_t count)
{
    uint32_t traced = tracer.launch.sms_wanted;
    struct pb_stream_chunk chunk = {.launch = tracer.launch.launch,
                                    .sm = context->ring_sms[ring] - 1,
                                    .traced = traced == 0 || ring < traced};

    if (count > 0 && !emit(PB_STREAM_CHUNK, &chunk, sizeof(chunk), words, count * sizeof(*words)))
        pb_stream_header(tracer.stream)->lost_records += count_records(words, count);
}

/* Writes what the device has handed over, and frees it. Zeros mark what is not yet written. */
static bool drain(struct context *context)
{
    bool is_any = false;

    for (uint32_t ring = 0; ring < context->sm_count; ring++) {
        volatile unsigned int *ready = context->ready + (size_t)ring * PB_CHUNKS_PER_SM;

        for (;;) {
            uint32_t slot = context->next[ring] % PB_CHUNKS_PER_SM, count = ready[slot];
            uint32_t *words =
                context->chunks + ((size_t)ring * PB_CHUNKS_PER_SM + slot) * PB_CHUNK_WORDS;

            if (count == 0)
                break;
            atomic_thread_fence(memory_order_acquire);
            write_chunk(context, ring, words, count);
            memset(words, 0, count * sizeof(*words));
            atomic_thread_fence(memory_order_release);
            ready[slot] = 0;
            context->next[ring]++;
            is_any = true;
        }
    }
    return is_any;
}

static void *drain_always(void *unused)
{
    struct timespec pause = {.tv_nsec = 50000};

    (void)unused;
    for (;;) {
        bool is_any;

        pthread_mutex_lock(&tracer.lock);
        while (tracer.running == NULL)
            pthread_cond_wait(&tracer.begun, &tracer.lock);
        is_any = drain(tracer.running);
        pthread_mutex_unlock(&tracer.lock);
        if (!is_any)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

/*
 * The chunks that were not full when the kernel ended. After a failed kernel the device's counters
 * cannot be read: then everything up to the first unwritten record counts.
 */
static void drain_rest(struct context *context, const struct pb_patch_sm *sms)
{
    for (uint32_t ring = 0; ring < context->sm_count && context->ring_sms[ring] != 0; ring++) {
        uint32_t slot = context->next[ring] % PB_CHUNKS_PER_SM, count = 0, length;
        uint32_t *words =
            context->chunks + ((size_t)ring * PB_CHUNKS_PER_SM + slot) * PB_CHUNK_WORDS;

        if (sms != NULL)
            count = sms[context->ring_sms[ring] - 1].committed;
        else
            while ((length = pb_words_length(words + count, PB_CHUNK_WORDS - count)) != 0)
                count += length;
        write_chunk(context, ring, words, count);
        memset(words, 0, PB_CHUNK_WORDS * sizeof(*words));
    }
}

static void reset_rings(struct context *context)
{
    size_t slots = (size_t)context->sm_count * PB_CHUNKS_PER_SM;

    memset(context->ready, 0, slots * sizeof(*context->ready));
    memset(context->ring_sms, 0, context->sm_count * sizeof(*context->ring_sms));
    memset(context->next, 0, context->sm_count * sizeof(*context->next));
}

/* ---- contexts and modules ---- */

static struct context *find_context(CUcontext handle)
{
    for (uint32_t i = 0; i < tracer.context_count; i++)
        if (tracer.contexts[i].handle == handle)
            return &tracer.contexts[i];
    return NULL;
}

static void describe_device(struct context *context, CUdevice device)
{
    struct pb_stream_context row = {.context = context->number, .device = (uint32_t)device};
    int major = 0, minor = 0, sms = 0;
    CUuuid uuid = {{0}};
    size_t used;

    tracer.api.cuDeviceGetName(row.model, sizeof(row.model), device);
    tracer.api.cuDeviceGetUuid(&uuid, device);
    tracer.api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    tracer.api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    tracer.api.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    row.compute_capability = (uint32_t)(10 * major + minor);
    row.sm_count = context->sm_count = (uint32_t)sms;
    used = (size_t)snprintf(row.uuid, sizeof(row.uuid), "GPU-");
    for (size_t i = 0; i < sizeof(uuid.bytes); i++)
        used += (size_t)snprintf(row.uuid + used, sizeof(row.uuid) - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                 (unsigned char)uuid.bytes[i]);
    emit(PB_STREAM_CONTEXT, &row, sizeof(row), NULL, 0);
}

static bool allocate(struct context *context)
{
    size_t slots = (size_t)context->sm_count * PB_CHUNKS_PER_SM;
    CUcontext handle = context->handle;
    bool good;

    context->next = calloc(context->sm_count, sizeof(*context->next));
    good = context->next != NULL && context->sm_count <= SM_SLOTS &&
           succeeded(tracer.api.sanitizerAlloc(handle, (void **)&context->launch,
                                               sizeof(*context->launch)),
                     "device memory") &&
           succeeded(tracer.api.sanitizerAlloc(handle, (void **)&context->sms,
                                               SM_SLOTS * sizeof(*context->sms)),
                     "device memory") &&
           succeeded(tracer.api.sanitizerAllocHost(handle, (void **)&context->ready,
                                                   slots * sizeof(*context->ready)),
                     "pinned memory") &&
           succeeded(tracer.api.sanitizerAllocHost(handle, (void **)&context->ring_sms,
                                                   context->sm_count * sizeof(unsigned int)),
                     "pinned memory") &&
           succeeded(tracer.api.sanitizerAllocHost(handle, (void **)&context->chunks,
                                                   slots * PB_CHUNK_WORDS * sizeof(unsigned int)),
                     "pinned memory");
    if (good)
        memset(context->chunks, 0, slots * PB_CHUNK_WORDS * sizeof(unsigned int));
    return good;
}

/* A context is met when it is created, or at its first module where that came first. */
static struct context *meet_context(CUcontext handle, CUdevice device)
{
    struct context *context = find_context(handle);

    if (context != NULL)
        return context;
    if (tracer.context_count == CONTEXTS_MAX) {
        complain("more than %d contexts: launches of later ones are not traced", CONTEXTS_MAX);
        return NULL;
    }
    context = &tracer.contexts[tracer.context_count];
    *context = (struct context){.handle = handle, .number = tracer.context_count++};
    describe_device(context, device);
    context->is_broken =
        !allocate(context) ||
        !succeeded(tracer.api.sanitizerAddPatches(pb_patch_image, handle), "adding the patches");
    return context;
}

static void forget_context(CUcontext handle)
{
    struct context *context = find_context(handle);

    if (context != NULL)
        context->handle = NULL; /* its memory went with it */
}

static const struct {
    Sanitizer_InstructionId instruction;
    const char *patch;
    bool is_optional; /* older drivers do not know it */
} points[] = {
    {SANITIZER_INSTRUCTION_BLOCK_ENTER, "pb_patch_block_enter", false},
    {SANITIZER_INSTRUCTION_BLOCK_EXIT, "pb_patch_block_exit", false},
    {SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, "pb_patch_global", false},
    {SANITIZER_INSTRUCTION_LOCAL_MEMORY_ACCESS, "pb_patch_local", false},
    {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, "pb_patch_async_copy", false},
    {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, "pb_patch_bulk_copy", true},
};

static void patch_module(CUmodule module)
{
    bool good = true;

    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        SanitizerResult result =
            tracer.api.sanitizerPatchInstructions(points[i].instruction, module, points[i].patch);

        if (!points[i].is_optional)
            good = succeeded(result, points[i].patch) && good;
    }
    if (good)
        succeeded(tracer.api.sanitizerPatchModule(module), "patching a module");
}

static struct module *find_module(CUmodule handle)
{
    struct module *module = tracer.modules;

    while (module != NULL && module->handle != handle)
        module = module->next;
    return module;
}

static void on_module(const Sanitizer_ResourceModuleData *data)
{
    struct context *context = find_context(data->context);
    struct module *module = calloc(1, sizeof(*module));
    struct pb_stream_module row;

    if (context == NULL)
        context = meet_context(data->context, 0);
    if (module == NULL || context == NULL || context->is_broken) {
        free(module);
        return;
    }
    module->handle = data->module;
    module->number = tracer.module_count++;
    module->context = context->number;
    module->cubin = malloc(data->cubinSize == 0 ? 1 : data->cubinSize);
    if (module->cubin != NULL && data->pCubin != NULL) {
        memcpy(module->cubin, data->pCubin, data->cubinSize);
        module->cubin_size = data->cubinSize;
    }
    module->next = tracer.modules;
    tracer.modules = module;
    row = (struct pb_stream_module){module->number, context->number};
    emit(PB_STREAM_MODULE, &row, sizeof(row), module->cubin, module->cubin_size);
    patch_module(data->module);
}

static void forget_module(CUmodule handle)
{
    struct module *module = find_module(handle);

    if (module != NULL)
        module->handle = NULL;
}

/* ---- allocations ---- */

static const char *allocation_kind(const Sanitizer_ResourceMemoryData *data)
{
    if ((data->flags & SANITIZER_MEMORY_FLAG_MODULE) != 0)
        return "module";
    if ((data->flags & SANITIZER_MEMORY_FLAG_MANAGED) != 0)
        return "managed";
    if ((data->flags & (SANITIZER_MEMORY_FLAG_HOST_PINNED | SANITIZER_MEMORY_FLAG_HOST_MAPPED)) !=
        0)
        return "host";
    return data->memoryPool != NULL ? "pool" : "device";
}

static void on_memory(enum pb_stream_type type, const Sanitizer_ResourceMemoryData *data)
{
    const struct context *context = find_context(data->context);
    struct pb_stream_allocation row = {.address = data->address,
                                       .bytes = data->size,
                                       .event = tracer.events++,
                                       .context = context == NULL ? 0 : context->number};

    snprintf(row.kind, sizeof(row.kind), "%s", allocation_kind(data));
    emit(type, &row, sizeof(row), NULL, 0);
}

/* ---- launches ---- */

struct location {
    struct module *module;
    size_t number;
};

/* Writes where a function lies, once it is loaded. */
static void locate_function(const struct pb_cubin_function *function, void *context)
{
    struct location *location = context;
    struct pb_stream_function row = {.module = location->module->number};
    size_t number = location->number++;

    if (location->module->located[number] ||
        tracer.api.sanitizerGetFunctionPcAndSize(location->module->handle, function->name, &row.pc,
                                                 &row.bytes) != SANITIZER_SUCCESS)
        return;
    snprintf(row.name, sizeof(row.name), "%s", function->name);
    location->module->located[number] =
        emit(PB_STREAM_FUNCTION, &row,
             offsetof(struct pb_stream_function, name) + strlen(row.name) + 1, NULL, 0);
}

static void locate_functions(struct module *module)
{
    struct location location = {.module = module};

    if (module->located == NULL)
        module->located =
            calloc(pb_cubin_count_functions(module->cubin, module->cubin_size) + 1, sizeof(bool));
    if (module->located != NULL)
        pb_cubin_functions(module->cubin, module->cubin_size, locate_function, &location);
}

static void note_skipped(const char *name)
{
    char(*larger)[PB_STREAM_TEXT_LENGTH];

    for (size_t i = 0; i < tracer.skipped_count; i++)
        if (strcmp(tracer.skipped[i], name) == 0)
            return;
    larger = realloc(tracer.skipped, (tracer.skipped_count + 1) * sizeof(*larger));
    if (larger == NULL)
        return;
    tracer.skipped = larger;
    snprintf(larger[tracer.skipped_count++], sizeof(*larger), "%s", name);
    emit(PB_STREAM_SKIPPED, name, strlen(name) + 1, NULL, 0);
}

/* Sets the device's state up, in the order of the launch's own stream. */
static bool prepare(struct context *context, const Sanitizer_LaunchData *data, uint64_t pc_base)
{
    uint32_t wanted = tracer.selection.sm_count;
    struct pb_patch_launch launch = {.sms = context->sms,
                                     .ready = context->ready,
                                     .ring_sms = context->ring_sms,
                                     .chunks = context->chunks,
                                     .pc_base = pc_base,
                                     .sm_slots = SM_SLOTS,
                                     .ring_count = context->sm_count,
                                     .rings_traced = wanted == 0 ? context->sm_count : wanted};

    reset_rings(context);
    return succeeded(tracer.api.sanitizerMemset(context->sms, 0, SM_SLOTS * sizeof(*context->sms),
                                                data->hStream),
                     "setting up a launch") &&
           succeeded(tracer.api.sanitizerMemcpyHostToDeviceAsync(context->launch, &launch,
                                                                 sizeof(launch), data->hStream),
                     "setting up a launch");
}

static void fill_launch(const Sanitizer_LaunchData *data, const struct context *context,
                        const struct module *module)
{
    struct pb_stream_launch *row = &tracer.launch;

    *row = (struct pb_stream_launch){
        .launch = tracer.launches - 1,
        .event = tracer.events++,
        .stream = (uint64_t)(uintptr_t)data->hStream,
        .context = context->number,
        .module = module->number,
        .grid = {data->gridDim_x, data->gridDim_y, data->gridDim_z},
        .block = {data->blockDim_x, data->blockDim_y, data->blockDim_z},
        .cluster = {data->clusterDim_x, data->clusterDim_y, data->clusterDim_z},
        .sms_wanted = tracer.selection.sm_count,
        .shared_dynamic_bytes = -1,
    };
    snprintf(row->name, sizeof(row->name), "%s", data->functionName);
}

static bool is_selected(const Sanitizer_LaunchData *data)
{
    uint64_t ctas = (uint64_t)data->gridDim_x * data->gridDim_y * data->gridDim_z;

    if (!pb_selection_matches(&tracer.selection, data->functionName)) {
        note_skipped(data->functionName);
        return false;
    }
    if (!pb_selection_has_launch(&tracer.selection, tracer.selected++))
        return false;
    if (ctas > UINT32_MAX) {
        complain("%s: grids of more than 2^32 - 1 CTAs are not traced", data->functionName);
        return false;
    }
    return true;
}

/* True: the launch is traced, and one_launch stays held until its end. */
static bool begin_traced(const Sanitizer_LaunchData *data)
{
    struct context *context = find_context(data->context);
    struct module *module = find_module(data->module);
    uint64_t pc = 0, size = 0;

    if (context == NULL || context->is_broken || module == NULL) {
        complain("%s: launched from a context or module that was not seen being made",
                 data->functionName);
        return false;
    }
    locate_functions(module);
    tracer.api.sanitizerGetFunctionPcAndSize(data->module, data->functionName, &pc, &size);
    fill_launch(data, context, module);
    tracer.launch.pc_base = pc;
    if (!prepare(context, data, pc) ||
        !succeeded(tracer.api.sanitizerSetLaunchCallbackData(data->hLaunch, data->function,
                                                             data->hStream, context->launch),
                   "setting up a launch"))
        return false;
    emit(PB_STREAM_LAUNCH, &tracer.launch, sizeof(tracer.launch), NULL, 0);
    clock_gettime(CLOCK_MONOTONIC, &tracer.begin);
    tracer.lost_before = pb_stream_header(tracer.stream)->lost_records;
    tracer.running = context;
    pthread_cond_signal(&tracer.begun);
    return true;
}

static void on_launch_begin(const Sanitizer_LaunchData *data)
{
    bool is_traced;

    pthread_mutex_lock(&tracer.one_launch);
    pthread_mutex_lock(&tracer.lock);
    tracer.launches++;
    pb_stream_header(tracer.stream)->launches = tracer.launches;
    is_traced = is_selected(data) && begin_traced(data);
    if (!is_traced)
        tracer.api.sanitizerSetLaunchCallbackData(data->hLaunch, data->function, data->hStream,
                                                  NULL);
    pthread_mutex_unlock(&tracer.lock);
    is_launching = is_traced;
    if (!is_traced)
        pthread_mutex_unlock(&tracer.one_launch);
}

static double seconds_since(const struct timespec *begin)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + 1e-9 * (double)(now.tv_nsec - begin->tv_nsec);
}

static uint32_t count_traced(const struct context *context)
{
    uint32_t wanted = tracer.launch.sms_wanted, used = 0;

    while (used < context->sm_count && context->ring_sms[used] != 0)
        used++;
    return wanted == 0 || used < wanted ? used : wanted;
}

static void on_launch_end(const Sanitizer_LaunchData *data)
{
    struct context *context = tracer.running;
    struct pb_stream_launch_end row = {.launch = tracer.launch.launch};
    struct pb_patch_sm *sms = malloc(SM_SLOTS * sizeof(*sms));
    struct pb_patch_launch launch = {.lost = 0};
    SanitizerResult result = tracer.api.sanitizerStreamSynchronize(data->hStream);

    if (result == SANITIZER_SUCCESS)
        result = tracer.api.sanitizerMemcpyDeviceToHost(&launch, context->launch, sizeof(launch),
                                                        data->hStream);
    if (result == SANITIZER_SUCCESS && sms != NULL)
        result = tracer.api.sanitizerMemcpyDeviceToHost(sms, context->sms, SM_SLOTS * sizeof(*sms),
                                                        data->hStream);
    pthread_mutex_lock(&tracer.lock);
    drain(context);
    drain_rest(context, result == SANITIZER_SUCCESS ? sms : NULL);
    row.seconds = seconds_since(&tracer.begin);
    row.lost_records =
        launch.lost + pb_stream_header(tracer.stream)->lost_records - tracer.lost_before;
    row.sms_traced = count_traced(context);
    row.failed = result != SANITIZER_SUCCESS;
    if (row.failed)
        snprintf(row.message, sizeof(row.message), "the kernel failed");
    emit(PB_STREAM_LAUNCH_END, &row, sizeof(row), NULL, 0);
    tracer.running = NULL;
    is_launching = false;
    pthread_mutex_unlock(&tracer.lock);
    pthread_mutex_unlock(&tracer.one_launch);
    free(sms);
}

/* ---- callbacks ---- */

static void on_resource(Sanitizer_CallbackId id, const void *data)
{
    const Sanitizer_ResourceContextData *context = data;

    switch (id) {
    case SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED:
        meet_context(context->context, context->device);
        break;
    case SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
        forget_context(context->context);
        break;
    case SANITIZER_CBID_RESOURCE_MODULE_LOADED:
        on_module(data);
        break;
    case SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
        forget_module(((const Sanitizer_ResourceModuleData *)data)->module);
        break;
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC:
    case SANITIZER_CBID_RESOURCE_HOST_MEMORY_ALLOC:
    case SANITIZER_CBID_RESOURCE_MEMORY_ALLOC_ASYNC:
        on_memory(PB_STREAM_ALLOCATION, data);
        break;
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE:
    case SANITIZER_CBID_RESOURCE_HOST_MEMORY_FREE:
    case SANITIZER_CBID_RESOURCE_MEMORY_FREE_ASYNC:
        on_memory(PB_STREAM_FREE, data);
        break;
    default:
        break;
    }
}

static void SANITIZERAPI on_callback(void *unused, Sanitizer_CallbackDomain domain,
                                     Sanitizer_CallbackId id, const void *data)
{
    (void)unused;
    if (is_inside)
        return;
    is_inside = true;
    if (domain == SANITIZER_CB_DOMAIN_LAUNCH) {
        const Sanitizer_LaunchData *launch = data;

        if (id == SANITIZER_CBID_LAUNCH_BEGIN)
            on_launch_begin(launch);
        else if (id == SANITIZER_CBID_LAUNCH_END && is_launching)
            on_launch_end(launch);
        is_inside = false;
        return;
    }
    pthread_mutex_lock(&tracer.lock);
    if (domain == SANITIZER_CB_DOMAIN_RESOURCE)
        on_resource(id, data);
    else if (domain == SANITIZER_CB_DOMAIN_GRAPHS && id == SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN)
        pb_stream_header(tracer.stream)->untraced_graph_launches++;
    pthread_mutex_unlock(&tracer.lock);
    is_inside = false;
}

/* ---- loading ---- */

/* Opens the first of the places where a toolkit or a system keeps the API. */
static void *open_api(void)
{
    const char *const places[] = {getenv("PLUMB_SANITIZER_LIBRARY"), "libsanitizer-public.so",
                                  PLUMB_SANITIZER_LIBRARY,
                                  "/usr/local/cuda/compute-sanitizer/libsanitizer-public.so"};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        void *api = places[i] == NULL || places[i][0] == '\0'
                        ? NULL
                        : dlopen(places[i], RTLD_NOW | RTLD_LOCAL);

        if (api != NULL)
            return api;
    }
    return NULL;
}

#define FIND(name)                                                                                 \
    *(void **)&tracer.api.name = dlsym(library, #name);                                            \
    if (tracer.api.name == NULL) {                                                                 \
        complain("%s: has no %s", what, #name);                                                    \
        return false;                                                                              \
    }

static bool find_sanitizer(void)
{
    const char *what = "compute-sanitizer's API";
    void *library = open_api();

    if (library == NULL) {
        complain("compute-sanitizer's API cannot be loaded: %s", dlerror());
        return false;
    }
    SANITIZER_FUNCTIONS(FIND)
    return true;
}

static bool find_cuda(void)
{
    const char *what = "libcuda.so.1";
    void *library = dlopen(what, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        complain("the CUDA driver cannot be loaded: %s", dlerror());
        return false;
    }
    CUDA_FUNCTIONS(FIND)
    return true;
}

static bool subscribe(void)
{
    static const Sanitizer_CallbackDomain domains[] = {
        SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CB_DOMAIN_LAUNCH, SANITIZER_CB_DOMAIN_GRAPHS};

    if (!succeeded(tracer.api.sanitizerSubscribe(&tracer.subscriber, on_callback, NULL),
                   "subscribing to compute-sanitizer's API"))
        return false;
    for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++)
        if (!succeeded(tracer.api.sanitizerEnableDomain(1, tracer.subscriber, domains[i]),
                       "enabling callbacks"))
            return false;
    return true;
}

static bool start_draining(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, drain_always, NULL) != 0) {
        complain("no thread to drain the records");
        return false;
    }
    pthread_detach(thread);
    return true;
}

/* A process that was forked shares the file but not the threads: only the first one has ended. */
static void mark_end(void)
{
    struct pb_stream_header *header = pb_stream_header(tracer.stream);

    if (header->pid == getpid())
        header->ended = 1;
}

/* Called by the CUDA driver before anything else happens; 1: loaded. */
__attribute__((visibility("default"))) int InitializeInjection(void);
int InitializeInjection(void)
{
    const char *prefix = getenv(PB_TRACE_STREAM_ENV);
    struct pb_error err = PB_ERROR_INIT;

    if (prefix == NULL || tracer.stream != NULL ||
        pb_stream_create(prefix, &tracer.stream, &err) != PB_OK)
        return 1;
    if (pb_selection_parse(getenv(PB_TRACE_KERNEL_ENV), getenv(PB_TRACE_LAUNCHES_ENV),
                           getenv(PB_TRACE_SMS_ENV), &tracer.selection, &err) != PB_OK) {
        complain("%s", err.message);
        return 1;
    }
    if (find_sanitizer() && find_cuda() && start_draining() && subscribe())
        atexit(mark_end);
    return 1;
}

/* By LD_PRELOAD nobody calls. */
__attribute__((constructor)) static void initialize_preloaded(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    if (preloaded != NULL && strstr(preloaded, "plumb-trace") != NULL)
        InitializeInjection();
}
