/* Between populating and the run. Dirty pages cannot be dropped, so all is written first. What
 * stays, because somebody has it mapped, is found (residency); what lies in a cache below, which
 * nobody shows, is found by reading: the device must have moved what a probe read. */
#include "kvreplay/device/cold.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kvreplay/device/residency.h"
#include "lib/io/target_files.h"
#include "lib/layout/slab.h"

enum {
    PROBES = 16, /* objects, spread over what there is: the first of each folder */
    PROBE_BYTES = 256 << 10,
    PROBE_ALIGN = 4096
};
#define COLD_SHARE 0.99 /* of the bytes read, from the device */

struct pass {
    bool probes; /* else it drives out */
    struct residency left;
    uint64_t files, probed, bytes; /* read by probes */
    void *buf;
    int rc;
};

static void drive_out(struct pass *p, int fd)
{
    if (fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS)
        p->rc = -errno;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED); /* whether it worked, mincore tells */
    if (residency_add(&p->left, fd, UINT64_MAX) < 0)
        p->rc = -ENOMEM;
}

static void probe(struct pass *p, int fd, uint64_t at)
{
    ssize_t n = pread(fd, p->buf, PROBE_BYTES, (off_t)at);

    if (n < 0)
        p->rc = -errno;
    else
        p->bytes += (uint64_t)n;
    p->probed++;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

/* at: where the bytes of an object lie. */
static void take(struct pass *p, int fd, uint64_t at)
{
    p->files++;
    if (p->probes)
        probe(p, fd, at);
    else
        drive_out(p, fd);
}

static bool pass_object(void *ctx, int dir, const char *name, const struct stat *st,
                        enum target_files_kind kind)
{
    struct pass *p = ctx;

    if (kind != TARGET_FILES_OBJECT || st->st_size == 0)
        return true;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return true;
    take(p, fd, 0);
    close(fd);
    return p->rc == 0 && (!p->probes || p->probed < PROBES);
}

static int pass_over(struct pass *p, const int *target, unsigned n)
{
    for (unsigned i = 0; i < n && p->rc == 0; i++) {
        p->probed = 0;
        if (target_files_each(target[i], pass_object, p) == -ENOTDIR)
            take(p, target[i], layout_slab_begin());
    }
    return p->rc;
}

/* Bytes that the devices have read so far; NAN: nobody counts. */
static double bytes_read(const struct target_device *const *device, unsigned n)
{
    struct target_counters last, top;

    if (target_devices_count(device, n, &last) < 0)
        return NAN;
    if (target_tops_count(device, n, &top) < 0)
        return (double)last.read_bytes;
    return (double)(top.read_bytes < last.read_bytes ? top : last).read_bytes;
}

void cold_make(struct cold *c, const int *target, const struct target_device *const *device,
               unsigned n)
{
    struct pass out = {0}, probes = {.probes = true};
    double before;

    c->why[0] = '\0';
    for (unsigned i = 0; i < n; i++)
        if (device[i]->layers.cache != TARGET_CACHE_NONE) {
            snprintf(c->why, sizeof(c->why), "the cache of %s, below the target, stays as it is",
                     device[i]->layers.cache_of);
            return;
        }
    if (pass_over(&out, target, n) < 0) {
        snprintf(c->why, sizeof(c->why), "what was stored could not be written to the device");
        return;
    }
    if (out.files == 0) /* nothing is there to be read from a cache */
        return;
    if (out.left.resident > 0) {
        snprintf(c->why, sizeof(c->why),
                 "%.2g %% of the objects stayed in the page cache, which somebody else uses",
                 100 * (double)out.left.resident / (double)out.left.pages);
        return;
    }
    if (isnan(before = bytes_read(device, n))) {
        snprintf(c->why, sizeof(c->why), "nobody counts what is read below this target");
        return;
    }
    if (posix_memalign(&probes.buf, PROBE_ALIGN, PROBE_BYTES) != 0)
        probes.rc = -ENOMEM;
    int rc = probes.rc == 0 ? pass_over(&probes, target, n) : probes.rc;
    free(probes.buf);
    double moved = bytes_read(device, n) - before;
    if (rc < 0)
        snprintf(c->why, sizeof(c->why), "what was stored could not be read");
    else if (!(moved >= COLD_SHARE * (double)probes.bytes))
        snprintf(c->why, sizeof(c->why), "of %llu KiB read as a probe the device moved %.0f KiB",
                 (unsigned long long)probes.bytes >> 10, moved / 1024);
}

void cold_judge(struct cold *c, const struct origin *reads)
{
    double moved = reads->part[ORIGIN_DEVICE] + reads->part[ORIGIN_SAVED];

    if (!c->asked || c->why[0] || !(reads->asked > 0) || moved >= COLD_SHARE * reads->asked)
        return;
    if (reads->part[ORIGIN_UNKNOWN] > 0)
        snprintf(c->why, sizeof(c->why), "what the device read is not known");
    else
        snprintf(c->why, sizeof(c->why), "%.1f %% of the bytes read did not come from the device",
                 100 * (1 - moved / reads->asked));
}

const char *cold_text(char buf[COLD_TEXT], const struct cold *c)
{
    snprintf(buf, COLD_TEXT, "%s%s", c->why[0] ? "not cold: " : "cold", c->why);
    return buf;
}
