/* Makes the requests of people: habits.c says how long their texts and pauses are, this file how a
 * session goes on. Each user draws from a stream of the seed of its own, in the order of its
 * requests, so neither other users nor the time of an answer change what it asks. */
#include "kvgen/people/people.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/people/habits.h"
#include "kvgen/rng.h"
#include "lib/base/units.h"
#include "lib/sort/heap.h"
#include "lib/trace/trace.h"

/* Streams of the seed: + i, what user i does; + d, the length of document d. */
#define PEOPLE_STREAM   ((uint64_t)7 << 32)
#define DOCUMENT_STREAM ((uint64_t)8 << 32)

enum {
    NS_PER_MS = 1000000,
    /* Where a sub-agent begins after the answer that starts it, as its record shows. */
    AGENT_BEGINS_MS = 1000,
    /* First requests are spread over a pause that so many pauses do not exceed. The rate of
     * requests then begins near where it stays. */
    SPREAD_PERCENT = 80,
    /* Before a session that is midway: an answer's time by tokens, for its user alone; and how much
     * faster what caches are to have comes than it was asked. */
    TOKEN_MS = 20,
    RECALL_FASTER = 60
};
#define LIFE_NS (INT64_C(1800) * UNITS_NS_PER_S) /* of a user, before */

/* Texts that several users' sessions begin with (request.shared). */
enum shared {
    SHARED_CHAT = 1,
    SHARED_CODE,
    SHARED_AGENT,
    SHARED_DOCUMENT /* + d: document d */
};

/* A conversation, or the requests of an agent. Tokens are at most HABITS_WINDOW_TOKENS. */
struct thread {
    uint32_t session; /* its number among those of its user, from 1 */
    uint32_t turn;    /* asked so far; 0: it begins */
    uint32_t steps;   /* of an agent: left */
    uint32_t shared, shared_tokens;
    uint32_t tokens; /* shared text, requests and answers so far */
};

struct person {
    struct rng rng;
    struct thread main, agent;
    uint32_t sessions; /* of both */
    uint8_t kind;      /* enum people_kind */
    bool in_agent;     /* the main thread waits for its sub-agent */
    int64_t pause_ns;  /* with midway: left, when all sessions are recalled */
};

struct people {
    struct source base; /* first */
    struct people_opts o;
    struct person *person;
    struct heap next;   /* users by the time of their next request */
    double *popularity; /* of documents, most popular first: sums of weights; NULL: nobody asks */
    uint64_t issued, begun, turns;
    uint32_t recalls; /* with midway: sessions that caches are still to have */
};

/* ---- sessions ---- */

static int64_t document_tokens(const struct people *s, uint32_t document)
{
    struct rng r;
    rng_seed(&r, s->o.seed, DOCUMENT_STREAM + document);
    return habits_draw(HABIT_DOCUMENTS_LENGTH, &r);
}

/* Document d with the weight 1 / (d + 1). One draw. */
static uint32_t choose_document(const struct people *s, struct rng *r)
{
    uint32_t first = 0, end = (uint32_t)habits_value(HABIT_DOCUMENTS_COUNT) - 1;
    const double at = rng_unit(r) * s->popularity[end];
    while (first < end) {
        const uint32_t middle = first + (end - first) / 2;
        if (s->popularity[middle] <= at)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

static void begin_thread(struct people *s, struct person *p, struct thread *t)
{
    uint32_t document;
    *t = (struct thread){.session = ++p->sessions};
    s->begun++;
    switch ((enum people_kind)p->kind) {
    case PEOPLE_CODE:
        t->shared = p->in_agent ? SHARED_AGENT : SHARED_CODE;
        t->shared_tokens =
            (uint32_t)habits_value(p->in_agent ? HABIT_CODE_AGENT_SYSTEM : HABIT_CODE_SYSTEM);
        t->steps =
            (uint32_t)habits_draw(p->in_agent ? HABIT_CODE_AGENT_STEPS : HABIT_CODE_STEPS, &p->rng);
        break;
    case PEOPLE_DOCUMENTS:
        document = choose_document(s, &p->rng);
        t->shared = SHARED_DOCUMENT + document;
        t->shared_tokens = (uint32_t)document_tokens(s, document);
        break;
    default:
        t->shared = SHARED_CHAT;
        t->shared_tokens = (uint32_t)habits_value(HABIT_CHAT_SYSTEM);
        break;
    }
    t->tokens = t->shared_tokens;
}

/* The habit that gives the length of the thread's next prompt. */
static enum habit prompt_of(const struct person *p, const struct thread *t)
{
    const bool first = t->turn == 0;
    if (p->kind == PEOPLE_DOCUMENTS)
        return HABIT_DOCUMENTS_QUESTION;
    if (p->kind == PEOPLE_CHAT)
        return first ? HABIT_CHAT_FIRST : HABIT_CHAT_NEXT;
    if (p->in_agent)
        return first ? HABIT_CODE_AGENT_FIRST : HABIT_CODE_AGENT_GROWTH;
    return first ? HABIT_CODE_FIRST : HABIT_CODE_GROWTH;
}

static const enum habit answer_of[PEOPLE_KINDS] = {[PEOPLE_CHAT] = HABIT_CHAT_ANSWER,
                                                   [PEOPLE_CODE] = HABIT_CODE_ANSWER,
                                                   [PEOPLE_DOCUMENTS] = HABIT_DOCUMENTS_ANSWER};
static const enum habit pause_of[PEOPLE_KINDS] = {[PEOPLE_CHAT] = HABIT_CHAT_PAUSE,
                                                  [PEOPLE_CODE] = HABIT_CODE_BREAK,
                                                  [PEOPLE_DOCUMENTS] = HABIT_DOCUMENTS_PAUSE};
static const enum trace_qos qos_of[PEOPLE_KINDS] = {[PEOPLE_CHAT] = TRACE_INTERACTIVE,
                                                    [PEOPLE_CODE] = TRACE_RESPONSIVE,
                                                    [PEOPLE_DOCUMENTS] = TRACE_INTERACTIVE};

static int64_t draw_ns(enum habit h, struct rng *r)
{
    return habits_draw(h, r) * NS_PER_MS;
}

/* Whether there is no room for a further request and its answer. */
static bool is_full(const struct thread *t)
{
    return t->tokens + 2 > HABITS_WINDOW_TOKENS;
}

/* A person reads the answer and thinks; of an agent, looks at what it did. */
static int64_t think_ns(struct person *p, int64_t answer_tokens)
{
    int64_t ns = draw_ns(pause_of[p->kind], &p->rng);
    return p->kind == PEOPLE_CODE ? ns : ns + habits_reading_ns(answer_tokens, &p->rng);
}

/* After an answer to an agent: the time until its next request, or that of a sub-agent. */
static int64_t next_step_ns(struct person *p)
{
    struct thread *t = p->in_agent ? &p->agent : &p->main;
    const bool over = --t->steps == 0 || is_full(t);
    if (p->in_agent) {
        p->in_agent = !over;
        return draw_ns(HABIT_CODE_TOOL, &p->rng);
    }
    if (over) {
        t->turn = 0;
        return think_ns(p, 0);
    }
    if (habits_chance(HABIT_CODE_AGENT, &p->rng)) {
        p->in_agent = true;
        p->agent.turn = 0;
        return (int64_t)AGENT_BEGINS_MS * NS_PER_MS;
    }
    return draw_ns(habits_chance(HABIT_CODE_PERSON, &p->rng) ? HABIT_CODE_BREAK : HABIT_CODE_TOOL,
                   &p->rng);
}

/* After an answer to a person: the time until the next request, which may begin a session. */
static int64_t next_turn_ns(struct person *p, int64_t answer_tokens)
{
    struct thread *t = &p->main;
    const enum habit further = p->kind == PEOPLE_DOCUMENTS ? HABIT_DOCUMENTS_FURTHER
                               : t->turn == 1              ? HABIT_CHAT_SECOND
                                                           : HABIT_CHAT_FURTHER;
    if (!habits_chance(further, &p->rng) || is_full(t))
        t->turn = 0;
    return think_ns(p, answer_tokens);
}

/* ---- the table's functions ---- */

static int people_peek(struct source *base, int64_t *arrival_ns, struct err *e)
{
    const struct heap_event *top = heap_top(&((struct people *)base)->next);
    (void)e;
    if (!top)
        return 0;
    *arrival_ns = top->time_ns;
    return 1;
}

/* The members that each request of the thread has, whatever it asks. */
static struct request request_of(struct people *s, uint32_t user, const struct thread *t,
                                 int64_t arrival_ns)
{
    return (struct request){.number = ++s->issued,
                            .arrival_ns = arrival_ns,
                            .user = user,
                            .qos = (uint8_t)qos_of[s->person[user].kind],
                            .prompt = -1,
                            .turn = t->turn,
                            .object = ident_turn(user, t->session, t->turn),
                            .shared = t->shared,
                            .shared_tokens = t->shared_tokens};
}

/* The user's next request. */
static struct request next_request(struct people *s, uint32_t user, int64_t arrival_ns)
{
    struct person *p = &s->person[user];
    struct thread *t = p->in_agent ? &p->agent : &p->main;
    if (t->turn == 0)
        begin_thread(s, p, t);
    const int64_t room = HABITS_WINDOW_TOKENS - (int64_t)t->tokens;
    int64_t prompt = habits_draw(prompt_of(p, t), &p->rng);
    int64_t answer = habits_draw(answer_of[p->kind], &p->rng);
    prompt = prompt < room ? prompt : room - 1;
    answer = answer < room - prompt ? answer : room - prompt;
    t->turn++;
    struct request r = request_of(s, user, t, arrival_ns);
    r.context_tokens = prompt;
    r.generated_tokens = answer;
    t->tokens += (uint32_t)(prompt + answer);
    s->turns++;
    return r;
}

/* The user's session so far. */
static struct request recall(struct people *s, uint32_t user, int64_t arrival_ns)
{
    const struct thread *t = &s->person[user].main;
    struct request r = request_of(s, user, t, arrival_ns);
    r.context_tokens = (int64_t)t->tokens - (int64_t)t->shared_tokens - 1;
    r.generated_tokens = 1;
    return r;
}

static void people_take(struct source *base, struct request *out)
{
    struct people *s = (struct people *)base;
    const struct heap_event event = heap_pop(&s->next);
    *out = s->recalls ? recall(s, event.item, event.time_ns)
                      : next_request(s, event.item, event.time_ns);
}

static void ask_at(struct people *s, uint32_t i, int64_t time_ns)
{
    heap_push(&s->next, (struct heap_event){.time_ns = time_ns, .tie = i, .item = i});
}

/* After an answer: the time until the user asks again. */
static int64_t pause_ns(struct person *p, int64_t answer_tokens)
{
    return p->kind == PEOPLE_CODE ? next_step_ns(p) : next_turn_ns(p, answer_tokens);
}

/* Users go on, each with the rest of its pause. */
static void go_on(struct people *s, int64_t now_ns)
{
    for (uint32_t i = 0; i < s->o.users; i++)
        ask_at(s, i, now_ns + s->person[i].pause_ns);
}

static void people_done(struct source *base, const struct request *r, int64_t now_ns)
{
    struct people *s = (struct people *)base;
    if (!s->recalls)
        ask_at(s, r->user, now_ns + pause_ns(&s->person[r->user], r->generated_tokens));
    else if (--s->recalls == 0)
        go_on(s, now_ns);
}

static bool people_recalls(const struct source *base)
{
    return ((const struct people *)base)->recalls > 0;
}

static size_t people_name(const struct source *base, uint32_t user, char *buf)
{
    const struct people *s = (const struct people *)base;
    char name[IDENT_MAX_USER_NAME];
    const int len =
        snprintf(name, sizeof(name), "%s_%04u",
                 people_kind_name((enum people_kind)s->person[user].kind), (unsigned)user);
    memcpy(buf, name, (size_t)len);
    return (size_t)len;
}

static void people_conversations(const struct source *base, uint64_t *count, uint64_t *turns)
{
    const struct people *s = (const struct people *)base;
    *count = s->begun;
    *turns = s->turns;
}

static void people_close(struct source *base)
{
    struct people *s = (struct people *)base;
    heap_free(&s->next);
    free(s->popularity);
    free(s->person);
    free(s);
}

static const struct source_ops people_ops = {
    .name = "people",
    .peek = people_peek,
    .take = people_take,
    .done = people_done,
    .user_name = people_name,
    .recalls = people_recalls,
    .conversations = people_conversations,
    .close = people_close,
};

static bool open_popularity(struct people *s)
{
    const uint32_t documents = (uint32_t)habits_value(HABIT_DOCUMENTS_COUNT);
    double sum = 0;
    s->popularity = malloc(documents * sizeof(*s->popularity));
    for (uint32_t d = 0; s->popularity && d < documents; d++)
        s->popularity[d] = sum += 1.0 / (double)(d + 1);
    return s->popularity != NULL;
}

/* Lives the user's time before time begins, from a first request at a time from 0 on. Requests that
 * caches are to have of it come in the order in which it was asked. */
static void live(struct people *s, uint32_t i, int64_t first_ns)
{
    struct person *p = &s->person[i];
    int64_t at_ns = first_ns, asked_ns = 0;
    while (at_ns < LIFE_NS) {
        const struct request r = next_request(s, i, at_ns);
        asked_ns = at_ns;
        at_ns += r.generated_tokens * TOKEN_MS * NS_PER_MS + pause_ns(p, r.generated_tokens);
    }
    p->pause_ns = at_ns - LIFE_NS;
    p->agent.turn = 0;
    if (p->main.turn == 0 || p->main.tokens < p->main.shared_tokens + 2)
        return;
    s->recalls++;
    ask_at(s, i, asked_ns / RECALL_FASTER);
}

int source_people_open(struct source **out, const struct people_opts *o, struct err *e)
{
    struct people *s = calloc(1, sizeof(*s));
    if (!s)
        return err_nomem(e, "users");
    s->base.ops = &people_ops;
    s->o = *o;
    s->person = calloc(o->users, sizeof(*s->person));
    if (!s->person || heap_init(&s->next, o->users) < 0 ||
        (o->mix.share[PEOPLE_DOCUMENTS] > 0 && !open_popularity(s))) {
        people_close(&s->base);
        return err_nomem(e, "users");
    }
    struct mix_order order = {.mix = &s->o.mix};
    for (uint32_t i = 0; i < o->users; i++) {
        struct person *p = &s->person[i];
        rng_seed(&p->rng, o->seed, PEOPLE_STREAM + i);
        p->kind = (uint8_t)mix_next(&order);
        const int64_t spread_ns = habits_at(pause_of[p->kind], SPREAD_PERCENT) * NS_PER_MS;
        const int64_t first_ns = (int64_t)(rng_unit(&p->rng) * (double)spread_ns);
        if (o->midway)
            live(s, i, first_ns);
        else
            ask_at(s, i, first_ns);
    }
    s->issued = s->begun = s->turns = 0;
    if (o->midway && !s->recalls)
        go_on(s, 0);
    *out = &s->base;
    return 0;
}
