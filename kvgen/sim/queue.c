/* Between the source and the workers: one line for each class of service. Requests enter in the
 * order of their arrival, so that the next one is in front of the line with the highest priority.
 * Millions may wait where users do not wait for answers: a waiting request is packed into some 20
 * bytes, as its difference from the one before it, and memory is given back as they leave. */
#include "kvgen/sim/queue.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TURN_EACH = 10, /* each so-many-th request is of the class that has waited longest */
    NEAR = 16,      /* requests of a line that are not packed */
    SEGMENT_BYTES = 8192,
    NUMBERS = 8,                            /* packed at once */
    MOST_BYTES = 2 * (4 + 8 * NUMBERS) + 8, /* touched for one packed request */
    NS_PER_MS = 1000000
};

/* The things that a request can name. The first two follow from what all requests have. */
enum subject {
    TURN,       /* a turn of its user's conversation */
    OWN_OBJECT, /* the object of its user and number */
    OTHER_OBJECT,
    BLOCKS,
    DOCUMENT,
    INGESTED_DOCUMENT
};

struct segment {
    struct segment *next;
    uint8_t byte[SEGMENT_BYTES - sizeof(struct segment *)];
};

/* Where a line is packed to, or unpacked from, and the request before that place. */
struct end {
    uint8_t *at; /* NULL: there is no segment yet */
    uint64_t number;
    int64_t arrival_ns;
};

/* The requests in front are not packed, because most requests do not wait long; those behind are.
 */
struct line {
    struct request near[NEAR]; /* a ring */
    uint32_t near_first, near_count;
    struct segment *first, *last;
    struct end out, in; /* in first, in last */
    uint64_t packed;
    int64_t priority;
};

struct queue {
    struct line line[TRACE_QOSES]; /* by class of service */
    bool turns;
    uint64_t taken;
    struct segment *spare; /* or NULL */
    uint64_t segments;     /* of all lines, without the spare one */
};

/* ---- eight numbers: four bits for the length of each, then their bytes ---- */

static uint64_t bytes_of(uint64_t v)
{
    return v == 0 ? 0 : (uint64_t)(71 - __builtin_clzll(v)) / 8;
}

/* Returns the end. Touches up to 8 bytes behind it, as get_numbers does. */
static uint8_t *put_numbers(uint8_t *p, const uint64_t v[NUMBERS])
{
    uint32_t lengths = 0;
    uint8_t *at = p + sizeof(lengths);
    for (int i = 0; i < NUMBERS; i++) {
        uint64_t bytes = bytes_of(v[i]), word = htole64(v[i]);
        memcpy(at, &word, sizeof(word));
        at += bytes;
        lengths |= (uint32_t)bytes << 4 * i;
    }
    memcpy(p, &lengths, sizeof(lengths));
    return at;
}

static const uint8_t *get_numbers(const uint8_t *p, uint64_t v[NUMBERS])
{
    uint32_t lengths;
    memcpy(&lengths, p, sizeof(lengths));
    p += sizeof(lengths);
    for (int i = 0; i < NUMBERS; i++, lengths >>= 4) {
        uint32_t bytes = lengths & 15;
        memcpy(&v[i], p, sizeof(v[i]));
        v[i] = bytes == 0 ? 0 : le64toh(v[i]) << 8 * (8 - bytes) >> 8 * (8 - bytes);
        p += bytes;
    }
    return p;
}

/* A number that is small for small differences of either sign. */
static uint64_t fold(int64_t difference)
{
    uint64_t twice = (uint64_t)difference << 1;
    return difference < 0 ? ~twice : twice;
}

static int64_t unfold(uint64_t v)
{
    return (int64_t)(v >> 1 ^ -(v & 1));
}

/* ---- one request, without what is known from its line ---- */

static enum subject subject_of(const struct request *r)
{
    if (r->blocks)
        return BLOCKS;
    if (r->document > 0)
        return r->ingest ? INGESTED_DOCUMENT : DOCUMENT;
    if (ident_equal(r->object, ident_turn(r->user, r->object.lo, r->turn)))
        return TURN;
    return ident_equal(r->object, ident_request(r->user, r->number)) ? OWN_OBJECT : OTHER_OBJECT;
}

/* Puts what a request has besides what all requests have. */
static void put_subject(uint64_t v[NUMBERS], const struct request *r, enum subject subject)
{
    switch (subject) {
    case OTHER_OBJECT: /* the top bits hold its kind: to the end, so that the number is small */
        v[0] = r->object.hi << 4 | r->object.hi >> 60;
        v[1] = r->object.lo;
        break;
    case DOCUMENT:
    case INGESTED_DOCUMENT:
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

static void get_subject(struct request *r, const uint64_t v[NUMBERS], enum subject subject)
{
    switch (subject) {
    case OTHER_OBJECT:
        r->object = (struct ident){.hi = v[0] >> 4 | v[0] << 60, .lo = v[1]};
        break;
    case DOCUMENT:
    case INGESTED_DOCUMENT:
        r->ingest = subject == INGESTED_DOCUMENT;
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
    enum subject subject = subject_of(r);
    bool more = r->slot != 0 || r->shared != 0 || subject > OWN_OBJECT;
    /* A turn's identity holds when its conversation began: the age then is a small number. */
    int64_t age_ms = subject == TURN ? r->arrival_ns / NS_PER_MS - (int64_t)r->object.lo : 0;
    uint8_t *p = put_numbers(
        in->at,
        (uint64_t[NUMBERS]){r->number - in->number, (uint64_t)(r->arrival_ns - in->arrival_ns),
                            (uint64_t)(r->prompt + INT64_C(1)) << 4 | (uint64_t)more << 3 | subject,
                            r->user, r->turn, (uint64_t)r->context_tokens,
                            (uint64_t)r->generated_tokens, fold(age_ms)});
    if (more) {
        uint64_t v[NUMBERS] = {[NUMBERS - 1] = r->slot,
                               [NUMBERS - 2] = (uint64_t)r->shared_tokens << 32 | r->shared};
        put_subject(v, r, subject);
        p = put_numbers(p, v);
    }
    *in = (struct end){.at = p, .number = r->number, .arrival_ns = r->arrival_ns};
}

static void unpack(struct end *out, struct request *r, uint8_t qos)
{
    uint64_t v[NUMBERS];
    const uint8_t *p = get_numbers(out->at, v);
    enum subject subject = (enum subject)(v[2] & 7);
    bool more = (v[2] & 8) != 0;
    *r = (struct request){.number = out->number + v[0],
                          .arrival_ns = out->arrival_ns + (int64_t)v[1],
                          .prompt = (int32_t)((int64_t)(v[2] >> 4) - 1),
                          .qos = qos,
                          .user = (uint32_t)v[3],
                          .turn = (uint32_t)v[4],
                          .context_tokens = (int64_t)v[5],
                          .generated_tokens = (int64_t)v[6]};
    if (subject == TURN)
        r->object =
            ident_turn(r->user, (uint64_t)(r->arrival_ns / NS_PER_MS - unfold(v[7])), r->turn);
    else
        r->object = ident_request(r->user, r->number);
    if (more) {
        p = get_numbers(p, v);
        r->slot = (uint32_t)v[NUMBERS - 1];
        r->shared = (uint32_t)v[NUMBERS - 2];
        r->shared_tokens = (uint32_t)(v[NUMBERS - 2] >> 32);
        get_subject(r, v, subject);
    }
    *out = (struct end){
        .at = out->at + (p - out->at), .number = r->number, .arrival_ns = r->arrival_ns};
}

/* ---- the lines ---- */

struct queue *queue_create(const int64_t priority[TRACE_QOSES])
{
    struct queue *q = calloc(1, sizeof(*q));
    for (int i = 0; q && i < TRACE_QOSES; i++)
        q->line[i].priority = priority[i];
    return q;
}

void queue_take_turns(struct queue *q)
{
    q->turns = true;
}

void queue_free(struct queue *q)
{
    if (!q)
        return;
    free(q->spare);
    for (int i = 0; i < TRACE_QOSES; i++)
        for (struct segment *s = q->line[i].first, *next; s; s = next) {
            next = s->next;
            free(s);
        }
    free(q);
}

/* Is there room for a packed request at that place of its segment? */
static bool holds_another(const struct segment *s, const uint8_t *at)
{
    return at && (size_t)(s->byte + sizeof(s->byte) - at) >= MOST_BYTES;
}

static int add_segment(struct queue *q, struct line *l)
{
    struct segment *s = q->spare ? q->spare : malloc(sizeof(*s));
    if (!s)
        return -ENOMEM;
    q->spare = NULL;
    q->segments++;
    s->next = NULL;
    l->in.at = s->byte;
    if (l->last) {
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
    q->segments--;
    l->first = s->next;
    l->out.at = l->first->byte;
    if (!q->spare)
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

uint64_t queue_bytes(const struct queue *q)
{
    return q->segments * SEGMENT_BYTES;
}

static uint64_t length(const struct line *l)
{
    return l->near_count + l->packed;
}

/* The number of the request in front of a line that is not empty. */
static uint64_t front(const struct line *l)
{
    if (l->near_count > 0)
        return l->near[l->near_first].number;
    uint64_t v[NUMBERS];
    get_numbers(l->out.at, v);
    return l->out.number + v[0];
}

/* In two lines with one priority, the request that was submitted first goes first. */
static bool goes_before(const struct line *a, const struct line *b)
{
    return a->priority != b->priority ? a->priority > b->priority : front(a) < front(b);
}

/* When the request in front of a line that is not empty arrived. */
static int64_t front_arrival_ns(const struct line *l)
{
    if (l->near_count > 0)
        return l->near[l->near_first].arrival_ns;
    uint64_t v[NUMBERS];
    get_numbers(l->out.at, v);
    return l->out.arrival_ns + (int64_t)v[1];
}

static bool waits_longer(const struct line *a, const struct line *b)
{
    int64_t a_ns = front_arrival_ns(a), b_ns = front_arrival_ns(b);
    return a_ns != b_ns ? a_ns < b_ns : a->priority < b->priority;
}

bool queue_pop(struct queue *q, struct request *out)
{
    bool turn = q->turns && q->taken % TURN_EACH == TURN_EACH - 1;
    struct line *best = NULL;
    for (int i = 0; i < TRACE_QOSES; i++) {
        struct line *l = &q->line[i];
        if (length(l) > 0 && (!best || (turn ? waits_longer(l, best) : goes_before(l, best))))
            best = l;
    }
    if (!best)
        return false;
    q->taken++;
    if (best->near_count > 0) {
        *out = best->near[best->near_first];
        best->near_first = (best->near_first + 1) % NEAR;
        best->near_count--;
        return true;
    }
    unpack(&best->out, out, (uint8_t)(best - q->line));
    if (--best->packed == 0) /* the only segment left begins anew */
        best->out.at = best->in.at = best->first->byte;
    else if (!holds_another(best->first, best->out.at))
        drop_segment(q, best);
    return true;
}

uint64_t queue_length(const struct queue *q)
{
    uint64_t n = 0;
    for (int i = 0; i < TRACE_QOSES; i++)
        n += length(&q->line[i]);
    return n;
}
