/* An open-addressing hash table: linear probing, backward-shift deletion. Exports and stack
 * distances use it to remember what an earlier row said about a key. */
#include "lib/base/keymap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define FIRST_PLACES ((size_t)1 << 10)

struct place {
    struct hash128 key; /* both words 0: empty */
    uint64_t value;
};

struct keymap {
    struct place *place;
    size_t mask; /* places - 1, a power of two */
    size_t count;
};

static bool is_empty(const struct place *p)
{
    return (p->key.lo | p->key.hi) == 0;
}

/* The mark of an empty place cannot be a key. */
static struct hash128 usable(struct hash128 key)
{
    if ((key.lo | key.hi) == 0)
        key.lo = 1;
    return key;
}

/* The place of the key, or the empty one where it would go. */
static size_t probe(const struct keymap *m, struct hash128 key)
{
    size_t at = (size_t)key.lo & m->mask;

    for (;; at = (at + 1) & m->mask) {
        const struct place *p = &m->place[at];
        if (is_empty(p) || hash128_equal(p->key, key))
            return at;
    }
}

struct keymap *keymap_create(void)
{
    struct keymap *m = calloc(1, sizeof(*m));
    if (!m)
        return NULL;
    m->mask = FIRST_PLACES - 1;
    m->place = calloc(FIRST_PLACES, sizeof(*m->place));
    if (!m->place) {
        free(m);
        return NULL;
    }
    return m;
}

void keymap_free(struct keymap *m)
{
    if (m)
        free(m->place);
    free(m);
}

static int grow(struct keymap *m)
{
    struct keymap next = {.mask = m->mask * 2 + 1, .count = m->count};
    next.place = calloc(next.mask + 1, sizeof(*next.place));
    if (!next.place)
        return -ENOMEM;
    for (size_t i = 0; i <= m->mask; i++)
        if (!is_empty(&m->place[i]))
            next.place[probe(&next, m->place[i].key)] = m->place[i];
    free(m->place);
    *m = next;
    return 0;
}

uint64_t *keymap_find(const struct keymap *m, struct hash128 key)
{
    struct place *p = &m->place[probe(m, usable(key))];
    return is_empty(p) ? NULL : &p->value;
}

uint64_t *keymap_get(struct keymap *m, struct hash128 key, uint64_t absent)
{
    uint64_t *there = keymap_find(m, key);
    if (there)
        return there;
    if ((m->count + 1) * 2 > m->mask && grow(m) < 0)
        return NULL;
    struct place *p = &m->place[probe(m, usable(key))];
    *p = (struct place){.key = usable(key), .value = absent};
    m->count++;
    return &p->value;
}

void keymap_remove(struct keymap *m, struct hash128 key)
{
    size_t at = probe(m, usable(key));
    if (is_empty(&m->place[at]))
        return;
    m->count--;
    /* A hole in a run would end later probes too early: entries behind it move back. */
    for (size_t next = (at + 1) & m->mask; !is_empty(&m->place[next]);
         next = (next + 1) & m->mask) {
        size_t distance = (next - (size_t)m->place[next].key.lo) & m->mask;
        if (distance >= ((next - at) & m->mask)) {
            m->place[at] = m->place[next];
            at = next;
        }
    }
    m->place[at] = (struct place){0};
}

size_t keymap_count(const struct keymap *m)
{
    return m->count;
}
