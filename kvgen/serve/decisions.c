/* decisions.c - names of blocks, and what is said of them as texts (decision_line.c). It decides
 * nothing. */
#include "kvgen/serve/decisions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kvgen/cache/id_table.h"
#include "kvgen/cache/vllm_host.h"
#include "kvgen/cache/vllm_offload.h"
#include "lib/base/memory.h"

#define NO_PART UINT32_MAX

/* How a block is called. */
struct block_name {
    uint64_t of; /* an id, or a request's number */
    uint32_t at; /* of a request: the block; of an id: the part of it, or NO_PART: it is all */
    bool is_id;
    uint8_t group;
};

/* An entry [request,[names...]] that more names may follow; compact: [request,names]. */
struct entry {
    const struct kv_request *request; /* NULL: none is open */
    uint64_t names;
};

/* A transfer under way: the cache's id, and the number that it has here. */
struct transfer_number {
    uint64_t id, number;
    enum kv_transfer_kind kind;
};

struct decisions {
    struct decisions_opts o;
    struct decision_line now;
    struct decision_line freed; /* names of the call that frees blocks, under DECISION_FR */
    uint64_t freed_empty, freed_cached, freed_in_use;
    bool freeing, failed;
    struct id_table keys;    /* of blocks */
    struct block_name *name; /* by number of the key */
    uint32_t names_cap;
    struct entry open[DECISION_KEYS]; /* of lists by request */
    uint64_t cached;                  /* compact: blocks that became cached */
    struct transfer_number *transfer;
    size_t transfers, transfers_cap;
    uint64_t numbers, tier_numbers; /* given to transfers so far */
};

struct decisions *decisions_create(const struct decisions_opts *o)
{
    struct decisions *d = calloc(1, sizeof(*d));
    if (d)
        d->o = *o;
    return d;
}

void decisions_free(struct decisions *d)
{
    if (!d)
        return;
    decision_line_free(&d->now);
    decision_line_free(&d->freed);
    id_table_free(&d->keys);
    free(d->name);
    free(d->transfer);
    free(d);
}

/* ---- names ---- */

static struct block_name name_of(const struct decisions *d, const struct kv_request *r,
                                 const struct decisions_ids *ids, uint64_t block)
{
    const uint64_t end = (block + 1) * d->o.block_tokens;
    if (!ids->count || end > r->prompt_tokens)
        return (struct block_name){.of = r->number, .at = (uint32_t)block};
    const uint64_t id = (end - 1) / ids->tokens;
    if (id >= ids->count || (id + 1) * ids->tokens > r->prompt_tokens)
        return (struct block_name){.of = r->number, .at = (uint32_t)block};
    const bool whole = ids->tokens <= d->o.block_tokens;
    const uint64_t part = (end - 1) % ids->tokens / d->o.block_tokens;
    return (struct block_name){ids->id[id], whole ? NO_PART : (uint32_t)part, true, 0};
}

int decisions_name(struct decisions *d, const struct kv_request *r, const struct decisions_ids *ids)
{
    const uint64_t blocks = chain_tokens(&r->chain) / d->o.block_tokens;
    for (uint32_t g = 0; g < d->o.groups; g++) {
        struct chain_walk w = {.chain = &r->chain, .key = chain_root(g)};
        for (uint64_t b = 0; b < blocks; b++) {
            const uint64_t key = chain_key(&w, (b + 1) * d->o.block_tokens);
            if (id_table_find(&d->keys, key) != ID_NONE)
                continue;
            struct block_name *grown =
                id_table_reserve_item(&d->keys, d->name, &d->names_cap, sizeof(*grown));
            if (!grown)
                return -ENOMEM;
            d->name = grown;
            struct block_name *n = &d->name[id_table_add(&d->keys, key)];
            *n = name_of(d, r, ids, b);
            n->group = (uint8_t)g;
        }
    }
    return 0;
}

static void add_name(const struct decisions *d, struct decision_line *to, enum decision_key k,
                     uint64_t key, const char *mark)
{
    const uint32_t number = id_table_find(&d->keys, key);
    char group[16] = "", part[16] = "";
    decision_comma(to, k);
    if (number == ID_NONE) {
        decision_add(to, k, "\"?\"");
        return;
    }
    const struct block_name *n = &d->name[number];
    if (d->o.groups > 1)
        snprintf(group, sizeof(group), "@g%u", n->group);
    if (n->is_id && n->at != NO_PART)
        snprintf(part, sizeof(part), ".%u", n->at);
    if (n->is_id)
        decision_add(to, k, "\"h%llu%s%s%s\"", (unsigned long long)n->of, part, group, mark);
    else
        decision_add(to, k, "\"r%llu.b%u%s%s\"", (unsigned long long)n->of, n->at, group, mark);
}

static void add_number(struct decisions *d, enum decision_key k, uint64_t n)
{
    decision_comma(&d->now, k);
    decision_add(&d->now, k, "%llu", (unsigned long long)n);
}

void decisions_arrived(struct decisions *d, const struct kv_request *r)
{
    add_number(d, DECISION_ARR, r->number);
}

/* ---- what the cache says ---- */

/* Ends the entry of one call that frees blocks. */
static void end_freeing(struct decisions *d)
{
    if (!d->freeing)
        return;
    d->freeing = false;
    const struct decision_text *names = &d->freed.key[DECISION_FR];
    decision_comma(&d->now, DECISION_FR);
    decision_add(&d->now, DECISION_FR, "[%llu,", (unsigned long long)d->freed_empty);
    if (d->o.compact)
        decision_add(&d->now, DECISION_FR, "%llu", (unsigned long long)d->freed_cached);
    else
        decision_add(&d->now, DECISION_FR, "[%.*s]", (int)names->len,
                     names->len ? names->text : "");
    decision_add(&d->now, DECISION_FR, ",%llu]", (unsigned long long)d->freed_in_use);
}

static void close_entry(struct decisions *d, enum decision_key k)
{
    struct entry *e = &d->open[k];
    if (e->request && d->o.compact)
        decision_add(&d->now, k, "%llu]", (unsigned long long)e->names);
    else if (e->request)
        decision_add(&d->now, k, "]]");
    *e = (struct entry){0};
}

/* A name in the entry of its request. */
static void add_to_entry(struct decisions *d, enum decision_key k, const struct kv_event *ev)
{
    struct entry *e = &d->open[k];
    if (e->request != ev->request) {
        close_entry(d, k);
        e->request = ev->request;
        decision_comma(&d->now, k);
        decision_add(&d->now, k, d->o.compact ? "[%u," : "[%u,[", ev->request->number);
    }
    e->names++;
    if (!d->o.compact)
        add_name(d, &d->now, k, ev->key, "");
}

static void add_asked(struct decisions *d, const struct kv_event *e, const char *answer)
{
    decision_comma(&d->now, DECISION_TQ);
    decision_add(&d->now, DECISION_TQ, "[%u", e->request->number);
    add_name(d, &d->now, DECISION_TQ, e->key, "");
    decision_add(&d->now, DECISION_TQ, ",\"%s\"]", answer);
}

static void add_freed(struct decisions *d, const struct kv_event *e)
{
    switch (e->kind) {
    case KV_FREEING:
        end_freeing(d);
        d->freeing = true;
        d->freed_empty = d->freed_cached = d->freed_in_use = 0;
        decision_line_clear(&d->freed);
        break;
    case KV_FREED_EMPTY:
        d->freed_empty++;
        break;
    case KV_FREED_IN_USE:
        d->freed_in_use++;
        break;
    default:
        d->freed_cached++;
        add_name(d, &d->freed, DECISION_FR, e->key, "");
    }
}

void decisions_event(struct decisions *d, const struct kv_event *e)
{
    switch (e->kind) {
    case KV_CACHED:
        if (d->o.compact)
            d->cached++;
        else
            add_name(d, &d->now, DECISION_GC, e->key, "");
        break;
    case KV_DROPPED:
        if (e->tier != TRACE_STORAGE)
            add_name(d, &d->now, e->tier == TRACE_GPU ? DECISION_GEV : DECISION_CEV, e->key,
                     e->twin ? "*" : "");
        break;
    case KV_FREEING:
    case KV_FREED_EMPTY:
    case KV_FREED_IN_USE:
    case KV_FREED:
        add_freed(d, e);
        break;
    case KV_KNOWN:
        add_to_entry(d, DECISION_STSKIP, e);
        break;
    case KV_REFUSED:
        add_to_entry(d, DECISION_STFAIL, e);
        break;
    case KV_ASKED:
        add_asked(d, e, "RETRY");
        break;
    case KV_HIT:
        add_asked(d, e, "HIT");
        break;
    case KV_MISS:
        add_asked(d, e, "MISS");
        break;
    case KV_PROMOTED:
        add_to_entry(d, DECISION_PROMO, e);
        close_entry(d, DECISION_PROMO);
        break;
    case KV_NOT_PROMOTED:
        add_to_entry(d, DECISION_PROMOFAIL, e);
        close_entry(d, DECISION_PROMOFAIL);
        break;
    default:
        break;
    }
}

static bool is_with_gpu(enum kv_transfer_kind kind)
{
    return kind == KV_STORE || kind == KV_LOAD;
}

void decisions_transfer(struct decisions *d, const struct kv_transfer *t)
{
    static const enum decision_key keys[] = {[KV_STORE] = DECISION_ST,
                                             [KV_LOAD] = DECISION_LD,
                                             [KV_PROMOTE] = DECISION_TL,
                                             [KV_WRITE] = DECISION_TS};
    if (memory_room(&d->transfer, &d->transfers_cap, d->transfers, sizeof(*d->transfer), 64) < 0) {
        d->failed = true;
        return;
    }
    const enum decision_key k = keys[t->kind];
    const bool gpu = is_with_gpu(t->kind);
    const uint64_t number = gpu ? d->numbers++ : d->tier_numbers++;
    d->transfer[d->transfers++] = (struct transfer_number){t->id, number, t->kind};
    decision_comma(&d->now, k);
    decision_add(&d->now, k, gpu ? "[%llu,%u,[" : "[0,%llu,[", (unsigned long long)number,
                 t->request ? t->request->number : 0);
    for (uint64_t i = 0; i < t->count; i++)
        add_name(d, &d->now, k, t->keys[i], "");
    decision_add(&d->now, k, t->in_step ? "],\"sync\"]" : "]]");
}

/* The transfer with that id; NULL: there is none. */
static struct transfer_number *find_transfer(const struct decisions *d, uint64_t id)
{
    for (size_t i = 0; i < d->transfers; i++)
        if (d->transfer[i].id == id)
            return &d->transfer[i];
    return NULL;
}

void decisions_flush(struct decisions *d, uint64_t id)
{
    const struct transfer_number *t = find_transfer(d, id);
    if (t)
        add_number(d, DECISION_FLUSH, t->number);
}

void decisions_transfer_done(struct decisions *d, uint64_t id)
{
    const struct transfer_number *t = find_transfer(d, id);
    if (!t)
        return;
    const enum decision_key k = is_with_gpu(t->kind) ? DECISION_XD : DECISION_TD;
    decision_comma(&d->now, k);
    if (k == DECISION_XD)
        decision_add(&d->now, k, "[%llu,\"%c\"]", (unsigned long long)t->number,
                     t->kind == KV_STORE ? 's' : 'l');
    else
        decision_add(&d->now, k, "[0,%llu,true]", (unsigned long long)t->number);
}

void decisions_transfer_over(struct decisions *d, uint64_t id)
{
    struct transfer_number *t = find_transfer(d, id);
    if (t)
        *t = d->transfer[--d->transfers];
}

/* ---- what the scheduler says ---- */

void decisions_looked_up(struct decisions *d, const struct serve_request *r, enum kv_look answer,
                         const struct kv_found *found)
{
    if (!d->o.connected)
        return;
    decision_comma(&d->now, DECISION_XQ);
    decision_add(&d->now, DECISION_XQ, "[%u,%llu,", r->kv.number,
                 (unsigned long long)found->tokens[TRACE_GPU]);
    if (answer == KV_FOUND)
        decision_add(&d->now, DECISION_XQ, "%llu]",
                     (unsigned long long)(found->tokens[TRACE_CPU] + found->tokens[TRACE_STORAGE]));
    else
        decision_add(&d->now, DECISION_XQ, answer == KV_OWN_TRANSFERS ? "\"busy\"]" : "\"defer\"]");
}

void decisions_admitted(struct decisions *d, const struct serve_request *r,
                        enum admission_kind kind, const struct kv_found *found)
{
    static const char *const kinds[] = {[ADMITTED_NEW] = "new",
                                        [ADMITTED_AGAIN] = "resume",
                                        [ADMITTED_TO_LOAD] = "load",
                                        [ADMITTED_LOADED] = "loaded"};
    decision_comma(&d->now, DECISION_ADM);
    decision_add(&d->now, DECISION_ADM, "[%u,\"%s\",%llu,%llu,%llu]", r->kv.number, kinds[kind],
                 (unsigned long long)found->tokens[TRACE_GPU],
                 (unsigned long long)(found->tokens[TRACE_CPU] + found->tokens[TRACE_STORAGE]),
                 (unsigned long long)r->kv.computed_tokens);
}

void decisions_refused(struct decisions *d, const struct serve_request *r, bool running,
                       uint64_t room_free)
{
    decision_comma(&d->now, DECISION_NOFIT);
    decision_add(&d->now, DECISION_NOFIT, "[%u,\"%s\",%llu]", r->kv.number, running ? "r" : "w",
                 (unsigned long long)room_free);
}

void decisions_preempted(struct decisions *d, const struct serve_request *r)
{
    decision_comma(&d->now, DECISION_PRE);
    decision_add(&d->now, DECISION_PRE, "[%u,%llu,%llu]", r->kv.number,
                 (unsigned long long)r->kv.computed_tokens, (unsigned long long)r->outputs);
}

void decisions_output(struct decisions *d, const struct serve_request *r)
{
    if (r->outputs == 1)
        add_number(d, DECISION_FIRST, r->kv.number);
    if (r->state == SERVE_DONE)
        add_number(d, DECISION_FIN, r->kv.number);
}

void decisions_step(struct decisions *d, const struct step *step, const struct scheduler *s,
                    uint64_t room_free)
{
    for (uint64_t i = 0; i < step->parts; i++) {
        const struct step_part *p = &step->part[i];
        if (d->o.compact && p->tokens == 1 && p->before >= p->request->kv.prompt_tokens) {
            add_number(d, DECISION_DEC, p->request->kv.number);
            continue;
        }
        decision_comma(&d->now, DECISION_SCH);
        decision_add(&d->now, DECISION_SCH, "[%u,%llu,%llu]", p->request->kv.number,
                     (unsigned long long)p->tokens, (unsigned long long)p->before);
    }
    add_number(d, DECISION_FREE, room_free);
    add_number(d, DECISION_RUN, scheduler_running(s));
    uint64_t waiting = 0;
    for (const struct serve_request *r = scheduler_waiting(s); r; r = r->next, waiting++)
        if (!d->o.compact)
            add_number(d, DECISION_WAIT, r->kv.number);
    if (d->o.compact)
        add_number(d, DECISION_WAIT, waiting);
    for (const struct serve_request *r = scheduler_holding(s); r; r = r->next)
        add_number(d, DECISION_HOLD, r->kv.number);
}

/* Chunks in host memory; of ARC its four lists and its target. */
static void add_host(struct decisions *d, const struct kv_below *below)
{
    struct vllm_host_counts n;
    vllm_offload_count(below, &n);
    if (!n.arc) {
        add_number(d, DECISION_CPU, n.chunks);
        return;
    }
    for (int i = 0; i < 4; i++)
        add_number(d, DECISION_CPU, n.list[i]);
    char text[40];
    int len = snprintf(text, sizeof(text), "%.6f", n.target);
    while (text[len - 1] == '0')
        len--;
    decision_add(&d->now, DECISION_CPU, ",%.*s", text[len - 1] == '.' ? len - 1 : len, text);
}

void decisions_end(struct decisions *d, const struct kv_below *below, uint64_t room_free)
{
    add_number(d, DECISION_FREE_END, room_free);
    if (below)
        add_host(d, below);
    end_freeing(d);
    for (int k = 0; k < DECISION_KEYS; k++)
        close_entry(d, (enum decision_key)k);
    if (d->o.compact && d->cached)
        add_number(d, DECISION_GC, d->cached);
    d->cached = 0;
}

struct decision_line *decisions_line(struct decisions *d)
{
    return &d->now;
}

uint64_t decisions_lone(const struct decisions *d)
{
    const uint64_t always = UINT64_C(1) << DECISION_RUN | UINT64_C(1) << DECISION_FREE |
                            UINT64_C(1) << DECISION_FREE_END | UINT64_C(1) << DECISION_CPU;
    const uint64_t counts = UINT64_C(1) << DECISION_WAIT | UINT64_C(1) << DECISION_GC;
    return d->o.compact ? always | counts : always;
}

bool decisions_failed(const struct decisions *d)
{
    return d->failed || d->now.failed || d->freed.failed;
}
