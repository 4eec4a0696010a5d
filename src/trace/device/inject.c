/*
 * The library that is loaded into a traced program: subscribes to compute-sanitizer's callbacks,
 * patches every module, and drains what the patches write into the stream.
 *
 * Loaded by the CUDA driver through CUDA_INJECTION64_PATH, or by LD_PRELOAD. The API's library is
 * opened at run time. Every selected launch records into buffers of its own, so that launches of
 * several threads run side by side; a thread's own launch is awaited at its end. It never ends the
 * process: what it cannot do is said in the stream's header, and the program runs on untraced.
 *
 * Locks: callbacks come while the driver holds locks of its own, and the API takes them again. So
 * none of ours is held while the API is called.
 *
 * Limit: the end of a launch is awaited inside of its callback. Where other threads call the driver
 * meanwhile, the program can hang (seen with four threads that launch at once).
 *
 * The kernels of a CUDA graph are traced as launches of their own, all awaited at the end of the
 * graph's launch. Not traced: launches from the device, textures, tensor-map copies, constants.
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
    apply(sanitizerEnableCallback) apply(sanitizerSubscribe) apply(sanitizerEnableDomain)          \
        apply(sanitizerAddPatches) apply(sanitizerPatchInstructions) apply(sanitizerPatchModule)   \
            apply(sanitizerSetLaunchCallbackData) apply(sanitizerGetFunctionPcAndSize)             \
                apply(sanitizerAlloc) apply(sanitizerAllocHost) apply(sanitizerMemset)             \
                    apply(sanitizerMemcpyHostToDeviceAsync) apply(sanitizerMemcpyDeviceToHost)     \
                        apply(sanitizerStreamSynchronize) apply(sanitizerGetResultString)
#define CUDA_FUNCTIONS(apply)                                                                      \
    apply(cuDeviceGetName) apply(cuDeviceGetUuid) apply(cuDeviceGetAttribute)                      \
        apply(cuFuncGetAttribute) apply(cuCtxGetDevice)

#define DECLARE(name) __typeof__(&(name)) name;

enum { CONTEXTS_MAX = 64, RUNS_MAX = 32, SM_SLOTS = 1024 };

struct module {
    struct module *next;
    CUmodule handle;
    uint32_t number, context;
    void *cubin;
    size_t cubin_size;
    atomic_bool has_launched; /* some of its functions may not be located yet */
    atomic_bool *located;     /* [symbol]: its place has been written */
};

struct context {
    CUcontext handle;
    uint32_t number, sm_count;
    bool is_broken; /* its buffers or patches are missing: launches run untraced */
};

enum run_state { RUN_FREE, RUN_TAKEN, RUN_RECORDING };

/* A launch that is recorded, and the buffers for it, which stay with the context. */
struct run {
    enum run_state state;
    struct context *context;        /* NULL: has no buffers yet */
    struct pb_patch_launch *device; /* device memory, as is sms */
    struct pb_patch_sm *sms;
    unsigned int *ready, *ring_sms, *chunks; /* pinned, by ring */
    unsigned int *next;                      /* [ring]: number of the chunk to drain next */
    struct pb_stream_launch row;
    struct timespec begin;
    uint64_t lost_records; /* that the stream did not take */
};

struct tracer {
    struct {
        SANITIZER_FUNCTIONS(DECLARE)
        CUDA_FUNCTIONS(DECLARE)
        DECLARE(cuKernelGetAttribute) /* NULL: a driver older than CUDA 12 */
    } api;
    Sanitizer_SubscriberHandle subscriber;
    struct pb_selection selection;
    atomic_bool is_forked; /* this is a child of the traced process: the stream is its parent's */
    struct pb_stream_writer *stream;
    pthread_mutex_t stream_lock; /* of the stream; taken last */
    pthread_mutex_t patch_lock;  /* the API wants patches to be added and applied one at a time */
    pthread_mutex_t lock;        /* of all that follows */
    pthread_cond_t begun;
    struct context contexts[CONTEXTS_MAX];
    struct run runs[RUNS_MAX];
    uint32_t context_count, module_count, recording_count;
    struct module *modules;
    uint64_t launches, selected, events;
    char (*skipped)[PB_STREAM_TEXT_LENGTH];
    size_t skipped_count;
};

/* The driver and the loader call in with no context of ours, so this one object is global. */
static struct tracer tracer = {.stream_lock = PTHREAD_MUTEX_INITIALIZER,
                               .patch_lock = PTHREAD_MUTEX_INITIALIZER,
                               .lock = PTHREAD_MUTEX_INITIALIZER,
                               .begun = PTHREAD_COND_INITIALIZER};

/* The launch that this thread has begun and not ended; NULL: none that is recorded. */
static _Thread_local struct run *own_run;

/* The CUDA graph that this thread launches, and its kernels that are recorded. */
static _Thread_local struct {
    Sanitizer_StreamHandle stream;
    struct run *runs[RUNS_MAX];
    size_t count;
    bool lacks_kernels; /* some that were wanted are not recorded */
} own_graph;

/* Of the launch that this thread requests of the driver, what only the call itself says. */
struct call {
    int64_t shared_dynamic_bytes; /* -1: not known */
    int32_t carveout_percent;     /* as struct pb_stream_launch */
};
static const struct call unknown_call = {-1, -2};
static _Thread_local struct call own_call = {-1, -2};

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
    enum pb_status status;

    pthread_mutex_lock(&tracer.stream_lock);
    status = pb_stream_write(tracer.stream, type, body, size, extra, extra_size);
    pthread_mutex_unlock(&tracer.stream_lock);
    return status == PB_OK;
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

static void write_chunk(struct run *run, uint32_t ring, const uint32_t *words, uint32_t count)
{
    uint32_t traced = run->row.sms_wanted;
    struct pb_stream_chunk chunk = {.launch = run->row.launch,
                                    .sm = run->ring_sms[ring] - 1,
                                    .traced = traced == 0 || ring < traced};
    uint64_t lost;

    if (count == 0 || emit(PB_STREAM_CHUNK, &chunk, sizeof(chunk), words, count * sizeof(*words)))
        return;
    lost = count_records(words, count);
    run->lost_records += lost;
    pb_stream_header(tracer.stream)->lost_records += lost;
}

static uint32_t *chunk_at(const struct run *run, uint32_t ring, uint32_t slot)
{
    return run->chunks + ((size_t)ring * PB_CHUNKS_PER_SM + slot) * PB_CHUNK_WORDS;
}

/* Writes what the device has handed over, and frees it. Zeros mark what is not yet written. */
static bool drain(struct run *run)
{
    bool is_any = false;

    for (uint32_t ring = 0; ring < run->context->sm_count; ring++) {
        volatile unsigned int *ready = run->ready + (size_t)ring * PB_CHUNKS_PER_SM;

        for (;;) {
            uint32_t slot = run->next[ring] % PB_CHUNKS_PER_SM, count = ready[slot];
            uint32_t *words = chunk_at(run, ring, slot);

            if (count == 0)
                break;
            atomic_thread_fence(memory_order_acquire);
            write_chunk(run, ring, words, count);
            memset(words, 0, count * sizeof(*words));
            atomic_thread_fence(memory_order_release);
            ready[slot] = 0;
            run->next[ring]++;
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
        bool is_any = false;

        pthread_mutex_lock(&tracer.lock);
        while (tracer.recording_count == 0)
            pthread_cond_wait(&tracer.begun, &tracer.lock);
        for (size_t i = 0; i < RUNS_MAX; i++)
            if (tracer.runs[i].state == RUN_RECORDING)
                is_any = drain(&tracer.runs[i]) || is_any;
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
static void drain_rest(struct run *run, const struct pb_patch_sm *sms)
{
    for (uint32_t ring = 0; ring < run->context->sm_count && run->ring_sms[ring] != 0; ring++) {
        uint32_t *words = chunk_at(run, ring, run->next[ring] % PB_CHUNKS_PER_SM);
        uint32_t count = 0, length;

        if (sms != NULL)
            count = sms[run->ring_sms[ring] - 1].committed;
        else
            while ((length = pb_words_length(words + count, PB_CHUNK_WORDS - count)) != 0)
                count += length;
        write_chunk(run, ring, words, count);
        memset(words, 0, PB_CHUNK_WORDS * sizeof(*words));
    }
}

static void reset_rings(struct run *run)
{
    size_t rings = run->context->sm_count;

    memset(run->ready, 0, rings * PB_CHUNKS_PER_SM * sizeof(*run->ready));
    memset(run->ring_sms, 0, rings * sizeof(*run->ring_sms));
    memset(run->next, 0, rings * sizeof(*run->next));
}

/* ---- contexts and modules ---- */

static struct context *find_context(CUcontext handle)
{
    struct context *found = NULL;

    pthread_mutex_lock(&tracer.lock);
    for (uint32_t i = 0; i < tracer.context_count && found == NULL; i++)
        if (tracer.contexts[i].handle == handle)
            found = &tracer.contexts[i];
    pthread_mutex_unlock(&tracer.lock);
    return found;
}

static void describe_device(struct context *context, CUdevice device)
{
    struct pb_stream_context row = {.context = context->number, .device = (uint32_t)device};
    int major = 0, minor = 0, sms = 0, shared = 0;
    CUuuid uuid = {{0}};
    size_t used;

    tracer.api.cuDeviceGetName(row.model, sizeof(row.model), device);
    tracer.api.cuDeviceGetUuid(&uuid, device);
    tracer.api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    tracer.api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    tracer.api.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    tracer.api.cuDeviceGetAttribute(
        &shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device);
    row.compute_capability = (uint32_t)(10 * major + minor);
    row.shared_per_sm = shared > 0 ? (uint64_t)shared : 0;
    row.sm_count = context->sm_count = (uint32_t)sms;
    used = (size_t)snprintf(row.uuid, sizeof(row.uuid), "GPU-");
    for (size_t i = 0; i < sizeof(uuid.bytes); i++)
        used += (size_t)snprintf(row.uuid + used, sizeof(row.uuid) - used, "%s%02x",
                                 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                                 (unsigned char)uuid.bytes[i]);
    emit(PB_STREAM_CONTEXT, &row, sizeof(row), NULL, 0);
}

static bool allocate(struct run *run)
{
    size_t rings = run->context->sm_count, slots = rings * PB_CHUNKS_PER_SM;
    CUcontext handle = run->context->handle;
    bool good;

    run->next = calloc(rings, sizeof(*run->next));
    good = run->next != NULL && rings <= SM_SLOTS &&
           succeeded(tracer.api.sanitizerAlloc(handle, (void **)&run->device, sizeof(*run->device)),
                     "device memory") &&
           succeeded(
               tracer.api.sanitizerAlloc(handle, (void **)&run->sms, SM_SLOTS * sizeof(*run->sms)),
               "device memory") &&
           succeeded(tracer.api.sanitizerAllocHost(handle, (void **)&run->ready,
                                                   slots * sizeof(*run->ready)),
                     "pinned memory") &&
           succeeded(tracer.api.sanitizerAllocHost(handle, (void **)&run->ring_sms,
                                                   rings * sizeof(*run->ring_sms)),
                     "pinned memory") &&
           succeeded(tracer.api.sanitizerAllocHost(handle, (void **)&run->chunks,
                                                   slots * PB_CHUNK_WORDS * sizeof(unsigned int)),
                     "pinned memory");
    if (good)
        memset(run->chunks, 0, slots * PB_CHUNK_WORDS * sizeof(unsigned int));
    return good;
}

/* Buffers of this context that no launch uses; *is_new_out: they are still to be allocated. */
static struct run *take_run(struct context *context, bool *is_new_out)
{
    struct run *found = NULL;

    *is_new_out = false;
    pthread_mutex_lock(&tracer.lock);
    for (size_t i = 0; i < RUNS_MAX && found == NULL; i++)
        if (tracer.runs[i].state == RUN_FREE && tracer.runs[i].context == context)
            found = &tracer.runs[i];
    for (size_t i = 0; i < RUNS_MAX && found == NULL; i++)
        if (tracer.runs[i].state == RUN_FREE && tracer.runs[i].context == NULL) {
            found = &tracer.runs[i];
            found->context = context;
            *is_new_out = true;
        }
    if (found != NULL)
        found->state = RUN_TAKEN;
    pthread_mutex_unlock(&tracer.lock);
    return found;
}

static void set_state(struct run *run, enum run_state state)
{
    pthread_mutex_lock(&tracer.lock);
    tracer.recording_count += state == RUN_RECORDING;
    tracer.recording_count -= run->state == RUN_RECORDING;
    run->state = state;
    pthread_cond_signal(&tracer.begun);
    pthread_mutex_unlock(&tracer.lock);
}

static struct run *find_buffers(struct context *context)
{
    bool is_new = false;
    struct run *run = take_run(context, &is_new);

    if (run == NULL) {
        complain("more than %d launches at once: the others were not traced", RUNS_MAX);
        return NULL;
    }
    return !is_new || allocate(run) ? run : NULL; /* what could not be allocated stays taken */
}

static struct context *add_context(CUcontext handle)
{
    struct context *context = NULL;

    pthread_mutex_lock(&tracer.lock);
    if (tracer.context_count < CONTEXTS_MAX) {
        context = &tracer.contexts[tracer.context_count];
        *context = (struct context){.handle = handle, .number = tracer.context_count++};
    }
    pthread_mutex_unlock(&tracer.lock);
    if (context == NULL)
        complain("more than %d contexts: launches of later ones are not traced", CONTEXTS_MAX);
    return context;
}

/* A context is met when it is created, or at its first module where that came first. */
static struct context *meet_context(CUcontext handle, CUdevice device)
{
    struct context *context = find_context(handle);
    struct run *run;

    if (context != NULL)
        return context;
    context = add_context(handle);
    if (context == NULL)
        return NULL;
    describe_device(context, device);
    run = find_buffers(context);
    if (run != NULL)
        set_state(run, RUN_FREE);
    pthread_mutex_lock(&tracer.patch_lock);
    context->is_broken =
        run == NULL ||
        !succeeded(tracer.api.sanitizerAddPatches(pb_patch_image, handle), "adding the patches");
    pthread_mutex_unlock(&tracer.patch_lock);
    return context;
}

/* Its memory goes with it. */
static void forget_context(CUcontext handle)
{
    struct context *context = find_context(handle);

    if (context == NULL)
        return;
    pthread_mutex_lock(&tracer.lock);
    context->handle = NULL;
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (tracer.runs[i].context == context && tracer.runs[i].state == RUN_FREE) {
            free(tracer.runs[i].next);
            tracer.runs[i] = (struct run){.context = NULL};
        }
    pthread_mutex_unlock(&tracer.lock);
}

/* PLUMB_HAVE_…: headers of an older API lack the point; the build checks them. */
static const struct {
    Sanitizer_InstructionId instruction;
    const char *patch;
    bool is_optional; /* older drivers do not know it */
    uint32_t records; /* PB_RECORDS_… that it makes; 0: none of these */
} points[] = {
    {SANITIZER_INSTRUCTION_BLOCK_ENTER, "pb_patch_block_enter", false, 0},
    {SANITIZER_INSTRUCTION_BLOCK_EXIT, "pb_patch_block_exit", false, 0},
    {SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS, "pb_patch_global", false, 0},
    {SANITIZER_INSTRUCTION_LOCAL_MEMORY_ACCESS, "pb_patch_local", false, 0},
    {SANITIZER_INSTRUCTION_MEMCPY_ASYNC, "pb_patch_async_copy", false, 0},
    {SANITIZER_INSTRUCTION_BULK_COPY_GLOBAL_TO_SHARED, "pb_patch_bulk_copy", true, 0},
#ifdef PLUMB_HAVE_BULK_STORES
    {SANITIZER_INSTRUCTION_BULK_COPY_SHARED_TO_GLOBAL, "pb_patch_bulk_store", true,
     PB_RECORDS_BULK_STORES},
#endif
#ifdef PLUMB_HAVE_BULK_REDUCTIONS
    {SANITIZER_INSTRUCTION_BULK_REDUCTION_SHARED_TO_GLOBAL, "pb_patch_bulk_reduction", true,
     PB_RECORDS_BULK_REDUCTIONS},
#endif
#ifdef PLUMB_HAVE_PREFETCHES
    {SANITIZER_INSTRUCTION_CACHE_CONTROL, "pb_patch_cache_control", true, PB_RECORDS_PREFETCHES},
#endif
};

static void patch_module(CUmodule module)
{
    bool good = true;

    pthread_mutex_lock(&tracer.patch_lock);
    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++) {
        SanitizerResult result =
            tracer.api.sanitizerPatchInstructions(points[i].instruction, module, points[i].patch);

        if (!points[i].is_optional)
            good = succeeded(result, points[i].patch) && good;
        if (result == SANITIZER_SUCCESS)
            pb_stream_header(tracer.stream)->records |= points[i].records;
    }
    if (good)
        succeeded(tracer.api.sanitizerPatchModule(module), "patching a module");
    pthread_mutex_unlock(&tracer.patch_lock);
}

static struct module *find_module(CUmodule handle)
{
    struct module *module;

    pthread_mutex_lock(&tracer.lock);
    module = tracer.modules;
    while (module != NULL && module->handle != handle)
        module = module->next;
    pthread_mutex_unlock(&tracer.lock);
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
    module->context = context->number;
    module->cubin = malloc(data->cubinSize == 0 ? 1 : data->cubinSize);
    if (module->cubin != NULL && data->pCubin != NULL) {
        memcpy(module->cubin, data->pCubin, data->cubinSize);
        module->cubin_size = data->cubinSize;
    }
    module->located = calloc(pb_cubin_count_functions(module->cubin, module->cubin_size) + 1,
                             sizeof(*module->located));
    pthread_mutex_lock(&tracer.lock);
    module->number = tracer.module_count++;
    module->next = tracer.modules;
    tracer.modules = module;
    pthread_mutex_unlock(&tracer.lock);
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

static uint64_t next_event(void)
{
    uint64_t event;

    pthread_mutex_lock(&tracer.lock);
    event = tracer.events++;
    pthread_mutex_unlock(&tracer.lock);
    return event;
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
                                       .event = next_event(),
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

/*
 * Writes where the functions of all launched modules lie. Not within a call that launches: the
 * driver holds its lock of modules there, and with several threads it waits for itself when the API
 * requests a function's place (seen on an H100, driver 580).
 */
static void locate_functions(void)
{
    struct module *module;

    pthread_mutex_lock(&tracer.lock);
    module = tracer.modules;
    pthread_mutex_unlock(&tracer.lock);
    for (; module != NULL; module = module->next) {
        struct location location = {.module = module};

        if (module->handle != NULL && module->located != NULL &&
            atomic_exchange(&module->has_launched, false))
            pb_cubin_functions(module->cubin, module->cubin_size, locate_function, &location);
    }
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

/* Sets the device's state up, in the order of the stream of the launch, or of its graph. */
static bool prepare(struct run *run, const Sanitizer_LaunchData *data,
                    Sanitizer_StreamHandle stream)
{
    uint32_t wanted = run->row.sms_wanted, rings = run->context->sm_count;
    struct pb_patch_launch launch = {.sms = run->sms,
                                     .ready = run->ready,
                                     .ring_sms = run->ring_sms,
                                     .chunks = run->chunks,
                                     .sm_slots = SM_SLOTS,
                                     .ring_count = rings,
                                     .rings_traced = wanted == 0 ? rings : wanted};

    reset_rings(run);
    return succeeded(tracer.api.sanitizerMemset(run->sms, 0, SM_SLOTS * sizeof(*run->sms), stream),
                     "setting up a launch") &&
           succeeded(tracer.api.sanitizerMemcpyHostToDeviceAsync(run->device, &launch,
                                                                 sizeof(launch), stream),
                     "setting up a launch") &&
           succeeded(tracer.api.sanitizerSetLaunchCallbackData(data->hLaunch, data->function,
                                                               data->hStream, run->device),
                     "setting up a launch");
}

static void fill_launch(const Sanitizer_LaunchData *data, uint64_t number,
                        const struct module *module, struct run *run)
{
    struct pb_stream_launch *row = &run->row;

    *row = (struct pb_stream_launch){
        .launch = number,
        .event = next_event(),
        .stream = (uint64_t)(uintptr_t)data->hStream,
        .context = run->context->number,
        .module = module->number,
        .grid = {data->gridDim_x, data->gridDim_y, data->gridDim_z},
        .block = {data->blockDim_x, data->blockDim_y, data->blockDim_z},
        .cluster = {data->clusterDim_x, data->clusterDim_y, data->clusterDim_z},
        .sms_wanted = tracer.selection.sm_count,
        .shared_dynamic_bytes = own_call.shared_dynamic_bytes,
        .carveout_percent = own_call.carveout_percent,
    };
    snprintf(row->name, sizeof(row->name), "%s", data->functionName);
    run->lost_records = 0;
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

/* The buffers that the launch records into; NULL: it is not traced. */
static struct run *begin_traced(const Sanitizer_LaunchData *data, Sanitizer_StreamHandle stream,
                                uint64_t number)
{
    struct context *context = find_context(data->context);
    struct module *module = find_module(data->module);
    struct run *run;

    if (context == NULL || context->is_broken || module == NULL) {
        complain("%s: launched from a context or module that was not seen being made",
                 data->functionName);
        return NULL;
    }
    run = find_buffers(context);
    if (run == NULL)
        return NULL;
    module->has_launched = true;
    fill_launch(data, number, module, run);
    emit(PB_STREAM_LAUNCH, &run->row, sizeof(run->row), NULL, 0);
    if (!prepare(run, data, stream)) {
        set_state(run, RUN_FREE);
        return NULL;
    }
    clock_gettime(CLOCK_MONOTONIC, &run->begin);
    set_state(run, RUN_RECORDING);
    return run;
}

/* Its patches get no place to write to. */
static void leave_untraced(const Sanitizer_LaunchData *data)
{
    tracer.api.sanitizerSetLaunchCallbackData(data->hLaunch, data->function, data->hStream, NULL);
}

/* stream: that the launch is ordered in. NULL: it is not traced; *is_wanted_out: it was to be. */
static struct run *begin_launch(const Sanitizer_LaunchData *data, Sanitizer_StreamHandle stream,
                                bool *is_wanted_out)
{
    struct run *run;
    uint64_t number;

    pthread_mutex_lock(&tracer.lock);
    number = tracer.launches++;
    pb_stream_header(tracer.stream)->launches = tracer.launches;
    *is_wanted_out = is_selected(data);
    pthread_mutex_unlock(&tracer.lock);
    run = *is_wanted_out ? begin_traced(data, stream, number) : NULL;
    if (run == NULL)
        leave_untraced(data);
    return run;
}

static void on_launch_begin(const Sanitizer_LaunchData *data)
{
    bool is_wanted;

    if (own_run != NULL) /* a launch that the driver refused has no end */
        set_state(own_run, RUN_FREE);
    own_run = begin_launch(data, data->hStream, &is_wanted);
}

static double seconds_since(const struct timespec *begin)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begin->tv_sec) + 1e-9 * (double)(now.tv_nsec - begin->tv_nsec);
}

static uint32_t count_traced(const struct run *run)
{
    uint32_t wanted = run->row.sms_wanted, used = 0;

    while (used < run->context->sm_count && run->ring_sms[used] != 0)
        used++;
    return wanted == 0 || used < wanted ? used : wanted;
}

static void end_launch(struct run *run, Sanitizer_StreamHandle stream)
{
    struct pb_stream_launch_end row = {.launch = run->row.launch};
    struct pb_patch_sm *sms = malloc(SM_SLOTS * sizeof(*sms));
    struct pb_patch_launch launch = {.lost = 0};
    const char *why = NULL;
    SanitizerResult result = tracer.api.sanitizerStreamSynchronize(stream);

    if (result == SANITIZER_SUCCESS)
        result =
            tracer.api.sanitizerMemcpyDeviceToHost(&launch, run->device, sizeof(launch), stream);
    if (result == SANITIZER_SUCCESS && sms != NULL)
        result =
            tracer.api.sanitizerMemcpyDeviceToHost(sms, run->sms, SM_SLOTS * sizeof(*sms), stream);
    pthread_mutex_lock(&tracer.lock);
    drain(run);
    drain_rest(run, result == SANITIZER_SUCCESS ? sms : NULL);
    pthread_mutex_unlock(&tracer.lock);
    row.seconds = seconds_since(&run->begin);
    row.lost_records = launch.lost + run->lost_records;
    row.sms_traced = count_traced(run);
    row.failed = result != SANITIZER_SUCCESS;
    if (row.failed && tracer.api.sanitizerGetResultString(result, &why) == SANITIZER_SUCCESS &&
        why != NULL)
        snprintf(row.message, sizeof(row.message), "the kernel failed: %s", why);
    else if (row.failed)
        snprintf(row.message, sizeof(row.message), "the kernel failed");
    emit(PB_STREAM_LAUNCH_END, &row, sizeof(row), NULL, 0);
    set_state(run, RUN_FREE);
    free(sms);
}

/* ---- graphs ---- */

static void on_graph_begin(const Sanitizer_GraphLaunchData *data)
{
    for (size_t i = 0; i < own_graph.count; i++) /* a launch that the driver refused */
        set_state(own_graph.runs[i], RUN_FREE);
    own_graph.stream = data->hStream;
    own_graph.count = 0;
    own_graph.lacks_kernels = false;
}

/* An upload runs nothing yet. The kernel may run in a stream of the driver's own, beside others. */
static void on_graph_node(const Sanitizer_GraphNodeLaunchData *node)
{
    struct run *run;
    bool is_wanted;

    if (node->nodeType != CU_GRAPH_NODE_TYPE_KERNEL)
        return;
    if (node->isGraphUpload) {
        leave_untraced(&node->launchData);
        return;
    }
    own_call = unknown_call;
    run = begin_launch(&node->launchData, own_graph.stream, &is_wanted);
    if (run == NULL) {
        own_graph.lacks_kernels |= is_wanted;
        return;
    }
    own_graph.runs[own_graph.count++] = run;
    succeeded(tracer.api.sanitizerStreamSynchronize(own_graph.stream), "setting up a launch");
}

static void on_graph_end(void)
{
    for (size_t i = 0; i < own_graph.count; i++)
        end_launch(own_graph.runs[i], own_graph.stream);
    own_graph.count = 0;
    pb_stream_header(tracer.stream)->untraced_graph_launches += own_graph.lacks_kernels;
}

static void on_graph(Sanitizer_CallbackId id, const void *data)
{
    switch (id) {
    case SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN:
        on_graph_begin(data);
        break;
    case SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN:
        on_graph_node(data);
        break;
    case SANITIZER_CBID_GRAPHS_LAUNCH_END:
        on_graph_end();
        break;
    default:
        break;
    }
}

/* ---- callbacks ---- */

/* The driver's functions that launch, and the form of their arguments. */
enum arguments { PLAIN, CONFIG /* the first one is a CUlaunchConfig */, NONE };
static const struct {
    Sanitizer_CallbackId id;
    enum arguments arguments;
} launch_functions[] = {
    {SANITIZER_CBID_DRIVER_API_cuLaunchKernel, PLAIN},
    {SANITIZER_CBID_DRIVER_API_cuLaunchKernel_ptsz, PLAIN},
    {SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel, PLAIN},
    {SANITIZER_CBID_DRIVER_API_cuLaunchCooperativeKernel_ptsz, PLAIN},
    {SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx, CONFIG},
    {SANITIZER_CBID_DRIVER_API_cuLaunchKernelEx_ptsz, CONFIG},
    {SANITIZER_CBID_DRIVER_API_cuGraphLaunch, NONE},
    {SANITIZER_CBID_DRIVER_API_cuGraphLaunch_ptsz, NONE},
};
enum { LAUNCH_FUNCTIONS = sizeof(launch_functions) / sizeof(launch_functions[0]) };

/*
 * The carve-out that the program prefers for a function or, as the runtime hands it on, a kernel of
 * no context. Queried before the driver starts on the launch, so that it holds no lock yet.
 */
static int32_t find_carveout(CUfunction function)
{
    const CUfunction_attribute attribute = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    CUdevice device = 0;
    int percent = -1;

    if (tracer.api.cuFuncGetAttribute(&percent, attribute, function) == CUDA_SUCCESS ||
        (tracer.api.cuKernelGetAttribute != NULL &&
         tracer.api.cuCtxGetDevice(&device) == CUDA_SUCCESS &&
         tracer.api.cuKernelGetAttribute(&percent, attribute, (CUkernel)function, device) ==
             CUDA_SUCCESS))
        return percent < 0 ? -1 : percent;
    return -2;
}

/* A launch's own preference goes before its function's. */
static int32_t find_launch_carveout(const CUlaunchConfig *config, CUfunction function)
{
#if CUDA_VERSION >= 13000
    for (unsigned int i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
            return (int32_t)config->attrs[i].value.sharedMemCarveout;
#else
    (void)config;
#endif
    return find_carveout(function);
}

/* What the launch callbacks do not say: the arguments of the call, as the driver's API has them. */
static void read_arguments(Sanitizer_CallbackId id, const Sanitizer_CallbackData *data)
{
    const struct {
        CUfunction function;
        unsigned int grid[3], block[3], shared_bytes;
    } *arguments = data->functionParams;
    const struct {
        const CUlaunchConfig *config;
        CUfunction function;
    } *extended = data->functionParams;

    if (data->functionParams == NULL)
        return;
    for (size_t i = 0; i < LAUNCH_FUNCTIONS; i++)
        if (launch_functions[i].id == id && launch_functions[i].arguments == CONFIG)
            own_call = (struct call){extended->config->sharedMemBytes,
                                     find_launch_carveout(extended->config, extended->function)};
        else if (launch_functions[i].id == id && launch_functions[i].arguments == PLAIN)
            own_call = (struct call){arguments->shared_bytes, find_carveout(arguments->function)};
}

static void on_driver_call(Sanitizer_CallbackId id, const Sanitizer_CallbackData *data)
{
    own_call = unknown_call;
    if (data->callbackSite == SANITIZER_API_ENTER)
        read_arguments(id, data);
    else
        locate_functions();
}

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
    if (is_inside || tracer.is_forked)
        return;
    is_inside = true;
    if (domain == SANITIZER_CB_DOMAIN_DRIVER_API) {
        on_driver_call(id, data);
    } else if (domain == SANITIZER_CB_DOMAIN_LAUNCH && id == SANITIZER_CBID_LAUNCH_BEGIN) {
        on_launch_begin(data);
    } else if (domain == SANITIZER_CB_DOMAIN_LAUNCH && id == SANITIZER_CBID_LAUNCH_END) {
        if (own_run != NULL)
            end_launch(own_run, ((const Sanitizer_LaunchData *)data)->hStream);
        own_run = NULL;
    } else if (domain == SANITIZER_CB_DOMAIN_RESOURCE) {
        on_resource(id, data);
    } else if (domain == SANITIZER_CB_DOMAIN_GRAPHS) {
        on_graph(id, data);
    }
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
    *(void **)&tracer.api.cuKernelGetAttribute = dlsym(library, "cuKernelGetAttribute");
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
    for (size_t i = 0; i < LAUNCH_FUNCTIONS; i++) /* what an older API lacks stays unknown */
        tracer.api.sanitizerEnableCallback(1, tracer.subscriber, SANITIZER_CB_DOMAIN_DRIVER_API,
                                           launch_functions[i].id);
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

/*
 * A forked process can use no GPU, and shares the file but not the threads. What its copy of the
 * driver does, at its exit above all, is nothing of the traced program's.
 */
static void note_fork(void)
{
    tracer.is_forked = true;
}

static void mark_end(void)
{
    if (!tracer.is_forked)
        pb_stream_header(tracer.stream)->ended = 1;
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
    if (find_sanitizer() && find_cuda() && start_draining() && subscribe()) {
        atexit(mark_end);
        pthread_atfork(NULL, NULL, note_fork);
    }
    return 1;
}

/* By LD_PRELOAD this is not called. */
__attribute__((constructor)) static void initialize_preloaded(void)
{
    const char *preloaded = getenv("LD_PRELOAD");

    if (preloaded != NULL && strstr(preloaded, "plumb-trace") != NULL)
        InitializeInjection();
}
