/* Last stage of a replay: from finished rows to the trace writer, in the order in which the
 * scheduler saw them end. Rows of the head (prepop, ingest) end before the replay's zero is known,
 * and there may be any number of them: they go through a scratch file, not through memory. */
#include "kvreplay/sched/results.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/sched/row.h"

enum {
    RESULTS_FLUSH_NS = 500000000 /* a row reaches the output within a second */
};

struct results {
    struct trace_writer *w;
    int64_t flush_ns; /* when the next flush is due */
    bool zero_known;
    int64_t zero_ns;
    FILE *held; /* the scratch file; NULL: no row waits */
    char *line; /* buffer to read a row back */
    size_t line_room;
    struct {
        const char *const *name;
        unsigned count;
    } endpoints[TRACE_TIERS];
};

/* A held row: the result columns, then the text of the row. */
struct held_row {
    int64_t due_ns, eligible_ns, start_ns, latency_ns, device_ns, slot_ns, first_byte_ns;
    int32_t status;
    uint32_t line_len;
    uint8_t tier, endpoint;
};

int results_open(struct results **out, struct trace_writer *w, struct err *e)
{
    struct results *r = calloc(1, sizeof(*r));
    if (!r)
        return err_nomem(e, "results");
    r->w = w;
    *out = r;
    return 0;
}

void results_endpoints(struct results *r, unsigned tier, const char *const *name, unsigned count)
{
    r->endpoints[tier].name = name;
    r->endpoints[tier].count = count > 1 ? count : 0;
}

static struct trace_str results_endpoint(const struct results *r, unsigned tier, unsigned i)
{
    const char *name =
        tier < TRACE_TIERS && i < r->endpoints[tier].count ? r->endpoints[tier].name[i] : NULL;

    return (struct trace_str){name, name ? (uint32_t)strlen(name) : 0};
}

void results_close(struct results *r)
{
    if (!r)
        return;
    if (r->held)
        fclose(r->held);
    free(r->line);
    free(r);
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
            char *line = realloc(r->line, h.line_len);
            if (!line)
                return err_nomem(e, "row");
            r->line = line;
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
                                    .rank = TRACE_NONE,
                                    .endpoint = results_endpoint(r, h.tier, h.endpoint)};
        rc = results_write(r, &t, &extra, e);
    }
    if (rc == 0 && ferror(r->held))
        rc = results_scratch_error(e);
    fclose(r->held);
    r->held = NULL;
    return rc;
}

void results_flush(struct results *r, int64_t now_ns)
{
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
                                .rank = TRACE_NONE,
                                .endpoint = results_endpoint(r, t->tier, row->endpoint)};

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
                         .tier = t->tier,
                         .endpoint = row->endpoint,
                         .line_len = t->line.len};
    if (!r->held && !(r->held = tmpfile()))
        return results_scratch_error(e);
    if (fwrite(&h, sizeof(h), 1, r->held) != 1 ||
        (t->line.len && fwrite(t->line.p, t->line.len, 1, r->held) != 1))
        return results_scratch_error(e);
    return 0;
}
