/* Between block_trace.c, which reads requests, and drive_rows.c, which asks for those of rows. A
 * ring of requests in order of completion, each in a list of those that begin in the same stretch
 * of a disk; a list is walked from its latest end, and only as far as the row's time goes back.
 * Requests have numbers in their order, so that the end of a list needs no care: a number that is
 * too old is no longer remembered. With a number stands when it was completed: one that is older
 * than the row is not looked at, which most often would be a wait for memory. */
#include "kvreplay/device/row_join.h"

#include <errno.h>
#include <stdlib.h>

enum {
    STRETCH_SHIFT = 11, /* 1 MiB in sectors */
    LISTS = 1 << 11,    /* as many as requests that rows have yet to ask for, about */
    LINE = 64           /* bytes of a line of the processor's cache: an entry fills one */
};
/* The clocks of rows and of requests are one, read in two ways. */
#define SAME_NS 2000

/* A request by its number, which begin at 1; 0: there is none. */
struct link {
    uint64_t number;
    int64_t done_ns;
};

struct entry {
    struct request r;
    struct link before; /* in its list */
    uint32_t taken;     /* by so many rows */
    uint32_t seen;      /* by the row of that number */
};
_Static_assert(sizeof(struct entry) == LINE, "an entry fills a line");

struct row_join {
    unsigned room;        /* a power of two */
    uint64_t first, next; /* numbers of those remembered: first to next - 1 */
    uint64_t largest;     /* sectors of a request */
    int64_t forgotten_ns; /* the completion of the last one that is not remembered */
    uint32_t row;
    struct link list[LISTS]; /* the latest */
    struct entry *entry;
};

struct row_join *row_join_create(unsigned requests)
{
    struct row_join *j = calloc(1, sizeof(*j));

    if (!j || !(j->entry = aligned_alloc(LINE, requests * sizeof(j->entry[0])))) {
        free(j);
        return NULL;
    }
    j->room = requests;
    j->first = j->next = 1;
    j->forgotten_ns = INT64_MIN;
    return j;
}

void row_join_free(struct row_join *j)
{
    if (!j)
        return;
    free(j->entry);
    free(j);
}

static uint32_t list_of(uint32_t disk, uint64_t stretch)
{
    return (uint32_t)((stretch * UINT64_C(0x9e3779b97f4a7c15) + disk) >> 40) & (LISTS - 1);
}

static struct entry *entry_of(struct row_join *j, uint64_t number)
{
    return &j->entry[number & (j->room - 1)];
}

/* Returns the entry that the link leads to; NULL: there is none, it is not remembered, or it is
 * older than that. */
static struct entry *follow(struct row_join *j, const struct link *l, int64_t oldest_ns)
{
    return l->number >= j->first && l->done_ns >= oldest_ns ? entry_of(j, l->number) : NULL;
}

void row_join_request(struct row_join *j, const struct request *r)
{
    struct entry *e = entry_of(j, j->next);
    struct link *list = &j->list[list_of(r->device, r->sector >> STRETCH_SHIFT)];

    if (j->next - j->first == j->room) {
        j->first++;
        if (e->r.done_ns > j->forgotten_ns)
            j->forgotten_ns = e->r.done_ns;
    }
    *e = (struct entry){.r = *r, .before = *list};
    *list = (struct link){.number = j->next++, .done_ns = r->done_ns};
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

/* The oldest that may be of the row. */
static int64_t oldest_of(const struct row_join_ask *ask)
{
    return ask->where->first_ns - SAME_NS;
}

/* Returns the first entry that no row has among those that begin where e does. e is the latest that
 * fits. */
static struct entry *choose(struct row_join *j, struct entry *e, const struct row_join_ask *ask,
                            const struct disk_extent *x)
{
    struct entry *best = e;

    for (struct entry *other = e; other; other = follow(j, &other->before, oldest_of(ask))) {
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
        const struct link *list = &j->list[list_of(x->disk, s)];
        for (struct entry *e = follow(j, list, oldest_of(ask)); e;
             e = follow(j, &e->before, oldest_of(ask)))
            if (e->seen != j->row && e->r.sector >> STRETCH_SHIFT == s && fits(e, ask, x))
                take(choose(j, e, ask, x), a);
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
