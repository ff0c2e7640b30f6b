/* The scheduler against a fake tier and a fake clock: each operation takes 10 ms of fake time, so
 * every moment of every row is known beforehand. A bug looked like this: Eligible that ignored the
 * wait for a slot (the tool blamed for the target's slowness), or a schedule that slipped with the
 * target. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kvreplay/sched.h"

enum {
    TOOK_NS = 10000000,
    MS = 1000000
};

/* A tier whose operations each take TOOK_NS, all at the same time. */
struct fake {
    struct tier base;
    int64_t *now;
    struct tier_op *op[64];
    size_t count, most;
};

static int fake_submit(struct tier *t, struct tier_op *op)
{
    struct fake *f = (struct fake *)t;
    op->done_ns = *f->now + TOOK_NS;
    f->op[f->count++] = op;
    f->most = f->count > f->most ? f->count : f->most;
    return 0;
}

static void fake_kick(struct tier *t)
{
    (void)t;
}

static size_t fake_poll(struct tier *t, struct tier_op **done, size_t max)
{
    struct fake *f = (struct fake *)t;
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->op[i]->done_ns <= *f->now && n < max) {
            f->op[i]->status = 0;
            f->op[i]->device_ns = TOOK_NS;
            done[n++] = f->op[i];
        } else {
            f->op[kept++] = f->op[i];
        }
    }
    f->count = kept;
    return n;
}

static int64_t fake_next(struct tier *t)
{
    struct fake *f = (struct fake *)t;
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < f->count; i++)
        next = f->op[i]->done_ns < next ? f->op[i]->done_ns : next;
    return next;
}

static const struct tier_ops fake_ops = {
    .submit = fake_submit, .kick = fake_kick, .poll = fake_poll, .next_ns = fake_next};

/* Replays the rows (CSV without header) and gives back the results as text. */
static void replay(const char *rows, struct sched_opts *o, struct stats *st, struct fake *fake,
                   char *text, size_t room)
{
    char in[] = "/tmp/kvreplay-unit-in-XXXXXX", out[] = "/tmp/kvreplay-unit-out-XXXXXX";
    struct err e = {0};
    int64_t now = 1000 * (int64_t)MS;
    struct clock clock = clock_fake(&now);
    FILE *f = fdopen(mkstemp(in), "w");
    close(mkstemp(out));
    fprintf(f, "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Duration_us\n%s",
            rows);
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
    assert_int_equal(results_open(&results, w, &e), 0);
    struct reader_opts rdo = {.rows = 1024, .only_tier = -1, .want_line = true, .bell = bell};
    assert_int_equal(reader_open(&reader, trace, &rdo, &e), 0);

    *fake = (struct fake){.base = {&fake_ops}, .now = &now};
    struct tier *tier[TRACE_TIERS] = {NULL, &fake->base, NULL};
    bool verifies[TRACE_TIERS] = {false};
    struct room room3[TRACE_TIERS] = {{0}, {.capacity = 1000, .max_objects = 100}, {0}};
    struct notices notices = {0};
    assert_int_equal(stats_init(st), 0);
    struct sched_env env = {.reader = reader,
                            .objects = objects_create(),
                            .room = room3,
                            .tier = tier,
                            .verifies = verifies,
                            .results = results,
                            .stats = st,
                            .notices = &notices,
                            .bell = bell};
    o->clock = &clock;
    o->window = 1024;
    o->lag_limit_ns = INT64_MAX;
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
    struct stats st;
    struct fake fake;
    char text[4096], buf[32];

    replay("0,Write,10,Tier-1,a,Prefill,,\n0,Write,10,Tier-1,b,Prefill,,\n0,Write,10,Tier-1,c,"
           "Prefill,,\n",
           &o, &st, &fake, text, sizeof(text));
    assert_int_equal(fake.most, 2);
    assert_string_equal(value(text, "a", 0, buf), "");
    assert_float_equal(number(text, "a", 2), 0, 1e-9);
    assert_float_equal(number(text, "c", 1), 0.010, 1e-9);
    assert_float_equal(number(text, "c", 2), 0.010, 1e-9);
    assert_float_equal(number(text, "c", 3), 10000, 1e-6);
    assert_int_equal(hist_max(st.lateness), 0);
    stats_release(&st);
}

static void due_stays_when_the_target_is_slow(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_KEY, .inflight = 1, .speed = 2, .timed = true};
    struct stats st;
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
    stats_release(&st);
}

static void generate_holds_its_request(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_REQUEST, .inflight = 8, .speed = 1, .timed = true};
    struct stats st;
    struct fake fake;
    char text[4096];
    const char *rows = "0,Generate,0,,,,1,30000\n0.001,Write,10,Tier-1,a,Prefill,1,\n0.001,Write,"
                       "10,Tier-1,b,Prefill,2,\n";

    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_float_equal(number(text, "a", 1), 0.030, 1e-9);
    assert_float_equal(number(text, "b", 2), 0.001, 1e-9);
    stats_release(&st);
    o.timed = false;
    replay(rows, &o, &st, &fake, text, sizeof(text));
    assert_float_equal(number(text, "a", 2), 0, 1e-9);
    stats_release(&st);
}

static void room_is_waited_for(void **state)
{
    (void)state;
    struct sched_opts o = {.order = ORDER_KEY, .inflight = 8, .speed = 1};
    struct stats st;
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
    stats_release(&st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_delay_eligible), cmocka_unit_test(due_stays_when_the_target_is_slow),
        cmocka_unit_test(generate_holds_its_request), cmocka_unit_test(room_is_waited_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
