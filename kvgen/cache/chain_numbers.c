/* chain_numbers.c - numbers by key, and how many hold each. The blocks of a chain that
 * come together get numbers in a row, so a key is looked for behind the one before it in its chain.
 * Only heads, whose number does not follow that one's, are in a table: a turn of a conversation has
 * one. A number that nobody holds and no table has is free, which is looked for when all numbers
 * are given out. */
#include "kvgen/cache/chain_numbers.h"
#include "lib/base/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    FIRST_CAP = 64,
    /* Members get room for so many numbers more at a time, and at least for this part of those that
     * there are: their room takes memory before a number comes to it. */
    WIDER = 1 << 12,
    WIDER_PART = 16
};
#define MAX_NUMBERS (UINT32_C(1) << 30)
#define HEAD        (UINT32_C(1) << 31) /* of holders */
#define NO_KEY      UINT32_MAX          /* in place of holders: the number is free */

struct chain_numbers {
    /* By number - 1, as what follows; of a free number the next free one. */
    uint64_t *key;
    uint32_t *holders;  /* and HEAD */
    uint32_t cap;       /* numbers that both have room for */
    uint32_t made;      /* numbers given out so far */
    uint32_t count;     /* that have a key */
    uint32_t free;      /* the first free number; 0: none */
    uint32_t room;      /* the highest number that members have room for */
    struct id_table of; /* heads by key, and the number of each */
    uint32_t *head, heads;
    bool holes; /* a key may have a number though the one before it in its chain has none */
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
    id_table_free(&n->of);
    free(n->head);
    free(n->holders);
    free(n->key);
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

/* ---- heads ---- */

static int add_head(struct chain_numbers *n, uint32_t number)
{
    uint32_t *grown = id_table_reserve_item(&n->of, n->head, &n->heads, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    n->head = grown;
    n->head[id_table_add(&n->of, n->key[number - 1])] = number;
    n->holders[number - 1] |= HEAD;
    return 0;
}

/* 0: no head has that key. */
static uint32_t find_head(const struct chain_numbers *n, uint64_t key)
{
    const uint32_t at = id_table_find(&n->of, key);
    return at == ID_NONE ? 0 : n->head[at];
}

/* Whether that number has that key. */
static bool has(const struct chain_numbers *n, uint32_t number, uint64_t key)
{
    return number <= n->made && n->key[number - 1] == key && n->holders[number - 1] != NO_KEY;
}

/* ---- room ---- */

/* Whether somebody holds the number or a table has it. */
static bool is_needed(const struct chain_numbers *n, uint32_t number)
{
    uint32_t users = n->holders[number - 1] & ~HEAD;
    for (const struct id_table *t = n->members; t; t = t->next)
        users |= t->slot[number];
    return users != 0;
}

/* All numbers are given out. Keys that nobody needs lose theirs, where that is a third of all; the
 * lowest of those numbers are given out first. What followed one of them is a head from now on. */
static int sweep(struct chain_numbers *n)
{
    uint32_t spare = 0;
    for (uint32_t number = 1; number <= n->made; number++)
        spare += !is_needed(n, number);
    if (spare == 0 || spare < n->room / 3)
        return 0;
    n->holes = true;
    id_table_free(&n->of);
    for (uint32_t number = n->made; number > 0; number--) {
        if (is_needed(n, number))
            continue;
        n->holders[number - 1] = NO_KEY;
        n->key[number - 1] = n->free;
        n->free = number;
        n->count--;
    }
    for (uint32_t number = 1; number <= n->made; number++) {
        const bool follows = number > 1 && n->holders[number - 2] != NO_KEY;
        if (n->holders[number - 1] == NO_KEY || (follows && !(n->holders[number - 1] & HEAD)))
            continue;
        if (add_head(n, number))
            return -ENOMEM;
    }
    return 0;
}

/* Numbers: room for half as many again. */
static int grow(struct chain_numbers *n)
{
    const uint32_t cap = n->cap < FIRST_CAP ? FIRST_CAP : n->cap + n->cap / 2;
    if (cap > MAX_NUMBERS)
        return -ENOMEM;
    if (memory_resize(&n->key, cap, sizeof(*n->key)) < 0 ||
        memory_resize(&n->holders, cap, sizeof(*n->holders)) < 0)
        return -ENOMEM;
    n->cap = cap;
    return 0;
}

/* Members: room for more of the numbers that there may be. */
static int widen(struct chain_numbers *n)
{
    const uint32_t more = n->room / WIDER_PART > WIDER ? n->room / WIDER_PART : WIDER;
    const uint32_t room = n->cap - n->room > more ? n->room + more : n->cap;
    for (struct id_table *t = n->members; t; t = t->next)
        if (id_table_widen(t, room + 1))
            return -ENOMEM;
    n->room = room;
    return 0;
}

static int make_room(struct chain_numbers *n)
{
    int rc = 0;
    if (n->count == n->cap) {
        rc = sweep(n);
        if (!rc && n->count == n->room)
            rc = grow(n);
    }
    return rc || n->count < n->room ? rc : widen(n);
}

/* ---- keys ---- */

/* A number for a key that has none; before: that of the one before it in its chain, or 0. The key
 * is a head unless its number follows that one. 0: no memory. */
static uint32_t add(struct chain_numbers *n, uint64_t key, uint32_t before)
{
    if (n->count == n->room && make_room(n))
        return 0;
    uint32_t number = n->free;
    if (number)
        n->free = (uint32_t)n->key[number - 1];
    else
        number = ++n->made;
    n->count++;
    n->key[number - 1] = key;
    n->holders[number - 1] = 0;
    return (before && number == before + 1) || !add_head(n, number) ? number : 0;
}

/* The number of a key, which gets one if it has none; 0: no memory. */
static uint32_t take_next(struct chain_numbers *n, uint64_t key, uint32_t before, bool *is_new)
{
    uint32_t number = before + 1;
    /* Behind a new key, all are. */
    if (*is_new && !n->holes)
        return add(n, key, before);
    if (!before || !has(n, number, key))
        number = find_head(n, key);
    *is_new = number == 0;
    return number ? number : add(n, key, before);
}

int chain_numbers_take(struct chain_numbers *n, uint64_t *key, uint64_t count)
{
    uint32_t number = 0;
    bool is_new = false;
    for (uint64_t i = 0; i < count; i++) {
        number = take_next(n, key[i], number, &is_new);
        if (!number)
            return -ENOMEM;
        n->holders[number - 1]++;
        key[i] = number;
    }
    return 0;
}

int chain_numbers_take_lone(struct chain_numbers *n, uint64_t *key)
{
    uint64_t number = chain_numbers_find(n, *key);
    n->holes = true;
    if (!number && !(number = add(n, *key, 0)))
        return -ENOMEM;
    n->holders[number - 1]++;
    *key = number;
    return 0;
}

void chain_numbers_hold(struct chain_numbers *n, const uint64_t *number, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        n->holders[number[i] - 1]++;
}

void chain_numbers_release(struct chain_numbers *n, const uint64_t *number, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        n->holders[number[i] - 1]--;
}

uint64_t chain_numbers_key(const struct chain_numbers *n, uint64_t number)
{
    return n->key[number - 1];
}

uint64_t chain_numbers_next(const struct chain_numbers *n, uint64_t before, uint64_t key)
{
    return before && has(n, (uint32_t)before + 1, key) ? before + 1 : find_head(n, key);
}

uint64_t chain_numbers_find(const struct chain_numbers *n, uint64_t key)
{
    uint32_t number = find_head(n, key);
    for (uint32_t i = 1; !number && n->count > n->of.count && i <= n->made; i++)
        number = has(n, i, key) ? i : 0;
    return number;
}
