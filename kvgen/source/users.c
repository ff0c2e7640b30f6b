/* Makes the requests of synthetic users. Each user draws from streams of the seed of its own, so no
 * user changes what another one does. population.c says who the users are; what a request does to
 * the cache is the simulator's business. */
#include "kvgen/source/users.h"

#include <stdlib.h>
#include <string.h>

#include "kvgen/rng.h"
#include "kvgen/source/turn_counts.h"
#include "lib/base/units.h"
#include "lib/sort/heap.h"

enum {
    NS_PER_MS = 1000000,
    /* Tokens generated for a question about a document. */
    QUERY_LEAST_TOKENS = 50,
    QUERY_MOST_TOKENS = 200
};
#define NOBODY UINT32_MAX
#define ARRIVAL_STREAM                                                                             \
    ((uint64_t)2 << 32) /* of the seed: who asks when, where source_users_at_rate */
#define QUERY_STREAM ((uint64_t)6 << 32) /* + i: what user i asks about documents */

struct user {
    struct rng rng;
    int64_t next_start_ms; /* least start of the next conversation: the start is part of the key */
    uint64_t start_ms;     /* of the live conversation */
    uint32_t turn;         /* last turn of the live conversation; 0: none lives */
    uint32_t conversation; /* its number in turn_counts */
    uint32_t newer, older; /* neighbours among the users with a live conversation */
};

struct users {
    struct source base; /* first */
    struct source_users_opts o;
    struct user *user;
    uint32_t count;
    struct heap next; /* users by the time of their next request; not where source_users_at_rate */
    struct rng arrivals;
    int64_t next_arrival_ns; /* where source_users_at_rate */
    uint64_t issued;
    uint32_t newest, oldest; /* users with a live conversation, by its last use */
    uint64_t live, begun, turns;
    struct turn_counts *table; /* NULL: none are remembered */
    struct rng *queries;       /* by user; NULL without documents */
    struct request query;      /* comes together with the request last taken */
    bool query_next;
};

/* The user asks again after thinking from from_ns on. At least 1 ns, so that time passes. */
static void think(struct users *s, uint32_t i, int64_t from_ns)
{
    double factor = rng_uniform(&s->user[i].rng, 0.8, 1.2);
    double ns = (double)population_person(s->o.population, i)->think_ns * factor;
    int64_t wait_ns = (int64_t)(ns + 0.5);
    if (wait_ns < 1)
        wait_ns = 1;
    heap_push(&s->next, (struct heap_event){.time_ns = from_ns + wait_ns, .tie = i, .item = i});
}

static void next_at_rate(struct users *s)
{
    double mean_ns = (double)UNITS_NS_PER_S / s->o.request_rate;
    double ns = s->o.arrival == SOURCE_USERS_GAMMA
                    ? rng_gamma(&s->arrivals, mean_ns, s->o.arrival_cv)
                    : rng_exponential(&s->arrivals, mean_ns);
    s->next_arrival_ns += (int64_t)(ns + 0.5);
}

/* ---- live conversations: a list by last use, through the users ---- */

static void unlink_user(struct users *s, uint32_t i)
{
    const struct user *u = &s->user[i];
    if (u->newer == NOBODY)
        s->newest = u->older;
    else
        s->user[u->newer].older = u->older;
    if (u->older == NOBODY)
        s->oldest = u->newer;
    else
        s->user[u->older].newer = u->newer;
}

static void end_conversation(struct users *s, uint32_t i)
{
    unlink_user(s, i);
    if (s->table)
        turn_counts_release(s->table, s->user[i].conversation);
    s->user[i].turn = 0;
    s->live--;
}

/* The next turn of the user's conversation, which may be the first of a new one. */
static uint32_t next_turn(struct users *s, uint32_t i, int64_t now_ns)
{
    const struct workload *w = s->o.workload;
    struct user *u = &s->user[i];
    if (u->turn > 0 && (rng_chance(&u->rng, w->end_conversation) || u->turn >= w->max_turns))
        end_conversation(s, i);
    if (u->turn > 0) {
        unlink_user(s, i);
    } else {
        if (s->live == w->max_conversations)
            end_conversation(s, s->oldest);
        int64_t ms = now_ns / NS_PER_MS;
        u->start_ms = (uint64_t)(ms > u->next_start_ms ? ms : u->next_start_ms);
        u->next_start_ms = (int64_t)u->start_ms + 1;
        if (s->table)
            u->conversation = turn_counts_begin(s->table);
        s->live++;
        s->begun++;
    }
    s->turns++;
    u->turn++;
    u->newer = NOBODY;
    u->older = s->newest;
    if (s->newest == NOBODY)
        s->oldest = i;
    else
        s->user[s->newest].newer = i;
    s->newest = i;
    if (s->table)
        turn_counts_ask(s->table, u->conversation, u->turn);
    return u->turn;
}

/* ---- requests ---- */

static int64_t draw_tokens(struct rng *r, int64_t most)
{
    return rng_range(r, most / 4 > 1 ? most / 4 : 1, most);
}

/* A question about a document may come together with request r. It is drawn from a stream of its
 * own, so documents change no other request. */
static void draw_query(struct users *s, const struct request *r)
{
    struct rng *rng = &s->queries[r->user];
    if (!rag_chance(s->o.rag, rng))
        return;
    uint32_t document = rag_document(s->o.rag, rng);
    s->query = (struct request){.arrival_ns = r->arrival_ns,
                                .user = r->user,
                                .qos = r->qos,
                                .object = ident_document(document),
                                .document = document + 1};
    s->query.generated_tokens = rng_range(rng, QUERY_LEAST_TOKENS, QUERY_MOST_TOKENS);
    s->query.prompt = workload_draw_prompt(s->o.workload, rng);
    s->query.picks = rng_u64(rng);
    s->query.context_tokens = rag_pick_tokens(s->o.rag, document, s->query.picks);
    s->query_next = true;
}

/* The order of the draws decides the numbers. */
static void make_request(struct users *s, uint32_t i, int64_t now_ns, struct request *out)
{
    const struct person *person = population_person(s->o.population, i);
    struct user *u = &s->user[i];
    *out = (struct request){
        .number = ++s->issued, .arrival_ns = now_ns, .user = i, .qos = person->qos};
    if (s->o.multi_turn) {
        out->turn = next_turn(s, i, now_ns);
        out->slot = u->conversation;
        out->object = ident_turn(i, u->start_ms, out->turn);
    } else {
        out->object = ident_request(i, out->number);
    }
    out->context_tokens = draw_tokens(&u->rng, person->context_tokens);
    out->generated_tokens = draw_tokens(&u->rng, person->generated_tokens);
    if (s->o.input_tokens > 0)
        out->context_tokens = s->o.input_tokens;
    if (s->o.output_tokens > 0)
        out->generated_tokens = s->o.output_tokens;
    out->prompt = workload_draw_prompt(s->o.workload, &u->rng);
    if (s->o.rag)
        draw_query(s, out);
}

/* ---- the table's functions ---- */

static int users_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct users *s = (struct users *)base;
    if (s->table && turn_counts_reserve(s->table) < 0)
        return err_nomem(e, "conversations");
    if (s->query_next) {
        *arrival_ns = s->query.arrival_ns;
        return 1;
    }
    if (source_users_at_rate(s->o.arrival)) {
        *arrival_ns = s->next_arrival_ns;
        return 1;
    }
    const struct heap_event *top = heap_top(&s->next);
    if (!top)
        return 0;
    *arrival_ns = top->time_ns;
    return 1;
}

/* The turn that the user will ask for, and the one before it. Where users come at a rate it is
 * drawn later who comes. */
static size_t users_ahead(const struct source *base, struct ident *id)
{
    const struct users *s = (const struct users *)base;
    const struct heap_event *top = heap_top(&s->next);
    if (!top || !s->o.multi_turn)
        return 0;
    const struct user *u = &s->user[top->item];
    id[0] = ident_turn(top->item, u->start_ms, u->turn + 1);
    id[1] = ident_other_turn(id[0], u->turn);
    return 2;
}

static void users_take(struct source *base, struct request *out)
{
    struct users *s = (struct users *)base;
    if (s->query_next) {
        s->query_next = false;
        *out = s->query;
        out->number = ++s->issued;
        return;
    }
    if (source_users_at_rate(s->o.arrival)) {
        uint32_t i = (uint32_t)rng_below(&s->arrivals, s->count);
        make_request(s, i, s->next_arrival_ns, out);
        next_at_rate(s);
        return;
    }
    struct heap_event event = heap_pop(&s->next);
    make_request(s, event.item, event.time_ns, out);
    if (s->o.arrival == SOURCE_USERS_OPEN)
        think(s, event.item, event.time_ns);
}

static void users_done(struct source *base, const struct request *r, int64_t now_ns)
{
    struct users *s = (struct users *)base;
    if (s->o.arrival == SOURCE_USERS_CLOSED && r->document == 0)
        think(s, r->user, now_ns);
}

static void users_release(struct source *base, const struct request *r)
{
    struct users *s = (struct users *)base;
    if (s->table && r->turn > 0)
        turn_counts_release(s->table, r->slot);
}

static uint32_t users_turns(const struct source *base, const struct request *r)
{
    const struct users *s = (const struct users *)base;
    return s->table ? turn_counts_turns(s->table, r->slot) : r->turn;
}

static size_t users_name(const struct source *base, uint32_t user, char *buf)
{
    size_t len;
    const char *name = population_name(((const struct users *)base)->o.population, user, &len);
    memcpy(buf, name, len);
    return len;
}

static void users_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct users *s = (const struct users *)base;
    *count = s->begun;
    *turns = s->turns;
}

static void users_close(struct source *base)
{
    struct users *s = (struct users *)base;
    heap_free(&s->next);
    turn_counts_free(s->table);
    free(s->queries);
    free(s->user);
    free(s);
}

static const struct source_ops users_ops = {
    .name = "users",
    .peek = users_peek,
    .ahead = users_ahead,
    .take = users_take,
    .done = users_done,
    .release = users_release,
    .turns = users_turns,
    .user_name = users_name,
    .conversations = users_conversations,
    .close = users_close,
};

int source_users_open(struct source **out, const struct source_users_opts *o, struct err *e)
{
    bool remembers = o->multi_turn && o->remembered > 0;
    struct users *s = calloc(1, sizeof(*s));
    if (!s)
        return err_nomem(e, "users");
    s->base.ops = &users_ops;
    s->o = *o;
    s->count = (uint32_t)population_count(o->population);
    s->newest = s->oldest = NOBODY;
    s->user = calloc(s->count, sizeof(*s->user));
    if (remembers)
        s->table = turn_counts_create(o->remembered);
    if (o->rag)
        s->queries = calloc(s->count, sizeof(*s->queries));
    if (!s->user || (remembers && !s->table) || (o->rag && !s->queries) ||
        heap_init(&s->next, s->count) < 0) {
        users_close(&s->base);
        return err_nomem(e, "users");
    }

    rng_seed(&s->arrivals, o->seed, ARRIVAL_STREAM);
    for (uint32_t i = 0; i < s->count; i++) {
        rng_seed(&s->user[i].rng, o->seed, i);
        if (o->rag)
            rng_seed(&s->queries[i], o->seed, QUERY_STREAM + i);
        if (!source_users_at_rate(o->arrival))
            think(s, i, 0);
    }
    if (source_users_at_rate(o->arrival))
        next_at_rate(s);
    *out = &s->base;
    return 0;
}
