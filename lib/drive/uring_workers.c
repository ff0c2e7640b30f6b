/* Called by block_events.c, which has the event recorded beside those of requests. The kernel tells
 * of all processes: ours are those of the owner's threads.
 */
#include "lib/drive/uring_workers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* enum io_uring_op in the kernel's interface. */
enum {
    OP_READV = 1,
    OP_WRITEV = 2,
    OP_READ_FIXED = 4,
    OP_WRITE_FIXED = 5,
    OP_READ = 22,
    OP_WRITE = 23
};

/* The namespace of process numbers that events use. Its inode is a constant of the kernel
 * (include/linux/proc_ns.h, PROC_PID_INIT_INO). */
static bool in_first_namespace(void)
{
    static const char first[] = "pid:[4026531836]";
    char name[sizeof(first) + 1];
    ssize_t n = readlink("/proc/self/ns/pid", name, sizeof(name));

    return n == (ssize_t)strlen(first) && memcmp(name, first, (size_t)n) == 0;
}

int uring_workers_learn(struct uring_workers *w, pid_t owner, const char *format)
{
    *w = (struct uring_workers){.owner = owner};
    int rc = event_format_id(format, &w->id);
    if (rc == 0)
        rc = event_format_field(format, "common_pid", &w->pid);
    if (rc == 0)
        rc = event_format_field(format, "opcode", &w->opcode);
    return rc < 0 || in_first_namespace() ? rc : -EXDEV;
}

static bool is_owners(struct uring_workers *w, uint64_t tid)
{
    char path[64];

    for (unsigned i = 0; i < w->threads; i++)
        if (w->thread[i] == tid)
            return true;
    snprintf(path, sizeof(path), "/proc/%d/task/%llu", (int)w->owner, (unsigned long long)tid);
    if (access(path, F_OK) < 0)
        return false;
    if (w->threads < URING_WORKERS_THREADS)
        w->thread[w->threads++] = tid;
    return true;
}

int uring_workers_take(struct uring_workers *w, const void *event, size_t len)
{
    uint64_t tid, opcode;

    if (event_field_get(&w->pid, event, len, &tid) < 0 ||
        event_field_get(&w->opcode, event, len, &opcode) < 0)
        return -EINVAL;
    if (!is_owners(w, tid))
        return URING_GIVEN_NOT_OURS;
    switch (opcode) {
    case OP_READV:
    case OP_READ:
    case OP_READ_FIXED:
        return URING_GIVEN_READ;
    case OP_WRITEV:
    case OP_WRITE:
    case OP_WRITE_FIXED:
        return URING_GIVEN_WRITE;
    default:
        return URING_GIVEN_CALL;
    }
}
