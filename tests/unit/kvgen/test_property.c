/* The invariants of the hierarchy and of time, on thousands of random small hierarchies and
 * workloads, with tiers that take time and without: a second, naive model follows the rows alone. A
 * bug looked like a read of an object still being written, a tier over its capacity while a
 * demotion was under way, a move whose second row never came, or a trace whose time went back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvgen/sim/sim.h"
#include "lib/drive/drive_model.h"
#include "lib/json/jsonin.h"
#include "lib/model/find.h"
#include "tests/unit/scale.h"

enum {
    RUNS = 2500,
    MAX_REQUESTS = 60,
    MAX_BLOCKS = 12,
    SLOTS = 1 << 12,
    MAX_WRITERS = 64,
    MAX_LEAVING = 256,
    MAX_WORKERS = 8
};

/* The rows' words about one identity. */
struct thing {
    struct ident id;
    bool known, live, moving;
    enum trace_tier tier; /* where it is, or which it left */
    enum trace_class class;
    uint64_t size;
    uint32_t tokens;
    int64_t ready_ns; /* no row may name it before */
};

struct write_under_way {
    uint64_t request;
    int64_t until_ns;
};

struct leave {
    enum trace_tier tier;
    uint64_t size;
    int64_t until_ns;
};

struct world {
    struct sim_opts o;
    struct tier_model speed[TRACE_TIERS];
    bool blocks;
    struct request request[MAX_REQUESTS];
    uint64_t block[MAX_REQUESTS][MAX_BLOCKS];
    size_t requests;
    /* the model */
    struct thing thing[SLOTS];
    uint64_t used[TRACE_TIERS], objects[TRACE_TIERS];
    uint64_t written, deleted, moving;
    size_t pairs_open, rows;
    int64_t last_ns;
    int64_t next_ns[MAX_REQUESTS + 1]; /* by request: before which none of its own rows may come */
    bool generated[MAX_REQUESTS + 1];
    struct write_under_way write[MAX_WRITERS];
    struct leave leave[MAX_LEAVING];
    int last_tier;
    uint64_t limit;
};

static struct thing *thing_of(struct world *w, struct ident id)
{
    id.lo &= ~(UINT64_C(1) << 63); /* the mark of a last part, which is not in the key */
    uint64_t i =
        (id.lo * UINT64_C(0x9e3779b97f4a7c15) ^ id.hi * UINT64_C(0xc2b2ae3d27d4eb4f)) >> 40;
    for (i %= SLOTS; w->thing[i].known && !ident_equal(w->thing[i].id, id); i = (i + 1) % SLOTS)
        ;
    w->thing[i].known = true;
    w->thing[i].id = id;
    return &w->thing[i];
}

/* The least that an operation takes: nobody before it. */
static int64_t least_ns(const struct world *w, const struct hierarchy_op *op)
{
    const struct tier_model *m = &w->speed[op->tier];
    if (!w->o.speed || !m->given || op->op == TRACE_DELETE)
        return 0;
    const struct tier_model_path *p = op->op == TRACE_READ ? &m->read : &m->write;
    double s = p->bytes_per_s > 0 ? (double)op->size / (double)p->bytes_per_s : 0;
    return p->latency_ns + (int64_t)(s * 1e9 * 0.999);
}

/* Bytes that are being read to be elsewhere: until then they take space here. */
static uint64_t leaving(const struct world *w, enum trace_tier tier)
{
    uint64_t bytes = 0;
    for (int i = 0; i < MAX_LEAVING; i++)
        if (w->leave[i].tier == tier && w->leave[i].until_ns > w->last_ns)
            bytes += w->leave[i].size;
    return bytes;
}

static void leaves(struct world *w, const struct hierarchy_op *op)
{
    for (int i = 0; i < MAX_LEAVING; i++)
        if (w->leave[i].until_ns <= w->last_ns) {
            w->leave[i] = (struct leave){
                .tier = op->tier, .size = op->size, .until_ns = w->last_ns + least_ns(w, op)};
            return;
        }
    fail();
}

static void check_capacity(const struct world *w, enum trace_tier tier)
{
    uint64_t gone = leaving(w, tier);
    if (w->used[tier] + gone <= w->o.tiers.capacity[tier])
        return;
    assert_int_equal(gone, 0);
    assert_int_equal(tier, TRACE_STORAGE); /* there, one object alone may be larger */
    uint64_t with_bytes = 0;
    for (size_t i = 0; i < SLOTS; i++)
        with_bytes += w->thing[i].live && w->thing[i].tier == tier && w->thing[i].size > 0;
    assert_int_equal(with_bytes, 1);
}

static void comes(struct world *w, struct thing *t, const struct hierarchy_op *op)
{
    assert_false(t->live);
    assert_int_equal(t->moving, op->phase == TRACE_EVICT);
    if (op->phase == TRACE_EVICT) {
        assert_int_equal(t->tier, op->from);
        assert_int_equal(t->class, op->class);
        assert_int_equal(t->size, op->size);
        assert_int_equal(t->tokens, op->tokens);
        if (op->class == TRACE_CLASS_EVICT)
            assert_true(op->tier > op->from);
        w->moving -= op->size;
        w->pairs_open--;
    } else {
        assert_int_equal(op->phase, TRACE_PREFILL);
        w->written += op->size;
    }
    t->moving = false;
    t->live = true;
    t->tier = op->tier;
    t->size = op->size;
    t->tokens = op->tokens;
    w->used[op->tier] += op->size;
    w->objects[op->tier]++;
    check_capacity(w, op->tier);
}

static void goes(struct world *w, struct thing *t, const struct hierarchy_op *op)
{
    t->live = false;
    w->used[op->tier] -= op->size;
    w->objects[op->tier]--;
    if (op->op == TRACE_DELETE) {
        assert_int_equal(op->tier, w->last_tier);
        w->deleted += op->size;
        return;
    }
    leaves(w, op);
    t->moving = true;
    t->class = op->class;
    w->moving += op->size;
    w->pairs_open++;
}

/* At most so many requests write at once, each at least as long as its write takes alone. */
static void check_writers(struct world *w, const struct sim_row *row)
{
    uint32_t others = 0;
    struct write_under_way *mine = NULL;
    for (int i = 0; i < MAX_WRITERS; i++) {
        struct write_under_way *u = &w->write[i];
        bool over = u->until_ns <= row->time_ns;
        if (over || u->request == row->request->number)
            mine = u;
        else
            others++;
    }
    assert_non_null(mine);
    assert_true(w->o.max_writers == 0 || others < w->o.max_writers);
    *mine = (struct write_under_way){.request = row->request->number,
                                     .until_ns = row->time_ns + least_ns(w, &row->what)};
}

static void check_object(struct world *w, const struct sim_row *row)
{
    const struct hierarchy_op *op = &row->what;
    struct thing *t = thing_of(w, op->id);
    assert_true(row->time_ns >= t->ready_ns);
    if (op->op == TRACE_READ || op->op == TRACE_DELETE) {
        assert_true(t->live);
        assert_int_equal(t->tier, op->tier);
        assert_int_equal(t->size, op->size);
        assert_int_equal(t->tokens, op->tokens);
    }
    if (op->op == TRACE_WRITE)
        comes(w, t, op);
    else if (op->op == TRACE_DELETE || op->phase == TRACE_EVICT)
        goes(w, t, op);
    if (op->op == TRACE_WRITE || op->phase == TRACE_EVICT)
        t->ready_ns = row->time_ns + least_ns(w, op);
}

/* A request's own rows follow each other, each behind the end of the one before. */
static void check_request(struct world *w, const struct sim_row *row)
{
    const struct hierarchy_op *op = &row->what;
    uint64_t n = row->request->number;
    assert_true(row->time_ns >= row->request->arrival_ns);
    if (op->phase == TRACE_EVICT)
        return;
    assert_false(w->generated[n]);
    assert_true(row->time_ns >= w->next_ns[n]);
    w->next_ns[n] = row->time_ns;
    if (op->op == TRACE_READ || op->op == TRACE_WRITE)
        w->next_ns[n] += least_ns(w, op);
    w->generated[n] = op->op == TRACE_GENERATE;
}

static int follow(void *ctx, const struct sim_row *row, struct err *e)
{
    struct world *w = ctx;
    (void)e;
    assert_true(row->time_ns >= w->last_ns);
    w->last_ns = row->time_ns;
    assert_true(w->o.speed || w->pairs_open <= 2); /* a promotion and a demotion in it */
    check_request(w, row);
    if (row->what.op != TRACE_GENERATE && row->what.op != TRACE_MISS)
        check_object(w, row);
    if (row->what.op == TRACE_WRITE && row->what.phase == TRACE_PREFILL && w->o.speed)
        check_writers(w, row);
    return ++w->rows == w->limit;
}

/* ---- a source of random requests ---- */

struct script {
    struct source base;
    struct world *w;
    size_t at;
    uint64_t released;
};

static int script_peek(struct source *s, int64_t *arrival_ns, struct err *e)
{
    struct script *p = (struct script *)s;
    (void)e;
    if (p->at == p->w->requests)
        return 0;
    *arrival_ns = p->w->request[p->at].arrival_ns;
    return 1;
}
static void script_take(struct source *s, struct request *out)
{
    struct script *p = (struct script *)s;
    *out = p->w->request[p->at++];
}
static void script_release(struct source *s, const struct request *r)
{
    (void)r;
    ((struct script *)s)->released++;
}

/* ---- random worlds ---- */

static uint64_t random_capacity(struct rng *r, uint64_t token_bytes)
{
    static const uint64_t tokens[] = {0, 1, 10, 40, 100, 300, 1000, 3000, 20000};
    return tokens[rng_below(r, sizeof(tokens) / sizeof(*tokens))] * token_bytes + rng_below(r, 2);
}

/* A measured drive; read and write say for the checks how fast it is at most. */
static struct tier_model random_drive(struct rng *r)
{
    struct tier_model m = {.given = true};
    char text[1024] = "{\"program\": \"kvtrace model\", \"points\": [";
    struct jsonin *d;
    int points = (int)rng_range(r, 1, 4);
    for (int i = 0; i < points; i++) {
        uint64_t rate = 1000000 * (uint64_t)rng_range(r, 1, 2000);
        m.read.bytes_per_s = rate > m.read.bytes_per_s ? rate : m.read.bytes_per_s;
        snprintf(text + strlen(text), sizeof(text) - strlen(text),
                 "%s{\"size_bytes\": %d, \"in_flight\": %d, \"read_share\": %d, "
                 "\"bytes_per_s\": %llu}",
                 i > 0 ? "," : "", 65536 << i / 2, 1 + i, i % 2, (unsigned long long)rate);
    }
    strcat(text, "]}");
    m.write = m.read;
    assert_int_equal(jsonin_parse(&d, text, strlen(text), "drive", NULL), 0);
    assert_int_equal(drive_model_parse(&m.drive, jsonin_root(d), "drive", NULL), 0);
    jsonin_free(d);
    return m;
}

static struct tier_model random_speed(struct rng *r)
{
    static const uint64_t rate[] = {0, 100000, 10000000, 1000000000, UINT64_C(100000000000)};
    if (rng_chance(r, 0.3))
        return random_drive(r);
    struct tier_model m = {.given = rng_chance(r, 0.8)};
    m.read = (struct tier_model_path){.bytes_per_s = rate[rng_below(r, 5)],
                                      .latency_ns = rng_range(r, 0, 3) * 1000000};
    m.write = (struct tier_model_path){.bytes_per_s = rate[rng_below(r, 5)],
                                       .latency_ns = rng_range(r, 0, 3) * 1000000};
    return m;
}

static void random_request(struct rng *r, struct world *w, size_t i, int64_t now_ns, int64_t most)
{
    uint32_t turn = (uint32_t)rng_range(r, 0, 6);
    uint32_t user = (uint32_t)rng_below(r, 3);
    struct request *q = &w->request[i];
    *q = (struct request){.number = i + 1,
                          .arrival_ns = now_ns,
                          .user = user,
                          .qos = (uint8_t)rng_below(r, 3),
                          .prompt = rng_chance(r, 0.3) ? (int32_t)rng_below(r, 3) : -1,
                          .context_tokens = rng_range(r, 0, most),
                          .generated_tokens = rng_range(r, 0, 100),
                          .turn = turn,
                          .object = turn > 0 ? ident_turn(user, 5, turn) : ident_request(user, i)};
    if (w->o.granularity == 0 && rng_chance(r, 0.02))
        q->context_tokens = SIM_PREFILL_ONLY_TOKENS;
    for (size_t k = 0; k < i; k++) /* a turn that is asked again is the same */
        if (ident_equal(w->request[k].object, q->object)) {
            q->context_tokens = w->request[k].context_tokens;
            q->prompt = w->request[k].prompt;
        }
    if (!w->blocks)
        return; /* a request names one object or blocks */
    q->blocks = w->block[i];
    q->block_count = (uint32_t)rng_below(r, MAX_BLOCKS + 1);
    q->block_tokens = 16;
    for (uint32_t b = 0; b < q->block_count; b++)
        w->block[i][b] = rng_chance(r, 0.7) ? b : rng_below(r, 40);
}

static void random_world(struct rng *r, struct world *w, const struct workload *workload,
                         const struct model *model)
{
    static const double ratio[] = {0.8, 0.95, 1, 0.3};
    uint64_t token_bytes = model_bytes_per_token(model);
    struct hierarchy_opts tiers = {0};
    memset(w, 0, sizeof(*w));
    for (int t = 0; t < TRACE_TIERS; t++)
        tiers.capacity[t] = random_capacity(r, token_bytes);
    if (rng_chance(r, 0.3))
        tiers.capacity[TRACE_STORAGE] = HIERARCHY_UNLIMITED;
    if (tiers.capacity[0] + tiers.capacity[1] + tiers.capacity[2] == 0)
        tiers.capacity[rng_below(r, 3)] = 50 * token_bytes;
    tiers.target_usage_ratio = ratio[rng_below(r, 4)];
    tiers.large_entry_limit_ratio = ratio[rng_below(r, 4)];
    tiers.policy = policies[rng_below(r, POLICIES)];
    tiers.promote = rng_chance(r, 0.5) ? HIERARCHY_PROMOTE_ON_HIT : HIERARCHY_PROMOTE_NONE;
    for (int t = 0; t < TRACE_TIERS; t++) {
        w->speed[t] = random_speed(r);
        if (tiers.capacity[t] != HIERARCHY_ABSENT)
            w->last_tier = t;
    }
    w->blocks = rng_chance(r, 0.4);
    w->o = (struct sim_opts){.workload = workload,
                             .tiers = tiers,
                             .model = model,
                             .token_ns = rng_chance(r, 0.5) ? 0 : 1000000,
                             .workers = (uint32_t)rng_range(r, 1, MAX_WORKERS),
                             .prefix = rng_chance(r, 0.5),
                             .decode_reads = (enum sim_decode_reads)rng_below(r, 3),
                             .block_reuse = rng_chance(r, 0.5) ? SIM_REUSE_ANY : SIM_REUSE_PREFIX,
                             .partial_blocks = rng_chance(r, 0.5),
                             .granularity = rng_chance(r, 0.4) ? rng_range(r, 10, 60) : 0,
                             .speed = rng_chance(r, 0.7) ? w->speed : NULL};
    if (w->o.speed && rng_chance(r, 0.5))
        w->o.max_writers = (uint32_t)rng_range(r, 1, 3);
    int64_t now_ns = 0, most = rng_chance(r, 0.5) ? 40 : 400;
    w->requests = 1 + rng_below(r, MAX_REQUESTS);
    for (size_t i = 0; i < w->requests; i++) {
        random_request(r, w, i, now_ns, most);
        now_ns += rng_range(r, 0, 2) * rng_range(r, 0, 50000000);
    }
}

/* At the end nothing moves, and every byte is where the sums say. */
static void check_end(const struct world *w, struct sim *sim, const struct script *p)
{
    const struct sim_stats *st = sim_stats(sim);
    uint64_t live = 0;
    assert_int_equal(w->pairs_open, 0);
    assert_int_equal(w->moving, 0);
    for (int t = 0; t < TRACE_TIERS; t++) {
        struct hierarchy_tier_stats h;
        hierarchy_stats(sim_hierarchy(sim), (enum trace_tier)t, &h);
        assert_int_equal(w->used[t], h.bytes);
        assert_int_equal(w->objects[t], h.objects);
        live += w->used[t];
    }
    assert_int_equal(w->written, live + w->deleted);
    assert_int_equal(st->completed, w->requests);
    assert_int_equal(p->released, w->requests);
    assert_int_equal(hist_count(st->time_ns[SIM_END_TO_END]), w->requests);
    assert_true(hist_max(st->time_ns[SIM_END_TO_END]) <= st->now_ns);
    assert_true(st->now_ns >= w->last_ns);
    for (size_t i = 1; i <= w->requests; i++)
        assert_true(w->generated[i]);
}

static void check_sums(const struct world *w, struct sim *sim)
{
    for (int t = 0; t < TRACE_TIERS; t++) {
        assert_int_equal(w->used[t], sim_stats(sim)->rows.tier[t].bytes);
        assert_int_equal(w->objects[t], sim_stats(sim)->rows.tier[t].objects);
    }
}

static size_t run_world(struct world *w)
{
    struct err e = {0};
    struct sim *sim;
    struct source_ops ops = {.name = "script",
                             .blocks = w->blocks,
                             .peek = script_peek,
                             .take = script_take,
                             .release = script_release};
    struct script p = {.base.ops = &ops, .w = w};
    w->o.source = &p.base;
    assert_int_equal(sim_create(&sim, &w->o, follow, w, &e), 0);
    assert_int_equal(sim_run(sim, &e), 0);
    check_sums(w, sim);
    if (w->limit == 0)
        check_end(w, sim, &p);
    sim_free(sim);
    return w->rows;
}

/* The model begins anew, the world stays. */
static void forget(struct world *w)
{
    memset(w->thing, 0, sizeof(*w) - offsetof(struct world, thing));
    for (int t = 0; t < TRACE_TIERS; t++)
        if (w->o.tiers.capacity[t] != HIERARCHY_ABSENT)
            w->last_tier = t;
}

static void invariants_hold(void **state)
{
    (void)state;
    static struct world w;
    struct conf *conf;
    struct workload workload;
    struct model model;
    struct err e = {0};
    struct rng r;
    size_t rows = 0;
    const uint64_t runs = (uint64_t)scaled(RUNS);
    assert_int_equal(conf_open(&conf, NULL, &e), 0);
    assert_int_equal(workload_read(&workload, conf, &e), 0);
    assert_int_equal(model_find(&model, "tiny-1b", NULL, NULL, &e), 0);
    for (uint64_t seed = 0; seed < runs; seed++) {
        rng_seed(&r, 7, seed);
        workload.reload_all = rng_chance(&r, 0.3);
        random_world(&r, &w, &workload, &model);
        size_t all = run_world(&w);
        rows += all;
        forget(&w); /* and cut anywhere, sums agree too */
        w.limit = 1 + rng_below(&r, all);
        run_world(&w);
        tier_models_free(w.speed);
    }
    assert_true(rows > 100 * runs);
    conf_free(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
