/* First stage of a replay: parses the trace ahead of the scheduler, hashes keys, and copies the
 * text that must outlive the cursor's batch. Batches of rows travel to the scheduler through one
 * lock-free queue and come back, as free rows, through another. The reader sleeps when it has no
 * free row, or when too many bytes of long rows are in use. */
#include "kvreplay/sched/reader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/thread/spsc.h"
#include "lib/thread/thread.h"

enum {
    READER_RUNNING,
    READER_ENDED
};

enum {
    /* Batches that the reader has at most. The scheduler keeps the rest and hands out what came
     * back last, so that in a run as fast as possible the rows stay in the caches. */
    READER_LEAD = 32,
    READER_AHEAD = 4 /* rows, to prefetch */
};

struct row_batch {
    size_t count; /* of row, filled */
    struct row *row[READER_BATCH];
};

/* One pass over the trace. The next one begins where this one ends. */
struct reader_pass {
    uint64_t number;
    bool begun;
    int64_t first_ns, last_ns; /* of the trace: first Timestamp, end of the last row */
    int64_t shift_ns;          /* added to its times */
};

struct reader {
    struct trace_reader *trace;
    struct reader_opts o;
    pthread_t thread;
    struct spsc *full, *empty;
    struct bell *given; /* rung when rows or bytes came back, and to stop */
    atomic_int state;
    atomic_bool stop, starved;
    atomic_size_t text_outside; /* bytes of allocated texts */
    /* reader's thread; the scheduler reads these after state is READER_ENDED */
    int rc;
    struct err err;
    uint64_t skipped;
    struct selection_users *users; /* NULL: all */
    struct reader_pass pass;
    uint64_t done; /* rows read, of all passes */
    /* Set before a row behind the head is pushed, and not changed after. */
    bool zero_known;
    int64_t zero_time_ns;
    /* scheduler's thread */
    struct row_batch *giving;      /* being filled with free rows; NULL: none */
    struct row_batch **containers; /* empty batches, to be filled with free rows */
    size_t containers_count;
    struct row_batch **kept; /* batches of free rows that the reader does not have */
    size_t kept_count;
    size_t lent; /* batches that the reader has, or has filled and the scheduler has not taken */
    /* memory for both */
    struct row *rows; /* of these, rows_used were lent; the rest is untouched */
    size_t rows_used;
    struct row_batch *batches;
};

/* ---- the reader's thread ---- */

/* Waits until rows or bytes came back after seen. False: the reader is to stop. */
static bool reader_wait(struct reader *r, uint32_t seen)
{
    if (atomic_load(&r->stop))
        return false;
    atomic_store(&r->starved, true);
    if (r->o.tell_starved)
        bell_ring(r->o.bell);
    bell_wait(r->given, seen, INT64_MAX);
    atomic_store(&r->starved, false);
    return !atomic_load(&r->stop);
}

/* NULL: the reader is to stop. */
static struct row_batch *reader_free_batch(struct reader *r)
{
    for (;;) {
        uint32_t seen = bell_seen(r->given);
        struct row_batch *b = spsc_pop(r->empty);
        if (b) {
            b->count = 0;
            return b;
        }
        if (!reader_wait(r, seen))
            return NULL;
    }
}

/* Points the row's text at space for bytes: inside the row, or allocated within the bound. */
static int reader_text(struct reader *r, struct row *row, size_t bytes)
{
    row->text = row->inline_text;
    row->text_bytes = 0;
    if (bytes <= ROW_TEXT_INLINE)
        return 0;
    for (;;) {
        uint32_t seen = bell_seen(r->given);
        size_t outside = atomic_load(&r->text_outside);
        if (outside == 0 || outside + bytes <= READER_MAX_TEXT)
            break;
        if (!reader_wait(r, seen))
            return -ECANCELED;
    }
    row->text = malloc(bytes);
    if (!row->text) {
        row->text = row->inline_text;
        return err_nomem(&r->err, "row");
    }
    row->text_bytes = bytes;
    atomic_fetch_add(&r->text_outside, bytes);
    return 0;
}

/* Copies what the replay needs of t into row. */
static int reader_fill(struct reader *r, struct row *row, const struct trace_row *t)
{
    struct trace_str line = r->o.want_line ? t->line : (struct trace_str){NULL, 0};
    bool key_in_line = line.len && t->key.p >= line.p && t->key.p + t->key.len <= line.p + line.len;
    int rc = reader_text(r, row, (size_t)line.len + (key_in_line ? 0 : t->key.len));

    if (rc < 0)
        return rc;
    row->t = *t;
    if (line.len)
        memcpy(row->text, line.p, line.len);
    if (!key_in_line && t->key.len)
        memcpy(row->text + line.len, t->key.p, t->key.len);
    row->t.line = (struct trace_str){row->text, line.len};
    row->t.key.p = key_in_line ? row->text + (t->key.p - line.p) : row->text + line.len;
    row->has_user = r->o.want_user && t->user.len > 0;
    bool prefill = t->op == TRACE_GENERATE && t->phase == TRACE_PREFILL; /* on a user's engine */
    if (row->has_user || prefill)
        row->user = hash_128(t->user.p, t->user.len);
    row->t.user = (struct trace_str){NULL, 0};
    if (t->op == TRACE_GENERATE || t->op == TRACE_MISS)
        row->t.tier = TRACE_NO_TIER;
    if (t->op == TRACE_MISS && r->o.want_lookups && t->key.len > 0) {
        row->key = hash_128(t->key.p, t->key.len);
        row->name =
            object_name(selection_copy(&r->o.select, row->key, TRACE_STORAGE), TRACE_STORAGE);
    }
    if (row->t.tier != TRACE_NO_TIER) {
        row->key = hash_128(t->key.p, t->key.len);
        row->copy = selection_copy(&r->o.select, row->key, t->tier);
        row->t.tier = selection_tier(&r->o.select, t->tier);
        row->name = object_name(row->copy, row->t.tier);
    }
    return 0;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN + 1 : INT64_MAX) : sum;
}

/* In a later pass times come later and requests have other numbers than in the passes before. */
static void pass_shift(const struct reader_pass *p, struct trace_row *t)
{
    if (p->number == 0)
        return;
    t->time_ns = add_clamped(t->time_ns, p->shift_ns);
    if (t->arrival_ns != TRACE_NONE)
        t->arrival_ns = add_clamped(t->arrival_ns, p->shift_ns);
    if (t->request != TRACE_NONE)
        t->request = (int64_t)(hash_mix((uint64_t)t->request + (p->number << 40)) >> 1);
}

/* Fetches the rows behind the one that is filled now: the scheduler had them last. */
ROW_INLINE void reader_prefetch(const struct reader *r, const struct row_batch *b, size_t line)
{
    size_t text = !r->o.want_line ? 0 : line < ROW_TEXT_INLINE ? line : ROW_TEXT_INLINE;

    for (size_t i = b->count ? b->count + READER_AHEAD : 0;
         i <= b->count + READER_AHEAD && i < READER_BATCH; i++)
        row_prefetch_read(b->row[i], text);
}

static void reader_push(struct reader *r, struct row_batch *b)
{
    spsc_push(r->full, b); /* never full: it has room for every batch */
    bell_ring(r->o.bell);
}

/* Hands the selected rows of one batch of the cursor to the scheduler. */
static int reader_rows(struct reader *r, const struct trace_row *t, size_t n)
{
    struct row_batch *b = NULL;

    for (size_t i = 0; i < n; i++, t++) {
        struct reader_pass *p = &r->pass;
        uint64_t number = r->done++;
        int64_t ends = t->duration_ns > 0 ? add_clamped(t->time_ns, t->duration_ns) : t->time_ns;
        if (!p->begun) {
            p->begun = true;
            p->first_ns = p->last_ns = t->time_ns;
        }
        p->last_ns = ends > p->last_ns ? ends : p->last_ns;
        if (!r->zero_known && r->o.select.parts && !row_in_head(t)) {
            r->zero_known = true;
            r->zero_time_ns = t->time_ns;
        }
        bool has_tier = selection_has_tier(&r->o.select, t);
        if ((r->users && !selection_has_user(r->users, t)) || !has_tier ||
            !selection_has_key(&r->o.select, t)) {
            r->skipped++;
            continue;
        }
        if (!b && !(b = reader_free_batch(r)))
            return -ECANCELED;
        struct row *row = b->row[b->count];
        reader_prefetch(r, b, t->line.len);
        int rc = reader_fill(r, row, t);
        if (rc < 0)
            return rc;
        row->number = number;
        pass_shift(p, &row->t);
        if (++b->count == READER_BATCH) {
            reader_push(r, b);
            b = NULL;
        }
    }
    if (b)
        reader_push(r, b);
    return 0;
}

static int reader_read_pass(struct reader *r)
{
    uint64_t limit = r->o.select.limit, number = 0;
    struct trace_cursor *c = NULL;
    const struct trace_row *t;
    size_t n;

    int rc = trace_cursor_open(&c, r->trace, &r->err);
    while (rc == 0 && !atomic_load(&r->stop) && !(limit && number == limit)) {
        rc = trace_cursor_next(c, &t, &n, &r->err);
        if (rc <= 0)
            break;
        if (limit && n > limit - number)
            n = (size_t)(limit - number);
        number += n;
        rc = reader_rows(r, t, n);
    }
    trace_cursor_close(c);
    return atomic_load(&r->stop) ? 0 : rc;
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;
    struct reader_pass *p = &r->pass;
    uint64_t loops = r->o.select.loops;

    int rc = reader_read_pass(r);
    while (rc == 0 && !atomic_load(&r->stop) && p->number + 1 < loops) {
        p->number = p->begun ? p->number + 1 : loops; /* no rows now: none in later passes */
        p->shift_ns = add_clamped(p->shift_ns, add_clamped(p->last_ns, -p->first_ns));
        rc = trace_rewind(r->trace, &r->err);
        if (rc == 0)
            rc = reader_read_pass(r);
    }
    r->rc = rc;
    atomic_store(&r->state, READER_ENDED);
    bell_ring(r->o.bell);
    return NULL;
}

/* ---- the scheduler's thread ---- */

/* The next rows that were never used, as an empty batch. */
static struct row_batch *reader_fresh(struct reader *r)
{
    struct row_batch *b = &r->batches[r->rows_used / READER_BATCH];

    memset(&r->rows[r->rows_used], 0, READER_BATCH * sizeof(*r->rows));
    for (size_t i = 0; i < READER_BATCH; i++) {
        b->row[i] = &r->rows[r->rows_used++];
        b->row[i]->text = b->row[i]->inline_text;
    }
    return b;
}

/* Lends free rows to the reader; seldom, so that it is not woken for each batch. */
static void reader_supply(struct reader *r)
{
    bool some = r->kept_count > 0 || r->rows_used < r->o.rows;

    if (!some || r->lent > READER_LEAD / 2)
        return;
    for (; some && r->lent < READER_LEAD; r->lent++) {
        spsc_push(r->empty, r->kept_count > 0 ? r->kept[--r->kept_count] : reader_fresh(r));
        some = r->kept_count > 0 || r->rows_used < r->o.rows;
    }
    bell_ring(r->given);
}

static void reader_free(struct reader *r)
{
    for (size_t i = 0; i < r->rows_used; i++) {
        if (r->rows[i].text_bytes)
            free(r->rows[i].text);
    }
    selection_users_free(r->users);
    bell_free(r->given);
    spsc_free(r->empty);
    spsc_free(r->full);
    free(r->kept);
    free(r->containers);
    free(r->batches);
    free(r->rows);
    free(r);
}

int reader_open(struct reader **out, struct trace_reader *trace, const struct reader_opts *o,
                struct err *e)
{
    size_t batches = o->rows / READER_BATCH;
    struct reader *r = calloc(1, sizeof(*r));
    int rc;

    if (!r)
        return err_nomem(e, "reader");
    r->trace = trace;
    r->o = *o;
    if (o->select.users && !(r->users = selection_users_create(o->select.users))) {
        rc = err_nomem(e, "table of users");
        goto out;
    }
    r->rows = aligned_alloc(_Alignof(struct row), o->rows * sizeof(*r->rows));
    r->batches = calloc(batches, sizeof(*r->batches));
    r->containers = calloc(batches, sizeof(*r->containers));
    r->kept = calloc(batches, sizeof(*r->kept));
    r->full = spsc_create(batches);
    r->empty = spsc_create(batches);
    r->given = bell_create();
    if (!r->rows || !r->batches || !r->containers || !r->kept || !r->full || !r->empty ||
        !r->given) {
        rc = err_nomem(e, "reader's window");
        goto out;
    }
    reader_supply(r);
    rc = thread_start(&r->thread, reader_main, r);
    if (rc != 0)
        rc = thread_refused(e, rc, "the reader's thread");
out:
    if (rc != 0)
        reader_free(r);
    else
        *out = r;
    return rc;
}

void reader_give(struct reader *r, struct row *row)
{
    if (row->text_bytes) {
        free(row->text);
        atomic_fetch_sub(&r->text_outside, row->text_bytes);
        row->text_bytes = 0;
        row->text = row->inline_text;
        bell_ring(r->given);
    }
    /* There is a container for every READER_BATCH rows that the scheduler has. */
    if (!r->giving) {
        r->giving = r->containers[--r->containers_count];
        r->giving->count = 0;
    }
    r->giving->row[r->giving->count++] = row;
    if (r->giving->count == READER_BATCH) {
        r->kept[r->kept_count++] = r->giving;
        r->giving = NULL;
        reader_supply(r);
    }
}

size_t reader_take(struct reader *r, struct row *rows[READER_BATCH])
{
    struct row_batch *b = spsc_pop(r->full);
    if (!b)
        return 0;
    size_t count = b->count;
    memcpy(rows, b->row, count * sizeof(*rows));
    struct row *unused[READER_BATCH];
    memcpy(unused, b->row + count, (READER_BATCH - count) * sizeof(*unused));
    r->containers[r->containers_count++] = b; /* reader_give may fill it at once */
    r->lent--;
    for (size_t i = 0; i < READER_BATCH - count; i++)
        reader_give(r, unused[i]);
    reader_supply(r);
    return count;
}

bool reader_starved(const struct reader *r)
{
    return atomic_load(&r->starved) && spsc_count(r->full) == 0 && spsc_count(r->empty) == 0;
}

int64_t reader_zero_time_ns(const struct reader *r)
{
    return r->zero_known ? r->zero_time_ns : TRACE_NONE;
}

bool reader_quiet(const struct reader *r)
{
    return atomic_load(&r->starved) || atomic_load(&r->state) == READER_ENDED;
}

int reader_ended(const struct reader *r, struct err *e)
{
    if (atomic_load(&r->state) != READER_ENDED || spsc_count(r->full) > 0)
        return 0;
    if (r->rc < 0) {
        if (e)
            *e = r->err;
        return r->rc;
    }
    return 1;
}

bool reader_close(struct reader *r, uint64_t *skipped)
{
    enum {
        PATIENCE_MS = 300
    };
    *skipped = 0;
    if (!r)
        return true;
    atomic_store(&r->stop, true);
    bell_ring(r->given);
    for (int ms = 0; atomic_load(&r->state) != READER_ENDED; ms++) {
        if (ms == PATIENCE_MS) {
            pthread_detach(r->thread);
            return false;
        }
        clock_sleep_until(clock_now_ns() + 1000000, 0);
    }
    pthread_join(r->thread, NULL);
    *skipped = r->skipped;
    reader_free(r);
    return true;
}
