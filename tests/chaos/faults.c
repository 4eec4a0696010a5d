/*
 * Preloaded into a program: makes one call of a kind fail, or cuts the power before it.
 *
 *   PLUMB_FAULT_CALL   allocate, open, read, write, sync, name (rename, link, mkdir), mpi, or any
 *                      (of open, write, sync and name)
 *   PLUMB_FAULT_AT     which of them, from 1; 0: none
 *   PLUMB_FAULT_MODE   once: that call fails; on: it and all that follow, as on a full disk;
 *                      cut: the process ends there, and what was not synced is gone
 *   PLUMB_FAULT_COUNT  a file to which the rank and the number of such calls are appended at the
 *                      end
 *   PLUMB_FAULT_DISK   with cut: a folder that gets what a disk would hold, see below
 *   PLUMB_FAULT_NAME   only in programs of this name, since launchers and probes inherit all this
 *   PLUMB_FAULT_RANK   only in this rank of a job; empty: in all of them
 *
 * Only files of the working directory and below count, and allocations by the program's own code:
 * what HDF5 does without memory is not plumb's. The disk: the content of a file is what it was when
 * it was last synced, the names of a folder those it had when the folder was last synced.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum mode { MODE_ONCE, MODE_ON, MODE_CUT };

static struct {
    bool is_chosen, is_active; /* this program; and its main() runs */
    char call[16], home[PATH_MAX], disk[PATH_MAX], count[PATH_MAX];
    char rank[16]; /* of this process, as mpirun says; empty without it */
    long at;
    enum mode mode;
    uintptr_t text_begin, text_end; /* of the program itself */
} fault;

static atomic_long calls;
static _Thread_local int inside; /* the shim's own calls do not count */

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* ---- setting up ---- */

static int find_text(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];

        if (header->p_type != PT_LOAD || (header->p_flags & PF_X) == 0)
            continue;
        fault.text_begin = info->dlpi_addr + header->p_vaddr;
        fault.text_end = fault.text_begin + header->p_memsz;
    }
    return 1; /* the first object is the program */
}

static void keep(const char *name, char *field, size_t size)
{
    const char *value = getenv(name);

    snprintf(field, size, "%s", value == NULL ? "" : value);
}

__attribute__((constructor)) static void begin(void)
{
    char mode[16], at[32], name[64], rank[16];

    keep("PLUMB_FAULT_NAME", name, sizeof(name));
    keep("PLUMB_FAULT_RANK", rank, sizeof(rank));
    keep("OMPI_COMM_WORLD_RANK", fault.rank, sizeof(fault.rank));
    if (name[0] == '\0' || strcmp(name, program_invocation_short_name) != 0)
        return;
    if (rank[0] != '\0' && strcmp(rank, fault.rank) != 0)
        return;
    keep("PLUMB_FAULT_CALL", fault.call, sizeof(fault.call));
    keep("PLUMB_FAULT_AT", at, sizeof(at));
    keep("PLUMB_FAULT_MODE", mode, sizeof(mode));
    keep("PLUMB_FAULT_COUNT", fault.count, sizeof(fault.count));
    keep("PLUMB_FAULT_DISK", fault.disk, sizeof(fault.disk));
    fault.at = strtol(at, NULL, 10);
    fault.mode = strcmp(mode, "cut") == 0  ? MODE_CUT
                 : strcmp(mode, "on") == 0 ? MODE_ON
                                           : MODE_ONCE;
    if (getcwd(fault.home, sizeof(fault.home)) == NULL)
        return;
    dl_iterate_phdr(find_text, NULL);
    fault.is_chosen = true;
}

static int (*real_main)(int, char **, char **);

static int main_with_faults(int argc, char **argv, char **environment)
{
    fault.is_active = fault.is_chosen;
    return real_main(argc, argv, environment);
}

/* Calls count from main() on: a static CUDA runtime starts before it and survives no failure. */
int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv,
                      void (*start)(void), void (*finish)(void), void (*unload)(void), void *stack);
int __libc_start_main(int (*program)(int, char **, char **), int argc, char **argv,
                      void (*start)(void), void (*finish)(void), void (*unload)(void), void *stack)
{
    __typeof__(&__libc_start_main) start_main;

    *(void **)&start_main = dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = program;
    return start_main(main_with_faults, argc, argv, start, finish, unload, stack);
}

__attribute__((destructor)) static void end(void)
{
    FILE *file;

    if (!fault.is_active || fault.count[0] == '\0')
        return;
    inside++;
    file = fopen(fault.count, "a");
    if (file != NULL) {
        fprintf(file, "%s %ld\n", fault.rank[0] == '\0' ? "0" : fault.rank, atomic_load(&calls));
        fclose(file);
    }
    inside--;
}

/* ---- whose turn it is ---- */

static bool is_kind(const char *kind)
{
    return fault.is_active && inside == 0 &&
           (strcmp(fault.call, kind) == 0 ||
            (strcmp(fault.call, "any") == 0 && strcmp(kind, "read") != 0 &&
             strcmp(kind, "allocate") != 0 && strcmp(kind, "mpi") != 0));
}

/* Is this call to fail? A cut does not return. */
static bool fails(const char *kind)
{
    long number;

    if (!is_kind(kind))
        return false;
    number = atomic_fetch_add(&calls, 1) + 1;
    if (fault.at == 0 || number < fault.at || (number > fault.at && fault.mode == MODE_ONCE))
        return false;
    if (fault.mode == MODE_CUT)
        syscall(SYS_kill, getpid(), SIGKILL);
    return true;
}

static bool is_below_home(const char *path)
{
    size_t length = strlen(fault.home);

    return strncmp(path, fault.home, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, PATH_MAX - 1);
    if (length < 0)
        return false;
    path[length] = '\0';
    return true;
}

/* A file or folder of the working directory. */
static bool is_ours(int fd)
{
    char path[PATH_MAX];

    return fault.is_active && inside == 0 && path_of(fd, path) && is_below_home(path);
}

static bool is_our_path(const char *path)
{
    return fault.is_active && inside == 0 && (path[0] != '/' || is_below_home(path));
}

/* ---- the disk ---- */

static void name_content(uint64_t inode, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.3000s/inode-%llu", fault.disk, (unsigned long long)inode);
}

/* Keeps what is in the file now. */
static void sync_content(int fd)
{
    char path[PATH_MAX], buffer[1 << 16];
    struct stat about;
    ssize_t got;
    off_t at = 0;
    int to;

    if (fault.disk[0] == '\0' || fstat(fd, &about) != 0)
        return;
    inside++;
    name_content(about.st_ino, path);
    to = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0);
    while ((got = syscall(SYS_pread64, fd, buffer, sizeof(buffer), at)) > 0) {
        syscall(SYS_write, to, buffer, (size_t)got);
        at += got;
    }
    syscall(SYS_close, fd);
    syscall(SYS_close, to);
    inside--;
}

/* Keeps the names that are in the folder now: "NAME INODE" a line; folders end with a slash. */
static void sync_names(const char *folder)
{
    char path[PATH_MAX], item[2 * PATH_MAX];
    const struct dirent *entry;
    struct stat about;
    DIR *entries;
    FILE *list;

    if (fault.disk[0] == '\0')
        return;
    inside++;
    snprintf(path, sizeof(path), "%.3000s/names%s", fault.disk, folder + strlen(fault.home));
    for (char *at = path + strlen(fault.disk) + 1; *at != '\0'; at++)
        if (*at == '/')
            *at = '+';
    list = fopen(path, "w");
    entries = opendir(folder);
    while (list != NULL && entries != NULL && (entry = readdir(entries)) != NULL) {
        snprintf(item, sizeof(item), "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' || entry->d_name[1] != '\0')
            if (strcmp(entry->d_name, "..") != 0 && lstat(item, &about) == 0)
                fprintf(list, "%llu %s%s\n", (unsigned long long)about.st_ino, entry->d_name,
                        S_ISDIR(about.st_mode) ? "/" : "");
    }
    if (entries != NULL)
        closedir(entries);
    if (list != NULL)
        fclose(list);
    inside--;
}

/* ---- files ---- */

static int open_file(const char *path, int flags, mode_t mode)
{
    struct stat about;
    char content[PATH_MAX];
    int fd;

    if ((flags & O_CREAT) != 0 && is_our_path(path) && fails("open")) {
        errno = ENOSPC;
        return -1;
    }
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd >= 0 && (flags & O_CREAT) != 0 && fault.disk[0] != '\0' && is_ours(fd) &&
        fstat(fd, &about) == 0 && about.st_size == 0) { /* a number that is used again */
        name_content(about.st_ino, content);
        unlink(content);
    }
    return fd;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    va_start(arguments, flags);
    if ((flags & (O_CREAT | O_TMPFILE)) != 0)
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return open_file(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    va_start(arguments, flags);
    if ((flags & (O_CREAT | O_TMPFILE)) != 0)
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return open_file(path, flags, mode);
}

static bool write_fails(int fd)
{
    if (!is_ours(fd) || !fails("write"))
        return false;
    errno = ENOSPC;
    return true;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (write_fails(fd)) /* half of it arrives, as on a disk that is nearly full */
        return size > 1 ? syscall(SYS_write, fd, bytes, size / 2), -1 : -1;
    return syscall(SYS_write, fd, bytes, size);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    return write_fails(fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    return write_fails(fd) ? -1 : syscall(SYS_pwrite64, fd, bytes, size, at);
}

static bool read_fails(int fd)
{
    if (!is_ours(fd) || !fails("read"))
        return false;
    errno = EIO;
    return true;
}

ssize_t read(int fd, void *bytes, size_t size)
{
    return read_fails(fd) ? -1 : syscall(SYS_read, fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
    return read_fails(fd) ? -1 : syscall(SYS_pread64, fd, bytes, size, at);
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t at)
{
    return read_fails(fd) ? -1 : syscall(SYS_pread64, fd, bytes, size, at);
}

static int sync_file(int fd, long number)
{
    char path[PATH_MAX];
    struct stat about;
    long result;

    if (!is_ours(fd))
        return (int)syscall(number, fd);
    if (fails("sync")) {
        errno = EIO;
        return -1;
    }
    result = syscall(number, fd);
    if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode) && path_of(fd, path))
        sync_names(path);
    else
        sync_content(fd);
    return (int)result;
}

int fsync(int fd)
{
    return sync_file(fd, SYS_fsync);
}

int fdatasync(int fd)
{
    return sync_file(fd, SYS_fdatasync);
}

int ftruncate(int fd, off_t size)
{
    if (write_fails(fd))
        return -1;
    return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    return ftruncate(fd, size);
}

/* ---- names ---- */

static bool name_fails(const char *path)
{
    if (!is_our_path(path) || !fails("name"))
        return false;
    errno = EIO;
    return true;
}

int rename(const char *from, const char *to)
{
    return name_fails(from) ? -1 : (int)syscall(SYS_rename, from, to);
}

int link(const char *from, const char *to)
{
    return name_fails(from) ? -1 : (int)syscall(SYS_link, from, to);
}

int mkdir(const char *path, mode_t mode)
{
    return name_fails(path) ? -1 : (int)syscall(SYS_mkdir, path, mode);
}

/* ---- memory ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static bool allocation_fails(const void *caller)
{
    uintptr_t at = (uintptr_t)caller;

    if (!fault.is_active || at < fault.text_begin || at >= fault.text_end || !fails("allocate"))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return allocation_fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

char *strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = allocation_fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);

    return copy == NULL ? NULL : memcpy(copy, text, size);
}

/* ---- MPI: an error ends all ranks, as its default handler does ---- */

#pragma GCC diagnostic ignored "-Wpedantic" /* functions by name come as objects */

#define MPI_CALL(name, parameters, arguments)                                                      \
    int name parameters;                                                                           \
    int name parameters                                                                            \
    {                                                                                              \
        if (fails("mpi"))                                                                          \
            ((int (*)(void *, int))real("MPI_Abort"))(dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"),  \
                                                      15);                                         \
        return ((int(*) parameters)real(#name))arguments;                                          \
    }

MPI_CALL(MPI_Init, (void *a, void *b), (a, b))
MPI_CALL(MPI_Comm_split_type, (void *a, int b, int c, void *d, void *e), (a, b, c, d, e))
MPI_CALL(MPI_Comm_split, (void *a, int b, int c, void *d), (a, b, c, d))
MPI_CALL(MPI_Comm_free, (void *a), (a))
MPI_CALL(MPI_Allgather, (void *a, int b, void *c, void *d, int e, void *f, void *g),
         (a, b, c, d, e, f, g))
MPI_CALL(MPI_Igather, (void *a, int b, void *c, void *d, int e, void *f, int g, void *h, void *i),
         (a, b, c, d, e, f, g, h, i))
MPI_CALL(MPI_Iscatter, (void *a, int b, void *c, void *d, int e, void *f, int g, void *h, void *i),
         (a, b, c, d, e, f, g, h, i))
MPI_CALL(MPI_Ibcast, (void *a, int b, void *c, int d, void *e, void *f), (a, b, c, d, e, f))
MPI_CALL(MPI_Iallreduce, (void *a, void *b, int c, void *d, void *e, void *f, void *g),
         (a, b, c, d, e, f, g))
MPI_CALL(MPI_Ibarrier, (void *a, void *b), (a, b))
MPI_CALL(MPI_Bcast, (void *a, int b, void *c, int d, void *e), (a, b, c, d, e))
MPI_CALL(MPI_Issend, (void *a, int b, void *c, int d, int e, void *f, void *g),
         (a, b, c, d, e, f, g))
MPI_CALL(MPI_Isend, (void *a, int b, void *c, int d, int e, void *f, void *g),
         (a, b, c, d, e, f, g))
MPI_CALL(MPI_Recv, (void *a, int b, void *c, int d, int e, void *f, void *g), (a, b, c, d, e, f, g))
MPI_CALL(MPI_Irecv, (void *a, int b, void *c, int d, int e, void *f, void *g),
         (a, b, c, d, e, f, g))
MPI_CALL(MPI_Finalize, (void), ())
