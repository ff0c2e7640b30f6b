/* Between tracefs and who joins requests (request_join.c). An event means something here; where it
 * lies in the kernel's buffers, ring_page.c knows. Sources: Documentation/trace/ftrace.rst
 * ("instances", "per_cpu/cpu0/trace_pipe_raw") and events.rst.
 *
 * kvtrace-trace runs this with a right that its user has not: all paths are constant and lie below
 * a folder that is of the type tracefs, and what a user may say are numbers.
 */
#include "lib/drive/block_events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/drive/ring_page.h"
#include "lib/drive/uring_workers.h"

enum {
    TRACE_TEXT = 16384,
    TRACE_PATH = 128,
    TRACE_CPUS = 1024,
    TRACE_PAGE_MAX = 1 << 20,
    TRACE_LATE_NS = 1000000, /* an event has its time a little before it can be read */
    REMOVE_TRIES = 500,
    REMOVE_PAUSE_NS = 10000000
};
#define TRACE_BUFFER_KIB "4096" /* of each processor: 0.3 s of 60,000 requests a second */

/* The fields that are wanted of an event. */
struct event_kind {
    const char *name;
    enum request_event_kind kind;
    uint16_t id;
    struct event_field device, sector, sectors, what;
};

enum {
    KINDS = 3
};
struct block_events {
    int instances; /* descriptor of the folder that holds all instances; negative: none */
    char name[32]; /* of ours in it; "": it is not made */
    int fd;        /* of ours */
    pid_t owner;
    struct ring_page_format page;
    struct event_field type; /* common_type */
    struct event_kind event[KINDS];
    struct uring_workers workers; /* if counts.workers_known */
    unsigned cpus;
    int cpu[TRACE_CPUS]; /* descriptors of their buffers */
    unsigned char *bytes;
    size_t page_bytes;
    struct block_events_counts counts;
};

/* ---- files of tracefs ---- */

static int write_file(int dir, const char *path, const char *text)
{
    int fd = openat(dir, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
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
    int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
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

/* The folder of instances; where tracefs is mounted is not asked, since a user could have a say in
 * the answer. Negative errno: -ENOENT, there is none; -EACCES: it may be where only root looks. */
static int open_instances(void)
{
    static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    int none = -ENOENT;
    struct statfs is;

    for (unsigned i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        int root = open(roots[i], O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (root < 0 && errno == EACCES)
            none = -EACCES;
        if (root < 0)
            continue;
        if (fstatfs(root, &is) < 0 || is.f_type != TRACEFS_MAGIC) {
            close(root);
            continue;
        }
        int fd = openat(root, "instances", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int rc = fd < 0 ? -errno : fd;
        close(root);
        return rc;
    }
    return none;
}

static void instance_name(char name[32], pid_t pid)
{
    snprintf(name, 32, "kvtrace-%d", (int)pid);
}

/* How many there are. A run that was killed leaves its instance, which is removed; one that is in
 * use cannot be. */
static unsigned count_instances(int instances)
{
    int copy = openat(instances, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    unsigned n = 0;

    while (d && (entry = readdir(d))) {
        int pid, len = 0;
        if (sscanf(entry->d_name, "kvtrace-%d%n", &pid, &len) != 1 || entry->d_name[len])
            continue;
        if (kill(pid, 0) == 0 || errno != ESRCH ||
            unlinkat(instances, entry->d_name, AT_REMOVEDIR) < 0)
            n++;
    }
    if (d)
        closedir(d);
    else if (copy >= 0)
        close(copy);
    return n;
}

void block_events_remove(pid_t pid)
{
    int instances = open_instances();
    char name[32];

    if (instances < 0)
        return;
    instance_name(name, pid);
    /* It is in use until the last descriptor of its process is closed. */
    for (int i = 0; i < REMOVE_TRIES; i++) {
        if (unlinkat(instances, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
            break;
        clock_sleep_until(clock_now_ns() + REMOVE_PAUSE_NS, 0);
    }
    close(instances);
}

/* ---- opening ---- */

static int learn_event(struct block_events *b, struct event_kind *k, char text[TRACE_TEXT])
{
    char path[TRACE_PATH];

    snprintf(path, sizeof(path), "events/block/%s/format", k->name);
    int rc = read_file(b->fd, path, text);
    if (rc == 0)
        rc = event_format_id(text, &k->id);
    if (rc == 0)
        rc = event_format_field(text, "common_type", &b->type);
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

#define WORKERS_EVENT "events/io_uring/io_uring_queue_async_work"

/* Older kernels have other fields, or no io_uring: then it is not known. */
static void learn_workers(struct block_events *b, char text[TRACE_TEXT])
{
    b->counts.workers_known = read_file(b->fd, WORKERS_EVENT "/format", text) == 0 &&
                              uring_workers_learn(&b->workers, b->owner, text) == 0;
}

/* Only what these devices do is recorded. */
static int set_filter(struct block_events *b, const struct event_kind *k, const uint32_t *device,
                      unsigned n)
{
    char filter[BLOCK_EVENTS_DEVICES * 24], path[TRACE_PATH];
    size_t len = 0;

    for (unsigned i = 0; i < n; i++)
        len += (size_t)snprintf(filter + len, sizeof(filter) - len, "%sdev == %u", i ? " || " : "",
                                device[i]);
    snprintf(path, sizeof(path), "events/block/%s/filter", k->name);
    return write_file(b->fd, path, filter);
}

/* One buffer for each possible processor; their numbers may have gaps. */
static int open_buffers(struct block_events *b)
{
    char path[TRACE_PATH];

    for (unsigned i = 0; i < TRACE_CPUS; i++) {
        snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", i);
        int fd = openat(b->fd, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
            b->cpu[b->cpus++] = fd;
        else if (errno != ENOENT && errno != ENODEV)
            return -errno;
    }
    return b->cpus ? 0 : -ENOENT;
}

static int set_up(struct block_events *b, const uint32_t *device, unsigned n, char text[TRACE_TEXT])
{
    int rc = write_file(b->fd, "tracing_on", "0");
    if (rc == 0)
        rc = write_file(b->fd, "trace_clock", "mono");
    if (rc == 0)
        rc = write_file(b->fd, "buffer_size_kb", TRACE_BUFFER_KIB);
    if (rc == 0)
        rc = read_file(b->fd, "events/header_page", text);
    if (rc == 0)
        rc = ring_page_format(&b->page, text);
    for (unsigned i = 0; rc == 0 && i < KINDS; i++) {
        rc = learn_event(b, &b->event[i], text);
        if (rc == 0)
            rc = set_filter(b, &b->event[i], device, n);
    }
    learn_workers(b, text);
    if (rc == 0)
        rc = open_buffers(b);
    b->page_bytes = b->page.data.offset + b->page.data.size;
    if (rc == 0 && b->page_bytes > TRACE_PAGE_MAX)
        rc = -EFBIG;
    if (rc == 0 && !(b->bytes = malloc(b->page_bytes)))
        rc = -ENOMEM;
    return rc;
}

static int make_instance(struct block_events *b, pid_t pid)
{
    char name[32];

    instance_name(name, pid);
    if (mkdirat(b->instances, name, 0700) < 0) /* one that is there is not ours to remove */
        return -errno;
    snprintf(b->name, sizeof(b->name), "%s", name);
    b->fd = openat(b->instances, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return b->fd < 0 ? -errno : 0;
}

static int refuse(struct err *e, int rc)
{
    switch (rc) {
    case -EPERM:
    case -EACCES:
        return err_set(e, rc, ERR_TARGET, "", "not permitted");
    case -EUSERS:
        return err_set(e, rc, ERR_TARGET, "", "too many runs record block events at once (%d)",
                       BLOCK_EVENTS_INSTANCES);
    default:
        return err_errno(e, rc, ERR_TARGET, "tracefs",
                         "cannot record the requests of block devices");
    }
}

int block_events_open(struct block_events **out, const uint32_t *device, unsigned n, pid_t owner,
                      struct err *e)
{
    struct block_events *b = calloc(1, sizeof(*b));
    char *text = malloc(TRACE_TEXT);
    int rc;

    if (!b || !text) {
        free(text);
        free(b);
        return err_nomem(e, "block events");
    }
    *b = (struct block_events){.fd = -1,
                               .owner = owner,
                               .event = {{.name = "block_rq_issue", .kind = REQUEST_ISSUED},
                                         {.name = "block_rq_complete", .kind = REQUEST_COMPLETED},
                                         {.name = "block_rq_requeue", .kind = REQUEST_REQUEUED}}};
    b->instances = open_instances();
    if (b->instances == -ENOENT) {
        rc = err_set(e, -ENOENT, ERR_TARGET, "",
                     "tracefs is not mounted (mount -t tracefs nodev /sys/kernel/tracing)");
        goto out;
    }
    rc = b->instances < 0 ? b->instances : 0;
    if (rc == 0) {
        (void)count_instances(b->instances);
        rc = make_instance(b, getpid());
    }
    if (rc == 0 && owner != getpid() && count_instances(b->instances) > BLOCK_EVENTS_INSTANCES)
        rc = -EUSERS;
    if (rc == 0)
        rc = set_up(b, device, n, text);
    if (rc < 0)
        refuse(e, rc);
out:
    free(text);
    if (rc < 0)
        block_events_close(b);
    else
        *out = b;
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

static void take_given(struct block_events *b, const struct ring_event *v)
{
    struct block_events_counts *n = &b->counts;
    int given = uring_workers_take(&b->workers, v->data, v->len);

    n->broken += given < 0;
    n->worker_reads += given == URING_GIVEN_READ;
    n->worker_writes += given == URING_GIVEN_WRITE;
    n->worker_calls += given == URING_GIVEN_CALL;
}

struct taker {
    int (*take)(void *ctx, const struct request_event *event);
    void *ctx;
};

static int take_event(struct block_events *b, const struct ring_event *v, const struct taker *to)
{
    uint64_t type, device, sector, sectors;
    const struct event_kind *k = NULL;

    if (event_field_get(&b->type, v->data, v->len, &type) < 0) {
        b->counts.broken++;
        return 0;
    }
    for (unsigned i = 0; i < KINDS; i++)
        if (b->event[i].id == type)
            k = &b->event[i];
    if (!k && b->counts.workers_known && type == b->workers.id)
        take_given(b, v);
    if (!k)
        return 0;
    if (event_field_get(&k->device, v->data, v->len, &device) < 0 ||
        event_field_get(&k->sector, v->data, v->len, &sector) < 0 ||
        event_field_get(&k->sectors, v->data, v->len, &sectors) < 0) {
        b->counts.broken++;
        return 0;
    }
    const struct request_event event = {.time_ns = v->time_ns,
                                        .sector = sector,
                                        .device = (uint32_t)device,
                                        .sectors = (uint32_t)sectors,
                                        .kind = (uint8_t)k->kind,
                                        .what = (uint8_t)what_of(k, v)};
    return to->take(to->ctx, &event);
}

/* Takes what one processor's buffer holds. */
static int take_buffer(struct block_events *b, int fd, const struct taker *to)
{
    struct ring_page page;
    struct ring_event event;
    ssize_t n;
    int rc = 0;

    while (rc == 0 && (n = read(fd, b->bytes, b->page_bytes)) > 0) {
        if (ring_page_open(&page, &b->page, b->bytes, (size_t)n) < 0) {
            b->counts.broken++;
            continue;
        }
        b->counts.lost += page.lost;
        while (rc == 0 && ring_page_next(&page, &event))
            rc = take_event(b, &event, to);
        b->counts.broken += page.broken;
    }
    if (rc == 0 && n < 0 && errno != EAGAIN && errno != EINTR)
        rc = -errno;
    return rc;
}

int block_events_read(struct block_events *b,
                      int (*take)(void *ctx, const struct request_event *event), void *ctx,
                      int64_t *until_ns)
{
    const struct taker to = {.take = take, .ctx = ctx};
    int rc = 0;

    *until_ns = clock_now_ns() - TRACE_LATE_NS;
    for (unsigned i = 0; i < b->cpus && rc == 0; i++)
        rc = take_buffer(b, b->cpu[i], &to);
    return rc;
}

/* ---- the recording ---- */

static int set_events(struct block_events *b, const char *on)
{
    char path[TRACE_PATH];
    int rc = 0;

    for (unsigned i = 0; i < KINDS; i++) {
        snprintf(path, sizeof(path), "events/block/%s/enable", b->event[i].name);
        int set = write_file(b->fd, path, on);
        rc = rc < 0 ? rc : set;
    }
    if (b->counts.workers_known && write_file(b->fd, WORKERS_EVENT "/enable", on) < 0)
        b->counts.workers_known = 0;
    return rc;
}

int block_events_begin(struct block_events *b, struct err *e)
{
    int rc = set_events(b, "1");
    if (rc == 0)
        rc = write_file(b->fd, "tracing_on", "1");
    return rc < 0 ? refuse(e, rc) : 0;
}

void block_events_stop(struct block_events *b)
{
    set_events(b, "0");
    write_file(b->fd, "tracing_on", "0");
}

/* Events that the buffers of the kernel had no room for, by its own count. */
static uint64_t lost_events(const struct block_events *b)
{
    char path[TRACE_PATH], *text = malloc(TRACE_TEXT);
    uint64_t lost = 0;

    for (unsigned i = 0; text && i < TRACE_CPUS; i++) {
        static const char *const counters[] = {"overrun:", "dropped events:"};
        snprintf(path, sizeof(path), "per_cpu/cpu%u/stats", i);
        if (read_file(b->fd, path, text) < 0)
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

void block_events_count(struct block_events *b, struct block_events_counts *c)
{
    uint64_t lost = lost_events(b);

    *c = b->counts;
    if (lost > c->lost)
        c->lost = lost;
}

void block_events_close(struct block_events *b)
{
    if (!b)
        return;
    for (unsigned i = 0; i < b->cpus; i++)
        close(b->cpu[i]);
    if (b->fd >= 0)
        close(b->fd);
    if (b->name[0])
        (void)unlinkat(b->instances, b->name, AT_REMOVEDIR);
    if (b->instances >= 0)
        close(b->instances);
    free(b->bytes);
    free(b);
}
