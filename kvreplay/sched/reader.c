/* First stage of a replay: parses the trace ahead of the scheduler, hashes keys, and copies what
 * outlives the cursor's batch. Batches travel to the scheduler and come back full of free rows
 * through two lock-free queues; the reader sleeps when it has no free row or too many bytes of long
 * rows are outside. */
#include "kvreplay/sched/reader.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/spsc.h"
#include "lib/base/thread.h"

enum {
    READER_RUNNING,
    READER_ENDED
};

/* Batches that the reader gets at most. The rest is kept, and what was given back last goes out
 * first: as fast as possible, rows then stay in the caches. */
enum {
    READER_LEAD = 32
};

struct row_batch {
    size_t count; /* of row, filled */
    struct row *row[READER_BATCH];
};

/* One pass over the trace; a later one begins where the one before ended. */
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
    /* reader's thread; the scheduler reads them after state is READER_ENDED */
    int rc;
    struct err err;
    uint64_t skipped;
    struct reader_pass pass;
    uint64_t done; /* rows read, of all passes */
    /* scheduler's thread */
    struct row_batch *giving; /* being filled with free rows */
    size_t giving_count;
    struct row_batch **containers;
    size_t containers_count;
    struct row_batch **kept; /* free rows that the reader does not have yet */
    size_t kept_count;
    size_t lent; /* batches that the reader has, and those not taken from it */
    /* both: memory */
    struct row *rows;
    struct row_batch *batches;
};

struct hash128 reader_copy_name(struct hash128 key, unsigned tier)
{
    uint64_t salted[3] = {key.lo, key.hi, tier};
    return hash_128(salted, sizeof(salted));
}

/* ---- the reader's thread ---- */

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

/* Room for bytes of text in the row: its own, or allocated within the bound. */
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

static bool text_inside(const struct trace_str *part, const struct trace_str *whole)
{
    return part->p >= whole->p && part->p + part->len <= whole->p + whole->len;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN + 1 : INT64_MAX) : sum;
}

static void pass_saw(struct reader_pass *p, const struct trace_row *t)
{
    int64_t ends = t->duration_ns > 0 ? add_clamped(t->time_ns, t->duration_ns) : t->time_ns;
    if (!p->begun) {
        p->begun = true;
        p->first_ns = p->last_ns = t->time_ns;
    }
    p->last_ns = ends > p->last_ns ? ends : p->last_ns;
}

/* Times and requests of a later pass are others than those of the passes before. */
static void pass_apply(const struct reader_pass *p, struct trace_row *t)
{
    if (p->number == 0)
        return;
    t->time_ns = add_clamped(t->time_ns, p->shift_ns);
    if (t->arrival_ns != TRACE_NONE)
        t->arrival_ns = add_clamped(t->arrival_ns, p->shift_ns);
    if (t->request != TRACE_NONE)
        t->request = (int64_t)(hash_mix((uint64_t)t->request + (p->number << 40)) >> 1);
}

enum {
    READER_AHEAD = 4
};

/* The rows behind the one that is filled, which the scheduler had last. */
ROW_INLINE void reader_prefetch(const struct reader *r, const struct row_batch *b, size_t line)
{
    size_t text = !r->o.want_line ? 0 : line < ROW_TEXT_INLINE ? line : ROW_TEXT_INLINE;

    for (size_t i = b->count ? b->count + READER_AHEAD : 0;
         i <= b->count + READER_AHEAD && i < READER_BATCH; i++)
        row_prefetch_read(b->row[i], text);
}

static int reader_fill(struct reader *r, struct row *row, const struct trace_row *t)
{
    struct trace_str line = r->o.want_line ? t->line : (struct trace_str){NULL, 0};
    bool shared = line.len && text_inside(&t->key, &line);
    int rc = reader_text(r, row, (size_t)line.len + (shared ? 0 : t->key.len));

    if (rc < 0)
        return rc;
    row->t = *t;
    if (line.len)
        memcpy(row->text, line.p, line.len);
    if (!shared && t->key.len)
        memcpy(row->text + line.len, t->key.p, t->key.len);
    row->t.line = (struct trace_str){row->text, line.len};
    row->t.key.p = shared ? row->text + (t->key.p - line.p) : row->text + line.len;
    row->has_user = r->o.want_user && t->user.len > 0;
    if (row->has_user)
        row->user = hash_128(t->user.p, t->user.len);
    row->t.user = (struct trace_str){NULL, 0};
    if (t->op == TRACE_GENERATE || t->op == TRACE_MISS)
        row->t.tier = TRACE_NO_TIER;
    if (row->t.tier != TRACE_NO_TIER) {
        row->key = hash_128(t->key.p, t->key.len);
        row->copy = tier_map_copy(&r->o.map, row->key, t->tier);
        row->t.tier = tier_map_to(&r->o.map, t->tier);
        row->name = reader_copy_name(row->copy, row->t.tier);
    }
    return 0;
}

static void reader_push(struct reader *r, struct row_batch *b)
{
    spsc_push(r->full, b); /* never full: it has room for every batch */
    bell_ring(r->o.bell);
}

/* Copies one batch of the cursor; *b is the batch being filled, NULL: none. */
static int reader_rows(struct reader *r, const struct trace_row *t, size_t n, struct row_batch **b)
{
    for (size_t i = 0; i < n; i++, t++) {
        uint64_t mine = r->done++;
        pass_saw(&r->pass, t);
        bool other = r->o.only_tier >= 0 && t->tier != TRACE_NO_TIER && t->tier != r->o.only_tier;
        if ((r->o.user_limit && !user_limit_passes(r->o.user_limit, t)) || other) {
            r->skipped++;
            continue;
        }
        if (!*b && !(*b = reader_free_batch(r)))
            return -ECANCELED;
        struct row *row = (*b)->row[(*b)->count];
        reader_prefetch(r, *b, t->line.len);
        int rc = reader_fill(r, row, t);
        if (rc < 0)
            return rc;
        row->number = mine;
        pass_apply(&r->pass, &row->t);
        if (++(*b)->count == READER_BATCH) {
            reader_push(r, *b);
            *b = NULL;
        }
    }
    if (*b) {
        reader_push(r, *b);
        *b = NULL;
    }
    return 0;
}

static int reader_read(struct reader *r, struct trace_cursor *c)
{
    const struct trace_row *t;
    struct row_batch *b = NULL;
    uint64_t number = 0;
    size_t n;
    int rc = 0;

    while (!atomic_load(&r->stop) && (rc = trace_cursor_next(c, &t, &n, &r->err)) > 0) {
        if (r->o.limit && n > r->o.limit - number)
            n = (size_t)(r->o.limit - number);
        rc = reader_rows(r, t, n, &b);
        if (rc < 0)
            break;
        number += n;
        if (r->o.limit && number == r->o.limit)
            return 0;
    }
    return atomic_load(&r->stop) ? 0 : rc;
}

static int reader_again(struct reader *r, struct trace_cursor **c)
{
    struct reader_pass *p = &r->pass;

    trace_cursor_close(*c);
    *c = NULL;
    if (!p->begun) /* no rows: further passes have none either */
        p->number = r->o.loops;
    p->number++;
    p->shift_ns = add_clamped(p->shift_ns, add_clamped(p->last_ns, -p->first_ns));
    int rc = trace_rewind(r->trace, &r->err);
    if (rc == 0)
        rc = trace_cursor_open(c, r->trace, &r->err);
    return rc < 0 ? rc : reader_read(r, *c);
}

static void *reader_main(void *arg)
{
    struct reader *r = arg;
    struct trace_cursor *c = NULL;

    int rc = trace_cursor_open(&c, r->trace, &r->err);
    if (rc == 0)
        rc = reader_read(r, c);
    while (rc == 0 && !atomic_load(&r->stop) && r->pass.number + 1 < r->o.loops)
        rc = reader_again(r, &c);
    trace_cursor_close(c);
    r->rc = rc;
    atomic_store(&r->state, READER_ENDED);
    bell_ring(r->o.bell);
    return NULL;
}

/* ---- the scheduler's thread ---- */

/* Lets the reader go on; seldom, so that it is not woken for each batch. */
static void reader_supply(struct reader *r)
{
    if (r->kept_count == 0 || r->lent > READER_LEAD / 2)
        return;
    for (; r->kept_count > 0 && r->lent < READER_LEAD; r->lent++)
        spsc_push(r->empty, r->kept[--r->kept_count]);
    bell_ring(r->given);
}

static int reader_memory(struct reader *r)
{
    size_t batches = r->o.rows / READER_BATCH;

    r->rows = aligned_alloc(_Alignof(struct row), r->o.rows * sizeof(*r->rows));
    r->batches = calloc(batches, sizeof(*r->batches));
    r->containers = calloc(batches, sizeof(struct row_batch *));
    r->kept = calloc(batches, sizeof(struct row_batch *));
    r->full = spsc_create(batches);
    r->empty = spsc_create(batches);
    r->given = bell_create();
    if (!r->rows || !r->batches || !r->containers || !r->kept || !r->full || !r->empty || !r->given)
        return -ENOMEM;
    memset(r->rows, 0, r->o.rows * sizeof(*r->rows));
    for (size_t i = 0; i < r->o.rows; i++) {
        r->batches[i / READER_BATCH].row[i % READER_BATCH] = &r->rows[i];
        r->rows[i].text = r->rows[i].inline_text;
    }
    while (r->kept_count < batches) {
        r->kept[r->kept_count] = &r->batches[batches - 1 - r->kept_count];
        r->kept_count++;
    }
    reader_supply(r);
    return 0;
}

static void reader_free(struct reader *r)
{
    for (size_t i = 0; r->rows && i < r->o.rows; i++) {
        if (r->rows[i].text_bytes)
            free(r->rows[i].text);
    }
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
    struct reader *r = calloc(1, sizeof(*r));

    if (!r)
        return err_nomem(e, "reader");
    r->trace = trace;
    r->o = *o;
    if (reader_memory(r) < 0) {
        reader_free(r);
        return err_nomem(e, "reader's window");
    }
    int rc = thread_start(&r->thread, reader_main, r);
    if (rc != 0) {
        reader_free(r);
        return err_errno(e, rc, ERR_FAILED, "", "cannot start the reader's thread");
    }
    *out = r;
    return 0;
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
    /* There is a container for every READER_BATCH rows that are outside. */
    if (!r->giving) {
        r->giving = r->containers[--r->containers_count];
        r->giving_count = 0;
    }
    r->giving->row[r->giving_count++] = row;
    if (r->giving_count == READER_BATCH) {
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
    r->containers[r->containers_count++] = b; /* and may be filled again at once */
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
