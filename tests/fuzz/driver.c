/*
 * Runs a fuzz target without libFuzzer: `TARGET [--runs N] [--first I] [--seed S] [--slow SECONDS]
 * [FILE...]`.
 *
 * Run i is the same in every call with the same seed, so that what a report names can be replayed
 * by `--first i --runs 1`. FILEs are fed as they are, before all runs. A run that takes the
 * processor for longer than a minute, or ten minutes in all, ends the program as a crash does;
 * --slow names those that took the processor for longer than it says.
 *
 * Limit: it does not look at coverage; the targets' seeds and mutators have to reach the depths.
 */
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

enum { INPUT_MAX = 1 << 18, MUTATIONS_MAX = 6, RUN_SECONDS_MAX = 60, WALL_SECONDS_MAX = 600 };

/* Of the run under way: signal handlers and libFuzzer's LLVMFuzzerMutate() get no context. */
static volatile uint64_t current_run, current_seed;
static double slow_seconds = RUN_SECONDS_MAX;
static uint64_t mutation_state;

static void name_run(void)
{
    fprintf(stderr, "fuzz: --seed %" PRIu64 " --first %" PRIu64 " --runs 1\n", current_seed,
            current_run);
}

static void on_signal(int number)
{
    name_run();
    signal(number, SIG_DFL);
    raise(number);
}

/* The sanitizers' own way to the same line; absent without them. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void watch(void)
{
    static const int deadly[] = {SIGALRM, SIGPROF, SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL};

    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(name_run);
        signal(SIGALRM, on_signal);
        signal(SIGPROF, on_signal);
        return;
    }
    for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
        signal(deadly[i], on_signal);
}

/* Integers at which sizes, counts and signs break. */
static uint64_t odd_integer(uint64_t *state)
{
    uint64_t power = (uint64_t)1 << fuzz_random(state) % 64;

    return power + fuzz_random(state) % 3 - 1;
}

static size_t mutate_in_place(uint8_t *data, size_t size, uint64_t *state)
{
    size_t at = fuzz_random(state) % size, room = size - at;
    uint64_t odd = odd_integer(state);

    switch (fuzz_random(state) % 4) {
    case 0:
        data[at] ^= (uint8_t)(1U << fuzz_random(state) % 8);
        break;
    case 1:
        data[at] = (uint8_t)fuzz_random(state);
        break;
    case 2:
        memcpy(data + at, &odd, room < sizeof(odd) ? room : sizeof(odd));
        break;
    default:
        memset(data + at, (int)fuzz_random(state),
               fuzz_random(state) % (room < 64 ? room + 1 : 64));
    }
    return size;
}

/* Takes a piece out, or puts a copy of one in. */
static size_t mutate_size(uint8_t *data, size_t size, size_t capacity, uint64_t *state)
{
    size_t at = fuzz_random(state) % size;
    size_t length = 1 + fuzz_random(state) % (size - at);

    if (fuzz_random(state) % 4 == 0)
        return at > 0 ? at : size; /* cut */
    if (fuzz_random(state) % 2 == 0 && length < size) {
        memmove(data + at, data + at + length, size - at - length);
        return size - length;
    }
    if (length > capacity - size)
        length = capacity - size;
    memmove(data + at + length, data + at, size - at);
    return size + length;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity)
{
    if (size == 0) {
        data[0] = (uint8_t)fuzz_random(&mutation_state);
        return 1;
    }
    if (fuzz_random(&mutation_state) % 8 == 0)
        return mutate_size(data, size, capacity, &mutation_state);
    return mutate_in_place(data, size, &mutation_state);
}

static void run_file(const char *path, uint8_t *data)
{
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL) {
        fprintf(stderr, "fuzz: %s cannot be read\n", path);
        exit(2);
    }
    size = fread(data, 1, INPUT_MAX, file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
}

static double processor_seconds(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Time is measured as the processor's, too: on a busy machine a minute may pass before a run
 * begins. */
static void limit_time(time_t processor, unsigned wall)
{
    const struct itimerval timer = {.it_value = {.tv_sec = processor}};

    setitimer(ITIMER_PROF, &timer, NULL);
    alarm(wall);
}

/* Exact bounds, so that reading behind the input shows. */
static void feed(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);
    double start = processor_seconds(), seconds;

    if (exact == NULL)
        exit(2);
    memcpy(exact, data, size);
    limit_time(RUN_SECONDS_MAX, WALL_SECONDS_MAX);
    LLVMFuzzerTestOneInput(exact, size);
    limit_time(0, 0);
    seconds = processor_seconds() - start;
    if (seconds > slow_seconds) {
        fprintf(stderr, "fuzz: %.2f s: ", seconds);
        name_run();
    }
    free(exact);
}

static void run_number(uint64_t run, uint64_t seed, size_t seed_count, uint8_t *data)
{
    uint64_t state = seed * 0x9e3779b97f4a7c15U + run;
    size_t size = fuzz_seed(fuzz_random(&state) % seed_count, data, INPUT_MAX);

    current_run = run;
    mutation_state = fuzz_random(&state);
    for (uint64_t i = fuzz_random(&state) % MUTATIONS_MAX; i > 0; i--)
        size = LLVMFuzzerCustomMutator(data, size, INPUT_MAX, (unsigned)fuzz_random(&state));
    feed(data, size);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"runs", required_argument, NULL, 'r'},
                                            {"first", required_argument, NULL, 'f'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"slow", required_argument, NULL, 'l'},
                                            {NULL, 0, NULL, 0}};
    uint8_t *data = malloc(INPUT_MAX);
    uint64_t runs = 1000, first = 0, seed = 1;
    struct rusage usage;
    size_t seeds = 0;

    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == '?' || optarg == NULL)
            return 2;
        if (option == 'l') {
            slow_seconds = strtod(optarg, NULL);
            continue;
        }
        *(option == 'r' ? &runs : (option == 'f' ? &first : &seed)) = strtoull(optarg, NULL, 10);
    }
    if (data == NULL)
        return 2;
    current_seed = seed;
    watch();
    for (int i = optind; i < argc; i++)
        run_file(argv[i], data);
    while (fuzz_seed(seeds, data, INPUT_MAX) > 0)
        seeds++;
    for (uint64_t i = first; seeds > 0 && i < first + runs; i++)
        run_number(i, seed, seeds, data);
    getrusage(RUSAGE_SELF, &usage);
    printf("%" PRIu64 " runs from %zu seeds, %ld MB at most\n", runs, seeds,
           usage.ru_maxrss / 1024);
    free(data);
    return seeds > 0 ? 0 : 1;
}
