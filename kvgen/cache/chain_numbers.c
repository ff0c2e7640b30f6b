/* chain_numbers.c - numbers by key, in a table, and how many requests hold each. A number that
 * nobody holds and no table has is free, which is looked for when all numbers are given out. */
#include "kvgen/cache/chain_numbers.h"

#include <errno.h>
#include <stdlib.h>

enum {
    AHEAD = 2 * ID_TABLE_AHEAD, /* most keys are new, and their slots far away */
    /* Members get room for so many numbers more at a time, and at least for this part of those that
     * there are: their room takes memory before a number comes to it. */
    WIDER = 1 << 12,
    WIDER_PART = 16
};

struct chain_numbers {
    struct id_table keys; /* number - 1 by key */
    uint32_t *holders;    /* by number - 1; ID_NONE: the number has no key */
    uint32_t room;        /* the highest number that members have room for */
    uint32_t users;
    struct id_table *members;
};

struct chain_numbers *chain_numbers_create(void)
{
    struct chain_numbers *n = calloc(1, sizeof(*n));
    if (n)
        n->users = 1;
    return n;
}

struct chain_numbers *chain_numbers_share(struct chain_numbers *n)
{
    n->users++;
    return n;
}

void chain_numbers_free(struct chain_numbers *n)
{
    if (!n || --n->users)
        return;
    id_table_free(&n->keys);
    free(n->holders);
    free(n);
}

int chain_numbers_join(struct chain_numbers *n, struct id_table *t)
{
    if (!n)
        return 0;
    if (id_table_widen(t, n->room + 1))
        return -ENOMEM;
    id_table_link(t, &n->members);
    return 0;
}

/* Whether somebody holds the number or a table has it. */
static bool is_needed(const struct chain_numbers *n, uint32_t at)
{
    uint32_t users = n->holders[at];
    for (const struct id_table *t = n->members; t; t = t->next)
        users |= t->slot[at + 1];
    return users != 0;
}

/* All numbers are given out. Keys that nobody needs lose theirs, where that is a third of all. */
static int sweep(struct chain_numbers *n)
{
    uint32_t spare = 0;
    for (uint32_t i = 0; i < n->keys.made; i++)
        spare += !is_needed(n, i);
    if (spare == 0 || spare < n->room / 3)
        return 0;
    for (uint32_t i = 0; i < n->keys.made; i++)
        if (!is_needed(n, i))
            n->holders[i] = ID_NONE;
    return id_table_keep(&n->keys, n->holders);
}

/* Keys: room for half as many again. */
static int grow(struct chain_numbers *n)
{
    if (id_table_reserve(&n->keys, n->keys.cap - n->keys.count + UINT64_C(1)))
        return -ENOMEM;
    uint32_t *holders = realloc(n->holders, n->keys.cap * sizeof(*holders));
    if (!holders)
        return -ENOMEM;
    n->holders = holders;
    return 0;
}

/* Members: room for more of the numbers that there may be. */
static int widen(struct chain_numbers *n)
{
    const uint32_t more = n->room / WIDER_PART > WIDER ? n->room / WIDER_PART : WIDER;
    const uint32_t room = n->keys.cap - n->room > more ? n->room + more : n->keys.cap;
    for (struct id_table *t = n->members; t; t = t->next)
        if (id_table_widen(t, room + 1))
            return -ENOMEM;
    n->room = room;
    return 0;
}

static int make_room(struct chain_numbers *n)
{
    int rc = 0;
    if (n->keys.count == n->keys.cap) {
        rc = sweep(n);
        if (!rc && n->keys.count == n->room)
            rc = grow(n);
    }
    return rc || n->keys.count < n->room ? rc : widen(n);
}

int chain_numbers_take(struct chain_numbers *n, uint64_t *key, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (i + AHEAD < count)
            id_table_expect(&n->keys, key[i + AHEAD]);
        uint32_t at = id_table_find(&n->keys, key[i]);
        if (at == ID_NONE) {
            if (n->keys.count == n->room && make_room(n))
                return -ENOMEM;
            at = id_table_add(&n->keys, key[i]);
            n->holders[at] = 0;
        }
        n->holders[at]++;
        key[i] = at + UINT64_C(1);
    }
    return 0;
}

void chain_numbers_release(struct chain_numbers *n, const uint64_t *number, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        n->holders[number[i] - 1]--;
}

uint64_t chain_numbers_key(const struct chain_numbers *n, uint64_t number)
{
    return id_table_id(&n->keys, (uint32_t)number - 1);
}

uint64_t chain_numbers_find(const struct chain_numbers *n, uint64_t key)
{
    return id_table_find(&n->keys, key) + UINT32_C(1);
}
