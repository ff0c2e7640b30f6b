/* Writes and reads captures. A line has ts (ns since 1970), publisher, rank, seq, event, and what
 * the event has: medium, group, layers, tokens, bytes, parent, hashes, and sequences, by which
 * requests are paired. Lines of one message stand together. */
#include "kvgen/record/capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/format/output_file.h"
#include "kvgen/record/readers.h"
#include "lib/base/memory.h"
#include "lib/json/jsonin.h"
#include "lib/text/text.h"

enum {
    FIELD = 160 /* bytes that one member may take */
};

static const char *const kind_text[EVENT_KINDS] = {"stored", "removed", "cleared", "read"};
static const char *const layers_text[] = {"all", "full", "windowed"};
static const char *const unrecorded_text[BATCH_UNRECORDED_KINDS] = {"nothing", "exact times",
                                                                    "results", "memory"};

/* ---- writing ---- */

struct capture {
    struct output_file *file;
    const struct media *media;
    char *line;
    size_t len, cap;
    bool begun;  /* it has its head */
    bool failed; /* no memory */
};

static void put(struct capture *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct capture *c, const char *format, ...)
{
    if (c->cap - c->len < FIELD) {
        size_t cap = c->cap * 2 + 4096;
        if (memory_resize(&c->line, cap, 1) < 0) {
            c->failed = true;
            return;
        }
        c->cap = cap;
    }
    va_list args;
    va_start(args, format);
    int n = vsnprintf(c->line + c->len, c->cap - c->len, format, args);
    va_end(args);
    c->len += (size_t)n;
}

static void put_hash(struct capture *c, const char *before, struct hash128 h)
{
    char hex[HASH_HEX_LEN + 1];
    hash_hex(h, hex);
    put(c, "%s\"%s\"", before, hex);
}

static void put_event(struct capture *c, const struct batch *b, const struct event *v)
{
    put(c, ",\"event\":\"%s\",\"medium\":\"%s\"", kind_text[v->kind],
        c->media->medium[v->medium].name);
    if ((v->group.lo | v->group.hi) != 0)
        put_hash(c, ",\"group\":", v->group);
    if (v->layers != EVENT_LAYERS_ALL)
        put(c, ",\"layers\":\"%s\"", layers_text[v->layers]);
    if (v->tokens > 0)
        put(c, ",\"tokens\":%" PRIu32, v->tokens);
    if (v->bytes > 0)
        put(c, ",\"bytes\":%" PRIu64, v->bytes);
    if (v->anywhere)
        put(c, ",\"anywhere\":true");
    if (v->told_move)
        put(c, ",\"move\":true");
    if (v->rewrites)
        put(c, ",\"rewrites\":true");
    if (v->has_parent)
        put_hash(c, ",\"parent\":", v->parent);
    put(c, ",\"hashes\":[");
    for (size_t k = 0; k < v->count; k++)
        put_hash(c, k > 0 ? "," : "", b->hash[v->first + k]);
    put(c, "]");
    if (!v->has_sequences)
        return;
    put(c, "%s,\"sequences\":[", v->salted ? ",\"salted\":true" : "");
    for (size_t k = 0; k < v->count; k++) {
        uint64_t sequence = b->tokens[v->first + k];
        const char *before = k > 0 ? "," : "";
        if (sequence != 0)
            put(c, "%s\"%016" PRIx64 "\"", before, sequence);
        else
            put(c, "%snull", before);
    }
    put(c, "]");
}

static void put_head(struct capture *c, const struct batch_reader *from)
{
    put(c, CAPTURE_MAGIC "\"version\":1");
    if (from->no_times)
        put(c, ",\"times\":false");
    if (from->has_reads)
        put(c, ",\"reads\":true");
    if (from->unrecorded != BATCH_UNRECORDED_NOTHING)
        put(c, ",\"unrecorded\":\"%s\"", unrecorded_text[from->unrecorded]);
    if (from->key != 0)
        put(c, ",\"key\":\"%016" PRIx64 "\"", from->key);
    put(c, "}\n");
    c->begun = true;
}

int capture_put(struct capture *c, const struct batch_reader *from, const struct batch *b,
                struct err *e)
{
    size_t i = 0;
    c->len = 0;
    if (!c->begun)
        put_head(c, from);
    do {
        put(c, "{\"ts\":%" PRId64, b->time_ns);
        put_hash(c, ",\"publisher\":", b->publisher);
        put(c, ",\"rank\":%" PRId64, b->rank);
        if (b->numbered)
            put(c, ",\"seq\":%" PRIu64, b->seq);
        if (b->restarted)
            put(c, ",\"restarted\":true");
        if (b->by_object)
            put(c, ",\"by_object\":true");
        if (b->damage != BATCH_WHOLE && i == 0)
            put(c, ",\"damage\":\"%s\"", batch_damage_text(b->damage));
        if (i < b->events)
            put_event(c, b, &b->event[i]);
        put(c, "}\n");
    } while (++i < b->events);
    return c->failed ? err_nomem(e, "capture") : output_file_put(c->file, c->line, c->len, e);
}

int capture_create(struct capture **out, const char *path, const struct media *media, struct err *e)
{
    bool zstd = text_ends_with(path, ".zst");
    struct capture *c = calloc(1, sizeof(*c));
    if (!c)
        return err_nomem(e, "capture");
    c->media = media;
    int rc = output_file_open_growing(&c->file, path, zstd, 0, e);
    if (rc < 0) {
        capture_abandon(c);
        return rc;
    }
    *out = c;
    return 0;
}

int capture_flush(struct capture *c, struct err *e)
{
    return output_file_flush(c->file, e);
}

static void free_capture(struct capture *c)
{
    free(c->line);
    free(c);
}

int capture_close(struct capture *c, struct err *e)
{
    struct trace_totals totals;
    int rc = output_file_close(c->file, &totals, e);
    free_capture(c);
    return rc;
}

void capture_abandon(struct capture *c)
{
    if (!c)
        return;
    output_file_abandon(c->file);
    free_capture(c);
}

/* ---- reading ---- */

struct reader {
    struct batch_reader base;    /* first */
    const struct jsonin_v *line; /* of the next message; NULL: none was read */
    bool begun;
};

static const struct pick head_fields[] = {
    {"reads", NULL, PICK_BOOL, false, offsetof(struct batch_reader, has_reads)},
    {"key", NULL, PICK_HASH_64, false, offsetof(struct batch_reader, key)}};
/* Members of a line that belong to its message. */
static const struct pick message_fields[] = {
    {"ts", NULL, PICK_NS, true, offsetof(struct batch, time_ns)},
    {"rank", NULL, PICK_I64, true, offsetof(struct batch, rank)},
    {"restarted", NULL, PICK_BOOL, false, offsetof(struct batch, restarted)},
    {"by_object", NULL, PICK_BOOL, false, offsetof(struct batch, by_object)},
    {"seq", NULL, PICK_U64, false, offsetof(struct batch, seq)},
    {"publisher", NULL, PICK_HASH, true, offsetof(struct batch, publisher)}};
/* Members of a line that belong to its event. */
static const struct pick event_fields[] = {
    {"anywhere", NULL, PICK_BOOL, false, offsetof(struct event, anywhere)},
    {"move", NULL, PICK_BOOL, false, offsetof(struct event, told_move)},
    {"rewrites", NULL, PICK_BOOL, false, offsetof(struct event, rewrites)},
    {"salted", NULL, PICK_BOOL, false, offsetof(struct event, salted)},
    {"tokens", NULL, PICK_U32, false, offsetof(struct event, tokens)},
    {"bytes", NULL, PICK_BYTES, false, offsetof(struct event, bytes)},
    {"group", NULL, PICK_HASH, false, offsetof(struct event, group)},
    {"parent", NULL, PICK_HASH, false, offsetof(struct event, parent)}};
#define COUNT(fields) (sizeof(fields) / sizeof(*(fields)))

/* The keyed sequence hashes of the blocks of the last event, if it has any. */
static int read_sequences(const struct jsonin_v *list, struct batch *b, struct event *v,
                          struct err *e)
{
    int rc = 0;
    if (!list)
        return 0;
    if (jsonin_count(list) != v->count)
        return batch_bad(e, "sequences", "does not have one hash for each block");
    v->has_sequences = true;
    for (size_t k = 0; rc == 0 && k < v->count; k++) {
        const struct jsonin_v *hash = jsonin_at(list, k);
        b->tokens[v->first + k] = 0;
        if (hash)
            rc = batch_pick_value(PICK_HASH_64, hash, "sequences", &b->tokens[v->first + k], e);
    }
    return rc;
}

static int find_text(const char *const *texts, int count, const struct jsonin_v *v)
{
    const char *text = jsonin_text(v, NULL);
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, texts[i]) == 0)
            return i;
    return -1;
}

static int read_event(struct reader *r, const struct jsonin_v *line, struct batch *b, struct err *e)
{
    const struct jsonin_v *kind = jsonin_get(line, "event"), *hashes = jsonin_get(line, "hashes");
    size_t len = 0;
    int found = find_text(kind_text, EVENT_KINDS, kind);
    if (!kind)
        return 0;
    if (found < 0)
        return batch_bad(e, "event", "is not one of stored, removed, cleared, read");
    struct event *v = batch_add(b, (enum event_kind)found);
    const char *medium = jsonin_text(jsonin_get(line, "medium"), &len);
    if (!v)
        return err_nomem(e, "events");
    int rc = record_medium(r->base.o, medium, len, &v->medium, e);
    found = find_text(layers_text, 3, jsonin_get(line, "layers"));
    v->layers = (uint8_t)(found < 0 ? 0 : found);
    v->has_parent = jsonin_get(line, "parent") != NULL;
    if (rc == 0)
        rc = batch_pick(event_fields, COUNT(event_fields), line, v, e);
    for (size_t i = 0; rc == 0 && i < jsonin_count(hashes); i++) {
        struct hash128 h;
        rc = batch_pick_value(PICK_HASH, jsonin_at(hashes, i), "hashes", &h, e);
        if (rc == 0 && batch_add_block(b, h) < 0)
            rc = err_nomem(e, "events");
    }
    return rc == 0 ? read_sequences(jsonin_get(line, "sequences"), b, v, e) : rc;
}

static int read_message(const struct jsonin_v *line, struct batch *b, struct err *e)
{
    b->numbered = jsonin_get(line, "seq") != NULL;
    return batch_pick(message_fields, COUNT(message_fields), line, b, e);
}

static bool same_message(const struct batch *a, const struct batch *b)
{
    return a->time_ns == b->time_ns && a->rank == b->rank && a->numbered && b->numbered &&
           a->seq == b->seq && memcmp(&a->publisher, &b->publisher, sizeof(a->publisher)) == 0;
}

static int read_head(struct reader *r, struct err *e)
{
    uint64_t version;
    bool times = true;
    if (jsonin_u64(jsonin_get(r->line, "version"), &version) < 0 || version != 1)
        return batch_bad(e, "version", "is not 1: no capture that this program knows");
    jsonin_bool(jsonin_get(r->line, "times"), &times);
    int what =
        find_text(unrecorded_text, BATCH_UNRECORDED_KINDS, jsonin_get(r->line, "unrecorded"));
    r->base.no_times = !times;
    r->base.unrecorded = what < 0 ? BATCH_UNRECORDED_NOTHING : (enum batch_unrecorded)what;
    r->begun = true;
    return batch_pick(head_fields, COUNT(head_fields), r->line, &r->base, e);
}

/* The next line behind the head of the file. 1, 0, or negative errno. */
static int next_line(struct reader *r, struct err *e)
{
    int rc = jsonin_stream_next(r->base.json, &r->line, e);
    if (rc > 0 && !r->begun) {
        rc = read_head(r, e);
        if (rc == 0)
            rc = jsonin_stream_next(r->base.json, &r->line, e);
    }
    if (rc <= 0)
        r->line = NULL;
    return rc;
}

static int next(struct batch_reader *base, struct batch *b, struct err *e)
{
    struct reader *r = (struct reader *)base;
    int rc = r->line ? 1 : next_line(r, e);
    if (rc <= 0)
        return rc;
    batch_clear(b);
    rc = read_message(r->line, b, e);
    if (rc == 0)
        rc = read_event(r, r->line, b, e);
    while (rc == 0) {
        struct batch other = {0};
        rc = next_line(r, e);
        if (rc <= 0)
            return rc < 0 ? rc : 1;
        rc = read_message(r->line, &other, e);
        if (rc == 0 && !same_message(b, &other))
            return 1;
        if (rc == 0)
            rc = read_event(r, r->line, b, e);
    }
    return rc;
}

const struct batch_reader_ops capture_reader = {
    .bytes = sizeof(struct reader), .input = BATCH_JSON, .next = next};
