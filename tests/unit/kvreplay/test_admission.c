/* Who is served first: twelve requests of three classes as on paper, the class that a request
 * inherits, room that is reserved with the request, and random traces with moves, shared prefixes
 * and as little room as the trace needs, which no order may let get stuck. Time is fake, and every
 * operation takes 10 ms. An engine that serves steps has so many of its files in flight as it has
 * threads. A bug looked like a run that never ended, a read before its write, an interactive
 * request behind batch ones, or a drive that got more from an engine at once than the engine gives.
 * TEST_TRACES sets how many random traces are tried. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kvreplay/sched/sched.h"
#include "kvreplay/wait/line.h"
#include "lib/base/hash.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/kvreplay/fake_tier.h"

enum {
    MS = 1000000,
    WINDOW = 8192,
    COPIES = 12,
    THREAD_ROWS = 300
};

#define HEADER                                                                                     \
    "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Duration_us,Arrival,QoS"

/* One run, and what came of it. */
struct run {
    enum admission_rule admit;
    unsigned workers;
    int64_t duration_ns;
    uint64_t capacity[TRACE_TIERS];
    bool steps; /* of engines, */
    struct threads_opts threads;
    const char *columns; /* more of them */
    struct counts counts;
    struct sched_outcome outcome;
    uint64_t most[TRACE_TIERS]; /* bytes stored at once */
    size_t most_in_flight;      /* on Tier-2 */
    char *text;                 /* the results; the caller frees it */
};

static void serve(struct run *run, const char *rows)
{
    char in[] = "/tmp/kvreplay-unit-in-XXXXXX", out[] = "/tmp/kvreplay-unit-out-XXXXXX";
    struct err e = {0};
    int64_t now = 1000 * (int64_t)MS;
    struct clock clock = clock_fake(&now);
    FILE *f = fdopen(mkstemp(in), "w");
    close(mkstemp(out));
    fprintf(f, "%s%s\n%s", HEADER, run->columns ? run->columns : "", rows);
    fclose(f);

    struct bell *bell = bell_create();
    struct trace_reader *trace;
    struct trace_read_opts ro = {.want_line = true};
    assert_int_equal(trace_open(&trace, in, &ro, &e), 0);
    struct trace_str header = trace_header(trace);
    struct trace_write_opts wo = {.columns = trace_columns(trace) | TRACE_RESULT,
                                  .header = header.p,
                                  .header_len = header.len};
    struct trace_writer *w;
    assert_int_equal(trace_create(&w, out, &wo, &e), 0);
    struct results *results;
    struct reader *reader;
    assert_int_equal(results_open(&results, w, TRACE_NONE, &e), 0);
    struct reader_opts rdo = {.rows = WINDOW,
                              .select.only_tier = SELECTION_ALL_TIERS,
                              .want_line = true,
                              .tell_starved = true,
                              .bell = bell};
    assert_int_equal(reader_open(&reader, trace, &rdo, &e), 0);
    while (!reader_quiet(reader)) /* the fake clock must not jump over rows still being read */
        sched_yield();

    struct fake fake[TRACE_TIERS];
    struct tier *tier[TRACE_TIERS];
    struct room room[TRACE_TIERS];
    bool verifies[TRACE_TIERS] = {false};
    for (int i = 0; i < TRACE_TIERS; i++) {
        fake[i] = (struct fake){.base = {&fake_ops}, .now = &now};
        tier[i] = &fake[i].base;
        room[i] = (struct room){.capacity = run->capacity[i] ? run->capacity[i] : 1 << 20,
                                .max_objects = 1 << 20};
    }
    struct ledger ledger = {
        .counts = &run->counts, .results = results, .room = room, .lag_limit_ns = INT64_MAX};
    assert_int_equal(counts_init(&run->counts), 0);
    struct sched_env env = {.reader = reader,
                            .objects = objects_create(),
                            .room = room,
                            .tier = tier,
                            .verifies = verifies,
                            .ledger = &ledger,
                            .bell = bell};
    struct sched_opts o = {.clock = &clock,
                           .timing = SCHED_SERVED,
                           .workers = run->workers,
                           .admit = run->admit,
                           .speed = 1,
                           .order = ORDER_REQUEST,
                           .inflight = FAKE_SLOTS,
                           .duration_ns = run->duration_ns,
                           .steps = run->steps,
                           .threads = run->threads,
                           .window = WINDOW};
    struct sched *s;
    uint64_t skipped;
    assert_int_equal(sched_create(&s, &o, &env, &e), 0);
    assert_int_equal(sched_run(s, &run->outcome, &e), 0);
    sched_free(s);
    assert_true(reader_close(reader, &skipped));
    results_close(results);
    assert_int_equal(trace_finish(w, NULL, NULL, &e), 0);
    objects_free(env.objects);
    for (int i = 0; i < TRACE_TIERS; i++) {
        run->most[i] = fake[i].most_stored;
        if (run->outcome.end == SCHED_DONE)
            assert_int_equal(room[i].reserved, room[i].planned);
    }
    run->most_in_flight = fake[TRACE_STORAGE].most_count;
    f = fopen(out, "r");
    size_t size = strlen(rows) + 120 * (size_t)(run->counts.rows + 2);
    run->text = calloc(1, size);
    assert_true(fread(run->text, 1, size - 1, f) < size - 1);
    fclose(f);
    trace_close(trace);
    bell_free(bell);
    unlink(in);
    unlink(out);
}

static void run_release(struct run *run)
{
    counts_release(&run->counts);
    free(run->text);
}

/* Milliseconds in a result column (0: Due, 2: Start) of the row of a request; -1: empty, or there
 * is no such row. */
static double at_ms(const struct run *run, int request, const char *op, int column)
{
    for (const char *p = strchr(run->text, '\n'); p && p[1]; p = strchr(p + 1, '\n')) {
        const char *field[20] = {p + 1};
        int n = 1;
        for (const char *c = p + 1; *c && *c != '\n' && n < 20; c++) {
            if (*c == ',')
                field[n++] = c + 1;
        }
        if (atoi(field[6]) == request && strncmp(field[1], op, strlen(op)) == 0)
            return *field[10 + column] == ',' ? -1 : strtod(field[10 + column], NULL) * 1e3;
    }
    return -1;
}

static void assert_ms(const struct run *run, int request, const char *op, int column, double want)
{
    double got = at_ms(run, request, op, column);
    if (got < want - 1e-3 || got > want + 1e-3)
        fail_msg("request %d, %s, column %d: %.6f ms instead of %.6f", request, op, column, got,
                 want);
}

/* ---- on paper ---- */

/* One worker. A request takes 20 ms: an operation and a generation of 10 ms each. The trace has
 * them in this order. */
static const struct {
    const char *qos;
    int arrival_ms, qos_ms, fifo_ms; /* arrival, and start with admit=qos and fifo */
} twelve[12] = {
    {"batch", 0, 180, 0},          /* the tenth: batch has waited longest */
    {"batch", 0, 60, 20},          /* 7 reads what it writes: interactive from 45 ms on */
    {"responsive", 0, 20, 40},     /* no interactive one is there at 20 */
    {"interactive", 0, 0, 60},     /* the only interactive one at 0 */
    {"responsive", 5, 160, 80},    /* all interactive ones are served */
    {"interactive", 30, 40, 100},  /* */
    {"interactive", 45, 80, 120},  /* behind 2, which is before it in the trace */
    {"responsive", 5, 200, 140},   /* */
    {"interactive", 50, 100, 160}, /* */
    {"responsive", 5, 220, 180},   /* */
    {"interactive", 60, 120, 200}, /* */
    {"interactive", 70, 140, 220}, /* */
};

static void twelve_as_on_paper(void **state)
{
    (void)state;
    char rows[4096];
    size_t n = 0;

    for (int i = 0; i < 12; i++) {
        bool reads = i == 6;
        n += (size_t)snprintf(rows + n, sizeof(rows) - n,
                              "0.1,%s,10,Tier-2,k%d,%s,%d,,%.3f,%s\n"
                              "0.1,Generate,0,,,,%d,10000,%.3f,%s\n",
                              reads ? "Read" : "Write", reads ? 2 : i + 1,
                              reads ? "Decode" : "Prefill", i + 1, twelve[i].arrival_ms / 1e3,
                              twelve[i].qos, i + 1, twelve[i].arrival_ms / 1e3, twelve[i].qos);
    }
    for (int fifo = 0; fifo < 2; fifo++) {
        struct run run = {.admit = fifo ? ADMISSION_FIFO : ADMISSION_QOS, .workers = 1};
        serve(&run, rows);
        for (int i = 0; i < 12; i++) {
            double start = fifo ? twelve[i].fifo_ms : twelve[i].qos_ms;
            const char *op = i == 6 ? "Read" : "Write";
            assert_ms(&run, i + 1, op, 0, twelve[i].arrival_ms);
            assert_ms(&run, i + 1, op, 2, start);
            assert_ms(&run, i + 1, "Generate", 2, start + 10);
        }
        assert_int_equal(run.counts.ok, 24);
        assert_int_equal(run.counts.reads_before_write, 0);
        assert_int_equal(run.counts.inherited, fifo ? 0 : 1);
        assert_int_equal(run.counts.in_turn, fifo ? 0 : 1);
        assert_int_equal(run.counts.admitted_beyond, 0);
        assert_int_equal(run.counts.capacity_exceeded, 0);
        assert_int_equal(hist_count(run.counts.queued[0]), 6);
        /* 0, 10, 35, 50, 60 and 70; in the order of the trace 60, 70, 75, 110, 140 and 150 */
        assert_true(hist_sum(run.counts.queued[0]) == (fifo ? 605.0 : 225.0) * MS);
        assert_int_equal(hist_max(run.counts.lateness), 0);
        run_release(&run);
    }
}

/* Stopped at 105 ms: who is in line then has waited since its arrival. */
static void waiting_is_counted(void **state)
{
    (void)state;
    char rows[2048];
    size_t n = 0;
    struct run run = {.admit = ADMISSION_QOS, .workers = 1, .duration_ns = 105 * MS};

    for (int i = 0; i < 8; i++)
        n += (size_t)snprintf(rows + n, sizeof(rows) - n,
                              "0,Write,10,Tier-2,k%d,Prefill,%d,,%.3f,%s\n"
                              "0,Generate,0,,,,%d,10000,%.3f,%s\n",
                              i, i, i / 1e3, i % 2 ? "interactive" : "batch", i, i / 1e3,
                              i % 2 ? "interactive" : "batch");
    serve(&run, rows);
    /* Request 0 at 0, then 1, 3, 5 and 7, then 2 at 100; 4 and 6 wait. */
    assert_int_equal(run.outcome.end, SCHED_DURATION);
    assert_int_equal(run.outcome.waiting, 2);
    assert_int_equal(run.counts.waiting[TRACE_BATCH], 2);
    assert_int_equal(run.counts.waiting[TRACE_INTERACTIVE], 0);
    assert_int_equal(hist_count(run.counts.queued[TRACE_BATCH]), 4);
    assert_true(hist_sum(run.counts.queued[TRACE_BATCH]) == (0.0 + 98 + 101 + 99) * MS);
    assert_int_equal(hist_count(run.counts.queue), 6);
    assert_int_equal(run.counts.entered[TRACE_BATCH], 4);
    run_release(&run);
}

/* An interactive request reads what a responsive one writes, which moves what a batch one writes.
 * All three are served before the other batch request, which came first. */
static void classes_are_inherited_through_others(void **state)
{
    (void)state;
    struct run run = {.admit = ADMISSION_QOS, .workers = 1};

    serve(&run,
          "0,Write,10,Tier-1,z,Prefill,1,,0,responsive\n0,Generate,0,,,,1,10000,0,responsive\n"
          "0,Write,10,Tier-1,a,Prefill,2,,0.001,batch\n"
          "0,Write,10,Tier-1,b,Prefill,3,,0.002,batch\n"
          "0,Read,10,Tier-1,b,Evict,4,,0.003,responsive\n"
          "0,Write,10,Tier-2,b,Evict,4,,0.003,responsive\n"
          "0,Write,10,Tier-1,c,Prefill,4,,0.003,responsive\n"
          "0,Write,10,Tier-1,d,Prefill,5,,0.004,responsive\n"
          "0,Read,10,Tier-1,c,Decode,6,,0.005,interactive\n");
    assert_ms(&run, 1, "Write", 2, 0);
    assert_ms(&run, 3, "Write", 2, 20);
    assert_ms(&run, 4, "Read", 2, 30);
    assert_ms(&run, 6, "Read", 2, 60);
    assert_ms(&run, 5, "Write", 2, 70);
    assert_ms(&run, 2, "Write", 2, 80);
    assert_int_equal(run.counts.inherited, 2);
    assert_int_equal(run.counts.reads_before_write, 0);
    run_release(&run);
}

/* The interactive request came first and needs what a batch one writes that comes later: it waits
 * in line and leaves the worker to others. */
static void waits_with_what_it_waits_for(void **state)
{
    (void)state;
    struct run run = {.admit = ADMISSION_QOS, .workers = 1};

    serve(&run,
          "0,Write,10,Tier-1,z,Prefill,9,,0,batch\n0,Generate,0,,,,9,10000,0,batch\n"
          "0,Write,10,Tier-1,a,Prefill,1,,0.055,batch\n0,Generate,0,,,,1,10000,0.055,batch\n"
          "0,Read,10,Tier-1,a,Decode,2,,0.001,interactive\n"
          "0,Write,10,Tier-1,b,Prefill,3,,0.002,batch\n0,Generate,0,,,,3,10000,0.002,batch\n");
    assert_ms(&run, 9, "Write", 2, 0);
    assert_ms(&run, 3, "Write", 2, 20);
    assert_ms(&run, 1, "Write", 2, 55);
    assert_ms(&run, 2, "Read", 2, 75);
    assert_int_equal(run.counts.admitted_beyond, 0);
    run_release(&run);
}

/* ---- threads of engines ---- */

#define ENGINES ",Engine"

/* Start, in milliseconds, of the row of an operation and a key in a trace with engines. */
static double key_start_ms(const struct run *run, const char *op, const char *key)
{
    char begin[64];
    snprintf(begin, sizeof(begin), ",%s,10,Tier-2,%s,", op, key);
    const char *p = strstr(run->text, begin);
    assert_non_null(p);
    while (p[-1] != '\n')
        p--;
    for (int field = 0; field < 13; field++) /* Due, Eligible and Start follow the trace's own */
        p = strchr(p, ',') + 1;
    return strtod(p, NULL) * 1e3;
}

static void assert_start(const struct run *run, const char *op, const char *key, double want)
{
    const double got = key_start_ms(run, op, key);
    if (got < want - 1e-3 || got > want + 1e-3)
        fail_msg("%s of %s: %.6f ms instead of %.6f", op, key, got, want);
}

/* Two threads for writes and one for reads, of each of two engines. */
static void engines_have_threads(void **state)
{
    (void)state;
    struct run run = {.workers = 1,
                      .steps = true,
                      .threads = {.engines = 2, .reads = 1, .writes = 2},
                      .columns = ENGINES};
    static const char rows[] = "0,Write,10,Tier-2,a,Prefill,,,,,0\n"
                               "0,Write,10,Tier-2,b,Prefill,,,,,0\n"
                               "0,Write,10,Tier-2,c,Prefill,,,,,0\n"
                               "0,Write,10,Tier-2,d,Prefill,,,,,1\n"
                               "0,Write,10,Tier-1,x,Prefill,,,,,0\n"
                               "0,Write,10,Tier-2,e,Prefill,,,,,0\n"
                               "0,Write,10,Tier-2,f,Prefill,,,,,0\n"
                               "0.1,Read,10,Tier-2,a,Prefill,,,,,0\n"
                               "0.1,Read,10,Tier-2,b,Prefill,,,,,0\n"
                               "0.1,Read,10,Tier-2,d,Prefill,,,,,1\n"
                               "0.1,Read,10,Tier-2,c,Evict,,,,,0\n"
                               "0.1,Read,10,Tier-2,e,Prefill,,,,,0\n"
                               "0.1,Read,10,Tier-2,f,Prefill,,,,,7\n"
                               "0.1,Write,10,Tier-2,g,Prefill,,,,,0\n";
    serve(&run, rows);
    static const struct {
        const char *op, *key;
        double steps_ms, ms; /* with threads, and without */
    } starts[] = {{"Write", "a", 0, 0},    {"Write", "b", 0, 0},    {"Write", "c", 10, 0},
                  {"Write", "d", 0, 0},    {"Write", "e", 10, 0},   {"Write", "f", 20, 0},
                  {"Read", "a", 100, 100}, {"Read", "b", 110, 100}, {"Read", "d", 100, 100},
                  {"Read", "c", 100, 100}, {"Read", "e", 120, 100}, {"Read", "f", 100, 100},
                  {"Write", "g", 100, 100}};
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        assert_start(&run, starts[i].op, starts[i].key, starts[i].steps_ms);
    assert_int_equal(run.counts.ok, 14);
    assert_int_equal(hist_max(run.counts.lateness), 0);
    run_release(&run);
    run.threads.reads = run.threads.writes = 0;
    serve(&run, rows);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        assert_start(&run, starts[i].op, starts[i].key, starts[i].ms);
    run_release(&run);
}

/* Rows in any order, of keys that come and go, some of requests: all run, whoever waits for what.
 */
static void threads_let_nothing_get_stuck(void **state)
{
    (void)state;
    uint64_t drawn = 0;
    for (int round = 0; round < 40; round++) {
        bool there[COPIES] = {false};
        char rows[THREAD_ROWS * 64];
        size_t n = 0, made = 0;
        for (int i = 0; i < THREAD_ROWS; i++) {
            const uint64_t key = hash_mix(++drawn) % COPIES, what = (hash_mix(++drawn) % 3);
            const char *op = !there[key] ? "Write"
                             : what == 0 ? "Delete"
                             : what == 1 ? "Write"
                                         : "Read";
            char request[16] = "";
            if ((hash_mix(++drawn) % 2))
                snprintf(request, sizeof(request), "%d", (int)(hash_mix(++drawn) % 8));
            there[key] = *op != 'D';
            n += (size_t)snprintf(rows + n, sizeof(rows) - n, "%.3f,%s,10,Tier-2,k%d,%s,%s,,,,%d\n",
                                  (double)i / 1000, op, (int)key, *op == 'D' ? "Evict" : "Prefill",
                                  request, (int)(hash_mix(++drawn) % 2));
            made++;
        }
        struct run run = {.workers = 1 + (unsigned)(hash_mix(++drawn) % 4),
                          .steps = true,
                          .threads = {.engines = 2, .reads = 1, .writes = 1},
                          .columns = ENGINES};
        serve(&run, rows);
        assert_int_equal(run.outcome.end, SCHED_DONE);
        assert_int_equal(run.counts.ok, made);
        run_release(&run);
    }
}

/* ---- room ---- */

/* Room for two objects. The interactive request 3 does not fit until 2 has moved one away, so 2
 * goes first, though it is batch. */
static void others_go_first_without_room(void **state)
{
    (void)state;
    struct run run = {.admit = ADMISSION_QOS, .workers = 1, .capacity = {0, 20, 0}};

    serve(&run, "0,Write,10,Tier-1,a,Prefill,1,,0,batch\n0,Write,10,Tier-1,b,Prefill,1,,0,batch\n"
                "0,Generate,0,,,,1,10000,0,batch\n"
                "0,Read,10,Tier-1,a,Evict,2,,0,batch\n0,Generate,0,,,,2,10000,0,batch\n"
                "0,Write,10,Tier-1,c,Prefill,3,,0.001,interactive\n");
    assert_ms(&run, 1, "Write", 2, 0);
    assert_ms(&run, 2, "Read", 2, 30);
    assert_ms(&run, 3, "Write", 2, 50);
    assert_int_equal(run.counts.capacity_exceeded, 0);
    assert_int_equal(run.most[1], 20);
    run_release(&run);
}

/* Room for one object. 4 takes the room that the trace gave to 2, which 3 would have freed; only
 * when nothing else can go on does 2 exceed it. */
static void the_oldest_exceeds_the_capacity(void **state)
{
    (void)state;
    struct run run = {.admit = ADMISSION_QOS, .workers = 2, .capacity = {0, 10, 0}};

    serve(&run, "0,Write,10,Tier-1,a,Prefill,1,,0,interactive\n"
                "0,Read,10,Tier-1,a,Evict,1,,0,interactive\n0,Generate,0,,,,1,10000,0,interactive\n"
                "0,Write,10,Tier-1,b,Prefill,2,,0.001,batch\n0,Generate,0,,,,2,10000,0.001,batch\n"
                "0,Read,10,Tier-1,b,Evict,3,,0.001,batch\n0,Generate,0,,,,3,10000,0.001,batch\n"
                "0,Write,10,Tier-1,c,Prefill,4,,0.002,interactive\n"
                "0,Generate,0,,,,4,10000,0.002,interactive\n");
    assert_int_equal(run.counts.ok, 9);
    assert_ms(&run, 4, "Write", 2, 20); /* a is gone */
    assert_ms(&run, 2, "Write", 2, 40); /* nothing is outstanding */
    assert_ms(&run, 3, "Read", 2, 50);  /* and it was there for its worker */
    assert_int_equal(run.counts.capacity_exceeded, 1);
    assert_int_equal(run.counts.admitted_beyond, 0);
    assert_int_equal(run.most[1], 20);
    run_release(&run);
}

/* Batch is served while interactive requests never end: every tenth. */
static void batch_does_not_starve(void **state)
{
    (void)state;
    enum {
        EACH = 200
    };
    static char rows[EACH * 2 * 160];
    size_t n = 0, batch = 0;
    struct run run = {.admit = ADMISSION_QOS, .workers = 2};

    for (int i = 0; i < 2 * EACH; i++)
        n += (size_t)snprintf(rows + n, sizeof(rows) - n,
                              "0,Write,10,Tier-2,k%d,Prefill,%d,,0,%s\n0,Generate,0,,,,%d,10000,0,"
                              "%s\n",
                              i, i, i % 2 ? "interactive" : "batch", i,
                              i % 2 ? "interactive" : "batch");
    serve(&run, rows);
    /* The last interactive one goes with the 222nd admission, in the 111th 20 ms. */
    for (int i = 0; i < 2 * EACH; i += 2)
        batch += at_ms(&run, i, "Write", 2) < 110 * 20;
    assert_int_equal(batch, 22);
    assert_true(at_ms(&run, 2 * EACH - 1, "Write", 2) <= 111 * 20);
    assert_int_equal(run.counts.in_turn, 22);
    run_release(&run);
}

/* ---- random traces ---- */

enum {
    KEYS = 150, /* of which SHARED are prefixes of any request */
    SHARED = 6,
    AT_ONCE = 7, /* requests that are served together when the trace is made */
    REQUESTS = 60,
    ABSENT = -1
};

/* A cache of three tiers, least recently used first out, which makes a trace. */
struct maker {
    uint64_t seed;
    char text[1 << 17];
    size_t len;
    struct {
        int tier, size;
        long used;
    } key[KEYS];
    uint64_t capacity[TRACE_TIERS], used[TRACE_TIERS], peak[TRACE_TIERS];
    long steps;
    int arrival_ms[REQUESTS];
    const char *qos[REQUESTS];
};

static unsigned below(struct maker *m, unsigned n)
{
    m->seed = m->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(m->seed >> 33) % n;
}

static void say(struct maker *m, const char *op, int tier, int key, const char *phase, int request)
{
    m->len += (size_t)snprintf(m->text + m->len, sizeof(m->text) - m->len,
                               "%.6f,%s,%d,Tier-%d,k%d,%s,%d,,%.3f,%s\n", (double)m->steps / 1e6,
                               op, m->key[key].size, tier, key, phase, request,
                               m->arrival_ms[request] / 1e3, m->qos[request]);
}

static void leaves(struct maker *m, int key)
{
    m->used[m->key[key].tier] -= (uint64_t)m->key[key].size;
    m->key[key].tier = ABSENT;
}

static void comes(struct maker *m, int key, int tier)
{
    m->key[key].tier = tier;
    m->used[tier] += (uint64_t)m->key[key].size;
    m->peak[tier] = m->used[tier] > m->peak[tier] ? m->used[tier] : m->peak[tier];
}

/* Makes room for size bytes: moves the least recently used down, out of the last tier it deletes.
 */
static void make_room(struct maker *m, int tier, int size, int request)
{
    while (m->used[tier] + (uint64_t)size > m->capacity[tier]) {
        int oldest = ABSENT;
        for (int k = 0; k < KEYS; k++)
            if (m->key[k].tier == tier &&
                (oldest == ABSENT || m->key[k].used < m->key[oldest].used))
                oldest = k;
        if (tier == TRACE_STORAGE) {
            say(m, "Delete", tier, oldest, "Evict", request);
            leaves(m, oldest);
            continue;
        }
        make_room(m, tier + 1, m->key[oldest].size, request);
        say(m, "Read", tier, oldest, "Evict", request);
        leaves(m, oldest);
        say(m, "Write", tier + 1, oldest, "Evict", request);
        comes(m, oldest, tier + 1);
    }
}

/* The request reads the key, or writes it where it is absent; some reads move it up. */
static void touch(struct maker *m, int key, int request)
{
    int tier = m->key[key].tier;

    m->key[key].used = m->steps;
    if (tier == ABSENT) {
        m->key[key].size = 1 + (int)below(m, 30);
        make_room(m, 0, m->key[key].size, request);
        say(m, "Write", 0, key, "Prefill", request);
        comes(m, key, 0);
        return;
    }
    say(m, "Read", tier, key, "Decode", request);
    if (tier > 0 && below(m, 3) == 0) {
        make_room(m, tier - 1, m->key[key].size, request);
        if (m->key[key].tier != tier)
            return; /* something else's demotion has moved or deleted it */
        say(m, "Read", tier, key, "Evict", request);
        leaves(m, key);
        say(m, "Write", tier - 1, key, "Evict", request);
        comes(m, key, tier - 1);
    }
}

static void make_trace(struct maker *m, uint64_t seed)
{
    static const char *const qos[] = {"interactive", "responsive", "batch", ""};
    int left[REQUESTS], open[AT_ONCE], count = 0, begun = 0;

    *m = (struct maker){.seed = seed * 2654435761u + 1, .capacity = {250, 300, 400}};
    for (int k = 0; k < KEYS; k++)
        m->key[k].tier = ABSENT;
    for (int i = 0; i < REQUESTS; i++) {
        m->qos[i] = qos[below(m, 4)];
        left[i] = 1 + (int)below(m, 8);
        m->arrival_ms[i] = (int)below(m, 400); /* in another order than that of the trace */
    }
    int at_once = 1 + (int)below(m, AT_ONCE);
    while (begun < REQUESTS || count > 0) {
        if (begun < REQUESTS && count < at_once)
            open[count++] = begun++;
        unsigned pick = below(m, (unsigned)count);
        int q = open[pick];
        m->steps++;
        touch(m, below(m, 3) == 0 ? (int)below(m, SHARED) : (int)below(m, KEYS), q);
        if (--left[q] > 0)
            continue;
        if (below(m, 4) > 0)
            m->len += (size_t)snprintf(m->text + m->len, sizeof(m->text) - m->len,
                                       "%.6f,Generate,0,,,,%d,%u,%.3f,%s\n", (double)m->steps / 1e6,
                                       q, below(m, 30) * 1000, m->arrival_ms[q] / 1e3, m->qos[q]);
        open[pick] = open[--count];
    }
    assert_true(m->len < sizeof(m->text) - 1000);
}

static uint64_t rows_of(const char *text)
{
    uint64_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static void no_order_gets_stuck(void **state)
{
    (void)state;
    static const unsigned workers[] = {1, 2, 3, 5, 8, 16, 64};
    const char *text = getenv("TEST_TRACES");
    int traces = text ? atoi(text) : 40;
    static struct maker m;
    uint64_t inherited = 0, exceeded = 0, in_turn = 0, beyond = 0;

    for (int i = 0; i < traces; i++) {
        make_trace(&m, (uint64_t)i);
        for (int fifo = 0; fifo < 2; fifo++) {
            struct run run = {.admit = fifo ? ADMISSION_FIFO : ADMISSION_QOS,
                              .workers = workers[i % 7]};
            unsigned slack = below(&m, 3) * 10; /* above the least that the trace needs */
            for (int t = 0; t < TRACE_TIERS; t++)
                run.capacity[t] = m.peak[t] + slack;
            alarm(60); /* stuck, in a time that does not pass */
            serve(&run, m.text);
            alarm(0);
            assert_int_equal(run.counts.rows, rows_of(m.text));
            assert_int_equal(run.counts.ok, run.counts.rows);
            assert_int_equal(run.counts.reads_before_write, 0);
            for (int t = 0; t < TRACE_TIERS && run.counts.capacity_exceeded == 0; t++)
                assert_true(run.most[t] <= run.capacity[t]);
            if (fifo)
                assert_int_equal(run.counts.capacity_exceeded, 0);
            inherited += run.counts.inherited;
            exceeded += run.counts.capacity_exceeded;
            in_turn += run.counts.in_turn;
            beyond += run.counts.admitted_beyond;
            run_release(&run);
        }
    }
    print_message("%d traces: %llu inherited, %llu in turn, %llu beyond workers, %llu times beyond "
                  "capacity\n",
                  traces, (unsigned long long)inherited, (unsigned long long)in_turn,
                  (unsigned long long)beyond, (unsigned long long)exceeded);
    assert_true(inherited > 0 && in_turn > 0 && exceeded > 0);
}

/* ---- the line ---- */

static void lines_are_in_order(void **state)
{
    (void)state;
    enum {
        MEMBERS = 500
    };
    static struct line_place place[MEMBERS];
    struct line l;
    int64_t last = INT64_MIN;

    assert_int_equal(line_init(&l, MEMBERS), 0);
    assert_null(line_first(&l));
    for (int i = 0; i < MEMBERS; i++)
        line_add(&l, &place[i], i * 7919 % 1009);
    for (int i = 0; i < MEMBERS; i += 3)
        line_remove(&l, &place[i]);
    assert_int_equal(l.count, MEMBERS - (MEMBERS + 2) / 3);
    while (l.count > 0) {
        struct line_place *p = line_first(&l);
        assert_true(p->key >= last && (p - place) % 3 != 0);
        last = p->key;
        line_remove(&l, p);
    }
    line_release(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(twelve_as_on_paper),
                                       cmocka_unit_test(waiting_is_counted),
                                       cmocka_unit_test(classes_are_inherited_through_others),
                                       cmocka_unit_test(waits_with_what_it_waits_for),
                                       cmocka_unit_test(engines_have_threads),
                                       cmocka_unit_test(threads_let_nothing_get_stuck),
                                       cmocka_unit_test(others_go_first_without_room),
                                       cmocka_unit_test(the_oldest_exceeds_the_capacity),
                                       cmocka_unit_test(batch_does_not_starve),
                                       cmocka_unit_test(no_order_gets_stuck),
                                       cmocka_unit_test(lines_are_in_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
