/* queue.c - between the source and the workers: one line per quality of service. Requests enter in
 * order of arrival, so the line of the highest priority that holds any has the next one in front.
 * Millions may wait where users do not: each takes 64 bytes, and memory goes back as they leave.
 */
#include "kvgen/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
    CLASSES = 3,
    SEGMENT = 256
};

/* A request without what its line and kind say of it. */
struct waiting {
    uint64_t number;
    int64_t arrival_ns;
    union {
        struct ident object; /* of a request that is no query */
        uint64_t picks;      /* of a query, whose object is its document */
        struct {
            const uint64_t *blocks;
            uint32_t block_count, block_tokens;
        };
    };
    uint32_t context_tokens, generated_tokens;
    uint32_t user, turn, slot;
    int32_t prompt;
    union {
        uint32_t document;
        uint32_t block_scope;
    };
    bool of_blocks;
};
_Static_assert(sizeof(struct waiting) == 64, "a waiting request");
_Static_assert(REQUEST_MAX_TOKENS <= UINT32_MAX, "tokens of a waiting request");

struct segment {
    struct segment *next;
    struct waiting item[SEGMENT];
};

struct line {
    struct segment *first, *last;
    uint32_t head, tail; /* the next out of first, the next free of last */
    uint64_t count;
    int64_t priority;
};

struct queue {
    struct line line[CLASSES]; /* by enum trace_qos */
    struct segment *spare;     /* or NULL */
};

static void pack(struct waiting *restrict w, const struct request *restrict r)
{
    assert(r->context_tokens >= 0 && r->context_tokens <= REQUEST_MAX_TOKENS);
    assert(r->generated_tokens >= 0 && r->generated_tokens <= REQUEST_MAX_TOKENS);
    w->number = r->number;
    w->arrival_ns = r->arrival_ns;
    w->context_tokens = (uint32_t)r->context_tokens;
    w->generated_tokens = (uint32_t)r->generated_tokens;
    w->user = r->user;
    w->turn = r->turn;
    w->slot = r->slot;
    w->prompt = r->prompt;
    w->of_blocks = r->blocks != NULL;
    if (w->of_blocks) {
        w->blocks = r->blocks;
        w->block_count = r->block_count;
        w->block_tokens = r->block_tokens;
        w->block_scope = r->block_scope;
        return;
    }
    w->document = r->document;
    if (r->document > 0)
        w->picks = r->picks;
    else
        w->object = r->object;
}

static void unpack(struct request *restrict r, const struct waiting *restrict w, uint8_t qos)
{
    *r = (struct request){.number = w->number,
                          .arrival_ns = w->arrival_ns,
                          .user = w->user,
                          .qos = qos,
                          .prompt = w->prompt,
                          .turn = w->turn,
                          .context_tokens = w->context_tokens,
                          .generated_tokens = w->generated_tokens,
                          .slot = w->slot};
    if (w->of_blocks) {
        r->blocks = w->blocks;
        r->block_count = w->block_count;
        r->block_tokens = w->block_tokens;
        r->block_scope = w->block_scope;
        return;
    }
    r->document = w->document;
    if (w->document > 0) {
        r->picks = w->picks;
        r->object = ident_document(w->document - 1);
    } else {
        r->object = w->object;
    }
}

struct queue *queue_create(const int64_t priority[3])
{
    struct queue *q = calloc(1, sizeof *q);
    for (int i = 0; q != NULL && i < CLASSES; i++)
        q->line[i].priority = priority[i];
    return q;
}

void queue_free(struct queue *q)
{
    if (q == NULL)
        return;
    free(q->spare);
    for (int i = 0; i < CLASSES; i++)
        for (struct segment *s = q->line[i].first, *next; s != NULL; s = next) {
            next = s->next;
            free(s);
        }
    free(q);
}

static int add_segment(struct queue *q, struct line *l)
{
    struct segment *s = q->spare != NULL ? q->spare : malloc(sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    q->spare = NULL;
    s->next = NULL;
    if (l->last != NULL)
        l->last->next = s;
    else
        l->first = s;
    l->last = s;
    l->tail = 0;
    return 0;
}

static void drop_segment(struct queue *q, struct line *l)
{
    struct segment *s = l->first;
    l->first = s->next;
    l->head = 0;
    if (q->spare == NULL)
        q->spare = s;
    else
        free(s);
}

int queue_push(struct queue *q, const struct request *r)
{
    struct line *l = &q->line[r->qos];
    if ((l->last == NULL || l->tail == SEGMENT) && add_segment(q, l) < 0)
        return -ENOMEM;
    pack(&l->last->item[l->tail++], r);
    l->count++;
    return 0;
}

/* Lines of equal priority share it: the earlier submission goes first. */
static bool goes_before(const struct line *a, const struct line *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    return a->first->item[a->head].number < b->first->item[b->head].number;
}

bool queue_pop(struct queue *q, struct request *out)
{
    struct line *best = NULL;
    for (int i = 0; i < CLASSES; i++)
        if (q->line[i].count > 0 && (best == NULL || goes_before(&q->line[i], best)))
            best = &q->line[i];
    if (best == NULL)
        return false;
    unpack(out, &best->first->item[best->head++], (uint8_t)(best - q->line));
    if (--best->count == 0)
        best->head = best->tail = 0;
    else if (best->head == SEGMENT)
        drop_segment(q, best);
    return true;
}

uint64_t queue_length(const struct queue *q)
{
    uint64_t n = 0;
    for (int i = 0; i < CLASSES; i++)
        n += q->line[i].count;
    return n;
}
