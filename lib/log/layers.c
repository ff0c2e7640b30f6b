/* Between the sorted rows of a log and its reader (both in oplog.c). An outer row begins before its
 * inner one, so it waits for it, and what began later waits behind it. Memory is that of the rows
 * which began while the longest operation lasted, up to a limit. */
#include "lib/log/layers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_HELD = 1 << 17 /* rows; behind that the oldest goes on without its inner row */
};

struct held {
    struct held *next;      /* in order of time */
    struct held *next_open; /* of the rows that wait for their other layer */
    struct trace_row row;
    struct trace_extra extra;
    int64_t end_ns;
    bool open;   /* an outer row that waits for its inner one */
    bool inner;  /* waits while an outer row of the same time may come */
    bool gone;   /* became part of an outer row */
    char text[]; /* key, user, endpoint and thread */
};

struct layers {
    struct held *first, *last, *open;
    struct held *instant; /* inner rows of now_ns */
    struct held *given;   /* lent to the caller */
    uint64_t held, joined;
    int64_t now_ns; /* time of the row that came last */
    bool ended;
};

static bool begins(struct trace_str s, const char *with)
{
    size_t len = strlen(with);

    return s.len >= len && memcmp(s.p, with, len) == 0;
}

/* The bucket of an endpoint "s3://BUCKET" or "s3://BUCKET/". */
static struct trace_str bucket_of(struct trace_str endpoint)
{
    struct trace_str bucket = {.p = endpoint.p + 5, .len = endpoint.len - 5};

    if (bucket.len > 0 && bucket.p[bucket.len - 1] == '/')
        bucket.len--;
    return bucket;
}

enum layer layers_tell(struct trace_str endpoint, struct trace_str file)
{
    if (begins(endpoint, "http://") || begins(endpoint, "https://"))
        return LAYER_INNER;
    if (!begins(endpoint, "s3://"))
        return LAYER_OTHER;
    struct trace_str bucket = bucket_of(endpoint);
    bool within = bucket.len > 0 && file.len > bucket.len + 1 && file.p[bucket.len] == '/' &&
                  memcmp(file.p, bucket.p, bucket.len) == 0;
    return within ? LAYER_OUTER : LAYER_OTHER;
}

struct layers *layers_create(void)
{
    return calloc(1, sizeof(struct layers));
}

void layers_free(struct layers *l)
{
    if (!l)
        return;
    free(l->given);
    for (struct held *h = l->first, *next; h; h = next) {
        next = h->next;
        free(h);
    }
    free(l);
}

static bool same(struct trace_str a, struct trace_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* Ends waiting for the outer rows that nothing which begins at now_ns or later can lie within. */
static void close_past(struct layers *l)
{
    for (struct held **at = &l->open; *at;) {
        if ((*at)->end_ns >= l->now_ns) {
            at = &(*at)->next_open;
            continue;
        }
        (*at)->open = false;
        *at = (*at)->next_open;
    }
}

static int64_t end_of(const struct trace_row *row)
{
    return row->latency_ns == TRACE_NONE ? row->time_ns : row->time_ns + row->latency_ns;
}

/* Are they two layers of one operation? outer waits, so it did not begin later. */
static bool fits(const struct held *outer, const struct trace_row *inner)
{
    return outer->row.op == inner->op && outer->row.size == inner->size &&
           outer->end_ns >= end_of(inner) && same(outer->row.key, inner->key) &&
           same(outer->extra.thread, inner->extra->thread);
}

static void join(struct layers *l, struct held *outer, const struct trace_row *inner)
{
    outer->extra.first_byte_ns = inner->extra->first_byte_ns;
    if (outer->extra.first_byte_ns != TRACE_NONE)
        outer->extra.first_byte_ns += inner->time_ns - outer->row.time_ns;
    l->joined++;
}

/* The outer row of an inner one: of those that fit, the one that ends first, so that what ends
 * later finds one, too. It waits no longer then. NULL: there is none. */
static struct held *take_outer(struct layers *l, const struct trace_row *inner)
{
    struct held **best = NULL, *outer;

    for (struct held **at = &l->open; *at; at = &(*at)->next_open) {
        if (fits(*at, inner) && (!best || (*at)->end_ns < (*best)->end_ns))
            best = at;
    }
    if (!best)
        return NULL;
    outer = *best;
    *best = outer->next_open;
    outer->open = false;
    return outer;
}

static char *keep(struct trace_str *s, char *p)
{
    if (s->len > 0)
        memcpy(p, s->p, s->len);
    s->p = s->len > 0 ? p : NULL;
    return p + s->len;
}

static struct held *copy(const struct trace_row *row)
{
    size_t len =
        (size_t)row->key.len + row->user.len + row->extra->endpoint.len + row->extra->thread.len;
    struct held *h = malloc(sizeof(*h) + len);
    char *p;

    if (!h)
        return NULL;
    h->next = h->next_open = NULL;
    h->row = *row;
    h->extra = *row->extra;
    h->row.extra = &h->extra;
    p = keep(&h->row.key, h->text);
    p = keep(&h->row.user, p);
    p = keep(&h->extra.endpoint, p);
    keep(&h->extra.thread, p);
    h->end_ns = end_of(row);
    h->open = h->inner = h->gone = false;
    return h;
}

static void append(struct layers *l, struct held *h)
{
    if (l->last)
        l->last->next = h;
    else
        l->first = h;
    l->last = h;
    l->held++;
}

/* Pairs the inner rows of one time, when all outer rows that began by then have come. */
static void settle_instant(struct layers *l)
{
    for (struct held *inner = l->instant; inner; inner = inner->next_open) {
        struct held *outer = take_outer(l, &inner->row);
        if (!outer)
            continue;
        join(l, outer, &inner->row);
        inner->gone = true;
    }
    l->instant = NULL;
}

int layers_add(struct layers *l, const struct trace_row *row)
{
    enum layer layer = layers_tell(row->extra->endpoint, row->key);
    struct held *h;

    if (row->time_ns != l->now_ns)
        settle_instant(l);
    l->now_ns = row->time_ns;
    close_past(l);
    h = copy(row);
    if (!h)
        return -ENOMEM;
    append(l, h);
    if (layer == LAYER_OUTER) {
        uint32_t bucket = bucket_of(h->extra.endpoint).len + 1;
        h->row.key.p += bucket;
        h->row.key.len -= bucket;
        h->open = true;
        h->next_open = l->open;
        l->open = h;
    } else if (layer == LAYER_INNER) {
        h->inner = true;
        h->next_open = l->instant;
        l->instant = h;
    }
    return 0;
}

void layers_end(struct layers *l)
{
    settle_instant(l);
    l->ended = true;
}

static bool waits(const struct layers *l, const struct held *h)
{
    if (l->ended || l->held > MAX_HELD)
        return false;
    return h->open || (h->inner && !h->gone && h->row.time_ns == l->now_ns);
}

/* Takes h out of a list of rows that wait, if it is there. */
static void leave(struct held **list, const struct held *h)
{
    while (*list && *list != h)
        list = &(*list)->next_open;
    if (*list)
        *list = h->next_open;
}

const struct trace_row *layers_take(struct layers *l)
{
    struct held *h;

    do {
        h = l->first;
        if (!h || waits(l, h))
            return NULL;
        if (h->open)
            leave(&l->open, h);
        else if (h->inner && h->row.time_ns == l->now_ns)
            leave(&l->instant, h);
        free(l->given);
        l->given = h;
        l->first = h->next;
        if (!l->first)
            l->last = NULL;
        l->held--;
    } while (h->gone);
    return &h->row;
}

uint64_t layers_joined(const struct layers *l)
{
    return l->joined;
}
