/* Second half of kvstat's counting: keeps the values that agg has measured by group. This runs for
 * every row, so groups of enumerated columns are found by direct index; only users, whose number is
 * not known, go through a hash table. */
#include "kvstat/count/groups.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/hash.h"
#include "lib/base/memory.h"
#include "lib/base/units.h"

struct groups {
    unsigned by;
    size_t slots, used; /* slots: size of the index, a power of two when hashed */
    size_t most;        /* groups, with GROUPS_TEXT */
    struct group **slot;
    struct group **sorted; /* room for used pointers after groups_sort */
};

/* Mixed radix over the columns in by. */
size_t groups_place(unsigned by, const struct group_key *k)
{
    size_t i = 0;
    if (by & GROUPS_TIER)
        i = k->tier;
    if (by & GROUPS_OP)
        i = i * TRACE_OPS + k->op;
    if (by & GROUPS_PHASE)
        i = i * (TRACE_NO_PHASE + 1) + k->phase;
    if (by & GROUPS_QOS)
        i = i * (TRACE_NO_QOS + 1) + k->qos;
    if (by & GROUPS_CLASS)
        i = i * (TRACE_NO_CLASS + 1) + k->class;
    if (by & GROUPS_STATUS)
        i = i * TRACE_STATUSES + trace_status_index(k->status);
    return i;
}

size_t groups_places(unsigned by)
{
    size_t n = by & GROUPS_TIER ? TRACE_NO_TIER + 1 : 1;
    n *= by & GROUPS_OP ? TRACE_OPS : 1;
    n *= by & GROUPS_PHASE ? TRACE_NO_PHASE + 1 : 1;
    n *= by & GROUPS_QOS ? TRACE_NO_QOS + 1 : 1;
    n *= by & GROUPS_CLASS ? TRACE_NO_CLASS + 1 : 1;
    n *= by & GROUPS_STATUS ? TRACE_STATUSES : 1;
    return n;
}

struct groups *groups_create(unsigned by)
{
    struct groups *g = calloc(1, sizeof(*g));
    if (!g)
        return NULL;
    g->by = by;
    g->most = SIZE_MAX;
    g->slots = by & GROUPS_TEXT ? 1024 : groups_places(by);
    g->slot = calloc(g->slots, sizeof(*g->slot));
    if (!g->slot) {
        free(g);
        return NULL;
    }
    return g;
}

void groups_free(struct groups *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->slots; i++) {
        struct group *p = g->slot[i];
        if (!p)
            continue;
        for (size_t m = 0; m < GROUP_METRICS; m++)
            hist_free(p->metric[m]);
        for (size_t t = 0; t < GROUP_TEXTS; t++)
            free((char *)(uintptr_t)p->key.text[t].p);
        free(p);
    }
    free(g->slot);
    free(g->sorted);
    free(g);
}

unsigned groups_by(const struct groups *g)
{
    return g->by;
}

static bool same_texts(unsigned by, const struct group_key *a, const struct group_key *b)
{
    for (unsigned t = 0; t < GROUP_TEXTS; t++) {
        const struct trace_str *x = &a->text[t], *y = &b->text[t];
        if (by & group_text_bit(t) &&
            (x->len != y->len || (x->len > 0 && memcmp(x->p, y->p, x->len) != 0)))
            return false;
    }
    return true;
}

static size_t hashed_slot(const struct groups *g, const struct group_key *k)
{
    size_t index = groups_place(g->by, k), mask = g->slots - 1;
    uint64_t h = hash_mix(index);
    for (unsigned t = 0; t < GROUP_TEXTS; t++)
        if (g->by & group_text_bit(t))
            h = hash_mix(h) ^ hash_64(k->text[t].len ? k->text[t].p : "", k->text[t].len);
    for (size_t i = (size_t)h & mask;; i = (i + 1) & mask) {
        const struct group *p = g->slot[i];
        if (!p || (groups_place(g->by, &p->key) == index && same_texts(g->by, &p->key, k)))
            return i;
    }
}

static int grow(struct groups *g)
{
    struct group **old = g->slot;
    size_t slots = g->slots;
    g->slot = calloc(slots * 2, sizeof(*g->slot));
    if (!g->slot) {
        g->slot = old;
        return -ENOMEM;
    }
    g->slots = slots * 2;
    for (size_t i = 0; i < slots; i++)
        if (old[i])
            g->slot[hashed_slot(g, &old[i]->key)] = old[i];
    free(old);
    return 0;
}

/* An empty group. Columns that are not in by get their empty value. */
static struct group *group_new(unsigned by, const struct group_key *k)
{
    struct group *p = calloc(1, sizeof(*p));
    char *text[GROUP_TEXTS] = {NULL};
    bool whole = p;
    for (unsigned t = 0; t < GROUP_TEXTS && whole; t++) {
        uint32_t len = by & group_text_bit(t) ? k->text[t].len : 0;
        text[t] = len > 0 ? malloc(len) : NULL;
        whole = text[t] || len == 0;
        if (text[t])
            memcpy(text[t], k->text[t].p, len);
    }
    if (!whole) {
        for (unsigned t = 0; t < GROUP_TEXTS; t++)
            free(text[t]);
        free(p);
        return NULL;
    }
    p->key = (struct group_key){.tier = by & GROUPS_TIER ? k->tier : TRACE_NO_TIER,
                                .op = by & GROUPS_OP ? k->op : TRACE_OPS,
                                .phase = by & GROUPS_PHASE ? k->phase : TRACE_NO_PHASE,
                                .qos = by & GROUPS_QOS ? k->qos : TRACE_NO_QOS,
                                .class = by & GROUPS_CLASS ? k->class : TRACE_NO_CLASS,
                                .status = by & GROUPS_STATUS ? k->status : TRACE_NO_STATUS};
    for (unsigned t = 0; t < GROUP_TEXTS; t++)
        p->key.text[t] = (struct trace_str){.p = text[t], .len = text[t] ? k->text[t].len : 0};
    p->first_ns = INT64_MAX;
    p->last_ns = INT64_MIN;
    return p;
}

/* The group of the key, made when it is new: 0, -ENOMEM, or -EFBIG: there are too many. */
static int group_of(struct groups *g, const struct group_key *k, struct group **out)
{
    bool hashed = g->by & GROUPS_TEXT;
    if (hashed && g->used * 4 >= g->slots * 3 && grow(g) < 0)
        return -ENOMEM;
    size_t i = hashed ? hashed_slot(g, k) : groups_place(g->by, k);
    if (!g->slot[i]) {
        if (hashed && g->used == g->most)
            return -EFBIG;
        g->slot[i] = group_new(g->by, k);
        g->used += g->slot[i] != NULL;
    }
    *out = g->slot[i];
    return *out ? 0 : -ENOMEM;
}

void groups_limit(struct groups *g, size_t most)
{
    g->most = most;
}

static inline int group_of_row(struct groups *g, const struct trace_row *row, struct group **out)
{
    if (g->by == GROUPS_DEFAULT) { /* the common case: groups_place with constants */
        struct group *p =
            g->slot[((size_t)row->tier * TRACE_OPS + row->op) * (TRACE_NO_PHASE + 1) + row->phase];
        if (__builtin_expect(p != NULL, 1)) {
            *out = p;
            return 0;
        }
    }
    struct group_key k = {.tier = row->tier,
                          .op = row->op,
                          .phase = row->phase,
                          .qos = row->qos,
                          .class = row->class,
                          .status = row->status,
                          .text = {[GROUP_USER] = row->user}};
    if (row->extra) {
        k.text[GROUP_ENDPOINT] = row->extra->endpoint;
        k.text[GROUP_THREAD] = row->extra->thread;
    }
    char engine[20];
    if (g->by & GROUPS_ENGINE && row->engine >= 0)
        k.text[GROUP_ENGINE] =
            (struct trace_str){engine, (uint32_t)units_put_u64(engine, (uint64_t)row->engine)};
    return group_of(g, &k, out);
}

/* Values to be recorded in their histograms all at once. */
struct pending {
    struct hist *hist[GROUPS_BLOCK * GROUP_METRICS];
    int64_t value[GROUPS_BLOCK * GROUP_METRICS];
    size_t count;
};
static_assert(GROUPS_BLOCK * GROUP_METRICS <= HIST_BATCH, "a block is one batch");

static int group_add(const struct groups *g, struct group *p, const struct group_sample *s,
                     struct pending *w)
{
    const struct trace_row *row = s->row;
    p->ops++;
    if (!s->ok) {
        p->failed++;
        return 0;
    }
    if (row->tier == TRACE_NO_TIER && !(g->by & (GROUPS_TIER | GROUPS_OP | GROUPS_PHASE)))
        return 0; /* the times of Generate and Miss rows are not those of operations */
    if (s->start_ns != TRACE_NONE && s->start_ns < p->first_ns)
        p->first_ns = s->start_ns;
    if (s->end_ns != TRACE_NONE && s->end_ns > p->last_ns)
        p->last_ns = s->end_ns;
    for (size_t m = 0; m < s->metrics; m++) {
        if (s->value[m] == TRACE_NONE)
            continue;
        if (!p->metric[m] && !(p->metric[m] = hist_create()))
            return -ENOMEM;
        w->hist[w->count] = p->metric[m];
        w->value[w->count++] = s->value[m];
    }
    if (row->op == TRACE_READ || row->op == TRACE_WRITE)
        p->moved += row->size; /* not more than bytes, which is checked */
    return __builtin_add_overflow(p->bytes, row->size, &p->bytes) ? -EOVERFLOW : 0;
}

int groups_add(struct groups *g, const struct group_sample *s, size_t n)
{
    struct pending w;
    w.count = 0;
    for (size_t i = 0; i < n; i++) {
        struct group *p;
        int rc = group_of_row(g, s[i].row, &p);
        if (rc == 0)
            rc = group_add(g, p, &s[i], &w);
        if (rc < 0)
            return rc;
    }
    return hist_record_batch(w.hist, w.value, w.count);
}

static int group_merge(struct group *into, const struct group *from)
{
    into->ops += from->ops;
    into->failed += from->failed;
    into->span_ns += from->span_ns;
    into->moved += from->moved;
    if (from->first_ns < into->first_ns)
        into->first_ns = from->first_ns;
    if (from->last_ns > into->last_ns)
        into->last_ns = from->last_ns;
    for (size_t m = 0; m < GROUP_METRICS; m++) {
        if (!from->metric[m])
            continue;
        if (!into->metric[m] && !(into->metric[m] = hist_create()))
            return -ENOMEM;
        int rc = hist_merge(into->metric[m], from->metric[m]);
        if (rc < 0)
            return rc;
    }
    return __builtin_add_overflow(into->bytes, from->bytes, &into->bytes) ? -EOVERFLOW : 0;
}

int groups_merge(struct groups *into, const struct groups *from)
{
    for (size_t i = 0; i < from->slots; i++) {
        if (!from->slot[i])
            continue;
        struct group *p;
        int rc = group_of(into, &from->slot[i]->key, &p);
        if (rc == 0)
            rc = group_merge(p, from->slot[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

void groups_end_file(struct groups *g)
{
    for (size_t i = 0; i < g->slots; i++) {
        struct group *p = g->slot[i];
        if (!p)
            continue;
        if (p->last_ns > p->first_ns)
            p->span_ns += (uint64_t)p->last_ns - (uint64_t)p->first_ns;
        p->first_ns = INT64_MAX;
        p->last_ns = INT64_MIN;
    }
}

static int group_compare(const void *a, const void *b)
{
    const struct group_key *x = &(*(struct group *const *)a)->key;
    const struct group_key *y = &(*(struct group *const *)b)->key;
    const unsigned all =
        GROUPS_TIER | GROUPS_OP | GROUPS_PHASE | GROUPS_QOS | GROUPS_CLASS | GROUPS_STATUS;
    size_t i = groups_place(all, x), j = groups_place(all, y);
    if (i != j)
        return i < j ? -1 : 1;
    int c = 0;
    for (unsigned t = 0; t < GROUP_TEXTS && c == 0; t++) {
        const struct trace_str *u = &x->text[t], *v = &y->text[t];
        uint32_t shorter = u->len < v->len ? u->len : v->len;
        c = shorter ? memcmp(u->p, v->p, shorter) : 0;
        c = c ? c : (u->len > v->len) - (u->len < v->len);
    }
    return c;
}

int groups_sort(struct groups *g, size_t *count)
{
    *count = 0;
    if (memory_resize(&g->sorted, g->used ? g->used : 1, sizeof(*g->sorted)) < 0)
        return -ENOMEM;
    size_t n = 0;
    for (size_t i = 0; i < g->slots; i++)
        if (g->slot[i])
            g->sorted[n++] = g->slot[i];
    qsort(g->sorted, n, sizeof(*g->sorted), group_compare);
    *count = n;
    return 0;
}

const struct group *groups_at(const struct groups *g, size_t i)
{
    return g->sorted[i];
}

const struct group *groups_find(const struct groups *g, uint8_t tier, uint8_t op)
{
    struct group_key k = {.tier = tier, .op = op};
    return g->slot[groups_place(GROUPS_TIER | GROUPS_OP, &k)];
}

int groups_parse_by(const char *text, unsigned *by, struct err *e)
{
    /* In the order of the bits of enum groups_by. */
    static const char *const names[] = {"tier", "op",     "phase",    "qos",    "class",
                                        "user", "status", "endpoint", "thread", "engine"};
    const size_t all = sizeof(names) / sizeof(names[0]);
    unsigned mask = 0;
    for (const char *p = text;; p++) {
        size_t len = strcspn(p, ","), i = 0;
        while (i < all && (strlen(names[i]) != len || strncmp(names[i], p, len) != 0))
            i++;
        if (i == all)
            return err_set(e, -EINVAL, ERR_INPUT, "--by",
                           "no column \"%.*s\" (any of "
                           "tier,op,phase,qos,class,user,status,endpoint,thread,engine)",
                           (int)(len < 64 ? len : 64), p);
        if (mask & 1u << i)
            return err_set(e, -EINVAL, ERR_INPUT, "--by", "column %s twice", names[i]);
        mask |= 1u << i;
        p += len;
        if (*p == '\0')
            break;
    }
    *by = mask;
    return 0;
}
