/* Reads what the kernel records of requests, once every few milliseconds, and puts the buffers of
 * all processors in order of time: a request is issued on one and often completed on another.
 * Sources: Documentation/trace/ftrace.rst ("instances", "per_cpu/cpu0/trace_pipe_raw") and
 * events.rst.
 */
#include "kvreplay/device/block_trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kvreplay/device/ring_page.h"
#include "lib/base/clock.h"
#include "lib/base/memory.h"
#include "lib/base/thread.h"

enum {
    TRACE_TEXT = 16384,
    TRACE_PATH = 256,
    TRACE_CPUS = 1024,
    TRACE_PAGE_MAX = 1 << 20,
    TRACE_LOOK_NS = 20000000, /* between two looks at the buffers */
    WAITING_FIRST = 4096,     /* events */
    TRACE_LATE_NS = 1000000   /* an event has its time a little before it can be read */
};
#define TRACE_BUFFER_KIB "4096" /* of each processor: 0.3 s of 60,000 requests a second */

/* The fields that are wanted of an event. */
struct event_kind {
    const char *name;
    enum request_event_kind kind;
    uint16_t id;
    struct event_field device, sector, sectors, what;
};

/* io_uring_queue_async_work: io_uring gives an I/O or a call to a worker thread. */
struct worker_event {
    uint16_t id; /* 0: the kernel has no such event */
    struct event_field pid, opcode;
};

struct block_trace {
    struct block_trace_sink sink;
    char root[TRACE_PATH]; /* where tracefs is mounted */
    char name[64];         /* of the instance, below root */
    int fd;                /* of its folder; negative: it is not made */
    struct ring_page_format page;
    struct event_field type; /* common_type */
    struct event_kind event[3];
    struct worker_event worker;
    unsigned cpus;
    int cpu[TRACE_CPUS]; /* descriptors of their buffers */
    unsigned char *bytes;
    size_t page_bytes;
    pthread_t thread;
    bool runs;
    atomic_bool stop;
    /* the thread's: */
    struct request_join *join;
    struct request_event *waiting; /* read, and not yet in order */
    size_t count, room;
    struct block_trace_figures figures;
};

/* ---- files of tracefs ---- */

static int write_file(int dir, const char *path, const char *text)
{
    int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);

    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, len);
    int rc = n == (ssize_t)len ? 0 : n < 0 ? -errno : -EIO;
    close(fd);
    return rc;
}

static int read_file(int dir, const char *path, char text[TRACE_TEXT])
{
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = 0;

    if (fd < 0)
        return -errno;
    while (len < TRACE_TEXT - 1 && (n = read(fd, text + len, TRACE_TEXT - 1 - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    int rc = n < 0 ? -errno : 0;
    close(fd);
    return rc;
}

static bool find_tracefs(char root[TRACE_PATH])
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent m;
    char line[4096];
    bool found = false;

    while (mounts && !found && getmntent_r(mounts, &m, line, sizeof(line)))
        if (strcmp(m.mnt_type, "tracefs") == 0 && strlen(m.mnt_dir) < TRACE_PATH - 128) {
            snprintf(root, TRACE_PATH, "%s", m.mnt_dir);
            found = true;
        }
    if (mounts)
        endmntent(mounts);
    return found;
}

/* A run that was killed leaves its instance. One that is in use cannot be removed. */
static void remove_left_behind(const char *root)
{
    char path[TRACE_PATH + 300];

    snprintf(path, sizeof(path), "%s/instances", root);
    DIR *d = opendir(path);
    struct dirent *entry;
    while (d && (entry = readdir(d))) {
        int pid, len = 0;
        if (sscanf(entry->d_name, "kvtrace-%d%n", &pid, &len) != 1 || entry->d_name[len] ||
            kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(path, sizeof(path), "%s/instances/%s", root, entry->d_name);
        (void)rmdir(path);
    }
    if (d)
        closedir(d);
}

int block_trace_number(const char *name, uint32_t *number)
{
    char path[128];
    unsigned major, minor;
    int rc = -ENODEV;

    snprintf(path, sizeof(path), "/sys/block/%s/dev", name);
    FILE *f = fopen(path, "re");
    if (!f)
        return -errno;
    if (fscanf(f, "%u:%u", &major, &minor) == 2 && major < 4096 && minor < 1u << 20) {
        *number = major << 20 | minor;
        rc = 0;
    }
    fclose(f);
    return rc;
}

/* ---- opening ---- */

static int fail(struct block_trace *t, int rc, const char *what, struct err *e)
{
    if (rc == -EPERM || rc == -EACCES)
        return err_set(e, rc, ERR_TARGET, "", "not permitted: run as root");
    return err_errno(e, rc, ERR_TARGET, t->root, "%s", what);
}

static int learn_event(struct block_trace *t, struct event_kind *k, char text[TRACE_TEXT])
{
    char path[TRACE_PATH];

    snprintf(path, sizeof(path), "events/block/%s/format", k->name);
    int rc = read_file(t->fd, path, text);
    if (rc == 0)
        rc = event_format_id(text, &k->id);
    if (rc == 0)
        rc = event_format_field(text, "common_type", &t->type);
    if (rc == 0)
        rc = event_format_field(text, "dev", &k->device);
    if (rc == 0)
        rc = event_format_field(text, "sector", &k->sector);
    if (rc == 0)
        rc = event_format_field(text, "nr_sector", &k->sectors);
    if (rc == 0)
        rc = event_format_field(text, "rwbs", &k->what);
    return rc;
}

/* Operations by their numbers in the kernel's interface (linux/io_uring.h, enum io_uring_op). */
enum {
    OP_READV = 1,
    OP_WRITEV = 2,
    OP_READ_FIXED = 4,
    OP_WRITE_FIXED = 5,
    OP_READ = 22,
    OP_WRITE = 23
};
#define WORKER_EVENT "events/io_uring/io_uring_queue_async_work"

/* Older kernels have other fields, or no io_uring: then it is not known. */
static void learn_worker_event(struct block_trace *t, char text[TRACE_TEXT])
{
    struct worker_event *w = &t->worker;

    if (read_file(t->fd, WORKER_EVENT "/format", text) < 0 ||
        event_format_field(text, "common_pid", &w->pid) < 0 ||
        event_format_field(text, "opcode", &w->opcode) < 0 || event_format_id(text, &w->id) < 0)
        w->id = 0;
}

/* Only what these devices do is recorded. */
static int set_filter(struct block_trace *t, const struct event_kind *k,
                      const struct block_trace_device *device, unsigned n)
{
    char filter[BLOCK_TRACE_DEVICES * 24], path[TRACE_PATH];
    size_t len = 0;

    for (unsigned i = 0; i < n; i++)
        len += (size_t)snprintf(filter + len, sizeof(filter) - len, "%sdev == %u", i ? " || " : "",
                                device[i].number);
    snprintf(path, sizeof(path), "events/block/%s/filter", k->name);
    return write_file(t->fd, path, filter);
}

static int open_buffers(struct block_trace *t)
{
    char path[TRACE_PATH];
    long cpus = sysconf(_SC_NPROCESSORS_CONF);

    for (long i = 0; i < cpus && t->cpus < TRACE_CPUS; i++) {
        snprintf(path, sizeof(path), "per_cpu/cpu%ld/trace_pipe_raw", i);
        int fd = openat(t->fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
            t->cpu[t->cpus++] = fd;
        else if (errno != ENOENT && errno != ENODEV)
            return -errno;
    }
    return t->cpus ? 0 : -ENOENT;
}

static int set_up(struct block_trace *t, const struct block_trace_device *device, unsigned n,
                  char text[TRACE_TEXT])
{
    int rc = write_file(t->fd, "tracing_on", "0");
    if (rc == 0)
        rc = write_file(t->fd, "trace_clock", "mono");
    if (rc == 0)
        rc = write_file(t->fd, "buffer_size_kb", TRACE_BUFFER_KIB);
    if (rc == 0)
        rc = read_file(t->fd, "events/header_page", text);
    if (rc == 0)
        rc = ring_page_format(&t->page, text);
    for (unsigned i = 0; rc == 0 && i < sizeof(t->event) / sizeof(t->event[0]); i++) {
        rc = learn_event(t, &t->event[i], text);
        if (rc == 0)
            rc = set_filter(t, &t->event[i], device, n);
    }
    learn_worker_event(t, text);
    if (rc == 0)
        rc = open_buffers(t);
    t->page_bytes = t->page.data.offset + t->page.data.size;
    if (rc == 0 && t->page_bytes > TRACE_PAGE_MAX)
        rc = -EFBIG;
    if (rc == 0 && !(t->bytes = malloc(t->page_bytes)))
        rc = -ENOMEM;
    if (rc == 0 && !(t->join = request_join_create()))
        rc = -ENOMEM;
    return rc;
}

int block_trace_open(struct block_trace **out, const struct block_trace_device *device, unsigned n,
                     const struct block_trace_sink *sink, struct err *e)
{
    char path[TRACE_PATH + 80], *text = malloc(TRACE_TEXT);
    struct block_trace *t = calloc(1, sizeof(*t));
    int rc;

    if (!t || !text) {
        free(text);
        free(t);
        return err_nomem(e, "block trace");
    }
    *t = (struct block_trace){.sink = *sink,
                              .fd = -1,
                              .event = {{.name = "block_rq_issue", .kind = REQUEST_ISSUED},
                                        {.name = "block_rq_complete", .kind = REQUEST_COMPLETED},
                                        {.name = "block_rq_requeue", .kind = REQUEST_REQUEUED}}};
    snprintf(t->name, sizeof(t->name), "instances/kvtrace-%d", (int)getpid());
    if (!find_tracefs(t->root)) {
        rc = geteuid() == 0
                 ? err_set(e, -ENOENT, ERR_TARGET, "",
                           "tracefs is not mounted (mount -t tracefs nodev /sys/kernel/tracing)")
                 : fail(t, -EPERM, "", e);
        goto out;
    }
    remove_left_behind(t->root);
    snprintf(path, sizeof(path), "%s/%s", t->root, t->name);
    rc = mkdir(path, 0700) < 0 ? -errno : 0;
    if (rc == 0 && (t->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        rc = -errno;
    if (rc < 0)
        t->name[0] = rc == -EEXIST ? '\0' : t->name[0]; /* it is not ours to remove */
    else
        rc = set_up(t, device, n, text);
    if (rc < 0)
        fail(t, rc, "cannot record the requests of block devices", e);
out:
    free(text);
    if (rc < 0)
        block_trace_close(t);
    else
        *out = t;
    return rc;
}

/* ---- reading ---- */

/* "R", "WS", "FWFS", "D", "FF": what Documentation/trace/events-block.rst calls rwbs. A flush that
 * goes before a write stands before its letter. */
static enum request_what what_of(const struct event_kind *k, const struct ring_event *v)
{
    const char *rwbs = (const char *)v->data + k->what.offset;

    if (k->what.offset + 2 > v->len || k->what.size < 2)
        return REQUEST_OTHER;
    char c = rwbs[0] == 'F' ? rwbs[1] : rwbs[0];
    return c == 'R' ? REQUEST_READ : c == 'W' ? REQUEST_WRITE : REQUEST_OTHER;
}

/* A thread of this process, as it is while the events are read. */
static bool is_ours(uint64_t tid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/task/%llu", (unsigned long long)tid);
    return access(path, F_OK) == 0;
}

static void take_worker_event(struct block_trace *t, const struct ring_event *v)
{
    struct block_trace_workers *n = &t->figures.workers;
    uint64_t tid, opcode;

    if (event_field_get(&t->worker.pid, v->data, v->len, &tid) < 0 ||
        event_field_get(&t->worker.opcode, v->data, v->len, &opcode) < 0) {
        t->figures.broken++;
        return;
    }
    if (!is_ours(tid))
        return;
    switch (opcode) {
    case OP_READV:
    case OP_READ:
    case OP_READ_FIXED:
        n->reads++;
        return;
    case OP_WRITEV:
    case OP_WRITE:
    case OP_WRITE_FIXED:
        n->writes++;
        return;
    default:
        n->calls++;
    }
}

static int take_event(struct block_trace *t, const struct ring_event *v)
{
    uint64_t type, device, sector, sectors;
    const struct event_kind *k = NULL;

    if (event_field_get(&t->type, v->data, v->len, &type) < 0) {
        t->figures.broken++;
        return 0;
    }
    for (unsigned i = 0; i < sizeof(t->event) / sizeof(t->event[0]); i++)
        if (t->event[i].id == type)
            k = &t->event[i];
    if (!k && t->worker.id && type == t->worker.id)
        take_worker_event(t, v);
    if (!k)
        return 0;
    if (event_field_get(&k->device, v->data, v->len, &device) < 0 ||
        event_field_get(&k->sector, v->data, v->len, &sector) < 0 ||
        event_field_get(&k->sectors, v->data, v->len, &sectors) < 0) {
        t->figures.broken++;
        return 0;
    }
    struct request_event *more =
        memory_grow(t->waiting, &t->room, t->count, sizeof(*t->waiting), WAITING_FIRST);
    if (!more)
        return -ENOMEM;
    t->waiting = more;
    t->waiting[t->count++] = (struct request_event){.time_ns = v->time_ns,
                                                    .sector = sector,
                                                    .device = (uint32_t)device,
                                                    .sectors = (uint32_t)sectors,
                                                    .kind = (uint8_t)k->kind,
                                                    .what = (uint8_t)what_of(k, v)};
    return 0;
}

/* Takes what one processor's buffer holds. */
static int take_buffer(struct block_trace *t, int fd)
{
    struct ring_page page;
    struct ring_event event;
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read(fd, t->bytes, t->page_bytes)) > 0) {
        if (ring_page_open(&page, &t->page, t->bytes, (size_t)n) < 0) {
            t->figures.broken++;
            continue;
        }
        t->figures.lost += page.lost;
        while (rc == 0 && ring_page_next(&page, &event))
            rc = take_event(t, &event);
        t->figures.broken += page.broken;
    }
    if (rc == 0 && n < 0 && errno != EAGAIN && errno != EINTR)
        rc = -errno;
    return rc;
}

static int earlier(const void *a, const void *b)
{
    const struct request_event *x = a, *y = b;

    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->kind - y->kind;
}

/* Joins what happened before that time, after which nothing earlier is read any more. */
static int join_until(struct block_trace *t, int64_t until_ns)
{
    struct request r;
    size_t i = 0;
    int rc = 0;

    qsort(t->waiting, t->count, sizeof(*t->waiting), earlier);
    for (; i < t->count && t->waiting[i].time_ns < until_ns && rc == 0; i++) {
        rc = request_join_take(t->join, &t->waiting[i], &r);
        if (rc > 0)
            rc = t->sink.request(t->sink.ctx, &r);
    }
    t->count -= i;
    if (i > 0 && t->count > 0)
        memmove(t->waiting, t->waiting + i, t->count * sizeof(*t->waiting));
    return rc;
}

static int look(struct block_trace *t, bool last)
{
    int64_t before_ns = clock_now_ns() - TRACE_LATE_NS;
    int rc = 0;

    for (unsigned i = 0; i < t->cpus && rc == 0; i++)
        rc = take_buffer(t, t->cpu[i]);
    if (rc == 0)
        rc = join_until(t, last ? INT64_MAX : before_ns);
    t->sink.until(t->sink.ctx, rc < 0 || last ? INT64_MAX : before_ns);
    return rc;
}

static void *read_all(void *arg)
{
    struct block_trace *t = arg;

    while (t->figures.failed == 0) {
        bool last = atomic_load_explicit(&t->stop, memory_order_acquire);
        t->figures.failed = look(t, last);
        if (last)
            break;
        clock_sleep_until(clock_now_ns() + TRACE_LOOK_NS, 0);
    }
    return NULL;
}

/* ---- the recording ---- */

static int set_events(struct block_trace *t, const char *on)
{
    char path[TRACE_PATH];
    int rc = 0;

    for (unsigned i = 0; i < sizeof(t->event) / sizeof(t->event[0]); i++) {
        snprintf(path, sizeof(path), "events/block/%s/enable", t->event[i].name);
        int set = write_file(t->fd, path, on);
        rc = rc < 0 ? rc : set;
    }
    if (t->worker.id && write_file(t->fd, WORKER_EVENT "/enable", on) < 0)
        t->worker.id = 0;
    t->figures.workers.known = t->worker.id != 0;
    return rc;
}

int block_trace_begin(struct block_trace *t, struct err *e)
{
    int rc = set_events(t, "1");
    if (rc == 0)
        rc = write_file(t->fd, "tracing_on", "1");
    if (rc == 0)
        rc = thread_start(&t->thread, read_all, t);
    t->runs = rc == 0;
    return rc < 0 ? fail(t, rc, "cannot record the requests of block devices", e) : 0;
}

/* What the buffers of the kernel had no room for, by its own count. */
static uint64_t lost_events(struct block_trace *t)
{
    char path[TRACE_PATH], *text = malloc(TRACE_TEXT);
    uint64_t lost = 0;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);

    for (long i = 0; text && i < cpus; i++) {
        static const char *const counters[] = {"overrun:", "dropped events:"};
        snprintf(path, sizeof(path), "per_cpu/cpu%ld/stats", i);
        if (read_file(t->fd, path, text) < 0)
            continue;
        for (unsigned k = 0; k < sizeof(counters) / sizeof(counters[0]); k++) {
            const char *at = strstr(text, counters[k]);
            lost += at && (at == text || at[-1] == '\n')
                        ? strtoull(at + strlen(counters[k]), NULL, 10)
                        : 0;
        }
    }
    free(text);
    return lost;
}

void block_trace_end(struct block_trace *t)
{
    if (!t->runs)
        return;
    set_events(t, "0");
    write_file(t->fd, "tracing_on", "0");
    atomic_store_explicit(&t->stop, true, memory_order_release);
    pthread_join(t->thread, NULL);
    t->runs = false;
    uint64_t lost = lost_events(t);
    if (lost > t->figures.lost)
        t->figures.lost = lost;
    request_join_count(t->join, &t->figures.counts);
}

void block_trace_count(const struct block_trace *t, struct block_trace_figures *f)
{
    *f = t->figures;
}

void block_trace_close(struct block_trace *t)
{
    char path[TRACE_PATH + 80];

    if (!t)
        return;
    block_trace_end(t);
    for (unsigned i = 0; i < t->cpus; i++)
        close(t->cpu[i]);
    if (t->fd >= 0)
        close(t->fd);
    snprintf(path, sizeof(path), "%s/%s", t->root, t->name);
    if (t->root[0] && t->name[0])
        (void)rmdir(path);
    request_join_free(t->join);
    free(t->waiting);
    free(t->bytes);
    free(t);
}
