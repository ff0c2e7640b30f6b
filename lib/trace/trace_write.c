/* The output half of the trace format: rows are queued in batches, a pool of threads formats and
 * compresses them into independent frames, and whoever finishes the next frame in order writes it.
 * Where a frame ends is decided by its rows alone, so the file is the same for any number of
 * threads. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/hash.h"
#include "lib/trace/csv.h"
#include "lib/trace/frame.h"
#include "lib/trace/trace.h"
#include "lib/trace/trace_format.h"

#define FRAME_BYTES ((size_t)4 << 20)   /* of CSV in a frame, about */
#define PLAIN_BYTES ((size_t)256 << 10) /* in a batch of plain CSV */
#define MAX_ROW     CSV_MAX_ROW
#define MAX_THREADS 256u

enum batch_state {
    BATCH_FREE,
    BATCH_FILLING,
    BATCH_QUEUED,
    BATCH_WORKING,
    BATCH_DONE
};

/* Belongs to whoever put it into its state: FILLING the caller, WORKING a thread. */
struct batch {
    enum batch_state state; /* under the writer's lock */
    uint64_t number;
    size_t rows, estimate;
    char *packed;
    size_t packed_len, packed_cap;
    char *csv;
    size_t csv_len, csv_cap, header_len;
    char *out; /* compressed */
    size_t out_len, out_cap;
};

struct pool_thread {
    struct trace_writer *w;
    pthread_t id;
    struct frame_encoder *encoder;
};

struct trace_writer {
    struct trace_format format;
    char *path, *header;
    size_t header_len;
    int fd;
    bool regular, is_stdout, zstd, one_frame;
    size_t batch_bytes;

    pthread_mutex_t lock; /* all below, but what the writing role owns */
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
    struct frame_encoder *whole; /* one_frame: the only frame */
    struct hash_stream *digest;
    struct frame_table *table;
    struct trace_totals totals;
};

/* ---- output ---- */

static int write_all(struct trace_writer *w, const void *p, size_t len, struct err *e)
{
    for (size_t at = 0; at < len;) {
        ssize_t n = write(w->fd, (const char *)p + at, len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_errno(e, -errno, ERR_OUTPUT, w->path, "cannot write");
        at += (size_t)n;
    }
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

static bool room(char **buf, size_t *cap, size_t len)
{
    if (len <= *cap)
        return true;
    size_t want = len + len / 4;
    char *grown = realloc(*buf, want);
    if (!grown)
        return false;
    *buf = grown;
    *cap = want;
    return true;
}

/* ---- a batch's way ---- */

static int format_batch(struct trace_writer *w, struct batch *b, struct err *e)
{
    struct trace_row row;
    memset(&row, 0, sizeof(row));
    b->csv_len = 0;
    if (!room(&b->csv, &b->csv_cap, w->batch_bytes + w->batch_bytes / 4 + w->header_len + 512))
        return err_nomem(e, "frame");
    if (b->number == 0)
        b->csv_len = trace_format_header(&w->format, w->header, w->header_len, b->csv);
    b->header_len = b->csv_len;
    for (size_t i = 0, at = 0; i < b->rows; i++) {
        at += trace_unpack(&w->format, b->packed + at, &row);
        if (!room(&b->csv, &b->csv_cap, b->csv_len + trace_format_bound(&row)))
            return err_nomem(e, "frame");
        b->csv_len += trace_format_row(&w->format, &row, b->csv + b->csv_len);
    }
    return 0;
}

static int encode_batch(struct trace_writer *w, struct batch *b, struct frame_encoder *encoder,
                        struct err *e)
{
    int rc = format_batch(w, b, e);
    if (rc || !w->zstd)
        return rc;
    if (!room(&b->out, &b->out_cap, frame_bound(b->csv_len)))
        return err_nomem(e, "frame");
    if (w->one_frame)
        return 0; /* compressed in order, by write_batch */
    return frame_encode(encoder, b->csv, b->csv_len, b->out, b->out_cap, &b->out_len, e);
}

static int write_batch(struct trace_writer *w, struct batch *b, struct err *e)
{
    int rc = 0;
    hash_stream_add(w->digest, b->csv + b->header_len, b->csv_len - b->header_len);
    w->totals.rows += b->rows;
    w->totals.csv_bytes += b->csv_len;
    if (w->one_frame)
        rc = frame_encode_part(w->whole, b->csv, b->csv_len, false, b->out, b->out_cap, &b->out_len,
                               e);
    if (rc == 0 && w->zstd && !w->one_frame && frame_table_add(w->table, b->out_len, b->csv_len))
        rc = err_nomem(e, "seek table");
    if (rc)
        return rc;
    return w->zstd ? write_all(w, b->out, b->out_len, e) : write_all(w, b->csv, b->csv_len, e);
}

static struct batch *find_batch(struct trace_writer *w, enum batch_state state, uint64_t number)
{
    for (unsigned i = 0; i < w->batch_count; i++)
        if (w->batches[i].state == state &&
            (number == UINT64_MAX || w->batches[i].number == number))
            return &w->batches[i];
    return NULL;
}

/* The queued batch that comes first in the file. */
static struct batch *find_queued(struct trace_writer *w)
{
    struct batch *first = NULL;
    for (unsigned i = 0; i < w->batch_count; i++) {
        struct batch *b = &w->batches[i];
        if (b->state == BATCH_QUEUED && (!first || b->number < first->number))
            first = b;
    }
    return first;
}

static void keep_error(struct trace_writer *w, const struct err *e)
{
    if (!w->error.code)
        w->error = *e;
}

/* Writes all batches that are next in order and done, unless another thread is at it. Under the
 * lock, which is released while writing. */
static void write_in_order(struct trace_writer *w)
{
    struct batch *b;
    while (!w->writing && (b = find_batch(w, BATCH_DONE, w->next_out))) {
        struct err e = {0};
        bool skip = w->error.code != 0;
        w->writing = true;
        pthread_mutex_unlock(&w->lock);
        int rc = skip ? 0 : write_batch(w, b, &e);
        pthread_mutex_lock(&w->lock);
        if (rc)
            keep_error(w, &e);
        w->writing = false;
        w->next_out++;
        b->state = BATCH_FREE;
        pthread_cond_broadcast(&w->done);
    }
}

/* Formats and compresses b, then writes what can be written. Under the lock, released meanwhile. */
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
    write_in_order(w);
}

static void *pool_thread(void *arg)
{
    struct pool_thread *t = arg;
    struct trace_writer *w = t->w;
    pthread_mutex_lock(&w->lock);
    while (!w->quit) {
        struct batch *b = find_queued(w);
        if (b)
            work_on(w, b, t->encoder);
        else
            pthread_cond_wait(&w->work, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* Waits for a batch to fill; works itself when the pool has more than it can do. Under the lock. */
static struct batch *wait_for_free(struct trace_writer *w)
{
    for (;;) {
        struct batch *b = find_batch(w, BATCH_FREE, UINT64_MAX);
        if (b)
            return b;
        b = find_queued(w);
        if (b)
            work_on(w, b, w->encoder);
        else
            pthread_cond_wait(&w->done, &w->lock);
    }
}

static void start_batch(struct trace_writer *w)
{
    struct batch *b = wait_for_free(w);
    b->state = BATCH_FILLING;
    b->number = w->next_number++;
    b->rows = b->estimate = b->packed_len = 0;
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

/* Everything queued is written, or failed. */
static int drain(struct trace_writer *w, struct err *e)
{
    pthread_mutex_lock(&w->lock);
    while (w->next_out < w->filling->number) {
        struct batch *b = find_queued(w);
        if (b)
            work_on(w, b, w->encoder);
        else
            pthread_cond_wait(&w->done, &w->lock);
    }
    int rc = w->error.code;
    if (rc && e)
        *e = w->error;
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* ---- open and close ---- */

static int open_output(struct trace_writer *w, struct err *e)
{
    struct stat st;
    w->fd = w->is_stdout ? STDOUT_FILENO
                         : open(w->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (w->fd < 0)
        return err_errno(e, -errno, ERR_OUTPUT, w->path, "cannot create");
    w->regular = !w->is_stdout && fstat(w->fd, &st) == 0 && S_ISREG(st.st_mode);
    return 0;
}

static int open_batches(struct trace_writer *w, unsigned threads, struct err *e)
{
    /* A packed row is at most three times its estimate, and one row may pass the limit. */
    size_t cap = w->batch_bytes * 3 + 2 * MAX_ROW;
    w->batch_count = threads + 2;
    w->batches = calloc(w->batch_count, sizeof(*w->batches));
    for (unsigned i = 0; w->batches && i < w->batch_count; i++) {
        w->batches[i].packed = malloc(cap);
        w->batches[i].packed_cap = cap;
        if (!w->batches[i].packed)
            return err_nomem(e, "trace batches");
    }
    return w->batches ? 0 : err_nomem(e, "trace batches");
}

static int open_pool(struct trace_writer *w, unsigned threads, int level, struct err *e)
{
    w->pool = calloc(threads, sizeof(*w->pool));
    if (!w->pool)
        return err_nomem(e, "writer threads");
    for (unsigned i = 0; i + 1 < threads; i++) {
        struct pool_thread *t = &w->pool[i];
        t->w = w;
        t->encoder = w->zstd ? frame_encoder_create(level) : NULL;
        if (w->zstd && !t->encoder)
            return err_nomem(e, "zstd");
        w->pool_count++; /* close_pool frees the encoder even if the thread does not start */
        int rc = pthread_create(&t->id, NULL, pool_thread, t);
        if (rc) {
            w->pool_count--;
            frame_encoder_free(t->encoder);
            return err_errno(e, -rc, ERR_FAILED, "", "cannot start a writer thread");
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

static void writer_free(struct trace_writer *w)
{
    close_pool(w);
    for (unsigned i = 0; w->batches && i < w->batch_count; i++) {
        free(w->batches[i].packed);
        free(w->batches[i].csv);
        free(w->batches[i].out);
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
    free(w->header);
    free(w->path);
    free(w);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static int take_options(struct trace_writer *w, const char *path, const struct trace_write_opts *o,
                        struct err *e)
{
    w->is_stdout = strcmp(path, "-") == 0;
    w->path = strdup(w->is_stdout ? "standard output" : path);
    w->zstd = o->zstd < 0 ? ends_with(path, ".zst") : o->zstd > 0;
    w->one_frame = w->zstd && o->one_frame;
    w->batch_bytes = w->zstd ? FRAME_BYTES : PLAIN_BYTES;
    w->format.lines = o->header != NULL;
    w->format.columns = w->format.lines ? o->columns & TRACE_RESULT : o->columns | TRACE_CORE;
    w->format.epoch_ns = o->epoch_ns;
    w->header_len = o->header ? o->header_len : 0;
    w->header = malloc(w->header_len + 1);
    w->digest = hash_stream_create();
    w->table = frame_table_create();
    if (!w->path || !w->header || !w->digest || !w->table)
        return err_nomem(e, "trace writer");
    if (w->header_len)
        memcpy(w->header, o->header, w->header_len);
    return 0;
}

static int open_encoders(struct trace_writer *w, int level, struct err *e)
{
    if (!w->zstd)
        return 0;
    w->encoder = frame_encoder_create(level);
    w->whole = w->one_frame ? frame_encoder_create(level) : NULL;
    return !w->encoder || (w->one_frame && !w->whole) ? err_nomem(e, "zstd") : 0;
}

int trace_create(struct trace_writer **out, const char *path, const struct trace_write_opts *o,
                 struct err *e)
{
    struct trace_writer *w = calloc(1, sizeof(*w));
    unsigned threads = o->threads == 0 ? 1 : o->threads < MAX_THREADS ? o->threads : MAX_THREADS;
    int level = o->level ? o->level : 3;
    if (!w)
        return err_nomem(e, "trace writer");
    w->fd = -1;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->done, NULL);
    int rc = take_options(w, path, o, e);
    if (rc == 0)
        rc = open_batches(w, threads, e);
    if (rc == 0)
        rc = open_encoders(w, level, e);
    if (rc == 0)
        rc = open_output(w, e);
    /* Without provenance an empty object still says that this is one of our files, cut at row ends.
     */
    if (rc == 0 && w->zstd && !w->one_frame)
        rc = write_skippable(w, FRAME_MAGIC_PROVENANCE, o->provenance ? o->provenance : "{}", e);
    if (rc == 0)
        rc = open_pool(w, threads, level, e);
    if (rc) {
        trace_abandon(w);
        return rc;
    }
    pthread_mutex_lock(&w->lock);
    start_batch(w);
    pthread_mutex_unlock(&w->lock);
    *out = w;
    return 0;
}

static int refuse_row(const struct trace_row *row, struct err *e)
{
    return err_set(e, -EINVAL, ERR_FAILED, "", "a row that no trace can hold: key of %u bytes%s",
                   row->key.len, row->key.len > TRACE_MAX_KEY ? "" : ", row over 1 MiB");
}

int trace_write(struct trace_writer *w, const struct trace_row *row, struct err *e)
{
    struct batch *b = w->filling;
    if (row->key.len > TRACE_MAX_KEY || row->user.len > MAX_ROW / 4 || row->line.len > MAX_ROW)
        return refuse_row(row, e);
    b->packed_len += trace_pack(&w->format, row, b->packed + b->packed_len);
    b->estimate += trace_format_estimate(&w->format, row);
    b->rows++;
    return b->estimate < w->batch_bytes ? 0 : submit(w, e);
}

int trace_flush(struct trace_writer *w, struct err *e)
{
    /* Frames end where their rows say, whatever the time. */
    return !w->zstd && w->filling->rows ? submit(w, e) : 0;
}

int trace_drain(struct trace_writer *w, struct trace_totals *totals, struct err *e)
{
    int rc = 0;
    if (w->filling->rows || w->filling->number == 0) /* the first one brings the header */
        rc = submit(w, e);
    if (rc == 0)
        rc = drain(w, e);
    if (totals) {
        pthread_mutex_lock(&w->lock);
        *totals = w->totals;
        hash_hex(hash_stream_digest(w->digest), totals->digest);
        pthread_mutex_unlock(&w->lock);
    }
    return rc;
}

/* What ends the file. */
static int write_end(struct trace_writer *w, const char *summary, struct err *e)
{
    void *table = NULL;
    size_t len;
    int rc = 0;
    if (w->one_frame) {
        char last[256];
        rc = frame_encode_part(w->whole, "", 0, true, last, sizeof(last), &len, e);
        return rc ? rc : write_all(w, last, len, e);
    }
    if (summary)
        rc = write_skippable(w, FRAME_MAGIC_SUMMARY, summary, e);
    if (rc == 0 && frame_table_encode(w->table, &table, &len))
        rc = err_nomem(e, "seek table");
    if (rc == 0)
        rc = write_all(w, table, len, e);
    free(table);
    return rc;
}

static int close_output(struct trace_writer *w, struct err *e)
{
    int fd = w->fd;
    w->fd = -1;
    if (fd < 0 || w->is_stdout)
        return 0;
    return close(fd) < 0 ? err_errno(e, -errno, ERR_OUTPUT, w->path, "cannot write") : 0;
}

int trace_finish(struct trace_writer *w, const char *summary, struct trace_totals *totals,
                 struct err *e)
{
    int rc = trace_drain(w, NULL, e);
    close_pool(w);
    if (rc == 0 && w->zstd)
        rc = write_end(w, summary, e);
    if (rc == 0)
        rc = close_output(w, e);
    if (totals) {
        *totals = w->totals;
        hash_hex(hash_stream_digest(w->digest), totals->digest);
    }
    if (rc)
        trace_abandon(w);
    else
        writer_free(w);
    return rc;
}

void trace_abandon(struct trace_writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    keep_error(w, &(struct err){.code = -ECANCELED}); /* what is queued is not written any more */
    pthread_mutex_unlock(&w->lock);
    close_pool(w);
    close_output(w, NULL);
    if (w->regular)
        unlink(w->path);
    writer_free(w);
}
