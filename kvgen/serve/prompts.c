/* prompts.c - remembers conversations, so that a turn's chain begins with the turns before it. The
 * chains are read by the caches (kvgen/cache), which cut them into blocks. */
#include "kvgen/serve/prompts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/cache/id_table.h"
#include "lib/base/hash.h"
#include "lib/base/memory.h"

#define NOBODY UINT32_MAX

/* The kind of a piece, for its content. */
enum part {
    PART_BLOCK = 1,
    PART_SYSTEM,
    PART_OWN,
    PART_ANSWER,
    PART_SHARED,
    PART_APART
};

/* A conversation so far. */
struct conversation {
    struct chain_piece *piece;
    uint8_t *class;
    uint32_t pieces, cap;
    uint32_t prev, next; /* by the time of the last turn */
};

struct prompts {
    const struct workload *workload;
    bool shared, apart;
    struct id_table names;             /* of conversations */
    struct conversation *conversation; /* by number */
    uint32_t cap, first, last;         /* first: asked least recently */
};

struct prompts *prompts_create(const struct workload *w, bool shared, bool apart)
{
    struct prompts *p = calloc(1, sizeof(*p));
    if (p)
        *p = (struct prompts){
            .workload = w, .shared = shared, .apart = apart, .first = NOBODY, .last = NOBODY};
    return p;
}

void prompts_free(struct prompts *p)
{
    if (!p)
        return;
    for (uint32_t i = p->first; i != NOBODY; i = p->conversation[i].next) {
        free(p->conversation[i].piece);
        free(p->conversation[i].class);
    }
    free(p->conversation);
    id_table_free(&p->names);
    free(p);
}

static uint64_t content(enum part part, uint64_t a, uint64_t b)
{
    const uint64_t words[3] = {(uint64_t)part, a, b};
    return hash_64(words, sizeof(words));
}

/* ---- conversations ---- */

static void take_out(struct prompts *p, uint32_t n)
{
    const struct conversation *c = &p->conversation[n];
    *(c->prev != NOBODY ? &p->conversation[c->prev].next : &p->first) = c->next;
    *(c->next != NOBODY ? &p->conversation[c->next].prev : &p->last) = c->prev;
}

static void put_last(struct prompts *p, uint32_t n)
{
    struct conversation *c = &p->conversation[n];
    c->prev = p->last;
    c->next = NOBODY;
    *(p->last != NOBODY ? &p->conversation[p->last].next : &p->first) = n;
    p->last = n;
}

static void forget_first(struct prompts *p)
{
    const uint32_t n = p->first;
    take_out(p, n);
    free(p->conversation[n].piece);
    free(p->conversation[n].class);
    id_table_remove(&p->names, n);
}

/* The conversation with that name, now the one asked last. NULL: no memory. */
static struct conversation *find(struct prompts *p, uint64_t name)
{
    uint32_t n = id_table_find(&p->names, name);
    if (n != ID_NONE) {
        take_out(p, n);
        put_last(p, n);
        return &p->conversation[n];
    }
    if (p->names.count == PROMPTS_CONVERSATIONS)
        forget_first(p);
    struct conversation *grown =
        id_table_reserve_item(&p->names, p->conversation, &p->cap, sizeof(*grown));
    if (!grown)
        return NULL;
    p->conversation = grown;
    n = id_table_add(&p->names, name);
    p->conversation[n] = (struct conversation){.prev = NOBODY};
    put_last(p, n);
    return &p->conversation[n];
}

static int append(struct conversation *c, uint64_t what, uint64_t tokens, enum trace_class class)
{
    if (c->pieces == c->cap) {
        const uint32_t cap = c->cap ? 2 * c->cap : 8;
        if (memory_resize(&c->piece, cap, sizeof(*c->piece)) < 0 ||
            memory_resize(&c->class, cap, 1) < 0)
            return -ENOMEM;
        c->cap = cap;
    }
    c->piece[c->pieces] = (struct chain_piece){what, tokens};
    c->class[c->pieces++] = (uint8_t) class;
    return 0;
}

/* ---- the parts of a request ---- */

static int append_blocks(struct conversation *c, const struct request *r)
{
    uint64_t left = (uint64_t)r->context_tokens;
    int rc = 0;
    for (uint32_t i = 0; i < r->block_count && left >= r->block_tokens && !rc; i++) {
        rc = append(c, content(PART_BLOCK, r->block_scope, r->blocks[i]), r->block_tokens,
                    TRACE_BLOCK);
        left -= r->block_tokens;
    }
    return rc || !left ? rc : append(c, content(PART_OWN, r->number, 0), left, TRACE_BLOCK);
}

/* The system prompt, if the chain is to begin with one, and the request's own tokens. */
static int append_own(const struct prompts *p, struct conversation *c, const struct request *r)
{
    const struct workload *w = p->workload;
    const bool begins = p->shared && r->prompt >= 0 && c->pieces == 0;
    const int64_t own = workload_own_tokens(w, r->context_tokens, begins ? r->prompt : -1);
    int rc = 0;
    if (r->shared && c->pieces == 0)
        rc = append(c, content(PART_SHARED, r->shared, 0), r->shared_tokens, TRACE_SYSTEM);
    if (begins && w->prompt_tokens[r->prompt] > 0)
        rc = append(c, content(PART_SYSTEM, (uint64_t)r->prompt, 0),
                    (uint64_t)w->prompt_tokens[r->prompt], TRACE_SYSTEM);
    return rc ? rc
              : append(c, content(PART_OWN, r->number, 0), own > 0 ? (uint64_t)own : 1, TRACE_USER);
}

/* The chain so far as one request has it. */
static int copy(const struct conversation *c, struct prompt *out)
{
    struct chain_piece *piece = malloc(c->pieces * sizeof(*piece));
    uint8_t *class = malloc(c->pieces);
    if (!piece || !class) {
        free(piece);
        free(class);
        return -ENOMEM;
    }
    memcpy(piece, c->piece, c->pieces * sizeof(*piece));
    memcpy(class, c->class, c->pieces);
    out->class = class;
    out->chain.pieces = piece;
    out->chain.count = c->pieces;
    out->tokens = chain_tokens(&out->chain) - piece[c->pieces - 1].tokens;
    return 0;
}

int prompts_take(struct prompts *p, const struct request *r, uint64_t answer_tokens,
                 struct prompt *out)
{
    struct conversation alone = {0}, *c = &alone;
    const bool blocks = r->blocks != NULL, turn = !blocks && r->turn > 0;
    if (turn) {
        const struct ident name = ident_other_turn(r->object, 0);
        c = find(p, content(PART_OWN, name.hi, name.lo));
        if (!c)
            return -ENOMEM;
        if (r->turn == 1) /* the name is used again, for instance by a further cycle */
            c->pieces = 0;
        for (uint32_t i = 0; i < c->pieces; i++)
            if (c->class[i] != TRACE_SYSTEM)
                c->class[i] = TRACE_MULTI_TURN;
    }
    int rc = blocks ? append_blocks(c, r) : append_own(p, c, r);
    if (!rc)
        rc = append(c, content(PART_ANSWER, r->number, 0), answer_tokens,
                    blocks ? TRACE_BLOCK : TRACE_USER);
    if (!rc)
        rc = copy(c, out);
    if (!rc && p->apart)
        ((struct chain_piece *)out->chain.pieces)->content = content(PART_APART, r->number, 0);
    free(alone.piece);
    free(alone.class);
    return rc;
}

void prompt_free(struct prompt *p)
{
    free((struct chain_piece *)p->chain.pieces);
    free(p->class);
    *p = (struct prompt){0};
}
