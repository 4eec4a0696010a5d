/* Starting, ordering and ending a child process; see child.h. */
#include "run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/frame.h"

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The child gets default signals, of which its parent's stop is blocked, and its pipes' ends. */
static int spawn(const char *const *argv, int orders_fd, int frames_fd, pid_t *pid_out)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t blocked, usual;
    int result;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, orders_fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, frames_fd, PB_CHILD_FRAMES_FD);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &blocked);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    result = posix_spawn(pid_out, argv[0], &files, &attributes, (char *const *)argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return result;
}

enum pb_status pb_child_start(const char *const *argv, struct pb_child *child_out,
                              struct pb_error *err)
{
    int orders[2] = {-1, -1}, frames[2] = {-1, -1}, result;
    enum pb_status status = PB_OK;
    pid_t pid = 0;

    if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(frames, O_CLOEXEC) != 0 ||
        fcntl(frames[0], F_SETFL, O_NONBLOCK) != 0) {
        status = pb_fail(err, PB_IO, "%s: no pipe to it: %s", argv[0], strerror(errno));
        goto out;
    }
    result = spawn(argv, orders[0], frames[1], &pid);
    if (result != 0) {
        status = pb_fail(err, result == ENOENT || result == EACCES ? PB_INVALID : PB_IO,
                         "%s: cannot be started: %s", argv[0], strerror(result));
        goto out;
    }
    *child_out = (struct pb_child){.pid = pid, .orders_fd = orders[1], .frames_fd = frames[0]};
    orders[1] = frames[0] = -1;
out:
    for (int i = 0; i < 2; i++) {
        close_fd(&orders[i]);
        close_fd(&frames[i]);
    }
    return status;
}

enum pb_status pb_child_order(struct pb_child *child, const char *line, struct pb_error *err)
{
    enum pb_status status = pb_write_all(child->orders_fd, line, strlen(line), err);

    return status == PB_OK ? pb_write_all(child->orders_fd, "\n", 1, err) : status;
}

void pb_child_close_orders(struct pb_child *child)
{
    close_fd(&child->orders_fd);
}

void pb_child_kill(struct pb_child *child)
{
    if (child->pid > 0)
        kill(child->pid, SIGKILL);
}

bool pb_child_reap(struct pb_child *child)
{
    int wait_status = 0;
    pid_t got;

    if (child->pid <= 0)
        return true;
    got = waitpid(child->pid, &wait_status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    child->wait_status = wait_status;
    child->pid = 0;
    return true;
}

void pb_child_ending(const struct pb_child *child, char *text, size_t size)
{
    int status = child->wait_status;

    if (WIFSIGNALED(status))
        snprintf(text, size, "died of signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "ended with exit status %d", WEXITSTATUS(status));
}

void pb_child_clear(struct pb_child *child)
{
    if (child == NULL)
        return;
    if (!pb_child_reap(child))
        pb_child_kill(child);
    pb_child_reap(child);
    close_fd(&child->orders_fd);
    close_fd(&child->frames_fd);
    child->pid = 0;
}
