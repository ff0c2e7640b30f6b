/* Last stage of a replay: from finished rows to the trace writer, in the order in which the
 * scheduler saw them end. Rows of the head (prepop, ingest) end before the replay's zero is known,
 * and there may be any number of them: they go through a scratch file, not through memory. */
#include "kvreplay/sched/results.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/wait/row.h"
#include "lib/base/memory.h"

enum {
    RESULTS_FLUSH_NS = 500000000, /* a row reaches the output within a second */
    LATE_BYTES = 64 << 20,        /* held back at most: then the oldest goes as it is */
    LATE_FIRST = 1 << 16
};

struct results {
    struct trace_writer *w;
    const struct tier_door *door[TRACE_TIERS];
    unsigned doors[TRACE_TIERS];
    int64_t rank;     /* of the rows; TRACE_NONE: there are no parts */
    int64_t flush_ns; /* when the next flush is due */
    bool zero_known;
    int64_t zero_ns;
    FILE *held; /* the scratch file; NULL: no row waits */
    char *line; /* buffer to read a row back */
    size_t line_room;
    struct results_late late; /* until is NULL: nobody knows more */
    /* Rows that are held back, each struct late_row and its text: bytes [begin, end) of them. */
    char *waiting;
    size_t begin, end, room;
};

/* A row in the scratch file: the result columns, then the text of the row. */
struct held_row {
    int64_t due_ns, eligible_ns, start_ns, latency_ns, device_ns, slot_ns, first_byte_ns;
    int32_t status;
    uint32_t line_len;
    uint8_t tier, door;
};

/* A row that is held back; its text follows behind the extents that there are, most have one of the
 * sixteen, and the next row at a multiple of 8 bytes: rows of some 40 ms wait, and should not fill
 * the processor's cache. */
struct late_row {
    struct trace_row t;
    struct trace_extra extra;
    struct disk_where where; /* wanted is false: nothing is asked */
};

static size_t late_text(const struct disk_where *where)
{
    return offsetof(struct late_row, where.at) + (where ? where->count : 0) * sizeof(where->at[0]);
}

static size_t late_bytes(const struct disk_where *where, size_t line_len)
{
    return (late_text(where) + line_len + 7) & ~(size_t)7;
}

int results_open(struct results **out, struct trace_writer *w, int64_t rank, struct err *e)
{
    struct results *r = calloc(1, sizeof(*r));
    if (!r)
        return err_nomem(e, "results");
    r->w = w;
    r->rank = rank;
    *out = r;
    return 0;
}

void results_close(struct results *r)
{
    if (!r)
        return;
    if (r->held)
        fclose(r->held);
    free(r->line);
    free(r->waiting);
    free(r);
}

void results_doors(struct results *r, unsigned tier, const struct tier_door *door, unsigned doors)
{
    r->door[tier] = door;
    r->doors[tier] = doors;
}

static struct trace_str results_endpoint(const struct results *r, unsigned tier, unsigned door)
{
    if (tier >= TRACE_TIERS || door >= r->doors[tier])
        return (struct trace_str){0};
    const char *endpoint = r->door[tier][door].endpoint;
    return (struct trace_str){endpoint, (uint32_t)strlen(endpoint)};
}

static int64_t results_since(const struct results *r, int64_t t)
{
    return t == TRACE_NONE ? TRACE_NONE : t - r->zero_ns;
}

static int results_write(struct results *r, const struct trace_row *t, struct trace_extra *extra,
                         struct err *e)
{
    struct trace_row out = *t;
    out.extra = extra;
    out.due_ns = results_since(r, t->due_ns);
    out.eligible_ns = results_since(r, t->eligible_ns);
    out.start_ns = results_since(r, t->start_ns);
    return trace_write(r->w, &out, e);
}

static int results_scratch_error(struct err *e)
{
    return err_errno(e, errno ? errno : EIO, ERR_OUTPUT, "scratch file",
                     "cannot keep the results of the rows before the clock starts");
}

int results_zero(struct results *r, int64_t zero_ns, struct err *e)
{
    struct held_row h;
    int rc = 0;

    r->zero_known = true;
    r->zero_ns = zero_ns;
    if (!r->held)
        return 0;
    if (fflush(r->held) != 0)
        return results_scratch_error(e);
    rewind(r->held);
    while (rc == 0 && fread(&h, sizeof(h), 1, r->held) == 1) {
        if (h.line_len > r->line_room) {
            if (memory_resize(&r->line, h.line_len, 1) < 0)
                return err_nomem(e, "row");
            r->line_room = h.line_len;
        }
        if (h.line_len && fread(r->line, h.line_len, 1, r->held) != 1)
            return results_scratch_error(e);
        struct trace_row t = {.due_ns = h.due_ns,
                              .eligible_ns = h.eligible_ns,
                              .start_ns = h.start_ns,
                              .latency_ns = h.latency_ns,
                              .device_ns = h.device_ns,
                              .status = h.status,
                              .line = {r->line, h.line_len}};
        struct trace_extra extra = {.slot_ns = h.slot_ns,
                                    .first_byte_ns = h.first_byte_ns,
                                    .queue_ns = TRACE_NONE,
                                    .drive_ns = TRACE_NONE,
                                    .rank = r->rank,
                                    .endpoint = results_endpoint(r, h.tier, h.door)};
        rc = results_write(r, &t, &extra, e);
    }
    if (rc == 0 && ferror(r->held))
        rc = results_scratch_error(e);
    fclose(r->held);
    r->held = NULL;
    return rc;
}

/* ---- rows that are held back ---- */

void results_wait_for(struct results *r, const struct results_late *late)
{
    r->late = *late;
}

/* Writes the oldest row, when it may be asked about or all must go. 1: it is written; 0: it must
 * wait, or there is none. */
static int results_next(struct results *r, int64_t until_ns, struct err *e)
{
    if (r->begin == r->end)
        return 0;
    struct late_row *l = (struct late_row *)(void *)(r->waiting + r->begin);
    bool full = r->end - r->begin > LATE_BYTES;
    if (l->where.wanted && l->t.start_ns + l->t.latency_ns >= until_ns && !full)
        return 0;
    l->t.line.p = l->t.line.len ? (const char *)l + late_text(&l->where) : NULL;
    r->begin += late_bytes(&l->where, l->t.line.len);
    const struct results_question q = {.where = &l->where,
                                       .op = (enum trace_op)l->t.op,
                                       .size = l->t.size,
                                       .start_ns = l->t.start_ns,
                                       .latency_ns = l->t.latency_ns,
                                       .device_ns = l->t.device_ns};
    if (l->where.wanted)
        r->late.ask(r->late.ctx, &q, &l->extra);
    int rc = r->w ? results_write(r, &l->t, &l->extra, e) : 0;
    return rc < 0 ? rc : 1;
}

static int results_drain(struct results *r, int64_t until_ns, struct err *e)
{
    int rc;

    while ((rc = results_next(r, until_ns, e)) > 0)
        continue;
    if (r->begin == r->end)
        r->begin = r->end = 0;
    return rc;
}

static int results_hold(struct results *r, const struct row *row, const struct trace_extra *extra,
                        struct err *e)
{
    size_t text = late_text(row->where), bytes = late_bytes(row->where, row->t.line.len);

    /* Moved at most as often as rows were written. */
    if (r->end + bytes > r->room && r->begin >= r->end - r->begin) {
        memmove(r->waiting, r->waiting + r->begin, r->end - r->begin);
        r->end -= r->begin;
        r->begin = 0;
    }
    while (r->end + bytes > r->room) {
        size_t room = r->room ? 2 * r->room : LATE_FIRST;
        if (memory_resize(&r->waiting, room, 1) < 0)
            return err_nomem(e, "rows");
        r->room = room;
    }
    struct late_row *l = (struct late_row *)(void *)(r->waiting + r->end);
    l->t = row->t;
    l->extra = *extra;
    if (row->where)
        memcpy(&l->where, row->where, text - offsetof(struct late_row, where));
    else
        memset(&l->where, 0, offsetof(struct disk_where, at));
    if (row->t.line.len)
        memcpy((char *)l + text, row->t.line.p, row->t.line.len);
    r->end += bytes;
    return results_drain(r, r->late.until(r->late.ctx), e);
}

int results_settle(struct results *r, struct err *e)
{
    return results_drain(r, INT64_MAX, e);
}

void results_flush(struct results *r, int64_t now_ns)
{
    struct err later;

    if (r->late.until && r->begin < r->end) /* an error is one of the next row, too */
        (void)results_drain(r, r->late.until(r->late.ctx), &later);
    if (!r->w || now_ns < r->flush_ns)
        return;
    r->flush_ns = now_ns + RESULTS_FLUSH_NS;
    trace_flush(r->w);
}

int results_put(struct results *r, const struct row *row, struct err *e)
{
    const struct trace_row *t = &row->t;
    struct trace_extra extra = {.slot_ns = row->part.slot_ns,
                                .first_byte_ns = row->first_byte_ns,
                                .queue_ns = TRACE_NONE,
                                .drive_ns = TRACE_NONE,
                                .rank = r->rank,
                                .endpoint = results_endpoint(r, t->tier, row->door)};

    if (r->late.until && r->zero_known)
        return results_hold(r, row, &extra, e);
    if (!r->w)
        return 0;
    if (r->zero_known)
        return results_write(r, t, &extra, e);
    struct held_row h = {.due_ns = t->due_ns,
                         .eligible_ns = t->eligible_ns,
                         .start_ns = t->start_ns,
                         .latency_ns = t->latency_ns,
                         .device_ns = t->device_ns,
                         .slot_ns = extra.slot_ns,
                         .first_byte_ns = extra.first_byte_ns,
                         .status = t->status,
                         .line_len = t->line.len,
                         .tier = t->tier,
                         .door = row->door};
    if (!r->held && !(r->held = tmpfile()))
        return results_scratch_error(e);
    if (fwrite(&h, sizeof(h), 1, r->held) != 1 ||
        (t->line.len && fwrite(t->line.p, t->line.len, 1, r->held) != 1))
        return results_scratch_error(e);
    return 0;
}
