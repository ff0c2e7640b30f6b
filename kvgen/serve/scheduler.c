/* scheduler.c - the scheduler of vLLM 0.33.0 (v1/core/sched/scheduler.py, async_scheduler.py in
 * their rules). Time and transfers are its caller's, blocks the cache's. */
#include "kvgen/serve/scheduler.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/memory.h"

struct queue {
    struct serve_request *first, *last;
    uint64_t count;
};
/* The parts of one step. */
struct plan {
    struct step_part *part;
    size_t parts, cap;
};

struct scheduler {
    struct scheduler_opts o;
    const struct kv_cache_ops *ops;
    struct kv_cache *cache;
    struct scheduler_listener listener;
    struct queue waiting, holding;
    struct serve_request **running; /* in the order of their admission */
    size_t runs, cap;
    struct queue ended;     /* since the last step was scheduled: the cache is yet to hear it */
    struct plan plan[3];    /* of the last steps, in turn */
    uint64_t step;          /* number of the last one that was scheduled */
    uint64_t told;          /* number of the last one whose outputs were told */
    uint64_t since_prefill; /* steps with tokens since the last one that computed a prompt */
    bool left_waiting;      /* the last admissions left some that could have been looked at */
};

struct scheduler *scheduler_create(const struct scheduler_opts *o, const struct kv_cache_ops *ops,
                                   struct kv_cache *cache, const struct scheduler_listener *l)
{
    struct scheduler *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->o = *o;
    s->ops = ops;
    s->cache = cache;
    s->listener = *l;
    s->since_prefill = o->prefill_interval;
    return s;
}

static void forget(struct scheduler *s, const struct queue *q)
{
    for (struct serve_request *r = q->first; r; r = r->next)
        s->ops->depart(s->cache, &r->kv);
}

void scheduler_free(struct scheduler *s)
{
    if (!s)
        return;
    forget(s, &s->waiting);
    forget(s, &s->holding);
    forget(s, &s->ended);
    for (uint64_t i = 0; i < s->runs; i++)
        s->ops->depart(s->cache, &s->running[i]->kv);
    for (int i = 0; i < 3; i++)
        free(s->plan[i].part);
    free(s->running);
    free(s);
}

/* ---- queues ---- */

static void queue_put(struct queue *q, struct serve_request *r, struct serve_request *before)
{
    r->next = before;
    r->prev = before ? before->prev : q->last;
    *(r->prev ? &r->prev->next : &q->first) = r;
    *(before ? &before->prev : &q->last) = r;
    q->count++;
}

static void queue_take(struct queue *q, struct serve_request *r)
{
    *(r->prev ? &r->prev->next : &q->first) = r->next;
    *(r->next ? &r->next->prev : &q->last) = r->prev;
    r->prev = r->next = NULL;
    q->count--;
}

/* Whether a is served before b. */
static bool goes_before(const struct serve_request *a, const struct serve_request *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a->kv.number < b->kv.number;
}

static void enqueue(struct scheduler *s, struct queue *q, struct serve_request *r, bool in_front)
{
    struct serve_request *before = in_front ? q->first : NULL;
    if (s->o.policy == SCHEDULER_PRIORITY) {
        struct serve_request *after = q->last;
        while (after && goes_before(r, after))
            after = after->prev;
        before = after ? after->next : q->first;
    }
    queue_put(q, r, before);
}

static void stop_running(struct scheduler *s, const struct serve_request *r)
{
    uint64_t i = 0;
    while (s->running[i] != r)
        i++;
    for (s->runs--; i < s->runs; i++)
        s->running[i] = s->running[i + 1];
}

static int reserve_running(struct scheduler *s)
{
    if (memory_room(&s->running, &s->cap, s->runs, sizeof(*s->running), 64) < 0)
        return -ENOMEM;
    return 0;
}

int scheduler_add(struct scheduler *s, struct serve_request *r)
{
    r->kv.known_tokens = r->kv.prompt_tokens;
    int rc = s->ops->arrive(s->cache, &r->kv);
    if (rc)
        return rc;
    r->state = SERVE_WAITING;
    enqueue(s, &s->waiting, r, false);
    return 0;
}

/* ---- a step ---- */

/* The step being decided. */
struct deciding {
    struct plan *plan;
    uint64_t left;  /* of the budget */
    uint64_t limit; /* of one request */
    bool defer;     /* prompts are not computed in this step */
    bool preempted;
    bool prefill; /* a part computes a prompt */
};

static int add_part(struct plan *p, const struct step_part *part)
{
    if (p->parts == p->cap) {
        if (memory_room(&p->part, &p->cap, p->parts, sizeof(*p->part), 64) < 0)
            return -ENOMEM;
    }
    p->part[p->parts++] = *part;
    return 0;
}

static uint64_t at_most(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Tokens that r is to compute, the outputs in flight included. */
static uint64_t open_tokens(const struct serve_request *r)
{
    return r->kv.known_tokens + r->in_flight - r->kv.computed_tokens;
}

/* The step's limit for one request. */
static uint64_t request_limit(const struct scheduler *s)
{
    const uint64_t requests = s->runs + s->waiting.count + s->holding.count;
    uint64_t limit = s->o.long_tokens;
    if (!limit || requests <= 1)
        return KV_NO_LIMIT;
    if (s->o.adaptive && s->o.step_tokens / requests > limit)
        limit = s->o.step_tokens / requests;
    return limit;
}

static bool is_prefill(const struct serve_request *r)
{
    return r->kv.computed_tokens < r->kv.prompt_tokens;
}

static bool something_decodes(const struct scheduler *s)
{
    for (uint64_t i = 0; i < s->runs; i++)
        if (!is_prefill(s->running[i]))
            return true;
    return false;
}

/* Takes the request's part, if it has one, out of the step and gives its tokens back. True: it had
 * one. */
static bool take_back(struct deciding *d, const struct serve_request *r)
{
    for (uint64_t i = 0; i < d->plan->parts; i++) {
        if (d->plan->part[i].request != r)
            continue;
        d->left += d->plan->part[i].tokens;
        for (d->plan->parts--; i < d->plan->parts; i++)
            d->plan->part[i] = d->plan->part[i + 1];
        return true;
    }
    return false;
}

/* Who gives way when a running request gets no room. */
static struct serve_request *victim(const struct scheduler *s)
{
    struct serve_request *v = s->running[s->runs - 1];
    if (s->o.policy == SCHEDULER_PRIORITY)
        for (uint64_t i = s->runs - 1; i-- > 0;)
            if (goes_before(v, s->running[i]))
                v = s->running[i];
    return v;
}

static void preempt(struct scheduler *s, struct serve_request *v)
{
    if (s->listener.preempted)
        s->listener.preempted(s->listener.ctx, v);
    stop_running(s, v);
    s->ops->preempted(s->cache, &v->kv);
    v->kv.computed_tokens = 0;
    v->quiet = 0;
    v->preemptions++;
    v->state = SERVE_PREEMPTED;
    enqueue(s, &s->waiting, v, true);
}

/* Makes room for r by preemption. False: it was preempted itself, or the victim may not be yet. *at
 * is r's place among the running ones. */
static bool extend_by_force(struct scheduler *s, struct deciding *d, uint64_t *at, uint64_t tokens)
{
    struct serve_request *r = s->running[*at];
    while (!s->ops->extend(s->cache, &r->kv, tokens)) {
        if (s->listener.refused)
            s->listener.refused(s->listener.ctx, r, true);
        struct serve_request *v = victim(s);
        if (s->o.async && s->o.connector && v->last_step > s->told)
            return false; /* its blocks may still be read or written */
        if (take_back(d, v))
            (*at)--;
        preempt(s, v);
        d->preempted = true;
        if (v == r)
            return false;
    }
    return true;
}

/* Tokens that the next decode step of r gives: with 1.8 a step 1, 2, 2, 2, 2, and again. */
static uint64_t next_decode(const struct scheduler *s, const struct serve_request *r)
{
    const uint64_t milli = s->o.milli_tokens, left = r->output_tokens - r->outputs - r->in_flight;
    const uint64_t tokens = (r->decodes + 1) * milli / 1000 - r->decodes * milli / 1000;
    return at_most(at_most(tokens, left), s->o.max_tokens - 1 - r->kv.computed_tokens);
}

/* Whether the next token of r comes of an answer's token. */
static bool decodes_next(const struct scheduler *s, const struct serve_request *r)
{
    return s->o.milli_tokens && !is_prefill(r) && open_tokens(r) == 1;
}

/* Tokens for a running request in this step. */
static uint64_t tokens_for(const struct scheduler *s, const struct deciding *d,
                           const struct serve_request *r)
{
    /* Nothing is computed for a token beyond the last one. */
    if (r->in_flight &&
        r->kv.computed_tokens + 2 - r->in_flight >= r->kv.prompt_tokens + r->output_tokens)
        return 0;
    if (d->defer && is_prefill(r))
        return 0;
    if (decodes_next(s, r))
        return at_most(next_decode(s, r), d->left);
    uint64_t tokens = at_most(at_most(open_tokens(r), d->limit), d->left);
    return at_most(tokens, s->o.max_tokens - 1 - r->kv.computed_tokens);
}

static int schedule_running(struct scheduler *s, struct deciding *d)
{
    for (uint64_t i = 0; i < s->runs && d->left; i++) {
        struct serve_request *r = s->running[i];
        if (r->quiet) {
            const struct step_part part = {.request = r, .tokens = 1, .quiet = true};
            if (add_part(d->plan, &part))
                return -ENOMEM;
            r->quiet--;
            d->left--;
            continue;
        }
        const uint64_t tokens = tokens_for(s, d, r);
        if (!tokens)
            continue;
        if (!extend_by_force(s, d, &i, tokens))
            break;
        const struct step_part part = {
            .request = r, .tokens = tokens, .decode = decodes_next(s, r)};
        if (add_part(d->plan, &part))
            return -ENOMEM;
        d->left -= tokens;
        d->prefill |= is_prefill(r);
    }
    return 0;
}

/* Room that requests under way still need for the tokens they have. */
static uint64_t promised(const struct scheduler *s)
{
    uint64_t room = 0;
    for (uint64_t i = 0; i < s->runs; i++)
        if (is_prefill(s->running[i]))
            room += s->ops->room_lacking(s->cache, &s->running[i]->kv);
    for (const struct serve_request *r = s->holding.first; r; r = r->next)
        room += s->ops->room_lacking(s->cache, &r->kv);
    return room;
}

enum attempt {
    ATTEMPT_DONE, /* admitted; the next one may follow */
    ATTEMPT_SKIP, /* not now, but those behind it */
    ATTEMPT_END,  /* nobody more in this step */
    ATTEMPT_FAILED
};

/* Tries to admit r, the head of q or behind some that were skipped. */
static enum attempt try_admit(struct scheduler *s, struct deciding *d, struct queue *q,
                              struct serve_request *r)
{
    struct kv_found found = {{0}, false, false};
    const bool is_loaded = r->state == SERVE_LOADED;
    if (r->state == SERVE_LOADING)
        return ATTEMPT_SKIP;
    if (is_loaded) {
        s->ops->loaded(s->cache, &r->kv);
    } else {
        const enum kv_look answer = s->ops->look_up(s->cache, &r->kv, &found);
        if (s->listener.looked_up)
            s->listener.looked_up(s->listener.ctx, r, answer, &found);
        if (answer != KV_FOUND)
            return ATTEMPT_SKIP;
    }
    const uint64_t before = r->kv.computed_tokens + found.tokens[TRACE_GPU] +
                            found.tokens[TRACE_CPU] + found.tokens[TRACE_STORAGE];
    uint64_t tokens = 0;
    if (!found.load_first) {
        tokens = at_most(r->kv.known_tokens - before, d->limit);
        if (!s->o.chunks && tokens > d->left)
            return ATTEMPT_END;
        tokens = at_most(tokens, d->left);
    }
    struct kv_room room = {.tokens = tokens, .whole = s->o.whole_prompts};
    if (s->runs)
        room.leave = (uint64_t)(s->o.watermark * (double)(s->ops->room(s->cache) + 1));
    if (found.load_first)
        room.promised = promised(s);
    if (reserve_running(s))
        return ATTEMPT_FAILED;
    if (!s->ops->admit(s->cache, &r->kv, &room)) {
        if (s->listener.refused)
            s->listener.refused(s->listener.ctx, r, false);
        return ATTEMPT_END;
    }
    queue_take(q, r);
    const enum admission_kind kind = is_loaded                     ? ADMITTED_LOADED
                                     : found.load_first            ? ADMITTED_TO_LOAD
                                     : r->state == SERVE_PREEMPTED ? ADMITTED_AGAIN
                                                                   : ADMITTED_NEW;
    if (s->listener.admitted)
        s->listener.admitted(s->listener.ctx, r, kind, &found);
    r->kv.computed_tokens = before;
    if (found.load_first) {
        r->state = SERVE_LOADING;
        enqueue(s, &s->holding, r, false);
        return ATTEMPT_DONE;
    }
    s->running[s->runs++] = r;
    r->state = SERVE_RUNNING;
    const struct step_part part = {.request = r, .tokens = tokens};
    d->left -= tokens;
    d->prefill |= is_prefill(r);
    return add_part(d->plan, &part) ? ATTEMPT_FAILED : ATTEMPT_DONE;
}

/* Admits from one queue. 1: the next queue may follow; 0: it may not; -ENOMEM. */
static int admit_from(struct scheduler *s, struct deciding *d, struct queue *q)
{
    for (struct serve_request *r = q->first, *next; r; r = next) {
        next = r->next;
        if (!d->left || s->runs == s->o.max_running)
            return 0;
        switch (try_admit(s, d, q, r)) {
        case ATTEMPT_DONE:
        case ATTEMPT_SKIP:
            break;
        case ATTEMPT_END:
            return 0;
        case ATTEMPT_FAILED:
            return -ENOMEM;
        }
    }
    return 1;
}

/* Output tokens of a part. */
static uint64_t given(const struct step_part *part)
{
    return part->decode ? part->tokens : part->output;
}

/* How many of the next steps give r, which decodes, a token and change nothing else. The last
 * tokens of an answer are told. */
static uint64_t quiet_steps(const struct scheduler *s, const struct serve_request *r)
{
    const uint64_t computed = r->kv.computed_tokens;
    const uint64_t last = at_most(r->kv.prompt_tokens + r->output_tokens, s->o.max_tokens);
    if (!s->ops->quiet_until || s->o.milli_tokens || last < computed + 3)
        return 0;
    const uint64_t until = at_most(s->ops->quiet_until(s->cache, &r->kv), last - 3);
    return until > computed ? until - computed : 0;
}

/* The cache hears what the step computes, and forgets who ended before it. */
static int build(struct scheduler *s, const struct plan *p)
{
    for (uint64_t i = 0; i < p->parts; i++)
        if (!p->part[i].quiet)
            s->ops->scheduled(s->cache, &p->part[i].request->kv, p->part[i].tokens);
    int rc = s->ops->step_built(s->cache);
    for (struct serve_request *r; !rc && (r = s->ended.first);) {
        queue_take(&s->ended, r);
        s->ops->depart(s->cache, &r->kv);
        if (s->listener.gone)
            s->listener.gone(s->listener.ctx, r);
    }
    for (uint64_t i = 0; i < p->parts; i++) {
        struct step_part *part = &p->part[i];
        struct serve_request *r = part->request;
        part->before = r->kv.computed_tokens;
        if (part->quiet) { /* most are: one token, which the next step knows or has in flight */
            r->kv.computed_tokens++;
            part->output = true;
            r->in_flight += s->o.async;
            r->last_step = s->step;
            continue;
        }
        r->kv.computed_tokens += part->tokens;
        part->output = part->decode || open_tokens(r) == 0;
        r->decodes += part->decode;
        if (s->o.async)
            r->in_flight += given(part);
        r->last_step = s->step;
        if (part->output && r->outputs)
            r->quiet = quiet_steps(s, r);
    }
    return rc;
}

int scheduler_schedule(struct scheduler *s, struct step *out)
{
    s->step++;
    struct deciding d = {
        .plan = &s->plan[s->step % 3], .left = s->o.step_tokens, .limit = request_limit(s)};
    d.plan->parts = 0;
    d.defer = s->since_prefill < s->o.prefill_interval && !s->left_waiting && something_decodes(s);
    int rc = schedule_running(s, &d);
    if (!rc && !d.preempted && !d.defer) {
        rc = admit_from(s, &d, &s->holding);
        if (rc == 1)
            rc = admit_from(s, &d, &s->waiting);
        s->left_waiting = s->waiting.count || s->holding.count;
    }
    if (d.plan->parts)
        s->since_prefill = d.prefill ? 1 : s->since_prefill + 1;
    if (rc >= 0)
        rc = build(s, d.plan);
    *out = (struct step){d.plan->part, d.plan->parts, s->step};
    return rc;
}

void scheduler_outputs(struct scheduler *s, const struct step *step)
{
    s->told = step->number;
    for (uint64_t i = 0; i < step->parts; i++) {
        struct serve_request *r = step->part[i].request;
        if (step->part[i].quiet && r->state == SERVE_RUNNING) {
            r->outputs++;
            r->kv.known_tokens++;
            r->in_flight -= s->o.async;
            continue;
        }
        const uint64_t tokens = given(&step->part[i]);
        if (!tokens)
            continue;
        r->outputs += tokens;
        r->kv.known_tokens += tokens;
        if (r->in_flight)
            r->in_flight -= tokens;
        if (s->o.async && r->state == SERVE_RUNNING)
            s->ops->computed(s->cache, &r->kv, r->kv.computed_tokens - r->in_flight);
        if (r->outputs == r->output_tokens) {
            if (r->state == SERVE_RUNNING) {
                stop_running(s, r);
                s->ops->finished(s->cache, &r->kv);
            } else {
                queue_take(&s->waiting, r);
                s->ops->finished(s->cache, &r->kv);
            }
            r->state = SERVE_DONE;
            queue_put(&s->ended, r, NULL);
        }
        if (s->listener.output)
            s->listener.output(s->listener.ctx, r);
    }
    if (s->ops->step_done)
        s->ops->step_done(s->cache);
}

void scheduler_loaded(struct scheduler *s, struct serve_request *r)
{
    (void)s;
    if (r->kv.loads)
        return;
    r->state = SERVE_LOADED;
    /* The last known token is always computed, for its output. */
    if (r->kv.computed_tokens == r->kv.known_tokens)
        r->kv.computed_tokens--;
}

bool scheduler_has_work(const struct scheduler *s)
{
    return s->runs || s->waiting.count || s->holding.count || s->ended.count ||
           s->ops->busy(s->cache);
}

bool scheduler_is_stuck(const struct scheduler *s)
{
    const struct serve_request *r = s->waiting.first;
    if (s->runs || s->holding.count || s->ended.count || !r)
        return false;
    while (r && r->kv.endless)
        r = r->next;
    return !r;
}

uint64_t scheduler_running(const struct scheduler *s)
{
    return s->runs;
}

const struct serve_request *scheduler_waiting(const struct scheduler *s)
{
    return s->waiting.first;
}

const struct serve_request *scheduler_holding(const struct scheduler *s)
{
    return s->holding.first;
}
