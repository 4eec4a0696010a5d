/* One owner at a time; see claim.h. */
#include "core/claim.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/partial.h"
#include "core/process.h"
#include "core/time.h"

enum { FIELD_SIZE = 96, OWNER_SIZE = 2048 };

/* Who owns a file, as its owner file says. */
struct owner {
    char program[FIELD_SIZE], host[FIELD_SIZE], where[FIELD_SIZE], since[FIELD_SIZE];
    char job[FIELD_SIZE]; /* of Slurm; "": none */
    long long restart;    /* how often Slurm has started the job again */
    long long pid, born; /* born: clock ticks after the boot, so that a PID used again is another */
};

struct pb_claim {
    char target[PATH_MAX];
    unsigned long long number;
    struct owner owner;
    char own_file[PATH_MAX];
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_ending;
};

/* ---- who we are ---- */

static void describe_self(const char *program, struct owner *owner)
{
    const char *job = getenv("SLURM_JOB_ID"), *restart = getenv("SLURM_RESTART_COUNT");
    char utc[PB_UTC_LENGTH];

    memset(owner, 0, sizeof(*owner));
    snprintf(owner->program, sizeof(owner->program), "%s", program);
    if (gethostname(owner->host, sizeof(owner->host) - 1) != 0)
        owner->host[0] = '\0';
    pb_partial_where(owner->where);
    pb_time_utc(utc);
    snprintf(owner->since, sizeof(owner->since), "%s", utc);
    snprintf(owner->job, sizeof(owner->job), "%s", job == NULL ? "" : job);
    owner->restart = restart == NULL ? 0 : strtoll(restart, NULL, 10);
    owner->pid = getpid();
    owner->born = pb_process_born(owner->pid);
}

static bool is_same(const struct owner *a, const struct owner *b)
{
    return a->pid == b->pid && a->born == b->born && strcmp(a->host, b->host) == 0 &&
           strcmp(a->where, b->where) == 0 && strcmp(a->since, b->since) == 0;
}

/* ---- owner files ---- */

static bool name_owner_file(const char *target, unsigned long long number, char name_out[PATH_MAX])
{
    int folder = pb_folder_length(target);
    int length =
        snprintf(name_out, PATH_MAX, "%.*s.%s.owner-%llu", folder, target, target + folder, number);

    return length > 0 && length < PATH_MAX;
}

/*
 * The highest number of an owner file below `limit`; 0: there is none. Without a limit that is the
 * owner's.
 */
static unsigned long long highest_number(const char *target, unsigned long long limit)
{
    int folder = pb_folder_length(target);
    char start[PATH_MAX], name[PATH_MAX];
    unsigned long long highest = 0;
    const struct dirent *entry;
    DIR *entries;
    int length = snprintf(start, sizeof(start), ".%s.owner-", target + folder);

    snprintf(name, sizeof(name), "%.*s", folder, target);
    entries = length < PATH_MAX ? opendir(folder == 0 ? "." : name) : NULL;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        const char *digits = entry->d_name + length;
        unsigned long long number;
        char *end;

        if (strncmp(entry->d_name, start, (size_t)length) != 0 || *digits < '1' || *digits > '9')
            continue;
        number = strtoull(digits, &end, 10);
        if (*end == '\0' && number < limit && number > highest)
            highest = number;
    }
    if (entries != NULL)
        closedir(entries);
    return highest;
}

/* One "NAME VALUE" a line. */
static int encode(const struct owner *owner, char text_out[OWNER_SIZE])
{
    return snprintf(text_out, OWNER_SIZE,
                    "program %s\nhost %s\nwhere %s\nsince %s\njob %s\nrestart %lld\npid %lld\n"
                    "born %lld\n",
                    owner->program, owner->host, owner->where, owner->since, owner->job,
                    owner->restart, owner->pid, owner->born);
}

/* The value of a line, cut to fit; empty where there is no such line. */
static void read_text(const char *text, const char *name, char value_out[FIELD_SIZE])
{
    size_t length = strlen(name);

    value_out[0] = '\0';
    for (const char *line = text; *line != '\0'; line += *line == '\n') {
        size_t end = strcspn(line, "\n");

        if (end > length && strncmp(line, name, length) == 0 && line[length] == ' ')
            snprintf(value_out, FIELD_SIZE, "%.*s", (int)(end - length - 1), line + length + 1);
        line += end;
    }
    for (char *at = value_out; *at != '\0'; at++) /* it may be shown on a terminal */
        if (*at < ' ' || *at > '~')
            *at = '?';
}

static long long read_number(const char *text, const char *name)
{
    char value[FIELD_SIZE];

    read_text(text, name, value);
    return strtoll(value, NULL, 10);
}

static void decode(const char *text, struct owner *owner)
{
    read_text(text, "program", owner->program);
    read_text(text, "host", owner->host);
    read_text(text, "where", owner->where);
    read_text(text, "since", owner->since);
    read_text(text, "job", owner->job);
    owner->restart = read_number(text, "restart");
    owner->pid = read_number(text, "pid");
    owner->born = read_number(text, "born");
}

/*
 * What an owner file says, and when it was last renewed; false: there is none. One that cannot be
 * read belongs to no known process: its host is empty.
 */
static bool read_owner(const char *name, struct owner *owner_out, struct timespec *renewed_out)
{
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char text[OWNER_SIZE];
    struct stat about;
    ssize_t length;

    memset(owner_out, 0, sizeof(*owner_out));
    if (renewed_out != NULL)
        *renewed_out = (struct timespec){0};
    if (fd < 0)
        return errno != ENOENT && errno != ESTALE;
    length = fstat(fd, &about) == 0 ? read(fd, text, sizeof(text) - 1) : -1;
    close(fd);
    text[length < 0 ? 0 : length] = '\0';
    decode(text, owner_out);
    if (renewed_out != NULL && length >= 0)
        *renewed_out = about.st_mtim;
    return true;
}

/* ---- is it alive? ---- */

/* Slurm starts a job again only after it has given up the start before. */
static bool is_superseded(const struct owner *owner, const struct owner *self)
{
    return owner->job[0] != '\0' && strcmp(owner->job, self->job) == 0 &&
           owner->restart < self->restart;
}

/* Watches the owner file for as long as a living owner would need to renew it. */
static bool is_renewed(const char *name, struct timespec before)
{
    double begun = pb_time_monotonic_seconds();
    struct timespec now = before;
    struct owner owner;

    while (pb_time_monotonic_seconds() - begun < PB_CLAIM_SILENCE_SECONDS) {
        pb_time_sleep_seconds(0.25);
        if (!read_owner(name, &owner, &now))
            return false;
        if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec)
            return true;
    }
    return false;
}

static bool is_alive(const char *name, const struct owner *owner, struct timespec renewed,
                     const struct owner *self)
{
    if (is_superseded(owner, self))
        return false;
    if (self->where[0] != '\0' && strcmp(owner->where, self->where) == 0)
        return owner->pid > 0 && pb_process_born(owner->pid) == owner->born;
    return is_renewed(name, renewed);
}

static enum pb_status refuse(const char *target, const struct owner *owner, const char *verb,
                             struct pb_error *err)
{
    bool has_job = owner->job[0] != '\0';

    if (owner->host[0] == '\0')
        return pb_fail(err, PB_EXISTS, "%s: %s another process, whose owner file cannot be read",
                       target, verb);
    return pb_fail(err, PB_EXISTS, "%s: %s %s, process %lld on %s since %s%s%s", target, verb,
                   owner->program, owner->pid, owner->host, owner->since,
                   has_job ? ", Slurm job " : "", owner->job);
}

/* ---- taking it ---- */

/* Creates a file with the text, exclusively; false: errno says why. */
static bool create_with(const char *name, const char *text, int length)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666), cause;
    bool good = fd >= 0 && write(fd, text, (size_t)length) == length;

    cause = errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !good)
        unlink(name);
    errno = cause;
    return good;
}

/* Gives the file `whole` its other name, where it appears whole; NFS may lose the answer. */
static bool link_whole(const char *whole, const char *name, const char *text, int length)
{
    struct stat about;
    int cause;

    if (link(whole, name) == 0)
        return true;
    cause = errno;
    if (stat(whole, &about) == 0 && about.st_nlink == 2)
        return true;
    if (cause == EPERM || cause == EOPNOTSUPP || cause == ENOSYS || cause == EMLINK)
        return create_with(name, text, length); /* a file system without links */
    errno = cause;
    return false;
}

/* Writes the owner file under a name of its own and links it: PB_EXISTS when it was taken. */
static enum pb_status place_owner(const struct pb_claim *claim, struct pb_error *err)
{
    char text[OWNER_SIZE];
    int length = encode(&claim->owner, text);
    struct pb_partial partial;
    enum pb_status status = pb_partial_prepare(claim->own_file, &partial, err);

    if (status != PB_OK)
        return status;
    if (!create_with(partial.name, text, length))
        status =
            pb_fail(err, errno == ENOSPC || errno == EFBIG || errno == EDQUOT ? PB_IO : PB_INVALID,
                    "%s: cannot be written: %s", claim->target, strerror(errno));
    else if (!link_whole(partial.name, claim->own_file, text, length))
        status = errno == EEXIST ? PB_EXISTS
                                 : pb_fail(err, PB_IO, "%s: cannot be claimed: %s", claim->target,
                                           strerror(errno));
    pb_partial_discard(&partial);
    return status;
}

/*
 * Removes the files of all earlier owners, who must not take themselves for the owner any more: one
 * that was killed while it took over has left two names of its own and its predecessor's file.
 */
static void remove_superseded(const struct pb_claim *claim)
{
    unsigned long long number = claim->number;
    struct pb_partial partial;
    char name[PATH_MAX];

    while ((number = highest_number(claim->target, number)) > 0 &&
           name_owner_file(claim->target, number, name)) {
        pb_partial_prepare(name, &partial, NULL); /* removes what a dead process has left of it */
        unlink(name);
    }
}

/* One try; PB_NOT_FOUND: another was faster, or the owner is gone meanwhile: try again. */
static enum pb_status try_to_take(struct pb_claim *claim, struct pb_error *err)
{
    unsigned long long highest = highest_number(claim->target, ULLONG_MAX);
    char name[PATH_MAX];
    struct timespec renewed;
    struct owner owner;
    enum pb_status status;

    if (highest > 0) {
        if (!name_owner_file(claim->target, highest, name) || !read_owner(name, &owner, &renewed))
            return PB_NOT_FOUND;
        if (is_alive(name, &owner, renewed, &claim->owner))
            return refuse(claim->target, &owner, "is being written by", err);
    }
    claim->number = highest + 1;
    if (!name_owner_file(claim->target, claim->number, claim->own_file))
        return pb_fail(err, PB_INVALID, "%s: the name is too long", claim->target);
    status = place_owner(claim, err);
    if (status == PB_EXISTS)
        return PB_NOT_FOUND;
    if (status == PB_OK && highest_number(claim->target, ULLONG_MAX) == claim->number)
        remove_superseded(claim);
    return status;
}

/* ---- keeping it ---- */

static void *keep_alive(void *context)
{
    struct pb_claim *claim = context;
    struct timespec until;

    pthread_mutex_lock(&claim->lock);
    while (!claim->is_ending) {
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += PB_CLAIM_BEAT_SECONDS;
        pthread_cond_timedwait(&claim->changed, &claim->lock, &until);
        if (!claim->is_ending)
            utimensat(AT_FDCWD, claim->own_file, NULL, AT_SYMLINK_NOFOLLOW);
    }
    pthread_mutex_unlock(&claim->lock);
    return NULL;
}

/* Signals are for the program's own thread. */
static bool start_thread(struct pb_claim *claim)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&claim->thread, NULL, keep_alive, claim);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    claim->has_thread = error == 0;
    return claim->has_thread;
}

enum pb_status pb_claim_take(const char *path, const char *program, struct pb_claim **claim_out,
                             struct pb_error *err)
{
    struct pb_claim *claim = calloc(1, sizeof(*claim));
    pthread_condattr_t steady;
    struct pb_partial partial;
    enum pb_status status = PB_NOT_FOUND;

    if (claim == NULL)
        return pb_fail(err, PB_NO_MEMORY, "%s: out of memory claiming it", path);
    pthread_mutex_init(&claim->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&claim->changed, &steady);
    pthread_condattr_destroy(&steady);
    describe_self(program, &claim->owner);
    if (pb_partial_prepare(path, &partial, err) != PB_OK)
        status = PB_INVALID;
    else
        snprintf(claim->target, sizeof(claim->target), "%s", partial.target);
    while (status == PB_NOT_FOUND)
        status = try_to_take(claim, err);
    if (status != PB_OK)
        claim->own_file[0] = '\0'; /* nothing of ours */
    else if (!start_thread(claim))
        status = pb_fail(err, PB_NO_MEMORY, "%s: no thread to renew the claim", path);
    if (status != PB_OK) {
        pb_claim_release(claim);
        return status;
    }
    *claim_out = claim;
    return PB_OK;
}

static bool folder_is_there(const char *target)
{
    char folder[PATH_MAX];

    snprintf(folder, sizeof(folder), "%.*s", pb_folder_length(target), target);
    return access(folder[0] == '\0' ? "." : folder, F_OK) == 0;
}

enum pb_status pb_claim_check(const struct pb_claim *claim, struct pb_error *err)
{
    char name[PATH_MAX];
    struct owner owner = {.pid = 0};

    if (claim == NULL)
        return PB_OK;
    if (name_owner_file(claim->target, claim->number + 1, name) && read_owner(name, &owner, NULL))
        return refuse(claim->target, &owner, "was taken over by", err);
    if (!read_owner(claim->own_file, &owner, NULL) && !folder_is_there(claim->target))
        return PB_OK; /* no process can own anything there; what is written there will fail */
    if (!read_owner(claim->own_file, &owner, NULL))
        return pb_fail(err, PB_EXISTS, "%s: was taken over by another process, which has ended",
                       claim->target);
    return is_same(&owner, &claim->owner) ? PB_OK
                                          : refuse(claim->target, &owner, "was taken over by", err);
}

void pb_claim_release(struct pb_claim *claim)
{
    if (claim == NULL)
        return;
    if (claim->has_thread) {
        pthread_mutex_lock(&claim->lock);
        claim->is_ending = true;
        pthread_cond_signal(&claim->changed);
        pthread_mutex_unlock(&claim->lock);
        pthread_join(claim->thread, NULL);
    }
    if (claim->own_file[0] != '\0' && pb_claim_check(claim, NULL) == PB_OK)
        unlink(claim->own_file);
    pthread_cond_destroy(&claim->changed);
    pthread_mutex_destroy(&claim->lock);
    free(claim);
}
