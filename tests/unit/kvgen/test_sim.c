/* The event loop and the request path, fed by a scripted source: who is served when, what a request
 * reads and writes, and how a run ends. A bug looked like a batch request before an interactive
 * one, a worker that serves two at once, a decode read too few, or rows after the end of the run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/sim/sim.h"
#include "kvgen/source/population.h"
#include "kvgen/source/users.h"
#include "lib/model/find.h"

enum {
    MAX_ROWS = 4000,
    SECOND = 1000000000
};

/* A source that gives requests from an array and fails at the end if told so. */
struct script {
    struct source base;
    const struct request *request;
    size_t count, at, done;
    int last; /* what peek says after the last one */
};

static int script_peek(struct source *s, int64_t *arrival_ns, struct err *e)
{
    struct script *p = (struct script *)s;
    if (p->at == p->count)
        return p->last == 0 ? 0 : err_set(e, p->last, ERR_INPUT, "script:9", "bad line");
    *arrival_ns = p->request[p->at].arrival_ns;
    return 1;
}
static void script_take(struct source *s, struct request *out)
{
    struct script *p = (struct script *)s;
    *out = p->request[p->at++];
    out->number = p->at;
}
static void script_done(struct source *s, const struct request *r, int64_t now_ns)
{
    (void)r;
    (void)now_ns;
    ((struct script *)s)->done++;
}
static void script_release(struct source *s, const struct request *r)
{
    (void)s;
    (void)r;
}
static const struct source_ops objects_ops = {.name = "objects",
                                              .peek = script_peek,
                                              .take = script_take,
                                              .done = script_done,
                                              .release = script_release};
static const struct source_ops blocks_ops = {.name = "blocks",
                                             .blocks = true,
                                             .peek = script_peek,
                                             .take = script_take,
                                             .done = script_done,
                                             .release = script_release};

struct log {
    struct sim_row row[MAX_ROWS];
    uint64_t number[MAX_ROWS]; /* of the request, which the row only lends */
    size_t count, limit;       /* limit 0: none */
};

static int log_row(void *ctx, const struct sim_row *row, struct err *e)
{
    struct log *l = ctx;
    (void)e;
    assert_true(l->count < MAX_ROWS);
    assert_true(l->count == 0 || row->time_ns >= l->row[l->count - 1].time_ns);
    l->row[l->count] = *row;
    l->number[l->count++] = row->request->number;
    return l->limit > 0 && l->count >= l->limit;
}

struct setup {
    struct conf *conf;
    struct workload workload;
    struct model model;
    struct sim_opts o;
    struct log log;
};

static void prepare(struct setup *s)
{
    struct err e = {0};
    memset(s, 0, sizeof(*s));
    assert_int_equal(conf_open(&s->conf, NULL, &e), 0);
    assert_int_equal(workload_read(&s->workload, s->conf, &e), 0);
    assert_int_equal(model_find(&s->model, "tiny-1b", NULL, NULL, &e), 0);
    s->o = (struct sim_opts){.workload = &s->workload,
                             .model = &s->model,
                             .token_ns = 30000000,
                             .workers = 1,
                             .prefix = true,
                             .tiers = {.capacity = {0, 0, HIERARCHY_UNLIMITED},
                                       .large_entry_limit_ratio = 0.95,
                                       .target_usage_ratio = 0.8,
                                       .policy = &policy_lru}};
}

static struct sim_stats run(struct setup *s, struct source *source, int want)
{
    struct err e = {0};
    struct sim *sim;
    s->o.source = source;
    assert_int_equal(sim_create(&sim, &s->o, log_row, &s->log, &e), 0);
    assert_int_equal(sim_run(sim, &e), want);
    struct sim_stats st = *sim_stats(sim);
    sim_free(sim);
    return st;
}

static void finish(struct setup *s)
{
    conf_free(s->conf);
}

static const struct hierarchy_op *op(const struct setup *s, size_t i)
{
    assert_true(i < s->log.count);
    return &s->log.row[i].what;
}

#define REQUEST(t, q, n)                                                                           \
    {                                                                                              \
        .arrival_ns = (t), .qos = (q), .context_tokens = 100, .generated_tokens = (n),             \
        .prompt = -1                                                                               \
    }

/* One worker: 1 starts at once; of those that wait, interactive before batch, then by arrival. */
static void queue_and_worker(void **state)
{
    (void)state;
    static struct setup s;
    struct request r[] = {REQUEST(0, TRACE_BATCH, 100), REQUEST(SECOND, TRACE_BATCH, 10),
                          REQUEST(2 * (int64_t)SECOND, TRACE_INTERACTIVE, 10),
                          REQUEST(2 * (int64_t)SECOND, TRACE_BATCH, 10)};
    for (uint32_t i = 0; i < 4; i++)
        r[i].object = ident_request(0, i);
    struct script p = {.base.ops = &objects_ops, .request = r, .count = 4};
    prepare(&s);
    struct sim_stats st = run(&s, &p.base, 0);
    static const uint64_t order[] = {1, 3, 2, 4};
    static const int64_t starts_ms[] = {0, 3000, 3300, 3600};
    size_t k = 0;
    for (size_t i = 0; i < s.log.count; i++)
        if (op(&s, i)->op == TRACE_GENERATE) {
            assert_int_equal(s.log.number[i], order[k]);
            assert_int_equal(s.log.row[i].time_ns, starts_ms[k] * 1000000);
            k++;
        }
    assert_int_equal(k, 4);
    assert_int_equal(st.completed, 4);
    assert_int_equal(p.done, 4);
    assert_int_equal(st.generated_tokens, 130);
    assert_int_equal(st.now_ns, 3900 * INT64_C(1000000));
    finish(&s);
}

/* Prefix miss and write, the earlier turn, prefill, 1 + ceil(65 / 32) reads, generation. */
static void request_path(void **state)
{
    (void)state;
    static struct setup s;
    struct request r[] = {REQUEST(0, TRACE_BATCH, 1), REQUEST(0, TRACE_BATCH, 65),
                          REQUEST(0, TRACE_BATCH, 33)};
    for (uint32_t i = 0; i < 3; i++) {
        r[i].turn = i == 2 ? 9 : i + 1;
        r[i].object = ident_turn(0, 5, r[i].turn);
    }
    r[1].prompt = 1;
    r[2].context_tokens = 10000; /* prefill only; its turn before was never asked */
    struct script p = {.base.ops = &objects_ops, .request = r, .count = 3};
    prepare(&s);
    s.o.token_ns = 0;
    struct sim_stats st = run(&s, &p.base, 0);
    static const struct {
        enum trace_op op;
        enum trace_class class;
        uint32_t tokens;
    } want[] = {
        {TRACE_WRITE, TRACE_USER, 100},       {TRACE_READ, TRACE_USER, 100},
        {TRACE_READ, TRACE_USER, 100},        {TRACE_GENERATE, TRACE_NO_CLASS, 1},
        {TRACE_MISS, TRACE_SYSTEM, 0},        {TRACE_WRITE, TRACE_SYSTEM, 9},
        {TRACE_READ, TRACE_MULTI_TURN, 100},  {TRACE_WRITE, TRACE_USER, 91},
        {TRACE_READ, TRACE_USER, 91},         {TRACE_READ, TRACE_USER, 91},
        {TRACE_READ, TRACE_USER, 91},         {TRACE_READ, TRACE_USER, 91},
        {TRACE_GENERATE, TRACE_NO_CLASS, 65}, {TRACE_MISS, TRACE_MULTI_TURN, 0},
        {TRACE_WRITE, TRACE_USER, 10000},     {TRACE_GENERATE, TRACE_NO_CLASS, 33},
    };
    assert_int_equal(s.log.count, sizeof(want) / sizeof(*want));
    for (size_t i = 0; i < s.log.count; i++) {
        assert_int_equal(op(&s, i)->op, want[i].op);
        assert_int_equal(op(&s, i)->class, want[i].class);
        assert_int_equal(op(&s, i)->tokens, want[i].tokens);
        bool moves = want[i].op == TRACE_READ || want[i].op == TRACE_WRITE;
        assert_int_equal(op(&s, i)->size, moves ? want[i].tokens * UINT64_C(24576) : 0);
    }
    assert_int_equal(st.rows.hits[TRACE_USER], 6);
    assert_int_equal(st.rows.misses[TRACE_MULTI_TURN], 1);
    finish(&s);
}

static void reload_all_looks_every_turn_up(void **state)
{
    (void)state;
    static struct setup s;
    struct request r = REQUEST(0, TRACE_BATCH, 1);
    r.turn = 4;
    r.object = ident_turn(0, 5, 4);
    struct script p = {.base.ops = &objects_ops, .request = &r, .count = 1};
    prepare(&s);
    s.workload.reload_all = true;
    struct sim_stats st = run(&s, &p.base, 0);
    assert_int_equal(st.rows.misses[TRACE_MULTI_TURN], 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_true(ident_equal(op(&s, i)->id, ident_turn(0, 5, i + 1)));
    finish(&s);
}

/* --decode-reads once and none. */
static void fewer_decode_reads(void **state)
{
    (void)state;
    for (int mode = SIM_DECODE_ONCE; mode <= SIM_DECODE_NONE; mode++) {
        static struct setup s;
        struct request r = REQUEST(0, TRACE_BATCH, 500);
        r.object = ident_request(0, 1);
        struct script p = {.base.ops = &objects_ops, .request = &r, .count = 1};
        prepare(&s);
        s.o.decode_reads = (enum sim_decode_reads)mode;
        assert_int_equal(run(&s, &p.base, 0).rows.hits[TRACE_USER], mode == SIM_DECODE_ONCE);
        finish(&s);
    }
}

/* Blocks by themselves, or only behind hits; present ones are not written again. */
static void block_reuse(void **state)
{
    (void)state;
    static const uint64_t first[] = {1, 2, 3}, second[] = {9, 2, 3}, third[] = {1, 2, 4};
    for (int reuse = SIM_REUSE_PREFIX; reuse <= SIM_REUSE_ANY; reuse++) {
        bool any = reuse == SIM_REUSE_ANY;
        static struct setup s;
        struct request r[] = {REQUEST(0, TRACE_BATCH, 1), REQUEST(0, TRACE_BATCH, 1),
                              REQUEST(0, TRACE_BATCH, 1)};
        r[0].blocks = first;
        r[1].blocks = second;
        r[2].blocks = third;
        for (int i = 0; i < 3; i++) {
            r[i].block_count = 3;
            r[i].block_tokens = 512;
        }
        struct script p = {.base.ops = &blocks_ops, .request = r, .count = 3};
        prepare(&s);
        s.o.block_reuse = (enum sim_block_reuse)reuse;
        struct sim_stats st = run(&s, &p.base, 0);
        assert_int_equal(st.rows.hits[TRACE_BLOCK], any ? 4 : 2);
        assert_int_equal(st.rows.misses[TRACE_BLOCK], any ? 5 : 7);
        assert_int_equal(st.rows.by[TRACE_WRITE][TRACE_STORAGE][TRACE_PREFILL].rows, 5);
        assert_int_equal(st.rows.by[TRACE_WRITE][TRACE_STORAGE][TRACE_PREFILL].bytes,
                         5 * 512 * UINT64_C(24576));
        finish(&s);
    }
}

/* A run ends by duration (nothing at or after it), by requests, by the sink, by a bad source. */
static void ends(void **state)
{
    (void)state;
    static struct setup s;
    struct request r[5];
    for (uint32_t i = 0; i < 5; i++) {
        r[i] = (struct request)REQUEST(i * (int64_t)SECOND, TRACE_BATCH, 1);
        r[i].object = ident_request(0, i);
    }
    struct script p = {.base.ops = &objects_ops, .request = r, .count = 5};
    prepare(&s);
    s.o.duration_ns = 3 * (int64_t)SECOND;
    struct sim_stats st = run(&s, &p.base, 0);
    assert_int_equal(st.issued, 3);
    assert_int_equal(st.now_ns, 3 * (int64_t)SECOND);
    finish(&s);

    prepare(&s);
    p.at = 0;
    s.o.max_requests = 2;
    st = run(&s, &p.base, 0);
    assert_int_equal(st.completed, 2);
    finish(&s);

    prepare(&s);
    p.at = 0;
    s.log.limit = 6;
    st = run(&s, &p.base, 0);
    assert_int_equal(s.log.count, 6);
    finish(&s);

    prepare(&s);
    p.at = 0;
    p.last = -EINVAL;
    run(&s, &p.base, -EINVAL);
    finish(&s);
}

/* Real users: closed arrival never has two requests of one user under way, and conversations number
 * their turns from 1 up. */
static void closed_users(void **state)
{
    (void)state;
    enum {
        USERS = 7
    };
    static struct setup s;
    struct err e = {0};
    struct population *people;
    struct source *source;
    int64_t busy_until[USERS] = {0};
    uint64_t count, turns, generated = 0;
    uint32_t user = 0;
    prepare(&s);
    assert_int_equal(population_draw(&people, &s.workload, USERS, 1, &e), 0);
    struct source_users_opts o = {.workload = &s.workload,
                                  .population = people,
                                  .seed = 1,
                                  .arrival = SOURCE_USERS_CLOSED,
                                  .multi_turn = true};
    assert_int_equal(source_users_open(&source, &o, &e), 0);
    s.o.workers = USERS;
    s.o.max_requests = 200;
    struct sim_stats st = run(&s, source, 0);
    source->ops->conversations(source, &count, &turns);
    assert_int_equal(st.completed, 200);
    assert_int_equal(turns, 200);
    assert_true(count > 20 && count < 100);
    for (size_t i = 0; i < s.log.count; i++) {
        const struct sim_row *row = &s.log.row[i];
        if (row->what.op == TRACE_WRITE && row->what.class == TRACE_USER) {
            user = ident_user(row->what.id);
            assert_true(row->time_ns > busy_until[user] || busy_until[user] == 0);
        } else if (row->what.op == TRACE_GENERATE) {
            busy_until[user] = row->time_ns + row->duration_ns;
            generated++;
        }
    }
    assert_int_equal(generated, 200);
    assert_int_equal(st.rows.misses[TRACE_MULTI_TURN], 0);
    source->ops->close(source);
    population_free(people);
    finish(&s);
}

/* With room for two conversations, five users keep losing theirs. What a user goes on with is known
 * before the request is taken. */
static void conversations_are_bounded(void **state)
{
    (void)state;
    static struct setup s;
    struct err e = {0};
    struct population *people;
    struct source *source;
    uint64_t few, many, turns;
    prepare(&s);
    assert_int_equal(population_draw(&people, &s.workload, 5, 1, &e), 0);
    struct source_users_opts o = {
        .workload = &s.workload, .population = people, .seed = 1, .multi_turn = true};
    for (int round = 0; round < 2; round++) {
        struct request r;
        int64_t at;
        s.workload.max_conversations = round == 0 ? 1000 : 2;
        assert_int_equal(source_users_open(&source, &o, &e), 0);
        for (int i = 0; i < 300; i++) {
            struct ident ahead[SOURCE_AHEAD];
            assert_int_equal(source->ops->peek(source, &at, &e), 1);
            assert_int_equal(source->ops->ahead(source, ahead), 2);
            source->ops->take(source, &r);
            assert_int_equal(r.arrival_ns, at);
            if (r.turn > 1) {
                assert_true(ident_equal(ahead[0], r.object));
                assert_true(ident_equal(ahead[1], ident_other_turn(r.object, r.turn - 1)));
            }
            assert_true(r.turn >= 1 && r.turn <= 50);
        }
        source->ops->conversations(source, round == 0 ? &few : &many, &turns);
        assert_int_equal(turns, 300);
        source->ops->close(source);
    }
    assert_true(many > 2 * few);
    population_free(people);
    finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_and_worker),
        cmocka_unit_test(request_path),
        cmocka_unit_test(reload_all_looks_every_turn_up),
        cmocka_unit_test(fewer_decode_reads),
        cmocka_unit_test(block_reuse),
        cmocka_unit_test(ends),
        cmocka_unit_test(closed_users),
        cmocka_unit_test(conversations_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
