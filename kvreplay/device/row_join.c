/* Between block_trace.c, which reads requests, and drive_rows.c, which asks for those of rows. A
 * ring of requests in order of completion, each in a list of those that begin in the same stretch
 * of a disk; a list is walked from its latest end, and only as far as the row's time goes back. */
#include "kvreplay/device/row_join.h"

#include <errno.h>
#include <stdlib.h>

enum {
    STRETCH_SHIFT = 11, /* 1 MiB in sectors */
    LISTS = 1 << 14,
    NONE = -1
};
/* The clocks of rows and of requests are one, read in two ways. */
#define SAME_NS 2000

struct entry {
    struct request r;
    int32_t before, behind; /* in its list */
    uint32_t list;
    uint32_t taken; /* by so many rows */
    uint32_t seen;  /* by the row of that number */
};

struct list {
    int32_t first, last;
};

struct row_join {
    unsigned room, count, next;
    uint64_t largest;     /* sectors of a request */
    int64_t forgotten_ns; /* the completion of the last one that is not remembered */
    uint32_t row;
    struct list list[LISTS];
    struct entry entry[];
};

struct row_join *row_join_create(unsigned requests)
{
    struct row_join *j = calloc(1, sizeof(*j) + requests * sizeof(j->entry[0]));

    if (!j)
        return NULL;
    j->room = requests;
    j->forgotten_ns = INT64_MIN;
    for (unsigned i = 0; i < LISTS; i++)
        j->list[i] = (struct list){NONE, NONE};
    return j;
}

void row_join_free(struct row_join *j)
{
    free(j);
}

static uint32_t list_of(uint32_t disk, uint64_t stretch)
{
    return (uint32_t)((stretch * UINT64_C(0x9e3779b97f4a7c15) + disk) >> 40) & (LISTS - 1);
}

/* The oldest of all is the first of its list. */
static void forget(struct row_join *j, const struct entry *e)
{
    struct list *l = &j->list[e->list];

    l->first = e->behind;
    if (l->first == NONE)
        l->last = NONE;
    else
        j->entry[l->first].before = NONE;
    if (e->r.done_ns > j->forgotten_ns)
        j->forgotten_ns = e->r.done_ns;
}

void row_join_request(struct row_join *j, const struct request *r)
{
    struct entry *e = &j->entry[j->next];

    if (j->count == j->room)
        forget(j, e);
    else
        j->count++;
    uint32_t i = list_of(r->device, r->sector >> STRETCH_SHIFT);
    struct list *l = &j->list[i];
    *e = (struct entry){.r = *r, .list = i, .before = l->last, .behind = NONE};
    if (l->last == NONE)
        l->first = (int32_t)j->next;
    else
        j->entry[l->last].behind = (int32_t)j->next;
    l->last = (int32_t)j->next;
    j->next = (j->next + 1) % j->room;
    if (r->sectors > j->largest)
        j->largest = r->sectors;
}

/* May it be of the row: by time, direction and sectors? */
static bool fits(const struct entry *e, const struct row_join_ask *ask, const struct disk_extent *x)
{
    return e->r.device == x->disk && e->r.write == ask->write &&
           e->r.sector < x->sector + x->sectors && e->r.sector + e->r.sectors > x->sector &&
           e->r.issued_ns >= ask->where->first_ns - SAME_NS &&
           e->r.done_ns <= ask->done_ns + SAME_NS;
}

/* Of those that begin where e does, e being the latest that fits: the first that no row has. */
static struct entry *choose(struct row_join *j, struct entry *e, const struct row_join_ask *ask,
                            const struct disk_extent *x)
{
    struct entry *best = e;

    for (int32_t i = (int32_t)(e - j->entry); i != NONE; i = j->entry[i].before) {
        struct entry *other = &j->entry[i];
        if (other->r.done_ns < ask->where->first_ns - SAME_NS)
            break;
        if (other->r.sector != e->r.sector || !fits(other, ask, x))
            continue;
        other->seen = j->row;
        if (other->taken <= best->taken)
            best = other;
    }
    return best;
}

static void take(struct entry *e, struct row_join_answer *a)
{
    e->taken++;
    a->requests++;
    a->bytes += (uint64_t)e->r.sectors * DISK_SECTOR;
    if (e->r.issued_ns < a->issued_ns)
        a->issued_ns = e->r.issued_ns;
    if (e->r.done_ns > a->done_ns)
        a->done_ns = e->r.done_ns;
}

static void find_in(struct row_join *j, const struct row_join_ask *ask, const struct disk_extent *x,
                    struct row_join_answer *a)
{
    uint64_t from = x->sector > j->largest ? x->sector - j->largest : 0;

    for (uint64_t s = from >> STRETCH_SHIFT; s <= (x->sector + x->sectors - 1) >> STRETCH_SHIFT;
         s++) {
        for (int32_t i = j->list[list_of(x->disk, s)].last; i != NONE; i = j->entry[i].before) {
            struct entry *e = &j->entry[i];
            if (e->r.done_ns < ask->where->first_ns - SAME_NS)
                break;
            if (e->seen != j->row && e->r.sector >> STRETCH_SHIFT == s && fits(e, ask, x))
                take(choose(j, e, ask, x), a);
        }
    }
}

int row_join_find(struct row_join *j, const struct row_join_ask *ask, struct row_join_answer *a)
{
    *a = (struct row_join_answer){.issued_ns = INT64_MAX, .done_ns = INT64_MIN};
    if (ask->where->first_ns < j->forgotten_ns)
        return -ESTALE;
    j->row++;
    for (unsigned i = 0; i < ask->where->count; i++)
        find_in(j, ask, &ask->where->at[i], a);
    return a->requests > 0 ? 0 : -ENOENT;
}
