/* After a run, for validity.c and the summary: facts from outside the replay. A direct run moves
 * all its bytes over the device and leaves next to nothing in the page cache; no drive is faster
 * than its link; and a run that comes near what the client does against targets that do nothing has
 * measured the client as much as the target. */
#include "kvreplay/evidence.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kvreplay/device/residency.h"
#include "lib/io/target_files.h"
#include "lib/json/jsonin.h"

/* ---- the ceiling ---- */

#define CEILING_BYTES_MAX ((size_t)64 << 20)

int evidence_load_ceiling(struct evidence *ev, const char *path, struct err *e)
{
    struct evidence_ceiling *c = &ev->ceiling;
    struct jsonin *doc;
    struct utsname u;
    int64_t cpus;
    bool null = false;

    int rc = jsonin_load(&doc, path, CEILING_BYTES_MAX, e);
    if (rc < 0)
        return rc;
    const struct jsonin_v *root = jsonin_root(doc);
    const char *program = jsonin_text(jsonin_get(root, "program"), NULL);
    const char *timing = jsonin_text(jsonin_get(root, "options.timing"), NULL);
    const char *digest = jsonin_text(jsonin_get(root, "trace.digest"), NULL);
    jsonin_bool(jsonin_get(root, "options.null"), &null);
    if (!program || strcmp(program, "kvreplay") != 0 || !null || !timing ||
        strcmp(timing, "asap") != 0) {
        rc = err_set(e, -EINVAL, ERR_INPUT, path,
                     "not the summary of a run with --null and --timing asap");
        goto out;
    }
    if (jsonin_f64(jsonin_get(root, "rows_per_s"), &c->rows_per_s) < 0 || c->rows_per_s <= 0) {
        rc = err_set(e, -EINVAL, ERR_INPUT, path, "the run had no rows");
        goto out;
    }
    snprintf(c->digest, sizeof(c->digest), "%s", digest ? digest : "");
    const char *host = jsonin_text(jsonin_get(root, "host.name"), NULL);
    c->same_host = uname(&u) == 0 && host && strcmp(host, u.nodename) == 0 &&
                   jsonin_i64(jsonin_get(root, "host.cpus"), &cpus) == 0 &&
                   cpus == sysconf(_SC_NPROCESSORS_ONLN);
out:
    jsonin_free(doc);
    return rc;
}

double evidence_rows_per_s(const struct evidence *ev)
{
    const struct counts *n = ev->counts;
    int64_t ns = ev->elapsed_ns - ev->warmup_ns;
    return ns > 0 ? (double)(n->rows - n->head_rows - n->warmup_rows) * 1e9 / (double)ns : -1;
}

double evidence_of_ceiling(const struct evidence *ev)
{
    const struct evidence_ceiling *c = &ev->ceiling;
    bool same = c->same_host && ev->digest[0] && strcmp(ev->digest, c->digest) == 0;
    return c->rows_per_s > 0 && same ? evidence_rows_per_s(ev) / c->rows_per_s : -1;
}

/* ---- the kernel's counters ---- */

#define EVIDENCE_ASKED_MIN 1e6 /* bytes, to judge a share by */

void evidence_interface(struct evidence *ev, const char *name)
{
    struct evidence_network *n = &ev->network;

    n->unknown |= name[0] == '\0';
    for (unsigned i = 0; i < n->interfaces; i++) {
        if (strcmp(n->name[i], name) == 0)
            return;
    }
    if (name[0] && n->interfaces < TIER_DOORS_MAX)
        snprintf(n->name[n->interfaces++], TIER_INTERFACE_CAP, "%s", name);
}

void evidence_door(struct evidence *ev, const struct tier_door *before,
                   const struct tier_door *after)
{
    struct evidence_network *n = &ev->network;
    bool known = before->retransmits >= 0 && after->retransmits >= 0;

    if (!n->stores)
        n->retransmits = 0;
    n->stores = true;
    n->requests += after->requests - before->requests;
    n->retries += after->retries - before->retries;
    n->connections += after->connections - before->connections;
    if (!known)
        n->retransmits = -1;
    else if (n->retransmits >= 0)
        n->retransmits += after->retransmits - before->retransmits;
}

/* Adds the number in /sys/class/net/NAME/statistics/WHAT. False: there is none. */
static bool add_statistic(const char *name, const char *what, uint64_t *sum)
{
    char path[128];
    unsigned long long value;

    snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s", name, what);
    FILE *f = fopen(path, "re");
    bool known = f && fscanf(f, "%llu", &value) == 1;
    if (known)
        *sum += value;
    if (f)
        fclose(f);
    return known;
}

/* Bytes that the interfaces have moved so far: before (0) or after (1) the run. */
static bool count_network(struct evidence_network *n, unsigned when)
{
    bool known = n->interfaces > 0 && !n->unknown;

    n->received[when] = n->sent[when] = 0;
    for (unsigned i = 0; known && i < n->interfaces; i++)
        known = add_statistic(n->name[i], "rx_bytes", &n->received[when]) &&
                add_statistic(n->name[i], "tx_bytes", &n->sent[when]);
    return known;
}

/* The logs of the drive; of several drives none, for their wear is not one figure. */
static void read_log(struct drive_log *log, const struct target_device *const *device, unsigned n)
{
    if (n < 2) {
        drive_log_read(log, n ? device[0]->name : "");
        return;
    }
    *log = (struct drive_log){.known = false};
    snprintf(log->why, sizeof(log->why), "the targets are on %u devices", n);
    memcpy(log->media_why, log->why, sizeof(log->media_why));
}

void evidence_begin(struct evidence *ev, const struct target_device *const *device, unsigned n)
{
    ev->network.counted = count_network(&ev->network, 0);
    read_log(&ev->log_before, device, n);
    ev->counted = target_devices_count(device, n, &ev->before) == 0;
    ev->top_counted = target_tops_count(device, n, &ev->top_before) == 0;
    machine_read(&ev->machine_before);
    others_begin(&ev->others, device, n);
}

void evidence_end(struct evidence *ev, const struct target_device *const *device, unsigned n)
{
    ev->counted = ev->counted && target_devices_count(device, n, &ev->after) == 0;
    ev->top_counted = ev->top_counted && target_tops_count(device, n, &ev->top_after) == 0;
    ev->network.counted = ev->network.counted && count_network(&ev->network, 1);
    read_log(&ev->log_after, device, n);
    machine_read(&ev->machine_after);
}

double evidence_cached_read_share(const struct evidence *ev)
{
    const struct machine *before = &ev->machine_before, *after = &ev->machine_after;
    double asked = (double)ev->counts->read_bytes[TRACE_STORAGE];

    /* Network file systems and FUSE do not count for the process that asks. */
    if (!before->io_known || !after->io_known || asked < EVIDENCE_ASKED_MIN || !ev->storage ||
        ev->target == TARGET_MEDIUM_NETWORK || ev->target == TARGET_MEDIUM_UNKNOWN)
        return -1;
    double seen = (double)(after->read_bytes - before->read_bytes);
    return seen < asked ? 1 - seen / asked : 0;
}

static double moved_between(const struct target_counters *from, const struct target_counters *to,
                            enum trace_op op)
{
    return op == TRACE_READ ? (double)(to->read_bytes - from->read_bytes)
                            : (double)(to->write_bytes - from->write_bytes);
}

double evidence_moved(const struct evidence *ev, enum trace_op op)
{
    double last = moved_between(&ev->before, &ev->after, op);
    double top = moved_between(&ev->top_before, &ev->top_after, op);

    if (!ev->counted)
        return NAN;
    return ev->top_counted && top < last ? top : last;
}

double evidence_moved_share(const struct evidence *ev, enum trace_op op)
{
    const uint64_t *bytes = op == TRACE_READ ? ev->counts->read_bytes : ev->counts->write_bytes;

    if (!ev->counted || (double)bytes[TRACE_STORAGE] < EVIDENCE_ASKED_MIN)
        return -1;
    return evidence_moved(ev, op) / (double)bytes[TRACE_STORAGE];
}

double evidence_reduced_to(const struct evidence *ev)
{
    double ratio = (ev->compress_ratio > 1 ? ev->compress_ratio : 1) *
                   (ev->dedup_ratio > 1 ? ev->dedup_ratio : 1);

    return ev->below.reduces ? 1 / ratio : 1;
}

/* ---- the device's link ---- */

/* The number that the file begins with; negative: there is none. */
static double link_number(const char *sysfs, const char *disk, const char *up, const char *name)
{
    char path[PATH_MAX];
    double value = -1;

    snprintf(path, sizeof(path), "%s/block/%s/device/%s%s", sysfs, disk, up, name);
    FILE *f = fopen(path, "re");
    if (!f)
        return -1;
    if (fscanf(f, "%lf", &value) != 1)
        value = -1;
    fclose(f);
    return value;
}

uint64_t evidence_link_bytes_per_s(const char *sysfs, const char *disk)
{
    /* The disk's device is the PCI function itself, or (NVMe) one below it. */
    static const char *const up[] = {"", "device/"};

    if (!disk[0] || strchr(disk, '/') || disk[0] == '.')
        return 0;
    for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++) {
        double gt = link_number(sysfs, disk, up[i], "current_link_speed"); /* "16.0 GT/s PCIe" */
        double width = link_number(sysfs, disk, up[i], "current_link_width");
        double code = gt < 8 ? 8.0 / 10 : 128.0 / 130;
        if (gt > 0 && width > 0 && gt < 1000 && width < 1000)
            return (uint64_t)(gt * 1e9 * width * code / 8);
    }
    return 0;
}

/* ---- the page cache ---- */

enum {
    RESIDENT_MAX_FILES = 4096
};
#define RESIDENT_BYTES ((uint64_t)1 << 30) /* of a file that are looked at */

struct resident {
    struct residency sum;
    uint64_t files;
};

static bool resident_object(void *ctx, int dir, const char *name, const struct stat *st,
                            enum target_files_kind kind)
{
    struct resident *r = ctx;
    int file = kind == TARGET_FILES_OBJECT && st->st_size > 0
                   ? openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
                   : -1;

    if (file >= 0) {
        r->files++;
        (void)residency_add(&r->sum, file, RESIDENT_BYTES);
        close(file);
    }
    return r->files < RESIDENT_MAX_FILES;
}

/* Adds the pages of one target. */
static void resident_target(struct evidence_targets *seen, int target)
{
    struct resident r = {0};
    struct stat st;

    if (target_files_each(target, resident_object, &r) == -ENOTDIR && fstat(target, &st) == 0 &&
        S_ISREG(st.st_mode))
        (void)residency_add(&r.sum, target, RESIDENT_BYTES);
    seen->pages += r.sum.pages;
    seen->resident += r.sum.resident;
}

/* ---- the targets ---- */

void evidence_add_target(struct evidence_targets *seen, int target,
                         const struct target_device *device)
{
    static const unsigned doubt[] = {[TARGET_MEDIUM_STORAGE] = 0,
                                     [TARGET_MEDIUM_NETWORK] = 1,
                                     [TARGET_MEDIUM_UNKNOWN] = 2,
                                     [TARGET_MEDIUM_MEMORY] = 3};
    char file_system[sizeof(seen->file_system)] = "";
    const struct target_layers *l = &device->layers;
    struct evidence_below *below = &seen->below;
    enum target_medium medium = target_medium_of(target, device, file_system);

    if (seen->count == 0 || doubt[medium] > doubt[seen->medium])
        seen->medium = medium;
    if (seen->count == 0) {
        memcpy(seen->file_system, file_system, sizeof(file_system));
        memcpy(below->layers, l->text, sizeof(l->text));
    }
    if (strcmp(seen->file_system, file_system) != 0)
        seen->file_system[0] = '\0';
    if (strcmp(below->layers, l->text) != 0)
        below->layers[0] = '\0';
    below->copies |= l->copies;
    below->reduces |= l->reduces;
    if (l->cache != TARGET_CACHE_NONE) {
        below->cache = l->cache;
        memcpy(below->cache_of, l->cache_of, sizeof(l->cache_of));
    }
    seen->count++;
    resident_target(seen, target);
}

double evidence_resident_share(const struct evidence_targets *seen)
{
    return seen->pages ? (double)seen->resident / (double)seen->pages : -1;
}

void evidence_set_targets(struct evidence *ev, const struct evidence_targets *seen)
{
    ev->resident_share = evidence_resident_share(seen);
    ev->target = seen->medium;
    memcpy(ev->file_system, seen->file_system, sizeof(ev->file_system));
    ev->below = seen->below;
}
