/* Behind who reads the events. A hash table holds the requests at the devices: a
 * few hundred, so it grows rarely, in the thread that reads events and never in one that is
 * measured. */
#include "lib/drive/request_join.h"

#include <errno.h>
#include <stdlib.h>

struct entry {
    uint64_t sector; /* where the next completion begins */
    uint32_t left;   /* sectors that are not completed */
    uint64_t order;  /* of the issues: two reads of one place may be at the device */
    struct request r;
    bool used, back; /* back: it was put back and is to be issued again */
};

struct request_join {
    struct entry *entry;
    size_t room; /* a power of two */
    size_t used;
    uint64_t order;
    size_t back; /* requests that were put back and are to be issued again */
    struct request_counts counts;
};

enum {
    JOIN_ROOM = 128,    /* stays in the processor's cache where few are at the device */
    JOIN_MOST = 1 << 21 /* a device has far fewer; a damaged file of events may say more */
};

struct request_join *request_join_create(void)
{
    struct request_join *j = calloc(1, sizeof(*j));

    if (!j)
        return NULL;
    j->room = JOIN_ROOM;
    j->entry = calloc(j->room, sizeof(*j->entry));
    if (!j->entry) {
        free(j);
        return NULL;
    }
    return j;
}

void request_join_free(struct request_join *j)
{
    if (!j)
        return;
    free(j->entry);
    free(j);
}

static size_t place_of(const struct request_join *j, uint32_t device, uint64_t sector)
{
    uint64_t h = (sector + ((uint64_t)device << 40)) * UINT64_C(0x9e3779b97f4a7c15);

    return (size_t)(h >> 32) & (j->room - 1);
}

/* The one issued first of those that wait there; NULL: there is none. sectors: it has as many left,
 * or (0) any number. */
static struct entry *find(struct request_join *j, const struct request_event *e, uint32_t sectors)
{
    struct entry *first = NULL;

    for (size_t i = place_of(j, e->device, e->sector); j->entry[i].used;
         i = (i + 1) & (j->room - 1)) {
        struct entry *at = &j->entry[i];
        if (at->r.device == e->device && at->sector == e->sector &&
            (sectors == 0 || at->left == sectors) && (!first || at->order < first->order))
            first = at;
    }
    return first;
}

static void put(struct request_join *j, const struct entry *e)
{
    size_t i = place_of(j, e->r.device, e->sector);

    while (j->entry[i].used)
        i = (i + 1) & (j->room - 1);
    j->entry[i] = *e;
    j->used++;
}

/* Takes e out; entries behind it that would not be found any more move up (linear probing). */
static void take_out(struct request_join *j, struct entry *e)
{
    size_t hole = (size_t)(e - j->entry), mask = j->room - 1;

    j->used--;
    for (size_t i = (hole + 1) & mask; j->entry[i].used; i = (i + 1) & mask) {
        size_t home = place_of(j, j->entry[i].r.device, j->entry[i].sector);
        if (((i - home) & mask) < ((i - hole) & mask))
            continue;
        j->entry[hole] = j->entry[i];
        hole = i;
    }
    j->entry[hole].used = false;
}

static int grow(struct request_join *j)
{
    struct entry *old = j->entry;
    size_t room = j->room;

    if (2 * j->used < room)
        return 0;
    if (room == JOIN_MOST)
        return -ENOMEM;
    j->entry = calloc(2 * room, sizeof(*j->entry));
    if (!j->entry) {
        j->entry = old;
        return -ENOMEM;
    }
    j->room = 2 * room;
    j->used = 0;
    for (size_t i = 0; i < room; i++)
        if (old[i].used)
            put(j, &old[i]);
    free(old);
    return 0;
}

static int issued(struct request_join *j, const struct request_event *e)
{
    struct entry *again = j->back ? find(j, e, 0) : NULL;

    if (again && again->back) {
        again->back = false;
        j->back--;
        return 0;
    }
    if (grow(j) < 0)
        return -ENOMEM;
    struct entry new = {.sector = e->sector,
                        .left = e->sectors,
                        .order = j->order++,
                        .used = true,
                        .r = {.sector = e->sector,
                              .device = e->device,
                              .sectors = e->sectors,
                              .write = e->what == REQUEST_WRITE,
                              .issued_ns = e->time_ns}};
    put(j, &new);
    return 0;
}

static int completed(struct request_join *j, const struct request_event *e, struct request *r)
{
    struct entry *at = find(j, e, e->sectors);

    if (!at)
        at = find(j, e, 0);
    if (!at || at->left < e->sectors) {
        j->counts.unjoined++;
        return 0;
    }
    struct entry rest = *at;
    take_out(j, at);
    rest.sector += e->sectors;
    rest.left -= e->sectors;
    rest.r.done_ns = e->time_ns;
    if (rest.left > 0) {
        j->counts.parts++;
        put(j, &rest);
        return 0;
    }
    j->back -= rest.back;
    j->counts.joined++;
    *r = rest.r;
    return 1;
}

int request_join_take(struct request_join *j, const struct request_event *e, struct request *r)
{
    struct entry *at;

    if (e->what == REQUEST_OTHER || e->sectors == 0) {
        j->counts.others += e->kind == REQUEST_ISSUED;
        return 0;
    }
    switch (e->kind) {
    case REQUEST_ISSUED:
        return issued(j, e);
    case REQUEST_REQUEUED:
        at = find(j, e, 0);
        if (at && !at->back) {
            at->back = true;
            j->back++;
        }
        j->counts.requeued++;
        return 0;
    default:
        return completed(j, e, r);
    }
}

void request_join_count(const struct request_join *j, struct request_counts *c)
{
    *c = j->counts;
}
