/* trace_checks.h - scratch files and whole-trace reading for the tests of the trace format. */
#ifndef TRACE_CHECKS_H
#define TRACE_CHECKS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/trace/read.h"

#define HEADER "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"

struct scratch {
    char dir[64];
    char path[4][96];
};

/* A fresh folder with names for four files. */
static inline int scratch_open(void **state)
{
    struct scratch *s = calloc(1, sizeof(*s));
    char dir[64] = "/tmp/kvtrace-test-XXXXXX";
    if (!s || !mkdtemp(dir))
        return -1;
    memcpy(s->dir, dir, sizeof(dir));
    static const char *const names[] = {"a.csv", "b.csv.zst", "c.csv", "d.csv.zst"};
    for (int i = 0; i < 4; i++)
        snprintf(s->path[i], sizeof(s->path[i]), "%s/%s", dir, names[i]);
    *state = s;
    return 0;
}

static inline int scratch_close(void **state)
{
    struct scratch *s = *state;
    for (int i = 0; i < 4; i++)
        unlink(s->path[i]);
    int rc = rmdir(s->dir); /* fails when a test left a file of another name */
    free(s);
    return rc;
}

static inline void put_file(const char *path, const void *p, size_t len)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(p, 1, len, f) != len || fclose(f))
        abort();
}

static inline char *get_file(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END))
        abort();
    *len = (size_t)ftell(f);
    rewind(f);
    char *p = malloc(*len + 1);
    if (!p || fread(p, 1, *len, f) != *len)
        abort();
    p[*len] = '\0';
    fclose(f);
    return p;
}

/* The result of reading a trace to its end. Rows of several cursors are those of all, in order of
 * sum only. */
struct outcome {
    int rc; /* 0: end reached */
    uint64_t rows;
    uint64_t sum; /* of all values, whatever the order */
    uint64_t bad;
    char first_bad[700];
    struct err e;
};

static inline uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

static inline uint64_t mix_str(uint64_t h, const struct trace_str *s)
{
    uint32_t i = 0;
    h = mix(h, s->len);
    for (uint64_t eight; i + sizeof(eight) <= s->len; i += sizeof(eight)) {
        memcpy(&eight, s->p + i, sizeof(eight));
        h = mix(h, eight);
    }
    for (; i < s->len; i++)
        h = mix(h, (unsigned char)s->p[i]);
    return h;
}

/* A number for everything in a row. */
static inline uint64_t row_mix(const struct trace_row *r)
{
    uint64_t h = mix(1, (uint64_t)r->time_ns);
    h = mix_str(mix_str(mix(h, r->size), &r->key), &r->user);
    h = mix(mix(mix(mix(mix(h, r->op), r->tier), r->phase), r->qos), r->class);
    h = mix(mix(mix(h, (uint64_t)r->status), (uint64_t)r->request), (uint64_t)r->tokens);
    h = mix(mix(h, (uint64_t)r->arrival_ns), (uint64_t)r->duration_ns);
    h = mix(h, (uint64_t)r->engine);
    h = mix(mix(mix(h, (uint64_t)r->due_ns), (uint64_t)r->eligible_ns), (uint64_t)r->start_ns);
    if (r->extra) {
        const struct trace_extra *x = r->extra;
        h = mix(mix(mix(h, (uint64_t)x->slot_ns), (uint64_t)x->first_byte_ns), (uint64_t)x->rank);
        h = mix(mix(h, (uint64_t)x->queue_ns), (uint64_t)x->drive_ns);
        h = mix_str(mix_str(h, &x->endpoint), &x->thread);
    }
    return mix_str(mix(mix(h, (uint64_t)r->latency_ns), (uint64_t)r->device_ns), &r->line);
}

static inline struct outcome read_cursors(struct trace_reader *r, unsigned cursors)
{
    struct outcome o = {0};
    struct trace_cursor *c[8] = {0};
    bool over[8] = {false};
    unsigned left = cursors;
    for (unsigned i = 0; i < cursors; i++)
        if (trace_cursor_open(&c[i], r, &o.e))
            abort();
    for (unsigned i = 0; left; i = (i + 1) % cursors) { /* interleaved in one thread */
        const struct trace_row *rows;
        size_t n;
        struct err e = {0};
        if (over[i])
            continue;
        int rc = trace_cursor_next(c[i], &rows, &n, &e);
        for (size_t k = 0; rc == 1 && k < n; k++)
            o.sum += row_mix(&rows[k]);
        if (rc == 1) {
            o.rows += n;
            continue;
        }
        over[i] = true;
        left--;
        if (rc < 0 && o.rc == 0) {
            o.rc = rc;
            o.e = e;
        }
    }
    for (unsigned i = 0; i < cursors; i++)
        trace_cursor_close(c[i]);
    const char *first = "";
    o.bad = trace_bad_rows(r, &first);
    snprintf(o.first_bad, sizeof(o.first_bad), "%s", first);
    return o;
}

static inline struct outcome read_trace(const char *path, const struct trace_read_opts *opts,
                                        unsigned cursors)
{
    struct outcome o = {0};
    struct trace_reader *r;
    o.rc = trace_open(&r, path, opts, &o.e);
    if (o.rc)
        return o;
    o = read_cursors(r, cursors);
    trace_close(r);
    return o;
}

/* Enough rows for several blocks and cursors, some with quoted newlines. */
static inline char *make_rows(size_t count, bool quotes, size_t *len)
{
    char *text = malloc(count * 96 + 128);
    size_t n = (size_t)sprintf(text, HEADER);
    for (size_t i = 0; i < count; i++) {
        if (quotes && i % 977 == 5)
            n += (size_t)sprintf(text + n, "%zu.5,Write,%zu,Tier-1,\"key\n,%zu\"\"\",Prefill\n", i,
                                 i * 3, i);
        else
            n += (size_t)sprintf(text + n, "%zu.25,Read,%zu,Tier-2,user_%zu_ctx,Decode\n", i, i * 7,
                                 i);
    }
    *len = n;
    return text;
}

struct reading {
    struct trace_reader *r;
    uint64_t rows, sum;
    int rc;
    struct err e;
};

static inline void *read_thread(void *arg)
{
    struct reading *x = arg;
    struct trace_cursor *c;
    const struct trace_row *rows;
    size_t n;
    x->rc = trace_cursor_open(&c, x->r, &x->e);
    if (x->rc)
        return NULL;
    while ((x->rc = trace_cursor_next(c, &rows, &n, &x->e)) == 1) {
        for (size_t i = 0; i < n; i++)
            x->sum += row_mix(&rows[i]);
        x->rows += n;
    }
    trace_cursor_close(c);
    return NULL;
}

/* The error of three threads that read one file, if any. */
static inline struct err read_threads(const char *path, uint64_t *rows, uint64_t *sum)
{
    struct reading x[3] = {{0}};
    pthread_t id[3];
    struct trace_reader *r;
    struct err e = {0};
    if (trace_open(&r, path, NULL, &e))
        abort();
    for (int i = 0; i < 3; i++) {
        x[i].r = r;
        if (pthread_create(&id[i], NULL, read_thread, &x[i]))
            abort();
    }
    *rows = *sum = 0;
    for (int i = 0; i < 3; i++) {
        pthread_join(id[i], NULL);
        *rows += x[i].rows;
        *sum += x[i].sum;
        if (x[i].rc < 0)
            e = x[i].e;
    }
    trace_close(r);
    return e;
}

#endif
