/* Writes traces: rows are queued in batches, a pool of threads formats and compresses the batches
 * into independent frames, and whoever finishes the next frame in order writes it. Only the rows
 * and trace_flush decide where a frame ends, so without flushes the file is the same for any number
 * of threads. */
#include "lib/trace/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/descriptors.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/save.h"
#include "lib/thread/thread.h"
#include "lib/trace/csv.h"
#include "lib/trace/format.h"
#include "lib/trace/frame_out.h"

#define FRAME_BYTES ((size_t)4 << 20)   /* of CSV in a frame, about */
#define PLAIN_BYTES ((size_t)256 << 10) /* in a batch of plain CSV */
#define MAX_ROW     CSV_MAX_ROW
#define MAX_THREADS 256u

enum batch_state {
    BATCH_FREE,
    BATCH_FILLING, /* belongs to the caller of trace_write */
    BATCH_QUEUED,
    BATCH_WORKING, /* belongs to a thread */
    BATCH_DONE
};

/* A Note in a batch: number of its row, and its place in the CSV once that is there. */
struct note {
    size_t row, begin, end;
};

struct batch {
    enum batch_state state; /* under the writer's lock */
    uint64_t number;
    size_t rows, estimate;
    char *packed;
    size_t packed_len;
    char *csv;
    size_t csv_len, csv_cap;
    size_t header_len;  /* with the Note behind the header, which the digest leaves out too */
    struct note *notes; /* Notes among the rows, in order */
    size_t note_count;
    struct frame_bytes out; /* compressed */
};

struct pool_thread {
    struct trace_writer *w;
    pthread_t id;
    struct frame_encoder *encoder;
};

struct trace_writer {
    struct trace_format format;
    char *path, *header;
    char *aside; /* where an older file of that name lies until this one is whole; NULL: none */
    size_t header_len;
    int fd;
    bool regular, is_stdout, zstd, one_frame, keeps;
    size_t batch_bytes;
    const char *notes; /* the program's name; NULL: no Notes */
    char *head_note;   /* the row that follows the header; NULL: none */
    size_t head_note_len;

    pthread_mutex_t lock; /* guards the following */
    pthread_cond_t work, done;
    struct batch *batches;
    unsigned batch_count;
    uint64_t next_number; /* of the batch that is filled next */
    uint64_t next_out;    /* of the batch that is written next */
    bool writing, quit;
    struct err error;
    struct pool_thread *pool;
    unsigned pool_count;

    /* The caller's own. */
    struct batch *filling;
    struct frame_encoder *encoder;

    /* Owned by whoever has the writing role. */
    struct frame_encoder *whole; /* one_frame: of the only frame */
    struct hash_stream *digest;
    struct frame_table *table;
    struct trace_totals totals;
};

/* ---- output ---- */

static int write_all(struct trace_writer *w, const void *p, size_t len, struct err *e)
{
    int rc = descriptors_write(w->fd, p, len);

    if (rc < 0)
        return err_errno(e, rc, ERR_OUTPUT, w->path, "cannot write");
    w->totals.file_bytes += len;
    return 0;
}

static int write_skippable(struct trace_writer *w, uint32_t magic, const char *json, struct err *e)
{
    size_t len = strlen(json);
    void *frame = malloc(len + 8);

    if (!frame)
        return err_nomem(e, "frame");
    size_t n = frame_put_skippable(frame, magic, json, len);
    int rc = write_all(w, frame, n, e);
    if (rc == 0 && frame_table_add(w->table, n, 0))
        rc = err_nomem(e, "seek table");
    free(frame);
    return rc;
}

/* The row of a Note with that JSON, which the caller frees. NULL: no memory. */
static char *note_row(const struct trace_writer *w, const char *json, size_t *len)
{
    struct trace_row row = {.op = TRACE_NOTE, .key = {json, (uint32_t)strlen(json)}};
    char *text = malloc(trace_format_bound(&row) + w->header_len);

    if (text)
        *len = trace_format_note(&w->format, &row, text);
    return text;
}

/* ---- the life of a batch: free, filling, queued, working, done ---- */

static bool csv_room(struct batch *b, size_t len)
{
    size_t want = len + len / 4;

    if (len <= b->csv_cap)
        return true;
    if (memory_resize(&b->csv, want, 1) < 0)
        return false;
    b->csv_cap = want;
    return true;
}

/* Formats the rows of a batch, and compresses them unless all batches share one frame. */
static int encode_batch(struct trace_writer *w, struct batch *b, struct frame_encoder *encoder,
                        struct err *e)
{
    size_t note = 0, note_row = b->note_count ? b->notes[0].row : SIZE_MAX;
    struct trace_extra extra;
    struct trace_row row;

    memset(&row, 0, sizeof(row));
    b->csv_len = 0;
    if (!csv_room(b, w->batch_bytes + w->batch_bytes / 4 + w->header_len + w->head_note_len + 512))
        return err_nomem(e, "frame");
    if (b->number == 0) {
        b->csv_len = trace_format_header(&w->format, w->header, w->header_len, b->csv);
        if (w->head_note)
            memcpy(b->csv + b->csv_len, w->head_note, w->head_note_len);
        b->csv_len += w->head_note_len;
    }
    b->header_len = b->csv_len;
    for (size_t i = 0, at = 0; i < b->rows; i++) {
        at += trace_unpack(&w->format, b->packed + at, &row, &extra);
        if (!csv_room(b, b->csv_len + trace_format_bound(&row)))
            return err_nomem(e, "frame");
        if (i != note_row) {
            b->csv_len += trace_format_row(&w->format, &row, b->csv + b->csv_len);
            continue;
        }
        b->notes[note].begin = b->csv_len;
        b->csv_len += trace_format_note(&w->format, &row, b->csv + b->csv_len);
        b->notes[note].end = b->csv_len;
        note_row = ++note < b->note_count ? b->notes[note].row : SIZE_MAX;
    }
    if (!w->zstd || w->one_frame)
        return 0;
    return frame_encode(encoder, b->csv, b->csv_len, &b->out, e);
}

static int write_batch(struct trace_writer *w, struct batch *b, struct err *e)
{
    size_t from = b->header_len;
    int rc = 0;

    for (size_t i = 0; i < b->note_count; i++) {
        hash_stream_add(w->digest, b->csv + from, b->notes[i].begin - from);
        from = b->notes[i].end;
    }
    hash_stream_add(w->digest, b->csv + from, b->csv_len - from);
    w->totals.rows += b->rows - b->note_count;
    w->totals.csv_bytes += b->csv_len;
    if (!w->zstd)
        return write_all(w, b->csv, b->csv_len, e);
    if (w->one_frame)
        rc = frame_encode_part(w->whole, &(struct frame_part){.p = b->csv, .len = b->csv_len},
                               &b->out, e);
    else if (frame_table_add(w->table, b->out.len, b->csv_len))
        rc = err_nomem(e, "seek table");
    return rc ? rc : write_all(w, b->out.at, b->out.len, e);
}

/* Finds a batch in that state; of several the one that comes first in the file. */
static struct batch *find_batch(struct trace_writer *w, enum batch_state state)
{
    struct batch *first = NULL;

    for (unsigned i = 0; i < w->batch_count; i++) {
        struct batch *b = &w->batches[i];
        if (b->state == state && (!first || b->number < first->number))
            first = b;
    }
    return first;
}

static void keep_error(struct trace_writer *w, const struct err *e)
{
    if (!w->error.code)
        w->error = *e;
}

/* Formats and compresses b. Then writes all batches that are next in order and done, unless another
 * thread is at it. Under the lock, which is released meanwhile. */
static void work_on(struct trace_writer *w, struct batch *b, struct frame_encoder *encoder)
{
    struct err e = {0};
    bool skip = w->error.code != 0;

    b->state = BATCH_WORKING;
    pthread_mutex_unlock(&w->lock);
    int rc = skip ? 0 : encode_batch(w, b, encoder, &e);
    pthread_mutex_lock(&w->lock);
    if (rc)
        keep_error(w, &e);
    b->state = BATCH_DONE;

    while (!w->writing && (b = find_batch(w, BATCH_DONE)) && b->number == w->next_out) {
        skip = w->error.code != 0;
        w->writing = true;
        pthread_mutex_unlock(&w->lock);
        rc = skip ? 0 : write_batch(w, b, &e);
        pthread_mutex_lock(&w->lock);
        if (rc)
            keep_error(w, &e);
        w->writing = false;
        w->next_out++;
        b->state = BATCH_FREE;
        pthread_cond_broadcast(&w->done);
    }
}

static void *pool_thread(void *arg)
{
    struct pool_thread *t = arg;
    struct trace_writer *w = t->w;

    pthread_mutex_lock(&w->lock);
    while (!w->quit) {
        struct batch *b = find_batch(w, BATCH_QUEUED);
        if (b)
            work_on(w, b, t->encoder);
        else
            pthread_cond_wait(&w->work, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Works on a queued batch, since the pool has more than it can do, or waits for the pool. Under the
 * lock. */
static void help_or_wait(struct trace_writer *w)
{
    struct batch *b = find_batch(w, BATCH_QUEUED);

    if (b)
        work_on(w, b, w->encoder);
    else
        pthread_cond_wait(&w->done, &w->lock);
}

/* Takes a free batch to be filled. Under the lock. */
static void start_batch(struct trace_writer *w)
{
    struct batch *b = w->batches;

    /* The first one of the array, so that few buffers are used and stay in the caches. */
    while (b->state != BATCH_FREE) {
        if (++b < w->batches + w->batch_count)
            continue;
        help_or_wait(w);
        b = w->batches;
    }
    b->state = BATCH_FILLING;
    b->number = w->next_number++;
    b->rows = b->estimate = b->packed_len = b->note_count = 0;
    w->filling = b;
}

/* Hands the batch that is being filled to the pool. */
static int submit(struct trace_writer *w, struct err *e)
{
    pthread_mutex_lock(&w->lock);
    w->filling->state = BATCH_QUEUED;
    if (w->pool_count)
        pthread_cond_signal(&w->work);
    else
        work_on(w, w->filling, w->encoder);
    start_batch(w);
    int rc = w->error.code;
    if (rc && e)
        *e = w->error;
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* Waits until everything queued is written, or failed. */
static int drain(struct trace_writer *w, struct err *e)
{
    int rc = 0;

    if (w->filling->rows || w->filling->number == 0) /* the first one brings the header */
        rc = submit(w, e);
    if (rc)
        return rc;
    pthread_mutex_lock(&w->lock);
    while (w->next_out < w->filling->number)
        help_or_wait(w);
    rc = w->error.code;
    if (rc && e)
        *e = w->error;
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* ---- open and close ---- */

static int open_batches(struct trace_writer *w, unsigned threads, struct err *e)
{
    /* A packed row is at most three times its estimate, and the last row may exceed the limit. */
    size_t cap = w->batch_bytes * 3 + 2 * MAX_ROW;

    w->batches = calloc(threads + 2, sizeof(*w->batches));
    if (!w->batches)
        return err_nomem(e, "trace batches");
    for (; w->batch_count < threads + 2; w->batch_count++) {
        struct batch *b = &w->batches[w->batch_count];
        b->packed = malloc(cap);
        if (!b->packed)
            return err_nomem(e, "trace batches");
    }
    return 0;
}

/* Starts all threads but the caller. */
static int open_pool(struct trace_writer *w, unsigned threads, int level, struct err *e)
{
    w->pool = calloc(threads, sizeof(*w->pool));
    if (!w->pool)
        return err_nomem(e, "writer threads");
    for (; w->pool_count + 1 < threads; w->pool_count++) {
        struct pool_thread *t = &w->pool[w->pool_count];
        t->w = w;
        t->encoder = w->zstd ? frame_encoder_create(level) : NULL;
        if (w->zstd && !t->encoder)
            return err_nomem(e, "zstd");
        int rc = thread_start(&t->id, pool_thread, t);
        if (rc < 0) {
            frame_encoder_free(t->encoder);
            return thread_refused(e, rc, "a writer thread");
        }
    }
    return 0;
}

static void close_pool(struct trace_writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->quit = true;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->pool_count; i++) {
        pthread_join(w->pool[i].id, NULL);
        frame_encoder_free(w->pool[i].encoder);
    }
    w->pool_count = 0;
}

static int close_output(struct trace_writer *w, struct err *e)
{
    int fd = w->fd;

    w->fd = -1;
    if (fd < 0 || w->is_stdout)
        return 0;
    return close(fd) < 0 ? err_errno(e, -errno, ERR_OUTPUT, w->path, "cannot write") : 0;
}

static void writer_free(struct trace_writer *w)
{
    close_pool(w);
    for (unsigned i = 0; i < w->batch_count; i++) {
        free(w->batches[i].packed);
        free(w->batches[i].csv);
        free(w->batches[i].out.at);
        free(w->batches[i].notes);
    }
    free(w->batches);
    free(w->pool);
    frame_encoder_free(w->encoder);
    frame_encoder_free(w->whole);
    frame_table_free(w->table);
    hash_stream_free(w->digest);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->done);
    pthread_mutex_destroy(&w->lock);
    free(w->head_note);
    free(w->header);
    free(w->path);
    free(w);
}

/* Formats the Note that follows the header. */
static int open_notes(struct trace_writer *w, const struct trace_write_opts *o, struct err *e)
{
    const char *provenance = o->provenance ? o->provenance : "{}";
    int rc = w->format.lines ? trace_format_learn(&w->format, w->header, w->header_len) : 0;

    if (rc == -EINVAL)
        return err_set(e, rc, ERR_FAILED, w->path, "the header lacks columns that Note rows need");
    w->notes = o->notes;
    if (rc == 0 && strlen(provenance) <= TRACE_MAX_NOTE) {
        w->head_note = note_row(w, provenance, &w->head_note_len);
        rc = w->head_note ? 0 : -ENOMEM;
    }
    return rc ? err_nomem(e, "note") : 0;
}

int trace_create(struct trace_writer **out, const char *path, const struct trace_write_opts *o,
                 struct err *e)
{
    struct trace_writer *w = calloc(1, sizeof(*w));
    unsigned threads = o->threads == 0 ? 1 : o->threads < MAX_THREADS ? o->threads : MAX_THREADS;
    int level = o->level ? o->level : 3;
    size_t path_len = strlen(path);
    struct stat st;
    int rc;

    if (!w)
        return err_nomem(e, "trace writer");
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->done, NULL);
    w->fd = -1;
    w->is_stdout = strcmp(path, "-") == 0;
    w->path = strdup(w->is_stdout ? "standard output" : path);
    w->zstd =
        o->zstd > 0 || (o->zstd < 0 && path_len >= 4 && strcmp(path + path_len - 4, ".zst") == 0);
    w->one_frame = w->zstd && o->one_frame;
    w->keeps = o->keeps;
    w->batch_bytes = w->zstd ? FRAME_BYTES : PLAIN_BYTES;
    w->format.lines = o->header != NULL;
    w->format.columns =
        w->format.lines ? o->columns & (TRACE_RESULT | TRACE_EXTRA) : o->columns | TRACE_CORE;
    w->format.epoch_ns = o->epoch_ns;
    w->header_len = o->header ? o->header_len : 0;
    w->header = malloc(w->header_len + 1);
    w->digest = hash_stream_create();
    w->table = frame_table_create();
    w->encoder = w->zstd ? frame_encoder_create(level) : NULL;
    w->whole = w->one_frame ? frame_encoder_create(level) : NULL;
    if (!w->path || !w->header || !w->digest || !w->table || (w->zstd && !w->encoder) ||
        (w->one_frame && !w->whole)) {
        rc = err_nomem(e, "trace writer");
        goto failed;
    }
    if (w->header_len)
        memcpy(w->header, o->header, w->header_len);
    rc = open_batches(w, threads, e);
    if (rc == 0 && o->notes && !w->zstd)
        rc = open_notes(w, o, e);
    if (rc)
        goto failed;

    if (!w->is_stdout)
        w->aside = save_set_aside(w->path);
    w->fd = w->is_stdout ? STDOUT_FILENO
                         : descriptors_open(w->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
    if (w->fd < 0) {
        rc = err_errno(e, w->fd, ERR_OUTPUT, w->path, "cannot create");
        goto failed;
    }
    save_inherit(w->aside, w->fd);
    w->regular = !w->is_stdout && fstat(w->fd, &st) == 0 && S_ISREG(st.st_mode);
    /* Even an empty object says that this is one of our files, cut at row ends. */
    if (w->zstd && !w->one_frame)
        rc = write_skippable(w, FRAME_MAGIC_PROVENANCE, o->provenance ? o->provenance : "{}", e);
    if (rc == 0)
        rc = open_pool(w, threads, level, e);
    if (rc)
        goto failed;
    pthread_mutex_lock(&w->lock);
    start_batch(w);
    pthread_mutex_unlock(&w->lock);
    *out = w;
    return 0;
failed:
    trace_abandon(w);
    return rc;
}

/* Checks a Note and remembers that it is the next row of the batch. */
static int add_note(struct trace_writer *w, const struct trace_row *row, struct err *e)
{
    struct batch *b = w->filling;

    if (w->format.lines || row->key.len == 0 || row->key.len > TRACE_MAX_NOTE)
        return err_set(e, -EINVAL, ERR_FAILED, "", "a Note row of %u bytes is too long for a trace",
                       row->key.len);
    if (memory_resize(&b->notes, b->note_count + 1, sizeof(*b->notes)) < 0)
        return err_nomem(e, "note");
    b->notes[b->note_count++] = (struct note){.row = b->rows};
    return 0;
}

static int refuse_row(const struct trace_row *row, struct err *e)
{
    return err_set(e, -EINVAL, ERR_FAILED, "", "row too long for a trace: key of %u bytes%s",
                   row->key.len, row->key.len > TRACE_MAX_KEY ? "" : ", row over 1 MiB");
}

int trace_write(struct trace_writer *w, const struct trace_row *row, struct err *e)
{
    struct batch *b = w->filling;
    const struct trace_extra *x = row->extra;

    if (row->op == TRACE_NOTE) {
        int rc = add_note(w, row, e);
        if (rc)
            return rc;
    } else if (row->key.len > TRACE_MAX_KEY || row->user.len > MAX_ROW / 4 ||
               row->line.len > MAX_ROW ||
               (x && (x->endpoint.len > MAX_ROW / 8 || x->thread.len > MAX_ROW / 8))) {
        return refuse_row(row, e);
    }
    b->packed_len += trace_pack(&w->format, row, b->packed + b->packed_len);
    b->estimate += trace_format_estimate(&w->format, row);
    b->rows++;
    return b->estimate < w->batch_bytes ? 0 : submit(w, e);
}

void trace_flush(struct trace_writer *w)
{
    if (w->filling->rows || w->filling->number == 0)
        submit(w, NULL);
}

/* Writes the end of a compressed file. */
static int write_end(struct trace_writer *w, const char *summary, struct err *e)
{
    struct frame_bytes end = {0};
    int rc = 0;

    if (w->one_frame) {
        rc = frame_encode_part(w->whole, &(struct frame_part){.p = "", .last = true}, &end, e);
    } else {
        if (summary)
            rc = write_skippable(w, FRAME_MAGIC_SUMMARY, summary, e);
        if (rc == 0 && frame_table_encode(w->table, &end))
            rc = err_nomem(e, "seek table");
    }
    if (rc == 0)
        rc = write_all(w, end.at, end.len, e);
    free(end.at);
    return rc;
}

/* Writes the Note that ends plain output. */
static int write_end_note(struct trace_writer *w, const char *summary, struct err *e)
{
    char digest[HASH_HEX_LEN + 1], rows[160], *text;
    size_t len;

    hash_hex(hash_stream_digest(w->digest), digest);
    snprintf(rows, sizeof(rows), "{\"program\":\"%.32s\",\"rows\":%llu,\"digest\":\"%s\"}",
             w->notes, (unsigned long long)w->totals.rows, digest);
    text = note_row(w, summary && strlen(summary) <= TRACE_MAX_NOTE ? summary : rows, &len);
    if (!text)
        return err_nomem(e, "note");
    int rc = write_all(w, text, len, e);
    free(text);
    return rc;
}

int trace_finish(struct trace_writer *w, const char *summary, struct trace_totals *totals,
                 struct err *e)
{
    int rc = drain(w, e);

    close_pool(w);
    if (rc == 0 && w->zstd)
        rc = write_end(w, summary, e);
    if (rc == 0 && w->notes)
        rc = write_end_note(w, summary, e);
    if (rc == 0)
        rc = close_output(w, e);
    if (totals) {
        *totals = w->totals;
        hash_hex(hash_stream_digest(w->digest), totals->digest);
    }
    if (rc) {
        trace_abandon(w);
        return rc;
    }
    save_drop(w->aside);
    writer_free(w);
    return 0;
}

void trace_abandon(struct trace_writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    keep_error(w, &(struct err){.code = -ECANCELED}); /* nothing queued is written any more */
    pthread_mutex_unlock(&w->lock);
    close_pool(w);
    close_output(w, NULL);
    if (w->keeps && w->totals.rows > 0)
        free(w->aside); /* both files stay */
    else if (w->aside)
        save_put_back(w->aside);
    else if (w->regular)
        unlink(w->path);
    writer_free(w);
}
