/* queue.c - between the source and the workers: one line per quality of service. Requests enter in
 * order of arrival, so the line of the highest priority that holds any has the next one in front.
 * Millions may wait where users do not: what waits is packed into some 20 bytes, by what tells it
 * from the one before it, and memory goes back as they leave. */
#include "kvgen/sim/queue.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLASSES = 3,
    NEAR = 16,
    SEGMENT_BYTES = 8192,
    NUMBERS = 8,                            /* that are packed at once */
    MOST_BYTES = 2 * (4 + 8 * NUMBERS) + 8, /* of a packed request, and beyond it touched */
    NS_PER_MS = 1000000
};

/* What a packed request names. */
enum names {
    A_TURN,    /* of its user's conversation */
    ITSELF,    /* the object of its user and number */
    AN_OBJECT, /* of any other kind */
    BLOCKS,
    A_DOCUMENT
};

struct segment {
    struct segment *next;
    uint8_t byte[SEGMENT_BYTES - sizeof(struct segment *)];
};

/* Where a line is packed to, or unpacked from, and the request before that. */
struct end {
    uint8_t *at; /* NULL: no segment yet */
    uint64_t number;
    int64_t arrival_ns;
};

/* The nearest ones wait as they are, since most do not wait long, those behind them packed. */
struct line {
    struct request near[NEAR]; /* a ring */
    uint32_t near_first, near_count;
    struct segment *first, *last;
    struct end out, in; /* in first, in last */
    uint64_t packed;
    int64_t priority;
};

struct queue {
    struct line line[CLASSES]; /* by enum trace_qos */
    struct segment *spare;     /* or NULL */
};

/* ---- eight numbers at once: how many bytes each takes, in four bits, then those bytes ---- */

static uint64_t bytes_of(uint64_t v)
{
    return v == 0 ? 0 : (uint64_t)(71 - __builtin_clzll(v)) / 8;
}

/* Writes up to 8 bytes more than it returns, as get_numbers reads. */
static uint8_t *put_numbers(uint8_t *p, const uint64_t v[NUMBERS])
{
    uint32_t lengths = 0;
    uint8_t *at = p + sizeof lengths;
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t bytes = bytes_of(v[i]), word = htole64(v[i]);
        memcpy(at, &word, sizeof word);
        at += bytes;
        lengths |= (uint32_t)bytes << 4 * i;
    }
    memcpy(p, &lengths, sizeof lengths);
    return at;
}

static const uint8_t *get_numbers(const uint8_t *p, uint64_t v[NUMBERS])
{
    uint32_t lengths;
    memcpy(&lengths, p, sizeof lengths);
    p += sizeof lengths;
    for (int i = 0; i < NUMBERS; i++, lengths >>= 4) {
        uint32_t bytes = lengths & 15;
        memcpy(&v[i], p, sizeof v[i]);
        v[i] = bytes == 0 ? 0 : le64toh(v[i]) << 8 * (8 - bytes) >> 8 * (8 - bytes);
        p += bytes;
    }
    return p;
}

/* Small for small differences of either sign. */
static uint64_t fold(int64_t difference)
{
    uint64_t twice = (uint64_t)difference << 1;
    return difference < 0 ? ~twice : twice;
}

static int64_t unfold(uint64_t v)
{
    return (int64_t)(v >> 1 ^ -(v & 1));
}

/* ---- one request: what its line says of it is left out ---- */

static enum names names_of(const struct request *r)
{
    if (r->blocks != NULL)
        return BLOCKS;
    if (r->document > 0)
        return A_DOCUMENT;
    if (ident_equal(r->object, ident_turn(r->user, r->object.lo, r->turn)))
        return A_TURN;
    return ident_equal(r->object, ident_request(r->user, r->number)) ? ITSELF : AN_OBJECT;
}

/* What a request of that kind has beside what all have. */
static void name(uint64_t v[NUMBERS], const struct request *r, enum names names)
{
    switch (names) {
    case AN_OBJECT: /* its kind is in the top bits */
        v[0] = r->object.hi << 4 | r->object.hi >> 60;
        v[1] = r->object.lo;
        break;
    case A_DOCUMENT:
        v[0] = r->document;
        v[1] = r->picks;
        break;
    case BLOCKS:
        v[0] = (uintptr_t)r->blocks;
        v[1] = r->block_count;
        v[2] = r->block_tokens;
        v[3] = r->block_scope;
        break;
    default:
        break;
    }
}

static void unname(struct request *r, const uint64_t v[NUMBERS], enum names names)
{
    switch (names) {
    case AN_OBJECT:
        r->object = (struct ident){.hi = v[0] >> 4 | v[0] << 60, .lo = v[1]};
        break;
    case A_DOCUMENT:
        r->document = (uint32_t)v[0];
        r->object = ident_document(r->document - 1);
        r->picks = v[1];
        break;
    case BLOCKS:
        r->object = (struct ident){0};
        r->blocks = (const uint64_t *)(uintptr_t)v[0];
        r->block_count = (uint32_t)v[1];
        r->block_tokens = (uint32_t)v[2];
        r->block_scope = (uint32_t)v[3];
        break;
    default:
        break;
    }
}

static void pack(struct end *in, const struct request *r)
{
    assert(r->context_tokens >= 0 && r->context_tokens <= REQUEST_MAX_TOKENS);
    assert(r->generated_tokens >= 0 && r->generated_tokens <= REQUEST_MAX_TOKENS);
    enum names names = names_of(r);
    bool more = r->slot != 0 || names > ITSELF;
    int64_t age_ms = names == A_TURN ? r->arrival_ns / NS_PER_MS - (int64_t)r->object.lo : 0;
    uint8_t *p = put_numbers(
        in->at,
        (uint64_t[NUMBERS]){r->number - in->number, (uint64_t)(r->arrival_ns - in->arrival_ns),
                            (uint64_t)(r->prompt + INT64_C(1)) << 4 | (uint64_t)more << 3 | names,
                            r->user, r->turn, (uint64_t)r->context_tokens,
                            (uint64_t)r->generated_tokens, fold(age_ms)});
    if (more) {
        uint64_t v[NUMBERS] = {[NUMBERS - 1] = r->slot};
        name(v, r, names);
        p = put_numbers(p, v);
    }
    *in = (struct end){.at = p, .number = r->number, .arrival_ns = r->arrival_ns};
}

static void unpack(struct end *out, struct request *r, uint8_t qos)
{
    uint64_t v[NUMBERS];
    const uint8_t *p = get_numbers(out->at, v);
    enum names names = (enum names)(v[2] & 7);
    bool more = (v[2] & 8) != 0;
    *r = (struct request){.number = out->number + v[0],
                          .arrival_ns = out->arrival_ns + (int64_t)v[1],
                          .prompt = (int32_t)((int64_t)(v[2] >> 4) - 1),
                          .qos = qos,
                          .user = (uint32_t)v[3],
                          .turn = (uint32_t)v[4],
                          .context_tokens = (int64_t)v[5],
                          .generated_tokens = (int64_t)v[6]};
    if (names == A_TURN)
        r->object =
            ident_turn(r->user, (uint64_t)(r->arrival_ns / NS_PER_MS - unfold(v[7])), r->turn);
    else
        r->object = ident_request(r->user, r->number);
    if (more) {
        p = get_numbers(p, v);
        r->slot = (uint32_t)v[NUMBERS - 1];
        unname(r, v, names);
    }
    *out = (struct end){
        .at = out->at + (p - out->at), .number = r->number, .arrival_ns = r->arrival_ns};
}

/* ---- the lines ---- */

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

/* May a request be packed, or was one, at that place of its segment? */
static bool holds_another(const struct segment *s, const uint8_t *at)
{
    return at != NULL && (size_t)(s->byte + sizeof s->byte - at) >= MOST_BYTES;
}

static int add_segment(struct queue *q, struct line *l)
{
    struct segment *s = q->spare != NULL ? q->spare : malloc(sizeof *s);
    if (s == NULL)
        return -ENOMEM;
    q->spare = NULL;
    s->next = NULL;
    l->in.at = s->byte;
    if (l->last != NULL) {
        l->last->next = s;
    } else {
        l->first = s;
        l->out.at = s->byte;
    }
    l->last = s;
    return 0;
}

static void drop_segment(struct queue *q, struct line *l)
{
    struct segment *s = l->first;
    l->first = s->next;
    l->out.at = l->first->byte;
    if (q->spare == NULL)
        q->spare = s;
    else
        free(s);
}

int queue_push(struct queue *q, const struct request *r)
{
    struct line *l = &q->line[r->qos];
    if (l->packed == 0 && l->near_count < NEAR) {
        l->near[(l->near_first + l->near_count++) % NEAR] = *r;
        return 0;
    }
    if (!holds_another(l->last, l->in.at) && add_segment(q, l) < 0)
        return -ENOMEM;
    pack(&l->in, r);
    l->packed++;
    return 0;
}

static uint64_t length(const struct line *l)
{
    return l->near_count + l->packed;
}

/* Number of the request in front. */
static uint64_t front(const struct line *l)
{
    if (l->near_count > 0)
        return l->near[l->near_first].number;
    uint64_t v[NUMBERS];
    get_numbers(l->out.at, v);
    return l->out.number + v[0];
}

/* Lines of equal priority share it: the earlier submission goes first. */
static bool goes_before(const struct line *a, const struct line *b)
{
    return a->priority != b->priority ? a->priority > b->priority : front(a) < front(b);
}

static void pop_packed(struct queue *q, struct line *l, struct request *out)
{
    unpack(&l->out, out, (uint8_t)(l - q->line));
    if (--l->packed == 0)
        l->out.at = l->in.at = l->first->byte;
    else if (!holds_another(l->first, l->out.at))
        drop_segment(q, l);
}

bool queue_pop(struct queue *q, struct request *out)
{
    struct line *best = NULL;
    for (int i = 0; i < CLASSES; i++)
        if (length(&q->line[i]) > 0 && (best == NULL || goes_before(&q->line[i], best)))
            best = &q->line[i];
    if (best == NULL)
        return false;
    if (best->near_count == 0) {
        pop_packed(q, best, out);
        return true;
    }
    *out = best->near[best->near_first];
    best->near_first = (best->near_first + 1) % NEAR;
    best->near_count--;
    return true;
}

uint64_t queue_length(const struct queue *q)
{
    uint64_t n = 0;
    for (int i = 0; i < CLASSES; i++)
        n += length(&q->line[i]);
    return n;
}
