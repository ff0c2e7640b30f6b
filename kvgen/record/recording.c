/* Reads recordings message by message, keeps a capture of them if one is wanted, and turns what
 * they did to blocks into rows, in order of time. The readers know the formats, residency.c knows
 * what becomes a row. */
#include "kvgen/record/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/record/capture.h"
#include "kvgen/record/dynamo.h"
#include "kvgen/record/readers.h"
#include "kvgen/record/residency.h"
#include "lib/base/clock.h"
#include "lib/base/keymap.h"
#include "lib/base/memory.h"
#include "lib/sort/heap.h"

enum {
    MAX_WAITING = 1 << 20, /* rows; the first ones go out then, whatever comes */
    KEY_PREFIX = 6,        /* "block_"; a hash follows */
    PUBLISHER_PREFIX = 10, /* "publisher_"; half a hash follows */
    KEY = KEY_PREFIX + HASH_HEX_LEN + 1,
    PUBLISHER = PUBLISHER_PREFIX + HASH_HEX_LEN + 1
};

/* A row that waits for rows of other publishers with earlier times. */
struct waiting {
    struct residency_op op;
    struct heap_event place; /* its time; tie: the order in which rows came; item: this place */
    uint32_t next;           /* in the list of free places, or of rows in order */
};
#define NONE UINT32_MAX

struct recording {
    struct import base; /* first */
    struct recording_opts o;
    struct inputs *in;
    struct frame_in *file; /* lent by in */
    struct batch_reader *reader;
    struct batch batch;
    uint64_t messages; /* of this file */
    struct residency *residency;
    struct capture *capture;
    /* Rows that wait. Nearly all come in order of time: they are a list. Others are in the heap. */
    struct waiting *waiting;
    uint32_t waiting_cap, waiting_count, unused, first, last;
    struct heap others;
    uint64_t rows;
    struct source *requests;   /* NULL: reads are not filled in */
    int64_t row_ns;            /* time of the rows that come now */
    struct keymap *clocks;     /* time of the last message of each publisher */
    int64_t newest_ns;         /* time of the newest message, and since then while none comes */
    int64_t newest_at_ns;      /* when it came */
    bool none_now;             /* no message came for a while */
    int64_t first_ns, last_ns; /* of the rows given */
    bool any, ended;
    int end; /* why it ended: 0, or -EBADMSG with end_err */
    struct err end_err;
    struct source_recording counts;
    struct batch_unknown unknown; /* of readers that were closed */
    struct skips skips;
    struct trace_row row;
    char key[KEY], publisher[PUBLISHER];
    struct hash128 shown; /* whose name publisher is */
};

/* ---- messages ---- */

/* The first bytes tell a container of messages from a capture. */
static int find_kv_events(struct recording *r, const struct batch_reader_ops **reader,
                          struct err *e)
{
    static const char magic[8] = {'Z', 'M', 'Q', 'R', 'E', 'C', '1', '\n'};
    char head[sizeof(magic)];
    size_t len = 0;
    int64_t n = 1;
    while (len < sizeof(head) && n > 0) {
        n = frame_in_read(r->file, head + len, sizeof(head) - len, e);
        if (n < 0)
            return (int)n;
        len += (size_t)n;
    }
    if (frame_in_unread(r->file, head, len) < 0)
        return err_nomem(e, "input");
    *reader = len < sizeof(magic)                     ? NULL
              : memcmp(head, magic, len) == 0         ? &zmqrec_reader
              : memcmp(head, CAPTURE_MAGIC, len) == 0 ? &capture_reader
                                                      : NULL;
    return *reader ? 0
                   : err_set(e, -EINVAL, ERR_INPUT, frame_in_name(r->file),
                             "no recording of KV events (known: .zmqrec, captures of kvgen)");
}

static int open_reader(struct recording *r, struct err *e)
{
    static const struct batch_reader_ops *const readers[RECORDING_FORMATS] = {
        [RECORDING_TRTLLM] = &trtllm_reader,
        [RECORDING_DYNAMO_KV] = &dynamo_kv_reader,
        [RECORDING_LCT] = &lct_reader,
        [RECORDING_STRACE] = &strace_reader,
    };
    const struct batch_reader_ops *reader = readers[r->o.format];
    int rc = reader ? 0 : find_kv_events(r, &reader, e);
    r->messages = 0;
    return rc < 0 ? rc : batch_reader_open(&r->reader, reader, r->file, &r->o.record, e);
}

static void close_reader(struct recording *r)
{
    if (!r->reader)
        return;
    if (r->reader->unknown.events > 0 && r->unknown.events == 0)
        memcpy(r->unknown.event, r->reader->unknown.event, sizeof(r->unknown.event));
    r->unknown.events += r->reader->unknown.events;
    r->unknown.fields += r->reader->unknown.fields;
    r->unknown.calls += r->reader->unknown.calls;
    r->unknown.unnamed += r->reader->unknown.unnamed;
    r->unknown.rings += r->reader->unknown.rings;
    for (int i = 0; i < BATCH_DAMAGES; i++)
        r->unknown.damaged[i] += r->reader->unknown.damaged[i];
    batch_reader_close(r->reader);
    r->reader = NULL;
}

/* The next message of any file: 1; 0 at the end; negative errno. */
static int next_message(struct recording *r, struct err *e)
{
    for (;;) {
        int rc;
        if (!r->reader) {
            rc = inputs_next(r->in, &r->file, e);
            if (rc <= 0 || (rc = open_reader(r, e)) < 0)
                return rc;
        }
        rc = r->reader->ops->next(r->reader, &r->batch, e);
        r->messages += rc != BATCH_NONE_NOW;
        if (rc != 0 || r->o.live)
            return rc;
        close_reader(r);
    }
}

/* Says where an error of a message is, unless it says so itself. */
static int at_message(const struct recording *r, int rc, struct err *e)
{
    if (rc < 0 && rc != -EINTR && e->where[0] == '\0' && e->class == ERR_INPUT)
        snprintf(e->where, sizeof(e->where), "%s: message %llu",
                 r->file ? frame_in_name(r->file) : "live", (unsigned long long)r->messages);
    return rc;
}

/* ---- rows in order ---- */

/* The residency's sink. */
static int keep_row(void *ctx, const struct residency_op *op, struct err *e)
{
    struct recording *r = ctx;
    if (r->unused == NONE) {
        uint32_t cap = r->waiting_cap * 2 + 1024;
        if (cap <= r->waiting_cap || memory_resize(&r->waiting, cap, sizeof(*r->waiting)) < 0 ||
            heap_reserve(&r->others, cap) < 0)
            return err_nomem(e, "rows");
        for (uint32_t i = r->waiting_cap; i < cap; i++)
            r->waiting[i].next = i + 1 < cap ? i + 1 : NONE;
        r->unused = r->waiting_cap;
        r->waiting_cap = cap;
    }
    uint32_t at = r->unused;
    r->unused = r->waiting[at].next;
    struct waiting *w = &r->waiting[at];
    w->op = *op;
    w->place = (struct heap_event){.time_ns = r->row_ns, .tie = r->rows++, .item = at};
    w->next = NONE;
    r->waiting_count++;
    if (r->first == NONE)
        r->first = r->last = at;
    else if (r->row_ns < r->waiting[r->last].place.time_ns)
        heap_push(&r->others, w->place);
    else
        r->last = r->waiting[r->last].next = at;
    return 0;
}

/* Fills in the reads of the requests whose prefill began by a time. 0 or negative errno with *e. */
static int read_requests(struct recording *r, int64_t until_ns, struct err *e)
{
    int64_t arrival_ns;
    int rc = 1;
    while (r->requests && (rc = r->requests->ops->peek(r->requests, &arrival_ns, e)) > 0) {
        struct request q;
        uint32_t read;
        uint64_t cached = source_dynamo_cached(r->requests);
        r->row_ns = source_dynamo_start_ns(r->requests) + arrival_ns;
        if (r->row_ns > until_ns)
            return 0;
        r->requests->ops->take(r->requests, &q);
        struct residency_request wanted = {.number = q.number,
                                           .block_tokens = q.block_tokens,
                                           .block = q.blocks,
                                           .blocks = q.block_count};
        rc = residency_read(r->residency, &wanted, &read, e);
        r->requests->ops->release(r->requests, &q);
        if (rc < 0)
            return rc;
        r->counts.requests++;
        r->counts.requests_refused += rc == 0;
        r->counts.requests_exact += rc > 0 && (uint64_t)read * q.block_tokens == cached;
        r->counts.read_tokens += (uint64_t)read * q.block_tokens;
    }
    return rc < 0 ? rc : 0;
}

/* No message came for a while: what waits for later ones goes, as time goes on, and is written. */
static int wait_on(struct recording *r, struct err *e)
{
    int64_t now = clock_now_ns();
    if (r->newest_at_ns > 0)
        r->newest_ns += now - r->newest_at_ns;
    r->newest_at_ns = now;
    r->none_now = true;
    return r->capture ? capture_flush(r->capture, e) : 0;
}

/* Reads a message and keeps its rows. At the end, and where the input is cut, ended is set: what is
 * kept is given before the error. */
static int read_message(struct recording *r, struct err *e)
{
    int rc = at_message(r, next_message(r, e), e);
    if (rc == 0 || rc == -EBADMSG) {
        r->ended = true;
        r->end = rc;
        if (rc < 0)
            r->end_err = *e;
        return read_requests(r, INT64_MAX, e);
    }
    if (rc == BATCH_NONE_NOW)
        return wait_on(r, e);
    if (rc < 0)
        return rc;
    if (r->requests && r->reader->key != names_fingerprint(&r->o.record.names))
        return err_set(
            e, -EINVAL, ERR_INPUT, "--requests",
            "the capture %s cannot be paired: it was not made with this key (--names must name the "
            "same file in both runs)",
            frame_in_name(r->file));
    int64_t time_ns = r->batch.time_ns;
    /* A publisher's messages are in order, whatever its clock says. */
    bool by_object = r->batch.by_object && r->batch.hashes > 0;
    uint64_t *clock = keymap_get(r->clocks, by_object ? r->batch.hash[0] : r->batch.publisher, 0);
    if (!clock)
        return err_nomem(e, "publishers");
    if ((uint64_t)time_ns < *clock) {
        r->counts.late += time_ns > 0; /* some messages have no time */
        time_ns = (int64_t)*clock;
    }
    *clock = (uint64_t)time_ns;
    if (time_ns > r->newest_ns) {
        r->newest_ns = time_ns;
        r->newest_at_ns = r->o.live ? clock_now_ns() : 0;
    }
    rc = read_requests(r, time_ns, e);
    r->row_ns = time_ns;
    if (rc == 0)
        rc = at_message(r, residency_apply(r->residency, &r->batch, e), e);
    return rc == 0 && r->capture ? capture_put(r->capture, r->reader, &r->batch, e) : rc;
}

/* Sets the columns that all rows share. */
static void begin_rows(struct recording *r)
{
    trace_row_clear(&r->row);
    memcpy(r->key, "block_", KEY_PREFIX);
    memcpy(r->publisher, "publisher_", PUBLISHER_PREFIX);
    r->row.key = (struct trace_str){.p = r->key, .len = KEY - 1};
    r->row.user = (struct trace_str){.p = r->publisher, .len = PUBLISHER_PREFIX + HASH_HEX_LEN / 2};
}

static void make_row(struct recording *r, const struct heap_event *event)
{
    const struct residency_op *op = &r->waiting[event->item].op;
    struct trace_row *row = &r->row;
    int64_t time_ns = event->time_ns;
    if (!r->any)
        r->first_ns = r->last_ns = time_ns;
    r->any = true;
    r->counts.late += time_ns < r->last_ns;
    if (time_ns < r->last_ns)
        time_ns = r->last_ns;
    r->last_ns = time_ns;

    hash_hex(op->id, r->key + KEY_PREFIX);
    if (r->publisher[PUBLISHER_PREFIX] == '\0' ||
        memcmp(&op->publisher, &r->shown, sizeof(r->shown)) != 0) {
        hash_hex(op->publisher, r->publisher + PUBLISHER_PREFIX);
        r->shown = op->publisher;
    }
    row->time_ns = time_ns - r->first_ns;
    row->op = op->op;
    row->tier = op->tier;
    row->phase = op->phase;
    row->class = op->phase == TRACE_EVICT ? TRACE_CLASS_EVICT : TRACE_BLOCK;
    row->size = op->bytes;
    row->request = op->request > 0 ? (int64_t)op->request : TRACE_NONE;
    row->tokens = op->tokens > 0 ? (int64_t)op->tokens : TRACE_NONE;
}

/* The earliest row that waits; NULL: none does. */
static const struct heap_event *earliest(const struct recording *r)
{
    const struct heap_event *other = heap_top(&r->others);
    const struct heap_event *first = r->first != NONE ? &r->waiting[r->first].place : NULL;
    if (!first || !other)
        return first ? first : other;
    return first->time_ns < other->time_ns ||
                   (first->time_ns == other->time_ns && first->tie < other->tie)
               ? first
               : other;
}

static int next(struct import *base, const struct trace_row **row, struct err *e)
{
    struct recording *r = (struct recording *)base;
    for (;;) {
        const struct heap_event *top = earliest(r);
        if (top && (r->ended || r->waiting_count >= MAX_WAITING ||
                    r->newest_ns - top->time_ns >= r->o.reorder_ns)) {
            uint32_t at = top->item;
            make_row(r, top);
            if (at == r->first)
                r->first = r->waiting[at].next;
            else
                heap_pop(&r->others);
            r->waiting[at].next = r->unused;
            r->unused = at;
            r->waiting_count--;
            *row = &r->row;
            return 1;
        }
        if (r->ended) {
            if (r->end < 0)
                *e = r->end_err;
            return r->end;
        }
        if (r->none_now) {
            r->none_now = false;
            return IMPORT_NONE_NOW;
        }
        int rc = read_message(r, e);
        if (rc < 0)
            return rc;
    }
}

/* ---- the end ---- */

/* Remarks on messages that the state of the caches could not take. */
static void note_left_out(const struct recording *r, struct notes *remarks)
{
    char names[160] = "";
    const struct media *media = &r->o.record.media;
    for (unsigned i = 0; i < media->count; i++) {
        size_t len = strlen(names);
        if (media->medium[i].tier == TRACE_NO_TIER)
            snprintf(names + len, sizeof(names) - len, "%s%s", len > 0 ? ", " : "",
                     media->medium[i].name);
    }
    if (r->counts.unknown_media > 0)
        notes_add(remarks,
                  "blocks left out because their medium is unknown: %llu, in %s (--config medium "
                  "NAME=TIER gives "
                  "its tier)",
                  (unsigned long long)r->counts.unknown_media, names);
    if (r->counts.unsized > 0)
        notes_add(remarks,
                  "blocks left out because their size is not recorded: %llu (--object-bytes gives "
                  "it)",
                  (unsigned long long)r->counts.unsized);
}

static int finish(struct import *base, struct err *e)
{
    struct recording *r = (struct recording *)base;
    struct notes *remarks = &r->skips.remarks;
    struct source_recording before = r->counts;
    struct capture *capture = r->capture;
    close_reader(r);
    r->counts = *residency_counts(r->residency);
    r->counts.late = before.late;
    r->counts.requests = before.requests;
    r->counts.requests_refused = before.requests_refused;
    r->counts.requests_exact = before.requests_exact;
    r->counts.read_tokens = before.read_tokens;
    r->counts.media = r->o.record.media.count;
    for (size_t i = 0; i < r->counts.media; i++)
        r->counts.medium[i].name = r->o.record.media.medium[i].name;
    r->counts.unknown_fields = r->unknown.fields;
    r->counts.unknown_events = r->unknown.events;
    r->counts.has_times = before.has_times;
    r->counts.has_reads = before.has_reads;
    r->counts.unrecorded = before.unrecorded;
    r->counts.cut = r->end < 0;
    for (int i = BATCH_WHOLE + 1; i < BATCH_DAMAGES; i++)
        r->counts.damaged += r->unknown.damaged[i];
    batch_unknown_note(&r->unknown, remarks);
    note_left_out(r, remarks);
    if (r->unknown.calls > 0)
        notes_add(remarks,
                  "reads and writes of descriptors that were opened before the recording began are "
                  "left out: %llu",
                  (unsigned long long)r->unknown.calls);
    if (r->unknown.rings > 0)
        notes_add(
            remarks,
            "the engine uses io_uring, whose reads and writes strace cannot see (the kernel's "
            "tracepoints io_uring_submit_req and io_uring_complete can); its io_uring calls: %llu",
            (unsigned long long)r->unknown.rings);
    if (r->unknown.unnamed > 0)
        notes_add(remarks,
                  "files named .tmp that got no other name: %llu (rename, renameat and renameat2 "
                  "must be recorded)",
                  (unsigned long long)r->unknown.unnamed);
    if (before.late > 0)
        notes_add(remarks,
                  "rows that came later than --config reorder allows, and messages whose time "
                  "goes back: %llu, moved to the time of those before them",
                  (unsigned long long)before.late);
    if (r->requests)
        notes_merge(remarks, &r->requests->ops->skips(r->requests)->remarks);
    r->capture = NULL;
    return capture ? capture_close(capture, e) : 0;
}

static const struct source_recording *counts(const struct import *base)
{
    return &((const struct recording *)base)->counts;
}

static const struct skips *skips(const struct import *base)
{
    return &((const struct recording *)base)->skips;
}

static uint32_t columns(const struct import *base)
{
    uint32_t request =
        ((const struct recording *)base)->requests ? TRACE_BIT(TRACE_COL_REQUEST) : 0;
    return TRACE_CORE | request | TRACE_BIT(TRACE_COL_USER) | TRACE_BIT(TRACE_COL_CLASS) |
           TRACE_BIT(TRACE_COL_TOKENS);
}

static void close_recording(struct import *base)
{
    struct recording *r = (struct recording *)base;
    close_reader(r);
    inputs_close(r->in);
    residency_free(r->residency);
    keymap_free(r->clocks);
    if (r->requests)
        r->requests->ops->close(r->requests);
    capture_abandon(r->capture);
    batch_free(&r->batch);
    heap_free(&r->others);
    free(r->waiting);
    free(r);
}

/* Sets what the first message tells of the recording. */
static void set_facts(struct recording *r)
{
    const struct batch_reader *from = r->reader;
    r->counts.has_times = !(from && from->no_times);
    r->counts.has_reads = (from && from->has_reads) || r->requests;
    r->counts.unrecorded = from ? batch_unrecorded_text(from->unrecorded) : NULL;
}

#define RECORDING_OPS(format_name, words, unit)                                                    \
    {                                                                                              \
        .name = (format_name), .format = (words), .time_unit = (unit), .next = next,               \
        .finish = finish, .recording = counts, .skips = skips, .columns = columns,                 \
        .close = close_recording                                                                   \
    }

int recording_open(struct import **out, struct inputs *in, const struct recording_opts *o,
                   struct err *e)
{
    static const struct import_ops ops[RECORDING_FORMATS] = {
        [RECORDING_KV_EVENTS] = RECORDING_OPS("kv-events", "KV events", "s"),
        [RECORDING_TRTLLM] = RECORDING_OPS("trtllm", "events of TensorRT-LLM", NULL),
        [RECORDING_DYNAMO_KV] = RECORDING_OPS("dynamo-kv", "events of Dynamo's router", "ms"),
        [RECORDING_LCT] = RECORDING_OPS("lct", "a trace of LMCache", "s"),
        [RECORDING_STRACE] = RECORDING_OPS("strace", "strace", "s"),
    };
    struct recording *r = calloc(1, sizeof(*r));
    if (!r) {
        inputs_close(in);
        inputs_close(o->requests);
        return err_nomem(e, "recording");
    }
    r->base.ops = &ops[o->format];
    r->in = in;
    r->o = *o;
    r->o.record.learns = o->goes_on ? &r->o.record.media : NULL;
    r->unused = r->first = NONE;
    begin_rows(r);
    struct residency_opts residency = {.media = &r->o.record.media,
                                       .model = &r->o.model,
                                       .ranks = o->ranks,
                                       .object_bytes = o->object_bytes,
                                       .names = o->record.pairing ? &r->o.record.names : NULL,
                                       .goes_on = o->goes_on,
                                       .sink = keep_row,
                                       .ctx = r};
    r->residency = residency_create(&residency);
    r->clocks = keymap_create();
    int rc =
        r->residency && r->clocks && heap_init(&r->others, 0) == 0 ? 0 : err_nomem(e, "recording");
    if (rc == 0 && o->capture)
        rc = capture_create(&r->capture, o->capture, &r->o.record.media, e);
    struct source_dynamo_opts requests = {.files = {.speedup = 1, .cycles = 1},
                                          .names = &r->o.record.names,
                                          .after_wait = true,
                                          .qos = TRACE_BATCH};
    if (rc == 0 && o->requests)
        rc = source_dynamo_open(&r->requests, o->requests, &requests, e);
    else
        inputs_close(o->requests);
    if (rc == 0 && o->live)
        rc = live_open(&r->reader, o->live, &r->o.record, e);
    /* The first message tells whether the input is of the expected kind. */
    do
        rc = rc == 0 ? read_message(r, e) : rc;
    while (rc == 0 && r->messages == 0 && !r->ended);
    if (rc == 0 && r->ended && r->end == 0)
        rc = o->live ? err_set(e, -EINVAL, ERR_INPUT, "live", "no message came")
                     : err_set(e, -EINVAL, ERR_INPUT, inputs_path(in), "holds no event");
    if (rc < 0) {
        close_recording(&r->base);
        return rc;
    }
    set_facts(r);
    *out = &r->base;
    return 0;
}
