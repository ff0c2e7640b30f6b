/* users.c - requests of synthetic users. Each user has a stream of random numbers of its
 * own, so users do not disturb one another's; what a request does is the simulator's business. */
#include "kvgen/source/users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/heap.h"
#include "kvgen/rng.h"
#include "kvgen/source/turn_counts.h"
#include "lib/base/units.h"

enum {
    NS_PER_MS = 1000000,
    QUERY_LEAST_TOKENS = 50, /* generated for a query */
    QUERY_MOST_TOKENS = 200
};
#define NOBODY         UINT32_MAX
#define ARRIVAL_STREAM ((uint64_t)2 << 32) /* of the seed: who asks when, with Poisson arrivals */
#define QUERY_STREAM   ((uint64_t)6 << 32) /* + i: what user i asks about documents */

struct user {
    struct rng rng;
    int64_t next_start_ms; /* a conversation's start names it: never the same twice */
    uint64_t start_ms;
    uint32_t turn;         /* last turn of the live conversation; 0: none lives */
    uint32_t conversation; /* its number in the table */
    uint32_t newer, older; /* among the users whose conversation lives */
};

struct users {
    struct source base;
    struct source_users_opts o;
    struct user *user;
    uint32_t count;
    struct heap next; /* users by when they ask next (Poisson: unused) */
    struct rng arrivals;
    int64_t next_arrival_ns;
    uint64_t issued;
    uint32_t newest, oldest; /* live conversations by last use */
    uint64_t live, begun, turns;
    struct turn_counts *table; /* NULL: no conversations are remembered */
    struct rng *queries;       /* by user; NULL without documents */
    struct request query;      /* asked together with the request last taken */
    bool query_next;
};

static struct users *users_of(struct source *s)
{
    return (struct users *)s;
}

/* At least 1 ns, so that time goes on. */
static int64_t nearest_ns(double ns)
{
    int64_t n = (int64_t)(ns + 0.5);
    return n > 0 ? n : 1;
}

static void think(struct users *s, uint32_t i, int64_t from_ns)
{
    double factor = rng_uniform(&s->user[i].rng, 0.8, 1.2);
    int64_t wait = nearest_ns((double)population_person(s->o.population, i)->think_ns * factor);
    heap_push(&s->next, (struct heap_event){.time_ns = from_ns + wait, .tie = i, .item = i});
}

static void next_poisson(struct users *s)
{
    double ns = rng_exponential(&s->arrivals, (double)UNITS_NS_PER_S / s->o.request_rate);
    s->next_arrival_ns += (int64_t)(ns + 0.5);
}

/* ---- conversations: a list by last use, through the users ---- */

static void conversation_unlink(struct users *s, uint32_t i)
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

static void conversation_link(struct users *s, uint32_t i)
{
    s->user[i].newer = NOBODY;
    s->user[i].older = s->newest;
    if (s->newest == NOBODY)
        s->oldest = i;
    else
        s->user[s->newest].newer = i;
    s->newest = i;
}

static void conversation_end(struct users *s, uint32_t i)
{
    conversation_unlink(s, i);
    if (s->table)
        turn_counts_release(s->table, s->user[i].conversation);
    s->user[i].turn = 0;
    s->live--;
}

static void conversation_begin(struct users *s, uint32_t i, int64_t now_ns)
{
    struct user *u = &s->user[i];
    if (s->live == s->o.workload->max_conversations)
        conversation_end(s, s->oldest);
    int64_t ms = now_ns / NS_PER_MS;
    u->start_ms = (uint64_t)(ms > u->next_start_ms ? ms : u->next_start_ms);
    u->next_start_ms = (int64_t)u->start_ms + 1;
    if (s->table)
        u->conversation = turn_counts_begin(s->table);
    conversation_link(s, i);
    s->live++;
    s->begun++;
}

/* The next turn of the user's conversation, which may be a new one. */
static uint32_t conversation_turn(struct users *s, uint32_t i, int64_t now_ns)
{
    const struct workload *w = s->o.workload;
    struct user *u = &s->user[i];
    if (u->turn > 0 && (rng_chance(&u->rng, w->end_conversation) || u->turn >= w->max_turns))
        conversation_end(s, i);
    if (u->turn == 0) {
        conversation_begin(s, i, now_ns);
    } else {
        conversation_unlink(s, i);
        conversation_link(s, i);
    }
    s->turns++;
    u->turn++;
    if (s->table)
        turn_counts_ask(s->table, u->conversation, u->turn);
    return u->turn;
}

/* ---- the table's functions ---- */

static int users_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    struct users *s = users_of(base);
    if (s->table && turn_counts_reserve(s->table) < 0)
        return err_nomem(e, "conversations");
    if (s->query_next) {
        *arrival_ns = s->query.arrival_ns;
        return 1;
    }
    if (s->o.arrival == SOURCE_USERS_POISSON) {
        *arrival_ns = s->next_arrival_ns;
        return 1;
    }
    const struct heap_event *top = heap_top(&s->next);
    if (!top)
        return 0;
    *arrival_ns = top->time_ns;
    return 1;
}

static int64_t draw_tokens(struct rng *r, int64_t most)
{
    return rng_range(r, most / 4 > 1 ? most / 4 : 1, most);
}

/* A question about a document may come with the request: who asks draws from a stream of its own,
 * so that documents change no other request. */
static void ask_query(struct users *s, const struct request *r)
{
    const struct workload *w = s->o.workload;
    struct rng *rng = &s->queries[r->user];
    if (!rag_chance(s->o.rag, rng))
        return;
    uint32_t document = rag_document(s->o.rag, rng);
    s->query = (struct request){.arrival_ns = r->arrival_ns,
                                .user = r->user,
                                .qos = r->qos,
                                .prompt = -1,
                                .object = ident_document(document),
                                .document = document + 1};
    s->query.generated_tokens = rng_range(rng, QUERY_LEAST_TOKENS, QUERY_MOST_TOKENS);
    if (rng_chance(rng, w->prompt_chance) && w->prompts > 0)
        s->query.prompt = (int32_t)rng_below(rng, w->prompts);
    s->query.picks = rng_u64(rng);
    s->query.context_tokens = rag_pick_tokens(s->o.rag, document, s->query.picks);
    s->query_next = true;
}

static void ask(struct users *s, uint32_t i, int64_t now_ns, struct request *out)
{
    const struct person *person = population_person(s->o.population, i);
    const struct workload *w = s->o.workload;
    struct user *u = &s->user[i];
    *out = (struct request){
        .number = ++s->issued, .arrival_ns = now_ns, .user = i, .qos = person->qos, .prompt = -1};
    if (s->o.multi_turn) {
        out->turn = conversation_turn(s, i, now_ns);
        out->slot = u->conversation;
    }
    out->context_tokens = draw_tokens(&u->rng, person->context_tokens);
    out->generated_tokens = draw_tokens(&u->rng, person->generated_tokens);
    if (s->o.input_tokens > 0)
        out->context_tokens = s->o.input_tokens;
    if (s->o.output_tokens > 0)
        out->generated_tokens = s->o.output_tokens;
    if (rng_chance(&u->rng, w->prompt_chance) && w->prompts > 0)
        out->prompt = (int32_t)rng_below(&u->rng, w->prompts);
    out->object =
        s->o.multi_turn ? ident_turn(i, u->start_ms, out->turn) : ident_request(i, out->number);
    if (s->o.rag)
        ask_query(s, out);
}

static void users_take(struct source *base, struct request *out)
{
    struct users *s = users_of(base);
    if (s->query_next) {
        s->query_next = false;
        *out = s->query;
        out->number = ++s->issued;
        return;
    }
    if (s->o.arrival == SOURCE_USERS_POISSON) {
        ask(s, (uint32_t)rng_below(&s->arrivals, s->count), s->next_arrival_ns, out);
        next_poisson(s);
        return;
    }
    struct heap_event event = heap_pop(&s->next);
    ask(s, event.item, event.time_ns, out);
    if (s->o.arrival == SOURCE_USERS_OPEN)
        think(s, event.item, event.time_ns);
}

static void users_done(struct source *base, const struct request *r, int64_t now_ns)
{
    struct users *s = users_of(base);
    if (s->o.arrival == SOURCE_USERS_CLOSED && r->document == 0)
        think(s, r->user, now_ns);
}

static void users_release(struct source *base, const struct request *r)
{
    struct turn_counts *table = users_of(base)->table;
    if (table && r->turn > 0)
        turn_counts_release(table, r->slot);
}

static uint32_t users_turns(const struct source *base, const struct request *r)
{
    const struct turn_counts *table = ((const struct users *)base)->table;
    return table ? turn_counts_turns(table, r->slot) : r->turn;
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
    struct users *s = users_of(base);
    heap_free(&s->next);
    turn_counts_free(s->table);
    free(s->queries);
    free(s->user);
    free(s);
}

static const struct source_ops users_ops = {
    .name = "users",
    .peek = users_peek,
    .take = users_take,
    .done = users_done,
    .release = users_release,
    .turns = users_turns,
    .user_name = users_name,
    .conversations = users_conversations,
    .close = users_close,
};

static void users_begin(struct users *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        rng_seed(&s->user[i].rng, s->o.seed, i);
        if (s->queries)
            rng_seed(&s->queries[i], s->o.seed, QUERY_STREAM + i);
        if (s->o.arrival != SOURCE_USERS_POISSON)
            think(s, i, 0);
    }
    rng_seed(&s->arrivals, s->o.seed, ARRIVAL_STREAM);
    if (s->o.arrival == SOURCE_USERS_POISSON)
        next_poisson(s);
}

static int users_take_memory(struct users *s)
{
    s->user = calloc(s->count, sizeof(*s->user));
    if (s->o.multi_turn && s->o.remembered > 0)
        s->table = turn_counts_create(s->o.remembered);
    if (!s->user || (!s->table && s->o.remembered > 0 && s->o.multi_turn) ||
        heap_init(&s->next, s->count) < 0)
        return -ENOMEM;
    if (s->o.rag)
        s->queries = calloc(s->count, sizeof(*s->queries));
    return s->o.rag && !s->queries ? -ENOMEM : 0;
}

int source_users_open(struct source **out, const struct source_users_opts *o, struct err *e)
{
    struct users *s = calloc(1, sizeof(*s));
    if (!s)
        return err_nomem(e, "users");
    s->base.ops = &users_ops;
    s->o = *o;
    s->count = (uint32_t)population_count(o->population);
    s->newest = s->oldest = NOBODY;
    if (users_take_memory(s) < 0) {
        users_close(&s->base);
        return err_nomem(e, "users");
    }
    users_begin(s);
    *out = &s->base;
    return 0;
}
