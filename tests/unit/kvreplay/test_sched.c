/* The scheduler against a fake tier and a fake clock: each operation takes 10 ms of fake time, so
 * every moment of every row is known beforehand. A bug looked like this: Eligible that ignored the
 * wait for a slot (the tool blamed for the target's slowness), or a schedule that slipped with the
 * target; served, a request that was let in before its turn, or workers that waited for each other
 * for ever. */
#include <math.h>
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
#include "tests/unit/fake_clock.h"
#include "tests/unit/kvreplay/fake_tier.h"

enum {
    MS = 1000000
};

/* Replays the rows (CSV without header) and gives back the results as text. */
static void replay(const char *rows, struct sched_opts *o, struct counts *st, struct fake *fake,
                   char *text, size_t room)
{
    char in[] = "/tmp/kvreplay-unit-in-XXXXXX", out[] = "/tmp/kvreplay-unit-out-XXXXXX";
    struct err e = {0};
    int64_t now = 1000 * (int64_t)MS;
    struct clock clock = clock_fake(&now);
    FILE *f = fdopen(mkstemp(in), "w");
    close(mkstemp(out));
    if (strncmp(rows, "Timestamp", 9) != 0)
        fputs("Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Duration_us\n", f);
    fputs(rows, f);
    fclose(f);

    struct bell *bell = bell_create();
    struct trace_reader *trace;
    struct trace_read_opts ro = {.want_line = true};
    assert_int_equal(trace_open(&trace, in, &ro, &e), 0);
    struct trace_writer *w;
    struct trace_str header = trace_header(trace);
    struct trace_write_opts wo = {.columns = trace_columns(trace) | TRACE_RESULT,
                                  .header = header.p,
                                  .header_len = header.len};
    assert_int_equal(trace_create(&w, out, &wo, &e), 0);
    struct results *results;
    struct reader *reader;
    assert_int_equal(results_open(&results, w, TRACE_NONE, &e), 0);
    struct reader_opts rdo = {.want_user = o->timing == SCHED_CLOSED,
                              .rows = 1024,
                              .select.only_tier = SELECTION_ALL_TIERS,
                              .want_line = true,
                              .tell_starved = o->timing == SCHED_SERVED,
                              .bell = bell};
    assert_int_equal(reader_open(&reader, trace, &rdo, &e), 0);
    while (
        !reader_quiet(reader)) /* the fake clock jumps: not over rows that are still being read */
        sched_yield();

    *fake = (struct fake){.base = {&fake_ops},
                          .now = &now,
                          .ahead_ns = o->ahead * MS,
                          .late_ns = MS,
                          .full = o->evict};
    struct tier *tier[TRACE_TIERS] = {NULL, &fake->base, &fake->base};
    bool verifies[TRACE_TIERS] = {false}, takes_slots[TRACE_TIERS] = {false, o->ahead > 1, false};
    struct room room3[TRACE_TIERS] = {{0},
                                      {.capacity = 1000, .max_objects = 100},
                                      {.capacity = 1000, .max_objects = 100, .open = o->evict}};
    struct ledger ledger = {
        .counts = st, .results = results, .room = room3, .lag_limit_ns = INT64_MAX};
    assert_int_equal(counts_init(st), 0);
    struct sched_env env = {.reader = reader,
                            .objects = objects_create(),
                            .room = room3,
                            .tier = tier,
                            .verifies = verifies,
                            .takes_slots = takes_slots,
                            .ledger = &ledger,
                            .bell = bell};
    if (o->evict)
        objects_keep_links(env.objects);
    o->clock = &clock;
    o->window = 1024;
    struct sched *s;
    struct sched_outcome outcome;
    uint64_t skipped;
    assert_int_equal(sched_create(&s, o, &env, &e), 0);
    assert_int_equal(sched_run(s, &outcome, &e), 0);
    sched_free(s);
    assert_true(reader_close(reader, &skipped));
    results_close(results);
    assert_int_equal(trace_finish(w, NULL, NULL, &e), 0);
    objects_free(env.objects);
    if (outcome.end == SCHED_DONE)
        assert_int_equal(room3[TRACE_CPU].reserved, room3[TRACE_CPU].planned);

    f = fopen(out, "r");
    text[fread(text, 1, room - 1, f)] = '\0';
    fclose(f);
    trace_close(trace);
    bell_free(bell);
    unlink(in);
    unlink(out);
}

/* Value of a result column (0: Due ... 5: Status) of the row with this key, as text. */
static const char *value(const char *text, const char *key, int column, char *buf)
{
    char find[32];
    snprintf(find, sizeof(find), "Tier-1,%s,", key);
    const char *p = strstr(text, find);
    assert_non_null(p);
    for (int skip = 5 + column; skip > 0; skip--)
        p = strchr(p, ',') + 1;
    snprintf(buf, 32, "%.*s", (int)strcspn(p, ",\n"), p);
    return buf;
}

static double number(const char *text, const char *key, int column)
{
    char buf[32];
    return strtod(value(text, key, column, buf), NULL);
}

static void slots_delay_eligible(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_KEY, .inflight = 2, .speed = 1};
    struct counts st;
    struct fake fake;
    char text[4096], buf[32];

    replay("0,Write,10,Tier-1,a,Prefill,,\n0,Write,10,Tier-1,b,Prefill,,\n0,Write,10,Tier-1,c,"
           "Prefill,,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_int_equal(fake.most_count, 2);
    assert_string_equal(value(text, "a", 0, buf), "");
    assert_float_equal(number(text, "a", 2), 0, 1e-9);
    assert_float_equal(number(text, "c", 1), 0.010, 1e-9);
    assert_float_equal(number(text, "c", 2), 0.010, 1e-9);
    assert_float_equal(number(text, "c", 3), 10000, 1e-6);
    assert_int_equal(hist_max(st.lateness), 0);
    counts_release(&st);
}

/* Rows beside those in flight: their wait for a slot is before them, as that of others is. What
 * takes none, a delete, has its slot before it goes. */
static void rows_go_ahead(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_KEY, .inflight = 2, .ahead = 4, .speed = 1};
    struct counts st;
    struct fake fake;
    char text[4096], buf[32];
    const char *rows = "0,Write,10,Tier-1,a,Prefill,,\n0,Write,10,Tier-1,b,Prefill,,\n0,Write,10,"
                       "Tier-1,c,Prefill,,\n0,Write,10,Tier-1,d,Prefill,,\n";

    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_int_equal(fake.most_count, 4);
    assert_float_equal(number(text, "d", 1), 0.003, 1e-9);
    assert_float_equal(number(text, "d", 2), 0.004, 1e-9);
    assert_float_equal(number(text, "d", 3), 6000, 1e-6);
    assert_int_equal(hist_max(st.lateness), MS);
    assert_int_equal(st.reads_before_write, 0);
    counts_release(&st);

    o.ahead = 1; /* the engine takes none: the tier has two at a time, as ever */
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_int_equal(fake.most_count, 2);
    assert_float_equal(number(text, "c", 1), 0.010, 1e-9);
    assert_float_equal(number(text, "c", 2), 0.010, 1e-9);
    assert_float_equal(number(text, "c", 3), 10000, 1e-6);
    assert_int_equal(hist_max(st.lateness), 0);
    counts_release(&st);

    o.ahead = 4;
    replay("0,Write,10,Tier-1,a,Prefill,,\n0,Write,10,Tier-1,b,Prefill,,\n0,Write,10,Tier-1,c,"
           "Prefill,,\n0,Delete,10,Tier-1,a,Evict,,\n0,Delete,10,Tier-1,b,Evict,,\n"
           "0,Delete,10,Tier-1,c,Evict,,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_int_equal(fake.most_count, 3);
    assert_int_equal(st.ok, 6);
    counts_release(&st);

    /* A read that removes its object and asks for too much is a delete: it waits, then starts. */
    o.inflight = 1;
    replay("0,Write,10,Tier-1,a,Prefill,,\n0,Write,10,Tier-1,b,Prefill,,\n0,Delete,10,Tier-1,a,"
           "Evict,,\n0,Read,20,Tier-1,b,Evict,,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_float_equal(number(strstr(text, "Read"), "b", 2), 0.020, 1e-9);
    assert_string_equal(value(strstr(text, "Read"), "b", 5, buf), "EINVAL");
    counts_release(&st);
}

/* Two writes at once; the read, which needs none of their places, goes beside them. */
static void writes_are_bounded(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_KEY, .inflight = 8, .max_writes = 2, .speed = 1};
    struct counts st;
    struct fake fake;
    char text[4096];

    replay("0,Write,10,Tier-1,a,Prefill,,\n0,Write,10,Tier-1,b,Prefill,,\n0,Write,10,Tier-1,c,"
           "Prefill,,\n0,Write,10,Tier-1,d,Prefill,,\n0,Read,10,Tier-1,a,Decode,,\n"
           "0,Write,0,Tier-1,e,Prefill,,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_int_equal(fake.most_count, 3);
    assert_float_equal(number(text, "b", 2), 0, 1e-9);
    assert_float_equal(number(text, "c", 1), 0.010, 1e-9);
    assert_float_equal(number(text, "c", 2), 0.010, 1e-9);
    assert_float_equal(number(text, "d", 2), 0.010, 1e-9);
    assert_int_equal(hist_max(st.lateness), 0);
    assert_int_equal(st.ok, 6);
    counts_release(&st);

    /* One that waited and then writes nothing holds up none behind it. */
    o.max_writes = 1;
    replay("0,Write,10,Tier-1,a,Prefill,,\n0,Write,2000,Tier-1,b,Prefill,,\n0,Write,10,Tier-1,c,"
           "Prefill,,\n0,Write,0,Tier-1,d,Prefill,,\n0,Write,10,Tier-1,e,Prefill,,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_int_equal(fake.most_count, 1);
    assert_float_equal(number(text, "c", 1), 0.010, 1e-9);
    assert_float_equal(number(text, "e", 2), 0.020, 1e-9);
    assert_int_equal(st.ok, 4);
    assert_int_equal(st.failed, 1);
    counts_release(&st);
}

static void due_stays_when_the_target_is_slow(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_KEY, .inflight = 1, .speed = 2, .timing = SCHED_TRACE};
    struct counts st;
    struct fake fake;
    char text[4096];

    replay("5,Write,10,Tier-1,a,Prefill,,\n5.004,Write,10,Tier-1,b,Prefill,,\n5.1,Write,10,Tier-1,"
           "c,Prefill,,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_float_equal(number(text, "b", 0), 0.002, 1e-9);
    assert_float_equal(number(text, "b", 1), 0.010, 1e-9);
    assert_float_equal(number(text, "b", 2), 0.010, 1e-9);
    assert_float_equal(number(text, "c", 0), 0.050, 1e-9);
    assert_float_equal(number(text, "c", 2), 0.050, 1e-9);
    assert_int_equal(hist_max(st.lateness), 0);
    assert_int_equal(st.lag_max_ns, 8 * MS);
    counts_release(&st);
}

static void generate_holds_its_request(void **state)
{
    (void)state;
    struct sched_opts o = {
        .order = ORDER_REQUEST, .inflight = 8, .speed = 1, .timing = SCHED_TRACE};
    struct counts st;
    struct fake fake;
    char text[4096];
    const char *rows = "0,Generate,0,,,,1,30000\n0.001,Write,10,Tier-1,a,Prefill,1,\n0.001,Write,"
                       "10,Tier-1,b,Prefill,2,\n";

    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_float_equal(number(text, "a", 1), 0.030, 1e-9);
    assert_float_equal(number(text, "b", 2), 0.001, 1e-9);
    counts_release(&st);
    o.timing = SCHED_ASAP;
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_float_equal(number(text, "a", 2), 0, 1e-9);
    counts_release(&st);
}

static void room_is_waited_for(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_KEY, .inflight = 8, .speed = 1};
    struct counts st;
    struct fake fake;
    char text[4096], buf[32];

    replay("0,Write,600,Tier-1,a,Prefill,,\n0,Delete,600,Tier-1,a,Evict,,\n0,Write,700,Tier-1,b,"
           "Prefill,,\n"
           "0,Write,301,Tier-1,c,Prefill,,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_float_equal(number(text, "b", 1), 0.020, 1e-9); /* after the write and the delete of a */
    assert_string_equal(value(text, "b", 5, buf), "ok");
    assert_string_equal(value(text, "c", 5, buf), "ENOSPC"); /* 1001 bytes never fit */
    assert_int_equal(st.failed, 1);
    counts_release(&st);
}

/* ---- served ---- */

#define SERVED_HEADER                                                                              \
    "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Duration_us,Arrival\n"

enum {
    REQUESTS = 30,
    WORKERS = 4,
    COL_DUE = 9,
    COL_START = 11,
    COL_LATENCY = 12
};

/* Seconds in a column of the row of a request. */
static double of_request(const char *text, const char *op, int request, int column)
{
    for (const char *p = strchr(text, '\n'); p && p[1]; p = strchr(p + 1, '\n')) {
        const char *field[16] = {p + 1};
        int n = 1;
        for (const char *c = p + 1; *c != '\n' && *c && n < 16; c++) {
            if (*c == ',')
                field[n++] = c + 1;
        }
        if (strncmp(field[1], op, strlen(op)) == 0 && atoi(field[6]) == request)
            return *field[column] == ',' ? -1 : strtod(field[column], NULL);
    }
    fail_msg("request %d has no %s row", request, op);
    return 0;
}

static void assert_near(double got, double want)
{
    if (fabs(got - want) > 1e-9)
        fail_msg("%.9f instead of %.9f", got, want);
}

static int64_t arrival_ms(int i)
{
    return i / 3 * 12;
}

static int64_t generate_ms(int i)
{
    return 20 + i % 5 * 10;
}

/* Requests come in threes, their rows one after another's: a write, a read of it, a generation. The
 * trace was made by a faster system, its Timestamps say nothing here. */
static void thirty_requests(char *rows, size_t room)
{
    size_t n = (size_t)snprintf(rows, room, SERVED_HEADER);

    for (int at = 0; at < REQUESTS; at += 3) {
        double arrival = 50 + (double)arrival_ms(at) / 1e3;
        for (int op = 0; op < 3; op++) {
            for (int i = at; i < at + 3; i++) {
                double time = arrival + 0.003 + op / 1e3;
                char row[64];
                if (op < 2)
                    snprintf(row, sizeof(row), "%s,k%d,%s,%d,",
                             op ? "Read,10,Tier-1" : "Write,10,Tier-1", i,
                             op ? "Decode" : "Prefill", i);
                else
                    snprintf(row, sizeof(row), "Generate,0,,,,%d,%d", i,
                             (int)generate_ms(i) * 1000);
                n += (size_t)snprintf(rows + n, room - n, "%.3f,%s,%.3f\n", time, row, arrival);
            }
        }
    }
}

/* On paper: the worker that is free first takes the next request when that has arrived. */
static void check_thirty(const char *text, double speed)
{
    double free_s[WORKERS] = {0};

    for (int i = 0; i < REQUESTS; i++) {
        int w = 0;
        for (int k = 1; k < WORKERS; k++)
            w = free_s[k] < free_s[w] ? k : w;
        double arrival = (double)arrival_ms(i) / 1e3 / speed;
        double admitted = free_s[w] > arrival ? free_s[w] : arrival;
        free_s[w] = admitted + 0.020 + (double)generate_ms(i) / 1e3 / speed;
        assert_near(of_request(text, "Write", i, COL_DUE), arrival);
        assert_near(of_request(text, "Write", i, COL_START), admitted);
        assert_near(of_request(text, "Read", i, COL_DUE), -1);
        assert_near(of_request(text, "Read", i, COL_START), admitted + 0.010);
        double end = of_request(text, "Generate", i, COL_START) +
                     of_request(text, "Generate", i, COL_LATENCY) / 1e6;
        assert_near(end, free_s[w]);
    }
}

static void served_as_on_paper(void **state)
{
    (void)state;
    static char rows[16384], text[32768];
    static const double speeds[] = {1, 2};

    thirty_requests(rows, sizeof(rows));
    for (int i = 0; i < 2; i++) {
        struct sched_opts o = {.order = ORDER_REQUEST,
                               .inflight = 64,
                               .speed = speeds[i],
                               .timing = SCHED_SERVED,
                               .workers = WORKERS};
        struct counts st;
        struct fake fake;
        replay(rows, &o, &st, &fake, text, sizeof(text));
        check_thirty(text, speeds[i]);
        assert_int_equal(hist_count(st.queue), REQUESTS);
        assert_int_equal(hist_max(st.lateness), 0);
        assert_int_equal(st.admitted_beyond, 0);
        assert_int_equal(st.reads_before_write, 0);
        counts_release(&st);
    }
}

/* An engine with two threads on a store that others have filled, where nothing can be removed: all
 * writes fail, and those that waited for a thread do, too. With less room than they need, some fail
 * before they begin. Such a row that kept its thread to itself left the others in line for ever. */
static void threads_go_on_without_room(void **state)
{
    (void)state;
    char rows[2048], text[8192];

    for (unsigned size = 10; size <= 810; size += 400) {
        struct sched_opts o = {.order = ORDER_REQUEST,
                               .inflight = 8,
                               .speed = 1,
                               .timing = SCHED_SERVED,
                               .workers = 16,
                               .steps = true,
                               .threads = {.engines = 1, .writes = 2},
                               .evict = true};
        struct counts st;
        struct fake fake;
        size_t at = (size_t)snprintf(rows, sizeof(rows), SERVED_HEADER);

        for (int i = 0; i < 12; i++)
            at += (size_t)snprintf(rows + at, sizeof(rows) - at,
                                   "0,Write,%u,Tier-2,k%d,Prefill,%d,,0\n", size, i, i);
        alarm(20);
        replay(rows, &o, &st, &fake, text, sizeof(text));
        alarm(0);
        assert_int_equal(st.failed, 12);
        counts_release(&st);
    }
}

/* Two objects are written at once, by engines with one thread each. When both are written, the next
 * two in line are of one engine: the second of them waits for its thread, and the one behind it is
 * written in its place. */
static void a_writer_without_thread_makes_way(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_REQUEST,
                           .inflight = 8,
                           .max_writes = 2,
                           .speed = 1,
                           .timing = SCHED_SERVED,
                           .workers = 16,
                           .steps = true,
                           .threads = {.engines = 4, .writes = 1}};
    static const int engine[] = {0, 1, 2, 2, 3};
    struct counts st;
    struct fake fake;
    char rows[2048], text[8192];
    size_t at = (size_t)snprintf(rows, sizeof(rows),
                                 "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,"
                                 "Duration_us,Arrival,Engine\n");

    for (int i = 0; i < 5; i++)
        at += (size_t)snprintf(rows + at, sizeof(rows) - at,
                               "0,Write,10,Tier-2,k%d,Prefill,%d,,0,%d\n", i, i, engine[i]);
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_int_equal(fake.most_count, 2);
    assert_int_equal(st.ok, 5);
    assert_near(of_request(text, "Write", 2, COL_START + 1), 0.010);
    assert_near(of_request(text, "Write", 4, COL_START + 1), 0.010);
    assert_near(of_request(text, "Write", 3, COL_START + 1), 0.020);
    counts_release(&st);
}

/* The only worker's request reads what the next request writes, as it was when two ran at once. */
static void served_never_gets_stuck(void **state)
{
    (void)state;
    struct sched_opts o = {
        .order = ORDER_REQUEST, .inflight = 8, .speed = 1, .timing = SCHED_SERVED, .workers = 1};
    struct counts st;
    struct fake fake;
    char text[4096];

    replay("0,Write,10,Tier-1,a,Prefill,1,\n0,Write,10,Tier-1,b,Prefill,2,\n"
           "0.001,Read,10,Tier-1,b,Decode,1,\n0.002,Write,10,Tier-1,c,Prefill,3,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_near(number(text, "b", 2), 0.010); /* let in when a was written */
    assert_int_equal(st.admitted_beyond, 1);
    assert_int_equal(st.reads_before_write, 0);
    assert_near(number(text, "c", 2), 0.030); /* both are done: one worker again */
    counts_release(&st);
}

/* No Generate row says that a request is over: no further row of it in the window does. */
static void served_without_generate(void **state)
{
    (void)state;
    struct sched_opts o = {
        .order = ORDER_REQUEST, .inflight = 8, .speed = 1, .timing = SCHED_SERVED, .workers = 2};
    struct counts st;
    struct fake fake;
    static char rows[200000], text[4096];
    size_t n = 0;

    for (int i = 0; i < 4000; i++)
        n += (size_t)snprintf(rows + n, sizeof(rows) - n, "0,Read,10,Tier-1,a,Decode,%d,\n", i);
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_int_equal(st.absent, 4000);
    assert_int_equal(hist_count(st.queue), 4000);
    counts_release(&st);
}

/* Prefill rows take their times side by side; the writes before and behind take 10 ms each. The
 * first token comes at the end of the prefill. A bug looked like a request that was over with its
 * prefill. */
static void first_tokens(void **state)
{
    (void)state;
    struct sched_opts o = {
        .order = ORDER_REQUEST, .inflight = 8, .speed = 1, .timing = SCHED_SERVED, .workers = 3};
    struct counts st;
    struct fake fake;
    char text[8192];
    const char *rows =
        "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Arrival,Duration_us,"
        "Tokens\n"
        "0,Write,10,Tier-1,h,Prefill,1,ann,batch,0,,\n0.010,Generate,0,,,Prefill,1,ann,batch,0,"
        "100000,7\n"
        "0.110,Write,10,Tier-1,a,Prefill,1,ann,batch,0,,\n0.120,Generate,0,,,Decode,1,ann,batch,0,"
        "50000,9\n"
        "0.020,Generate,0,,,Prefill,2,bob,batch,0.020,100000,7\n"
        "0.120,Write,10,Tier-1,b,Prefill,2,bob,batch,0.020,,\n0.130,Generate,0,,,Decode,2,bob,"
        "batch,0.020,1,9\n"
        "0.030,Generate,0,,,Prefill,3,cat,interactive,0.030,100000,7\n"
        "0.130,Write,10,Tier-1,c,Prefill,3,cat,interactive,0.030,,\n"
        "0.140,Generate,0,,,Decode,3,cat,interactive,0.030,1,9\n"
        "0.040,Read,10,Tier-1,a,Decode,4,dan,batch,0.040,,\n";

    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_near(number(text, "h", 6), 0);
    assert_near(number(text, "a", 6), 0.110); /* the worker is held */
    assert_near(number(text, "b", 6), 0.120);
    assert_near(number(text, "c", 6), 0.130);
    assert_int_equal(hist_max(st.first_token[TRACE_BATCH]), 110 * MS);
    assert_int_equal(hist_min(st.first_token[TRACE_BATCH]), 100 * MS);
    assert_int_equal(hist_max(st.first_token[TRACE_INTERACTIVE]), 100 * MS);
    assert_int_equal(st.tokens, 27); /* not those of prefills */
    counts_release(&st);

    o.timing = SCHED_ASAP;
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_int_equal(hist_count(st.first_token[TRACE_BATCH]), 0);
    counts_release(&st);

    o.timing = SCHED_TRACE;
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_near(number(text, "a", 6), 0.110);
    assert_int_equal(hist_count(st.first_token[TRACE_BATCH]), 2);
    counts_release(&st);
}

/* Requests of an engine that serves steps: rows wait for their Timestamp; a load that is late puts
 * its request off by as much, and nobody else; prefills run side by side. Each operation takes 10
 * ms. A bug looked like a first token that came as soon as its request had arrived. */
static void steps_keep_their_times(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_REQUEST,
                           .inflight = 8,
                           .speed = 1,
                           .timing = SCHED_SERVED,
                           .admit = ADMISSION_QOS,
                           .workers = 8,
                           .steps = true};
    struct counts st;
    struct fake fake;
    char text[8192];
    /* 1 loads two blocks, which the simulation had within 5 ms; 2 waits in the engine, and finds
     * nothing. */
    const char *rows =
        "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Arrival,Duration_us,"
        "Tokens\n"
        "0,Write,10,Tier-1,x,Prefill,,,,,,\n0,Write,10,Tier-1,y,Prefill,,,,,,\n"
        "0.100,Read,10,Tier-1,x,Decode,1,ann,interactive,0.020,,\n"
        "0.100,Read,10,Tier-1,y,Decode,1,ann,interactive,0.020,,\n"
        "0.105,Generate,0,,,Prefill,1,ann,interactive,0.020,50000,7\n"
        "0.110,Generate,0,,,Prefill,2,ann,batch,0.030,40000,7\n"
        "0.150,Generate,0,,,Decode,2,ann,batch,0.030,10000,9\n"
        "0.155,Generate,0,,,Decode,1,ann,interactive,0.020,10000,9\n"
        "0.160,Write,10,Tier-1,z,Prefill,,,,,,\n"
        /* 3 finds room when it writes, not when it comes. */
        "0.200,Write,900,Tier-1,w,Prefill,,,,,,\n"
        "0.300,Delete,900,Tier-1,w,Evict,,,,,,\n"
        "0.300,Write,900,Tier-1,v,Prefill,3,ann,batch,0.230,,\n"
        "0.300,Generate,0,,,Prefill,3,ann,batch,0.230,1000,7\n";
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_int_equal(hist_max(st.first_token[TRACE_INTERACTIVE]), 150 * MS); /* 0.120 + 0.050 */
    assert_int_equal(hist_max(st.first_token[TRACE_BATCH]), 120 * MS);       /* as simulated */
    assert_near(number(text, "z", 6), 0.160);
    assert_true(number(text, "v", 6) >= 0.300 && number(text, "v", 6) <= 0.311);
    assert_int_equal(hist_max(st.end_to_end[TRACE_BATCH]), 130 * MS);
    counts_release(&st);
}

/* Each user's pauses start when the row before is done; users do not wait for each other. */
static void closed_keeps_pauses(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_KEY, .inflight = 8, .speed = 1, .timing = SCHED_CLOSED};
    struct counts st;
    struct fake fake;
    char text[4096];
    const char *rows = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,User,Duration_us\n"
                       "7,Write,10,Tier-1,a1,Prefill,ann,\n7.002,Write,10,Tier-1,b1,Prefill,bob,\n"
                       "7.004,Write,10,Tier-1,a2,Prefill,ann,\n7.008,Generate,0,,,,ann,30000\n"
                       "7.040,Write,10,Tier-1,a3,Prefill,ann,\n7.100,Write,10,Tier-1,b2,Prefill,"
                       "bob,\n7.100,Write,10,Tier-1,x,Prefill,,\n";

    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_near(number(text, "a1", 2), 0);
    assert_near(number(text, "b1", 2), 0.002);
    assert_near(number(text, "a2", 0), 0.014); /* done at 10, 4 ms of pause */
    assert_near(number(text, "a2", 2), 0.014);
    assert_near(number(text, "a3", 2), 0.060); /* 24 + 4, 30 of generation, 40 - 38 of pause */
    assert_near(number(text, "b2", 2), 0.110); /* 12 + 98 */
    assert_near(number(text, "x", 2), 0.100);  /* nobody's: at its Timestamp */
    assert_int_equal(hist_max(st.lateness), 0);
    counts_release(&st);
    o.speed = 2;
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_near(number(text, "a2", 2), 0.012);
    assert_near(number(text, "b2", 2), 0.060);
    counts_release(&st);
}

static void duration_ends_the_run(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_REQUEST,
                           .inflight = 8,
                           .speed = 1,
                           .timing = SCHED_SERVED,
                           .workers = 1,
                           .duration_ns = 55 * MS};
    struct counts st;
    struct fake fake;
    char text[4096];

    replay("0,Write,10,Tier-1,a,Prefill,1,\n0,Generate,0,,,,1,30000\n"
           "0,Write,10,Tier-1,b,Prefill,2,\n0,Generate,0,,,,2,30000\n"
           "0,Write,10,Tier-1,c,Prefill,3,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_near(number(text, "b", 2), 0.040);
    assert_int_equal(st.rows, 3); /* b's generation was not over, c was not let in */
    counts_release(&st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slots_delay_eligible),
                                       cmocka_unit_test(rows_go_ahead),
                                       cmocka_unit_test(writes_are_bounded),
                                       cmocka_unit_test(due_stays_when_the_target_is_slow),
                                       cmocka_unit_test(generate_holds_its_request),
                                       cmocka_unit_test(room_is_waited_for),
                                       cmocka_unit_test(served_as_on_paper),
                                       cmocka_unit_test(threads_go_on_without_room),
                                       cmocka_unit_test(a_writer_without_thread_makes_way),
                                       cmocka_unit_test(served_never_gets_stuck),
                                       cmocka_unit_test(served_without_generate),
                                       cmocka_unit_test(first_tokens),
                                       cmocka_unit_test(steps_keep_their_times),
                                       cmocka_unit_test(closed_keeps_pauses),
                                       cmocka_unit_test(duration_ends_the_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
