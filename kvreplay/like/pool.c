/* Under the workers (like.c), which take a place for each object that they store or load. Places
 * are a list in the order of their addresses; all of it is under one lock, since workers come here
 * once an object. The contents of a place belong to the worker that took it. */
#include "kvreplay/like/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
    size_t from, bytes;
    uint64_t given; /* when it was given back, in the order of these; 0: it is in use */
};

struct like_pool {
    pthread_mutex_t lock;
    char *mapped, *memory;               /* the pool is behind what was written before it */
    size_t before, room, bytes, largest; /* room: of the pool; bytes: of it, written */
    uint64_t gives;
    unsigned places;
    struct place place[LIKE_POOL_OBJECTS]; /* by address */
};

static size_t aligned(size_t bytes)
{
    return (bytes + LIKE_POOL_ALIGN - 1) / LIKE_POOL_ALIGN * LIKE_POOL_ALIGN;
}

int like_pool_open(struct like_pool **out, const struct like_pool_opts *o)
{
    size_t largest = aligned(o->largest), page = (size_t)sysconf(_SC_PAGESIZE);
    struct like_pool *p;

    if (o->bytes == 0 || largest == 0 || o->in_use < 1 || o->in_use > LIKE_POOL_IN_USE ||
        largest > SIZE_MAX / 8 / o->in_use || o->bytes > SIZE_MAX / 8 || o->before > SIZE_MAX / 8)
        return -EINVAL;
    p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->bytes = aligned(o->bytes);
    p->largest = largest;
    /* N - 1 objects in use leave at most N gaps. If none of them takes one of the largest, they are
     * less than 2N - 1 of these long together. */
    p->room = 2 * (size_t)o->in_use * largest;
    if (p->room < p->bytes)
        p->room = p->bytes;
    p->before = aligned(o->before);
    p->mapped = io_buffers_map(p->before + p->room, o->pages);
    if (!p->mapped) {
        free(p);
        return -ENOMEM;
    }
    p->memory = p->mapped + p->before;
    pthread_mutex_init(&p->lock, NULL);
    for (size_t at = 0; at < p->before + p->bytes; at += page) /* one thread, front to back */
        *(volatile char *)(p->mapped + at) = 0;
    *out = p;
    return 0;
}

void like_pool_close(struct like_pool *p)
{
    if (!p)
        return;
    io_buffers_unmap(p->mapped, p->before + p->room);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* The first gap of so many bytes below the limit: *at, and which place it is before. */
static bool find_gap(const struct like_pool *p, size_t bytes, size_t limit, size_t *at,
                     unsigned *before)
{
    size_t end = 0;

    for (unsigned i = 0; i < p->places; i++) {
        if (p->place[i].from - end >= bytes && end + bytes <= limit) {
            *at = end;
            *before = i;
            return true;
        }
        end = p->place[i].from + p->place[i].bytes;
    }
    *at = end;
    *before = p->places;
    return end + bytes <= limit;
}

/* Forgets the unused object that was given back first. false: there is none. */
static bool forget_oldest(struct like_pool *p)
{
    unsigned oldest = p->places;

    for (unsigned i = 0; i < p->places; i++) {
        if (p->place[i].given &&
            (oldest == p->places || p->place[i].given < p->place[oldest].given))
            oldest = i;
    }
    if (oldest == p->places)
        return false;
    p->places--;
    memmove(&p->place[oldest], &p->place[oldest + 1],
            (p->places - oldest) * sizeof(p->place[oldest]));
    return true;
}

void *like_pool_take(struct like_pool *p, size_t bytes)
{
    size_t need = aligned(bytes ? bytes : 1), at;
    unsigned i;
    bool found;

    if (need > p->largest)
        return NULL;
    pthread_mutex_lock(&p->lock);
    do
        found = p->places < LIKE_POOL_OBJECTS && find_gap(p, need, p->bytes, &at, &i);
    while (!found && forget_oldest(p));
    if (!found) /* all that is left is in use */
        found = p->places < LIKE_POOL_OBJECTS && find_gap(p, need, p->room, &at, &i);
    if (found) {
        memmove(&p->place[i + 1], &p->place[i], (p->places - i) * sizeof(p->place[i]));
        p->place[i] = (struct place){.from = at, .bytes = need};
        p->places++;
    }
    pthread_mutex_unlock(&p->lock);
    return found ? p->memory + at : NULL;
}

void like_pool_give(struct like_pool *p, const void *place)
{
    if (!place)
        return;
    size_t from = (size_t)((const char *)place - p->memory);
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < p->places; i++) {
        if (p->place[i].from == from)
            p->place[i].given = ++p->gives;
    }
    pthread_mutex_unlock(&p->lock);
}

int like_pool_huge(const struct like_pool *p)
{
    return io_buffers_huge(p->memory);
}

double like_pool_run(const struct like_pool *p)
{
    return io_buffers_run(p->memory, p->bytes);
}
