/* An external merge sort: runs of records are sorted in memory and written in a row; at
 * the end they are merged. Exports need it if the head of their file is known only after all rows;
 * imports and exports need it if rows come in the order of completion. */
#include "lib/sort/time_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/sort/heap.h"
#include "lib/sort/temp_file.h"

enum {
    LEAST_MEMORY = 1 << 20,
    FIRST_MEMORY = 256 << 10,         /* grows with the records up to what is asked for */
    BYTES_OF_OFFSET = 64,             /* of records for each offset that there is room for */
    RUN_BUFFER = 2 * TIME_SORT_RECORD /* of each run while merging */
};

/* A record begins with this, in memory and in the file. Its bytes follow. */
struct head {
    int64_t time_ns;
    uint64_t len;
};

struct run {
    uint64_t at, end; /* bytes of the file that are not read yet */
    char *buffer;
    size_t pos, filled; /* buffer[pos..filled) was not given yet */
};

struct time_sort {
    char *folder;
    struct temp_file *file; /* NULL: none yet */
    uint64_t file_end;      /* bytes */
    char *bytes;            /* the records added since the last run, with their heads */
    size_t used, cap, most;
    size_t *offset; /* of each of them in bytes; there is room for cap / BYTES_OF_OFFSET */
    size_t count;
    bool in_order; /* they came in order of time */
    struct run *runs;
    size_t run_count, run_cap;
    struct heap heap; /* the first record of each run */
    size_t next;      /* without runs: the record given next */
    struct run *lent; /* run whose first record was given last */
};

/* Room for cap bytes of records, and for their offsets. 0 or -ENOMEM. */
static int grow(struct time_sort *s, size_t cap)
{
    if (memory_resize(&s->bytes, cap, 1) < 0 ||
        memory_resize(&s->offset, cap / BYTES_OF_OFFSET, sizeof(*s->offset)) < 0)
        return -ENOMEM;
    s->cap = cap;
    return 0;
}

int time_sort_create(struct time_sort **out, const char *folder, size_t memory, struct err *e)
{
    struct time_sort *s = calloc(1, sizeof(*s));
    if (!s)
        return err_nomem(e, "sorting");
    s->in_order = true;
    s->most = memory < LEAST_MEMORY ? LEAST_MEMORY : memory;
    s->folder = strdup(folder);
    if (!s->folder || grow(s, FIRST_MEMORY) < 0) {
        time_sort_free(s);
        return err_nomem(e, "sorting");
    }
    *out = s;
    return 0;
}

void time_sort_free(struct time_sort *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->run_count; i++)
        free(s->runs[i].buffer);
    temp_file_close(s->file);
    heap_free(&s->heap);
    free(s->runs);
    free(s->offset);
    free(s->bytes);
    free(s->folder);
    free(s);
}

static struct head head_at(const char *p)
{
    struct head h;
    memcpy(&h, p, sizeof(h));
    return h;
}

/* By time, then by place, which is the order in which they came. */
static int compare(const void *a, const void *b, void *ctx)
{
    const char *bytes = ctx;
    size_t i = *(const size_t *)a, k = *(const size_t *)b;
    int64_t x = head_at(bytes + i).time_ns, y = head_at(bytes + k).time_ns;
    return x != y ? (x < y ? -1 : 1) : (i < k ? -1 : i > k);
}

static void sort_memory(struct time_sort *s)
{
    if (!s->in_order)
        qsort_r(s->offset, s->count, sizeof(*s->offset), compare, s->bytes);
}

/* ---- runs into the file ---- */

static int append(struct time_sort *s, const char *p, size_t len, struct err *e)
{
    int rc = temp_file_write(s->file, p, len, s->file_end, e);
    s->file_end += len;
    return rc;
}

/* Writes the records of memory in the order of their offsets. */
static int append_sorted(struct time_sort *s, struct err *e)
{
    int rc = 0;
    char *block = malloc(RUN_BUFFER);
    size_t used = 0;
    if (!block)
        return err_nomem(e, "sorting");
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        const char *p = s->bytes + s->offset[i];
        size_t len = sizeof(struct head) + head_at(p).len;
        if (used + len > RUN_BUFFER) {
            rc = append(s, block, used, e);
            used = 0;
        }
        memcpy(block + used, p, len);
        used += len;
    }
    if (rc == 0)
        rc = append(s, block, used, e);
    free(block);
    return rc;
}

/* Writes the records in memory as a run. */
static int spill(struct time_sort *s, struct err *e)
{
    int rc = s->file ? 0 : temp_file_open(&s->file, s->folder, e);
    if (rc < 0)
        return rc;
    if (memory_room(&s->runs, &s->run_cap, s->run_count, sizeof(*s->runs), 16) < 0)
        return err_nomem(e, "sorting");
    uint64_t from = s->file_end;
    sort_memory(s);
    rc = s->in_order ? append(s, s->bytes, s->used, e) : append_sorted(s, e);
    if (rc < 0)
        return rc;
    s->runs[s->run_count++] = (struct run){.at = from, .end = s->file_end};
    s->in_order = true;
    s->used = s->count = 0;
    return 0;
}

/* Room for one more record of len bytes, its head among them. */
static int make_room(struct time_sort *s, size_t len, struct err *e)
{
    while (s->used + len > s->cap || s->count == s->cap / BYTES_OF_OFFSET) {
        bool may_grow = s->cap < s->most;
        if (may_grow && grow(s, s->cap < s->most / 2 ? s->cap * 2 : s->most) < 0)
            return err_nomem(e, "sorting");
        int rc = may_grow ? 0 : spill(s, e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int time_sort_add(struct time_sort *s, int64_t time_ns, const void *p, size_t len, struct err *e)
{
    struct head h = {.time_ns = time_ns, .len = len};
    if (len > TIME_SORT_RECORD)
        return err_set(e, -E2BIG, ERR_FAILED, "", "a record of %zu bytes cannot be sorted", len);
    int rc = make_room(s, sizeof(h) + len, e);
    if (rc < 0)
        return rc;
    if (s->count > 0 && time_ns < head_at(s->bytes + s->offset[s->count - 1]).time_ns)
        s->in_order = false;
    s->offset[s->count++] = s->used;
    memcpy(s->bytes + s->used, &h, sizeof(h));
    memcpy(s->bytes + s->used + sizeof(h), p, len);
    s->used += sizeof(h) + len;
    return 0;
}

/* ---- and out of it ---- */

/* Puts the run's first record into the merge, unless the run has ended. Its buffer then holds all
 * of that record. */
static int offer(struct time_sort *s, struct run *r, struct err *e)
{
    size_t left = r->filled - r->pos;
    if (left < sizeof(struct head) ||
        left < sizeof(struct head) + head_at(r->buffer + r->pos).len) {
        memmove(r->buffer, r->buffer + r->pos, left);
        r->pos = 0;
        r->filled = left;
        while (r->at < r->end && r->filled < RUN_BUFFER) {
            size_t want = RUN_BUFFER - r->filled;
            if (want > r->end - r->at)
                want = (size_t)(r->end - r->at);
            int64_t n = temp_file_read(s->file, r->buffer + r->filled, want, r->at, e);
            if (n < 0)
                return (int)n;
            r->filled += (size_t)n;
            r->at += (uint64_t)n;
        }
    }
    uint32_t number = (uint32_t)(r - s->runs);
    if (r->pos < r->filled)
        heap_push(&s->heap, (struct heap_event){.time_ns = head_at(r->buffer + r->pos).time_ns,
                                                .tie = number,
                                                .item = number});
    return 0;
}

int time_sort_finish(struct time_sort *s, struct err *e)
{
    if (s->run_count == 0) {
        sort_memory(s);
        return 0;
    }
    int rc = spill(s, e);
    free(s->bytes);
    s->bytes = NULL;
    if (rc < 0)
        return rc;
    if (heap_init(&s->heap, s->run_count) < 0)
        return err_nomem(e, "sorting");
    for (size_t i = 0; rc == 0 && i < s->run_count; i++) {
        s->runs[i].buffer = malloc(RUN_BUFFER);
        rc = s->runs[i].buffer ? offer(s, &s->runs[i], e) : err_nomem(e, "sorting");
    }
    return rc;
}

int time_sort_next(struct time_sort *s, int64_t *time_ns, const void **p, size_t *len,
                   struct err *e)
{
    const char *record;
    if (s->lent) { /* its run offers the next record now */
        struct run *r = s->lent;
        s->lent = NULL;
        r->pos += sizeof(struct head) + head_at(r->buffer + r->pos).len;
        int rc = offer(s, r, e);
        if (rc < 0)
            return rc;
    }
    if (s->run_count > 0) {
        if (!heap_top(&s->heap))
            return 0;
        s->lent = &s->runs[heap_pop(&s->heap).item];
        record = s->lent->buffer + s->lent->pos;
    } else {
        if (s->next == s->count)
            return 0;
        record = s->bytes + s->offset[s->next++];
    }
    struct head h = head_at(record);
    *time_ns = h.time_ns;
    *len = (size_t)h.len;
    *p = record + sizeof(h);
    return 1;
}
