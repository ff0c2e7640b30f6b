/* Counts turns for the source of users, which answers the simulator's question how many turns a
 * conversation has by the time one of them is served. A conversation keeps its place as long as
 * something needs it, so memory is that of the conversations remembered or under way and of the
 * requests waiting. */
#include "kvgen/source/turn_counts.h"
#include "lib/base/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define NONE UINT32_MAX

/* One conversation, or a free place. */
struct place {
    uint32_t turns;
    uint32_t holds;        /* turns that wait, 1 while it goes on, 1 while it is remembered */
    uint32_t newer, older; /* neighbours among the remembered; of a free place: older is the next */
    bool remembered;
};

struct turn_counts {
    struct place *place;
    uint32_t cap, free;
    uint32_t newest, oldest; /* remembered, by the time they were last asked in */
    uint32_t count, most;    /* remembered: now, and at most */
};

struct turn_counts *turn_counts_create(uint32_t remembered)
{
    struct turn_counts *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->most = remembered;
    t->free = t->newest = t->oldest = NONE;
    return t;
}

void turn_counts_free(struct turn_counts *t)
{
    if (!t)
        return;
    free(t->place);
    free(t);
}

int turn_counts_reserve(struct turn_counts *t)
{
    if (t->free != NONE)
        return 0;
    uint32_t cap = t->cap > 0 ? t->cap * 2 : 64;
    if (cap > UINT32_MAX / 2)
        return -ENOMEM;
    if (memory_resize(&t->place, cap, sizeof(*t->place)) < 0)
        return -ENOMEM;
    for (uint32_t i = cap; i-- > t->cap;) {
        t->place[i] = (struct place){.older = t->free};
        t->free = i;
    }
    t->cap = cap;
    return 0;
}

void turn_counts_release(struct turn_counts *t, uint32_t conversation)
{
    struct place *p = &t->place[conversation];
    assert(p->holds > 0);
    if (--p->holds > 0)
        return;
    p->older = t->free;
    t->free = conversation;
}

static void forget(struct turn_counts *t, uint32_t conversation)
{
    struct place *p = &t->place[conversation];
    if (p->newer == NONE)
        t->newest = p->older;
    else
        t->place[p->newer].older = p->older;
    if (p->older == NONE)
        t->oldest = p->newer;
    else
        t->place[p->older].newer = p->newer;
    p->remembered = false;
    p->turns = 0;
    t->count--;
    turn_counts_release(t, conversation);
}

static void remember(struct turn_counts *t, uint32_t conversation)
{
    struct place *p = &t->place[conversation];
    p->holds++;
    if (p->remembered)
        forget(t, conversation);
    else if (t->count == t->most)
        forget(t, t->oldest);
    p->remembered = true;
    p->newer = NONE;
    p->older = t->newest;
    if (t->newest == NONE)
        t->oldest = conversation;
    else
        t->place[t->newest].newer = conversation;
    t->newest = conversation;
    t->count++;
}

uint32_t turn_counts_begin(struct turn_counts *t)
{
    assert(t->free != NONE);
    uint32_t conversation = t->free;
    t->free = t->place[conversation].older;
    t->place[conversation] = (struct place){.holds = 1};
    remember(t, conversation);
    return conversation;
}

void turn_counts_ask(struct turn_counts *t, uint32_t conversation, uint32_t turn)
{
    remember(t, conversation);
    t->place[conversation].turns = turn;
    t->place[conversation].holds++;
}

uint32_t turn_counts_turns(const struct turn_counts *t, uint32_t conversation)
{
    return t->place[conversation].turns;
}
