/* Slots in flight, shared by the scheduler and the threads of all engines: first come, first
 * served, so that no drive has them all while another waits. A slot goes from hand to hand; only
 * one that nobody waits for is free. */
#include <pthread.h>
#include <stdlib.h>

#include "lib/tier/tier.h"

struct slots {
    pthread_mutex_t lock;
    struct tier_op *first, **last; /* wait, in order: their state is the user, next the next */
    unsigned count, free, head;
    int64_t since_ns[]; /* ring of the free ones, the one that is free for longest at head */
};

struct slots *slots_create(unsigned count)
{
    struct slots *s = calloc(1, sizeof(*s) + count * sizeof(s->since_ns[0]));

    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->last = &s->first;
    s->count = s->free = count;
    for (unsigned i = 0; i < count; i++)
        s->since_ns[i] = INT64_MIN;
    return s;
}

void slots_free(struct slots *s)
{
    if (!s)
        return;
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* With the lock. */
static bool take_free(struct slots *s, int64_t *since_ns)
{
    if (s->free == 0 || s->first)
        return false;
    *since_ns = s->since_ns[s->head];
    s->head = s->head + 1 < s->count ? s->head + 1 : 0;
    s->free--;
    return true;
}

bool slots_try(struct slots *s, int64_t *since_ns)
{
    pthread_mutex_lock(&s->lock);
    bool has = take_free(s, since_ns);
    pthread_mutex_unlock(&s->lock);
    return has;
}

bool slots_take(struct tier_op *op, struct slots_user *user)
{
    struct slots *s = user->slots = op->slots;

    pthread_mutex_lock(&s->lock);
    bool has = take_free(s, &op->given_ns);
    if (!has) {
        op->state = user;
        op->next = NULL;
        *s->last = op;
        s->last = &op->next;
    }
    pthread_mutex_unlock(&s->lock);
    return has;
}

unsigned slots_granted(struct slots_user *user)
{
    if (atomic_load_explicit(&user->granted, memory_order_relaxed) == 0)
        return 0;
    /* Under the lock, so that the giver, who wakes the user, has done with it. */
    pthread_mutex_lock(&user->slots->lock);
    unsigned n = atomic_exchange_explicit(&user->granted, 0, memory_order_relaxed);
    pthread_mutex_unlock(&user->slots->lock);
    return n;
}

/* With the lock. */
static void hand_over(struct slots *s, const struct slots_user *giver, int64_t now_ns)
{
    struct tier_op *op = s->first;

    if (!op) {
        s->since_ns[(s->head + s->free) % s->count] = now_ns;
        s->free++;
        return;
    }
    struct slots_user *user = op->state;
    s->first = op->next;
    if (!s->first)
        s->last = &s->first;
    op->given_ns = now_ns;
    atomic_fetch_add_explicit(&user->granted, 1, memory_order_relaxed);
    if (user != giver)
        user->wake(user->ctx);
}

void slots_give(struct slots *s, const struct slots_user *giver, int64_t now_ns)
{
    pthread_mutex_lock(&s->lock);
    hand_over(s, giver, now_ns);
    pthread_mutex_unlock(&s->lock);
}

void slots_leave(struct tier_op *op, struct slots_user *user)
{
    struct slots *s = op->slots;
    struct tier_op **at = &s->first;

    pthread_mutex_lock(&s->lock);
    while (*at && *at != op)
        at = &(*at)->next;
    if (*at) {
        *at = op->next;
        if (!*at)
            s->last = at;
    } else {
        atomic_fetch_sub_explicit(&user->granted, 1, memory_order_relaxed);
        hand_over(s, user, op->given_ns);
    }
    pthread_mutex_unlock(&s->lock);
}
