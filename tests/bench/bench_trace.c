/* Rows per second of both halves of the trace format: writing plain and zstd with one and two
 * threads, reading with all columns and with the few that a replay needs, by one cursor and by two.
 * The files lie in memory. KVTRACE_BENCH_ROWS sets the number of rows (default 5,000,000). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/trace/read.h"
#include "lib/trace/write.h"

struct bench {
    uint64_t rows;
    char path[2][64]; /* plain, zstd */
    double mb;        /* of CSV text */
};

static void die(const struct err *e)
{
    char text[1024];
    err_format(e, "bench_trace", text, sizeof(text));
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static uint64_t next_random(uint64_t *state)
{
    *state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = *state;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Rows as kvgen writes them: about 130 bytes each. */
static void make_row(uint64_t i, uint64_t *seed, struct trace_row *row, char key[64], char user[32])
{
    uint64_t x = next_random(seed);
    int n = snprintf(key, 64, "user_%04u_turn_%u_block_%012llx", (unsigned)(x & 1023),
                     (unsigned)(x >> 10 & 15), (unsigned long long)(x >> 16));
    row->time_ns = (int64_t)(i * 12345 + (x & 4095));
    row->op = i % 3 ? TRACE_READ : TRACE_WRITE;
    row->size = 131072 * (1 + (x >> 20 & 2047));
    row->tier = (uint8_t)(x >> 40 & 3) % 3;
    row->phase = i % 3 ? TRACE_DECODE : TRACE_PREFILL;
    row->key = (struct trace_str){key, (uint32_t)n};
    n = snprintf(user, 32, "user_%04u", (unsigned)(x & 1023));
    row->user = (struct trace_str){user, (uint32_t)n};
    row->request = (int64_t)(i / 20);
    row->qos = (uint8_t)(x >> 50 & 3) % 3;
    row->class = (uint8_t)(x >> 54 & 7);
    row->tokens = (int64_t)(1 + (x >> 20 & 2047));
    row->arrival_ns = row->time_ns - (int64_t)(x & 0xfffff);
    row->duration_ns = TRACE_NONE;
    row->due_ns = row->eligible_ns = row->start_ns = row->time_ns;
    row->latency_ns = (int64_t)(x & 0xffffff);
    row->device_ns = row->latency_ns / 2;
    row->status = TRACE_OK;
}

enum {
    RING = 4096
};
struct ring {
    struct trace_row rows[RING];
    char keys[RING][64], users[RING][32];
};

static void bench_write(struct bench *b, const struct ring *ring, bool zst, unsigned threads,
                        uint32_t columns)
{
    struct err e = {0};
    struct trace_writer *w;
    struct trace_totals t;
    const struct trace_write_opts o = {
        .columns = columns, .zstd = zst, .threads = threads, .provenance = "{}"};
    int64_t start = clock_now_ns();
    if (trace_create(&w, b->path[zst], &o, &e))
        die(&e);
    for (uint64_t i = 0; i < b->rows; i++) {
        struct trace_row row = ring->rows[i % RING];
        row.time_ns = (int64_t)i * 12345;
        if (trace_write(w, &row, &e))
            die(&e);
    }
    if (trace_finish(w, NULL, &t, &e))
        die(&e);
    double s = (double)(clock_now_ns() - start) / 1e9;
    b->mb = (double)t.csv_bytes / 1e6;
    printf(
        "write %-8s %2d columns %u thread%s  %6.2f M rows/s %7.0f MB/s of CSV (%.0f bytes a row)\n",
        zst ? ".csv.zst" : ".csv", __builtin_popcount(columns), threads, threads > 1 ? "s" : " ",
        (double)b->rows / s / 1e6, b->mb / s, b->mb * 1e6 / (double)b->rows);
    fflush(stdout);
}

struct reading {
    struct trace_reader *r;
    uint64_t rows, sum;
};

static void *read_thread(void *arg)
{
    struct reading *x = arg;
    struct trace_cursor *c;
    const struct trace_row *rows;
    size_t n;
    int rc;
    struct err e = {0};
    if (trace_cursor_open(&c, x->r, &e))
        die(&e);
    while ((rc = trace_cursor_next(c, &rows, &n, &e)) == 1) {
        for (size_t i = 0; i < n; i++)
            x->sum += rows[i].size + (uint64_t)rows[i].time_ns + rows[i].key.len;
        x->rows += n;
    }
    if (rc < 0)
        die(&e);
    trace_cursor_close(c);
    return NULL;
}

static void bench_read(const struct bench *b, bool zst, uint32_t want, const char *what,
                       unsigned cursors)
{
    struct err e = {0};
    struct reading x[2] = {{0}};
    pthread_t id[2];
    const struct trace_read_opts o = {.want = want};
    int64_t start = clock_now_ns();
    if (trace_open(&x[0].r, b->path[zst], &o, &e))
        die(&e);
    x[1].r = x[0].r;
    for (unsigned i = 0; i < cursors; i++)
        pthread_create(&id[i], NULL, read_thread, &x[i]);
    for (unsigned i = 0; i < cursors; i++)
        pthread_join(id[i], NULL);
    trace_close(x[0].r);
    double s = (double)(clock_now_ns() - start) / 1e9;
    if (x[0].rows + x[1].rows != b->rows)
        exit(1);
    printf("read  %-8s %-10s %u cursor%s  %6.2f M rows/s %7.0f MB/s of CSV\n",
           zst ? ".csv.zst" : ".csv", what, cursors, cursors > 1 ? "s" : " ",
           (double)b->rows / s / 1e6, b->mb / s);
    fflush(stdout);
}

static void bench_columns(struct bench *b, const struct ring *ring, uint32_t columns)
{
    const uint32_t few = TRACE_CORE | TRACE_BIT(TRACE_COL_REQUEST) | TRACE_BIT(TRACE_COL_TOKENS) |
                         TRACE_BIT(TRACE_COL_ARRIVAL) | TRACE_BIT(TRACE_COL_LATENCY) |
                         TRACE_BIT(TRACE_COL_STATUS);
    for (int zst = 0; zst < 2; zst++)
        for (unsigned threads = 1; threads <= 2; threads++)
            bench_write(b, ring, zst, threads, columns);
    for (int zst = 0; zst < 2; zst++)
        for (unsigned cursors = 1; cursors <= 2; cursors++) {
            bench_read(b, zst, 0, "all", cursors);
            bench_read(b, zst, few, "about ten", cursors);
            bench_read(b, zst, TRACE_CORE, "core", cursors);
        }
}

int main(void)
{
    static struct ring ring;
    struct bench b = {.rows = 5000000};
    const char *rows = getenv("KVTRACE_BENCH_ROWS"), *dir = "/dev/shm";
    uint64_t seed = 1;
    if (rows)
        b.rows = strtoull(rows, NULL, 10);
    if (access(dir, W_OK))
        dir = "/tmp";
    snprintf(b.path[0], sizeof(b.path[0]), "%s/bench_trace.%d.csv", dir, (int)getpid());
    snprintf(b.path[1], sizeof(b.path[1]), "%s/bench_trace.%d.csv.zst", dir, (int)getpid());
    for (uint64_t i = 0; i < RING; i++)
        make_row(i, &seed, &ring.rows[i], ring.keys[i], ring.users[i]);
    bench_columns(&b, &ring, TRACE_CORE | TRACE_EXTENDED);
    bench_columns(&b, &ring, TRACE_CORE | TRACE_EXTENDED | TRACE_RESULT);
    unlink(b.path[0]);
    unlink(b.path[1]);
    return 0;
}
