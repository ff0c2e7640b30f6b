/* Apart from reports on rows: a file of events of block devices goes through the same joining of
 * requests as kvreplay's own events do. Sources: linux/blktrace_api.h (struct blk_io_trace) and
 * btt's manual ("-q", "-z": a line for each I/O, time and latency in seconds). */
#include "kvstat/block_log.h"

#include <byteswap.h>
#include <errno.h>
#include <linux/blktrace_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kvstat/report/cells.h"
#include "lib/base/hist.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/drive/request_groups.h"
#include "lib/drive/request_join.h"

enum {
    DEVICES = 64,
    SECTOR = 512,
    LINE = 256,
    DEVICE = 24,
    EVENTS_BETWEEN_LOOKS = 65536 /* for a signal */
};
#define LATENCY_MOST_S 1e6

struct block_log {
    bool latencies; /* of btt: without devices, directions and sizes */
    uint64_t events;
    unsigned devices;
    uint32_t device[DEVICES];
    struct request_groups group[DEVICES];
    struct hist *all; /* of latencies, ns */
    struct request_join *join;
    struct request_counts counts;
};

void block_log_free(struct block_log *b)
{
    if (!b)
        return;
    for (unsigned i = 0; i < DEVICES; i++)
        request_groups_free(&b->group[i]);
    hist_free(b->all);
    request_join_free(b->join);
    free(b);
}

/* ---- events of blkparse -d ---- */

/* Its last byte is the version. */
static bool has_magic(uint32_t magic)
{
    return (magic & 0xffffff00) == BLK_IO_TRACE_MAGIC;
}

/* Events are in the byte order of the machine that recorded them. */
static void swap_event(struct blk_io_trace *t)
{
    t->magic = bswap_32(t->magic);
    t->time = bswap_64(t->time);
    t->sector = bswap_64(t->sector);
    t->bytes = bswap_32(t->bytes);
    t->action = bswap_32(t->action);
    t->device = bswap_32(t->device);
    t->pdu_len = bswap_16(t->pdu_len);
}

/* False: it is none of the three that are joined. */
static bool event_of(const struct blk_io_trace *t, struct request_event *v)
{
    static const struct {
        uint32_t action;
        enum request_event_kind kind;
    } kinds[] = {{__BLK_TA_ISSUE, REQUEST_ISSUED},
                 {__BLK_TA_COMPLETE, REQUEST_COMPLETED},
                 {__BLK_TA_REQUEUE, REQUEST_REQUEUED}};
    const uint32_t other = BLK_TC_ACT(BLK_TC_DISCARD) | BLK_TC_ACT(BLK_TC_PC);

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if ((t->action & 0xffff) != kinds[i].action || t->action & BLK_TC_ACT(BLK_TC_NOTIFY))
            continue;
        *v = (struct request_event){.time_ns = t->time > INT64_MAX ? INT64_MAX : (int64_t)t->time,
                                    .sector = t->sector,
                                    .device = t->device,
                                    .sectors = t->bytes / SECTOR,
                                    .kind = (uint8_t)kinds[i].kind,
                                    .what = t->action & other                      ? REQUEST_OTHER
                                            : t->action & BLK_TC_ACT(BLK_TC_WRITE) ? REQUEST_WRITE
                                                                                   : REQUEST_READ};
        return true;
    }
    return false;
}

static int take_request(struct block_log *b, const struct request *r)
{
    unsigned i = 0;

    while (i < b->devices && b->device[i] != r->device)
        i++;
    if (i == DEVICES)
        return -E2BIG;
    if (i == b->devices)
        b->device[b->devices++] = r->device;
    return request_groups_add(&b->group[i], r);
}

static int skip(FILE *f, unsigned bytes)
{
    char rest[512];

    while (bytes > 0) {
        size_t n = fread(rest, 1, bytes < sizeof(rest) ? bytes : sizeof(rest), f);
        if (n == 0)
            return -EBADMSG;
        bytes -= (unsigned)n;
    }
    return 0;
}

/* t: the first event, already read. */
static int read_events(struct block_log *b, FILE *f, struct blk_io_trace t, const char *path,
                       struct err *e)
{
    bool swapped = !has_magic(t.magic);
    uint64_t at = 0;
    size_t n = sizeof(t);
    int rc = 0;

    if (!(b->join = request_join_create()))
        return err_nomem(e, "requests");
    do {
        struct request_event v;
        struct request r;
        if (n < sizeof(t))
            return err_set(e, -EBADMSG, ERR_INPUT, path,
                           "the file is cut within the event at byte %llu; the figures cover what "
                           "is before",
                           (unsigned long long)at);
        if (swapped)
            swap_event(&t);
        if (!has_magic(t.magic))
            return err_set(e, -EINVAL, ERR_INPUT, path, "byte %llu: this is no event of blktrace",
                           (unsigned long long)at);
        if (++b->events % EVENTS_BETWEEN_LOOKS == 0 && stop_signal())
            return err_set(e, -EINTR, ERR_FAILED, path, "interrupted");
        if (event_of(&t, &v)) {
            rc = request_join_take(b->join, &v, &r);
            if (rc > 0)
                rc = take_request(b, &r);
        }
        if (rc == -E2BIG)
            return err_set(e, rc, ERR_INPUT, path, "more than %d devices", DEVICES);
        if (rc < 0)
            return err_nomem(e, "requests");
        if (skip(f, t.pdu_len) < 0)
            return err_set(e, -EBADMSG, ERR_INPUT, path,
                           "the file is cut within the event at byte %llu; the figures cover what "
                           "is before",
                           (unsigned long long)at);
        at += sizeof(t) + t.pdu_len;
    } while ((n = fread(&t, 1, sizeof(t), f)) > 0);
    return 0;
}

/* ---- latencies of btt ---- */

/* "  1.000123450   0.000087254": the second number, in seconds. */
static bool latency_of(const char *line, double *latency_s)
{
    char *end;
    double time_s = strtod(line, &end);

    if (end == line || !isfinite(time_s))
        return false;
    const char *second = end;
    *latency_s = strtod(second, &end);
    return end != second && end[strspn(end, " \t\r\n")] == '\0' && *latency_s >= 0 &&
           *latency_s <= LATENCY_MOST_S;
}

/* head: the first n bytes of the file, already read. */
static int read_latencies(struct block_log *b, FILE *f, const char *head, size_t n,
                          const char *path, struct err *e)
{
    char line[LINE];
    uint64_t number = 0;
    size_t len = 0;

    b->latencies = true;
    if (!(b->all = hist_create()))
        return err_nomem(e, "latencies");
    for (;;) {
        int c = n > 0 ? (unsigned char)*head : getc(f);
        double latency_s;
        if (n > 0) {
            head++;
            n--;
        }
        if (c != '\n' && c != EOF && c != '\0' && len < sizeof(line) - 1) {
            line[len++] = (char)c;
            continue;
        }
        line[len] = '\0';
        number += c != EOF || len > 0;
        bool blank = line[strspn(line, " \t\r")] == '\0' && (c == '\n' || c == EOF);
        if (!blank && ((c != '\n' && c != EOF) || !latency_of(line, &latency_s)))
            return err_set(e, -EINVAL, ERR_INPUT, path,
                           "line %llu: neither an event of blktrace (blkparse -d) nor a latency of "
                           "btt (time and latency, in seconds)",
                           (unsigned long long)number);
        if (!blank && hist_record(b->all, (int64_t)(latency_s * 1e9 + 0.5)) < 0)
            return err_nomem(e, "latencies");
        b->events += !blank;
        len = 0;
        if (c == EOF)
            return 0;
        if (b->events % EVENTS_BETWEEN_LOOKS == 0 && stop_signal())
            return err_set(e, -EINTR, ERR_FAILED, path, "interrupted");
    }
}

/* ---- the file ---- */

int block_log_read(struct block_log **out, const char *path, struct err *e)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "re");
    struct block_log *b = calloc(1, sizeof(*b));
    struct blk_io_trace first;
    int rc = 0;

    *out = NULL;
    if (!f || !b) {
        rc = f ? err_nomem(e, "requests") : err_errno(e, -errno, ERR_INPUT, path, "cannot open");
        goto out;
    }
    memset(&first, 0, sizeof(first));
    size_t n = fread(&first, 1, sizeof(first), f);
    if (n >= sizeof(first.magic) && (has_magic(first.magic) || has_magic(bswap_32(first.magic))))
        rc = n == sizeof(first)
                 ? read_events(b, f, first, path, e)
                 : err_set(e, -EBADMSG, ERR_INPUT, path, "the file is cut within its first event");
    else
        rc = read_latencies(b, f, (const char *)&first, n, path, e);
    if (rc == 0 && ferror(f))
        rc = err_errno(e, errno ? -errno : -EIO, ERR_INPUT, path, "cannot read");
    if (b->join)
        request_join_count(b->join, &b->counts);
    for (unsigned i = 0; i < b->devices; i++)
        if (request_groups_end(&b->group[i]) < 0 && rc == 0)
            rc = err_nomem(e, "requests");
out:
    if (f && !standard)
        fclose(f);
    if (rc < 0 && rc != -EBADMSG) {
        block_log_free(b);
        return rc;
    }
    *out = b;
    return rc;
}

/* ---- telling ---- */

/* "259:0". */
static const char *device_name(char buf[DEVICE], uint32_t number)
{
    snprintf(buf, DEVICE, "%u:%u", number >> 20, number & 0xfffff);
    return buf;
}

static void put_times(FILE *out, const char *what, const struct hist *h, const char *bytes)
{
    static const uint32_t ranks[] = {500000, 950000, 990000};
    char count[CELL], time[CELL];

    fprintf(out, "  %-28s %10s %10s", what, cell_count(count, hist_count(h)), bytes);
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
        fprintf(out, " %9s", cell_time(time, (double)hist_percentile(h, ranks[i]), true));
    fprintf(out, " %9s\n", cell_time(time, (double)hist_max(h), true));
}

void block_log_text(FILE *out, const char *file, const struct block_log *b)
{
    const struct request_counts *n = &b->counts;
    char a[CELL], bytes[CELL], what[64], device[DEVICE];

    if (b->latencies) {
        fprintf(out, "%s: %s latencies of btt\n", file, cell_count(a, b->events));
    } else {
        fprintf(out, "%s: %s requests joined of %s events of blktrace", file,
                cell_count(a, n->joined), cell_count(bytes, b->events));
        fprintf(out, "; %s put back, %s completions without an issue", cell_count(a, n->requeued),
                cell_count(bytes, n->unjoined));
        fprintf(out, ", %s flushes and discards\n", cell_count(a, n->others));
    }
    fprintf(out, "  %-28s %10s %10s %9s %9s %9s %9s\n", "at the drive", "requests", "bytes", "p50",
            "p95", "p99", "max");
    if (b->all && hist_count(b->all) > 0)
        put_times(out, "all", b->all, "-");
    for (unsigned i = 0; i < b->devices; i++)
        for (unsigned k = 0; k < REQUEST_GROUPS; k++) {
            const struct request_group *g = &b->group[i].of[k];
            if (!g->times)
                continue;
            snprintf(what, sizeof(what), "%s %s %s", device_name(device, b->device[i]),
                     k < SIZE_CLASSES ? "read" : "write", request_groups_size(k));
            put_times(out, what, g->times, cell_bytes(bytes, (double)g->bytes));
        }
}

void block_log_json(struct jsonout *j, const char *file, const struct block_log *b)
{
    const struct request_counts *n = &b->counts;
    char device[DEVICE];

    jsonout_object(j, NULL);
    jsonout_text_value(j, "file", file);
    jsonout_text_value(j, "format", b->latencies ? "btt" : "blktrace");
    jsonout_u64(j, "events", b->events);
    if (b->latencies) {
        jsonout_hist(j, "latency_us", b->all, 1e3);
        jsonout_end(j);
        return;
    }
    jsonout_u64(j, "drive_requests", n->joined);
    jsonout_u64(j, "requeued", n->requeued);
    jsonout_u64(j, "unjoined", n->unjoined);
    jsonout_u64(j, "other_requests", n->others);
    jsonout_array(j, "drive_times");
    for (unsigned i = 0; i < b->devices; i++)
        request_groups_json(&b->group[i], device_name(device, b->device[i]), j);
    jsonout_end(j);
    jsonout_end(j);
}
