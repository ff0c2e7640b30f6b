/* The chunks of an engine's tiers. Each tier's order is a chain of groups, each a list: one group
 * for the orders by time, two for two lists, one for each number of uses for LFU. What to store,
 * load and evict is left to the managers. */
#include <errno.h>
#include <stdlib.h>

#include "kvgen/cache/chain_numbers.h"
#include "kvgen/cache/chunks.h"
#include "kvgen/cache/id_table.h"
#include "lib/base/memory.h"

enum place_state {
    ABSENT,
    BEGUN, /* in the list of the tier's writes */
    HELD,  /* in a group */
    KEPT   /* in no list */
};

/* A chunk in one tier. */
struct place {
    uint32_t prev, next; /* in its list; CHUNK_NONE ends it */
    uint32_t group;      /* of HELD */
    uint32_t pins : 28;
    uint32_t mark : 1;
    uint32_t state : 3; /* enum place_state */
};

struct list {
    uint32_t first, last;
};

struct group {
    uint64_t uses, count;
    struct list list;
    uint32_t prev, next; /* groups with fewer and more uses; of a free group, next is free */
};

struct tier {
    enum chunk_order order;
    uint32_t first, last; /* groups */
    struct list begun;
    uint64_t held, begun_count;
};

struct chunks {
    struct id_table table;
    struct place (*place)[CHUNK_TIERS]; /* by number */
    uint32_t place_cap;
    struct tier tier[CHUNK_TIERS];
    struct group *group;
    uint64_t group_cap;
    uint32_t groups_made, groups_used, group_free; /* group_free: CHUNK_NONE ends it */
};

struct chunks *chunks_create(enum chunk_order l1, enum chunk_order l2)
{
    struct chunks *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->group_free = CHUNK_NONE;
    for (int t = 0; t < CHUNK_TIERS; t++)
        c->tier[t] = (struct tier){.order = t == CHUNK_L1 ? l1 : l2,
                                   .first = CHUNK_NONE,
                                   .last = CHUNK_NONE,
                                   .begun = {.first = CHUNK_NONE, .last = CHUNK_NONE}};
    return c;
}

void chunks_free(struct chunks *c)
{
    if (!c)
        return;
    id_table_free(&c->table);
    free(c->place);
    free(c->group);
    free(c);
}

int chunks_number(struct chunks *c, struct chain_numbers *n)
{
    return chain_numbers_join(n, &c->table);
}

int chunks_reserve(struct chunks *c, uint64_t more)
{
    int rc = id_table_reserve(&c->table, more);
    if (rc < 0)
        return rc;
    if (c->place_cap < c->table.cap) {
        if (memory_resize(&c->place, c->table.cap, sizeof(*c->place)) < 0)
            return -ENOMEM;
        c->place_cap = c->table.cap;
    }
    uint64_t groups = 2 * CHUNK_TIERS;
    if (c->tier[CHUNK_L1].order == CHUNK_LFU || c->tier[CHUNK_L2].order == CHUNK_LFU)
        groups += c->groups_used + CHUNK_TOUCHES * more;
    if (c->group_cap < groups) {
        groups += groups / 4;
        if (memory_resize(&c->group, groups, sizeof(*c->group)) < 0)
            return -ENOMEM;
        c->group_cap = groups;
    }
    return 0;
}

uint32_t chunks_find(const struct chunks *c, uint64_t id)
{
    return id_table_find(&c->table, id);
}

uint32_t chunks_get(struct chunks *c, uint64_t id)
{
    uint32_t number = id_table_find(&c->table, id);
    if (number != ID_NONE)
        return number;
    number = id_table_add(&c->table, id);
    for (int t = 0; t < CHUNK_TIERS; t++)
        c->place[number][t] = (struct place){.state = ABSENT};
    return number;
}

uint64_t chunks_id(const struct chunks *c, uint32_t number)
{
    return id_table_id(&c->table, number);
}

static void list_add(struct chunks *c, enum chunk_tier tier, struct list *l, uint32_t number)
{
    struct place *p = &c->place[number][tier];
    p->prev = l->last;
    p->next = CHUNK_NONE;
    if (l->last == CHUNK_NONE)
        l->first = number;
    else
        c->place[l->last][tier].next = number;
    l->last = number;
}

static void list_remove(struct chunks *c, enum chunk_tier tier, struct list *l, uint32_t number)
{
    const struct place *p = &c->place[number][tier];
    if (p->prev == CHUNK_NONE)
        l->first = p->next;
    else
        c->place[p->prev][tier].next = p->next;
    if (p->next == CHUNK_NONE)
        l->last = p->prev;
    else
        c->place[p->next][tier].prev = p->prev;
}

/* The group of that many uses, which comes right after prev (CHUNK_NONE: before all). */
static uint32_t group_after(struct chunks *c, struct tier *t, uint32_t prev, uint64_t uses)
{
    uint32_t next = prev == CHUNK_NONE ? t->first : c->group[prev].next;
    if (next != CHUNK_NONE && c->group[next].uses == uses)
        return next;
    uint32_t g = c->group_free;
    if (g != CHUNK_NONE)
        c->group_free = c->group[g].next;
    else
        g = c->groups_made++;
    c->groups_used++;
    c->group[g] = (struct group){.uses = uses,
                                 .list = {.first = CHUNK_NONE, .last = CHUNK_NONE},
                                 .prev = prev,
                                 .next = next};
    if (prev == CHUNK_NONE)
        t->first = g;
    else
        c->group[prev].next = g;
    if (next == CHUNK_NONE)
        t->last = g;
    else
        c->group[next].prev = g;
    return g;
}

static void leave_group(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    struct tier *t = &c->tier[tier];
    uint32_t g = c->place[number][tier].group;
    struct group *group = &c->group[g];
    list_remove(c, tier, &group->list, number);
    group->count--;
    if (group->list.first != CHUNK_NONE)
        return;
    if (group->prev == CHUNK_NONE)
        t->first = group->next;
    else
        c->group[group->prev].next = group->next;
    if (group->next == CHUNK_NONE)
        t->last = group->prev;
    else
        c->group[group->next].prev = group->prev;
    group->next = c->group_free;
    c->group_free = g;
    c->groups_used--;
}

static void enter_group(struct chunks *c, enum chunk_tier tier, uint32_t number, uint32_t g)
{
    list_add(c, tier, &c->group[g].list, number);
    c->group[g].count++;
    c->place[number][tier].group = g;
}

void chunks_begin(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    list_add(c, tier, &c->tier[tier].begun, number);
    c->tier[tier].begun_count++;
    c->place[number][tier].state = BEGUN;
}

static void leave_begun(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    list_remove(c, tier, &c->tier[tier].begun, number);
    c->tier[tier].begun_count--;
}

static void put(struct chunks *c, enum chunk_tier tier, uint32_t number, uint64_t uses)
{
    struct tier *t = &c->tier[tier];
    struct place *p = &c->place[number][tier];
    uint32_t prev = CHUNK_NONE;
    if (p->state == BEGUN)
        leave_begun(c, tier, number);
    p->state = HELD;
    if (uses > 1 && t->first != CHUNK_NONE && c->group[t->first].uses == 1)
        prev = t->first;
    enter_group(c, tier, number, group_after(c, t, prev, uses));
    t->held++;
}

void chunks_put(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    put(c, tier, number, 1);
}

void chunks_put_again(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    put(c, tier, number, 2);
}

void chunks_touch(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    const struct place *p = &c->place[number][tier];
    struct tier *t = &c->tier[tier];
    if (p->state != HELD || t->order == CHUNK_FIFO)
        return;
    uint32_t g = p->group;
    const bool moves =
        t->order == CHUNK_LFU || (t->order == CHUNK_TWO_LISTS && c->group[g].uses == 1);
    if (!moves) {
        list_remove(c, tier, &c->group[g].list, number);
        list_add(c, tier, &c->group[g].list, number);
        return;
    }
    uint32_t to = group_after(c, t, g, c->group[g].uses + 1);
    leave_group(c, tier, number);
    enter_group(c, tier, number, to);
}

void chunks_keep(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    if (c->place[number][tier].state != HELD)
        return;
    leave_group(c, tier, number);
    c->place[number][tier].state = KEPT;
}

void chunks_drop(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    struct place *p = &c->place[number][tier];
    if (p->state == BEGUN)
        leave_begun(c, tier, number);
    else {
        if (p->state == HELD)
            leave_group(c, tier, number);
        c->tier[tier].held--;
    }
    *p = (struct place){.state = ABSENT};
    for (int t = 0; t < CHUNK_TIERS; t++)
        if (c->place[number][t].state != ABSENT)
            return;
    id_table_remove(&c->table, number);
}

bool chunks_held(const struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    return number != CHUNK_NONE && c->place[number][tier].state >= HELD;
}

bool chunks_begun(const struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    return number != CHUNK_NONE && c->place[number][tier].state == BEGUN;
}

void chunks_pin(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    c->place[number][tier].pins++;
}

void chunks_unpin(struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    c->place[number][tier].pins--;
}

bool chunks_pinned(const struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    return c->place[number][tier].pins > 0;
}

void chunks_mark(struct chunks *c, enum chunk_tier tier, uint32_t number, bool mark)
{
    c->place[number][tier].mark = mark;
}

bool chunks_marked(const struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    return c->place[number][tier].mark;
}

uint32_t chunks_next(const struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    bool newest_first = c->tier[tier].order == CHUNK_MRU;
    uint32_t g = c->tier[tier].first;
    if (number != CHUNK_NONE) {
        const struct place *p = &c->place[number][tier];
        uint32_t next = newest_first ? p->prev : p->next;
        if (next != CHUNK_NONE)
            return next;
        g = c->group[p->group].next;
    }
    if (g == CHUNK_NONE)
        return CHUNK_NONE;
    return newest_first ? c->group[g].list.last : c->group[g].list.first;
}

/* The group of what was touched, or of what was not; CHUNK_NONE: it is empty. */
static uint32_t list_of(const struct chunks *c, enum chunk_tier tier, bool touched)
{
    const struct tier *t = &c->tier[tier];
    const uint32_t g = touched ? t->last : t->first;
    return g != CHUNK_NONE && (c->group[g].uses > 1) == touched ? g : CHUNK_NONE;
}

uint32_t chunks_first(const struct chunks *c, enum chunk_tier tier, bool touched)
{
    const uint32_t g = list_of(c, tier, touched);
    return g == CHUNK_NONE ? CHUNK_NONE : c->group[g].list.first;
}

uint64_t chunks_listed(const struct chunks *c, enum chunk_tier tier, bool touched)
{
    const uint32_t g = list_of(c, tier, touched);
    return g == CHUNK_NONE ? 0 : c->group[g].count;
}

bool chunks_is_touched(const struct chunks *c, enum chunk_tier tier, uint32_t number)
{
    return c->group[c->place[number][tier].group].uses > 1;
}

uint32_t chunks_victim(const struct chunks *c, enum chunk_tier tier)
{
    uint32_t number = chunks_next(c, tier, CHUNK_NONE);
    while (number != CHUNK_NONE && c->place[number][tier].pins > 0)
        number = chunks_next(c, tier, number);
    return number;
}

uint64_t chunks_count(const struct chunks *c, enum chunk_tier tier)
{
    return c->tier[tier].held;
}

uint64_t chunks_used(const struct chunks *c, enum chunk_tier tier)
{
    return c->tier[tier].held + c->tier[tier].begun_count;
}

uint64_t chunks_memory(const struct chunks *c)
{
    return id_table_memory(&c->table) + c->place_cap * sizeof(*c->place) +
           c->group_cap * sizeof(*c->group);
}
